"""One hand-written source: starters are what the generator makes of the solutions; files and
points are as WRITING.md says."""

import ast
import re

import pytest

from autograder.points import (
    CATALOGUE,
    EXERCISES,
    READY,
    SOLUTIONS,
    all_present,
    checks_of,
    hints_of,
    present,
    shares,
    worth,
)
from autograder.runner import PASSED, TO_DO, grade, starter_of
from bert_experiments.grader.bank import BANK
from bert_run.errors import UserError

PRESENT = [READY, *present()]
per_exercise = pytest.mark.parametrize("exercise", PRESENT, ids=[e.name for e in PRESENT])
# The capstone asks what seven of the others ask, and is graded in test_capstone.py.
ALONE = [e for e in PRESENT if e.name != "25_capstone"]


@per_exercise
def test_the_starter_is_what_the_generator_makes_of_the_solution(exercise):
    made = starter_of(exercise.solution.read_text("utf-8"))
    assert exercise.starter.read_text("utf-8") == made, (
        "run: python -m bert_experiments.grader generate"
    )
    compile(made, exercise.file, "exec")


@per_exercise
def test_the_starter_scores_nothing(exercise):
    assert {o.outcome for o in grade(exercise, exercise.starter)} == {TO_DO}


@pytest.mark.parametrize("exercise", ALONE, ids=[e.name for e in ALONE])
def test_the_solution_scores_everything(exercise):
    solved = grade(exercise, exercise.solution)
    assert {o.outcome for o in solved} == {PASSED}, [o.message for o in solved if o.message]


@per_exercise
def test_a_starter_with_a_comment_added_still_scores_nothing(exercise, tmp_path):
    """Then it is run: what it hands out must not earn a point by itself."""
    path = tmp_path / exercise.file
    path.write_text(exercise.starter.read_text("utf-8") + "# begun\n", encoding="utf-8")
    earned = [o.id for o in grade(exercise, path) if o.outcome == PASSED]
    assert not earned, f"an untouched function passes {earned}"


@per_exercise
def test_the_tests_are_functions_of_the_student_alone_with_words_for_every_failure(exercise):
    tree = ast.parse(exercise.test.read_text("utf-8"))
    assert checks_of(exercise), "there is no test"
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Assert), f"line {node.lineno}: use checks.that"
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            assert [a.arg for a in node.args.args] == ["student"], node.name
            marks = [ast.unparse(mark) for mark in node.decorator_list]
            assert all(re.fullmatch(r"pytest\.mark\.(weight|hint)\(\d+\)", m) for m in marks), marks
    names = [check.id for check in checks_of(exercise)]
    assert len(set(names)) == len(names)


@per_exercise
def test_pytest_takes_nothing_but_the_tests_for_one(exercise):
    """A name of another kind that begins with `test` would be an error of each run."""
    nodes = ast.parse(exercise.test.read_text(encoding="utf-8")).body
    given = [target.id for node in nodes if isinstance(node, ast.Assign)
             for target in node.targets if isinstance(target, ast.Name)]  # fmt: skip
    assert not [name for name in given if name.startswith("test")]


@per_exercise
def test_the_readme_has_what_a_student_needs(exercise):
    text = (exercise.folder / "README.md").read_text("utf-8")
    points = re.search(r"Difficulty [1-5] of 5 · \d+ minutes · (\d+) points", text)
    assert points and int(points[1]) == exercise.points
    for heading in ("## The task", "## An example", "## Hints"):
        assert heading in text, f"{heading} is missing"
    hints = hints_of(exercise)
    assert len(hints) >= 3 and hints[0][0].startswith("Hint 1"), hints


def test_every_folder_is_in_the_catalogue():
    names = {exercise.name for exercise in PRESENT}
    for place in (EXERCISES, SOLUTIONS, BANK):
        assert {p.name for p in place.glob("[0-9][0-9]_*")} <= names


def test_the_points_are_100_in_all():
    assert sum(exercise.points for exercise in CATALOGUE) == 100
    assert sum(sum(worth(exercise).values()) for exercise in all_present()) == 10_000


@pytest.mark.parametrize("weights", [[1], [1, 1, 1], [3, 2, 2], [1] * 7, [5, 0, 1]])
@pytest.mark.parametrize("total", [1, 100, 417])
def test_shares_add_up_and_follow_the_weights(total, weights):
    found = shares(total, weights)
    assert sum(found) == total
    for part, weight in zip(found, weights, strict=True):
        assert abs(part - total * weight / sum(weights)) < 1


SOLUTION = '''import math

def f(x):
    """Say what."""
    # begin solution
    if x:
        return g(x)
    return 0
    # end solution


# begin solution
def g(x):
    return x
# end solution


def h(x):
    # begin solution
    return x + 1
    # instead
    # y = x
    # return y + 2
    # end solution
'''


def test_a_starter_keeps_the_signature_and_loses_the_answer():
    assert (
        starter_of(SOLUTION)
        == '''import math

def f(x):
    """Say what."""
    raise NotImplementedError("write f")


def h(x):
    y = x
    return y + 2
'''
    )


@pytest.mark.parametrize("line", ["    # begin solution\n", "    # end solution\n"])
def test_a_block_that_is_open_at_one_end_is_told(line):
    with pytest.raises(UserError, match="close every block"):
        starter_of(SOLUTION + line)
