"""Vector by vector, with the whole Jacobian."""

import numpy as np


def layer_norm_forward(x, weight, bias, eps=1e-12):
    out = np.empty_like(x)
    for place in np.ndindex(x.shape[:-1]):
        vector = x[place] - x[place].sum() / len(x[place])
        out[place] = vector / np.sqrt((vector @ vector) / len(vector) + eps) * weight + bias
    return out


def layer_norm_backward(dout, x, weight, eps=1e-12):
    n = x.shape[-1]
    centring = np.eye(n, dtype=x.dtype) - np.full((n, n), 1 / n, dtype=x.dtype)
    dx, dweight, dbias = np.empty_like(x), np.zeros_like(weight), np.zeros_like(weight)
    for place in np.ndindex(x.shape[:-1]):
        vector = centring @ x[place]
        std = np.sqrt(vector @ vector / n + x.dtype.type(eps))
        unit = vector / std
        jacobian = (np.eye(n, dtype=x.dtype) - np.outer(unit, unit) / n) @ centring / std
        dx[place] = (dout[place] * weight) @ jacobian
        dweight += dout[place] * unit
        dbias += dout[place]
    return dx, dweight, dbias
