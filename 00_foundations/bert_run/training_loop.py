"""What the training loops of all levels share: the learning rate, a batch in parts, the journal."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bert_run.metrics import Record
from bert_run.progress import progress_bar
from bert_run.settings import RunSettings


def learning_rate(step: int, *, peak: float, warmup_steps: int, total_steps: int) -> float:
    """The rate of step 0, 1, 2, …: it rises in a straight line to `peak`, then falls to zero.

    The first step is not wasted on a rate of zero, and the last one is the last above it.
    """
    if step < warmup_steps:
        return peak * (step + 1) / warmup_steps
    return peak * (total_steps - step) / max(1, total_steps - warmup_steps)


def split_batch(batch: dict[str, Any], rows: int) -> list[dict[str, Any]]:
    """A batch of arrays or tensors in parts of so many rows, the last perhaps smaller."""
    return [
        {name: array[first : first + rows] for name, array in batch.items()}
        for first in range(0, len(batch["input_ids"]), rows)
    ]


class StopRequest:
    """Whether Ctrl-C or SIGTERM (`kill`, SLURM, Docker) has asked the training loop to stop."""

    signal = 0  # its number

    def receive(self, number: int, frame: Any) -> None:
        """A second signal stops at once, except under torchrun, which passes on a Ctrl-C that its
        processes have received already."""
        if self.signal and "RANK" not in os.environ:
            raise KeyboardInterrupt
        if not self.signal and os.environ.get("RANK", "0") == "0":
            os.write(2, b"\nstopping: the run is saved first; a second Ctrl-C stops it at once\n")
        self.signal = self.signal or number


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
    """Reports how pretraining goes: lines of metrics to `record`, and a progress bar.

    The losses of a line are means since the last one. A level computes them itself, when
    `step_done` says that a line is due, so that nothing waits for a GPU in between.
    """

    def __init__(
        self,
        settings: RunSettings,
        *,
        start: int,
        record: Callable[[Record], None],
        visible: bool = True,
    ) -> None:
        self.steps, self.record = settings.steps, record
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
        self.record({"step": done, **measurements})
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
