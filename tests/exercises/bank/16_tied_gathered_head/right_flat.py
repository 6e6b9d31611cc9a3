"""One long list of slots, with offsets; modules that borrow the weights for a call."""

import torch
from torch import nn
from torch.func import functional_call

WORDS = "bert.embeddings.word_embeddings.weight"


def gather_positions(states, positions):
    batch, seq, hidden = states.shape
    offsets = torch.arange(batch).mul(seq).unsqueeze(-1)
    return (
        states.reshape(-1, hidden)
        .index_select(0, (positions + offsets).flatten())
        .view(batch, -1, hidden)
    )


def word_logits(states, positions, weights, *, hidden_act="gelu", eps=1e-12):
    words = weights[WORDS]
    vocab, hidden = words.shape
    stack = nn.Sequential(
        nn.Linear(hidden, hidden, device="meta"),
        nn.GELU(approximate={"gelu": "none", "gelu_new": "tanh"}[hidden_act]),
        nn.LayerNorm(hidden, eps=eps, device="meta"),
        nn.Linear(hidden, vocab, device="meta"),
    )
    t = "cls.predictions.transform."
    borrowed = {
        "0.weight": weights[t + "dense.weight"],
        "0.bias": weights[t + "dense.bias"],
        "2.weight": weights[t + "LayerNorm.weight"],
        "2.bias": weights[t + "LayerNorm.bias"],
        "3.weight": words,
        "3.bias": weights["cls.predictions.bias"],
    }
    return functional_call(stack, borrowed, (gather_positions(states, positions),))
