"""Softmax turns scores into probabilities that sum to 1; its backward gives their gradient."""

import numpy as np
from jaxtyping import Float
from numpy import ndarray


def softmax_forward(x: Float[ndarray, "*shape"], axis: int = -1) -> Float[ndarray, "*shape"]:
    """exp(xᵢ) / Σⱼ exp(xⱼ), the sum running along `axis`.

    Finite for any finite scores, however large; a score of -inf gets probability 0, if its row has
    a finite score. `x` is not changed, and the result has its type.
    """
    raise NotImplementedError("write softmax_forward")


def softmax_backward(
    dout: Float[ndarray, "*shape"], probs: Float[ndarray, "*shape"], axis: int = -1
) -> Float[ndarray, "*shape"]:
    """The gradient for the scores, given the gradient `dout` for the probabilities `probs` that
    `softmax_forward` returned for the same `axis`.

    Both arrays have the same type, and so has the result. None of them is changed.
    """
    raise NotImplementedError("write softmax_backward")
