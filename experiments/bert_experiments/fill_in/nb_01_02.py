"""Fill-ins of 01/02, layer norm and GELU."""

import numpy as np

from bert_experiments.fill_in import FillIn
from bert_numpy.normal import normal_cdf, normal_pdf
from bert_numpy.operations import layer_norm_forward

X = np.array([2.0, 4.0, 4.0, 10.0])
TABLE = np.array([[2.0, 4.0, 4.0, 10.0], [1.0, 0.0, -3.0, 6.0]])
FLAT = np.full(4, 5.0)


def layer_norm(x: np.ndarray, eps: float) -> np.ndarray:
    return layer_norm_forward(x, np.ones(x.shape[-1]), np.zeros(x.shape[-1]), eps)[0]


def mean(x: np.ndarray) -> np.ndarray:
    return x.mean(axis=-1, keepdims=True)


def variance(x: np.ndarray, ddof: int = 0) -> np.ndarray:
    return x.var(axis=-1, keepdims=True, ddof=ddof)


normalize = FillIn(
    "normalize",
    reference=lambda x, eps=1e-12: layer_norm(x, eps),
    instead="bert_numpy.operations.layer_norm_forward",
    inputs=[(X,), (TABLE,), (FLAT,), (X, 7.0)],
    mistakes={
        "eps is added to the root: add it to the variance, inside": (
            lambda x, eps=1e-12: (x - mean(x)) / (np.sqrt(variance(x)) + eps)
        ),
        "eps is left out: a vector of equal numbers gives 0/0": (
            lambda x, eps=1e-12: (x - mean(x)) / np.sqrt(variance(x))
        ),
        "this divides by the variance: take its root": (
            lambda x, eps=1e-12: (x - mean(x)) / (variance(x) + eps)
        ),
        "the variance divides by n - 1: here it is the mean of the squares": (
            lambda x, eps=1e-12: (x - mean(x)) / np.sqrt(variance(x, ddof=1) + eps)
        ),
        "the mean is not subtracted": lambda x, eps=1e-12: x / np.sqrt(variance(x) + eps),
        "one mean and one variance for the whole table: each row needs its own, axis=-1": (
            lambda x, eps=1e-12: (x - x.mean()) / np.sqrt(x.var() + eps)
        ),
    },
)

spread_gradient = FillIn(
    "spread_gradient",
    reference=lambda x: (x - x.mean()) / (len(x) * x.std()),
    instead="step 3 as a function",
    inputs=[(X,), (np.array([1.0, 0.0, -3.0]),)],
    mistakes={
        "the factor 1/n is missing": lambda x: (x - x.mean()) / x.std(),
        "the spread in the denominator is missing: this is (x - μ)/n": (
            lambda x: (x - x.mean()) / len(x)
        ),
        "this is the gradient of the variance, step 2: divide it by 2σ": (
            lambda x: 2 * (x - x.mean()) / len(x)
        ),
        "the mean is not subtracted": lambda x: x / (len(x) * x.std()),
        "this divides by the variance: in step 3 it is n times σ": (
            lambda x: (x - x.mean()) / (len(x) * x.var())
        ),
    },
)

DOUT = np.array([1.0, -2.0, 0.5, 1.5])
DTABLE = np.array([[1.0, -2.0, 0.5, 1.5], [0.0, 3.0, 1.0, -1.0]])
NORMALIZED = np.array([-1.0, -1 / 3, -1 / 3, 5 / 3])
NORMALIZED_TABLE = layer_norm(TABLE, 0.0)
SPREADS = np.sqrt(variance(TABLE))

