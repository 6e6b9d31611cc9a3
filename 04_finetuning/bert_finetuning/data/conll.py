"""Sentences in columns, as at CoNLL and in CoNLL-U: a word a line, an empty line between sentences.

Names (B-PER, I-PER, O) and parts of speech (NOUN, VERB) are the same to a reader: words and tags.
Tags of names are written in several schemes; all of them come out as BIO2, see `in_bio`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from bert_finetuning.data.rows import quoted
from bert_finetuning.data.sources import Note, lines_of, silent
from bert_finetuning.metrics import entities
from bert_run.errors import UserError

SAMPLED_LINES = 1_000  # lines by which the columns of words and tags are found
NAME_TAG = re.compile(r"O|[BIELMSU][-_].+")


class TaggedWord(NamedTuple):
    place: str  # "train.conll: line 3", for errors
    word: str
    tag: str


Sentence = list[TaggedWord]
CellRow = tuple[str, list[str]]  # the columns of a line, with its place


def blocks(path: Path, note: Note = silent) -> Iterator[list[tuple[str, str]]]:
    """The lines between empty lines, each with its place."""
    block: list[tuple[str, str]] = []
    for number, line in lines_of(path, note):
        if line.strip():
            block.append((f"{path}: line {number}", line))
        elif block:
            yield block
            block = []
    if block:
        yield block


# --- CoNLL ---------------------------------------------------------------------------------------


class Layout(NamedTuple):
    """How many columns there are, and which of them hold the words and the tags, from 0."""

    width: int
    word: int = 0
    tag: int = -1
    has_names: bool = False  # the tags are those of names: B-PER, I-PER, O


def cells_of(line: str) -> list[str]:
    """Columns between tabs or spaces."""
    return line.split("\t") if "\t" in line else re.split(" +", line.strip(" "))


def layout_of(sample: Sequence[str]) -> Layout:
    """The word first and its tag last, as at CoNLL; else as the content of the columns tells.

    GermEval has a number before each word and a second tag after the first; some files have the tag
    before the word.
    """
    rows = [cells_of(line) for line in sample if line.strip() and not line.startswith("#")]
    rows = [row for row in rows if row[0] != "-DOCSTART-"]
    width = len(rows[0]) if rows else 0
    columns = list(zip(*(row for row in rows if len(row) == width), strict=True))
    if width < 2:
        return Layout(width)
    names = [all(map(NAME_TAG.fullmatch, column)) for column in columns]
    if width > 2 and columns[0][0] == "1" and all(map(str.isdecimal, columns[0])):
        tag = 2 if names[2] else width - 1
        return Layout(width, 1, tag, names[tag])
    if names[0] and not names[-1]:
        return Layout(width, width - 1, 0, True)
    return Layout(width, 0, width - 1, names[-1])


def is_tagged_text(sample: Sequence[str]) -> bool:
    """Whether lines are words in columns, with tags of names: no other format looks like that."""
    words = [line for line in sample if line.strip() and not line.startswith(("#", "-DOCSTART-"))]
    layout = layout_of(sample)
    alike = all(len(cells_of(line)) == layout.width for line in words)
    return len(words) > 1 and layout.width > 1 and alike and layout.has_names


def word_rows(path: Path, note: Note = silent) -> Iterator[tuple[Layout, list[CellRow]]]:
    """The sentences of a file: the cells of every word, and where its word and its tag stand.

    Lines with -DOCSTART- part documents; they and comments are passed over.
    """
    layout = layout_of([line for _, line in islice(lines_of(path, note), SAMPLED_LINES)])
    if layout.width > 2 or layout.word:
        note(f"word in column {layout.word + 1}, tag in column {layout.tag + 1}")
    for block in blocks(path):
        rows: list[CellRow] = []
        for place, line in block:
            cells = cells_of(line)
            begins_comment = line.startswith("#") and not rows
            if begins_comment and (
                len(cells) != layout.width
                or (layout.has_names and not NAME_TAG.fullmatch(cells[layout.tag]))
            ):
                continue
            if cells[0] != "-DOCSTART-":
                rows.append((place, cells))
        if rows:
            yield layout, rows


def conll_sentences(path: Path, note: Note = silent) -> Iterator[Sentence]:
    """Words and tags in columns between tabs or spaces (CoNLL-2003, WNUT-17, GermEval)."""
    for layout, rows in word_rows(path, note):
        sentence = []
        for place, cells in rows:
            if len(cells) != layout.width or layout.width < 2:
                raise UserError(
                    f"{place} has {len(cells)} columns, not {max(layout.width, 2)}: write the word "
                    "first and its tag last, with a tab or a space between"
                )
            sentence.append(TaggedWord(place, cells[layout.word], cells[layout.tag]))
        yield sentence


# --- CoNLL-U -------------------------------------------------------------------------------------


def conllu_sentences(path: Path, note: Note = silent) -> Iterator[Sentence]:
    """Words with their universal part of speech, as https://universaldependencies.org/format.html.

    Passed over: comments, words that were fused (`1-2  don't` before `1  do`, `2  n't`), and words
    that were left out of the sentence (`1.1`).
    """
    for block in blocks(path, note):
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


# --- Schemes of tags -----------------------------------------------------------------------------

# What BILOU and BMES call the end, the middle and a name of one word.
SOME = 1 / 4  # of the words are O, where bare tags are names; parts of speech have no O
AS_BIOES = {"L": "E", "U": "S", "M": "I"}


def in_bio(sentences: Sequence[Sentence], note: Note = silent) -> Sequence[Sentence]:
    """The same sentences with the tags of names in BIO2, where every name begins with B.

    BIO1 (B only between two names of one type), BIOES, BILOU, BMES and tags without a prefix (PER,
    O) are told apart by the tags that occur, and noted. Tags that are no names, parts of speech
    say, stay as they are. Raises `UserError` with its place for a tag that fits none of these.
    """
    tags = Counter(word.tag for sentence in sentences for word in sentence)
    named = [tag for tag in tags if tag != "O"]
    prefixed = [tag for tag in named if NAME_TAG.fullmatch(tag)]
    are_others = tags["O"] < SOME * tags.total() if not prefixed else not tags["O"]
    if not named or (are_others and len(prefixed) < len(named)):
        return sentences
    if not prefixed:
        note("tags without a prefix, read as names in BIO")
        return [with_tags(sentence, names_of_runs([w.tag for w in sentence]))
                for sentence in sentences]  # fmt: skip
    if len(prefixed) < len(named):
        odd = next(w for s in sentences for w in s if w.tag != "O" and w.tag not in prefixed)
        raise UserError(
            f"{odd.place}: the tag of {quoted(odd.word)} is {quoted(odd.tag)}, and others have a "
            f"prefix ({quoted(prefixed[0])}): write O, B-TYPE or I-TYPE everywhere"
        )
    letters = {tag[0] for tag in prefixed}
    changed = [with_tags(sentence, bio_of([w.tag for w in sentence])) for sentence in sentences]
    if letters & set("ELMSU"):
        scheme = "BILOU" if letters & set("LU") else "BMES" if "M" in letters else "BIOES"
        note(f"tags in {scheme}, read as BIO")
    elif changed != list(sentences):
        note("tags in BIO1, read as BIO" if "B" in letters else "tags in IO, read as BIO")
    return changed


def with_tags(sentence: Sentence, tags: Sequence[str]) -> Sentence:
    return [word._replace(tag=tag) for word, tag in zip(sentence, tags, strict=True)]


def bio_of(tags: Sequence[str]) -> list[str]:
    """Tags with prefixes in BIO2.

    >>> bio_of(["I-PER", "I-PER", "O", "U-LOC"])
    ['B-PER', 'I-PER', 'O', 'B-LOC']
    """
    alike = [AS_BIOES.get(tag[0], tag[0]) + tag[1:].replace("_", "-", 1) for tag in tags]
    found = ["O"] * len(tags)
    for name, first, end in entities(alike):
        found[first:end] = [f"B-{name}"] + [f"I-{name}"] * (end - first - 1)
    return found


def names_of_runs(tags: Sequence[str]) -> list[str]:
    """Bare types in BIO2: equal tags side by side are one name."""
    return bio_of([tag if tag == "O" else f"I-{tag}" for tag in tags])
