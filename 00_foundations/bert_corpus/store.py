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
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from bert_corpus.documents import Corpus, Document
from bert_corpus.wordpiece import tokenizer_sha256
from bert_run.errors import UserError, is_of, read_record
from bert_run.files import (
    LEFTOVER,
    clear_leftovers,
    flush_to_disk,
    hold,
    remove_in_one_piece,
    write_atomically,
)
from bert_run.training_loop import progress_bar

FORMAT = 1
ARRAYS = ("tokens", "sentence_starts", "document_starts")
REPORTED = {"format": int, "fingerprint": str, "tokenizer_sha256": str, "vocab_size": int,
            "documents": int, "sentences": int, "tokens": int, "unknown_share": float,
            "checksums": dict}  # fmt: skip
CHECKED_ON_OPENING = 1 << 28  # bytes; of a larger store only the sizes are checked
PARTS = ("train", "heldout")  # the stores of a run
BUILD_AGAIN = "delete the token store and build it again"


@dataclass(frozen=True)
class TokenStore:
    """An open store; the arrays are read-only maps of its files."""

    folder: Path
    tokens: np.ndarray
    sentence_starts: np.ndarray
    document_starts: np.ndarray
    report: dict

    @property
    def n_sentences(self) -> int:
        return len(self.sentence_starts) - 1

    @property
    def n_documents(self) -> int:
        return len(self.document_starts) - 1

    @property
    def content(self) -> dict[str, int]:
        """Checksums of its arrays: what was read, whatever file it came from."""
        return {name: self.report["checksums"].get(name) for name in ARRAYS}

    @classmethod
    def open(cls, folder: str | Path, tokenizer: Tokenizer | None = None) -> "TokenStore":
        """Open a store; with a tokenizer, only one that this tokenizer built.

        Raises `UserError` for a damaged store. Of a large one only the sizes are checked.
        """
        folder = Path(folder)
        report = read_record(folder / "report.json", REPORTED, way_out=BUILD_AGAIN)
        if report["format"] != FORMAT:
            raise UserError(f"{folder}/report.json is not of format {FORMAT}: {BUILD_AGAIN}")
        if tokenizer is not None and tokenizer_sha256(tokenizer) != report["tokenizer_sha256"]:
            raise UserError(
                f"token store {folder}: built with another tokenizer "
                f"({report['vocab_size']} entries; the one given has "
                f"{tokenizer.get_vocab_size()}): {BUILD_AGAIN}"
            )
        lengths = (report["tokens"], report["sentences"] + 1, report["documents"] + 1)
        types = array_types(report["vocab_size"])
        arrays = {}
        for name, length, dtype in zip(ARRAYS, lengths, types, strict=True):
            path = folder / f"{name}.bin"
            size = path.stat().st_size if path.is_file() else 0
            if length < 1 or size != length * dtype.itemsize:
                problem = f"has {size:,} bytes, not {length * dtype.itemsize:,}"
            elif size <= CHECKED_ON_OPENING and checksum_of(path) != report["checksums"].get(name):
                problem = "has changed since it was built"
            else:
                arrays[name] = np.memmap(path, dtype, "r")
                continue
            raise UserError(f"token store {folder}: {name}.bin {problem}: {BUILD_AGAIN}")
        return cls(folder=folder, report=report, **arrays)


def array_types(vocab_size: int) -> tuple[np.dtype, np.dtype, np.dtype]:
    """The types of the three arrays: ids take two bytes each as long as they fit."""
    ids = np.uint16 if vocab_size <= 65_535 else np.uint32
    return np.dtype(ids), np.dtype(np.int64), np.dtype(np.int64)


def checksum_of(path: Path, size: int | None = None) -> int:
    """CRC-32 of a file, or of its first `size` bytes; read in pieces."""
    found, rest = 0, os.path.getsize(path) if size is None else size
    with open(path, "rb") as file:
        while piece := file.read(min(rest, 1 << 18)):
            found = zlib.crc32(piece, found)
            rest -= len(piece)
    return found


def unfinished(folder: Path) -> Path:
    """Where a store grows."""
    return folder.with_name(f"{folder.name}.unfinished")


def holds_stores(folder: Path) -> bool:
    """Whether a folder holds all that a run needs of a corpus: tokenizer, train and heldout."""
    if not (folder / "tokenizer" / "tokenizer_config.json").is_file():
        return False
    if any(unfinished(folder / part).exists() for part in PARTS):
        raise UserError(
            f"{folder}: its token stores are not finished; the same call of "
            "`python -m bert_corpus.build_stores` goes on"
        )
    return all((folder / part / "report.json").is_file() for part in PARTS)


