"""Section 4: time and memory as the work grows, one size at a time.

Text: a token store of 1, 10 and 100 MB, each built in a process of its own. A step of level 3,
`mini` with a vocabulary of 8,192, float32: longer rows, more layers, more rows; each point in a
process of its own, so that its memory is its own. Ranks: the same batch on one process and on two,
a thread each, joined by gloo.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench_sections import store
from bench_sections.children import Contestant, measure_group
from bench_sections.machine import environment
from bench_sections.models import Work, sized, write_work
from bench_sections.saved import Saved
from bench_sections.steps import operations
from bert_corpus.wordpiece import save_tokenizer
from bert_run.errors import UserError
from bert_run.training_loop import progress_bar

SECTION = "cost"
ROWS, SEQ, VOCABULARY = 8, 128, 8192
AXES = {
    "length": (64, 128, 256, 512),
    "layers": (1, 2, 4, 8),
    "batch": (4, 8, 16, 32, 64),
}
TEXT = (1, 10, 100)  # MB
RANKS = (1, 2)
TOKENIZER_MB = 1


def work_at(axis: str, value: int, *, quick: bool) -> Work:
    config = sized("tiny" if quick else "mini", 1_000 if quick else VOCABULARY)
    if axis == "layers":
        config = config.with_changes(num_hidden_layers=value)
    rows = value if axis == "batch" else 2 if quick else ROWS
    return Work(config, rows, value if axis == "length" else SEQ)


def measure_step(axis: str, value: int, *, quick: bool, rounds: int) -> dict:
    work = work_at(axis, value, quick=quick)
    contestant = Contestant("level 3", "level 3", {"precision": "fp32"})
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        write_work(Path(folder), work)
        found = measure_group([contestant], Path(folder), rounds=rounds)["level 3"]
    return {"axis": axis, "value": value, "seconds": found["seconds"], "bytes": found.get("peak"),
            "failure": found["failure"], "operations": operations(work) * work.tokens}  # fmt: skip


def measure_text(megabytes: int, *, quick: bool) -> dict:
    """The vocabulary is that of the first megabyte, so that only the text grows."""
    million = store.MEGABYTE // (20 if quick else 1)
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        small, text = folder / "small.txt", folder / "stories.txt"
        store.write_stories(small, TOKENIZER_MB * million)
        store.write_stories(text, megabytes * million)
        save_tokenizer(store.train_tokenizer(small), folder / "tokenizer")
        found = store.build_apart(text, folder / "tokenizer", folder / "store")
        size = text.stat().st_size
    return {"axis": "text", "value": megabytes, "seconds": [found["seconds"]],
            "bytes": found["peak"], "failure": None, "operations": size}  # fmt: skip


def measure_ranks(ranks: int, *, quick: bool, rounds: int) -> dict:
    """The slowest rank's seconds, and the largest rank's bytes."""
    work = work_at("batch", 2 if quick else 32, quick=quick)
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        write_work(folder, work)
        done = subprocess.run(
            [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
             str(ranks), "-m", "bench_sections.ranks", str(folder), str(rounds)],
            env=environment(OMP_NUM_THREADS="1"), capture_output=True, text=True, timeout=1200,
        )  # fmt: skip
        if done.returncode:
            raise UserError(f"torchrun with {ranks} processes failed: {last_line(done.stderr)}")
        found = [json.loads(path.read_text()) for path in sorted(folder.glob("rank-*.json"))]
    seconds = [max(each) for each in zip(*(one["seconds"] for one in found), strict=True)]
    return {"axis": "ranks", "value": ranks, "seconds": seconds, "failure": None,
            "bytes": max(one["peak"] for one in found),
            "operations": operations(work) * work.tokens / ranks}  # fmt: skip


def last_line(errors: str) -> str:
    lines = [line for line in errors.splitlines() if "Error" in line]
    return lines[0].strip()[:200] if lines else "it said nothing"


def points(*, quick: bool, rounds: int) -> dict[str, Callable[[], dict]]:
    """What to measure, under the names it is kept by."""
    few = max(2, rounds // 2)
    todo: dict[str, Callable[[], dict]] = {}
    for axis, values in AXES.items():
        for value in values[:2] if quick else values:
            todo[f"{axis}-{value}"] = (
                lambda axis=axis, value=value: measure_step(axis, value, quick=quick, rounds=few)
            )  # fmt: skip
    for ranks in RANKS:
        todo[f"ranks-{ranks}"] = (
            lambda ranks=ranks: measure_ranks(ranks, quick=quick, rounds=few))  # fmt: skip
    for megabytes in TEXT[:2] if quick else TEXT:
        todo[f"text-{megabytes}"] = (
            lambda megabytes=megabytes: measure_text(megabytes, quick=quick))  # fmt: skip
    return todo


def run(saved: Saved, *, rounds: int, full: bool) -> None:
    todo = points(quick=saved.quick, rounds=rounds)
    done = sum(saved.get(SECTION, name) is not None for name in todo)
    with progress_bar(len(todo), "cost as work grows", unit="point", initial=done) as bar:
        for name, measure in todo.items():
            if saved.get(SECTION, name) is None:
                bar.set_postfix_str(name)
                saved.put(SECTION, name, measure())
                bar.update()
