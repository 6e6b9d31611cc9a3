"""From text files to documents: lines of files, plain or packed; paragraphs; sentences.

A `LineReader` hands out the lines of a file with bounded memory, and its errors name the place.

Line ends and empty lines say what belongs together, and every corpus says it differently. A sample
of the lines tells which of three layouts is meant:

- `sentence`: each line is a sentence; an empty line ends the document;
- `paragraph`: each line is a paragraph of prose; an empty line ends the document;
- `wrapped`: prose broken into lines of about equal length, as in Project Gutenberg's books; an
  empty line ends the paragraph, two or more end the document.

WikiText marks articles by headings, ` = Title = `, and has empty lines between paragraphs: there
a title begins the document, headings are dropped and empty lines mean nothing.

Prose is split by `sentencex`.
"""

import bz2
import gzip
import io
import json
import lzma
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path
from typing import Literal

import sentencex
import zstandard

from bert_run.errors import UserError
from bert_run.files import decode_line, refuse_old_mac_line_ends
from bert_run.validation import shown

PACKED = (".gz", ".xz", ".zst", ".bz2")
JSON_LINES = (".jsonl", ".json", ".ndjson")
TEXT = (".txt", ".text", ".md", ".rst", ".raw", ".tokens", ".train", ".valid", ".test")

LONGEST_PIECE = 1 << 18  # bytes; a longer line is handed out in pieces, cut at a space
LONGEST_JSON = 1 << 26  # bytes; a JSON line cannot be handed out in pieces


def kind_of(path: Path) -> str | None:
    """`text` or `json` by the file's name, packed or not; None if the name says neither."""
    ending = path.suffix.lower()  # DOS and cameras write README.TXT
    name = path.with_suffix("") if ending in PACKED else path
    if name.suffix.lower() in JSON_LINES:
        return "json"
    return "text" if name.suffix.lower() in TEXT or ending in PACKED else None


@dataclass(frozen=True)
class FoundFiles:
    """The text files of a corpus, sorted by path, and what else lies there, in words."""

    files: list[Path]
    passed_over: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        count = f"{len(self.files):,} file{'s' * (len(self.files) != 1)} read"
        return "; ".join([count, *self.passed_over])


def find_text_files(path: Path) -> FoundFiles:
    """A file itself, or all text files below a folder; files without a suffix count as text.

    Hidden files are passed over, and files that other programs own (`.py`, `.png`, …), folders
    that cannot be opened, and the folders of runs, models and token stores, which are our own.
    """
    if not path.is_dir():
        return FoundFiles([path])
    files: list[Path] = []
    others: list[str] = []  # the endings of files that are no text
    unreadable: list[str] = []
    own: list[str] = []
    for folder, below, names in os.walk(path, onerror=lambda e: unreadable.append(e.filename)):
        place = Path(folder)
        if place != path and is_own_folder(place):
            own.append(place.relative_to(path).as_posix())
            below.clear()
            continue
        below[:] = [name for name in below if not name.startswith(".")]
        for file in (place / name for name in names if not name.startswith(".")):
            if file.is_file() and (kind_of(file) or not file.suffix):
                files.append(file)
            else:
                others.append(file.suffix.lower() if file.is_file() else "broken links and pipes")
    said = []
    if others:
        kinds = ", ".join(sorted(set(others)))
        said.append(f"{len(others):,} passed over ({kinds})")
    if own:
        said.append(f"left out what runs have written: {', '.join(sorted(own)[:3])}")
    if unreadable:
        said.append(f"not permitted to open {', '.join(sorted(unreadable)[:3])}")
    return FoundFiles(sorted(files), said)


def is_own_folder(folder: Path) -> bool:
    """Whether a folder is a run's, a model's, or that of token stores."""
    return any(
        (folder / name).is_file()
        for name in ("run.json", "tokenizer_config.json", "tokenizer/tokenizer_config.json")
    )


class CountingFile(io.FileIO):
    """A raw file that counts the bytes read, so that progress can be shown of packed files."""

    count = 0

    def readinto(self, buffer) -> int:
        size = super().readinto(buffer)
        self.count += size
        return size


def _unpack(path: Path, raw: io.BufferedIOBase) -> io.BufferedIOBase:
    match path.suffix.lower():
        case ".gz":
            return gzip.GzipFile(fileobj=raw)
        case ".xz":
            return lzma.LZMAFile(raw)
        case ".bz2":
            return bz2.BZ2File(raw)
        case ".zst":
            return io.BufferedReader(_ZstdFile(raw), 1 << 18)
    return raw


