"""An answer that does nothing passes no check, in whatever form it does nothing."""

import re
import warnings

import pytest

from autograder.points import READY, present
from autograder.runner import PASSED, grade

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


@pytest.mark.parametrize("exercise", EXERCISES, ids=[e.name for e in EXERCISES])
def test_a_do_nothing_answer_passes_no_check(exercise, tmp_path):
    path = tmp_path / exercise.file
    for returns, code in DO_NOTHING.items():
        text = STUB.sub(code, exercise.starter.read_text("utf-8")) + ZEROS
        path.write_text(text, encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            earned = [o.id for o in grade(exercise, path) if o.outcome == PASSED]
        assert not earned, f"functions that return {returns} pass {earned}"
