"""Row by row, with the whole Jacobian."""

import numpy as np


def softmax_forward(x, axis=-1):
    out = np.empty_like(x)
    rows, shares = np.moveaxis(x, axis, -1), np.moveaxis(out, axis, -1)
    for place in np.ndindex(rows.shape[:-1]):
        e = np.exp(rows[place] - max(rows[place]))
        shares[place] = e / e.sum()
    return out


def softmax_backward(dout, probs, axis=-1):
    dx = np.empty_like(dout)
    drows, rows, result = (np.moveaxis(a, axis, -1) for a in (dout, probs, dx))
    for place in np.ndindex(rows.shape[:-1]):
        p = rows[place]
        result[place] = (np.diag(p) - np.outer(p, p)) @ drows[place]
    return dx
