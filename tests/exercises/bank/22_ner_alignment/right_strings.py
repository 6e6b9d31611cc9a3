"""By groups and by one string for all tags of a sentence."""

import re
from itertools import chain

import numpy as np


def align(pieces, labels, *, cls_id, sep_id, unk_id, max_length):
    sizes = [max(1, len(word)) for word in pieces]
    firsts = np.cumsum([1, *sizes])[:-1].tolist()
    tokens = list(chain.from_iterable(word if word else [unk_id] for word in pieces))
    marks = dict(zip(firsts, labels, strict=True))
    ids = [cls_id, *tokens[: max_length - 2], sep_id]
    last = len(ids) - 1
    return dict(
        input_ids=ids,
        labels=[marks.get(i, -100) if i < last else -100 for i in range(len(ids))],
        starts=[first if first < last else -1 for first in firsts],
    )


def tags_of_words(logits, starts, names):
    if not starts:
        return []
    order = np.asarray(logits, dtype=np.float64).argsort(axis=1)[:, -1]
    return ["O" if start < 0 else names[order[start]] for start in starts]


def entities(tags):
    text = "".join(f"{i} {tag}\n" for i, tag in enumerate(tags))
    found = []
    for match in re.finditer(r"^(\d+) [BI]-(.+)\n((?:\d+ I-\2\n)*)", text, re.MULTILINE):
        first = int(match[1])
        found.append((match[2], first, first + 1 + match[3].count("\n")))
    return found
