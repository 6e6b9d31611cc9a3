"""What a run started from, by content: fingerprints of its examples and of its checkpoint.

A run's folder keeps them in `inputs.json`, written before the first step, and every seed keeps
their digest in its `result.json`. A result is reused only for the inputs that it was measured on.

inputs.json    {"train": {"name": "reviews.csv", "sha256": "…", "examples": 300}, "dev": {…}, …}
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bert_finetuning.data.load import TaskData
from bert_finetuning.settings import FinetuneSettings
from bert_run.config import PRESETS
from bert_run.errors import UserError, read_record, wrong_field
from bert_run.files import sha256, write_atomically
from bert_run.weights import locate, weight_files

INPUTS_FILE = "inputs.json"
# What decides how a checkpoint reads a text; its weights come in addition.
READING_FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt")


@dataclass(frozen=True)
class Input:
    """One thing that a run depends on. `name` is for people; the content is what counts."""

    name: str
    sha256: str
    examples: int | None = None  # None: it is no set of examples

    def changed_since(self, earlier: "Input") -> str:
        """How this differs from what `earlier` was, in words."""
        if None in (self.examples, earlier.examples):
            return f"{self.name} has other content"
        if self.examples != earlier.examples:
            return f"{self.name} had {earlier.examples:,} examples and has {self.examples:,} now"
        return f"{self.name} has as many examples as before ({self.examples:,}), but other content"


Inputs = dict[str, Input]  # under "train", "dev" and "start"


def inputs_of(settings: FinetuneSettings, data: TaskData) -> Inputs:
    """Fingerprints of everything that decides the result and is not a setting."""
    names = {"train": settings.train or f"the training set of {data.name}",
             "dev": settings.dev or f"the dev set of {data.name}"}  # fmt: skip
    if data.split is not None:
        names["dev"] = f"the share of {settings.train} set aside for dev"
    sets = {"train": data.train, "dev": data.dev}
    found = {split: Input(names[split], fingerprint(sets[split]), len(sets[split]))
             for split in sets}  # fmt: skip
    start, files = starting_files(settings)
    return found | {"start": Input(start, fingerprint_of_files(files))} if files else found


def fingerprint(examples: Sequence) -> str:
    """SHA-256 of examples in their order. Every example is a dataclass of texts and numbers."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(ascii(example).encode() + b"\n")
    return digest.hexdigest()


def starting_files(settings: FinetuneSettings) -> tuple[str, list[Path]]:
    """What the model begins from, and the files that hold it; none where all of it is new.

    A model that has learned nothing takes only its sizes and its tokenizer from files.
    """
    if not settings.from_nothing:
        return settings.checkpoint, files_of_start(settings.checkpoint)
    files = [] if settings.model in PRESETS else reading_files(Path(settings.model))
    if settings.tokenizer is None:
        return settings.model, files
    tokenizer = Path(settings.tokenizer)
    own = reading_files(tokenizer) if tokenizer.is_dir() else [tokenizer]
    return str(tokenizer), [*files, *own]


def files_of_start(checkpoint: str) -> list[Path]:
    folder = locate(checkpoint).folder
    return [*reading_files(folder), *weight_files(folder)]


def fingerprint_of_start(checkpoint: str) -> str:
    """What a run that starts from a checkpoint records of it as its `start`."""
    return fingerprint_of_files(files_of_start(checkpoint))


def reading_files(folder: Path) -> list[Path]:
    return [folder / name for name in READING_FILES if (folder / name).is_file()]


def fingerprint_of_files(files: Sequence[Path]) -> str:
    """SHA-256 of the files' names and content."""
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.name} {sha256(path)}\n".encode())
    return digest.hexdigest()


def digest_of(inputs: Inputs) -> str:
    """All inputs in one fingerprint; their names do not count."""
    content = json.dumps({name: each.sha256 for name, each in sorted(inputs.items())})
    return hashlib.sha256(content.encode()).hexdigest()


def check_inputs(folder: Path, inputs: Inputs) -> str | None:
    """Record the inputs of a new run, or compare them with those that its folder recorded.

    Raises `UserError` if one has changed. A run of an earlier version of the course recorded none:
    returns a note that says so.
    """
    path = folder / INPUTS_FILE
    if not path.exists():
        if any(folder.rglob("seed-*")):
            return (
                f"note: {folder} was begun before runs recorded their inputs: nobody can tell "
                "whether its examples or its checkpoint have changed since"
            )
        content = {name: asdict(each) for name, each in inputs.items()}
        write_atomically(path, json.dumps(content, indent=2) + "\n")
        return None
    earlier = read_inputs(path)
    changes = [each.changed_since(earlier[name]) if name in earlier else f"{each.name} is new"
               for name, each in inputs.items()
               if name not in earlier or earlier[name].sha256 != each.sha256]  # fmt: skip
    if changes:
        raise UserError(
            f"{folder} holds a run that started from other data: {'; '.join(changes)}: choose "
            "another --out, or remove that folder"
        )
    return None


def read_inputs(path: Path) -> Inputs:
    """What `check_inputs` wrote."""
    way_out = f"choose another --out, or remove {path.parent}"
    record, types = read_record(path, way_out=way_out), {"name": str, "sha256": str}
    for each in record.values():
        if not isinstance(each, dict) or wrong_field(each, types, {"examples": int}):
            raise UserError(f"{path} is damaged: {way_out}")
    return {name: Input(each["name"], each["sha256"], each.get("examples"))
            for name, each in record.items()}  # fmt: skip
