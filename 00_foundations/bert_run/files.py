"""Files and lines of text: files that are never half-written, and lines that are numbered.

What is written stands beside its place first, is flushed to the disk, and is then renamed.

A line of text ends at "\\n" and nowhere else, as `wc -l` counts, so row 7 of an answer belongs to
line 7 of the input. Text in another encoding is refused with its place: decoded by a guess, it
would be answered wrongly.
"""

import contextlib
import hashlib
import io
import os
import re
import shutil
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from bert_run.errors import UserError


def flush_to_disk(path: Path) -> None:
    """Ask the system to put a file, or a folder's list of names, on the disk itself."""
    if path.is_dir() and os.name == "nt":
        return  # Windows cannot open a folder for this, and does not need it
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def write_whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write bytes to; `path` holds what it held before until all of them are there."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(beside, "wb") as file:
            yield file
        flush_to_disk(beside)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write `content` so that `path` holds either what it held before or all of it.

    A text may name a file whose name is not UTF-8, which Python holds as halves of characters:
    they are written as escapes.
    """
    with write_whole(path) as file:
        is_text = isinstance(content, str)
        file.write(content.encode("utf-8", "backslashreplace") if is_text else content)


@contextmanager
def folder_in_one_piece(folder: Path) -> Iterator[Path]:
    """Fill the folder that is handed out; it takes the name `folder` when all went well.

    A failure on the way, a full disk say, leaves nothing behind. A folder that already stands
    there is replaced; if `folder` is a link to one, the link stays and its target is replaced.
    """
    folder = folder.resolve()
    beside = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    try:
        yield beside
        for path in beside.iterdir():
            flush_to_disk(path)
        flush_to_disk(beside)
        if folder.exists():
            remove_in_one_piece(folder)
        os.replace(beside, folder)
        flush_to_disk(folder.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def remove_in_one_piece(folder: Path) -> None:
    """Take a folder its name first: whoever looks sees all of it or nothing, however this ends.

    Of a link to a folder, only the link is removed.
    """
    aside = folder.with_name(f".{folder.name}.{os.getpid()}.old.part")
    os.replace(folder, aside)
    remove(aside)


def remove(path: Path) -> None:
    """Remove a file, a link, or a folder with all that is in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink()


LEFTOVER = re.compile(r"\.(?P<name>.+?)\.(?P<process>\d+)(\.old)?\.part")


def clear_leftovers(folder: Path, names: Collection[str] | None = None) -> None:
    """Remove what the functions above left in `folder` when their process was killed.

    Without `names` the caller holds the folder, so that nobody else writes there; with them only
    what would have become one of `names` goes, and only if the process that wrote it has ended.
    """
    for path in folder.iterdir() if folder.is_dir() else ():
        match = LEFTOVER.fullmatch(path.name)
        if match is None:
            continue
        if names is not None and (match["name"] not in names or is_running(int(match["process"]))):
            continue
        remove(path)


def is_running(process: int) -> bool:
    """Whether a process of this number runs here; where that cannot be asked, True."""
    if os.name == "nt":  # there `os.kill` would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass  # somebody else's
    return True


def publish(source: str | Path, target: str | Path) -> None:
    """Make `target` the same file as `source` in one step: a hard link, else a copy."""
    target = Path(target)
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    beside.unlink(missing_ok=True)
    try:
        try:
            os.link(source, beside)
        except OSError:
            shutil.copyfile(source, beside)
            flush_to_disk(beside)
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def keep_others(old: Path, new: Path) -> None:
    """Put what somebody else has added to a folder into the one that is going to replace it.

    The old folder keeps it too until it is replaced, so that a failure before that loses nothing.
    """
    if not old.is_dir():
        return
    written = [path.name for path in new.iterdir()]
    shutil.copytree(
        old,
        new,
        symlinks=True,
        dirs_exist_ok=True,
        copy_function=publish,
        ignore=lambda folder, names: written if Path(folder) == old else [],
    )


def hold(path: Path) -> BinaryIO | None:
    """Lock a file until it is closed or this process ends, however it ends.

    None if another process holds it. Where the system has no such locks, nothing is locked.
    """
    file = open(path, "ab")  # noqa: SIM115 - it stays open as long as the lock is held
    with contextlib.suppress(ImportError):
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        except OSError:
            pass  # a network drive without locks
    return file


def sha256(path: Path) -> str:
    """The file's fingerprint, read in pieces of one megabyte."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def refuse_pipe(path: Path, name: str) -> None:
    """Raise `UserError` for a pipe or a device in the place of a file that is read twice."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UserError(
            f"{name}: is not a plain file (a pipe or a device), and it is read more than once: "
            "write the text to a file first"
        )


# Lines of text.


STANDARD_INPUT = "standard input"
LONGEST_LINE = 1 << 26  # bytes; more would be no text, and /dev/zero has no end
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def text_lines(path: Path | None) -> Iterator[tuple[int, str]]:
    """The number (from 1) and the text of every line of a file, or of standard input if `path` is
    None; without the line's end, "\\n" or "\\r\\n", and without a byte order mark.

    Lines are handed out as they arrive. Raises `UserError` for a file that cannot be read and for
    bytes that are not UTF-8 text.
    """
    if path is None:
        yield from decoded_lines(sys.stdin.buffer if sys.stdin else io.BytesIO(), STANDARD_INPUT)
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


def decoded_lines(file: io.BufferedIOBase, name: str) -> Iterator[tuple[int, str]]:
    """Lines of bytes as text, with their numbers; errors call the source `name`."""
    for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), start=1):
        if number == 1:
            refuse_old_mac_line_ends(line, name)
        text = decode_line(line.removesuffix(b"\n").removesuffix(b"\r"), number, name)
        if len(line) > LONGEST_LINE:
            raise UserError(f"{name}: line {number} is longer than {LONGEST_LINE >> 20} MiB: "
                            "put one text on each line")  # fmt: skip
        yield number, text


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
