"""The best span, in one window and in several, with or without an answer; EM and F1 as SQuAD's."""

import re
import string
import unicodedata
from functools import partial

import numpy as np
import pytest

from autograder import checks, sweep
from autograder.student import StudentError
from bert_finetuning import metrics
from bert_finetuning.spans import best_spans


def judged(cases, *, of):
    """Ask and compare case by case: {what is asked: (how to ask it, the right answer, mistakes)}.

    A mistake is named if it explains the answers to all cases; one that a case does not list
    changes nothing there.
    """
    names = dict.fromkeys(name for _, _, mistakes in cases.values() for name in mistakes)
    for case, (ask, right, _) in cases.items():
        if not checks.difference(ask(), right, "", None):
            continue
        every = {other: answered(cases[other][0]) for other in cases}
        explains = {name: all(explained(every[other], cases[other], name) for other in cases)
                    for name in names}  # fmt: skip
        made = {name: lambda out, yes=yes: yes for name, yes in explains.items()}
        checks.same(ask(), right, of=f"{of} of {case}", mistakes=made)


def answered(ask):
    """An answer; for one that is an error, the error."""
    try:
        return ask()
    except StudentError as error:
        return error


def explained(out, case, name):
    """Whether a mistake would have given this answer."""
    _, right, mistakes = case
    wrong = mistakes.get(name, right)
    if callable(wrong):
        return not checks.difference(out, right, "", None) or wrong(out)
    return not checks.difference(out, wrong, "", None)


def is_whole(number):
    return isinstance(number, int | np.integer)


def is_float(number):
    return isinstance(number, float | np.floating)


def has_kinds(out, *kinds, of):
    """Whether each of some numbers is of its kind: `checks.same` takes 1 for 1.0 and 1.0 for 1."""
    for number, kind in zip(out, kinds, strict=True):
        number = number.item() if isinstance(number, np.ndarray) else number
        checks.that(kind(number), f"{of}: expected {'an int' if kind is is_whole else 'a float'}, "
                    f"got {number!r}, of type {type(number).__name__}")  # fmt: skip


def right_span(start, end, longest, may_start=None):
    may_start = np.ones(len(start), bool) if may_start is None else may_start
    for score, span in best_spans(start, end, may_start, longest=longest, n_best=1):
        return span.first, span.last, score
    return None


def among(start, end, is_span, score=lambda s, e: s + e):
    """The best pair of tokens of those that `is_span(first, last)` lets through."""
    pairs = [(score(start[i], end[j]), i, j) for i in range(len(start)) for j in range(len(end))
             if is_span(i, j)]  # fmt: skip
    if not pairs:
        return None
    best, first, last = max(pairs)
    return first, last, float(best)


def span_mistakes(start, end, longest, may_start=None):
    may = np.ones(len(start), bool) if may_start is None else may_start

    def of(is_span, score=lambda s, e: s + e):
        return among(start, end, is_span, score)

    def span(i, j):
        return 0 <= j - i < longest and may[i]

    first = int(np.where(may, start, -np.inf).argmax())
    last = int(end.argmax())
    wrong = {
        "start and end are chosen each by itself: the best span need not have the best start": (
            first, last, float(start[first] + end[last])),
        "first the best start, then an end for it: another pair may have a higher sum": of(
            lambda i, j: i == first and span(i, j)),
        "first the best end, then a start for it: another pair may have a higher sum": of(
            lambda i, j: j == last and span(i, j)),
        "may_start is not used": of(lambda i, j: 0 <= j - i < longest),
        "the last token is asked for may_start too: only the first is": of(
            lambda i, j: span(i, j) and may[j]),
        "the last token is asked for may_start, not the first": of(
            lambda i, j: 0 <= j - i < longest and may[j]),
        "one token too long: a span of n tokens ends n - 1 after its first": of(
            lambda i, j: 0 <= j - i <= longest and may[i]),
        "one token too short: a span of n tokens ends n - 1 after its first": of(
            lambda i, j: 0 <= j - i < longest - 1 and may[i]),
        "longest is not used": of(lambda i, j: j >= i and may[i]),
        "the end may come before the start": of(lambda i, j: abs(j - i) < longest and may[i]),
        "a span of a single token is left out": of(lambda i, j: 0 < j - i < longest and may[i]),
        "start and end are exchanged": among(end, start, span),
        "the scores are multiplied: their sum is the score": of(span, lambda s, e: s * e),
        "pairs that are no span are given a number as score, which may be the highest: -inf never "
        "is": (
            lambda out: out is not None and not span(*out[:2]) and max(
                start[i] + end[j] for i in range(len(start)) for j in range(len(end))
                if span(i, j)) < 0),
        "only some of the best starts and ends are tried: all spans count": (
            lambda out: len(start) > 60),
        "the end is one past the last token": (
            lambda out: out is not None
            and out[1] == right_span(start, end, longest, may_start)[1] + 1),
        "the score is not start + end": (
            lambda out: out is not None
            and out[:2] == right_span(start, end, longest, may_start)[:2]),
    }  # fmt: skip
    return {name: value for name, value in wrong.items() if value is not None}


def draw(seed, tokens, shift):
    """Scores that can be typed in again; with five digits hardly two spans have the same sum."""
    return (checks.rng(seed).normal(size=(2, tokens)) + shift).round(5)


def typed(start, end, longest, may_start=None):
    """A call of `best_span`, in full."""
    more = "" if may_start is None else f", may_start={may_start.astype(int).tolist()}"
    return f"start={start.tolist()}, end={end.tolist()}, longest={longest}{more}"


