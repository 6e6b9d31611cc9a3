"""What was understood of a task's files, in aligned lines, said before training starts.

task        one of 2 labels for each text (format texts)
columns     text from 'text', label from 'label'
train       reviews.csv: 300 examples
dev         more.csv: 80 examples; rows without a label, left out: 2
labels                 train      dev
            negative     154       41
            positive     146       39
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from bert_finetuning.examples import Question, TaggedSentence, TextExample, is_empty
from bert_finetuning.reading import Columns, Tally
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.task_file import TaskData

ASKED = ("text", "pair", "question", "context", "words", "endings", "sentences")
MOST = 8  # labels that are listed; of more than that the commonest
WIDEST = 32  # characters of a label


def understood(data: TaskData, settings: FinetuneSettings) -> list[str]:
    """The lines, each under its name in the first column."""
    tallies = data.tallies or (Tally(), Tally())
    lines = [named("task", f"{data.name}: {question(data)} (format {data.format})")]
    if tallies[0].columns is not None:
        lines.append(named("columns", in_words(tallies[0].columns)))
    few = settings.few_shot
    both = in_both(data)
    lines += [
        named("train", counted(settings.train, data.train, tallies[0], few)),
        named("dev", counted(settings.dev, data.dev, tallies[1]) + both),
    ]
    if data.format == "numbers":
        return [*lines, named("numbers", ranges(data))]
    return [*lines, *label_table(data)]


def named(name: str, content: str) -> str:
    return f"{name:<12}{content}"


def question(data: TaskData) -> str:
    """What the model learns to say."""
    what = "pair of texts" if data.is_pairs else "text"
    return {
        "texts": f"one of {len(data.kind.head.labels)} labels for each {what}",
        "numbers": f"a number for each {what}",
        "tags": f"one of {len(data.kind.head.labels)} tags for each word",
        "questions": "the part of a text that answers a question",
        "choices": "the right one of several endings",
        "extracts": "the sentences that sum a document up",
    }[data.format]


def in_words(columns: Columns) -> str:
    pair = f", second text from {columns.pair!r}" if columns.pair else ""
    number = " (by their numbers)" if columns.numbered else ""
    return f"text from {columns.text!r}{pair}, label from {columns.label!r}{number}"


def counted(source: str | None, examples: Sequence, tally: Tally, few: int | None = None) -> str:
    """How many examples there are, and what is special about some."""
    count = f"{len(examples):,} examples"
    if few is not None:
        count = f"{few:,} of {len(examples):,} examples, drawn anew by each seed"
    told = [count if source is None else f"{source}: {count}"]
    if tally.left_out:
        told.append(f"rows without a label, left out: {tally.left_out:,}")
    if empty := sum(is_empty(example) for example in examples):
        told.append(f"examples with an empty text: {empty:,}")
    if isinstance(examples[0], TaggedSentence):
        told.append(f"{sum(len(example.words) for example in examples):,} words")
    if isinstance(examples[0], Question):
        silent = sum(not example.answers for example in examples)
        told.append(f"{silent:,} without an answer")
    return "; ".join(told)


def in_both(data: TaskData) -> str:
    """How many examples of dev are in train too: their score tells what was learned by heart."""
    learnt = set(map(asked_by, data.train))
    known = sum(asked_by(example) in learnt for example in data.dev)
    return f"; of them also in train: {known:,}" if known else ""


def asked_by(example: Any) -> tuple:
    """What an example asks, without its name and its answer."""
    return tuple(getattr(example, name) for name in ASKED if hasattr(example, name))


def ranges(data: TaskData) -> str:
    """Lowest, mean and highest number of both sets."""
    told = []
    for name, examples in (("train", data.train), ("dev", data.dev)):
        numbers = [example.label for example in examples]
        mean = sum(numbers) / len(numbers)
        told.append(f"{min(numbers):g} to {max(numbers):g} in {name}, mean {mean:.3g}")
    return "; ".join(told)


def label_table(data: TaskData) -> list[str]:
    """How often each label occurs in train and in dev; nothing for kinds without labels."""
    train, dev = (Counter(labels_of(examples)) for examples in (data.train, data.dev))
    if not train:
        return []
    labels = data.kind.head.labels
    shown = list(labels)
    if len(labels) > MOST:
        shown = [label for label, _ in train.most_common(MOST)]
    names = [label if len(label) <= WIDEST else label[: WIDEST - 1] + "…" for label in shown]
    more = [f"… and {len(labels) - MOST} more"] if len(labels) > MOST else []
    width = max(map(len, [*names, *more]))
    title = "tags" if data.format == "tags" else "labels"
    lines = [named(title, f"{'':<{width}}  {'train':>9}{'dev':>9}")]
    for name, label in zip(names, shown, strict=True):
        lines.append(named("", f"{name:<{width}}  {train[label]:>9,}{dev[label]:>9,}"))
    if more:
        rest = [sum(c.values()) - sum(c[label] for label in shown) for c in (train, dev)]
        lines.append(named("", f"{more[0]:<{width}}  {rest[0]:>9,}{rest[1]:>9,}"))
    return lines


def labels_of(examples: Sequence) -> list[str]:
    if isinstance(examples[0], TaggedSentence):
        return [tag for example in examples for tag in example.tags]
    return [example.label for example in examples if isinstance(example, TextExample)]
