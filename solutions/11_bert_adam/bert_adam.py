"""BERT's optimiser: a schedule, one clip for all gradients, and Adam as the released code has it.

Weights and gradients are dicts of arrays under BERT's names. A state goes in and comes out: no
function remembers anything, and none changes what it is given.
"""

import math

import numpy as np
from jaxtyping import Float
from numpy import ndarray

Arrays = dict[str, Float[ndarray, "..."]]


def learning_rate(step: int, *, peak: float, warmup_steps: int, total_steps: int) -> float:
    """The rate of step 0, 1, 2, …: `peak` (step + 1) / `warmup_steps` during warm-up, then straight
    down, from `peak` at step `warmup_steps` to 0 at step `total_steps`."""
    # begin solution
    # With step + 1 the first step is not wasted on a rate of 0. Without warm-up no step is below 0,
    # and nothing is divided by 0.
    if step < warmup_steps:
        return peak * (step + 1) / warmup_steps
    return peak * (total_steps - step) / (total_steps - warmup_steps)
    # end solution


def clip_gradients(gradients: Arrays, max_norm: float) -> tuple[Arrays, float]:
    """The gradients, all scaled by one factor if their norm together is above `max_norm`, and that
    norm before. Gradients of a smaller norm stay as they are."""
    # begin solution
    # All parameters are one long vector, whose direction must stay. A factor for each of them would
    # turn it, and a limit for each number even more.
    norm = math.sqrt(sum(float((g * g).sum()) for g in gradients.values()))
    # Never above 1: a clip that also stretches small gradients would undo the end of training.
    scale = max_norm / norm if norm > max_norm else 1.0
    return {name: g * scale for name, g in gradients.items()}, norm
    # end solution


def start_adam(weights: Arrays) -> dict[str, Arrays]:
    """The state before the first step: {"m": …, "v": …}, each with a zero for every weight."""
    # begin solution
    # Arrays of their own, for m and for v and for every name: one dict under both keys, or one
    # array under several names, would be several moments in one.
    return {kind: {n: np.zeros_like(w) for n, w in weights.items()} for kind in ("m", "v")}
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
    biases and layer norms. There is no bias correction.
    """
    # begin solution
    moved, m, v = {}, {}, {}
    for name, w in weights.items():
        g = gradients[name]
        m[name] = beta1 * state["m"][name] + (1 - beta1) * g
        v[name] = beta2 * state["v"][name] + (1 - beta2) * g * g
        # eps stands beside the root, as in Adam's paper. And no m / (1 - beta1**t): what starts at
        # zero stays too small for a while, v for longer than m, so that the first steps are large.
        # A long warm-up hides it; a short fine-tune does not.
        update = m[name] / (np.sqrt(v[name]) + eps)
        # The decay is added here, to the step. Added to the gradient it would be divided by √v, and
        # the weights with the largest gradients would shrink the least.
        if is_decayed(name):
            update = update + weight_decay * w
        moved[name] = w - learning_rate * update
    return moved, {"m": m, "v": v}
    # end solution


# begin solution
def is_decayed(name: str) -> bool:
    """Decay draws to zero. A scale of a layer norm is at home at 1, a bias anywhere. The embeddings
    are decayed like other matrices."""
    return not name.endswith("bias") and "LayerNorm" not in name


# Wrong answers that are common:
# - Adam as in the textbook, with bias correction: another algorithm, up to 6.57 times slower at
#   first;
# - decay added to the gradient (L2), which Adam's division takes away again;
# - decay without the learning rate: the weights shrink even when the rate is zero;
# - biases and layer norms excluded by a name that never matches: "layer_norm", "gamma";
# - eps inside the root, where 1e-6 acts like 1e-3;
# - betas or the decay written in, so that the arguments do nothing;
# - clipping each parameter by itself, or always scaling to max_norm;
# - `state["m"][name] *= beta1`: the state of the step before is gone, and with it a resumed run.
# end solution
