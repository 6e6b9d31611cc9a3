"""Fill-ins of 04/01, is the review positive?"""

import numpy as np

from bert_experiments.fill_in import FillIn

POOLED = np.array([[0.5, -1.0, 0.25], [1.0, 0.0, -0.5]])
WEIGHT = np.array([[1.0, 2.0, 0.0], [0.0, -1.0, 4.0]])
BIAS = np.array([0.1, -0.2])

head = FillIn(
    "head",
    reference=lambda pooled, weight, bias: pooled @ weight.T + bias,
    instead="pooled @ weight.T + bias",
    inputs=[(POOLED[0], WEIGHT, BIAS), (POOLED, WEIGHT, BIAS)],
    mistakes={
        "the bias is left out": lambda pooled, weight, bias: pooled @ weight.T,
        "the weights are not transposed: they have one row for each label": (
            lambda pooled, weight, bias: pooled @ weight + bias
        ),
        "the bias is subtracted": lambda pooled, weight, bias: pooled @ weight.T - bias,
    },
)


def log_sums(logits: np.ndarray) -> np.ndarray:
    largest = logits.max(axis=-1)
    return largest + np.log(np.exp(logits - largest[:, None]).sum(axis=-1))


def losses_of_rows(logits: np.ndarray, right: np.ndarray) -> np.ndarray:
    return log_sums(logits) - logits[np.arange(len(right)), right]


LOGITS = np.array([[1.0, 3.0], [0.0, 0.0], [2.0, -2.0]])
RIGHT = np.array([1, 0, 1])

cross_entropy = FillIn(
    "cross_entropy",
    reference=lambda logits, right: losses_of_rows(logits, right).mean(),
    instead="the formula above",
    inputs=[(LOGITS, RIGHT), (LOGITS[:2], RIGHT[:2])],
    mistakes={
        "the losses are added up: the loss of a batch is their mean": (
            lambda logits, right: losses_of_rows(logits, right).sum()
        ),
        "the sign: a loss is at least 0": lambda logits, right: (
            -losses_of_rows(logits, right).mean()
        ),
        "the labels are swapped: column 0 belongs to label 0": (
            lambda logits, right: losses_of_rows(logits, 1 - right).mean()
        ),
        "the mean runs over both labels: pick the right one": (
            lambda logits, right: (log_sums(logits)[:, None] - logits).mean()
        ),
        "this is the mean probability of the right label: take the logarithm of each first": (
            lambda logits, right: np.exp(-losses_of_rows(logits, right)).mean()
        ),
    },
)

FOUND = np.array([True, True, False, True, False, True])
NOTS = np.array([0, 0, 1, 1, 1, 3])


def accuracy_by_count(found: np.ndarray, counts: np.ndarray) -> dict[int, float]:
    return {int(count): found[counts == count].mean() for count in np.unique(counts)}


by_slice = FillIn(
    "by_slice",
    reference=accuracy_by_count,
    instead="one mean for each count",
    inputs=[(FOUND, NOTS), (FOUND[:4], NOTS[:4])],
    mistakes={
        "divided by the number of all reviews: each slice has a size of its own": (
            lambda found, counts: {
                int(c): (found & (counts == c)).mean() for c in np.unique(counts)
            }
        ),
        "these are counts of right answers: divide by the size of the slice": (
            lambda found, counts: {int(c): found[counts == c].sum() for c in np.unique(counts)}
        ),
        "this is the error rate": (
            lambda found, counts: {int(c): 1 - found[counts == c].mean() for c in np.unique(counts)}
        ),
    },
)

PAIRS = np.array([[0.9, 0.2], [0.8, 0.7], [0.4, 0.1], [0.3, 0.6], [0.3, 0.4]])

consistency = FillIn(
    "consistency",
    reference=lambda pairs: ((pairs[:, 0] > 0.5) & (pairs[:, 1] < 0.5)).mean(),
    instead="the fraction of pairs in which both are right",
    inputs=[(PAIRS,), (PAIRS[1:],)],
    mistakes={
        "this is the accuracy: each text counts alone. Of a pair, both must be right": (
            lambda pairs: ((pairs > 0.5) == np.array([True, False])).mean()
        ),
        "both are required to be positive: the second of a pair is negative": (
            lambda pairs: (pairs > 0.5).all(axis=1).mean()
        ),
        "one right of two is enough here: both must be right, so & and not |": (
            lambda pairs: ((pairs[:, 0] > 0.5) | (pairs[:, 1] < 0.5)).mean()
        ),
        "this asks only which of the two is more positive; each must be on its own side of 0.5": (
            lambda pairs: (pairs[:, 0] > pairs[:, 1]).mean()
        ),
    },
)
