"""Eight pieces of a BERT, taken from mistakes that real repositories make. Mend each.

The docstrings are right. All pieces run, and all of them let a model train: only worse.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor


def embed(
    input_ids: Int[Tensor, "batch seq"],
    token_type_ids: Int[Tensor, "batch seq"],
    weights: dict[str, Tensor],
    *,
    eps: float = 1e-12,
) -> Float[Tensor, "batch seq hidden"]:
    """Word + position + segment, then layer norm (figure 2; Ba et al. 2016, equation 4).

    `weights` holds the tables `word`, `position`, `segment` (entries, hidden), and `norm.weight`
    and `norm.bias` (hidden,). The variance divides by hidden; `eps` is added to the variance.
    """
    words, segments = weights["word"][input_ids], weights["segment"][torch.zeros_like(input_ids)]
    x = words + weights["position"][: input_ids.shape[1]] + segments
    x = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + eps)
    return weights["norm.weight"] * x + weights["norm.bias"]


def pretraining_losses(
    word_logits: Float[Tensor, "batch masks vocab"],
    word_ids: Int[Tensor, "batch masks"],
    word_weights: Float[Tensor, "batch masks"],
    pair_logits: Float[Tensor, "batch 2"],
    pair_labels: Int[Tensor, "batch"],
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """The loss of the masked words, and that of next sentence (label 0 = IsNext).

    A slot counts if its weight is 1, whatever its id, and does not if it is 0: the first loss is
    the mean over the slots that count. The second is the mean over all pairs.
    """
    criterion = torch.nn.CrossEntropyLoss(ignore_index=0)
    words = criterion(word_logits.flatten(0, 1), word_ids.flatten())
    words = (words * word_weights).sum() / word_weights.sum()
    return words, criterion(pair_logits, pair_labels)


def accumulated_gradient(
    weight: Float[Tensor, "vocab hidden"], micro_batches: list[tuple[Tensor, Tensor]]
) -> Float[Tensor, "vocab hidden"]:
    """The gradient, for `weight`, of the mean cross-entropy over all labels of a batch that is
    read in several parts: the same as if it had been read at once.

    A part is (x, labels), of shapes (tokens, hidden) and (tokens,); the logits are x weightᵀ, and a
    label of -100 does not count. A part may have no label that counts; the whole batch has one.
    """
    weight = weight.detach().clone().requires_grad_()
    for x, labels in micro_batches:
        loss = F.cross_entropy(F.linear(x, weight), labels) / len(micro_batches)
        loss.backward()
    return weight.grad


def initial_weights(
    shapes: dict[str, tuple[int, ...]], generator: torch.Generator
) -> dict[str, Tensor]:
    """First values, float32, for parameters of these names and shapes.

    Biases are 0, the weights of layer norms 1. All else, embeddings too, is drawn from `generator`:
    normal with mean 0 and deviation 0.02, where draws beyond two deviations are drawn again.
    """
    weights = {}
    for name, shape in shapes.items():
        if name.endswith("bias"):
            weights[name] = torch.zeros(shape)
        elif "LayerNorm" in name:
            weights[name] = torch.ones(shape)
        elif "embeddings" in name:
            weights[name] = torch.randn(shape, generator=generator)
        else:
            weights[name] = torch.nn.init.trunc_normal_(
                torch.empty(shape), std=0.02, generator=generator
            )
    return weights


def update(
    weights: dict[str, Tensor],
    gradients: dict[str, Tensor],
    *,
    learning_rate: float,
    weight_decay: float,
    max_norm: float,
) -> dict[str, Tensor]:
    """The weights after w ← w - learning_rate · (g + weight_decay · w).

    First all gradients are scaled by one factor, if need be, so that their common norm is at most
    `max_norm`. Biases and layer norms are not decayed, embeddings are. Names are those of
    `transformers`.
    """
    updated = {}
    for name, weight in weights.items():
        norm = gradients[name].norm()
        gradient = gradients[name] * (max_norm / torch.clamp(norm, min=max_norm))
        no_decay = any(part in name for part in ("bias", "gamma", "beta"))
        decay = 0.0 if no_decay else weight_decay
        updated[name] = weight - learning_rate * (gradient + decay * weight)
    return updated


def mask_tokens(
    input_ids: Int[Tensor, "batch seq"],
    generator: torch.Generator,
    *,
    mask_id: int,
    special_ids: Int[Tensor, "specials"],
    ordinary_ids: Int[Tensor, "ordinary"],
    rate: float = 0.15,
) -> tuple[Int[Tensor, "batch seq"], Int[Tensor, "batch seq"]]:
    """What the model sees, and the labels (section 3.1).

    Each token is selected with probability `rate`, unless its id is among `special_ids`. Of those
    selected, 80% become `mask_id`, 10% one of `ordinary_ids`, 10% stay as they are: each token's
    draws are its own. The label is the id that stood there, -100 where nothing is selected.
    """
    selected = torch.rand(input_ids.shape, generator=generator) < rate
    labels = torch.where(selected, input_ids, -100)
    is_random = torch.rand(input_ids.shape, generator=generator) < 0.1
    unchanged = torch.rand(input_ids.shape, generator=generator) < 0.1
    place = torch.randint(len(ordinary_ids), input_ids.shape, generator=generator)
    shown = torch.where(selected, mask_id, input_ids)
    shown = torch.where(selected & is_random, ordinary_ids[place], shown)
    return torch.where(unchanged, input_ids, shown), labels


def batches(start: int, stop: int, *, examples: int, batch_size: int, seed: int) -> list[list[int]]:
    """The numbers of the examples of steps start, start + 1, … stop - 1 of a run.

    A step reads `batch_size` of the `examples`. An epoch has `examples // batch_size` steps, none
    of which reads an example that another has read. Each epoch has an order of its own, drawn from
    `seed`; no epoch of another seed has the same. A run that was interrupted at step 70 calls
    `batches(70, …)`, and reads what it would have read.
    """
    steps = examples // batch_size
    generator = torch.Generator().manual_seed(seed)
    found = []
    for step in range(start, stop):
        place = (step - start) % steps
        if place == 0:
            order = torch.randperm(examples, generator=generator)
        found.append(order[place * batch_size : (place + 1) * batch_size].tolist())
    return found


def collate(pairs: list[dict], *, cls_id: int, sep_id: int, pad_id: int) -> dict[str, Tensor]:
    """Pairs {"a": ids, "b": ids, "is_next": bool} as a batch, padded to the longest.

    A row is `[CLS] A [SEP] B [SEP]`. Segment ids (`token_type_ids`) are 1 on `B [SEP]`, else 0,
    also on padding. `attention_mask` is 1 on tokens, 0 on padding. `next_sentence_labels` are 0
    where B is the next sentence, 1 where it is a random one. All are int64.
    """
    rows = [[cls_id, *pair["a"], sep_id, *pair["b"], sep_id] for pair in pairs]
    longest = max(len(row) for row in rows)
    input_ids = torch.tensor([row + [pad_id] * (longest - len(row)) for row in rows])
    return {
        "input_ids": input_ids,
        "token_type_ids": torch.zeros_like(input_ids),
        "attention_mask": torch.ones_like(input_ids),
        "next_sentence_labels": torch.tensor([int(pair["is_next"]) for pair in pairs]),
    }
