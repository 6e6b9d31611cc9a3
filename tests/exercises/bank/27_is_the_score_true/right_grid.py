"""A fine grid, made finer round its best; masks for the bins; choice for the draws."""

from fractions import Fraction
from math import comb

import numpy as np


def bootstrap_interval(values, *, draws, level, rng):
    means = np.empty(draws)
    for r in range(draws):
        means[r] = np.mean(rng.choice(values, size=values.size, replace=True))
    return float(np.percentile(means, 50 - 50 * level)), float(
        np.percentile(means, 50 + 50 * level)
    )


def sign_test(first, second):
    differ = first != second
    m = int(np.count_nonzero(differ))
    wins = int(np.count_nonzero(first[differ]))
    if 2 * wins > m:
        wins = m - wins
    return float(min(Fraction(2 * sum(comb(m, i) for i in range(wins + 1)), 2**m), Fraction(1)))


def reliability(confidence, correct, *, bins):
    counts, means, shares = [], [], []
    for j in range(bins):
        inside = (confidence > j / bins) & (confidence <= (j + 1) / bins)
        if j == 0:
            inside |= confidence == 0
        counts.append(inside.sum())
        means.append(confidence[inside].mean() if inside.any() else np.nan)
        shares.append(correct[inside].mean() if inside.any() else np.nan)
    return np.array(counts), np.array(means), np.array(shares)


def best_temperature(logits, labels):
    low, high = 0.05, 20.0
    for _ in range(4):
        grid = np.geomspace(low, high, 41)
        losses = [negative_log_likelihood(logits, labels, temperature=t) for t in grid]
        best = int(np.argmin(losses))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, 40)]
    return grid[best]
