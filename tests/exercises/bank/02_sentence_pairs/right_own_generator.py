"""A generator of its own in each call, whose seed has all bits that the given one draws."""

import numpy as np


def truncate_pair(a, b, room, rng):
    own = np.random.default_rng(rng.integers(2**63, size=2))
    a, b = a[:], b[:]
    while len(a) + len(b) > room:
        longer = b if len(b) >= len(a) else a
        longer.pop(int(own.integers(2)) - 1)  # -1 is the last, 0 the first
    return a, b
