"""A token store while it grows: what is written, what of it is safe, and who is at work.

It grows beside the place that it will take, in `NAME.unfinished`:

    store/           its files, growing at their ends
    progress.json    what it is made from, and up to where all is safely on the disk
    lock             held by the process that builds

After a kill everything beyond that mark is cut off, and the rest compared with its checksums. The
finished store takes its name in one step.
"""

import json
import os
import shutil
import sys
import zlib
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np
from tokenizers import Tokenizer

from bert_corpus.store import ARRAYS, UNFINISHED, TokenStore, checksum_of
from bert_corpus.store_report import count_content
from bert_run.errors import UserError
from bert_run.files import LEFTOVER, flush_to_disk, write_atomically
from bert_run.records import is_of, read_record

# What a store is made from, where the other entries of its identity only say so in words.
DECISIVE = ("format", "fingerprint", "tokenizer_sha256")
STORE_FILES = {*(f"{name}.bin" for name in ARRAYS), "report.json"}
WORK_FILES = {"store", "replaced", "progress.json", "lock"}
COPIED_AT_ONCE = 1 << 20  # values


@dataclass(frozen=True)
class Position:
    """How far in a corpus: a part, documents of it, and what the progress bar has seen."""

    part: int = 0
    documents: int = 0
    seen: int = 0


@dataclass(frozen=True)
class Interrupted:
    """What an interrupted build made safe: bytes and checksums of its files, and how far it was."""

    position: Position
    files: dict[str, dict[str, int]]


@contextmanager
def workplace(folder: Path) -> Iterator[Path]:
    """`folder`.unfinished, for one process at a time; it goes unless a build can go on there."""
    place = _unfinished(folder)
    refuse_other_things(folder)
    place.mkdir(parents=True, exist_ok=True)
    lock = open(place / "lock", "w")  # noqa: SIM115 - closed before it is removed
    if not _take(lock) or not (place / "lock").exists():
        lock.close()
        raise UserError(
            f"token store {folder}: another process is building it; call again when it is done"
        )
    try:
        yield place
    finally:
        if not (place / "progress.json").exists():
            clear(place)
        lock.close()
        with suppress(OSError):  # the folder is not empty
            (place / "lock").unlink()
            place.rmdir()


def _unfinished(folder: Path) -> Path:
    return folder.with_name(folder.name + UNFINISHED)


def refuse_other_things(folder: Path) -> None:
    """Raise `UserError` if anything stands in the place of a store that no store consists of."""
    place = _unfinished(folder)
    own = {folder: STORE_FILES, place: WORK_FILES, place / "store": STORE_FILES,
           place / "replaced": STORE_FILES}  # fmt: skip
    for where, names in own.items():
        if where.is_file() or (where.is_dir() and _holds_other_things(where, names)):
            raise UserError(
                f"{where}: holds other things than a token store; choose another folder"
            )


def _holds_other_things(folder: Path, own: Collection[str]) -> bool:
    """Whether a folder holds anything that building a store does not write."""
    return any(
        path.name not in own and not LEFTOVER.fullmatch(path.name) for path in folder.iterdir()
    )


def _take(lock: IO[str]) -> bool:
    """Lock a file until this process closes it or ends, even by a kill; False if another has."""
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        pass  # a file system that knows no locks
    return True


def clear(place: Path) -> None:
    """Remove all but the lock."""
    for path in place.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != "lock":
            path.unlink()


def find_interrupted(place: Path, folder: Path, identity: dict) -> Interrupted | None:
    """What an interrupted build of this very store made safe; anything else is cleared away."""
    if not (place / "progress.json").exists():
        clear(place)
        return None
    so_far = f"token store {folder}: building was interrupted"
    found = read_progress(place)
    if found is None:
        why = "what it left is damaged"
    elif any(found[0].get(key) != identity[key] for key in DECISIVE):
        why = "since then the corpus or the tokenizer has changed"
    else:
        print(f"{so_far}, going on", file=sys.stderr)
        return found[1]
    print(f"{so_far}, and {why}: starting anew", file=sys.stderr)
    clear(place)
    return None


def read_progress(place: Path) -> tuple[dict, Interrupted] | None:
    """What an interrupted build is made from and what it made safe, if all of that is intact."""
    try:
        record = read_record(
            place / "progress.json", {"identity": dict, "position": dict, "files": dict}, way_out=""
        )
        interrupted = Interrupted(Position(**record["position"]), record["files"])
        sizes = [(name, file["size"], file["checksum"]) for name, file in record["files"].items()]
    except (UserError, TypeError, KeyError):
        return None
    numbers = [*record["position"].values(), *(number for _, *both in sizes for number in both)]
    if not all(is_of(int, number) and number >= 0 for number in numbers):
        return None
    if sorted(record["files"]) != sorted(ARRAYS) or not all(_is_intact(place, *s) for s in sizes):
        return None
    return record["identity"], interrupted


def _is_intact(place: Path, name: str, size: int, checksum: int) -> bool:
    path = place / "store" / f"{name}.bin"
    return path.is_file() and checksum_of(path, size) == checksum


# --- Writing -------------------------------------------------------------------------------------


