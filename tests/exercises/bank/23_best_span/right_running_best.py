"""The best start of those that still reach each end; texts by a table, and words by a filter."""

import string
from collections import Counter, deque


def best_span(start, end, *, longest, may_start=None):
    window, best = deque(), None  # starts that may still be the best, the best one first
    for last, (opens, closes) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        if may_start is None or may_start[last]:
            while window and window[-1][0] <= opens:
                window.pop()
            window.append((opens, last))
        while window and window[0][1] <= last - longest:
            window.popleft()
        if window and (best is None or window[0][0] + closes > best[2]):
            best = (window[0][1], last, window[0][0] + closes)
    return best


def normalize(text):
    kept = text.lower().translate(dict.fromkeys(map(ord, string.punctuation)))
    return " ".join(word for word in kept.split() if word not in {"a", "an", "the"})


def exact_match(answer, accepted):
    left = {normalize(each) for each in accepted} - {""}
    said = normalize(answer)
    return 1.0 if (said in left if left else not said) else 0.0


def f1(answer, accepted):
    said, best = Counter(normalize(answer).split()), 0.0
    left = [each for each in accepted if normalize(each)]
    if not left:
        return 0.0 if said else 1.0
    for each in left:
        right = Counter(normalize(each).split())
        shared = sum(min(said[word], right[word]) for word in right)
        if shared:
            p, r = shared / sum(said.values()), shared / sum(right.values())
            best = max(best, 2 / (1 / p + 1 / r))
    return best
