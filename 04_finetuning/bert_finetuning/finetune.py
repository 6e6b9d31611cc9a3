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
import shlex
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
import tyro
from jaxtyping import Int

from bert_finetuning import train
from bert_finetuning.checkpoint import InitialModel, ModelInit, SavedTask, load_finetuned
from bert_finetuning.data.load import TaskData, describe, few_of, load_task
from bert_finetuning.data.rows import say, shortened
from bert_finetuning.metrics import DRAWS, bootstrap, label_counts
from bert_finetuning.settings import FREE_TO_CHANGE, FinetuneSettings, fields_of, wider
from bert_finetuning.tasks.base import ALONE, WIDEST, Example, Features, Task
from bert_paper.cpu_kernels import use_cpu_kernels
from bert_run.config import PRESETS
from bert_run.device import Ranks, choose_precision, join
from bert_run.errors import UserError, command
from bert_run.files import (
    METRICS_FILE,
    RunFolder,
    clear_leftovers,
    command_line,
    front_matter,
    parse_object,
    publish,
    read_record,
    set_aside,
    sha256,
    write_atomically,
    wrong_field,
)
from bert_run.pictures import drawable, picture_with_axes
from bert_run.training_loop import HELD_OUT, REFERENCE, TRAINING, Record, read_metrics
from bert_run.weights import WEIGHTS_FILE, check_push, locate, push_folder, weight_files

# The paper's grid (appendix A.3), for BERT-base and large.
RATES, BATCHES, EPOCHS = (5e-5, 3e-5, 2e-5), (16, 32), (2.0, 3.0, 4.0)


def finetune(settings: FinetuneSettings) -> "Outcome":
    """Run or continue all seeds, on all the ranks that `torchrun` started."""
    with join(settings.device) as (ranks, device):
        machine = {"ranks": ranks, "device": device,
                   "precision": choose_precision(settings.precision, device)}  # fmt: skip
        work = ranks.after_first(lambda leads: Finetuning(settings, load_task(settings), **machine))
        if settings.push is not None:  # before hours of training
            ranks.after_first(lambda leads: leads and check_push(settings.push))
        folder = RunFolder(settings.out)
        # More epochs are another run: at the end of this one its rate has fallen to zero.
        ranks.after_first(lambda leads: leads and folder.claim(identity(settings)))
        try:
            ranks.after_first(lambda leads: leads and clear_leftovers(settings.out))
            ranks.after_first(lambda leads: check_inputs(settings.out, work.inputs))
            if ranks.leads:
                work.introduce()
            outcome = work.run()
            if ranks.leads:
                work.report(outcome)
        finally:
            folder.release()
    return outcome


def learn(data: TaskData, settings: FinetuneSettings, *, seed: int = 0, progress: bool = False,
          device: torch.device | str = "cpu") -> train.SeedRun:  # fmt: skip
    """One seed in memory, in float32; on the CPU it is a function of its arguments. Returns the
    finished run: its `model`, and the `predictions` and `scores` on dev."""
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


