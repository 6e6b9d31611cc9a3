"""What `bert-predict` is asked: from arguments, a file or standard input, without labels.

A file has a format of training, or one text a line; a tab parts what belongs together: the two
texts of a pair, a question and its context, a beginning and its endings.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from bert_corpus.sentences import split_prose
from bert_corpus.text_files import kind_of
from bert_finetuning.examples import Choice, Extract, Question, TaggedSentence, TextExample
from bert_finetuning.guessing import is_squad
from bert_finetuning.questions import questions_from, squad_questions
from bert_finetuning.reading import USUAL, Columns, choices_from, extracts_from, texts_from
from bert_finetuning.rows import (
    Row,
    Table,
    bare_suffix,
    first_named,
    lines_of,
    text_field,
    text_list,
)
from bert_finetuning.sources import at_least_one, is_file, open_rows
from bert_finetuning.tagged import WORDS, blocks, conllu_sentences
from bert_finetuning.words import encodable
from bert_run.errors import UserError

Place = tuple[int, int]  # of a word: its first character, and one past its last

# Words as the tagged corpora have them: punctuation and 's stand apart, U.S. and 3,000 do not.
MARKS = "\u0300-\u036f"  # accents that stand alone after their letter
CLITIC = "(?:s|re|ve|ll|d|m)\\b"
WORD = re.compile(
    rf"https?://\S+"
    rf"|(?:[^\W\d_]\.){{2,}}"
    rf"|[@#]?[\w{MARKS}]+(?:-[\w{MARKS}]+|['’](?!{CLITIC})[\w{MARKS}]+|(?<=\d)[.,:]\d+)*"
    rf"|['’]{CLITIC}"
    rf"|\S"
)


@dataclass(frozen=True)
class Asked:
    """An example without its answer; of words that were split from a text, their places in it."""

    example: Any
    text: str = ""
    places: tuple[Place, ...] = ()


def split_words(text: str) -> Asked:
    """A text as words.

    >>> split_words("Anna's cat, 3.5 kg").example.words
    ('Anna', "'s", 'cat', ',', '3.5', 'kg')
    """
    found = list(WORD.finditer(text))
    words = tuple(match.group() for match in found)
    return Asked(TaggedSentence(words), text, tuple(match.span() for match in found))


def split_document(text: str) -> Asked:
    return Asked(Extract(tuple(split_prose(text))))


# --- Arguments -----------------------------------------------------------------------------------


def from_arguments(
    format: str,
    texts: Sequence[str],
    *,
    pairs: bool | None = None,
    pair: str | None = None,
    question: str | None = None,
    context: str | None = None,
) -> list[Asked]:
    """What the words of a command line ask for. `pairs`: what the model has learnt to read."""
    texts = [encodable(text) for text in texts]
    if format == "questions":
        return [asked_question(texts, question, context)]
    if question is not None or context is not None:
        raise UserError(f"--question and --context are for questions; this model does {format}")
    if format in ("texts", "numbers"):
        return asked_texts(texts, pair, pairs)
    if pair is not None:
        raise UserError(f"--pair is for texts and numbers; this model does {format}")
    if format == "tags":
        return [split_words(text) for text in texts]
    if format == "choices":
        if len(texts) < 3:
            raise UserError(
                f"a choice needs a beginning and two endings or more: {len(texts)} texts are given"
            )
        return [Asked(Choice(texts[0], tuple(texts[1:])))]
    return [split_document(texts[0]) if len(texts) == 1 else Asked(Extract(tuple(texts)))]


def asked_texts(texts: Sequence[str], pair: str | None, pairs: bool | None) -> list[Asked]:
    """One text or many. With --pair, or where pairs were learnt, two belong together."""
    if pair is not None:
        if len(texts) != 1:
            raise UserError(f"--pair belongs to one text: {len(texts)} are given")
        return [Asked(TextExample(texts[0], encodable(pair)))]
    if pairs and len(texts) == 2:
        return [Asked(TextExample(*texts))]
    return [Asked(TextExample(text)) for text in texts]


def asked_question(texts: Sequence[str], question: str | None, context: str | None) -> Asked:
    """A question and its text; the one that no option names is given alone, or both in order."""
    rest = list(texts)
    if question is None and rest:
        question = rest.pop(0)
    if context is None and rest:
        context = rest.pop(0)
    if question is None or context is None or rest:
        raise UserError("a question needs one text: give --question QUESTION --context TEXT")
    return Asked(Question("1", encodable(question), encodable(context)))


# --- Files and standard input --------------------------------------------------------------------


def from_source(source: str, format: str, columns: Columns = USUAL) -> Iterator[Asked]:
    """The examples of a file or of a dataset of the Hub one by one; `-` is standard input."""
    if source == "-":
        return at_least_one(from_rows(standard_input(format), format, columns), "standard input")
    path = Path(source).expanduser()
    return at_least_one(_from_file(source, path, format, columns), source)


def _from_file(source: str, path: Path, format: str, columns: Columns) -> Iterator[Asked]:
    suffix = bare_suffix(path)
    if not is_file(source) or suffix in (".tsv", ".csv"):
        return from_rows(open_rows(source, numbered=columns.numbered), format, columns)
    if format == "questions" and suffix == ".json" and is_squad(path):
        return map(Asked, squad_questions(path))
    if kind_of(path) == "json":
        return from_rows(open_rows(source), format, columns)
    if format == "tags" and suffix in (".conll", ".conllu", ".bio"):
        return map(Asked, words_in_columns(path))
    lines = ((f"{path}: line {number}", line) for number, line in lines_of(path))
    return from_rows(line_rows(lines, format), format, columns)


def words_in_columns(path: Path) -> Iterator[TaggedSentence]:
    """The words of a file in columns, whether it has tags or not."""
    if bare_suffix(path) == ".conllu":
        for sentence in conllu_sentences(path):
            yield TaggedSentence(tuple(tagged.word for tagged in sentence))
        return
    for block in blocks(path):
        yield TaggedSentence(tuple(line.split()[0] for _, line in block))


def standard_input(format: str) -> Table:
    """Lines of text, or JSON lines where the first line begins with a brace."""
    read = (line.decode("utf-8", "replace").rstrip("\r\n") for line in sys.stdin.buffer)
    lines = ((f"standard input: line {number}", line) for number, line in enumerate(read, start=1))
    first = next(lines, None)
    if first is None:
        return iter(())
    rows = json_line_rows if first[1].lstrip().startswith("{") else line_rows
    return rows(chain([first], lines), format)


Lines = Iterable[tuple[str, str]]  # each with its place


def json_line_rows(lines: Lines, format: str) -> Table:
    for place, line in lines:
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (json.JSONDecodeError, RecursionError):
            raise UserError(f"{place} is not JSON: write one object a line") from None
        if not isinstance(row, dict):
            raise UserError(f"{place} is JSON, but no object: write one object a line")
        yield Row(place, row)


def line_rows(lines: Lines, format: str) -> Table:
    """One example a line, its parts between tabs; empty lines are passed over."""
    for place, line in lines:
        if line.strip():
            yield Row(place, fields_of_line(line, place, format))


def fields_of_line(line: str, place: str, format: str) -> dict[str, Any]:
    parts = line.split("\t")
    if format == "choices":
        if len(parts) < 3:
            raise UserError(f"{place}: write a beginning and its endings, with tabs between")
        return {"context": parts[0], "endings": parts[1:]}
    if format == "questions":
        if len(parts) != 2:
            raise UserError(f"{place}: write a question and its text, with one tab between")
        return {"question": parts[0], "context": parts[1], "id": place}
    if format in ("texts", "numbers") and len(parts) > 1:
        if len(parts) > 2:
            raise UserError(f"{place} has {len(parts) - 1} tabs: a pair has one")
        return {"text": parts[0], "pair": parts[1]}
    return {"text": line}


def from_rows(rows: Table, format: str, columns: Columns) -> Iterator[Asked]:
    read: dict[str, Callable[[Table], Iterator[Asked]]] = {
        "texts": lambda rows: text_rows(rows, columns),
        "numbers": lambda rows: text_rows(rows, columns),
        "tags": lambda rows: map(tagged_row, rows),
        "questions": lambda rows: map(Asked, questions_from(rows)),
        "choices": lambda rows: map(Asked, choices_from(rows, labelled=False)),
        "extracts": lambda rows: map(extract_row, rows),
    }
    return read[format](rows)


def text_rows(rows: Table, columns: Columns) -> Iterator[Asked]:
    """Texts and pairs; a field `pair` beside `text`, as our predictions have it, is one too."""
    for row in rows:
        own = columns
        if columns == USUAL and row.fields.get("pair") is not None and "text" in row.fields:
            own = Columns("text", "pair")
        yield from map(Asked, texts_from(iter([row]), columns=own, labelled=False))


def tagged_row(row: Row) -> Asked:
    if name := first_named(row, WORDS):
        return Asked(TaggedSentence(tuple(text_list(row, name))))
    return split_words(text_field(row, "text"))


def extract_row(row: Row) -> Asked:
    if "sentences" in row.fields:
        return Asked(next(extracts_from(iter([row]), labelled=False)))
    return split_document(text_field(row, "text"))
