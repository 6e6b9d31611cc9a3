"""Two losses in one, of a batch that comes in parts: the gradient must be that of the whole."""

import weakref

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

Batch = dict[str, Tensor]
Weights = dict[str, Tensor]

WORDS = "bert.embeddings.word_embeddings.weight"


def small_bert(
    weights: Weights, batch: Batch
) -> tuple[Float[Tensor, "batch masks vocab"], Float[Tensor, "batch 2"]]:
    """Given: the logits of both tasks, of a model that fits into eight lines. Leave it as it is."""
    vectors = F.embedding(batch["input_ids"], weights[WORDS])  # (batch, seq, hidden)
    mean = vectors.mean(dim=1)
    states = torch.tanh(vectors + mean[:, None])
    places = batch["masked_lm_positions"][:, :, None]
    masked = states.gather(1, places.expand(-1, -1, states.shape[-1]))  # (batch, masks, hidden)
    words = F.linear(masked, weights[WORDS], weights["cls.predictions.bias"])
    head = "cls.seq_relationship"
    return words, F.linear(mean, weights[f"{head}.weight"], weights[f"{head}.bias"])


class Kept:
    """Given: a tensor that autograd keeps until a backward has used it."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor.detach()  # with its graph it would keep itself alive


class Memory(torch.autograd.graph.saved_tensors_hooks):
    """Given: counts the numbers that autograd keeps for a backward; `most` is the largest count."""

    def __init__(self) -> None:
        super().__init__(self.keep, lambda kept: kept.tensor)
        self.alive: weakref.WeakSet[Kept] = weakref.WeakSet()
        self.most = 0

    def keep(self, tensor: Tensor) -> Kept:
        kept = Kept(tensor)
        self.alive.add(kept)
        self.most = max(self.most, sum(other.tensor.numel() for other in self.alive))
        return kept


def most_kept(weights: Weights, batch: Batch, rows: int) -> int:
    """Given: how many numbers autograd keeps for a backward at one time, at most, while
    `accumulated_gradients` runs. Leave it as it is."""
    memory = Memory()
    with memory:
        accumulated_gradients(weights, batch, rows)
    return memory.most


def joint_loss(
    mlm_logits: Float[Tensor, "batch masks vocab"],
    nsp_logits: Float[Tensor, "batch 2"],
    batch: Batch,
    *,
    mask_count: Tensor | float | None = None,
    pair_count: Tensor | int | None = None,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Both losses, MLM and NSP: sums over this batch, divided by the counts.

    Of `batch` it reads `masked_lm_ids` and `masked_lm_weights` (batch, masks), and
    `next_sentence_labels` (batch,). `mask_count` and `pair_count` are those of the whole batch when
    this is a part of it; without them they are this batch's own: the sum of the weights, the number
    of rows.
    """
    raise NotImplementedError("write joint_loss")


def split_batch(batch: Batch, rows: int) -> list[Batch]:
    """The batch in parts of `rows` rows, in order; the last may be smaller. Every array of the
    batch is split."""
    raise NotImplementedError("write split_batch")


def accumulated_gradients(
    weights: Weights, batch: Batch, rows: int
) -> tuple[Float[Tensor, "parts 2"], Weights]:
    """What each part of `rows` rows adds to both losses (MLM, NSP) of the batch; and the gradient
    of their sum, the batch's whole loss, for every weight.

    One part at a time: forward, backward, forget. The gradients come from autograd, which never
    keeps the activations of many parts. Nothing that is returned requires a gradient.
    """
    raise NotImplementedError("write accumulated_gradients")


def rank_gradients(
    weights: Weights,
    part: Batch,
    *,
    mask_count: Tensor | float,
    pair_count: Tensor | int,
    ranks: int,
) -> Weights:
    """The gradients that one of `ranks` machines hands in for its part of a batch. `mask_count` and
    `pair_count` are the counts of the whole batch. The machines take the *mean* of what is handed
    in, and this mean must be the gradient of the whole batch."""
    raise NotImplementedError("write rank_gradients")
