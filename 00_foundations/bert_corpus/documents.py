"""Any corpus as a stream of documents, a document being a list of sentences.

corpus = open_corpus("storyworld")
for document in corpus: ...            # training documents, again and again
for document in corpus.held_out: ...   # never among the training documents

First the corpora by name, then how the lines of text files become documents and sentences. Prose is
split by `sentencex`.
"""

import bz2
import difflib
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Literal

import sentencex

from bert_run.errors import UserError, parse_strictly, shown
from bert_run.files import decode_line, refuse_old_mac_line_ends, refuse_pipe, sha256

Document = list[str]  # its sentences

EMBEDDED = ("storyworld", "pydocs")
TEXT_FIELD = "text"  # of JSON lines and of the rows of the Hub
STORIES = 20_000  # training documents of StoryWorld, unless a limit says otherwise
HELD_OUT_STORIES = 1_000
HELD_OUT_SHARE = 0.01  # of a text corpus
HELD_OUT_MOST = 500  # documents
PROBE = 100  # of the first so many documents at least a twentieth is held out, and two

Walk = Callable[[], Iterator[Document]]  # begins a new walk through some documents


@dataclass
class Corpus:
    """Documents that can be walked through again and again, always in the same order.

    They stream: whatever the size of the corpus, memory holds a few of them.
    """

    walk: Walk
    name: str
    fingerprint: str  # changes when the documents may have; "" says that nothing is known of them
    readers: "Sequence[LineReader]" = ()  # of its files, for progress bars
    hashes: Sequence[str] = ()  # the SHA-256 of each of its files
    n_documents: int | None = None  # None where it is not known in advance
    held_out: "Corpus | None" = None  # kept for measuring, beside the training documents

    def __iter__(self) -> Iterator[Document]:
        return self.walk()

    @property
    def size_bytes(self) -> int | None:
        return sum(reader.size_bytes for reader in self.readers) or None

    @property
    def bytes_read(self) -> int:
        """How far the walk that began last has come."""
        return sum(reader.bytes_read for reader in self.readers)


def fingerprint_of(*identity: object) -> str:
    """Sixteen hexadecimal digits that change with anything in `identity`."""
    return hashlib.sha256(json.dumps(identity, default=str).encode()).hexdigest()[:16]


