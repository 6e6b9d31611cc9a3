"""Fill-ins of 01/07, training in NumPy."""

import numpy as np

from bert_experiments.fill_in import FillIn
from bert_run.training_loop import learning_rate

DRAWS = np.array([0.42, 0.11, 0.93, 0.05, 0.27, 0.64, 0.19, 0.08])
MAY = np.array([False, True, True, True, True, False, True, False])


def smallest(draws: np.ndarray, may: np.ndarray, count: int) -> np.ndarray:
    return np.sort(np.argsort(np.where(may, draws, 2))[:count])


choose = FillIn(
    "choose",
    reference=smallest,
    instead="the smallest draws as above",
    inputs=[(DRAWS, MAY, 3), (DRAWS[::-1].copy(), MAY, 2)],
    mistakes={
        "tokens that may not be masked are among them: use `may`": (
            lambda draws, may, count: smallest(draws, np.ones_like(may), count)
        ),
        "these are the largest draws": (
            lambda draws, may, count: np.sort(np.argsort(np.where(may, -draws, 2))[:count])
        ),
        "these are indices among the candidates alone: they must be positions in the row": (
            lambda draws, may, count: np.sort(np.argsort(draws[may])[:count])
        ),
        "the positions are in the order of their draws: sort them": (
            lambda draws, may, count: np.argsort(np.where(may, draws, 2))[:count]
        ),
    },
)


def step_of(w, g, m, v, rate, *, decay=0.01, outside=True, root=0.5, square=2):
    if not outside:
        g = g + decay * w
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**square
    direction = m / (abs(v) ** root + 1e-6)
    return w - rate * (direction + (decay * w if outside else 0)), m, v


adam_step = FillIn(
    "adam_step",
    reference=step_of,
    instead="the two lines above",
    inputs=[(2.0, 0.5, 0.0, 0.0, 0.1), (-1.0, 0.25, 0.1, 0.04, 0.01)],
    mistakes={
        "the weight decay is missing": (
            lambda w, g, m, v, rate: step_of(w, g, m, v, rate, decay=0)
        ),
        "the decay went into the gradient, where the division scales it: it stands outside": (
            lambda w, g, m, v, rate: step_of(w, g, m, v, rate, outside=False)
        ),
        "the root of v is missing": lambda w, g, m, v, rate: step_of(w, g, m, v, rate, root=1),
        "v is the mean of the gradient's square": (
            lambda w, g, m, v, rate: step_of(w, g, m, v, rate, square=1)
        ),
        "the step uses the gradient itself: it goes along m": (
            lambda w, g, m, v, rate: (
                w - rate * (g / (step_of(w, g, m, v, rate)[2] ** 0.5 + 1e-6) + 0.01 * w),
                *step_of(w, g, m, v, rate)[1:],
            )
        ),
    },
)

rate_at = FillIn(
    "rate_at",
    reference=lambda step, peak, warmup, total: learning_rate(
        step, peak=peak, warmup_steps=warmup, total_steps=total
    ),
    instead="bert_run.training_loop.learning_rate",
    inputs=[(0, 1.0, 10, 50), (9, 1.0, 10, 50), (10, 2.0, 10, 50), (40, 2.0, 10, 50)],
    mistakes={
        "the first step has a rate of zero: it is peak / warmup": (
            lambda step, peak, warmup, total: (
                peak * step / warmup if step < warmup else peak * (total - step) / (total - warmup)
            )
        ),
        "the rate stays at the peak: it falls to 0 at the last step": (
            lambda step, peak, warmup, total: peak * min(1, (step + 1) / warmup)
        ),
        "the line falls from step 0 on: its slope begins after the warm-up, total - warmup": (
            lambda step, peak, warmup, total: (
                peak * (step + 1) / warmup if step < warmup else peak * (total - step) / total
            )
        ),
    },
)

TOO_LONG = {"a": np.array([3.0, 0.0]), "b": np.array([[0.5], [-4.0]])}
SHORT = {"a": np.array([0.3, 0.1])}


def length_of(gradients: dict) -> float:
    return sum((g**2).sum() for g in gradients.values()) ** 0.5


def by_one_factor(gradients: dict, longest: float) -> dict:
    factor = min(1, longest / length_of(gradients))
    return {name: factor * g for name, g in gradients.items()}


clipped = FillIn(
    "clipped",
    reference=by_one_factor,
    instead="one factor, as in bert_numpy.optimizer.clip_gradients",
    inputs=[(TOO_LONG, 1.0), (SHORT, 1.0), (TOO_LONG, 2.0)],
    mistakes={
        "each array is shortened by itself: one factor for all of them": (
            lambda gradients, longest: {
                name: min(1, longest / length_of({name: g})) * g for name, g in gradients.items()
            }
        ),
        "short gradients are made longer: the factor is at most 1": (
            lambda gradients, longest: {
                name: longest / length_of(gradients) * g for name, g in gradients.items()
            }
        ),
        "each number is cut off: that changes the direction": (
            lambda gradients, longest: {
                name: np.clip(g, -longest, longest) for name, g in gradients.items()
            }
        ),
        "the root is missing: the length is the root of the sum of squares": (
            lambda gradients, longest: {
                name: min(1, longest / length_of(gradients) ** 2) * g
                for name, g in gradients.items()
            }
        ),
    },
)
