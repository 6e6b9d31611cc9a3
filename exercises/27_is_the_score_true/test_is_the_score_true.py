"""Is the score true? An interval, an exact test, calibration, and a temperature."""

import math
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest

from autograder import checks, sweep
from autograder.codec import Rng

COLDEST, HOTTEST = 0.05, 20.0


def is_float(out, of):
    checks.that(isinstance(out, float) or type(out) is int,
                f"{of}: expected a float, got {type(out).__name__}",
                likely="a float is Python's or NumPy's float64: no float32, no array without axes"
                )  # fmt: skip


# --- The interval ---


def resamples(values, draws, rng):
    return values[checks.rng(rng.seed).integers(len(values), size=(draws, len(values)))]


def right_interval(values, *, draws, level, rng):
    means = resamples(values, draws, rng).mean(axis=1)
    return tuple(np.quantile(means, [(1 - level) / 2, (1 + level) / 2]).tolist())


def interval_mistakes(values, draws, level, rng):
    n = len(values)
    drawn = resamples(values, draws, rng)
    means = drawn.mean(axis=1)
    mean, low, high = values.mean(), *right_interval(values, draws=draws, level=level, rng=rng)

    def ends(x, *at, **more):
        return tuple(np.quantile(x, at, **more).tolist())

    tail = (1 - level) / 2
    generator = checks.rng(rng.seed)
    columns = values[generator.integers(n, size=(n, draws))].mean(axis=0)
    short = values[checks.rng(rng.seed).integers(max(1, n - 1), size=(draws, n))].mean(axis=1)
    return {
        "what is outside of the interval lies on both sides: half of it on each": ends(
            means, 1 - level, level),
        "level is not used: 0.95 is written in": ends(means, 0.025, 0.975),
        "a share of level is cut off at each side: take (1 - level) / 2": ends(
            means, level / 2, 1 - level / 2),
        "quantiles of the values themselves: they are those of the means": ends(
            values, tail, 1 - tail),
        "quantiles of all drawn values: they are those of the means": ends(drawn, tail, 1 - tail),
        "the sums of the resamples, not their means": ends(drawn.sum(axis=1), tail, 1 - tail),
        "the medians of the resamples, not their means": ends(
            np.median(drawn, axis=1), tail, 1 - tail),
        "the indices are drawn as (n, draws): row r belongs to resample r": ends(
            columns, tail, 1 - tail),
        "the means are taken along the wrong axis": ends(drawn.mean(axis=0), tail, 1 - tail),
        "the last value is never drawn: integers(n) leaves n out already": ends(
            short, tail, 1 - tail),
        "drawn without replacement, or not at all: all means are equal": lambda out: (
            type(out) is tuple and len(out) == 2 and high > low
            and math.isclose(out[0], out[1], rel_tol=1e-9)),
        "the differences from the mean, not the means": (low - mean, high - mean),
        "the interval is turned round the mean (the basic bootstrap)": (
            2 * mean - high, 2 * mean - low),
        "the quantiles are not interpolated: np.quantile does so unless it is asked otherwise": (
            lambda out: any(not checks.difference(out, ends(means, tail, 1 - tail, method=m), "",
                                                  None) for m in ("lower", "higher", "nearest"))),
        "draws beyond a whole number of portions are lost": lambda out: any(
            not checks.difference(out, ends(means[: draws // size * size], tail, 1 - tail), "",
                                  None) for size in (100, 1_000, 10_000) if size < draws),
        "the ends are exchanged": (high, low),
        "a list or an array, not a tuple": lambda out: type(out) is not tuple,
    }  # fmt: skip


@pytest.mark.hint(1)
@pytest.mark.weight(3)
def test_the_interval_holds_the_middle_of_the_resampled_means(student):
    draw = checks.rng(3)
    for number, (n, draws, level) in enumerate((
        (9, 40, 0.9), (40, 101, 0.95), (5, 33, 0.5), (2, 7, 0.8), (60, 20, 0.99), (5, 2, 0.9),
        (5, 3, 0.0), (9, 30, 0.05), (9, 20_500, 0.9), (12, 40, 0.6827), (7, 30, 0.9973),
    )):  # fmt: skip
        values = draw.normal(size=n).round(2) * 3 + (number == 2)
        if number == 1:
            values = (draw.random(n) < 0.8).astype(float)
        rng, of = Rng(7 + number), f"the interval of {n} values, {draws} draws, level {level}"
        out = student.bootstrap_interval(values, draws=draws, level=level, rng=rng)
        checks.same(
            out,
            right_interval(values, draws=draws, level=level, rng=rng),
            of=of,
            mistakes=partial(interval_mistakes, values, draws, level, rng),
        )
        for end in out:
            is_float(end, of)
    of = "the interval of one value"
    out = student.bootstrap_interval(np.array([2.0]), draws=3, level=0.9, rng=Rng(1))
    checks.same(out, (2.0, 2.0), of=of)
    is_float(out[0], of)
    is_float(out[1], of)
    checks.leaves_no_trace(student.bootstrap_interval, values, draws=5, level=0.9, rng=Rng(3))


@pytest.mark.hint(1)
def test_the_resamples_come_from_the_generator_that_is_given(student):
    values = checks.rng(4).normal(size=30)
    given = {"draws": 50, "level": 0.9, "rng": Rng(3)}
    checks.draws_from_its_generator(student.bootstrap_interval, values, **given)
    checks.same(student.bootstrap_interval(values, **given), right_interval(values, **given),
                of="the interval of 30 values")  # fmt: skip
    rng = checks.rng(3)
    rng.integers(30, size=(50, 30))
    checks.same(student.bootstrap_interval.trace(values, **given).next, [rng.random()],
                of="the numbers that the generator gives after the call",
                mistakes={"more or fewer numbers are drawn than 50 times 30": lambda out: True}
                )  # fmt: skip
    for n, draws in ((9, 3_500), (9, 237), (1_300, 237), (2_700, 101), (9, 750)):
        many = checks.rng(4).normal(size=n)
        call = student.bootstrap_interval.trace(many, draws=draws, level=0.9, rng=Rng(3))
        rng = checks.rng(3)
        rng.integers(n, size=(draws, n))
        likely = f"more or fewer numbers are drawn than {draws:,} times {n:,}"
        checks.same(call.next, [rng.random()], of=f"what the generator gives after {draws:,} draws",
                    mistakes={likely: lambda out: True})  # fmt: skip
    # More indices than a program may want to hold at once: no part of them is lost, or drawn in
    # another order.
    many, draws, rng = checks.rng(27).normal(size=2_003), 2_600, checks.rng(3)
    means = many[rng.integers(2_003, size=(draws, 2_003))].mean(axis=1)
    call = student.bootstrap_interval.trace(many, draws=draws, level=0.9, rng=Rng(3))
    checks.same(
        (call.value, call.next),
        (tuple(np.quantile(means, [0.05, 0.95]).tolist()), [rng.random()]),
        of=f"the interval of 2,003 values, {draws:,} draws, and what the generator gives after it",
        mistakes={
            "where there are many indices, they are drawn in parts that do not make up all of them "
            "in the order of the rows": lambda out: True
        },
    )
    for equal, draws, level in ((np.ones(30), 50, 0.9), (np.zeros(2), 50, 0.9),
                                (np.full(7, -0.3), 1, 0.9), (np.array([2.5]), 50, 0.9),
                                (np.ones(4), 3, 0.0), (np.ones(3), 2, 1.0)):  # fmt: skip
        given |= {"draws": draws, "level": level}
        call = student.bootstrap_interval.trace(equal, **given)
        checks.that(call.drawn or len(equal) == 1,  # of one value there is nothing to draw
                    f"nothing is drawn for {len(equal)} equal values",
                    likely="a shortcut where the means are known: the next call would draw other "
                           "resamples than the page's")  # fmt: skip
        rng = checks.rng(3)
        rng.integers(len(equal), size=(draws, len(equal)))
        checks.same(call.next, [rng.random()],
                    of=f"the numbers that the generator gives after a call with {len(equal)} equal "
                       "values",
                    mistakes={"more or fewer numbers are drawn for values that are equal": (
                        lambda out: True)})  # fmt: skip


# --- The test ---


def counted(first, second):
    return int((first & ~second).sum()), int((second & ~first).sum())


def right_p(first, second):
    b, c = counted(first, second)
    if b == c:
        return 1.0
    ways, term = 0, 1
    for i in range(min(b, c) + 1):
        ways += term
        term = term * (b + c - i) // (i + 1)
    return float(min(Fraction(1), Fraction(2 * ways, 2 ** (b + c))))


def p_mistakes(first, second):
    b, c = counted(first, second)
    m, k, n = b + c, min(b, c), len(first)
    right = right_p(first, second)

    def below(m, k):
        return float(Fraction(sum(math.comb(m, i) for i in range(k + 1)), 2**m))

    def normal(gap):
        return math.erfc(gap / math.sqrt(2 * m)) if m else 1.0

    hits = sorted((int(first.sum()), int(second.sum())))
    return {
        "m = 0: the models never differ, so p is 1": lambda out: m == 0 and not out > 1,
        "one side only: the test is two-sided, so take the sum twice": below(m, k),
        "p is above 1 where the models are even: take at most 1": 2 * below(m, k),
        "the sum ends before k: k itself is in it": min(1.0, 2 * below(m, k - 1)),
        "the share at k alone: more extreme ones count too": min(
            1.0, 2 * float(Fraction(math.comb(m, k), 2**m))),
        "only the first model's wins are counted, even if it has more": min(1.0, 2 * below(m, b)),
        "the side with more is summed: k is the smaller number": min(1.0, 2 * below(m, max(b, c))),
        "all examples are counted: only those on which the models differ tell them apart": min(
            1.0, 2 * below(n, k)),
        "examples that both have right are counted too": min(
            1.0, 2 * below(int((first | second).sum()), k)),
        "the numbers of right answers are compared: count where exactly one is right": min(
            1.0, 2 * below(sum(hits), hits[0])),
        "the normal distribution: the test is exact": lambda out: m > 0 and any(
            math.isclose(out, normal(gap), rel_tol=1e-6)
            for gap in (abs(b - c), max(0, abs(b - c) - 1))),
        "1 - p is given": 1 - right,
        "2 to the power of m has no float here: divide whole numbers": lambda out: m > 1000 and (
            out == 0 or not math.isfinite(out)),
    }  # fmt: skip


def two_models(rng, b, c, both, neither):
    first = np.repeat([True, False, True, False], (b, c, both, neither))
    second = np.repeat([False, True, True, False], (b, c, both, neither))
    order = rng.permutation(len(first))
    return first[order], second[order]


@pytest.mark.hint(2)
@pytest.mark.weight(3)
def test_the_test_counts_where_exactly_one_model_is_right(student):
    rng = checks.rng(5)
    numbers = [(2, 9, 4, 1), (9, 2, 5, 3), (0, 0, 5, 2), (3, 3, 1, 1), (0, 1, 0, 0), (6, 0, 9, 0),
               (600, 560, 900, 30), (40, 700, 9, 9), (7, 8, 0, 0)]  # fmt: skip
    numbers += [tuple(rng.integers(0, size, 4).tolist()) for size in (6, 12, 30, 60) * 3]
    for each in numbers:
        if not sum(each):
            continue
        first, second = two_models(rng, *each)
        sweep_same(student.sign_test(first, second), right_p(first, second),
                   of=f"p, {each[0]} right by the first alone, {each[1]} by the second alone, "
                      f"{each[2]} by both, {each[3]} by none",
                   mistakes=partial(p_mistakes, first, second))  # fmt: skip
    for b, c in ((18, 75), (98, 30), (210, 352), (1_290, 1_000), (15, 82), (1_360, 1_740)):
        first, second = two_models(checks.rng(33), b, c, 3, 1)
        lost = ("p is one minus the share of the middle, which leaves few digits of a small p: add "
                "up the smaller side")  # fmt: skip
        right = right_p(first, second)
        sweep_same(student.sign_test(first, second), right,
                   of=f"p, {b} right by the first alone, {c} by the second alone",
                   mistakes=lambda: {lost: lambda out: abs(out / right - 1) < 1e-3}
                   | p_mistakes(first, second))  # fmt: skip
    checks.leaves_no_trace(student.sign_test, *two_models(rng, 4, 2, 3, 1))


def sweep_same(out, expected, *, of, mistakes):
    """A number to eight digits, however small it is; it is shown as it stands."""
    is_float(out, of)
    value = float(out)
    if math.isclose(value, expected, rel_tol=1e-8):
        return checks.same(expected, expected)
    likely = ""
    for name, wrong in mistakes().items():
        hit = wrong(value) if callable(wrong) else math.isclose(value, wrong, rel_tol=1e-8)
        likely = likely or (name if hit else "")
    return checks.fail(f"{of}: expected {expected:.9g}, got {value:.9g}", likely=likely, out=out)


# --- Calibration ---


def right_bins(confidence, correct, *, bins, lower=False):
    found = [[] for _ in range(bins)]
    for c, hit in zip(confidence.tolist(), correct.tolist(), strict=True):
        near = range(max(0, int(c * bins) - 2), min(bins, int(c * bins) + 3))
        inside = [j for j in near if (j / bins <= c < (j + 1) / bins if lower else
                                      j / bins < c <= (j + 1) / bins)]  # fmt: skip
        found[inside[0] if inside else 0 if c <= 0 else bins - 1].append((c, hit))
    counts = np.array([len(each) for each in found], np.int64)
    mean = np.array([math.fsum(c for c, _ in e) / len(e) if e else np.nan for e in found])
    accuracy = np.array([sum(h for _, h in e) / len(e) if e else np.nan for e in found])
    return counts, mean, accuracy


def bin_mistakes(confidence, correct, bins):
    counts, mean, accuracy = right_bins(confidence, correct, bins=bins)
    low = right_bins(confidence, correct, bins=bins, lower=True)
    filled = counts > 0
    middle = np.where(filled, (np.arange(bins) + 0.5) / bins, np.nan)
    inner = confidence > 0
    return {
        "an edge belongs to the bin above it here: it belongs to the bin below": low,
        "a confidence a little above an edge is rounded to the edge: it is in the bin above": (
            lambda out: not np.array_equal(out[0], counts) and any(
                np.array_equal(out[0], right_bins(
                    (confidence * bins).round(digits) / bins, correct, bins=bins)[0])
                for digits in range(3, 9))),
        "a confidence of 0 is in no bin: it is in bin 0": (
            right_bins(confidence[inner], correct[inner], bins=bins)),
        "a confidence of 1 is in no bin: it is in the last": lambda out: (
            out[0].shape == (bins,) and confidence.max() == 1
            and out[0].sum() == len(confidence) - (confidence == 1).sum()),
        "a bin too many: adding or dividing by 1 / bins is rounded": lambda out: len(out[0]) > bins,
        "an empty bin has 0: it has NaN": (
            counts, np.where(filled, mean, 0), np.where(filled, accuracy, 0)),
        "empty bins are left out: there are always `bins` of them": (
            counts[filled], mean[filled], accuracy[filled]),
        "the middle of the bin, not the mean of the confidences in it": (counts, middle, accuracy),
        "mean confidence and accuracy are exchanged": (counts, accuracy, mean),
        "the shares, not the counts": (counts / len(confidence), mean, accuracy),
        "sums, not means": (counts, np.where(filled, mean * counts, np.nan),
                            np.where(filled, accuracy * counts, np.nan)),
        "the number of right answers, not their share": (
            counts, mean, np.where(filled, accuracy * counts, np.nan)),
        "bins with equally many examples: they are equally wide": lambda out: (
            out[0].shape == (bins,) and np.ptp(out[0]) <= 1 < np.ptp(counts)),
        "the bins reach from the lowest to the highest confidence: they reach from 0 to 1": (
            lambda out: out[0].shape == (bins,) and min(out[0][0], out[0][-1]) > 0
            and min(counts[0], counts[-1]) == 0),
    }  # fmt: skip


def answers(rng, n, bins, *, low=0.0):
    """Confidences, none of them so near to an edge that rounding decides; and what was right."""
    place = rng.integers(int(low * bins), bins, n)
    confidence = (place + rng.uniform(0.05, 0.95, n)) / bins
    return confidence, rng.random(n) < confidence**2


def beside_edges(rng, n, bins):
    """Confidences a little above or below an edge, and what was right; a fourth of them are hardly
    more than 1e-9 off."""
    size = 10 ** rng.uniform(-8.97, np.where(np.arange(n) % 4, -4, -8.9))
    confidence = rng.integers(1, bins, n) / bins + size * rng.choice([-1, 1], n)
    return confidence, rng.random(n) < 0.5


def with_ends(rng, bins):
    """A few confidences, 0 and 1 among them, and what was right."""
    confidence, correct = answers(rng, 4, bins)
    order = rng.permutation(6)
    return np.append(confidence, [0, 1])[order], np.append(correct, rng.random(2) < 0.5)[order]


EDGES = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 0.5, 1.0, 0.125])


