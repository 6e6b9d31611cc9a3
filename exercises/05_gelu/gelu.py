"""GELU weights each number by the probability that a normal one is smaller; two formulas."""

import math

import numpy as np
from jaxtyping import Float
from numpy import ndarray


def gelu_forward(
    x: Float[ndarray, "*shape"], approximation: str = "none"
) -> Float[ndarray, "*shape"]:
    """x Φ(x), Φ being the cumulative distribution function of the normal distribution (Hendrycks
    and Gimpel 2016).

    `approximation` "none" uses Φ itself, as Hugging Face does; "tanh" uses the formula of Google's
    released code. `x` is not changed, and the result has its type.
    """
    raise NotImplementedError("write gelu_forward")


def gelu_backward(
    dout: Float[ndarray, "*shape"], x: Float[ndarray, "*shape"], approximation: str = "none"
) -> Float[ndarray, "*shape"]:
    """The gradient for `x`, given the gradient `dout` for `gelu_forward(x, approximation)`.

    Both arrays have the same type, and so has the result. None of them is changed.
    """
    raise NotImplementedError("write gelu_backward")
