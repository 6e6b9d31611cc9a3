"""The backward step by step, each line of the forward in turn; statistics in float64."""

import numpy as np


def layer_norm_forward(x, weight, bias, eps=1e-12):
    wide = x.astype(np.float64)
    mean, deviation = wide.mean(-1), np.sqrt(np.var(wide, axis=-1) + eps)
    normalized = (wide - mean[..., None]) / deviation[..., None]
    return (bias + weight * normalized).astype(x.dtype)


def layer_norm_backward(dout, x, weight, eps=1e-12):
    n = x.shape[-1]
    centered = np.subtract(x, np.add.reduce(x, -1, keepdims=True) / n)
    variance = np.add.reduce(centered**2, -1, keepdims=True) / n
    std = (variance + eps) ** 0.5
    dnormalized = dout * weight
    dstd = -np.add.reduce(dnormalized * centered, -1, keepdims=True) / std**2
    dvariance = dstd / (2 * std)
    dcentered = dnormalized / std + 2 * centered * dvariance / n
    dx = dcentered - np.add.reduce(dcentered, -1, keepdims=True) / n
    rows = dout.reshape(-1, n)
    return dx, ((centered / std).reshape(-1, n) * rows).sum(0), np.ones(len(rows), x.dtype) @ rows
