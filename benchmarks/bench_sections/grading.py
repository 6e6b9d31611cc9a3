"""Section 5: the time of grading: the full set of exercises once, and many submissions.

Submissions are the solutions, copied: the most work there is, since every check runs.
"""

import csv
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from autograder.points import present
from bench_sections.machine import ROOT
from bench_sections.saved import Saved
from bert_run.errors import UserError

SECTION = "grading"
SOME, MANY = 10, 100


def write_class(folder: Path, students: int, *, exercises: int | None = None) -> int:
    """A folder of each student with the solutions; returns how many files each handed in."""
    chosen = [exercise for exercise in present() if exercise.solution.is_file()][:exercises]
    for number in range(1, students + 1):
        for exercise in chosen:
            place = folder / f"student-{number:03}" / exercise.name
            place.mkdir(parents=True)
            shutil.copyfile(exercise.solution, place / exercise.file)
    return len(chosen)


def grade(students: int, *, exercises: int | None = None) -> dict:
    """Progress is `bert-grade`'s own."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        files = write_class(folder / "class", students, exercises=exercises)
        begin = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "autograder.untrusted.grade", str(folder / "class"), "--out",
             str(folder / "grades")],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        seconds = time.perf_counter() - begin
        if done.returncode:
            raise UserError("bert-grade failed: see its message above")
        with open(folder / "grades" / "times.csv", encoding="utf-8", newline="") as file:
            of_each = [(exercise, float(taken)) for _, exercise, taken in csv.reader(file)]
    return {"students": students, "files": files, "seconds": seconds, "of_each": of_each,
            "said": done.stdout.strip().splitlines()[-1].partition(": see")[0]}  # fmt: skip


def full_set(*, only: str | None = None) -> dict:
    """`pytest exercises/ --solutions`, as one who writes exercises runs it."""
    place = ROOT / "exercises" / only if only else ROOT / "exercises"
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", str(place), "--solutions", "-q"],
        cwd=ROOT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    seconds = time.perf_counter() - begin
    if done.returncode:
        raise UserError(f"pytest exercises/ --solutions failed: {last_line(done.stdout)}")
    return {"seconds": seconds, "said": last_line(done.stdout)}


def last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip("= ") if lines else "it said nothing"


def run(saved: Saved, *, rounds: int, full: bool) -> None:
    quick = saved.quick
    print("grading: the full set of solutions …", file=sys.stderr)
    saved.measured(SECTION, "full set",
                   lambda: full_set(only="03_softmax" if quick else None))  # fmt: skip
    students = 2 if quick else SOME
    saved.measured(SECTION, f"submissions-{students}",
                   lambda: grade(students, exercises=1 if quick else None))  # fmt: skip
    if full:
        saved.measured(SECTION, f"submissions-{MANY}", lambda: grade(MANY))
