"""Rows of tables, JSON and the Hugging Face Hub; their columns and labels.

A row is a dict with its place, so that every error can name the file and the line. In a file of
words in columns (CoNLL) a row is a sentence, in SQuAD's JSON a question. How a file is written is
found from its content and noted in a `Tally`, so that a command can show it; what cannot be told is
an error that names the way out. Of the Hub only data are read, never code.
"""

import csv
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from bert_corpus.hub import HubName, ask_for_revision, dataset_rows, open_dataset
from bert_run.errors import UserError, is_first, tell
from bert_run.files import JSON_LINES, PACKED, LineReader, parse_strictly, refuse_pipe

Item = TypeVar("Item")
HALF_A_CHARACTER = re.compile("[\ud800-\udfff]")
LONGEST = 60  # characters of a value in an error


class Row(NamedTuple):
    place: str  # "dev.tsv: line 3", for errors
    fields: dict[str, Any]
    parts: Sequence[str] | None = None  # of a line of plain text, which has no fields: between tabs

    @property
    def line(self) -> int:
        """The number of its line, or of its row on the Hub: every place ends with it."""
        return int(self.place.rpartition(" ")[2])

    @property
    def is_blank(self) -> bool:
        """Whether it holds nothing, as the rows that Excel writes below a table."""
        return not any(str(value).strip() for value in self.fields.values() if value is not None)

    def find(self, names: Collection[str]) -> str | None:
        """The first of the names that it has a field of, as it writes it. Two that differ only in
        case are an error, unless one is written like the name."""
        found = usual_name(self.fields, names)
        twins = [name for name in self.fields if found and plain_name(name) == plain_name(found)]
        if len(twins) > 1 and found not in names:
            raise UserError(f"{self.place}: {listed(twins)} differ only in case: rename a column")
        return found

    def spelled(self, name: str) -> str:
        """A name as the row writes it, or unchanged if the row has no such field."""
        return name if name in self.fields else self.find([name]) or name

    def text(self, name: str) -> str:
        """A field that must be there and be text."""
        return self._of_type(name, str, "text")

    def texts(self, name: str) -> list[str]:
        """The same of a list of texts."""
        values = self._of_type(name, list, "a list")
        others = [value for value in values if not isinstance(value, str)]
        if others:
            problem = f"{quoted(name)} holds {quoted(others[0])}: all of it must be text"
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


def at_least_one(items: Iterator[Item], source: str | Path) -> Iterator[Item]:
    """The same items; none at all is an error."""
    first = list(islice(items, 1))
    if not first:
        raise UserError(f"{source}: there is no example in it")
    yield from chain(first, items)


def say(line: str) -> None:
    """Tell the user; of the processes that `torchrun` started, the first does."""
    if is_first():
        tell(line)


def one_of(names: Sequence[str]) -> str:
    return f"one of {listed(names)}"


def listed(names: Sequence[str]) -> str:
    """Names in an error; of many the first ten."""
    return f"{', '.join(map(quoted, names[:10]))}{', …' * (len(names) > 10)}"


def quoted(value: Any) -> str:
    """A value of a row in an error, shortened."""
    return shortened(repr(value) if isinstance(value, str) else json.dumps(value, default=str))


def shortened(text: str, longest: int = LONGEST) -> str:
    return text if len(text) <= longest else text[:longest] + "…"


def whole_characters(text: str) -> str:
    """The same text, as long, without halves of characters: JSON may hold them, no encoding can."""
    return HALF_A_CHARACTER.sub("\ufffd", text)


def free(name: str, taken: Collection[str]) -> str:
    """The name, with an underscore if it is taken."""
    while name in taken:
        name += "_"
    return name


@cache
def plain_name(name: str) -> str:
    """What counts of a column's name: `Review Text`, `review_text` and `REVIEW-TEXT` are one."""
    return re.sub(r"[\s_-]+", "_", name.strip().lower())


def usual_name(fields: Iterable[str], names: Collection[str]) -> str | None:
    """The first of the names that there is a field of, as it is written: `text` before `Text`."""
    there = {plain_name(field): field for field in fields} | {field: field for field in fields}
    return next((there[name] for name in map(plain_name, names) if name in there), None)


