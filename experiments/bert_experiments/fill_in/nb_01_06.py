"""Fill-ins of 01/06, the whole backward pass."""

import numpy as np

from bert_experiments.fill_in import FillIn

GRADIENTS = {"weight": np.array([[1.0, -2.0], [0.5, 0.0]]), "bias": np.array([3.0, -1.0])}

expected_change = FillIn(
    "expected_change",
    reference=lambda gradients, step: -step * sum((g**2).sum() for g in gradients.values()),
    instead="the formula above",
    inputs=[(GRADIENTS, 0.01), ({"bias": np.array([0.5, -0.25])}, 1e-3)],
    mistakes={
        "the sign: a step against the gradient lowers the loss": (
            lambda gradients, step: step * sum((g**2).sum() for g in gradients.values())
        ),
        "this is the length of the gradient: each g is multiplied by itself, without a root": (
            lambda gradients, step: -step * sum((g**2).sum() for g in gradients.values()) ** 0.5
        ),
        "the gradients are added, not their squares": (
            lambda gradients, step: -step * sum(g.sum() for g in gradients.values())
        ),
        "the mean of each array is taken: the sum runs over every number": (
            lambda gradients, step: -step * sum((g**2).mean() for g in gradients.values())
        ),
    },
)

DWORDS = np.zeros((2, 3, 2))
DWORDS[0, 1], DWORDS[1, 2], DWORDS[1, 0] = (1.0, -2.0), (0.5, 3.0), (0.25, 0.75)
DFIRST = np.array([[10.0, 20.0], [30.0, 40.0]])


def put_in(dwords: np.ndarray, dfirst: np.ndarray) -> np.ndarray:
    dstates = dwords.copy()
    dstates[:, 0] = dfirst
    return dstates


def added(dwords: np.ndarray, dfirst: np.ndarray) -> np.ndarray:
    return dwords + np.pad(dfirst[:, None], ((0, 0), (0, dwords.shape[1] - 1), (0, 0)))


states_gradient = FillIn(
    "states_gradient",
    reference=added,
    instead="the sum as in bert_numpy.model.bert_backward",
    inputs=[(DWORDS, DFIRST), (DWORDS[:1] + 1, DFIRST[:1])],
    mistakes={
        "what the MLM head sent to the first token is overwritten: add, +=": put_in,
        "the pooler read only the first token: the others get nothing from it": (
            lambda dwords, dfirst: dwords + dfirst[:, None]
        ),
        "the gradient of the pooler is missing": lambda dwords, dfirst: dwords,
    },
)

slope = FillIn(
    "slope",
    reference=lambda f, x, h: (f(x + h) - f(x - h)) / (2 * h),
    instead="the formula above",
    inputs=[(np.exp, 0.5, 0.1), (np.sin, 1.0, 0.01)],
    mistakes={
        "the two points are 2 h apart: divide by 2 * h": (
            lambda f, x, h: (f(x + h) - f(x - h)) / h
        ),
        "one point is x itself: take one above and one below": (
            lambda f, x, h: (f(x + h) - f(x)) / h
        ),
        "the sign: above minus below": lambda f, x, h: (f(x - h) - f(x + h)) / (2 * h),
        "a pair of brackets is missing: / 2 * h divides by 2 and multiplies by h": (
            lambda f, x, h: (f(x + h) - f(x - h)) / 2 * h
        ),
    },
)

first_wrong = FillIn(
    "first_wrong",
    reference=lambda agree: next(name for name, digits in agree.items() if digits < 8),
    instead="the first name with fewer than eight digits",
    inputs=[
        ({"pooler": 15.0, "layer.1": 14.5, "value": 15.5, "key": 2.0, "query": 3.0, "x": 0.5},),
        ({"head": 14.0, "dense": 0.4, "layer.1": 0.2, "layer.0": 0.3},),
    ],
    mistakes={
        "this is the array with the fewest digits: look for the first one": (
            lambda agree: min(agree, key=agree.get)
        ),
        "this is the last wrong array, at the bottom: what is wrong above spoils it": (
            lambda agree: [name for name, digits in agree.items() if digits < 8][-1]
        ),
        "this is the last right array: the first wrong one comes after it": (
            lambda agree: [name for name, digits in agree.items() if digits >= 8][-1]
        ),
        "these are the digits: return the name": (
            lambda agree: next(digits for digits in agree.values() if digits < 8)
        ),
    },
)
