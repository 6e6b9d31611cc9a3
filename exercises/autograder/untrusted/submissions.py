"""Who handed in what: folders, zips and tars become students with the files of exercises.

Only files named as an exercise's are read, `softmax.py`, and nothing is written. A link is not
followed: it could lead to another student's work.
"""

import os
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from autograder.points import Exercise, present
from autograder.untrusted.unpacking import (
    FOREIGN,
    Refused,
    is_archive,
    read_archive,
    read_file,
    shown,
)
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
