"""Who handed in what: folders, archives and single files become students with files of exercises.

Only files named as an exercise's are read, in memory; nothing is written, and no link is followed,
because it could lead to another student's work.
"""

import bz2
import gzip
import io
import lzma
import os
import re
import stat
import tarfile
import unicodedata
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple

from autograder.points import Exercise, find, present
from autograder.runner import ComparesTooLong, limited
from autograder.untrusted import roster as names
from autograder.untrusted.roster import Label, Roster
from bert_run.errors import UserError

MOST_REMARKS = 5  # on files that are not read
# What people and systems add to a name: softmax-1.py, softmax (1).py, softmax_final_v2.py.
ADDED = (r"(?:_*(?:\(?\d+(?!\d)\)?|v\d+(?!\d)|final|copy|new|fixed|late|answer|solution|submission"
         r"|by|kopie))*")  # fmt: skip

FOREIGN = (".rar", ".7z", ".gz", ".bz2", ".xz", ".zst")  # archives that are not read

Wanted = Callable[[PurePosixPath], bool]  # whether a file in a folder or an archive is read


class Refused(Exception):
    """Why a submission, or a part of it, is not graded: one line."""


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


class Piece(NamedTuple):
    """A folder, an archive or a file of a student, who may have handed in several."""

    path: Path
    label: Label
    time: datetime | None


def gather(
    paths: list[Path], but: Path | None = None, roster: Roster | None = None
) -> tuple[list[Submission], list[str]]:
    """All submissions by name, and lines about what was passed over, such as the folder `but`."""
    passed_over: list[str] = []
    owned: dict[str, list[Piece]] = {}
    owners: dict[tuple, str] = {}  # whose the pieces are, where there is no roster
    unused: set[str] = set()  # names in submitted.csv
    for path in paths:
        if not path.exists():
            raise UserError(f"{path} does not exist: name a folder, a zip or a tar")
        members, labels, times = [path], {}, {}
        if is_class(path):
            members = [member for member in sorted(path.iterdir()) if not is_hidden(member.name)
                       and member.name not in names.BESIDE
                       and not (but and member.resolve() == but.resolve())]  # fmt: skip
            labels, times = names.read_gradescope(path)
            times |= (listed := names.read_times(path))
            unused |= listed.keys()
        for member in members:
            label = labels.get(member.name) or names.read_label(member.name)
            try:
                name = owner_of(member, label, roster, owners, is_top=member == path)
            except Refused as refused:
                place = shown(f"{member.absolute().parent.name}/{member.name}")
                passed_over.append(f"{place}: {refused}")
                continue
            keys = [member.name.casefold(), name.casefold()]  # the piece's own time goes first
            unused.difference_update(keys)
            time = next((times[key] for key in keys if key in times), None)
            owned.setdefault(name, []).append(Piece(member, label, time))
    unused -= {name.casefold() for name in (roster.people if roster else ())}
    for name in map(shown, sorted(unused)):
        names.warn(f"{names.TIMES}: {name} is no submission and nobody of the class: write the "
                   "student's id, or the name of the file or folder")  # fmt: skip
    if paths and not owned and not (roster and passed_over):
        raise UserError(f"{', '.join(map(str, paths))}: no submission in it: a folder of students "
                        "has a folder, a zip or a tar of each")  # fmt: skip
    return [read(name, owned[name]) for name in sorted(owned)], passed_over


def owner_of(
    path: Path, label: Label, roster: Roster | None, owners: dict[tuple, str], *, is_top: bool
) -> str:
    """Whose a piece is. Without a roster it has the student's name in the course system, or that of
    the folder or archive; another student of the same name gets a number. Raises `Refused`, also
    for what lies in a folder of submissions and is none."""
    if path.is_symlink() and not is_top:
        raise Refused("a link, which is not followed")
    file = label.file or path.name
    if is_single(path) and not named(file, anywhere=True):
        meant = named(f"{PurePosixPath(file).stem}.py", anywhere=True)
        raise Refused(f"hand in {meant.file}" if meant else
                      "neither a folder, a zip or a tar nor the file of an exercise")  # fmt: skip
    if roster:
        ids = roster.match(*label.keys)
        if len(ids) == 1:
            return ids[0]
        whose = f"it is of one of {', '.join(ids)}" if ids else "it is of nobody in the roster"
        raise Refused(f"{whose}: give the student a key that its name has")
    if is_single(path) and not label.kind:
        raise Refused("whose is it? Put it into a folder named for the student, or name a --roster")
    name, key = name_of(path), (path,)
    if label.kind:
        name = name_of(path, label.who + f"_{label.user}" * (label.kind == "Canvas"))
        key = (label.kind, name, label.user)
    if key not in owners:
        taken = {owner.casefold() for owner in owners.values()}
        free = [name, *(f"{name} ({number})" for number in range(2, len(taken) + 3))]
        owners[key] = next(each for each in free if each.casefold() not in taken)
    return owners[key]


