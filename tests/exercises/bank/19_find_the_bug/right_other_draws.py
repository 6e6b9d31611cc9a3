"""The cut normal through its inverse, fates from a table, orders from NumPy."""

import math

import numpy as np
import torch


def initial_weights(shapes, generator):
    edge = math.erf(math.sqrt(2))
    weights = {}
    for name, shape in shapes.items():
        if name.endswith("bias") or "LayerNorm" in name:
            weights[name] = torch.full(tuple(shape), float(name.endswith("weight")))
        else:
            share = torch.rand(tuple(shape), generator=generator, dtype=torch.float64) * 2 - 1
            weights[name] = (0.02 * math.sqrt(2) * torch.erfinv(share * edge)).float()
    return weights


def mask_tokens(input_ids, generator, *, mask_id, special_ids, ordinary_ids, rate=0.15):
    draw = torch.rand(input_ids.shape, generator=generator)
    selected = (draw < rate) & ~torch.isin(input_ids, special_ids)
    fate = torch.tensor([0] * 8 + [1, 2])[torch.randint(10, input_ids.shape, generator=generator)]
    word = ordinary_ids[torch.randint(len(ordinary_ids), input_ids.shape, generator=generator)]
    options = torch.stack([torch.full_like(input_ids, mask_id), word, input_ids])
    shown = options.gather(0, fate[None])[0]
    return torch.where(selected, shown, input_ids), torch.where(selected, input_ids, -100)


def batches(start, stop, *, examples, batch_size, seed):
    steps = examples // batch_size
    epochs = range(start // steps, -(-stop // steps))
    order = [np.random.default_rng([seed, e]).permutation(examples)[: steps * batch_size]
             for e in epochs]  # fmt: skip
    if not order:
        return []
    rows = np.concatenate(order).reshape(-1, batch_size)
    return rows[start % steps : start % steps + stop - start].tolist()
