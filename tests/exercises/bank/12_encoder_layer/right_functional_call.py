"""torch's own layer of a transformer encoder, whose dropout in the middle is turned off."""

import torch
from torch import nn


def encoder_layer(
    x, attention_mask, weights, *, heads, eps=1e-12, hidden_dropout=0.1, attention_dropout=0.1,
    training=False,
):  # fmt: skip
    def get(name):
        return weights[f"{name}.weight"], weights[f"{name}.bias"]

    context = self_attention(x, attention_mask, weights, heads=heads, training=training,
                             attention_dropout=attention_dropout)  # fmt: skip
    drop = nn.Dropout(hidden_dropout).train(training)
    for name, given in (("attention.output", context), ("output", None)):
        if given is None:
            given = nn.GELU()(nn.functional.linear(x, *get("intermediate.dense")))
        total = torch.add(drop(nn.functional.linear(given, *get(f"{name}.dense"))), x)
        variance, mean = torch.var_mean(total, dim=-1, correction=0, keepdim=True)
        scale, shift = get(f"{name}.LayerNorm")
        x = torch.addcmul(shift, (total - mean) / torch.sqrt(variance + eps), scale)
    return x
