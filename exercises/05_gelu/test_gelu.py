"""GELU: two forms by name, forward and backward, for numbers of any size."""

import math
from itertools import product

import numpy as np
import pytest

from autograder import checks, sweep
from bert_numpy import operations

FORMS = ("none", "tanh")
SHAPES = [(2, 3), (1, 1), (7,), (3, 1, 5), (2, 2, 2, 3)]
SCALE, CUBIC = math.sqrt(2 / math.pi), 0.044715
ROOT = math.sqrt(2)


def forward(x, form):
    return operations.gelu_forward(x, form)[0]


def backward(dout, x, form):
    return operations.gelu_backward(dout, operations.gelu_forward(x, form)[1])


def erf(x):
    return np.vectorize(math.erf, otypes=[float])(x)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def tanh_form(x, *, scale=SCALE, cubic=CUBIC, power=3):
    return 0.5 * x * (1 + np.tanh(scale * (x + cubic * x**power)))


def call(function, *args, form):
    """The first form is the default, as well as a form to ask for."""
    return function(*args) if form == "none" else function(*args, approximation=form)


def forward_mistakes(x, form):
    own = {
        "none": {
            "the tanh form: without an approximation, Φ is the error function's": forward(
                x, "tanh"),
            "erf(x) in place of erf(x / √2)": 0.5 * x * (1 + erf(x)),
            "erf(x √2) in place of erf(x / √2)": 0.5 * x * (1 + erf(x * ROOT)),
            "the 1 before erf is missing": 0.5 * x * erf(x / ROOT),
            "the half is missing": x * (1 + erf(x / ROOT)),
            "Φ(x) alone: it is to be multiplied by x": 0.5 * (1 + erf(x / ROOT)),
        },
        "tanh": {
            "approximation is ignored: this is the form with erf": forward(x, "none"),
            "the constant is 0.044715": tanh_form(x, cubic=0.44715),
            "x is to be cubed, not squared": tanh_form(x, power=2),
            "the cube is missing": tanh_form(x, cubic=0),
            "√(2/π), not 2/π": tanh_form(x, scale=2 / math.pi),
            "√(2/π), not √(2π)": tanh_form(x, scale=math.sqrt(2 * math.pi)),
            "√(2/π) multiplies the cube too": 0.5 * x * (1 + np.tanh(SCALE * x + CUBIC * x**3)),
            "the 1 before tanh is missing": 0.5 * x * np.tanh(SCALE * (x + CUBIC * x**3)),
            "the half is missing": 2 * forward(x, "tanh"),
        },
    }  # fmt: skip
    return own[form] | {
        "x · sigmoid(1.702 x) is another approximation, up to 0.02 off": x * sigmoid(1.702 * x),
        "x · sigmoid(x) is SiLU, not GELU": x * sigmoid(x),
        "this is ReLU": np.maximum(x, 0),
        "only about seven digits are right: an approximation, or float32 inside, perhaps the type "
        "of an earlier call": lambda out: bool(
            x.dtype == out.dtype == np.float64 and np.abs(out - forward(x, form)).max() < 1e-6
        ),
        "the result has another type than x: `np.vectorize` needs `otypes=[x.dtype]`": (
            lambda out: out.dtype != x.dtype
        ),
    }


def check_forward(student, form):
    rng = checks.rng(3)
    for shape in SHAPES:
        x = 2 * rng.normal(size=shape)
        checks.same(
            call(student.gelu_forward, x, form=form),
            forward(x, form),
            of=f"GELU, approximation {form!r}",
            mistakes=lambda: forward_mistakes(x, form),
        )
    checks.same(
        student.gelu_forward(EXAMPLE, form),
        np.array(OUT[form]),
        of=f"the page's example, approximation {form!r}",
        tolerance=6e-5,
        mistakes=lambda: of_another_form(OUT, form),
    )


def of_another_form(results, form):
    """Called with the name of the form; without it, "none" was right."""
    return {f"approximation {form!r}, when it is given, is taken for the other form": (
        np.array(results["tanh" if form == "none" else "none"]))}  # fmt: skip


# The example of the page, whose dout is 2.
EXAMPLE = np.array([-2.0, -0.5, 0.0, 1.0, 3.0])
OUT = {"none": [-0.0455, -0.1543, 0.0, 0.8413, 2.9960],
       "tanh": [-0.0454, -0.1543, 0.0, 0.8412, 2.9964]}  # fmt: skip
