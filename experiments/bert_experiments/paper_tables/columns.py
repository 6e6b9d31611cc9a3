"""The columns: which set of StoryWorld stands for which task of the paper, how a task is learned,
where its files lie, and the paper's own figures.

Figures of the ablations are in `bert_experiments.ablations.paper`, those of Table 7 in
`bert_experiments.feature_based.table_7`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from bert_experiments.paper_tables.settings import EXAMPLES, FEW_FOR_FEATURES
from bert_finetuning.data.load import GLUE, KNOWN, load_named
from bert_finetuning.data.storyworld import STORYWORLD
from bert_finetuning.finetune import fingerprint, fingerprint_of_files
from bert_finetuning.tasks.classification import TextTask
from bert_run.errors import UserError

How = Literal["fine-tuned", "with-bilstm", "features", "all-features"]


@dataclass(frozen=True)
class Column:
    """A task by its name in `bert-finetune` and one of its metrics.

    `examples` to learn from, None for all of them; `rate` is the peak for a model as wide as base,
    unless given bert-finetune's own. With `restarts` a model is fine-tuned so often, each time from
    other examples and another head, and the figure is the mean.
    """

    task: str
    metric: str
    how: How = "fine-tuned"
    examples: int | None = None
    epochs: float = 3.0
    batch_size: int = 32
    rate: float | None = None
    restarts: int = 1

    @property
    def is_text(self) -> bool:
        """Whether a whole text is read, from [CLS] or from the mean of its tokens."""
        return self.task in GLUE or issubclass(STORYWORLD[self.task].task_type, TextTask)


def check_examples(columns: Iterable[Column], examples: int | None) -> None:
    """Refuse to draw more than a set of StoryWorld has, before anything is trained."""
    for column in columns:
        have = STORYWORLD[column.task].train if column.task in STORYWORLD else None
        if examples is not None and have is not None and examples > have:
            raise UserError(
                f"--examples is {examples:,}: StoryWorld's {column.task} are {have:,} to learn from"
            )


def stand_in(task: str, metric: str) -> Column:
    return Column(task, metric, examples=EXAMPLES)


def few(task: str, metric: str) -> Column:
    """A set that pretraining decides: with a few hundred examples an untrained model guesses."""
    return Column(task, metric, examples=500, epochs=10.0, batch_size=16)


PAIRS, SENTIMENT, STARS = "reports (MNLI)", "sentiment (SST-2)", "stars (STS-B)"
MORE_PAIRS = "reports, 2,000 labels"  # with the 500 of `few` no variant learns them
FEW_KINDS = "kinds, 100 labels"  # with 500 a model before training learns them too
FEW_NAMES = "names (NER), 50 sentences"
HIGHER = 2e-4  # four times bert-finetune's own, for a width of 768
NAMES_HIGHER = "names at 4× the rate"
FEW_NAMES_HIGHER = "names at 4× the rate, 50 sentences"
EXACT, QUESTIONS, NAMES = "questions (SQuAD EM)", "questions (SQuAD F1)", "names (NER)"
WHO, KINDS = "who (SQuAD EM)", "kinds (NER)"
ENDINGS = "endings (SWAG)"
NAMES_BY_FEATURES = "names (NER), features"
SENTIMENT_MEAN, WHO_MEAN = "sentiment, mean of 5 restarts", "who, mean of 5 restarts"
WHO_200 = "who, 200 labels, mean of 5 restarts"
PERPLEXITY = "masked_perplexity"  # measured in pretraining: `bert_experiments.ablations` knows it

COLUMNS = {
    PAIRS: few("reports", "accuracy"),
    MORE_PAIRS: replace(few("reports", "accuracy"), examples=2000),
    WHO: few("who", "exact"),
    KINDS: few("kinds", "entity_f1"),
    FEW_KINDS: replace(few("kinds", "entity_f1"), examples=100, epochs=20.0),
    FEW_NAMES: replace(few("names", "entity_f1"), examples=50, epochs=20.0),
    FEW_NAMES_HIGHER: replace(few("names", "entity_f1"), examples=50, epochs=20.0, rate=HIGHER),
    SENTIMENT: stand_in("sentiment", "accuracy"),
    SENTIMENT_MEAN: replace(stand_in("sentiment", "accuracy"), restarts=5),
    WHO_MEAN: replace(few("who", "exact"), restarts=5),
    WHO_200: replace(few("who", "exact"), examples=200, epochs=20.0, restarts=5),
    STARS: stand_in("stars", "spearman"),
    EXACT: stand_in("questions", "exact"),
    QUESTIONS: stand_in("questions", "f1"),
    NAMES: stand_in("names", "entity_f1"),
    NAMES_HIGHER: replace(stand_in("names", "entity_f1"), rate=HIGHER),
    ENDINGS: stand_in("endings", "accuracy"),
    NAMES_BY_FEATURES: Column("names", "entity_f1", "features", FEW_FOR_FEATURES),
}

# By table, in their order.
ABLATED = {
    "5": (PAIRS, SENTIMENT, WHO, KINDS, MORE_PAIRS, FEW_KINDS),
    "5-few": (WHO_200,),
    "6": (PAIRS, SENTIMENT, WHO, MORE_PAIRS, SENTIMENT_MEAN, WHO_MEAN),
    "8": (PAIRS, SENTIMENT, NAMES, FEW_NAMES, NAMES_BY_FEATURES, NAMES_HIGHER, FEW_NAMES_HIGHER),
    "figure 5": (PAIRS, WHO),
}
STAND_INS = {
    "1": (PAIRS, SENTIMENT, STARS),
    "2": (EXACT, QUESTIONS),
    "3": (EXACT, QUESTIONS),
    "4": (ENDINGS,),
}

# The tasks themselves, as the paper learns them (sections 4.1 to 4.4), at one rate.
REAL = {
    "1": {
        "MNLI-m": Column("mnli", "accuracy"),
        "MNLI-mm": Column("mnli", "mismatched"),
        "QQP": Column("qqp", "f1"),
        "QNLI": Column("qnli", "accuracy"),
        "SST-2": Column("sst-2", "accuracy"),
        "CoLA": Column("cola", "matthews"),
        "STS-B": Column("sts-b", "spearman"),
        "MRPC": Column("mrpc", "f1"),
        "RTE": Column("rte", "accuracy"),
    },
    "2": {"SQuAD 1.1 EM": Column("squad", "exact"), "SQuAD 1.1 F1": Column("squad", "f1")},
    "3": {
        "SQuAD 2.0 EM": Column("squad2", "exact", epochs=2.0, batch_size=48),
        "SQuAD 2.0 F1": Column("squad2", "f1", epochs=2.0, batch_size=48),
    },
    "4": {"SWAG": Column("swag", "accuracy", batch_size=16, rate=2e-5)},
}


# --- The paper's figures of Tables 1 to 4 (Devlin et al. 2018, sections 4.1 to 4.4), in per cent --
# Table 1 is of GLUE's test sets, the others are of dev sets.

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


# --- Where the files of real tasks lie: folders under one folder, called by the tasks' names ------

# What a folder's name begins with, where it is not the task's own.
STEMS = {"squad2": "squad", "conll2003": "conll"}


def folder_of(task: str, data: Path) -> Path | None:
    """The folder of a task: `data` itself or one in it, SST-2 or sst2; None if there is none.

    Files of GLUE are called alike, so there the folder's name must tell; others tell themselves.
    """
    stem = plain(STEMS.get(task, task))
    inside = sorted(path for path in data.iterdir() if path.is_dir())
    named = [folder for folder in (data, *inside) if plain(folder.name).startswith(stem)]
    if task in KNOWN and data not in named:
        named.append(data)
    return next((folder for folder in named if has_files(task, folder)), None)


def plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def has_files(task: str, folder: Path) -> bool:
    """Whether there is something to learn from and something to measure on."""
    try:
        files_of(task, folder)
    except UserError:
        return False
    return True


def files_of(task: str, folder: Path) -> list[Path]:
    """The files of both splits. Raises `UserError` where one is missing."""
    named = (GLUE | KNOWN)[task]
    return [Path(named.source(split, folder)) for split in ("train", "dev")]


def content_of(task: str, folder: Path | None) -> str | None:
    """A fingerprint of what a task's examples come from; None for datasets of the Hub, which are
    not read for it."""
    if task in STORYWORLD:
        return content_of_storyworld(task)
    return None if folder is None else fingerprint_of_files(files_of(task, folder))


@cache
def content_of_storyworld(task: str) -> str:
    """It takes seconds, and is the same for every run of a task."""
    data = load_named(task)
    return fingerprint([*data.train, *data.dev])


def names_of_files(task: str) -> str:
    """What a folder must hold, in words."""
    train, dev = ((GLUE | KNOWN)[task].files[split][0] for split in ("train", "dev"))
    return f"{f'a folder {task} with ' if task in GLUE else ''}{train} and {dev}"
