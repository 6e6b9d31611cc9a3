"""Row by row; GELU and the norm written out; the two uses by two products with the matrix."""

import torch

WORDS = "bert.embeddings.word_embeddings.weight"


def gather_positions(states, positions):
    return torch.stack([row[places] for row, places in zip(states, positions, strict=True)])


def word_logits(states, positions, weights, *, hidden_act="gelu", eps=1e-12):
    found = []
    head = "cls.predictions.transform."
    for x in gather_positions(states, positions):
        x = torch.addmm(weights[head + "dense.bias"], x, weights[head + "dense.weight"].T)
        if hidden_act == "gelu":
            x = x * (1 + torch.erf(x * 0.5**0.5)) / 2
        else:
            x = x * torch.sigmoid(2 * (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3))
        x = x - x.mean(1, keepdim=True)
        x = x * torch.rsqrt((x * x).mean(1, keepdim=True) + eps)
        x = x * weights[head + "LayerNorm.weight"] + weights[head + "LayerNorm.bias"]
        found.append(x @ weights[WORDS].t() + weights["cls.predictions.bias"])
    return torch.stack(found)


def read_and_name(input_ids, positions, weights):
    return word_logits(weights[WORDS][input_ids], positions, weights)


def gradients_of_both_uses(input_ids, positions, weights, dlogits):
    tied = weights[WORDS].detach().requires_grad_()
    first, second = tied * 1, tied * 1
    logits = word_logits(first[input_ids], positions, {**weights, WORDS: second})
    return torch.autograd.grad(logits, (first, second), dlogits)
