"""Mutants: what is changed, what counts as killed; a sample of each exercise's loses points."""

import ast
import os

import pytest

from autograder.points import find, present
from bert_experiments.grader import mutation
from bert_experiments.grader.mutation import Mutant, mutants
from bert_experiments.grader.mutation_score import equivalent, mutation_score

SAMPLE = 10**6 if os.environ.get("MUTANTS") == "all" else 4
SOURCE = '''
import numpy as np

def f(x, rate: float = 0.5, *, axis: int = -1):
    """A docstring: 1 + 1."""
    # begin solution
    y = x.mean(axis=axis, keepdims=True)
    y = y * rate
    if y.size > 3 and rate:
        raise ValueError(f"too large: {1 + 1}")
    for row in x:
        y += row[1:]
    return np.sort(y).astype(x.dtype), len(y)
    # end solution
'''


def texts() -> list[str]:
    return [mutant.text for mutant in mutants(SOURCE)]


@pytest.mark.parametrize(
    "line",
    [
        "def f(x, rate: float = 0.55, *, axis: int = -1):",  # a constant
        "def f(x, rate: float = 0.5, *, axis: int = 0):",
        "y = x.sum(axis=axis, keepdims=True)",  # a reduction
        "y = x.mean(axis=axis)",  # an argument left out
        "y = x.mean(axis=axis, keepdims=False)",
        "y = (y / rate)",  # an operator
        "y *= rate",  # in place
        "y = (y * rate).detach()",
        "if (y.size >= 3) and rate:",  # a bound
        "if (y.size > 3 or rate):",
        "for row in list(x)[1:]:",  # the first item left out
        "y = row[1:]",
        "y += row[:]",
        "return (len(y), np.sort(y).astype(x.dtype))",  # the order
        "return np.sort(y), len(y)",  # a type
        "return None",
    ],
)
def test_mutants__have_this_change(line):
    assert any(line in text for text in texts()), line


def test_mutants__leave_docstrings_annotations_imports_and_errors_as_they_are():
    for text in texts():
        assert "A docstring: 1 + 1." in text and "import numpy as np\n" in text
        assert "rate: float" in text
        assert "too large: {1 + 1}" in text or "raise" not in text


def test_mutants__are_different_programs_with_keys_of_their_own():
    found = mutants(SOURCE)
    programs = [ast.dump(ast.parse(mutant.text)) for mutant in found]
    assert len(set(programs)) == len(found) == len({mutant.key for mutant in found})
    assert ast.dump(ast.parse(SOURCE)) not in programs


def test_mutants__have_the_same_keys_when_another_line_is_added():
    longer = SOURCE.replace("    # begin solution", "    # begin solution\n    z = None", 1)
    assert {m.key for m in mutants(SOURCE)} <= {m.key for m in mutants(longer)}


@pytest.mark.parametrize(
    "text",
    ["sum((x * i for i, x in pairs))", "{n: (a, b) for n, (a, b) in d}", "x for y in (1, 2)"],
)
def test_mutants__have_the_same_keys_whatever_version_of_python_wrote_them(text):
    other = text.replace("for i, x in", "for (i, x) in")  # as ast.unparse of Python 3.10
    assert mutation._without_brackets_after_for(other) == text
    assert mutation._without_brackets_after_for(text) == text


def test_mutation_score__a_mutant_that_never_ends_is_killed(monkeypatch):
    monkeypatch.setattr("bert_experiments.grader.mutation_score.SECONDS", 1.0)
    monkeypatch.setattr("bert_experiments.grader.mutation_score.TIMES_LONGER", 0)
    exercise = find("03_softmax")
    solution = exercise.solution.read_text("utf-8")
    endless = Mutant(
        "endless", solution.replace("    shifted", "    while 1: pass\n    shifted", 1)
    )
    monkeypatch.setattr("bert_experiments.grader.mutation_score.mutants", lambda source: [endless])
    (fate,) = mutation_score(exercise).fates
    assert fate.killed_by == "time or memory"


@pytest.mark.parametrize("exercise", present(), ids=[e.name for e in present()])
def test_mutants_of_a_solution_lose_points_or_are_listed_as_equivalent(exercise):
    """Four of them, evenly spread; all with MUTANTS=all."""
    count = len(mutants(exercise.solution.read_text("utf-8")))
    score = mutation_score(exercise, every=-(-count // SAMPLE), seconds=100.0)
    assert [fate.mutant.key for fate in score.survivors] == []
    assert score.wrongly_listed == []


def test_equivalent_mutants__are_at_most_3_in_100_and_each_has_a_reason():
    listed, every = 0, 0
    for exercise in present():
        keys = {mutant.key for mutant in mutants(exercise.solution.read_text("utf-8"))}
        assert equivalent(exercise).keys() <= keys, exercise.name
        assert all(len(reason.split()) >= 4 for reason in equivalent(exercise).values())
        listed, every = listed + len(equivalent(exercise)), every + len(keys)
    assert listed <= 0.03 * every
