"""Two losses in one, of a batch that comes in parts: the gradient must be that of the whole."""

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
    mean = vectors.mean(dim=1, keepdim=True)
    states = torch.tanh(vectors + mean)
    places = batch["masked_lm_positions"][:, :, None].expand(-1, -1, states.shape[-1])
    words = F.linear(states.gather(1, places), weights[WORDS], weights["cls.predictions.bias"])
    head = "cls.seq_relationship"
    return words, F.linear(mean[:, 0], weights[f"{head}.weight"], weights[f"{head}.bias"])


def joint_loss(
    mlm_logits: Float[Tensor, "batch masks vocab"],
    nsp_logits: Float[Tensor, "batch 2"],
    batch: Batch,
    *,
    mask_count: Float[Tensor, ""] | float | None = None,
    pair_count: int | None = None,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Both losses, MLM and NSP: sums over this batch, divided by the counts.

    Of `batch` it reads `masked_lm_ids` and `masked_lm_weights` (batch, masks), and
    `next_sentence_labels` (batch,). `mask_count` and `pair_count` are those of the whole batch when
    this is a part of it; without them they are this batch's own: the sum of the weights, the number
    of rows.
    """
    raise NotImplementedError("write joint_loss")


def split_batch(batch: Batch, rows: int) -> list[Batch]:
    """The batch in parts of so many rows, in order; the last may be smaller. Every array of the
    batch is split."""
    raise NotImplementedError("write split_batch")


def accumulated_gradients(
    weights: Weights, batch: Batch, rows: int
) -> tuple[Float[Tensor, "parts 2"], Weights]:
    """What each part of `rows` rows adds to both losses (MLM, NSP) of the batch; and the gradient
    of their sum, the batch's whole loss, for every weight.

    One part after another: forward, backward, forget.
    """
    raise NotImplementedError("write accumulated_gradients")


def rank_gradients(
    weights: Weights, part: Batch, *, mask_count: float, pair_count: int, ranks: int
) -> Weights:
    """The gradients that one of `ranks` machines hands in for its part of a batch, whose counts are
    given. The machines take the *mean* of what is handed in, and it must be the gradient of the
    whole batch."""
    raise NotImplementedError("write rank_gradients")