class Finetuning:
    """What all seeds, and all combinations of a grid, have in common."""

    def __init__(self, settings: FinetuneSettings, data: TaskData, *,
                 initial: InitialModel | None = None, ranks: Ranks = ALONE,
                 device: torch.device | str = "cpu",
                 precision: torch.dtype = torch.float32) -> None:  # fmt: skip
        """`initial`: what the first seed begins from, if it is not what `settings` say."""
        self.settings, self.data = settings, data
        self.ranks, self.device, self.precision = ranks, device, precision
        self.task = data.task
        if (deciding := settings.metric) is not None:
            others = [metric for metric in self.task.metrics if metric != deciding]
            self.task = replace(self.task, metrics=(deciding, *others))
        if initial is None:
            self.init = ModelInit(settings, self.task, data.train)
        self.first = initial or self.init.build(settings.seed)
        self.tokenizer, self.note = self.first.tokenizer, self.first.note
        for seed in range(settings.seed, settings.seed + settings.seeds):  # before any work
            if not any("".join(each.texts).strip() for each in self.examples(seed)):
                raise UserError(f"{data.name}: no example that seed {seed} learns from has a text: "
                                "leave such examples out, or raise --few-shot")  # fmt: skip
        train.freeze(self.first.model, settings.freeze)  # a mistake in it shows before any work
        if settings.class_weights is not None:
            train.label_weights(self.first.model, [])
        self.config = self.first.model.config
        self.max_length = self.task.reading_length(settings.max_length, self.config)
        dev = self.encode(data.dev)
        if not dev:
            raise UserError(f"{data.name}: there is nothing to measure on")
        self.task.check_segments(dev, self.config)
        self.evaluator = train.Evaluator(self.task, data.dev, dev, self.max_length)
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

    def seed_run(self, settings: FinetuneSettings, seed: int,
                 folder: Path | None = None) -> train.SeedRun:  # fmt: skip
        """The run of a seed, with the settings of one combination; in memory without a folder."""
        features, pad_id = self.features(seed), self.config.pad_token_id
        data = train.TrainingData(self.task, features, settings, seed, pad_id, self.ranks)
        saved = partial(SavedTask.of, name=self.data.name, max_length=self.max_length,
                        pairs=self.data.is_pairs, columns=self.data.tallies[0].columns)  # fmt: skip
        return train.SeedRun(self.initial(seed), data, self.evaluator, precision=self.precision,
                             device=self.device, folder=folder, saved_task=saved)  # fmt: skip

    @cached_property
    def inputs(self) -> "Inputs":
        return inputs_of(self.settings, self.data)

    def combinations(self) -> dict[str, FinetuneSettings]:
        """The settings of each run of the grid by its name; without a grid there is one."""
        if not self.settings.grid:
            return {"": self.settings}
        scale = wider(self.config.hidden_size)
        rates = {f"{rate * scale:.1e}".replace(".0e", "e"): rate * scale for rate in RATES}
        return {
            f"rate-{name}_batch-{batch}_epochs-{epochs:.0f}": replace(
                self.settings, grid=False, learning_rate=rate, batch_size=batch, epochs=epochs
            )
            for (name, rate), batch, epochs in product(rates.items(), BATCHES, EPOCHS)
        }

    def run(self) -> "Outcome":
        settings, metric = self.settings, self.task.metrics[0]
        grid: dict[str, list[train.SeedResult]] = {}
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
        return Outcome(task=self.data.name, metric=metric, start=self.note,
                       examples=(settings.few_shot or len(self.data.train), len(self.data.dev)),
                       majority=self.task.score(self.data.dev, majority), results=results,
                       folder=settings.out / chosen / f"seed-{best.seed}",
                       grid=grid if settings.grid else {}, chosen=chosen, inputs=self.inputs,
                       seen=replace(self.data, train=self.examples(best.seed)).seen)  # fmt: skip

    def run_seed(self, settings: FinetuneSettings, seed: int, folder: Path) -> train.SeedResult:
        """The result of a seed; what is left of its run is done first."""
        folder = folder / f"seed-{seed}"
        title = folder.relative_to(settings.out).as_posix()
        done = train.SeedResult.read(folder, self.task.metrics[0])
        return done or self.seed_run(settings, seed, folder).run(title)

    def introduce(self) -> None:
        """Say what will be learned, from what, and how; write down which lines are for dev."""
        settings = self.settings
        if self.data.split is not None:
            self.data.split.write(settings.out, settings.train, self.data.tallies[0].lines)
        rate = f"{settings.rate(self.config.hidden_size):.1e}"
        for line in (
            *describe(self.data, settings, self.features(settings.seed), self.max_length),
            f"model       {self.note}",
            f"recipe      epochs: {settings.epochs:g}, batches of {settings.batch_size}, "
            + ("a grid of rates, batches and epochs" if settings.grid else f"rate {rate}")
            + f", {settings.optimizer}, {self.max_length} tokens",
            f"computing   on {self.ranks.size} × {self.device.type}, in "
            f"{str(self.precision).removeprefix('torch.')}, threads: {torch.get_num_threads()}; "
            f"the run's folder is {settings.out}",
        ):
            say(line)

    def report(self, outcome: "Outcome") -> None:
        """Answer dev and the test set with the best model; write and print what came out."""
        settings, out, data = self.settings, self.settings.out, self.data
        try:
            model = load_finetuned(outcome.folder / "best", device=self.device).model
        except UserError as error:
            problem = str(error).rpartition(": ")[0]  # without the advice, to copy it again
            way_out = f"remove {outcome.folder}, and the seed runs again"
            raise UserError(f"{problem}: {way_out}") from None
        use_cpu_kernels(model.bert)
        task, predictions = self.evaluator.predict(model, precision=self.precision)
        dev = Measured("dev", task, data.dev, predictions)
        for path in sorted((outcome.folder / "best").iterdir()):
            if path.is_file() and path.name != train.SCORES:
                publish(path, out / path.name)
        write_answers(out, dev, title=outcome.task)
        report, page = out / "metrics.json", out / "README.md"
        earlier = parse_object(report.read_bytes())[1] if report.is_file() else {}
        if "test" in earlier:
            for name in ("predictions.jsonl", "errors.md", "confusion.png"):
                (out / f"test_{name}").unlink(missing_ok=True)
        if data.test:
            answers = task.answers(data.test, model, self.tokenizer, max_length=self.max_length,
                                   precision=self.precision)  # fmt: skip
            majority = task.majority(self.examples(outcome.best.seed), data.test)
            test = Measured(data.tallies[2].source, task, data.test, answers,
                            task.score(data.test, majority))  # fmt: skip
            outcome = replace(outcome, test=test)
            write_answers(out, test, title=f"{outcome.task}, test", prefix="test_")
        text = card(outcome, dev, settings).encode()
        known = (hashlib.sha256(text).hexdigest(), earlier.get("card_sha256"))
        if page.is_file() and sha256(page) not in known:
            say(f"note: {page} was edited: it was renamed {set_aside(page, 'edited')}")
        write_atomically(page, text)
        content = outcome.as_json(fields_of(settings)) | {"card_sha256": known[0]}
        write_atomically(report, json.dumps(content, indent=2) + "\n")
        draw_curves(outcome, out / "curve.png")
        print(f"\n{outcome.table()}\n")
        if outcome.test:
            print(f"test: {outcome.test.table()}\n")
        print(f"model:    {out}      curve: {out / 'curve.png'}      errors: {out / 'errors.md'}")
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
    both = ("train", settings.train, data.train), ("dev", dev, data.dev)
    inputs: Inputs = {split: {"name": name or f"the {split} set of {data.name}",
                              "sha256": fingerprint(examples), "examples": len(examples)}
                      for split, name, examples in both}  # fmt: skip
    start, digest = settings.checkpoint, None
    own = [each for each in (settings.model, settings.tokenizer) if each not in (None, *PRESETS)]
    if not settings.from_scratch:
        digest = fingerprint_of_start(start)
    elif own:  # the files that it takes its sizes and its tokenizer from
        files = [path for each in own for path in reading_files(Path(each))]
        start, digest = str(own[-1]), fingerprint_of_files(files)
    if digest:
        inputs["start"] = {"name": start, "sha256": digest, "examples": None}
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


