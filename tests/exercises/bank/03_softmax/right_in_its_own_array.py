"""One new array, worked on in place; the caller's is left alone."""

import numpy as np


def softmax_forward(x, axis=-1):
    out = x.copy()
    out -= out.max(axis, keepdims=True)
    np.exp(out, out=out)
    out /= out.sum(axis, keepdims=True)
    return out


def softmax_backward(dout, probs, axis=-1):
    dx = dout.copy()
    dx -= np.add.reduce(dout * probs, axis=axis, keepdims=True)
    dx *= probs
    return dx
