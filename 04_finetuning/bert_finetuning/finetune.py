"""`bert-finetune`: a task and a checkpoint in, a model that does the task out, and its figures.

bert-finetune --task sentiment --checkpoint runs/demo --out runs/sentiment --seeds 5
bert-finetune --train reviews.csv --dev more.csv --checkpoint runs/demo --out runs/reviews
torchrun --nproc-per-node 8 -m bert_finetuning.finetune --task mnli --checkpoint bert-base-uncased
"""

import contextlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import torch
import tyro

from bert_finetuning.answering import logits_of
from bert_finetuning.fingerprints import check_inputs, digest_of, inputs_of
from bert_finetuning.folders import open_finetuned
from bert_finetuning.heads import BertForSequenceClassification
from bert_finetuning.kinds.base import Kind, Reading
from bert_finetuning.opening import few_of, open_task, write_task
from bert_finetuning.outcome import Grid, Outcome, median_of
from bert_finetuning.recipe import freeze
from bert_finetuning.report import fields_of, prediction_line, write_report
from bert_finetuning.seed_run import Exam, SeedResult, SeedRun, say
from bert_finetuning.settings import FREE_TO_CHANGE, FinetuneSettings, wider
from bert_finetuning.starting import Beginning, reading_length, texts_in
from bert_finetuning.training import Lesson
from bert_finetuning.understood import understood
from bert_paper.cpu_kernels import use_cpu_kernels
from bert_paper.ranks import Ranks, join
from bert_run.device import choose_precision
from bert_run.errors import UserError, command
from bert_run.run_folder import RunFolder
from bert_run.weights import WEIGHTS_FILE

# The paper's grid (appendix A.3), for BERT-base and large.
RATES, BATCHES, EPOCHS = (5e-5, 3e-5, 2e-5), (16, 32), (2.0, 3.0, 4.0)


def finetune(settings: FinetuneSettings) -> Outcome:
    """Run or continue all seeds, on all the ranks that `torchrun` started."""
    with join(settings.device) as (ranks, device):
        return finetune_on(ranks, device, settings)


def finetune_on(ranks: Ranks, device: torch.device, settings: FinetuneSettings) -> Outcome:
    with quiet_unless(ranks.leads):
        work = ranks.after_first(lambda leads: Work(settings, ranks, device))
    folder = RunFolder(settings.out)
    ranks.after_first(lambda leads: leads and folder.claim(identity(settings)))
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


@contextmanager
def quiet_unless(leads: bool) -> Iterator[None]:
    """What is told of the data is told by one process of many."""
    with contextlib.nullcontext() if leads else contextlib.redirect_stderr(io.StringIO()):
        yield


