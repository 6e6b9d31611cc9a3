"""The copy that students get, the solutions released into it, and exercises of a class's own."""

import shlex
import subprocess

import pytest

from autograder import points
from autograder.points import CATALOGUE, STARTERS, all_present, find, present, worth
from autograder.runner import TO_DO, obstacle
from bert_experiments.grader import handout
from bert_experiments.grader.__main__ import hashes_of_starters
from bert_experiments.grader.gradescope import files_of
from bert_run.errors import UserError


def log(folder) -> list[str]:
    call = ["git", "-C", str(folder), "log", "--format=%s"]
    return subprocess.run(call, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("handout") / "copy"
    handout.hand_out(folder)
    return folder


def test_a_copy__has_no_answers_and_one_commit(copy):
    assert log(copy) == ["The course"]
    for name in handout.LEFT_OUT:
        assert not (copy / name).exists(), name
    for exercise in CATALOGUE:
        assert (copy / "exercises" / exercise.name / exercise.file).is_file()


def test_a_copy__has_no_link_to_what_was_left_out(copy):
    for page in copy.rglob("*.md"):
        for link in handout.LINK.finditer(page.read_text("utf-8")):
            place = (page.parent / link["target"]).resolve()
            if place.is_relative_to(copy.resolve()):
                was = points.ROOT / place.relative_to(copy.resolve())
                assert place.exists() or not was.exists(), f"{page}: {link[0]}"
    assert "WRITING.md (not in this copy)" in (copy / "exercises" / "README.md").read_text("utf-8")


def test_solutions_of_a_week__are_released_in_a_commit(copy):
    names = handout.exercises_of_week("2")
    assert names == ["03_softmax", "04_layer_norm", "05_gelu"]
    handout.release(names, copy)
    assert (copy / "solutions" / "03_softmax" / "softmax.py").is_file()
    assert not (copy / "solutions" / "06_attention").exists()
    assert log(copy)[0] == "Solutions of 03_softmax, 04_layer_norm, 05_gelu"
    handout.release(["03"], copy)  # nothing new: no commit
    assert len(log(copy)) == 2


def git(folder, *arguments) -> str:
    call = [*handout.GIT, "-C", str(folder), *arguments]
    return subprocess.run(call, capture_output=True, text=True, check=True).stdout


def test_a_release__commits_nothing_else_and_works_in_a_worktree(copy, tmp_path):
    git(copy, "worktree", "add", "--quiet", tmp_path / "tree", "-b", "released")
    (tmp_path / "tree" / "exam_draft.md").write_text("secret")
    git(tmp_path / "tree", "add", "exam_draft.md")
    handout.release(["06"], tmp_path / "tree")
    assert log(tmp_path / "tree")[0] == "Solutions of 06_attention"
    assert "exam_draft.md" not in git(tmp_path / "tree", "show", "--stat")
    assert git(tmp_path / "tree", "status", "--porcelain") == "A  exam_draft.md\n"


@pytest.mark.parametrize("target", ["handout", "release"])
def test_make__takes_a_folder_with_a_blank_in_its_name(target, tmp_path):
    call = ["make", "-n", "-o", ".venv/.installed", "-f", points.ROOT / "Makefile", target]
    done = subprocess.run([*call, "OUT=../my copy", "WEEK=2"], cwd=tmp_path, capture_output=True,
                          text=True, check=True)  # fmt: skip
    assert "../my copy" in shlex.split(done.stdout)


def test_the_weeks_of_a_course_go_before_those_of_the_plan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "course.toml").write_text("[week.2]\nexercises = ['06', '01']\n", "utf-8")
    assert handout.exercises_of_week("2") == ["01_wordpiece", "06_attention"]


def test_the_weeks_of_a_course_are_copied_without_the_secret_seed(tmp_path):
    weeks, copied = tmp_path / "course.toml", tmp_path / "copy.toml"
    weeks.write_text(
        "late_days = 1\nseed = 4711  # secret\n[week.1]\nexercises = ['03']\n", "utf-8"
    )
    handout.copy_course(weeks, copied)
    assert copied.read_text("utf-8") == "late_days = 1\n[week.1]\nexercises = ['03']\n"
    weeks.write_text('"se\\u0065d" = 4711\n[week.1]\nexercises = ["03"]\n', "utf-8")
    with pytest.raises(UserError, match="a line of its own"):
        handout.copy_course(weeks, copied)
    assert not copied.exists()


def test_what_cannot_be_handed_out_or_released_is_told(tmp_path):
    (tmp_path / "mine").touch()
    with pytest.raises(UserError, match="is not empty"):
        handout.hand_out(tmp_path)
    with pytest.raises(UserError, match="is no copy of the course"):
        handout.release(["03"], tmp_path)
    with pytest.raises(UserError, match="is no copy of the course"):
        handout.release(["03"], points.ROOT)
    with pytest.raises(UserError, match="no exercise '99'"):
        handout.release(["99"], tmp_path)
    with pytest.raises(UserError, match="no week 40"):
        handout.exercises_of_week("40")


def test_starters_are_known_by_their_hashes_where_there_are_no_solutions(monkeypatch, tmp_path):
    assert STARTERS.read_text("utf-8") == hashes_of_starters(), (
        "run: python -m bert_experiments.grader generate"
    )
    monkeypatch.setattr(points, "SOLUTIONS", tmp_path)
    for exercise in CATALOGUE:
        assert obstacle(exercise, exercise.starter).outcome == TO_DO


# Exercises of a class's own.


@pytest.fixture
def local(monkeypatch, tmp_path):
    monkeypatch.setenv("BERT_LOCAL_EXERCISES", "on")
    monkeypatch.setattr(points, "LOCAL", tmp_path)
    folder = tmp_path / "30_perplexity"
    folder.mkdir()
    test = "def test_it(student):\n    student.perplexity(1)\n"
    (folder / "test_perplexity.py").write_text(test, encoding="utf-8")
    return folder


def all_worth():
    return {exercise.name: worth(exercise) for exercise in all_present()}


def test_a_local_exercise__comes_on_top_of_the_hundred(local):
    before = all_worth()
    (local / "exercise.json").write_text('{"points": 3, "libraries": ["torch"]}', "utf-8")
    after = all_worth()
    assert after.pop("30_perplexity") == {"test_it": 300}
    assert after == before and sum(sum(tests.values()) for tests in before.values()) == 10_000
    assert find("30_perplexity").libraries == ("torch",) and present()[-1].is_local
    packed = {path.name for path in files_of([find("30_perplexity")]) if path.parent == local}
    assert packed == {"exercise.json", "perplexity.py", "test_perplexity.py"}


@pytest.mark.parametrize("text", ["", "[]", '{"points": 0}', '{"points": "3"}',
                                  '{"points": 3, "libraries": [1]}'])  # fmt: skip
def test_a_local_exercise__that_says_no_points_is_told(local, text):
    (local / "exercise.json").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"write {.points"):
        present()


def test_a_local_exercise__may_not_take_the_name_of_another(local):
    (local / "exercise.json").write_text('{"points": 3}', encoding="utf-8")
    local.rename(local.with_name("03_softmax"))
    with pytest.raises(UserError, match="a number of its own"):
        present()
