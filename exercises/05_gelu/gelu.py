"""GELU lets a number pass by as much as it is large beside random ones; two forms, both ways."""

import math

import numpy as np
from jaxtyping import Float
from numpy import ndarray


def gelu_forward(
    x: Float[ndarray, "*shape"], approximation: str = "none"
) -> Float[ndarray, "*shape"]:
    """x Φ(x), Φ being the normal distribution (Hendrycks and Gimpel 2016).

    `approximation` "none" takes Φ itself, as Hugging Face does; "tanh" the formula of Google's
    released code. `x` is left as it is, and the result has its type.
    """
    raise NotImplementedError("write gelu_forward")


def gelu_backward(
    dout: Float[ndarray, "*shape"], x: Float[ndarray, "*shape"], approximation: str = "none"
) -> Float[ndarray, "*shape"]:
    """The gradient for `x`, given the gradient `dout` for `gelu_forward(x, approximation)`."""
    raise NotImplementedError("write gelu_backward")
