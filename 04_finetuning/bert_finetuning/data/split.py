"""One labelled file in two parts: what to learn from, and a share of it to measure on.

The split depends on the examples, the share and the seed alone, so the same command splits a file
in the same way again. `split.json` in the run's folder tells which rows went where.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bert_finetuning.tasks.base import Example
from bert_run.errors import UserError
from bert_run.files import write_atomically

SPLIT_FILE = "split.json"


@dataclass(frozen=True)
class Split:
    """The places of the examples of both parts in the file, from 0 and in their order."""

    share: float
    seed: int
    train: list[int]
    dev: list[int]

    @classmethod
    def of(cls, examples: Sequence[Example], share: float, *, seed: int) -> "Split":
        """About `share` of the examples of each label are for dev, drawn by the seed.

        Examples with the same text stay together, so that no text of dev is in train. Every label
        keeps an example in train.
        """
        groups: dict[str, list[int]] = defaultdict(list)  # places of the same text
        for place, example in enumerate(examples):
            groups[" ".join(example.kept_together.split()).casefold()].append(place)
        strata: dict[str, list[list[int]]] = defaultdict(list)
        for group in groups.values():
            strata[examples[group[0]].stratum].append(group)
        generator = np.random.default_rng(seed)
        dev: list[int] = []
        seen = 0
        for label in sorted(strata):
            order = generator.permutation(len(strata[label])).tolist()
            seen += sum(map(len, strata[label]))
            room = round(share * seen) - len(dev)  # what one label leaves the next one takes
            for group in (strata[label][number] for number in order[1:]):
                if len(group) <= room:
                    dev += group
                    room -= len(group)
        measured = set(dev)
        train = [place for place in range(len(examples)) if place not in measured]
        return cls(share, seed, train, sorted(dev))

    def write(self, folder: Path, source: str, lines: Sequence[int]) -> None:
        """Put `split.json` into a folder. `lines`: of each example, if it has a line of its own."""
        numbers = lines or range(1, 1 + len(self.train) + len(self.dev))
        content = {
            "file": Path(source).name,
            "share": self.share,
            "seed": self.seed,
            "numbers_are": "lines of the file (of a dataset of the Hub, rows)"
            if lines
            else "examples of the file, from 1",
            "dev": [numbers[place] for place in self.dev],
            "train": [numbers[place] for place in self.train],
        }
        write_atomically(folder / SPLIT_FILE, json.dumps(content) + "\n")


def share_of(dev: str | None) -> float | None:
    """The share of train that --dev asks for; None if it names a file."""
    percent = (dev or "").endswith("%")
    try:
        share = float(dev[:-1]) / 100 if percent else float(dev or "")
    except ValueError:
        return None
    if Path(dev).exists():
        return None
    if not 0 < share < 1:
        raise UserError(
            f"--dev {dev}: give a FILE, or a share of the training file between 0 and 1 (0.1)"
        )
    return share
