"""Fill-ins of 04/02, pairs and numbers."""

import numpy as np

from bert_experiments.fill_in import FillIn

A = [7, 8, 9]
B = [4, 5]


def packed(a: list[int], b: list[int], cls: int = 2, sep: int = 3) -> tuple[list, list]:
    return [cls, *a, sep, *b, sep], [0] * (len(a) + 2) + [1] * (len(b) + 1)


pair_row = FillIn(
    "pair_row",
    reference=packed,
    instead="[CLS] A [SEP] B [SEP]",
    inputs=[(A, B, 2, 3), (B, [6], 2, 3)],
    mistakes={
        "all segments are 0: the tokens of B and its [SEP] have 1": (
            lambda a, b, cls, sep: (packed(a, b)[0], [0] * (len(a) + len(b) + 3))
        ),
        "the last [SEP] is missing": (
            lambda a, b, cls, sep: (packed(a, b)[0][:-1], packed(a, b)[1][:-1])
        ),
        "the [SEP] after A belongs to A: its segment is 0": (
            lambda a, b, cls, sep: (packed(a, b)[0], [0] * (len(a) + 1) + [1] * (len(b) + 2))
        ),
        "the last [SEP] belongs to B: its segment is 1": (
            lambda a, b, cls, sep: (packed(a, b)[0], [0] * (len(a) + 2) + [1] * len(b) + [0])
        ),
    },
)

expected_score = FillIn(
    "expected_score",
    reference=(1 + 1) / 3,
    instead="the right number",
    mistakes={
        "only one of the three kinds is counted: the first two together give a + 1 - a, and the "
        "third is always right": 1 / 3,
        "half of the first two kinds is right, but of the third kind all pairs are": 1 / 2,
        "this is a model that compares the right color; the theory's cannot tell the second kind "
        "from the first": 1.0,
    },
)

HUMAN = np.array([0.0, 1.0, 2.0, 3.0, 5.0])
MODEL = np.array([1.0, 1.5, 1.2, 1.6, 9.0])


def centered(x: np.ndarray) -> np.ndarray:
    return x - x.mean()


def correlation(human: np.ndarray, model: np.ndarray) -> float:
    x, y = centered(human), centered(model)
    return (x * y).sum() / np.sqrt((x**2).sum() * (y**2).sum())


pearson_by_hand = FillIn(
    "pearson_by_hand",
    reference=correlation,
    instead="the formula above",
    inputs=[(HUMAN, MODEL), (MODEL[:3], HUMAN[:3])],
    mistakes={
        "the means are not subtracted": lambda human, model: (
            (human * model).sum() / np.sqrt((human**2).sum() * (model**2).sum())
        ),
        "this is the sum of products: divide by both lengths": (
            lambda human, model: (centered(human) * centered(model)).sum()
        ),
        "the square root is missing": lambda human, model: (
            (centered(human) * centered(model)).sum()
            / ((centered(human) ** 2).sum() * (centered(model) ** 2).sum())
        ),
        "this is its square": lambda human, model: correlation(human, model) ** 2,
    },
)


def ranks_of(x: np.ndarray) -> np.ndarray:
    return np.argsort(np.argsort(x)).astype(float)


spearman_by_hand = FillIn(
    "spearman_by_hand",
    reference=lambda human, model: correlation(ranks_of(human), ranks_of(model)),
    instead="Pearson of the ranks",
    inputs=[(HUMAN, MODEL), (np.array([2.0, 3.0, 4.0, 1.0]), np.array([1.0, 2.0, 9.0, 5.0]))],
    mistakes={
        "this is Pearson of the numbers: replace them by their ranks first": correlation,
        "argsort gives the order, not the ranks: take argsort of argsort": (
            lambda human, model: correlation(np.argsort(human), np.argsort(model))
        ),
        "only one of the two is replaced by its ranks": (
            lambda human, model: correlation(human, ranks_of(model))
        ),
    },
)
