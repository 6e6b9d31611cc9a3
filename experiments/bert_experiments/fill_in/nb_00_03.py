"""Fill-ins of 00/03, what the model sees."""

from collections.abc import Callable

import numpy as np

from bert_experiments.fill_in import FillIn

ROW = ["[CLS]", "the", "crane", ".", "[SEP]", "it", "purr", "##ed", ".", "[SEP]", "[PAD]", "[PAD]"]


def unless(*special: str) -> Callable[[list[str]], list[bool]]:
    return lambda tokens: [token not in special for token in tokens]


candidates = FillIn(
    "candidates",
    reference=unless("[CLS]", "[SEP]", "[PAD]"),
    instead="the right answer",
    inputs=[(ROW,), (ROW[:5],), (["[CLS]", "[UNK]", "[", "1", "]", "[SEP]"],)],
    mistakes={
        "padding may not be masked: it is no text": unless("[CLS]", "[SEP]"),
        "[SEP] may not be masked: where it stands says nothing about the language": unless(
            "[CLS]", "[PAD]"
        ),
        "[CLS] may not be masked: it stands for no word": unless("[SEP]", "[PAD]"),
        "inverted: True where a token may be masked": (
            lambda tokens: [token in ("[CLS]", "[SEP]", "[PAD]") for token in tokens]
        ),
        "a bracket does not make a token special: [UNK] and a [ of the text are candidates too": (
            lambda tokens: [not token.startswith("[") for token in tokens]
        ),
        "periods are candidates too: only [CLS], [SEP] and [PAD] are not": unless(
            "[CLS]", "[SEP]", "[PAD]", "."
        ),
    },
)


def tenths(*bounds: tuple[float, str], otherwise: str) -> Callable[[float], str]:
    """The first fate whose bound is above the draw."""
    return lambda draw: next((fate for bound, fate in bounds if draw < bound), otherwise)


fate_of = FillIn(
    "fate_of",
    reference=tenths((0.8, "masked"), (0.9, "random"), otherwise="kept"),
    instead="the right answer",
    inputs=[(0.05,), (0.3,), (0.79,), (0.81,), (0.85,), (0.95,), (0.99,)],
    mistakes={
        "no draw becomes random: a number below 0.1 is below 0.8 too, so compare with 0.9": tenths(
            (0.8, "masked"), otherwise="kept"
        ),
        "no draw is kept: the last tenth of the numbers is for it": tenths(
            (0.8, "masked"), otherwise="random"
        ),
        "the last two are swapped: 0.8 to 0.9 is random, 0.9 to 1 is kept": tenths(
            (0.8, "masked"), (0.9, "kept"), otherwise="random"
        ),
        "these are other tenths of the numbers; the check wants masked, random, kept from 0 up": (
            tenths((0.1, "kept"), (0.2, "random"), otherwise="masked")
        ),
    },
)

DRAWS = np.array([0.01, 0.7, 0.2, 0.9, 0.02, 0.4, 0.1])
MAY = np.array([False, True, True, True, False, True, True])

smallest = FillIn(
    "smallest",
    reference=lambda draws, may, count: np.argsort(np.where(may, draws, 2.0))[:count],
    instead="the right answer",
    inputs=[(DRAWS, MAY, 2), (DRAWS, MAY, 3), (DRAWS[::-1].copy(), MAY[::-1].copy(), 1)],
    mistakes={
        "positions that are no candidates are selected: give them a draw of 2 first": (
            lambda draws, may, count: np.argsort(draws)[:count]
        ),
        "these are the largest draws: argsort begins with the smallest": (
            lambda draws, may, count: np.argsort(np.where(may, draws, -1.0))[::-1][:count]
        ),
        "these are the draws, not their positions: use np.argsort": (
            lambda draws, may, count: np.sort(np.where(may, draws, 2.0))[:count]
        ),
        "a position that is no candidate gets 0, the smallest draw of all: give it 2": (
            lambda draws, may, count: np.argsort(np.where(may, draws, 0.0), kind="stable")[:count]
        ),
        "these are positions among the candidates: the row has other tokens between them": (
            lambda draws, may, count: np.argsort(draws[may])[:count]
        ),
    },
)


def labels_with(rest: int, *, all_slots: bool = False) -> Callable[..., np.ndarray]:
    def labels(
        positions: np.ndarray, ids: np.ndarray, weights: np.ndarray, length: int
    ) -> np.ndarray:
        found = np.full(length, rest)
        for position, token, weight in zip(positions, ids, weights, strict=True):
            if weight or all_slots:
                found[position] = token
        return found

    return labels


labels_of = FillIn(
    "labels_of",
    reference=labels_with(-100),
    instead="the right answer",
    inputs=[
        (np.array([6, 2, 0]), np.array([10, 6, 0]), np.array([1, 1, 0]), 8),
        (np.array([1, 3, 0, 0]), np.array([5, 8, 0, 0]), np.array([1, 1, 0, 0]), 5),
    ],
    mistakes={
        "an empty slot has position 0, so [CLS] got a label: look at the weights": labels_with(
            -100, all_slots=True
        ),
        "0 is the id of [PAD]: where nothing is predicted, the label is -100": labels_with(0),
        "these are the weights along the row: put the ids there": (
            lambda positions, ids, weights, length: np.where(
                np.isin(np.arange(length), positions[weights > 0]), 1, -100
            )
        ),
    },
)
