"""Which examples a step takes: a function of (seed, step) alone, so that a run can go on anywhere.

Texts of like length go together, or most of a batch would be padding:

    shuffle all ─► cut into pools of many batches ─► sort each pool by length ─► cut into batches
                                                                              ─► shuffle these

Every epoch shuffles anew and takes every reading once; what is left over makes one smaller batch.
"""

from functools import lru_cache

import numpy as np
from jaxtyping import Int64

Indices = Int64[np.ndarray, "_"]  # places of readings

POOL = 32  # batches; a larger pool pads less, and mixes less
POOLS_AT_LEAST = 4  # in an epoch: few examples are mixed rather than sorted


class Batches:
    """The steps of a run over readings of the given lengths."""

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
        """The readings of step 0, 1, 2, …, epoch after epoch."""
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
