"""A student's process as the tests see it: a sandbox that runs, and calls that go into it. It reads
no more than it allows, and takes all that comes for an answer to be compared. Below stand the
processes that a sandbox starts: found, timed and ended."""

import contextlib
import ctypes
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from autograder.codec import BadMessage, pack, unpack
from autograder.points import Exercise
from autograder.student import StudentError
from autograder.untrusted.sandbox import ENVIRONMENT, PROCESSES, Sandbox

START_SECONDS = 120.0  # Python, NumPy and torch on a busy machine; no code of a student's yet
END_SECONDS = 5.0
LARGEST_ANSWER = 1 << 26
WAITING = 4
EVERY_FILE = ("numpy", "jaxtyping", "typing-extensions")  # may import these, and Python's library


@cache
def refused(libraries: tuple[str, ...]) -> list[str]:
    """What is installed and cannot be imported: all but what an exercise allows and that needs."""
    needed = [*EVERY_FILE, *libraries]
    for name in needed:  # what is added is looked at, too
        with contextlib.suppress(metadata.PackageNotFoundError):
            found = [re.match(r"[\w.-]+", line)[0] for line in metadata.requires(name) or ()
                     if "extra ==" not in line]  # fmt: skip
            needed += [each for each in found if each not in needed]
    needed = {name.lower().replace("_", "-") for name in needed}
    return sorted(name for name, distributions in installed().items()
                  if name != "autograder" and needed.isdisjoint(distributions))  # fmt: skip


@cache
def installed() -> dict[str, set[str]]:
    """Names that can be imported, and whose they are. Python 3.10 itself knows few of them."""
    found = defaultdict(set)
    for each in metadata.distributions():
        own, declared = each.name.lower().replace("_", "-"), each.read_text("top_level.txt") or ""
        files = [] if declared else [f for f in each.files or () if f.suffix in (".py", ".so")]
        for name in declared.split() or {file.parts[0].partition(".")[0] for file in files}:
            found[name].add(own)
    return found


class CannotStart(BaseException):
    """The sandbox does not come up: nothing that a student has done, so no test may catch it."""


class Cell:
    """A sandbox with a guard in it, which forks one worker at a time."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self.sandbox, self.folder = sandbox, folder
        self.process: subprocess.Popen | None = None
        self.control: socket.socket | None = None
        self.work: Path | None = None
        self.others: set[int] = set()  # processes that are no student's
        adopt_orphans()

    def start(self) -> None:
        """Bring the guard up, if it is not."""
        if self.process is not None:
            return
        self.others = descendants(os.getpid(), set())
        self.work = Path(tempfile.mkdtemp(prefix="work-", dir=self.folder))
        if self.sandbox.as_nobody:
            os.chown(self.work, self.sandbox.user, self.sandbox.user)
        self.control, theirs = socket.socketpair()
        settings = json.dumps(self.sandbox.settings(self.work))
        with theirs, tempfile.TemporaryFile() as errors:
            command = self.sandbox.command(settings, self.work)
            self.process = subprocess.Popen(
                command, stdin=theirs, stdout=subprocess.DEVNULL, stderr=errors, env=ENVIRONMENT,
                start_new_session=True, cwd=self.work)  # fmt: skip
            theirs.close()
            if not self._hears(b"r"):
                self.close()
                errors.seek(0)
                said = errors.read(4_000).decode("utf-8", "replace").strip().splitlines()
                raise CannotStart(said[-1] if said else "it does not answer")

    def begin(self, exercise: Exercise, file: bytes, seconds: float) -> socket.socket:
        """The line to a worker that has got a student's file, and has not yet loaded it."""
        order = {"exercise": exercise.name, "file": exercise.file,
                 "torch": "torch" in exercise.libraries, "cpu_seconds": int(seconds) + 1,
                 "refused": refused(exercise.libraries)}  # fmt: skip
        for _ in range(2):  # an earlier worker may have harmed the guard: then another one
            self.start()
            line, theirs = socket.socketpair()
            line.setblocking(False)
            with theirs, contextlib.suppress(OSError):
                socket.send_fds(self.control, [json.dumps(order).encode()], [theirs.fileno()])
            try:
                exchange(line, file, until=time.monotonic() + START_SECONDS)
                return line
            except (EOFError, TimeoutError, BadMessage):
                line.close()
                self.close()
        raise CannotStart("no worker was started")

    def end(self) -> None:
        """End the worker and all that it started; the guard stays for the next one."""
        if self.process is None:
            return
        with contextlib.suppress(OSError):
            self.control.sendall(b"x")
        if not self._hears(b"e", END_SECONDS):
            self.close()
        elif self.sandbox.kind == "none":
            end_descendants(but=self.others | {self.process.pid})

    def close(self) -> None:
        process, self.process = self.process, None
        if process is None:
            return
        self.control.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        end_descendants(but=self.others)
        remove(self.work)

    def _hears(self, word: bytes, seconds: float = START_SECONDS) -> bool:
        try:
            self.control.settimeout(seconds)
            return self.control.recv(1) == word
        except OSError:
            return False


