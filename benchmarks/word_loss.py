"""What a training step gains when the logits of the masked words never all exist.

    python benchmarks/word_loss.py [--out results/word_loss.md]

Level 3 with all logits at once, as a small vocabulary has them, and in blocks
(`bert_paper/word_loss.py`). Every run is a process of its own, so that the first step finds all its
memory fresh; the two ways take turns.
"""

import argparse
import json
import math
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bert_paper  # noqa: F401 - sets how torch treats the CPU, so it comes before torch

# isort: split
import torch
from bench_sections.levels import level_3
from bench_sections.machine import peak_resident, resident
from bench_sections.models import Work, d2l_config, sized, write_work

from bert_paper import word_loss
from bert_run.files import write_atomically
from bert_run.progress import progress_bar

CASES = {
    "d2l's setting": Work(d2l_config(), 512, 64),
    "`tiny`, 30,522 words": Work(sized("tiny", 30_522), 32, 128),
}
PRECISIONS = ("fp32", "bf16")
STEPS, WARM_UP = 12, 4
AT_ONCE, IN_BLOCKS = "at once", "in blocks"


def child(folder: Path, precision: str, way: str) -> None:
    """One run; prints the seconds of the first step and of a later one, and bytes at the peak."""
    word_loss.LARGE = math.inf if way == AT_ONCE else 0
    at_rest = resident()
    step = level_3(folder, precision=precision)
    taken = []
    for _ in range(STEPS):
        begin = time.perf_counter()
        step()
        taken.append(time.perf_counter() - begin)
    later = statistics.median(taken[WARM_UP:])
    print(json.dumps({"first": taken[0], "later": later, "bytes": peak_resident() - at_rest}))


def run(folder: Path, precision: str, way: str) -> dict[str, float]:
    call = [sys.executable, __file__, "--child", str(folder), precision, way]
    return json.loads(subprocess.run(call, check=True, capture_output=True, text=True).stdout)


def measure(work: Work, precision: str, rounds: int, name: str) -> dict[str, list[dict]]:
    found: dict[str, list[dict]] = {AT_ONCE: [], IN_BLOCKS: []}
    with (
        tempfile.TemporaryDirectory() as folder,
        progress_bar(2 * rounds, f"{name}, {precision}", unit="run") as bar,
    ):
        write_work(Path(folder), work)
        for _ in range(rounds):
            for way, runs in found.items():
                runs.append(run(Path(folder), precision, way))
                bar.update()
    return found


def row(name: str, precision: str, way: str, found: dict[str, list[dict]]) -> str:
    of_each = {what: [one[what] for one in found[way]] for what in found[way][0]}
    first, later = statistics.median(of_each["first"]), statistics.median(of_each["later"])
    shown = " | ".join(f"{1e3 * value:,.0f} ({1e3 * low:,.0f}–{1e3 * high:,.0f})"
                       for value, low, high in (
                           (first, min(of_each["first"]), max(of_each["first"])),
                           (later, min(of_each["later"]), max(of_each["later"])),
                       ))  # fmt: skip
    memory = statistics.median(of_each["bytes"]) / 1e6
    return f"| {name} | {precision} | {way} | {shown} | {memory:,.0f} MB |"


def page(rounds: int) -> str:
    rows = []
    for name, work in CASES.items():
        for precision in PRECISIONS:
            found = measure(work, precision, rounds, name)
            rows += [row(name, precision, way, found) for way in found]
    return "\n".join([
        "# The word loss without all logits at once",
        "",
        f"Made by `python benchmarks/word_loss.py --out results/word_loss.md --rounds {rounds}` on "
        f"{torch.get_num_threads()} threads of a {platform.machine()} CPU; "
        f"Python {platform.python_version()}, torch {torch.__version__}.",
        "",
        f"A training step of level 3, both losses, backward, clipping, AdamW; {rounds} processes "
        f"of each kind in turns, {STEPS} steps in each. “Later” is the median of a process's steps "
        f"after the {WARM_UP}th. Medians over the processes, in brackets the least and the most. "
        "Memory is the most that the process held, less what its libraries took.",
        "",
        "| | precision | logits | first step, ms | later, ms | memory |",
        "|---" * 6 + "|",
        *rows,
        "",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the page here too")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        folder, precision, way = arguments.child
        return child(Path(folder), precision, way)
    text = page(arguments.rounds)
    print(text)
    if arguments.out is not None:
        write_atomically(arguments.out, text)


if __name__ == "__main__":
    sys.exit(main())
