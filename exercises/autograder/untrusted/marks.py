"""What work is worth: points, delay, points by hand, weeks, the term; and which marks changed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from autograder.course import Course, Week
from autograder.points import find, present
from autograder.runner import Report, write_report
from autograder.untrusted.roster import Person, harmless, read_cells, read_table, save_table
from autograder.untrusted.submissions import Handed
from bert_run.config import Real, as_typed
from bert_run.errors import UserError
from bert_run.files import read_record

CHANGES, STATE, ADJUST = "changes.csv", "marks.json", "adjust.csv"
HEAD = ["student", "what", "from", "to", "why"]  # of changes.csv
TERM = "term"
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
    weight: float
    days: int = 0
    free: int = 0
    is_dropped: bool = False


@dataclass
class Marks:
    """All marks of a student, in order; `percent` is of the term so far, None without a course."""

    items: list[Mark] = field(default_factory=list)
    weeks: list[WeekMark] = field(default_factory=list)
    percent: float | None = None

    @property
    def points(self) -> float:
        return round(sum(mark.points for mark in self.items), 2)

    @property
    def best(self) -> float:
        return round(sum(mark.best for mark in self.items), 2)


Adjustments = dict[tuple[str, str], list[tuple[float, str]]]  # of a student, and of what


def marks_of(student: str, report: Report, handed: dict[str, Handed], *, weeks: list[Week],
             course: Course, person: Person | None, adjustments: Adjustments) -> Marks:  # fmt: skip
    """The marks for the exercises of a report; `weeks` are those that count so far."""
    marks = Marks()
    own = {e["name"]: (e["score"], e["max_score"]) for e in report["exercises"]}

    def mark(what: str, raw: float, best: float, days: int = 0, over: int = 0) -> Mark:
        found = adjustments.get((student, what), [])
        share = min(1.0, over * course.late_penalty / 100)
        return Mark(what, raw, best, days, round(raw * share + 1e-9, 2),
                    round(sum(points for points, _ in found), 2),
                    tuple(comment for _, comment in found if comment))  # fmt: skip

    left = course.late_days
    for week in weeks:
        late = {e.name: days_late(week, handed.get(e.name), person) for e in week.exercises}
        days = max(late.values(), default=0)
        free = min(days, left)
        left -= free
        items = [mark(name, *own[name], late[name], max(0, late[name] - free)) for name in late]
        of_week = Marks(items + [mark(part, 0.0, best) for part, best in week.parts])
        marks.items += of_week.items
        weight = of_week.best if week.weight is None else week.weight
        marks.weeks.append(WeekMark(week.name, of_week.points, of_week.best, weight, days, free))
    in_weeks = {item.what for item in marks.items}
    marks.items += [mark(name, *points) for name, points in own.items() if name not in in_weeks]
    if course.weeks:
        drop_and_add_up(marks, course.drop_lowest)
    return marks


def days_late(week: Week, handed: Handed | None, person: Person | None) -> int:
    """Days begun since the week was due, with the extension; 1 for what Canvas calls LATE where the
    time or the day is unknown."""
    extension = person.days(week.name) if person else 0.0
    if handed is None:
        return 0
    if handed.time and week.due:
        over = handed.time.replace(microsecond=0) - week.due - timedelta(days=extension)
        return max(0, math.ceil(over / timedelta(days=1)))
    return int(handed.late and not extension)


def drop_and_add_up(marks: Marks, lowest: int) -> None:
    """Drop the weeks with the smallest share of their points, the first of equal ones, once there
    are more weeks with a weight than that; the term is the weighted mean of the others."""
    order = sorted((w for w in marks.weeks if w.weight), key=lambda week: week.points / week.best)
    dropped = {week.name for week in order[:lowest]} if len(order) > lowest else set()
    marks.weeks = [replace(week, is_dropped=week.name in dropped) for week in marks.weeks]
    kept = [week for week in marks.weeks if not week.is_dropped and week.weight]
    whole = sum(week.weight for week in kept)
    parts = sum(week.weight * week.points / week.best for week in kept)
    marks.percent = round(100 * parts / whole + 1e-9, 2) if whole else 0.0


def read_adjustments(path: Path, course: Course, names: Mapping[str, str],
                     counted: set[str]) -> Adjustments:  # fmt: skip
    """The points of `adjust.csv`; `names` maps a name in small letters to the student. `counted`
    are the exercises that count, also if the course has them in no week."""
    parts = [part for week in course.weeks for part, _ in week.parts]
    found: Adjustments = {}
    needs, knows = ["student", "what", "points"], ("comment", "by")
    for place, row in read_table(path, needs, knows) if path.is_file() else ():
        name, what = row["student"], row["what"]
        student = names.get(name) or names.get(name.casefold())
        if student is None:
            raise UserError(f"{place}: nobody is called {name!r}: take the name of a "
                            "folder in students/")  # fmt: skip
        exercise = find(what.zfill(2))
        if what not in parts and exercise not in present():
            raise UserError(f"{place}: {what!r} is neither one exercise nor a part of course.toml, "
                            f"which has {', '.join(parts) or 'none'}")  # fmt: skip
        what = what if what in parts else exercise.name
        if course.weeks and what not in counted.union(*(week.items for week in course.weeks)):
            raise UserError(f"{place}: {what} is in no week of course.toml: add it to one")
        points = as_typed(row["points"], float)
        if not POINTS.admits(points):
            raise UserError(f"{place}: {row['points']!r} is no number of points: write 2 or -0.5")
        comment = " · ".join(filter(None, [row.get("comment", ""), row.get("by", "")]))
        found.setdefault((student, what), []).append((points, comment))
    return found


# Which marks have changed. What was last written stands in marks.json, with what each mark came
# from; changes.csv is written before it, so that the next call makes good an interrupted one.

# Why a mark has changed, by the field of marks.json that has.
CAUSES = {"file": "file: {name}", "raw": "the checks give {raw:g}", "cut": "{cut:g} off for delay",
          "added": "{added:+g} in adjust.csv", "weeks": "{weeks} weeks count"}  # fmt: skip


def read_state(out: Path) -> dict[str, Any]:
    path, fields = out / STATE, {"students": dict, "counted": list, "sandbox": str, "lines": int,
                                 "has_course": bool}  # fmt: skip
    way_out = "put it back from a backup, or remove it: then this call lists no changes"
    state = read_record(path, optional=fields, way_out=way_out) if path.exists() else {}
    for name, own in (state.get("students") or {}).items():
        if not isinstance(own, dict) or {*map(type, own.values())} - {dict}:
            raise UserError(f"{path} is damaged (the marks of {name}): {way_out}")
    return state


def ledger(marks: Marks, files: dict[str, tuple[str, str]]) -> dict[str, dict[str, Any]]:
    """Each mark for marks.json, and what it came from; `files` has the hash and name of each."""
    found = {}
    for mark in marks.items:
        file, name = files.get(mark.what, ("", ""))
        found[mark.what] = {**vars(mark), "points": mark.points, "file": file, "name": name}
    found |= {f"week {week.name}": {"points": week.points} for week in marks.weeks}
    if marks.percent is not None:
        count = len(marks.weeks)
        found[f"{TERM} of {count} weeks"] = {"points": marks.percent, "weeks": count}
    return found


def write_changes(out: Path, state: dict[str, Any], *, why: str, has_begun: bool) -> None:
    """Add to changes.csv what differs from marks.json, and write `state` there. The term's percent
    is compared with that of fewer weeks only where a week `has_begun` that nobody named."""
    before, path, rows = read_state(out), out / CHANGES, []
    table = [cells for _, cells in read_cells(path)] if path.is_file() else [HEAD]
    if table[:1] != [HEAD]:
        raise UserError(f"{path}: its first line must be {','.join(HEAD)}: correct it")
    # By a call that was ended before it wrote marks.json, which counts the lines.
    listed = {tuple(line[:2]): tuple(line[2:4]) for line in table[before.get("lines", 1) :]}
    for student, old in sorted(before.get("students", {}).items()):
        new, shown = state["students"].get(student, {}), harmless(student)
        for what, was in old.items():
            now = new.get(what)
            if now is None and what.startswith(TERM):  # another week counts
                now = next((new[name] for name in new if has_begun and name.startswith(TERM)), None)
                if now is None:
                    continue
            change = f"{was['points']:g}", f"{now['points']:g}" if now else ""
            if change[0] != change[1] and listed.get((shown, what)) != change:
                rows.append([shown, what, *change, harmless(reason(was, now, why))])
    if rows or not path.is_file():
        save_table(path, table + rows)
    write_report(out / STATE, {**state, "lines": len(table + rows)})


def reason(was: dict[str, Any], now: dict[str, Any] | None, why: str) -> str:
    """What has changed below a mark, and what the call says of it."""
    if now is None:
        found = ["it does not count any more: the course or the roster has changed, or --remove"]
    else:
        named = {**now, "name": now.get("name") or "none"}
        found = [text.format(**named) for field, text in CAUSES.items()
                 if now.get(field) != was.get(field)]  # fmt: skip
    return "; ".join(filter(None, [*found, why]))
