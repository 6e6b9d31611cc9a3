"""A full training step of level 1, NumPy, beside level 2, eager PyTorch, in float32 on this CPU.

    python benchmarks/numpy_step.py [--out results/numpy_step.md]

Both get the same weights and the same masked batch: 2 layers, hidden 128, 2 heads, feed-forward
256, batch 512, length 64, a vocabulary of 20,000 (the tiny setting of d2l). A step is the forward,
the backward, global clipping and Adam. Steps alternate, so that whatever else the machine does
strikes both; the ratio is the median over the rounds, with the quartiles as spread. Memory is the
largest resident size of a process of its own that does three steps, less what it had before.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import bert_lowlevel  # noqa: F401 - sets how torch treats the CPU, so it comes before torch

# isort: split
import numpy as np
import torch
from bench_sections.models import Work, make_batch

from bert_lowlevel import model as lowlevel
from bert_numpy.encoder import Bert
from bert_numpy.optimizer import Adam, clip_gradients
from bert_numpy.training import Cores, batch_gradients
from bert_run.config import BertConfig
from bert_run.files import write_atomically
from bert_run.parameters import initial_weights, is_decayed
from bert_run.progress import progress_bar
from bert_run.settings import AdamSettings

BATCH, SEQ, VOCAB = 512, 64, 20_000
WARM_UP = 2
RATE = 1e-3
MEBIBYTE = 2**20


def make_config(dropout: float) -> BertConfig:
    return BertConfig(
        vocab_size=VOCAB,
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=256,
        max_position_embeddings=SEQ,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )


def numpy_step(dropout: float, cores: Cores) -> Callable[[], float]:
    config = make_config(dropout)
    batch = make_batch(Work(config, BATCH, SEQ))
    weights = initial_weights(config, 0)
    adam = Adam.start(weights, AdamSettings(), correct_bias=True)

    def step() -> float:
        losses, gradients = batch_gradients(
            Bert(config, weights), batch, cores, dropout_seed=[0, adam.step] if dropout else None
        )
        clip_gradients(gradients.of, 1.0)
        adam.update(weights, gradients.of, learning_rate=RATE)
        return losses.total

    return step


def torch_step(dropout: float) -> Callable[[], float]:
    config = make_config(dropout)
    batch = {
        name: torch.from_numpy(array)
        for name, array in make_batch(Work(config, BATCH, SEQ)).items()
    }
    weights = lowlevel.to_tensors(initial_weights(config, 0))
    groups = [
        {"params": [w for n, w in weights.items() if is_decayed(n)], "weight_decay": 0.01},
        {"params": [w for n, w in weights.items() if not is_decayed(n)], "weight_decay": 0.0},
    ]
    adam = torch.optim.AdamW(groups, lr=RATE, eps=1e-6, fused=True)
    bert = lowlevel.Bert(config, weights, training=dropout > 0)

    def step() -> float:
        losses = lowlevel.pretraining_losses(lowlevel.logits(bert, batch), batch)
        losses.total.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
        adam.step()
        adam.zero_grad()
        return losses.total.item()

    return step


def speed(dropout: float, rounds: int) -> dict:
    """Seconds a step of both, in turn."""
    times: dict[str, list[float]] = {"numpy": [], "torch": []}
    with Cores() as cores:
        steps = {"numpy": numpy_step(dropout, cores), "torch": torch_step(dropout)}
        losses = {}
        for number in progress_bar_of(rounds + WARM_UP, f"steps, dropout {dropout}"):
            for name, step in steps.items():
                begin = time.perf_counter()
                losses[name] = step()
                if number >= WARM_UP:
                    times[name].append(time.perf_counter() - begin)
    ratios = [ours / theirs for ours, theirs in zip(times["numpy"], times["torch"], strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    return {
        "numpy": statistics.median(times["numpy"]),
        "torch": statistics.median(times["torch"]),
        "ratio": middle,
        "spread": (low, high),
        "losses": losses,
    }


def progress_bar_of(count: int, description: str):
    bar = progress_bar(count, description, unit="round")
    for number in range(count):
        yield number
        bar.update()
    bar.close()


def peak_memory(which: str) -> int:
    """Bytes that three steps need at most, measured in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--measure-memory", which],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def measure_memory(which: str) -> None:
    with Cores() as cores:
        step = numpy_step(0.1, cores) if which == "numpy" else torch_step(0.1)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(3):
            step()
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print((after - before) * 1024)


def report(cases: dict[float, dict], memory: dict[str, int], rounds: int) -> str:
    rows = "\n".join(
        f"| {dropout} | {case['numpy'] * 1e3:,.0f} ms | {case['torch'] * 1e3:,.0f} ms | "
        f"{case['ratio']:.2f} | {case['spread'][0]:.2f}–{case['spread'][1]:.2f} |"
        for dropout, case in cases.items()
    )
    ours, theirs = memory["numpy"] / MEBIBYTE, memory["torch"] / MEBIBYTE
    return f"""# A training step in NumPy

```
python benchmarks/numpy_step.py --out results/numpy_step.md
```

{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()},
NumPy {np.__version__}, torch {torch.__version__}, float32. Two layers, hidden 128, 2 heads,
feed-forward 256, batch {BATCH}, length {SEQ}, vocabulary {VOCAB:,}: forward, backward, clipping and
Adam; the same weights and the same batch. Level 2 is eager PyTorch with `F.linear`,
`F.layer_norm` and SDPA. Medians of {rounds} rounds in turn; the spread is the quartiles of the
rounds' ratios.

| dropout | level 1, NumPy | level 2, PyTorch | NumPy / PyTorch | spread |
|---|---|---|---|---|
{rows}

Memory of a step at its peak, dropout 0.1: NumPy {ours:,.0f} MiB, PyTorch {theirs:,.0f} MiB
({ours / theirs:.2f} times).
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=Path, help="write the table here too")
    parser.add_argument("--measure-memory", choices=("numpy", "torch"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure_memory:
        measure_memory(options.measure_memory)
        return
    memory = {which: peak_memory(which) for which in ("numpy", "torch")}
    cases = {dropout: speed(dropout, options.rounds) for dropout in (0.0, 0.1)}
    text = report(cases, memory, options.rounds)
    print(text)
    print("losses of the last step:", {d: case["losses"] for d, case in cases.items()})
    if options.out:
        write_atomically(options.out, text)


if __name__ == "__main__":
    main()
