"""Is the score true? How much of it is chance, and whether a model knows how sure it may be."""

import math

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

COLDEST, HOTTEST = 0.05, 20.0  # the range of temperatures that are searched


def bootstrap_interval(
    values: Float[ndarray, "examples"], *, draws: int, level: float, rng: np.random.Generator
) -> tuple[float, float]:
    """The percentile bootstrap interval of the mean of `values` (Efron 1979).

    Each of the `draws` resamples has as many values as there are, drawn with replacement by
    `rng.integers(n, size=(draws, n))`: row r holds the indices of resample r.
    """
    # begin solution
    n = len(values)  # as many as there are: a mean of fewer values would vary more
    means = values[rng.integers(n, size=(draws, n))].mean(axis=1)
    tail = (1 - level) / 2  # what is outside lies on both sides
    low, high = np.quantile(means, [tail, 1 - tail])
    return low, high
    # end solution


def sign_test(first: Bool[ndarray, "examples"], second: Bool[ndarray, "examples"]) -> float:
    """The two-sided p-value of McNemar's exact test for two models on the same examples.

    `first` and `second` say which examples each model has right. 1.0 if they never differ.
    """
    # begin solution
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    m = only_first + only_second  # where both are right, or both wrong, nothing tells them apart
    # Whole numbers of Python have no largest value: 2.0 ** 2000 would be infinite.
    ways = sum(math.comb(m, i) for i in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * ways / 2**m)  # both halves may hold the middle
    # end solution


def reliability(
    confidence: Float[ndarray, "examples"], correct: Bool[ndarray, "examples"], *, bins: int
) -> tuple[Int[ndarray, "bins"], Float[ndarray, "bins"], Float[ndarray, "bins"]]:
    """Of each bin the number of examples, their mean confidence and their accuracy.

    Bin j, counted from 0, holds the confidences above j / bins and up to (j + 1) / bins; 0 is in
    bin 0. An empty bin has NaN as its mean confidence and as its accuracy.
    """
    # begin solution
    edges = np.arange(bins) / bins  # the lower ones, which belong to the bin below
    place = np.maximum(np.searchsorted(edges, confidence, side="left") - 1, 0)
    counts = np.bincount(place, minlength=bins)
    size = np.where(counts, counts, np.nan)  # a mean of nothing is NaN
    return (
        counts,
        np.bincount(place, confidence, bins) / size,
        np.bincount(place, correct, bins) / size,
    )
    # end solution


def calibration_error(
    confidence: Float[ndarray, "examples"], correct: Bool[ndarray, "examples"], *, bins: int
) -> float:
    """The expected calibration error: over the bins of `reliability`, the mean of the distance
    between accuracy and mean confidence, each bin weighted by its examples (Guo et al. 2017)."""
    # begin solution
    counts, mean, accuracy = reliability(confidence, correct, bins=bins)
    some = counts > 0  # 0 · NaN is NaN
    return (counts * np.abs(accuracy - mean))[some].sum() / len(confidence)
    # end solution


def negative_log_likelihood(
    logits: Float[ndarray, "examples labels"],
    labels: Int[ndarray, "examples"],
    *,
    temperature: float = 1.0,
) -> float:
    """The mean of -ln p(label), p being the softmax of logits / temperature."""
    # begin solution
    # exp of a large number is infinite; of 0 and less it never is.
    z = (logits - logits.max(axis=1, keepdims=True)) / temperature
    return (np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(labels)), labels]).mean()
    # end solution


def best_temperature(
    logits: Float[ndarray, "examples labels"], labels: Int[ndarray, "examples"]
) -> float:
    """The temperature between COLDEST and HOTTEST with the least negative log likelihood, to one
    part in a thousand; COLDEST or HOTTEST where it is still falling there."""
    # begin solution
    right = logits[np.arange(len(labels)), labels]
    low, high = COLDEST, HOTTEST
    for _ in range(40):  # each halves what is left of the range
        middle = math.sqrt(low * high)  # the scale is one of ratios: 0.1 is as far from 1 as 10
        weights = np.exp((logits - logits.max(axis=1, keepdims=True)) / middle)
        mean = (weights * logits).sum(axis=1) / weights.sum(axis=1)  # of the logits, under p
        # The loss is convex in 1/T, so it has one valley, and the sign of its slope says on which
        # side T lies: it is too low where the mean of the logits under p is above the right one.
        if (mean - right).mean() > 0:
            low = middle
        else:
            high = middle
    return math.sqrt(low * high)
    # end solution


# begin solution
# Wrong answers that are common:
# - quantiles at 5% and 95% for an interval of 95%, or a resample without replacement;
# - a test that counts all examples, though only those on which the models differ say anything;
# - half of the p-value, or one above 1 where the models are even;
# - float powers of two, which overflow, or a difference of them;
# - bins that hold their lower edge, so that a confidence of 1 is in none;
# - the mean over bins in place of the mean over examples; signed gaps that cancel;
# - the middle of a bin in place of the mean confidence in it;
# - logits times the temperature; exp of large logits;
# - a search that begins at 1 and only goes up, although a model can be underconfident too.
# end solution
