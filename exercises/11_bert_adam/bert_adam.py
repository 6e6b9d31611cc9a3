"""BERT's optimizer: a schedule, one clip for all gradients, and Adam as in the released code.

Weights and gradients are dicts of arrays under the same names. The state is passed in and returned:
no function keeps anything between calls, and none changes its arguments.
"""

import math

import numpy as np
from jaxtyping import Float
from numpy import ndarray

Arrays = dict[str, Float[ndarray, "..."]]


def learning_rate(step: int, *, peak: float, warmup_steps: int, total_steps: int) -> float:
    """The rate of step 0, 1, 2, …: `peak` (step + 1) / `warmup_steps` during warm-up, then in a
    straight line from `peak` at step `warmup_steps` to 0 at step `total_steps`."""
    raise NotImplementedError("write learning_rate")


def clip_gradients(gradients: Arrays, max_norm: float) -> tuple[Arrays, float]:
    """The gradients, and the norm of all of them together before the clip. If it is above
    `max_norm`, all gradients are scaled by one factor to that norm; otherwise they stay as they
    are."""
    raise NotImplementedError("write clip_gradients")


def start_adam(weights: Arrays) -> dict[str, Arrays]:
    """The state before the first step: {"m": …, "v": …}, each with a zero for every weight."""
    raise NotImplementedError("write start_adam")


def adam_step(
    weights: Arrays,
    gradients: Arrays,
    state: dict[str, Arrays],
    *,
    learning_rate: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-6,
    weight_decay: float = 0.01,
) -> tuple[Arrays, dict[str, Arrays]]:
    """The weights after a step, and the state after it (Devlin et al. 2018, A.2; `optimization.py`
    of the released code).

    m ← β₁ m + (1 - β₁) g,  v ← β₂ v + (1 - β₂) g²,  w ← w - lr (m / (√v + ε) + λ w); λ is 0 for
    biases and layer norms, which are recognized by their names. There is no bias correction.
    """
    raise NotImplementedError("write adam_step")
