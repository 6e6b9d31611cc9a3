"""Where to compute, and in which precision."""

from contextlib import AbstractContextManager

import torch

from bert_run.errors import UserError


def choose_device(name: str) -> torch.device:
    """`auto` takes a GPU when there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise UserError(f"--device is {name!r}: choose auto, cpu, cuda or cuda:N") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UserError("--device cuda: torch sees no GPU here; choose --device cpu")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise UserError(f"--device {name}: there are {torch.cuda.device_count()} GPUs, from 0 on")
    if device.type not in ("cpu", "cuda"):
        raise UserError(f"--device is {name!r}: choose auto, cpu, cuda or cuda:N")
    return device


def choose_precision(name: str, device: torch.device) -> torch.dtype:
    """`auto` takes bfloat16 where the device multiplies it faster than float32."""
    if name == "fp32":
        return torch.float32
    if device.type == "cuda":
        good = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        good = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return torch.bfloat16 if name == "bf16" or good else torch.float32


def mixed_precision(device: torch.device, precision: torch.dtype) -> AbstractContextManager:
    """Matrix products in `precision`; the weights, norms and losses stay in float32."""
    return torch.autocast(device.type, precision, enabled=precision != torch.float32)
