"""What other systems take back: the columns of Canvas and Moodle, feedback in the names that were
handed in, and pages without names.
"""

import hmac
import io
import secrets
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from autograder.course import Week
from autograder.points import Exercise
from autograder.untrusted import gradebook
from autograder.untrusted.gradebook import Graded
from autograder.untrusted.marks import Mark, WeekMark
from autograder.untrusted.roster import Person, Roster, read_cells, read_label, save_table, tokens
from autograder.untrusted.submissions import name_of
from bert_run.errors import UserError
from bert_run.files import folder_in_one_piece, write_atomically

WHOSE = ("ID", "SIS User ID", "SIS Login ID", "Student",  # of Canvas
         "ID number", "Email address", "Full name", "Username")  # fmt: skip
OF_CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Integration ID", "Root Account",
             "Section")  # fmt: skip
KEY, ANONYMOUS = ".key", "anonymous"
Table = list[list[str]]


def write_canvas(
    source: Path, target: Path, graded: list[Graded], week: Week, roster: Roster | None
) -> None:
    """Fill in the week's column of a gradebook that Canvas has exported. Columns of other
    assignments are left out, so that importing the file cannot change them."""
    table = [row for _, row in read_cells(source)]
    column = column_of(week, table, source)
    possible = [row[column] for row in table if row[0].strip() == "Points Possible"]
    fill_in(table, {"points": column}, possible, graded, week, roster, source)
    kept = [i for i, name in enumerate(table[0]) if name in OF_CANVAS or i == column]
    save_table(target, [[row[i] for i in kept] for row in table])


def write_moodle(
    source: Path, target: Path, graded: list[Graded], week: Week, roster: Roster | None
) -> None:
    """Fill in the grades and comments of a grading worksheet that Moodle has handed out."""
    table = [row for _, row in read_cells(source)]
    header = table[0] if table else []
    if "Grade" not in header:
        raise UserError(f"{source.name} has no column Grade: download the grading worksheet of "
                        "the assignment")  # fmt: skip
    columns = {"points": header.index("Grade")}
    if "Feedback comments" in header:
        columns["comments"] = header.index("Feedback comments")
    possible = [dict(zip(header, row, strict=False)).get("Maximum Grade") for row in table[1:]]
    fill_in(table, columns, possible, graded, week, roster, source)
    save_table(target, table)


def column_of(week: Week, table: Table, source: Path) -> int:
    """The column whose title has the week's title, or `week 3`, in it."""
    wanted = tokens(week.title or f"week {week.name}")
    header = [tokens(title) for title in table[0]] if table else []
    found = [i for i, title in enumerate(header)
             if any(title[j : j + len(wanted)] == wanted for j in range(len(title)))]  # fmt: skip
    if len(found) != 1:
        raise UserError(f"{source.name} has {len(found)} columns with {' '.join(wanted)!r} in the "
                        f"name, not one: give week {week.name} a title in course.toml")  # fmt: skip
    return found[0]


def fill_in(
    table: Table, columns: dict[str, int], possible: list[str | None], graded: list[Graded],
    week: Week, roster: Roster | None, source: Path,
) -> None:  # fmt: skip
    """Write the week's points, and comments where there is a column for them, into the rows of
    students whom we know; in proportion where the first of `possible` is another number."""
    own = {one.student: one for one in graded}
    known = roster or Roster([Person(name, keys=tuple(name.rsplit("_", 1)[1:])) for name in own])
    naming = [i for name in WHOSE for i, title in enumerate(table[0]) if title == name]
    totals = {one.student: total for one in graded for total in one.marks.weeks
              if total.name == week.name}  # fmt: skip
    if not totals:
        raise UserError(f"week {week.name} has no marks yet: grade it first")
    best = totals[graded[0].student].best
    highest = (number_of(possible[0]) if possible else None) or best
    unknown, absent = [], set(own)
    for row in table[1:]:
        row += [""] * (len(table[0]) - len(row))
        student = known.exactly(*[row[i] for i in naming])
        if student in own:
            absent.discard(student)
            total = totals[student]
            row[columns["points"]] = f"{total.points * highest / best:.2f}"
            if "comments" in columns:
                row[columns["comments"]] = in_words(total, own[student].marks.items, week)
        elif any(row[i] for i in naming[:1]) and row[0] != "Student, Test":
            unknown.append(row[0])
    if unknown:
        print(f"warning: {source.name}: no marks for {'; '.join(unknown)}: not in the roster?",
              file=sys.stderr)  # fmt: skip
    if absent:
        print(f"warning: {source.name}: no row for {'; '.join(sorted(absent))}: their marks of "
              f"week {week.name} are not in the new file", file=sys.stderr)  # fmt: skip
    if highest != best:
        print(f"{source.name} has {highest:g} points for week {week.name}, which has {best:g}: "
              "the marks are in proportion", file=sys.stderr)  # fmt: skip


