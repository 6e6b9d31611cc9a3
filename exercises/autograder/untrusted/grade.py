"""`bert-grade`: grade the work of others, without trusting it."""

import csv
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro
from tyro.conf import Positional, arg

from autograder.points import ROOT, present
from autograder.untrusted import gradebook, likeness
from autograder.untrusted.gradebook import Graded, key_of
from autograder.untrusted.grading_process import Job, choose, grade_all
from autograder.untrusted.sandbox import WARNINGS, Sandbox, candidates, make_box
from autograder.untrusted.submissions import Submission, gather
from bert_run.errors import Real, UserError, Whole, check_numbers, command
from bert_run.files import hold
from bert_run.training_loop import progress_bar

LOCK, TIMES = ".lock", "times.csv"  # by both we know a folder that we have written


@dataclass(frozen=True)
class GradeSettings:
    """Grade submissions: folders, zips or tars with the files of exercises, or a folder of such.

    bert-grade class/ --out grades
    """

    submissions: Annotated[Positional[tuple[Path, ...]], arg(metavar="SUBMISSIONS…")]
    """a student's folder, zip or tar; or a folder that holds one of each student"""
    out: Annotated[Path, arg(metavar="DIR")]
    """where reports, gradebook.csv and summary.html go; called again, it goes on where it was"""
    jobs: Annotated[int, Whole(0, 4096)] = 0
    """students graded at the same time; 0: one for each processor"""
    timeout: Annotated[float, Real(above=0, at_most=1_000_000)] = 60.0
    """seconds of a processor for all checks of an exercise, a quarter of them for one call; by the
    clock four times as many"""
    seed: Annotated[int, Whole(0, 1 << 62)] = 0
    """a secret number of yours, from which the inputs of all checks are drawn anew, so that no
    table of recorded answers passes; 0: the inputs that students have at home"""
    against: tuple[Path, ...] = ()
    """folders of earlier years, as --out left them: functions that are alike are marked too"""
    sandbox: Literal["auto", "bwrap", "unshare", "none"] = "auto"
    """auto: the best that works here, and a warning if that is not bwrap"""

    def __post_init__(self) -> None:
        if not self.submissions:
            raise UserError("nothing to grade: name a folder, a zip or a tar")
        check_numbers(self)
        for folder in self.against:
            if not (folder / "students").is_dir():
                raise UserError(f"--against {folder}: no folder that bert-grade has written")


@command
def main() -> None:
    settings = tyro.cli(GradeSettings, prog="bert-grade")
    if os.name != "posix":
        raise UserError("bert-grade needs Linux or macOS: on Windows run it inside WSL")
    submissions, passed_over = gather(list(settings.submissions), but=settings.out)
    claim(settings.out)
    with locked(settings.out), tempfile.TemporaryDirectory(prefix="bert-grade-") as folder:
        (settings.out / TIMES).touch()
        for line in passed_over:
            print(f"passed over: {line}", file=sys.stderr)
        run(settings, submissions, Path(folder))


def claim(out: Path) -> None:
    """Make the folder of grades. One that holds anything else is left alone: neither a gradebook
    that a teacher keeps by hand nor the class itself may be written over."""
    is_own = (out / LOCK).is_file() and (out / TIMES).is_file()
    if out.is_dir() and not is_own and any(p.name[0] != "." for p in out.iterdir()):
        raise UserError(f"{out} is not empty and holds no grades of bert-grade: name another --out")
    out.mkdir(parents=True, exist_ok=True)


@contextmanager
def locked(out: Path) -> Iterator[None]:
    lock = hold(out / LOCK)
    if lock is None:
        raise UserError(f"{out}: another bert-grade writes there: wait for it, or name another DIR")
    with lock:
        yield