# --- Columns -------------------------------------------------------------------------------------

# The usual names: the first that is there counts, pairs before single texts.
USUAL_NAMES = json.loads(Path(__file__).with_name("columns.json").read_text("utf-8"))
PAIRS, TEXTS, LABELS = (USUAL_NAMES[of] for of in ("pairs", "texts", "labels"))
WORDS, TAGS = USUAL_NAMES["words"], USUAL_NAMES["tags"]
CONTEXTS = USUAL_NAMES["contexts"]  # of a choice, and what all its endings begin with, if anything
# Columns that hold what is asked; a text that is just one of these words is improbable.
ASKED_COLUMNS = {*TEXTS, *(name for pair in (*PAIRS, *CONTEXTS) for name in pair if name)}


@dataclass(frozen=True)
class Columns:
    """Which columns hold the text, the second text of a pair, and the label; None: found by usual
    names. If `text` is a number ("1": the first column), the file has no header: all are."""

    text: str | None = None
    pair: str | None = None
    label: str | None = None

    @property
    def numbered(self) -> bool:
        return self.text is not None and self.text.isdecimal()

    def label_in(self, row: Row) -> str | None:
        """The column of labels as the row writes it; None if none has a usual name."""
        return row.spelled(self.label) if self.label else row.find(LABELS)

    def found_in(self, row: Row, *, labeled: bool) -> "Columns":
        """The same columns as the row writes them, the open ones found by their usual names. Raises
        `UserError` if one is not there."""
        text, pair = self.text, self.pair
        if text is None and pair is None:
            both = (names for names in PAIRS if all(row.find([name]) for name in names))
            text, pair = next(both, (None, None))
        text = row.spelled(text) if text else row.find(TEXTS) or TEXTS[0]
        pair = row.spelled(pair) if pair else None
        label = (self.label_in(row) or LABELS[0]) if labeled else None
        used = [name for name in (text, pair, label) if name is not None]
        for name in used:
            if name not in row.fields:
                raise unknown_column(row, name, labeled=labeled)
        if len({*used}) < len(used):
            raise UserError(f"{row.place}: --columns takes {listed(used)}: name different columns")
        return Columns(text, pair, label)

    def __str__(self) -> str:
        pair = f", second text from {self.pair!r}" if self.pair else ""
        label = f", label from {self.label!r}" if self.label else ""
        return f"text from {self.text!r}{pair}{label}"


USUAL = Columns()


@dataclass
class Tally:
    """What was made of a source, noted while it is read."""

    source: str = ""  # the file
    columns: Columns | None = None
    found: dict[str, None] = field(default_factory=dict)  # of the file, in words, in order
    left_out: Counter[str] = field(default_factory=Counter)  # rows, by the reason
    # Of each label, by its plain form, how it was first written, and where.
    spellings: dict[str | Decimal, tuple[str, str]] = field(default_factory=dict)
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
    labeled: bool = True  # False: labels are not looked at
    tally: Tally = field(default_factory=Tally)
    train: Columns | None = None  # those of the training set: they count where a row has them

    def columns_in(self, row: Row) -> Columns:
        """Those of the training set (the label may have another name), else `columns`, else usual
        ones; without a training set just `columns`."""
        if self.train is not None:
            for each in (self.train, replace(self.train, label=None), self.columns, USUAL):
                with suppress(UserError):
                    return each.found_in(row, labeled=self.labeled)
        return self.columns.found_in(row, labeled=self.labeled)


def unknown_column(row: Row, name: str, *, labeled: bool = True) -> UserError:
    """A column that is not there, with the way out."""
    if name == LABELS[0] and row.find(TEXTS):
        return UserError(f"{row.missing(name)}: name yours, --columns label=NAME")
    names, numbers = ("TEXT,LABEL", "1,2") if labeled else ("TEXT", "1")
    way_out = f"name yours, --columns {names}, or number them, --columns {numbers}"
    return UserError(f"{row.missing(name)}: {way_out}, if line 1 is no line of names")


