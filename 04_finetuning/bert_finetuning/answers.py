"""From the scores of tokens to the text of an answer (section 4.2).

A span scores S·T_i + E·T_j: the start of its first token plus the end of its last. It counts if it
is short enough and no other window sees its first token better. "No answer" is the span of [CLS]
alone, and is said if it beats the best other span by more than a threshold (section 4.3).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray
from numpy.lib.stride_tricks import sliding_window_view

from bert_finetuning.examples import Question
from bert_finetuning.kinds.pairs import softmax
from bert_finetuning.metrics import answer_f1
from bert_finetuning.windows import TokenSpan, Window, characters_of

TokenLogits = Float[ndarray, "tokens"]
WindowLogits = Float[ndarray, "2 _seq"]  # start and end; windows differ in length


class Candidate(NamedTuple):
    """A span of the text that may be the answer, and how probable it is among all of them."""

    text: str
    start: int  # its first character
    probability: float


@dataclass(frozen=True)
class SpanPrediction:
    """What was answered, "" if nothing, and the best spans of the text, the best first.

    `null_difference` is the score of "no answer" less that of the best span.
    """

    text: str
    null_difference: float
    null_probability: float
    candidates: tuple[Candidate, ...]

    @property
    def probability(self) -> float:
        return self.candidates[0].probability if self.text else self.null_probability


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
    silent = null_threshold is not None and prediction.null_difference > null_threshold
    text = "" if silent or not prediction.candidates else prediction.candidates[0].text
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


def choose_null_threshold(
    questions: Sequence[Question],
    predictions: Sequence[SpanPrediction],
    *,
    judge: Callable[[str, Sequence[str]], float] = answer_f1,
) -> tuple[float, float]:
    """The threshold with the best mean score, and that score: as the official script's
    `best_f1_thresh` and `best_f1`; with `answer_exact` as `judge` those of exact match.

    A threshold answers the questions whose `null_difference` does not exceed it. So they are
    sorted by it, and every place to cut is tried.
    """
    right = [[answer.text for answer in question.answers] for question in questions]
    spans = [decided(prediction, None).text for prediction in predictions]
    answered = np.array([judge(text, each) for text, each in zip(spans, right, strict=True)])
    silent = np.array([judge("", each) for each in right])
    differences = np.array([prediction.null_difference for prediction in predictions])
    order = np.argsort(differences, kind="stable")
    ordered = differences[order]  # (questions,)
    gained = np.concatenate([[0], np.cumsum((answered - silent)[order])])  # by answering 0, 1, …
    can_cut = np.concatenate([[True], ordered[1:] > ordered[:-1], [True]])  # equals go together
    count = int(np.where(can_cut, gained, -np.inf).argmax())
    threshold = ordered[count - 1] if count else np.nextafter(ordered[0], -np.inf)
    return float(threshold), float(silent.sum() + gained[count]) / len(questions)
