"""The three tables as one long table, read and summed with ids that are moved by offsets."""

import numpy as np

TABLES = ("word_embeddings.weight", "position_embeddings.weight", "token_type_embeddings.weight")


def _ids(input_ids, token_type_ids, weights):
    words, positions = (len(weights[name]) for name in TABLES[:2])
    places = np.broadcast_to(np.arange(input_ids.shape[1]), input_ids.shape)
    return np.stack([input_ids, words + places, words + positions + np.int64(token_type_ids)])


def lookup_backward(dout, ids, entries):
    flat, rows = np.ravel(ids), dout.reshape(-1, dout.shape[-1])
    dtable = [rows[flat == entry].sum(axis=0) for entry in range(entries)]
    return np.array(dtable, dout.dtype)


def embeddings_forward(input_ids, token_type_ids, weights, *, eps=1e-12):
    table = np.concatenate([weights[name] for name in TABLES])
    read = np.take(table, _ids(input_ids, token_type_ids, weights), axis=0)
    return layer_norm_forward(read.sum(axis=0), weights, eps)


def embeddings_backward(dout, input_ids, token_type_ids, weights, *, eps=1e-12, pad_id=0):
    table = np.concatenate([weights[name] for name in TABLES])
    ids = _ids(input_ids, token_type_ids, weights)
    dx, dscale, dshift = layer_norm_backward(dout, table[ids].sum(0), weights, eps)
    dtable = lookup_backward(np.stack([dx] * 3), ids, len(table))
    ends = np.cumsum([len(weights[name]) for name in TABLES])
    gradients = dict(zip(TABLES, np.split(dtable, ends[:-1]), strict=True))
    if 0 <= pad_id < ends[0]:
        gradients[TABLES[0]] = gradients[TABLES[0]].copy()
        gradients[TABLES[0]][pad_id] = 0
    return {"LayerNorm.bias": dshift, "LayerNorm.weight": dscale, **gradients}
