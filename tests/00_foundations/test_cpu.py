"""How processes that compute with torch use memory and threads."""

import ctypes
import os
import subprocess
import sys

import pytest

# How many megabytes the process still holds of an array of 96 that it has freed.
KEPT = """
from pathlib import Path
from bert_run.cpu import configure_cpu
if {settled}:
    configure_cpu()
import torch

def resident():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))

torch.ones(2**10)
before = resident()
torch.ones(24 * 2**20)
print((resident() - before) // 1024)
"""
IS_GLIBC = sys.platform.startswith("linux") and hasattr(ctypes.CDLL(None), "mallopt")


def output_of(program: str, **environment: str) -> str:
    ours = ("THP_MEM_ALLOC_ENABLE", "GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    inherited = {name: value for name, value in os.environ.items() if name not in ours}
    done = subprocess.run([sys.executable, "-c", program], env={**inherited, **environment},
                          capture_output=True, text=True, check=True)  # fmt: skip
    return done.stdout.strip()


@pytest.mark.skipif(not IS_GLIBC, reason="another malloc, which is left alone")
def test_a_large_array_that_is_freed_is_there_for_the_next_one():
    """Without the settings an array of more than 32 MB goes back to the system."""
    assert int(output_of(KEPT.format(settled=True))) > 80
    assert int(output_of(KEPT.format(settled=False))) < 40


def test_what_the_user_has_set_stays():
    program = (
        "import os; from bert_run.cpu import configure_cpu; configure_cpu();"
        "print(os.environ['THP_MEM_ALLOC_ENABLE'], os.environ.get('GOMP_SPINCOUNT'))"
    )
    assert output_of(program) == "1 5000"
    assert output_of(program, THP_MEM_ALLOC_ENABLE="0", GOMP_SPINCOUNT="7") == "0 7"
    assert output_of(program, OMP_WAIT_POLICY="passive") == "1 None"
