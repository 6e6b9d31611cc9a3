"""Values of words as colours: pale for little, full for the most that any word of the row has.

Blue speaks for the answer, orange against it; green is attention. The three are told apart by the
colour-blind (Okabe and Ito 2008); the numbers stand beside them.
"""

from collections.abc import Sequence

import numpy as np

from bert_experiments.attributions.looks import WordValues
from bert_experiments.attributions.words import Word

Colour = tuple[int, int, int]  # red, green, blue, to 255

WHITE: Colour = (255, 255, 255)
FOR: Colour = (86, 180, 233)
AGAINST: Colour = (230, 140, 30)
LOOKED_AT: Colour = (60, 180, 130)


def shares_of(words: Sequence[Word], values: WordValues) -> WordValues:
    """Each value as a share of the largest of an ordinary word, from -1 to 1.

    [CLS] and [SEP] do not set the scale, or the attention to [SEP] would leave all words white.
    """
    sizes = [abs(v) for word, v in zip(words, values, strict=True) if not word.is_special]
    return np.clip(values / (max(sizes, default=0.0) or 1.0), -1, 1)


def colours_of(words: Sequence[Word], values: WordValues, *, signed: bool) -> list[Colour]:
    """`signed`: contributions for and against; else shares of attention."""
    return [
        between(WHITE, (FOR if share >= 0 else AGAINST) if signed else LOOKED_AT, abs(share))
        for share in shares_of(words, values).tolist()
    ]


def between(pale: Colour, full: Colour, share: float) -> Colour:
    return tuple(round(a + share * (b - a)) for a, b in zip(pale, full, strict=True))
