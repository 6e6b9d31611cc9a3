"""Which sentences sum a document up? The smallest honest form of summarisation.

Each sentence is read as a pair with its document and scored alone; the `usual` number of sentences
with the highest scores is chosen. Nothing is written anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from tokenizers import Tokenizer

from bert_finetuning.examples import Extract
from bert_finetuning.heads import BertForSequenceClassification
from bert_finetuning.kinds.base import Batch, Kind, Logits, Reading
from bert_finetuning.kinds.pairs import (
    check_max_length,
    inputs,
    row,
    softmax,
    tell_cut,
    token_ids,
    with_labels,
)
from bert_finetuning.metrics import EntityScore

EXTRACT_LABELS = ("left_out", "selected")
EXTRACT_METRICS = ("f1", "precision", "recall", "first_is_right")


@dataclass(frozen=True)
class ExtractPrediction:
    """The places of the chosen sentences in their order, and how probable each sentence is."""

    chosen: tuple[int, ...]
    probabilities: tuple[float, ...]


@dataclass(frozen=True)
class Extracts(Kind[Extract, ExtractPrediction]):
    """`usual`: how many sentences are chosen. The labels of the head are `EXTRACT_LABELS`."""

    model: ClassVar = BertForSequenceClassification

    usual: int = 1

    def read(
        self, examples: Sequence[Extract], tokenizer: Tokenizer, *, max_length: int
    ) -> list[Reading]:
        check_max_length(max_length)
        readings, cut = [], []
        for number, example in enumerate(examples):
            sentences = token_ids(tokenizer, example.sentences)
            document = [token for sentence in sentences for token in sentence]
            begin = 0
            for place, sentence in enumerate(sentences):
                kept = sentence[: (max_length - 3) // 2]
                around = window(document, begin, len(kept), room=max_length - 3 - len(kept))
                answers = {"labels": int(place in example.selected)} if example.selected else {}
                pair = row(tokenizer, kept, around)
                readings.append(Reading(number, *pair, answers, place))
                begin += len(sentence)
            longest = max(map(len, sentences), default=0)
            if min(longest, (max_length - 3) // 2) + len(document) > max_length - 3:
                cut.append(number)
        texts = [" ".join(example.sentences) for example in examples]
        tell_cut(
            cut, texts, max_length=max_length, what="documents, the sentence asked about included,"
        )
        return readings

    def batch(self, readings: Sequence[Reading], *, pad_id: int) -> Batch:
        return with_labels(inputs(readings, pad_id=pad_id), readings, np.int64)

    def count(self, batch: Batch) -> int:
        return len(batch["labels"])

    def predict(
        self, examples: Sequence[Extract], readings: Sequence[Reading], logits: Sequence[Logits]
    ) -> list[ExtractPrediction]:
        found = [np.zeros(len(example.sentences)) for example in examples]
        for reading, each in zip(readings, logits, strict=True):
            found[reading.example][reading.place] = softmax(each)[1]
        return [ExtractPrediction(self._best(each), tuple(each.tolist())) for each in found]

    def _best(self, probabilities: np.ndarray) -> tuple[int, ...]:
        """The highest, in the order of the document; of equals the earlier."""
        ranked = np.argsort(-probabilities, kind="stable")[: self.usual]
        return tuple(sorted(ranked.tolist()))

    def most_common(
        self, train: Sequence[Extract], examples: Sequence[Extract]
    ) -> list[ExtractPrediction]:
        """The first sentences, the usual baseline: news says first what matters most."""
        return [
            ExtractPrediction(tuple(range(min(self.usual, count))),
                              tuple(float(place < self.usual) for place in range(count)))
            for count in (len(example.sentences) for example in examples)
        ]  # fmt: skip

    def score(
        self, examples: Sequence[Extract], predictions: Sequence[ExtractPrediction]
    ) -> dict[str, float]:
        """Precision, recall and F1 over all sentences of all documents together, and how often the
        sentence with the highest score is a right one."""
        right = {(n, place) for n, example in enumerate(examples) for place in example.selected}
        said = {(n, place) for n, each in enumerate(predictions) for place in each.chosen}
        total = EntityScore.count(right, said)
        first = [(n, int(np.argmax(each.probabilities))) in right
                 for n, each in enumerate(predictions) if each.probabilities]  # fmt: skip
        scores = (total.f1, total.precision, total.recall, float(np.mean(first)))
        return dict(zip(EXTRACT_METRICS, scores, strict=True))

    def shown(self, example: Extract, prediction: ExtractPrediction) -> dict[str, Any]:
        right = {"right": list(example.selected)} if example.selected else {}
        return {
            "sentences": list(example.sentences),
            "chosen": list(prediction.chosen),
            "probabilities": [round(each, 6) for each in prediction.probabilities],
        } | right

    def said(self, prediction: ExtractPrediction) -> list[int]:
        return list(prediction.chosen)


def window(document: list[int], begin: int, size: int, *, room: int) -> list[int]:
    """`room` tokens of the document, as evenly as can be on both sides of a sentence of it."""
    first = begin + size // 2 - room // 2
    first = max(0, min(first, len(document) - room))
    return document[first : first + room]


def usual_number(examples: Sequence[Extract]) -> int:
    """How many sentences are selected, in the median document."""
    return max(1, round(float(np.median([len(example.selected) for example in examples]))))