@pytest.mark.hint(3)
@pytest.mark.weight(3)
def test_the_bins_hold_their_upper_edge(student):
    rng = checks.rng(7)
    given = [(*answers(rng, n, bins, low=low), bins) for n, bins, low in (
        (50, 5, 0.0), (7, 10, 0.4), (1, 3, 0.0), (200, 15, 0.5), (30, 1, 0.0))]  # fmt: skip
    given += [(EDGES, rng.random(8) < 0.6, bins) for bins in (2, 4, 8, 1)]
    for c in (0.0, 0.5, 1.0):
        given.append((np.array([c, 0.3]), np.array([True, False]), 2))
    given += [(*beside_edges(rng, 40, bins), bins) for bins in (2, 10, 30)]
    given += [(np.full(n, c), np.arange(n) > 0, 3) for n in (1, 3) for c in (0.0, 0.4, 1.0)]
    given += [(*with_ends(rng, bins), bins) for bins in (*range(1, 110), 400, 5_000)]
    for confidence, correct, bins in given:
        out = checks.parts(student.reliability(confidence, correct, bins=bins), "counts",
                           "mean_confidence", "accuracy")  # fmt: skip
        checks.same(out, right_bins(confidence, correct, bins=bins),
                    of=f"{bins} bins of {len(confidence)} confidences",
                    mistakes=partial(bin_mistakes, confidence, correct, bins))  # fmt: skip
    page = np.array([0.2, 0.5, 0.9]), np.array([False, True, True])
    checks.same(student.reliability(*page, bins=2), right_bins(*page, bins=2), of="the page's bins")
    checks.leaves_no_trace(student.reliability, *page, bins=2)


