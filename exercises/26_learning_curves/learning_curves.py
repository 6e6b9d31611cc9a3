"""A run's metrics, read by rules: the lines that a loss is compared with, and a diagnosis."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

NEAR = 0.25  # nats: two losses that are less than this apart count as equal
FLAT = 0.0625  # nats: a training loss that falls by less than this is flat

Record = dict[str, Any]  # a line of metrics.jsonl


def reference_lines(
    ids: Int[ndarray, "*shape"], *, vocab_size: int, special_ids: list[int]
) -> tuple[float, float]:
    """ln V, and the entropy of the token frequencies in nats.

    The ids in `special_ids` are left out of the frequencies, because they are never masked. If no
    token is left, the entropy is 0.0.
    """
    raise NotImplementedError("write reference_lines")


def curve(
    records: list[Record], key: str
) -> tuple[Int[ndarray, "points"], Float[ndarray, "points"]]:
    """The steps (int64, rising) and the values (float64) of one metric.

    Records that do not have `key`, or have None there, are left out. Of several records of a step
    that have it, the last one in the list counts.
    """
    raise NotImplementedError("write curve")


def smooth(values: Float[ndarray, "points"], window: int) -> Float[ndarray, "points"]:
    """At each point the mean of the last `window` values up to it; of fewer at the beginning.

    Values that are NaN or infinite are left out of the means. A window of which nothing is left
    gives NaN.
    """
    raise NotImplementedError("write smooth")


def is_flat(values: Float[ndarray, "points"], *, window: int, tolerance: float) -> bool:
    """Whether the mean of the last `window` values is less than `tolerance` below the mean of the
    `window` values before them. False if there are fewer than two windows. All values are finite.
    """
    raise NotImplementedError("write is_flat")


def diagnose(records: list[Record], *, ln_v: float, entropy: float) -> str:
    """The name in the first line of the page's table that fits a run."""
    raise NotImplementedError("write diagnose")
