"""Each table: the columns that we measure, and the paper's claims as comparisons of ours."""

from dataclasses import dataclass

from bert_experiments.ablations.variants import VARIANTS
from bert_experiments.report.verdicts import Claim, Side, in_order, versus

SETTLED = ("left", "right", "both", "other", "all")
FEATURES = ("names", "entailment", "sentiment")
FINE_TUNING = "needs fine-tuning: python -m bert_experiments.paper_tables --table"


@dataclass(frozen=True)
class Ablation:
    """What is shown of a table: measures as columns, those of the picture, and the claims.

    A measure that no run has, for want of labels, is no column.
    """

    title: str
    measures: tuple[str, ...]
    pictured: tuple[str, ...]
    claims: tuple[Claim, ...]


SIZES = list(VARIANTS["6"])

ABLATIONS = {
    "5": Ablation(
        "pretraining tasks, and reading both sides",
        (*SETTLED, "masked_perplexity", "sentence_task", *FEATURES),
        ("left", "right", "other", "names"),
        (
            Claim(
                "Reading both sides beats reading left to right, especially for words inside a "
                "text (SQuAD F1 87.9 against 77.8); here: hidden words found",
                versus("no NSP", "left to right, no NSP", "all"),
            ),
            Claim(
                "The left-to-right model falls behind because it cannot see the words on the "
                "right; here: hidden words settled by the right",
                versus("no NSP", "left to right, no NSP", "right"),
            ),
            Claim(
                "Vectors that see only the left context are less useful for word-level tasks; "
                "here: names, by features",
                versus("no NSP", "left to right, no NSP", "names"),
            ),
            Claim(
                "Without NSP, tasks on pairs of sentences lose (QNLI 84.9 against 88.4); here: "
                "entailment, by features",
                versus("BERT: both tasks", "no NSP", "entailment"),
            ),
            Claim(
                "A BiLSTM on top recovers only part of the loss on SQuAD (84.9)",
                why_not=f"{FINE_TUNING} 5",
            ),
            Claim(
                "Not a claim of the paper: without NSP, running text is as good or better "
                "(RoBERTa, Liu et al. 2019, table 2); here: more hidden words found than with NSP",
                versus("running text, no NSP", "BERT: both tasks", "all"),
            ),
        ),
    ),
    "6": Ablation(
        "model size: layers / hidden size / heads",
        ("masked_perplexity", "all", *FEATURES),
        ("masked_perplexity", "all", "names"),
        (
            Claim(
                "The largest model predicts held-out words best, the smallest worst (perplexity "
                "3.54 against 5.84)",
                versus(SIZES[-1], SIZES[0], "masked_perplexity"),
                lower_is_better=True,
            ),
            Claim(
                "Every step in size helps: perplexity falls from row to row",
                in_order(SIZES, "masked_perplexity"),
                lower_is_better=True,
            ),
            Claim(
                "Larger models do better on tasks, including those with few examples (MRPC 86.9 "
                "against 79.8); here: names, by features",
                versus(SIZES[-1], SIZES[0], "names"),
            ),
        ),
    ),
    "8": Ablation(
        "what replaces a chosen word: [MASK] / the same word / a random word",
        ("masked_perplexity", "all", "wrong_word", "in_view", *FEATURES),
        ("all", "wrong_word", "in_view", "names"),
        (
            Claim(
                "Fine-tuning is robust to the mix (MNLI 83.6 to 84.4)", why_not=f"{FINE_TUNING} 8"
            ),
            Claim(
                "Using [MASK] alone hurts the feature-based approach (NER 94.0 against 94.9); "
                "here: names, by features",
                versus("80/10/10", "100/0/0", "names"),
            ),
            Claim(
                "Using random words alone is worse than the mix (NER by features 94.6 against "
                "94.9); here: names, by features",
                versus("80/10/10", "0/0/100", "names"),
            ),
            Claim(
                "With the mix the model keeps a useful vector for every word, not only for [MASK] "
                "(appendix A.1); here: visible words named",
                versus("80/10/10", "100/0/0", "in_view"),
            ),
            Claim(
                "With the mix a model also corrects wrong words",
                versus("80/10/10", "100/0/0", "wrong_word"),
            ),
        ),
    ),
    "figure 5": Ablation(
        "number of training steps",
        (),
        (),
        (
            Claim(
                "More steps help: the whole run compared with half of it (MNLI about +1.0); here: "
                "hidden words found",
                tuple(
                    (Side(variant, "all@100%"), Side(variant, "all@50%"))
                    for variant in VARIANTS["figure 5"]
                ),
            ),
            Claim(
                "The masked model learns more slowly at first because it predicts fewer words of a "
                "text; here: words settled by the left, mean over the first half of the run",
                versus("left to right, no NSP", "no NSP", "left@over the first half"),
            ),
            Claim(
                "But the masked model is ahead of the left-to-right model almost immediately; "
                "here: on all hidden words, by half of the run",
                versus("no NSP", "left to right, no NSP", "all@50%"),
            ),
            Claim(
                "The masked model then stays ahead; here: on all hidden words, at the end",
                versus("no NSP", "left to right, no NSP", "all@100%"),
            ),
        ),
    ),
}