# Building a store: text streams through the tokenizer to the disk, and memory holds a few megabytes
# of text and ids, whatever the size of the corpus. A store grows beside its place, in
# `NAME.unfinished`; there `progress.json` says what it is made from, and how much of its files is
# safely on the disk. After an interruption, even by a kill, the same call cuts off the rest, passes
# over the documents that are stored, and goes on. The finished store takes its name in one step.


BATCH = 1 << 20  # characters encoded at once
SAFE_EVERY = 5  # seconds from one `make_safe` to the next: what a kill may cost
# What a store is made from; the name of its corpus may be spelled otherwise.
DECISIVE = ("format", "fingerprint", "tokenizer_sha256")
PROGRESS = {"identity": dict, "documents": int, "unknown": int, "files": dict}
STORE_FILES = {*(f"{name}.bin" for name in ARRAYS), "report.json", "progress.json"}


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
    refuse_other_things(folder)
    with held_alone(folder):
        if not (corpus.fingerprint and is_made_from(identity, folder)):
            with closing(StoreWriter(folder, tokenizer, identity)) as writer:
                fill(writer, corpus, tokenizer, progress=progress)
                writer.finish()
        (folder / "progress.json").unlink(missing_ok=True)  # nothing is left to go on with
    return TokenStore.open(folder)


def refuse_other_things(folder: Path) -> None:
    """Raise `UserError` if anything stands in the place of a store that no store consists of."""
    for where in (folder, unfinished(folder)):
        names = {path.name for path in where.iterdir()} if where.is_dir() else set()
        if where.is_file() or not all(map(LEFTOVER.fullmatch, names - STORE_FILES)):
            raise UserError(
                f"{where}: holds other things than a token store; choose another folder"
            )


