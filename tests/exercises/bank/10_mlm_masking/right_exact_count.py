"""A fixed number of tokens in each row, as the released code has it."""

import numpy as np


def mask_tokens(input_ids, rng, *, mask_id, vocab_size, special_ids, rate=0.15):
    candidate = ~np.isin(input_ids, special_ids)
    order = np.where(candidate, rng.random(input_ids.shape), 2.0).argsort(axis=1).argsort(axis=1)
    wanted = candidate.sum(axis=1, keepdims=True) * rate
    wanted = np.floor(wanted + rng.random(wanted.shape))  # rounded so that the mean stays
    selected = candidate & (order < wanted)
    fates = rng.permuted(np.arange(selected.sum()) % 10)
    shown = input_ids.copy()
    tokens = shown[selected]
    tokens[fates < 8] = mask_id
    ordinary = np.setdiff1d(np.arange(vocab_size), special_ids)
    tokens[fates == 8] = rng.choice(ordinary, (fates == 8).sum())
    shown[selected] = tokens
    return shown, np.where(selected, input_ids, -100).astype(input_ids.dtype)
