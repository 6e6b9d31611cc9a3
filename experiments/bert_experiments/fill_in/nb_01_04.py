"""Fill-ins of 01/04, many heads and the layer around them."""

import numpy as np

from bert_experiments.fill_in import FillIn
from bert_numpy.attention import split_heads
from bert_numpy.operations import linear_backward

COUNTED = np.arange(1.0, 13).reshape(1, 3, 4)
TWO_ROWS = np.arange(1.0, 25).reshape(2, 2, 6)


def cut_backwards(x: np.ndarray, heads: int) -> np.ndarray:
    """Every `heads`-th number, not a half that lies together."""
    batch, seq, hidden = x.shape
    return x.reshape(batch, seq, hidden // heads, heads).transpose(0, 3, 1, 2)


cut_heads = FillIn(
    "cut_heads",
    reference=split_heads,
    instead="bert_numpy.attention.split_heads",
    inputs=[(COUNTED, 2), (TWO_ROWS, 3)],
    mistakes={
        "one reshape keeps the order in memory: split the last axis first, then exchange axes": (
            lambda x, heads: x.reshape(len(x), heads, x.shape[1], x.shape[2] // heads)
        ),
        "the axes are still (batch, seq, heads, head_dim): exchange seq and heads": (
            lambda x, heads: x.reshape(*x.shape[:2], heads, x.shape[2] // heads)
        ),
        "each head takes numbers from all over the vector: split the axis into (heads, head_dim)": (
            cut_backwards
        ),
    },
)

VECTOR, DRAWS = np.array([2.0, -1.0, 4.0, 3.0]), np.array([0.3, 0.9, 0.05, 0.6])

drop = FillIn(
    "drop",
    reference=lambda x, draws, p: x * (draws >= p) / (1 - p),
    instead="the formula above",
    inputs=[(VECTOR, DRAWS, 0.5), (VECTOR, DRAWS, 0.1), (np.stack([VECTOR, -VECTOR]), DRAWS, 0.2)],
    mistakes={
        "the numbers that are kept are not scaled: divide by 1 - p": (
            lambda x, draws, p: x * (draws >= p)
        ),
        "the other way round: an entry is kept if its draw is at least p": (
            lambda x, draws, p: x * (draws < p) / (1 - p)
        ),
        "the scale is 1 / p: what is kept is the share 1 - p": (
            lambda x, draws, p: x * (draws >= p) / p
        ),
        "the scale makes it smaller: divide by 1 - p instead of multiplying": (
            lambda x, draws, p: x * (draws >= p) * (1 - p)
        ),
    },
)

DOUT = np.array([[1.0, -2.0], [0.5, 3.0], [0.0, 1.0]])
SQUARE = np.array([[0.5, 2.0], [-1.0, 0.25]])

residual_backward = FillIn(
    "residual_backward",
    reference=lambda dout, weight: dout @ weight + dout,
    instead="the formula above",
    inputs=[(DOUT, SQUARE), (DOUT[:1], -2 * SQUARE)],
    mistakes={
        "the straight path is missing: x also reaches y without the matrix": (
            lambda dout, weight: dout @ weight
        ),
        "the branch is missing: x also reaches y through the matrix": lambda dout, weight: dout,
        "this is the forward pass, x @ weight.T: the backward pass multiplies by weight": (
            lambda dout, weight: dout @ weight.T + dout
        ),
    },
)

X = np.array([[1.0, 2.0, 0.0], [-1.0, 0.5, 3.0], [2.0, 1.0, 1.0]])
WEIGHT = np.array([[0.5, 2.0, -1.0], [1.0, 0.25, 3.0]])

dense_gradients = FillIn(
    "dense_gradients",
    reference=lambda dout, x, weight: linear_backward(dout, (x, weight)),
    instead="bert_numpy.operations.linear_backward",
    inputs=[(DOUT, X, WEIGHT), (DOUT[:1], X[:1], WEIGHT)],
    mistakes={
        "dweight has the shape (in, out): the rows of weight are the outputs, so dout.T @ x": (
            lambda dout, x, weight: (dout @ weight, x.T @ dout, dout.sum(axis=0))
        ),
        "dbias is to be one number for each output: sum over the tokens": (
            lambda dout, x, weight: (dout @ weight, dout.T @ x, dout)
        ),
        "gradients add up over the tokens, they are not averaged": (
            lambda dout, x, weight: (dout @ weight, dout.T @ x / len(x), dout.mean(axis=0))
        ),
        "dbias sums over the outputs: sum over the tokens, axis=0": (
            lambda dout, x, weight: (dout @ weight, dout.T @ x, dout.sum(axis=1))
        ),
    },
)

numbers_of_a_layer = FillIn(
    "numbers_of_a_layer",
    reference=lambda hidden, wide: 4 * (hidden + 1) * hidden + (2 * hidden + 1) * wide + 5 * hidden,
    instead="the right formula",
    inputs=[(768, 3072), (8, 32), (4, 6)],
    mistakes={
        "the biases are missing": (
            lambda hidden, wide: 4 * hidden**2 + 2 * hidden * wide + 4 * hidden
        ),
        "the layer norms are missing: two of them, each with a scale and a shift": (
            lambda hidden, wide: 4 * (hidden + 1) * hidden + (2 * hidden + 1) * wide + hidden
        ),
        "attention has a fourth matrix, the output projection": (
            lambda hidden, wide: 3 * (hidden + 1) * hidden + (2 * hidden + 1) * wide + 5 * hidden
        ),
        "there are two layer norms in a layer, not one": (
            lambda hidden, wide: 4 * (hidden + 1) * hidden + (2 * hidden + 1) * wide + 3 * hidden
        ),
    },
)
