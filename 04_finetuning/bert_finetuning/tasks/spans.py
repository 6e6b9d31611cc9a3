"""A text in windows, and the best span of it: how a question is answered (section 4.2).

Windows: [CLS] question [SEP] a part of the text [SEP].

    text      ├──────────────────────────────────────────────┤
    windows   ├───────────────────┤
                      ├───────────────────┤                     a new one every `stride` tokens
                              ├──────────────────────┤
    best      ├───────────┤───────┤──────────────────┤          who sees most around a token

Each token knows its characters in the text as it was given: an answer is cut out from there,
accents, capitals and all, never put together from pieces.

Spans: one scores S·T_i + E·T_j, the start of its first token plus the end of its last. It counts if
it is short enough and no other window sees its first token better. "No answer" is the span of [CLS]
alone, and is given if it beats the best other span by more than a threshold (section 4.3).
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Int32
from numpy import ndarray
from numpy.lib.stride_tricks import sliding_window_view
from tokenizers import Tokenizer

from bert_finetuning.features import encodings
from bert_finetuning.tasks.base import softmax

Offsets = Int32[ndarray, "tokens 2"]  # the first character of each token, and one past its last
TokenLogits = Float[ndarray, "tokens"]
WindowLogits = Float[ndarray, "2 _seq"]  # start and end; windows differ in length


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    start: int  # context[start:][:len(text)] == text


# --- Windows -------------------------------------------------------------------------------------


class Text(NamedTuple):
    """A text in tokens, no special ones among them."""

    ids: list[int]
    offsets: Offsets


class Window(NamedTuple):
    """The part of a text that is read at once, and where it stands."""

    first: int  # the number of its first token in the text
    offsets: Offsets
    best: Bool[ndarray, "tokens"]  # no other window sees more around this token


class TokenSpan(NamedTuple):
    """From the first token of an answer to its last."""

    first: int
    last: int


def texts_in_tokens(texts: Sequence[str], tokenizer: Tokenizer) -> dict[str, Text]:
    """Each different text encoded once: a text has many questions."""
    different = list(dict.fromkeys(texts))
    return {
        text: Text(each.ids, np.array(each.offsets, np.int32).reshape(-1, 2))
        for text, each in zip(different, encodings(tokenizer, different), strict=True)
    }


def windows_of(text: Text, room: int, *, stride: int) -> list[Window]:
    """The windows of a text, each of at most `room` tokens; one if the text is empty."""
    firsts = first_tokens(len(text.ids), room=room, stride=stride)
    best = best_windows(len(text.ids), firsts, room=room)
    return [
        Window(first, text.offsets[first : first + room], best[first : first + room] == own)
        for own, first in enumerate(firsts)
    ]


def first_tokens(tokens: int, *, room: int, stride: int) -> list[int]:
    """Where windows begin: every `stride` tokens, until one reaches the end.

    At least every half window, so that an answer across a border lies whole in the next window;
    at the paper's lengths (384 tokens, stride 128) this changes nothing.
    """
    stride = min(stride, max(1, room // 2))
    return list(range(0, max(tokens - room, 0) + stride, stride))


def best_windows(tokens: int, firsts: Sequence[int], *, room: int) -> Int[ndarray, "tokens"]:
    """For each token, the number of the window in which it has most context on its poorer side.

    A hundred tokens more in a window count for one of context, and of equals the first wins, as in
    the released code (`_check_is_max_context`).
    """
    first = np.array(firsts)[:, None]  # (windows, 1)
    size = np.minimum(tokens - first, room)
    left = np.arange(tokens) - first  # (windows, tokens)
    right = size - 1 - left
    context = np.minimum(left, right) + 0.01 * size
    return np.where((left >= 0) & (right >= 0), context, -np.inf).argmax(axis=0)


def tokens_of(answer: Answer, offsets: Offsets) -> TokenSpan | None:
    """The tokens that hold its characters; None if WordPiece leaves nothing of them.

    They hold more where the answer begins or ends inside a token, as "US" does in "USSR".
    """
    end = answer.start + len(answer.text)
    first = int(np.searchsorted(offsets[:, 1], answer.start, side="right"))
    last = int(np.searchsorted(offsets[:, 0], end, side="left")) - 1
    return TokenSpan(first, last) if first <= last else None


def in_window(span: TokenSpan, window: Window) -> TokenSpan | None:
    """The same span counted from the window's first token, if all of it is there."""
    first, last = span.first - window.first, span.last - window.first
    return TokenSpan(first, last) if first >= 0 and last < len(window.offsets) else None


