"""The token store: a corpus as three flat files that are mapped into memory, not read.

    tokens.bin            the ids of all tokens, one after the other (uint16 or uint32)
    sentence_starts.bin   where each sentence begins in `tokens`, and the end of the last (int64)
    document_starts.bin   which sentence each document begins with, and the end (int64)
    report.json           counts, shares, quantiles; the tokenizer's fingerprint; checksums

The tokens of sentence `s` are `tokens[sentence_starts[s] : sentence_starts[s + 1]]`. Building
streams: memory holds a few megabytes of text and ids, whatever the size of the corpus.
"""

import json
import shutil
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np
from tokenizers import Tokenizer

from bert_corpus.wordpiece import tokenizer_sha256
from bert_run.errors import UserError
from bert_run.files import folder_in_one_piece
from bert_run.progress import progress_bar

FORMAT = 1
ARRAYS = ("tokens", "sentence_starts", "document_starts")
BATCH = 1 << 20  # characters encoded at once
CHECKED_ON_OPENING = 1 << 28  # bytes; of a larger store only sizes and ends are checked
HASHES_AT_ONCE = 1 << 23  # sentence hashes sorted at once: 64 MB
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)


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
            checksum = 0
            with open(self.folder / f"{name}.bin", "rb") as file:
                while piece := file.read(1 << 20):
                    checksum = zlib.crc32(piece, checksum)
            if checksum != self.report["checksums"][name]:
                raise _damaged(self.folder, f"{name}.bin has changed since it was built")


def _damaged(folder: Path, problem: str) -> UserError:
    return UserError(f"token store {folder}: damaged, {problem}; delete it and build it again")


def _read_report(folder: Path) -> dict:
    try:
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"token store {folder}: there is none (no report.json)") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise _damaged(folder, "report.json is not JSON") from None
    if not isinstance(report, dict) or report.get("format") != FORMAT:
        raise _damaged(folder, f"report.json is not of format {FORMAT}")
    return report


def _map(folder: Path, name: str, report: dict) -> np.ndarray:
    path = folder / f"{name}.bin"
    dtype, count = np.dtype(report["dtypes"][name]), report["lengths"][name]
    size = path.stat().st_size if path.is_file() else None
    if size != count * dtype.itemsize:
        found = "is missing" if size is None else f"has {size:,} bytes"
        raise _damaged(folder, f"{name}.bin {found}, not {count * dtype.itemsize:,}")
    return np.memmap(path, dtype=dtype, mode="r", shape=(count,))


# --- Building ------------------------------------------------------------------------------------


