"""The student's functions, as a test calls them: `student.softmax_forward(x, axis=1)` sends `x` and
`axis` to the student's code and gives back what it returned. A transport carries the call, to this
process or to one of its own; messages show it in words, and as Python to paste."""

import contextlib
import math
import os
import pdb
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol

from autograder import codec
from autograder.codec import BadMessage, is_array, is_tensor, leaves, pack, unpack
from autograder.worker import Worker, describe, serve

CALL_SECONDS = 60.0  # the longest that one call of another process may take
# What a fork has loaded need not be loaded anew. Windows has none, libraries of macOS fail in one.
START = "fork" if sys.platform == "linux" else "spawn"
WIDTH, LONGEST = 96, 480  # characters of a line, and of a call to paste

# What an error of Python's, NumPy's or torch's most often means.
LIKELY = {
    "unexpected keyword argument": "was an argument of the starter renamed or left out?",
    "positional arguments but": "was an argument of the starter left out?",
    "read-only": "an input is changed in place: make a new array",
    "a leaf Variable that requires grad": "an input is changed in place: make a new tensor",
    "matmul: Input operand": "inner axes differ: transpose the last two of one, swapaxes(-1, -2)?",
    "mat1 and mat2 shapes": "inner axes differ: transpose the last two of one, swapaxes(-1, -2)?",
}


def likely_mistake(error: str) -> str:
    """What an error with this text most often means; nothing where the text does not decide."""
    if "operands could not be broadcast" in error:  # torch's message has no shapes to decide by
        found = {tuple(re.findall(r"\d+", shape)) for shape in re.findall(r"\(([\d, ]+)\)", error)}
        shorter, longer = sorted(found, key=len) if len(found) == 2 else ((), ())
        without_one = [longer[:axis] + longer[axis + 1 :] for axis in range(len(longer))]
        likely = "an axis is missing: a sum or mean without keepdims=True, or no [:, None]?"
        return likely if shorter in without_one else ""
    return next((means for part, means in LIKELY.items() if part in error), "")


class StudentError(Exception):
    """The student's code raised, or gave nothing that can be compared; the message says it all."""

    def __init__(self, message: str, *, function: str = "", to_do: bool = False) -> None:
        super().__init__(message)
        self.function, self.to_do = function, to_do


class Transport(Protocol):
    """Carries one call to the student's code, and brings its answer."""

    def ask(self, request: dict[str, Any]) -> dict[str, Any]: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Trace:
    """A call, and what it left behind."""

    value: Any
    inputs: tuple[tuple, dict]  # the arguments as they are after the call
    changed: list[str]  # global settings that are not as they were
    next: Any = None  # what each of NumPy's generators among the arguments gives after the call
    drawn: bool = False  # a generator among the arguments has moved
    written: bool = False  # something was written to an argument
    kept: bool = False  # it returned a list, dict or array that the call before had returned too
    shared: bool = False  # it returned a list, dict or array that was an argument, or one twice
    inference: bool = False  # it returned a tensor of inference_mode, from which nothing learns


class Student:
    """Every attribute is a function of the student's file."""

    def __init__(self, path: Path, transport: Transport) -> None:
        self._path, self._transport = path, transport
        self._log = CallLog()
        self._inspected: list[tuple[Function, tuple, dict]] = []  # by `checks.leaves_no_trace`
        self._noticed: dict[tuple[str, str], Call] = {}  # of a function, "shared" or "written"

    def __getattr__(self, name: str) -> "Function":
        if name.startswith("_"):
            raise AttributeError(name)
        return Function(self, name)


