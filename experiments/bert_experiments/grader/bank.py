"""The grader graded: banks of wrong answers that must lose points, of right ones that must not.

A bank lies in `tests/exercises/bank/NN_name/`. `wrong.py` holds a dict WRONG: the name of a
mistake, the edits of the solution that make it, each (what stands there once, what stands there
then), and words of the message that names it, or None. `right_….py` holds functions written
differently, which take the place of the solution's. `caught_by.json` says which check catches each
wrong answer, so that this one is run first.
"""

import json
import runpy
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autograder.points import READY, ROOT, Exercise, checks_of, present
from autograder.runner import BLOCKED, FAILED, NOT_RUN, PASSED, TO_DO, Outcome, grade
from autograder.student import ChildTransport
from bert_run.errors import UserError
from bert_run.files import write_atomically
from bert_run.training_loop import progress_bar

BANK = ROOT / "tests" / "exercises" / "bank"
PAGE = ROOT / "results" / "grader.md"
CAUGHT = "caught_by.json"
BEGIN, END = "<!-- python -m bert_experiments.grader {} --table -->", "<!-- end of the table -->"


@dataclass(frozen=True)
class Variant:
    """An answer of the bank; a right one has no mistake to be named."""

    exercise: Exercise
    name: str
    is_right: bool
    text: str
    says: str | None = None
    caught_by: str = ""  # the check, so far as it is known

    def is_named_by(self, outcome: Outcome) -> bool:
        return bool(self.says) and self.says in outcome.message

    def is_decided_by(self, outcome: Outcome) -> bool:
        """Whether no other test can change what the bank asks: a wrong answer has lost points, and
        its mistake has been named if it is to be."""
        has_lost = not self.is_right and outcome.outcome != PASSED
        return has_lost and (self.says is None or self.is_named_by(outcome))


@dataclass(frozen=True)
class Verdict:
    """What the grader made of a variant."""

    variant: Variant
    outcomes: list[Outcome]

    @property
    def is_full(self) -> bool:
        return all(outcome.outcome == PASSED for outcome in self.outcomes)

    @property
    def is_named(self) -> bool:
        return any(self.variant.is_named_by(outcome) for outcome in self.outcomes)

    @property
    def is_as_wanted(self) -> bool:
        """Whether a right answer has full marks; whether a wrong one has not, and is told so in the
        words that the bank gives, if it gives any."""
        if self.variant.is_right:
            return self.is_full
        return not self.is_full and (self.variant.says is None or self.is_named)

    @property
    def messages(self) -> list[str]:
        return [f"{o.id}: {o.message}" for o in self.outcomes if o.outcome != PASSED]


def variants(exercise: Exercise) -> list[Variant]:
    """The bank of an exercise; empty if it has none."""
    folder = exercise.solution.parent if exercise.is_local else BANK / exercise.name
    solution = exercise.solution.read_text(encoding="utf-8")
    catches = json.loads(file.read_text("utf-8")) if (file := folder / CAUGHT).is_file() else {}
    check_of = {name: check for check, names in catches.items() for name in names}
    found = []
    if (folder / "wrong.py").is_file():
        for name, (edits, says) in runpy.run_path(str(folder / "wrong.py"))["WRONG"].items():
            text = edited(solution, edits, name)
            found.append(Variant(exercise, name, False, text, says, check_of.get(name, "")))
    for path in sorted(folder.glob("right_*.py")):
        text = f"{solution}\n\n{path.read_text(encoding='utf-8')}"  # the later function counts
        found.append(Variant(exercise, path.stem.removeprefix("right_"), True, text))
    return found


def edited(text: str, edits: list[tuple[str, str]], name: str) -> str:
    for old, new in edits:
        if text.count(old) != 1:
            raise UserError(f"{name}: {old!r} stands {text.count(old)} times in the solution, "
                            "not once: make the edit longer")  # fmt: skip
        text = text.replace(old, new)
    return text


def grade_in_child(exercise: Exercise, path: Path, **more) -> list[Outcome]:
    """`grade` with the student's code in a plain process of its own."""
    return grade(exercise, path, transport=ChildTransport(path), **more)


