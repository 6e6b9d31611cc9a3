"""A training step of levels 2 and 3, as their own training loops do it."""

from functools import partial
from pathlib import Path

import bert_paper  # noqa: F401 - sets how torch treats the CPU, so it comes before torch

# isort: split
import torch

from bench_sections.models import every_token_asked, read_batch
from bert_lowlevel.model import Bert, to_tensors
from bert_lowlevel.optimizer import FusedAdamW
from bert_lowlevel.training import Computing, part_losses
from bert_lowlevel.training import training_step as lowlevel_step
from bert_paper.cpu_kernels import use_cpu_kernels
from bert_paper.model import BertForPreTraining, load_arrays
from bert_paper.optimizer import make_optimizer
from bert_paper.training import training_step
from bert_run.config import AdamSettings, BertConfig
from bert_run.weights import load_weights

PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16}
ADAM = AdamSettings()


def read(
    folder: Path, *, medium: bool = False, every_token: bool = False
) -> tuple[BertConfig, dict, dict[str, torch.Tensor]]:
    """Config, weights and batch; `medium`: torch may round float32 numbers to bfloat16 within a
    product; `every_token`: the same loss from the logits of all positions."""
    torch.set_float32_matmul_precision("medium" if medium else "highest")
    config, batch = BertConfig.load(folder), read_batch(folder)
    batch = every_token_asked(batch) if every_token else batch
    tensors = {name: torch.from_numpy(array) for name, array in batch.items()}
    return config, load_weights(folder, config), tensors


def level_2(folder: Path, *, precision: str, compiled: bool = False, **how: bool):
    config, weights, batch = read(folder, **how)
    bert = Bert(config, to_tensors(weights), training=True)
    adam = FusedAdamW(bert.weights, ADAM)
    losses = torch.compile(part_losses, dynamic=False) if compiled else part_losses
    computing = Computing(PRECISIONS[precision], losses=losses)

    def step() -> float:
        found = lowlevel_step(bert, adam, batch, computing, learning_rate=ADAM.learning_rate,
                              max_grad_norm=ADAM.max_grad_norm)  # fmt: skip
        return found.total.item()

    return step


def level_3(
    folder: Path, *, precision: str, compiled: bool = False, adam: str = "adamw", **how: bool
):
    config, weights, batch = read(folder, **how)
    model = BertForPreTraining(config)
    load_arrays(model, weights)
    use_cpu_kernels(model)
    optimizer = make_optimizer(model.train(), ADAM, name=adam)
    if compiled:
        model.loss = torch.compile(model.loss, dynamic=False)

    def step() -> float:
        losses = training_step(model, optimizer, batch, precision=PRECISIONS[precision],
                               max_grad_norm=ADAM.max_grad_norm)  # fmt: skip
        return losses.sum().item()

    return step


KINDS = {
    "level 2": level_2,
    "level 2, every token": partial(level_2, every_token=True),
    "level 3": level_3,
}
