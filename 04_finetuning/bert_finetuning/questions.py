"""Questions to a text, answered by a span of it: SQuAD 1.1 and 2.0, as files or from the Hub."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bert_finetuning.examples import Answer, Question
from bert_finetuning.rows import Row, Table, bare_suffix, lines_of, shown, text_field
from bert_finetuning.sources import at_least_one, is_file, open_rows
from bert_run.errors import UserError


def read_questions(source: str | Path, *, stream: bool = True) -> Iterator[Question]:
    """Questions of a SQuAD file (`.json`), of JSON lines, or of a dataset of the Hub.

    Every answer must stand in its context where it says: a model learns from these places.
    """
    path = Path(source).expanduser()
    if is_file(source) and not holds_rows(path):
        questions = squad_questions(path)
    else:
        questions = questions_from(open_rows(source, stream=stream))
    return at_least_one(_each_id_once(questions, source), source)


def holds_rows(path: Path) -> bool:
    """Whether a file has one question a line; by its name, or by its first line."""
    if bare_suffix(path) in (".jsonl", ".ndjson"):
        return True
    _, first = next(lines_of(path), (1, ""))
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and "question" in row


def squad_questions(path: Path, *, labelled: bool = True) -> Iterator[Question]:
    """Articles hold paragraphs, a paragraph holds a context and its questions (`qas`)."""
    content = whole_json(path)
    try:
        for article in content["data"]:
            for paragraph in article["paragraphs"]:
                context = text_field(Row(f"{path}: a paragraph", paragraph), "context")
                for asked in paragraph["qas"]:
                    yield squad_question(asked, context, path, labelled=labelled)
    except (KeyError, TypeError, AttributeError) as error:
        what = f"it has no {error}" if isinstance(error, KeyError) else "see data, paragraphs, qas"
        raise UserError(f"{path} is not in the form of SQuAD: {what}") from None


def squad_question(
    asked: dict[str, Any], context: str, path: Path, *, labelled: bool = True
) -> Question:
    """One of `qas`. Version 2.0 marks those without an answer as `is_impossible`."""
    place = f"{path}: question {shown(asked['id'])}"
    question = text_field(Row(place, asked), "question")
    if not labelled:
        return Question(str(asked["id"]), question, context)
    answers = asked.get("answers", [])
    if asked.get("is_impossible"):
        answers = []
    elif asked.get("is_impossible") is False and not answers:
        raise UserError(f"{place} is said to be possible, and has no answer")
    spans = [(answer["text"], answer["answer_start"]) for answer in answers]
    return Question(str(asked["id"]), question, context, _in_context(place, spans, context))


NO_ANSWERS: dict[str, list] = {"text": [], "answer_start": []}


def questions_from(rows: Table, *, labelled: bool = True) -> Iterator[Question]:
    """Rows as on the Hub: `id`, `question`, `context` and `answers`, which holds the lists `text`
    and `answer_start`. Without `answers` nothing is known of them; unless `labelled`, they are not
    looked at."""
    for row in rows:
        context, question = text_field(row, "context"), text_field(row, "question")
        answers = (row.fields.get("answers") if labelled else None) or NO_ANSWERS
        try:
            spans = list(zip(answers["text"], answers["answer_start"], strict=True))
        except (KeyError, TypeError, ValueError):
            raise UserError(
                f"{row.place}: 'answers' must hold two lists of one length, text and answer_start"
            ) from None
        name = row.fields.get("id")
        name = row.place if name is None else str(name)
        yield Question(name, question, context, _in_context(row.place, spans, context))


def _in_context(place: str, spans: list[tuple[Any, Any]], context: str) -> tuple[Answer, ...]:
    """The answers, if they are all where they are said to be."""
    for text, start in spans:
        if not isinstance(text, str) or type(start) is not int:
            raise UserError(f"{place}: an answer needs a text and a whole number answer_start")
        if not text.strip():
            raise UserError(
                f"{place}: an answer is empty: write the words of the context that answer, or no "
                "answer at all"
            )
        if start < 0 or not context.startswith(text, start):
            where = context.find(text)
            instead = f"it stands at {where}" if where >= 0 else "it stands nowhere"
            raise UserError(
                f"{place}: the answer {shown(text)} is not at {start} of its context; {instead}: "
                "repair answer_start (it counts characters)"
            )
    return tuple(Answer(text, start) for text, start in spans)


def _each_id_once(questions: Iterator[Question], source: str | Path) -> Iterator[Question]:
    """Predictions are kept by id, so two questions must not share one."""
    seen: set[str] = set()
    for question in questions:
        if question.id in seen:
            raise UserError(f"{source}: two questions have the id {shown(question.id)}: rename one")
        seen.add(question.id)
        yield question


def whole_json(path: Path) -> Any:
    """The one value that a JSON file holds, plain or packed."""
    text = "\n".join(line for _, line in lines_of(path))
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(
            f"{path}: line {error.lineno} is not JSON ({error.msg}): fetch the file again"
        ) from None
    except (RecursionError, ValueError):  # a ValueError: a number of 5,000 digits
        raise UserError(
            f"{path} is not JSON that can be read: nested too deep, or a number too long"
        ) from None
