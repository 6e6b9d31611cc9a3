"""What a run shows: its metrics, a bar or lines, and the curve."""

import io
import sys

import matplotlib.image
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from bert_run import pictures as pictures_module
from bert_run.errors import UserError
from bert_run.training_loop import HELD_OUT as HELD_OUT_COLOR
from bert_run.training_loop import TRAINING, MetricsLog, draw_curve, progress_bar, read_metrics

RECORDS = [{"step": s, "train_mlm_loss": 7 - s / 50, "train_nsp_loss": 0.7 - s / 900}
           for s in range(10, 210, 10)]  # fmt: skip
HELD_OUT = [{"step": s, "heldout_mlm_loss": 7.5 - s / 60, "heldout_nsp_loss": 0.71 - s / 950}
            for s in (100, 200)]  # fmt: skip


# Metrics.


def test_records_come_back_as_they_went_in(tmp_path):
    log = MetricsLog(tmp_path / "metrics.jsonl")
    for record in RECORDS:
        log.append(record)
    assert read_metrics(log.path) == RECORDS
    assert log.path.read_text().count("\n") == len(RECORDS)


def test_a_run_without_metrics_has_none(tmp_path):
    assert read_metrics(tmp_path / "metrics.jsonl") == []


def test_resuming_cuts_what_came_after_the_resumed_step(tmp_path):
    path = tmp_path / "metrics.jsonl"
    log = MetricsLog(path)
    for record in RECORDS:
        log.append(record)
    again = MetricsLog(path, resume_at=100)
    assert [r["step"] for r in read_metrics(path)] == list(range(10, 101, 10))
    again.append({"step": 110})
    assert [r["step"] for r in read_metrics(path)] == list(range(10, 111, 10))


def test_starting_anew_empties_the_log(tmp_path):
    path = tmp_path / "metrics.jsonl"
    MetricsLog(path).append({"step": 10})
    MetricsLog(path)
    assert read_metrics(path) == []


@pytest.mark.parametrize("kept", [1, 10, -2])
def test_a_last_line_cut_short_is_passed_over_and_the_log_goes_on(kept, tmp_path):
    path = tmp_path / "metrics.jsonl"
    log = MetricsLog(path)
    for record in RECORDS[:3]:
        log.append(record)
    whole = path.read_text()
    last = whole.splitlines(keepends=True)[-1]
    path.write_text(whole[: -len(last)] + last[:kept])
    assert read_metrics(path) == RECORDS[:2]
    MetricsLog(path, resume_at=20).append(RECORDS[2])
    assert read_metrics(path) == RECORDS[:3]


@pytest.mark.parametrize("line, says", [
    (b"5", "line 2: 5 where an object is expected"),
    (b"{}", "line 2: it has no 'step'"),
    (b'{"step": "9"}', "line 2: 'step' is '9', not a whole number"),
    (b'{"step": 9, "train_mlm_loss": [1]}', "'train_mlm_loss' is [1], not a number"),
    (b'{"step": 9\xff}', "line 2: not JSON: 'utf-8' codec can't decode byte 0xff"),
    (b"\0\0\0", "line 2: not JSON"),
])  # fmt: skip
def test_a_line_that_is_no_measurement_is_named_and_nothing_is_thrown_away(line, says, tmp_path):
    path = tmp_path / "metrics.jsonl"
    content = b'{"step": 1}\n' + line + b'\n{"step": 10}\n'
    path.write_bytes(content)
    with pytest.raises(UserError) as told:
        MetricsLog(path, resume_at=10)
    assert says in str(told.value) and "\n" not in str(told.value)
    assert path.read_bytes() == content


# Progress.


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_log_gets_lines_and_no_carriage_returns(capsys):
    bar = progress_bar(3, "counting", unit="thing")
    for _ in range(3):
        bar.update()
    bar.set_postfix({"loss": "0.5"})
    bar.close()
    said = capsys.readouterr().err
    assert "\r" not in said
    assert said.endswith("\n")
    last = said.splitlines()[-1]
    assert "counting" in last
    assert "3/3" in last
    assert "loss=0.5" in last


