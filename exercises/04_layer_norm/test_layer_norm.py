"""Layer norm: any leading axes, any scale of inputs, eps where it belongs, and the backward."""

import itertools

import numpy as np
import pytest

from autograder import checks, course, sweep
from bert_numpy import operations

SHAPES = [(2, 5), (1, 3), (3, 4, 6), (4, 3, 4), (6,), (2, 1, 3, 7), (3, 1)]


def inputs(shape, *, scale=1.0, shift=0.0, dtype=np.float64, seed=3):
    """x, weight, bias and dout; one number of weight is 0, where it is long."""
    rng = checks.rng(seed)
    x = shift + scale * rng.normal(size=shape)
    weight, bias = 1 + rng.normal(size=(2, shape[-1]))
    weight[3:4] = 0.0
    return tuple(a.astype(dtype) for a in (x, weight, bias, rng.normal(size=shape)))


def forward(x, weight, bias, eps=1e-12):
    return operations.layer_norm_forward(x, weight, bias, float(eps))[0]


def backward(dout, x, weight, eps=1e-12):
    cache = operations.layer_norm_forward(x, weight, np.zeros_like(weight), float(eps))[1]
    return operations.layer_norm_backward(dout, cache)


def wrong_forward(x, weight, bias, eps, *, axes=-1, ddof=0, outside=False, center=True, power=0.5):
    """The forward with the ways to get its statistics wrong."""
    mean = x.mean(axes, keepdims=True) if center else 0.0
    variance = ((x - mean) ** 2).mean(axes, keepdims=True)
    if ddof:
        variance = variance * x.shape[-1] / (x.shape[-1] - 1)
    divisor = variance**0.5 + eps if outside else (variance + eps) ** power
    return (x - mean) / divisor * weight + bias


def statistics_mistakes(x, weight, bias, eps):
    given = x, weight, bias, eps
    normalized = forward(x, np.ones_like(weight), np.zeros_like(bias), eps)
    return {
        "the variance divides by hidden - 1: BERT's divides by hidden (ddof=0)": (
            wrong_forward(*given, ddof=1)
        ),
        "eps stands outside the root: it is added to the variance": (
            wrong_forward(*given, outside=True)
        ),
        "divided by the variance: its root is missing": wrong_forward(*given, power=1),
        "the mean is not subtracted": wrong_forward(*given, center=False),
        "the statistics run over the first axis, not the last: that is batch norm": (
            wrong_forward(*given, axes=0)
        ),
        "the statistics run over axis 1, which is the last one of (batch, hidden) alone: take -1": (
            wrong_forward(*given, axes=1) if x.ndim > 2 else np.nan
        ),
        "the statistics run over the whole array: each vector has its own": (
            wrong_forward(*given, axes=None)
        ),
        "the statistics run over all axes but the first: each vector has its own": (
            wrong_forward(*given, axes=tuple(range(1, x.ndim))) if x.ndim > 1 else np.nan
        ),
        "weight and bias are not used": normalized,
        "bias is not added": normalized * weight,
        "weight is not used": normalized + bias,
        "the bias is added before the scaling: scale first, then shift": (
            (normalized + bias) * weight
        ),
        "float32 inside: keep the type of x": is_float32_inside,
    }


def is_float32_inside(out):
    return out.dtype == np.float64 and np.array_equal(out, out.astype(np.float32))


@pytest.mark.hint(1)
@pytest.mark.weight(2)
def test_every_vector_is_normalized_then_scaled_and_shifted(student):
    for shape in SHAPES:
        x, weight, bias, _ = inputs(shape)
        checks.same(
            student.layer_norm_forward(x, weight, bias, eps=1e-12),
            forward(x, weight, bias),
            of=f"the result for x of shape {shape}",
            mistakes=lambda: statistics_mistakes(x, weight, bias, 1e-12),
        )


# Of tiny vectors eps is a good part of the variance. First what tells all mistakes apart.
SCALES_AND_EPS = [(0.3, 0.1), (3e-3, 1e-5), (1e-6, 1e-12), (1e-6, 1e-5), (1e-3, 1e-12), (1.0, 3)]


@pytest.mark.hint(2)
@pytest.mark.weight(2)
def test_eps_stands_inside_the_root_and_is_an_argument(student):
    for scale, eps in SCALES_AND_EPS:
        x, weight, bias, _ = inputs((3, 5), scale=scale)
        checks.same(
            student.layer_norm_forward(x, weight, bias, eps=eps),
            forward(x, weight, bias, eps),
            of=f"the result for numbers near {scale:g}, eps {eps:g}",
            mistakes=lambda: (
                eps_mistakes(lambda e, given=(x, weight, bias): forward(*given, e), eps)
                | {FLOOR: wrong_forward(x, weight, bias, up_to(eps, x))}
                | statistics_mistakes(x, weight, bias, eps)
            ),
        )


FLOOR = "eps is the least value of the variance, max(variance, eps): it is added to it"


