"""The processes below this one, as Linux shows them: to find them all, end them, and time them."""

import contextlib
import ctypes
import os
import signal
import sys
import time
from pathlib import Path

SUBREAPER = 36  # of prctl(2)
PATIENCE = 5.0  # seconds until a killed process is gone; longer only if the disk hangs


def adopt_orphans() -> None:
    """Processes whose parent ends become ours, not the system's: so we find and end them."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def end_descendants(but: set[int]) -> None:
    """End all processes that this one has started, and theirs, but for some and those below them.
    First all are stopped, so that none starts another while we look."""
    stopped: set[int] = set()
    while found := descendants(os.getpid(), but) - stopped:
        for process in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGSTOP)
        stopped |= found
    for process in stopped:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    until = time.monotonic() + PATIENCE
    while descendants(os.getpid(), but) & stopped and time.monotonic() < until:
        for process in stopped:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process, os.WNOHANG)  # those that are or have become ours
        time.sleep(0.002)


def descendants(process: int, but: set[int]) -> set[int]:
    """Processes below a process, but for some and those below them."""
    children = family()
    found, left = set(), [process]
    while left:
        below = set(children.get(left.pop(), [])) - but
        found |= below
        left += below
    return found


def last_of_chain(process: int) -> int:
    """The child of the child and so on, the latest where there are several."""
    children = family()
    while below := children.get(process):
        process = max(below)
    return process


def family() -> dict[int, list[int]]:
    """The children of each process; none without /proc."""
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = status.read_text("utf-8", "replace").rpartition(")")[2].split()[1]
            children.setdefault(int(parent), []).append(int(status.parent.name))
    return children


def processor_seconds(process: int) -> float:
    """How long a process has had a processor, as the system tells; 0 where it does not."""
    try:
        tasks = Path(f"/proc/{process}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
