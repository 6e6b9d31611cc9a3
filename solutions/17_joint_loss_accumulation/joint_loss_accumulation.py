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
    # begin solution
    weights, pairs = batch["masked_lm_weights"], batch["next_sentence_labels"]
    mask_count = weights.sum() if mask_count is None else mask_count
    pair_count = len(pairs) if pair_count is None else pair_count
    # reduction="none" keeps a surprise for each slot. The default, the mean, has mixed the empty
    # slots in before a weight can take them out.
    surprise = F.cross_entropy(
        mlm_logits.flatten(0, 1), batch["masked_lm_ids"].flatten(), reduction="none"
    )
    mlm = (surprise * weights.flatten()).sum() / mask_count
    # A loss of its own, without ignore_index: 0 means IsNext here, and is learned like 1.
    nsp = F.cross_entropy(nsp_logits, pairs, reduction="sum") / pair_count
    return mlm, nsp
    # end solution


def split_batch(batch: Batch, rows: int) -> list[Batch]:
    """The batch in parts of `rows` rows, in order; the last may be smaller. Every array of the
    batch is split."""
    # begin solution
    size = len(batch["input_ids"])
    return [
        {name: tensor[first : first + rows] for name, tensor in batch.items()}
        for first in range(0, size, rows)
    ]
    # end solution


def accumulated_gradients(
    weights: Weights, batch: Batch, rows: int
) -> tuple[Float[Tensor, "parts 2"], Weights]:
    """What each part of `rows` rows adds to both losses (MLM, NSP) of the batch; and the gradient
    of their sum, the batch's whole loss, for every weight.

    One part at a time: forward, backward, forget. The gradients come from autograd, which never
    keeps the activations of many parts. Nothing that is returned requires a gradient.
    """
    # begin solution
    # A Parameter shares the numbers of the weight, but has a .grad of its own.
    leaves = {name: torch.nn.Parameter(weight) for name, weight in weights.items()}
    # The counts of the whole, before the first part: each part divides by them, and so the parts'
    # losses and gradients simply add up. A mean of the parts' means would give a mask in a part
    # with few of them more weight than one in a part with many.
    mask_count, pair_count = batch["masked_lm_weights"].sum(), len(batch["input_ids"])
    added = []
    for part in split_batch(batch, rows):
        mlm, nsp = joint_loss(
            *small_bert(leaves, part), part, mask_count=mask_count, pair_count=pair_count
        )
        (mlm + nsp).backward()  # adds to every .grad, and frees the part's activations
        added.append(torch.stack([mlm, nsp]).detach())  # the numbers, without the graph behind them
    return torch.stack(added), {name: leaf.grad for name, leaf in leaves.items()}
    # end solution


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
    # begin solution
    leaves = {name: torch.nn.Parameter(weight) for name, weight in weights.items()}
    mlm, nsp = joint_loss(
        *small_bert(leaves, part), part, mask_count=mask_count, pair_count=pair_count
    )
    # The mean divides the sum by the number of machines: multiplying here leaves the sum.
    ((mlm + nsp) * ranks).backward()
    return {name: leaf.grad for name, leaf in leaves.items()}
    # end solution


# begin solution
# Wrong answers that are common, each taken from a published repository:
# - one CrossEntropyLoss(ignore_index=0) for both: IsNext never teaches, and NSP learns to say 1;
# - F.cross_entropy(...) * weights: the mean of all slots, multiplied by something; no mask at all;
# - divided by the slots: the loss sinks when examples are short, and nothing was learned;
# - each part divided by its own masks, then by the number of parts. It is right when all parts have
#   equally many masks, so a test with a full batch does not see it.
# end solution
