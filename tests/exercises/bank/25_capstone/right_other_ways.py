"""Other formulas for the same: variance by the mean of squares taken twice, GELU by a sigmoid, the
optimizer with a count beside its moments, masks by a count that is drawn for each row."""

import math

import numpy as np


def layer_norm_forward(x, weight, bias, eps=1e-12):
    centered = x - np.mean(x, -1)[..., None]
    std = np.sqrt(np.einsum("...i,...i->...", centered, centered) / x.shape[-1] + eps)
    return bias + weight * (centered / std[..., None])


def layer_norm_backward(dout, x, weight, eps=1e-12):
    n = x.shape[-1]
    centered = x - x.mean(-1, keepdims=True)
    std = np.sqrt((centered**2).mean(-1, keepdims=True) + eps)
    d = (dout * weight / std).reshape(-1, n)
    unit = (centered / std).reshape(-1, n)
    dx = d - d.sum(1, keepdims=True) / n - unit * ((d * unit).sum(1, keepdims=True) / n)
    flat = dout.reshape(-1, n)
    return dx.reshape(x.shape), np.einsum("ri,ri->i", flat, unit), np.einsum("ri->i", flat)


def _gate(x, approximation):
    if approximation == "none":
        return (np.array([math.erf(v) for v in (x / 2**0.5).flat]).reshape(x.shape) + 1) / 2
    return 1 / (1 + np.exp(-2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gelu_forward(x, approximation="none"):
    return (x * _gate(x, approximation)).astype(x.dtype)


def gelu_backward(dout, x, approximation="none"):
    gate = _gate(x, approximation)
    if approximation == "none":
        dgate = np.exp(-np.square(x) / 2) / math.sqrt(2 * math.pi)
    else:
        dgate = gate * (1 - gate) * math.sqrt(8 / math.pi) * (1 + 3 * 0.044715 * np.square(x))
    return (dout * (gate + x * dgate)).astype(x.dtype)


def masked_cross_entropy_backward(dloss, logits, labels, weights):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    out = np.exp(shifted - np.logaddexp.reduce(shifted, axis=-1, keepdims=True))
    for slot in np.ndindex(labels.shape):
        out[(*slot, labels[slot])] -= 1
    total = weights.sum()
    return out * (dloss * weights / (total if total else 1)).astype(out.dtype)[..., None]


def mask_tokens(input_ids, rng, *, mask_id, vocab_size, special_ids, rate=0.15):
    shown, labels = input_ids.copy(), np.full_like(input_ids, -100)
    ordinary = np.setdiff1d(np.arange(vocab_size), list(special_ids))
    for row, ids in enumerate(input_ids):
        places = np.flatnonzero(~np.isin(ids, special_ids))
        count = rng.binomial(len(places), rate)  # as many as coins for each would select
        chosen, fates = rng.permutation(places)[:count], rng.integers(10, size=count)
        labels[row, chosen] = ids[chosen]
        shown[row, chosen[fates < 8]] = mask_id
        words = rng.integers(len(ordinary), size=(fates == 8).sum())
        shown[row, chosen[fates == 8]] = ordinary[words]
    return shown, labels


def clip_gradients(gradients, max_norm):
    norm = float(np.linalg.norm([np.linalg.norm(g) for g in gradients.values()]))
    return {n: g * min(1.0, max_norm / (norm + 1e-300)) for n, g in gradients.items()}, norm


def adam_step(weights, gradients, state, *, learning_rate, beta1=0.9, beta2=0.999, eps=1e-6,
              weight_decay=0.01):  # fmt: skip
    m = {n: s + (1 - beta1) * (gradients[n] - s) for n, s in state["m"].items()}
    v = {n: s + (1 - beta2) * (gradients[n] ** 2 - s) for n, s in state["v"].items()}
    moved = {}
    for n, w in weights.items():
        plain = n.endswith("bias") or "LayerNorm" in n
        shrunk = w if plain else w * (1 - learning_rate * weight_decay)
        moved[n] = shrunk - learning_rate * m[n] / (np.sqrt(v[n]) + eps)
    return moved, {"m": m, "v": v, "count": state.get("count", 0) + 1}
