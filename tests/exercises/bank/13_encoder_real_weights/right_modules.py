"""Head by head with bmm; norm and GELU written out; everything in inference mode."""

import json
import math
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors import safe_open


def load_encoder(folder):
    found = {}
    with safe_open(str(Path(folder) / "model.safetensors"), framework="pt") as file:
        for stored in sorted(file.keys()):
            parts = [part for part in stored.split(".") if part != "bert"]
            parts[-1] = {"gamma": "weight", "beta": "bias"}.get(parts[-1], parts[-1])
            if parts[0] not in ("embeddings", "encoder", "pooler") or parts[-1].endswith("ids"):
                continue
            found[".".join(parts)] = file.get_tensor(stored).to(torch.float64)
    with open(folder / "config.json", encoding="utf-8") as file:
        return json.load(file), found


@torch.inference_mode()
def encode(config, weights, input_ids, token_type_ids, attention_mask):
    eps = float({"layer_norm_eps": 1e-12, **config}["layer_norm_eps"])
    heads = config["num_attention_heads"]

    def normal(x, name):
        mean = x.mean(-1, keepdim=True)
        spread = torch.sqrt(((x - mean) ** 2).mean(-1, keepdim=True) + eps)
        return (x - mean) / spread * weights[name + ".weight"] + weights[name + ".bias"]

    def act(x):
        if config["hidden_act"] == "gelu":
            return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    seq = input_ids.size(-1)
    e = "embeddings."
    x = weights[e + "token_type_embeddings.weight"][token_type_ids]
    x = x + weights[e + "position_embeddings.weight"][torch.arange(seq)]
    x = normal(x + weights[e + "word_embeddings.weight"][input_ids], e + "LayerNorm")
    found = [x]
    size = x.shape[-1] // heads
    nobody = attention_mask.sum(1) == 0
    blocked = (attention_mask == 0) & ~nobody[:, None]
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}."
        w = {key.removeprefix(layer): value for key, value in weights.items() if layer in key}
        parts = []
        for head in range(heads):
            own = slice(head * size, (head + 1) * size)
            q, k, v = (
                x @ w[f"attention.self.{role}.weight"][own].T
                + w[f"attention.self.{role}.bias"][own]
                for role in ("query", "key", "value")
            )
            scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(size)
            parts.append(scores.masked_fill(blocked[:, None], -torch.inf).softmax(2) @ v)
        gathered = torch.cat(parts, -1)
        dense = gathered @ w["attention.output.dense.weight"].T + w["attention.output.dense.bias"]
        x = normal(x + dense, layer + "attention.output.LayerNorm")
        wide = act(F.linear(x, w["intermediate.dense.weight"], w["intermediate.dense.bias"]))
        x = normal(x + wide @ w["output.dense.weight"].T + w["output.dense.bias"],
                   layer + "output.LayerNorm")  # fmt: skip
        found.append(x)
    pooled = None
    if any(name.startswith("pooler") for name in weights):
        first = x.select(1, 0)
        pooled = torch.tanh(first @ weights["pooler.dense.weight"].T + weights["pooler.dense.bias"])
    return [state.clone() for state in found], pooled
