"""Who handed in what: folders, zips, tars and single files become students with the files of
exercises.

Only files named as an exercise's are read, `softmax.py` or close to it, and nothing is written. A
link is not followed: it could lead to another student's work.
"""

import bz2
import gzip
import io
import lzma
import os
import re
import stat
import sys
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import get_close_matches
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from autograder.points import Exercise, find, present
from autograder.untrusted.roster import (
    GRADESCOPE,
    TIMES,
    Label,
    Roster,
    read_gradescope,
    read_label,
    read_times,
)
from bert_run.errors import UserError

DEEPEST = 6  # folders below a submission in which its files are looked for
MOST_PLACES = 20_000  # files and folders of a submission that are looked at
MOST_REMARKS = 5  # on files that are not read
NEITHER = "neither a folder, a zip or a tar nor the file of an exercise"
# What people and systems add to a name: softmax-1.py, softmax (1).py, softmax_final_v2.py.
ADDED = r"(?:_*(?:\(?\d+\)?|v\d+|final|copy|new|fixed|late|answer|solution|submission|by|kopie))*"


Wanted = Callable[[PurePosixPath], bool]  # whether a file in a folder or an archive is read


@dataclass(frozen=True)
class Handed:
    """How a file came in: under which name, when, and whether the name says that it is late."""

    name: str
    time: datetime | None = None
    late: bool = False


@dataclass
class Submission:
    """A student's work: the content of each exercise's file, and what there is to say about it."""

    student: str
    files: dict[str, bytes] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    handed: dict[str, Handed] = field(default_factory=dict)  # of each file


@dataclass
class Piece:
    """A folder, an archive or a file of a student, who may have handed in several."""

    path: Path
    label: Label
    time: datetime | None = None
    times: dict[str, datetime] = field(default_factory=dict)  # of submitted.csv


def gather(
    paths: list[Path], but: Path | None = None, roster: Roster | None = None
) -> tuple[list[Submission], list[str]]:
    """All submissions, in the order of their names, and lines about what was passed over. `but` is
    a folder that may lie among them and is none."""
    passed_over: list[str] = []
    owned: dict[str, tuple[str, list[Piece]]] = {}
    names: dict[tuple, str] = {}  # of students who may have handed in several pieces
    timed, known = set(), {name.casefold() for name in (roster.people if roster else ())}
    for piece in pieces_of(paths, but, passed_over):
        timed |= piece.times.keys()
        known.add(piece.path.name.casefold())
        place = shown(str(piece.path.relative_to(piece.path.parent.parent)))
        if roster:
            ids = roster.match(*piece.label.keys)
            if len(ids) != 1:
                whose = f"is of one of {', '.join(ids)}" if ids else "is of nobody in the roster"
                passed_over.append(f"{place} {whose}: give the student a key that its name has")
                continue
            name = ids[0]
        elif not (name := own_name(piece)):
            passed_over.append(f"{place}: whose is it? Put it into a folder named for the student")
            continue
        elif piece.label.kind or is_single(piece.path):
            name = names.setdefault((piece.label.kind, name, piece.label.user), unused(name, owned))
        else:
            name = unused(name, owned)
        for key in (name, piece.path.name):  # the piece's own time before the student's
            piece.time = piece.times.get(key.casefold(), piece.time)
        owned.setdefault(name.casefold(), (name, []))[1].append(piece)
    for name in sorted(timed - known - owned.keys()):
        print(f"warning: {TIMES}: {shown(name)} is no submission and nobody of the class: write "
              "the student's id, or the name of the file or folder", file=sys.stderr)  # fmt: skip
    found = [read(name, pieces) for name, pieces in owned.values()]
    if paths and not found and not (roster and passed_over):
        raise UserError(f"{', '.join(map(str, paths))}: no submission in it: a folder of students "
                        "has a folder, a zip or a tar of each")  # fmt: skip
    return sorted(found, key=lambda submission: submission.student), passed_over


