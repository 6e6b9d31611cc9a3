"""NumPy's generators for the order; parameters with .grad; sums kept as tensors."""

import numpy as np
import torch


def learning_rate(step, *, peak, warmup_steps, total_steps):
    rise = (step + 1) / warmup_steps if warmup_steps else 1.0
    fall = (total_steps - step) / max(1, total_steps - warmup_steps)
    return peak * (rise if step < warmup_steps else fall)


def batch_indices(step, *, seed, examples, batch_size):
    per_pass = examples // batch_size
    order = np.random.default_rng([seed, step // per_pass]).permutation(examples)
    return torch.from_numpy(order[: per_pass * batch_size].reshape(per_pass, -1)[step % per_pass])


def start(weights):
    state = {"weights": dict(weights), "step": 0}
    for moment in "mv":
        state[moment] = {name: weight * 0 for name, weight in weights.items()}
    return state


def train(state, data, *, until, seed, batch_size, peak, warmup_steps, total_steps, dropout=0.1):
    state, losses = dict(state), []
    while state["step"] < until:
        step = state["step"]
        bits = np.random.default_rng([seed, step, 77]).integers(2**62)
        rows = batch_indices(
            step, seed=seed, examples=data["input_ids"].shape[0], batch_size=batch_size
        )
        batch = {name: tensor.index_select(0, rows) for name, tensor in data.items()}
        parameters = {n: torch.nn.Parameter(w.clone()) for n, w in state["weights"].items()}
        total, masks = mlm_surprise(
            parameters, batch, dropout=dropout, generator=torch.Generator().manual_seed(int(bits))
        )
        (total / masks).backward()
        losses.append(float(total / masks))
        rate = learning_rate(step, peak=peak, warmup_steps=warmup_steps, total_steps=total_steps)
        with torch.no_grad():
            moved = adam_step(
                state["weights"], {n: p.grad for n, p in parameters.items()}, state["m"],
                state["v"], rate=rate,
            )  # fmt: skip
        state["weights"], state["m"], state["v"] = moved
        state["step"] = step + 1
    return state, losses


def evaluate(weights, data, *, batch_size):
    batches = zip(*(tensor.split(batch_size) for tensor in data.values()), strict=True)
    sums = torch.zeros(2, dtype=torch.float64)
    for tensors in batches:
        sums += torch.stack(mlm_surprise(weights, dict(zip(data, tensors, strict=True)))).double()
    return (sums[0] / sums[1]).item()
