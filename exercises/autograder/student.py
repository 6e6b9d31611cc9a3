"""The student's functions, as a test calls them: `student.softmax_forward(x, axis=1)` sends `x` and
`axis` to the student's code and gives back what it returned. `transports.py` says where it runs."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.calls import Call, CallLog
from autograder.codec import BadMessage, with_fresh_generators
from autograder.transports import LocalError, StudentError, Transport

# What an error of Python's, NumPy's or torch's most often means.
LIKELY = {
    "unexpected keyword argument": "was an argument of the starter renamed or left out?",
    "positional arguments but": "was an argument of the starter left out?",
    "read-only": "an input is changed in place: make a new array",
    "a leaf Variable that requires grad": "an input is changed in place: make a new tensor",
    "matmul: Input operand": "a matrix product whose inner axes differ: is one to be transposed?",
    "mat1 and mat2 shapes": "a matrix product whose inner axes differ: is one to be transposed?",
}
NOT_BROADCAST = "operands could not be broadcast"  # torch's message has no shapes to decide by


def likely_mistake(error: str) -> str:
    """What an error with this text most often means; nothing where the text does not decide."""
    if NOT_BROADCAST in error:
        found = {tuple(re.findall(r"\d+", shape)) for shape in re.findall(r"\(([\d, ]+)\)", error)}
        shorter, longer = sorted(found, key=len) if len(found) == 2 else ((), ())
        without_one = [longer[:axis] + longer[axis + 1 :] for axis in range(len(longer))]
        return "a sum, mean or maximum without keepdims=True?" if shorter in without_one else ""
    return next((means for part, means in LIKELY.items() if part in error), "")


@dataclass(frozen=True)
class Trace:
    """A call, and what it left behind."""

    value: Any
    inputs: tuple[tuple, dict]  # the arguments as they are after the call
    changed: list[str]  # global settings that are not as they were
    drawn: bool = False  # a generator among the arguments has moved
    written: bool = False  # something was written to a tensor among the arguments


class Student:
    """Every attribute is a function of the student's file."""

    def __init__(self, path: Path, transport: Transport) -> None:
        self._path, self._transport = path, transport
        self._log = CallLog()
        self._inspected: list[tuple[Function, tuple, dict]] = []  # by `checks.leaves_no_trace`

    def __getattr__(self, name: str) -> "Function":
        if name.startswith("_"):
            raise AttributeError(name)
        return Function(self, name)


class Function:
    """A function of the student's file."""

    def __init__(self, student: Student, name: str) -> None:
        self.student, self.name = student, name
        self.inspected = student._inspected

    def __call__(self, *args, **kwargs) -> Any:
        """What the student's function returns for these arguments."""
        return self._ask(args, kwargs)["value"]

    def trace(
        self, *args, global_seed: int | None = None, frozen: bool = False, before: Any = None,
        **kwargs,
    ) -> Trace:  # fmt: skip
        """Call it, and look at what else it did. `global_seed` seeds the global generators of
        Python, NumPy and torch first; with `frozen`, writing to an argument raises. `before` is a
        call of any function (its name, args, kwargs) that is made first. Then arguments that are
        equal, of one call or both, are one object, and hold other values during the first."""
        answer = self._ask(args, kwargs, inspect=True, frozen=frozen, global_seed=global_seed,
                           before=with_fresh_generators(before))  # fmt: skip
        inputs = answer.get("inputs")
        if type(inputs) is not tuple or len(inputs) != 2:
            raise BadMessage("the inputs did not come back")
        changed = [str(what) for what in answer.get("changed") or []]
        return Trace(answer["value"], inputs, changed, answer.get("drawn") is True,
                     answer.get("written") is True)  # fmt: skip

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

    def lines_run(self, *args, **kwargs) -> int:
        """How many lines of the student's file run in a call, one again at each turn of a loop."""
        found = self._ask(args, kwargs, count_lines=True).get("lines")
        if type(found) is not int:
            raise BadMessage("the number of lines did not come back")
        return found

    def seconds(self, *args, **kwargs) -> float:
        """The shortest time that one of three calls took, measured beside it."""
        return min(float(self._ask(args, kwargs)["seconds"]) for _ in range(3))

    def _ask(self, args: tuple, kwargs: dict, **more) -> dict[str, Any]:
        student = self.student
        args, kwargs = with_fresh_generators((args, kwargs))
        call = student._log.last = Call(self.name, args, kwargs)
        request = request_of(self.name, args, kwargs, **more)
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
        student._log.calls.append((answer["value"], call))
        return answer


def request_of(function: str, args: tuple, kwargs: dict, **more: Any) -> dict[str, Any]:
    """What `worker.py` is asked for a call; `more` are the fields that are not as usual."""
    return {"function": function, "args": args, "kwargs": kwargs, "inspect": False,
            "frozen": False, "before": None, "global_seed": None, "wrt": [], "upstream": None,
            "count_lines": False, **more}  # fmt: skip


def error_message(error: Any, function: str, student: Student) -> StudentError:
    """An error of the student's code, in words."""
    if type(error) is not dict:
        return StudentError(f"{function} sent no answer", function=function)
    if error.get("to_do") is True:
        return StudentError(f"{function} is to do", function=function, to_do=True)
    call, text, where = student._log.last, str(error.get("text")), error.get("where")
    text = text.replace("\n", "\n    ")  # told apart from lines of ours
    if error.get("uncrossable") is True:
        return StudentError(
            f"{call} returned something that cannot be compared: {text}. Return "
            "NumPy arrays, torch tensors, numbers, strings, lists, tuples or dicts, exactly these",
            function=function,
        )
    message = f"{call} raised {error.get('type')}: {text}"
    if type(where) is dict and where.get("line"):
        message += f" ({student._path.name}, line {where['line']}: {where.get('code')})"
    if likely := likely_mistake(text):
        message += f"\n  likely mistake: {likely}"
    return StudentError(message, function=function)
