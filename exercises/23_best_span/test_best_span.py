"""The best span, in one window and in several, with or without an answer; EM and F1 as SQuAD's."""

import re
import string

import numpy as np
import pytest

from autograder import checks
from bert_finetuning import answers, metrics


def judged(cases, *, of):
    """Compare the answers to all cases at once: {what was asked: (out, right, mistakes)}.

    A mistake is named if it explains every answer; one that a case does not list changes nothing
    there.
    """
    outs, rights = ({case: trio[i] for case, trio in cases.items()} for i in range(2))

    def explains(name, out):
        for case, (_, right, mistakes) in cases.items():
            wrong = mistakes.get(name, right)
            if callable(wrong):
                fits = not checks.difference(out[case], right, "", None) or wrong(out[case])
            else:
                fits = not checks.difference(out[case], wrong, "", None)
            if not fits:
                return False
        return True

    names = dict.fromkeys(name for _, _, mistakes in cases.values() for name in mistakes)
    made = {name: lambda out, name=name: explains(name, out) for name in names}
    checks.same(outs, rights, of=of, mistakes=made)


def right_span(start, end, longest, may_start=None):
    may_start = np.ones(len(start), bool) if may_start is None else may_start
    for score, span in answers.best_spans(start, end, may_start, longest=longest, n_best=1):
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
        "the end is one past the last token": (
            lambda out: out[1] == right_span(start, end, longest, may_start)[1] + 1),
        "the score is not start + end": (
            lambda out: out[:2] == right_span(start, end, longest, may_start)[:2]),
    }  # fmt: skip
    return {name: value for name, value in wrong.items() if value is not None}


@pytest.mark.weight(3)
def test_the_best_of_all_spans_is_found(student):
    cases = {}
    for seed in range(15):
        rng = np.random.default_rng(seed)
        tokens, longest = (1, 1) if seed == 0 else rng.integers((5, 2), (12, 6)).tolist()
        start, end = rng.normal(size=(2, tokens)) - 1
        for limit in (longest, 40):
            cases[f"seed {seed}, {tokens} tokens, longest={limit}"] = (
                student.best_span(start, end, longest=limit),
                right_span(start, end, limit),
                span_mistakes(start, end, limit),
            )
    judged(cases, of="the best span")
    start, end = (np.random.default_rng(3).normal(size=(2, 14)) - 1).astype(np.float32)
    checks.same(student.best_span(start[::2], end[::2], longest=3),
                right_span(start[::2], end[::2], 3), of="the best span, in float32",
                tolerance=1e-5)  # fmt: skip
    checks.leaves_no_trace(student.best_span, start, end, longest=3)


def test_an_answer_starts_only_where_it_may(student):
    cases = {}
    for seed in range(12):
        rng = np.random.default_rng(100 + seed)
        tokens, longest = rng.integers((4, 2), (12, 6)).tolist()
        start, end = rng.normal(size=(2, tokens))
        may_start = rng.random(tokens) < 0.5
        may_start[rng.integers(tokens)] = True
        cases[f"seed {seed}"] = (
            student.best_span(start, end, longest=longest, may_start=may_start),
            right_span(start, end, longest, may_start),
            span_mistakes(start, end, longest, may_start),
        )
    judged(cases, of="the best span")
    nowhere = student.best_span(start, end, longest=3, may_start=may_start & False)
    checks.same(nowhere, None, of="the best span where none may start", mistakes={
        "if nothing may be chosen, argmax still chooses: give None": lambda out: True})  # fmt: skip


# --- Windows ---


def windows_of(seed, *, count=3, question=4, room=6, stride=3):
    """Windows over one text, as `[CLS] question [SEP] text [SEP] padding`, and who sees best."""
    rng = np.random.default_rng(seed)
    tokens = room + stride * (count - 1) - int(rng.integers(0, stride))
    firsts = [stride * i for i in range(count)]
    owner = rng.integers(0, count, tokens)  # not the true rule: any will do
    found = []
    for number, first in enumerate(firsts):
        own = np.arange(first, min(first + room, tokens))
        seq = 1 + question + 1 + room + 1
        start, end = rng.normal(size=seq), rng.normal(size=seq)
        for scores in (start, end):
            outside = np.ones(seq, bool)
            outside[question + 2 : question + 2 + len(own)] = False
            scores[outside] += 4  # whoever looks there falls for it
            scores[0] = rng.normal() + 1
        found.append({"start": start, "end": end, "text_at": question + 2, "first": first,
                      "best": owner[own] == number})  # fmt: skip
    return found


