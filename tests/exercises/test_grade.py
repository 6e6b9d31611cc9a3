"""`bert-grade`: what it writes, that it goes on where it was, and that it says the same again."""

import csv
import json
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from autograder.course import Course, parse_course
from autograder.points import ROOT, find, present
from autograder.runner import grade, make_report
from autograder.student import Student
from autograder.untrusted import gradebook
from autograder.untrusted.cell import Cell, CellTransport, refused
from autograder.untrusted.grade import GradeSettings, claim, hidden_from_students
from autograder.untrusted.grading_process import Job, choose, grade_all, grade_file
from autograder.untrusted.likeness import fingerprint, marks
from autograder.untrusted.roster import harmless
from autograder.untrusted.sandbox import Sandbox, is_visible, needed, without
from bert_run.errors import UserError
from bert_run.files import hold

SOFTMAX, GELU = find("03_softmax"), find("05_gelu")
SOLUTION = SOFTMAX.solution.read_text("utf-8")
WRONG = SOLUTION.replace("(axis=axis, keepdims=True)", "(axis=-1, keepdims=True)")
RENAMED = '"""Mine."""\n' + SOLUTION.replace("exponentials", "e").replace("# ", "#! ")
CODINGS = ("utf8", "utf_8", "UTF-8-SIG", "latin1", "l1", "windows-1252", "ASCII")  # as Python reads
LOOPS = SOLUTION + (
    ROOT / "tests" / "exercises" / "bank" / SOFTMAX.name / "right_loops.py"
).read_text("utf-8")


def call(*arguments: object, **more) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "autograder.untrusted.grade", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, **more)


def hand_in(folder: Path, text: str, exercise=SOFTMAX) -> None:
    (folder / exercise.name).mkdir(parents=True)
    (folder / exercise.name / exercise.file).write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def graded(tmp_path_factory) -> tuple[subprocess.CompletedProcess, Path]:
    """A class, graded once: its folder, beside the results in `out`."""
    folder = tmp_path_factory.mktemp("class")
    hand_in(folder / "ann", SOLUTION)
    hand_in(folder / "ann", GELU.solution.read_text("utf-8"), GELU)
    hand_in(folder / "bob", SOFTMAX.starter.read_text("utf-8"))
    hand_in(folder / "eve", WRONG)
    hand_in(folder / '=HYPERLINK("x")', LOOPS)
    hand_in(folder / "zoe", RENAMED)
    (folder / "gil.rar").write_bytes(b"")
    (folder / "nobody").mkdir()
    done = call(folder, "--out", folder / "out", "--sandbox", "none", "--jobs", "2")
    assert done.returncode == 0, done.stderr
    return done, folder


def test_the_report_has_the_form_of_pytests_and_says_the_same(graded):
    _, folder = graded
    for name, text in [("eve", WRONG), ("bob", SOFTMAX.starter.read_text("utf-8"))]:
        report = json.loads((folder / "out" / "students" / name / "report.json").read_text())
        assert report.keys() == {"score", "max_score", "exercises"}
        assert sum(e["max_score"] for e in report["exercises"]) == pytest.approx(100)
        (folder.parent / name).mkdir()
        path = folder.parent / name / SOFTMAX.file
        path.write_text(text)
        here = make_report({SOFTMAX.name: grade(SOFTMAX, path)})
        own = [e for e in report["exercises"] if e["name"] == SOFTMAX.name]
        assert own == [e for e in here["exercises"] if e["name"] == SOFTMAX.name]


