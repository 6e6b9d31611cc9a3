"""One layer of BERT's encoder, as functions of tensors: autograd computes the gradients.

`weights` carries the names that a layer has in a checkpoint of Hugging Face, each of the eight
with `.weight` and `.bias`:

    attention.self.query, .key, .value    (hidden, hidden)
    attention.output.dense                (hidden, hidden)
    attention.output.LayerNorm            (hidden,)
    intermediate.dense                    (intermediate, hidden)
    output.dense                          (hidden, intermediate)
    output.LayerNorm                      (hidden,)
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

States = Float[Tensor, "batch seq hidden"]
Weights = dict[str, Tensor]


def self_attention(
    x: States,
    attention_mask: Int[Tensor, "batch seq"],
    weights: Weights,
    *,
    heads: int,
    attention_dropout: float = 0.1,
    training: bool = False,
) -> States:
    """softmax(Q Kᵀ / √head_dim) V in every head, the heads side by side again, before
    `attention.output.dense` (Vaswani et al. 2017, equation 1).

    No query looks at a key whose `attention_mask` is 0. In training, each attention weight is set
    to 0 with probability `attention_dropout`, independently of the others.
    """
    raise NotImplementedError("write self_attention")


def encoder_layer(
    x: States,
    attention_mask: Int[Tensor, "batch seq"],
    weights: Weights,
    *,
    heads: int,
    eps: float = 1e-12,
    hidden_dropout: float = 0.1,
    attention_dropout: float = 0.1,
    training: bool = False,
) -> States:
    """Tokens exchange information, then each is transformed by itself: x = LN(x +
    dropout(part(x))), twice. With `training` False there is no dropout."""
    raise NotImplementedError("write encoder_layer")
