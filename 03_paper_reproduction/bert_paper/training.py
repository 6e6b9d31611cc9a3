"""The training loop: batches in, checkpoints and a curve out, on one device or on many.

A step is a function of the weights, the optimizer's moments and its own number: pairs and masks
draw from (seed, index of the example), dropout from (seed, step). So weights and moments are all
that is saved, and a run that was killed ends with the same bits as one that was not.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Literal, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Int64
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from bert_corpus.pairs import Batch, PairDataset
from bert_paper.masking import MaskingVocabulary, MaskUnit, mask_tokens, next_tokens
from bert_paper.model import PRETRAINING_INPUTS, BertForPreTraining, Losses
from bert_paper.optimizer import clip_gradients
from bert_run.config import MaskingRecipe, Phase, RunSettings
from bert_run.device import Ranks, mixed_precision, to_device
from bert_run.training_loop import (
    Journal,
    Record,
    StopRequest,
    learning_rate,
    refuse_divergence,
    split_batch,
)

TensorBatch = dict[str, Tensor]
ALONE = Ranks()
EVALUATION_ROWS = 64


@dataclass(frozen=True)
class Task:
    """What a model is trained or measured on, and what it is asked."""

    dataset: PairDataset
    vocabulary: MaskingVocabulary
    recipe: MaskingRecipe
    seed: int
    device: torch.device
    precision: torch.dtype
    mask_unit: MaskUnit = "token"
    causal: bool = False
    has_sentence_task: bool = True
    examples: int | None = None  # so many, then the same again; None: new ones without end

    def pairs(self, indices: Int64[np.ndarray, "batch"]) -> Batch:
        """The examples of these indices, still NumPy arrays."""
        return self.dataset.batch(indices if self.examples is None else indices % self.examples)

    def asked(self, pairs: Batch) -> TensorBatch:
        """The same on the device, with labels: the masked words, or each next word."""
        batch = to_device(pairs, self.device)
        if self.causal:
            return next_tokens(batch)
        return mask_tokens(batch, self.vocabulary, seed=self.seed, recipe=self.recipe,
                           unit=self.mask_unit)  # fmt: skip

    def batch(self, indices: Int64[np.ndarray, "batch"]) -> TensorBatch:
        return self.asked(self.pairs(indices))

    def total(self, losses: Losses) -> Tensor:
        """What is minimized: the sum of both losses, or the MLM loss alone."""
        return losses.total if self.has_sentence_task else losses.mlm + 0.0 * losses.nsp


def forward(model: BertForPreTraining, batch: TensorBatch) -> tuple[Tensor, Tensor]:
    """Both tasks' logits."""
    return model(*(batch[name] for name in PRETRAINING_INPUTS))


def training_step(
    model: "BertForPreTraining | Replicas", optimizer: torch.optim.Optimizer, batch: TensorBatch, *,
    precision: torch.dtype, max_grad_norm: float, micro_batch_size: int | None = None,
    ranks: Ranks = ALONE, pair_count: int | None = None,
    total_loss: Callable[[Losses], Tensor] = attrgetter("total"), norms: list[Tensor] | None = None,
) -> Tensor:  # fmt: skip
    """Gradients of the whole batch, one micro-batch after another, then one update.

    `batch` is this rank's part of a batch of `pair_count` examples. Every micro-batch divides by
    the counts of the whole, over all ranks: examples with few masks weigh no more than others.
    Returns this rank's part of both losses, (2,), still on the device: reading them would make a
    GPU wait. The norm of the gradient before clipping stays there too: it is appended to `norms`.
    """
    rows = len(batch["input_ids"])
    mask_count = ranks.sum(batch["masked_lm_weights"].sum())
    parts = split_batch(batch, micro_batch_size or rows)
    sums = torch.zeros(2, device=batch["input_ids"].device)
    for number, part in enumerate(parts, start=1):
        with nullcontext() if number == len(parts) else no_sync(model):
            with mixed_precision(sums.device, precision):
                losses = model.loss(part, mask_count=mask_count, pair_count=pair_count or rows)
            (total_loss(losses) * ranks.size).backward()  # the ranks' gradients are averaged
        sums += torch.stack([losses.mlm.detach(), losses.nsp.detach()])
    norm = clip_gradients(model.parameters(), max_grad_norm)
    if norms is not None:
        norms.append(norm)
    optimizer.step()
    optimizer.zero_grad()
    return sums


