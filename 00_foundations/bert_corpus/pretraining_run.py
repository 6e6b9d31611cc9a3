"""What a pretraining run does at every level, around the training itself.

It claims its folder, prepares the data, starts from first weights or from the newest checkpoint,
and writes down what is measured and learnt. How a step is computed is the level's own affair.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from functools import cached_property
from pathlib import Path

from bert_corpus.pairs import pair_report
from bert_corpus.prepared import DEFAULT_VOCABULARY, prepare, read_sources, same_corpus
from bert_corpus.store import PARTS, TokenStore
from bert_corpus.wordpiece import save_tokenizer, tokenizer_sha256
from bert_run.config import (
    BertConfig,
    Weights,
    count_parameters,
    first_weights,
    parameter_shapes,
)
from bert_run.errors import UserError
from bert_run.files import write_atomically
from bert_run.model_card import command_line, model_card
from bert_run.run_folder import STATE_FILE, RunFolder, divergence_noted
from bert_run.settings import RunSettings
from bert_run.training_loop import MetricsLog, Record, draw_curve, read_metrics
from bert_run.weights import WEIGHTS_FILE, save_weights

# What may differ between two calls that continue one run.
FREE_TO_CHANGE = {"out", "device", "cores", "parallel", "compile", "eval_every", "eval_examples",
                  "save_every", "keep_checkpoints", "tensorboard", "micro_batch_size"}  # fmt: skip


DRAWN_EVERY = 30.0  # seconds between two drawings of the curve: one takes longer than a small step

MEASURED = {"heldout_mlm_loss", "heldout_mlm_accuracy"}  # every measurement on held-out text


class PretrainingRun:
    """One run, new or continued: `start` steps are done, and led to `weights`.

    It is to be used in a `with`, which holds its folder against other calls. When several processes
    work on one run, one of them leads: it makes the folder, and it alone
    writes. The others are made after it, with `leads=False`.
    """

    def __init__(self, settings: RunSettings, *, leads: bool = True) -> None:
        # A contradiction shows before long work, and so does a model that is too large even with
        # the smallest vocabulary.
        config = settings.bert_config(settings.vocab_size or DEFAULT_VOCABULARY)
        refuse_too_large(config.with_changes(vocab_size=1))
        self.settings, self.leads = settings, leads
        self.undrawn_step, self.drawn_at = 0, time.monotonic()
        self.folder = RunFolder(settings.out)
        program = {"program": settings.program}  # its state is of no use to another program
        is_new = leads and self.folder.claim(
            program | self.spelled_as_before(),
            unless_said=program | identity(type(settings)()),
        )
        try:
            as_before = not is_new and self.data_are_as_noted()
            self.data = prepare(settings, settings.out / "data", has_begun=as_before)
            self.config = settings.bert_config(self.data.tokenizer.get_vocab_size()).with_changes(
                pad_token_id=self.data.train.specials.pad
            )
            refuse_too_large(self.config)
            if leads:
                self.refuse_other_data(has_begun=not is_new)
            self.checkpoint = self.folder.resume() if leads else self.folder.newest()
            self.start = self.checkpoint.step if self.checkpoint else 0
            if leads:
                self.log = MetricsLog(settings.out / "metrics.jsonl", resume_at=self.start)
                self.unigram_entropy = self.data.unigram_entropy()
        except BaseException:
            if is_new:
                self.folder.give_up()  # the corrected command must find the folder free
            self.folder.release()
            raise

    def spelled_as_before(self) -> dict:
        """The identity of the run; files in the words of the call that began it, if they mean the
        same (`c.txt` and `./c.txt`)."""
        now, earlier = identity(self.settings), self.folder.read_settings()
        sources = read_sources(self.settings.out / "data") if earlier else {}
        for name in ("corpus", "heldout", "tokenizer"):
            before = earlier.get(name)
            if isinstance(before, str) and same_corpus(before, now[name], sources.get(name, ())):
                now[name] = before
        return now

    def data_are_as_noted(self) -> bool:
        """Whether the stores in the folder are those that the run began with; if nothing is noted,
        they are taken for them. Others are made again from the corpus as it is now."""
        noted, folder = self.folder.facts, self.settings.out / "data"
        try:
            return all(
                TokenStore.open(folder / part).content == noted[part]
                for part in PARTS
                if part in noted
            )
        except UserError:
            return False

    def refuse_other_data(self, *, has_begun: bool) -> None:
        """Compare the prepared data with those that the run began with, and note them if it is
        new: they may have been prepared again from another text, or replaced."""
        found = {
            "train": self.data.train.corpus.content,
            "heldout": self.data.heldout.corpus.content,
            "tokenizer": tokenizer_sha256(self.data.tokenizer),
        }
        before = self.folder.facts
        differing = [name for name in found if before.get(name, found[name]) != found[name]]
        if has_begun and differing:
            what = {"train": "text", "heldout": "held-out text"}.get(differing[0], differing[0])
            raise UserError(
                f"{self.settings.out}: the {what} is not what this run was trained on so far: "
                "restore it, or choose another --out"
            )
        self.folder.note(found)

    def __enter__(self) -> "PretrainingRun":
        self.work = ExitStack()
        self.work.callback(self.folder.release)
        self.work.callback(self.draw_curve)
        self.work.enter_context(divergence_noted(self.folder, leads=self.leads))
        return self

    def __exit__(self, *exception: object) -> None:
        """The work on it is over, for this process."""
        self.work.__exit__(*exception)

    @cached_property
    def weights(self) -> Weights:
        """Those of the newest checkpoint, or of a new run, which has learnt nothing."""
        if self.checkpoint:
            return self.checkpoint.weights(self.config)
        return first_weights(self.config, self.settings.seed, self.settings.initialization)

    @cached_property
    def training_state(self) -> Weights:
        """The optimiser's, empty at first."""
        return self.checkpoint.training_state() if self.checkpoint else {}

    def introduce(self, *computing: str) -> None:
        """Say what will be trained on what, and write the report of the data beside it."""
        settings, config, data = self.settings, self.config, self.data
        report = {**data.train.corpus.report, **pair_report(data.train)}
        write_atomically(settings.out / "data" / "report.json", json.dumps(report, indent=2) + "\n")
        parameters = count_parameters(parameter_shapes(config))
        if self.start:
            say(f"going on from step {self.start:,} of {settings.steps:,}")
        say(
            f"corpus      {settings.corpus}: {report['documents']:,} documents, "
            f"{report['sentences']:,} sentences, {report['tokens']:,} tokens, "
            f"{report['unknown_share']:.2%} unknown"
        )
        task = settings.pairs.sentence_task
        second = "in the wrong order" if task == "sop" else "with a random next sentence"
        say(
            f"pairs       {report['random_next_share']:.1%} {second}, "
            f"{report['padding_share']:.1%} padding at length {settings.seq_length}"
        )
        say(
            f"model       {config.num_hidden_layers} layers, {config.hidden_size} wide, "
            f"{config.num_attention_heads} heads, {config.vocab_size:,} words: "
            f"{parameters:,} parameters"
        )
        say(f"computing   {' '.join(computing)}; the run's folder is {settings.out}")

    def save(self, step: int, weights: Weights, training_state: Weights) -> None:
        """Write a checkpoint, and draw the curve up to it if the last drawing is old."""

        def write(folder: Path) -> None:
            save_weights(weights, folder / WEIGHTS_FILE)
            save_weights(training_state, folder / STATE_FILE)

        self.save_files(step, write)

    def save_files(self, step: int, write_weights: Callable[[Path], None]) -> None:
        """The same, when the weights and the state are written by the caller."""

        def write(folder: Path) -> None:
            write_weights(folder)
            self.describe(folder, step)

        self.folder.save(step, write, keep=self.settings.keep_checkpoints)
        self.undrawn_step = step
        if time.monotonic() - self.drawn_at > DRAWN_EVERY:
            self.draw_curve()

    def save_best(self, step: int, write_weights: Callable[[Path], None]) -> None:
        """Keep the model as the best so far, in `best/`."""

        def write(folder: Path) -> None:
            write_weights(folder)
            self.describe(folder, step)

        self.folder.save_best(write)

    def lowest_loss(self, *, from_step: int) -> float:
        """The lowest held-out loss so far of words, counting from a step on."""
        found = [
            entry["heldout_mlm_loss"]
            for entry in read_metrics(self.log.path)
            if "heldout_mlm_loss" in entry and entry["step"] > from_step
        ]
        return min(found, default=float("inf"))

    def describe(self, folder: Path, step: int) -> None:
        """Lay beside weights what makes them a `transformers` folder: config, tokenizer, card."""
        self.config.save(folder)
        save_tokenizer(
            self.data.tokenizer, folder, model_max_length=self.config.max_position_embeddings
        )
        settings, defaults = identity(self.settings), identity(type(self.settings)())
        card = model_card(
            settings,
            self.data.train.corpus.report,
            self.measurements(),
            name=self.settings.out.resolve().name,
            config=self.config,
            step=step,
            command=command_line(self.settings.program, settings, defaults),
        )
        write_atomically(folder / "README.md", card)

    def draw_curve(self) -> None:
        """Draw both losses up to the newest checkpoint as `curve.png`, unless that is done."""
        if not self.undrawn_step:
            return
        settings, step = self.settings, self.undrawn_step
        draw_curve(
            read_metrics(self.log.path),
            settings.out / "curve.png",
            title=f"{settings.model} on {settings.corpus}, {step:,} steps",
            references={
                f"word frequencies alone: {self.unigram_entropy:.2f}": self.unigram_entropy
            },
            turns={
                p.first_step: f"from here on {p.seq_length} tokens" for p in settings.phases[1:]
            },
        )
        self.undrawn_step, self.drawn_at = 0, time.monotonic()

    def measurements(self) -> Record:
        """The last ones on held-out text; none in the first steps."""
        measured = [r for r in read_metrics(self.log.path) if r.keys() >= MEASURED]
        last = measured[-1] if measured else {}
        return {**last, "heldout_unigram_entropy": self.unigram_entropy}

    def conclude(self) -> None:
        """Print what was reached, and what to do with it."""
        self.draw_curve()
        out = self.settings.out
        print(f"\nheld out: {self.reached()}")
        print(f"model:    {out}      curve: {out / 'curve.png'}")
        if not self.config.is_decoder:
            print(f'try:      bert-fill-mask "The [MASK] sat on the mat." --checkpoint {out}')

    def reached(self) -> str:
        """The last measurement on held-out text, in words."""
        final = self.measurements()
        if not final.keys() >= MEASURED:
            return f"{self.log.path} holds no measurement"
        asked = "next words" if self.config.is_decoder else "masked words"
        reached = (
            f"{asked}, loss {final['heldout_mlm_loss']:.3f} "
            f"(word frequencies alone: {final['heldout_unigram_entropy']:.3f}), "
            f"{final['heldout_mlm_accuracy']:.1%} right"
        )
        if final.keys() >= {"heldout_nsp_loss", "heldout_nsp_accuracy"}:
            task = self.settings.pairs.sentence_task
            reached += (
                f"; {'sentence order' if task == 'sop' else 'next sentence'}, "
                f"loss {final['heldout_nsp_loss']:.3f}, "
                f"{final['heldout_nsp_accuracy']:.1%} right"
            )
        return reached


