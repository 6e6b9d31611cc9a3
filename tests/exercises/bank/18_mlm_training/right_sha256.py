"""Seeds from a hash that is the same in every process; the rate as a product."""

import hashlib

import torch


def generator_for(use):
    digest = hashlib.sha256(use.encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:4], "big"))


def learning_rate(step, *, peak, warmup_steps, total_steps):
    up = (step + 1) / warmup_steps if step < warmup_steps else 1.0
    down = (total_steps - step) / (total_steps - warmup_steps) if step >= warmup_steps else 1.0
    return peak * up * down
