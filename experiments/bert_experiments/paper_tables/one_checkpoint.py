"""Tables 1 to 4: one checkpoint, fine-tuned on each task; several seeds of fine-tuning.

On the tasks themselves where `--data` says where they are; else StoryWorld's sets stand in. Without
a checkpoint the BERT of Table 5 is taken, and a seed is one of pretraining too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bert_experiments.ablations.measuring import UNTRAINED
from bert_experiments.ablations.runs import runs_of, trained
from bert_experiments.ablations.variants import variants_of
from bert_experiments.ablations.verdicts import Results
from bert_experiments.paper_tables.claims import BERT
from bert_experiments.paper_tables.columns import COLUMNS, REAL, STAND_INS, Column, check_examples
from bert_experiments.paper_tables.data import folder_of, names_of_files
from bert_experiments.paper_tables.paper import AVERAGE, GLUE_COLUMNS, PAPER, STANDS_FOR
from bert_experiments.paper_tables.settings import TableSettings
from bert_experiments.paper_tables.trials import MAJORITY, Trial, collected
from bert_finetuning.opening import open_named
from bert_finetuning.seed_run import say
from bert_finetuning.settings import FinetuneSettings, wider
from bert_run.config import BertConfig
from bert_run.errors import UserError
from bert_run.hub import locate

OURS = "ours"


@dataclass(frozen=True)
class Start:
    """The model that a seed fine-tunes, and what its runs are called."""

    checkpoint: str
    name: str
    config: BertConfig


def starts(settings: TableSettings) -> Iterator[Start]:
    """One for each seed."""
    if settings.checkpoint is None:
        bert = {BERT: variants_of("5", steps=settings.steps)[BERT]}
        for run in trained(runs_of(bert, seeds=settings.seeds, out=settings.pretrained)):
            folder = run.settings.out
            yield Start(str(folder), folder.name, BertConfig.load(folder))
        return
    config = BertConfig.load(locate(settings.checkpoint).folder, decoders=True)
    name = settings.checkpoint.strip("/").replace("/", "--")
    for _ in range(settings.seeds):
        yield Start(settings.checkpoint, name, config)


def asked_columns(settings: TableSettings) -> tuple[dict[str, Column], list[str]]:
    """The columns of a table, and those whose data are missing."""
    if settings.data is None:
        return {name: COLUMNS[name] for name in STAND_INS[settings.name]}, []
    known = REAL[settings.name]
    if settings.folder is None:
        return known, []
    there = {name: column for name, column in known.items()
             if folder_of(column.task, settings.folder)}  # fmt: skip
    if not there:
        wanted = "; or ".join(dict.fromkeys(names_of_files(c.task) for c in known.values()))
        raise UserError(f"--data {settings.data} has no data of {settings.title}: put {wanted}")
    return there, [name for name in known if name not in there]


def asked_settings(
    column: Column, settings: TableSettings, start: Start, seed: int
) -> FinetuneSettings:
    """One run of `bert-finetune`."""
    rate, config = column.rate, start.config
    folder = folder_of(column.task, settings.folder) if settings.folder else None
    return FinetuneSettings(
        task=column.task,
        data=folder,
        checkpoint=start.checkpoint,
        few_shot=few(settings, column, folder),
        epochs=settings.epochs or column.epochs,
        batch_size=column.batch_size,
        learning_rate=rate and rate * wider(config.hidden_size),
        pooling="mean" if config.is_decoder and column.is_text else "cls",
        seed=seed,
        device=settings.device,
        out=settings.out / start.name,
    )


def few(settings: TableSettings, column: Column, folder: Path | None) -> int | None:
    """How many examples are drawn; None where there are no more than that."""
    count = settings.examples or column.examples
    if count is None or settings.data is None:
        return count
    return count if count < len(open_named(column.task, folder).train) else None


def trials_of(
    columns: Mapping[str, Column], settings: TableSettings, start: Start, seed: int
) -> list[Trial]:
    """Columns of one task are one run; and the same from first weights."""
    found: list[Trial] = []
    for task in dict.fromkeys(column.task for column in columns.values()):
        metrics = {name: c.metric for name, c in columns.items() if c.task == task}
        column = columns[next(iter(metrics))]
        tuned = asked_settings(column, settings, start, seed)
        found.append(Trial(OURS, metrics, tuned))
        if settings.untrained and not start.config.is_decoder:
            sizes = str(locate(start.checkpoint).folder)
            nothing = replace(tuned, checkpoint="none", model=sizes)
            found.append(Trial(UNTRAINED, metrics, nothing))
    return found


@dataclass(frozen=True)
class Measured:
    """All rows, ours and the paper's; whose they are, and what is missing."""

    results: Results
    columns: tuple[str, ...]
    missing: list[str]
    config: BertConfig


def measured(settings: TableSettings) -> Measured:
    columns, missing = asked_columns(settings)
    check_examples(columns.values(), settings.examples)
    if missing:
        say(f"missing in {settings.data}, and left out: {', '.join(missing)}")
    begun = list(starts(settings))
    trials = [trial for seed, start in enumerate(begun)
              for trial in trials_of(columns, settings, start, seed)]  # fmt: skip
    results, names = collected(trials), tuple(columns)
    if names == GLUE_COLUMNS[:-1]:
        add_average(results)
        names = GLUE_COLUMNS
    rows = [row for row in (OURS, UNTRAINED, MAJORITY) if row in results]
    ordered = {row: results[row] for row in rows} | paper_rows(settings, names)
    return Measured(ordered, names, missing, begun[0].config)


def add_average(results: Results) -> None:
    """Of all nine, as GLUE counts it without WNLI; where a row has them all."""
    for runs in results.values():
        for figures in runs:
            if len(figures) == len(GLUE_COLUMNS) - 1:
                figures[AVERAGE] = sum(figures.values()) / len(figures)


def paper_rows(settings: TableSettings, columns: tuple[str, ...]) -> Results:
    """The paper's figures as rows, under our names of the columns."""
    theirs = STANDS_FOR[settings.name] if settings.data is None else {}
    return {
        row: [{name: scores[theirs.get(name, name)] / 100 for name in columns}]
        for row, scores in PAPER[settings.name].items()
    }
