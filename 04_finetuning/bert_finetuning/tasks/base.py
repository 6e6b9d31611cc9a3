"""What every task type knows, so that one training loop and two commands serve them all.

    rows ── parse ──► examples ── encode ──► features ── collate ──► batch ── model ──► logits
                                                                                         │
    report ◄── score, render, error_row ── predictions ◄── predict ──────────────────────┘

A new task type is one subclass of `Task` in one file, and one line in `tasks/__init__.py`. Where a
method below has a body, that is what most types do.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from tokenizers import Tokenizer

from bert_finetuning.data.rows import (
    USUAL,
    Columns,
    Expected,
    Row,
    Table,
    label_set,
    one_of,
    quoted,
)
from bert_finetuning.data.sources import at_least_one, open_rows
from bert_finetuning.features import Batch, Features, collate_inputs, whole_characters, with_labels
from bert_finetuning.heads import BertWithHead, HeadConfig, Logits, logits_of
from bert_finetuning.metrics import METRICS, PrecisionRecall, Scorer, column_scorer, label_scores
from bert_run.config import BertConfig
from bert_run.errors import UserError, check_fields


class Example:
    """What the examples of all tasks answer. Each is a frozen dataclass of its task's file."""

    __slots__ = ()
    shown: ClassVar[tuple[str, ...]] = ()  # the fields that an answer in JSON repeats

    @property
    def texts(self) -> tuple[str, ...]:
        """All that is read, without labels."""
        raise NotImplementedError

    @property
    def is_empty(self) -> bool:
        """Whether it lacks text: there is nothing to read, and nothing to answer."""
        return any(not text.strip() for text in self.texts)

    @property
    def shape(self) -> str:
        """What all examples of one batch must have in common, in words."""
        return ""

    @property
    def stratum(self) -> str:
        """A few examples are drawn evenly from all strata: from all labels, where it has one."""
        return ""

    @property
    def kept_together(self) -> str:
        """Examples for which this is the same never lie on both sides of a split."""
        return "\n".join(self.texts)

    @property
    def right(self) -> Any:
        """Its answer as JSON has it; None if it is not known."""
        return self.label

    @property
    def given(self) -> dict[str, str]:
        """Its texts by the names that an answer in JSON has for them."""
        fields = {name: getattr(self, name) for name in self.shown}
        return {name: value for name, value in fields.items() if value is not None}


SINGLE, PAIR = "single texts", "pairs"  # shapes of texts
ExampleType = TypeVar("ExampleType", bound=Example)
Examples = Sequence[ExampleType]
Encoded = Sequence[Features]
AllLogits = Sequence[Logits]  # one of each row of features
Place = tuple[int, int]  # in a text: the first character, and one past the last


@dataclass(frozen=True)
class Prediction:
    """An answer, and how probable each possible one is; of tags each its own.

    Numbers are predicted bare, and spans of a text as `SpanPrediction`.
    """

    answer: Any
    probabilities: tuple[float, ...]

    @classmethod
    def likeliest(cls, answers: Sequence, probabilities: np.ndarray) -> "Prediction":
        """The answer with the highest probability; of equals the first."""
        return cls(answers[int(probabilities.argmax())], tuple(probabilities.tolist()))

    @property
    def sureness(self) -> float:
        return max(self.probabilities)


Predictions = Sequence[Any]  # each a `Prediction`, a number or a `SpanPrediction`


@dataclass(frozen=True)
class Query:
    """A new example, without its answer, and where it comes from."""

    example: Any
    text: str = ""  # the text that its words were split from, and their places in it
    places: tuple[Place, ...] = ()
    line: int | None = None  # of the file or of standard input; of a dataset of the Hub its row
    row: Mapping[str, Any] = field(default_factory=dict)  # all columns
    used: tuple[str, ...] = ()  # those of them that the example was made of

    @property
    def given(self) -> dict[str, str]:
        return self.example.given or {"text": self.text}

    @property
    def others(self) -> dict[str, Any]:
        """The columns that were passed over."""
        return {name: value for name, value in self.row.items() if name not in self.used}


class Mistake(NamedTuple):
    """A row of the list of errors; the surer the model was, the higher `sureness`."""

    sureness: float
    cells: tuple[str, ...]