DX = {"none": [-0.1705, 0.2650, 1.0, 2.1666, 2.0239],
      "tanh": [-0.1722, 0.2653, 1.0, 2.1659, 2.0232]}  # fmt: skip


@pytest.mark.weight(2)
def test_the_form_with_erf(student):
    # What an answer keeps from its first call, such as a type, must not show in the later ones.
    student.gelu_forward(np.ones(2, np.float32))
    check_forward(student, "none")


@pytest.mark.weight(2)
def test_the_form_with_tanh(student):
    check_forward(student, "tanh")


@pytest.mark.hint(4)
@pytest.mark.weight(2)
def test_numbers_of_any_size_and_sign(student):
    for dtype in (np.float64, np.float32):
        # The last four are there so that each mistake gives other numbers.
        x = np.array([1e4, -1e4, 3e4, 2e7, -300, -40, -13, -6, -1e-9, -0.0, 0.0, 1e-9, 6, 13, 40,
                      300, -2.1, -0.4, 0.7, 1.3], dtype)  # fmt: skip
        dout = checks.rng(3).normal(size=x.shape).astype(dtype)
        for form in FORMS:
            checks.same(
                call(student.gelu_forward, x, form=form),
                forward(x, form),
                of=f"GELU, approximation {form!r}",
                mistakes=lambda: infinities(x) | forward_mistakes(x, form),
            )
            checks.same(
                call(student.gelu_backward, dout, x, form=form),
                backward(dout, x, form),
                of=f"the gradient, approximation {form!r}",
                mistakes=lambda: infinities(x) | backward_mistakes(dout, x, form),
            )


def infinities(x):
    large = np.abs(x) > 10
    return {"NaN for large numbers alone: is it inf · 0, or inf / inf?": (
        lambda out: bool(np.isnan(out[large]).any() and not np.isnan(out[~large]).any()))
    }  # fmt: skip


def tanh_slope(x, *, first=1, second=1, three=3, square=2, inner=1):
    """The slope of the tanh form, with the ways to get it wrong."""
    t = np.tanh(SCALE * (x + CUBIC * x**3))
    inner_slope = SCALE * (1 + three * CUBIC * x * x) if inner else 1.0
    return first * 0.5 * (1 + t) + second * 0.5 * x * (1 - t**square) * inner_slope


def backward_mistakes(dout, x, form):
    cdf, density = 0.5 * (1 + erf(x / ROOT)), np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    own = {
        "none": {
            "the slope of the tanh form, after a forward with erf": tanh_slope(x),
            "only Φ(x): x is in both factors, so the product rule has two terms": cdf,
            "only x φ(x): x is in both factors, so the product rule has two terms": x * density,
            "the second term is x φ(x), not φ(x)": cdf + density,
            "the density lacks its 1 / √(2π)": cdf + x * density * math.sqrt(2 * math.pi),
            "the minus in the exponent of the density is missing": (
                cdf + x * np.exp(x * x / 2) / math.sqrt(2 * math.pi)),
            "the density is exp(-x²/2), not exp(-x²)": (
                cdf + x * np.exp(-x * x) / math.sqrt(2 * math.pi)),
            "erf' is the slope at x / √2: the inner derivative 1/√2 is missing": (
                cdf + x * density * ROOT),
            "the density is divided by 2π, not by its root": (
                cdf + x * density / math.sqrt(2 * math.pi)),
            "the sign of the second term is wrong": cdf - x * density,
        },
        "tanh": {
            "approximation is ignored: this is the slope of the form with erf": cdf + x * density,
            "the second term of the product rule is missing": tanh_slope(x, second=0),
            "the first term of the product rule is missing": tanh_slope(x, first=0),
            "the 3 of the cube's derivative is missing": tanh_slope(x, three=1),
            "tanh' is 1 - tanh², not 1 - tanh": tanh_slope(x, square=1),
            "the derivative of the argument of the tanh is missing": tanh_slope(x, inner=0),
            "the half is missing": 2 * tanh_slope(x),
            "the sign of the second term is wrong": tanh_slope(x, second=-1),
        },
    }  # fmt: skip
    named = {name: dout * slope for name, slope in own[form].items()}
    return named | {
        "dout is not used: the slope is to be multiplied by it": backward(
            np.ones_like(dout), x, form
        ),
        "dout is added to the slope: the chain rule multiplies": dout
        + backward(np.ones_like(dout), x, form),
        "the forward was taken for the slope": dout * forward(x, form),
    }


