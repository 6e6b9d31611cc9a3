"""What every kind of task knows, so that one training loop and two commands serve them all.

    examples ── read ──► readings ── batch ──► arrays ── model ──► logits ── predict ──► predictions
                                                                                            │
    scores ◄── score ───────────────────────────────────────────────────────────────────────┘

An example may be read in several pieces (the windows of a long text); `predict` puts them together
again. Nothing here knows of training.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from tokenizers import Tokenizer

from bert_finetuning.head_config import HeadConfig
from bert_finetuning.heads import BertWithHead

Example = TypeVar("Example")
Prediction = TypeVar("Prediction")

Batch = dict[str, np.ndarray]
Logits = np.ndarray  # one reading's, its padding cut off; of a span two rows, start and end


class Reading(NamedTuple):
    """What the model reads at once, and what it should answer."""

    example: int  # the place of its example in the list
    input_ids: list  # of tokens; of a choice one such list an ending
    token_type_ids: list
    answers: dict[str, Any]  # under the names of the batch; empty where nothing is known
    place: Any = None  # what leads from its tokens back to the example


@dataclass(frozen=True)
class Kind(ABC, Generic[Example, Prediction]):
    """One kind of task, with its labels and the metrics it is judged by, the deciding one first."""

    model: ClassVar[type[BertWithHead]]

    head: HeadConfig
    metrics: tuple[str, ...]

    @abstractmethod
    def read(
        self, examples: Sequence[Example], tokenizer: Tokenizer, *, max_length: int
    ) -> list[Reading]:
        """Every example as what the model reads, at most `max_length` tokens at once.

        What had to be cut is counted, and told in one line on standard error.
        """

    @abstractmethod
    def batch(self, readings: Sequence[Reading], *, pad_id: int) -> Batch:
        """The arrays that the model and its loss take, padded to the longest of the readings."""

    @abstractmethod
    def count(self, batch: Batch) -> int:
        """How many answers the loss of this batch is the mean of."""

    @abstractmethod
    def predict(
        self, examples: Sequence[Example], readings: Sequence[Reading], logits: Sequence[Logits]
    ) -> list[Prediction]:
        """One prediction an example, from the logits of each reading."""

    @abstractmethod
    def most_common(
        self, train: Sequence[Example], examples: Sequence[Example]
    ) -> list[Prediction]:
        """What one would say of `examples` without reading them: a model must beat this."""

    @abstractmethod
    def score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction]
    ) -> dict[str, float]:
        """The metrics of this task by name, and whatever else is worth knowing."""

    @abstractmethod
    def shown(self, example: Example, prediction: Prediction) -> dict[str, Any]:
        """A prediction as JSON: the example, what was said of it, how probable, what is right."""

    def is_collapsed(self, predictions: Sequence[Prediction]) -> bool:
        """Whether the same was said of every example: such a run has learnt nothing."""
        said = {repr(self.said(prediction)) for prediction in predictions}
        return len(predictions) > 1 and len(said) == 1

    @abstractmethod
    def said(self, prediction: Prediction) -> Any:
        """The bare answer: a label, a number, the tags, the text of a span."""


def length(reading: Reading) -> int:
    """Tokens of the longest row, by which readings are sorted."""
    rows = reading.input_ids
    return max(map(len, rows)) if rows and isinstance(rows[0], list) else len(rows)


def padded(rows: Sequence[Sequence[int]], *, fill: int, seq: int | None = None) -> np.ndarray:
    """Rows of different lengths as one array (rows, seq), filled up on the right."""
    array = np.full((len(rows), seq or max(map(len, rows))), fill, np.int64)
    for row, values in zip(array, rows, strict=True):
        row[: len(values)] = values
    return array
