"""Whatever a submission does: no point without an answer, no hang, nothing left, the next is safe.

The whole bank is handed in as one class, among honest students, once for each kind of sandbox that
works here; `none`, limits alone, works everywhere.
"""

import contextlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from autograder import runner
from autograder.points import ROOT, Exercise, find
from autograder.runner import grade
from autograder.student import CallLog, ChildTransport, StudentError
from autograder.untrusted import grading_process
from autograder.untrusted.cell import (
    Cell,
    CellTransport,
    adopt_orphans,
    descendants,
    end_descendants,
)
from autograder.untrusted.grading_process import Job, choose
from autograder.untrusted.sandbox import Sandbox
from bert_run.errors import UserError

bank = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("hostile_bank.py"))))
SOFTMAX = find("03_softmax")
# The best that works here, and limits alone; with HOSTILE=all each kind.
KINDS = ("bwrap", "unshare", "none") if os.environ.get("HOSTILE") == "all" else ("auto", "none")
HONEST = ("aa_honest", "mm_honest", "zz_honest")
TIMEOUT = 4.0  # an honest answer takes up to half of it on a slow and busy machine


class Batch:
    """One call of `bert-grade` on the bank, and what there was to see afterwards."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.kind, self.folder, self.out = kind, folder, folder / "out"
        self.mark = folder / f"mark-{uuid.uuid4().hex}"
        hides = kind != "none"
        self.names = [n for n in bank.ALL if hides or n not in bank.NOT_HELD_BY_LIMITS_ALONE]
        self.connections: list[object] = []
        (folder / "temporary").mkdir()
        with socket.create_server(("127.0.0.1", 0)) as server:
            threading.Thread(target=self.listen, args=(server,), daemon=True).start()
            self.hand_in(server.getsockname()[1])
            start = time.monotonic()
            self.done = self.grade()
            self.seconds = time.monotonic() - start
        self.left = left_running(str(folder))
        self.temporary = list((folder / "temporary").iterdir())

    def grade(self) -> subprocess.CompletedProcess:
        options = {"out": self.out, "sandbox": self.kind, "timeout": TIMEOUT, "jobs": 2}
        command = [sys.executable, "-m", "autograder.untrusted.grade", str(self.folder / "class")]
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        environment = {**os.environ, "TMPDIR": str(self.folder / "temporary")}
        return subprocess.run(command, capture_output=True, text=True, timeout=280, env=environment)

    def listen(self, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                self.connections.append(server.accept())

    def hand_in(self, port: int) -> None:
        names = {"ROOT": ROOT, "CLASS": self.folder / "class", "OUT": self.out,
                 "MARK": self.mark, "PORT": port}  # fmt: skip
        for name in (*HONEST, *self.names):
            code = bank.ALL.get(name, SOFTMAX.solution.read_bytes())
            if isinstance(code, str):
                for word, value in names.items():
                    code = code.replace(word, str(value))
                code = code.encode()
            hand_in(self.folder / "class" / name, SOFTMAX, code)

    def tests(self, name: str) -> list[dict]:
        return self.exercise(name)["tests"]

    def exercise(self, name: str) -> dict:
        return next(e for e in self.report(name)["exercises"] if e["name"] == SOFTMAX.name)

    def report(self, name: str) -> dict:
        return json.loads((self.out / "students" / name / "report.json").read_text("utf-8"))


def hand_in(folder: Path, exercise: Exercise, code: bytes) -> None:
    (folder / exercise.name).mkdir(parents=True)
    (folder / exercise.name / exercise.file).write_bytes(code)


def left_running(word: str) -> list[str]:
    """Command lines of processes that have a word in them; given a while to end."""
    for _ in range(40):
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            if word in line and path.parent.name != str(os.getpid()):
                found.append(line[:300])
        if not found:
            return []
        time.sleep(0.1)
    return found


@pytest.fixture(scope="module", params=KINDS)
def batch(request, tmp_path_factory) -> Batch:
    folder = tmp_path_factory.mktemp(request.param)
    kind = sandbox_of(request.param, folder).kind
    if request.param == "auto" and kind == "none":
        pytest.skip("no other sandbox than limits alone works here")
    return Batch(folder, kind)


def sandbox_of(kind: str, folder: Path) -> Sandbox:
    """A sandbox of this kind; skips the test where there is none."""
    (folder / "tried").mkdir()
    try:
        return choose(kind, [ROOT], folder / "tried")
    except UserError as error:
        pytest.skip(str(error))


def test_the_batch_ends_well_and_in_time(batch):
    assert batch.done.returncode == 0, batch.done.stderr
    assert "Traceback" not in batch.done.stderr
    assert batch.seconds < 4 * TIMEOUT * len(batch.names), "something hung beyond its limit"


def test_no_hostile_file_gains_a_point(batch):
    scores = {name: batch.report(name)["score"] for name in batch.names}
    assert {name: score for name, score in scores.items() if score} == {}


def test_every_hostile_file_is_told_why(batch):
    for name in batch.names:
        assert all(test["message"] for test in batch.tests(name)), name
        assert name == "is_too_long" or batch.exercise(name)["status"] != "not run", name


def test_honest_students_before_between_and_after_have_full_marks(batch):
    for name in HONEST:
        own = batch.exercise(name)
        assert own["status"] == "passed", own
        assert batch.report(name)["score"] == own["max_score"] > 0


def test_nothing_is_left_running(batch):
    assert batch.left == []


def test_nothing_is_written_and_nobody_is_called(batch):
    students = sorted(path.name for path in (batch.out / "students").iterdir())
    assert students == sorted([*HONEST, *batch.names])
    assert batch.connections == [] and batch.temporary == []
    if batch.kind != "none":
        places = [batch.folder, batch.out, batch.folder / "class", ROOT,
                  *map(Path, ("/tmp", "/", "/dev/shm"))]  # fmt: skip
        assert [place for place in places if (place / batch.mark.name).exists()] == []


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("loops_in_python", f"timed out: it was ended after {TIMEOUT / 4:g} seconds"),
        ("loops_in_c", "softmax_backward timed out"),
        ("ignores_signals", "timed out"),
        ("hangs_at_import", f"the {TIMEOUT:g} seconds of this exercise are used up"),
        ("leaves_at_once_at_import", "ended the whole program"),
        ("crashes_the_interpreter", "ended the whole program"),
        ("takes_all_the_memory", "MemoryError"),
        ("answers_too_much", "67108864 are allowed"),
        ("has_a_zero_in_it", "null bytes"),
        ("is_too_long", "larger than 256 KB"),
    ],
)
def test_what_happened_is_told_in_words(batch, name, says):
    told = [test["message"] for test in batch.tests(name)]
    assert any(says in message for message in (*told, batch.done.stderr)), told


def test_pages_hold_no_code_of_a_student(batch):
    page = (batch.out / "students" / "says_it_is_not_begun" / "report.html").read_text("utf-8")
    assert "onerror" in page and "<img" not in page and "<script" not in page and "\x1b" not in page


def test_no_mistake_is_named_in_a_students_words(batch):
    page = (batch.out / "summary.html").read_text("utf-8")
    assert "ask for full marks" not in page


@pytest.mark.parametrize("now", ["0.0", "0", "float('nan')"])
def test_a_clock_that_is_set_makes_no_loop_fast(now, tmp_path):
    """The student's process says how long it took; the system says how long it worked."""
    forged = SOFTMAX.solution.read_text("utf-8").replace(
        "    shifted =", "    for _ in range(20_000_000 * (x.size > 50_000)): pass\n    shifted ="
    )
    forged += f"\nimport os, time\ntime.process_time = time.perf_counter = lambda: {now}\n"
    forged += "os.times = lambda: os.times_result((0,) * 5)\n"
    failed = failed_checks(forged, tmp_path, kind="none")
    assert failed == ["test_a_large_array_takes_no_longer_than_a_loop"]


