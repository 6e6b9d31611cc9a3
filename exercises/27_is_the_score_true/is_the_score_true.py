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
    raise NotImplementedError("write bootstrap_interval")


def sign_test(first: Bool[ndarray, "examples"], second: Bool[ndarray, "examples"]) -> float:
    """The two-sided p-value of McNemar's exact test for two models on the same examples.

    `first` and `second` say which examples each model has right. 1.0 if they never differ.
    """
    raise NotImplementedError("write sign_test")


def reliability(
    confidence: Float[ndarray, "examples"], correct: Bool[ndarray, "examples"], *, bins: int
) -> tuple[Int[ndarray, "bins"], Float[ndarray, "bins"], Float[ndarray, "bins"]]:
    """Of each bin the number of examples, their mean confidence and their accuracy.

    Bin j, counted from 0, holds the confidences above j / bins and up to (j + 1) / bins; 0 is in
    bin 0. An empty bin has NaN as its mean confidence and as its accuracy.
    """
    raise NotImplementedError("write reliability")


def calibration_error(
    confidence: Float[ndarray, "examples"], correct: Bool[ndarray, "examples"], *, bins: int
) -> float:
    """The expected calibration error: over the bins of `reliability`, the mean of the distance
    between accuracy and mean confidence, each bin weighted by its examples (Guo et al. 2017)."""
    raise NotImplementedError("write calibration_error")


def negative_log_likelihood(
    logits: Float[ndarray, "examples labels"],
    labels: Int[ndarray, "examples"],
    *,
    temperature: float = 1.0,
) -> float:
    """The mean of -ln p(label), p being the softmax of logits / temperature."""
    raise NotImplementedError("write negative_log_likelihood")


def best_temperature(
    logits: Float[ndarray, "examples labels"], labels: Int[ndarray, "examples"]
) -> float:
    """The temperature between COLDEST and HOTTEST with the least negative log likelihood, to one
    part in a thousand; COLDEST or HOTTEST where it is still falling there."""
    raise NotImplementedError("write best_temperature")
