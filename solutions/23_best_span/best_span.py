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
    # begin solution
    place = np.arange(len(start))
    scores = start[:, None] + end[None, :]  # [first, last]
    # The two best ends of a span need not be the ends of the best span: all pairs are compared, and
    # those that are no span are struck out. A span of n tokens reaches n - 1 to the right.
    distance = place[None, :] - place[:, None]  # last - first
    is_span = (distance >= 0) & (distance < longest)
    if may_start is not None:
        is_span &= may_start[:, None]  # of the first token alone: the last may lie elsewhere
    if not is_span.any():
        return None
    first, last = np.unravel_index(np.where(is_span, scores, -np.inf).argmax(), scores.shape)
    return first, last, scores[first, last]
    # end solution


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
    # begin solution
    found = []
    for window in windows:
        # The question and [CLS] have scores too, but cannot be the answer; nor can [SEP] and
        # padding, so the end of the text counts as well as its beginning.
        text = slice(window["text_at"], window["text_at"] + len(window["best"]))
        span = best_span(
            window["start"][text], window["end"][text], longest=longest, may_start=window["best"]
        )
        if span is not None:
            first, last, score = span
            found.append((score, first + window["first"], last + window["first"]))
    if not found:
        return None
    # Scores are compared as they are. A softmax in each window would make a window without the
    # answer, which must put its 100% somewhere, as sure as one with it.
    score, first, last = max(found)
    if null_threshold is not None:
        # The least: one window that sees an answer is enough to have one.
        null = min(window["start"][0] + window["end"][0] for window in windows)
        if null - score > null_threshold:
            return None
    return first, last
    # end solution


def normalize(text: str) -> str:
    """What SQuAD compares: lower case, no ASCII punctuation, no articles (a, an, the, as words of
    their own), single spaces; in this order (Rajpurkar et al. 2016, section 6.1)."""
    # begin solution
    bare = text.lower().translate(str.maketrans("", "", string.punctuation))
    # \b: "the" in "theatre" is no article. Punctuation goes first and leaves no gap, so that "U.S."
    # becomes "us", and "the-best" one word that holds no article any more.
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())
    # end solution


def exact_match(answer: str, accepted: list[str]) -> float:
    """1.0 if the answer is one of the accepted ones, both normalized, else 0.0.

    Accepted answers of which nothing is left count for nothing; if none is left, only an answer of
    which nothing is left is right.
    """
    # begin solution
    return float(normalize(answer) in golds(accepted))
    # end solution


def f1(answer: str, accepted: list[str]) -> float:
    """The overlap in words with the accepted answer that it is nearest to, between 0 and 1.

    2pr / (p + r), p the share of the answer's words that are in the accepted one, r the share of
    the accepted one's words that are in the answer; a word counts as often as both have it. What
    nothing is left of is treated as in `exact_match`.
    """
    # begin solution
    said = normalize(answer).split()
    # The best, not the mean: people answer differently.
    return max(overlap(said, gold.split()) for gold in golds(accepted))
    # end solution


# begin solution
def overlap(said: list[str], right: list[str]) -> float:
    """F1 of two lists of words."""
    if said == right:
        return 1.0  # also where both are empty, and the fraction below would be 0/0
    shared = (Counter(said) & Counter(right)).total()  # a word as often as both have it
    return 2 * shared / (len(said) + len(right))


def golds(accepted: list[str]) -> list[str]:
    """The accepted answers, normalized; "" alone if there is none."""
    return [each for each in map(normalize, accepted) if each] or [""]


# Wrong answers that are common:
# - the best start and the best end, each by itself: the end may come first;
# - first the best start, then the best end that goes with it: another pair may have a higher sum;
# - `last - first <= longest`, which is one token more;
# - places in the window in place of places in the text, or answers out of the question;
# - probabilities compared between windows;
# - the null score of one window, or the highest; a threshold with its sign turned;
# - F1 of sets of words, of characters, or the mean over the accepted answers;
# - articles without \b, or looked for before the text is in lower case.
# end solution
