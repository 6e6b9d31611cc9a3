"""`bert-grade`: grade the work of others, without trusting it."""

import contextlib
import csv
import os
import shlex
import sys
import tempfile
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

import tyro
from tyro.conf import Positional, arg

from autograder.course import COURSE, Course, chosen, course_file, find_course, write_course
from autograder.points import ROOT, Exercise, present
from autograder.runner import is_untouched, write_report
from autograder.untrusted import exports, gradebook, likeness, marks
from autograder.untrusted.cell import remove
from autograder.untrusted.gradebook import Graded, Work, key_of, sha
from autograder.untrusted.grading_process import Done, Job, choose, grade_all
from autograder.untrusted.roster import Roster, harmless, read_roster, warn
from autograder.untrusted.sandbox import WARNINGS, Sandbox
from autograder.untrusted.submissions import Submission, gather, is_hidden, shown, words_before
from bert_run.config import Real, Whole, check_numbers
from bert_run.errors import UserError, command
from bert_run.files import clear_leftovers, hold, read_record, remove_in_one_piece, write_atomically
from bert_run.training_loop import progress_bar

LOCK, TIMES = ".lock", "times.csv"  # by both we know a folder that we have written
ROSTER, NOTES = "roster.csv", "notes.json"


@dataclass(frozen=True)
class GradeSettings:
    """Grade submissions: folders or zips with the files of exercises, or a folder of such.

    bert-grade class/ --out grades

    What was graded stays in DIR until it is removed by name. bert-grade init writes course.toml.
    """

    submissions: Annotated[Positional[tuple[Path, ...]], arg(metavar="SUBMISSIONS…")]
    """a student's folder or zip; or a folder that holds one of each student; none: the marks in
    DIR are written anew, after a change of adjust.csv say"""
    out: Annotated[Path, arg(metavar="DIR")]
    """where reports, gradebook.csv and summary.html go; called again, it goes on where it was"""
    week: Annotated[str | None, arg(metavar="NAME")] = None
    """grade the exercises of this week alone; course.toml is here or at the repository's root"""
    exercises: Annotated[str | None, arg(metavar="LIST")] = None
    """grade these alone, such as 03-05,10"""
    roster: Annotated[Path | None, arg(metavar="FILE")] = None
    """who is in the class: id,name,key,extension; kept in DIR for later calls"""
    canvas: Annotated[Path | None, arg(metavar="CSV")] = None
    """a gradebook that Canvas has exported; the marks of --week go to DIR/canvas.csv"""
    moodle: Annotated[Path | None, arg(metavar="CSV")] = None
    """a grading worksheet of Moodle; the marks of --week go to DIR/moodle.csv"""
    feedback: bool = False
    """also write DIR/feedback.zip, each student's page as Canvas or Moodle take it back"""
    anonymous: bool = False
    """also write DIR/anonymous: pages and files under pseudonyms, to be read blind"""
    remove: Annotated[tuple[str, ...], arg(metavar="NAME…")] = ()
    """take out of DIR what was graded: s04, or s04/03_softmax"""
    regrade: bool = False
    """also grade the files in DIR anew whose tests, settings or versions have changed"""
    why: Annotated[str, arg(metavar="TEXT")] = ""
    """a reason to be added to each line of changes.csv"""
    jobs: Annotated[int, Whole(0, 4096)] = 0
    """students graded at the same time; 0: one for each processor"""
    timeout: Annotated[float, Real(above=0, at_most=1_000_000)] = 60.0
    """seconds of a processor for all checks of an exercise, a quarter of them for one call; by the
    clock four times as many"""
    against: tuple[Path, ...] = ()
    """folders of earlier years, as --out left them: functions that are alike are marked too"""
    sandbox: Literal["auto", "bwrap", "unshare", "none"] = "auto"
    """auto: the best that works here, and a warning if that is not bwrap"""

    def __post_init__(self) -> None:
        if not self.submissions and not is_own(self.out):
            raise UserError("nothing to grade: name a folder or a zip")
        if (self.canvas or self.moodle) and not self.week:
            raise UserError("--canvas and --moodle fill in the marks of a week: name it by --week")
        check_numbers(self)
        for folder in self.against:
            if not (folder / "students").is_dir() or folder.resolve() == self.out.resolve():
                raise UserError(f"--against {folder}: name a folder that an earlier --out has left")
        for path, own in ((self.canvas, "canvas.csv"), (self.moodle, "moodle.csv")):
            if path and path.resolve() == (self.out / own).resolve():
                raise UserError(f"{path} is what this call writes: name another one to be read")