class Window:
    """Losses since the last line of metrics, on the device until they are read."""

    def __init__(self, device: torch.device, ranks: Ranks) -> None:
        self.losses = torch.zeros(2, device=device)
        self.norms: list[Tensor] = []  # of the gradients
        self.ranks = ranks

    def read(self, step: int, rate: float) -> tuple[float, float]:
        """The mean losses of the window; the next one begins. Every rank must call it.

        Here training waits for the device anyway, so here it looks whether all is finite, and all
        ranks see the same: a sum of norms is not finite if one of them is not.
        """
        losses = self.ranks.sum(self.losses) / len(self.norms)
        mlm, nsp, norm = torch.stack([*losses, torch.stack(self.norms).sum()]).tolist()
        refuse_divergence(step, rate, mlm_loss=mlm, nsp_loss=nsp, gradient_norm=norm)
        self.losses.zero_()
        self.norms.clear()
        return mlm, nsp


@torch.no_grad()
def evaluate(model: "BertForPreTraining | Replicas", task: Task, *, examples: int,
             ranks: Ranks = ALONE) -> Record:  # fmt: skip
    """Both losses in nats and both accuracies, over the first `examples` held-out pairs.

    Every rank measures its part, in as many forward passes as the others, for FSDP: one with an
    example less takes an earlier one again, and does not count it.
    """
    was_training = model.training
    model.eval()
    sums = torch.zeros(5, dtype=torch.float64, device=task.device)
    each = -(-examples // ranks.size)
    mine = ranks.rank + ranks.size * np.arange(each)
    for first in range(0, each, EVALUATION_ROWS):
        indices = mine[first : first + EVALUATION_ROWS]
        batch = task.batch(indices % examples)
        counted = torch.from_numpy(indices < examples).to(task.device)
        weights = batch["masked_lm_weights"] * counted[:, None]
        ids, labels = batch["masked_lm_ids"], batch["next_sentence_labels"]
        with mixed_precision(task.device, task.precision):
            words, pairs = forward(model, batch)
            each_word = F.cross_entropy(words.flatten(0, 1), ids.flatten(), reduction="none")
            each_pair = F.cross_entropy(pairs, labels, reduction="none")
        words_right = (words.argmax(-1) == ids) * weights
        pairs_right = (pairs.argmax(-1) == labels) * counted
        words_lost, pairs_lost = each_word * weights.flatten(), each_pair * counted  # in nats
        parts = (words_lost, words_right, weights, pairs_lost, pairs_right)
        sums += torch.stack([part.sum().double() for part in parts])
    model.train(was_training)
    mlm, words_right, masks, nsp, pairs_right = ranks.sum(sums).tolist()
    measured = {"heldout_mlm_loss": mlm / masks, "heldout_mlm_accuracy": words_right / masks}
    if task.has_sentence_task:
        measured["heldout_nsp_loss"] = nsp / examples
        measured["heldout_nsp_accuracy"] = pairs_right / examples
    return measured


def train(model: "BertForPreTraining | Replicas", optimizer: torch.optim.Optimizer,
          tasks: list[tuple[Task, Task]], settings: RunSettings, *, peak_rate: float, start: int,
          record: Callable[[Record], None], save: Callable[[int], None], ranks: Ranks = ALONE,
          request: StopRequest | None = None) -> int:  # fmt: skip
    """Steps `start` … `settings.steps` - 1. Returns the signal that has stopped it early, or 0.

    Each of `settings.phases` has its tasks: what is trained on, and held-out text of the same
    length. `record` receives metrics as they come, `save` the number of steps done, at the latest
    when `request` has received a signal to stop.
    """
    phases = [(phase, *pair) for phase, pair in zip(settings.phases, tasks, strict=True)]

    def phase_of(step: int) -> tuple[Phase, Task, Task]:
        return next(entry for entry in phases if step < entry[0].last_step)

    def pairs_of(step: int) -> Batch:
        phase, task, _ = phase_of(step)
        first = phase.first_example_of(step)
        return task.pairs(ranks.share(np.arange(first, first + phase.batch_size)))

    window = Window(tasks[0][0].device, ranks)
    journal = Journal(settings, start=start, record=record, visible=ranks.leads)
    model.train()
    steps = range(start, settings.steps)
    with journal.bar, prefetch(pairs_of, steps) as made:
        for step, pairs in zip(steps, made, strict=True):
            phase, task, heldout = phase_of(step)
            ranks.seed_dropout(settings.seed, step, task.device)
            rate = learning_rate(step, peak=peak_rate, warmup_steps=settings.warmup,
                                 total_steps=settings.steps)  # fmt: skip
            for group in optimizer.param_groups:
                group["lr"] = rate
            window.losses += training_step(
                model, optimizer, task.asked(pairs), precision=task.precision, ranks=ranks,
                max_grad_norm=settings.max_grad_norm, micro_batch_size=settings.micro_batch_size,
                pair_count=phase.batch_size, total_loss=task.total, norms=window.norms,
            )  # fmt: skip
            done = step + 1
            logging = journal.step_done(done, tokens=phase.batch_size * phase.seq_length)
            if logging:
                mlm, nsp = window.read(done, rate)
                journal.write(done, rate=rate, mlm=mlm, nsp=nsp if task.has_sentence_task else None)
            if done % settings.evaluation_interval == 0 or done == settings.steps:
                with journal.paused():
                    measured = evaluate(model, heldout, examples=settings.eval_examples,
                                        ranks=ranks)  # fmt: skip
                    refuse_divergence(done, rate, **measured)  # all ranks have measured the same
                    journal.measured(done, measured)
            # Several ranks agree on it when they exchange their losses anyway.
            asked = request is not None and (logging or ranks.size == 1)
            stopped = ranks.max(request.signal, task.device) if asked else 0
            if done % settings.saving_interval == 0 or done == settings.steps or stopped:
                with journal.paused():
                    save(done)
            if stopped:
                return stopped
    return 0


# The pairs of the next steps, prepared in a thread while this step computes. That changes nothing:
# they are a function of the step's number. Only what needs no GPU belongs in here: NumPy lets other
# threads work, and what is sent to the device stays in the order in which one thread sends it.

Made = TypeVar("Made")


@contextmanager
def prefetch(make: Callable[[int], Made], steps: Iterable[int], *,
             ahead: int = 2) -> Iterator[Iterator[Made]]:  # fmt: skip
    """`make(step)` of each of the steps, in their order, at most `ahead` of them in advance: with
    two in advance, an occasional slow batch does not delay a step.

    What `make` raises is raised where its result is read. When the block is left, also by Ctrl-C,
    pending work is canceled and the thread ends after the call that it has begun.
    """
    worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="prefetch")
    steps = iter(steps)
    waiting = deque(worker.submit(make, step) for step in islice(steps, ahead))

    def in_order() -> Iterator[Made]:
        while waiting:
            made = waiting.popleft().result()
            waiting.extend(worker.submit(make, step) for step in islice(steps, 1))
            yield made

    try:
        yield in_order()
    finally:
        worker.shutdown(cancel_futures=True)