def up_to(eps, x):
    """What makes max(variance, eps) of the variance when it is added."""
    return np.maximum(eps - x.var(-1, keepdims=True), 0)


def eps_mistakes(result_for, eps):
    """What comes out with another eps than the one that was given."""
    ignored = "the eps argument is ignored"
    return {
        "eps is squared: it is a variance already": result_for(eps**2),
        "eps is not added to the variance": result_for(0.0) if eps < 1e-5 else np.nan,
        f"{ignored}: it is hard-coded, or never added": result_for(1e-12 if eps > 1e-12 else 0.0),
        f"{ignored}: it is always 1e-5": result_for(1e-5) if eps != 1e-5 else result_for(0.0),
    }


NAMES = ("dx", "dweight", "dbias")


def test_a_mean_that_is_large_beside_the_spread_costs_no_precision(student):
    # float32 has 7 digits: near 10,000 it knows three places after the point. mean(x²) - mean(x)²
    # has none left there, and too few near 1,000.
    for dtype in (np.float64, np.float32):
        both = np.array([[1e4], [-1e4], [1e4]])
        for shift, near in ((1e4, "10,000"), (-1e4, "-10,000"), (both, "10,000 and -10,000"),
                            (3e3, "3,000"), (-800.0, "-800"), (200.0, "200")):  # fmt: skip
            tolerance = None if dtype == np.float64 else 3e-6 * np.abs(shift).max()
            shape = (7,) if near in ("-10,000", "200") else (3, 7)
            x, weight, bias, dout = inputs(shape, shift=shift, dtype=dtype)
            right = forward(*exact(x, weight, bias))
            checks.same(
                student.layer_norm_forward(x, weight, bias, eps=1e-12),
                right.astype(dtype),
                of=f"the result for numbers near {near}",
                tolerance=tolerance,
                mistakes=lambda: cancellation(right) | statistics_mistakes(x, weight, bias, 1e-12),
            )
            parts = checks.parts(student.layer_norm_backward(dout, x, weight, eps=1e-12), *NAMES)
            right = backward(*exact(dout, x, weight))
            for i, mistakes in ((0, back_mistakes(dout, x, weight, 1e-12)), (1, {})):
                checks.same(parts[i], right[i].astype(dtype), tolerance=tolerance,
                            of=f"{NAMES[i]} for numbers near {near}",
                            mistakes=lambda: cancellation(right[i]) | mistakes)  # fmt: skip
    for scale, near, size in ((1e-3, 1e-5, None), (1e-6, 1e-3, 1.0)):
        x, weight, bias, dout = inputs((3, 7), shift=1e4, scale=scale)
        of = f"numbers near 10,000 with a spread of {scale:g}"
        flat = {"numbers that are nearly equal are taken for equal": lambda out, bias=bias: bool(
            np.isin(out, bias).all())}  # fmt: skip
        checks.same(student.layer_norm_forward(x, weight, bias, eps=1e-12),
                    forward(x, weight, bias), of=f"the result for {of}", tolerance=near,
                    mistakes=flat)  # fmt: skip
        parts = checks.parts(student.layer_norm_backward(dout, x, weight, eps=1e-12), *NAMES)
        for mine, right, name in zip(parts, backward(dout, x, weight), NAMES, strict=True):
            checks.same(mine, right, of=f"{name} for {of}", tolerance=near, magnitude=size)
    x, weight, bias, dout = inputs((4000, 7), shift=1e4, dtype=np.float32)
    _, dweight, _ = checks.parts(student.layer_norm_backward(dout, x, weight, eps=1e-12), *NAMES)
    right = backward(*exact(dout, x, weight))[1]
    checks.same(np.float64(dweight) / 64, right / 64, tolerance=0.005,
                of="dweight of 4,000 vectors of numbers near 10,000, divided by 64")  # fmt: skip


def cancellation(right):
    """What is lost depends on the order of the sums; in float64 it is about the seventh digit."""
    return {
        "mean(x²) - mean(x)² loses its digits: subtract the mean, then square": (
            lambda out: out.dtype == np.float64 and np.abs(out - right).max() < 2e-6
        )
    }


def exact(*arrays):
    return [array.astype(np.float64) for array in arrays]


def back(
    dout, x, weight, eps, *, mean=1, stretch=1, scaled="first", std=True, ddof=0, total=1, by=True,
    within=True,
):  # fmt: skip
    """The gradient for x, with the ways to leave something out."""
    centered = x - x.mean(-1, keepdims=True)
    variance = centered.var(-1, keepdims=True)
    if ddof:
        variance = variance * x.shape[-1] / (x.shape[-1] - 1)
    inverse_std = 1 / np.sqrt(variance + eps)
    normalized = centered * inverse_std
    d = dout * weight if scaled == "first" else dout
    dx = d - mean * total * d.mean(-1, keepdims=True)
    direction = normalized if by else 1.0
    along = d * normalized if within else d
    dx = dx - stretch * total * direction * along.mean(-1, keepdims=True)
    dx = dx * weight if scaled == "last" else dx
    return dx * inverse_std if std else dx


