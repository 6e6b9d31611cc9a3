"""Norms of norms; all moments before all weights; the schedule by interpolation."""

import math

import numpy as np


def learning_rate(step, *, peak, warmup_steps, total_steps):
    if warmup_steps:
        return float(np.interp(step, [-1, warmup_steps - 1, warmup_steps, total_steps],
                               [0, peak, peak, 0]))  # fmt: skip
    return float(np.interp(step, [0, total_steps], [peak, 0]))


def clip_gradients(gradients, max_norm):
    norm = math.hypot(*(np.linalg.norm(g.ravel()) for g in gradients.values()))
    factor = max_norm / max(norm, max_norm)
    return dict(zip(gradients, (factor * g for g in gradients.values()), strict=True)), norm


def adam_step(
    weights, gradients, state, *, learning_rate, beta1=0.9, beta2=0.999, eps=1e-6, weight_decay=0.01
):
    new = {"m": {}, "v": {}}
    for kind, beta, power in (("m", beta1, 1), ("v", beta2, 2)):
        for name in state[kind]:
            old = state[kind][name]
            new[kind][name] = old + (1 - beta) * (gradients[name] ** power - old)
    shrunk = {
        name: w if name[-4:] == "bias" or "LayerNorm" in name
        else (1 - learning_rate * weight_decay) * w
        for name, w in weights.items()
    }  # fmt: skip
    moved = {
        name: w - learning_rate * new["m"][name] / (eps + new["v"][name] ** 0.5)
        for name, w in shrunk.items()
    }
    return moved, new
