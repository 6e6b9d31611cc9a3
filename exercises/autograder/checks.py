"""Comparisons whose failures teach: what was expected, what came, and the likely mistake. A table
of mistakes says what common wrong answers would give: the message names the one that was made."""

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from itertools import cycle, product
from typing import Any

import numpy as np

from autograder import codec
from autograder.codec import Rng, is_array, is_tensor, leaves, map_leaves, pack
from autograder.student import Function, StudentError, Trace, describe_value, indented
from autograder.worker import EARLIER, altered, gradients_of  # noqa: F401 -- the tests ask for it

# What a wrong answer would be, or a question about the answer that only a wrong one says yes to.
Mistakes = dict[str, Any | Callable[[Any], bool]]

# Right answers written differently stay far within these; wrong ones far outside.
TOLERANCES = {"float64": 1e-10, "float32": 1e-5, "float16": 1e-2, "bfloat16": 5e-2}
IN_PLACE = "an operation like x -= … or x[…] = … works on the caller's array: make a new one"
FALSE_ALARM = 1e-7  # chance that a check of a share fails a right answer
SPEED_ROUNDS = 5  # how often a function is measured before it is called slow


class CheckFailed(AssertionError):
    """The student's answer `out` is wrong; the message is for the student."""

    def __init__(self, message: str, out: Any = None) -> None:
        super().__init__(message)
        self.out = out


def rng(*numbers: int) -> np.random.Generator:
    """What a check draws its inputs from: the same at each run; under a secret seed others."""
    return np.random.default_rng([*map(codec.reseeded, numbers)])


def generator(seed: int) -> Any:
    """The same as a generator of torch's."""
    import torch

    return torch.Generator().manual_seed(codec.reseeded(seed))


def anew(below: int) -> int:
    """0 at home, under a secret seed a number below this: to be added to ids, sizes and seeds."""
    return (codec.reseeded(below) - below) % below


def passed() -> None:
    """Called after each check that passes; `runner.run` puts a function of its own here."""


def fail(message: str, *, likely: str = "", out: Any = None) -> None:
    raise CheckFailed(message + (f"\n  likely mistake: {likely}" if likely else ""), out)


def that(condition: bool, message: str, *, likely: str = "") -> None:
    """Fail with the message unless the condition holds."""
    if not condition:
        fail(message, likely=likely)
    passed()


def same(out: Any, expected: Any, *, of: str = "the result",
         mistakes: Mistakes | Callable[[], Mistakes] | None = None, tolerance: float | None = None,
         magnitude: float | None = None) -> None:  # fmt: skip
    """`out` must be `expected`: of the same type, shape and type of number, with the same values
    apart from rounding. Lists, tuples and dicts are compared item by item.

    `tolerance` is absolute up to 1 and relative above; with a `magnitude` it is in proportion to
    that and to the largest number of each array. Whole numbers and words must be equal.
    `mistakes` maps the name of a mistake to the answer that it gives, or to a function of `out`
    that tells whether it was made; the first that fits is named. `lambda: {…}` is a lazy table."""
    if problem := difference(out, expected, of, tolerance, magnitude):
        problem += _shown_whole(out, expected)
        known = (mistakes() if callable(mistakes) else mistakes) or {}
        fail(problem, likely=_name(out, known, tolerance), out=out)
    passed()


def _shown_whole(out: Any, expected: Any) -> str:
    """Short lists, tuples and dicts of plain values, whole: [0][2] is not easily found in them."""
    if type(expected) not in (list, tuple, dict) or any(map(is_array, leaves((expected, out)))):
        return ""
    texts = f"\n  expected  {expected!r}", f"\n  got       {out!r}"
    return "".join(texts) if max(map(len, texts)) <= 113 else ""


def parts(out: Any, *names: str) -> tuple:
    """`out`, which must be a tuple of as many values as there are names."""
    if type(out) is not tuple or len(out) != len(names):
        got = f"{len(out)} values" if type(out) is tuple else describe_value(out)
        fail(f"expected a tuple of {len(names)} values ({', '.join(names)}), got {got}")
    return out


