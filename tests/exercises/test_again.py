"""A failing call can be made again: as Python to paste, or by one command."""

import io
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from autograder.__main__ import Again
from autograder.codec import Meta, Rng, TorchRng, drawing_from
from autograder.points import EXERCISES, Exercise, checks_of, find, hints_of
from autograder.runner import FAILED, Outcome, grade, run
from autograder.student import LONGEST, Call, LocalTransport, Student, spell
from autograder.worker import load
from bert_run.errors import UserError

SOFTMAX = find("03_softmax")
WRONG = """import numpy as np
def softmax_forward(x, axis=-1):
    e = np.exp(x - x.max())
    return e / e.sum(axis=axis, keepdims=True)
def softmax_backward(dout, probs, axis=-1):
    return probs * (dout - (dout * probs).sum(keepdims=True))
"""


@pytest.fixture
def wrong(tmp_path, monkeypatch):
    """The softmax exercise of a folder of its own, with a wrong answer in it."""
    (tmp_path / SOFTMAX.name).mkdir()
    (tmp_path / SOFTMAX.name / SOFTMAX.file).write_text(WRONG, encoding="utf-8")
    monkeypatch.setattr(Exercise, "test", property(lambda self: EXERCISES / self.name /
                                                   f"test_{self.file}"))  # fmt: skip
    monkeypatch.setattr(Exercise, "folder", property(lambda self: tmp_path / self.name))
    return SOFTMAX.starter


@settings(max_examples=60, deadline=None)
@given(arrays.arrays(
    st.sampled_from([np.float64, np.float32, np.int64, np.int32, np.bool_]),
    arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
))  # fmt: skip
def test_a_spelled_array_is_the_same_to_the_bit(array):
    made = eval(spell(array), {"np": np})
    assert made.dtype == array.dtype and made.shape == array.shape
    assert made.tobytes() == array.tobytes() or np.isnan(array.astype(float)).any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
def test_a_spelled_tensor_is_the_same(dtype):
    tensor = (torch.arange(6).reshape(2, 3) * 1.37).to(dtype)
    made = eval(spell(tensor), {"torch": torch})
    assert made.dtype == dtype and torch.equal(made, tensor)


def test_values_of_every_kind_are_spelled():
    call = Call("f", (Rng(3), [1, (2.5,)], "a'b"), {"h": {"n": -np.inf}})
    assert call.as_python() == (
        "f(np.random.default_rng(3), [1, (2.5,)], \"a'b\", h={'n': float('-inf')})"
    )
    assert Call("f", (TorchRng(4),), {}).as_python() == "f(torch.Generator().manual_seed(4))"


@pytest.mark.parametrize("value", [np.zeros(300), Rng(3, drawn=1), Meta((2,), "float32")])
def test_what_has_no_short_spelling_is_left_to_the_command(value):
    assert Call("f", (value,), {}).as_python() == ""


def test_a_message_has_the_call_or_the_command_that_makes_it_again(wrong):
    told = {outcome.id: outcome.message for outcome in grade(SOFTMAX, wrong)}
    short = told["test_huge_and_far_apart_scores_give_finite_probabilities"]
    code = short.partition("to try it: ")[2]
    functions: dict = {"np": np}
    exec(WRONG, functions)
    with np.errstate(all="ignore"):
        assert len(code) <= LONGEST and np.isnan(eval(code, functions)).any()
    long = told["test_the_backward_uses_its_axis"]
    assert "to try it: python -m autograder again 03_softmax the_backward_uses_its_axis" in long


