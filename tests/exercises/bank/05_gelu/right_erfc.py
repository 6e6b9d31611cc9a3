"""The complement of the error function for negative numbers; a table of forms; float64 inside."""

import math

import numpy as np


def _phi(x):
    flat = [0.5 * math.erfc(-v / 2**0.5) for v in x.ravel().tolist()]
    return np.array(flat, np.float64).reshape(x.shape)


def _tail(x):
    return np.exp(-np.minimum(x * x, 1400) / 2) / np.sqrt(2 * np.pi)


def _exact(x):
    return x * _phi(x), _phi(x) + x * _tail(x)


def _tanh(x):
    k = np.sqrt(2 / np.pi)
    t = np.tanh(k * x + k * 0.044715 * np.power(x, 3))
    return (x + x * t) / 2, (1 + t) / 2 + x / 2 * (1 - t) * (1 + t) * k * (1 + 0.134145 * x**2)


FORMS = {"none": _exact, "tanh": _tanh}


def gelu_forward(x, approximation="none"):
    return FORMS[approximation](x.astype(np.float64))[0].astype(x.dtype)


def gelu_backward(dout, x, approximation="none"):
    return (dout * FORMS[approximation](x.astype(np.float64))[1]).astype(x.dtype)
