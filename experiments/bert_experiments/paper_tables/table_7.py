"""Table 7: names by features, layer by layer, beside the same model fine-tuned.

The rows are choices of layers here, so what a seed gives stands in one run of all of them.
"""

from dataclasses import dataclass

from bert_experiments.ablations.measuring import UNTRAINED
from bert_experiments.ablations.verdicts import Results
from bert_experiments.feature_based.table_7 import FINE_TUNED, MEASURE, PAPER_TABLE_7, FineTunedRow
from bert_experiments.paper_tables.columns import Column, check_examples
from bert_experiments.paper_tables.data import folder_of, names_of_files
from bert_experiments.paper_tables.one_checkpoint import Start, asked_settings, starts
from bert_experiments.paper_tables.settings import FEW_FOR_FEATURES, TableSettings
from bert_experiments.paper_tables.trials import MAJORITY, Trial, collected
from bert_finetuning.features import features_of
from bert_run.config import BertConfig
from bert_run.errors import UserError

FEATURES = "features"

# Of so few sentences fine-tuning needs many passes.
STAND_IN = Column("names", "entity_f1", examples=FEW_FOR_FEATURES, epochs=60.0, batch_size=16)
REAL = Column("conll2003", "entity_f1")


@dataclass(frozen=True)
class Features:
    """A row for each choice of layers, and what fine-tuning reached."""

    results: Results
    fine_tuned: FineTunedRow
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
    results = {name: [{MEASURE: run[name]} for run in found[FEATURES]] for name in names}
    results[MAJORITY] = [{MEASURE: found[MAJORITY][0][MEASURE]}]
    scores = [run[MEASURE] for run in found[FINE_TUNED]]
    return Features(results, FineTunedRow(scores), config, column)


def trials_of(column: Column, settings: TableSettings, start: Start, seed: int) -> list[Trial]:
    tuned = asked_settings(column, settings, start, seed)
    names = [*features_of(start.config.num_hidden_layers), UNTRAINED]
    return [
        Trial(FINE_TUNED, {MEASURE: column.metric}, tuned),
        Trial(FEATURES, {name: name for name in names}, tuned, "all-features"),
    ]


def rows_of(found: Features) -> Results:
    """As the page has them: fine-tuning first, as in the paper."""
    tuned = [{MEASURE: score} for score in found.fine_tuned.scores]
    return {FINE_TUNED: tuned, **found.results}


def theirs() -> dict[str, str]:
    return {name: str(score) for name, score in PAPER_TABLE_7.items()}
