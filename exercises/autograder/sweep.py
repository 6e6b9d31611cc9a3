"""Inputs that nobody picked, of any size, magnitude and order in memory that a page allows: `Draw`
draws them, `agrees` compares results with a reference. The rest tests random results."""

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograder import checks
from autograder.codec import Folder, Rng, is_array, is_tensor, leaves, map_leaves, type_name
from autograder.student import Function

SIZES = (1, 1, 2, 2, 3, 3, 4, 5, 7, 9)
LONG = 4_099  # longer than blocks of 4,096, and than what an answer for "a few" would allow for
# Of results in proportion to the largest number: right answers add up in other orders.
TOLERANCES = {"float64": 1e-8, "float32": 3e-4}
FALSE_ALARM = 1e-10  # chance that a count of rare events fails a right answer
# Masks of three sentences of five places: all alike, some alike, equally many tokens, whole ones.
PLACES = [[1, 0, 1, 1, 0], [0, 0, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 1, 1, 1],
          [1, 0, 0, 0, 0], [0, 0, 0, 0, 1], [0, 1, 1, 0, 1]]  # fmt: skip
MASKS = [None, *([PLACES[int(i)] for i in order] for order in (
    "000", "111", "222", "333", "444", "555", "666",
    "001", "100", "012", "216", "304", "033", "330", "523", "454"))]  # fmt: skip


@dataclass
class Case:
    """A call that a page allows; `of` says in words what is special about it. `magnitude` is that
    of the numbers which are added up: a result that is 0 up to rounding is as exact as they."""

    of: str
    args: tuple
    options: dict[str, Any] = field(default_factory=dict)
    magnitude: float = 0.0


