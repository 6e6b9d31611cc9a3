"""What a task is, and what a fine-tuned folder remembers of it.

A few lines in `config.json`, under a name of their own, which `transformers` passes over. Without
them, in a folder from elsewhere, the architecture and the labels tell the kind of task.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from bert_finetuning.folders import FineTuned, read_fields
from bert_finetuning.head_config import HeadConfig
from bert_finetuning.heads import (
    BertForMultipleChoice,
    BertForQuestionAnswering,
    BertForTokenClassification,
    BertWithHead,
)
from bert_finetuning.kinds.base import Kind
from bert_finetuning.kinds.choices import Choices
from bert_finetuning.kinds.extracts import EXTRACT_METRICS, Extracts
from bert_finetuning.kinds.numbers import Numbers
from bert_finetuning.kinds.spans import SPAN_METRICS, Spans
from bert_finetuning.kinds.tags import Tags
from bert_finetuning.kinds.texts import Texts
from bert_finetuning.metrics import entities
from bert_finetuning.reading import Tally
from bert_run.errors import UserError
from bert_run.files import write_atomically

FIELD = "bert_finetuning"  # of config.json

# What the examples of each kind are called as files.
KINDS: dict[str, type[Kind]] = {
    "texts": Texts,
    "numbers": Numbers,
    "tags": Tags,
    "questions": Spans,
    "choices": Choices,
    "extracts": Extracts,
}


@dataclass(frozen=True)
class TaskData:
    """A task ready to be learnt: its kind, the examples to learn from, and those to measure on."""

    name: str
    kind: Kind
    train: list[Any]
    dev: list[Any]
    # How the rows of both were understood, where they are rows with labels.
    tallies: tuple[Tally, Tally] | None = field(default=None, compare=False)

    @property
    def format(self) -> str:
        return format_of(self.kind)

    @property
    def is_pairs(self) -> bool:
        return getattr(self.train[0], "pair", None) is not None


@dataclass(frozen=True)
class SavedTask:
    """What a folder says of its task. `options` are the kind's own fields, by their names."""

    format: str
    name: str = ""
    max_length: int | None = None
    pairs: bool | None = None  # None: not known
    metrics: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)


def format_of(kind: Kind) -> str:
    return next(name for name, each in KINDS.items() if type(kind) is each)


def write_task(folder: Path, data: TaskData, *, max_length: int) -> None:
    """Add to a fine-tuned folder's `config.json` what its task was, and how it was read."""
    path = Path(folder) / "config.json"
    content = json.loads(path.read_text("utf-8"))
    kind = data.kind
    own = [each.name for each in fields(kind) if each.name not in ("head", "metrics")]
    content[FIELD] = {
        "task": data.name,
        "format": data.format,
        "max_length": max_length,
        "pairs": data.is_pairs,
        "metrics": list(kind.metrics),
        "options": {name: getattr(kind, name) for name in own},
    }
    write_atomically(path, json.dumps(content, indent=2) + "\n")


def read_task_file(folder: Path) -> SavedTask | None:
    """What `write_task` wrote, or None where nobody did. Raises `UserError` if it is damaged."""
    saved = read_fields(folder).get(FIELD)
    if saved is None:
        return None
    wanted = {"task": str, "format": str, "max_length": int, "pairs": bool, "metrics": list,
              "options": dict}  # fmt: skip
    for name, type_ in wanted.items():
        if not isinstance(saved, dict) or not isinstance(saved.get(name), type_):
            raise UserError(
                f"{folder}: config.json is damaged: {FIELD}.{name} is missing, or is no "
                f"{type_.__name__}: remove {FIELD} from it, and the usual values count"
            )
    if saved["format"] not in KINDS:
        raise UserError(
            f"{folder}: config.json is damaged: {FIELD}.format is {saved['format']!r}: choose "
            f"{', '.join(KINDS)}"
        )
    return SavedTask(saved["format"], saved["task"], saved["max_length"], saved["pairs"],
                     tuple(saved["metrics"]), saved["options"])  # fmt: skip


def kind_of(opened: FineTuned) -> tuple[Kind, SavedTask]:
    """The kind of task that a fine-tuned folder does, ours or one of `transformers`."""
    head, model = opened.model.head, type(opened.model)
    saved = read_task_file(opened.folder) or SavedTask(usual_format(model, head))
    kind = KINDS[saved.format]
    if kind.model is not model:
        raise UserError(
            f"{opened.folder}: config.json says {saved.format}, and the model is a "
            f"{model.__name__}: copy the checkpoint again"
        )
    metrics = saved.metrics or usual_metrics(saved.format, head.labels)
    try:
        return kind(head, metrics, **saved.options), saved
    except TypeError as error:
        raise UserError(
            f"{opened.folder}: config.json is damaged: {FIELD}.options do not fit ({error})"
        ) from None


def usual_format(model: type[BertWithHead], head: HeadConfig) -> str:
    """The kind of task by the class alone; an extract is not told from a text."""
    others = {BertForTokenClassification: "tags", BertForQuestionAnswering: "questions",
              BertForMultipleChoice: "choices"}  # fmt: skip
    if model in others:
        return others[model]
    return "numbers" if head.is_regression else "texts"


def usual_metrics(format: str, labels: Sequence[str]) -> tuple[str, ...]:
    """How examples of a format are measured where the task does not say."""
    if format == "tags":
        return ("entity_f1",) if are_names(labels) else ("accuracy",)
    return {
        "texts": ("accuracy", "macro_f1"),
        "numbers": ("spearman", "pearson"),
        "questions": SPAN_METRICS,
        "choices": ("accuracy",),
        "extracts": EXTRACT_METRICS,
    }[format]


def are_names(tags: Sequence[str]) -> bool:
    """Whether tags are those of names: O, B-PER, I-PER, …"""
    try:
        return any("-" in tag for tag in tags) and bool(entities(tags))
    except UserError:
        return False
