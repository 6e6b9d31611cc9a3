"""Do our runs show what the paper says? A rule that code applies, and its reasons in numbers.

Seeds differ, so a difference counts only when it is larger than theirs: every seed of the variant
that should be better must lie beyond every seed of the other.
"""

import statistics
from dataclasses import dataclass
from typing import Literal

from bert_experiments.ablations.measuring import UNTRAINED, Figures, title_of

Results = dict[str, list[Figures]]  # by variant, one entry a seed
Answer = Literal["reproduced", "not reproduced", "not testable at this scale"]

RULE = (
    "The rule: a claim is *reproduced* when every seed of the variant that should be better lies "
    "beyond every seed of the other; *not reproduced* when seeds overlap, or stand the other way "
    "round; *not testable at this scale* when fewer than two seeds were run, when there is no "
    "measure, or when neither variant lies beyond every seed of a model before training."
)


@dataclass(frozen=True)
class Side:
    """A figure of a variant."""

    variant: str
    measure: str


@dataclass(frozen=True)
class Claim:
    """What the paper says, and what must hold of our runs: in every pair the first is better."""

    says: str
    pairs: tuple[tuple[Side, Side], ...] = ()
    why_not: str = ""  # not testable here, whatever the runs give
    lower_is_better: bool = False


@dataclass(frozen=True)
class Verdict:
    claim: Claim
    answer: Answer
    reason: str


def judge(claim: Claim, results: Results) -> Verdict:
    """Apply the rule; of several pairs the first that fails decides."""
    if claim.why_not:
        return Verdict(claim, "not testable at this scale", claim.why_not)
    reasons = []
    for better, worse in claim.pairs:
        ours = [values_of(side, results) for side in (better, worse)]
        untrained = values_of(Side(UNTRAINED, better.measure), results)
        hindrance = find_hindrance(ours, untrained)
        if hindrance:
            return Verdict(claim, "not testable at this scale", hindrance)
        reason = compared(better, worse, ours)
        sign = -1 if claim.lower_is_better else 1
        first, second = ([sign * value for value in values] for values in ours)
        if min(first) > max(second):
            reasons.append(reason)
            continue
        how = "the other way round" if max(first) < min(second) else "within the spread of seeds"
        return Verdict(claim, "not reproduced", f"{reason}: {how}")
    return Verdict(claim, "reproduced", "; ".join(reasons))


def values_of(side: Side, results: Results) -> list[float]:
    """One value a seed, of the seeds that have it."""
    return [figures[side.measure] for figures in results.get(side.variant, [])
            if side.measure in figures]  # fmt: skip


def find_hindrance(ours: list[list[float]], untrained: list[float]) -> str | None:
    """Why a pair cannot be compared, in words."""
    if not all(ours):
        return "this corpus has no labels to measure it with"
    if min(map(len, ours)) < 2:
        return "one seed shows no spread"
    best = max(statistics.median(values) for values in ours)
    if untrained and best <= max(untrained):
        return (
            f"a model before training does as well: {max(untrained):.1%}, after it {best:.1%} "
            "at best"
        )
    return None


def compared(better: Side, worse: Side, ours: list[list[float]]) -> str:
    """ "hidden words found: no NSP 61.2% (59.0–63.1) against left to right 40.0% (38.8–41.5)"."""
    first, second = (in_words(v, s.measure) for v, s in zip(ours, (better, worse), strict=True))
    if better.variant == worse.variant:
        return (
            f"{better.variant}: {title_of(better.measure)} {first} against "
            f"{title_of(worse.measure)} {second}"
        )
    return f"{title_of(better.measure)}: {better.variant} {first} against {worse.variant} {second}"


def in_words(values: list[float], measure: str) -> str:
    """The median, and from lowest to highest in brackets; shares in per cent."""
    if is_share(measure):
        values, form, unit = [100 * value for value in values], ".1f", "%"
    else:
        form, unit = ".2f", ""
    middle = f"{statistics.median(values):{form}}{unit}"
    if len(values) == 1:
        return middle
    return f"{middle} ({min(values):{form}}–{max(values):{form}})"


def is_share(measure: str) -> bool:
    return "perplexity" not in measure
