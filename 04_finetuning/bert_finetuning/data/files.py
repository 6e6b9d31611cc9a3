"""Lines and cells of files as they come: the encoding, the separator and the quotes are found out.

Excel writes semicolons and decimal commas in half of the world, UTF-16 as "Unicode text", and
Windows-1252 as plain CSV. All of that can be told from the content. What was found is handed to
`note`, so that a command can show it; what cannot be told is an error that names the way out.
"""

import codecs
import csv
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, dropwhile, islice
from pathlib import Path

from bert_corpus.documents import PACKED, LineReader
from bert_run.errors import UserError
from bert_run.files import refuse_pipe

Lines = Iterator[tuple[int, str]]  # with their numbers from 1, without their ends
Cells = Iterator[tuple[int, list[str]]]  # of a row, with the number of its first line
Note = Callable[[str], object]  # takes a few words about what was found

# A cell may be as long as a text is; the module's own limit of 131,072 characters is not for data.
csv.field_size_limit(2**31 - 1)


def silent(found: str) -> None:
    """A `note` for readers whose user is not told."""


def bare_suffix(path: Path) -> str:
    """The ending that tells the format: `.tsv` of `dev.tsv`, `dev.tsv.gz` and `DEV.TSV`."""
    return (path.with_suffix("") if path.suffix.lower() in PACKED else path).suffix.lower()


# --- Encoding ------------------------------------------------------------------------------------

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins as UTF-16's mark does, so it comes first
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
ENCODING_NAMES = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8", "utf-16": "UTF-16", "utf-16-le": "UTF-16",
                  "utf-16-be": "UTF-16", "utf-32": "UTF-32", "cp1252": "Windows-1252"}  # fmt: skip
PIECE = 1 << 20  # bytes that are looked at together
LETTER = r"[^\W\d_]"
# Between two letters, these signs are letters of another encoding: "³" of Windows-1252 is the "ł"
# of Windows-1250.
SIGN_IN_WORD = re.compile(f"(?<={LETTER})[¤¦¨¬¯±²³¶¸¹¼½¾¿¡£¥§©«»®°](?={LETTER})")
MOST_ACCENTS = 1 / 3  # of the letters of a text in a Western European language


def encoding_of(path: Path) -> str:
    """The encoding of a file, as `codecs` calls it.

    A byte order mark decides; without one it is UTF-8 if all of the file is, and Windows-1252, to
    which Latin-1 belongs, if it then reads as a Western European language.
    """
    is_ascii, utf8 = True, codecs.getincrementaldecoder("utf-8")()
    for number, piece in enumerate(LineReader(path).pieces(PIECE, by_line=False)):
        if number == 0 and (encoding := encoding_of_start(piece)):
            return encoding
        try:
            is_ascii = utf8.decode(piece).isascii() and is_ascii
        except UnicodeDecodeError as error:
            # In Windows-1252 the first accented letter is hardly ever UTF-8; if some were, the file
            # is a damaged UTF-8, and the line is told when it is read.
            if not is_ascii or not error.object[: error.start].isascii():
                return "utf-8"
            check_western(piece, path)
            return "cp1252"
    return "utf-8"


def encoding_of_start(start: bytes) -> str | None:
    """What the first bytes of a file tell: a byte order mark, or a NUL in every second place."""
    for mark, encoding in BYTE_ORDER_MARKS:
        if start.startswith(mark):
            return encoding
    start = start[:1000]
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if len(start) > 3 and not any(start[first::2]) and all(start[1 - first :: 2]):
            return encoding
    return None


def check_western(piece: bytes, path: Path) -> None:
    """Raise `UserError` if bytes that are not UTF-8 make no sense as Windows-1252."""
    if b"\0" in piece:
        raise binary_error(path, piece)
    try:
        text = piece.decode("cp1252")
    except UnicodeDecodeError:
        text = None
    if text is not None:
        letters = re.findall(LETTER, text)
        accents = sum(not letter.isascii() for letter in letters)
        signs = len(SIGN_IN_WORD.findall(text))
        if accents <= MOST_ACCENTS * len(letters) and 10 * signs <= accents + signs:
            return
    start = next(place for place, byte in enumerate(piece) if byte > 127)
    raise UserError(
        f"{path}: line {piece[:start].count(10) + 1} (byte 0x{piece[start]:02x}) is neither UTF-8 "
        f"nor Windows-1252: save it as UTF-8 (in Excel: CSV UTF-8), or convert it: iconv -f "
        f"ENCODING -t UTF-8 {path.name}"
    )