@dataclass(frozen=True)
class InitSettings:
    """Write course.toml, the weeks of a term, from the plan of TEACHING.md.

    bert-grade init --weeks 12 --start 2027-01-11
    """

    weeks: Literal[6, 10, 12, 15]
    """how long the term is"""
    start: Annotated[str | None, arg(metavar="DATE")] = None
    """the first day of the first week; each week is due on its seventh day"""
    out: Annotated[Path, arg(metavar="FILE")] = Path(COURSE)
    """the file to write"""


@command
def main() -> None:
    if sys.argv[1:2] == ["init"]:
        term = tyro.cli(InitSettings, prog="bert-grade init", args=sys.argv[2:])
        try:
            start = None if term.start is None else date.fromisoformat(term.start)
        except ValueError:
            raise UserError(f"--start {term.start}: no such day: write 2027-01-11") from None
        write_course(term.out, term.weeks, start)
        print(f"{term.out} has {term.weeks} weeks and a secret seed: fill in late days, and check "
              "the dates and their time zone")  # fmt: skip
        return
    if "" in sys.argv[1:]:
        raise UserError('an argument is empty (""): is a variable unset? Name a folder or a zip')
    settings = tyro.cli(GradeSettings, prog="bert-grade")
    if os.name != "posix":
        raise UserError("bert-grade needs Linux or macOS: on Windows run it inside WSL")
    course, out = find_course(), settings.out
    if marks.read_state(out).get("has_course") and not course.weeks:
        raise UserError(f"{out} was graded with a {COURSE}, and there is none here: call "
                        f"bert-grade in the folder of that {COURSE}")  # fmt: skip
    scope = chosen(course, settings.week, settings.exercises)
    roster_file = settings.roster or out / ROSTER
    roster = read_roster(roster_file, course) if settings.roster or roster_file.is_file() else None
    submissions, unread = gather(list(settings.submissions), out, roster, gone=settings.remove)
    if course.variants and not course.seed:
        raise UserError(f"{COURSE}: variants = true needs a seed, from which they follow")
    if course.variants and not roster:
        warn("variants = true without a --roster: the numbers follow from the names of folders")
    claim(out)
    lock = hold(out / LOCK)
    if lock is None:
        raise UserError(f"{out}: another bert-grade writes there: wait for it, or name another DIR")
    for left in Path(tempfile.gettempdir()).glob("bert-grade-*"):  # by a call that was killed
        with contextlib.suppress(FileNotFoundError):  # another call removes it
            is_ours = left.lstat().st_uid == os.geteuid() and not left.is_symlink()
            if is_ours and (left / LOCK).is_file() and hold(left / LOCK):
                remove(left)
    with lock, tempfile.TemporaryDirectory(prefix="bert-grade-") as folder:
        in_use = hold(Path(folder, LOCK))  # noqa: F841 - until this process ends
        clear_leftovers(out)
        (out / TIMES).touch()
        if settings.roster:
            write_atomically(out / ROSTER, roster_file.read_bytes())
        for line in unread:
            warn(f"not graded: {line}")
        run(Call(settings, course, scope, roster, submissions, unread), Path(folder))


@dataclass(frozen=True)
class Call:
    settings: GradeSettings
    course: Course
    scope: list[Exercise] | None  # None: all that are asked for
    roster: Roster | None
    submissions: list[Submission]
    passed_over: list[str]

    @property
    def asked(self) -> list[Exercise]:
        if self.scope is not None:
            return self.scope
        weeks = self.course.weeks
        return [each for week in weeks for each in week.exercises] if weeks else present()

    def place(self, student: str) -> Path:
        return self.settings.out / "students" / student

    def saved_as(self, student: str, exercise: str) -> Path:
        return self.place(student) / f"{exercise}.json"

    def job(self, student: str, exercise: Exercise, file: bytes, sandbox: Sandbox) -> Job:
        variant = self.course.variant_of(student)
        settings = sandbox.kind, self.settings.timeout, self.course.seed, variant
        return Job(student, exercise, file, variant, key_of(exercise, file, *settings))


def is_own(out: Path) -> bool:
    return (out / LOCK).is_file() and (out / TIMES).is_file()


