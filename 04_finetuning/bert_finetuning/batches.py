"""Which features a step takes: a function of (seed, step) alone, so that a run can go on anywhere.

Texts of like length go together, or most of a batch would be padding:

    shuffle all ─► cut into pools of many batches ─► sort each pool by length ─► cut into batches
                                                                              ─► shuffle these

Every epoch shuffles anew and takes all features once; what is left over makes one smaller batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Int64

from bert_finetuning.features import Batch, Features
from bert_finetuning.heads import ALONE
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks.base import Task
from bert_run.device import Ranks

Indices = Int64[np.ndarray, "_"]  # places of features

POOL = 32  # batches; a larger pool pads less, and mixes less
POOLS_AT_LEAST = 4  # in an epoch: few examples are mixed rather than sorted


class Batches:
    """The steps of a run over features of the given lengths."""

    def __init__(
        self, lengths: list[int], batch_size: int, *, seed: int, by_length: bool = True
    ) -> None:
        self.lengths = np.array(lengths, np.int64)
        self.batch_size, self.seed, self.by_length = batch_size, seed, by_length
        self.epoch = lru_cache(maxsize=2)(self.batches_of)  # a thread makes batches ahead

    @property
    def steps_per_epoch(self) -> int:
        return -(-len(self.lengths) // self.batch_size)

    def __call__(self, step: int) -> Indices:
        """The features of step 0, 1, 2, …, epoch after epoch."""
        epoch, place = divmod(step, self.steps_per_epoch)
        return self.epoch(epoch)[place]

    def batches_of(self, epoch: int) -> list[Indices]:
        generator = np.random.default_rng([self.seed, epoch])
        order = generator.permutation(len(self.lengths))
        size = self.batch_size
        if not self.by_length:
            return cut(order, size)
        pool = size * max(1, min(POOL, self.steps_per_epoch // POOLS_AT_LEAST))
        pools = [part[np.argsort(self.lengths[part], kind="stable")] for part in cut(order, pool)]
        batches = [batch for part in pools for batch in cut(part, size)]
        return [batches[place] for place in generator.permutation(len(batches))]


def cut(indices: Indices, size: int) -> list[Indices]:
    """Pieces of `size`, the last perhaps smaller."""
    return [indices[first : first + size] for first in range(0, len(indices), size)]


class MicroBatch(NamedTuple):
    """What is computed at once, and how many answers its loss is the mean of."""

    batch: Batch
    count: int


@dataclass(frozen=True)
class TrainingData:
    """What one run learns, and in which order."""

    task: Task
    features: Sequence[Features]
    settings: FinetuneSettings
    seed: int
    pad_id: int
    ranks: Ranks = ALONE

    @cached_property
    def batches(self) -> Batches:
        return Batches(
            [each.length for each in self.features],
            self.settings.batch_size,
            seed=self.seed,
            by_length=self.settings.by_length,
        )

    @property
    def steps(self) -> int:
        return max(1, round(self.settings.epochs * self.batches.steps_per_epoch))

    def micro_batches(self, step: int) -> list[MicroBatch]:
        """This rank's part of a batch.

        Where a batch has fewer examples than there are ranks, some take its first once more, so
        that all ranks compute, and count none of its answers.
        """
        indices = self.batches(step)
        mine = self.ranks.share(indices)
        if not len(mine):
            return [MicroBatch(self.collate(indices[:1]), 0)]
        parts = cut(mine, self.settings.micro_batch_size or len(mine))
        batches = [self.collate(part) for part in parts]
        return [MicroBatch(batch, self.task.loss_count(batch)) for batch in batches]

    def collate(self, indices: Indices) -> Batch:
        return self.task.collate([self.features[i] for i in indices], pad_id=self.pad_id)
