"""One number at a time, by np.frompyfunc; the slope of tanh as 1 / cosh²."""

import math

import numpy as np


def _one(x, approximation):
    if approximation == "tanh":
        return x * 0.5 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + math.erf(x * math.sqrt(0.5)))


def _slope(x, approximation):
    if approximation == "none":
        return 0.5 + 0.5 * math.erf(x / math.sqrt(2)) + x * math.exp(-x * x / 2) / (
            math.sqrt(2 * math.pi))  # fmt: skip
    u = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    bell = 0.0 if abs(u) > 300 else math.cosh(u) ** -2
    return 0.5 * (1 + math.tanh(u)) + 0.5 * x * bell * math.sqrt(2 / math.pi) * (
        1 + 0.134145 * x * x)  # fmt: skip


def gelu_forward(x, approximation="none"):
    return np.frompyfunc(lambda v: _one(float(v), approximation), 1, 1)(x).astype(x.dtype)


def gelu_backward(dout, x, approximation="none"):
    slope = np.frompyfunc(lambda v: _slope(float(v), approximation), 1, 1)(x)
    return np.multiply(dout, slope.astype(x.dtype))
