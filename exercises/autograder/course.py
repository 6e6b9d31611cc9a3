"""`course.toml`: the weeks of a term, their exercises, deadlines and weights (see README.md)."""

import hashlib
import json
import re
import secrets
import sys
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import date, datetime, time, timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

from autograder.codec import variant
from autograder.points import CATALOGUE, ROOT, Exercise, find, present
from bert_run.config import Real, Whole, check_fields
from bert_run.errors import UserError, shown
from bert_run.files import write_atomically

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pytest needs it on Python 3.10

COURSE = "course.toml"

TINY = tuple(float(f"{digit}e-{power}") for power in (12, 11) for digit in range(2, 10))
RATES = tuple(percent / 100 for percent in range(10, 31) if percent != 15)

# By exercise: an argument, the default that the page has, and those that a student may have.
OWN_DEFAULTS: dict[str, tuple[str, float, tuple[float, ...]]] = {
    "04_layer_norm": ("eps", 1e-12, TINY),
    "10_mlm_masking": ("rate", 0.15, RATES),
    "14_masking_on_device": ("rate", 0.15, RATES),
}
MOST = 9_999  # numbers of students
OF_PAGE = "the default is that of the page, and you were given one of your own"


@dataclass(frozen=True)
class Week:
    """One assignment: what counts in it. `due` is None where nothing is ever late."""

    name: str
    exercises: tuple[Exercise, ...] = ()
    due: datetime | None = None
    weight: float | None = None
    title: str = ""
    parts: tuple[tuple[str, float], ...] = ()

    @property
    def names(self) -> set[str]:
        return {exercise.name for exercise in self.exercises}

    @property
    def items(self) -> list[str]:
        """The names of all that has points."""
        return [*(exercise.name for exercise in self.exercises), *dict(self.parts)]

    @property
    def best(self) -> float:
        return sum(e.points for e in self.exercises) + sum(points for _, points in self.parts)


@dataclass(frozen=True)
class Course:
    weeks: tuple[Week, ...] = ()
    drop_lowest: Annotated[int, Whole(0, 100)] = 0
    late_days: Annotated[int, Whole(0, 365)] = 0
    late_penalty: Annotated[float, Real(at_least=0, at_most=100)] = 0.0  # percent
    seed: Annotated[int, Whole(0, 2**63 - 1)] = 0  # secret; 0 where there is none
    variants: bool = False  # whether each student has defaults of their own
    variant: Annotated[int, Whole(0, MOST)] = 0  # in a student's copy: their number

    def __post_init__(self) -> None:
        check_fields(self)
        if not isinstance(self.variants, bool):
            raise UserError(f"variants is {shown(self.variants)}: it must be true or false")
        if self.weeks and self.drop_lowest >= len(self.weeks):
            raise UserError(f"drop_lowest is {self.drop_lowest}, and there are only "
                            f"{len(self.weeks)} weeks: one has to count")  # fmt: skip

    def variant_of(self, student: str) -> int:
        """The number of a student, by their id in the roster, under the secret seed; 0 for none."""
        return 1 + digest(student, self.seed) % MOST if self.variants else 0

    def week(self, name: str, place: str = "--week") -> Week:
        for week in self.weeks:
            if week.name in (name, name.lstrip("0")):
                return week
        raise UserError(f"{place} {name}: {COURSE} has none of that name, only "
                        f"{', '.join(week.name for week in self.weeks)}")  # fmt: skip


def find_course() -> Course:
    """What is written in `course_file`; a course without weeks where there is no such file."""
    return read_course(path) if (path := course_file()) else Course()


def course_file() -> Path | None:
    """`course.toml`, here or at the root of the repository."""
    return next((path for path in (Path(COURSE), ROOT / COURSE) if path.is_file()), None)


