"""One run of one seed: starts or goes on, learns, measures itself, keeps its best and last model.

out/seed-0/                is the model after the last step, a `transformers` folder
    best/                  the one that the deciding metric was highest for, another
    metrics.jsonl          what was measured on the way
    result.json            written last: the run is over
    checkpoints/           while it runs: see `bert_run.files`

Without a folder the same run leaves no files; so the notebooks of this chapter learn:

learned = learn(load_named("sentiment"), settings)
learnt.scores["accuracy"]
learnt.predict([TextExample("The food was delicious.")])
"""

import json
import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from bert_finetuning.checkpoint import InitialModel, ModelInit, SavedTask, save_finetuned
from bert_finetuning.data.load import TaskData, few_of
from bert_finetuning.data.rows import say
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks.base import BertWithHead, Example, Features, Task, logits_of
from bert_finetuning.train import (
    TrainingData,
    checkpoint_layers,
    freeze,
    label_weights,
    make_optimizer,
    train,
)
from bert_paper.cpu_kernels import use_cpu_kernels
from bert_paper.model import load_arrays
from bert_paper.optimizer import optimizer_state, refuse_broken, state_from_arrays, state_to_arrays
from bert_paper.parallel import spread
from bert_run.errors import Stopped, UserError, read_record
from bert_run.files import METRICS_FILE, STATE_FILE, RunFolder, divergence_noted, write_atomically
from bert_run.training_loop import (
    MetricsLog,
    Record,
    StopRequest,
    read_metrics,
    refuse_divergence,
    stop_signals,
)
from bert_run.weights import WEIGHTS_FILE, read_safetensors, save_weights

RESULT = "result.json"
WRITTEN = {"seed": int, "best": dict, "last": dict, "collapsed": bool}  # in it


@dataclass(frozen=True)
class Evaluator:
    """What a run is measured on."""

    task: Task
    examples: Sequence[Example]
    features: Sequence[Features]

    def predict(self, model: BertWithHead, **machine: Any) -> tuple[Task, list]:
        """Predictions, and the task with what was chosen on these examples: for questions that may
        have no answer, the threshold that is best here, as in the paper (section 4.3).

        `machine`: precision and ranks, as of `logits_of`.
        """
        logits = logits_of(model, self.task, self.features, **machine)
        predictions = self.task.predict(self.examples, self.features, logits)
        return self.task.tuned(self.examples, predictions)


@dataclass(frozen=True)
class SeedResult:
    """What became of one seed. `best` and `last` hold a step and the metrics measured there."""

    seed: int
    best: Record
    last: Record
    collapsed: bool  # in the end every example got the same answer
    inputs: str | None = None  # their digest; None for a run in memory

    @classmethod
    def read(cls, folder: Path, inputs: str, metric: str) -> "SeedResult | None":
        """That of a run that is over. Raises `UserError` if it was measured on other inputs."""
        path = folder / RESULT
        if not path.exists():
            return None
        way_out = f"remove {folder}, and the seed runs again"
        record = read_record(path, WRITTEN, {"inputs": str}, way_out=way_out)
        try:
            result = cls(**record)
            result.check(folder, metric)
        except (ValueError, TypeError, KeyError, OverflowError):
            raise UserError(f"{path} is damaged: {way_out}") from None
        if result.inputs != inputs:
            raise UserError(
                f"{path} is the result of other examples or of another checkpoint: choose another "
                f"--out, or remove {folder}"
            )
        return result

    def check(self, folder: Path, metric: str) -> None:
        """Raise `ValueError` where this is not what `SeedRun.finish` writes into `folder`."""
        if folder.name != f"seed-{self.seed}":
            raise ValueError("the result of another seed")
        for record in (self.best, self.last):
            if type(record["step"]) is not int or not -1 <= record[metric] <= 1:
                raise ValueError("no step, or no score")
            if not all(map(math.isfinite, record.values())):
                raise ValueError("not a number")