def fingerprint_of_start(checkpoint: str) -> str:
    """What a run that starts from a checkpoint records of it as its `start`."""
    folder = locate(checkpoint).folder
    return fingerprint_of_files([*reading_files(folder), *weight_files(folder)])


def fingerprint_of_files(files: Sequence[Path]) -> str:
    """SHA-256 of the files' names and content."""
    lines = (f"{path.name} {sha256(path)}\n" for path in files)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


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
        raise UserError(f"{folder} holds a run that started from other data: "
                        f"{' and '.join(changed)} had other content, or it was not recorded: "
                        "choose another --out, or remove that folder")  # fmt: skip


# --- What came out -------------------------------------------------------------------------------

MOST_ERRORS = 100  # that are listed
LONGEST_CELL = 300  # characters of a text
MOST_LABELS = 30  # in a picture of labels; more could not be read


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
        gold, predicted = self.task.gold_and_predicted(self.examples, self.predictions)
        labels = list(self.task.head.labels)
        if not predicted or len(labels) < 2:
            return [], np.zeros((0, 0), int)
        return labels, label_counts(labels, gold, predicted)

    def as_json(self) -> dict[str, Any]:
        labels, counts = self.confusion
        matrix = {"labels": labels, "right_by_predicted": counts.tolist()}
        return {"source": Path(self.source).name, "examples": len(self.examples),
                "scores": self.scores, "interval_95": self.intervals,
                **({"majority": self.majority} if self.majority else {}),
                **({"confusion": matrix} if labels else {})}  # fmt: skip

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
    results: Sequence[train.SeedResult]
    folder: Path  # that of the best seed's run
    grid: dict[str, list[train.SeedResult]]  # the results of each combination, by its name
    chosen: str  # the combination of the grid that won, or ""
    inputs: "Inputs"
    seen: tuple[int, int]  # examples of dev that are in train; of test in train or dev
    test: Measured | None = None  # of the best model, where there is a test set

    @property
    def scores(self) -> list[float]:
        """The deciding metric of each seed's best model."""
        return [result.best[self.metric] for result in self.results]

    @property
    def best(self) -> train.SeedResult:
        return max(self.results, key=lambda result: result.best[self.metric])

    def as_json(self, settings: dict[str, Any]) -> dict[str, Any]:
        """What `metrics.json` holds."""
        names = [name for name in self.best.best if name not in ("step", "collapsed")
                 and all(name in each.best for each in self.results)]  # fmt: skip
        grid = {name: {"median": median_of(results, self.metric), "seeds": [*map(vars, results)]}
                for name, results in self.grid.items()}  # fmt: skip
        return {"task": self.task, "metric": self.metric, "start": self.start,
                "train_examples": self.examples[0], "dev_examples": self.examples[1],
                "dev_examples_in_train": self.seen[0], "seeds": [vars(r) for r in self.results],
                **{name: {n: function([r.best[n] for r in self.results]) for n in names}
                   for name, function in (("median", statistics.median), ("lowest", min),
                                          ("highest", max))},
                "majority": self.majority, **({"test": self.test.as_json()} if self.test else {}),
                "best_seed": self.best.seed,
                "chosen_on": "dev: the step of each seed, the seed, of a grid the combination, and "
                "of questions that may have no answer the threshold",
                **({"grid": grid, "chosen": self.chosen} if grid else {}),
                "inputs": self.inputs, "settings": settings}  # fmt: skip

    def table(self) -> str:
        """In a few lines, for people."""
        rows = [("", f"{self.metric}, per cent", "")]
        for name, results in self.grid.items():
            score = percent(median_of(results, self.metric))
            rows.append((name, score, "the best of the grid" if name == self.chosen else ""))
        for result in self.results:
            last = f"{result.last['step']:,}, {percent(result.last[self.metric])}"
            note = f"at step {result.best['step']:,}; at the last, {last}"
            if result.best.get("collapsed"):  # results of older versions lack it
                note = "collapsed: it predicts the same answer for every example"
            elif result.collapsed:
                note += ": by then it predicts the same answer for every example"
            rows.append((f"seed {result.seed}", percent(result.best[self.metric]), note))
        if len(self.results) > 1:
            spread = f"from {percent(min(self.scores))} to {percent(max(self.scores))}"
            median = percent(statistics.median(self.scores))
            rows.append((f"median of {len(self.results)}", median, spread))
        unread = percent(self.majority[self.metric])
        rows.append(("majority", unread, "the baseline, given without reading"))
        return aligned(rows)


