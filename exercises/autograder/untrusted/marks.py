"""What work is worth: points, delay, points by hand, weeks; and which marks have changed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from autograder.course import Course, Week
from autograder.points import find
from autograder.runner import Report, write_report
from autograder.untrusted.roster import Person, harmless, read_table, save_table
from autograder.untrusted.submissions import Handed
from bert_run.errors import Real, UserError, as_typed, read_record

CHANGES, STATE, ADJUST = "changes.csv", "marks.json", "adjust.csv"
POINTS = Real(at_least=-1e6, at_most=1e6)  # by hand


@dataclass(frozen=True)
class Mark:
    """`cut` is what being late takes off, `added` comes from adjust.csv, as do the comments."""

    what: str
    raw: float
    best: float
    days: int = 0
    cut: float = 0.0
    added: float = 0.0
    comments: tuple[str, ...] = ()

    @property
    def points(self) -> float:
        return max(0.0, round(self.raw - self.cut + self.added, 2))


@dataclass(frozen=True)
class WeekMark:
    """A week's sum. Of its `days` of delay, `free` are taken from the student's late days."""

    name: str
    points: float
    best: float
    days: int
    free: int


@dataclass
class Marks:
    """All marks of a student, in order."""

    items: list[Mark] = field(default_factory=list)
    weeks: list[WeekMark] = field(default_factory=list)

    @property
    def points(self) -> float:
        return round(sum(mark.points for mark in self.items), 2)

    @property
    def best(self) -> float:
        return round(sum(mark.best for mark in self.items), 2)


Adjustments = dict[tuple[str, str], list[tuple[float, str]]]  # of a student, and of what


def marks_of(
    student: str, report: Report, handed: dict[str, Handed], *, course: Course, weeks: list[Week],
    person: Person | None, adjustments: Adjustments,
) -> Marks:  # fmt: skip
    """The marks for the exercises of a report; `weeks` are those that count so far."""
    marks = Marks()
    own = {exercise["name"]: (exercise["score"], exercise["max_score"])
           for exercise in report["exercises"]}  # fmt: skip

    def mark(what: str, raw: float, best: float, days: int = 0, over: int = 0) -> Mark:
        found = adjustments.get((student, what), [])
        share = min(1.0, over * course.late_penalty / 100)
        return Mark(what, raw, best, days, round(raw * share + 1e-9, 2),
                    round(sum(points for points, _ in found), 2),
                    tuple(comment for _, comment in found if comment))  # fmt: skip

    left = course.late_days
    for week in weeks:
        late = {exercise.name: days_late(week, handed.get(exercise.name), person)
                for exercise in week.exercises}  # fmt: skip
        days = max(late.values(), default=0)
        free = min(days, left)
        left -= free
        of_week = Marks(
            [mark(name, *own[name], late[name], max(0, late[name] - free)) for name in late]
            + [mark(part, 0.0, best) for part, best in week.parts]
        )
        marks.items += of_week.items
        marks.weeks.append(WeekMark(week.name, of_week.points, of_week.best, days, free))
    in_weeks = {item.what for item in marks.items}
    marks.items += [mark(name, *points) for name, points in own.items() if name not in in_weeks]
    return marks


def days_late(week: Week, handed: Handed | None, person: Person | None) -> int:
    """Days begun since the week was due, with the extension; 1 for late at an unknown time."""
    extension = person.days(week.name) if person else 0.0
    if handed is None or week.due is None:
        return 0
    if handed.time:
        over = handed.time - week.due - timedelta(days=extension)
        return max(0, math.ceil(over / timedelta(days=1)))
    return int(handed.late and not extension)


def read_adjustments(path: Path, course: Course, names: Mapping[str, str]) -> Adjustments:
    """The points of `adjust.csv`; `names` maps a name in small letters to the student."""
    parts = [part for week in course.weeks for part, _ in week.parts]
    found: Adjustments = {}
    rows = read_table(path, ["student", "what", "points"]) if path.is_file() else []
    for place, row in rows:
        student, what = names.get(row["student"].casefold()), row["what"]
        if student is None:
            raise UserError(f"{place}: nobody is called {row['student']!r}: take the name of a "
                            "folder in students/")  # fmt: skip
        exercise = find(what.zfill(2))
        if what not in parts and exercise is None:
            raise UserError(f"{place}: {what!r} is neither one exercise nor a part of course.toml, "
                            f"which has {', '.join(parts) or 'none'}")  # fmt: skip
        what = what if what in parts else exercise.name
        points = as_typed(row["points"], float)
        if not POINTS.admits(points):
            raise UserError(f"{place}: {row['points']!r} is no number of points: write 2 or -0.5")
        comment = " · ".join(filter(None, [row.get("comment", ""), row.get("by", "")]))
        found.setdefault((student, what), []).append((points, comment))
    return found


# Which marks have changed since marks.json was written. changes.csv is written before it, so that a
# call that is ended between both is made good by the next one.


def read_state(out: Path) -> dict[str, Any]:
    way_out = "put it back from a backup, or remove it: then this call lists no changes"
    return read_record(out / STATE, way_out=way_out) if (out / STATE).exists() else {}


def ledger(marks: Marks) -> dict[str, dict[str, float]]:
    """Each mark of a student for marks.json."""
    found = {mark.what: {"points": mark.points} for mark in marks.items}
    return found | {f"week {week.name}": {"points": week.points} for week in marks.weeks}


def write_changes(out: Path, state: dict[str, Any], *, why: str) -> None:
    """Add to changes.csv what differs from marks.json, and write `state` there."""
    path, rows = out / CHANGES, []
    lines = [line for _, line in read_table(path, ["student"])] if path.is_file() else []
    listed = {(line["student"], line["what"]): (line["from"], line["to"]) for line in lines}
    for student, old in sorted(read_state(out).get("students", {}).items()):
        new, shown = state["students"].get(student, {}), harmless(student)
        for what, was in old.items():
            change = f"{was['points']:g}", f"{new[what]['points']:g}" if what in new else ""
            if change[0] != change[1] and listed.get((shown, what)) != change:
                rows.append([shown, what, *change, harmless(why)])
    if rows or not path.is_file():
        head = ["student", "what", "from", "to", "why"]
        save_table(path, [head, *(line.values() for line in lines), *rows])
    write_report(out / STATE, state)
