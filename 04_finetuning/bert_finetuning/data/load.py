"""A task by its name, or by its files: the task type, what to learn from, what to measure on.

load_task(settings)      what `bert-finetune` was called with
load_named("rte", data)  StoryWorld's sets, GLUE (Wang et al. 2018), and others
load_files(train, dev)   anything else, in the format of one of the task types
"""

import json
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from bert_finetuning.data.rows import (
    TEXTS,
    USUAL,
    Columns,
    Expected,
    Tally,
    at_least_one,
    lines_of,
    open_rows,
    parse_columns,
    split_tsv,
    table_rows,
    unknown_column,
)
from bert_finetuning.data.storyworld import STORYWORLD, storyworld
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks import TASKS
from bert_finetuning.tasks.base import PAIR, Example, Features, HeadConfig, Task
from bert_finetuning.tasks.classification import TextExample
from bert_run.errors import UserError, option
from bert_run.files import PACKED, write_atomically

AnyExample = TypeVar("AnyExample", bound=Example)
SAMPLE = 100  # rows whose labels tell the type of a task


@dataclass(frozen=True)
class TaskData:
    """A task ready to be learned: its type, the examples to learn from, those to measure on."""

    name: str
    task: Task
    train: list[Any]
    dev: list[Any]
    test: list[Any] = field(default_factory=list)  # read once, at the end
    split: "Split | None" = None  # of one file, where dev is a share of it
    # How the rows of train, dev and test were understood.
    tallies: tuple[Tally, Tally, Tally] = field(default=(Tally(), Tally(), Tally()), compare=False)

    @property
    def is_pairs(self) -> bool:
        return self.train[0].shape == PAIR

    @cached_property
    def seen(self) -> tuple[int, int]:
        """How many examples of dev are also in train, and of test in one of the two; texts that
        differ in case and blanks alone are the same, as in `Split`."""
        train, dev, test = ([plain_text("\n".join(example.texts)) for example in examples]
                            for examples in (self.train, self.dev, self.test))  # fmt: skip
        known, both = {*train}, {*train, *dev}
        return sum(text in known for text in dev), sum(text in both for text in test)


def plain_text(text: str) -> str:
    """What counts when two texts are compared: neither case nor how words are set apart."""
    return " ".join(text.split()).casefold()


def new_task(task_type: type[Task], labels: Sequence[str], metrics: Sequence[str] = ()) -> Task:
    """A task of this type, with these labels and metrics."""
    return task_type(HeadConfig(tuple(labels)), tuple(metrics) or task_type.usual_metrics(labels))


def configured(task: Task, settings: FinetuneSettings) -> Task:
    """The same task with what the settings say of its head, and of the options of its type."""
    unused = () if task.options else ("stride", "max_question", "max_answer", "null")
    unused += () if task.model.has_pooling else ("pooling",)
    unused += () if task.model.part == "classifier" else ("classifier_dropout",)
    if given := settings.changed(*unused):
        raise UserError(f"{option(given[0])} is not for a task of {task.format}: leave it out")
    own = {name: getattr(settings, name) for name in task.options if hasattr(settings, name)}
    own |= {} if settings.null is None else {"has_null": settings.null}
    dropout = settings.classifier_dropout
    head = replace(task.head, pooling=settings.pooling, classifier_dropout=dropout)
    return replace(task, head=head, **own)


def load_task(settings: FinetuneSettings) -> TaskData:
    """The task that a command was called with. Raises `UserError` for whatever is wrong with it."""
    columns = parse_columns(settings.columns)
    if settings.task is not None:
        data = load_named(settings.task, settings.data)
    else:
        dev = share_of(settings.dev) or settings.dev
        data = load_files(settings.train, dev, format=settings.format, columns=columns,
                          seed=settings.seed)  # fmt: skip
    data = replace(data, task=configured(data.task, settings))
    if settings.test is None:
        return data
    test, tally = settings.test, Tally(f"the test set of {data.name}")
    if test == "own" and not Path(test).exists():
        if settings.task is None:  # a file may be called like a task
            raise UserError("--test own is for a --task: name a FILE, --test FILE")
        test = own_test_set(data, settings.data)
    if isinstance(test, str):
        tally.source, by_name = test, settings.task is not None
        test = read_labeled(test, data.task, columns=columns, by_place=by_name, tally=tally,
                            train=data.tallies[0].columns)  # fmt: skip
        check_shapes(settings.train or data.name, data.train, tally.source, test)
    return replace(data, test=test, tallies=(*data.tallies[:2], tally))


