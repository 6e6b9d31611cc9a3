"""The columns: which set of StoryWorld stands for which task of the paper, and how it is learnt."""

from dataclasses import dataclass

from bert_finetuning.storyworld_sets import STORYWORLD
from bert_finetuning.tables.settings import EXAMPLES, FEW_FOR_FEATURES
from bert_finetuning.tables.trials import How


@dataclass(frozen=True)
class Column:
    """A task by its name in `bert-finetune`; `examples` to learn from, None for all of them."""

    task: str
    how: How = "fine-tuned"
    examples: int | None = EXAMPLES
    epochs: float = 3.0
    batch_size: int = 32
    rate: float | None = None  # of a model as wide as base; bert-finetune's own unless given

    @property
    def metric(self) -> str:
        return STORYWORLD[self.task].metrics[0]


PAIRS, SENTIMENT = "pairs (MNLI)", "sentiment (SST-2)"
QUESTIONS, NAMES = "questions (SQuAD F1)", "names (NER)"
NAMES_BY_FEATURES = "names (NER), features"
PERPLEXITY = "masked_perplexity"  # measured in pretraining: `bert_paper.ablations` knows it

COLUMNS = {
    PAIRS: Column("pairs"),
    SENTIMENT: Column("sentiment"),
    QUESTIONS: Column("questions"),
    NAMES: Column("names"),
    NAMES_BY_FEATURES: Column("names", "features", FEW_FOR_FEATURES),
}

# By table, in their order.
ABLATED = {
    "5": (PAIRS, SENTIMENT, QUESTIONS, NAMES),
    "6": (PAIRS, SENTIMENT),
    "8": (PAIRS, NAMES, NAMES_BY_FEATURES),
    "figure 5": (PAIRS,),
}
