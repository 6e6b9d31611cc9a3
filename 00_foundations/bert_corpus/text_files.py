"""Lines of text files, plain or packed, with bounded memory and errors that name the place."""

import bz2
import gzip
import io
import json
import lzma
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import zstandard

from bert_run.errors import UserError
from bert_run.text_lines import decode_line, refuse_old_mac_line_ends

PACKED = (".gz", ".xz", ".zst", ".bz2")
JSON_LINES = (".jsonl", ".json", ".ndjson")
TEXT = (".txt", ".text", ".md", ".rst", ".raw", ".tokens", ".train", ".valid", ".test")

LONGEST_PIECE = 1 << 18  # bytes; a longer line is handed out in pieces, cut at a space
LONGEST_JSON = 1 << 26  # bytes; a JSON line cannot be handed out in pieces


def kind_of(path: Path) -> str | None:
    """`text` or `json` by the file's name, packed or not; None if the name says neither."""
    name = path.with_suffix("") if path.suffix in PACKED else path
    if name.suffix in JSON_LINES:
        return "json"
    return "text" if name.suffix in TEXT or path.suffix in PACKED else None


def text_files_in(folder: Path) -> list[Path]:
    """All text files below a folder, sorted by path; files without a suffix count as text.

    Hidden files are passed over, and so are files that other programs own (`.py`, `.png`, …).
    """
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and (kind_of(path) or not path.suffix)
    )


class CountingFile(io.FileIO):
    """A raw file that counts the bytes read, so that progress can be shown of packed files."""

    count = 0

    def readinto(self, buffer) -> int:
        size = super().readinto(buffer)
        self.count += size
        return size


def _unpack(path: Path, raw: io.BufferedIOBase) -> io.BufferedIOBase:
    match path.suffix:
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
        for piece in self._pieces(longest):
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

    def _pieces(self, longest: int) -> Iterator[bytes]:
        try:
            raw = CountingFile(self.path)
            with io.BufferedReader(raw, 1 << 18) as packed:
                file = _unpack(self.path, packed)
                while piece := file.readline(longest):
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
        except (json.JSONDecodeError, RecursionError) as error:
            problem = getattr(error, "msg", "nested too deep")
            raise UserError(
                f"{where} is not JSON ({problem}); each line must hold one object"
            ) from None
        if not isinstance(row, dict):
            raise UserError(f"{where} is JSON but no object; write {{{json.dumps(field)}: …}}")
        if not isinstance(row.get(field), str):
            fields = ", ".join(map(repr, row)) or "none"
            raise UserError(f"{where} has no text field {field!r}; its fields: {fields}")
        yield row[field].encode("utf-8", "replace").decode()  # JSON can hold half a character
