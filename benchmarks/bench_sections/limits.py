"""The limits of this machine, now: large matrix products, and the first touch of fresh memory."""

import mmap
from pathlib import Path

import numpy as np

MEGABYTES = 128


def products(folder: Path, *, precision: str, size: int):
    """Ten products of two square matrices. "medium": float32 numbers, which torch may round to
    bfloat16 within the product."""
    import bert_paper  # noqa: F401 - sets how torch treats the CPU, so it comes before torch

    # isort: split
    import torch

    torch.set_float32_matmul_precision("medium" if precision == "medium" else "highest")
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    a, b = torch.randn(size, size, dtype=dtype), torch.randn(size, size, dtype=dtype)
    out = torch.empty(size, size, dtype=dtype)

    def step() -> None:
        for _ in range(10):
            torch.mm(a, b, out=out)

    return step


def fresh_memory(folder: Path):
    """A step asks the system for memory, touches every page of it and gives it back, as an array
    does in a program without settings of its own."""

    def step() -> None:
        with mmap.mmap(-1, MEGABYTES * 10**6) as area:
            np.frombuffer(area, np.uint8)[:: mmap.PAGESIZE] = 1

    return step


KINDS = {"products": products, "fresh memory": fresh_memory}
