"""NumPy's own var; the backward as a graph of small steps, each turned back by itself."""

import numpy as np


def layer_norm_forward(x, weight, bias, eps=1e-12):
    mean, variance = np.mean(x, -1, keepdims=True), np.var(x, -1, keepdims=True)
    out = (x - mean) / np.sqrt(variance + eps)
    out *= weight
    out += bias
    return out


def layer_norm_backward(dout, x, weight, eps=1e-12):
    n = x.shape[-1]
    mean = x.mean(-1, keepdims=True)
    centered = x - mean
    variance = (centered**2).mean(-1, keepdims=True)
    std = (variance + eps) ** 0.5
    dweight = (dout * centered / std).reshape(-1, n).sum(0)
    dbias = dout.reshape(-1, n).sum(0)
    dnormalized = dout * weight
    dcentered = dnormalized / std
    dstd = -(dnormalized * centered / std**2).sum(-1, keepdims=True)
    dvariance = dstd / (2 * std)
    dcentered = dcentered + dvariance * 2 * centered / n
    dmean = -dcentered.sum(-1, keepdims=True)
    return dcentered + dmean / n, dweight, dbias
