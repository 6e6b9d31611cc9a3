"""Softmax: probabilities along any axis, stable for any scores, and the backward."""

import math
from itertools import product

import numpy as np
import pytest

from autograder import checks, sweep
from bert_numpy import operations

SHAPES = [
    (2, 3),
    (1, 1),
    (1, 7),
    (3, 5, 4),
    (5,),
    (2, 3, 1, 4),
    (2, 1, 3, 2, 2),
]  # batch 1, odd and unequal sizes, any rank


def softmax(x, axis):
    """The reference of the chapter, which knows the last axis alone."""
    moved = np.moveaxis(x.astype(np.float64), axis, -1)
    return np.moveaxis(operations.softmax_forward(moved)[0], -1, axis).astype(x.dtype)


def softmax_back(dout, probs, axis):
    moved = np.moveaxis(dout, axis, -1), np.moveaxis(probs, axis, -1)
    return np.moveaxis(operations.softmax_backward(*moved), -1, axis)


def plain(x, axis, *, largest=0.0, extra=0.0):
    """exp(x - largest) / (Σ exp(x - largest) + extra), with all the ways to get it wrong."""
    e = np.exp(x - largest)
    return e / (e.sum(axis=axis, keepdims=True) + extra)


def test_each_row_becomes_probabilities(student):
    rng = checks.rng(3)
    for shape in SHAPES:
        x = rng.normal(size=shape)
        checks.same(
            student.softmax_forward(x),
            softmax(x, -1),
            of="the probabilities",
            mistakes=lambda: {
                "softmax over the whole array: the sum needs axis=axis": (
                    lambda out, x=x: any(
                        np.allclose(out, plain(x, None, largest=largest))
                        for largest in (0, x.max(-1, keepdims=True))
                    )
                ),
                "softmax over the first axis, not the last": plain(x, 0),
                "something is added to the sum, against a division by zero that cannot happen": (
                    lambda out, x=x: is_smaller_by_rows(out / softmax(x, -1))
                ),
                "float32 inside: keep the type of x": is_float32_inside,
                "your rows do not sum to 1": (
                    lambda out: not np.allclose(out.sum(-1), 1, atol=1e-6)
                ),
            },
        )
    for x in ([0.0, 1.0, 2.0], [1000.0, 1001.0, 1002.0]):  # the page's example
        checks.same(student.softmax_forward(np.array(x)), np.array([0.0900, 0.2447, 0.6652]),
                    of=f"the probabilities of {x}", tolerance=6e-5)  # fmt: skip


def is_smaller_by_rows(ratio):
    """Whether all probabilities of a row are too small by the same factor."""
    return bool((ratio < 1).all() and np.ptp(ratio, axis=-1).max() < 1e-12)


def is_float32_inside(out):
    return out.dtype == np.float64 and np.array_equal(out, out.astype(np.float32))


@pytest.mark.hint(2)
@pytest.mark.weight(2)
def test_the_axis_argument_is_used(student):
    rng = checks.rng(3)
    for shape, axis in [((4, 4), 0), ((2, 3), 0), ((2, 3), 1), ((3, 5, 4), 1), ((3, 5, 4), -3),
                        ((2, 1, 3, 2, 2), 2)]:  # fmt: skip
        x = rng.normal(size=shape)
        row_max = x.max(-1, keepdims=True)
        checks.same(
            student.softmax_forward(x, axis=axis),
            softmax(x, axis),
            of="the probabilities",
            mistakes=lambda: (
                {}
                if x.ndim > 4
                else {
                    "the axis argument is ignored: your softmax always runs over the last axis": (
                        softmax(x, -1)
                    ),
                    "the axis argument is ignored: your softmax always runs over the first axis": (
                        softmax(x, 0)
                    ),
                    "the axis argument is ignored: your sum runs over the last axis": (
                        plain(x, -1, largest=x.max(axis, keepdims=True))
                    ),
                    "the largest score is looked for along another axis than the sum": (
                        plain(x, axis, largest=row_max)
                    ),
                    "the probabilities along the axis do not sum to 1": (
                        lambda out, axis=axis: not np.allclose(out.sum(axis), 1)
                    ),
                }
            ),
        )


