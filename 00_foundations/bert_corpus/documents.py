"""Any corpus as a stream of documents, a document being a list of sentences.

corpus = open_corpus("storyworld")
for document in corpus: ...            # training documents, again and again
for document in corpus.held_out: ...   # never among the training documents
"""

import difflib
import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path

from bert_corpus.hub import HubName, ask_for_revision, hub_is_offline, open_rows
from bert_corpus.text_files import (
    SAMPLE,
    Document,
    LineReader,
    documents_from_lines,
    documents_from_rows,
    find_text_files,
    is_own_folder,
    json_texts,
    judge_layout,
    kind_of,
    peek,
)
from bert_run.errors import UserError
from bert_run.files import refuse_pipe, sha256
from bert_run.training_loop import progress_bar

EMBEDDED = ("storyworld", "pydocs")
STORIES = 20_000  # training documents of StoryWorld, unless a limit says otherwise
HELD_OUT_STORIES = 1_000
HELD_OUT_SHARE = 0.01  # of a text corpus
HELD_OUT_MOST = 500  # documents
PROBE = 100  # of the first so many documents at least a twentieth is held out, and two

Walk = Callable[[], Iterator[Document]]  # begins a new walk through some documents


@dataclass(frozen=True)
class SourceFile:
    """One file of a corpus as it was read."""

    path: str  # below the folder of the corpus; "." for a corpus that is one file
    bytes: int
    modified: int  # nanoseconds since 1970
    sha256: str


@dataclass
class Corpus:
    """Documents that can be walked through again and again, always in the same order.

    They stream: whatever the size of the corpus, memory holds a few of them.
    """

    walk: Walk
    name: str
    description: str
    fingerprint: str  # changes when the documents may have; "" says that nothing is known of them
    readers: Sequence[LineReader] = ()  # of its files, for progress bars
    files: Sequence[SourceFile] = ()  # those that a user may change
    n_documents: int | None = None  # None where it is not known in advance
    held_out: "Corpus | None" = None  # kept for measuring, beside the training documents

    def __iter__(self) -> Iterator[Document]:
        for reader in self.readers:
            reader.bytes_read = 0
        return self.walk()

    @property
    def size_bytes(self) -> int | None:
        return sum(reader.size_bytes for reader in self.readers) or None

    @property
    def bytes_read(self) -> int:
        """How far the walk under way has come."""
        return sum(reader.bytes_read for reader in self.readers)

    @property
    def sentences(self) -> "Sentences":
        return Sentences(self)


@dataclass(frozen=True)
class Sentences:
    """The sentences of all documents, one after the other, again and again."""

    corpus: Corpus

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self.corpus)


def fingerprint_of(*identity: object) -> str:
    """Sixteen hexadecimal digits that change with anything in `identity`."""
    return hashlib.sha256(json.dumps(identity, default=str).encode()).hexdigest()[:16]


