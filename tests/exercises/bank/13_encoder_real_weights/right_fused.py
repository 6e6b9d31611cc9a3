"""torch's own attention; a regular expression for the names; safetensors opened lazily."""

import json
import re

import torch
import torch.nn.functional as F
from safetensors import safe_open

PARTS = re.compile(r"^(?:bert\.)?((?:embeddings|encoder|pooler)\..*\.)(weight|bias|gamma|beta)$")


def load_encoder(folder):
    with open(folder / "config.json", "rb") as file:
        config = json.load(file)
    weights = {}
    with safe_open(folder / "model.safetensors", framework="pt") as file:
        for key in file.keys():  # noqa: SIM118
            if found := PARTS.match(key):
                kind = {"gamma": "weight", "beta": "bias"}.get(found[2], found[2])
                weights[found[1] + kind] = file.get_tensor(key).to(torch.float64)
    return config, weights


def encode(config, weights, input_ids, token_type_ids, attention_mask):
    def get(name):
        return weights[f"{name}.weight"], weights[f"{name}.bias"]

    def norm(x, name):
        return F.layer_norm(x, x.shape[-1:], *get(name), config.get("layer_norm_eps", 1e-12))

    form = {"gelu": "none", "gelu_new": "tanh", "gelu_pytorch_tanh": "tanh"}[config["hidden_act"]]
    heads, (batch, seq) = config["num_attention_heads"], input_ids.shape
    x = weights["embeddings.word_embeddings.weight"][input_ids]
    x = x + weights["embeddings.token_type_embeddings.weight"][token_type_ids]
    x = x + weights["embeddings.position_embeddings.weight"][torch.arange(seq)]
    x = norm(x, "embeddings.LayerNorm")
    states, mask = [x], (attention_mask > 0).view(batch, 1, 1, seq)
    for i in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        q, k, v = (
            F.linear(x, *get(f"{layer}.attention.self.{r}")).view(batch, seq, heads, -1).mT.mT
            for r in ("query", "key", "value")
        )
        q, k, v = (t.permute(0, 2, 1, 3) for t in (q, k, v))
        context = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        context = context.permute(0, 2, 1, 3).reshape(batch, seq, -1)
        x = norm(F.linear(context, *get(f"{layer}.attention.output.dense")) + x,
                 f"{layer}.attention.output.LayerNorm")  # fmt: skip
        wide = F.gelu(F.linear(x, *get(f"{layer}.intermediate.dense")), approximate=form)
        x = norm(F.linear(wide, *get(f"{layer}.output.dense")) + x, f"{layer}.output.LayerNorm")
        states.append(x)
    has_pooler = any(name.startswith("pooler.") for name in weights)
    return states, torch.tanh(F.linear(x[:, 0], *get("pooler.dense"))) if has_pooler else None
