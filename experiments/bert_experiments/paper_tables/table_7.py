"""Table 7: names by features, layer by layer, beside the same model fine-tuned.

The rows are choices of layers here, so what a seed gives stands in one run of all of them.
"""

from dataclasses import dataclass

from bert_experiments.feature_based.table_7 import (
    FINE_TUNED,
    MEASURE,
    beside,
    shallow_note,
    verdicts_of,
)
from bert_experiments.feature_based.word_vectors import features_of
from bert_experiments.paper_tables.columns import (
    TITLES,
    Column,
    check_examples,
    folder_of,
    names_of_files,
)
from bert_experiments.paper_tables.one_checkpoint import Start, asked_settings, of_model, starts
from bert_experiments.paper_tables.settings import FEW_FOR_FEATURES, TableSettings, in_epochs
from bert_experiments.paper_tables.trials import MAJORITY, Trial, collected
from bert_experiments.report.figures import UNTRAINED, Results
from bert_experiments.report.page import Page
from bert_run.config import BertConfig
from bert_run.errors import UserError

FEATURES = "features"

# Of so few sentences fine-tuning needs many passes.
STAND_IN = Column("names", "entity_f1", examples=FEW_FOR_FEATURES, epochs=60.0, batch_size=16)
REAL = Column("conll2003", "entity_f1")


@dataclass(frozen=True)
class Features:
    """What fine-tuning reached, then a row for each choice of layers, as in the paper."""

    results: Results
    config: BertConfig
    column: Column


def features_table(settings: TableSettings) -> Features:
    column = STAND_IN if settings.data is None else REAL
    check_examples([column], settings.examples)
    folder = settings.folder
    if folder is not None and folder_of(column.task, folder) is None:
        raise UserError(
            f"--data {folder} has no data of Table 7: put {names_of_files(column.task)}"
        )
    begun = list(starts(settings))
    trials = [trial for seed, start in enumerate(begun)
              for trial in trials_of(column, settings, start, seed)]  # fmt: skip
    found = collected(trials)
    config = begun[0].config
    names = [*features_of(config.num_hidden_layers), UNTRAINED]
    results: Results = {FINE_TUNED: found[FINE_TUNED]}
    results |= {name: [{MEASURE: run[name]} for run in found[FEATURES]] for name in names}
    results[MAJORITY] = [{MEASURE: found[MAJORITY][0][MEASURE]}]
    return Features(results, config, column)


def trials_of(column: Column, settings: TableSettings, start: Start, seed: int) -> list[Trial]:
    tuned = asked_settings(column, settings, start, seed)
    names = [*features_of(start.config.num_hidden_layers), UNTRAINED]
    return [
        Trial(FINE_TUNED, {MEASURE: column.metric}, tuned),
        Trial(FEATURES, {name: name for name in names}, tuned, "all-features"),
    ]


def features_page(settings: TableSettings) -> Page:
    found = features_table(settings)
    return Page(
        title=TITLES["7"], results=found.results, columns=(MEASURE,),
        headings={MEASURE: "F1 of names"}, notes=notes(found, settings),
        verdicts=verdicts_of(found.results), theirs=beside(found.results), their_title="the paper",
    )  # fmt: skip


def notes(found: Features, settings: TableSettings) -> str:
    column, config = found.column, found.config
    count = settings.examples or column.examples
    parts = [
        f"The model: {of_model(config, settings)}. Task {column.task}, trained on "
        f"{'all' if count is None else f'at most {count:,}'} sentences. *Fine-tuned*: the whole "
        f"model, {in_epochs(settings.epochs or column.epochs)}. The other rows: BERT is frozen; "
        "a two-layer BiLSTM is trained on the vectors of these layers (`python -m "
        "bert_experiments.feature_based` shows more of them). Each cell is the median of the "
        "seeds, with the lowest and highest in parentheses; each seed counts at its best "
        f"evaluation on the same dev sentences. *{UNTRAINED}*: the concatenated layers of an "
        "untrained model. The paper's figures are for CoNLL-2003 and BERT-base."
    ]
    if config.num_hidden_layers <= 4:
        parts.append(shallow_note(config.num_hidden_layers))
    return "\n\n".join(parts)
