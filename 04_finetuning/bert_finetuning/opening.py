"""A task by its name, or by its files: what is asked, what to learn from, what to measure on.

open_task(settings)      what `bert-finetune` was called with
open_named("rte", data)  StoryWorld's sets, GLUE, and the tasks of `known_tasks`
open_files(train, dev)   anything else, in one of six formats
"""

import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from bert_finetuning.examples import Choice, Extract, Question, TextExample, label_set
from bert_finetuning.guessing import guess_format
from bert_finetuning.head_config import HeadConfig
from bert_finetuning.kinds.base import Kind
from bert_finetuning.kinds.extracts import EXTRACT_LABELS, usual_number
from bert_finetuning.kinds.pairs import shortened
from bert_finetuning.known_tasks import KNOWN
from bert_finetuning.labels import doubt_about, header_error, hint_about, is_header_label
from bert_finetuning.questions import read_questions
from bert_finetuning.reading import (
    USUAL,
    Columns,
    Tally,
    read_choices,
    read_extracts,
    read_texts,
)
from bert_finetuning.rows import shown
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.storyworld_sets import STORYWORLD, storyworld
from bert_finetuning.tagged import read_tagged, tag_set
from bert_finetuning.task_file import KINDS, TaskData, usual_metrics, write_task
from bert_finetuning.tasks import GLUE, find_task, read_task
from bert_run.errors import UserError

__all__ = ["Asked", "TaskData", "few_of", "open_files", "open_named", "open_task", "write_task"]

Example = TypeVar("Example")


@dataclass(frozen=True)
class Asked:
    """What stands beside the examples: how the head reads, and the options of the kind."""

    head: HeadConfig = HeadConfig()  # noqa: RUF009 - it is frozen
    options: tuple[tuple[str, Any], ...] = ()  # of questions: stride, longest answer, …

    def kind(self, format: str, labels: Sequence[str], metrics: Sequence[str] = ()) -> Kind:
        """The kind of a format, with these labels and metrics."""
        head = replace(self.head, labels=tuple(labels))
        metrics = tuple(metrics) or usual_metrics(format, labels)
        options = dict(self.options) if format == "questions" else {}
        return KINDS[format](head, metrics, **options)


def open_task(settings: FinetuneSettings) -> TaskData:
    """The task that a command was called with. Raises `UserError` for whatever is wrong with it."""
    head = HeadConfig(pooling=settings.pooling, classifier_dropout=settings.classifier_dropout)
    options = {name: getattr(settings, name) for name in ("stride", "max_question", "max_answer")}
    if settings.null is not None:
        options["has_null"] = settings.null
    asked = Asked(head, tuple(options.items()))
    if settings.task is not None:
        return open_named(settings.task, settings.data, asked=asked)
    return open_files(
        settings.train,
        settings.dev,
        format=settings.format,
        columns=parse_columns(settings.columns),
        asked=asked,
    )


# --- By name -------------------------------------------------------------------------------------

SAID = Asked()


def open_named(name: str, data: str | Path | None = None, *, asked: Asked = SAID) -> TaskData:
    """A task by its name. `data` is a folder with its files; without it they come from the Hub.

    Those of StoryWorld are made as they are asked for, and need neither.
    """
    folder = None if data is None else Path(data).expanduser()
    if folder is not None and not folder.is_dir():
        raise UserError(f"--data {data}: there is no such folder")
    if name in STORYWORLD:
        if folder is not None:
            raise UserError(f"{name} is a task of StoryWorld and has no files: leave out --data")
        return open_storyworld(name, asked=asked)
    if name in KNOWN:
        task = KNOWN[name]
        sources = task.source("train", folder), task.source("dev", folder)
        return replace(open_files(*sources, format=task.format, asked=asked), name=name)
    return open_glue(name, folder, asked=asked)