def span_cases(student, given):
    return {
        typed(*each): (
            partial(student.best_span, *each[:2], longest=each[2],
                    **({} if len(each) == 3 else {"may_start": each[3]})),
            right_span(*each), span_mistakes(*each),
        )
        for each in given
    }  # fmt: skip


PAGE = np.array([1.0, 5, 0, 2]), np.array([6.0, 0, 3, 4])


@pytest.mark.hint(1)
@pytest.mark.weight(3)
def test_the_best_of_all_spans_is_found(student):
    given = [(*PAGE, 2), (*PAGE, 3)]
    for seed in range(15):
        tokens, longest = checks.rng(seed).integers((5, 2), (10, 6)).tolist()
        start, end = draw(seed, 1 if seed == 5 else tokens, shift=(-1, -9, 5)[seed % 3])
        given += [(start, end, limit) for limit in (longest, 40, 1)]
    given.append((*draw(15, 6, -1e9), 3))
    rising = np.arange(90.0)  # the best starts stand at the end, the best ends at the beginning
    given.append((*(draw(16, 90, 0) + np.stack([rising, -rising])), 4))
    # The best start, and an end that 21 others beat; among the 20 best of both there is a span too.
    start, end = np.full((2, 90), -50.0)
    start[:19], end[0], start[40], end[40], end[60:81] = 2, 0.9, 1.5, 6, 5
    start[0] = 100
    given.append((start, end, 4))
    # The same in a long text: 151 ends are better, and among the best of both there is a span.
    start, end = np.full((2, 400), -50.0)
    start[[0, 170]], end[0], end[170], end[200:350] = (100, 3), 0.9, 6, 5
    given.append((start, end, 4))
    given.append((np.array([1e8, 1e8 + 1, 1e8 - 1]), np.array([1.0, 2, 0]), 2))  # not in float32
    judged(span_cases(student, given), of="the best span")
    out = student.best_span(*PAGE, longest=2)
    checks.same(out, (1, 2, 8.0), of="the best span of the page")
    has_kinds(out, is_whole, is_whole, is_float, of="first, last and score")
    never = np.array([-np.inf, 1, 0.5]), np.array([3, -np.inf, 2])
    checks.same(student.best_span(*never, longest=2), (1, 2, 3.0),
                of=f"the best span of {typed(*never, 2)}",
                mistakes={"-inf is a score like others: the least": lambda out: True}
                )  # fmt: skip
    start, end = (checks.rng(3).normal(size=(2, 14)) - 1).astype(np.float32)
    checks.same(student.best_span(start[::2], end[::2], longest=3),
                right_span(start[::2], end[::2], 3), of="the best span, in float32",
                tolerance=1e-5)  # fmt: skip
    start, end = np.array([3.0, 0, 3]), np.array([0.0, 2, 2])
    out = student.best_span(start, end, longest=2)
    tied = (0, 1, 5.0), (2, 2, 5.0)
    checks.that(any(not checks.difference(out, each, "", None) for each in tied),
                f"the best span of {typed(start, end, 2)}: expected {tied[0]} or {tied[1]}, which "
                f"are equally good, got {out}")  # fmt: skip
    start = end = np.array([0.0, -1])
    checks.same(student.best_span(start, end, longest=2), (0, 0, 0.0),
                of=f"the best span of {typed(start, end, 2)}",
                mistakes={"a score of 0 is taken for no span": (
                    lambda out: out is None or out[2] < 0)})  # fmt: skip
    checks.leaves_no_trace(student.best_span, start, end, longest=3)
    rng = checks.rng(17)
    for number in range(36):  # whole numbers: many spans are equally good
        tokens, longest = 1 + number % 9, 1 + number % 5
        start, end = rng.integers(0, 3, (2, tokens)) - float(number % 4)
        may = rng.random(tokens) < 0.6 if number % 2 else np.ones(tokens, bool)
        given = {"longest": longest} | ({"may_start": may} if number % 2 else {})
        out, right = student.best_span(start, end, **given), right_span(start, end, longest, may)
        told = f"the best span of {typed(start, end, *given.values())}"
        if right is None:
            checks.same(out, None, of=told)
            continue
        first, last, score = checks.parts(out, "first", "last", "score")
        checks.same(score, right[2], of=f"the score of {told}")
        is_best = 0 <= first <= last < min(tokens, first + longest) and may[first]
        checks.that(is_best and start[first] + end[last] == right[2],
                    f"{told}: ({first}, {last}) is none of those with the score {right[2]}",
                    likely="first and last are those of two spans that are equally good"
                    )  # fmt: skip


@pytest.mark.hint(1)
def test_an_answer_starts_only_where_it_may(student):
    given = []
    for only, worst in ((3, -9), (4, -1e300)):  # the one span there is has the least of all sums
        start, end = draw(250 + only, 6, shift=0)
        start[only] = end[only] = worst
        given.append((start, end, 1, np.arange(6) == only))
    for seed in range(15):
        rng = checks.rng(100 + seed)
        tokens, longest = rng.integers((4, 2), (10, 6)).tolist()
        start, end = draw(200 + seed, tokens, shift=(0, -9, 5)[seed % 3])
        may_start = rng.random(tokens) < 0.5
        may_start[rng.integers(tokens)] = True
        given.append((start, end, longest, may_start))
    judged(span_cases(student, given), of="the best span")
    for size in (1, 2, len(start)):
        nowhere = student.best_span(
            start[:size], end[:size], longest=3, may_start=may_start[:size] & False
        )
        checks.same(nowhere, None, of="the best span where none may start", mistakes={
            "if nothing may be chosen, argmax still chooses: give None": (
                lambda out: type(out) is tuple)})  # fmt: skip
    checks.leaves_no_trace(student.best_span, start, end, longest=3, may_start=may_start)


# --- Windows ---


