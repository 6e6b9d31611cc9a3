"""Sums of lengths in place of loops; how many tokens go, by arithmetic; from where, a binomial."""

from itertools import chain

import numpy as np


def sentence_pairs(documents, index, rng, *, target, random_next=0.5):
    starts = [np.cumsum([0, *map(len, document)]) for document in documents]

    def end(document, first, tokens):
        begins = starts[document]
        past = int(np.searchsorted(begins, begins[first] + max(tokens, 1)))
        return min(past, len(begins) - 1)

    def text(document, first, last):
        return [*chain(*documents[document][first:last])]

    others = [i for i in range(len(documents)) if i != index]
    pairs, first = [], 0
    while first < len(documents[index]):
        last = end(index, first, target)
        is_random = bool(rng.binomial(1, random_next))  # drawn before A ends, and always
        middle = first + 1 + int(rng.random() * (last - first - 1))
        a = text(index, first, middle)
        if is_random or last == first + 1:
            other = int(rng.choice(others))
            begin = int(rng.random() * len(documents[other]))
            stop = end(other, begin, target - len(a))
            pairs.append((a, text(other, begin, stop), 1))
            first = middle
        else:
            pairs.append((a, text(index, middle, last), 0))
            first = last
    return pairs


def truncate_pair(a, b, room, rng):
    excess = max(len(a) + len(b) - room, 0)
    from_a = min(excess, max(len(a) - len(b), 0))
    from_b = min(excess, max(len(b) - len(a), 0))
    from_a += (excess - from_a - from_b) // 2
    from_b = excess - from_a
    a_front, b_front = (int(n) for n in rng.binomial([from_a, from_b], 0.5))
    return a[a_front : len(a) - (from_a - a_front)], b[b_front : len(b) - (from_b - b_front)]


def frame_pair(a, b, *, seq_length, cls_id, sep_id, pad_id):
    ids = np.full(seq_length, pad_id, np.int64)
    place = np.arange(seq_length)
    sep, last = len(a) + 1, len(a) + len(b) + 2
    ids[0], ids[1:sep], ids[sep + 1 : last] = cls_id, a, b
    ids[[sep, last]] = sep_id
    types = (place > sep) & (place <= last)
    return ids, types.astype(np.int64), (place <= last).astype(np.int64)