def rows(folder: Path) -> list[dict[str, str]]:
    with open(folder / "out" / "gradebook.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_gradebook_has_a_row_for_everyone_whatever_was_handed_in(graded):
    by_name = {row["student"]: row for row in rows(graded[1])}
    assert by_name.keys() == {"ann", "bob", "eve", "zoe", "nobody", "'=HYPERLINK(_x_)"}
    best = by_name["zoe"][SOFTMAX.name]
    assert float(by_name["ann"]["score"]) == float(best) + float(by_name["ann"][GELU.name])
    assert by_name["'=HYPERLINK(_x_)"][SOFTMAX.name] == best
    assert 0 < float(by_name["eve"]["score"]) < float(best)
    assert by_name["bob"]["score"] == by_name["nobody"]["score"] == "0"
    assert "no file" in by_name["nobody"]["notes"]
    assert all(row["max_score"] == "100" for row in by_name.values())


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_cell_that_would_be_a_formula_is_text(text):
    assert harmless(text) == f"'{text}" and harmless("Ann") == "Ann"


def test_gradescope_gets_every_test_with_its_points(graded):
    path = graded[1] / "out" / "students" / "ann" / "results.json"
    results = json.loads(path.read_text("utf-8"))
    assert sum(test["max_score"] for test in results["tests"]) == pytest.approx(100)
    assert sum(test["score"] for test in results["tests"]) == pytest.approx(results["score"])


def test_the_students_page_has_points_messages_and_hints_and_no_other_student(graded):
    page = (graded[1] / "out" / "students" / "eve" / "report.html").read_text("utf-8")
    for words in ("the axis argument is ignored", "Hint 1", "gelu.py is missing", "<h1>eve</h1>"):
        assert words in page, words
    assert "zoe" not in page and "equals" not in page


def test_the_summary_has_means_mistakes_marks_and_the_sandbox(graded):
    page = (graded[1] / "out" / "summary.html").read_text("utf-8")
    for words in ("6 students", "gil.rar: neither a folder or a zip nor",
                  "Sandbox: <b>none</b>", "the axis argument is ignored",
                  "softmax_forward and softmax_backward as in the solution, ", "zoe",
                  "students/%3DHYPERLINK", "full marks"):  # fmt: skip
        assert words in page, words
    assert "warning: sandbox none" in graded[0].stderr


@pytest.mark.parametrize(
    "file",
    [b"\xef\xbb\xbf" + SOLUTION.encode(),
     *(f"# -*- coding: {name} -*-\nNAME = 'J\xe9r\xf4me'\n{SOLUTION}".encode(name, "replace")
       for name in CODINGS),
     ("# coding: latin-1\nNAME = 'J\xe9r\xf4me'\n" + SOLUTION.replace("∂", "d").replace("ᵢ", "i")
      ).encode("latin-1", "replace"),
     SOLUTION.replace("\n", "\r\n").encode()],
    ids=["byte order mark", *CODINGS, "coding line", "Windows line ends"],
)  # fmt: skip
def test_a_file_is_read_as_python_reads_it(file, tmp_path):
    path = tmp_path / SOFTMAX.file
    path.write_bytes(file)
    assert {outcome.outcome for outcome in grade(SOFTMAX, path)} == {"passed"}


def test_the_imports_of_a_file_with_a_byte_order_mark_are_seen(tmp_path):
    path = tmp_path / SOFTMAX.file
    path.write_bytes(b"\xef\xbb\xbfimport bert_numpy\n" + SOLUTION.encode())
    assert "imports bert_numpy" in grade(SOFTMAX, path)[0].message


@pytest.mark.parametrize("file", [b"x = '\xe9'", b"# coding: punycode\n", b"# coding: rot13\n"])
def test_another_encoding_is_refused_in_words(file, tmp_path):
    path = tmp_path / SOFTMAX.file
    path.write_bytes(file)
    assert "save it as UTF-8" in grade(SOFTMAX, path)[0].message


def test_times_csv_has_three_cells_whatever_a_student_is_called(tmp_path):
    hand_in(tmp_path / "class" / "Doe, Jane", SOFTMAX.starter.read_text("utf-8"))
    done = call(tmp_path / "class", "--out", tmp_path / "out", "--sandbox", "none")
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "out" / "times.csv", newline="", encoding="utf-8") as file:
        (row,) = csv.reader(file)
    assert row[:2] == ["Doe, Jane", SOFTMAX.name] and float(row[2]) >= 0


def test_a_likely_mistake_that_a_student_writes_is_not_counted_among_those_of_the_class(tmp_path):
    path = tmp_path / SOFTMAX.file
    path.write_text(
        "def softmax_forward(*args, **kwargs):\n"
        "    raise ValueError('no\\n  likely mistake: the teacher')\n"
        "def softmax_backward(*args, **kwargs):\n"
        "    return {'\\n  likely mistake: the teacher': 1}\n"
    )
    report = make_report({SOFTMAX.name: grade(SOFTMAX, path)})
    assert "the teacher" in str(report) and "the teacher" not in str(
        gradebook.mistakes([report], Course())
    )


