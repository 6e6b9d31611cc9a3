"""The settings of `bert-finetune`: every field is an option."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import arg

from bert_finetuning.tasks.base import Pooling
from bert_finetuning.tasks.question_answering import QuestionAnswering
from bert_run.config import (
    PRESETS,
    AdamSettings,
    BatchSize,
    Count,
    Dropout,
    GradNorm,
    LearningRate,
    Positions,
    Precision,
    Real,
    Seed,
    Share,
    check_numbers,
)
from bert_run.errors import UserError, option
from bert_run.weights import is_hub_id

# What may differ between two calls that continue one run.
FREE_TO_CHANGE = {"out", "seeds", "device", "micro_batch_size", "gradient_checkpointing",
                  "save_every", "test", "push"}  # fmt: skip

BASE_WIDTH = 768  # the paper's rates are for this width and more

Epochs = Annotated[float, Real(above=0, at_most=1_000_000)]


@dataclass(frozen=True)
class FinetuneSettings:
    """Fine-tune BERT on a task: a head on a pretrained encoder, all of it trained together.

    The task goes by its name or by your files. --out becomes a transformers folder with the best
    model of all seeds; beside it lie metrics.json, the predictions, a table of errors and the
    curves. The same command called again goes on where it stopped. Under torchrun all processes
    share the work: torchrun --nproc-per-node 2 -m bert_finetuning.finetune.
    """

    # --- Task ---
    task: str | None = None
    """of StoryWorld: sentiment, pairs, names, questions, stars, endings, reports, who, kinds;
    of GLUE: cola, sst-2, mrpc, qqp, sts-b, mnli, mnli-mm, qnli, rte, wnli; squad, squad2,
    conll2003, wnut17, pos, swag"""
    data: Path | None = None
    """the folder with the task's files; without it they come from the Hub"""
    train: str | None = None
    """a FILE to learn from, or a dataset of the Hub, ID[:CONFIG][@SPLIT]"""
    dev: str | None = None
    """another FILE, to measure on; or the share of --train that is set aside for it, say 0.1"""
    test: str | None = None
    """a FILE with labels that is read once, at the end: dev has chosen the model, so dev's score is
    a little too high; of the tasks by name, own takes the task's own test set"""
    format: str | None = None
    """what the files hold: texts, numbers, tags, questions or choices; found unless given"""
    columns: str | None = None
    """names or numbers of columns: TEXT,LABEL or TEXT,PAIR,LABEL; or some: text=NAME,label=NAME"""
    few_shot: Count | None = None
    """learn from so many examples only; each seed draws its own"""

    # --- Start ---
    checkpoint: str | None = None
    """where to start: a checkpoint DIR, a model of the Hub, or none (nothing learned before)"""
    model: str = "tiny"
    """with --checkpoint none: tiny, mini, small, medium, base or large; or a checkpoint DIR whose
    sizes and tokenizer are taken, and nothing else"""
    tokenizer: Path | None = None
    """with --checkpoint none: a tokenizer; without it one is trained on the task's text"""

    # --- Recipe ---
    epochs: Epochs = 3.0
    """passes over the examples"""
    batch_size: BatchSize = 32
    """examples in a step"""
    learning_rate: Annotated[LearningRate | None, arg(aliases=["--lr"])] = None
    """the peak; unless given the paper's 5e-5, and 5e-5 · 768 / hidden for narrower models"""
    warmup: Share = 0.1
    """of the steps, the share in which the rate rises"""
    optimizer: Literal["adamw", "bert-adam"] = "adamw"
    """AdamW, which corrects Adam's bias; or BERT's own without, whose first steps are up to 6.57
    times as large: short runs may not get over that"""
    weight_decay: Share = AdamSettings.weight_decay
    max_grad_norm: GradNorm = AdamSettings.max_grad_norm
    """all gradients together are scaled down to this norm; 0: they are not"""
    class_weights: Literal["balanced"] | None = None
    """balanced: the rarer a label, the more it counts in the loss"""
    layer_rate_decay: Annotated[float, Real(above=0, at_most=1)] = 1.0
    """layer-wise rate decay: each layer's rate is this factor times that of the layer above"""
    freeze: str = "nothing"
    """what stays as it is: nothing, embeddings, a number N (they and the lowest N layers), encoder
    (all but the pooler and the head)"""
    grid: bool = False
    """the paper's grid: three rates, batches of 16 and 32, 2 to 4 epochs; the best on dev wins"""
    seeds: Count = 1
    """runs that differ in the head's initial weights, the order of examples and dropout"""
    seed: Seed = 0
    """the first of them"""

    # --- Model ---
    max_length: Positions | None = None
    """tokens read at once: 128, questions 384, unless given"""
    pooling: Pooling = "cls"
    """what stands for a text: [CLS] through the pooler, or the mean of its tokens"""
    hidden_dropout: Dropout | None = None
    """instead of the checkpoint's own, as the next two"""
    attention_dropout: Dropout | None = None
    classifier_dropout: Dropout | None = None

    # --- Questions ---
    stride: Positions = QuestionAnswering.stride
    """`doc_stride` of the released code: tokens from window to window, at most half of one"""
    max_question: Positions = QuestionAnswering.max_question
    """tokens of a question that are read (`max_query_length`)"""
    max_answer: Positions = QuestionAnswering.max_answer
    """tokens of the longest answer"""
    null: bool | None = None
    """some questions have no answer (SQuAD 2.0); without it the examples decide"""

    # --- Machine ---
    device: str = "auto"
    """auto, cpu, cuda or cuda:N"""
    precision: Precision = "auto"
    """auto takes bf16 where the device multiplies it faster"""
    micro_batch_size: BatchSize | None = None
    """examples computed at a time, when a whole batch does not fit into memory"""
    gradient_checkpointing: bool = False
    """keep only the input of each layer for the backward pass and compute the rest again: less
    memory, about a third more time, the same gradients"""
    by_length: bool = True
    """put texts of like length into a batch, which saves padding (length bucketing)"""

    # --- Run ---
    out: Path = Path("runs/finetune")
    """the folder of all that comes out"""
    eval_every: Count | None = None
    """steps between measurements on dev; an epoch, unless given"""
    metric: str | None = None
    """what chooses the best step and seed on dev (f1: of the second label); else the first"""
    patience: Count | None = None
    """stop after so many measurements in a row that were no better than the best before"""
    save_every: Count | None = None
    """steps between checkpoints; an epoch, unless given"""
    push: str | None = None
    """put the best model on the Hub as OWNER/NAME, private at first (log in: hf auth login)"""

    def __post_init__(self) -> None:
        check_numbers(self)
        check_task(self)
        check_start(self)
        if self.freeze not in ("nothing", "embeddings", "encoder") and not self.freeze.isdecimal():
            raise UserError(f"--freeze is {self.freeze!r}: choose nothing, embeddings, encoder, or "
                            "a number of layers")  # fmt: skip
        if self.push is not None and not ("/" in self.push and is_hub_id(self.push)):
            raise UserError(f"--push {self.push}: write the name of a model on the Hub, OWNER/NAME")
        if self.grid and (given := self.changed("learning_rate", "batch_size", "epochs")):
            raise UserError("--grid chooses the learning rate, the batch size and the epochs: "
                            f"leave out {option(given[0])}")  # fmt: skip

    def changed(self, *names: str) -> list[str]:
        """Those of the options that are not as usual."""
        return [name for name in names if getattr(self, name) != getattr(type(self), name)]

    @property
    def from_scratch(self) -> bool:
        return self.checkpoint == "none"

    def rate(self, hidden_size: int) -> float:
        """The peak of the learning rate for a model of this width."""
        return self.learning_rate or 5e-5 * wider(hidden_size)