def own_test_set(data: TaskData, folder: str | Path | None) -> list[Any] | str:
    """A named task's test set, or where it is; of StoryWorld what follows dev in its split."""
    if data.name in STORYWORLD:
        heldout = storyworld(data.name, "heldout", 2 * len(data.dev))
        known = {example.texts for example in data.dev}
        return [each for each in heldout[len(data.dev) :] if each.texts not in known]
    if data.name not in KNOWN or "test" not in KNOWN[data.name].hub:
        raise UserError("--test own: this task gives out no test set with labels: name a FILE, "
                        "--test FILE")  # fmt: skip
    return KNOWN[data.name].source("test", folder and Path(folder).expanduser())


def read_labeled(source: str | Path, task: Task, **expected: Any) -> list[Any]:
    """Labeled examples of a task that is known already; `expected` are fields of `Expected`."""
    found = list(task.read(source, labels=task.head.labels, stream=False, **expected))
    task.check_examples(source, found)
    return found


def check_shapes(train: str | Path, learned: list, source: str | Path, more: list) -> None:
    if learned[0].shape != more[0].shape:
        raise UserError(f"{train} has {learned[0].shape}, and {source} has {more[0].shape}")


# --- By name -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NamedTask:
    """One task of `named.json`. Only those of GLUE say there what their columns and labels are, the
    labels in the order of their numbers on the Hub. One label, "score": a number is predicted."""

    name: str
    format: str
    files: dict[str, list[str]]  # of each split: what may lie there, the first that does
    hub: dict[str, str]  # of each split, as ID:CONFIG@SPLIT
    columns: Sequence[str | None] = ()  # of its files: the text, a second one, the label
    labels: Sequence[str] = ()
    metrics: Sequence[str] = ()  # names in `metrics.METRICS`; the first chooses between runs

    def paths(self, folder: Path, split: str) -> list[Path]:
        """The files of a split in a folder; dev of CoLA is two."""
        names = self.files[split]
        return first_files(folder, names, f"{' or '.join(names)} of {self.name}")

    def source(self, split: str, folder: Path | None) -> str:
        """Where the examples of a split are: a file in the folder, or on the Hub."""
        return self.hub[split] if folder is None else str(self.paths(folder, split)[0])


def tasks_of(group: str) -> dict[str, NamedTask]:
    table = json.loads(Path(__file__).with_name("named.json").read_text("utf-8"))[group]
    return {name: NamedTask(name, **fields) for name, fields in table.items()}


GLUE, KNOWN = tasks_of("glue"), tasks_of("known")


def load_named(name: str, data: str | Path | None = None) -> TaskData:
    """A task by its name, from the files in the folder `data`, the Hub, or StoryWorld."""
    folder = None if data is None else Path(data).expanduser()
    if name in STORYWORLD:
        if folder is not None:
            raise UserError(f"{name} is a task of StoryWorld and has no files: leave out --data")
        return load_storyworld(name)
    if name in KNOWN:
        known = KNOWN[name]
        sources = known.source("train", folder), known.source("dev", folder)
        return replace(load_files(*sources, format=known.format), name=name)
    glue = find_glue(name)
    train, dev = (list(read_glue(glue, folder, split)) for split in ("train", "dev"))
    task = new_task(TASKS[glue.format], glue.labels, glue.metrics)
    return TaskData(glue.name, task, train, dev)


def load_storyworld(name: str, *, train: int | None = None, heldout: int | None = None) -> TaskData:
    """A set of StoryWorld; as many examples as are usual, unless other numbers are given."""
    own = STORYWORLD[name]
    learned = storyworld(name, "train", train or own.train)
    measured = storyworld(name, "heldout", heldout or own.heldout)
    task = new_task(own.task_type, own.labels, own.metrics)
    return TaskData(name, task.adapted(learned, name), learned, measured)


def find_glue(name: str) -> NamedTask:
    """A task by its name, however it is written: "SST-2", "sst2"."""
    plain = {key.replace("-", ""): task for key, task in GLUE.items()}
    task = plain.get(name.lower().replace("-", "").replace("_", ""))
    if task is None:
        names = ", ".join((*STORYWORLD, *GLUE, *KNOWN))
        raise UserError(f"there is no task {name!r}: choose {names}")
    return task


