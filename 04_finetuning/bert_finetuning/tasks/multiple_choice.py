"""Which of several endings belongs to a beginning? (SWAG, section 4.4)"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from jaxtyping import Float, Int
from tokenizers import Tokenizer
from torch import Tensor, nn

from bert_finetuning.data.rows import CONTEXTS, Expected, Row, Table, quoted, whole_characters
from bert_finetuning.tasks import base
from bert_finetuning.tasks.base import BertWithHead, Encoded, HeadConfig, TensorBatch
from bert_run.config import BertConfig
from bert_run.errors import UserError, shown

ChoiceTokens = Int[Tensor, "batch choices seq"]
ENDINGS = ("endings", "choices")  # a list of all,
ENDING = re.compile(r"(ending|choice)\d+", re.ASCII | re.IGNORECASE)  # or a column for each


class BertForMultipleChoice(BertWithHead):
    """Which of several endings belongs to a beginning (section 4.4, SWAG). Each ending is read as a
    pair with the beginning and gets one number; the softmax is taken over the endings."""

    pipeline = "multiple-choice"
    has_labels = False

    def __init__(self, config: BertConfig, head: HeadConfig) -> None:
        super().__init__(config, head, pooler=True)
        self.dropout = nn.Dropout(head.dropout(config))
        self.classifier = nn.Linear(config.hidden_size, 1)

    def forward(self, input_ids: ChoiceTokens, token_type_ids: ChoiceTokens,
                attention_mask: ChoiceTokens) -> Float[Tensor, "batch choices"]:  # fmt: skip
        pairs = [x.flatten(0, 1) for x in (input_ids, token_type_ids, attention_mask)]
        pooled = self.bert(*pairs).pooled  # (batch · choices, hidden)
        return self.classifier(self.dropout(pooled)).view(input_ids.shape[:2])

    def logits_shape(self, features: base.Features) -> tuple[int, ...]:
        return (len(features.input_ids),)

    def loss(self, logits: Float[Tensor, "batch choices"], batch: TensorBatch) -> Float[Tensor, ""]:
        return base.cross_entropy(logits, batch["labels"])


@dataclass(frozen=True, slots=True)
class Choice(base.Example):
    """How does the context go on? `label` is the place of the right ending, from 0."""

    shown: ClassVar = ("context",)

    context: str
    endings: tuple[str, ...]
    label: int | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.context, *self.endings)

    @property
    def shape(self) -> str:
        return f"{len(self.endings)} endings"

    @property
    def kept_together(self) -> str:
        return self.context


Choices = Sequence[Choice]


@dataclass(frozen=True)
class MultipleChoice(base.OneOfSeveral[Choice]):
    """The answer is the place of the likeliest ending, from 0; the head has no labels."""

    format: ClassVar = "choices"
    model: ClassVar = BertForMultipleChoice
    known_metrics: ClassVar = ("accuracy",)
    learns: ClassVar = "the right one of several endings"
    row_columns: ClassVar = (("endings",), ("choices",), ("ending0",), ("choice0",))
    empty: ClassVar = Choice("", ())
    parts: ClassVar = ("context", "endings")
    contexts: ClassVar = tuple(context for context, _ in CONTEXTS)
    lists: ClassVar = ENDINGS
    needs_parts: ClassVar = True

    @classmethod
    def parse(cls, rows: Table, expected: Expected) -> Iterator[Choice]:
        """Rows as SWAG has them: `sent1`, `sent2`, `ending0` … `label`; or `context`, `endings`."""
        for row in rows:
            names, *others = [names for names in CONTEXTS if row.find(names[:1])] or [None]
            if names is None:
                raise row.missing(*cls.contexts)
            if any(row.text(other[0]) != row.text(names[0]) for other in others):
                both = f"{quoted(names[0])} and {quoted(others[0][0])}"
                raise UserError(f"{row.place} has {both}: a choice has one beginning: join both, "
                                "or leave one out")  # fmt: skip
            begin = row.text(names[1]) if names[1] and row.find(names[1:]) else ""
            endings = tuple(f"{begin} {ending}".strip() for ending in endings_of(row))
            if len(endings) < 2:
                needs = "a beginning and two or more of them (on a line, with tabs between)"
                raise UserError(f"{row.place}: {len(endings)} endings: a choice needs {needs}")
            label = right_place(row, len(endings)) if expected.labeled else None
            yield Choice(row.text(names[0]), endings, label)

    @classmethod
    def check_examples(cls, source: str | Path, examples: Choices) -> None:
        check_endings(examples, f"{source}: ")

    def encode(self, examples: Choices, tokenizer: Tokenizer, *, max_length: int) -> Encoded:
        check_endings(examples)
        pairs = [(example.context, ending) for example in examples for ending in example.endings]
        what = "pairs with an ending"
        rows = iter(base.encode_pairs(tokenizer, pairs, max_length=max_length, what=what))
        features = []
        for place, example in enumerate(examples):
            ids, segments = zip(*islice(rows, len(example.endings)), strict=True)
            targets = {} if example.label is None else {"labels": example.label}
            features.append(base.Features(place, list(ids), list(segments), targets))
        return features

    def collate(self, features: Encoded, *, pad_id: int) -> base.Batch:
        """Arrays of shape (batch, choices, seq)."""
        endings = [each._replace(input_ids=ids, token_type_ids=segments) for each in features
                   for ids, segments in zip(*each[1:3], strict=True)]  # fmt: skip
        flat = base.collate_inputs(endings, pad_id=pad_id)  # (batch · choices, seq)
        arrays = {name: x.reshape(len(features), -1, x.shape[1]) for name, x in flat.items()}
        return base.with_labels(arrays, features, self.label_type)

    def possible_answers(self, example: Choice) -> dict[int, str]:
        return dict(enumerate(example.endings))

    @classmethod
    def from_parts(cls, parts: Sequence[str], place: str) -> Choice:
        context, *endings = map(whole_characters, parts)
        return cls.from_row(Row(place, {"context": context, "endings": endings}))

    def answer_cells(self, example: Choice, prediction: base.Prediction) -> dict[str, Any]:
        place, probability = prediction.answer, round(prediction.probability, 6)
        return {"predicted_place": place, "predicted_ending": example.endings[place],
                "probability": probability}  # fmt: skip

    def answer_json(self, example: Choice, prediction: base.Prediction) -> dict[str, Any]:
        each = zip(example.endings, prediction.probabilities, strict=True)
        endings = [{"ending": text, "probability": round(p, 6)} for text, p in each]
        return {"choice": prediction.answer, "endings": endings}


def endings_of(row: Row) -> list[str]:
    """One list, or one column for each."""
    if name := row.find(ENDINGS):
        return row.texts(name)
    columns = [name for name in row.fields if ENDING.fullmatch(name)]
    return [row.text(name) for name in sorted(columns, key=lambda name: (len(name), name.lower()))]


def right_place(row: Row, endings: int) -> int:
    value = row.fields.get(row.spelled("label"))
    if str(value) not in map(str, range(endings)) or isinstance(value, bool):
        raise UserError(f"{row.place}: the label is {shown(value)}: it must be the place of an "
                        f"ending, 0 to {endings - 1}")  # fmt: skip
    return int(value)


def check_endings(examples: Choices, source: str = "") -> None:
    """All must have as many endings as the first: a batch is one array."""
    for number, example in enumerate(examples, start=1):
        wanted, there = len(examples[0].endings), len(example.endings)
        if there != wanted:
            found = f"{source}example {number:,} ({quoted(example.context)}) has {there} endings"
            raise UserError(f"{found}, the first has {wanted}: all need the same number")
