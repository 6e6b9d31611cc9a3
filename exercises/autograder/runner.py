"""Runs the tests of an exercise on one file of a student, and says what became of each.

Trusted: which tests there are and what they are worth is read from our own tree. A test that was
not run, or was reported twice, scores nothing.
"""

import ast
import contextlib
import functools
import hashlib
import importlib.util
import io
import json
import math
import re
import signal
import sys
import time
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

from autograder import checks
from autograder.checks import CheckFailed
from autograder.codec import drawing_from
from autograder.points import STARTERS, Check, Exercise, checks_of
from autograder.student import (
    Call,
    CallLog,
    LocalTransport,
    Student,
    StudentError,
    Transport,
)
from bert_run.errors import UserError

PASSED, FAILED, TO_DO, BLOCKED, NOT_RUN = "passed", "failed", "to do", "blocked", "not run"
ENCODINGS = {"utf-8", "utf-8-sig", "ascii", "iso-8859-1", "iso-8859-15", "cp1252"}
ANSWER = re.compile(
    r"^(?P<indent> *)# begin solution\n(?P<body>.*?)^ *# end solution\n", re.MULTILINE | re.DOTALL
)
ALWAYS = {*sys.stdlib_module_names, "jaxtyping", "typing_extensions"}  # may every file import
BY_NAME = {"import_module", "__import__", "find_spec"}


@dataclass(frozen=True)
class Outcome:
    """What became of one test: the message is for the student."""

    id: str
    outcome: str
    message: str = ""


def for_all_checks(exercise: Exercise, outcome: str, message: str) -> list[Outcome]:
    return [Outcome(check.id, outcome, message) for check in checks_of(exercise)]


def obstacle(exercise: Exercise, path: Path) -> Outcome | None:
    """Why no test of this file need be run; None if they may be."""
    if not path.is_file():
        return Outcome("", NOT_RUN, f"{path.name} is missing")
    try:
        text = source_text(file := path.read_bytes())
    except (SyntaxError, UnicodeDecodeError) as error:
        return Outcome("", FAILED, f"{path.name} is not written in UTF-8, and its first lines name "
                                   f"no other encoding ({error}): save it as UTF-8")  # fmt: skip
    if is_untouched(exercise, file):
        return Outcome("", TO_DO, f"{path.name} is as it was handed out")
    if foreign := sorted(imported(text) - ALWAYS - {*exercise.libraries}):
        return Outcome("", FAILED, f"{path.name} imports {', '.join(foreign)}: write what the "
                                   f"exercise asks for yourself. {exercise.allowed}")  # fmt: skip
    return None


def source_text(file: bytes) -> str:
    """A file as Python reads it, in UTF-8 or in the encoding that its first lines name. Raises
    `SyntaxError` or `UnicodeDecodeError`."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(file).readline)
    if encoding not in ENCODINGS:  # of the others some take hours
        raise SyntaxError(f"encoding {encoding}")
    return io.StringIO(file.decode(encoding), newline=None).read()


def is_untouched(exercise: Exercise, file: bytes) -> bool:
    """Whether a file is the starter as it was handed out, by its hash; an exercise of a class's own
    has none, so it is compared with the starter that its solution gives."""
    try:
        text = source_text(file)
    except (SyntaxError, UnicodeDecodeError):
        return False
    if exercise.is_local:
        solution = exercise.solution
        return solution.is_file() and text == starter_of(solution.read_text(encoding="utf-8"))
    return hashlib.sha256(text.encode()).hexdigest() == hashes_of_starters().get(exercise.name)


@functools.cache
def hashes_of_starters() -> dict[str, str]:
    return json.loads(STARTERS.read_text(encoding="utf-8")) if STARTERS.is_file() else {}


def starter_of(solution: str) -> str:
    """The starter that belongs to a solution.

    The lines from `# begin solution` to `# end solution` are the answer. Inside a function they
    become `raise NotImplementedError`; outside they are left out. Where `# instead` stands among
    them, the lines below it, without their leading `# `, take the place of the answer.
    """

    def starter_lines(block: re.Match) -> str:
        indent = block["indent"]
        _, instead, lines = block["body"].partition(f"{indent}# instead\n")
        if instead:
            return lines.replace(f"{indent}# ", indent)
        name = re.findall(r"^ *def (\w+)", solution[: block.start()], re.MULTILINE)[-1:]
        return f'{indent}raise NotImplementedError("write {name[0]}")\n' if indent else ""

    made, blocks = ANSWER.subn(starter_lines, solution)
    if {solution.count("# begin solution"), solution.count("# end solution")} != {blocks}:
        raise UserError("`# begin solution` and `# end solution` must take turns, each in a line "
                        "of its own: close every block")  # fmt: skip
    return re.sub(r"\n{4,}", "\n\n\n", made).rstrip("\n") + "\n"


def imported(text: str) -> set[str]:
    """The packages that a file imports, also by their names in quotes, apart from those under
    `if __name__ == "__main__"`; a file that is no Python imports none."""
    found = []
    try:
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'":
                node.body = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                found.append(node.module if node.module and not node.level else "a file beside it")
            elif isinstance(node, ast.Call) and node.args:
                if ast.unparse(node.func).split(".")[-1] in BY_NAME:
                    found.append(getattr(node.args[0], "value", None))
            elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "sys.modules":
                found.append(getattr(node.slice, "value", None))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    return {name.split(".")[0] for name in found if type(name) is str}


def judge(check: Check, error: BaseException | None) -> Outcome:
    """What an exception of a test, or none, says about the student's answer."""
    if error is None:
        return Outcome(check.id, PASSED)
    if isinstance(error, StudentError):
        if error.function in check.functions[:-1]:
            return Outcome(check.id, BLOCKED, f"blocked by {error.function}: {error}")
        return Outcome(check.id, TO_DO if error.to_do else FAILED, str(error))
    if isinstance(error, CheckFailed):
        return Outcome(check.id, FAILED, str(error))
    return Outcome(check.id, FAILED, f"the answer could not be compared: {type(error).__name__}: "
                                     f"{error}")  # fmt: skip