def back_mistakes(dout, x, weight, eps):
    given = dout, x, weight, eps
    return {
        "only the direct path: x also reaches the output through the mean and the variance": (
            back(*given, mean=0, stretch=0)
        ),
        "the path through the mean is missing": back(*given, mean=0),
        "the path through the variance is missing": back(*given, stretch=0),
        "the sign of the path through the variance is wrong": back(*given, stretch=-1),
        "the sign of the path through the mean is wrong": back(*given, mean=-1),
        "weight is missing in dx": back(*given, scaled=""),
        "weight comes last: the means are over dout * weight, not over dout": (
            back(*given, scaled="last")
        ),
        "the mean of dout * weight * x̂ is subtracted as it is: multiply it by x̂": (
            back(*given, by=False)
        ),
        "the second mean is that of dout * weight * x̂: x̂ is forgotten inside it": (
            back(*given, within=False)
        ),
        "the division by the standard deviation is missing in dx": back(*given, std=False),
        "sums where means belong: divide by hidden": back(*given, total=x.shape[-1]),
        "the variance divides by hidden - 1": back(*given, ddof=1),
        "the means run over all vectors: each has its own, axis=-1, keepdims=True": (
            back_over_all(*given)
        ),
    }


def back_over_all(dout, x, weight, eps):
    d, normalized = dout * weight, forward(x, np.ones_like(weight), np.zeros_like(weight))
    inverse_std = 1 / np.sqrt(x.var(-1, keepdims=True) + eps)
    return (d - d.mean() - normalized * (d * normalized).mean()) * inverse_std


@pytest.mark.hint(4)
@pytest.mark.weight(3)
def test_the_gradient_for_x_follows_all_three_paths(student):
    for shape in SHAPES:
        x, weight, _, dout = inputs(shape)
        dx = checks.parts(student.layer_norm_backward(dout, x, weight, eps=1e-12), *NAMES)[0]
        checks.same(dx, backward(dout, x, weight)[0], of=f"dx for x of shape {shape}",
                    mistakes=lambda: back_mistakes(dout, x, weight, 1e-12))  # fmt: skip


@pytest.mark.hint(3)
@pytest.mark.weight(2)
def test_weight_and_bias_collect_gradients_from_every_vector(student):
    for shape in SHAPES:
        x, weight, bias, dout = inputs(shape)
        out = student.layer_norm_backward(dout, x, weight, eps=1e-12)
        _, dweight, dbias = checks.parts(out, *NAMES)
        right = backward(dout, x, weight)
        normalized = forward(x, np.ones_like(weight), np.zeros_like(bias))
        axes = tuple(range(x.ndim - 1))
        vectors = x.size / x.shape[-1]
        checks.same(
            dweight,
            right[1],
            of=f"dweight for x of shape {shape}",
            mistakes=lambda: {
                "dweight needs the normalized vectors, not x": (dout * x).sum(axes),
                "the variance divides by hidden - 1": right[1] * np.sqrt(1 - 1 / x.shape[-1]),
                "dweight is a sum over the vectors, not their mean": right[1] / vectors,
                "dweight is multiplied by weight: only dx is": right[1] * weight,
                "dweight and dbias are exchanged": right[2],
                "dweight is summed over the first axis alone: over all but the last": (
                    (dout * normalized).sum(0)
                ),
                "dweight is not summed over the vectors": dout * normalized,
                "dweight is summed over the whole array: each place of the vector has its own": (
                    lambda out: out.ndim == 0
                ),
            },
        )
        checks.same(
            dbias,
            right[2],
            of=f"dbias for x of shape {shape}",
            mistakes=lambda: {
                "dbias is a sum over the vectors, not their mean": right[2] / vectors,
                "dbias is multiplied by weight: only dx is": right[2] * weight,
                "dbias is summed over the first axis alone: over all but the last": dout.sum(0),
                "dbias is not summed over the vectors": dout,
            },
        )


@pytest.mark.hint(2)
@pytest.mark.weight(2)
def test_the_backward_uses_its_eps(student):
    for scale, eps in SCALES_AND_EPS:
        x, weight, _, dout = inputs((3, 5), scale=scale)
        out = student.layer_norm_backward(dout, x, weight, eps=eps)
        parts = checks.parts(out, *NAMES)
        expected = backward(dout, x, weight, eps)
        for i, name in ((1, "dweight"), (0, "dx")):
            result = lambda e, given=(dout, x, weight), i=i: backward(*given, e)[i]  # noqa: E731
            floor = up_to(eps, x)
            if name == "dx":
                mistakes = {FLOOR: back(dout, x, weight, floor)}
                mistakes |= back_mistakes(dout, x, weight, eps)
            else:
                mistakes = {FLOOR: (dout * wrong_forward(x, 1.0, 0.0, floor)).sum(0)}
            mistakes |= eps_mistakes(result, eps)
            checks.same(parts[i], expected[i], mistakes=mistakes,
                        of=f"{name} for numbers near {scale:g}, eps {eps:g}")  # fmt: skip