def is_class(path: Path) -> bool:
    """A folder without exercises of its own is one of students' folders and archives."""
    return path.is_dir() and not any(
        (path / place).exists()
        for each in present()
        for place in (each.name, f"exercises/{each.name}", each.file)
    )


def is_single(path: Path) -> bool:
    """Whether it is a file that is handed in by itself."""
    return not (path.is_dir() or is_archive(path))


def is_hidden(name: str) -> bool:
    """Whether a system has made it, and nobody has handed it in."""
    return name.startswith((".", "__MACOSX", "__pycache__"))


def name_of(path: Path, who: str = "") -> str:
    """The student's name, `who` or the file's, as far as it can be a file's name anywhere."""
    name = path.name if path.name not in ("", "..") else path.resolve().name
    name = unicodedata.normalize("NFC", name)
    if not path.is_dir():
        name = re.sub(r"(\.tar)?\.\w+$", "", name)
    name = "".join(c if c.isalnum() or c in " ._-@+,=()'" else "_" for c in who or name)
    return name.strip(" .").encode()[:200].decode(errors="ignore").strip(" .") or "nameless"


def read(student: str, pieces: list[Piece]) -> Submission:
    """A submission; what cannot be read is told in its notes, and scores nothing. Of several pieces
    the last one that has an exercise's file counts."""
    submission = Submission(student)
    for piece in sorted(pieces, key=lambda piece: (
            piece.time.timestamp() if piece.time else 0.0, piece.label.attempt, piece.path.name)
            ):  # fmt: skip
        files, notes = read_piece(piece)
        for name, content in files.items():
            if submission.files.get(name, content) != content:
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
    path, notes = piece.path, []
    remarks: list[tuple[str, str]] = []

    def wanted(place: PurePosixPath) -> bool:
        if any(map(is_hidden, place.parts)):
            return False
        if is_archive(place) or named(place.name):
            return True
        remarks.extend(remarks_on(place))
        return False

    try:
        with limited(READING):
            if is_single(path):
                if not path.is_file():  # a pipe would never end
                    raise Refused("it is no plain file")
                name = piece.label.file or path.name
                with open(path, "rb") as file:
                    content = read_file(file, name)
                files = {name if named(name) else named(name, anywhere=True).file: content}
            else:
                files = with_inner(read_files(path, wanted), wanted, notes)
    except ComparesTooLong:
        return {}, [f"refused: reading it takes more than {READING:g} seconds"]
    except Refused as refused:
        return {}, [f"refused: {refused}"]
    except OSError as error:
        return {}, [f"refused: it cannot be read: {error.strerror}"]
    found = {}
    for exercise in present():
        places = places_of(exercise, files)
        if places:
            found[exercise.name] = files[places[0]]
        if places and PurePosixPath(places[0]).name != exercise.file:
            notes.append(f"{shown(places[0])} is taken for {exercise.file}")
        if len(places) > 1:
            notes.append(f"{exercise.file} is there {len(places)} times: graded is "
                         f"{shown(places[0])}")  # fmt: skip
    lines = [line for line, exercise in remarks if exercise not in found]
    notes += lines[:MOST_REMARKS]
    if len(lines) > MOST_REMARKS:
        notes.append(f"{len(lines) - MOST_REMARKS} more are not read")
    return found, notes


def named(name: str, *, anywhere: bool = False) -> Exercise | None:
    """The exercise whose file this is; with `anywhere` also after a student's name."""
    stem, _, ending = name.rpartition(".")
    if ending.casefold() != "py":
        return None
    plain = re.sub(r"[-\s_]+", "_", stem.casefold())
    for exercise in present():
        before = r"(?:.*_)?" if anywhere else rf"(?:copy_of_)?(?:{exercise.name[:2]}_)?"
        if re.fullmatch(before + exercise.file[:-3] + ADDED, plain):
            return None if re.search(r"(^|_)test_", plain) else exercise
    return None


