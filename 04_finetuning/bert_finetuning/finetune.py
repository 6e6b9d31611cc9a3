"""`bert-finetune`: a task and a checkpoint in, a model that does the task out, and its figures.

bert-finetune --task sentiment --checkpoint runs/demo --out runs/sentiment --seeds 5
bert-finetune --train reviews.csv --dev more.csv --checkpoint runs/demo --out runs/reviews
torchrun --nproc-per-node 8 -m bert_finetuning.finetune --task mnli --checkpoint bert-base-uncased

In Python the same run leaves no files; so the notebooks of this chapter learn:

learned = learn(load_named("sentiment"), settings)
learned.scores["accuracy"]
learned.predict([TextExample("The food was delicious.")])
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import Any

import torch
import tyro

from bert_finetuning.checkpoint import InitialModel, ModelInit, SavedTask, load_finetuned
from bert_finetuning.data.load import TaskData, describe, few_of, load_task
from bert_finetuning.data.rows import say
from bert_finetuning.report import Grid, Measured, Outcome, median_of, prediction_line, write_report
from bert_finetuning.settings import FREE_TO_CHANGE, FinetuneSettings, fields_of, wider
from bert_finetuning.tasks.base import ALONE, Example, Features
from bert_finetuning.train import (
    Evaluator,
    SeedResult,
    SeedRun,
    TrainingData,
    freeze,
    label_weights,
)
from bert_paper.cpu_kernels import use_cpu_kernels
from bert_run.config import PRESETS
from bert_run.device import Ranks, choose_precision, join
from bert_run.errors import UserError, command, read_record, wrong_field
from bert_run.files import RunFolder, sha256, write_atomically
from bert_run.weights import WEIGHTS_FILE, check_push, locate, push_folder, weight_files

# The paper's grid (appendix A.3), for BERT-base and large.
RATES, BATCHES, EPOCHS = (5e-5, 3e-5, 2e-5), (16, 32), (2.0, 3.0, 4.0)


def finetune(settings: FinetuneSettings) -> Outcome:
    """Run or continue all seeds, on all the ranks that `torchrun` started."""
    with join(settings.device) as (ranks, device):
        machine = {"ranks": ranks, "device": device,
                   "precision": choose_precision(settings.precision, device)}  # fmt: skip
        work = ranks.after_first(lambda leads: Finetuning(settings, load_task(settings), **machine))
        if settings.push is not None:  # before hours of training
            ranks.after_first(lambda leads: leads and check_push(settings.push))
        folder = RunFolder(settings.out)
        ranks.after_first(lambda leads: leads and claim(folder, settings))
        try:
            ranks.after_first(lambda leads: check_inputs(settings.out, work.inputs))
            if ranks.leads:
                work.introduce()
            outcome = work.run()
            if ranks.leads:
                work.report(outcome)
        finally:
            folder.release()
    return outcome


def learn(
    data: TaskData, settings: FinetuneSettings, *, seed: int = 0, progress: bool = False,
    device: torch.device | str = "cpu",
) -> SeedRun:  # fmt: skip
    """One seed in memory, in float32; on the CPU it is a function of its arguments.

    Returns the finished run: its `model`, and the `predictions` and `scores` on dev.
    """
    few = few_of(data.train, settings.few_shot, seed=seed)
    settings = replace(settings, seed=seed, few_shot=None)
    work = Finetuning(settings, replace(data, train=few), device=device)
    run = work.seed_run(settings, seed)
    run.run(progress=progress)
    run.model.eval()
    return run


def identity(settings: FinetuneSettings) -> dict[str, Any]:
    """The settings that make the run what it is. A grid chooses anew if it gets more seeds."""
    free = FREE_TO_CHANGE - ({"seeds"} if settings.grid else set())
    return {name: value for name, value in fields_of(settings).items() if name not in free}


def claim(folder: RunFolder, settings: FinetuneSettings) -> None:
    """Make the folder this run's own. More epochs are another run: its rate has fallen to zero."""
    wanted, earlier = identity(settings), folder.read_settings()
    before = earlier.get("epochs")
    if earlier != wanted and earlier | {"epochs": settings.epochs} == wanted and folder.has_begun():
        raise UserError(
            f"{folder.path} holds a run planned for {before} epochs, whose learning rate falls to "
            f"zero at their end, so it cannot go on to {settings.epochs}: choose another --out; or "
            "start another run, with a new head and a new schedule, from this one's weights: "
            f"--checkpoint {folder.path} --out {folder.path}-more"
        )
    folder.claim(wanted)