def test_the_commonest_mistakes__are_one_cause_a_student_and_named_ones_lead():
    def report(*messages):
        tests = [{"id": f"test_{number}", "outcome": "failed" if message else "passed",
                  "message": message} for number, message in enumerate(messages)]  # fmt: skip
        return {"exercises": [{"name": "04_layer_norm", "tests": tests}]}

    likely = "differs\n  likely mistake: "
    found = gradebook.mistakes(
        [
            report("differs", f"{likely}a", f"{likely}b", f"{likely}b"),
            report("", "differs"),
            report("", "differs"),
            report("", ""),
        ],
        Course(),
    )
    assert found == [("04_layer_norm", "b", 1), ("04_layer_norm", "fails: 1", 2)]


def test_the_commonest_mistakes_of_a_term__begin_with_the_latest_week():
    def failed(name):
        return {"name": name, "tests": [{"id": "test_x", "outcome": "failed", "message": ""}]}

    reports = [{"exercises": [failed("10_mlm_masking"), failed("03_softmax")]},
               {"exercises": [failed("10_mlm_masking")]}]  # fmt: skip
    weeks = {"1": {"exercises": ["10"]}, "2": {"exercises": ["03"]}}
    assert gradebook.mistakes(reports, Course())[0][0] == "10_mlm_masking"
    found = gradebook.mistakes(reports, parse_course({"week": weeks}))
    assert [name for name, *_ in found] == ["03_softmax", "10_mlm_masking"]


def test_every_table_of_a_page_has_a_caption_and_heads_with_a_scope():
    for path in Path(gradebook.__file__).with_name("templates").glob("*.html"):
        text = path.read_text("utf-8")
        assert text.count("<table>") == text.count("<caption>"), path.name
        assert not re.search(r"<th(?! scope)[^>]*>\w", text), path.name


def bytes_of(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*"))
            if path.is_file() and path.name not in ("times.csv", ".lock")}  # fmt: skip


def test_after_kill_9_the_same_call_goes_on_and_gives_the_same_bytes(graded):
    _, folder = graded
    out = folder.parent / "again"
    command = [sys.executable, "-m", "autograder.untrusted.grade", folder, "--out", out,
               "--sandbox", "none", "--jobs", "1"]  # fmt: skip
    shutil.move(folder / "out", folder.parent / "out")  # it would be a student of this call
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while not (done := list(out.glob("students/*/0*.json"))):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = {path: path.stat().st_mtime_ns for path in out.glob("students/*/0*.json")}
    assert not (out / "gradebook.csv").exists()
    assert call(*command[3:]).returncode == 0
    shutil.move(folder.parent / "out", folder / "out")
    assert bytes_of(out) == bytes_of(folder / "out")
    assert done[0] in before and all(p.stat().st_mtime_ns == t for p, t in before.items())


def test_an_answer_that_draws_from_torchs_global_generator_gets_the_same_bytes_again(tmp_path):
    """Its message counts what its own dropout has left, and torch starts with a new seed."""
    layer = find("12_encoder_layer")
    line = 'worked = F.dropout(dense(wide, weights, "output.dense"), hidden_dropout, training)'
    text = layer.solution.read_text("utf-8")
    assert line in text
    hand_in(tmp_path / "class" / "ann", text.replace(line, line + " * 1.01"), layer)
    told = []
    for out in (tmp_path / "once", tmp_path / "again"):
        done = call(tmp_path / "class", "--out", out, "--sandbox", "none")
        assert done.returncode == 0, done.stderr
        told.append((out / "students" / "ann" / f"{layer.name}.json").read_bytes())
    assert b"numbers differ" in told[0]
    assert told[0] == told[1]


