"""einsum for every sum, vectors in rows."""

import numpy as np


def layer_norm_forward(x, weight, bias, eps=1e-12):
    rows = x.reshape(-1, x.shape[-1])
    rows = rows - (np.einsum("bh->b", rows) / rows.shape[1])[:, None]
    std = np.sqrt(np.einsum("bh,bh->b", rows, rows) / rows.shape[1] + eps)
    return (np.einsum("bh,b,h->bh", rows, 1 / std, weight) + bias).reshape(x.shape)


def layer_norm_backward(dout, x, weight, eps=1e-12):
    hidden = x.shape[-1]
    d, rows = dout.reshape(-1, hidden), x.reshape(-1, hidden)
    rows = rows - rows.mean(1, keepdims=True)
    std = np.sqrt(rows.var(1, keepdims=True) + eps)
    rows = rows / std
    dweight, dbias = np.einsum("bh,bh->h", d, rows), np.einsum("bh->h", d)
    d = d * weight
    dots = np.einsum("bh,bh->b", d, rows)[:, None]
    dx = (hidden * d - np.einsum("bh->b", d)[:, None] - rows * dots) / (hidden * std)
    return dx.reshape(x.shape), dweight, dbias