@pytest.mark.hint(2)
def test_without_the_argument_eps_is_1e_12(student):
    x, weight, bias, dout = inputs((3, 5), scale=1e-4)
    own, of_page = course.own_default("04_layer_norm"), course.OF_PAGE
    of_torch = "eps is 1e-5, as in torch: BERT's is 1e-12"
    checks.same(student.layer_norm_forward(x, weight, bias), forward(x, weight, bias, own),
                of="the result without eps",
                mistakes=lambda: {of_torch: forward(x, weight, bias, 1e-5),
                                  of_page: forward(x, weight, bias)})  # fmt: skip
    parts = checks.parts(student.layer_norm_backward(dout, x, weight), *NAMES)
    for i, right in enumerate(backward(dout, x, weight, own)):
        checks.same(parts[i], right, of=f"{NAMES[i]} without eps",
                    mistakes=lambda i=i: {of_torch: backward(dout, x, weight, 1e-5)[i],
                                          of_page: backward(dout, x, weight)[i]})  # fmt: skip


@pytest.mark.hint(2)
def test_a_vector_of_equal_numbers_becomes_the_bias(student):
    drawn, weight, bias, dout = inputs((4, 5))
    equal = np.array([[0.5] * 5, [-3.0] * 5, [0.0] * 5])
    for x, of in (
        (equal, "vectors of equal numbers"),
        (np.vstack([drawn[:1], equal]), "one drawn vector and three of equal numbers"),
        (0 * equal.astype(np.float32), "float32 vectors of zeros"),
    ):
        weight, bias, dout = (a.astype(x.dtype) for a in (weight, bias, dout))
        checks.same(
            student.layer_norm_forward(x, weight, bias, eps=1e-12),
            forward(x, weight, bias),
            of=f"the result for {of}",
            mistakes={"the variance is 0: without eps that is 0 / 0": (
                lambda out: bool(np.isnan(out).any())
            )},
        )  # fmt: skip
        out = student.layer_norm_backward(dout[: len(x)], x, weight, eps=1e-12)
        expected = backward(dout[: len(x)], x, weight)
        for mine, right, name in zip(checks.parts(out, *NAMES), expected, NAMES, strict=True):
            # The rounding of the mean, divided by the root of eps.
            tolerance, magnitude = (1e-8, None) if x.dtype == np.float64 else (1e-4, 1.0)
            checks.same(mine, right, of=f"{name} for {of}", tolerance=tolerance,
                        magnitude=magnitude, mistakes={
                "where all numbers are equal, dx is set to 0: eps keeps the division finite": (
                    lambda out: out.ndim > 1 and bool((out[-3:] == 0).all()))})  # fmt: skip
    # Of whole numbers the sum is exact; so is, where they are equal, the sum divided by hidden.
    for dtype, hidden, eps in ((np.float32, 41, 1e-12), (np.float32, 55, 1e-12),
                               (np.float64, 49, 1e-30)):  # fmt: skip
        x = np.repeat(np.arange(1, 9, dtype=dtype)[:, None], hidden, axis=1)
        _, weight, bias, _ = inputs(x.shape, dtype=dtype)
        rounded = x - x.sum(-1, keepdims=True) * dtype(1 / hidden)
        checks.same(student.layer_norm_forward(x, weight, bias, eps=eps), np.tile(bias, (8, 1)),
                    of=f"the result for vectors of {hidden} equal numbers, {dtype.__name__}, eps "
                       f"{eps:g}", mistakes={
                "the sum is multiplied by 1 / hidden, which is rounded: divide it by hidden": (
                    wrong_forward(rounded, weight, bias, eps, center=False))})  # fmt: skip
    # The example of the page: its second vector is one of equal numbers.
    weight, bias = np.array([1.0, 1.0, 2.0]), np.array([0.0, 1.0, 0.0])
    for x, right in (([1.0, 2.0, 6.0], [-0.9258, 0.5371, 2.7775]), ([5.0] * 3, [0.0, 1.0, 0.0])):
        checks.same(student.layer_norm_forward(np.array(x), weight, bias, eps=1e-12),
                    np.array(right), of=f"the result for {x}", tolerance=1e-4)  # fmt: skip
    given = np.array([1.0, 0.0, 0.0]), np.array([1.0, 2.0, 6.0]), weight
    parts = checks.parts(student.layer_norm_backward(*given, eps=1e-12), *NAMES)
    example = [0.1763, -0.2204, 0.0441], [-0.9258, 0.0, 0.0], [1.0, 0.0, 0.0]
    for mine, right, name in zip(parts, example, NAMES, strict=True):
        checks.same(mine, np.array(right), of=f"{name} for [1, 2, 6]", tolerance=1e-4)


