"""The student's functions, as a test calls them.

`student.softmax_forward(x, axis=1)` sends `x` and `axis` to the student's code and gives back what
it returned. Where that code runs is a matter of the transport: see `transports.py`.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from autograder.codec import BadMessage, Rng, TorchRng, is_tensor
from autograder.transports import LocalError, StudentError, Transport

# What an error of Python's, NumPy's or torch's most often means.
LIKELY = {
    "operands could not be broadcast": "a sum, mean or maximum without keepdims=True?",
    "must match the size of tensor": "a sum, mean or maximum without keepdim=True?",
    "unexpected keyword argument": "was an argument of the starter renamed or left out?",
    "positional arguments but": "was an argument of the starter left out?",
    "read-only": "an input is changed in place: make a new array",
    "a leaf Variable that requires grad": "an input is changed in place: make a new tensor",
    "matmul: Input operand": "a matrix product whose inner axes differ: is one to be transposed?",
    "mat1 and mat2 shapes": "a matrix product whose inner axes differ: is one to be transposed?",
}


@dataclass(frozen=True)
class Trace:
    """A call, and what it left behind."""

    value: Any
    inputs: tuple[tuple, dict]  # the arguments as they are after the call
    changed: list[str]  # global settings that are not as they were
    drawn: bool = False  # a generator among the arguments has moved
    written: bool = False  # something was written to a tensor among the arguments


@dataclass
class CallLog:
    """The calls that a test has made, so that a message can say which one gave the wrong answer."""

    calls: list[tuple[Any, str]] = field(default_factory=list)  # what came, and the call in words
    checked: int = 0  # of them were made before the last check that passed

    def note(self, value: Any, words: str) -> None:
        self.calls.append((value, words))

    def pass_check(self) -> None:
        self.checked = len(self.calls)

    def name(self, out: Any) -> str:
        """The call that gave `out`; if that cannot be told, the only one since the last check;
        nothing if there were several."""
        gave = {words for value, words in self.calls if out is not None and _holds(value, out)}
        recent = {words for _, words in self.calls[self.checked :] or self.calls[-1:]}
        found = gave if len(gave) == 1 else recent
        return found.pop() if len(found) == 1 else ""


def _holds(tree: Any, leaf: Any) -> bool:
    """Whether a value is `leaf` itself, or has it in a list, tuple or dict."""
    if tree is leaf:
        return True
    items = tree.values() if type(tree) is dict else tree
    return type(tree) in (list, tuple, dict) and any(_holds(item, leaf) for item in items)


class Student:
    """Every attribute is a function of the student's file.

    `repetition` changes what every `Rng` and `TorchRng` gives: the same checks on other draws.
    """

    def __init__(self, path: Path, transport: Transport, *, repetition: int = 0) -> None:
        self._path, self._transport, self._repetition = path, transport, repetition
        self._last_call = ""
        self._log = CallLog()

    def __getattr__(self, name: str) -> "Function":
        if name.startswith("_"):
            raise AttributeError(name)
        return Function(self, name)


class Function:
    """A function of the student's file."""

    def __init__(self, student: Student, name: str) -> None:
        self.student, self.name = student, name

    def __call__(self, *args, **kwargs) -> Any:
        """What the student's function returns for these arguments."""
        return self._ask(args, kwargs)["value"]

    def trace(self, *args, global_seed: int | None = None, frozen: bool = False, **kwargs) -> Trace:
        """Call it, and look at what else it did. `global_seed` seeds the global
        generators of Python, NumPy and torch first; `frozen` makes NumPy's arrays read-only."""
        answer = self._ask(args, kwargs, inspect=True, frozen=frozen, global_seed=global_seed)
        inputs = answer.get("inputs")
        if type(inputs) is not tuple or len(inputs) != 2:
            raise BadMessage("the inputs did not come back")
        changed = [str(c) for c in answer.get("changed") or []]
        flags = (answer.get(name) is True for name in ("drawn", "written"))
        return Trace(answer["value"], inputs, changed, *flags)

    def grad(self, *args, wrt: tuple[str, ...], upstream: Any, **kwargs) -> tuple[Any, dict]:
        """Call it with tensors, and send `upstream` back through autograd.

        Returns what the function returned, and for each argument named in `wrt` (a tensor, or a
        list or dict of them) its gradient: None where nothing arrives. `upstream` has the form of
        what the function returns, leaving out what is no tensor of floats.
        """
        answer = self._ask(args, kwargs, wrt=list(wrt), upstream=upstream)
        gradients = answer.get("gradients")
        if type(gradients) is not dict or gradients.keys() != set(wrt):
            raise BadMessage("the gradients did not come back")
        return answer["value"], gradients

    def operations(self, *args, **kwargs) -> int:
        """How often a call calls torch, directly or in a loop of its own."""
        found = self._ask(args, kwargs, count_operations=True).get("operations")
        if type(found) is not int:
            raise BadMessage("the number of operations did not come back")
        return found

    def instructions(self, *args, **kwargs) -> int:
        """How many instructions of Python the student's file runs in a call."""
        found = self._ask(args, kwargs, count_instructions=True).get("instructions")
        if type(found) is not int:
            raise BadMessage("the number of instructions did not come back")
        return found

    def seconds(self, *args, repeats: int = 3, **kwargs) -> float:
        """The shortest time that a call took, measured beside it."""
        return min(float(self._ask(args, kwargs)["seconds"]) for _ in range(repeats))

    def _ask(self, args: tuple, kwargs: dict, **more) -> dict[str, Any]:
        student = self.student
        student._last_call = f"{self.name}({describe_arguments(args, kwargs)})"
        request = _repeated(request_of(self.name, args, kwargs, **more), student._repetition)
        try:
            answer = student._transport.ask(request)
        except LocalError as error:  # its traceback ends in the student's line: a debugger's place
            told = error_message(error.args[0], self.name, student)
            raise told.with_traceback(error.__traceback__) from None
        except BadMessage as error:
            raise StudentError(
                f"{self.name} sent an answer that cannot be read: {error}", function=self.name
            ) from None
        if type(answer) is not dict or "value" not in answer:
            told = answer.get("error") if type(answer) is dict else None
            raise error_message(told, self.name, student)
        student._log.note(answer["value"], student._last_call)
        return answer