def parse_columns(text: str | None, *, labeled: bool = True) -> Columns:
    """`TEXT,LABEL` or `TEXT,PAIR,LABEL`, without labels `TEXT` or `TEXT,PAIR`: names of columns, or
    their numbers from 1. `text=NAME,label=NAME` names some; the others go by their usual names."""
    if text is None:
        return USUAL
    given = [name.strip() for name in text.split(",")]
    parts = dict(re.findall(r"^(text|pair|label)=(.+)$", "\n".join(given), re.MULTILINE))
    if len(parts) == len(given) and (labeled or "label" not in parts):
        return Columns(**parts)
    label = ("label",) if labeled else ()
    forms = [("text", *label), ("text", "pair", *label)]
    names = next((form for form in forms if len(form) == len(given)), None)
    kinds = {name.isdecimal() for name in given}
    if names is None or not all(given) or len({*given}) < len(given) or len(kinds) > 1:
        wanted = " or ".join(",".join(form).upper() for form in forms)
        raise UserError(f"--columns {text}: write {wanted}, all by name or all by number, none "
                        "twice")  # fmt: skip
    return Columns(**dict(zip(names, given, strict=True)))


# --- Sources -------------------------------------------------------------------------------------

Lines = Iterator[tuple[int, str]]  # with their numbers from 1, without their ends
Cells = Iterator[tuple[int, list[str]]]  # of a row, with the number of its first line

TABLES = (".tsv", ".csv", ".tab", ".psv")
WORDS_IN_COLUMNS = (".conll", ".conllu", ".bio", ".iob", ".iob2", ".bioes")
# Formats that cannot be read. A pickle can run code when it is opened.
OTHERS = (".xlsx", ".xls", ".ods", ".parquet", ".feather", ".arrow", ".pkl", ".pickle", ".rds",
          ".zip", ".tar")  # fmt: skip
SAMPLED = 200  # lines by which the format and the separator are chosen


def bare_suffix(path: Path) -> str:
    """The ending that tells the format: `.tsv` of `dev.tsv`, `dev.tsv.gz` and `DEV.TSV`."""
    return (path.with_suffix("") if path.suffix.lower() in PACKED else path).suffix.lower()


def is_file(source: str | Path) -> bool:
    """Whether a file or a folder is meant, there or not; else it is a dataset of the Hub."""
    path = Path(source).expanduser()
    endings = (*JSON_LINES, *TABLES, *WORDS_IN_COLUMNS, *OTHERS, ".txt")
    return path.exists() or bare_suffix(path) in endings or str(source).startswith((".", "/", "~"))


def open_rows(source: str | Path, expected: Expected, *, stream: bool = True,
              may_be_text: bool = False) -> Table:  # fmt: skip
    """All rows of a dataset of the Hub, or of a file: a table, or text if that `may_be_text`."""
    if not is_file(source):
        name = HubName.parse(str(source))
        ask_for_revision(name, stream=stream)
        return with_names(str(name), open_dataset(name, stream=stream))
    path = Path(source).expanduser()
    suffix = bare_suffix(path)
    if suffix not in OTHERS:
        lines = lines_of(path)
        rows = line_rows(str(path), lines, expected, suffix=suffix, may_be_text=may_be_text)
        if rows is not None:
            return rows
    raise UserError(f"{path} holds no table that can be read: save it as .csv (in Excel: CSV "
                    "UTF-8), .tsv or .jsonl with a line of names; words in columns as "
                    ".conll")  # fmt: skip


def lines_of(path: Path) -> Lines:
    """The lines of a file, plain or packed, that can be read twice."""
    if not path.is_file():
        refuse_pipe(path, str(path))
        problem = "a folder: name a file in it" if path.is_dir() else "there is no such file"
        raise UserError(f"{path}: {problem}")
    return iter(LineReader(path))


def with_names(name: str, dataset: Any) -> Table:
    """The rows of a dataset, labels by the names that its features have for them."""
    for number, row in enumerate(dataset_rows(name, dataset), start=1):
        types = dataset.features or {}
        fields = {column: _by_name(value, types.get(column)) for column, value in row.items()}
        yield Row(f"{name}: row {number}", fields)


def _by_name(value: Any, type_: Any) -> Any:
    """A label, or a list of them, under its name; -1, which stands for no label, becomes None."""
    if isinstance(value, list):
        return [_by_name(each, getattr(type_, "feature", None)) for each in value]
    if isinstance(value, int) and (names := getattr(type_, "names", None)):
        return names[value] if 0 <= value < len(names) else None
    return value


