"""An answer to be explained: the words that were read, and which logits decided.

a text, a pair    the logits of its labels              read from [CLS]
a number          the only logit                        read from [CLS]
a tag             the logits of its word's tags         read from the word's first piece
an answer         of all tokens, for start and end      read from its first and last token
an ending         the logit of each ending              read from [CLS]
an extract        of one sentence: selected or not      read from [CLS]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from jaxtyping import Float
from tokenizers import Tokenizer
from torch import Tensor

from bert_finetuning.features import Features
from bert_finetuning.heads import SpanLogits
from bert_finetuning.metrics import answer_exact
from bert_finetuning.tasks.base import Task
from bert_finetuning.tasks.classification import TextExample
from bert_finetuning.tasks.extraction import Extract
from bert_finetuning.tasks.multiple_choice import Choice
from bert_finetuning.tasks.question_answering import Question
from bert_finetuning.tasks.spans import Answer, tokens_of
from bert_finetuning.tasks.tagging import TaggedSentence

SPECIAL = ("[CLS]", "[SEP]", "[PAD]")
CLS = (0,)  # the first token, from which most heads read
NO_ANSWER = "(no answer)"


class Decision(NamedTuple):
    """The logits of all alternatives, and which of them was chosen."""

    logits: Float[Tensor, "alternatives"]
    chosen: int


@dataclass(frozen=True)
class Word:
    """A word, and its tokens `first` … `end` - 1 in what the model reads."""

    text: str
    first: int
    end: int

    @property
    def is_special(self) -> bool:
        """[CLS] and [SEP] are nobody's words, and take much of the attention."""
        return self.text in SPECIAL and self.end - self.first == 1


def words_of(ids: Sequence[int], tokenizer: Tokenizer) -> list[Word]:
    """A token, and what follows with "##"; in the letters of the vocabulary, lower case mostly."""
    words: list[Word] = []
    for place, token in enumerate(map(tokenizer.id_to_token, ids)):
        if token.startswith("##") and words and not words[-1].is_special:
            before = words.pop()
            words.append(Word(before.text + token[2:], before.first, place + 1))
        else:
            words.append(Word(token, place, place + 1))
    return words


def words_of_sentence(features: Features, sentence: TaggedSentence) -> list[Word]:
    """The words of a tagged sentence as they were written."""
    first_word, tokens = features.place
    last = len(features.input_ids) - 1
    ends = [*tokens[1:].tolist(), last]
    words = [
        Word(sentence.words[first_word + number], first, end)
        for number, (first, end) in enumerate(zip(tokens.tolist(), ends, strict=True))
    ]
    return [Word("[CLS]", 0, 1), *words, Word("[SEP]", last, last + 1)]


@dataclass(frozen=True)
class Case:
    """One answer, and the expected one if it is known."""

    features: Features
    words: list[Word]
    question: str
    answer: str
    expected: str | None
    is_wrong: bool
    confidence: float  # a probability; of a number how far it is off
    chosen: tuple[int, ...]  # one alternative; of a span two tokens
    read_from: tuple[int, ...] = CLS  # tokens whose vectors the head has read

    @property
    def example(self) -> int:
        return self.features.example

    def decisions(self, logits: Tensor | SpanLogits) -> list[Decision]:
        """What decided, in the logits of a batch that holds these features alone."""
        if isinstance(logits, SpanLogits):
            both = (logits.start[0], logits.end[0])
            return [Decision(*each) for each in zip(both, self.chosen, strict=True)]
        row = logits[0, self.read_from[0]] if logits.ndim == 3 else logits[0]
        return [Decision(row, self.chosen[0])]


class Answered(NamedTuple):
    """An example, what was read of it, and what the model predicted."""

    example: Any
    readings: list[Reading]
    prediction: Any
    kind: Kind
    tokenizer: Tokenizer


def cases_of(
    task: Task,
    examples: Sequence,
    features: Sequence[Features],
    predictions: Sequence,
    tokenizer: Tokenizer,
) -> list[Case]:
    """Every answer to every example, in their order: of a sentence one a word, of a document one
    for each sentence that was selected or should have been."""
    own: list[list[Features]] = [[] for _ in examples]
    for each in features:
        own[each.example].append(each)
    return [
        case
        for example, read, prediction in zip(examples, own, predictions, strict=True)
        if read
        for case in cases(example, read, prediction, task, tokenizer)
    ]


