"""The token store: a corpus as three flat files that are mapped into memory, not read.

    tokens.bin            the ids of all tokens, one after the other (uint16 or uint32)
    sentence_starts.bin   where each sentence begins in `tokens`, and the end of the last (int64)
    document_starts.bin   which sentence each document begins with, and the end (int64)
    report.json           counts; the share of unknown tokens; fingerprints; checksums

The tokens of sentence `s` are `tokens[sentence_starts[s] : sentence_starts[s + 1]]`. First how a
store is opened and read, then how `build_store` makes one.
"""

import json
import os
import shutil
import sys
import time
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tokenizers import Tokenizer

from bert_corpus.documents import Corpus, Document
from bert_corpus.wordpiece import tokenizer_sha256
from bert_run.errors import UserError, is_of, read_record, wrong_field
from bert_run.files import LEFTOVER, flush_to_disk, hold, remove, write_atomically
from bert_run.training_loop import progress_bar

FORMAT = 1
ARRAYS = ("tokens", "sentence_starts", "document_starts")
DTYPES = ("uint16", "uint32", "int64")
REPORTED = {"fingerprint": str, "tokenizer_sha256": str, "vocab_size": int,
            "documents": int, "sentences": int, "tokens": int, "unknown_share": float,
            "dtypes": dict, "lengths": dict, "checksums": dict}  # fmt: skip
CHECKED_ON_OPENING = 1 << 28  # bytes; of a larger store only sizes and ends are checked
PARTS = ("train", "heldout")  # the stores of a run
UNFINISHED = ".unfinished"  # behind the name of a store that is being built


@dataclass(frozen=True)
class TokenStore:
    """An open store; the arrays are read-only maps of its files."""

    folder: Path
    tokens: np.ndarray
    sentence_starts: np.ndarray
    document_starts: np.ndarray
    report: dict

    @property
    def vocab_size(self) -> int:
        return self.report["vocab_size"]

    @property
    def n_sentences(self) -> int:
        return len(self.sentence_starts) - 1

    @property
    def n_documents(self) -> int:
        return len(self.document_starts) - 1

    @property
    def content(self) -> dict[str, int]:
        """Checksums of its arrays: what was read, whatever file it came from."""
        return {name: self.report["checksums"][name] for name in ARRAYS}

    def sentence(self, index: int) -> np.ndarray:
        """The ids of one sentence."""
        return self.tokens[self.sentence_starts[index] : self.sentence_starts[index + 1]]

    @classmethod
    def open(cls, folder: str | Path, tokenizer: Tokenizer | None = None) -> "TokenStore":
        """Open a store; with a tokenizer, only one that this tokenizer built."""
        folder = Path(folder)
        report = _read_report(folder)
        if tokenizer is not None and tokenizer_sha256(tokenizer) != report["tokenizer_sha256"]:
            raise UserError(
                f"token store {folder}: built with another tokenizer "
                f"({report['vocab_size']} entries; the one given has "
                f"{tokenizer.get_vocab_size()}); delete the store so that it is built again"
            )
        arrays = {name: _map(folder, name, report) for name in ARRAYS}
        store = cls(folder=folder, report=report, **arrays)
        ends = (
            store.sentence_starts[0] == store.document_starts[0] == 0
            and store.sentence_starts[-1] == len(store.tokens)
            and store.document_starts[-1] == store.n_sentences
        )
        if not ends:
            raise _damaged(folder, "its sentences do not end where its tokens end")
        if sum(array.nbytes for array in arrays.values()) <= CHECKED_ON_OPENING:
            store.verify()
        return store

    def verify(self) -> None:
        """Compare every byte with the checksums made when the store was built."""
        for name in ARRAYS:
            size = self.report["lengths"][name] * np.dtype(self.report["dtypes"][name]).itemsize
            if checksum_of(self.folder / f"{name}.bin", size) != self.report["checksums"].get(name):
                raise _damaged(self.folder, f"{name}.bin has changed since it was built")


def checksum_of(path: Path, size: int) -> int:
    """CRC-32 of the first `size` bytes of a file, or of all if it has fewer."""
    found = 0
    with open(path, "rb") as file:
        while piece := file.read(min(size, 1 << 18)):
            found = zlib.crc32(piece, found)
            size -= len(piece)
    return found


