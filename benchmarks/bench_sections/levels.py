"""A training step of levels 2 and 3, as their own training loops do it."""

from pathlib import Path

import bert_paper  # noqa: F401 - sets how torch treats the CPU, so it comes before torch

# isort: split
import torch

from bench_sections.models import read_batch
from bert_lowlevel.model import Bert, to_tensors
from bert_lowlevel.optimizer import FusedAdamW
from bert_lowlevel.training import Computing, part_losses
from bert_lowlevel.training import training_step as lowlevel_step
from bert_paper.cpu_kernels import use_cpu_kernels
from bert_paper.model import BertForPreTraining, load_arrays
from bert_paper.optimizer import make_optimizer
from bert_paper.training import training_step
from bert_run.config import BertConfig
from bert_run.settings import AdamSettings
from bert_run.weights import load_weights

PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16}
ADAM = AdamSettings()


def read(folder: Path) -> tuple[BertConfig, dict, dict[str, torch.Tensor]]:
    config = BertConfig.load(folder)
    batch = {name: torch.from_numpy(array) for name, array in read_batch(folder).items()}
    return config, load_weights(folder, config), batch


def products_as(medium: bool) -> None:
    """Whether torch may round float32 numbers to bfloat16 within a product."""
    torch.set_float32_matmul_precision("medium" if medium else "highest")


def level_2(folder: Path, *, precision: str, compiled: bool = False, medium: bool = False):
    products_as(medium)
    config, weights, batch = read(folder)
    bert = Bert(config, to_tensors(weights), training=True)
    adam = FusedAdamW(bert.weights, ADAM)
    losses = torch.compile(part_losses, dynamic=False) if compiled else part_losses
    computing = Computing(PRECISIONS[precision], losses=losses)

    def step() -> float:
        found = lowlevel_step(bert, adam, batch, computing, learning_rate=ADAM.learning_rate,
                              max_grad_norm=ADAM.max_grad_norm)  # fmt: skip
        return found.total.item()

    return step


def level_3(folder: Path, *, precision: str, compiled: bool = False, medium: bool = False):
    products_as(medium)
    config, weights, batch = read(folder)
    model = BertForPreTraining(config)
    load_arrays(model, weights)
    use_cpu_kernels(model)
    optimizer = make_optimizer(model.train(), ADAM, name="adamw")
    if compiled:
        model.loss = torch.compile(model.loss, dynamic=False)

    def step() -> float:
        losses = training_step(model, optimizer, batch, precision=PRECISIONS[precision],
                               max_grad_norm=ADAM.max_grad_norm)  # fmt: skip
        return losses.sum().item()

    return step


KINDS = {"level 2": level_2, "level 3": level_3}
