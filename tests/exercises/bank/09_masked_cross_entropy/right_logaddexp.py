"""Rows of classes, in float64 throughout; the logarithm of the sum by np.logaddexp."""

import numpy as np


def _rows(logits, labels, weights):
    x = logits.reshape(-1, logits.shape[-1]).astype(np.float64)
    return x, labels.reshape(-1), weights.reshape(-1).astype(np.float64)


def masked_cross_entropy_forward(logits, labels, weights):
    x, y, w = _rows(logits, labels, weights)
    if np.count_nonzero(w) == 0:
        return 0
    surprise = np.logaddexp.reduce(x, axis=1) - x[range(len(y)), y]
    return np.dot(surprise, w / np.sum(w)).item()


def masked_cross_entropy_backward(dloss, logits, labels, weights):
    x, y, w = _rows(logits, labels, weights)
    total = w.sum() or 1.0
    gradient = np.exp(x - np.logaddexp.reduce(x, axis=1)[:, np.newaxis])
    gradient[range(len(y)), y] -= 1
    gradient *= np.expand_dims(w, 1) * (dloss / total)
    return np.reshape(gradient, logits.shape).astype(logits.dtype)
