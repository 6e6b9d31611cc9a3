"""A label for a text or a pair of texts: sentiment, entailment, most of GLUE (section 4.1)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from tokenizers import Tokenizer

from bert_finetuning.examples import TextExample
from bert_finetuning.heads import BertForSequenceClassification
from bert_finetuning.kinds.base import Batch, Kind, Logits, Reading
from bert_finetuning.kinds.pairs import fitted, inputs, softmax, with_labels
from bert_finetuning.metrics import METRICS
from bert_finetuning.rows import one_of
from bert_run.errors import UserError


@dataclass(frozen=True)
class LabelPrediction:
    """The likeliest label, and the probability of each in the order of the head."""

    label: str
    probabilities: tuple[float, ...]


@dataclass(frozen=True)
class Texts(Kind[TextExample, LabelPrediction]):
    """One label of several; the head's `labels` are all there are."""

    model: ClassVar = BertForSequenceClassification

    def read(
        self, examples: Sequence[TextExample], tokenizer: Tokenizer, *, max_length: int
    ) -> list[Reading]:
        numbers = [self._number(example.label, place) for place, example in enumerate(examples)]
        texts = [(example.text, example.pair) for example in examples]
        rows = fitted(tokenizer, texts, max_length=max_length, what=texts_or_pairs(examples))
        return [
            Reading(place, *row, {} if number is None else {"labels": number})
            for place, (row, number) in enumerate(zip(rows, numbers, strict=True))
        ]

    def _number(self, label: str | float | None, place: int) -> int | None:
        if label is None:
            return None
        if label not in self.head.labels:
            raise UserError(
                f"example {place + 1:,}: the label is {label!r}, not {one_of(self.head.labels)}"
            )
        return self.head.labels.index(label)

    def batch(self, readings: Sequence[Reading], *, pad_id: int) -> Batch:
        return with_labels(inputs(readings, pad_id=pad_id), readings, np.int64)

    def count(self, batch: Batch) -> int:
        return len(batch["labels"])

    def predict(
        self,
        examples: Sequence[TextExample],
        readings: Sequence[Reading],
        logits: Sequence[Logits],
    ) -> list[LabelPrediction]:
        return [self._prediction(softmax(each)) for each in logits]

    def _prediction(self, probabilities: np.ndarray) -> LabelPrediction:
        best = self.head.labels[int(probabilities.argmax())]
        return LabelPrediction(best, tuple(probabilities.tolist()))

    def most_common(
        self, train: Sequence[TextExample], examples: Sequence[TextExample]
    ) -> list[LabelPrediction]:
        counts = Counter(example.label for example in train)
        shares = np.array([counts[label] for label in self.head.labels]) / len(train)
        return [self._prediction(shares)] * len(examples)

    def score(
        self, examples: Sequence[TextExample], predictions: Sequence[LabelPrediction]
    ) -> dict[str, float]:
        number = self.head.labels.index
        right = np.array([number(example.label) for example in examples])
        said = np.array([number(prediction.label) for prediction in predictions])
        return {name: METRICS[name](right, said) for name in self.metrics}

    def shown(self, example: TextExample, prediction: LabelPrediction) -> dict[str, Any]:
        each = zip(self.head.labels, prediction.probabilities, strict=True)
        ranked = sorted(each, key=lambda both: -both[1])
        return {
            **text_fields(example),
            "label": prediction.label,
            "probabilities": {label: round(probability, 6) for label, probability in ranked},
        } | ({} if example.label is None else {"right": example.label})

    def said(self, prediction: LabelPrediction) -> str:
        return prediction.label


def text_fields(example: TextExample) -> dict[str, str]:
    pair = {} if example.pair is None else {"pair": example.pair}
    return {"text": example.text, **pair}


def texts_or_pairs(examples: Sequence[TextExample]) -> str:
    return "pairs" if examples and examples[0].pair is not None else "texts"