def line_rows(source: str, lines: Lines, expected: Expected, *, suffix: str = "",
              may_be_text: bool = False) -> Table | None:  # fmt: skip
    """The rows of lines, the first of which tell their format where the ending of a name does not.
    Lines without any are rows of plain text if they `may_be_text`, and else None; then
    `names_columns` decides what begins a table."""
    first = list(islice(lines, SAMPLED))
    if len(first) > 1 and re.fullmatch(r"sep=.", mark := first[0][1]) and mark[4] in first[1][1]:
        first[0] = (1, "")  # Excel's own line above a table, which is counted
    lines, sample = chain(first, lines), [line for _, line in first if line.strip()]
    start = sample[0] if sample else ""
    are_sure = len(first) == SAMPLED or any(map(SURE_TAG.search, sample))
    if suffix in WORDS_IN_COLUMNS or (are_sure and is_tagged_text(sample)):
        return column_rows(source, lines, sample, expected, is_conllu=suffix == ".conllu")
    if suffix in JSON_LINES or JSON_START.match(start):
        return json_rows(source, lines, expected)
    hint = suffix or (".tsv" if "\t" in start else ".csv")
    separator = separator_of(sample, hint)
    if suffix not in TABLES and expected.columns == USUAL:  # --columns are those of a table
        if not may_be_text:
            if separator not in start:
                return None
        elif names_columns(start, separator, expected.train or USUAL):
            expected.tally.note(f"the first line, {quoted(start)}, is read as names of columns")
        else:
            check_no_names(source, sample, separator, is_text=suffix == ".txt")
            return (Row(f"{source}: line {number}", {}, line.split("\t")) for number, line in lines)
    expected.tally.note(SEPARATORS[separator])
    cells = split_csv(source, lines, separator)
    if separator == "\t" and hint == ".tsv" and not start.startswith('"'):
        cells = ((number, list(map(unquoted, row))) for number, row in split_tsv(lines))
    return table_rows(source, cells, expected)


# --- JSON ----------------------------------------------------------------------------------------

JSON_START = re.compile(r'\s*(\[\s*)?\{\s*("|$)|\s*\[\s*$')
OF_ANSWERS = ("probabilities", "probability", "candidates", "right", "row")  # of `bert-predict`
DOCUMENT_START = re.compile(r"\s*\[.*|.*[{:,\[]\s*")  # its first line; the others follow


def json_rows(source: str, lines: Lines, expected: Expected) -> Table:
    """The object on each line, or those of one document: a list of objects, or SQuAD's JSON. Where
    labels are read, answers of a model are refused: their label is what it predicted."""
    texts = ((f"{source}: line {number}", line) for number, line in lines if line.strip())
    for place, text in texts:
        if DOCUMENT_START.fullmatch(text):
            text = "\n".join([text, *(line for _, line in texts)])
        content = parsed_json(place, text)
        records = content if isinstance(content, list) else squad_records(content)
        rows = [(place, content)]
        if records is not None:
            rows = [(f"{source}: row {number}", each) for number, each in enumerate(records, 1)]
        for place, fields in rows:
            if not isinstance(fields, dict):
                raise UserError(f'{place} is {quoted(fields)}, no object: write {{"text": …}}')
            row = Row(place, fields)
            for name in OF_ANSWERS if expected.labeled else ():
                if isinstance(fields.get(name), dict | list | float):
                    raise row.wrong(name, ": what a model has answered is no label: give the "
                                    "labeled file, or rename this field")  # fmt: skip
            yield row


def parsed_json(place: str, text: str) -> Any:
    try:
        return whole(parse_strictly(text))
    except (ValueError, RecursionError) as error:  # a ValueError: a number of 5,000 digits
        problem = getattr(error, "msg", "nested too deep, or a number too long")
        if (line := getattr(error, "lineno", 1)) > 1:
            place = f"{place.rpartition(': ')[0]}: line {line}"
        raise UserError(f"{place} is not JSON ({problem}): repair or fetch it again") from None


