"""What a fine-tuning run leaves in its folder, beside the runs of its seeds.

out/                    the best model of all seeds, a `transformers` folder
    README.md           its card
    metrics.json        every seed, median and spread, the majority, the settings
    predictions.jsonl   what it says of each example of dev
    errors.md           the wrong ones, the surest first
    confusion.png       which label was taken for which
    test_…              the last three of a test set
    curve.png           training loss and the deciding metric, of all seeds
"""

import json
import shlex
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from bert_finetuning.metrics import DRAWS, bootstrap, label_counts
from bert_finetuning.settings import FinetuneSettings, fields_of
from bert_finetuning.tasks.base import Example, Task
from bert_finetuning.train import SeedResult
from bert_run.files import METRICS_FILE, command_line, front_matter, publish, write_atomically
from bert_run.pictures import drawable, picture_with_axes
from bert_run.training_loop import HELD_OUT, REFERENCE, TRAINING, Record, read_metrics

MOST_ERRORS = 100  # that are listed
LONGEST_CELL = 300  # characters of a text

Grid = dict[str, list[SeedResult]]  # the results of each combination, by its name


@dataclass(frozen=True)
class Measured:
    """The answers of a finished model to labeled examples."""

    source: str
    task: Task
    examples: Sequence[Example]
    predictions: Sequence
    majority: Record = field(default_factory=dict)  # the scores of the commonest answer

    @cached_property
    def scores(self) -> Record:
        return self.task.score(self.examples, self.predictions)

    @cached_property
    def intervals(self) -> dict[str, tuple[float, float]]:
        return bootstrap(self.task.scorer(self.examples, self.predictions), len(self.examples))

    @cached_property
    def confusion(self) -> tuple[list[str], np.ndarray]:
        """The labels, and how often each was taken for which; none where answers are no labels."""
        right, predicted = self.task.right_and_predicted(self.examples, self.predictions)
        labels = list(self.task.head.labels)
        if not predicted or len(labels) < 2:
            return [], np.zeros((0, 0), int)
        return labels, label_counts(labels, right, predicted)

    def as_json(self) -> dict[str, Any]:
        labels, counts = self.confusion
        matrix = {"labels": labels, "right_by_predicted": counts.tolist()}
        return {
            "source": Path(self.source).name,
            "examples": len(self.examples),
            "scores": self.scores,
            "interval_95": self.intervals,
            **({"majority": self.majority} if self.majority else {}),
            **({"confusion": matrix} if labels else {}),
        }

    def table(self) -> str:
        """In a few lines, for people."""
        rows = []
        for name in self.task.metrics:
            if name in self.intervals:
                note = " to ".join(map(percent, self.intervals[name]))
                if name in self.majority:
                    note += f"; majority {percent(self.majority[name])}"
                rows.append((name, percent(self.scores[name]), note))
        return (f"{len(self.examples):,} examples of {Path(self.source).name}, per cent, and the "
                f"95% interval of {DRAWS:,} draws\n{aligned(rows)}")  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """The seeds of one task, and what they are to be compared with."""

    task: str
    metric: str  # the deciding one
    start: str  # what the model began from, in a line
    examples: tuple[int, int]  # to learn from, and to measure on
    majority: Record  # the scores of saying the most common of every example
    results: Sequence[SeedResult]
    folder: Path  # that of the best seed's run
    grid: Grid
    chosen: str  # the combination of the grid that won, or ""
    inputs: dict[str, Any] = field(default_factory=dict)  # their fingerprints, if they are known
    test: Measured | None = None  # of the best model, where there is a test set
    seen: tuple[int, int] = (0, 0)  # examples of dev that are in train; of test in train or dev

    @property
    def scores(self) -> list[float]:
        """The deciding metric of each seed's best model."""
        return [result.best[self.metric] for result in self.results]

    @property
    def median(self) -> float:
        return statistics.median(self.scores)

    @property
    def best(self) -> SeedResult:
        return max(self.results, key=lambda result: result.best[self.metric])

    def as_json(self, settings: dict[str, Any]) -> dict[str, Any]:
        """What `metrics.json` holds."""
        names = [name for name in self.best.best if name != "step"]
        grid = {
            name: {"median": median_of(results, self.metric), "seeds": [vars(r) for r in results]}
            for name, results in self.grid.items()
        }
        return {
            "task": self.task,
            "metric": self.metric,
            "start": self.start,
            "train_examples": self.examples[0],
            "dev_examples": self.examples[1],
            "dev_examples_in_train": self.seen[0],
            "seeds": [vars(result) for result in self.results],
            "median": {n: statistics.median(r.best[n] for r in self.results) for n in names},
            "lowest": {n: min(r.best[n] for r in self.results) for n in names},
            "highest": {n: max(r.best[n] for r in self.results) for n in names},
            "majority": self.majority,
            **({"test": self.test.as_json()} if self.test else {}),
            "best_seed": self.best.seed,
            "chosen_on": "dev: the step of each seed, the seed, of a grid the combination, and of "
            "questions that may have no answer the threshold",
            **({"inputs": self.inputs} if self.inputs else {}),
            **({"grid": grid, "chosen": self.chosen} if grid else {}),
            "settings": settings,
        }

    def table(self) -> str:
        """In a few lines, for people."""
        rows = [("", f"{self.metric}, per cent", "")]
        for name, results in self.grid.items():
            score = percent(median_of(results, self.metric))
            rows.append((name, score, "the best of the grid" if name == self.chosen else ""))
        for result in self.results:
            score = percent(result.best[self.metric])
            rows.append((f"seed {result.seed}", score, self.note(result)))
        if len(self.results) > 1:
            spread = f"from {percent(min(self.scores))} to {percent(max(self.scores))}"
            rows.append((f"median of {len(self.results)}", percent(self.median), spread))
        unread = percent(self.majority[self.metric])
        rows.append(("majority", unread, "the most common, said unread"))
        return aligned(rows)

    def note(self, result: SeedResult) -> str:
        """At which step a seed was best, and where it ended."""
        if result.collapsed:
            return "collapsed: it says the same of every example"
        if result.best["step"] == result.last["step"]:
            return f"at the last step, {result.last['step']:,}"
        return f"at step {result.best['step']:,}; at the last {percent(result.last[self.metric])}"


