"""The chapter's way, in place, on copies; v before m, the weights in another order."""

import numpy as np


def clip_gradients(gradients, max_norm):
    whole = np.concatenate([g.ravel() for g in gradients.values()])
    norm = np.linalg.norm(whole.astype(np.float64))
    if norm <= max_norm:
        return {name: g.copy() for name, g in gradients.items()}, norm
    return {name: (g * (max_norm / norm)).astype(g.dtype) for name, g in gradients.items()}, norm


def start_adam(weights):
    zeros = {name: np.zeros(w.shape, w.dtype) for name, w in weights.items()}
    return {"m": zeros, "v": {name: z.copy() for name, z in zeros.items()}}


def adam_step(
    weights, gradients, state, *, learning_rate, beta1=0.9, beta2=0.999, eps=1e-6, weight_decay=0.01
):
    weights = {name: w.copy() for name, w in weights.items()}
    state = {kind: {name: a.copy() for name, a in state[kind].items()} for kind in state}
    for name in sorted(weights):
        w, g, m, v = weights[name], gradients[name], state["m"][name], state["v"][name]
        v += (1 - beta2) * (g * g - v)
        m += (1 - beta1) * (g - m)
        if not name.endswith("bias") and name.find("LayerNorm") < 0:
            w *= 1 - learning_rate * weight_decay
        w -= learning_rate * m / (np.sqrt(v) + eps)
    return weights, state
