"""Fill-ins of 02/04, attention in pictures."""

import math
from collections.abc import Callable

import numpy as np
import torch
from numpy import ndarray

from bert_experiments.fill_in import FillIn

KEYS = torch.tensor([[1.0, 0.0, 2.0, 0.0], [0.0, 1.0, 0.0, 0.0], [2.0, 2.0, -1.0, 1.0]])
QUERY = torch.tensor([1.0, 0.5, 1.0, 2.0])

attention_row = FillIn(
    "attention_row",
    reference=lambda query, keys: (keys @ query / query.shape[-1] ** 0.5).softmax(dim=-1),
    instead="the line of the solution",
    inputs=[(QUERY, KEYS), (torch.tensor([0.0, 3.0]), torch.tensor([[1.0, 1.0], [0.0, -1.0]]))],
    mistakes={
        "the scores are not divided by the root of head_dim": (
            lambda query, keys: (keys @ query).softmax(dim=-1)
        ),
        "the scores are divided by head_dim, not by its root": (
            lambda query, keys: (keys @ query / query.shape[-1]).softmax(dim=-1)
        ),
        "these are the scores: the softmax is missing": (
            lambda query, keys: keys @ query / query.shape[-1] ** 0.5
        ),
    },
)

TABLE = np.array([[0.7, 0.2, 0.1, 0.0], [0.5, 0.3, 0.1, 0.1], [0.0, 0.6, 0.2, 0.2],
                  [0.1, 0.0, 0.4, 0.5]])  # fmt: skip

attention_at = FillIn(
    "attention_at",
    reference=lambda table, offset: np.trace(table, offset) / len(table),
    instead="np.trace(table, offset) / len(table)",
    inputs=[(TABLE, -1), (TABLE, 1), (TABLE, 2), (TABLE[:3, :3], 0)],
    mistakes={
        "left and right are swapped: the diagonal above the main one, +1, is the right neighbor": (
            lambda table, offset: np.trace(table, -offset) / len(table)
        ),
        "this is the sum over all tokens: divide by their number": (
            lambda table, offset: np.trace(table, offset)
        ),
        "divided by the length of the diagonal: a token without such a neighbor counts as 0": (
            lambda table, offset: np.diagonal(table, offset).mean()
        ),
    },
)


def without_columns(matrix: ndarray, begin: int, end: int) -> ndarray:
    out = matrix.copy()
    out[:, begin:end] = 0
    return out


MATRIX = np.arange(1.0, 37.0).reshape(6, 6)

erase = FillIn(
    "erase",
    reference=lambda matrix, head, size: without_columns(matrix, head * size, (head + 1) * size),
    instead="bert_experiments.looking_inside.importance.without_head",
    inputs=[(MATRIX, 0, 2), (MATRIX, 1, 2), (MATRIX, 1, 3)],
    mistakes={
        "rows are erased: what a head contributes is multiplied by columns, matrix[:, …]": (
            lambda matrix, head, size: without_columns(matrix.T, head * size, (head + 1) * size).T
        ),
        "one column alone is erased: a head has `size` of them": (
            lambda matrix, head, size: without_columns(matrix, head, head + 1)
        ),
        "everything from this head on is erased: stop at (head + 1) * size": (
            lambda matrix, head, size: without_columns(matrix, head * size, matrix.shape[1])
        ),
        "this head is kept and the others are erased": (
            lambda matrix, head, size: (
                matrix - without_columns(matrix, head * size, (head + 1) * size)
            )
        ),
    },
)

Chance = Callable[[list[str]], float]


def parrot_chance(tokens: list[str]) -> float:
    """A made-up model's ln p of lantern: it needs the word, and `says` helps."""
    return math.log(0.8 if "lantern" in tokens else 0.02) - 0.5 * ("says" not in tokens)


def chance_of_pair(tokens: list[str]) -> float:
    return -1.0 - 2 * tokens.count("[MASK]")


def masked_one_by_one(log_chance: Chance, tokens: list[str]) -> list[float]:
    before = log_chance(tokens)
    return [before - log_chance([*tokens[:position], "[MASK]", *tokens[position + 1 :]])
            for position in range(len(tokens))]  # fmt: skip


def masked_for_good(log_chance: Chance, tokens: list[str]) -> list[float]:
    return [log_chance(tokens) - log_chance(["[MASK]"] * (n + 1) + tokens[n + 1 :])
            for n in range(len(tokens))]  # fmt: skip


def left_out(log_chance: Chance, tokens: list[str]) -> list[float]:
    return [log_chance(tokens) - log_chance([*tokens[:n], *tokens[n + 1 :]])
            for n in range(len(tokens))]  # fmt: skip


effects = FillIn(
    "effects",
    reference=masked_one_by_one,
    instead="bert_experiments.looking_inside.importance.effect_of_hiding",
    inputs=[(parrot_chance, ["lantern", ".", "it", "says"]), (chance_of_pair, ["a", "b"])],
    mistakes={
        "the sign: a word matters if the answer becomes LESS likely without it": (
            lambda log_chance, tokens: [-x for x in masked_one_by_one(log_chance, tokens)]
        ),
        "the words masked before stay masked: make a new list for each token": masked_for_good,
        "the token is left out: put [MASK] in its place, so that all positions stay": left_out,
        "this is ln p after masking: subtract it from ln p before": (
            lambda log_chance, tokens: [
                log_chance(tokens) - x for x in masked_one_by_one(log_chance, tokens)
            ]
        ),
    },
)
