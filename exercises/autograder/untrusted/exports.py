"""What other systems take back: Canvas, Moodle, feedback by submission, pages without names."""

import hmac
import io
import re
import secrets
import zipfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from autograder.course import Week
from autograder.points import Exercise
from autograder.untrusted import gradebook
from autograder.untrusted import roster as rosters
from autograder.untrusted.gradebook import Graded
from autograder.untrusted.marks import POINTS, Mark, WeekMark
from bert_run.config import as_typed
from bert_run.errors import UserError
from bert_run.files import folder_in_one_piece, write_atomically

WHOSE = ("ID", "SIS User ID", "SIS Login ID", "Student",  # of Canvas
         "ID number", "Email address", "Full name", "Username")  # fmt: skip
OF_CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Integration ID", "Root Account",
             "Section")  # fmt: skip
KEY, ANONYMOUS = ".key", "anonymous"


def write_canvas(source: Path, target: Path, graded: list[Graded], week: Week,
                 roster: rosters.Roster | None) -> None:  # fmt: skip
    """Fill in the week's column of a gradebook that Canvas has exported. Columns of other
    assignments are left out, so that importing the file cannot change them."""
    table = [row for _, row in rosters.read_cells(source)] or [[]]
    wanted = rosters.tokens(week.title or f"week {week.name}")
    found = [i for i, title in enumerate(map(rosters.tokens, table[0]))
             if any(title[j : j + len(wanted)] == wanted for j in range(len(title)))]  # fmt: skip
    if len(found) != 1:
        raise UserError(f"{source.name} has {len(found)} columns with {' '.join(wanted)!r} in the "
                        f"name, not one: give week {week.name} a title in course.toml")  # fmt: skip
    title = table[0][found[0]]
    if rosters.tokens(re.sub(r"\(\d+\)$", "", title.strip())) != wanted:
        rosters.warn(f"{source.name}: the marks of week {week.name} go into the column {title!r}")
    possible = [row[found[0]] for row in table if row[0].strip() == "Points Possible"]
    fill_in(table, found, possible, graded, week, roster, source)
    kept = [i for i, name in enumerate(table[0]) if name in OF_CANVAS or i in found]
    rosters.save_table(target, [[row[i] for i in kept] for row in table])


def write_moodle(source: Path, target: Path, graded: list[Graded], week: Week,
                 roster: rosters.Roster | None) -> None:  # fmt: skip
    """Fill in the grades and comments of a grading worksheet that Moodle has handed out."""
    table = [row for _, row in rosters.read_cells(source)] or [[]]
    header = table[0]
    if "Grade" not in header:
        raise UserError(f"{source.name} has no column Grade: download the grading worksheet of "
                        "the assignment")  # fmt: skip
    columns = [header.index(name) for name in ("Grade", "Feedback comments") if name in header]
    possible = [dict(zip(header, row, strict=False)).get("Maximum Grade", "") for row in table[1:]]
    fill_in(table, columns, possible, graded, week, roster, source)
    rosters.save_table(target, table)


def fill_in(table: list[list[str]], columns: list[int], possible: list[str], graded: list[Graded],
            week: Week, roster: rosters.Roster | None, source: Path) -> None:  # fmt: skip
    """Write the week's points, and comments if there is a second column, into the rows of students
    whom we know and Canvas does not excuse; in proportion where the first of `possible` differs."""
    own = {one.student: one for one in graded}
    totals = {one.student: total for one in graded for total in one.marks.weeks
              if total.name == week.name}  # fmt: skip
    if not totals:
        raise UserError(f"week {week.name} has no marks yet: grade it first")
    highest = best = totals[graded[0].student].best
    if text := "".join(possible[:1]).strip():
        number = as_typed(text.replace(",", "."), float)
        if not POINTS.admits(number) or number < 0:
            raise UserError(f"{source.name}: {text!r} is no highest mark: write a number there")
        highest = number or best
    known = roster or rosters.Roster([rosters.Person(name, keys=tuple(re.findall(r"_(\d+)$", name)))
                                      for name in own])  # fmt: skip
    naming = [i for name in WHOSE for i, title in enumerate(table[0]) if title == name]
    unknown, excused, replaced, absent = [], [], [], set(own)
    whose = [known.exactly(*[row[i] for i in naming]) for row in table[1:]]
    twice = {student for student in own if whose.count(student) > 1}
    if doubled := [row[0] for row, student in zip(table[1:], whose, strict=True)
                   if student in twice]:  # fmt: skip
        rosters.warn(
            f"{source.name}: no marks for {'; '.join(doubled)}: several rows are of one "
            "student: give each person a row of the roster, with the ID as a key"
        )
    for row, student in zip(table[1:], whose, strict=True):
        absent.discard(student)
        if student in twice:
            continue
        if student in own and row[columns[0]].strip().upper() == "EX":  # of Canvas
            excused.append(row[0])
        elif student in own:
            total, items = totals[student], own[student].marks.items
            cells = f"{total.points * highest / best:.2f}", in_words(total, items, week)
            if (before := row[columns[0]].strip()) and as_typed(before, float) != float(cells[0]):
                replaced.append(f"{row[0]} ({before} → {cells[0]})")
            for column, cell in zip(columns, cells, strict=False):
                row[column] = cell
        elif any(row[i] for i in naming[:1]) and row[0] != "Student, Test":
            unknown.append(row[0])
    if unknown:
        rosters.warn(f"{source.name}: no marks for {'; '.join(unknown)}: not in the roster?")
    if excused:
        rosters.warn(f"{source.name}: {'; '.join(excused)}: excused (EX), which stays")
    if replaced:
        rosters.warn(f"{source.name}: other marks stood there: {'; '.join(replaced)}")
    if absent:
        rosters.warn(f"{source.name}: no row for {'; '.join(sorted(absent))}: their marks of week "
                     f"{week.name} are not in the new file")  # fmt: skip
    if highest != best:
        rosters.warn(f"{source.name} has {highest:g} points for week {week.name}, which has "
                     f"{best:g}: the marks are in proportion")  # fmt: skip


