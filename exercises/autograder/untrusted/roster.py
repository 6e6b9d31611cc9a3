"""Who is in the class, and whose work a file is: `roster.csv`, and the names that Canvas and Moodle
give to what they hand on.

    id,name,key,extension
    s02,Given Family,12345;someone@example.org,3:2

`key` is what else a name may have of a student, several with a ; between them. `extension` is a
number of days, for every week or, as 3:2, two for week 3."""

import csv
import io
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import combinations
from pathlib import Path
from typing import Any

from autograder.course import Course
from bert_run.config import Real, as_typed
from bert_run.errors import UserError
from bert_run.files import text_lines, write_atomically

# How a course system calls a file that was handed in. What the student has called it comes last.
# Canvas has long numbers and hands on no folders: week_1_2_anna and hw_03_05_anna are not of it.
SYSTEMS = {
    "Canvas": re.compile(r"(?P<who>[^_]+)_(?P<late>LATE_)?(?P<user>[1-9]\d+)_"
                         r"(?P<number>[1-9]\d+)_(?P<file>.+)", re.IGNORECASE),
    "Moodle": re.compile(r"(?P<who>.+?)_(?P<user>\d+)_assignsubmission_(?:file|onlinetext)"
                         r"(?:_(?P<file>.*))?"),
}  # fmt: skip
TIMES = "submitted.csv"  # beside the submissions
DAYS = Real(at_least=0, at_most=1000)
# softmax-2.py is a second attempt, softmax (1).py was fetched twice; in 2027-01-31 31 is a day.
ATTEMPT = re.compile(r"(?:(?<!\d{4}-\d\d)-([1-9]\d?))?(?: ?\((\d+)\))?$")


@dataclass(frozen=True)
class Label:
    """What a name says. `keys` are what the student can be known by, the surest first."""

    who: str
    file: str
    keys: tuple[str, ...] = ()
    user: str = ""  # the number that Canvas or Moodle know the student by
    late: bool = False
    attempt: tuple[int, int, int] = (0, 0, 0)
    kind: str = ""  # of the course system


def read_label(name: str, *, is_folder: bool = False) -> Label:
    """What a name says; a name of no course system is the student's. No student chooses a key."""
    name = unicodedata.normalize("NFC", name)
    kind, parts = "", {"who": name, "file": name}
    for system, form in SYSTEMS.items():
        is_possible = not kind and not (system == "Canvas" and is_folder)
        if is_possible and (found := form.fullmatch(name)):
            kind, parts = system, found.groupdict("")
    who, user = parts["who"], parts.get("user", "")
    again = ATTEMPT.search(re.sub(r"\.\w+$", "", parts["file"]))
    attempt = int(parts.get("number", 0)), int(again[1] or 0), int(again[2] or 0)
    keys = (user, who) if kind == "Canvas" else (who,)
    return Label(who, parts["file"], keys, user, bool(parts.get("late")), attempt, kind)


@dataclass(frozen=True)
class Person:
    id: str
    name: str = ""
    keys: tuple[str, ...] = ()
    extension: dict[str, float] = field(default_factory=dict)  # days; of every week under ""

    def days(self, week: str) -> float:
        return self.extension.get(week, self.extension.get("", 0.0))


class Roster:
    """The people of a class, and what they can be known by."""

    def __init__(self, people: list[Person]) -> None:
        self.people = {person.id: person for person in people}
        self.known: dict[tuple[str, ...], set[str]] = {}
        for person in people:
            words = tokens(person.name)
            turned = [words[i:] + words[:i] for i in range(len(words))]  # Family, Given
            ways = [tokens(text) for text in (person.id, *person.keys)]
            for way in [*ways, *turned, *[("".join(each),) for each in turned]]:
                self.known.setdefault(way, set()).add(person.id)

    def match(self, *texts: str, is_whole: bool = False) -> list[str]:
        """Who is named in the first text that names anybody, or is wholly the name of somebody;
        Anna in Anna Berg names nobody, nor do the numbers of week 2 or of a second copy (2): an id
        below 100 must stand alone."""
        for text in texts:
            words = tokens(re.sub(r" ?\(\d+\)(\.\w+)?$", r"\1", text))
            is_alone = len({*words} - {"py", "zip"}) == 1
            spans = {
                frozenset(range(start, end)): self.known[words[start:end]]
                for start, end in combinations(range(len(words) + 1), 2)
                if words[start:end] in self.known
                and (is_alone or not re.fullmatch(r"\d\d?", " ".join(words[start:end])))
                and end - start >= (len(words) if is_whole else 1)
            }
            if spans:
                named = [ids for span, ids in spans.items() if not any(map(span.__lt__, spans))]
                return sorted(set().union(*named))
        return []

    def exactly(self, *texts: str) -> str | None:
        """The one whom a cell of a table names."""
        named = [self.known.get(words, set()) for words in map(tokens, texts) if words]
        return next((min(ids) for ids in named if len(ids) == 1), None)


