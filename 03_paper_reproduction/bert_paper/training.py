"""The training loop: batches in, checkpoints and a curve out.

A step is a function of the weights, the optimiser's moments and its own number: the examples, the
masks and dropout all draw from (seed, step). So nothing but the weights and moments need saving,
and a run that was killed ends with the same bits as one that was not.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bert_corpus.pairs import PairDataset
from bert_paper.data import to_device
from bert_paper.device import mixed_precision
from bert_paper.masking import MaskingVocabulary, mask_tokens
from bert_paper.model import BertForPreTraining, pretraining_losses
from bert_paper.optimizer import clip_gradients, learning_rate
from bert_paper.settings import PretrainSettings
from bert_run.metrics import Record
from bert_run.progress import progress_bar
from bert_run.settings import MaskingRecipe

TensorBatch = dict[str, Tensor]


@dataclass(frozen=True)
class Task:
    """What a model is trained or measured on, and how it is masked."""

    dataset: PairDataset
    vocabulary: MaskingVocabulary
    recipe: MaskingRecipe
    seed: int
    device: torch.device
    precision: torch.dtype

    def batch(self, first: int, size: int) -> TensorBatch:
        """Masked examples first … first + size - 1, on the device."""
        pairs = to_device(self.dataset.batch(np.arange(first, first + size)), self.device)
        return mask_tokens(pairs, self.vocabulary, seed=self.seed, recipe=self.recipe)


def split_batch(batch: TensorBatch, size: int) -> list[TensorBatch]:
    """A batch in micro-batches of `size` rows, the last perhaps smaller."""
    rows = len(batch["input_ids"])
    return [{k: v[i : i + size] for k, v in batch.items()} for i in range(0, rows, size)]


def forward(model: BertForPreTraining, batch: TensorBatch) -> tuple[Tensor, Tensor]:
    return model(
        batch["input_ids"],
        batch["token_type_ids"],
        batch["attention_mask"],
        batch["masked_lm_positions"],
    )


def training_step(
    model: BertForPreTraining,
    optimizer: torch.optim.Optimizer,
    batch: TensorBatch,
    *,
    precision: torch.dtype,
    max_grad_norm: float,
    micro_batch_size: int | None = None,
) -> Tensor:
    """Gradients of the whole batch, one micro-batch after another, then one update.

    Returns both losses, (2,), still on the device: reading them would make a GPU wait.
    """
    rows = len(batch["input_ids"])
    mask_count = batch["masked_lm_weights"].sum()
    total = torch.zeros(2, device=batch["input_ids"].device)
    for part in split_batch(batch, micro_batch_size or rows):
        with mixed_precision(total.device, precision):
            logits = forward(model, part)
            losses = pretraining_losses(*logits, part, mask_count=mask_count, pair_count=rows)
        losses.total.backward()
        total += torch.stack([losses.mlm.detach(), losses.nsp.detach()])
    clip_gradients(model.parameters(), max_grad_norm)
    optimizer.step()
    optimizer.zero_grad()
    return total


class Window:
    """Losses and speed since the last line of metrics. Sums stay on the device until asked for."""

    def __init__(self, device: torch.device) -> None:
        self.losses = torch.zeros(2, device=device)
        self.steps = self.tokens = 0
        self.begin = time.perf_counter()

    def add(self, losses: Tensor, *, tokens: int) -> None:
        self.losses += losses
        self.steps += 1
        self.tokens += tokens

    def close(self) -> Record:
        """The means of the window; the next one begins."""
        mlm, nsp = (self.losses / self.steps).tolist()
        speed = round(self.tokens / (time.perf_counter() - self.begin))
        self.losses.zero_()
        self.steps = self.tokens = 0
        self.begin = time.perf_counter()
        return {"train_mlm_loss": mlm, "train_nsp_loss": nsp, "tokens_per_second": speed}

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Time in here is not training time."""
        before = time.perf_counter()
        yield
        self.begin += time.perf_counter() - before


