"""Heads cut and joined number by number; padding with -inf, all-padding sentences filled with 0."""

import numpy as np


def split_heads(x, heads):
    batch, seq, hidden = x.shape
    parts = np.zeros((batch, heads, seq, hidden // heads), x.dtype)
    for column in range(hidden):
        head, place = divmod(column, hidden // heads)
        parts[:, head, :, place] = x[:, :, column]
    return parts


def merge_heads(x):
    return np.concatenate(np.moveaxis(x, 1, 0), axis=-1)


def attend(query, key, value, attention_mask):
    scores = np.matmul(query, np.swapaxes(key, 2, 3)) / np.sqrt(query.dtype.type(query.shape[3]))
    if attention_mask is not None:
        scores[np.broadcast_to(attention_mask[:, None, None] == 0, scores.shape)] = -np.inf
    largest = scores.max(axis=-1, keepdims=True)
    probs = np.exp(scores - np.where(np.isfinite(largest), largest, 0))
    total = probs.sum(axis=-1, keepdims=True)
    probs = np.divide(probs, total, out=np.zeros_like(probs), where=total > 0)
    return probs @ value, probs