class Work:
    """What all seeds, and all combinations of a grid, have in common."""

    def __init__(self, settings: FinetuneSettings, ranks: Ranks, device: torch.device) -> None:
        self.settings, self.ranks, self.device = settings, ranks, device
        self.data = data = open_task(settings)
        self.kind = data.kind
        check_pooling(self.kind, settings)
        self.precision = choose_precision(settings.precision, device)
        self.beginning = Beginning(settings, self.kind, data.train)
        first = self.beginning.at(settings.seed)
        self.tokenizer, self.note = first.tokenizer, first.note
        freeze(first.model, settings.freeze)  # a mistake in it shows before any work
        self.width, self.pad_id = first.model.config.hidden_size, first.model.config.pad_token_id
        self.max_length = reading_length(settings, self.kind, first.model.config)
        self.exam = Exam(self.kind, data.dev, self.read(data.dev))
        if not self.exam.readings:
            raise UserError(f"{data.name}: there is nothing to measure on")
        self.inputs = inputs_of(settings, data)
        self.inputs_are_known = True  # those of the folder's run are these

    def read(self, examples: list) -> list[Reading]:
        return self.kind.read(examples, self.tokenizer, max_length=self.max_length)

    @cached_property
    def all_readings(self) -> list[Reading]:
        with quiet_unless(self.ranks.leads):
            return self.read(self.data.train)

    def readings(self, seed: int) -> list[Reading]:
        """What a seed learns from: all, or the few that it draws."""
        if self.settings.few_shot is None:
            return self.all_readings
        with quiet_unless(self.ranks.leads):
            return self.read(few_of(self.data.train, self.settings.few_shot, seed=seed))

    def check_inputs(self) -> None:
        """Raise `UserError` if the folder's run started from other examples or weights."""
        if note := check_inputs(self.settings.out, self.inputs):
            self.inputs_are_known = False
            if self.ranks.leads:
                say(note)

    def combinations(self) -> dict[str, FinetuneSettings]:
        """The settings of each run of the grid by its name; without a grid there is one."""
        if not self.settings.grid:
            return {"": self.settings}
        return {
            f"rate-{rate * wider(self.width):.0e}_batch-{batch}_epochs-{epochs:.0f}": replace(
                self.settings, grid=False, learning_rate=rate * wider(self.width),
                batch_size=batch, epochs=epochs,
            )
            for rate, batch, epochs in product(RATES, BATCHES, EPOCHS)
        }  # fmt: skip

    def run(self) -> Outcome:
        metric = self.kind.metrics[0]
        grid: Grid = {}
        chosen = ""
        for name, settings in self.combinations().items():
            folder = settings.out / name
            seeds = range(settings.seed, settings.seed + settings.seeds)
            grid[name] = [self.run_seed(settings, seed, folder) for seed in seeds]
            chosen = max(grid, key=lambda each: median_of(grid[each], metric))
            if self.ranks.leads:
                for other in grid.keys() - {chosen}:
                    drop_models(settings.out / other)
        results = grid[chosen]
        best = max(results, key=lambda result: result.best[metric])
        most_common = self.kind.most_common(self.data.train, self.data.dev)
        return Outcome(
            task=self.data.name,
            metric=metric,
            start=self.note,
            examples=(self.settings.few_shot or len(self.data.train), len(self.data.dev)),
            majority=self.kind.score(self.data.dev, most_common),
            results=results,
            folder=self.settings.out / chosen / f"seed-{best.seed}",
            grid=grid if self.settings.grid else {},
            chosen=chosen,
            inputs=self.inputs if self.inputs_are_known else {},
        )

    def run_seed(self, settings: FinetuneSettings, seed: int, folder: Path) -> SeedResult:
        """A seed from where it stands to its end."""
        folder = folder / f"seed-{seed}"
        inputs = digest_of(self.inputs)
        if (result := SeedResult.read(folder, inputs, self.kind.metrics[0])) is not None:
            return result
        run = SeedRun(
            folder,
            self.beginning.at(seed).model,
            self.tokenizer,
            lesson=Lesson(
                self.kind, self.readings(seed), settings, seed, self.pad_id, ranks=self.ranks
            ),
            exam=self.exam,
            precision=self.precision,
            device=self.device,
            inputs=inputs if self.inputs_are_known else None,
            describe=self.describe,
        )
        return run.run(folder.relative_to(settings.out).as_posix())

    def describe(self, folder: Path, kind: Kind) -> None:
        """Lay beside a model what `bert-predict` must know."""
        write_task(folder, replace(self.data, kind=kind), max_length=self.max_length)

    def introduce(self) -> None:
        """Say what will be learnt, from what, and how."""
        settings = self.settings
        for line in understood(self.data, settings):
            say(line)
        say(f"model       {self.note}")
        rate = f"{settings.rate(self.width):.1e}"
        say(f"recipe      {settings.epochs:g} epochs, batches of {settings.batch_size}, "
            + ("a grid of rates, batches and epochs" if settings.grid else f"rate {rate}")
            + f", {settings.optimizer}, {self.max_length} tokens")  # fmt: skip
        say(f"computing   on {self.ranks.size} × {self.device.type}, in "
            f"{str(self.precision).removeprefix('torch.')}, {torch.get_num_threads()} threads; "
            f"the run's folder is {settings.out}")  # fmt: skip

    def report(self, outcome: Outcome) -> None:
        """Answer dev with the best model, and write and print what came out."""
        best = open_finetuned(outcome.folder / "best", self.kind.model, device=self.device)
        use_cpu_kernels(best.model.bert)
        logits = logits_of(best.model, self.kind, self.exam.readings, precision=self.precision)
        kind, predictions = self.exam.decided(logits)
        shortest = min(self.data.dev, key=lambda example: sum(map(len, texts_in(example))))
        write_report(
            outcome, kind, self.data.dev, predictions, settings=self.settings, example=shortest
        )
        out = self.settings.out
        print(f"\n{outcome.table()}\n")
        print(f"model:    {out}      curve: {out / 'curve.png'}      errors: {out / 'errors.md'}")
        print(f"try:      {prediction_line(str(out), shortest)}")


def check_pooling(kind: Kind, settings: FinetuneSettings) -> None:
    if settings.pooling != "cls" and kind.model is not BertForSequenceClassification:
        raise UserError(
            f"--pooling {settings.pooling}: a {kind.model.__name__} does not read a whole text"
        )


def drop_models(folder: Path) -> None:
    """Of a combination that has lost only the figures are kept."""
    for path in folder.rglob(WEIGHTS_FILE):
        path.unlink()


@command
def main() -> None:
    finetune(tyro.cli(FinetuneSettings, prog="bert-finetune"))


if __name__ == "__main__":
    main()
