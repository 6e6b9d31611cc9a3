"""Runs the tests of an exercise on one file of a student, and reports what each was worth. Which
tests there are is read from our own tree: one that was not run, or reported twice, scores nothing.
"""

import ast
import codecs
import contextlib
import functools
import hashlib
import io
import json
import math
import re
import signal
import sys
import time
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from autograder import checks
from autograder.checks import CheckFailed
from autograder.codec import drawing_from
from autograder.points import READY, STARTERS, Check, Exercise, all_present, checks_of, worth
from autograder.student import Call, CallLog, LocalTransport, Student, StudentError, Transport
from autograder.worker import load
from bert_run.errors import UserError
from bert_run.files import write_atomically

PASSED, FAILED, TO_DO, BLOCKED, NOT_RUN = "passed", "failed", "to do", "blocked", "not run"
ENCODINGS = {"utf-8", "utf-8-sig", "ascii", "iso8859-1", "iso8859-15", "cp1252"}
ANSWER = re.compile(r"^(?P<indent> *)# begin solution\n(?P<body>.*?)^ *# end solution\n",
                    re.MULTILINE | re.DOTALL)  # fmt: skip
ALWAYS = {*sys.stdlib_module_names, "jaxtyping", "typing_extensions"}  # may every file import
BY_NAME = {"import_module", "__import__", "find_spec"}
LIKELY = re.compile(r"\n  likely mistake: (.*)$", re.MULTILINE)  # a student's lines stand deeper
TOO_LARGE = "comparing this answer takes too long: is it larger than asked for?"


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
    """A file as Python reads it. Raises `SyntaxError` or `UnicodeDecodeError`."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(file).readline)
    if codecs.lookup(encoding).name not in ENCODINGS:  # of the others some take hours
        raise SyntaxError(f"encoding {encoding}")
    return io.StringIO(file.decode(encoding), newline=None).read()


def is_untouched(exercise: Exercise, file: bytes) -> bool:
    """Whether a file is the starter: by its hash, or in a class's own exercise by the solution."""
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
    them, the lines below it, without their leading `# `, take the place of the answer."""

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


@functools.lru_cache(maxsize=1)  # each check of a file asks
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
            elif isinstance(node, ast.Call):
                given = [*node.args, *(keyword.value for keyword in node.keywords)]
                if getattr(node.func, "attr", getattr(node.func, "id", None)) in BY_NAME and given:
                    found.append(getattr(given[0], "value", None))
            elif isinstance(node, ast.Subscript) and getattr(node.value, "attr", "") == "modules":
                found.append(getattr(node.slice, "value", None))
    except (SyntaxError, ValueError):
        return set()
    except (RecursionError, MemoryError):
        found.append("what is nested too deeply to be read")
    return {name.split(".")[0] for name in found if type(name) is str}


def judge(check: Check, error: BaseException | None) -> Outcome:
    """What an exception of a test, or none, says about the student's answer."""
    if error is None:
        return Outcome(check.id, PASSED)
    if not isinstance(error, StudentError | CheckFailed):
        kind = type(error).__name__
        return Outcome(check.id, FAILED, f"the answer could not be compared: {kind}: {error}")
    if isinstance(error, StudentError) and error.function in check.functions[:-1]:
        return Outcome(check.id, BLOCKED, f"blocked by {error.function}: {error}")
    return Outcome(check.id, TO_DO if getattr(error, "to_do", False) else FAILED, str(error))


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


def first_named(exercise: Exercise, outcomes: list[Outcome]) -> list[Outcome]:
    """The likely mistake of a function is the first that a check names: what follows from it looks
    like others to later, narrower checks, and these guesses are left out."""
    functions = {name for check in checks_of(exercise) for name in check.touches}
    named: dict[str, str] = {}
    told = []
    for outcome in outcomes:
        if found := LIKELY.search(outcome.message):
            words = re.findall(r"\w+", outcome.message)[:3]  # "blocked by softmax_forward: …"
            about = next((word for word in words if word in functions), outcome.id)
            if named.setdefault(about, found[1]) != found[1]:
                outcome = replace(outcome, message=LIKELY.sub("", outcome.message))
        told.append(outcome)
    return told


