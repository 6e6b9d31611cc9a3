"""Medians, quartiles, ratios of rounds, fitted exponents."""

import statistics
from collections.abc import Sequence

import numpy as np

Figures = dict
NONE = "–"


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def with_quartiles(values: Sequence[float], form: str = ",.0f") -> str:
    """ "5.13 (5.09–5.24)"; a dash where there is nothing."""
    if not values:
        return NONE
    if len(values) == 1:
        return format(values[0], form)
    low, middle, high = (format(value, form) for value in quartiles(values))
    return f"{middle} ({low}–{high})"


def ratios(groups: Sequence[Figures], name: str, reference: str) -> list[float]:
    """The reference's time by that of `name`, of each round in which both took their turns."""
    for group in groups:
        if name in group and reference in group:
            ours, theirs = group[name]["seconds"], group[reference]["seconds"]
            if ours and theirs:
                return [b / a for a, b in zip(ours, theirs, strict=True)]
    return []


def result_of(groups: Sequence[Figures], name: str) -> Figures | None:
    """What a contestant did; of one that is in several groups, all its rounds."""
    found = [group[name] for group in groups if name in group]
    if not found:
        return None
    return {**found[0], "seconds": [each for one in found for each in one["seconds"]],
            "failure": found[0]["failure"]}  # fmt: skip


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """The slope of the straight line through the logarithms: y grows as x to this power."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def distance_from_a_line(x: Sequence[float], y: Sequence[float]) -> float:
    """How far the farthest point is from the best y = a + b·x, as a share of y. Near and far points
    count alike: what is made small is the sum of the squared shares."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    columns = np.stack([1 / y, x / y], axis=1)
    best, *_ = np.linalg.lstsq(columns, np.ones(len(x)), rcond=None)
    return float(np.abs(columns @ best - 1).max())


def in_bytes(count: float | None) -> str:
    return NONE if count is None else f"{count / 1e6:,.0f} MB"
