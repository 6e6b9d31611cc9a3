"""The paper's Table 7 beside ours, and its claims (section 5.3; CoNLL-2003, F1 on dev)."""

import statistics
from dataclasses import dataclass

from bert_experiments.ablations.measuring import UNTRAINED
from bert_experiments.ablations.report import NOTHING, aligned
from bert_experiments.ablations.verdicts import (
    Claim,
    Results,
    Side,
    Verdict,
    find_hindrance,
    in_words,
    judge,
)

MEASURE = "names"  # under which `verdicts` knows a score
FINE_TUNED = "fine-tuned"

# Its rows for the features of BERT-base. The two plain sums are ours.
PAPER_TABLE_7 = {
    "embeddings": 91.0,
    "second-to-last": 95.6,
    "last": 94.9,
    "weighted-sum-last-4": 95.9,
    "concat-last-4": 96.1,
    "weighted-sum-all": 95.5,
    FINE_TUNED: 96.4,
}


@dataclass(frozen=True)
class FineTunedRow:
    """What fine-tuning reached, one value a seed."""

    scores: list[float]


def better(first: str, second: str) -> tuple[tuple[Side, Side], ...]:
    return ((Side(first, MEASURE), Side(second, MEASURE)),)


CLAIMS = (
    Claim(
        "The last four layers side by side beat the embeddings (96.1 against 91.0)",
        better("concat-last-4", "embeddings"),
    ),
    Claim(
        "The last four layers side by side beat the last alone (96.1 against 94.9)",
        better("concat-last-4", "last"),
    ),
    Claim(
        "The second-to-last layer beats the last (95.6 against 94.9)",
        better("second-to-last", "last"),
    ),
)

NEAR = 0.01  # the paper's 0.3 points are less than our seeds differ by
NEARLY = Claim(
    "The last four layers side by side come close to fine-tuning (96.1 against 96.4); here: within "
    "one point of it, by the medians"
)


def table_text(
    results: Results, fine_tuned: FineTunedRow | None, *, layers: int, with_paper: bool
) -> str:
    """A row for each feature, and one for fine-tuning where it was given."""
    rows = [["features", "ours, per cent", "the paper"]]
    for name, runs in results.items():
        rows.append([name, in_words([run[MEASURE] for run in runs], MEASURE), theirs(name)])
    if fine_tuned is not None:
        rows.append([FINE_TUNED, in_words(fine_tuned.scores, MEASURE), theirs(FINE_TUNED)])
    columns = 3 if with_paper else 2
    text = aligned([row[:columns] for row in rows])
    if layers <= 4 and any("last-4" in name for name in results):
        text += (
            f"\n\nThe model has {layers} layers, so the last four are all of them (without the "
            "embeddings)."
        )
    return text


def theirs(name: str) -> str:
    return str(PAPER_TABLE_7.get(name, NOTHING))


def verdicts_of(results: Results, fine_tuned: FineTunedRow | None) -> list[Verdict]:
    """The claims whose rows are there."""
    asked = [claim for claim in CLAIMS
             if all(side.variant in results for pair in claim.pairs for side in pair)]  # fmt: skip
    verdicts = [judge(claim, results) for claim in asked]
    if "concat-last-4" in results:
        verdicts.append(judge_nearness(results, fine_tuned))
    return verdicts


def judge_nearness(results: Results, fine_tuned: FineTunedRow | None) -> Verdict:
    """Is the median of the features at most `NEAR` below that of fine-tuning?"""
    if fine_tuned is None:
        return Verdict(NEARLY, "not testable at this scale", "no --fine-tuned run was given")
    ours = [run[MEASURE] for run in results["concat-last-4"]]
    untrained = [run[MEASURE] for run in results.get(UNTRAINED, [])]
    hindrance = find_hindrance([ours, fine_tuned.scores], untrained)
    if hindrance:
        return Verdict(NEARLY, "not testable at this scale", hindrance)
    reason = f"{in_words(ours, MEASURE)} against {in_words(fine_tuned.scores, MEASURE)}"
    near = statistics.median(ours) >= statistics.median(fine_tuned.scores) - NEAR
    return Verdict(NEARLY, "reproduced" if near else "not reproduced", reason)
