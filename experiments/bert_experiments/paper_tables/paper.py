"""The paper's figures of Tables 1 to 4 (Devlin et al. 2018, sections 4.1 to 4.4), in per cent.

Table 1 is of GLUE's test sets, the others of dev sets. Those of the ablations are in
`bert_experiments.ablations.paper`, those of Table 7 in `bert_experiments.feature_based.table_7`.
"""

from bert_experiments.paper_tables.columns import ENDINGS, EXACT, PAIRS, QUESTIONS, SENTIMENT, STARS

BASE, LARGE = "the paper: base", "the paper: large"
TITLES = {
    "1": "Table 1: GLUE",
    "2": "Table 2: SQuAD 1.1",
    "3": "Table 3: SQuAD 2.0",
    "4": "Table 4: SWAG",
    "7": "Table 7: the feature-based approach",
}
SIZES = {(12, 768): BASE, (24, 1024): LARGE}  # layers and width
AVERAGE = "average"

GLUE_COLUMNS = ("MNLI-m", "MNLI-mm", "QQP", "QNLI", "SST-2", "CoLA", "STS-B", "MRPC", "RTE",
                AVERAGE)  # fmt: skip
GLUE_ROWS = {
    BASE: (84.6, 83.4, 71.2, 90.5, 93.5, 52.1, 85.8, 88.9, 66.4, 79.6),
    LARGE: (86.7, 85.9, 72.1, 92.7, 94.9, 60.5, 86.5, 89.3, 70.1, 82.1),
}
PAPER = {
    "1": {row: dict(zip(GLUE_COLUMNS, scores, strict=True)) for row, scores in GLUE_ROWS.items()},
    "2": {
        BASE: {"SQuAD 1.1 EM": 80.8, "SQuAD 1.1 F1": 88.5},
        LARGE: {"SQuAD 1.1 EM": 84.1, "SQuAD 1.1 F1": 90.9},
    },
    "3": {LARGE: {"SQuAD 2.0 EM": 78.7, "SQuAD 2.0 F1": 81.9}},
    "4": {BASE: {"SWAG": 81.6}, LARGE: {"SWAG": 86.6}},
}

# The paper's column that a set of StoryWorld stands for.
STANDS_FOR = {
    "1": {PAIRS: "MNLI-m", SENTIMENT: "SST-2", STARS: "STS-B"},
    "2": {EXACT: "SQuAD 1.1 EM", QUESTIONS: "SQuAD 1.1 F1"},
    "3": {EXACT: "SQuAD 2.0 EM", QUESTIONS: "SQuAD 2.0 F1"},
    "4": {ENDINGS: "SWAG"},
}
