"""Whole arrays: running sums of what is finite, and of how many there are."""

import numpy as np


def reference_lines(ids, *, vocab_size, special_ids):
    counts = np.bincount(ids.ravel(), minlength=vocab_size).astype(float)
    counts[list(special_ids)] = 0
    counts = counts[counts > 0]
    total = counts.sum()
    entropy = np.log(total) - (counts * np.log(counts)).sum() / total if total else 0.0
    return np.log(vocab_size), entropy


def smooth(values, window):
    good = np.isfinite(values)
    sums = np.concatenate([[0.0], np.cumsum(np.where(good, values, 0.0))])
    counts = np.concatenate([[0], np.cumsum(good)])
    last = np.arange(1, len(values) + 1)
    first = np.maximum(0, last - window)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (sums[last] - sums[first]) / (counts[last] - counts[first])


def is_flat(values, *, window, tolerance):
    if values.size < 2 * window:
        return np.False_
    before, after = values[values.size - 2 * window :].reshape(2, window).mean(axis=1)
    return after > before - tolerance
