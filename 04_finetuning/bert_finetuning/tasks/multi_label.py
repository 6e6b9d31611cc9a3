"""Any number of labels for a text or a pair: the topics of an article, what a comment offends.

Each label is a question of its own, answered by the sigmoid of one logit; the loss is the mean of
the binary cross-entropies. A label is given where its probability reaches the `threshold`, which
is chosen on dev and saved with the model. `transformers` knows such a head as the problem type
`multi_label_classification`.
"""

import ast
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float

from bert_finetuning.data.rows import (
    USUAL,
    Columns,
    Expected,
    Names,
    Row,
    Table,
    are_numbers,
    shortened,
)
from bert_finetuning.data.sources import SEPARATORS
from bert_finetuning.heads import MULTI_LABEL
from bert_finetuning.metrics import PrecisionRecall
from bert_finetuning.tasks.base import (
    AllLogits,
    Encoded,
    ErrorCounts,
    Mistake,
    Prediction,
    Predictions,
    Query,
    Style,
    one_line,
)
from bert_finetuning.tasks.classification import TextExample, TextExamples, TextTask
from bert_run.errors import Share

MULTI_LABEL_METRICS = ("micro_f1", "macro_f1", "exact")
FLAG_ROWS = 100  # rows by which columns of 0 and 1 are found
LABEL_SEPARATORS = (";", "|", ",")  # between the labels of a cell; the first that occurs counts
YES, NO = ("1", "1.0", "true"), ("0", "0.0", "false")  # in the columns of single labels
NO_LABEL = "(no label)"

Decisions = Bool[np.ndarray, "examples labels"]


