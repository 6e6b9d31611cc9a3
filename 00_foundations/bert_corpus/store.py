"""From text to a token store: a corpus as documents, documents as flat files of token ids.

corpus = open_corpus("storyworld")     # documents, each a list of sentences
corpus.held_out                        # others, to measure on
store = build_store(corpus, tokenizer, folder)
"""

import hashlib
import json
import os
import re
import shutil
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import sentencex
from tokenizers import Tokenizer

from bert_corpus.wordpiece import tokenizer_sha256
from bert_run.errors import UserError, shown
from bert_run.files import (
    JSON_LINES,
    LEFTOVER,
    PACKED,
    LineReader,
    clear_leftovers,
    held_alone,
    is_of,
    named_where_full,
    parse_strictly,
    put_in_place,
    read_record,
    refuse_pipe,
    sha256,
    write_atomically,
)
from bert_run.training_loop import progress_bar

Document = list[str]  # its sentences

EMBEDDED = ("storyworld", "pydocs")
TEXT_FIELD = "text"  # of JSON lines and of the rows of the Hub
TRAIN_STORIES = 20_000  # training documents of StoryWorld, unless a limit says otherwise
HELD_OUT_STORIES = 1_000
HELD_OUT_SHARE = 0.01  # of a text corpus
HELD_OUT_MOST = 500  # documents
PROBE = 100  # of the first 100 documents at least a twentieth is held out; 2 of four or more


@dataclass
class Corpus:
    """Documents that can be walked through again and again in the same order, few in memory."""

    walk: Callable[[], Iterator[Document]]  # begins a new walk through them
    name: str
    fingerprint: str  # changes when the documents may have; "" says that nothing is known of them
    readers: Sequence[LineReader] = ()  # of its files, for progress bars
    hashes: Sequence[str] = ()  # the SHA-256 of each of its files
    n_documents: int | None = None  # None where it is not known in advance
    held_out: "Corpus | None" = None  # kept for measuring, beside the training documents

    def __iter__(self) -> Iterator[Document]:
        return self.walk()


def fingerprint_of(*identity: object) -> str:
    """Sixteen hexadecimal digits that change with anything in `identity`."""
    return hashlib.sha256(json.dumps(identity, default=str).encode()).hexdigest()[:16]