def check_backward(student, form):
    rng = checks.rng(4)
    for shape in SHAPES:
        x, dout = 2 * rng.normal(size=shape), rng.normal(size=shape)
        checks.same(
            call(student.gelu_backward, dout, x, form=form),
            backward(dout, x, form),
            of=f"the gradient, approximation {form!r}",
            mistakes=lambda: backward_mistakes(dout, x, form),
        )
    checks.same(
        student.gelu_backward(np.full_like(EXAMPLE, 2.0), EXAMPLE, form),
        np.array(DX[form]),
        of=f"the gradient of the page's example, approximation {form!r}",
        tolerance=6e-5,
        mistakes=lambda: of_another_form(DX, form),
    )


@pytest.mark.hint(1)
@pytest.mark.weight(2)
def test_the_gradient_of_the_form_with_erf(student):
    check_backward(student, "none")


@pytest.mark.hint(3)
@pytest.mark.weight(2)
def test_the_gradient_of_the_form_with_tanh(student):
    check_backward(student, "tanh")


@pytest.mark.hint(2)
def test_the_type_of_the_numbers_and_gaps_in_memory_make_no_difference(student):
    rng = checks.rng(3)
    for dtype in (np.float32, np.float64):
        x, dout = rng.normal(size=(2, 3, 10)).astype(dtype)
        for part in (np.s_[:, :], np.s_[:, ::2], np.s_[::-1, 1::3]):
            for form in FORMS:
                given = dout[part], x[part]
                mistakes = {"the result is always float64: keep the type of x": (
                    lambda out, dtype=dtype: out.dtype == np.float64 != dtype
                )}  # fmt: skip
                checks.same(call(student.gelu_forward, x[part], form=form),
                            forward(x[part], form), of="GELU", mistakes=mistakes)  # fmt: skip
                checks.same(call(student.gelu_backward, *given, form=form),
                            backward(*given, form), of="the gradient", mistakes=mistakes
                            )  # fmt: skip


def test_any_scale_of_gradient_any_size_and_no_number_at_all(student):
    """The gradient is linear in `dout`; a power of two changes no digit."""
    rng = checks.rng(3)
    x, dout = rng.normal(size=(2, 3, 5))
    for form in FORMS:
        for scale in (2.0**-60, 2.0**60):
            checks.same(call(student.gelu_backward, scale * dout, x, form=form) / scale,
                        backward(dout, x, form),
                        of=f"the gradient for dout times {scale:.0e}, divided by that",
                        mistakes={"tiny gradients are set to 0, or large ones are cut": (
                            lambda out: bool(np.abs(out).max() < 1e-3))})  # fmt: skip
        large, single = np.linspace(-6.3, 6.3, 70_001), np.linspace(-9, 9, 3001, dtype=np.float32)
        for given in (large, single, np.zeros((0, 3)), np.zeros((2, 0), np.float32)):
            of = f"of {given.size} numbers, shape {given.shape}"
            checks.same(call(student.gelu_forward, given, form=form), forward(given, form),
                        of=f"the result {of}", mistakes={
                            "the other form": forward(given, FORMS[form == "none"]),
                            "numbers below -6 are 0": np.where(given < -6, 0, forward(given, form)),
                        } if given.size else {})  # fmt: skip
            checks.same(call(student.gelu_backward, given, given, form=form),
                        backward(given, given, form), of=f"the gradient {of}")  # fmt: skip
        tails = np.concatenate([np.linspace(-8, -5, 61), np.linspace(5, 8, 61)])
        cut = {"the tails are cut off: -6 is not far enough from 0 for that": (
            lambda out: bool((out[:61] == 0).any()))}  # fmt: skip
        for given, of in ((tails, "either sign"), (tails[:61], "minus"), (tails[61:], "plus")):
            checks.same(call(student.gelu_forward, given, form=form), forward(given, form),
                        tolerance=1e-12, of=f"the result of numbers from 5 to 8 of {of}",
                        mistakes=cut if of != "plus" else {})  # fmt: skip
        ones = np.ones_like(tails)
        checks.same(call(student.gelu_backward, ones, tails, form=form),
                    backward(ones, tails, form), tolerance=1e-12,
                    of="the slope for numbers from 5 to 8 of either sign", mistakes=cut
                    )  # fmt: skip
    x = np.linspace(-5.6, -5.5, 31, dtype=np.float32)  # slopes of 3 to 5 epsilons
    dout = np.full_like(x, 65_536)
    found = call(student.gelu_backward, dout, x, form="none")
    right = backward(dout.astype(float), x.astype(float), "none")
    checks.that(bool((np.abs(found - right) < 0.012).all()), "the gradient for float32 numbers "
                f"from -5.6 to -5.5, a dout of 65,536: expected {right.min():.3f} to "
                f"{right.max():.3f}, got {found.min():.3f} to {found.max():.3f}",
                likely="a density of less than the type's epsilon is set to 0")  # fmt: skip


