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


# begin solution
def generator_for(use: str) -> torch.Generator:
    """A generator of its own for each use, which is named with all that it depends on.

    seed + number would not do: the second step of one seed would be the first of the next.
    """
    return torch.Generator().manual_seed(random.Random(use).getrandbits(64))


# end solution
def learning_rate(step: int, *, peak: float, warmup_steps: int, total_steps: int) -> float:
    """The rate of step 0, 1, 2, …: it rises in a straight line to `peak`, then falls to zero.

    Step 0 has peak / warmup_steps, step warmup_steps - 1 and the one after it have `peak`, and
    step total_steps would be the first of rate zero.
    """
    # begin solution
    if step < warmup_steps:
        return peak * (step + 1) / warmup_steps  # + 1: a first step of rate 0 would be wasted
    return peak * (total_steps - step) / (total_steps - warmup_steps)
    # end solution


def batch_indices(
    step: int, *, seed: int, examples: int, batch_size: int
) -> Int[Tensor, "batch_size"]:
    """The examples of a step, a function of the arguments alone.

    Steps 0 … examples // batch_size - 1 are the first pass over the examples, as many steps the
    next, and so on. In a pass no example comes twice; what is left over, fewer than a batch, does
    not come. Each pass of each seed has an order of its own, drawn from all orders alike.
    """
    # begin solution
    # Which pass, and where in it, follows from the step: nothing needs to be remembered. An
    # iterator, as DataLoader has it, would have to be wound forward at each start.
    number, place = divmod(step, examples // batch_size)
    generator = generator_for(f"the order of pass {number} of seed {seed}")
    return torch.randperm(examples, generator=generator).split(batch_size)[place]
    # end solution


def start(weights: Tensors) -> dict:
    """The state before step 0: moments of zero."""
    # begin solution
    # Each its own zeros: shared ones would be one tensor under many names.
    m, v = ({name: torch.zeros_like(w) for name, w in weights.items()} for _ in range(2))
    return {"weights": weights, "m": m, "v": v, "step": 0}
    # end solution


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
    # begin solution
    losses = []
    for step in range(state["step"], until):  # the number counts on; so do rate, order and dropout
        rows = batch_indices(
            step, seed=seed, examples=len(data["input_ids"]), batch_size=batch_size
        )
        batch = {key: tensor[rows] for key, tensor in data.items()}
        # New leaves at each step: nothing of the step before is left in any .grad.
        leaves = {name: torch.nn.Parameter(w) for name, w in state["weights"].items()}
        # A generator for this step, made here. One made before the loop would be at another place
        # after a restart, and the global one belongs to everybody.
        generator = generator_for(f"the dropout of step {step} of seed {seed}")
        surprise, masks = mlm_surprise(leaves, batch, dropout=dropout, generator=generator)
        loss = surprise / masks
        loss.backward()
        gradients = {name: leaf.grad for name, leaf in leaves.items()}
        rate = learning_rate(step, peak=peak, warmup_steps=warmup_steps, total_steps=total_steps)
        weights, m, v = adam_step(state["weights"], gradients, state["m"], state["v"], rate=rate)
        losses.append(loss.item())  # the tensor would keep its whole graph alive
        # A new dict: whoever kept the old state, to go back to, still has it.
        state = {"weights": weights, "m": m, "v": v, "step": step + 1}
    return state, losses
    # end solution


def evaluate(weights: Tensors, data: Tensors, *, batch_size: int) -> float:
    """The mean loss over all masks of the data, without dropout, `batch_size` examples at a time:
    every example once, the last batch perhaps smaller. A batch may have no mask."""
    # begin solution
    surprise = masks = 0.0
    for first in range(0, len(data["input_ids"]), batch_size):
        batch = {name: tensor[first : first + batch_size] for name, tensor in data.items()}
        of_batch, count = mlm_surprise(weights, batch)
        surprise, masks = surprise + of_batch.item(), masks + count.item()
    return surprise / masks  # not the mean of the batches' means: their masks differ in number
    # end solution


# begin solution
# Wrong answers that are common:
# - a loop that counts from 0 at each call: the warm-up, the order of the data and dropout begin
#   anew, and the first texts are seen more often than the last;
# - the moments not saved: Adam takes its large first steps again, and the loss jumps;
# - one generator before the loop, or torch.manual_seed at the start: right until the first kill;
# - a shuffle once, for all passes;
# - the state changed in place: whoever kept it to go back to finds the newer one.
# end solution
