"""From lines to documents: which lines belong together, and where sentences end.

A text file says with its line ends and empty lines what belongs together, and every corpus says
it differently. A sample of the lines tells which of three layouts is meant:

- `sentence`: each line is a sentence; an empty line ends the document;
- `paragraph`: each line is a paragraph of prose; an empty line ends the document;
- `wrapped`: prose broken into lines of about equal length, as in Project Gutenberg's books; an
  empty line ends the paragraph, two or more end the document.

WikiText marks articles by headings, ` = Title = `, and has empty lines between paragraphs: there
a title begins the document, headings are dropped and empty lines mean nothing.

Prose is split by `sentencex`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Literal

import sentencex

Document = list[str]  # its sentences

SAMPLE = 500  # lines that are looked at to tell the layout
# Bounds that keep memory small; what is longer is cut.
LONGEST_SAMPLE = 1 << 20  # characters
LONGEST_PARAGRAPH = 1 << 20  # characters
LONGEST_DOCUMENT = 1_000  # sentences
LONGEST_TEXT = 1 << 20  # characters of a document

HEADING = re.compile(r"\s*(=(?: =)*) (?!=).*[^= ].* =(?: =)*\s*")  # ` = = Early life = = `
SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*$")


@dataclass(frozen=True)
class Layout:
    """What a line is, and whether WikiText's headings part the documents."""

    line: Literal["sentence", "paragraph", "wrapped"]
    headings: bool = False

    def __str__(self) -> str:
        meaning = {
            "sentence": "one sentence a line",
            "paragraph": "one paragraph a line, split into sentences",
            "wrapped": "paragraphs of several lines, split into sentences",
        }
        return meaning[self.line] + (", articles by their headings" if self.headings else "")


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
        if wrapped and (not line or level or wrapped_size > LONGEST_PARAGRAPH):
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
