"""Fine-tuning, written out: which features a step takes, what learns and how fast, a step, and the
run of one seed, which measures itself and goes on after a kill.

The optimizer is AdamW unless another is asked for. BERT's released Adam does not correct the bias
of its moments, so its first steps are up to 6.57 times as large. In a run of a hundred steps that
is the whole warm-up, and some runs never get over it and end with the majority class (Mosbach et
al. 2021, arXiv 2006.04884; Zhang et al. 2021, arXiv 2006.05987).
"""

import json
import math
import re
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.utils.checkpoint import checkpoint

from bert_finetuning.checkpoint import InitialModel, SavedTask, save_finetuned
from bert_finetuning.data.rows import say
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks import base
from bert_paper.cpu_kernels import use_cpu_kernels
from bert_paper.model import load_arrays
from bert_paper.optimizer import (
    BertAdam,
    clip_gradients,
    full_arrays,
    make_adamw,
    optimizer_state,
    refuse_broken,
    restore_state,
)
from bert_run.config import AdamSettings, is_decayed
from bert_run.device import Ranks, mixed_precision, to_device
from bert_run.errors import Stopped, UserError
from bert_run.files import (
    METRICS_FILE,
    STATE_FILE,
    RunFolder,
    divergence_noted,
    read_record,
    write_atomically,
    wrong_field,
)
from bert_run.training_loop import (
    MetricsLog,
    Record,
    StopRequest,
    learning_rate,
    progress_bar,
    read_metrics,
    refuse_divergence,
    stop_signals,
)
from bert_run.weights import WEIGHTS_FILE, read_safetensors, save_weights

# --- Which features a step takes -----------------------------------------------------------------

Indices = Int64[np.ndarray, "_"]  # places of features

POOL = 32  # batches; a larger pool pads less, and mixes less
POOLS_AT_LEAST = 4  # in an epoch: few examples are mixed rather than sorted


class Batches:
    """Which features a step takes: a function of (seed, step) alone, so a run can go on anywhere.

    Texts of like length go together, or most of a batch would be padding:

        shuffle all ─► cut into pools of many batches ─► sort each pool by length
                                      shuffle these ◄── cut into batches ◄─┘

    Every epoch takes all features once; what is left over makes one smaller batch.
    """

    def __init__(self, lengths: list[int], batch_size: int, *, seed: int,
                 by_length: bool = True) -> None:  # fmt: skip
        self.lengths = np.array(lengths, np.int64)
        self.batch_size, self.seed, self.by_length = batch_size, seed, by_length
        self.epoch = lru_cache(maxsize=1)(self.batches_of)

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

    batch: base.Batch
    count: int


@dataclass(frozen=True)
class TrainingData:
    """What one run learns, and in which order."""

    task: base.Task
    features: Sequence[base.Features]
    settings: FinetuneSettings
    seed: int
    pad_id: int
    ranks: Ranks = base.ALONE

    @cached_property
    def batches(self) -> Batches:
        lengths, settings = [each.length for each in self.features], self.settings
        return Batches(lengths, settings.batch_size, seed=self.seed, by_length=settings.by_length)

    @property
    def steps(self) -> int:
        return max(1, round(self.settings.epochs * self.batches.steps_per_epoch))

    def micro_batches(self, step: int) -> list[MicroBatch]:
        """This rank's part of a batch. If a batch has fewer examples than there are ranks, some
        take its first once more and count none of its answers, so that all ranks compute."""
        indices = self.batches(step)
        mine = self.ranks.share(indices)
        if not len(mine):
            return [MicroBatch(self.collate(indices[:1]), 0)]
        batches = map(self.collate, cut(mine, self.settings.micro_batch_size or len(mine)))
        return [MicroBatch(batch, self.task.loss_count(batch)) for batch in batches]

    def collate(self, indices: Indices) -> base.Batch:
        return self.task.collate([self.features[i] for i in indices], pad_id=self.pad_id)


# --- What learns, and at which rate --------------------------------------------------------------


def depth(name: str, layers: int) -> int:
    """How far a parameter lies below the head: 0 for the head and the pooler, 1 for the top layer,
    `layers` for the lowest, one more for the embeddings."""
    if name.startswith("bert.embeddings."):
        return layers + 1
    layer = re.match(r"bert\.encoder\.layer\.(\d+)\.", name)
    return layers - int(layer[1]) if layer else 0


