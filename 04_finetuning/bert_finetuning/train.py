"""Which features a step takes, what learns, and the fine-tuning loop, written out: features in, one
update after another, now and then a measurement.

As in pretraining a step is a function of the weights, the optimizer's moments and its own number.
The examples follow from (seed, step), dropout too, so a run that was killed goes on as if nothing
had happened.

The optimizer is AdamW unless another is asked for. The paper's Adam leaves out the correction of
the bias: its moments start at zero, and its steps are up to 6.57 times larger than Adam's, most so
at step 12. A pretraining run of a million steps never notices. In a fine-tuning run of a hundred
steps that is the whole warm-up, and some runs never get over it and end with the majority class
(Mosbach et al. 2021, arXiv 2006.04884; Zhang et al. 2021, arXiv 2006.05987).
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from bert_finetuning.data.rows import one_of
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks.base import ALONE, IGNORED, Batch, BertWithHead, Features, Task, forward
from bert_paper.optimizer import BertAdam, clip_gradients
from bert_paper.parallel import without_exchange
from bert_paper.training import prefetch
from bert_run.config import AdamSettings, is_decayed
from bert_run.device import Ranks, mixed_precision, to_device
from bert_run.errors import Real, UserError, as_typed
from bert_run.training_loop import Record, learning_rate, progress_bar, refuse_divergence

# --- Which features a step takes -----------------------------------------------------------------

Indices = Int64[np.ndarray, "_"]  # places of features

POOL = 32  # batches; a larger pool pads less, and mixes less
POOLS_AT_LEAST = 4  # in an epoch: few examples are mixed rather than sorted


class Batches:
    """Which features a step takes: a function of (seed, step) alone, so that a run can go on
    anywhere.

    Texts of like length go together, or most of a batch would be padding:

        shuffle all ─► cut into pools of many batches ─► sort each pool by length
                                      shuffle these ◄── cut into batches ◄─┘

    Every epoch shuffles anew and takes all features once; what is left over makes one smaller
    batch.
    """

    def __init__(
        self, lengths: list[int], batch_size: int, *, seed: int, by_length: bool = True
    ) -> None:
        self.lengths = np.array(lengths, np.int64)
        self.batch_size, self.seed, self.by_length = batch_size, seed, by_length
        self.epoch = lru_cache(maxsize=2)(self.batches_of)  # a thread makes batches ahead

    @property
    def steps_per_epoch(self) -> int:
        return -(-len(self.lengths) // self.batch_size)

    def __call__(self, step: int) -> Indices:
        """The features of step 0, 1, 2, …, epoch after epoch."""
        epoch, place = divmod(step, self.steps_per_epoch)
        return self.epoch(epoch)[place]

    def batches_of(self, epoch: int) -> list[Indices]:
        generator = np.random.default_rng([self.seed, epoch])
        order = generator.permutation(len(self.lengths))
        size = self.batch_size
        if not self.by_length:
            return cut(order, size)
        pool = size * max(1, min(POOL, self.steps_per_epoch // POOLS_AT_LEAST))
        pools = [part[np.argsort(self.lengths[part], kind="stable")] for part in cut(order, pool)]
        batches = [batch for part in pools for batch in cut(part, size)]
        return [batches[place] for place in generator.permutation(len(batches))]


def cut(indices: Indices, size: int) -> list[Indices]:
    """Pieces of `size`, the last perhaps smaller."""
    return [indices[first : first + size] for first in range(0, len(indices), size)]


class MicroBatch(NamedTuple):
    """What is computed at once, and how many answers its loss is the mean of."""

    batch: Batch
    count: int


@dataclass(frozen=True)
class TrainingData:
    """What one run learns, and in which order."""

    task: Task
    features: Sequence[Features]
    settings: FinetuneSettings
    seed: int
    pad_id: int
    ranks: Ranks = ALONE

    @cached_property
    def batches(self) -> Batches:
        return Batches(
            [each.length for each in self.features],
            self.settings.batch_size,
            seed=self.seed,
            by_length=self.settings.by_length,
        )

    @property
    def steps(self) -> int:
        return max(1, round(self.settings.epochs * self.batches.steps_per_epoch))

    def micro_batches(self, step: int) -> list[MicroBatch]:
        """This rank's part of a batch.

        Where a batch has fewer examples than there are ranks, some take its first once more, so
        that all ranks compute, and count none of its answers.
        """
        indices = self.batches(step)
        mine = self.ranks.share(indices)
        if not len(mine):
            return [MicroBatch(self.collate(indices[:1]), 0)]
        parts = cut(mine, self.settings.micro_batch_size or len(mine))
        batches = [self.collate(part) for part in parts]
        return [MicroBatch(batch, self.task.loss_count(batch)) for batch in batches]

    def collate(self, indices: Indices) -> Batch:
        return self.task.collate([self.features[i] for i in indices], pad_id=self.pad_id)


# --- What learns, and at which rate --------------------------------------------------------------


def depth(name: str, layers: int) -> int:
    """How far a parameter lies below the head: 0 for the head and the pooler, 1 for the top layer,
    `layers` for the lowest, one more for the embeddings."""
    if name.startswith("bert.embeddings."):
        return layers + 1
    layer = re.match(r"bert\.encoder\.layer\.(\d+)\.", name)
    return layers - int(layer[1]) if layer else 0


def freeze(model: BertWithHead, what: str) -> None:
    """Let the embeddings, they and the lowest layers, or all of the encoder stay as they are."""
    layers = model.config.num_hidden_layers
    if what == "nothing":
        return
    lowest = {"embeddings": 0, "encoder": layers}.get(what)
    lowest = int(what) if lowest is None else lowest
    if lowest > layers:
        raise UserError(f"--freeze {what}: the model has {layers} layers")
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(depth(name, layers) <= layers - lowest)


def make_optimizer(model: BertWithHead, settings: FinetuneSettings) -> torch.optim.Optimizer:
    """One group of parameters for each depth and for decayed and others; what is frozen is in none.

    A group's rate is the run's times its `share`.
    """
    adam = AdamSettings(
        learning_rate=settings.rate(model.config.hidden_size),
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.max_grad_norm,
    )
    groups: dict[tuple[int, bool], list] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            key = depth(name, model.config.num_hidden_layers), is_decayed(name)
            groups.setdefault(key, []).append(parameter)
    described = [
        {
            "params": parameters,
            "weight_decay": adam.weight_decay if decayed else 0.0,
            "share": settings.layer_rate_decay**below,
        }
        for (below, decayed), parameters in groups.items()
    ]
    if settings.optimizer == "bert-adam":
        return BertAdam(described, adam)
    return torch.optim.AdamW(
        described,
        lr=adam.learning_rate,
        betas=(adam.beta1, adam.beta2),
        eps=adam.epsilon,
        fused=True,
    )


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate * group["share"]


# --- How much a label counts ---------------------------------------------------------------------


def label_weights(
    asked: str, model: BertWithHead, features: Sequence[Features]
) -> Float[Tensor, "labels"]:
    """The weight of each label in the loss, from --class-weights.

    `balanced` gives every label the same share of the loss: a label that is half as common counts
    twice. All weights are scaled so that their mean over the features is 1.
    """
    if not model.has_labels or model.head.problem_type != "single_label_classification":
        raise UserError("--class-weights are for tasks with one label of several: leave them out")
    labels = model.head.labels
    found = [np.ravel(each.targets["labels"]).astype(np.int64) for each in features]
    known = np.concatenate([np.zeros(0, np.int64), *found])
    counts = np.bincount(known[known != IGNORED], minlength=len(labels))
    weights = 1 / np.maximum(counts, 1) if asked == "balanced" else named_weights(asked, labels)
    total = weights @ counts or 1.0
    return torch.tensor(weights * counts.sum() / total, dtype=torch.float32)


def named_weights(asked: str, labels: Sequence[str]) -> np.ndarray:
    """The weights in `LABEL=WEIGHT,…`; labels that are not named have 1."""
    named: dict[str, float] = {}
    for part in asked.split(","):
        label, _, number = (each.strip() for each in part.rpartition("="))
        weight = as_typed(number, float)
        if label not in labels or label in named or not WEIGHTS.admits(weight):
            raise UserError(
                f"--class-weights {asked}: {part.strip()!r}: write balanced, or LABEL=WEIGHT,… "
                f"with {one_of(labels)}, each at most once, and a weight that is {WEIGHTS}"
            )
        named[label] = weight
    return np.array([named.get(label, 1.0) for label in labels])


WEIGHTS = Real(above=0, at_most=1e6)


def checkpoint_layers(model: BertWithHead) -> None:
    """Let each layer keep only its input for the backward pass, which computes the rest again, with
    the same dropout (Chen et al. 2016, arXiv 1604.06174). Gradients do not change."""
    for layer in model.bert.encoder.layer:
        layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)


# --- The loop ------------------------------------------------------------------------------------


def training_step(
    model: BertWithHead,
    stepping: nn.Module,
    optimizer: torch.optim.Optimizer,
    parts: Sequence[MicroBatch],
    *,
    precision: torch.dtype,
    max_grad_norm: float,
    ranks: Ranks = ALONE,
    norms: list[Tensor] | None = None,
) -> Tensor:
    """The gradient of the whole batch, one micro-batch after another, then one update.

    `stepping` is the model as a step calls it, perhaps spread over ranks. The loss of a part is the
    mean over its answers, and it is weighed by their share of all answers of the batch, on all
    ranks. A mean of means would give the words of short sentences more weight. Returns this rank's
    part of the batch's loss, still on the device, as is the norm of the gradient before clipping,
    which is added to `norms`.
    """
    device = next(model.parameters()).device
    mine = sum(part.count for part in parts)
    answers = ranks.sum(torch.tensor(mine, dtype=torch.float64, device=device)).clamp(min=1)
    loss = torch.zeros((), device=device)
    for number, part in enumerate(parts, start=1):
        with nullcontext() if number == len(parts) else without_exchange(stepping):
            batch = to_device(part.batch, device)
            with mixed_precision(device, precision):
                mean = model.loss(forward(stepping, batch), batch)
            share = mean * (part.count / answers)
            (share * ranks.size).backward()  # the ranks' gradients are averaged
        loss += share.detach()
    norm = clip_gradients(model.parameters(), max_grad_norm)
    if norms is not None:
        norms.append(norm)
    optimizer.step()
    optimizer.zero_grad()
    return loss


def train(
    model: BertWithHead,
    stepping: nn.Module,
    optimizer: torch.optim.Optimizer,
    data: TrainingData,
    *,
    precision: torch.dtype,
    start: int,
    record: Callable[[Record], None],
    measure: Callable[[int], str],
    save: Callable[[int], None],
    stops: Callable[[], bool] = lambda: False,
    title: str = "fine-tuning",
    progress: bool = True,
) -> None:
    """Steps `start` … `data.steps` - 1.

    `record` receives a line of metrics now and then; `measure` the number of steps done, after each
    epoch or as often as asked, and returns what the bar shows of it; `save` the number of steps.
    If `stops()` is true after a step, this step is saved and is the last one.
    """
    settings, ranks, total = data.settings, data.ranks, data.steps
    epoch = data.batches.steps_per_epoch
    warmup = round(settings.warmup * total)
    peak = settings.rate(model.config.hidden_size)
    log_every = max(1, min(50, total // 40))
    window = MovingWindow(next(model.parameters()).device)
    bar = progress_bar(
        total, title, unit="step", initial=start, disable=not (progress and ranks.leads)
    )
    postfix: dict[str, str] = {}
    model.train()
    steps = range(start, total)
    with bar, prefetch(data.micro_batches, steps) as made:
        for step, parts in zip(steps, made, strict=True):
            torch.manual_seed((data.seed * 1_000_003 + step) * ranks.size + ranks.rank)
            rate = learning_rate(step, peak=peak, warmup_steps=warmup, total_steps=total)
            set_rate(optimizer, rate)
            loss = training_step(
                model,
                stepping,
                optimizer,
                parts,
                precision=precision,
                max_grad_norm=settings.max_grad_norm,
                ranks=ranks,
                norms=window.norms,
            )
            window.loss += loss
            window.examples += len(data.batches(step))
            done = step + 1
            bar.update()
            saving = done % (settings.save_every or epoch) == 0 or done == total
            logging = done % log_every == 0 or saving  # a run which goes on averages the same
            measuring = done % (settings.eval_every or epoch) == 0 or done == total
            if logging:
                entry = window.close(ranks, done, rate)
                record({"step": done, "epoch": done / epoch, **entry, "learning_rate": rate})
                postfix |= {"loss": f"{entry['train_loss']:.3f}", "rate": f"{rate:.1e}"}
            if measuring:
                with window.paused():
                    postfix["dev"] = measure(done)
            bar.set_postfix(postfix, refresh=False)
            last = (ranks.size == 1 or logging or measuring) and stops()  # all ranks agree on it
            if saving or last:
                with window.paused():
                    save(done)
            if last:
                break


class MovingWindow:
    """Loss and speed since the last line of metrics; the sum stays on the device until asked."""

    def __init__(self, device: torch.device) -> None:
        self.loss = torch.zeros((), device=device)
        self.norms: list[Tensor] = []  # of the gradients, one a step
        self.begin_anew()

    def begin_anew(self) -> None:
        self.loss.zero_()
        self.norms.clear()
        self.examples = 0
        self.begin = time.perf_counter()

    def close(self, ranks: Ranks, step: int, rate: float) -> Record:
        """The mean of the window; the next one begins. Every rank must ask.

        Here training waits for the device anyway, so here it looks whether all is finite, and all
        ranks see the same: a sum of norms is not finite if one of them is not.
        """
        total, norm = torch.stack([ranks.sum(self.loss), torch.stack(self.norms).sum()]).tolist()
        loss = total / len(self.norms)
        refuse_divergence(step, rate, loss=loss, gradient_norm=norm)
        speed = self.examples / (time.perf_counter() - self.begin)
        self.begin_anew()
        return {"train_loss": loss, "examples_per_second": round(speed, 1)}

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Time in here is not training time."""
        before = time.perf_counter()
        yield
        self.begin += time.perf_counter() - before
