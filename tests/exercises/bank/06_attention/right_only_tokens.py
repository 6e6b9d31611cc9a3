"""Each sentence by itself, with the keys that are tokens alone; zeros where there are none."""

import numpy as np


def attention_forward(query, key, value, attention_mask=None):
    batch, heads, queries, head_dim = query.shape
    probs = np.zeros((batch, heads, queries, key.shape[2]), query.dtype)
    for b in range(batch):
        kept = np.arange(key.shape[2])
        if attention_mask is not None:
            kept = np.flatnonzero(attention_mask[b])
        if not len(kept):
            continue
        scores = (query[b] @ key[b][:, kept].transpose(0, 2, 1)) * query.dtype.type(head_dim**-0.5)
        e = np.exp(scores - np.max(scores, axis=2, keepdims=True))
        probs[b][:, :, kept] = e / np.sum(e, axis=2, keepdims=True)
    return np.matmul(probs, value), probs


def attention_backward(dcontext, query, key, value, probs):
    root = query.dtype.type(query.shape[-1] ** 0.5)
    flow = probs * np.matmul(dcontext, np.moveaxis(value, 2, 3))
    dscores = (flow - probs * flow.sum(3)[..., None]) / root
    dkey = np.matmul(np.moveaxis(dscores, 2, 3), query)
    return np.matmul(dscores, key), dkey, np.matmul(np.moveaxis(probs, 2, 3), dcontext)