def read_glue(task: NamedTask | str, folder: Path | None, split: str) -> Iterator[TextExample]:
    """The labeled examples of train or dev, from gluebenchmark.com's files, else from the Hub."""
    task = find_glue(task) if isinstance(task, str) else task
    if folder is None:
        yield from TASKS[task.format].read(task.hub[split], labels=task.labels, stream=False)
        return
    expected = Expected(Columns(*task.columns), task.labels)
    for path in task.paths(folder, split):
        # QQP is known to hold a few broken lines, which everyone passes over.
        cells, is_qqp = split_tsv(lines_of(path)), task.name == "qqp"
        rows = table_rows(str(path), cells, expected, skip_short=is_qqp)
        yield from at_least_one(TASKS[task.format].parse(rows, expected), path)


def first_files(folder: Path, names: Sequence[str], what: str) -> list[Path]:
    """The first of the files that the folder holds, plain or packed; "a and b" names two."""
    for choice in names:
        parts = [[path for end in ("", *PACKED) if (path := folder / f"{name}{end}").is_file()]
                 for name in choice.split(" and ")]  # fmt: skip
        if all(parts):
            return [part[0] for part in parts]
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}: --data names the one with {what}")
    there = ", ".join(sorted(path.name for path in folder.glob("*"))[:10])
    raise UserError(f"{folder} holds no {what}: it holds {there or 'nothing'}")


# --- By files ------------------------------------------------------------------------------------


def load_files(train: str | Path, dev: str | Path | float, *, format: str | None = None,
               columns: Columns = USUAL, seed: int = 0) -> TaskData:  # fmt: skip
    """Two files, or two datasets of the Hub, in the format of a task type; without `format` the
    names and the first rows decide. `dev` may be a share of train, drawn by the seed. Labels are
    those of train; one that only dev has is an error with its row."""
    if format is not None and format not in TASKS:
        raise UserError(f"format {format!r}: choose {', '.join(TASKS)}")
    task_type = infer_task(train, columns) if format is None else TASKS[format]
    tallies = Tally(str(train)), Tally(), Tally()
    learned = list(task_type.read(train, tally=tallies[0], columns=columns, stream=False))
    task = new_task(task_type, task_type.labels_of(learned))
    task_type.check_labels(train, learned, inferred=format is None)
    task_type.check_examples(train, learned)
    split = None
    if isinstance(dev, float):
        split, count = Split.of(learned, dev, seed=seed), len(learned)
        if not split.dev:
            raise UserError(f"--dev {dev:g} of {count:,} examples is none: give a larger share, or "
                            "a FILE (examples with the same text stay together)")  # fmt: skip
        measured = [learned[place] for place in split.dev]
        learned = [learned[place] for place in split.train]
    else:
        tallies[1].source = str(dev)
        measured = read_labeled(dev, task, columns=columns, by_place=False, tally=tallies[1],
                                train=tallies[0].columns)  # fmt: skip
        check_shapes(train, learned, dev, measured)
    name, task = Path(train).name.split(".")[0], task.adapted(learned, train)
    return TaskData(name, task, learned, measured, split=split, tallies=tallies)


def infer_task(source: str | Path, columns: Columns = USUAL) -> type[Task]:
    """The type of task that a source is for, as its columns and first labels tell."""
    rows = at_least_one(open_rows(source, Expected(columns)), source)
    sample = list(islice(rows, SAMPLE))
    matching = [task_type for task_type in TASKS.values() if task_type.matches(sample, columns)]
    if not matching:
        raise unknown_column(sample[0], TEXTS[0])
    return min(matching, key=lambda each: each.takes_columns)  # texts match most rows


# --- One file in two parts -----------------------------------------------------------------------


@dataclass(frozen=True)
class Split:
    """One labeled file in two parts, by the places of examples from 0: what to learn from, and a
    share to measure on. They depend on the examples, the share and the seed alone."""

    share: float
    seed: int
    train: list[int]
    dev: list[int]

    @classmethod
    def of(cls, examples: Sequence[Example], share: float, *, seed: int) -> "Split":
        """About `share` of the examples of each label are for dev, drawn by the seed. Examples with
        the same text stay together, and every label keeps an example in train."""
        groups: dict[str, list[int]] = defaultdict(list)  # places of the same text
        for place, example in enumerate(examples):
            groups[plain_text(example.kept_together)].append(place)
        strata: dict[str, list[list[int]]] = defaultdict(list)
        for group in groups.values():
            strata[examples[group[0]].stratum].append(group)
        generator = np.random.default_rng(seed)
        dev: list[int] = []
        seen = 0
        for label in sorted(strata):
            order = generator.permutation(len(strata[label])).tolist()
            seen += sum(map(len, strata[label]))
            room = round(share * seen) - len(dev)  # what one label leaves the next one takes
            for group in (strata[label][number] for number in order[1:]):
                if len(group) <= room:
                    dev += group
                    room -= len(group)
        train = sorted({*range(len(examples))} - {*dev})
        return cls(share, seed, train, sorted(dev))

    def write(self, folder: Path, source: str, lines: Sequence[int]) -> None:
        """Put `split.json` into a folder. `lines`: of each example."""
        dev, train = ([lines[place] for place in part] for part in (self.dev, self.train))
        content = {"file": Path(source).name, "share": self.share, "seed": self.seed,
                   "numbers_are": "lines of the file (rows of a JSON document or of the Hub)",
                   "dev": dev, "train": train}  # fmt: skip
        write_atomically(folder / "split.json", json.dumps(content) + "\n")


