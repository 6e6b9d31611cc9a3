"""Archives from strangers: their files are read into memory, and none is ever unpacked to disk.

What is refused is refused whole, with a line that says why. An archive inside an archive is a file
like any other: it is not opened.
"""

import bz2
import gzip
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO

ENDINGS = (".zip", ".tar", ".tgz", ".tar.gz", ".tbz2", ".tar.bz2", ".txz", ".tar.xz")
FOREIGN = (".rar", ".7z", ".gz", ".bz2", ".xz", ".zst")  # handed in, but not to be read

MEGABYTE = 1 << 20
LARGEST_ARCHIVE = 20 * MEGABYTE
LARGEST_CONTENT = 100 * MEGABYTE  # of all files together
LARGEST_FILE = 256 * 1024  # of an answer; the longest solution has a twentieth
MOST_FILES = 2_000
MOST_FOLDERS = 12  # one inside the other
MOST_SHRUNK = 200  # times; below a megabyte anything goes

BROKEN = (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError,
          RuntimeError, NotImplementedError, ValueError, KeyError, IndexError)  # fmt: skip


class Refused(Exception):
    """Why an archive, or a file, is not graded: one line."""


def is_archive(path: Path) -> bool:
    return path.name.lower().endswith(ENDINGS)


def read_archive(path: Path, wanted: Callable[[PurePosixPath], bool]) -> dict[str, bytes]:
    """The wanted files of a zip or tar. Raises `Refused`."""
    if not path.is_file():  # a pipe would never end
        raise Refused("it is no plain file: hand in a folder, a zip or a tar")
    size = path.stat().st_size
    if size > LARGEST_ARCHIVE:
        raise Refused(f"the archive has {size >> 20} MB, more than {LARGEST_ARCHIVE >> 20}: "
                      "hand in the exercises' files alone")  # fmt: skip
    try:
        with open(path, "rb") as file:
            members = from_zip(file) if zipfile.is_zipfile(file) else from_tar(file)
            return collect(members, size, wanted)
    except BROKEN as error:
        raise Refused(f"the archive cannot be read: {shown(str(error)) or type(error).__name__}"
                      ) from None  # fmt: skip


Member = tuple[str, int, str, Callable[[], BinaryIO | None]]  # name, size, what it is, open


def collect(
    members: Iterator[Member], size: int, wanted: Callable[[PurePosixPath], bool]
) -> dict[str, bytes]:
    """Look at every member, read the wanted ones."""
    found: dict[str, bytes] = {}
    total = 0
    for number, (name, length, kind, opened) in enumerate(members, 1):
        total += length
        if number > MOST_FILES:
            raise Refused(f"more than {MOST_FILES} files: hand in the exercises' files alone")
        if total > LARGEST_CONTENT or total > max(MEGABYTE, MOST_SHRUNK * size):
            raise Refused(f"it unpacks to {total / MEGABYTE:.0f} MB and more, out of "
                          f"{size / MEGABYTE:.2f}")  # fmt: skip
        place = safe(name)
        if kind not in ("file", "folder"):
            raise Refused(f"{shown(name)} is a {kind}: only files and folders are taken")
        if kind == "file" and wanted(place):
            if str(place) in found:
                raise Refused(f"{shown(name)} is there twice")
            with opened() as file:
                found[str(place)] = read_file(file, shown(name))
    return found


def safe(name: str) -> PurePosixPath:
    """The name as a path below the archive's root, whatever system wrote it."""
    place = PurePosixPath(name.replace("\\", "/"))
    if place.is_absolute() or ".." in place.parts or (place.parts and ":" in place.parts[0]):
        raise Refused(f"{shown(name)} lies outside of the archive's own folder")
    if len(place.parts) > MOST_FOLDERS:
        raise Refused(f"folders lie more than {MOST_FOLDERS} deep")
    return place


def read_file(file: BinaryIO, name: str) -> bytes:
    """A file whose size is not believed."""
    content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise Refused(f"{name} is larger than {LARGEST_FILE // 1024} KB")
    return content


def from_zip(file: BinaryIO) -> Iterator[Member]:
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            mode = info.external_attr >> 16
            kind = kind_of(mode) if stat.S_IFMT(mode) else "folder" if info.is_dir() else "file"
            yield info.filename, info.file_size, kind, lambda info=info: archive.open(info)


def kind_of(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "device"


def from_tar(file: BinaryIO) -> Iterator[Member]:
    """Read from front to back, so that what it unpacks to is counted while it is."""
    file.seek(0)
    head = file.read(6)
    file.seek(0)
    openers = {b"\x1f\x8b": gzip.open, b"BZ": bz2.open, b"\xfd7": lzma.open}
    unpacked = Counted(openers.get(head[:2], lambda plain: plain)(file))
    with tarfile.open(fileobj=unpacked, mode="r|") as archive:
        for info in archive:
            kind = ("file" if info.isreg() else "folder" if info.isdir()
                    else "link" if info.issym() or info.islnk() else "device")  # fmt: skip
            yield info.name, info.size, kind, lambda info=info: archive.extractfile(info)


class Counted:
    """A stream that ends in `Refused` where it becomes too long."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream, self.left = stream, LARGEST_CONTENT + 10 * MEGABYTE  # tar's own blocks

    def read(self, size: int) -> bytes:
        piece = self.stream.read(min(size, self.left + 1))
        self.left -= len(piece)
        if self.left < 0:
            raise Refused(f"it unpacks to more than {LARGEST_CONTENT // MEGABYTE} MB")
        return piece


def shown(name: str) -> str:
    """A name that can be printed, whatever is in it."""
    plain = "".join(c if c.isprintable() else "?" for c in name)
    return plain if len(plain) <= 80 else f"{plain[:77]}..."