def run(settings: GradeSettings, submissions: list[Submission], folder: Path) -> None:
    for submission in submissions:
        for note in submission.notes:
            print(f"{submission.student}: {note}", file=sys.stderr)
    folder.chmod(0o711)  # whoever a student's process is, it finds its own files below and no list
    hidden = [path.resolve() for path in (ROOT, settings.out, *settings.submissions)]
    found = candidates(settings.sandbox, make_box(folder), hidden)
    sandbox = choose(found, settings.sandbox, folder)
    if sandbox.kind in WARNINGS:
        print(f"warning: sandbox {sandbox.kind}: {WARNINGS[sandbox.kind]}", file=sys.stderr)
        if sandbox.kind == "none" and os.geteuid() == 0 and not sandbox.as_nobody:
            print("warning: it runs as root: grade as another user", file=sys.stderr)
    graded = [Graded(submission) for submission in submissions]
    grade_missing(settings, graded, sandbox, folder)
    mark_likeness(graded, settings.against)
    for one in graded:
        gradebook.save_reports(one, place(settings, one.student))
        gradebook.save_student(place(settings, one.student) / "report.html", one)
    gradebook.save_gradebook(settings.out / "gradebook.csv", graded)
    gradebook.save_summary(settings.out / "summary.html", graded, sandbox=sandbox.kind)
    scores = [one.report["score"] for one in graded]
    print(f"{len(scores)} graded in the sandbox {sandbox.kind}, {sum(scores) / len(scores):.2f} "
          f"points of 100 on average: see {settings.out / 'summary.html'}")  # fmt: skip


def place(settings: GradeSettings, student: str) -> Path:
    return settings.out / "students" / student


def grade_missing(
    settings: GradeSettings, graded: list[Graded], sandbox: Sandbox, folder: Path
) -> None:
    """Take what an earlier call has found, grade the rest, and save each result as it comes."""
    by_name = {one.student: one for one in graded}
    jobs = []
    for one in graded:
        place(settings, one.student).mkdir(parents=True, exist_ok=True)
        waiting = []
        for exercise in (e for e in present() if e.name in one.submission.files):
            job = Job(one.student, exercise, one.submission.files[exercise.name])
            done = gradebook.saved_result(*saved_as(settings, job, sandbox))
            if done:
                one.results[exercise.name] = done
            else:
                waiting.append(job)
        jobs += [waiting] * bool(waiting)
    already = sum(len(one.results) for one in graded)
    total = already + sum(map(len, jobs))
    processes = settings.jobs or os.cpu_count() or 1
    with (
        progress_bar(total, "grading", unit=" files", initial=already) as bar,
        open(settings.out / TIMES, "a", encoding="utf-8", newline="") as times,
    ):
        rows = csv.writer(times, lineterminator="\n")
        for job, done in grade_all(jobs, sandbox, folder, processes=processes,
                                   timeout=settings.timeout, seed=settings.seed):  # fmt: skip
            by_name[job.student].results[job.exercise.name] = done
            if done.sound:
                gradebook.save_result(*saved_as(settings, job, sandbox), done)
            else:
                bar.write(f"{job.student}, {job.exercise.name}: {done.outcomes[0].message}; call "
                          "again to grade it", file=sys.stderr)  # fmt: skip
            rows.writerow([gradebook.harmless(job.student), job.exercise.name,
                           f"{done.seconds:.2f}"])  # fmt: skip
            times.flush()
            bar.update()


def saved_as(settings: GradeSettings, job: Job, sandbox: Sandbox) -> tuple[Path, str]:
    path = place(settings, job.student) / f"{job.exercise.name}.json"
    return path, key_of(
        job.exercise, job.file, sandbox, timeout=settings.timeout, seed=settings.seed
    )


def mark_likeness(graded: list[Graded], against: tuple[Path, ...]) -> None:
    for exercise in present():
        prints = {one.student: one.results[exercise.name].fingerprint
                  for one in graded if exercise.name in one.results}  # fmt: skip
        earlier = likeness.earlier_prints(against, exercise)
        found = likeness.marks(exercise, prints, earlier)
        for one in graded:
            if one.student in found:
                one.likeness.append(found[one.student])


if __name__ == "__main__":
    main()