def share_of(dev: str | None) -> float | None:
    """The share of train that --dev asks for; None if it names a file."""
    try:
        share = float((dev or "").rstrip("%").replace(",", "."))
    except ValueError:
        return None
    if Path(dev).exists():
        return None
    if not 0 < share < 1 or {"%", ","} & {*dev}:
        wanted = "give a FILE, or a share of the training file between 0 and 1 (0.1)"
        raise UserError(f"--dev {dev}: {wanted}")
    return share


# --- Few -----------------------------------------------------------------------------------------


def few_of(examples: Sequence[AnyExample], count: int | None, *, seed: int) -> list[AnyExample]:
    """`count` of the examples, as even over the labels as can be; the seed draws them. None: all.
    Examples without a label of their own, tagged sentences say, are drawn evenly."""
    return [examples[place] for place in places_of_few(examples, count, seed=seed)]


def places_of_few(examples: Sequence[Example], count: int | None, *, seed: int) -> list[int]:
    """Where the examples of `few_of` stand among all."""
    if count is None:
        return list(range(len(examples)))
    if count > len(examples):
        raise UserError(f"--few-shot {count:,}: there are {len(examples):,} examples to draw from")
    strata = defaultdict(list)
    for place in np.random.default_rng([seed, count]).permutation(len(examples)).tolist():
        strata[examples[place].stratum].append(place)
    turns = chain(*zip_longest(*(strata[label] for label in sorted(strata))))
    return sorted([place for place in turns if place is not None][:count])


# --- In words ------------------------------------------------------------------------------------


def describe(data: TaskData, settings: FinetuneSettings, features: Sequence[Features] = (),
             max_length: int = 0) -> list[str]:  # fmt: skip
    """What was understood of the task's files, in aligned lines, printed before training starts."""
    task, tallies, columns = data.task, data.tallies, data.tallies[0].columns
    what = "pair of texts" if data.is_pairs else "text"
    what = task.learns.format(labels=len(task.head.labels), what=what)
    said = {"task": f"{data.name}: {what} (format {task.format})"}
    if columns is not None:
        said["columns"] = str(columns)
    said["train"] = count_in_words(data.train, tallies[0], columns, few=settings.few_shot)
    said["dev"] = count_in_words(data.dev, tallies[1], columns)
    if data.split is not None:
        said["dev"] += f", set aside from {settings.train}"
    if data.seen[0]:
        said["dev"] += f"; of them also in train: {data.seen[0]:,}"
    if data.test:
        said["test"] = count_in_words(data.test, tallies[2], columns)
        if data.seen[1]:
            said["test"] += f"; of them also in train or dev: {data.seen[1]:,}"
    if lengths := [each.length for each in features]:
        full = sum(length >= max_length for length in lengths)
        said["lengths"] = (f"median {statistics.median_low(lengths)} tokens; {full:,} of "
                           f"{len(lengths):,} fill all {max_length} (--max-length)")  # fmt: skip
    title, table = task.summary(data.train, data.dev)
    titles = [title, *[""] * len(table)]
    lines = [*said.items(), *zip(titles, table, strict=False)]
    return [f"{name:<12}{content}" for name, content in lines]


def count_in_words(examples: Sequence[Example], tally: Tally, train: Columns | None = None, *,
                   few: int | None = None) -> str:  # fmt: skip
    """How many examples there are, what is special about some, and columns other than train's."""
    count = f"{len(examples):,} examples"
    if few is not None:
        count = f"{few:,} of {len(examples):,} examples, drawn anew by each seed"
    found = f" ({', '.join(tally.found)})" if tally.found else ""
    parts = [f"{tally.source}{found}: {count}" if tally.source else count]
    parts += [f"{count:,} {what} left out" for what, count in tally.left_out.items()]
    if empty := sum(example.is_empty for example in examples):
        parts.append(f"examples with an empty text: {empty:,}")
    if tally.columns not in (None, train):
        parts.append(str(tally.columns))
    return "; ".join(parts)
