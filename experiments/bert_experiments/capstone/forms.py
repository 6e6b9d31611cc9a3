"""What a function of the capstone must return before the model goes on: types and shapes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from autograder import checks
from autograder.codec import leaves


def like_adam(weights, gradients, state, **_):
    return weights, {"m": state["m"], "v": state["v"]}


# What each function must return, apart from the numbers: its arguments have the forms.
FORMS: dict[str, Callable[..., Any]] = {
    "layer_forward": lambda x, mask, weights, **_: x,
    "layer_backward": lambda dout, x, mask, weights, **_: (x, weights),
    "layer_norm_forward": lambda x, weight, bias, eps: x,
    "layer_norm_backward": lambda dout, x, weight, eps: (x, weight, weight),
    "gelu_forward": lambda x, approximation: x,
    "gelu_backward": lambda dout, x, approximation: x,
    "attention_forward": lambda query, key, value, mask: (query, query @ key.swapaxes(-1, -2)),
    "attention_backward": lambda dcontext, query, key, value, probs: (query, key, value),
    "lookup_backward": lambda dout, ids, entries: np.zeros((entries, dout.shape[-1]), dout.dtype),
    "masked_cross_entropy_forward": lambda logits, labels, weights: 0.0,
    "masked_cross_entropy_backward": lambda dloss, logits, labels, weights: logits,
    "mask_tokens": lambda ids, rng, **_: (0 * ids, 0 * ids),
    "learning_rate": lambda step, **_: 0.0,
    "clip_gradients": lambda gradients, max_norm: (gradients, 0.0),
    "adam_step": like_adam,
}
FLOAT64 = "the result is always float64: a Python float or NumPy's own float64 came in"


def formed(function: Any) -> Callable[..., Any]:
    """The function of a student, whose results are looked at before the model goes on with them:
    types and shapes, and no NaN."""
    name = function.name

    def call(*args: Any, **kwargs: Any) -> Any:
        out = function(*args, **kwargs)
        told = out
        if name == "adam_step" and type(out) is tuple and len(out) == 2 and type(out[1]) is dict:
            told = (out[0], {k: out[1][k] for k in ("m", "v") if k in out[1]})  # more may be kept
        if name == "mask_tokens" and type(out) is tuple:  # whole numbers would have to be equal
            told = tuple(0 * part if type(part) is np.ndarray else part for part in out)
        form = FORMS[name](*args, **kwargs)
        named = {} if is_float64(form) else {FLOAT64: is_float64}
        checks.same(told, form, of=f"what {name} returned", mistakes=named, tolerance=np.inf)
        return out

    return call


def is_float64(out: Any) -> bool:
    """Whether an array somewhere in a tree of values is float64."""
    return any(type(leaf) is np.ndarray and leaf.dtype == np.float64 for leaf in leaves(out))
