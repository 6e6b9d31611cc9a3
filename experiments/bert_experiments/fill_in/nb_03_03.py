"""Fill-ins of 03/03, pretraining."""

import math

import numpy as np

from bert_experiments.fill_in import FillIn

COUNTS = np.array([8, 4, 2, 2, 0])
EQUAL = np.array([5, 5, 5, 5])


def entropy_of(counts: np.ndarray) -> float:
    frequencies = counts[counts > 0] / counts.sum()
    return float(-(frequencies * np.log(frequencies)).sum())


def quietly(function):
    """The function with NumPy's warnings off, for a mistake that takes the logarithm of 0."""

    def quiet(*args):
        with np.errstate(all="ignore"):
            return function(*args)

    return quiet


unigram_loss = FillIn(
    "unigram_loss",
    reference=entropy_of,
    instead="the formula above",
    inputs=[(COUNTS,), (EQUAL,), (np.array([0, 3, 1]),)],
    mistakes={
        "this is ln V, the loss of guessing: use the words' frequencies": (
            lambda counts: math.log(len(counts))
        ),
        "a word with frequency 0 gives 0 · ln 0, which is nan: leave it out": quietly(
            lambda counts: -(counts / counts.sum() * np.log(counts / counts.sum())).sum()
        ),
        "the sign: a loss is not negative": lambda counts: -entropy_of(counts),
        "the surprise of each word is weighted by its frequency; this is the plain mean": (
            lambda counts: -np.log(counts[counts > 0] / counts.sum()).mean()
        ),
        "this is in bits: take the natural logarithm": lambda counts: (
            entropy_of(counts) / math.log(2)
        ),
    },
)


def curve(*losses: float) -> list[dict]:
    return [{"step": 10 * i, "train_mlm_loss": loss} for i, loss in enumerate(losses, 1)]


RESTS = curve(6.2, 5.0, 4.45, 4.30, 4.38, 4.20, 3.9, 3.0)
NEVER = curve(6.2, 6.1, 6.0)
MIXED = [*RESTS[:4], {"step": 45, "heldout_mlm_loss": 4.3}, *RESTS[4:]]


def steps_within(metrics: list[dict], entropy: float, width: float) -> list[int]:
    losses = [(entry["step"], entry["train_mlm_loss"]) for entry in metrics
              if "train_mlm_loss" in entry]  # fmt: skip
    return [step for step, loss in losses if abs(loss - entropy) <= width]


def first_and_last(steps: list[int]) -> tuple[int, int] | None:
    return (steps[0], steps[-1]) if steps else None


plateau = FillIn(
    "plateau",
    reference=lambda metrics, entropy, width: first_and_last(steps_within(metrics, entropy, width)),
    instead="the rule above",
    inputs=[(RESTS, 4.33, 0.15), (RESTS, 4.33, 0.05), (MIXED, 4.33, 0.15)],
    mistakes={
        "a loss below the line belongs to the band, too: take the absolute difference": (
            lambda metrics, entropy, width: first_and_last(
                [step for step in steps_within(metrics, entropy, width)
                 if {e["step"]: e.get("train_mlm_loss", 9) for e in metrics}[step] >= entropy]
            )
        ),
        "this is the number of steps in the band: return the first and the last": (
            lambda metrics, entropy, width: len(steps_within(metrics, entropy, width))
        ),
        "these are all steps below the line, not those near it": (
            lambda metrics, entropy, width: first_and_last(
                [e["step"] for e in metrics if e.get("train_mlm_loss", 99) <= entropy + width]
            )
        ),
    },
)  # fmt: skip

MLM, NSP = "heldout_mlm_loss", "heldout_nsp_loss"
RUN = [
    *curve(6.2, 4.4, 3.0, 2.0, 1.2),
    {"step": 10, MLM: 5.0, NSP: 0.69},
    {"step": 20, MLM: 3.5, NSP: 0.66},
    {"step": 30, MLM: 3.2, NSP: 0.9},
    {"step": 40, MLM: 3.6, NSP: 1.3},
]
RISES = [{"step": 10, MLM: 3.0, NSP: 0.7}, {"step": 20, MLM: 4.0, NSP: 0.6}]


def with_key(metrics: list[dict], key: str) -> list[dict]:
    return [entry for entry in metrics if key in entry]


def lowest(metrics: list[dict], key: str) -> dict:
    return min(with_key(metrics, key), key=lambda entry: entry[key])


best_step = FillIn(
    "best_step",
    reference=lambda metrics, key: lowest(metrics, key)["step"],
    instead="the rule above",
    inputs=[(RUN, MLM), (RUN, NSP), (RISES, MLM)],
    mistakes={
        "this is the lowest loss: return its step": lambda metrics, key: lowest(metrics, key)[key],
        "this is the last measurement: an overfitting run has passed its best by then": (
            lambda metrics, key: with_key(metrics, key)[-1]["step"]
        ),
        "this is the step of the highest loss": (
            lambda metrics, key: max(with_key(metrics, key), key=lambda entry: entry[key])["step"]
        ),
    },
)


def decide(loss: float, vocab: int, entropy: float) -> str:
    if loss > math.log(vocab) + 0.5:
        return "initialization"
    if loss > entropy + 0.3:
        return "nothing learned"
    return "plateau" if loss > entropy - 0.3 else "learning"


diagnosis = FillIn(
    "diagnosis",
    reference=decide,
    instead="the table above",
    inputs=[
        (37.0, 8_192, 6.98), (9.0, 8_192, 6.98), (7.0, 8_192, 6.98), (6.8, 8_192, 6.98),
        (3.9, 8_192, 6.98), (7.0, 30_522, 9.0), (8.9, 30_522, 9.0),
    ],
    mistakes={
        "on the plateau the loss may lie a little below the entropy, too": (
            lambda loss, vocab, entropy: (
                "learning" if loss < entropy else decide(loss, vocab, entropy)
            )
        ),
        "compare with the entropy of the words, not only with ln V": (
            lambda loss, vocab, entropy: (
                "initialization" if loss > math.log(vocab) + 0.5
                else "nothing learned" if loss > math.log(vocab) - 0.5 else "learning"
            )
        ),
        "a loss far above ln V is worse than guessing: it has an answer of its own": (
            lambda loss, vocab, entropy: decide(min(loss, math.log(vocab)), vocab, entropy)
        ),
    },
)  # fmt: skip
