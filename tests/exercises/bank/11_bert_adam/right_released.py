"""In the order of the released code; the schedule as one expression."""

import re

import numpy as np


def learning_rate(step, *, peak, warmup_steps, total_steps):
    rise = (step + 1) / warmup_steps if warmup_steps else 1.0
    fall = 1 - (step - warmup_steps) / (total_steps - warmup_steps)
    return peak * min(rise, fall, 1.0)


def adam_step(
    weights, gradients, state, *, learning_rate, beta1=0.9, beta2=0.999, eps=1e-6, weight_decay=0.01
):
    new_weights, new_state = {}, {"m": {}, "v": {}}
    for name, param in weights.items():
        grad, m, v = gradients[name], state["m"][name], state["v"][name]
        next_m = np.multiply(beta1, m) + np.multiply(1.0 - beta1, grad)
        next_v = np.multiply(beta2, v) + np.multiply(1.0 - beta2, np.square(grad))
        update = next_m / (np.sqrt(next_v) + eps)
        if not any(re.search(pattern, name) for pattern in ("LayerNorm", "bias$")):
            update += weight_decay * param
        new_weights[name] = param - learning_rate * update
        new_state["m"][name], new_state["v"][name] = next_m, next_v
    return new_weights, new_state
