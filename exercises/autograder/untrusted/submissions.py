"""Who handed in what: folders, zips and single files become students with files of exercises. Only
these are read, in memory; no link is followed, because it could lead to another student's work."""

import io
import os
import re
import shlex
import stat
import unicodedata
import zipfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple

from autograder.points import Exercise, find, present
from autograder.runner import ComparesTooLong, is_untouched, limited
from autograder.untrusted import roster as names
from autograder.untrusted.roster import Label, Person, Roster
from bert_run.errors import UserError

# What people and systems add to a name: softmax-1.py, softmax (1).py, softmax_final_v2.py.
ADDED = r"(?:_*(?:\(?\d+(?!\d)\)?|v\d+(?!\d)|final|copy|new))*"

Wanted = Callable[[PurePosixPath], bool]  # whether a file in a folder or a zip is read


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
    """A folder, a zip or a file of a student, who may have handed in several."""

    path: Path
    label: Label
    time: datetime | None


def gather(paths: list[Path], but: Path | None = None, roster: Roster | None = None, *,
           gone: Collection[str] = ()) -> tuple[list[Submission], list[str]]:  # fmt: skip
    """All submissions by name, and lines about what was passed over, such as the folder of grades
    `but`. A folder named for somebody with grades there, unless they are `gone`, is theirs."""
    if but and len(paths) > 1:  # a shell may have put it among class/*
        paths = [path for path in paths if path.resolve() != but.resolve()]
    known = {path.name for path in (but / "students").glob("[!.]*")} if but else set()
    classes = classes_of(paths, known.difference(gone), roster)
    passed_over: list[str] = []
    owned: dict[str, list[Piece]] = {}
    owners: dict[str, object] = {}  # whose the names are, where there is no roster
    unused: set[str] = set()  # names in submitted.csv
    untimed: list[str] = []  # pieces that have no time there, though others have
    for path in paths:
        members, is_whole, found = [path], path in classes, set()
        times = names.read_times(path if is_whole else path.absolute().parent)
        if is_whole:
            members = [member for member in sorted(path.iterdir()) if not is_hidden(member.name)
                       and member.name != names.TIMES
                       and not (but and member.resolve() == but.resolve())]  # fmt: skip
            unused |= times.keys()
        for member in members:
            label = names.read_label(member.name, is_folder=member.is_dir())
            try:
                name = owner_of(member, label, roster, owners, is_top=member == path)
                same = [each for each in known if each.casefold() == name.casefold()]
                name = name if name in known or len(same) != 1 else same[0]
            except Refused as refused:
                place = shown(f"{member.absolute().parent.name}/{member.name}")
                passed_over.append(f"{place}: {refused}")
                continue
            keys = [member.name.casefold(), name.casefold()]  # the piece's own time goes first
            unused.difference_update(keys)
            time = next((times[key] for key in keys if key in times), None)
            if times and time is None:
                untimed.append(member.name)
            owned.setdefault(name, []).append(Piece(member, label, time))
            found.add(name)
        if is_whole and len(found) == 1:
            names.warn(f"{path} is taken for a class whose only student is {shown(*found)}: if it "
                       "is one student's, grade the folder that it lies in")  # fmt: skip
    unused -= {name.casefold() for name in (roster.people if roster else ())}
    for name in map(shown, sorted(unused)):
        names.warn(f"{names.TIMES}: {name} is no submission and nobody of the class: write the "
                   "student's id, or the name of the file or folder")  # fmt: skip
    if untimed:
        names.warn(
            f"{names.TIMES} has no time for {len(untimed)} submissions "
            f"({', '.join(map(shown, sorted(untimed)[:3]))}): they do not count as late"
        )
    if paths and not owned and not (roster and passed_over):
        why = "; ".join(passed_over[:3]) or "a folder of students has a folder or a zip of each"
        raise UserError(f"{', '.join(map(str, paths))}: no submission in it: {why}")
    people = roster.people if roster else {}
    return [read(name, owned[name], people.get(name)) for name in sorted(owned)], passed_over


