"""Where the tensors lie, and how many digits their products have."""

from contextlib import AbstractContextManager

import numpy as np
import torch
from torch import Tensor

from bert_run.errors import UserError


def choose_device(name: str) -> torch.device:
    """`auto` takes a GPU when there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise UserError(f"--device is {name!r}: choose auto, cpu, cuda or cuda:N")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UserError(f"--device {name}: torch sees no GPU here; choose --device cpu")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise UserError(
            f"--device {name}: the GPUs here are cuda:0 to cuda:{torch.cuda.device_count() - 1}"
        )
    return device


def choose_precision(name: str, device: torch.device) -> torch.dtype:
    """`auto` takes bfloat16 where the device multiplies it faster than float32."""
    if name != "auto":
        return {"fp32": torch.float32, "bf16": torch.bfloat16}[name]
    if device.type == "cuda":
        is_faster = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        is_faster = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return torch.bfloat16 if is_faster else torch.float32


def mixed_precision(device: torch.device, precision: torch.dtype) -> AbstractContextManager:
    """Matrix products in `precision`; weights, sums over a row and losses stay in float32."""
    return torch.autocast(device.type, precision, enabled=precision != torch.float32)


def to_device(batch: dict[str, np.ndarray], device: torch.device) -> dict[str, Tensor]:
    """Arrays as tensors on the device. The copy to a GPU is made from pinned memory, and the
    program does not wait for it."""
    tensors = {name: torch.from_numpy(array) for name, array in batch.items()}
    if device.type == "cuda":
        return {name: t.pin_memory().to(device, non_blocking=True) for name, t in tensors.items()}
    return tensors
