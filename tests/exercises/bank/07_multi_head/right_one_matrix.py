"""Query, key and value by one large matrix, as fast implementations have it."""

import numpy as np


def _stacked(weights):
    roles = ("query", "key", "value")
    return (np.concatenate([weights[f"{r}.weight"] for r in roles]),
            np.concatenate([weights[f"{r}.bias"] for r in roles]))  # fmt: skip


def _three(x, weights, heads):
    weight, bias = _stacked(weights)
    both = x @ weight.T + bias
    return [split_heads(part, heads) for part in np.split(both, 3, axis=-1)]


def multi_head_forward(x, weights, heads, attention_mask=None):
    context = attend(*_three(x, weights, heads), attention_mask)[0]
    merged = np.moveaxis(context, 1, 2).reshape(x.shape)
    return np.inner(merged, weights["output.weight"]) + weights["output.bias"]


def multi_head_backward(dout, x, weights, heads, attention_mask=None):
    parts = _three(x, weights, heads)
    context, probs = attend(*parts, attention_mask)
    merged = np.moveaxis(context, 1, 2).reshape(x.shape)
    dmerged = dout @ weights["output.weight"]
    dcontext = np.moveaxis(dmerged.reshape(*x.shape[:2], heads, -1), 2, 1)
    dparts = attend_backward(dcontext, *parts, probs)
    dboth = np.concatenate([np.moveaxis(d, 1, 2).reshape(x.shape) for d in dparts], axis=-1)
    dweight, dbias = np.tensordot(dboth, x, ([0, 1], [0, 1])), dboth.sum((0, 1))
    grads = {}
    for role, w, b in zip(("query", "key", "value"), np.split(dweight, 3), np.split(dbias, 3),
                          strict=True):  # fmt: skip
        grads |= {f"{role}.weight": w, f"{role}.bias": b}
    grads["output.weight"] = np.tensordot(dout, merged, ([0, 1], [0, 1]))
    return dboth @ _stacked(weights)[0], grads | {"output.bias": dout.sum((0, 1))}
