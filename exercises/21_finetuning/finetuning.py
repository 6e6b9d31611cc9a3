"""Fine-tuning: a classifier on an encoder, and everything below it goes on learning.

The encoder here is a small one, given as `encode`; of BERT's only the size is missing. `weights` is
a dict of tensors, each with `.weight` and `.bias` unless it is a table:

    embeddings.word.weight           (vocab, hidden)
    embeddings.position.weight       (seq, hidden)
    embeddings.LayerNorm             (hidden,)
    attention.query, .key, .value    (hidden, hidden)
    attention.LayerNorm              (hidden,)
    pooler.dense                     (hidden, hidden)
    classifier                       (labels, hidden)
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

States = Float[Tensor, "batch seq hidden"]
Weights = dict[str, Tensor]


def dense(x: Tensor, weights: Weights, name: str) -> Tensor:
    return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])


def norm(x: Tensor, weights: Weights, name: str) -> Tensor:
    return F.layer_norm(
        x, x.shape[-1:], weights[f"{name}.weight"], weights[f"{name}.bias"], eps=1e-12
    )


def encode(
    input_ids: Int[Tensor, "batch seq"], attention_mask: Int[Tensor, "batch seq"], weights: Weights
) -> States:
    """Given: word and position, then one layer of attention that sees no padding."""
    positions = weights["embeddings.position.weight"][: input_ids.shape[1]]
    x = weights["embeddings.word.weight"][input_ids] + positions
    x = norm(x, weights, "embeddings.LayerNorm")
    query, key, value = (dense(x, weights, f"attention.{n}") for n in ("query", "key", "value"))
    is_token = attention_mask.bool()[:, None, :]
    context = F.scaled_dot_product_attention(query, key, value, is_token)
    return norm(x + context, weights, "attention.LayerNorm")


def text_vector(
    states: States,
    attention_mask: Int[Tensor, "batch seq"],
    weights: Weights,
    *,
    pooling: str,
) -> Float[Tensor, "batch hidden"]:
    """One vector for the text, from the states of its tokens.

    `cls`: that of [CLS], token 0, through the pooler, `pooler.dense` and tanh (section 4.1).
    `mean`: the mean of the states of all tokens whose `attention_mask` is 1, without the pooler.
    """
    raise NotImplementedError("write text_vector")


def classify(
    input_ids: Int[Tensor, "batch seq"],
    attention_mask: Int[Tensor, "batch seq"],
    weights: Weights,
    *,
    pooling: str,
    dropout: float = 0.1,
    training: bool = False,
) -> Float[Tensor, "batch labels"]:
    """The scores of every label: encode, one vector, dropout on it if `training`, `classifier`."""
    raise NotImplementedError("write classify")


def loss(
    logits: Float[Tensor, "batch labels"], labels: Int[Tensor, "batch"] | Float[Tensor, "batch"]
) -> Float[Tensor, ""]:
    """The mean over the batch: of the cross-entropy where there are several labels, of the squared
    difference where there is a single one, and `labels` are numbers to be met (STS-B)."""
    raise NotImplementedError("write loss")


def fine_tune(
    weights: Weights,
    batches: list[dict[str, Tensor]],
    *,
    pooling: str,
    peak_rate: float,
    warmup_steps: int,
    weight_decay: float = 0.01,
    max_norm: float = 1.0,
    dropout: float = 0.1,
) -> tuple[Weights, list[float]]:
    """One step for each batch (`input_ids`, `attention_mask`, `labels`); the new weights, and the
    loss of each batch before its step.

    A step: gradients of all weights, together clipped to the norm `max_norm`, then AdamW (betas 0.9
    and 0.999, eps 1e-6, bias corrected), in which biases and layer norms are not decayed, and what
    gets no gradient stays as it is. The rate of step t = 0, 1, … of n is
    peak_rate (t + 1) / warmup_steps while t < warmup_steps, then
    peak_rate (n - t) / (n - warmup_steps). Dropout is on.
    """
    raise NotImplementedError("write fine_tune")