def squad_records(content: Any) -> list[dict[str, Any]] | None:
    """The questions of SQuAD, each with its context; None if the JSON is other, or damaged."""
    names = ("id", "question", "answers", "is_impossible")
    match content:
        case {"data": [{"paragraphs": _}, *_] as articles}:
            with suppress(KeyError, TypeError):
                return [{name: asked[name] for name in names if name in asked}
                        | {"context": part["context"]} for article in articles
                        for part in article["paragraphs"] for asked in part["qas"]]  # fmt: skip
    return None


def whole(value: Any) -> Any:
    """A JSON value whose texts hold whole characters."""
    if isinstance(value, dict):
        return {whole_characters(str(name)): whole(each) for name, each in value.items()}
    if isinstance(value, list):
        return [whole(each) for each in value]
    return whole_characters(value) if isinstance(value, str) else value


# --- Tables --------------------------------------------------------------------------------------

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
NAMELESS = re.compile(r"|Unnamed: \d+\w*")  # columns that R, pandas and spreadsheets add
PLAIN_NAME = re.compile(r'"?[\w#][\w.#-]*(?<!\.)"?')  # of a column: one word without marks
# A cell may be as long as a text is; the module's own limit of 131,072 characters is not for data.
csv.field_size_limit(2**31 - 1)


def names_columns(line: str, separator: str, learned: Columns) -> bool:
    """Whether a first line begins a table: one of its cells is the name of a text in the training
    set, or a usual one beside other cells. With only one usual name and a blank after a separator
    it is prose: "Content, happy"."""
    cells = [cell.strip().strip('"') for cell in line.split(separator)]
    if usual_name(cells, [name for name in (learned.text, learned.pair) if name]):
        return True
    usual = [cell for cell in cells if usual_name([cell], [*ASKED_COLUMNS, *LABELS, "id"])]
    is_prose = len(usual) < 2 and f"{separator} " in line
    return len(cells) > 1 and usual_name(cells, ASKED_COLUMNS) is not None and not is_prose


def check_no_names(source: str, lines: Sequence[str], separator: str, *, is_text: bool) -> None:
    """Raise `UserError` if a first line, with another below it, looks like names of columns: a
    usual one or, unless the file is said to hold text, as many as that line has cells."""
    if len(lines) < 2:
        return
    line, below = lines[:2]
    is_header = usual_name([line.strip().strip('"')], ASKED_COLUMNS) is not None
    names = line.split(separator)
    if not is_text and separator != "\t" and len(names) == len(below.split(separator)) > 1:
        is_header = is_header or all(map(PLAIN_NAME.fullmatch, names))
    if is_header:
        raise UserError(f"{source}: line 1 ({shortened(' '.join(line.split()))}) looks like the "
                        "names of columns: say which of them holds the text, --columns TEXT, or "
                        "remove the line; lines of plain text can be given as --input "
                        "FILE.txt")  # fmt: skip


def table_rows(source: str, cells: Cells, expected: Expected, *, skip_short: bool = False) -> Table:
    """Each row under the names of its columns, which the first row gives, or if they are numbered
    "1", "2", …; nameless ones are left out. `skip_short` passes over rows with fewer columns."""
    header: list[str] = []
    if not expected.columns.numbered:
        number, names = next(cells, (1, []))
        header = [name.strip() for name in names]  # people write "text, label"
        if twice := [name for name in header if name and header.count(name) > 1]:
            place = f"{source}: line {number}"
            raise UserError(f"{place} names two columns {quoted(twice[0])}: rename one")
        if any(map(NAMELESS.fullmatch, header)):
            expected.tally.note("columns without a name left out")
    for number, row in cells:
        place = f"{source}: line {number}"
        if not header:  # --columns 1,2: the first row is an example
            header = [str(column) for column in range(1, len(row) + 1)]
            first = [cell.strip() for name, cell in zip(header, row, strict=True)
                     if name in vars(expected.columns).values()]  # fmt: skip
            if usual_name(first, [*ASKED_COLUMNS, *LABELS]):
                given = shortened(" ".join(",".join(first).split()))
                raise UserError(f"{place} looks like the names of columns ({given}): name them, "
                                f"--columns {given}; if it is an example, move it")  # fmt: skip
        both = [[cell.strip('\ufeff" \t\xa0').lower() for cell in each] for each in (row, header)]
        if both[0] == both[1] and len(row) > 1 and not expected.columns.numbered:  # joined with cat
            raise UserError(f"{place} repeats the names of the columns: remove the line")
        if skip_short and len(row) < len(header):
            continue
        if len(row) != len(header):
            raise UserError(f"{place} has {len(row)} columns, not the {len(header)} of the table "
                            f"({listed(header)}): repair the line, or put a text with a separator "
                            "in quotes (quotes do not protect the tabs of a .tsv: name it "
                            ".csv)")  # fmt: skip
        fields = {name: cell for name, cell in zip(header, row, strict=True)
                  if not NAMELESS.fullmatch(name)}  # fmt: skip
        yield Row(place, fields)


