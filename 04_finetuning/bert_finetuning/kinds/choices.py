"""Which of several endings belongs to a beginning? (SWAG, section 4.4)"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from tokenizers import Tokenizer

from bert_finetuning.examples import Choice
from bert_finetuning.heads import BertForMultipleChoice
from bert_finetuning.kinds.base import Batch, Kind, Logits, Reading, length, padded
from bert_finetuning.kinds.pairs import fitted, shortened, softmax, with_labels
from bert_finetuning.metrics import METRICS
from bert_run.errors import UserError


@dataclass(frozen=True)
class ChoicePrediction:
    """The place of the likeliest ending, from 0, and the probability of each."""

    place: int
    probabilities: tuple[float, ...]


@dataclass(frozen=True)
class Choices(Kind[Choice, ChoicePrediction]):
    """Each ending is read as a pair with the beginning; the head has no labels."""

    model: ClassVar = BertForMultipleChoice

    def read(
        self, examples: Sequence[Choice], tokenizer: Tokenizer, *, max_length: int
    ) -> list[Reading]:
        check_endings(examples)
        pairs = [(example.context, ending) for example in examples for ending in example.endings]
        rows = iter(fitted(tokenizer, pairs, max_length=max_length, what="pairs with an ending"))
        readings = []
        for place, example in enumerate(examples):
            own = list(islice(rows, len(example.endings)))
            answers = {} if example.label is None else {"labels": example.label}
            ids, segments = [row.input_ids for row in own], [row.token_type_ids for row in own]
            readings.append(Reading(place, ids, segments, answers))
        return readings

    def batch(self, readings: Sequence[Reading], *, pad_id: int) -> Batch:
        """Arrays of shape (batch, choices, seq)."""
        seq = max(map(length, readings))
        batch = {
            "input_ids": [padded(each.input_ids, fill=pad_id, seq=seq) for each in readings],
            "token_type_ids": [padded(each.token_type_ids, fill=0, seq=seq) for each in readings],
            "attention_mask": [
                padded([[1] * len(row) for row in each.input_ids], fill=0, seq=seq)
                for each in readings
            ],
        }
        arrays = {name: np.stack(each) for name, each in batch.items()}
        return with_labels(arrays, readings, np.int64)

    def count(self, batch: Batch) -> int:
        return len(batch["labels"])

    def predict(
        self, examples: Sequence[Choice], readings: Sequence[Reading], logits: Sequence[Logits]
    ) -> list[ChoicePrediction]:
        return [_prediction(softmax(each)) for each in logits]

    def most_common(
        self, train: Sequence[Choice], examples: Sequence[Choice]
    ) -> list[ChoicePrediction]:
        """Always the same place. Where the endings were shuffled well this is no more than luck."""
        counts = Counter(example.label for example in train)
        shares = np.array([counts[place] for place in range(len(train[0].endings))]) / len(train)
        return [_prediction(shares)] * len(examples)

    def score(
        self, examples: Sequence[Choice], predictions: Sequence[ChoicePrediction]
    ) -> dict[str, float]:
        right = np.array([example.label for example in examples])
        said = np.array([prediction.place for prediction in predictions])
        return {name: METRICS[name](right, said) for name in self.metrics}

    def shown(self, example: Choice, prediction: ChoicePrediction) -> dict[str, Any]:
        each = zip(example.endings, prediction.probabilities, strict=True)
        right = {} if example.label is None else {"right": example.label}
        return {
            "context": example.context,
            "choice": prediction.place,
            "endings": [{"ending": text, "probability": round(p, 6)} for text, p in each],
        } | right

    def said(self, prediction: ChoicePrediction) -> int:
        return prediction.place


def _prediction(probabilities: np.ndarray) -> ChoicePrediction:
    return ChoicePrediction(int(probabilities.argmax()), tuple(probabilities.tolist()))


def check_endings(examples: Sequence[Choice]) -> None:
    """All must have as many endings as the first: a batch is one array."""
    for number, example in enumerate(examples, start=1):
        wanted, there = len(examples[0].endings), len(example.endings)
        if there != wanted:
            raise UserError(
                f"example {number:,} ({shortened(example.context)}) has {there} endings, the first "
                f"has {wanted}: all need the same number"
            )
