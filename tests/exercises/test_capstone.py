"""The capstone: earlier answers fit, every mistake is seen, the command does what it says."""

import ast
import subprocess
import sys
from contextlib import nullcontext

import pytest

from autograder.checks import CheckFailed
from autograder.points import checks_of, find
from autograder.worker import load
from bert_experiments.capstone.command import claimed_log
from bert_experiments.capstone.forms import FORMS
from bert_experiments.capstone.mistakes import MISTAKES
from bert_experiments.grader.bank import Variant, try_out
from bert_run.errors import UserError

CAPSTONE = find("25_capstone")
EARLIER = {
    "04_layer_norm": None,  # the whole file
    "05_gelu": None,
    "06_attention": None,
    "08_embeddings": ("lookup_backward",),
    "09_masked_cross_entropy": None,
    "10_mlm_masking": None,
    "11_bert_adam": None,
}


@pytest.fixture(scope="module")
def course():
    return load(CAPSTONE.test)


def pasted() -> str:
    """The capstone's solution, and behind it the solutions of the earlier exercises."""
    texts = [CAPSTONE.solution.read_text("utf-8")]
    for name, wanted in EARLIER.items():
        text = find(name).solution.read_text("utf-8")
        for node in ast.parse(text).body:
            if wanted is None or getattr(node, "name", "") in wanted:
                texts.append(ast.get_source_segment(text, node))
    return "\n\n".join(texts)


def test_answers_of_the_earlier_exercises_can_be_pasted_as_they_are():
    verdict = try_out(Variant(CAPSTONE, "pasted", is_right=True, text=pasted()))
    assert verdict.is_full, verdict.messages


def test_every_function_has_a_form_and_mistakes_that_a_few_steps_show(course):
    assert set(course.FUNCTIONS) == FORMS.keys() == MISTAKES.keys() | {"mask_tokens"}
    for name, mistakes in MISTAKES.items():
        unseen = [called for called, wrong in mistakes.items() if course.agrees(name, wrong)]
        assert not unseen, f"{name}: {unseen}"


def test_the_checks_of_the_earlier_exercises_are_asked_for_every_function(course):
    asked = set()
    for name in EARLIER:
        fit, every = course.checks_that_fit(find(name)), checks_of(find(name))
        asked |= {function for check in fit for function in check.functions}
        assert fit == list(every) or name == "08_embeddings", f"{name}: a check does not fit"
    assert asked - {"start_adam"} == set(course.FUNCTIONS) - {"layer_forward", "layer_backward"}


def test_a_check_of_an_earlier_exercise_fails_the_capstone(course):
    class Student:
        def lookup_backward(self, dout, ids, entries):
            return 0 * right(dout, ids, entries)

    right = course.MISTAKES["lookup_backward"]["dtable[ids] += dout keeps one gradient of a word "
                                               "that comes twice"]  # fmt: skip
    with pytest.raises(CheckFailed, match="numbers differ"):
        course.passes(Student(), "08_embeddings")


def test_what_the_layer_is_compared_with_is_what_the_chapter_computes(course):
    for name, function in course.RIGHT.items():
        assert course.agrees(name, function), name


def test_within_the_block_alone_the_model_calls_other_functions(course):
    from bert_experiments.capstone.replaced import replaced
    from bert_numpy import encoder

    before = dict(vars(encoder))
    with pytest.raises(ZeroDivisionError), replaced({"gelu_forward": lambda x, form: x}):
        assert encoder.gelu_forward is not before["gelu_forward"]
        raise ZeroDivisionError
    assert dict(vars(encoder)) == before


def call(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "autograder", "capstone", *map(str, arguments)],
        capture_output=True, text=True, timeout=200,
    )  # fmt: skip


def test_the_command_draws_both_curves_and_takes_what_is_to_do_from_the_reference(tmp_path):
    path, out = tmp_path / CAPSTONE.file, tmp_path / "out"
    text = CAPSTONE.starter.read_text("utf-8")
    right = "return peak * min((step + 1) / warmup_steps, (total_steps - step) / (total_steps - 1))"
    path.write_text(text.replace('raise NotImplementedError("write learning_rate")', right))
    done = call(path, "--steps", "3", "--out", out)
    assert done.returncode == 0, done.stderr
    assert "1 of its 15 functions are yours" in done.stdout
    assert "learning_rate                  yours, and gives other numbers" in done.stdout
    assert done.stdout.count("still to do") == 14 and "Paris is the [MASK]" in done.stdout
    assert (out / "curve.png").stat().st_size > 10_000
    assert len((out / "metrics.jsonl").read_text().splitlines()) == 3


@pytest.mark.parametrize(("record", "is_own"), [
    ('{"step": 1, "mlm_loss": 7.1, "learning_rate": 1e-4}', False),
    ('{"step": 1, "mlm_loss": 7.1, "reference_mlm_loss": 7.1}', True),
])  # fmt: skip
def test_measurements_of_another_run_are_not_written_over(record, is_own, tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text(record + "\n")
    with nullcontext() if is_own else pytest.raises(UserError, match="is of another run"):
        claimed_log(path)
    assert path.read_text() == ("" if is_own else record + "\n")


def test_a_function_that_raises_is_told_in_a_line_before_anything_is_trained(tmp_path):
    path = tmp_path / CAPSTONE.file
    text = CAPSTONE.starter.read_text("utf-8")
    path.write_text(text.replace('raise NotImplementedError("write gelu_forward")', "return x / y"))
    done = call(path, "--out", tmp_path / "out")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "gelu_forward" in done.stderr and "NameError" in done.stderr, done.stderr