@pytest.mark.hint(1)
def test_huge_and_far_apart_scores_give_finite_probabilities(student):
    rng = checks.rng(3)
    rows = np.array([[1000.0, 1001.0, 999.0], [-1000.0, -1001.0, -999.0], [0.0, 5000.0, -5000.0]])
    one_far = np.array([[0.0, 1.0, 0.5], [-2000.0, -2001.0, -2000.5]])
    tiny, float32 = rng.normal(size=(3, 4)) * 1e-12, (rows / 1000).astype(np.float32)
    apart = np.array([[0.0, 1.0, 0.5], [300.0, 301.0, 299.0]], np.float32)  # exp(-300) is 0
    equal = np.array([[1.0, 1.0, 0.0], [-1.0, -1.0, -1.0], [2.0, 2.0, 2.0]]) * 1e17
    for x in (
        rows,
        one_far,
        rows * 1e200,
        tiny,
        float32 * 100,
        apart,
        float32 * np.float32(1e30),
        equal,
        equal.astype(np.float32),
        *near_the_limits_of_exp(rng),
        *(
            (size + checks.rng(22).normal(size=(3, 4))).astype(np.float32)
            for size in (8_000, -8_000, 100_000)
        ),
    ):
        for given, axis in ((x, -1), (x.T, 0)):
            checks.same(
                student.softmax_forward(given, axis),
                softmax(given, axis),
                of="the probabilities",
                # What overflows at 1e200, but not at 1,000, may have many reasons.
                mistakes=lambda: (
                    shift_mistakes(given, axis)
                    if np.abs(given).max() < 1e5
                    else {
                        "the probabilities do not sum to 1: the logarithm of the sum is lost "
                        "beside a large score": lambda out: bool((out.sum(axis) > 1.1).any())
                    }
                ),
            )


def near_the_limits_of_exp(rng):
    """exp is inf above 88.7 in float32, above 709.8 in float64, and loses digits where it is
    below 1e-38 or 1e-308. Rows of one sign, of both, and far above one near 0; rows whose
    sum alone overflows."""
    for dtype, sizes in (
        (np.float32, (85, 88.5, 89.5, 92, 97, 104, 120, 300, 650)),
        (np.float64, (650, 706, 709.5, 711, 730, 746, 900, 2000, 9000)),
    ):
        for size in sizes:
            one, other = size - 3 * rng.random((2, 1, 3))
            for rows in ((one, other), (-one, -other), (one, -other), (one, other - size)):
                yield np.concatenate(rows).astype(dtype)
    yield 82 + rng.random((2, 4003)).astype(np.float32)
    yield 703 + rng.random((2, 4003))
    # All but one number nearly as far above it as exp allows: their sum is further.
    for dtype, size in ((np.float32, 82), (np.float64, 703)):
        for place in (0, 2001, -1):
            x = size + checks.rng(24).random((2, 4003)).astype(dtype)
            x[:, place] = 0
            yield x - 1000 if place else x


def shift_mistakes(x, axis):
    return {
        "exp overflows: subtract the largest score of each row first": plain(x, axis),
        "the largest of the whole array is subtracted, so that exp of the other rows is 0 or "
        "keeps few digits: subtract the largest of each row": plain(x, axis, largest=x.max()),
        "the smallest score is subtracted, not the largest": (
            plain(x, axis, largest=x.min(axis, keepdims=True))
        ),
        "the mean is subtracted, not the largest": (
            plain(x, axis, largest=x.mean(axis, keepdims=True))
        ),
    }


@pytest.mark.hint(1)
def test_a_score_of_minus_infinity_gets_the_probability_zero(student):
    x = np.array([[0.5, -np.inf, 1.5], [-np.inf, -np.inf, 2.0]])
    far = np.array([[-np.inf, -1e200, -1e306], [-1e35, -np.inf, -np.inf]])
    for given, axis in ((x, -1), (x.T, 0), (far, -1), (x.astype(np.float32), -1)):
        probs = student.softmax_forward(given, axis)
        checks.same(
            probs,
            softmax(given, axis),
            of="the probabilities",
            mistakes=lambda: {
                "the smallest score is subtracted, not the largest: -inf minus -inf is NaN": (
                    plain(given, axis, largest=given.min(axis, keepdims=True))
                ),
            },
        )
        checks.that(
            bool((probs[np.isneginf(given)] == 0).all()),
            f"{given.dtype}: a score of -inf gets a probability that is not exactly 0",
            likely="the scores are cut from below",
        )


@pytest.mark.hint(3)
@pytest.mark.weight(3)
def test_the_backward_gives_the_gradient_of_the_scores(student):
    rng = checks.rng(3)
    for shape in SHAPES:
        probs, dout = softmax(rng.normal(size=shape), -1), rng.normal(size=shape)
        checks.same(
            student.softmax_backward(dout, probs),
            softmax_back(dout, probs, -1),
            of="the gradient",
            mistakes=lambda: backward_mistakes(dout, probs, -1),
        )
    # Scores far apart, or of -inf, have probabilities of exactly 0.
    probs = softmax(np.array([[0.0, -np.inf, 1.0], [2000.0, 0.0, -2000.0]]), -1)
    dout = rng.normal(size=(2, 3))
    checks.same(student.softmax_backward(dout, probs), softmax_back(dout, probs, -1),
                of="the gradient where probabilities are 0",
                mistakes=lambda: backward_mistakes(dout, probs, -1))  # fmt: skip
    dx = student.softmax_backward(np.array([1.0, 0.0, 0.0]), softmax(np.arange(3.0), -1))
    checks.same(dx, np.array([0.0819, -0.0220, -0.0599]), of="dx of the page's example",
                tolerance=6e-5)  # fmt: skip


