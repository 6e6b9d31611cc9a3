"""A label for a text or a pair of texts: sentiment, entailment, most of GLUE (section 4.1); or a
number: how alike are they, from 0 to 5? (STS-B)"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from tokenizers import Tokenizer
from torch import Tensor, nn

from bert_finetuning.data.rows import (
    ASKED_COLUMNS,
    Expected,
    Row,
    Table,
    are_numbers,
    check_classes,
    label_of,
    number_of,
)
from bert_finetuning.metrics import Scorer, column_scorer
from bert_finetuning.tasks import base
from bert_finetuning.tasks.base import BertWithHead, Encoded, HeadConfig, TensorBatch, Tokens
from bert_run.config import BertConfig
from bert_run.device import mixed_precision
from bert_run.errors import UserError


class BertForSequenceClassification(BertWithHead):
    """One answer for a text or a pair: a label, or a number if the head has a single label
    (figure 4, a and b; section 4.1). The paper reads it from [CLS] through the pooler; with
    `pooling="mean"` the mean of all tokens stands there instead, to compare."""

    pipeline = "text-classification"
    has_pooling = True

    def __init__(self, config: BertConfig, head: HeadConfig) -> None:
        super().__init__(config, head, pooler=head.pooling == "cls")
        self.dropout = nn.Dropout(head.dropout(config))
        self.classifier = nn.Linear(config.hidden_size, head.num_labels)

    def forward(
        self, input_ids: Tokens, token_type_ids: Tokens, attention_mask: Tokens
    ) -> Float[Tensor, "batch labels"]:
        output = self.bert(input_ids, token_type_ids, attention_mask)
        text = output.pooled
        if self.head.pooling == "mean":
            text = mean_of_tokens(output.last_hidden_state, attention_mask)
        text = self.dropout(text)
        if self.head.num_labels > 1:
            return self.classifier(text)
        with mixed_precision(text.device, torch.float32):  # bfloat16 rounds 2013 to 2016
            return self.classifier(text.to(self.classifier.weight.dtype))

    def logits_shape(self, features: base.Features) -> tuple[int, ...]:
        return (self.head.num_labels,)

    def loss(self, logits: Float[Tensor, "batch labels"], batch: TensorBatch) -> Float[Tensor, ""]:
        if self.head.num_labels == 1:
            return squared_error(logits[:, 0], batch["labels"])
        return base.cross_entropy(logits, batch["labels"], weights=self.label_weights)


def mean_of_tokens(
    states: Float[Tensor, "batch seq hidden"], attention_mask: Tokens
) -> Float[Tensor, "batch hidden"]:
    """The mean over the tokens that are no padding; [CLS] and [SEP] count."""
    real = attention_mask[:, :, None].to(states.dtype)  # (batch, seq, 1)
    return (states * real).sum(1) / real.sum(1)


def squared_error(
    predictions: Float[Tensor, "n"], targets: Float[Tensor, "n"]
) -> Float[Tensor, ""]:
    """The mean of the squared differences, over the examples."""
    return (predictions - targets).square().mean()


# --- Labels and numbers of texts -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TextExample(base.Example):
    """A text or a pair of texts, and its answer: a label, a number, or nothing yet."""

    shown: ClassVar = ("text", "pair")

    text: str
    pair: str | None = None
    label: str | float | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text,) if self.pair is None else (self.text, self.pair)

    @property
    def shape(self) -> str:
        return base.SINGLE if self.pair is None else base.PAIR

    @property
    def stratum(self) -> str:
        return self.label if isinstance(self.label, str) else ""


TextExamples = Sequence[TextExample]


class TextTask(base.Task[TextExample]):
    """What labels and numbers for texts have in common: all but the answer."""

    model: ClassVar = BertForSequenceClassification
    row_columns: ClassVar = tuple((name,) for name in sorted(ASKED_COLUMNS))
    takes_columns: ClassVar = True
    empty: ClassVar = TextExample("")
    parts: ClassVar = ("text", "pair")
    # From a row and the column of labels to the label; None if the row has none.
    read_label: ClassVar[Callable[[Row, str, Expected], str | float | None]]

    @classmethod
    def parse(cls, rows: Table, expected: Expected) -> Iterator[TextExample]:
        """Texts or pairs with their labels. Rows that are known to have no label (-1 on the Hub,
        "-" as `gold_label`) are passed over and counted."""
        columns, labeled = None, expected.labeled
        for row in rows:
            if columns is None:
                columns = expected.tally.columns = expected.columns_in(row)
            if labeled and row.is_blank:
                expected.tally.left_out["empty rows"] += 1
                continue
            label = cls.read_label(row, columns.label, expected) if labeled else None
            if labeled and label is None:
                expected.tally.left_out["rows without a label"] += 1
                continue
            pair = row.text(columns.pair) if columns.pair else None
            yield TextExample(row.text(columns.text), pair, label)

    def encode(self, examples: TextExamples, tokenizer: Tokenizer, *, max_length: int) -> Encoded:
        targets = [self.number_of(each.label, place) if isinstance(each.label, str) else each.label
                   for place, each in enumerate(examples)]  # fmt: skip
        texts = [(example.text, example.pair) for example in examples]
        what = base.PAIR if examples and examples[0].pair is not None else "texts"
        rows = base.encode_pairs(tokenizer, texts, max_length=max_length, what=what)
        return [base.Features(place, *row, {} if target is None else {"labels": target})
                for place, (row, target) in enumerate(zip(rows, targets, strict=True))]  # fmt: skip


@dataclass(frozen=True)
class Classification(base.OneOfSeveral[TextExample], TextTask):
    """The likeliest label, and the probability of each in the order of the head."""

    format: ClassVar = "texts"
    problem_type: ClassVar = "single_label_classification"
    default_metrics: ClassVar = ("accuracy", "macro_f1")
    learns: ClassVar = "one of {labels} labels for each {what}"
    accepts_labels: ClassVar = staticmethod(lambda labels: not are_numbers(labels))
    read_label: ClassVar = staticmethod(label_of)

    @classmethod
    def all_labels(cls, examples: TextExamples) -> list[str]:
        return [example.label for example in examples]

    @classmethod
    def check_labels(cls, source: str | Path, examples: TextExamples, *, inferred: bool) -> None:
        super().check_labels(source, examples, inferred=inferred)
        if inferred:
            check_classes(source, cls.all_labels(examples))

    @property
    def known_metrics(self) -> tuple[str, ...]:
        """F1 is that of the second of two labels."""
        f1 = ("f1",) if len(self.head.labels) == 2 else ()
        return ("accuracy", "macro_f1", "matthews", *f1)

    def answer_cells(self, example: TextExample, prediction: base.Prediction) -> dict[str, Any]:
        probability = round(prediction.probability, 6)
        return {"predicted_label": prediction.answer, "probability": probability}

    def answer_json(self, example: TextExample, prediction: base.Prediction) -> dict[str, Any]:
        each = {label: round(p, 6) for label, p in self.ranked(example, prediction)}
        return {"label": prediction.answer, "probabilities": each}


SAME = 0.02  # numbers that differ by less than this share of the spread of labels are one


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
    read_label: ClassVar = staticmethod(number_of)

    @classmethod
    def labels_of(cls, examples: TextExamples) -> tuple[str, ...]:
        return ("score",)

    @classmethod
    def check_labels(cls, source: str | Path, examples: TextExamples, *, inferred: bool) -> None:
        if len(numbers := {example.label for example in examples}) == 1:
            only = f"{numbers.pop():g}"
            raise UserError(f"{source}: every number is {only}: there is nothing to tell apart")

    def summary(self, train: TextExamples, dev: TextExamples) -> tuple[str, list[str]]:
        """Lowest, mean and highest number of both sets."""
        parts = []
        for name, examples in (("train", train), ("dev", dev)):
            numbers = [example.label for example in examples]
            mean = sum(numbers) / len(numbers)
            parts.append(f"{min(numbers):g} to {max(numbers):g} in {name}, mean {mean:.3g}")
        return "numbers", ["; ".join(parts)]

    def predict(self, examples: TextExamples, features: Encoded,
                logits: base.AllLogits) -> list[float]:  # fmt: skip
        return [float(each[0]) for each in logits]

    def majority(self, train: TextExamples, examples: TextExamples) -> list[float]:
        """The mean of train: of all constants it has the least squared error."""
        return [float(np.mean([example.label for example in train]))] * len(examples)

    def scorer(self, examples: TextExamples, predictions: Sequence[float]) -> Scorer:
        """The metrics, and the root of the mean squared error in the numbers' own unit: it alone
        tells how good the mean is as a guess, as correlations are 0 for a constant."""
        gold = np.array([example.label for example in examples], np.float64)
        predicted = np.array(predictions, np.float64)
        correlations = column_scorer(self.metrics, gold, predicted)
        squares = (gold - predicted) ** 2
        return lambda at: correlations(at) | {"rmse": float(np.sqrt(np.mean(squares[at])))}

    def is_collapsed(self, examples: Sequence[TextExample], predictions: Sequence[float]) -> bool:
        """A run that has learned nothing gives nearly the same number each time, never quite."""
        spread = np.ptp([example.label for example in examples])
        return len(predictions) > 1 and bool(np.ptp(predictions) <= SAME * spread)

    def answer_cells(self, example: TextExample, prediction: float) -> dict[str, float]:
        return {"predicted_number": round(prediction, 6)}

    def answer_json(self, example: TextExample, prediction: float) -> dict[str, float]:
        return {self.head.labels[0]: round(prediction, 6)}

    def severity(self, example: TextExample, prediction: float) -> float:
        return abs(prediction - example.label)

    def error_summary(self, examples: TextExamples, predictions: Sequence[float],
                      wrong: int) -> str:  # fmt: skip
        off = np.median([abs(e.label - p) for e, p in zip(examples, predictions, strict=True)])
        return f"Of {len(examples):,} numbers half are off by more than {off:.2f}."
