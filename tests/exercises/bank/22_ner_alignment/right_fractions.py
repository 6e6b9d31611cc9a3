"""Dicts of names for each sentence, and exact fractions."""

from fractions import Fraction


def entities(tags):
    def begins(i):
        prefix, kind = tags[i][0], tags[i][2:]
        before = tags[i - 1][2:] if i else None
        return tags[i] != "O" and (prefix == "B" or kind != before)

    found = []
    for first in filter(begins, range(len(tags))):
        ends = (i for i in range(first + 1, len(tags)) if tags[i] == "O" or begins(i))
        found.append((tags[first][2:], first, next(ends, len(tags))))
    return found


def entity_scores(right, predicted):
    hits = total_right = total_said = 0
    for tags, guess in zip(right, predicted, strict=True):
        there = {(first, end): kind for kind, first, end in entities(tags)}
        said = {(first, end): kind for kind, first, end in entities(guess)}
        hits += sum(there.get(place) == kind for place, kind in said.items())
        total_right, total_said = total_right + len(there), total_said + len(said)

    def share(part, whole):
        return Fraction(part, whole) if whole else Fraction(0)

    p, r = share(hits, total_said), share(hits, total_right)
    f1 = share(2 * p * r, p + r)
    return {"precision": float(p), "recall": float(r), "f1": float(f1)}