def freeze(model: base.BertWithHead, what: str) -> None:
    """Freeze the embeddings, or also the lowest N layers, or all but the pooler and the head."""
    if what == "nothing":
        return
    layers = model.config.num_hidden_layers
    lowest = int({"embeddings": 0, "encoder": layers}.get(what, what))
    if lowest > layers:
        raise UserError(f"--freeze {what}: the model has {layers} layers")
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(depth(name, layers) <= layers - lowest)


def make_optimizer(model: base.BertWithHead, settings: FinetuneSettings) -> torch.optim.Optimizer:
    """One group of parameters for each depth and for decayed and others; what is frozen is in none.
    A group's rate is the run's times its `share`."""
    adam = AdamSettings(learning_rate=settings.rate(model.config.hidden_size))
    groups: dict[tuple[int, bool], dict[str, Any]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            below, decayed = depth(name, model.config.num_hidden_layers), is_decayed(name)
            empty = {"params": [], "weight_decay": settings.weight_decay if decayed else 0.0,
                     "share": settings.layer_rate_decay**below}  # fmt: skip
            groups.setdefault((below, decayed), empty)["params"].append(parameter)
    make = BertAdam if settings.optimizer == "bert-adam" else make_adamw
    return make(list(groups.values()), adam)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate * group["share"]


def label_weights(model: base.BertWithHead,
                  features: Sequence[base.Features]) -> Float[Tensor, "labels"]:  # fmt: skip
    """The weight of each label in the loss (--class-weights balanced): all labels have the same
    share of the loss, and the mean of the weights over all labels of train is 1."""
    if not model.has_labels or model.head.problem_type != "single_label_classification":
        raise UserError("--class-weights are for tasks with one label of several: leave them out")
    found = [np.ravel(each.targets["labels"]).astype(np.int64) for each in features]
    known = np.concatenate([np.zeros(0, np.int64), *found])
    counts = np.bincount(known[known != base.IGNORED], minlength=len(model.head.labels))
    weights = 1 / np.maximum(counts, 1)
    total = weights @ counts or 1.0
    return torch.tensor(weights * counts.sum() / total, dtype=torch.float32)


def checkpoint_layers(model: base.BertWithHead) -> None:
    """Let each layer keep only its input for the backward pass, which computes the rest again, with
    the same dropout (Chen et al. 2016, arXiv 1604.06174). Gradients do not change."""
    for layer in model.bert.encoder.layer:
        layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)


# --- One step ------------------------------------------------------------------------------------


def training_step(model: base.BertWithHead, optimizer: torch.optim.Optimizer,
                  parts: Sequence[MicroBatch], *, precision: torch.dtype, max_grad_norm: float,
                  ranks: Ranks = base.ALONE) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The gradient of the whole batch, one micro-batch after another, summed over all ranks; then
    one update. The loss of a part is the mean over its answers, weighted by their share of all
    answers of the batch, on all ranks: a mean of means would give the words of short sentences more
    weight. Returns this rank's part of the batch's loss, and the norm of the gradient before
    clipping, both still on the device."""
    device = next(model.parameters()).device
    mine = sum(part.count for part in parts)
    answers = ranks.sum(torch.tensor(mine, dtype=torch.float64, device=device)).clamp(min=1)
    loss = torch.zeros((), device=device)
    for part in parts:
        batch = to_device(part.batch, device)
        with mixed_precision(device, precision):
            mean = model.loss(base.forward(model, batch), batch)
        share = mean * (part.count / answers)
        share.backward()
        loss += share.detach()
    if ranks.size > 1:  # all ranks get the sum, exchanged as one long vector
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        vector_to_parameters(ranks.sum(parameters_to_vector(gradients)), gradients)
    norm = clip_gradients(model.parameters(), max_grad_norm)
    optimizer.step()
    optimizer.zero_grad()
    return loss, norm


class LogWindow:
    """Loss and speed since the last line of metrics; sums stay on the device until read."""

    def __init__(self, device: torch.device) -> None:
        self.loss = torch.zeros((), device=device)
        self.norms: list[Tensor] = []  # of the gradients, one a step
        self.examples, self.begin = 0, time.perf_counter()

    def close(self, ranks: Ranks, step: int, rate: float) -> Record:
        """The mean of the window. Every rank must ask, and sees whether the losses and norms of all
        were finite: training waits for the device here anyway."""
        total, norm = torch.stack([ranks.sum(self.loss), torch.stack(self.norms).sum()]).tolist()
        loss = total / len(self.norms)
        refuse_divergence(step, rate, loss=loss, gradient_norm=norm)
        speed = self.examples / (time.perf_counter() - self.begin)
        return {"train_loss": loss, "examples_per_second": round(speed, 1), "learning_rate": rate}


# --- The run of one seed -------------------------------------------------------------------------

# out/seed-0/                is the model after the last step, a `transformers` folder
#     best/                  the one that the deciding metric was highest for; scores.json in it
#     metrics.jsonl          what was measured on the way
#     result.json            written last: the run is over
#     checkpoints/           while it runs: see `bert_run.files`

RESULT, SCORES = "result.json", "scores.json"
WRITTEN = {"seed": int, "best": dict, "last": dict, "collapsed": bool}  # in it


@dataclass(frozen=True)
class Evaluator:
    """What a run is measured on."""

    task: base.Task
    examples: Sequence[base.Example]
    features: Sequence[base.Features]
    max_length: int  # tokens that were read at once

    def predict(self, model: base.BertWithHead, **machine: Any) -> tuple[base.Task, list]:
        """Predictions, and the task with what was chosen on these examples, as the threshold of "no
        answer" (section 4.3). `machine`: precision and ranks, as of `logits_of`."""
        logits = base.logits_of(model, self.task, self.features, **machine)
        predictions = self.task.predict(self.examples, self.features, logits)
        return self.task.tuned(self.examples, predictions)

    @property
    def is_varied(self) -> bool:
        """Whether not all right answers are the same: only then can a run collapse."""
        answers = self.task.all_labels(self.examples) or [repr(e.gold) for e in self.examples]
        return len(set(answers)) > 1


