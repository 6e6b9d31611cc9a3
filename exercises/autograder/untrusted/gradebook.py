"""What a batch leaves behind: the same bytes for the same files, on any machine at any time."""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from statistics import fmean, median
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from autograder import runner
from autograder.course import Course
from autograder.points import ROOT, Exercise, find, hints_of
from autograder.untrusted.grading_process import Done
from autograder.untrusted.marks import Marks
from autograder.untrusted.roster import Person, harmless, save_table, warn
from autograder.untrusted.sandbox import WARNINGS
from autograder.untrusted.submissions import Handed
from bert_run.files import sha256, write_atomically

NOT_GRADED = Done([], "", 0.0, sound=False)


@dataclass(frozen=True)
class Work:
    """A student's file of an exercise, as it stands in the folder of grades, with its result."""

    file: bytes
    handed: Handed
    done: Done = NOT_GRADED
    key: str = ""
    replaced: tuple[str, ...] = ()  # hashes of the files that stood here before


@dataclass
class Graded:
    """A student with all that stands in the folder of grades."""

    student: str
    counted: list[Exercise] = field(default_factory=list)  # asked for so far
    works: dict[str, Work] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    likeness: list[str] = field(default_factory=list)
    person: Person | None = None
    offered: set[str] = field(default_factory=set)  # exercises that this call is to grade
    marks: Marks = field(default_factory=Marks)

    @property
    def report(self) -> runner.Report:
        outcomes = {name: work.done.outcomes for name, work in self.works.items()}
        for exercise in self.counted:
            if exercise.name not in outcomes:
                outcomes[exercise.name] = runner.for_all_checks(
                    exercise, runner.NOT_RUN, f"{exercise.file} is missing")  # fmt: skip
        return runner.make_report(outcomes, [exercise.name for exercise in self.counted])

    @property
    def handed(self) -> dict[str, Handed]:
        """What counts as handed in: not the file as it was handed out."""
        return {name: work.handed for name, work in self.works.items()
                if not runner.is_untouched(find(name), work.file)}  # fmt: skip


def sha(file: bytes) -> str:
    return hashlib.sha256(file).hexdigest()[:16]


def key_of(exercise: Exercise, file: bytes, *settings: object) -> str:
    """Changes with whatever a result can depend on; `settings` are those of the call."""
    parts = [hashlib.sha256(file).hexdigest(), trusted_code(), exercise.name, *exercise.libraries,
             *map(str, settings), python_version(), *map(version, ("numpy", "torch"))]  # fmt: skip
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@cache
def trusted_code() -> str:
    """A fingerprint of the grader, the tests, the solutions, and what they compare with."""
    digest = hashlib.sha256()
    for pattern in ("exercises/**/*.py", "exercises/autograder/*.json", "solutions/**/*.py",
                    "[0-9][0-9]_*/bert_*/**/*.py", "[0-9][0-9]_*/bert_*/**/*.json",
                    "experiments/bert_experiments/capstone/*.py"):  # fmt: skip
        for path in sorted(ROOT.glob(pattern)):
            digest.update(f"{path.relative_to(ROOT)}\n{sha256(path)}".encode())
    return digest.hexdigest()


def save_work(path: Path, work: Work) -> None:
    """`students/NAME/NN_name.json`: written in one piece as soon as the exercise is graded."""
    tests = [vars(outcome) for outcome in work.done.outcomes]
    time = work.handed.time
    runner.write_report(path, {
        "exercise": path.stem, "fingerprint": work.done.fingerprint, "tests": tests,
        "key": work.key, "name": work.handed.name, "time": time.isoformat() if time else "",
        "late": work.handed.late, "replaced": list(work.replaced),
        "file": work.file.decode("utf-8", "surrogateescape")})  # fmt: skip


def saved_work(path: Path) -> Work | None:
    """What an earlier call has found; None if there is nothing, or nothing that can be read."""
    try:
        saved: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        outcomes = [runner.Outcome(t["id"], t["outcome"], t["message"]) for t in saved["tests"]]
        time = datetime.fromisoformat(saved["time"]) if saved["time"] else None
        return Work(saved["file"].encode("utf-8", "surrogateescape"),
                    Handed(saved["name"], time, saved["late"]),
                    Done(outcomes, saved["fingerprint"], 0.0), saved["key"],
                    tuple(saved["replaced"]))  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        if path.exists():
            warn(f"{path} is damaged, and counts as not graded: hand its file to bert-grade again")
        return None


def save_page(path: Path, graded: Graded) -> None:
    write(path, "student.html", student=graded.student, report=graded.report,
          marks=graded.marks, notes=graded.notes, remark=runner.remark, sentence=runner.sentence,
          hints=lambda name: hints_of(find(name)))  # fmt: skip


