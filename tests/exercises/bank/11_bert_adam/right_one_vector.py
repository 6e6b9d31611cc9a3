"""All weights as one long vector, with a decay for each of its numbers."""

import numpy as np


def flat(arrays, names):
    return np.concatenate([arrays[name].ravel() for name in names])


def unflat(vector, like):
    ends = np.cumsum([a.size for a in like.values()])[:-1]
    parts = np.split(vector, ends)
    return {name: p.reshape(like[name].shape) for name, p in zip(like, parts, strict=True)}


def clip_gradients(gradients, max_norm):
    g = flat(gradients, list(gradients))
    norm = float(np.sqrt(g @ g))
    return unflat(g * min(1.0, max_norm / norm) if norm > 0 else g, gradients), norm


def adam_step(
    weights, gradients, state, *, learning_rate, beta1=0.9, beta2=0.999, eps=1e-6, weight_decay=0.01
):
    names = list(weights)
    w, g, m, v = (flat(a, names) for a in (weights, gradients, state["m"], state["v"]))
    decay = {
        n: np.full_like(a, 0 if n.endswith("bias") or "LayerNorm" in n else weight_decay)
        for n, a in weights.items()
    }
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    w = w - learning_rate * (m / (v**0.5 + eps) + flat(decay, names) * w)
    return unflat(w, weights), {"m": unflat(m, weights), "v": unflat(v, weights)}
