"""What `bert-predict` is asked by its arguments, without labels; `new_rows.py` reads files."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bert_corpus.sentences import split_prose
from bert_finetuning.examples import Choice, Extract, Question, TaggedSentence, TextExample
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
    """An example without its answer, and where it comes from."""

    example: Any
    text: str = ""  # the text that its words were split from, and their places in it
    places: tuple[Place, ...] = ()
    line: int | None = None  # of the file or of standard input; of a dataset of the Hub its row
    row: Mapping[str, Any] = field(default_factory=dict)  # all columns
    read: tuple[str, ...] = ()  # those of them that the example was made of

    @property
    def given(self) -> dict[str, str]:
        """The texts of the example, by the names that an answer has for them."""
        names = [name for name in ("id", "text", "pair", "question", "context")
                 if getattr(self.example, name, None) is not None]  # fmt: skip
        return {name: getattr(self.example, name) for name in names} or {"text": self.text}

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