# One model on several ranks: whole on each (DDP), or in parts (FSDP).
#
#   DDP     every rank holds all weights and moments; gradients are summed while the backward runs.
#   FSDP    every rank holds a shard of every parameter; a layer is all-gathered before it is
#           computed and freed after. Memory falls with the number of ranks, traffic grows by half.
#
# Both average gradients over the ranks. A rank's loss is its share of the whole batch's, so it is
# taken times the number of ranks first: then the average is the sum.

Parallel = Literal["ddp", "fsdp"]


def distribute(model: nn.Module, parallel: Parallel, ranks: Ranks) -> nn.Module:
    """A model whose `loss` and `forward` are computed on all ranks; alone it is the model itself.

    With FSDP the model's own parameters become shards: make the optimizer after this.
    """
    if ranks.size == 1:
        return model
    if parallel == "ddp":
        return Replicas(model)
    from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method  # slow to import

    for layer in model.bert.encoder.layer:
        fully_shard(layer)
    fully_shard(model, reshard_after_forward=True)  # in an evaluation, too
    register_fsdp_forward_method(model, "loss")
    return model


class LossAsForward(nn.Module):
    """A model's `loss` as the forward of a module."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *inputs, **counts):
        return self.model.loss(*inputs, **counts)


class Replicas(nn.Module):
    """A model that every rank holds whole, and whose `loss` exchanges gradients: DDP does so for
    what its module's `forward` returns. The forward of this one is the model's, for measuring."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        # Gradients are views of what is exchanged: no second copy.
        self.ddp = DistributedDataParallel(LossAsForward(model), gradient_as_bucket_view=True)

    def forward(self, *inputs):
        return self.model(*inputs)

    def loss(self, *inputs, **counts):
        return self.ddp(*inputs, **counts)


@contextmanager
def no_sync(model: nn.Module) -> Iterator[None]:
    """In here gradients add up on each rank alone: for all micro-batches but the last."""
    if isinstance(model, Replicas):
        with model.ddp.no_sync():
            yield
    elif hasattr(model, "set_requires_gradient_sync"):  # of FSDP
        model.set_requires_gradient_sync(False)
        yield
        model.set_requires_gradient_sync(True)
    else:
        yield
