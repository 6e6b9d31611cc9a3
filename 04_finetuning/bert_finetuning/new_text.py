"""What `bert-predict` is asked: from arguments, a file or standard input, without labels.

A file has a format of training, or one text a line; a tab separates what belongs together: the two
texts of a pair, a question and its context, a beginning and its endings. A line is what `wc -l`
counts, in files and on standard input.

Every row becomes one example in its place, so that answers can be joined to their rows. A line
without text is an example without text. Only tables and JSON lines may hold empty lines between
their rows, as for every other program that reads them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from bert_corpus.sentences import split_prose
from bert_corpus.text_files import kind_of
from bert_finetuning.examples import Choice, Extract, Question, TaggedSentence, TextExample
from bert_finetuning.guessing import is_squad
from bert_finetuning.questions import questions_from, squad_questions
from bert_finetuning.reading import (
    CONTEXTS,
    ENDING,
    ENDINGS,
    PAIRS,
    TEXTS,
    USUAL,
    Columns,
    choices_from,
    extracts_from,
    texts_from,
)
from bert_finetuning.rows import (
    Lines,
    Row,
    Table,
    bare_suffix,
    first_named,
    json_rows,
    lines_of,
    split_csv,
    split_tsv,
    table_rows,
    text_field,
    text_list,
)
from bert_finetuning.sources import at_least_one, is_file, open_rows
from bert_finetuning.tagged import WORDS, blocks, conllu_sentences
from bert_finetuning.words import encodable
from bert_run.errors import UserError
from bert_run.text_lines import STANDARD_INPUT, text_lines

Place = tuple[int, int]  # of a word: its first character, and one past its last

# Words as the tagged corpora have them: punctuation and 's stand apart, U.S. and 3,000 do not.
NAME = re.compile(r"[\w.#-]+")  # of a column, in a first line
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
    """An example without its answer, and where it comes from."""

    example: Any
    text: str = ""  # the text that its words were split from, and their places in it
    places: tuple[Place, ...] = ()
    line: int | None = None  # of the file or of standard input; of a dataset of the Hub its row
    row: Mapping[str, Any] = field(default_factory=dict)  # all columns
    read: tuple[str, ...] = ()  # those of them that the example was made of

    @property
    def others(self) -> dict[str, Any]:
        """The columns that were passed over."""
        return {name: value for name, value in self.row.items() if name not in self.read}


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
    given = {"a text": texts, "--pair": [pair], "--question": [question], "--context": [context]}
    for name, values in given.items():
        if any(value is not None and not value.strip() for value in values):
            raise UserError(f"{name} is empty: write what is to be answered")
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
        lines = text_lines(None)
        return at_least_one(from_lines(STANDARD_INPUT, lines, format, columns), STANDARD_INPUT)
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
        return words_in_columns(path)
    check_no_header(str(path), list(islice(lines_of(path), 2)))
    return from_text_lines(str(path), lines_of(path), format)


def words_in_columns(path: Path) -> Iterator[Asked]:
    """The words of a file in columns, whether it has tags or not, each with its first line."""
    if bare_suffix(path) == ".conllu":
        sentences = ([(word.place, word.word) for word in s] for s in conllu_sentences(path))
    else:
        sentences = ([(place, line.split()[0]) for place, line in s] for s in blocks(path))
    for sentence in sentences:
        first = Row(sentence[0][0], {})
        yield Asked(TaggedSentence(tuple(word for _, word in sentence)), line=first.line)


def from_lines(source: str, lines: Lines, format: str, columns: Columns) -> Iterator[Asked]:
    """The examples of lines whose format no name of a file tells.

    JSON lines begin with a brace; a table begins with the usual names of columns, or has columns
    that the user names; anything else is one text a line.
    """
    first = list(islice(lines, 2))
    if not first:
        return iter(())
    lines = chain(first, lines)
    start = first[0][1].lstrip()
    if start.startswith("{"):
        return from_rows(json_rows(source, lines), format, columns)
    separator = table_separator(start)
    if columns != USUAL:
        separator = "\t" if "\t" in start else ","
    if separator is None:
        check_no_header(source, first)
        return from_text_lines(source, lines, format)
    split = split_tsv if separator == "\t" else split_csv
    header = () if columns.numbered else None
    return from_rows(table_rows(source, split(source, lines), header=header), format, columns)


# Columns that hold what is asked, in any format; a text that is just one of them is improbable.
ASKED_COLUMNS = {*TEXTS, *(name for pair in (*PAIRS, *CONTEXTS) for name in pair if name)}


def table_separator(line: str) -> str | None:
    """What separates the usual names of columns on this line; None if it holds none."""
    for separator in ("\t", ","):
        names = [name.strip().strip('"') for name in line.split(separator)]
        if len(names) > 1 and ASKED_COLUMNS & {*names} and all(map(NAME.fullmatch, names)):
            return separator
    return None


def check_no_header(source: str, first: Sequence[tuple[int, str]]) -> None:
    """Raise `UserError` if a first line, with more below it, is the name of a column."""
    if len(first) > 1 and first[0][1].strip().strip('"') in ASKED_COLUMNS:
        raise UserError(
            f"{source}: line 1 is {first[0][1].strip()!r}, which names a column: remove the line, "
            "or name the table with --input FILE.csv"
        )


# What a line without text asks.
NOTHING = {
    "texts": TextExample(""), "numbers": TextExample(""), "tags": TaggedSentence(()),
    "questions": Question("", "", ""), "choices": Choice("", ()), "extracts": Extract(()),
}  # fmt: skip


def from_text_lines(source: str, lines: Lines, format: str) -> Iterator[Asked]:
    """One example a line, its parts between tabs."""
    for number, line in lines:
        if not line.strip():
            yield Asked(NOTHING[format], line=number)
            continue
        place = f"{source}: line {number}"
        yield from_row(Row(place, fields_of_line(line, place, format)), format, USUAL)


def fields_of_line(line: str, place: str, format: str) -> dict[str, Any]:
    parts = line.split("\t")
    if format == "choices":
        if len(parts) < 3:
            raise UserError(f"{place}: write a beginning and its endings, with tabs between")
        return {"context": parts[0], "endings": parts[1:]}
    if format == "questions":
        if len(parts) != 2:
            raise UserError(f"{place}: write a question and its text, with one tab between")
        return {"question": parts[0], "context": parts[1]}
    if format in ("texts", "numbers") and len(parts) > 1:
        if len(parts) > 2:
            raise UserError(f"{place} has {len(parts) - 1} tabs: a pair has one")
        return {"text": parts[0], "pair": parts[1]}
    return {"text": line}


# --- Rows ----------------------------------------------------------------------------------------


def from_rows(rows: Table, format: str, columns: Columns) -> Iterator[Asked]:
    """One example for each row, in their order."""
    for row in rows:
        yield from_row(row, format, columns)


def from_row(row: Row, format: str, columns: Columns) -> Asked:
    read = {"texts": text_row, "numbers": text_row, "tags": tagged_row, "questions": question_row,
            "choices": choice_row, "extracts": extract_row}[format]  # fmt: skip
    return replace(read(row, columns), line=row.line, row=row.fields)


def text_row(row: Row, columns: Columns) -> Asked:
    """A text or a pair; a field `pair` beside `text`, as our predictions have it, is one too."""
    own = columns
    if columns == USUAL and row.fields.get("pair") is not None and "text" in row.fields:
        own = Columns("text", "pair")
    own = own.found_in(row, labelled=False)
    (example,) = texts_from(iter([row]), columns=own, labelled=False)
    return Asked(example, read=tuple(name for name in (own.text, own.pair) if name))


def tagged_row(row: Row, columns: Columns) -> Asked:
    if name := first_named(row, WORDS):
        return Asked(TaggedSentence(tuple(text_list(row, name))), read=(name,))
    return replace(split_words(text_field(row, "text")), read=("text",))


def question_row(row: Row, columns: Columns) -> Asked:
    (example,) = questions_from(iter([row]))
    return Asked(example, read=("id", "question", "context"))


def choice_row(row: Row, columns: Columns) -> Asked:
    (example,) = choices_from(iter([row]), labelled=False)
    names = {*chain.from_iterable(CONTEXTS), *ENDINGS}
    read = (name for name in row.fields if name in names or ENDING.fullmatch(name))
    return Asked(example, read=tuple(read))


def extract_row(row: Row, columns: Columns) -> Asked:
    if "sentences" in row.fields:
        (example,) = extracts_from(iter([row]), labelled=False)
        return Asked(example, read=("sentences",))
    return replace(split_document(text_field(row, "text")), read=("text",))