class _ZstdFile(io.RawIOBase):
    """Unpacked bytes of a `.zst` file; unlike the library's reader, it notices a missing end."""

    def __init__(self, raw: io.BufferedIOBase):
        self.raw = raw
        self.frame = zstandard.ZstdDecompressor().decompressobj()
        self.started = False  # in the middle of a frame
        self.ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        while not self.ready:
            packed = self.frame.unused_data or self.raw.read(1 << 16)
            if not packed:
                if self.started:
                    raise EOFError("the archive ends too early")
                return 0
            if self.frame.eof:
                self.frame = zstandard.ZstdDecompressor().decompressobj()
            self.ready = self.frame.decompress(packed)
            self.started = not self.frame.eof
        size = min(len(buffer), len(self.ready))
        buffer[:size] = self.ready[:size]
        self.ready = self.ready[size:]
        return size


class LineReader:
    """The lines of one file as text, again and again; `bytes_read` follows the last iteration."""

    def __init__(self, path: Path):
        self.path = path
        self.size_bytes = os.path.getsize(path)
        self.bytes_read = 0

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Pairs of line number (from 1) and text; a very long line comes in several pieces."""
        longest = LONGEST_JSON if kind_of(self.path) == "json" else LONGEST_PIECE
        number, rest = 1, b""
        for piece in self.pieces(longest):
            if number == 1:
                refuse_old_mac_line_ends(piece, str(self.path))
            ends_line = piece.endswith(b"\n")
            line = rest + piece
            rest = b""
            if not ends_line and len(line) >= longest:
                line, rest = _cut_at_space(line)
            yield number, decode_line(line, number, str(self.path))
            number += ends_line
        if rest:
            yield number, decode_line(rest, number, str(self.path))

    def pieces(self, longest: int, *, by_line: bool = True) -> Iterator[bytes]:
        """The unpacked bytes: lines, cut where they are longer, or else pieces of that size."""
        try:
            raw = CountingFile(self.path)
            with io.BufferedReader(raw, 1 << 18) as packed:
                file = _unpack(self.path, packed)
                read = file.readline if by_line else file.read
                while piece := read(longest):
                    self.bytes_read = raw.count
                    yield piece
        except (EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError) as error:
            raise UserError(f"{self.path}: damaged archive ({error}); fetch it again") from None
        except OSError as error:
            if error.errno is None:  # what gzip and bz2 raise for content, not for the disk
                raise UserError(f"{self.path}: damaged archive ({error}); fetch it again") from None
            raise UserError(f"{self.path}: cannot be read ({error.strerror})") from None


def _cut_at_space(line: bytes) -> tuple[bytes, bytes]:
    """Cut after the last space; if there is none, before a character's first byte."""
    cut = line.rfind(b" ") + 1
    if cut == 0:
        cut = len(line) - 1
        while cut > 0 and line[cut] & 0b1100_0000 == 0b1000_0000:
            cut -= 1
    return line[:cut], line[cut:]


def json_texts(reader: LineReader, field: str) -> Iterator[str]:
    """The field `field` of each line's JSON object."""
    for number, line in reader:
        if not line.strip():
            continue
        where = f"{reader.path}: line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:  # a ValueError: a number of 5,000 digits
            problem = getattr(error, "msg", "nested too deep, or a number too long")
            raise UserError(
                f"{where} is not JSON ({problem}); each line must hold one object"
            ) from None
        if not isinstance(row, dict):
            raise UserError(f"{where} is JSON but no object; write {{{json.dumps(field)}: …}}")
        if not isinstance(row.get(field), str):
            fields = ", ".join(map(shown, list(row)[:10])) or "none"
            raise UserError(f"{where} has no text field {field!r}; its fields: {fields}")
        yield row[field].encode("utf-8", "replace").decode()  # JSON can hold half a character


# From lines to documents and sentences.


Document = list[str]  # its sentences

SAMPLE = 500  # lines that are looked at to tell the layout
# Bounds that keep memory small; what is longer is cut.
LONGEST_SAMPLE = 1 << 20  # characters
LONGEST_PARAGRAPH = 1 << 20  # characters
LONGEST_DOCUMENT = 1_000  # sentences
LONGEST_TEXT = 1 << 20  # characters of a document

HEADING = re.compile(r"\s*(=(?: =)*) (?!=).*[^= ].* =(?: =)*\s*")  # ` = = Early life = = `
SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*$")


@dataclass(frozen=True)
class Layout:
    """What a line is, and whether WikiText's headings part the documents."""

    line: Literal["sentence", "paragraph", "wrapped"]
    headings: bool = False

    def __str__(self) -> str:
        meaning = {
            "sentence": "one sentence a line",
            "paragraph": "one paragraph a line, split into sentences",
            "wrapped": "paragraphs of several lines, split into sentences",
        }
        return meaning[self.line] + (", articles by their headings" if self.headings else "")


