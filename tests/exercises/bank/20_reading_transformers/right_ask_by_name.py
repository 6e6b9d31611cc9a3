"""Every spelling of each parameter is made first; the checkpoint is then asked for them."""

import numpy as np


def parameter_shapes(config):
    h, v = config["hidden_size"], config["vocab_size"]
    i, e = config["intermediate_size"], "bert.embeddings."
    found = [(e + "word_embeddings", (v, h), 0), (e + "position_embeddings", (
        config["max_position_embeddings"], h), 0)]  # fmt: skip
    found += [(e + "token_type_embeddings", (config["type_vocab_size"], h), 0)]
    found += [(e + "LayerNorm", (h,), h)]
    for number in range(config["num_hidden_layers"]):
        found += [
            (f"bert.encoder.layer.{number}.{name}", shape, shape[0])
            for name, shape in [
                ("attention.self.query", (h, h)), ("attention.self.key", (h, h)),
                ("attention.self.value", (h, h)), ("attention.output.dense", (h, h)),
                ("attention.output.LayerNorm", (h,)), ("intermediate.dense", (i, h)),
                ("output.dense", (h, i)), ("output.LayerNorm", (h,)),
            ]
        ]  # fmt: skip
    found += [("bert.pooler.dense", (h, h), h), ("cls.predictions", None, v)]
    found += [("cls.predictions.transform.dense", (h, h), h)]
    found += [("cls.predictions.transform.LayerNorm", (h,), h), ("cls.seq_relationship", (2, h), 2)]
    shapes = {}
    for name, weight, bias in found:
        if weight:
            shapes[name + ".weight"] = weight
        if bias:
            shapes[name + ".bias"] = (bias,)
    return shapes


def common_name(name):
    if "/" in name:
        steps = name.split("/")
        steps = [
            f"layer.{s[6:]}" if 0 < i < len(steps) - 1 and s[:6] == "layer_" and s[6:].isdigit()
            else s for i, s in enumerate(steps)
        ]  # fmt: skip
        name = ".".join(steps)
    while name.split(".")[0] in {"module", "_orig_mod"} and "." in name:
        name = name[name.index(".") + 1 :]
    for start in ("embeddings.", "encoder.", "pooler."):
        if name[: len(start)] == start:
            name = "bert." + name
            break
    ends = {".LayerNorm.gamma": ".LayerNorm.weight", ".LayerNorm.beta": ".LayerNorm.bias",
            ".kernel": ".weight", ".output_weights": ".weight", ".output_bias": ".bias",
            "_embeddings": "_embeddings.weight"}  # fmt: skip
    for end, today in ends.items():
        if name.endswith(end):
            name = name[: -len(end)] + today
            break
    return {"cls.predictions.decoder.bias": "cls.predictions.bias"}.get(name, name)


def read_checkpoint(arrays, config):
    words, decoder = "bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"
    shapes, have, unexpected = parameter_shapes(config), {}, []
    quiet = ("position_ids", "adam_m", "adam_v", "global_step")
    loud = [name for name in arrays if not name.endswith(quiet)]
    names = {common_name(name) for name in loud}
    for name in loud:
        ours, array = common_name(name), arrays[name]
        if name.endswith("/kernel"):
            array = np.transpose(array)
        if ours == decoder and words in names:
            table = next(arrays[n] for n in loud if common_name(n) == words)
            if table.shape != array.shape or (table != array).any():
                unexpected.append(name)
            continue
        fused = ".Wqkv." in ours
        places = [ours.replace("Wqkv", r) for r in ("query", "key", "value")] if fused else [ours]
        places = [words if place == decoder else place for place in places]
        if any(place not in shapes for place in places):
            unexpected.append(name)
            continue
        rows = len(array) // len(places) if fused else None
        for i, place in enumerate(places):
            have[place] = array[i * rows : (i + 1) * rows] if fused else array
    fits = {name for name, array in have.items() if array.shape == shapes[name]}
    return (
        {name: have[name].copy() for name in fits},
        [name for name in shapes if name not in have],
        unexpected,
        [name for name in shapes if name in have and name not in fits],
    )
