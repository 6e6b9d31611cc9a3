"""Fill-ins of 03/07, looking inside a trained BERT."""

import numpy as np
import torch

from bert_experiments.fill_in import FillIn
from bert_experiments.looking_inside.senses import nearest_agrees

# Vectors of unequal lengths, so that a dot product and a cosine choose another neighbor.
VECTORS = np.array([[0.3, 0.3], [0.8, 0.8], [0.1, -1.4], [0.0, -0.2], [-1.4, 0.3], [-0.6, -1.0]])
SENSES = np.array([0, 1, 0, 1, 0, 0])  # 0 is one sense, 1 the other
OTHERS = ~np.eye(6, dtype=bool)
ELSEWHERE = np.arange(6)[:, None] // 2 != np.arange(6)[None, :] // 2


def nearest_by_score(scores: np.ndarray, senses: np.ndarray, allowed: np.ndarray) -> float:
    nearest = np.where(allowed, scores, -np.inf).argmax(axis=1)
    return float((senses[nearest] == senses).mean())


def cosines(vectors: np.ndarray) -> np.ndarray:
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit @ unit.T


nearest_share = FillIn(
    "nearest_share",
    reference=nearest_agrees,
    instead="bert_experiments.looking_inside.senses.nearest_agrees",
    inputs=[(VECTORS, SENSES, OTHERS), (VECTORS, SENSES, ELSEWHERE)],
    mistakes={
        "the vectors are not divided by their lengths, so long vectors win": (
            lambda vectors, senses, allowed: nearest_by_score(vectors @ vectors.T, senses, allowed)
        ),
        "`allowed` is not used, so each row's most similar row is itself": (
            lambda vectors, senses, allowed: nearest_by_score(
                cosines(vectors), senses, np.ones_like(allowed)
            )
        ),
        "a pair that is not allowed has the cosine 0 and wins over negative ones: use -np.inf": (
            lambda vectors, senses, allowed: nearest_by_score(
                np.where(allowed, cosines(vectors), 0.0), senses, np.ones_like(allowed)
            )
        ),
        "this is the count: divide by the number of rows": (
            lambda vectors, senses, allowed: len(senses) * nearest_agrees(vectors, senses, allowed)
        ),
    },
)

WEIGHTS = torch.tensor(
    [[0.1, 0.7, 0.1, 0.1], [0.3, 0.1, 0.5, 0.1], [0.0, 0.2, 0.2, 0.6], [0.25, 0.25, 0.4, 0.1]]
)

mean_at = FillIn(
    "mean_at",
    reference=lambda weights, distance: weights.diagonal(distance).sum().item() / len(weights),
    instead="the sum of `weights.diagonal(distance)`, divided by the number of rows",
    inputs=[(WEIGHTS, distance) for distance in (1, -1, 2, -2, 0)],
    mistakes={
        "left and right are exchanged: `diagonal(1)` is right of the main diagonal": (
            lambda weights, distance: weights.diagonal(-distance).sum().item() / len(weights)
        ),
        "divided by the length of the diagonal: a token without such a key counts as 0": (
            lambda weights, distance: weights.diagonal(distance).mean().item()
        ),
        "this is the sum over the rows, not the mean": (
            lambda weights, distance: weights.diagonal(distance).sum().item()
        ),
    },
)

MATRIX = torch.arange(1.0, 37.0).reshape(6, 6)


def with_zeros(weight: torch.Tensor, rows: slice, columns: slice) -> torch.Tensor:
    changed = weight.clone()
    changed[rows, columns] = 0
    return changed


EVERY = slice(None)

without_head = FillIn(
    "without_head",
    reference=lambda weight, head, head_dim: with_zeros(
        weight, EVERY, slice(head * head_dim, (head + 1) * head_dim)
    ),
    instead="a copy of the matrix with these columns at zero",
    inputs=[(MATRIX, 0, 2), (MATRIX, 1, 2), (MATRIX, 2, 2), (MATRIX, 1, 3)],
    mistakes={
        "these are rows: a head's part of the input is a group of columns": (
            lambda weight, head, head_dim: with_zeros(
                weight, slice(head * head_dim, (head + 1) * head_dim), EVERY
            )
        ),
        "only one column is zero: a head has head_dim of them": (
            lambda weight, head, head_dim: with_zeros(weight, EVERY, slice(head, head + 1))
        ),
        "all other heads are zero, and this one stays": (
            lambda weight, head, head_dim: (
                weight - with_zeros(weight, EVERY, slice(head * head_dim, (head + 1) * head_dim))
            )
        ),
        "the columns begin at `head`: they begin at head * head_dim": (
            lambda weight, head, head_dim: with_zeros(weight, EVERY, slice(head, head + head_dim))
        ),
    },
)
