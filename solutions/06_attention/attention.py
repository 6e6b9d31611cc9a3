"""Attention: every query averages the values of the keys that match it, and of no padding."""

import math

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

Queries = Float[ndarray, "batch heads queries head_dim"]
Keys = Float[ndarray, "batch heads keys head_dim"]
Probs = Float[ndarray, "batch heads queries keys"]


def attention_forward(
    query: Queries,
    key: Keys,
    value: Keys,
    attention_mask: Int[ndarray, "batch keys"] | None = None,
) -> tuple[Queries, Probs]:
    """softmax(Q Kᵀ / √head_dim) V, and the probabilities (Vaswani et al. 2017, equation 1).

    `attention_mask` is 1 where a key is a token, 0 where it is padding; without it all are tokens.
    Padding gets a probability of exactly 0, however large the scores. Only keys are masked: every
    query attends. Where all keys are padding, the results are finite. No input is changed, and both
    results have the type of the inputs.
    """
    # begin solution
    # Without the division, scores grow with √head_dim: softmax puts nearly all weight on one key,
    # and the gradient almost vanishes. `.mT` transposes the last two axes.
    scores = query @ key.mT / math.sqrt(query.shape[-1])  # [..., query, key]
    if attention_mask is not None:
        is_padding = attention_mask[:, None, None, :] == 0  # (batch, 1, 1, keys): along the keys
        # The lowest finite number, not -inf: where all keys are padding, -inf minus -inf would be
        # NaN. Not -10,000 or -1e9 either: scores can be lower. And before the softmax: if probs
        # are set to 0 after it, the others do not add up to 1.
        scores = np.where(is_padding, np.finfo(scores.dtype).min, scores)
    probs = np.exp(scores - scores.max(axis=-1, keepdims=True))
    probs /= probs.sum(axis=-1, keepdims=True)
    return probs @ value, probs
    # end solution


def attention_backward(
    dcontext: Queries, query: Queries, key: Keys, value: Keys, probs: Probs
) -> tuple[Queries, Keys, Keys]:
    """The gradients for query, key and value, given the gradient for the first result of
    `attention_forward`, its inputs, and its second result. No input is changed."""
    # begin solution
    # The steps of the forward, from the last to the first. For a product C = A B: dA = dC Bᵀ and
    # dB = Aᵀ dC; the shapes allow nothing else, unless there are as many queries as keys.
    dvalue = probs.mT @ dcontext  # (batch, heads, keys, head_dim)
    dprobs = dcontext @ value.mT  # (batch, heads, queries, keys)
    # Softmax: raising one score lowers all other probabilities of its row. Where one is 0, so is
    # the gradient: the backward needs no mask.
    dscores = probs * (dprobs - (dprobs * probs).sum(axis=-1, keepdims=True))
    dscores /= math.sqrt(query.shape[-1])  # as the scores in the forward
    return dscores @ key, dscores.mT @ query, dvalue
    # end solution


# begin solution
# Wrong answers that are common:
# - the mask laid along the queries: padded queries get nothing, and real ones attend to padding;
# - the probabilities multiplied by the mask after the softmax, so that rows add up to less than 1;
# - the mask reversed, or that of the first sentence used for all;
# - a number like -10,000 or -1e9, which large scores can reach;
# - -inf, and then NaN for a row that is all padding;
# - `~attention_mask`: of the integers 0 and 1 that is -1 and -2, both true;
# - a scale that is missing, is not the root, or belongs to hidden = heads · head_dim;
# - softmax over the queries;
# - in the backward: no transpose where sizes happen to be equal, no scale, or no backward of the
#   softmax.
# end solution
