"""The best end for each start, then the best start; windows by masked scores."""

import numpy as np


def best_span(start, end, *, longest, may_start=None):
    starts = range(len(start)) if may_start is None else np.flatnonzero(may_start).tolist()
    lasts = {i: i + int(np.argmax(end[i : i + longest])) for i in starts}
    if not lasts:
        return None
    first = max(lasts, key=lambda i: start[i] + end[lasts[i]])
    return first, lasts[first], float(start[first] + end[lasts[first]])


def best_answer(windows, *, longest, null_threshold=None):
    best, answer, null = -np.inf, None, np.inf
    for window in windows:
        seq, at, size = len(window["start"]), window["text_at"], len(window["best"])
        may = np.zeros(seq, bool)
        may[at : at + size] = window["best"]
        end = window["end"].copy()
        end[at + size :] = -np.inf
        found = best_span(window["start"], end, longest=longest, may_start=may)
        null = min(null, float(window["start"][0]) + float(window["end"][0]))
        if found and found[2] > best:
            best = found[2]
            answer = tuple(place - at + window["first"] for place in found[:2])
    if answer and null_threshold is not None and null > best + null_threshold:
        answer = None
    return answer
