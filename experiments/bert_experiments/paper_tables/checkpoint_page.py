"""Tables 1 to 4 and 7 as pages."""

from bert_experiments.ablations.measuring import UNTRAINED
from bert_experiments.ablations.verdicts import RULE
from bert_experiments.feature_based.table_7 import MEASURE
from bert_experiments.feature_based.table_7 import verdicts_of as verdicts_of_table_7
from bert_experiments.paper_tables.columns import EXAMPLES
from bert_experiments.paper_tables.one_checkpoint import OURS, Measured, measured
from bert_experiments.paper_tables.paper import TITLES
from bert_experiments.paper_tables.reached import RULE_REACHED, verdicts_of
from bert_experiments.paper_tables.report import Page, times
from bert_experiments.paper_tables.settings import TableSettings
from bert_experiments.paper_tables.table_7 import Features, features_table, rows_of, theirs
from bert_experiments.paper_tables.trials import MAJORITY
from bert_run.config import BertConfig


def checkpoint_page(settings: TableSettings) -> Page:
    found = measured(settings)
    return Page(
        title=TITLES[settings.name],
        results=found.results,
        columns=found.columns,
        notes=notes(found, settings),
        verdicts=verdicts_of(found, settings),
        rule=f"{RULE_REACHED}\n\n{RULE}",
    )


def notes(found: Measured, settings: TableSettings) -> str:
    """What the rows and columns are."""
    parts = [
        f"*{OURS}*: {of_model(found.config, settings)}, fine-tuned on each task with "
        f"{settings.seeds} seed{'s' if settings.seeds > 1 else ''}. The median of the seeds, "
        "lowest and highest in brackets. The best of the measurements after each epoch counts, on "
        "these same examples, so every figure is a little too good. "
        f"*{UNTRAINED}*: the same sizes with first weights, learning all from the examples; "
        f"*{MAJORITY}*: said of all without reading.",
        f"{what_of(settings)} {learnt(settings)}",
    ]
    if settings.table == "1" and settings.data is not None:
        parts.append(
            "The paper's figures are of GLUE's test sets, ours of dev sets; F1 for QQP and MRPC, "
            "Spearman for STS-B, Matthews for CoLA, accuracy for all others. The paper took the "
            "best of four rates on dev, here there is one."
        )
    if found.missing:
        parts.append(f"Data of these are missing: {', '.join(found.missing)}.")
    return "\n\n".join(parts)


def of_model(config: BertConfig, settings: TableSettings) -> str:
    sizes = f"{config.num_hidden_layers} layers of width {config.hidden_size}"
    if settings.checkpoint is None:
        return f"the BERT of our Table 5 ({sizes})"
    return f"`{settings.checkpoint}` ({sizes})"


def what_of(settings: TableSettings) -> str:
    """Whose examples they are."""
    if settings.data is not None:
        return "The tasks are the paper's own."
    lacks = " It has no question without an answer." if settings.table == "3" else ""
    return (
        "**These are not the paper's tasks**: StoryWorld's sets stand in for those in brackets, "
        f"and the paper's figures stand beside for the eye alone.{lacks}"
    )


def learnt(settings: TableSettings) -> str:
    """How much of them."""
    count = settings.examples or (EXAMPLES if settings.data is None else None)
    epochs = f", passed over {times(settings.epochs)}" if settings.epochs else ""
    return f"Learnt from: {'all' if count is None else f'{count:,}'} examples{epochs}."


# --- Table 7 -------------------------------------------------------------------------------------


def features_page(settings: TableSettings) -> Page:
    found = features_table(settings)
    return Page(
        title=TITLES["7"],
        results=rows_of(found),
        columns=(MEASURE,),
        headings={MEASURE: "F1 of names"},
        notes=notes_on_features(found, settings),
        verdicts=verdicts_of_table_7(found.results, found.fine_tuned),
        theirs=theirs(),
        their_title="the paper",
    )


def notes_on_features(found: Features, settings: TableSettings) -> str:
    column, config = found.column, found.config
    count = settings.examples or column.examples
    parts = [
        f"The model: {of_model(config, settings)}. Task {column.task}, learnt from "
        f"{'all' if count is None else f'{count:,}'} sentences. *Fine-tuned*: all of it, passed "
        f"over {times(settings.epochs or column.epochs)}. The other rows: BERT stands still, and "
        "a two-layer BiLSTM learns on these of its layers (`python -m "
        "bert_experiments.feature_based` shows more of them). The median of the seeds, lowest and "
        "highest in brackets; each at its best on these same sentences. "
        f"*{UNTRAINED}*: the layers side by side of a model at its first weights. The paper's "
        "figures are of CoNLL-2003, BERT-base."
    ]
    if config.num_hidden_layers <= 4:
        parts.append(
            f"The model has {config.num_hidden_layers} layers, so the last four are all of them "
            "(without the embeddings)."
        )
    return "\n\n".join(parts)
