"""Examples of texts and pairs, of choices and of extracts, from the rows of tables.

A column that nobody names is found by its usual names. What is wrong with a row is told with its
place.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bert_finetuning.examples import Choice, Extract, TextExample
from bert_finetuning.labels import Names, header_error, number_of
from bert_finetuning.rows import (
    Row,
    Table,
    first_named,
    list_field,
    no_field,
    other_separator,
    shortened,
    text_field,
    text_list,
)
from bert_finetuning.sources import at_least_one, open_rows
from bert_run.errors import UserError

# The usual names of columns: the first that are there count, pairs before single texts.
PAIRS = (
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("question", "sentence"),
    ("text_a", "text_b"),
    ("text1", "text2"),
)
TEXTS = ("text", "sentence", "review", "content")
LABELS = ("label", "gold_label", "score", "target", "class")


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
        """The same columns, those that were open taken from the names that the row has."""
        text, pair = self.text, self.pair
        if text is None and pair is None:
            there = (both for both in PAIRS if both[0] in row.fields and both[1] in row.fields)
            text, pair = next(there, (None, None))
        text = text or first_named(row, TEXTS) or TEXTS[0]
        label = (self.label or first_named(row, LABELS) or LABELS[0]) if labelled else None
        for name in (text, pair, label):
            if name is not None and name not in row.fields:
                raise unknown_column(row, name, labelled=labelled)
        return Columns(text, pair, label)


USUAL = Columns()


@dataclass
class Tally:
    """What was made of the rows of a source, noted while they are read."""

    columns: Columns | None = None
    left_out: int = 0  # rows that are known to have no label


def unknown_column(row: Row, name: str, *, labelled: bool = True) -> UserError:
    """A column that is not there, with the way out."""
    advice = f"name yours, --columns {'TEXT,LABEL' if labelled else 'TEXT'}"
    return UserError(f"{no_field(row, name)}: {other_separator(list(row.fields)) or advice}")


def check_first_line(row: Row, columns: Columns) -> None:
    """Where columns go by their numbers, the first line must not hold names."""
    if row.line != 1:
        return
    used = [name for name in (columns.text, columns.pair, columns.label) if name]
    cells = [str(row.fields[name]).strip() for name in used]
    usual = {*TEXTS, *LABELS, *(name for pair in PAIRS for name in pair)}
    if any(cell.lower() in usual for cell in cells):
        raise header_error(row.place.partition(": line")[0], cells)


def read_texts(
    source: str | Path,
    *,
    columns: Columns = USUAL,
    labels: Sequence[str] | None = None,
    by_place: bool = True,
    number: bool = False,
    labelled: bool = True,
    stream: bool = True,
    tally: Tally | None = None,
) -> Iterator[TextExample]:
    """Texts or pairs with their labels, from a file or a dataset of the Hub, one by one.

    `labels` are those that may occur; None lets all pass. Where they have an order that the rows
    may know, as those of a task of GLUE, `by_place` lets a number stand for the label at its place.
    With `number` a label is a number to be
    predicted. Rows that are known to have no label (-1 on the Hub, "-" as `gold_label`) are passed
    over, unless `labelled` is False, which asks for no labels at all; `tally` counts them.
    """
    rows = open_rows(source, numbered=columns.numbered, stream=stream)
    examples = texts_from(
        rows, columns=columns, labels=labels, by_place=by_place, number=number,
        labelled=labelled, tally=tally,
    )  # fmt: skip
    return at_least_one(examples, source)


def texts_from(
    rows: Table,
    *,
    columns: Columns = USUAL,
    labels: Sequence[str] | None = None,
    by_place: bool = True,
    number: bool = False,
    labelled: bool = True,
    tally: Tally | None = None,
) -> Iterator[TextExample]:
    """The examples that rows hold; see `read_texts`."""
    here, names = None, Names("", labels, by_place)
    tally = tally or Tally()
    for row in rows:
        if here is None:
            here = tally.columns = columns.found_in(row, labelled=labelled)
            names.column = here.label
            if columns.numbered:
                check_first_line(row, here)
        label = None
        if labelled:
            label = number_of(row, here.label) if number else names.of(row)
            if label is None:
                tally.left_out += 1
                continue
        pair = text_field(row, here.pair) if here.pair else None
        yield TextExample(text_field(row, here.text), pair, label)


# Choices. The context, and the words that all endings begin with, if they stand apart.
CONTEXTS = (("sent1", "sent2"), ("ctx_a", "ctx_b"), ("context", None), ("question", None),
            ("premise", None))  # fmt: skip
ENDINGS = ("endings", "choices")
ENDING = re.compile(r"(ending|choice)\d+", re.ASCII)  # a column for each


def read_choices(
    source: str | Path, *, labelled: bool = True, stream: bool = True
) -> Iterator[Choice]:
    """Contexts with their endings, as SWAG has them: `sent1`, `sent2`, `ending0` … `label`; or
    `context` and a list `endings`. The label is the place of the right one, from 0."""
    return at_least_one(choices_from(open_rows(source, stream=stream), labelled=labelled), source)


def choices_from(rows: Table, *, labelled: bool = True) -> Iterator[Choice]:
    for row in rows:
        names = next((names for names in CONTEXTS if names[0] in row.fields), None)
        if names is None:
            raise no_field(row, *(context for context, _ in CONTEXTS))
        begin = text_field(row, names[1]) if names[1] in row.fields else ""
        endings = tuple(f"{begin} {ending}".strip() for ending in _endings(row))
        if len(endings) < 2:
            raise UserError(f"{row.place}: {len(endings)} endings: a choice needs two or more")
        label = _place(row, len(endings)) if labelled else None
        yield Choice(text_field(row, names[0]), endings, label)


def _endings(row: Row) -> list[str]:
    """One list, or one column for each."""
    if name := first_named(row, ENDINGS):
        return text_list(row, name)
    columns = [name for name in row.fields if ENDING.fullmatch(name)]
    return [text_field(row, name) for name in sorted(columns, key=lambda name: (len(name), name))]


def _place(row: Row, endings: int) -> int:
    value = row.fields.get("label")
    if str(value) not in map(str, range(endings)) or isinstance(value, bool):
        raise UserError(
            f"{row.place}: the label is {shortened(repr(value))}: it must be the place of an "
            f"ending, 0 to {endings - 1}"
        )
    return int(value)


# Extracts.


def read_extracts(
    source: str | Path, *, labelled: bool = True, stream: bool = True
) -> Iterator[Extract]:
    """Documents as lists of `sentences`, and of the places `selected` from them, from 0."""
    return at_least_one(extracts_from(open_rows(source, stream=stream), labelled=labelled), source)


def extracts_from(rows: Table, *, labelled: bool = True) -> Iterator[Extract]:
    for row in rows:
        sentences = text_list(row, "sentences")
        selected = list_field(row, "selected") if labelled else []
        for place in selected:
            if type(place) is not int or not 0 <= place < len(sentences):
                raise UserError(
                    f"{row.place}: {shortened(repr(place))} is selected: it must be the place of "
                    f"a sentence, 0 to {len(sentences) - 1}"
                )
        yield Extract(tuple(sentences), tuple(sorted(set(selected))))
