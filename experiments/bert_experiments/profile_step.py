"""`python -m bert_experiments.profile_step`: where the time of a training step goes.

First what each choice brings, one added to the next; then the last step but one, operation by
operation, beside the floating point operations that the model needs. `kept_for_backward` tells
what autograd keeps in memory between the forward and the backward pass.
"""

import os
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import torch
import tyro
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from bert_experiments.cost import floating_point_operations
from bert_lowlevel.model import (
    Bert,
    Logits,
    TensorBatch,
    dense,
    encode,
    logits,
    pretraining_losses,
    to_tensors,
    word_logits,
)
from bert_run.config import (
    PRESETS,
    BatchSize,
    BertConfig,
    Count,
    Positions,
    Vocabulary,
    check_numbers,
    initial_weights,
)
from bert_run.device import choose_device
from bert_run.errors import command
from bert_run.training_loop import progress_bar

# The kind of work that torch's operations do, by a part of their name; the first that fits.
KINDS = {
    "attention": ("scaled_dot_product", "flash"),
    "matrix products": ("mm", "matmul", "linear"),
    "softmax and losses": ("softmax", "nll_loss", "cross_entropy"),
    "layer norm": ("layer_norm",),
    "GELU": ("gelu",),
    "dropout": ("dropout", "bernoulli"),
    "embedding": ("embedding", "index", "gather", "scatter"),
    "Adam and clipping": ("adam", "foreach", "norm"),
    "copies and casts": ("copy_", "_to_copy", "clone", "cat"),
}


@dataclass(frozen=True)
class Step:
    """How one training step is computed."""

    attention: Literal["by-hand", "fused"] = "by-hand"
    gathered: bool = False  # only masked positions go through the MLM head
    precision: torch.dtype = torch.float32
    compiled: bool = False


STEPS = {
    "attention by hand, every position through the head": Step(),
    "+ fused attention": Step("fused"),
    "+ only masked positions": Step("fused", gathered=True),
    "+ bfloat16 products": Step("fused", gathered=True, precision=torch.bfloat16),
    "+ torch.compile": Step("fused", gathered=True, precision=torch.bfloat16, compiled=True),
}


@dataclass(frozen=True)
class ProfileSettings:
    """Time a training step on made-up tokens, one improvement after another, and profile it."""

    model: Literal["tiny", "mini", "small", "medium", "base", "large"] = "tiny"
    vocab_size: Vocabulary = 30522
    batch_size: BatchSize = 32
    seq_length: Positions = 128
    steps: Count = 7
    """steps that are timed, after two that are not; the median counts"""
    device: str = "cpu"
    """auto, cpu, cuda or cuda:N"""
    compile: bool = True
    """time torch.compile too (--no-compile leaves it out: the first step takes a minute)"""

    def __post_init__(self) -> None:
        check_numbers(self)
        object.__setattr__(self, "device", str(choose_device(self.device)))  # what auto is here

    def config(self) -> BertConfig:
        preset = PRESETS[self.model]
        positions = max(preset.max_position_embeddings, self.seq_length)
        return preset.with_changes(vocab_size=self.vocab_size, max_position_embeddings=positions)


def make_batch(settings: ProfileSettings) -> TensorBatch:
    """Random tokens without padding, 15% of the positions asked for."""
    generator = torch.Generator().manual_seed(0)
    shape = (settings.batch_size, settings.seq_length)
    masks = max(1, round(0.15 * settings.seq_length))

    def draw(limit: int, *size: int) -> Tensor:
        return torch.randint(0, limit, size, generator=generator)

    batch = {
        "input_ids": draw(settings.vocab_size, *shape),
        "token_type_ids": draw(2, *shape),
        "attention_mask": torch.ones(shape, dtype=torch.int64),
        "masked_lm_positions": torch.rand(shape, generator=generator).argsort(1)[:, :masks],
        "masked_lm_ids": draw(settings.vocab_size, settings.batch_size, masks),
        "masked_lm_weights": torch.ones(settings.batch_size, masks),
        "next_sentence_labels": draw(2, settings.batch_size),
    }
    return {name: tensor.to(settings.device) for name, tensor in batch.items()}


def logits_of_all(bert: Bert, batch: TensorBatch) -> Logits:
    """The same scores the long way: those of every token first, then the masked ones picked."""
    output = encode(bert, batch)
    words = word_logits(bert, output.hidden_states[-1])  # (batch, seq, vocab)
    places = batch["masked_lm_positions"][:, :, None].expand(-1, -1, words.shape[-1])
    return Logits(words.gather(1, places), dense(bert, "cls.seq_relationship", output.pooled))


