"""exp(x - logsumexp(x)), and the backward by way of the log-probabilities."""

import numpy as np


def logsumexp(x, axis):
    largest = np.max(x, axis=axis, keepdims=True)
    return largest + np.log(np.sum(np.exp(x - largest), axis=axis, keepdims=True))


def softmax_forward(x, axis=-1):
    shifted = x - np.max(x, axis, keepdims=True)  # near 0, where logarithms lose nothing
    return np.exp(shifted - logsumexp(shifted, axis))


def softmax_backward(dout, probs, axis=-1):
    dlog = dout * probs
    return dlog - probs * np.sum(dlog, axis=axis, keepdims=True)
