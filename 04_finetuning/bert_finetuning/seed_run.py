"""One run of one seed: starts or goes on, learns, measures itself, keeps its best and last model.

out/seed-0/                is the model after the last step, a `transformers` folder
    best/                  the one that the deciding metric was highest for, another
    metrics.jsonl          what was measured on the way
    result.json            written last: the run is over
    checkpoints/           while it runs: see `bert_run.run_folder`
"""

import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from bert_finetuning.answering import logits_of
from bert_finetuning.folders import write_finetuned
from bert_finetuning.heads import BertWithHead
from bert_finetuning.kinds.base import Kind, Logits, Reading
from bert_finetuning.kinds.spans import Spans
from bert_finetuning.recipe import freeze, make_optimizer
from bert_finetuning.training import Lesson, train
from bert_paper.cpu_kernels import use_cpu_kernels
from bert_paper.model import load_arrays
from bert_paper.optimizer import (
    optimizer_state,
    refuse_broken,
    state_from_arrays,
    state_to_arrays,
)
from bert_paper.parallel import spread
from bert_run.divergence import divergence_noted, refuse_divergence
from bert_run.errors import UserError
from bert_run.files import write_atomically
from bert_run.metrics import MetricsLog, Record, read_metrics
from bert_run.run_folder import STATE_FILE, RunFolder
from bert_run.weights import WEIGHTS_FILE, read_safetensors, save_weights

RESULT = "result.json"

COLLAPSED = """\
warning: seed {seed}, step {step}: the model says the same of every example, so it has learnt \
nothing yet; if that stays, try another --seed, a lower --learning-rate or a longer --warmup\
{correction}"""


@dataclass(frozen=True)
class Exam:
    """What a run is measured on."""

    kind: Kind
    examples: Sequence
    readings: Sequence[Reading]

    def decided(self, logits: Sequence[Logits]) -> tuple[Kind, list]:
        """Predictions, and the kind that made them: of questions that may have no answer, with the
        threshold that is best here, as in the paper (section 4.3)."""
        predictions = self.kind.predict(self.examples, self.readings, logits)
        if not isinstance(self.kind, Spans):
            return self.kind, predictions
        tuned = self.kind.tuned(self.examples, predictions)
        return tuned, tuned.decide(predictions)