class Finetuning:
    """What all seeds, and all combinations of a grid, have in common."""

    def __init__(
        self, settings: FinetuneSettings, data: TaskData, *, initial: InitialModel | None = None,
        ranks: Ranks = ALONE, device: torch.device | str = "cpu",
        precision: torch.dtype = torch.float32,
    ) -> None:  # fmt: skip
        """`initial`: what the first seed begins from, if it is not what `settings` say."""
        self.settings, self.data = settings, data
        self.ranks, self.device, self.precision = ranks, device, precision
        self.task = data.task.decided_by(settings.metric)
        if settings.pooling != "cls" and not self.task.model.has_pooling:
            name = self.task.model.__name__
            raise UserError(f"--pooling {settings.pooling}: a {name} does not read a whole text")
        if initial is None:
            self.init = ModelInit(settings, self.task, data.train)
        self.first = initial or self.init.build(settings.seed)
        self.tokenizer, self.note = self.first.tokenizer, self.first.note
        freeze(self.first.model, settings.freeze)  # a mistake in it shows before any work
        if settings.class_weights is not None:
            label_weights(settings.class_weights, self.first.model, [])
        self.config = self.first.model.config
        self.max_length = self.task.reading_length(settings.max_length, self.config)
        dev = self.encode(data.dev)
        if not dev:
            raise UserError(f"{data.name}: there is nothing to measure on")
        self.evaluator = Evaluator(self.task, data.dev, dev, self.max_length)
        self.encoded: dict[int | None, list[Features]] = {}  # of a seed that draws a few, or of all

    def encode(self, examples: Sequence[Example]) -> list[Features]:
        return self.task.encode(examples, self.tokenizer, max_length=self.max_length)

    def examples(self, seed: int) -> list[Example]:
        """What a seed learns from: all, or the few that it draws."""
        return few_of(self.data.train, self.settings.few_shot, seed=seed)

    def features(self, seed: int) -> list[Features]:
        """Their features; the last are kept, for the next combination of the grid."""
        key = None if self.settings.few_shot is None else seed
        if key not in self.encoded:
            self.encoded = {key: self.encode(self.examples(seed))}
        return self.encoded[key]

    def initial(self, seed: int) -> InitialModel:
        """The model of a seed; that of the first is there already, and is handed out once."""
        first, self.first = self.first, None
        if first is not None and seed == self.settings.seed:
            return first
        return self.init.build(seed)

    def seed_run(
        self, settings: FinetuneSettings, seed: int, folder: Path | None = None
    ) -> SeedRun:
        """The run of a seed where it stands. `settings` are those of a combination of the grid;
        without a folder the run is in memory."""
        pad_id = self.config.pad_token_id
        data = TrainingData(self.task, self.features(seed), settings, seed, pad_id, self.ranks)
        saved_task = partial(SavedTask.of, name=self.data.name, max_length=self.max_length,
                             pairs=self.data.is_pairs)  # fmt: skip
        return SeedRun(
            self.initial(seed), data, self.evaluator, precision=self.precision,
            device=self.device, folder=folder, saved_task=saved_task,
        )  # fmt: skip

    @cached_property
    def inputs(self) -> "Inputs":
        return inputs_of(self.settings, self.data)

    def combinations(self) -> dict[str, FinetuneSettings]:
        """The settings of each run of the grid by its name; without a grid there is one."""
        if not self.settings.grid:
            return {"": self.settings}
        scale = wider(self.config.hidden_size)
        return {
            f"rate-{rate * scale:.0e}_batch-{batch}_epochs-{epochs:.0f}": replace(
                self.settings, grid=False, learning_rate=rate * scale, batch_size=batch,
                epochs=epochs,
            )
            for rate, batch, epochs in product(RATES, BATCHES, EPOCHS)
        }  # fmt: skip

    def run(self) -> Outcome:
        settings, metric = self.settings, self.task.metrics[0]
        grid: Grid = {}
        chosen = ""
        for name, own in self.combinations().items():
            seeds = range(settings.seed, settings.seed + settings.seeds)
            grid[name] = [self.run_seed(own, seed, settings.out / name) for seed in seeds]
            chosen = max(grid, key=lambda each: median_of(grid[each], metric))
            if self.ranks.leads:
                for other in grid.keys() - {chosen}:  # of those the figures are enough
                    drop_models(settings.out / other)
        results = grid[chosen]
        best = max(results, key=lambda result: result.best[metric])
        majority = self.task.majority(self.examples(best.seed), self.data.dev)
        return Outcome(
            task=self.data.name, metric=metric, start=self.note,
            examples=(settings.few_shot or len(self.data.train), len(self.data.dev)),
            majority=self.task.score(self.data.dev, majority), results=results,
            folder=settings.out / chosen / f"seed-{best.seed}",
            grid=grid if settings.grid else {}, chosen=chosen,
            inputs=self.inputs, seen=self.data.seen,
        )  # fmt: skip

    def run_seed(self, settings: FinetuneSettings, seed: int, folder: Path) -> SeedResult:
        """The result of a seed; what is left of its run is done first."""
        folder = folder / f"seed-{seed}"
        title = folder.relative_to(settings.out).as_posix()
        done = SeedResult.read(folder, self.task.metrics[0])
        return done or self.seed_run(settings, seed, folder).run(title)

    def introduce(self) -> None:
        """Say what will be learned, from what, and how; which lines of one file are for dev is
        written down."""
        settings = self.settings
        if self.data.split is not None:
            self.data.split.write(settings.out, settings.train, self.data.tallies[0].lines)
        rate = f"{settings.rate(self.config.hidden_size):.1e}"
        for line in (
            *describe(self.data, settings, self.features(settings.seed), self.max_length),
            f"model       {self.note}",
            f"recipe      {settings.epochs:g} epochs, batches of {settings.batch_size}, "
            + ("a grid of rates, batches and epochs" if settings.grid else f"rate {rate}")
            + f", {settings.optimizer}, {self.max_length} tokens",
            f"computing   on {self.ranks.size} × {self.device.type}, in "
            f"{str(self.precision).removeprefix('torch.')}, {torch.get_num_threads()} threads; "
            f"the run's folder is {settings.out}",
        ):
            say(line)

    def report(self, outcome: Outcome) -> None:
        """Answer dev with the best model, and write and print what came out."""
        try:
            best = load_finetuned(outcome.folder / "best", device=self.device)
        except UserError as error:
            problem = str(error).rpartition(": ")[0]  # without the advice, to copy it again
            way_out = f"remove {outcome.folder}, and the seed runs again"
            raise UserError(f"{problem}: {way_out}") from None
        use_cpu_kernels(best.model.bert)
        task, predictions = self.evaluator.predict(best.model, precision=self.precision)
        if test := self.data.test:
            # In float32, as `bert-predict --score` does: both must say the same.
            answers = task.answers(test, best.model, self.tokenizer, max_length=self.max_length)
            learnt = self.examples(outcome.best.seed)
            majority = task.score(test, task.majority(learnt, test))
            measured = Measured(self.data.tallies[2].source, task, test, answers, majority)
            outcome = replace(outcome, test=measured)
        settings, out = self.settings, self.settings.out
        dev = Measured("dev", task, self.data.dev, predictions)
        write_report(outcome, dev, settings)
        test = f"test: {outcome.test.table()}\n\n" if outcome.test else ""
        print(
            f"\n{outcome.table()}\n\n{test}"
            f"model:    {out}      curve: {out / 'curve.png'}      errors: {out / 'errors.md'}"
        )
        print(f"try:      {prediction_line(str(out), dev)}")
        if settings.push is not None:
            print(f"pushed:   {push_folder(out, settings.push)}")