def separator_of(sample: Sequence[str], suffix: str) -> str:
    """The separator that splits the first line and most others into equally many cells."""
    usual = "\t" if suffix == ".tsv" else ","
    if not sample or (usual == "\t" and "\t" in sample[0]):
        return usual

    def fit(mark: str) -> tuple[bool, float, int, bool]:
        with suppress(csv.Error):  # which is told with its line when that is read
            rows = csv.reader((line + "\n" for line in sample), delimiter=mark)
            width, *others = map(len, rows)
            return width > 1, others.count(width) / max(len(others), 1), width, mark == usual
        return False, 0.0, 0, mark == usual

    return max(SEPARATORS, key=fit)


def split_tsv(lines: Lines) -> Cells:
    """Cells between tabs, quotes as they stand: so GLUE writes them, odd quotes included."""
    return ((number, line.split("\t")) for number, line in lines if line)


def unquoted(cell: str) -> str:
    """A cell in quotes with doubled quotes inside was written by a spreadsheet, and loses them."""
    inside = cell[1:-1]
    is_whole = len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in inside.replace('""', "")
    return inside.replace('""', '"') if is_whole and '""' in inside else cell


def split_csv(source: str, lines: Lines, separator: str = ",") -> Cells:
    """Cells between separators; one in quotes may hold separators, doubled quotes and lines."""
    reader = csv.reader((line + "\n" for _, line in lines), strict=True, delimiter=separator)
    number = 1
    try:
        for row in reader:
            if row:
                yield number, row
            number = reader.line_num + 1  # a row begins where the last one ended
    except csv.Error as error:
        raise UserError(f"{source}: line {number} is not CSV ({error}): repair the line") from None


# --- Words in columns ----------------------------------------------------------------------------

# A word a line, an empty line between sentences. The word stands in the first column and its tag in
# the last (CoNLL-2003, WNUT-17), in CoNLL-U in the second and the fourth of ten.

NAME_TAG = re.compile(r"O|[BIELSU][-_].+")
# Lines of plain text may end in O, E-mail, S-Bahn, B-12 and I-95, too. Where the file's name does
# not tell the format, one of these must occur as well, unless all SAMPLED lines end in tags.
SURE_TAG = re.compile(r"\s([BI][-_][^\W\d]\S*|[ELSU][-_][A-Z]{2,})(?!\S)")
NO_WORD = re.compile(r"#.*|\d+[-.]\d+")  # comments; fused words, and words left out


