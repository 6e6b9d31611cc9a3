"""The order by sorting random keys; evaluation in one pass of slices, with weights per batch."""

import torch


def learning_rate(step, *, peak, warmup_steps, total_steps):
    if step >= warmup_steps:
        warmup_steps, step = total_steps - warmup_steps, total_steps - step - 1
    return peak * (step + 1) / warmup_steps


def batch_indices(step, *, seed, examples, batch_size):
    steps = examples // batch_size
    own = torch.Generator().manual_seed(hash((seed, step // steps)) & (2**60 - 1))
    keys = torch.rand(examples, generator=own, dtype=torch.float64)
    return keys.argsort()[step % steps :: steps][:batch_size]


def evaluate(weights, data, *, batch_size):
    losses, counts = [], []
    for rows in torch.arange(len(data["input_ids"])).split(batch_size):
        total, count = mlm_surprise(weights, {n: t[rows] for n, t in data.items()})
        losses.append(total.detach() / count.clamp(min=1))
        counts.append(count)
    counts = torch.stack(counts)
    return float((torch.stack(losses) * counts / counts.sum()).sum())
