"""An answer is a span of the text: from scores of tokens to its words, and how SQuAD judges it."""

import re
import string
from collections import Counter

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray


def best_span(
    start: Float[ndarray, "tokens"],
    end: Float[ndarray, "tokens"],
    *,
    longest: int,
    may_start: Bool[ndarray, "tokens"] | None = None,
) -> tuple[int, int, float] | None:
    """First token, last token and score of the best span (section 4.2).

    The score of a span is start[first] + end[last]. Its last token is not before its first, it has
    at most `longest` tokens, and it starts where `may_start` is True (anywhere, if that is None).
    None if it may start nowhere.
    """
    raise NotImplementedError("write best_span")


def best_answer(
    windows: list[dict], *, longest: int, null_threshold: float | None = None
) -> tuple[int, int] | None:
    """First and last token of the answer, counted in the whole text; None for "no answer".

    Each window is `[CLS] question [SEP] a part of the text [SEP] padding`, and a dict: `start` and
    `end`, the scores of all its tokens; `text_at`, the place of its first token of the text;
    `first`, the number of that token in the whole text; `best`, for each of its tokens of the text,
    whether no other window sees more around it: only there may an answer start.

    "No answer" scores the least start + end of [CLS] among the windows. It is said if it beats the
    best span by more than `null_threshold`, never if that is None (section 4.3). Without any span
    the answer is None too.
    """
    raise NotImplementedError("write best_answer")


def normalize(text: str) -> str:
    """What SQuAD compares: lower case, no ASCII punctuation, no articles (a, an, the, as words of
    their own), single spaces; in this order (Rajpurkar et al. 2016, section 6.1)."""
    raise NotImplementedError("write normalize")


def exact_match(answer: str, accepted: list[str]) -> float:
    """1.0 if the answer is one of the accepted ones, both normalized, else 0.0.

    Accepted answers of which nothing is left count for nothing; if none is left, only an answer of
    which nothing is left is right.
    """
    raise NotImplementedError("write exact_match")


def f1(answer: str, accepted: list[str]) -> float:
    """The overlap in words with the accepted answer that it is nearest to, between 0 and 1.

    2pr / (p + r), p the share of the answer's words that are in the accepted one, r the share of
    the accepted one's words that are in the answer; a word counts as often as both have it. What
    nothing is left of is treated as in `exact_match`.
    """
    raise NotImplementedError("write f1")