def open_corpus(name: str, *, split_sentences: bool | None = None, limit: int | None = None,
                held_out: str | None = None) -> Corpus:  # fmt: skip
    """Open `storyworld`, `pydocs`, a text file or folder, JSON lines, or `ID[:CONFIG][@SPLIT]`, a
    dataset of the Hub, whose rows have a field `text` like those of JSON lines.

    split_sentences: a text's lines are prose to be split (True) or sentences (False); without
        it a sample of the lines decides.
    limit: take at most so many documents.
    held_out: another corpus to measure on. Without it StoryWorld tells stories kept apart, and
        of any other corpus about one document in a hundred is held out, chosen by a hash of its
        text: at least 2 of four or more, and at most the first 500. No text is on both sides.
    """
    if name == "storyworld":
        count = limit or TRAIN_STORIES
        corpus = _storyworld(count, "train")
        corpus.held_out = _storyworld(min(HELD_OUT_STORIES, max(1, count // 20)), "heldout")
    else:
        corpus = _open_whole(name, split_sentences, limit)
        corpus = _split(corpus) if held_out is None else _part(corpus, "", corpus.walk)
    if held_out is not None:
        corpus.held_out = _open_whole(held_out, split_sentences, None)
    return corpus


def _part(whole: Corpus, name: str, walk: Callable[[], Iterator[Document]]) -> Corpus:
    """The documents of a corpus that `walk` yields, as a corpus of its own."""
    return replace(whole, fingerprint=fingerprint_of(whole.fingerprint, name), walk=walk)


def _storyworld(count: int, split: str) -> Corpus:
    from bert_corpus import storyworld

    source = [*storyworld.TOLD_BY, *sorted(storyworld.STORIES.glob("*.txt"))]
    code = fingerprint_of(*(path.read_text(encoding="utf-8") for path in source))
    fingerprint = fingerprint_of("storyworld", split, count, 0, code)  # of seed 0

    def walk() -> Iterator[Document]:
        for story in storyworld.stories(count, split=split):
            yield [sentence.text for sentence in story.sentences]

    return Corpus(walk, "storyworld", fingerprint, n_documents=count)


def _open_whole(name: str, split_sentences: bool | None, limit: int | None) -> Corpus:
    """The corpus, nothing held out yet; a corpus without any text is an error."""
    path, readers, hashes = corpus_path(name), [], []
    if name == "storyworld":
        return _storyworld(limit or HELD_OUT_STORIES, "heldout")
    if name == "pydocs":
        from bert_corpus.pydocs import pydocs_file

        path, split_sentences = pydocs_file(), False
    if path.exists():
        readers = _readers(path)
        hashes = [sha256(reader.path) for reader in readers]
        identity = [[kind_of(reader.path) for reader in readers], hashes]

        def walk() -> Iterator[Document]:
            for reader in readers:
                reader.packed = None
            return chain.from_iterable(_documents_of(each, split_sentences) for each in readers)
    elif kind_of(path) or ("/" in name and path.parent.is_dir()):
        raise UserError(f"corpus {name}: no such file or folder; check the path")
    else:
        # Only corpora of the Hub wait for its libraries.
        from bert_corpus.hub import HubName, ask_for_revision, constants, dataset_rows, open_dataset

        hub_name, stream = HubName.parse(name), not constants.HF_HUB_OFFLINE
        identity = [str(hub_name), ask_for_revision(hub_name, stream=stream)]
        dataset = open_dataset(hub_name, stream=stream)

        def walk() -> Iterator[Document]:
            rows = dataset_rows(str(hub_name), dataset)
            texts = (text_of(row, f"Hub dataset {str(hub_name)!r}") for row in rows)
            return documents_from_rows(texts, split_sentences)

    sizes = [len(document) for document in islice(walk(), 20)]
    if not sizes:
        raise UserError(f"corpus {name}: there is no text in it")
    is_one = len(sizes) < 20 and all(size == LONGEST_DOCUMENT for size in sizes[:-1])

    def pieces() -> Iterator[Document]:
        """A single document comes in twenty pieces, so that some can be held out."""
        for document in walk():
            size = -(-sum(sizes) // 20) if is_one else len(document)
            yield from (document[i : i + size] for i in range(0, len(document), size))

    fingerprint = fingerprint_of(identity, split_sentences, TEXT_FIELD, limit)
    if path.name in ("", ".."):  # "." says nothing elsewhere
        name = path.resolve().name
    return Corpus(lambda: islice(pieces(), limit), name=name, fingerprint=fingerprint,
                  readers=[] if limit else readers, hashes=hashes)  # fmt: skip


def corpus_path(name: str) -> Path:
    """The path that a corpus's name may be. A name that is empty is an unset variable."""
    if not name.strip():
        raise UserError('the name of the corpus is empty (""): name a file, a folder or a dataset')
    path = Path(name).expanduser()
    refuse_pipe(path, f"corpus {name}")
    return path


def _readers(path: Path) -> list[LineReader]:
    if is_own_folder(path):
        if (path / "sentence_starts.bin").is_file():
            raise UserError(f"corpus {path}: is one of two token stores: name the folder above it")
        raise UserError(f"corpus {path}: is the folder of a run, of a model or of token stores "
                        "(bert-pretrain --corpus takes finished ones): name the text")  # fmt: skip
    files, others = find_text_files(path)
    passed_over = f"{len(others):,} passed over ({', '.join(sorted(set(others))[:20])})"
    if not files:
        raise UserError(f"corpus {path}: no text files (.txt, .jsonl, packed, …); {passed_over}")
    if others:
        print(f"corpus {path}: {len(files):,} text files read; {passed_over}", file=sys.stderr)
    return [LineReader(file) for file in files]


def _documents_of(reader: LineReader, split_sentences: bool | None) -> Iterator[Document]:
    if kind_of(reader.path) == "json":
        return documents_from_rows(json_texts(reader), split_sentences)
    sample, lines = peek((line for _, line in reader), SAMPLE)
    return documents_from_lines(lines, judge_layout(sample, split_sentences))


def _split(whole: Corpus) -> Corpus:
    """Training and held-out documents, told apart by a hash of their text."""
    hashes = sorted({hash64(document) for document in islice(whole, PROBE)})
    if len(hashes) == 1:
        raise UserError(f"corpus {whole.name}: a single document, or the same again and again, "
                        "so nothing is left to measure on; part documents by empty lines (in "
                        "JSON lines: one a row), or name a held-out corpus")  # fmt: skip
    bound = HELD_OUT_SHARE * 2**64
    # Chance may leave none of a small corpus below the bound, and a random next sentence needs two.
    always = set(hashes[: max(1, min(len(hashes) // 2, max(2, len(hashes) // 20)))])

    def walk(held_out: bool) -> Iterator[Document]:
        kept: set[int] = set()
        for document in whole.walk():
            value = hash64(document)
            if len(kept) < HELD_OUT_MOST and (value < bound or value in always):
                kept.add(value)
            if (value in kept) == held_out:
                yield document
            if held_out and len(kept) == HELD_OUT_MOST:
                break

    train = _part(whole, ", without those held out", partial(walk, False))
    train.held_out = _part(whole, ", those held out", partial(walk, True))
    return train


def hash64(document: Document) -> int:
    digest = hashlib.blake2b("\n".join(document).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


# The text of files: lines, or JSON objects with a field of text.

TEXT = (".txt", ".text", ".md", ".rst", ".raw", ".tokens", ".train", ".valid", ".test")


def kind_of(path: Path) -> str | None:
    """`text` or `json` by the file's name, packed or not; None if the name says neither."""
    ending = path.suffix.lower()  # DOS and cameras write README.TXT
    name = path.with_suffix("") if ending in PACKED else path
    if name.suffix.lower() in JSON_LINES:
        return "json"
    return "text" if name.suffix.lower() in TEXT or ending in PACKED else None


def find_text_files(path: Path) -> tuple[list[Path], list[str]]:
    """A file itself, or all text files below a folder, sorted; files without a suffix are text,
    hidden ones are not. Second: the endings of other files, and folders that are passed over: what
    runs have written, and what a link leads to a second time."""
    if not path.is_dir():
        return [path], []
    files: list[Path] = []
    others: list[str] = []
    seen: set[str] = set()  # a link may lead back to a folder that it lies in
    walk = os.walk(path, followlinks=True, onerror=lambda error: others.append(error.filename))
    for place, below, names in walk:
        real = os.path.realpath(place)
        if real in seen or (place != str(path) and is_own_folder(Path(place))):
            others.append(Path(place).relative_to(path).as_posix())
            below.clear()
            continue
        seen.add(real)
        below[:] = sorted(name for name in below if not name.startswith("."))
        for file in (Path(place, name) for name in names if not name.startswith(".")):
            if file.is_file() and (kind_of(file) or not file.suffix):
                files.append(file)
            else:
                others.append(file.suffix.lower() if file.is_file() else "broken links and pipes")
    return sorted(files), others


def is_own_folder(folder: Path) -> bool:
    """Whether a folder is a run's, a model's, or that of token stores."""
    marks = ("run.json", "tokenizer_config.json", "tokenizer/tokenizer_config.json",
             "sentence_starts.bin", "train/sentence_starts.bin")  # fmt: skip
    return any((folder / mark).is_file() for mark in marks)


def json_texts(reader: LineReader) -> Iterator[str]:
    """The text of each line's JSON object."""
    for number, line in reader:
        if not line.strip():
            continue
        where = f"{reader.path}: line {number}"
        try:
            row = parse_strictly(line)
        except (ValueError, RecursionError) as error:  # a ValueError: a number of 5,000 digits
            problem = getattr(error, "msg", "nested too deep, or a number too long")
            raise UserError(f"{where} is not JSON ({problem}); each line must hold an "
                            "object") from None  # fmt: skip
        yield text_of(row, where)


def text_of(row: Any, where: str) -> str:
    """The text of a row of JSON lines or of the Hub."""
    if not isinstance(row, dict):
        raise UserError(f'{where} is JSON but no object; write {{"{TEXT_FIELD}": …}}')
    if TEXT_FIELD in row and not isinstance(row[TEXT_FIELD], str):
        raise UserError(f"{where}: its field {TEXT_FIELD!r} is {shown(row[TEXT_FIELD])}, not text")
    if TEXT_FIELD not in row:
        fields = ", ".join(map(shown, list(row)[:10])) or "none"
        raise UserError(f"{where} has no text field {TEXT_FIELD!r}; its fields: {fields}")
    return row[TEXT_FIELD].encode("utf-8", "replace").decode()  # JSON can hold half a character


# From lines to documents and sentences. A sample of the lines tells which of three layouts it is:
#
# - `sentence`: each line is a sentence; an empty line ends the document;
# - `paragraph`: each line is a paragraph of prose; an empty line ends the document;
# - `wrapped`: prose broken into lines of about equal length, as in Project Gutenberg's books; an
#   empty line ends the paragraph, two or more end the document.
#
# In WikiText a heading ` = Title = ` begins the document; headings and empty lines are dropped.

SAMPLE = 500  # lines that are looked at to tell the layout
# Bounds that keep memory small; what is longer is cut.
LONGEST_TEXT = 1 << 20  # characters of a sample, of a document
LONGEST_PARAGRAPH = 10_000  # lines
LONGEST_DOCUMENT = 1_000  # sentences

HEADING = re.compile(r"\s*(=(?: =)*) (?!=).*[^= ].* =(?: =)*\s*")  # ` = = Early life = = `
SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*$")


@dataclass(frozen=True)
class Layout:
    """What a line is, and whether WikiText's headings part the documents."""

    line: Literal["sentence", "paragraph", "wrapped"]
    headings: bool = False


def split_prose(text: str) -> list[str]:
    """The sentences of one paragraph.

    >>> split_prose("Dr. Smith paid 3.50 in the U.S. He left.")
    ['Dr. Smith paid 3.50 in the U.S.', 'He left.']

    A full stop with no space after it ends nothing here (`nn.Module`), unlike in `sentencex`.
    """
    joined: list[str] = []
    for part in sentencex.segment("en", text):
        if joined and joined[-1][-1] == ".":
            joined[-1] += part
        else:
            joined.append(part)
    return [sentence for part in joined if (sentence := part.strip())]


def heading_level(line: str) -> int:
    """1 for WikiText's ` = Title = `, 2 for ` = = Section = = `, 0 for any other line."""
    match = HEADING.fullmatch(line) if "=" in line else None
    return match.group(1).count("=") if match else 0


def judge_layout(sample: list[str], split_sentences: bool | None = None) -> Layout:
    """Tell the layout from some lines; `split_sentences` says it when the user knows.

    A file is prose if over one line in ten has several sentences: splitters differ on a few. A
    title ` = Title = ` and another heading make it WikiText; a title alone is a line like others.
    """
    levels = [heading_level(line) for line in sample]
    headings = 1 in levels and len(sample) - levels.count(0) > 1
    lines = [line.strip() for line in sample if line.strip() and not heading_level(line)]
    if split_sentences is False or not lines:
        return Layout("sentence", headings)
    if _is_wrapped(lines):
        return Layout("wrapped", headings)
    several = sum(len(split_prose(line)) > 1 for line in lines)
    prose = split_sentences or several > 0.1 * len(lines)
    return Layout("paragraph" if prose else "sentence", headings)


def _is_wrapped(lines: list[str]) -> bool:
    """Whether all lines are short, and many are full and go on: the next letter is small."""
    lengths = sorted(map(len, lines))
    if len(lines) < 8 or lengths[-1] > 120:
        return False
    full = 0.9 * lengths[int(0.9 * len(lines))]  # about the width, whatever a few lines do
    go_on = sum(not SENTENCE_END.search(line) and following[0].islower()
                and len(line) + len(following.split()[0]) >= full
                for line, following in pairwise(lines))  # fmt: skip
    return go_on > 0.4 * len(lines)


def peek(texts: Iterable[str], count: int) -> tuple[list[str], Iterator[str]]:
    """The first `count` texts (fewer if they are long), and all texts from the first on."""
    texts, first, size = iter(texts), [], 0
    for text in islice(texts, count):
        first.append(text)
        size += len(text)
        if size >= LONGEST_TEXT:
            break
    return first, chain(first, texts)


def documents_from_lines(lines: Iterable[str], layout: Layout, *,
                         empty_line_ends: bool = True) -> Iterator[Document]:  # fmt: skip
    """Lines as documents of sentences; without `empty_line_ends` all lines are one document."""
    document: Document = []
    paragraph: list[str] = []  # its lines so far, in the wrapped layout
    size = empty_lines = 0  # characters of the document so far; empty lines just before
    enough = 2 if layout.line == "wrapped" else 1  # empty lines to end a document

    for line in chain(map(str.strip, lines), [None]):
        level = heading_level(line) if line and layout.headings else 0
        if paragraph and (not line or level or len(paragraph) >= LONGEST_PARAGRAPH):
            document += split_prose(" ".join(paragraph))
            paragraph = []
        empty_lines = 0 if line else empty_lines + 1
        ends = level == 1 if layout.headings else empty_line_ends and empty_lines == enough
        if document and (ends or line is None or size > LONGEST_TEXT):
            for first in range(0, len(document), LONGEST_DOCUMENT):
                yield document[first : first + LONGEST_DOCUMENT]
            document, size = [], 0
        if line and not level:
            size += len(line)
            if layout.line == "sentence":
                document.append(line)
            elif layout.line == "paragraph":
                document += split_prose(line)
            else:
                paragraph.append(line)


def documents_from_rows(rows: Iterable[str],
                        split_sentences: bool | None = None) -> Iterator[Document]:  # fmt: skip
    """Documents of a table's text column (JSON lines, a Hub dataset).

    A row is a document. But where a quarter of the rows are empty (WikiText: a row is a line; a
    third are), or nearly all hold one sentence (BookCorpus), rows are the lines of running text.
    """
    sample, rows = peek(rows, SAMPLE)
    sample_lines = [line for row in sample for line in row.split("\n")]
    layout = judge_layout(sample_lines[: 4 * SAMPLE], split_sentences)

    full = [row.strip() for row in sample if row.strip()]
    one_sentence = sum("\n" not in row and len(split_prose(row)) == 1 for row in full)
    if len(full) <= 0.75 * len(sample) or (full and one_sentence > 0.95 * len(full)):
        lines = (line for row in rows for line in row.rstrip("\n").split("\n"))
        yield from documents_from_lines(lines, layout)
        return
    for row in rows:
        yield from documents_from_lines(row.split("\n"), layout, empty_line_ends=False)


# The token store: a corpus as three flat files that are mapped into memory, not read.
#
#     tokens.bin            the ids of all tokens, one after the other (uint16 or uint32)
#     sentence_starts.bin   where each sentence begins in `tokens`, and the end of the last (int64)
#     document_starts.bin   which sentence each document begins with, and the end (int64)
#     report.json           counts; the share of unknown tokens; fingerprints; checksums
#
# The tokens of sentence `s` are `tokens[sentence_starts[s] : sentence_starts[s + 1]]`.

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

    @classmethod
    def open(cls, folder: str | Path, tokenizer: Tokenizer | None = None) -> "TokenStore":
        """Open a store; with a tokenizer, only one that this tokenizer built. A damaged one is a
        `UserError`; of a large one only the sizes are checked."""
        folder = Path(folder)
        report = read_record(folder / "report.json", REPORTED, way_out=BUILD_AGAIN)
        if report["format"] != FORMAT:
            raise UserError(f"{folder}/report.json is not of format {FORMAT}: {BUILD_AGAIN}")
        if tokenizer is not None and tokenizer_sha256(tokenizer) != report["tokenizer_sha256"]:
            raise UserError(f"token store {folder}: built with another tokenizer: {BUILD_AGAIN}")
        lengths = (report["tokens"], report["sentences"] + 1, report["documents"] + 1)
        types = array_types(report["vocab_size"])
        arrays = {}
        for (name, dtype), length in zip(types.items(), lengths, strict=True):
            path, wanted = folder / f"{name}.bin", length * dtype.itemsize
            size, problem = path.stat().st_size if path.is_file() else 0, None
            if length < 1 or size != wanted:
                problem = f"has {size:,} bytes, not {wanted:,}"
            elif size <= CHECKED_ON_OPENING and checksum_of(path) != report["checksums"].get(name):
                problem = "has changed since it was built"
            if problem:
                raise UserError(f"token store {folder}: {name}.bin {problem}: {BUILD_AGAIN}")
            arrays[name] = np.memmap(path, dtype, "r")
        return cls(folder=folder, report=report, **arrays)


def array_types(vocab_size: int) -> dict[str, np.dtype]:
    """The types of the three arrays: ids take two bytes each as long as they fit."""
    ids = np.uint16 if vocab_size <= 65_535 else np.uint32
    return dict(zip(ARRAYS, map(np.dtype, (ids, np.int64, np.int64)), strict=True))


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
        raise UserError(f"{folder}: its token stores are not finished; the same call of "
                        "`python -m bert_corpus.build_stores` goes on")  # fmt: skip
    return all((folder / part / "report.json").is_file() for part in PARTS)


# Building a store: text streams through the tokenizer to the disk, a few megabytes at a time. The
# store grows in `NAME.unfinished`; there `progress.json` says what it is made from, and how much is
# safely on the disk. After a kill the same call cuts off the rest and goes on.

BATCH = 1 << 20  # characters encoded at once
SAFE_EVERY = 5  # seconds from one `make_safe` to the next: what a kill may cost
PROGRESS = {"identity": dict, "documents": int, "unknown": int, "files": dict}
STORE_FILES = {*(f"{name}.bin" for name in ARRAYS), "report.json", "progress.json"}


def build_store(documents: Iterable[Document], tokenizer: Tokenizer, folder: str | Path, *,
                progress: bool = True) -> TokenStore:  # fmt: skip
    """Encode documents (lists of sentences) into a store at `folder`, replacing one there.

    The folder appears in one piece when all is written. Of a `Corpus` with a fingerprint, the same
    call goes on after an interruption, to the same bytes, and only opens a store that is complete.
    What has no tokens is left out; "[SEP]" and the like in the text are ordinary text.
    """
    folder, corpus = Path(folder), documents
    if not isinstance(documents, Corpus):
        corpus = Corpus(partial(iter, documents), name="", fingerprint="")
    identity = {"format": FORMAT, "fingerprint": corpus.fingerprint,
                "tokenizer_sha256": tokenizer_sha256(tokenizer)}  # fmt: skip
    refuse_other_things(folder)
    with held_alone(folder):
        is_built = False
        with suppress(UserError):  # there is no store yet, or a damaged one
            is_built = identity.items() <= TokenStore.open(folder).report.items()
        if not (is_built and corpus.fingerprint):
            with closing(StoreWriter(folder, tokenizer, identity)) as writer:
                fill(writer, corpus, tokenizer, progress=progress)
                for reader, before in zip(corpus.readers, corpus.hashes, strict=False):
                    if sha256(reader.path) != before:
                        raise UserError(f"{reader.path} has changed while it was read: does a log "
                                        "or another output lie in the corpus?")  # fmt: skip
                writer.finish(corpus.name)
        (folder / "progress.json").unlink(missing_ok=True)  # nothing is left to go on with
    return TokenStore.open(folder)


def refuse_other_things(folder: Path) -> None:
    """Raise `UserError` if anything stands in the place of a store that no store consists of."""
    for where in (folder, unfinished(folder)):
        names = {path.name for path in where.iterdir()} if where.is_dir() else set()
        if where.is_file() or not all(map(LEFTOVER.fullmatch, names - STORE_FILES)):
            raise UserError(f"{where}: holds other things than a token store; choose another "
                            "folder")  # fmt: skip


def fill(writer: "StoreWriter", corpus: Corpus, tokenizer: Tokenizer, *, progress: bool) -> None:
    """Write all documents that are not stored yet, and make them safe now and then."""
    in_bytes = len(corpus.readers) > 0
    total = sum(reader.size_bytes for reader in corpus.readers) or corpus.n_documents
    documents = islice(corpus, writer.progress["documents"], None)
    last_safe = time.monotonic()
    with progress_bar(total, "building the token store", unit="B" if in_bytes else " documents",
                      unit_scale=in_bytes, disable=not progress) as bar:  # fmt: skip
        for batch, ids in encoded(batches(documents), tokenizer):
            writer.add(ids, [len(document) for document in batch])
            bytes_read = sum(reader.bytes_read for reader in corpus.readers)
            bar.update((bytes_read if in_bytes else writer.progress["documents"]) - bar.n)
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


def encoded(batches: Iterable[list[Document]],
            tokenizer: Tokenizer) -> Iterator[tuple[list[Document], list[list[int]]]]:  # fmt: skip
    """Batches and their sentences' ids. While the library encodes one, Python reads the next."""
    own = Tokenizer.from_str(tokenizer.to_str())
    own.encode_special_tokens = True  # as text
    encode = partial(own.encode_batch_fast, add_special_tokens=False)
    with ThreadPoolExecutor(max_workers=1) as encoder:
        waiting = ((batch, encoder.submit(encode, list(chain(*batch)))) for batch in batches)
        for (batch, encoding), _ in pairwise(chain(waiting, [None])):
            yield batch, [sentence.ids for sentence in encoding.result()]


class StoreWriter:
    """Appends documents to the files of a store: those of an interrupted build, or empty ones."""

    def __init__(self, folder: Path, tokenizer: Tokenizer, identity: dict) -> None:
        self.folder, self.place = folder, unfinished(folder)
        self.vocab_size = tokenizer.get_vocab_size()
        self.unknown_id = tokenizer.token_to_id("[UNK]")
        self.types = array_types(self.vocab_size)
        self.place.mkdir(exist_ok=True)
        clear_leftovers(self.place)
        self.progress = read_progress(self.place, identity)
        self.files = {}
        for name, (size, _) in self.progress["files"].items():
            self.files[name] = open(self.place / f"{name}.bin", "ab")  # noqa: SIM115
            self.files[name].truncate(size)
        if not self.progress["documents"]:
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
        with named_where_full(self.place):
            self.files[name].write(data)
        size, checksum = self.progress["files"][name]
        self.progress["files"][name] = [size + len(data), zlib.crc32(data, checksum)]

    def length(self, name: str) -> int:
        return self.progress["files"][name][0] // self.types[name].itemsize

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
        self.progress["unknown"] += int(np.count_nonzero(tokens == self.unknown_id))
        self.progress["documents"] += len(sizes)

    def flush(self) -> None:
        with named_where_full(self.place):
            for file in self.files.values():
                file.flush()
                os.fsync(file.fileno())

    def make_safe(self) -> None:
        """Put everything on the disk, and note how much there is."""
        self.flush()
        write_atomically(self.place / "progress.json", json.dumps(self.progress, indent=2))

    def finish(self, corpus: str) -> None:
        """Write the report, which names the corpus, and let the store take its name."""
        lengths = {name: self.length(name) for name in ARRAYS}
        if lengths["tokens"] == 0:
            raise UserError("no text to store: the corpus is empty")
        report = {
            "format": FORMAT, "name": corpus, **self.progress["identity"],
            "documents": lengths["document_starts"] - 1,
            "sentences": lengths["sentence_starts"] - 1,
            "tokens": lengths["tokens"],
            "unknown_share": self.progress["unknown"] / lengths["tokens"],
            "vocab_size": self.vocab_size,
            "dtypes": {name: str(dtype) for name, dtype in self.types.items()}, "lengths": lengths,
            "checksums": {name: checksum for name, (_, checksum) in self.progress["files"].items()},
        }  # fmt: skip
        self.flush()
        for file in self.files.values():
            file.close()
        write_atomically(self.place / "report.json", json.dumps(report, indent=2))
        put_in_place(self.place, self.folder)


def read_progress(place: Path, identity: dict) -> dict:
    """How much of this very store an interrupted build has made safe; nothing if there is none."""
    path = place / "progress.json"
    if path.exists():
        with suppress(UserError, KeyError, TypeError, ValueError, OSError):  # damaged
            progress = read_record(path, PROGRESS, way_out="")
            files = [(place / f"{name}.bin", *progress["files"][name]) for name in ARRAYS]
            if (
                identity.items() <= progress["identity"].items()
                and progress["documents"] > 0
                and all(is_of(int, size) and size > 0 for _, size, _ in files)
                and all(checksum_of(file, size) == checksum for file, size, checksum in files)
            ):
                print(f"token store {place}: building was interrupted, going on", file=sys.stderr)
                return progress
        print(f"token store {place}: what an interrupted build of another text or with another "
              "tokenizer has left is of no use: starting anew", file=sys.stderr)  # fmt: skip
        path.unlink()
    files = dict.fromkeys(ARRAYS, (0, 0))
    return {"identity": identity, "documents": 0, "unknown": 0, "files": files}
