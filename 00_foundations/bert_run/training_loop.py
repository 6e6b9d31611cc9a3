"""What the training loops of all levels share: the learning rate, a batch in parts, signals to
stop, `metrics.jsonl`, the progress bar, the curve, the stop when numbers are no longer finite."""

import json
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from bert_run.config import RunSettings
from bert_run.errors import Diverged, UserError, is_first
from bert_run.files import named_where_full, parse_object, write_atomically, wrong_field

Record = dict[str, float]  # what was measured at a step: names and numbers


def learning_rate(step: int, *, peak: float, warmup_steps: int, total_steps: int) -> float:
    """Linear warm-up to `peak`, then linear decay to 0, as in `transformers`, whose first rate
    is 0, not peak / warmup_steps. The line of decay of the released code begins at step 0."""
    if step < warmup_steps:
        return peak * (step + 1) / warmup_steps
    return peak * (total_steps - step) / max(1, total_steps - warmup_steps)


def split_batch(batch: dict[str, Any], rows: int) -> list[dict[str, Any]]:
    """A batch of arrays or tensors in parts of so many rows, the last perhaps smaller."""
    starts = range(0, len(batch["input_ids"]), rows)
    return [{name: array[i : i + rows] for name, array in batch.items()} for i in starts]


class StopRequest:
    """Whether Ctrl-C or SIGTERM (`kill`, SLURM, Docker) has asked the training loop to stop."""

    signal = 0  # its number

    def receive(self, number: int, frame: Any) -> None:
        """A second signal stops at once, except under torchrun, which repeats a Ctrl-C."""
        if self.signal and "TORCHELASTIC_RUN_ID" not in os.environ:
            raise KeyboardInterrupt
        is_known, self.signal = self.signal > 0, self.signal or number
        if not is_known and is_first():
            with suppress(OSError):  # Ctrl-C has ended `tee`, too
                os.write(2, b"\nstopping: the run is saved first; a second Ctrl-C stops at once\n")


@contextmanager
def stop_signals() -> Iterator[StopRequest]:
    """In here the first signal to stop is noted, so that the loop can save its state and leave."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():  # only that one gets signals
        yield request
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, request.receive) for number in numbers]
    try:
        yield request
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


class Journal:
    """Reports how pretraining goes: lines of metrics to `record`, and a progress bar. The losses of
    a line are read only when `step_done` says that one is due: between, nothing waits for a GPU."""

    def __init__(
        self, settings: RunSettings, *, start: int, record: Callable[[Record], None],
        visible: bool = True,
    ) -> None:  # fmt: skip
        self.steps, self.examples, self.record = settings.steps, settings.eval_examples, record
        self.log_every = max(1, min(50, settings.steps // 100))
        self.bar = progress_bar(
            settings.steps, "pretraining", unit="step", initial=start, disable=not visible
        )
        self.shown: dict[str, str] = {}
        self.tokens, self.begin = 0, time.perf_counter()

    def step_done(self, done: int, *, tokens: int) -> bool:
        """Count a step of so many tokens. Returns whether a line of metrics is due."""
        self.tokens += tokens
        self.bar.update()
        return done % self.log_every == 0 or done == self.steps

    def write(self, done: int, *, rate: float, mlm: float, nsp: float | None = None) -> None:
        """A line of metrics: the mean losses, of the second task if there is one, and the speed."""
        losses = {"mlm": mlm} if nsp is None else {"mlm": mlm, "nsp": nsp}
        speed = round(self.tokens / (time.perf_counter() - self.begin))
        self.record({
            "step": done,
            **{f"train_{name}_loss": loss for name, loss in losses.items()},
            "tokens_per_second": speed,
            "learning_rate": rate,
        })  # fmt: skip
        self.show({name: f"{loss:.3f}" for name, loss in losses.items()} | {"tok/s": f"{speed:,}"})
        self.tokens, self.begin = 0, time.perf_counter()

    def measured(self, done: int, measurements: Record) -> None:
        """A line with what was measured on held-out text."""
        self.record({"step": done, **measurements, "heldout_examples": self.examples})
        self.show({"held-out mlm": f"{measurements['heldout_mlm_loss']:.3f}"})

    def show(self, values: dict[str, str]) -> None:
        self.shown |= values
        self.bar.set_postfix(self.shown, refresh=False)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Time in here is not training time."""
        before = time.perf_counter()
        yield
        self.begin += time.perf_counter() - before


