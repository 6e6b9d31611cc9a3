"""Fill-ins of 02/03, BERT and GPT from one code."""

import math

import torch
from torch import Tensor

from bert_experiments.fill_in import FillIn
from bert_experiments.finetuning.pooling import text_vector
from bert_lowlevel.attention import visible_keys

REAL = torch.tensor([[1, 1, 1, 1, 0]])
TWO = torch.tensor([[1, 1, 1], [1, 1, 0]])


def as_table(attention_mask: Tensor, causal: bool) -> Tensor:
    """Of the package: (batch, seq, seq)."""
    seq = attention_mask.shape[1]
    return visible_keys(attention_mask, causal=causal)[:, 0].expand(-1, seq, seq).clone()


def with_triangle(attention_mask: Tensor, triangle: Tensor) -> Tensor:
    return as_table(attention_mask, False) & triangle


def ones(attention_mask: Tensor) -> Tensor:
    seq = attention_mask.shape[1]
    return torch.ones(seq, seq, dtype=torch.bool)


visible = FillIn(
    "visible",
    reference=as_table,
    instead="bert_lowlevel.attention.visible_keys",
    inputs=[(REAL, False), (REAL, True), (TWO, True)],
    mistakes={
        "the triangle is the wrong way round: these tokens see what is to their right": (
            lambda mask, causal: with_triangle(mask, ones(mask).triu()) if causal
            else as_table(mask, causal)
        ),
        "a token does not see itself: the diagonal belongs to the triangle, .tril()": (
            lambda mask, causal: with_triangle(mask, ones(mask).tril(-1)) if causal
            else as_table(mask, causal)
        ),
        "rows are masked instead of columns: no query attends TO padding, mask[:, None, :]": (
            lambda mask, causal: mask.bool()[:, :, None]
            & (ones(mask).tril() if causal else ones(mask))
        ),
        "a padded token is masked as a query too: only its column should be": (
            lambda mask, causal: as_table(mask, causal) & mask.bool()[:, :, None]
        ),
        "padding is visible: combine the triangle with attention_mask": (
            lambda mask, causal: (
                as_table(torch.ones_like(mask), causal)
            )
        ),
        "the triangle is missing where causal is true": (
            lambda mask, causal: as_table(mask, False)
        ),
    },
)  # fmt: skip

SCORES = torch.tensor([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0], [2.0, 0.0, -1.0]])
TRIANGLE = torch.ones(3, 3, dtype=torch.bool).tril()
NO_LAST = torch.tensor([[True, True, False]]).expand(3, 3).clone()

masked_softmax = FillIn(
    "masked_softmax",
    reference=lambda scores, may: scores.masked_fill(~may, -math.inf).softmax(dim=-1),
    instead="the line of the solution",
    inputs=[(SCORES, TRIANGLE), (SCORES, NO_LAST)],
    mistakes={
        "the weights are set to 0 after the softmax, so the rest of a row is below 1 together": (
            lambda scores, may: scores.softmax(dim=-1).masked_fill(~may, 0.0)
        ),
        "a score of 0 is not masked: exp(0) is 1. Use -math.inf": (
            lambda scores, may: scores.masked_fill(~may, 0.0).softmax(dim=-1)
        ),
        "what may be seen is masked: masked_fill needs ~may": (
            lambda scores, may: scores.masked_fill(may, -math.inf).softmax(dim=-1)
        ),
        "the columns sum to 1, not the rows: dim=-1": (
            lambda scores, may: scores.masked_fill(~may, -math.inf).softmax(dim=-2)
        ),
        "nothing is masked": lambda scores, may: scores.softmax(dim=-1),
    },
)

gpt_choices = FillIn(
    "gpt_choices",
    reference=[8, 1, 5, 1],
    instead="the right four numbers",
    mistakes={
        "this is BERT's list: nothing to the left of the bird tells which one it is": [1, 1, 5, 1],
        "place and food are not open: the bird to their left determines them": [8, 8, 5, 8],
        "the place is not open: the bird stands to its left and determines it": [8, 8, 5, 1],
        "the food is not open: the bird in the first sentence is to its left": [8, 1, 5, 8],
        "the look is one of five, whoever catches the food": [8, 1, 1, 1],
    },
)

lowest_loss = FillIn(
    "lowest_loss",
    reference=lambda choices: sum(math.log(n) for n in choices) / len(choices),
    instead="the formula above",
    inputs=[([8, 2],), ([1, 1, 5, 1],), ([3],)],
    mistakes={
        "the logarithms are added up but not divided: each word is masked in one row of n": (
            lambda choices: sum(math.log(n) for n in choices)
        ),
        "this is the logarithm of the mean: take the mean of the logarithms": (
            lambda choices: math.log(sum(choices) / len(choices))
        ),
        "these are bits: a nat is the natural logarithm, math.log": (
            lambda choices: sum(math.log2(n) for n in choices) / len(choices)
        ),
        "the sign: a loss is not negative": (
            lambda choices: -sum(math.log(n) for n in choices) / len(choices)
        ),
    },
)

STATES = torch.tensor([[[1.0, 0.0], [2.0, 2.0], [3.0, 1.0], [9.0, 9.0], [9.0, 9.0]],
                       [[4.0, 0.0], [2.0, 6.0], [7.0, 7.0], [7.0, 7.0], [7.0, 7.0]]])  # fmt: skip
MASK = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 0, 0, 0]])

mean_of_tokens = FillIn(
    "mean_of_tokens",
    reference=lambda states, attention_mask: text_vector(states, attention_mask, "mean"),
    instead="bert_experiments.finetuning.pooling.text_vector",
    inputs=[(STATES, MASK), (STATES[1:], MASK[1:])],
    mistakes={
        "the padding is included": lambda states, attention_mask: states.mean(dim=1),
        "the sum is divided by the length of the row, not by its number of real tokens": (
            lambda states, attention_mask: (states * attention_mask[:, :, None]).mean(dim=1)
        ),
        "the sum is not divided": (
            lambda states, attention_mask: (states * attention_mask[:, :, None]).sum(dim=1)
        ),
    },
)
