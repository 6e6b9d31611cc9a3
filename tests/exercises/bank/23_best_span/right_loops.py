"""Every span in turn."""

import string


def best_span(start, end, *, longest, may_start=None):
    best = None
    for first in range(len(start)):
        if may_start is not None and not may_start[first]:
            continue
        for last in range(first, min(first + longest, len(end))):
            score = float(start[first]) + float(end[last])
            if best is None or score > best[2]:
                best = (first, last, score)
    return best


def best_answer(windows, *, longest, null_threshold=None):
    best, null = None, float("inf")
    for w in windows:
        null = min(null, w["start"][0] + w["end"][0])
        tokens = len(w["best"])
        for i in range(tokens):
            for j in range(i, min(i + longest, tokens)):
                score = w["start"][w["text_at"] + i] + w["end"][w["text_at"] + j]
                if w["best"][i] and (best is None or score > best[0]):
                    best = (score, w["first"] + i, w["first"] + j)
    if best is None or (null_threshold is not None and best[0] + null_threshold < null):
        return None
    return best[1:]


def normalize(text):
    kept = "".join(c for c in text.lower() if c not in string.punctuation)
    words, word = [], ""
    for c in kept + " ":
        if c.isalnum() or c == "_" or not (c.isspace() or not c.isalnum()):
            word += c
        else:
            words.append("" if word in ("a", "an", "the") else word)
            words.append(" " if c.isspace() else c)
            word = ""
    return " ".join("".join(words).split())
