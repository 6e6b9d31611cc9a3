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
    # begin solution
    normalized, _ = normalize(x, eps)
    # Every place of the vector has one scale and one shift, the same for all vectors: broadcasting
    # aligns them with the last axis.
    return normalized * weight + bias
    # end solution


# begin solution
def normalize(x, eps):
    # Subtract the mean first, then compute the variance of what is left. mean(x²) - mean(x)² is
    # equal on paper, but the difference of two large numbers consists of rounding errors.
    centered = x - x.mean(axis=-1, keepdims=True)  # (..., hidden)
    variance = (centered * centered).mean(axis=-1, keepdims=True)  # (..., 1)
    # Inside the root: eps is added to a variance. Outside, a vector of equal numbers would be
    # divided by 1e-12, not by 1e-6.
    inverse_std = 1 / np.sqrt(variance + eps)
    return centered * inverse_std, inverse_std


# end solution


def layer_norm_backward(
    dout: Float[ndarray, "*batch hidden"],
    x: Float[ndarray, "*batch hidden"],
    weight: Float[ndarray, "hidden"],
    eps: float = 1e-12,
) -> tuple[Float[ndarray, "*batch hidden"], Float[ndarray, "hidden"], Float[ndarray, "hidden"]]:
    """The gradients for x, weight and bias, given the gradient `dout` for the result of
    `layer_norm_forward(x, weight, bias, eps)`. No input is changed."""
    # begin solution
    normalized, inverse_std = normalize(x, eps)
    # Every vector uses weight and bias, so their gradients are sums over all vectors: over all axes
    # but the last, however many there are.
    batch_axes = tuple(range(x.ndim - 1))
    dweight, dbias = (dout * normalized).sum(axis=batch_axes), dout.sum(axis=batch_axes)

    # x affects the output in three ways: directly, through the mean and through the variance.
    # Shifting or stretching a vector does not change its normalized form, so the gradient has no
    # component in these two directions: both are subtracted.
    dnormalized = dout * weight  # (..., hidden)
    along_shift = dnormalized.mean(axis=-1, keepdims=True)
    along_stretch = (dnormalized * normalized).mean(axis=-1, keepdims=True)
    dx = (dnormalized - along_shift - normalized * along_stretch) * inverse_std
    return dx, dweight, dbias
    # end solution


# begin solution
# Wrong answers that are common:
# - np.var(ddof=1), or torch's x.std(), which divide by hidden - 1: the results differ by 1/hidden;
# - eps added to the standard deviation: visible only for vectors that are nearly constant;
# - eps 1e-5, torch's own: BERT's is 1e-12;
# - the mean over the batch (that is batch norm), or over all positions of a sentence;
# - dx without one of its three paths. A check with dout = 1 and weight = 1 does not notice: the sum
#   of a normalized vector is 0 for every x, and so is that gradient;
# - weight applied last, after the two means; or a mean that is not multiplied by the normalized x;
# - dweight summed over the first axis alone.
# end solution
