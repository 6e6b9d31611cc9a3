"""Which kinds of input the checks of an exercise give, and which usual ones they never give.

A wrong answer may be wrong for one kind of input alone: rows that are alike, a batch of 16, ids of
int8, a view of a longer array. Where the page allows what is never given, a check may be missing.
"""

import inspect
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autograder.codec import as_numpy, is_array, is_tensor, type_name
from autograder.points import Exercise
from autograder.runner import grade
from autograder.student import LocalTransport
from bert_experiments.grader.bank import chosen_exercises

Given = dict[str, dict[str, set[str]]]  # by argument, by aspect: what was given
# Where bands of sizes begin: each number up to 13, powers of two, what is between them.
BANDS = [*range(14), 14, 16, 17, 32, 33, 64, 65, 128, 129, 256, 257, 512, 513, 1024, 1025]
WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
TYPES = {"integers": WHOLE, "floats": ("float32", "float64"), "booleans": ("bool",)}
# Of all numbers of an array; of its rows, which lie along its first axis; along its last axis.
NUMBERS: dict[str, Callable[[np.ndarray], Any]] = {
    "all 0": lambda x: (x == 0).all(),
    "some 0": lambda x: (x == 0).any() and (x != 0).any(),
    "none 0": lambda x: (x != 0).all(),
    "a single one not 0": lambda x: (x != 0).sum() == 1 < x.size,
    "all alike, not 0": lambda x: x.size > 1 and (x == x.flat[0]).all() and x.flat[0] != 0,
    "some alike": lambda x: 1 < len(np.unique(x)) < x.size,
    "all different": lambda x: len(np.unique(x)) == x.size > 1,
    "negative": lambda x: (x < 0).any(),
    "all negative": lambda x: (x < 0).all(),
    "all positive": lambda x: (x > 0).all(),
    "whole": lambda x: (x == np.round(x)).all(),
    "above a million": lambda x: (np.abs(x) > 1e6).any(),
    "at most 1e-4, not all 0": lambda x: 0 < np.abs(x).max() <= 1e-4,
    "infinite": lambda x: np.isinf(x).any(),
}
ROWS: dict[str, Callable[[np.ndarray], Any]] = {
    "all rows alike": lambda x: (x == x[0]).all() and len(np.unique(x[0])) > 1,
    "some rows alike": lambda x: 1 < len(np.unique(x, axis=0)) < len(x),
    "the first row 0": lambda x: not x[0].any() and x.any(),
    "the last row 0": lambda x: not x[-1].any() and x.any(),
    "a row of one number": lambda x: (x == x[:, :1]).all(1).any() and len(np.unique(x)) > 1,
}
LAST_AXIS: dict[str, Callable[[np.ndarray], Any]] = {
    "rising": lambda x: (np.diff(x) >= 0).all() and (np.diff(x) > 0).any(),
    "falling": lambda x: (np.diff(x) <= 0).all() and (np.diff(x) < 0).any(),
    "0 before others": lambda x: ((x[..., 0] == 0) & x.any(-1)).any(),
    "0 between others": lambda x: ((x[..., 1:-1] == 0) & (x[..., :1] * x[..., -1:] != 0)).any(),
}  # fmt: skip
TEXTS: dict[str, Callable[[str], Any]] = {
    "capitals": lambda text: text != text.lower(),
    "digits": lambda text: any(map(str.isdigit, text)),
    "spaces": lambda text: " " in text,
    "other white space": lambda text: any(c.isspace() and c != " " for c in text),
    "not ASCII": lambda text: not text.isascii(),
    "beyond 16 bits": lambda text: any(c > "\uffff" for c in text),
    "a character twice": lambda text: len(set(text)) < len(text),
}
ORDERS: dict[str, Callable[[list], Any]] = {
    "sorted": lambda items: items == sorted(items),
    "falling": lambda items: items == sorted(items, reverse=True),
    "in no order": lambda items: items not in (sorted(items), sorted(items, reverse=True)),
    "an item twice": lambda items: len(set(items)) < len(items),
    "all alike": lambda items: len(set(items)) == 1,
}


class Recording(LocalTransport):
    """Hands the calls of the checks on to the solution, and notes what they give."""

    def __init__(self, exercise: Exercise) -> None:
        super().__init__(exercise.solution)
        self.calls: dict[str, int] = defaultdict(int)
        self.given: dict[str, Given] = defaultdict(lambda: defaultdict(lambda: defaultdict(set)))

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        answer, name = super().ask(request), request["function"]
        signature = inspect.signature(getattr(self.worker.module, name))
        bound = signature.bind(*request["args"], **request["kwargs"])
        self.calls[name] += 1
        for number, argument in enumerate(signature.parameters):
            how = ("by place" if number < len(request["args"]) else
                   "by name" if argument in bound.arguments else "left out")  # fmt: skip
            self.given[name][argument]["passed"].add(how)
            if argument in bound.arguments:
                note(self.given[name], argument, bound.arguments[argument])
        return answer


