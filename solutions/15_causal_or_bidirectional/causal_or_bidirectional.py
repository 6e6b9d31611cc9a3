"""One triangle between BERT and GPT: who may look at whom, and what that lets through."""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def visible_keys(
    attention_mask: Int[Tensor, "batch seq"], *, causal: bool = False
) -> Bool[Tensor, "batch seq seq"]:
    """True where the token of the row (the query) may look at the token of the column (the key).

    `attention_mask` is 1 on tokens and 0 on padding, which may stand anywhere. Nobody looks at
    padding. If `causal`, nobody looks to its right; every token may look at itself.
    """
    # begin solution
    _, seq = attention_mask.shape
    # The mask belongs to the keys: one row of it, the same for every query. Padded queries look
    # too; what they find is never read, and so they need no mask of their own.
    visible = attention_mask.bool()[:, None, :].expand(-1, seq, -1)
    # tril keeps the diagonal, where a token looks at itself, and all that lies below it: keys
    # whose number is at most the query's. Above it everything becomes False, padding stays False.
    return visible.tril() if causal else visible
    # end solution


def picture(visible: Bool[Tensor, "seq seq"]) -> list[str]:
    """A string for each query: X for a key that it may look at, O for one that it may not."""
    # begin solution
    return ["".join("X" if may else "O" for may in row) for row in visible]
    # end solution


def attention(
    query: Float[Tensor, "batch heads seq head_dim"],
    key: Float[Tensor, "batch heads seq head_dim"],
    value: Float[Tensor, "batch heads seq head_dim"],
    visible: Bool[Tensor, "batch seq seq"],
) -> tuple[Float[Tensor, "batch heads seq head_dim"], Float[Tensor, "batch heads seq seq"]]:
    """softmax(Q Kᵀ / √head_dim) V over the visible keys, and the weights that the softmax gave.

    The weight of a hidden key is exactly 0, however large its score. A query that may look at
    nothing has weights of 0 and a result of 0.
    """
    # begin solution
    # An axis of heads, or the batch would be laid against the heads: where both have the same
    # length no error would tell.
    mask = visible[:, None]  # (batch, 1, seq, seq)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    # -inf, not -10,000, which a score can reach. And before the softmax, so that the weights of the
    # visible keys add up to 1.
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
    # The softmax of a row of nothing but -inf is NaN. All other hidden weights are 0 already.
    weights = weights.masked_fill(~mask, 0.0)
    return weights @ value, weights
    # end solution


def reached(visible: Bool[Tensor, "batch seq seq"], layers: int) -> Bool[Tensor, "batch seq seq"]:
    """True where the input token of the column can change the state of the row's token after so
    many layers of attention under `visible`, each with its residual connection."""
    # begin solution
    _, seq, _ = visible.shape
    # Before the first layer each token is reached by itself alone.
    itself = found = torch.eye(seq).to(visible)  # of its type, on its device
    for _ in range(layers):
        # i is reached by j if i looks at some k that was reached by j. Because of the residual
        # connection i keeps what it had, as if it always looked at itself. The product counts such
        # k; `> 0` at each layer asks only whether there is one, and keeps the counts small: the
        # number of all paths is too large for any integer after a few dozen layers.
        found = ((visible | itself).float() @ found.float()) > 0
    return found.expand(visible.shape)
    # end solution


# begin solution
# Wrong answers that are common:
# - the mask laid over the queries, too or instead: rows of padding then see nothing;
# - triu for tril, or a triangle without its diagonal, whose first token sees nothing at all;
# - `|` for `&`: a causal model that looks at padding;
# - softmax first and the mask after it: the weights of the others no longer add up to one;
# - -10,000 added to the scores, as the released code does: a row that is all padding then takes the
#   mean of the padding, and a score of 20,000 gets through;
# - -inf *added* to the scores, and NaN replaced afterwards: the result is right, its gradient NaN;
# - visible without an axis for the heads, which fits by chance when batch = heads.
# end solution