def share(count: int, total: int, expected: float, *, of: str,
          mistakes: dict[str, float] | None = None) -> None:  # fmt: skip
    """`count` of `total` must be an `expected` share, within what chance allows: a right answer
    fails once in ten million times. `mistakes` maps the name of a mistake to its share."""

    def is_possible(p: float) -> bool:
        low, high = central_range(total, p)
        return low <= count <= high

    if not is_possible(expected):
        low, high = central_range(total, expected)
        likely = next((name for name, p in (mistakes or {}).items() if is_possible(p)), "")
        fail(f"{of}: expected a share of {expected:g} ({low} to {high} of {total}), got "
             f"{count / max(total, 1):.4f} ({count})", likely=likely)  # fmt: skip
    passed()


def leaves_no_trace(function: Function, *args, **kwargs) -> None:
    """A call must change neither its inputs, not even for a while, nor anything global, nor read a
    global generator. What it returns must follow from the values of its arguments alone: not from
    their order in memory, from which objects they are, or from earlier calls of the file."""
    name, first = function.name, function.trace(*args, global_seed=1, **kwargs)
    _nothing_global_changed(name, first.changed)
    labels = [*(f"argument {i + 1}" for i in range(len(args))), *kwargs]
    after = [*first.inputs[0], *first.inputs[1].values()]
    for label, before, now in zip(labels, [*args, *kwargs.values()], after, strict=False):
        if now is not None and (problem := difference(now, before, label, 0.0)):
            fail(f"{name} changed its input in place: {problem}", likely=IN_PLACE)
    if first.written:
        fail(f"{name} changed its input in place, and put back what stood there", likely=IN_PLACE)
    if call := function.noticed.get((name, "written")):
        fail(f"{call} changed its input in place", likely=IN_PLACE)
    second = function.trace(*args, global_seed=2, frozen=True, **kwargs)  # writing raises here
    _nothing_global_changed(name, second.changed)
    nothing_kept(name, second)
    if not second.shared and (call := function.noticed.get((name, "shared"))):  # else it may
        nothing_kept(str(call), replace(second, shared=True), may_share=False)
    if pack(_in_order(first.value)) != pack(_in_order(second.value)):
        fail(f"{name} gives another result when the global generators have another seed",
             likely="a draw from np.random, random or torch's global generator instead of the one "
                    "that was handed in, or a value that is kept from one call to the next"
             )  # fmt: skip

    def returns_it_again(when: str, likely: str, given: Any = (args, kwargs), **options) -> None:
        try:
            answer = function.trace(*given[0], global_seed=1, **options, **given[1])
            now, problem = answer.value, difference(answer.value, first.value, "the result", None)
        except StudentError as error:
            answer, now, problem = first, None, str(error)
        if problem:
            fail(f"{name} gives another result {when}: {problem}", likely=likely, out=now)
        nothing_kept(name, answer)

    if turned := _turned((args, kwargs)):
        returns_it_again("for the same arrays in another order of memory, or the same dicts with "
                         "their entries in another order",
                         "order='A' or 'K' reads an array as it lies; zeros_like makes one that "
                         "lies alike, and a reshape of that is a copy: what is written there is "
                         "lost; and what is in a dict is found by its name alone", turned
                         )  # fmt: skip
    own = {id(leaf) for leaf in leaves((args, kwargs)) if is_array(leaf)}
    this = (function, args, kwargs)
    related = [call for call in function.inspected if own & set(map(id, leaves(call[1:])))][-3:]
    for (other, given, more), turn in product([this, *related], (1, -1)):
        returns_it_again(f"after a call of {other.name} in which the same arrays, lists and dicts "
                         "held other values (equal ones are one object)",
                         "a value is kept from one call to the next and found again by the object, "
                         "not by what it holds; or `is` compares objects where == is meant",
                         before=(other.name, given, more, turn))  # fmt: skip
    with contextlib.suppress(StudentError):  # which needs gradients
        if any(map(is_tensor, leaves((args, kwargs)))):
            under = function.trace(*args, global_seed=1, no_grad=True,
                                   before=(name, args, kwargs, 1), **kwargs)  # fmt: skip
            _nothing_global_changed(name, under.changed)
            nothing_kept(name, under)
            if problem := difference(under.value, first.value, "the result", None):
                fail(f"{name} gives another result under torch.no_grad(): {problem}",
                     likely="it depends on whether gradients are recorded, or is kept")  # fmt: skip
    for n in (0, 20):
        equal = [arg * 0 + n if "float" in str(getattr(arg, "dtype", "")) else arg for arg in args]
        with contextlib.suppress(StudentError):  # such numbers may not be allowed
            nothing_kept(name, function.trace(*equal, **kwargs), may_share=second.shared)
    function.inspected.append(this)
    for other, given, more in [*related, this]:
        for place in [*range(len(given)), *more]:
            if not _call_with_another(place, other, given, more):
                continue
            which = f"`{place}`" if place in more else f"argument {place + 1}"
            returns_it_again(f"after a call of {other.name} in which {which} was another one",
                             "a value is kept from one call to the next, which belongs to other "
                             "arguments")  # fmt: skip
    passed()


