"""`python -m autograder`: a solution beside one's own file; for authors, starters and banks."""

from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

import tyro
from tyro.conf import Positional

from autograder.authors import bank, generate, promises
from autograder.points import CATALOGUE, find
from bert_run.errors import UserError, command
from bert_run.settings import Steps
from bert_run.validation import Count, check_numbers


@dataclass(frozen=True)
class Diff:
    """Show your file beside the solution, which explains each of its lines.

    python -m autograder diff exercises/03_softmax/softmax.py
    """

    file: Positional[Path]
    """a file of an exercise, edited or not"""


@dataclass(frozen=True)
class Again:
    """Run one check on your file, and step through the call that fails: a debugger stops at the
    first line of your function, with the inputs of the check.

    python -m autograder again 03_softmax the_backward_uses_its_axis
    """

    exercise: Positional[str]
    """its folder, such as 03_softmax"""
    check: Positional[str]
    """the name that the message has, or a part of it"""


@dataclass(frozen=True)
class Capstone:
    """Train a small BERT with the functions of your capstone, and draw its curve over the
    reference's: about two minutes.

    python -m autograder capstone
    """

    file: Positional[Path] = find("25_capstone").starter
    """your file; functions that are still to do are taken from the reference"""
    out: Path = Path("runs/capstone")
    """the folder of the picture and the numbers"""
    steps: Steps = 2000
    """how long it trains"""

    def __post_init__(self) -> None:
        check_numbers(self)


@dataclass(frozen=True)
class Generate:
    """For authors: make every starter from its solution. Overwrites what stands in exercises/."""


@dataclass(frozen=True)
class Bank:
    """For authors: grade the banks of wrong and of right answers, and print the table of kills.

    python -m autograder bank 03_softmax --show
    """

    names: Positional[tuple[str, ...]] = ()
    """exercises; all, if none is named"""
    isolated: bool = False
    """run every variant in a process of its own"""
    show: bool = False
    """print what the grader said of each variant"""
    table: bool = False
    """put the table on the page of the exercises"""


@dataclass(frozen=True)
class Promises:
    """For authors: write exercises/PROMISES.md, the sentences of the pages and the checks that hold
    them; say which sentences stand nowhere and which checks hold none."""


@dataclass(frozen=True)
class Repeat:
    """For authors: grade right answers again and again with other draws; none may ever fail.

    python -m autograder repeat 10_mlm_masking --runs 1000
    """

    name: Positional[str]
    """an exercise"""
    runs: Count = 1000
    """how often"""

    def __post_init__(self) -> None:
        check_numbers(self)


@dataclass(frozen=True)
class Mutants:
    """For authors: grade every copy of a solution with one small change. Each must lose points, or
    be listed as equivalent with a reason in the bank's equivalent.py.

    python -m autograder mutants 03_softmax
    """

    names: Positional[tuple[str, ...]] = ()
    """exercises; all, if none is named"""
    only: str = ""
    """mutants whose key contains this text"""
    every: Count = 1
    """one mutant in so many"""
    jobs: Count = 1
    """processes at a time"""
    show: bool = False
    """print which check each mutant fails, and its message"""
    table: bool = False
    """put the table on the page of the exercises"""

    def __post_init__(self) -> None:
        check_numbers(self)


def diff(file: Path) -> list[str]:
    """Lines from a student's file to the solution, comments and all."""
    exercise = next((e for e in CATALOGUE if e.file == file.name), None)
    if exercise is None:
        raise UserError(f"{file}: no exercise has a file {file.name!r}: was it renamed?")
    if not file.is_file():
        raise UserError(f"{file} does not exist: name the file that you edited")
    if not exercise.solution.is_file():
        raise UserError(f"the solution of {exercise.name} is not here: ask whoever runs the course")
    yours = file.read_text(encoding="utf-8").splitlines()
    ours = [line for line in exercise.solution.read_text(encoding="utf-8").splitlines()
            if line.strip() not in ("# begin solution", "# end solution")]  # fmt: skip
    return list(unified_diff(yours, ours, "yours", "solution", n=3, lineterm=""))


@command
def main() -> None:
    choice = tyro.cli(
        Diff | Again | Capstone | Generate | Bank | Repeat | Mutants | Promises,
        prog="python -m autograder",
    )
    if isinstance(choice, Diff):
        lines = diff(choice.file)
        print("\n".join(lines) if lines else "the same, to the letter")
    elif isinstance(choice, Again):
        from autograder.again import call_again

        call_again(choice.exercise, choice.check)
    elif isinstance(choice, Capstone):
        from autograder.capstone.replacing import (
            run_capstone,  # it brings matplotlib: not for every call
        )

        run_capstone(choice.file, out=choice.out, steps=choice.steps)
    elif isinstance(choice, Generate):
        generate.main()
    elif isinstance(choice, Bank):
        bank.run_bank(
            list(choice.names), in_child=choice.isolated, show=choice.show, publish=choice.table
        )
    elif isinstance(choice, Mutants):
        from autograder.authors.mutation_score import run_mutants

        run_mutants(list(choice.names), only=choice.only, every=choice.every, jobs=choice.jobs,
                    show=choice.show, publish=choice.table)  # fmt: skip
    elif isinstance(choice, Promises):
        promises.write_page()
    else:
        bank.repeat(choice.name, runs=choice.runs)


if __name__ == "__main__":
    main()
