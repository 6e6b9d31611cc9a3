"""Paired tests, calibration and thresholds in NumPy. `bert_finetuning.metrics` has the bootstrap.

A binary model gives one margin for each example: the logit of label 1 minus that of label 0.
"""

from math import comb

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

Hits = Bool[ndarray, "examples"]  # was this example answered correctly?
Margins = Float[ndarray, "examples"]
Labels = Int[ndarray, "examples"]


def mcnemar(first: Hits, second: Hits) -> float:
    """The two-sided p value of the exact test of McNemar (1947).

    Only examples on which exactly one model is right count. If the models are equally good, each of
    these is a fair coin toss.
    """
    won, lost = int((first & ~second).sum()), int((second & ~first).sum())
    tosses = won + lost
    tail = sum(comb(tosses, k) for k in range(min(won, lost) + 1)) / 2**tosses
    return min(1.0, 2 * tail)


def permutation_test(first: Hits, second: Hits, *, draws: int = 2_000, seed: int = 0) -> float:
    """The two-sided p value of a paired permutation test on the difference of accuracies.

    Each draw swaps the two models at random, example by example. The observed difference counts as
    one of the draws, so that p is never 0.
    """
    difference = first.astype(int) - second.astype(int)
    signs = np.random.default_rng(seed).choice([-1, 1], size=(draws, len(difference)))
    as_large = np.abs(signs @ difference) >= abs(difference.sum())
    return float((1 + as_large.sum()) / (1 + draws))


def scaled_probability(margins: Margins, temperature: float = 1.0) -> Float[ndarray, "examples"]:
    """The probability of label 1."""
    return 1 / (1 + np.exp(-margins / temperature))


def confidence(margins: Margins, temperature: float = 1.0) -> Float[ndarray, "examples"]:
    """The probability of the predicted label."""
    return scaled_probability(np.abs(margins), temperature)


def is_right(margins: Margins, labels: Labels) -> Hits:
    return (margins > 0) == (labels == 1)


def reliability(
    confidences: Float[ndarray, "examples"], hits: Hits, *, bins: int = 10
) -> list[tuple[float, float, int]]:
    """Mean confidence, accuracy and number of examples of each bin that has any.

    The bins are equally wide from 0.5 to 1.
    """
    number = np.minimum(((confidences - 0.5) * 2 * bins).astype(int), bins - 1)
    each = ((confidences[number == n], hits[number == n]) for n in range(bins))
    return [(float(c.mean()), float(h.mean()), len(c)) for c, h in each if len(c)]


def calibration_error(
    confidences: Float[ndarray, "examples"], hits: Hits, *, bins: int = 10
) -> float:
    """The expected calibration error: the mean distance of confidence and accuracy over the bins,
    weighted by their size (Guo et al. 2017, arXiv 1706.04599, equation 3)."""
    found = reliability(confidences, hits, bins=bins)
    return sum(abs(sure - right) * count for sure, right, count in found) / len(hits)


def log_loss(margins: Margins, labels: Labels, temperature: float = 1.0) -> float:
    """The mean of -ln p of the right label."""
    signed = np.where(labels == 1, margins, -margins) / temperature
    return float(np.logaddexp(0, -signed).mean())


def fit_temperature(margins: Margins, labels: Labels) -> float:
    """The temperature with the lowest loss, between 1/20 and 20.

    The loss is convex in 1 / temperature, so a golden-section search finds its minimum.
    """
    low, high, golden = 0.05, 20.0, (5**0.5 - 1) / 2
    while high - low > 1e-5:
        left, right = high - golden * (high - low), low + golden * (high - low)
        if log_loss(margins, labels, 1 / left) < log_loss(margins, labels, 1 / right):
            high = right
        else:
            low = left
    return 2 / (low + high)


def precision_recall(margins: Margins, labels: Labels, threshold: float = 0.0) -> tuple:
    """Precision and recall of label 1, predicted where the margin is above the threshold."""
    said, there = margins > threshold, labels == 1
    found = int((said & there).sum())
    return found / max(1, int(said.sum())), found / max(1, int(there.sum()))


def f1_at(margins: Margins, labels: Labels, threshold: float = 0.0) -> float:
    precision, recall = precision_recall(margins, labels, threshold)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def best_threshold(margins: Margins, labels: Labels) -> float:
    """The threshold with the highest F1, halfway between two neighboring margins."""
    ordered = np.unique(margins)
    between = (ordered[1:] + ordered[:-1]) / 2
    return float(max(between, key=lambda each: f1_at(margins, labels, each), default=0.0))
