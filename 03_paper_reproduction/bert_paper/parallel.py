"""One model on several ranks: whole on each (DDP), or in parts (FSDP).

    DDP     every rank holds all weights and moments; gradients are summed while the backward runs.
    FSDP    every rank holds its part of every array; a layer is put together just before it is
            computed and let go after. Memory falls with the number of ranks, traffic grows by half.

Both average gradients over the ranks. A rank's loss is its share of the whole batch's, so it is
taken times the number of ranks first: then the average is the sum.

What FSDP needs is loaded where it is used: half a second that no other command should wait.

A checkpoint is the same two files however many ranks wrote it. With FSDP each rank writes the parts
it holds, and the files are joined on the disk, never in the memory of one machine; when a run goes
on, each rank reads its parts from them, on as many ranks as there are now.
"""

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Literal

from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from bert_run.device import Ranks

Parallel = Literal["ddp", "fsdp"]


def spread(model: nn.Module, parallel: Parallel, ranks: Ranks) -> nn.Module:
    """A model whose `forward` is computed on all ranks; alone it is the model itself.

    With FSDP the model's own parameters become parts: make the optimizer after this.
    """
    if ranks.size == 1:
        return model
    if parallel == "ddp":
        return DistributedDataParallel(model, gradient_as_bucket_view=True)  # no second copy
    from torch.distributed.fsdp import fully_shard

    for layer in model.bert.encoder.layer:
        fully_shard(layer)
    return fully_shard(model, reshard_after_forward=True)  # evaluating, too, lets go of it


def spread_loss(model: nn.Module, parallel: Parallel, ranks: Ranks) -> nn.Module:
    """The same for a model that is trained by its method `loss`."""
    if parallel == "ddp" and ranks.size > 1:
        return Replicas(model)
    model = spread(model, parallel, ranks)
    if is_sharded(model):
        from torch.distributed.fsdp import register_fsdp_forward_method

        register_fsdp_forward_method(model, "loss")
    return model


class Replicas(nn.Module):
    """A model that every rank holds whole, and whose `loss` exchanges gradients.

    DDP exchanges the gradients of what its module's `forward` returns, so it is given a module
    whose forward is the loss. The forward of this one is the model's, for measuring.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.ddp = DistributedDataParallel(LossAsForward(model), gradient_as_bucket_view=True)

    def forward(self, *inputs):
        return self.model(*inputs)

    def loss(self, *inputs, **counts):
        return self.ddp(*inputs, **counts)


class LossAsForward(nn.Module):
    """A model's `loss` as the forward of a module."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *inputs, **counts):
        return self.model.loss(*inputs, **counts)


def without_exchange(model: nn.Module) -> AbstractContextManager:
    """In here gradients add up on each rank alone: for all micro-batches but the last."""
    if isinstance(model, Replicas):
        model = model.ddp
    if isinstance(model, DistributedDataParallel):
        return model.no_sync()
    if is_sharded(model):
        return without_reduction(model)
    return nullcontext()


@contextmanager
def without_reduction(model: nn.Module):
    model.set_requires_gradient_sync(False)
    yield
    model.set_requires_gradient_sync(True)


def is_sharded(model: nn.Module) -> bool:
    """Whether FSDP shares the model out."""
    return hasattr(model, "set_requires_gradient_sync")


def read_parts(tensors: dict[str, Tensor], folder: Path) -> None:
    """Fill the parts that this rank holds from the safetensors files of a checkpoint."""
    from torch.distributed import checkpoint
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader

    checkpoint.load(tensors, storage_reader=HuggingFaceStorageReader(str(folder)))


def write_parts(tensors: dict[str, Tensor], folder: Path, name: str, ranks: Ranks) -> Callable:
    """Write what all ranks hold as one file, and return what moves it to a folder under `name`.

    Every rank must call it; `folder` is scratch space that all of them see.
    """
    from torch.distributed import checkpoint
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageWriter

    if ranks.leads:
        shutil.rmtree(folder, ignore_errors=True)
    ranks.wait()
    writer = HuggingFaceStorageWriter(str(folder), save_distributed=True, enable_consolidation=True)
    checkpoint.save(tensors, storage_writer=writer)

    def move(target: Path) -> None:
        (joined,) = folder.glob("*.safetensors")
        joined.replace(target / name)
        shutil.rmtree(folder)

    return move
