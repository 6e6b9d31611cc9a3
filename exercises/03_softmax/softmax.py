"""Softmax turns scores into shares that add up to one; its backward turns gradients back."""

import numpy as np
from jaxtyping import Float
from numpy import ndarray


def softmax_forward(x: Float[ndarray, "*shape"], axis: int = -1) -> Float[ndarray, "*shape"]:
    """exp(xᵢ) / Σⱼ exp(xⱼ), the sum running along `axis`.

    Finite for any finite scores, however large; a score of -inf gets the share 0, as long as its
    row has a finite one. `x` is left as it is, and the result has its type.
    """
    raise NotImplementedError("write softmax_forward")


def softmax_backward(
    dout: Float[ndarray, "*shape"], probs: Float[ndarray, "*shape"], axis: int = -1
) -> Float[ndarray, "*shape"]:
    """The gradient for the scores, given the gradient `dout` for the shares and the shares `probs`
    that `softmax_forward` returned for the same `axis`."""
    raise NotImplementedError("write softmax_backward")
