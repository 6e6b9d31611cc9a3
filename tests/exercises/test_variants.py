"""Defaults of a student's own: `variants = true` in course.toml."""

import csv
import subprocess
import sys

import pytest

from autograder import course
from autograder.points import find
from autograder.runner import PASSED
from bert_experiments.grader.__main__ import Variants, table_of_defaults
from bert_experiments.grader.bank import Variant, try_out
from bert_run.errors import UserError

NUMBER = 4711
PAGE = {"04_layer_norm": "eps: float = 1e-12", "14_masking_on_device": "rate: float = 0.15",
        "10_mlm_masking": "rate: float = 0.15"}  # fmt: skip


def failed(name, text, **more):
    verdict = try_out(Variant(find(name), "", is_right=True, text=text), **more)
    return [o.id for o in verdict.outcomes if o.outcome != PASSED]


@pytest.mark.parametrize("name", course.OWN_DEFAULTS)
def test_variants__an_answer_with_the_students_own_default_is_right_and_no_other_is(name):
    solution = find(name).solution.read_text("utf-8")
    assert PAGE[name] in solution

    def answer_of(number):
        before, _, _ = PAGE[name].rpartition(" ")
        return solution.replace(PAGE[name], f"{before} {course.default_of(name, number)!r}")

    other = next(n for n in range(1, 99)
                 if course.default_of(name, n) != course.default_of(name, NUMBER))  # fmt: skip
    assert not failed(name, answer_of(NUMBER), variant=NUMBER, seed=5)
    for copied in (solution, answer_of(other)):
        lost = failed(name, copied, variant=NUMBER)
        assert 1 <= len(lost) <= 2, lost


def test_variants__a_default_of_ones_own_is_never_that_of_the_page():
    for name, (_, usual, others) in course.OWN_DEFAULTS.items():
        assert usual not in others and len(set(others)) == len(others) >= 16
        assert course.default_of(name, 0) == usual
        drawn = {course.default_of(name, number) for number in range(1, 400)}
        assert drawn == set(others)


def course_of(seed: int) -> course.Course:
    return course.Course(seed=seed, variants=True)


def test_variants__the_numbers_of_a_class_follow_from_the_seed_and_the_ids():
    rows = table_of_defaults(course_of(7), [("s01", "A B"), ("s02", "C D")])
    assert rows == table_of_defaults(course_of(7), [("s01", "A B"), ("s02", "C D")])
    assert rows[0][:3] == ["id", "name", "variant"] and len(rows[0]) == 3 + len(course.OWN_DEFAULTS)
    assert rows[1][2] != rows[2][2] != table_of_defaults(course_of(8), [("s02", "C D")])[1][2]


def test_variants__the_table_of_a_class_needs_a_secret_seed(tmp_path, monkeypatch, capsys):
    (tmp_path / "roster.csv").write_text("id,name\ns01,A B\n")
    monkeypatch.chdir(tmp_path)
    weeks = "[week.1]\nexercises = ['04']\n"
    (tmp_path / "course.toml").write_text(f"variants = true\n{weeks}")
    with pytest.raises(UserError, match="has no secret seed and variants = true"):
        Variants(roster=tmp_path / "roster.csv").run()
    (tmp_path / "course.toml").write_text(f"variants = true\nseed = 7\n{weeks}")
    Variants(roster=tmp_path / "roster.csv").run()
    assert capsys.readouterr().out.splitlines()[1].startswith("s01,A B,")


def test_course_toml__says_whether_there_are_variants_and_a_students_number():
    week = {"week": {"1": {"exercises": ["04"]}}}
    assert not course.parse_course(week).variants
    assert course.parse_course({"variants": True, "seed": 1, **week}).variants
    assert course.parse_course({"variant": NUMBER, **week}).variant == NUMBER
    with pytest.raises(UserError, match="variants is 'yes': it must be true or false"):
        course.parse_course({"variants": "yes", **week})
    with pytest.raises(
        UserError, match="variant is 10000: it must be a whole number from 0 to 9,999"
    ):
        course.parse_course({"variant": 10_000, **week})


def called(*arguments, cwd):
    return subprocess.run([sys.executable, *map(str, arguments)], cwd=cwd, capture_output=True,
                          text=True, timeout=200)  # fmt: skip


def test_a_class_with_variants__a_copied_file_loses_points_and_its_author_none(tmp_path):
    gelu, layer_norm = find("05_gelu"), find("04_layer_norm")
    (tmp_path / "roster.csv").write_text("id,name\nada,Ada L\nbob,Bob M\n")
    (tmp_path / "course.toml").write_text(
        "seed = 7\nvariants = true\n[week.1]\nexercises = ['04-05']\n"
    )
    rows = table_of_defaults(course_of(7), [("ada", "Ada L"), ("bob", "Bob M")])
    told = called(
        "-m", "bert_experiments.grader", "variants", "--roster", "roster.csv", cwd=tmp_path
    )
    assert told.stdout.splitlines() == [",".join(row) for row in rows], told.stderr
    of_ada = layer_norm.solution.read_text("utf-8").replace(
        PAGE[layer_norm.name], f"eps: float = {rows[1][3]}"
    )
    for student in ("ada", "bob"):
        folder = tmp_path / "class" / student
        folder.mkdir(parents=True)
        (folder / layer_norm.file).write_text(of_ada)
        (folder / gelu.file).write_text(gelu.solution.read_text("utf-8"))
    done = called("-m", "autograder.untrusted.grade", "class", "--out", "grades", "--sandbox",
                  "none", "--roster", "roster.csv", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "grades" / "gradebook.csv", encoding="utf-8") as file:
        ada, bob = csv.DictReader(file)
    assert float(ada[layer_norm.name]) == layer_norm.points > float(bob[layer_norm.name])
    assert float(ada[gelu.name]) == float(bob[gelu.name]) == gelu.points
    page = (tmp_path / "grades" / "students" / "bob" / "report.html").read_text("utf-8")
    assert course.OF_PAGE not in page and "without eps" in page  # ada's default is no page's


def test_at_home__the_checks_expect_the_defaults_of_the_students_number(tmp_path):
    own = course.default_of("04_layer_norm", NUMBER)
    name, text = "04_layer_norm", find("04_layer_norm").solution.read_text("utf-8")
    (tmp_path / "mine" / name).mkdir(parents=True)
    (tmp_path / "mine" / name / "layer_norm.py").write_text(
        text.replace(PAGE[name], f"eps: float = {own!r}")
    )
    pytest_of = ("-m", "pytest", "-q", "-p", "no:cacheprovider", find(name).folder,
                 "--submission", tmp_path / "mine")  # fmt: skip
    usual = called(*pytest_of, cwd=tmp_path)
    assert usual.returncode == 1 and "test_without_the_argument_eps_is_1e_12" in usual.stdout
    (tmp_path / "course.toml").write_text(f"variant = {NUMBER}\n[week.1]\nexercises = ['04']\n")
    assert called(*pytest_of, cwd=tmp_path).returncode == 0


def test_gradescope__is_refused_where_each_student_has_defaults_of_their_own(tmp_path):
    (tmp_path / "course.toml").write_text(
        "seed = 7\nvariants = true\n[week.1]\nexercises = ['04']\n"
    )
    done = called("-m", "bert_experiments.grader", "gradescope", "04", cwd=tmp_path)
    assert done.returncode != 0 and "does not know whose file it grades" in done.stderr
    assert not list(tmp_path.glob("*.zip")) and "Traceback" not in done.stderr