def windows_of(seed, *, count=3, question=4, room=6, stride=3):
    """Windows over one text, as `[CLS] question [SEP] text [SEP] padding`, and who sees best.

    In every other text, what is before the first window has been read elsewhere, and the question
    is a token longer in every other window: `first` and `text_at` are to be used. In one text of
    three all scores are negative. The windows come in any order.
    """
    rng = checks.rng(seed)
    tokens = room + stride * (count - 1) - int(rng.integers(0, stride))
    owner = rng.integers(0, count, tokens)  # not the true rule: any will do
    owner[0] = 0  # somebody sees an answer
    found = []
    for number in range(count):
        own = np.arange(stride * number, min(stride * number + room, tokens))
        text_at = question + 2 + number % 2
        seq = text_at + room + 1
        start, end = rng.normal(size=(2, seq))
        for scores in (start, end):
            outside = np.ones(seq, bool)
            outside[text_at : text_at + len(own)] = False
            scores[outside] += 4  # whoever looks there falls for it
            scores[0] = rng.normal() + 1
            scores -= 9 * (seed % 3 == 1)
        found.append({"start": start, "end": end, "text_at": text_at,
                      "first": 5 * (seed % 2) + own[0].item(), "best": owner[own] == number}
                     )  # fmt: skip
    return [found[number] for number in checks.rng(seed, 1).permutation(count)]


def spans_in(windows, longest, *, owned=True, text=True, softmax=False, shift="first", same=False):
    """Score, first, last of the best span of each window, counted in the text."""
    found = []
    for window in windows:
        size, at = len(window["best"]), (windows[0] if same else window)["text_at"]
        place = slice(at, at + size) if text else slice(None)
        start, end = window["start"][place], window["end"][place]
        may = window["best"][: len(start)] if owned and text else None
        span = right_span(start, end, longest, may)
        if span is None:
            continue
        score, add = span[2], window["first"] if shift else 0
        add += {"at added": at, "at taken off": -at}.get(shift, 0)
        if softmax:
            score -= np.log(np.exp(window["start"]).sum() * np.exp(window["end"]).sum())
        found.append((score, span[0] + add, span[1] + add))
    return found


def nulls_of(windows):
    return [float(window["start"][0] + window["end"][0]) for window in windows]


def found_in(window, longest):
    """The score of a window's best span."""
    return next((score for score, *_ in spans_in([window], longest)), None)


def promising(windows, longest):
    """Without the windows whose scores are all too low for a better span than those before."""
    kept, best = [], -np.inf
    for window in windows:
        if window["start"].max() + window["end"].max() > best:
            kept.append(window)
            best = max(best, *(score for score, *_ in spans_in([window], longest)), -np.inf)
    return kept


def right_answer(windows, longest, threshold):
    found = spans_in(windows, longest)
    if not found:
        return None
    score, first, last = max(found)
    silent = threshold is not None and min(nulls_of(windows)) - score > threshold
    return None if silent else (first, last)


def answer_mistakes(windows, longest, threshold):
    found, nulls = spans_in(windows, longest), nulls_of(windows)
    if not found:
        return {}
    score, first, last = max(found)

    def said(null, sign=1, limit=threshold):
        return None if sign * (null - score) > limit else (first, last)

    def best(**changes):
        return max(spans_in(windows, longest, **changes), default=(0, None, None))[1:]

    wrong = {
        "the place in the window is given, not in the text": best(shift=None),
        "places of the window are given: text_at is added, or not taken off": (
            best(shift="at added")),
        "text_at is that of the first window: each has its own": best(same=True),
        "the question and the special tokens are searched too": best(text=False),
        "the question and the special tokens are searched too, and places shifted": (
            best(text=False, shift="at taken off")),
        "a best score that begins at 0 is never beaten where all scores are negative": (
            None if score < 0 else (first, last)),
        "best is not used: an answer may start only where a window sees most": best(owned=False),
        "each window has a softmax of its own: compare the scores as they are": best(softmax=True),
        "the first window answers: all are to be compared": found[0][1:],
        "the last window answers: all are to be compared": found[-1][1:],
    }  # fmt: skip
    if threshold is not None:
        wrong |= {
            "the threshold is not used: the answer is always a span": (first, last),
            "null_threshold is not used: 0 is written in": said(min(nulls), limit=0.0),
            "the highest score of [CLS] is taken, not the least": said(max(nulls)),
            "the score of [CLS] in the first window is taken, not the least of all": said(nulls[0]),
            "the score of [CLS] in the last window is taken, not the least of all": said(nulls[-1]),
            "the scores of [CLS] are averaged: take the least": said(float(np.mean(nulls))),
            "[CLS] is asked only in windows where an answer may start: ask all": said(
                min(nulls_of([w for w in windows if w["best"].any()]))
            ),
            "[CLS] is asked only in windows that may hold the best span: ask all": said(
                min(nulls_of(promising(windows, longest)))
            ),
            "[CLS] is asked only in the window of the best span: ask all": said(
                nulls[[found_in(w, longest) for w in windows].index(score)]
            ),
            "a threshold of 0 is taken for none": (
                said(min(nulls)) if threshold else (first, last)
            ),
            "the difference has the wrong sign: it is null - span": said(min(nulls), sign=-1),
            "the threshold is added to the wrong side": said(min(nulls), limit=-threshold),
            "only the start of [CLS] is counted": said(min(float(w["start"][0]) for w in windows)),
            "only the end of [CLS] is counted": said(min(float(w["end"][0]) for w in windows)),
        }
    else:
        wrong["without a threshold there is always an answer"] = said(min(nulls), limit=0.0)
    return wrong