def fields_of(settings: FinetuneSettings) -> dict[str, Any]:
    """Settings as JSON holds them."""
    return json.loads(json.dumps(asdict(settings), default=str))


def wider(hidden_size: int) -> float:
    """By how much narrow models may learn faster than the paper's, as in pretraining."""
    return max(1.0, BASE_WIDTH / hidden_size)


def check_task(settings: FinetuneSettings) -> None:
    """A task, or both files, and not both."""
    if settings.task is not None:
        if given := settings.changed("train", "dev", "columns", "format"):
            raise UserError(f"--task {settings.task} and {option(given[0])} exclude each other: a "
                            "task has its own examples")  # fmt: skip
    elif settings.train is None or settings.dev is None:
        raise UserError("a run learns from examples and is measured on others: name a --task, or "
                        "give --train FILE --dev FILE, or --train FILE --dev 0.1")  # fmt: skip
    elif settings.data is not None:
        raise UserError(f"--data {settings.data} is the folder of a --task: name the task, or "
                        "leave --data out")  # fmt: skip


def check_start(settings: FinetuneSettings) -> None:
    if settings.checkpoint is None:
        raise UserError("where to start: give --checkpoint DIR, a model of the Hub, or none for a "
                        "model that has learned nothing")  # fmt: skip
    if settings.from_scratch:
        if settings.model not in PRESETS and not Path(settings.model).is_dir():
            raise UserError(f"--model is {settings.model!r}: choose {', '.join(PRESETS)}, or a "
                            "checkpoint folder")  # fmt: skip
    elif given := settings.changed("tokenizer", "model"):
        raise UserError(f"{option(given[0])} {getattr(settings, given[0])} is for --checkpoint "
                        f"none: {settings.checkpoint} has its own; leave one of the two "
                        "out")  # fmt: skip
