"""Row by row with index_select and new_zeros; weights as a product with a matrix."""

import torch


def first_pieces(states, starts):
    out = states.new_zeros(*starts.shape, states.shape[2])
    for b in range(len(starts)):
        words = torch.nonzero(starts[b] != -1).flatten()
        out[b, words] = states[b].index_select(0, starts[b, words])
    return out


def word_features(hidden_states, starts, *, feature, mix=None):
    picked = [hidden_states[i].clone().detach()
              for i in layers_of(feature, len(hidden_states) - 1)]  # fmt: skip
    words = [first_pieces(layer, starts) for layer in picked]
    if feature[:6] == "concat":
        return torch.cat(words, dim=-1)
    if feature[:8] == "weighted":
        exponentials = (mix["weights"] - mix["weights"].detach().amax()).exp()
        layers = torch.stack(words, dim=-1)
        return mix["scale"] * (layers @ (exponentials / exponentials.sum())[:, None])[..., 0]
    total = words[0]
    for layer in words[1:]:
        total = total + layer
    return total
