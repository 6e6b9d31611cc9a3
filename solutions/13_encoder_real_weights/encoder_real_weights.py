"""A whole encoder that opens a checkpoint folder of Hugging Face and computes what it computes."""

import json
import math
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from safetensors.torch import load_file
from torch import Tensor

Weights = dict[str, Tensor]


def load_encoder(folder: Path) -> tuple[dict, Weights]:
    """The `config.json` of a folder as a dict, and the encoder's weights of its
    `model.safetensors` as float64 tensors under today's names.

    Today's names begin with `embeddings.`, `encoder.` or `pooler.`. A file of BertForPreTraining or
    of a fine-tuned model has `bert.` before them; its heads (`cls.`, `classifier.`, `qa_outputs.`)
    are left out. Old files call the scale and the shift of a layer norm `gamma` and `beta`. Buffers
    such as `embeddings.position_ids` are no weights. A file may have no pooler.
    """
    # begin solution
    config = json.loads((folder / "config.json").read_bytes())
    weights = {}
    for name, tensor in load_file(folder / "model.safetensors").items():
        name = (
            name.removeprefix("bert.")
            .replace("LayerNorm.gamma", "LayerNorm.weight")
            .replace("LayerNorm.beta", "LayerNorm.bias")
        )
        is_of_encoder = name.split(".")[0] in {"embeddings", "encoder", "pooler"}
        if is_of_encoder and tensor.is_floating_point():
            # float64, so that two programs which compute the same agree to 1e-10, and a mistake of
            # 1e-5 is visible. In float32 both would be lost in rounding.
            weights[name] = tensor.double()
    return config, weights
    # end solution


def encode(
    config: dict,
    weights: Weights,
    input_ids: Int[Tensor, "batch seq"],
    token_type_ids: Int[Tensor, "batch seq"],
    attention_mask: Int[Tensor, "batch seq"],
) -> tuple[list[Float[Tensor, "batch seq hidden"]], Float[Tensor, "batch hidden"] | None]:
    """What `transformers.BertModel` gives in evaluation mode: the states after the embeddings and
    after every layer, in order, and the pooled vector; None if `weights` has no pooler.

    Read from `config`: `num_hidden_layers`, `num_attention_heads`, `layer_norm_eps` (1e-12 if it is
    absent) and `hidden_act` ("gelu" with erf; "gelu_new" and "gelu_pytorch_tanh" with tanh).
    """
    # begin solution
    # Both are in the file, and neither can be seen in a tensor's shape: a hidden size of 768 may be
    # 12 heads or 6, and the model runs with each.
    heads, eps = config["num_attention_heads"], config.get("layer_norm_eps", 1e-12)
    approximate = "none" if config["hidden_act"] == "gelu" else "tanh"
    visible = attention_mask.bool()[:, None, None, :]  # for every head and query the same keys

    states = [embedded(weights, input_ids, token_type_ids, eps)]
    for number in range(config["num_hidden_layers"]):
        name, x = f"encoder.layer.{number}", states[-1]
        gathered = attention(x, visible, weights, f"{name}.attention", heads)
        x = norm(x + gathered, weights, f"{name}.attention.output.LayerNorm", eps)
        wide = F.gelu(dense(x, weights, f"{name}.intermediate.dense"), approximate=approximate)
        worked = dense(wide, weights, f"{name}.output.dense")
        states.append(norm(x + worked, weights, f"{name}.output.LayerNorm", eps))

    # There is no norm after the last layer: its own was the last (post-LN). The pooler reads [CLS],
    # the first token, not a mean.
    if "pooler.dense.weight" not in weights:
        return states, None
    return states, dense(states[-1][:, 0], weights, "pooler.dense").tanh()
    # end solution


# begin solution
def embedded(
    weights: Weights,
    input_ids: Int[Tensor, "batch seq"],
    token_type_ids: Int[Tensor, "batch seq"],
    eps: float,
) -> Float[Tensor, "batch seq hidden"]:
    """The sum of the vectors of the word, the position and the segment, normalized."""
    words = weights["embeddings.word_embeddings.weight"][input_ids]
    positions = weights["embeddings.position_embeddings.weight"][: input_ids.shape[1]]
    segments = weights["embeddings.token_type_embeddings.weight"][token_type_ids]
    return norm(words + positions + segments, weights, "embeddings.LayerNorm", eps)


def attention(
    x: Float[Tensor, "batch seq hidden"],
    visible: Bool[Tensor, "batch 1 1 seq"],
    weights: Weights,
    name: str,
    heads: int,
) -> Float[Tensor, "batch seq hidden"]:
    """What each token gathers from all visible ones, in several heads."""
    query, key, value = (
        # (batch, seq, hidden) → (batch, heads, seq, head_dim)
        dense(x, weights, f"{name}.self.{role}").unflatten(-1, (heads, -1)).permute(0, 2, 1, 3)
        for role in ("query", "key", "value")
    )
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    # The lowest finite number, not -inf: a row that is all padding would become NaN.
    weighting = scores.masked_fill(~visible, torch.finfo(scores.dtype).min).softmax(dim=-1)
    merged = (weighting @ value).permute(0, 2, 1, 3).flatten(2)
    return dense(merged, weights, f"{name}.output.dense")


def dense(
    x: Float[Tensor, "*batch in"], weights: Weights, name: str
) -> Float[Tensor, "*batch out"]:
    """Checkpoints of Hugging Face keep a dense layer's weight as (out, in), as F.linear has it;
    Google's own, for TensorFlow, keep (in, out)."""
    return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])


def norm(
    x: Float[Tensor, "*batch hidden"], weights: Weights, name: str, eps: float
) -> Float[Tensor, "*batch hidden"]:
    scale = weights[f"{name}.weight"]
    return F.layer_norm(x, scale.shape, scale, weights[f"{name}.bias"], eps)


# Wrong answers that are common:
# - names that match one kind of file only: `bert.` before them or not, gamma or weight;
# - a loop over 12 layers, or with 12 heads, whatever the config says;
# - the numbers left in float32 or float16: right to 1e-3, and no mistake can be seen;
# - layers sorted by their names: "layer.10" comes before "layer.2";
# - the tanh form of GELU for "gelu", or the erf form for "gelu_new";
# - a layer norm after the last layer, as GPT has it; the mean for the pooler.
# end solution
