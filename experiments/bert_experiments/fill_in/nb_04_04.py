"""Fill-ins of 04/04, where is the answer?"""

from collections import Counter

import numpy as np

from bert_experiments.fill_in import FillIn

START = np.array([0.5, 1.0, -2.0, 0.0, 2.5, 3.0])
END = np.array([-2.0, 3.5, -1.0, -2.0, 0.0, 3.0])


def spans_with_scores(
    start: np.ndarray, end: np.ndarray, shortest: int, longest: int
) -> list[tuple]:
    return [
        (float(start[first] + end[last]), first, last)
        for first in range(len(start))
        for last in range(len(end))
        if shortest <= last - first + 1 <= longest
    ]


def best_of(start: np.ndarray, end: np.ndarray, longest: int) -> tuple[int, int]:
    _, first, last = max(spans_with_scores(start, end, 1, longest), key=lambda each: each[0])
    return first, last


best_span = FillIn(
    "best_span",
    reference=best_of,
    instead="the largest allowed sum",
    inputs=[
        (START, END, 4),
        (np.array([3.0, 0.0, 0.0, 0.0]), np.array([-2.0, 0.0, 1.0, 2.0]), 2),
        (np.array([0.0, 1.0, 2.0]), np.array([4.0, 1.0, 0.0]), 3),
    ],
    mistakes={
        "start and end are chosen one by one: the end may come before the start": (
            lambda start, end, longest: (int(start.argmax()), int(end.argmax()))
        ),
        "spans that run backwards are allowed": (
            lambda start, end, longest: max(
                spans_with_scores(start, end, -99, longest), key=lambda e: e[0]
            )[1:]
        ),
        "the length is not limited": lambda start, end, longest: best_of(start, end, 99),
        "a span of one word has length 1: last - first + 1": (
            lambda start, end, longest: best_of(start, end, longest + 1)
        ),
        "spans of one word are left out": (
            lambda start, end, longest: max(
                spans_with_scores(start, end, 2, longest), key=lambda e: e[0]
            )[1:]
        ),
    },
)


def begins(tokens: int, room: int, stride: int) -> list[int]:
    firsts = [0]
    while firsts[-1] + room < tokens:
        firsts.append(firsts[-1] + stride)
    return firsts


windows = FillIn(
    "windows",
    reference=begins,
    instead="the loop described above",
    inputs=[(30, 14, 6), (10, 14, 6), (20, 14, 6)],
    mistakes={
        "windows go on after one has reached the end": (
            lambda tokens, room, stride: list(range(0, tokens, stride))
        ),
        "the last tokens are in no window": (
            lambda tokens, room, stride: begins(tokens, room, stride)[:-1] if tokens > room else [0]
        ),
        "windows begin every `room` tokens, so they do not overlap": (
            lambda tokens, room, stride: begins(tokens, room, room)
        ),
        "one window too many: the one before already reaches the end": (
            lambda tokens, room, stride: [
                *begins(tokens, room, stride),
                begins(tokens, room, stride)[-1] + stride,
            ]
        ),
    },
)


def f1_of_overlap(found: list[str], right: list[str], both: int) -> float:
    return 2 * both / (len(found) + len(right))


def in_both(found: list[str], right: list[str]) -> int:
    return (Counter(found) & Counter(right)).total()


words_f1 = FillIn(
    "words_f1",
    reference=lambda found, right: f1_of_overlap(found, right, in_both(found, right)),
    instead="the formula above",
    inputs=[
        (["red", "coat"], ["red", "woolen", "coat"]),
        (["red", "red", "blue"], ["red", "coat"]),
        (["cook"], ["doctor"]),
    ],
    mistakes={
        "this is precision alone": lambda found, right: in_both(found, right) / len(found),
        "this is recall alone": lambda found, right: in_both(found, right) / len(right),
        "a word that is predicted twice counts twice; the right answer has it once": (
            lambda found, right: f1_of_overlap(found, right, sum(word in right for word in found))
        ),
        "this is the fraction of all different words that both have": (
            lambda found, right: len(set(found) & set(right)) / len(set(found) | set(right))
        ),
    },
)

THRESHOLDS = np.array([-2.0, 0.0, 1.0, 3.0])
SCORES = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])

choose = FillIn(
    "choose",
    reference=lambda thresholds, scores: thresholds[scores.mean(axis=1).argmax()],
    instead="the first threshold with the best mean",
    inputs=[(THRESHOLDS, SCORES), (THRESHOLDS[::-1].copy(), SCORES)],
    mistakes={
        "this is the index of the best threshold, not the threshold itself": (
            lambda thresholds, scores: int(scores.mean(axis=1).argmax())
        ),
        "this is the best mean score, not the threshold that gives it": (
            lambda thresholds, scores: scores.mean(axis=1).max()
        ),
        "the mean runs over the thresholds: the questions are in axis 1": (
            lambda thresholds, scores: thresholds[scores.mean(axis=0).argmax()]
        ),
        "of equal means, return the first threshold; this is the last": (
            lambda thresholds, scores: thresholds[::-1][scores.mean(axis=1)[::-1].argmax()]
        ),
    },
)