def open_storyworld(
    name: str, *, train: int | None = None, heldout: int | None = None, asked: Asked = SAID
) -> TaskData:
    """A set of StoryWorld; as many examples as are usual, unless other numbers are given."""
    own = STORYWORLD[name]
    learnt = storyworld(name, "train", train or own.train)
    measured = storyworld(name, "heldout", heldout or own.heldout)
    kind = asked.kind(own.format, own.labels, own.metrics)
    return finished(TaskData(name, kind, learnt, measured), asked)


def open_glue(name: str, folder: Path | None, *, asked: Asked = SAID) -> TaskData:
    try:
        task = find_task(name)
    except UserError:
        names = ", ".join((*STORYWORLD, *GLUE, *KNOWN))
        raise UserError(f"there is no task {name!r}: choose {names}") from None

    def read(split: str) -> list[TextExample]:
        if folder is not None:
            return list(read_task(task, folder, split))
        return list(read_texts(
            task.hub_name(split), labels=task.labels, number=task.is_number, stream=False
        ))  # fmt: skip

    kind = asked.kind("numbers" if task.is_number else "texts", task.labels, task.metrics)
    return TaskData(task.name, kind, read("train"), read("dev"))


# --- By files ------------------------------------------------------------------------------------


def open_files(
    train: str | Path,
    dev: str | Path,
    *,
    format: str | None = None,
    labels: Sequence[str] | None = None,
    columns: Columns = USUAL,
    asked: Asked = SAID,
) -> TaskData:
    """Two files, or two datasets of the Hub, in one of the six formats.

    Without `format` the names and the first rows decide. Labels that nobody names are those of
    train; one that only dev has is told with its row.
    """
    guessed = format is None
    if format is None:
        format = guess_format(train, columns)
    if format not in KINDS:
        raise UserError(f"format {format!r}: choose {', '.join(KINDS)}")
    if columns != USUAL and format not in ("texts", "numbers"):
        raise UserError(f"--columns are for texts and numbers; {format} have names of their own")
    tallies = Tally(), Tally()
    both = list(zip((train, dev), tallies, strict=True))
    if format in ("texts", "tags"):
        learnt, found = read_labelled(train, format, labels, columns, tallies[0])
        if labels is None:
            check_labels(train, learnt, found, guessed=guessed, numbered=columns.numbered)
        measured, _ = read_labelled(
            dev, format, labels or found, columns, tallies[1], by_place=labels is not None
        )
        labels = labels or found
    elif format == "numbers":
        learnt, measured = (
            list(READERS[format](each, columns=columns, stream=False, tally=tally))
            for each, tally in both
        )
        labels = ("score",)
    else:
        learnt, measured = (list(READERS[format](each, stream=False)) for each, _ in both)
        labels = EXTRACT_LABELS if format == "extracts" else ()
    check_alike(learnt, measured, train=train, dev=dev)
    data = TaskData(
        Path(train).name.split(".")[0], asked.kind(format, labels), learnt, measured,
        tallies if format in ("texts", "numbers") else None,
    )  # fmt: skip
    return finished(data, asked)


READERS = {
    "numbers": partial(read_texts, number=True),
    "questions": read_questions,
    "choices": read_choices,
    "extracts": read_extracts,
}


def read_labelled(
    source: str | Path,
    format: str,
    labels: Sequence[str] | None,
    columns: Columns,
    tally: Tally | None = None,
    *,
    by_place: bool = True,
) -> tuple[list, tuple[str, ...]]:
    """Examples whose labels are names, and these names.

    Labels that were found in train have no order that a number in dev could mean: see `by_place` of
    `read_texts`.
    """
    if format == "tags":
        examples = list(read_tagged(source, tags=labels, stream=False))
        return examples, tag_set(examples)
    examples = list(read_texts(
        source, columns=columns, labels=labels, by_place=by_place, stream=False, tally=tally
    ))  # fmt: skip
    return examples, label_set(example.label for example in examples)