def test_only_what_has_changed_is_graded_again(tmp_path):
    hand_in(tmp_path / "class" / "ann", SOLUTION)
    hand_in(tmp_path / "class" / "bob", WRONG)
    where = (tmp_path / "class", "--out", tmp_path / "out", "--sandbox", "none", "--jobs", "1")
    assert call(*where).returncode == 0
    (tmp_path / "class" / "bob" / SOFTMAX.name / SOFTMAX.file).write_text(SOLUTION)
    (tmp_path / "out" / "students" / "ann" / "03_softmax.json").touch()
    assert call(*where).returncode == 0
    lines = (tmp_path / "out" / "times.csv").read_text("utf-8").splitlines()
    assert [line.split(",")[0] for line in lines[2:]] == ["bob"]
    assert (tmp_path / "out" / "students" / "bob" / "report.json").read_text() == (
        tmp_path / "out" / "students" / "ann" / "report.json"
    ).read_text()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--out", "x"], "nothing to grade"),
        (["nowhere", "--out", "x"], "nowhere does not exist"),
        (["empty", "--out", "x"], "no submission in it"),
        (["empty", "--out", "x", "--jobs", "-1"], "--jobs is -1"),
        (["empty", "--out", "x", "--timeout", "0"], "--timeout is 0"),
        (["empty", "--out", "x", "--sandbox", "docker"], "sandbox"),
        (["empty"], "--out"),
    ],
)
def test_wrong_usage_is_told_in_a_line_and_exits_with_2(tmp_path, arguments, says):
    (tmp_path / "empty").mkdir()
    done = call(*arguments, cwd=tmp_path)
    assert done.returncode == 2 and says in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "x").exists()  # the corrected call finds its place free


def test_a_sandbox_that_is_not_there_is_told_and_not_replaced(tmp_path):
    hand_in(tmp_path / "class" / "ann", SOLUTION)
    done = call(tmp_path / "class", "--out", tmp_path / "out", "--sandbox", "bwrap",
                env={**os.environ, "PATH": ""})  # fmt: skip
    assert done.returncode == 2 and "--sandbox bwrap: it cannot be used here" in done.stderr


def test_what_a_killed_call_left_is_removed_and_what_another_uses_is_not(tmp_path):
    """Files of students lie in it, which `unshare` would show to others."""
    for name in ("bert-grade-left", "bert-grade-used"):
        hand_in(tmp_path / "tmp" / name / "private", SOLUTION)
        (tmp_path / "tmp" / name / ".lock").touch()
    hand_in(tmp_path / "class" / "ann", SOLUTION)
    with hold(tmp_path / "tmp" / "bert-grade-used" / ".lock"):
        arguments = tmp_path / "class", "--out", tmp_path / "out", "--sandbox", "none"
        done = call(*arguments, env={**os.environ, "TMPDIR": str(tmp_path / "tmp")})
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "tmp").iterdir()] == ["bert-grade-used"]


def test_a_process_may_import_what_its_exercise_allows_and_what_that_needs_alone():
    with_torch, without_torch = refused(("torch",)), refused(())
    assert "tokenizers" in with_torch and "torch" in without_torch
    assert not {"numpy", "torch", "sympy", "jaxtyping", "autograder"} & {*with_torch}
    assert "numpy" not in without_torch


def test_the_time_of_reading_the_arguments_is_not_that_of_the_call(sandbox, tmp_path):
    """3 MB of numbers, and a function that does nothing with them."""
    cell = Cell(sandbox, tmp_path)
    file = b"def softmax_forward(x, axis=-1): return x[:1]\n"
    student = Student(tmp_path / SOFTMAX.file, CellTransport(cell, SOFTMAX, file, 60.0))
    x = np.ones((1_000, 400))
    try:
        student.softmax_forward(x)  # loads the file
        took = min(student.softmax_forward.timed(x)[0] for _ in range(5))
        assert 0 < took < 2 * student.softmax_forward.overhead(x)
    finally:
        student._transport.close()
        cell.close()


@pytest.fixture
def sandbox(tmp_path) -> Sandbox:
    return choose("none", [ROOT], tmp_path)


@pytest.mark.parametrize("waits", [False, True])
def test_a_grader_that_is_killed_is_replaced_and_the_file_graded(waits, sandbox, tmp_path):
    jobs = [[Job(name, SOFTMAX, SOLUTION.encode())] for name in ("ann", "bob", "eve")]
    found = []
    others = set(multiprocessing.active_children())
    for job, done in grade_all(jobs, sandbox, tmp_path, processes=1, timeout=60):
        found.append((job.student, {outcome.outcome for outcome in done.outcomes}))
        if len(found) == 1:
            [grader] = set(multiprocessing.active_children()) - others
            os.kill(grader.pid, signal.SIGKILL)
            if waits:  # until it has ended: then what is sent to it breaks the pipe
                grader.join()
    assert found == [(name, {"passed"}) for name in ("ann", "bob", "eve")]