def request_of(function: str, args: tuple, kwargs: dict, **more: Any) -> dict[str, Any]:
    """What `worker.py` is asked for a call; `more` are the fields that are not as usual."""
    return {"function": function, "args": args, "kwargs": kwargs, "inspect": False,
            "frozen": False, "global_seed": None, "wrt": [], "upstream": None,
            "count_operations": False, "count_instructions": False, **more}  # fmt: skip


def error_message(error: Any, function: str, student: Student) -> StudentError:
    """An error of the student's code, told in words."""
    if type(error) is not dict:
        return StudentError(f"{function} sent no answer", function=function)
    kind, text, where = (error.get(key) for key in ("type", "text", "where"))
    text = str(text).replace("\n", "\n    ")  # told apart from lines of ours
    if error.get("to_do") is True:
        return StudentError(f"{function} is to do", function=function, to_do=True)
    if error.get("uncrossable") is True:
        return StudentError(
            f"{student._last_call} returned something that cannot be compared: {text}. Return "
            "NumPy arrays, torch tensors, numbers, strings, lists, tuples or dicts, exactly these",
            function=function,
        )
    place = ""
    if type(where) is dict and where.get("line"):
        place = f" ({student._path.name}, line {where['line']}: {where.get('code')})"
    likely = next((f"\n  likely mistake: {means}" for part, means in LIKELY.items()
                   if part in str(text)), "")  # fmt: skip
    return StudentError(
        f"{student._last_call} raised {kind}: {text}{place}{likely}", function=function
    )


def describe_arguments(args: tuple, kwargs: dict) -> str:
    shown = [describe_value(value) for value in args]
    return ", ".join(shown + [f"{name}={describe_value(value)}" for name, value in kwargs.items()])


def describe_value(value: Any) -> str:
    """An argument in a few characters."""
    if is_tensor(value) or (type(value) is np.ndarray):
        kind = "tensor" if is_tensor(value) else "array"
        return f"{kind} {str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if type(value) in (list, tuple, dict) and (holds_arrays(value) or len(repr(value)) > 60):
        return f"{type(value).__name__} of {len(value)}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def holds_arrays(tree: Any) -> bool:
    """Whether an array lies in a list or dict: writing it out would take longer than the call."""
    if type(tree) in (list, tuple, dict):
        return any(map(holds_arrays, tree.values() if type(tree) is dict else tree))
    return type(tree) is np.ndarray or is_tensor(tree)


def _repeated(tree: Any, repetition: int) -> Any:
    """The same request with other seeds; unchanged at repetition 0."""
    if repetition == 0:
        return tree
    if type(tree) in (list, tuple):
        return type(tree)(_repeated(item, repetition) for item in tree)
    if type(tree) is dict:
        return {name: _repeated(item, repetition) for name, item in tree.items()}
    if type(tree) in (Rng, TorchRng):
        return replace(tree, seed=tree.seed + 1_000_003 * repetition)
    return tree
