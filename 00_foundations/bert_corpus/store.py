"""The token store: a corpus as three flat files that are mapped into memory, not read.

    tokens.bin            the ids of all tokens, one after the other (uint16 or uint32)
    sentence_starts.bin   where each sentence begins in `tokens`, and the end of the last (int64)
    document_starts.bin   which sentence each document begins with, and the end (int64)
    report.json           counts, shares, quantiles; the tokenizer's fingerprint; checksums

The tokens of sentence `s` are `tokens[sentence_starts[s] : sentence_starts[s + 1]]`. How a store
is built stands in `store_building.py`.
"""

import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from bert_corpus.wordpiece import tokenizer_sha256
from bert_run.errors import UserError
from bert_run.validation import is_of, read_record, wrong_field

FORMAT = 1
ARRAYS = ("tokens", "sentence_starts", "document_starts")
DTYPES = ("uint16", "uint32", "int64")
REPORTED = {"fingerprint": str, "tokenizer_sha256": str, "vocab_size": int,
            "documents": int, "sentences": int, "tokens": int, "unknown_share": float,
            "duplicate_share": float, "dtypes": dict, "lengths": dict,
            "checksums": dict}  # fmt: skip
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
        while piece := file.read(min(size, 1 << 20)):
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
