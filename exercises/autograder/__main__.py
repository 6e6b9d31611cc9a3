"""`python -m autograder`: a solution beside one's own file, one check again, the capstone's run."""

import pdb
import sys
from collections.abc import Callable
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

import numpy as np
import tyro
from tyro.conf import Positional

from autograder.checks import CheckFailed
from autograder.codec import drawing_from, pack, unpack
from autograder.course import find_course
from autograder.points import READY, Check, Exercise, checks_of, find, present
from autograder.runner import TO_DO, obstacle, run, source_text
from autograder.student import LocalTransport, Student
from autograder.worker import load
from bert_run.config import Seed, Steps, check_numbers
from bert_run.errors import UserError, command

CAPSTONE = find("25_capstone")


@dataclass(frozen=True)
class Diff:
    """Show what differs between your file and the solution, which explains each of its lines.

    python -m autograder diff exercises/03_softmax/softmax.py"""

    file: Positional[Path]
    """a file of an exercise, edited or not"""

    def run(self) -> None:
        file = self.file
        exercise = next((e for e in (READY, *present()) if e.file == file.name), None)
        if exercise is None:
            raise UserError(f"{file}: no exercise has a file {file.name!r}: was it renamed?")
        if not file.is_file():
            raise UserError(f"{file} does not exist: name the file that you edited")
        if not exercise.solution.is_file():
            raise UserError(f"the solution of {exercise.name} is not here: ask your instructor")
        try:
            texts = [source_text(path.read_bytes()) for path in (file, exercise.solution)]
        except (SyntaxError, UnicodeDecodeError) as error:
            raise UserError(f"{file} is not UTF-8 ({error}): save it as UTF-8") from None
        yours, ours = map(str.splitlines, texts)
        ours = [line for line in ours if line.strip() not in ("# begin solution", "# end solution")]
        lines = unified_diff(yours, ours, "yours", "solution", lineterm="")
        print("\n".join(lines) or "the same, to the letter")


@dataclass(frozen=True)
class Again:
    """Run one check on your file, and step through the call that fails: a debugger stops at the
    first line of your function, with the inputs of the check.

    python -m autograder again 03_softmax the_backward_uses_its_axis"""

    exercise: Positional[str]
    """its folder, such as 03_softmax"""
    check: Positional[str]
    """the name that the message has, or a part of it"""
    seed: Seed = 0
    """that of pytest's --seed, if it had one"""
    __post_init__ = check_numbers

    def run(self) -> None:
        exercise = find(self.exercise.rstrip("/").rpartition("/")[2])
        if exercise is None:
            raise UserError(f"no exercise is {self.exercise!r}: name its folder, as 03_softmax")
        check = check_named(exercise, self.check)
        if reason := obstacle(exercise, exercise.starter):
            hint = ": fill in its functions first" * (reason.outcome == TO_DO)
            raise UserError(f"{exercise.name}: {reason.message}{hint}")
        transport = LocalTransport(exercise.starter)
        student = Student(exercise.starter, transport)
        with drawing_from(self.seed, variant=find_course().variant):
            error = run(getattr(load(exercise.test), check.id), student, seed=self.seed)
        print(error or f"{check.id} passes")
        calls = student._log.candidates(error.out) if isinstance(error, CheckFailed) else []
        call = calls[-1] if calls else student._log.last
        function = getattr(transport.worker.module, call.function, None) if error and call else None
        if not callable(function):
            return
        args, kwargs = unpack(pack((call.args, call.kwargs)), make=True)
        if not sys.stdin.closed and sys.stdin.isatty():  # exit() closes it
            print("\n`n` runs the next line, `p name` prints, `c` goes on to the end")
            pdb.Pdb().runcall(function, *args, **kwargs)
        else:
            print_call(function, args, kwargs)


def check_named(exercise: Exercise, name: str) -> Check:
    """The check of this name, with or without `test_`, or the only one that has it as a part."""
    name = name.removeprefix("test_").replace(" ", "_")
    checks = checks_of(exercise)
    exact = [check for check in checks if check.id == f"test_{name}"]
    found = exact or [check for check in checks if name in check.id]
    if len(found) != 1:
        names = ", ".join(check.id.removeprefix("test_") for check in found or checks)
        raise UserError(f"{exercise.name} has {len(found)} checks {name!r}: take one of {names}")
    return found[0]


def print_call(function: Callable, args: tuple, kwargs: dict) -> None:
    """Where no debugger can run: make a call, print its arguments and what it returns or raises."""
    with np.printoptions(threshold=1_000, linewidth=100):
        for label, value in [*enumerate(args, 1), *kwargs.items()]:
            print(f"\nargument {label}:\n{value}")
        print(f"\n{function.__name__} returns (in a terminal, this command opens a debugger):")
        try:
            print(function(*args, **kwargs))
        except (Exception, SystemExit) as raised:
            print(f"{type(raised).__name__}: {raised}")


@dataclass(frozen=True)
class Capstone:
    """Train a small BERT with the functions of your capstone, and draw its curve over the
    reference's: about two minutes.

    python -m autograder capstone"""

    file: Positional[Path] = CAPSTONE.starter
    """your file; functions that are still to do are taken from the reference"""
    out: Path = Path("runs/capstone")
    """the folder of the picture and the numbers"""
    steps: Steps = 2000
    """how long it trains"""
    __post_init__ = check_numbers

    def run(self) -> None:
        load(CAPSTONE.test).train_capstone(self.file, out=self.out, steps=self.steps)


@command
def main() -> None:
    tyro.cli(Diff | Again | Capstone, prog="python -m autograder").run()


if __name__ == "__main__":
    main()