class Draw:
    """Valid inputs of all kinds, from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = checks.rng(seed)

    def size(self) -> int:
        return int(self.rng.choice(SIZES))

    def shape(self, axes: int) -> tuple[int, ...]:
        return tuple(self.size() for _ in range(axes))

    def floats(self, *shape: int, dtype: Any = np.float64, largest: float = 1e4) -> np.ndarray:
        """Normal numbers, of any scale up to `largest`, with ties, zeros, or one far from all."""
        x, kind = self.rng.normal(size=shape), self.rng.integers(6)
        if kind == 1:
            x *= 10 ** self.rng.uniform(-8, math.log10(largest) - 1)
        elif kind == 2:
            x = np.round(x)
        elif kind == 3:
            x *= self.rng.random(shape) < 0.5
        elif kind == 4 and x.size:
            x.flat[self.rng.integers(x.size)] = largest * self.rng.choice([-1, 1])
        elif kind == 5:
            x = x - x + self.rng.normal()
        return x.astype(dtype)

    def ids(self, *shape: int, entries: int, dtype: Any = np.int64) -> np.ndarray:
        """Numbers below `entries`; the first and the last are among them if there is room."""
        ids = self.rng.integers(0, entries, shape)
        if ids.size > 1:
            ids.flat[[0, -1]] = self.rng.permutation([0, entries - 1])
        return ids.astype(dtype)

    def mask(self, rows: int, seq: int, *, dtype: Any = np.int64) -> np.ndarray:
        """1 for a token, 0 for padding anywhere; each row has a token."""
        mask = (self.rng.random((rows, seq)) < self.rng.choice([0.1, 0.6, 1.0])).astype(dtype)
        mask[np.arange(rows), self.rng.integers(0, seq, rows)] = 1
        return mask


def long_axes(shape: tuple[int, ...], *, length: int = LONG) -> Iterable[tuple[int, ...]]:
    """The shape, with each of its axes very long in its turn."""
    for axis in range(len(shape)):
        yield (*shape[:axis], length, *shape[axis + 1 :])


def special(x: np.ndarray) -> Iterable[tuple[str, np.ndarray]]:
    """Names and values of arrays for shortcuts: alike or 0 along an axis of `x`, or of one sign."""
    for axis, length in enumerate(x.shape):
        place = np.arange(length).reshape(-1, *[1] * (x.ndim - 1 - axis))
        yield f"alike along axis {axis}", np.repeat(x.take([0], axis), length, axis)
        yield f"0 along axis {axis} but at its beginning", x * (place == 0)
        yield f"0 at the beginning of axis {axis}", x * (place > 0)
        yield f"0 at the end of axis {axis}", x * (place < length - 1)
    yield from (("negative", -np.abs(x)), ("positive", np.abs(x)), ("0", 0 * x))


def kinds(x: np.ndarray) -> dict[str, np.ndarray]:
    """A matrix, 4 by 4, made alike, nearly alike, of one sign, sorted, whole, or mostly 0."""
    first, last = x.copy(), x.copy()
    first[0] = first[:, 0] = last[-1] = last[:, -1] = 0.0
    return {
        "rows that are all alike": x[[0, 0, 0, 0]],
        "rows of which two are alike": x[[0, 1, 0, 2]],
        "rows that are nearly alike": 3 + x[[0, 0, 0, 0]] + 1e-6 * x,
        "a first row and column of zeros": first,
        "a last row and column of zeros": last,
        "rows of one number each": x[:, [0, 0, 0, 0]],
        "one number everywhere": np.full_like(x, -1.5),
        "negative numbers": -np.exp(x),
        "positive numbers": np.exp(x),
        "rows in rising order": np.sort(x, -1),
        "rows in falling order": -np.sort(x, -1),
        "whole numbers": np.round(3 * x),
        "a single number that is not 0": np.outer([0, 0, 1, 0], [0.0, 1, 0, 0]),
    }


def agrees(function: Function, reference: Callable[..., Any], cases: Iterable[Case], *,
           names: tuple[str, ...] = (), may_share: bool = False) -> None:  # fmt: skip
    """The student's function must give what the reference gives, for every case, however the arrays
    lie in memory, and leave its arguments as they are. `names` are those of the results, if there
    are several; with `may_share` these may be arguments, or views. Comparison: see `same`."""
    for number, case in enumerate(cases):
        given = laid_out((case.args, case.options), number)
        # Writing to an argument raises every second time.
        call = function.trace(*given[0], frozen=bool(number % 2), **given[1])
        out, expected = call.value, reference(*case.args, **case.options)
        checks.nothing_kept(function.name, call, may_share=may_share)
        for name, got, right in zip(names or ("the result",),
                                    checks.parts(out, *names) if names else (out,),
                                    expected if names else (expected,), strict=True):  # fmt: skip
            same(got, right, of=f"{name} for {case.of}", magnitude=case.magnitude,
                 given=(case.args, case.options))  # fmt: skip
        before = map_leaves(lambda leaf: None if isinstance(leaf, Rng | Folder) else leaf, given)
        if problem := checks.difference(call.inputs, before, "the arguments", 0.0):
            checks.fail(f"{function.name} changed its input in place: {problem}")


def same(out: Any, expected: Any, *, of: str, magnitude: float = 0.0, given: Any = ()) -> None:
    """`out` must be `expected`, floats in proportion to the largest number of their array, and as
    exactly as the type with the fewest digits among them and the arguments `given` lets them."""
    tolerance = TOLERANCES.get(number_type((expected, given)), 0.0)
    checks.same(out, expected, of=of, tolerance=tolerance, magnitude=magnitude)


def same_each(out: np.ndarray, expected: np.ndarray, *, of: str,
              sizes: np.ndarray | None = None) -> None:  # fmt: skip
    """`out` must be `expected`, an array in which no number is 0, each in proportion to itself; or
    to `sizes`, for each number the sum of the sizes of what was added up in it."""
    checks.same(out * 0, expected * 0, of=f"{of} (its shape and type)")
    unit = expected if sizes is None else sizes
    by = "what it should be" if sizes is None else "the size of its terms"
    checks.same(out / unit, expected / unit, tolerance=TOLERANCES[number_type(expected)],
                of=f"{of}, each number divided by {by}")  # fmt: skip


def laid_out(tree: Any, way: int) -> Any:
    """The same values: as they are, with the axes in another order or with gaps between them in
    memory; at some `way` all alike, at others each array in a way of its own."""
    ways = itertools.count(way, way // 3)

    def lay_out(leaf: Any) -> Any:
        way = next(ways)
        if way % 3 == 0 or not is_array(leaf) or leaf.ndim == 0 or 0 in leaf.shape:
            return leaf
        if way % 3 == 2:
            wide = leaf.repeat_interleave(2, -1) if is_tensor(leaf) else np.repeat(leaf, 2, -1)
            return wide[..., ::2]
        order = [*range(leaf.ndim)[::-1]] if way % 2 else [1, 0, *range(2, leaf.ndim)][-leaf.ndim :]
        back = np.argsort(order).tolist()
        new = leaf.permute(*order).contiguous() if is_tensor(leaf) else leaf.transpose(order).copy()
        return new.permute(back) if is_tensor(leaf) else new.transpose(back)

    return map_leaves(lay_out, tree)


def number_type(tree: Any) -> str:
    """The type with the fewest digits of the floats in a tree of values; "" if there are none."""
    found = {"float64" if type(leaf) is float else type_name(getattr(leaf, "dtype", ""))
             for leaf in leaves(tree)}  # fmt: skip
    return next((name for name in ("float32", "float64") if name in found), "")


def is_about(count: int, expected: float, *, of: str, likely: str = "") -> None:
    """`count` of many rare and independent events must be what chance allows where `expected` of
    them are due: a Poisson number, outside of these bounds once in 1e10 times."""
    low, high = poisson_range(expected)
    checks.that(low <= count <= high, f"{of}: expected about {expected:.3g} ({low} to {high}), got "
                f"{count}", likely=likely)  # fmt: skip


def poisson_range(mean: float) -> tuple[int, int]:
    """Chernoff's bounds: P(N ≥ k) and P(N ≤ k) are at most exp(k - mean - k ln(k / mean))."""
    limit, low, high = math.log(FALSE_ALARM / 2), math.floor(mean), math.ceil(mean)

    def tail(k: int) -> float:
        return k - mean - k * math.log(k / mean) if k else -mean

    while tail(high) > limit:
        high += 1
    while low >= 0 and tail(low) > limit:
        low -= 1
    return low + 1, high


