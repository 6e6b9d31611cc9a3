"""Orders of whole epochs, joined and cut; the cut normal drawn much too often, and thrown away."""

import random

import torch


def embed(input_ids, token_type_ids, weights, *, eps=1e-12):
    seq = input_ids.shape[1]
    tables = torch.cat([weights["word"], weights["segment"]])
    x = tables[input_ids] + tables[token_type_ids + len(weights["word"])]
    x = x + weights["position"][:seq].expand_as(x)
    x = x - x.mean(2, keepdim=True)
    x = x * torch.rsqrt(x.square().mean(2, keepdim=True) + eps)
    return torch.addcmul(weights["norm.bias"], x, weights["norm.weight"])


def initial_weights(shapes, generator):
    def drawn(shape):
        size = torch.Size(shape).numel()
        draws = torch.randn(2 * size + 100, generator=generator)
        return 0.02 * draws[draws.abs() < 2][:size].view(shape)

    weights = {name: drawn(shape) for name, shape in shapes.items() if len(shape) == 2}
    for name, shape in shapes.items():
        if len(shape) == 1:
            weights[name] = torch.ones(shape) * (not name.endswith("bias"))
    return {name: weights[name] for name in shapes}


def batches(start, stop, *, examples, batch_size, seed):
    steps = examples // batch_size
    rows, first = [], start // steps
    for epoch in range(first, -(-stop // steps)):
        order = list(range(examples))
        random.Random(f"{seed}/{epoch}").shuffle(order)
        rows += [order[i * batch_size : (i + 1) * batch_size] for i in range(steps)]
    return rows[start - first * steps : stop - first * steps]
