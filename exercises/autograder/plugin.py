"""`pytest exercises/`: grades the exercises, each in a fork of this process, with `--pdb` in it.
Tests get the student's functions as `student`. At the end stands a table; the exit status is 0 only
if every exercise that was run has full marks."""

import gc
from dataclasses import replace
from pathlib import Path

import pytest

from autograder import runner
from autograder.codec import drawing_from
from autograder.course import chosen, find_course
from autograder.points import READY, Exercise, checks_of, find, hints_of
from autograder.student import ChildTransport, LocalTransport, Student, use_one_thread
from bert_run.errors import UserError


def pytest_configure(config: pytest.Config) -> None:
    folder = config.getoption("--submission")
    if folder and config.getoption("--solutions"):
        raise pytest.UsageError("--solutions and --submission name two things to grade: take one")
    if folder and not folder.is_dir():
        raise pytest.UsageError(f"--submission {folder}: there is no such folder")
    for option in ("--report", "--gradescope"):
        if (path := config.getoption(option)) and not path.parent.is_dir():
            raise pytest.UsageError(f"{option} {path}: there is no folder {path.parent}: make it")
        if path and path.is_dir():
            raise pytest.UsageError(f"{option} {path}: that is a folder: name a file in it")
    if (report := config.getoption("--report")) and report == config.getoption("--gradescope"):
        raise pytest.UsageError(f"--report and --gradescope both name {report}: name two files")
    if not 0 <= (seed := config.getoption("--seed")) < 2**32:
        raise pytest.UsageError(f"--seed {seed}: it must be from 0 to {2**32 - 1}")
    if config.getoption("dist", "no") != "no":
        raise pytest.UsageError("grading needs one process: call pytest with -n 0")
    try:
        course = find_course()
        asked = chosen(course, config.getoption("--week"), config.getoption("--exercises"))
    except UserError as error:
        raise pytest.UsageError(str(error)) from None
    use_one_thread()
    seeded = drawing_from(seed, variant=course.variant)
    seeded.__enter__()
    config.add_cleanup(lambda: seeded.__exit__(None, None, None))
    config.pluginmanager.register(Grading(config, asked), "grading")


def exercise_of(item: pytest.Item) -> Exercise | None:
    """The exercise that a test belongs to; None for a test of something else."""
    exercise = find(item.path.parent.name)
    return exercise if exercise and exercise.test.resolve() == item.path.resolve() else None


class Grading:
    """One run: files and outcomes. `asked` are the exercises that options name; None for all."""

    def __init__(self, config: pytest.Config, asked: list[Exercise] | None) -> None:
        self.config = config
        self.chosen = None if asked is None else [exercise.name for exercise in asked]
        self.current: Student | None = None
        self.outcomes: dict[str, list[runner.Outcome]] = {}

    @property
    def shown(self) -> list[str]:
        """The exercises that must have full marks: those that were asked for, or all that ran."""
        return self.chosen or list(self.outcomes)

    def file_of(self, exercise: Exercise) -> Path:
        """The file to grade; a submission may hold it as the course does, or all in one folder."""
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
        """The functions of the file that is graded. They run in a process of its own, so that
        nothing they do can change a check or the exit status; in this one only for a debugger."""
        exercise = exercise_of(request.node)
        if exercise is None:
            raise pytest.UsageError(f"{request.node.path} belongs to no exercise")
        path = self.file_of(exercise)
        if self.current is None or self.current._path != path:
            self.close()
            is_debugged = self.config.getoption("usepdb") or self.config.getoption("trace")
            transport = LocalTransport(path) if is_debugged else ChildTransport(path)
            self.current = Student(path, transport)
        return self.current

    def close(self) -> None:
        """End the process of the exercise before."""
        if self.current:
            self.current._transport.close()

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Leave out exercises that options do not ask for, and `READY` unless the call names it."""
        name = collection_path.name
        is_left_out = self.chosen is not None and find(name) and name not in self.chosen
        return True if is_left_out or collection_path == READY.folder else None

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self):
        """No search for garbage looks at what was loaded with the tests, also in a fork."""
        gc.disable()
        try:
            return (yield)
        finally:
            gc.freeze()
            gc.enable()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """List no failed test twice, and save the second that hypothesis's report takes."""
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
        if reason := runner.obstacle(exercise, self.file_of(exercise)):
            pyfuncitem.outcome = replace(reason, id=pyfuncitem.name)
            return True
        check = next(check for check in checks_of(exercise) if check.id == pyfuncitem.name)
        seed = self.config.getoption("--seed")
        error = runner.run(pyfuncitem.obj, pyfuncitem.funcargs["student"], seed=seed)
        pyfuncitem.outcome = runner.judge(check, error)
        if error:
            raise error
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo):
        report = yield
        exercise = exercise_of(item)
        if exercise is None or (report.when != "call" and not report.failed):
            return report
        lost = runner.Outcome(item.name, runner.FAILED, str(call.excinfo))
        outcome = getattr(item, "outcome", lost)
        self.outcomes.setdefault(exercise.name, []).append(outcome)
        outcome = runner.first_named(exercise, self.outcomes[exercise.name])[-1]
        report.graded = outcome.outcome
        if outcome.outcome != runner.PASSED:
            report.outcome = "failed"
            # The inside of the check is not what a student wants to read.
            report.longrepr = f"{runner.sentence(outcome.id)}\n{outcome.message}"
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report):
        """What is to do is no failure to read about: one letter, and a line in the table."""
        if getattr(report, "graded", None) == runner.TO_DO:
            return "to do", "t", "TO DO"
        return None

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        self.close()
        if self.config.getoption("--collect-only"):
            return
        for option, form in (("--report", dict), ("--gradescope", runner.gradescope)):
            if path := self.config.getoption(option):
                runner.write_report(path, form(runner.make_report(self.outcomes, self.chosen)))
        if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            full = runner.is_full(runner.make_report(self.outcomes, self.shown))
            session.exitstatus = int(not full or exitstatus != pytest.ExitCode.OK)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.outcomes:
            terminalreporter.section("exercises")
            for line in runner.table(runner.make_report(self.outcomes, self.shown)) + self.hints():
                terminalreporter.write_line(line)

    def hints(self) -> list[str]:
        """As many as --hints asks for, of every exercise that is not yet right."""
        lines, number = [], max(0, self.config.getoption("--hints"))
        for name, outcomes in self.outcomes.items():
            if number and any(o.outcome != runner.PASSED for o in outcomes):
                shown = fitting_hints(find(name), outcomes)[:number]
                lines += ["", f"hints for {name}:"]
                lines += [f"  {title}: {' '.join(text.split())}" for title, text in shown]
        return lines


def fitting_hints(exercise: Exercise, outcomes: list[runner.Outcome]) -> list[tuple[str, str]]:
    """All hints of an exercise, those of its failing checks first; a sketch, the last, stays so."""
    hints = hints_of(exercise)
    failed = {outcome.id for outcome in outcomes if outcome.outcome == runner.FAILED}
    marks = [check.hint for check in checks_of(exercise) if check.id in failed]
    order = dict.fromkeys([*(m for m in marks if 0 < m < len(hints)), *range(1, len(hints) + 1)])
    return [hints[number - 1] for number in order]