@pytest.mark.hint(2)
@pytest.mark.weight(3)
def test_the_answer_is_the_best_span_of_all_windows(student):
    cases = {}
    for seed in range(12):
        windows = windows_of(seed, count=1 + seed % 4, question=1 + seed % 5)
        for longest in (2, 30):
            cases[f"text {seed}, {len(windows)} windows, longest={longest}"] = (
                partial(student.best_answer, windows, longest=longest),
                right_answer(windows, longest, None),
                answer_mistakes(windows, longest, None),
            )
    judged(cases, of="the answer")
    close = {"end": np.zeros(4), "text_at": 2, "best": np.array([True])}
    scores = checks.rng(9).permutation([1, 1 + 1e-9, 1 - 1e-9, 1 - 2e-9])
    close = [close | {"start": np.array([0, 9, score, 9]), "first": 20 + number}
             for number, score in enumerate(scores)]  # fmt: skip
    for threshold in (None, -1 - 5e-10, -1 - 15e-10):
        checks.same(student.best_answer(close, longest=5, null_threshold=threshold),
                    right_answer(close, 5, threshold),
                    of=f"the answer among spans with the scores {scores.tolist()}, null threshold "
                       f"{threshold}",
                    mistakes={"the scores are rounded: compare them as they are": lambda out: True}
                    )  # fmt: skip
    for scores in ((0.0, -3.0), (-3.0, 0.0, -1.0), (-1.0, -3.0, 0.0)):
        zero = [close[0] | {"start": np.array([0, 9, score, 9]), "first": 30 + number}
                for number, score in enumerate(scores)]  # fmt: skip
        for threshold in (None, 0.0, -1.0):
            checks.same(student.best_answer(zero, longest=5, null_threshold=threshold),
                        right_answer(zero, 5, threshold), mistakes={
                            "a score of 0 is taken for none": lambda out: True},
                        of=f"the answer among spans with the scores {scores}, null threshold "
                           f"{threshold}")  # fmt: skip
    # Two windows see token 2 equally well: its score is the higher one, which stands first.
    twice = [{"first": first, "text_at": 2, "start": np.eye(7)[2 + at] * high,
              "end": np.eye(7)[2 + at] * high, "best": np.array([t, True, True, t])}
             for first, at, high, t in ((0, 2, 5.0, True), (1, 1, 2.0, False), (2, 3, 3.5, True))
             ]  # fmt: skip
    checks.same(student.best_answer(twice, longest=1), (2, 2), of="the answer where two windows "
                "have the same span with the scores 10 and 4, and a third another one with 7",
                mistakes={"of a span in two windows the later score counts": (5, 5)})  # fmt: skip
    for seed in range(12):  # whole numbers: spans, and windows, are equally good
        even = [{**window, "start": window["start"].round(), "end": window["end"].round()}
                for window in windows_of(120 + seed, count=1 + seed % 5)]  # fmt: skip
        found = [(w["start"][w["text_at"] + i] + w["end"][w["text_at"] + j], w["first"] + i,
                  w["first"] + j) for w in even for i in w["best"].nonzero()[0].tolist()
                 for j in range(i, min(i + 3, len(w["best"])))]  # fmt: skip
        score = max(found)[0]
        gap = float(min(nulls_of(even)) - score)
        for threshold in (None, gap, gap - 1):
            out = student.best_answer(even, longest=3, null_threshold=threshold)
            right = [each[1:] for each in found if each[0] == score and threshold != gap - 1]
            checks.that(any(not checks.difference(out, each, "", None) for each in right or [None]),
                        f"the answer of text {seed}, whose scores are whole, [CLS] {gap:g} better, "
                        f"null_threshold {threshold}: expected {right[:3] or None}, got {out}"
                        )  # fmt: skip
    empty = [{**window, "best": window["best"] & False} for window in windows]
    for threshold in ({}, {"null_threshold": 99.0}):
        checks.same(student.best_answer(empty, longest=9, **threshold), None,
                    of="the answer where none may start")  # fmt: skip
        checks.same(student.best_answer([], longest=9, **threshold), None,
                    of="the answer of a text without windows")  # fmt: skip
    found = student.best_answer(close, longest=5)
    has_kinds(found, is_whole, is_whole, of="first and last")
    checks.leaves_no_trace(student.best_answer, windows, longest=3)


@pytest.mark.hint(3)
@pytest.mark.weight(2)
def test_no_answer_is_said_if_it_beats_the_best_by_the_threshold(student):
    cases = {}
    for seed in range(16):
        windows = windows_of(50 + seed, count=1 + seed % 4)
        if (
            seed % 5 == 2 and len(windows) > 1
        ):  # the last window has no answer, and says "not here" least of all
            windows[-1] |= {"best": windows[-1]["best"] & False}
            for scores in ("start", "end"):
                windows[-1][scores][0] = min(w[scores][0] for w in windows) - 0.4
        if seed > 13:  # the last window has far lower scores than all others, that of [CLS] too
            for scores in ("start", "end"):
                windows[-1][scores] = windows[-1][scores] - 20
        gap = min(nulls_of(windows)) - max(spans_in(windows, 5))[0]
        for threshold in (gap - 0.3, gap + 0.3, -gap - 0.3, 0.0, -1.5, 1.5):
            cases[f"text {seed}, null - span = {gap:.3f}, threshold {threshold:.3f}"] = (
                partial(student.best_answer, windows, longest=5, null_threshold=threshold),
                right_answer(windows, 5, threshold),
                answer_mistakes(windows, 5, threshold),
            )
    judged(cases, of="the answer")
    flat = {"start": np.array([2.0, 9, 1, 9]), "end": np.array([1.0, 9, 2, 9]), "text_at": 2,
            "first": 0, "best": np.array([True])}  # fmt: skip
    checks.same(student.best_answer([flat], longest=5, null_threshold=0.0), (0, 0),
                of="the answer where [CLS] and the best span score the same, at threshold 0",
                mistakes={"more than the threshold is asked for, not as much": None})  # fmt: skip
    sure = flat | {"start": np.array([5.0, 9, 1, 9]), "end": np.array([5.0, 9, 0, 9])}
    checks.same(student.best_answer([sure], longest=5, null_threshold=0.0), None,
                of="the answer where [CLS] scores 9 more than the best span, at threshold 0",
                mistakes={"a threshold of 0 is taken for none": (0, 0)}
                )  # fmt: skip
    checks.leaves_no_trace(student.best_answer, windows, longest=3, null_threshold=0.5)


