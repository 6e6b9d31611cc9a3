"""Attention: every token gathers from all tokens, in several heads at once.

Twice: written out, as in level 1, and through torch's kernel, which keeps no (seq, seq) table of
attention weights (on a CPU only without dropout). A test proves them equal.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

Heads = Float[Tensor, "batch heads seq head_dim"]
AttentionWeights = Float[Tensor, "batch heads seq seq"]
Mask = Bool[Tensor, "#batch 1 #seq seq"]


def split_heads(x: Float[Tensor, "batch seq hidden"], heads: int) -> Heads:
    """Each head sees its own part of every vector."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def merge_heads(x: Heads) -> Float[Tensor, "batch seq hidden"]:
    """The parts side by side again."""
    return x.transpose(1, 2).flatten(2)


def visible_keys(attention_mask: Int[Tensor, "batch seq"], *, causal: bool = False) -> Mask:
    """Which keys a query may look at: real tokens; if `causal`, none to its right.

    That one triangle is the whole difference between the attention of BERT and of GPT.
    """
    mask = attention_mask.bool()[:, None, None, :]  # (batch, 1, 1, seq)
    if causal:
        seq = attention_mask.shape[1]
        mask = mask & torch.ones(seq, seq, dtype=torch.bool, device=mask.device).tril()
    return mask


def attention_weights(query: Heads, key: Heads, mask: Mask) -> AttentionWeights:
    """softmax(Q Kᵀ / √head_dim): how much each query takes from each key (Vaswani et al. 2017,
    equation 1). Where nothing may be seen, the weights are zero (level 1: equal), not NaN."""
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


def attention_by_hand(
    query: Heads, key: Heads, value: Heads, mask: Mask, *, dropout: float = 0.0
) -> Heads:
    """Every step to be seen: scores, mask, softmax, weighted sum."""
    weights = attention_weights(query, key, mask)
    return F.dropout(weights, dropout) @ value if dropout else weights @ value


def attention_fused(
    query: Heads, key: Heads, value: Heads, mask: Mask, *, dropout: float = 0.0
) -> Heads:
    """The same through `F.scaled_dot_product_attention`."""
    return F.scaled_dot_product_attention(query, key, value, mask, dropout)


ATTENTIONS = {"by-hand": attention_by_hand, "fused": attention_fused}
