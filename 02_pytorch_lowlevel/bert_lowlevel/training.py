"""A training step, whole or in parts, and the loop around it.

A GPU works through a queue of kernels, which the program fills ahead of it. Reading a number, for
example with `.item()`, waits until the queue is empty, and then the GPU waits for new kernels. So
all results stay on the device, and are read only when a line of metrics is due.

A step depends on the weights, the optimizer's moments and its own number alone: pairs and masks
draw from (seed, index of the example), dropout from (seed, step). So weights and moments are all
that is saved, and a run that was killed ends with the same bits as one that was not.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from bert_corpus.pairs import PairDataset
from bert_lowlevel.masking import mask_tokens
from bert_lowlevel.model import Bert, Losses, TensorBatch, logits, pretraining_losses
from bert_lowlevel.optimizer import Adam, FusedAdamW, clip_gradients
from bert_run.config import MaskingRecipe, RunSettings
from bert_run.device import mixed_precision, to_device
from bert_run.training_loop import Journal, Record, learning_rate, refuse_divergence, split_batch

EVALUATION_ROWS = 64


def part_losses(bert: Bert, part: TensorBatch, mask_count: Tensor, pair_count: int) -> Losses:
    """What a part adds to its batch's losses; the counts are the batch's. May be compiled."""
    scores = logits(bert, part)
    return pretraining_losses(scores, part, mask_count=mask_count, pair_count=pair_count)


@dataclass(frozen=True)
class Computing:
    """How a step is computed. Its gradient is the same up to rounding, apart from dropout: another
    number of rows at a time draws other masks."""

    precision: torch.dtype = torch.float32
    rows: int | None = None  # at a time, when a whole batch does not fit into memory
    losses: Callable[[Bert, TensorBatch, Tensor, int], Losses] = part_losses  # perhaps compiled


PLAIN = Computing()


def batch_gradients(
    bert: Bert, batch: TensorBatch, computing: Computing = PLAIN
) -> tuple[Losses, dict[str, Tensor]]:
    """Losses and gradients of a whole batch, one part after another.

    Every part divides by the counts of the whole, so their gradients add up to the whole's. A mean
    of the parts' means would give the masks of a part with few of them more weight.
    """
    for weight in bert.weights.values():
        weight.grad = None
    pair_count, mask_count = len(batch["input_ids"]), batch["masked_lm_weights"].sum()
    total = Losses(torch.zeros_like(mask_count), torch.zeros_like(mask_count))
    for part in split_batch(batch, computing.rows or pair_count):
        with mixed_precision(mask_count.device, computing.precision):
            losses = computing.losses(bert, part, mask_count, pair_count)
        losses.total.backward()  # adds to every `.grad`
        total = Losses(total.mlm + losses.mlm.detach(), total.nsp + losses.nsp.detach())
    return total, {name: weight.grad for name, weight in bert.weights.items()}


def training_step(
    bert: Bert, adam: Adam | FusedAdamW, batch: TensorBatch, computing: Computing = PLAIN, *,
    learning_rate: float, max_grad_norm: float, norms: list[Tensor] | None = None,
) -> Losses:  # fmt: skip
    """Gradients, clipping, one update. The losses stay on the device until somebody asks, and so
    does the gradient's norm before clipping, which is added to `norms`."""
    losses, gradients = batch_gradients(bert, batch, computing)
    norm = clip_gradients(gradients, max_grad_norm)
    if norms is not None:
        norms.append(norm)
    adam.update(bert.weights, gradients, learning_rate=learning_rate)
    return losses


@dataclass(frozen=True)
class Task:
    """What a model is trained or measured on, and how it is masked."""

    pairs: PairDataset
    mask_id: int
    ordinary_ids: Int[Tensor, "ordinary"]  # on the device
    recipe: MaskingRecipe
    seed: int

    def batch(self, first: int, size: int) -> TensorBatch:
        """Masked examples first … first + size - 1, on the device."""
        ids = self.ordinary_ids
        pairs = to_device(self.pairs.batch(np.arange(first, first + size)), ids.device)
        return mask_tokens(pairs, mask_id=self.mask_id, ordinary_ids=ids, seed=self.seed,
                           recipe=self.recipe)  # fmt: skip