def identity(settings: RunSettings) -> dict:
    """The settings that make the run what it is, as they stand in `run.json`."""
    fields = {k: v for k, v in asdict(settings).items() if k not in FREE_TO_CHANGE}
    return json.loads(json.dumps(fields, default=str))


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


# Whether a model fits into this machine, asked before it is built.


BYTES_A_PARAMETER = 16  # in float32: the weight, its gradient and Adam's two moments
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
GIBIBYTE = 2**30


def memory_here() -> int | None:
    """Bytes that this machine has, or that this container may use; None where nobody tells."""
    try:
        installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows
        return None
    try:
        return min(installed, int(CONTAINER_LIMIT.read_text()))
    except (OSError, ValueError):  # no container, or one without a limit ("max")
        return installed


def refuse_too_large(config: BertConfig) -> None:
    """Raise `UserError` for a model that cannot be trained in the memory there is."""
    parameters, here = count_parameters(parameter_shapes(config)), memory_here()
    needed = BYTES_A_PARAMETER * parameters
    if here is not None and needed > here:
        raise UserError(
            f"a model of {parameters:,} parameters takes {needed / GIBIBYTE:,.0f} GB to train, and "
            f"this machine has {here / GIBIBYTE:,.0f} GB: take a smaller --model, or lower "
            "--hidden-size, --intermediate-size, --num-hidden-layers, --vocab-size or "
            "--max-position-embeddings"
        )
