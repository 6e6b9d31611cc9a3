"""torch's own attention, which takes a mask of what may be seen, and dropout by its probability."""

import torch.nn.functional as F


def self_attention(x, attention_mask, weights, *, heads, attention_dropout=0.1, training=False):
    batch, seq, hidden = x.shape
    parts = []
    for role in ("query", "key", "value"):
        weight, bias = (weights[f"attention.self.{role}.{kind}"] for kind in ("weight", "bias"))
        part = F.linear(x, weight, bias).view(batch, seq, heads, hidden // heads)
        parts.append(part.transpose(1, 2))
    visible = attention_mask.bool()[:, None, None, :]
    struck = attention_dropout if training else 0.0
    context = F.scaled_dot_product_attention(*parts, attn_mask=visible, dropout_p=struck)
    return context.transpose(1, 2).reshape(batch, seq, hidden)
