"""`bert-finetune` beside the `Trainer` of `transformers`: the same scores, and how fast each is.

    python benchmarks/beside_trainer.py --data DATA --out results/beside_trainer.md
    python benchmarks/beside_trainer.py --data DATA --only CoLA stars --seeds 3
    python benchmarks/beside_trainer.py --data DATA --speed

Both start from the same checkpoint folder and learn from the same examples with the same settings,
in float32. A seed decides the first values of the head, the order of the examples and dropout, and
each side draws them in its own way, so single runs differ. What must agree is the median over
seeds. A run that is done is not done again (`--runs`).

With `--same-draws` both have the same first values of the head, the same batches and the same
rates, without dropout and in float64: then a seed gives the same score on both sides.

`--speed` measures seconds instead, each contestant in a process of its own, in turns. `--out`
writes both parts, whichever call measured them.

The Trainer needs the package `accelerate`: `pip install -e ".[test]"`.
"""

import argparse
import contextlib
import dataclasses
import importlib.util
import io
import itertools
import shlex
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from bench_sections.machine import described, machine
from finetuning_seconds import measure_seconds, seconds_table

from bert_corpus.wordpiece import load_tokenizer
from bert_experiments.report.figures import in_parallel, kept_record, say, spread
from bert_experiments.report.page import Page, aligned, check_report, write_json
from bert_finetuning.checkpoint import init_from
from bert_finetuning.data.load import TaskData, few_of, load_named
from bert_finetuning.finetune import Finetuning, fingerprint, fingerprint_of_start, learn
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks.base import Features, Task
from bert_finetuning.train import Batches, SeedRun
from bert_run.config import BertConfig, count_parameters, parameter_shapes
from bert_run.device import choose_device
from bert_run.errors import UserError, command
from bert_run.training_loop import learning_rate

# --- The tasks and the settings of both sides -----------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """A task, how much of it is used, and its settings where they differ from `SETTINGS`."""

    name: str
    task: str  # as `bert-finetune --task` names it
    folder: str | None = None  # of --data; None: StoryWorld, which needs no files
    train: int | None = None  # examples, drawn once; None: all of them
    dev: int | None = None
    settings: dict[str, Any] = field(default_factory=dict, hash=False)
    seconds: float = 20.0  # of one run on one core, for the estimate


COMPARISONS = (
    Comparison("names, 200 sentences", "names", train=200, settings={"epochs": 10.0}, seconds=6),
    Comparison("stars", "stars", seconds=15),
    Comparison("SST-2", "sst-2", "sst2", train=3_000, settings={"epochs": 2.0}, seconds=12),
    Comparison("CoLA", "cola", "cola", train=4_000, settings={"epochs": 2.0}, seconds=15),
    Comparison("RTE", "rte", "rte", seconds=20),
    Comparison("questions, 500 texts", "questions", train=500, settings={"epochs": 4.0}),
    Comparison("WNUT-17", "wnut17", "wnut17", settings={"learning_rate": 1e-3}, seconds=50),
    Comparison("SQuAD", "squad", "squad", train=2_000, dev=400,
               settings={"max_length": 256, "learning_rate": 1e-3, "epochs": 1.0}, seconds=90),
)  # fmt: skip

# Alike on both sides. The dropout is the paper's; the checkpoint of the demo was trained without.
SETTINGS: dict[str, Any] = {
    "epochs": 3.0, "batch_size": 32, "learning_rate": 3e-4, "warmup": 0.1, "weight_decay": 0.01,
    "max_grad_norm": 1.0, "max_length": 128, "hidden_dropout": 0.1, "attention_dropout": 0.1,
    "precision": "fp32",
}  # fmt: skip
WITHOUT_DROPOUT = {"hidden_dropout": 0.0, "attention_dropout": 0.0}
EPSILON = 1e-6  # of Adam; the Trainer's own is 1e-8
SEEDS = 5
START = "runs/demo"

OURS, TRAINER, SHUFFLED = "bert-finetune", "Trainer", "bert-finetune --no-by-length"


@cache
def data_of(comparison: Comparison, data: Path | None) -> TaskData | None:
    """The examples of a task, cut down to as many as are used; None if --data lacks its folder."""
    folder = None
    if comparison.folder is not None:
        folder = data / comparison.folder if data else None
        if folder is None or not folder.is_dir():
            return None
    with contextlib.redirect_stderr(io.StringIO()):
        found = load_named(comparison.task, folder)
    if comparison.train is not None:
        found = dataclasses.replace(found, train=few_of(found.train, comparison.train, seed=0))
    if comparison.dev is not None:
        found = dataclasses.replace(found, dev=few_of(found.dev, comparison.dev, seed=0))
    return found