def column_rows(source: str, lines: Lines, sample: Sequence[str], expected: Expected, *,
                is_conllu: bool) -> Table:  # fmt: skip
    """The `words` of each sentence and their `tags`, if there is more than one column. Passed over:
    comments, lines with -DOCSTART-, which part documents, and of CoNLL-U words that were fused
    (`1-2  don't` before `1  do`, `2  n't`) or left out of the sentence (`1.1`)."""
    has_names, rows = is_tagged_text(sample), rows_of_words(sample)
    width = 10 if is_conllu else next(map(len, rows), 0)
    word, tag = (1, 3) if is_conllu else (0, width - 1)
    has_tabs, known = any("\t" in line for line in sample), {"#", *(row[-1] for row in rows)}
    has_numbers = len(rows) > 1 and all(cells[0].isdecimal() for cells in rows)
    if has_numbers and width > 1 and not is_conllu:
        raise UserError(f"{source}: its first column holds numbers ({quoted(rows[0][0])}, …): put "
                        "the word first and its tag last")  # fmt: skip
    if width > 2:
        expected.tally.note(f"word in column {word + 1}, tag in column {tag + 1}")
    for has_text, block in groupby(lines, key=lambda each: bool(each[1].strip())):
        begin, words, tags = 0, [], []
        for number, line in block if has_text else ():
            cells = cells_of(line)
            is_word = len(cells) == width and (not has_names or NAME_TAG.fullmatch(cells[tag]))
            if cells[0] == "#" and "\t" not in line:  # "# 12"
                is_word = is_word and not has_tabs and (cells[tag] in known or cells[tag].isupper())
            is_comment = cells[0].startswith("#") and not begin and not is_word
            is_fused = is_conllu and NO_WORD.fullmatch(cells[0])
            if is_comment or is_fused or cells[0] == "-DOCSTART-":
                continue
            if len(cells) != width:
                raise UserError(f"{source}: line {number} has {len(cells)} columns, not {width}: "
                                "write word and tag first and last (in CoNLL-U second and fourth), "
                                "between tabs or spaces")  # fmt: skip
            begin = begin or number
            words.append(cells[word])
            tags.append("" if is_conllu and cells[tag] == "_" else cells[tag])
        if begin:
            sentence = {"words": words} | ({"tags": tags} if width > 1 else {})
            yield Row(f"{source}: line {begin}", sentence)


def cells_of(line: str) -> list[str]:
    """Columns between tabs or spaces."""
    return line.split("\t") if "\t" in line else re.split(" +", line.strip(" "))


def rows_of_words(sample: Sequence[str]) -> list[list[str]]:
    """The columns of the lines that may hold a word."""
    return [cells_of(line) for line in sample if not line.startswith(("#", "-DOCSTART-"))]


def is_tagged_text(sample: Sequence[str]) -> bool:
    """Whether lines are words in columns, with tags of names: no other format looks like that."""
    rows = rows_of_words(sample)
    is_table = len(rows) > 1 and len(rows[0]) > 1 and len(set(map(len, rows))) == 1
    return is_table and all(NAME_TAG.fullmatch(row[-1]) for row in rows)


# --- Labels --------------------------------------------------------------------------------------

# What is doubtful is an error with its line: a label that was understood in the wrong way costs a
# whole training run, and nothing in the result shows it.

NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d{1,3})?", re.ASCII)
JOINERS = "\u200c\u200d\ufe0f"  # invisible, and needed in Persian, Hindi and emoji
# What spreadsheets and pandas write where there is no value; no label is called that.
MISSING = ("nan", "<na>", "#n/a", "#value!", "#ref!", "#name?", "#div/0!", "#num!")
LARGEST = 1e15  # of a number to be predicted; its square must fit into float32 with room to spare
MANY = 10  # classes, from which on they are compared with the number of examples
COUNTED = 20  # whole numbers, from which on they may well be a scale


def label_of(row: Row, column: str, expected: Expected) -> str | None:
    """The label without blanks around it; None if the row is known to have none."""
    value, allowed = value_of(row, column), expected.labels
    if value is None:
        return None
    if isinstance(value, list | dict):
        raise row.wrong(column, ": several labels, and a text has one: choose one")
    name = value.strip() if isinstance(value, str) else json.dumps(value)
    if name.lower() in MISSING or name == "NaT":
        way_out = ", which stands for a missing value: write a label, or remove the line"
        raise row.wrong(column, way_out)
    check_label(name, row.place, Tally() if allowed else expected.tally)
    if allowed is None or name in allowed:
        return name
    numbers = {str(place): label for place, label in enumerate(allowed)}
    are_names = not re.search(r"\d", re.sub(r"LABEL_\d+", "", " ".join(allowed)))  # no "1 star"
    if expected.by_place and name in numbers and are_names:
        known = ", ".join(f"{number} = {label}" for number, label in numbers.items())
        expected.tally.note(f"numbers stand for labels: {shortened(known)}")
        return numbers[name]  # a file of numbers means the places of the names in the list
    raise UserError(f"{row.place}: the label is {quoted(name)}, not {one_of(allowed)}")


