"""Learning curves: the two lines, a metric over its steps, means, flat ends, and a diagnosis."""

import math
from collections import Counter
from functools import partial
from itertools import product

import numpy as np
import pytest

from autograder import checks, sweep

NEAR, FLAT = 0.25, 0.0625
LITTLE = 2.0**-36  # beside a bound, and exact: nothing but the bound itself is on it
CLEAR = 1e-6  # a drawn run is at least this far from every bound: rounding decides nothing


# --- The lines ---


def right_lines(ids, vocab_size, special_ids):
    counts = Counter(np.ravel(ids).tolist())
    for special in special_ids:
        counts.pop(special, None)
    total = sum(counts.values())
    terms = [count / total * math.log(total / count) for count in counts.values()]
    return math.log(vocab_size), math.fsum(terms)


def line_mistakes(ids, vocab_size, special_ids):
    right, with_special = (right_lines(ids, vocab_size, s) for s in (special_ids, []))
    flat = np.ravel(ids)
    kept = flat[~np.isin(flat, special_ids)]
    seen = len(np.unique(kept))
    counts = np.unique(kept, return_counts=True)[1]
    p = counts / flat.size
    taken_off = sum(int((flat == special).sum()) for special in special_ids)
    twice = counts / (flat.size - taken_off)  # more than once, if it stands there more than once
    every = np.bincount(kept, minlength=vocab_size) + 1.0
    every /= every.sum()
    return {
        "in bits: the lines are in nats, so take the natural logarithm": (
            right[0] / math.log(2), right[1] / math.log(2)),
        "the entropy is in bits: take the natural logarithm": (right[0], right[1] / math.log(2)),
        "special ids are counted too: they are never masked": with_special,
        "special ids are left out of the sum, but counted in the number of tokens": (
            right[0], -float((p * np.log(p)).sum())),
        "a special id that is given twice is left out twice": (
            right[0], -float((twice * np.log(twice)).sum())),
        "V is the number of ids that occur: vocab_size counts all entries": (
            math.log(max(1, seen)), right[1]),
        "the special ids are taken off V: vocab_size counts all entries": (
            math.log(max(1, vocab_size - len(special_ids))), right[1]),
        "the logarithm of how many ids occur, as if all were equally frequent": (
            right[0], math.log(max(1, seen))),
        "1 is added to each count: an id that does not occur has the frequency 0": (
            right[0], -float((every * np.log(every)).sum())),
        "the sign is turned: an entropy is not negative": (right[0], -right[1]),
        "e to the entropy is the perplexity: the line is the entropy itself": (
            right[0], math.exp(right[1])),
        "0 · ln 0 is NaN: only ids that occur have a term, and there may be none": (
            lambda out: type(out) is tuple and len(out) == 2
            and isinstance(out[1], float | np.floating) and math.isnan(out[1])),
        "the two are exchanged: ln V comes first": right[::-1],
    }  # fmt: skip


