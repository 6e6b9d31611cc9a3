"""Where to compute: the device, the precision of products, this process among many, and random
numbers that are the same on each of them.

`torchrun` starts the processes, the ranks, of a run. Each reads its own examples, a function of
their indices; they exchange gradients, counts, losses and, with FSDP, parameters.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from jaxtyping import Float, Int, Int64
from torch import Tensor

from bert_run.config import Precision
from bert_run.errors import UserError, shown


def choose_device(name: str) -> torch.device:
    """`auto` takes a GPU when there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if not re.fullmatch(r"cpu|cuda(:\d{1,3})?", name):
        raise UserError(f"--device is {name!r}: choose auto, cpu, cuda or cuda:N")
    device = torch.device(name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UserError(f"--device {name}: torch sees no GPU here; choose --device cpu")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise UserError(f"--device {name}: the last GPU is cuda:{torch.cuda.device_count() - 1}")
    return device


def choose_precision(name: Precision, device: torch.device) -> torch.dtype:
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
    """Arrays as tensors on the device; the program does not wait for the copy to a GPU."""
    tensors = {name: torch.from_numpy(array) for name, array in batch.items()}
    if device.type == "cuda":
        return {name: t.pin_memory().to(device, non_blocking=True) for name, t in tensors.items()}
    return tensors


DATA_TIMEOUT = timedelta(days=2)  # while rank 0 prepares the data, the others wait


@dataclass(frozen=True)
class Ranks:
    """This process among those of the run."""

    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """Rank 0 alone writes files and shows progress."""
        return self.rank == 0

    def share(self, indices: Int64[np.ndarray, "batch"]) -> Int64[np.ndarray, "part"]:
        """This rank's part of a step's examples: neighbors, and all parts nearly equally long."""
        return np.array_split(indices, self.size)[self.rank]

    def seed_dropout(self, seed: int, step: int, device: torch.device) -> None:
        """Seed dropout for this rank and step; `torch.manual_seed` would take 1 ms on a CPU."""
        generators = torch if device.type == "cuda" else torch.default_generator
        generators.manual_seed((seed * 1_000_003 + step) * self.size + self.rank)

    def sum(self, tensor: Tensor) -> Tensor:
        """The sum over all ranks (all-reduce), in place and returned; every rank must call it."""
        if self.size > 1:
            dist.all_reduce(tensor)
        return tensor

    def max(self, number: int, device: torch.device) -> int:
        """The largest of the numbers of all ranks; every rank must call it."""
        if self.size == 1:
            return number
        found = torch.tensor(number, device=device)
        dist.all_reduce(found, dist.ReduceOp.MAX)
        return int(found)

    def barrier(self) -> None:
        """Until all ranks are here."""
        if self.size > 1:
            dist.barrier()

    def after_first(self, make: Callable[[bool], object]) -> object:
        """`make(True)` on rank 0; when that is done, `make(False)` on the others. If it fails on
        rank 0, which says why, the others leave without a word."""
        if self.size == 1:
            return make(True)
        patient = dist.new_group(backend="gloo", timeout=DATA_TIMEOUT)
        done = torch.zeros(1)
        try:
            if self.leads:
                made = make(True)
                done += 1
        finally:
            dist.broadcast(done, src=0, group=patient)
        if done == 0:
            raise SystemExit(2)
        return made if self.leads else make(False)


FROM_TORCHRUN = {"WORLD_SIZE": r"[1-9]\d*", "MASTER_ADDR": ".+", **dict.fromkeys(
    ("RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_PORT"), r"\d+")}  # fmt: skip


@contextmanager
def join(device: str) -> Iterator[tuple[Ranks, torch.device]]:
    """This process's rank under `torchrun`, and its device; NCCL connects GPUs, gloo CPUs."""
    if os.environ.get("WORLD_SIZE", "1") == "1":
        yield Ranks(), choose_device(device)
        return
    for name, form in FROM_TORCHRUN.items():
        if not re.fullmatch(form, value := os.environ.get(name, "")):
            raise UserError(f"{name} is {shown(value) if value else 'not set'} in the environment: "
                            "start with torchrun, or unset WORLD_SIZE")  # fmt: skip
    if device not in ("auto", "cpu", "cuda"):
        raise UserError(f"--device {device}: under torchrun each process takes a GPU of its own; "
                        "choose auto, cpu or cuda")  # fmt: skip
    chosen = choose_device(device)
    if chosen.type == "cuda":
        here, devices = int(os.environ["LOCAL_WORLD_SIZE"]), torch.cuda.device_count()
        if here > devices:
            raise UserError(f"{here} processes for {devices} GPUs: --nproc-per-node {devices}")
        chosen = choose_device(f"cuda:{os.environ['LOCAL_RANK']}")
        torch.cuda.set_device(chosen)
    dist.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
    try:
        yield Ranks(dist.get_rank(), dist.get_world_size()), chosen
    finally:
        dist.destroy_process_group()


# --- The hash of `bert_corpus.pairs`, in the signed 64-bit integers of torch ---


def signed(bits: int) -> int:
    """64 bits read as a signed number. Products of either kind overflow to the same bits."""
    return (bits + 2**63) % 2**64 - 2**63


MASKING_STREAM = 15  # keeps these draws apart from those that made the pairs
GOLDEN = signed(0x9E3779B97F4A7C15)
FIRST, SECOND = signed(0xBF58476D1CE4E5B9), signed(0x94D049BB133111EB)


def shift_right(x: Int[Tensor, "*shape"], bits: int) -> Int[Tensor, "*shape"]:
    """Zeros come in from the left, as for unsigned numbers; `>>` alone copies the sign."""
    return (x >> bits) & (2 ** (64 - bits) - 1)


def mix(x: Int[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
    x = (x ^ shift_right(x, 30)) * FIRST
    x = (x ^ shift_right(x, 27)) * SECOND
    return x ^ shift_right(x, 31)


def uniforms(seed: int, index: Int[Tensor, "batch"], draws: int) -> Float[Tensor, "batch {draws}"]:
    """`draws` numbers uniform in [0, 1) for each index, of 24 bits: exact in float32."""
    start = signed((seed * 0x10001 + MASKING_STREAM) * GOLDEN + GOLDEN)
    key = mix(torch.full((1,), start, device=index.device))
    row = mix(index * GOLDEN + key)  # (batch,)
    # Draw d is the hash of row + d · GOLDEN. This is summed up, not multiplied: `torch.compile`
    # would multiply the numbers 1, 2, 3, … without overflow, and fail.
    steps = F.pad(row[:, None], (0, draws - 1)) + GOLDEN  # (batch, draws)
    return shift_right(mix(steps.cumsum(dim=1)), 40).float() * 2.0**-24
