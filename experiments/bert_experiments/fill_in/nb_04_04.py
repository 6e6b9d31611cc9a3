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


def f1_of_overlap(said: list[str], right: list[str], both: int) -> float:
    return 2 * both / (len(said) + len(right))


def in_both(said: list[str], right: list[str]) -> int:
    return (Counter(said) & Counter(right)).total()


words_f1 = FillIn(
    "words_f1",
    reference=lambda said, right: f1_of_overlap(said, right, in_both(said, right)),
    instead="the formula above",
    inputs=[
        (["red", "coat"], ["red", "woolen", "coat"]),
        (["red", "red", "blue"], ["red", "coat"]),
        (["cook"], ["doctor"]),
    ],
    mistakes={
        "this is precision alone": lambda said, right: in_both(said, right) / len(said),
        "this is recall alone": lambda said, right: in_both(said, right) / len(right),
        "a word that is said twice counts twice; it is there once": (
            lambda said, right: f1_of_overlap(said, right, sum(word in right for word in said))
        ),
        "this is the share of all different words that both have": (
            lambda said, right: len(set(said) & set(right)) / len(set(said) | set(right))
        ),
    },
)

THRESHOLDS = np.array([-2.0, 0.0, 1.0, 3.0])
MARKS = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])

choose = FillIn(
    "choose",
    reference=lambda thresholds, marks: thresholds[marks.mean(axis=1).argmax()],
    instead="the first threshold with the best mean",
    inputs=[(THRESHOLDS, MARKS), (THRESHOLDS[::-1].copy(), MARKS)],
    mistakes={
        "this is the place of the best threshold, not the threshold itself": (
            lambda thresholds, marks: int(marks.mean(axis=1).argmax())
        ),
        "this is the best mean mark, not the threshold that gives it": (
            lambda thresholds, marks: marks.mean(axis=1).max()
        ),
        "the mean runs over the thresholds: the questions are in axis 1": (
            lambda thresholds, marks: thresholds[marks.mean(axis=0).argmax()]
        ),
        "of equals the first is asked for, this is the last": (
            lambda thresholds, marks: thresholds[::-1][marks.mean(axis=1)[::-1].argmax()]
        ),
    },
)