def test_an_answer_that_is_kept_from_an_earlier_call_is_not_fast(tmp_path):
    """The same loop is slow each time that it is measured, with other numbers."""
    kept = (
        SOFTMAX.solution.read_text("utf-8")
        + """
right, kept = softmax_forward, {}
def softmax_forward(x, axis=-1):
    key = x.tobytes(), axis, x.shape, x.dtype
    if key not in kept:
        for _ in range(20_000_000 * (x.size > 50_000)): pass
        kept[key] = right(x, axis)
    return kept[key].copy()
"""
    )
    failed = failed_checks(kept, tmp_path, kind="none")
    assert failed == ["test_a_large_array_takes_no_longer_than_a_loop"]


SLOW_ELSEWHERE = """
import numpy as np, os, signal, threading, time
time.process_time = time.perf_counter = time.monotonic = lambda: 0.0
os.times = lambda: os.times_result((0.0,) * 5)
def work():
    for _ in range(20_000_000): pass
def in_a_child():
    if os.fork() == 0:
        work()
        os._exit(0)
    os.wait()
def in_a_child_that_nobody_waits_for():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    read, write = os.pipe()
    if os.fork() == 0:
        work()
        os.write(write, b"x")
        os._exit(0)
    os.read(read, 1)
def in_a_thread():
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
"""