class Function:
    def __init__(self, student: Student, name: str) -> None:
        self.student, self.name = student, name
        self.inspected, self.noticed = student._inspected, student._noticed

    def __call__(self, *args, **kwargs) -> Any:
        answer = self._ask(args, kwargs)
        for what in ("shared", "written"):
            if answer.get(what) is True:
                self.noticed.setdefault((self.name, what), self.student._log.last)
        return answer["value"]

    def trace(self, *args, global_seed: int | None = None, frozen: bool = False, before: Any = None,
              fresh: bool = False, no_grad: bool = False, **kwargs) -> Trace:  # fmt: skip
        """Call it, and look at what else it did. `global_seed` seeds Python's, NumPy's and torch's
        global generators; with `frozen`, writing to an argument raises. `before` is a call (name,
        args, kwargs) that is made first: then arguments that are equal, of one call or both, are
        one object, and hold other values during the first. With `fresh` the file is loaded anew."""
        answer = self._ask(args, kwargs, inspect=True, frozen=frozen, global_seed=global_seed,
                           before=codec.with_fresh_generators(before), fresh=fresh, no_grad=no_grad
                           )  # fmt: skip
        inputs = answer.get("inputs")
        if type(inputs) is not tuple or len(inputs) != 2:
            raise BadMessage("the inputs did not come back")
        changed = [*map(indented, answer.get("changed") or [])]
        has = {f.name: answer.get(f.name) is True for f in fields(Trace) if f.default is False}
        return Trace(answer["value"], inputs, changed, answer.get("next"), **has)

    def grad(self, *args, wrt: tuple[str, ...], upstream: Any, **kwargs) -> tuple[Any, dict]:
        """Call it with tensors, and send `upstream` back through autograd: what it returned, and
        the gradient of each argument named in `wrt` (a tensor, or a list or dict of them; of a dict
        also one entry, "weights:bias", the others frozen), None where nothing arrives. `upstream`
        has the form of what it returned, without what is no tensor of floats."""
        answer = self._ask(args, kwargs, wrt=list(wrt), upstream=upstream)
        gradients = answer.get("gradients")
        if type(gradients) is not dict or gradients.keys() != set(wrt):
            raise BadMessage("the gradients did not come back")
        return answer["value"], gradients

    def lines_run(self, *args, **kwargs) -> int:
        """How many lines of the student's file run in a call, one again at each turn of a loop."""
        found = self._ask(args, kwargs, count_lines=True).get("lines")
        if type(found) is not int:
            raise BadMessage("the number of lines did not come back")
        return found

    def timed(self, *args, **kwargs) -> tuple[float, Any]:
        """The processor seconds of a call, and what it returned."""
        answer = self._ask(args, kwargs)
        return float(answer["seconds"]), answer["value"]

    def overhead(self, *args, **kwargs) -> float:
        """How much of a call's processor seconds is not the function's, but takes its arguments."""
        measure = getattr(self.student._transport, "overhead", lambda request: 0.0)
        args, kwargs = codec.with_fresh_generators((args, kwargs))
        return measure({"function": self.name, "args": args, "kwargs": kwargs})

    def _ask(self, args: tuple, kwargs: dict, **more) -> dict[str, Any]:
        student = self.student
        args, kwargs = codec.with_fresh_generators((args, kwargs))
        call = student._log.last = Call(self.name, args, kwargs)
        request = {"function": self.name, "args": args, "kwargs": kwargs, **more}
        try:
            answer = student._transport.ask(request)
        except LocalError as error:  # its traceback ends in the student's line: a debugger's place
            told = error_message(error.args[0], self.name, student)
            raise told.with_traceback(error.__traceback__) from None
        except BadMessage as error:
            told = f"{self.name} sent an answer that cannot be read: {error}"
            raise StudentError(told, function=self.name) from None
        if type(answer) is not dict or "value" not in answer:
            told = answer.get("error") if type(answer) is dict else None
            raise error_message(told, self.name, student)
        student._log.calls.append((answer["value"], call))
        return answer


def indented(told: Any) -> str:
    """What a student's code says, at a length to read, and told apart from lines of ours."""
    return str(told)[:2_000].replace("\n", "\n    ")


