"""`pytest exercises/`: what is graded, the table, the exit status, the reports."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.points import READY, ROOT, Exercise, find, present
from autograder.runner import (
    BLOCKED,
    FAILED,
    NOT_RUN,
    PASSED,
    TO_DO,
    Outcome,
    grade,
    gradescope,
    is_full,
    make_report,
    settled,
    status,
)

SOFTMAX = find("03_softmax")


def run(*arguments: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess:
    """Without the plugins of other packages, which take longer to start than the exercise."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "pytest_timeout",
               "-p", "autograder.options", *map(str, arguments)]  # fmt: skip
    settings = {"OMP_NUM_THREADS": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=200,
                          env={**os.environ, **settings})  # fmt: skip


PEEK = """
import sys

def pytest_unconfigure():
    print("loaded:", *({"hypothesis", "sympy", "torch._dynamo"} & sys.modules.keys()))
"""


@pytest.mark.parametrize("name", [SOFTMAX.name, "15_causal_or_bidirectional"])
def test_a_run_loads_no_large_library_that_the_exercise_does_not_use(tmp_path, name):
    """Each of these takes a second or two, and with plugins of other packages they are at hand."""
    (tmp_path / "peek.py").write_text(PEEK, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "peek", "--solutions",
         find(name).folder],
        cwd=ROOT, capture_output=True, text=True, timeout=200,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1] == "loaded:"


def hand_in(folder: Path, text: str) -> Path:
    """A submission that holds one file."""
    (folder / SOFTMAX.name).mkdir()
    (folder / SOFTMAX.name / SOFTMAX.file).write_text(text, encoding="utf-8")
    return folder


def solution() -> str:
    return SOFTMAX.solution.read_text("utf-8")


def test_a_solution_has_full_marks_and_the_report_says_so(tmp_path):
    done = run(SOFTMAX.folder, "--solutions", "--report", tmp_path / "report.json",
               "--gradescope", tmp_path / "results.json")  # fmt: skip
    assert done.returncode == 0, done.stdout
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["max_score"] == 100 and len(report["exercises"]) == len(present())
    own = next(e for e in report["exercises"] if e["name"] == SOFTMAX.name)
    assert own["score"] == own["max_score"] == report["score"] and own["status"] == "passed"
    assert sum(t["points"] for t in own["tests"]) == pytest.approx(own["max_score"])
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["score"] == report["score"]
    assert sum(t["max_score"] for t in results["tests"]) == pytest.approx(100)


@pytest.mark.parametrize("chosen", [("--exercises", "03,05"), ("--week", "2")])
def test_a_week__is_run_alone_and_its_reports_are_out_of_its_own_points(tmp_path, chosen):
    (tmp_path / "course.toml").write_text("[week.2]\nexercises = ['03', '05']\n")
    files = {name: tmp_path / f"{name}.json" for name in ("report", "gradescope")}
    done = run(ROOT / "exercises", *chosen, "--submission", hand_in(tmp_path, solution()),
               *[word for name, path in files.items() for word in (f"--{name}", path)],
               cwd=tmp_path)  # fmt: skip
    assert done.returncode == 1, done.stdout  # 05_gelu is missing
    report, results = (json.loads(path.read_text()) for path in files.values())
    assert (report["score"], report["max_score"]) == (results["score"], 5) == (3, 5)
    assert {test["name"][:2] for test in results["tests"]} == {"03", "05"}
    assert "04_layer_norm" not in done.stdout and "3.00 of   5.00" in done.stdout


def test_what_one_should_know_before__is_checked_alone_and_is_no_part_of_a_run_of_all(tmp_path):
    alone = run(READY.folder, "--solutions", "--report", tmp_path / "report.json")
    assert alone.returncode == 0 and "00_ready  no points  passed" in alone.stdout
    assert "together" not in alone.stdout
    assert json.loads((tmp_path / "report.json").read_text())["max_score"] == 100
    every = run(ROOT / "exercises", "--solutions", "--ignore-glob=*/1*", "--ignore-glob=*/2*",
                *(f"--ignore-glob=*/0{number}_*" for number in (1, 2, 4, 6, 7, 8, 9)))  # fmt: skip
    assert every.returncode == 0 and "5.00 of   5.00" in every.stdout
    assert "00_ready" not in every.stdout


