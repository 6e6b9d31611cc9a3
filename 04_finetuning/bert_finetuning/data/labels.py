"""The label of a row: a name or a number. What is doubtful is an error with its line.

A label that was understood in the wrong way costs a whole training run, and nothing in the result
shows it. A user can repair a line within a minute, so no guess is made here.
"""

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bert_finetuning.data.rows import Row, no_field, one_of, quoted, whole_characters
from bert_finetuning.data.sources import Note, silent
from bert_run.errors import UserError

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
WHOLE = re.compile(r"[+-]?\d+(\.0*)?", re.ASCII)  # 1.0 is how pandas writes 1 beside a missing one
WITH_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
INFINITE = ("inf", "+inf", "-inf", "infinity", "-infinity")
# What spreadsheets and pandas write where there is no value; no label is called that.
MISSING = ("nan", "<na>", "nat", "#n/a", "#value!", "#ref!", "#name?", "#div/0!", "#num!", "#null!")
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
        name = self.written(row)
        if name is None or self.allowed is None:
            if name is not None:
                self.spellings.check(name, row.place)
            return name
        if name in self.allowed:
            return name
        numbers = {str(place): label for place, label in enumerate(self.allowed)}
        if (
            self.by_place
            and name in numbers
            and not any(label.isdecimal() for label in self.allowed)
        ):
            return numbers[name]  # a file of numbers means the places of the names in the list
        raise UserError(f"{row.place}: the label is {quoted(name)}, not {one_of(self.allowed)}")

    def written(self, row: Row) -> str | None:
        value = value_of(row, self.column)
        if isinstance(value, list | dict):
            problem = (
                "several labels for one text are learnt with --format multilabel"
                if isinstance(value, list)
                else "it must be text or a number"
            )
            raise UserError(f"{row.place}: {quoted(self.column)} is {quoted(value)}: {problem}")
        if value is None:
            return None
        name = whole_characters(value).strip() if isinstance(value, str) else json.dumps(value)
        if name.lower() in MISSING or name in ("Infinity", "-Infinity"):
            raise UserError(
                f"{row.place}: {quoted(self.column)} is {quoted(name)}, which stands for a missing "
                "value: write a label, or remove the line"
            )
        check_written(name, row.place)
        return name


def value_of(row: Row, column: str) -> Any:
    """What the row has in the column of labels; None where it is known that there is no label.

    Raises `UserError` for an empty cell: it is a label that was forgotten, or a missing number.
    """
    if column not in row.fields:
        raise no_field(row, column)
    value = row.fields[column]
    if column == "gold_label" and value == "-":  # SNLI and MNLI, where people did not agree
        return None
    if isinstance(value, str) and not value.strip():
        raise UserError(
            f"{row.place}: {quoted(column)} is empty: write a label, or remove the line"
        )
    return value


def check_written(name: str, place: str) -> None:
    """Raise `UserError` for a label with marks around or in it that only a mistake puts there."""
    if any(unicodedata.category(letter) == "Cc" for letter in name):
        raise UserError(
            f"{place}: the label {quoted(name)} holds a line end, a tab or another control "
            "character: remove it"
        )
    if len(name) > 1 and name[0] == name[-1] == '"':
        raise UserError(
            f"{place}: the label {quoted(name)} has quotes around it: remove them (in a .csv "
            "quotes must follow the comma at once; a .tsv has none)"
        )


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
        how, show = "its case or blanks", quoted
        if WHOLE.fullmatch(name):
            how = "how the number is written"
        elif name.casefold().split() != earlier.casefold().split():
            how, show = "how its characters are encoded", ascii  # both look alike on a screen
        raise UserError(
            f"{place}: the label {show(name)} differs only in {how} from {show(earlier)} "
            f"({where}): write both alike, or rename one"
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
        mark = decimal_mark(value)
        if mark is None:
            return None if value is None else number_in(row, self.column, value)
        self.marks.setdefault(mark, row.place)
        if len(self.marks) == 2:
            other = self.marks["." if mark == "," else ","]
            raise UserError(
                f"{row.place}: {quoted(self.column)} is {quoted(value)}, and the number of {other} "
                f"is written with a {'point' if mark == ',' else 'comma'}: write all alike (for "
                "labels that are names give --format texts)"
            )
        if mark == ",":
            self.note("decimal commas")
            value = value.replace(",", ".")
        return number_in(row, self.column, value)


def decimal_mark(value: Any) -> str | None:
    """What separates the whole from its parts in a number that is written as text."""
    if not isinstance(value, str):
        return None
    if WITH_COMMA.fullmatch(value.strip()):
        return ","
    return "." if "." in value and NUMBER.fullmatch(value.strip()) else None


def number_in(row: Row, column: str, value: Any) -> float:
    """The number that a cell holds."""
    is_number = type(value) in (int, float) or (
        isinstance(value, str) and NUMBER.fullmatch(value.strip())
    )
    number = _as_float(value) if is_number else math.nan
    if not math.isfinite(number):
        raise UserError(
            f"{row.place}: {quoted(column)} is {quoted(value)}: it must be a number (for labels "
            "that are names give --format texts)"
        )
    if abs(number) > LARGEST:
        raise UserError(
            f"{row.place}: {quoted(column)} is {quoted(value)}, too large to learn from: divide "
            "all numbers, so that they lie between -10 and 10, say"
        )
    return number


def _as_float(value: int | float | str) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


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


def doubt_about(labels: Sequence[str]) -> str | None:
    """Why labels that were taken for classes may be something else, and what to do; None if not.

    Where --format was given, the user has decided.
    """
    if are_numbers(labels):
        fraction = next(each for each in labels if not WHOLE.fullmatch(each))
        return (
            f"its labels are numbers, some with a fraction ({quoted(fraction)}): give --format "
            "numbers to predict a number, or --format texts for classes"
        )
    classes = len(set(labels))
    if classes > MANY and 2 * classes > len(labels):
        return (
            f"its {len(labels):,} examples have {classes:,} different labels, such as "
            f"{quoted(labels[0])}: give --format numbers to predict a number, --columns to name "
            "another column, or --format texts to learn all these classes"
        )
    return None


def hint_about(labels: Sequence[str]) -> str | None:
    """What a user with so many whole numbers may not know."""
    classes = set(labels)
    if len(classes) > COUNTED and all(map(WHOLE.fullmatch, classes)):
        return (
            f"the {len(classes)} labels are whole numbers, and each is learned as a class of its "
            "own; --format numbers predicts a number instead"
        )
    return None


# --- Files without a line of names ---------------------------------------------------------------

ENOUGH = 10  # examples, from which on a label that stands in the first line alone is doubtful


def is_header_label(labels: Sequence[str]) -> bool:
    """Whether the label of the first line may be a column's name: it never occurs again."""
    return len(labels) >= ENOUGH and Counter(labels)[labels[0]] == 1


# --- The labels of a set -------------------------------------------------------------------------


def label_set(labels: Iterable[str]) -> tuple[str, ...]:
    """The different labels in one lasting order: numbers by their size, other names by letter."""
    different = set(labels)
    if all(label.isdecimal() for label in different):
        size = lambda digits: (len(digits), digits)  # noqa: E731 - int() refuses very long ones
        return tuple(sorted(different, key=lambda label: (*size(label.lstrip("0")), label)))
    return tuple(sorted(different))
