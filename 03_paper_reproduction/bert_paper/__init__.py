"""BERT as in the paper: modules, the pretraining recipe, and the commands that use it.

Importing it settles how this process computes on a CPU, before torch is loaded:

- Fresh memory costs as much as the arithmetic of a small model, so what a step frees is kept for
  the next one (a step of the demo: 104 ms against 154), and what is too large for that comes in
  large pages.
- Threads that have done their share sleep instead of spinning: on two cores with one other program
  running, a step took six times as long when they spun.
"""

import ctypes
import os
import sys

os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Parameters of `mallopt`, from glibc's malloc.h.
TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3
MEBIBYTE = 2**20


def keep_freed_memory() -> None:
    """Tell glibc's `malloc` to keep what is freed; other systems' allocators are left alone."""
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return
    mallopt(MMAP_THRESHOLD, 32 * MEBIBYTE)  # the most that glibc takes
    mallopt(TRIM_THRESHOLD, 2047 * MEBIBYTE)
    mallopt(TOP_PAD, 64 * MEBIBYTE)


keep_freed_memory()