class SeedRun:
    """The run of a seed, in a folder or in memory; `start` steps are done."""

    def __init__(
        self,
        initial: InitialModel,
        data: TrainingData,
        evaluator: Evaluator,
        *,
        precision: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        folder: Path | None = None,
        inputs: str | None = None,
        saved_task: Callable[[Task], SavedTask] | None = None,
    ) -> None:
        """`inputs`: the digest of what the run started from, kept with its result; None if nobody
        knows. `saved_task`: what a saved model's folder says of its task."""
        self.data, self.evaluator, self.precision = data, evaluator, precision
        self.tokenizer, self.saved_task, self.inputs = initial.tokenizer, saved_task, inputs
        self.ranks, self.metric = data.ranks, evaluator.task.metrics[0]
        self.model = initial.model.to(device)
        use_cpu_kernels(self.model.bert)
        settings = data.settings
        freeze(self.model, settings.freeze)
        if settings.gradient_checkpointing:
            checkpoint_layers(self.model)
        if settings.class_weights is not None:
            weights = label_weights(settings.class_weights, self.model, data.features)
            self.model.label_weights = weights.to(device)
        self.optimizer = make_optimizer(self.model, settings)
        self.folder = None if folder is None else RunFolder(folder)
        self.start, self.records, self.log = 0, [], None
        self.saved = self.signal = 0  # the step of the last checkpoint, and what stopped the run
        if self.folder is not None:
            self.resume(self.folder)
        measured = [entry[f"dev_{self.metric}"] for entry in self.measurements()]
        self.best, self.warned = max(measured, default=-math.inf), False
        self.task, self.predictions = evaluator.task, []  # as of the last measurement

    def resume(self, folder: RunFolder) -> None:
        """Go on from the folder's newest checkpoint, if it has one."""

        def newest(leads: bool):
            if leads:
                folder.path.mkdir(parents=True, exist_ok=True)
                return folder.resume()
            return folder.newest()

        if checkpoint := self.ranks.after_first(newest):
            self.start = checkpoint.step
            load_arrays(self.model, read_safetensors(checkpoint.folder / WEIGHTS_FILE))
            moments = read_safetensors(checkpoint.folder / STATE_FILE)
            state_from_arrays(self.optimizer, self.model, moments)
        path = folder.path / METRICS_FILE
        if self.ranks.leads:
            self.log = MetricsLog(path, resume_at=self.start)
        self.ranks.wait()
        self.records = [entry for entry in read_metrics(path) if entry["step"] <= self.start]

    def measurements(self) -> list[Record]:
        """Those on dev, in their order."""
        return [entry for entry in self.records if f"dev_{self.metric}" in entry]

    def run(self, title: str = "fine-tuning", *, progress: bool = True) -> SeedResult:
        """To the end."""
        if self.ranks.leads and self.start:
            say(f"{title}: going on from step {self.start:,} of {self.data.steps:,}")
        folder, request = self.folder, StopRequest()
        noted = divergence_noted(folder) if folder else nullcontext()
        with noted, stop_signals() if folder else nullcontext(request) as request:
            if not self.is_stalled:
                train(
                    self.model,
                    spread(self.model, "ddp", self.ranks),
                    self.optimizer,
                    self.data,
                    precision=self.precision,
                    start=self.start,
                    record=self.record,
                    measure=self.measure,
                    save=self.save,
                    stops=lambda: self.stops(request),
                    title=title,
                    progress=progress,
                )
        if self.signal:
            raise Stopped(title, self.saved, self.data.steps, number=self.signal)
        if self.is_stalled and self.ranks.leads and progress:
            say(f"{title}: stopped early: --patience {self.data.settings.patience} is used up, as "
                f"{self.metric} on dev no longer rises")  # fmt: skip
        return self.finish()

    def stops(self, request: StopRequest) -> bool:
        """Whether this step is the last: someone has asked for it, or nothing improves."""
        device = next(self.model.parameters()).device
        self.signal = self.ranks.highest(request.signal, device)
        return self.signal > 0 or self.is_stalled

    @property
    def is_stalled(self) -> bool:
        """Whether so many measurements as --patience says were no better than the best before."""
        scores = [entry[f"dev_{self.metric}"] for entry in self.measurements()]
        patience = self.data.settings.patience
        return bool(patience and scores) and len(scores) - scores.index(max(scores)) > patience

    def record(self, entry: Record) -> None:
        self.records.append(entry)
        if self.log is not None:
            self.log.append(entry)

    def measure(self, step: int) -> str:
        """Answer all of dev; keep the model if it has never been better."""
        refuse_broken(dict(self.model.named_parameters()), self.ranks, step=step)
        self.task, self.predictions = self.evaluator.predict(
            self.model, precision=self.precision, ranks=self.ranks
        )
        scores = self.task.score(self.evaluator.examples, self.predictions)
        collapsed = self.task.is_collapsed(self.predictions)
        named = {f"dev_{name}": value for name, value in scores.items()}
        refuse_divergence(step, **named)
        if scores[self.metric] > self.best and self.folder is not None and self.ranks.leads:
            self.folder.save_best(self.write_model)
        self.best = max(self.best, scores[self.metric])
        self.warn(step, collapsed)
        self.record({"step": step, **named, "collapsed": float(collapsed)})
        self.ranks.wait()
        return f"{self.metric} {100 * scores[self.metric]:.1f}"

    def warn(self, step: int, collapsed: bool) -> None:
        """Say once that a run has collapsed; while the rate rises, that means nothing."""
        settings = self.data.settings
        early = step <= settings.warmup * self.data.steps
        if collapsed and self.log is not None and not self.warned and not early:
            correction = "" if settings.optimizer == "adamw" else ", or --optimizer adamw"
            say(f"warning: seed {self.data.seed}, step {step}: the model says the same of every "
                "example, so it has learned nothing yet; if that stays, try another --seed, a "
                f"lower --learning-rate or a longer --warmup{correction}")  # fmt: skip
            self.warned = True

    def write_model(self, folder: Path) -> None:
        save_finetuned(self.model, self.tokenizer, folder, self.saved_task(self.task))

    def save(self, step: int) -> None:
        """A checkpoint: the model, and the optimizer's moments of what learns."""
        self.saved = step
        if self.folder is None:
            return
        state = optimizer_state(self.optimizer, self.model)
        refuse_broken({**dict(self.model.named_parameters()), **state}, self.ranks, step=step)

        def write(folder: Path) -> None:
            self.write_model(folder)
            save_weights(state_to_arrays(self.optimizer, self.model), folder / STATE_FILE)

        if self.ranks.leads:
            self.folder.save(step, write, keep=1)
        self.ranks.wait()

    def finish(self) -> SeedResult:
        """The result, written down; what only an unfinished run needs goes."""
        measured = self.measurements()
        if not measured and self.folder is not None:
            raise UserError(
                f"{self.folder.path / METRICS_FILE} has lost its measurements: remove "
                f"{self.folder.path}, and the seed runs again"
            )
        best = max(measured, key=lambda entry: entry[f"dev_{self.metric}"])
        last = measured[-1]
        result = SeedResult(self.data.seed, in_result(best), in_result(last),
                            bool(last["collapsed"]), self.inputs)  # fmt: skip
        self.ranks.wait()
        if self.folder is not None and self.ranks.leads:
            write_atomically(self.folder.path / RESULT, json.dumps(vars(result), indent=2) + "\n")
            self.folder.remove_checkpoints()
        return result


