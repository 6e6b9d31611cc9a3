"""What mattered for an answer and what was looked at, word by word; and how far to trust it.

Attention is that of the last layer, from the token that the head reads: [CLS] for a text, the word
itself for its tag. It says where the last step took its information from, and that is less than it
seems: by then every token holds something of all others, and much goes to [SEP], which stands for
"nowhere" (Clark et al. 2019). So both are put to a test: hide the word that comes first, and see
how often the answer changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from bert_experiments.attributions.cases import Case
from bert_experiments.attributions.mattered import gradient_times_input, standing_out
from bert_experiments.attributions.words import Word, summed
from bert_experiments.looking_inside.heads import attention_weights
from bert_finetuning.answering import forward
from bert_finetuning.heads import BertForMultipleChoice, BertForSequenceClassification, BertWithHead
from bert_finetuning.kinds.base import Kind
from bert_run.device import to_device
from bert_run.progress import progress_bar

Batch = dict[str, Tensor]
WordValues = Float[np.ndarray, "words"]


@dataclass(frozen=True)
class Look:
    """A case, and three values of each of its words."""

    case: Case
    mattered: WordValues  # gradient × input: for the answer, or below 0 against it
    attended: WordValues  # share of the attention, mean of the heads
    attended_most: WordValues  # the share of the head that gives the word most


class LookInside:
    """Looks into the answers of one model."""

    def __init__(self, model: BertWithHead, kind: Kind) -> None:
        self.model, self.kind = model.eval(), kind
        self.device = next(model.parameters()).device

    def batch(self, case: Case) -> Batch:
        """The case's reading alone."""
        arrays = self.kind.batch([case.reading], pad_id=self.model.config.pad_token_id)
        return to_device(arrays, self.device)

    def __call__(self, case: Case) -> Look:
        batch = self.batch(case)
        attention = summed(self.attention(case, batch), case.words)  # (heads, words)
        return Look(
            case,
            mattered=self.mattered(case, batch),
            attended=attention.mean(dim=0).cpu().numpy(),
            attended_most=attention.amax(dim=0).cpu().numpy(),
        )

    def mattered(self, case: Case, batch: Batch) -> WordValues:
        def score(logits) -> Tensor:
            return sum(standing_out(*decision) for decision in case.decisions(logits))

        tokens = gradient_times_input(self.model, batch, score)  # (rows, seq)
        return summed(tokens[self.row(case)], case.words).cpu().numpy()

    @torch.no_grad()
    def attention(self, case: Case, batch: Batch) -> Float[Tensor, "heads seq"]:
        """The last layer's, from the tokens that the head has read; of several the mean."""
        row = self.row(case)
        names = ("input_ids", "token_type_ids", "attention_mask")
        flat = {name: batch[name].flatten(0, -2)[row : row + 1] for name in names}
        weights = attention_weights(self.model.bert, flat)[-1, 0]  # (heads, queries, keys)
        return weights[:, self.read_from(case)].mean(dim=1)

    def read_from(self, case: Case) -> list[int]:
        """The tokens that the head has read: all of them, if it took their mean."""
        is_text = isinstance(self.model, BertForSequenceClassification)
        if is_text and self.model.head.pooling == "mean":
            return list(range(len(case.reading.input_ids)))
        return list(case.read_from)

    def row(self, case: Case) -> int:
        """Which row of the batch is shown: of a choice, the ending that was chosen."""
        return case.chosen[0] if isinstance(self.model, BertForMultipleChoice) else 0

    @torch.no_grad()
    def highest(self, case: Case, batch: Batch) -> list[int]:
        """The alternative with the highest logit; of a span a first and a last token."""
        return [int(d.logits.argmax()) for d in case.decisions(forward(self.model, batch))]


class Hidden(NamedTuple):
    """How often the answer changes when one word of it stands behind [MASK]."""

    mattered: float  # that which mattered most, for the answer or against it
    attended: float  # that which was looked at most
    by_lot: float
    cases: int


def hiding_test(
    look_inside: LookInside, cases: Sequence[Case], *, mask_id: int, seed: int = 0
) -> Hidden | None:
    """Hide one word of each case, three times. None if no case has two words.

    What mattered or was looked at must do better than lots, or it says little about the model.
    """
    asked = [case for case in cases if len(ordinary(case.words)) > 1]
    draw = np.random.default_rng(seed)
    changed = np.zeros((len(asked), 3))
    with progress_bar(len(asked), "hiding words", unit="answer") as bar:
        for number, case in enumerate(asked):
            look, places = look_inside(case), ordinary(case.words)
            first = [
                max(places, key=lambda place: abs(look.mattered[place])),
                max(places, key=lambda place: look.attended[place]),
                int(draw.choice(places)),
            ]
            words = [case.words[place] for place in first]
            changed[number] = [changes(look_inside, case, word, mask_id) for word in words]
            bar.update()
    if not asked:
        return None
    return Hidden(*changed.mean(axis=0).tolist(), len(asked))


def ordinary(words: Sequence[Word]) -> list[int]:
    """The places of all words but [CLS] and [SEP]."""
    return [place for place, word in enumerate(words) if not word.is_special]


def changes(look_inside: LookInside, case: Case, word: Word, mask_id: int) -> bool:
    """Whether another alternative has the highest logit when this word is hidden."""
    before = look_inside.highest(case, look_inside.batch(case))
    batch = look_inside.batch(case)
    ids = batch["input_ids"].flatten(0, -2)  # (rows, seq), the same memory
    ids[look_inside.row(case), word.first : word.end] = mask_id
    return look_inside.highest(case, batch) != before
