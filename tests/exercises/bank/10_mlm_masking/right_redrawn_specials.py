"""Random words drawn from all ids, again and again until none is special."""

import numpy as np


def mask_tokens(input_ids, rng, *, mask_id, vocab_size, special_ids, rate=0.15):
    shown = input_ids.copy()
    rows, positions = np.nonzero(
        (rng.uniform(size=input_ids.shape) < rate) & ~np.isin(input_ids, special_ids)
    )
    labels = np.full_like(input_ids, -100)
    labels[rows, positions] = input_ids[rows, positions]
    fate = rng.choice(3, p=[0.8, 0.1, 0.1], size=len(rows))
    words = rng.integers(0, vocab_size, len(rows))
    while np.isin(words, special_ids).any():
        wrong = np.isin(words, special_ids)
        words[wrong] = rng.integers(0, vocab_size, wrong.sum())
    shown[rows[fate == 0], positions[fate == 0]] = mask_id
    shown[rows[fate == 1], positions[fate == 1]] = words[fate == 1]
    return shown, labels
