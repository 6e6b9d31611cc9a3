"""Fill-ins of 03/08, when pretraining goes wrong."""

import numpy as np

from bert_experiments.fill_in import FillIn


def scaled_step(gradient: np.ndarray, factor: float, epsilon: float) -> np.ndarray:
    scaled = factor * gradient
    return scaled / (np.abs(scaled) + epsilon)


GRADIENT = np.array([0.02, -0.001, 0.0004])

first_step = FillIn(
    "first_step",
    reference=scaled_step,
    instead="the formula above",
    inputs=[(GRADIENT, 1.0, 1e-6), (GRADIENT, 1e-3, 1e-6), (GRADIENT, 1e-6, 1e-6)],
    tolerance=1e-9,
    mistakes={
        "epsilon is not scaled: only the gradient is": (
            lambda gradient, factor, epsilon: scaled_step(gradient, 1.0, epsilon)
        ),
        "without epsilon every step is 1: add it to the denominator": (
            lambda gradient, factor, epsilon: np.sign(gradient)
        ),
        "the step keeps the sign of the gradient: only the denominator has an absolute value": (
            lambda gradient, factor, epsilon: np.abs(scaled_step(gradient, factor, epsilon))
        ),
        "this is the step of plain gradient descent: divide by its size": (
            lambda gradient, factor, epsilon: factor * gradient
        ),
    },
)

FALLS = ([6.0, 4.0, 3.0, 2.0], [6.1, 4.1, 3.2, 2.4])
PARTS = ([6.0, 4.0, 3.0, 2.0, 1.0], [6.1, 4.1, 3.6, 3.7, 4.2])
LATE = ([6.0, 4.5, 4.0, 3.5, 3.2, 2.5], [6.0, 4.6, 4.2, 4.3, 4.1, 4.4])


def rise(train: list[float], heldout: list[float]) -> float:
    return heldout[-1] - min(heldout)


lost_since_best = FillIn(
    "lost_since_best",
    reference=rise,
    instead="the rule above",
    inputs=[FALLS, PARTS, LATE],
    mistakes={
        "this is the gap between both losses at the end: compare held-out with held-out": (
            lambda train, heldout: heldout[-1] - train[-1]
        ),
        "this is how far the held-out loss fell from its start": (
            lambda train, heldout: heldout[0] - heldout[-1]
        ),
        "the sign: how much higher is the last loss than the lowest?": (
            lambda train, heldout: min(heldout) - heldout[-1]
        ),
    },
)

tokens_per_parameter = FillIn(
    "tokens_per_parameter",
    reference=lambda steps, batch, seq, parameters: steps * batch * seq / parameters,
    instead="the quotient above",
    inputs=[(1_000_000, 256, 166.4, 110e6), (300, 32, 32, 140_000), (7_250, 64, 64, 5_500_000)],
    mistakes={
        "these are rows for each parameter: a row has `seq` tokens": (
            lambda steps, batch, seq, parameters: steps * batch / parameters
        ),
        "upside down: tokens divided by parameters": (
            lambda steps, batch, seq, parameters: parameters / (steps * batch * seq)
        ),
        "this is the number of tokens alone: divide by the parameters": (
            lambda steps, batch, seq, parameters: steps * batch * seq
        ),
    },
)

per_character = FillIn(
    "per_character",
    reference=lambda loss, pieces, characters: loss * pieces / characters,
    instead="the formula above",
    inputs=[(1.7, 8_000, 37_000), (1.2, 16_000, 37_000), (2.0, 100, 400)],
    mistakes={
        "upside down: a text has more characters than pieces, so the loss of one is smaller": (
            lambda loss, pieces, characters: loss * characters / pieces
        ),
        "this is the loss of the whole text: divide by its characters": (
            lambda loss, pieces, characters: loss * pieces
        ),
        "all pieces share the loss of the text, but it is summed over pieces first: multiply": (
            lambda loss, pieces, characters: loss / characters
        ),
    },
)

TOLD = ["the crane stood .", "it caught a fish .", "the bank was green ."]
HELDOUT = ["the crane stood .", "a swan looked on .", "the crane stood .", "it was may ."]

leaked_share = FillIn(
    "leaked_share",
    reference=lambda train, heldout: sum(s in set(train) for s in heldout) / len(heldout),
    instead="the rule above",
    inputs=[(TOLD, HELDOUT), (HELDOUT, TOLD), (TOLD, TOLD), (TOLD, ["no ."])],
    mistakes={
        "divide by the number of held-out sentences: they are the ones that are measured": (
            lambda train, heldout: sum(s in set(train) for s in heldout) / len(train)
        ),
        "a sentence that comes twice counts twice: a set forgets that": (
            lambda train, heldout: len(set(train) & set(heldout)) / len(set(heldout))
        ),
        "this is the fraction that is new: count the others": (
            lambda train, heldout: sum(s not in set(train) for s in heldout) / len(heldout)
        ),
    },
)
