"""Four heads on BERT (paper, figure 4), each a single linear layer, and the loss of each.

    input_ids ──────┐             ┌─ [CLS] ─ pooler ─ classifier    a label for a text or a pair
    token_type_ids ─┼─ BertModel ─┼─ [CLS] ─ pooler ─ classifier    one of several endings
    attention_mask ─┘             ├─ every token ─ classifier       a label for each token
                                  └─ every token ─ qa_outputs       where the answer starts and ends

Everything below the head has been learned before and goes on learning. The attributes carry the
names of `transformers`, so that a parameter's path here is its name in the file.

All are called alike: `logits = model(input_ids, token_type_ids, attention_mask)`, then
`model.loss(logits, batch)`, where the batch holds the answers under the names of `transformers`:
`labels`, or `start_positions` and `end_positions`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from bert_finetuning.data.rows import quoted
from bert_finetuning.features import Features
from bert_paper.model import BertModel
from bert_run.config import BertConfig, Dropout
from bert_run.device import Ranks, mixed_precision, to_device
from bert_run.errors import UserError, check_fields
from bert_run.training_loop import progress_bar
from bert_run.weights import refuse_overflow

IGNORED = -100  # the label of a token that has no answer, as in `transformers`
ALONE = Ranks()
ROWS = 64  # of features that are answered at once

Tokens = Int[Tensor, "batch seq"]  # ids, segments, or 1 where there is no padding
TensorBatch = dict[str, Tensor]
Logits = np.ndarray  # of one row of features, without padding; of a span two rows, start and end


# --- What a head is asked for --------------------------------------------------------------------

Pooling = Literal["cls", "mean"]
POOLING_FIELD = "classifier_pooling"  # as ModernBERT's config has it; BERT's own has no such field


@dataclass(frozen=True)
class HeadConfig:
    """The labels in the order of their numbers; a single one names a number to be predicted.

    `pooling` says what stands for a whole text: the pooled [CLS], as in the paper, or the mean of
    its tokens. `classifier_dropout` is BERT's own (`hidden_dropout_prob`) where it is None. Heads
    that answer with a place, a span or a choice, have no labels.
    """

    labels: tuple[str, ...] = ()
    pooling: Pooling = "cls"
    classifier_dropout: Dropout | None = None

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
    def is_regression(self) -> bool:
        return self.num_labels == 1

    @property
    def problem_type(self) -> str:
        """What the head of a text is asked for, in the words of `transformers`."""
        return "regression" if self.is_regression else "single_label_classification"

    def dropout(self, config: BertConfig) -> float:
        """The share of the vector that the classifier does not see in training."""
        own = self.classifier_dropout
        return config.hidden_dropout_prob if own is None else own

    def fields(self) -> dict[str, Any]:
        """What `config.json` says of the head.

        `classifier_pooling` is written for the mean alone. `transformers` passes it over and reads
        [CLS]; it does say that the pooler, which such a model has not, is drawn anew.
        """
        content: dict[str, Any] = {"classifier_dropout": self.classifier_dropout}
        if self.labels:
            content["id2label"] = {str(number): name for number, name in enumerate(self.labels)}
            content["label2id"] = {name: number for number, name in enumerate(self.labels)}
        if self.pooling != "cls":
            content[POOLING_FIELD] = self.pooling
        return content

    @classmethod
    def from_fields(cls, content: dict[str, Any], *, num_labels: int) -> "HeadConfig":
        """The head that a `config.json` describes, whose classifier has `num_labels` rows.

        Raises `UserError` where the two do not fit.
        """
        return cls(
            labels_of(content, num_labels),
            pooling=content.get(POOLING_FIELD, "cls"),
            classifier_dropout=content.get("classifier_dropout"),
        )


def labels_of(content: dict[str, Any], num_labels: int) -> tuple[str, ...]:
    """The names in `id2label`. Without it there are two nameless ones, as in `transformers`."""
    named = content.get("id2label")
    if named is None and num_labels == content.get("num_labels", 2):
        return tuple(f"LABEL_{number}" for number in range(num_labels))
    try:
        names = {int(number): name for number, name in named.items()}
    except (AttributeError, ValueError):
        names = {}
    are_texts = all(isinstance(name, str) for name in names.values())
    if sorted(names) != list(range(num_labels)) or not are_texts:
        raise UserError(
            f"config.json: id2label is {quoted(named)}, and the classifier has labels 0 to "
            f"{num_labels - 1}: name each of them, or copy both files of the checkpoint again"
        )
    return tuple(names[number] for number in range(num_labels))


# --- Four heads ----------------------------------------------------------------------------------


class BertWithHead(nn.Module):
    """What the four have in common."""

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


class BertForSequenceClassification(BertWithHead):
    """One answer for a text or a pair: a label, or a number if the head has a single label
    (figure 4, a and b; section 4.1).

    The paper reads it from [CLS] through the pooler. With `pooling="mean"` the mean of all tokens
    stands there instead, to compare.
    """

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
        return self.classifier(self.dropout(text))

    def logits_shape(self, features: Features) -> tuple[int, ...]:
        return (self.head.num_labels,)

    def loss(self, logits: Float[Tensor, "batch labels"], batch: TensorBatch) -> Float[Tensor, ""]:
        if self.head.is_regression:
            return squared_error(logits[:, 0], batch["labels"])
        return cross_entropy(logits, batch["labels"], weights=self.label_weights)


class BertForMultipleChoice(BertWithHead):
    """Which of several endings belongs to a beginning (section 4.4, SWAG).

    Each ending is read as a pair with the beginning and gets one number; the softmax is taken over
    the endings.
    """

    pipeline = "multiple-choice"
    has_labels = False

    def __init__(self, config: BertConfig, head: HeadConfig) -> None:
        super().__init__(config, head, pooler=True)
        self.dropout = nn.Dropout(head.dropout(config))
        self.classifier = nn.Linear(config.hidden_size, 1)

    def forward(
        self,
        input_ids: Int[Tensor, "batch choices seq"],
        token_type_ids: Int[Tensor, "batch choices seq"],
        attention_mask: Int[Tensor, "batch choices seq"],
    ) -> Float[Tensor, "batch choices"]:
        pairs = [x.flatten(0, 1) for x in (input_ids, token_type_ids, attention_mask)]
        pooled = self.bert(*pairs).pooled  # (batch · choices, hidden)
        return self.classifier(self.dropout(pooled)).view(input_ids.shape[:2])

    def logits_shape(self, features: Features) -> tuple[int, ...]:
        return (len(features.input_ids),)

    def loss(self, logits: Float[Tensor, "batch choices"], batch: TensorBatch) -> Float[Tensor, ""]:
        return cross_entropy(logits, batch["labels"])


class BertForTokenClassification(BertWithHead):
    """A label for every token (figure 4, d; section 5.3, names of people and places).

    There is no pooler: nothing is read from [CLS] alone.
    """

    pipeline = "token-classification"

    def __init__(self, config: BertConfig, head: HeadConfig) -> None:
        super().__init__(config, head, pooler=False)
        self.dropout = nn.Dropout(head.dropout(config))
        self.classifier = nn.Linear(config.hidden_size, head.num_labels)

    def forward(
        self, input_ids: Tokens, token_type_ids: Tokens, attention_mask: Tokens
    ) -> Float[Tensor, "batch seq labels"]:
        states = self.bert(input_ids, token_type_ids, attention_mask).last_hidden_state
        return self.classifier(self.dropout(states))

    def logits_shape(self, features: Features) -> tuple[int, ...]:
        return (features.length, self.head.num_labels)

    def loss(
        self, logits: Float[Tensor, "batch seq labels"], batch: TensorBatch
    ) -> Float[Tensor, ""]:
        labels = batch["labels"].flatten()
        return cross_entropy(logits.flatten(0, 1), labels, weights=self.label_weights)


class SpanLogits(NamedTuple):
    """For each token, how much it looks like the first and like the last of the answer."""

    start: Float[Tensor, "batch seq"]
    end: Float[Tensor, "batch seq"]


class BertForQuestionAnswering(BertWithHead):
    """Where in a text the answer to a question starts and ends (figure 4, c; section 4.2, SQuAD).

    The two rows of `qa_outputs` are the paper's vectors S and E: a token's score is its product
    with them. It has no dropout of its own, in the released code neither.
    """

    pipeline = "question-answering"
    part = "qa_outputs"
    has_labels = False

    def __init__(self, config: BertConfig, head: HeadConfig) -> None:
        super().__init__(config, head, pooler=False)
        self.qa_outputs = nn.Linear(config.hidden_size, 2)

    def forward(
        self, input_ids: Tokens, token_type_ids: Tokens, attention_mask: Tokens
    ) -> SpanLogits:
        states = self.bert(input_ids, token_type_ids, attention_mask).last_hidden_state
        return SpanLogits(*self.qa_outputs(states).unbind(-1))

    def logits_shape(self, features: Features) -> tuple[int, ...]:
        return (2, features.length)

    def loss(self, logits: SpanLogits, batch: TensorBatch) -> Float[Tensor, ""]:
        return span_loss(logits, batch["start_positions"], batch["end_positions"])


HEADS: dict[str, type[BertWithHead]] = {
    head.__name__: head
    for head in (BertForSequenceClassification, BertForMultipleChoice, BertForTokenClassification,
                 BertForQuestionAnswering)
}  # fmt: skip


# --- Their losses --------------------------------------------------------------------------------


def mean_of_tokens(
    states: Float[Tensor, "batch seq hidden"], attention_mask: Tokens
) -> Float[Tensor, "batch hidden"]:
    """The mean over the tokens that are no padding; [CLS] and [SEP] count."""
    real = attention_mask[:, :, None].to(states.dtype)  # (batch, seq, 1)
    return (states * real).sum(1) / real.sum(1)


def cross_entropy(
    logits: Float[Tensor, "n classes"],
    labels: Int[Tensor, "n"],
    *,
    ignored: int = IGNORED,
    weights: Float[Tensor, "classes"] | None = None,
) -> Float[Tensor, ""]:
    """The mean of −log softmax(logits)[label], in nats, over all labels that are not `ignored`.

    Each loss is multiplied by the weight of its label. The sum is divided by the number of labels,
    not by the sum of their weights as in torch: so a batch of common labels alone counts less.

    Of tokens this is the mean over all of the batch: a long sentence weighs more than a short one.
    Where no label counts it is 0, not 0/0 as in `transformers`.
    """
    total = F.cross_entropy(logits, labels, weights, ignore_index=ignored, reduction="sum")
    return total / (labels != ignored).sum().clamp(min=1)


def squared_error(
    predictions: Float[Tensor, "n"], targets: Float[Tensor, "n"]
) -> Float[Tensor, ""]:
    """The mean of the squared differences, over the examples."""
    return (predictions - targets).square().mean()


def span_loss(
    logits: SpanLogits, start_positions: Int[Tensor, "batch"], end_positions: Int[Tensor, "batch"]
) -> Float[Tensor, ""]:
    """The mean of two means over examples: −log P(start) and −log P(end).

    A position past the end of the window does not count, one before its beginning stands for
    [CLS]: as in `transformers`, and in the released code, which halves the paper's sum too.
    """
    seq = logits.start.shape[1]
    start = cross_entropy(logits.start, start_positions.clamp(0, seq), ignored=seq)
    end = cross_entropy(logits.end, end_positions.clamp(0, seq), ignored=seq)
    return (start + end) / 2


# --- From features to logits ---------------------------------------------------------------------


@torch.no_grad()
def logits_of(
    model: BertWithHead,
    task: Any,
    features: Sequence[Features],
    *,
    precision: torch.dtype = torch.float32,
    ranks: Ranks = ALONE,
    progress: str | None = None,
) -> list[Logits]:
    """The model in evaluation: the logits of all features, in their order, without padding.

    `task` collates them. Each rank reads its part, and all get all of them. `progress` names the
    bar to be shown.
    """
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    sizes = [model.logits_shape(each) for each in features]
    ends = np.cumsum([np.prod(size, dtype=int) for size in sizes])
    flat = np.zeros(int(ends[-1]) if len(ends) else 0, np.float32)
    by_length = np.argsort([each.length for each in features], kind="stable")
    mine = by_length[ranks.rank :: ranks.size]
    bar = progress_bar(
        len(mine), progress or "", unit="text", disable=progress is None or not ranks.leads
    )
    with bar:
        for first in range(0, len(mine), ROWS):
            rows = mine[first : first + ROWS]
            batch = to_device(
                task.collate([features[i] for i in rows], pad_id=model.config.pad_token_id), device
            )
            with mixed_precision(device, precision):
                answer = forward(model, batch)
            if isinstance(answer, SpanLogits):
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


def forward(model: torch.nn.Module, batch: TensorBatch) -> Tensor | SpanLogits:
    return model(batch["input_ids"], batch["token_type_ids"], batch["attention_mask"])