def right_error(confidence, correct, *, bins):
    counts, mean, accuracy = right_bins(confidence, correct, bins=bins)
    some = counts > 0
    return float((counts[some] * np.abs(accuracy - mean)[some]).sum() / len(confidence))


def error_mistakes(confidence, correct, bins):
    counts, mean, accuracy = right_bins(confidence, correct, bins=bins)
    some = counts > 0
    gaps, weight = (accuracy - mean)[some], (counts / counts.sum())[some]
    middle = ((np.arange(bins) + 0.5) / bins)[some]
    low = right_bins(confidence, correct, bins=bins, lower=True)
    filled = low[0] > 0
    return {
        "NaN of an empty bin: it adds nothing": lambda out: type(out) is not tuple and bool(
            np.isnan(out).any()),
        "the mean over the bins: weight each by its examples": float(np.abs(gaps).mean()),
        "the mean over all bins, the empty ones too: weight each by its examples": float(
            np.abs(gaps).sum() / bins),
        "the gaps keep their signs, so they cancel": float((weight * gaps).sum()),
        "the size of the sum: each bin's gap has its own size": float(abs((weight * gaps).sum())),
        "the squares of the gaps: their sizes are asked for": float((weight * gaps**2).sum()),
        "the root of the mean square of the gaps: their sizes are asked for": float(
            np.sqrt((weight * gaps**2).sum())),
        "the largest gap: the mean is asked for": float(np.abs(gaps).max()),
        "a sum over examples: divide by their number": float((counts[some] * np.abs(gaps)).sum()),
        "the middle of a bin in place of its mean confidence": float(
            (weight * np.abs(accuracy[some] - middle)).sum()),
        "each example has a bin of its own: the mean of |correct - confidence|": float(
            np.abs(correct - confidence).mean()),
        "bins is not used": lambda out: type(out) is not tuple and any(
            not checks.difference(out, right_error(confidence, correct, bins=b), "", None)
            for b in (10, 15) if b != bins),
        "a confidence of 1 in no bin: it is in the last": right_error(
            confidence * (confidence < 1), np.where(confidence < 1, correct, False), bins=bins),
        "an edge belongs to the bin above it here: it belongs to the bin below": float(
            (low[0] * np.abs(low[2] - low[1]))[filled].sum() / len(confidence)),
    }  # fmt: skip


