"""What a head adds to BERT's configuration: labels, and where it reads from.

In `config.json` these fields stand beside those of `BertConfig`, under the names of `transformers`:
`id2label` and `label2id`, `problem_type`, `classifier_dropout`.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

from bert_run.config import BertConfig, Dropout
from bert_run.errors import UserError
from bert_run.ranges import check_fields

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
    if named is None:
        if num_labels != content.get("num_labels", 2):
            raise UserError(
                f"config.json names no labels, and the classifier has {num_labels}: add id2label, "
                "or copy the checkpoint again"
            )
        return tuple(f"LABEL_{number}" for number in range(num_labels))
    try:
        names = {int(number): name for number, name in named.items()}
    except (AttributeError, ValueError):
        raise UserError("config.json is damaged: id2label gives no number for each label") from None
    in_order = sorted(names) == list(range(len(names)))
    if not in_order or not all(isinstance(name, str) for name in names.values()):
        raise UserError(
            f"config.json is damaged: id2label must name the labels 0 to {len(names) - 1}"
        )
    if len(names) != num_labels:
        raise UserError(
            f"config.json names {len(names)} labels, and the classifier has {num_labels}: they "
            "belong to different checkpoints"
        )
    return tuple(names[number] for number in range(num_labels))
