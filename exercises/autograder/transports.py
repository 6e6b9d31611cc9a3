"""How a call reaches the student's code, and how its answer comes back: in this process, or in one
of its own. The same bytes are sent and read each time: see `codec.py`.
"""

import contextlib
import os
import pdb
import signal
import sys
import threading
from pathlib import Path
from typing import Any, Protocol

from autograder.codec import LARGEST, BadMessage, pack, unpack
from autograder.worker import Worker, describe, serve

CALL_SECONDS = 60.0  # the longest that one call of another process may take
# What a fork has loaded need not be loaded anew. Windows has none, libraries of macOS fail in one.
START = "fork" if sys.platform == "linux" else "spawn"


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
    no sandbox: it sees what this process sees. `start` is a method of `multiprocessing`."""

    def __init__(self, path: Path, *, start: str = START, seconds: float = CALL_SECONDS) -> None:
        self.path, self.start_method, self.seconds = path, start, seconds
        self.process = None

    def start(self) -> None:
        import multiprocessing  # a page of the website has none

        context = multiprocessing.get_context(self.start_method)
        self.line, theirs = context.Pipe()
        self.process = context.Process(target=answer_calls, args=(self.path, theirs, self.line))
        self.process.start()
        theirs.close()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        if self.process is None or not self.process.is_alive():
            self.start()
        late = threading.Event()
        clock = threading.Timer(self.seconds, lambda: (late.set(), self._kill()))
        clock.start()
        try:
            self.line.send_bytes(pack(request))
            return unpack(self.line.recv_bytes(LARGEST))
        except (EOFError, ConnectionError):
            status, name = self.close(), request["function"]
        except (BadMessage, OSError) as error:  # OSError: it is longer than is allowed
            self.close()
            raise BadMessage(str(error)) from None
        finally:
            clock.cancel()
        why = (f"timed out: it was ended after {self.seconds:g} seconds" if late.is_set() else
               f"ended the whole program (exit status {status}): does it call exit, or take all "
               "the memory?")  # fmt: skip
        raise StudentError(f"{name} {why}", function=name)

    def _kill(self) -> None:
        """End the process and all that it started in its session."""
        with contextlib.suppress(ProcessLookupError, AttributeError):  # Windows has no groups
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()

    def close(self) -> int | None:
        """End the process, if there is one; its exit status, if it had one of its own."""
        if self.process is None:
            return None
        self.line.close()
        self.process.join(0.2)
        self._kill()
        self.process.join()
        status, self.process = self.process.exitcode, None
        return status


def answer_calls(path: Path, line: Any, theirs: Any) -> None:
    """The other process."""
    theirs.close()
    if hasattr(os, "setsid"):
        os.setsid()
    sys.breakpointhook = pdb.set_trace = refuse_breakpoint
    with contextlib.suppress(EOFError, OSError):
        serve(path, line.recv_bytes, line.send_bytes)


def refuse_breakpoint(*args, **kwargs) -> None:
    raise RuntimeError("a breakpoint stops only where a debugger runs: call pytest with --pdb")


def use_one_thread() -> None:
    """A fork made after torch has computed in several threads waits for them for ever."""
    os.environ["OMP_NUM_THREADS"] = "1"
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