def remarks_on(place: PurePosixPath) -> list[tuple[str, str]]:
    """What to say about a file that is not read, and the exercise that may have been meant."""
    stem, ending = place.name.casefold().split(".")[0], place.suffix.casefold()
    if ending in FOREIGN:
        return [(f"{shown(str(place))} is not read: hand in a folder, a zip or a tar", "")]
    if ending not in (".py", ".ipynb", ".txt", ".pdf", ".docx") or stem.startswith("test_"):
        return []
    stems = {exercise.file[:-3]: exercise for exercise in present()}
    close = get_close_matches(stem, stems, 1, 0.75 if ending == ".py" else 0.95)
    meant = stems[close[0]] if close else find(place.parent.name) if ending == ".py" else None
    if meant is None or not meant.points:
        return []
    advice = f"is it {meant.file}?" if ending == ".py" else f"hand in {meant.file}"
    return [(f"{shown(str(place))} is not read: {advice}", meant.name)]


def places_of(exercise: Exercise, files: dict[str, bytes]) -> list[str]:
    """Where an exercise's file is: under its own name, in its folder, then the least deep one."""
    places = [place for place in map(PurePosixPath, files) if named(place.name) == exercise]
    places = [place for place in places if place.name == exercise.file] or places
    in_place = [place for place in places if place.parent.name == exercise.name]
    return sorted(map(str, in_place or places), key=lambda place: (place.count("/"), place))


# Folders and archives from strangers: their files are read into memory, and none is ever unpacked
# to disk. What is refused is refused whole, with a line that says why. An archive inside is read as
# well, but not one inside that.

ENDINGS = (".zip", ".tar", ".tgz", ".tar.gz", ".tbz2", ".tar.bz2", ".txz", ".tar.xz")
OPENERS = {b"\x1f\x8b": gzip.open, b"BZ": bz2.open, b"\xfd7": lzma.open}  # of a compressed tar

MEGABYTE = 1 << 20
READING = 20.0  # seconds of a processor for a piece
LARGEST_ARCHIVE = 20 * MEGABYTE
LARGEST_CONTENT = 100 * MEGABYTE  # of all files of an archive together
LARGEST_FILE = 256 * 1024  # of an answer; the longest solution has a twentieth
MOST_FILES = 20_000  # that are looked at
DEEPEST = 6  # folders below it in which files are looked for
MOST_FOLDERS = 12  # one inside the other
MOST_SHRUNK = 200  # times; below a megabyte anything goes
LONGEST_HEADER, PAX = 1 << 14, (b"x", b"g", b"X")  # of a tar, and the types of those with words
MOST_INNER = 8  # archives inside a submission


def is_archive(path: Path | PurePosixPath) -> bool:
    return path.name.lower().endswith(ENDINGS)


class Member(NamedTuple):
    """Something in a folder or an archive; `kind` is file, folder or other."""

    name: str
    size: int
    kind: str
    open: Callable[[], BinaryIO | None]


def read_files(path: Path, wanted: Wanted) -> dict[str, bytes]:
    """The wanted files of a folder, a zip or a tar. Raises `Refused`."""
    if path.is_dir():
        return collect(from_folder(path), LARGEST_CONTENT, wanted)
    if not path.is_file():  # a pipe would never end
        raise Refused("it is no plain file: hand in a folder, a zip or a tar")
    size = path.stat().st_size
    if size > LARGEST_ARCHIVE:
        raise Refused(f"the archive has {size >> 20} MB, more than {LARGEST_ARCHIVE >> 20}: "
                      "hand in the exercises' files alone")  # fmt: skip
    return unpack(path.read_bytes(), wanted)


def unpack(content: bytes, wanted: Wanted) -> dict[str, bytes]:
    try:
        is_zip = zipfile.is_zipfile(io.BytesIO(content))
        members = from_zip(content) if is_zip else from_tar(content)
        return collect(members, len(content), wanted)
    except Refused:
        raise
    except Exception as error:  # zipfile, tarfile and what they call raise a dozen kinds
        raise Refused(f"the archive cannot be read: {shown(str(error)) or type(error).__name__}"
                      ) from None  # fmt: skip


def with_inner(files: dict[str, bytes], wanted: Wanted, notes: list[str]) -> dict[str, bytes]:
    """The files, with those of the archives among them in the place of these."""
    archives = [place for place in files if is_archive(PurePosixPath(place))]
    for number, place in enumerate(archives):
        content = files.pop(place)
        try:
            if number >= MOST_INNER:
                raise Refused(f"there are {len(archives)} archives, more than {MOST_INNER}")
            inner = unpack(content, lambda p: not is_archive(p) and wanted(p))
            files |= {f"{place}/{name}": text for name, text in inner.items()}
        except Refused as refused:
            notes.append(f"{shown(place)} in it is not read: {refused}")
    return files


