"""Attention: every token gathers from all tokens, in several heads at once."""

import math

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from bert_numpy.operations import (
    Cache,
    dropout_backward,
    dropout_forward,
    softmax_backward,
    softmax_forward,
)

Heads = Float[ndarray, "batch heads seq head_dim"]


def split_heads(x: Float[ndarray, "batch seq hidden"], heads: int) -> Heads:
    """Each head sees its own part of every vector. A view: nothing is copied."""
    batch, seq, hidden = x.shape
    return x.reshape(batch, seq, heads, hidden // heads).transpose(0, 2, 1, 3)


def merge_heads(x: Heads) -> Float[ndarray, "batch seq hidden"]:
    """The parts side by side again. Splitting and merging only move numbers about, so each is the
    backward of the other."""
    batch, heads, seq, head_dim = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, seq, heads * head_dim)


def mask_scores(
    attention_mask: Int[ndarray, "batch seq"], dtype: np.dtype
) -> Float[ndarray, "batch 1 1 seq"]:
    """What is added to the scores: 0 for a real token, for padding the lowest number there is.

    Only keys are masked. A padded query still attends, and nobody reads what it finds.
    """
    return np.where(attention_mask, 0, np.finfo(dtype).min).astype(dtype)[:, None, None, :]


def attention_forward(
    query: Heads,
    key: Heads,
    value: Heads,
    mask: Float[ndarray, "batch 1 1 seq"],
    *,
    dropout: float = 0.0,
    generator: np.random.Generator | None = None,
) -> tuple[Heads, Cache]:
    """softmax(Q Kᵀ / √head_dim + mask) V (Vaswani et al. 2017, equation 1); dropout drops
    attention weights, each of a (query, key) pair."""
    scale = 1 / math.sqrt(query.shape[-1])
    scores = query @ key.swapaxes(-1, -2)  # (batch, heads, seq, seq): [..., query, key]
    scores *= scale
    scores += mask
    weights, softmax_cache = softmax_forward(scores)  # the attention weights
    dropped, dropout_cache = dropout_forward(weights, dropout, generator)
    context = dropped @ value
    return context, (query, key, value, scale, dropped, softmax_cache, dropout_cache)


def attention_backward(dcontext: Heads, cache: Cache) -> tuple[Heads, Heads, Heads]:
    """The same steps from the last to the first. For a product C = A B: dA = dC Bᵀ, dB = Aᵀ dC.
    The mask is a constant, so it takes no gradient."""
    query, key, value, scale, dropped, softmax_cache, dropout_cache = cache
    dvalue = dropped.swapaxes(-1, -2) @ dcontext
    ddropped = dcontext @ value.swapaxes(-1, -2)
    dweights = dropout_backward(ddropped, dropout_cache)
    dscores = softmax_backward(dweights, softmax_cache)
    dscores *= scale
    dquery = dscores @ key
    dkey = dscores.swapaxes(-1, -2) @ query
    return dquery, dkey, dvalue
