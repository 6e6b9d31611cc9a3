"""Rows, their fields, columns and labels: what one example is read from.

A row is a dict with its place, wherever it comes from. A field is looked up under the usual names
of columns, in any case, or under those that the user gives with --columns.
"""

import json
import math
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from bert_run.errors import UserError

Item = TypeVar("Item")
Note = Callable[[str], object]  # takes a few words about what was found
LONGEST = 60  # characters of a value in an error


def silent(found: str) -> None:
    """A `note` for readers whose user is not told."""


class Row(NamedTuple):
    place: str  # "dev.tsv: line 3", for errors
    fields: dict[str, Any]

    @property
    def line(self) -> int:
        """The number of its line, or of its row on the Hub: every place ends with it."""
        return int(self.place.rpartition(" ")[2])

    @property
    def is_blank(self) -> bool:
        """Whether it holds nothing, as the rows that Excel writes below a table."""
        return not any(str(value).strip() for value in self.fields.values() if value is not None)

    def find(self, names: Collection[str]) -> str | None:
        """The first of the names that it has a field of, as it writes it."""
        return usual_name(self.fields, names)

    def spelled(self, name: str) -> str:
        """A name as the row writes it; the same name if the row has no such field."""
        return name if name in self.fields else self.find([name]) or name

    def text(self, name: str) -> str:
        """A field that must be there and be text."""
        return self._of_type(name, str, "text")

    def texts(self, name: str) -> list[str]:
        """A field that must be there and be a list of texts."""
        values = self._of_type(name, list, "a list")
        for value in values:
            if not isinstance(value, str):
                problem = f"{quoted(name)} holds {quoted(value)}: all of it must be text"
                raise UserError(f"{self.place}: {problem}")
        return values

    def _of_type(self, name: str, type_: type, in_words: str) -> Any:
        name = self.spelled(name)
        if name not in self.fields:
            raise self.missing(name)
        if not isinstance(self.fields[name], type_):
            raise self.wrong(name, f": it must be {in_words}")
        return self.fields[name]

    def missing(self, *names: str) -> UserError:
        wanted, there = " or ".join(map(quoted, names)), listed(list(self.fields)) or "none"
        return UserError(f"{self.place} has no {wanted}: its columns are {there}")

    def wrong(self, name: str, problem: str) -> UserError:
        return UserError(f"{self.place}: {quoted(name)} is {quoted(self.fields[name])}{problem}")


Table = Iterator[Row]


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def one_of(names: Sequence[str]) -> str:
    """What may stand there, in words; of many the first ten."""
    return f"one of {listed(names)}"


def listed(names: Sequence[str]) -> str:
    """Names in an error; of many the first ten."""
    return f"{', '.join(map(quoted, names[:10]))}{', …' * (len(names) > 10)}"


def quoted(value: Any) -> str:
    """A value of a row in an error, shortened."""
    text = json.dumps(value, default=str) if not isinstance(value, str) else repr(value)
    return shortened(text)