@torch.no_grad()
def evaluate(
    model: BertForPreTraining, task: Task, *, examples: int, batch_size: int = 64
) -> Record:
    """Both losses in nats and both accuracies, over the first `examples` held-out pairs."""
    was_training = model.training
    model.eval()
    sums = torch.zeros(5, dtype=torch.float64, device=task.device)
    for first in range(0, examples, batch_size):
        batch = task.batch(first, min(batch_size, examples - first))
        with mixed_precision(task.device, task.precision):
            words, pairs = forward(model, batch)
            losses = pretraining_losses(words, pairs, batch)
        weights, labels = batch["masked_lm_weights"], batch["next_sentence_labels"]
        words_right = ((words.argmax(-1) == batch["masked_lm_ids"]) * weights).sum()
        pairs_right = (pairs.argmax(-1) == labels).sum()
        sums += torch.stack([losses.mlm * weights.sum(), words_right, weights.sum(),
                             losses.nsp * len(labels), pairs_right]).double()  # fmt: skip
    model.train(was_training)
    mlm, words_right, masks, nsp, pairs_right = sums.tolist()
    return {
        "heldout_mlm_loss": mlm / masks,
        "heldout_mlm_accuracy": words_right / masks,
        "heldout_nsp_loss": nsp / examples,
        "heldout_nsp_accuracy": pairs_right / examples,
    }


def train(
    model: BertForPreTraining,
    optimizer: torch.optim.Optimizer,
    tasks: list[tuple[Task, Task]],
    settings: PretrainSettings,
    *,
    peak_rate: float,
    start: int,
    record: Callable[[Record], None],
    save: Callable[[int], None],
) -> None:
    """Steps `start` … `settings.steps` - 1.

    Each of `settings.phases` has its tasks: what is trained on, and held-out text of the same
    length. `record` receives metrics as they come, `save` the number of steps done.
    """
    phases = [(phase, *pair) for phase, pair in zip(settings.phases, tasks, strict=True)]
    log_every = max(1, min(50, settings.steps // 100))
    stepping = torch.compile(model) if settings.compile else model
    window = Window(tasks[0][0].device)
    bar = progress_bar(settings.steps, "pretraining", unit="step", initial=start)
    shown: dict[str, str] = {}
    model.train()
    for step in range(start, settings.steps):
        phase, task, heldout = next(entry for entry in phases if step < entry[0].last_step)
        torch.manual_seed(settings.seed * 1_000_003 + step)  # dropout
        rate = learning_rate(
            step, peak=peak_rate, warmup_steps=settings.warmup, total_steps=settings.steps
        )
        for group in optimizer.param_groups:
            group["lr"] = rate
        losses = training_step(
            stepping,
            optimizer,
            task.batch(phase.first_example_of(step), phase.batch_size),
            precision=task.precision,
            max_grad_norm=settings.max_grad_norm,
            micro_batch_size=settings.micro_batch_size,
        )
        window.add(losses, tokens=phase.batch_size * phase.seq_length)
        done = step + 1
        bar.update()
        if done % log_every == 0 or done == settings.steps:
            entry = window.close()
            record({"step": done, **entry, "learning_rate": rate})
            shown |= {
                "mlm": f"{entry['train_mlm_loss']:.3f}",
                "nsp": f"{entry['train_nsp_loss']:.3f}",
                "tok/s": f"{entry['tokens_per_second']:,}",
            }
            bar.set_postfix(shown, refresh=False)
        if done % settings.evaluation_interval == 0 or done == settings.steps:
            with window.paused():
                measured = evaluate(model, heldout, examples=settings.eval_examples)
            record({"step": done, **measured})
            shown["held-out mlm"] = f"{measured['heldout_mlm_loss']:.3f}"
        if done % settings.saving_interval == 0 or done == settings.steps:
            with window.paused():
                save(done)
    bar.close()
