"""One small pretraining run on stories about birds, with a curve of three measures.

A run trains with the code of level 3: its masking, model, optimizer and step. It differs from the
healthy run in settings, in the text, or by a patch that changes the parts of the run from outside.
"""

import io
import math
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bert_corpus.pretraining_run import PretrainingData, prepare
from bert_corpus.storyworld import story
from bert_corpus.wordpiece import basic_tokens, save_tokenizer, train_wordpiece
from bert_experiments.ablations.storyworld import STORYWORLD
from bert_paper.masking import MaskUnit, masking_vocabulary
from bert_paper.model import BertForPreTraining, load_arrays
from bert_paper.optimizer import make_optimizer
from bert_paper.pretrain import PretrainSettings
from bert_paper.training import Task, evaluate, training_step
from bert_run.config import count_parameters, parameter_shapes
from bert_run.files import folder_in_one_piece, write_atomically
from bert_run.training_loop import learning_rate, refuse_divergence

KIND = "river_birds"  # of the stories
STORIES, HELD_OUT_STORIES = 3_000, 120
VOCABULARY = 800  # asked for; these stories have about 500 different words and pieces
CPU = torch.device("cpu")
EVERY = 5  # steps between two points of a curve

# The recipe on short rows, for a model that takes two hundred steps in two seconds. It asks for
# words alone, so that the gradient has one source.
HEALTHY = replace(
    STORYWORLD, hidden_size=64, num_attention_heads=4, intermediate_size=256,
    seq_length=24, short_seq_length=None, batch_size=48, steps=250, warmup_steps=40,
    learning_rate=4e-3, vocab_size=None, sentence_task="none", eval_every=25, eval_examples=256,
)  # fmt: skip


@dataclass
class Parts:
    """What a run is made of, before its first step; a patch may exchange any of it."""

    model: BertForPreTraining
    optimizer: torch.optim.Optimizer
    training: Task
    heldout: Task


Patch = Callable[[Parts], None]


@dataclass(frozen=True)
class Text:
    """What a run reads: stories, and the stories that its vocabulary was trained on."""

    stories: int = STORIES
    kind_of_vocabulary: str = KIND
    vocab_size: int = VOCABULARY
    leaked: bool = False  # the held-out stories are in the training text, too
    measured: Literal["all", "read", "new"] = "all"  # held-out sentences: those that it has read?


@dataclass(frozen=True)
class Run:
    """The healthy run with changes: of its settings, its text, or its code."""

    name: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    text: Text = Text()
    patch: Patch | None = None
    exam_unit: MaskUnit = "token"  # what is hidden together when it is measured
    seed: int = 0

    @property
    def settings(self) -> PretrainSettings:
        return replace(HEALTHY, seed=self.seed, **self.changes)

    @property
    def asked(self) -> dict[str, Any]:
        """All that the figures depend on, as JSON has it."""
        return {
            "changes": dict(self.changes), "text": vars(self.text), "seed": self.seed,
            "patch": self.patch and self.patch.__name__, "exam": self.exam_unit,
            "steps": self.settings.steps, "rate": self.settings.learning_rate,
        }  # fmt: skip


@cache
def told_as_text(count: int, split: str, *, kind: str = KIND, first: int = 0) -> str:
    """Stories as a text file has them: a sentence a line, an empty line between two stories."""
    told = (story(i, kind=kind, split=split) for i in range(first, first + count))
    return "\n\n".join("\n".join(each.text for each in one.sentences) for one in told)


def kept_apart(text: Text) -> str:
    """The held-out stories, or those sentences of them that the training text has, or has not."""
    stories = told_as_text(HELD_OUT_STORIES, "heldout")
    if text.measured == "all":
        return stories
    read = set(told_as_text(text.stories, "train").split("\n"))
    chosen = ([line for line in story.split("\n") if (line in read) == (text.measured == "read")]
              for story in stories.split("\n\n"))  # fmt: skip
    return "\n\n".join("\n".join(lines) for lines in chosen if lines)


@cache
def prepared(text: Text, folder: Path) -> PretrainingData:
    """Vocabulary, token stores and pairs, made once in `folder`."""
    vocabulary = folder / f"vocabulary-{text.kind_of_vocabulary}-{text.vocab_size}"
    folder.mkdir(parents=True, exist_ok=True)
    if not vocabulary.exists():
        sentences = told_as_text(STORIES, "train", kind=text.kind_of_vocabulary).split("\n")
        tokenizer = train_wordpiece(sentences, text.vocab_size, progress=False)
        with folder_in_one_piece(vocabulary) as beside:
            save_tokenizer(tokenizer, beside)
    corpus = folder / f"{text.stories}{'-leaked' * text.leaked}.txt"
    heldout = folder / f"{corpus.stem}-heldout-{text.measured}.txt"
    kept, train = kept_apart(text), told_as_text(text.stories, "train")
    write_atomically(heldout, kept)
    write_atomically(corpus, "\n\n".join([train, kept][: 1 + text.leaked]))
    settings = replace(HEALTHY, corpus=str(corpus), heldout=str(heldout), tokenizer=vocabulary)
    stores = folder / f"{heldout.stem}-{vocabulary.name}"
    with redirect_stderr(io.StringIO()):  # its bars
        return prepare(settings, stores, has_begun=False)


