"""The settings of a pretraining run: defaults that depend on the model."""

import pytest

from bert_run.config import AdamSettings, MaskingRecipe, RunSettings


def rate(**changes) -> float:
    settings = RunSettings(**changes)
    return settings.adam(settings.bert_config(vocab_size=1000)).learning_rate


@pytest.mark.parametrize(
    ("model", "expected"),
    [("tiny", 6e-4), ("mini", 3e-4), ("small", 1.5e-4), ("medium", 1.5e-4), ("base", 1e-4),
     ("large", 1e-4)],
)  # fmt: skip
def test_adam__learns_at_1e_4_times_768_over_the_width_of_a_narrow_model(model, expected):
    assert rate(model=model) == pytest.approx(expected)


def test_adam__takes_the_width_that_is_given_and_not_the_preset():
    assert rate(model="base", hidden_size=64) == pytest.approx(1.2e-3)


@pytest.mark.parametrize("model", ["tiny", "base"])
def test_adam__takes_the_learning_rate_that_is_given(model):
    assert rate(model=model, learning_rate=5e-5) == 5e-5


def test_defaults_of_a_run_are_those_of_its_recipes():
    settings = RunSettings(model="base")
    assert settings.masking == MaskingRecipe()
    assert settings.adam(settings.bert_config(vocab_size=1000)) == AdamSettings()