def median_of(results: Sequence[train.SeedResult], metric: str) -> float:
    return statistics.median(result.best[metric] for result in results)


def percent(score: float) -> str:
    return f"{100 * score:.1f}"


def aligned(rows: Sequence[tuple[str, str, str]]) -> str:
    """Names, scores and notes in columns."""
    first, second = (max(len(row[column]) for row in rows) for column in (0, 1))
    return "\n".join(f"{name:<{first}}  {score:>{second}}  {note}".rstrip()
                     for name, score, note in rows)  # fmt: skip


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
        front=front_matter(dev.task.model.pipeline), name=settings.out.resolve().name,
        task=dev.task, outcome=outcome, prediction=prediction_line("FOLDER", dev),
        command=command_line("bert-finetune", own, defaults),
    )  # fmt: skip


def prediction_line(folder: str, dev: Measured) -> str:
    """The call of `bert-predict` for the shortest example of dev that can be an argument."""
    fit = [e for e in dev.examples if all(text.strip() and text[0] != "-" for text in e.texts)]
    shortest = min(fit or dev.examples, key=lambda example: sum(map(len, example.texts)))
    return shlex.join(["bert-predict", *shortest.texts, "--checkpoint", folder])


# --- errors.md -----------------------------------------------------------------------------------


def errors_page(task: Task, examples: Sequence[Example], predictions: Sequence, *,
                title: str) -> str:  # fmt: skip
    """How often each label is right, and the wrong answers, the surest or the furthest off first:
    what a model is sure of and wrong about tells more than its score."""
    found = []
    for number, (example, prediction) in enumerate(zip(examples, predictions, strict=True), 1):
        if (severity := task.severity(example, prediction)) is not None:
            found.append((severity, {"example": number} | task.error_cells(example, prediction)))
    found.sort(key=lambda each: -each[0])
    summary = task.error_summary(examples, predictions, len(found))
    lines = [f"# {title}: what is wrong", "", summary, ""]
    if counts := task.error_counts(examples, predictions):
        of, scores = counts
        rows = [(name, each.gold, each.predicted, each.precision if each.predicted else None,
                 each.recall if each.gold else None, each.f1)
                for name, each in scores.items()]  # fmt: skip
        lines += [*table((of, "gold", "predicted", "precision", "recall", "F1"), rows), ""]
    if found:
        most = f", the first {MOST_ERRORS} of them" if len(found) > MOST_ERRORS else ""
        lines += [f"## The wrong ones, the worst first{most}", ""]
        lines += table(list(found[0][1]), [row.values() for _, row in found[:MOST_ERRORS]])
    return "\n".join(lines).rstrip() + "\n"


