"""What a batch leaves behind for machines: reports, `gradebook.csv`, Gradescope's results.

Nothing in them depends on the time or the machine: grading again gives the same bytes.
"""

import csv
import hashlib
import io
import json
import platform
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from autograder.points import ROOT, Exercise, checks_of, present
from autograder.report import Report, gradescope, make_report, write_report
from autograder.runner import NOT_RUN, Outcome
from autograder.untrusted.grading_process import Done
from autograder.untrusted.sandbox import Sandbox
from autograder.untrusted.submissions import Submission
from bert_run.files import write_atomically


@dataclass
class Graded:
    """A student with all that became of the submission."""

    submission: Submission
    results: dict[str, Done] = field(default_factory=dict)
    likeness: list[str] = field(default_factory=list)

    @property
    def student(self) -> str:
        return self.submission.student

    @property
    def report(self) -> Report:
        outcomes = {}
        for exercise in present():
            done = self.results.get(exercise.name)
            outcomes[exercise.name] = done.outcomes if done else missing(exercise)
        return make_report(outcomes)


def missing(exercise: Exercise) -> list[Outcome]:
    reason = f"{exercise.file} is missing"
    return [Outcome(check.id, NOT_RUN, reason) for check in checks_of(exercise)]


def key_of(exercise: Exercise, file: bytes, sandbox: Sandbox, timeout: float) -> str:
    """Changes with whatever a result can depend on."""
    parts = [hashlib.sha256(file).hexdigest(), trusted_code(), exercise.name, sandbox.kind,
             f"{timeout:g}", platform.python_version()]  # fmt: skip
    parts += [installed(package) for package in ("numpy", "torch")]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@cache
def trusted_code() -> str:
    """A fingerprint of the grader, the tests, the solutions, and the chapters they compare with."""
    digest = hashlib.sha256()
    for pattern in ("exercises/**/*.py", "solutions/**/*.py", "[0-9][0-9]_*/bert_*/**/*.py"):
        for path in sorted(ROOT.glob(pattern)):
            digest.update(f"{path.relative_to(ROOT)}\n".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def installed(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"no {package}"


def save_result(path: Path, key: str, done: Done) -> None:
    """`students/NAME/NN_name.json`: written as soon as the exercise is graded."""
    tests = [vars(outcome) for outcome in done.outcomes]
    write_report(path, {"exercise": path.stem, "fingerprint": done.fingerprint, "tests": tests,
                        "key": key})  # fmt: skip


def saved_result(path: Path, key: str) -> Done | None:
    """What an earlier call found, if it was the same file by the same tests."""
    try:
        saved: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if saved["key"] != key:
            return None
        outcomes = [Outcome(t["id"], t["outcome"], t["message"]) for t in saved["tests"]]
        return Done(outcomes, str(saved["fingerprint"]), 0.0)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def save_reports(graded: Graded, folder: Path) -> None:
    report = graded.report
    write_report(folder / "report.json", report)
    results = gradescope(report)
    if graded.submission.notes:
        results["output"] += "\n" + "\n".join(graded.submission.notes)
    write_report(folder / "results.json", results)


def save_gradebook(path: Path, graded: list[Graded]) -> None:
    """A row for each student, a column for each exercise; in a spreadsheet it runs nothing."""
    names = [exercise.name for exercise in present()]
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["student", "score", "max_score", *names, "notes", "alike"])
    for one in graded:
        report = one.report
        scores = [f"{exercise['score']:g}" for exercise in report["exercises"]]
        writer.writerow([
            harmless(one.student), f"{report['score']:g}", f"{report['max_score']:g}", *scores,
            harmless("; ".join(one.submission.notes)), harmless("; ".join(one.likeness)),
        ])  # fmt: skip
    write_atomically(path, table.getvalue())


def harmless(text: str) -> str:
    """A cell that begins like a formula is taken for one: an apostrophe says that it is text."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r", "\n") else text
