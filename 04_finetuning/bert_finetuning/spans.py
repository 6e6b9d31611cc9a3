"""The spans of a text with the highest scores: which tokens are the answer to a question.

NumPy alone: exercise 23 compares with it where torch is not installed.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray
from numpy.lib.stride_tricks import sliding_window_view

TokenLogits = Float[ndarray, "tokens"]


class TokenSpan(NamedTuple):
    """From the first token of an answer to its last."""

    first: int
    last: int


def best_spans(start: TokenLogits, end: TokenLogits, may_start: Bool[ndarray, "tokens"], *,
               longest: int, n_best: int) -> Iterator[tuple[float, TokenSpan]]:  # fmt: skip
    """The spans of up to `longest` tokens with the highest scores, the best first. All spans are
    compared; the released code pairs only the `n_best` best starts with the `n_best` best ends, and
    may find none that fit together."""
    if not may_start.any():
        return
    longest = min(longest, len(end))
    ends = np.concatenate([end, np.full(longest - 1, -np.inf)])
    # Row i: the score of the spans from token i of length 1, 2, … (tokens, longest)
    scores = np.where(may_start, start, -np.inf)[:, None] + sliding_window_view(ends, longest)
    flat = scores.ravel()
    best = np.sort(np.argpartition(-flat, min(n_best, flat.size) - 1)[:n_best])
    for place in best[np.argsort(-flat[best], kind="stable")]:  # of equals the first and shortest
        first, more = divmod(int(place), longest)
        if flat[place] > -np.inf:
            yield float(flat[place]), TokenSpan(first, first + more)