def try_out(variant: Variant, /, grader: Callable[..., list[Outcome]] = grade, **more) -> Verdict:
    """Hand in a variant as a student's file. `more` are arguments of the grader."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        path = Path(folder) / variant.exercise.file
        path.write_text(variant.text, encoding="utf-8")
        warnings.simplefilter("ignore")  # wrong answers overflow, and NumPy says so
        return Verdict(variant, grader(variant.exercise, path, **more))


def try_out_until_decided(variant: Variant, grader: Callable[..., list[Outcome]] = grade, **more
                          ) -> Verdict:  # fmt: skip
    """The same, but only with the check that catches the variant, if that decides what the bank
    asks. A right answer passes all of them."""
    verdict = try_out(variant, grader, only=variant.caught_by, **more)
    is_decided = any(variant.is_decided_by(outcome) for outcome in verdict.outcomes
                     if outcome.outcome in (FAILED, TO_DO))  # fmt: skip
    return verdict if is_decided or not variant.caught_by else try_out(variant, grader, **more)


def write_caught_by(verdicts: list[Verdict]) -> None:
    """Keep which check has caught each wrong answer of an exercise, in the order of its checks."""
    catches: dict[str, list[str]] = {
        check.id: [] for check in checks_of(verdicts[0].variant.exercise)
    }
    for verdict in verdicts:
        deciding = [o for o in verdict.outcomes if verdict.variant.is_decided_by(o)]
        deciding.sort(key=lambda o: [FAILED, TO_DO, BLOCKED, NOT_RUN].index(o.outcome))
        if deciding and deciding[0].outcome != NOT_RUN:
            catches[deciding[0].id].append(verdict.variant.name)
    text = json.dumps({check: names for check, names in catches.items() if names}, indent=1,
                      ensure_ascii=False)  # fmt: skip
    write_atomically(BANK / verdicts[0].variant.exercise.name / CAUGHT, text + "\n")


def rows(verdicts: list[Verdict]) -> list[str]:
    """The table of kills, a row an exercise, as Markdown."""
    counts = {}
    for exercise in dict.fromkeys(v.variant.exercise for v in verdicts):
        own = [v for v in verdicts if v.variant.exercise == exercise]
        wrong, right = ([v for v in own if v.variant.is_right == is_] for is_ in (False, True))
        lost, named = sum(not v.is_full for v in wrong), sum(v.is_named for v in wrong)
        counts[exercise.name] = (len(wrong), lost, named, len(right), sum(v.is_full for v in right))
    return table(("wrong answers", "lose points", "named", "right answers", "full marks"), counts)


def table(columns: tuple[str, ...], counts: dict[str, tuple[int, ...]]) -> list[str]:
    """Numbers of each exercise and their sums, as Markdown."""
    together = tuple(map(sum, zip(*counts.values(), strict=True)))
    return [f"| exercise | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|",
            *(f"| {name} | {' | '.join(map(str, numbers))} |"
              for name, numbers in {**counts, "together": together}.items())]  # fmt: skip


def published(what: str) -> tuple[str, str, str]:
    """The page of results: what stands before the table of the bank or of the mutants, the
    table, and what stands after it."""
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN.format(what))
    table, end, after = rest.partition(END)
    if not begin or not end:
        raise UserError(f"{PAGE}: no table between {BEGIN.format(what)} and {END}: write both")
    return before + begin, table, end + after


def publish_table(what: str, lines: list[str]) -> None:
    before, _, after = published(what)
    write_atomically(PAGE, "\n".join([before, "", *lines, "", after]))


def chosen_exercises(names: list[str] | tuple[str, ...]) -> list[Exercise]:
    """Those of the names; all, if there are none."""
    every = [READY, *present()]
    if unknown := sorted(set(names) - {e.name for e in every}):
        raise UserError(f"no exercise is called {', '.join(unknown)}: they are called like "
                        f"{present()[0].name}")  # fmt: skip
    return [e for e in every if (e.name in names if names else e.points and not e.is_local)]


def run_bank(
    names: list[str], *, in_child: bool = False, show: bool = False, publish: bool = False,
    seed: int = 0,
) -> None:  # fmt: skip
    """Try all variants of the named exercises (all, if none is named) and print the table;
    `publish` also puts it on the page of results, and keeps which check catches each.

    A wrong answer that keeps its points or is not told what the bank says of it, and a right one
    that loses some, is printed with what the grader said; `show` prints the messages of all.
    """
    chosen = chosen_exercises(names)
    if publish and names:
        raise UserError("--table is that of all exercises: name none")
    verdicts = []
    every = [variant for exercise in chosen for variant in variants(exercise)]
    with progress_bar(len(every), "answers", unit="answer") as bar:
        for variant in every:
            grader = grade_in_child if in_child else grade
            verdict = (try_out if show else try_out_until_decided)(variant, grader, seed=seed)
            verdicts.append(verdict)
            if show or not verdict.is_as_wanted:
                kind = "right" if variant.is_right else "wrong"
                marks = "full marks" if verdict.is_full else "loses points"
                bar.write(f"{variant.exercise.name}, {kind}: {variant.name} ({marks})")
                bar.write("".join(f"    {message}\n" for message in verdict.messages))
            bar.update()
    print("\n".join(rows(verdicts)))
    if wrongly := sum(not verdict.is_as_wanted for verdict in verdicts):
        raise UserError(f"{wrongly} variants are graded wrongly: they stand above")
    if publish:
        publish_table("bank", rows(verdicts))
        for exercise in chosen:
            write_caught_by([v for v in verdicts if v.variant.exercise == exercise])


def repeat(names: list[str], *, seeds: int, begin: int = 1) -> None:
    """Grade the solution and every right answer of the exercises with other inputs each time: those
    of so many secret seeds, from `begin` on."""
    right = []
    for exercise in chosen_exercises(names):
        solution = exercise.solution.read_text(encoding="utf-8")
        right.append(Variant(exercise, "solution", True, solution))
        right += [variant for variant in variants(exercise) if variant.is_right]
    failures = 0
    with progress_bar(len(right) * seeds, "right answers", unit="run") as bar:
        for variant in right:
            of_this, name = 0, f"{variant.exercise.name}, {variant.name}"
            for seed in range(begin, begin + seeds):
                verdict = try_out(variant, grade, seed=seed)
                if not verdict.is_full:
                    of_this += 1
                    bar.write(f"{name}, seed {seed}")
                    bar.write("".join(f"    {message}\n" for message in verdict.messages))
                bar.update()
            bar.write(f"{name}: {seeds} seeds, {of_this} failures")
            failures += of_this
    if failures:
        raise UserError(f"{failures} runs of right answers failed: a bound is too narrow")
