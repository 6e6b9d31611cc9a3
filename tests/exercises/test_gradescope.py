"""The zip for Gradescope, run from its own folder as Gradescope does, without namespaces."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from autograder.course import read_course
from autograder.points import ROOT, find
from bert_experiments.grader.gradescope import write_bundle
from bert_run.errors import UserError

GELU, SOFTMAX = find("05_gelu"), find("03_softmax")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "week.zip"
    write_bundle(path, [SOFTMAX, GELU])
    return path


def test_the_zip__has_both_scripts_and_no_solution(bundle):
    with zipfile.ZipFile(bundle) as archive:
        names = archive.namelist()
        assert names[:2] == ["setup.sh", "run_autograder"]
        assert all(archive.getinfo(name).external_attr >> 16 & 0o111 for name in names[:2])
        setup = archive.read("setup.sh").decode()
    assert not any("solution" in name or "bank" in name for name in names)
    assert {name.split("/")[2] for name in names if name.startswith("course/exercises/")} == {
        "autograder", "starters.json", "03_softmax", "05_gelu"}  # fmt: skip
    assert " torch " in setup and " jinja2" in setup and "jupyterlab" not in setup
    first = bundle.read_bytes()
    write_bundle(bundle, [SOFTMAX, GELU])
    assert bundle.read_bytes() == first


@pytest.fixture
def root(tmp_path) -> Path:
    """The folder of a container, with the zip unpacked, and neither bwrap nor unshare."""
    bundle, root = tmp_path / "week.zip", tmp_path / "autograder"
    write_bundle(bundle, [SOFTMAX, GELU], seed=77)
    for name in ("source", "submission", "results", "bin"):
        (root / name).mkdir(parents=True)
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(root / "source")
    for program in ("chmod", "cp", "mkdir", "mktemp"):
        (root / "bin" / program).symlink_to(shutil.which(program))
    return root


def graded(root: Path, python: str) -> tuple[subprocess.CompletedProcess, dict]:
    done = subprocess.run(
        [shutil.which("bash"), root / "source" / "run_autograder"], cwd="/", timeout=250,
        env={"PATH": str(root / "bin"), "AUTOGRADER": str(root), "PYTHON": python},
        capture_output=True, text=True,
    )  # fmt: skip
    return done, json.loads((root / "results" / "results.json").read_text("utf-8"))


def test_run_autograder__gives_the_json_that_gradescope_documents(root):
    page = root / "source" / "course" / "exercises" / "autograder" / "runner.py"
    page.write_text(page.read_text("utf-8").replace(' points"', ' points of the zip"'), "utf-8")
    (root / "submission" / "gelu (1).py").write_bytes(GELU.solution.read_bytes())
    (root / "submission" / "softmax.py").write_bytes(SOFTMAX.starter.read_bytes())
    done, results = graded(root, sys.executable)
    assert done.returncode == 0 and "warning: sandbox none" in done.stderr, done.stderr
    assert results["score"] == 2 and results["output"].startswith("2 of 5 points of the zip")
    assert "gelu (1).py is taken for gelu.py" in results["output"]
    assert results["tests"][0]["output"] == "softmax.py is as it was handed out"
    for test in results["tests"]:
        assert test.keys() == {"name", "score", "max_score", "status", "output"}
        assert test["status"] in ("passed", "failed")
        assert isinstance(test["output"], str) and 0 <= test["score"] <= test["max_score"]
    assert sum(test["max_score"] for test in results["tests"]) == pytest.approx(5)
    assert sum(test["score"] for test in results["tests"]) == pytest.approx(2)


def test_where_the_grader_fails__the_student_is_told_that_it_is_not_their_fault(root):
    _, results = graded(root, shutil.which("false"))
    assert results["score"] == 0 and "nothing is wrong with your files" in results["output"]


def test_the_command__asks_for_exercises_and_names_its_file(tmp_path):
    command = [sys.executable, "-m", "bert_experiments.grader", "gradescope"]
    done = subprocess.run([*command, "05", "--out", tmp_path / "a.zip"], capture_output=True,
                          text=True, cwd=tmp_path, env=os.environ)  # fmt: skip
    assert done.returncode == 0 and (tmp_path / "a.zip").is_file(), done.stderr
    weeks = "late_days = 3\nseed = 77\n[week.2]\nexercises = ['03-05']\n"
    (tmp_path / "course.toml").write_text(weeks, "utf-8")
    subprocess.run([*command, "05", "--out", tmp_path / "a.zip"], cwd=tmp_path, check=True)
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        archive.extract("course/course.toml", tmp_path)
    course = read_course(tmp_path / "course" / "course.toml")
    assert course.seed == 77 and course.week("1").items == ["05_gelu"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=os.environ)
    assert done.returncode == 2 and "error: which exercises?" in done.stderr


def test_a_file_that_is_no_such_zip__is_not_written_over(tmp_path, bundle):
    for content in (b"hello", b"run_autograder"):
        (tmp_path / "precious.zip").write_bytes(content)
        with pytest.raises(UserError, match=r"precious\.zip is there already and no such zip"):
            write_bundle(tmp_path / "precious.zip", [GELU])
        assert (tmp_path / "precious.zip").read_bytes() == content
    (tmp_path / "mine.zip").write_bytes(bundle.read_bytes())
    write_bundle(tmp_path / "mine.zip", [GELU])
    assert (tmp_path / "mine.zip").read_bytes() != bundle.read_bytes()


def test_what_setup_installs__has_an_exact_version_in_the_zip(bundle):
    pinned = (ROOT / "constraints.txt").read_text("utf-8").casefold().replace("_", "-")
    with zipfile.ZipFile(bundle) as archive:
        words = archive.read("setup.sh").decode().split()
    for name in words[words.index("https://download.pytorch.org/whl/cpu") + 1 :]:
        assert re.search(rf"(?m)^{re.escape(name.casefold().replace('_', '-'))}==", pinned), name