@pytest.mark.hint(3)
@pytest.mark.weight(2)
def test_the_backward_uses_its_axis(student):
    rng = checks.rng(3)
    for shape, axis in [((4, 4), 0), ((2, 3), 0), ((3, 5, 4), 1), ((2, 3, 5, 4), -3),
                        ((2, 1, 3, 2, 2), 2)]:  # fmt: skip
        probs, dout = softmax(rng.normal(size=shape), axis), rng.normal(size=shape)
        checks.same(
            student.softmax_backward(dout, probs, axis=axis),
            softmax_back(dout, probs, axis),
            of="the gradient",
            mistakes=lambda: (
                {}
                if probs.ndim > 4
                else {
                    "the axis argument is ignored: your sum always runs over the last axis": (
                        softmax_back(dout, probs, -1)
                    ),
                    **backward_mistakes(dout, probs, axis),
                }
            ),
        )


def backward_mistakes(dout, probs, axis):
    average = (dout * probs).sum(axis, keepdims=True)
    return {
        "only the diagonal p (1 - p) of the Jacobian is used, as for a sigmoid: "
        "the other scores of the row count too": probs * (1 - probs) * dout,
        "the sum over the row is missing: p dout is only the first half": probs * dout,
        "the sum must be over dout * probs, not over dout alone": (
            probs * (dout - dout.sum(axis, keepdims=True))
        ),
        "the mean of dout * probs was taken, not the sum": (
            probs * (dout - (dout * probs).mean(axis, keepdims=True))
        ),
        "the factor probs in front is missing": dout - average,
        "the sign of the sum is wrong: it is subtracted": probs * (dout + average),
        "the sum runs over the whole array, not along the axis": (
            probs * (dout - (dout * probs).sum())
        ),
    }


def test_the_type_of_the_numbers_and_gaps_in_memory_make_no_difference(student):
    rng = checks.rng(3)
    for dtype in (np.float32, np.float64):
        mistakes = {"the result is always float64: keep the type of what comes in": (
            lambda out, dtype=dtype: out.dtype == np.float64 != dtype
        )}  # fmt: skip
        x, dout = rng.normal(size=(2, 3, 10)).astype(dtype)
        for part in (np.s_[:], np.s_[:, ::2], np.s_[::-1, 1::3]):
            for given, upstream in ((x[part], dout[part]), (x[part].T, dout[part].T)):
                probs = softmax(given, -1)
                checks.same(student.softmax_forward(given), probs, of="the probabilities",
                            mistakes=mistakes)  # fmt: skip
                checks.same(student.softmax_backward(upstream, probs),
                            softmax_back(upstream, probs, -1), of="the gradient",
                            mistakes=mistakes)  # fmt: skip


