"""Answers that were recorded at home, and libraries that have the answer, are worth nothing."""

import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from autograder import checks
from autograder.codec import Rng, TorchRng, drawing_from, pack
from autograder.points import READY, Exercise, checks_of, find, present
from autograder.runner import FAILED, PASSED, TO_DO, grade, imported, obstacle
from autograder.student import ChildTransport, LocalTransport, StudentError, Transport
from autograder.untrusted import grading_process

PRESENT = [READY, *present()]
SECRET = 987_654_321
per_exercise = pytest.mark.parametrize("exercise", PRESENT, ids=[e.name for e in PRESENT])


def passed(outcomes):
    return [outcome.id for outcome in outcomes if outcome.outcome == PASSED]


# Answers that only look up what the solution returned for the inputs that every student has.


class Recorder:
    """The solution, every answer of which is kept."""

    def __init__(self, solution: Transport) -> None:
        self.solution = solution
        self.answers: dict[tuple, dict[str, Any]] = {}

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        answer = self.solution.ask(request)
        for key in keys(request):
            self.answers[key] = answer
        return answer

    def close(self) -> None:
        self.solution.close()


class Lookup:
    """Answers from a table: by the arguments, or by the arguments without their generators; to a
    call that it has never seen, the last answer of the same function."""

    def __init__(self, answers: dict[tuple, dict[str, Any]]) -> None:
        self.answers = answers

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        for key in keys(request):
            if key in self.answers:
                return self.answers[key]
        raise StudentError(f"{request['function']} finds nothing", function=request["function"])

    def close(self) -> None:
        """Nothing to end."""


def keys(request: dict[str, Any]) -> list[tuple]:
    """The same call; the same without generators; any call of the function that asks as much."""
    kind = (request["function"], "inspect" in request, "count_lines" in request,
            tuple(request.get("wrt", ())))  # fmt: skip
    given = request["args"], request["kwargs"], request.get("upstream")
    return [(kind, pack(given)), (kind, pack(without_generators(given))), (kind, b"")]


def without_generators(tree: Any) -> Any:
    if type(tree) in (list, tuple):
        return type(tree)(without_generators(item) for item in tree)
    if type(tree) is dict:
        return {name: without_generators(item) for name, item in tree.items()}
    return None if type(tree) in (Rng, TorchRng) else tree


def recorded(
    exercise: Exercise, seed: int = 0, start: Callable[[Path], Transport] = LocalTransport
) -> dict[tuple, dict[str, Any]]:
    """What the solution answers under a seed, where it has full marks."""
    recorder = Recorder(start(exercise.solution))
    solved = grade(exercise, exercise.solution, transport=recorder, seed=seed)
    assert {o.outcome for o in solved} == {PASSED}, [o.message for o in solved if o.message]
    return recorder.answers


def test_recorded_answers__score_nothing_under_a_secret_seed():
    softmax = find("03_softmax")
    table = Lookup(recorded(softmax))
    at_home = grade(softmax, softmax.solution, transport=table)
    assert len(passed(at_home)) == len(checks_of(softmax))
    assert passed(grade(softmax, softmax.solution, transport=table, seed=SECRET)) == []


def test_a_batch_under_a_secret__gives_nothing_for_recorded_answers(tmp_path, monkeypatch):
    softmax = find("03_softmax")
    table = Lookup(recorded(softmax))
    monkeypatch.setattr(grading_process, "CellTransport", lambda *_: table)
    cell = SimpleNamespace(sandbox=SimpleNamespace(private=tmp_path / "private"), work=None)
    job = grading_process.Job("ann", softmax, softmax.solution.read_bytes())
    at_home = grading_process.grade_file(cell, job, 60)
    assert len(passed(at_home.outcomes)) == len(checks_of(softmax))
    under_a_secret = grading_process.grade_file(cell, job, 60, SECRET)
    assert under_a_secret.sound and passed(under_a_secret.outcomes) == []


@per_exercise
def test_recorded_answers__score_nothing_in_any_exercise_and_the_solution_everything(exercise):
    """Recorded under a secret seed, in a process of its own; tried under the seed that every
    student has: either is secret to the other."""
    warnings.simplefilter("ignore")
    table = Lookup(recorded(exercise, SECRET, ChildTransport))
    assert passed(grade(exercise, exercise.solution, transport=table)) == []