def test_a_week_that_there_is_not__is_told_in_a_line(tmp_path):
    done = run(ROOT / "exercises", "--exercises", "30", cwd=tmp_path)
    assert done.returncode == 4 and "ERROR: --exercises: '30' is no exercise" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_without_the_solutions_at_hand_answers_written_in_place_are_graded(tmp_path, monkeypatch):
    """An instructor may give the course out without them; then no starter can be made anew."""
    answer, starter = solution(), SOFTMAX.starter.read_text("utf-8")
    monkeypatch.setattr(Exercise, "test", SOFTMAX.test)
    monkeypatch.setattr(Exercise, "folder", property(lambda self: tmp_path / self.name))
    monkeypatch.setattr(Exercise, "solution", property(lambda self: tmp_path / "none" / self.file))
    hand_in(tmp_path, answer)
    assert {outcome.outcome for outcome in grade(SOFTMAX, SOFTMAX.starter)} == {PASSED}
    SOFTMAX.starter.write_text(starter, encoding="utf-8")
    assert PASSED not in {outcome.outcome for outcome in grade(SOFTMAX, SOFTMAX.starter)}


def test_an_untouched_stub_is_to_do_scores_0_and_fails_the_run(tmp_path):
    starter = SOFTMAX.starter.read_text("utf-8")
    done = run(SOFTMAX.folder, "--submission", hand_in(tmp_path, starter), "--hints", "2")
    assert done.returncode == 1
    assert "0.00 of" in done.stdout and "to do" in done.stdout and "Traceback" not in done.stdout
    assert "Hint 2" in done.stdout and "Hint 3" not in done.stdout


def test_half_of_an_answer_scores_its_part_and_the_rest_is_to_do(tmp_path):
    head, _, _ = solution().partition("    average =")
    text = head + '    raise NotImplementedError("write softmax_backward")\n'
    done = run(SOFTMAX.folder, "--submission", hand_in(tmp_path, text), "--report",
               tmp_path / "report.json")  # fmt: skip
    assert done.returncode == 1 and "to do: softmax_backward" in done.stdout
    own = next(e for e in json.loads((tmp_path / "report.json").read_text())["exercises"]
               if e["name"] == SOFTMAX.name)  # fmt: skip
    assert 0 < own["score"] < own["max_score"]
    for test in own["tests"]:
        assert (test["outcome"] == "to do") == (test["message"] == "softmax_backward is to do")


def test_a_wrong_answer_is_told_what_was_expected_what_came_and_the_likely_mistake(tmp_path):
    text = solution().replace("(axis=axis, keepdims=True)", "(axis=-1, keepdims=True)")
    done = run(SOFTMAX.folder, "--submission", hand_in(tmp_path, text))
    assert done.returncode == 1
    for words in ("after softmax_forward(array float64[4, 4], axis=0)", "expected", "got",
                  "likely mistake: the axis argument is ignored"):  # fmt: skip
        assert words in done.stdout
    assert "checks.py" not in done.stdout


def test_of_a_function_the_first_likely_mistake_is_the_only_one_that_is_named(tmp_path):
    """Later and narrower checks take what follows from it for mistakes of their own."""
    over_all = "    e = np.exp(x - x.max())\n    return e / e.sum()\n"
    plain_mean = "    return probs * (dout - dout.mean(axis, keepdims=True))\n"
    text = ("import numpy as np\n\n\ndef softmax_forward(x, axis=-1):\n" + over_all
            + "\n\ndef softmax_backward(dout, probs, axis=-1):\n" + plain_mean)  # fmt: skip
    done = run(SOFTMAX.folder, "--submission", hand_in(tmp_path, text))
    named = [line for line in done.stdout.splitlines() if "likely mistake" in line]
    assert any("softmax over the whole array" in line for line in named)
    assert 1 <= len(set(named)) <= 2 and done.returncode == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import pytest; pytest.exit('done', returncode=0)", "imports pytest: write"),
        ("__import__('py' + 'test').exit('done', returncode=0)", "raised Exit"),
        ("__import__('py' + 'test').skip('no', allow_module_level=True)", "raised Skipped"),
        ("raise SystemExit(0)", "raised SystemExit"),
        ("from bert_numpy.operations import *", "imports bert_numpy: write"),
        ("def softmax_forward(:", "SyntaxError"),
    ],
)
def test_ways_around_the_work_score_nothing(tmp_path, text, says):
    done = run(SOFTMAX.folder, "--submission", hand_in(tmp_path, text), "--report",
               tmp_path / "report.json")  # fmt: skip
    assert done.returncode == 1 and says in done.stdout, done.stdout
    assert json.loads((tmp_path / "report.json").read_text())["score"] == 0


