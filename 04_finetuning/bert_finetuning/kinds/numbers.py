"""A number for a text or a pair of texts: how alike are they, from 0 to 5? (STS-B)"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from tokenizers import Tokenizer

from bert_finetuning.examples import TextExample
from bert_finetuning.heads import BertForSequenceClassification
from bert_finetuning.kinds.base import Batch, Kind, Logits, Reading
from bert_finetuning.kinds.pairs import fitted, inputs, with_labels
from bert_finetuning.kinds.texts import text_fields, texts_or_pairs
from bert_finetuning.metrics import METRICS

SAME = 0.02  # numbers that differ by less than this share of the largest are one number


@dataclass(frozen=True)
class Numbers(Kind[TextExample, float]):
    """One number; the head has a single label, the number's name."""

    model: ClassVar = BertForSequenceClassification

    def read(
        self, examples: Sequence[TextExample], tokenizer: Tokenizer, *, max_length: int
    ) -> list[Reading]:
        texts = [(example.text, example.pair) for example in examples]
        rows = fitted(tokenizer, texts, max_length=max_length, what=texts_or_pairs(examples))
        return [
            Reading(place, *row, {} if example.label is None else {"labels": float(example.label)})
            for place, (row, example) in enumerate(zip(rows, examples, strict=True))
        ]

    def batch(self, readings: Sequence[Reading], *, pad_id: int) -> Batch:
        return with_labels(inputs(readings, pad_id=pad_id), readings, np.float32)

    def count(self, batch: Batch) -> int:
        return len(batch["labels"])

    def predict(
        self,
        examples: Sequence[TextExample],
        readings: Sequence[Reading],
        logits: Sequence[Logits],
    ) -> list[float]:
        return [float(each[0]) for each in logits]

    def most_common(
        self, train: Sequence[TextExample], examples: Sequence[TextExample]
    ) -> list[float]:
        """The mean of train: of all constants it has the least squared error."""
        return [float(np.mean([example.label for example in train]))] * len(examples)

    def score(
        self, examples: Sequence[TextExample], predictions: Sequence[float]
    ) -> dict[str, float]:
        """The metrics, and the root of the mean squared error in the numbers' own unit.

        Correlations are 0 for a constant: only `rmse` tells how good the mean is as a guess.
        """
        right = np.array([example.label for example in examples], np.float64)
        said = np.array(predictions, np.float64)
        scores = {name: METRICS[name](right, said) for name in self.metrics}
        return scores | {"rmse": float(np.sqrt(np.mean((right - said) ** 2)))}

    def shown(self, example: TextExample, prediction: float) -> dict[str, Any]:
        right = {} if example.label is None else {"right": example.label}
        return {**text_fields(example), self.head.labels[0]: round(prediction, 6)} | right

    def is_collapsed(self, predictions: Sequence[float]) -> bool:
        """A run that has learnt nothing says nearly the same number each time, never quite."""
        said = np.array(predictions)
        return len(said) > 1 and bool(np.ptp(said) <= SAME * np.abs(said).max())

    def said(self, prediction: float) -> float:
        return prediction
