"""Rows and columns by index, without gradients; the mix by logsumexp."""

import torch


def first_pieces(states, starts):
    rows = torch.arange(states.shape[0], device=states.device)[:, None]
    return states[rows, starts.clamp(min=0)].masked_fill((starts < 0)[..., None], 0)


def word_features(hidden_states, starts, *, feature, mix=None):
    with torch.no_grad():
        read = layers_of(feature, len(hidden_states) - 1)
        picked = [first_pieces(hidden_states[i], starts) for i in read]
    if feature.startswith("weighted"):
        shares = torch.exp(mix["weights"] - mix["weights"].logsumexp(0))
        return mix["scale"] * sum(shares[i] * x for i, x in enumerate(picked))
    return torch.cat(picked, -1) if feature.startswith("concat") else sum(picked)