def table(names: Sequence[str], rows: Iterable[Iterable[Any]]) -> list[str]:
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
        for axes, (key, style, color) in zip(panels, lines, strict=True):
            found = [record for record in records if key in record]
            axes.plot([record["step"] for record in found], [record[key] for record in found],
                      style, color=color, **look)  # fmt: skip
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


def draw_confusion(counts: Int[np.ndarray, "labels labels"], labels: Sequence[str], path: Path, *,
                   title: str) -> None:  # fmt: skip
    """Rows are gold labels, columns predicted ones; the color is the share of the row."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    names = [drawable(shortened(label, WIDEST)) for label in labels]
    wide = max(0, max(map(len, names)) - 12)  # characters for which the usual margin has no room
    size = 2.6 + 0.62 * len(labels) + 0.08 * wide
    written = {"title": drawable(title), "xlabel": "predicted", "ylabel": "gold"}
    picture, axes = picture_with_axes(height=size, width=size + 0.8, **written)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (row, column), count in np.ndenumerate(counts):
        ink = "white" if shares[row, column] > 0.6 else "black"
        if count:
            axes.text(column, row, f"{count:,}", ha="center", va="center", color=ink, fontsize=9)
    turned = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    turn = turned if wide or len(labels) > 3 else {}
    axes.set_xticks(range(len(labels)), names, **turn)
    axes.set_yticks(range(len(labels)), names)
    picture.save(path)


@command
def main() -> None:
    finetune(tyro.cli(FinetuneSettings, prog="bert-finetune"))


if __name__ == "__main__":
    main()
