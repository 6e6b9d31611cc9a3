"""An answer that does nothing passes no check, in whatever form it does nothing."""

import re

import pytest

from autograder.points import READY, present
from autograder.runner import PASSED, grade
from bert_experiments.grader.bank import Variant, try_out

STUB = re.compile(r'raise NotImplementedError\("write \w+"\)')
FIRST = "next(iter(locals().values()), None)"
DO_NOTHING = {
    "nothing": "return None",
    "its first argument": f"return {FIRST}",
    "all of its arguments": "return tuple(locals().values())",
    "zeros": f"return _zeros({FIRST})",
    "zeros for each argument": "return tuple(map(_zeros, locals().values()))",
}
ZEROS = """

def _zeros(value):
    if isinstance(value, (list, tuple)):
        return type(value)(map(_zeros, value))
    if isinstance(value, dict):
        return {key: _zeros(item) for key, item in value.items()}
    return value * 0 if hasattr(value, "__mul__") else None
"""
EXERCISES = [READY, *present()]
per_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=[e.name for e in EXERCISES])


def returning(code, exercise):
    """The starter, with functions that return what the code says."""
    return STUB.sub(code, exercise.starter.read_text("utf-8")) + ZEROS


@per_exercise
def test_an_answer_that_returns_nothing_passes_no_check(exercise, tmp_path):
    path = tmp_path / exercise.file
    path.write_text(returning(DO_NOTHING["nothing"], exercise), encoding="utf-8")
    earned = [o.id for o in grade(exercise, path) if o.outcome == PASSED]
    assert not earned, earned


@pytest.mark.parametrize("returns", [name for name in DO_NOTHING if name != "nothing"])
@per_exercise
def test_a_do_nothing_answer_passes_no_check(exercise, returns):
    text = returning(DO_NOTHING[returns], exercise)
    earned = [o.id for o in try_out(Variant(exercise, returns, is_right=False, text=text)).outcomes
              if o.outcome == PASSED]  # fmt: skip
    assert not earned, f"functions that return {returns} pass {earned}"