def split_prose(text: str) -> list[str]:
    """The sentences of one paragraph.

    >>> split_prose("Dr. Smith paid 3.50 in the U.S. He left.")
    ['Dr. Smith paid 3.50 in the U.S.', 'He left.']

    A full stop with no space after it ends nothing here (`nn.Module`), unlike in `sentencex`.
    """
    joined: list[str] = []
    for part in sentencex.segment("en", text):
        if joined and joined[-1][-1] == ".":
            joined[-1] += part
        else:
            joined.append(part)
    return [sentence for part in joined if (sentence := part.strip())]


def heading_level(line: str) -> int:
    """1 for WikiText's ` = Title = `, 2 for ` = = Section = = `, 0 for any other line."""
    match = HEADING.fullmatch(line) if "=" in line else None
    return match.group(1).count("=") if match else 0


def judge_layout(sample: list[str], split_sentences: bool | None = None) -> Layout:
    """Tell the layout from some lines; `split_sentences` says it when the user knows.

    Prose has several sentences in most lines. A file of one sentence a line has them in few: the
    splitter that made it and ours disagree on some lines in a hundred, hence the bound of ten.
    """
    headings = any(heading_level(line) == 1 for line in sample)
    lines = [line.strip() for line in sample if line.strip() and not heading_level(line)]
    if split_sentences is False or not lines:
        return Layout("sentence", headings)
    if _is_wrapped(lines):
        return Layout("wrapped", headings)
    several = sum(len(split_prose(line)) > 1 for line in lines)
    prose = split_sentences or several > 0.1 * len(lines)
    return Layout("paragraph" if prose else "sentence", headings)


def _is_wrapped(lines: list[str]) -> bool:
    """Lines of at most 120 characters, of which most stop in mid-sentence.

    A line goes on if it does not end a sentence and the next begins with a small letter.
    """
    if len(lines) < 8 or max(map(len, lines)) > 120:
        return False
    go_on = sum(
        not SENTENCE_END.search(line) and following[0].islower()
        for line, following in pairwise(lines)
    )
    return go_on > 0.4 * len(lines)


def peek(texts: Iterable[str], count: int) -> tuple[list[str], Iterator[str]]:
    """The first `count` texts (fewer if they are long), and all texts from the first on."""
    texts = iter(texts)
    first: list[str] = []
    size = 0
    while len(first) < count and size < LONGEST_SAMPLE:
        text = next(texts, None)
        if text is None:
            break
        first.append(text)
        size += len(text)
    return first, chain(first, texts)


def documents_from_lines(
    lines: Iterable[str], layout: Layout, *, empty_line_ends: bool = True
) -> Iterator[Document]:
    """Group lines into documents and split them into sentences.

    `empty_line_ends=False`: all lines are one document (as the lines of a JSON field are).
    """
    document: Document = []
    wrapped: list[str] = []  # the lines of the paragraph so far, in the wrapped layout
    wrapped_size = empty_lines = 0
    size = 0  # characters of the document so far

    for line in lines:
        line = line.strip()
        level = heading_level(line) if layout.headings else 0
        if wrapped and (not line or level or wrapped_size > LONGEST_PARAGRAPH):
            document += split_prose(" ".join(wrapped))
            wrapped, wrapped_size = [], 0
        empty_lines = 0 if line else empty_lines + 1

        if layout.headings:
            ends = level == 1
        else:
            ends = empty_line_ends and empty_lines == (2 if layout.line == "wrapped" else 1)
        if (ends or size > LONGEST_TEXT) and document:
            yield document
            document, size = [], 0

        size += len(line)
        if line and not level:
            if layout.line == "sentence":
                document.append(line)
            elif layout.line == "paragraph":
                document += split_prose(line)
            else:
                wrapped.append(line)
                wrapped_size += len(line)
        while len(document) >= LONGEST_DOCUMENT:
            yield document[:LONGEST_DOCUMENT]
            document = document[LONGEST_DOCUMENT:]

    if wrapped:
        document += split_prose(" ".join(wrapped))
    if document:
        yield document


def documents_from_rows(
    rows: Iterable[str], split_sentences: bool | None = None
) -> Iterator[Document]:
    """Documents of a table's text column (JSON lines, a Hub dataset).

    A row is a document. But where some rows are empty (WikiText: a row is a line of the file),
    or nearly all hold one sentence (BookCorpus), rows are the lines of running text.
    """
    sample, rows = peek(rows, SAMPLE)
    sample_lines = [line for row in sample for line in row.split("\n")]
    layout = judge_layout(sample_lines[: 4 * SAMPLE], split_sentences)

    full = [row.strip() for row in sample if row.strip()]
    one_sentence = sum("\n" not in row and len(split_prose(row)) == 1 for row in full)
    if len(full) < len(sample) or (full and one_sentence > 0.95 * len(full)):
        lines = (line for row in rows for line in row.rstrip("\n").split("\n"))
        yield from documents_from_lines(lines, layout)
        return
    for row in rows:
        yield from documents_from_lines(row.split("\n"), layout, empty_line_ends=False)
