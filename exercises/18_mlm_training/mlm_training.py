"""A pretraining run that may be killed: what it goes on with is a value, and nothing else.

A state is a dict: `weights`, Adam's moments `m` and `v` (dicts of the same names), and `step`, the
number of steps done. The data are a dict of tensors with a row for each example, masked already:
`input_ids`, `attention_mask` (examples, seq); `masked_lm_positions`, `masked_lm_ids`,
`masked_lm_weights` (examples, masks).
"""

import random

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

Tensors = dict[str, Tensor]

WORDS = "bert.embeddings.word_embeddings.weight"
POSITIONS = "bert.embeddings.position_embeddings.weight"
NORM = "bert.embeddings.LayerNorm"


def mlm_surprise(
    weights: Tensors, batch: Tensors, *, dropout: float = 0.0,
    generator: torch.Generator | None = None,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:  # fmt: skip
    """Given: the sum of the masked words' surprise, and how many masks there are.

    The model has one layer of attention without weights, in which like attends to like. `generator`
    is where the draws of dropout come from; without dropout none is needed. Leave it as it is.
    """
    own = {name: weight.clone() for name, weight in weights.items()}  # in torch's own memory

    def drop(x: Tensor) -> Tensor:
        if not dropout:
            return x
        return x * torch.empty_like(x).bernoulli_(1 - dropout, generator=generator) / (1 - dropout)

    def norm(x: Tensor) -> Tensor:
        scale, shift = own[f"{NORM}.weight"], own[f"{NORM}.bias"]
        return F.layer_norm(x, scale.shape, scale, shift, 1e-12)

    ids, visible = batch["input_ids"], batch["attention_mask"].bool()[:, None, :]
    x = drop(norm(F.embedding(ids, own[WORDS]) + own[POSITIONS][: ids.shape[1]]))
    scores = (x @ x.mT / x.shape[-1] ** 0.5).masked_fill(~visible, -torch.inf)
    x = norm(x + drop(scores.softmax(-1) @ x))
    places = batch["masked_lm_positions"][:, :, None]
    masked = x.gather(1, places.expand(-1, -1, x.shape[-1]))  # (batch, masks, hidden)
    logits = F.linear(masked, own[WORDS], own["cls.predictions.bias"])
    each = F.cross_entropy(logits.mT, batch["masked_lm_ids"], reduction="none")
    return (each * batch["masked_lm_weights"]).sum(), batch["masked_lm_weights"].sum()


def adam_step(
    weights: Tensors, gradients: Tensors, m: Tensors, v: Tensors, *, rate: float
) -> tuple[Tensors, Tensors, Tensors]:
    """Given: one step of BERT's Adam; returns new weights, m and v. Leave it as it is."""
    new: tuple[Tensors, Tensors, Tensors] = {}, {}, {}
    for name, weight in weights.items():
        g = gradients[name]
        new[1][name] = 0.9 * m[name] + 0.1 * g
        new[2][name] = 0.999 * v[name] + 0.001 * g * g
        decay = 0.0 if name.endswith("bias") or "LayerNorm" in name else 0.01
        new[0][name] = weight - rate * (new[1][name] / (new[2][name].sqrt() + 1e-6)
                                        + decay * weight)  # fmt: skip
    return new


def learning_rate(step: int, *, peak: float, warmup_steps: int, total_steps: int) -> float:
    """The rate of step 0, 1, 2, …: it rises in a straight line to `peak`, then falls to zero.

    Step 0 has peak / warmup_steps, step warmup_steps - 1 and the one after it have `peak`, and
    step total_steps would be the first of rate zero.
    """
    raise NotImplementedError("write learning_rate")


def batch_indices(
    step: int, *, seed: int, examples: int, batch_size: int
) -> Int[Tensor, "batch_size"]:
    """The examples of a step, a function of the arguments alone.

    Steps 0 … examples // batch_size - 1 are the first pass over the examples, as many steps the
    next, and so on. In a pass no example comes twice; what is left over, fewer than a batch, does
    not come. Each pass of each seed has an order of its own, drawn from all orders alike.
    """
    raise NotImplementedError("write batch_indices")


def start(weights: Tensors) -> dict:
    """The state before step 0: moments of zero."""
    raise NotImplementedError("write start")


def train(
    state: dict,
    data: Tensors,
    *,
    until: int,
    seed: int,
    batch_size: int,
    peak: float,
    warmup_steps: int,
    total_steps: int,
    dropout: float = 0.1,
) -> tuple[dict, list[float]]:
    """Steps state["step"] … until - 1; returns the new state, and the loss of each of these steps,
    before its update, as a number.

    A step's loss is the mean over the masks of its batch. Its examples, rate and dropout depend on
    the settings and on its own number alone, so that a run in parts is the run in one go, to the
    bit. A state that has come to `until` already is returned as it is, with no losses.
    """
    raise NotImplementedError("write train")


def evaluate(weights: Tensors, data: Tensors, *, batch_size: int) -> float:
    """The mean loss over all masks of the data, without dropout, `batch_size` examples at a time:
    every example once, the last batch perhaps smaller. A batch may have no mask."""
    raise NotImplementedError("write evaluate")
