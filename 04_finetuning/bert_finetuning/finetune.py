"""`bert-finetune`: a task and a checkpoint in, a model that does the task out, and its figures.

bert-finetune --task sentiment --checkpoint runs/demo --out runs/sentiment --seeds 5
bert-finetune --train reviews.csv --dev more.csv --checkpoint runs/demo --out runs/reviews
torchrun --nproc-per-node 8 -m bert_finetuning.finetune --task mnli --checkpoint bert-base-uncased
"""

import contextlib
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import torch
import tyro

from bert_finetuning.batches import TrainingData
from bert_finetuning.checkpoint import InitialModel, ModelInit, SavedTask, load_finetuned
from bert_finetuning.data.fingerprints import check_inputs, digest_of, inputs_of
from bert_finetuning.data.load import describe, few_of, load_task
from bert_finetuning.features import Features
from bert_finetuning.heads import logits_of
from bert_finetuning.report import (
    Grid,
    Measured,
    Outcome,
    median_of,
    prediction_line,
    write_report,
)
from bert_finetuning.run import Evaluator, SeedResult, SeedRun, say
from bert_finetuning.settings import FREE_TO_CHANGE, FinetuneSettings, fields_of, wider
from bert_finetuning.tasks.base import Example, Task
from bert_finetuning.train import freeze, label_weights
from bert_paper.cpu_kernels import use_cpu_kernels
from bert_run.device import Ranks, choose_precision, join
from bert_run.errors import UserError, command
from bert_run.run_folder import RunFolder
from bert_run.weights import WEIGHTS_FILE, check_push, push_folder

# The paper's grid (appendix A.3), for BERT-base and large.
RATES, BATCHES, EPOCHS = (5e-5, 3e-5, 2e-5), (16, 32), (2.0, 3.0, 4.0)


def finetune(settings: FinetuneSettings) -> Outcome:
    """Run or continue all seeds, on all the ranks that `torchrun` started."""
    with join(settings.device) as (ranks, device):
        return finetune_on(ranks, device, settings)


def finetune_on(ranks: Ranks, device: torch.device, settings: FinetuneSettings) -> Outcome:
    with quiet_unless(ranks.leads):
        work = ranks.after_first(lambda leads: Finetuning(settings, ranks, device))
    if settings.push is not None:  # before hours of training
        ranks.after_first(lambda leads: leads and check_push(settings.push))
    folder = RunFolder(settings.out)
    ranks.after_first(lambda leads: leads and claim(folder, settings))
    try:
        ranks.after_first(lambda leads: work.check_inputs())
        if ranks.leads:
            work.introduce()
        outcome = work.run()
        if ranks.leads:
            work.report(outcome)
    finally:
        folder.release()
    return outcome


def identity(settings: FinetuneSettings) -> dict[str, Any]:
    """The settings that make the run what it is. A grid chooses anew if it gets more seeds."""
    free = FREE_TO_CHANGE - ({"seeds"} if settings.grid else set())
    return {name: value for name, value in fields_of(settings).items() if name not in free}


def claim(folder: RunFolder, settings: FinetuneSettings) -> None:
    """Make the folder this run's own. More epochs are another run: its rate has fallen to zero."""
    wanted = identity(settings)
    earlier = folder.read_settings()
    if earlier | {"epochs": settings.epochs} == wanted and folder.has_begun():
        before = earlier.get("epochs")
        if isinstance(before, float) and before != settings.epochs:
            raise UserError(
                f"{folder.path} holds a run planned for {before:g} epochs, whose learning rate "
                f"falls to zero at their end, so it cannot go on to {settings.epochs:g}: choose "
                "another --out, and the run starts anew; or start another run, with a new head and "
                f"a new schedule, from this one's weights: --checkpoint {folder.path} "
                f"--out {folder.path}-more"
            )
    folder.claim(wanted)


@contextmanager
def quiet_unless(leads: bool) -> Iterator[None]:
    """Only the process that leads reports on the data."""
    with contextlib.nullcontext() if leads else contextlib.redirect_stderr(io.StringIO()):
        yield


