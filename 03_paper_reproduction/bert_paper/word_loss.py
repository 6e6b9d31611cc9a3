"""The loss of the masked words, without their logits where these are large.

The logits of a step are its largest array: 5,120 masks × 20,256 words in float32 are 415 MB. The
logarithms of their softmax are as large, their gradient is, and each is written to memory once and
read once. But no row needs another one. So some rows' logits are computed, their loss and their
gradient taken, and their memory serves the next rows; what is left for the backward pass is to
multiply by what comes from above. What that brings: results/word_loss.md. The idea is that of Liger
Kernel's fused linear cross-entropy (Hsu et al. 2024, arXiv 2410.10989), here in torch's own
operations.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

BLOCK_ROWS = 512
LARGE = 2**23  # logits: 32 MiB in float32


def word_loss(
    x: Float[Tensor, "masks hidden"],
    word_embeddings: Float[Tensor, "vocab hidden"],
    bias: Float[Tensor, "vocab"],
    words: Int[Tensor, "masks"],
    weights: Float[Tensor, "masks"],
) -> Float[Tensor, ""]:
    """Σ weight · -log softmax(x · word_embeddingsᵀ + bias)[word], in nats.

    In blocks where the logits are large, on a CPU. One that compiles fuses by itself, and on a GPU
    this is not measured.
    """
    large = len(x) * len(word_embeddings) > LARGE
    if large and x.device.type == "cpu" and not torch.compiler.is_compiling():
        precision = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else x.dtype
        with torch.autocast("cpu", enabled=False):
            return WordLossInBlocks.apply(x, word_embeddings, bias, words, weights, precision)
    return weighted_cross_entropy(F.linear(x, word_embeddings, bias), words, weights)


def weighted_cross_entropy(
    logits: Float[Tensor, "masks vocab"],
    words: Int[Tensor, "masks"],
    weights: Float[Tensor, "masks"],
) -> Float[Tensor, ""]:
    """Σ weight · -log softmax(logits)[word], in nats."""
    return (F.cross_entropy(logits, words, reduction="none") * weights).sum()


class WordLossInBlocks(torch.autograd.Function):
    """The gradients are computed along with the loss: they are small, the logits are not.

    Of one row with logits z, word w and weight c:  d loss / d z = c · (softmax(z) - onehot(w)).
    """

    @staticmethod
    def forward(ctx, x, word_embeddings, bias, words, weights, precision):
        """`precision` is that of the products; sums are taken in that of the weights."""
        x, matrix = x.to(precision), word_embeddings.to(precision)
        loss, weights = torch.zeros_like(bias[0]), weights.to(bias.dtype)
        d_x, d_matrix, d_bias = map(torch.zeros_like, (x, word_embeddings, bias))
        for first in range(0, len(x), BLOCK_ROWS):
            rows = slice(first, first + BLOCK_ROWS)
            word, weight = words[rows, None], weights[rows, None]  # (rows, 1)
            logits = F.linear(x[rows], matrix, bias.to(precision))
            log_probs = logits.log_softmax(-1, dtype=bias.dtype)
            loss -= (weight * log_probs.gather(-1, word)).sum()
            error = log_probs.exp_().scatter_add_(-1, word, -torch.ones_like(weight))
            d_bias.addmv_(error.T, weight[:, 0])
            error = error.to(precision)
            d_x[rows] = weight * (error @ matrix)
            add_product(d_matrix, error.T, (weight * x[rows]).to(precision))
        ctx.save_for_backward(d_x, d_matrix, d_bias)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx, upstream):
        return *(upstream * gradient for gradient in ctx.saved_tensors), None, None, None


def add_product(total: Tensor, a: Tensor, b: Tensor) -> None:
    """total += a @ b, in one go where the precisions are the same."""
    if total.dtype == a.dtype:
        total.addmm_(a, b)
    else:
        total += a @ b
