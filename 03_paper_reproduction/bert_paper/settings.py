"""The settings of `bert-pretrain`: those of every run, and what only the paper's level has."""

from dataclasses import dataclass
from typing import Literal

from bert_paper.mask_units import MaskUnit
from bert_run.config import BertConfig
from bert_run.errors import UserError
from bert_run.ranges import Count, Share
from bert_run.settings import PairRecipe, RunSettings, SentenceTask


@dataclass(frozen=True)
class PretrainSettings(RunSettings):
    """Pretrain BERT on a corpus: masked words and next sentences, as in the paper.

    Trains a tokenizer if none is given, turns the corpus into a token store, trains, and writes
    checkpoints that transformers opens. The same command called again goes on where it stopped.
    Under torchrun all processes share the work: torchrun --nproc-per-node 2 -m bert_paper.pretrain.
    """

    # --- Variants ---
    objective: Literal["masked-words", "next-words"] = "masked-words"
    """masked words, seen from both sides; or each next word, from the left alone, as the paper's
    left-to-right model"""
    sentence_task: SentenceTask = PairRecipe.sentence_task
    """next sentence or another; both in order or swapped, as in ALBERT; or no second task"""
    random_next: Share = PairRecipe.random_next
    """how often the second sentence is another document's (not with sop)"""
    optimizer: Literal["bert-adam", "adamw", "lamb"] = "bert-adam"
    """the paper's Adam, without bias correction; AdamW, which corrects it; or LAMB, for batches of
    thousands, which wants a --learning-rate some ten times higher"""
    mask_unit: MaskUnit = "token"
    """what is masked together: tokens, whole words, or runs of one to three words"""
    duplicate_factor: Count | None = None
    """pairs and masks of so many passes over the corpus, then the same again, as in the released
    code (10); new ones on every pass, unless given"""

    # --- Machine ---
    device: str = "auto"
    """auto, cpu, cuda or cuda:N"""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """auto takes bf16 where the device multiplies it faster"""
    parallel: Literal["ddp", "fsdp"] = "ddp"
    """under torchrun: every process holds the whole model, or a part of it"""
    compile: bool = False
    """compile the model with torch.compile"""
    tensorboard: bool = False
    """write TensorBoard files too"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.optimizer == "lamb" and self.parallel == "fsdp":
            raise UserError(
                "--optimizer lamb needs the norm of whole parameters, and with --parallel fsdp no "
                "process holds a whole one; choose --parallel ddp"
            )
        if self.objective == "next-words" and self.sentence_task != "none":
            raise UserError(
                "--objective next-words: [CLS] stands first and sees no sentence, so there is no "
                "sentence task to learn; add --sentence-task none"
            )

    @property
    def pairs(self) -> PairRecipe:
        return PairRecipe(self.sentence_task, self.random_next)

    def bert_config(self, vocab_size: int) -> BertConfig:
        config = super().bert_config(vocab_size)
        return config.with_changes(is_decoder=self.objective == "next-words")
