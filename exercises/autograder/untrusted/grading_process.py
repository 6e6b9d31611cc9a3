"""The trusted processes that grade: each takes one file after another, and says what became of it,
in JSON. A student's code runs in a cell below them. If one ends, killed for want of memory say,
another takes its place, and its file is tried once more."""

import json
import multiprocessing
import os
import re
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path

from autograder.codec import BadMessage
from autograder.points import Exercise, present
from autograder.runner import NOT_RUN, ComparesTooLong, Outcome, for_all_checks, grade, limited
from autograder.student import StudentError
from autograder.untrusted.cell import CannotStart, Cell, CellTransport
from autograder.untrusted.likeness import fingerprint
from autograder.untrusted.sandbox import LIMITS, Sandbox, candidates, make_box
from bert_run.errors import UserError

TRIES = 2
COMPARING = 20.0  # seconds, at least, for the trusted side of an exercise

# What differs from run to run in a message that is otherwise the same.
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")
TEMPORARY = re.compile(r"/[^\s'\"]*?/tmp[a-z0-9_]{8}\b")
SECONDS = re.compile(r"\b\d+\.\d+ s\b|\b\d+\.\d+ (?=times as long)")


@dataclass(frozen=True)
class Job:
    """A student's file of an exercise. `key` changes with whatever the result can depend on."""

    student: str
    exercise: Exercise
    file: bytes
    variant: int = 0
    key: str = ""


@dataclass(frozen=True)
class Done:
    """What became of a job; not `sound`, and not kept, if it could not be graded."""

    outcomes: list[Outcome]
    fingerprint: str
    seconds: float
    sound: bool = True


def grade_all(jobs: list[list[Job]], sandbox: Sandbox, folder: Path, *, processes: int,
              timeout: float, seed: int = 0) -> Iterator[tuple[Job, Done]]:  # fmt: skip
    """Grade each student's jobs one after another, several students at a time."""
    processes = min(processes, len(jobs))
    graders = [Grader([job for group in jobs[number::processes] for job in group],
                      sandbox, folder, timeout, seed) for number in range(processes)]  # fmt: skip
    try:
        while busy := [grader for grader in graders if grader.jobs]:
            ready = wait([grader.pipe for grader in busy])
            for grader in (each for each in busy if each.pipe in ready):
                if answer := grader.receive():
                    yield answer
    finally:
        for grader in graders:
            grader.stop()


class Grader:
    """One such process, seen from the command; `jobs` are those that it has still to do."""

    def __init__(self, jobs: list[Job], *arguments: object) -> None:
        self.jobs, self.arguments = jobs, arguments
        self.tries = 0
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe(duplex=False)
        self.process = context.Process(target=serve, args=(theirs, self.jobs, *self.arguments))
        self.process.start()
        theirs.close()

    def receive(self) -> tuple[Job, Done] | None:
        """The answer to the first job; None if it has to be tried again."""
        try:
            answer = json.loads(self.pipe.recv_bytes())
            done = Done([Outcome(**fields) for fields in answer.pop("outcomes")], **answer)
            self.tries = 0
            return self.jobs.pop(0), done
        except (EOFError, OSError):
            self.stop()
        self.tries = (self.tries + 1) % TRIES
        lost = None if self.tries else self.jobs.pop(0)
        self.start()
        if lost is None:
            return None
        outcomes = for_all_checks(lost.exercise, NOT_RUN,
                                  "the grader was ended while it graded this file")  # fmt: skip
        return lost, Done(outcomes, "", 0.0, sound=False)

    def stop(self) -> None:
        self.pipe.close()
        self.process.join(5)
        self.process.kill()
        self.process.join()


def serve(pipe: Connection, jobs: list[Job], sandbox: Sandbox, folder: Path, timeout: float,
          seed: int) -> None:  # fmt: skip
    """The process itself: sends what became of each job, until the command has ended."""
    os.environ["OMP_NUM_THREADS"] = "1"
    limit_memory(LIMITS["memory"])
    threading.Thread(target=end_with_parent, daemon=True).start()
    with closing(Cell(sandbox, folder)) as cell, suppress(OSError, KeyboardInterrupt):
        for job, before in zip(jobs, [None, *jobs], strict=False):
            if before and job.student != before.student:
                cell.close()  # nobody has a cell that another student's code was in
            pipe.send_bytes(json.dumps(asdict(grade_file(cell, job, timeout, seed))).encode())


def limit_memory(most: int) -> None:
    """An answer that takes more to compare fails with a MemoryError, where the system knows limits:
    without one it would end this process, or another one of the machine."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, highest = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (most, highest))


def end_with_parent() -> None:
    """The command may be killed while we wait for a student's code: it ends with us."""
    multiprocessing.parent_process().join()
    os._exit(1)


def grade_file(cell: Cell, job: Job, timeout: float, seed: int = 0) -> Done:
    start, sound, exercise, prints = time.monotonic(), True, job.exercise, ""
    transport = CellTransport(cell, exercise, job.file, timeout)
    cell.sandbox.private.mkdir(0o700, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cell.sandbox.private) as folder:
        path = Path(folder) / exercise.file
        path.write_bytes(job.file)
        try:
            outcomes = grade(exercise, path, transport=transport, seed=seed, variant=job.variant,
                             seconds=max(timeout, COMPARING))  # fmt: skip
        except CannotStart as error:
            sound = False
            outcomes = for_all_checks(exercise, NOT_RUN, f"the sandbox did not start: {error}")
    outcomes = [replace(o, message=settle(o.message, cell)) for o in outcomes]
    with suppress(ComparesTooLong), limited(COMPARING):
        prints = fingerprint(job.file)
    return Done(outcomes, prints, time.monotonic() - start, sound)


def settle(message: str, cell: Cell) -> str:
    """A message as it is in every run: without addresses, names of the moment, and times."""
    message = message[:8_000]  # a search in millions of characters may never end
    message = message.replace(f"{cell.work}/", "") if cell.work else message
    message = ADDRESS.sub("0x…", TEMPORARY.sub("FOLDER", message))
    message = SECONDS.sub(lambda found: "… s" if found[0].endswith("s") else "… ", message)
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}"
                   for c in message)[:4_000]  # fmt: skip


def choose(kind: str, hidden: list[Path], folder: Path) -> Sandbox:
    """The best sandbox of a `kind` that works: it must run a file and give its answer. `hidden` is
    kept from sight; the sandbox uses `folder`. Raises `UserError`."""
    reasons = []
    request = {"function": "f", "args": (20,), "kwargs": {}}
    for sandbox in candidates(kind, make_box(folder), hidden):
        with closing(Cell(sandbox, folder)) as cell:
            transport = CellTransport(cell, present()[0], b"def f(x): return x + 1", 120)
            try:
                if transport.ask(request).get("value") == 21:
                    return sandbox
                reasons.append("it gives a wrong answer")
            except (CannotStart, StudentError, BadMessage) as error:
                reasons.append(str(error))
            finally:
                transport.close()
    why = reasons[0] if reasons else "its programs are not installed"
    raise UserError(f"--sandbox {kind}: it cannot be used here ({why}): take auto, or see "
                    "exercises/autograder/README.md")  # fmt: skip