def test_the_type_of_the_numbers_and_gaps_in_memory_make_no_difference(student):
    for dtype in (np.float32, np.float64):
        x, weight, bias, dout = inputs((4, 10), dtype=dtype)
        mistakes = {"the result is always float64: keep the type of x": (
            lambda out, dtype=dtype: out.dtype == np.float64 != dtype
        )}  # fmt: skip
        for part in (np.s_[:, :], np.s_[:, ::2], np.s_[::-1, 1::3]):
            given = x[part], weight[part[1]], bias[part[1]]
            checks.same(student.layer_norm_forward(*given, eps=1e-12), forward(*given),
                        of="the result", mistakes=mistakes)  # fmt: skip
            out = student.layer_norm_backward(dout[part], *given[:2], eps=1e-12)
            expected = backward(dout[part], *given[:2])
            for name, mine, right in zip(NAMES, checks.parts(out, *NAMES), expected, strict=True):
                checks.same(mine, right, of=name, mistakes=mistakes,
                            tolerance=1e-4 if dtype == np.float32 else None)  # fmt: skip


@pytest.mark.hint(4)
def test_any_scale_of_gradient_any_number_of_axes_and_no_vector_at_all(student):
    """The gradients are linear in `dout`; a power of two changes no digit."""
    cut = {
        "tiny gradients are set to 0, or large ones are cut": lambda out: bool(
            np.abs(out).max() < 1e-3
        )
    }
    for shape, scale in (((3, 5), 2.0**-60), ((3, 5), 2.0**60), ((2, 1, 3, 2, 5), 1.0)):
        x, weight, bias, dout = inputs(shape)
        parts = checks.parts(
            student.layer_norm_backward(scale * dout, x, weight, eps=1e-12), *NAMES
        )
        for mine, right, name in zip(parts, backward(dout, x, weight), NAMES, strict=True):
            checks.same(mine / scale, right, of=f"{name} for x of shape {shape} and dout times "
                        f"{scale:.0e}, divided by that", mistakes=cut if scale != 1 else {}
                        )  # fmt: skip
    for shape in ((0, 5), (2, 0, 3), (3, 1)):
        x, weight, bias, dout = inputs(shape, dtype=np.float32)
        checks.same(student.layer_norm_forward(x, weight, bias, eps=1e-12),
                    forward(x, weight, bias),
                    of=f"the result for float32 of shape {shape}")  # fmt: skip
        parts = checks.parts(student.layer_norm_backward(dout, x, weight, eps=1e-12), *NAMES)
        for mine, right, name in zip(parts, backward(dout, x, weight), NAMES, strict=True):
            checks.same(mine, right, of=f"{name} for float32 of shape {shape}")
    x, weight, bias, _ = inputs((2, 3072), shift=1e4, dtype=np.float32)
    checks.same(student.layer_norm_forward(x, weight, bias, eps=1e-12),
                forward(*exact(x, weight, bias)).astype(np.float32), tolerance=0.03,
                of="the result for 3,072 float32 numbers near 1e+04")  # fmt: skip
    x, weight, bias, dout = inputs((3, 5), scale=1e-6)
    checks.same(student.layer_norm_forward(x, weight, bias, eps=0.0), forward(x, weight, bias, 0.0),
                of="the result for numbers near 1e-06, eps 0",
                mistakes=lambda: {"eps=0 is taken for the default": forward(x, weight, bias)}
                )  # fmt: skip
    x, dout = x * 1e-3, 1e-9 * dout
    parts = checks.parts(student.layer_norm_backward(dout, x, weight, eps=0.0), *NAMES)
    for mine, right, name in zip(parts, backward(dout, x, weight, 0.0), NAMES, strict=True):
        checks.same(mine, right, of=f"{name} for numbers near 1e-09, eps 0")
    x, weight, bias, _ = inputs((3, 5), scale=1e-11)
    checks.same(student.layer_norm_forward(x, weight, bias, eps=1e-12), forward(x, weight, bias),
                of="the result for numbers near 1e-11",
                mistakes=lambda: {"a small variance is taken for 0": np.tile(bias, (3, 1))}
                )  # fmt: skip


