"""What other systems take back: Canvas's gradebook, pages by submission, the zip of Gradescope."""

import io
import re
import zipfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from autograder.course import Week, tomllib
from autograder.points import ROOT, Exercise
from autograder.untrusted import gradebook
from autograder.untrusted import roster as rosters
from autograder.untrusted.gradebook import Graded
from autograder.untrusted.submissions import name_of
from bert_run.errors import UserError
from bert_run.files import write_atomically

WHOSE = ("ID", "SIS User ID", "SIS Login ID", "Student")  # columns of Canvas, the surest first
KEPT = (*WHOSE, "Integration ID", "Root Account", "Section")


def write_canvas(
    source: Path, target: Path, graded: list[Graded], week: Week, roster: rosters.Roster | None
) -> None:
    """Fill in the week's column of a gradebook that Canvas has exported, in proportion where it has
    other points. Columns of other assignments are left out, so that importing the file cannot
    change them."""
    totals = {one.student: total for one in graded for total in one.marks.weeks
              if total.name == week.name}  # fmt: skip
    if not totals:
        raise UserError(f"week {week.name} has no marks yet: grade it first")
    table = [row for _, row in rosters.read_cells(source)] or [[]]
    header, column = table[0], column_of(week, table[0], source.name)
    highest = best = totals[graded[0].student].best
    with suppress(StopIteration, ValueError):
        highest = float(next(r[column] for r in table if r[0].strip() == "Points Possible")) or best
    known = roster or rosters.Roster(
        [rosters.Person(name, keys=tuple(name.rsplit("_", 1)[1:])) for name in totals]
    )
    naming = [header.index(name) for name in WHOSE if name in header]
    unknown, absent = [], set(totals)
    for row in table[1:]:
        row += [""] * (len(header) - len(row))
        student = known.exactly(*[row[i] for i in naming])
        if student in totals:
            absent.discard(student)
            row[column] = f"{totals[student].points * highest / best:.2f}"
        elif any(row[i] for i in naming[:1]) and row[0] != "Student, Test":
            unknown.append(row[0])
    if unknown:
        rosters.warn(f"{source.name}: no marks for {'; '.join(unknown)}: not in the roster?")
    if absent:
        rosters.warn(f"{source.name}: no row for {'; '.join(sorted(absent))}: their marks of week "
                     f"{week.name} are not in the new file")  # fmt: skip
    if highest != best:
        rosters.warn(f"{source.name} has {highest:g} points for week {week.name}, which has "
                     f"{best:g}: the marks are in proportion")  # fmt: skip
    kept = [i for i, name in enumerate(header) if name in KEPT or i == column]
    rosters.save_table(target, [[row[i] for i in kept] for row in table])


def column_of(week: Week, header: list[str], file: str) -> int:
    """The one column that has the words of the week's title in its name."""
    wanted = rosters.tokens(week.title or f"week {week.name}")
    found = [i for i, title in enumerate(map(rosters.tokens, header))
             if any(title[j : j + len(wanted)] == wanted for j in range(len(title)))]  # fmt: skip
    if len(found) != 1:
        raise UserError(f"{file} has {len(found)} columns with {' '.join(wanted)!r} in the name, "
                        f"not one: give week {week.name} a title in course.toml")  # fmt: skip
    return found[0]


def write_feedback(
    path: Path, graded: list[Graded], exercises: list[Exercise], place: Callable[[str], Path]
) -> None:
    """A zip with the page of each student who handed in one of the exercises, under the name by
    which Canvas or Moodle know the submission, else in a folder of the name that was handed in."""
    pages = []
    for one in graded:
        names = [one.works[e.name].handed.name for e in exercises if e.name in one.works]
        if names:
            last = max(names, key=lambda name: (rosters.read_label(name).attempt, name))
            pages.append((feedback_name(last), (place(one.student) / "report.html").read_bytes()))
    write_zip(path, pages)


def feedback_name(name: str) -> str:
    label = rosters.read_label(name)
    if label.kind == "Canvas":
        late = "LATE_" * label.late
        return f"{label.who}_{late}{label.user}_{label.attempt[0]}_report.html"
    if label.kind == "Moodle":
        return f"{label.who}_{label.user}_assignsubmission_file_/report.html"
    return f"{name_of(Path(name))}/report.html"


def write_zip(path: Path, files: Iterable[tuple[str, str | bytes]], mode: int = 0) -> None:
    """A zip of these files, with the same bytes each time."""
    text = io.BytesIO()
    with zipfile.ZipFile(text, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            entry = zipfile.ZipInfo(name)  # of 1980
            entry.external_attr = mode << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    write_atomically(path, text.getvalue())


UNUSED = {"datasets", "jupyterlab"}  # libraries of the course that grading does not need


def write_bundle(path: Path, exercises: list[Exercise]) -> None:
    """For Gradescope: a zip with `setup.sh`, `run_autograder` and what they need of the course,
    without solutions."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    libraries = [re.match(r"[\w.-]+", line)[0] for line in project["dependencies"]]
    values = {"libraries": " ".join(name for name in libraries if name not in UNUSED),
              "exercises": ",".join(exercise.name[:2] for exercise in exercises)}  # fmt: skip
    files = {name: gradebook.TEMPLATES.get_template(name).render(values) + "\n"
             for name in ("setup.sh", "run_autograder")}  # fmt: skip
    files |= {f"course/{file.relative_to(ROOT).as_posix()}": file.read_bytes()
              for file in files_of(exercises)}  # fmt: skip
    write_zip(path, files.items(), mode=0o100755)  # the two scripts are run


def files_of(exercises: list[Exercise]) -> list[Path]:
    """The grader, the exercises without solutions, and the packages that they compare with."""
    folders = [*ROOT.glob("[0-9][0-9]_*/bert_*"), ROOT / "exercises" / "autograder"]
    if any(exercise.name == "25_capstone" for exercise in exercises):
        folders.append(ROOT / "experiments" / "bert_experiments")
    found = [ROOT / "constraints.txt"]
    for exercise in exercises:
        found += [exercise.folder / "README.md", exercise.starter, exercise.test]
    found += [path for folder in folders for path in folder.rglob("*")
              if path.is_file() and "__pycache__" not in path.parts]  # fmt: skip
    return sorted(found)
