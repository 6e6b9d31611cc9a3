"""Kills a pretraining run twenty times at random moments, and looks whether that left a trace.

    python benchmarks/kill_and_resume.py [--kills 20] [--ranks 1 2] [--out FILE]

Each run saves often, so that kills fall into saves too. After each kill every checkpoint that
stands there must be whole; at the end the weights and the optimizer's state must be those, bit for
bit, of a run that nobody touched. Linux only: it finds a run's processes in /proc.
"""

import argparse
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file

from bert_experiments.report.page import check_report
from bert_run.errors import UserError, command
from bert_run.files import find_damage, write_atomically
from bert_run.training_loop import progress_bar

STEPS, SAVE_EVERY = 400, 4
OPTIONS = ["--documents", "400", "--vocab-size", "1000", "--hidden-size", "32", "--num-layers", "2",
           "--num-attention-heads", "2", "--seq-length", "32", "--max-position-embeddings", "32",
           "--batch-size", "8", "--steps", str(STEPS), "--save-every", str(SAVE_EVERY),
           "--eval-every", "100", "--eval-examples", "64", "--device", "cpu", "--precision",
           "fp32"]  # fmt: skip


def start(out: Path, ranks: int, parallel: str) -> subprocess.Popen:
    launcher = [sys.executable, "-m"]
    if ranks > 1:
        launcher += ["torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), "-m"]
    return subprocess.Popen(
        [*launcher, "bert_paper.pretrain", *OPTIONS, "--out", str(out), "--parallel", parallel],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def kill(process: subprocess.Popen) -> None:
    """SIGKILL, all processes of a run at once: torchrun's are in sessions of their own."""
    pids = [process.pid]
    for listed in Path(f"/proc/{process.pid}/task").glob("*/children"):
        pids += map(int, listed.read_text().split())
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    process.communicate()


def saved(out: Path) -> list[Path]:
    return sorted((out / "checkpoints").glob("step-*"))


def step_of(out: Path) -> int:
    return int(saved(out)[-1].name.removeprefix("step-")) if saved(out) else 0


def state(out: Path) -> dict[str, np.ndarray]:
    newest = saved(out)[-1]
    return load_file(newest / "model.safetensors") | load_file(
        newest / "training_state.safetensors"
    )


def finish(process: subprocess.Popen) -> None:
    """Wait for a run; raises `UserError`, with what it said, if it failed."""
    errors = process.communicate()[1]
    if process.returncode != 0:
        said = [line for line in errors.splitlines() if line.startswith("error: ")]
        raise UserError(f"a run of this benchmark failed: {(said or [errors])[0].strip()}")


def measure(ranks: int, parallel: str, kills: int, folder: Path) -> str:
    """One row of the table."""
    untouched, killed = (
        folder / f"untouched-{ranks}-{parallel}",
        folder / f"killed-{ranks}-{parallel}",
    )
    finish(start(untouched, ranks, parallel))
    draw = random.Random(0)
    in_a_save = 0
    with progress_bar(kills, f"{ranks} × {parallel}", unit="kill") as bar:
        for number in range(kills):
            process = start(killed, ranks, parallel)
            goal = max(step_of(killed) + SAVE_EVERY, STEPS * (number + 1) // (kills + 2))
            while step_of(killed) < goal:
                if process.poll() is not None:
                    finish(process)
                    raise UserError(f"--kills is {kills}: the run was done after {number} of them")
                time.sleep(0.001)
            time.sleep(draw.uniform(0, 0.4))  # a step, a save or the curve that follows it
            kill(process)
            in_a_save += any(killed.rglob(".*.part"))
            for checkpoint in saved(killed):
                assert find_damage(checkpoint) is None, checkpoint
            bar.update()
    finish(start(killed, ranks, parallel))
    expected, found = state(untouched), state(killed)
    same = expected.keys() == found.keys() and all(
        np.array_equal(array, found[name]) for name, array in expected.items()
    )
    kind = "one process" if ranks == 1 else f"{ranks} ranks, {parallel}"
    return f"| {kind} | {kills} | {in_a_save} | 0 | {'yes' if same else '**no**'} |"


@command
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--out", type=Path, help="write the table here too")
    arguments = parser.parse_args()
    for option, value in (("--kills", arguments.kills), ("--ranks", min(arguments.ranks))):
        if value < 1:
            raise UserError(f"{option} is {value}: it must be 1 or more")
    check_report(arguments.out, "benchmarks/kill_and_resume.py", with_picture=False,
                 with_figures=False, option="--out")  # fmt: skip
    folder = Path(tempfile.mkdtemp())
    runs = [(ranks, kind) for ranks in arguments.ranks
            for kind in (("ddp", "fsdp") if ranks > 1 else ("ddp",))]  # fmt: skip
    rows: list[str] = []
    try:
        for run in runs:
            rows.append(measure(*run, arguments.kills, folder))
            table = table_of(rows, arguments.kills)
            if arguments.out is not None:
                write_atomically(arguments.out, table)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(table)


def table_of(rows: list[str], kills: int) -> str:
    return "\n".join([
        "# Killed at random moments",
        "",
        "```",
        f"python benchmarks/kill_and_resume.py --kills {kills} --out results/kill_and_resume.md",
        "```",
        "",
        f"A small BERT is trained for {STEPS} steps with dropout and saves a checkpoint every "
        f"{SAVE_EVERY} steps. All its processes are killed at once with `kill -9`, then the same "
        f"command is run again. {os.cpu_count()} cores, {platform.system()}, Python "
        f"{platform.python_version()}, torch {torch.__version__}, gloo.",
        "",
        "| processes | kills | during a save | damaged checkpoints | final weights and moments "
        "identical, bit for bit, to those of an uninterrupted run |",
        "|---|---|---|---|---|",
        *rows,
        "",
    ])  # fmt: skip


if __name__ == "__main__":
    main()
