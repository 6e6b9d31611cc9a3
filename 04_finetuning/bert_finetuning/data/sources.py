"""Where rows come from: tables, JSON, folders, and the Hugging Face Hub, `ID[:CONFIG][@SPLIT]`.

One dict a row, with its place. Cells of tables are text and stay text; a table or JSON lines can be
as long as they like. An error names the file and the line. Of the Hub only data are read, never
code; labels that it keeps as numbers come under their names.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from bert_corpus.documents import JSON_LINES
from bert_corpus.hub import HubName, ask_for_revision
from bert_finetuning.data.files import (
    Cells,
    Lines,
    Note,
    bare_suffix,
    first_lines,
    lines_of,
    separator_of,
    sheet_cells,
    silent,
    split_table,
    whole_text,
)
from bert_finetuning.data.rows import (
    LONGEST,
    TEXTS,
    Item,
    Row,
    Table,
    listed,
    quoted,
    usual_name,
    whole,
    whole_characters,
)
from bert_run.errors import UserError
from bert_run.weights import first_line

TABLES = (".tsv", ".csv", ".tab", ".psv")
SHEETS = (".xlsx", ".xlsm")
WORDS_IN_COLUMNS = (".conll", ".conllu", ".bio", ".iob", ".iob2", ".bioes")
FILES = (*JSON_LINES, *TABLES, *SHEETS, *WORDS_IN_COLUMNS, ".parquet", ".txt")
# Formats that cannot be read, and what to do with them.
OTHERS = {
    ".xls": "open it in Excel and save it as .xlsx or as CSV UTF-8",
    ".ods": "open it in LibreOffice and save it as CSV",
    ".pkl": "a pickle can run code when it is opened: write it with to_csv or to_parquet",
    ".pickle": "a pickle can run code when it is opened: write it with to_csv or to_parquet",
    ".rds": "write it in R with write.csv(…, row.names = FALSE)",
    ".zip": "unpack it, and name a file in it",
    ".tar": "unpack it, and name a file in it",
    ".feather": "write it with to_parquet",
    ".arrow": "write it with to_parquet",
}
NAMELESS = re.compile(r"|Unnamed: \d+\w*|__index_level_\d+__")  # columns that R and pandas add


# --- Sources -------------------------------------------------------------------------------------


def is_file(source: str | Path) -> bool:
    """Whether a file or a folder is meant, there or not; else it is a dataset of the Hub."""
    path = Path(source).expanduser()
    endings = (*FILES, *OTHERS)
    return path.exists() or bare_suffix(path) in endings or str(source).startswith((".", "/", "~"))


def open_rows(
    source: str | Path, *, numbered: bool = False, stream: bool = True, note: Note = silent
) -> Table:
    """All rows. `numbered`: the table has no line of names, its columns are "1", "2" and so on."""
    if not is_file(source):
        return hub_rows(str(source), stream=stream)
    return file_rows(Path(source).expanduser(), header=() if numbered else None, note=note)


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


def file_rows(path: Path, *, header: Sequence[str] | None = None, note: Note = silent) -> Table:
    """The rows of a file, or of a folder with one text a file. Its ending tells the format; where
    the ending says nothing, as `.txt`, the first lines do."""
    return without_index(rows_of(path, header, note), note)


def rows_of(path: Path, header: Sequence[str] | None, note: Note) -> Table:
    suffix, source = bare_suffix(path), str(path)
    if path.is_dir():
        return folder_rows(path, note)
    if suffix in OTHERS:
        raise UserError(f"{path}: {suffix} is not read here: {OTHERS[suffix]}")
    if suffix == ".parquet":
        return parquet_rows(path)
    if suffix in SHEETS:
        return table_rows(source, sheet_cells(path, note), header=header)
    sample = [] if suffix in (*TABLES, *JSON_LINES) else first_lines(path, 20)
    start = next((line for line in sample if line.strip()), "")
    if suffix in JSON_LINES or start.startswith(("{", "[{")):
        return json_rows(source, lines_of(path, note))
    if start.startswith(FASTTEXT):
        note("fastText's labels")
        return fasttext_rows(source, lines_of(path, note))
    if suffix not in TABLES and separator_of([start], "") not in start:
        raise UserError(
            f"{path} holds no table: save it as .csv, .tsv, .jsonl, .parquet or .xlsx with a line "
            "of names; for words in columns give --format tags"
        )
    cells = split_table(source, lines_of(path, note), suffix=suffix, note=note)
    return table_rows(source, cells, header=header)


def table_rows(
    source: str,
    cells: Cells,
    *,
    header: Sequence[str] | None = None,
    skip_short: bool = False,
) -> Table:
    """Each row under the names of its columns.

    The first line of a table names its columns; `header` names those of one that begins at once,
    and an empty `header` gives them the names "1", "2" and so on. All rows must have as many
    columns; `skip_short` passes over those with fewer.
    """
    is_named = header is None
    is_first = True
    for number, row in cells:
        place = f"{source}: line {number}"
        if header is None:
            header = [name.strip() for name in row]  # people write "text, label"
            named = [name for name in header if name]
            if twice := [name for name in named if named.count(name) > 1]:
                raise UserError(f"{place} names two columns {quoted(twice[0])}: rename one")
            continue
        header = header or [str(column) for column in range(1, len(row) + 1)]
        if is_first:
            if is_named and len(row) == len(header) + 1:  # write.table of R; or an empty cell last
                header = ["", *header] if row[-1].strip() else [*header, ""]
            is_first = False
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
                f"({listed(header)}): put a text that holds a separator in quotes, or repair the "
                "line"
            )
        yield Row(place, dict(zip(header, row, strict=True)))


def without_index(rows: Table, note: Note = silent) -> Table:
    """The same without columns that have no name: R's and pandas' numbers of rows, Excel's empty
    columns."""
    for row in rows:
        fields = {name: value for name, value in row.fields.items() if not NAMELESS.fullmatch(name)}
        if len(fields) < len(row.fields):
            note("columns without a name left out")
        yield Row(row.place, fields)


def parquet_rows(path: Path) -> Table:
    """The rows of a Parquet file, with the names of labels if `datasets` has written them."""
    if not path.is_file():
        raise UserError(f"{path}: there is no such file")
    with path.open("rb") as file:
        if file.read(4) != b"PAR1" or path.stat().st_size < 12:
            raise UserError(f"{path} is no Parquet file, or a piece of one: write it again")
    import datasets

    try:
        rows = datasets.load_dataset("parquet", data_files=str(path), split="train", streaming=True)
    except Exception as error:  # of pyarrow and of datasets
        raise UserError(f"{path} cannot be opened as Parquet ({first_line(error)})") from None
    return _walk(str(path), rows)


FASTTEXT = "__label__"


def fasttext_rows(source: str, lines: Lines) -> Table:
    """`__label__pos The film is good.`, with one label or several, as fastText reads them."""
    for number, line in lines:
        words = line.split(" ")
        labels = [word for word in words if word.startswith(FASTTEXT)]
        names = [label.removeprefix(FASTTEXT) for label in labels]
        text = " ".join(word for word in words if word not in labels)
        if line.strip():
            label = names[0] if len(names) == 1 else names
            yield Row(f"{source}: line {number}", {"text": text, "label": label})


UNLABELLED = "unsup"  # of IMDB


def folder_rows(folder: Path, note: Note = silent) -> Table:
    """One text a file, in subfolders that are named by their labels, as IMDB is given out."""
    parts = [part for part in sorted(folder.iterdir()) if any(part.glob("*.txt"))]
    if not parts:
        raise UserError(
            f"{folder}: a folder: name a file in it, or a folder with one subfolder of .txt files "
            "for each label"
        )
    note("one text a file, labels by folder")
    for part in parts:
        if part.name == UNLABELLED:
            note(f"{part.name}/ left out, it has no labels")
            continue
        for path in sorted(part.glob("*.txt")):
            fields = {"text": whole_text(path, note), "label": part.name, "file": path.name}
            yield Row(f"{path}: line 1", fields)


# --- JSON ----------------------------------------------------------------------------------------


def json_rows(source: str, lines: Lines) -> Table:
    """The object on each line, empty lines passed over; or the rows of one document."""
    lines = ((number, line) for number, line in lines if line.strip())
    first = list(islice(lines, 2))
    if first and is_document(first[0][1], alone=len(first) == 1):
        text = "\n".join(line for _, line in chain(first, lines))
        yield from document_rows(source, text)
        return
    for number, line in chain(first, lines):
        place = f"{source}: line {number}"
        row = parsed_json(place, line)
        if not isinstance(row, dict):
            raise UserError(f'{place} is JSON, but no object: write {{"text": …}}')
        yield Row(place, row)


def parsed_json(place: str, text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=partial(unique_fields, place))
    except (ValueError, RecursionError) as error:  # a ValueError: a number of 5,000 digits
        problem = getattr(error, "msg", "nested too deep, or a number too long")
        if (line := getattr(error, "lineno", 1)) > 1:
            place = f"{place.rpartition(': ')[0]}: line {line}"
        raise UserError(f"{place} is not JSON ({problem}): repair or fetch it again") from None


def is_document(first: str, *, alone: bool) -> bool:
    """Whether JSON that begins with this line is one document, and not an object on each line."""
    if not first.lstrip().startswith("{"):
        return first.lstrip().startswith("[")
    try:
        content = json.loads(first)
    except (ValueError, RecursionError):
        return not alone and len(first.strip()) < LONGEST and first.rstrip()[-1] in "{[:,"
    return alone and records_of(content) is not None


def document_rows(source: str, text: str) -> Table:
    records = records_of(parsed_json(f"{source}: line 1", text))
    for number, record in enumerate(records or (), start=1):
        if not isinstance(record, dict):
            raise UserError(
                f'{source}: row {number} is {quoted(record)}, no object: write {{"text": …}}'
            )
        yield Row(f"{source}: row {number}", record)
    if records is None:
        raise UserError(
            f'{source} is JSON without rows: write a list of objects, [{{"text": …}}, …], or one '
            "object a line"
        )


def records_of(content: Any) -> list[Any] | None:
    """The rows of a document: a list of them, or one of the forms (orient) of pandas' `to_json`;
    None if it is none of these."""
    if isinstance(content, list):
        return content
    match content:
        case {"columns": [*names], "data": [*rows]}:  # split
            return [dict(zip(names, row, strict=False)) for row in rows]
        case {"data": [{}, *_] as rows}:  # table, and as many programs write it
            return rows
        case {"rows": [{"row": {}}, *_] as rows}:  # the viewer of the Hub
            return [row["row"] for row in rows]
    if not isinstance(content, dict) or not content:
        return None
    columns = list(content.values())
    if all(isinstance(column, dict) for column in columns):
        if usual_name(content, TEXTS) is None and usual_name(columns[0], TEXTS):  # index
            return columns
        return [{name: column.get(key) for name, column in content.items()} for key in columns[0]]
    if all(isinstance(column, list) for column in columns) and usual_name(content, TEXTS):
        return [dict(zip(content, row, strict=False)) for row in zip(*columns, strict=False)]
    return None


def unique_fields(place: str, pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose keys and texts hold whole characters. No key may occur twice: one of its
    two values would be lost."""
    fields = {whole_characters(name): whole(value) for name, value in pairs}
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next((name for name in names if names.count(name) > 1), names[0])
        raise UserError(f"{place} names two fields {quoted(twice)}: rename one")
    return fields
