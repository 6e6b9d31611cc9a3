"""The paper's Table 7 and its claims (section 5.3; CoNLL-2003, F1 on dev)."""

import statistics

from bert_experiments.report.figures import NOTHING, UNTRAINED, Results, in_words, values_of
from bert_experiments.report.verdicts import Claim, Verdict, find_hindrance, judge, versus

MEASURE = "names"  # under which `verdicts` knows a score
FINE_TUNED = "fine-tuned"  # a row of its own
BEST = "concat-last-4"  # of the paper's features

# Its rows for the features of BERT-base. The two plain sums are ours.
PAPER_TABLE_7 = {
    "embeddings": 91.0,
    "second-to-last": 95.6,
    "last": 94.9,
    "weighted-sum-last-4": 95.9,
    BEST: 96.1,
    "weighted-sum-all": 95.5,
    FINE_TUNED: 96.4,
}

CLAIMS = (
    Claim(
        "The concatenated last four layers beat the embeddings (96.1 against 91.0)",
        versus(BEST, "embeddings", MEASURE),
    ),
    Claim(
        "The concatenated last four layers beat the last layer alone (96.1 against 94.9)",
        versus(BEST, "last", MEASURE),
    ),
    Claim(
        "The second-to-last layer beats the last layer (95.6 against 94.9)",
        versus("second-to-last", "last", MEASURE),
    ),
)

NEAR = 0.01  # the paper's 0.3 points are less than our seeds differ by
NEARLY = Claim(
    "The concatenated last four layers come close to fine-tuning (96.1 against 96.4); here: the "
    "median is no more than one point lower"
)


def beside(results: Results) -> dict[str, str]:
    """The paper's figure for each row of ours."""
    return {row: str(PAPER_TABLE_7.get(row, NOTHING)) for row in results}


def verdicts_of(results: Results) -> list[Verdict]:
    """The claims whose rows are there; that of fine-tuning is the row `FINE_TUNED`."""
    asked = [claim for claim in CLAIMS
             if all(side.variant in results for pair in claim.pairs for side in pair)]  # fmt: skip
    verdicts = [judge(claim, results) for claim in asked]
    return [*verdicts, judge_nearness(results)] if BEST in results else verdicts


def judge_nearness(results: Results) -> Verdict:
    """Is the median of the features at most `NEAR` below that of fine-tuning?"""
    if FINE_TUNED not in results:
        return Verdict(NEARLY, "not testable at this scale", "no --fine-tuned run was given")
    ours, theirs, untrained = (values_of(results, row, MEASURE)
                               for row in (BEST, FINE_TUNED, UNTRAINED))  # fmt: skip
    if hindrance := find_hindrance([ours, theirs], untrained):
        return Verdict(NEARLY, "not testable at this scale", hindrance)
    reason = f"{in_words(ours, MEASURE)} against {in_words(theirs, MEASURE)}"
    near = statistics.median(ours) >= statistics.median(theirs) - NEAR
    return Verdict(NEARLY, "reproduced" if near else "not reproduced", reason)


def shallow_note(layers: int) -> str:
    return (
        f"The model has {layers} layers, so the last four layers are all of its layers (without "
        "the embeddings)."
    )