ErrorCounts = tuple[str, dict[str, PrecisionRecall]]  # of what, and the score of each by its name


@dataclass(frozen=True)
class Task(ABC, Generic[ExampleType]):
    """One task, with its labels and the metrics it is judged by, the deciding one first."""

    format: ClassVar[str]  # its name in a saved folder and for --format
    model: ClassVar[type[BertWithHead]]
    problem_type: ClassVar[str] = ""  # of a head that reads whole texts, as `transformers` calls it
    label_type: ClassVar[type] = np.int64  # of the labels in a batch
    usual_length: ClassVar[int] = 128  # tokens that are read at once, as in the released code
    default_metrics: ClassVar[tuple[str, ...]] = ("accuracy",)  # where the task names none
    # Those that may choose between models (--metric): the higher, the better.
    known_metrics: ClassVar[tuple[str, ...]] = tuple(METRICS)

    head: HeadConfig
    metrics: tuple[str, ...]

    def __post_init__(self) -> None:
        check_fields(self)
        for metric in self.metrics:
            if metric not in self.known_metrics:
                raise UserError(f"--metric {metric}: choose {one_of(self.known_metrics)}")

    # --- From rows to examples -------------------------------------------------------------------

    row_columns: ClassVar[tuple[tuple[str, ...], ...]]  # a row with all columns of a group matches
    takes_columns: ClassVar[bool] = False  # --columns may name them; other types that match win
    accepts_labels: ClassVar[Callable[[list], bool]] = staticmethod(lambda labels: True)
    options: ClassVar[tuple[str, ...]] = ()  # settings that are fields of the task

    @classmethod
    def matches(cls, rows: Sequence[Row], columns: Columns = USUAL) -> bool:
        """Whether the first rows of a table look like such examples."""
        first = rows[0]
        named = cls.takes_columns and columns.text is not None
        if not named and not any(
            all(first.find([name]) for name in group) for group in cls.row_columns
        ):
            return False
        label = columns.label_in(first)
        return cls.accepts_labels([row.fields.get(label) for row in rows])

    @classmethod
    def read(
        cls, source: str | Path, *, stream: bool = True, **expected: Any
    ) -> Iterator[ExampleType]:
        """The examples of a file or a dataset of the Hub, one by one.

        `expected` are fields of `Expected`. Raises `UserError`, with its place, for what is wrong
        with a row, and if there is no example.
        """
        wanted = Expected(**expected)
        tally, numbered = wanted.tally, wanted.columns.numbered
        rows = open_rows(source, numbered=numbered, stream=stream, note=tally.note)
        for example in at_least_one(cls.parse(tally.watched(rows), wanted), source):
            tally.lines.append(tally.line)  # each comes before the next row is read
            yield example

    @classmethod
    @abstractmethod
    def parse(cls, rows: Table, expected: Expected) -> Iterator[ExampleType]:
        """The examples that rows hold."""

    @classmethod
    def all_labels(cls, examples: Examples) -> list[str] | None:
        """The labels that examples have, one after another; None where no answer is a label."""
        return None

    @classmethod
    def labels_of(cls, examples: Examples) -> tuple[str, ...]:
        """The labels of the head, where nobody names them: those that occur in train."""
        return label_set(cls.all_labels(examples) or ())

    @classmethod
    def check_labels(
        cls, source: str | Path, examples: Examples, *, inferred: bool, numbered: bool
    ) -> None:
        """Raise `UserError` where the labels of train are hardly what the user means to learn.

        `inferred`: nobody named the format. `numbered`: the columns go by their numbers.
        """
        labels = cls.all_labels(examples)
        if labels is not None and len(set(labels)) < 2:
            only = quoted(labels[0] if labels else "")
            raise UserError(f"{source}: every label is {only}: there is nothing to tell apart")

    @classmethod
    def check_examples(cls, source: str | Path, examples: Examples) -> None:
        """Raise `UserError` where examples that are right one by one do not fit together."""

    @classmethod
    def usual_metrics(cls, labels: Sequence[str]) -> tuple[str, ...]:
        """How it is measured where the task does not say."""
        return cls.default_metrics

    def adapted(self, train: Examples) -> "Task":
        """The same task with what it takes from the examples."""
        return self

    # --- What a run says of its data -------------------------------------------------------------

    learns: ClassVar[str]  # to say what? `{labels}` is their number, `{what}` a text or a pair
    label_name: ClassVar[str] = "label"

    def describe(self, what: str) -> str:
        """What the model learns to say; `what` is "text" or "pair of texts"."""
        return self.learns.format(labels=len(self.head.labels), what=what)

    def summary(self, train: Examples, dev: Examples) -> tuple[str, Any]:
        """A title, and of both sets the labels that occur in them, or one line of text."""
        return f"{self.label_name}s", [self.all_labels(each) or [] for each in (train, dev)]

    # --- From examples to predictions and scores --------------------------------------------------

    @abstractmethod
    def encode(
        self, examples: Examples, tokenizer: Tokenizer, *, max_length: int
    ) -> list[Features]:
        """Every example as what the model reads, at most `max_length` tokens at once.

        An example may give several features (the windows of a long text); `predict` puts them
        together again. What is cut is counted, and reported in one line on standard error.
        """

    def number_of(self, label: str, place: int) -> int:
        """The number of a label of the example at this place.

        Raises `UserError` if the head has no such label.
        """
        if label not in self.head.labels:
            problem = f"the {self.label_name} is {label!r}, not {one_of(self.head.labels)}"
            raise UserError(f"example {place + 1:,}: {problem}")
        return self.head.labels.index(label)

    def reading_length(
        self, asked: int | None, config: BertConfig, *, usual: int | None = None
    ) -> int:
        """How many tokens are read at once: as asked (--max-length), else the `usual` number."""
        most = config.max_position_embeddings
        if asked is not None and asked > most:
            raise UserError(f"--max-length {asked}: the model reads {most} tokens at most")
        return asked or min(most, usual or self.usual_length)

    def collate(self, features: Encoded, *, pad_id: int) -> Batch:
        """The arrays that the model and its loss take, padded to the longest of the features."""
        return with_labels(collate_inputs(features, pad_id=pad_id), features, self.label_type)

    def loss_count(self, batch: Batch) -> int:
        """How many answers the loss of this batch is the mean of."""
        return len(batch["labels"])

    @abstractmethod
    def predict(self, examples: Examples, features: Encoded, logits: AllLogits) -> list[Any]:
        """One prediction an example, from the logits of its features."""

    def answers(
        self,
        examples: Examples,
        model: BertWithHead,
        tokenizer: Tokenizer,
        *,
        max_length: int,
        precision: torch.dtype = torch.float32,
        progress: str | None = None,
    ) -> list[Any]:
        """What a model answers to examples, which need no labels: from text to predictions."""
        features = self.encode(examples, tokenizer, max_length=max_length)
        logits = logits_of(model, self, features, precision=precision, progress=progress)
        return self.predict(examples, features, logits)

    def tuned(self, dev: Examples, predictions: list[Any]) -> tuple["Task", list[Any]]:
        """The task with what is chosen on dev, a threshold say, and the predictions that follow."""
        return self, predictions

    @abstractmethod
    def majority(self, train: Examples, examples: Examples) -> list[Any]:
        """The baseline: what one would say of `examples` without reading them."""

    def score(self, examples: Examples, predictions: Predictions) -> dict[str, float]:
        """The metrics of this task by name, and whatever else is worth knowing."""
        return self.scorer(examples, predictions)(slice(None))

    def scorer(self, examples: Examples, predictions: Predictions) -> Scorer:
        """The same for any of the examples by their places: 1,000 draws make a confidence interval.

        A task type defines `score`, which is slow here, or this method, which compares once.
        """
        return lambda places: self.score(*([each[i] for i in places] for each in
                                           (examples, predictions)))  # fmt: skip

    def decided_by(self, metric: str | None) -> "Task":
        """The same task with another deciding metric, its own if it is None."""
        if metric is None:
            return self
        rest = (name for name in self.metrics if name != metric)
        return replace(self, metrics=(metric, *rest))

    def answer(self, prediction: Any) -> Any:
        """The bare answer: a label, a number, the tags, the text of a span."""
        return prediction.answer

    def is_collapsed(self, predictions: Predictions) -> bool:
        """Whether every example got the same answer: such a run has learned nothing."""
        answers = {repr(self.answer(prediction)) for prediction in predictions}
        return len(predictions) > 1 and len(answers) == 1

    # --- New text --------------------------------------------------------------------------------

    empty: ClassVar[Any]  # what a line without text asks
    parts: ClassVar[tuple[str, ...]] = ("text",)  # of an example, by the names of their columns
    needs_parts: ClassVar[bool] = False  # all of them; else what comes first may stand alone

    @classmethod
    def queries(
        cls,
        texts: Sequence[str],
        options: Mapping[str, str] | None = None,
        *,
        pairs: bool | None = None,
    ) -> list[Query]:
        """What a command line asks: each text by itself, or all as the parts of one example.

        `options` name some parts: pair, question or context. `pairs`: whether the model has learned
        from pairs, if known. Raises `UserError` for an empty text and for options of other tasks.
        """
        options = options or {}
        if not all(text.strip() for text in (*texts, *options.values())):
            raise UserError("a text is empty: write what is to be answered")
        for name in options:
            if name not in cls.parts:
                raise UserError(f"--{name}: this model does {cls.format}, which have none")
        together = cls.needs_parts or options or (pairs and len(texts) == 2)
        rest = iter(texts)
        named = [options.get(name) or next(rest, None) for name in cls.parts]
        parts = [part for part in (*named, *rest) if part is not None]
        given = [parts] if together else [[text] for text in texts]
        return [cls.query_of(each, f"text {number}") for number, each in enumerate(given, 1)]

    @classmethod
    def query_of(cls, parts: Sequence[str], place: str) -> Query:
        """What a text asks, or what several do that belong together."""
        return cls.parse_query(Row(place, cls.parse_parts(parts, place)), USUAL)

    @classmethod
    def parse_parts(cls, parts: Sequence[str], place: str) -> dict[str, Any]:
        """What stands between the tabs of a line, as the columns of a row."""
        if len(cls.parts) == 1:
            parts = ["\t".join(parts)]
        if len(parts) > len(cls.parts) or (cls.needs_parts and len(parts) < len(cls.parts)):
            known = " and ".join(cls.parts)
            raise UserError(
                f"{place} has {len(parts)} parts; those of {cls.format} are {known}: in a file "
                "with a tab between, on the command line --question and --context, or --pair"
            )
        return dict(zip(cls.parts, map(whole_characters, parts), strict=False))

    @classmethod
    @abstractmethod
    def parse_query(cls, row: Row, columns: Columns) -> Query:
        """What one row asks, labels or none."""

    # --- A prediction shown ----------------------------------------------------------------------

    answer_columns: ClassVar[tuple[str, ...]]  # of a table of answers

    @abstractmethod
    def answer_cells(self, query: Query, prediction: Any) -> tuple[Any, ...]:
        """What stands in the `answer_columns`."""

    def chances(self, prediction: Any) -> dict[str, float]:
        """The probability of each label. Raises `UserError` where an answer is no label."""
        raise UserError(
            f"--probabilities are those of labels: a model of {self.format} has none for a whole "
            "row; --json shows how probable its answers are"
        )

    def to_json(self, example: ExampleType, prediction: Any) -> dict[str, Any]:
        """A prediction as JSON: the example, the answer, how probable it is, what is right."""
        right = {} if example.right is None else {"right": example.right}
        return example.given | self.answer_json(example, prediction) | right

    @abstractmethod
    def answer_json(self, example: ExampleType, prediction: Any) -> dict[str, Any]:
        """The answer as JSON, and how probable it is."""

    def query_to_json(self, query: Query, prediction: Any) -> dict[str, Any]:
        """The same for new text."""
        return self.to_json(query.example, prediction)

    @abstractmethod
    def render(self, query: Query, prediction: Any, style: "Style") -> str:
        """A prediction in lines, for people."""

    # --- The report ------------------------------------------------------------------------------

    error_columns: ClassVar[tuple[str, ...]]
    error_order: ClassVar[str] = "surest"

    @abstractmethod
    def error_row(self, example: ExampleType, prediction: Any) -> Mistake | None:
        """The row of an example that was answered wrongly; None if the answer was right."""

    def error_summary(self, examples: Examples, predictions: Predictions, wrong: int) -> str:
        """How much is wrong, in a sentence."""
        return f"{wrong:,} of {len(examples):,} examples are answered wrongly."

    def error_counts(self, examples: Examples, predictions: Predictions) -> ErrorCounts | None:
        """Where it is wrong: by label, unless a type of task counts otherwise."""
        right, predicted = self.right_and_predicted(examples, predictions)
        if not predicted or not isinstance(predicted[0], str):
            return None
        return self.label_name, label_scores(right, predicted)

    def right_and_predicted(
        self, examples: Examples, predictions: Predictions
    ) -> tuple[list, list]:
        """Labels or numbers side by side, for a picture; empty where answers are neither."""
        return [], []


