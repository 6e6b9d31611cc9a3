"""Embeddings: ids become vectors, and in the backward each row collects its gradients.

Layer norm is given here, forward and backward (exercise 4 is about it).
"""

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

Weights = dict[str, ndarray]

WORDS, POSITIONS, SEGMENTS = (
    "word_embeddings.weight",  # (vocab, hidden)
    "position_embeddings.weight",  # (positions, hidden); a batch may be shorter
    "token_type_embeddings.weight",  # (segments, hidden)
)
SCALE, SHIFT = "LayerNorm.weight", "LayerNorm.bias"  # (hidden,) each


def layer_norm_forward(
    x: Float[ndarray, "*batch hidden"], weights: Weights, eps: float
) -> Float[ndarray, "*batch hidden"]:
    """Given: every vector gets mean 0 and variance 1, then a learned scale and shift."""
    centered = x - x.mean(axis=-1, keepdims=True)
    std = np.sqrt(centered.var(axis=-1, keepdims=True) + eps)
    return centered / std * weights[SCALE] + weights[SHIFT]


def layer_norm_backward(
    dout: Float[ndarray, "*batch hidden"],
    x: Float[ndarray, "*batch hidden"],
    weights: Weights,
    eps: float,
) -> tuple[Float[ndarray, "*batch hidden"], Float[ndarray, "hidden"], Float[ndarray, "hidden"]]:
    """Given: the gradients for `x` (the input of `layer_norm_forward`), for its scale and for its
    shift."""
    centered = x - x.mean(axis=-1, keepdims=True)
    std = np.sqrt(centered.var(axis=-1, keepdims=True) + eps)
    normalized = centered / std
    d = dout * weights[SCALE]
    dx = d - d.mean(-1, keepdims=True) - normalized * (d * normalized).mean(-1, keepdims=True)
    over_batch = tuple(range(dout.ndim - 1))
    return dx / std, (dout * normalized).sum(over_batch), dout.sum(over_batch)


def lookup_backward(
    dout: Float[ndarray, "*batch hidden"], ids: Int[ndarray, "*batch"], entries: int
) -> Float[ndarray, "entries hidden"]:
    """The gradient for a table of `entries` rows, given the gradient `dout` for `table[ids]`.

    A row that was read several times gets the sum of its gradients; one that was never read gets
    zeros. The result has the type of `dout`.
    """
    raise NotImplementedError("write lookup_backward")


def embeddings_forward(
    input_ids: Int[ndarray, "batch seq"],
    token_type_ids: Int[ndarray, "batch seq"],
    weights: Weights,
    *,
    eps: float = 1e-12,
) -> Float[ndarray, "batch seq hidden"]:
    """The sum of word, position and segment, then layer norm (Devlin et al. 2018, figure 2)."""
    raise NotImplementedError("write embeddings_forward")


def embeddings_backward(
    dout: Float[ndarray, "batch seq hidden"],
    input_ids: Int[ndarray, "batch seq"],
    token_type_ids: Int[ndarray, "batch seq"],
    weights: Weights,
    *,
    eps: float = 1e-12,
    pad_id: int = 0,
) -> Weights:
    """A dict of the gradients for all arrays of `weights`, under their names and in their shapes,
    given the gradient `dout` for what `embeddings_forward` returned.

    The row of `pad_id` in the word table is not trained: its gradient is zero.
    """
    raise NotImplementedError("write embeddings_backward")
