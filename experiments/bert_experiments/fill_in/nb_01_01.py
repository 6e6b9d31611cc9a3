"""Fill-ins of 01/01, softmax and cross-entropy."""

import numpy as np

from bert_experiments.fill_in import FillIn
from bert_numpy.operations import softmax_backward as package_backward
from bert_numpy.operations import softmax_forward

SCORES = np.array([2.0, 1.0, -1.0])
LARGE = np.array([1002.0, 1001.0, 999.0])
FAR_APART = np.array([0.0, 1000.0, 0.0])
TABLE = np.array([[1002.0, 1001.0, 999.0], [2.0, 1.0, -1.0]])

softmax = FillIn(
    "softmax",
    reference=lambda scores: softmax_forward(scores)[0],
    instead="bert_numpy.operations.softmax_forward",
    inputs=[(SCORES,), (LARGE,), (TABLE,)],
    mistakes={
        "the exponentials are not divided by their sum": (
            lambda scores: np.exp(scores - scores.max(axis=-1, keepdims=True))
        ),
        "exp overflows: subtract the largest score of each row first": (
            lambda scores: np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
        ),
        "the sum runs over the whole table: each row needs its own, axis=-1, keepdims=True": (
            lambda scores: (
                np.exp(scores - scores.max(axis=-1, keepdims=True))
                / np.exp(scores - scores.max(axis=-1, keepdims=True)).sum()
            )
        ),
        "the largest score of the whole table is subtracted: each row needs its own": (
            lambda scores: (
                np.exp(scores - scores.max())
                / np.exp(scores - scores.max()).sum(axis=-1, keepdims=True)
            )
        ),
    },
)


def log_of_sum(scores: np.ndarray) -> float:
    largest = scores.max()
    return largest + np.log(np.exp(scores - largest).sum())


surprise = FillIn(
    "surprise",
    reference=lambda scores, truth: log_of_sum(scores) - scores[truth],
    instead="the formula above",
    inputs=[(SCORES, 0), (SCORES, 2), (FAR_APART, 0), (FAR_APART, 1)],
    mistakes={
        "the sign: a surprise is at least 0, and small for a likely word": (
            lambda scores, truth: scores[truth] - log_of_sum(scores)
        ),
        "exp overflows: subtract the largest score first, from the true word's score too": (
            lambda scores, truth: np.log(np.exp(scores).sum()) - scores[truth]
        ),
        "the probability rounds to 0 before its logarithm is taken: use the difference": (
            lambda scores, truth: -np.log(softmax_forward(scores)[0][truth])
        ),
        "the largest score is subtracted inside the sum only, not from the true word's score": (
            lambda scores, truth: log_of_sum(scores - scores.max()) - scores[truth]
        ),
        "this is the logarithm of the sum; the true word's score is missing": (
            lambda scores, truth: log_of_sum(scores)
        ),
    },
)

PROBS = softmax_forward(SCORES)[0].round(3)

back_through_softmax = FillIn(
    "back_through_softmax",
    reference=lambda dout, probs: package_backward(dout, probs),
    instead="bert_numpy.operations.softmax_backward",
    inputs=[
        (np.array([1.0, -2.0, 0.5]), PROBS),
        (np.array([[1.0, -2.0, 0.5], [0.0, 3.0, 1.0]]), np.array([PROBS, [0.25, 0.5, 0.25]])),
    ],
    mistakes={
        "the mean of dout is plain: the probabilities must weight it, (dout * probs).sum()": (
            lambda dout, probs: probs * (dout - dout.mean(axis=-1, keepdims=True))
        ),
        "the factor in front, the probability itself, is missing": (
            lambda dout, probs: dout - (dout * probs).sum(axis=-1, keepdims=True)
        ),
        "only the diagonal p (1 - p) is used: the other probabilities change too": (
            lambda dout, probs: dout * probs * (1 - probs)
        ),
        "the sum runs over the whole table: each row needs its own, axis=-1, keepdims=True": (
            lambda dout, probs: probs * (dout - (dout * probs).sum())
        ),
    },
)

product_backward = FillIn(
    "product_backward",
    reference=lambda dout, cache: (dout * cache[1], dout * cache[0]),
    instead="the rule above",
    inputs=[(2.0, (3.0, 2.0)), (-1.5, (4.0, 0.5))],
    mistakes={
        "the two are swapped: the gradient for w is dout times x": (
            lambda dout, cache: (dout * cache[0], dout * cache[1])
        ),
        "dout is missing: these are only the speeds of this one step": (
            lambda dout, cache: (cache[1], cache[0])
        ),
        "a gradient contains the other input alone: w * x is the forward pass": (
            lambda dout, cache: (dout * cache[0] * cache[1],) * 2
        ),
    },
)
