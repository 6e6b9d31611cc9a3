"""A long run predicted from short ones: the curve, what repeated text is worth, and the page."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bert_corpus.pretraining_run import identity
from bert_experiments.ablations.scaling import (
    PLANS,
    PROGRAM,
    Curve,
    Point,
    ScalingSettings,
    best_recipes,
    check_long_run,
    fit,
    long_recipe,
    long_run_at,
    open_store,
    page_of,
    picture_of,
    point_of,
    predict,
    predictions_of,
    recipe,
    worth_of,
)
from bert_experiments.ablations.variants import Run
from bert_experiments.report.page import command_of
from bert_paper.pretrain import PretrainSettings
from bert_run.errors import UserError

RUNS = PLANS["cpu"].runs
TRUE = Curve({"mini": 2.9, "tiny": 3.6, "small": 2.6}, slope=6.0, exponent=0.45)
TOKENS_A_SECOND = {"mini": 5_000, "tiny": 25_000, "small": 1_400}


def points(curve: Curve = TRUE) -> list[Point]:
    """Runs as the curve has them, without noise; with the paper's first values it is much worse."""
    found = []
    for run in RUNS:
        loss = curve.loss(run.size, run.millions)
        if run.initialization == "paper":
            loss += 10
        seconds = run.millions * 1e6 / TOKENS_A_SECOND[run.size]
        found.append(Point(run, loss, seconds))
    return found


@pytest.fixture
def settings(tmp_path: Path) -> ScalingSettings:
    return ScalingSettings(corpus="stores", millions=150, out=tmp_path / "runs")


def test_open_store__a_corpus_that_is_no_finished_store_is_refused(tmp_path):
    with pytest.raises(UserError, match="no folder of finished stores: make one with"):
        open_store(str(tmp_path))


def finished(asked: PretrainSettings, **said: object) -> Run:
    """A run that seems to have come to its end, and says other things of itself."""
    checkpoint = asked.out / f"checkpoints/step-{asked.steps:08d}"
    checkpoint.mkdir(parents=True)
    (checkpoint / "manifest.json").touch()
    record = json.dumps({"program": "bert-pretrain", **identity(asked), **said})
    (asked.out / "run.json").write_text(record)
    return Run("a short run", 0, asked)


def test_a_finished_run_of_another_corpus_is_not_taken_for_the_one_asked_for(settings):
    run = finished(recipe(RUNS[0], settings), corpus="other")
    with pytest.raises(UserError, match="holds a run with corpus 'other', now it is 'stores'"):
        assert not run.is_trained


@pytest.mark.parametrize(("millions", "message"), [
    (8, "does not end at step 36,621"),
    (150, "is not the run that is predicted: .* with model 'small', now it is 'tiny'"),
])  # fmt: skip
def test_check_long_run__refuses_a_run_that_is_not_the_predicted_one(settings, millions, message):
    folder = settings.out / "long"
    asked = long_run_at(1e-3, folder, replace(settings, millions=millions))
    finished(asked, model="small")
    with pytest.raises(UserError, match=message):
        check_long_run(folder, settings)


def test_check_long_run__refuses_a_folder_that_is_not_there_and_makes_none(settings):
    with pytest.raises(UserError, match="does not end at step 36,621"):
        check_long_run(settings.out / "nope", settings)
    assert not settings.out.exists()


def test_a_size_that_no_short_run_has_is_refused(settings):
    with pytest.raises(UserError, match="--size small: --plan cpu has short runs of tiny, mini"):
        replace(settings, size="small")


def test_best_recipes__keeps_the_lower_loss_of_two_recipes_and_every_length():
    kept = best_recipes(points())
    lengths = [(p.run.size, p.run.millions) for p in kept]
    assert sorted(lengths) == sorted({(run.size, run.millions) for run in RUNS})
    assert {p.run.initialization for p in kept} == {"induction"}


def test_fit__finds_the_curve_that_made_the_points():
    kept = best_recipes(points())
    found = fit(kept)
    assert found.exponent == pytest.approx(TRUE.exponent)
    assert found.slope == pytest.approx(TRUE.slope)
    assert found.floors == pytest.approx({size: TRUE.floors[size] for size in ("tiny", "mini")})


def test_worth_of__one_pass_is_worth_itself_and_sixteen_passes_of_no_more_are_its_bound():
    assert worth_of(20, unique=28.6) == 20
    assert worth_of(2 * 28.6, unique=28.6) == pytest.approx(2 * 28.6, rel=0.02)
    assert worth_of(1e6, unique=28.6) == pytest.approx(28.6 * 16.4)


def test_predict__the_curve_at_what_the_tokens_are_worth_and_its_range():
    found = predict(best_recipes(points()), "tiny", millions=150, unique=28.6)
    assert found.passes == pytest.approx(150 / 28.6)
    assert found.loss == pytest.approx(TRUE.loss("tiny", worth_of(150, 28.6)), abs=0.01)
    assert found.lowest <= found.loss <= found.highest


def test_predictions_of__the_long_run_first_another_size_reads_what_it_can_in_its_time(settings):
    tiny, mini = predictions_of(settings, best_recipes(points()), unique=28.6)
    assert (tiny.size, tiny.millions) == ("tiny", pytest.approx(150))
    assert (mini.size, mini.millions) == ("mini", pytest.approx(150 * 5_000 / 25_000))


def test_point_of__reads_the_last_measurement_and_the_seconds_of_training(settings):
    run = RUNS[0]
    asked = recipe(run, settings)
    asked.out.mkdir(parents=True)
    lines = [
        {"step": 10, "heldout_mlm_loss": 6.5, "heldout_nsp_loss": 0.6},
        {"step": asked.steps, "tokens_per_second": 4_000, "learning_rate": 1e-4},
        {"step": asked.steps, "heldout_mlm_loss": 5.5, "heldout_nsp_loss": 0.5},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (asked.out / "metrics.jsonl").write_text(text)
    point = point_of(run, asked)
    assert point.loss == 5.5
    assert point.seconds == pytest.approx(asked.steps * 4096 / 4_000)
    assert point.tokens_a_second == pytest.approx(4_000, rel=1e-3)


def test_page__has_the_call_of_the_long_run_and_what_it_came_to(settings, tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"step": 5, "heldout_mlm_loss": 4.5}\n')
    settings = replace(settings, long_run=tmp_path)
    predictions = predictions_of(settings, best_recipes(points()), 28.6)
    command = command_of(PROGRAM, settings)
    assert f"{PROGRAM} --corpus stores --millions 150" in command
    page = page_of(settings, points(), predictions, 28.6).markdown(command)
    asked = long_recipe(settings, points())
    assert f"--steps {asked.steps}" in page and "--optimizer muon" in page
    assert f"came to **4.500**, {4.5 - predictions[0].loss:.2f} above the prediction" in page
    assert picture_of(settings, points(), predictions, 28.6).axes[0].get_xscale() == "log"