class Finetuning:
    """What all seeds, and all combinations of a grid, have in common."""

    def __init__(self, settings: FinetuneSettings, ranks: Ranks, device: torch.device) -> None:
        self.settings, self.ranks, self.device = settings, ranks, device
        self.data = data = load_task(settings)
        self.task = data.task.decided_by(settings.metric)
        if settings.pooling != "cls" and not self.task.model.has_pooling:
            name = self.task.model.__name__
            raise UserError(f"--pooling {settings.pooling}: a {name} does not read a whole text")
        self.precision = choose_precision(settings.precision, device)
        self.init = ModelInit(settings, self.task, data.train)
        self.first: InitialModel | None = self.init.build(settings.seed)
        self.tokenizer, self.note = self.first.tokenizer, self.first.note
        freeze(self.first.model, settings.freeze)  # a mistake in it shows before any work
        if settings.class_weights is not None:
            label_weights(settings.class_weights, self.first.model, [])
        self.config = self.first.model.config
        self.max_length = self.task.reading_length(settings.max_length, self.config)
        self.evaluator = Evaluator(self.task, data.dev, self.encode(data.dev))
        if not self.evaluator.features:
            raise UserError(f"{data.name}: there is nothing to measure on")
        self.encoded: dict[int | None, list[Features]] = {}  # of a seed that draws a few, or of all
        self.inputs = inputs_of(settings, data)
        self.inputs_are_known = True  # those of the folder's run are these

    def encode(self, examples: Sequence[Example]) -> list[Features]:
        with quiet_unless(self.ranks.leads):
            return self.task.encode(examples, self.tokenizer, max_length=self.max_length)

    def examples(self, seed: int) -> list[Example]:
        """What a seed learns from: all, or the few that it draws."""
        few = self.settings.few_shot
        return self.data.train if few is None else few_of(self.data.train, few, seed=seed)

    def features(self, seed: int) -> list[Features]:
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

    def check_inputs(self) -> None:
        """Raise `UserError` if the folder's run started from other examples or weights."""
        if note := check_inputs(self.settings.out, self.inputs):
            self.inputs_are_known = False
            if self.ranks.leads:
                say(note)
        if self.data.split is not None and self.ranks.leads:
            lines = self.data.tallies[0].lines
            self.data.split.write(self.settings.out, self.settings.train, lines)

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
                for other in grid.keys() - {chosen}:
                    drop_models(settings.out / other)
        results = grid[chosen]
        best = max(results, key=lambda result: result.best[metric])
        majority = self.task.majority(self.examples(best.seed), self.data.dev)
        return Outcome(
            task=self.data.name,
            metric=metric,
            start=self.note,
            examples=(settings.few_shot or len(self.data.train), len(self.data.dev)),
            majority=self.task.score(self.data.dev, majority),
            results=results,
            folder=settings.out / chosen / f"seed-{best.seed}",
            grid=grid if settings.grid else {},
            chosen=chosen,
            inputs=self.inputs if self.inputs_are_known else {},
        )

    def run_seed(self, settings: FinetuneSettings, seed: int, folder: Path) -> SeedResult:
        """A seed from where it stands to its end."""
        folder = folder / f"seed-{seed}"
        inputs = digest_of(self.inputs)
        if (result := SeedResult.read(folder, inputs, self.task.metrics[0])) is not None:
            return result
        pad_id = self.config.pad_token_id
        data = TrainingData(
            self.task, self.features(seed), settings, seed, pad_id, ranks=self.ranks
        )
        run = SeedRun(
            self.initial(seed),
            data,
            self.evaluator,
            precision=self.precision,
            device=self.device,
            folder=folder,
            inputs=inputs if self.inputs_are_known else None,
            saved_task=self.saved_task,
        )
        return run.run(folder.relative_to(settings.out).as_posix())

    def saved_task(self, task: Task) -> SavedTask:
        """What `bert-predict` must know beside a model."""
        return SavedTask.of(
            task, self.data.name, max_length=self.max_length, pairs=self.data.is_pairs
        )

    def introduce(self) -> None:
        """Say what will be learnt, from what, and how."""
        settings = self.settings
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
        best = load_finetuned(outcome.folder / "best", self.task.model, device=self.device)
        use_cpu_kernels(best.model.bert)
        features = self.evaluator.features
        logits = logits_of(best.model, self.task, features, precision=self.precision)
        task, predictions = self.evaluator.predict(logits)
        if test := self.data.test:
            features = self.encode(test)
            # In float32, as `bert-predict --score` does: both must say the same.
            answers = task.predict(test, features, logits_of(best.model, task, features))
            learnt = self.examples(outcome.best.seed)
            majority = task.score(test, task.majority(learnt, test))
            measured = Measured(self.data.test_name, task, test, answers, majority)
            outcome = replace(outcome, test=measured)
        shortest = min(self.data.dev, key=lambda example: sum(map(len, example.texts)))
        settings, out = self.settings, self.settings.out
        write_report(outcome, task, self.data.dev, predictions, settings=settings, example=shortest)
        print(f"\n{outcome.table()}\n")
        if outcome.test is not None:
            print(f"test: {outcome.test.table()}\n")
        print(f"model:    {out}      curve: {out / 'curve.png'}      errors: {out / 'errors.md'}")
        print(f"try:      {prediction_line(str(out), task, shortest)}")
        if settings.push is not None:
            print(f"pushed:   {push_folder(out, settings.push)}")


def drop_models(folder: Path) -> None:
    """Of a combination that has lost only the figures are kept."""
    for path in folder.rglob(WEIGHTS_FILE):
        path.unlink()


@command
def main() -> None:
    finetune(tyro.cli(FinetuneSettings, prog="bert-finetune"))


if __name__ == "__main__":
    main()
