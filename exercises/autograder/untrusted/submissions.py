"""Who handed in what: folders, zips and tars become students with the files of exercises.

Only files named as an exercise's are read, `softmax.py`, and nothing is written. A link is not
followed: it could lead to another student's work.
"""

import bz2
import gzip
import lzma
import os
import re
import stat
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from autograder.points import Exercise, present
from bert_run.errors import UserError

DEEPEST = 6  # folders below a submission in which its files are looked for
MOST_PLACES = 20_000  # files and folders of a submission that are looked at


@dataclass
class Submission:
    """A student's work: the content of each exercise's file, and what there is to say about it."""

    student: str
    path: Path
    files: dict[str, bytes] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def gather(paths: list[Path], but: Path | None = None) -> tuple[list[Submission], list[str]]:
    """All submissions, in the order of their names, and lines about what was passed over. `but` is
    a folder that may lie among them and is none."""
    found: dict[str, Submission] = {}
    passed_over = []
    for path in paths:
        if not path.exists():
            raise UserError(f"{path} does not exist: name a folder, a zip or a tar")
        members = sorted(path.iterdir()) if is_class(path) else [path]
        for member in members:
            if member.name.startswith((".", "__MACOSX")) or (
                but and member.resolve() == but.resolve()
            ):
                continue
            place = shown(str(member.relative_to(path.parent)))
            if member != path and member.is_symlink():
                passed_over.append(f"{place}: a link, which is not followed")
                continue
            if not (member.is_dir() or is_archive(member) or is_foreign(member)):
                passed_over.append(f"{place}: neither a folder nor a zip or tar")
                continue
            name = unused(name_of(member), found)
            found[name.casefold()] = read(name, member)
    if not found:
        raise UserError(f"{', '.join(map(str, paths))}: no submission in it: a folder of students "
                        "has a folder, a zip or a tar of each")  # fmt: skip
    return sorted(found.values(), key=lambda submission: submission.student), passed_over


def is_class(path: Path) -> bool:
    """A folder without exercises of its own is one of students' folders and archives."""
    return path.is_dir() and not any(
        (path / place).exists()
        for exercise in present()
        for place in (exercise.name, f"exercises/{exercise.name}", exercise.file)
    )


def is_foreign(path: Path) -> bool:
    return path.name.lower().endswith(FOREIGN)


def name_of(path: Path) -> str:
    """The student's name: the file's, as far as it can be a file's name anywhere."""
    name = path.name if path.name not in ("", "..") else path.resolve().name
    name = unicodedata.normalize("NFC", name)
    if not path.is_dir():
        name = re.sub(r"(\.tar)?\.\w+$", "", name)
    name = "".join(c if c.isalnum() or c in " ._-@+,=()'" else "_" for c in name)
    return name.strip(" .")[:100] or "nameless"


def unused(name: str, taken: dict[str, Submission]) -> str:
    """The name, with a number where another has it (in letters of any size)."""
    names = [name, *(f"{name} ({number})" for number in range(2, len(taken) + 3))]
    return next(candidate for candidate in names if candidate.casefold() not in taken)


def read(name: str, path: Path) -> Submission:
    """A submission; what cannot be read is told in its notes, and scores nothing."""
    submission = Submission(name, path)
    try:
        if path.is_dir():
            archive = only_archive(path)
            files = read_archive(archive, is_answer) if archive else read_folder(path)
        elif is_archive(path):
            files = read_archive(path, is_answer)
        else:
            raise Refused("this kind of file is not read: hand in a folder, a zip or a tar")
    except Refused as refused:
        submission.notes.append(f"refused: {refused}")
        return submission
    except OSError as error:
        submission.notes.append(f"refused: it cannot be read: {error.strerror}")
        return submission
    for exercise in present():
        places = places_of(exercise, files)
        if places:
            submission.files[exercise.name] = files[places[0]]
        if len(places) > 1:
            submission.notes.append(f"{exercise.file} is there {len(places)} times: graded is "
                                    f"{shown(places[0])}")  # fmt: skip
    if not submission.files:
        submission.notes.append("no file of an exercise was found in it")
    return submission


def only_archive(folder: Path) -> Path | None:
    """The one archive of a folder that has nothing else, as some course systems pack it."""
    members = [path for path in folder.iterdir() if not path.name.startswith(".")]
    if len(members) != 1 or not is_archive(members[0]) or members[0].is_symlink():
        return None
    return members[0]


def read_folder(folder: Path) -> dict[str, bytes]:
    files = {}
    for path in below(folder):
        place = PurePosixPath(path.relative_to(folder).as_posix())
        if is_answer(place):
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                files[str(place)] = read_file(file, str(place))
    return files


def below(folder: Path) -> Iterator[Path]:
    """Plain files, not too deep; links are not followed."""
    number = 0
    for root, names, files in os.walk(folder):
        depth = len(Path(root).relative_to(folder).parts)
        names[:] = sorted(n for n in names if not n.startswith((".", "__"))) * (depth < DEEPEST)
        number += len(names) + len(files)
        if number > MOST_PLACES:
            raise Refused(f"more than {MOST_PLACES} files and folders")
        yield from (path for name in sorted(files)
                    if (path := Path(root, name)).is_file() and not path.is_symlink())  # fmt: skip


def is_answer(place: PurePosixPath) -> bool:
    """Whether a file may be an exercise's; what systems hide is not."""
    hidden = any(part.startswith((".", "__MACOSX")) for part in place.parts)
    return not hidden and any(place.name == exercise.file for exercise in present())


def places_of(exercise: Exercise, files: dict[str, bytes]) -> list[str]:
    """Where an exercise's file is, the likeliest first: in the folder of its name, then the least
    deep one."""
    places = [place for place in map(PurePosixPath, files) if place.name == exercise.file]
    in_place = [place for place in places if place.parent.name == exercise.name]
    return sorted(map(str, in_place or places), key=lambda place: (place.count("/"), place))


# Archives from strangers: their files are read into memory, and none is ever unpacked to disk. What
# is refused is refused whole, with a line that says why. An archive inside an archive is a file
# like any other: it is not opened.


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
