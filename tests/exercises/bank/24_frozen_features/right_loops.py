"""Word by word, layer by layer."""

import torch


def layers_of(feature, layers):
    everything = list(range(layers + 1))
    if feature.endswith("-all"):
        return everything[1:]
    if feature.endswith("-last-4"):
        return everything[1:][-4:]
    return [everything[{"embeddings": 0, "second-to-last": -2, "last": -1}[feature]]]


def first_pieces(states, starts):
    rows = []
    for row, places in zip(states, starts.tolist(), strict=True):
        rows += [row[place] if place >= 0 else torch.zeros_like(row[0]) for place in places]
    return torch.stack(rows).reshape(*starts.shape, states.shape[-1])


def word_features(hidden_states, starts, *, feature, mix=None):
    chosen = [first_pieces(hidden_states[i], starts).data
              for i in layers_of(feature, len(hidden_states) - 1)]  # fmt: skip
    if "concat" in feature:
        return torch.cat(chosen, dim=-1)
    if "weighted" not in feature:
        return sum(chosen)
    shares = torch.exp(mix["weights"] - mix["weights"].max())
    shares = shares / shares.sum()
    return mix["scale"] * sum(s * v for s, v in zip(shares, chosen, strict=True))
