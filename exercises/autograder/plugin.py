"""`pytest exercises/`: grades the exercises, each in a fork of this process; with `--pdb` in this
process itself, so that a debugger works.

Each test gets `student`, whose functions are those of the student's file. At the end stands a
table; the exit status is 0 only if every exercise that was run has full marks.
"""

import gc
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.codec import drawing_from
from autograder.course import chosen, find_course
from autograder.points import READY, Check, Exercise, checks_of, find, hints_of
from autograder.report import gradescope, is_full, make_report, sentence, table, write_report
from autograder.runner import FAILED, PASSED, TO_DO, Outcome, judge, obstacle, run
from autograder.student import Student
from autograder.transports import (
    ChildTransport,
    LocalTransport,
    Transport,
    can_fork,
    use_one_thread,
)
from bert_run.errors import UserError


def pytest_configure(config: pytest.Config) -> None:
    folder = config.getoption("--submission")
    if folder and config.getoption("--solutions"):
        raise pytest.UsageError("--solutions and --submission name two things to grade: take one")
    if folder and not folder.is_dir():
        raise pytest.UsageError(f"--submission {folder}: there is no such folder")
    try:
        course = find_course()
        asked = chosen(course, config.getoption("--week"), config.getoption("--exercises"))
    except UserError as error:
        raise pytest.UsageError(str(error)) from None
    if can_fork():
        use_one_thread()
    variant = config.getoption("--variant") or course.variant
    seeded = drawing_from(config.getoption("--seed"), variant=variant)
    seeded.__enter__()
    config.add_cleanup(lambda: seeded.__exit__(None, None, None))
    config.pluginmanager.register(Grading(config, asked), "grading")


def exercise_of(item: pytest.Item) -> Exercise | None:
    """The exercise that a test belongs to; None for a test of something else."""
    exercise = find(item.path.parent.name)
    return exercise if exercise and exercise.test.resolve() == item.path.resolve() else None