@pytest.mark.hint(3)
def test_gradients_and_probabilities_keep_every_scale(student):
    """The gradient is linear in `dout`; a power of two changes no digit."""
    rng = checks.rng(3)
    probs, dout = softmax(rng.normal(size=(3, 5)), -1), rng.normal(size=(3, 5))
    probs[0] = 0.0, 0.0, 1.0, 0.0, 0.0
    for scale, dtype in ((2.0**-60, np.float64), (2.0**60, np.float64), (2.0**-100, np.float32),
                         (2.0**100, np.float32)):  # fmt: skip
        given, shares, scale = dout.astype(dtype), probs.astype(dtype), dtype(scale)
        dx = student.softmax_backward(scale * given, shares)
        checks.same(dx / scale, softmax_back(given, shares, -1),
                    of=f"the gradient for dout times {scale:.0e}, divided by that",
                    mistakes={"tiny gradients are set to 0, or large ones are cut": (
                        lambda out: bool(np.abs(out).max() < 1e-3))})  # fmt: skip
        checks.that(bool((dx[probs == 0] == 0).all()),
                    "the gradient is not exactly 0 where the probability is 0",
                    likely="something is added to the probabilities")  # fmt: skip
    for dtype in (np.float64, np.float32):
        x, dout = rng.normal(size=(2, 20, 9)).astype(dtype)
        x[rng.random(x.shape) < 0.3], x[:, 4] = -np.inf, 0.0
        probs = softmax(x, -1)
        checks.that(
            bool((student.softmax_backward(dout, probs)[probs == 0] == 0).all()),
            f"{dtype.__name__}: the gradient is not exactly 0 where the probability is 0",
            likely="something is added after the product with the probabilities",
        )
    # What is tiny learns too: beside its probability, its gradient is as large as any other.
    probs = softmax(np.array([[0.0, -40.0, -600.0, 1.0], [0.0, -18.0, -19.0, -20.0]]), -1)
    dout = rng.normal(size=(2, 4))
    checks.same(student.softmax_backward(dout, probs) / probs,
                softmax_back(dout, probs, -1) / probs,
                of="the gradient of tiny probabilities, divided by them", mistakes={
                    "where a probability is nearly 1, the gradient is set to 0": (
                        lambda out: out[1, 0] == 0),
                    "where a probability is tiny, the gradient is set to 0": (
                        lambda out: bool((out == 0).any()))})  # fmt: skip
    for low, dtype in ((-40, np.float64), (-18, np.float32)):  # beside them, a probability is 1
        probs = softmax(np.array([[0, low, low - 2, low - 1]], dtype), -1)
        dout = checks.rng(23).normal(size=(1, 4)).astype(dtype)
        checks.same(student.softmax_backward(dout, probs) / probs,
                    softmax_back(dout, probs, -1) / probs,
                    of=f"the gradient beside a probability of 1 in {dtype.__name__}, divided by "
                       "the probabilities", mistakes={
                           "where a probability is nearly 1, the gradient is set to 0": (
                               lambda out: bool((out == 0).all()))})  # fmt: skip
    for shape, axis in (((2, 3, 40, 5), 2), ((4003,), 0)):
        probs, dout = softmax(rng.normal(size=shape), axis), rng.normal(size=shape)
        checks.same(student.softmax_backward(dout, probs, axis) / probs,
                    softmax_back(dout, probs, axis) / probs,
                    of=f"the gradient of shape {shape}, divided by the probabilities")  # fmt: skip
    for dtype, low, power, near in ((np.float64, -200, 280, 1e-9), (np.float32, -20, 28, 1e-5)):
        x = np.array([[0.0, low]], dtype)
        checks.same(student.softmax_forward(x).astype(float) * 2.0**power,
                    softmax(x.astype(float), -1) * 2.0**power,
                    of=f"the probabilities of 0 and {low} in {dtype.__name__}, times 2 to the "
                       f"{power}", tolerance=near)  # fmt: skip
        one = float(student.softmax_forward(x)[0, 0])
        checks.that(abs(one - 1) < (1e-11 if dtype == np.float64 else 4e-7),
                    f"{dtype.__name__}: the probability of 0 beside {low} is {one!r}, not 1",
                    likely="a small number is added to the sum, or the result is rounded: the sum "
                           "is never 0")  # fmt: skip
    for shape, dtype in (((2, 3000), np.float64), ((2, 3000), np.float32),
                         ((20_011,), np.float32)):  # fmt: skip
        x = rng.normal(size=shape).astype(dtype)
        right = softmax(x.astype(float), -1).astype(dtype) * 2**12
        checks.same(student.softmax_forward(x) * 2**12, right,
                    of=f"the probabilities of {shape[-1]:,} scores, times 2 to the 12",
                    mistakes={"float32 inside: keep the type of x": (
                        lambda out, right=right: 1e-9 < np.abs(out / right - 1).max() < 1e-5)}
                    )  # fmt: skip
    for shape in ((3, 1), (1, 1, 4), (0, 3), (2, 0, 5)):
        x = np.zeros(shape, np.float32)
        right = np.ones_like(x)
        checks.same(student.softmax_forward(x), right / shape[-1], of=f"{shape} equal scores")
        checks.same(student.softmax_backward(x, right / shape[-1]), x, of="their gradient")


