"""Heads by split and stack; projections by tensordot."""

import numpy as np


def split_heads(x, heads):
    return np.stack(np.split(x, heads, axis=-1), axis=1)


def merge_heads(x):
    return np.concatenate(list(np.moveaxis(x, 1, 0)), axis=-1)


def project(x, weights, name):
    return np.tensordot(x, weights[f"{name}.weight"], axes=(-1, 1)) + weights[f"{name}.bias"]
