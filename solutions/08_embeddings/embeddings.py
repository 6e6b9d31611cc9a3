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
    # begin solution
    # The table's own size, and not the largest id of this batch: most words are not in it.
    dtable = np.zeros((entries, dout.shape[-1]), dout.dtype)
    # table[ids] copies a row to every place where its id stands, and the backward of a copy is a
    # sum. `dtable[ids] += dout` does not sum: NumPy first computes dtable[ids] + dout, in which
    # every place starts from zero, and then writes all of them, so only the last one stays.
    np.add.at(dtable, ids, dout)
    return dtable
    # end solution


def embeddings_forward(
    input_ids: Int[ndarray, "batch seq"],
    token_type_ids: Int[ndarray, "batch seq"],
    weights: Weights,
    *,
    eps: float = 1e-12,
) -> Float[ndarray, "batch seq hidden"]:
    """The sum of word, position and segment, then layer norm (Devlin et al. 2018, figure 2)."""
    # begin solution
    return layer_norm_forward(summed(input_ids, token_type_ids, weights), weights, eps)
    # end solution


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
    # begin solution
    x = summed(input_ids, token_type_ids, weights)
    dx, dscale, dshift = layer_norm_backward(dout, x, weights, eps)
    # Each term of a sum gets the gradient of the sum: dx goes to all three tables.
    dwords = lookup_backward(dx, input_ids, len(weights[WORDS]))
    # Only this row, and only of this table: the position and the segment of padding were read like
    # all others. (In training no loss depends on padding directly, so dout is often 0 there.)
    dwords[pad_id] = 0
    dsegments = lookup_backward(dx, token_type_ids, len(weights[SEGMENTS]))
    # Position p is read once by every row of the batch: its gradients are summed over the batch.
    # The rows of the table after the first seq were not read.
    dpositions = np.zeros_like(weights[POSITIONS])
    dpositions[: dx.shape[1]] = dx.sum(axis=0)
    return {WORDS: dwords, POSITIONS: dpositions, SEGMENTS: dsegments, SCALE: dscale, SHIFT: dshift}
    # end solution


# begin solution
def summed(
    input_ids: Int[ndarray, "batch seq"], token_type_ids: Int[ndarray, "batch seq"],
    weights: Weights,
) -> Float[ndarray, "batch seq hidden"]:  # fmt: skip
    """What the layer norm receives. Positions need no ids: the first seq rows of their table,
    (seq, hidden), are added to every row of the batch."""
    places = weights[POSITIONS][: input_ids.shape[1]]
    return weights[WORDS][input_ids] + places + weights[SEGMENTS][token_type_ids]


# Wrong answers that are common:
# - dtable[ids] += dout: repeated ids lose all gradients but one. A test with five different words
#   does not show it, but a real text has "the" in every sentence;
# - a table of gradients that ends at the largest id of the batch;
# - the position's gradient taken from one row, or averaged, instead of summed over the batch;
# - no layer norm, or one around the words alone;
# - segment ids that are passed in and never read;
# - dx set to zero at padding: the position and segment tables lose gradients too.
# end solution
