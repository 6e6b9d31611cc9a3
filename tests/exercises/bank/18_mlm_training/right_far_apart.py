"""Seeds as multiples of a large prime; Fisher and Yates by hand; a while loop."""

import torch


def numbers(*key):
    mixed = 17
    for number in key:
        mixed = (mixed * 6_364_136_223_846_793_005 + number + 1_442_695_040_888_963_407) % 2**61
    return torch.Generator().manual_seed(mixed)


def learning_rate(step, *, peak, warmup_steps, total_steps):
    rising = (step + 1) / max(warmup_steps, 1)
    falling = (total_steps - step) / max(total_steps - warmup_steps, 1)
    return peak * min(rising if warmup_steps else 1, falling if step >= warmup_steps else 1)


def batch_indices(step, *, seed, examples, batch_size):
    steps = examples // batch_size
    generator, order = numbers(seed, step // steps, 0), list(range(examples))
    for last in range(examples - 1, 0, -1):
        other = torch.randint(last + 1, (), generator=generator).item()
        order[last], order[other] = order[other], order[last]
    return torch.tensor(order[step % steps * batch_size :][:batch_size])


def train(state, data, *, until, seed, batch_size, peak, warmup_steps, total_steps, dropout=0.1):
    weights, m, v, step = (state[key] for key in ("weights", "m", "v", "step"))
    losses = []
    while step < until:
        rows = batch_indices(
            step, seed=seed, examples=len(data["input_ids"]), batch_size=batch_size
        )

        def loss_of(weights, rows=rows, step=step):
            batch = {name: values[rows] for name, values in data.items()}
            total, count = mlm_surprise(
                weights, batch, dropout=dropout, generator=numbers(seed, step, 1)
            )
            return total / count

        leaves = {name: w.detach().clone().requires_grad_() for name, w in weights.items()}
        loss = loss_of(leaves)
        found = dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values())), strict=True))
        rate = learning_rate(step, peak=peak, warmup_steps=warmup_steps, total_steps=total_steps)
        weights, m, v = adam_step(weights, found, m, v, rate=rate)
        losses += [float(loss.detach())]
        step += 1
    return {"step": step, "v": v, "m": m, "weights": weights}, losses