def make_step(step: Step, settings: ProfileSettings) -> Callable[[], None]:
    """One whole training step: forward, backward, clipping, Adam."""
    config, batch = settings.config(), make_batch(settings)
    weights = to_tensors(initial_weights(config, 0), settings.device)
    bert = Bert(config, weights, training=True, attention=step.attention)
    adam = torch.optim.AdamW(weights.values(), lr=1e-4, fused=True)
    forward = logits if step.gathered else logits_of_all
    device_type = settings.device.partition(":")[0]

    def loss() -> Tensor:
        return pretraining_losses(forward(bert, batch), batch).total

    loss = torch.compile(loss) if step.compiled else loss

    def run() -> None:
        with torch.autocast(device_type, step.precision, step.precision != torch.float32):
            total = loss()
        total.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
        adam.step()
        adam.zero_grad()
        if device_type == "cuda":
            torch.cuda.synchronize()

    return run


def seconds(run: Callable[[], None], steps: int) -> float:
    """The median of `steps` steps, after two."""
    times = []
    for number in range(steps + 2):
        begin = time.perf_counter()
        run()
        if number >= 2:
            times.append(time.perf_counter() - begin)
    return statistics.median(times)


def kind_of(operation: str) -> str:
    name = operation.lower()
    return next((kind for kind, parts in KINDS.items() if any(p in name for p in parts)), "other")


@contextmanager
def no_remarks() -> Iterator[None]:
    """The profiler writes to stderr, beneath Python, and no setting keeps it quiet."""
    stderr, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(nowhere)


def profile(run: Callable[[], None], device_type: str) -> dict[str, float]:
    """Seconds of one step by kind of work, largest first; each operation's own time alone."""
    activity = torch.profiler.ProfilerActivity
    on_gpu = device_type == "cuda"
    device = activity.CUDA if on_gpu else activity.CPU
    with no_remarks(), torch.profiler.profile(activities=[device]) as found:
        run()
    times: Counter[str] = Counter()
    for event in found.key_averages():
        own = event.self_device_time_total if on_gpu else event.self_cpu_time_total
        times[kind_of(event.key)] += own / 1e6
    return dict(times.most_common())


def kept_for_backward(
    forward: Callable[[], Tensor], *, owned: Iterable[Tensor] = ()
) -> dict[tuple[int, ...], int]:
    """Bytes that `forward` leaves for the backward pass, by the shape of what is kept, most first.

    A tensor that is kept twice, or seen in two shapes, is counted once. `owned` tensors, the
    weights and the batch, are there anyway and are not counted.
    """
    counted = {tensor.untyped_storage().data_ptr() for tensor in owned}
    sizes: Counter[tuple[int, ...]] = Counter()

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in counted:
            counted.add(storage.data_ptr())
            sizes[tuple(tensor.shape)] += storage.nbytes()
        return tensor

    with saved_tensors_hooks(note, lambda tensor: tensor):
        _result = forward()  # its graph holds what is kept, so that no address is used again
    return dict(sizes.most_common())


def report(settings: ProfileSettings) -> str:
    """Both tables, as Markdown."""
    lines = ["| a training step | time | speed relative to the first row |", "|---|---|---|"]
    steps = {name: step for name, step in STEPS.items() if settings.compile or not step.compiled}
    bar, first = progress_bar(len(steps), "timing", unit="way"), None
    for name, step in steps.items():
        taken = seconds(make_step(step, settings), settings.steps)
        first = first or taken
        lines.append(f"| {name} | {taken * 1e3:,.1f} ms | {first / taken:.2f} times |")
        bar.update()
    bar.close()

    run = make_step(STEPS["+ bfloat16 products"], settings)
    taken = seconds(run, settings.steps)
    by_kind = profile(run, settings.device.partition(":")[0])
    total = sum(by_kind.values())
    title = f"Before compiling, by kind of work ({taken * 1e3:,.1f} ms without the profiler):"
    lines += ["", title, ""]
    lines += ["| kind of work | % of the time | time under the profiler |", "|---|---|---|"]
    lines += [f"| {k} | {t / total:.0%} | {t * 1e3:,.1f} ms |" for k, t in by_kind.items()]

    tokens = settings.batch_size * settings.seq_length
    asked = max(1, round(0.15 * settings.seq_length)) / settings.seq_length
    needed = floating_point_operations(
        settings.config(), seq_length=settings.seq_length, asked=asked
    )
    lines += ["", "Floating-point operations that the model needs per step:", ""]
    lines += ["| part | operations | percentage |", "|---|---|---|"]
    whole = sum(needed.values())
    lines += [f"| {part} | {count * tokens / 1e9:,.2f} G | {count / whole:.0%} |"
              for part, count in needed.items()]  # fmt: skip
    rate = whole * tokens / taken
    lines += ["", f"The total is {whole * tokens / 1e9:,.1f} G, at {rate / 1e9:,.0f} GFLOP/s."]
    return "\n".join(lines)


@command
def main() -> None:
    print(report(tyro.cli(ProfileSettings, prog="python -m bert_experiments.profile_step")))


if __name__ == "__main__":
    main()
