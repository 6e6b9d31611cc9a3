"""Text by text, and AdamW written out."""

import math

import torch


def text_vector(states, attention_mask, weights, *, pooling):
    rows = []
    for row, mask in zip(states, attention_mask, strict=True):
        if pooling == "mean":
            rows.append(row[mask.bool()].mean(0))
        else:
            rows.append(
                torch.tanh(weights["pooler.dense.weight"] @ row[0] + weights["pooler.dense.bias"])
            )
    return torch.stack(rows)


def loss(logits, labels):
    if logits.shape[1] == 1:
        return ((logits.flatten() - labels) ** 2).sum() / len(labels)
    probs = logits.log_softmax(1)
    return -sum(probs[i, label] for i, label in enumerate(labels)) / len(labels)


def fine_tune(weights, batches, *, pooling, peak_rate, warmup_steps, weight_decay=0.01,
              max_norm=1.0, dropout=0.1):  # fmt: skip
    m = {name: torch.zeros_like(w) for name, w in weights.items()}
    v = {name: torch.zeros_like(w) for name, w in weights.items()}
    losses, n = [], len(batches)
    weights = {name: w.clone() for name, w in weights.items()}
    for t, batch in enumerate(batches):
        leaves = {name: w.clone().requires_grad_() for name, w in weights.items()}
        out = classify(
            batch["input_ids"], batch["attention_mask"], leaves,
            pooling=pooling, dropout=dropout, training=True,
        )  # fmt: skip
        value = loss(out, batch["labels"])
        found = torch.autograd.grad(value, list(leaves.values()), allow_unused=True)
        gradients = {k: g for k, g in zip(leaves, found, strict=True) if g is not None}
        norm = math.sqrt(sum(float((g * g).sum()) for g in gradients.values()))
        factor = max_norm / norm if norm > max_norm else 1.0
        is_rising = t < warmup_steps
        share = (t + 1) / warmup_steps if is_rising else (n - t) / (n - warmup_steps)
        rate = peak_rate * share
        new = dict(weights)
        for name, g in gradients.items():
            g = g * factor
            m[name] = 0.9 * m[name] + 0.1 * g
            v[name] = 0.999 * v[name] + 0.001 * g * g
            step = m[name] / (1 - 0.9 ** (t + 1))
            step = step / (torch.sqrt(v[name] / (1 - 0.999 ** (t + 1))) + 1e-6)
            if name.endswith(".weight") and "LayerNorm" not in name:
                step = step + weight_decay * weights[name]
            new[name] = weights[name] - rate * step
        weights = new
        losses.append(float(value))
    return weights, losses
