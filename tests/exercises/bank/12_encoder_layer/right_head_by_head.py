"""Head by head; dropout and layer norm written out; all in one function."""

import torch
import torch.nn.functional as F


def strike(x, p, training):
    if not training or p == 0:
        return x
    return torch.where(torch.rand_like(x) >= p, x / (1 - p), 0.0)


def normalize(x, weights, name, eps):
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, unbiased=False)
    x = (x - mean) * torch.rsqrt(variance + eps)
    return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def affine(x, weights, name):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def self_attention(x, attention_mask, weights, *, heads, attention_dropout=0.1, training=False):
    found = []
    q, k, v = (affine(x, weights, f"attention.self.{r}") for r in ("query", "key", "value"))
    for part in torch.arange(x.shape[-1]).chunk(heads):
        scores = q[..., part] @ k[..., part].mT / len(part) ** 0.5
        hidden_keys = attention_mask.eq(0).unsqueeze(1)
        probs = scores.masked_fill(hidden_keys, torch.finfo(x.dtype).min).softmax(-1)
        found.append(strike(probs, attention_dropout, training) @ v[..., part])
    return torch.cat(found, -1)


def encoder_layer(
    x, attention_mask, weights, *, heads, eps=1e-12, hidden_dropout=0.1, attention_dropout=0.1,
    training=False,
):  # fmt: skip
    context = self_attention(
        x, attention_mask, weights, heads=heads, attention_dropout=attention_dropout,
        training=training,
    )  # fmt: skip
    context = affine(context, weights, "attention.output.dense")
    context = strike(context, hidden_dropout, training)
    middle = normalize(context + x, weights, "attention.output.LayerNorm", eps)
    wide = affine(middle, weights, "intermediate.dense")
    wide = wide * 0.5 * (1 + torch.erf(wide / 2**0.5))
    out = strike(affine(wide, weights, "output.dense"), hidden_dropout, training)
    return normalize(middle + out, weights, "output.LayerNorm", eps)


_ = F  # the file that this joins imports it too
