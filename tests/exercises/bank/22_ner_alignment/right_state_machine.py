"""Names opened and closed, one tag after another, and counted in a Counter."""

from collections import Counter


def entities(tags):
    found, start, kind = [], None, None
    for place, tag in enumerate([*tags, "O"]):
        if start is not None and tag != "I-" + kind:
            found.append((kind, start, place))
            start = None
        if start is None and tag != "O":
            start, kind = place, tag.split("-", 1)[1]
    return found


def entity_scores(right, predicted):
    def counted(sentences):
        return Counter((i, e) for i, tags in enumerate(sentences) for e in entities(tags))

    there, said = counted(right), counted(predicted)
    hits = (there & said).total()
    p = hits / said.total() if said else 0.0
    r = hits / there.total() if there else 0.0
    return {"f1": 2 * p * r / (p + r) if p + r else 0.0, "recall": r, "precision": p}
