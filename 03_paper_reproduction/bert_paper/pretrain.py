"""`bert-pretrain`: from a corpus to a pretrained BERT, in one command that resumes by itself.

bert-pretrain --corpus book.txt --out runs/book
torchrun --nproc-per-node 8 -m bert_paper.pretrain --corpus book.txt --out runs/book
"""

import json
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

import torch
import tyro
from torch import nn

from bert_corpus.pretraining_run import PretrainingRun
from bert_corpus.wordpiece import read_tokenizer
from bert_paper.cpu_kernels import use_cpu_kernels
from bert_paper.masking import MaskUnit, masking_vocabulary
from bert_paper.model import BertForPreTraining, load_arrays
from bert_paper.optimizer import (
    full_arrays,
    make_optimizer,
    optimizer_state,
    refuse_broken,
    restore_state,
)
from bert_paper.training import Parallel, Task, TensorBatch, distribute, train
from bert_run.config import (
    BertConfig,
    Count,
    PairRecipe,
    Precision,
    RunSettings,
    SentenceTask,
    Share,
    Weights,
    initial_weights,
)
from bert_run.device import Ranks, choose_precision, join
from bert_run.errors import Stopped, UserError, command, option
from bert_run.files import RunFolder, sha256
from bert_run.training_loop import Record, stop_signals
from bert_run.weights import locate, read_model, weight_files