def check_labels(
    source: str | Path, examples: Sequence, found: Sequence[str], *, guessed: bool, numbered: bool
) -> None:
    """Raise `UserError` where the labels of train are hardly what the user means to learn."""
    if len(found) < 2:
        raise UserError(
            f"{source}: every label is {shown(found[0])}: there is nothing to tell apart"
        )
    if not isinstance(examples[0], TextExample):
        return
    labels = [example.label for example in examples]
    if numbered and is_header_label(labels):
        raise header_error(source, [examples[0].text, labels[0]])
    if guessed and (doubt := doubt_about(labels)):
        raise UserError(f"{source}: {doubt}")
    if guessed and (hint := hint_about(labels)):
        print(f"note: {source}: {hint}", file=sys.stderr)


def check_alike(
    learnt: Sequence, measured: Sequence, *, train: str | Path, dev: str | Path
) -> None:
    """Texts or pairs in both; as many endings; at least one sentence selected."""

    def shape(example: Any) -> str:
        if isinstance(example, TextExample):
            return "single texts" if example.pair is None else "pairs"
        return f"{len(example.endings)} endings" if isinstance(example, Choice) else ""

    if shape(learnt[0]) != shape(measured[0]):
        raise UserError(f"{train} has {shape(learnt[0])}, and {dev} has {shape(measured[0])}")
    for source, examples in ((train, learnt), (dev, measured)):
        for number, example in enumerate(examples, start=1):
            if isinstance(example, Choice) and shape(example) != shape(examples[0]):
                raise UserError(
                    f"{source}: example {number:,} ({shortened(example.context)}) has "
                    f"{shape(example)}, the first has {shape(examples[0])}: all need as many"
                )
            if isinstance(example, Extract) and not example.selected:
                shown = shortened(" ".join(example.sentences))
                raise UserError(f"{source}: document {number:,} ({shown}) selects no sentence")


def parse_columns(text: str | None, *, labelled: bool = True) -> Columns:
    """`TEXT,LABEL` or `TEXT,PAIR,LABEL`, without labels `TEXT` or `TEXT,PAIR`: names of columns, or
    their numbers from 1."""
    if text is None:
        return USUAL
    given = [name.strip() for name in text.split(",")]
    *names, label = given if labelled else [*given, None]
    if len(names) not in (1, 2) or not all(names) or label == "":
        forms = "TEXT,LABEL or TEXT,PAIR,LABEL" if labelled else "TEXT or TEXT,PAIR"
        raise UserError(f"--columns {text}: write {forms}")
    if len({name.isdecimal() for name in (*names, label) if name}) > 1:
        raise UserError(f"--columns {text}: name all of them, or give the numbers of all")
    if len({*given}) < len(given):
        raise UserError(f"--columns {text}: a column is named twice: give another for each part")
    return Columns(names[0], names[1] if len(names) == 2 else None, label)


def finished(data: TaskData, asked: Asked) -> TaskData:
    """The same, with what the kind takes from the examples.

    Extracts choose the usual number of sentences. Where a question of train has no answer, none may
    be given, unless it is said whether.
    """
    if data.format == "extracts":
        return replace(data, kind=replace(data.kind, usual=usual_number(data.train)))
    if data.format == "questions" and "has_null" not in dict(asked.options):
        return replace(data, kind=replace(data.kind, has_null=unanswered(data.train)))
    return data


def unanswered(questions: Sequence[Question]) -> bool:
    return any(not question.answers for question in questions)


# --- Few -----------------------------------------------------------------------------------------


def few_of(examples: Sequence[Example], count: int, *, seed: int) -> list[Example]:
    """`count` of the examples, as even over the labels as can be; the seed draws them.

    Examples without a label of their own, tagged sentences say, are drawn evenly.
    """
    if count > len(examples):
        raise UserError(f"--few-shot {count:,}: there are {len(examples):,} examples to draw from")
    groups = defaultdict(list)
    for place in np.random.default_rng([seed, count]).permutation(len(examples)).tolist():
        label = getattr(examples[place], "label", None)
        groups[label if isinstance(label, str) else ""].append(place)
    turns = chain.from_iterable(zip_longest(*(groups[label] for label in sorted(groups))))
    drawn = [place for place in turns if place is not None][:count]
    return [examples[place] for place in sorted(drawn)]
