"""Names replaced as text; no gradients kept; the mask as -10000, as Hugging Face once had it."""

import json

import safetensors.torch
import torch
from torch.nn import functional


def load_encoder(folder):
    loaded = safetensors.torch.load_file(str(folder / "model.safetensors"), device="cpu")
    weights = {}
    for key in sorted(loaded):
        name = key[5:] if key.startswith("bert.") else key
        name = name.replace("LayerNorm.gamma", "LayerNorm.weight")
        name = name.replace("LayerNorm.beta", "LayerNorm.bias")
        if name in ("embeddings.position_ids", "embeddings.token_type_ids"):
            continue
        if name.startswith(("embeddings.", "encoder.", "pooler.")):
            weights[name] = loaded[key].double()
    with (folder / "config.json").open() as file:
        return json.load(file), weights


@torch.no_grad()
def encode(config, weights, input_ids, token_type_ids, attention_mask):
    eps, head_count = config.get("layer_norm_eps", 1e-12), config["num_attention_heads"]

    def linear(name, x):
        return functional.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def norm(name, x):
        x = (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + eps) ** 0.5
        return x * weights[f"{name}.LayerNorm.weight"] + weights[f"{name}.LayerNorm.bias"]

    x = weights["embeddings.word_embeddings.weight"][input_ids]
    x = x + weights["embeddings.position_embeddings.weight"][: x.shape[1]]
    x = norm("embeddings", x + weights["embeddings.token_type_embeddings.weight"][token_type_ids])
    states = [x]
    for number in range(config["num_hidden_layers"]):
        name = f"encoder.layer.{number}"
        parts = [
            linear(f"{name}.attention.self.{role}", x).reshape(*x.shape[:2], head_count, -1)
            for role in ("query", "key", "value")
        ]
        scores = torch.einsum("bqhd,bkhd->bhqk", parts[0], parts[1]) / parts[0].shape[-1] ** 0.5
        scores = scores + (1 - attention_mask[:, None, None, :]) * -10000.0
        context = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), parts[2]).flatten(2)
        x = norm(f"{name}.attention.output", x + linear(f"{name}.attention.output.dense", context))
        wide = linear(f"{name}.intermediate.dense", x)
        wide = functional.gelu(
            wide, approximate="none" if config["hidden_act"] == "gelu" else "tanh"
        )
        x = norm(f"{name}.output", x + linear(f"{name}.output.dense", wide))
        states.append(x)
    pooled = linear("pooler.dense", x[:, 0]).tanh() if "pooler.dense.bias" in weights else None
    return states, pooled
