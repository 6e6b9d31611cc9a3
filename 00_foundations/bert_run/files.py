"""Files that are never half-written, a run's folder and its card, checked records, lines of text.

What is written stands beside its place first, is flushed to the disk, and is then renamed.

runs/demo/                      is itself a `transformers` folder: the newest checkpoint
    config.json  model.safetensors  tokenizer.json  vocab.txt  tokenizer_config.json
    run.json                    the settings of the run
    metrics.jsonl  curve.png
    best/                       the model whose held-out loss was lowest, another such folder
    checkpoints/step-00000500/  the same files, metrics.jsonl as of that step, and
        training_state.safetensors   the optimizer's moments
        manifest.json                the step, the size and the SHA-256 of every file
"""

import bz2
import contextlib
import errno
import gzip
import hashlib
import io
import itertools
import json
import lzma
import math
import os
import re
import shlex
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from bert_run.errors import Diverged, UserError, option, shown, tell


def flush_to_disk(path: Path) -> None:
    """Ask the system to put a file, or a folder's list of names, on the disk itself."""
    if path.is_dir() and os.name == "nt":
        return  # Windows cannot open a folder for this, and does not need it
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def named_where_full(path: Path) -> Iterator[None]:
    """Name the file that cannot grow: an error of a file that is open does not."""
    try:
        yield
    except OSError as error:
        if " requested and " in str(error):  # NumPy's words; it does not say why
            raise UserError(f"{path} could not be written whole ({error}): free some space, or "
                            "raise the limit of a file's size (ulimit -f)") from None  # fmt: skip
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) and not error.filename:
            error.filename = str(path)
        raise


@contextmanager
def write_whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write bytes to; `path` holds what it held before until all of them are there."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with named_where_full(path):
            with open(beside, "wb") as file:
                yield file
            flush_to_disk(beside)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write `content` so that `path` holds either what it held before or all of it."""
    if isinstance(content, str):  # it may name a file whose name is not UTF-8
        content = content.encode("utf-8", "backslashreplace")
    with write_whole(path) as file:
        file.write(content)


@contextmanager
def folder_in_one_piece(folder: Path) -> Iterator[Path]:
    """A folder to fill: when all went well it replaces `folder`, or what that is a link to."""
    folder = folder.resolve()
    beside = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    try:
        yield beside
        for path in beside.iterdir():
            flush_to_disk(path)
        put_in_place(beside, folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def put_in_place(beside: Path, folder: Path) -> None:
    """Replace `folder` by one whose files are on the disk."""
    flush_to_disk(beside)
    aside = folder.with_name(f".{folder.name}.{os.getpid()}.before.part")
    if folder.exists():
        shutil.rmtree(aside, ignore_errors=True)
        os.replace(folder, aside)
    os.replace(beside, folder)
    flush_to_disk(folder.parent)
    if aside.exists():
        remove(aside)


def remove_in_one_piece(folder: Path) -> None:
    """Remove a folder, or the link to one; whoever looks sees all of it or nothing."""
    aside = folder.with_name(f".{folder.name}.{os.getpid()}.old.part")
    os.replace(folder, aside)
    remove(aside)


def remove(path: Path) -> None:
    """Remove a file, a link, or a folder with all that is in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink()


LEFTOVER = re.compile(r"\.(?P<name>.+?)\.\d+(\.old|(?P<before>\.before))?\.part")


def clear_leftovers(folder: Path, name: str | None = None) -> None:
    """Remove what the functions above left in `folder` when their process was killed, all of it or
    that of `name`; what was to be replaced goes back. Nobody else may be writing there."""
    for path in folder.iterdir() if folder.is_dir() else ():
        match = LEFTOVER.fullmatch(path.name)
        if match and name in (None, match["name"]):
            if match["before"] and not (folder / match["name"]).exists():
                os.replace(path, folder / match["name"])  # killed before the new one was there
            else:
                remove(path)


def publish(source: str | Path, target: str | Path) -> None:
    """Make `target` a copy of `source` in one step. A link would cost no space, but whoever writes
    to one of the two files would change both."""
    with write_whole(Path(target)) as copy, open(source, "rb") as file:
        shutil.copyfileobj(file, copy, 1 << 20)


