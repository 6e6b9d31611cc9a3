"""A run's folder: checkpoints written in one piece, checked when read, resumed by themselves.

runs/demo/                      is itself a `transformers` folder: the newest checkpoint
    config.json  model.safetensors  tokenizer.json  vocab.txt  tokenizer_config.json
    run.json                    the settings of the run
    metrics.jsonl  curve.png
    best/                       the model whose held-out loss was lowest, another such folder
    checkpoints/step-00000500/  the same files, metrics.jsonl as of that step, and
        training_state.safetensors   the optimizer's moments
        manifest.json                the step, the size and the SHA-256 of every file
"""

import contextlib
import itertools
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from bert_run.config import BertConfig, Weights
from bert_run.errors import Diverged, UserError, read_record, shown, wrong_field
from bert_run.files import (
    clear_leftovers,
    folder_in_one_piece,
    hold,
    keep_others,
    publish,
    remove_in_one_piece,
    sha256,
    write_atomically,
)
from bert_run.weights import load_weights, read_safetensors

STATE_FILE = "training_state.safetensors"
MANIFEST_FILE = "manifest.json"
RECORD_FILE = "run.json"
LOCK_FILE = ".lock"
STEP_FOLDER = re.compile("step-[0-9]{8}")
FACTS = "found"  # in `run.json`: what is no setting, such as the fingerprints of the data
METRICS_FILE = "metrics.jsonl"
NO_RESULTS = {RECORD_FILE, METRICS_FILE, "data"}  # see `RunFolder.has_begun`


@dataclass(frozen=True)
class Checkpoint:
    """Everything that training needs to go on after `step` steps, in a folder of its own."""

    step: int
    folder: Path

    def weights(self, config: BertConfig) -> Weights:
        return load_weights(self.folder, config)

    def training_state(self) -> Weights:
        return read_safetensors(self.folder / STATE_FILE)


