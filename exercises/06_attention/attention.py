"""Attention: every query averages the values of the keys that match it, and of no padding."""

import math

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

Queries = Float[ndarray, "batch heads queries head_dim"]
Keys = Float[ndarray, "batch heads keys head_dim"]
Probs = Float[ndarray, "batch heads queries keys"]


def attention_forward(
    query: Queries,
    key: Keys,
    value: Keys,
    attention_mask: Int[ndarray, "batch keys"] | None = None,
) -> tuple[Queries, Probs]:
    """softmax(Q Kᵀ / √head_dim) V, and the probabilities (Vaswani et al. 2017, equation 1).

    `attention_mask` is 1 where a key is a token, 0 where it is padding; without it all are tokens.
    Padding gets a probability of exactly 0, however large the scores. Only keys are masked: every
    query attends. Where all keys are padding, the results are finite. No input is changed, and both
    results have the type of the inputs.
    """
    raise NotImplementedError("write attention_forward")


def attention_backward(
    dcontext: Queries, query: Queries, key: Keys, value: Keys, probs: Probs
) -> tuple[Queries, Keys, Keys]:
    """The gradients for query, key and value, given the gradient for the first result of
    `attention_forward`, its inputs, and its second result. No input is changed."""
    raise NotImplementedError("write attention_backward")
