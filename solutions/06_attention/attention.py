"""Attention: every query gathers the values of the keys that it fits, and of no padding."""

import math

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

Queries = Float[ndarray, "batch heads queries head_dim"]
Keys = Float[ndarray, "batch heads keys head_dim"]
Shares = Float[ndarray, "batch heads queries keys"]


def attention_forward(
    query: Queries,
    key: Keys,
    value: Keys,
    attention_mask: Int[ndarray, "batch keys"] | None = None,
) -> tuple[Queries, Shares]:
    """softmax(Q Kᵀ / √head_dim) V, and the shares (Vaswani et al. 2017, equation 1).

    `attention_mask` is 1 where a key is a token, 0 where it is padding; without it all are tokens.
    Padding gets a share of exactly 0, however large the scores. Only keys are masked: every query
    attends. A query whose keys are all padding gets something finite. Inputs are left as they are,
    and both results have their type.
    """
    # begin solution
    # Without the root, scores of long vectors grow with √head_dim, softmax nearly picks one key,
    # and hardly any gradient comes back.
    scores = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])  # [..., query, key]
    if attention_mask is not None:
        is_padding = attention_mask[:, None, None, :] == 0  # (batch, 1, 1, keys): along the keys
        # The lowest number there is, not -inf: where all keys are padding, -inf minus -inf would
        # be NaN, and a NaN spreads. Not -10,000 either, which large scores can reach. And before
        # the softmax: shares that are struck out after it do not add up to 1.
        scores = np.where(is_padding, np.finfo(scores.dtype).min, scores)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    return shares @ value, shares
    # end solution


def attention_backward(
    dcontext: Queries, query: Queries, key: Keys, value: Keys, shares: Shares
) -> tuple[Queries, Keys, Keys]:
    """The gradients for query, key and value, given the gradient for the first result of
    `attention_forward`, its inputs, and its second result. No input is changed."""
    # begin solution
    # The steps of the forward, from the last to the first. For a product C = A B: dA = dC Bᵀ and
    # dB = Aᵀ dC; the shapes allow nothing else, unless queries and keys are as many.
    dvalue = shares.swapaxes(-1, -2) @ dcontext  # (batch, heads, keys, head_dim)
    dshares = dcontext @ value.swapaxes(-1, -2)  # (batch, heads, queries, keys)
    # Softmax: raising one score lowers all other shares of its row. Where a share is 0, so is the
    # gradient: the mask need not be known here.
    dscores = shares * (dshares - (dshares * shares).sum(axis=-1, keepdims=True))
    dscores /= math.sqrt(query.shape[-1])  # the scale of the forward holds on the way back too
    return dscores @ key, dscores.swapaxes(-1, -2) @ query, dvalue
    # end solution


# begin solution
# Wrong answers that are common:
# - the mask laid along the queries: padded queries get nothing, and real ones attend to padding;
# - the mask multiplied with the shares after the softmax, so that rows add up to less than 1;
# - the mask reversed, or not used where only short batches were tried;
# - -inf, and then NaN for a row that is all padding;
# - `~attention_mask`: of the integers 0 and 1 that is -1 and -2, both true;
# - a scale that is missing, is not the root, or belongs to hidden = heads · head_dim;
# - softmax over the queries;
# - in the backward: a transpose forgotten where sizes happen to be equal, the scale forgotten, the
#   softmax's own backward forgotten.
# end solution
