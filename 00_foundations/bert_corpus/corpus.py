"""What a corpus is to its readers: a stream of documents, of one file after the other.

Documents stream: whatever the size of the corpus, memory holds a few of them.
"""

import hashlib
import json
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from bert_corpus.sentences import Document
from bert_corpus.sources import SourceFile
from bert_corpus.text_files import LineReader
from bert_run.errors import UserError

Walk = Callable[[], Iterator[Document]]  # begins a new walk through some documents


class Documents:
    """Documents that can be walked through again and again, always in the same order.

    They come in parts, each readable without those before it: one for each of the files, or a
    single one where there are none. `n_documents` and `size_bytes` are None where they are not
    known beforehand; `bytes_read` follows the walk, for progress bars. `fingerprint` changes when
    the documents may have; an empty one says that nothing is known of them. `files` are those that
    a user may change.
    """

    def __init__(
        self,
        parts: Sequence[Walk],
        *,
        name: str,
        description: str,
        fingerprint: str,
        readers: Sequence[LineReader] = (),
        files: Sequence[SourceFile] = (),
        n_documents: int | None = None,
    ):
        assert len(readers) in (0, len(parts)), "a reader for each part, or none"
        self.parts = list(parts)
        self.readers = list(readers)
        self.files = list(files)
        self._bytes_before = [0, *accumulate(reader.size_bytes for reader in readers)]
        self._reading = 0  # the part
        self.name = name
        self.description = description
        self.fingerprint = fingerprint
        self.n_documents = n_documents
        self.size_bytes = self._bytes_before[-1] or None

    def __iter__(self) -> Iterator[Document]:
        for number in range(self.n_parts):
            yield from self.part(number)

    def __repr__(self) -> str:
        return f"<{self.name}: {self.description}>"

    @property
    def n_parts(self) -> int:
        return len(self.parts)

    def part(self, number: int) -> Iterator[Document]:
        """The documents of one part, counted from 0; no other is read for them."""
        self._reading = number
        if self.readers:
            self.readers[number].bytes_read = 0
        yield from self.parts[number]()

    @property
    def bytes_read(self) -> int:
        if not self.readers:
            return 0
        return self._bytes_before[self._reading] + self.readers[self._reading].bytes_read

    @property
    def sentences(self) -> "Sentences":
        return Sentences(self)

    def shard(self, number: int, count: int) -> "Documents":
        """One of `count` runs of neighbouring files, counted from 1, about equally large.

        The documents of all shards, one after the other, are those of the corpus.
        """
        if len(self.readers) < count:
            files = f"{len(self.readers) or 'no'} file{'s' * (len(self.readers) != 1)}"
            raise UserError(
                f"corpus {self.name}: made of {files}, so it cannot be shared out among {count} "
                "machines; each takes whole files (cut a large one between two documents)"
            )
        bounds = [0]
        for i in range(1, count):
            fair = bisect_left(self._bytes_before, self._bytes_before[-1] * i / count)
            bounds.append(min(max(fair, bounds[-1] + 1), len(self.readers) - count + i))
        chosen = slice(bounds[number - 1], [*bounds, len(self.readers)][number])
        return Documents(
            self.parts[chosen],
            name=self.name,
            description=f"{self.description}, shard {number} of {count}",
            fingerprint=fingerprint_of(self.fingerprint, number, count),
            readers=self.readers[chosen],
        )


class Sentences:
    """The sentences of all documents, one after the other, again and again."""

    def __init__(self, documents: Documents):
        self.documents = documents

    def __iter__(self) -> Iterator[str]:
        return (sentence for document in self.documents for sentence in document)


class Corpus(Documents):
    """The training documents; beside them, in `held_out`, those kept for measuring."""

    held_out: Documents

    def with_held_out(self, held_out: Documents) -> "Corpus":
        self.held_out = held_out
        return self


def fingerprint_of(*identity: object) -> str:
    """Sixteen hexadecimal digits that change with anything in `identity`."""
    return hashlib.sha256(json.dumps(identity, default=str).encode()).hexdigest()[:16]
