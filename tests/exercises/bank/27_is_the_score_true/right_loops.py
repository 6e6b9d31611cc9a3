"""One example after the other."""

import math

import numpy as np


def bootstrap_interval(values, *, draws, level, rng):
    means = []
    for _ in range(draws):
        picked = [values[rng.integers(len(values))] for _ in range(len(values))]
        means.append(sum(picked) / len(values))
    ends = [np.quantile(means, q) for q in (0.5 - level / 2, 0.5 + level / 2)]
    return tuple(ends)


def sign_test(first, second):
    wins = losses = 0
    for a, b in zip(first.tolist(), second.tolist(), strict=True):
        wins += a and not b
        losses += b and not a
    m, k = wins + losses, min(wins, losses)
    logs = [math.lgamma(m + 1) - math.lgamma(i + 1) - math.lgamma(m - i + 1) - m * math.log(2)
            for i in range(k + 1)]  # fmt: skip
    top = max(logs)
    return min(1.0, 2 * math.exp(top) * sum(math.exp(x - top) for x in logs))


def reliability(confidence, correct, *, bins):
    counts, sums, hits = np.zeros(bins, np.int64), np.zeros(bins), np.zeros(bins)
    for c, hit in zip(confidence, correct, strict=True):
        j = 0
        while j < bins - 1 and c > (j + 1) / bins:
            j += 1
        counts[j] += 1
        sums[j] += c
        hits[j] += hit
    empty = counts == 0
    sums[empty] = hits[empty] = np.nan
    return counts, sums / np.where(empty, 1, counts), hits / np.where(empty, 1, counts)


def calibration_error(confidence, correct, *, bins):
    total = 0.0
    for count, mean, accuracy in zip(*reliability(confidence, correct, bins=bins), strict=True):
        if count:
            total += count / len(correct) * abs(accuracy - mean)
    return total


def negative_log_likelihood(logits, labels, *, temperature=1.0):
    losses = []
    for row, label in zip(logits.tolist(), labels.tolist(), strict=True):
        z = [x / temperature for x in row]
        top = max(z)
        losses.append(top - z[label] + math.log(sum(math.exp(x - top) for x in z)))
    return math.fsum(losses) / len(losses)
