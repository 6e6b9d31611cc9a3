"""Tasks by name beside GLUE: how their files are called where they are given out, and where the
Hub keeps them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bert_corpus.text_files import PACKED
from bert_run.errors import UserError


@dataclass(frozen=True)
class KnownTask:
    """Files by the names that are usual, the first one that is there counts; names on the Hub."""

    format: str
    train: tuple[str, ...]
    dev: tuple[str, ...]
    hub: tuple[str, str]  # train and dev

    def source(self, split: str, folder: Path | None) -> str:
        """Where the examples of `train` or `dev` are: a file in the folder, or on the Hub."""
        if folder is None:
            return self.hub[split == "dev"]
        return str(first_file(folder, self.train if split == "train" else self.dev))


KNOWN = {
    "squad": KnownTask(
        "questions", ("train-v1.1.json",), ("dev-v1.1.json",),
        ("rajpurkar/squad@train", "rajpurkar/squad@validation"),
    ),
    "squad2": KnownTask(
        "questions", ("train-v2.0.json",), ("dev-v2.0.json",),
        ("rajpurkar/squad_v2@train", "rajpurkar/squad_v2@validation"),
    ),
    "conll2003": KnownTask(
        "tags", ("eng.train", "train.txt", "train.conll"),
        ("eng.testa", "valid.txt", "dev.txt", "dev.conll"),
        ("lhoestq/conll2003@train", "lhoestq/conll2003@validation"),
    ),
    "wnut17": KnownTask(
        "tags", ("wnut17train.conll", "train.conll"), ("emerging.dev.conll", "dev.conll"),
        ("manu/wnut_17@train", "manu/wnut_17@validation"),
    ),
    "pos": KnownTask(
        "tags", ("en_ewt-ud-train.conllu",), ("en_ewt-ud-dev.conllu",),
        ("universal-dependencies/universal_dependencies:en_ewt@train",
         "universal-dependencies/universal_dependencies:en_ewt@validation"),
    ),
    "swag": KnownTask(
        "choices", ("train.csv",), ("val.csv",),
        ("allenai/swag:regular@train", "allenai/swag:regular@validation"),
    ),
}  # fmt: skip


def first_file(folder: Path, names: Sequence[str]) -> Path:
    """The first of the names that the folder holds, plain or packed."""
    for name in names:
        for end in ("", *PACKED):
            if (path := folder / f"{name}{end}").is_file():
                return path
    there = ", ".join(sorted(path.name for path in folder.glob("*"))[:10])
    raise UserError(f"{folder} holds no {' or '.join(names)}: it holds {there or 'nothing'}")
