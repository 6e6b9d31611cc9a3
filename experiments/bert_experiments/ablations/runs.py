"""The runs of a table: each variant with each seed, trained once and for all tables."""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bert_experiments.ablations.variants import run_of
from bert_paper.pretrain import pretrain
from bert_paper.settings import PretrainSettings
from bert_run.metrics import read_metrics
from bert_run.run_folder import RunFolder, step_of


@dataclass(frozen=True)
class Run:
    """One variant with one seed; `settings.out` is its folder."""

    variant: str
    seed: int
    settings: PretrainSettings

    @property
    def is_trained(self) -> bool:
        folders = RunFolder(self.settings.out).checkpoint_folders()
        return bool(folders) and step_of(folders[-1]) == self.settings.steps


def runs_of(variants: dict[str, PretrainSettings], *, seeds: int, out: Path) -> list[Run]:
    """Every variant with every seed; the first seed of all variants comes first, so that a call
    that is stopped leaves whole tables of fewer seeds."""
    return [
        Run(name, seed, run_of(variant, seed=seed, out=out))
        for seed in range(seeds)
        for name, variant in variants.items()
    ]


def trained(runs: list[Run]) -> Iterator[Run]:
    """Each run once it is trained; those that are done are not done again."""
    missing = [run for run in runs if not run.is_trained]
    begin, done = time.perf_counter(), 0
    for number, run in enumerate(runs, start=1):
        if not run.is_trained:
            left = time_left(time.perf_counter() - begin, done, len(missing) - done)
            say(f"run {number} of {len(runs)}: {run.variant}, seed {run.seed}{left}")
            pretrain(run.settings)
            done += 1
        yield run


def time_left(seconds: float, done: int, to_do: int) -> str:
    """How long the rest will take, when each run takes as long as those before."""
    if not done:
        return ""
    return f"; about {seconds / done * to_do / 60:.0f} minutes left for {to_do} runs"


def training_seconds(settings: PretrainSettings) -> float:
    """How long a run trained, all its calls together, as its metrics tell; without measuring and
    saving."""
    seconds, before = 0.0, 0
    for entry in read_metrics(settings.out / "metrics.jsonl"):
        if "tokens_per_second" not in entry:
            continue
        steps = range(before, int(entry["step"]))
        tokens = sum(tokens_of(settings, step) for step in steps)
        seconds += tokens / entry["tokens_per_second"]
        before = int(entry["step"])
    return seconds


def tokens_of(settings: PretrainSettings, step: int) -> int:
    phase = next(phase for phase in settings.phases if step < phase.last_step)
    return phase.batch_size * phase.seq_length


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