# --- One run of each side -------------------------------------------------------------------------


def score_of_ours(
    data: TaskData, checkpoint: str, seed: int, device: str = "cpu", *, same_draws: bool = False,
    **settings: Any,
) -> float:  # fmt: skip
    """The task's first metric on dev after the last step of `bert-finetune`, without its files."""
    chosen = FinetuneSettings(
        task=data.name, checkpoint=checkpoint, eval_every=1_000_000, seed=seed, **settings
    )  # at the end alone
    if same_draws:
        return learn_in_float64(data, replace(chosen, by_length=False)).scores[data.task.metrics[0]]
    return learn(data, chosen, seed=seed, device=device).scores[data.task.metrics[0]]


def learn_in_float64(data: TaskData, settings: FinetuneSettings) -> SeedRun:
    """A run of `bert-finetune` in memory whose weights are float64: rounding is too small to grow
    to anything that can be seen."""
    first = init_from(settings.checkpoint, data.task.model, data.task.head, seed=settings.seed,
                      hidden_dropout_prob=settings.hidden_dropout,
                      attention_probs_dropout_prob=settings.attention_dropout)  # fmt: skip
    first.model.double()
    run = Finetuning(settings, data, initial=first).seed_run(settings, settings.seed)
    run.run()
    return run


def score_of_trainer(
    data: TaskData, checkpoint: str, seed: int, device: str = "cpu", *, same_draws: bool = False,
    **settings: Any,
) -> float:  # fmt: skip
    """The same after the Trainer's last step; its logits are scored by the same code."""
    length = settings["max_length"]
    tokenizer = load_tokenizer(Path(checkpoint))
    train, dev = (data.task.encode(each, tokenizer, max_length=length)
                  for each in (data.train, data.dev))  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        trainer = make_trainer(data, checkpoint, train, folder=folder, seed=seed,
                               device=device, **settings)  # fmt: skip
        if same_draws:
            draw_as_ours(trainer, data.task, checkpoint, seed)
        trainer.train()
        answers = trainer.predict(rows_of(dev)).predictions
    if isinstance(answers, tuple):  # where an answer starts and where it ends
        answers = np.stack(answers[:2], axis=1)
    shapes = (logits_shape(data.task, each) for each in dev)
    logits = [answer[tuple(map(slice, shape))]
              for answer, shape in zip(answers, shapes, strict=True)]  # fmt: skip
    task, predictions = data.task.tuned(data.dev, data.task.predict(data.dev, dev, logits))
    return task.score(data.dev, predictions)[task.metrics[0]]


def logits_shape(task: Task, features: Features) -> tuple[int, ...]:
    """The shape of the logits of one row without padding."""
    labels = len(task.head.labels)
    return {"texts": (labels,), "numbers": (1,), "tags": (features.length, labels),
            "questions": (2, features.length)}[task.format]  # fmt: skip


def rows_of(features: Sequence[Features]) -> list[dict[str, Any]]:
    """Features as a dataset of the Trainer: token ids, segments and labels."""
    return [
        {"input_ids": each.input_ids, "token_type_ids": each.token_type_ids, **each.targets}
        for each in features
    ]


def make_trainer(
    data: TaskData, checkpoint: str, features: Sequence[Features], *, folder: str, seed: int,
    device: str = "cpu", **settings: Any,
):  # fmt: skip
    """A Trainer with these settings, its model loaded from the checkpoint by `transformers`."""
    import transformers
    from transformers import Trainer

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    transformers.set_seed(seed)  # the new head draws its first values here
    tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint)
    model_type = getattr(transformers, data.task.model.__name__)
    labels = {"num_labels": len(data.task.head.labels)} if data.task.head.labels else {}
    if data.task.format == "numbers":
        labels["problem_type"] = "regression"
    model = model_type.from_pretrained(
        checkpoint, **labels,
        hidden_dropout_prob=settings["hidden_dropout"],
        attention_probs_dropout_prob=settings["attention_dropout"],
    )  # fmt: skip
    collators = {"tags": transformers.DataCollatorForTokenClassification}
    collate = collators.get(data.task.format, transformers.DataCollatorWithPadding)(tokenizer)
    arguments = training_arguments(folder, len(features), seed=seed, device=device, **settings)
    return Trainer(model, arguments, data_collator=collate, train_dataset=rows_of(features))


