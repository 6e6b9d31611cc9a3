"""A loop over the heads, each on its columns; no split and no merge inside the layer."""

import numpy as np


def split_heads(x, heads):
    return np.stack(np.split(x, heads, axis=2), axis=1)


def merge_heads(x):
    return np.concatenate([x[:, head] for head in range(x.shape[1])], axis=-1)


def _heads(x, weights, heads, attention_mask):
    q, k, v = (
        x @ weights[f"{n}.weight"].T + weights[f"{n}.bias"] for n in ("query", "key", "value")
    )
    for head in range(heads):
        size = x.shape[2] // heads
        columns = slice(head * size, (head + 1) * size)
        parts = [part[:, None, :, columns] for part in (q, k, v)]
        context, probs = attend(*parts, attention_mask)
        yield columns, parts, context, probs


def multi_head_forward(x, weights, heads, attention_mask=None):
    out = np.zeros_like(x) + weights["output.bias"]
    for columns, _, context, _ in _heads(x, weights, heads, attention_mask):
        out += context[:, 0] @ weights["output.weight"][:, columns].T
    return out


def multi_head_backward(dout, x, weights, heads, attention_mask=None):
    grads = {name: np.zeros_like(array) for name, array in weights.items()}
    dx = np.zeros_like(x)
    for columns, parts, context, probs in _heads(x, weights, heads, attention_mask):
        for b, s in np.ndindex(x.shape[:2]):
            grads["output.weight"][:, columns] += np.outer(dout[b, s], context[b, 0, s])
        dcontext = (dout @ weights["output.weight"][:, columns])[:, None]
        dparts = attend_backward(dcontext, *parts, probs)
        for name, dpart in zip(("query", "key", "value"), dparts, strict=True):
            dx += dpart[:, 0] @ weights[f"{name}.weight"][columns]
            grads[f"{name}.bias"][columns] += dpart.sum(axis=(0, 1, 2))
            for b, s in np.ndindex(x.shape[:2]):
                grads[f"{name}.weight"][columns] += np.outer(dpart[b, 0, s], x[b, s])
    grads["output.bias"] += dout.sum(axis=(0, 1))
    return dx, grads