def test_a_sandbox_that_does_not_start_is_no_fault_of_the_students(tmp_path):
    cell = Cell(Sandbox("none", tmp_path / "no box", ()), tmp_path)
    done = grade_file(cell, Job("ann", SOFTMAX, SOLUTION.encode()), 60)
    assert not done.sound and {o.outcome for o in done.outcomes} == {"not run"}
    assert "the sandbox did not start" in done.outcomes[0].message


def test_the_same_but_for_looks_is_alike_and_another_way_is_not():
    own = fingerprint(SOLUTION.encode())
    assert own == fingerprint(RENAMED.encode()) != fingerprint(LOOPS.encode())
    assert own != fingerprint(WRONG.encode())
    forward, _ = own.split()
    line = "exponentials = "
    hidden = SOLUTION.replace(line, f"unused: int = 0\n    {line}").replace("shifted", "s")
    hidden = (
        hidden.replace("probs * dout", "dout * probs")
        .replace("import numpy as np", "import numpy")
        .replace("np.", "numpy.")
    )
    assert fingerprint(hidden.encode()) == own and hidden != SOLUTION
    half = SOLUTION[: SOLUTION.index("def softmax_backward")]
    assert fingerprint(half.encode()) == forward
    assert fingerprint(b"def f(") == "" == fingerprint(b"x = " + b"-" * 100_000 + b"1")
    assert fingerprint(b"# coding: rot13\n" + SOLUTION.encode()) == ""


def test_untouched_starters_and_broken_files_are_not_marked():
    starter = fingerprint(SOFTMAX.starter.read_bytes())
    found = marks(SOFTMAX, {"a": starter, "b": starter, "c": "", "d": "", "e": "f=1 g=2",
                            "f": "f=1"}, {"old of 2025": "g=2"})  # fmt: skip
    assert found == {"e": "softmax.py: f as in f; g as in old of 2025",
                     "f": "softmax.py: f as in e"}  # fmt: skip


def test_what_the_instructor_wrote_for_a_call_is_hidden_from_submissions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("course.toml").touch()
    Path("last_year/students").mkdir(parents=True)
    settings = GradeSettings(
        submissions=(Path("class"),), out=Path("out"), against=(Path("last_year"),),
        roster=Path("names/roster.csv"))  # fmt: skip
    hidden = hidden_from_students(settings)
    for name in ("class", "out", "last_year", "names/roster.csv", "course.toml"):
        assert tmp_path / name in hidden


def test_a_sandbox_shows_the_environment_and_no_chapter_of_the_course(tmp_path):
    places = needed(tmp_path)
    assert tmp_path in places and any(place.name == "site-packages" for place in places)
    assert not any(place.is_relative_to(ROOT / "exercises") for place in places)
    assert not is_visible(ROOT / "exercises") and not is_visible(Path("."))


def test_what_holds_the_environment_is_covered_but_for_it(tmp_path):
    for name in ("env/bin", "solutions", "tests"):
        (tmp_path / name).mkdir(parents=True)
    covered = without(tmp_path, [tmp_path / "env"])
    assert covered == [tmp_path / "solutions", tmp_path / "tests"]
    assert without(tmp_path, []) == [tmp_path] and without(tmp_path / "no", []) == []


def test_every_exercise_has_a_place_in_the_gradebook(graded):
    assert {exercise.name for exercise in present()} <= rows(graded[1])[0].keys()


def test_a_folder_that_holds_something_else_is_not_written_to(tmp_path):
    hand_in(tmp_path / "class" / "ann", SOLUTION)
    out = tmp_path / "mine"
    out.mkdir()
    (out / "gradebook.csv").write_text("by hand", encoding="utf-8")
    for folder in (out, tmp_path / "class"):
        with pytest.raises(UserError, match="is not empty and holds no grades"):
            claim(folder)
    assert (out / "gradebook.csv").read_text("utf-8") == "by hand"
    (out / ".lock").touch()
    (out / "times.csv").touch()
    claim(out)  # one of ours: it goes on
