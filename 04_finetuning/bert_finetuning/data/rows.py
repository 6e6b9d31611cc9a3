"""Rows of tables: TSV, CSV and JSON lines, plain or packed, or a dataset of the Hugging Face Hub,
`ID[:CONFIG][@SPLIT]`. One dict a row, with its place.

Everything is text and stays text; a file can be as long as it likes. An error names the file and
the line. Of the Hub only data are read, never code; labels that it keeps as numbers come under
their names.
"""

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from bert_corpus.hub import HubName, ask_for_revision
from bert_corpus.text_files import JSON_LINES, PACKED, LineReader, kind_of
from bert_run.errors import UserError
from bert_run.hub import first_line

Item = TypeVar("Item")


class Row(NamedTuple):
    place: str  # "dev.tsv: line 3", for errors
    fields: dict[str, Any]

    @property
    def line(self) -> int:
        """The number of its line, or of its row on the Hub: every place ends with it."""
        return int(self.place.rpartition(" ")[2])


LONGEST = 60  # characters of a value in an error
FILES = (*JSON_LINES, ".tsv", ".csv", ".conll", ".conllu", ".bio", ".txt")

Table = Iterator[Row]
Lines = Iterator[tuple[int, str]]  # with their numbers from 1, without their ends

# A cell may be as long as a text is; the module's own limit of 131,072 characters is not for data.
csv.field_size_limit(2**31 - 1)


# --- Sources -------------------------------------------------------------------------------------


def is_file(source: str | Path) -> bool:
    """Whether a file is meant, there or not; else it is a dataset of the Hub."""
    path = Path(source).expanduser()
    return path.exists() or bare_suffix(path) in FILES or str(source).startswith((".", "/", "~"))


def open_rows(source: str | Path, *, numbered: bool = False, stream: bool = True) -> Table:
    """All rows. `numbered`: the table has no line of names, its columns are "1", "2" and so on."""
    if not is_file(source):
        return hub_rows(str(source), stream=stream)
    path = Path(source).expanduser()
    rows = read_rows(path, header=() if numbered else None)
    return unquoted(rows) if bare_suffix(path) == ".tsv" else rows


def hub_rows(source: str, *, stream: bool = True) -> Table:
    """The rows of one split, streamed or downloaded first."""
    name = HubName.parse(source)
    ask_for_revision(name, stream=stream)
    import datasets  # two seconds that files need not pay

    try:
        dataset = datasets.load_dataset(name.id, name.config, split=name.split, streaming=stream)
    except Exception as error:  # unknown config, unknown split, a dataset that is a script, …
        raise UserError(
            f"Hub dataset {str(name)!r} cannot be opened: {first_line(error)} "
            "(a config is named as ID:CONFIG, a split as @SPLIT)"
        ) from None
    return _walk(str(name), dataset)


def _walk(name: str, dataset: Any) -> Table:
    rows, number = iter(dataset), 0
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except Exception as error:
            raise UserError(
                f"Hub dataset {name!r}: reading stopped ({first_line(error)}); try again, or "
                "without streaming"
            ) from None
        number += 1
        types = dataset.features or {}
        yield Row(
            f"{name}: row {number}",
            {column: _by_name(value, types.get(column)) for column, value in row.items()},
        )


def _by_name(value: Any, type_: Any) -> Any:
    """A label, or a list of them, under its name; -1, which stands for no label, becomes None."""
    if isinstance(value, list):
        inner = getattr(type_, "feature", None)
        return [_by_name(each, inner) for each in value]
    if isinstance(value, int) and (names := getattr(type_, "names", None)):
        return names[value] if 0 <= value < len(names) else None
    return value


def at_least_one(items: Iterator[Item], source: str | Path) -> Iterator[Item]:
    """The same items; none at all is an error."""
    found = False
    for item in items:
        found = True
        yield item
    if not found:
        raise UserError(f"{source}: there is no example in it")


# --- Files ---------------------------------------------------------------------------------------


def bare_suffix(path: Path) -> str:
    """The ending that tells the format: `.tsv` of `dev.tsv`, `dev.tsv.gz` and `DEV.TSV`."""
    return (path.with_suffix("") if path.suffix.lower() in PACKED else path).suffix.lower()