def chosen(course: Course, week: str | None, exercises: str | None) -> list[Exercise] | None:
    """The exercises that --week and --exercises name; None where neither is given."""
    if week is not None and exercises is not None:
        raise UserError("--week and --exercises both name exercises: take one")
    if week is not None and not course.weeks:
        raise UserError(f"--week {week}: there is no {COURSE}: bert-grade init writes one")
    if week is not None:
        return list(course.week(week).exercises)
    return parse_exercises([exercises], "--exercises") if exercises is not None else None


def parse_exercises(texts: Iterable[str], place: str) -> list[Exercise]:
    """`["01-02, 10", "03_softmax"]` as exercises, in order."""
    here = present()
    by_number = {int(exercise.name[:2]): exercise for exercise in (*CATALOGUE, *here)}
    numbers: set[int] = set()
    for part in (part.strip() for text in texts for part in str(text).split(",")):
        if span := re.fullmatch(r"(\d+)(?:\s*[-–]\s*(\d+))?", part):
            first, last = int(span[1]), int(span[2] or span[1])
        else:
            first = last = int(part[:2]) if find(part) else 0
        if first > last or not {first, last} <= by_number.keys():
            raise UserError(f"{place}: {shown(part)} is no exercise: write 3, 03-05 or 03_softmax, "
                            f"from 01 to {max(by_number):02}")  # fmt: skip
        numbers |= set(range(first, last + 1))
    found = [by_number[number] for number in sorted(numbers)]
    if absent := [exercise.name for exercise in found if exercise not in here]:
        raise UserError(f"{place}: {', '.join(absent)} has no test in this copy of the course")
    return found


# Reading the file: every mistake is told in one line, with its place.

FIELDS = [field.name for field in fields(Course) if field.name != "weeks"]
POINTS = Real(at_least=0, at_most=1e6)
# Of a week: whether a field may have a value, and how it may be written.
OF_WEEK = {
    "exercises": (lambda value: isinstance(value, list) and {*map(type, value)} <= {str},
                  '["01-02", "10"]'),
    "due": (lambda value: isinstance(value, date) and 1 < value.year < 9999,
            "2027-01-17T23:59:00+01:00, without quotes"),
    "weight": (POINTS.admits, "2"),
    "title": (lambda value: isinstance(value, str), '"The project"'),
    "parts": (lambda value: isinstance(value, dict) and all(map(POINTS.admits, value.values())),
              "{ report = 20 }"),
}  # fmt: skip