def spans_in(windows, longest, *, owned=True, text=True, softmax=False, shift="first"):
    """Score, first, last of the best span of each window, counted in the text."""
    found = []
    for window in windows:
        size = len(window["best"])
        place = slice(window["text_at"], window["text_at"] + size) if text else slice(None)
        start, end = window["start"][place], window["end"][place]
        may = window["best"] if owned and text else None
        span = right_span(start, end, longest, may)
        if span is None:
            continue
        score, add = span[2], window[shift] if shift else 0
        if softmax:
            score -= np.log(np.exp(window["start"]).sum() * np.exp(window["end"]).sum())
        found.append((score, span[0] + add, span[1] + add))
    return found


def nulls_of(windows):
    return [float(window["start"][0] + window["end"][0]) for window in windows]


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
        "places of the window are given: text_at is added, or not taken off": tuple(
            place + windows[0]["text_at"] for place in (first, last)),
        "the question and the special tokens are searched too": best(text=False),
        "the question and the special tokens are searched too, and places shifted": tuple(
            place - windows[0]["text_at"] if place is not None else 0
            for place in best(text=False)),
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
            "the difference has the wrong sign: it is null - span": said(min(nulls), sign=-1),
            "the threshold is added to the wrong side": said(min(nulls), limit=-threshold),
            "only the start of [CLS] is counted": said(min(float(w["start"][0]) for w in windows)),
            "only the end of [CLS] is counted": said(min(float(w["end"][0]) for w in windows)),
        }
    else:
        wrong["without a threshold there is always an answer"] = said(min(nulls), limit=0.0)
    return wrong


@pytest.mark.weight(3)
def test_the_answer_is_the_best_span_of_all_windows(student):
    cases = {}
    for seed in range(12):
        windows = windows_of(seed, count=1 + seed % 4, question=1 + seed % 5)
        for longest in (2, 30):
            cases[f"seed {seed}, {len(windows)} windows, longest={longest}"] = (
                student.best_answer(windows, longest=longest),
                right_answer(windows, longest, None),
                answer_mistakes(windows, longest, None),
            )
    judged(cases, of="the answer")
    empty = [{**window, "best": window["best"] & False} for window in windows]
    checks.same(student.best_answer(empty, longest=9), None, of="the answer where none may start")
    checks.leaves_no_trace(student.best_answer, windows, longest=3)


@pytest.mark.weight(2)
def test_no_answer_is_said_if_it_beats_the_best_by_the_threshold(student):
    cases = {}
    for seed in range(14):
        windows = windows_of(50 + seed, count=1 + seed % 4)
        gap = min(nulls_of(windows)) - max(spans_in(windows, 5))[0]
        for threshold in (gap - 0.3, gap + 0.3, -gap - 0.3, 0.0, -1.5, 1.5):
            cases[f"seed {seed}, null - span = {gap:.3f}, threshold {threshold:.3f}"] = (
                student.best_answer(windows, longest=5, null_threshold=threshold),
                right_answer(windows, 5, threshold),
                answer_mistakes(windows, 5, threshold),
            )
    judged(cases, of="the answer")
    flat = {"start": np.array([2.0, 9, 1, 9]), "end": np.array([1.0, 9, 2, 9]), "text_at": 2,
            "first": 0, "best": np.array([True])}  # fmt: skip
    checks.same(student.best_answer([flat], longest=5, null_threshold=0.0), (0, 0),
                of="the answer where [CLS] and the best span score the same, at threshold 0",
                mistakes={"more than the threshold is asked for, not as much": None})  # fmt: skip


# --- Metrics ---

TEXTS = ["The Cat!", "a  man, a plan", "U.S.", "the-best theatre", "An apple a day", "", "the",
         "Théâtre", "“quoted” — dash", "  Two\tspaces\n", "mp3's", "anna and the banana", "THE END",
         "a.", "I.B.M. and AT&T", "10,000"]  # fmt: skip


def normal(text, *, lower=True, gap="", articles=r"\b(a|an|the)\b", split=True, first=False):
    def strike(text):
        return re.sub(articles, " ", text) if articles else text

    text = text.lower() if lower else text
    text = strike(text) if first else text
    text = "".join(gap if c in string.punctuation else c for c in text)
    text = text if first else strike(text)
    return " ".join(text.split()) if split else text


