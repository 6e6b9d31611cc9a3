"""The default learning rate of fine-tuning: the paper's, and a higher one for narrow models."""

import pytest

from bert_finetuning.settings import FinetuneSettings


def settings(**changes) -> FinetuneSettings:
    return FinetuneSettings(task="sentiment", checkpoint="none", **changes)


@pytest.mark.parametrize(
    ("hidden", "rate"),
    [(128, 3e-4), (256, 1.5e-4), (512, 7.5e-5), (768, 5e-5), (1024, 5e-5)],
)
def test_rate__is_5e_5_times_768_over_the_width_of_a_narrow_model(hidden, rate):
    assert settings().rate(hidden) == pytest.approx(rate)


@pytest.mark.parametrize("hidden", [128, 768])
def test_rate__is_the_one_that_is_given(hidden):
    assert settings(learning_rate=2e-5).rate(hidden) == 2e-5