def settled(exercise: Exercise, outcomes: list[Outcome]) -> list[Outcome]:
    """One outcome for each test that there must be, in order, whatever was reported."""
    found = {}
    for check in checks_of(exercise):
        told = [outcome for outcome in outcomes if outcome.id == check.id]
        if len(told) > 1:
            told = [Outcome(check.id, FAILED, f"was reported {len(told)} times, not once")]
        found[check] = told[0] if told else Outcome(check.id, NOT_RUN, "was not run")
    passed = [check for check, outcome in found.items() if outcome.outcome == PASSED]
    for check in set(passed) - set(those_that_count(passed)):
        found[check] = Outcome(check.id, BLOCKED, "blocked by the answer: this counts once a check "
                               "of what is returned passes that draws its inputs")  # fmt: skip
    return list(found.values())


def those_that_count(passed: list[Check]) -> list[Check]:
    """Of the checks that pass. Answers to inputs that never change can be looked up: such a check
    counts only for functions that also pass one with inputs that are drawn. And a function that
    does nothing leaves nothing behind, and is fast: that counts only beside a right answer."""
    drawn = [check for check in passed if check.is_drawn]
    shown = frozenset().union(*(check.touches for check in drawn if not check.of_manners))
    counted = [check for check in passed
               if check.is_drawn or shown & (check.touches or shown)]  # fmt: skip
    return [] if all(check.of_manners for check in counted) else counted


def grade(
    exercise: Exercise, path: Path, *, transport: Transport | None = None, seed: int = 0,
    variant: int = 0, seconds: float = math.inf, only: str = "",
    tell: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:  # fmt: skip
    """Run the tests of an exercise on a file, in this process or through `transport`; or `only` the
    one of this name.

    Their inputs are drawn from `seed`: with 0 those that every student sees at home. `variant` is
    the student's number, where each has defaults of their own. All comparisons together may take
    `seconds` of a processor. `tell` hears of each outcome when it is there.
    """
    if reason := obstacle(exercise, path):
        return for_all_checks(exercise, reason.outcome, reason.message)
    transport = transport or LocalTransport(path)
    student, outcomes = Student(path, transport), []
    try:
        with drawing_from(seed, variant=variant):
            tests = load_test(exercise)
            for check in checks_of(exercise):
                if only in ("", check.id):
                    start = time.process_time()
                    with limited(seconds):
                        outcomes.append(judge(check, run(getattr(tests, check.id), student)))
                    tell(outcomes[-1])
                    seconds = max(0.01, seconds - (time.process_time() - start))
    finally:
        transport.close()
    return settled(exercise, outcomes)


def run(test: Callable[[Student], None], student: Student) -> BaseException | None:
    """What the test raises, or None, with how to try the failing call again in its message."""
    student._log = CallLog()
    try:
        checks.watch(student._log.pass_check)
        with np.errstate(all="ignore"):  # the wrong answers that we compare with overflow
            test(student)
    except CheckFailed as error:
        calls = student._log.candidates(error.out)
        after = f"after {calls[-1]}\n" if len({str(call) for call in calls}) == 1 else ""
        return CheckFailed(f"{after}{error}\n  {to_try(test, calls)}", error.out)
    except StudentError as error:
        if not error.to_do and student._log.last:
            error.args = (f"{error}\n  {to_try(test, [student._log.last])}",)
        return error
    except ComparesTooLong:
        return CheckFailed("comparing this answer takes too long: is it larger than asked for?")
    except Exception as error:
        return error
    return None


def to_try(test: Callable[[Student], None], calls: list[Call]) -> str:
    """How the call that failed can be made again: written out where it is one short call, else
    the command that stops in it."""
    code = calls[0].as_python() if len(calls) == 1 else ""
    exercise = Path(test.__code__.co_filename).parent.name
    command = f"python -m autograder again {exercise} {test.__name__.removeprefix('test_')}"
    return f"to try it: {code or command}"


class ComparesTooLong(BaseException):
    """No check catches it."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `ComparesTooLong` once this process has computed for so long; in its main thread."""
    if seconds == math.inf:
        yield
        return

    def stop(*_) -> None:
        raise ComparesTooLong

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def load_test(exercise: Exercise) -> ModuleType:
    """The module of an exercise's tests, under a name that nothing else has."""
    name = f"test_of_{exercise.name}"
    spec = importlib.util.spec_from_file_location(name, exercise.test)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