def pieces_of(paths: list[Path], but: Path | None, passed_over: list[str]) -> Iterator[Piece]:
    for path in paths:
        if not path.exists():
            raise UserError(f"{path} does not exist: name a folder, a zip or a tar")
        members, times, uploads = [path], {}, {}
        if is_class(path):
            members = sorted(path.iterdir())
            times, uploads = read_times(path), read_gradescope(path)
        for member in members:
            if member.name.startswith((".", "__MACOSX")) or member.name in (TIMES, GRADESCOPE):
                continue
            if but and member.resolve() == but.resolve():
                continue
            place = shown(str(member.relative_to(path.parent)))
            if member != path and member.is_symlink():
                passed_over.append(f"{place}: a link, which is not followed")
                continue
            label = read_label(member.name)
            name = label.file or member.name
            if is_single(member) and not named(name, anywhere=True):
                meant = named(f"{PurePosixPath(name).stem}.py", anywhere=True)
                passed_over.append(f"{place}: {f'hand in {meant.file}' if meant else NEITHER}")
                continue
            keys, time = uploads.get(member.name, ((), None))
            if keys:
                label = replace(label, who=keys[-1], keys=keys, user=keys[0], kind="Gradescope")
            yield Piece(member, label, time, times)


def own_name(piece: Piece) -> str:
    """The student's name where there is no roster: as the course system has it, or what stands
    before the exercise, as in s01_softmax.py; "" for a bare softmax.py."""
    label, path = piece.label, piece.path
    if label.kind:
        return name_of(path, label.who + f"_{label.user}" * (label.kind == "Canvas"))
    if path.is_dir() or is_archive(path) or is_foreign(path):
        return name_of(path)
    stem = named(path.name, anywhere=True).file[:-3].replace("_", "[-_ ]")
    before = re.split(stem, path.stem, flags=re.IGNORECASE)[0]
    return re.sub(r"[-_ ]+(\d\d[-_ ]*)?$|^\d\d[-_ ]$", "", before)


def is_class(path: Path) -> bool:
    """A folder without exercises of its own is one of students' folders and archives."""
    return path.is_dir() and not any(
        (path / place).exists()
        for exercise in present()
        for place in (exercise.name, f"exercises/{exercise.name}", exercise.file)
    )


def is_single(path: Path) -> bool:
    """Whether it is a file that is handed in by itself."""
    return not (path.is_dir() or is_archive(path) or is_foreign(path))


def is_foreign(path: Path | PurePosixPath) -> bool:
    return path.name.lower().endswith(FOREIGN)


def name_of(path: Path, who: str = "") -> str:
    """The student's name: the file's, as far as it can be a file's name anywhere."""
    name = path.name if path.name not in ("", "..") else path.resolve().name
    name = unicodedata.normalize("NFC", name)
    if not path.is_dir():
        name = re.sub(r"(\.tar)?\.\w+$", "", name)
    name = "".join(c if c.isalnum() or c in " ._-@+,=()'" else "_" for c in who or name)
    return name.strip(" .")[:100] or "nameless"


def unused(name: str, taken: dict[str, tuple]) -> str:
    """The name, with a number where another has it (in letters of any size)."""
    names = [name, *(f"{name} ({number})" for number in range(2, len(taken) + 3))]
    return next(candidate for candidate in names if candidate.casefold() not in taken)


def read(student: str, pieces: list[Piece]) -> Submission:
    """A submission; what cannot be read is told in its notes, and scores nothing. Of several pieces
    the last one that has an exercise's file counts."""
    order = sorted(pieces, key=lambda p: (p.time.timestamp() if p.time else 0.0, p.label.attempt,
                                          p.path.name))  # fmt: skip
    submission = Submission(student)
    for piece in order:
        files, notes = read_piece(piece)
        for name, content in files.items():
            if name in submission.files and submission.files[name] != content:
                notes.append(f"{find(name).file} was handed in again: graded is that of "
                             f"{shown(piece.path.name)}")  # fmt: skip
            submission.files[name] = content
            submission.handed[name] = Handed(piece.path.name, piece.time, piece.label.late)
        submission.notes += notes
    if not submission.files and not any("refused" in note for note in submission.notes):
        submission.notes.append("no file of an exercise was found in it")
    return submission