class MetricsLog:
    """`metrics.jsonl`: what a run measured, one JSON object a line."""

    def __init__(self, path: Path, *, resume_at: int = 0) -> None:
        """Records of steps after `resume_at`, where a run was cut off, will be made again."""
        self.path = Path(path)
        kept = [record for record in read_metrics(self.path) if record["step"] <= resume_at]
        write_atomically(self.path, "".join(json.dumps(record) + "\n" for record in kept))

    def append(self, record: Record) -> None:
        """Raises `Diverged` for a number that is not finite: JSON has no such numbers."""
        refuse_divergence(**record)
        with named_where_full(self.path), open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def read_metrics(path: Path) -> list[Record]:
    """All records. Raises `UserError` for a line that is none; the last may have been cut short."""
    if not path.exists():
        return []
    records = []
    lines = path.read_bytes().removesuffix(b"\n").split(b"\n")
    for number, line in enumerate(lines, start=1):
        problem, record = parse_object(line)
        if problem and number == len(lines):
            break
        problem = problem or wrong_field(record, {"step": int}, {})
        problem = problem or wrong_field(record, dict.fromkeys(record, float), {})
        if problem:
            raise UserError(f"{path} is damaged (line {number}: {problem}): fix or remove the line")
        records.append(record)
    return records


def refuse_divergence(step: int, rate: float | None = None, **numbers: float) -> None:
    """Raise `Diverged` if a number measured at a step is infinite or NaN ("not a number"): NaN
    spreads to every weight, and going on would replace the last good checkpoint."""
    for name, number in numbers.items():
        if not math.isfinite(number):
            at = "" if rate is None else f", where the learning rate is {rate:.1e}"
            raise Diverged(f"the {name.replace('_', ' ')} is {number} at step {step:,}{at}")


class LinesInsteadOfBar:
    """What tqdm writes to when nobody watches: each state of the bar becomes a line."""

    def write(self, text: str) -> None:
        if text := text.replace("\r", "").strip():
            with suppress(OSError):  # nobody reads it: Ctrl-C has ended `tee`, too
                print(text, file=sys.stderr, flush=True)


def progress_bar(total: int | None, description: str, *, unit: str, initial: int = 0,
                 **options: Any) -> tqdm:  # fmt: skip
    """A bar with the rate and the time left; in a log, one line every half minute."""
    if sys.stderr.isatty():
        options["dynamic_ncols"] = True
    else:
        # Without a width of the line: whole numbers, however many there are.
        options |= {"file": LinesInsteadOfBar(), "mininterval": 30, "ascii": True}
    return tqdm(total=total, desc=description, unit=unit, initial=initial, **options)


TRAINING, HELD_OUT, REFERENCE = "#88b4d8", "#d55e00", "#666666"


def draw_curve(
    records: list[Record], path: Path, *, title: str,
    tasks: Sequence[str] = ("masked words", "next sentence"),
    references: dict[str, float] | None = None, turns: dict[int, str] | None = None,
) -> None:  # fmt: skip
    """Draw `metrics.jsonl`, a panel for each of the one or two `tasks`; `references` are horizontal
    lines of the first, a name and a loss in nats each; `turns` are steps at which the recipe
    changes, with what changes then."""
    from bert_run.pictures import drawable, picture_with_axes  # it brings matplotlib

    picture, panels = picture_with_axes(
        height=4, width=10, columns=len(tasks), xlabel="step", title=drawable(title)
    )
    measured = (("mlm_loss", references or {}), ("nsp_loss", {"a coin toss: ln 2": 0.6931}))
    for panel, task, (key, marks) in zip(np.ravel(panels), tasks, measured, strict=False):
        for split, color, style in (("train", TRAINING, "-"), ("heldout", HELD_OUT, ".-")):
            points = [(r["step"], r[f"{split}_{key}"]) for r in records if f"{split}_{key}" in r]
            if points:
                panel.plot(*zip(*points, strict=True), style, color=color,
                           label="training" if split == "train" else "held out")  # fmt: skip
        for name, value in marks.items():
            panel.axhline(value, color=REFERENCE, linestyle=":", linewidth=1.2, label=name)
        for step, change in (turns or {}).items():
            panel.axvline(step, color=REFERENCE, linewidth=0.8, label=change)
        panel.set(ylabel=f"{task}: loss (nats)")
        panel.set_ylim(bottom=0)
        if panel.get_legend_handles_labels()[0]:
            panel.legend(frameon=False)
    picture.save(path)
