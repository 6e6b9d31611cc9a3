"""A number for a text or a pair of texts: how alike are they, from 0 to 5? (STS-B)"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bert_finetuning.data.rows import Columns, Expected, NumberLabels, are_numbers
from bert_finetuning.metrics import Scorer, column_scorer
from bert_finetuning.tasks.base import AllLogits, Encoded, Mistake, Query, Style, one_line
from bert_finetuning.tasks.classification import TextExample, TextExamples, TextTask

SAME = 0.02  # numbers that differ by less than this share of the largest are one number


@dataclass(frozen=True)
class Regression(TextTask):
    """One number; the head has a single label, the number's name."""

    format: ClassVar = "numbers"
    problem_type: ClassVar = "regression"
    label_type: ClassVar = np.float32
    default_metrics: ClassVar = ("spearman", "pearson")
    known_metrics: ClassVar = default_metrics
    learns: ClassVar = "a number for each {what}"
    accepts_labels: ClassVar = staticmethod(are_numbers)
    answer_columns: ClassVar = ("predicted_number",)
    error_columns: ClassVar = ("text", "said", "off by", "right")
    error_order: ClassVar = "furthest off"

    @classmethod
    def label_parser(cls, columns: Columns, expected: Expected):
        return NumberLabels(columns.label or "", expected.tally.note).of

    @classmethod
    def labels_of(cls, examples: TextExamples) -> tuple[str, ...]:
        return ("score",)

    def summary(self, train: TextExamples, dev: TextExamples) -> tuple[str, str]:
        """Lowest, mean and highest number of both sets."""
        parts = []
        for name, examples in (("train", train), ("dev", dev)):
            numbers = [example.label for example in examples]
            mean = sum(numbers) / len(numbers)
            parts.append(f"{min(numbers):g} to {max(numbers):g} in {name}, mean {mean:.3g}")
        return "numbers", "; ".join(parts)

    def target(self, example: TextExample, place: int) -> float | None:
        return None if example.label is None else float(example.label)

    def predict(self, examples: TextExamples, features: Encoded, logits: AllLogits) -> list[float]:
        return [float(each[0]) for each in logits]

    def majority(self, train: TextExamples, examples: TextExamples) -> list[float]:
        """The mean of train: of all constants it has the least squared error."""
        return [float(np.mean([example.label for example in train]))] * len(examples)

    def scorer(self, examples: TextExamples, predictions: Sequence[float]) -> Scorer:
        """The metrics, and the root of the mean squared error in the numbers' own unit.

        Correlations are 0 for a constant: only `rmse` tells how good the mean is as a guess.
        """
        right = np.array([example.label for example in examples], np.float64)
        predicted = np.array(predictions, np.float64)
        correlations = column_scorer(self.metrics, right, predicted)
        squares = (right - predicted) ** 2
        return lambda at: correlations(at) | {"rmse": float(np.sqrt(np.mean(squares[at])))}

    def answer(self, prediction: float) -> float:
        return prediction

    def is_collapsed(self, predictions: Sequence[float]) -> bool:
        """A run that has learned nothing gives nearly the same number each time, never quite."""
        numbers = np.array(predictions)
        return len(numbers) > 1 and bool(np.ptp(numbers) <= SAME * np.abs(numbers).max())

    def answer_cells(self, query: Query, prediction: float) -> tuple[Any, ...]:
        return (round(prediction, 6),)

    def answer_json(self, example: TextExample, prediction: float) -> dict[str, Any]:
        return {self.head.labels[0]: round(prediction, 6)}

    def render(self, query: Query, prediction: float, style: Style) -> str:
        texts = query.example.texts
        if style.brief:
            return one_line([f"{prediction:.3f}", *texts])
        return "\n".join([*texts, f"  {self.head.labels[0]}  {prediction:.3f}"])

    def error_row(self, example: TextExample, prediction: float) -> Mistake:
        off = abs(prediction - example.label)
        text = " ‖ ".join(example.texts)
        return Mistake(off, (text, f"{prediction:.2f}", f"{off:.2f}", f"{example.label:.2f}"))

    def error_summary(
        self, examples: TextExamples, predictions: Sequence[float], wrong: int
    ) -> str:
        off = np.median([abs(e.label - p) for e, p in zip(examples, predictions, strict=True)])
        return f"Of {len(examples):,} numbers half are off by more than {off:.2f}."
