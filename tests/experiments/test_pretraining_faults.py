"""Runs with one fault each: the fault is what it says, stays within its run, and is kept apart."""

import json
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
import torch

from bert_experiments.pretraining_faults import __main__ as command
from bert_experiments.pretraining_faults import exam, faults, questions, runs
from bert_experiments.pretraining_faults.runs import HEALTHY, Parts, Run, Text
from bert_paper import masking
from bert_run.errors import Diverged, UserError

SHORT = {"steps": 10, "warmup_steps": 2, "eval_every": 5, "eval_examples": 16, "batch_size": 8}
FEW = Text(stories=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With a vocabulary of a few stories."""
    with patch.object(runs, "STORIES", 60):
        folder = tmp_path_factory.mktemp("faults")
        runs.prepared(FEW, folder / "data")
        yield folder


@pytest.fixture
def parts(folder) -> Parts:
    return runs.parts_of(Run("short", SHORT, FEW), runs.prepared(FEW, folder / "data"))


def masked_tokens(task) -> np.ndarray:
    batch = task.batch(np.arange(64))
    return batch["masked_lm_ids"][batch["masked_lm_weights"].bool()].numpy()


def test_any_token_masked__hides_special_tokens_and_only_in_its_own_run(parts):
    specials = parts.training.dataset.specials
    right = parts.training
    faults.change_task(faults.AnyTokenMasked)(parts)
    assert not np.isin(masked_tokens(right), [specials.cls, specials.sep]).any()
    for task in (parts.training, parts.heldout):
        assert np.isin([specials.cls, specials.sep], masked_tokens(task)).all()
    assert masking.maskable.__module__ == "bert_paper.masking"


def test_labels_shifted__asks_for_the_same_words_one_position_earlier(parts):
    right = parts.training.batch(np.arange(4))
    faults.change_task(faults.LabelsShifted)(parts)
    wrong = parts.training.batch(np.arange(4))
    assert torch.equal(wrong["masked_lm_ids"], right["masked_lm_ids"])
    assert torch.equal(wrong["masked_lm_positions"] + 1, right["masked_lm_positions"])


def test_mean_of_means__differs_only_where_rows_have_unequal_numbers_of_masks(parts):
    batch = parts.training.batch(np.arange(4))
    parts.model.eval()
    unequal = dict(batch, masked_lm_weights=batch["masked_lm_weights"].clone())
    unequal["masked_lm_weights"][0, 1:] = 0
    right = [parts.model.loss(each).mlm for each in (batch, unequal)]
    faults.average_rows_first(parts)
    wrong = [parts.model.loss(each).mlm for each in (batch, unequal)]
    torch.testing.assert_close(wrong[0], right[0])
    assert abs(wrong[1] - right[1]) > 1e-4


def test_decay_everything__leaves_no_parameter_without_decay(parts):
    assert {group["weight_decay"] for group in parts.optimizer.param_groups} == {0.0, 0.01}
    faults.decay_everything(parts)
    assert {group["weight_decay"] for group in parts.optimizer.param_groups} == {0.01}


def test_trained__has_a_curve_and_measures_with_the_right_code_too(folder):
    shifted = Run("shifted", SHORT, FEW, patch=faults.change_task(faults.LabelsShifted))
    found = runs.trained(shifted, folder)
    assert found["step"] == [5, 10]
    assert len(found["train"]) == len(found["norm"]) == len(found["heldout"]) == 2
    assert found["exam"] != found["heldout"][-1]
    assert found["passes"] > 1 and 1 <= found["pieces_per_word"] < 1.5
    assert json.loads(json.dumps(found)) == found


def test_trained__stops_when_the_numbers_are_no_longer_finite(folder, monkeypatch):
    def broken(*args, norms, **kwargs):
        norms.append(torch.tensor(1.0))
        return torch.tensor([float("nan"), 0.0])

    monkeypatch.setattr(runs, "training_step", broken)
    with pytest.raises(Diverged, match="the training loss is nan at step 5"):
        runs.trained(Run("broken", SHORT, FEW), folder)


def test_trained__clips_as_the_settings_say(folder):
    found = runs.trained(Run("clipped", {**SHORT, "max_grad_norm": 0.5}, FEW), folder)
    assert max(found["clipped"]) <= 0.5 < min(found["norm"])


def test_measure__a_run_that_is_done_is_read_and_another_setting_is_measured_anew(
    folder, tmp_path, monkeypatch
):
    asked = []

    def counted(run, folder, *, step_done):
        asked.append(run.name)
        return {"step": []}

    monkeypatch.setattr(command, "trained", counted)
    run = Run("short", SHORT, FEW)
    for each in (run, run, replace(run, changes={**SHORT, "learning_rate": 0.1})):
        command.measure([each], tmp_path)
    assert asked == ["short", "short"]


def test_runs_have_different_names_and_settings_that_are_allowed():
    everything = [*faults.GALLERY, *(run for some in questions.QUESTIONS.values() for run in some)]
    assert len({(run.name, run.seed) for run in everything}) == len(everything)
    assert all(run.settings.steps == HEALTHY.steps for run in everything)


def test_exam__gives_ten_faults_with_seeds_of_their_own_and_the_same_ones_again(tmp_path):
    found = exam.unlabeled(7)
    assert [run.asked for run in found] == [run.asked for run in exam.unlabeled(7)]
    assert len(found) == exam.RUNS == len({run.seed for run in found})
    assert {run.name for run in found} <= {run.name for run in faults.FAULTS}
    assert min(run.seed for run in found) > 2
    exam.write_key(found, tmp_path / "apart" / "key.json")
    assert json.loads((tmp_path / "apart" / "key.json").read_text())["1"]["fault"] == found[0].name


def test_exam__the_faults_with_values_are_faults_of_the_gallery():
    assert exam.VALUES.keys() <= {run.name for run in faults.FAULTS}
    for answer in (answer for taken in exam.EXAMS for answer in taken.answers):
        assert set(answer.diagnosis) <= {run.name for run in faults.FAULTS}


@pytest.mark.parametrize("option", [{"report": "exam.md"}, {"questions": True}])
def test_exam__options_that_change_nothing_are_refused(option, tmp_path):
    settings = {name: tmp_path / value if name == "report" else value
                for name, value in option.items()}  # fmt: skip
    with pytest.raises(
        UserError, match=f"--{next(iter(option))} changes nothing with --exam: leave"
    ):
        command.FaultsSettings(exam=3, **settings)
    command.FaultsSettings(exam=3)
