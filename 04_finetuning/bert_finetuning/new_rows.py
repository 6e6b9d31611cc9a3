"""What `bert-predict` is asked by a file or by standard input.

A file has a format of training, or one text a line; a tab separates what belongs together: the two
texts of a pair, a question and its context, a beginning and its endings. A line is what `wc -l`
counts, in files and on standard input.

Every row becomes one example in its place, so that answers can be joined to their rows. A line
without text is an example without text. Only tables and JSON lines may hold empty lines between
their rows, as for every other program that reads them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from bert_corpus.text_files import kind_of
from bert_finetuning.examples import Choice, Extract, Question, TaggedSentence, TextExample
from bert_finetuning.guessing import is_squad
from bert_finetuning.new_text import Asked, split_document, split_words
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
    shortened,
    shown,
    split_csv,
    split_tsv,
    table_rows,
    text_field,
    text_list,
    unquoted,
)
from bert_finetuning.sources import at_least_one, is_file, open_rows
from bert_finetuning.tagged import WORDS, blocks, cells_of, conllu_sentences
from bert_run.errors import UserError
from bert_run.text_lines import STANDARD_INPUT, text_lines


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
        return map(Asked, squad_questions(path, labelled=False))
    if kind_of(path) == "json":
        return from_rows(open_rows(source), format, columns)
    if format == "tags" and suffix in (".conll", ".conllu", ".bio"):
        return words_in_columns(path)
    if kind_of(path) != "text" or columns != USUAL:
        return from_lines(str(path), lines_of(path), format, columns)
    check_plain(str(path), list(islice(lines_of(path), 2)))
    return from_text_lines(str(path), lines_of(path), format)


def words_in_columns(path: Path) -> Iterator[Asked]:
    """The words of a file in columns, whether it has tags or not, each with its first line."""
    if bare_suffix(path) == ".conllu":
        sentences = ([(word.place, word.word) for word in s] for s in conllu_sentences(path))
    else:
        sentences = ([(place, cells[0]) for place, cells in cells_of(s)] for s in blocks(path))
    for sentence in filter(None, sentences):
        first = Row(sentence[0][0], {})
        yield Asked(TaggedSentence(tuple(word for _, word in sentence)), line=first.line)


def from_lines(source: str, lines: Lines, format: str, columns: Columns) -> Iterator[Asked]:
    """The examples of lines whose format no name of a file tells.

    JSON lines begin with a brace; a table begins with the usual names of columns, or has columns
    that the user names; anything else is one text a line.
    """
    empty = []
    for line in lines:
        if line[1].strip():
            first = [line, *islice(lines, 1)]
            break
        empty.append(line)
    else:
        return from_text_lines(source, iter(empty), format)
    lines = chain(first, lines)
    start = first[0][1].lstrip()
    if start.startswith(("{", '[{"')):
        return from_rows(json_rows(source, lines), format, columns)
    separator = table_separator(start)
    if columns != USUAL:
        separator = "\t" if "\t" in start else ","
    if separator is None:
        check_no_header(source, first)
        check_no_table(source, first)
        if format == "tags":
            check_no_tags(source, first)
        return from_text_lines(source, chain(empty, lines), format)
    header = () if columns.numbered else None
    if separator == "\t":
        rows = unquoted(table_rows(source, split_tsv(source, lines), header=header))
    else:
        rows = table_rows(source, split_csv(source, lines), header=header)
    return from_rows(rows, format, columns)


# Columns that hold what is asked, in any format; a text that is just one of them is improbable.
ASKED_COLUMNS = {*TEXTS, *(name for pair in (*PAIRS, *CONTEXTS) for name in pair if name)}


def table_separator(line: str) -> str | None:
    """What separates the usual names of columns on this line; None if it holds none."""
    for separator in ("\t", ","):
        names = line.split(separator)
        names = [name.strip() for name in names]
        plain = {name.strip('"') for name in names}
        if len(names) > 1 and ASKED_COLUMNS & plain and all(map(is_name, names)):
            return separator
    return None


def is_name(cell: str) -> bool:
    """Whether a cell may be the name of a column: one word without marks."""
    return re.fullmatch(r'"?[\w#][\w.#-]*(?<!\.)"?', cell) is not None


def check_no_header(source: str, first: Sequence[tuple[int, str]]) -> None:
    """Raise `UserError` if a first line, with more below it, is the name of a column."""
    if len(first) > 1 and first[0][1].strip().strip('"') in ASKED_COLUMNS:
        raise UserError(
            f"{source}: line 1 is {shown(first[0][1].strip())}, which names a column: remove the "
            "line, or name the table with --input FILE.csv"
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


def check_plain(source: str, first: Sequence[tuple[int, str]]) -> None:
    """Raise `UserError` if the first lines of a .txt are those of another format."""
    check_no_header(source, first)
    start = first[0][1] if first else ""
    for found, what, ending in (
        (table_separator(start) is not None and len(first) > 1, "the names of columns", ".csv"),
        (start.startswith('{"') and start.rstrip().endswith("}"), "a JSON object", ".jsonl"),
    ):
        if found:
            raise UserError(
                f"{source}: line 1 ({shortened(start)}) looks like {what}, but a .txt holds one "
                f"text a line: rename the file, FILE{ending}"
            )


BIO_TAG = re.compile(r"O|[BIELSU]-\w+")


def check_no_tags(source: str, first: Sequence[tuple[int, str]]) -> None:
    """Raise `UserError` if the first two lines are a word and its tag each."""
    ends = [line.split()[-1] for _, line in first if len(line.split()) > 1]
    if len(ends) == len(first) > 1 and all(map(BIO_TAG.fullmatch, ends)):
        raise UserError(
            f"{source}: line 1 ({shortened(first[0][1])}) looks like a word with its tag: give "
            "words in columns as --input FILE.conll, or else one text a line"
        )


def check_no_table(source: str, first: Sequence[tuple[int, str]]) -> None:
    """Raise `UserError` if the first lines look like a table whose columns have unusual names."""
    marks = {",": None, ";": "semicolons", "|": "bars"}
    for mark, name in marks.items():
        names, *below = (line.split(mark) for _, line in first)
        if len(names) < 2 or not below or len(below[0]) != len(names):
            continue
        if not all(map(is_name, names)):
            continue
        if name:
            raise UserError(
                f"{source}: line 1 ({shortened(first[0][1])}) looks like the names of columns "
                f"separated by {name}: write commas or tabs between columns"
            )
        raise UserError(
            f"{source}: line 1 ({shortened(first[0][1])}) looks like the names of columns: "
            "say which of them holds the text, --columns TEXT; lines of plain text can be given as "
            "--input FILE.txt"
        )


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
    (example,) = questions_from(iter([row]), labelled=False)
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