def binary_error(path: Path, start: bytes) -> UserError:
    if start.startswith(b"PK"):
        return UserError(
            f"{path} is an Excel file or a zip archive, no text: name it FILE.xlsx, or unpack it"
        )
    return UserError(f"{path} holds NUL bytes: it is a binary file, no text")


# --- Lines ---------------------------------------------------------------------------------------


def lines_of(path: Path, note: Note = silent) -> Lines:
    """Whole lines without their ends, and their numbers from 1. A missing file is an error."""
    if not path.is_file():
        refuse_pipe(path, str(path))
        problem = "a folder: name a file in it" if path.is_dir() else "there is no such file"
        raise UserError(f"{path}: {problem}")
    encoding = encoding_of(path)
    note(ENCODING_NAMES[encoding])
    for number, line in enumerate(decoded_lines(path, encoding, note), start=1):
        if "\0" in line:
            raise binary_error(path, line.encode(errors="replace"))
        yield number, line.removesuffix("\r")


def decoded_lines(path: Path, encoding: str, note: Note) -> Iterator[str]:
    """Lines end with "\\n", or with "\\r" where the file has nothing else, as an old Mac writes."""
    texts = codecs.iterdecode(LineReader(path).pieces(PIECE, by_line=False), encoding)
    count, rest, end = 0, "", "\n"
    try:
        for text in texts:
            if count == 0 and not rest and "\r" in text[:-1] and "\n" not in text:
                end = "\r"
                note("lines that end with carriage returns")
            *whole, rest = (rest + text).split(end)
            count += len(whole)
            yield from whole
    except UnicodeDecodeError as error:
        # `iterdecode` stops within a piece, whose bytes up to the error are good.
        before = rest + error.object[: error.start].decode(encoding, "ignore")
        column = len(before[before.rfind("\n") + 1 :].encode(encoding)) + 1
        raise UserError(
            f"{path}: line {count + before.count(chr(10)) + 1}, byte {column} of the line "
            f"(0x{error.object[error.start]:02x}) is not {encoding.upper()}, and the lines before "
            "are: repair the line"
        ) from None
    if rest:
        yield rest


# --- Cells ---------------------------------------------------------------------------------------

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
SAMPLED = 200  # lines by which the separator is chosen
SEPARATOR_LINE = re.compile(r'"?sep=(.)"?;*', re.IGNORECASE)  # tells Excel what separates cells


def split_table(source: str, lines: Lines, *, suffix: str = ".csv", note: Note = silent) -> Cells:
    """The cells of a table, the line of names first. Its name's ending is a hint, no more."""
    lines = dropwhile(lambda line: not line[1].strip(), lines)
    first = list(islice(lines, SAMPLED))
    told = SEPARATOR_LINE.fullmatch(first[0][1]) if first else None
    first = first[1:] if told else first
    sample = [line for _, line in first]
    separator = told[1] if told else separator_of(sample, suffix)
    note(SEPARATORS.get(separator, f"separator {separator!r}"))
    lines = chain(first, lines)
    if separator == "\t" and suffix == ".tsv" and not has_quoted_cells(sample):
        return ((number, list(map(unquoted, cells))) for number, cells in split_tsv(lines))
    return split_csv(source, lines, separator)


