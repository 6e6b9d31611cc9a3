"""Rows and positions as two indices; every product as an einsum; layer norm written out."""

import math

import torch

WORDS = "bert.embeddings.word_embeddings.weight"


def gather_positions(states, positions):
    return states[torch.arange(states.shape[0]).unsqueeze(1), positions]


def word_logits(states, positions, weights, *, hidden_act="gelu", eps=1e-12):
    t = "cls.predictions.transform."
    x = gather_positions(states, positions)
    x = torch.einsum("bmi,oi->bmo", x, weights[t + "dense.weight"]) + weights[t + "dense.bias"]
    if hidden_act == "gelu":
        x = x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))
    else:
        x = x * 0.5 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    x = x - x.mean(-1, keepdim=True)
    x = x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps)
    x = x * weights[t + "LayerNorm.weight"] + weights[t + "LayerNorm.bias"]
    return torch.einsum("bmh,vh->bmv", x, weights[WORDS]) + weights["cls.predictions.bias"]


def read_and_name(input_ids, positions, weights):
    return word_logits(weights[WORDS][input_ids], positions, weights)