class OneOfSeveral(Task[ExampleType]):
    """What tasks have in common whose answer is one of several: a label, an ending."""

    error_columns: ClassVar = ("text", "said", "probability", "right")

    def possible_answers(self, example: ExampleType) -> Sequence:
        """What may be answered, in the order of the logits."""
        return self.head.labels

    def in_words(self, example: ExampleType, answer: Any) -> str:
        return answer

    def predict(self, examples: Examples, features: Encoded, logits: AllLogits) -> list[Prediction]:
        return [Prediction.likeliest(self.possible_answers(example), softmax(each))
                for example, each in zip(examples, logits, strict=True)]  # fmt: skip

    def majority(self, train: Examples, examples: Examples) -> list[Prediction]:
        """The most common answer, as probable as it is common. Where endings were shuffled well it
        is no more than luck."""
        counts = Counter(example.label for example in train)
        options = self.possible_answers(train[0])
        shares = np.array([counts[option] for option in options]) / len(train)
        return [Prediction.likeliest(options, shares)] * len(examples)

    def scorer(self, examples: Examples, predictions: Predictions) -> Scorer:
        number = self.possible_answers(examples[0]).index
        right = np.array([number(example.label) for example in examples])
        predicted = np.array([number(prediction.answer) for prediction in predictions])
        return column_scorer(self.metrics, right, predicted)

    def chances(self, prediction: Prediction) -> dict[str, float]:
        each = prediction.probabilities
        return dict(zip(map(str, self.head.labels or range(len(each))), each, strict=True))

    def error_row(self, example: ExampleType, prediction: Prediction) -> Mistake | None:
        if prediction.answer == example.label:
            return None
        sure, text = prediction.sureness, " ‖ ".join(example.given.values())
        said, right = (self.in_words(example, each) for each in (prediction.answer, example.label))
        return Mistake(sure, (text, said, f"{sure:.3f}", right))


