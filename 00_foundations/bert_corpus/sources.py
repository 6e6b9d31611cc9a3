"""What a corpus was when it was read: its files, each with its size and its SHA-256.

    sources.json    beside the token stores: {"corpus": [{path, bytes, modified, sha256}, …]}

A corpus is known by its content: copied, renamed, touched or spelled otherwise it is the same, and
edited it is another. Whether a file has changed is told by its size and its time, as `make` and
`git` do; only where the time differs is it read again.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bert_corpus.text_files import find_text_files
from bert_run.errors import UserError
from bert_run.files import sha256, write_atomically
from bert_run.progress import progress_bar
from bert_run.records import read_record, wrong_field

SOURCES_FILE = "sources.json"
EMBEDDED = ("storyworld", "pydocs")


@dataclass(frozen=True)
class SourceFile:
    """One file of a corpus as it was read."""

    path: str  # below the folder of the corpus; "." for a corpus that is one file
    bytes: int
    modified: int  # nanoseconds since 1970
    sha256: str


def describe_files(root: Path, paths: Iterable[Path], *, progress: bool) -> list[SourceFile]:
    """The files of a corpus as they are now; all of them are read."""
    paths = [(path, path.stat()) for path in paths]
    size = sum(stat.st_size for _, stat in paths)
    described = []
    with progress_bar(
        size, "checking the corpus", unit="B", unit_scale=True, delay=3, disable=not progress
    ) as bar:
        for path, stat in paths:
            name = path.relative_to(root).as_posix()
            try:
                content = sha256(path)
            except OSError as error:
                raise UserError(f"{path}: cannot be read ({error.strerror})") from None
            described.append(SourceFile(name, stat.st_size, stat.st_mtime_ns, content))
            bar.update(stat.st_size)
    return described


def save_sources(folder: Path, corpora: dict[str, Sequence[SourceFile]]) -> None:
    """Write beside the stores in `folder` what they are made from."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {name: [asdict(file) for file in files] for name, files in corpora.items() if files}
    write_atomically(folder / SOURCES_FILE, json.dumps(content, indent=2) + "\n")


def read_sources(folder: Path) -> dict[str, list[SourceFile]]:
    """What `save_sources` wrote; nothing where it is not known."""
    path = folder / SOURCES_FILE
    if not path.exists():
        return {}
    way_out = "remove that file, and changes of the corpus are not noticed any more"
    record = read_record(path, {}, {"corpus": list, "heldout": list}, way_out=way_out)
    types = {"path": str, "bytes": int, "modified": int, "sha256": str}
    for file in (file for files in record.values() for file in files or ()):
        if not isinstance(file, dict) or wrong_field(file, types, {}):
            raise UserError(f"{path} is damaged: {way_out}")
    return {name: [SourceFile(**{key: file[key] for key in types}) for file in files or ()]
            for name, files in record.items()}  # fmt: skip


def find_change(root: Path, recorded: Sequence[SourceFile]) -> str | None:
    """The first difference between a corpus and what was read of it, in words; None if none."""
    found = {path.relative_to(root).as_posix(): path for path in find_text_files(root).files}
    for file in recorded:
        path = found.pop(file.path, None)
        if path is None:
            there = root / file.path
            return f"{there} is no longer a file" if there.exists() else f"{there} is missing"
        stat = path.stat()
        if stat.st_size != file.bytes:
            return f"{path} has {stat.st_size:,} bytes, {file.bytes:,} were read"
        if stat.st_mtime_ns != file.modified and sha256(path) != file.sha256:
            return f"{path} has other content"
    return f"{next(iter(found.values()))} is new" if found else None


def refuse_changes(corpora: dict[str, str | None], folder: Path, *, is_complete: bool) -> None:
    """Compare the corpora of a run that goes on with what was read of them.

    `corpora` are their names by option. One that has changed is refused; of one that is gone, its
    text is at hand if the stores in `folder` are complete, and a note says that it is used.
    """
    for option, recorded in read_sources(folder).items():
        name = corpora.get(option)
        if name is None or not recorded:
            continue
        root = Path(name).expanduser()
        if not root.exists():
            if is_complete:
                print(
                    f"note: {option} {name} is gone: the text is used as it was read",
                    file=sys.stderr,
                )
        elif change := find_change(root, recorded):
            raise UserError(
                f"{option} {name} has changed since it was read ({change}): restore it, or choose "
                "another --out to begin with the new text"
            )


def same_corpus(earlier: str | None, now: str | None, recorded: Sequence[SourceFile]) -> bool:
    """Whether two names mean one corpus: two spellings of a path, or files of the same content."""
    if earlier is None or now is None or {earlier, now} & set(EMBEDDED):
        return earlier == now
    before, after = Path(earlier).expanduser(), Path(now).expanduser()
    if before.resolve() == after.resolve():
        return True
    return bool(recorded) and after.exists() and find_change(after, recorded) is None