def owner_of(path: Path, label: Label, roster: Roster | None, owners: dict[str, object], *,
             is_top: bool) -> str:  # fmt: skip
    """Whose a piece is; without a roster it has the student's name in the course system, or that of
    the folder or zip. Raises `Refused`, also for what lies beside submissions and is none."""
    if path.is_symlink() and not is_top:
        raise Refused("a link, which is not followed")
    if is_single(path) and not named(label.file or path.name, anywhere=True):
        raise Refused("neither a folder or a zip nor the file of an exercise")
    if roster:
        keys = label.keys if label.kind else map(without_exercise, label.keys)
        ids = roster.match(*keys, is_whole=bool(label.kind))  # a course system gives whole names
        if len(ids) == 1:
            user = (label.kind, label.user)
            if label.kind and owners.setdefault(ids[0], user) != user:
                raise Refused(f"another account is called {ids[0]} too: rename one of the two")
            return ids[0]
        whose = f"it is of one of {', '.join(ids)}" if ids else "it is of nobody in the roster"
        raise Refused(f"{whose}: give the student a key that its name has")
    if is_single(path) and not label.kind:
        raise Refused("whose is it? Put it into a folder named for the student, or name a --roster")
    name, key = name_of(path), path
    if label.kind:
        name = name_of(path, label.who + f"_{label.user}" * (label.kind == "Canvas"))
        key = (label.kind, label.user)
    if owners.setdefault(name.casefold(), key) != key:
        raise Refused(f"another submission is called {name} too: rename it, or name a --roster")
    return name


def without_exercise(name: str) -> str:
    """A name apart from that of an exercise: its number is nobody's id."""
    known = "|".join(exercise.name for exercise in present()).replace("_", r"[-\s_]+")
    return re.sub(rf"(?<![^\W_])(?:{known})", " ", name, flags=re.IGNORECASE)


def classes_of(paths: list[Path], known: set[str], roster: Roster | None) -> list[Path]:
    """Those that are classes: not named for one of the `known` or exactly as in the roster, and not
    beside another of the paths that is a student's."""
    own = {name.casefold(): name for name in known}
    folders, classes, beside = [path.absolute().parent for path in paths], [], []
    for path, folder in zip(paths, folders, strict=True):
        if not path.exists():
            raise UserError(f"{path} does not exist: name a folder or a zip")
        name = own.get(name_of(path).casefold())
        is_sure = name or (roster and len(roster.match(without_exercise(path.name))) == 1)
        may_be_class = is_class(path, is_sure=bool(is_sure))
        is_listed = roster and roster.exactly(*names.read_label(path.name).keys)
        if may_be_class and not name and not is_listed:
            classes.append(path)
        elif not is_single(path) or named(path.name, anywhere=True):
            beside.append(folder)
        if may_be_class and name and not is_listed and folders.count(folder) == 1:
            names.warn(f"{path} is taken for the student {name}, who has grades: if it is a class, "
                       f"call again with --remove={shlex.quote(name)}")  # fmt: skip
        if may_be_class and is_listed and any(roster.match(each.name) for each in path.glob("*")):
            names.warn(f"{path} is taken for the student {is_listed} of the roster: if it is a "
                       "class, rename it")  # fmt: skip
    return [path for path in classes if path.absolute().parent not in beside]


def is_class(path: Path, *, is_sure: bool) -> bool:
    """A folder without exercises of its own is one of students' folders and zips. Raises
    `UserError` where beside these lie several zips, or folders with files of exercises."""
    own = [name for e in present() for name in (e.name, f"exercises/{e.name}", e.file)
           if (path / name).exists()]  # fmt: skip
    if own and not is_sure and not (path / "exercises").is_dir():  # that is a copy of the course
        files, ours = {e.file for e in present()}, {"solutions", *(e.name for e in present())}
        have = {
            each.name
            for each in path.glob("*")
            if not is_hidden(each.name)
            and (is_zip(each) or files.intersection(file.name for file in each.rglob("*.py")))
        }
        if len(have := have - ours) > 1:
            raise UserError(f"{path} holds {own[0]}, and beside it {' and '.join(sorted(have)[:2])}"
                            ": is it a class or one student's? Move what is one student's into a "
                            "folder named for the student, or grade each alone")  # fmt: skip
    return path.is_dir() and not own


def is_single(path: Path) -> bool:
    """Whether it is a file that is handed in by itself."""
    return not (path.is_dir() or is_zip(path))


def is_hidden(name: str) -> bool:
    """Whether a system has made it, and nobody has handed it in."""
    return name.startswith((".", "__MACOSX", "__pycache__"))


def name_of(path: Path, who: str = "") -> str:
    """The student's name, `who` or the file's, as far as it can be a file's name anywhere."""
    name = path.name if path.name not in ("", "..") else path.resolve().name
    name = unicodedata.normalize("NFC", name)
    if not path.is_dir():
        name = re.sub(r"\.\w+$", "", name)
    name = "".join(c if c.isalnum() or c in " ._-@+,=()'" else "_" for c in who or name)
    return name.strip(" .").encode()[:200].decode(errors="ignore").strip(" .") or "nameless"


