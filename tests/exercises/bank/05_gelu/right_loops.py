"""Number by number, in plain Python."""

import math

import numpy as np


def _value_and_slope(x, form):
    if form == "tanh":
        inner = math.sqrt(2 / math.pi) * x * (1 + 0.044715 * x * x)
        gate = (1 + math.tanh(inner)) / 2
        dgate = (1 - math.tanh(inner) ** 2) / 2 * math.sqrt(2 / math.pi) * (1 + 0.134145 * x * x)
    else:
        gate = math.erfc(-x / math.sqrt(2)) / 2
        dgate = math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return x * gate, gate + x * dgate


def gelu_forward(x, approximation="none"):
    out = np.empty_like(x)
    for place in np.ndindex(x.shape):
        out[place] = _value_and_slope(float(x[place]), approximation)[0]
    return out


def gelu_backward(dout, x, approximation="none"):
    dx = np.empty_like(x)
    for place in np.ndindex(x.shape):
        dx[place] = dout[place] * _value_and_slope(float(x[place]), approximation)[1]
    return dx