def median_of(results: Sequence[SeedResult], metric: str) -> float:
    return statistics.median(result.best[metric] for result in results)


def percent(score: float) -> str:
    return f"{100 * score:.1f}"


def aligned(rows: Sequence[tuple[str, str, str]]) -> str:
    """Names, scores and notes in columns."""
    first, second = (max(len(row[column]) for row in rows) for column in (0, 1))
    return "\n".join(f"{name:<{first}}  {score:>{second}}  {note}".rstrip()
                     for name, score, note in rows)  # fmt: skip


# --- The folder ----------------------------------------------------------------------------------


def write_report(outcome: Outcome, dev: Measured, settings: FinetuneSettings) -> None:
    """All of the folder, from the answers of the best model to dev."""
    out = settings.out
    for path in sorted((outcome.folder / "best").iterdir()):
        publish(path, out / path.name)
    content = outcome.as_json(fields_of(settings))
    write_atomically(out / "metrics.json", json.dumps(content, indent=2) + "\n")
    write_answers(out, dev, title=outcome.task)
    if outcome.test is not None:
        write_answers(out, outcome.test, title=f"{outcome.task}, test", prefix="test_")
    draw_curves(outcome, out / "curve.png")
    write_atomically(out / "README.md", card(outcome, dev, settings))


def write_answers(out: Path, measured: Measured, *, title: str, prefix: str = "") -> None:
    """All answers to a labeled set, the wrong ones among them, and a picture of the labels."""
    task, examples, predictions = measured.task, measured.examples, measured.predictions
    rows = map(task.to_json, examples, predictions)
    lines = [json.dumps(each, ensure_ascii=False) + "\n" for each in rows]
    write_atomically(out / f"{prefix}predictions.jsonl", "".join(lines))
    page = errors_page(task, examples, predictions, title=title)
    write_atomically(out / f"{prefix}errors.md", page)
    labels, counts = measured.confusion
    if 1 < len(labels) <= MOST_LABELS:
        title += f": {task.metrics[0]} {percent(measured.scores[task.metrics[0]])}"
        draw_confusion(counts, labels, out / f"{prefix}confusion.png", title=title)


def card(outcome: Outcome, dev: Measured, settings: FinetuneSettings) -> str:
    """The model's `README.md`; its text is in `card.jinja`."""
    from jinja2 import Template

    own = {name: value for name, value in vars(settings).items() if name != "push"}
    defaults = {name: getattr(FinetuneSettings, name) for name in own}
    text = Path(__file__).with_name("card.jinja").read_text("utf-8")
    return Template(text, keep_trailing_newline=True).render(
        front=front_matter(dev.task.model.pipeline),
        name=settings.out.resolve().name,
        task=dev.task,
        outcome=outcome,
        command=command_line("bert-finetune", own, defaults),
        prediction=prediction_line("FOLDER", dev),
    )


def prediction_line(folder: str, dev: Measured) -> str:
    """The call of `bert-predict` for the shortest example of dev."""
    shortest = min(dev.examples, key=lambda example: sum(map(len, example.texts)))
    return shlex.join(["bert-predict", *shortest.texts, "--checkpoint", folder])