@pytest.mark.weight(2)
def test_the_calibration_error_weights_each_bin_by_its_examples(student):
    rng = checks.rng(9)
    given = [(*answers(rng, n, bins, low=low), bins) for n, bins, low in (
        (60, 10, 0.4), (60, 4, 0.0), (1, 3, 0.0), (200, 15, 0.5), (25, 5, 0.2))]  # fmt: skip
    given += [(EDGES, np.arange(8) % 3 > 0, bins) for bins in (2, 4)]
    given += [(np.full(n, c), np.full(n, c == 1), 3) for n in (1, 3) for c in (0.0, 0.4, 1.0)]
    several = (*range(1, 110, 4), 6, 10, 20, 98, 103, 107, 400, 5_000)
    given += [(*with_ends(rng, bins), bins) for bins in several]
    for confidence, correct, bins in given:
        of = f"the error of {len(confidence)} examples in {bins} bins"
        out = student.calibration_error(confidence, correct, bins=bins)
        checks.same(out, right_error(confidence, correct, bins=bins), of=of,
                    mistakes=partial(error_mistakes, confidence, correct, bins))  # fmt: skip
        is_float(out, of)
    page = np.array([0.2, 0.5, 0.9]), np.array([False, True, True])
    checks.same(student.calibration_error(*page, bins=2), 0.4 / 3, of="the page's error")
    checks.leaves_no_trace(student.calibration_error, *page, bins=2)


# --- The temperature ---


def log_softmax(z):
    z = z - z.max(axis=-1, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=-1, keepdims=True))


def right_nll(logits, labels, *, temperature=1.0):
    return float(-log_softmax(logits / temperature)[np.arange(len(labels)), labels].mean())


def nll_mistakes(logits, labels, temperature):
    right = right_nll(logits, labels, temperature=temperature)
    chosen = logits[np.arange(len(labels)), labels] / temperature
    n = len(labels)
    return {
        "exp of the logits overflows, or ln 0: take the maximum away first": lambda out: (
            type(out) is not tuple and not np.isfinite(out).all()),
        "the logits are multiplied by the temperature: divide": right_nll(
            logits, labels, temperature=1 / temperature),
        "temperature is not used": right_nll(logits, labels),
        "the loss is divided by the temperature: divide the logits": (
            right_nll(logits, labels) / temperature),
        "the sum over the examples, not the mean": right * n,
        "the sign is turned": -right,
        "the logarithm to base 2: take ln": right / math.log(2),
        "the softmax is taken over the examples: it is over the labels": right_nll(
            logits.T, labels, temperature=temperature) if logits.shape[0] == logits.shape[1]
            and np.array_equal(labels, np.argsort(labels)) else float(
            -log_softmax(logits.T / temperature).T[np.arange(n), labels].mean()),
        "the logit itself, without the softmax": float(-chosen.mean()),
        "the likeliest label is scored, not the right one": float(
            -log_softmax(logits / temperature).max(axis=1).mean()),
        "ln of the mean probability: take the mean of the logarithms": float(-np.log(
            np.exp(log_softmax(logits / temperature))[np.arange(n), labels].mean())),
        "a small number is added to the probabilities, or they are cut off: use logarithms": (
            lambda out: type(out) is not tuple and 0 < float(out) < right
            and (right > 15 or right - float(out) < 1e-6)),
    }  # fmt: skip


