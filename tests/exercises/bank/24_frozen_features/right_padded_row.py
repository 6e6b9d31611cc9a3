"""A row of zeros behind the sequence, which -1 then finds."""

import torch


def first_pieces(states, starts):
    longer = torch.nn.functional.pad(states, (0, 0, 0, 1))
    return longer[torch.arange(len(states))[:, None], starts]


def word_features(hidden_states, starts, *, feature, mix=None):
    read = layers_of(feature, len(hidden_states) - 1)
    with torch.no_grad():
        vectors = torch.stack([first_pieces(hidden_states[i], starts) for i in read])
    layers, batch, words, hidden = vectors.shape
    if feature == "concat-last-4":
        return vectors.permute(1, 2, 0, 3).reshape(batch, words, layers * hidden)
    shares = torch.ones(layers, dtype=vectors.dtype)
    if mix is not None:
        shares = mix["weights"].log_softmax(0).exp() * mix["scale"]
    return torch.einsum("l,lbwh->bwh", shares, vectors)
