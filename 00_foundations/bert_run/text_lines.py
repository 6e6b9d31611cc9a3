"""Lines of UTF-8 text from a file or from standard input, counted as `wc -l` counts them.

A line ends at "\\n" and nowhere else, so row 7 of an answer belongs to line 7 of the input. Text in
another encoding is refused with its place: decoded by a guess, it would be answered wrongly.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from bert_run.errors import UserError

STANDARD_INPUT = "standard input"
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def text_lines(path: Path | None) -> Iterator[tuple[int, str]]:
    """The number (from 1) and the text of every line of a file, or of standard input if `path` is
    None; without the line's end, "\\n" or "\\r\\n", and without a byte order mark.

    Lines are handed out as they arrive. Raises `UserError` for a file that cannot be read and for
    bytes that are not UTF-8 text.
    """
    if path is None:
        yield from decoded_lines(sys.stdin.buffer if sys.stdin else (), STANDARD_INPUT)
        return
    try:
        with open(path, "rb") as file:
            yield from decoded_lines(file, str(path))
    except FileNotFoundError:
        raise UserError(f"there is no file {path}: check the path") from None
    except IsADirectoryError:
        raise UserError(f"{path} is a folder: name a file in it") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror})") from None


def decoded_lines(lines: Iterable[bytes], name: str) -> Iterator[tuple[int, str]]:
    """Lines of bytes as text, with their numbers; errors call the source `name`."""
    for number, line in enumerate(lines, start=1):
        if number == 1:
            refuse_old_mac_line_ends(line, name)
        yield number, decode_line(line.removesuffix(b"\n").removesuffix(b"\r"), number, name)


def decode_line(line: bytes, number: int, name: str) -> str:
    """One line of a source as text. Only the first line may begin with a byte order mark."""
    if number == 1 and line.startswith(UTF_16_MARKS):
        raise UserError(f"{name}: UTF-16 text, not UTF-8; convert it: iconv -f UTF-16 -t UTF-8")
    if b"\0" in line:
        raise UserError(
            f"{name}: line {number} holds NUL bytes: a binary file (or UTF-16), not UTF-8 text"
        )
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{name}: line {number}, byte {error.start + 1} of the line "
            f"(0x{line[error.start]:02x}) is not UTF-8; convert the text to UTF-8 first"
        ) from None


def refuse_old_mac_line_ends(first_line: bytes, name: str) -> None:
    """Refuse a text whose lines end with carriage returns alone: it would be a single line."""
    if b"\n" not in first_line and b"\r" in first_line.removesuffix(b"\r"):
        raise UserError(
            f"{name}: its lines end with carriage returns alone, as on an old Mac; convert it: "
            r"tr '\r' '\n'"
        )