def error_message(error: Any, function: str, student: Student) -> StudentError:
    """An error of the student's code, in words."""
    if type(error) is not dict:
        return StudentError(f"{function} sent no answer", function=function)
    if error.get("to_do") is True:
        return StudentError(f"{function} is to do", function=function, to_do=True)
    call, where, text = student._log.last, error.get("where"), indented(error.get("text"))
    if error.get("uncrossable") is True:
        return StudentError(
            f"{call} returned something that cannot be compared: {text}. Return NumPy arrays, "
            "torch tensors, numbers, strings, lists, tuples or dicts, exactly these",
            function=function)  # fmt: skip
    message = f"{call} raised {indented(error.get('type'))}: {text}"
    if type(where) is dict and where.get("line"):
        place = indented(f"line {where['line']}: {where.get('code')}")
        message += f" ({student._path.name}, {place})"
    if likely := likely_mistake(text):
        message += f"\n  likely mistake: {likely}"
    return StudentError(message, function=function)


# How a call reaches the student's code, and how its answer comes back: the same bytes are sent and
# read in every transport, see `codec.py`.


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
        self.process, self.due = None, math.inf

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        if self.process is None or not self.process.is_alive():
            self.close()
            self.start()
        self.due = time.monotonic() + self.seconds
        try:
            self.line.send_bytes(pack(request))
            return unpack(self.line.recv_bytes(codec.LARGEST))
        except (EOFError, ConnectionError):
            is_late = time.monotonic() > self.due
            status, name = self.close(), request["function"]
        except (BadMessage, OSError) as error:  # OSError: it is longer than is allowed
            self.close()
            raise BadMessage(str(error)) from None
        finally:
            self.due = math.inf
        why = (f"timed out: it was ended after {self.seconds:g} seconds" if is_late else
               f"ended the whole program (exit status {status}): does it call exit, or take all "
               "the memory?")  # fmt: skip
        raise StudentError(f"{name} {why}", function=name)

    def start(self) -> None:
        import multiprocessing  # a page of the website has none

        context = multiprocessing.get_context(self.start_method)
        self.line, theirs = context.Pipe()
        self.process = context.Process(target=answer_calls, args=(self.path, theirs, self.line))
        self.process.start()
        theirs.close()
        self.is_over = threading.Event()
        self.watch = threading.Thread(target=self._end_what_is_late, daemon=True)
        self.watch.start()

    def _end_what_is_late(self) -> None:
        """One thread for all calls: starting one costs as much as a call of a small array."""
        while not self.is_over.wait(0.05):
            if time.monotonic() > self.due:
                return self._kill()

    def _kill(self) -> None:
        """End the process and all that it started in its session."""
        with contextlib.suppress(ProcessLookupError, AttributeError):  # Windows has no groups
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        with contextlib.suppress(OSError, AttributeError):  # others may hold the line's other end
            socket.socket(fileno=os.dup(self.line.fileno())).shutdown(socket.SHUT_RDWR)

    def close(self) -> int | None:
        """End the process, if there is one; its exit status, if it had one of its own."""
        if self.process is None:
            return None
        self.is_over.set()
        self.watch.join()
        self.line.close()
        self.process.join(0.2)
        self._kill()
        self.process.join()
        status, self.process = self.process.exitcode, None
        return status


def answer_calls(path: Path, line: Any, theirs: Any) -> None:
    """The other process, in which no debugger stops."""

    def refuse(*args, **kwargs) -> None:
        raise RuntimeError("a breakpoint stops only where a debugger runs: call pytest with --pdb")

    theirs.close()
    if hasattr(os, "setsid"):
        os.setsid()
    sys.breakpointhook = pdb.set_trace = refuse
    with contextlib.suppress(EOFError, OSError):
        serve(path, line.recv_bytes, line.send_bytes)


def use_one_thread() -> None:
    """A fork made after torch has computed in several threads waits for them for ever."""
    os.environ["OMP_NUM_THREADS"] = "1"
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


# Calls in words, and as Python to paste.


