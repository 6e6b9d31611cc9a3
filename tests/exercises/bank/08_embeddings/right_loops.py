"""Token by token."""

import numpy as np


def lookup_backward(dout, ids, entries):
    dtable = np.zeros((entries, dout.shape[-1]), dout.dtype)
    for place in np.ndindex(ids.shape):
        dtable[ids[place]] += dout[place]
    return dtable


def embeddings_forward(input_ids, token_type_ids, weights, *, eps=1e-12):
    batch, seq = input_ids.shape
    x = np.empty((batch, seq, weights["LayerNorm.bias"].size), weights["LayerNorm.bias"].dtype)
    for i in range(batch):
        for p in range(seq):
            x[i, p] = weights["word_embeddings.weight"][input_ids[i, p]]
            x[i, p] += weights["position_embeddings.weight"][p]
            x[i, p] += weights["token_type_embeddings.weight"][token_type_ids[i, p]]
    return layer_norm_forward(x, weights, eps)


def embeddings_backward(dout, input_ids, token_type_ids, weights, *, eps=1e-12, pad_id=0):
    gradients = {name: np.zeros_like(array) for name, array in weights.items()}
    batch, seq = input_ids.shape
    for i in range(batch):
        for p in range(seq):
            word, segment = input_ids[i, p], token_type_ids[i, p]
            x = (
                weights["word_embeddings.weight"][word]
                + weights["position_embeddings.weight"][p]
                + weights["token_type_embeddings.weight"][segment]
            )
            dx, dscale, dshift = layer_norm_backward(dout[i, p], x, weights, eps)
            if word != pad_id:
                gradients["word_embeddings.weight"][word] += dx
            gradients["position_embeddings.weight"][p] += dx
            gradients["token_type_embeddings.weight"][segment] += dx
            gradients["LayerNorm.weight"] += dscale
            gradients["LayerNorm.bias"] += dshift
    return gradients