@pytest.mark.weight(2)
def test_texts_are_normalised_as_squad_does(student):
    cases = {}
    for text in TEXTS:
        cases[text] = (
            student.normalize(text),
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
                "articles stay": normal(text, articles=""),
                "articles go within words too": normal(text, articles="(a|an|the)"),
                "articles go before punctuation does: it is the other way round": (
                    normal(text, first=True)
                ),
                "spaces stay as they are": normal(text, split=False),
                "only one of the articles goes": lambda out, text=text: out in (
                    normal(text, articles=r"\bthe\b"), normal(text, articles=r"\b(a|the)\b"),
                    normal(text, articles=r"\b(a|an)\b")),
                "more than ASCII punctuation goes": lambda out, text=text: (
                    not text.isascii() and len(out) < len(metrics.normalize_answer(text))),
            },
        )  # fmt: skip
    judged(cases, of="normalised")
    checks.leaves_no_trace(student.normalize, TEXTS[0])


JUDGED = [
    ("The Cat", ["cat", "a dog"]), ("cat", ["the dog", "A cat."]), ("black cat", ["cat", "dog"]),
    ("cat", ["black cat", "a black cat sat"]), ("cat cat cat dog", ["cat dog dog"]),
    ("cat dog", ["dog cat"]), ("dog", ["cat"]),
    ("", []), ("the", []), ("cat", []), ("", [""]), ("cat", [""]),
    ("cat", ["", "cat"]), ("", ["", "cat"]), ("", ["cat"]), ("the", ["the", "cat"]),
    ("in the year 1066", ["1066", "the year 1066", "A.D. 1066"]), ("1066", ["the year 1066"]),
    ("a b c d", ["b c x", "d e", "c d b"]), ("catalogue", ["cat"]), ("tac", ["cat"]),
]  # fmt: skip


def harmonic(p, r):
    return 2 * p * r / (p + r) if p + r else 0.0


def of_characters(answer, accepted):
    spaced = [" ".join(metrics.normalize_answer(text).replace(" ", "_")) for text in accepted]
    own = " ".join(metrics.normalize_answer(answer).replace(" ", "_"))
    return max(overlap(own, each, plain=True) for each in spaced)


def overlap(said, right, key=harmonic, *, sets=False, plain=False):
    if not plain:
        said, right = metrics.normalize_answer(said), metrics.normalize_answer(right)
    said, right = said.split(), right.split()
    if sets:
        said, right = sorted(set(said)), sorted(set(right))
    if not said or not right:
        return float(said == right)
    shared = sum(min(said.count(w), right.count(w)) for w in set(said))
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
            "the texts are compared as they are: normalise both": float(
                answer in (accepted or [""])),
            "the accepted answers are not normalised": float(normal_answer in accepted),
            "a part is taken for the whole": float(any(normal_answer in each for each in every)),
            "a part is taken for the whole: the answer holds an accepted one": float(
                any(each in normal_answer for each in every)),
            "an accepted answer of which nothing is left counts: it should not": float(
                normal_answer in (golds or [""])),
            "where nothing is accepted, silence is right": 0.0 if not any(golds) else None,
        }  # fmt: skip
        cases[f"{answer} | {accepted}"] = (
            student.exact_match(answer, accepted),
            metrics.answer_exact(answer, accepted),
            {name: value for name, value in wrong.items() if value is not None},
        )
    judged(cases, of="the exact match")
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
            "this is precision alone": by(lambda p, r: p),
            "this is recall alone": by(lambda p, r: r),
            "the plain mean of precision and recall: it is the harmonic one": by(
                lambda p, r: (p + r) / 2),
            "the factor 2 is missing": by(lambda p, r: p * r / (p + r) if p + r else 0.0),
            "characters are compared, not words": of_characters(answer, every),
            "the words are compared as they are: normalise both": max(
                overlap(answer, right, plain=True) for right in every),
            "where nothing is accepted, silence is right": 0.0 if every == [""] else None,
            "an accepted answer of which nothing is left counts: it should not": max(
                overlap(answer, right) for right in accepted or [""]),
        }  # fmt: skip
        cases[f"{answer} | {accepted}"] = (
            student.f1(answer, accepted),
            metrics.answer_f1(answer, accepted),
            {name: value for name, value in wrong.items() if value is not None},
        )
    judged(cases, of="F1")
    checks.leaves_no_trace(student.f1, "cat", ["the cat", ""])