def read_piece(piece: Piece) -> tuple[dict[str, bytes], list[str]]:
    """The files of exercises in a piece, and what there is to say about it."""
    path, remarks, notes = piece.path, [], []
    wanted = partial(is_read, remarks=remarks)
    try:
        if path.is_dir():
            files = read_folder(path, wanted)
        elif is_archive(path):
            files = read_archive(path, wanted)
        elif is_foreign(path):
            raise Refused("this kind of file is not read: hand in a folder, a zip or a tar")
        else:
            name = piece.label.file or path.name
            exercise = named(name, anywhere=True)
            with open(path, "rb") as file:
                files = {name if named(name) else exercise.file: read_file(file, name)}
        files = with_inner(files, wanted, notes)
    except Refused as refused:
        return {}, [f"refused: {refused}"]
    except OSError as error:
        return {}, [f"refused: it cannot be read: {error.strerror}"]
    found = {}
    for exercise in present():
        if places := places_of(exercise, files):
            found[exercise.name] = files[places[0]]
            if PurePosixPath(places[0]).name != exercise.file:
                notes.append(f"{shown(places[0])} is taken for {exercise.file}")
        if len(places) > 1:
            notes.append(f"{exercise.file} is there {len(places)} times: graded is "
                         f"{shown(places[0])}")  # fmt: skip
    lines = [line for line, exercise in remarks if exercise not in found]
    more = len(lines) - MOST_REMARKS
    notes += lines[:MOST_REMARKS] + [f"{more} more are not read"] * (more > 0)
    return found, notes


def is_read(place: PurePosixPath, remarks: list[tuple[str, str]]) -> bool:
    """Whether a file of a submission is read. What is to be said about another one is added to
    `remarks`, with the exercise that it may be of."""
    if any(part.startswith((".", "__MACOSX")) for part in place.parts):
        return False  # what systems hide
    if is_archive(place) or named(place.name):
        return True
    if remark := remark_on(place):
        remarks.append(remark)
    return False


def named(name: str, *, anywhere: bool = False) -> Exercise | None:
    """The exercise whose file this is, by its name; with `anywhere` also where the student's name
    stands before it."""
    stem, _, ending = name.rpartition(".")
    if ending.casefold() != "py":
        return None
    plain = re.sub(r"[-\s_]+", "_", stem.casefold())
    for exercise in present():
        before = r"(?:.*_)?" if anywhere else rf"(?:copy_of_)?(?:{exercise.name[:2]}_)?"
        if re.fullmatch(before + exercise.file[:-3] + ADDED, plain):
            if anywhere and re.search(r"(^|_)test_", plain):
                return None
            return exercise
    return None


def remark_on(place: PurePosixPath) -> tuple[str, str] | None:
    """What is to be said about a file that is not read but may have been meant, and for which
    exercise."""
    stem, ending = place.name.casefold().split(".")[0], place.suffix.casefold()
    if is_foreign(place):
        return f"{shown(str(place))} is not read: hand in a folder, a zip or a tar", ""
    if ending not in (".py", ".ipynb", ".txt", ".pdf", ".docx") or stem.startswith("test_"):
        return None
    stems = {exercise.file[:-3]: exercise for exercise in present()}
    close = get_close_matches(stem, stems, 1, 0.75 if ending == ".py" else 0.95)
    meant = stems[close[0]] if close else find(place.parent.name) if ending == ".py" else None
    if meant is None or not meant.points:
        return None
    advice = f"is it {meant.file}?" if ending == ".py" else f"hand in {meant.file}"
    return f"{shown(str(place))} is not read: {advice}", meant.name


def read_folder(folder: Path, wanted: Wanted) -> dict[str, bytes]:
    """The wanted ones of the plain files, not too deep; links are not followed."""
    files, number = {}, 0
    for root, names, plain in os.walk(folder):
        inside = PurePosixPath(Path(root).relative_to(folder).as_posix())
        is_deep = len(inside.parts) >= DEEPEST
        names[:] = [] if is_deep else sorted(n for n in names if not n.startswith((".", "__")))
        number += len(names) + len(plain)
        if number > MOST_PLACES:
            raise Refused(f"more than {MOST_PLACES} files and folders")
        for path in (Path(root, name) for name in sorted(plain)):
            place = inside / path.name
            if path.is_file() and not path.is_symlink() and wanted(place):
                with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                    files[str(place)] = read_file(file, str(place))
    return files


