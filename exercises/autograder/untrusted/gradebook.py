"""What a batch leaves behind: reports, `gradebook.csv`, Gradescope's results, and pages to read.

Nothing in them depends on the time or the machine: grading again gives the same bytes.
"""

import csv
import hashlib
import io
import json
import platform
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import fmean, median
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from autograder.plugin import HINT
from autograder.points import ROOT, Exercise, checks_of, find, present
from autograder.report import Report, gradescope, make_report, remark, sentence, write_report
from autograder.runner import BLOCKED, FAILED, NOT_RUN, PASSED, Outcome
from autograder.untrusted.grading_process import Done
from autograder.untrusted.sandbox import WARNINGS, Sandbox
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


def key_of(exercise: Exercise, file: bytes, sandbox: Sandbox, *, timeout: float, seed: int) -> str:
    """Changes with whatever a result can depend on."""
    parts = [hashlib.sha256(file).hexdigest(), trusted_code(), exercise.name, sandbox.kind,
             f"{timeout:g}", f"{seed}", platform.python_version()]  # fmt: skip
    parts += [installed(package) for package in ("numpy", "torch")]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@cache
def trusted_code() -> str:
    """A fingerprint of the grader, the tests, the solutions, and what they compare with."""
    digest = hashlib.sha256()
    patterns = ("exercises/**/*.py", "solutions/**/*.py", "[0-9][0-9]_*/bert_*/**/*.py",
                "experiments/bert_experiments/capstone/*.py")  # fmt: skip
    for pattern in patterns:
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


# Pages to read: one for each student, and a summary for whoever teaches. Everything that a student
# wrote is escaped, and the pages allow no script at all.


TEMPLATES = Environment(loader=FileSystemLoader(Path(__file__).parent / "templates"),
                        autoescape=True, undefined=StrictUndefined, trim_blocks=True,
                        lstrip_blocks=True)  # fmt: skip
LIKELY = re.compile(r"^  likely mistake: (.*)$", re.MULTILINE)  # a student's lines stand deeper
MOST_MISTAKES = 30


def save_student(path: Path, graded: Graded) -> None:
    write(path, "student.html", student=graded.student, report=graded.report,
          notes=graded.submission.notes, share=share, remark=remark, sentence=sentence,
          hints=hints)  # fmt: skip


def save_summary(path: Path, graded: list[Graded], *, sandbox: str) -> None:
    reports = [one.report for one in graded]
    scores = [report["score"] for report in reports]
    rows = [{"student": one.student, "score": report["score"], "notes": one.submission.notes,
             "link": f"students/{quote(one.student)}/report.html"}
            for one, report in zip(graded, reports, strict=True)]  # fmt: skip
    alike = [(one.student, one.likeness) for one in graded if one.likeness]
    write(path, "summary.html", rows=rows, mean=fmean(scores), median=median(scores),
          sandbox=sandbox, warning=WARNINGS.get(sandbox, ""), bins=bins(scores), alike=alike,
          exercises=by_exercise(reports), mistakes=mistakes(reports))  # fmt: skip


def write(path: Path, template: str, **values: Any) -> None:
    write_atomically(path, TEMPLATES.get_template(template).render(**values))


def share(exercise: Report) -> float:
    return 100 * exercise["score"] / exercise["max_score"] if exercise["max_score"] else 0.0


def bins(scores: list[float]) -> list[tuple[str, int]]:
    """How many students have how many points, in tens; full marks by themselves."""
    counts = Counter(min(int(score // 10), 9) if score < 100 else 10 for score in scores)
    return [(f"{10 * i} to {10 * i + 10}", counts[i]) for i in range(10)] + [("100", counts[10])]


def by_exercise(reports: list[Report]) -> list[dict[str, Any]]:
    found = []
    for exercise in zip(*[report["exercises"] for report in reports], strict=True):
        found.append({
            "name": exercise[0]["name"],
            "max_score": exercise[0]["max_score"],
            "mean": fmean(e["score"] for e in exercise),
            "full": sum(e["status"] == PASSED for e in exercise),
            "begun": sum(e["status"] != NOT_RUN for e in exercise),
        })  # fmt: skip
    return found


def mistakes(reports: list[Report]) -> list[tuple[str, str, int]]:
    """What most students have wrong: the mistake by its name, else the check that fails."""
    counts: Counter[tuple[str, str]] = Counter()
    for report in reports:
        for exercise in report["exercises"]:
            told = {mistake(test) for test in exercise["tests"]
                    if test["outcome"] in (FAILED, BLOCKED)}  # fmt: skip
            counts.update((exercise["name"], text) for text in told)
    order = sorted(counts, key=lambda which: (-counts[which], which))
    return [(*which, counts[which]) for which in order[:MOST_MISTAKES]]


def mistake(test: Report) -> str:
    likely = LIKELY.search(test["message"])
    return likely[1] if likely else f"fails: {sentence(test['id'])}"


@cache
def hints(exercise: str) -> tuple[tuple[str, str], ...]:
    """Title and text of the hints in the README of an exercise."""
    readme = find(exercise).folder / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    return tuple((hint["title"].strip(), hint["text"].strip()) for hint in HINT.finditer(text))
