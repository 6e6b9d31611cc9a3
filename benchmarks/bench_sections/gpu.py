"""On a machine with a GPU, `benchmarks/gpu_pretrain.py` and its page; elsewhere a line."""

import subprocess
import sys

from bench_sections.machine import ROOT
from bench_sections.saved import Saved
from bert_run.errors import UserError

SECTION = "gpu"
PAGE = "results/gpu_pretrain.md"
SEES_ONE = "import sys, torch; sys.exit(not torch.cuda.is_available())"


def has_gpu() -> bool:
    """Asked in a process of its own: this one never loads torch."""
    return subprocess.run([sys.executable, "-c", SEES_ONE]).returncode == 0


def run(saved: Saved, *, rounds: int, full: bool) -> None:
    if not has_gpu():
        print("gpu: not measured, torch sees no GPU here", file=sys.stderr)
        return
    if saved.quick:
        print("gpu: not measured with --quick", file=sys.stderr)
        return
    done = subprocess.run([sys.executable, "benchmarks/gpu_pretrain.py", "--out", PAGE], cwd=ROOT)
    if done.returncode:
        raise UserError("benchmarks/gpu_pretrain.py failed: see its message above")
    saved.put(SECTION, "page", {"page": PAGE})