@dataclass(frozen=True)
class Call:
    function: str
    args: tuple
    kwargs: dict

    def __str__(self) -> str:
        return f"{self.function}({', '.join(self.arguments(describe_value))})"

    def arguments(self, show: Callable[[Any], str]) -> list[str]:
        return [*map(show, self.args),
                *(f"{name}={show(value)}" for name, value in self.kwargs.items())]  # fmt: skip

    def as_python(self) -> str:
        """The call, to paste below the functions of a file; "" if it has no short spelling."""
        found = leaves([*self.args, *self.kwargs.values()])
        if sum(math.prod(leaf.shape) if is_array(leaf) else 1 for leaf in found) > LONGEST // 2:
            return ""
        with contextlib.suppress(ValueError):
            given = self.arguments(spell)
            text = f"{self.function}({', '.join(given)})"
            if len(text) > WIDTH:
                text = f"{self.function}(\n      " + ",\n      ".join(given) + ")"
            return text if len(text) <= LONGEST else ""
        return ""


@dataclass
class CallLog:
    """The calls that a test has made: a message says which one gave the wrong answer."""

    calls: list[tuple[Any, Call]] = field(default_factory=list)  # what came, and the call
    checked: int = 0  # of them were made before the last check that passed
    last: Call | None = None  # whether or not it was answered

    def pass_check(self) -> None:
        self.checked = len(self.calls)

    def candidates(self, out: Any) -> list[Call]:
        """The calls that gave `out`; if that cannot be told, those since the last check."""
        gave = [call for value, call in self.calls if out is not None and _holds(value, out)]
        recent = [call for _, call in self.calls[self.checked :] or self.calls[-1:]]
        return gave if len(set(map(str, gave))) == 1 else recent


def _holds(tree: Any, part: Any) -> bool:
    """Whether a value is `part` itself, or has it in a list, tuple or dict."""
    items = tree.values() if type(tree) is dict else tree
    is_tree = type(tree) in (list, tuple, dict)
    return tree is part or (is_tree and any(_holds(item, part) for item in items))


class Code(str):
    """A piece of Python, which stands as it is in the `repr` of a list, tuple or dict."""

    __repr__ = str.__str__


def spell(value: Any) -> str:
    """A value as Python, to the bit, generators with their seed. Raises `ValueError`."""
    return repr(codec.map_leaves(_spell_leaf, value))


def _spell_leaf(leaf: Any) -> Any:
    if is_array(leaf):
        return _spell_array(leaf)
    if type(leaf) is codec.Rng and not leaf.drawn:
        return Code(f"np.random.default_rng({leaf.seed})")
    if type(leaf) is codec.TorchRng and not leaf.drawn:
        return Code(f"torch.Generator().manual_seed({leaf.seed})")
    if type(leaf) is float and not math.isfinite(leaf):
        return Code(f"float('{leaf}')")
    if leaf is None or type(leaf) in (bool, int, float, str):
        return leaf
    raise ValueError(f"{type(leaf).__name__} has no short spelling")


def _spell_array(array: Any) -> Code:
    library, make = ("torch", "torch.tensor") if is_tensor(array) else ("np", "np.array")
    dtype = codec.type_name(array.dtype)
    kind = f", dtype={library}.{dtype}"
    if 0 in array.shape:
        return Code(f"{library}.zeros({tuple(array.shape)}{kind})")
    array = codec.as_numpy(array)
    if array.dtype.kind == "f":
        array = array.astype(str).astype(float)  # the shortest digits that give the same number
    numbers = re.sub(r"\b(inf|nan)\b", rf"{library}.\1", repr(array.tolist()))
    is_usual = dtype in ("bool", "int64", "float32" if library == "torch" else "float64")
    return Code(f"{make}({numbers}{'' if is_usual else kind})")


def describe_value(value: Any) -> str:
    """An argument in a few characters."""
    if is_array(value):
        kind = "tensor" if is_tensor(value) else "array"
        return f"{kind} {codec.type_name(value.dtype)}{list(value.shape)}"
    is_tree = type(value) in (list, tuple, dict)
    # Writing out an array may take longer than the call.
    text = "" if is_tree and any(map(is_array, leaves(value))) else repr(value)
    if is_tree and not 0 < len(text) <= 60:
        return f"{type(value).__name__} of {len(value)}"
    return text if len(text) <= 60 else f"{text[:57]}..."
