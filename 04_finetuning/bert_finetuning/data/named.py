"""Tasks by name: those of GLUE (Wang et al. 2018), with their files, columns, labels and metrics;
and others, how their files are called where they are given out, and where the Hub keeps them.
The tables are in `named.json`.

`read_glue("rte", "glue_data/RTE", "train")` reads them as https://gluebenchmark.com gives them out.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bert_corpus.documents import PACKED
from bert_finetuning.data.rows import Columns, Expected
from bert_finetuning.data.sources import at_least_one, lines_of, split_tsv, table_rows
from bert_finetuning.tasks.base import Task
from bert_finetuning.tasks.classification import Classification, TextExample
from bert_finetuning.tasks.regression import Regression
from bert_run.errors import UserError

COLA_COLUMNS = ("source", "label", "mark", "sentence")  # its files begin without a line of names


@dataclass(frozen=True)
class GlueTask:
    """One task: what its columns are called, what its labels mean, how it is measured.

    The files say 0, 1, … or the labels' names; labels stand here in the order of their numbers on
    the Hub. One label, "score": a number is to be predicted.
    """

    name: str
    columns: Columns
    labels: tuple[str, ...]
    metrics: tuple[str, ...]  # names in `metrics.METRICS`; the first chooses between runs
    hub_config: str
    dev: str = "dev"  # MNLI has two, of the kinds of text that train has, and of others

    @property
    def task_type(self) -> type[Task]:
        return Regression if len(self.labels) == 1 else Classification

    def hub_name(self, split: str) -> str:
        """Where the Hub keeps a split, as `ID:CONFIG@SPLIT`."""
        names = {"train": "train", "dev": "validation", "test": "test"}
        part = "" if split == "train" else self.dev.removeprefix("dev")
        return f"nyu-mll/glue:{self.hub_config}@{names[split]}{part}"


NAMED = json.loads(Path(__file__).with_name("named.json").read_text("utf-8"))

GLUE = {
    name: GlueTask(
        name,
        Columns(*each["columns"]),
        tuple(each["labels"]),
        tuple(each["metrics"]),
        each["hub_config"],
        each.get("dev", "dev"),
    )
    for name, each in NAMED["glue"].items()
}

# CoLA as its authors give it out, where dev is in two parts: GLUE's dev.tsv is both, one after the
# other.
AUTHORS_FILES = {
    ("cola", "train"): ("in_domain_train.tsv",),
    ("cola", "dev"): ("in_domain_dev.tsv", "out_of_domain_dev.tsv"),
}


def find_glue(name: str) -> GlueTask:
    """A task by its name, however it is written: "SST-2", "sst2"."""
    plain = {key.replace("-", ""): task for key, task in GLUE.items()}
    try:
        return plain[name.lower().replace("-", "").replace("_", "")]
    except KeyError:
        raise UserError(f"there is no GLUE task {name!r}: choose {', '.join(GLUE)}") from None


def glue_files(task: GlueTask, folder: str | Path, split: str) -> list[Path]:
    """The file of a split, plain or packed, under GLUE's name or its authors'."""
    if split not in ("train", "dev", "test"):
        raise UserError(f"split {split!r}: choose train, dev or test")
    name = f"{split}{task.dev.removeprefix('dev') if split != 'train' else ''}.tsv"
    choices = [(name,), *filter(None, [AUTHORS_FILES.get((task.name, split))])]
    return first_files(Path(folder).expanduser(), choices, f"{name} of {task.name}")


def first_files(folder: Path, choices: Sequence[Sequence[str]], what: str) -> list[Path]:
    """The first choice of files that the folder holds all of, plain or packed."""
    for names in choices:
        ends = [[end for end in ("", *PACKED) if (folder / f"{name}{end}").is_file()]
                for name in names]  # fmt: skip
        if all(ends):
            return [folder / f"{name}{own[0]}" for name, own in zip(names, ends, strict=True)]
    raise UserError(holds_no(folder, what))


def holds_no(folder: Path, what: str) -> str:
    there = ", ".join(sorted(path.name for path in folder.glob("*"))[:10])
    return f"{folder} holds no {what}: it holds {there or 'nothing'}"


def read_glue(task: GlueTask | str, folder: str | Path, split: str) -> Iterator[TextExample]:
    """The examples of one split, one by one; those of `test` have no labels."""
    task = find_glue(task) if isinstance(task, str) else task
    for path in glue_files(task, folder, split):
        expected = Expected(task.columns, task.labels, labelled=split != "test")
        header = COLA_COLUMNS if task.name == "cola" and split != "test" else None
        # QQP is known to hold a few broken lines, which everyone passes over.
        rows = table_rows(str(path), split_tsv(lines_of(path)), header=header,
                          skip_short=task.name == "qqp")  # fmt: skip
        yield from at_least_one(task.task_type.parse(rows, expected), path)


# --- Others --------------------------------------------------------------------------------------


def no_test_set() -> UserError:
    return UserError(
        "--test own: this task gives out no test set with labels: name a FILE, --test FILE"
    )


@dataclass(frozen=True)
class KnownTask:
    """The files of each split by their usual names, the first that is there counts; names on the
    Hub. `test` is among them where its labels are public."""

    format: str
    files: dict[str, list[str]]
    hub: dict[str, str]

    def source(self, split: str, folder: Path | None) -> str:
        """Where the examples of train, dev or test are: a file in the folder, or on the Hub."""
        if split not in self.files:
            raise no_test_set()
        if folder is None:
            return self.hub[split]
        names = self.files[split]
        return str(first_files(folder, [(name,) for name in names], " or ".join(names))[0])


KNOWN = {name: KnownTask(**each) for name, each in NAMED["known"].items()}