@torch.no_grad()
def evaluate(
    bert: Bert, task: Task, *, examples: int, precision: torch.dtype = torch.float32
) -> Record:
    """Both losses in nats and both accuracies, over the first `examples` held-out pairs."""
    bert = replace(bert, training=False)
    sums = torch.zeros(5, dtype=torch.float64, device=task.ordinary_ids.device)
    for first in range(0, examples, EVALUATION_ROWS):
        batch = task.batch(first, min(EVALUATION_ROWS, examples - first))
        with mixed_precision(sums.device, precision):
            scores = logits(bert, batch)
            losses = pretraining_losses(scores, batch, mask_count=1.0, pair_count=1)  # sums
        weights, labels = batch["masked_lm_weights"], batch["next_sentence_labels"]
        words_right = (scores.words.argmax(-1) == batch["masked_lm_ids"]) * weights
        pairs_right = scores.pairs.argmax(-1) == labels
        sums += torch.stack([losses.mlm, words_right.sum(), weights.sum(), losses.nsp,
                             pairs_right.sum()])  # fmt: skip
    mlm, words_right, masks, nsp, pairs_right = sums.tolist()
    return {
        "heldout_mlm_loss": mlm / masks,
        "heldout_mlm_accuracy": words_right / masks,
        "heldout_nsp_loss": nsp / examples,
        "heldout_nsp_accuracy": pairs_right / examples,
    }


def mean_losses(window: list[Losses], norms: list[Tensor]) -> tuple[float, float, float]:
    """Both mean losses, and the sum of the gradients' norms, which is not finite if one of them is
    not. The one place where training waits for the device."""
    losses = torch.stack([torch.stack(both) for both in window]).mean(0)
    mlm, nsp, norm = torch.stack([*losses, torch.stack(norms).sum()]).tolist()
    return mlm, nsp, norm


def train(
    bert: Bert, adam: Adam | FusedAdamW, tasks: list[tuple[Task, Task]], settings: RunSettings,
    computing: Computing, *,
    start: int, record: Callable[[Record], None], save: Callable[[int], None],
) -> None:  # fmt: skip
    """Steps `start` … `settings.steps` - 1, which move `bert.weights` in place.

    Each of `settings.phases` has its tasks: what is trained on, and held-out text of the same
    length. `record` receives metrics as they come, `save` the number of steps done.
    """
    phases = [(phase, *pair) for phase, pair in zip(settings.phases, tasks, strict=True)]
    schedule = dict(peak=settings.adam(bert.config).learning_rate, warmup_steps=settings.warmup,
                    total_steps=settings.steps)  # fmt: skip
    bert = replace(bert, training=True)
    journal = Journal(settings, start=start, record=record)
    window: list[Losses] = []  # since the last line of metrics, on the device
    norms: list[Tensor] = []
    with journal.bar:
        for step in range(start, settings.steps):
            phase, task, heldout = next(entry for entry in phases if step < entry[0].last_step)
            torch.manual_seed(settings.seed * 1_000_003 + step)  # dropout draws from here
            batch = task.batch(phase.first_example_of(step), phase.batch_size)
            rate = learning_rate(step, **schedule)
            losses = training_step(
                bert, adam, batch, computing, learning_rate=rate,
                max_grad_norm=settings.max_grad_norm, norms=norms,
            )  # fmt: skip
            window.append(losses)
            done = step + 1
            if journal.step_done(done, tokens=phase.batch_size * phase.seq_length):
                mlm, nsp, norm = mean_losses(window, norms)
                refuse_divergence(done, rate, mlm_loss=mlm, nsp_loss=nsp, gradient_norm=norm)
                journal.write(done, rate=rate, mlm=mlm, nsp=nsp)
                window.clear()
                norms.clear()
            with journal.paused():
                if done % settings.evaluation_interval == 0 or done == settings.steps:
                    measured = evaluate(bert, heldout, examples=settings.eval_examples,
                                        precision=computing.precision)  # fmt: skip
                    journal.measured(done, measured)
                if done % settings.saving_interval == 0 or done == settings.steps:
                    save(done)
