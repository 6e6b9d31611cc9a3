"""The limit: what large matrix products reach on this machine, now."""

from pathlib import Path

import bert_paper  # noqa: F401 - sets how torch treats the CPU, so it comes before torch

# isort: split
import torch


def products(folder: Path, *, precision: str, size: int):
    """Ten products of two square matrices. "medium": float32 numbers, which torch may round to
    bfloat16 within the product."""
    torch.set_float32_matmul_precision("medium" if precision == "medium" else "highest")
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    a, b = torch.randn(size, size, dtype=dtype), torch.randn(size, size, dtype=dtype)
    out = torch.empty(size, size, dtype=dtype)

    def step() -> None:
        for _ in range(10):
            torch.mm(a, b, out=out)

    return step


KINDS = {"products": products}