def places_of(exercise: Exercise, files: dict[str, bytes]) -> list[str]:
    """Where an exercise's file is, the likeliest first: under its own name, in the folder of its
    name, then the least deep one."""
    places = [place for place in map(PurePosixPath, files) if named(place.name) == exercise]
    places = [place for place in places if place.name == exercise.file] or places
    in_place = [place for place in places if place.parent.name == exercise.name]
    return sorted(map(str, in_place or places), key=lambda place: (place.count("/"), place))


# Archives from strangers: their files are read into memory, and none is ever unpacked to disk. What
# is refused is refused whole, with a line that says why. An archive inside is read as well, but not
# one inside that.


ENDINGS = (".zip", ".tar", ".tgz", ".tar.gz", ".tbz2", ".tar.bz2", ".txz", ".tar.xz")
FOREIGN = (".rar", ".7z", ".gz", ".bz2", ".xz", ".zst")  # handed in, but not to be read

MEGABYTE = 1 << 20
LARGEST_ARCHIVE = 20 * MEGABYTE
LARGEST_CONTENT = 100 * MEGABYTE  # of all files together
LARGEST_FILE = 256 * 1024  # of an answer; the longest solution has a twentieth
MOST_FILES = 2_000
MOST_FOLDERS = 12  # one inside the other
MOST_SHRUNK = 200  # times; below a megabyte anything goes
MOST_INNER = 8  # archives inside a submission

BROKEN = (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError,
          RuntimeError, NotImplementedError, ValueError, KeyError, IndexError)  # fmt: skip


class Refused(Exception):
    """Why an archive, or a file, is not graded: one line."""


def is_archive(path: Path | PurePosixPath) -> bool:
    return path.name.lower().endswith(ENDINGS)


def read_archive(path: Path, wanted: Wanted) -> dict[str, bytes]:
    """The wanted files of a zip or tar. Raises `Refused`."""
    if not path.is_file():  # a pipe would never end
        raise Refused("it is no plain file: hand in a folder, a zip or a tar")
    size = path.stat().st_size
    if size > LARGEST_ARCHIVE:
        raise Refused(f"the archive has {size >> 20} MB, more than {LARGEST_ARCHIVE >> 20}: "
                      "hand in the exercises' files alone")  # fmt: skip
    with open(path, "rb") as file:
        return unpack(file, size, wanted)


def unpack(file: BinaryIO, size: int, wanted: Wanted) -> dict[str, bytes]:
    try:
        members = from_zip(file) if zipfile.is_zipfile(file) else from_tar(file)
        return collect(members, size, wanted)
    except BROKEN as error:
        raise Refused(f"the archive cannot be read: {shown(str(error)) or type(error).__name__}"
                      ) from None  # fmt: skip


def with_inner(files: dict[str, bytes], wanted: Wanted, notes: list[str]) -> dict[str, bytes]:
    """The files, with those of the archives among them in the place of these."""
    archives = {
        place: files.pop(place) for place in list(files) if is_archive(PurePosixPath(place))
    }
    for number, (place, content) in enumerate(archives.items()):
        try:
            if number >= MOST_INNER:
                raise Refused(f"there are {len(archives)} archives, more than {MOST_INNER}")
            inner = unpack(io.BytesIO(content), len(content),
                           lambda p: not is_archive(p) and wanted(p))  # fmt: skip
            files |= {f"{place}/{name}": text for name, text in inner.items()}
        except Refused as refused:
            notes.append(f"{shown(place)} in it is not read: {refused}")
    return files


Member = tuple[str, int, str, Callable[[], BinaryIO | None]]  # name, size, what it is, open


def collect(members: Iterator[Member], size: int, wanted: Wanted) -> dict[str, bytes]:
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
    most = LARGEST_ARCHIVE if is_archive(PurePosixPath(name)) else LARGEST_FILE
    content = file.read(most + 1)
    if len(content) > most:
        raise Refused(f"{name} is larger than {most // 1024} KB")
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