def test_arrays_of_any_shape_and_size(student):
    draw = sweep.Draw(11)
    shapes = [draw.shape(axes) for axes in (1, 2, 3, 4, 5) for _ in range(3)]
    shapes += [(4_003, 2, 3), (2, 4_003, 3), (2, 2, 1_501), (2, 1, 2, 1, 1, 2, 3), (603, 7)]

    def cases(*, is_backward):
        for number, shape in enumerate(shapes):
            # Of each number of axes both types; two numbers that are almost the same, or a mean of
            # thousands of vectors, would cost float32 its digits.
            dtype = np.float32 if number % 3 == 1 and max(shape) < 4_000 else np.float64
            is_double = dtype == np.float64
            if not is_double:
                shape = *shape[:-1], max(shape[-1], 3)
            scale = 10.0 ** (draw.rng.integers(-9, 12) if is_double else draw.rng.integers(-3, 4))
            x = (draw.rng.normal(size=shape) * scale).astype(dtype)
            if is_double and (number % 3 == 0 or shape[-1] > 1000):
                x += 1e4 * scale
            if number % 5 == 0:
                x[..., :1] = 40 * scale
            weight, bias = (draw.floats(shape[-1], dtype=dtype, largest=1e3) for _ in range(2))
            if number % 5 == 2:  # as before training; once a weight that lets nothing through
                weight[:], bias[:] = number != 12, 0
            # Beside the variance eps is nothing, a part, as much, or more.
            eps = float(draw.rng.choice([1e-12, 0.01, 1.0, 10.0]) * scale**2)
            given, magnitude = ((x, weight) if is_backward else (x, weight, bias)), 0.0
            if is_backward:
                magnitude = 10.0 ** draw.rng.integers(-20, 120 if is_double else 20)
                given = ((draw.rng.normal(size=shape) * magnitude).astype(dtype), *given)
                # Two or three numbers may lie close together, and then dx is large.
                spread = x.std(-1).min() if shape[-1] in (2, 3) and x.size else scale
                magnitude *= float(np.abs(weight).max() / (spread + eps**0.5))
            by_name = {"weight" if is_backward else "bias": given[-1], "eps": eps}
            by_place = number % 4 < 2
            yield sweep.Case(
                f"{np.dtype(dtype)} of shape {shape}, x near {scale:.0e}, eps {eps:g}",
                (*given, eps) if by_place else given[:-1],
                {} if by_place else by_name,
                magnitude,
            )
        if is_backward:
            x, weight, _, dout = inputs((4, 6))
            dout = np.round(3 * dout)
            yield sweep.Case("gradients that add up to 0 in each vector",
                             (dout - np.flip(dout, -1), x, weight))  # fmt: skip
        # 1e-12 is no number too small for float32.
        for scale, shape in ((1e-2, (5,)), (1e-4, (3, 5)), (1e-6, (2, 3, 5))):
            x, weight, bias, dout = inputs(shape, scale=scale, dtype=np.float32)
            yield sweep.Case(
                f"float32 of shape {shape}, x near {scale:.0e}, eps 1e-12",
                (dout, x, weight) if is_backward else (x, weight, bias),
                {"eps": 1e-12},
                float(np.abs(weight).max() / (scale + 1e-6)) if is_backward else 0.0,
            )

    sweep.agrees(student.layer_norm_forward, exact_forward, cases(is_backward=False))
    sweep.agrees(student.layer_norm_backward, exact_backward, cases(is_backward=True), names=NAMES)
    # The second time one text, as loops take half a minute for four whole batches.
    x, dout = draw.rng.random((2, 11, 128, 768), np.float32)
    of, weight, bias = "the states of a batch of BERT base", *draw.rng.random((2, 768), np.float32)
    sweep.agrees(
        student.layer_norm_forward,
        exact_forward,
        [
            sweep.Case(of, tuple(1.1 * a.astype(dtype) for a in (given, weight, bias)))
            for given, dtype in ((x, np.float64), (dout[0], np.float32))
        ],
    )
    sweep.agrees(
        student.layer_norm_backward,
        exact_backward,
        [
            sweep.Case(of, tuple(1.1 * a.astype(dtype) for a in (*given, weight)))
            for given, dtype in (((dout, x), np.float64), ((x[0], dout[0]), np.float32))
        ],
        names=NAMES,
    )

    def first_alone(right):
        """Whether the first vectors are right and the last is not."""
        return lambda out: (
            out.shape == right.shape
            and bool(np.allclose(out[:100], right[:100]) and not np.allclose(out[-1], right[-1]))
        )

    cut = "a large batch is cut into blocks, and its last vectors are left out"
    for rows in (10_001, 12_289):  # one more than blocks of 1,000 and of 4,096 fill
        x, weight, bias, dout = inputs((rows, 3), seed=19)
        right = forward(x, weight, bias, 0.1)
        checks.same(student.layer_norm_forward(x, weight, bias, eps=0.1), right,
                    of=f"the result for {rows:,} vectors",
                    mistakes={cut: first_alone(right)})  # fmt: skip
        dx, *sums = checks.parts(student.layer_norm_backward(dout, x, weight, eps=0.1), *NAMES)
        right = backward(dout, x, weight, 0.1)
        checks.same(dx, right[0], of=f"dx for {rows:,} vectors",
                    mistakes={cut: first_alone(right[0])})  # fmt: skip
        for name, out, expected in zip(NAMES[1:], sums, right[1:], strict=True):
            checks.same(out, expected, of=f"{name} for {rows:,} vectors",
                        mistakes={"float32 inside: keep the type of x": is_float32_inside}
                        )  # fmt: skip


def exact_forward(x, weight, bias, eps=1e-12):
    """In float64, also for float32."""
    return forward(*exact(x, weight, bias), eps).astype(x.dtype)


def exact_backward(dout, x, weight, eps=1e-12):
    return tuple(d.astype(x.dtype) for d in backward(*exact(dout, x, weight), eps))


