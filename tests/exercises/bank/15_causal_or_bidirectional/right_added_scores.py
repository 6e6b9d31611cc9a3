"""A table of 0 and -inf that is added; empty rows see all, then nothing; a triangle by cumsum."""

import torch


def visible_keys(attention_mask, *, causal=False):
    seq = attention_mask.shape[1]
    visible = attention_mask.ne(0).unsqueeze(1).repeat(1, seq, 1)
    if causal:
        visible = visible.logical_and(torch.eye(seq).cumsum(0).eq(1))
    return visible


def attention(query, key, value, visible):
    some = visible.any(-1, keepdim=True)
    added = torch.zeros(visible.shape, dtype=query.dtype)
    added[~visible & some] = float("-inf")
    scores = torch.einsum("bhid,bhjd->bhij", query, key).div(query.shape[-1] ** 0.5)
    probs = torch.softmax(scores + added.unsqueeze(1), -1) * some.unsqueeze(1)
    return probs.matmul(value), probs