def model_of(rng, n, labels, sharp):
    """Logits that are `sharp` times those the labels were drawn from, so T* is about that."""
    true = rng.normal(size=(n, labels)) * 2
    drawn = (log_softmax(true) + rng.gumbel(size=true.shape)).argmax(axis=1)
    return true * sharp, drawn


@pytest.mark.hint(4)
@pytest.mark.weight(2)
def test_the_loss_is_that_of_the_softmax_of_divided_logits(student):
    rng = checks.rng(11)
    for n, count, scale, temperature in ((9, 4, 2, 0.5), (1, 3, 1, 3.0), (30, 2, 5, 7.5),
                                         (6, 5, 300, 0.4), (5, 6, 10_000, 1.0), (4, 3, 0.01, 0.05),
                                         (8, 3, 10_000, 0.05), (5, 4, 1, 0.001),
                                         (6, 3, 30, 1_000.0), (2, 1, 1, 1.0)):  # fmt: skip
        logits = rng.normal(size=(n, count)) * scale
        labels = rng.integers(0, count, n)
        of = f"the loss of {n} examples, logits near {scale}, temperature {temperature}"
        out = student.negative_log_likelihood(logits, labels, temperature=temperature)
        checks.same(out, right_nll(logits, labels, temperature=temperature), of=of,
                    mistakes=partial(nll_mistakes, logits, labels, temperature))  # fmt: skip
        is_float(out, of)
        if temperature == 0.5:
            checks.same(student.negative_log_likelihood(logits, labels), right_nll(logits, labels),
                        of="the loss without a temperature", mistakes={
                            "temperature is 1 if it is not given": lambda out: True})  # fmt: skip
    for offset in (-10_000.0, 10_000.0):
        logits = rng.normal(size=(4, 3)).round(3) + offset
        labels = rng.integers(0, 3, 4)
        checks.same(student.negative_log_likelihood(logits, labels, temperature=2.0),
                    right_nll(logits, labels, temperature=2.0),
                    of=f"the loss, logits near {offset}",
                    mistakes=partial(nll_mistakes, logits, labels, 2.0))  # fmt: skip
    labels = rng.integers(0, 3, 6)
    logits = 15.0 * np.eye(3)[labels] + rng.normal(size=(6, 3))
    checks.same(student.negative_log_likelihood(logits, labels) * 1e6,
                right_nll(logits, labels) * 1e6, of="a million times the loss of a sure model",
                tolerance=1e-6)  # fmt: skip
    check_probabilities_that_are_hardly_a_number(student)
    page = np.array([[math.log(3), 0.0]]), np.array([0])
    checks.same(student.negative_log_likelihood(*page), math.log(4 / 3), of="the page's loss")
    checks.leaves_no_trace(student.negative_log_likelihood, *page, temperature=2.0)


def check_probabilities_that_are_hardly_a_number(student):
    """The label lies so far below the others that its probability has few bits, or is 0; of the
    others several are equally large."""
    lost = ("where the probability is too small for a float, the logarithm of the sum is left out: "
            "several logits may be the largest")  # fmt: skip
    few_bits = "the logarithm of a probability that has lost most of its digits: take no logarithm"
    for distance in (30, 600, 707, 708, 709, 720, 740, 743, 744, 745, 746, 1_000, 20_000):
        for ties in (1, 2, 4):
            for temperature in (1.0, 0.05) if ties == 2 else (1.0,):
                logits = np.zeros((1, 6))
                logits[0, :ties] = distance * temperature
                logits[0, ties:5] = -distance * temperature
                right = distance + math.log(ties)
                checks.same(
                    student.negative_log_likelihood(logits, np.array([5]), temperature=temperature),
                    right, of=f"the loss of a label {distance} below {ties} largest logits, divided"
                    f" by the temperature {temperature}", tolerance=1e-9,
                    mistakes={lost: float(distance) if ties > 1 else (),
                              few_bits: lambda out, right=right: bool(abs(out - right) < 2)},
                )  # fmt: skip


def right_temperature(logits, labels):
    """By the golden section in ln T, which asks only for the loss."""
    logits = logits - logits.max(axis=1, keepdims=True)
    low, high = math.log(COLDEST), math.log(HOTTEST)
    share, known = (math.sqrt(5) - 1) / 2, {}
    a, b = high - share * (high - low), low + share * (high - low)
    while high - low > 1e-5:
        for x in {a, b} - known.keys():  # one of the two is known from the step before
            known[x] = right_nll(logits, labels, temperature=math.exp(x))
        if known[a] <= known[b]:
            high, b = b, a
            a = high - share * (high - low)
        else:
            low, a = a, b
            b = low + share * (high - low)
    return math.exp((low + high) / 2)


def temperature_is_right(student, logits, labels, of, right=None):
    out = student.best_temperature(logits, labels)
    right = right or right_temperature(logits, labels)
    is_float(out, of)
    value = float(out)
    if abs(value / right - 1) <= 0.001 + 1e-4:
        return checks.same(right, right)
    mistakes = {
        "1 / T is given": math.isclose(value * right, 1, rel_tol=0.01) and value != 1
        and COLDEST * 1.01 < right < HOTTEST * 0.99,  # else the other end of the range is given
        "NaN or infinity: exp of the logits overflows": not math.isfinite(value),
        "beyond the range: it ends at COLDEST and HOTTEST": not COLDEST * 0.999 <= value
        <= HOTTEST * 1.001,
        "the search has not moved away from 1": value == 1,
        "the search does not go below 1: an underconfident model needs T below 1": right < 1
        and 0.99 <= value <= 1.1,
        "the search does not go above 1: an overconfident model needs T above 1": right > 1
        and 0.9 <= value <= 1.01,
        "an end of the range, although the loss is lower elsewhere": (
            min(abs(value / COLDEST - 1), abs(value / HOTTEST - 1)) < 0.01),
        "near, but not to one part in a thousand: search more finely": (
            abs(value / right - 1) < 0.1),
        "the search ends before it is there, or does not see the whole range": math.isfinite(value),
    }  # fmt: skip
    likely = next((name for name, made in mistakes.items() if made), "")
    return checks.fail(f"{of}: expected T = {right:.5g}, where the loss is "
                       f"{right_nll(logits, labels, temperature=right):.6g}, got {value:.5g}",
                       likely=likely, out=out)  # fmt: skip


