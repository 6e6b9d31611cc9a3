"""A list of patterns, tried one after another; the checkpoint asked for each of the names."""

import re

import numpy as np

PATTERNS = [
    (r"^(?:(?:module|_orig_mod)\.)+", ""),
    (r"^(embeddings|encoder|pooler)(?=[./])", r"bert.\1"),
    (r"/layer_(\d+)(?=/)", r"/layer.\1"),
    (r"/", "."),
    (r"\bLayerNorm\.gamma$", "LayerNorm.weight"),
    (r"\bLayerNorm\.beta$", "LayerNorm.bias"),
    (r"\.(kernel|output_weights)$", ".weight"),
    (r"\.output_bias$", ".bias"),
    (r"_embeddings$", "_embeddings.weight"),
    (r"^cls\.predictions\.decoder\.bias$", "cls.predictions.bias"),
]


def common_name(name):
    for pattern, put in PATTERNS:
        name = re.sub(pattern, put, name)
    return name


def read_checkpoint(arrays, config):
    shapes = parameter_shapes(config)
    renamed, used = {}, set()
    arrays = {n: np.swapaxes(a, 0, 1) if n.endswith("/kernel") else a for n, a in arrays.items()}
    common = {name: common_name(name) for name in arrays}
    for name in arrays:
        renamed.setdefault(common[name], name)

    def look(wanted):
        if wanted in renamed:
            name = renamed[wanted]
            used.update(n for n in arrays if common[n] == wanted)
            return arrays[name]
        role = re.search(r"\.self\.(query|key|value)\.", wanted)
        if role:
            name = renamed.get(wanted.replace(role[1], "Wqkv"))
            if name:
                used.add(name)
                size, place = len(arrays[name]) // 3, ("query", "key", "value").index(role[1])
                return arrays[name][place * size : (place + 1) * size]
        if "word_embeddings" in wanted:
            return look("cls.predictions.decoder.weight")
        return None

    found = {name: look(name) for name in shapes}
    decoder = renamed.get("cls.predictions.decoder.weight")
    words = found["bert.embeddings.word_embeddings.weight"]
    if decoder and words is not None and np.array_equal(words, arrays[decoder]):
        used.add(decoder)
    none = ("position_ids", "adam_m", "adam_v", "global_step")
    return (
        {n: np.array(a) for n, a in found.items() if a is not None and a.shape == shapes[n]},
        [n for n, a in found.items() if a is None],
        [n for n in arrays if n not in used and not n.endswith(none)],
        [n for n, a in found.items() if a is not None and a.shape != shapes[n]],
    )