@per_exercise
def test_a_check_of_known_inputs__is_of_a_function_that_another_check_draws_inputs_for(exercise):
    found = [check for check in checks_of(exercise) if not check.of_manners]
    drawn = frozenset().union(*(check.touches for check in found if check.is_drawn))
    assert drawn
    for check in found:
        assert check.is_drawn or not check.touches or check.touches & drawn, check.id


def test_known_inputs__count_beside_a_check_that_draws(tmp_path):
    """The scores of the page alone are looked up; with a right forward they count."""
    softmax, path = find("03_softmax"), tmp_path / "softmax.py"
    table = "import numpy as np\nINF = [0.5, -np.inf, 1.5, -np.inf, -np.inf, 2.0]\n"
    far = "FAR = [-np.inf, -1e200, -1e306, -1e35, -np.inf, -np.inf]\n"
    answer = "np.exp(x - x.max(axis, keepdims=True))"
    known = "test_a_score_of_minus_infinity_gets_the_probability_zero"
    for looks_up in (True, False):
        path.write_text(
            f"{table}{far}def softmax_forward(x, axis=-1):\n"
            f"    known = np.sort(x.ravel()).tolist() in (sorted(INF), sorted(FAR))\n"
            f"    if not known and {looks_up}:\n        return x\n"
            f"    e = {answer}\n    return e / e.sum(axis, keepdims=True)\n", encoding="utf-8"
        )  # fmt: skip
        outcomes = {o.id: o for o in grade(softmax, path)}
        assert (outcomes[known].outcome == PASSED) != looks_up
        assert not looks_up or "passes that draws its inputs" in outcomes[known].message


def test_a_secret_seed__changes_every_draw_and_lasts_as_long_as_its_context():
    draws = [lambda: checks.rng(3).random(4).tolist(), lambda: checks.rng(3, 4).random(4).tolist(),
             lambda: checks.generator(3).initial_seed()]  # fmt: skip
    home = [draw() for draw in draws]
    assert home == [np.random.default_rng(3).random(4).tolist(),
                    np.random.default_rng([3, 4]).random(4).tolist(), 3]  # fmt: skip
    assert checks.anew(7) == 0
    with drawing_from(1):
        one, moved = [draw() for draw in draws], {checks.anew(n) for n in range(2, 40)}
    with drawing_from(2):
        assert all(a != b != c for a, b, c in zip([d() for d in draws], one, home, strict=True))
    assert [draw() for draw in draws] == home
    assert len(moved) > 10 and max(moved) < 39


# Libraries.


@per_exercise
def test_the_page_says_which_libraries_may_be_imported(exercise):
    assert f"\n{exercise.allowed}\n" in (exercise.folder / "README.md").read_text("utf-8")


@pytest.mark.parametrize("text", [
    "import torch",
    "from torch.nn import functional as F",
    "def f():\n    import scipy.special",
    "import importlib\nt = importlib.import_module('torch')",
    "t = __import__('torch.nn')",
    "import sys\nt = sys.modules['torch']",
    "from . import softmax",
])  # fmt: skip
def test_a_foreign_import__scores_nothing_and_is_told_in_one_line(text, tmp_path):
    softmax, path = find("03_softmax"), tmp_path / "softmax.py"
    path.write_text(f"{text}\n{softmax.solution.read_text('utf-8')}", encoding="utf-8")
    assert passed(grade(softmax, path)) == []
    message = obstacle(softmax, path).message
    assert "\n" not in message and message.startswith("softmax.py imports ")
    assert softmax.allowed in message


def test_imports__that_are_allowed(tmp_path):
    softmax, path = find("03_softmax"), tmp_path / "softmax.py"
    text = "import math, numpy.linalg\nfrom jaxtyping import Float\n"
    text += "if __name__ == '__main__':\n    import torch\n"
    assert imported(text) == {"math", "numpy", "jaxtyping"}
    path.write_text(text, encoding="utf-8")
    assert obstacle(softmax, path) is None
    assert imported("no python at (all") == set()
    assert obstacle(softmax, softmax.starter).outcome == TO_DO != FAILED


@per_exercise
def test_no_check_draws_from_a_seed_of_its_own(exercise):
    text = exercise.test.read_text("utf-8")
    assert "default_rng(" not in text and ".manual_seed(" not in text.replace(
        "torch.manual_seed", ""
    )