@dataclass(frozen=True)
class SeedResult:
    """What became of one seed. `best` and `last` hold a step, and what was measured there."""

    seed: int
    best: Record
    last: Record
    collapsed: bool  # in the end every example got the same answer

    @classmethod
    def read(cls, folder: Path, metric: str) -> "SeedResult | None":
        """That of a run that is over."""
        path = folder / RESULT
        if not path.exists():
            return None
        way_out = f"remove {folder}, and the seed runs again"
        record = read_record(path, WRITTEN, way_out=way_out)
        for name in ("best", "last"):
            if problem := wrong_field(record[name], {"step": int, metric: float}, {}):
                raise UserError(f"{path} is damaged (of {name}, {problem}): {way_out}")
        return cls(**{name: record[name] for name in WRITTEN})


class SeedRun:
    """The run of a seed, in a folder or in memory; `start` steps are done. A step is a function of
    the weights, the optimizer's moments and its own number, from which the examples and dropout
    follow. So a run that was killed ends with the bits of one that was not."""

    def __init__(self, initial: InitialModel, data: TrainingData, evaluator: Evaluator, *,
                 precision: torch.dtype = torch.float32, device: torch.device | str = "cpu",
                 folder: Path | None = None,
                 saved_task: Callable[[base.Task], SavedTask] | None = None) -> None:  # fmt: skip
        """`saved_task`: what a saved model's folder says of its task."""
        self.data, self.evaluator, self.precision = data, evaluator, precision
        self.tokenizer, self.saved_task = initial.tokenizer, saved_task
        self.ranks, self.metric = data.ranks, evaluator.task.metrics[0]
        self.model = initial.model.to(device)
        self.device = torch.device(device)
        use_cpu_kernels(self.model.bert)
        settings = data.settings
        freeze(self.model, settings.freeze)
        if settings.gradient_checkpointing:
            checkpoint_layers(self.model)
        if settings.class_weights is not None:
            self.model.label_weights = label_weights(self.model, data.features).to(device)
        self.optimizer = make_optimizer(self.model, settings)
        self.folder = None if folder is None else RunFolder(folder)
        self.start, self.records, self.log = 0, [], None
        self.best: Record = {}  # what was measured of the best model, that in `best/`
        self.saved = self.signal = 0  # the step of the last checkpoint, and what stopped the run
        if self.folder is not None:
            self.resume(self.folder)
        self.warned = False
        self.task, self.predictions, self.scores = evaluator.task, [], {}  # as measured last

    def resume(self, folder: RunFolder) -> None:
        """Go on from the folder's newest checkpoint, if it has one."""
        folder.path.mkdir(parents=True, exist_ok=True)
        newest = lambda leads: folder.resume() if leads else folder.newest()  # noqa: E731
        if checkpoint := self.ranks.after_first(newest):
            self.start = checkpoint.step
            load_arrays(self.model, read_safetensors(checkpoint.folder / WEIGHTS_FILE))
            moments = read_safetensors(checkpoint.folder / STATE_FILE)
            restore_state(self.optimizer, self.model, moments)
        path = folder.path / METRICS_FILE
        if self.ranks.leads:
            self.log = MetricsLog(path, resume_at=self.start)
        self.ranks.barrier()
        self.records = [entry for entry in read_metrics(path) if entry["step"] <= self.start]
        key, scores = f"dev_{self.metric}", folder.path / "best" / SCORES
        measured = [entry for entry in self.records if key in entry]
        if scores.exists():  # older versions had none; it may be later than the checkpoint
            way_out = f"remove {folder.path}, and the seed runs again"
            measured = [read_record(scores, {"step": int, key: float}, way_out=way_out)]
        self.best = max(measured, key=lambda entry: entry[key], default={})

    def run(self, title: str = "fine-tuning", *, progress: bool = True) -> SeedResult:
        """To the end."""
        if self.start:
            say(f"{title}: going on from step {self.start:,} of {self.data.steps:,}")
        folder, request = self.folder, StopRequest()
        noted = divergence_noted(folder) if folder else nullcontext()
        with noted, stop_signals() if folder else nullcontext(request) as request:
            if not self.is_stalled:
                self.train(request, title=title, progress=progress)
        if self.signal:
            raise Stopped(title, self.saved, self.data.steps, number=self.signal)
        if self.is_stalled and progress:
            say(f"{title}: stopped early: --patience {self.data.settings.patience} is used up, as "
                f"{self.metric} on dev no longer rises")  # fmt: skip
        return self.finish()

    def train(self, request: StopRequest, *, title: str = "", progress: bool = False) -> None:
        """The steps that are left. Metrics are recorded now and then; dev is measured and the model
        saved after each epoch or as often as asked, and when a signal or no progress ends it."""
        data, settings, ranks, total = self.data, self.data.settings, self.ranks, self.data.steps
        epoch, warmup = data.batches.steps_per_epoch, round(settings.warmup * total)
        peak = settings.rate(self.model.config.hidden_size)
        log_every = max(1, min(50, total // 40))
        window, shown = LogWindow(self.device), {}
        hidden = not (progress and ranks.leads)
        self.model.train()
        with progress_bar(total, title, unit="step", initial=self.start, disable=hidden) as bar:
            for step in range(self.start, total):
                ranks.seed_dropout(data.seed, step, self.device)
                rate = learning_rate(step, peak=peak, warmup_steps=warmup, total_steps=total)
                set_rate(self.optimizer, rate)
                loss, norm = training_step(
                    self.model, self.optimizer, data.micro_batches(step),
                    precision=self.precision, max_grad_norm=settings.max_grad_norm, ranks=ranks,
                )  # fmt: skip
                window.loss += loss
                window.norms.append(norm)
                window.examples += len(data.batches(step))
                done = step + 1
                bar.update()
                saving = done % (settings.save_every or epoch) == 0 or done == total
                logging = done % log_every == 0 or saving  # a run which goes on averages the same
                measuring = done % (settings.eval_every or epoch) == 0 or done == total
                if logging:
                    entry = {"step": done, "epoch": done / epoch} | window.close(ranks, done, rate)
                    self.record(entry)
                    shown |= {"loss": f"{entry['train_loss']:.3f}", "rate": f"{rate:.1e}"}
                    window = LogWindow(self.device)
                begin = time.perf_counter()
                if measuring:
                    shown["dev"] = self.measure(done)
                bar.set_postfix(shown, refresh=False)
                # Ranks agree on the end when they exchange their losses anyway.
                last = (ranks.size == 1 or logging or measuring) and self.stops(request)
                if saving or last:
                    self.save(done)
                if last:
                    break
                window.begin += time.perf_counter() - begin  # this was not training

    def stops(self, request: StopRequest) -> bool:
        """Whether this step is the last, as someone has asked for it or nothing improves."""
        self.signal = self.ranks.max(request.signal, self.device)
        return self.signal > 0 or self.is_stalled

    @property
    def dev_scores(self) -> list[float]:
        """The deciding metric at each measurement."""
        return self.line(f"dev_{self.metric}")[1]

    @property
    def is_stalled(self) -> bool:
        """Whether so many measurements as --patience says were no better than the best before."""
        scores, patience = self.dev_scores, self.data.settings.patience
        return bool(patience and scores) and len(scores) - scores.index(max(scores)) > patience

    def line(self, key: str) -> tuple[list[float], list[float]]:
        """The steps at which something was recorded, and its values: a curve to draw."""
        found = [record for record in self.records if key in record]
        return [record["step"] for record in found], [record[key] for record in found]

    def predict(self, examples: Sequence[base.Example], *, max_length: int | None = None) -> list:
        """Predictions of the model as it is now; the examples need no labels."""
        length = max_length or self.evaluator.max_length
        return self.task.answers(examples, self.model, self.tokenizer, max_length=length)

    def record(self, entry: Record) -> None:
        self.records.append(entry)
        if self.log is not None:
            self.log.append(entry)

    def measure(self, step: int) -> str:
        """Answer all of dev; keep the model if it has never been better. Returns its score."""
        refuse_broken(dict(self.model.named_parameters()), self.ranks, step=step)
        machine = {"precision": self.precision, "ranks": self.ranks}
        self.task, self.predictions = self.evaluator.predict(self.model, **machine)
        examples = self.evaluator.examples
        scores = self.scores = self.task.score(examples, self.predictions)
        named = {f"dev_{name}": value for name, value in scores.items()}
        refuse_divergence(step, **named)
        is_alike = self.task.is_collapsed(examples, self.predictions)
        collapsed = is_alike and self.evaluator.is_varied
        entry = {"step": step, **named, "collapsed": float(collapsed)}
        if scores[self.metric] > self.best.get(f"dev_{self.metric}", -math.inf):
            self.best = entry
            if self.folder is not None and self.ranks.leads:
                self.folder.save_best(self.write_best)
        self.warn(step, collapsed)
        self.record(entry)
        self.ranks.barrier()
        return f"{self.metric} {100 * scores[self.metric]:.1f}"

    def warn(self, step: int, collapsed: bool) -> None:
        """Say once that a run has collapsed; while the rate rises, that means nothing."""
        settings = self.data.settings
        early = step <= settings.warmup * self.data.steps
        if collapsed and self.log is not None and not self.warned and not early:
            correction = "" if settings.optimizer == "adamw" else ", or --optimizer adamw"
            say(f"warning: seed {self.data.seed}, step {step}: the model predicts the same answer "
                "for every example: it has learned nothing yet; if that stays, try another --seed, "
                f"a lower --learning-rate or a longer --warmup{correction}")  # fmt: skip
            self.warned = True

    def write_model(self, folder: Path) -> None:
        save_finetuned(self.model, self.tokenizer, folder, self.saved_task(self.task))

    def write_best(self, folder: Path) -> None:
        self.write_model(folder)
        write_atomically(folder / SCORES, json.dumps(self.best) + "\n")

    def save(self, step: int) -> None:
        """A checkpoint: the model, and the optimizer's moments of what learns."""
        self.saved = step
        if self.folder is None:
            return
        state = optimizer_state(self.optimizer, self.model)
        refuse_broken({**dict(self.model.named_parameters()), **state}, self.ranks, step=step)

        def write(folder: Path) -> None:
            self.write_model(folder)
            save_weights(full_arrays(state), folder / STATE_FILE)

        if self.ranks.leads:
            self.folder.save(step, write, keep=1)
        self.ranks.barrier()

    def finish(self) -> SeedResult:
        """The result, written down; what only an unfinished run needs goes."""
        last = next(entry for entry in reversed(self.records) if f"dev_{self.metric}" in entry)
        scores = [{name.removeprefix("dev_"): value for name, value in entry.items()
                   if name in ("step", "collapsed") or name.startswith("dev_")}
                  for entry in (self.best, last)]  # fmt: skip
        result = SeedResult(self.data.seed, *scores, bool(last["collapsed"]))
        self.ranks.barrier()
        if self.folder is not None and self.ranks.leads:
            write_atomically(self.folder.path / RESULT, json.dumps(vars(result), indent=2) + "\n")
            self.folder.remove_checkpoints()
        return result
