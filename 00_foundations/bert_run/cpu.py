"""How a process of ours computes on a CPU; with torch to be settled before torch is loaded. Level 1
has no torch and keeps its memory alone.

- Fresh memory costs as much as the arithmetic of a small model, so what a step frees is kept for
  the next one, whatever its size, and what is fresh comes in large pages. A step of the demo takes
  104 ms so, 154 otherwise; one of two layers of 128 with 512 rows of 64 tokens 1.2 s and 3.2 s.
- A thread that has done its share spins for some microseconds only, then sleeps. Two threads on two
  cores, a step of the demo: 51 ms, 113 with another program running. As long as is usual: 51 and
  433. Sleeping at once: 69 and 92.
"""

import ctypes
import os
import sys

# Parameters of `mallopt`, from glibc's malloc.h.
TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4
MEBIBYTE = 2**20


def keep_freed_memory() -> None:
    """Tell glibc's `malloc` to keep what is freed; other systems' allocators are left alone."""
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return
    mallopt(MMAP_MAX, 0)  # what is mapped by itself goes back to the system, so nothing is
    mallopt(TRIM_THRESHOLD, -1)  # never
    mallopt(TOP_PAD, 64 * MEBIBYTE)


def settle_cpu() -> None:
    """What the user has set in the environment stays."""
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "5000")
    keep_freed_memory()
