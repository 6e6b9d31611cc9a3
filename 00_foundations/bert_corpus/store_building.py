"""Building a token store: text streams through the tokenizer to the disk; a kill costs seconds.

Memory holds a few megabytes of text and ids, whatever the size of the corpus. Every few seconds
what is written is made safe (`store_writer.py`). After an interruption the same call passes over
the documents that are stored and goes on: files of the corpus that are stored to their end are not
opened, and of the one after them the first documents are read, but not encoded.
"""

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from tokenizers import Tokenizer

from bert_corpus.corpus import Documents
from bert_corpus.store import FORMAT, TokenStore
from bert_corpus.store_writer import (
    DECISIVE,
    Position,
    StoreWriter,
    clear,
    find_interrupted,
    workplace,
)
from bert_corpus.wordpiece import tokenizer_sha256
from bert_run.errors import UserError
from bert_run.progress import progress_bar

BATCH = 1 << 20  # characters encoded at once
SAFE_EVERY = 5  # seconds from one `make_safe` to the next: what a kill may cost


def build_store(
    documents: Iterable[list[str]],
    tokenizer: Tokenizer,
    folder: str | Path,
    *,
    progress: bool = True,
) -> TokenStore:
    """Encode documents (lists of sentences) into a store at `folder`, replacing one there.

    The folder appears in one piece when all is written. After an interruption the same call goes
    on where it stopped, and leaves the same bytes as if there had been none; a complete store of
    these very documents is only opened. Both need `Documents` with a fingerprint.

    Sentences without tokens and documents without sentences are left out. Special tokens written
    out in the text, such as "[SEP]", are encoded as ordinary text.
    """
    folder = Path(folder)
    if not isinstance(documents, Documents):
        documents = Documents([partial(iter, documents)], name="", description="", fingerprint="")
    identity = identity_of(documents, tokenizer)
    with workplace(folder) as place:
        if _is_complete(folder, identity):
            clear(place)
        else:
            interrupted = find_interrupted(place, folder, identity)
            with StoreWriter(place, tokenizer, identity, interrupted) as writer:
                start = interrupted.position if interrupted else Position()
                _encode_all(documents, start, tokenizer, writer, progress=progress)
                writer.finish(folder, progress=progress)
    return TokenStore.open(folder)


def identity_of(documents: Documents, tokenizer: Tokenizer) -> dict:
    """What a store is made from, as its report says."""
    return {
        "format": FORMAT,
        "name": documents.name,
        "source": documents.description,
        "fingerprint": documents.fingerprint,
        "tokenizer_sha256": tokenizer_sha256(tokenizer),
    }


def _is_complete(folder: Path, identity: dict) -> bool:
    """Whether a store of these very documents stands there, undamaged."""
    try:
        report = TokenStore.open(folder).report if identity["fingerprint"] else {}
    except UserError:
        return False
    return all(report.get(key) == identity[key] for key in DECISIVE)


# --- From text to ids ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Batch:
    """Sentences to be encoded at once, how many each document has, and where they end."""

    sentences: list[str]
    sizes: list[int]
    end: Position


def _encode_all(
    documents: Documents,
    start: Position,
    tokenizer: Tokenizer,
    writer: StoreWriter,
    *,
    progress: bool,
) -> None:
    """Write all documents from `start` on, and make them safe now and then, and at the end."""
    last_safe, seen = time.monotonic(), start.seen
    for batch, ids in _encoded(_batches(documents, start, progress=progress), tokenizer):
        writer.add(ids, batch.sizes)
        seen = batch.end.seen
        if documents.fingerprint and time.monotonic() >= last_safe + SAFE_EVERY:
            writer.make_safe(batch.end)
            last_safe = time.monotonic()
    if documents.fingerprint:
        writer.make_safe(Position(part=documents.n_parts, seen=seen))


def _encoded(
    batches: Iterator[Batch], tokenizer: Tokenizer
) -> Iterator[tuple[Batch, list[list[int]]]]:
    """Batches with their sentences' ids.

    While the library encodes one batch on all cores, Python reads and splits the next.
    """
    encode = partial(tokenizer.encode_batch_fast, add_special_tokens=False)
    specials_as_text = tokenizer.encode_special_tokens
    tokenizer.encode_special_tokens = True
    waiting = None
    try:
        with ThreadPoolExecutor(max_workers=1) as encoder:
            for batch in batches:
                upcoming = (batch, encoder.submit(encode, batch.sentences))
                if waiting is not None:
                    yield waiting[0], [e.ids for e in waiting[1].result()]
                waiting = upcoming
            if waiting is not None:
                yield waiting[0], [e.ids for e in waiting[1].result()]
    finally:
        tokenizer.encode_special_tokens = specials_as_text


def _batches(documents: Documents, start: Position, *, progress: bool) -> Iterator[Batch]:
    in_bytes = documents.size_bytes is not None
    with progress_bar(
        documents.size_bytes or documents.n_documents,
        "building the token store",
        unit="B" if in_bytes else " documents",
        initial=start.seen,
        unit_scale=in_bytes,
        disable=not progress,
    ) as bar:
        sentences: list[str] = []
        sizes: list[int] = []
        characters, seen = 0, start.seen
        for part in range(start.part, documents.n_parts):
            stored = start.documents if part == start.part else 0
            new = islice(documents.part(part), stored, None)
            for number, document in enumerate(new, stored + 1):
                sentences += document
                sizes.append(len(document))
                characters += sum(map(len, document))
                seen = documents.bytes_read if in_bytes else seen + 1
                if characters >= BATCH:
                    yield Batch(sentences, sizes, Position(part, number, seen))
                    bar.update(seen - bar.n)
                    sentences, sizes, characters = [], [], 0
        if sizes:
            yield Batch(sentences, sizes, Position(part=documents.n_parts, seen=seen))
            bar.update(seen - bar.n)