def parts_of(run: Run, data: PretrainingData) -> Parts:
    """Model, optimizer, and what is asked in training and on the held-out text."""
    settings = run.settings
    config = settings.bert_config(data.tokenizer.get_vocab_size())
    model = BertForPreTraining(config)
    load_arrays(model, settings.first_weights(config))
    optimizer = make_optimizer(model, settings.adam(config), name=settings.optimizer)

    def task(part: str) -> Task:
        held_out = part == "heldout"
        return Task(
            dataset=getattr(data, part),
            vocabulary=masking_vocabulary(data),
            # Every run sits the healthy run's exam, whatever it hides in training.
            recipe=HEALTHY.masking if held_out else settings.masking,
            seed=100 if held_out else settings.seed,
            device=CPU,
            precision=torch.float32,
            mask_unit=run.exam_unit if held_out else settings.mask_unit,
            has_sentence_task=False,
        )

    return Parts(model, optimizer, task("train"), task("heldout"))


def trained(run: Run, folder: Path, *, step_done: Callable[[], object] = lambda: None) -> dict:
    """Train, and return the curve and what was found out beside it.

    `exam` is the held-out loss as the course's own code asks for it, whatever the run asks itself.
    Raises `Diverged` when a loss or norm is no longer finite.
    """
    settings, data = run.settings, prepared(run.text, folder / "data")
    right = parts_of(run, data).heldout
    parts = parts_of(run, data)
    if run.patch:
        run.patch(parts)
    model, optimizer = parts.model, parts.optimizer
    curve: dict[str, list] = {name: [] for name in ("step", "train", "norm", "clipped", "heldout")}
    losses: list[Tensor] = []
    norms: list[Tensor] = []
    first_loss = math.nan
    model.train()
    for step in range(settings.steps):
        torch.manual_seed(settings.seed * 1_000_003 + step)  # dropout's
        rate = learning_rate(step, peak=settings.learning_rate, warmup_steps=settings.warmup,
                             total_steps=settings.steps)  # fmt: skip
        for group in optimizer.param_groups:
            group["lr"] = rate
        indices = np.arange(step * settings.batch_size, (step + 1) * settings.batch_size)
        losses.append(training_step(
            model, optimizer, parts.training.batch(indices), precision=torch.float32,
            max_grad_norm=settings.max_grad_norm, total_loss=parts.training.total, norms=norms,
        )[0])  # fmt: skip
        step_done()
        if step == 0:
            first_loss = losses[0].item()
        if (step + 1) % EVERY:
            continue
        train, norm = torch.stack(losses).mean().item(), torch.stack(norms).mean().item()
        refuse_divergence(step + 1, rate, training_loss=train, gradient_norm=norm)
        clip = settings.max_grad_norm or math.inf
        curve["step"].append(step + 1)
        curve["train"].append(train)
        curve["norm"].append(norm)
        curve["clipped"].append(torch.stack(norms).clamp(max=clip).mean().item())
        is_due = (step + 1) % settings.evaluation_interval == 0
        measured = evaluate(model, parts.heldout, examples=settings.eval_examples) if is_due else {}
        curve["heldout"].append(measured.get("heldout_mlm_loss"))
        losses.clear()
        norms.clear()
    exam = evaluate(model, right, examples=settings.eval_examples)
    return {name: rounded(values) for name, values in curve.items()} | {
        "first_loss": round(first_loss, 4),
        "exam": round(exam["heldout_mlm_loss"], 4),
        "right": round(exam["heldout_mlm_accuracy"], 4),
        "ln_v": round(math.log(model.config.vocab_size), 4),
        "entropy": round(data.unigram_entropy(), 4),
        **sizes_of(run, model, data),
    }


def rounded(values: list) -> list:
    """Numbers to five digits, whole ones and gaps as they are."""
    return [float(f"{each:.5g}") if isinstance(each, float) else each for each in values]


def sizes_of(run: Run, model: BertForPreTraining, data: PretrainingData) -> dict[str, float]:
    """How the text is cut, how much of it there is, and how much of it was read."""
    settings = run.settings
    heldout = kept_apart(run.text)
    pieces = len(data.heldout.corpus.tokens)
    return {
        "vocabulary": model.config.vocab_size,
        "pieces_per_word": round(pieces / len(basic_tokens(heldout)), 4),
        "pieces_per_character": round(pieces / len(heldout.replace("\n", "")), 5),
        "tokens": len(data.train.corpus.tokens),
        "passes": round(settings.steps * settings.batch_size / data.train.num_sentences, 3),
        "parameters": count_parameters(parameter_shapes(model.config)),
        "read": settings.steps * settings.batch_size * settings.seq_length,
    }
