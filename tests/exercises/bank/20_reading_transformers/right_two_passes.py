"""First the layout, array by array, into a list; then the names, with a set of what was used."""

import numpy as np


def pieces(name, array):
    ours = common_name(name)
    if name.endswith("kernel"):
        array = array.transpose()
    if "Wqkv" in ours:
        size = array.shape[0] // 3
        return [
            (ours.replace("Wqkv", role), array[place * size :][:size])
            for place, role in enumerate(["query", "key", "value"])
        ]
    return [(ours, array)]


def read_checkpoint(arrays, config):
    shapes = parameter_shapes(config)
    weights, wrong_shape, unexpected = {}, set(), []
    decoder = None
    for name, array in arrays.items():
        if name[-6:] in ("adam_m", "adam_v") or name.endswith(("position_ids", "global_step")):
            continue
        for ours, piece in pieces(name, array):
            if ours == "cls.predictions.decoder.weight":
                decoder, tied = name, piece
            elif ours not in shapes:
                unexpected += [] if name in unexpected else [name]
            elif piece.shape != shapes[ours]:
                wrong_shape.add(ours)
            else:
                weights[ours] = np.copy(piece)
    words = "bert.embeddings.word_embeddings.weight"
    if decoder is not None:
        written = [array for name, array in arrays.items() if common_name(name) == words]
        if not written and tied.shape == shapes[words]:
            weights[words] = np.copy(tied)
        elif not written:
            wrong_shape.add(words)
        elif not np.array_equal(written[-1], tied):
            unexpected.append(decoder)
    unexpected.sort(key=list(arrays).index)
    missing = [name for name in shapes if name not in weights and name not in wrong_shape]
    return weights, missing, unexpected, [name for name in shapes if name in wrong_shape]