def open_corpus(
    name: str,
    *,
    split_sentences: bool | None = None,
    limit: int | None = None,
    held_out: str | None = None,
    text_field: str = "text",
    stream: bool = True,
    seed: int = 0,
    progress: bool = True,
) -> Corpus:
    """Open `storyworld`, `pydocs`, a text file or folder, JSON lines, or a Hub dataset.

    split_sentences: a text's lines are prose to be split (True) or sentences (False); without
        it a sample of the lines decides.
    limit: take at most so many documents.
    held_out: another corpus to measure on. Without it StoryWorld tells stories kept apart, and
        of any other corpus about one document in a hundred (at least 2, at most 500) is held
        out, chosen by a hash of its text; so the same text is never on both sides.
    text_field: the field with the text, in JSON lines and Hub datasets.
    stream: read a Hub dataset as it arrives; False downloads it first.
    seed: of StoryWorld.

    A Hub dataset is written `ID[:CONFIG][@SPLIT]`, as in
    `Salesforce/wikitext:wikitext-2-raw-v1@train`; the split is `train` unless named.
    """
    if limit is not None and limit < 1:
        raise UserError(f"limit of {limit} documents: must be 1 or more")
    options = {"split_sentences": split_sentences, "text_field": text_field, "stream": stream,
               "seed": seed, "progress": progress}  # fmt: skip
    if name == "storyworld":
        count = limit or STORIES
        kept = min(HELD_OUT_STORIES, max(1, count // 20))
        corpus = _storyworld(count, "train", seed)
        corpus.held_out = _storyworld(kept, "heldout", seed)
    elif held_out is not None:
        whole = _open_whole(name, limit=limit, **options)
        corpus = replace(whole, fingerprint=fingerprint_of(whole.fingerprint, ""))
    else:
        corpus = _split(_open_whole(name, limit=limit, **options))
    if held_out is not None:
        corpus.held_out = _open_whole(held_out, limit=None, **options)
    return corpus


def _storyworld(count: int, split: str, seed: int) -> Corpus:
    from bert_corpus import storyworld

    folder = Path(storyworld.__file__).parent
    source = [folder / name for name in storyworld.TOLD_BY]
    source += sorted(storyworld.STORIES.glob("*.txt"))
    code = fingerprint_of(*(path.read_text(encoding="utf-8") for path in source))

    def walk() -> Iterator[Document]:
        for story in storyworld.stories(count, seed=seed, split=split):
            yield [sentence.text for sentence in story.sentences]

    return Corpus(
        walk,
        name="storyworld",
        description=f"{count:,} {split} stories, seed {seed}",
        fingerprint=fingerprint_of("storyworld", split, count, seed, code),
        n_documents=count,
    )


def _open_whole(
    name: str,
    *,
    limit: int | None,
    split_sentences: bool | None,
    text_field: str,
    stream: bool,
    seed: int,
    progress: bool,
) -> Corpus:
    """The corpus, nothing held out yet; a corpus without any text is an error."""
    path = corpus_path(name)
    readers: list[LineReader] = []
    files: list[SourceFile] = []
    if name == "storyworld":
        return _storyworld(limit or HELD_OUT_STORIES, "heldout", seed)
    if name == "pydocs":
        from bert_corpus.pydocs import pydocs_file

        path = pydocs_file(progress=progress)
        split_sentences = False
    if path.exists():
        readers = _readers(path, progress=progress)
        size = sum(reader.size_bytes for reader in readers) / 1e6
        description = f"{len(readers)} file{'s' * (len(readers) > 1)}, {size:,.1f} MB"
        if name != "pydocs":
            description += f", {_layout_of(readers[0], split_sentences)}"
        described = describe_files(path, (r.path for r in readers), progress=progress)
        files = [] if name == "pydocs" else described
        kinds = [kind_of(reader.path) for reader in readers]
        identity = [kinds, [file.sha256 for file in described]]

        def walk() -> Iterator[Document]:
            return chain.from_iterable(
                _documents_of(reader, split_sentences, text_field) for reader in readers
            )
    else:
        _refuse_missing_path(name, path)
        hub_name = HubName.parse(name)
        stream = stream and not hub_is_offline()
        identity = [str(hub_name), ask_for_revision(hub_name, stream=stream)]
        rows = open_rows(hub_name, text_field, stream=stream)

        def walk() -> Iterator[Document]:
            return documents_from_rows(rows(), split_sentences)

        description = f"Hub dataset {hub_name}{', streamed' if stream else ''}"

    sizes = [len(document) for document in islice(walk(), 2)]
    if not sizes:
        raise UserError(f"corpus {name}: no text in it ({description})")
    if len(sizes) == 1 and sizes[0] > 1:
        walk = partial(_in_pieces, walk, -(-sizes[0] // 20))
        description += ", one document without empty lines, cut into pieces"
    if limit is not None:
        walk = partial(_first, walk, limit)
        description += f", the first {limit:,} documents"
    return Corpus(
        walk,
        name=name,
        description=description,
        fingerprint=fingerprint_of(identity, split_sentences, text_field, limit),
        readers=readers if limit is None else [],
        files=files,
    )


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


def _first(walk: Walk, count: int) -> Iterator[Document]:
    return islice(walk(), count)


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


def _readers(path: Path, *, progress: bool) -> list[LineReader]:
    if path.is_dir() and is_own_folder(path):
        raise UserError(
            f"corpus {path}: is the folder of a run, of a model or of token stores: name the text"
        )
    found = find_text_files(path)
    if not found.files:
        said = f": {'; '.join(found.passed_over)}" if found.passed_over else ""
        raise UserError(
            f"corpus {path}: no text files in this folder (.txt, .jsonl, packed, …){said}"
        )
    if found.passed_over and progress:
        print(f"corpus {path}: {found}", file=sys.stderr)
    return [LineReader(file) for file in found.files]


def _documents_of(
    reader: LineReader, split_sentences: bool | None, text_field: str
) -> Iterator[Document]:
    if kind_of(reader.path) == "json":
        return documents_from_rows(json_texts(reader, text_field), split_sentences)
    sample, lines = peek((line for _, line in reader), SAMPLE)
    return documents_from_lines(lines, judge_layout(sample, split_sentences))


def _layout_of(reader: LineReader, split_sentences: bool | None) -> str:
    if kind_of(reader.path) == "json":
        return "JSON lines"
    return str(judge_layout([line for _, line in islice(reader, SAMPLE)], split_sentences))


def _refuse_missing_path(name: str, path: Path) -> None:
    """Say that a file is missing, rather than ask the Hub for `data/foo.txt`."""
    if near := difflib.get_close_matches(name, EMBEDDED, n=1, cutoff=0.75):
        raise UserError(f"corpus {name!r}: no such file or folder; did you mean {near[0]!r}?")
    like_a_path = (
        path.is_absolute()
        or name.startswith((".", "~"))
        or name.count("/") > 1
        or "\\" in name
        or name.endswith("/")
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

    def side(held_out: bool, which: str) -> Corpus:
        return replace(
            whole,
            walk=partial(walk, held_out),
            description=whole.description + which,
            fingerprint=fingerprint_of(whole.fingerprint, which),
        )

    train = side(False, ", without those held out")
    train.held_out = side(True, ", those held out")
    return train


def _hash64(document: Document) -> int:
    digest = hashlib.blake2b("\n".join(document).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")