@singledispatch
def cases(
    example: Any, parts: list[Features], prediction: Any, task: Task, tokenizer: Tokenizer
) -> list[Case]:
    """The answers to one example."""
    raise TypeError(f"nothing is known of {type(example).__name__}")


@cases.register
def _(
    example: TextExample, parts: list[Features], prediction: Any, task: Task, tokenizer: Tokenizer
) -> list[Case]:
    (part,) = parts
    words, said, right = (
        words_of(part.input_ids, tokenizer),
        task.answer(prediction),
        example.label,
    )
    known = right is not None
    if isinstance(said, float):
        off = abs(said - right) if known else 0.0
        shown = f"{right:.2f}" if known else None
        name = task.head.labels[0]
        return [Case(part, words, name, f"{said:.2f}", shown, off > 0, off, (0,))]
    wrong, sure = known and said != right, max(prediction.probabilities)
    return [Case(part, words, "label", said, right, wrong, sure, (task.head.labels.index(said),))]


@cases.register
def _(
    example: TaggedSentence,
    parts: list[Features],
    prediction: Any,
    task: Task,
    tokenizer: Tokenizer,
) -> list[Case]:
    found = []
    for part in parts:
        words = words_of_sentence(part, example)
        for number, token in enumerate(part.place.tokens.tolist(), part.place.first_word):
            said, sure = prediction.tags[number], prediction.probabilities[number]
            right = example.tags[number] if example.tags else None
            wrong = right is not None and said != right
            asked, chosen = f"tag of {example.words[number]}", (task.head.labels.index(said),)
            found.append(Case(part, words, asked, said, right, wrong, sure, chosen, (token,)))
    return found


@cases.register
def _(
    example: Question, parts: list[Features], prediction: Any, task: Task, tokenizer: Tokenizer
) -> list[Case]:
    said = task.answer(prediction)
    accepted = list(dict.fromkeys(answer.text for answer in example.answers))
    wrong = bool(accepted) and not answer_exact(said, accepted)
    part, span = parts[0], (0, 0)  # "no answer" is the span of [CLS]
    if said:
        best = prediction.candidates[0]
        part, span = window_with(Answer(best.text, best.start), parts)
    words, right = words_of(part.input_ids, tokenizer), " / ".join(accepted) or None
    sure, read_from = prediction.probability, tuple(sorted(set(span)))
    return [
        Case(part, words, example.question, said or NO_ANSWER, right, wrong, sure, span,
             read_from)
    ]  # fmt: skip


def window_with(answer: Answer, parts: list[Features]) -> tuple[Features, tuple[int, int]]:
    """The window that holds the answer and sees most around it, and its first and last token in
    what is read there."""
    found = []
    for part in parts:
        window = part.place
        span = tokens_of(answer, window.offsets)
        if span is None:
            continue
        begin, end = window.offsets[span.first, 0], window.offsets[span.last, 1]
        if begin <= answer.start and answer.start + len(answer.text.rstrip()) <= end:
            shift = len(part.input_ids) - 1 - len(window.offsets)  # the last token is [SEP]
            found.append((bool(window.best[span.first]), part,
                          (span.first + shift, span.last + shift)))  # fmt: skip
    _, part, span = max(found, key=lambda each: each[0])
    return part, span


@cases.register
def _(
    example: Choice, parts: list[Features], prediction: Any, task: Task, tokenizer: Tokenizer
) -> list[Case]:
    """The ending that was chosen is shown, read with the beginning."""
    (part,) = parts
    said, sure = task.answer(prediction), max(prediction.probabilities)
    known = example.label is not None
    right = example.endings[example.label] if known else None
    words, wrong = words_of(part.input_ids[said], tokenizer), known and said != example.label
    return [Case(part, words, example.context, example.endings[said], right, wrong, sure, (said,))]


@cases.register
def _(
    example: Extract, parts: list[Features], prediction: Any, task: Task, tokenizer: Tokenizer
) -> list[Case]:
    found, names = [], ("left out", "selected")
    for part in parts:
        taken, right = part.place in prediction.chosen, part.place in example.selected
        if not (taken or right):
            continue
        chance, known = prediction.probabilities[part.place], bool(example.selected)
        found.append(
            Case(part, words_of(part.input_ids, tokenizer), example.sentences[part.place],
                 names[taken], names[right] if known else None, known and taken != right,
                 chance if taken else 1 - chance, (int(taken),))
        )  # fmt: skip
    return found
