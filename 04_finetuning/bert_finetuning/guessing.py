"""Which of the six formats does a file have? Its name tells, or its columns and first labels do."""

from itertools import islice
from pathlib import Path

from bert_corpus.text_files import kind_of
from bert_finetuning.labels import are_numbers
from bert_finetuning.reading import (
    CONTEXTS,
    ENDINGS,
    LABELS,
    PAIRS,
    TEXTS,
    Columns,
    unknown_column,
)
from bert_finetuning.rows import Row, bare_suffix, first_named, lines_of
from bert_finetuning.sources import is_file, open_rows
from bert_finetuning.tagged import WORDS
from bert_run.errors import UserError

SAMPLE = 100  # rows whose labels are looked at


def guess_format(source: str | Path, columns: Columns) -> str:
    """The format of a file or a dataset of the Hub. Raises `UserError` where nothing tells it."""
    path = Path(source).expanduser()
    if is_file(source):
        if bare_suffix(path) in (".conll", ".conllu", ".bio"):
            return "tags"
        if bare_suffix(path) == ".json" and is_squad(path):
            return "questions"
        if bare_suffix(path) not in (".tsv", ".csv") and kind_of(path) != "json":
            if path.is_dir():
                raise UserError(f"{path}: a folder: name a file in it")
            raise UserError(
                f"{path}: its name does not tell what it holds: save a table as .csv, .tsv or "
                ".jsonl; for text in columns give --format"
            )
    sample = list(islice(open_rows(source, numbered=columns.numbered), SAMPLE))
    if not sample:
        raise UserError(f"{source}: there is no example in it")
    return format_of_rows(sample, columns)


def is_squad(path: Path) -> bool:
    """Whether a `.json` is one object of many lines, or of one that begins as SQuAD's does."""
    _, first = next(iter(lines_of(path)), (0, ""))
    start = "".join(first.split())[:40]
    return start == "{" or '"data":[' in start or start.startswith('{"version":')


def format_of_rows(sample: list[Row], columns: Columns) -> str:
    first = sample[0]
    has = first.fields.__contains__
    if first_named(first, WORDS):
        return "tags"
    if has("question") and has("context"):
        return "questions"
    if first_named(first, ENDINGS) or has("ending0") or has("choice0"):
        return "choices"
    if has("sentences"):
        return "extracts"
    texts = {name for pair in (*PAIRS, *CONTEXTS) for name in pair if name} | set(TEXTS)
    if columns.text is None and not any(map(has, texts)):
        raise unknown_column(first, TEXTS[0])
    name = columns.label or first_named(first, LABELS)
    return "numbers" if are_numbers([row.fields.get(name) for row in sample]) else "texts"
