"""Tasks by name: those of GLUE (Wang et al. 2018) and others. `named.json` is their table: how
their files are called where they are given out, and where the Hub keeps them.

`read_glue("rte", "glue_data/RTE", "train")` reads them as https://gluebenchmark.com gives them out.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bert_corpus.documents import PACKED
from bert_finetuning.data.rows import (
    Columns,
    Expected,
    at_least_one,
    lines_of,
    split_tsv,
    table_rows,
)
from bert_finetuning.data.storyworld import STORYWORLD
from bert_finetuning.tasks import TASKS
from bert_finetuning.tasks.classification import TextExample
from bert_run.errors import UserError

COLA_COLUMNS = ("source", "label", "mark", "sentence")  # its files begin without a line of names


@dataclass(frozen=True)
class NamedTask:
    """One task. Only those of GLUE say here what their columns and labels are.

    The files of GLUE say 0, 1, … or the labels' names; labels stand here in the order of their
    numbers on the Hub. One label, "score": a number is to be predicted.
    """

    name: str
    format: str
    files: dict[str, list[list[str]]]  # of each split: what may lie there, the first that does
    hub: dict[str, str]  # of each split, as ID:CONFIG@SPLIT
    columns: tuple[str, str | None, str] | None = None  # of the text, of a second one, of the label
    labels: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()  # names in `metrics.METRICS`; the first chooses between runs
    asks: str = ""  # what a label answers

    def paths(self, folder: Path, split: str) -> list[Path]:
        """The files of a split in a folder; dev of CoLA is in two parts where its authors give it
        out, and GLUE's dev.tsv is both."""
        names = " or ".join(" and ".join(choice) for choice in self.files[split])
        return first_files(folder.expanduser(), self.files[split], f"{names} of {self.name}")

    def source(self, split: str, folder: Path | None) -> str:
        """Where the examples of a split are: a file in the folder, or on the Hub."""
        if split not in self.hub:
            raise no_test_set()
        return self.hub[split] if folder is None else str(self.paths(folder, split)[0])


def tasks_of(group: str) -> dict[str, NamedTask]:
    table = json.loads(Path(__file__).with_name("named.json").read_text("utf-8"))[group]
    lists = ("columns", "labels", "metrics")
    return {
        name: NamedTask(name, **{key: tuple(value) if key in lists else value
                                 for key, value in fields.items()})
        for name, fields in table.items()
    }  # fmt: skip


GLUE, KNOWN = tasks_of("glue"), tasks_of("known")


def find_glue(name: str) -> NamedTask:
    """A task by its name, however it is written: "SST-2", "sst2"."""
    plain = {key.replace("-", ""): task for key, task in GLUE.items()}
    try:
        return plain[name.lower().replace("-", "").replace("_", "")]
    except KeyError:
        names = ", ".join((*STORYWORLD, *GLUE, *KNOWN))
        raise UserError(f"there is no task {name!r}: choose {names}") from None


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


def read_glue(task: NamedTask | str, folder: str | Path, split: str) -> Iterator[TextExample]:
    """The examples of one split, one by one; those of `test` have no labels."""
    task = find_glue(task) if isinstance(task, str) else task
    if split not in task.files:
        raise UserError(f"split {split!r}: choose train, dev or test")
    for path in task.paths(Path(folder), split):
        expected = Expected(Columns(*task.columns), task.labels, labelled=split != "test")
        header = COLA_COLUMNS if task.name == "cola" and split != "test" else None
        # QQP is known to hold a few broken lines, which everyone passes over.
        rows = table_rows(str(path), split_tsv(lines_of(path)), header=header,
                          skip_short=task.name == "qqp")  # fmt: skip
        yield from at_least_one(TASKS[task.format].parse(rows, expected), path)


def no_test_set() -> UserError:
    return UserError(
        "--test own: this task gives out no test set with labels: name a FILE, --test FILE"
    )