class CellTransport:
    """Carries the calls of one exercise into a cell. `seconds` of a processor are for all of them
    together, a quarter for one; by the clock a call may take `WAITING` times as long, so that a
    busy machine fails nobody."""

    def __init__(self, cell: Cell, exercise: Exercise, file: bytes, seconds: float) -> None:
        self.cell, self.exercise, self.file, self.seconds = cell, exercise, file, seconds
        self.spent = 0.0
        self.line: socket.socket | None = None

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        name, longest = request["function"], self.seconds / 4
        if self.spent > self.seconds - longest:
            raise StudentError(f"{name} was not called: the {self.seconds:g} seconds of this "
                               "exercise are used up", function=name)  # fmt: skip
        self._check_silence()
        if self.line is None:
            self.line = self.cell.begin(self.exercise, self.file, self.seconds)
            # Before a student's code runs, there is one chain of processes.
            self.watch = Stopwatch(chain_to_latest(self.cell.process.pid), self.cell.others)
        watch, message = self.watch, pack(request)
        watch.start()
        try:
            until = time.monotonic() + WAITING * longest
            answer = unpack(exchange(self.line, message, until=until, expired=lambda: (
                watch.worked() > longest or watch.threads > 1 + PROCESSES)))  # fmt: skip
        except (TimeoutError, EOFError, BadMessage) as error:
            is_late = isinstance(error, TimeoutError)
            self.spent += longest if is_late else watch.by_the_clock() / WAITING
            self.close()
            if isinstance(error, BadMessage):
                raise
            why = "ended the whole program: does it call exit, or take all the memory?"
            if is_late and watch.threads > 1 + PROCESSES:
                why = f"was ended: it started more than {PROCESSES} processes and threads"
            elif is_late:
                why = f"timed out: it was ended after {longest:g} seconds"
            raise StudentError(f"{name} {why}", function=name) from None
        worked, waited = watch.worked(), watch.by_the_clock() / WAITING
        self.spent += max(worked, waited)
        if type(answer) is dict:
            if watch.has_started:  # other processes: some may have ended unseen
                worked = max(worked, watch.by_the_clock())
            told = answer.get("seconds")  # whatever their clock says, and if it says nothing
            answer["seconds"] = max(worked, told if type(told) is float else 0.0)
        return answer

    def overhead(self, request: dict[str, Any]) -> float:
        """Processor seconds of such a call with a function of ours that returns at once."""
        self.close()
        file = f"def {request['function']}(*args, **kwargs): return 0".encode()
        idle = CellTransport(self.cell, self.exercise, file, self.seconds)
        try:
            return min(idle.ask(request)["seconds"] for _ in range(4))  # the first loads the file
        finally:
            idle.close()

    def close(self) -> None:
        """End the worker; the next call has another one."""
        if self.line is not None:
            self.line.close()
            self.line = None
            self.cell.end()

    def _check_silence(self) -> None:
        """Between two calls nothing may come; a worker that has ended is started again."""
        if self.line is None or not select.select([self.line], [], [], 0)[0]:
            return
        said = b""
        with contextlib.suppress(OSError):
            said = self.line.recv(1)
        self.close()
        if said:
            raise BadMessage("something was sent that nobody had asked for")


def exchange(line: socket.socket, message: bytes, *, until: float,
             expired: Callable[[], bool] = lambda: False) -> bytes:  # fmt: skip
    """Send a message, and wait for another. Raises `TimeoutError` at the time `until` or once
    `expired` says so, `EOFError` if the other side is gone, `BadMessage` for too long an answer."""
    left = memoryview(len(message).to_bytes(8, "big") + message)
    came, size, next_look = bytearray(), 8, 0.0
    while left or len(came) < size:
        if (now := time.monotonic()) > until or (now > next_look and expired()):
            raise TimeoutError
        next_look = now + 0.05 if now > next_look else next_look
        readable, writable, _ = select.select([line], [line] if left else [], [], 0.1)
        try:
            if writable:
                left = left[line.send(left[: 1 << 16]) :]
            if readable:
                piece = line.recv(min(1 << 20, size - len(came)))
                if not piece:
                    raise EOFError
                came += piece
        except BlockingIOError:
            continue
        except (BrokenPipeError, ConnectionResetError):
            raise EOFError from None
        if len(came) == 8 and size == 8:
            size += int.from_bytes(came, "big")
            if size > LARGEST_ANSWER:
                raise BadMessage(f"{size} bytes: {LARGEST_ANSWER} are allowed")
    return bytes(came[8:])


def remove(folder: Path) -> None:
    """Remove a folder, however deep, whose owner may have locked us out of parts of it."""
    for name, *how in (("chmod", "-R", "u+rwx"), ("rm", "-rf")):
        program = shutil.which(name) or f"/bin/{name}"
        subprocess.run([program, *how, "--", folder], stderr=subprocess.DEVNULL)


# The processes below this one, as Linux shows them: to find them all, end them, and time them.

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
    """End all processes below this one, except some and theirs; first stop them all."""
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
    """Processes below a process, except some and those below them; among those of `family`."""
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
    up with one of them. What else there is, and is none of `others`, the worker has started."""

    def __init__(self, chain: list[int], others: set[int]) -> None:
        self.chain, self.others = chain, others
        self.below: dict[int, float] = {}  # seconds of what the worker has started, when last seen
        self.threads = 1

    def start(self) -> None:
        self.begun, self.before, self.spent = time.monotonic(), self._of_chain(), 0.0
        self.has_started = False  # other processes, in this call

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
            self.below, self.has_started = now, self.has_started or bool(now)
            counted = started | {self.chain[-1]}
            self.threads = sum(family[p].threads for p in counted if p in family)
        return self.spent + self._of_chain() - self.before

    def _of_chain(self) -> float:
        return sum(map(processor_seconds, self.chain))
