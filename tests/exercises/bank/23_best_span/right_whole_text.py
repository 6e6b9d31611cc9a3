"""All windows laid out over the whole text; recursion over shorter spans."""

import numpy as np


def best_span(start, end, *, longest, may_start=None):
    tokens = len(start)
    found = []
    for size in range(1, min(longest, tokens) + 1):
        sums = start[: tokens - size + 1] + end[size - 1 :]
        if may_start is not None:
            sums = np.where(may_start[: tokens - size + 1], sums, -np.inf)
        first = int(sums.argmax())
        if np.isfinite(sums[first]):
            found.append((float(sums[first]), -size, first))
    if not found:
        return None
    score, size, first = max(found)
    return first, first - size - 1, score


def best_answer(windows, *, longest, null_threshold=None):
    spans, nulls = {}, []
    for number, window in enumerate(windows):
        nulls.append(window["start"][0] + window["end"][0])
        for i, may in enumerate(window["best"].tolist()):
            for j in range(i, min(i + longest, len(window["best"])) if may else i):
                at = window["text_at"]
                place = window["first"] + i, window["first"] + j, number
                spans[place] = window["start"][at + i] + window["end"][at + j]
    best = max(spans, key=spans.__getitem__, default=None)
    if best is None:
        return None
    if null_threshold is not None and np.min(nulls) - spans[best] > null_threshold:
        return None
    return best[:2]
