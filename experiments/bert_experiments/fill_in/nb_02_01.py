"""Fill-ins of 02/01, what autograd took over."""

import numpy as np
import torch
import torch.nn.functional as F

from bert_experiments.fill_in import FillIn

arrives = FillIn(
    "arrives",
    reference=lambda x: (x, x, 3.0),
    instead="the right numbers",
    inputs=[(2.0,), (-1.5,)],
    mistakes={
        "x * x has two paths, and each gets the other factor: x, not 2 x": (
            lambda x: (2 * x, 2 * x, 3.0)
        ),
        "these are the two products: each path gets the other factor": (
            lambda x: (x * x, x * x, 3 * x)
        ),
        "the last product passes 3 to x: its other factor": lambda x: (x, x, x),
    },
)

X = torch.tensor([[1.0, -2.0, 4.0, 0.5], [0.0, 3.0, -1.0, 2.0]], dtype=torch.float64)
WEIGHT = torch.tensor([1.5, -0.5, 2.0, 1.0], dtype=torch.float64)
BIAS = torch.tensor([0.1, 0.2, -0.3, 0.0], dtype=torch.float64)


def norm_of(x, weight, bias, eps, *, correction=0, outside=False):
    variance = x.var(-1, keepdim=True, correction=correction)
    root = variance.sqrt() + eps if outside else (variance + eps).sqrt()
    return weight * (x - x.mean(-1, keepdim=True)) / root + bias


norm_in_torch = FillIn(
    "norm_in_torch",
    reference=lambda x, weight, bias, eps=1e-12: F.layer_norm(x, weight.shape, weight, bias, eps),
    instead="torch.nn.functional.layer_norm",
    inputs=[(X, WEIGHT, BIAS), (X, WEIGHT, BIAS, 0.5), (X[0], WEIGHT, BIAS)],
    mistakes={
        "the variance divides by n - 1: say correction=0": (
            lambda x, weight, bias, eps=1e-12: norm_of(x, weight, bias, eps, correction=1)
        ),
        "eps stands inside the root, with the variance": (
            lambda x, weight, bias, eps=1e-12: norm_of(x, weight, bias, eps, outside=True)
        ),
        "the scale and the shift are missing: weight and bias": (
            lambda x, weight, bias, eps=1e-12: norm_of(x, 1, 0, eps)
        ),
        "mean and variance run over all rows: each vector has its own, -1 with keepdim=True": (
            lambda x, weight, bias, eps=1e-12: (
                weight * (x - x.mean()) / (x.var(correction=0) + eps).sqrt() + bias
            )
        ),
    },
)

OURS = {"weight": np.array([[1.0, 2.0], [3.0, 4.0]]), "bias": np.array([0.5, -0.5])}
BELOW = {"weight": np.array([[1.0, 2.25], [3.0, 4.0]]), "bias": np.array([0.5, -0.625])}
ABOVE = {"weight": np.array([[1.0, 1.5], [3.0, 4.0]]), "bias": np.array([0.25, -0.5])}

largest_difference = FillIn(
    "largest_difference",
    reference=lambda ours, theirs: max(np.abs(ours[name] - theirs[name]).max() for name in ours),
    instead="the largest difference of any two numbers",
    inputs=[(OURS, BELOW), (OURS, ABOVE)],
    mistakes={
        "without abs, a number that is too small does not show": (
            lambda ours, theirs: max((ours[name] - theirs[name]).max() for name in ours)
        ),
        "a mean hides a single wrong number": (
            lambda ours, theirs: max(np.abs(ours[name] - theirs[name]).mean() for name in ours)
        ),
        "the differences of the arrays are added": (
            lambda ours, theirs: sum(np.abs(ours[name] - theirs[name]).max() for name in ours)
        ),
    },
)

mib_of_two_squares = FillIn(
    "mib_of_two_squares",
    reference=lambda rows, heads, seq: 2 * rows * heads * seq * seq * 4 / 2**20,
    instead="the right formula",
    inputs=[(4, 2, 512), (32, 2, 128), (1, 12, 64)],
    mistakes={
        "every head has squares of its own": (
            lambda rows, heads, seq: 2 * rows * seq * seq * 4 / 2**20
        ),
        "this is one square; there are two": (
            lambda rows, heads, seq: rows * heads * seq * seq * 4 / 2**20
        ),
        "each query has a weight for each key: seq times seq": (
            lambda rows, heads, seq: 2 * rows * heads * seq * 4 / 2**20
        ),
        "these are megabytes of 10**6 bytes: a MiB has 2**20": (
            lambda rows, heads, seq: 2 * rows * heads * seq * seq * 4 / 1e6
        ),
        "a number has 4 bytes": lambda rows, heads, seq: 2 * rows * heads * seq * seq / 2**20,
    },
)
