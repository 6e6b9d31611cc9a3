"""Softmax turns scores into probabilities that sum to 1; its backward gives their gradient."""

import numpy as np
from jaxtyping import Float
from numpy import ndarray


def softmax_forward(x: Float[ndarray, "*shape"], axis: int = -1) -> Float[ndarray, "*shape"]:
    """exp(xᵢ) / Σⱼ exp(xⱼ), the sum running along `axis`.

    Finite for any finite scores, however large; a score of -inf gets probability 0, if its row has
    a finite score. `x` is not changed, and the result has its type.
    """
    # begin solution
    # exp overflows float64 above 709. Subtracting the same number from every score of a row cancels
    # in the fraction, and if it is the largest score of the row, no exponent is above 0. The
    # largest of the whole array is not enough: rows far below it would underflow to 0 / 0.
    shifted = x - x.max(axis=axis, keepdims=True)  # a new array: `x -= ...` would change the input
    exponentials = np.exp(shifted)
    # keepdims leaves an axis of length 1 for the sum, so that every row is divided by its own sum.
    # The sum is at least exp(0) = 1: there is no division by zero to prevent.
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
    # end solution


def softmax_backward(
    dout: Float[ndarray, "*shape"], probs: Float[ndarray, "*shape"], axis: int = -1
) -> Float[ndarray, "*shape"]:
    """The gradient for the scores, given the gradient `dout` for the probabilities `probs` that
    `softmax_forward` returned for the same `axis`.

    Both arrays have the same type, and so has the result. None of them is changed.
    """
    # begin solution
    # ∂pᵢ/∂xⱼ = pᵢ (δᵢⱼ - pⱼ): raising one score lowers all other probabilities of its row. Summed
    # over i with doutᵢ, the δ leaves doutⱼ pⱼ, and the rest is pⱼ times one number per row,
    # Σᵢ doutᵢ pᵢ. So the n × n matrix is never needed.
    average = (dout * probs).sum(axis=axis, keepdims=True)
    return probs * (dout - average)
    # end solution


# begin solution
# Wrong answers that are common:
# - exp(x) / sum(exp(x)): right for small scores, NaN for a score of 1,000;
# - an `axis` that is -1 in one of the three places;
# - probs * (1 - probs) * dout, which is the sigmoid's: it keeps only the diagonal of the matrix;
# - checking a backward with dout = 1. A row always sums to 1, so that gradient is 0 for every
#   input, and half of the formula is not checked: the tests draw `dout` at random.
# end solution