def tokens(text: str) -> tuple[str, ...]:
    plain = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    return tuple(re.findall(r"[^\W_]+", plain))


def read_roster(path: Path, course: Course) -> Roster:
    people, owners = [], {}
    for place, row in read_table(path, ["id"], ("name", "key", "extension")):
        own, name, key, extension = (row.get(f, "") for f in ("id", "name", "key", "extension"))
        keys = tuple(filter(None, map(str.strip, key.split(";"))))
        if not re.fullmatch(r"[\w .@+-]+", own) or own.strip(" .") != own:
            raise UserError(f"{place}: the id {own!r} is to be the name of a folder: take letters, "
                            "digits, - and _")  # fmt: skip
        for text in (own, *keys):
            if (other := owners.setdefault(tokens(text), place)) != place:
                raise UserError(f"{place}: {text!r} is there twice, as in {other}: each student "
                                "needs an id and keys of their own")  # fmt: skip
        people.append(Person(own, name, keys, extension_of(extension, place, course)))
    return Roster(people)


def extension_of(text: str, place: str, course: Course) -> dict[str, float]:
    """`2`, or `3:2` for two days in week 3, which the course must have if it has weeks."""
    found = {}
    for part in text.replace(";", " ").split():
        week, _, days = part.rpartition(":")
        if week and course.weeks:
            week = course.week(week, f"{place}: the extension of week").name
        found[week] = as_typed(days, float)
        if not DAYS.admits(found[week]):
            raise UserError(f"{place}: the extension {text!r} is no number of days: write 2, or "
                            "3:2 for two days in week 3")  # fmt: skip
    return found


def read_table(path: Path, needs: list[str],
               knows: Sequence[str] = ()) -> Iterator[tuple[str, dict[str, str]]]:  # fmt: skip
    """The rows of a CSV file, each with its place, by the names in its first line; `knows` are the
    columns that may be there, too."""
    table = read_cells(path)
    header = [name.strip().casefold() for name in table[0][1]] if table else []
    if absent := [name for name in needs if name not in header]:
        raise UserError(f"{path.name}: its first line has no {', '.join(absent)}: it must be "
                        f"{','.join(needs)}")  # fmt: skip
    if unread := [name for name in header if name not in (*needs, *knows, "")]:
        warn(f"{path.name}: ignored columns: {', '.join(unread)}; known are "
             f"{', '.join((*needs, *knows))}")  # fmt: skip
    for line, cells in table[1:]:
        place = f"{path.name}, line {line}"
        if len(cells) > len(header):
            raise UserError(f"{place}: it has {len(cells)} cells, the first line {len(header)}: "
                            "put a text with a comma into quotes")  # fmt: skip
        row = dict(zip(header, [cell.strip() for cell in cells], strict=False))
        if absent := [name for name in needs if not row.get(name)]:
            raise UserError(f"{place}: there is no {absent[0]} in it")
        yield place, row


def read_cells(path: Path) -> list[tuple[int, list[str]]]:
    """The lines of a CSV file that are not empty, each with as many cells as the first, or more. It
    may have a byte order mark, and ; where the comma stands in numbers: so spreadsheets write."""
    lines = [line for _, line in text_lines(path)]
    first = lines[0] if lines else ""
    delimiter = ";" if first.count(";") > first.count(",") else ","
    try:
        reader = csv.reader((f"{line}\n" for line in lines), strict=True, delimiter=delimiter)
        table = [(reader.line_num, row) for row in reader if any(row)]
        return [(line, row + [""] * (len(table[0][1]) - len(row))) for line, row in table]
    except csv.Error as error:
        raise UserError(f"{path} is no CSV file: {error}") from None


def save_table(path: Path, rows: Iterable[Iterable[Any]]) -> None:
    """Write a CSV file in one piece."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_atomically(path, text.getvalue())


def harmless(text: str) -> str:
    """A cell that begins like a formula is taken for one: an apostrophe says that it is text."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r", "\n") else text


def warn(line: str) -> None:
    print(f"warning: {line}", file=sys.stderr)


def time_of(text: str, place: str) -> datetime:
    """A moment as ISO 8601 writes it, and as Canvas does."""
    try:
        plain = re.sub(r" ?UTC$|Z$", "+00:00", text.strip())
        plain = re.sub(r" ?([+-]\d\d):?(\d\d)$", r"\1:\2", plain)
        found = datetime.fromisoformat(plain)
        return found if found.tzinfo else found.astimezone()
    except (ValueError, OverflowError):
        raise UserError(f"{place}: {text!r} is no time: write 2027-01-17T23:59:00+01:00") from None


def read_times(folder: Path) -> dict[str, datetime]:
    """`submitted.csv` of a folder of submissions: when each came, by its name or the student's."""
    path, times = folder / TIMES, {}
    for place, row in read_table(path, ["name", "time"]) if path.is_file() else ():
        time = time_of(row["time"], place)
        if times.setdefault(row["name"].casefold(), time) != time:
            raise UserError(f"{place}: {row['name']} is there twice: remove one")
    return times
