"""One draw for each place decides whether it is selected, and what becomes of it."""

import numpy as np


def mask_tokens(input_ids, rng, *, mask_id, vocab_size, special_ids, rate=0.15):
    specials = np.sort(np.unique(special_ids))
    draw = np.where(np.isin(input_ids, specials), 1.0, rng.uniform(size=input_ids.shape))
    # The i-th ordinary id: i, and one more for each special id that is not above it.
    word = rng.integers(vocab_size - len(specials), size=input_ids.shape, dtype=np.int64)
    for special in specials.tolist():
        word += word >= special
    shown = np.select([draw < 0.8 * rate, draw < 0.9 * rate], [mask_id, word], input_ids)
    labels = np.where(draw < rate, input_ids, -100)
    return shown.astype(input_ids.dtype), labels.astype(input_ids.dtype)