def lines_of(path: Path) -> Lines:
    """Whole lines without their ends, and their numbers from 1. A missing file is an error."""
    if not path.is_file():
        problem = "a folder: name a file in it" if path.is_dir() else "there is no such file"
        raise UserError(f"{path}: {problem}")
    for number, pieces in groupby(LineReader(path), key=itemgetter(0)):
        yield number, "".join(text for _, text in pieces).rstrip("\r\n")


def read_rows(
    path: Path, *, header: Sequence[str] | None = None, skip_short: bool = False
) -> Table:
    """The rows of a file.

    The first line of a table names its columns; `header` names those of one that begins at once,
    and an empty `header` gives them the names "1", "2" and so on. `skip_short` passes over lines
    with too few columns.
    """
    lines = lines_of(path)
    if kind_of(path) == "json":
        return json_rows(str(path), lines)
    split = SPLITS.get(bare_suffix(path))
    if split is None:
        raise UserError(f"{path}: no table: give .tsv, .csv or .jsonl (also .gz, .xz, .bz2, .zst)")
    cells = split(str(path), lines)
    return table_rows(str(path), cells, header=header, skip_short=skip_short)


def table_rows(
    source: str,
    cells: Iterator[tuple[int, list[str]]],
    *,
    header: Sequence[str] | None = None,
    skip_short: bool = False,
) -> Table:
    """Each row under the names of its columns. All must have as many columns as the first."""
    for number, row in cells:
        place = f"{source}: line {number}"
        if header is None:
            header = [name.strip() for name in row]  # people write "text, label"
            if twice := [name for name in header if header.count(name) > 1]:
                raise UserError(f"{place} names two columns {quoted(twice[0])}: rename one")
            continue
        header = header or [str(column) for column in range(1, len(row) + 1)]
        if len(row) > 1 and [cell.strip() for cell in row] == header:
            raise UserError(
                f"{place} repeats the names of the columns ({listed(header)}), as when tables are "
                "joined with cat: remove the line"
            )
        if skip_short and len(row) < len(header):
            continue
        if len(row) != len(header):
            raise UserError(
                f"{place} has {len(row)} columns, not the {len(header)} of the table "
                f"({listed(header)}): {other_separator(header) or 'repair the line'}"
            )
        yield Row(place, dict(zip(header, row, strict=True)))


def split_tsv(source: str, lines: Lines) -> Iterator[tuple[int, list[str]]]:
    """Cells between tabs, quotes as they stand: so GLUE writes them, odd quotes included."""
    for number, line in lines:
        if line:
            yield number, line.split("\t")


def split_csv(source: str, lines: Lines) -> Iterator[tuple[int, list[str]]]:
    """Cells between commas; a quoted cell may hold commas, doubled quotes and ends of lines."""
    first = list(islice(lines, 1))
    number = first[0][0] if first else 1  # above a table there may be empty lines
    above = number - 1
    lines = chain(first, lines)
    reader = csv.reader((line + "\n" for _, line in lines), strict=True)
    try:
        for row in reader:
            if row:
                yield number, row
            number = above + reader.line_num + 1  # a row begins where the last one ended
    except csv.Error as error:
        raise UserError(f"{source}: line {number} is not CSV ({error}): repair the line") from None


SPLITS = {".tsv": split_tsv, ".csv": split_csv}


def json_rows(source: str, lines: Lines) -> Table:
    """The object on each line; empty lines are passed over."""
    for number, line in lines:
        if not line.strip():
            continue
        place = f"{source}: line {number}"
        try:
            row = json.loads(line, object_pairs_hook=partial(unique_fields, place))
        except (ValueError, RecursionError) as error:  # a ValueError: a number of 5,000 digits
            problem = getattr(error, "msg", "nested too deep, or a number too long")
            raise UserError(f"{place} is not JSON ({problem}): write one object a line") from None
        if not isinstance(row, dict):
            raise UserError(f'{place} is JSON, but no object: write {{"text": …}}')
        yield Row(place, row)