@pytest.mark.parametrize(
    "text",
    [
        "import os; os._exit(0)",
        "import atexit, os; atexit.register(lambda: os._exit(0)); raise SystemExit(0)",
        """
import os
class Odd(Exception):
    def __str__(self): os._exit(0)
def softmax_forward(x, axis=-1): raise Odd
""",
        """
import sys
for name, module in list(sys.modules.items()):
    if name.startswith("autograder"):
        module.same = module.judge = module.difference = lambda *args, **kwargs: None
def softmax_forward(x, axis=-1): return x
def softmax_backward(dprobabilities, probabilities, axis=-1): return probabilities
""",
    ],
    ids=["at import", "at exit", "when it is described", "checks patched"],
)
def test_the_exit_status_is_0_only_at_full_marks_whatever_a_file_does(text, tmp_path):
    done = run(SOFTMAX.folder, "--submission", hand_in(tmp_path, text), "--report",
               tmp_path / "report.json")  # fmt: skip
    assert done.returncode == 1, done.stdout
    assert json.loads((tmp_path / "report.json").read_text())["score"] == 0


def test_what_the_students_code_prints_is_shown_and_a_breakpoint_says_what_to_do(tmp_path):
    text = "def softmax_forward(x, axis=-1):\n    print('my own words')\n    breakpoint()\n"
    done = run(SOFTMAX.folder, "--submission", hand_in(tmp_path, text))
    assert "my own words" in done.stdout and "call pytest with --pdb" in done.stdout


def test_under_a_debugger_the_code_runs_in_pytests_own_process(tmp_path):
    text = "import os\ndef softmax_forward(x, axis=-1): raise ValueError(os.getpid())\n"
    hand_in(tmp_path, text)
    command = [sys.executable, "-c", "import os, pytest, sys; print('own', os.getpid());"
               "sys.exit(pytest.main(sys.argv[1:]))", str(SOFTMAX.folder), "--pdb", "-x",
               "--submission", str(tmp_path)]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, input="p 6 * 7\nq\n",
                          timeout=200)  # fmt: skip
    own = done.stdout.partition("own ")[2].split()[0]
    assert f"ValueError: {own}" in done.stdout and "42" in done.stdout, done.stdout


def test_the_options_are_installed_and_a_conftest_of_a_submission_is_not_run(tmp_path):
    """pytest must not take the DIR of --submission for a folder of tests."""
    hand_in(tmp_path, solution())
    (tmp_path / "conftest.py").write_text("raise SystemExit('run!')\n")
    command = [sys.executable, "-m", "pytest", "-q", SOFTMAX.folder, "--submission", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0 and "run!" not in done.stdout + done.stderr, done.stdout


def test_a_file_that_is_missing_is_told(tmp_path):
    done = run(SOFTMAX.folder, "--submission", tmp_path)
    assert done.returncode == 1 and "softmax.py is missing" in done.stdout


def test_a_run_that_collects_nothing_fails(tmp_path):
    assert run(SOFTMAX.folder, "-k", "nothing_is_called_this").returncode != 0


def test_a_part_of_the_tests_is_not_full_marks():
    done = run(SOFTMAX.folder, "--solutions", "-k", "nothing_is_left_behind")
    assert done.returncode == 1 and "not run" in done.stdout


def test_it_runs_from_the_folder_of_the_exercise_too():
    done = run("--solutions", cwd=SOFTMAX.folder)
    assert done.returncode == 0 and SOFTMAX.name in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--solutions", "--submission", "."], "take one"),
        (["--submission", "nowhere"], "there is no such folder"),
        (["--report", "nowhere/r.json"], "--report nowhere/r.json: there is no folder nowhere"),
        (["--gradescope", "nowhere/r.json"], "there is no folder nowhere"),
        (["--report", "."], "--report .: that is a folder: name a file in it"),
        (["--report", "r.json", "--gradescope", "r.json"], "both name r.json: name two files"),
        (["--seed", "-1"], "--seed -1: it must be from 0 to 4294967295"),
        (["--seed", "99999999999999999999"], "--seed 99999999999999999999: it must be from 0 to"),
        (["-p", "xdist", "-n", "2"], "grading needs one process: call pytest with -n 0"),
    ],
)
def test_options_that_make_no_sense_are_told_in_a_line(options, says):
    done = run(SOFTMAX.folder, *options)
    assert done.returncode == 4 and says in done.stderr and "Traceback" not in done.stderr


