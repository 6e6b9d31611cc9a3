"""How a call reaches the student's code, and how its answer comes back: in this process, in a fork
of it, or in a process of its own. The same bytes are sent and read each time: see `codec.py`.
"""

import contextlib
import os
import pdb
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Protocol

from autograder.codec import BadMessage, pack, unpack
from autograder.worker import Worker, describe, read_message, serve, write_message

CALL_SECONDS = 60.0  # the longest that one call of another process may take


class StudentError(Exception):
    """The student's code raised, or gave nothing that can be compared; the message says it all."""

    def __init__(self, message: str, *, function: str = "", to_do: bool = False) -> None:
        super().__init__(message)
        self.function = function
        self.to_do = to_do


class Transport(Protocol):
    """Carries one call to the student's code, and brings its answer."""

    def ask(self, request: dict[str, Any]) -> dict[str, Any]: ...

    def close(self) -> None: ...


class LocalTransport:
    """The student's code in this process: a debugger stops in it, `print` is seen."""

    def __init__(self, path: Path) -> None:
        self.worker = Worker(path)

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        received = unpack(pack(request), make=True)
        try:
            answer = pack(self.worker.call(received))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit and pytest.skip() too are answers
            told = describe(error, self.worker.path)
            raise LocalError(told).with_traceback(error.__traceback__) from None
        return unpack(answer)

    def close(self) -> None:
        """Nothing to end."""


class LocalError(Exception):
    """Carries the traceback of what the student's code raised to whoever asked."""


class ChildTransport:
    """The student's code in a process of its own, which is ended when a call takes too long. It is
    no sandbox: it sees what this process sees."""

    def __init__(
        self, path: Path, *, fork: bool = False, seconds: float = CALL_SECONDS
    ) -> None:  # fmt: skip
        self.path, self.seconds = path, seconds
        self.start = Fork if fork else start_anew
        self.process: subprocess.Popen | Fork | None = None

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        if self.process is None or self.process.poll() is not None:
            self.process = self.start(self.path)
        late = threading.Event()
        clock = threading.Timer(self.seconds, lambda: (late.set(), self._kill()))
        clock.start()
        message = b""
        try:
            write_message(self.process.stdin, pack(request))
            message = read_message(self.process.stdout)
        except OSError:
            pass  # it ended while we wrote: below it is told as such
        except BadMessage:
            self.close()
            raise
        finally:
            clock.cancel()
        if message:
            return unpack(message)
        status = self.close()
        name = request["function"]
        if late.is_set():
            raise StudentError(f"{name} timed out: it was ended after {self.seconds:g} seconds",
                               function=name)  # fmt: skip
        raise StudentError(f"{name} ended the whole program (exit status {status}): does it call "
                           "exit, or take all the memory?", function=name)  # fmt: skip

    def _kill(self) -> None:
        """End the process and all that it started in its session."""
        with contextlib.suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()

    def close(self) -> int | None:
        """End the process, if there is one; its exit status, if it had one of its own."""
        if self.process is None:
            return None
        deadline = time.monotonic() + 0.2
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()
        while self.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        self._kill()
        status, self.process = self.process.wait(), None
        return status


def start_anew(path: Path) -> subprocess.Popen:
    """A worker with nothing loaded, which prints nothing."""
    command = [sys.executable, "-I", "-m", "autograder.worker", str(path)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, start_new_session=True)  # fmt: skip


def can_fork() -> bool:
    """Windows cannot, and libraries of macOS do not survive it."""
    return sys.platform == "linux"


def use_one_thread() -> None:
    """A fork made after torch has computed in several threads waits for them for ever."""
    os.environ["OMP_NUM_THREADS"] = "1"
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


class Fork:
    """A worker that is a fork of this process, with as much of the interface of `Popen` as is
    needed: what it prints is seen, what it imports is already loaded, and whatever it ends, patches
    or leaves behind is not ours."""

    def __init__(self, path: Path) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        (read, ask), (answer, write) = os.pipe(), os.pipe()
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(ask)
                os.close(answer)
                os.setsid()
                sys.breakpointhook = pdb.set_trace = refuse_breakpoint
                serve(path, os.fdopen(read, "rb"), os.fdopen(write, "wb"))
            finally:  # nothing of this process's own is to run here
                os._exit(0)
        os.close(read)
        os.close(write)
        self.stdin, self.stdout = os.fdopen(ask, "wb"), os.fdopen(answer, "rb")

    def poll(self) -> int | None:
        return self._wait(os.WNOHANG)

    def wait(self) -> int | None:
        return self._wait(0)

    def _wait(self, flags: int) -> int | None:
        if self.returncode is None:
            process, status = os.waitpid(self.pid, flags)
            if process:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


def refuse_breakpoint(*args, **kwargs) -> None:
    raise RuntimeError("a breakpoint stops only where a debugger runs: call pytest with --pdb")
