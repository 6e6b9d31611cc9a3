"""Figures on the disk as soon as they are there, so that a bench that was stopped goes on.

They lie in runs/bench/CODE-MACHINE/SECTION/CASE.json: another version of the code, another machine
or other versions of the libraries begin a folder of their own.
"""

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from bench_sections.machine import code_version, machine
from bert_run.errors import UserError
from bert_run.files import write_atomically

FOLDER = Path("runs") / "bench"


@dataclass(frozen=True)
class Saved:
    """The figures of one version of the code on one machine."""

    folder: Path = FOLDER
    quick: bool = False
    rounds: int | None = None  # those asked for now: figures of others are measured again
    code: str = field(default_factory=code_version)
    machine: dict = field(default_factory=machine)

    @property
    def machine_key(self) -> str:
        text = json.dumps(self.machine, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:6] + ("-quick" if self.quick else "")

    @property
    def place(self) -> Path:
        return self.folder / f"{self.code}-{self.machine_key}"

    def path(self, section: str, case: str) -> Path:
        name = "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in case)
        return self.place / section / f"{name}.json"

    def get(self, section: str, case: str) -> dict | None:
        path = self.path(section, case)
        found = read(path) if path.exists() else None
        return found if found and found.get("rounds", self.rounds) == self.rounds else None

    def put(self, section: str, case: str, figures: dict) -> dict:
        path = self.path(section, case)
        path.parent.mkdir(parents=True, exist_ok=True)
        entry = {"case": case, "code": self.code, "machine": self.machine,
                 "date": date.today().isoformat(), "rounds": self.rounds,
                 "figures": figures}  # fmt: skip
        write_atomically(path, json.dumps(entry, indent=1))
        return figures

    def measured(self, section: str, case: str, measure: Callable[[], dict]) -> dict:
        """The figures of a case: those that are there, else measured now and kept."""
        found = self.get(section, case)
        return found["figures"] if found else self.put(section, case, measure())

    def all_of(self, section: str) -> list[dict]:
        """The entries of a section, in the order in which they were measured; of another version
        of the code, the one measured last on this machine, where this one has none."""
        places = [self.place, *sorted(self.folder.glob(f"*-{self.machine_key}"), reverse=True,
                                      key=lambda path: path.stat().st_mtime)]  # fmt: skip
        for place in places:
            paths = sorted((place / section).glob("*.json"), key=lambda path: path.stat().st_mtime)
            if paths:
                return [read(path) for path in paths]
        return []


def read(path: Path) -> dict:
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
        assert entry["figures"] is not None
    except (ValueError, KeyError, TypeError, AssertionError):
        shown = os.path.relpath(path)
        raise UserError(f"{shown} is damaged: delete it, and it is measured again") from None
    return entry
