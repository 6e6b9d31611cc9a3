"""The processes below this one, as Linux shows them: to find them all, end them, and time them."""

import contextlib
import ctypes
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

SUBREAPER = 36  # of prctl(2)
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100  # a second
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


def family() -> dict[int, list[int]]:
    """The children of each process; none without /proc."""
    children: dict[int, list[int]] = {}
    for status in all_processes():
        children.setdefault(status.parent, []).append(status.process)
    return children


@dataclass(frozen=True)
class Status:
    """What the system tells of a process; times are processor seconds."""

    process: int
    parent: int
    seconds: float  # of its threads, ended ones too
    waited_for: float  # of its children that have ended, and theirs, if it has waited for them
    threads: int


def all_processes() -> list[Status]:
    """The status of every process that we can see; none without /proc."""
    with contextlib.suppress(OSError), os.scandir("/proc") as entries:
        numbers = [int(entry.name) for entry in entries if entry.name.isdigit()]
        return [status for number in numbers if (status := status_of(number))]
    return []


def status_of(process: int) -> Status | None:
    """The status of one process; None if it has ended, or the system does not tell."""
    try:
        text = Path(f"/proc/{process}/stat").read_text("utf-8", "replace")
        fields = text.rpartition(")")[2].split()
        user, system, user_below, system_below = (int(field) for field in fields[11:15])
    except (OSError, ValueError, IndexError):
        return None
    return Status(process, int(fields[1]), (user + system) / TICKS,
                  (user_below + system_below) / TICKS, int(fields[17]))  # fmt: skip


def processor_seconds(process: int) -> float:
    """How long a process and the children that it waited for have had a processor; 0 where the
    system does not tell. Living threads are counted to the nanosecond, ended ones to a tick."""
    status = status_of(process)
    if status is None:
        return 0.0
    living = 0.0
    with contextlib.suppress(OSError, ValueError, IndexError):
        tasks = Path(f"/proc/{process}/task").glob("*/schedstat")
        living = sum(int(task.read_text().split()[0]) for task in tasks) / 1e9
    return max(living, status.seconds) + status.waited_for


class Stopwatch:
    """Processor seconds and threads of a worker, with all that it starts.

    `chain` are the processes from the sandbox to the worker: whatever the worker leaves behind ends
    up with one of them. What else there is, and is none of `others`, the worker has started.
    """

    def __init__(self, chain: list[int], others: set[int]) -> None:
        self.chain, self.others = chain, others
        self.below: dict[int, float] = {}  # seconds of what the worker has started, when last seen
        self.threads = 1
        self.spent, self.start = 0.0, self._of_chain()

    def seconds(self, *, search: bool) -> float:
        """Since it was made. Only a search, which takes milliseconds, finds what is still running
        beside the worker."""
        if search:
            below = descendants(os.getpid(), self.others) - {*self.chain}
            family = [status for status in all_processes() if status.process in below]
            now = {s.process: s.seconds + s.waited_for for s in family}
            self.spent += sum(max(0.0, now[p] - self.below.get(p, 0.0)) for p in now)
            self.below = now
            worker = status_of(self.chain[-1])
            self.threads = sum(s.threads for s in family) + (worker.threads if worker else 0)
        return self.spent + self._of_chain() - self.start

    def _of_chain(self) -> float:
        return sum(processor_seconds(process) for process in self.chain)


def chain_to_latest(process: int) -> list[int]:
    """A process, its child, the child of that and so on, the latest where there are several."""
    children, chain = family(), [process]
    while below := children.get(chain[-1]):
        chain.append(max(below))
    return chain
