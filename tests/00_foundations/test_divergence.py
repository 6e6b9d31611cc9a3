"""A run that diverges stops before it saves anything that is not finite, at every level."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import bert_lowlevel.training
import bert_numpy.training
import bert_paper.training
from bert_lowlevel.pretrain import LowLevelSettings
from bert_lowlevel.pretrain import pretrain as pretrain_level_2
from bert_numpy.pretrain import NumpySettings
from bert_numpy.pretrain import pretrain as pretrain_level_1
from bert_paper.pretrain import PretrainSettings
from bert_paper.pretrain import pretrain as pretrain_level_3
from bert_run.config import RunSettings
from bert_run.errors import Diverged, UserError
from bert_run.training_loop import MetricsLog, refuse_divergence
from bert_run.weights import load_weights, save_weights

LEVELS = {
    1: (NumpySettings, pretrain_level_1, bert_numpy.training),
    2: (LowLevelSettings, pretrain_level_2, bert_lowlevel.training),
    3: (PretrainSettings, pretrain_level_3, bert_paper.training),
}


@pytest.fixture(scope="module")
def corpus_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "sentences.txt"
    generator = np.random.default_rng(0)
    names = ["anna", "the cat", "my friend", "a bird", "the old man"]
    things = ["a song", "the red ball", "an apple", "the river"]
    documents = [
        "".join(f"{generator.choice(names)} finds {generator.choice(things)} .\n" for _ in range(6))
        for _ in range(60)
    ]
    path.write_text("\n".join(documents), encoding="utf-8")
    return path


@pytest.fixture
def settings_of(corpus_file, tmp_path):
    """Settings of a level, for a run of a second that saves every three steps."""

    def make(level: int, **changes) -> RunSettings:
        fields = dict(
            corpus=str(corpus_file), out=tmp_path / "run", vocab_size=120, seq_length=16,
            num_hidden_layers=1, hidden_size=8, num_attention_heads=1, intermediate_size=16,
            max_position_embeddings=16, batch_size=4, steps=10, save_every=3, eval_every=2,
            eval_examples=4, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        )  # fmt: skip
        return LEVELS[level][0](**{**fields, **changes})

    return make


def rate_goes_wrong(monkeypatch, level: int, at: int) -> None:
    """One update that is far too large: the weights become infinite, the next loss NaN."""
    schedule = LEVELS[level][2].learning_rate

    def broken(step: int, **more) -> float:
        return 3e38 if step == at else schedule(step, **more)

    monkeypatch.setattr(LEVELS[level][2], "learning_rate", broken)


def assert_all_is_finite(out: Path) -> None:
    """Every line of metrics is JSON without NaN, every saved number is finite."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    for line in (out / "metrics.jsonl").read_text("utf-8").splitlines():
        json.loads(line, parse_constant=refuse)
    for path in out.rglob("*.safetensors"):
        for name, array in load_file(path).items():
            assert np.isfinite(array).all(), f"{path}: {name}"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_run_that_diverges_stops_and_keeps_the_last_good_checkpoint(
    level, settings_of, monkeypatch
):
    settings, pretrain = settings_of(level), LEVELS[level][1]
    with monkeypatch.context() as patch:
        rate_goes_wrong(patch, level, at=4)  # the checkpoint of step 3 is good, that of 6 is not
        with pytest.raises(UserError, match=r"is nan at step 6|not finite") as stopped:
            pretrain(settings)
        said = str(stopped.value)
        assert "\n" not in said and "lower --learning-rate" in said
        assert said.endswith("(the checkpoint of step 3 is kept)")
        kept = sorted(path.name for path in settings.out.glob("checkpoints/*"))
        assert kept == ["step-00000003"]
        assert_all_is_finite(settings.out)

    pretrain(settings)  # goes on from step 3, and where it goes well, it ends
    assert_all_is_finite(settings.out)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_the_last_update_of_all_is_looked_at_too(level, settings_of, monkeypatch):
    settings = settings_of(level, steps=4, eval_every=100, save_every=100)
    rate_goes_wrong(monkeypatch, level, at=3)
    with pytest.raises(UserError, match=r"lower --learning-rate.*\(nothing is saved\)"):
        LEVELS[level][1](settings)
    assert not list(settings.out.rglob("*.safetensors"))
    assert_all_is_finite(settings.out)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_what_was_saved_between_two_lines_of_metrics_is_finite(level, settings_of, monkeypatch):
    """A line comes every fifty steps here, a checkpoint every three."""
    module = LEVELS[level][2]
    settings = settings_of(level, eval_every=100)
    monkeypatch.setattr(module, "max", lambda *values: 50 if values[0] == 1 else max(*values),
                        raising=False)  # fmt: skip
    rate_goes_wrong(monkeypatch, level, at=4)
    with pytest.raises(UserError, match=r"not finite|is nan"):
        LEVELS[level][1](settings)
    assert [path.name for path in settings.out.glob("checkpoints/*")] == ["step-00000003"]
    assert_all_is_finite(settings.out)


def test_a_gradient_norm_that_is_not_finite_stops_the_run_too():
    refuse_divergence(7, 1e-3, mlm_loss=5.0, gradient_norm=1e30)
    with pytest.raises(Diverged, match=r"the gradient norm is inf at step 1,234, where .* 1.0e-03"):
        refuse_divergence(1234, 1e-3, mlm_loss=5.0, gradient_norm=math.inf)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_no_line_of_metrics_and_no_file_of_weights_holds_what_is_not_finite(number, tmp_path):
    log = MetricsLog(tmp_path / "metrics.jsonl")
    log.append({"step": 1, "loss": 2.0})
    before = log.path.read_bytes()
    with pytest.raises(Diverged, match=f"the loss is {number} at step 2"):
        log.append({"step": 2, "loss": number})
    assert log.path.read_bytes() == before
    weights = {"a": np.ones(3, np.float32), "b": np.array([0, number], np.float32)}
    with pytest.raises(Diverged, match=r"model\.safetensors is not written: b holds numbers that"):
        save_weights(weights, tmp_path / "model.safetensors")
    assert not (tmp_path / "model.safetensors").exists()


@pytest.mark.parametrize("level", LEVELS)
def test_without_clipping_a_run_learns_as_with_a_norm_that_is_never_reached(level, settings_of):
    """0 means: do not clip. It must not mean: make every gradient zero."""
    found = []
    for number, norm in enumerate((0.0, 1e9, 1e-3)):
        settings = settings_of(level, max_grad_norm=norm, steps=3)
        settings = replace(settings, out=settings.out / str(number))
        run = LEVELS[level][1](settings)
        found.append(load_weights(run.folder.newest().folder, run.config))
    unclipped, never_reached, clipped = found
    assert all(np.array_equal(unclipped[name], never_reached[name]) for name in unclipped)
    assert any(not np.array_equal(unclipped[name], clipped[name]) for name in unclipped)