def read_course(path: Path) -> Course:
    try:
        return parse_course(tomllib.loads(path.read_text(encoding="utf-8-sig")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not TOML: {error}") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    except UserError as error:
        raise UserError(f"{path.name}: {error}") from None


def parse_course(content: dict[str, Any]) -> Course:
    refuse_unknown(content, [*FIELDS, "week"], "")
    weeks = content.get("week")
    if not isinstance(weeks, dict) or not weeks:
        raise UserError("no week is in it: write [week.1], and below it exercises = ['01-02']")
    found = tuple(parse_week(name, content_of_week) for name, content_of_week in weeks.items())
    taken: dict[str, str] = {}
    for name, week in ((name, own.name) for own in found for name in own.items):
        if (other := taken.setdefault(name, week)) != week:
            way_out = "take it out of one" if find(name) else "give the part another name in one"
            raise UserError(f"{name} is in week {other} and in week {week}: {way_out}")
    return Course(found, **{name: content[name] for name in FIELDS if name in content})


def parse_week(name: str, content: Any) -> Week:
    place = f"week {name}"
    if not isinstance(content, dict):
        raise UserError(f"{place} is {shown(content)}: write [week.{name}] and its fields below")
    refuse_unknown(content, OF_WEEK, f"{place}: ")
    for field, value in content.items():
        admits, example = OF_WEEK[field]
        if not admits(value):
            raise UserError(f"{place}: {field} is {shown(value)}: write {field} = {example}")
    parts = content.get("parts", {})
    if taken := [part for part in parts if find(part) or part.startswith("week ")]:
        raise UserError(f"{place}: parts.{taken[0]} has the name of something else: take another")
    week = Week(
        name, tuple(parse_exercises(content.get("exercises", []), f"{place}: exercises")),
        due_time(content["due"]) if "due" in content else None,
        content.get("weight"), content.get("title", ""),
        tuple((part, float(points)) for part, points in parts.items()))  # fmt: skip
    if not week.best:
        raise UserError(f"{place} has neither exercises nor parts: write exercises = ['01-02']")
    return week


def refuse_unknown(content: dict[str, Any], known: Iterable[str], place: str) -> None:
    for name in content:
        if name not in known:
            close = get_close_matches(name, known, 1)
            way_out = f"was {close[0]} meant?" if close else f"there are {', '.join(known)}"
            raise UserError(f"{place}{name} is no field: {way_out}")


def due_time(value: date) -> datetime:
    """A time with its zone: for a date the end of that day, without a zone this machine's."""
    if not isinstance(value, datetime):
        value = datetime.combine(value, time(23, 59, 59))
    return value if value.tzinfo else value.astimezone()


# Defaults of a student's own (`variants = true`): a file that was passed on has another student's,
# so it fails the checks that leave the argument out.


def own_default(exercise: str) -> float:
    """The default of the exercise's argument, for the student whose answer is graded."""
    return default_of(exercise, variant())


def default_of(exercise: str, number: int) -> float:
    """The same for a student's number; 0: that of the page."""
    _, usual, others = OWN_DEFAULTS[exercise]
    return others[digest(exercise, number) % len(others)] if number else usual


def digest(*parts: object) -> int:
    text = " ".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


# Writing the file. The exercises of each week, for terms of so many weeks; TEACHING.md shows them.
PLANS = {
    6: "01-02, 10 · 03-05 · 06-07 · 08-09, 11 · 18 · 25",
    10: "01-02, 10 · 03-05 · 06-07 · 08-09, 11 · 12-14 · 15-17 · 18-19 · 20-22, 26 · "
        "23-24, 27 · 25",
    12: "01-02, 10 · 03-05 · 06-07 · 08-09, 11 · 12-14 · 15-17 · 18 · 19-20, 26 · 21-22 · "
        "23-24, 27 · 25",
    15: "01-02 · 10 · 03-05 · 06-07 · 08-09 · 11 · 12-13 · 14-15 · 16-17 · 18 · 19 · 20, 26 · "
        "21-22 · 23-24, 27 · 25",
}  # fmt: skip


def plan(weeks: int) -> dict[str, list[str]]:
    """The exercises of each week by its name; the last week may be of several, such as 11-12."""
    found = [part.split(", ") for part in PLANS[weeks].split(" · ")]
    names = [str(number) for number in range(1, len(found) + 1)]
    if len(found) < weeks:
        names[-1] += f"-{weeks}"
    return dict(zip(names, found, strict=True))


def write_course(path: Path, weeks: int, start: date | None) -> None:
    """Write `course.toml`; each week is due on its seventh day, if there is a `start`."""
    found = plan(weeks)
    if start and not 2000 <= start.year <= 2999:
        raise UserError(f"--start is {start}: it must be a day of the years 2000 to 2999")
    if path.exists():
        raise UserError(f"{path} is there already: name another --out, or remove it")
    lines = [
        "# The weeks of this term. All fields: exercises/autograder/README.md",
        "drop_lowest = 0      # weeks that do not count, for each student those with the least",
        "late_days = 0        # days of delay that are free, for each student over the term",
        "late_penalty = 10    # percent of an exercise's points for each day beyond them",
        f"seed = {secrets.randbits(63) or 1}    # secret: students get this file without this line",
    ]
    for name, exercises in found.items():
        due = "# due = 2027-01-17T23:59:59+01:00"
        if start:
            last_day = start + timedelta(7 * int(name.split("-")[-1]) - 1)
            due = f"due = {due_time(last_day).isoformat()}"
        lines += ["", f"[week.{name}]", f"exercises = {json.dumps(exercises)}", due]
    write_atomically(path, "\n".join(lines) + "\n")