@pytest.mark.parametrize("where", ["a_child", "a_child_that_nobody_waits_for", "a_thread"])
def test_slow_work_is_seen_wherever_it_is_done_and_whatever_the_clock_says(where, tmp_path):
    solution = SOFTMAX.solution.read_text("utf-8")
    slow = solution.replace("    shifted =", f"    if x.size > 50_000: in_{where}()\n    shifted =")
    failed = failed_checks(slow + SLOW_ELSEWHERE, tmp_path, kind="auto")
    assert failed == ["test_a_large_array_takes_no_longer_than_a_loop"]


def test_more_processes_than_allowed_end_the_call_even_where_the_system_does_not_count(tmp_path):
    """As root of an unprotected sandbox, for whom the system has no limit of processes."""
    many = """
import os, time
def softmax_forward(x, axis=-1):
    for _ in range(60):
        if os.fork() == 0:
            time.sleep(300)
    time.sleep(300)
"""
    cell = Cell(sandbox_of("none", tmp_path), tmp_path)
    others = descendants(os.getpid(), set())
    path = tmp_path / SOFTMAX.file
    path.write_text(many)
    outcomes = grade(SOFTMAX, path, transport=CellTransport(cell, SOFTMAX, many.encode(), 40))
    cell.close()
    assert any("more than 16 processes" in o.message or "raised BlockingIOError" in o.message
               for o in outcomes)  # fmt: skip
    assert not descendants(os.getpid(), others)


@pytest.mark.parametrize("kind", KINDS)
def test_no_namespace_of_users_can_be_made_inside(kind, tmp_path):
    """In one of its own a process is root, and reaches more of the kernel."""
    tries = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def softmax_forward(x, axis=-1):
    if libc.unshare(0x10000000) == 0 or libc.syscall(56, 0x10000011, 0, 0, 0, 0) >= 0:
        return x
    raise OSError(ctypes.get_errno(), "refused")
