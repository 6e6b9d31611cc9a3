"""Whole arrays: the curve added to itself, shifted, and how many values are finite."""

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
    kept = np.where(good, values, 0.0)
    sums, counts = np.zeros((2, len(values)))
    for back in range(min(window, len(values))):
        sums[back:] += kept[: len(values) - back]
        counts[back:] += good[: len(values) - back]
    with np.errstate(invalid="ignore"):
        return sums / counts


def is_flat(values, *, window, tolerance):
    if values.size < 2 * window:
        return np.False_
    before, after = values[values.size - 2 * window :].reshape(2, window).mean(axis=1)
    return after > before - tolerance
