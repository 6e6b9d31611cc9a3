"""The columns: which set of StoryWorld stands for which task of the paper, and how it is learnt."""

from collections.abc import Iterable
from dataclasses import dataclass

from bert_experiments.paper_tables.settings import EXAMPLES, FEW_FOR_FEATURES
from bert_experiments.paper_tables.trials import How
from bert_finetuning.storyworld_sets import STORYWORLD
from bert_finetuning.tasks import GLUE
from bert_run.errors import UserError


@dataclass(frozen=True)
class Column:
    """A task by its name in `bert-finetune` and one of its metrics.

    `examples` to learn from, None for all of them; `rate` is the peak for a model as wide as base,
    unless given bert-finetune's own.
    """

    task: str
    metric: str
    how: How = "fine-tuned"
    examples: int | None = None
    epochs: float = 3.0
    batch_size: int = 32
    rate: float | None = None

    @property
    def is_text(self) -> bool:
        """Whether a whole text is read, from [CLS] or from the mean of its tokens."""
        return self.task in GLUE or STORYWORLD[self.task].format in ("texts", "numbers")


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


PAIRS, SENTIMENT, STARS = "pairs (MNLI)", "sentiment (SST-2)", "stars (STS-B)"
EXACT, QUESTIONS, NAMES = "questions (SQuAD EM)", "questions (SQuAD F1)", "names (NER)"
ENDINGS = "endings (SWAG)"
NAMES_BY_FEATURES = "names (NER), features"
PERPLEXITY = "masked_perplexity"  # measured in pretraining: `bert_experiments.ablations` knows it

COLUMNS = {
    PAIRS: stand_in("pairs", "accuracy"),
    SENTIMENT: stand_in("sentiment", "accuracy"),
    STARS: stand_in("stars", "spearman"),
    EXACT: stand_in("questions", "exact"),
    QUESTIONS: stand_in("questions", "f1"),
    NAMES: stand_in("names", "entity_f1"),
    ENDINGS: stand_in("endings", "accuracy"),
    NAMES_BY_FEATURES: Column("names", "entity_f1", "features", FEW_FOR_FEATURES),
}

# By table, in their order.
ABLATED = {
    "5": (PAIRS, SENTIMENT, QUESTIONS, NAMES),
    "6": (PAIRS, SENTIMENT),
    "8": (PAIRS, NAMES, NAMES_BY_FEATURES),
    "figure 5": (PAIRS,),
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
    "2": {
        "SQuAD 1.1 EM": Column("squad", "exact"),
        "SQuAD 1.1 F1": Column("squad", "f1"),
    },
    "3": {
        "SQuAD 2.0 EM": Column("squad2", "exact", epochs=2.0, batch_size=48),
        "SQuAD 2.0 F1": Column("squad2", "f1", epochs=2.0, batch_size=48),
    },
    "4": {"SWAG": Column("swag", "accuracy", batch_size=16, rate=2e-5)},
}
