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
    # begin solution
    kept = ids[~np.isin(ids, special_ids)]
    counts = np.unique(kept, return_counts=True)[1]  # only ids that occur: p ln p goes to 0 with p
    p = counts / counts.sum()
    # V counts all entries, whether they occur or not: a model that knows nothing does not know
    # which of them do.
    return np.log(vocab_size), -(p * np.log(p)).sum()
    # end solution


def curve(
    records: list[Record], key: str
) -> tuple[Int[ndarray, "points"], Float[ndarray, "points"]]:
    """The steps (int64, rising) and the values (float64) of one metric.

    Records that do not have `key`, or have None there, are left out. Of several records of a step
    that have it, the last one in the list counts.
    """
    # begin solution
    found = {r["step"]: r[key] for r in records if r.get(key) is not None}  # a later one replaces
    steps = sorted(found)  # the file of a run that was resumed goes back to an earlier step
    return np.array(steps, np.int64), np.array([found[step] for step in steps], np.float64)
    # end solution


def smooth(values: Float[ndarray, "points"], window: int) -> Float[ndarray, "points"]:
    """At each point the mean of the last `window` values up to it; of fewer at the beginning.

    Values that are NaN or infinite are left out of the means. A window of which nothing is left
    gives NaN.
    """
    # begin solution
    means = np.full(len(values), np.nan)
    for i in range(len(values)):
        # The window looks back only: a mean that looks ahead shows a rise before it happens.
        seen = values[: i + 1][-window:]
        seen = seen[np.isfinite(seen)]
        if len(seen):
            means[i] = seen.mean()
    return means
    # end solution


def is_flat(values: Float[ndarray, "points"], *, window: int, tolerance: float) -> bool:
    """Whether the mean of the last `window` values is less than `tolerance` below the mean of the
    `window` values before them. False if there are fewer than two windows. All values are finite.
    """
    # begin solution
    if len(values) < 2 * window:
        return False  # too little has been seen to say so
    fall = values[-2 * window : -window].mean() - values[-window:].mean()
    return fall < tolerance  # a curve that rises does not fall either
    # end solution


def diagnose(records: list[Record], *, ln_v: float, entropy: float) -> str:
    """The name in the first line of the page's table that fits a run."""
    # begin solution
    steps, train = curve(records, "train_mlm_loss")
    heldout_steps, heldout = curve(records, "heldout_mlm_loss")
    norm = curve(records, "gradient_norm")[1]
    # NaN first: it makes every comparison below false, so such a run would seem to be healthy.
    if not (np.isfinite(train).all() and np.isfinite(heldout).all()):
        return "diverged"
    if len(train) < 10:
        return "too short"
    k = len(train) // 10
    smoothed = smooth(train, k)
    end = smoothed[-1]  # one loss is one batch: its noise is larger than what is asked here
    if end >= smoothed.min() + 1:
        return "diverged"
    if train[0] >= ln_v + 1:
        return "bad start"
    if end > ln_v - NEAR:
        return "at ln V"
    if len(heldout):
        best = heldout.argmin()
        # The two curves have points at different steps: what goes together is found by the step.
        before = smoothed[steps <= heldout_steps[best]]
        if heldout[-1] > heldout[best] and len(before) and end <= before[-1] - NEAR:
            return "overfits"
        if heldout[-1] <= end - NEAR:
            return "leak"
    if not is_flat(train, window=k, tolerance=FLAT):
        return "still falling"
    if end >= entropy + NEAR:
        return "above the line"
    if end > entropy - NEAR:
        # At the line the loss cannot tell waiting from being stuck: the gradient can.
        j = len(norm) // 10 or 1
        fell = len(norm) and norm[-j:].mean() <= norm[:j].mean() / 2
        return "stuck at the line" if fell else "plateau"
    return "finished"
    # end solution


# begin solution
# Wrong answers that are common:
# - the entropy in bits, or of a vocabulary in which every entry occurs equally often;
# - curves that are taken for lists of equal length, although the held-out loss has fewer points;
# - np.convolve, which shortens a curve or counts zeros at its ends;
# - NaN that is compared, and so falls through every line of the table;
# - a single last loss in place of a mean;
# - overfitting told from the gap of the two losses, or from a held-out loss that is noisy;
# - a curve that is falling through the line and is taken for one that stays there.
# end solution
