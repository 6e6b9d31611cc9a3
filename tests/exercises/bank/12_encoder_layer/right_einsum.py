"""Attention by einsum; the three projections as one product; the mask by `where`."""

import torch
import torch.nn.functional as F


def self_attention(x, attention_mask, weights, *, heads, attention_dropout=0.1, training=False):
    roles = ("query", "key", "value")
    weight = torch.cat([weights[f"attention.self.{role}.weight"] for role in roles])
    bias = torch.cat([weights[f"attention.self.{role}.bias"] for role in roles])
    q, k, v = torch.einsum("bsi,oi->bso", x, weight).add(bias).chunk(3, dim=-1)
    q, k, v = (t.reshape(*t.shape[:2], heads, -1) for t in (q, k, v))
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
    is_padding = torch.einsum("bk->bk", attention_mask)[:, None, None] == 0
    scores = torch.where(is_padding, torch.finfo(x.dtype).min, scores)
    probs = F.softmax(scores, dim=3)
    if training:
        probs = F.dropout(probs, p=attention_dropout, training=True)
    return torch.einsum("bhqk,bkhd->bqhd", probs, v).reshape(x.shape)
