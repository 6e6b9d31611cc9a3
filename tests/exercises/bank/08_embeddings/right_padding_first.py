"""The gradients of padding are set to zero before the words collect them; a dict of lists."""

import numpy as np


def lookup_backward(dout, ids, entries):
    collected = {}
    for entry, gradient in zip(ids.flatten().tolist(), dout.reshape(-1, dout.shape[-1]),
                               strict=True):  # fmt: skip
        collected.setdefault(entry, []).append(gradient)
    dtable = np.zeros((entries, dout.shape[-1]), dtype=dout.dtype)
    for entry, gradients in collected.items():
        dtable[entry] = np.sum(gradients, axis=0)
    return dtable


def embeddings_backward(dout, input_ids, token_type_ids, weights, *, eps=1e-12, pad_id=0):
    words, places, segments = (
        weights[f"{table}_embeddings.weight"] for table in ("word", "position", "token_type")
    )
    seq = input_ids.shape[1]
    x = places[None, :seq] + segments[token_type_ids] + words[input_ids]
    dx, dscale, dshift = layer_norm_backward(dout, x, weights, eps)
    dplaces = np.pad(np.add.reduce(dx), [(0, len(places) - seq), (0, 0)])
    dwords = lookup_backward(np.where(input_ids[..., None] == pad_id, 0, dx), input_ids, len(words))
    return {
        "word_embeddings.weight": dwords,
        "position_embeddings.weight": dplaces,
        "token_type_embeddings.weight": lookup_backward(dx, token_type_ids, len(segments)),
        "LayerNorm.weight": dscale,
        "LayerNorm.bias": dshift,
    }