def read(student: str, pieces: list[Piece], person: Person | None) -> Submission:
    """A submission; what cannot be read is told in its notes, and scores nothing. Of several pieces
    the last one counts that changes an exercise's file, of those with the closest name."""
    submission, came = Submission(student), {}
    is_timed = all(piece.time for piece in pieces)
    for piece in sorted(pieces, key=lambda each: (
        -words_before(each.path.name, person), each.time.timestamp() if is_timed else 0.0,
        each.label.attempt, each.path.name,
    )):  # fmt: skip
        files, notes = read_piece(piece)
        for name, content in files.items():
            before, exercise = submission.files.get(name), find(name)
            if before is not None and (content == before or is_untouched(exercise, content)):
                continue  # the same file was handed in when it came first; a starter never was
            if before is not None and not is_untouched(exercise, before):
                is_clear = piece.path.name != came[name].name
                graded, other = (shown(path.name if is_clear else f"{path.parent.name}/{path.name}")
                                 for path in (piece.path, came[name]))  # fmt: skip
                notes.append(f"{exercise.file} was handed in again: graded is that of {graded}, "
                             f"and not {other}")  # fmt: skip
            submission.files[name], came[name] = content, piece.path
            submission.handed[name] = Handed(piece.path.name, piece.time, piece.label.late)
        submission.notes += notes
    if not submission.files and not any("refused" in note for note in submission.notes):
        submission.notes.append("no file of an exercise was found in it: hand in a folder, a zip, "
                                "or the files themselves")  # fmt: skip
    return submission


def read_piece(piece: Piece) -> tuple[dict[str, bytes], list[str]]:
    """The files of exercises in a piece, and what there is to say about it."""
    path, notes = piece.path, []
    unread: dict[str, str] = {}  # by exercise: a file that is not read, and may have been meant

    def wanted(place: PurePosixPath) -> bool:
        if any(map(is_hidden, place.parts)):
            return False
        if is_zip(place) or named(place.name):
            return True
        if place.suffix.casefold() in OTHER_ARCHIVES:
            unread[str(place)] = f"{shown(str(place))} is not read: hand in a zip"
        if meant := meant_by(place):
            unread.setdefault(meant.name, f"{shown(str(place))} is not read: is it {meant.file}?")
        return False

    try:
        with limited(READING):
            if is_single(path):
                name = piece.label.file or path.name
                name = name if named(name) else named(name, anywhere=True).file
                files = {name: read_plain(path)}
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
        if places := places_of(exercise, files):
            found[exercise.name] = files[places[0]]
        if places and PurePosixPath(places[0]).name != exercise.file:
            notes.append(f"{shown(places[0])} is taken for {exercise.file}")
        if len(places) > 1:
            others = ", ".join(map(shown, places[1:]))
            notes.append(f"{exercise.file} is there {len(places)} times: graded is "
                         f"{shown(places[0])}, and not {others}")  # fmt: skip
    return found, notes + [line for name, line in unread.items() if name not in found]


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


def words_before(name: str, person: Person | None) -> int:
    """How many words that are not the student's stand before an exercise's file: none in
    softmax.py, one in old_softmax.py. Fewer are closer; a folder and a zip have none."""
    file = names.read_label(name).file
    exercise = named(file, anywhere=True)
    if exercise is None or named(file):
        return 0
    own = (person.id, person.name, *person.keys) if person else ()
    words = {word for text in own for word in names.tokens(text)}
    before = re.sub(r"[-\s_]+", "_", file.casefold()).rpartition(exercise.file[:-3])[0]
    return len([word for word in names.tokens(before) if word not in words])


def meant_by(place: PurePosixPath) -> Exercise | None:
    """The exercise that a file with another name may be of, by its name or its folder."""
    if place.suffix.casefold() == ".txt":  # which Windows adds, and hides
        place = place.with_suffix("")
    if place.suffix.casefold() not in (".py", ".ipynb") or place.name.startswith("test_"):
        return None
    here = {each.name: each for each in present()}
    stems = {each.file[:-3]: each for each in here.values()}
    close = get_close_matches(place.stem.casefold(), stems, 1, 0.75)
    if close:
        return stems[close[0]]
    return here.get(place.parent.name) or named(f"{place.stem}.py", anywhere=True)