def claim(out: Path) -> None:
    """Make the folder of grades. One that holds anything else is left alone: neither a gradebook
    that a teacher keeps by hand nor the class itself may be written over."""
    if out.is_dir() and not is_own(out) and any(p.name[0] != "." for p in out.iterdir()):
        raise UserError(f"{out} is not empty and holds no grades of bert-grade: name another --out")
    out.mkdir(parents=True, exist_ok=True)


def run(call: Call, folder: Path) -> None:
    settings, out = call.settings, call.settings.out
    state = marks.read_state(out)
    clear_leftovers(out / "students")
    removed = [saved_at(call, name) for name in settings.remove]
    students, left = names_of(call, but=[]), names_of(call, but=removed)
    if not left:
        raise UserError(f"nobody is left in {out}: name submissions, or remove the folder")
    names = {name.casefold(): name for name in students}
    names |= {name: name for name in students}  # MIA and mia may both be there
    names |= exports.pseudonyms(out, students)
    counted, scope = {*state.get("counted", ())}, {each.name for each in call.scope or ()}
    adjusted = marks.read_adjustments(out / marks.ADJUST, call.course, names, counted | scope)
    for path in filter(Path.exists, removed):  # one may lie in another
        remove_in_one_piece(path)
    graded = students_of(call, left)
    used, files = grade_missing(call, graded, folder)
    kind = state.get("sandbox", used or "none")
    is_all = settings.regrade and call.scope is None and not call.submissions
    if used and (is_all or kind not in WARNINGS):  # else some files were graded in that one
        kind = used
    counted, has_begun = mark_all(call, graded, counted, adjusted)
    mark_likeness(graded, settings.against)
    for one in graded:
        gradebook.save_reports(call.place(one.student), one)
    gradebook.save_gradebook(out / "gradebook.csv", graded)
    gradebook.save_summary(out / "summary.html", graded, call.course, sandbox=kind,
                           unread=call.passed_over)  # fmt: skip
    students = {one.student: marks.ledger(one.marks, {
        name: (sha(work.file), work.handed.name) for name, work in one.works.items()
    }) for one in graded}  # fmt: skip
    now = {"sandbox": kind, "counted": counted, "students": students,
           "has_course": bool(call.course.weeks)}  # fmt: skip
    marks.write_changes(out, now, why=settings.why, has_begun=has_begun)
    week = call.course.week(settings.week) if settings.week else None
    if settings.canvas:
        exports.write_canvas(settings.canvas, out / "canvas.csv", graded, week, call.roster)
    if settings.moodle:
        exports.write_moodle(settings.moodle, out / "moodle.csv", graded, week, call.roster)
    if settings.feedback:
        exports.write_feedback(out, graded, call.asked)
    if settings.anonymous:
        exports.write_anonymous(out, graded)
    mean = sum(one.marks.points for one in graded) / len(graded)
    print(f"files graded in the sandbox {kind}: {files}; students in the class: {len(graded)}; "
          f"{mean:.2f} of {graded[0].marks.best:g} points on average: see "
          f"{out / 'summary.html'}")  # fmt: skip


def saved_at(call: Call, name: str) -> Path:
    """What a name of --remove stands for."""
    folder = call.settings.out / "students"
    path = folder / (f"{name}.json" if "/" in name.strip("/") else name)
    if path not in (*folder.glob("*"), *folder.glob("*/[0-9]*.json")):
        raise UserError(f"--remove {name}: {folder} holds no such grades")
    return path


def names_of(call: Call, but: list[Path]) -> list[str]:
    """Everybody who has grades, has handed in something now, or is in the roster."""
    saved = {path.name for path in (call.settings.out / "students").glob("*")
             if path.is_dir() and path not in but and not is_hidden(path.name)}  # fmt: skip
    handed = (submission.student for submission in call.submissions)
    return sorted(saved.union(handed, call.roster.people if call.roster else ()))


def students_of(call: Call, names: list[str]) -> list[Graded]:
    people = call.roster.people if call.roster else {}
    for name in (name for name in names if people and name not in people):
        warn(f"{name} has grades and is not in the roster: if this is somebody of it, grade the "
             f"files again, and then remove these with --remove={shlex.quote(name)}")  # fmt: skip
    handed = {submission.student: submission for submission in call.submissions}
    return [student_of(call, Graded(name, person=people.get(name)), handed.get(name))
            for name in names]  # fmt: skip