def number_of(cell: str | None) -> float | None:
    try:
        return float(cell or "")
    except ValueError:
        return None


def in_words(total: WeekMark, items: list[Mark], week: Week) -> str:
    """A week's mark for its student: what there is, what is off, and the comments."""
    names = {exercise.name for exercise in week.exercises} | {part for part, _ in week.parts}
    lines = [f"{total.points:g} of {total.best:g} points"]
    if total.days:
        lines.append(f"{total.days} days late, {total.free} of them free")
    for mark in (mark for mark in items if mark.what in names):
        lines += [f"{mark.what}: {mark.cut:g} off for being late"] * bool(mark.cut)
        lines += [f"{mark.what}: {comment}" for comment in mark.comments]
    return "; ".join(lines)


def write_feedback(
    path: Path, graded: list[Graded], exercises: list[Exercise], place: Callable[[str], Path]
) -> None:
    """A zip with the page of each student who handed in one of the exercises, under the name that
    Canvas or Moodle know the submission by; else in a folder of the name that was handed in."""
    text = io.BytesIO()
    with zipfile.ZipFile(text, "w", zipfile.ZIP_DEFLATED) as archive:
        for one in graded:
            names = [one.works[e.name].handed.name for e in exercises if e.name in one.works]
            if names:
                last = max(names, key=lambda name: (read_label(name).attempt, name))
                page = (place(one.student) / "report.html").read_bytes()
                entry = zipfile.ZipInfo(feedback_name(last))  # of 1980: the same bytes each time
                archive.writestr(entry, page, zipfile.ZIP_DEFLATED)
    write_atomically(path, text.getvalue())


def feedback_name(name: str) -> str:
    label = read_label(name)
    if label.kind == "Canvas":
        late = "LATE_" * label.late
        return f"{label.who}_{late}{label.user}_{label.attempt[0]}_report.html"
    if label.kind == "Moodle":
        return f"{label.who}_{label.user}_assignsubmission_file_/report.html"
    return f"{name_of(Path(name))}/report.html"


def pseudonyms(out: Path, graded: list[Graded]) -> dict[str, str]:
    """Each pseudonym, and who it is; none before they have been asked for once."""
    if not (out / KEY).is_file():
        return {}
    key = (out / KEY).read_bytes()
    return {f"p-{hmac.new(key, one.student.encode(), 'sha256').hexdigest()[:8]}": one.student
            for one in graded}  # fmt: skip


def write_anonymous(out: Path, graded: list[Graded]) -> None:
    """The folder to give to somebody who shall not know whose work it is: pages, files and marks
    under pseudonyms. What the students themselves write in a file stands there as it is."""
    if not (out / KEY).is_file():
        write_atomically(out / KEY, secrets.token_hex(32))
        (out / KEY).chmod(0o600)
    own = {one.student: one for one in graded}
    found = []
    with folder_in_one_piece(out / ANONYMOUS) as folder:
        for name, student in sorted(pseudonyms(out, graded).items()):
            one = replace(own[student], student=name, person=None, notes=[], likeness=[])
            found.append(one)
            (folder / name).mkdir()
            gradebook.save_student(folder / name / "report.html", one)
            for exercise, work in one.works.items():
                (folder / name / f"{exercise}.py").write_bytes(work.file)
        gradebook.save_gradebook(folder / "gradebook.csv", found)