@pytest.mark.hint(4)
@pytest.mark.weight(3)
def test_the_temperature_makes_the_loss_least(student):
    rng = checks.rng(13)
    for sharp, n, count in ((3, 200, 3), (0.3, 200, 4), (1, 60, 2), (9, 300, 5), (0.1, 400, 3),
                            (1.7, 37, 6)):  # fmt: skip
        logits, labels = model_of(rng, n, count, sharp)
        temperature_is_right(
            student, logits, labels, f"the temperature of {n} examples, about {sharp} times as sure"
        )
    logits = rng.normal(size=(90, 5))
    second = logits.argsort(axis=1)[:, -2]
    for sharp in (0.2, 3):  # never right, but near: the accuracy does not say how sure to be
        temperature_is_right(
            student, logits * sharp, second,
            f"the temperature of a model whose second choice is right, logits near {sharp}",
        )  # fmt: skip
    logits, _ = model_of(rng, 60, 3, 1)
    logits[:, 2] += 1
    temperature_is_right(student, logits * 5, np.full(60, 2), "the temperature where all labels "
                         "are alike")  # fmt: skip
    page = np.array([[2.0, 0]] * 4), np.array([0, 0, 0, 1])
    temperature_is_right(student, *page, "the temperature of the page")
    checks.leaves_no_trace(student.best_temperature, *page)


@pytest.mark.hint(4)
@pytest.mark.weight(2)
def test_the_temperature_of_huge_logits_and_at_the_ends_of_the_range(student):
    rng = checks.rng(15)
    logits, labels = model_of(rng, 120, 4, 2.5)
    for offset in (10_000.0, -10_000.0):
        shifted = logits.round(4) + offset
        temperature_is_right(student, shifted, labels, f"the temperature of logits near {offset}")
    each = rng.normal(size=(120, 1)).round(3) * 1e4
    temperature_is_right(student, logits.round(4) + each, labels,
                         "the temperature where each row has an offset of its own")  # fmt: skip
    sharp, labels = model_of(rng, 150, 3, 3000.0)
    temperature_is_right(student, sharp, labels, "the temperature of logits near 10,000")
    faint, labels = model_of(rng, 150, 3, 0.001)
    temperature_is_right(student, faint, labels, "the temperature of logits near 0.001")
    # Right a little more often than not: nearly equal logits have their temperature too.
    for right, n, offset in ((0.06, 401, 0.0), (0.3, 41, 8_000.0), (7.0, 41, -8_000.0)):
        gap = right * math.log((n + 1) / (n - 1))
        temperature_is_right(student, np.array([[0, gap]] * n) + offset, np.arange(n + 1)[1:] % 2,
                             f"the temperature of {n} times the logits {offset:g} and {gap:.3g} "
                             "more, the larger one right once more than the other", right
                             )  # fmt: skip
    for scale in (1e-7, 1e6, 1e12):  # a slope or a step that is small in itself says nothing
        logits, labels = model_of(rng, 150, 3, scale)
        temperature_is_right(student, logits, labels, f"the temperature of logits near {scale}")
        temperature_is_right(student, logits, logits.argmin(axis=1), "the temperature of logits "
                             f"near {scale}, of which the lowest is right")  # fmt: skip
    logits, labels = model_of(rng, 210, 3, 1.0)
    low = 0.0517, 0.0533, 0.0541, 0.0556, 0.0567, 0.0572, 0.0583, 0.0594  # 0.0001 off is too far
    # Beside an end of the range, or 1, it is not there.
    for near in (0.0505, *low, 0.997, 1.004, 19.8):
        scaled = logits * near / right_temperature(logits, labels)
        temperature_is_right(student, scaled, labels, f"a temperature of {near}")
    for n in (1, 2):
        logits = rng.uniform(-0.7, 0.7, (n, 3))
        for which, place in (("likeliest", -1), ("least likely", 0)):
            temperature_is_right(
                student, logits, logits.argsort(axis=1)[:, place],
                f"the temperature of {n} examples whose {which} label is right",
            )  # fmt: skip
    sure, _ = model_of(rng, 50, 3, 0.5)
    temperature_is_right(student, sure.clip(-1, 1), sure.clip(-1, 1).argmax(axis=1),
                         "the temperature of a model that is always right")  # fmt: skip
    for margin in (10.0, 1_000.0):
        temperature_is_right(student, margin * np.eye(2), np.arange(2),
                             "the temperature of a model whose loss rounds to 0")  # fmt: skip
    for tied in (np.array([[50.0, 50, 0], [0, 60, 0]]), np.zeros((2, 2))):
        temperature_is_right(student, tied, np.array([1, 1]),
                             "the temperature where every label has the largest logit, and some "
                             "share it", COLDEST)  # fmt: skip
    temperature_is_right(student, sure, sure.argmin(axis=1),
                         "the temperature of a model that is always wrong")  # fmt: skip
    labels = np.where(np.arange(50) < 15, sure.argmin(axis=1), sure.argmax(axis=1))
    sure = sure.clip(-2, 2) * np.where(np.arange(50) < 15, 10, 1)[:, None]
    temperature_is_right(student, sure, labels,
                         "the temperature of a model that is surest where it is wrong"
                         )  # fmt: skip


def small_intervals(draw):
    """Few values of any kind: right or wrong, differences, equal, negative; the level may be a
    whole number, and there may be as many draws as values."""
    rng = draw.rng
    for number in range(15):
        n = int(rng.choice([2, 3, 4, 6, 8, 10, 12, 16]))
        near = 0.875 + 1e-3 * rng.normal(size=n)
        values = [rng.integers(0, 2, n) * 1.0, rng.integers(-1, 2, n) * 1.0, draw.floats(n), near,
                  -np.abs(draw.floats(n))][number % 5]  # fmt: skip
        yield sweep.Case(f"the values {values.tolist()}", (values,), {
            "draws": (n, 1, 2, 10, 16, 64)[number % 6], "rng": Rng(number),
            "level": (0, 1, rng.random(), 0.75, 0.95, 0.9, 1.0)[number % 7]})  # fmt: skip