class _ArrayFile:
    """An array on disk that grows at its end, after the first `size` bytes of what is there."""

    def __init__(self, path: Path, dtype: type, *, size: int = 0, checksum: int = 0):
        self.file: IO[bytes] = open(path, "ab")  # noqa: SIM115 - closed by its owner
        self.file.truncate(size)
        self.dtype = np.dtype(dtype)
        self.size = size
        self.checksum = checksum

    @property
    def length(self) -> int:
        return self.size // self.dtype.itemsize

    def append(self, values: np.ndarray) -> None:
        data = values.astype(self.dtype, copy=False).tobytes()
        self.file.write(data)
        self.checksum = zlib.crc32(data, self.checksum)
        self.size += len(data)

    def flush(self) -> None:
        self.file.flush()
        os.fsync(self.file.fileno())


class StoreWriter:
    """Takes encoded sentences to the files of the store that grows in `place`.

    `identity` is what the store is made from, as its report will say.
    """

    def __init__(
        self,
        place: Path,
        tokenizer: Tokenizer,
        identity: dict,
        interrupted: Interrupted | None = None,
    ):
        self.place, self.identity = place, identity
        self.vocab_size = tokenizer.get_vocab_size()
        self.unknown_id = tokenizer.token_to_id("[UNK]")
        (place / "store").mkdir(exist_ok=True)
        narrow = self.vocab_size <= 65_535
        dtypes = (np.uint16 if narrow else np.uint32, np.int64, np.int64)
        self.files = {
            name: _ArrayFile(
                place / "store" / f"{name}.bin",
                dtype,
                **(interrupted.files[name] if interrupted else {}),
            )
            for name, dtype in zip(ARRAYS, dtypes, strict=True)
        }
        self.tokens, self.sentences, self.documents = self.files.values()
        if interrupted is None:
            self.sentences.append(np.zeros(1))
            self.documents.append(np.zeros(1))

    def __enter__(self) -> "StoreWriter":
        return self

    def __exit__(self, *exception: object) -> None:
        with ExitStack() as stack:  # closes all of them, even if the disk is full
            for array in self.files.values():
                stack.callback(array.file.close)

    def add(self, ids: list[list[int]], sizes: list[int]) -> None:
        """Append sentences, given by their ids; document i has the next `sizes[i]` of them."""
        lengths = np.fromiter(map(len, ids), np.int64, len(ids))
        flat = np.fromiter(chain.from_iterable(ids), self.tokens.dtype, lengths.sum())
        full = lengths > 0

        # How many sentences with tokens each document has: differences of a running count.
        count = np.concatenate([[0], np.cumsum(full)])
        ends = count[np.cumsum(sizes)]
        self.documents.append(self.sentences.length - 1 + np.unique(ends[ends > 0]))
        self.sentences.append(self.tokens.length + np.cumsum(lengths)[full])
        self.tokens.append(flat)

    def add_store(self, store: TokenStore) -> None:
        """Append all documents of another store, of the same tokenizer."""
        shifts = {
            "tokens": 0,
            "sentence_starts": self.tokens.length,
            "document_starts": self.sentences.length - 1,
        }
        for name, shift in shifts.items():
            array = self.files[name]
            with open(store.folder / f"{name}.bin", "rb") as file:
                if name != "tokens":
                    file.seek(array.dtype.itemsize)  # the first start, which is 0
                while len(values := np.fromfile(file, array.dtype, COPIED_AT_ONCE)):
                    array.append(values + array.dtype.type(shift))

    def make_safe(self, position: Position) -> None:
        """Put everything on the disk, and note that `position` has been reached."""
        for array in self.files.values():
            array.flush()
        flush_to_disk(self.place / "store")
        record = {
            "identity": self.identity,
            "position": asdict(position),
            "files": {
                name: {"size": array.size, "checksum": array.checksum}
                for name, array in self.files.items()
            },
        }
        write_atomically(self.place / "progress.json", json.dumps(record, indent=2))

    def finish(self, folder: Path, *, progress: bool) -> None:
        """Write the report, and let the store take its name."""
        if self.tokens.length == 0:
            clear(self.place)
            raise UserError("no text to store: the corpus is empty")
        for array in self.files.values():
            array.flush()
            array.file.close()
        report = self.place / "store" / "report.json"
        report.write_text(json.dumps(self.report(progress), indent=2), encoding="utf-8")
        flush_to_disk(report)
        flush_to_disk(self.place / "store")
        if folder.exists():
            shutil.rmtree(self.place / "replaced", ignore_errors=True)
            os.replace(folder, self.place / "replaced")
        os.replace(self.place / "store", folder)
        flush_to_disk(folder.parent)
        clear(self.place)

    def report(self, progress: bool) -> dict:
        return {
            **self.identity,
            "documents": self.documents.length - 1,
            "sentences": self.sentences.length - 1,
            "tokens": self.tokens.length,
            **count_content(
                self.place / "store", self.tokens.dtype, self.unknown_id,
                scratch=self.place, progress=progress,
            ),
            "vocab_size": self.vocab_size,
            "dtypes": {name: str(array.dtype) for name, array in self.files.items()},
            "lengths": {name: array.length for name, array in self.files.items()},
            "checksums": {name: array.checksum for name, array in self.files.items()},
        }  # fmt: skip
