"""The axis moved to the end; einsum for the sums."""

import numpy as np


def softmax_forward(x, axis=-1):
    x = x.swapaxes(axis, -1)
    e = np.exp(x - np.amax(x, -1)[..., None])
    return np.einsum("...i,...->...i", e, 1 / np.einsum("...i->...", e)).swapaxes(axis, -1)


def softmax_backward(dout, probs, axis=-1):
    d, p = dout.swapaxes(axis, -1), probs.swapaxes(axis, -1)
    return (d * p - p * np.einsum("...i,...i->...", d, p)[..., None]).swapaxes(axis, -1)
