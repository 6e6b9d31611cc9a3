"""np.average for the weighted mean; the backward through the log-softmax, term by term."""

import numpy as np


def _log_probs(logits):
    largest = np.amax(logits, axis=-1, keepdims=True)
    return logits - largest - np.log(np.sum(np.exp(logits - largest), axis=-1, keepdims=True))


def masked_cross_entropy_forward(logits, labels, weights):
    if not np.any(weights):
        return float(0)
    picked = np.take_along_axis(_log_probs(logits), np.expand_dims(labels, -1), axis=-1)
    return -np.average(picked.squeeze(-1), weights=weights)


def masked_cross_entropy_backward(dloss, logits, labels, weights):
    dlogits = np.zeros_like(logits)
    if np.any(weights):
        each = -dloss * weights[..., None] / weights.sum()  # the gradient of the picked logarithms
        dlog = np.zeros(logits.shape)
        np.put_along_axis(dlog, labels[..., None], each, axis=-1)
        dlogits[...] = dlog - np.exp(_log_probs(logits)) * dlog.sum(axis=-1, keepdims=True)
    return dlogits
