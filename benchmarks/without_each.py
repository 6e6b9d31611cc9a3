"""What each of the ways in which level 3 is fast brings: a training step without it.

    python benchmarks/without_each.py [--out results/without_each.md]

Every run is a process of its own, in which one thing is as it would be by itself; the ways take
turns. Beside what was measured stands why it should matter.
"""

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import bert_run.cpu

STEPS, WARM_UP = 9, 4
D2L = "d2l's setting, bf16"
TINY = "`tiny`, 30,522 words, {}"


# In the process of a run; torch is imported there, after what is to be settled before it.


def nothing() -> None:
    """As level 3 comes."""


def memory_goes_back() -> None:
    bert_run.cpu.keep_freed_memory = nothing


def every_token_through_the_head() -> None:
    """The same loss from the logits of all positions, those not asked for with a weight of 0."""
    import numpy as np
    from bench_sections import levels

    def read_batch(folder: Path) -> dict:
        batch = read_masked(folder)
        rows, seq = batch["input_ids"].shape
        kept = batch["masked_lm_weights"] > 0
        row, slot = kept.nonzero()
        place = row, batch["masked_lm_positions"][row, slot]
        ids, weights = np.zeros((rows, seq), np.int64), np.zeros((rows, seq), np.float32)
        ids[place], weights[place] = batch["masked_lm_ids"][row, slot], 1.0
        everywhere = np.tile(np.arange(seq), (rows, 1))
        return batch | {"masked_lm_positions": everywhere, "masked_lm_ids": ids,
                        "masked_lm_weights": weights}  # fmt: skip

    read_masked, levels.read_batch = levels.read_batch, read_batch


def logits_at_once() -> None:
    from bert_paper import word_loss

    word_loss.LARGE = math.inf


def dropout_of_torch() -> None:
    import torch.nn.functional as F

    from bert_paper import cpu_kernels

    cpu_kernels.dropout = lambda x, prob: F.dropout(x, prob)


def attention_of_torch() -> None:
    import torch.nn.functional as F

    from bert_paper import cpu_kernels

    cpu_kernels.attention = lambda query, key, value, mask, prob: F.scaled_dot_product_attention(
        query, key, value, mask, prob
    )


def adam_written_out() -> None:
    from bench_sections import levels

    levels.make_optimizer = partial(swapped, levels.make_optimizer)


def swapped(make_optimizer: Callable, model: object, settings: object, *, name: str) -> object:
    return make_optimizer(model, settings, name="bert-adam")


@dataclass(frozen=True)
class Way:
    """What is left out, and why that should cost time."""

    why: str
    change: Callable[[], None] = nothing
    early: bool = False  # before torch is imported
    environment: dict[str, str] = field(default_factory=dict)
    cases: tuple[str, ...] = (TINY.format("fp32"), TINY.format("bf16"), D2L)


WAYS = {
    "as it is": Way("–"),
    "head on masked positions alone": Way(
        "15% of the positions go through the word head, which is 56% of the operations even so",
        every_token_through_the_head, cases=(TINY.format("fp32"), TINY.format("bf16"))),
    "freed memory kept": Way("hundreds of megabytes are asked for in every step, and a page that "
                             "is touched for the first time is slow", memory_goes_back, early=True),
    "large pages": Way("a page of 2 MiB is given once where 512 small ones are",
                       environment={"THP_MEM_ALLOC_ENABLE": "0"}),
    "word loss in blocks": Way("the logits and two arrays like them are written and read once each",
                               logits_at_once),
    "dropout's own draws": Way("one draw of the generator settles four numbers",
                               dropout_of_torch),
    "attention's own road": Way("torch has no fused kernel with dropout on a CPU, and none that is "
                                "fast in bfloat16", attention_of_torch),
    "fused AdamW": Way("one pass over weights, gradients and moments, not one for each operation",
                       adam_written_out),
}  # fmt: skip


def child(folder: Path, precision: str, left_out: str) -> None:
    """One run; prints the seconds of a step."""
    way = WAYS[left_out]
    if way.early:
        way.change()
    from bench_sections.levels import level_3

    if not way.early:
        way.change()
    step = level_3(folder, precision=precision)
    taken = []
    for _ in range(STEPS):
        begin = time.perf_counter()
        step()
        taken.append(time.perf_counter() - begin)
    print(json.dumps(statistics.median(taken[WARM_UP:])))


# In the process that measures.


def run(folder: Path, precision: str, left_out: str) -> float:
    call = [sys.executable, __file__, "--child", str(folder), precision, left_out]
    environment = {**os.environ, **WAYS[left_out].environment}
    done = subprocess.run(call, check=True, capture_output=True, text=True, env=environment)
    return json.loads(done.stdout)


def measure(case: str, rounds: int) -> dict[str, list[float]]:
    """Seconds of a step in each round, without each of them."""
    from bench_sections.models import Work, d2l_config, sized, write_work

    from bert_run.progress import progress_bar

    work = Work(d2l_config(), 512, 64) if case == D2L else Work(sized("tiny", 30_522), 32, 128)
    found = {name: [] for name, way in WAYS.items() if case in way.cases}
    with (
        tempfile.TemporaryDirectory() as folder,
        progress_bar(len(found) * rounds, case, unit="run") as bar,
    ):
        write_work(Path(folder), work)
        for _ in range(rounds):
            for name, seconds in found.items():
                seconds.append(run(Path(folder), case.rpartition(", ")[2], name))
                bar.update()
    return found


def cell(found: dict[str, list[float]], name: str) -> str:
    """Milliseconds, and how many times as long as it is; the least and the most of the rounds."""
    if name not in found:
        return "not measured"
    as_it_is = found["as it is"]
    times = [one / other for one, other in zip(found[name], as_it_is, strict=True)]
    shown = f"{1e3 * statistics.median(found[name]):,.0f} ms"
    if found[name] is as_it_is:
        return shown
    return f"{shown}, **{statistics.median(times):.2f}** ({min(times):.2f}–{max(times):.2f})"


def page(rounds: int) -> str:
    import torch

    cases = WAYS["as it is"].cases
    found = {case: measure(case, rounds) for case in cases}
    rows = [f"| {name} | {way.why} | {' | '.join(cell(found[case], name) for case in cases)} |"
            for name, way in WAYS.items()]  # fmt: skip
    return "\n".join([
        "# A step without each of the ways in which level 3 is fast",
        "",
        f"Made by `python benchmarks/without_each.py --out results/without_each.md --rounds "
        f"{rounds}` on {torch.get_num_threads()} threads of a {platform.machine()} CPU; "
        f"Python {platform.python_version()}, torch {torch.__version__}.",
        "",
        "A training step on a CPU with one thing left out at a time: milliseconds, and how many "
        f"times as long as with it (the least and the most of {rounds} rounds). A time is the "
        f"median of the steps of a process after the {WARM_UP}th, then of the processes; `tiny` "
        "with 32 rows of 128, d2l's setting with 512 rows of 64.",
        "",
        f"| without | which should matter because | {' | '.join(cases)} |",
        "|---" * (2 + len(cases)) + "|",
        *rows,
        "",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the page here too")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        folder, precision, left_out = arguments.child
        return child(Path(folder), precision, left_out)
    text = page(arguments.rounds)
    print(text)
    if arguments.out is not None:
        from bert_run.files import write_atomically

        write_atomically(arguments.out, text)


if __name__ == "__main__":
    sys.exit(main())
