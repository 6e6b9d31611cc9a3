"""Results are kept, and a copy is returned for the same scores."""

import numpy as np

KEPT = {}


def softmax_forward(x, axis=-1):
    key = x.tobytes(), x.shape, x.dtype, axis
    if key not in KEPT:
        e = np.exp(x - np.max(x, axis, keepdims=True))
        KEPT[key] = e / np.sum(e, axis, keepdims=True)
    return KEPT[key].copy()
