"""Fill-ins of 04/05, what do the frozen layers know?"""

import numpy as np

from bert_experiments.fill_in import FillIn

CRANES = np.array([[1.0, 2.0], [2.0, 1.0], [-1.0, 3.0]])


def cosines(x: np.ndarray) -> np.ndarray:
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    return unit @ unit.T


cosine_table = FillIn(
    "cosine_table",
    reference=cosines,
    instead="the dot products of unit vectors",
    inputs=[(CRANES,), (CRANES[:2] * 10,)],
    mistakes={
        "these are dot products: divide each vector by its length first": lambda x: x @ x.T,
        "divided by the length of one of the two vectors only": (
            lambda x: (x / np.linalg.norm(x, axis=1, keepdims=True)) @ x.T
        ),
        "the length runs over all vectors: each needs its own, axis=1, keepdims=True": (
            lambda x: (x / np.linalg.norm(x)) @ (x / np.linalg.norm(x)).T
        ),
    },
)

TABLE = np.array([[1.0, 5.0], [3.0, 5.5], [8.0, 9.0]])


def standardized(x: np.ndarray, learn: int) -> np.ndarray:
    return (x - x[:learn].mean(axis=0)) / (x[:learn].std(axis=0) + 1e-6)


standardize = FillIn(
    "standardize",
    reference=standardized,
    instead="mean and standard deviation of the first rows",
    inputs=[(TABLE, 2), (TABLE[::-1].copy(), 2)],
    mistakes={
        "mean and deviation come from all rows, the held-out ones too: this is leakage": (
            lambda x, learn: standardized(x, len(x))
        ),
        "only the mean is subtracted: divide by the standard deviation too": (
            lambda x, learn: x - x[:learn].mean(axis=0)
        ),
        "only the training rows are returned: the held-out ones need it, too": (
            lambda x, learn: standardized(x, learn)[:learn]
        ),
        "one mean for the whole table: each column needs its own, axis=0": (
            lambda x, learn: (x - x[:learn].mean()) / (x[:learn].std() + 1e-6)
        ),
    },
)

LAYERS = np.array([[1.0, 2.0], [10.0, 20.0]])


def softmax_mix(vectors: np.ndarray, weights: np.ndarray) -> np.ndarray:
    normalized = np.exp(weights) / np.exp(weights).sum()
    return normalized @ vectors


weighted_sum = FillIn(
    "weighted_sum",
    reference=softmax_mix,
    instead="softmax(weights) @ vectors",
    inputs=[(LAYERS, np.array([0.0, 0.0])), (LAYERS, np.array([1.0, -1.0]))],
    mistakes={
        "the softmax is missing: the weights themselves are 0 at the start": (
            lambda vectors, weights: weights @ vectors
        ),
        "this is the plain sum: the weights are not used": (
            lambda vectors, weights: vectors.sum(axis=0)
        ),
        "the exponentials are not divided by their sum": (
            lambda vectors, weights: np.exp(weights) @ vectors
        ),
        "this is the plain mean: the weights are not used": (
            lambda vectors, weights: vectors.mean(axis=0)
        ),
    },
)