def _call_with_another(place: int | str, function: Function, args: tuple, kwargs: dict) -> bool:
    """Call it, in the file loaded anew, with one argument altered; false if that is impossible."""
    args, kwargs = list(args), dict(kwargs)
    given = kwargs if place in kwargs else args
    given[place] = altered(given[place])
    with contextlib.suppress(StudentError):
        if given[place] is not None:
            function.trace(*args, fresh=True, **kwargs)
            return True
    return False


def _nothing_global_changed(name: str, changed: list[str]) -> None:
    likely = "it uses or sets something global, which other code relies on"
    if changed == [EARLIER]:
        likely = "all results share one array: make a new one at each call"
    elif all("requires_grad" in what for what in changed):
        likely = "requires_grad_ works on the caller's tensor: detach it first"
    if changed:
        fail(f"{name} changed {' and '.join(changed)}", likely=likely)


def nothing_kept(name: str, call: Trace, *, may_share: bool = True) -> None:
    if call.shared and not may_share:
        fail(f"{name} returns a list, dict or array twice, or one it was given, or a view of one",
             likely="whoever writes to it changes another value too: return a copy")  # fmt: skip
    if call.kept:
        fail(f"{name} returns a list, dict or array that an earlier call has returned too",
             likely="it is kept (lru_cache, a global): return a copy")  # fmt: skip


def _turned(tree: tuple[tuple, dict]) -> Any:
    """The same arguments, NumPy's arrays in Fortran's order, the entries of a dict in the opposite
    one. None if nothing has another order, or for a generator, which may draw in that of memory."""
    found = list(leaves(tree))
    if any(isinstance(leaf, Rng) for leaf in found):
        return None
    order = cycle((reversed, iter))  # of two dicts one: their entries are not in the same order
    args, named = map_leaves(lambda leaf: np.asfortranarray(leaf) if type(leaf) is np.ndarray
                             and leaf.ndim > 1 else leaf, (tree[0], [*tree[1].items()]),
                             order=lambda items: next(order)(items))  # fmt: skip
    turned = args, dict(named)
    has_arrays = any(type(leaf) is np.ndarray and min(leaf.ndim, leaf.size) > 1 for leaf in found)
    return turned if has_arrays or pack(turned) != pack(tree) else None


def draws_from_its_generator(function: Function, *args, **kwargs) -> None:
    """A call must draw from the generator that it is given, from where it stands."""
    first = function.trace(*args, **kwargs)
    that(first.drawn, f"{function.name} left the generator that it was given where it stood",
         likely="a copy of it was drawn from, so two calls in a row draw the same")  # fmt: skip
    for drawn in range(1, 21):  # of few possible results, two may be the same by chance
        moved = map_leaves(lambda leaf, drawn=drawn: replace(leaf, drawn=drawn)
                           if isinstance(leaf, Rng) else leaf, (args, kwargs))  # fmt: skip
        if pack(_in_order(function(*moved[0], **moved[1]))) != pack(_in_order(first.value)):
            return passed()
    fail(f"{function.name} gives the same result from wherever its generator stands",
         likely="it is seeded anew, or another one is made from its seed: two calls in a row draw "
                "the same")  # fmt: skip


def _in_order(tree: Any) -> Any:
    """The same values, the entries of each dict by their names: their order is not the answer's."""
    by_name = partial(sorted, key=lambda entry: repr(entry[0]))
    return map_leaves(lambda leaf: leaf, tree, order=by_name)


def _varied(turn: int, leaf: Any) -> Any:
    """Numbers like these, others at each turn: no answer kept from an earlier call is right."""
    if isinstance(leaf, Rng):
        return replace(leaf, seed=leaf.seed + turn)
    if not is_array(leaf) or not leaf.ndim:
        return leaf
    is_float = leaf.is_floating_point() if is_tensor(leaf) else leaf.dtype.kind == "f"
    if is_float:
        return leaf * (1 - turn / 64)
    return leaf.roll(turn, 0) if is_tensor(leaf) else np.roll(leaf, turn, 0)


