"""Do our runs show what the paper says? A rule that code applies, and its reasons in numbers.

Seeds differ, so a difference counts only when it is larger than theirs: every seed of the variant
that should be better must lie beyond every seed of the other.
"""

import statistics
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from bert_experiments.report.figures import UNTRAINED, Results, in_words, title_of, values_of

Answer = Literal["reproduced", "not reproduced", "not testable at this scale"]

RULE = (
    "The rule: a claim is *reproduced* when every seed of the variant that should be better lies "
    "beyond every seed of the other variant; it is *not reproduced* when the seeds overlap or the "
    "order is reversed. A measure is excluded when neither variant lies beyond every seed of an "
    "untrained model; a claim is *not testable at this scale* when no measure is left or when "
    "fewer than two seeds were run."
)


@dataclass(frozen=True)
class Side:
    """A figure of a variant."""

    variant: str
    measure: str


Pairs = tuple[tuple[Side, Side], ...]


@dataclass(frozen=True)
class Claim:
    """What the paper says, and what must hold of our runs: in every pair the first is better."""

    says: str
    pairs: Pairs = ()
    why_not: str = ""  # not testable here, whatever the runs give
    lower_is_better: bool = False


def versus(better: str, worse: str, *measures: str) -> Pairs:
    return tuple((Side(better, measure), Side(worse, measure)) for measure in measures)


def in_order(variants: list[str], measure: str) -> Pairs:
    """Each variant better than the one before it."""
    return tuple(pair for worse, better in pairwise(variants)
                 for pair in versus(better, worse, measure))  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    claim: Claim
    answer: Answer
    reason: str


def judge(claim: Claim, results: Results) -> Verdict:
    """Apply the rule. Pairs that cannot be compared are excluded; of the others the first that
    fails decides."""
    if claim.why_not:
        return Verdict(claim, "not testable at this scale", claim.why_not)
    reasons, aside = [], []
    for better, worse in claim.pairs:
        ours = [values_of(results, side.variant, side.measure) for side in (better, worse)]
        if hindrance := find_hindrance(ours, values_of(results, UNTRAINED, better.measure)):
            aside.append((title_of(better.measure), hindrance))
            continue
        reason = comparison(better, worse, ours)
        sign = -1 if claim.lower_is_better else 1
        first, second = ([sign * value for value in values] for values in ours)
        if min(first) > max(second):
            reasons.append(reason)
            continue
        how = "in reverse order" if max(first) < min(second) else "within the spread of seeds"
        return Verdict(claim, "not reproduced", in_one([f"{reason}: {how}"], aside))
    if not reasons:
        return Verdict(claim, "not testable at this scale", aside[0][1] if aside else "no measure")
    return Verdict(claim, "reproduced", in_one(reasons, aside))


def in_one(reasons: list[str], aside: list[tuple[str, str]]) -> str:
    """All reasons, and why a measure was excluded."""
    left = [f"{measure} excluded: {hindrance}" for measure, hindrance in dict(aside).items()]
    return "; ".join([*reasons, *left])


def find_hindrance(ours: list[list[float]], untrained: list[float]) -> str | None:
    """Why variants cannot be compared, in words; None if they can."""
    if not all(ours):
        return "this corpus has no labels to measure it with"
    if min(map(len, ours)) < 2:
        return "one seed shows no spread"
    best = max(statistics.median(values) for values in ours)
    if untrained and best <= max(untrained):
        return (
            f"an untrained model does as well: {max(untrained):.1%}, against {best:.1%} at best "
            "after pretraining"
        )
    return None


def comparison(better: Side, worse: Side, ours: list[list[float]]) -> str:
    """ "hidden words found: no NSP 61.2% (59.0–63.1) against left to right 40.0% (38.8–41.5)"."""
    first, second = (in_words(v, s.measure) for v, s in zip(ours, (better, worse), strict=True))
    if better.variant == worse.variant:
        return (
            f"{better.variant}: {title_of(better.measure)} {first} against "
            f"{title_of(worse.measure)} {second}"
        )
    return f"{title_of(better.measure)}: {better.variant} {first} against {worse.variant} {second}"