def rounding_of(x):
    """Where numbers are far below 0, what is left of 1 + erf has few right digits, or none."""
    return (1e-3 if x.dtype == np.float32 else 1e-7) * float(np.abs(x).max(initial=0.0))


def test_arrays_of_any_shape_and_size(student):
    draw = sweep.Draw(11)
    shapes = [draw.shape(axes) for axes in (1, 2, 3, 4, 5, 6, 7, 8) for _ in range(2)]
    shapes += [*sweep.long_axes((2, 1, 2)), (1, 1)]

    def cases(*, is_backward):
        for number, shape in enumerate(shapes):
            dtype = np.float32 if number % 3 == 1 else np.float64
            x = draw.rng.normal(size=shape) * 10.0 ** draw.rng.integers(-30, 5, shape)
            x = np.clip(x, -1e4, 1e4)
            if number % 2:
                x = draw.floats(*shape)
            x = x.astype(dtype)
            given, rounding = (x,), rounding_of(x)
            if is_backward:
                low, high = (-30, 30) if dtype == np.float32 else (-250, 250)
                size = 10.0 ** draw.rng.integers(low, high)
                given = (draw.rng.normal(size=shape) * size).astype(dtype), *given
                rounding = size * (1e-2 if dtype == np.float32 else 1e-6)  # where the slope is 0
            for form in FORMS:
                yield sweep.Case(
                    f"{np.dtype(dtype)} of shape {shape}, {form!r}",
                    given,
                    {"approximation": form},
                    rounding,
                )

    sweep.agrees(
        student.gelu_forward,
        lambda x, approximation: forward(x, approximation),
        cases(is_backward=False),
    )
    sweep.agrees(
        student.gelu_backward,
        lambda dout, x, approximation: backward(dout, x, approximation),
        cases(is_backward=True),
    )
    # Of 127 tokens: they fill no blocks of any usual size.
    whole = draw.rng.random((2, 3, 127, 3072), np.float32)
    of = "the wide states of a batch of BERT base"
    sweep.agrees(
        student.gelu_forward,
        lambda x: forward(x, "none"),
        [
            sweep.Case(of, (x.astype(t),))
            for x, t in zip(whole, (np.float64, np.float32), strict=True)
        ],
    )
    sweep.agrees(student.gelu_forward, forward, [sweep.Case(of, (whole[0], "tanh"))])
    for form, dtype in zip(FORMS, (np.float32, np.float64), strict=True):
        given = whole.astype(dtype)
        sweep.agrees(student.gelu_backward, backward, [sweep.Case(of, (*given, form))])
    # Of a tiny number half is left.
    for dtype in (np.float64, np.float32):
        for size in 10.0 ** np.arange(-35, -5, 3):
            x = np.array([-size, size, 2 * size, -10 * size, 10 * size, 100 * size], dtype)
            for form in FORMS:
                sweep.same_each(student.gelu_forward(x, approximation=form), forward(x, form),
                                of=f"GELU of {np.dtype(dtype)} near {size:.0e}, {form!r}"
                                )  # fmt: skip


def kinds(rng):
    """Those of `sweep`, and such as a shortcut of this function may expect."""
    x = rng.normal(size=(4, 4))
    return sweep.kinds(x) | {
        "zeros": np.zeros_like(x),
        "ones": np.ones_like(x),
        "nearly ones": 1 + 1e-6 * x,
        "nearly one number everywhere": -0.7 + 1e-6 * x,
        "numbers below -2": -2 - np.exp(x),
        "numbers from -5 to -4": -4 - rng.random((4, 4)),
        "tiny numbers": 1e-9 * x,
        "numbers near 0.01": 0.01 * x,
        "numbers near 0.1": 0.1 * x,
        "numbers below 0.5": np.tanh(x) / 2,
        "numbers from 2 to 3": 2 + rng.random((4, 4)),
        "numbers from 4 to 6, of both signs": np.sign(x) * (4 + 2 * rng.random((4, 4))),
        "numbers on both sides of each limit of a table": np.arange(-6, 6, 0.75).reshape(4, 4),
    }