def in_result(entry: Record) -> Record:
    """A line of metrics as a result has it: the step, and the scores under their own names."""
    scores = {k.removeprefix("dev_"): v for k, v in entry.items() if k.startswith("dev_")}
    return {"step": entry["step"], **scores}


# --- In memory -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Learnt:
    """The model after its last step, what it answers to dev, and what was noted on the way."""

    model: BertWithHead
    tokenizer: Tokenizer
    task: Task  # of questions without an answer, with the threshold that is best on dev
    max_length: int
    predictions: list
    scores: dict[str, float]
    records: list[Record]  # those of training have `train_loss`, those on dev `dev_…`

    def line(self, key: str) -> tuple[list[float], list[float]]:
        """The steps at which something was noted, and its values: what a curve is drawn from."""
        points = [(record["step"], record[key]) for record in self.records if key in record]
        steps, values = zip(*points, strict=True)
        return list(steps), list(values)

    def predict(self, examples: Sequence[Example]) -> list:
        """Predictions for other examples; they need no labels."""
        return self.task.answers(examples, self.model, self.tokenizer, max_length=self.max_length)


def learn(
    data: TaskData, settings: FinetuneSettings, *, seed: int = 0, progress: bool = False
) -> Learnt:
    """Start as `settings` say, learn from train (or the few that the seed draws), measure on dev.

    On the CPU, as a function of its arguments.
    """
    data = replace(data, task=data.task.decided_by(settings.metric))
    examples = few_of(data.train, settings.few_shot, seed=seed)
    initial = ModelInit(settings, data.task, examples).build(seed)
    run = run_in_memory(initial, data, settings, seed=seed)
    run.run(progress=progress)
    scores = run.task.score(data.dev, run.predictions)
    model = run.model.eval()
    max_length = run.task.reading_length(settings.max_length, model.config)
    return Learnt(model, run.tokenizer, run.task, max_length, run.predictions, scores, run.records)


def run_in_memory(
    initial: InitialModel, data: TaskData, settings: FinetuneSettings, *, seed: int, **machine: Any
) -> SeedRun:
    """The run of a model that is built already. `machine`: precision and device, as of `SeedRun`;
    unless given, float32 on the CPU."""
    task, config = data.task, initial.model.config
    max_length = task.reading_length(settings.max_length, config)
    learnt, dev = (
        task.encode(examples, initial.tokenizer, max_length=max_length)
        for examples in (few_of(data.train, settings.few_shot, seed=seed), data.dev)
    )
    training = TrainingData(task, learnt, settings, seed, config.pad_token_id)
    return SeedRun(initial, training, Evaluator(task, data.dev, dev), **machine)
