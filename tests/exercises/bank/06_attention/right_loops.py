"""Sentence by sentence, head by head, query by query; padding is left out of the sums. A row that
is all padding gets zeros, as torch's own attention has it."""

import numpy as np


def attention_forward(query, key, value, attention_mask=None):
    batch, heads, queries, head_dim = query.shape
    context = np.zeros_like(query)
    probs = np.zeros((batch, heads, queries, key.shape[2]), query.dtype)
    for b in range(batch):
        tokens = np.arange(key.shape[2])
        if attention_mask is not None:
            tokens = np.flatnonzero(attention_mask[b])
        if not len(tokens):
            continue
        for h in range(heads):
            for q in range(queries):
                scores = key[b, h, tokens] @ query[b, h, q] / head_dim**0.5
                e = np.exp(scores - scores.max())
                probs[b, h, q, tokens] = e / e.sum()
                context[b, h, q] = (e / e.sum()) @ value[b, h, tokens]
    return context, probs


def attention_backward(dcontext, query, key, value, probs):
    dquery, dkey, dvalue = np.zeros_like(query), np.zeros_like(key), np.zeros_like(value)
    for b, h, q in np.ndindex(query.shape[:3]):
        p = probs[b, h, q]
        dp = value[b, h] @ dcontext[b, h, q]
        ds = (np.diag(p) - np.outer(p, p)) @ dp / query.shape[3] ** 0.5
        dquery[b, h, q] = ds @ key[b, h]
        dkey[b, h] += np.outer(ds, query[b, h, q])
        dvalue[b, h] += np.outer(p, dcontext[b, h, q])
    return dquery, dkey, dvalue
