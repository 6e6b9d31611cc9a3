"""`benchmarks/finetuning.py`: its baselines, what it keeps, its table and its verdicts."""

import math
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import finetuning as bench  # noqa: E402

from bert_experiments.report.figures import in_parallel  # noqa: E402
from bert_finetuning.data.load import load_files, load_storyworld  # noqa: E402
from bert_run.errors import UserError  # noqa: E402

COMPARED = bench.PRETRAINED, bench.SCRATCH
JOB = bench.Job("SST-2", "is it good?", {"task": "sentiment"})
SCORES = {bench.PRETRAINED: [80.0, 82.0, 84.0], bench.SCRATCH: [70.0, 72.0, 71.0],
          bench.MAJORITY: [50.0], bench.BAG: [75.0]}  # fmt: skip
ROW = bench.Row(JOB, "accuracy", (2_000, 500), few=False, scores=SCORES, seconds=60.0)


def answers(tmp_path: Path, train: str, dev: str, ending: str) -> list:
    for name, text in (("train", train), ("dev", dev)):
        (tmp_path / f"{name}.{ending}").write_text(text, encoding="utf-8")
    data = load_files(tmp_path / f"train.{ending}", tmp_path / f"dev.{ending}")
    return [said.answer for said in bench.bag_of_words(data, data.train)]


def test_bag_of_words__learns_which_words_go_with_a_label(tmp_path):
    train = "text,label\n" + "a fine film,good\na poor film,bad\n" * 5
    dev = "text,label\nfilm poor,bad\nFine fine,good\n"
    assert answers(tmp_path, train, dev, "csv") == ["bad", "good"]


def test_bag_of_words__tells_the_two_texts_of_a_pair_apart(tmp_path):
    head = "sentence1,sentence2,label\n"
    train = head + "a dog,a cat,one\na cat,a dog,two\n" * 5
    assert answers(tmp_path, train, head + "the dog,the cat,one\nthe cat,the dog,two\n", "csv") == [
        "one",
        "two",
    ]


def test_bag_of_words__gives_a_word_its_most_common_tag_and_others_that_of_all(tmp_path):
    train = "Ann B-PER\nsees O\nBonn B-LOC\n\nann B-PER\nran O\nAnn O\n\nit O\nran O\n"
    dev = "ANN B-PER\nasks O\nbonn B-LOC\n"
    assert answers(tmp_path, train, dev, "conll") == [("B-PER", "O", "B-LOC")]


def test_bag_of_words__is_none_where_the_answer_is_no_label():
    data = load_storyworld("questions", train=3, heldout=3)
    assert bench.bag_of_words(data, data.train) is None


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """A measurement whose fine-tuning gives scores at once, and the settings of each call."""
    calls = []

    def finetune(settings):
        calls.append(settings)
        return SimpleNamespace(scores=[0.5], metric="accuracy", examples=(100, 500),
                               majority={"accuracy": 0.48})  # fmt: skip

    monkeypatch.setattr(bench, "finetune", finetune)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bert").mkdir()
    (tmp_path / "bert" / "config.json").write_text("{}", encoding="utf-8")
    (tmp_path / "bert" / "model.safetensors").write_bytes(b"weights")
    return bench.Measurement(JOB, str(tmp_path / "bert"), tmp_path / "runs", few=100), calls


def is_done(measurement: bench.Measurement) -> bool:
    return all(run.is_done for run in measurement.runs_of_seeds)


def test_a_row_is_measured_once_and_again_with_other_settings_or_weights(measured, tmp_path):
    measurement, calls = measured
    assert not is_done(measurement)
    row = measurement.row()
    assert is_done(measurement) and measurement.row() == row and len(calls) == 2
    assert [settings.from_scratch for settings in calls] == [False, True]
    assert {(settings.few_shot, settings.epochs) for settings in calls} == {(100, 20.0)}
    assert row.scores[bench.PRETRAINED] == [50.0] and row.scores[bench.MAJORITY] == [48.0]
    assert row.scores[bench.BAG][0] > 60
    more = replace(measurement, seeds=2)
    assert not is_done(more)
    more.row()
    assert [settings.seed for settings in calls] == [0, 0, 1, 1], "seed 0 is done already"
    (tmp_path / "bert" / "model.safetensors").write_bytes(b"others")
    assert not is_done(replace(more))


def test_the_way_out_of_a_folder_that_is_taken_is_an_option_of_this_call(measured, monkeypatch):
    def refuse(settings):
        raise UserError("it holds a run with another rate: choose another --out")

    monkeypatch.setattr(bench, "finetune", refuse)
    with pytest.raises(UserError, match="choose another --runs"):
        measured[0].row()


