"""The settings of `bert-pretrain`: those of every run, and what torch and its devices add."""

from dataclasses import dataclass
from typing import Literal

from bert_run.settings import RunSettings


@dataclass(frozen=True)
class PretrainSettings(RunSettings):
    """Pretrain BERT on a corpus: masked words and next sentences, as in the paper.

    Trains a tokenizer if none is given, turns the corpus into a token store, trains, and writes
    checkpoints that transformers opens. The same command called again goes on where it stopped.
    """

    # --- Machine ---
    device: str = "auto"
    """auto, cpu, cuda or cuda:N"""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """auto takes bf16 where the device multiplies it faster"""
    compile: bool = False
    """compile the model with torch.compile"""
    tensorboard: bool = False
    """write TensorBoard files too"""