@contextmanager
def held_alone(folder: Path) -> Iterator[None]:
    """Keep other processes from building the same store."""
    path = folder.with_name(f"{folder.name}.lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = hold(path)
    if lock is None:
        raise UserError(
            f"token store {folder}: another process is building it; call again when it is done"
        )
    try:
        yield
    finally:
        lock.close()
        path.unlink(missing_ok=True)


def is_made_from(identity: dict, folder: Path) -> bool:
    """Whether a store of these very documents stands there, undamaged."""
    try:
        report = TokenStore.open(folder).report
    except UserError:
        return False
    return all(report[key] == identity[key] for key in DECISIVE)


def fill(writer: "StoreWriter", corpus: Corpus, tokenizer: Tokenizer, *, progress: bool) -> None:
    """Write all documents that are not stored yet, and make them safe now and then."""
    in_bytes = corpus.size_bytes is not None
    last_safe = time.monotonic()
    with progress_bar(
        corpus.size_bytes or corpus.n_documents, "building the token store",
        unit="B" if in_bytes else " documents", unit_scale=in_bytes, disable=not progress,
    ) as bar:  # fmt: skip
        for batch, ids in encoded(batches(islice(corpus, writer.done, None)), tokenizer):
            writer.add(ids, [len(document) for document in batch])
            bar.update((corpus.bytes_read if in_bytes else writer.done) - bar.n)
            if corpus.fingerprint and time.monotonic() >= last_safe + SAFE_EVERY:
                writer.make_safe()
                last_safe = time.monotonic()


def batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Documents in lists of about `BATCH` characters."""
    batch: list[Document] = []
    characters = 0
    for document in documents:
        batch.append(document)
        characters += sum(map(len, document))
        if characters >= BATCH:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def encoded(
    batches: Iterable[list[Document]], tokenizer: Tokenizer
) -> Iterator[tuple[list[Document], list[list[int]]]]:
    """Batches with the ids of their sentences. While the library encodes one batch on all cores,
    Python reads and splits the next."""
    own = Tokenizer.from_str(tokenizer.to_str())
    own.encode_special_tokens = True  # as text
    encode = partial(own.encode_batch_fast, add_special_tokens=False)
    waiting = None
    with ThreadPoolExecutor(max_workers=1) as encoder:
        for batch in chain(batches, [None]):
            upcoming = batch and (batch, encoder.submit(encode, list(chain(*batch))))
            if waiting:
                yield waiting[0], [encoding.ids for encoding in waiting[1].result()]
            waiting = upcoming


class StoreWriter:
    """Appends documents to the files of a store: to what an interrupted build of the same store,
    one of the same `identity`, has left, or to empty ones."""

    def __init__(self, folder: Path, tokenizer: Tokenizer, identity: dict) -> None:
        self.folder, self.place, self.identity = folder, unfinished(folder), identity
        self.vocab_size = tokenizer.get_vocab_size()
        self.unknown_id = tokenizer.token_to_id("[UNK]")
        self.types = dict(zip(ARRAYS, array_types(self.vocab_size), strict=True))
        self.place.mkdir(exist_ok=True)
        clear_leftovers(self.place)
        record = read_progress(self.place, identity)
        self.done, self.unknown = record["documents"], record["unknown"]
        self.written = record["files"]  # the size and the checksum of each
        self.files = {}
        for name in ARRAYS:
            self.files[name] = open(self.place / f"{name}.bin", "ab")  # noqa: SIM115
            self.files[name].truncate(self.written[name][0])
        if not self.done:
            self.append("sentence_starts", np.zeros(1))
            self.append("document_starts", np.zeros(1))

    def close(self) -> None:
        """Close the files; they go unless a build can go on with them."""
        for file in self.files.values():
            with suppress(OSError):  # a full disk, which has raised already
                file.close()
        if not (self.place / "progress.json").exists():
            shutil.rmtree(self.place, ignore_errors=True)

    def append(self, name: str, values: np.ndarray) -> None:
        data = values.astype(self.types[name]).tobytes()
        self.files[name].write(data)
        size, checksum = self.written[name]
        self.written[name] = [size + len(data), zlib.crc32(data, checksum)]

    def length(self, name: str) -> int:
        return self.written[name][0] // self.types[name].itemsize

    def add(self, ids: list[list[int]], sizes: list[int]) -> None:
        """Append sentences, given by their ids; document i has the next `sizes[i]` of them."""
        lengths = np.fromiter(map(len, ids), np.int64, len(ids))
        tokens = np.fromiter(chain.from_iterable(ids), np.int64, lengths.sum())
        full = lengths > 0

        # How many sentences with tokens each document has: differences of a running count.
        count = np.concatenate([[0], np.cumsum(full)])
        ends = count[np.cumsum(sizes)]
        sentences = self.length("sentence_starts") - 1
        self.append("document_starts", sentences + np.unique(ends[ends > 0]))
        self.append("sentence_starts", self.length("tokens") + np.cumsum(lengths)[full])
        self.append("tokens", tokens)
        self.unknown += int(np.count_nonzero(tokens == self.unknown_id))
        self.done += len(sizes)

    def flush(self) -> None:
        for file in self.files.values():
            file.flush()
            os.fsync(file.fileno())

    def make_safe(self) -> None:
        """Put everything on the disk, and note how much there is."""
        self.flush()
        record = {"identity": self.identity, "documents": self.done, "unknown": self.unknown,
                  "files": self.written}  # fmt: skip
        write_atomically(self.place / "progress.json", json.dumps(record, indent=2))

    def finish(self) -> None:
        """Write the report, and let the store take its name."""
        lengths = {name: self.length(name) for name in ARRAYS}
        if lengths["tokens"] == 0:
            raise UserError("no text to store: the corpus is empty")
        report = {
            **self.identity,
            "documents": lengths["document_starts"] - 1,
            "sentences": lengths["sentence_starts"] - 1,
            "tokens": lengths["tokens"],
            "unknown_share": self.unknown / lengths["tokens"],
            "vocab_size": self.vocab_size,
            "dtypes": {name: str(dtype) for name, dtype in self.types.items()},
            "lengths": lengths,
            "checksums": {name: checksum for name, (_, checksum) in self.written.items()},
        }
        self.flush()
        for file in self.files.values():
            file.close()
        write_atomically(self.place / "report.json", json.dumps(report, indent=2))
        flush_to_disk(self.place)
        if self.folder.exists():
            remove_in_one_piece(self.folder)
        os.replace(self.place, self.folder)
        flush_to_disk(self.folder.parent)


def read_progress(place: Path, identity: dict) -> dict:
    """How much of this very store an interrupted build has made safe; nothing if there is none."""
    path = place / "progress.json"
    is_there = path.exists()
    with suppress(UserError, KeyError, TypeError, ValueError, OSError):  # missing or damaged
        record = read_record(path, PROGRESS, way_out="")
        files = [(place / f"{name}.bin", *record["files"][name]) for name in ARRAYS]
        if (
            all(record["identity"].get(key) == identity[key] for key in DECISIVE)
            and record["documents"] > 0
            and all(is_of(int, size) and size > 0 for _, size, _ in files)
            and all(checksum_of(file, size) == checksum for file, size, checksum in files)
        ):
            print(f"token store {place}: building was interrupted, going on", file=sys.stderr)
            return record
    if is_there:
        print(f"token store {place}: what an interrupted build of another text or with another "
              "tokenizer has left is of no use: starting anew", file=sys.stderr)  # fmt: skip
        path.unlink()
    return {"documents": 0, "unknown": 0, "files": dict.fromkeys(ARRAYS, (0, 0))}
