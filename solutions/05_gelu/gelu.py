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
    # begin solution
    if approximation == "none":
        return x * normal_cdf(x)
    return 0.5 * x * (1 + np.tanh(inner(x)))
    # end solution


def gelu_backward(
    dout: Float[ndarray, "*shape"], x: Float[ndarray, "*shape"], approximation: str = "none"
) -> Float[ndarray, "*shape"]:
    """The gradient for `x`, given the gradient `dout` for `gelu_forward(x, approximation)`.

    Both arrays have the same type, and so has the result. None of them is changed.
    """
    # begin solution
    # The product rule, twice: x is in both factors, so the slope has two terms.
    if approximation == "none":
        density = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)  # Φ' = φ
        slope = normal_cdf(x) + x * density
    else:
        t = np.tanh(inner(x))
        inner_slope = SCALE * (1 + 3 * CUBIC * x * x)
        slope = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner_slope  # tanh' = 1 - tanh²
    return dout * slope
    # end solution


# begin solution
SCALE, CUBIC = math.sqrt(2 / math.pi), 0.044715


def inner(x):
    """The argument of the tanh: √(2/π) (x + 0.044715 x³)."""
    return SCALE * (x + CUBIC * x**3)


def normal_cdf(x):
    # The error function takes x / √2, not x: it belongs to a normal distribution of another width.
    # `math.erf` takes one number and returns a Python float, so `otypes` asks for the type of x.
    erf = np.vectorize(math.erf, otypes=[x.dtype])
    return 0.5 * (1 + erf(x / math.sqrt(2)))


# Wrong answers that are common:
# - erf(x) for erf(x / √2);
# - one form for the other: they differ by at most 4.7e-4, which no training run shows, but a
#   comparison with another library does;
# - any string as "tanh" (`if approximation:`), so that "none" is the tanh form too;
# - x · sigmoid(1.702 x), a coarser approximation (up to 0.02 off);
# - Φ(x) alone as the slope, or the 3 of the cube forgotten;
# - a float64 result for a float32 x, because math.erf returns Python floats: everything after it is
#   then computed in float64, at half the speed.
# end solution
