"""Which part of a text answers a question? (SQuAD 1.1 and 2.0, sections 4.2 and 4.3)"""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from tokenizers import Tokenizer

from bert_finetuning.answers import (
    Candidate,
    SpanPrediction,
    WindowLogits,
    answer_of,
    choose_null_threshold,
    decided,
)
from bert_finetuning.examples import Question
from bert_finetuning.head_config import HeadConfig
from bert_finetuning.heads import BertForQuestionAnswering
from bert_finetuning.kinds.base import Batch, Kind, Logits, Reading
from bert_finetuning.kinds.pairs import check_max_length, inputs, row, token_ids
from bert_finetuning.metrics import answer_exact, answer_f1, squad_scores
from bert_finetuning.rows import one_of
from bert_finetuning.windows import (
    TokenSpan,
    Window,
    in_window,
    texts_in_tokens,
    tokens_of,
    windows_of,
)
from bert_run.config import Positions
from bert_run.errors import UserError
from bert_run.ranges import Count, Real, check_fields

SPAN_METRICS = ("f1", "exact")
POSITIONS = ("start_positions", "end_positions")
SHOWN = 5  # candidates


@dataclass(frozen=True)
class Spans(Kind[Question, SpanPrediction]):
    """Lengths are in tokens. `has_null`: some questions have no answer, and none may be given."""

    model: ClassVar = BertForQuestionAnswering

    head: HeadConfig = field(default_factory=HeadConfig)
    metrics: tuple[str, ...] = SPAN_METRICS
    stride: Positions = 128  # from one window of a long text to the next
    max_question: Positions = 64
    max_answer: Positions = 30
    n_best: Count = 20
    has_null: bool = False
    null_threshold: Annotated[float, Real(at_least=-1e9, at_most=1e9)] = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        for metric in self.metrics:
            if metric not in SPAN_METRICS:
                raise UserError(
                    f"answers cannot be measured by {metric!r}: choose {one_of(SPAN_METRICS)}"
                )

    def read(
        self, examples: Sequence[Question], tokenizer: Tokenizer, *, max_length: int
    ) -> list[Reading]:
        """Each question with every window of its text.

        It points at its first answer where a window holds all of that, else at [CLS]; so do all
        windows of a question that is known to have none.
        """
        check_max_length(max_length)
        longest = min(self.max_question, (max_length - 3) // 2)
        questions = token_ids(tokenizer, [example.question for example in examples])
        texts = texts_in_tokens([example.context for example in examples], tokenizer)
        readings: list[Reading] = []
        cut = lost = 0
        for number, (example, question) in enumerate(zip(examples, questions, strict=True)):
            kept, text = question[:longest], texts[example.context]
            span = tokens_of(example.answers[0], text.offsets) if example.answers else None
            found = False
            for window in windows_of(text, max_length - 3 - len(kept), stride=self.stride):
                own = in_window(span, window) if span else None
                found = found or own is not None
                answers = positions(own, len(kept) + 2) if example.answers or self.has_null else {}
                part = row(tokenizer, kept, text.ids[window.first :][: len(window.offsets)])
                readings.append(Reading(number, *part, answers, window))
            cut += len(question) > longest
            lost += bool(example.answers) and not found
        tell_cut(len(examples), cut, lost, longest=longest, max_length=max_length)
        return readings

    def batch(self, readings: Sequence[Reading], *, pad_id: int) -> Batch:
        """With the positions of answers, if any is known. Where none is, they lie past the end,
        and the loss passes over them."""
        batch = inputs(readings, pad_id=pad_id)
        if any(reading.answers for reading in readings):
            seq = batch["input_ids"].shape[1]
            for name in POSITIONS:
                batch[name] = np.array([each.answers.get(name, seq) for each in readings], np.int64)
        return batch

    def count(self, batch: Batch) -> int:
        return int((batch["start_positions"] < batch["input_ids"].shape[1]).sum())

    def predict(
        self, examples: Sequence[Question], readings: Sequence[Reading], logits: Sequence[Logits]
    ) -> list[SpanPrediction]:
        windows: list[list[tuple[Window, WindowLogits]]] = [[] for _ in examples]
        for reading, each in zip(readings, logits, strict=True):
            windows[reading.example].append((reading.place, each))
        return [
            answer_of(example.context, own, longest=self.max_answer, n_best=self.n_best,
                      null_threshold=self.threshold)
            for example, own in zip(examples, windows, strict=True)
        ]  # fmt: skip

    @property
    def threshold(self) -> float | None:
        """By how much "no answer" must beat the best span; None where it must not be said."""
        return self.null_threshold if self.has_null else None

    def tuned(self, dev: Sequence[Question], predictions: Sequence[SpanPrediction]) -> "Spans":
        """The same kind with the threshold that gives `predictions` on dev the best F1."""
        if not (self.has_null and dev):
            return self
        return replace(self, null_threshold=choose_null_threshold(dev, predictions)[0])

    def decide(self, predictions: Sequence[SpanPrediction]) -> list[SpanPrediction]:
        """Predictions made with another threshold, with the answers that follow from this one."""
        return [decided(prediction, self.threshold) for prediction in predictions]

    def most_common(
        self, train: Sequence[Question], examples: Sequence[Question]
    ) -> list[SpanPrediction]:
        """The commonest answer of all, silence where that is commoner; it need not be in the text.

        Of SQuAD it is right in a few of a thousand questions: answers seldom recur.
        """
        counts = Counter(
            question.answers[0].text if question.answers else ""
            for question in train
            if question.answers or self.has_null
        )
        ((text, count),) = counts.most_common(1)
        share = count / counts.total()
        if not text:
            return [SpanPrediction("", 0.0, share, ())] * len(examples)
        places = [example.context.find(text) for example in examples]
        return [SpanPrediction(text, 0.0, 0.0, (Candidate(text, at, share),)) for at in places]

    def score(
        self, examples: Sequence[Question], predictions: Sequence[SpanPrediction]
    ) -> dict[str, float]:
        """F1 and exact match; where some questions have no answer, also those of either kind, and
        what the best threshold would give, under the official script's names."""
        numbers = [str(number) for number in range(len(examples))]
        right = [[answer.text for answer in example.answers] for example in examples]
        said = [prediction.text for prediction in predictions]
        scores = squad_scores(
            dict(zip(numbers, said, strict=True)), dict(zip(numbers, right, strict=True))
        )
        scores = {name: scores[name] for name in self.metrics} | scores
        if self.has_null and "NoAns_f1" in scores:
            for name, judge in (("exact", answer_exact), ("f1", answer_f1)):
                threshold, best = choose_null_threshold(examples, predictions, judge=judge)
                scores |= {f"best_{name}": best, f"best_{name}_thresh": threshold}
        return scores

    def shown(self, example: Question, prediction: SpanPrediction) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "id": example.id,
            "question": example.question,
            "context": example.context,
            "answer": prediction.text,
            "start": prediction.candidates[0].start if prediction.text else None,
            "probability": round(prediction.probability, 6),
            "candidates": [
                {"answer": text, "start": start, "probability": round(chance, 6)}
                for text, start, chance in prediction.candidates[:SHOWN]
            ],
        }
        if self.has_null:
            shown["null_difference"] = round(prediction.null_difference, 6)
        if example.answers:
            shown["right"] = list(dict.fromkeys(answer.text for answer in example.answers))
        return shown

    def said(self, prediction: SpanPrediction) -> str:
        return prediction.text


def positions(span: TokenSpan | None, shift: int) -> dict[str, int]:
    """Where an answer starts and ends in what the model reads; at [CLS] where there is none."""
    first, last = (span.first + shift, span.last + shift) if span else (0, 0)
    return {"start_positions": first, "end_positions": last}


def tell_cut(questions: int, cut: int, lost: int, *, longest: int, max_length: int) -> None:
    """One line on standard error, if a question was cut, or an answer is in no window."""
    told = []
    if cut:
        told.append(f"{cut:,} of {questions:,} questions are longer than {longest} tokens and cut")
    if lost:
        told.append(
            f"{lost:,} of {questions:,} answers lie whole in no window of {max_length} tokens, and "
            "count as not there"
        )
    if told:
        print(f"note: {'; '.join(told)}", file=sys.stderr)
