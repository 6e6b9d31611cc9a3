"""Heads as an axis of the weights; einsum for everything but the attention."""

import numpy as np


def split_heads(x, heads):
    return np.einsum("bshd->bhsd", x.reshape(*x.shape[:2], heads, -1))


def merge_heads(x):
    return np.einsum("bhsd->bshd", x).reshape(x.shape[0], x.shape[2], -1)


def _parts(x, weights, heads):
    for name in ("query", "key", "value"):
        weight = weights[name + ".weight"].reshape(heads, -1, x.shape[2])
        bias = weights[name + ".bias"].reshape(heads, 1, -1)
        yield np.einsum("bsi,hdi->bhsd", x, weight) + bias


def multi_head_forward(x, weights, heads, attention_mask=None):
    context, _ = attend(*_parts(x, weights, heads), attention_mask)
    weight = weights["output.weight"].reshape(x.shape[2], heads, -1)
    return np.einsum("bhsd,ohd->bso", context, weight) + weights["output.bias"]


def multi_head_backward(dout, x, weights, heads, attention_mask=None):
    parts = list(_parts(x, weights, heads))
    context, probs = attend(*parts, attention_mask)
    weight = weights["output.weight"].reshape(x.shape[2], heads, -1)
    grads = {
        "output.weight": np.einsum("bso,bhsd->ohd", dout, context).reshape(x.shape[2], -1),
        "output.bias": np.einsum("bso->o", dout),
    }
    dcontext = np.einsum("bso,ohd->bhsd", dout, weight)
    dparts = attend_backward(dcontext, *parts, probs)
    dx = np.zeros_like(x)
    for name, dpart in zip(("query", "key", "value"), dparts, strict=True):
        weight = weights[name + ".weight"].reshape(heads, -1, x.shape[2])
        dx += np.einsum("bhsd,hdi->bsi", dpart, weight)
        grads[name + ".weight"] = np.einsum("bhsd,bsi->hdi", dpart, x).reshape(x.shape[2], -1)
        grads[name + ".bias"] = np.einsum("bhsd->hd", dpart).reshape(-1)
    return dx, grads
