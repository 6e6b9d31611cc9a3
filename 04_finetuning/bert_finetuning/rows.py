"""Rows of tables: TSV, CSV and JSON lines, plain or packed, one dict a row, with its place.

Everything is text and stays text; a file can be as long as it likes. What is wrong is told with
the file and the line.
"""

import csv
import json
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from bert_corpus.text_files import PACKED, LineReader, kind_of
from bert_run.errors import UserError


class Row(NamedTuple):
    place: str  # "dev.tsv: line 3", for errors
    fields: dict[str, Any]

    @property
    def line(self) -> int:
        """The number of its line, or of its row on the Hub: every place ends with it."""
        return int(self.place.rpartition(" ")[2])


LONGEST = 60  # characters of a value in an error

Table = Iterator[Row]
Lines = Iterator[tuple[int, str]]  # with their numbers from 1, without their ends

# A cell may be as long as a text is; the module's own limit of 131,072 characters is not for data.
csv.field_size_limit(2**31 - 1)


def bare_suffix(path: Path) -> str:
    """The ending that tells the format: `.tsv` of `dev.tsv`, `dev.tsv.gz` and `DEV.TSV`."""
    return (path.with_suffix("") if path.suffix.lower() in PACKED else path).suffix.lower()


def lines_of(path: Path) -> Lines:
    """Whole lines without their ends, and their numbers from 1. A missing file is told."""
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
                raise UserError(f"{place} names two columns {shown(twice[0])}: rename one")
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
        raise UserError(f"{place} names two fields {shown(twice)}: rename one")
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


def text_field(row: Row, name: str) -> str:
    """A field that must be there and be text."""
    value = row.fields.get(name)
    if isinstance(value, str):
        return whole_characters(value)
    if name in row.fields:
        raise UserError(f"{row.place}: {shown(name)} is {shown(value)}: it must be text")
    raise no_field(row, name)


def list_field(row: Row, name: str) -> list[Any]:
    """A field that must be there and be a list."""
    value = row.fields.get(name)
    if isinstance(value, list):
        return value
    if name in row.fields:
        raise UserError(f"{row.place}: {shown(name)} is {shown(value)}: it must be a list")
    raise no_field(row, name)


def text_list(row: Row, name: str) -> list[str]:
    """A field that must be there and be a list of texts."""
    values = list_field(row, name)
    for value in values:
        if not isinstance(value, str):
            raise UserError(
                f"{row.place}: {shown(name)} holds {shown(value)}: all of it must be text"
            )
    return [whole_characters(value) for value in values]


def whole_characters(text: str) -> str:
    """The text without halves of characters, which JSON can hold and no file and no screen."""
    return text.encode("utf-8", "replace").decode()


def no_field(row: Row, *names: str) -> UserError:
    wanted = " or ".join(map(shown, names))
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
    return f"{', '.join(map(shown, names[:10]))}{', …' * (len(names) > 10)}"


def shown(value: Any) -> str:
    """A value of a row in an error, shortened."""
    text = json.dumps(value, default=str) if not isinstance(value, str) else repr(value)
    return shortened(text)


def shortened(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def first_named(row: Row, names: Sequence[str]) -> str | None:
    """The first of the names that the row has a field of."""
    return next((name for name in names if name in row.fields), None)
