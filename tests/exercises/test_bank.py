"""The banks: every wrong answer loses points, most are named; every right answer scores full."""

import os
from collections import Counter
from dataclasses import replace

import pytest

from autograder.points import READY, checks_of, find, present
from autograder.runner import PASSED, Outcome, grade
from autograder.student import use_one_thread
from bert_experiments.grader import bank
from bert_experiments.grader.bank import Variant, try_out, try_out_until_decided

use_one_thread()  # also where this file is run by itself: its children are forked

EXERCISES = [READY, *present()]
EVERY = [variant for exercise in EXERCISES for variant in bank.variants(exercise)]
NAMES = [f"{v.exercise.name}-{'right' if v.is_right else 'wrong'}-{v.name}" for v in EVERY]


def per_exercise(values=EXERCISES):
    return pytest.mark.parametrize("exercise", values, ids=[e.name for e in values])


@pytest.mark.parametrize("variant", EVERY, ids=NAMES)
def test_a_wrong_answer_loses_points_and_a_right_one_does_not(variant: Variant):
    verdict = try_out_until_decided(variant)
    told = "\n".join(verdict.messages)
    if variant.is_right:
        assert verdict.is_full, told
    else:
        assert not verdict.is_full, "it has full marks"
        assert variant.says is None or verdict.is_named, (
            f"no message says {variant.says!r}:\n{told}"
        )


@pytest.mark.parametrize(("exercise", "name", "says"), [
    ("04_layer_norm", "eps 1e-5", "loses its digits"),
    ("06_attention", "no scale in the backward pass", "what the last forward kept"),
    ("10_mlm_masking", "80/2/18", "words are not drawn again"),
    ("07_multi_head", "merge by one reshape", "order of memory"),
])  # fmt: skip
def test_an_answer_is_not_told_a_mistake_that_it_does_not_make(exercise, name, says):
    variant = next(v for v in EVERY if (v.exercise.name, v.name) == (exercise, name))
    assert says not in "\n".join(try_out(variant).messages)


@per_exercise()
def test_the_first_wrong_answer_of_each_bank_loses_points(exercise, tmp_path):
    wrong = next(v for v in bank.variants(exercise) if not v.is_right)
    path = tmp_path / exercise.file
    path.write_text(wrong.text, encoding="utf-8")
    assert {o.outcome for o in grade(exercise, path, only=wrong.caught_by)} != {PASSED}


@per_exercise(present())
def test_for_every_wrong_answer_it_is_known_which_check_catches_it(exercise):
    """The bank is tried in a third of the time when this one is run first."""
    known = {check.id for check in checks_of(exercise)}
    unknown = [v.name for v in bank.variants(exercise)
               if not v.is_right and v.caught_by not in known]  # fmt: skip
    assert not unknown, "call python -m bert_experiments.grader bank --table"


@per_exercise()
def test_a_bank_has_8_wrong_answers_4_of_5_named_and_3_right_ones(exercise):
    own = bank.variants(exercise)
    wrong, right = [v for v in own if not v.is_right], [v for v in own if v.is_right]
    assert len(wrong) >= 8 and len(right) >= 3
    assert sum(v.says is not None for v in wrong) >= 0.8 * len(wrong)
    assert max(Counter(v.text for v in own).values()) == 1, "two variants are one"


def test_grading_stops_at_what_decides_about_a_wrong_answer_and_never_for_a_right_one():
    own = bank.variants(find("03_softmax"))
    wrong, right = next(v for v in own if v.says), next(v for v in own if v.is_right)
    whole, short = try_out(wrong), try_out_until_decided(wrong)
    assert (short.is_full, short.is_named) == (whole.is_full, whole.is_named) == (False, True)
    assert [o.id for o in short.outcomes if o.outcome != "not run"] == [wrong.caught_by]
    assert all(o.outcome != "not run" for o in whole.outcomes)
    assert try_out_until_decided(right).is_full
    unnamed = replace(wrong, says="what no message says", caught_by="test_no_longer_there")
    assert try_out_until_decided(unnamed).outcomes == whole.outcomes


@per_exercise()
def test_in_a_process_of_its_own_a_wrong_answer_is_told_the_same(exercise):
    """The first of each, by the check that catches it; all of them, and all checks, with BANK=all.
    That a right one has full marks there: test_secret_seed.py."""
    is_whole = os.environ.get("BANK") == "all"
    wrong = [v for v in bank.variants(exercise) if not v.is_right]
    for variant in wrong if is_whole else wrong[:1]:
        only = "" if is_whole else variant.caught_by
        here = try_out(variant, only=only)
        there = try_out(variant, bank.grade_in_child, only=only)
        assert here == there, f"{variant.name}\n{here.messages}\n{there.messages}"


def test_repeat__draws_anew_for_each_seed_and_names_the_one_that_failed(monkeypatch, capfd):
    """A right answer that fails with the inputs of seed 2, as with a bound that is too narrow."""
    drawn = []

    def unlucky(exercise, path, *, seed):
        drawn.append(seed)
        outcome = "failed" if seed == 2 and len(drawn) == 2 else "passed"
        return [Outcome("test_share", outcome, "0.7 of 0.5")]

    monkeypatch.setattr(bank, "grade", unlucky)
    with pytest.raises(bank.UserError, match="1 runs of right answers failed"):
        bank.repeat(["03_softmax"], seeds=3)
    assert drawn[:3] == [1, 2, 3] and len(drawn) % 3 == 0
    told = "".join(capfd.readouterr())
    assert "03_softmax, solution, seed 2\n    test_share: 0.7 of 0.5" in told
    assert "03_softmax, solution: 3 seeds, 1 failures" in told


def test_an_edit_that_does_not_fit_the_solution_is_told():
    with pytest.raises(bank.UserError, match="'absent' stands 0 times in the solution"):
        bank.edited("x = 1", [("absent", "y")], "a mistake")


def test_the_published_table_has_the_answers_that_the_banks_have():
    _, table, _ = bank.published("bank")
    _, _, *rows, together = [
        [cell.strip() for cell in line.strip("| ").split("|")] for line in table.split("\n") if line
    ]
    there = {}
    for name, wrong, lost, named, right, full in rows:
        assert wrong == lost and right == full and int(named) >= 0.8 * int(wrong), name
        there[name] = int(wrong), int(right)
    kinds = Counter((v.exercise.name, v.is_right) for v in EVERY)
    banks = {e.name: (kinds[e.name, False], kinds[e.name, True]) for e in present()}
    assert there == banks, "run: python -m bert_experiments.grader bank --table"
    assert int(together[1]) == sum(wrong for wrong, _ in banks.values())


def test_the_table_is_of_all_exercises():
    with pytest.raises(bank.UserError, match="name none"):
        bank.run_bank(["03_softmax"], publish=True)


def test_a_wrong_answer_that_is_not_told_its_mistake_is_graded_wrongly(monkeypatch, capfd):
    told = next(v for v in EVERY if v.says)
    for says, wrongly in ((told.says, False), (None, False), ("what no message says", True)):
        monkeypatch.setattr(bank, "variants", lambda _, says=says: [replace(told, says=says)])
        if wrongly:
            with pytest.raises(bank.UserError, match="1 variants are graded wrongly"):
                bank.run_bank([told.exercise.name])
        else:
            bank.run_bank([told.exercise.name])
        assert (told.name in "".join(capfd.readouterr())) == wrongly
