"""An answer to be explained: the words that were read, and which logits decided.

a text, a pair    the logits of its labels              read from [CLS]
a number          the only logit                        read from [CLS]
a tag             the logits of its word's tags         read from the word's first piece
an answer         of all tokens, for start and end      read from its first and last token
an ending         the logit of each ending              read from [CLS]
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from jaxtyping import Float
from tokenizers import Tokenizer
from torch import Tensor

from bert_finetuning.metrics import answer_exact
from bert_finetuning.tasks.base import Features, Task
from bert_finetuning.tasks.classification import TextExample
from bert_finetuning.tasks.multiple_choice import Choice
from bert_finetuning.tasks.question_answering import Answer, Question, SpanLogits, tokens_of
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
    parts: list[Features]
    prediction: Any
    task: Task
    tokenizer: Tokenizer


def cases_of(
    task: Task, examples: Sequence, features: Sequence[Features], predictions: Sequence,
    tokenizer: Tokenizer,
) -> list[Case]:  # fmt: skip
    """Every answer to every example, in their order: of a tagged sentence one a word."""
    own: list[list[Features]] = [[] for _ in examples]
    for each in features:
        own[each.example].append(each)
    found: list[Case] = []
    for example, read, prediction in zip(examples, own, predictions, strict=True):
        if read:
            found += CASES[type(example)](Answered(example, read, prediction, task, tokenizer))
    return found


def text_cases(of: Answered) -> Iterator[Case]:
    (part,), labels = of.parts, of.task.head.labels
    words, answer = words_of(part.input_ids, of.tokenizer), of.task.answer(of.prediction)
    right = of.example.label
    known = right is not None
    if isinstance(answer, float):
        off = abs(answer - right) if known else 0.0
        expected = f"{right:.2f}" if known else None
        yield Case(part, words, labels[0], f"{answer:.2f}", expected, off > 0, off, (0,))
        return
    is_wrong, confidence = known and answer != right, max(of.prediction.probabilities)
    chosen = (labels.index(answer),)
    yield Case(part, words, "label", answer, right, is_wrong, confidence, chosen)


def tag_cases(of: Answered) -> Iterator[Case]:
    sentence, prediction, labels = of.example, of.prediction, of.task.head.labels
    for part in of.parts:
        words = words_of_sentence(part, sentence)
        for number, token in enumerate(part.place.tokens.tolist(), part.place.first_word):
            tag = prediction.answer[number]
            right = sentence.tags[number] if sentence.tags else None
            is_wrong = right is not None and tag != right
            asked, confidence = f"tag of {sentence.words[number]}", prediction.probabilities[number]
            chosen = (labels.index(tag),)
            yield Case(part, words, asked, tag, right, is_wrong, confidence, chosen, (token,))


def question_cases(of: Answered) -> Iterator[Case]:
    answer = of.task.answer(of.prediction)
    accepted = list(dict.fromkeys(answer.text for answer in of.example.answers))
    is_wrong = bool(accepted) and not answer_exact(answer, accepted)
    part, span = of.parts[0], (0, 0)  # "no answer" is the span of [CLS]
    if answer:
        best = of.prediction.candidates[0]
        part, span = window_with(Answer(best.text, best.start), of.parts)
    words = words_of(part.input_ids, of.tokenizer)
    yield Case(part, words, of.example.question, answer or NO_ANSWER,
               " / ".join(accepted) or None, is_wrong, of.prediction.probability, span,
               tuple(sorted(set(span))))  # fmt: skip


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


def choice_cases(of: Answered) -> Iterator[Case]:
    """The ending that was chosen is shown, read with the beginning."""
    (part,), example = of.parts, of.example
    chosen, known = of.task.answer(of.prediction), example.label is not None
    right = example.endings[example.label] if known else None
    words = words_of(part.input_ids[chosen], of.tokenizer)
    yield Case(part, words, example.context, example.endings[chosen], right,
               known and chosen != example.label, max(of.prediction.probabilities),
               (chosen,))  # fmt: skip


CASES: dict[type, Callable[[Answered], Iterator[Case]]] = {
    TextExample: text_cases,
    TaggedSentence: tag_cases,
    Question: question_cases,
    Choice: choice_cases,
}
