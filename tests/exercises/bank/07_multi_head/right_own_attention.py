"""Nothing that is given is used: attention sentence by sentence, with the padding cut out."""

import numpy as np


def _attend(x, weights, heads, tokens):
    q, k, v = (x @ weights[f"{n}.weight"].T + weights[f"{n}.bias"]
               for n in ("query", "key", "value"))  # fmt: skip
    q, k, v = (np.stack(np.split(part, heads, axis=-1)) for part in (q, k[tokens], v[tokens]))
    scores = np.einsum("hqd,hkd->hqk", q, k) * np.asarray(q.shape[-1] ** -0.5, x.dtype)
    scores = np.exp(scores - np.max(scores, axis=2, initial=np.finfo(x.dtype).min)[..., None])
    return scores / np.maximum(scores.sum(2), np.finfo(x.dtype).tiny)[..., None], q, k, v


def _tokens(mask, sentence, seq):
    return np.flatnonzero(np.ones(seq) if mask is None else mask[sentence])


def multi_head_forward(x, weights, heads, attention_mask=None):
    out = np.empty_like(x)
    for i, sentence in enumerate(x):
        probs, *_, v = _attend(sentence, weights, heads, _tokens(attention_mask, i, x.shape[1]))
        out[i] = np.concatenate(list(probs @ v), axis=-1) @ weights["output.weight"].T
    return out + weights["output.bias"]


def multi_head_backward(dout, x, weights, heads, attention_mask=None):
    gradients = {name: np.zeros_like(w) for name, w in weights.items()}
    dx = np.zeros_like(x)
    for i, sentence in enumerate(x):
        tokens = _tokens(attention_mask, i, x.shape[1])
        probs, q, k, v = _attend(sentence, weights, heads, tokens)
        merged = np.concatenate(list(probs @ v), axis=-1)
        gradients["output.weight"] += dout[i].T @ merged
        gradients["output.bias"] += dout[i].sum(0)
        d = np.stack(np.split(dout[i] @ weights["output.weight"], heads, axis=-1))
        dprobs = d @ v.swapaxes(1, 2)
        dscores = probs * (dprobs - (probs * dprobs).sum(-1, keepdims=True))
        dscores *= np.asarray(q.shape[-1] ** -0.5, x.dtype)
        parts = {
            "query": (dscores @ k, slice(None)),
            "key": (dscores.swapaxes(1, 2) @ q, tokens),
            "value": (probs.swapaxes(1, 2) @ d, tokens),
        }
        for name, (part, places) in parts.items():
            part = np.concatenate(list(part), axis=-1)
            gradients[f"{name}.weight"] += part.T @ sentence[places]
            gradients[f"{name}.bias"] += part.sum(0)
            dx[i][places] += part @ weights[f"{name}.weight"]
    return dx, gradients
