"""Eight small functions that show whether you are ready for the course."""

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray


def subtract_row_means(x: Float[ndarray, "rows columns"]) -> Float[ndarray, "rows columns"]:
    """Subtract from every number the mean of its row."""
    raise NotImplementedError("write subtract_row_means")


def all_differences(a: Float[ndarray, "n"], b: Float[ndarray, "m"]) -> Float[ndarray, "n m"]:
    """Entry (i, j) of the result is a[i] - b[j]."""
    raise NotImplementedError("write all_differences")


def column_maxima(x: Float[ndarray, "rows columns"]) -> Float[ndarray, "columns"]:
    """The largest number of each column."""
    raise NotImplementedError("write column_maxima")


def look_up(
    table: Float[ndarray, "entries width"], ids: Int[ndarray, "*shape"]
) -> Float[ndarray, "*shape width"]:
    """The rows of a table that have these ids: an array of the shape of `ids` and one axis more."""
    raise NotImplementedError("write look_up")


def pick(
    scores: Float[ndarray, "rows columns"], labels: Int[ndarray, "rows"]
) -> Float[ndarray, "rows"]:
    """Of each row the score in the column that its label names."""
    raise NotImplementedError("write pick")


def cross_entropy(scores: Float[ndarray, "3"], label: int) -> float:
    """-ln of the softmax probability of the label."""
    raise NotImplementedError("write cross_entropy")


def gradients(
    weights: Float[ndarray, "2 2"], x: Float[ndarray, "2"], target: Float[ndarray, "2"]
) -> tuple[Float[ndarray, "2 2"], Float[ndarray, "2"]]:
    """The gradients of L = ½ Σ (y - target)², where y = weights @ x, for the weights and for x."""
    raise NotImplementedError("write gradients")


def scale_rows(
    x: Float[ndarray, "rows columns"], factors: Float[ndarray, "rows"]
) -> Float[ndarray, "rows columns"]:
    """Multiply every row by its own factor."""
    return x * factors  # wrong: the page shows the traceback