def save_reports(folder: Path, graded: Graded) -> None:
    """A student's report as a page, for programs and for Gradescope."""
    report = graded.report
    save_page(folder / "report.html", graded)
    runner.write_report(folder / "report.json", report)
    results = runner.gradescope(report)
    results["output"] = "\n".join([results["output"], *graded.notes])
    runner.write_report(folder / "results.json", results)


def save_gradebook(path: Path, graded: list[Graded]) -> None:
    """A row for each student, a column for each exercise; in a spreadsheet it runs nothing."""
    has_roster, table = any(one.person for one in graded), []
    for one in graded:
        marks, cells = one.marks, [("student", one.student)]
        if has_roster:
            cells += [("name", one.person.name if one.person else "")]
        cells += [("score", f"{marks.points:g}"), ("max_score", f"{marks.best:g}")]
        cells += [(mark.what, f"{mark.points:g}") for mark in marks.items]
        cells += [(f"week {week.name}", f"{week.points:g}") for week in marks.weeks]
        if marks.weeks:
            cells += [("late days", f"{sum(week.days for week in marks.weeks)}"),
                      ("percent", f"{marks.percent or 0:g}")]  # fmt: skip
        table.append([*cells, ("notes", "; ".join(one.notes)), ("alike", "; ".join(one.likeness))])
    save_table(path, [[title for title, _ in table[0]],
                      *[[harmless(cell) for _, cell in row] for row in table]])  # fmt: skip


# Pages to read. Everything that a student wrote is escaped, and the pages allow no script at all.

TEMPLATES = Environment(loader=FileSystemLoader(Path(__file__).parent / "templates"),
                        autoescape=True, undefined=StrictUndefined, trim_blocks=True,
                        lstrip_blocks=True)  # fmt: skip
MOST_MISTAKES = 30


def save_summary(path: Path, graded: list[Graded], course: Course, *, sandbox: str,
                 unread: list[str]) -> None:  # fmt: skip
    reports = [one.report for one in graded]
    points = [one.marks.points for one in graded]
    best = graded[0].marks.best or 1
    rows = [{"student": one.student, "name": one.person.name if one.person else "",
             "marks": one.marks, "notes": one.notes, "share": 100 * one.marks.points / best,
             "link": f"students/{quote(one.student)}/report.html"} for one in graded]  # fmt: skip
    write(path, "summary.html", rows=rows, mean=fmean(points), median=median(points), best=best,
          sandbox=sandbox, warning=WARNINGS.get(sandbox, ""), unread=unread,
          bins=bins([row["share"] for row in rows]), exercises=by_exercise(graded, reports),
          mistakes=mistakes(reports, course),
          alike=[(one.student, one.likeness) for one in graded if one.likeness])  # fmt: skip


def write(path: Path, template: str, **values: Any) -> None:
    write_atomically(path, TEMPLATES.get_template(template).render(**values))


def bins(scores: list[float]) -> list[tuple[str, int]]:
    """How many students have which percentage, in tens; full marks by themselves."""
    counts = Counter(min(int(score // 10), 9) if score < 100 else 10 for score in scores)
    return [(f"{10 * i} to {10 * i + 10}", counts[i]) for i in range(10)] + [("100", counts[10])]


def by_exercise(graded: list[Graded], reports: list[runner.Report]) -> list[dict[str, Any]]:
    handed = [one.handed for one in graded]
    return [{
        "name": exercise[0]["name"], "max_score": exercise[0]["max_score"],
        "mean": fmean(e["score"] for e in exercise),
        "full": sum(e["status"] == runner.PASSED for e in exercise),
        "begun": sum(exercise[0]["name"] in names for names in handed),
    } for exercise in zip(*[report["exercises"] for report in reports], strict=True)]  # fmt: skip


def mistakes(reports: list[runner.Report], course: Course) -> list[tuple[str, str, int]]:
    """What most students have wrong: for each student and exercise the mistake that most failing
    checks name, or else the first that fails; these come last. The latest week comes first."""
    number = {e.name: i for i, week in enumerate(course.weeks) for e in week.exercises}
    counts: Counter[tuple[bool, str, str]] = Counter()
    for exercise in (exercise for report in reports for exercise in report["exercises"]):
        failed = [t for t in exercise["tests"] if t["outcome"] in (runner.FAILED, runner.BLOCKED)]
        named = Counter(found[1] for t in failed if (found := runner.LIKELY.search(t["message"])))
        if failed:
            text = max(named, key=named.get, default=f"fails: {runner.sentence(failed[0]['id'])}")
            counts[not named, exercise["name"], text] += 1
    order = sorted(counts, key=lambda which: (
        -number.get(which[1], 0), which[0], -counts[which], which))  # fmt: skip
    return [(*which[1:], counts[which]) for which in order[:MOST_MISTAKES]]
