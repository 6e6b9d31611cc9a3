"""What the first touch of fresh memory costs on this machine, now."""

import mmap
from pathlib import Path

import numpy as np

MEGABYTES = 128


def fresh_memory(folder: Path):
    """A step asks the system for memory, touches every page of it and gives it back, as an array
    does in a program without settings of its own."""

    def step() -> None:
        with mmap.mmap(-1, MEGABYTES * 10**6) as area:
            np.frombuffer(area, np.uint8)[:: mmap.PAGESIZE] = 1

    return step


KINDS = {"fresh memory": fresh_memory}
