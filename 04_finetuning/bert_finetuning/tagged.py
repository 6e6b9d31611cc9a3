"""Sentences whose every word has a tag: columns as at CoNLL, CoNLL-U, or rows with two lists.

Names (B-PER, I-PER, O) and parts of speech (NOUN, VERB) are the same to a reader: words and tags.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bert_corpus.text_files import kind_of
from bert_finetuning.examples import TaggedSentence, label_set
from bert_finetuning.labels import Spellings, check_written
from bert_finetuning.rows import (
    Table,
    bare_suffix,
    first_named,
    lines_of,
    list_field,
    no_field,
    one_of,
    shown,
    text_list,
)
from bert_finetuning.sources import at_least_one, is_file, open_rows
from bert_run.errors import UserError

WORDS = ("words", "tokens")
TAGS = ("tags", "ner_tags", "pos_tags", "upos")


class TaggedWord(NamedTuple):
    place: str  # "train.conll: line 3", for errors
    word: str
    tag: str


Sentence = list[TaggedWord]


def read_tagged(
    source: str | Path, *, tags: Sequence[str] | None = None, stream: bool = True
) -> Iterator[TaggedSentence]:
    """Tagged sentences of a file or a dataset of the Hub, one by one.

    `tags` are those that may occur; None lets all pass.
    """
    path = Path(source).expanduser()
    if not is_file(source) or kind_of(path) == "json":
        sentences = row_sentences(open_rows(source, stream=stream))
    elif bare_suffix(path) == ".conllu":
        sentences = conllu_sentences(path)
    else:
        sentences = conll_sentences(path)
    spellings = Spellings()
    return at_least_one((_checked(sentence, tags, spellings) for sentence in sentences), source)


def tag_set(sentences: Iterable[TaggedSentence]) -> tuple[str, ...]:
    """The tags of a training set, in one lasting order."""
    return label_set(tag for sentence in sentences for tag in sentence.tags)


def _checked(
    sentence: Sentence, tags: Sequence[str] | None, spellings: Spellings
) -> TaggedSentence:
    for place, word, tag in sentence:
        if not tag.strip():
            raise UserError(f"{place}: {shown(word)} has an empty tag: write one (O for no name)")
        check_written(tag, place)
        if tags is None:
            spellings.check(tag, place)
        elif tag not in tags:
            raise UserError(
                f"{place}: the tag of {shown(word)} is {shown(tag)}, not {one_of(tags)}"
            )
    return TaggedSentence(
        tuple(word for _, word, _ in sentence), tuple(tag for *_, tag in sentence)
    )


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
                raise UserError(f"{place}: {shown(cells[1])} has no part of speech (column 4)")
            sentence.append(TaggedWord(place, cells[1], cells[3]))
        if sentence:
            yield sentence


def row_sentences(rows: Table) -> Iterator[Sentence]:
    """A list of words and one of tags in each row, under their usual names."""
    for row in rows:
        words, tags = first_named(row, WORDS), first_named(row, TAGS)
        if not words or not tags:
            raise no_field(row, *(TAGS if words else WORDS))
        if len(list_field(row, words)) != len(list_field(row, tags)):
            raise UserError(
                f"{row.place} has {len(row.fields[words])} words and {len(row.fields[tags])} tags: "
                "each word needs one"
            )
        pairs = zip(text_list(row, words), text_list(row, tags), strict=True)
        yield [TaggedWord(row.place, word, tag) for word, tag in pairs]
