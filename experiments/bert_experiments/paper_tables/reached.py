"""Are the paper's own figures reached? And does pretraining help, which they stand for?"""

import statistics

from bert_experiments.ablations.measuring import UNTRAINED
from bert_experiments.ablations.verdicts import Claim, Side, Verdict, in_words, judge
from bert_experiments.paper_tables.one_checkpoint import OURS, Measured
from bert_experiments.paper_tables.paper import SIZES
from bert_experiments.paper_tables.settings import TableSettings

NEAR = 0.01  # seeds of one model differ by so much, and GLUE's dev sets from its test sets
ALL_REACHED = "Pretrained and fine-tuned, BERT reaches the figures beside"
RULE_REACHED = (
    "The rule for figures: one is *reproduced* when our median lies no more than a point below it; "
    "*not testable at this scale* when the model has not the sizes of the paper's, learnt "
    "from few examples, or when StoryWorld stands in."
)


def verdicts_of(found: Measured, settings: TableSettings) -> list[Verdict]:
    if hindrance := why_not(found, settings):
        reached = [Verdict(Claim(ALL_REACHED), "not testable at this scale", hindrance)]
    else:
        reached = [judge_reached(column, found) for column in found.columns]
    if UNTRAINED not in found.results:
        return reached
    return [*reached, judge(pretraining_helps(found.columns), found.results)]


def why_not(found: Measured, settings: TableSettings) -> str | None:
    """Why no figure of the paper can be compared with ours."""
    if settings.data is None:
        return "StoryWorld's sets stand in for the tasks"
    sizes = found.config.num_hidden_layers, found.config.hidden_size
    if SIZES.get(sizes) not in found.results:
        return f"the model has {sizes[0]} layers of width {sizes[1]}"
    if settings.examples is not None:
        return f"it learnt from {settings.examples:,} examples of a task at most"
    return None


def pretraining_helps(columns: tuple[str, ...]) -> Claim:
    return Claim(
        "Pretraining serves every task (section 4); here: against the same model before training",
        tuple((Side(OURS, column), Side(UNTRAINED, column)) for column in columns),
    )


def judge_reached(column: str, found: Measured) -> Verdict:
    """One figure of the paper, by a model of the same sizes."""
    row = SIZES[found.config.num_hidden_layers, found.config.hidden_size]
    theirs = found.results[row][0][column]
    ours = [run[column] for run in found.results[OURS]]
    near = statistics.median(ours) >= theirs - NEAR
    claim = Claim(f"{column}: {theirs:.1%} by a model of these sizes")
    answer = "reproduced" if near else "not reproduced"
    return Verdict(claim, answer, f"ours {in_words(ours, column)}")
