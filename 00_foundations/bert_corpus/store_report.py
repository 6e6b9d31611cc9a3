"""What the report says of a token store, counted in its finished files, a piece at a time.

So a store says the same of itself whether it was built in one go or after ten interruptions.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
from jaxtyping import Int64, Shaped, UInt64

from bert_corpus.counter_random import GOLDEN, mix
from bert_run.progress import progress_bar

TOKENS_AT_ONCE = 1 << 16
SENTENCES_AT_ONCE = 1 << 16
HASHES_AT_ONCE = 1 << 23  # sentence hashes sorted at once: 64 MB
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)


def count_content(folder: Path, dtype: np.dtype, unknown_id: int | None, *, progress: bool) -> dict:
    """The shares of unknown tokens and of duplicate sentences, and how long sentences are.

    A duplicate is a sentence whose tokens, all of them in their order, had occurred before. A
    temporary file beside the folder takes eight bytes a sentence.
    """
    n_tokens = (folder / "tokens.bin").stat().st_size // dtype.itemsize
    n_unknown = 0
    of_length = np.zeros(1, np.int64)  # how many sentences have 0, 1, 2, … tokens
    with (
        tempfile.TemporaryFile(dir=folder.parent) as hashes,
        progress_bar(
            n_tokens, "counting", unit=" tokens", unit_scale=True, delay=3, disable=not progress
        ) as bar,
    ):
        for tokens, lengths in _pieces(folder, dtype):
            bar.update(len(tokens))
            n_unknown += int(np.count_nonzero(tokens == unknown_id))
            found = np.bincount(lengths, minlength=len(of_length))
            found[: len(of_length)] += of_length
            of_length = found
            hashes.write(sentence_hashes(tokens, lengths).tobytes())
        n_sentences = int(of_length.sum())
        duplicates = n_sentences - _count_different(hashes, n_sentences)
    up_to = np.cumsum(of_length) / n_sentences
    return {
        "unknown_share": n_unknown / n_tokens,
        "duplicate_lines": duplicates,
        "duplicate_share": duplicates / n_sentences,
        "sentence_length_mean": n_tokens / n_sentences,
        "sentence_length_quantiles": {
            str(q): int(np.argmax(up_to >= q - 1e-12)) for q in QUANTILES
        },
    }


def _pieces(
    folder: Path, dtype: np.dtype
) -> Iterator[tuple[Shaped[np.ndarray, "tokens"], Int64[np.ndarray, "sentences"]]]:
    """Tokens and lengths of neighbouring sentences, about TOKENS_AT_ONCE tokens at a time.

    The files are read and not mapped: the pages of a map would count as memory of this process.
    """
    with (
        open(folder / "tokens.bin", "rb") as tokens,
        open(folder / "sentence_starts.bin", "rb") as starts,
    ):
        begin = np.fromfile(starts, np.int64, 1)
        while len(ends := np.fromfile(starts, np.int64, SENTENCES_AT_ONCE)):
            lengths = np.diff(ends, prepend=begin)
            begin = ends[-1:]
            cuts = 1 + np.flatnonzero(np.diff(ends // TOKENS_AT_ONCE))
            for piece in np.split(lengths, cuts):
                yield np.fromfile(tokens, dtype, piece.sum()), piece


def sentence_hashes(
    tokens: Shaped[np.ndarray, "tokens"], lengths: Int64[np.ndarray, "sentences"]
) -> UInt64[np.ndarray, "sentences"]:
    """A 64-bit hash of each sentence; no length may be 0.

    Every (token, place in the sentence) stands for a number that looks random, and a sentence for
    their sum. The same on every machine and in every process, unlike Python's `hash` of a string.
    """
    starts = np.cumsum(lengths) - lengths
    place = np.arange(len(tokens)) - np.repeat(starts, lengths)
    scattered = mix((tokens.astype(np.uint64) << np.uint64(32) | place.astype(np.uint64)) * GOLDEN)
    return np.add.reduceat(scattered, starts)


def _count_different(hashes: IO[bytes], count: int) -> int:
    """How many different ones are among `count` hashes, in bounded memory.

    They are taken in as many shares as memory asks for, by their remainder; two different
    sentences have the same hash with a chance of n²/2^65 in all: one in 37 for a billion.
    """
    shares = -(-count // HASHES_AT_ONCE)
    different = 0
    for share in range(shares):
        hashes.seek(0)
        chosen = []
        while piece := hashes.read(1 << 23):
            values = np.frombuffer(piece, np.uint64)
            chosen.append(values[values % np.uint64(shares) == share] if shares > 1 else values)
        values = np.sort(np.concatenate(chosen))
        different += min(1, len(values)) + int(np.count_nonzero(np.diff(values)))
    return different