def shortened(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


@cache
def plain_name(name: str) -> str:
    """What counts of a column's name: `Review Text`, `review_text` and `REVIEW-TEXT` are one."""
    return re.sub(r"[\s_-]+", "_", name.strip().lower())


def usual_name(fields: Iterable[str], names: Collection[str]) -> str | None:
    """The first of the names that there is a field of, as the field writes it."""
    there = {plain_name(field): field for field in fields}
    return next((there[name] for name in map(plain_name, names) if name in there), None)


# --- Columns -------------------------------------------------------------------------------------

# The usual names: the first that are there count, pairs before single texts.
USUAL_NAMES = json.loads(Path(__file__).with_name("columns.json").read_text("utf-8"))
PAIRS, TEXTS, LABELS = (USUAL_NAMES[of] for of in ("pairs", "texts", "labels"))
WORDS, TAGS = USUAL_NAMES["words"], USUAL_NAMES["tags"]
CONTEXTS = USUAL_NAMES["contexts"]  # of a choice, and what all its endings begin with, if anything
# Columns that hold what is asked; a text that is just one of these words is improbable.
ASKED_COLUMNS = {*TEXTS, *(name for pair in (*PAIRS, *CONTEXTS) for name in pair if name)}


@dataclass(frozen=True)
class Columns:
    """Which columns hold the text, the second text of a pair, and the label.

    None: found by their usual names. If `text` is a number ("1" is the first column), the file has
    no line of names, and all three are numbers.
    """

    text: str | None = None
    pair: str | None = None
    label: str | None = None

    @property
    def numbered(self) -> bool:
        return self.text is not None and self.text.isdecimal()

    def label_in(self, row: Row) -> str | None:
        """The column of labels as the row writes it; None if none has a usual name."""
        return row.spelled(self.label) if self.label else row.find(LABELS)

    def found_in(self, row: Row, *, labelled: bool) -> "Columns":
        """The same columns as the row writes them, those that were open by their usual names."""
        if self.text is None and self.pair is None:
            usual = (tuple(row.find([name]) for name in pair) for pair in PAIRS)
            text, pair = next((pair for pair in usual if all(pair)), (None, None))
            text = text or row.find(TEXTS)
        else:
            text = row.spelled(self.text) if self.text else row.find(TEXTS)
            pair = row.spelled(self.pair) if self.pair else None
        label = None
        if labelled:
            label = self.label_in(row) or LABELS[0]
        found = Columns(text or TEXTS[0], pair, label)
        used = [name for name in (found.text, found.pair, found.label) if name is not None]
        for name in used:
            if name not in row.fields:
                raise unknown_column(row, name, labelled=labelled)
        if self.numbered and row.line == 1:  # it must not hold names
            cells = [str(row.fields[name]).strip() for name in used]
            if usual_name(cells, [*ASKED_COLUMNS, *LABELS]):
                raise header_error(row.place.partition(": line")[0], cells)
        return found


USUAL = Columns()


@dataclass
class Tally:
    """What was made of a source, noted while it is read."""

    source: str = ""  # the file
    columns: Columns | None = None
    found: dict[str, None] = field(default_factory=dict)  # of the file, in words, in order
    left_out: Counter[str] = field(default_factory=Counter)  # rows, by the reason
    line: int = 0  # of the row that was read last
    lines: list[int] = field(default_factory=list)  # of each example

    def note(self, found: str) -> None:
        self.found[found] = None

    def watched(self, rows: Table) -> Table:
        for row in rows:
            self.line = row.line
            yield row


@dataclass(frozen=True)
class Expected:
    """What the rows of a source should hold."""

    columns: Columns = USUAL
    labels: Sequence[str] | None = None  # that may occur; None lets all pass
    by_place: bool = True  # a number may stand for the label at its place, as in GLUE's files
    labelled: bool = True  # False: labels are not looked at
    tally: Tally = field(default_factory=Tally)


def unknown_column(row: Row, name: str, *, labelled: bool = True) -> UserError:
    """A column that is not there, with the way out."""
    if labelled and row.find(TEXTS):
        return UserError(f"{row.missing(name)}: name yours, --columns label=NAME")
    names, numbers = ("TEXT,LABEL", "1,2") if labelled else ("TEXT", "1")
    return UserError(
        f"{row.missing(name)}: name yours, --columns {names}, or number them, --columns "
        f"{numbers}, if line 1 is no line of names"
    )


def header_error(source: str | Path, names: Sequence[str]) -> UserError:
    given = shortened(" ".join(",".join(names).split()))
    return UserError(
        f"{source}: line 1 looks like the names of columns ({given}): name them, --columns "
        f"{given}; if line 1 is an example, move it to another line"
    )


PARTS = ("text", "pair", "label")


def parse_columns(text: str | None, *, labelled: bool = True) -> Columns:
    """`TEXT,LABEL` or `TEXT,PAIR,LABEL`, without labels `TEXT` or `TEXT,PAIR`: names of columns, or
    their numbers from 1. `text=NAME,label=NAME` names some; the others go by their usual names."""
    if text is None:
        return USUAL
    given = [name.strip() for name in text.split(",")]
    parts = dict(each.split("=", 1) for each in given if each.partition("=")[0] in PARTS
                 and "=" in each)  # fmt: skip
    if len(parts) == len(given) and all(parts.values()) and (labelled or "label" not in parts):
        return Columns(**parts)
    most, forms = (3, "TEXT,LABEL or TEXT,PAIR,LABEL") if labelled else (2, "TEXT or TEXT,PAIR")
    is_whole = len(given) in (most - 1, most) and all(given) and len({*given}) == len(given)
    if not is_whole or len({name.isdecimal() for name in given}) > 1:
        raise UserError(
            f"--columns {text}: write {forms}, all by name or all by number, none twice"
        )
    label = given.pop() if labelled else None
    return Columns(given[0], given[1] if len(given) == 2 else None, label)


# --- Labels --------------------------------------------------------------------------------------

# What is doubtful is an error with its line. A label that was understood in the wrong way costs a
# whole training run, and nothing in the result shows it. A user can repair a line within a minute,
# so no guess is made here.

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
WHOLE = re.compile(r"[+-]?\d+(\.0*)?", re.ASCII)  # 1.0 is how pandas writes 1 beside a missing one
WITH_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
INFINITE = ("inf", "+inf", "-inf", "infinity", "-infinity")
# What spreadsheets and pandas write where there is no value; no label is called that.
MISSING = ("nan", "<na>", "nat", "#n/a", "#value!", "#ref!", "#name?", "#div/0!", "#num!", "#null!")
OR_NAMES = "(for labels that are names give --format texts)"
LARGEST = 1e15  # of a number to be predicted; its square must fit into float32 with room to spare

MANY = 10  # classes, from which on they are compared with the number of examples
COUNTED = 20  # whole numbers, from which on they may well be a scale


# --- Names ---------------------------------------------------------------------------------------


@dataclass
class Names:
    """Reads labels that are names. `allowed` are those that may occur; None lets all pass."""

    column: str
    allowed: Sequence[str] | None = None
    by_place: bool = True  # a number may stand for the name at its place in `allowed`
    spellings: "Spellings" = field(default_factory=lambda: Spellings())

    def of(self, row: Row) -> str | None:
        """The label without blanks around it; None if the row is known to have none."""
        value = value_of(row, self.column)
        if isinstance(value, list | dict):
            raise row.wrong(self.column, ": several labels, and a text has one: choose one")
        if value is None:
            return None
        name = value.strip() if isinstance(value, str) else json.dumps(value)
        if name.lower() in MISSING or name in ("Infinity", "-Infinity"):
            missing = ", which stands for a missing value: write a label, or remove the line"
            raise row.wrong(self.column, missing)
        check_written(name, row.place)
        if self.allowed is None:
            self.spellings.check(name, row.place)
        if self.allowed is None or name in self.allowed:
            return name
        numbers = {str(place): label for place, label in enumerate(self.allowed)}
        if self.by_place and name in numbers and not any(map(str.isdecimal, self.allowed)):
            return numbers[name]  # a file of numbers means the places of the names in the list
        raise UserError(f"{row.place}: the label is {quoted(name)}, not {one_of(self.allowed)}")


def value_of(row: Row, column: str) -> Any:
    """What the row has in the column of labels; None where it is known that there is no label.

    Raises `UserError` for an empty cell: it is a label that was forgotten, or a missing number.
    """
    if column not in row.fields:
        raise row.missing(column)
    value = row.fields[column]
    if column == "gold_label" and value == "-":  # SNLI and MNLI, where people did not agree
        return None
    if isinstance(value, str) and not value.strip():
        empty = f"{quoted(column)} is empty: write a label, or remove the line"
        raise UserError(f"{row.place}: {empty}")
    return value


def check_written(name: str, place: str) -> None:
    """Raise `UserError` for a label with marks around or in it that only a mistake puts there."""
    has_control = any(unicodedata.category(letter) == "Cc" for letter in name)
    if has_control or (len(name) > 1 and name[0] == name[-1] == '"'):
        what = "a control character (a line end, a tab)" if has_control else "quotes around it"
        raise UserError(f"{place}: the label {quoted(name)} has {what}: remove them")


def plain_form(name: str) -> str:
    """What two spellings of one label have in common.

    They may differ in case, in blanks, in characters that nobody sees (a zero-width space), in how
    Unicode writes a letter (é as one character or as two), and in how a whole number is written.

    >>> plain_form("1.0"), plain_form("Ve\u200bry  good")
    ('1', 'very good')
    """
    letters = unicodedata.normalize("NFKC", name)
    seen = "".join(letter for letter in letters if unicodedata.category(letter) != "Cf")
    plain = " ".join(unicodedata.normalize("NFKC", seen.casefold()).split())
    if not WHOLE.fullmatch(plain):
        return plain
    digits = plain.partition(".")[0].lstrip("+")
    sign = "-" * digits.startswith("-")
    return sign + (digits.lstrip("-").lstrip("0") or "0")


class Spellings:
    """Refuses two labels that are one and the same in their plain form.

    `Pos` beside `pos` is almost always one label that was typed in two ways. As two classes they
    would both be learned badly, and the score would not say why. Who tells them apart on purpose
    renames one; so this is an error and not a note that scrolls by.
    """

    def __init__(self) -> None:
        self.first: dict[str, tuple[str, str]] = {}  # plain form: as first written, and where

    def check(self, name: str, place: str) -> None:
        earlier, where = self.first.setdefault(plain_form(name), (name, place))
        if earlier == name:
            return
        raise UserError(
            f"{place}: the label {name!a} differs from {earlier!a} ({where}) only in "
            "case, in blanks, or in how a number or a character is written: write both alike, or "
            "rename one"
        )


# --- Numbers -------------------------------------------------------------------------------------


@dataclass
class NumberLabels:
    """Reads numbers to be predicted. Decimal commas are read where no number has a point."""

    column: str
    note: Note = silent
    marks: dict[str, str] = field(default_factory=dict)  # "," or ".": where one was written first

    def of(self, row: Row) -> float | None:
        """The number; None if the row is known to have none."""
        value = value_of(row, self.column)
        if value is None:
            return None
        if isinstance(value, str):
            value = self.with_point(row, value.strip())
        is_number = type(value) in (int, float) or NUMBER.fullmatch(str(value))
        try:
            number = float(value) if is_number else math.nan
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise row.wrong(self.column, f": it must be a number {OR_NAMES}")
        if abs(number) > LARGEST:
            large = "too large to learn from: divide all numbers, so that they lie between -10 and"
            raise row.wrong(self.column, f", {large} 10, say")
        return number

    def with_point(self, row: Row, written: str) -> str:
        """The same number with a decimal point. All must be written alike."""
        has_comma = WITH_COMMA.fullmatch(written) is not None
        if not has_comma and not ("." in written and NUMBER.fullmatch(written)):
            return written
        self.marks.setdefault("," if has_comma else ".", row.place)
        if len(self.marks) == 2:
            other, name = (".", "point") if has_comma else (",", "comma")
            problem = f"the number of {self.marks[other]} is written with a {name}: write all alike"
            raise row.wrong(self.column, f", and {problem} {OR_NAMES}")
        if has_comma:
            self.note("decimal commas")
        return written.replace(",", ".")


# --- Which of both -------------------------------------------------------------------------------


def are_numbers(labels: Iterable[Any]) -> bool:
    """Whether labels are measured, not counted: most are numbers, and one is not whole.

    A few that are no numbers, an empty cell or a typing error, do not turn the others into names;
    they are errors when the numbers are read.
    """
    written = [str(label).strip() for label in labels if label is not None]
    written = [each for each in written if each and each.lower() != "nan"]
    numbers = [each for each in written
               if NUMBER.fullmatch(each) or WITH_COMMA.fullmatch(each)
               or each.lower() in INFINITE]  # fmt: skip
    return 2 * len(numbers) > len(written) and not all(map(WHOLE.fullmatch, numbers))


def check_classes(source: str | Path, labels: Sequence[str]) -> None:
    """Raise `UserError` if labels that were taken for classes may be something else; where --format
    was given, the user has decided. So many whole numbers are noted on standard error."""
    examples, classes = len(labels), set(labels)
    if are_numbers(labels):
        fraction = next(each for each in labels if not WHOLE.fullmatch(each))
        raise UserError(
            f"{source}: its labels are numbers, some with a fraction ({quoted(fraction)}): give "
            "--format numbers to predict a number, or --format texts for classes"
        )
    if len(classes) > MANY and 2 * len(classes) > examples:
        raise UserError(
            f"{source}: its {examples:,} examples have {len(classes):,} different labels, such as "
            f"{quoted(labels[0])}: give --format numbers to predict a number, --columns to name "
            "another column, or --format texts to learn all these classes"
        )
    if len(classes) > COUNTED and all(map(WHOLE.fullmatch, classes)):
        hint = f"the {len(classes)} labels are whole numbers, and each is learned as a class"
        say(f"note: {source}: {hint} of its own; --format numbers predicts a number instead")


ENOUGH = 10  # examples, from which on a label that stands in the first line alone is doubtful


def check_header_label(source: str | Path, text: str, labels: Sequence[str]) -> None:
    """Raise `UserError` if the label of the first line may be a column's name: it never recurs."""
    if len(labels) >= ENOUGH and Counter(labels)[labels[0]] == 1:
        raise header_error(source, [text, labels[0]])


# --- The labels of a set -------------------------------------------------------------------------


def label_set(labels: Iterable[str]) -> tuple[str, ...]:
    """The different labels in one lasting order: numbers by their size, other names by letter."""
    different = set(labels)
    if all(label.isdecimal() for label in different):
        size = lambda digits: (len(digits), digits)  # noqa: E731 - int() refuses very long ones
        return tuple(sorted(different, key=lambda label: (*size(label.lstrip("0")), label)))
    return tuple(sorted(different))
