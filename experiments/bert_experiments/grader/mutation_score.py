"""Which mutants of a solution the checks of its exercise let through.

`tests/exercises/bank/NN_name/equivalent.py` holds EQUIVALENT: the keys of mutants that nobody can
tell from the solution, each with the reason. Every other mutant must lose points.
"""

import json
import os
import resource
import runpy
import selectors
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.points import Check, Exercise, checks_of
from autograder.runner import PASSED, judge, run
from autograder.student import LocalTransport, Student
from autograder.worker import load
from bert_experiments.grader.bank import BANK, chosen_exercises, publish_table, table
from bert_experiments.grader.mutation import Mutant, mutants
from bert_run.errors import UserError
from bert_run.training_loop import progress_bar

SECONDS = 20.0  # of a processor, at least, before a mutant counts as hanging; that kills it too
TIMES_LONGER = 10  # than the solution


@dataclass(frozen=True)
class Fate:
    """What became of a mutant: the check that failed, with its message, or `None`."""

    mutant: Mutant
    killed_by: str | None
    message: str = ""


@dataclass(frozen=True)
class Score:
    """The mutants of one exercise. `wrongly_listed` are keys of EQUIVALENT that are no mutants or
    that a check does fail."""

    exercise: Exercise
    fates: list[Fate]
    equivalent: dict[str, str]

    @property
    def survivors(self) -> list[Fate]:
        return [f for f in self.fates
                if f.killed_by is None and f.mutant.key not in self.equivalent]  # fmt: skip

    @property
    def killed(self) -> int:
        return sum(fate.killed_by is not None for fate in self.fates)

    @property
    def wrongly_listed(self) -> list[str]:
        alive = {fate.mutant.key for fate in self.fates if fate.killed_by is None}
        return sorted(self.equivalent.keys() - alive)


def equivalent(exercise: Exercise) -> dict[str, str]:
    """Keys of mutants that behave as the solution does, and why."""
    path = BANK / exercise.name / "equivalent.py"
    return runpy.run_path(str(path))["EQUIVALENT"] if path.is_file() else {}


def mutation_score(
    exercise: Exercise, *, only: str = "", every: int = 1, jobs: int = 1, listed: bool = True,
    seconds: float | None = None,
) -> Score:  # fmt: skip
    """Grade every mutant (whose key contains `only`; one in `every`; `listed=False`: none that is
    known to be equivalent). Each has `seconds` of a processor; without them ten times what the
    solution takes, which is graded first."""
    known = equivalent(exercise)
    chosen = [m for m in mutants(exercise.solution.read_text("utf-8")) if only in m.key]
    chosen = [m for m in chosen[::every] if listed or m.key not in known]
    with progress_bar(len(chosen), exercise.name, unit="mutant") as bar:
        fates = []
        for fate in _fates(exercise, chosen, jobs, seconds):
            fates.append(fate)
            bar.update()
    order = {mutant.key: i for i, mutant in enumerate(chosen)}
    fates.sort(key=lambda fate: order[fate.mutant.key])
    return Score(exercise, fates, known if listed and every == 1 and not only else {
        key: why for key, why in known.items() if key in order})  # fmt: skip


def _fates(exercise, chosen: list[Mutant], jobs: int, seconds: float | None) -> Iterator[Fate]:
    """Grade mutants, each in a fork of this process, in which all libraries are loaded."""
    tests = load(exercise.test)
    order = list(checks_of(exercise))
    if "torch" in exercise.test.read_text("utf-8"):
        import torch

        torch.set_num_threads(1)  # a fork after a parallel operation would hang
    if seconds is None:
        start = time.process_time()
        if problem := _first_failure(exercise.solution, tests, order):
            raise UserError(f"the solution of {exercise.name} does not pass: {problem[1]}")
        seconds = max(SECONDS, TIMES_LONGER * (time.process_time() - start))
    waiting, running = list(reversed(chosen)), selectors.DefaultSelector()
    with tempfile.TemporaryDirectory() as folder:
        while waiting or running.get_map():
            while waiting and len(running.get_map()) < jobs:
                mutant = waiting.pop()
                child, pipe = _fork(exercise, mutant, tests, order, Path(folder), seconds)
                running.register(pipe, selectors.EVENT_READ, (child, mutant, bytearray()))
            for key, _ in running.select():
                child, mutant, told = key.data
                if piece := os.read(key.fd, 1 << 16):
                    told.extend(piece)
                    continue
                running.unregister(key.fd)
                os.close(key.fd)
                os.waitpid(child, 0)
                name, message = json.loads(told) if told else ["time or memory", "it was ended"]
                _put_first(order, name)
                yield Fate(mutant, name, message)


def _fork(exercise, mutant, tests, order, folder: Path, seconds: float) -> tuple[int, int]:
    """A process that grades a mutant and writes what failed; (its number, a pipe from it)."""
    read, write = os.pipe()
    child = os.fork()
    if child:
        os.close(write)
        return child, read
    try:
        os.setpgid(0, 0)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        limit = int(time.process_time() + seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        signal.alarm(int(10 * seconds))
        path = folder / str(os.getpid()) / exercise.file
        path.parent.mkdir()
        path.write_text(mutant.text, encoding="utf-8")
        problem = _first_failure(path, tests, order) or (None, "")
        os.write(write, json.dumps(problem).encode())
    finally:
        os._exit(0)


def _first_failure(path: Path, tests, order: list[Check]) -> tuple[str, str] | None:
    """The name of the first check that an answer fails, and its message."""
    transport = LocalTransport(path)
    student = Student(path, transport)
    for check in order:
        outcome = judge(check, run(getattr(tests, check.id), student))
        if outcome.outcome != PASSED:
            return outcome.id, outcome.message[:2000]
    return None


def _put_first(order: list[Check], name: str | None) -> None:
    """What has just failed a mutant is asked first of the next: most often it fails that too."""
    for check in order:
        if check.id == name:
            order.remove(check)
            order.insert(0, check)
            return


def run_mutants(
    names: list[str], *, only: str, every: int, jobs: int, show: bool, publish: bool
) -> None:
    """Grade the mutants of the named exercises, print the survivors and a table of scores;
    `publish` also puts it on the page of results."""
    if publish and (names or only or every > 1):
        raise UserError("--table is that of all mutants of all exercises: name none")
    scores = []
    for exercise in chosen_exercises(names):
        score = mutation_score(exercise, only=only, every=every, jobs=jobs)
        scores.append(score)
        for fate in score.fates if show else score.survivors:
            print(f"{exercise.name}: {fate.mutant.key}\n    {fate.killed_by or 'SURVIVES'}"
                  + (f": {fate.message}" if show else ""))  # fmt: skip
        for key in score.wrongly_listed:
            print(f"{exercise.name}: {key}\n    is listed as equivalent: it is killed or no mutant")
    print("\n".join(rows(scores)))
    if count := sum(len(score.survivors) + len(score.wrongly_listed) for score in scores):
        raise UserError(f"{count} mutants are not as they should be: they stand above")
    if publish:
        publish_table("mutants", rows(scores))


def rows(scores: list[Score]) -> list[str]:
    """Mutants, killed, equivalent and surviving ones, a row an exercise, as Markdown."""
    counts = {s.exercise.name: (len(s.fates), s.killed, len(s.equivalent), len(s.survivors))
              for s in scores}  # fmt: skip
    return table(("mutants", "killed", "equivalent", "survive"), counts)
