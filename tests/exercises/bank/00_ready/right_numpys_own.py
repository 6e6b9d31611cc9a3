"""With functions that NumPy has."""

import numpy as np


def all_differences(a, b):
    return np.subtract.outer(a, b)


def column_maxima(x):
    return np.sort(x, axis=0)[-1]


def look_up(table, ids):
    return np.take(table, ids, axis=0)


def pick(scores, labels):
    return np.take_along_axis(scores, labels[:, None], axis=1)[:, 0]


def cross_entropy(scores, label):
    return float(np.logaddexp.reduce(scores) - scores[label])


def scale_rows(x, factors):
    return (x.T * factors).T
