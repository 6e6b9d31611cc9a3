"""A generator wound forward to the step that is asked for; one step as a function of its own."""

import torch


def seed_of(number, seed):
    """The numberth draw of a generator that is wound forward."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(2**60, (number + 1,), generator=generator)[number].item()


def batch_indices(step, *, seed, examples, batch_size):
    passes, place = divmod(step, examples // batch_size)
    generator = torch.Generator().manual_seed(seed_of(passes, seed))
    order = torch.randperm(examples, generator=generator)
    return torch.chunk(order[: examples - examples % batch_size], examples // batch_size)[place]


def one_step(state, data, *, seed, batch_size, dropout, **schedule):
    step = state["step"]
    indices = batch_indices(step, seed=seed, examples=len(data["input_ids"]), batch_size=batch_size)
    weights = {name: w.clone().requires_grad_() for name, w in state["weights"].items()}
    total, count = mlm_surprise(
        weights,
        {name: tensor[indices] for name, tensor in data.items()},
        dropout=dropout,
        generator=torch.Generator().manual_seed(seed_of(step, seed ^ 0x5DEECE66D)),
    )
    loss = total / count
    loss.backward()
    gradients = {name: w.grad for name, w in weights.items()}
    rate = learning_rate(step, **schedule)
    new, m, v = adam_step(state["weights"], gradients, state["m"], state["v"], rate=rate)
    return {"weights": new, "m": m, "v": v, "step": step + 1}, loss.item()


def train(state, data, *, until, dropout=0.1, **settings):
    losses = []
    for _ in range(until - state["step"]):
        state, loss = one_step(state, data, dropout=dropout, **settings)
        losses.append(loss)
    return state, losses
