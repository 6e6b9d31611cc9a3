"""Fill-ins of 00/00, what BERT is."""

import numpy as np

from bert_experiments.fill_in import FillIn

frame = FillIn(
    "frame",
    reference=lambda a, b: ["[CLS]", *a, "[SEP]", *b, "[SEP]"],
    instead="the right answer",
    inputs=[(["the", "crane"], ["it", "stood"]), (["fish"], [])],
    mistakes={
        "the last [SEP] is missing: it ends every text, B too": (
            lambda a, b: ["[CLS]", *a, "[SEP]", *b]
        ),
        "the [SEP] between A and B is missing": lambda a, b: ["[CLS]", *a, *b, "[SEP]"],
        "[CLS] is missing at the beginning": lambda a, b: [*a, "[SEP]", *b, "[SEP]"],
        "[CLS] begins the row once, not each text": (
            lambda a, b: ["[CLS]", *a, "[SEP]", "[CLS]", *b, "[SEP]"]
        ),
        "the tokens of A and B go into the row one by one, not as lists: write *a and *b": (
            lambda a, b: ["[CLS]", a, "[SEP]", b, "[SEP]"]
        ),
    },
)

similarity = FillIn(
    "similarity",
    reference=lambda u, v: (u @ v) / (np.linalg.norm(u) * np.linalg.norm(v)),
    instead="the right answer",
    inputs=[
        (np.array([3.0, 4.0]), np.array([4.0, 3.0])),
        (np.array([1.0, 2.0, 2.0]), np.array([-2.0, 0.0, 1.0])),
        (np.array([2.0, 0.0]), np.array([-0.5, 0.0])),
    ],
    mistakes={
        "this is the sum of the products: divide it by both lengths": lambda u, v: u @ v,
        "the lengths are not square roots yet": lambda u, v: (u @ v) / ((u @ u) * (v @ v)),
        "it is divided by one length only": lambda u, v: (u @ v) / np.linalg.norm(u),
        "the products are not added up": (
            lambda u, v: u * v / (np.linalg.norm(u) * np.linalg.norm(v))
        ),
    },
)

TRUTHS = ["crane", "river", "fish", "cat"]

accuracy = FillIn(
    "accuracy",
    reference=lambda guesses, truths: (
        sum(guess == truth for guess, truth in zip(guesses, truths, strict=True)) / len(truths)
    ),
    instead="the right answer",
    inputs=[
        (["crane", "cat", "fish", "cat"], TRUTHS),
        (["river", "crane", "cat", "fish"], TRUTHS),
    ],
    mistakes={
        "this is how many are right: divide by how many there are": (
            lambda guesses, truths: sum(g == t for g, t in zip(guesses, truths, strict=True))
        ),
        "this is the fraction that is wrong": (
            lambda guesses, truths: (
                sum(g != t for g, t in zip(guesses, truths, strict=True)) / len(truths)
            )
        ),
        "a guess must be equal to the truth at the same position, not to any truth": (
            lambda guesses, truths: sum(g in truths for g in guesses) / len(truths)
        ),
    },
)
