"""What one should know before the course: a failed check also says where it is explained."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from autograder import checks
from autograder.checks import CheckFailed
from autograder.student import StudentError

NUMPY = "https://numpy.org/doc/stable"
AXES = f"{NUMPY}/user/absolute_beginners.html#more-useful-array-operations"
BROADCASTING = f"{NUMPY}/user/basics.broadcasting.html"
INDEXING = f"{NUMPY}/user/basics.indexing.html#integer-array-indexing"
CALCULUS = "https://d2l.ai/chapter_preliminaries/calculus.html"
ENTROPY = "01_numpy_from_scratch/01_softmax_and_cross_entropy.ipynb"
TRACEBACKS = "https://docs.python.org/3/tutorial/errors.html"
SHAPES = [(3, 2), (1, 4), (2, 2), (5, 3)]


@contextmanager
def explained_in(*pages: str) -> Iterator[None]:
    """Adds to the message of a failure what to read."""
    try:
        yield
    except (CheckFailed, StudentError) as error:
        if not getattr(error, "to_do", False):
            error.args = ("\n  ".join([str(error), *(f"to read: {page}" for page in pages)]),)
        raise


@pytest.mark.hint(1)
def test_keepdims_the_mean_of_each_row_is_subtracted(student):
    rng = checks.rng(1)
    with explained_in(AXES, BROADCASTING):
        for shape in SHAPES:
            x = rng.normal(size=shape)
            checks.same(
                student.subtract_row_means(x),
                (x.T - x.T.mean(0)).T,
                mistakes={
                    "the mean of each column is subtracted: axis=0 is the other one": x - x.mean(0),
                    "the mean of the whole array is subtracted: mean needs an axis": x - x.mean(),
                },
            )


@pytest.mark.hint(2)
def test_broadcasting_all_differences(student):
    rng = checks.rng(2)
    with explained_in(BROADCASTING):
        for n, m in SHAPES:
            a, b = rng.normal(size=n), rng.normal(size=m)
            expected = np.subtract.outer(a, b)
            checks.same(
                student.all_differences(a, b),
                expected,
                mistakes={
                    "b - a in place of a - b": -expected,
                    "rows and columns are exchanged: a runs along the rows": expected.T,
                },
            )


@pytest.mark.hint(1)
def test_axis_the_largest_number_of_each_column(student):
    rng = checks.rng(3)
    with explained_in(AXES):
        for shape in SHAPES:
            x = rng.normal(size=shape)
            checks.same(
                student.column_maxima(x),
                np.array([max(column) for column in x.T]),
                mistakes={
                    "these are the largest numbers of the rows: the axis that is named goes away": (
                        x.max(1)
                    )
                },
            )


def test_indexing_rows_by_their_ids(student):
    rng = checks.rng(4)
    with explained_in(INDEXING):
        for shape in [(3,), (2, 4), (1, 1, 2)]:
            table, ids = rng.normal(size=(6, 5)), rng.integers(5, size=shape)
            checks.same(
                student.look_up(table, ids),
                np.take(table, ids, axis=0),
                mistakes={
                    "the ids choose columns: the first axis of the table is that of its rows": (
                        table[:, ids]
                    ),
                    "the shape of ids is lost: table[ids] keeps it": table[ids.ravel()],
                },
            )


def test_indexing_one_number_of_each_row(student):
    rng = checks.rng(5)
    with explained_in(INDEXING):
        for rows, columns in SHAPES:
            scores, labels = rng.normal(size=(rows, columns)), rng.integers(columns, size=rows)
            checks.same(
                student.pick(scores, labels),
                np.array([row[label] for row, label in zip(scores, labels, strict=True)]),
                mistakes={
                    "every label is applied to every row: the rows need an index, too": (
                        scores[:, labels]
                    ),
                    "whole rows are chosen: the labels name columns": (
                        lambda out, columns=columns: np.ndim(out) == 2 and out.shape[1] == columns
                    ),
                },
            )


def test_cross_entropy_of_three_numbers(student):
    rng = checks.rng(6)
    with explained_in(ENTROPY):
        for label in range(3):
            scores = rng.normal(size=3)
            p = np.exp(scores[label]) / np.exp(scores).sum()
            checks.same(
                student.cross_entropy(scores, label),
                float(-np.log(p)),
                of=f"the loss of {scores.round(2)} for label {label}",
                mistakes={
                    "the minus is missing": float(np.log(p)),
                    "this is the probability: its negative logarithm is asked for": float(p),
                    "ln is the natural logarithm: np.log, not np.log2": float(-np.log2(p)),
                    "the softmax is missing: this is the score, not a probability": (
                        float(-scores[label])
                    ),
                },
            )


@pytest.mark.hint(3)
def test_the_chain_rule_on_a_two_by_two_matrix(student):
    rng = checks.rng(7)
    with explained_in(CALCULUS):
        for _ in range(3):
            weights, x, target = rng.normal(size=(2, 2)), rng.normal(size=2), rng.normal(size=2)
            dweights, dx = checks.parts(student.gradients(weights, x, target), "dweights", "dx")
            dy = [weights[i, 0] * x[0] + weights[i, 1] * x[1] - target[i] for i in range(2)]
            expected = np.array([[dy[i] * x[j] for j in range(2)] for i in range(2)])
            checks.same(
                dweights,
                expected,
                of="the gradient for the weights",
                mistakes={
                    "it is transposed: the weight of row i and column j changes y[i], by x[j]": (
                        expected.T
                    ),
                    "twice too large: the derivative of ½ (y - t)² is y - t": 2 * expected,
                    "the target is missing: the derivative is y - t": np.outer(weights @ x, x),
                },
            )
            checks.same(
                dx,
                np.array([weights[0, j] * dy[0] + weights[1, j] * dy[1] for j in range(2)]),
                of="the gradient for x",
                mistakes={
                    "x[j] changes y[i] by weights[i, j], so the sum runs over the rows": (
                        weights @ dy
                    ),
                    "only one of the two paths from x[j] to the loss": (
                        np.array([weights[j, j] * dy[j] for j in range(2)])
                    ),
                },
            )


@pytest.mark.hint(2)
def test_a_traceback_tells_what_is_wrong(student):
    rng = checks.rng(8)
    with explained_in(TRACEBACKS, BROADCASTING):
        for rows, columns in SHAPES:
            x, factors = rng.normal(size=(rows, columns)), rng.normal(size=rows)
            checks.same(
                student.scale_rows(x, factors),
                np.array([row * factor for row, factor in zip(x, factors, strict=True)]),
                mistakes=lambda x=x, factors=factors: {
                    "the columns are scaled: with as many rows as columns no error tells": (
                        x * factors if len(factors) == x.shape[1] else None
                    ),
                },
            )