def not_slower(function: Function, *args, loop: Callable[[], Any], times: float = 1.0,
               than: str = "a plain loop", right: Callable[..., bool],
               likely: str = "a Python loop over single numbers: use whole arrays at once",
               **kwargs) -> None:  # fmt: skip
    """The function must take at most `times` as long as `loop`, which does the same in a slower way
    (`than` says which). Both are seconds of a processor, in one thread: other work on the machine
    does not count. What seems too slow is measured again, and the shortest times count. `right`
    tells whether a result is that of the arguments: what is timed must be the work itself."""
    seconds, took, spare = math.inf, math.inf, 0.0
    for number in range(SPEED_ROUNDS):
        for turn in range(3 * number, 3 * number + 3):
            given = map_leaves(partial(_varied, turn), (args, kwargs))
            took_now, result = function.timed(*given[0], **given[1])
            that(right(result, *given[0], **given[1]), f"{function.name} returns something else in "
                 "the calls that are timed")  # fmt: skip
            seconds = min(seconds, took_now)
        for _ in range(3):
            start = time.process_time()
            loop()
            took = min(took, time.process_time() - start)
        # One measurement may be lucky or not: what is not clear is measured again.
        if seconds - spare <= times * took / (1 if number else 2):
            return
        if number and seconds - spare > 4 * times * took:
            break
        spare = spare or function.overhead(*args, **kwargs)
    seconds -= spare
    fail(f"{function.name} took {seconds:.3f} s, {seconds / max(took, 1e-9):.1f} times as long as "
         f"{than}: at most {times:g} times is allowed", likely=likely)  # fmt: skip


def difference(out: Any, expected: Any, of: str, tolerance: float | None,
               magnitude: float | None = None) -> str:  # fmt: skip
    """What differs, in words; nothing if nothing does."""
    if expected is None or type(expected) in (str, bool, np.bool_, bytes):
        same_kind = {type(out), type(expected)} in ({type(expected)}, {bool, np.bool_})
        return "" if same_kind and out == expected else _told(of, expected, out)
    if type(expected) in (list, tuple, dict):
        return _difference_of_trees(out, expected, of, tolerance, magnitude)
    if type(expected) in (int, float) or isinstance(expected, np.generic):
        return _difference_of_numbers(out, expected, of, tolerance, magnitude)
    return _difference_of_arrays(out, expected, of, tolerance, magnitude)


def _difference_of_trees(out: Any, expected: Any, of: str, *within: float | None) -> str:
    """Of lists, tuples and dicts: what differs in the first entry that does."""
    if codec.are_plain(expected) and codec.are_plain(out) and repr(out) == repr(expected):
        return ""
    if type(out) is not type(expected):
        return (f"{of}: expected a {type(expected).__name__} of {len(expected)}, "
                f"got {describe_value(out)}")  # fmt: skip
    entries = enumerate(expected[: len(out)]) if type(expected) is not dict else expected.items()
    if type(expected) is dict and out.keys() != expected.keys():
        keys = {"missing": expected.keys() - out.keys(), "not expected": out.keys() - expected}
        told = (f"; {which}: {', '.join(sorted(map(indented, found))[:5])}"
                for which, found in keys.items() if found)  # fmt: skip
        return f"{of}: the keys differ{''.join(told)}"
    for name, right in entries:
        if problem := difference(out[name], right, f"{of}[{name!r}]", *within):
            return problem
    if len(out) != len(expected):
        return f"{of}: expected {len(expected)} items, got {len(out)}: {describe_value(out)}"
    return ""


def _difference_of_numbers(out: Any, expected: Any, of: str, tolerance: float | None,
                           magnitude: float | None) -> str:  # fmt: skip
    """A number may come as Python's, as NumPy's, or as an array or tensor without axes."""
    number = out.item() if is_array(out) and not out.ndim else out
    if type(number) not in (int, float) and not isinstance(number, np.number):
        return f"{of}: expected a number, got {describe_value(out)}"
    is_right = number == expected
    if not isinstance(expected, int | np.integer):
        tolerance = TOLERANCES["float64"] if tolerance is None else tolerance
        is_right = _are_close(np.float64([number]), np.float64([expected]), tolerance, magnitude)
    return "" if is_right else _told(of, expected, number)


