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
    # begin solution
    if approximation == "tanh":
        return 0.5 * x * (1 + np.tanh(inner(x)))
    return x * normal_cdf(x)
    # end solution


def gelu_backward(
    dout: Float[ndarray, "*shape"], x: Float[ndarray, "*shape"], approximation: str = "none"
) -> Float[ndarray, "*shape"]:
    """The gradient for `x`, given the gradient `dout` for `gelu_forward(x, approximation)`."""
    # begin solution
    # The product rule, twice. x stands in both factors: leaving out the second term is the
    # gradient of a gate that does not know what it lets through.
    if approximation == "tanh":
        t = np.tanh(inner(x))
        inner_slope = SCALE * (1 + 3 * CUBIC * x * x)
        slope = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner_slope  # tanh' = 1 - tanh²
    else:
        density = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)  # Φ' = φ
        slope = normal_cdf(x) + x * density
    return dout * slope
    # end solution


# begin solution
SCALE, CUBIC = math.sqrt(2 / math.pi), 0.044715


def inner(x):
    """What stands inside the tanh: √(2/π) (x + 0.044715 x³)."""
    return SCALE * (x + CUBIC * x**3)


def normal_cdf(x):
    # The error function takes x / √2, not x: it belongs to a bell of another width. `math.erf`
    # takes one number and gives a Python float, so the type of x must be asked for.
    erf = np.vectorize(math.erf, otypes=[x.dtype])
    return 0.5 * (1 + erf(x / math.sqrt(2)))


# Wrong answers that are common:
# - erf(x) for erf(x / √2);
# - one form for the other: they differ by at most 4.7e-4, which no training run shows, and which
#   a comparison with the weights of the other library does show;
# - x · sigmoid(1.702 x), a coarser approximation (up to 0.02 off);
# - Φ(x) alone as the slope, or the 3 of the cube forgotten;
# - a float64 result for a float32 x, because math.erf gives Python floats: all that follows is then
#   computed in float64, at half the speed.
# end solution
