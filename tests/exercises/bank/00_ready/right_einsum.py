"""With einsum, and with a diagonal matrix."""

import numpy as np


def subtract_row_means(x):
    return x - (np.einsum("ij->i", x) / x.shape[1])[:, None]


def gradients(weights, x, target):
    dy = np.einsum("ij,j->i", weights, x) - target
    return np.einsum("i,j->ij", dy, x), np.einsum("ij,i->j", weights, dy)


def scale_rows(x, factors):
    return np.diag(factors) @ x
