"""What the examples of each kind of task hold, wherever they come from.

Labels go by name here; the numbers that a head counts with are their places in the task's list.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TextExample:
    """A text or a pair of texts, and what is said of it: a label, a number, or nothing yet."""

    text: str
    pair: str | None = None
    label: str | float | None = None


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    """Words and the tag of each; no tags where they are to be found."""

    words: tuple[str, ...]
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    start: int  # context[start:][:len(text)] == text


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a text. No answers: the text has none (SQuAD 2.0), or nobody gave one."""

    id: str
    question: str
    context: str
    answers: tuple[Answer, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """How does the context go on? `label` is the place of the right ending, from 0."""

    context: str
    endings: tuple[str, ...]
    label: int | None = None


@dataclass(frozen=True, slots=True)
class Extract:
    """A document in sentences, and the places of those that sum it up, from 0."""

    sentences: tuple[str, ...]
    selected: tuple[int, ...] = ()


def is_empty(example: Any) -> bool:
    """Whether an example lacks text: there is nothing to read, and nothing to answer."""
    parts: Sequence[str | None]
    match example:
        case TextExample():
            parts = (example.text, example.pair)
        case Question():
            parts = (example.question, example.context)
        case Choice():
            parts = (example.context, *example.endings)
        case TaggedSentence():
            parts = ("".join(example.words),)
        case Extract():
            parts = ("".join(example.sentences),)
    return any(part is not None and not part.strip() for part in parts)


def label_set(labels: Iterable[str]) -> tuple[str, ...]:
    """The different labels in one lasting order: numbers by their size, other names by letter."""
    different = set(labels)
    if all(label.isdecimal() for label in different):
        size = lambda digits: (len(digits), digits)  # noqa: E731 - int() refuses very long ones
        return tuple(sorted(different, key=lambda label: (*size(label.lstrip("0")), label)))
    return tuple(sorted(different))
