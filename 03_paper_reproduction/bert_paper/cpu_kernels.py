"""What a CPU computes faster in another way than torch's own: dropout from fewer random draws,
attention from its formula, and the MLM loss without all logits at once (`word_loss`).

`use_cpu_kernels(model)` switches it on. How much each brings: results/without_each.md.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from bert_paper.model import BertForPreTraining, BertSelfAttention, Heads, Losses, gather_positions

Mask = Bool[Tensor, "#batch 1 #seq seq"]
RANDOM_BITS = 16  # that decide whether a number is kept


def dropout_mask(shape: torch.Size, prob: float) -> Bool[Tensor, "*shape"]:
    """Which numbers dropout keeps, each with probability 1 - `prob`, to the nearest 1/65,536. One
    draw of the generator decides about four numbers; `bernoulli_` takes a draw for each."""
    count = math.prod(shape)
    draws = torch.empty(math.ceil(count / 4), dtype=torch.int64).random_(-(2**63), None)
    bits = draws.view(torch.int16)[:count].view(shape)  # -32,768 … 32,767, any as likely
    return bits >= min(round(prob * 2**RANDOM_BITS), 2**RANDOM_BITS - 1) - 2 ** (RANDOM_BITS - 1)


@torch.library.custom_op("bert_paper::draw_mask_", mutates_args={"mask"})
def draw_mask_(mask: Tensor, prob: float) -> None:
    """`dropout_mask` for `torch.compile`, as a custom operation. As it mutates its argument, it is
    neither merged with an identical call nor recomputed in the backward pass."""
    mask.copy_(dropout_mask(mask.shape, prob))


def dropout(x: Float[Tensor, "*shape"], prob: float) -> Float[Tensor, "*shape"]:
    """Zeros with probability `prob`, the rest scaled so that the mean stays."""
    if prob == 0:
        return x
    if torch.compiler.is_compiling():
        mask = torch.empty(x.shape, dtype=torch.bool)
        draw_mask_(mask, prob)
        return x * mask * (1 / (1 - prob))
    return x * dropout_mask(x.shape, prob).to(x.dtype).mul_(1 / (1 - prob))


def attention(query: Heads, key: Heads, value: Heads, mask: Mask | None, prob: float) -> Heads:
    """`F.scaled_dot_product_attention`, except where the formula as it stands is faster on a CPU:
    with dropout, and in bfloat16."""
    if prob == 0 and query.dtype != torch.bfloat16:
        return F.scaled_dot_product_attention(query, key, value, mask)
    scores = query / math.sqrt(query.shape[-1]) @ key.mT
    if mask is not None:  # added, so that the backward pass has nothing to do for it
        scores = scores + torch.zeros_like(mask, dtype=scores.dtype).masked_fill_(~mask, -1e30)
    return dropout(scores.softmax(-1), prob) @ value


class CpuDropout(nn.Dropout):
    """`nn.Dropout` by `dropout`."""

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return dropout(x, self.p) if self.training else x


class CpuSelfAttention(BertSelfAttention):
    """`BertSelfAttention` by `attention`."""

    def attend(self, query: Heads, key: Heads, value: Heads, mask: Mask | None) -> Heads:
        return attention(query, key, value, mask, self.dropout_prob if self.training else 0.0)


class CpuForPreTraining(BertForPreTraining):
    """`BertForPreTraining` by `word_loss`: its loss never holds all logits where they are large."""

    def loss(self, batch: dict[str, Tensor], *, mask_count: Tensor | float | None = None,
             pair_count: int | None = None) -> Losses:  # fmt: skip
        output = self.bert(batch["input_ids"], batch["token_type_ids"], batch["attention_mask"])
        masked = gather_positions(output.last_hidden_state, batch["masked_lm_positions"])
        head, weights = self.cls.predictions, batch["masked_lm_weights"]
        labels = batch["next_sentence_labels"]
        x = head.transform.LayerNorm(head.transform(masked)).flatten(0, 1)  # (masks, hidden)
        table = self.bert.embeddings.word_embeddings.weight
        mlm = word_loss(x, table, head.bias, batch["masked_lm_ids"].flatten(), weights.flatten())
        nsp = F.cross_entropy(self.cls.seq_relationship(output.pooled), labels, reduction="sum")
        return Losses(
            mlm=mlm / (weights.sum() if mask_count is None else mask_count),
            nsp=nsp / (len(labels) if pair_count is None else pair_count),
        )


# Each takes the place of the class that it extends.
KERNELS = {cpu.__base__: cpu for cpu in (CpuDropout, CpuSelfAttention, CpuForPreTraining)}


def use_cpu_kernels(model: nn.Module) -> None:
    """Give the parts of a model that is on a CPU the classes above. Its parameters, their names and
    the results stay, apart from rounding and from which numbers dropout draws.

    Call it before the model is compiled or spread over ranks.
    """
    if next(model.parameters()).device.type == "cpu":
        for module in model.modules():
            module.__class__ = KERNELS.get(type(module), type(module))


# The loss of the masked words, without their logits where these are large.
#
# The logits of a step are its largest array: 5,120 masks × 20,256 words in float32 are 415 MB. But
# no row depends on another. So loss and gradient are computed some rows at a time, in the same
# memory; the backward pass only multiplies by what comes from above, as in Liger Kernel (Hsu et al.
# 2024, arXiv 2410.10989). What that brings: results/word_loss.md.

BLOCK_ROWS = 512
LARGE = 2**21  # logits: 8 MiB in float32


def word_loss(
    x: Float[Tensor, "masks hidden"],
    word_embeddings: Float[Tensor, "vocab hidden"],
    bias: Float[Tensor, "vocab"],
    words: Int[Tensor, "masks"],
    weights: Float[Tensor, "masks"],
) -> Float[Tensor, ""]:
    """Σ weight · -log softmax(x · word_embeddingsᵀ + bias)[word], in nats; in blocks where the
    logits are large, on a CPU, unless torch compiles, which fuses by itself."""
    large = len(x) * len(word_embeddings) > LARGE
    if large and x.device.type == "cpu" and not torch.compiler.is_compiling():
        precision = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else x.dtype
        with torch.autocast("cpu", enabled=False):
            return WordLossInBlocks.apply(x, word_embeddings, bias, words, weights, precision)
    logits = F.linear(x, word_embeddings, bias)
    return (F.cross_entropy(logits, words, reduction="none") * weights).sum()


class WordLossInBlocks(torch.autograd.Function):
    """The gradients are computed along with the loss: they are small, the logits are not.

    Of one row with logits z, word w and weight c:  d loss / d z = c · (softmax(z) - onehot(w)).
    """

    @staticmethod
    def forward(ctx, x, word_embeddings, bias, words, weights, precision):
        """`precision` is that of the products; sums are taken in that of the weights."""
        states, matrix, offsets = (each.to(precision) for each in (x, word_embeddings, bias))
        weights = weights.to(bias.dtype)[:, None]  # (masks, 1)
        scales, scaled = weights.to(precision), (weights * x).to(precision)
        d_x, d_matrix, d_bias = map(torch.zeros_like, (x, word_embeddings, bias))
        loss = torch.zeros_like(bias[0])
        for first in range(0, len(x), BLOCK_ROWS):
            rows = slice(first, first + BLOCK_ROWS)
            word, weight = words[rows, None], weights[rows]
            logits = F.linear(states[rows], matrix, offsets)
            probs = logits.softmax(-1, dtype=bias.dtype)
            loss += (weight * negative_log_likelihood(probs, logits, word)).sum()
            error = probs.scatter_add_(-1, word, -torch.ones_like(weight)).to(precision)
            d_x[rows] = weight * (error @ matrix)
            d_bias += (scales[rows].T @ error)[0]
            if d_matrix.dtype == precision:
                d_matrix.addmm_(error.T, scaled[rows])  # in one go
            else:
                d_matrix += error.T @ scaled[rows]
        ctx.save_for_backward(d_x, d_matrix, d_bias)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx, upstream):
        return *(upstream * gradient for gradient in ctx.saved_tensors), None, None, None


def negative_log_likelihood(probs: Tensor, logits: Tensor, word: Tensor) -> Float[Tensor, "rows 1"]:
    """-log of each row's probability of its word; from the logits where that has come out as 0."""
    found = -probs.gather(-1, word).log()
    if found.isinf().any():
        found = -logits.log_softmax(-1, dtype=probs.dtype).gather(-1, word)
    return found