@pytest.mark.weight(2)
def test_the_lines_are_ln_v_and_the_entropy_of_the_frequencies(student):
    rng = checks.rng(3)
    given = []
    for shape, vocab_size, special_ids in (
        ((40,), 12, [0, 3]), ((5, 9), 60, [59, 0, 1, 0]), ((3, 2, 4), 7, []), ((1,), 9, [2, 4]),
        ((300,), 30_522, [100, 101, 102, 103, 0]), ((), 1, [0]), ((2, 3, 1, 4, 5), 9, [8, 1]),
    ):  # fmt: skip
        ids = np.array(rng.random(shape) ** 2 * vocab_size, np.int64)
        ids.flat[: ids.size // 3] = rng.choice(special_ids) if special_ids else 1
        given.append((ids, vocab_size, special_ids))
    given += [(ids, 8, [4]) for ids in (np.full((2, 3), 4), np.zeros((0,), np.int64),
                                        np.zeros((2, 0), np.int64), np.full(5, 1))]  # fmt: skip
    for ids, vocab_size, special_ids in given:
        of = f"the lines of {ids.size} tokens, shape {ids.shape}"
        out = student.reference_lines(ids, vocab_size=vocab_size, special_ids=special_ids)
        checks.same(out, right_lines(ids, vocab_size, special_ids), of=of,
                    mistakes=partial(line_mistakes, ids, vocab_size, special_ids))  # fmt: skip
        for line in out:
            checks.that(isinstance(line, float | np.number), f"{of}: expected a float, got "
                        f"{type(line).__name__}", likely="one branch returns a whole number, or an "
                        "array without axes: 0.0 is a float, 0 is none", )  # fmt: skip
    page = np.array([[2, 7, 7], [2, 9, 8]])
    checks.same(student.reference_lines(page, vocab_size=20, special_ids=[2]),
                (2.995732273553991, 1.0397207708399179), of="the lines of the page",
                mistakes=partial(line_mistakes, page, 20, [2]))  # fmt: skip
    checks.leaves_no_trace(student.reference_lines, page, vocab_size=20, special_ids=[2])


# --- A curve ---


def right_curve(records, key, *, first=False, ordered=True, once=True):
    pairs = [(r["step"], r[key]) for r in records if key in r and r[key] is not None]
    if once:
        pairs = list(dict(pairs[::-1] if first else pairs).items())
    pairs = sorted(pairs, key=lambda pair: pair[0]) if ordered else pairs
    return (np.array([step for step, _ in pairs], np.int64),
            np.array([value for _, value in pairs], np.float64))  # fmt: skip


def curve_mistakes(records, key):
    steps, values = right_curve(records, key)
    whole = {r["step"]: r for r in records}  # the last record of a step, with or without the key
    rows = [whole[step] for step in sorted(whole)]
    with_none = [(r["step"], r.get(key)) for r in rows]
    kept = values != 0
    return {
        "the steps do not rise: sort them": right_curve(records, key, ordered=False),
        "of records of one step the first is taken: the last counts": (
            right_curve(records, key, first=True)),
        "a step occurs twice: the last of its records counts, the others are dropped": (
            right_curve(records, key, once=False)),
        "a step occurs twice: the last of its records counts, in the order of the list": (
            right_curve(records, key, once=False, ordered=False)),
        "the last record of a step is taken even if it lacks the key: another one has it": (
            right_curve(rows, key)),
        "records without the key become NaN: leave them out": (
            np.array([step for step, _ in with_none], np.int64),
            np.array([np.nan if value is None else value for _, value in with_none], np.float64)),
        "a value of 0.0 is left out: it is a value like every other": (steps[kept], values[kept]),
        "NaN is left out here: what is not finite is a value, and a sign of divergence": (
            steps[np.isfinite(values)], values[np.isfinite(values)]),
        "step 0 is left out: it is a step like every other": (steps[steps != 0],
                                                              values[steps != 0]),
        "a metric whose name only contains the key is taken for it": (
            lambda out: bool(np.isin(out[1], SIMILAR).any())),
        "the places in the list are given, not the steps": (
            np.arange(len(steps)), values),
        "the values are sorted too: each belongs to its step": (steps, np.sort(values)),
        "a step at which NaN was written last has an earlier value: the last record counts": (
            lambda out: np.array_equal(out[0], steps)
            and np.array_equal(out[1][~np.isnan(values)], values[~np.isnan(values)])),
    }  # fmt: skip


SIMILAR = (8.5, 7.5, 6.5)  # values of keys in which the one that is asked for occurs


def log_of(rng, count, *, keys=("train_mlm_loss", "heldout_mlm_loss")):
    """Records of a run that was resumed: some steps again, in any order, with gaps and None."""
    records = []
    for step in rng.integers(0, 2 * count, count).tolist():
        record = {"step": step, "learning_rate": 1e-4}
        for key in keys:
            similar = (f"{key}_ema", f"best_{key}", key.upper())
            record |= dict(zip(similar, SIMILAR, strict=True)) if rng.random() < 0.3 else {}
            if (kind := rng.integers(7)) < 4:
                record[key] = round(float(rng.normal()), 3) * int(kind > 0)
            elif kind < 6:
                record[key] = None if kind == 4 else float(rng.choice([np.nan, np.inf]))
        records.append(record)
    return records


@pytest.mark.hint(1)
@pytest.mark.weight(2)
def test_a_curve_has_the_last_value_of_each_step(student):
    rng = checks.rng(5)
    for count in (1, 4, 9, 25):
        for key in ("heldout_mlm_loss", "train_mlm_loss", "nsp"):
            records = log_of(rng, count, keys=("train_mlm_loss", "heldout_mlm_loss", "nsp"))
            checks.same(student.curve(records, key), right_curve(records, key),
                        of=f"the curve of {key} of {records if count < 9 else count}",
                        mistakes=partial(curve_mistakes, records, key))  # fmt: skip
    broken = [{"step": 3, "x": math.inf}, {"step": 1, "x": math.nan}, {"step": 2, "x": 2}]
    whole = [{"step": 5, "x": 3}, {"step": 4, "x": -2}]  # whole numbers, too, become float64
    again = [{"step": 3, "x": value} for value in (1.5, 2.5, math.nan)]
    late = [{"step": 2**60 + 1, "x": 1.0}, {"step": 7, "x": -0.5}]
    for records, key in ((broken, "x"), ([], "x"), (broken, "y"), (whole, "x"), (late, "x"),
                         (again, "x")):  # fmt: skip
        checks.same(student.curve(records, key), right_curve(records, key),
                    of=f"the curve of {key} of {records}",
                    mistakes=partial(curve_mistakes, records, key))  # fmt: skip
    page = [{"step": 10, "a": 3.0}, {"step": 20, "b": 1.0}, {"step": 10, "a": 2.0}]
    checks.same(student.curve(page, "a"), (np.array([10]), np.array([2.0])), of="the page's curve",
                mistakes=partial(curve_mistakes, page, "a"))  # fmt: skip
    checks.leaves_no_trace(student.curve, page, "a")


# --- Means ---


def right_smooth(values, window, *, ahead=0, finite=True):
    means, finite = [], finite and not np.isfinite(values).all()
    values = values.tolist()
    for i in range(len(values)):
        seen = values[max(0, i + 1 - window + ahead) : i + 1 + ahead]
        seen = [x for x in seen if math.isfinite(x)] if finite else seen
        means.append(math.fsum(seen) / len(seen) if seen else math.nan)
    return np.array(means, np.float64)


def smooth_mistakes(values, window):
    right = right_smooth(values, window)
    zeros = np.where(np.isfinite(values), values, 0)
    ones = np.ones(window)
    ends = np.convolve(zeros, ones)[: len(values)] / window
    counts = np.minimum(np.arange(len(values)) + 1, window)
    growing = right_smooth(values, len(values) or 1)
    return {
        "zeros are counted where there are fewer values than the window has": ends,
        "values that are not finite are counted as 0: leave them out": (
            np.convolve(zeros, ones)[: len(values)] / counts),
        "the first window - 1 points are missing: there the mean is that of fewer values": (
            right[window - 1 :]),
        "the first window - 1 points are NaN: there the mean is that of fewer values": np.where(
            np.arange(len(values)) < window - 1, np.nan, right),
        "the window looks ahead: it ends at its point": right_smooth(
            values, window, ahead=window - 1),
        "the window lies around its point: it ends there": right_smooth(
            values, window, ahead=window // 2),
        "the point itself is not in its window": right_smooth(values, window, ahead=-1),
        "one value too many: a window has `window` values, its own point included": (
            right_smooth(values, window + 1)),
        "one value too few: a window has `window` values, its own point included": (
            right_smooth(values, window - 1)),
        "window is not used: the mean of all values so far": growing,
        "the medians, not the means": (
            lambda out: not np.isnan(values).any() and len(values) > 4 and window > 2
            and np.array_equal(out, [np.median(values[max(0, i + 1 - window) : i + 1])
                                     for i in range(len(values))])),
        "one value that is not finite spoils all later means, or its whole window": (
            lambda out: (~np.isfinite(out)).sum() > (~np.isfinite(right)).sum()),
        "a running sum never gets rid of a huge value: take each window by itself": (
            lambda out: len(out) == len(values) and np.abs(zeros).max() > 1e15),
    }  # fmt: skip


def curve_of(rng, count):
    """Losses that can be typed in again, a few of them not finite."""
    values = (6 * np.exp(-np.arange(count) / 9) + rng.normal(size=count)).round(2)
    for value in (np.nan, np.inf, -np.inf):
        values[rng.random(count) < 0.08] = value
    return values


@pytest.mark.hint(2)
@pytest.mark.weight(2)
def test_the_mean_of_a_window_looks_back(student):
    rng = checks.rng(7)
    for count in (6, 1, 12, 25):
        for window in (3, 1, 2, 7, 40):
            for values in (rng.normal(size=count).round(2), curve_of(rng, count)):
                checks.same(student.smooth(values, window), right_smooth(values, window),
                            of=f"the means of {window} of {values.tolist()}",
                            mistakes=partial(smooth_mistakes, values, window))  # fmt: skip
    bad = np.array([np.nan, np.nan, 3.0, np.inf, -np.inf, 5.0])
    huge = np.array([3.0, 1e17, np.nan, 2.0, 1.0, 4.0, -1e300, 0.5, 0.25, 1.0])
    for values in (bad, huge):
        for window in (1, 2, 3):
            checks.same(student.smooth(values, window), right_smooth(values, window),
                        of=f"the means of {window} of {values.tolist()}",
                        mistakes=partial(smooth_mistakes, values, window))  # fmt: skip
    checks.same(student.smooth(np.zeros(0), 3), np.zeros(0), of="the means of no values")
    checks.same(student.smooth(np.array([4.0, 2, np.nan, 6]), 2), np.array([4.0, 3, 2, 6]),
                of="the means of the page")  # fmt: skip
    for some in (values[:1], rng.normal(size=6), np.zeros(0)):
        checks.that(not student.smooth.trace(some, 1).shared, "smooth returns its input, or a view "
                    "of it: whoever writes to the means changes the values",
                    likely="a shortcut for a window of 1: copy the values")  # fmt: skip
    checks.leaves_no_trace(student.smooth, bad, 2)


# --- A flat end ---


def right_flat(values, window, tolerance, wrong=""):
    """Or with one thing about it `wrong`."""
    size = len(values)
    if size < 2 * window or (wrong == "equal to two" and size == 2 * window):
        if wrong == "one window" and size > window:
            return bool(np.mean(values[:-window]) - np.mean(values[-window:]) < tolerance)
        return wrong == "short is flat"
    before = {"single": values[-1 - window :][:1], "all": values[:-window],
              "first": values[:window]}.get(wrong, values[-2 * window : -window])  # fmt: skip
    last = values[-1:] if wrong == "single" else values[-window:]
    fall = float(np.mean(before) - np.mean(last))
    fall = {"sign": -fall, "absolute": abs(fall)}.get(wrong, fall)
    return fall <= tolerance if wrong == "taken in" else fall < tolerance


WRONG_FLAT = {
    "absolute": "a curve that rises by more than the tolerance is flat too: it does not fall",
    "sign": "the sign is turned: the fall is the earlier mean less the later one",
    "taken in": "a fall of exactly the tolerance is no longer flat",
    "single": "single values are compared, not means",
    "all": "the last values are compared with all before them, not with the last window of these",
    "first": "the first and the last window are compared: the two at the end count",
    "one window": "with fewer than two windows of values nothing can be said: False",
    "short is flat": "with fewer than two windows of values nothing can be said: False",
    "equal to two": "two windows are enough",
}


def judged(ask, answer, cases, mistakes, *, describe):
    """Ask for every case, {what is asked: its arguments}. A mistake is told if it explains all of
    the answers. `answer(*args, wrong=…)` is the right one, or that of a mistake."""
    right = {name: answer(*args) for name, args in cases.items()}
    outs = {name: ask(*args) for name, args in cases.items()}
    bad = [name for name in cases if checks.difference(outs[name], right[name], "", None)]
    if not bad:
        checks.same(outs, right)
        return
    hits = len(cases) - len(bad)
    likely = next((text for wrong, text in mistakes.items() if all(
        not checks.difference(outs[name], explained(answer, args, wrong), "", None)
        for name, args in cases.items())), "")  # fmt: skip
    ask(*cases[bad[0]])  # the last call is the one that a message shows
    checks.fail(f"{bad[0]}: expected {right[bad[0]]!r}, got {outs[bad[0]]!r} ({hits} of "
                f"{len(cases)} answers are right){describe(*cases[bad[0]])}", likely=likely,
                out=outs[bad[0]])  # fmt: skip


def explained(answer, args, wrong):
    with np.errstate(all="ignore"):
        try:
            return answer(*args, wrong=wrong)
        except (ValueError, IndexError):
            return None


def ends_on_a_grid(rng, count):
    """Windows of 1, 2, 4, … whole numbers, in any unit that is a power of two: no mean is rounded,
    and many falls are just the tolerance. All are equal, or one is far from the others."""
    given = []
    for number in range(count):
        window = int(rng.choice([1, 2, 4, 8]))
        values = np.repeat(rng.integers(-3, 4, 3), [rng.integers(0, 3), window, window]) + (
            rng.choice([0, 0, -900, 5_000]))  # fmt: skip
        if number % 4:
            values += rng.integers(-1, 2, len(values))
        if number % 4 == 3:
            values[rng.integers(len(values))] += rng.choice([-40, 40])
        fall = (values[-2 * window : -window].sum() - values[-window:].sum()) / window
        tolerance = rng.choice([fall, fall, fall + 1, fall - 0.5, 0, 1, -1, 2])
        unit = float(rng.choice([1, 1, 2.0**-30, 2.0**20]))
        tolerance = float(tolerance * unit) if unit != 1 or tolerance % 1 else int(tolerance)
        given.append((values * unit, window, tolerance))
    return given


@pytest.mark.hint(3)
@pytest.mark.weight(2)
def test_a_curve_is_flat_if_its_last_window_is_hardly_lower(student):
    def ask(values, window, tolerance):
        return student.is_flat(values, window=window, tolerance=tolerance)

    rng = checks.rng(9)
    given = []
    for number in range(80):
        window = int(rng.choice([1, 2, 3, 4, 5, 8, 16]))
        count = int(rng.choice([2 * window, 2 * window - 1, 2 * window + 1, 5 * window, window]))
        slope = rng.choice([-0.3, -0.02, 0.0, 0.02, 0.3]) * (-1 if number % 7 == 0 else 1)
        values = (5 + slope * np.arange(count) + 0.05 * rng.normal(size=count)).round(3)
        tolerance = float(rng.choice([0.0, 0.0625, 0.5, 2.0]))
        fall = values[-2 * window : -window].sum() - values[-window:].sum()
        if count < 2 * window or abs(fall / window - tolerance) > CLEAR:
            given.append((values, window, tolerance))
    for last, tolerance in ((1.5, 0.5), (1.75, 0.5), (2.0, 0.0), (2.25, 0.0), (1.25, 0.5),
                            (1.5 + LITTLE, 0.5), (1.5 - LITTLE, 0.5)):  # fmt: skip
        given.append((np.array([9.0, 1.5, 2.5, last - 1, last + 1]), 2, tolerance))  # 2.0 and last
    given += ends_on_a_grid(checks.rng(47), 120)
    low, high = (rng.integers((1, 20), (4, 30)) + 0.5).tolist()
    given.append((np.array([low, low, high, high, 9, 9]), 2, 0.5))
    given.append((np.array([high, high, 9, 9, 9, 9]), 2, 0.5))
    given += [(np.array([9.0, 3, 1, 1]), window, 0.5) for window in (1, 2)]  # the page's
    cases = {f"is_flat of {v.tolist()}, window={w}, tolerance={t}": (v, w, t) for v, w, t in given}
    judged(ask, right_flat, cases, WRONG_FLAT, describe=lambda *args: "")
    checks.leaves_no_trace(student.is_flat, given[-1][0], window=2, tolerance=0.5)


# --- The diagnosis ---


def named(records, ln_v, entropy, wrong="", gaps=None):
    """The name of the first row that fits; or with one thing about it `wrong`. How far each number
    is from its bound is added to `gaps`."""
    gaps = [] if gaps is None else gaps

    def at_least(value, bound):
        gaps.append(abs(value - bound))
        return value > bound if wrong == "bounds left out" else value >= bound

    def more(value, bound):
        gaps.append(abs(value - bound))
        return value >= bound if wrong == "bounds taken in" else value > bound

    steps, train = right_curve(records, "train_mlm_loss")
    held_steps, held = right_curve(records, "heldout_mlm_loss")
    norm = right_curve(records, "gradient_norm")[1]
    if wrong.endswith(("written again", "first written")):
        which = {"first": True} if wrong.endswith("first written") else {"once": False}
        norm = right_curve(records, "gradient_norm", **which)[1]
        if "norm" not in wrong:
            held_steps, held = right_curve(records, "heldout_mlm_loss", **which)
    if wrong == "norm":
        norm = norm[::-1]
    finite = np.isfinite(train).all() and (np.isfinite(held).all() or wrong == "held-out NaN")
    shortest = {"short first": 10, "none first": 1}.get(wrong, 0)
    if len(train) < shortest:
        return "too short"
    if not finite and wrong == "infinity":
        finite = not (np.isnan(train).any() or np.isnan(held).any())
    if not finite and wrong == "minus infinity":
        finite = all(np.isfinite(x[x != -np.inf]).all() for x in (train, held))
    if not finite and wrong != "NaN":
        return "diverged"
    if wrong == "lost" and any(r.get(key) is not None and not math.isfinite(r[key])
                               for r in records for key in HELD_OR_TRAIN):  # fmt: skip
        return "diverged"
    if wrong == "any metric" and any(type(value) is float and not math.isfinite(value)
                                     for r in records for value in r.values()):  # fmt: skip
        return "diverged"
    count = len(records) if wrong == "records" else len(train)
    if count < {"short runs": 2, "eleven": 11}.get(wrong, 10):
        return "too short"
    written = sum(r.get("train_mlm_loss") is not None for r in records)
    others = {"k": len(train) // 5, "rounded up": -(-len(train) // 10), "written": written // 10}
    k = max(1, others.get(wrong, len(train) // 10))
    smoothed = train if wrong == "raw" else right_smooth(train, k)
    end = float(train[-1] if wrong == "single" else train[-k:].mean())
    lowest = float(smoothed[0] if wrong == "from the start" else smoothed.min())
    if wrong == "full windows":
        lowest = float(smoothed[k - 1 :].min())
    if wrong == "start first" and train[0] >= ln_v + 1:
        return "bad start"
    if wrong != "peak" and at_least(end, lowest + 1):
        return "diverged"
    if wrong == "highest" and train.max() >= lowest + 3:
        return "diverged"
    start = float({"smoothed start": train[:k].mean(), "peak start": train.max()}.get(
        wrong, train[0]))  # fmt: skip
    if wrong == "ln V first" and end > ln_v - NEAR:
        return "at ln V"
    is_late = wrong == "start late" and start >= ln_v + 1
    if is_late and (name := of_heldout(locals(), at_least, more, wrong)):
        return name
    if at_least(start, ln_v + 1):
        return "bad start"
    if abs(end - ln_v) < NEAR if wrong == "two-sided" else more(end, ln_v - NEAR):
        return "at ln V"
    rows = [of_heldout, of_lines]
    for row in rows[::-1] if wrong == "lines first" else rows:
        if name := row(locals(), at_least, more, wrong):
            return name
    return "finished"


def of_heldout(run, at_least, more, wrong):
    """Rows 6 and 7."""
    steps, train, smoothed, end = (run[name] for name in ("steps", "train", "smoothed", "end"))
    held_steps, held = run["held_steps"], run["held"]
    if not len(held):
        return ""
    if wrong == "leak first" and end - NEAR >= held[-1]:
        return "leak"
    best = int(held.argmin())
    if wrong == "last of ties":
        best = int(np.flatnonzero(held == held.min())[-1])
    if wrong == "nearly lowest":
        best = int(np.flatnonzero(held <= held.min() + 0.01)[0])
    until = steps < held_steps[best] if wrong == "before" else steps <= held_steps[best]
    place = int(until.sum()) - 1
    if wrong in ("by index", "from the beginning"):
        place = best if wrong == "by index" else 0
    if wrong == "next":
        place = int((steps < held_steps[best]).sum())
    if wrong == "nearest" and place >= 0:
        place = int(np.abs(steps - held_steps[best]).argmin())
    if place < 0 and wrong == "before the first":
        place = 0
    last, lowest = float(held[-1]), float(held[best])
    rises = last > lowest  # exact, whatever they are: nothing is computed
    if wrong == "rise taken in":
        rises = True
    if wrong == "any rise":
        rises = bool((np.diff(held) > 0).any())
    if wrong == "noise":
        rises = at_least(last, lowest + NEAR)
    if wrong == "gap":
        if at_least(last, end + NEAR):
            return "overfits"
    elif wrong == "rise alone":
        if rises:
            return "overfits"
    elif rises and place >= 0:
        source = train if wrong == "raw before" else smoothed
        fallen_to = float(smoothed[place:].min()) if wrong == "lowest since" else end
        if at_least(float(source[place]), fallen_to + (1e-12 if wrong == "little" else NEAR)):
            return "overfits"
    last = lowest if wrong == "lowest leak" else last
    if wrong == "leak anyhow":
        return "leak" if more(end, last) else ""
    end = float(train[-1]) if wrong == "last for leak" else end
    return "leak" if at_least(end - NEAR, last) else ""


def of_lines(run, at_least, more, wrong):
    """Rows 8 to 12."""
    train, k, end, entropy, norm = (run[n] for n in ("train", "k", "end", "entropy", "norm"))
    values = run["smoothed"] if wrong == "flat of smoothed" else train
    window = 1 if wrong == "single" else k
    fall = float(values[-2 * window : -window].mean() - values[-window:].mean())
    if wrong == "rise is not flat":
        fall = abs(fall)
    if wrong == "above first" and end >= entropy + NEAR:
        return "above the line"
    if wrong != "line before falling" and at_least(fall, FLAT):
        return "still falling"
    if at_least(abs(end - entropy) if wrong == "always above" else end - entropy, NEAR):
        return "above the line"
    if more(end, entropy - (0 if wrong == "line from below" else NEAR)):
        j = max(1, len(norm) // 10)
        if wrong == "k for j" and len(norm):
            j = min(k, len(norm))
        if len(norm) and wrong != "no norm":
            j = len(norm) // 10 if wrong == "j 0" else j
            last = float(norm[-1] if wrong == "last norm" else norm[-j:].mean())
            first = float(norm.max() if wrong == "highest norm" else norm[:j].mean())
            if wrong == "ratio" and first == 0:
                return "plateau"
            if at_least(first / 2, last):
                return "stuck at the line"
        elif wrong == "no norm is stuck":
            return "stuck at the line"
        return "plateau"
    return "still falling" if wrong == "line before falling" and fall >= FLAT else "finished"


WRONG = {
    "NaN": "a loss that is not finite is not asked for: every comparison with NaN is False",
    "infinity": "infinity is not looked for, only NaN: ask np.isfinite",
    "minus infinity": "minus infinity is infinite too: ask np.isfinite",
    "held-out NaN": "the held-out loss is not looked at for NaN",
    "short first": "a short run is asked for its length before its losses are asked for NaN",
    "none first": "a run without training losses is asked for these before its held-out losses are "
    "asked for NaN",
    "eleven": "a run of 10 training losses is long enough",
    "records": "the records are counted, not the training losses",
    "rounded up": "k is rounded up: n // 10 is rounded down",
    "lost": "a NaN that a later record of the same step has replaced does not count",
    "any metric": "a metric other than the two losses may be NaN or infinite",
    "written again": "a held-out loss or a norm that was written again counts twice: read it with "
    "curve",
    "first written": "of a held-out loss or a norm that was written again the first counts: the "
    "last does",
    "norm written again": "a norm that was written again counts twice: read it with curve",
    "norm first written": "of a norm that was written again the first counts: the last does",
    "always above": "a loss below the line is not above it",
    "line from below": "at the line is on either side of it",
    "before the first": "no training step is up to that of the lowest held-out loss, so row 6 "
    "does not fit",
    "from the beginning": "training is compared with its first loss: take that at the lowest "
    "held-out loss",
    "little": "training must have fallen by NEAR since the lowest held-out loss",
    "lowest since": "training must have fallen to end: how low it was meanwhile does not count",
    "next": "the training loss after the lowest held-out loss is taken: the last one up to it "
    "counts",
    "nearest": "the training loss nearest to the lowest held-out loss is taken, though it may be "
    "later: the last one up to it counts",
    "last for leak": "the last training loss is compared with the held-out loss: take end",
    "j 0": "j is 0 for fewer than 10 norms: it is at least 1",
    "short runs": "a run of 2 to 9 training losses is judged: it is too short",
    "single": "a single last loss is compared: end is the mean of the last k",
    "k": "k is a fifth of the training losses: it is a tenth",
    "written": "losses that were written twice are counted twice: n is that of the curve",
    "raw before": "the training loss at the lowest held-out loss is a single one: smooth it",
    "raw": "single losses are compared: the lowest value of the smoothed curve counts",
    "from the start": "end is compared with the first loss: a run diverges from its lowest point",
    "full windows": "the first k - 1 values of the smoothed curve count too, where windows have "
    "fewer values",
    "peak": "a run that rises by 1 and stays there is not told: row 3",
    "highest": "a peak from which the loss returns is no divergence",
    "smoothed start": "the first loss is a mean: a start is judged by the first loss alone",
    "peak start": "the highest loss is taken for the first one",
    "two-sided": "a loss far above ln V is at ln V too: row 5 has only one bound",
    "by index": "point i of the held-out curve is taken for point i of the training curve: "
    "compare their steps",
    "before": "the training loss at the very step of the lowest held-out loss counts too",
    "last of ties": "of several lowest held-out losses the first counts",
    "nearly lowest": "a held-out loss a little above the lowest is taken for it: compare exactly",
    "any rise": "any rise of the held-out loss counts: only that from its lowest to its last does",
    "noise": "a held-out loss that has risen a little has risen too",
    "gap": "a gap between the two losses is no overfitting: row 6 asks what happened since",
    "rise alone": "the held-out loss rises, but the training loss must have fallen meanwhile",
    "start first": "row 3 comes before row 4: a run that has diverged may have begun badly too",
    "ln V first": "row 4 comes before row 5: a run that began badly may end at ln V too",
    "start late": "row 4 comes before rows 6 and 7: whatever held-out does, the start was bad",
    "above first": "row 8 comes before row 9: a run above the line may be falling still",
    "leak first": "row 6 comes before row 7: where both fit, the run overfits",
    "lowest leak": "the lowest held-out loss is compared with end: the last one counts",
    "leak anyhow": "held-out a little below training is no leak: dropout alone does that",
    "lines first": "the rows of the lines come before those of the held-out loss",
    "flat of smoothed": "the smoothed curve is asked whether it is flat: it is smoothed twice then",
    "rise is not flat": "a curve that rises is taken for one that falls",
    "line before falling": "a run that falls through the line is taken for one that stays there: "
    "row 8 comes before the lines",
    "no norm": "the gradient norm is not used: at the line it tells stuck from waiting",
    "no norm is stuck": "without gradient norms row 10 does not fit",
    "norm": "the norms are read backwards: the last ones are at most half of the first ones",
    "last norm": "a single last norm is compared: take the mean of the last j",
    "ratio": "the norms are divided, and 0 / 0 is NaN: compare them as the table does",
    "highest norm": "the norm is compared with its highest value: the first j count",
    "k for j": "j is a tenth of the norms, not of the training losses",
    "bounds left out": "a number that lies exactly on the bound: at least takes the bound in",
    "rise taken in": "a held-out loss that ends at its lowest has not risen",
    "bounds taken in": "a number that lies exactly on the bound: more than leaves the bound out",
}
HELD_OR_TRAIN = ("train_mlm_loss", "heldout_mlm_loss")
KINDS = ["diverged", "not finite", "too short", "bad start", "at ln V", "overfits", "leak",
         "still falling", "above the line", "stuck at the line", "plateau", "finished"]  # fmt: skip


def curve_down(rng, n, first, last, *, slow=False):
    """From `first` to `last`: flat at the end, or falling all the way."""
    x = np.linspace(0, 1, n)
    shape = 1 - x if slow else np.exp(-x * rng.uniform(12, 25))
    return last + (first - last) * shape


def drawn(rng, kind):
    """A run of this kind: its records, and both lines."""
    ln_v = round(float(rng.uniform(6, 11)), 3)
    entropy = round(ln_v - float(rng.uniform(1.5, 3)), 3)
    n = int(rng.integers(1, 10) if kind == "too short" else rng.integers(10, 130))
    k = max(1, n // 10)
    low = entropy - rng.uniform(1, 3)
    last = {"at ln V": ln_v - rng.uniform(-0.5, 0.15), "still falling": low,
            "above the line": entropy + rng.uniform(0.4, 1.0)}.get(
        kind, entropy + rng.uniform(-0.2, 0.2) if kind in ("stuck at the line", "plateau")
        else low)  # fmt: skip
    first = ln_v + (rng.uniform(1.2, 30) if kind == "bad start" else rng.uniform(-0.2, 0.8))
    train = curve_down(rng, n, first, last, slow=kind == "still falling")
    train += rng.normal(size=n) * 0.02
    train[0] = max(train[0], first) if kind == "bad start" else train[0]
    if rng.random() < 0.4 and n > 25:  # a peak from which it comes back
        train[int(rng.integers(n // 3, n // 2))] += 4
    every = int(rng.choice([1, 5, 10, 45]))
    steps = every * (1 + np.arange(n))
    if rng.random() < 0.3:
        steps += 100 * every  # a run that goes on where another one ended
    held_at = steps[np.arange(n) % int(rng.integers(2, 6)) == 1]
    if rng.random() < 0.5:
        held_at = held_at + every // 2
    held = np.interp(held_at, steps, train) + rng.uniform(0.05, 0.6) + rng.normal() * 0.01
    back = n // 4
    if kind == "overfits" and len(held) > 3:
        half = len(held) // 2
        train = curve_down(rng, n, first, last, slow=True) + rng.normal(size=n) * 0.02
        held = np.abs(np.arange(len(held)) - half) * rng.uniform(0.02, 0.2) + entropy
    if kind == "leak":
        held -= rng.uniform(1, 1.5)
    if kind == "diverged":
        train[-max(k, back) :] += rng.uniform(1.5, 6) * rng.choice([1, 1, 1e3])
    if kind == "not finite":
        which = train if rng.random() < 0.5 or not len(held) else held
        which[rng.integers(len(which))] = rng.choice([np.nan, np.inf])
    if kind == "finished" and len(held) > 3 and rng.random() < 0.5:  # it rises; training stays
        held[-1] = held.min() + 0.3
    norm = np.linspace(2, 0.3 if kind == "stuck at the line" else rng.uniform(1.3, 6), n)
    norm *= 1 + 0.05 * rng.normal(size=n)
    return as_records(rng, steps, train, held_at, held, norm, kind), ln_v, entropy


def as_records(rng, steps, train, held_at, held, norm, kind):
    """As in the file of a run: often with steps that were written again after a resume."""
    with_norm = kind == "stuck at the line" or rng.random() < 0.5
    records = []
    for step, loss, size in zip(steps.tolist(), train.tolist(), norm.tolist(), strict=True):
        records.append({"step": step, "train_mlm_loss": loss}
                       | ({"gradient_norm": size} if with_norm else {}))  # fmt: skip
    records += [{"step": step, "heldout_mlm_loss": loss}
                for step, loss in zip(held_at.tolist(), held.tolist(), strict=True)]  # fmt: skip
    records.sort(key=lambda record: record["step"])
    if rng.random() < 0.5:  # what was measured at one step stands in one record
        whole = {}
        for record in records:
            whole[record["step"]] = whole.get(record["step"], {}) | record
        records = list(whole.values())
    if rng.random() < 0.4:
        place = int(rng.integers(len(records)))
        lost = [{"step": r["step"], key: math.nan} for r in records[place:]
                for key in HELD_OR_TRAIN if key in r][:4]  # fmt: skip
        records[place:place] = lost  # a run that diverged there, and went on from a checkpoint
    for record in records[::7]:  # what no row asks for
        record |= {"event": "saved", "nsp_loss": math.nan, "train_mlm_loss_ema": -math.inf}
        record |= {"train_nsp_loss": math.inf, "heldout_nsp_loss": math.nan, "loss": math.inf}
        record |= {"best_heldout_mlm_loss": -9.0, "gradient_norm_clipped": math.nan}
    return records


def written_again(records, key):
    """The same run, resumed: before its values of `key` others were written at the same steps, and
    after them None."""
    steps, values = right_curve(records, key)
    lost = (0.7 * values[::-1]).tolist()
    lost = [{"step": s, key: v} for s, v in zip(steps.tolist(), lost, strict=True)]
    return [*lost[::-1], *records, *({"step": step, key: None} for step in steps.tolist())]


def clear_run(rng, kind):
    """One of this kind, no number of which is at a bound."""
    name = {"not finite": "diverged"}.get(kind, kind)
    for _ in range(200):
        run = drawn(rng, kind)
        gaps = []
        if named(*run, gaps=gaps) == name and min(gaps, default=1) > CLEAR:
            return run
    raise RuntimeError(f"no run of the kind {kind} was drawn")


def told(run):
    """The numbers that the rules ask about."""
    records, ln_v, entropy = run
    train = right_curve(records, "train_mlm_loss")[1]
    held_steps, held = right_curve(records, "heldout_mlm_loss")
    text = f"{len(train)} training losses"
    if len(train) >= 10 and np.isfinite(train).all():
        k = len(train) // 10
        text += (f", the first {train[0]:.3f}, k = {k}, end = {train[-k:].mean():.3f}, lowest "
                 f"smoothed {right_smooth(train, k).min():.3f}")  # fmt: skip
    if len(held):
        text += (f"; {len(held)} held-out losses, the last {held[-1]:.3f}, the lowest "
                 f"{held.min():.3f} at step {held_steps[held.argmin()]}")  # fmt: skip
    return f"{text}; ln V {ln_v:.3f}, entropy {entropy:.3f}"


def diagnosed(student, runs):
    """Every run must get its name: {what kind of run: the run}."""

    def ask(records, ln_v, entropy):
        return student.diagnose(records, ln_v=ln_v, entropy=entropy)

    judged(ask, named, runs, WRONG, describe=lambda *run: f"\n  the run: {told(run)}")


def of_kinds(seed, kinds, count=8):
    rng = checks.rng(seed)
    return {f"run {i + 1} of the kind {kind}": clear_run(rng, kind)
            for kind in kinds for i in range(count)}  # fmt: skip


@pytest.mark.hint(3)
@pytest.mark.weight(2)
def test_runs_that_diverged_are_short_or_begin_badly(student):
    rng = checks.rng(21)
    runs = of_kinds(23, ("diverged", "not finite", "too short", "bad start"))
    line = [{"step": s, "train_mlm_loss": 5.0} for s in range(1, 9)]
    runs |= {
        f"a short run with {key} {value}": ([*line, {"step": 9, key: value}], 8.0, 6.0)
        for value in (math.nan, math.inf, -math.inf) for key in HELD_OR_TRAIN
    }  # fmt: skip
    again = [{"step": s, "train_mlm_loss": 5.0} for s in range(20)]
    again.append({"step": 7, "train_mlm_loss": math.nan})
    runs["a run in which a loss is NaN where it was written again"] = again, 8.0, 6.0
    none = [{"step": 1, "heldout_mlm_loss": math.nan}]
    runs["a run without training losses, its held-out loss NaN"] = none, 8.0, 6.0
    losses = [5.0] * 36 + [1.0, 1.0, 9.0, 9.0]
    runs["a run that is lowest within its last window"] = (
        [{"step": s, "train_mlm_loss": v} for s, v in enumerate(losses)], 8.0, 6.0
    )  # fmt: skip
    for n, depth in ((60, 1.8), (60, 2.2)):  # half of a window is lower
        losses = (5 - depth * (np.arange(n) // (n // 20) == 9)).tolist()
        records = [{"step": s, "train_mlm_loss": v} for s, v in enumerate(losses)]
        runs[f"a run of {n} losses, a twentieth of them lower by {depth}"] = records, 8.0, 3.0
    runs |= {"a run of no losses": ([], 8.0, 6.0), "a run of 8 losses": (line, 8.0, 6.0)}
    high = [*line, *({"step": s, "train_mlm_loss": 6.2} for s in (9, 10))]
    runs["a run of 8 losses, written twice"] = line * 2, 8.0, 6.0
    runs["a run of 10 losses, written three times, the last two high"] = high * 3, 8.0, 6.0
    for first in (9.5, 8.5, 2.5):  # the last one is the lowest of all, in a window of its own
        for second in (4.0, 20.0):
            losses = 4 + 0.01 * rng.normal(size=30)
            losses[:2] = first, second
            records = [{"step": s, "train_mlm_loss": v} for s, v in enumerate(losses.tolist())]
            records = written_again(records, "train_mlm_loss")
            runs[f"a run that begins with {first} and {second}"] = records, 8.0, 6.0
    for first, middle, end in (  # two or three rows fit, the first of them counts
        (9.5, 4.0, 5.5), (9.5, 8.2, 8.2), (9.5, 6.5, 8.5), (8.5, 6.5, 8.5),
    ):  # fmt: skip
        losses = np.r_[first, np.full(29, middle), np.full(10, end)] + 0.01 * rng.random(40)
        runs[f"a run from {first} to {middle} and then to {end}"] = (
            [{"step": s, "train_mlm_loss": v} for s, v in enumerate(losses.tolist())], 8.0, 6.0
        )  # fmt: skip
    for name, place, off in (("one low loss", 20, -1.5), ("a high last loss", 39, 2.5)):
        losses = 4 + 0.01 * rng.normal(size=40)
        losses[place] += off  # a single batch
        runs[f"a run with {name}"] = (
            [{"step": s, "train_mlm_loss": v} for s, v in enumerate(losses.tolist())], 8.0, 6.0
        )  # fmt: skip
    diagnosed(student, runs)


@pytest.mark.weight(2)
def test_runs_at_or_above_a_line_are_told_apart(student):
    rng = checks.rng(19)
    flat = (6 + 0.01 * rng.normal(size=60)).tolist()
    up, calm = np.linspace(1, 3, 30), np.full(30, 1.5)
    norms = {
        "one small norm at the end": np.r_[np.full(29, 2.0), 0.1],
        "one large norm at the end": np.r_[2.0, 2.0, np.full(27, 0.5), 1.9],
        "a peak of the norms": np.r_[calm[:9], 9.0, calm[10:]],
        "norms that rise": up,
        "norms that fall": up[::-1],
        "few norms, the last of them small": np.r_[np.full(25, 2.0), np.full(5, 0.3)],
        "three large norms, then smaller ones": np.r_[np.full(3, 2.0), np.full(27, 0.9)],
        "twenty norms, the first one small": np.r_[0.6, 2.2, np.full(16, 1.0), 0.6, 0.6],
        "eighteen norms, the first one large": np.r_[2.2, 0.6, np.full(14, 1.0), 0.9, 0.9],
        "three norms": np.array([2.0, 2.0, 0.5]),
        "six large norms, then three small ones": np.r_[np.full(6, 2.0), np.full(3, 0.5)],
        "one norm": np.array([2.0]),
        "one norm of 0": np.zeros(1),
        "norms of 0": np.zeros(30),
        "norms that fall to 0": np.r_[np.full(25, 2.0), np.zeros(5)],
        "no norms": np.zeros(0),
    }
    runs = of_kinds(25, ("at ln V", "above the line", "stuck at the line", "plateau"))
    for name, values in norms.items():
        records = [{"step": 2 * i, "train_mlm_loss": loss} for i, loss in enumerate(flat)]
        for record, norm in zip(records[::2], values.tolist(), strict=False):
            record["gradient_norm"] = norm
        runs[f"a run at the line with {name}"] = (records, 9.0, 6.0)
        apart = [{"step": 2 * i + 40, "train_mlm_loss": loss} for i, loss in enumerate(flat)]
        apart += [{"step": 9 * i + 1, "gradient_norm": norm} for i, norm in enumerate(values)]
        apart = [apart[i] for i in rng.permutation(len(apart))]
        apart = written_again(apart, "gradient_norm")
        runs[f"a run at the line with {name}, in records of their own, in any order"] = (
            apart, 9.0, 6.0)  # fmt: skip
    # Half of the last windows is lower: in windows of 100 or fewer it is nearly all that is seen.
    losses = 6 - 1.9 * (np.arange(1_100) // 55 == 9)
    norm = np.where(np.arange(1_100) < 1_030, 2.0, 0.55)
    records = [{"step": s, "train_mlm_loss": loss, "gradient_norm": size}
               for s, (loss, size) in enumerate(np.stack([losses, norm], 1).tolist())]  # fmt: skip
    runs["a run of 1,100 losses, 55 of them lower, and norms, the last 70 small"] = (
        records, 9.0, 6.0)  # fmt: skip
    for loss, entropy in ((0, 0.0), (0.1, 0.0), (1, 0.0), (6, 6.0), (4, 6.0), (8, 8.5), (8.3, 8.7)):
        records = [{"step": s, "train_mlm_loss": loss, "gradient_norm": 1 + 3 * (s < 9)}
                   for s in range(30)]  # fmt: skip
        runs[f"a run of losses {loss} with an entropy of {entropy}"] = records, 9.0, entropy
    diagnosed(student, runs)


@pytest.mark.hint(4)
@pytest.mark.weight(2)
def test_held_out_losses_tell_overfitting_and_leaks(student):
    def run(train, held, *, every=10):
        """Held-out losses as {step: loss}."""
        records = [{"step": every * (i + 1), "train_mlm_loss": v} for i, v in enumerate(train)]
        records += [{"step": s, "heldout_mlm_loss": v} for s, v in held.items()]
        return written_again(records, "heldout_mlm_loss"), 9.0, 6.0

    rng = checks.rng(27)
    noise = 0.01 * rng.normal(size=40)
    down, late = np.linspace(7, 3, 40) + noise, np.r_[np.linspace(7, 3, 20), np.full(20, 3)] + noise
    gap, up = float(rng.uniform(1, 2)), float(rng.uniform(0.05, 0.2))
    cases = {
        "a held-out loss that rises while training falls": run(
            down, {100: 6.0, 200: 5.0, 300: 5 + up}),
        "a large gap, both falling": run(down, {100: 6 + gap, 200: 5 + gap, 400: 4 + gap}),
        "a held-out loss that rises while training stays": run(
            late, {100: 6.0, 250: 4.0, 400: 4 + up}),
        "a held-out loss that rose once and falls again": run(
            down, {100: 6.0, 200: 6.5, 400: 5.0}),
        "a held-out loss that is lowest before training began": run(
            down, {0: 3.5, 200: 5.0, 400: 3.5 + up}),
        "two lowest held-out losses, the second one late": run(
            down, {100: 5.0, 390: 5.0, 400: 5 + up}),
        "a held-out loss at steps between those of training": run(
            down, {5: 4.0, 15: 7.0, 395: 4.0 + up}),
        "a single held-out loss, far below": run(down, {400: 2.0}),
        "a held-out loss that was far below and is not any more": run(late, {20: 2.0, 400: 3.1}),
        "a training loss that fell and came back while the held-out loss rose": run(
            np.r_[np.full(20, 4.0), np.full(10, 3.5), np.full(10, 4.0)] + noise,
            {100: 6.0, 200: 5.0, 400: 5 + up}),
        "no held-out loss": run(late, {}),
        "a held-out loss that rises, far below training, which falls": run(
            down, {100: 1.5, 200: 1.0, 400: 1 + up}),
        "a held-out loss a little below training": run(late, {400: 2.95}),
        "a last training loss that is high": run(np.r_[late[:39], 3.4], {400: 2.95}),
        "a held-out loss at its lowest at the step of a training loss": run(
            np.r_[np.full(20, 7.0), np.full(20, 3.0)], {100: 7.0, 210: 5.0, 400: 5 + up}),
        "a held-out loss at its lowest a little before training falls": run(
            np.r_[np.full(8, 3.5), np.full(7, 3.0)], {20: 7.0, 87: 5.0, 150: 5 + up}),
        "a peak of training at the lowest held-out loss": run(
            np.r_[late[:25], 9.0, late[26:]], {100: 6.0, 260: 4.0, 400: 4 + up}),
        "a held-out loss of 0": run(late, {200: 2.0, 400: 0.0}),
        "training losses that end at 0": run(np.maximum(2 * late - 7, 0), {}),
        "a held-out loss that falls at the line": run(
            np.full(40, 6.0) + noise, {100: 7.0, 400: 5.0}),
        "held-out losses before the first training step, and a leak": run(
            late, {5: 1.0, 400: 2.0}),
        "a held-out loss before the first training step alone, far below": run(late, {0: 2.0}),
        "held-out losses before the first training step, and a rise later": run(
            down, {5: 3.0, 100: 5.0, 400: 5 + up}),
        "a held-out loss after the last training step": run(late, {390: 2.9, 405: 2.0}),
        "a held-out loss at its lowest at the second training step": run(
            np.r_[3.6, 3.1, np.full(38, 3.0)], {20: 5.0, 400: 5 + up}),
        "held-out losses that are whole numbers": run(down, {100: 5, 200: 7, 400: 6}),
        "a held-out loss that is a whole number, far below": run(late, {200: 5, 400: 2}),
        "a second held-out loss that is the lowest by a hair": run(
            down, {100: 5.0, 390: 5.0 - 1e-9, 400: 5 + up}),
        "many held-out losses, the last one far below": run(
            late, dict.fromkeys(range(5, 400, 10), 3.1) | {400: 2.0}),
        "many held-out losses, the last one alone not below": run(
            late, dict.fromkeys(range(5, 400, 10), 2.0) | {400: 3.1}),
    }  # fmt: skip
    diagnosed(student, cases | of_kinds(29, ("overfits", "leak")))


def of_many_rows(rng):
    """Runs for which several rows fit, in all ways: the first of these rows counts."""
    runs = {}
    for first, last, dips, falls, held in product(
        (8.5, 9.5), (8.2, 7.0, 6.0, 4.0), (False, True), (False, True), range(4)
    ):
        train = last + 0.8 * (np.arange(20) < 8) + 0.01 * rng.random(20)
        train += 0.1 * np.arange(19, -1, -1).clip(max=8) * falls
        train[0] = first
        train[9:11] -= 1.5 * dips
        records = [{"step": s, "train_mlm_loss": v} for s, v in enumerate(train.tolist())]
        # None; higher at the end; far below; far below and higher at the end.
        losses = ((), (last + 1, last + 1.1), (last - 1, last - 1.2), (last - 1.2, last - 1))[held]
        records += [{"step": 3 + 16 * i, "heldout_mlm_loss": v} for i, v in enumerate(losses)]
        of = f"from {first} to {last}" + ", with a dip" * dips + ", falling" * falls
        runs[f"a run {of}, held-out losses {losses}"] = records, 8.0, 6.0
    return runs


@pytest.mark.weight(2)
def test_runs_that_still_fall_or_have_finished(student):
    diagnosed(student, of_kinds(31, ("still falling", "finished")))
    diagnosed(student, of_many_rows(checks.rng(35)))


@pytest.mark.weight(3)
def test_ten_runs_get_their_names(student):
    for seed in range(6):
        rng = checks.rng(100 + seed)
        kinds = rng.permutation(KINDS)[:10].tolist()
        diagnosed(student, {f"run {i + 1} of ten, draw {seed + 1}": clear_run(rng, kind)
                            for i, kind in enumerate(kinds)})  # fmt: skip
    records, ln_v, entropy = clear_run(rng, "stuck at the line")
    # The steps fall: whoever sorts the records where they are changes the caller's list.
    records = [r for r in records if math.isfinite(r.get("train_mlm_loss", 0.0))][::-1]
    # A loss that was replaced: in the opposite order of the records it is the last one of its step.
    records.insert(0, {"step": records[0]["step"], "train_mlm_loss": math.nan})
    checks.leaves_no_trace(student.diagnose, records, ln_v=ln_v, entropy=entropy)


def run_on_a_grid(rng):
    """A short run, its numbers in sixteenths or finer: no mean is rounded, and many numbers are on
    a bound. Some are whole numbers, some norms tiny or huge, some records hold None."""

    def one_of(*choices):
        return choices[rng.integers(len(choices))]

    n = one_of(10, 11, 14, 16, 19, 20, 25, 28)  # k is 1 or 2
    k = n // 10
    ln_v = one_of(4.0, 8.0, 9.75)
    entropy = ln_v - one_of(0.0, 0.125, 0.5, 1.0, 3.0, 3.0, 3.0, 3.0, 3.0)
    low = entropy - 1
    levels = [entropy, entropy, entropy + NEAR, entropy - NEAR] * 2 + [low, low, low, entropy]
    end = one_of(ln_v, ln_v - NEAR, *levels) + one_of(-1, 0, 0, 1) / 16
    train = np.full(n, end)
    train[: n - k] += one_of(0, 0, 0, 0, 0, FLAT, FLAT, -FLAT, 1)
    train[: n // 2] += one_of(0, 0, 0, 0, NEAR, NEAR, NEAR + 1 / 16, 1, -1)
    if rng.random() < 0.3:
        train += rng.integers(-1, 2, n) / 16
    if rng.random() < 0.2:
        train[rng.integers(n)] -= one_of(k, k - 1 / 16, -90)
    if rng.random() < 0.15:
        train[0] = ln_v + 1 + one_of(-1, 0, 1) / 16
    steps = one_of(1, 10, 2**33) * (one_of(0, 1, 3) + np.arange(n))
    m = min(n, one_of(0, 1, 1, 2, 3, 5, 22))
    held = end + one_of(-NEAR, 0, 0.5) + one_of(1, 1, 2.0**-20) * rng.integers(-2, 3, m) / 16
    held_at = np.sort(rng.choice(np.r_[0, steps, steps[-1] + 1], m, replace=False))
    j = one_of(0, 1, 3, 9, 12, 19, 20, 25)
    norm = np.where(np.arange(j) < j / 2, 2, 1 + one_of(-1, 0, 0, 1) / 16)
    norm = norm + one_of(0, 1) * rng.integers(-1, 2, j) / 16
    norm[j // 2 : j // 2 + one_of(0, 1)] *= 64
    norm *= one_of(1, 1, 2.0**-40, 2.0**12)
    if rng.random() < 0.08:
        values = held if m and rng.random() < 0.5 else train
        values[rng.integers(len(values))] = one_of(np.nan, np.inf, -np.inf)
    return records_of({
        "train_mlm_loss": (steps, train), "heldout_mlm_loss": (held_at, held),
        "gradient_norm": (steps[0] + 3 * np.arange(j), norm)}, one_of), ln_v, entropy  # fmt: skip


def records_of(curves, one_of):
    """The curves {key: (steps, values)} as records: one for each value, or one for each step, some
    with None; in any order."""
    entries = [(step, key, int(value) if whole and value % 1 == 0 else value)
               for key, (steps, values) in curves.items() for whole in [one_of(False, True)]
               for step, value in zip(steps.tolist(), values.tolist(), strict=True)]  # fmt: skip
    records = [{"step": step, key: value} for step, key, value in entries]
    if form := one_of(0, 1, 2):
        whole = {step: {"step": step} for step, _, _ in entries}
        for step, key, value in entries:
            whole[step] |= (dict.fromkeys(curves) if form == 2 else {}) | whole[step] | {key: value}
        records = [*whole.values()]
    return records[:: one_of(1, -1)]


def test_short_runs_with_many_numbers_on_bounds(student):
    rng = checks.rng(49)
    diagnosed(student, {f"run {i + 1} of a grid": run_on_a_grid(rng) for i in range(110)})


@pytest.mark.weight(2)
def test_a_number_on_a_bound_falls_to_the_side_that_the_table_says(student):
    """In powers of two, so that every mean is exact however it is computed."""
    rng = checks.rng(33)
    entropy = int(rng.integers(4, 7)) + 0.5
    ln_v = entropy + 3

    def run(train, held=(), norm=()):
        records = [{"step": i + 1, "train_mlm_loss": float(v)} for i, v in enumerate(train)]
        for key, values in (("heldout_mlm_loss", held), ("gradient_norm", norm)):
            first = len(train) - len(values)
            for i, value in enumerate(values):
                records[first + i][key] = float(value)
        return records, ln_v, entropy

    n = 2 * int(rng.integers(10, 15))  # k = 2
    runs = {}
    for off in (-LITTLE, 0.0, LITTLE):

        def flat(value, off=off):
            return np.full(n, value + off)

        fine = flat(entropy - 2)
        begun = fine.copy()
        begun[0] = ln_v + 1 + off
        fallen = fine.copy()
        fallen[:-2] = fine[-1] + FLAT + off
        back = fine.copy()
        back[-2:] += 1 + off
        early = flat(entropy - 2)
        early[: n // 2] += NEAR + off
        cases = {
            "end beside ln V - NEAR": run(flat(ln_v - NEAR)),
            "end beside entropy + NEAR": run(flat(entropy + NEAR)),
            "end beside entropy - NEAR": run(flat(entropy - NEAR)),
            "the first loss beside ln V + 1": run(begun),
            "a fall of about FLAT": run(fallen),
            "a rise of about 1": run(back),
            "a held-out loss about NEAR below end": run(fine, [fine[-1] - NEAR + off]),
            "a training loss that has fallen by about NEAR": run(
                early, [6.0] + [6.5] * (n - 1)),
            "a held-out loss beside its lowest": run(
                np.r_[np.full(4, entropy), fine[4:]],
                [6.0] + [6.5] * (n - 2) + [6.0 + abs(off) / 2**10]),
            "norms of about a half": run(flat(entropy), (), [2.0] * (n - 4) + [1.0 + off] * 4),
        }  # fmt: skip
        runs |= {f"a run with {name}{off:+}": case for name, case in cases.items()}
    for n in (9, 10, 11, 19, 20, 21):
        train = np.r_[np.full(n - 2, 4.0), 3.0, 4.0]
        runs[f"a run of {n} losses"] = run(train)
    diagnosed(student, runs)


def kinds_of_text(rng):
    """Few tokens in any order, in every type; rows that are alike; special ids near and far."""
    for number, dtype in enumerate([np.int8, np.int16, np.int32, np.int64] * 5):
        rows, size = rng.integers(2, 7, 2).tolist()
        first = int(rng.choice([0, 90]))
        row = first + rng.integers(0, 38, size)
        row[rng.integers(size)] = 127 - 90 * (not first)  # where a byte ends, or near it
        ids = [np.tile(row, (rows, 1)), np.repeat(row[:rows], size).reshape(-1, size), np.sort(row),
               np.sort(row)[::-1], first + rng.permutation(30)][number % 5]  # fmt: skip
        specials = rng.permutation([first + 5, 100, 3, 129, 260, *ids.flat[:1]])[number % 4 :]
        yield sweep.Case(f"{ids.tolist()} as {np.dtype(dtype)}", (ids.astype(dtype),), {
            "vocab_size": 128 + 200 * (number % 3), "special_ids": [
                s for s in specials.tolist() if s < 128 or number % 3]})  # fmt: skip
    words = rng.choice(30_522, 40, replace=False)
    yield sweep.Case("few ids of a large vocabulary", (rng.choice(words, 60),), {
        "vocab_size": 30_522, "special_ids": words[:25].tolist()})  # fmt: skip


def logs_of_any_key(rng):
    """Metrics of other names and sizes; records whose step is not their first entry."""
    for number, key in enumerate(("loss/train", "Loss", "eval loss", "a.b", "rate", "µ", "nsp-2")):
        records = log_of(rng, 12, keys=(key, key.split("/")[-1].lower() + "_"))
        for record in records[::2]:
            record[key] = float(rng.normal() * 10 ** rng.uniform(*((-12, -6), (6, 15))[number % 2]))
        turned = [dict([*record.items()][::-1]) for record in records]
        yield sweep.Case(f"12 records, key {key!r}", (turned, key))
    for steps in (range(9), range(9, 0, -1), [4] * 5, [3, 4, 3, 4], [2, 1, 2, 1, 1]):
        values = rng.normal(size=len(steps)).tolist()
        records = [{"x": v, "step": step} for v, step in zip(values, steps, strict=True)]
        yield sweep.Case(f"steps {[*steps]}", (records, "x"))


def values_of_any_kind(draw):
    """Of any scale, constant, with ties or one far from all; and none, some or all not finite."""
    for number in range(40):
        size = int(draw.rng.choice([2, 3, 4, 5, 6, 8, 10, 12, 16, 32]))
        values = draw.floats(size, largest=(1e4, 1e12)[number % 2])
        odd = draw.rng.random(size) < (0, 0, 0.3, 0.7, 1)[number % 5]
        values[odd] = draw.rng.choice([np.nan, np.inf, -np.inf], odd.sum())
        yield values, int(draw.rng.choice([1, 2, 3, 4, 6, size // 2 or 1, size, size + 1]))


def test_curves_of_any_length(student):
    draw = sweep.Draw(41)
    rng = draw.rng

    def texts():
        for size, vocab_size in ((0, 1), (1, 1), (7, 3), (60, 5), (4_000, 70_000), (9_000, 2)):
            for specials in ([0], list(range(0, vocab_size, 2))[599::-1]):
                yield sweep.Case(f"{size} tokens, {vocab_size} entries, {len(specials)} special", (
                    draw.ids(size, entries=vocab_size, dtype=[np.int64, np.int32][size % 2]),),
                    {"vocab_size": vocab_size, "special_ids": specials})  # fmt: skip
        many = np.r_[np.full(70_000, 3), checks.rng(42).integers(0, 9, 9_000)]
        settings = {"vocab_size": 9, "special_ids": [0]}
        other = checks.rng(43)
        later = np.r_[other.integers(0, 9, 200_000), other.integers(0, 70, 100_000), 70:90]
        yield sweep.Case("300,000 tokens, the last of them of other words", (later,),
                         {"vocab_size": 90, "special_ids": [0]})  # fmt: skip
        yield from kinds_of_text(checks.rng(44))
        for dtype in (np.int64, np.int16):  # more tokens than 16 bits can count
            yield sweep.Case(f"79,000 {np.dtype(dtype)} tokens, most of them one",
                             (many.astype(dtype),), settings)  # fmt: skip

    sweep.agrees(student.reference_lines, right_lines, texts(), names=("ln V", "the entropy"))
    sweep.agrees(student.curve, right_curve, (
        sweep.Case(f"{count} records", (log_of(rng, count), key))
        for count in (1, 2, 30, 900) for key in ("train_mlm_loss", "heldout_mlm_loss")),
        names=("the steps", "the values"))  # fmt: skip
    sweep.agrees(student.curve, right_curve, logs_of_any_key(checks.rng(45)),
                 names=("the steps", "the values"))  # fmt: skip
    long = [{"step": 7 * (number % 15_000), "x": 0.5 * number} for number in range(16_000)]
    checks.same(student.curve(long, "x"), right_curve(long, "x"),
                of="the curve of 15,000 steps, 1,000 of them written again")  # fmt: skip

    def measured():
        for size in (0, 1, 2, 17, 40, 500, sweep.LONG):
            for window in {40: (100,), 500: (300,)}.get(
                size, range(1, size + 3) if size < 99 else (32,)
            ):
                values = draw.floats(size) if size < 10 else rng.normal(size=size)
                if size > 5:
                    values[rng.integers(size, size=2)] = np.nan
                yield sweep.Case(f"{size} values, window {window}", (values, window))

    sweep.agrees(student.smooth, right_smooth, measured())
    sweep.agrees(student.smooth, right_smooth, (
        sweep.Case(f"{values.tolist()}, window {window}", (values, window))
        for values, window in values_of_any_kind(sweep.Draw(46))))  # fmt: skip

    def ends():
        for size in (0, 1, 5, 9, 40, sweep.LONG):
            for window in (1, 2, 7, 500, size // 2 or 3):
                values = rng.normal(size=size).cumsum() * 10 ** rng.uniform(-3, 6)
                for tolerance in (0.1, 50.0, -0.5):
                    values = -values
                    if size >= 2 * window:
                        fall = values[-2 * window : -window].mean() - values[-window:].mean()
                        if abs(fall - tolerance) < 1e-9 * np.abs(values).max():
                            continue
                    yield sweep.Case(f"{size} values", (values,),
                                     {"window": window, "tolerance": tolerance})  # fmt: skip
        for window in (50, 300, 4_000):  # in a smaller window there is no fall
            values = np.repeat([2.0, 0.0, 2.0], [window, window * 9 // 10, window // 10])
            yield sweep.Case(f"{2 * window} values, the last tenth of them as high as at first",
                             (values,), {"window": window, "tolerance": 0.5})  # fmt: skip

    sweep.agrees(student.is_flat, right_flat, ends())
    runs = []
    for n in (10, 11, 99, 100, 333, 1_200):
        for _ in range(8 if n < 300 else 3 if n < 999 else 1):
            ln_v = float(rng.uniform(4, 11))
            entropy = ln_v - float(rng.uniform(0.3, 3))
            walk = (rng.normal(size=n) * rng.choice([0.003, 0.03, 0.2])).cumsum()
            walk += rng.choice([ln_v, entropy, entropy - 1]) - walk[-1] * rng.choice([0, 1])
            held = walk[::3] + rng.choice([-1.0, 0.02, 1.0]) * rng.random(len(walk[::3]))
            norm = np.abs(rng.normal(size=n).cumsum() / 9) + 0.1
            records = as_records(rng, 5 * np.arange(n), walk, 5 * np.arange(n)[::3] + 1, held, norm,
                                 "")  # fmt: skip
            if len(runs) % 2:  # in any order, but those of one step as they were
                place = checks.rng(43, n).permutation(5 * n + 2)
                records.sort(key=lambda record, place=place: place[record["step"]])
            gaps = []
            named(records, ln_v, entropy, gaps=gaps)
            if min(gaps) > CLEAR:
                runs.append((records, ln_v, entropy))
    diagnosed(student, {f"run {i + 1} that wanders": run for i, run in enumerate(runs)})
