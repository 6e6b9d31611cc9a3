"""Shapes written as one text; names walked through word by word; a count by the paper's sizes."""

import re

TEMPLATE = """
bert.embeddings.word_embeddings.weight V H
bert.embeddings.position_embeddings.weight P H
bert.embeddings.token_type_embeddings.weight S H
bert.embeddings.LayerNorm H
layer.attention.self.query H H
layer.attention.self.key H H
layer.attention.self.value H H
layer.attention.output.dense H H
layer.attention.output.LayerNorm H
layer.intermediate.dense I H
layer.output.dense H I
layer.output.LayerNorm H
bert.pooler.dense H H
cls.predictions.bias V
cls.predictions.transform.dense H H
cls.predictions.transform.LayerNorm H
cls.seq_relationship 2 H
"""


def parameter_shapes(config):
    sizes = {"V": config["vocab_size"], "H": config["hidden_size"], "2": 2,
             "I": config["intermediate_size"], "P": config["max_position_embeddings"],
             "S": config["type_vocab_size"]}  # fmt: skip
    lines = TEMPLATE.split("\n")[1:-1]
    inner = [line for line in lines if line.startswith("layer")]
    before = lines[: lines.index(inner[0])]
    after = lines[lines.index(inner[-1]) + 1 :]
    for i in range(config["num_hidden_layers"]):
        before += [f"bert.encoder.layer.{i}{line.removeprefix('layer')}" for line in inner]
    shapes = {}
    for line in before + after:
        name, *letters = line.split()
        shape = tuple(sizes[letter] for letter in letters)
        if name.endswith((".weight", ".bias")):
            shapes[name] = shape
        else:
            shapes[name + ".weight"] = shape
            shapes[name + ".bias"] = shape[:1]
    return shapes


def common_name(name):
    words = name.split("/") if "/" in name else name.split(".")
    if "/" in name:
        for i, word in enumerate(words[1:-1], 1):
            if match := re.fullmatch(r"layer_([0-9]+)", word):
                words[i] = "layer." + match[1]
    while words[0] in ("module", "_orig_mod"):
        words = words[1:]
    if words[0] in ("embeddings", "encoder", "pooler"):
        words.insert(0, "bert")
    if len(words) > 1 and words[-2] == "LayerNorm" and words[-1] in ("gamma", "beta"):
        words[-1] = "weight" if words[-1] == "gamma" else "bias"
    match words[-1]:
        case "kernel" | "output_weights" if "/" in name:
            words[-1] = "weight"
        case "output_bias" if "/" in name:
            words[-1] = "bias"
        case last if last.endswith("_embeddings"):
            words.append("weight")
    if words == ["cls", "predictions", "decoder", "bias"]:
        words.remove("decoder")
    return ".".join(words)


def count_parameters(config):
    v, h, i = config["vocab_size"], config["hidden_size"], config["intermediate_size"]
    p, s = config["max_position_embeddings"], config["type_vocab_size"]
    layer = 4 * (h * h + h) + 2 * h + (h * i + i) + (i * h + h) + 2 * h
    heads = v + (h * h + h) + 2 * h + 2 * h + 2
    embeddings = (v + p + s) * h + 2 * h
    return embeddings + config["num_hidden_layers"] * layer + h * h + h + heads
