"""`python -m bert_lowlevel.pretrain`: from a corpus to a pretrained BERT, on any device."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import torch
import tyro

from bert_corpus.pretraining_run import PretrainingRun
from bert_lowlevel.checks import check
from bert_lowlevel.model import Bert, to_arrays, to_tensors
from bert_lowlevel.optimizer import start_optimizer
from bert_lowlevel.training import Computing, Task, part_losses, train
from bert_run.config import BertConfig, Precision, RunSettings
from bert_run.device import choose_device, choose_precision
from bert_run.errors import command


@dataclass(frozen=True)
class LowLevelSettings(RunSettings):
    """Pretrain BERT as functions of a dict of tensors: masked words and next sentences.

    Trains a tokenizer if none is given, turns the corpus into a token store, trains, and writes
    checkpoints that transformers opens. The same command called again goes on where it stopped.
    """

    program: ClassVar[str] = "python -m bert_lowlevel.pretrain"

    out: Path = Path("runs/lowlevel")
    """the run's folder; at any time its newest checkpoint is a transformers folder"""

    # --- Machine ---
    device: str = "auto"
    """auto, cpu, cuda or cuda:N"""
    precision: Precision = "auto"
    """auto takes bf16 where the device multiplies it faster"""
    compile: bool = False
    """compile forward and backward with torch.compile"""
    attention: Literal["fused", "by-hand"] = "fused"
    """torch's kernel, or every step written out"""
    causal: bool = False
    """no token sees those on its right, as in GPT; nor does [CLS] then, so that it cannot tell
    the next sentence from a random one"""

    def bert_config(self, vocab_size: int) -> BertConfig:
        return super().bert_config(vocab_size).with_changes(is_decoder=self.causal)


def pretrain(settings: LowLevelSettings) -> PretrainingRun:
    """Run or continue a pretraining run."""
    device = choose_device(settings.device)
    computing = Computing(
        precision=choose_precision(settings.precision, device),
        rows=settings.micro_batch_size,
        # dynamic: one code that fits every length would be slower than one for each phase
        losses=torch.compile(part_losses, dynamic=False) if settings.compile else part_losses,
    )
    with PretrainingRun(settings) as run:
        train_on(run, settings, device, computing)
    return run


def train_on(
    run: PretrainingRun, settings: LowLevelSettings, device: torch.device, computing: Computing
) -> None:
    bert = Bert(run.config, to_tensors(run.weights, device), attention=settings.attention,
                causal=settings.causal)  # fmt: skip
    adam = start_optimizer(bert.weights, settings.adam(run.config), name=settings.optimizer)
    if run.start:
        adam.from_arrays(run.training_state)
    precision = str(computing.precision).removeprefix("torch.")
    run.introduce(f"on {device} in {precision}, {torch.get_num_threads()} threads")
    ordinary_ids = torch.from_numpy(run.data.ordinary_ids).to(device)

    def task(part: str, seq_length: int) -> Task:
        pairs, seed = getattr(run.data, part).at_length(seq_length), settings.seed_of(part)
        return Task(pairs, run.data.mask_id, ordinary_ids, settings.masking, seed)

    tasks = [(task("train", p.seq_length), task("heldout", p.seq_length)) for p in settings.phases]
    for phase, (training, _) in zip(settings.phases, tasks, strict=True):
        check(bert, training.batch(phase.first_example, phase.batch_size))
    train(
        bert, adam, tasks, settings, computing, start=run.start, record=run.log.append,
        save=lambda step: run.save(step, to_arrays(bert.weights), adam.to_arrays()),
    )  # fmt: skip


@command
def main() -> None:
    settings = tyro.cli(LowLevelSettings, prog="python -m bert_lowlevel.pretrain")
    pretrain(settings.all_used()).conclude()


if __name__ == "__main__":
    main()
