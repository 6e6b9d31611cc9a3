"""Tables 1 to 4: one checkpoint, fine-tuned on each task; several seeds of fine-tuning.

On the tasks themselves where `--data` says where they are; else StoryWorld's sets stand in. Without
a checkpoint the BERT of Table 5 is taken, and a seed is one of pretraining too.
"""

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bert_experiments.ablations.variants import runs_of, trained, variants_of
from bert_experiments.paper_tables.claims import BERT
from bert_experiments.paper_tables.columns import (
    AVERAGE,
    COLUMNS,
    GLUE_COLUMNS,
    PAPER,
    REAL,
    SIZES,
    STAND_INS,
    STANDS_FOR,
    TITLES,
    Column,
    check_examples,
    folder_of,
    names_of_files,
)
from bert_experiments.paper_tables.settings import EXAMPLES, TableSettings, in_epochs
from bert_experiments.paper_tables.trials import MAJORITY, Trial, collected
from bert_experiments.report.figures import UNTRAINED, Results, in_words, say, values_of
from bert_experiments.report.page import Page
from bert_experiments.report.verdicts import RULE, Claim, Side, Verdict, judge
from bert_finetuning.data.load import load_named
from bert_finetuning.settings import FinetuneSettings, wider
from bert_run.config import BertConfig
from bert_run.errors import UserError
from bert_run.weights import locate

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
    return count if count < len(load_named(column.task, folder).train) else None


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
class Found:
    """All rows, ours and the paper's; whose they are, and what is missing."""

    results: Results
    columns: tuple[str, ...]
    missing: list[str]
    config: BertConfig


def find(settings: TableSettings) -> Found:
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
    return Found(ordered, names, missing, begun[0].config)


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


# --- Are the paper's figures reached? And does pretraining help? ----------------------------------

NEAR = 0.01  # seeds of one model differ by so much, and GLUE's dev sets from its test sets
ALL_REACHED = "Pretrained and fine-tuned, BERT reaches the figures beside"
RULE_REACHED = (
    "The rule for figures: a figure is *reproduced* when our median is no more than one point "
    "below it; it is *not testable at this scale* when the model does not have the sizes of the "
    "paper's models, when it learned from few examples, or when StoryWorld stands in for the task."
)


def verdicts_of(found: Found, settings: TableSettings) -> list[Verdict]:
    if hindrance := why_not(found, settings):
        reached = [Verdict(Claim(ALL_REACHED), "not testable at this scale", hindrance)]
    else:
        reached = [judge_reached(column, found) for column in found.columns]
    if UNTRAINED not in found.results:
        return reached
    return [*reached, judge(pretraining_helps(found.columns), found.results)]


def why_not(found: Found, settings: TableSettings) -> str | None:
    """Why no figure of the paper can be compared with ours."""
    if settings.data is None:
        return "StoryWorld's sets stand in for the tasks"
    sizes = found.config.num_hidden_layers, found.config.hidden_size
    if SIZES.get(sizes) not in found.results:
        return f"the model has {sizes[0]} layers of width {sizes[1]}"
    if settings.examples is not None:
        return f"it learned from at most {settings.examples:,} examples per task"
    return None


def pretraining_helps(columns: tuple[str, ...]) -> Claim:
    return Claim(
        "Pretraining helps on every task (section 4); here: compared with the same model, "
        "untrained",
        tuple((Side(OURS, column), Side(UNTRAINED, column)) for column in columns),
    )


def judge_reached(column: str, found: Found) -> Verdict:
    """One figure of the paper, by a model of the same sizes."""
    row = SIZES[found.config.num_hidden_layers, found.config.hidden_size]
    theirs = found.results[row][0][column]
    ours = values_of(found.results, OURS, column)
    near = statistics.median(ours) >= theirs - NEAR
    claim = Claim(f"{column}: {theirs:.1%} by a model of these sizes")
    answer = "reproduced" if near else "not reproduced"
    return Verdict(claim, answer, f"ours {in_words(ours, column)}")


# --- The page ------------------------------------------------------------------------------------


def checkpoint_page(settings: TableSettings) -> Page:
    found = find(settings)
    return Page(
        title=TITLES[settings.name], results=found.results, columns=found.columns,
        notes=notes(found, settings), verdicts=verdicts_of(found, settings),
        rule=f"{RULE_REACHED}\n\n{RULE}",
    )  # fmt: skip


def notes(found: Found, settings: TableSettings) -> str:
    """What the rows and columns are."""
    parts = [
        f"*{OURS}*: {of_model(found.config, settings)}, fine-tuned on each task with "
        f"{settings.seeds} seed{'s' if settings.seeds > 1 else ''}. Each cell is the median of the "
        "seeds, with the lowest and highest in parentheses. The score is the best of the "
        "evaluations after each epoch, on the same dev examples, so every figure is slightly "
        f"optimistic. *{UNTRAINED}*: an untrained model of the same size, fine-tuned from its "
        f"initial weights; *{MAJORITY}*: the most common answer for every example.",
        f"{what_of(settings)} {training_examples(settings)}",
    ]
    if settings.table == "1" and settings.data is not None:
        parts.append(
            "The paper's figures are on GLUE's test sets, ours on the dev sets; F1 for QQP and "
            "MRPC, Spearman for STS-B, Matthews for CoLA, accuracy for all others. The paper chose "
            "the best of four learning rates on dev; here there is one rate."
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
        "**These are not the paper's tasks**: StoryWorld's data sets stand in for the tasks in "
        f"parentheses, and the paper's figures are shown for orientation only.{lacks}"
    )


def training_examples(settings: TableSettings) -> str:
    """How much of them; a set of files may hold fewer."""
    count = settings.examples or (EXAMPLES if settings.data is None else None)
    epochs = f", {in_epochs(settings.epochs)}" if settings.epochs else ""
    return f"Training: {'all' if count is None else f'at most {count:,}'} examples{epochs}."
