"""`python -m bert_numpy.pretrain`: from a corpus to a pretrained BERT, in NumPy alone."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from bert_corpus.pretraining_run import PretrainingRun
from bert_numpy.encoder import Bert
from bert_numpy.optimizer import Adam
from bert_numpy.training import Cores, Task, train
from bert_run.config import RunSettings, Whole
from bert_run.errors import command


@dataclass(frozen=True)
class NumpySettings(RunSettings):
    """Pretrain BERT in NumPy, on the CPU, in float32: masked words and next sentences.

    Trains a tokenizer if none is given, turns the corpus into a token store, trains, and writes
    checkpoints that transformers opens. The same command called again goes on where it stopped.
    """

    program: ClassVar[str] = "python -m bert_numpy.pretrain"

    out: Path = Path("runs/numpy")
    """the run's folder; at any time its newest checkpoint is a transformers folder"""
    cores: Annotated[int, Whole(1, 4096)] | None = None
    """so many cores share a batch; all of them, unless given"""


def pretrain(settings: NumpySettings) -> PretrainingRun:
    """Run or continue a pretraining run."""
    with PretrainingRun(settings) as run:
        train_on(run, settings)
    return run


def train_on(run: PretrainingRun, settings: NumpySettings) -> None:
    bert = Bert(run.config, run.weights)
    constants, is_adamw = settings.adam(run.config), settings.optimizer == "adamw"
    adam = Adam.start(run.weights, constants, correct_bias=is_adamw)
    if run.start:
        adam.from_arrays(run.training_state)

    def task(part: str, seq_length: int) -> Task:
        pairs, seed = getattr(run.data, part).at_length(seq_length), settings.seed_of(part)
        return Task(pairs=pairs, data=run.data, recipe=settings.masking, seed=seed)

    with Cores(settings.cores) as cores, warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # what overflows stops the run, in one line
        run.introduce(f"in NumPy, float32, cores: {cores.count}")
        lengths = [phase.seq_length for phase in settings.phases]
        train(
            bert, adam, [(task("train", length), task("heldout", length)) for length in lengths],
            settings, cores, start=run.start, record=run.log.append,
            save=lambda step: run.save(step, bert.weights, adam.to_arrays()),
        )  # fmt: skip


@command
def main() -> None:
    settings = tyro.cli(NumpySettings, prog="python -m bert_numpy.pretrain")
    pretrain(settings.all_used()).conclude()


if __name__ == "__main__":
    main()