# --- Metrics ---

TEXTS = ["The Cat!", "a  man, a plan", "U.S.", "the-best theatre", "An apple a day", "", "the",
         "Théâtre", "“quoted” — dash", "  Two\tspaces\n", "mp3's", "anna and the banana", "THE END",
         "a.", "I.B.M. and AT&T", "10,000", "The U.S.  theatre", r"ac\dc", "Straße", "a_b", "",
         "cafe\u0301", "ﬁlm, ½", "İstanbul, Ǆ: ΣΑΣ", "an a The THE thé an",
         " ".join(f"x{mark}y" for mark in string.punctuation), string.punctuation]  # fmt: skip
# Marks, signs and other characters that string.punctuation does not hold, and all that is space.
MARKS = [c for c in map(chr, [*range(0xA0, 0x260), *range(0x2000, 0x2600), *range(0x3000, 0x3040),
                              *range(0xFE00, 0xFF70), *range(0x1F600, 0x1F610)])
         if not c.isalnum() or c.isspace()]  # fmt: skip


def some_articles_stay(student):
    """Whether all answers are those of someone who looks for other articles than a, an, the."""
    outs = [answered(partial(student.normalize, text)) for text in TEXTS]
    return any(outs == [normal(text, articles=rf"\b({some})\b") for text in TEXTS]
               for some in ("the", "a|the", "a|an", "an|the", "a", "an"))  # fmt: skip


def normal(
    text, *, lower=True, gap="", articles=r"\b(a|an|the)\b", split=True, first=False, marks=None
):
    def strike(text):
        return re.sub(articles, " ", text) if articles else text

    text = text.lower() if lower else text
    text = strike(text) if first else text
    text = "".join(gap if c in (marks or string.punctuation) else c for c in text)
    text = text if first else strike(text)
    return " ".join(text.split()) if split else text


@pytest.mark.weight(2)
def test_texts_are_normalized_as_squad_does(student):
    cases = {}
    for text in TEXTS:
        cases[text] = (
            partial(student.normalize, text),
            metrics.normalize_answer(text),
            {
                "capitals stay": normal(text, lower=False),
                "articles are looked for before the text is in lower case": (
                    normal(normal(text, lower=False).lower(), articles="")
                ),
                "punctuation becomes a space: it goes without a trace": normal(text, gap=" "),
                "punctuation stays": " ".join(
                    re.sub(r"\b(a|an|the)\b", " ", text.lower()).split()
                ),
                "the backslash stays: in a regex, string.punctuation needs re.escape": normal(
                    text, marks=string.punctuation.replace("\\", "")),
                "the underscore stays: it is punctuation too": normal(
                    text, marks=string.punctuation.replace("_", "")),
                "casefold makes ss of ß: lower case is asked for": normal(text.casefold()),
                **{
                    f"unicodedata.normalize changes letters ({form}): they stay as they are": (
                        normal(unicodedata.normalize(form, text))
                    )
                    for form in ("NFC", "NFD", "NFKC", "NFKD")
                },
                "articles stay": normal(text, articles=""),
                "articles go within words too": normal(text, articles="(a|an|the)"),
                "articles go before punctuation does: it is the other way round": (
                    normal(text, first=True)
                ),
                "spaces stay as they are": normal(text, split=False),
                "some of the articles a, an, the stay": lambda out: some_articles_stay(student),
                "[^\\w\\s] takes more than string.punctuation has, and leaves the underscore": (
                    normal(re.sub(r"[^\w\s]", "", text.lower()), marks=" ", gap=" ")),
                "more than ASCII punctuation goes": lambda out, text=text: (
                    not text.isascii() and len(out) < len(metrics.normalize_answer(text))),
            },
        )  # fmt: skip
    judged(cases, of="normalized")
    for mark in checks.rng(47).permutation(MARKS)[:40].tolist():
        text = f"X{mark}y {mark} z"
        checks.same(student.normalize(text), metrics.normalize_answer(text),
                    of=f"{text!r}, normalized", mistakes={
                        "more than ASCII punctuation goes": lambda out: len(out) < 5})  # fmt: skip
    text = " ".join(f"x{mark}y {mark}z" for mark in MARKS)
    checks.same(student.normalize(text), metrics.normalize_answer(text),
                of=f"{len(MARKS)} characters that are neither letters nor ASCII, between letters, "
                "normalized", mistakes={"more than ASCII punctuation goes, or some spaces stay": (
                    lambda out: True)})  # fmt: skip
    checks.leaves_no_trace(student.normalize, TEXTS[0])


