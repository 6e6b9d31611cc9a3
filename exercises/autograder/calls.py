"""The calls that a check makes of the student's functions, in words and as Python to paste."""

import math
import re
from dataclasses import dataclass, field
from typing import Any

from autograder.codec import Rng, TorchRng, is_array, is_tensor, leaves, map_leaves, type_name

WIDTH, LONGEST = 96, 480  # characters of a line, and of a call to paste


@dataclass(frozen=True)
class Call:
    """A call of a student's function, with what it was given."""

    function: str
    args: tuple
    kwargs: dict

    def __str__(self) -> str:
        shown = [describe_value(value) for value in self.args]
        shown += [f"{name}={describe_value(value)}" for name, value in self.kwargs.items()]
        return f"{self.function}({', '.join(shown)})"


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
        return gave if len({str(call) for call in gave}) == 1 else recent


def _holds(tree: Any, leaf: Any) -> bool:
    """Whether a value is `leaf` itself, or has it in a list, tuple or dict."""
    if tree is leaf:
        return True
    items = tree.values() if type(tree) is dict else tree
    return type(tree) in (list, tuple, dict) and any(_holds(item, leaf) for item in items)


def as_python(call: Call) -> str:
    """The call as Python that gives the same arrays, to paste below the functions of a file; "" if
    it is longer than `LONGEST`, or holds something that has no short spelling."""
    found = leaves([*call.args, *call.kwargs.values()])
    if sum(math.prod(leaf.shape) if is_array(leaf) else 1 for leaf in found) > LONGEST // 2:
        return ""
    try:
        given = [*map(spell, call.args), *(f"{name}={spell(v)}" for name, v in call.kwargs.items())]
    except Unspellable:
        return ""
    text = f"{call.function}({', '.join(given)})"
    if len(text) > WIDTH:
        text = f"{call.function}(\n      " + ",\n      ".join(given) + ")"
    return text if len(text) <= LONGEST else ""


class Unspellable(Exception):
    """A value that no short piece of Python makes."""


class Code(str):
    """A piece of Python, which stands as it is in the `repr` of a list, tuple or dict."""

    __repr__ = str.__str__


def spell(value: Any) -> str:
    """A value as Python: arrays and tensors with exact numbers, generators with their seed."""
    return repr(map_leaves(_spell_leaf, value))


def _spell_leaf(leaf: Any) -> Any:
    if is_array(leaf):
        return _spell_array(leaf)
    if type(leaf) is Rng and not leaf.drawn:
        return Code(f"np.random.default_rng({leaf.seed})")
    if type(leaf) is TorchRng and not leaf.drawn:
        return Code(f"torch.Generator().manual_seed({leaf.seed})")
    if type(leaf) is float and not math.isfinite(leaf):
        return Code(f"float('{leaf}')")
    if leaf is None or type(leaf) in (bool, int, float, str):
        return leaf
    raise Unspellable


def _spell_array(array: Any) -> Code:
    library, make = ("torch", "torch.tensor") if is_tensor(array) else ("np", "np.array")
    dtype = type_name(array.dtype)
    if 0 in array.shape:
        return Code(f"{library}.zeros({tuple(array.shape)}, dtype={library}.{dtype})")
    if is_tensor(array):
        array = (array.float() if dtype == "bfloat16" else array).numpy()
    if array.dtype.kind == "f":
        array = array.astype(str).astype(float)  # the shortest digits that give the same number
    numbers = re.sub(r"\b(inf|nan)\b", rf"{library}.\1", repr(array.tolist()))
    usual = ("bool", "int64", "float32" if library == "torch" else "float64")
    return Code(f"{make}({numbers}" + (")" if dtype in usual else f", dtype={library}.{dtype})"))


def describe_value(value: Any) -> str:
    """An argument in a few characters."""
    if is_array(value):
        kind = "tensor" if is_tensor(value) else "array"
        return f"{kind} {type_name(value.dtype)}{list(value.shape)}"
    if type(value) in (list, tuple, dict) and (holds_arrays(value) or len(repr(value)) > 60):
        return f"{type(value).__name__} of {len(value)}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def holds_arrays(tree: Any) -> bool:
    """Whether an array lies in a list or dict: writing it out would take longer than the call."""
    return any(map(is_array, leaves(tree)))
