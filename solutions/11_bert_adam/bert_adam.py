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
    # begin solution
    # With step + 1 the first step is not wasted on a rate of 0. Without warm-up no step is below 0,
    # and nothing is divided by 0.
    if step < warmup_steps:
        return peak * (step + 1) / warmup_steps
    return peak * (total_steps - step) / (total_steps - warmup_steps)
    # end solution


def clip_gradients(gradients: Arrays, max_norm: float) -> tuple[Arrays, float]:
    """The gradients, and the norm of all of them together before the clip. If it is above
    `max_norm`, all gradients are scaled by one factor to that norm; otherwise they stay as they
    are."""
    # begin solution
    # All parameters are one long vector, whose direction must stay. A factor for each of them would
    # turn it, and a limit for each number even more.
    norm = math.sqrt(sum((g * g).sum() for g in gradients.values()))
    # Never above 1: stretching small gradients would keep the steps large at the end of training.
    scale = max_norm / norm if norm > max_norm else 1.0
    return {name: g * scale for name, g in gradients.items()}, norm
    # end solution


def start_adam(weights: Arrays) -> dict[str, Arrays]:
    """The state before the first step: {"m": …, "v": …}, each with a zero for every weight."""
    # begin solution
    # m and v each have an array of their own for every name.
    return {
        "m": {name: np.zeros_like(w) for name, w in weights.items()},
        "v": {name: np.zeros_like(w) for name, w in weights.items()},
    }
    # end solution


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
    # begin solution
    moved, m, v = {}, {}, {}
    for name, w in weights.items():
        g = gradients[name]
        m[name] = beta1 * state["m"][name] + (1 - beta1) * g
        v[name] = beta2 * state["v"][name] + (1 - beta2) * g * g
        # eps is added to the root, as in Adam's paper. There is no m / (1 - beta1**t): m and v
        # start at zero and are too small for a while, v for longer than m, so the first steps are
        # large. A long warm-up makes up for it; a short fine-tuning does not.
        update = m[name] / (np.sqrt(v[name]) + eps)
        # The decay belongs to the step. Added to the gradient it would be divided by √v, and the
        # weights with the largest gradients would shrink the least.
        decay = weight_decay if is_decayed(name) else 0.0
        moved[name] = w - learning_rate * (update + decay * w)
    return moved, {"m": m, "v": v}
    # end solution


# begin solution
def is_decayed(name: str) -> bool:
    """Decay pulls toward zero, which is no good place for a bias or for the scale of a layer norm
    (it starts at 1). The embeddings are decayed like other matrices."""
    return not name.endswith("bias") and "LayerNorm" not in name


# Wrong answers that are common:
# - Adam as in the textbook, with bias correction: another algorithm, up to 6.57 times slower at
#   first;
# - decay added to the gradient (L2), which Adam then divides by √v;
# - decay without the learning rate: the weights shrink even when the rate is zero;
# - biases and layer norms excluded by a name that never matches ("layer_norm", "gamma"), or by the
#   number of axes, as nanoGPT does: right for BERT's weights, and not the rule that is asked for;
# - eps inside the root, where 1e-6 acts like 1e-3;
# - betas or the decay written in, so that the arguments do nothing;
# - clipping each parameter by itself, or always scaling to max_norm;
# - `state["m"][name] *= beta1`: the state before the step is lost, and a run cannot be resumed.
# end solution
