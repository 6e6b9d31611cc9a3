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
    # begin solution
    batch, seq, hidden = x.shape
    # First the vector is cut, which keeps every number in its token; then the axes change places.
    # One reshape to (batch, heads, seq, head_dim) has the right shape and the wrong numbers: head
    # 0 would get the whole vectors of the first tokens.
    return x.reshape(batch, seq, heads, hidden // heads).transpose(0, 2, 1, 3)
    # end solution


def merge_heads(x: Heads) -> States:
    """The parts side by side again: the opposite of `split_heads`."""
    # begin solution
    batch, heads, seq, head_dim = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, seq, heads * head_dim)
    # end solution


def multi_head_forward(
    x: States, weights: Weights, heads: int, attention_mask: Mask = None
) -> States:
    """Project `x` to query, key and value, attend in each head, merge, project to the output
    (Vaswani et al. 2017, section 3.2.2). Every projection is x Wᵀ + b.

    `attention_mask` is 1 on tokens, 0 on padding. No input is changed.
    """
    # begin solution
    query, key, value = (split_heads(project(x, weights, name), heads) for name in ROLES)
    context, _ = attend(query, key, value, attention_mask)
    # Without the last projection, heads would lie side by side for ever and never meet.
    return project(merge_heads(context), weights, "output")
    # end solution


def multi_head_backward(
    dout: States, x: States, weights: Weights, heads: int, attention_mask: Mask = None
) -> tuple[States, Weights]:
    """The gradients for `x` and for every weight, under the same names, given the gradient `dout`
    for the result of `multi_head_forward(x, weights, heads, attention_mask)`."""
    # begin solution
    query, key, value = (split_heads(project(x, weights, name), heads) for name in ROLES)
    context, shares = attend(query, key, value, attention_mask)
    dweights: Weights = {}
    dmerged = project_back(dout, merge_heads(context), weights, "output", dweights)
    # Splitting and merging only move numbers about, so each is the backward of the other.
    parts = attend_backward(split_heads(dmerged, heads), query, key, value, shares)
    # x was used three times, so its gradient is a sum of three.
    dx = sum(
        project_back(merge_heads(part), x, weights, name, dweights)
        for name, part in zip(ROLES, parts, strict=True)
    )
    return dx, dweights
    # end solution


# begin solution
ROLES = ("query", "key", "value")


def project(x, weights, name):
    # W is (out, in), as in torch. In BERT it is square, so that a forgotten transpose goes
    # unnoticed until the weights are someone else's.
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def project_back(dout, x, weights, name, dweights):
    # out = x Wᵀ + b, so dx = dout W, and W collects dout ⊗ x from every token of every sentence.
    rows, drows = x.reshape(-1, x.shape[-1]), dout.reshape(-1, dout.shape[-1])
    dweights[f"{name}.weight"] = drows.T @ rows
    dweights[f"{name}.bias"] = drows.sum(axis=0)
    return dout @ weights[f"{name}.weight"]


# Wrong answers that are common:
# - one reshape for the split, or for the merge: the two errors undo each other, so merge(split(x))
#   is x, and the model even trains. It only reads nothing that others have trained;
# - the numbers dealt out to the heads in turn, in place of stretches;
# - x W for x Wᵀ; a bias forgotten; the output projection forgotten;
# - dx along one of the three paths only;
# - dW transposed: the same shape, since W is square;
# - the bias's gradient as a mean, or summed over the batch alone;
# - the mask forgotten on the way back.
# The gradient of "key.bias" is 0 but for rounding, and that is right: moving all keys by the same
# vector moves all scores of a query alike, and softmax does not see it.
# end solution
