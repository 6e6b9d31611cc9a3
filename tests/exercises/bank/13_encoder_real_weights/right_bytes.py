"""The file's bytes read at once; the config's numbers looked at late; layers by recursion."""

import json

import torch
import torch.nn.functional as F
from safetensors.torch import load


def load_encoder(folder):
    tensors = load((folder / "model.safetensors").read_bytes())
    weights = {}
    for name, tensor in tensors.items():
        words = name.split(".")
        if words[0] == "bert":
            words = words[1:]
        if words[0] not in ("embeddings", "encoder", "pooler") or words[-1].endswith("_ids"):
            continue
        words[-1] = {"gamma": "weight", "beta": "bias"}.get(words[-1], words[-1])
        weights[".".join(words)] = tensor.type(torch.float64)
    return json.loads((folder / "config.json").read_bytes()), weights


def encode(config, weights, input_ids, token_type_ids, attention_mask):
    embedded = sum(
        F.embedding(ids, weights[f"embeddings.{table}_embeddings.weight"])
        for table, ids in (
            ("word", input_ids),
            ("token_type", token_type_ids),
            ("position", torch.arange(input_ids.shape[1]).expand_as(input_ids)),
        )
    )
    lowest = (attention_mask[:, None, None] - 1.0).double() * 1e30
    states = [normalized(config, weights, "embeddings", embedded)]
    while len(states) <= config["num_hidden_layers"]:
        states.append(one_layer(config, weights, len(states) - 1, states[-1], lowest))
    try:
        pooled = affine(weights, "pooler.dense", states[-1].select(1, 0)).tanh()
    except KeyError:
        pooled = None
    return states, pooled


def affine(weights, name, x):
    return torch.einsum("...i,oi->...o", x, weights[name + ".weight"]) + weights[name + ".bias"]


def normalized(config, weights, name, x):
    eps = config.get("layer_norm_eps", 1e-12)
    scale, shift = weights[name + ".LayerNorm.weight"], weights[name + ".LayerNorm.bias"]
    centered = x - x.mean(-1, keepdim=True)
    return centered / (centered.square().mean(-1, keepdim=True) + eps).sqrt() * scale + shift


def one_layer(config, weights, number, x, lowest):
    name = f"encoder.layer.{number}"
    q, k, v = (
        affine(weights, f"{name}.attention.self.{role}", x).chunk(config["num_attention_heads"], -1)
        for role in ("query", "key", "value")
    )
    context = [
        torch.softmax(qh @ kh.mT * kh.shape[-1] ** -0.5 + lowest[:, 0], -1) @ vh
        for qh, kh, vh in zip(q, k, v, strict=True)
    ]
    context = affine(weights, f"{name}.attention.output.dense", torch.cat(context, -1))
    x = normalized(config, weights, f"{name}.attention.output", x + context)
    wide = affine(weights, f"{name}.intermediate.dense", x)
    if config["hidden_act"] == "gelu":
        wide = wide * (1 + torch.erf(wide / 2**0.5)) / 2
    else:
        wide = wide * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (wide + 0.044715 * wide**3))) / 2
    return normalized(config, weights, f"{name}.output",
                      x + affine(weights, f"{name}.output.dense", wide))  # fmt: skip