def keep_others(old: Path, new: Path) -> None:
    """Put what somebody else has added to a folder also into the one that will replace it."""
    if old.is_dir():
        written = [path.name for path in new.iterdir()]
        shutil.copytree(old, new, symlinks=True, dirs_exist_ok=True,
                        ignore=lambda at, _: written if Path(at) == old else [])  # fmt: skip


def hold(path: Path) -> BinaryIO | None:
    """Lock a file until it is closed or this process ends, however it ends; None if another
    process holds it. Where the system has no such locks, nothing is locked."""
    file = open(path, "ab")  # noqa: SIM115 - it stays open as long as the lock is held
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    except (ImportError, OSError):
        pass  # Windows, or a network drive without locks
    return file


@contextmanager
def held_alone(folder: Path) -> Iterator[None]:
    """Keep other processes from building a folder; what killed ones have left beside it goes."""
    path = folder.with_name(f".{folder.name}.lock")  # hidden: poetry.lock is somebody's
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = hold(path)
    if lock is None:
        raise UserError(f"{folder}: another process is building it; call again when it is done")
    try:
        clear_leftovers(folder.parent, folder.name)
        yield
    finally:
        lock.close()
        path.unlink(missing_ok=True)


def sha256(path: Path) -> str:
    """The file's fingerprint, read in pieces of one megabyte."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def refuse_pipe(path: Path, name: str) -> None:
    """Raise `UserError` for a pipe or a device in the place of a file that is read twice."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UserError(f"{name}: is not a plain file (a pipe or a device), and it is read more "
                        "than once: write the text to a file first")  # fmt: skip


# Records: JSON files, which people edit and full disks cut short, checked before they are used.

TYPES_OF_JSON = {dict: "an object", list: "a list", str: "text", int: "a whole number",
                 float: "a number", bool: "true or false"}  # fmt: skip


def read_record(
    path: Path, required: Mapping[str, type] | None = None,
    optional: Mapping[str, type] | None = None, *, way_out: str,
) -> dict[str, Any]:  # fmt: skip
    """The JSON object of a file, with all `required` fields, each value of its type; those of
    `optional` may be absent or null. `way_out` ends the `UserError` for a file that is damaged."""
    try:
        problem, record = parse_object(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"there is no {path}: {way_out}") from None
    problem = problem or wrong_field(record, required or {}, optional or {})
    if problem:
        raise UserError(f"{path} is damaged ({problem}): {way_out}")
    return record


def parse_object(content: bytes) -> tuple[str | None, dict[str, Any]]:
    """What is wrong with the text of a JSON object, or None, and the object."""
    try:
        value = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, or nested too deep
        return f"not JSON: {error}", {}
    if not isinstance(value, dict):
        return f"{shown(value)} where an object is expected", {}
    return None, value


def parse_strictly(text: str, **options: Any) -> Any:
    """`json.loads`; raises `json.JSONDecodeError` for NaN, Infinity and 1e999, too."""

    def finite(word: str) -> float:
        if math.isfinite(number := float(word)):
            return number
        what = "too large a number" if word[-1].isdigit() else "no value of JSON: write null"
        found = re.finditer(r'"(?:[^"\\]|\\.)*"|-?(?:NaN|Infinity|\d[\d.eE+-]*)', text)
        place = next((each.start() for each in found if each[0] == word), 0)  # not within a text
        raise json.JSONDecodeError(f"{word} is {what}", text, place)

    return json.loads(text, parse_constant=finite, parse_float=finite, **options)


def wrong_field(record: Mapping[str, Any], required: Mapping[str, type],
                optional: Mapping[str, type]) -> str | None:  # fmt: skip
    """The first field that is missing or holds a value of another type, in words; None if none."""
    if missing := [name for name in required if name not in record]:
        return f"it has no {missing[0]!r}"
    for name, kind in {**optional, **required}.items():
        value = record.get(name)
        if (value is not None or name in required) and not is_of(kind, value):
            return f"{name!r} is {shown(value)}, not {TYPES_OF_JSON[kind]}"
    return None


def is_of(kind: type, value: Any) -> bool:
    """Whether a value has a type. An int may be a float; bools, NaN and huge ints are neither."""
    if isinstance(value, float) and not math.isfinite(value):
        return False
    if isinstance(value, bool):
        return kind is bool
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return False
    return isinstance(value, (int, float) if kind is float else kind)


# A run's folder: checkpoints that are checked when they are read, and resumed.