# --- For people: bars, marked text, lines --------------------------------------------------------

BAR, BAR_WIDTH = "█", 30


@dataclass(frozen=True)
class Style:
    """`top`: how many labels or answers are shown. `brief`: one line each, cells between tabs."""

    top: int = 5
    brief: bool = False

    def bars(self, probabilities: Mapping[str, float]) -> list[str]:
        """The first names with their probabilities."""
        shown = list(probabilities.items())[: self.top]
        width = min(max((len(name) for name, _ in shown), default=0), 40)
        return [f"  {name:<{width}}  {p:6.1%}  {BAR * round(p * BAR_WIDTH)}".rstrip()
                for name, p in shown]  # fmt: skip


def marked(text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    """Spans of a text between brackets, each with its name."""
    parts, last = [], 0
    for start, end, name in spans:
        parts += [text[last:start], f"[{text[start:end]}{' ' * bool(name)}{name}]"]
        last = end
    return "".join([*parts, text[last:]])


def one_line(cells: Sequence[str]) -> str:
    """Cells between tabs; whatever would break the line becomes a space."""
    return "\t".join(" ".join(cell.split()) for cell in cells)


def softmax(logits: np.ndarray) -> np.ndarray:
    """exp(x) / sum exp(x) over the last axis, in float64."""
    raised = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)