JUDGED = [
    ("The Cat", ["cat", "a dog"]), ("cat", ["the dog", "A cat."]), ("black cat", ["cat", "dog"]),
    ("cat", ["black cat", "a black cat sat"]), ("cat cat cat dog", ["cat dog dog"]),
    ("cat dog", ["dog cat"]), ("dog", ["cat"]),
    ("", []), ("the", []), ("cat", []), ("", [""]), ("cat", [""]),
    ("cat", ["", "cat"]), ("", ["", "cat"]), ("", ["cat"]), ("the", ["the", "cat"]),
    ("in the year 1066", ["1066", "the year 1066", "A.D. 1066"]), ("1066", ["the year 1066"]),
    ("a b c d", ["b c x", "d e", "c d b"]), ("catalogue", ["cat"]), ("tac", ["cat"]),
    ("The cat", ["a dog", "Cat."]), ("black cat", ["the cat", "a dog"]),
    ("New York, New York", ["new york new york"]), ("cat cat", ["cat cat dog dog", "dog"]),
    ("newyork", ["new york"]), ("new york", ["newyork"]),
    ("cat cat dog dog", ["cat cat"]), ("cat", ["cat cat cat"]), ("cat cat cat", ["cat"]),
    ("Straße", ["Strasse"]), ("café", ["cafe", "cafe\u0301"]), ("ﬁn", ["fin"]), ("x²", ["x2"]),
    ("cats", ["cat"]), ("007", ["7", "07"]), ("cat—dog", ["cat dog"]), ("cat 東京", ["cat 京都"]),
    ("Élan", ["élan", "elan"]), ("1.5 cats", ["15 cats"]), ("?!", ["...", "cat"]),
    ("cat cat dog", ["cat dog dog"]), ("cat dog cat", ["dog cat cat dog", "dog dog cat"]),
    ("?", ["!", "the"]), ("yes", ["Yes, they did", "no"]), ("no cat", ["no"]),
    # An answer without letters or digits is one too.
    ("€", ["€"]), ("?", ["€"]), ("☺ cat", ["☺", "°"]), ("—", ["!", "—"]), ("½", ["½", "cat"]),
    # Accepted answers that have something in common: the words, the letters, the first or the last.
    ("cat dog", ["cat dog", "dog cat"]), ("dog cat", ["cat dog", "dog cat", "dog dog cat"]),
    ("cat dog", ["cat dog", "cat dog dog", "cat hen"]), ("cat hen", ["cat dog", "cat hen"]),
    ("cat dog", ["hen dog", "cat dog", "cow dog"]), ("act", ["act", "cat"]),
    ("cat", ["act", "cat"]),
]  # fmt: skip


def long_ones(judge, of, rights):
    """Long words, and many words, of which only one differs: in the middle, or at the end."""
    long, many = "ha" * 300, "haha " * 1_100
    texts = ((f"cat {long}x{long}", f"cat {long}y{long}"), (many, f"{many}haha"),
             (f"{many}.{long}", f"{many}{long}!"))  # fmt: skip
    told = ("two words of 1,201 letters that differ in the middle, each after 'cat'",
            "1,100 words and 1,101, all the same", "a text of 1,101 words and itself")  # fmt: skip
    for (answer, gold), what, right in zip(texts, told, rights, strict=True):
        checks.same(judge(answer, [gold]), right, of=f"{of} of {what}", mistakes={
            "only a part of a long word or text is compared, or counts do not fit into 8 bits": (
                lambda out: True)})  # fmt: skip


def harmonic(p, r):
    return 2 * p * r / (p + r) if p + r else 0.0


def is_(wrong):
    """Whether an answer is this wrong one: where it is right, a mistake changed nothing."""
    return lambda out: not checks.difference(out, wrong, "", None)


def of_characters(answer, accepted):
    spaced = [" ".join(metrics.normalize_answer(text).replace(" ", "_")) for text in accepted]
    own = " ".join(metrics.normalize_answer(answer).replace(" ", "_"))
    return max(overlap(own, each, plain=True) for each in spaced)


def overlap(said, right, key=harmonic, *, sets=False, plain=False, shared_by=None):
    if not plain:
        said, right = metrics.normalize_answer(said), metrics.normalize_answer(right)
    said, right = said.split(), right.split()
    if sets:
        said, right = sorted(set(said)), sorted(set(right))
    if not said or not right:
        return float(said == right)
    shared = sum(min(said.count(w), right.count(w)) for w in set(said))
    shared = shared_by(said, right) if shared_by else shared
    return key(shared / len(said), shared / len(right))


@pytest.mark.weight(2)
def test_an_exact_match_is_one_of_the_accepted_answers(student):
    cases = {}
    for answer, accepted in JUDGED:
        normal_answer = metrics.normalize_answer(answer)
        golds = [metrics.normalize_answer(each) for each in accepted]
        every = [each for each in golds if each] or [""]
        wrong = {
            "only the first accepted answer is compared": float(every[0] == normal_answer),
            "all accepted answers must be met: one is enough": float(
                all(each == normal_answer for each in every)),
            "the texts are compared as they are: normalize both": float(
                answer in (accepted or [""])),
            "the accepted answers are not normalized": float(normal_answer in accepted),
            "a part is taken for the whole": float(any(normal_answer in each for each in every)),
            "without spaces the words are the same: spaces count": float(
                normal_answer.replace(" ", "") in [each.replace(" ", "") for each in every]),
            "a part is taken for the whole: the answer holds an accepted one": float(
                any(each in normal_answer for each in every)),
            "an accepted answer of which nothing is left counts: it should not": float(
                normal_answer in (golds or [""])),
            "an accepted answer without letters or digits is dropped: it counts": float(
                normal_answer in ([e for e in every if re.search(r"\w", e)] or [""])),
            "where nothing is accepted, silence is right": 0.0 if not any(golds) else None,
        }  # fmt: skip
        cases[f"{answer!r} among {accepted}"] = (
            partial(student.exact_match, answer, accepted),
            metrics.answer_exact(answer, accepted),
            {name: value for name, value in wrong.items() if value is not None},
        )
    judged(cases, of="the exact match")
    for answer in ("cat", "dog"):
        out = student.exact_match(answer, ["cat"])
        has_kinds([out], is_float, of=f"the exact match of {answer!r} among ['cat']")
    long_ones(student.exact_match, "the exact match", (0.0, 0.0, 1.0))
    checks.leaves_no_trace(student.exact_match, "cat", ["the cat", ""])


