"""Fill-ins of 04/08, is the score true?"""

from math import comb

import numpy as np

from bert_experiments.fill_in import FillIn
from bert_experiments.finetuning.true_scores import measures
from bert_experiments.finetuning.true_scores.texts import triples

HITS = np.array([[1, 1, 0, 0, 1, 0, 0, 1], [0, 1, 1, 1, 0, 0, 0, 1], [1, 0, 0, 1, 1, 1, 1, 0]])


def chosen(hits: np.ndarray, size: int) -> tuple[float, float]:
    best = hits[:, :size].mean(axis=1).argmax()
    return hits[best, :size].mean(), hits[best, size:].mean()


best_on_dev = FillIn(
    "best_on_dev",
    reference=chosen,
    instead="the rule above",
    inputs=[(HITS, 4), (HITS, 2), (HITS[:, ::-1].copy(), 3)],
    mistakes={
        "the second number is that of the best model on test: the choice is made on dev": (
            lambda hits, size: (hits[:, :size].mean(axis=1).max(),
                                hits[:, size:].mean(axis=1).max())
        ),
        "the second number counts dev as well: test is what comes after it": (
            lambda hits, size: (chosen(hits, size)[0],
                                hits[hits[:, :size].mean(axis=1).argmax()].mean())
        ),
        "these are the means of all models: take the one that is best on dev": (
            lambda hits, size: (hits[:, :size].mean(), hits[:, size:].mean())
        ),
    },
)  # fmt: skip

INDICES = np.array([[0, 0, 1, 2], [3, 3, 3, 3], [2, 1, 0, 3]])

scores_of_draws = FillIn(
    "scores_of_draws",
    reference=lambda hits, indices: hits[indices].mean(axis=1),
    instead="the mean of each row",
    inputs=[(HITS[0], INDICES), (HITS[1], INDICES), (HITS[0] == 1, INDICES[:2])],
    mistakes={
        "the mean over the draws: each draw needs one of its own, so axis=1": (
            lambda hits, indices: hits[indices].mean(axis=0)
        ),
        "this is one mean over all draws: keep one for each": (
            lambda hits, indices: hits[indices].mean()
        ),
        "these are sums: divide by the number of examples": (
            lambda hits, indices: hits[indices].sum(axis=1)
        ),
    },
)


def two_sided(won: int, lost: int) -> float:
    tail = sum(comb(won + lost, k) for k in range(min(won, lost) + 1)) / 2 ** (won + lost)
    return min(1.0, 2 * tail)


p_value = FillIn(
    "p_value",
    reference=two_sided,
    instead="the sum above",
    inputs=[(8, 2), (2, 8), (5, 5), (0, 6), (30, 12)],
    tolerance=1e-9,
    mistakes={
        "this is one side: double it, at most to 1": (
            lambda won, lost: two_sided(won, lost) / 2 if won != lost else two_sided(won, lost)
        ),
        "the smaller count itself belongs to the sum: range(m) ends at m - 1": (
            lambda won, lost: min(1.0, two_sided(won, lost)
                                  - 2 * comb(won + lost, min(won, lost)) / 2 ** (won + lost))
        ),
        "with more than one half on each side the doubled sum is above 1: take min(1.0, …)": (
            lambda won, lost: 2 * sum(comb(won + lost, k) for k in range(min(won, lost) + 1))
            / 2 ** (won + lost)
        ),
    },
)  # fmt: skip

TRAIN = ["the film was never dull", "a story about a man", "too long"]
TEST = ["was never dull at all", "a story of a man", "the film was long", "about a man"]


def known_fraction(train: list[str], test: list[str]) -> float:
    known = {part for text in train for part in triples(text)}
    return sum(bool(known & set(triples(text))) for text in test) / len(test)


share_known = FillIn(
    "share_known",
    reference=known_fraction,
    instead="the rule above",
    inputs=[(TRAIN, TEST), (TEST, TRAIN), (TRAIN, TRAIN), (TRAIN, ["a film"])],
    mistakes={
        "whole texts are compared: look for three words that both have": (
            lambda train, test: sum(text in set(train) for text in test) / len(test)
        ),
        "this counts the texts that are new": (
            lambda train, test: 1 - known_fraction(train, test)
        ),
        "divide by the number of test texts": (
            lambda train, test: known_fraction(train, test) * len(test) / len(train)
        ),
    },
)  # fmt: skip

SURE = np.array([0.55, 0.58, 0.72, 0.75, 0.93, 0.97, 0.99, 0.91])
RIGHT = np.array([True, False, True, False, True, True, False, True])


def signed_error(confidences: np.ndarray, hits: np.ndarray) -> float:
    found = measures.reliability(confidences, hits)
    return abs(sum((sure - right) * count for sure, right, count in found)) / len(hits)


def unweighted(confidences: np.ndarray, hits: np.ndarray) -> float:
    return float(np.mean([abs(s - r) for s, r, _ in measures.reliability(confidences, hits)]))


calibration_error = FillIn(
    "calibration_error",
    reference=lambda confidences, hits: measures.calibration_error(confidences, hits),
    instead="the weighted mean above",
    inputs=[(SURE, RIGHT), (SURE[::-1].copy(), RIGHT), (SURE[:5], RIGHT[:5])],
    tolerance=1e-9,
    mistakes={
        "errors of different sign cancel: take the absolute value in each bin": signed_error,
        "all bins count alike: weight each by its number of examples": unweighted,
    },
)
