"""Eight small functions that show whether you are ready for the course."""

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray


def subtract_row_means(x: Float[ndarray, "rows columns"]) -> Float[ndarray, "rows columns"]:
    """Subtract from every number the mean of its row."""
    # begin solution
    # Without keepdims the means have the shape (rows,), which NumPy aligns with the columns.
    return x - x.mean(axis=1, keepdims=True)
    # end solution


def all_differences(a: Float[ndarray, "n"], b: Float[ndarray, "m"]) -> Float[ndarray, "n m"]:
    """Entry (i, j) of the result is a[i] - b[j]."""
    # begin solution
    # (n, 1) and (1, m) are broadcast to (n, m).
    return a[:, None] - b[None, :]
    # end solution


def column_maxima(x: Float[ndarray, "rows columns"]) -> Float[ndarray, "columns"]:
    """The largest number of each column."""
    # begin solution
    return x.max(axis=0)  # the axis that is named is the one that disappears
    # end solution


def look_up(
    table: Float[ndarray, "entries width"], ids: Int[ndarray, "*shape"]
) -> Float[ndarray, "*shape width"]:
    """The rows of a table that have these ids: an array of the shape of `ids` and one axis more."""
    # begin solution
    return table[ids]
    # end solution


def pick(
    scores: Float[ndarray, "rows columns"], labels: Int[ndarray, "rows"]
) -> Float[ndarray, "rows"]:
    """Of each row the score in the column that its label names."""
    # begin solution
    # Two arrays of indices go in step: row 0 with labels[0], row 1 with labels[1], and so on.
    return scores[np.arange(len(labels)), labels]
    # end solution


def cross_entropy(scores: Float[ndarray, "3"], label: int) -> float:
    """-ln of the softmax probability of the label."""
    # begin solution
    exponentials = np.exp(scores)
    return float(-np.log(exponentials[label] / exponentials.sum()))
    # end solution


def gradients(
    weights: Float[ndarray, "2 2"], x: Float[ndarray, "2"], target: Float[ndarray, "2"]
) -> tuple[Float[ndarray, "2 2"], Float[ndarray, "2"]]:
    """The gradients of L = ½ Σ (y - target)², where y = weights @ x, for the weights and for x."""
    # begin solution
    # ∂L/∂yᵢ = yᵢ - targetᵢ. Since yᵢ = Σⱼ wᵢⱼ xⱼ, the weight wᵢⱼ changes only yᵢ, by xⱼ; but xⱼ
    # changes every yᵢ, by wᵢⱼ, and these effects add up.
    dy = weights @ x - target
    return np.outer(dy, x), weights.T @ dy
    # end solution


def scale_rows(
    x: Float[ndarray, "rows columns"], factors: Float[ndarray, "rows"]
) -> Float[ndarray, "rows columns"]:
    """Multiply every row by its own factor."""
    # begin solution
    # Shapes are aligned at their last axis, so `factors` alone would go with the columns. Where
    # there are as many rows as columns, no error tells.
    return x * factors[:, None]
    # instead
    # return x * factors  # wrong: the page shows the traceback
    # end solution