@dataclass(frozen=True)
class SeedResult:
    """What became of one seed. `best` and `last` hold a step and the metrics measured there."""

    seed: int
    best: Record
    last: Record
    collapsed: bool  # to the last the same was said of every example
    inputs: str | None = None  # their digest; None: not known, as in runs of an earlier version

    @classmethod
    def read(cls, folder: Path, inputs: str, metric: str) -> "SeedResult | None":
        """That of a run that is over. Raises `UserError` if it was measured on other inputs."""
        path = folder / RESULT
        if not path.exists():
            return None
        try:
            result = cls(**json.loads(path.read_text("utf-8")))
            result.check(folder, metric)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise UserError(
                f"{path} is damaged: remove {folder}, and the seed runs again"
            ) from None
        if result.inputs not in (None, inputs):
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
    """The run of a seed in its folder; `start` steps are done."""

    def __init__(
        self,
        folder: Path,
        model: BertWithHead,
        tokenizer: Tokenizer,
        *,
        lesson: Lesson,
        exam: Exam,
        precision: torch.dtype,
        device: torch.device,
        inputs: str | None,
        describe: Callable[[Path, Kind], None],
    ) -> None:
        """`inputs`: the digest of what the run started from, kept with its result; None if nobody
        knows. `describe` lays beside a model's files what else its folder should hold."""
        self.lesson, self.exam, self.precision = lesson, exam, precision
        self.tokenizer, self.describe, self.inputs = tokenizer, describe, inputs
        self.kind = exam.kind  # as it was decided at the last measurement
        self.folder = RunFolder(folder)
        self.ranks = lesson.ranks
        self.metric = exam.kind.metrics[0]
        self.model = model.to(device)
        use_cpu_kernels(self.model.bert)
        freeze(self.model, lesson.settings.freeze)
        self.optimizer = make_optimizer(self.model, lesson.settings)
        checkpoint = self.ranks.after_first(self.resumed)
        self.start = checkpoint.step if checkpoint else 0
        if checkpoint:
            load_arrays(self.model, read_safetensors(checkpoint.folder / WEIGHTS_FILE))
            state_from_arrays(self.optimizer, self.model, checkpoint.training_state())
        if self.ranks.leads:
            self.log = MetricsLog(folder / "metrics.jsonl", resume_at=self.start)
        self.ranks.wait()
        self.best, self.warned = self.best_so_far(), False

    def resumed(self, leads: bool):
        if leads:
            self.folder.path.mkdir(parents=True, exist_ok=True)
            return self.folder.resume()
        return self.folder.newest()

    def best_so_far(self) -> float:
        measured = self.measurements()
        return max((entry[f"dev_{self.metric}"] for entry in measured), default=-float("inf"))

    def measurements(self) -> list[Record]:
        """Those on dev, in their order."""
        entries = read_metrics(self.folder.path / "metrics.jsonl")
        return [e for e in entries if f"dev_{self.metric}" in e and e["step"] <= self.start]

    def run(self, title: str) -> SeedResult:
        """To the end."""
        if self.ranks.leads and self.start:
            say(f"{title}: going on from step {self.start:,} of {self.lesson.steps:,}")
        with divergence_noted(self.folder, leads=self.ranks.leads):
            train(
                self.model,
                spread(self.model, "ddp", self.ranks),
                self.optimizer,
                self.lesson,
                precision=self.precision,
                start=self.start,
                record=self.record,
                measure=self.measure,
                save=self.save,
                title=title,
            )
        self.start = self.lesson.steps
        return self.finish()

    def record(self, entry: Record) -> None:
        if self.ranks.leads:
            self.log.append(entry)

    def measure(self, step: int) -> str:
        """Answer all of dev; keep the model if it has never been better."""
        refuse_broken(dict(self.model.named_parameters()), self.ranks, step=step)
        said = self.answers()
        scores = self.kind.score(self.exam.examples, said)
        collapsed = self.kind.is_collapsed(said)
        named = {f"dev_{name}": value for name, value in scores.items()}
        refuse_divergence(step, **named)
        is_best = scores[self.metric] > self.best
        self.best = max(self.best, scores[self.metric])
        if self.ranks.leads:
            if is_best:
                self.folder.save_best(self.write_model)
            self.warn(step, collapsed)
            self.record({"step": step, **named, "collapsed": float(collapsed)})
        self.ranks.wait()
        return f"{self.metric} {100 * scores[self.metric]:.1f}"

    def answers(self) -> list:
        """What the model says of the examples of dev."""
        logits = logits_of(
            self.model,
            self.exam.kind,
            self.exam.readings,
            precision=self.precision,
            ranks=self.ranks,
        )
        self.kind, predictions = self.exam.decided(logits)
        return predictions

    def warn(self, step: int, collapsed: bool) -> None:
        """Say once that the run has collapsed; while the rate rises, that means nothing."""
        settings = self.lesson.settings
        if collapsed and not self.warned and step > settings.warmup * self.lesson.steps:
            correction = "" if settings.optimizer == "adamw" else ", or --optimizer adamw"
            say(COLLAPSED.format(seed=self.lesson.seed, step=step, correction=correction))
            self.warned = True

    def write_model(self, folder: Path) -> None:
        write_finetuned(self.model, self.tokenizer, folder)
        self.describe(folder, self.kind)

    def save(self, step: int) -> None:
        """A checkpoint: the model, and the optimiser's moments of what learns."""
        state = optimizer_state(self.optimizer, self.model)
        refuse_broken({**dict(self.model.named_parameters()), **state}, self.ranks, step=step)

        def write(folder: Path) -> None:
            self.write_model(folder)
            save_weights(state_to_arrays(self.optimizer, self.model), folder / STATE_FILE)

        if self.ranks.leads:
            self.folder.save(step, write, keep=1)
        self.ranks.wait()

    def finish(self) -> SeedResult:
        """Write the result, and let go of what only an unfinished run needs."""
        measured = self.measurements()
        best = max(measured, key=lambda entry: entry[f"dev_{self.metric}"])
        last = measured[-1]
        result = SeedResult(self.lesson.seed, in_result(best), in_result(last),
                            bool(last["collapsed"]), self.inputs)  # fmt: skip
        self.ranks.wait()
        if self.ranks.leads:
            content: dict[str, Any] = vars(result)
            write_atomically(self.folder.path / RESULT, json.dumps(content, indent=2) + "\n")
            self.folder.remove_checkpoints()
        return result


def in_result(entry: Record) -> Record:
    """A line of metrics as a result has it: the step, and the scores under their own names."""
    scores = {k.removeprefix("dev_"): v for k, v in entry.items() if k.startswith("dev_")}
    return {"step": entry["step"], **scores}


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
