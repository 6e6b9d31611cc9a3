"""The document as a queue; coins tossed in advance; padding by NumPy."""

from collections import deque

import numpy as np


def _take(queue, target):
    taken = []
    while queue and (not taken or sum(map(len, taken)) < target):
        taken.append(queue.popleft())
    return taken


def sentence_pairs(documents, index, rng, *, target, random_next=0.5):
    queue, pairs = deque(documents[index]), []
    while queue:
        chunk = _take(queue, target)
        size = 1 if len(chunk) == 1 else int(rng.permutation(len(chunk) - 1)[0]) + 1
        a = [token for sentence in chunk[:size] for token in sentence]
        label = 1
        if chunk[size:] and rng.uniform() >= random_next:
            label, b = 0, chunk[size:]
        else:
            queue.extendleft(reversed(chunk[size:]))
            elsewhere = documents[:index] + documents[index + 1 :]
            there = elsewhere[rng.integers(len(elsewhere))]
            b = _take(deque(there[rng.integers(len(there)) :]), target - len(a))
        pairs.append((a, [token for sentence in b for token in sentence], label))
    return pairs


def truncate_pair(a, b, room, rng):
    a, b = deque(a), deque(b)
    for coin in rng.integers(2, size=max(0, len(a) + len(b) - room)):
        longer = a if len(a) > len(b) else b
        longer.popleft() if coin else longer.pop()
    return list(a), list(b)


def frame_pair(a, b, *, seq_length, cls_id, sep_id, pad_id):
    tokens = np.array([cls_id, *a, sep_id, *b, sep_id], dtype=np.int64)
    room = (0, seq_length - len(tokens))
    types = (np.arange(len(tokens)) > len(a) + 1).astype(np.int64)
    return (np.pad(tokens, room, constant_values=pad_id), np.pad(types, room),
            np.pad(np.ones_like(tokens), room))  # fmt: skip