def test_a_test_that_was_reported_twice_or_never_scores_nothing():
    tests = [o.id for o in settled(SOFTMAX, [])]
    outcomes = [Outcome(test, PASSED) for test in tests[1:]] + [Outcome(tests[-1], PASSED)]
    outcomes.append(Outcome("test_that_is_forged", PASSED))
    report = make_report({SOFTMAX.name: outcomes})
    own = next(e for e in report["exercises"] if e["name"] == SOFTMAX.name)
    assert [t["id"] for t in own["tests"]] == tests
    assert own["tests"][0]["outcome"] == "not run"
    assert own["tests"][-1]["outcome"] == FAILED and "2 times" in own["tests"][-1]["message"]
    assert own["score"] == pytest.approx(sum(t["points"] for t in own["tests"][1:-1]))


@pytest.mark.parametrize("outcome", [FAILED, TO_DO, BLOCKED, NOT_RUN])
def test_a_check_that_has_not_passed__scores_nothing_whatever_holds_it_up(outcome):
    first, *others = [o.id for o in settled(SOFTMAX, [])]
    outcomes = [Outcome(first, outcome), *(Outcome(test, PASSED) for test in others)]
    report = make_report({SOFTMAX.name: outcomes}, [SOFTMAX.name])
    [own] = report["exercises"]
    lost = own["tests"][0]["points"]
    assert lost > 0 and own["tests"][0]["outcome"] == outcome
    assert own["score"] == report["score"] == pytest.approx(own["max_score"] - lost)
    assert sum(t["score"] for t in gradescope(report)["tests"]) == pytest.approx(own["score"])
    assert not is_full(report)


def test_an_exercise_without_outcomes_has_not_passed():
    assert status([]) != PASSED


def diff(path: Path) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "autograder", "diff", path],
                          capture_output=True, text=True)  # fmt: skip


def test_diff_shows_the_solution_beside_ones_own_file_with_its_explanation(tmp_path):
    mine = shutil.copy(SOFTMAX.starter, tmp_path)
    shown = diff(mine).stdout
    assert '-    raise NotImplementedError("write softmax_backward")' in shown
    assert "+    # ∂pᵢ/∂xⱼ" in shown and "+# Wrong answers that are common:" in shown
    assert "begin solution" not in shown


def test_diff_of_a_file_of_no_exercise_is_told_in_a_line(tmp_path):
    done = diff(tmp_path / "other.py")
    assert done.returncode == 2 and "no exercise has a file 'other.py'" in done.stderr


def test_diff_of_a_file_that_is_not_utf_8_is_told_in_a_line(tmp_path):
    (tmp_path / SOFTMAX.file).write_bytes(b"x = '\xe9'\n")
    done = diff(tmp_path / SOFTMAX.file)
    assert done.returncode == 2 and done.stderr.startswith("error: ")
    assert "save it as UTF-8" in done.stderr and done.stderr.count("\n") == 1


def test_a_reader_that_has_gone_gets_no_complaint():
    command = f"{sys.executable} -m autograder diff {SOFTMAX.starter} | head -n 0"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=100)
    assert not done.stdout and not done.stderr