def those_that_count(passed: list[Check]) -> list[Check]:
    """Of the checks that pass. Answers to inputs that never change can be looked up: such a check
    counts only for functions that also pass one with drawn inputs. A function that does nothing is
    fast and leaves nothing behind: that counts only beside a right answer."""
    shown = {f for check in passed if check.is_drawn and not check.of_manners
             for f in check.touches}  # fmt: skip
    counted = [check for check in passed if check.is_drawn or shown & (check.touches or shown)]
    return [] if all(check.of_manners for check in counted) else counted


def grade(exercise: Exercise, path: Path, *, transport: Transport | None = None, seed: int = 0,
          variant: int = 0, seconds: float = math.inf, only: str = "",
          tell: Callable[[Outcome], None] = lambda outcome: None) -> list[Outcome]:  # fmt: skip
    """Run the tests of an exercise, or `only` the one of this name, here or through `transport`.

    Their inputs are drawn from `seed`: with 0 those that every student sees at home. `variant` is
    the student's number, where each has defaults of their own. All comparisons together may take
    `seconds` of a processor. `tell` hears of each outcome when it is there."""
    if reason := obstacle(exercise, path):
        return for_all_checks(exercise, reason.outcome, reason.message)
    student, outcomes = Student(path, transport or LocalTransport(path)), []
    try:
        with drawing_from(seed, variant=variant):
            tests = load(exercise.test)
            for check in checks_of(exercise):
                if only in ("", check.id):
                    start, outcome = time.process_time(), Outcome(check.id, FAILED, TOO_LARGE)
                    with contextlib.suppress(ComparesTooLong, RecursionError), limited(seconds):
                        outcome = judge(check, run(getattr(tests, check.id), student))
                    outcomes.append(outcome)
                    tell(outcome)
                    seconds = max(0.01, seconds - (time.process_time() - start))
    finally:
        student._transport.close()
    return settled(exercise, outcomes)


def run(test: Callable[[Student], None], student: Student, seed: int = 0) -> BaseException | None:
    """What the test raises, or None. Its message says how to try the call again: no secret seed."""
    log = student._log = CallLog()
    try:
        checks.passed = log.pass_check
        with np.errstate(all="ignore"):  # the wrong answers that we compare with overflow
            test(student)
    except CheckFailed as error:
        calls = log.candidates(error.out)
        after = f"after {calls[-1]}\n" if len(set(map(str, calls))) == 1 else ""
        return CheckFailed(f"{after}{error}\n  {to_try(test, calls, seed)}", error.out)
    except StudentError as error:
        if not error.to_do and log.last:
            error.args = (f"{error}\n  {to_try(test, [log.last], seed)}",)
        return error
    except Exception as error:
        answer, call = log.calls[-1] if log.calls else (error, None)
        if answer is not None:
            return error
        told = f"{call} returned None: is a `return` missing?\n  {to_try(test, [call], seed)}"
        return CheckFailed(told)
    return None


def to_try(test: Callable[[Student], None], calls: list[Call], seed: int) -> str:
    """How the call that failed can be made again: as Python if it is short, else by a command."""
    exercise = Path(test.__code__.co_filename).parent.name
    command = f"python -m autograder again {exercise} {test.__name__.removeprefix('test_')}"
    command += f" --seed {seed}" * bool(seed)
    code = calls[0].as_python() if len(calls) == 1 else ""
    return f"to try it: {code or command}"


class ComparesTooLong(BaseException):
    """No check catches it."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `ComparesTooLong` once this process has computed for so long; in its main thread. Where
    that is caught, as in a student's function called here, it is raised again a second later."""
    if seconds == math.inf:
        yield
        return

    def stop(*_) -> None:
        raise ComparesTooLong

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


# What a run was worth: as a table to read, as `report.json`, as Gradescope's results.

Report = dict[str, Any]