def open_corpus(
    name: str,
    *,
    split_sentences: bool | None = None,
    limit: int | None = None,
    held_out: str | None = None,
    progress: bool = True,
) -> Corpus:
    """Open `storyworld`, `pydocs`, a text file or folder, JSON lines, or a Hub dataset.

    split_sentences: a text's lines are prose to be split (True) or sentences (False); without
        it a sample of the lines decides.
    limit: take at most so many documents.
    held_out: another corpus to measure on. Without it StoryWorld tells stories kept apart, and
        of any other corpus about one document in a hundred (at least 2, at most 500) is held
        out, chosen by a hash of its text; so the same text is never on both sides.

    A Hub dataset is written `ID[:CONFIG][@SPLIT]`, as in
    `Salesforce/wikitext:wikitext-2-raw-v1@train`; the split is `train` unless named. Rows of the
    Hub and JSON lines have their text in the field `text`.
    """
    options = {"split_sentences": split_sentences, "progress": progress}
    if name == "storyworld":
        count = limit or STORIES
        corpus = _storyworld(count, "train")
        corpus.held_out = _storyworld(min(HELD_OUT_STORIES, max(1, count // 20)), "heldout")
    else:
        corpus = _open_whole(name, limit=limit, **options)
        corpus = _split(corpus) if held_out is None else _marked(corpus, "")
    if held_out is not None:
        corpus.held_out = _open_whole(held_out, limit=None, **options)
    return corpus


def _marked(corpus: Corpus, part: str) -> Corpus:
    """The same files with another fingerprint, of what is taken of them."""
    return replace(corpus, fingerprint=fingerprint_of(corpus.fingerprint, part))


def _storyworld(count: int, split: str) -> Corpus:
    from bert_corpus import storyworld

    folder = Path(storyworld.__file__).parent
    source = [folder / name for name in storyworld.TOLD_BY]
    source += sorted(storyworld.STORIES.glob("*.txt"))
    code = fingerprint_of(*(path.read_text(encoding="utf-8") for path in source))

    def walk() -> Iterator[Document]:
        for story in storyworld.stories(count, split=split):
            yield [sentence.text for sentence in story.sentences]

    return Corpus(
        walk,
        name="storyworld",
        fingerprint=fingerprint_of("storyworld", split, count, 0, code),  # of seed 0
        n_documents=count,
    )


def _open_whole(
    name: str, *, limit: int | None, split_sentences: bool | None, progress: bool
) -> Corpus:
    """The corpus, nothing held out yet; a corpus without any text is an error."""
    path = corpus_path(name)
    readers: list[LineReader] = []
    hashes: list[str] = []
    if name == "storyworld":
        return _storyworld(limit or HELD_OUT_STORIES, "heldout")
    if name == "pydocs":
        from bert_corpus.pydocs import pydocs_file

        path, split_sentences = pydocs_file(progress=progress), False
    if path.exists():
        readers = _readers(path, progress=progress)
        hashes = [sha256(reader.path) for reader in readers]
        identity = [[kind_of(reader.path) for reader in readers], hashes]

        def walk() -> Iterator[Document]:
            for reader in readers:
                reader.bytes_read = 0
            for reader in readers:
                yield from _documents_of(reader, split_sentences)
    else:
        _refuse_missing_path(name, path)
        # Only corpora of the Hub wait for its libraries.
        from bert_corpus.hub import HubName, ask_for_revision, constants, open_dataset, texts_of

        hub_name, stream = HubName.parse(name), not constants.HF_HUB_OFFLINE
        identity = [str(hub_name), ask_for_revision(hub_name, stream=stream)]
        dataset = open_dataset(hub_name, stream=stream)

        def walk() -> Iterator[Document]:
            return documents_from_rows(texts_of(hub_name, dataset, TEXT_FIELD), split_sentences)

    sizes = [len(document) for document in islice(walk(), 2)]
    if not sizes:
        raise UserError(f"corpus {name}: there is no text in it")
    whole = walk
    if len(sizes) == 1 and sizes[0] > 1:  # in twenty pieces, so that some can be held out
        whole = partial(_in_pieces, walk, -(-sizes[0] // 20))
    return Corpus(
        (lambda: islice(whole(), limit)) if limit else whole,
        name=name,
        fingerprint=fingerprint_of(identity, split_sentences, TEXT_FIELD, limit),
        readers=[] if limit else readers,
        hashes=hashes,
    )


def _in_pieces(walk: Walk, size: int) -> Iterator[Document]:
    """Cut documents into pieces of `size` sentences."""
    for document in walk():
        for start in range(0, len(document), size):
            yield document[start : start + size]


def corpus_path(name: str) -> Path:
    """The path that a corpus's name may be. A name that is empty is an unset variable."""
    if not name.strip():
        raise UserError('the name of the corpus is empty (""): name a file, a folder or a dataset')
    path = Path(name).expanduser()
    refuse_pipe(path, f"corpus {name}")
    return path


def _readers(path: Path, *, progress: bool) -> "list[LineReader]":
    if path.is_dir() and is_own_folder(path):
        raise UserError(
            f"corpus {path}: is the folder of a run, of a model or of token stores: name the text"
        )
    files, others = find_text_files(path)
    said = f"{len(others):,} passed over ({', '.join(sorted(set(others))[:20])})" * bool(others)
    if not files:
        known = "no text files in this folder (.txt, .jsonl, packed, …)"
        raise UserError(f"corpus {path}: {known}{said and f'; {said}'}")
    if said and progress:
        print(f"corpus {path}: {len(files):,} text files read; {said}", file=sys.stderr)
    return [LineReader(file) for file in files]


def _documents_of(reader: "LineReader", split_sentences: bool | None) -> Iterator[Document]:
    if kind_of(reader.path) == "json":
        return documents_from_rows(json_texts(reader), split_sentences)
    sample, lines = peek((line for _, line in reader), SAMPLE)
    return documents_from_lines(lines, judge_layout(sample, split_sentences))


def _refuse_missing_path(name: str, path: Path) -> None:
    """Say that a file is missing, rather than ask the Hub for `data/foo.txt`."""
    if near := difflib.get_close_matches(name, EMBEDDED, n=1, cutoff=0.75):
        raise UserError(f"corpus {name!r}: no such file or folder; did you mean {near[0]!r}?")
    like_a_path = (
        name.startswith((".", "~", "/"))
        or name.endswith("/")
        or name.count("/") > 1
        or "\\" in name
        or kind_of(path) is not None
        or ("/" in name and path.parent.is_dir())
    )
    if like_a_path:
        raise UserError(f"corpus {name}: no such file or folder; check the path")


def _split(whole: Corpus) -> Corpus:
    """Training and held-out documents, told apart by a hash of their text."""
    hashes = sorted({_hash64(document) for document in islice(whole, PROBE)})
    if len(hashes) == 1:
        raise UserError(
            f"corpus {whole.name}: a single document, so nothing is left to measure on; "
            "part documents by empty lines, or name a held-out corpus"
        )
    bound = HELD_OUT_SHARE * 2**64
    # Chance may leave none of a small corpus below the bound, and a random next sentence needs two.
    always = set(hashes[: max(1, min(len(hashes) // 2, max(2, len(hashes) // 20)))])

    def walk(held_out: bool) -> Iterator[Document]:
        kept = 0
        for document in whole.walk():
            value = _hash64(document)
            is_kept = kept < HELD_OUT_MOST and (value < bound or value in always)
            kept += is_kept
            if is_kept == held_out:
                yield document
            if held_out and kept == HELD_OUT_MOST:
                break

    train = replace(_marked(whole, ", without those held out"), walk=partial(walk, False))
    train.held_out = replace(_marked(whole, ", those held out"), walk=partial(walk, True))
    return train


def _hash64(document: Document) -> int:
    digest = hashlib.blake2b("\n".join(document).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


# Lines of text files, plain or packed. A `LineReader` hands them out with bounded memory, and its
# errors name the place.


PACKED = (".gz", ".xz", ".zst", ".bz2")
JSON_LINES = (".jsonl", ".json", ".ndjson")
TEXT = (".txt", ".text", ".md", ".rst", ".raw", ".tokens", ".train", ".valid", ".test")

LONGEST_PIECE = 1 << 18  # bytes; a longer line is handed out in pieces, cut at a space
LONGEST_JSON = 1 << 26  # bytes; a JSON line cannot be handed out in pieces


def kind_of(path: Path) -> str | None:
    """`text` or `json` by the file's name, packed or not; None if the name says neither."""
    ending = path.suffix.lower()  # DOS and cameras write README.TXT
    name = path.with_suffix("") if ending in PACKED else path
    if name.suffix.lower() in JSON_LINES:
        return "json"
    return "text" if name.suffix.lower() in TEXT or ending in PACKED else None


def find_text_files(path: Path) -> tuple[list[Path], list[str]]:
    """A file itself, or all text files below a folder, sorted by path; files without a suffix count
    as text. Second comes what else lies there: the endings of other files, and folders.

    What is hidden does not count. The folders of runs, models and token stores are passed over, and
    those that may not be opened.
    """
    if not path.is_dir():
        return [path], []
    files: list[Path] = []
    others: list[str] = []
    for folder, below, names in os.walk(path, onerror=lambda e: others.append(e.filename)):
        place = Path(folder)
        if place != path and is_own_folder(place):
            others.append(place.relative_to(path).as_posix())
            below.clear()
            continue
        below[:] = [name for name in below if not name.startswith(".")]
        for file in (place / name for name in names if not name.startswith(".")):
            if not file.is_file():
                others.append("broken links and pipes")
            elif kind_of(file) or not file.suffix:
                files.append(file)
            else:
                others.append(file.suffix.lower())
    return sorted(files), others


def is_own_folder(folder: Path) -> bool:
    """Whether a folder is a run's, a model's, or that of token stores."""
    return any(
        (folder / name).is_file()
        for name in ("run.json", "tokenizer_config.json", "tokenizer/tokenizer_config.json")
    )


def _unpack(path: Path, raw: io.BufferedIOBase) -> io.BufferedIOBase:
    match path.suffix.lower():
        case ".gz":
            return gzip.GzipFile(fileobj=raw)
        case ".xz":
            return lzma.LZMAFile(raw)
        case ".bz2":
            return bz2.BZ2File(raw)
        case ".zst":
            import pyarrow  # `datasets` brings it; unlike others, it notices a missing end

            return io.BufferedReader(pyarrow.CompressedInputStream(raw, "zstd"), 1 << 18)
    return raw


class LineReader:
    """The lines of one file as text, again and again; `bytes_read` follows the last iteration."""

    def __init__(self, path: Path):
        self.path = path
        self.size_bytes = os.path.getsize(path)
        self.bytes_read = 0

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Pairs of line number (from 1) and text; a very long line comes in several pieces."""
        longest = LONGEST_JSON if kind_of(self.path) == "json" else LONGEST_PIECE
        number, rest = 1, b""
        for piece in self.pieces(longest):
            if number == 1:
                refuse_old_mac_line_ends(piece, str(self.path))
            ends_line = piece.endswith(b"\n")
            line = rest + piece
            rest = b""
            if not ends_line and len(line) >= longest:
                line, rest = _cut_at_space(line)
            yield number, decode_line(line, number, str(self.path))
            number += ends_line
        if rest:
            yield number, decode_line(rest, number, str(self.path))

    def pieces(self, longest: int, *, by_line: bool = True) -> Iterator[bytes]:
        """The unpacked bytes: lines, cut where they are longer, or else pieces of that size."""
        try:
            with open(self.path, "rb", buffering=1 << 18) as packed:
                file = _unpack(self.path, packed)
                read = file.readline if by_line else file.read
                while piece := read(longest):
                    self.bytes_read = packed.raw.tell()
                    yield piece
        except (EOFError, zlib.error, OSError, lzma.LZMAError) as error:
            if getattr(error, "errno", None) is not None:  # of the disk, and not of the content
                raise
            raise UserError(f"{self.path}: damaged archive ({error}); fetch it again") from None


def _cut_at_space(line: bytes) -> tuple[bytes, bytes]:
    """Cut after the last space; if there is none, before a character's first byte."""
    cut = line.rfind(b" ") + 1
    if cut == 0:
        cut = len(line) - 1
        while cut > 0 and line[cut] & 0b1100_0000 == 0b1000_0000:
            cut -= 1
    return line[:cut], line[cut:]


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
            raise UserError(
                f"{where} is not JSON ({problem}); each line must hold one object"
            ) from None
        if not isinstance(row, dict):
            raise UserError(f'{where} is JSON but no object; write {{"{TEXT_FIELD}": …}}')
        if not isinstance(row.get(TEXT_FIELD), str):
            fields = ", ".join(map(shown, list(row)[:10])) or "none"
            raise UserError(f"{where} has no text field {TEXT_FIELD!r}; its fields: {fields}")
        yield row[TEXT_FIELD].encode("utf-8", "replace").decode()  # JSON can hold half a character


# From lines to documents and sentences. Line ends and empty lines say what belongs together, and
# every corpus says it differently. A sample of the lines tells which of three layouts is meant:
#
# - `sentence`: each line is a sentence; an empty line ends the document;
# - `paragraph`: each line is a paragraph of prose; an empty line ends the document;
# - `wrapped`: prose broken into lines of about equal length, as in Project Gutenberg's books; an
#   empty line ends the paragraph, two or more end the document.
#
# WikiText marks articles by headings, ` = Title = `, and has empty lines between paragraphs: there
# a title begins the document, headings are dropped and empty lines mean nothing.


SAMPLE = 500  # lines that are looked at to tell the layout
# Bounds that keep memory small; what is longer is cut.
LONGEST_SAMPLE = 1 << 20  # characters
LONGEST_TEXT = 1 << 20  # characters of a paragraph, of a document
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

    Prose has several sentences in most lines. A file of one sentence a line has them in few: the
    splitter that made it and ours disagree on some lines in a hundred, hence the bound of ten.
    """
    headings = any(heading_level(line) == 1 for line in sample)
    lines = [line.strip() for line in sample if line.strip() and not heading_level(line)]
    if split_sentences is False or not lines:
        return Layout("sentence", headings)
    if _is_wrapped(lines):
        return Layout("wrapped", headings)
    several = sum(len(split_prose(line)) > 1 for line in lines)
    prose = split_sentences or several > 0.1 * len(lines)
    return Layout("paragraph" if prose else "sentence", headings)


def _is_wrapped(lines: list[str]) -> bool:
    """Lines of at most 120 characters, of which most stop in mid-sentence.

    A line goes on if it does not end a sentence and the next begins with a small letter.
    """
    if len(lines) < 8 or max(map(len, lines)) > 120:
        return False
    go_on = sum(
        not SENTENCE_END.search(line) and following[0].islower()
        for line, following in pairwise(lines)
    )
    return go_on > 0.4 * len(lines)


def peek(texts: Iterable[str], count: int) -> tuple[list[str], Iterator[str]]:
    """The first `count` texts (fewer if they are long), and all texts from the first on."""
    texts = iter(texts)
    first: list[str] = []
    size = 0
    while len(first) < count and size < LONGEST_SAMPLE:
        text = next(texts, None)
        if text is None:
            break
        first.append(text)
        size += len(text)
    return first, chain(first, texts)


def documents_from_lines(
    lines: Iterable[str], layout: Layout, *, empty_line_ends: bool = True
) -> Iterator[Document]:
    """Group lines into documents and split them into sentences.

    `empty_line_ends=False`: all lines are one document (as the lines of a JSON field are).
    """
    document: Document = []
    wrapped: list[str] = []  # the lines of the paragraph so far, in the wrapped layout
    wrapped_size = empty_lines = 0
    size = 0  # characters of the document so far

    for line in lines:
        line = line.strip()
        level = heading_level(line) if layout.headings else 0
        if wrapped and (not line or level or wrapped_size > LONGEST_TEXT):
            document += split_prose(" ".join(wrapped))
            wrapped, wrapped_size = [], 0
        empty_lines = 0 if line else empty_lines + 1

        if layout.headings:
            ends = level == 1
        else:
            ends = empty_line_ends and empty_lines == (2 if layout.line == "wrapped" else 1)
        if (ends or size > LONGEST_TEXT) and document:
            yield document
            document, size = [], 0

        size += len(line)
        if line and not level:
            if layout.line == "sentence":
                document.append(line)
            elif layout.line == "paragraph":
                document += split_prose(line)
            else:
                wrapped.append(line)
                wrapped_size += len(line)
        while len(document) >= LONGEST_DOCUMENT:
            yield document[:LONGEST_DOCUMENT]
            document = document[LONGEST_DOCUMENT:]

    if wrapped:
        document += split_prose(" ".join(wrapped))
    if document:
        yield document


def documents_from_rows(
    rows: Iterable[str], split_sentences: bool | None = None
) -> Iterator[Document]:
    """Documents of a table's text column (JSON lines, a Hub dataset).

    A row is a document. But where some rows are empty (WikiText: a row is a line of the file),
    or nearly all hold one sentence (BookCorpus), rows are the lines of running text.
    """
    sample, rows = peek(rows, SAMPLE)
    sample_lines = [line for row in sample for line in row.split("\n")]
    layout = judge_layout(sample_lines[: 4 * SAMPLE], split_sentences)

    full = [row.strip() for row in sample if row.strip()]
    one_sentence = sum("\n" not in row and len(split_prose(row)) == 1 for row in full)
    if len(full) < len(sample) or (full and one_sentence > 0.95 * len(full)):
        lines = (line for row in rows for line in row.rstrip("\n").split("\n"))
        yield from documents_from_lines(lines, layout)
        return
    for row in rows:
        yield from documents_from_lines(row.split("\n"), layout, empty_line_ends=False)
