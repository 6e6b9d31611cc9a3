"""What the paper says of its ablations after fine-tuning, as comparisons of our columns."""

import statistics
from itertools import pairwise

from bert_experiments.ablations.variants import VARIANTS
from bert_experiments.paper_tables.columns import (
    FEW_KINDS,
    FEW_NAMES,
    FEW_NAMES_HIGHER,
    KINDS,
    MORE_PAIRS,
    NAMES,
    NAMES_BY_FEATURES,
    NAMES_HIGHER,
    PAIRS,
    PERPLEXITY,
    SENTIMENT,
    SENTIMENT_MEAN,
    WHO,
    WHO_200,
    WHO_MEAN,
)
from bert_experiments.report.figures import UNTRAINED, Results, values_of
from bert_experiments.report.verdicts import (
    Claim,
    Side,
    Verdict,
    find_hindrance,
    in_one,
    in_order,
    judge,
    versus,
)

BERT, NO_NSP, LEFT_TO_RIGHT = "BERT: both tasks", "no NSP", "left to right, no NSP"
RUNNING_TEXT = "running text, no NSP"
WITH_BILSTM = "left to right, no NSP, + BiLSTM"  # the paper's last row of Table 5
MASKED_WITH_BILSTM = f"{NO_NSP}, + BiLSTM"  # no row of the paper
HALFWAY = "BERT: both tasks, half of the steps"
WORDS_FOUND = "all"  # as `bert_experiments.ablations` measures it
THE_MIX, ONLY_MASK, ONLY_RANDOM = "80/10/10", "100/0/0", "0/0/100"
MIXES, SIZES = list(VARIANTS["8"]), list(VARIANTS["6"])
GAINED = "{}, gained after the first fifth"  # in Figure 5, of each column

# Claims that two tables ask.
WORST_ON_WORDS = (
    "The left-to-right model is worst where words of a text must be found (SQuAD F1 77.8 "
    "against 87.9)"
)
BILSTM_HELPS = "A BiLSTM on top helps on SQuAD (84.9 against 77.8)"
HELPS_IN_PART = "The BiLSTM helps only in part: the masked model stays ahead (87.9 against 84.9)"
NEEDS_ALL_STEPS = (
    "BERT needs all of its steps: the whole run compared with half of it (MNLI about +1.0)"
)


CLAIMS = {
    "5": (
        Claim(
            "Without NSP, tasks on pairs of sentences lose (QNLI 84.9 against 88.4, MNLI 83.9 "
            "against 84.4)",
            versus(BERT, NO_NSP, PAIRS, MORE_PAIRS),
        ),
        Claim(
            "Not a claim of the paper: without NSP, running text is better on pairs (RoBERTa, Liu "
            "et al. 2019, table 2)",
            versus(RUNNING_TEXT, BERT, MORE_PAIRS),
        ),
        Claim(
            "The left-to-right model is worse than the masked model on whole texts (without NSP: "
            "SST-2 92.1 against 92.6)",
            versus(NO_NSP, LEFT_TO_RIGHT, SENTIMENT),
        ),
        Claim(
            "The left-to-right model is also worse on pairs of sentences (MNLI 82.1 against 83.9)",
            versus(NO_NSP, LEFT_TO_RIGHT, PAIRS, MORE_PAIRS),
        ),
        Claim(
            WORST_ON_WORDS,
            versus(NO_NSP, LEFT_TO_RIGHT, WHO),
        ),
        Claim(
            "Not a claim of the paper: the left-to-right model is also worse on names whose kind "
            "is determined by the next word",
            versus(NO_NSP, LEFT_TO_RIGHT, KINDS, FEW_KINDS),
        ),
        Claim(
            BILSTM_HELPS,
            versus(WITH_BILSTM, LEFT_TO_RIGHT, WHO),
        ),
        Claim(
            HELPS_IN_PART,
            versus(NO_NSP, WITH_BILSTM, WHO),
        ),
        Claim(
            "The BiLSTM hurts on whole texts (MRPC 75.7 against 77.5, SST-2 91.6 against 92.1)",
            versus(LEFT_TO_RIGHT, WITH_BILSTM, PAIRS, SENTIMENT),
        ),
    ),
    "5-few": (
        Claim(
            WORST_ON_WORDS,
            versus(NO_NSP, LEFT_TO_RIGHT, WHO_200),
        ),
        Claim(
            BILSTM_HELPS,
            versus(WITH_BILSTM, LEFT_TO_RIGHT, WHO_200),
        ),
        Claim(
            HELPS_IN_PART,
            versus(NO_NSP, WITH_BILSTM, WHO_200),
        ),
        Claim(
            NEEDS_ALL_STEPS,
            versus(BERT, HALFWAY, WHO_200),
        ),
        Claim(
            "Added to explain the verdict on the BiLSTM: with the same BiLSTM on both, the masked "
            "model is ahead",
            versus(MASKED_WITH_BILSTM, WITH_BILSTM, WHO_200),
        ),
        Claim(
            "Added to explain the verdict on the steps: the whole run finds more hidden words than "
            "half of it",
            versus(BERT, HALFWAY, WORDS_FOUND),
        ),
    ),
    "6": (
        Claim(
            "The largest model is ahead of the smallest on every task (MNLI 85.7 against 77.9, "
            "SST-2 93.3 against 88.4)",
            versus(SIZES[-1], SIZES[0], PAIRS, SENTIMENT, WHO),
        ),
        Claim(
            "Every step in size helps, on every task",
            tuple(pair for column in (PAIRS, SENTIMENT, WHO) for worse, better in pairwise(SIZES)
                  for pair in versus(better, worse, column)),
        ),
        Claim(
            "Added to explain the verdicts above: the largest model compared with the smallest, "
            "as the mean of five restarts, and on reports with more labels",
            versus(SIZES[-1], SIZES[0], MORE_PAIRS, SENTIMENT_MEAN, WHO_MEAN),
        ),
        Claim(
            "Added: every step in size, as the mean of five restarts",
            tuple(pair for column in (SENTIMENT_MEAN, WHO_MEAN) for worse, better in pairwise(SIZES)
                  for pair in versus(better, worse, column)),
        ),
        Claim(
            "Every step in size lowers the perplexity",
            in_order(SIZES, PERPLEXITY),
            lower_is_better=True,
        ),
    ),
    "8": (
        Claim(
            "Using [MASK] alone hurts the feature-based approach (NER 94.0 against 94.9)",
            versus(THE_MIX, ONLY_MASK, NAMES_BY_FEATURES),
        ),
        Claim(
            "Using random words alone is worse than the mix (MNLI 83.6 against 84.2, NER 94.9 "
            "against 95.4)",
            versus(THE_MIX, ONLY_RANDOM, PAIRS, SENTIMENT, NAMES, FEW_NAMES),
        ),
        Claim(
            "Using random words alone is also worse with the feature-based approach (NER 94.6 "
            "against 94.9)",
            versus(THE_MIX, ONLY_RANDOM, NAMES_BY_FEATURES),
        ),
    ),
    "figure 5": (
        Claim(
            NEEDS_ALL_STEPS,
            tuple((Side(BERT, f"{column}@100%"), Side(BERT, f"{column}@50%"))
                  for column in (PAIRS, WHO)),
        ),
        Claim(
            "The masked model converges more slowly; here: it gains more after the first fifth",
            versus(BERT, LEFT_TO_RIGHT, GAINED.format(PAIRS), GAINED.format(WHO)),
        ),
        Claim(
            "Not a claim of the paper, for questions whose answer comes before the question: the "
            "left-to-right model is ahead at first; here: after 10% of the steps",
            versus(LEFT_TO_RIGHT, BERT, f"{WHO}@10%"),
        ),
        Claim(
            "But the masked model is ahead of the left-to-right model almost immediately; here: "
            "after 40% of the steps, on questions",
            versus(BERT, LEFT_TO_RIGHT, f"{WHO}@40%"),
        ),
        Claim(
            "The masked model is also ahead almost immediately on pairs; here: after 40% of the "
            "steps",
            versus(BERT, LEFT_TO_RIGHT, f"{PAIRS}@40%"),
        ),
        Claim(
            "The masked model then stays ahead to the end",
            versus(BERT, LEFT_TO_RIGHT, f"{PAIRS}@100%",
                   *(f"{WHO}@{point}%" for point in (50, 60, 80, 100))),
        ),
    ),
}  # fmt: skip