def make_report(outcomes: dict[str, list[Outcome]], counted: list[str] | None = None) -> Report:
    """The report of a run, from the outcomes of each exercise that was run: of the exercises that
    are `counted`, or of all. One that was not run scores nothing."""
    exercises = []
    for exercise in all_present():
        name = exercise.name
        is_asked = exercise != READY or name in outcomes
        if not (is_asked if counted is None else name in counted):
            continue
        hundredths, found = worth(exercise), settled(exercise, outcomes.get(name, []))
        tests = [{"id": o.id, "points": hundredths[o.id] / 100, **vars(o)}
                 for o in first_named(exercise, found)]  # fmt: skip
        exercises.append({
            "name": name,
            "score": sum(hundredths[t["id"]] for t in tests if t["outcome"] == PASSED) / 100,
            "max_score": sum(hundredths.values()) / 100,
            "status": status([t["outcome"] for t in tests]), "tests": tests})  # fmt: skip
    # Added in hundredths, so that no rounding creeps in.
    score, best = (sum(round(100 * exercise[key]) for exercise in exercises) / 100
                   for key in ("score", "max_score"))  # fmt: skip
    return {"score": score, "max_score": best, "exercises": exercises}


def status(outcomes: list[str]) -> str:
    alike = outcomes[0] if len(set(outcomes)) == 1 else FAILED
    return alike if alike in (PASSED, TO_DO, NOT_RUN) else FAILED


def table(report: Report) -> list[str]:
    lines, shown = [], report["exercises"]
    width = max((len(e["name"]) for e in shown), default=10)
    for exercise in shown:
        score, best = exercise["score"], exercise["max_score"]
        points = f"{score:6.2f} of {best:6.2f}" if best else "no points"
        lines.append(f"{exercise['name']:{width}}  {points}  {remark(exercise)}".rstrip())
    if best := report["max_score"]:
        lines.append(f"{'together':{width}}  {report['score']:6.2f} of {best:6.2f}  points")
    return lines


def remark(exercise: Report) -> str:
    """What is left in an exercise: to do, wrong, or waiting for something else."""
    if exercise["status"] in (PASSED, NOT_RUN):
        return exercise["status"]
    words, told = [], {word: [t["message"] for t in exercise["tests"] if t["outcome"] == word]
                       for word in (TO_DO, FAILED, BLOCKED, NOT_RUN)}  # fmt: skip
    if told[TO_DO]:  # of functions, or of a file as it was handed out
        functions = {m.removesuffix(" is to do") for m in told[TO_DO] if m.endswith(" is to do")}
        words.append(": ".join(filter(None, ["to do", ", ".join(sorted(functions))])))
    if told[FAILED]:
        words.append(f"{len(told[FAILED])} of {len(exercise['tests'])} checks fail")
    if told[BLOCKED]:
        by = {message.split(":")[0].removeprefix("blocked by ") for message in told[BLOCKED]}
        words.append(f"{len(told[BLOCKED])} blocked by {', '.join(sorted(by))}")
    if told[NOT_RUN]:
        words.append(f"{len(told[NOT_RUN])} not run")
    return "; ".join(words)


def is_full(report: Report) -> bool:
    """Whether every exercise passed whole; nothing run is not full."""
    return {exercise["status"] for exercise in report["exercises"]} == {PASSED}


def gradescope(report: Report) -> Report:
    """The same as the `results.json` that Gradescope reads."""
    output = f"{report['score']:g} of {report['max_score']:g} points"
    tests = [{
        "name": f"{exercise['name']}: {sentence(test['id'])}",
        "score": test["points"] if test["outcome"] == PASSED else 0.0,
        "max_score": test["points"],
        "status": "passed" if test["outcome"] == PASSED else "failed",
        "output": test["message"] or test["outcome"],
    } for exercise in report["exercises"] for test in exercise["tests"]]  # fmt: skip
    return {"score": report["score"], "output": output, "tests": tests}


def sentence(test_id: str) -> str:
    return test_id.removeprefix("test_").replace("_", " ")


def write_report(path: Path, report: Report) -> None:
    write_atomically(path, json.dumps(report, indent=2, ensure_ascii=False) + "\n")
