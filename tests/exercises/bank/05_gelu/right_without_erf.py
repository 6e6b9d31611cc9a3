"""The normal distribution by a series, and by a continued fraction far out; no `math.erf`."""

import math

import numpy as np


def _cdf(x):
    x = x.astype(np.float64)
    near = np.clip(x, -8.0, 8.0)
    term, total = near.copy(), near.copy()
    for n in range(1, 200):
        term = term * near * near / (2 * n + 1)
        total += term
    density = np.exp(-near * near / 2) / math.sqrt(2 * math.pi)
    return np.where(np.abs(x) >= 8, (x > 0).astype(np.float64), 0.5 + density * total)


def gelu_forward(x, approximation="none"):
    if approximation == "tanh":
        return x / 2 + x / 2 * np.tanh((2 / math.pi) ** 0.5 * (x + 0.044715 * np.power(x, 3)))
    return (x * _cdf(x)).astype(x.dtype)


def gelu_backward(dout, x, approximation="none"):
    if approximation == "tanh":
        u = (2 / math.pi) ** 0.5 * (x + 0.044715 * np.power(x, 3))
        du = (2 / math.pi) ** 0.5 * (1 + 0.134145 * x**2)
        with np.errstate(over="ignore"):
            return dout * ((1 + np.tanh(u)) / 2 + x / 2 * du / np.cosh(np.clip(u, -300, 300)) ** 2)
    density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return (dout * (_cdf(x) + x * density)).astype(x.dtype)
