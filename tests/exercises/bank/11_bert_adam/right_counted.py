"""A state with a count of steps in it, which nothing depends on; weights in reverse order."""

import numpy as np


def start_adam(weights):
    names = list(weights)
    state = {kind: {n: 0 * weights[n] for n in reversed(names)} for kind in ("v", "m")}
    return {"step": 0, **state}


def adam_step(
    weights, gradients, state, *, learning_rate, beta1=0.9, beta2=0.999, eps=1e-6, weight_decay=0.01
):
    new = {"step": state.get("step", 0) + 1, "m": {}, "v": {}}
    moved = {}
    for name in reversed(list(weights)):
        gradient = np.array(gradients[name])
        new["m"][name] = np.add(state["m"][name] * beta1, gradient * (1 - beta1))
        new["v"][name] = np.add(state["v"][name] * beta2, gradient * gradient * (1 - beta2))
        step = new["m"][name] / np.add(np.sqrt(new["v"][name]), eps)
        if not name.endswith("bias") and "LayerNorm" not in name:
            step = step + weights[name] * weight_decay
        moved[name] = np.subtract(weights[name], step * learning_rate)
    return moved, new