back_through_normalize = FillIn(
    "back_through_normalize",
    reference=lambda dout, normalized, spread: (
        (dout - mean(dout) - normalized * mean(dout * normalized)) / spread
    ),
    instead="the formula above",
    inputs=[(DOUT, NORMALIZED, 3.0), (DTABLE, NORMALIZED_TABLE, SPREADS)],
    mistakes={
        "only the direct path: x also reaches the output through the mean and the variance": (
            lambda dout, normalized, spread: dout / spread
        ),
        "the path through the variance is missing": (
            lambda dout, normalized, spread: (dout - mean(dout)) / spread
        ),
        "the path through the mean is missing": (
            lambda dout, normalized, spread: (dout - normalized * mean(dout * normalized)) / spread
        ),
        "the last term is mean(d x̂) alone: it is multiplied by x̂": (
            lambda dout, normalized, spread: (dout - mean(dout) - mean(dout * normalized)) / spread
        ),
        "the last term is x̂ mean(d): its mean is that of d times x̂": (
            lambda dout, normalized, spread: (dout - mean(dout) - normalized * mean(dout)) / spread
        ),
        "the division by the spread is missing": (
            lambda dout, normalized, spread: (
                dout - mean(dout) - normalized * mean(dout * normalized)
            )
        ),
        "the means run over the whole table: each row needs its own, axis=-1, keepdims=True": (
            lambda dout, normalized, spread: (
                (dout - dout.mean() - normalized * (dout * normalized).mean()) / spread
            )
        ),
        "sums instead of means: divide them by n": (
            lambda dout, normalized, spread: (
                (
                    dout
                    - dout.sum(axis=-1, keepdims=True)
                    - normalized * (dout * normalized).sum(axis=-1, keepdims=True)
                )
                / spread
            )
        ),
    },
)


def but_last(x: np.ndarray) -> tuple[int, ...]:
    return tuple(range(x.ndim - 1))


THREE_AXES = np.arange(24.0).reshape(2, 3, 4) % 5 - 2

scale_and_shift_gradients = FillIn(
    "scale_and_shift_gradients",
    reference=lambda dout, normalized: (
        (dout * normalized).sum(axis=but_last(dout)),
        dout.sum(axis=but_last(dout)),
    ),
    instead="bert_numpy.operations.layer_norm_backward",
    inputs=[(DTABLE, NORMALIZED_TABLE), (THREE_AXES, THREE_AXES[::-1].copy() / 2)],
    mistakes={
        "these are means: every use adds to the gradient, so take sums": (
            lambda dout, normalized: (
                (dout * normalized).mean(axis=but_last(dout)),
                dout.mean(axis=but_last(dout)),
            )
        ),
        "these are means over all axes: take sums, and keep the last axis": (
            lambda dout, normalized: ((dout * normalized).mean(), dout.mean())
        ),
        "the gradient for weight lacks the other factor of the product, x̂": (
            lambda dout, normalized: (dout.sum(axis=but_last(dout)),) * 2
        ),
        "the two are swapped: weight first, then bias": (
            lambda dout, normalized: (
                dout.sum(axis=but_last(dout)),
                (dout * normalized).sum(axis=but_last(dout)),
            )
        ),
        "only the first axis is summed: sum over all but the last": (
            lambda dout, normalized: ((dout * normalized).sum(axis=0), dout.sum(axis=0))
        ),
        "the last axis is summed too: each entry of the vector has its own weight and bias": (
            lambda dout, normalized: ((dout * normalized).sum(), dout.sum())
        ),
    },
)

PLACES = np.array([-2.0, -0.5, 0.0, 1.0, 3.0])
PDF = normal_pdf(PLACES)
CDF = normal_cdf(PLACES, PDF)

slope_of_gelu = FillIn(
    "slope_of_gelu",
    reference=lambda x, cdf, pdf: cdf + x * pdf,
    instead="the product rule",
    inputs=[(PLACES, CDF, PDF), (np.array([1.0]), np.array([0.5]), np.array([0.25]))],
    mistakes={
        "only the first term of the product rule: Φ depends on x too": lambda x, cdf, pdf: cdf,
        "only the second term of the product rule: the factor x depends on x too": (
            lambda x, cdf, pdf: x * pdf
        ),
        "the second term is x φ(x), not φ(x)": lambda x, cdf, pdf: cdf + pdf,
        "the two are swapped: x is multiplied by the density, pdf": (
            lambda x, cdf, pdf: pdf + x * cdf
        ),
    },
)
