"""`python -m bert_experiments.grader`: for authors of exercises, who grade the grader, and for
instructors, who hand the course out."""

import csv
import hashlib
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from tyro.conf import Positional

from autograder.course import COURSE, OWN_DEFAULTS, Course, chosen, default_of, find_course
from autograder.points import CATALOGUE, READY, ROOT, STARTERS, Exercise, local
from autograder.runner import starter_of
from autograder.untrusted.roster import read_roster
from bert_experiments.grader import bank, gradescope, guide, handout, inputs, promises
from bert_run.config import Count, Whole, check_numbers
from bert_run.errors import UserError, command
from bert_run.files import write_atomically


@dataclass(frozen=True)
class Generate:
    """Make every starter from its solution. Overwrites what stands in exercises/."""


@dataclass(frozen=True)
class Bank:
    """Grade the banks of wrong and of right answers, and print the table of kills.

    python -m bert_experiments.grader bank 03_softmax --show
    """

    names: Positional[tuple[str, ...]] = ()
    """exercises; all, if none is named"""
    isolated: bool = False
    """run every variant in a process of its own"""
    show: bool = False
    """print what the grader said of each variant"""
    table: bool = False
    """put the table on its page in results"""
    seed: Annotated[int, Whole(0, 1 << 62)] = 0
    """a secret seed to draw the inputs from"""

    def __post_init__(self) -> None:
        check_numbers(self)


@dataclass(frozen=True)
class Promises:
    """Write exercises/PROMISES.md, the sentences of the pages and the checks that hold
    them; say which sentences stand nowhere and which checks hold none."""


@dataclass(frozen=True)
class Guide:
    """Write the guide for teaching assistants: usual mistakes of each exercise, what to ask."""

    out: Path = guide.PAGE
    """the file to write"""


@dataclass(frozen=True)
class Repeat:
    """Grade right answers under many secret seeds, each with inputs of its own; none may ever fail.

    python -m bert_experiments.grader repeat 10_mlm_masking --seeds 1000
    """

    names: Positional[tuple[str, ...]] = ()
    """exercises; all, if none is named"""
    seeds: Count = 20
    """how many secret seeds"""
    begin: Count = 1
    """the first of them"""

    def __post_init__(self) -> None:
        check_numbers(self)


