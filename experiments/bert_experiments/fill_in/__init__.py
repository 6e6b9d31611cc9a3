"""Cells of a notebook for the student to fill in, each with its check in the cell below.

    def softmax(scores):                                        # a cell tagged `fill-in`
        \"\"\"Scores to probabilities, along the last axis.\"\"\"
        ...

    from bert_experiments.fill_in import nb_01_01 as check      # the cell below it
    softmax = check.softmax(softmax)

The check prints one message and returns what the notebook goes on with: the student's function if
it is right, else the package's. One module for each notebook, `nb_CC_NN`, holds its fill-ins.
"""

import ast
import copy
import inspect
import linecache
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.checks import difference
from autograder.codec import is_tensor
from autograder.student import describe_value, likely_mistake

LONGEST_CALL = 160  # characters of a call that is written out; a longer one is named by its number


@dataclass(frozen=True)
class Stopped:
    """A call that raised an exception: equal to another that raised the same kind."""

    kind: type[BaseException]


@dataclass(frozen=True)
class FillIn:
    """What a cell asks for, and how an answer is judged.

    name: of the function or value in the notebook, and of this object in its module.
    reference: the right function (or the right value, for a cell like `x = ...`).
    instead: what the notebook goes on with, in words: "bert_numpy.operations.softmax_forward".
    mistakes: common wrong answers, each under the sentence that explains it. An answer that gives
        the same as one of them for every input is told that sentence. At least two.
    inputs: the arguments of each call that is compared; fresh copies are handed over.
    """

    name: str
    reference: Any
    instead: str
    mistakes: Mapping[str, Any]
    inputs: Sequence[tuple] = ()
    tolerance: float | None = None

    def __call__(self, answer: Any) -> Any:
        """Say what the answer is worth, and return what to go on with."""
        if callable(answer) and answer is self.reference:  # from an earlier run of the check
            print(f"This is {self.instead}: run the cell above again, then this one.")
        elif is_to_do(answer) and not self.returns_something(answer):
            print(f"Still to do. The notebook goes on with {self.instead}.")
        elif problem := self.problem_with(answer):
            print(f"Not yet. {problem}\nUntil it is right, the notebook goes on with "
                  f"{self.instead}.")  # fmt: skip
        else:
            print("Right.")
            return answer
        return self.reference

    def returns_something(self, answer: Any) -> bool:
        """Whether a function in which a `...` was left computes a result all the same."""
        found = outcome_of(answer, self.inputs[0]) if callable(answer) and self.inputs else None
        return found is not None and found is not ... and not isinstance(found, Stopped)

    def problem_with(self, answer: Any) -> str:
        """What is wrong with the answer, in a message for the student; nothing if it is right."""
        if not callable(self.reference):
            if not (problem := difference(answer, self.reference, self.name, self.tolerance)):
                return ""
            return problem + self.likely([answer], lambda mistake: [mistake])
        if not callable(answer):
            return f"{self.name} is no function: did you run the cell above?"
        outcomes = [outcome_of(answer, args) for args in self.inputs]
        for number, args in enumerate(self.inputs):
            if problem := self.problem_of_call(answer, number, args):
                return (problem + self.where_to_look(number, args)
                        + self.likely(outcomes, self.outcomes_of))  # fmt: skip
        return ""

    def outcomes_of(self, function: Callable) -> list:
        return [outcome_of(function, args) for args in self.inputs]

    def problem_of_call(self, answer: Callable, number: int, args: tuple) -> str:
        call = self.written(number, args)
        given = copy.deepcopy(args)
        try:
            with np.errstate(all="ignore"):
                out = without_axes(answer(*given))
        except Exception as error:
            return f"{call} stopped with {type(error).__name__}: {error}{where(error, answer)}"
        if out is None:
            return f"{call} returned None: is a `return` missing?"
        expected = without_axes(self.reference(*copy.deepcopy(args)))
        if problem := difference(out, expected, call, self.tolerance):
            return problem
        for position, (before, after) in enumerate(zip(args, given, strict=True), 1):
            if isinstance(before, np.ndarray | list) and difference(after, before, "", 0.0):
                kind = "array" if isinstance(before, np.ndarray) else "list"
                return f"{call} changed its argument {position} in place: make a new {kind}."
        return ""

    def likely(self, outcomes: list, outcomes_of: Callable[[Any], list]) -> str:
        """The mistake that gives the same as the answer does for every input, if there is one."""
        for says, mistake in self.mistakes.items():
            wrong = outcomes_of(mistake)
            if all(map(self.agree, outcomes, wrong)):
                return f"\n  likely mistake: {says}"
        return ""

    def agree(self, left: Any, right: Any) -> bool:
        if isinstance(left, Stopped) or isinstance(right, Stopped):
            return type(left) is type(right) and left == right
        return not difference(left, right, "", self.tolerance)

    def written(self, number: int, args: tuple) -> str:
        """The call as the student can type it."""
        call = f"{self.name}({', '.join(map(as_code, args))})"
        if len(call) <= LONGEST_CALL:
            return call
        return f"{self.name}(*check.{self.name}.inputs[{number}])"

    def where_to_look(self, number: int, args: tuple) -> str:
        """Of a call that is not written out: its arguments in short, and the code that has them."""
        given = f"check.{self.name}.inputs[{number}]"
        if given not in self.written(number, args):
            return ""
        return f"\n  the arguments: {', '.join(map(describe_value, args))}; `{given}` has them"


def outcome_of(function: Callable, args: tuple) -> Any:
    try:
        with np.errstate(all="ignore"):
            return without_axes(function(*copy.deepcopy(args)))
    except Exception as error:
        return Stopped(type(error))


def without_axes(value: Any) -> Any:
    """NumPy's single numbers as Python's, which is how a message shows them."""
    return value.item() if isinstance(value, np.generic) else value


def as_code(value: Any) -> str:
    if isinstance(value, np.ndarray):
        plain = value.dtype in (np.float64, np.int64, np.bool_)
        dtype = "" if plain else f", dtype=np.{value.dtype}"
        return f"np.array({value.tolist()}{dtype})"
    if is_tensor(value):
        return f"torch.tensor({value.tolist()})"
    return repr(value)


def where(error: Exception, answer: Callable) -> str:
    """The line of the student's function that stopped, and what such an error often means."""
    line, frame = "", error.__traceback__
    own = getattr(getattr(answer, "__code__", None), "co_filename", None)
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == own:
            text = linecache.getline(own, frame.tb_lineno).strip()
            line = f"\n  in the line  {text}" if text else ""
        frame = frame.tb_next
    means = likely_mistake(str(error))
    return line + (f"\n  likely mistake: {means}" if means else "")


def is_to_do(answer: Any) -> bool:
    """Whether a `...` still stands where something is to be filled in."""
    if answer is ...:
        return True
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(answer)))
    except (OSError, TypeError, SyntaxError):  # no function, or one without its source
        return False
    statements = (ast.Expr, ast.Assign, ast.AugAssign, ast.Return)
    values = (node.value for node in ast.walk(tree) if isinstance(node, statements))
    return any(isinstance(value, ast.Constant) and value.value is ... for value in values)
