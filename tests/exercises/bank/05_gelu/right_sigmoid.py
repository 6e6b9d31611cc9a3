"""(1 + tanh u) / 2 is the sigmoid of 2u; the backward by its slope."""

import math

import numpy as np


def _gate(x, approximation):
    if approximation == "none":
        return (np.array([math.erf(v) for v in (x / 2**0.5).flat]).reshape(x.shape) + 1) / 2
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gelu_forward(x, approximation="none"):
    return (x * _gate(x, approximation)).astype(x.dtype)


def gelu_backward(dout, x, approximation="none"):
    gate = _gate(x, approximation)
    if approximation == "none":
        dgate = np.exp(-np.square(x) / 2) * (1 / math.sqrt(2 * math.pi))
    else:
        dgate = gate * (1 - gate) * math.sqrt(8 / math.pi) * (1 + 3 * 0.044715 * np.square(x))
    return (dout * gate + dout * x * dgate).astype(x.dtype)
