"""`python -m bert_experiments.finetuning.options`: do two options do what their page says?

- Class weights: 290 bad reviews and 10 good ones to learn from, with equal weights and with
  `--class-weights balanced`. How many good reviews are found?
- Early stopping: `--patience 3` beside the full run. How many steps are saved, and which score is
  kept?

All on StoryWorld's texts, from the same checkpoint, over several seeds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import tyro

from bert_experiments.report.figures import Figures, Results, measured_once, one_by_one, spread
from bert_experiments.report.page import Page, check_report, command_of
from bert_finetuning.data.load import load_storyworld
from bert_finetuning.finetune import fingerprint_of_start, learn
from bert_finetuning.metrics import label_scores
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks.base import Example, Task
from bert_run.config import Count, check_numbers
from bert_run.errors import command

PROGRAM = "python -m bert_experiments.finetuning.options"
COMMON, RARE = ("negative", 290), ("positive", 10)
STEPS_BETWEEN = 8  # measurements on dev, for --patience
PATIENCE = 3


@dataclass(frozen=True)
class OptionsSettings:
    """Fine-tune with and without each of two options, and compare."""

    checkpoint: Path = Path("runs/demo")
    """a BERT folder; `make demo` leaves one here"""
    seeds: Count = 3
    """runs of each kind"""
    runs: Path = Path("runs/finetuning_options")
    """figures of the runs that are done; the same call goes on where it was stopped"""
    report: Path | None = None
    """write the table here too, FILE.md; all figures, as JSON, beside it"""

    def __post_init__(self) -> None:
        check_numbers(self)
        check_report(self.report, PROGRAM, with_picture=False)

    def of(self, task: str, **options: Any) -> FinetuneSettings:
        return FinetuneSettings(
            task=task, checkpoint=str(self.checkpoint), precision="fp32",
            **{"epochs": 3.0, **options},
        )  # fmt: skip


# --- The examples ---------------------------------------------------------------------------------


def imbalanced(examples: Sequence[Example], seed: int) -> list[Example]:
    """290 bad reviews and 10 good ones; the seed draws them."""
    generator = np.random.default_rng(seed)
    drawn: list[Example] = []
    for label, count in (COMMON, RARE):
        own = [example for example in examples if example.label == label]
        drawn += [own[place] for place in generator.permutation(len(own))[:count]]
    return drawn


# --- One run of each variant ----------------------------------------------------------------------


def rare_label_scores(task: Task, examples: Sequence[Example], predictions: list) -> Figures:
    """Recall, precision and F1 of the rare label, and the accuracy."""
    gold, predicted = task.gold_and_predicted(examples, predictions)
    rare = label_scores(gold, predicted)[RARE[0]]
    accuracy = task.score(examples, predictions)["accuracy"]
    return {"recall": rare.recall, "precision": rare.precision, "f1": rare.f1, "accuracy": accuracy}


def with_weights(settings: OptionsSettings, weights: str | None, seed: int) -> Figures:
    """Learn from 290 and 10; dev has as many of either label."""
    data = load_storyworld("sentiment")
    data = replace(data, train=imbalanced(data.train, seed))
    chosen = settings.of("sentiment", epochs=10.0, class_weights=weights, eval_every=10_000)
    learned = learn(data, chosen, seed=seed)
    return rare_label_scores(learned.task, data.dev, learned.predictions)


def early_stopping(settings: OptionsSettings, patience: int | None, seed: int) -> Figures:
    """The steps that a run took, the best score on dev, which is the model that is kept, and the
    last score."""
    data = load_storyworld("sentiment", train=640)
    chosen = settings.of("sentiment", epochs=8.0, eval_every=STEPS_BETWEEN, patience=patience)
    steps, scores = learn(data, chosen, seed=seed).line("dev_accuracy")
    return {"steps": float(steps[-1]), "best": max(scores), "last": scores[-1]}


# --- All of them, and the page --------------------------------------------------------------------

EQUAL, BALANCED = "equal weights", "--class-weights balanced"
WHOLE, STOPPED = "the whole run", f"--patience {PATIENCE}"


def measure(settings: OptionsSettings) -> Results:
    results: Results = {}
    start = fingerprint_of_start(str(settings.checkpoint))

    def run(job: tuple[str, int]) -> None:
        what, seed = job
        path = settings.runs / f"{what}-{seed}.json".replace(" ", "-")
        for name, figures in measured_once(path, [start], lambda: one_run(what, seed)).items():
            results.setdefault(name, []).append(figures)

    def one_run(what: str, seed: int) -> dict[str, Figures]:
        if what in (EQUAL, BALANCED):
            weights = "balanced" if what == BALANCED else None
            return {what: with_weights(settings, weights, seed)}
        patience = PATIENCE if what == STOPPED else None
        return {what: early_stopping(settings, patience, seed)}

    jobs = [(what, seed) for what in (EQUAL, BALANCED, WHOLE, STOPPED)
            for seed in range(settings.seeds)]  # fmt: skip
    for _ in one_by_one(jobs, lambda job: False, run):
        pass
    return results


def rows_of(results: Results) -> Iterator[list[str]]:
    """A line for each variant: per cent, and steps as they are."""
    yield ["variant", "measure", "median of the seeds (lowest–highest)"]
    for variant, runs in results.items():
        for measure in runs[0]:
            scale = 1 if measure == "steps" else 100
            values = [scale * figures[measure] for figures in runs]
            form, unit = (".0f", "") if measure == "steps" else (".1f", "%")
            yield [variant, IN_WORDS[measure], spread(values, form, unit)]


IN_WORDS = {
    "recall": "rare label: recall", "precision": "rare label: precision", "f1": "rare label: F1",
    "accuracy": "accuracy", "steps": "steps taken", "best": "accuracy of the saved model",
    "last": "accuracy after the last step",
}  # fmt: skip

NOTES = (
    f"*Class weights*: {COMMON[1]} {COMMON[0]} and {RARE[1]} {RARE[0]} training reviews, drawn "
    "anew for each seed, ten epochs; evaluated on 500 held-out reviews, of which about half are "
    f"{RARE[0]}, so that recall can be estimated well. On texts in which the rare label is rare, "
    "its precision would be lower.\n\n*Early stopping*: 640 reviews, eight epochs, accuracy on 500 "
    f"held-out reviews every {STEPS_BETWEEN} steps. The learning rate follows the schedule of the "
    "whole run; a run that stops early never reaches its low values."
)


def page_of(settings: OptionsSettings, results: Results) -> Page:
    return Page(
        title="Class weights and early stopping",
        lead="The options that [the chapter](../04_finetuning/README.md#options-of-training) "
        "describes, measured on StoryWorld's texts.",
        results=results,
        columns=(),
        verdicts=[],
        made=f"From `{settings.checkpoint}`, {settings.seeds} seeds.",
        notes=NOTES,
        rows=list(rows_of(results)),
    )


@command
def main() -> None:
    settings = tyro.cli(OptionsSettings, prog=PROGRAM)
    page = page_of(settings, measure(settings))
    page.publish(settings.report, command_of(PROGRAM, settings))


if __name__ == "__main__":
    main()