def holds_stores(folder: Path) -> bool:
    """Whether a folder holds all that a run needs of a corpus: tokenizer, train and heldout."""
    if not (folder / "tokenizer" / "tokenizer_config.json").is_file():
        return False
    if all((folder / part / "report.json").is_file() for part in PARTS):
        return True
    if any((folder / f"{part}{UNFINISHED}").exists() for part in PARTS):
        raise UserError(
            f"{folder}: its token stores are not finished; the same call of "
            "`python -m bert_corpus.build_stores` goes on"
        )
    return False


def _damaged(folder: Path, problem: str) -> UserError:
    return UserError(f"token store {folder}: damaged, {problem}; delete it and build it again")


def _read_report(folder: Path) -> dict:
    path = folder / "report.json"
    if not path.exists():
        raise UserError(f"token store {folder}: there is none (no report.json)")
    report = read_record(path, way_out="delete the token store and build it again")
    if report.get("format") != FORMAT:
        raise _damaged(folder, f"report.json is not of format {FORMAT}")
    if problem := wrong_field(report, REPORTED, {}):
        raise _damaged(folder, f"report.json is incomplete ({problem})")
    for name in ARRAYS:
        dtype, length = report["dtypes"].get(name), report["lengths"].get(name)
        if dtype not in list(DTYPES) or not is_of(int, length) or length < 1:
            raise _damaged(folder, f"report.json does not say what {name}.bin holds")
    return report


def _map(folder: Path, name: str, report: dict) -> np.ndarray:
    path = folder / f"{name}.bin"
    dtype, count = np.dtype(report["dtypes"][name]), report["lengths"][name]
    size = path.stat().st_size if path.is_file() else None
    if size != count * dtype.itemsize:
        found = "is missing" if size is None else f"has {size:,} bytes"
        raise _damaged(folder, f"{name}.bin {found}, not {count * dtype.itemsize:,}")
    return np.memmap(path, dtype=dtype, mode="r", shape=(count,))


# Building a store: text streams through the tokenizer to the disk, and memory holds a few megabytes
# of text and ids, whatever the size of the corpus. A store grows beside its place, in
# `NAME.unfinished`:
#
#     store/           its files, growing at their ends
#     progress.json    what it is made from, and how much of it is safely on the disk
#     lock             held by the process that builds
#
# After an interruption, even by a kill, the same call cuts off what was not safe yet, compares the
# rest with its checksums, passes over the documents that are stored, and goes on. The finished
# store takes its name in one step.


BATCH = 1 << 20  # characters encoded at once
TOKENS_AT_ONCE = 1 << 16  # that the report counts
SAFE_EVERY = 5  # seconds from one `make_safe` to the next: what a kill may cost
# What a store is made from; the name of its corpus may be spelled otherwise.
DECISIVE = ("format", "fingerprint", "tokenizer_sha256")
STORE_FILES = {*(f"{name}.bin" for name in ARRAYS), "report.json"}
WORK_FILES = {"store", "replaced", "progress.json", "lock"}


class Batch(NamedTuple):
    """Sentences to be encoded at once, and how many each document has."""

    sentences: list[str]
    sizes: list[int]
    end: int  # how many documents of the corpus come before the next batch


def build_store(
    documents: Iterable[Document],
    tokenizer: Tokenizer,
    folder: str | Path,
    *,
    progress: bool = True,
) -> TokenStore:
    """Encode documents (lists of sentences) into a store at `folder`, replacing one there.

    The folder appears in one piece when all is written. Of a `Corpus` with a fingerprint, the same
    call goes on after an interruption, to the same bytes, and only opens a store that is complete.
    Sentences without tokens and documents without sentences are left out; special tokens written
    out in the text, such as "[SEP]", are encoded as ordinary text.
    """
    folder = Path(folder)
    is_corpus = isinstance(documents, Corpus)
    corpus = documents if is_corpus else Corpus(partial(iter, documents), name="", fingerprint="")
    identity = {"format": FORMAT, "name": corpus.name, "fingerprint": corpus.fingerprint,
                "tokenizer_sha256": tokenizer_sha256(tokenizer)}  # fmt: skip
    with workplace(folder) as place:
        if _is_complete(folder, identity):
            clear(place)
        else:
            progress_made = read_progress(place, identity)
            with closing(StoreWriter(place, tokenizer, identity, progress_made)) as writer:
                _encode_all(corpus, tokenizer, writer, progress=progress)
                writer.finish(folder)
    return TokenStore.open(folder)