def draw_as_ours(trainer: Any, task: Task, checkpoint: str, seed: int) -> None:
    """Let a Trainer begin with the head that `bert-finetune` draws from this seed, and take its
    batches and rates, those of `--no-by-length`, in float64. Its steps stay its own."""
    features, arguments = trainer.train_dataset, trainer.args
    first = init_from(checkpoint, task.model, task.head, seed=seed).model
    trainer.model.load_state_dict(first.state_dict())
    trainer.model.double()
    lengths = [len(each["input_ids"]) for each in features]
    size = arguments.per_device_train_batch_size
    batches = Batches(lengths, size, seed=seed, by_length=False)
    epochs = (np.concatenate(batches.batches_of(epoch)).tolist() for epoch in itertools.count())

    class Order:  # of the examples, another one in each epoch
        def __len__(self) -> int:
            return len(features)

        def __iter__(self) -> Iterator[int]:
            return iter(next(epochs))

    trainer._get_train_sampler = lambda dataset=None: Order()
    total = round(arguments.num_train_epochs * batches.steps_per_epoch)
    share = partial(learning_rate, peak=1.0, warmup_steps=arguments.warmup_steps, total_steps=total)
    trainer.create_optimizer()
    trainer.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(trainer.optimizer, share)


def training_arguments(
    folder: str, examples: int, *, seed: int, device: str = "cpu", **settings: Any
):
    """Our settings under the names of `transformers.TrainingArguments`."""
    from transformers import TrainingArguments

    size, epochs = settings["batch_size"], settings["epochs"]
    return TrainingArguments(
        output_dir=folder,
        num_train_epochs=epochs,
        per_device_train_batch_size=size,
        per_device_eval_batch_size=64,
        learning_rate=settings["learning_rate"],
        lr_scheduler_type="linear",
        warmup_steps=round(settings["warmup"] * epochs * -(-examples // size)),
        weight_decay=settings["weight_decay"],
        adam_epsilon=EPSILON,
        max_grad_norm=settings["max_grad_norm"],
        seed=seed,
        use_cpu=device == "cpu",
        disable_tqdm=True,
        report_to=[],
        save_strategy="no",
        logging_strategy="no",
    )


# --- All runs -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """A seed of one side, with the file that its score goes to."""

    comparison: Comparison
    side: str
    seed: int
    path: Path
    data: Path | None
    checkpoint: str
    start: str  # its fingerprint
    examples: str  # their fingerprint
    device: str
    rate: float | None  # the peak; None: that of the task
    same_draws: bool = False

    def __str__(self) -> str:
        return f"{self.comparison.name}, {self.side}, seed {self.seed}"

    @property
    def settings(self) -> dict[str, Any]:
        rate = {"learning_rate": self.rate} if self.rate else {}
        return (SETTINGS | self.comparison.settings | rate
                | (WITHOUT_DROPOUT if self.same_draws else {}))  # fmt: skip

    @property
    def identity(self) -> dict[str, Any]:
        """What a score belongs to: a file with another one is measured again."""
        asked = dataclasses.asdict(self.comparison)
        asked.pop("seconds")
        return {**asked, "settings": self.settings, "side": self.side, "epsilon": EPSILON,
                "start": self.start, "examples": self.examples, "device": self.device,
                **({"same_draws": "in float64"} if self.same_draws else {})}  # fmt: skip

    @property
    def result(self) -> dict[str, Any] | None:
        if not self.path.is_file():
            return None
        found = kept_record(self.path, identity=dict, score=float)
        return found if found["identity"] == self.identity else None


def measure(run: Run) -> None:
    begin = time.perf_counter()
    data = data_of(run.comparison, run.data)
    with contextlib.redirect_stderr(io.StringIO()):
        asked = (data, run.checkpoint, run.seed, run.device)
        if run.side == TRAINER:
            score = score_of_trainer(*asked, same_draws=run.same_draws, **run.settings)
        else:
            score = score_of_ours(*asked, same_draws=run.same_draws,
                                  by_length=run.side != SHUFFLED, **run.settings)  # fmt: skip
    run.path.parent.mkdir(parents=True, exist_ok=True)
    seconds = time.perf_counter() - begin
    write_json(run.path, {"identity": run.identity, "score": score, "seconds": seconds})


def runs_of(
    comparisons: Sequence[Comparison], sides: Sequence[str], arguments: argparse.Namespace
) -> list[Run]:
    start = fingerprint_of_start(arguments.checkpoint)
    same = arguments.same_draws
    loaded = {each: data_of(each, arguments.data) for each in comparisons}
    examples = {each: fingerprint([*data.train, *data.dev]) for each, data in loaded.items()}
    names = {side: side.replace(" --", "-") + ("-same-draws" if same else "") for side in sides}
    return [
        Run(each, side, seed, arguments.runs / each.task / names[side] / f"seed-{seed}.json",
            arguments.data, arguments.checkpoint, start, examples[each], arguments.device,
            arguments.learning_rate, same)
        for each in comparisons for side in sides for seed in range(arguments.seeds)
    ]  # fmt: skip


# --- Are the scores the same? ---------------------------------------------------------------------


def standard_error(first: Sequence[float], second: Sequence[float]) -> float:
    """Of the difference between two means: √(s₁²/n₁ + s₂²/n₂); 0 if a side has a single value."""
    if min(len(first), len(second)) < 2:
        return 0.0
    return sum(statistics.variance(each) / len(each) for each in (first, second)) ** 0.5


def permutation_p(first: Sequence[float], second: Sequence[float]) -> float:
    """How often two sides of one procedure differ in their means at least as much as these two: the
    share of the ways to deal these scores to both sides. Exact up to 99,999 ways, else of so many
    that are drawn."""
    from scipy.stats import permutation_test

    def apart(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
        return np.abs(x.mean(axis) - y.mean(axis))

    found = permutation_test(
        (first, second), apart, n_resamples=99_999, alternative="greater", batch=10_000, rng=0
    )
    return float(found.pvalue)


def table_of(scores: dict[Comparison, dict[str, list[float]]], metrics: dict[str, str]):
    """A line for each task, its head first; scores in per cent. A second one where batches were
    drawn in random order too."""
    head = ["task", "metric", "bert-finetune", "Trainer", "difference of the medians",
            "standard error", "within one", "p of equal means"]  # fmt: skip
    rows = [head]
    lines = [(each, sides, side) for each, sides in scores.items() for side in (OURS, SHUFFLED)
             if len(sides.get(side, [])) == len(sides[TRAINER])]  # fmt: skip
    for comparison, sides, own in lines:
        ours, theirs = ([100 * score for score in sides[side]] for side in (own, TRAINER))
        difference = statistics.median(ours) - statistics.median(theirs)
        error = standard_error(ours, theirs)
        rows.append([
            comparison.name + (", random batches" if own == SHUFFLED else ""),
            metrics[comparison.name], spread(ours, ".1f"), spread(theirs, ".1f"),
            f"{difference:+.2f}", f"{error:.2f}", "yes" if abs(difference) <= error else "no",
            f"{permutation_p(ours, theirs):.2f}",
        ])  # fmt: skip
    return rows


NOTES = """\
Scores are in percent, after the last step: the median of the seeds, with the lowest and highest \
in parentheses. No step and no seed is chosen by its score. *Standard error* is that of the \
difference between the two means, √(s₁²/n₁ + s₂²/n₂). *Within one* says whether the medians \
differ by at most one standard error. Two programs that draw from exactly the same distribution \
pass this test in somewhat more than half of all cases, so a *no* alone shows nothing; the last \
column says how often the means of two such programs differ at least as much as these means (a \
permutation test). A value below 0.05 calls for an explanation."""

OWN_DRAWS = """\
The same in both programs: the checkpoint, the examples and their token ids, epochs, batch size, \
peak learning rate, linear schedule, warm-up steps, weight decay (0.01, on all parameters except \
biases and layer norms), AdamW with bias correction, clipping at 1, length, dropout 0.1, float32. \
Made the same by a setting: Adam's epsilon, 1e-6 as in the paper (the Trainer's default is 1e-8). \
Different: `bert-finetune` groups texts of similar length into a batch, while the Trainer \
shuffles; the initial weights of the head come from a truncated normal distribution here and from \
a normal distribution in the Trainer; the first step of the Trainer has a learning rate of zero, \
the first step of `bert-finetune` the first rate above zero.

With the same initial weights, batches and rates, without dropout and in float64, two epochs of \
both programs end at the same weights to within 1e-10 ([test](../tests/test_beside_trainer.py)), \
so a difference here can only come from random draws, from the order of the examples or from the \
first learning rate."""

SAME_DRAWS = """\
The same in both programs: the checkpoint, the examples and their token ids, the first values of \
the head (drawn here, and copied into the model of the Trainer), the batches, the rate of every \
step, weight decay (0.01, on all parameters except biases and layer norms), AdamW with bias \
correction and an epsilon of 1e-6, clipping at 1, length, float64; no dropout. Each program \
computes the model, the loss, the gradient and the steps with its own code: `bert-finetune` with \
that of this course, the Trainer with that of `transformers`.

In float32 the same runs part: each program adds up in another order, and the difference grows \
from step to step."""


def on_gpu(device: str) -> str:
    return f", one {torch.cuda.get_device_name()}" if device == "cuda" else ""


def page_of(
    scores: dict[Comparison, dict[str, list[float]]], metrics: dict[str, str],
    seconds: dict[str, Any] | None, *, checkpoint: str, missing: Sequence[str],
    rate: float | None = None, device: str = "cpu", same_draws: bool = False,
) -> Page:  # fmt: skip
    """Both tables. The JSON beside the page holds the score of every seed, and all seconds."""
    config = BertConfig.load(Path(checkpoint))
    size = count_parameters(parameter_shapes(config))
    results = {
        f"{comparison.name}, {side}": [{metrics[comparison.name]: score} for score in sides[side]]
        for comparison, sides in scores.items() for side in sides
    }  # fmt: skip
    below = ""
    if seconds is not None:
        speed_results, text = seconds_table(seconds)
        results |= speed_results
        below = f"## Seconds\n\n{text}"
    own = {each.name: {k: v for k, v in each.settings.items() if k != "learning_rate" or not rate}
           for each in scores}  # fmt: skip
    used = "; ".join(f"{name}: {', '.join(f'{k} {v}' for k, v in settings.items())}"
                     for name, settings in own.items() if settings)  # fmt: skip
    return Page(
        title="bert-finetune compared with the Trainer of transformers",
        results=results,
        columns=(),
        verdicts=[],
        made=f"{described(machine())}{on_gpu(device)}. From `{checkpoint}`: "
        f"{config.num_hidden_layers} layers, hidden size {config.hidden_size}, {size:,} "
        "parameters; the question here is whether both programs reach the same scores. "
        f"{SETTINGS['epochs']:g} epochs, batch size {SETTINGS['batch_size']}, peak learning rate "
        f"{rate or SETTINGS['learning_rate']:g}, {SETTINGS['max_length']} tokens"
        + (f"; settings that differ for single tasks: {used}." if used else ".")
        + (f" Not measured yet, by the same command: {'; '.join(missing)}." if missing else ""),
        notes=f"{NOTES}\n\n{SAME_DRAWS if same_draws else OWN_DRAWS}",
        rows=table_of(scores, metrics),
        below=below,
    )


# --- The command ----------------------------------------------------------------------------------


def check_arguments(arguments: argparse.Namespace) -> None:
    names = [each.name for each in COMPARISONS]
    if unknown := [name for name in arguments.only or () if name not in names]:
        raise UserError(f"--only {unknown[0]!r}: choose from {', '.join(map(repr, names))}")
    for name, least in (("seeds", 2), ("workers", 1)):  # one seed has no spread to compare with
        if (value := getattr(arguments, name)) < least:
            raise UserError(f"--{name} {value}: give {least} or more")
    if arguments.same_draws and (arguments.shuffled or arguments.device != "cpu"):
        raise UserError("--same-draws computes on the CPU, in random order: leave out --shuffled "
                        "and --device")  # fmt: skip
    choose_device(arguments.device)
    check_report(arguments.out, "benchmarks/beside_trainer.py", with_picture=False, option="--out")
    if not (Path(arguments.checkpoint) / "config.json").is_file():
        raise UserError(f"--checkpoint {arguments.checkpoint}: there is no BERT folder: make demo")
    if importlib.util.find_spec("accelerate") is None:
        raise UserError('the Trainer needs the package accelerate: pip install -e ".[test]"')


def compare(arguments: argparse.Namespace, data: dict[Comparison, TaskData]) -> None:
    """All runs that are missing, with what is left to do; then their table."""
    sides = (OURS, TRAINER, *([SHUFFLED] if arguments.shuffled else []))
    runs = runs_of(list(data), sides, arguments)
    missing = [run for run in runs if run.result is None]
    minutes = sum(run.comparison.seconds for run in missing) / 60
    say(f"{len(runs)} runs, {len(missing)} still to do: about {minutes:.0f} minutes on one core")
    in_parallel(runs, lambda run: run.result is not None, measure, workers=arguments.workers)


def scores_in(runs: Sequence[Run], *, seeds: int) -> dict[Comparison, dict[str, list[float]]]:
    """The scores of the tasks of which both sides have all seeds."""
    found: dict[Comparison, dict[str, list[float]]] = {}
    for run in runs:
        if (result := run.result) is not None:
            found.setdefault(run.comparison, {}).setdefault(run.side, []).append(result["score"])
    return {each: sides for each, sides in found.items()
            if all(len(sides.get(side, [])) == seeds for side in (OURS, TRAINER))}  # fmt: skip


@command
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a folder with sst2, cola, rte, wnut17 and squad")
    parser.add_argument("--checkpoint", default=START, help="where both sides start")
    parser.add_argument("--only", nargs="+", help="these tasks alone, by their names here")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--shuffled", action="store_true",
                        help="also bert-finetune with batches in random order")  # fmt: skip
    parser.add_argument("--same-draws", action="store_true",
                        help="the same head, batches and rates on both sides, in float64"
                        )  # fmt: skip
    parser.add_argument("--learning-rate", type=float, help="the peak, for all tasks")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="of both sides")
    parser.add_argument("--workers", type=int, default=1, help="runs at a time")
    parser.add_argument("--speed", action="store_true", help="measure seconds, and no scores")
    parser.add_argument("--runs", type=Path, default=Path("runs/beside_trainer"))
    parser.add_argument("--out", type=Path, help="write FILE.md and FILE.json")
    arguments = parser.parse_args()
    check_arguments(arguments)
    seconds_file = arguments.runs / "seconds.json"
    if arguments.speed:
        write_json(seconds_file, measure_seconds(arguments.data, arguments.runs / "six-layers"))
    data = {}
    for comparison in COMPARISONS:
        if arguments.only and comparison.name not in arguments.only:
            continue
        if (found := data_of(comparison, arguments.data)) is not None:
            data[comparison] = found
        elif not arguments.speed:
            say(f"{comparison.name} is left out: --data has no folder {comparison.folder}")
    if not arguments.speed:
        compare(arguments, data)
    runs = runs_of(list(data), (OURS, TRAINER, SHUFFLED), arguments)
    scores = scores_in(runs, seeds=arguments.seeds)
    metrics = {comparison.name: each.task.metrics[0] for comparison, each in data.items()}
    print(aligned(table_of(scores, metrics)))
    seconds = kept_record(seconds_file) if seconds_file.is_file() else None
    if seconds is not None:
        print(f"\n{seconds_table(seconds)[1]}")
    if arguments.out is not None:
        given = " --data DATA" if arguments.data else ""
        given += f" --checkpoint {arguments.checkpoint}" if arguments.checkpoint != START else ""
        given += f" --only {shlex.join(arguments.only)}" if arguments.only else ""
        given += f" --seeds {arguments.seeds}" if arguments.seeds != SEEDS else ""
        if arguments.learning_rate:
            given += f" --learning-rate {arguments.learning_rate}"
        given += f" --device {arguments.device}" if arguments.device != "cpu" else ""
        given += f" --workers {arguments.workers}" if arguments.workers > 1 else ""
        given += " --shuffled" if arguments.shuffled else ""
        given += " --same-draws" if arguments.same_draws else ""
        missing = [each.name for each in data if each not in scores]
        page_of(
            scores, metrics, seconds, checkpoint=arguments.checkpoint, missing=missing,
            rate=arguments.learning_rate, device=arguments.device,
            same_draws=arguments.same_draws,
        ).write(
            arguments.out,
            f"python benchmarks/beside_trainer.py{given} --out {arguments.out}"
            + (f"\npython benchmarks/beside_trainer.py{given} --speed --out {arguments.out}"
               if seconds is not None else ""),
        )  # fmt: skip


if __name__ == "__main__":
    main()
