"""The mean as a product with a matrix: I - 1/n; its transpose leads back."""

import numpy as np


def _centre(n, dtype):
    return np.eye(n, dtype=dtype) - np.full((n, n), 1 / n, dtype)


def layer_norm_forward(x, weight, bias, eps=1e-12):
    centered = x - np.mean(x, -1)[..., np.newaxis]
    power = np.einsum("...i,...i->...", centered, centered) / x.dtype.type(x.shape[-1])
    return centered / np.sqrt(power + eps)[..., np.newaxis] * weight + bias


def layer_norm_backward(dout, x, weight, eps=1e-12):
    n = x.shape[-1]
    centered = x - np.mean(x, -1, keepdims=True)
    root = np.sqrt(np.mean(np.square(centered), -1, keepdims=True) + eps)
    hat = centered / root
    g = weight * dout
    inner = (g - hat * np.mean(hat * g, -1, keepdims=True)) / root
    dx = inner @ _centre(n, x.dtype)
    leading = "abcdefgh"[: x.ndim - 1]
    dweight = np.einsum(f"{leading}z,{leading}z->z", dout, hat)
    return dx, dweight, np.einsum(f"{leading}z->z", dout).copy()  # of one vector it is a view
