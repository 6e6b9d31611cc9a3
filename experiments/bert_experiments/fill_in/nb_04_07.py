"""Fill-ins of 04/07, what BERT became."""

import numpy as np

from bert_experiments.fill_in import FillIn

factorized = FillIn(
    "factorized",
    reference=lambda vocab, hidden, narrow: vocab * narrow + narrow * hidden,
    instead="vocab * narrow + narrow * hidden",
    inputs=[(30_522, 768, 128), (100, 10, 2)],
    mistakes={
        "this is one full table, as BERT has it": lambda vocab, hidden, narrow: vocab * hidden,
        "the matrix that widens the vectors is missing": (
            lambda vocab, hidden, narrow: vocab * narrow
        ),
        "the words need the narrow vectors only: vocab * narrow, not vocab * hidden": (
            lambda vocab, hidden, narrow: vocab * hidden + narrow * hidden
        ),
    },
)

DRAWN = [5, 8, 7, 9]
ORIGINAL = [5, 6, 7, 9]

electra_labels = FillIn(
    "electra_labels",
    reference=lambda seen, original: [int(a != b) for a, b in zip(seen, original, strict=True)],
    instead="a comparison token by token",
    inputs=[(DRAWN, ORIGINAL), (ORIGINAL, ORIGINAL), ([1, 2], [3, 2])],
    mistakes={
        "the labels are the wrong way around: 1 means replaced": (
            lambda seen, original: [int(a == b) for a, b in zip(seen, original, strict=True)]
        ),
        "return one label for each token, not the positions of the replaced ones": (
            lambda seen, original: [
                n for n, (a, b) in enumerate(zip(seen, original, strict=True)) if a != b
            ]
        ),
        "return one label for each token, not the number of replaced ones": (
            lambda seen, original: sum(a != b for a, b in zip(seen, original, strict=True))
        ),
    },
)

QUERY = np.array([1.0, 0.2])


def turned_by_angle(vector: np.ndarray, position: int, speed: float) -> np.ndarray:
    cos, sin = np.cos(speed * position), np.sin(speed * position)
    return np.array([[cos, -sin], [sin, cos]]) @ vector


rotate = FillIn(
    "rotate",
    reference=turned_by_angle,
    instead="the matrix above",
    inputs=[(QUERY, 3, 0.3), (np.array([0.6, 0.7]), 5, 0.1)],
    mistakes={
        "it turns the other way: the minus stands in the first row": (
            lambda vector, position, speed: turned_by_angle(vector, -position, speed)
        ),
        "the speed is not used: the angle is speed times position": (
            lambda vector, position, speed: turned_by_angle(vector, position, 1.0)
        ),
        "the position is not used: the angle is speed times position": (
            lambda vector, position, speed: turned_by_angle(vector, 1, speed)
        ),
        "both signs are plus, so the length changes: this is no rotation": (
            lambda vector, position, speed: (
                np.array(
                    [
                        [np.cos(speed * position), np.sin(speed * position)],
                        [np.sin(speed * position), np.cos(speed * position)],
                    ]
                )
                @ vector
            )
        ),
    },
)

around = FillIn(
    "around",
    reference=lambda length, reach: (
        np.abs(np.arange(length)[:, None] - np.arange(length)[None, :]) <= reach
    ),
    instead="a comparison of distances",
    inputs=[(5, 1), (6, 2)],
    mistakes={
        "a token attends only to its left": (
            lambda length, reach: (
                np.tri(length, dtype=bool) & ~np.tri(length, k=-reach - 1, dtype=bool)
            )
        ),
        "the tokens at exactly that distance are attended to as well: <=": (
            lambda length, reach: (
                np.abs(np.arange(length)[:, None] - np.arange(length)[None, :]) < reach
            )
        ),
        "this is the opposite: True where a token may attend": (
            lambda length, reach: (
                np.abs(np.arange(length)[:, None] - np.arange(length)[None, :]) > reach
            )
        ),
    },
)
