"""Pages to read: one for each student, and a summary for whoever teaches.

Everything that a student wrote is escaped, and the pages allow no script at all.
"""

import re
from collections import Counter
from functools import cache
from pathlib import Path
from statistics import fmean, median
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from autograder.plugin import HINT
from autograder.points import EXERCISES
from autograder.report import Report, remark, sentence
from autograder.runner import BLOCKED, FAILED, NOT_RUN, PASSED
from autograder.untrusted.gradebook import Graded
from autograder.untrusted.sandbox import WARNINGS
from bert_run.files import write_atomically

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
    readme = EXERCISES / exercise / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    return tuple((hint["title"].strip(), hint["text"].strip()) for hint in HINT.finditer(text))
