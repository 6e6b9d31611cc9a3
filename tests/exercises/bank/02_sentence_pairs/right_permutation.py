"""A permutation for A's size, chained lists, a draw until it is another document; booleans."""

from itertools import chain

import numpy as np


def sentence_pairs(documents, index, rng, *, target, random_next=0.5):
    document, result, position = documents[index], [], 0
    while position < len(document):
        sizes = np.cumsum([len(sentence) for sentence in document[position : position + target]])
        chunk = document[position : position + int(np.searchsorted(sizes, target)) + 1]
        order = rng.permutation(max(len(chunk) - 1, 1))
        a = [*chain.from_iterable(chunk[: order[0] + 1])]
        used = int(order[0]) + 1
        if rng.uniform(0, 1) < random_next or len(chunk) < 2:
            while (other := rng.integers(len(documents))) == index:
                pass
            rest = documents[other][rng.integers(len(documents[other])) :]
            b = list(rest[0])
            for sentence in rest[1:]:
                if len(b) >= target - len(a):
                    break
                b = b + sentence
            result.append((a, b, True))
        else:
            result.append((a, [*chain.from_iterable(chunk[used:])], False))
            used = len(chunk)
        position += used
    return result


def truncate_pair(a, b, room, rng):
    fronts, backs = [0, 0], [0, 0]
    sizes = [len(a), len(b)]
    while sum(sizes) > room:
        which = int(sizes[1] >= sizes[0])
        sizes[which] -= 1
        (fronts if rng.integers(2) else backs)[which] += 1
    return (a[fronts[0] : len(a) - backs[0]], b[fronts[1] : len(b) - backs[1]])


def frame_pair(a, b, *, seq_length, cls_id, sep_id, pad_id):
    rows = np.zeros((3, seq_length), dtype=np.int64)
    tokens = np.concatenate([[cls_id], a, [sep_id], b, [sep_id]])
    rows[0] = pad_id
    rows[0, : len(tokens)] = tokens
    rows[1, len(a) + 2 : len(tokens)] = 1
    rows[2, : len(tokens)] = 1
    return tuple(rows)