def test_arrays_of_any_shape_and_size(student):
    draw = sweep.Draw(11)
    shapes = [draw.shape(axes) for axes in (1, 2, 3, 4, 5, 6, 7, 8) for _ in range(2)]
    shapes += [*sweep.long_axes((2, 1, 2)), (1, 1), (17, 33, 3)]

    def cases(*, backward):
        for shape in shapes:
            axis = int(draw.rng.integers(-len(shape), len(shape)))
            for dtype in (np.float64, np.float32)[: 2 if np.prod(shape) < 5000 else 1]:
                x = draw.floats(*shape, dtype=dtype, largest=1e30 if dtype == np.float32 else 1e300)
                given, rounding = (x,), 0.0
                if backward:
                    low, high = (-30, 36) if dtype == np.float32 else (-250, 290)
                    size = 10.0 ** draw.rng.integers(low, high)
                    given = (draw.rng.normal(size=shape) * size).astype(dtype), softmax(x, axis)
                    rounding = size * (1e-2 if dtype == np.float32 else 1e-6)  # where p is 0 or 1
                by_place = dtype == np.float32
                most = np.abs(given[0]).max()
                of = f"{np.dtype(dtype)} of shape {shape}, numbers up to {most:.2g}"
                yield sweep.Case(
                    f"{of}, axis {axis}",
                    (*given, axis) if by_place else given,
                    {} if by_place else {"axis": axis},
                    rounding,
                )
                axis -= len(shape) if axis >= 0 else -len(shape)  # the same, by its other name

    # Neither 127 nor 127 * 127 numbers fill blocks of any usual size.
    whole = checks.rng(12).random((2, 6, 12, 127, 127), np.float32) * 9
    # Rows far from one another, so that what is done with one in blocks shows in the others.
    whole += checks.rng(19).normal(size=(6, 12, 127, 1)).astype(np.float32) * 500
    of = "the scores of a batch of BERT base"
    both = *whole, 1.1 * whole[1, :1].astype(np.float64)
    sweep.agrees(student.softmax_forward, softmax, [sweep.Case(of, (x, -1)) for x in both])
    gradient = sweep.Case(f"{of}, and gradients", (whole[0], softmax(whole[1], -1), -1))
    sweep.agrees(student.softmax_backward, softmax_back, [gradient])
    apart = checks.rng(14).normal(size=(700, 96))
    apart[1::3] -= 10_000  # as where a mask is added to all scores of a query
    sweep.agrees(student.softmax_forward, softmax,
                 [sweep.Case("many rows, every third far below", (apart, -1))])  # fmt: skip
    cut = "a long table is cut into blocks: the sum runs over the whole axis"
    for rows in (5_001, 10_001, 65_537, 70_001):
        x = checks.rng(17).normal(size=(rows, 2))
        for axis in (0, 1) if rows > 70_000 else (0,):
            size = rows if axis == 0 else 1
            checks.same(student.softmax_forward(x, axis) * size, softmax(x, axis) * size,
                        of=f"the probabilities of {rows:,} rows along axis {axis}, times {size:,}",
                        mistakes={cut: lambda out, axis=axis, size=size: out.shape == x.shape
                                  and bool(np.abs(out.sum(axis) / size - 1).max() > 0.1)}
                        )  # fmt: skip
    shapes += [(20_011,)]  # without a backward: n² numbers of a Jacobian may be right too
    sweep.agrees(student.softmax_forward, softmax, cases(backward=False))
    shapes.pop()
    for spread in (30, 350):
        x = np.linspace(-spread, spread, 41).reshape(1, -1) * np.ones((2, 1))
        sweep.same_each(
            student.softmax_forward(x),
            softmax(x, -1),
            of=f"the probabilities of scores from {-spread} to {spread}",
        )
    pairs = np.stack([np.linspace(-30, 30, 25), np.linspace(3, -3, 25)])
    probs = softmax(pairs, 0)
    sweep.same_each(student.softmax_forward(pairs, 0), probs, of="the probabilities of two scores")
    sweep.agrees(student.softmax_backward, softmax_back, cases(backward=True))
    shapes_and_axes = [((2, 3), 1), ((3, 2, 4), 0), ((4, 1, 3), -1), ((5,), 0), ((3, 3, 2), 1),
                       ((3, 0), 0), ((2, 3, 0), 1), ((0, 2, 3), -2),
                       ((2, 0, 3, 2), -1)]  # fmt: skip
    long = checks.rng(13).normal(size=(3, 700))
    long += [[-9], [0], [9]]
    long[0, :300] = long[1, 300:] = long[2, :-1] = -np.inf
    far, gradients = [sweep.Case("rows of 700, long parts of them -inf", (long, -1))], []
    for dtype in (np.float64, np.float32):
        for shape, axis in shapes_and_axes:
            x, dout = draw.rng.normal(size=(2, *shape)).astype(dtype)
            x[draw.rng.random(shape) < 0.4] = -np.inf
            np.moveaxis(x, axis, 0)[-1] = 0.5
            of = f"{np.dtype(dtype)} of shape {shape}, some scores -inf, axis {axis}"
            far.append(sweep.Case(of, (x, axis)))
            gradients.append(sweep.Case(of, (dout, softmax(x, axis), axis)))
    words = 79 + 0.9 * checks.rng(14).random((2, 30_522), np.float32)  # finite exp, infinite sum
    words[0, 0] = words[1, -1] = 0
    far.append(sweep.Case("scores of BERT's vocabulary, from 79 to 80", (words, -1)))
    for shape, axis in (((5_001, 1), 0), ((10_001, 2), 1)):
        x, dout = checks.rng(18).normal(size=(2, *shape)).astype(np.float32)
        probs = softmax(x, axis)
        checks.same(student.softmax_backward(dout, probs, axis) / probs,
                    softmax_back(dout, probs, axis) / probs, tolerance=1e-4,
                    of=f"the gradient of {shape[0]:,} rows along axis {axis}, divided by the "
                       "probabilities", mistakes={cut: lambda out, probs=probs, axis=axis: (
                           out.shape == probs.shape
                           and bool(np.abs((out * probs).sum(axis)).max() > 1e-5))})  # fmt: skip
    # Behind a softmax stands a cross-entropy: its gradient has one number in a row, -1 / p. Where
    # the scores are far apart, a probability that is nearly 1 has one of nearly 1 too.
    for size, dtype in ((1, np.float64), (7, np.float64), (7, np.float32)):
        probs = softmax((size * checks.rng(15).normal(size=(6, 5))).astype(dtype), -1)
        probs[:2] = softmax(np.array([[0, 20, 3, 1, 2], [40, 0, 3, 1, 2]], dtype), -1)
        target = np.concatenate([[0, 1], checks.rng(16).integers(5, size=4)])
        dout = np.where(np.arange(5) == target[:, None], -1 / probs, dtype(0))
        of = f"the gradient of a cross-entropy, {dtype.__name__}, scores near {size}"
        gradients += [sweep.Case(f"{of}, axis {axis}", (d, p, axis))
                      for d, p, axis in ((dout, probs, -1), (dout.T, probs.T, 0))]  # fmt: skip
    sweep.agrees(student.softmax_forward, softmax, far)
    sweep.agrees(student.softmax_backward, softmax_back, gradients)


