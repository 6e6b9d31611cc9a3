"""The trusted processes that grade: each takes one file after another, and says what became of it.

They run the tests and compare; a student's code runs in a cell below them. Should one of them end,
killed for want of memory say, another takes its place, and the file that it was at is tried once
more. Both sides talk in JSON: nothing is unpickled.
"""

import json
import multiprocessing
import os
import re
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path

from autograder.codec import BadMessage
from autograder.points import Exercise, find, present
from autograder.runner import NOT_RUN, Outcome, for_all_checks, grade, source_text
from autograder.student import StudentError, request_of
from autograder.untrusted.cell import CannotStart, Cell, CellTransport
from autograder.untrusted.likeness import fingerprint
from autograder.untrusted.sandbox import Sandbox
from bert_run.errors import UserError

TRIES = 2
COMPARING = 20.0  # seconds, at least, for the trusted side of an exercise

# What differs from run to run in a message that is otherwise the same.
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")
TEMPORARY = re.compile(r"/[^\s'\"]*?/tmp[a-z0-9_]{8}\b")
SECONDS = re.compile(r"\b\d+\.\d+ s\b|\b\d+\.\d+ (?=times as long)")


@dataclass(frozen=True)
class Job:
    """A student's file of an exercise, with the libraries that it may import. `key` changes with
    whatever the result can depend on."""

    student: str
    exercise: Exercise
    file: bytes
    variant: int = 0
    key: str = ""


@dataclass(frozen=True)
class Done:
    """What became of a job. `sound` is false where it could not be graded through no fault of the
    student's: such a result is told, and not kept."""

    outcomes: list[Outcome]
    fingerprint: str
    seconds: float
    sound: bool = True


def grade_all(
    jobs: list[list[Job]],
    sandbox: Sandbox,
    folder: Path,
    *,
    processes: int,
    timeout: float,
    seed: int = 0,
) -> Iterator[tuple[Job, Done]]:
    """Grade each student's jobs one after another, several students at a time."""
    left = [list(group) for group in reversed(jobs)]
    context = multiprocessing.get_context("spawn")
    given = (sandbox, folder, timeout, seed)
    graders = [Grader(context, given) for _ in range(min(processes, len(jobs)))]
    try:
        while True:
            for grader in graders:
                while left and not grader.jobs:
                    grader.jobs = left.pop()
                grader.send_next()
            busy = [grader for grader in graders if grader.jobs]
            if not busy:
                return
            ready = wait([grader.pipe for grader in busy])
            for grader in (g for g in busy if g.pipe in ready):
                if answer := grader.receive():
                    yield answer
    finally:
        for grader in graders:
            grader.stop()


class Grader:
    """One such process, seen from the command."""

    def __init__(self, context, arguments: tuple) -> None:
        self.context, self.arguments = context, arguments
        self.jobs: list[Job] = []
        self.tries = 0
        self.is_at_work = False
        self.start()

    def start(self) -> None:
        self.pipe, theirs = self.context.Pipe()
        self.process = self.context.Process(target=serve, args=(theirs, *self.arguments))
        self.process.start()
        theirs.close()

    def send_next(self) -> None:
        if self.jobs and not self.is_at_work:
            with suppress(OSError):  # a process that has ended meanwhile: `receive` will find out
                job = self.jobs[0]
                about = [job.student, job.exercise.name, job.exercise.libraries, job.variant]
                self.pipe.send_bytes(json.dumps(about).encode())
                self.pipe.send_bytes(job.file)
            self.is_at_work = True

    def receive(self) -> tuple[Job, Done] | None:
        """The answer to the first job; None if it has to be tried again."""
        self.is_at_work = False
        try:
            answer = json.loads(self.pipe.recv_bytes())
            done = Done([Outcome(**fields) for fields in answer.pop("outcomes")], **answer)
        except (EOFError, OSError):
            self.stop()
            self.start()
            self.tries += 1
            if self.tries < TRIES:
                return None
            outcomes = for_all_checks(self.jobs[0].exercise, NOT_RUN,
                                      "the grader was ended while it graded this file")  # fmt: skip
            done = Done(outcomes, "", 0.0, sound=False)
        self.tries = 0
        return self.jobs.pop(0), done

    def stop(self) -> None:
        self.pipe.close()
        self.process.join(5)
        self.process.kill()
        self.process.join()


def serve(pipe: Connection, sandbox: Sandbox, folder: Path, timeout: float, seed: int) -> None:
    """The process itself: file in, outcomes out, until no more come or the command has ended."""
    os.environ["OMP_NUM_THREADS"] = "1"
    cell, of = Cell(sandbox, folder), ""
    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        while True:
            student, name, libraries, variant = json.loads(pipe.recv_bytes())
            exercise = replace(find(name), libraries=tuple(libraries))
            job = Job(student, exercise, pipe.recv_bytes(), variant)
            if job.student != of:  # nobody has a cell that another student's code was in
                cell.close()
            of = job.student
            pipe.send_bytes(json.dumps(asdict(grade_file(cell, job, timeout, seed))).encode())
    except (EOFError, OSError, KeyboardInterrupt):
        pass
    finally:
        cell.close()


def end_with_parent() -> None:
    """The command may be killed while we wait for a student's code: it ends with us."""
    multiprocessing.parent_process().join()
    os._exit(1)


def grade_file(cell: Cell, job: Job, timeout: float, seed: int = 0) -> Done:
    start, sound, exercise = time.monotonic(), True, job.exercise
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / exercise.file
        path.write_bytes(job.file)
        try:
            transport = CellTransport(cell, exercise, job.file, timeout)
            outcomes = grade(exercise, path, transport=transport, seed=seed, variant=job.variant,
                             seconds=max(timeout, COMPARING))  # fmt: skip
        except CannotStart as error:
            sound = False
            outcomes = for_all_checks(exercise, NOT_RUN, f"the sandbox did not start: {error}")
    outcomes = [replace(o, message=settle(o.message, cell)) for o in outcomes]
    try:
        text = source_text(job.file)
    except (SyntaxError, UnicodeDecodeError):
        text = job.file.decode("utf-8", "replace")
    return Done(outcomes, fingerprint(text), time.monotonic() - start, sound)


def settle(message: str, cell: Cell) -> str:
    """A message as it is in every run: without addresses, names of the moment, and times."""
    message = message.replace(f"{cell.work}/", "") if cell.work else message
    message = ADDRESS.sub("0x…", TEMPORARY.sub("FOLDER", message))
    message = SECONDS.sub(lambda found: "… s" if found[0].endswith("s") else "… ", message)
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}"
                   for c in message)[:4_000]  # fmt: skip


def choose(candidates: list[Sandbox], kind: str, folder: Path) -> Sandbox:
    """The first that works: it must run a file and give its answer. Raises `UserError`."""
    reasons = []
    for sandbox in candidates:
        cell = Cell(sandbox, folder)
        transport = CellTransport(cell, present()[0], b"def f(x): return x + 1", 120)
        try:
            if transport.ask(request_of("f", (20,), {})).get("value") == 21:
                return sandbox
            reasons.append("it gives a wrong answer")
        except (CannotStart, StudentError, BadMessage) as error:
            reasons.append(str(error))
        finally:
            transport.close()
            cell.close()
    why = reasons[0] if reasons else "its programs are not installed"
    raise UserError(f"--sandbox {kind}: it cannot be used here ({why}): take auto, or see "
                    "exercises/autograder/README.md")  # fmt: skip
