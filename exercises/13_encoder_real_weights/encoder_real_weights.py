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
    raise NotImplementedError("write load_encoder")


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
    raise NotImplementedError("write encode")
