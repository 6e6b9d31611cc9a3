"""Named sums everywhere; the heads are an axis of the weights; nothing is made again but the parts
that are needed."""

import math

import numpy as np


def _projected(x, weights, role, heads):
    hidden = x.shape[-1]
    weight = weights[f"attention.self.{role}.weight"].reshape(heads, hidden // heads, hidden)
    bias = weights[f"attention.self.{role}.bias"].reshape(heads, 1, -1)
    return np.einsum("bsi,hdi->bhsd", x, weight) + bias


def _parts(x, attention_mask, weights, heads, eps, approximation):
    q, k, v = (_projected(x, weights, role, heads) for role in ("query", "key", "value"))
    context, probs = attention_forward(q, k, v, attention_mask)
    flat = np.einsum("bhsd->bshd", context).reshape(x.shape)
    a = np.einsum("bsi,oi->bso", flat, weights["attention.output.dense.weight"])
    a = x + (a + weights["attention.output.dense.bias"])
    y = layer_norm_forward(a, weights["attention.output.LayerNorm.weight"],
                           weights["attention.output.LayerNorm.bias"], eps)  # fmt: skip
    h = np.einsum("bsi,oi->bso", y, weights["intermediate.dense.weight"])
    h = h + weights["intermediate.dense.bias"]
    g = gelu_forward(h, approximation)
    b = np.einsum("bsi,oi->bso", g, weights["output.dense.weight"]) + weights["output.dense.bias"]
    return q, k, v, probs, flat, a, y, h, g, y + b


def layer_forward(x, attention_mask, weights, *, heads, eps=1e-12, approximation="none"):
    last = _parts(x, attention_mask, weights, heads, eps, approximation)[-1]
    scale, shift = weights["output.LayerNorm.weight"], weights["output.LayerNorm.bias"]
    return layer_norm_forward(last, scale, shift, eps)


def layer_backward(dout, x, attention_mask, weights, *, heads, eps=1e-12, approximation="none"):
    q, k, v, probs, flat, a, y, h, g, b = _parts(
        x, attention_mask, weights, heads, eps, approximation
    )
    found = {}

    def through(name, d, given):
        found[f"{name}.weight"] = np.einsum("bso,bsi->oi", d, given)
        found[f"{name}.bias"] = np.einsum("bso->o", d)
        return np.einsum("bso,oi->bsi", d, weights[f"{name}.weight"])

    def through_norm(name, d, given):
        names = f"{name}.LayerNorm.weight", f"{name}.LayerNorm.bias"
        dx, found[names[0]], found[names[1]] = layer_norm_backward(d, given, weights[names[0]], eps)
        return dx

    db = through_norm("output", dout, b)
    dh = gelu_backward(through("output.dense", db, g), h, approximation)
    dy = through("intermediate.dense", dh, y) + db
    da = through_norm("attention.output", dy, a)
    dflat = through("attention.output.dense", da, flat)
    dcontext = np.einsum("bshd->bhsd", dflat.reshape(*dflat.shape[:2], heads, -1))
    dq, dk, dv = attention_backward(dcontext, q, k, v, probs)
    total = da.copy()
    for role, d in (("value", dv), ("key", dk), ("query", dq)):
        total += through(f"attention.self.{role}", np.einsum("bhsd->bshd", d).reshape(x.shape), x)
    return total, dict(sorted(found.items()))


def attention_forward(query, key, value, attention_mask=None):
    scores = np.einsum("bhqd,bhkd->bhqk", query, key) / math.sqrt(query.shape[-1])
    if attention_mask is not None:
        lowest = np.finfo(scores.dtype).min
        scores = np.where(attention_mask[:, None, None] == 1, scores, lowest)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    probs = e / e.sum(-1, keepdims=True)
    return np.einsum("bhqk,bhkd->bhqd", probs, value), probs


def lookup_backward(dout, ids, entries):
    onehot = (ids.reshape(-1)[:, None] == np.arange(entries)).astype(dout.dtype)
    return onehot.T @ dout.reshape(-1, dout.shape[-1])