def separator_of(sample: Sequence[str], suffix: str) -> str:
    """The mark that splits the first line, and most of the others into as many cells.

    Where several do, the one with the most cells; a table of one column has none.
    """
    usual = "\t" if suffix == ".tsv" else ","
    if not sample or (usual == "\t" and "\t" in sample[0]):
        return usual

    def fit(mark: str) -> tuple[bool, float, int, bool]:
        width, *others = widths(sample, mark)
        alike = sum(other == width for other in others) / max(len(others), 1)
        longer = sum(other == width + 1 for other in others) / max(len(others), 1)  # R's tables
        return width > 1, max(alike, longer), width, mark == usual

    return max(SEPARATORS, key=fit) if any(fit(mark)[0] for mark in SEPARATORS) else usual


def widths(sample: Sequence[str], separator: str) -> list[int]:
    """How many cells each row has; the last one may go on after the sample, and is left out."""
    found = [0]
    with suppress(csv.Error):  # which is told with its line when that is read
        reader = csv.reader((line + "\n" for line in sample), delimiter=separator)
        found = [len(row) for row in reader if row] or found
    return found[:-1] if len(found) > 2 and len(sample) == SAMPLED else found


def has_quoted_cells(sample: Sequence[str]) -> bool:
    """Whether quotes in a .tsv mean what they mean in a CSV: R quotes all names and texts; other
    programs quote a cell that holds a tab or the end of a line. GLUE's files have neither."""
    names = sample[0].split("\t") if sample else []
    if any(len(name) > 1 and name[0] == name[-1] == '"' for name in names):
        return True
    as_they_stand = {line.count("\t") for line in sample if line}
    return len(as_they_stand) > 1 and len(set(widths(sample, "\t"))) == 1


def split_tsv(lines: Lines) -> Cells:
    """Cells between tabs, quotes as they stand: so GLUE writes them, odd quotes included."""
    for number, line in lines:
        if line:
            yield number, line.split("\t")


def unquoted(cell: str) -> str:
    """A cell in quotes with doubled quotes inside was written by a spreadsheet, and loses them."""
    if len(cell) > 1 and cell[0] == cell[-1] == '"':
        inside = cell[1:-1]
        if '""' in inside and '"' not in inside.replace('""', ""):
            return inside.replace('""', '"')
    return cell


def split_csv(source: str, lines: Lines, separator: str = ",") -> Cells:
    """Cells between separators; one in quotes may hold separators, doubled quotes and lines."""
    first = list(islice(lines, 1))
    number = first[0][0] if first else 1
    above = number - 1
    whole = (line + "\n" for _, line in chain(first, lines))
    reader = csv.reader(whole, strict=True, delimiter=separator)
    try:
        for row in reader:
            if row:
                yield number, row
            number = above + reader.line_num + 1  # a row begins where the last one ended
    except csv.Error as error:
        raise UserError(f"{source}: line {number} is not CSV ({error}): repair the line") from None


# --- Workbooks -----------------------------------------------------------------------------------


def sheet_cells(path: Path, note: Note = silent) -> Cells:
    """The cells of the first sheet of a workbook that has any, as a CSV would hold them."""
    try:
        import openpyxl
    except ImportError:
        raise UserError(
            f"{path}: reading Excel's .xlsx needs openpyxl: pip install openpyxl, or save the "
            "table as CSV UTF-8"
        ) from None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file") from None
    except Exception as error:  # of zipfile, XML and openpyxl
        raise UserError(
            f"{path} cannot be opened as an Excel file ({error}): save the table as CSV UTF-8"
        ) from None
    for sheet in book.worksheets:
        rows = [(number, ["" if cell is None else str(cell) for cell in row])
                for number, row in enumerate(sheet.iter_rows(values_only=True), start=1)
                if any(cell is not None for cell in row)]  # fmt: skip
        if rows:
            others = len(book.worksheets) - 1
            note(f"sheet {sheet.title!r}" + (f" (of {others + 1})" if others else ""))
            width = max(len(row) for _, row in rows)
            return iter([(number, [*row, *[""] * (width - len(row))]) for number, row in rows])
    return iter(())


def whole_text(path: Path, note: Note = silent) -> str:
    return "\n".join(line for _, line in lines_of(path, note))


def first_lines(path: Path, count: int) -> list[str]:
    return [line for _, line in islice(lines_of(path), count)]
