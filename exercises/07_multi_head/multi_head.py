"""Multi-head attention: one set of projections, several heads side by side, and the way back."""

import math

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

States = Float[ndarray, "batch seq hidden"]
Heads = Float[ndarray, "batch heads seq head_dim"]
Mask = Int[ndarray, "batch seq"] | None
Weights = dict[str, ndarray]  # "query.weight", "query.bias", and so for key, value and output

# --- Handed out: attention in every head, as in exercise 6, and its way back ---


def attend(
    query: Heads, key: Heads, value: Heads, attention_mask: Mask
) -> tuple[Heads, Float[ndarray, "batch heads seq seq"]]:
    """softmax(Q Kᵀ / √head_dim) V, padding left out, and the shares."""
    scores = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])
    if attention_mask is not None:
        lowest = np.finfo(scores.dtype).min
        scores = np.where(attention_mask[:, None, None, :] == 0, lowest, scores)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    return shares @ value, shares


def attend_backward(
    dcontext: Heads, query: Heads, key: Heads, value: Heads, shares: ndarray
) -> tuple[Heads, Heads, Heads]:
    """The gradients for query, key and value; `shares` as `attend` returned them."""
    dshares = dcontext @ value.swapaxes(-1, -2)
    dscores = shares * (dshares - (dshares * shares).sum(axis=-1, keepdims=True))
    dscores /= math.sqrt(query.shape[-1])
    dvalue = shares.swapaxes(-1, -2) @ dcontext
    return dscores @ key, dscores.swapaxes(-1, -2) @ query, dvalue


# --- To be written ---


def split_heads(x: States, heads: int) -> Heads:
    """Each head gets its own part of every vector: the first head_dim = hidden / heads numbers,
    the next head_dim, and so on."""
    raise NotImplementedError("write split_heads")


def merge_heads(x: Heads) -> States:
    """The parts side by side again: the opposite of `split_heads`."""
    raise NotImplementedError("write merge_heads")


def multi_head_forward(
    x: States, weights: Weights, heads: int, attention_mask: Mask = None
) -> States:
    """Project `x` to query, key and value, attend in each head, merge, project to the output
    (Vaswani et al. 2017, section 3.2.2). Every projection is x Wᵀ + b.

    `attention_mask` is 1 on tokens, 0 on padding. No input is changed.
    """
    raise NotImplementedError("write multi_head_forward")


def multi_head_backward(
    dout: States, x: States, weights: Weights, heads: int, attention_mask: Mask = None
) -> tuple[States, Weights]:
    """The gradients for `x` and for every weight, under the same names, given the gradient `dout`
    for the result of `multi_head_forward(x, weights, heads, attention_mask)`."""
    raise NotImplementedError("write multi_head_backward")
