"""Rows, their fields and their columns: what one example is read from.

A row is a dict with its place, wherever it comes from. A field is looked up under the usual names
of columns, in any case, or under those that the user gives with --columns.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from bert_run.errors import UserError

Item = TypeVar("Item")
LONGEST = 60  # characters of a value in an error


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


Table = Iterator[Row]


# --- Fields --------------------------------------------------------------------------------------


def text_field(row: Row, name: str) -> str:
    """A field that must be there and be text."""
    name = named_in(row, name)
    value = row.fields.get(name)
    if isinstance(value, str):
        return whole_characters(value)
    if name in row.fields:
        raise UserError(f"{row.place}: {quoted(name)} is {quoted(value)}: it must be text")
    raise no_field(row, name)


def list_field(row: Row, name: str) -> list[Any]:
    """A field that must be there and be a list."""
    name = named_in(row, name)
    value = row.fields.get(name)
    if isinstance(value, list):
        return value
    if name in row.fields:
        raise UserError(f"{row.place}: {quoted(name)} is {quoted(value)}: it must be a list")
    raise no_field(row, name)


def text_list(row: Row, name: str) -> list[str]:
    """A field that must be there and be a list of texts."""
    values = list_field(row, name)
    for value in values:
        if not isinstance(value, str):
            raise UserError(
                f"{row.place}: {quoted(name)} holds {quoted(value)}: all of it must be text"
            )
    return [whole_characters(value) for value in values]


def whole_characters(text: str) -> str:
    """The text without halves of characters, which JSON can hold and no file and no screen."""
    return text.encode("utf-8", "replace").decode()


def whole(value: Any) -> Any:
    """A JSON value whose texts hold whole characters; the objects in it do already."""
    if isinstance(value, list):
        return [whole(each) for each in value]
    return whole_characters(value) if isinstance(value, str) else value


def no_field(row: Row, *names: str) -> UserError:
    wanted = " or ".join(map(quoted, names))
    return UserError(
        f"{row.place} has no {wanted}: its columns are {listed(list(row.fields)) or 'none'}"
    )


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


def first_named(row: Row, names: Sequence[str]) -> str | None:
    """The first of the names that the row has a field of, as the row writes it."""
    return usual_name(row.fields, names)


def named_in(row: Row, name: str) -> str:
    """A name as the row writes it; the same name if the row has no such field."""
    return name if name in row.fields else first_named(row, [name]) or name


# --- Columns -------------------------------------------------------------------------------------

# The usual names: the first that are there count, pairs before single texts.
PAIRS = (
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("question", "sentence"),
    ("text_a", "text_b"),
    ("text1", "text2"),
    ("sentence_a", "sentence_b"),
    ("query", "passage"),
)
TEXTS = ("text", "sentence", "review", "content", "comment", "tweet", "review_text", "comment_text",
         "review_body", "message", "document", "body", "utterance", "headline", "title",
         "description")  # fmt: skip
# The context of a choice, and the words that all endings begin with, if they stand apart.
CONTEXTS = (("sent1", "sent2"), ("ctx_a", "ctx_b"), ("context", None), ("question", None),
            ("premise", None))  # fmt: skip
# Columns that hold what is asked; a text that is just one of these words is improbable.
ASKED_COLUMNS = {*TEXTS, *(name for pair in (*PAIRS, *CONTEXTS) for name in pair if name)}
LABELS = ("label", "labels", "gold_label", "score", "target", "class", "category", "categories",
          "sentiment", "stars", "rating", "polarity", "intent", "emotion", "topic", "topics",
          "genre", "genres", "tag", "tags", "similarity", "is_duplicate", "y")  # fmt: skip


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

    def found_in(self, row: Row, *, labelled: bool) -> "Columns":
        """The same columns as the row writes them, those that were open by their usual names."""
        if self.text is None and self.pair is None:
            usual = (tuple(first_named(row, [name]) for name in pair) for pair in PAIRS)
            text, pair = next((pair for pair in usual if all(pair)), (None, None))
            text = text or first_named(row, TEXTS)
        else:
            text = named_in(row, self.text) if self.text else first_named(row, TEXTS)
            pair = named_in(row, self.pair) if self.pair else None
        label = None
        if labelled:
            label = named_in(row, self.label) if self.label else first_named(row, LABELS)
            label = label or LABELS[0]
        found = Columns(text or TEXTS[0], pair, label)
        for name in (found.text, found.pair, found.label):
            if name is not None and name not in row.fields:
                raise unknown_column(row, name, labelled=labelled)
        return found


USUAL = Columns()


@dataclass
class Tally:
    """What was made of a source, noted while it is read."""

    source: str = ""  # the file
    columns: Columns | None = None
    found: dict[str, None] = field(default_factory=dict)  # of the file, in words, in order
    left_out: Counter[str] = field(default_factory=Counter)  # rows, by the reason
    line: int | None = None  # of the row that was read last
    lines: list[int] = field(default_factory=list)  # of each example, where they come from rows

    def note(self, found: str) -> None:
        self.found[found] = None

    def watched(self, rows: Table) -> Table:
        for row in rows:
            self.line = row.line
            yield row

    def example_rows(self, examples: Iterator[Item]) -> Iterator[Item]:
        """The examples of `watched` rows; each comes before the next row is read."""
        for example in examples:
            self.lines += [] if self.line is None else [self.line]
            yield example


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
    if labelled and first_named(row, TEXTS):
        return UserError(f"{no_field(row, name)}: name yours, --columns label=NAME")
    names, numbers = ("TEXT,LABEL", "1,2") if labelled else ("TEXT", "1")
    return UserError(
        f"{no_field(row, name)}: name yours, --columns {names}, or number them, --columns "
        f"{numbers}, if line 1 is no line of names"
    )


def header_error(source: str | Path, names: Sequence[str]) -> UserError:
    given = shortened(" ".join(",".join(names).split()))
    return UserError(
        f"{source}: line 1 looks like the names of columns ({given}): name them, --columns "
        f"{given}; if line 1 is an example, move it to another line"
    )


def check_first_line(row: Row, columns: Columns) -> None:
    """Where columns go by their numbers, the first line must not hold names."""
    if row.line != 1:
        return
    used = [name for name in (columns.text, columns.pair, columns.label) if name]
    cells = [str(row.fields[name]).strip() for name in used]
    if usual_name(cells, [*ASKED_COLUMNS, *LABELS]):
        raise header_error(row.place.partition(": line")[0], cells)


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
    *names, label = given if labelled else [*given, None]
    if len(names) not in (1, 2) or not all(names) or label == "":
        forms = "TEXT,LABEL or TEXT,PAIR,LABEL" if labelled else "TEXT or TEXT,PAIR"
        raise UserError(f"--columns {text}: write {forms}")
    if len({name.isdecimal() for name in (*names, label) if name}) > 1:
        raise UserError(f"--columns {text}: name all of them, or give the numbers of all")
    if len({*given}) < len(given):
        raise UserError(f"--columns {text}: a column is named twice: give another for each part")
    return Columns(names[0], names[1] if len(names) == 2 else None, label)