# Seven numbers whose sum, ends, middle, limits, squares or product are those of zeros or of ones.
COINCIDENCES = {
    "numbers that add up to 0, with 0 at both ends and in the middle": (
        [0, -1.5, 0.5, 0, 1.25, -0.25, 0]),
    "numbers that add up to their count, with 1 at both ends and in the middle": (
        [1, -0.5, 2.5, 1, 0.25, 1.75, 1]),
    "numbers of which the largest is 1": [1, -0.5, 0.25, 1, 0.5, -2, 1],
    "numbers of which the smallest is 1": [1, 1.5, 4, 1, 2, 3, 1],
    "numbers whose product is 1": [2, 0.5, -4, -0.25, 1, 8, 0.125],
    "1 and -1": [1, -1, 1, 1, -1, 1, 1],
}  # fmt: skip


def coincidences():
    """The name of each, and a matrix whose rows and columns are these numbers, each begun at
    another place."""
    places = (np.arange(7)[:, None] - np.arange(7)) % 7
    return [(kind, np.array(row, float)[places]) for kind, row in COINCIDENCES.items()]


# Parts of an axis of which the ends and the middle are alike, or both ends, or those of both
# halves, or neighbors; or of which some are 0, part 4.
ENDS = ([0, 1, 0, 2, 0], [0, 1, 2, 3, 1, 0], [0, 1, 2, 0, 3, 2], [0, 0, 1, 1, 2], [4, 1, 4, 2, 4],
        [0, 1, 4, 2, 4], [4, 1, 4, 2, 0])  # fmt: skip


def take(x, order, axis):
    """The parts of four along an axis in this order, of which the fifth is 0."""
    return np.concatenate([x, 0 * x.take([0], axis)], axis).take(order, axis)


def more_kinds(rng):
    """Their names, x and dout: mirrored, alike at the ends of an axis, whole, of many numbers."""
    for shape in ((8,), (9,), (4, 4), (5, 5)):
        x, dout, third = rng.normal(size=(3, *shape))
        for sign in (1, -1):
            made = x + sign * np.flip(x)
            yield f"shape {shape}, the same backwards times {sign}", made, dout
            yield f"shape {shape}, the same backwards times {sign} in dout", third, made
            if len(shape) > 1:
                yield f"shape {shape}, the same in columns and rows", x + sign * x.T, dout
                yield f"shape {shape}, the same in columns and rows in dout", third, x + sign * x.T
    whole = np.round(9 * x)
    yield "one number everywhere in x, gradients that add up to 0", 0 * x - 0.7, whole - whole.T
    for order, axis in product(ENDS, range(3)):
        same = take(rng.normal(size=(4, 4, 4)), order, axis)
        other = rng.normal(size=same.shape)
        yield f"parts {order} along axis {axis} in x", same, other
        yield f"parts {order} along axis {axis} in dout", other, same
    for size, least in product((127, 255, 1e4), (-1, 0)):
        x = np.round(size * rng.uniform(least, 1, (3, 6)))
        x[0, :3] = size, least * size, np.sign(least)
        yield f"whole numbers up to {size:g}", x, np.round(9 * rng.normal(size=x.shape))
    middle = 4 * rng.normal(size=9)
    middle[3:6] = 13, -12, 11
    edges = np.array([-14]), middle, np.array([15])
    yield "the smallest number first, the largest last", np.concatenate(edges), rng.normal(size=11)
    for shape in ((2, 8, 64, 64), (5, 4_000)):  # blocks of usual sizes fill them without a rest
        yield f"shape {shape}", *rng.normal(size=(2, *shape))