def collect(members: Iterator[Member], size: int, wanted: Wanted) -> dict[str, bytes]:
    """Look at every member, read the wanted ones. `size` is that of the archive."""
    found: dict[str, bytes] = {}
    total = 0
    for number, member in enumerate(members, 1):
        name = shown(member.name)
        total += member.size
        if number > MOST_FILES:
            raise Refused(f"more than {MOST_FILES} files: hand in the exercises' files alone")
        if total > LARGEST_CONTENT or total > max(MEGABYTE, MOST_SHRUNK * size):
            raise Refused(f"it unpacks to {total / MEGABYTE:.0f} MB and more, out of "
                          f"{size / MEGABYTE:.2f}")  # fmt: skip
        if member.kind == "other":
            raise Refused(f"{name} is a link or a device: only files and folders are taken")
        place = PurePosixPath(member.name)
        if len(place.parts) > MOST_FOLDERS:
            raise Refused(f"folders lie more than {MOST_FOLDERS} deep")
        if member.kind == "file" and wanted(place):
            if str(place) in found:
                raise Refused(f"{name} is there twice")
            with member.open() as file:
                found[str(place)] = read_file(file, name)
    return found


def read_file(file: BinaryIO, name: str) -> bytes:
    """A file whose size is not believed."""
    most = LARGEST_ARCHIVE if is_archive(PurePosixPath(name)) else LARGEST_FILE
    content = file.read(most + 1)
    if len(content) > most:
        raise Refused(f"{name} is larger than {most // 1024} KB")
    return content


def from_folder(folder: Path) -> Iterator[Member]:
    """The plain files, not too deep; links are not followed."""
    for root, folders, files in os.walk(folder):
        inside = Path(root).relative_to(folder)
        is_deep = len(inside.parts) >= DEEPEST
        folders[:] = [] if is_deep else sorted(each for each in folders if not is_hidden(each))
        for path in (Path(root, name) for name in sorted(files)):
            if path.is_file() and not path.is_symlink():
                name = (inside / path.name).as_posix()
                yield Member(name, 0, "file", partial(open_plain, path))


def open_plain(path: Path) -> BinaryIO:
    """Neither a link nor a pipe, should one have taken the place of the file."""
    return open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")


def from_zip(content: bytes) -> Iterator[Member]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for info in archive.infolist():
            mode = info.external_attr >> 16
            is_plain = not stat.S_IFMT(mode) or stat.S_ISREG(mode) or stat.S_ISDIR(mode)
            kind = "other" if not is_plain else "folder" if info.is_dir() else "file"
            yield Member(safe(info.filename), info.file_size, kind, partial(archive.open, info))


class ShortHeader(tarfile.TarInfo):
    """Python searches what a header adds to a name in quadratic time."""

    @classmethod
    def frombuf(cls, *arguments: Any) -> "ShortHeader":
        found = super().frombuf(*arguments)
        if found.type in PAX and found.size > LONGEST_HEADER:
            raise Refused(f"a header of it has {found.size >> 10} KB")
        return found


def from_tar(content: bytes) -> Iterator[Member]:
    """Decompressed in memory first, so that one that has no end is refused."""
    most = LARGEST_CONTENT + 10 * MEGABYTE  # tar's own blocks
    if opener := OPENERS.get(content[:2]):
        content = opener(io.BytesIO(content)).read(most + 1)
    if len(content) > most:
        raise Refused(f"it unpacks to more than {LARGEST_CONTENT // MEGABYTE} MB")
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:", tarinfo=ShortHeader) as archive:
        for info in archive:
            kind = "file" if info.isreg() else "folder" if info.isdir() else "other"
            yield Member(safe(info.name), info.size, kind, partial(archive.extractfile, info))


def safe(name: str) -> str:
    """The name as a path below the archive's root, whatever system wrote it."""
    place = PurePosixPath(name.replace("\\", "/"))
    if place.is_absolute() or ".." in place.parts or ":" in "".join(place.parts[:1]):
        raise Refused(f"{shown(name)} lies outside of the archive's own folder")
    return str(place)


def shown(name: str) -> str:
    """A name that can be printed, whatever is in it."""
    plain = "".join(c if c.isprintable() else "?" for c in name)
    return plain if len(plain) <= 80 else f"{plain[:77]}..."
