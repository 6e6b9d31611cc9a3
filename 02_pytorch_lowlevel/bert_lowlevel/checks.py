"""Validate weights and a batch of tensors before training begins.

Reading a value makes a GPU wait, so this is done once, not at every step. There a wrong id would be
reported by the kernel alone: `device-side assert triggered`, later and without a name.

What they must hold is the same at every level: `bert_run.checks`.
"""

from typing import Any

import torch
from torch import Tensor

from bert_lowlevel.model import Bert, TensorBatch
from bert_run import checks
from bert_run.config import BertConfig
from bert_run.errors import UserError

FLOATS = (torch.float32, torch.float64)
IDS = dict.fromkeys(
    ("input_ids", "token_type_ids", "masked_lm_positions", "masked_lm_ids", "next_sentence_labels"),
    (torch.int64,),
)
TYPES = {
    **IDS,
    "attention_mask": (torch.int64, torch.int32, torch.bool),
    "masked_lm_weights": FLOATS,
}


def check(bert: Bert, batch: TensorBatch) -> None:
    """Raise `UserError` unless the model can be trained on this batch."""
    check_weights(bert.weights, bert.config)
    check_batch(batch, bert.config)
    home, place = next(iter(bert.weights.values())).device, batch["input_ids"].device
    if home != place:
        raise UserError(
            f"the batch is on {place}, the weights are on {home}: move one to the other"
        )


def check_weights(weights: dict[str, Tensor], config: BertConfig) -> None:
    """Every parameter must be there, of the config's shape, on one device and of one type."""
    checks.check_parameters(weights, config, check_type=check_parameter, type_of=type_of)
    checks.check_alike(
        weights, config, of=lambda w: f"on {w.device}", advice="move all to one device"
    )


def check_parameter(name: str, tensor: Any) -> None:
    if not isinstance(tensor, Tensor):
        raise UserError(f"{name} is {type(tensor).__name__}: to_tensors makes tensors of it")
    if tensor.dtype not in FLOATS:
        raise UserError(
            f"{name} is {type_of(tensor)}: keep weights in float32 or float64; in bfloat16 a "
            "small step is lost, and autocast uses it where it does no harm"
        )


def check_inputs(batch: TensorBatch, config: BertConfig) -> tuple[int, int]:
    """Raise `UserError` unless the encoder can read the batch; returns (batch, seq)."""
    return checks.check_inputs({name: as_array(batch, name) for name in checks.INPUTS}, config)


def check_batch(batch: TensorBatch, config: BertConfig) -> None:
    """Raise `UserError` unless the batch has all that pretraining needs, in range."""
    checks.check_batch({name: as_array(batch, name) for name in TYPES}, config)


def as_array(batch: TensorBatch, name: str):
    """An entry, which must be a tensor of a type for its name and lie where `input_ids` does."""
    tensor, types = checks.need(batch, name), TYPES[name]
    if not isinstance(tensor, Tensor):
        raise UserError(
            f"{name} is {type(tensor).__name__}: a tensor is needed; to_device makes one of an "
            "array"
        )
    if tensor.dtype not in types:
        wanted = " or ".join(str(dtype).removeprefix("torch.") for dtype in types)
        raise UserError(f"{name} is {type_of(tensor)}: {wanted} is needed")
    if tensor.device != batch["input_ids"].device:
        raise UserError(
            f"{name} is on {tensor.device}, input_ids is on {batch['input_ids'].device}: move "
            "both to one device"
        )
    return tensor.cpu().numpy()


def type_of(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
