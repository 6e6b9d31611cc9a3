"""How processes that compute with torch use memory and threads."""

import ctypes
import os
import subprocess
import sys

import pytest

# How many pages the system had to give for what was allocated before, five times over.
FAULTS = """
import resource
from bert_run.cpu import settle_cpu
if {settled}:
    settle_cpu()
import torch

def use_96_megabytes():
    torch.ones(24 * 2**20)

use_96_megabytes()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    use_96_megabytes()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
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
    """Without the settings every array of more than 32 MB is fresh memory."""
    assert int(output_of(FAULTS.format(settled=True))) < 50
    assert int(output_of(FAULTS.format(settled=False))) > 200


def test_what_the_user_has_set_stays():
    program = (
        "import os; from bert_run.cpu import settle_cpu; settle_cpu();"
        "print(os.environ['THP_MEM_ALLOC_ENABLE'], os.environ.get('GOMP_SPINCOUNT'))"
    )
    assert output_of(program) == "1 5000"
    assert output_of(program, THP_MEM_ALLOC_ENABLE="0", GOMP_SPINCOUNT="7") == "0 7"
    assert output_of(program, OMP_WAIT_POLICY="passive") == "1 None"
