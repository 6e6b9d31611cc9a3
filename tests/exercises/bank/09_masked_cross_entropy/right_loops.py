"""Slot by slot, with Python's own numbers."""

import math

import numpy as np


def masked_cross_entropy_forward(logits, labels, weights):
    total = 0.0
    for place in np.ndindex(labels.shape):
        scores = logits[place].tolist()
        largest = max(scores)
        log_sum = math.log(sum(math.exp(s - largest) for s in scores))
        total += float(weights[place]) * (log_sum - (scores[labels[place]] - largest))
    count = float(weights.sum())
    return total / count if count else 0.0


def masked_cross_entropy_backward(dloss, logits, labels, weights):
    out, count = np.zeros_like(logits), weights.sum()
    for place in np.ndindex(labels.shape):
        if weights[place] == 0:
            continue
        scores = np.exp(logits[place] - logits[place].max())
        out[place] = scores / scores.sum()
        out[place][labels[place]] -= 1
        out[place] *= dloss * weights[place] / count
    return out