@dataclass(frozen=True)
class MultiLabel(TextTask):
    """All labels of the head whose probability is at least `threshold`, which may be none."""

    format: ClassVar = "multilabel"
    problem_type: ClassVar = MULTI_LABEL
    label_type: ClassVar = np.float32
    default_metrics: ClassVar = MULTI_LABEL_METRICS
    known_metrics: ClassVar = MULTI_LABEL_METRICS
    learns: ClassVar = "any of {labels} labels for each {what}"
    any_number: ClassVar = True
    answer_columns: ClassVar = ("predicted_labels", "probabilities")
    error_columns: ClassVar = ("text", "said", "right")
    error_parts: ClassVar = " in some part"

    threshold: Share = 0.5

    # --- From rows to examples -------------------------------------------------------------------

    @classmethod
    def matches(cls, rows: Sequence[Row], columns: Columns = USUAL) -> bool:
        """Lists, cells that combine the same labels in several ways, or columns of 0 and 1."""
        label = columns.label_in(rows[0])
        if label is None:
            several = len(yes_no_columns(rows)) > 1
        else:
            several = are_several([row.fields.get(label) for row in rows])
        return several and super().matches(rows, columns)

    @classmethod
    def parse(cls, rows: Table, expected: Expected) -> Iterator[TextExample]:
        """Texts or pairs, each with its labels in their order, which may be none."""
        if expected.labelled and (found := list(rows)):
            label, found = with_lists(found, expected)
            columns = replace(expected.columns, label=label)
            rows = expected.tally.watched(iter(found))
            expected = replace(expected, columns=columns)
        return super().parse(rows, expected)

    @classmethod
    def label_parser(cls, columns: Columns, expected: Expected):
        names = Names(columns.label or "", expected.labels, expected.by_place)

        def labels_in(row: Row) -> tuple[str, ...] | None:
            if columns.label not in row.fields:
                raise row.missing(columns.label)
            if (each := row.fields[columns.label]) is None:
                return None
            cells = (Row(row.place, {names.column: label}) for label in each)
            return tuple(sorted({label for label in map(names.of, cells) if label is not None}))

        return labels_in

    @classmethod
    def all_labels(cls, examples: TextExamples) -> list[str]:
        return list(chain.from_iterable(example.label for example in examples))

    def count_notes(self, examples: TextExamples) -> list[str]:
        none = sum(not example.label for example in examples)
        mean = len(self.all_labels(examples)) / len(examples)
        return [f"{mean:.1f} labels each" + (f", {none:,} have none" if none else "")]

    # --- From examples to predictions and scores --------------------------------------------------

    def target(self, example: TextExample, place: int) -> list[float] | None:
        if example.label is None:
            return None
        numbers = {self.number_of(label, place) for label in example.label}
        return [float(number in numbers) for number in range(len(self.head.labels))]

    def predict(
        self, examples: TextExamples, features: Encoded, logits: AllLogits
    ) -> list[Prediction]:
        return [self.prediction(1 / (1 + np.exp(-each.astype(np.float64)))) for each in logits]

    def prediction(self, probabilities: Iterable[float]) -> Prediction:
        """The labels whose probability reaches the threshold."""
        each = tuple(float(probability) for probability in probabilities)
        given = (label for label, p in zip(self.head.labels, each, strict=True)
                 if p >= self.threshold)  # fmt: skip
        return Prediction(tuple(given), each)

    def tuned(
        self, dev: TextExamples, predictions: list[Prediction]
    ) -> tuple["MultiLabel", list[Prediction]]:
        """With the threshold that gives `predictions` on dev the best micro F1."""
        probabilities = np.array([prediction.probabilities for prediction in predictions])
        right = self.decisions([example.label for example in dev])
        task = replace(self, threshold=best_threshold(right, probabilities))
        return task, [task.prediction(each.probabilities) for each in predictions]

    def majority(self, train: TextExamples, examples: TextExamples) -> list[Prediction]:
        """The same labels for every text, those with the best micro F1 on train; each label is as
        probable as it is common."""
        right = self.decisions([example.label for example in train])
        shares = right.mean(axis=0)
        threshold = best_threshold(right, np.tile(shares, (len(train), 1)))
        return [replace(self, threshold=threshold).prediction(shares)] * len(examples)

    def decisions(self, labels: Sequence[Sequence[str]]) -> Decisions:
        return np.array([[label in each for label in self.head.labels] for each in labels])

    def score(self, examples: TextExamples, predictions: Predictions) -> dict[str, float]:
        """F1 over all decisions (micro), its mean over the labels (macro), the share of texts whose
        labels are all right (exact); and precision and recall over all decisions."""
        right = self.decisions([example.label for example in examples])
        given = self.decisions([prediction.answer for prediction in predictions])
        total = PrecisionRecall.of_flags(right, given)
        each = [
            PrecisionRecall.of_flags(*columns).f1 for columns in zip(right.T, given.T, strict=True)
        ]
        scores = {"micro_f1": total.f1, "macro_f1": float(np.mean(each)),
                  "exact": float((right == given).all(axis=1).mean())}  # fmt: skip
        chosen = {name: scores[name] for name in self.metrics}
        return chosen | {"precision": total.precision, "recall": total.recall}

    def right_and_predicted(
        self, examples: TextExamples, predictions: Predictions
    ) -> tuple[list, list]:
        return [], []  # no label is taken for another one

    # --- Predictions shown, and the report -------------------------------------------------------

    def answer_cells(self, query: Query, prediction: Prediction) -> tuple[Any, ...]:
        return ";".join(prediction.answer), self.ranked(prediction)

    def to_json(self, example: TextExample, prediction: Prediction) -> dict[str, Any]:
        content = {**example.given, "labels": list(prediction.answer),
                   "probabilities": self.ranked(prediction)}  # fmt: skip
        return content | ({} if example.label is None else {"right": list(example.label)})

    def render(self, query: Query, prediction: Prediction, style: Style) -> str:
        texts, said = query.example.texts, in_words(prediction.answer)
        if style.brief:
            return one_line([said, *texts])
        ranked = style.bars(self.ranked(prediction))
        return "\n".join([*texts, f"  {said} (from {self.threshold:.1%} on)", *ranked])

    def error_row(self, example: TextExample, prediction: Prediction) -> Mistake | None:
        each = zip(self.head.labels, prediction.probabilities, strict=True)
        wrong = [p if label in prediction.answer else 1 - p for label, p in each
                 if (label in prediction.answer) != (label in example.label)]  # fmt: skip
        if not wrong:
            return None
        text = " ‖ ".join(example.texts)
        return Mistake(max(wrong), (text, in_words(prediction.answer), in_words(example.label)))

    def error_counts(self, examples: TextExamples, predictions: Predictions) -> ErrorCounts:
        """Precision, recall and F1 of each label."""
        right = self.decisions([example.label for example in examples])
        given = self.decisions([prediction.answer for prediction in predictions])
        scores = map(PrecisionRecall.of_flags, right.T, given.T)
        return ErrorCounts.of("label", dict(zip(self.head.labels, scores, strict=True)))


