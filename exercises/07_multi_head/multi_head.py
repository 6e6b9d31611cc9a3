"""Multi-head attention: four projections, several heads side by side, and all gradients."""

import math

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

States = Float[ndarray, "batch seq hidden"]
Heads = Float[ndarray, "batch heads seq head_dim"]
Mask = Int[ndarray, "batch seq"] | None
Weights = dict[str, ndarray]  # "query.weight", "query.bias", and so for key, value and output

# --- Given: attention in every head, as in exercise 6, and its backward ---


def attend(
    query: Heads, key: Heads, value: Heads, attention_mask: Mask
) -> tuple[Heads, Float[ndarray, "batch heads seq seq"]]:
    """The context softmax(Q Kᵀ / √head_dim) V without padding, and the softmax itself."""
    scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(query.shape[-1])
    if attention_mask is not None:
        lowest = np.finfo(scores.dtype).min
        scores = np.where(attention_mask[:, None, None, :] == 0, lowest, scores)
    probs = np.exp(scores - scores.max(axis=-1, keepdims=True))
    probs /= probs.sum(axis=-1, keepdims=True)
    return probs @ value, probs


def attend_backward(
    dcontext: Heads, query: Heads, key: Heads, value: Heads, probs: ndarray
) -> tuple[Heads, Heads, Heads]:
    """The gradients for query, key and value; `probs` as `attend` returned them."""
    dprobs = dcontext @ value.transpose(0, 1, 3, 2)
    dscores = probs * (dprobs - (dprobs * probs).sum(axis=-1, keepdims=True))
    dscores /= math.sqrt(query.shape[-1])
    dvalue = probs.transpose(0, 1, 3, 2) @ dcontext
    return dscores @ key, dscores.transpose(0, 1, 3, 2) @ query, dvalue


# --- To be written ---


def split_heads(x: States, heads: int) -> Heads:
    """Cut every vector into `heads` parts of head_dim = hidden / heads numbers: head 0 gets the
    first part, head 1 the next, and so on."""
    raise NotImplementedError("write split_heads")


def merge_heads(x: Heads) -> States:
    """Put the parts side by side again: the opposite of `split_heads`."""
    raise NotImplementedError("write merge_heads")


def multi_head_forward(
    x: States, weights: Weights, heads: int, attention_mask: Mask = None
) -> States:
    """Project `x` to query, key and value, attend in each head, merge the heads, and project the
    result to the output (Vaswani et al. 2017, section 3.2.2). Every projection is x Wᵀ + b.

    `attention_mask` is 1 on tokens and 0 on padding; None means that all are tokens.
    """
    raise NotImplementedError("write multi_head_forward")


def multi_head_backward(
    dout: States, x: States, weights: Weights, heads: int, attention_mask: Mask = None
) -> tuple[States, Weights]:
    """The gradient for `x`, and a dict of the gradients for all eight weights under their names,
    given the gradient `dout` for `multi_head_forward(x, weights, heads, attention_mask)`."""
    raise NotImplementedError("write multi_head_backward")