STATE_FILE = "training_state.safetensors"
MANIFEST_FILE = "manifest.json"
RECORD_FILE = "run.json"
LOCK_FILE = ".lock"
RESULTS = ("*.safetensors", MANIFEST_FILE, "config.json", "result.json", "curve.png")
FACTS = "found"  # in `run.json`: what is no setting, such as the fingerprints of the data
METRICS_FILE = "metrics.jsonl"


@dataclass(frozen=True)
class Checkpoint:
    """Everything that training needs to go on after `step` steps, in a folder of its own."""

    step: int
    folder: Path


class RunFolder:
    """The folder of one training run."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.checkpoints = self.path / "checkpoints"
        self.record, self.metrics = self.path / RECORD_FILE, self.path / METRICS_FILE
        self.lock: BinaryIO | None = None
        self.facts: dict = {}  # what `run.json` says apart from settings

    def claim(self, settings: dict, *, unless_said: dict | None = None) -> bool:
        """Make the folder this run's own, or check that it already is; True if nothing is done yet.

        It is held until `release`, so that two calls never write to one folder. Raises `UserError`
        when the folder is no run's, or that of a run that has produced something with other
        `settings`; `unless_said` are the values of those that an older run did not have.
        """
        visible = [p for p in self.path.glob("*") if not p.name.startswith(".")]
        if visible and not self.record.exists():
            raise UserError(f"{self.path} is not empty and holds no run: choose another --out, "
                            "lest its files be written over")  # fmt: skip
        self.made = [p for p in (self.path, *self.path.parents) if not p.exists()]
        self.path.mkdir(parents=True, exist_ok=True)
        self.found = {path.name for path in self.path.iterdir()}
        self.lock = hold(self.path / LOCK_FILE)
        if self.lock is None:
            raise UserError(f"{self.path}: another process is working on this run: wait for it or "
                            "stop it (torchrun, if killed, leaves its processes)")  # fmt: skip
        try:
            earlier = self.read_settings()
            before = {**(unless_said or {}), **earlier} if earlier else settings
            names = {**settings, **before}
            differing = [name for name in names if before.get(name) != settings.get(name)]
            is_new = not self.has_begun()
            if differing and not (is_new and earlier.keys() <= settings.keys()):
                was, now = (shown(said.get(differing[0])) for said in (before, settings))
                raise UserError(f"{self.path} holds a run with {differing[0]} {was}, now it is "
                                f"{now}: choose another --out, or remove that folder")  # fmt: skip
            if differing or not earlier:
                self.write_record(settings, {})
        except BaseException:
            self.give_up()
            raise
        return is_new

    def read_settings(self) -> dict:
        """What `run.json` says; `facts` are taken out of it."""
        if not self.record.exists():
            return {}
        earlier = read_record(self.record, {}, {FACTS: dict}, way_out="choose another --out")
        self.facts = earlier.pop(FACTS, None) or {}
        if not earlier:
            raise UserError(f"{self.record} is damaged (it has no settings): choose another --out")
        return earlier

    def write_record(self, settings: dict, facts: dict) -> None:
        self.facts = facts
        content = {**settings, **({FACTS: facts} if facts else {})}
        write_atomically(self.record, json.dumps(content, indent=2) + "\n")

    def note(self, facts: dict) -> None:
        """Add to `run.json` what was found out after the folder was claimed."""
        if self.facts != facts:
            self.write_record(self.read_settings(), facts)

    def has_begun(self) -> bool:
        """Whether a model, a result or a curve is there, but in the data and in hidden folders."""
        found = [path.relative_to(self.path).parts
                 for name in RESULTS for path in self.path.rglob(name)]  # fmt: skip
        return any(parts[0] != "data" and all(p[0] != "." for p in parts) for parts in found)

    def release(self) -> None:
        if self.lock is not None:
            self.lock.close()
            self.lock = None

    def refuse_replaced(self) -> None:
        """Raise `UserError` if the folder is no longer the one that was claimed: its lock tells."""
        path = self.path / LOCK_FILE
        if self.lock is not None and not (
            path.exists() and os.path.samestat(path.stat(), os.fstat(self.lock.fileno()))
        ):
            raise UserError(f"{self.path} was removed or replaced while this run worked on it: the "
                            "run ends here, and leaves what is there as it is")  # fmt: skip

    def give_up(self) -> None:
        """Take back the claim of a new run: what `claim` made goes, unless data were prepared."""
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
        """Keep what `write` puts into the folder that it is given as the checkpoint of `step`, and
        the measurements so far. Of the checkpoints the newest `keep` stay."""
        self.refuse_replaced()
        folder = self.checkpoints / f"step-{step:08d}"
        with folder_in_one_piece(folder) as beside:
            write(beside)
            if self.metrics.is_file():
                write_atomically(beside / METRICS_FILE, self.metrics.read_bytes())
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
        self.refuse_replaced()
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
        card = self.path / "README.md"
        ours = [each.read_bytes() for each in self.checkpoints.glob("*step-*/README.md")]
        if card.is_file() and card.read_bytes() not in ours:
            tell(f"note: {card} was edited: it was renamed {set_aside(card, 'edited')}")
        names = {Path(name).name for name in read_manifest(folder)["files"]}
        ours = sorted(names - {METRICS_FILE, STATE_FILE})
        for name in ours:
            publish(folder / name, self.path / name)

    def checkpoint_folders(self) -> list[Path]:
        """Complete checkpoints, oldest first."""
        return sorted(self.checkpoints.glob("step-" + 8 * "[0-9]"))

    def resume(self) -> Checkpoint | None:
        """The newest checkpoint that is whole, whose files are those of the run's folder then; None
        if there is none. A damaged one is named and set aside. That all are gone is an error."""
        clear_leftovers(self.checkpoints)
        clear_leftovers(self.path)
        folders = self.checkpoint_folders()
        if any(self.path.glob("*.safetensors")) and not any(self.checkpoints.glob("*step-*")):
            raise UserError(f"{self.path} holds a model, but no checkpoints to go on from: put "
                            f"{self.checkpoints} back, or choose another --out")  # fmt: skip
        while folders:
            folder = folders.pop()
            damage = find_damage(folder)
            if damage is None:
                self.make_newest(folder)
                self.restore_metrics(folder)
                return Checkpoint(step_of(folder), folder)
            instead = "the one before it is used" if folders else self.start_anew()
            tell(f"warning: checkpoint {folder} is damaged ({damage}): it was renamed "
                 f"{set_aside(folder)}, and {instead}")  # fmt: skip
        if (self.path / "best").is_dir():
            tell(f"note: {self.checkpoints}: {self.start_anew()}")
        return None

    def restore_metrics(self, folder: Path) -> None:
        """Give the run back what a checkpoint knows to have been measured, if it is lost."""
        saved, path = folder / METRICS_FILE, self.metrics
        measured = saved.read_bytes() if saved.exists() else b""  # none in older checkpoints
        if not (path.read_bytes() if path.is_file() else b"").startswith(measured):
            tell(f"warning: {path} has lost lines or was edited: it is restored from {folder}")
            write_atomically(path, measured)

    def start_anew(self) -> str:
        """Set aside what a run has measured and learned that has no checkpoint left; says so."""
        paths = (self.metrics, self.path / "best", *self.path.glob("*.safetensors"))
        kept = [f"{path.name} was renamed {set_aside(path, 'earlier')}"
                for path in paths if path.exists()]  # fmt: skip
        return "; ".join(["there is none to go on from: training starts at step 0", *kept])

    def newest(self) -> Checkpoint | None:
        """What `resume` has just settled on, for the other processes of the same run."""
        folders = self.checkpoint_folders()
        return Checkpoint(step_of(folders[-1]), folders[-1]) if folders else None


def remove_checkpoint(folder: Path) -> None:
    """Remove a checkpoint; one that holds anything that it was not saved with stays."""
    with contextlib.suppress(UserError):
        saved = {*read_manifest(folder)["files"], MANIFEST_FILE}
        if {path.name for path in folder.iterdir()} <= saved:
            remove_in_one_piece(folder)


def set_aside(path: Path, what: str = "damaged") -> str:
    """Rename what is damaged or edited; returns its new name, under which nothing stands."""
    endings = itertools.chain([""], (f"-{number}" for number in itertools.count(2)))
    places = (path.with_name(f"{what}-{path.name}{ending}") for ending in endings)
    return path.rename(next(place for place in places if not place.exists())).name


def read_manifest(folder: Path) -> dict:
    """The manifest of a checkpoint: its step, and the size and the SHA-256 of every file."""
    path = folder / MANIFEST_FILE
    manifest = read_record(path, {"step": int, "files": dict}, way_out="it is damaged")
    entries, fields = manifest["files"].values(), {"bytes": int, "sha256": str}
    if not entries or any(not isinstance(e, dict) or wrong_field(e, fields, {}) for e in entries):
        raise UserError(f"{path} is damaged")
    return manifest


def step_of(folder: Path) -> int:
    return int(folder.name.removeprefix("step-"))


def find_damage(folder: Path) -> str | None:
    """What is wrong with a checkpoint, in words, or None."""
    try:
        manifest = read_manifest(folder)
    except UserError:
        return f"{MANIFEST_FILE} is missing or unreadable"
    if manifest["step"] != step_of(folder):
        return f"{MANIFEST_FILE} says step {manifest['step']}"
    for name, entry in manifest["files"].items():
        path = folder / Path(name).name
        if not path.is_file():
            return f"{name} is missing"
        if path.stat().st_size != entry["bytes"] or sha256(path) != entry["sha256"]:
            return f"{name} is not as it was written"
    return None


@contextmanager
def divergence_noted(folder: RunFolder) -> Iterator[None]:
    """Say of a run that diverges in here where it is and what is kept of it."""
    try:
        yield
    except Diverged as error:
        newest = folder.newest()
        kept = f"the checkpoint of step {newest.step:,} is kept" if newest else "nothing is saved"
        raise UserError(f"{folder.path}: {error} ({kept})") from None


DEMO = Path("runs/demo")


def demo_folder(start: Path = Path()) -> Path:
    """The folder of `make demo`, seen from `start`: the repository or a chapter in it."""
    for folder in (start / DEMO, start / ".." / DEMO):
        if (folder / "summary.json").is_file():  # the last file that the demo writes
            return folder
    raise UserError(f"{DEMO} holds no model that was trained to the end: run `make demo` first "
                    "(without make: python -m bert_paper.demo), two to five minutes")  # fmt: skip


# The model card: the `README.md` of a model's folder, whose text is in `model_card.jinja`.

# What was trained on: the key in the measurements, and the name for one and for many.
TASKS = {name: dict(zip(("key", "singular", "plural"), words, strict=True)) for name, words in {
    "masked words": ("mlm", "masked word", "masked words"),
    "next words": ("mlm", "next word", "next words, read from the left alone"),
    "nsp": ("nsp", "next sentence", "next sentences"),
    "sop": ("nsp", "order of two sentences", "the order of sentences"),
}.items()}  # fmt: skip
ENGLISH = ("storyworld", "pydocs")  # the corpora whose language is known
LINE_WIDTH = 96


def model_card(
    settings: dict[str, Any], report: dict[str, Any], measured: dict[str, float], *, name: str,
    config: Any, parameters: int, step: int, command: str,
) -> str:  # fmt: skip
    """The card of a pretrained model; `settings` are those of `run.json`, `report` of the data."""
    from jinja2 import Template

    language = {"language": "en"} if settings["corpus"] in ENGLISH else {}
    words = "next words" if settings.get("objective") == "next-words" else "masked words"
    second = settings.get("sentence_task", "nsp")
    tasks = [TASKS[name] for name in (words, second) if name != "none"]
    text = Path(__file__).with_name("model_card.jinja").read_text(encoding="utf-8")
    return Template(text, keep_trailing_newline=True).render(
        front=front_matter("text-generation" if config.is_decoder else "fill-mask", **language),
        size=size_of(config, parameters), corpus=Path(report["name"]).name, name=name,
        tasks=tasks, step=step, settings=settings, report=report, config=config, command=command,
        measured=measured, begun_from=for_others(settings.get("start_from") or ""),
    )  # fmt: skip


def front_matter(pipeline_tag: str, **more: str) -> str:
    """The lines by which the Hub sorts models. Values are plain words, without quotes in YAML."""
    fields = {"library_name": "transformers", "pipeline_tag": pipeline_tag, **more}
    lines = [f"{name}: {value}" for name, value in fields.items()]
    return "\n".join(["---", *lines, "tags:", "- bert", "---", ""])


def size_of(config: Any, parameters: int) -> str:
    return (f"A BERT of {parameters:,} parameters ({config.num_hidden_layers} layers, "
            f"{config.hidden_size} wide, {config.num_attention_heads} heads)")  # fmt: skip


def for_others(path: str | Path) -> str:
    """A path as a card shows it: of an absolute path the last part, which is all others need."""
    return Path(path).name if Path(path).is_absolute() else str(path)


def command_line(program: str, settings: dict[str, Any], defaults: dict[str, Any]) -> str:
    """The call of `program` that gives these settings: an option for each that is no default."""
    lines = [program]
    for name, value in settings.items():
        if value == defaults.get(name):
            continue
        word = f"{option(name)} {shlex.quote(for_others(str(value)))}"
        if isinstance(defaults.get(name), bool):
            word = option(name if value else f"no_{name}")
        if len(lines[-1]) + len(word) < LINE_WIDTH:
            lines[-1] += f" {word}"
        else:
            lines.append(f"    {word}")
    return " \\\n".join(lines)


# Lines of text.

JSON_LINES = (".jsonl", ".json", ".ndjson")  # endings of files
STANDARD_INPUT = "standard input"
LONGEST_LINE = 1 << 26  # bytes; more would be no text, and /dev/zero has no end
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def text_lines(path: Path | None) -> Iterator[tuple[int, str]]:
    """The number (from 1) and the text of every line of a file, plain or packed, or of standard
    input for None, as they arrive, without line ends and a byte order mark; it must be UTF-8."""
    standard = sys.stdin.buffer if sys.stdin else io.BytesIO()
    yield from LineReader(path) if path else decoded_lines(standard, STANDARD_INPUT)


def unpack_zstandard(raw: io.BufferedIOBase) -> io.BufferedIOBase:
    import pyarrow  # `datasets` brings it; unlike others, it notices a missing end

    return io.BufferedReader(pyarrow.CompressedInputStream(raw, "zstd"), 1 << 18)


PACKED = {".gz": gzip.open, ".xz": lzma.open, ".zst": unpack_zstandard, ".bz2": bz2.open}


class LineReader:
    """The lines of one file, plain or packed, again and again."""

    def __init__(self, path: Path):
        self.path = path
        self.size_bytes = os.path.getsize(path)
        self.packed: io.BufferedReader | None = None  # of the last iteration

    @property
    def bytes_read(self) -> int:
        """How far the last iteration has come."""
        if self.packed is None:
            return 0
        return self.size_bytes if self.packed.closed else self.packed.raw.tell()

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Pairs of line number (from 1) and text."""
        try:
            with open(self.path, "rb", buffering=1 << 18) as self.packed:
                unpack = PACKED.get(self.path.suffix.lower())
                file = unpack(self.packed) if unpack else self.packed
                yield from decoded_lines(file, str(self.path))
        except (EOFError, zlib.error, OSError, lzma.LZMAError) as error:
            if getattr(error, "errno", None) is not None:  # of the disk, and not of the content
                raise
            raise UserError(f"{self.path}: damaged archive ({error}); fetch it again") from None