def drop_models(folder: Path) -> None:
    for path in folder.rglob(WEIGHTS_FILE):
        path.unlink()


# --- What a run started from ---------------------------------------------------------------------

# A run's folder keeps fingerprints of its examples and of its checkpoint, written before the first
# step; the run goes on only from the same.
#
# inputs.json    {"train": {"name": "reviews.csv", "sha256": "…", "examples": 300}, "dev": {…}, …}

INPUTS_FILE = "inputs.json"
# What decides how a checkpoint reads a text; its weights come in addition.
READING_FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt")

Inputs = dict[str, dict[str, Any]]  # what a run depends on, under "train", "dev" and "start"


def inputs_of(settings: FinetuneSettings, data: TaskData) -> Inputs:
    """Fingerprints of everything that decides the result and is not a setting."""
    dev = f"dev from {settings.train}" if data.split else settings.dev
    inputs: Inputs = {
        split: {"name": name or f"the {split} set of {data.name}",
                "sha256": fingerprint(examples), "examples": len(examples)}
        for split, name, examples in (("train", settings.train, data.train),
                                      ("dev", dev, data.dev))
    }  # fmt: skip
    start, files = settings.checkpoint, []
    if not settings.from_nothing:
        files = files_of_start(start)
    else:  # of the files it takes its sizes and its tokenizer
        for source in (settings.model, settings.tokenizer):
            if source is not None and source not in PRESETS:
                start, files = str(source), [*files, *reading_files(Path(source))]
    if files:
        inputs["start"] = {"name": start, "sha256": fingerprint_of_files(files), "examples": None}
    return inputs