# The columns in which the mixes may differ no more than the seeds of a mix do.
ROBUST = {
    (PAIRS, SENTIMENT): Claim(
        "Fine-tuning is robust to the mix (MNLI 83.6 to 84.4); here: the medians of all mixes are "
        "no further apart than the seeds of one mix"
    ),
    (NAMES, FEW_NAMES): Claim("Fine-tuning is also robust to the mix on names (NER 94.8 to 95.4)"),
    (NAMES_HIGHER, FEW_NAMES_HIGHER): Claim(
        "Added to explain the verdict above: on names, learned at four times the rate"
    ),
}


def verdicts_of(table: str, results: Results) -> list[Verdict]:
    robust = ROBUST.items() if table == "8" else ()
    return [
        *(judge_robust(claim, columns, results) for columns, claim in robust),
        *(judge(claim, results) for claim in CLAIMS[table]),
    ]


def judge_robust(claim: Claim, columns: tuple[str, ...], results: Results) -> Verdict:
    """Do the mixes differ by more than the seeds of a mix do? In no column that can tell."""
    reasons, aside, are_apart = [], [], False
    for column in columns:
        values = {mix: values_of(results, mix, column) for mix in MIXES}
        untrained = values_of(results, UNTRAINED, column)
        if hindrance := find_hindrance(list(values.values()), untrained):
            aside.append((column, hindrance))
            continue
        apart, spread, reason = spread_of(values)
        are_apart |= apart > spread
        reasons.append(f"{column}: {reason}")
    if not reasons:
        return Verdict(claim, "not testable at this scale", aside[0][1])
    answer = "not reproduced" if are_apart else "reproduced"
    return Verdict(claim, answer, in_one(reasons, aside))


def spread_of(values: dict[str, list[float]]) -> tuple[float, float, str]:
    """How far apart the medians of the mixes are, and the seeds of a mix at most; in words too."""
    medians = {mix: statistics.median(each) for mix, each in values.items()}
    worst, best = (choose(medians, key=medians.__getitem__) for choose in (min, max))
    widest = max(values, key=lambda mix: max(values[mix]) - min(values[mix]))
    apart = medians[best] - medians[worst]
    spread = max(values[widest]) - min(values[widest])
    return apart, spread, (
        f"from {medians[worst]:.1%} ({worst}) to {medians[best]:.1%} ({best}), "
        f"{100 * apart:.1f} points; seeds of {widest} are {100 * spread:.1f} points apart"
    )  # fmt: skip