def test_the_command_prints_the_inputs_of_the_failing_call(wrong, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    Again("exercises/03_softmax/", "uses_its_axis").run()
    said = capsys.readouterr().out
    for words in ("likely mistake: the sum runs over the whole array", "argument 1:",
                  "argument axis:\n0", "softmax_backward returns (in a terminal"):  # fmt: skip
        assert words in said


def test_the_command_stops_in_the_function_where_there_is_a_terminal(wrong, monkeypatch):
    stopped = []
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("pdb.Pdb.runcall", lambda self, function, *args, **kwargs:
                        stopped.append((function.__name__, args[0].shape, kwargs)))  # fmt: skip
    Again("03", "the backward uses its axis").run()
    assert stopped == [("softmax_backward", (4, 4), {"axis": 0})]


def test_the_command_prints_an_exit_of_the_function(wrong, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    wrong.write_text("def softmax_forward(x, axis=-1):\n    exit(3)\n", encoding="utf-8")
    Again("03_softmax", "huge_and_far_apart").run()
    assert "debugger):\nSystemExit: 3" in capsys.readouterr().out


def test_the_command_draws_the_inputs_of_the_seed_that_the_message_names(
    wrong, capsys, monkeypatch
):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    check = "test_the_backward_uses_its_axis"
    with drawing_from(5):
        tests, student = load(SOFTMAX.test), Student(wrong, LocalTransport(wrong))
        message = str(run(getattr(tests, check), student, seed=5))
        given = str(student._log.last.args[0][0, 0])
    *words, seed = message.rpartition("again ")[2].split()
    assert (words, seed) == (["03_softmax", check[5:], "--seed"], "5")
    Again(*words[:2], seed=int(seed)).run()
    assert given[:8] in capsys.readouterr().out
    secret = grade(SOFTMAX, wrong, seed=5)
    assert "--seed" not in " ".join(outcome.message for outcome in secret)


def test_the_command_expects_the_defaults_of_the_students_number(tmp_path, capsys, monkeypatch):
    layer_norm = find("04_layer_norm")
    monkeypatch.setattr(Exercise, "starter", layer_norm.solution)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.chdir(tmp_path)
    Again("04", "without_the_argument").run()
    assert capsys.readouterr().out.endswith("passes\n")
    (tmp_path / "course.toml").write_text("variant = 4711\n[week.1]\nexercises = ['04']\n")
    Again("04", "without_the_argument").run()
    assert "numbers differ" in capsys.readouterr().out


def test_a_forgotten_return_is_named_by_every_check(tmp_path):
    path = tmp_path / SOFTMAX.file
    path.write_text("def softmax_forward(x, axis=-1):\n    x\n"
                    "def softmax_backward(dout, probs, axis=-1):\n    dout\n")  # fmt: skip
    told = [outcome.message for outcome in grade(SOFTMAX, path)]
    assert not any("could not be compared" in message for message in told)
    named = [message for message in told if "returned None: is a `return` missing?" in message]
    assert named and all("\n  to try it: " in message for message in named)


@pytest.mark.parametrize(
    ("exercise", "check", "says"),
    [
        ("3_softmax", "x", "no exercise is '3_softmax'"),
        ("03_softmax", "axis", "03_softmax has 2 checks 'axis'"),
        ("03_softmax", "teapot", "03_softmax has 0 checks 'teapot'"),
    ],
)
def test_names_that_mean_nothing_or_several_are_refused(exercise, check, says, wrong):
    with pytest.raises(UserError, match=says):
        Again(exercise, check).run()


def test_an_untouched_file_has_nothing_to_try():
    with pytest.raises(UserError, match="as it was handed out: fill in its functions first"):
        Again("03_softmax", "uses_its_axis").run()


@pytest.mark.parametrize("name", [path.name for path in sorted(EXERCISES.glob("[0-9]*"))])
def test_every_mark_names_a_hint_of_the_page(name):
    marks = {check.id: check.hint for check in checks_of(find(name))}
    assert all(0 <= number <= len(hints_of(find(name))) for number in marks.values()), marks


def test_the_hint_of_the_check_that_fails_comes_first():
    from autograder.plugin import fitting_hints

    failed = [Outcome("test_the_backward_uses_its_axis", FAILED)]
    first, *others = [title for title, _ in fitting_hints(SOFTMAX, failed)]
    assert first == "Hint 3: if the backward is wrong"
    assert [title[:6] for title in others] == ["Hint 1", "Hint 2", "Hint 4"]