def fingerprint(examples: Sequence) -> str:
    """SHA-256 of examples in their order. Every example is a dataclass of texts and numbers."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(ascii(example).encode() + b"\n")
    return digest.hexdigest()


def reading_files(source: Path) -> list[Path]:
    """The files of a folder that decide how a text is read; a file stands for itself."""
    found = [source / name for name in READING_FILES]
    return [source] if source.is_file() else [path for path in found if path.is_file()]


def files_of_start(checkpoint: str) -> list[Path]:
    folder = locate(checkpoint).folder
    return [*reading_files(folder), *weight_files(folder)]


def fingerprint_of_start(checkpoint: str) -> str:
    """What a run that starts from a checkpoint records of it as its `start`."""
    return fingerprint_of_files(files_of_start(checkpoint))


def fingerprint_of_files(files: Sequence[Path]) -> str:
    """SHA-256 of the files' names and content."""
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.name} {sha256(path)}\n".encode())
    return digest.hexdigest()


def check_inputs(folder: Path, inputs: Inputs) -> None:
    """Record the inputs of a new run, or compare them with those that its folder recorded. Raises
    `UserError` if one has changed, or was never recorded."""
    path, way_out = folder / INPUTS_FILE, f"choose another --out, or remove {folder}"
    if not path.exists() and not any(folder.rglob("seed-*")):
        write_atomically(path, json.dumps(inputs, indent=2) + "\n")
    earlier = read_record(path, way_out=way_out) if path.exists() else {}
    for each in earlier.values():
        if not isinstance(each, dict) or wrong_field(each, {"sha256": str}, {}):
            raise UserError(f"{path} is damaged: {way_out}")
    changed = [now["name"] for split, now in inputs.items()
               if earlier.get(split, {}).get("sha256") != now["sha256"]]  # fmt: skip
    if changed:
        raise UserError(
            f"{folder} holds a run that started from other data: {' and '.join(changed)} had other "
            "content, or it was not recorded: choose another --out, or remove that folder"
        )


@command
def main() -> None:
    finetune(tyro.cli(FinetuneSettings, prog="bert-finetune"))


if __name__ == "__main__":
    main()
