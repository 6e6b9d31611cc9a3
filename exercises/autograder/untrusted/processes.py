"""The processes below this one, as Linux shows them: to find them all, end them, and time them."""

import contextlib
import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from typing import NamedTuple

SUBREAPER = 36  # of prctl(2)
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100  # a second
SEARCH_AFTER = 0.05  # seconds
PATIENCE = 5.0  # seconds until a killed process is gone; longer only if the disk hangs


class Status(NamedTuple):
    """What the system tells of a process; times are processor seconds."""

    parent: int
    seconds: float  # of its threads, ended ones too
    waited_for: float  # of its children that have ended, and theirs, if it has waited for them
    threads: int


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


def all_processes() -> dict[int, Status]:
    """The status of every process that we can see; none without /proc."""
    with contextlib.suppress(OSError):
        numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        return {number: status for number in numbers if (status := status_of(number))}
    return {}


def status_of(process: int) -> Status | None:
    """The status of one process; None if it has ended, or the system does not tell."""
    try:
        text = Path(f"/proc/{process}/stat").read_text("utf-8", "replace")
        fields = text.rpartition(")")[2].split()
        user, system, user_below, system_below = map(int, fields[11:15])
        return Status(int(fields[1]), (user + system) / TICKS, (user_below + system_below) / TICKS,
                      int(fields[17]))  # fmt: skip
    except (OSError, ValueError, IndexError):
        return None


def descendants(process: int, but: set[int], family: dict[int, Status] | None = None) -> set[int]:
    """Processes below a process, but for some and those below them; among those of `family`."""
    family = all_processes() if family is None else family
    found, generation = set(), {process}
    while generation:
        generation = {p for p, status in family.items() if status.parent in generation}
        generation -= but | found
        found |= generation
    return found


def chain_to_latest(process: int) -> list[int]:
    """A process, its child, the child of that and so on, the latest where there are several."""
    family, chain = all_processes(), [process]
    while children := [p for p, status in family.items() if status.parent == chain[-1]]:
        chain.append(max(children))
    return chain


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
    """Processor seconds and threads of a worker, with all that it starts, during a call.

    `chain` are the processes from the sandbox to the worker: whatever the worker leaves behind ends
    up with one of them. What else there is, and is none of `others`, the worker has started.
    """

    def __init__(self, chain: list[int], others: set[int]) -> None:
        self.chain, self.others = chain, others
        self.below: dict[int, float] = {}  # seconds of what the worker has started, when last seen
        self.threads = 1

    def start(self) -> None:
        self.begun, self.before, self.spent = time.monotonic(), self._of_chain(), 0.0

    def by_the_clock(self) -> float:
        return time.monotonic() - self.begun

    def worked(self) -> float:
        """Processor seconds since the start. What still runs beside the worker must be searched
        for, which takes milliseconds: a call that is shorter can hide nothing that matters."""
        if self.by_the_clock() > SEARCH_AFTER:
            family = all_processes()
            started = descendants(os.getpid(), self.others, family) - {*self.chain}
            now = {p: family[p].seconds + family[p].waited_for for p in started}
            self.spent += sum(max(0.0, now[p] - self.below.get(p, 0.0)) for p in now)
            self.below = now
            counted = started | {self.chain[-1]}
            self.threads = sum(family[p].threads for p in counted if p in family)
        return self.spent + self._of_chain() - self.before

    def _of_chain(self) -> float:
        return sum(processor_seconds(process) for process in self.chain)