def best_threshold(right: Decisions, probabilities: Float[np.ndarray, "examples labels"]) -> float:
    """The threshold with the best micro F1, halfway between the probabilities that it separates;
    one half where no label is right.

    >>> best_threshold(np.array([[True, False]]), np.array([[0.3, 0.1]]))
    0.2
    """
    order = np.argsort(-probabilities, axis=None, kind="stable")
    found = right.ravel()[order].cumsum()  # of the labels that are right, if so many are given
    if not found[-1]:
        return 0.5
    sorted_ = probabilities.ravel()[order]
    following = np.append(sorted_[1:], 0.0)
    scores = 2 * found / (np.arange(1, len(found) + 1) + found[-1])
    best = int(np.where(sorted_ > following, scores, 0).argmax())
    return float((sorted_[best] + following[best]) / 2)


def in_words(labels: Sequence[str]) -> str:
    return ", ".join(labels) or NO_LABEL


# --- Lists of labels in the cells of a table -----------------------------------------------------


def with_lists(rows: Sequence[Row], expected: Expected) -> tuple[str | None, list[Row]]:
    """The column of labels and the same rows with lists in it: from lists as JSON or Python write
    them, from cells such as `a;b`, or from a column of 0 and 1 for each label."""
    label, known = expected.columns.label_in(rows[0]), expected.labels or ()
    if label is None:
        names = [name for name in known if name in rows[0].fields]
        names = names or yes_no_columns(rows[:FLAG_ROWS])
        label = shortened(", ".join(names))
        if len(names) < 2:
            return None, list(rows)
        lists = [[name for name in names if is_yes(row, name)] for row in rows]
    else:
        values = [row.fields.get(label) for row in rows]
        mark = mark_of(value for value in values if value not in known)
        lists = [as_list(value, mark, known) for value in values]
        if mark:
            expected.tally.note(f"labels between {SEPARATORS[mark]}")
    return label, [
        Row(row.place, {**row.fields, label: each}) for row, each in zip(rows, lists, strict=True)
    ]


def yes_no_columns(rows: Sequence[Row]) -> list[str]:
    """The columns that hold nothing but 0 and 1."""
    return [name for name in rows[0].fields if all(cell_in(row, name) in YES + NO for row in rows)]


def cell_in(row: Row, name: str) -> str:
    return str(row.fields.get(name)).strip().lower()


def is_yes(row: Row, name: str) -> bool:
    if (cell := cell_in(row, name)) not in YES + NO:
        raise row.wrong(name, ": it must be 0 or 1")
    return cell in YES


def mark_of(values: Iterable[Any]) -> str | None:
    """What separates the labels of a cell; None where every cell holds one."""
    cells = [value for value in values if isinstance(value, str) and not value.startswith("[")]
    return next((mark for mark in LABEL_SEPARATORS if any(mark in cell for cell in cells)), None)


def as_list(value: Any, mark: str | None, known: Sequence[str] = ()) -> list[Any] | None:
    """The labels of a cell; None if it is known to have none of its own (null in JSON)."""
    if value is None or isinstance(value, list):
        return value
    if not isinstance(value, str) or value in known:
        return [value]
    if value.strip().startswith("["):
        for read in (json.loads, ast.literal_eval):  # pandas writes a list to a CSV as Python does
            with suppress(ValueError, SyntaxError, TypeError):
                return list(read(value))
    parts = value.split(mark) if mark else [value]
    return [part for part in parts if part.strip()]


def are_several(values: Sequence[Any]) -> bool:
    """Whether cells hold lists, or most of those with a mark are made of labels that other cells
    hold too: `a;b`, `b;c`, `a`. A class that is called "Yes, of course" is not."""
    if any(isinstance(value, list) or str(value).startswith(("['", '["')) for value in values):
        return True
    mark = mark_of(values)
    if mark is None or are_numbers(values):
        return False
    cells = {tuple(sorted(map(str.strip, str(value).split(mark)))) for value in values}
    count = Counter(chain.from_iterable(map(set, cells)))
    several = [all(count[part] > 1 for part in cell) for cell in cells if len(cell) > 1]
    return 2 * sum(several) >= len(several)