def shapes_of_many_sizes():
    """Each size as that of the vectors, of the batch and between them; squares and cubes."""
    for n in (2, 4, 6, 8, 10, 12, 16, 32, 64, 256):
        yield from [(3, n), (n, 3), (2, n, 3)]
        yield from [(n, n), (n,)] * (n < 20)
    yield from [(6, 6, 6), (2, 2, 2, 2), (1, 8, 8), (1, 2, 1, 5), (64,), (2, 3001), (768,)]


def kinds(rng):
    """Those of `sweep`, and such as a shortcut of this function may expect."""
    x = rng.normal(size=(4, 4))
    return sweep.kinds(x) | {
        "every second row of zeros": x * [[1], [0], [1], [0]],
        "a row for each of -1, 0, 1 and 2": np.arange(-1.0, 3.0)[:, None] * np.ones(4),
        "ones": np.ones_like(x),
        "nearly ones": 1 + 1e-6 * x,
        "tiny numbers": 1e-9 * x,
        "rows of mean 0 and variance 1": forward(x, np.ones(4), np.zeros(4), 0.0),
        "1 and -1, equally often in each row": np.array(
            [[1.0, -1, 1, -1], [1, 1, -1, -1], [-1, 1, 1, -1], [-1, -1, 1, 1]]),
    } | mirrored(x)  # fmt: skip


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


def whole_numbers(shape, *, seed):
    """Those of few bits, whose sums and squares need more."""
    rng = checks.rng(seed)
    for size in (127, 255, 2**15 - 1, 2**16 - 1, 2**31 - 1):
        x = np.round(size * rng.uniform(-1, 1, shape))
        x[0] = size - np.abs(x[0]) // 4
        yield f": whole numbers up to {size:,}", x
        yield f": whole numbers from 0 to {size:,}", np.abs(x)


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