SIZES = (2, 6, 8, 10, 12, 16, 32, 64, 128, 300)


def sizes():
    """Each size along each axis of its own, in squares and in cubes."""
    for n in SIZES:
        yield from [((n, 3), n // 2 % 2), ((3, n), -1), ((2, n, 3), 1)]
        yield from [((n, n), axis) for axis in (0, 1)] * (n < 20)
    yield from [((6, 6, 6), axis) for axis in (0, 1, 2)]
    yield from [((1, 8, 5), 1), ((1, 4, 2, 6), 2), ((1, 3, 3, 3), -2), ((6,), 0), ((16,), -1)]


def kinds(rng):
    """Those of `sweep`, and such as a shortcut of this function may expect."""
    x, a = rng.normal(size=(4, 4)), rng.integers(1, 4) / 4
    rings = {
        "sum to exactly 0": (2, a, -a, -2),
        "sum to 1, the largest of which is 1": (1, a, -a, 0),
        "sum to their number": (2, 1 - a, a, 1),
    }
    return sweep.kinds(x) | {
        "rows of which all but one are alike": x[[0, 1, 0, 0]],
        "columns of which all but one are alike": x[:, [0, 1, 0, 0]],
        "nearly one number everywhere": 100 + 1e-4 * x,
        "nearly one number in each row": 1e3 * x[:, :1] + 1e-3 * x,
        "one 1 in each row": np.eye(4)[[2, 0, 0, 3]],
        "one -1 in each row": -np.eye(4)[[1, 3, 0, 3]],
        "-1, 0 and 1": np.array([[1, -1, 0, 1], [0, 1, 1, -1], [-1, 0, -1, 1], [1, 0, 0, -1.0]]),
        "rows that are probabilities": softmax(x, -1),
        "rows of logarithms of probabilities, rounded": np.log(softmax(x, -1)).round(5),
        "tiny numbers": 1e-7 * x,
        **mirrored(x),
        **{
            f"rows and columns that {what}": np.array([np.roll(ring, i) for i in range(4)])
            for what, ring in rings.items()
        },
    }


def mirrored(x):
    return {
        "a symmetric matrix": x + x.T,
        "a matrix that is the negative of its mirror image": x - x.T,
        "rows that are the same backwards": x + x[:, ::-1],
        "rows that are their own negatives backwards": x - x[:, ::-1],
    }


# Parts of an axis of which the ends and the middle are alike, or both ends, or those of both
# halves, or neighbors; or of which some are 0, part 4.
ENDS = ([0, 1, 0, 2, 0], [0, 1, 2, 3, 1, 0], [0, 1, 2, 0, 3, 2], [0, 0, 1, 1, 2], [4, 1, 4, 2, 4],
        [0, 1, 4, 2, 4], [4, 1, 4, 2, 0])  # fmt: skip


def take(x, order, axis):
    """The parts of four along an axis in this order, of which the fifth is 0."""
    return np.concatenate([x, 0 * x.take([0], axis)], axis).take(order, axis)


def where_ends_are_alike(rng):
    """What they are, scores, gradients, and the axes to take the softmax along."""
    for (count, axis), order in product(((3, 0), (3, 1), (3, 2), (4, 0), (4, 2)), ENDS):
        x, dout = (take(a, order, axis) for a in rng.normal(size=(2, *[4] * count)))
        of = f"parts {order} along axis {axis} of {count}"
        yield of, x, dout, (2, 0, 1) if count == 3 else (-1,)


def whole_numbers(rng):
    """Those of few bits, whose differences need more."""
    for size, is_signed in product((127, 255, 2**15 - 1, 2**16 - 1, 2**31 - 1), (True, False)):
        x = np.round(size * rng.uniform(-1, 1, (3, 4)))
        x[:2, :2] = [[size, -size], [-size, size]]
        yield f"whole numbers up to {size:,}", x if is_signed else np.maximum(x, 0)


def masked(rng, dtype):
    """Scores under the masks that models use; each row and column has one that counts."""
    x = rng.normal(size=(4, 4)).astype(dtype)
    for value in (-np.inf, np.finfo(dtype).min, -1e9, -1e4):
        value = dtype(value)
        for hidden in (np.triu(np.ones((4, 4)), 1), np.eye(4), np.arange(4) * np.ones((4, 1)) > 2):
            yield f"scores, some replaced by {value:g}", np.where(hidden, value, x), -1
            yield f"scores, some less {-value:g}", x + np.where(hidden, value, dtype(0)), -1
        four = np.stack([[x, x.T], [np.where(np.tri(4), x, value), x]])
        yield f"scores of four axes, some replaced by {value:g}", four, -1


def test_sizes_and_kinds_of_numbers(student):
    rng, forward, backward = checks.rng(21), [], []
    for number, (shape, axis) in enumerate(sizes()):
        dtype = (np.float64, np.float32)[number % 2]
        x, dout = rng.normal(size=(2, *shape)).astype(dtype)
        of = f"{np.dtype(dtype)} of shape {shape}, axis {axis}"
        forward.append(sweep.Case(of, (x, axis)))
        backward.append(sweep.Case(of, (dout, softmax(x, axis), axis), magnitude=0.1))
    scores = kinds(rng)
    others = ("whole numbers", "one number everywhere", "nearly one number in each row")
    for number, (kind, x) in enumerate(scores.items()):
        # What is nearly the same has a gradient of nearly 0.
        size = float(np.ptp(x) or 1) / 100
        forward.append(sweep.Case(f"float32: {kind}", (x.astype(np.float32), number % 2 - 1)))
        for axis in (0, 1):
            forward.append(sweep.Case(f"axis {axis}: {kind}", (x, axis)))
            other = others[(number + axis) % 3]
            backward.append(sweep.Case(f"probabilities of {other}, gradients, axis {axis}: {kind}",
                                       (x, softmax(scores[other], axis), axis), magnitude=size)
                            )  # fmt: skip
    more = checks.rng(25)
    for kind, x in mirrored(more.normal(size=(5, 5))).items():
        dout, scores = more.normal(size=(2, 5, 5))
        for axis in (0, 1):
            forward.append(sweep.Case(f"axis {axis}: {kind}, 5 by 5", (x, axis)))
            for of, given in (
                ("", (dout, softmax(x, axis))),
                (" in dout", (x, softmax(scores, axis))),
            ):
                backward.append(sweep.Case(f"gradients, axis {axis}: {kind}, 5 by 5{of}",
                                           (*given, axis), magnitude=0.1))  # fmt: skip
    for of, x, dout, axes in where_ends_are_alike(more):
        for axis in axes:
            forward.append(sweep.Case(f"{of}, softmax along {axis}", (x, axis)))
            other = softmax(more.normal(size=x.shape), axis)
            given = (dout, other), (more.normal(size=x.shape), softmax(x, axis))
            backward += [sweep.Case(f"gradients: {of}, softmax along {axis}", (*both, axis))
                         for both in given]  # fmt: skip
    forward += [sweep.Case(of, (x, axis)) for of, x in whole_numbers(more) for axis in (0, 1)]
    # Blocks of usual sizes fill these without a rest.
    for shape, axis in [((n, 2), axis) for n in (8_192, 8_000) for axis in (0, 1)] + [
        ((2, 16, 64, 64), -1)]:  # fmt: skip
        x, dout = more.normal(size=(2, *shape))
        forward.append(sweep.Case(f"shape {shape}, axis {axis}", (x, axis)))
        given = dout, softmax(x, axis), axis
        backward.append(sweep.Case(f"gradients of shape {shape}, axis {axis}", given))
    for dtype in (np.float64, np.float32):
        for of, x, axis in masked(rng, dtype):
            forward.append(sweep.Case(of, (x, axis)))
            probs = student.softmax_forward(x, axis)
            checks.that(bool((probs[x < x.max(axis, keepdims=True) - 2000] == 0).all()),
                        f"{of}: what is 2,000 below the largest score of its row does not get 0",
                        likely="the scores are cut from below")  # fmt: skip
    sweep.agrees(student.softmax_forward, softmax, forward)
    sweep.agrees(student.softmax_backward, softmax_back, backward)


def test_nothing_is_left_behind(student):
    rng = checks.rng(3)
    x = rng.normal(size=(3, 4))
    probs = student.softmax_forward(x=x, axis=0)
    student.softmax_backward(dout=x, probs=probs, axis=0)  # by their names
    checks.leaves_no_trace(student.softmax_forward, x, axis=0)
    checks.leaves_no_trace(student.softmax_backward, x, softmax(x, 0), axis=0)
    checks.leaves_no_trace(student.softmax_backward, softmax(x, 0), softmax(x, 0), axis=0)
    # Results that do not depend on the scores, as where all are alike, are new each time too.
    for shape, axis in (((3, 1), -1), ((1, 4), 0), ((3, 4), 1), ((5,), 0)):
        for alike in (0.0, 1.0, -50.0):
            given = np.full(shape, alike)
            for _ in range(2):
                for function, args in ((student.softmax_forward, (given, axis)),
                                       (student.softmax_backward, (given, softmax(given, axis),
                                                                   axis))):  # fmt: skip
                    checks.nothing_kept(function.name, function.trace(*args), may_share=False)
    # Rows and columns of these probabilities sum to 1.
    probs, dout = np.stack([np.roll(softmax(x[0, :3], 0), i) for i in range(3)]), x[:, :3]
    kept, other = "a result is kept, and found again without the axis", {0: 1, 1: 0}
    for axis in (0, 1, 0):
        checks.same(student.softmax_forward(x, axis), softmax(x, axis),
                    of=f"the probabilities along axis {axis}, after those along the other",
                    mistakes={kept: softmax(x, other[axis])})  # fmt: skip
        checks.same(student.softmax_backward(dout, probs, axis), softmax_back(dout, probs, axis),
                    of=f"the gradient along axis {axis}, after that along the other",
                    mistakes={kept: softmax_back(dout, probs, other[axis])})  # fmt: skip
    # What is kept must go by every number: these have the same sum, or the same ends.
    kept = "a result is kept, and found again by less than every number"
    scores = np.round(8 * checks.rng(5).normal(size=1500)) / 8  # whose sums are exact
    changed, inside = scores.copy(), scores.copy()
    changed[750] += 1
    inside[1:-1] = scores[-2:0:-1]
    for given in (scores, scores[::-1], changed, inside):
        probs = softmax(given, 0)
        checks.same(student.softmax_forward(given), probs,
                    of="the probabilities after a call with numbers that are alike",
                    mistakes={kept: softmax(scores, 0)})  # fmt: skip
        checks.same(student.softmax_backward(scores, probs), softmax_back(scores, probs, 0),
                    of="the gradient after a call with numbers that are alike",
                    mistakes={kept: softmax_back(scores, softmax(scores, 0), 0)})  # fmt: skip
    # In memory these arrays are alike: their shape says which numbers are a row along axis 1. The
    # rows of the probabilities sum to 1 in all three.
    kept, one = "a result is kept, and found again without the shape", 0.1 + 0.3 * rng.random()
    x, dout = rng.normal(size=(2, 8))
    probs = np.array([one, 1 - one, 1 - one, one, 1 - one, one, one, 1 - one])
    first = (1, 2, 4)
    for shape in (first, (2, 2, 2), (4, 2, 1)):
        given, of = (
            [part.reshape(shape) for part in (x, dout, probs)],
            f"the same numbers as {shape}",
        )
        checks.same(student.softmax_forward(given[0], 1), softmax(given[0], 1),
                    of=f"the probabilities of {of}",
                    mistakes={kept: softmax(x.reshape(first), 1).reshape(shape)})  # fmt: skip
        checks.same(student.softmax_backward(*given[1:], 1), softmax_back(*given[1:], 1),
                    of=f"the gradient of {of}", mistakes={kept: softmax_back(
                        dout.reshape(first), probs.reshape(first), 1).reshape(shape)})  # fmt: skip


def test_a_large_array_takes_no_longer_than_a_loop(student):
    rng = checks.rng(3)
    x = rng.normal(size=(20, 400))
    single = x.astype(np.float32)
    arrays = [(x, -1), (x.T, 0), (single.reshape(4, 400, 5), 1), (x.ravel(), 0),
              (single.ravel(), -1)]  # fmt: skip
    for others in ((20,), (4, 5), (2, 2, 5)):  # 400 scores along each axis, by both of its names
        axes = len(others) + 1
        for axis, dtype in product(range(-axes, axes), (np.float64, np.float32)):
            shape = *others[: axis % axes], 400, *others[axis % axes :]
            arrays.append((x.reshape(shape).astype(dtype), axis))
    arrays += [(np.where(given < 0.5, -np.inf, given), -1) for given in (x, single)]  # masked
    for given, axis in arrays:
        ran = student.softmax_forward.lines_run(given, axis=axis)
        checks.that(ran < x.size, f"softmax_forward runs {ran} lines of Python for {x.size} "
                    f"numbers, along axis {axis}",
                    likely="a Python loop over single numbers: use whole arrays at once"
                    )  # fmt: skip
    x = rng.normal(size=(200, 300))  # how long it takes, the system tells

    def loop():
        for row in x.tolist():
            largest = max(row)
            exponentials = [math.exp(score - largest) for score in row]
            total = sum(exponentials)
            [e / total for e in exponentials]

    checks.not_slower(student.softmax_forward, x, loop=loop, times=4, right=lambda out, x: (
        not checks.difference(out, softmax(x, -1), "", None)))  # fmt: skip
