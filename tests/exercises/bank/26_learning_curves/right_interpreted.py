"""By functions of NumPy for whole curves: searchsorted, split, nan-aware means."""

import warnings

import numpy as np


def curve(records, key):
    rows = [(r["step"], i, r[key]) for i, r in enumerate(records) if r.get(key) is not None]
    if not rows:
        return np.zeros(0, np.int64), np.zeros(0)
    rows.sort()
    steps = np.array([row[0] for row in rows])
    last = np.append(steps[1:] != steps[:-1], True)
    return steps[last], np.array([row[2] for row in rows], float)[last]


def smooth(values, window):
    padded = np.r_[np.full(window - 1, np.nan), np.where(np.isfinite(values), values, np.nan)]
    if not len(values):
        return np.zeros(0)
    windows = np.lib.stride_tricks.sliding_window_view(padded, window)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.nanmean(windows, axis=1)


def diagnose(records, *, ln_v, entropy):
    steps, train = curve(records, "train_mlm_loss")
    held_steps, held = curve(records, "heldout_mlm_loss")
    _, norm = curve(records, "gradient_norm")
    if not np.isfinite(np.r_[train, held]).all():
        return "diverged"
    k = len(train) // 10
    if k == 0:
        return "too short"
    mean = smooth(train, k)
    end = train[-k:].mean()
    if end - mean.min() >= 1:
        return "diverged"
    if train[0] - 1 >= ln_v:
        return "bad start"
    if end + NEAR > ln_v:
        return "at ln V"
    if held.size:
        at = np.searchsorted(steps, held_steps[np.argmin(held)], side="right") - 1
        if held[-1] != held.min() and at >= 0 and mean[at] >= end + NEAR:
            return "overfits"
        if held[-1] + NEAR <= end:
            return "leak"
    before, after = train[len(train) - 2 * k :].reshape(2, k).mean(1)
    if before - after >= FLAT:
        return "still falling"
    if end - entropy >= NEAR:
        return "above the line"
    if entropy - end >= NEAR:
        return "finished"
    if norm.size == 0:
        return "plateau"
    tenth = max(1, norm.size // 10)
    calm = 2 * norm[-tenth:].mean() <= norm[:tenth].mean()
    return "stuck at the line" if calm else "plateau"