def test_sizes_and_kinds_of_numbers(student):
    rng, numbers = checks.rng(21), [*kinds(checks.rng(22)).items()]
    given = []
    for some, shift in ((numbers, 7), (coincidences(), 1)):
        for (kind, x), (other, dout) in zip(some, some[shift:] + some[:shift], strict=True):
            given.append((f"{kind} in x, {other} in dout", x, dout))
    rising = np.sort(rng.normal(size=12))
    given += [("x and dout alike", *[rng.normal(size=(4, 4))] * 2),
              ("a cube", *rng.normal(size=(2, 6, 6, 6))),
              ("numbers in rising order", rising, rng.normal(size=12)),
              ("numbers in falling order", rising[::-1], rng.normal(size=12))]  # fmt: skip
    for number, n in enumerate((2, 6, 8, 10, 12, 16, 32, 64, 128, 256, 512, 768, 1024, 3072)):
        others = [(n,), (n, 2), (n, 1), (1, n, 1)][number % 4 :][: n < 200]
        for turn, shape in enumerate([(2, n), *others, *[(n, n)] * (n < 20)]):
            dtype = np.float32 if turn == 1 and n < 200 else np.float64
            x, dout = 1.5 * rng.normal(size=(2, *shape)).astype(dtype)
            given.append((f"{x.dtype} of shape {shape}", x, dout))
    given += more_kinds(checks.rng(24))
    forms = [(form, *case) for case in given for form in FORMS]
    sweep.agrees(student.gelu_forward, lambda x, approximation: forward(x, approximation),
                 (sweep.Case(f"{of}, {form!r}", (x,), {"approximation": form}, rounding_of(x))
                  for form, of, x, _ in forms))  # fmt: skip
    # Where the slope is nearly 0, what is left is the rounding of its terms.
    sweep.agrees(student.gelu_backward,
                 lambda dout, x, approximation: backward(dout, x, approximation),
                 (sweep.Case(f"{of}, {form!r}", (dout, x), {"approximation": form},
                             1e-2 * float(np.abs(dout).max()))
                  for form, of, x, dout in forms))  # fmt: skip


def test_nothing_is_left_behind(student):
    x, dout = checks.rng(3).normal(size=(2, 3, 4))
    for form in FORMS:
        student.gelu_forward(x=x, approximation=form)  # by their names
        student.gelu_backward(dout=dout, x=x, approximation=form)
        checks.leaves_no_trace(student.gelu_forward, x, approximation=form)
        checks.leaves_no_trace(student.gelu_backward, dout, x, approximation=form)
        before = "gelu_backward", (x, x), {"approximation": form}
        out = student.gelu_backward.trace(x, x, approximation=form, before=before).value
        checks.same(out, backward(x, x, form), of="the gradient where dout and x are one object")
    # Results that are known, or nearly what came in, are new each time too.
    for number in (0.0, 1.0, 60.0, 1e4, -60.0, -1e4):
        alike = np.full((3, 4), number)
        for form, _ in product(FORMS, range(2)):
            for function, args in ((student.gelu_forward, (alike,)),
                                   (student.gelu_backward, (dout, alike)),
                                   (student.gelu_backward, (alike, dout))):  # fmt: skip
                traced = function.trace(*args, approximation=form)
                checks.nothing_kept(function.name, traced, may_share=False)
    # What is kept must go by the shape too, and not by the order in memory alone.
    x, dout = checks.rng(23).normal(size=(2, 4, 4))
    for form in FORMS:
        for number, given in enumerate((x, x.T, x.reshape(2, 8), x.reshape(2, 2, 4), x.ravel())):
            above = dout.T if number == 1 else dout.reshape(given.shape)
            of = f"after calls with the same numbers in other shapes, for shape {given.shape}"
            checks.same(student.gelu_forward(given, form), forward(given, form), of=f"GELU {of}")
            checks.same(student.gelu_backward(above, given, form), backward(above, given, form),
                        of=f"the gradient {of}")  # fmt: skip
    # It must go by every number: these have the same sum, or the same ends.
    x = np.round(8 * checks.rng(4).normal(size=1500)) / 8  # whose sums are exact
    changed, inside, dout = x.copy(), x.copy(), np.ones_like(x)
    changed[750] += 1
    inside[1:-1] = x[-2:0:-1]
    kept = "a result is kept, and found again by less than every number"
    for form in FORMS:
        for given in (x, x[::-1], changed, inside):
            checks.same(student.gelu_forward(given, form), forward(given, form),
                        of="GELU after a call with numbers that are alike", mistakes={
                            kept: forward(x, form)})  # fmt: skip
            checks.same(student.gelu_backward(dout, given, form), backward(dout, given, form),
                        of="the gradient after a call with numbers that are alike", mistakes={
                            kept: backward(dout, x, form)})  # fmt: skip
