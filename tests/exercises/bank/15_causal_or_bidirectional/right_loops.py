"""Query by query; the reach as sets; a softmax of the visible scores alone."""

import torch


def visible_keys(attention_mask, *, causal=False):
    batch, seq = attention_mask.shape
    table = torch.zeros(batch, seq, seq, dtype=torch.bool)
    for b in range(batch):
        for i in range(seq):
            end = i + 1 if causal else seq
            table[b, i, :end] = attention_mask[b, :end] != 0
    return table


def attention(query, key, value, visible):
    rows = []
    for b in range(query.shape[0]):
        for h in range(query.shape[1]):
            for i in range(query.shape[2]):
                seen = visible[b, i].nonzero()[:, 0]
                score = key[b, h, seen] @ query[b, h, i] * query.shape[-1] ** -0.5
                row = torch.zeros(query.shape[2], dtype=query.dtype)
                rows.append(row.index_add(0, seen, score.softmax(0)) if len(seen) else row)
    probs = torch.stack(rows).reshape(*query.shape[:3], -1)
    return torch.einsum("bhij,bhjd->bhid", probs, value), probs


def reached(visible, layers):
    found = torch.eye(visible.shape[-1]).bool().repeat(len(visible), 1, 1)
    for _ in range(min(layers, visible.shape[-1])):
        found = found | (visible[:, :, :, None] & found[:, None, :, :]).any(dim=2)
    return found
