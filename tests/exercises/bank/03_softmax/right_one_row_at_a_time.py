"""Along the axis by np.apply_along_axis; the backward as the difference of two outer products."""

import numpy as np


def _row(scores):
    e = np.exp(scores - scores[np.argmax(scores)])
    return np.divide(e, np.add.reduce(e))


def softmax_forward(x, axis=-1):
    if x.size == 0:
        return x.copy()
    return np.apply_along_axis(_row, axis, x).astype(x.dtype, copy=False)


def softmax_backward(dout, probs, axis=-1):
    inner = np.expand_dims(np.einsum("...i,...i->...", np.moveaxis(dout, axis, -1),
                                     np.moveaxis(probs, axis, -1)), axis)  # fmt: skip
    return np.subtract(np.multiply(probs, dout), np.multiply(probs, inner))