class Grading:
    """One run: which files are graded, and what became of each test. `asked` are the exercises
    that --week or --exercises name; None for all."""

    def __init__(self, config: pytest.Config, asked: list[Exercise] | None) -> None:
        self.config = config
        self.chosen = None if asked is None else [exercise.name for exercise in asked]
        self.students: dict[str, Student] = {}
        self.outcomes: dict[str, list[Outcome]] = {}
        self.is_ready_left_out = False

    @property
    def shown(self) -> list[str]:
        """The exercises that must have full marks: those that were asked for, or all that ran."""
        return self.chosen or list(self.outcomes)

    def file_of(self, exercise: Exercise) -> Path:
        """The file to grade: in its folder, or where `--submission` has it, as here or beside the
        others."""
        if self.config.getoption("--solutions"):
            return exercise.solution
        folder = self.config.getoption("--submission")
        if not folder:
            return exercise.starter
        places = [folder.resolve() / below / exercise.file
                  for below in (exercise.name, f"exercises/{exercise.name}", "")]  # fmt: skip
        return next((place for place in places if place.is_file()), places[0])

    @pytest.fixture
    def student(self, request: pytest.FixtureRequest) -> Student:
        """The functions of the file that is graded."""
        exercise = exercise_of(request.node)
        if exercise is None:
            raise pytest.UsageError(f"{request.node.path} belongs to no exercise")
        if exercise.name not in self.students:
            for other in self.students.values():  # its process; another call would start a new one
                other._transport.close()
            path = self.file_of(exercise)
            self.students[exercise.name] = Student(path, self.transport(path))
        return self.students[exercise.name]

    def transport(self, path: Path) -> Transport:
        """Where the student's code runs: in a process of its own, so that nothing it does can
        change a check or the exit status; in this one only for a debugger."""
        if self.config.getoption("usepdb") or self.config.getoption("trace"):
            return LocalTransport(path)
        return ChildTransport(path, fork=can_fork() and not self.config.getoption("--isolated"))

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Leave out the folders of exercises that --week or --exercises do not name, and `READY`,
        unless the call names its folder."""
        if collection_path == READY.folder:
            self.is_ready_left_out = True
            return True
        is_left_out = self.chosen is not None and find(collection_path.name)
        return True if is_left_out and collection_path.name not in self.chosen else None

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self):
        """What is loaded with the tests, above all torch, stays to the end: to look there for
        garbage, here and in each fork, would only take time."""
        gc.disable()
        try:
            return (yield)
        finally:
            gc.freeze()
            gc.enable()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Unless other tests run too, a failed check is shown once, as a message, with no list of
        their names at the end; and the plugin of hypothesis, which takes a second to load its
        package when all is done, has nothing to say."""
        if session.items and all(map(exercise_of, session.items)):
            plugins = self.config.pluginmanager
            plugins.get_plugin("terminalreporter").reportchars = ""
            if plugins.has_plugin("hypothesispytest"):
                plugins.unregister(name="hypothesispytest")

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Run the test, unless it is plain that there is nothing to run."""
        exercise = exercise_of(pyfuncitem)
        if exercise is None:
            return None
        reason = obstacle(exercise, self.file_of(exercise))
        if reason:
            raise Settled(reason)
        if error := run(pyfuncitem.obj, pyfuncitem.funcargs["student"]):
            raise error
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo):
        report = yield
        exercise = exercise_of(item)
        if exercise is None or (report.when != "call" and not report.failed):
            return report
        outcome = self.outcome_of(exercise, item.name, call)
        self.outcomes.setdefault(exercise.name, []).append(outcome)
        report.graded = outcome.outcome
        if outcome.outcome != PASSED:
            report.outcome = "failed"
            # The inside of the check is not what a student wants to read.
            report.longrepr = f"{sentence(outcome.id)}\n{outcome.message}"
        return report

    def outcome_of(self, exercise: Exercise, name: str, call: pytest.CallInfo) -> Outcome:
        check = next((c for c in checks_of(exercise) if c.id == name), Check(name, 0, ()))
        error = call.excinfo.value if call.excinfo else None
        if isinstance(error, Settled):
            return replace(error.args[0], id=name)
        return judge(check, error)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report):
        """What is to do is no failure to read about: one letter, and a line in the table."""
        if getattr(report, "graded", None) == TO_DO:
            return "to do", "t", "TO DO"
        return None

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        for student in self.students.values():
            student._transport.close()
        if self.config.getoption("--collect-only"):
            return
        if path := self.config.getoption("--report"):
            write_report(path, make_report(self.outcomes, self.chosen))
        if path := self.config.getoption("--gradescope"):
            write_report(path, gradescope(make_report(self.outcomes, self.chosen)))
        if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            full = is_full(make_report(self.outcomes, self.shown))
            session.exitstatus = int(not full or exitstatus != pytest.ExitCode.OK)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.outcomes:
            return
        terminalreporter.section("exercises")
        lines = table(make_report(self.outcomes, self.shown))
        if self.is_ready_left_out and not self.chosen:
            lines.append(f"{READY.name} is what you should know before, without points: "
                         f"pytest exercises/{READY.name}")  # fmt: skip
        lines += starting_points(self.outcomes) + self.hints(self.config.getoption("--hints"))
        for line in lines:
            terminalreporter.write_line(line)

    def hints(self, number: int) -> list[str]:
        """So many hints for every exercise that is not yet right: those for the checks that fail
        first, then the others from the first on."""
        lines = []
        for name, outcomes in self.outcomes.items():
            if number > 0 and any(o.outcome != PASSED for o in outcomes):
                lines += ["", f"hints for {name}:"]
                for title, text in fitting_hints(find(name), outcomes)[:number]:
                    lines.append(f"  {title}: {' '.join(text.split())}")
        return lines


class Settled(Exception):
    """There was nothing to run; the argument is the `Outcome` of `obstacle`."""


def starting_points(outcomes: dict[str, list[Outcome]]) -> list[str]:
    """Where several checks of an exercise fail, the first that names a likely mistake: one cause
    makes many checks fail, and not every one of them can tell it."""
    lines = []
    for name, ones in outcomes.items():
        failed = [one for one in ones if one.outcome == FAILED]
        known = [one for one in failed if "likely mistake" in one.message]
        if len(failed) > 1 and known:
            lines.append(
                f"{name}: begin with “{sentence(known[0].id)}”, which has a likely mistake"
            )
    return lines


def fitting_hints(exercise: Exercise, outcomes: list[Outcome]) -> list[tuple[str, str]]:
    """All hints of an exercise, those that its failing checks are marked with first. The sketch of
    the whole answer stays the last of them all."""
    hints = hints_of(exercise)
    marks = {check.id: check.hint for check in checks_of(exercise)}
    failing = [marks.get(one.id, 0) for one in outcomes if one.outcome == FAILED]
    first = [number for number in dict.fromkeys(failing) if 0 < number < len(hints)]
    order = first + [number for number in range(1, len(hints) + 1) if number not in first]
    return [hints[number - 1] for number in order]