@dataclass(frozen=True)
class PretrainSettings(RunSettings):
    """Pretrain BERT on a corpus: masked words and next sentences, as in the paper.

    Trains a tokenizer if none is given, turns the corpus into a token store, trains, and writes
    checkpoints that transformers opens. The same command called again goes on where it stopped.
    Under torchrun all processes share the work: torchrun --nproc-per-node 2 -m bert_paper.pretrain.
    """

    # --- Variants ---
    objective: Literal["masked-words", "next-words"] = "masked-words"
    """masked LM, from both sides; or causal LM, each next word from the left alone, as the paper's
    left-to-right model"""
    sentence_task: SentenceTask = PairRecipe.sentence_task
    """next sentence or another; both in order or swapped, as in ALBERT; or no second task"""
    random_next: Share = PairRecipe.random_next
    """how often the second sentence is another document's (not with sop); in held-out pairs half of
    the time, where documents are long enough"""
    optimizer: Literal["bert-adam", "adamw", "muon"] = "bert-adam"
    """BERT's Adam (released code), without bias correction; AdamW, which corrects it; or Muon for
    the encoder's matrices and AdamW for the rest"""
    mask_unit: MaskUnit = "token"
    """what is masked together: single tokens, or whole words"""
    duplicate_factor: Count | None = None
    """pairs and masks of so many epochs, then the same again (`dupe_factor` of the released code,
    10); new ones without end, unless given"""

    start_from: str | None = None
    """begin with the weights of this BERT, its sizes and its vocabulary, in place of random
    weights: the folder of a model, or one of the Hub"""

    # --- Machine ---
    device: str = "auto"
    """auto, cpu, cuda or cuda:N"""
    precision: Precision = "auto"
    """auto takes bf16 where the device multiplies it faster"""
    parallel: Parallel = "ddp"
    """under torchrun: every process holds the whole model, or a part of it"""
    compile: bool = False
    """compile the model with torch.compile"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.optimizer == "muon" and self.parallel == "fsdp":
            raise UserError("--optimizer muon needs whole parameters, and with --parallel fsdp no "
                            "process holds a whole one; choose --parallel ddp")  # fmt: skip
        if self.objective == "next-words" and self.sentence_task != "none":
            raise UserError("--objective next-words: [CLS] stands first and sees no sentence, so "
                            "it learns nothing of the next; add --sentence-task none")  # fmt: skip
        if self.start_from is not None:
            begun_from = RunFolder(self.out).read_settings().get("start_from")
            is_saved = (self.out / "vocab.txt").is_file()  # the last file of its first checkpoint
            has_begun = is_saved and begun_from == self.start_from
            folder = self.out if has_begun else locate(self.start_from).folder
            refuse_what_the_start_settles(self, folder)
            read_tokenizer(folder, BertConfig.load(folder))  # it must be that of the weights
            object.__setattr__(self, "tokenizer", folder)

    @property
    def unused(self) -> dict[str, str]:
        pairs = {"random_next": "with --sentence-task sop"} if self.sentence_task == "sop" else {}
        masks = ("masked_lm_prob", "mask_share", "random_share", "mask_unit")
        why = dict.fromkeys(masks, "with --objective next-words: nothing is masked")
        return super().unused | pairs | (why if self.objective == "next-words" else {})

    @property
    def pairs(self) -> PairRecipe:
        return PairRecipe(self.sentence_task, self.random_next)

    def bert_config(self, vocab_size: int) -> BertConfig:
        if self.start_from is None:
            config = super().bert_config(vocab_size)
            return config.with_changes(is_decoder=self.objective == "next-words")
        config = BertConfig.load(self.tokenizer)
        if self.seq_length > config.max_position_embeddings:
            raise UserError(f"--seq-length {self.seq_length} is longer than the "
                            f"{config.max_position_embeddings} positions of {self.start_from}: "
                            "lower it")  # fmt: skip
        if config.type_vocab_size < 2:
            raise UserError(f"--start-from {self.start_from}: its type_vocab_size is 1, and a "
                            "pair of sentences needs 2 segments; take another model")  # fmt: skip
        names = ("hidden_dropout_prob", "attention_probs_dropout_prob")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return config.with_changes(**given)

    def fingerprint_of_start(self) -> dict[str, str]:
        folder = Path(self.start_from or "")
        is_here = self.start_from and folder.is_dir()
        return {"start": " ".join(map(sha256, weight_files(folder)))} if is_here else {}

    def first_weights(self, config: BertConfig) -> Weights:
        """Those of the model to start from; heads that it lacks begin as in a new run."""
        if self.start_from is None:
            return super().first_weights(config)
        _, found = read_model(locate(self.start_from).folder)
        return {**initial_weights(config, self.seed), **found}


# What a model to start from brings along.
SETTLED_BY_THE_START = (
    "model", "num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size",
    "hidden_act", "max_position_embeddings", "type_vocab_size", "layer_norm_eps", "initialization",
    "initializer_range", "tokenizer", "vocab_size", "tokenizer_type",
)  # fmt: skip


def refuse_what_the_start_settles(settings: PretrainSettings, folder: Path) -> None:
    """Refuse options that make no sense beside --start-from, whose tokenizer is in `folder`."""
    defaults = {field.name: field.default for field in fields(settings)}
    for name in SETTLED_BY_THE_START:
        if getattr(settings, name) not in (defaults[name], folder, Path(settings.start_from)):
            raise UserError(f"{option(name)} {getattr(settings, name)}: {settings.start_from} "
                            "brings its own; leave out the option, or --start-from")  # fmt: skip
    if settings.objective == "next-words":
        raise UserError(f"--objective next-words: {settings.start_from} has learned to read both "
                        "sides; leave out --start-from")  # fmt: skip


def pretrain(settings: PretrainSettings) -> PretrainingRun:
    """Run or continue a pretraining run, on all the ranks that `torchrun` started."""
    with join(settings.device) as (ranks, device):
        refuse_unfit_batches(settings, ranks)
        with ranks.after_first(lambda leads: PretrainingRun(settings, leads=leads)) as run:
            train_on(run, ranks, device)
    return run


def refuse_unfit_batches(settings: PretrainSettings, ranks: Ranks) -> None:
    """Every rank needs an example of each step; and equally many micro-batches for FSDP, which
    gathers the parameters from all ranks in each forward pass."""
    for phase in settings.phases:
        batch_size, is_short = phase.batch_size, phase.seq_length == settings.short_seq_length
        name = "--short-batch-size" if is_short and settings.short_batch_size else "--batch-size"
        fewest, most = batch_size // ranks.size, -(-batch_size // ranks.size)
        micro = settings.micro_batch_size or most
        if not fewest:
            raise UserError(f"{name} {batch_size} is too small for {ranks.size} "
                            "processes: each needs an example of every step")  # fmt: skip
        if settings.parallel == "fsdp" and -(-fewest // micro) != -(-most // micro):
            raise UserError(f"{name} {batch_size} in micro-batches of {micro}: with --parallel "
                            "fsdp all processes need equally many; take a multiple of "
                            f"{ranks.size}")  # fmt: skip


def train_on(run: PretrainingRun, ranks: Ranks, device: torch.device) -> None:
    settings, precision = run.settings, choose_precision(run.settings.precision, device)
    model = BertForPreTraining(run.config).to(device)
    load_arrays(model, run.weights)
    use_cpu_kernels(model)
    distributed = distribute(model, settings.parallel, ranks)
    if settings.compile:  # dynamic: one code that fits every length would be slower than one each
        distributed.loss = torch.compile(distributed.loss, dynamic=False)
    adam = settings.adam(run.config)
    optimizer = make_optimizer(model, adam, name=settings.optimizer, precision=precision)
    restore_state(optimizer, model, run.training_state)
    if ranks.leads:
        begin = f", from the weights of {settings.start_from}" if settings.start_from else ""
        run.introduce(
            f"on {ranks.size} × {device.type}" if ranks.size > 1 else f"on {device}",
            f"in {str(precision).removeprefix('torch.')}, {torch.get_num_threads()} threads{begin}",
        )

    def task(part: str, seq_length: int) -> Task:
        dataset = getattr(run.data, part).at_length(seq_length)
        passes = settings.duplicate_factor if part == "train" else None
        return Task(
            dataset=dataset, vocabulary=masking_vocabulary(run.data).to(device),
            recipe=settings.masking, seed=settings.seed_of(part),
            device=device, precision=precision,
            mask_unit=settings.mask_unit if part == "train" else "token",
            causal=settings.objective == "next-words",
            has_sentence_task=settings.sentence_task != "none",
            examples=passes and passes * dataset.examples_per_epoch,
        )  # fmt: skip

    keeper = Keeper(run, model, optimizer, ranks)

    def record(entry: Record) -> None:
        if ranks.leads:
            run.log.append(entry)
        if "heldout_mlm_loss" in entry:
            keeper.keep_if_best(entry)

    with stop_signals() as request:
        stopped = train(
            distributed, optimizer,
            [(task("train", p.seq_length), task("heldout", p.seq_length)) for p in settings.phases],
            settings, peak_rate=adam.learning_rate, start=run.start, record=record,
            save=keeper.save, ranks=ranks, request=request,
        )  # fmt: skip
    if stopped:
        raise Stopped(str(settings.out), keeper.saved, settings.steps, number=stopped)


class Keeper:
    """Saves the newest state and the best model. Every rank must call its methods, for FSDP."""

    def __init__(self, run: PretrainingRun, model: nn.Module, optimizer: torch.optim.Optimizer,
                 ranks: Ranks) -> None:  # fmt: skip
        self.run, self.model, self.optimizer, self.ranks = run, model, optimizer, ranks
        self.saved = run.start  # the step of the last checkpoint

    def parameters(self) -> TensorBatch:
        return {name: parameter.detach() for name, parameter in self.model.named_parameters()}

    def save(self, step: int) -> None:
        """A checkpoint: the model, and the optimizer's moments."""
        self.saved = step
        parameters, state = self.parameters(), optimizer_state(self.optimizer, self.model)
        refuse_broken({**parameters, **state}, self.ranks, step=step)
        weights, moments = full_arrays(parameters), full_arrays(state)
        if self.ranks.leads:
            self.run.save(step, weights, moments)
        self.ranks.barrier()

    def keep_if_best(self, measured: Record) -> None:
        """The model, when its loss on held-out text is the lowest of the phase so far: losses at
        another length do not compare. Rank 0, which alone has the record, decides."""
        done = measured["step"]
        is_best = torch.zeros(1, device=next(self.model.parameters()).device)
        if self.ranks.leads:
            phases = self.run.settings.phases
            begin = next(phase.first_step for phase in phases if done <= phase.last_step)
            is_best += measured["heldout_mlm_loss"] <= self.run.lowest_loss(from_step=begin)
        if not self.ranks.sum(is_best):
            return
        refuse_broken(self.parameters(), self.ranks, step=done)
        weights = full_arrays(self.parameters())
        if self.ranks.leads:
            self.run.save_best(done, weights)
        self.ranks.barrier()


# Options of Megatron-LM that are no options here, and what to do about each. The others that its
# users know are aliases (`bert_run.config`). The rate rises and falls in straight lines, to zero.
MEGATRON = json.loads(Path(__file__).with_name("megatron.json").read_text(encoding="utf-8"))


def check_megatron(arguments: list[str]) -> None:
    """Raise `UserError` for options of Megatron-LM: what to write instead of each, all at once."""
    options = {word.partition("=")[0].replace("_", "-") for word in arguments}
    answers = [f"--{name}: {MEGATRON[name]}" for name in MEGATRON if f"--{name}" in options]
    if answers:
        raise UserError(f"options of Megatron-LM, which are others here: {'; '.join(answers)}")


@command
def main() -> None:
    check_megatron(sys.argv[1:])
    run = pretrain(tyro.cli(PretrainSettings, prog="bert-pretrain").all_used())
    if run.leads:
        run.conclude()


if __name__ == "__main__":
    main()
