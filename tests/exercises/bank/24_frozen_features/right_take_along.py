"""Layers stacked before the words are taken; negative places in a table by name."""

import torch


def layers_of(feature, layers):
    table = {
        "embeddings": range(1),
        "second-to-last": range(layers - 1, layers),
        "last": range(layers, layers + 1),
    }
    four = range(layers - 3 if layers > 3 else 1, layers + 1)
    return list(table.get(feature, four if feature.endswith("4") else range(1, layers + 1)))


def first_pieces(states, starts):
    found = torch.take_along_dim(states, starts.relu()[..., None], dim=1)
    return found.masked_fill((starts < 0)[..., None], 0)


def word_features(hidden_states, starts, *, feature, mix=None):
    frozen = torch.stack(hidden_states).detach()
    frozen = frozen[layers_of(feature, len(hidden_states) - 1)]
    words = torch.stack([first_pieces(layer, starts) for layer in frozen], dim=-1)
    if feature.startswith("concat"):
        return words.transpose(-1, -2).flatten(-2)
    if feature.startswith("weighted"):
        return words @ mix["weights"].softmax(-1) * mix["scale"]
    return words.sum(-1)