@dataclass(frozen=True)
class Mutants:
    """Grade every copy of a solution with one small change. Each must lose points, or
    be listed as equivalent with a reason in the bank's equivalent.py.

    python -m bert_experiments.grader mutants 03_softmax
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
    """put the table on its page in results"""

    def __post_init__(self) -> None:
        check_numbers(self)


@dataclass(frozen=True)
class Inputs:
    """Print, for each argument of each function, which usual kinds of input no check ever gives.

    python -m bert_experiments.grader inputs 08_embeddings
    """

    names: Positional[tuple[str, ...]] = ()
    """exercises; all, if none is named"""


@dataclass(frozen=True)
class Handout:
    """Write the copy for students: no solutions, no bank, one commit. `make handout OUT=copy`."""

    out: Positional[Path]
    """an empty folder, or one that does not exist yet"""


@dataclass(frozen=True)
class Release:
    """Add solutions to a copy for students, and commit them there.

    python -m bert_experiments.grader release --week 2 --out copy
    """

    out: Path
    """the copy"""
    names: Positional[tuple[str, ...]] = ()
    """exercises, such as 03 04_layer_norm"""
    week: str = ""
    """those of a week of course.toml, or of TEACHING.md where there is none"""


@dataclass(frozen=True)
class Gradescope:
    """Write the zip that Gradescope takes as an autograder: these exercises, without solutions.

    python -m bert_experiments.grader gradescope 03-05 --out week2.zip"""

    exercises: Positional[str | None] = None
    """a list such as 03-05,10"""
    week: str | None = None
    """the exercises of this week of course.toml, in place of a list"""
    out: Path = Path("autograder.zip")
    """the file to write"""

    def run(self) -> None:
        course = find_course()
        if course.variants:
            raise UserError(f"{COURSE} has variants = true: Gradescope's autograder does not know "
                            "whose file it grades; grade with bert-grade")  # fmt: skip
        exercises = chosen(course, self.week, self.exercises)
        if exercises is None:
            raise UserError("which exercises? Write 03-05, or --week 3 of course.toml")
        gradescope.write_bundle(self.out, exercises, seed=course.seed)
        print(f"{self.out}: {len(exercises)} exercises, to be uploaded as the autograder")


@dataclass(frozen=True)
class Variants:
    """Print the defaults that each student's answers have, where course.toml says variants = true.

    python -m bert_experiments.grader variants --roster roster.csv > variants.csv"""

    roster: Path
    """who is in the class"""

    def run(self) -> None:
        course = find_course()
        if not (course.variants and course.seed):
            raise UserError(f"{COURSE} has no secret seed and variants = true: write both into it")
        people = read_roster(self.roster, course).people.values()
        rows = table_of_defaults(course, ((person.id, person.name) for person in people))
        csv.writer(sys.stdout, lineterminator="\n").writerows(rows)


def table_of_defaults(course: Course, students: Iterable[tuple[str, str]]) -> list[list[str]]:
    """A row of each student, id and name: the number, and the defaults that follow from it."""
    head = [f"{name}: {argument}" for name, (argument, *_) in OWN_DEFAULTS.items()]
    rows = [["id", "name", "variant", *head]]
    for student, name in students:
        number = course.variant_of(student)
        own = [f"{default_of(exercise, number):g}" for exercise in OWN_DEFAULTS]
        rows.append([student, name, str(number), *own])
    return rows


def generate(exercise: Exercise) -> bool:
    """Write the starter; tells whether it changed."""
    text = starter_of(exercise.solution.read_text(encoding="utf-8"))
    if exercise.starter.is_file() and exercise.starter.read_text(encoding="utf-8") == text:
        return False
    exercise.folder.mkdir(parents=True, exist_ok=True)
    write_atomically(exercise.starter, text)
    return True


def hashes_of_starters() -> str:
    """By which an untouched starter is known where there are no solutions to make it of."""
    texts = {e.name: e.starter.read_text(encoding="utf-8") for e in (READY, *CATALOGUE)}
    found = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
    return json.dumps(found, indent=2) + "\n"


@command
def main() -> None:
    choice = tyro.cli(
        Generate
        | Bank
        | Repeat
        | Mutants
        | Inputs
        | Promises
        | Guide
        | Handout
        | Release
        | Gradescope
        | Variants,
        prog="python -m bert_experiments.grader",
    )
    if isinstance(choice, Generate):
        for exercise in (READY, *CATALOGUE, *local()):
            if exercise.solution.is_file() and generate(exercise):
                print(f"wrote {exercise.starter.relative_to(ROOT)}")
        write_atomically(STARTERS, hashes_of_starters())
    elif isinstance(choice, Bank):
        bank.run_bank(list(choice.names), in_child=choice.isolated, show=choice.show,
                      publish=choice.table, seed=choice.seed)  # fmt: skip
    elif isinstance(choice, Mutants):
        from bert_experiments.grader.mutation_score import run_mutants  # not on Windows

        run_mutants(list(choice.names), only=choice.only, every=choice.every, jobs=choice.jobs,
                    show=choice.show, publish=choice.table)  # fmt: skip
    elif isinstance(choice, Inputs):
        inputs.run_inputs(list(choice.names))
    elif isinstance(choice, Promises):
        promises.write_page()
    elif isinstance(choice, Guide):
        guide.write_guide(choice.out)
    elif isinstance(choice, Handout):
        handout.hand_out(choice.out)
    elif isinstance(choice, Gradescope | Variants):
        choice.run()
    elif isinstance(choice, Release):
        weekly = handout.exercises_of_week(choice.week) if choice.week else []
        handout.release([*choice.names, *weekly], choice.out)
    else:
        bank.repeat(list(choice.names), seeds=choice.seeds, begin=choice.begin)


if __name__ == "__main__":
    main()
