"""-inf on padding, and a maximum that is never -inf; transposes by name."""

import math

import numpy as np


def attention_forward(query, key, value, attention_mask=None):
    scores = np.matmul(query, key.transpose(0, 1, 3, 2)) / math.sqrt(key.shape[-1])
    if attention_mask is not None:
        batch, _, queries, keys = scores.shape
        outside = np.broadcast_to(attention_mask[:, None, None] == 0, (batch, 1, queries, keys))
        scores[np.broadcast_to(outside, scores.shape)] = -np.inf
    largest = scores.max(-1, keepdims=True)
    e = np.exp(scores - np.where(np.isfinite(largest), largest, 0))
    probs = e / np.maximum(e.sum(-1, keepdims=True), np.finfo(e.dtype).tiny)
    return np.matmul(probs, value), probs


def attention_backward(dcontext, query, key, value, probs):
    context = np.matmul(probs, value)
    dprobs = np.matmul(dcontext, value.transpose(0, 1, 3, 2))
    # Σ dprobs · probs over keys is Σ dcontext · context over head_dim, as in FlashAttention.
    dscores = probs * (dprobs - (dcontext * context).sum(-1, keepdims=True))
    dscores = dscores / math.sqrt(key.shape[-1])
    return (np.matmul(dscores, key), np.matmul(dscores.transpose(0, 1, 3, 2), query),
            np.matmul(probs.transpose(0, 1, 3, 2), dcontext))  # fmt: skip
