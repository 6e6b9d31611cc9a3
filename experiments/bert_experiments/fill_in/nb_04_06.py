"""Fill-ins of 04/06, what pretraining bought."""

from math import sqrt

import numpy as np

from bert_experiments.fill_in import FillIn

standard_error = FillIn(
    "standard_error",
    reference=lambda p, n: sqrt(p * (1 - p) / n),
    instead="the formula above",
    inputs=[(0.65, 200), (0.9, 1_000)],
    mistakes={
        "this is the variance: take the square root": lambda p, n: p * (1 - p) / n,
        "this is the spread of one answer: divide by the number of examples": (
            lambda p, n: sqrt(p * (1 - p))
        ),
        "divide by n inside the root": lambda p, n: sqrt(p * (1 - p)) / n,
    },
)

error_of_difference = FillIn(
    "error_of_difference",
    reference=lambda one, other: sqrt(one**2 + other**2),
    instead="the root of the sum of squares",
    inputs=[(3.0, 4.0), (2.1, 2.1)],
    mistakes={
        "errors of independent numbers are not added, their squares are": (
            lambda one, other: one + other
        ),
        "this is the larger of the two: the other one adds to it": lambda one, other: max(
            one, other
        ),
        "the square root is missing": lambda one, other: one**2 + other**2,
        "errors do not cancel, also not in a difference": lambda one, other: abs(one - other),
    },
)

BEFORE = np.array([True, True, False, False, True, False])
AFTER = np.array([True, False, True, True, True, True])

only_one_right = FillIn(
    "only_one_right",
    reference=lambda before, after: (int((before & ~after).sum()), int((after & ~before).sum())),
    instead="two counts",
    inputs=[(BEFORE, AFTER), (AFTER, AFTER)],
    mistakes={
        "the two are swapped: first those that only `before` has right": (
            lambda before, after: (int((after & ~before).sum()), int((before & ~after).sum()))
        ),
        "these are all that each has right: leave out those that both have": (
            lambda before, after: (int(before.sum()), int(after.sum()))
        ),
        "these are those that both have right, and that neither has": (
            lambda before, after: (int((before & after).sum()), int((~before & ~after).sum()))
        ),
    },
)

SIZES = [25, 100, 400]
SCORES = [0.6, 0.75, 0.9]


def first_that_reaches(sizes: list[int], scores: list[float], goal: float) -> int | None:
    return next((n for n, score in zip(sizes, scores, strict=True) if score >= goal), None)


labels_needed = FillIn(
    "labels_needed",
    reference=lambda sizes, scores, goal: first_that_reaches(sizes, scores, goal) or 0,
    instead="the first size that reaches the goal",
    inputs=[(SIZES, SCORES, 0.7), (SIZES, SCORES, 0.9), (SIZES, SCORES, 0.95)],
    mistakes={
        "a score that is exactly the goal reaches it: >=": lambda sizes, scores, goal: next(
            (n for n, score in zip(sizes, scores, strict=True) if score > goal), 0
        ),
        "this is the score, not the number of labels": lambda sizes, scores, goal: next(
            (score for score in scores if score >= goal), 0
        ),
        "this is the last size below the goal": lambda sizes, scores, goal: max(
            (n for n, score in zip(sizes, scores, strict=True) if score < goal), default=0
        ),
    },
)
