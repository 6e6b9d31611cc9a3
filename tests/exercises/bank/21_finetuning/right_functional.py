"""Gradients of torch.func, dropout by a Bernoulli draw at every call, also where p is 0."""

import torch
from torch.func import functional_call, grad_and_value


class _Linear(torch.nn.Module):
    def __init__(self, like):
        super().__init__()
        self.weight, self.bias = torch.nn.Parameter(like), torch.nn.Parameter(like[:, 0].clone())

    def forward(self, x):
        return torch.einsum("oi,bi->bo", self.weight, x) + self.bias


def classify(input_ids, attention_mask, weights, *, pooling, dropout=0.1, training=False):
    states = encode(input_ids, attention_mask, weights)
    text = text_vector(states, attention_mask, weights, pooling=pooling)
    stay = torch.bernoulli(torch.full_like(text, 1 - dropout))
    if training:
        text = text * stay / (1 - dropout) if dropout < 1 else 0 * text
    own = {"weight": weights["classifier.weight"], "bias": weights["classifier.bias"]}
    return functional_call(_Linear(torch.zeros_like(own["weight"])), own, (text,))


def fine_tune(weights, batches, *, pooling, peak_rate, warmup_steps, weight_decay=0.01,
              max_norm=1.0, dropout=0.1):  # fmt: skip
    def value_of(weights, batch):
        scores = classify(batch["input_ids"], batch["attention_mask"], weights, pooling=pooling,
                          dropout=dropout, training=True)  # fmt: skip
        return loss(scores, batch["labels"])

    used = {name for name in weights if pooling == "cls" or not name.startswith("pooler")}
    moments = {name: (torch.zeros_like(weights[name]),) * 2 for name in used}
    now, losses = {name: w.clone() for name, w in weights.items()}, []
    for t, batch in enumerate(batches):
        gradients, value = grad_and_value(value_of)(now, batch)
        norm = torch.stack([gradients[name].square().sum() for name in used]).sum().sqrt()
        scale = float(max_norm / norm) if norm > max_norm else 1.0
        n = len(batches)
        share = (t + 1) / warmup_steps if t < warmup_steps else (n - t) / (n - warmup_steps)
        for name in used:
            g = gradients[name] * scale
            m, v = moments[name]
            m, v = torch.lerp(m, g, 0.1), torch.lerp(v, g * g, 0.001)
            moments[name] = m, v
            step = m / (1 - 0.9 ** (t + 1)) / ((v / (1 - 0.999 ** (t + 1))).sqrt() + 1e-6)
            decay = 0.0 if name.endswith("bias") or "LayerNorm" in name else weight_decay
            now[name] = now[name] - peak_rate * share * (step + decay * now[name])
        losses.append(value.item())
    return now, losses