def build_store(
    documents: Iterable[list[str]],
    tokenizer: Tokenizer,
    folder: str | Path,
    *,
    progress: bool = True,
) -> TokenStore:
    """Encode documents (lists of sentences) into a store at `folder`, replacing one there.

    The folder appears in one piece when all is written, or not at all. Sentences without tokens
    and documents without sentences are left out. Special tokens written out in the text, such as
    "[SEP]", are encoded as ordinary text.
    """
    folder = Path(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    if folder.is_file() or (folder.is_dir() and _holds_other_things(folder)):
        raise UserError(f"{folder}: holds other things than a token store; choose another folder")
    _remove_leftovers(folder)
    with folder_in_one_piece(folder) as beside, _Writer(beside, tokenizer) as writer:
        for sentences, sizes, ids in _encoded(documents, tokenizer, progress=progress):
            writer.add(sentences, sizes, ids)
        if writer.tokens.length == 0:
            raise UserError("no text to store: the corpus is empty")
        report = writer.report(
            name=getattr(documents, "name", ""),
            source=getattr(documents, "description", ""),
            fingerprint=getattr(documents, "fingerprint", ""),
        )
        (beside / "report.json").write_text(json.dumps(report, indent=2), encoding="utf-8")
    return TokenStore.open(folder)


def _holds_other_things(folder: Path) -> bool:
    return any(folder.iterdir()) and not (folder / "report.json").is_file()


def _remove_leftovers(folder: Path) -> None:
    """What a build that was killed has left behind."""
    for leftover in folder.parent.glob(f".{folder.name}.*.part"):
        shutil.rmtree(leftover, ignore_errors=True)


def _encoded(
    documents: Iterable[list[str]], tokenizer: Tokenizer, *, progress: bool
) -> Iterator[tuple[list[str], list[int], list[list[int]]]]:
    """Batches of sentences, the number of sentences of each document, and the sentences' ids.

    While the library encodes one batch on all cores, Python reads and splits the next.
    """
    encode = partial(tokenizer.encode_batch_fast, add_special_tokens=False)
    specials_as_text = tokenizer.encode_special_tokens
    tokenizer.encode_special_tokens = True
    waiting = None
    try:
        with ThreadPoolExecutor(max_workers=1) as encoder:
            for sentences, sizes in _batches(documents, progress=progress):
                upcoming = (sentences, sizes, encoder.submit(encode, sentences))
                if waiting is not None:
                    yield waiting[0], waiting[1], [e.ids for e in waiting[2].result()]
                waiting = upcoming
            if waiting is not None:
                yield waiting[0], waiting[1], [e.ids for e in waiting[2].result()]
    finally:
        tokenizer.encode_special_tokens = specials_as_text


def _batches(
    documents: Iterable[list[str]], *, progress: bool
) -> Iterator[tuple[list[str], list[int]]]:
    size_bytes = getattr(documents, "size_bytes", None)
    with progress_bar(
        size_bytes or getattr(documents, "n_documents", None),
        "building the token store",
        unit="B" if size_bytes else " documents",
        unit_scale=bool(size_bytes),
        disable=not progress,
    ) as bar:
        sentences: list[str] = []
        sizes: list[int] = []
        characters = 0
        for document in documents:
            sentences += document
            sizes.append(len(document))
            characters += sum(map(len, document))
            if characters >= BATCH:
                yield sentences, sizes
                bar.update(documents.bytes_read - bar.n if size_bytes else len(sizes))
                sentences, sizes, characters = [], [], 0
        if sizes:
            yield sentences, sizes
            bar.update(documents.bytes_read - bar.n if size_bytes else len(sizes))


class _ArrayFile:
    """An array on disk that grows at its end."""

    def __init__(self, path: Path, dtype: type):
        self.file: IO[bytes] = open(path, "wb")  # noqa: SIM115 - closed by its owner
        self.dtype = np.dtype(dtype)
        self.length = 0
        self.checksum = 0

    def append(self, values: np.ndarray) -> None:
        data = values.astype(self.dtype, copy=False).tobytes()
        self.file.write(data)
        self.checksum = zlib.crc32(data, self.checksum)
        self.length += len(values)


class _Writer:
    """Takes batches of encoded sentences to the store's files, and counts."""

    def __init__(self, folder: Path, tokenizer: Tokenizer):
        self.vocab_size = tokenizer.get_vocab_size()
        self.sha256 = tokenizer_sha256(tokenizer)
        self.unknown_id = tokenizer.token_to_id("[UNK]")
        self.tokens = _ArrayFile(
            folder / "tokens.bin", np.uint16 if self.vocab_size <= 65_535 else np.uint32
        )
        self.sentences = _ArrayFile(folder / "sentence_starts.bin", np.int64)
        self.documents = _ArrayFile(folder / "document_starts.bin", np.int64)
        self.hashes = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed in `__exit__`
        self.unknown = 0
        self.sentences_of_length = np.zeros(1, dtype=np.int64)
        self.sentences.append(np.zeros(1))
        self.documents.append(np.zeros(1))

    def add(self, sentences: list[str], sizes: list[int], ids: list[list[int]]) -> None:
        lengths = np.fromiter(map(len, ids), np.int64, len(ids))
        flat = np.fromiter(chain.from_iterable(ids), self.tokens.dtype, lengths.sum())
        full = lengths > 0

        # How many sentences with tokens each document has: differences of a running count.
        count = np.concatenate([[0], np.cumsum(full)])
        ends = count[np.cumsum(sizes)]
        self.documents.append(self.sentences.length - 1 + np.unique(ends[ends > 0]))
        self.sentences.append(self.tokens.length + np.cumsum(lengths)[full])
        self.tokens.append(flat)

        self.unknown += int(np.count_nonzero(flat == self.unknown_id))
        found = np.bincount(lengths[full], minlength=len(self.sentences_of_length))
        found[: len(self.sentences_of_length)] += self.sentences_of_length
        self.sentences_of_length = found
        hashes = np.fromiter(map(hash, sentences), np.int64, len(sentences))
        self.hashes.write(hashes[full].tobytes())

    def __enter__(self) -> "_Writer":
        return self

    def __exit__(self, *exception: object) -> None:
        for array in (self.tokens, self.sentences, self.documents):
            array.file.close()
        self.hashes.close()

    def report(self, **origin: str) -> dict:
        files = dict(zip(ARRAYS, (self.tokens, self.sentences, self.documents), strict=True))
        n_sentences = self.sentences.length - 1
        duplicates = self._duplicates(n_sentences)
        up_to = np.cumsum(self.sentences_of_length) / n_sentences
        return {
            "format": FORMAT,
            **origin,
            "documents": self.documents.length - 1,
            "sentences": n_sentences,
            "tokens": self.tokens.length,
            "unknown_share": self.unknown / self.tokens.length,
            "duplicate_lines": duplicates,
            "duplicate_share": duplicates / n_sentences,
            "sentence_length_mean": self.tokens.length / n_sentences,
            "sentence_length_quantiles": {
                str(q): int(np.argmax(up_to >= q - 1e-12)) for q in QUANTILES
            },
            "vocab_size": self.vocab_size,
            "tokenizer_sha256": self.sha256,
            "dtypes": {name: str(file.dtype) for name, file in files.items()},
            "lengths": {name: file.length for name, file in files.items()},
            "checksums": {name: file.checksum for name, file in files.items()},
        }

    def _duplicates(self, n_sentences: int) -> int:
        """How many sentences had occurred before, by 64-bit hashes, in bounded memory.

        The hashes are taken in as many parts as memory asks for, by their remainder; two
        different sentences share a hash with a chance of n²/2^65: one in 37 for a billion.
        """
        parts = -(-n_sentences // HASHES_AT_ONCE)
        different = 0
        for part in range(parts):
            self.hashes.seek(0)
            chosen = []
            while piece := self.hashes.read(1 << 23):
                values = np.frombuffer(piece, np.int64)
                chosen.append(values[values % parts == part] if parts > 1 else values)
            different += len(np.unique(np.concatenate(chosen)))
        return n_sentences - different
