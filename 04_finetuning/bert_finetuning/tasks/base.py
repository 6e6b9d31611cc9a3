"""What all task types share, so that one training loop and two commands serve them all.

    rows ── parse ──► examples ── encode ──► features ── collate ──► batch ── model ──► logits
                                                                                         │
    report ◄── score, render, answer_cells ── predictions ◄── predict ───────────────────┘

A new task type is one subclass of `Task` in one file, and one line in `tasks/__init__.py`. Where a
method of `Task` has a body, that is what most types do.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar, get_args

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from tokenizers import Encoding, Tokenizer
from torch import Tensor, nn

from bert_corpus.wordpiece import padded
from bert_finetuning.data.rows import (
    USUAL,
    Columns,
    Expected,
    Row,
    Table,
    at_least_one,
    label_set,
    one_of,
    open_rows,
    quoted,
    say,
    shortened,
    whole_characters,
)
from bert_finetuning.metrics import METRICS, PrecisionRecall, Scorer, column_scorer, label_scores
from bert_paper.model import BertModel
from bert_run.config import BertConfig, Dropout, check_fields
from bert_run.device import Ranks, mixed_precision, to_device
from bert_run.errors import UserError
from bert_run.training_loop import progress_bar
from bert_run.weights import refuse_overflow

# --- From texts to batches ------------------------------------------------------------------------

#     [CLS] text [SEP]            [CLS] text [SEP] pair [SEP]
#       0    0     0                0    0     0    1     1

AT_ONCE = 1_000  # texts handed to the tokenizer, which encodes them on all cores
SHORTEST = 8  # tokens; fewer leave no room for a pair
IGNORED = -100  # the label of a token that has no answer, as in `transformers`

Batch = dict[str, np.ndarray]
TokenRow = tuple[list[int], list[int]]  # ids and segments


class Features(NamedTuple):
    """What the model reads at once, and what it should answer."""

    example: int  # the place of its example in the list
    input_ids: list  # of tokens; of a choice one such list an ending
    token_type_ids: list
    targets: dict[str, Any]  # under the names of the batch; empty where nothing is known
    place: Any = None  # what leads from its tokens back to the example

    @property
    def length(self) -> int:
        """Tokens of the longest row, by which features are sorted."""
        rows = self.input_ids
        return max(map(len, rows)) if rows and isinstance(rows[0], list) else len(rows)


def encodings(tokenizer: Tokenizer, texts: Sequence[str]) -> Iterator[Encoding]:
    """Each text in tokens, without special ones, and the characters of each token."""
    for first in range(0, len(texts), AT_ONCE):
        part = [whole_characters(text) for text in texts[first : first + AT_ONCE]]
        yield from tokenizer.encode_batch(part, add_special_tokens=False)


def token_ids(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """The tokens of each text, without special ones."""
    return [each.ids for each in encodings(tokenizer, texts)]


def framed(tokenizer: Tokenizer, text: list[int], pair: list[int] | None = None) -> TokenRow:
    """What the model reads: the tokens with the special tokens in their places, and segments."""
    cls_id, sep_id = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    first = [cls_id, *text, sep_id]
    if pair is None:
        return first, [0] * len(first)
    return [*first, *pair, sep_id], [0] * len(first) + [1] * (len(pair) + 1)


def truncated(text: list[int], pair: list[int], room: int) -> tuple[list[int], list[int]]:
    """Both, cut at their ends to `room` tokens in all, token by token from the longer one; of equal
    ones the pair gives way, as in the released code (`_truncate_seq_pair`)."""
    if len(text) + len(pair) <= room:
        return text, pair
    kept = min(len(text), max(room - len(pair), room - room // 2))
    return text[:kept], pair[: room - kept]


def encode_pairs(tokenizer: Tokenizer, texts: Sequence[tuple[str, str | None]], *, max_length: int,
                 what: str) -> list[TokenRow]:  # fmt: skip
    """A row for each text or pair; one line on standard error counts those that were cut."""
    check_max_length(max_length)
    firsts = token_ids(tokenizer, [text for text, _ in texts])
    seconds = token_ids(tokenizer, [pair or "" for _, pair in texts])
    rows, cut = [], []
    for number, (ids, pair_ids, (_, pair)) in enumerate(zip(firsts, seconds, texts, strict=True)):
        room = max_length - (2 if pair is None else 3)
        if len(ids) + len(pair_ids) > room:
            cut.append(number)
        kept, kept_pair = truncated(ids, pair_ids, room)
        rows.append(framed(tokenizer, kept, None if pair is None else kept_pair))
    report_cut(cut, [text for text, _ in texts], max_length=max_length, what=what)
    return rows


def check_max_length(max_length: int) -> None:
    if max_length < SHORTEST:
        raise UserError(f"--max-length: {max_length} tokens at once are too few: give {SHORTEST} "
                        "or more")  # fmt: skip


def report_cut(cut: Sequence[int], texts: Sequence[str], *, max_length: int, what: str,
               how: str = "cut") -> None:  # fmt: skip
    """One line on standard error, if anything was cut: how many, and which was the first."""
    if cut:
        say(f"note: {len(cut):,} of {len(texts):,} {what} are longer than {max_length} tokens and "
            f"are {how}; the first is {quoted(texts[cut[0]])}")  # fmt: skip


def collate_inputs(features: Sequence[Features], *, pad_id: int) -> Batch:
    """What every model reads, padded to the longest: tokens, segments, and which are no padding."""
    rows = [(each.input_ids, each.token_type_ids) for each in features]
    return padded(rows, max(len(ids) for ids, _ in rows), pad_id)


def with_labels(batch: Batch, features: Sequence[Features], dtype: type) -> Batch:
    """The same batch with `labels`, if all features have one."""
    labels = [each.targets["labels"] for each in features if each.targets]
    return batch | {"labels": np.array(labels, dtype)} if len(labels) == len(features) else batch


# --- Heads ---------------------------------------------------------------------------------------

#     input_ids ──────┐             ┌─ [CLS] ─ pooler ─ classifier    a label for a text or a pair
#     token_type_ids ─┼─ BertModel ─┼─ [CLS] ─ pooler ─ classifier    one of several endings
#     attention_mask ─┘             ├─ every token ─ classifier       a label for each token
#                                   └─ every token ─ qa_outputs       the answer's start and end
#
# The four of the paper (figure 4), each a single linear layer. Attributes carry the names of
# `transformers`, so that a parameter's path here is its name in the file.

Tokens = Int[Tensor, "batch seq"]  # ids, segments, or 1 where there is no padding
TensorBatch = dict[str, Tensor]
Pooling = Literal["cls", "mean"]
POOLING_FIELD = "classifier_pooling"  # as ModernBERT's config has it; BERT's own has no such field


@dataclass(frozen=True)
class HeadConfig:
    """The labels in the order of their numbers; a single one names a number to be predicted. Heads
    that answer with a span or a choice have none."""

    labels: tuple[str, ...] = ()
    pooling: Pooling = "cls"  # stands for a whole text, as in the paper; or the mean of its tokens
    classifier_dropout: Dropout | None = None  # None: BERT's own (`hidden_dropout_prob`)

    def __post_init__(self) -> None:
        if len(set(self.labels)) < len(self.labels):
            twice = next(label for label in self.labels if self.labels.count(label) > 1)
            raise UserError(f"the label {twice!r} occurs twice: each label has one number")
        if self.pooling not in get_args(Pooling):
            raise UserError(f"pooling is {self.pooling!r}: choose cls or mean")
        check_fields(self)

    @property
    def num_labels(self) -> int:
        if not self.labels:
            raise UserError("no labels are given: name them, or one for a number to be predicted")
        return len(self.labels)

    @property
    def problem_type(self) -> str:
        """What the head of a text is asked for, in the words of `transformers`."""
        return "regression" if self.num_labels == 1 else "single_label_classification"

    def dropout(self, config: BertConfig) -> float:
        """The share of the vector that the classifier does not see in training."""
        own = self.classifier_dropout
        return config.hidden_dropout_prob if own is None else own

    def fields(self) -> dict[str, Any]:
        """What `config.json` says of the head. `classifier_pooling` is written for the mean alone:
        `transformers` passes it over, and says that it draws the pooler anew."""
        content: dict[str, Any] = {"classifier_dropout": self.classifier_dropout}
        if self.labels:
            content["id2label"] = {str(number): name for number, name in enumerate(self.labels)}
            content["label2id"] = {name: number for number, name in enumerate(self.labels)}
        return content | ({} if self.pooling == "cls" else {POOLING_FIELD: self.pooling})


def labels_of(content: dict[str, Any], num_labels: int) -> tuple[str, ...]:
    """The names in `id2label`. Without it there are two nameless ones, as in `transformers`."""
    named = content.get("id2label")
    if named is None and num_labels == content.get("num_labels", 2):
        return tuple(f"LABEL_{number}" for number in range(num_labels))
    names = {str(number): name for number, name in named.items()} if isinstance(named, dict) else {}
    found = [names.get(str(number)) for number in range(num_labels)]
    if len(names) != num_labels or not all(isinstance(name, str) for name in found):
        raise UserError(f"config.json: id2label is {quoted(named)}, and the classifier has labels "
                        f"0 to {num_labels - 1}: name each of them, or copy both files of the "
                        "checkpoint again")  # fmt: skip
    return tuple(found)


class BertWithHead(nn.Module):
    """What the four have in common: `logits = model(input_ids, token_type_ids, attention_mask)`,
    then `model.loss(logits, batch)`, where the batch holds the answers under the names of
    `transformers`: `labels`, or `start_positions` and `end_positions`."""

    pipeline: ClassVar[str]  # what the Hub calls such a task
    part: ClassVar[str] = "classifier"  # the head's own layer
    has_labels: ClassVar[bool] = True  # the rows of that layer have names
    has_pooling: ClassVar[bool] = False  # a whole text is read: from [CLS], or from the mean
    label_weights: Float[Tensor, "labels"] | None = None  # how much each counts in the loss

    def __init__(self, config: BertConfig, head: HeadConfig, *, pooler: bool) -> None:
        super().__init__()
        self.config, self.head = config, head
        self.bert = BertModel(config, pooler=pooler)

    def logits_shape(self, features: Features) -> tuple[int, ...]:
        """The shape of the logits of one row of features, without padding."""
        raise NotImplementedError


def cross_entropy(logits: Float[Tensor, "n classes"], labels: Int[Tensor, "n"], *,
                  ignored: int = IGNORED, weights: Float[Tensor, "classes"] | None = None,
                  ) -> Float[Tensor, ""]:  # fmt: skip
    """The mean of −log softmax(logits)[label], in nats, over all labels that are not `ignored`.

    Each loss is multiplied by the weight of its label, and the sum divided by the number of labels,
    not by the sum of their weights as in torch: so a batch of common labels alone counts less.
    Where no label counts it is 0, not 0/0 as in `transformers`.
    """
    total = F.cross_entropy(logits, labels, weights, ignore_index=ignored, reduction="sum")
    return total / (labels != ignored).sum().clamp(min=1)


# --- From features to logits ---------------------------------------------------------------------

Logits = np.ndarray  # of one row of features, without padding; of a span two rows, start and end
ALONE = Ranks()
ROWS = 64  # of features that are answered at once
BAR_DELAY = 2  # seconds; work that is done by then shows no bar


def forward(model: torch.nn.Module, batch: TensorBatch) -> Tensor | tuple[Tensor, ...]:
    return model(batch["input_ids"], batch["token_type_ids"], batch["attention_mask"])


@torch.no_grad()
def logits_of(model: BertWithHead, task: "Task", features: Sequence[Features], *,
              precision: torch.dtype = torch.float32, ranks: Ranks = ALONE,
              progress: str | None = None) -> list[Logits]:  # fmt: skip
    """The model in evaluation: the logits of all features, in their order, without padding. Each
    rank reads its part, and all get all of them. `progress` names the bar to be shown."""
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    sizes = [model.logits_shape(each) for each in features]
    ends = np.cumsum([np.prod(size, dtype=int) for size in sizes])
    flat = np.zeros(int(ends[-1]) if len(ends) else 0, np.float32)
    by_length = np.argsort([each.length for each in features], kind="stable")
    mine = by_length[ranks.rank :: ranks.size]
    hidden = progress is None or not ranks.leads
    bar = progress_bar(len(mine), progress or "", unit="text", delay=BAR_DELAY, disable=hidden)
    with bar:
        for first in range(0, len(mine), ROWS):
            rows = mine[first : first + ROWS]
            batch = task.collate([features[i] for i in rows], pad_id=model.config.pad_token_id)
            with mixed_precision(device, precision):
                answer = forward(model, to_device(batch, device))
            if isinstance(answer, tuple):  # starts and ends
                answer = torch.stack(answer, dim=1)  # (batch, 2, seq)
            for i, logits in zip(rows, answer.float().cpu().numpy(), strict=True):
                kept = logits[tuple(map(slice, sizes[i]))]
                flat[ends[i] - kept.size : ends[i]] = kept.ravel()
            bar.update(len(rows))
    model.train(was_training)
    together = ranks.sum(torch.from_numpy(flat).to(device)).cpu().numpy()
    refuse_overflow(together, "the model")
    pieces = np.split(together, ends[:-1])
    return [piece.reshape(size) for piece, size in zip(pieces, sizes, strict=False)]


# --- Examples and predictions --------------------------------------------------------------------


class Example:
    """What the examples of all tasks answer. Each is a frozen dataclass of its task's file."""

    __slots__ = ()
    shown: ClassVar[tuple[str, ...]] = ()  # the fields that an answer in JSON repeats
    shape: ClassVar[str] = ""  # what all examples of one batch must have in common, in words
    stratum: ClassVar[str] = ""  # a few examples are drawn evenly from all strata: labels, say

    @property
    def texts(self) -> tuple[str, ...]:
        """All that is read, without labels."""
        raise NotImplementedError

    @property
    def is_empty(self) -> bool:
        """Whether it lacks text: there is nothing to read, and nothing to answer."""
        return any(not text.strip() for text in self.texts)

    @property
    def kept_together(self) -> str:
        """Examples for which this is the same never lie on both sides of a split."""
        return "\n".join(self.texts)

    @property
    def gold(self) -> Any:
        """Its answer as JSON has it; None if it is not known."""
        return self.label

    @property
    def given(self) -> dict[str, str]:
        """Its texts by the names that an answer in JSON has for them."""
        fields = {name: getattr(self, name) for name in self.shown}
        return {name: value for name, value in fields.items() if value is not None}

    @property
    def asked(self) -> tuple[str, ...]:
        """What the terminal and the list of errors repeat of it."""
        return tuple(self.given.values())