class RunFolder:
    """The folder of one training run."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.checkpoints = self.path / "checkpoints"
        self.lock: BinaryIO | None = None
        self.facts: dict = {}  # what `run.json` says apart from settings

    def claim(self, settings: dict, *, unless_said: dict | None = None) -> bool:
        """Make the folder this run's own, or check that it already is; True if nothing is done yet.

        It is held until `release`, so that two calls never write to one folder.
        `settings` are what must not change between calls that continue one run, and `unless_said`
        the values of those that an older run did not have yet. A run that has produced nothing yet
        may be called with other settings. Raises `UserError` when the folder belongs to a run with
        other settings, or is no run's folder.
        """
        if not self.record.exists():
            self.refuse_a_folder_in_use()
        self.made = [p for p in (self.path, *self.path.parents) if not p.exists()]
        self.path.mkdir(parents=True, exist_ok=True)
        self.found = {path.name for path in self.path.iterdir()}
        self.hold()
        try:
            earlier = self.read_settings()
            differing = self.differing(earlier, settings, unless_said or {})
            is_new = not self.has_begun()
            if differing and not (is_new and earlier.keys() <= settings.keys()):
                name, before, now = differing
                raise UserError(
                    f"{self.path} holds a run with {name} {shown(before)}, now it is {shown(now)}: "
                    "choose another --out, or remove that folder"
                )
            if differing or not earlier:
                self.facts = {}
                self.write_record(settings)
        except BaseException:
            self.give_up()
            raise
        return is_new

    @property
    def record(self) -> Path:
        return self.path / RECORD_FILE

    def read_settings(self) -> dict:
        """What `run.json` says, nothing if there is none; `facts` are taken out of it."""
        if not self.record.exists():
            return {}
        earlier = read_record(self.record, {}, {FACTS: dict}, way_out="choose another --out")
        self.facts = earlier.pop(FACTS, None) or {}
        if not earlier:
            raise UserError(f"{self.record} is damaged (it has no settings): choose another --out")
        return earlier

    def write_record(self, settings: dict) -> None:
        content = {**settings, **({FACTS: self.facts} if self.facts else {})}
        write_atomically(self.record, json.dumps(content, indent=2) + "\n")

    def note(self, facts: dict) -> None:
        """Add to `run.json` what was found out after the folder was claimed."""
        if self.facts != facts:
            earlier = self.read_settings()
            self.facts = facts
            self.write_record(earlier)

    @staticmethod
    def differing(earlier: dict, settings: dict, unless_said: dict) -> tuple | None:
        """The first setting that has changed, with its value before and now."""
        before = {**unless_said, **earlier} if earlier else settings
        for name in {**settings, **before}:
            if before.get(name) != settings.get(name):
                return name, before.get(name), settings.get(name)
        return None

    def refuse_a_folder_in_use(self) -> None:
        if self.path.is_file():
            raise UserError(f"{self.path} is a file: choose another --out")
        if self.path.is_dir() and any(not p.name.startswith(".") for p in self.path.iterdir()):
            raise UserError(
                f"{self.path} is not empty and holds no run: choose another --out, lest its files "
                "be written over"
            )

    def has_begun(self) -> bool:
        """Whether the run has produced anything that another run must not write over: any file but
        the record, the prepared data, which can be checked, and measurements without a model."""
        for folder, below, names in os.walk(self.path):
            ignored = NO_RESULTS if Path(folder) == self.path else {METRICS_FILE}
            below[:] = [n for n in below if not n.startswith(".") and n not in ignored]
            if any(n not in ignored and not n.startswith(".") for n in names):
                return True
        return False

    def hold(self) -> None:
        """Raise `UserError` if another process works on this run."""
        self.lock = hold(self.path / LOCK_FILE)
        if self.lock is None:
            raise UserError(
                f"{self.path}: another process is working on this run: wait for it or stop it "
                "(torchrun, killed alone, leaves its processes behind)"
            )

    def release(self) -> None:
        if self.lock is not None:
            self.lock.close()
            self.lock = None

    def give_up(self) -> None:
        """Take back the claim of a new run that came to nothing: what `claim` made goes, and
        nothing else. If anything has been prepared since, it stays, and the claim with it."""
        with contextlib.suppress(OSError):  # it is absent, or it holds something
            (self.path / "data").rmdir()
        own = {RECORD_FILE, LOCK_FILE} - self.found
        if {path.name for path in self.path.iterdir()} <= self.found | own:
            for name in own:
                (self.path / name).unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # somebody has put something into it
                for folder in self.made:
                    folder.rmdir()
        self.release()

    def save(self, step: int, write: Callable[[Path], None], *, keep: int = 2) -> Path:
        """Keep what `write` puts into the folder that it is given as the checkpoint of `step`.

        It appears in one piece, becomes the run folder's newest, and all but the newest `keep` go.
        The measurements so far are kept with it: a run that has lost them could not tell which of
        its models was the best.
        """
        folder, metrics = self.checkpoints / f"step-{step:08d}", self.path / METRICS_FILE
        with folder_in_one_piece(folder) as beside:
            write(beside)
            if metrics.is_file():
                write_atomically(beside / METRICS_FILE, metrics.read_bytes())
            files = {p.name: {"bytes": p.stat().st_size, "sha256": sha256(p)}
                     for p in sorted(beside.iterdir())}  # fmt: skip
            manifest = {"step": step, "files": files}
            write_atomically(beside / MANIFEST_FILE, json.dumps(manifest, indent=2) + "\n")
            keep_others(folder, beside)
        self.make_newest(folder)
        for old in self.checkpoint_folders()[:-keep]:
            remove_checkpoint(old)
        return folder

    def save_best(self, write: Callable[[Path], None]) -> None:
        """Keep what `write` puts into the folder that it is given as the best model so far."""
        with folder_in_one_piece(self.path / "best") as beside:
            write(beside)
            keep_others(self.path / "best", beside)

    def remove_checkpoints(self) -> None:
        """Remove the checkpoints of a run that is over, and their folder if it is empty then."""
        for folder in (*self.checkpoint_folders(), *self.checkpoints.glob("damaged-step-[0-9]*")):
            remove_checkpoint(folder)
        with contextlib.suppress(OSError):
            self.checkpoints.rmdir()

    def make_newest(self, folder: Path) -> None:
        """Make a checkpoint's files those of the run's folder, which `transformers` opens."""
        for name in sorted({Path(n).name for n in read_manifest(folder)["files"]} - {METRICS_FILE}):
            if name.endswith(".safetensors"):
                if name != STATE_FILE:
                    publish(folder / name, self.path / name)
            else:  # a copy, so that somebody who edits it leaves the checkpoint whole
                write_atomically(self.path / name, (folder / name).read_bytes())

    def checkpoint_folders(self) -> list[Path]:
        """Complete checkpoints, oldest first; what a crash left half-written has another name."""
        folders = self.checkpoints.glob("step-*")
        return sorted(path for path in folders if STEP_FOLDER.fullmatch(path.name))

    def resume(self) -> Checkpoint | None:
        """The newest checkpoint that is whole, or None when there is none yet.

        A damaged one is named on standard error and set aside, and the one before it is used. The
        run's folder shows what is resumed, also when the last call was killed before it did.
        """
        clear_leftovers(self.checkpoints)
        clear_leftovers(self.path)
        folders = self.checkpoint_folders()
        while folders:
            folder = folders.pop()
            damage = find_damage(folder)
            if damage is None:
                self.make_newest(folder)
                self.restore_metrics(folder)
                return Checkpoint(step_of(folder), folder)
            aside = free_name(folder.with_name(f"damaged-{folder.name}"))
            folder.rename(aside)
            instead = "the one before it is used" if folders else self.start_anew()
            print(
                f"warning: checkpoint {folder} is damaged ({damage}): it was renamed {aside.name}, "
                f"and {instead}",
                file=sys.stderr,
            )
        return None

    def restore_metrics(self, folder: Path) -> None:
        """Give the run back what a checkpoint knows to have been measured, if it is lost."""
        saved, path = folder / METRICS_FILE, self.path / METRICS_FILE
        measured = saved.read_bytes() if saved.exists() else b""  # none in older checkpoints
        if not (path.is_file() and path.read_bytes().startswith(measured)) and measured:
            print(f"warning: {path} has lost measurements or was edited: it is restored from "
                  f"{folder}", file=sys.stderr)  # fmt: skip
            write_atomically(path, measured)

    def start_anew(self) -> str:
        """Set the measurements of a run aside that has lost all its checkpoints; says so."""
        said = "as there is none before it, training starts again at step 0"
        metrics = self.path / METRICS_FILE
        if not metrics.exists():
            return said
        aside = metrics.rename(free_name(self.path / f"damaged-{METRICS_FILE}"))
        return f"{said}; the measurements so far were renamed {aside.name}"

    def newest(self) -> Checkpoint | None:
        """What `resume` has just settled on, for the other processes of the same run."""
        folders = self.checkpoint_folders()
        return Checkpoint(step_of(folders[-1]), folders[-1]) if folders else None


def remove_checkpoint(folder: Path) -> None:
    """Remove a checkpoint; one that holds anything that it was not saved with stays."""
    try:
        saved = set(read_manifest(folder)["files"]) | {MANIFEST_FILE}
    except UserError:
        return
    if {path.name for path in folder.iterdir()} <= saved:
        remove_in_one_piece(folder)


def free_name(path: Path) -> Path:
    """The path itself, or with the first number after its name under which nothing stands."""
    names = (path.with_name(f"{path.name}-{number}") for number in itertools.count(2))
    return next(p for p in itertools.chain([path], names) if not p.exists())


def read_manifest(folder: Path) -> dict:
    """The manifest of a checkpoint: its step, and the size and the SHA-256 of every file."""
    path = folder / MANIFEST_FILE
    manifest = read_record(path, {"step": int, "files": dict}, way_out="it is damaged")
    if not manifest["files"]:
        raise UserError(f"{path} is damaged")
    for entry in manifest["files"].values():
        if not isinstance(entry, dict) or wrong_field(entry, {"bytes": int, "sha256": str}, {}):
            raise UserError(f"{path} is damaged")
    return manifest


def step_of(folder: Path) -> int:
    return int(folder.name.removeprefix("step-"))


def find_damage(folder: Path) -> str | None:
    """What is wrong with a checkpoint, in words, or None when every file is as it was written."""
    try:
        manifest = read_manifest(folder)
    except UserError:
        return f"{MANIFEST_FILE} is missing or unreadable"
    step = manifest["step"]
    if step != step_of(folder):
        return f"{MANIFEST_FILE} says step {step}"
    for name, entry in manifest["files"].items():
        path = folder / Path(name).name
        if not path.is_file():
            return f"{name} is missing"
        if path.stat().st_size != entry["bytes"] or sha256(path) != entry["sha256"]:
            return f"{name} is not as it was written"
    return None


NOTE_FILE = "diverged.txt"


@contextmanager
def divergence_noted(folder: RunFolder, *, leads: bool = True) -> Iterator[None]:
    """Complete the message of a run that diverges in here, and repeat it when the run is called
    again. Of several processes, the one that leads writes."""
    note = folder.path / NOTE_FILE
    if leads and note.exists():
        print(f"note        an earlier call stopped here: {note.read_text('utf-8').strip()}; this "
              "one takes the same steps again", file=sys.stderr)  # fmt: skip
    try:
        yield
    except Diverged as error:
        if leads:
            write_atomically(note, f"{error}\n")
        newest = folder.newest()
        kept = f"the checkpoint of step {newest.step:,} is kept" if newest else "nothing is saved"
        raise UserError(f"{folder.path}: {error} ({kept})") from None
    if leads:
        note.unlink(missing_ok=True)


# The folder of `make demo`, whose model the notebooks of the later chapters open.


DEMO = Path("runs/demo")


def demo_folder(start: Path = Path()) -> Path:
    """The folder that `make demo` left, seen from `start`: the repository or a chapter in it.

    Raises `UserError` if there is none, or if the demo was stopped before its end: `summary.json`
    is the last file that it writes.
    """
    for folder in (start / DEMO, start / ".." / DEMO):
        if (folder / "summary.json").is_file():
            return folder
    raise UserError(
        f"{DEMO} holds no model that was trained to the end: run `make demo` first "
        "(without make: python -m bert_paper.demo), about five minutes"
    )