def note(given: Given, of: str, value: Any) -> None:
    """Record the kinds of a value, and those of the values in it, under the argument `of`."""
    kind, facts = kind_of(value), {}
    if is_array(value):
        facts = facts_of_array(value)
    elif isinstance(value, str):
        facts = {"length": {band(len(value))}, "text": those_of(TEXTS, value)}
    elif isinstance(value, list | tuple | dict):
        items = [*value.values()] if isinstance(value, dict) else [*value]
        facts = {"length": {band(len(items))}}
        if len(items) > 1 and {*map(type, items)} in ({int}, {float}, {str}):
            facts["order"] = those_of(ORDERS, items)
        few = len(value) <= 8 and isinstance(value, dict)
        for name, item in zip(value if few else len(items) * [""], items[:400], strict=False):
            note(given, f"{of}[{name}]", item)
    elif value is None or isinstance(value, int | float):
        facts = {"values": {f"{value:g}" if isinstance(value, float) else str(value)}}
    for aspect, found in {"kind": {kind}, **facts}.items():
        given[of][aspect] |= found


def kind_of(value: Any) -> str:
    if not is_array(value):
        return type(value).__name__
    name = type_name(value.dtype)
    of = "floats" if "float" in name else "booleans" if name == "bool" else "integers"
    return f"{'tensor' if is_tensor(value) else 'array'} of {of}"


def facts_of_array(array: Any) -> dict[str, set[str]]:
    facts = {"type": {type_name(array.dtype)}, "axes": {str(array.ndim)}}
    for axis, size in enumerate(array.shape[:3]):
        facts[f"size of axis {axis} of {array.ndim}"] = {band(size)}
    equal = len(array.shape) - len({*array.shape})
    facts["sizes"] = {"some axes equally long" if equal else "no two axes equally long"}
    if 0 in array.shape or getattr(array, "is_meta", False):
        return facts
    in_order = array.is_contiguous() if is_tensor(array) else array.flags.c_contiguous
    facts["memory"] = {"in order" if in_order else "gaps or another order"}
    numbers = as_numpy(array).astype(np.float64)
    facts["numbers"] = those_of(NUMBERS, numbers)
    if len(array.shape) > 1 and len(array) > 1:
        facts["rows"] = those_of(ROWS, numbers.reshape(len(numbers), -1))
    if len(array.shape) and array.shape[-1] > 1:
        facts["last axis"] = those_of(LAST_AXIS, numbers)
    return facts


def those_of(questions: dict[str, Callable[[Any], Any]], value: Any) -> set[str]:
    return {name for name, holds in questions.items() if holds(value)}


def band(size: int) -> str:
    at = bisect_right(BANDS, size) - 1
    low, high = BANDS[at], BANDS[at + 1] - 1 if at + 1 < len(BANDS) else None
    return f"{low}" if low == high else f"{low}–{high or ''}"


def never_given(aspects: dict[str, set[str]]) -> Iterator[tuple[str, list[str]]]:
    """Of each aspect, which of its usual kinds are not among those that were given."""
    numbers = {kind.split()[-1] for kind in aspects["kind"]}
    tables = {"numbers": NUMBERS, "rows": ROWS, "last axis": LAST_AXIS, "text": TEXTS,
              "order": ORDERS, "type": [t for of in numbers for t in TYPES.get(of, ())],
              "sizes": ("some axes equally long", "no two axes equally long"),
              "memory": ("in order", "gaps or another order")}  # fmt: skip
    for aspect, found in aspects.items():
        usual = [*tables.get(aspect, ())]
        if aspect.startswith(("size of", "length")):
            usual = [band(low) for low in BANDS[: BANDS.index(129)]]
        if missing := [kind for kind in dict.fromkeys(usual) if kind not in found]:
            yield aspect, missing


def run_inputs(names: list[str]) -> None:
    """Run the checks of these exercises on their solutions, and print what they never give."""
    for exercise in chosen_exercises(names):
        recording = Recording(exercise)
        grade(exercise, exercise.solution, transport=recording)
        for function, given in recording.given.items():
            print(f"\n{exercise.name}, {function}: {recording.calls[function]:,} calls")
            for argument, aspects in given.items():
                told = [f"{aspect} {', '.join(sorted(aspects[aspect])[:16])}" for aspect in (
                    "passed", "kind", "values") if aspects.get(aspect)]  # fmt: skip
                print(f"  {argument}: {'; '.join(told)}")
                for aspect, missing in never_given(aspects):
                    print(f"    never, {aspect}: {', '.join(missing)}")
