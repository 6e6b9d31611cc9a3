"""Everything in float64, -inf for padding and zeros for NaN, then back to the type that came."""

import numpy as np


def attention_forward(query, key, value, attention_mask=None):
    kind = query.dtype
    q, k, v = (a.astype(np.float64) for a in (query, key, value))
    scores = np.einsum("bhid,bhjd->bhij", q, k) / np.sqrt(q.shape[3])
    if attention_mask is not None:
        hidden = np.broadcast_to((attention_mask != 1)[:, None, None], scores.shape)
        scores = np.ma.masked_array(scores, hidden).filled(-np.inf)
    with np.errstate(invalid="ignore"):
        e = np.nan_to_num(np.exp(scores - scores.max(-1)[..., None]))
        probs = np.nan_to_num(e / e.sum(-1)[..., None])
    return (probs @ v).astype(kind), probs.astype(kind)
