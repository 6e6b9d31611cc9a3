"""Validate weights and a batch of tensors before training begins.

Reading a value makes a GPU wait, so this is done once, not at every step. There a wrong id would be
reported by the kernel alone: `device-side assert triggered`, later and without a name.

What they must hold is the same at every level: `bert_run.checks`.
"""

from typing import Any

from torch import Tensor

from bert_lowlevel.model import Bert, TensorBatch
from bert_run import checks
from bert_run.config import BertConfig
from bert_run.errors import UserError


def check(bert: Bert, batch: TensorBatch) -> None:
    """Raise `UserError` unless the model can be trained on this batch."""
    check_weights(bert.weights, bert.config)
    check_batch(batch, bert.config)
    home, place = next(iter(bert.weights.values())).device, batch["input_ids"].device
    if home != place:
        raise UserError(f"the batch is on {place}, the weights are on {home}: move one to the "
                        "other")  # fmt: skip


def type_of(tensor: Any) -> str:
    if isinstance(tensor, Tensor):
        return str(tensor.dtype).removeprefix("torch.")
    return f"{type(tensor).__name__}, not a tensor (to_tensors and to_device make them)"


def check_weights(weights: dict[str, Tensor], config: BertConfig) -> None:
    """Every parameter must be there, of the config's shape, on one device and of one type."""
    checks.check_parameters(weights, config, type_of=type_of)
    checks.check_alike(
        weights, config, of=lambda w: f"on {w.device}", advice="move all to one device"
    )


def check_batch(batch: TensorBatch, config: BertConfig) -> None:
    """Raise `UserError` unless the batch, on one device, has all that pretraining needs."""
    checks.check_types(batch, type_of=type_of, whole=("int64",))
    home = batch["input_ids"].device
    for name in checks.ENTRIES:
        if (place := batch[name].device) != home:
            raise UserError(f"{name} is on {place}, input_ids is on {home}: move both to one "
                            "device")  # fmt: skip
    checks.check_batch({name: batch[name].cpu().numpy() for name in checks.ENTRIES}, config)
