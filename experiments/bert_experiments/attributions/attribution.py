"""Attribution: which words an answer rests on, by gradient × input and by attention weights.

Gradient × input (Shrikumar et al. 2016, arXiv 1605.01713): the score of an answer is a function of
the tokens' word embeddings e_1 … e_n. To the first order, removing e_i changes it by

    m_i = Σ_d ∂score/∂e_id · e_id

summed over the dimensions d of the embedding. If the score were linear in the embeddings, m_i would
be the exact contribution of token i, and together they would make up the score. BERT is not linear:
layer norms, softmax and GELU bend it, so the m_i need not add up to anything ("completeness" does
not hold). The sign is kept: a word that speaks against the answer is what one wants to see where
the answer is wrong, and absolute values would hide it.

Attention weights are those of the last layer, from the token that the head reads: [CLS] for a text,
the word itself for its tag. They say less than they seem to: by then every token holds something of
all others, and much goes to [SEP], which stands for "nowhere" (Clark et al. 2019).

So both are put to a test, `masking_test`: mask the word that comes first, and see how often the
answer changes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from bert_experiments.attributions.cases import Case, Word
from bert_experiments.looking_inside.heads import attention_weights
from bert_finetuning.tasks.base import BertWithHead, Task, forward
from bert_finetuning.tasks.classification import BertForSequenceClassification
from bert_finetuning.tasks.multiple_choice import BertForMultipleChoice
from bert_run.device import to_device
from bert_run.training_loop import progress_bar

Batch = dict[str, Tensor]
WordValues = Float[np.ndarray, "words"]


def gradient_times_input(
    model: nn.Module, batch: dict[str, Tensor], score: Callable[[Any], Float[Tensor, ""]]
) -> Float[Tensor, "*batch seq"]:
    """For each token what it contributes to `score(logits)`, to the first order.

    Only the word embeddings count as input: positions and segments are the same whatever stands
    there. The model must be in evaluation; its parameters get no gradient.
    """
    embeddings: list[Tensor] = []

    def keep(_module: nn.Module, _inputs: Any, output: Tensor) -> Tensor:
        embeddings.append(output.detach().requires_grad_())
        return embeddings[-1]

    hook = model.bert.embeddings.word_embeddings.register_forward_hook(keep)
    try:
        with torch.enable_grad():
            total = score(forward(model, batch))
            (gradient,) = torch.autograd.grad(total, embeddings)
    finally:
        hook.remove()
    return (gradient * embeddings[0].detach()).sum(dim=-1)


def margin(logits: Float[Tensor, "alternatives"], chosen: int) -> Float[Tensor, ""]:
    """By how much the chosen logit exceeds the mean of the others.

    A logit alone would not do: softmax does not see what raises all of them alike. One logit
    without others is a number to be predicted, and stands for itself.
    """
    others = torch.arange(len(logits), device=logits.device) != chosen
    return logits[chosen] - logits[others].mean() if len(logits) > 1 else logits[chosen]


def summed(values: Float[Tensor, "*rows seq"], words: Sequence[Word]) -> Float[Tensor, "*rows _"]:
    """The sum over the tokens of each word.

    Sums, not means: attention is shared out among tokens, and contributions add up.
    """
    sums = [values[..., word.first : word.end].sum(dim=-1) for word in words]
    return torch.stack(sums, dim=-1)


@dataclass(frozen=True)
class Attribution:
    """A case, and three values of each of its words."""

    case: Case
    gradient: WordValues  # gradient × input: for the answer, or below 0 against it
    attention: WordValues  # attention weights, mean of the heads
    highest_head: WordValues  # the weight of the head that gives the word most


class Attributor:
    """Attributes the answers of one model to the words that it reads."""

    def __init__(self, model: BertWithHead, task: Task) -> None:
        self.model, self.task = model.eval(), task
        self.device = next(model.parameters()).device

    def batch(self, case: Case) -> Batch:
        """The case's features alone."""
        arrays = self.task.collate([case.features], pad_id=self.model.config.pad_token_id)
        return to_device(arrays, self.device)

    def __call__(self, case: Case) -> Attribution:
        batch = self.batch(case)
        weights = summed(self.attention(case, batch), case.words)  # (heads, words)
        return Attribution(
            case,
            gradient=self.gradient(case, batch),
            attention=weights.mean(dim=0).cpu().numpy(),
            highest_head=weights.amax(dim=0).cpu().numpy(),
        )

    def gradient(self, case: Case, batch: Batch) -> WordValues:
        def score(logits) -> Tensor:
            return sum(margin(*decision) for decision in case.decisions(logits))

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
            return list(range(len(case.features.input_ids)))
        return list(case.read_from)

    def row(self, case: Case) -> int:
        """Which row of the batch is shown: of a choice, the ending that was chosen."""
        return case.chosen[0] if isinstance(self.model, BertForMultipleChoice) else 0

    @torch.no_grad()
    def highest(self, case: Case, batch: Batch) -> list[int]:
        """The alternative with the highest logit; of a span a first and a last token."""
        return [int(d.logits.argmax()) for d in case.decisions(forward(self.model, batch))]


class MaskingTest(NamedTuple):
    """How often the answer changes when one of its words is replaced by [MASK]."""

    gradient: float  # the word with the largest gradient × input, for the answer or against it
    attention: float  # the word with the highest attention weight
    random: float
    cases: int


def masking_test(
    attribute: Attributor, cases: Sequence[Case], *, mask_id: int, seed: int = 0
) -> MaskingTest | None:
    """Mask one word of each case, three times. None if no case has two words.

    An attribution must do better than a random word, or it says little about the model.
    """
    asked = [case for case in cases if len(ordinary(case.words)) > 1]
    draw = np.random.default_rng(seed)
    changed = np.zeros((len(asked), 3))
    with progress_bar(len(asked), "masking words", unit="answer") as bar:
        for number, case in enumerate(asked):
            found, places = attribute(case), ordinary(case.words)
            first = [
                max(places, key=lambda place: abs(found.gradient[place])),
                max(places, key=lambda place: found.attention[place]),
                int(draw.choice(places)),
            ]
            words = [case.words[place] for place in first]
            changed[number] = [is_changed(attribute, case, word, mask_id) for word in words]
            bar.update()
    if not asked:
        return None
    return MaskingTest(*changed.mean(axis=0).tolist(), len(asked))


def ordinary(words: Sequence[Word]) -> list[int]:
    """The places of all words but [CLS] and [SEP]."""
    return [place for place, word in enumerate(words) if not word.is_special]


def is_changed(attribute: Attributor, case: Case, word: Word, mask_id: int) -> bool:
    """Whether another alternative has the highest logit when this word is masked."""
    before = attribute.highest(case, attribute.batch(case))
    batch = attribute.batch(case)
    ids = batch["input_ids"].flatten(0, -2)  # (rows, seq), the same memory
    ids[attribute.row(case), word.first : word.end] = mask_id
    return attribute.highest(case, batch) != before