# --- errors.md -----------------------------------------------------------------------------------


def errors_page(
    task: Task, examples: Sequence[Example], predictions: Sequence, *, title: str
) -> str:
    """How often each label is right, and the wrong answers, the surest first: what a model is sure
    of and wrong about tells more than its score."""
    found = []
    for number, (example, prediction) in enumerate(zip(examples, predictions, strict=True), 1):
        if (mistake := task.error_row(example, prediction)) is not None:
            found.append((mistake.sureness, (number, *mistake.cells)))
    found.sort(key=lambda each: -each[0])
    summary = task.error_summary(examples, predictions, len(found))
    lines = [f"# {title}: what is wrong", "", summary, ""]
    if counts := task.error_counts(examples, predictions):
        of, scores = counts
        rows = [(name, each.right, each.predicted, each.precision if each.predicted else None,
                 each.recall if each.right else None, each.f1)
                for name, each in scores.items()]  # fmt: skip
        lines += [*table((of, "right", "said", "precision", "recall", "F1"), rows), ""]
    if found:
        most = f", the first {MOST_ERRORS} of them" if len(found) > MOST_ERRORS else ""
        lines += [f"## The wrong ones, the {task.error_order} first{most}", ""]
        lines += table(("example", *task.error_columns), [row for _, row in found[:MOST_ERRORS]])
    return "\n".join(lines).rstrip() + "\n"


def table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """A table of Markdown."""
    lines = [names, ["---"] * len(names), *rows]
    return ["| " + " | ".join(map(cell, line)) + " |" for line in lines]


def cell(content: Any) -> str:
    """A share in per cent, a dash where there is none, other content as it is."""
    if content is None:
        return "–"
    if isinstance(content, float):
        return f"{100 * content:.1f}"
    text = " ".join(str(content).split()).replace("|", "\\|").replace("<", "&lt;")
    return text if len(text) <= LONGEST_CELL else text[:LONGEST_CELL] + " …"


# --- Pictures ------------------------------------------------------------------------------------

MOST_LABELS = 30  # in a picture of labels; more could not be read


def draw_curves(outcome: Outcome, path: Path) -> None:
    """Training loss and the deciding metric on dev against steps; the best seed stands out."""
    metric, best, seeds = outcome.metric, outcome.best.seed, outcome.results
    title = drawable(f"{outcome.task}: {outcome.examples[0]:,} examples")
    picture, panels = picture_with_axes(height=4, width=10, columns=2, xlabel="step", title=title)
    lines = (("train_loss", "-", TRAINING), (f"dev_{metric}", ".-", HELD_OUT))
    for seed in sorted((result.seed for result in seeds), key=lambda each: each == best):
        records = read_metrics(outcome.folder.with_name(f"seed-{seed}") / METRICS_FILE)
        label = f"seed {seed}" + (", the best" if len(seeds) > 1 else "")
        look = {"label": label} if seed == best else {"alpha": 0.3}
        for axes, (key, style, colour) in zip(panels, lines, strict=True):
            points = [(record["step"], record[key]) for record in records if key in record]
            if points:
                axes.plot(*zip(*points, strict=True), style, color=colour, **look)
    losses, scores = panels
    if len(seeds) > 1:
        scores.plot([], [], ".-", color=HELD_OUT, alpha=0.3, label="the other seeds")
    majority = outcome.majority[metric]
    scores.axhline(majority, color=REFERENCE, linestyle=":", linewidth=1.2,
                   label=f"majority: {majority:.3f}")  # fmt: skip
    scores.legend(frameon=False)
    losses.set(ylabel="training: loss", xlim=(0, None), ylim=(0, None))
    scores.set(ylabel=f"dev: {metric}", xlim=(0, None))
    picture.save(path)


def draw_confusion(
    counts: Int[np.ndarray, "labels labels"], labels: Sequence[str], path: Path, *, title: str
) -> None:
    """Rows are what is right, columns what was predicted; the colour is the share of the row."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    size = 2.6 + 0.62 * len(labels)
    picture, axes = picture_with_axes(
        height=size, width=size + 0.8, title=drawable(title), xlabel="said", ylabel="right"
    )
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (row, column), count in np.ndenumerate(counts):
        ink = "white" if shares[row, column] > 0.6 else "black"
        if count:
            axes.text(column, row, f"{count:,}", ha="center", va="center", color=ink, fontsize=9)
    turn = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if len(labels) > 3 else {}
    names = [drawable(label) for label in labels]
    axes.set_xticks(range(len(labels)), names, **turn)
    axes.set_yticks(range(len(labels)), names)
    picture.save(path)
