"""Fill-ins of 03/02, model and recipe."""

import numpy as np
import torch

from bert_experiments.fill_in import FillIn
from bert_paper.model import AddAndNorm
from bert_run.config import BertConfig
from bert_run.training_loop import learning_rate


def closing_module(*, drops_all: bool) -> AddAndNorm:
    """In evaluation, or in training with a dropout that drops everything: both without chance."""
    config = BertConfig(vocab_size=16, hidden_size=4, num_attention_heads=1)
    generator = torch.Generator().manual_seed(0)
    module = AddAndNorm(config, 6).requires_grad_(False).train(drops_all)
    module.dropout.p = 1.0 if drops_all else 0.1
    for parameter in module.parameters():
        parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return module


X = torch.tensor([[[1.0, -2.0, 0.5, 0.0, 1.0, 3.0], [0.0, 1.0, 2.0, -1.0, 0.5, 0.0]]])
RESIDUAL = torch.tensor([[[1.0, 2.0, -1.0, 0.5], [0.0, -3.0, 1.0, 1.0]]])

add_and_norm = FillIn(
    "add_and_norm",
    reference=lambda module, x, residual: module(x, residual),
    instead="bert_paper.model.AddAndNorm.forward",
    inputs=[(closing_module(drops_all=all_), X, RESIDUAL) for all_ in (False, True)],
    mistakes={
        "the residual is not added": (
            lambda module, x, residual: module.LayerNorm(module.dropout(module.dense(x)))
        ),
        "the norm is inside the sum: BERT normalizes the sum": (
            lambda module, x, residual: residual + module.LayerNorm(module.dropout(module.dense(x)))
        ),
        "dropout is missing: it comes after dense and before the sum": (
            lambda module, x, residual: module.LayerNorm(residual + module.dense(x))
        ),
        "dropout acts on the sum: it must leave the residual alone": (
            lambda module, x, residual: module.LayerNorm(module.dropout(residual + module.dense(x)))
        ),
        "the norm is missing": (
            lambda module, x, residual: residual + module.dropout(module.dense(x))
        ),
    },
)

PAPER = (1e-4, 10_000, 1_000_000)

rate_at = FillIn(
    "rate_at",
    reference=lambda step, peak, warmup, total: learning_rate(
        step, peak=peak, warmup_steps=warmup, total_steps=total
    ),
    instead="bert_run.training_loop.learning_rate",
    inputs=[(step, *PAPER) for step in (0, 9_999, 10_000, 505_000, 999_999)]
    + [(20, 1.0, 10, 110), (60, 1.0, 10, 110)],
    mistakes={
        "step 0 would learn nothing: the first step takes 1 part of the warm-up": (
            lambda step, peak, warmup, total: (
                peak * step / warmup if step < warmup else peak * (total - step) / (total - warmup)
            )
        ),
        "the line falls from the end of the warm-up, not from step 0": (
            lambda step, peak, warmup, total: (
                peak * (step + 1) / warmup if step < warmup else peak * (total - step) / total
            )
        ),
        "there is no warm-up": lambda step, peak, warmup, total: peak * (total - step) / total,
        "after the warm-up the rate falls to 0 in a line": (
            lambda step, peak, warmup, total: peak * min(1, (step + 1) / warmup)
        ),
    },
)

step_factor = FillIn(
    "step_factor",
    reference=lambda t: (1 - 0.9**t) / (1 - 0.999**t) ** 0.5,
    instead="the formula above",
    inputs=[(1,), (2,), (12,), (4_000,)],
    mistakes={
        "Adam divides by the square root of v": lambda t: (1 - 0.9**t) / (1 - 0.999**t),
        "the two decays are swapped: 0.9 belongs to m": (
            lambda t: (1 - 0.999**t) / (1 - 0.9**t) ** 0.5
        ),
        "this is m alone": lambda t: 1 - 0.9**t,
        "m and v are those of the first step, at every step": lambda t: 0.1 / 0.001**0.5,
    },
)

KEPT = np.array([[True, False, True, True], [False, True, True, True]])
VALUES = np.array([[1.0, 2.0, -3.0, 4.0], [0.5, -1.0, 2.0, 1.0]])

dropped = FillIn(
    "dropped",
    reference=lambda x, kept, probability: x * kept / (1 - probability),
    instead="x * kept / (1 - probability)",
    inputs=[(VALUES, KEPT, 0.1), (VALUES, KEPT, 0.5)],
    mistakes={
        "the mean shrinks: divide what is kept by the fraction that is kept": (
            lambda x, kept, probability: x * kept
        ),
        "divide by the fraction that is kept, 1 - probability, not by the dropped fraction": (
            lambda x, kept, probability: x * kept / probability
        ),
        "multiplying makes the mean even smaller: divide": (
            lambda x, kept, probability: x * kept * (1 - probability)
        ),
        "`kept` is turned round: what is kept keeps its value": (
            lambda x, kept, probability: x * ~kept / (1 - probability)
        ),
    },
)

PARTS = [np.array([1.0, 3.0]), np.array([6.0])]
MORE = [np.array([2.0, 2.0, 5.0]), np.array([1.0]), np.array([4.0, 0.0])]


def whole_count(parts: list[np.ndarray]) -> int:
    return sum(len(part) for part in parts)


parts_of_loss = FillIn(
    "parts_of_loss",
    reference=lambda parts: [float(part.sum() / whole_count(parts)) for part in parts],
    instead="the rule above",
    inputs=[(PARTS,), (MORE,)],
    mistakes={
        "this is the mean of the parts' means: a part with few words counts too much": (
            lambda parts: [part.mean() / len(parts) for part in parts]
        ),
        "these are the parts' means: their sum is not a mean": (
            lambda parts: [part.mean() for part in parts]
        ),
        "the sums are not divided by the count of the whole batch": (
            lambda parts: [part.sum() for part in parts]
        ),
        "divide by the number of words, not by the number of parts": (
            lambda parts: [part.sum() / len(parts) for part in parts]
        ),
    },
)
