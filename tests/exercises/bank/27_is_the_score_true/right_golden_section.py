"""The temperature by the golden section on the loss; bins by rounding up; p by a recurrence."""

import numpy as np


def best_temperature(logits, labels):
    logits = logits - logits.mean(axis=1, keepdims=True)
    ratio = (5**0.5 - 1) / 2
    a, b = np.log([0.05, 20.0])

    def loss(x):
        return negative_log_likelihood(logits, labels, temperature=np.exp(x))

    while b - a > 1e-5:
        left, right = b - ratio * (b - a), a + ratio * (b - a)
        if loss(left) <= loss(right):
            b = right
        else:
            a = left
    return np.exp((a + b) / 2)


def negative_log_likelihood(logits, labels, *, temperature=1.0):
    z = logits / temperature
    return float(-(z[range(len(z)), labels] - np.logaddexp.reduce(z, axis=1)).mean())


def reliability(confidence, correct, *, bins):
    place = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    inside = place == np.arange(bins)[:, None]
    counts = inside.sum(axis=1)
    mean, accuracy = np.full((2, bins), np.nan)
    np.divide(inside @ confidence, counts, out=mean, where=counts > 0)
    np.divide(inside @ correct.astype(float), counts, out=accuracy, where=counts > 0)
    return counts, mean, accuracy


def calibration_error(confidence, correct, *, bins):
    place = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    gaps = np.zeros(bins)
    np.add.at(gaps, place, correct - confidence)
    return np.abs(gaps).sum() / confidence.size