def characters_of(span: TokenSpan, offsets: Offsets, text: str) -> tuple[int, int]:
    """Its first character, and one past its last.

    Accents written as characters of their own belong to the letter before them, though WordPiece
    drops them.
    """
    start, end = int(offsets[span.first, 0]), int(offsets[span.last, 1])
    while end < len(text) and unicodedata.category(text[end]) == "Mn":
        end += 1
    return start, end


# --- Spans ---------------------------------------------------------------------------------------


class Candidate(NamedTuple):
    """A span of the text that may be the answer, and how probable it is among all of them."""

    text: str
    start: int  # its first character
    probability: float


@dataclass(frozen=True)
class SpanPrediction:
    """The answer, "" if there is none, and the best spans of the text, the best first.

    `null_difference` is the score of "no answer" less that of the best span.
    """

    text: str
    null_difference: float
    null_probability: float
    candidates: tuple[Candidate, ...]

    @property
    def probability(self) -> float:
        return self.candidates[0].probability if self.text else self.null_probability

    @property
    def start(self) -> int | None:
        """The first character of the answer."""
        return self.candidates[0].start if self.text else None


def answer_of(
    context: str,
    windows: Sequence[tuple[Window, WindowLogits]],
    *,
    longest: int,
    n_best: int,
    null_threshold: float | None,
) -> SpanPrediction:
    """The answer to one question from all windows of its text.

    Where `null_threshold` is None there always is one, if the text has any token.
    """
    spans = best_of_all(context, windows, longest=longest, n_best=n_best)
    null_score = min(float(logits[:, 0].sum()) for _, logits in windows)  # [CLS] of every window
    scores = [score for score, *_ in spans]
    if null_threshold is not None or not spans:
        scores.append(null_score)
    chances = softmax(np.array(scores)).tolist()
    candidates = [
        Candidate(text, start, chance)
        for (_, text, start), chance in zip(spans, chances, strict=False)
    ]
    prediction = SpanPrediction(
        text="",
        null_difference=null_score - scores[0] if spans else 0.0,
        null_probability=chances[-1] if len(chances) > len(spans) else 0.0,
        candidates=tuple(candidates),
    )
    return decided(prediction, null_threshold)


def decided(prediction: SpanPrediction, null_threshold: float | None) -> SpanPrediction:
    """The same with the answer that another threshold leads to."""
    is_null = null_threshold is not None and prediction.null_difference > null_threshold
    text = "" if is_null or not prediction.candidates else prediction.candidates[0].text
    return replace(prediction, text=text)


def best_of_all(
    context: str,
    windows: Iterable[tuple[Window, WindowLogits]],
    *,
    longest: int,
    n_best: int,
) -> list[tuple[float, str, int]]:
    """Score, text and first character of the best spans, each text once, the best first."""
    found = []
    for window, logits in windows:
        start, end = logits[:, -1 - len(window.offsets) : -1]  # the text is before the last [SEP]
        spans = best_spans(start, end, window.best, longest=longest, n_best=n_best)
        found += [(score, window, span) for score, span in spans]
    found.sort(key=lambda each: -each[0])
    kept: dict[str, tuple[float, str, int]] = {}
    for score, window, span in found:
        first, end = characters_of(span, window.offsets, context)
        kept.setdefault(context[first:end], (score, context[first:end], first))
        if len(kept) == n_best:
            break
    return list(kept.values())


def best_spans(
    start: TokenLogits, end: TokenLogits, may_start: Bool[ndarray, "tokens"], *,
    longest: int, n_best: int,
) -> Iterator[tuple[float, TokenSpan]]:  # fmt: skip
    """The spans of up to `longest` tokens with the highest scores, the best first.

    All spans are compared. The released code pairs only the `n_best` best starts with the `n_best`
    best ends, and may find none that fit together.
    """
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