def _is_complete(folder: Path, identity: dict) -> bool:
    """Whether a store of these very documents stands there, undamaged."""
    try:
        report = TokenStore.open(folder).report if identity["fingerprint"] else {}
    except UserError:
        return False
    return all(report.get(key) == identity[key] for key in DECISIVE)


def _encode_all(
    corpus: Corpus, tokenizer: Tokenizer, writer: "StoreWriter", *, progress: bool
) -> None:
    """Write all documents that are not stored yet, and make them safe now and then."""
    in_bytes = corpus.size_bytes is not None
    last_safe, end = time.monotonic(), writer.done
    with progress_bar(
        corpus.size_bytes or corpus.n_documents, "building the token store",
        unit="B" if in_bytes else " documents", unit_scale=in_bytes, disable=not progress,
    ) as bar:  # fmt: skip
        for batch, ids in _encoded(_batches(corpus, writer.done), tokenizer):
            writer.add(ids, batch.sizes)
            end = batch.end
            bar.update((corpus.bytes_read if in_bytes else end) - bar.n)
            if corpus.fingerprint and time.monotonic() >= last_safe + SAFE_EVERY:
                writer.make_safe(end)
                last_safe = time.monotonic()
    if corpus.fingerprint:
        writer.make_safe(end)


def _batches(corpus: Corpus, done: int) -> Iterator[Batch]:
    """The documents of a corpus after the first `done`."""
    sentences: list[str] = []
    sizes: list[int] = []
    characters, number = 0, done
    for number, document in enumerate(islice(corpus, done, None), done + 1):
        sentences += document
        sizes.append(len(document))
        characters += sum(map(len, document))
        if characters >= BATCH:
            yield Batch(sentences, sizes, number)
            sentences, sizes, characters = [], [], 0
    if sizes:
        yield Batch(sentences, sizes, number)


def _encoded(
    batches: Iterator[Batch], tokenizer: Tokenizer
) -> Iterator[tuple[Batch, list[list[int]]]]:
    """Batches with their sentences' ids. While the library encodes one batch on all cores, Python
    reads and splits the next."""
    encode = partial(tokenizer.encode_batch_fast, add_special_tokens=False)
    specials_as_text = tokenizer.encode_special_tokens
    tokenizer.encode_special_tokens = True
    waiting = None
    try:
        with ThreadPoolExecutor(max_workers=1) as encoder:
            for batch in chain(batches, [None]):
                upcoming = batch and (batch, encoder.submit(encode, batch.sentences))
                if waiting is not None:
                    yield waiting[0], [encoding.ids for encoding in waiting[1].result()]
                waiting = upcoming
    finally:
        tokenizer.encode_special_tokens = specials_as_text


@contextmanager
def workplace(folder: Path) -> Iterator[Path]:
    """`folder`.unfinished, for one process at a time; it goes unless a build can go on there."""
    refuse_other_things(folder)
    place = folder.with_name(folder.name + UNFINISHED)
    place.mkdir(parents=True, exist_ok=True)
    lock = hold(place / "lock")
    if lock is None:
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


def refuse_other_things(folder: Path) -> None:
    """Raise `UserError` if anything stands in the place of a store that no store consists of."""
    place = folder.with_name(folder.name + UNFINISHED)
    own = {folder: STORE_FILES, place: WORK_FILES, place / "store": STORE_FILES,
           place / "replaced": STORE_FILES}  # fmt: skip
    for where, names in own.items():
        found = {path.name for path in where.iterdir()} if where.is_dir() else set()
        if where.is_file() or any(not LEFTOVER.fullmatch(name) for name in found - names):
            raise UserError(
                f"{where}: holds other things than a token store; choose another folder"
            )


def clear(place: Path) -> None:
    """Remove all but the lock."""
    for path in place.iterdir():
        if path.name != "lock":
            remove(path)


