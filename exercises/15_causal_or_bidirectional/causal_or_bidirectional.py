"""One triangle between BERT and GPT: who may look at whom, and what that lets through."""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def visible_keys(
    attention_mask: Int[Tensor, "batch seq"], *, causal: bool = False
) -> Bool[Tensor, "batch seq seq"]:
    """True where the token of the row (the query) may look at the token of the column (the key).

    `attention_mask` is 1 on tokens and 0 on padding, which may stand anywhere. Nobody looks at
    padding. If `causal`, nobody looks to its right; every token may look at itself.
    """
    raise NotImplementedError("write visible_keys")


def picture(visible: Bool[Tensor, "seq seq"]) -> list[str]:
    """A string for each query: X for a key that it may look at, O for one that it may not."""
    raise NotImplementedError("write picture")


def attention(
    query: Float[Tensor, "batch heads seq head_dim"],
    key: Float[Tensor, "batch heads seq head_dim"],
    value: Float[Tensor, "batch heads seq head_dim"],
    visible: Bool[Tensor, "batch seq seq"],
) -> tuple[Float[Tensor, "batch heads seq head_dim"], Float[Tensor, "batch heads seq seq"]]:
    """softmax(Q Kᵀ / √head_dim) V over the visible keys, and the weights that the softmax gave.

    The weight of a hidden key is exactly 0, however large its score. A query that may look at
    nothing has weights of 0 and a result of 0.
    """
    raise NotImplementedError("write attention")


def reached(visible: Bool[Tensor, "batch seq seq"], layers: int) -> Bool[Tensor, "batch seq seq"]:
    """True where the input token of the column can change the state of the row's token after so
    many layers of attention under `visible`, each with its residual connection."""
    raise NotImplementedError("write reached")
