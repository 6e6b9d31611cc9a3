"""What a CPU computes faster by another road than torch's own; the mathematics is the same.

On a GPU torch's kernels are the fast ones, and there they are used.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

RANDOM_BITS = 16  # that settle whether a number stays


def dropout_mask(shape: torch.Size, prob: float) -> Bool[Tensor, "*shape"]:
    """Which numbers dropout leaves, each with probability 1 - `prob`, to the nearest 1/65,536.

    One draw of the generator settles four numbers, not one: 11 to 14 ms for 32,768 × 256 numbers,
    where `bernoulli_` takes 53.
    """
    count = math.prod(shape)
    draws = torch.empty(math.ceil(count / 4), dtype=torch.int64).random_(-(2**63), None)
    bits = draws.view(torch.int16)[:count].view(shape)  # -32,768 … 32,767, any as likely
    return bits >= round(prob * 2**RANDOM_BITS) - 2 ** (RANDOM_BITS - 1)


@torch.library.custom_op("bert_paper::draw_mask_", mutates_args={"mask"})
def draw_mask_(mask: Tensor, prob: float) -> None:
    """`dropout_mask` for `torch.compile`, which calls an operation of ours as it stands. One that
    writes is neither joined with another that looks alike nor called again in the backward pass."""
    mask.copy_(dropout_mask(mask.shape, prob))


def dropout(x: Float[Tensor, "*shape"], prob: float) -> Float[Tensor, "*shape"]:
    """Zeros with probability `prob`, the rest scaled so that the mean stays."""
    if prob == 0 or x.device.type != "cpu":
        return F.dropout(x, prob)
    if torch.compiler.is_compiling():
        mask = torch.empty(x.shape, dtype=torch.bool)
        draw_mask_(mask, prob)
        return x * mask * (1 / (1 - prob))
    return x * dropout_mask(x.shape, prob).to(x.dtype).mul_(1 / (1 - prob))


class Dropout(nn.Dropout):
    """`nn.Dropout` by `dropout`."""

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return dropout(x, self.p) if self.training else x


def attention(
    query: Float[Tensor, "batch heads seq head_dim"],
    key: Float[Tensor, "batch heads seq head_dim"],
    value: Float[Tensor, "batch heads seq head_dim"],
    mask: Bool[Tensor, "#batch 1 #seq seq"] | None,
    prob: float,
) -> Float[Tensor, "batch heads seq head_dim"]:
    """softmax(query · keyᵀ / √head_dim) · value, with dropout of the weights.

    `F.scaled_dot_product_attention`, except where the formula as it stands is faster on a CPU: with
    dropout, and in bfloat16. Batch 64, 2 heads, length 128, forward and backward: 17 ms against 33,
    in bfloat16 11 against 33.
    """
    as_it_stands = query.device.type == "cpu" and (prob > 0 or query.dtype == torch.bfloat16)
    if not as_it_stands:
        return F.scaled_dot_product_attention(query, key, value, mask, prob)
    scores = query / math.sqrt(query.shape[-1]) @ key.mT
    if mask is not None:  # added, so that the backward pass has nothing to do for it
        scores = scores + torch.zeros_like(mask, dtype=scores.dtype).masked_fill_(~mask, -1e30)
    return dropout(scores.softmax(-1), prob) @ value
