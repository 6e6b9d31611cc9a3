"""Memory and threads of a process that computes on a CPU.

- Fresh memory costs as much time as the arithmetic of a small model. So what a step frees is kept
  for the next one, whatever its size, and what is fresh comes in large pages.
- A thread that has done its part of the work spins for some microseconds, then sleeps: long spins
  take the core from other programs, and without any the thread is late for the next operation.

What each brings: results/without_each.md.
"""

import ctypes
import os
import sys

# Parameters of `mallopt`, from glibc's malloc.h.
TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4


def keep_freed_memory() -> None:
    """Tell glibc's `malloc` to keep what is freed; other systems' allocators are left alone."""
    is_linux = sys.platform.startswith("linux")
    if is_linux and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)):
        mallopt(MMAP_MAX, 0)  # no block is mapped by itself: freeing it would give it back
        mallopt(TRIM_THRESHOLD, -1)  # the heap never shrinks
        mallopt(TOP_PAD, 64 << 20)  # and grows by 64 MiB at a time


def configure_cpu() -> None:
    """Call it before torch is loaded. Variables of the environment that are set already stay."""
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "5000")
    keep_freed_memory()
