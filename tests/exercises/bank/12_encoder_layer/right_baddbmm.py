"""Rows and heads in one axis; the mask is added: -inf, but for rows of nothing but padding."""

import torch
import torch.nn.functional as F


def self_attention(x, attention_mask, weights, *, heads, attention_dropout=0.1, training=False):
    batch, seq, hidden = x.shape
    size = hidden // heads
    names = [f"attention.self.{role}" for role in ("query", "key", "value")]
    together = torch.cat([weights[f"{name}.weight"] for name in names])
    bias = torch.cat([weights[f"{name}.bias"] for name in names])
    parts = (x @ together.T + bias).view(batch, seq, 3, heads, size).permute(2, 0, 3, 1, 4)
    query, key, value = parts.reshape(3, batch * heads, seq, size)
    blocked = (attention_mask == 0) & (attention_mask != 0).any(1, keepdim=True)
    added = torch.zeros(batch, seq, dtype=x.dtype).masked_fill(blocked, float("-inf"))
    added = added.repeat_interleave(heads, 0)[:, None, :].expand(-1, seq, -1)
    weighting = torch.baddbmm(added, query, key.mT, alpha=size**-0.5).softmax(-1)
    context = torch.bmm(F.dropout(weighting, attention_dropout, training), value)
    return context.view(batch, heads, seq, size).permute(0, 2, 1, 3).reshape(batch, seq, hidden)
