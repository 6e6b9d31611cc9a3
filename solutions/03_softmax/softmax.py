"""Softmax turns scores into shares that add up to one; its backward turns gradients back."""

import numpy as np
from jaxtyping import Float
from numpy import ndarray


def softmax_forward(x: Float[ndarray, "*shape"], axis: int = -1) -> Float[ndarray, "*shape"]:
    """exp(xᵢ) / Σⱼ exp(xⱼ), the sum running along `axis`.

    Finite for any finite scores, however large; a score of -inf gets the share 0, as long as its
    row has a finite one. `x` is left as it is, and the result has its type.
    """
    # begin solution
    # exp overflows float64 above 709. Taking the same number off every score of a row cancels in
    # the fraction, and with the row's own largest taken off, no exponent is above 0. The largest of
    # the whole array would not do: rows far below it would underflow to 0 / 0.
    shifted = x - x.max(axis=axis, keepdims=True)  # a new array: `x -= ...` would be the caller's
    exponentials = np.exp(shifted)
    # keepdims leaves an axis of length 1 where the sum was, so that every row meets its own sum.
    # The sum is at least exp(0) = 1: nothing need be added against a division by zero.
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
    # end solution


def softmax_backward(
    dout: Float[ndarray, "*shape"], probs: Float[ndarray, "*shape"], axis: int = -1
) -> Float[ndarray, "*shape"]:
    """The gradient for the scores, given the gradient `dout` for the shares and the shares `probs`
    that `softmax_forward` returned for the same `axis`."""
    # begin solution
    # ∂pᵢ/∂xⱼ = pᵢ (δᵢⱼ - pⱼ): raising one score lowers all other shares of its row. Summed over i
    # with doutᵢ, the δ picks doutⱼ out, and the rest is one number for the row, Σᵢ doutᵢ pᵢ.
    # So n numbers a row suffice, and the n × n matrix is never made.
    average = (dout * probs).sum(axis=axis, keepdims=True)
    return probs * (dout - average)
    # end solution


# begin solution
# Wrong answers that are common:
# - exp(x) / sum(exp(x)): right for small scores, NaN for a score of 1,000;
# - an `axis` that is written -1 in one of the three places;
# - probs * (1 - probs) * dout, which is the sigmoid's: it keeps only the diagonal of the matrix;
# - checking a backward with dout = 1. A row always adds up to 1, so that gradient is 0 whatever
#   happens to half of the formula: the tests draw `dout` at random.
# end solution
