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
    adam = Adam.start(
        run.weights, settings.adam(run.config), correct_bias=settings.optimizer == "adamw"
    )
    if run.start:
        adam.from_arrays(run.training_state)

    def task(part: str, seq_length: int) -> Task:
        return Task(
            pairs=getattr(run.data, part).at_length(seq_length),
            data=run.data,
            recipe=settings.masking,
            seed=settings.seed_of(part),
        )

    with Cores(settings.cores) as cores, warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # what overflows stops the run, in one line
        run.introduce(f"in NumPy, float32, cores: {cores.count}")
        train(
            bert,
            adam,
            [
                (task("train", phase.seq_length), task("heldout", phase.seq_length))
                for phase in settings.phases
            ],
            settings,
            cores,
            start=run.start,
            record=run.log.append,
            save=lambda step: run.save(step, bert.weights, adam.to_arrays()),
        )


@command
def main() -> None:
    pretrain(tyro.cli(NumpySettings, prog="python -m bert_numpy.pretrain")).conclude()


if __name__ == "__main__":
    main()
