"""What `bert-predict` is asked by a file or by standard input.

A file has a format of training, or one text a line; a tab separates what belongs together: the two
texts of a pair, a question and its context, a beginning and its endings. A line is what `wc -l`
counts, in files and on standard input.

Every row becomes one query in its place, so that answers can be joined to their rows. A line
without text is a query without text. Only tables and JSON lines may hold empty lines between
their rows, as for every other program that reads them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

from bert_corpus.text_files import kind_of
from bert_finetuning.data.rows import (
    ASKED_COLUMNS,
    USUAL,
    Columns,
    Row,
    Table,
    quoted,
    shortened,
    usual_name,
)
from bert_finetuning.data.sources import (
    OTHERS,
    SEPARATOR_LINE,
    SEPARATORS,
    SHEETS,
    TABLES,
    Lines,
    at_least_one,
    bare_suffix,
    is_file,
    json_rows,
    lines_of,
    open_rows,
    split_table,
    table_rows,
    without_index,
)
from bert_finetuning.tasks.base import Query, Task, one_line
from bert_run.errors import UserError
from bert_run.files import STANDARD_INPUT, text_lines


def from_source(source: str, task_type: type[Task], columns: Columns = USUAL) -> Iterator[Query]:
    """The queries of a file or of a dataset of the Hub one by one; `-` is standard input."""
    if source == "-":
        lines = text_lines(None)
        return at_least_one(from_lines(STANDARD_INPUT, lines, task_type, columns), STANDARD_INPUT)
    path = Path(source).expanduser()
    return at_least_one(_from_file(source, path, task_type, columns), source)


def _from_file(source: str, path: Path, task_type: type[Task], columns: Columns) -> Iterator[Query]:
    suffix = bare_suffix(path)
    if not is_file(source) or path.is_dir() or suffix in (*TABLES, *SHEETS, *OTHERS, ".parquet"):
        return from_rows(open_rows(source, numbered=columns.numbered), task_type, columns)
    if (queries := task_type.file_queries(path)) is not None:
        return queries
    if kind_of(path) == "json":
        return from_rows(open_rows(source), task_type, columns)
    is_text = kind_of(path) == "text"
    return from_lines(str(path), lines_of(path), task_type, columns, is_text=is_text)


def from_lines(
    source: str,
    lines: Lines,
    task_type: type[Task],
    columns: Columns,
    *,
    is_text: bool = False,
) -> Iterator[Query]:
    """The examples of lines whose format no name of a file tells.

    JSON begins with a brace; a table begins with the usual names of columns, or has columns that
    the user names; anything else is one text a line. `is_text`: the name of the file says so.
    """
    empty = []
    for line in lines:
        if line[1].strip():
            first = [line, *islice(lines, 1)]
            break
        empty.append(line)
    else:
        return from_text_lines(source, iter(empty), task_type)
    lines = chain(first, lines)
    start = first[0][1].lstrip()
    if start.startswith(('{"', '[{"')) or start in ("[", "{"):
        return from_rows(json_rows(source, lines), task_type, columns)
    if columns == USUAL and not begins_table(first):
        check_no_header(source, first)
        if not is_text:
            check_no_table(source, first)
            task_type.check_line(source, first)
        return from_text_lines(source, chain(empty, lines), task_type)
    header = () if columns.numbered else None
    cells = split_table(source, lines, suffix=".tsv" if "\t" in start else ".csv")
    rows = without_index(table_rows(source, cells, header=header))
    return from_rows(rows, task_type, columns)


def begins_table(first: Sequence[tuple[int, str]]) -> bool:
    """Whether the first line holds the usual names of columns, or tells Excel the separator."""
    if SEPARATOR_LINE.fullmatch(first[0][1]):
        return True
    for separator in SEPARATORS:
        names = [name.strip().strip('"') for name in first[0][1].split(separator)]
        if len(names) > 1 and usual_name(names, ASKED_COLUMNS):
            return all(is_name(name) or not name for name in names)
    return False


def is_name(cell: str) -> bool:
    """Whether a cell may be the name of a column: one word without marks."""
    return re.fullmatch(r'"?[\w#][\w.#-]*(?<!\.)"?', cell) is not None


def check_no_header(source: str, first: Sequence[tuple[int, str]]) -> None:
    """Raise `UserError` if a first line, with more below it, is the name of a column."""
    if len(first) > 1 and first[0][1].strip().strip('"').lower() in ASKED_COLUMNS:
        raise UserError(
            f"{source}: line 1 is {quoted(first[0][1].strip())}, which names a column: remove the "
            "line, or name the table with --input FILE.csv"
        )


def from_text_lines(source: str, lines: Lines, task_type: type[Task]) -> Iterator[Query]:
    """One example a line, its parts between tabs."""
    for number, line in lines:
        if not line.strip():
            yield Query(task_type.empty, line=number)
            continue
        place = f"{source}: line {number}"
        yield from_row(Row(place, task_type.parse_line(line, place)), task_type, USUAL)


def check_no_table(source: str, first: Sequence[tuple[int, str]]) -> None:
    """Raise `UserError` if the first lines look like a table whose columns have unusual names."""
    for separator in SEPARATORS:
        names, *below = (line.split(separator) for _, line in first)
        if separator == "\t" or len(names) < 2 or [len(names)] != [len(cells) for cells in below]:
            continue
        if all(map(is_name, names)):
            start = shortened(one_line(first[0][1:]))
            raise UserError(
                f"{source}: line 1 ({start}) looks like the names of columns: "
                "say which of them holds the text, --columns TEXT; lines of plain text can be "
                "given as --input FILE.txt"
            )


def from_rows(rows: Table, task_type: type[Task], columns: Columns) -> Iterator[Query]:
    """One query for each row, in their order."""
    for row in rows:
        yield from_row(row, task_type, columns)


def from_row(row: Row, task_type: type[Task], columns: Columns) -> Query:
    return replace(task_type.parse_query(row, columns), line=row.line, row=row.fields)