def student_of(call: Call, one: Graded, submission: Submission | None) -> Graded:
    """A student with what was graded before or is handed in now. Saved is what has been graded."""
    folder = call.place(one.student)
    folder.mkdir(parents=True, exist_ok=True)
    clear_leftovers(folder)
    for exercise in present():
        if work := gradebook.saved_work(call.saved_as(one.student, exercise.name)):
            one.works[exercise.name] = work
    path = folder / NOTES  # for each week the last time
    notes = read_record(path, way_out="remove it, and its notes") if path.exists() else {}
    if {*map(type, notes.values())} - {list}:
        raise UserError(f"{path} is damaged (no lists): remove it, and its notes")
    if submission:
        for exercise in call.asked:
            if exercise.name in submission.files:
                take_file(one, exercise, submission, is_regraded=call.settings.regrade)
        for note in submission.notes:
            print(f"{one.student}: {note}", file=sys.stderr)
        notes[call.settings.week or ""] = submission.notes
        write_report(path, notes)
    one.notes = [f"week {week}: {note}" if week else str(note)
                 for week, listed in notes.items() for note in listed]  # fmt: skip
    return one


def take_file(one: Graded, exercise: Exercise, submission: Submission, *,
              is_regraded: bool) -> None:  # fmt: skip
    """Put a file that was handed in into the place of the one that was there, unless it is older:
    by the times if they are known, else because it was replaced once. The same file was handed in
    when it came first; where it `is_regraded`, when submitted.csv says now."""
    name = exercise.name
    new, old = Work(submission.files[name], submission.handed[name]), one.works.get(name)
    if old and old.file == new.file:
        before, now = old.handed.time, new.handed.time
        is_first = is_regraded or (before and now and now < before)
        if now and not before and not is_regraded:
            warn(f"{one.student}: {exercise.file} was there before its time was known: the time "
                 "of submitted.csv counts with --regrade")  # fmt: skip
        new = replace(old, handed=new.handed) if now and is_first else old
    elif old and is_untouched(exercise, new.file):
        return
    elif old and words_before(new.handed.name, one.person) > words_before(old.handed.name,
                                                                          one.person):  # fmt: skip
        submission.notes.append(f"{shown(new.handed.name)} is not read: {exercise.file} of "
                                f"{shown(old.handed.name)} has a closer name")  # fmt: skip
        return
    elif old:
        is_older = sha(new.file) in old.replaced
        if old.handed.time and new.handed.time:
            is_older = new.handed.time < old.handed.time
        if is_older:
            submission.notes.append(f"{exercise.file} of {shown(new.handed.name)} is older than "
                                    f"that of {shown(old.handed.name)}, which stands")  # fmt: skip
        new = old if is_older else replace(new, replaced=(*old.replaced, sha(old.file)))
    one.works[name] = new
    one.offered.add(name)


def hidden_from_students(settings: GradeSettings) -> list[Path]:
    """The course, others' submissions and grades, and what the instructor wrote for this call."""
    named = (ROOT, settings.out, *settings.submissions, *settings.against, settings.roster,
             course_file())  # fmt: skip
    return [path.resolve() for path in named if path]


def grade_missing(call: Call, graded: list[Graded], folder: Path) -> tuple[str, int]:
    """Grade what no earlier call has graded, and save each result as it comes; the kind of the
    sandbox, "" if none was needed, and how many files were graded in it."""
    settings = call.settings
    if not call.submissions and not settings.regrade:
        return "", 0
    folder.chmod(0o711)  # whoever a student's process is, it finds its own files below and no list
    sandbox = choose(settings.sandbox, hidden_from_students(settings), folder)
    if sandbox.kind in WARNINGS:
        warn(f"sandbox {sandbox.kind}: {WARNINGS[sandbox.kind]}")
    if sandbox.kind == "none" and os.geteuid() == 0 and not sandbox.as_nobody:
        warn("it runs as root: grade as another user")
    jobs = []
    for one in graded:
        waiting = []
        for exercise in call.asked:
            work = one.works.get(exercise.name)
            if not work or not (settings.regrade or exercise.name in one.offered):
                continue
            job = call.job(one.student, exercise, work.file, sandbox)
            path = call.saved_as(one.student, exercise.name)
            if work.key != job.key:
                waiting.append(job)
            elif work != gradebook.saved_work(path):  # the same file with another time
                gradebook.save_work(path, work)
        jobs += [waiting] * bool(waiting)
    works = {one.student: one.works for one in graded}
    missing = sum(map(len, jobs))
    with (progress_bar(missing, "grading", unit=" files") as bar,
          open(settings.out / TIMES, "a", encoding="utf-8", newline="") as times):  # fmt: skip
        rows = csv.writer(times, lineterminator="\n")
        processes = settings.jobs or os.cpu_count() or 1
        for job, done in grade_all(jobs, sandbox, folder, processes=processes,
                                   timeout=settings.timeout, seed=call.course.seed):  # fmt: skip
            if not done.sound:
                bar.write(f"{job.student}, {job.exercise.name}: {done.outcomes[0].message}; call "
                          "again to grade it", file=sys.stderr)  # fmt: skip
            keep_result(call, works[job.student], job, done)
            rows.writerow([harmless(job.student), job.exercise.name, f"{done.seconds:.2f}"])
            times.flush()
            bar.update()
    return sandbox.kind, missing


