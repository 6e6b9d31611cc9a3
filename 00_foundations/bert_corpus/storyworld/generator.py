"""How a document is made: its kind and its cast are drawn, its sentences told, their labels read.

A kind tells its sentences as plain text with the labeled words in angle brackets:

    "<r:Paris> is the capital of France, where <o:Anna> saw a <-:crane=machine> on the <l:roof>."

`l`, `r`, `b`, `o` say what settles the word: the left of its sentence, its right, both sides
together, another sentence. `-` labels nothing but the sense that follows the `=`.
"""

import random
import zlib
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

SETTLED_BY = {"l": "left", "r": "right", "b": "both", "o": "other", "-": None}
RESERVED_ONE_IN = 10  # this share of the combinations of every kind is kept for held-out documents


@dataclass(frozen=True, slots=True)
class Mark:
    """One labeled word of a sentence: `text[start:end]`, what settles it, and its sense."""

    start: int
    end: int
    settled_by: str | None  # "left" | "right" | "both" | "other" | None
    sense: str | None = None  # "crane:bird", "crane:machine"


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Story:
    kind: str
    combination: tuple[str, ...]  # who, where, what: never the same in train and held-out
    sentences: tuple[Sentence, ...]

    @property
    def text(self) -> str:
        return " ".join(sentence.text for sentence in self.sentences)


class Dice:
    """Choices that depend on a seed alone, the same in every version of Python."""

    __slots__ = ("random",)

    def __init__(self, *seed: object):
        self.random = random.Random("/".join(map(str, seed))).random

    def __call__(self, *options):
        """One of the arguments."""
        return options[int(self.random() * len(options))]

    def pick(self, options: Sequence):
        return options[int(self.random() * len(options))]

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def shuffled(self, *items) -> list:
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            other = int(self.random() * (last + 1))
            order[last], order[other] = order[other], order[last]
        return order

    def several(self, options: Sequence, count: int, *, but: Sequence = ()) -> list:
        """`count` different ones of the options, none of them among `but`."""
        chosen: list = []
        while len(chosen) < count:
            option = self.pick(options)
            if option not in chosen and option not in but:
                chosen.append(option)
        return chosen


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    weight: float  # how often it is told, relative to the others
    cast: tuple[Sequence, ...]  # the tables that its main combination is drawn from
    tell: Callable[..., list[str]]  # marked sentences, of a dice and the members of the cast


KINDS: dict[str, Kind] = {}  # in the order of the files, which is part of what a seed stands for


def read_marks(told: str) -> Sentence:
    """Take the labels out of a told sentence, and begin it with a capital."""
    first, *labeled = told.split("<")
    text, marks = first, []
    for piece in labeled:
        label, _, rest = piece.partition(">")
        word, _, sense = label[2:].partition("=")
        start = len(text)
        text += word + rest
        sense = f"{word.lower()}:{sense}" if sense else None
        marks.append(Mark(start, start + len(word), SETTLED_BY[label[0]], sense))
    return Sentence(text[0].upper() + text[1:], tuple(marks))


def draw(dice: Dice, cast: Sequence[Sequence], name: str, split: str) -> tuple[tuple, tuple]:
    """A cast of different members whose combination belongs to the split."""
    if split not in ("train", "heldout"):
        raise ValueError(f"split {split!r} is neither 'train' nor 'heldout'")
    while True:
        members = tuple(map(dice.pick, cast))
        # A member that is a row of a table goes by its first column.
        combination = tuple(m[0] if isinstance(m, tuple) else str(m) for m in members)
        are_different = len(set(combination)) == len(combination)
        is_reserved = zlib.crc32("|".join((name, *combination)).encode()) % RESERVED_ONE_IN == 0
        if are_different and is_reserved == (split == "heldout"):
            return members, combination


def story(index: int, *, seed: int = 0, split: str = "train", kind: str | None = None) -> Story:
    """Document `index`: a pure function of its arguments."""
    dice = Dice(seed, split, index)
    if kind is None:
        bounds = list(accumulate(kind.weight for kind in KINDS.values()))
        kind = list(KINDS)[bisect(bounds, dice.random() * bounds[-1])]
    chosen = KINDS[kind]
    members, combination = draw(dice, chosen.cast, chosen.name, split)
    sentences = tuple(map(read_marks, chosen.tell(dice, *members)))
    return Story(chosen.name, combination, sentences)


def stories(count: int, *, seed: int = 0, split: str = "train",
            kind: str | None = None) -> Iterator[Story]:  # fmt: skip
    return (story(index, seed=seed, split=split, kind=kind) for index in range(count))
