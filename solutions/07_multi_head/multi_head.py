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
    # begin solution
    batch, seq, hidden = x.shape
    # First cut the vector, which keeps every number in its token; then exchange the axes. One
    # reshape to (batch, heads, seq, head_dim) has the right shape and the wrong numbers: head 0
    # would get the whole vectors of the first tokens.
    return x.reshape(batch, seq, heads, hidden // heads).transpose(0, 2, 1, 3)
    # end solution


def merge_heads(x: Heads) -> States:
    """Put the parts side by side again: the opposite of `split_heads`."""
    # begin solution
    batch, heads, seq, head_dim = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, seq, heads * head_dim)
    # end solution


def multi_head_forward(
    x: States, weights: Weights, heads: int, attention_mask: Mask = None
) -> States:
    """Project `x` to query, key and value, attend in each head, merge the heads, and project the
    result to the output (Vaswani et al. 2017, section 3.2.2). Every projection is x Wᵀ + b.

    `attention_mask` is 1 on tokens and 0 on padding; None means that all are tokens.
    """
    # begin solution
    query, key, value = (split_heads(project(x, weights, name), heads) for name in ROLES)
    context, _ = attend(query, key, value, attention_mask)
    # The heads are side by side; only this last projection combines what they found.
    return project(merge_heads(context), weights, "output")
    # end solution


def multi_head_backward(
    dout: States, x: States, weights: Weights, heads: int, attention_mask: Mask = None
) -> tuple[States, Weights]:
    """The gradient for `x`, and a dict of the gradients for all eight weights under their names,
    given the gradient `dout` for `multi_head_forward(x, weights, heads, attention_mask)`."""
    # begin solution
    query, key, value = (split_heads(project(x, weights, name), heads) for name in ROLES)
    context, probs = attend(query, key, value, attention_mask)
    dweights: Weights = {}
    dmerged = project_backward(dout, merge_heads(context), weights, "output", dweights)
    # Splitting and merging only move numbers, so each is the backward of the other.
    dcontext = split_heads(dmerged, heads)
    dquery, dkey, dvalue = attend_backward(dcontext, query, key, value, probs)
    # x was used three times, so its gradient is a sum of three.
    dx = (
        project_backward(merge_heads(dquery), x, weights, "query", dweights)
        + project_backward(merge_heads(dkey), x, weights, "key", dweights)
        + project_backward(merge_heads(dvalue), x, weights, "value", dweights)
    )
    return dx, dweights
    # end solution


# begin solution
ROLES = ("query", "key", "value")


def project(x, weights, name):
    # W is (out, in), as in torch. In BERT it is square, so a forgotten transpose raises no error
    # and shows only with weights that somebody else has trained.
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def project_backward(dout, x, weights, name, dweights):
    # out = x Wᵀ + b for every token of every sentence, so W and b collect gradients from all of
    # them: dW[o, i] is the sum of dout[..., o] x[..., i], and dx = dout W.
    dweights.update(
        {
            f"{name}.weight": np.einsum("bso,bsi->oi", dout, x),
            f"{name}.bias": np.einsum("bso->o", dout),
        }
    )
    return dout @ weights[f"{name}.weight"]


# Wrong answers that are common:
# - one reshape for the split, or for the merge: the two errors cancel, so merge(split(x)) is x,
#   and the model even trains. It only cannot use weights that others have trained;
# - the numbers go to the heads in turn (0, 1, 0, 1, …) instead of in stretches;
# - x W for x Wᵀ; a bias forgotten; the output projection forgotten;
# - dx along one of the three paths only;
# - dW transposed: the same shape, since W is square;
# - the bias's gradient as a mean, or summed over the batch alone;
# - the mask forgotten in the backward.
# The gradient of "key.bias" is 0 apart from rounding, and that is right: adding one vector to all
# keys adds the same number to all scores of a query, and softmax does not change.
# end solution
