"""Numerical gradients by central differences: move one number a little, and watch the loss."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Shaped
from numpy import ndarray

from bert_run.errors import UserError

STEP = 1e-5  # smaller, and rounding shows; larger, and the curve of the loss does


def central_differences(
    loss: Callable[[], float], array: Shaped[ndarray, "*shape"]
) -> Float[ndarray, "*shape"]:
    """∂loss/∂array, every entry: (loss a step above − loss a step below) / (2 steps).

    Each number of `array` is moved in place and put back, so `loss` must read this very array. Two
    calls a number: for small arrays only. Other types are refused: float32 rounds by more than what
    is looked for, and whole numbers cannot be moved a little.
    """
    if array.dtype != np.float64:
        raise UserError(f"the array is {array.dtype.name}: differences this small need float64")
    gradient = np.empty_like(array)
    for place in np.ndindex(array.shape):
        value = array[place]
        array[place] = value + STEP
        above = loss()
        array[place] = value - STEP
        below = loss()
        array[place] = value
        gradient[place] = (above - below) / (2 * STEP)
    return gradient
