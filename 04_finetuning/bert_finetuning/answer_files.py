"""Answers as a file, one row for each row that was asked: CSV or JSON lines, by the name's ending.

A CSV holds the line number, every column of the input as it was, and the answer in columns of its
own, so that the file is the input with answers beside it. JSON lines hold what `bert-predict
--json` prints.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from bert_finetuning.kinds.base import Kind
from bert_finetuning.new_text import Asked
from bert_finetuning.rows import shown
from bert_finetuning.showing import shown_as_json
from bert_run.errors import UserError
from bert_run.files import write_whole

ENDINGS = (".csv", ".jsonl")

# The columns of an answer in a CSV, by the format of the examples.
ANSWERS = {
    "texts": ("predicted_label", "probability"),
    "numbers": ("predicted_number",),
    "tags": ("predicted_words", "predicted_tags"),
    "questions": ("predicted_answer", "predicted_start", "probability"),
    "choices": ("predicted_place", "predicted_ending", "probability"),
    "extracts": ("predicted_places", "predicted_sentences"),
}


def check_out(out: Path) -> None:
    """Raise `UserError` unless a file of answers can be written there."""
    if out.suffix not in ENDINGS:
        raise UserError(f"--out is {out}: its name must end in .csv or .jsonl")
    if not out.parent.is_dir():
        raise UserError(f"--out {out}: there is no folder {out.parent}")
    if out.exists():
        raise UserError(f"--out {out} exists: choose another name, or remove that file")


def write_answers(
    out: Path, kind: Kind, format: str, answered: Iterable[tuple[Asked, Any]]
) -> None:
    """Write all answers, or nothing if one of the rows cannot be read."""
    rows = as_json if out.suffix == ".jsonl" else as_csv
    with write_whole(out) as file:
        for line in rows(kind, format, answered):
            file.write(line.encode("utf-8"))


def as_json(kind: Kind, format: str, answered: Iterable[tuple[Asked, Any]]) -> Iterator[str]:
    for asked, prediction in answered:
        yield json.dumps(shown_as_json(kind, asked, prediction), ensure_ascii=False) + "\n"


def as_csv(kind: Kind, format: str, answered: Iterable[tuple[Asked, Any]]) -> Iterator[str]:
    """The lines of a CSV. The first row with a text decides on the columns."""
    answered = iter(answered)
    empty = []  # rows without text, before the first with one
    first = next(answered, None)
    while first is not None and first[1] is None:
        empty.append(first)
        first = next(answered, None)
    ahead = empty if first is None else [first, *empty]
    columns = list(csv_row(format, *ahead[0]))
    yield csv_line(columns)
    for asked, prediction in chain(empty, () if first is None else (first,), answered):
        row = csv_row(format, asked, prediction)
        if foreign := [name for name in row if name not in columns]:
            raise UserError(
                f"line {asked.line} has a column {foreign[0]!r}, which the first row has not: give "
                "--out FILE.jsonl, whose rows need not be alike"
            )
        yield csv_line([row.get(name, "") for name in columns])


def csv_row(format: str, asked: Asked, prediction: Any) -> dict[str, Any]:
    """Line, columns of the input, answer; where a name is taken, ours gets an underscore."""
    given = dict(asked.row)
    if not given and (prediction is not None or asked.line is None):
        given = asked.given  # what else would tell which row is unanswered?
    answer = dict(zip(ANSWERS[format], cells(format, asked, prediction), strict=True))
    row: dict[str, Any] = {} if asked.line is None else {free("line", given): asked.line}
    row |= {name: as_cell(value) for name, value in given.items()}
    return row | {free(name, given): as_cell(value) for name, value in answer.items()}


def free(name: str, taken: Mapping[str, Any]) -> str:
    while name in taken:
        name += "_"
    return name


def as_cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def csv_line(cells: list[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def cells(format: str, asked: Asked, prediction: Any) -> tuple[Any, ...]:
    """What stands in the columns of `ANSWERS`; nothing where there was no text to answer."""
    example = asked.example
    if prediction is None:
        return (None,) * len(ANSWERS[format])
    if format == "numbers":
        return (round(prediction, 6),)
    if format == "tags":
        if spaced := next((word for word in example.words if len(word.split()) != 1), None):
            raise UserError(
                f"line {asked.line}: the word {shown(spaced)} has a blank in it, and in a CSV "
                "blanks separate the words: give --out FILE.jsonl"
            )
        return " ".join(example.words), " ".join(prediction.tags)
    if format == "questions":
        start = prediction.candidates[0].start if prediction.text else None
        return prediction.text, start, round(prediction.probability, 6)
    if format == "extracts":
        sentences = [example.sentences[place] for place in prediction.chosen]
        return " ".join(map(str, prediction.chosen)), " ".join(sentences)
    highest = round(max(prediction.probabilities), 6)
    if format == "choices":
        return prediction.place, example.endings[prediction.place], highest
    return prediction.label, highest