def unique_fields(place: str, pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose keys and texts hold whole characters. No key may occur twice: one of its
    two values would be lost."""
    fields = {whole_characters(name): whole(value) for name, value in pairs}
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next((name for name in names if names.count(name) > 1), names[0])
        raise UserError(f"{place} names two fields {quoted(twice)}: rename one")
    return fields


def whole(value: Any) -> Any:
    """A JSON value whose texts hold whole characters; the objects in it do already."""
    if isinstance(value, list):
        return [whole(each) for each in value]
    return whole_characters(value) if isinstance(value, str) else value


def unquoted(rows: Table) -> Table:
    """Cells as spreadsheets write them to a TSV: in quotes where quotes are inside, these doubled.

    Cells with quotes of any other kind are left as they are.
    """
    for place, fields in rows:
        yield Row(place, {name: _unquote(cell) for name, cell in fields.items()})


def _unquote(cell: Any) -> Any:
    if isinstance(cell, str) and len(cell) > 1 and cell[0] == cell[-1] == '"':
        inside = cell[1:-1]
        if '""' in inside and '"' not in inside.replace('""', ""):
            return inside.replace('""', '"')
    return cell


# --- Fields --------------------------------------------------------------------------------------


def text_field(row: Row, name: str) -> str:
    """A field that must be there and be text."""
    value = row.fields.get(name)
    if isinstance(value, str):
        return whole_characters(value)
    if name in row.fields:
        raise UserError(f"{row.place}: {quoted(name)} is {quoted(value)}: it must be text")
    raise no_field(row, name)


def list_field(row: Row, name: str) -> list[Any]:
    """A field that must be there and be a list."""
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


def no_field(row: Row, *names: str) -> UserError:
    wanted = " or ".join(map(quoted, names))
    return UserError(
        f"{row.place} has no {wanted}: its columns are {listed(list(row.fields)) or 'none'}"
    )


def other_separator(names: Sequence[str]) -> str | None:
    """What to do about a table whose cells are not separated as its ending says; None if they are.

    It shows in the line of names, which is a single cell then.
    """
    marks = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}
    found = [mark for mark in marks if len(names) == 1 and mark in names[0]]
    if not found:
        return None
    return (
        f"its columns look separated by {marks[found[0]]}: a .csv needs commas between them, and a "
        ".tsv tabs"
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


def first_named(row: Row, names: Sequence[str]) -> str | None:
    """The first of the names that the row has a field of."""
    return next((name for name in names if name in row.fields), None)


# --- Columns -------------------------------------------------------------------------------------

# The usual names: the first that are there count, pairs before single texts.
PAIRS = (
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("question", "sentence"),
    ("text_a", "text_b"),
    ("text1", "text2"),
)
TEXTS = ("text", "sentence", "review", "content")
# The context of a choice, and the words that all endings begin with, if they stand apart.
CONTEXTS = (("sent1", "sent2"), ("ctx_a", "ctx_b"), ("context", None), ("question", None),
            ("premise", None))  # fmt: skip
# Columns that hold what is asked; a text that is just one of these words is improbable.
ASKED_COLUMNS = {*TEXTS, *(name for pair in (*PAIRS, *CONTEXTS) for name in pair if name)}
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
    line: int | None = None  # of the row that was read last
    lines: list[int] = field(default_factory=list)  # of each example, where they come from rows

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
    advice = f"name yours, --columns {'TEXT,LABEL' if labelled else 'TEXT'}"
    return UserError(f"{no_field(row, name)}: {other_separator(list(row.fields)) or advice}")


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
    usual = {*TEXTS, *LABELS, *(name for pair in PAIRS for name in pair)}
    if any(cell.lower() in usual for cell in cells):
        raise header_error(row.place.partition(": line")[0], cells)


def parse_columns(text: str | None, *, labelled: bool = True) -> Columns:
    """`TEXT,LABEL` or `TEXT,PAIR,LABEL`, without labels `TEXT` or `TEXT,PAIR`: names of columns, or
    their numbers from 1."""
    if text is None:
        return USUAL
    given = [name.strip() for name in text.split(",")]
    *names, label = given if labelled else [*given, None]
    if len(names) not in (1, 2) or not all(names) or label == "":
        forms = "TEXT,LABEL or TEXT,PAIR,LABEL" if labelled else "TEXT or TEXT,PAIR"
        raise UserError(f"--columns {text}: write {forms}")
    if len({name.isdecimal() for name in (*names, label) if name}) > 1:
        raise UserError(f"--columns {text}: name all of them, or give the numbers of all")
    if len({*given}) < len(given):
        raise UserError(f"--columns {text}: a column is named twice: give another for each part")
    return Columns(names[0], names[1] if len(names) == 2 else None, label)