def places_of(exercise: Exercise, files: dict[str, bytes]) -> list[str]:
    """Where an exercise's file is: first one that is not as it was handed out and no solution of
    the course, under its own name, in its folder, the least deep."""
    places = [place for place in map(PurePosixPath, files) if named(place.name) == exercise]
    places.sort(key=lambda place: (
        is_untouched(exercise, files[str(place)]), "solutions" in place.parts,
        place.name != exercise.file, place.parent.name != exercise.name, len(place.parts), place,
    ))  # fmt: skip
    return [*map(str, places)]


# Folders and zips from strangers: their files are read into memory, and none is ever unpacked to
# disk. What is refused is refused whole, with a line that says why. A zip inside is read as well,
# but not one inside that.

MEGABYTE = 1 << 20
READING = 20.0  # seconds of a processor for a piece
LARGEST_ZIP = 20 * MEGABYTE
LARGEST_CONTENT = 100 * MEGABYTE  # of all files of a zip together
LARGEST_FILE = 256 * 1024  # of an answer; the longest solution has a twentieth
MOST_FILES = 20_000  # that are looked at
DEEPEST = 6  # folders below it in which files are looked for
MOST_FOLDERS = 12  # one inside the other
MOST_SHRUNK = 200  # times; below a megabyte anything goes
MOST_INNER = 8  # zips inside a submission
OTHER_ARCHIVES = (".rar", ".7z", ".gz", ".tgz", ".tar", ".xz", ".bz2")


def is_zip(path: Path | PurePosixPath) -> bool:
    return path.suffix.casefold() == ".zip"


class Member(NamedTuple):
    """Something in a folder or a zip; `kind` is file, folder or other."""

    name: str
    size: int
    kind: str
    open: Callable[[], BinaryIO]


def read_files(path: Path, wanted: Wanted) -> dict[str, bytes]:
    """The wanted files of a folder or a zip. Raises `Refused`."""
    if path.is_dir():
        return collect(from_folder(path), LARGEST_CONTENT, wanted)
    return unpack(read_plain(path), wanted)


def read_plain(path: Path) -> bytes:
    if not path.is_file():  # a pipe would never end
        raise Refused("it is no plain file")
    with open(path, "rb") as file:
        return read_file(file, path.name)


def unpack(content: bytes, wanted: Wanted) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return collect(from_zip(archive), len(content), wanted)
    except Refused:
        raise
    except Exception as error:  # zipfile and what it calls raise a dozen kinds
        raise Refused(f"the zip cannot be read: {shown(str(error)) or type(error).__name__}"
                      ) from None  # fmt: skip


def with_inner(files: dict[str, bytes], wanted: Wanted, notes: list[str]) -> dict[str, bytes]:
    """The files, with those of the zips among them in the place of these."""
    zips = [place for place in files if is_zip(PurePosixPath(place))]
    for number, place in enumerate(zips):
        content = files.pop(place)
        try:
            if number >= MOST_INNER:
                raise Refused(f"there are {len(zips)} zips, more than {MOST_INNER}")
            inner = unpack(content, lambda p: not is_zip(p) and wanted(p))
            files |= {f"{place}/{name}": text for name, text in inner.items()}
        except Refused as refused:
            notes.append(f"{shown(place)} in it is not read: {refused}")
    return files


def collect(members: Iterator[Member], size: int, wanted: Wanted) -> dict[str, bytes]:
    """Look at every member, read the wanted ones. `size` is that of the zip."""
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
    most = LARGEST_ZIP if is_zip(PurePosixPath(name)) else LARGEST_FILE
    content = file.read(most + 1)
    if len(content) > most:
        raise Refused(f"{shown(name)} is larger than {most // 1024} KB")
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


def from_zip(archive: zipfile.ZipFile) -> Iterator[Member]:
    for info in archive.infolist():
        mode = info.external_attr >> 16
        is_plain = not stat.S_IFMT(mode) or stat.S_ISREG(mode) or stat.S_ISDIR(mode)
        kind = "other" if not is_plain else "folder" if info.is_dir() else "file"
        yield Member(safe(info.filename), info.file_size, kind, partial(archive.open, info))


def safe(name: str) -> str:
    """The name as a path below the zip's root, whatever system wrote it."""
    place = PurePosixPath(name.replace("\\", "/"))
    if place.is_absolute() or ".." in place.parts or ":" in "".join(place.parts[:1]):
        raise Refused(f"{shown(name)} lies outside of the zip's own folder")
    return str(place)


def shown(name: str) -> str:
    """A name that can be printed, whatever is in it."""
    plain = "".join(c if c.isprintable() else "?" for c in name)
    return plain if len(plain) <= 80 else f"{plain[:77]}..."