MOST = 5  # labels that a summary lists; of more than that the commonest
WIDEST = 32  # characters of a label there
SINGLE, PAIR = "single texts", "pairs"  # shapes of texts
ExampleType = TypeVar("ExampleType", bound=Example)
Examples = Sequence[ExampleType]
Encoded = Sequence[Features]
AllLogits = Sequence[Logits]  # one of each row of features


@dataclass(frozen=True)
class Prediction:
    """An answer, and how probable each possible one is; of tags each its own. Numbers are predicted
    bare, and spans of a text as `SpanPrediction`."""

    answer: Any
    probabilities: tuple[float, ...]

    @classmethod
    def likeliest(cls, answers: Sequence, probabilities: np.ndarray) -> "Prediction":
        """The answer with the highest probability; of equals the first."""
        return cls(answers[int(probabilities.argmax())], tuple(probabilities.tolist()))

    @property
    def probability(self) -> float:
        """That of the answer."""
        return max(self.probabilities)


Predictions = Sequence[Any]  # each a `Prediction`, a number or a `SpanPrediction`
ErrorCounts = tuple[str, dict[str, PrecisionRecall]]  # of what, and the score of each by its name


# --- The task ------------------------------------------------------------------------------------


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
        if not named and not any(all(first.find([name]) for name in each)
                                 for each in cls.row_columns):  # fmt: skip
            return False
        if (name := first.find(cls.lists)) and not isinstance(first.fields[name], list):
            return False
        label = columns.label_in(first)
        return cls.accepts_labels([row.fields.get(label) for row in rows])

    @classmethod
    def read(cls, source: str | Path, *, stream: bool = True,
             **expected: Any) -> Iterator[ExampleType]:  # fmt: skip
        """The examples of a file or a dataset of the Hub, one by one; `expected` are fields of
        `Expected`. Raises `UserError` for a wrong row, with its place, and if there is none."""
        wanted = Expected(**expected)
        cls.check_columns(wanted.columns)
        tally, rows = wanted.tally, open_rows(source, wanted, stream=stream)
        for example in at_least_one(cls.parse(tally.watched(rows), wanted), source):
            tally.lines.append(tally.line)  # each comes before the next row is read
            yield example

    @classmethod
    def check_columns(cls, columns: Columns) -> None:
        if columns != USUAL and not cls.takes_columns:
            problem = f"{cls.format} have names of their own: leave it out"
            raise UserError(f"--columns is for texts and numbers; {problem}")

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
    def check_labels(cls, source: str | Path, examples: Examples, *, inferred: bool) -> None:
        """Raise `UserError` where the labels of train are hardly what the user means to learn.
        `inferred`: nobody named the format."""
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

    def adapted(self, train: Examples, source: str | Path) -> "Task":
        """The same task with what it takes from the examples, which come from `source`."""
        return self

    # --- What a run says of its data -------------------------------------------------------------

    learns: ClassVar[str]  # to say what? `{labels}` is their number, `{what}` a text or a pair
    label_name: ClassVar[str] = "label"

    def summary(self, train: Examples, dev: Examples) -> tuple[str, list[str]]:
        """A title, and in lines which labels occur in both sets."""
        found = (Counter(self.all_labels(each)) for each in (train, dev))
        return f"{self.label_name}s", label_table(self.head.labels, *found)

    # --- From examples to predictions and scores --------------------------------------------------

    @abstractmethod
    def encode(self, examples: Examples, tokenizer: Tokenizer, *, max_length: int) -> Encoded:
        """Every example as what the model reads, at most `max_length` tokens at once: as several
        features, where a long text has windows. One line on standard error counts what is cut."""

    def number_of(self, label: str, place: int) -> int:
        """The number of a label of the example at this place; `UserError` for an unknown one."""
        if label not in self.head.labels:
            problem = f"the {self.label_name} is {label!r}, not {one_of(self.head.labels)}"
            raise UserError(f"example {place + 1:,}: {problem}")
        return self.head.labels.index(label)

    def reading_length(self, asked: int | None, config: BertConfig, *,
                       usual: int | None = None) -> int:  # fmt: skip
        """How many tokens are read at once: as asked (--max-length), else the `usual` number."""
        most = config.max_position_embeddings
        if asked is not None and asked > most:
            raise UserError(f"--max-length {asked}: the model reads {most} tokens at most")
        return min(most, usual or self.usual_length) if asked is None else asked

    def collate(self, features: Encoded, *, pad_id: int) -> Batch:
        """The arrays that the model and its loss take, padded to the longest of the features."""
        return with_labels(collate_inputs(features, pad_id=pad_id), features, self.label_type)

    def check_segments(self, features: Encoded, config: BertConfig) -> None:
        """Raise `UserError` if these features, all alike, have a segment that the model lacks."""
        first = features[:1] if config.type_vocab_size < 2 else []
        if first and self.collate(first, pad_id=config.pad_token_id)["token_type_ids"].any():
            raise UserError("the model's type_vocab_size is 1: two texts that are read together "
                            "need 2 segments: take another checkpoint")  # fmt: skip

    def loss_count(self, batch: Batch) -> int:
        """How many answers the loss of this batch is the mean of."""
        return len(batch["labels"])

    @abstractmethod
    def predict(self, examples: Examples, features: Encoded, logits: AllLogits) -> list[Any]:
        """One prediction an example, from the logits of its features."""

    def answers(self, examples: Examples, model: BertWithHead, tokenizer: Tokenizer, *,
                max_length: int, precision: torch.dtype = torch.float32,
                progress: str | None = None) -> list[Any]:  # fmt: skip
        """What a model answers to examples, which need no labels: from text to predictions."""
        features = self.encode(examples, tokenizer, max_length=max_length)
        self.check_segments(features, model.config)
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
        A task type defines this method, or `score` alone, which is slower."""
        both = examples, predictions
        return lambda places: self.score(*([each[i] for i in places] for each in both))

    def answer(self, prediction: Any) -> Any:
        """The bare answer: a label, a number, the tags, the text of a span."""
        return getattr(prediction, "answer", prediction)

    def is_collapsed(self, examples: Sequence[Example], predictions: Predictions) -> bool:
        """Whether every example got the same answer: such a run has learned nothing."""
        answers = {repr(self.answer(prediction)) for prediction in predictions}
        return len(predictions) > 1 and len(answers) == 1

    # --- New text --------------------------------------------------------------------------------

    empty: ClassVar[Any]  # what a line without text asks
    parts: ClassVar[tuple[str, ...]] = ("text",)  # of an example, by the names of their columns
    contexts: ClassVar[tuple[str, ...]] = ()  # other names of the column of a context
    lists: ClassVar[Sequence[str]] = ()  # names of a column that holds a list
    needs_parts: ClassVar[bool] = False  # all of them; else what comes first may stand alone

    @classmethod
    def from_texts(cls, texts: Sequence[str], options: Mapping[str, str] | None = None, *,
                   pairs: bool | None = None) -> list[ExampleType]:  # fmt: skip
        """What a command line asks: each text by itself, or all as the parts of one example, of
        which `options` name some (pair, question, context). `pairs`: whether the model has learned
        from pairs, if known. Raises `UserError` for an empty text and options of other tasks."""
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
        return [cls.from_parts(each, f"text {number}") for number, each in enumerate(given, 1)]

    @classmethod
    def from_parts(cls, parts: Sequence[str], place: str) -> ExampleType:
        """What a text asks, or several that belong together: on a line, with tabs between."""
        if len(cls.parts) == 1:
            parts = ["\t".join(parts)]
        if len(parts) > len(cls.parts) or (cls.needs_parts and len(parts) < len(cls.parts)):
            known = " and ".join(cls.parts)
            raise UserError(f"{place} has {len(parts)} parts; those of {cls.format} are {known}: "
                            "in a file with a tab between, on the command line --question and "
                            "--context, or --pair")  # fmt: skip
        fields = dict(zip(cls.parts, map(whole_characters, parts), strict=False))
        return cls.from_row(Row(place, fields))

    @classmethod
    def from_row(cls, row: Row, columns: Columns = USUAL) -> ExampleType:
        """What a row asks, labels or none; a line of plain text may be empty."""
        if row.parts is not None:
            has_text = any(map(str.strip, row.parts))
            return cls.from_parts(row.parts, row.place) if has_text else cls.empty
        (example,) = cls.parse(iter([row]), Expected(columns, labeled=False))
        return example

    # --- A prediction shown ----------------------------------------------------------------------

    @abstractmethod
    def answer_cells(self, example: ExampleType, prediction: Any) -> dict[str, Any]:
        """The answer as columns of a table."""

    def answer_json(self, example: ExampleType, prediction: Any) -> dict[str, Any]:
        """The answer as JSON, and how probable it is."""
        cells = self.answer_cells(example, prediction)
        return {name.removeprefix("predicted_"): cell for name, cell in cells.items()}

    def to_json(self, example: ExampleType, prediction: Any) -> dict[str, Any]:
        """A prediction as JSON: the example, the answer, how probable it is, what is right."""
        right = {} if example.gold is None else {"right": example.gold}
        return example.given | self.answer_json(example, prediction) | right

    def render(self, example: ExampleType, prediction: Any, *, top: int = 5,
               brief: bool = False) -> str:  # fmt: skip
        """A prediction for people, with the `top` labels or answers; `brief`: in one line."""
        if brief:
            return one_line([*self.answer_cells(example, prediction).values(), *example.asked])
        return "\n".join([*example.asked, *self.details(example, prediction, top)])

    def details(self, example: ExampleType, prediction: Any, top: int) -> list[str]:
        """The lines below a text."""
        return [f"  {one_line(self.answer_cells(example, prediction).values())}"]

    # --- The report ------------------------------------------------------------------------------

    def severity(self, example: ExampleType, prediction: Any) -> float | None:
        """How sure the model was of a wrong answer, or how far off it is; None if it is right."""
        is_right = self.answer(prediction) == example.gold
        return None if is_right else getattr(prediction, "probability", 0.0)

    def error_cells(self, example: ExampleType, prediction: Any) -> dict[str, str]:
        """A wrong answer as a row of the list of errors."""
        cells = {"text": " ‖ ".join(example.asked), **self.answer_cells(example, prediction),
                 "right": example.gold}  # fmt: skip
        return {name.removeprefix("predicted_"): one_line([cell]) for name, cell in cells.items()}

    def error_summary(self, examples: Examples, predictions: Predictions, wrong: int) -> str:
        """How much is wrong, in a sentence."""
        return f"{wrong:,} of {len(examples):,} examples are answered wrongly."

    def error_counts(self, examples: Examples, predictions: Predictions) -> ErrorCounts | None:
        """Where it is wrong: by label, unless a type of task counts otherwise."""
        gold, predicted = self.gold_and_predicted(examples, predictions)
        return (self.label_name, label_scores(gold, predicted)) if predicted else None

    def gold_and_predicted(self, examples: Examples, predictions: Predictions) -> tuple[list, list]:
        """Labels side by side, for a picture; empty where answers are none."""
        gold = self.all_labels(examples)
        return ([], []) if gold is None else (gold, [self.answer(each) for each in predictions])


class OneOfSeveral(Task[ExampleType]):
    """What tasks have in common whose answer is one of several: a label, an ending."""

    def possible_answers(self, example: ExampleType) -> dict[Any, str]:
        """What may be answered, in the order of the logits, and each in words."""
        return {label: label for label in self.head.labels}

    def predict(self, examples: Examples, features: Encoded, logits: AllLogits) -> list[Prediction]:
        return [Prediction.likeliest(list(self.possible_answers(example)), softmax(each))
                for example, each in zip(examples, logits, strict=True)]  # fmt: skip

    def majority(self, train: Examples, examples: Examples) -> list[Prediction]:
        """The most common answer, as probable as it is common."""
        counts = Counter(example.label for example in train)
        options = list(self.possible_answers(train[0]))
        shares = np.array([counts[option] for option in options]) / len(train)
        return [Prediction.likeliest(options, shares)] * len(examples)

    def scorer(self, examples: Examples, predictions: Predictions) -> Scorer:
        number = list(self.possible_answers(examples[0])).index
        gold = np.array([number(example.label) for example in examples])
        predicted = np.array([number(prediction.answer) for prediction in predictions])
        return column_scorer(self.metrics, gold, predicted)

    def ranked(self, example: ExampleType, prediction: Prediction) -> list[tuple[str, float]]:
        """All answers in words with their probabilities, the likeliest first."""
        both = zip(self.possible_answers(example).values(), prediction.probabilities, strict=True)
        return sorted(both, key=lambda each: -each[1])

    def details(self, example: ExampleType, prediction: Prediction, top: int) -> list[str]:
        return [f"  {p:6.1%}  {name}" for name, p in self.ranked(example, prediction)[:top]]


def label_table(labels: Sequence[str], train: Counter, dev: Counter) -> list[str]:
    """How often each label occurs in train and in dev, of many the commonest; [] without labels."""
    if not train:
        return []
    head, shown = "", labels
    if len(labels) > MOST:
        head, shown = f"{MOST} of {len(labels)}", [label for label, _ in train.most_common(MOST)]
    names = {label: shortened(label, WIDEST) for label in shown}
    width = max(map(len, [head, *names.values()]))
    counts = [f"{name:<{width}}  {train[label]:>9,}{dev[label]:>9,}"
              for label, name in names.items()]  # fmt: skip
    return [f"{head:<{width}}  {'train':>9}{'dev':>9}", *counts]


def one_line(cells: Iterable[Any]) -> str:
    """Cells between tabs; whatever would break the line becomes a space."""
    texts = (f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in cells)
    return "\t".join(" ".join(text.split()) for text in texts)


def softmax(logits: np.ndarray) -> np.ndarray:
    """exp(x) / sum exp(x) over the last axis, in float64."""
    raised = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)