def decoded_lines(file: io.BufferedIOBase, name: str) -> Iterator[tuple[int, str]]:
    """Lines of bytes as text, with their numbers; errors call the source `name`."""
    for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), start=1):
        if number == 1 and b"\n" not in line and b"\r" in line.removesuffix(b"\r"):
            raise UserError(f"{name}: its lines end with carriage returns alone, as on an old Mac; "
                            r"convert it: tr '\r' '\n'")  # fmt: skip
        text = decode_line(line.removesuffix(b"\n").removesuffix(b"\r"), number, name)
        if len(line) > LONGEST_LINE:
            raise UserError(f"{name}: line {number} is longer than {LONGEST_LINE >> 20} MiB: "
                            "put one text on each line")  # fmt: skip
        yield number, text


def decode_line(line: bytes, number: int, name: str) -> str:
    """One line of a source as text. Only the first line may begin with a byte order mark."""
    if number == 1 and line.startswith(UTF_16_MARKS):
        raise UserError(f"{name}: UTF-16 text, not UTF-8; convert it: iconv -f UTF-16 -t UTF-8")
    if b"\0" in line:
        raise UserError(f"{name}: line {number} holds NUL bytes: a binary file (or UTF-16), not "
                        "UTF-8 text")  # fmt: skip
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{name}: line {number}, byte {error.start + 1} of the line "
                        f"(0x{line[error.start]:02x}) is not UTF-8; convert the text to UTF-8 "
                        "first") from None  # fmt: skip
