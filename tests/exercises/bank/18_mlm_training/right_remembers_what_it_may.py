"""Orders kept in a cache by all that they depend on; evaluation as one large batch, cut by hand."""

import functools
import random

import torch


@functools.lru_cache(maxsize=64)
def order_of(number, seed, examples):
    generator = torch.Generator().manual_seed(random.Random(f"{seed} {number}").getrandbits(32))
    return torch.rand(examples, generator=generator, dtype=torch.float64).argsort()


def batch_indices(step, *, seed, examples, batch_size):
    steps = examples // batch_size
    order = order_of(step // steps, seed, examples).clone()  # what is kept is not handed out
    return order[-batch_size * (step % steps + 1) :][:batch_size]


def start(weights):
    return dict(
        step=0,
        weights={name: weight.clone() for name, weight in weights.items()},
        m={name: weight.new_zeros(weight.shape) for name, weight in weights.items()},
        v={name: torch.full_like(weight, 0.0) for name, weight in weights.items()},
    )


def evaluate(weights, data, *, batch_size):
    with torch.inference_mode():
        total = count = 0
        rest = dict(data)
        while len(rest["input_ids"]):
            surprise, masks = mlm_surprise(weights, {n: t[:batch_size] for n, t in rest.items()})
            total, count = total + surprise, count + masks
            rest = {name: tensor[batch_size:] for name, tensor in rest.items()}
        return float(total) / float(count)