def value_of(row: Row, column: str) -> Any:
    """What the row has in the column of labels; None where it is known that there is no label."""
    if column not in row.fields:
        raise row.missing(column)
    value = row.fields[column]
    if column == "gold_label" and value == "-":  # SNLI and MNLI, where people did not agree
        return None
    if isinstance(value, str) and not value.strip():
        raise UserError(f"{row.place}: {quoted(column)} is empty: write a label or remove the line")
    return value


def check_label(name: str, place: str, tally: Tally) -> None:
    """Raise `UserError` for a label with marks that only a mistake puts there, and for a second
    spelling of one that occurred before: `Pos` beside `pos` is almost always one label."""
    hidden = {each for each in name if unicodedata.category(each) in ("Cc", "Cf")} - {*JOINERS}
    if hidden or (len(name) > 1 and name[0] == name[-1] == '"'):
        what = "invisible control characters" if hidden else "quotes around it"
        raise UserError(f"{place}: the label {quoted(name)} has {what}: remove them")
    earlier, where = tally.spellings.setdefault(plain_form(name), (name, place))
    if earlier != name:
        raise UserError(f"{place}: the label {name!a} differs from {earlier!a} ({where}) only in "
                        "case, in blanks, or in how a number or a character is written: write both "
                        "alike, or rename one")  # fmt: skip


def plain_form(name: str) -> str | Decimal:
    """What two spellings of one label have in common: they may differ in case, in blanks, in how
    Unicode writes a letter (é as one character or as two), and in how a number is: 1, 1.0, true."""
    plain = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
    plain = {"true": "1", "false": "0"}.get(plain, re.sub(f"[{JOINERS}]", "", plain))
    return Decimal(plain.replace(",", ".")) if NUMBER.fullmatch(plain) else plain


def number_of(row: Row, column: str, _: Expected) -> float | None:
    """The number to be predicted; None if the row is known to have none."""
    value = value_of(row, column)
    if value is None:
        return None
    is_number = type(value) in (int, float) or NUMBER.fullmatch(str(value).strip())
    with suppress(ValueError, OverflowError):  # a decimal comma; a number of 5,000 digits
        if is_number and abs(number := float(value)) <= LARGEST:
            return number
    wanted = f"it must be a number with a decimal point, from -{LARGEST:g} to {LARGEST:g}"
    raise row.wrong(column, f": {wanted} (for labels that are names give --format texts)")


def are_numbers(labels: Iterable[Any], *, few: float = 1 / 10) -> bool:
    """Whether labels are measured, not counted: most are numbers, and a share above `few` has a
    fraction (any, if the rest are no classes). Those that are no numbers are errors later."""
    written = [str(label).strip() for label in labels if label is not None]
    written = [each for each in written if each and each.lower() != "nan"]
    numbers = [each for each in written if NUMBER.fullmatch(each)]
    wholes = [each for each in numbers if "," not in each and float(each).is_integer()]  # 1e0, too
    least = few * len(numbers) if len(set(wholes)) <= MANY else 0
    return 2 * len(numbers) > len(written) and len(numbers) - len(wholes) > least


def check_classes(source: str | Path, labels: Sequence[str]) -> None:
    """Raise `UserError` where classes may be something else; many whole numbers are noted."""
    examples, classes = len(labels), len(set(labels))
    if are_numbers(labels, few=0):
        fraction = next(each for each in labels if are_numbers([each]))
        found = f"labels are numbers, some with a fraction ({quoted(fraction)}, a typo?)"
    elif classes > MANY and 2 * classes > examples:
        found = f"{examples:,} examples have {classes:,} different labels, as {quoted(labels[0])}"
    else:
        if classes > COUNTED and all(map(NUMBER.fullmatch, labels)):
            hint = "are whole numbers, each learned as a class; --format numbers predicts a number"
            say(f"note: {source}: the {classes} labels {hint}")
        return
    raise UserError(f"{source}: its {found}: give --format numbers to predict a number, --columns "
                    "to name another column, or --format texts to learn these classes")  # fmt: skip


def label_set(labels: Iterable[str]) -> tuple[str, ...]:
    """The different labels in one lasting order: numbers by their size, other names by letter."""
    different = sorted(set(labels))
    if all(map(str.isdecimal, different)):  # int() refuses very long numbers
        different.sort(key=lambda label: (len(label.lstrip("0")), label.lstrip("0")))
    return tuple(different)
