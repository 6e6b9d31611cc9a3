"""Slots without weight are left out before anything is computed; labels by fancy indexing."""

import numpy as np


def masked_cross_entropy_forward(logits, labels, weights):
    used = weights != 0
    if not used.any():
        return 0.0
    x, y, w = logits[used], labels[used], weights[used]
    x = x - x.max(1)[:, None]
    surprise = np.log(np.exp(x).sum(1)) - x[np.arange(len(y)), y]
    return np.average(surprise, weights=w)


def masked_cross_entropy_backward(dloss, logits, labels, weights):
    out, used = np.zeros(logits.shape, logits.dtype), weights != 0
    if used.any():
        x, y, w = logits[used], labels[used], weights[used]
        p = np.exp(x - x.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        p[np.arange(len(y)), y] -= 1
        out[used] = p * (w * dloss / w.sum())[:, None]
    return out