def keep_result(call: Call, works: dict[str, Work], job: Job, done: Done) -> None:
    """Save a result. One that is not sound is no fault of the student's: what was there stays."""
    name = job.exercise.name
    path = call.saved_as(job.student, name)
    if done.sound:
        works[name] = replace(works[name], done=done, key=job.key)
        gradebook.save_work(path, works[name])
    else:
        works[name] = gradebook.saved_work(path) or replace(works[name], done=done)


def mark_all(call: Call, graded: list[Graded], names: set[str],
             adjusted: marks.Adjustments) -> tuple[list[str], bool]:  # fmt: skip
    """Mark what earlier calls have asked for, `names`, and this one, once a file of it is there;
    where it names nothing, the weeks of which anything has been handed in. Also counted, in this
    call alone, is what has points by hand, and of each week all exercises. The names that stay; has
    a week begun?"""
    weeks, has_begun = call.course.weeks, False
    before = names.union(what for _, what in adjusted)
    everything = {exercise.name for exercise in present()}
    handed = {name: one.student for one in reversed(graded) for name in one.handed}
    if call.scope is not None:
        asked = {exercise.name for exercise in call.scope}
        if names and asked.isdisjoint(handed) and not asked <= names:
            warn(f"nobody has handed in a file of {' or '.join(sorted(asked))}: that does not "
                 "count until somebody does")  # fmt: skip
        else:
            names |= asked
    elif weeks:
        new = [week for week in weeks if week.names & {*handed} and before.isdisjoint(week.items)]
        has_begun = bool(before and new)
        for week in new if before or len(new) > 1 else ():
            who = next(handed[name] for name in sorted(week.names) if name in handed)
            warn(f"week {week.name} counts from now on, for everybody: {who} has handed in a file "
                 "of it")  # fmt: skip
        names = names.union(*(week.names for week in weeks if week.names & {*handed}))
    elif call.submissions:
        new = {name: handed[name] for name in handed if names and name not in names}
        for name, who in new.items():
            warn(f"{name} counts from now on, for everybody: {who} has handed in a file of it")
        names = names.union(new) or everything
    by_hand = {what for _, what in adjusted}
    weeks = [week for week in weeks if (names | by_hand).intersection(week.items)]
    counted = names.union(by_hand, *(week.names for week in weeks)) or {*handed} or everything
    for one in graded:
        one.counted = [exercise for exercise in present() if exercise.name in counted]
        one.marks = marks.marks_of(one.student, one.report, one.handed, course=call.course,
                                   weeks=weeks, person=one.person,
                                   adjustments=adjusted)  # fmt: skip
    return [exercise.name for exercise in present() if exercise.name in names], has_begun


def mark_likeness(graded: list[Graded], against: tuple[Path, ...]) -> None:
    for exercise in present():
        prints = {one.student: one.works[exercise.name].done.fingerprint
                  for one in graded if exercise.name in one.works}  # fmt: skip
        file = f"students/*/{exercise.name}.json"
        earlier = {f"{path.parent.name} of {folder.name}": work.done.fingerprint
                   for folder in against for path in sorted(folder.glob(file))
                   if (work := gradebook.saved_work(path))}  # fmt: skip
        found = likeness.marks(exercise, prints, earlier)
        for one in graded:
            if one.student in found:
                one.likeness.append(found[one.student])


if __name__ == "__main__":
    main()
