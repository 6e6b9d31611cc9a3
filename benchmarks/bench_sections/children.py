"""Contestants in processes of their own, which take turns.

Each gets the environment it would have by itself, and its memory is its own. All of a group are
alive, one computes at a time: whatever else the machine does strikes all of them.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Timer

from bench_sections.machine import environment as of_a_child

WARM_UP = 3  # turns: until the fourth step of a large batch memory is still being given
LIMIT = 1200.0  # seconds for one answer: compiling takes a minute or two


class ChildFailed(Exception):
    """In words, for the page."""


@dataclass(frozen=True)
class Contestant:
    """Who computes what, and how its process is set up."""

    name: str
    kind: str
    options: dict = field(default_factory=dict)
    settled: bool = False  # memory and threads as in processes of this course
    environment: dict[str, str] = field(default_factory=dict)
    steps: int = 1  # in a turn


class Child:
    """The process of one contestant, or of several: `with Child() as child`."""

    def __init__(self, *, settled: bool = False, environment: dict[str, str] | None = None) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - read when the process is gone
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bench_sections.worker", *["--settled"] * settled],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
            env=of_a_child(TOKENIZERS_PARALLELISM="true", **(environment or {})),
        )  # fmt: skip

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        """It ends by itself when nothing more can be asked; one that hangs is killed."""
        try:
            self.process.stdin.close()
            self.process.wait(timeout=10)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()

    def send(self, **request: object) -> None:
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise ChildFailed(self.last_words()) from None

    def receive(self, limit: float = LIMIT) -> dict:
        watch = Timer(limit, self.process.kill)
        begin = time.perf_counter()  # before the watch's, so that it never ends too early
        watch.start()
        line = self.process.stdout.readline()
        watch.cancel()
        if line:
            return json.loads(line)
        overdue = time.perf_counter() - begin >= limit
        raise ChildFailed(f"no answer in {limit:.0f} s" if overdue else self.last_words())

    def ask(self, **request: object) -> dict:
        self.send(**request)
        return self.receive()

    def last_words(self) -> str:
        """Why it ended: the line of its errors that names what was raised, if one does."""
        self.process.wait()
        self.errors.seek(0)
        lines = self.errors.read().decode("utf-8", "replace").splitlines()
        raised = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
        if raised:
            return raised[-1][:200].replace("|", "/")  # it will stand in a table
        if self.process.returncode == -9:
            return "killed by the system, for lack of memory perhaps"
        return f"ended with {self.process.returncode}"


def measure_group(
    contestants: list[Contestant], folder: Path, *, rounds: int, warm_up: int = WARM_UP,
    tick: Callable[[str], object] = lambda name: None,
) -> dict[str, dict]:  # fmt: skip
    """Seconds of a step in each round, and the bytes at the peak, of contestants in turns.

    One that fails drops out, and says why under `failure`. `tick` is told of every turn.
    """
    results = {one.name: {**asdict(one), "seconds": [], "failure": None} for one in contestants}
    with ExitStack() as stack:
        alive = {}
        for one in contestants:  # all load their libraries at the same time
            child = Child(settled=one.settled, environment=one.environment)
            alive[one.name] = stack.enter_context(child)
            child.send(make=one.name, kind=one.kind, folder=str(folder), options=one.options)
        for one in contestants:
            tell(results, alive, one, lambda child, result: result.update(
                made_in=child.receive()["seconds"]))  # fmt: skip
        for number in range(warm_up + rounds):
            for one in contestants:
                tick(one.name)
                tell(results, alive, one, lambda child, result, one=one, number=number: take_turn(
                    child, result, one, counts=number >= warm_up))  # fmt: skip
        for one in contestants:
            tell(results, alive, one, lambda child, result: result.update(
                peak=child.ask(peak=True)["bytes"]))  # fmt: skip
    return results


def take_turn(child: Child, result: dict, one: Contestant, *, counts: bool) -> None:
    answer = child.ask(turn=one.name, steps=one.steps)
    result.setdefault("first_value", answer["value"])
    if counts:
        result["seconds"].append(sum(answer["seconds"]) / one.steps)
    else:
        result.setdefault("first_seconds", sum(answer["seconds"]))  # compiling is in here
        child.ask(forget_peak=True)


def tell(
    results: dict[str, dict], alive: dict[str, Child], one: Contestant,
    work: Callable[[Child, dict], object],
) -> None:  # fmt: skip
    """Do it with the child of `one` if that is alive; a failure ends it and is noted."""
    if one.name not in alive:
        return
    try:
        work(alive[one.name], results[one.name])
    except ChildFailed as failed:
        results[one.name].update(failure=str(failed), seconds=[])
        alive.pop(one.name).__exit__()