@pytest.mark.weight(2)
def test_f1_is_that_of_the_nearest_accepted_answer(student):
    cases = {}
    for answer, accepted in JUDGED:
        every = [each for each in accepted if metrics.normalize_answer(each)] or [""]
        each = [overlap(answer, right) for right in every]

        def by(key, answer=answer, every=every):
            return max(overlap(answer, right, key) for right in every)

        wrong = {
            "the mean over the accepted answers: take the best": float(np.mean(each)),
            "only the first accepted answer is compared": each[0],
            "the worst accepted answer is taken": min(each),
            "sets of words: a word counts as often as both have it": max(
                overlap(answer, right, sets=True) for right in every),
            "the shared words are a set: a word counts as often as both have it": is_(max(
                overlap(answer, right, shared_by=lambda s, r: len(set(s) & set(r)))
                for right in every)),
            "a word counts as often as the answer has it: as often as both have it": is_(max(
                overlap(answer, right, shared_by=lambda s, r: sum(w in r for w in s))
                for right in every)),
            "a word counts as often as the accepted answer has it: as often as both have it": is_(
                max(overlap(answer, right, shared_by=lambda s, r: sum(w in s for w in r))
                    for right in every)),
            "this is precision alone": by(lambda p, r: p),
            "this is recall alone": by(lambda p, r: r),
            "the plain mean of precision and recall: it is the harmonic one": by(
                lambda p, r: (p + r) / 2),
            "the factor 2 is missing": is_(
                by(lambda p, r: p * r / (p + r) if p + r else 0.0)),
            "characters are compared, not words": of_characters(answer, every),
            "the words are compared as they are: normalize both": max(
                overlap(answer, right, plain=True) for right in every),
            "where nothing is accepted, silence is right": 0.0 if every == [""] else None,
            "an accepted answer of which nothing is left counts: it should not": max(
                overlap(answer, right) for right in accepted or [""]),
            "an accepted answer without letters or digits is dropped: it counts": max(
                overlap(answer, e)
                for e in [e for e in every if re.search(r"\w", e)] or [""]),
        }  # fmt: skip
        cases[f"{answer!r} among {accepted}"] = (
            partial(student.f1, answer, accepted),
            metrics.answer_f1(answer, accepted),
            {name: value for name, value in wrong.items() if value is not None},
        )
    judged(cases, of="F1")
    for answer in ("cat", "dog", ""):
        for accepted in (["cat"], []):
            out = student.f1(answer, accepted)
            has_kinds([out], is_float, of=f"F1 of {answer!r} among {accepted}")
    long_ones(student.f1, "F1", (0.5, 2_200 / 2_201, 1.0))
    checks.leaves_no_trace(student.f1, "cat", ["the cat", ""])


