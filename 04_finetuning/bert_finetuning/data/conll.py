"""Sentences in columns, as at CoNLL and in CoNLL-U: a word a line, an empty line between sentences.

Names (B-PER, I-PER, O) and parts of speech (NOUN, VERB) are the same to a reader: words and tags.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bert_finetuning.data.rows import lines_of, quoted
from bert_run.errors import UserError


class TaggedWord(NamedTuple):
    place: str  # "train.conll: line 3", for errors
    word: str
    tag: str


Sentence = list[TaggedWord]


def blocks(path: Path) -> Iterator[list[tuple[str, str]]]:
    """The lines between empty lines, each with its place."""
    block: list[tuple[str, str]] = []
    for number, line in lines_of(path):
        if line.strip():
            block.append((f"{path}: line {number}", line))
        elif block:
            yield block
            block = []
    if block:
        yield block


def cells_of(block: Sequence[tuple[str, str]]) -> Iterator[tuple[str, list[str]]]:
    """Columns between tabs or spaces, each line with its place; -DOCSTART- is passed over."""
    for place, line in block:
        cells = line.split("\t") if "\t" in line else re.split(" +", line.strip(" "))
        if cells[0] != "-DOCSTART-":
            yield place, cells


def conll_sentences(path: Path) -> Iterator[Sentence]:
    """Columns between tabs or spaces, the word first and the tag last (CoNLL-2003, WNUT-17).

    Lines with -DOCSTART- part documents and are passed over.
    """
    width = None
    for block in blocks(path):
        sentence = []
        for place, cells in cells_of(block):
            width = width or len(cells)
            if len(cells) != width or width < 2:
                raise UserError(
                    f"{place} has {len(cells)} columns, not {max(width, 2)}: write the word first "
                    "and its tag last, with a tab or a space between"
                )
            sentence.append(TaggedWord(place, cells[0], cells[-1]))
        if sentence:
            yield sentence


def conllu_sentences(path: Path) -> Iterator[Sentence]:
    """Words with their universal part of speech, as https://universaldependencies.org/format.html.

    Passed over: comments, words that were fused (`1-2  don't` before `1  do`, `2  n't`), and words
    that were left out of the sentence (`1.1`).
    """
    for block in blocks(path):
        sentence = []
        for place, line in block:
            if line.startswith("#"):
                continue
            cells = line.split("\t")
            if len(cells) != 10:
                raise UserError(f"{place} has {len(cells)} columns between tabs: CoNLL-U has 10")
            if re.fullmatch(r"\d+[-.]\d+", cells[0]):
                continue
            if cells[3] == "_":
                raise UserError(f"{place}: {quoted(cells[1])} has no part of speech (column 4)")
            sentence.append(TaggedWord(place, cells[1], cells[3]))
        if sentence:
            yield sentence