def read_progress(place: Path, identity: dict) -> dict | None:
    """What an interrupted build of this very store made safe; anything else is cleared away."""
    path = place / "progress.json"
    if not path.exists():
        clear(place)
        return None
    store = f"token store {place.with_suffix('')}: building was interrupted"
    try:
        fields = {"identity": dict, "documents": int, "files": dict}
        record = read_record(path, fields, way_out="")
        sizes = [(place / "store" / f"{name}.bin", *record["files"][name]) for name in ARRAYS]
        intact = record["documents"] >= 0 and all(
            is_of(int, size) and size >= 0 and checksum_of(file, size) == checksum
            for file, size, checksum in sizes
        )
    except (UserError, KeyError, TypeError, ValueError, OSError):
        intact = False
    if intact and all(record["identity"].get(key) == identity[key] for key in DECISIVE):
        print(f"{store}, going on", file=sys.stderr)
        return record
    why = "the corpus or the tokenizer has changed since" if intact else "what it left is damaged"
    print(f"{store}, and {why}: starting anew", file=sys.stderr)
    clear(place)
    return None


class _GrowingFile:
    """An array on disk that grows at its end, after the first `size` bytes of what is there."""

    def __init__(self, path: Path, dtype: type, size: int, checksum: int):
        self.file = open(path, "ab")  # noqa: SIM115 - closed by its owner
        self.file.truncate(size)
        self.dtype, self.size, self.checksum = np.dtype(dtype), size, checksum

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
    """Takes encoded sentences to the files of the store that grows in `place`. `identity` is what
    it is made from, as its report will say; `progress` is what an interrupted build left."""

    def __init__(
        self, place: Path, tokenizer: Tokenizer, identity: dict, progress: dict | None = None
    ):
        self.place, self.identity = place, identity
        self.done = progress["documents"] if progress else 0  # documents of the corpus
        self.vocab_size = tokenizer.get_vocab_size()
        self.unknown_id = tokenizer.token_to_id("[UNK]")
        (place / "store").mkdir(exist_ok=True)
        dtypes = (np.uint16 if self.vocab_size <= 65_535 else np.uint32, np.int64, np.int64)
        self.files = {}
        for name, dtype in zip(ARRAYS, dtypes, strict=True):
            size, checksum = progress["files"][name] if progress else (0, 0)
            path = place / "store" / f"{name}.bin"
            self.files[name] = _GrowingFile(path, dtype, size, checksum)
        self.tokens, self.sentences, self.documents = self.files.values()
        if progress is None:
            self.sentences.append(np.zeros(1))
            self.documents.append(np.zeros(1))

    def close(self) -> None:
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

    def make_safe(self, documents: int) -> None:
        """Put everything on the disk, and note that so many documents of the corpus are stored."""
        for array in self.files.values():
            array.flush()
        flush_to_disk(self.place / "store")
        files = {name: [array.size, array.checksum] for name, array in self.files.items()}
        record = {"identity": self.identity, "documents": documents, "files": files}
        write_atomically(self.place / "progress.json", json.dumps(record, indent=2))

    def finish(self, folder: Path) -> None:
        """Write the report, and let the store take its name."""
        if self.tokens.length == 0:
            clear(self.place)
            raise UserError("no text to store: the corpus is empty")
        for array in self.files.values():
            array.flush()
            array.file.close()
        report = self.place / "store" / "report.json"
        report.write_text(json.dumps(self.report(), indent=2), encoding="utf-8")
        flush_to_disk(report)
        flush_to_disk(self.place / "store")
        if folder.exists():
            shutil.rmtree(self.place / "replaced", ignore_errors=True)
            os.replace(folder, self.place / "replaced")
        os.replace(self.place / "store", folder)
        flush_to_disk(folder.parent)
        clear(self.place)

    def report(self) -> dict:
        return {
            **self.identity,
            "documents": self.documents.length - 1,
            "sentences": self.sentences.length - 1,
            "tokens": self.tokens.length,
            "unknown_share": self.unknown_share(),
            "vocab_size": self.vocab_size,
            "dtypes": {name: str(array.dtype) for name, array in self.files.items()},
            "lengths": {name: array.length for name, array in self.files.items()},
            "checksums": {name: array.checksum for name, array in self.files.items()},
        }

    def unknown_share(self) -> float:
        """Counted in the finished file, so that interruptions leave no trace in the report."""
        tokens = np.memmap(self.place / "store" / "tokens.bin", self.tokens.dtype, "r")
        pieces = (tokens[i : i + TOKENS_AT_ONCE] for i in range(0, len(tokens), TOKENS_AT_ONCE))
        unknown = sum(np.count_nonzero(piece == self.unknown_id) for piece in pieces)
        return float(unknown / len(tokens))