"""
    path = tmp_path / SOFTMAX.file
    path.write_text(tries)
    cell = Cell(sandbox_of(kind, tmp_path), tmp_path)
    outcomes = grade(SOFTMAX, path, transport=CellTransport(cell, SOFTMAX, tries.encode(), 200))
    cell.close()
    assert "[Errno 1] refused" in outcomes[0].message


def test_comparing_an_answer_has_a_limit_of_time(monkeypatch, tmp_path):
    """An answer may be such that the trusted side takes for ever to look at it."""

    def endless(*args, **kwargs):
        while True:
            pass

    monkeypatch.setattr(runner.checks, "difference", endless)
    start = time.process_time()
    outcomes = grade(SOFTMAX, SOFTMAX.solution, seconds=0.2)
    assert time.process_time() - start < 5
    assert any("takes too long" in outcome.message for outcome in outcomes)
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


@pytest.mark.skipif(sys.platform != "linux", reason="macOS does not keep this limit")
def test_comparing_an_answer_has_a_limit_of_memory_too(tmp_path):
    """Its check fails; the process that grades goes on."""
    script = (
        "import numpy as np\n"
        "from autograder.runner import judge, run\n"
        "from autograder.points import find, checks_of\n"
        "from autograder.untrusted.grading_process import limit_memory\n"
        "exercise = find('03_softmax')\n"
        "limit_memory(2 << 30)\n"
        "class Nobody:\n    _log = None\n"
        "outcome = judge(checks_of(exercise)[0], run(lambda _: np.ones(1 << 29), Nobody()))\n"
        "print(outcome.outcome, outcome.message)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "failed the answer could not be compared: " in done.stdout, done.stderr
    assert "MemoryError: Unable to allocate 4.00 GiB" in done.stdout


def test_looking_for_the_call_that_failed_has_a_limit_of_time_too(monkeypatch, tmp_path):
    """It is what `run` does once a check has failed."""

    def endless(*args):
        while True:
            pass

    monkeypatch.setattr(CallLog, "candidates", endless)
    (tmp_path / SOFTMAX.file).write_text(bank.NO_ANSWER)
    outcomes = grade(SOFTMAX, tmp_path / SOFTMAX.file, seconds=0.2)
    assert "takes too long" in outcomes[0].message


def test_a_file_that_takes_for_ever_to_compare_with_others_is_graded(tmp_path):
    """Sums in products in sums: what sorts them looks at each part once for all above it."""
    hard = (
        "import torch\ndef f(a):\n    return " + "(b+a*" * 90 + "(" + "a," * 80_000 + ")" + ")" * 90
    )
    folder = SimpleNamespace(sandbox=SimpleNamespace(private=tmp_path / "private"), work=None)
    start = time.process_time()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(grading_process, "COMPARING", 0.5)
        done = grading_process.grade_file(folder, Job("s", SOFTMAX, hard.encode()), 1.0)
    assert time.process_time() - start < 5
    assert done.fingerprint == "" and done.sound and "torch" in done.outcomes[0].message


def test_files_of_others_are_out_of_sight_where_the_same_user_reads_all_else(tmp_path):
    """As a user who is not root grades in `unshare`."""
    sandbox = replace(sandbox_of("unshare", tmp_path), as_nobody=False)
    sandbox.private.mkdir()
    (sandbox.private / "of_another.py").write_text("secret")
    looks = f"""
import os
def softmax_forward(x, axis=-1): raise OSError(os.listdir({str(sandbox.private)!r}))
"""
    cell, path = Cell(sandbox, tmp_path), sandbox.private / SOFTMAX.file
    path.write_text(looks)
    outcomes = grade(SOFTMAX, path, transport=CellTransport(cell, SOFTMAX, looks.encode(), 40))
    cell.close()
    assert "OSError: []" in outcomes[0].message


def test_with_pytest_a_process_that_keeps_the_line_open_holds_nobody_up(tmp_path):
    path = tmp_path / SOFTMAX.file
    path.write_text("""
import os, time
def softmax_forward(x, axis=-1):
    if os.fork() == 0:
        os.setsid()
        time.sleep(20)
    os._exit(0)
""")
    start, transport = time.monotonic(), ChildTransport(path, seconds=1.0)
    request = {"function": "softmax_forward", "args": (1.0,), "kwargs": {}}
    with pytest.raises(StudentError, match="timed out"):
        transport.ask(request)
    transport.close()
    assert time.monotonic() - start < 15


def failed_checks(text: str, folder: Path, *, kind: str) -> list[str]:
    """Checks that an answer to 03_softmax fails in a sandbox."""
    path = folder / SOFTMAX.file
    path.write_text(text)
    cell = Cell(sandbox_of(kind, folder), folder)
    outcomes = grade(SOFTMAX, path, transport=CellTransport(cell, SOFTMAX, text.encode(), 200))
    cell.close()
    return [outcome.id for outcome in outcomes if outcome.outcome != "passed"]


@pytest.mark.parametrize("name", bank.WITH_TORCH)
def test_tensors_that_are_none_and_a_patched_torch_gain_nothing(name, tmp_path):
    exercise = find("16_tied_gathered_head")
    path = tmp_path / exercise.file
    path.write_text(bank.WITH_TORCH[name])
    cell = Cell(sandbox_of("none", tmp_path), tmp_path)
    transport = CellTransport(cell, exercise, path.read_bytes(), 200)
    outcomes = grade(exercise, path, transport=transport)
    cell.close()
    assert "passed" not in {outcome.outcome for outcome in outcomes}


def test_a_daemon_is_ended_even_without_a_namespace():
    daemon = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(600)"
    adopt_orphans()
    others = descendants(os.getpid(), set())
    subprocess.run([sys.executable, "-S", "-c", daemon], check=True)
    assert descendants(os.getpid(), others)
    end_descendants(but=others)
    assert not descendants(os.getpid(), others)
