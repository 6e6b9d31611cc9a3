"""Where the files of real tasks lie: folders under one folder, called by the names of the tasks."""

from functools import cache
from pathlib import Path

from bert_finetuning.fingerprints import fingerprint, fingerprint_of_files
from bert_finetuning.known_tasks import KNOWN
from bert_finetuning.opening import open_named
from bert_finetuning.storyworld_sets import STORYWORLD
from bert_finetuning.tasks import find_task, task_files
from bert_run.errors import UserError

# What a folder's name begins with, where it is not the task's own.
STEMS = {"squad2": "squad", "conll2003": "conll"}


def folder_of(task: str, data: Path) -> Path | None:
    """The folder of a task: `data` itself or one in it, SST-2 or sst2; None if there is none.

    Files of GLUE are called alike, so there the folder's name must tell; others tell themselves.
    """
    stem = plain(STEMS.get(task, task))
    inside = sorted(path for path in data.iterdir() if path.is_dir())
    named = [folder for folder in (data, *inside) if plain(folder.name).startswith(stem)]
    if task in KNOWN and data not in named:
        named.append(data)
    return next((folder for folder in named if has_files(task, folder)), None)


def plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def has_files(task: str, folder: Path) -> bool:
    """Whether there is something to learn from and something to measure on."""
    try:
        files_of(task, folder)
    except UserError:
        return False
    return True


def files_of(task: str, folder: Path) -> list[Path]:
    """The files of both splits. Raises `UserError` where one is missing."""
    if task in KNOWN:
        return [Path(KNOWN[task].source(split, folder)) for split in ("train", "dev")]
    return [path for split in ("train", "dev")
            for path in task_files(find_task(task), folder, split)]  # fmt: skip


def content_of(task: str, folder: Path | None) -> str | None:
    """A fingerprint of what a task's examples come from; None for datasets of the Hub, which are
    not read for it."""
    if task in STORYWORLD:
        return content_of_storyworld(task)
    return None if folder is None else fingerprint_of_files(files_of(task, folder))


@cache
def content_of_storyworld(task: str) -> str:
    """It takes seconds, and is the same for every run of a task."""
    data = open_named(task)
    return fingerprint([*data.train, *data.dev])


def names_of_files(task: str) -> str:
    """What a folder must hold, in words."""
    if task in KNOWN:
        return f"{KNOWN[task].train[0]} and {KNOWN[task].dev[0]}"
    return f"a folder {task} with train.tsv and {find_task(task).dev}.tsv"