def _difference_of_arrays(out: Any, expected: Any, of: str, tolerance: float | None,
                          magnitude: float | None) -> str:  # fmt: skip
    kinds = (type(expected),) if is_tensor(expected) else (np.ndarray, type(expected))
    if type(out) not in kinds:
        wanted = "a torch tensor" if is_tensor(expected) else "a NumPy array"
        return f"{of}: expected {wanted}, got {describe_value(out)}"
    if tuple(out.shape) != tuple(expected.shape):
        return f"{of}: expected shape {tuple(expected.shape)}, got shape {tuple(out.shape)}"
    dtype, got = codec.type_name(expected.dtype), codec.type_name(out.dtype)
    if got != dtype:
        return (f"{of}: expected numbers of type {dtype}, got {got}: the right shape, but "
                "the wrong type")  # fmt: skip
    tolerance = TOLERANCES.get(dtype, 0.0) if tolerance is None else tolerance
    out, expected = codec.as_numpy(out), codec.as_numpy(expected)
    with np.errstate(all="ignore"):
        is_exact = expected.dtype.kind in "biu"
        wrong = out != expected if is_exact else ~_are_close(out, expected, tolerance, magnitude)
        if not wrong.any():
            return ""
        if out.size == 1:
            return f"{of}: expected {expected.item()!s}, got {out.item()!s}"
        place = tuple(np.argwhere(wrong)[0].tolist())
        nans = int((np.isnan(out) & ~np.isnan(expected)).sum()) if out.dtype.kind == "f" else 0
        gap = np.abs(out.astype(np.float64) - expected.astype(np.float64))
        largest = "" if np.isnan(gap).all() else f", largest difference {np.nanmax(gap):.3g}"
        problem = f"{of}: {int(wrong.sum())} of {out.size} numbers differ{largest}"
        problem += f"; {nans} are NaN" if nans else ""
        problem += f"\n  at {list(place)}: expected {expected[place]!s}, got {out[place]!s}"
    if out.size <= 24 and out.ndim in (1, 2):  # small arrays are shown whole
        show = {"precision": 4, "suppress_small": True, "separator": ", ", "prefix": " " * 12}
        problem += f"\n  expected  {np.array2string(expected, **show)}"
        problem += f"\n  got       {np.array2string(out, **show)}"
    return problem


def _are_close(out: np.ndarray, expected: np.ndarray, tolerance: float,
               magnitude: float | None) -> np.ndarray:  # fmt: skip
    """Which floats are right, as `same` says. Of an infinite number only the same one is right."""
    with np.errstate(all="ignore"):
        if (equal := (out == expected) | (np.isnan(out) & np.isnan(expected))).all():
            return equal
        out, expected = out.astype(np.float64), expected.astype(np.float64)
        size, gap = np.abs(expected), np.abs(out - expected)
        if magnitude is None:
            close = gap <= tolerance * np.maximum(1, size)
        else:  # a power of 2 is the unit: then nothing is rounded, however tiny the numbers are
            _, power = np.frexp(np.max(size, where=np.isfinite(size), initial=magnitude))
            close = np.ldexp(gap, -power) <= tolerance
        return equal | (np.isfinite(expected) & close)


def _told(of: str, expected: Any, out: Any) -> str:
    return f"{of}: expected {describe_value(expected)}, got {describe_value(out)}"


def _name(out: Any, mistakes: Mistakes, tolerance: float | None) -> str:
    """The first mistake that would have given this answer."""
    with np.errstate(all="ignore"):
        for name, wrong in mistakes.items():
            # A question may not fit an answer of this shape.
            with contextlib.suppress(Exception):
                made = wrong(out) if callable(wrong) else not difference(out, wrong, "", tolerance)
                if made is True or made is np.True_:
                    return name
    return ""


@cache
def central_range(n: int, p: float) -> tuple[int, int]:
    """Counts that n tosses of probability p stay within; each tail has half of `FALSE_ALARM`."""
    if p <= 0 or p >= 1 or n == 0:
        return round(n * p), round(n * p)
    counts = np.arange(n + 1)
    log_factorial = np.concatenate([[0.0], np.log(np.arange(1, n + 1)).cumsum()])
    log_ways = log_factorial[n] - log_factorial - log_factorial[::-1]
    mass = np.exp(log_ways + counts * math.log(p) + (n - counts) * math.log1p(-p))
    low = int(np.searchsorted(mass.cumsum(), FALSE_ALARM / 2))
    high = n - int(np.searchsorted(mass[::-1].cumsum(), FALSE_ALARM / 2))
    return low, high