def small_exams():
    """Few examples, or none, of each of the four kinds, in any order or as they come."""
    rng = checks.rng(20)
    given = [*product(range(3), range(4)), (64, 0), (31, 33), (1, 127), (20, 20), (400, 400)]
    for number, (b, c) in enumerate(given):
        both, neither = ((2, 0), (0, 2), (0, 0), (1, 5))[number % 4]
        models = first, second = two_models(rng, b, c, both, neither)
        if number % 3 == 0:
            order = np.lexsort(models)
            models = first[order], second[order]
        yield sweep.Case(f"{b} and {c} right by one model alone, {both} by both", models)


def small_bins():
    """Few confidences: near 0 and near 1, repeated, in order; all answers right, or none."""
    rng = checks.rng(22)
    yield sweep.Case("150 examples in a single bin", answers(rng, 150, 1), {"bins": 1})
    for number in range(16):
        n, bins = int(rng.choice([2, 3, 4, 6, 8, 12, 24])), int(rng.choice([1, 2, 3, 4, 8, 10, 16]))
        if number % 5 == 3:  # many eighths are on an edge, which is exact
            n, bins = 24, (2, 4, 8)[number // 5]
        near = 10 ** rng.uniform(-8, -1.3, n) / bins
        confidence = [near, 1 - near, answers(rng, n, bins)[0], rng.integers(0, 9, n) / 8,
                      rng.choice([0, 0.31, 0.83, 1], n)][number % 5]  # fmt: skip
        confidence = np.sort(confidence)[:: rng.choice([1, -1])] if number % 4 == 1 else confidence
        correct = [rng.random(n) < 0.5, np.arange(n) >= 0, np.arange(n) < 0][number % 3]
        right = ("some", "all", "none")[number % 3]
        yield sweep.Case(f"the confidences {confidence.tolist()}, {right} right, {bins} bins",
                         (confidence, correct), {"bins": bins})  # fmt: skip


def small_models():
    """Few logits of any size, with ties, equal rows, rows of one number or of 0, some rows much
    larger than others; labels in each type, likely or not. And an example of many labels."""
    draw = sweep.Draw(24)
    rng = draw.rng
    for number in range(21):
        n, count = (int(rng.choice(sizes)) for sizes in ((2, 3, 4, 6, 8, 12, 16, 24), (2, 3, 4, 6)))
        if number % 6 == 5:
            n, count = (12, 128) if number % 4 == 1 else (count, count)
        logits = rng.normal(size=(n, count)) * rng.choice([0.3, 2, 8])
        logits *= np.exp(rng.choice([0, 1, 2.5]) * rng.normal(size=(n, 1)))
        if number % 3 == 1:
            logits = logits.round()
        of = f"{n} rows of {count} logits"
        likely = log_softmax(logits / rng.choice([0.2, 1, 3])) + rng.gumbel(size=logits.shape)
        labels = np.where(rng.random(n) < 0.2, rng.integers(0, count, n), likely.argmax(axis=1))
        if number % 4 == 2:
            logits[-1], labels[0] = logits[0], rng.integers(count)  # perhaps with another label
            of += ", two of them equal"
        if number % 4 == 3:
            logits[rng.integers(n)] = rng.choice([0, 3])
            of += ", one of them constant"
        if number % 4 == 0:  # the largest row may be wrong
            labels[np.ptp(logits, axis=1).argmax()] = rng.integers(count)
        if number % 7 == 3:
            logits -= logits.max() + 1
        labels = labels.astype([np.int64, np.int8, np.int32, np.int16][number // 3 % 4])
        yield f"{of}, labels {labels.dtype}", logits, labels


def logits_like_shares():
    """Logits that might be probabilities: between 0 and 1, and they add up to 1; of three labels,
    and of more labels than eight bits count."""
    rng = checks.rng(31)
    for count in (3, 300):
        true = rng.normal(size=(60, count)) * 3
        true[:, 256:] += 2
        shares = np.exp(log_softmax(true))
        labels = (shares / 0.2 + rng.gumbel(size=shares.shape)).argmax(axis=1)
        yield f"{count} logits in a row that add up to 1", shares, labels


def slope_of_loss(logits, labels, cold):
    """In 1 / T, at T = 1 / `cold`."""
    z = logits - logits.max(axis=1, keepdims=True)
    p = np.exp(cold * z)
    return float(((p * z).sum(axis=1) / p.sum(axis=1) - z[np.arange(len(z)), labels]).mean())


def clear_temperature(logits, labels):
    """The right one, by the slope; None where the loss near it is too flat to tell."""
    low, high = 1 / HOTTEST, 1 / COLDEST
    for _ in range(36):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if slope_of_loss(logits, labels, middle) > 0 else (middle, high)
    right = min(max(1 / math.sqrt(low * high), COLDEST), HOTTEST)
    loss = right_nll(logits, labels, temperature=right)
    beside = [right_nll(logits, labels, temperature=t) for t in (right / 1.001, right * 1.001)
              if COLDEST * 0.9999 < t < HOTTEST * 1.0001]  # fmt: skip
    return right if min(beside) - loss > 1e-11 * loss else None


def test_examples_of_any_number(student):
    rng = checks.rng(17)

    def intervals():
        for n, draws in ((1, 1), (2, 1), (3, 300), (700, 30), (40, 1_000), (2_003, 3), (40_003, 1)):
            for scale in (1e-9, 1.0, 1e9) if n < 9_000 else (3.0,):
                yield sweep.Case(f"{n} values, {draws} draws", (rng.normal(size=n) * scale,), {
                    "draws": draws,
                    "level": 1.0 if scale == 1 else float(rng.choice([0.1, 0.68, 0.9, 0.999])),
                    "rng": Rng(int(rng.integers(1000)))})  # fmt: skip
        # The largest has more rights than 16 bits can count.
        for n, draws in ((2_000, 20), (10_000, 20), (85_000, 2)):
            rights = (checks.rng(18).random(n) < 0.8).astype(float)
            yield sweep.Case(f"{n} rights and wrongs", (rights,), {
                "draws": draws, "level": 0.9, "rng": Rng(n)})  # fmt: skip

        yield from small_intervals(sweep.Draw(19))

    sweep.agrees(student.bootstrap_interval, right_interval, intervals(), names=("low", "high"))
    sweep.agrees(student.sign_test, right_p, small_exams())
    sweep.agrees(student.sign_test, right_p, (
        sweep.Case(f"models that differ {b} and {c} times, {both} right by both",
                   two_models(checks.rng(30), b, c, both, 0))
        for b, c, both in [(2, 9, 65_540), (65_540, 2, 0), (2, 65_540, 0)]))  # fmt: skip
    sweep.agrees(student.sign_test, right_p, (
        sweep.Case(f"models that differ {b} and {c} times", two_models(rng, b, c, 50, 3))
        for b, c in [(900, 860), (0, 300), (700, 2_500), (3_500, 6_900), (0, 960), (1_040, 1_000),
                     (1, 0), (0, 60), *rng.integers(0, 40, (20, 2)).tolist()]))  # fmt: skip
    models = two_models(checks.rng(48), 1, 1_008, 50, 3)
    sweep_same(student.sign_test(*models), right_p(*models), mistakes=partial(p_mistakes, *models),
               of="p, 1 right by the first alone, 1,008 by the second alone")  # fmt: skip

    def calibrated():
        for n, bins in ((1, 1), (2, 50), (30, 7), (30, 100), (4_003, 6), (500, 3), (50, 20)):
            confidence, correct = (beside_edges if bins == 20 else answers)(rng, n, bins)
            if n > 2_000:  # a bin of one example
                confidence[(confidence < 1 / bins).nonzero()[0][1:]] = 0.9
            yield sweep.Case(f"{n} examples, {bins} bins", (confidence, correct), {"bins": bins})
        own = checks.rng(26)
        for n, bins in ((6, 12_007), (40_003, 1)):
            yield sweep.Case(f"{n} examples, {bins} bins", answers(own, n, bins), {"bins": bins})
        yield from small_bins()

    sweep.agrees(student.reliability, right_bins, calibrated(),
                 names=("the counts", "the mean confidence", "the accuracy"))  # fmt: skip
    sweep.agrees(student.calibration_error, right_error, calibrated())
    n = 70_003
    confidence, correct = np.full(n, 0.375), np.arange(n) > 1_000
    share = float(correct.mean())
    many = {"more examples than 16 bits can count": lambda out: True}
    checks.same(student.reliability(confidence, correct, bins=2), (
        np.array([n, 0]), np.array([0.375, np.nan]), np.array([share, np.nan])),
        of=f"2 bins of {n:,} examples", mistakes=many)  # fmt: skip
    checks.same(student.calibration_error(confidence, correct, bins=2), share - 0.375,
                of=f"the error of {n:,} examples in 2 bins", mistakes=many)  # fmt: skip

    def scored():
        for n, count in ((1, 2), (2, 1), (9, 4), (2_003, 3), (3, 2_003)):
            for scale in (0.01, 3.0, 1e4):
                yield sweep.Case(f"{n} examples, {count} labels, scale {scale}", (
                    rng.normal(size=(n, count)) * scale, rng.integers(0, count, n)),
                    {"temperature": float(rng.choice([0.05, 1.0, 20.0]))},
                    magnitude=100 * scale)  # fmt: skip
        for number, (of, logits, labels) in enumerate(small_models()):
            logits = logits * (1, 1e4, 1, 1e-6, 1)[number % 5]
            temperature = (1, 2, 0.5, 3.0)[number % 4]
            # A loss near 0 is a difference of logits.
            yield sweep.Case(of, (logits, labels), {"temperature": temperature},
                             magnitude=1e-6 * float(np.abs(logits).max()) / temperature
                             )  # fmt: skip
        own = checks.rng(34)
        for n, count in ((20_001, 2), (2, 30_522)):  # no part of them has the loss of all
            logits = own.normal(size=(n, count)) * np.geomspace(0.1, 9, n)[:, None]
            yield sweep.Case(f"{n} examples, {count} labels", (
                logits, own.integers(count // 2, count, n)))  # fmt: skip
        for of, shares, labels in logits_like_shares():
            for temperature in (1.0, 0.3):
                yield sweep.Case(of, (shares, labels), {"temperature": temperature})

    sweep.agrees(student.negative_log_likelihood, right_nll, scored())
    for n, count in ((1_003, 2), (30, 150), (7_003, 2), (30_003, 2)):
        logits, labels = model_of(rng, n, count, 10 ** rng.uniform(-0.8, 0.5))
        logits *= np.geomspace(0.5, 2, n)[:, None]  # no part of them has the temperature of all
        temperature_is_right(student, logits, labels, f"the temperature of {n} examples")
    own = checks.rng(6)
    for number in range(3):  # right but for one example of a hundred, and too sure
        logits, labels = own.normal(size=(400, 2)), own.integers(2, size=400)
        right = (own.random(400) < 0.99).nonzero()[0]
        logits[right, labels[right]] += 8
        temperature_is_right(student, 4 * logits, labels, f"the temperature of sure model {number}")
    for of, logits, labels in logits_like_shares():
        temperature_is_right(student, logits, labels, f"the temperature of {of}")
    for sharp in (0.055, 0.07, 0.09, 0.11):
        logits, labels = model_of(rng, 400, 3, sharp)
        temperature_is_right(student, logits, labels, f"a temperature near {sharp}")
    for of, logits, labels in small_models():
        if right := clear_temperature(logits, labels):
            temperature_is_right(student, logits, labels, f"the temperature of {of}", right)
    logits, labels = model_of(checks.rng(47), 4, 5_003, 3.0)
    temperature_is_right(student, logits, labels, "the temperature of 4 examples, 5,003 labels")