def test_the_seconds_of_a_run_that_was_stopped_are_not_said(measured):
    measurement, _ = measured
    first = measurement.runs_of_seeds[0].settings.out / "seed-0" / "model.safetensors"
    first.parent.mkdir(parents=True)
    first.write_bytes(b"half a run")
    row = measurement.row()
    assert row.seconds is None
    assert bench.rows_of([row, ROW], real=False)[1][-1] == "–"
    assert bench.rows_of([row, ROW], real=False)[2][-1] == "60"


def test_a_learning_rate_is_that_of_both_starts():
    measurement = bench.Measurement(JOB, "tiny", Path("runs"), rate=1e-3)
    assert [measurement.settings(start).learning_rate for start in COMPARED] == [1e-3, 1e-3]


def test_the_model_from_scratch_may_have_a_rate_of_its_own():
    measurement = bench.Measurement(JOB, "tiny", Path("runs"), rate=1e-3, scratch_rate=3e-3)
    assert [measurement.settings(start).learning_rate for start in COMPARED] == [1e-3, 3e-3]


def test_runs_at_the_same_time_give_what_they_give_one_after_another(tmp_path):
    """Each keeps its figures in a file; the next call finds them there."""
    numbers = [tmp_path / f"{number}.json" for number in range(4)]
    in_parallel(numbers, Path.exists, Path.touch, workers=2)
    assert all(path.exists() for path in numbers)
    in_parallel(numbers, Path.exists, Path.unlink, workers=2)
    assert all(path.exists() for path in numbers), "what is done is not done again"


def test_what_fails_in_one_of_several_processes_is_raised_here(tmp_path):
    with pytest.raises(FileNotFoundError):
        in_parallel([tmp_path / "no" / "file"], Path.exists, Path.touch, workers=2)


def test_real_tasks_with_few_labels_are_evaluated_at_the_end_alone():
    real = replace(JOB, settings={"task": "sst-2", "data": Path("sst2")})
    for job, every in ((JOB, None), (real, bench.AT_THE_END["eval_every"])):
        assert bench.Measurement(job, "bert", Path("runs"), few=100).settings(
            bench.PRETRAINED).eval_every == every  # fmt: skip


def test_the_gain_is_that_of_the_medians_with_the_error_of_the_means():
    error = math.sqrt(4 / 3 + 1 / 3)
    assert ROW.gain == f"+11.0 ± {error:.1f}"


def test_the_page_judges_each_task_by_its_seeds_and_shows_published_scores(monkeypatch):
    config = SimpleNamespace(num_hidden_layers=2, hidden_size=128)
    monkeypatch.setattr(bench.BertConfig, "load", lambda folder: config)
    monkeypatch.setattr(bench, "parameter_shapes", lambda config: {})
    even = {**SCORES, bench.SCRATCH: [81.0, 72.0, 71.0]}
    rows = [ROW, replace(ROW, examples=(100, 500), few=True, scores=even)]
    page = bench.page_of(rows, "runs/night", real=True, seeds=3)
    assert [each.answer for each in page.verdicts] == ["reproduced", "not reproduced"]
    head, whole, few = page.rows
    assert dict(zip(head, whole, strict=True))["published, tiny, mini, small, medium"] == (
        "83.2, 85.9, 89.7, 89.6")  # fmt: skip
    assert dict(zip(head, few, strict=True))["training examples"] == "100"
    assert page.results["SST-2, 100 examples, pretrained"] == [
        {"accuracy": 0.8}, {"accuracy": 0.82}, {"accuracy": 0.84}]  # fmt: skip


def test_few_labels_alone_are_measured_without_the_whole_sets(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(bench.Measurement, "row", lambda self: asked.append(str(self)) or ROW)
    monkeypatch.setattr(bench, "in_parallel", lambda *_, **__: None)
    monkeypatch.setattr(bench.Measurement, "expected_seconds", 1.0)
    given = ["finetuning.py", "--checkpoint", "run", "--only", "stars", "--few", "100"]
    for more, expected in (([], ["stars", "stars, 100 examples"]),
                           (["--only-few"], ["stars, 100 examples"])):  # fmt: skip
        asked.clear()
        monkeypatch.setattr(sys, "argv", [*given, *more])
        bench.main()
        assert asked == expected
    monkeypatch.setattr(sys, "argv", [*given[:3], "--only-few"])
    with pytest.raises(SystemExit):
        bench.main()
    assert "say with how many labels" in capsys.readouterr().err