def test_a_line_of_a_log_ends_with_a_whole_number_however_many_there_are(capsys):
    bar = progress_bar(3000, "pretraining", unit="step")
    measured = {"mlm": "0.540", "nsp": "0.064", "tok/s": "118,094", "held-out mlm": "0.569"}
    bar.set_postfix({**measured, "right": "85.4%", "held-out nsp": "0.066"})
    bar.close()
    assert capsys.readouterr().err.splitlines()[-1].endswith("held-out nsp=0.066]")


def test_a_log_gets_a_line_every_half_minute_not_every_step(capsys):
    bar = progress_bar(10_000, "counting", unit="thing")
    for _ in range(10_000):
        bar.update()
    bar.close()
    # One at the start, one at the end, one or two if the machine was slow.
    assert 1 <= len(capsys.readouterr().err.splitlines()) <= 4


def test_a_bar_goes_on_where_a_run_was_resumed(capsys):
    bar = progress_bar(100, "counting", unit="thing", initial=60)
    bar.update(40)
    bar.close()
    assert "100/100" in capsys.readouterr().err


def test_a_terminal_gets_one_bar_that_is_drawn_over(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    bar = progress_bar(3, "counting", unit="thing", mininterval=0)
    for _ in range(3):
        bar.update()
    bar.close()
    assert terminal.getvalue().count("\r") >= 3
    assert terminal.getvalue().count("\n") == 1


# The curve.


def pixels_of(path, color: str) -> int:
    image = matplotlib.image.imread(path)[:, :, :3]
    return int((np.abs(image - to_rgb(color)) < 0.02).all(axis=-1).sum())


def test_the_curve_shows_both_losses_training_and_held_out(tmp_path, pictures):
    both, training, nothing = (tmp_path / name for name in ("both.png", "train.png", "none.png"))
    draw_curve(RECORDS + HELD_OUT, both, title="tiny on storyworld")
    draw_curve(RECORDS, training, title="tiny on storyworld")
    draw_curve([], nothing, title="tiny on storyworld", references={"a line": 5.0})
    # A line across two panels covers hundreds of pixels, one of a legend some dozens.
    assert pixels_of(both, TRAINING) > pixels_of(nothing, TRAINING) + 300
    assert pixels_of(both, HELD_OUT_COLOR) > pixels_of(training, HELD_OUT_COLOR) + 300
    assert matplotlib.image.imread(both).shape[:2] == (440, 1100)


@pytest.mark.parametrize("tasks", [["next words"], ["masked words", "sentence order"]])
def test_the_curve_has_a_panel_for_each_task_that_is_named_and_no_other(
    tmp_path, tasks, monkeypatch
):
    drawn = []
    real = pictures_module.picture_with_axes
    monkeypatch.setattr(pictures_module, "picture_with_axes",
                        lambda **named: drawn.append(real(**named)) or drawn[0])  # fmt: skip
    draw_curve(RECORDS, tmp_path / "curve.png", title="", tasks=tasks)
    labels = [axes.get_ylabel() for axes in drawn[0][0].axes]
    assert labels == [f"{task}: loss (nats)" for task in tasks]


def test_a_reference_is_drawn_at_its_height(tmp_path, pictures):
    without, with_it = tmp_path / "without.png", tmp_path / "with.png"
    draw_curve(RECORDS, without, title="")
    draw_curve(RECORDS, with_it, title="", references={"word frequencies alone": 5.0})
    before, after = (matplotlib.image.imread(path)[:, :, :3] for path in (without, with_it))
    # The dashes of a line across the panel lie in one row; a word has some dozens of pixels there.
    assert (np.abs(after - before).max(axis=-1) > 0.1).sum(axis=1).max() > 200


def test_drawing_leaves_the_readers_own_figures_alone(tmp_path):
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    draw_curve(RECORDS, tmp_path / "curve.png", title="")
    assert plt.get_fignums() == before
