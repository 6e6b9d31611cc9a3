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
    centred = x - mean
    variance = (centred**2).mean(-1, keepdims=True)
    std = (variance + eps) ** 0.5
    dweight = (dout * centred / std).reshape(-1, n).sum(0)
    dbias = dout.reshape(-1, n).sum(0)
    dnormalized = dout * weight
    dcentred = dnormalized / std
    dstd = -(dnormalized * centred / std**2).sum(-1, keepdims=True)
    dvariance = dstd / (2 * std)
    dcentred = dcentred + dvariance * 2 * centred / n
    dmean = -dcentred.sum(-1, keepdims=True)
    return dcentred + dmean / n, dweight, dbias