def runs_a_loop(function: Function, short: tuple, long: tuple, **options: Any) -> bool:
    """Whether the student's file runs more lines for longer arguments."""
    return function.lines_run(*long, **options) > function.lines_run(*short, **options) + 10


COARSE = "the draws are too coarse: whole numbers of a few bits know few values; use rng.random"


def is_fine(words: np.ndarray, count: int, *, of: str) -> None:
    """`words`, drawn from `count` ids alike, must reach all of them: chance decides how many pairs
    are the same (almost a Poisson number), and each tenth is drawn."""
    seen = np.unique(words, return_counts=True)[1]
    pairs = len(words) * (len(words) - 1) / 2 / count
    is_about(int((seen * (seen - 1) // 2).sum()), pairs, likely=COARSE,
             of=f"pairs of the same word among {len(words):,} draws: {of}")  # fmt: skip
    tenths = np.bincount(np.minimum(10 * words.astype(np.int64) // count, 9), minlength=10)
    for tenth, number in enumerate(tenths.tolist()):
        checks.share(number, len(words), 0.1, of=f"the share of tenth {tenth + 1} of {of}",
                     mistakes={"these are never drawn": 0.0})  # fmt: skip


def is_unrelated(happened: Any, *, of: str) -> None:
    """What `happened` by draws of their own (true or false, 10,000 or more, neither rare) must not
    be correlated, as where draws are used again, perhaps mirrored."""
    centered = about_mean(happened, np.ones(np.shape(happened), bool))
    have_own_draws(centered, centered, of=of)


def about_mean(happened: Any, where: Any) -> np.ndarray:
    """What happened in the places `where`, less its mean there; 0 elsewhere."""
    happened, where = np.asarray(happened, float), np.asarray(where)
    return np.where(where, happened - happened[where].mean(), 0.0)


def have_own_draws(one: np.ndarray, other: np.ndarray, *, of: str) -> None:
    """Numbers of mean 0 in two arrays of one shape, or twice the same array, must not be correlated
    at any distance, along any axis or all of them as one, nor where one array is turned round. Each
    sum of products stays within 8 standard deviations for a right answer."""
    deviation = math.sqrt((one**2).mean() * (other**2).sum())
    first = int(one is other)  # every number is correlated with itself
    for axis in (None, *range(one.ndim)):
        left, right = _lines(one, axis), _lines(other, axis)
        count, size = left.shape
        if size == 1:
            continue
        itself = count * (one**2).mean() * np.bincount(2 * np.arange(size) % size, minlength=size)
        left, right = np.fft.rfft(left), np.fft.rfft(right)
        ways = [("apart", left.conj() * right, 0), ("from both ends", left * right, itself * first)]
        for where, products, expected in ways:
            together = np.abs(np.fft.irfft(products.sum(0), size) - expected)
            shift = int(together[first:].argmax()) + first
            told = f"{of}: those {shift} places {where} go together more, or less, than by chance"
            checks.that(together[shift] < 12 * deviation, told,
                        likely="draws are used twice: each is to be drawn by itself")  # fmt: skip


def _lines(table: np.ndarray, axis: int | None) -> np.ndarray:
    """The numbers along an axis as the rows of a matrix; without one, all in a single row."""
    return table.reshape(1, -1) if axis is None else np.moveaxis(table, axis, -1).reshape(
        -1, table.shape[axis])  # fmt: skip


def are_unrelated(orders: Any, *, of: str) -> None:
    """The places of n things in two orders correlate to about 1 / √n; so do things at places."""
    for each, what in ((orders, "examples"), (np.argsort(orders), "places")):
        related = np.abs(np.triu(np.corrcoef(each), 1))
        one, other = np.unravel_index(related.argmax(), related.shape)
        checks.that(related.max() < 7 / len(orders[0]) ** 0.5,
                    f"{of} {one} and {other}: their {what} are correlated",
                    likely="an order is made of an earlier one: draw each anew")  # fmt: skip


def is_shuffled(order: list[int], *, of: str) -> None:
    """Half of the neighbors of an order drawn from all orders alike rise: their number has the
    variance (n + 1) / 12. Where numbers that are equal keep their places, more of them do."""
    rises = sum(a < b for a, b in itertools.pairwise(order))
    middle, bound = (len(order) - 1) / 2, 6.5 * math.sqrt((len(order) + 1) / 12)
    checks.that(abs(rises - middle) < bound,
                f"{of}: {rises} of {len(order) - 1:,} examples come before a larger one, expected "
                f"{middle:.0f} ± {bound:.0f}",
                likely="numbers are drawn for the examples and sorted, but so few that many are "
                       "the same: use torch.randperm")  # fmt: skip