def in_words(total: WeekMark, items: list[Mark], week: Week) -> str:
    """A week's mark for its student: what there is, what is off, and the comments."""
    lines = [f"{total.points:g} of {total.best:g} points"]
    if total.days:
        lines.append(f"{total.days} days late, {total.free} of them free")
    for mark in (mark for mark in items if mark.what in week.items):
        if mark.cut:
            lines.append(f"{mark.what}: {mark.cut:g} off for being late")
        lines += [f"{mark.what}: {comment}" for comment in mark.comments]
    return "; ".join(lines)


def write_feedback(out: Path, graded: list[Graded], exercises: list[Exercise]) -> None:
    """A zip with the page of each student who handed in one of the exercises, under the name by
    which Canvas or Moodle know the submission, else in a folder of the student's name."""
    pages = []
    for one in graded:
        names = [one.works[e.name].handed.name for e in exercises if e.name in one.works]
        if names or one.notes:  # who handed in what cannot be read needs the page most
            last = max(names or [one.student], key=lambda n: (rosters.read_label(n).attempt, n))
            page = out / "students" / one.student / "report.html"
            pages.append((feedback_name(last, one.student), page.read_bytes()))
    write_zip(out / "feedback.zip", pages)


def feedback_name(name: str, student: str) -> str:
    label = rosters.read_label(re.sub("[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", name))
    if label.kind == "Canvas":
        return f"{label.who}_{'LATE_' * label.late}{label.user}_{label.attempt[0]}_report.html"
    if label.kind == "Moodle":
        return f"{label.who}_{label.user}_assignsubmission_file_/report.html"
    return f"{student}/report.html"


def write_zip(path: Path, files: Iterable[tuple[str, str | bytes]], mode: int = 0) -> None:
    """A zip of these files, with the same bytes each time."""
    text = io.BytesIO()
    with zipfile.ZipFile(text, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            entry = zipfile.ZipInfo(name)  # of 1980
            entry.external_attr = mode << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    write_atomically(path, text.getvalue())


def pseudonyms(out: Path, names: Iterable[str]) -> dict[str, str]:
    """Each pseudonym, and who it is; none before they have been asked for once."""
    if not (out / KEY).is_file():
        return {}
    key = (out / KEY).read_bytes()
    return {f"p-{hmac.new(key, name.encode(), 'sha256').hexdigest()[:8]}": name for name in names}


def write_anonymous(out: Path, graded: list[Graded]) -> None:
    """The folder for somebody who shall not know whose work it is: pages, files and marks under
    pseudonyms. What students write in a file stays as it is."""
    if not (out / KEY).is_file():
        write_atomically(out / KEY, secrets.token_hex(32))
        (out / KEY).chmod(0o600)
    own, found = {one.student: one for one in graded}, []
    with folder_in_one_piece(out / ANONYMOUS) as folder:
        for name, student in sorted(pseudonyms(out, own).items()):
            one = replace(own[student], student=name, person=None, notes=[], likeness=[])
            found.append(one)
            (folder / name).mkdir()
            gradebook.save_page(folder / name / "report.html", one)
            for exercise, work in one.works.items():
                (folder / name / f"{exercise}.py").write_bytes(work.file)
        gradebook.save_gradebook(folder / "gradebook.csv", found)
