"""Layer norm gives every vector mean 0 and variance 1, then a learned scale and shift."""

import numpy as np
from jaxtyping import Float
from numpy import ndarray


def layer_norm_forward(
    x: Float[ndarray, "*batch hidden"],
    weight: Float[ndarray, "hidden"],
    bias: Float[ndarray, "hidden"],
    eps: float = 1e-12,
) -> Float[ndarray, "*batch hidden"]:
    """Normalize each vector over its last axis, then scale and shift (Ba et al. 2016, eq. 4).

    The variance divides by `hidden`, not `hidden - 1`, and `eps` is added to it inside the root.
    Precise also for vectors whose mean is much larger than their spread. All arrays have the same
    type of number, and so has the result. No input is changed.
    """
    raise NotImplementedError("write layer_norm_forward")


def layer_norm_backward(
    dout: Float[ndarray, "*batch hidden"],
    x: Float[ndarray, "*batch hidden"],
    weight: Float[ndarray, "hidden"],
    eps: float = 1e-12,
) -> tuple[Float[ndarray, "*batch hidden"], Float[ndarray, "hidden"], Float[ndarray, "hidden"]]:
    """The gradients for x, weight and bias, given the gradient `dout` for the result of
    `layer_norm_forward(x, weight, bias, eps)`. No input is changed."""
    raise NotImplementedError("write layer_norm_backward")
