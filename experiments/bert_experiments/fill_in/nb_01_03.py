"""Fill-ins of 01/03, attention by hand."""

import numpy as np

from bert_experiments.fill_in import FillIn
from bert_numpy.operations import softmax_backward, softmax_forward

QUERY = np.array([[1, 1], [2, 0], [1, 1], [2, 0], [1, 1], [0, 2.0]])
KEY = np.array([[0, 0], [0, 2], [0.5, 0.5], [1, 0], [0, 0], [2, 0.0]])
VALUE = np.array([[0, 0], [1, 1], [0, 0], [0, 0], [0, 0], [3, 0.0]])
THREE = np.array([[1.0, 0, -1], [2, 1, 0], [0, 1, 1]])  # of three numbers each
WIDE = np.array([[1.0, 0, -1, 2], [2, 1, 0, 1], [0, 1, 1, 0]])  # values may have more


def softmax(scores: np.ndarray) -> np.ndarray:
    return softmax_forward(scores)[0]


attention_weights = FillIn(
    "attention_weights",
    reference=lambda query, key: softmax(key @ query / np.sqrt(len(query))),
    instead="the right answer",
    inputs=[(QUERY[1], KEY), (QUERY[5], KEY), (THREE[1], THREE)],
    mistakes={
        "the scores are not divided by the root of d": lambda query, key: softmax(key @ query),
        "the scores are divided by d: take its square root": (
            lambda query, key: softmax(key @ query / len(query))
        ),
        "these are the scores: softmax turns them into weights": (
            lambda query, key: key @ query / np.sqrt(len(query))
        ),
        "the division by the root comes before softmax": (
            lambda query, key: softmax(key @ query) / np.sqrt(len(query))
        ),
        "d is the length of a query, not the number of words": (
            lambda query, key: softmax(key @ query / np.sqrt(len(key)))
        ),
    },
)


def weights_of(query: np.ndarray, key: np.ndarray) -> np.ndarray:
    return softmax(query @ key.T / np.sqrt(query.shape[-1]))


attention = FillIn(
    "attention",
    reference=lambda query, key, value: weights_of(query, key) @ value,
    instead="the formula above",
    inputs=[(QUERY, KEY, VALUE), (THREE, THREE[::-1].copy(), WIDE)],
    mistakes={
        "the scores are not divided by the root of d": (
            lambda query, key, value: softmax(query @ key.T) @ value
        ),
        "softmax runs along the wrong axis: each row, of one query, is to add up to 1": (
            lambda query, key, value: (
                softmax((query @ key.T / np.sqrt(query.shape[-1])).T).T @ value
            )
        ),
        "query and key are swapped: a row of scores belongs to a query": (
            lambda query, key, value: weights_of(key, query) @ value
        ),
        "these are the attention weights: multiply them by value": (
            lambda query, key, value: weights_of(query, key)
        ),
        "softmax is missing": (
            lambda query, key, value: query @ key.T / np.sqrt(query.shape[-1]) @ value
        ),
    },
)

LOWEST = np.finfo(np.float32).min

added_to_scores = FillIn(
    "added_to_scores",
    reference=lambda attention_mask: np.where(attention_mask, 0, LOWEST).astype(np.float32),
    instead="bert_numpy.attention.mask_scores",
    inputs=[(np.array([1, 1, 1, 0, 0]),), (np.array([[1, 0], [1, 1]]),)],
    mistakes={
        "upside down: a word gets 0, padding the lowest number": (
            lambda attention_mask: np.where(attention_mask, LOWEST, 0).astype(np.float32)
        ),
        "-inf makes a row of nothing but padding nan: take the lowest finite number": (
            lambda attention_mask: np.where(attention_mask, 0, -np.inf).astype(np.float32)
        ),
        "0 added to a score changes nothing: padding needs the lowest number": (
            lambda attention_mask: attention_mask.astype(np.float32)
        ),
        "np.finfo(np.float32).tiny is the smallest positive number: take .min": (
            lambda attention_mask: np.where(attention_mask, 0, np.finfo(np.float32).tiny).astype(
                np.float32
            )
        ),
    },
)

A, B = np.array([[1.0, 2], [3, 4]]), np.array([[5.0, 6], [7, 8]])
DC = np.array([[1.0, -1], [0, 2]])

back_through_product = FillIn(
    "back_through_product",
    reference=lambda dc, a, b: (dc @ b.T, a.T @ dc),
    instead="the rule above",
    inputs=[(DC, A, B), (WIDE, THREE, WIDE[::-1].copy()), (np.ones((2, 4)), A @ THREE[:2], WIDE)],
    mistakes={
        "b is not transposed: dA is dC times the transpose of B": (
            lambda dc, a, b: (dc @ b, a.T @ dc)
        ),
        "a is not transposed: dB is the transpose of A times dC": (
            lambda dc, a, b: (dc @ b.T, a @ dc)
        ),
        "neither factor is transposed": lambda dc, a, b: (dc @ b, a @ dc),
        "the order in dB: the transpose of A stands on the left": (
            lambda dc, a, b: (dc @ b.T, dc @ a.T)
        ),
        "the two are swapped: first the gradient for a": lambda dc, a, b: (a.T @ dc, dc @ b.T),
    },
)

DCONTEXT = np.zeros((6, 2))
DCONTEXT[1, 0] = 1


def back(dcontext, query, key, value, weights, *, scale=True, through_softmax=True):
    """Attention's backward pass, with steps left out on request."""
    dscores = dcontext @ value.T
    if through_softmax:
        dscores = softmax_backward(dscores, weights)
    if scale:
        dscores = dscores / np.sqrt(query.shape[-1])
    return dscores @ key, dscores.T @ query, weights.T @ dcontext, dscores


back_through_attention = FillIn(
    "back_through_attention",
    reference=lambda *args: back(*args)[:3],
    instead="the four steps above",
    inputs=[
        (DCONTEXT, QUERY, KEY, VALUE, weights_of(QUERY, KEY)),
        (WIDE, THREE, THREE[::-1].copy(), WIDE / 2, weights_of(THREE, THREE[::-1])),
    ],
    mistakes={
        "step 2 is missing: the scores were divided by the root of d": (
            lambda *args: back(*args, scale=False)[:3]
        ),
        "step 3 is missing: dweights goes through softmax_backward": (
            lambda *args: back(*args, through_softmax=False)[:3]
        ),
        "dkey needs the transpose: dscores.T @ query": (
            lambda *args: (back(*args)[0], back(*args)[3] @ args[1], back(*args)[2])
        ),
        "dvalue needs the transpose: weights.T @ dcontext": (
            lambda *args: (*back(*args)[:2], args[4] @ args[0])
        ),
        "dquery and dkey have the wrong factor: each contains the other, key or query": (
            lambda *args: (back(*args)[3] @ args[1], back(*args)[3].T @ args[2], back(*args)[2])
        ),
    },
)
