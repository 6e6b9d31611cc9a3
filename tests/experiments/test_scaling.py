"""A long run predicted from short ones: the curve, what repeated text is worth, and the page."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bert_experiments.ablations.scaling import (
    MILLION,
    RUNS,
    TOKENS_A_STEP,
    Curve,
    Point,
    ScalingSettings,
    best_rates,
    fit,
    open_store,
    page_of,
    picture_of,
    point_of,
    predict,
    recipe,
    sizes_in_order,
    worth_of,
)
from bert_run.errors import UserError

TRUE = Curve({"mini": 2.9, "tiny": 3.6, "small": 2.6}, slope=6.0, exponent=0.45)
TOKENS_A_SECOND = {"mini": 5_000, "tiny": 25_000, "small": 1_400}


def points(curve: Curve = TRUE) -> list[Point]:
    """Runs as the curve has them, without noise; the second rate of `tiny` is much worse."""
    found = []
    for run in RUNS:
        loss = curve.loss(run.size, run.millions)
        if (run.size, run.rate) == ("tiny", 8e-3):
            loss += 10
        seconds = run.steps * TOKENS_A_STEP / TOKENS_A_SECOND[run.size]
        found.append(Point(run, loss, seconds))
    return found


@pytest.fixture
def settings(tmp_path: Path) -> ScalingSettings:
    return ScalingSettings(corpus="stores", out=tmp_path / "runs")


def test_open_store__a_corpus_that_is_no_finished_store_is_refused(tmp_path):
    with pytest.raises(UserError, match="no folder of finished stores: make one with"):
        open_store(str(tmp_path))


def test_best_rates__keeps_the_lower_loss_of_two_rates_and_every_length():
    kept = best_rates(points())
    lengths = [(p.run.size, p.run.millions) for p in kept]
    assert sorted(lengths) == sorted({(run.size, run.millions) for run in RUNS})
    assert {p.run.rate for p in kept if p.run.size == "tiny"} == {4e-3}


def test_fit__finds_the_curve_that_made_the_points():
    kept = best_rates(points())
    found = fit(kept)
    assert found.exponent == pytest.approx(TRUE.exponent)
    assert found.slope == pytest.approx(TRUE.slope)
    assert found.floors == pytest.approx({size: TRUE.floors[size] for size in sizes_in_order(kept)})


def test_worth_of__one_pass_is_worth_itself_and_sixteen_passes_of_no_more_are_its_bound():
    assert worth_of(20, unique=28.6) == 20
    assert worth_of(2 * 28.6, unique=28.6) == pytest.approx(2 * 28.6, rel=0.02)
    assert worth_of(1e6, unique=28.6) == pytest.approx(28.6 * 16.4)


def test_predict__reads_the_hours_at_the_speed_of_the_short_runs_on_both_cores():
    kept = best_rates(points())
    mini = predict(kept, "mini", hours=7, unique=28.6)
    assert mini.millions == pytest.approx(5_000 * 2 * 7 * 3600 / MILLION)
    assert mini.passes == pytest.approx(mini.millions / 28.6)
    assert mini.loss == pytest.approx(TRUE.loss("mini", worth_of(mini.millions, 28.6)), abs=0.01)
    assert mini.lowest <= mini.loss <= mini.highest


def test_point_of__reads_the_last_measurement_and_the_seconds_of_training(settings):
    run = RUNS[0]
    asked = recipe(run, settings)
    asked.out.mkdir(parents=True)
    lines = [
        {"step": 10, "heldout_mlm_loss": 6.5, "heldout_nsp_loss": 0.6},
        {"step": run.steps, "tokens_per_second": 4_000, "learning_rate": 1e-4},
        {"step": run.steps, "heldout_mlm_loss": 5.5, "heldout_nsp_loss": 0.5},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (asked.out / "metrics.jsonl").write_text(text)
    point = point_of(run, asked)
    assert point.loss == 5.5
    assert point.seconds == pytest.approx(run.steps * TOKENS_A_STEP / 4_000)
    assert point.tokens_a_second == pytest.approx(4_000)


def test_page__names_the_size_with_the_lowest_loss_its_call_and_what_the_night_came_to(
    settings, tmp_path
):
    (tmp_path / "metrics.jsonl").write_text('{"step": 5, "heldout_mlm_loss": 3.9}\n')
    settings = replace(settings, night=tmp_path)
    kept = best_rates(points())
    predictions = [predict(kept, size, hours=7, unique=28.6) for size in sizes_in_order(kept)]
    page = page_of(settings, points(), predictions, 28.6).markdown("command")
    best = min(predictions, key=lambda each: each.loss)
    assert f"the night trains `{best.size}`" in page and f"--model {best.size}" in page
    assert f"came to **3.900**, {3.9 - best.loss:.2f} above the prediction" in page
    assert picture_of(settings, points(), predictions, 28.6).axes[0].get_xscale() == "log"
