"""Fill-ins of 03/04, ablations read critically."""

from math import comb

import numpy as np

from bert_experiments.fill_in import FillIn

chance_of_a_winner = FillIn(
    "chance_of_a_winner",
    reference=lambda seeds: 1 / comb(2 * seeds, seeds),
    instead="the count above",
    inputs=[(1,), (2,), (3,), (5,)],
    mistakes={
        "this is the number of orders of all runs: the order among equals does not matter": (
            lambda seeds: 1 / np.prod(np.arange(1, 2 * seeds + 1))
        ),
        "the runs are no coin tosses: choose the ranks of one side's runs": (
            lambda seeds: 1 / 2**seeds
        ),
        "this is the number of ways: one of them is the winner's, so divide 1 by it": (
            lambda seeds: comb(2 * seeds, seeds)
        ),
    },
)

A_FALSE_ONE = 1 / 20

false_findings = FillIn(
    "false_findings",
    reference=lambda claims, chance: 1 - (1 - chance) ** claims,
    instead="the formula above",
    inputs=[(1, A_FALSE_ONE), (6, A_FALSE_ONE), (20, A_FALSE_ONE)],
    mistakes={
        "chances of several events do not add up: 30 claims would give more than 1": (
            lambda claims, chance: claims * chance
        ),
        "this is the chance that no claim is a false one": (
            lambda claims, chance: (1 - chance) ** claims
        ),
        "this is the chance that all of them are false ones": (
            lambda claims, chance: chance**claims
        ),
    },
)

ONE = {"median": 0.826, "lowest": 0.819, "highest": 0.849}
TWO = {"median": 0.503, "lowest": 0.477, "highest": 0.526}
SPREAD = {"median": 0.49, "lowest": 0.1, "highest": 0.9}
WIDE = {"median": 0.516, "lowest": 0.342, "highest": 0.549}

verdict = FillIn(
    "verdict",
    reference=lambda better, other: better["lowest"] > other["highest"],
    instead="the rule above",
    inputs=[(ONE, TWO), (TWO, ONE), (WIDE, TWO), (ONE, WIDE), (SPREAD, TWO)],
    mistakes={
        "the medians alone are compared: every run must be better than every other": (
            lambda better, other: better["median"] > other["median"]
        ),
        "the best runs are compared: the worst of one must beat the best of the other": (
            lambda better, other: better["highest"] > other["highest"]
        ),
        "the sides are swapped": lambda better, other: other["lowest"] > better["highest"],
    },
)

SQUARE = {
    ("gelu", 0): 3.745, ("gelu_new", 0): 3.744, ("gelu", 1): 3.515, ("gelu_new", 1): 3.517,
}  # fmt: skip
WIDER = SQUARE | {("gelu", 2): 3.629, ("gelu_new", 2): 3.640}


def differences(found: dict, seeds: list[int]) -> list[float]:
    return [found["gelu_new", seed] - found["gelu", seed] for seed in seeds]


paired_difference = FillIn(
    "paired_difference",
    reference=lambda found, seeds: float(np.mean(differences(found, seeds))),
    instead="the mean of the differences",
    inputs=[(SQUARE, [0, 1]), (WIDER, [0, 1, 2]), (WIDER, [2])],
    tolerance=1e-9,
    mistakes={
        "the seeds are crossed: subtract runs of the same seed": (
            lambda found, seeds: found["gelu_new", seeds[-1]] - found["gelu", seeds[0]]
        ),
        "the sign: gelu_new minus gelu": lambda found, seeds: -np.mean(differences(found, seeds)),
        "this is the difference between seeds": (
            lambda found, seeds: found["gelu", seeds[-1]] - found["gelu", seeds[0]]
        ),
    },
)
