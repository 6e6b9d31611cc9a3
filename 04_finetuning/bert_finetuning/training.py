"""The fine-tuning loop, written out: readings in, one update after another, now and then a
measurement.

As in pretraining a step is a function of the weights, the optimiser's moments and its own number.
The examples follow from (seed, step), dropout too, so a run that was killed goes on as if nothing
had happened.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor, nn

from bert_finetuning.answering import forward
from bert_finetuning.batches import Batches, cut
from bert_finetuning.heads import BertWithHead
from bert_finetuning.kinds.base import Batch, Kind, Reading, length
from bert_finetuning.recipe import set_rate
from bert_finetuning.settings import FinetuneSettings
from bert_paper.optimizer import clip_gradients
from bert_paper.parallel import without_exchange
from bert_paper.prefetch import prefetch
from bert_paper.ranks import Ranks
from bert_run.device import mixed_precision, to_device
from bert_run.divergence import refuse_divergence
from bert_run.metrics import Record
from bert_run.progress import progress_bar
from bert_run.training_loop import learning_rate

ALONE = Ranks()


class Piece(NamedTuple):
    """A micro-batch, and how many answers its loss is the mean of."""

    batch: Batch
    count: int


@dataclass(frozen=True)
class Lesson:
    """What one run learns, and in which order."""

    kind: Kind
    readings: Sequence[Reading]
    settings: FinetuneSettings
    seed: int
    pad_id: int
    ranks: Ranks = ALONE

    @cached_property
    def batches(self) -> Batches:
        return Batches(
            [length(reading) for reading in self.readings],
            self.settings.batch_size,
            seed=self.seed,
            by_length=self.settings.by_length,
        )

    @property
    def steps(self) -> int:
        return max(1, round(self.settings.epochs * self.batches.steps_per_epoch))

    def pieces(self, step: int) -> list[Piece]:
        """This rank's part of a batch, in micro-batches.

        Where a batch has fewer examples than there are ranks, some take its first once more, so
        that all ranks compute, and count none of its answers.
        """
        indices = self.batches(step)
        mine = self.ranks.share(indices)
        if not len(mine):
            return [Piece(self.arrays(indices[:1]), 0)]
        parts = cut(mine, self.settings.micro_batch_size or len(mine))
        batches = [self.arrays(part) for part in parts]
        return [Piece(batch, self.kind.count(batch)) for batch in batches]

    def arrays(self, indices) -> Batch:
        return self.kind.batch([self.readings[i] for i in indices], pad_id=self.pad_id)


def training_step(
    model: BertWithHead,
    stepping: nn.Module,
    optimizer: torch.optim.Optimizer,
    pieces: Sequence[Piece],
    *,
    precision: torch.dtype,
    max_grad_norm: float,
    ranks: Ranks = ALONE,
    norms: list[Tensor] | None = None,
) -> Tensor:
    """The gradient of the whole batch, one piece after another, then one update.

    `stepping` is the model as a step calls it, perhaps spread over ranks. A piece's loss is the
    mean over its answers, and it is weighed by their share of all answers of the batch, on all
    ranks. A mean of means would give the words of short sentences more weight. Returns this rank's
    part of the batch's loss, still on the device, as is the norm of the gradient before clipping,
    which is added to `norms`.
    """
    device = next(model.parameters()).device
    mine = sum(piece.count for piece in pieces)
    answers = ranks.sum(torch.tensor(mine, dtype=torch.float64, device=device)).clamp(min=1)
    loss = torch.zeros((), device=device)
    for number, piece in enumerate(pieces, start=1):
        with nullcontext() if number == len(pieces) else without_exchange(stepping):
            batch = to_device(piece.batch, device)
            with mixed_precision(device, precision):
                mean = model.loss(forward(stepping, batch), batch)
            part = mean * (piece.count / answers)
            (part * ranks.size).backward()  # the ranks' gradients are averaged
        loss += part.detach()
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
    lesson: Lesson,
    *,
    precision: torch.dtype,
    start: int,
    record: Callable[[Record], None],
    measure: Callable[[int], str],
    save: Callable[[int], None],
    title: str = "fine-tuning",
    progress: bool = True,
) -> None:
    """Steps `start` … `lesson.steps` - 1.

    `record` receives a line of metrics now and then; `measure` the number of steps done, after each
    epoch or as often as asked, and returns what the bar shows of it; `save` the number of steps.
    """
    settings, ranks, total = lesson.settings, lesson.ranks, lesson.steps
    epoch = lesson.batches.steps_per_epoch
    warmup = round(settings.warmup * total)
    peak = settings.rate(model.config.hidden_size)
    log_every = max(1, min(50, total // 40))
    window = Window(next(model.parameters()).device)
    bar = progress_bar(
        total, title, unit="step", initial=start, disable=not (progress and ranks.leads)
    )
    shown: dict[str, str] = {}
    model.train()
    steps = range(start, total)
    with bar, prefetch(lesson.pieces, steps) as made:
        for step, pieces in zip(steps, made, strict=True):
            torch.manual_seed((lesson.seed * 1_000_003 + step) * ranks.size + ranks.rank)
            rate = learning_rate(step, peak=peak, warmup_steps=warmup, total_steps=total)
            set_rate(optimizer, rate)
            loss = training_step(
                model,
                stepping,
                optimizer,
                pieces,
                precision=precision,
                max_grad_norm=settings.max_grad_norm,
                ranks=ranks,
                norms=window.norms,
            )
            window.add(loss, examples=len(lesson.batches(step)))
            done = step + 1
            bar.update()
            saving = done % (settings.save_every or epoch) == 0 or done == total
            if done % log_every == 0 or saving:  # so that a run which goes on averages the same
                entry = window.close(ranks, done, rate)
                record({"step": done, "epoch": done / epoch, **entry, "learning_rate": rate})
                shown |= {"loss": f"{entry['train_loss']:.3f}", "rate": f"{rate:.1e}"}
            if done % (settings.eval_every or epoch) == 0 or done == total:
                with window.paused():
                    shown["dev"] = measure(done)
            bar.set_postfix(shown, refresh=False)
            if saving:
                with window.paused():
                    save(done)


class Window:
    """Loss and speed since the last line of metrics; the sum stays on the device until asked."""

    def __init__(self, device: torch.device) -> None:
        self.loss = torch.zeros((), device=device)
        self.norms: list[Tensor] = []  # of the gradients
        self.begin_anew()

    def begin_anew(self) -> None:
        self.loss.zero_()
        self.norms.clear()
        self.steps = self.examples = 0
        self.begin = time.perf_counter()

    def add(self, loss: Tensor, *, examples: int) -> None:
        self.loss += loss
        self.steps += 1
        self.examples += examples

    def close(self, ranks: Ranks, step: int, rate: float) -> Record:
        """The mean of the window; the next one begins. Every rank must ask.

        Here training waits for the device anyway, so here it looks whether all is finite, and all
        ranks see the same: a sum of norms is not finite if one of them is not.
        """
        total, norm = torch.stack([ranks.sum(self.loss), torch.stack(self.norms).sum()]).tolist()
        loss = total / self.steps
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
