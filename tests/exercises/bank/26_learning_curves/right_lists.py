"""Plain Python: lists, fsum and loops, without an array until the end."""

import math
from collections import Counter

import numpy as np


def reference_lines(ids, *, vocab_size, special_ids):
    special = set(special_ids)
    counts = Counter(i for i in ids.ravel().tolist() if i not in special)
    total = counts.total()
    terms = [c / total * math.log(total / c) for c in counts.values()]
    return math.log(vocab_size), math.fsum(terms)


def curve(records, key):
    steps, values = [], []
    for record in sorted(records, key=lambda r: r["step"]):  # stable: the last stays the last
        if record.get(key, None) is None:
            continue
        if steps and steps[-1] == record["step"]:
            values[-1] = record[key]
        else:
            steps.append(record["step"])
            values.append(record[key])
    return np.array(steps, dtype=np.int64), np.array(values, dtype=np.float64)


def smooth(values, window):
    out = []
    for end in range(1, len(values) + 1):
        good = [x for x in values[:end].tolist()[-window:] if not (math.isnan(x) or math.isinf(x))]
        out.append(sum(good) / len(good) if good else float("nan"))
    return np.array(out, dtype=np.float64)


def is_flat(values, *, window, tolerance):
    x = list(map(float, values))
    if len(x) // window < 2:
        return False
    last, before = x[-window:], x[-2 * window : -window]
    return not math.fsum(before) / window - math.fsum(last) / window >= tolerance