def test_texts_windows_and_answers_of_any_size(student):
    rng = checks.rng(11)

    def spans_of():
        for number in range(40):
            tokens = (
                int(rng.choice([1, 2, 3, 7, 20]))
                if number < 34
                else (300, 500, 400, 330, 350, 600)[number - 34]
            )
            scale = 10.0 ** rng.integers(-12, 12)
            start, end = (rng.normal(size=(2, tokens)) + rng.choice([-5, 0, 5])) * scale
            if number >= 34:  # the better half of the starts comes after that of the ends
                slope = np.linspace(-50, 50, tokens) * scale
                start, end = start + slope, end - slope
            if number % 2 and number > 34:
                start[9] += 200 * scale  # the best span is long, if it may be
                end[-2] += 200 * scale
            if number % 5 == 0:
                start, end = start.astype(np.float32), end.astype(np.float32)
            may = rng.random(tokens) < rng.choice([0.0, 0.3, 1.0]) if number % 3 else None
            longest = (
                int(rng.choice([1, 2, 30, tokens, 100_000]))
                if number < 34
                else tokens - number + 34
            )
            yield (
                f"{tokens} tokens, scores near {scale:g}, longest={longest}",
                start,
                end,
                longest,
                may,
            )

        # One start of a hundred and more is allowed, and the best end is right behind it.
        start, end = rng.normal(size=(2, 384))
        may = np.zeros(384, bool)
        start[:200], end[301], may[[10, 300]] = 5 + rng.random(200), 20, True
        end[[10, 11]] = 3
        yield "384 tokens, of which two may start", start, end, 2, may
        # And a long span of a long text.
        start, end = checks.rng(12).normal(size=(2, 1_100))
        may = np.isin(np.arange(1_100), (3, 600))
        start[3] = end[1_095] = 20
        yield "1,100 tokens, of which two may start", start, end, 1_093, may

    # The widest span there may be, at each border of blocks of 128, 200, 250, 256, 300, 384, 400,
    # 500 or 512 tokens (and of halves of them): its start is the last token of a block, or its end
    # the first.
    scores = checks.rng(28).normal(size=(2, 600))
    for border in (300, 384, 400, 500, 512):
        for first in (border - 1, border - 29):
            start, end = scores.copy()
            start[first], end[first + 29] = 10, 20
            checks.same(
                student.best_span(start, end, longest=30),
                (first, first + 29, 30.0),
                of=f"the best span of 600 tokens, longest=30, the best one from {first} to "
                f"{first + 29}",
                mistakes={
                    "the text is searched in blocks, and spans over their borders are left out": (
                        lambda out: True
                    )
                },
            )

    for number, (of, start, end, longest, may) in enumerate(spans_of()):
        more = {} if may is None else {"may_start": may}
        given, more = sweep.laid_out(((start, end), more), number)
        found = student.best_span(*given, longest=longest, **more)
        right = right_span(start, end, longest, may)
        sweep.same(found, right, of=f"the best span of {of}", given=start)

    # The widest span anywhere, for blocks that overlap by less than a span can be long.
    own = checks.rng(48)
    for longest in (12, 40, 40, 90, 200, 200, 300, 300):
        start, end = scores.copy()
        first = int(own.integers(0, 601 - longest))
        start[first], end[first + longest - 1] = 10, 20
        checks.same(
            student.best_span(start, end, longest=longest),
            (first, first + longest - 1, 30.0),
            of=f"the best span of 600 tokens, longest={longest}, the best one from {first} to "
            f"{first + longest - 1}",
            mistakes={"the text is searched in blocks that overlap too little": lambda out: True},
        )

    wide = checks.rng(49).normal(size=(2, 330))
    wide[0, [23, 26]], wide[1, [317, 40]] = (30, 20), (30, 25)  # a span of 295 tokens, one of 18
    wide = {"start": wide[0], "end": wide[1], "text_at": 20, "first": 7, "best": np.arange(300) < 9}
    other = {"start": np.ones(4), "end": np.ones(4), "text_at": 2, "first": 400,
             "best": np.array([True])}  # fmt: skip
    for longest, right in ((300, (10, 304)), (295, (10, 304)), (294, (10, 27)), (17, (13, 27))):
        checks.same(student.best_answer([wide, other], longest=longest), right,
                    of=f"the answer where spans of 295, 18 and 15 tokens are the best, {longest=}",
                    mistakes={"longest has a limit of its own in windows": lambda out: True}
                    )  # fmt: skip
    for number, count in enumerate((1, 2, 5, 40, 90, 3, 12)):
        windows = windows_of(
            80 + number,
            count=count,
            question=(4, 300)[number == 5],
            room=(6, 200)[number == 6],
            stride=(3, 90)[number == 6],
        )
        scale = 1e6 if number % 3 else 10.0 ** float(rng.integers(-6, 7))
        for window in windows:
            # Only differences count: all scores may be far above 0, or far below.
            offset = (0.0, -1e7, 1e7)[number % 3] * scale
            window["start"] = window["start"] * scale + offset
            window["end"] = window["end"] * scale + offset
            window["first"] += 100_000
            if number == 3:
                window |= {n: window[n].astype(np.float32) for n in ("start", "end")}
        if count > 1:  # the best span, or the least null score, in the last window
            windows[-1]["start"][windows[-1]["text_at"]] += 50 * scale
            windows[-1]["best"][0] = True
            for name in ("start", "end"):
                windows[-1][name][0] = min(w[name][0] for w in windows) - scale
        if count > 5:  # the least null score where no answer may start
            windows[-1]["best"] &= False
        laid = sweep.laid_out(windows, number)
        for longest in (1, 5, 1_000):
            gap = min(nulls_of(windows)) - max(spans_in(windows, longest), default=(0,))[0]
            for threshold in (
                None,
                gap + 0.01 * scale,
                gap - 0.01 * scale,
                *[np.inf, -np.inf][: 2 * (count < 3)],
            ):
                checks.same(
                    student.best_answer(laid, longest=longest, null_threshold=threshold),
                    right_answer(windows, longest, threshold),
                    of=f"the answer of {count} windows, longest={longest}, "
                    f"null_threshold={threshold}",
                    mistakes={
                        "the search begins at a number that is never beaten: begin at ±inf": (
                            lambda out, number=number: number % 3 > 0
                        )
                    },
                )
    words = [
        "the",
        "a",
        "an",
        "The",
        "AN",
        "cat",
        "Cat",
        "cats",
        "theatre",
        "a.",
        "U.S.",
        "naïve",
        "ÉTÉ",
        "x²",
        "don't",
        "-",
        "_",
        "1,066",
        "the-best",
        "ΟΔΟΣ-Α",
        "ΟΔΟΣ",
        "ﬁ",
        "an\tan",
        "a\u00a0b",
        *string.punctuation,
    ]
    gaps = [" ", "  ", "\t", "\n", " \r\n", "\u00a0", "\u3000", "\u2003", "\u2028", "\f", ""]

    def text_of(count):
        return "".join(f"{rng.choice(words)}{rng.choice(gaps)}" for _ in range(count))

    for count in (*range(60), 3_000):
        text = text_of(count)
        checks.same(
            student.normalize(text), metrics.normalize_answer(text), of=f"{text[:80]!r}, normalized"
        )
    plain = ["cat", "dog", "new", "york", "the", "a", "1066"]
    for number, accepted in (
        *((int(rng.integers(0, 9)), int(rng.integers(0, 5))) for _ in range(80)),
        (700, 3),
        (3, 300),
        (40, 60),
    ):
        answer, *golds = (
            " ".join(
                rng.choice(
                    plain if number % 2 else words[:22],
                    rng.integers(number // 2 if number > 99 else 0, number + 1),
                )
            )
            for _ in range(accepted + 1)
        )
        if number % 3 == 0:
            golds.append(f"The {answer}!")
        of = f"{answer[:60]!r} among {len(golds)}: {golds[:3] if number < 9 else '…'}"
        checks.same(
            student.exact_match(answer, golds),
            float(metrics.answer_exact(answer, golds)),
            of=f"the exact match of {of}",
        )
        checks.same(
            student.f1(answer, golds), float(metrics.answer_f1(answer, golds)), of=f"F1 of {of}"
        )