def test_sizes_and_kinds_of_numbers(student):
    rng, forward_cases, backward_cases = checks.rng(21), [], []

    def add(of, x, weight, bias, dout, eps):
        of = f"{x.dtype} of shape {x.shape}, eps {eps:g}{of}"
        forward_cases.append(sweep.Case(of, (x, weight, bias), {"eps": eps}))
        # Where a gradient is 0, or nearly, what is left is the rounding of its terms.
        magnitude = np.abs(dout).max() * np.abs(weight).max() / (x.var(-1) + eps).min() ** 0.5
        backward_cases.append(sweep.Case(of, (dout, x, weight), {"eps": eps}, magnitude / 10))

    for number, shape in enumerate(shapes_of_many_sizes()):
        dtype = (np.float64, np.float32)[number % 2 * (shape[-1] > 2)]
        scale, eps = [(1, 1e-12), (1, 0.5), (1e-6, 1e-12), (1e-3, 1e-6), (30, 1e-5)][number % 5]
        x, weight, bias, dout = inputs(shape, scale=scale, seed=400 + number, dtype=dtype)
        x[..., 1] *= 1000 if shape[-1] > 20 else 1  # far from all others
        add(f", numbers near {scale:g}", x, weight, bias, dout, eps)
    numbers, ones = kinds(rng), np.ones(4)
    for number, (kind, some) in enumerate(numbers.items()):
        shape = (2, 2, 4) if number % 2 else (4, 4)
        x, weight, bias, dout = inputs(shape, seed=500 + number)
        same, eps = some.reshape(shape), (1e-12, 0.1)
        add(f": {kind} in x", same, weight, bias, dout, eps[number // 2 % 2])
        add(f": {kind} in dout", x, weight, bias, same, eps[number % 2])
        add(f": {kind} in weight and bias", x, some[2], some[1], dout, eps[number % 2])
        add(f": {kind} in x and dout, weight 1", same, ones, 0 * ones, same[::-1], 0.1)
    for number, (kind, some) in enumerate(coincidences()):
        x, weight, bias, dout = inputs(some.shape, seed=600 + number)
        for name, given in (("x", (some, weight, bias, dout)), ("dout", (x, weight, bias, some)),
                            ("weight and bias", (x, some[0], some[3], dout)),
                            ("bias", (x, weight, some[0], dout)),
                            ("dout, weight 1", (x, np.ones(7), bias, some)),
                            ("x, weight 1", (some, np.ones(7), 0 * bias, dout))):  # fmt: skip
            add(f": {kind} in {name}", *given, 0.1)
    numbers = [*mirrored(checks.rng(26).normal(size=(5, 5))).items()]
    for number, (kind, some) in enumerate(numbers):
        x, weight, bias, dout = inputs((5, 5), seed=630 + number)
        add(f": {kind} in x", some, weight, bias, dout, 0.1)
        add(f": {kind} in dout", x, weight, bias, some, 0.1)
    places = (3, 0), (3, 1), (3, 2), (4, 0), (4, 2)
    for number, ((axes, axis), order) in enumerate(itertools.product(places, ENDS)):
        x, weight, bias, dout = inputs((4,) * axes, seed=700 + number)
        same = take(x, order, axis), take(dout, order, axis)
        if axis == axes - 1:
            weight, bias = take(weight, order, 0), take(bias, order, 0)
        x, dout = inputs(same[0].shape, seed=750 + number)[::3]
        for given in ((same[0], weight, bias, dout), (x, weight, bias, same[1])):
            add(f": parts {order} along axis {axis}", *given, 0.1)
    for number, (of, some) in enumerate(whole_numbers((2, 800), seed=27)):
        x, weight, bias, dout = inputs(some.shape, seed=660 + number)
        add(f"{of} in x", some, weight, bias, dout, 0.1)
        x, weight, bias, dout = inputs((800, 2), scale=3, seed=660 + number)
        add(f"{of} in dout and weight", x, some[1, :2], bias, some.T, 0.1)
    for dtype, mean in itertools.product((np.float64, np.float32), (0.0, 3.0)):
        x, weight, bias, dout = inputs((4, 4), seed=670, dtype=dtype)
        x = kinds(checks.rng(28))["1 and -1, equally often in each row"].astype(dtype) + dtype(mean)
        for eps in (0.0, 1e-12):
            add(": a variance of exactly 1", x, weight, bias, dout, eps)
    # Blocks of usual sizes fill these without a rest.
    for number, shape in enumerate(((8_192, 3), (8_000, 3), (2, 2_048), (3, 2_000), (64, 64, 3))):
        add("", *inputs(shape, seed=680 + number), 0.1)
    x, weight, bias, dout = inputs((2, 5), seed=621)
    add(": both vectors are the same", x[[0, 0]], weight, bias, dout, 0.1)
    whole = np.round(8 * rng.normal(size=(3, 7)))
    whole = np.concatenate([whole, -whole])  # all together add up to 0, each vector does not
    x, weight, bias, dout = inputs(whole.shape, seed=620)
    add(": vectors and their negatives in x", whole, weight, bias, dout, 0.1)
    add(": vectors and their negatives in dout", x, weight, bias, whole, 0.1)
    sweep.agrees(student.layer_norm_forward, exact_forward, forward_cases)
    sweep.agrees(student.layer_norm_backward, exact_backward, backward_cases, names=NAMES)


def test_nothing_is_left_behind(student):
    x, weight, bias, dout = inputs((3, 2, 4))
    student.layer_norm_forward(x=x, weight=weight, bias=bias, eps=0.1)  # by their names
    student.layer_norm_backward(dout=dout, x=x, weight=weight, eps=0.1)
    checks.leaves_no_trace(student.layer_norm_forward, x, weight, bias, eps=0.1)
    checks.leaves_no_trace(student.layer_norm_backward, dout, x, weight, eps=0.1)
    # Equal arguments may be one object.
    checks.leaves_no_trace(student.layer_norm_forward, x, weight, weight, eps=0.1)
    checks.leaves_no_trace(student.layer_norm_backward, x, x, weight, eps=0.1)
    checks.leaves_no_trace(student.layer_norm_forward, weight, weight, bias, eps=0.1)
    checks.leaves_no_trace(student.layer_norm_backward, bias, weight, weight, eps=0.1)
    # Results that do not depend on x, as where it is 0 or 1 everywhere, are new each time too.
    for shape in ((3, 1), (1, 4), (4,)):
        _, weight, bias, dout = inputs(shape)
        for number in (0.0, 1.0):
            alike, scale = np.full(shape, number), np.full(shape[-1:], number)
            for _ in range(2):
                for function, args in (
                    (student.layer_norm_forward, (alike, weight, bias)),
                    (student.layer_norm_forward, (dout, scale, bias)),
                    (student.layer_norm_forward, (dout, weight, scale)),
                    (student.layer_norm_backward, (dout, alike, weight)),
                    (student.layer_norm_backward, (alike, dout, weight)),
                    (student.layer_norm_backward, (dout, alike + dout, scale)),
                ):
                    checks.nothing_kept(function.name, function.trace(*args), may_share=False)
    # What is kept must go by the shape too, and by every number: these have the same sums, which
    # are exact, or the same ends.
    x, dout = np.round(8 * checks.rng(24).normal(size=(2, 6, 250))) / 8
    changed, inside, (weight, bias) = x.copy(), x.copy(), checks.rng(25).normal(size=(2, 250))
    changed[3, 125] += 1
    inside[:, 1:-1] = x[:, -2:0:-1]
    for of, given in (("in three axes", x.reshape(2, 3, 250)), ("in two", x), ("turned", x[::-1]),
                      ("turned in each vector", x[:, ::-1]), ("turned inside", inside),
                      ("but one", changed)):  # fmt: skip
        above = dout.reshape(given.shape)
        checks.same(student.layer_norm_forward(given, weight, bias, eps=1e-12),
                    forward(given, weight, bias), of="the result after calls with the same "
                    f"numbers, now {of}")  # fmt: skip
        parts = checks.parts(student.layer_norm_backward(above, given, weight, eps=1e-12), *NAMES)
        for mine, right, name in zip(parts, backward(above, given, weight), NAMES, strict=True):
            checks.same(mine, right, of=f"{name} after calls with the same numbers, now {of}")
