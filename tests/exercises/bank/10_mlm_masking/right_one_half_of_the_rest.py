"""Two draws, the second among those that the first left over, as torch's data collators do."""

import numpy as np


def mask_tokens(input_ids, rng, *, mask_id, vocab_size, special_ids, rate=0.15):
    is_special = np.zeros(vocab_size, bool)
    is_special[special_ids] = True
    selected = rng.binomial(1, np.where(is_special[input_ids], 0, rate)).astype(bool)
    masked = selected & (rng.random(input_ids.shape) < 0.8)
    replaced = selected & ~masked & (rng.random(input_ids.shape) < 0.5)
    words = np.flatnonzero(~is_special)[rng.integers((~is_special).sum(), size=replaced.sum())]
    shown = np.where(masked, mask_id, input_ids).astype(input_ids.dtype)
    shown[replaced] = words
    return shown, np.where(selected, input_ids, -100).astype(input_ids.dtype)
