"""The comparison with the Trainer of `transformers`: its arithmetic, and that both sides train the
same model in the same way."""

import argparse
import dataclasses
import json
import random
import statistics
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import beside_trainer  # noqa: E402
import finetuning_seconds  # noqa: E402

from bert_corpus.wordpiece import load_tokenizer, save_tokenizer, train_wordpiece  # noqa: E402
from bert_finetuning.checkpoint import init_from  # noqa: E402
from bert_finetuning.data.load import load_storyworld  # noqa: E402
from bert_finetuning.settings import FinetuneSettings  # noqa: E402
from bert_run.config import BertConfig, initial_weights  # noqa: E402
from bert_run.weights import save_weights  # noqa: E402

# Scores and seconds.


def test_standard_error__is_that_of_a_difference_of_means():
    one, other = [1.0, 3.0], [2.0, 2.0, 5.0]  # variances 2 and 3
    assert beside_trainer.standard_error(one, other) == pytest.approx((2 / 2 + 3 / 3) ** 0.5)
    assert beside_trainer.standard_error([1.0], other) == 0.0


def test_permutation_p__counts_the_ways_to_deal_the_scores():
    """Of the 20 ways to deal six scores two are as far apart as these: this one and its mirror."""
    assert beside_trainer.permutation_p([1, 2, 3], [4, 5, 6]) == pytest.approx(2 / 20)
    assert beside_trainer.permutation_p([1, 1], [1, 1]) == 1.0


def test_permutation_p__of_many_seeds_comes_from_random_ways():
    ours, theirs = ([k / 20 for k in range(first, first + 20)] for first in (0, 4))
    assert beside_trainer.permutation_p(ours, theirs) == pytest.approx(0.03, abs=0.02)
    assert beside_trainer.permutation_p(ours, ours) == 1.0


def test_within_one_standard_error__is_passed_by_more_than_half_of_equal_sides():
    """What the page says of it, for five seeds of a normal distribution."""
    dice = random.Random(0)
    passed = 0
    for _ in range(2_000):
        one, other = ([dice.gauss(0, 1) for _ in range(5)] for _ in range(2))
        gap = abs(statistics.median(one) - statistics.median(other))
        passed += gap <= beside_trainer.standard_error(one, other)
    assert 0.5 < passed / 2_000 < 0.65


def test_table__names_the_difference_and_whether_it_is_within_one_error():
    comparison = beside_trainer.COMPARISONS[0]
    scores = {comparison: {beside_trainer.OURS: [0.5, 0.6, 0.7],
                           beside_trainer.TRAINER: [0.5, 0.55, 0.7]}}  # fmt: skip
    _, row = beside_trainer.table_of(scores, {comparison.name: "f1"})
    assert row[1:5] == ["f1", "60.0 (50.0–70.0)", "55.0 (50.0–70.0)", "+5.00"]
    assert row[6] == "yes"


def test_run__is_measured_again_when_its_settings_have_changed(checkpoint, tmp_path):
    arguments = argparse.Namespace(
        checkpoint=str(checkpoint),
        runs=tmp_path,
        seeds=1,
        data=None,
        device="cpu",
        learning_rate=None,
        same_draws=False,
    )  # fmt: skip
    (run,) = beside_trainer.runs_of(
        beside_trainer.COMPARISONS[:1], [beside_trainer.OURS], arguments
    )
    assert run.result is None
    assert run.settings["learning_rate"] == 3e-4
    assert dataclasses.replace(run, rate=1e-4).settings["learning_rate"] == 1e-4
    run.path.parent.mkdir(parents=True)
    identity = json.loads(json.dumps(run.identity))
    run.path.write_text(json.dumps({"identity": identity, "score": 0.5}))
    assert run.result["score"] == 0.5
    assert dataclasses.replace(run, examples="of other text").result is None
    run.path.write_text(json.dumps({"identity": identity | {"train": 7}, "score": 0.5}))
    assert run.result is None


def test_seconds_table__divides_by_ours():
    def turn(train, predict):
        return {"train": train, "predict": predict, "accuracy": 0.75}

    seconds = {finetuning_seconds.OURS: [turn(10, 1), turn(20, 3), turn(12, 2)],
               finetuning_seconds.AS_IT_COMES: [turn(30, 3)]}  # fmt: skip
    measured = {"machine": "2 cores", "seconds": seconds}
    results, text = finetuning_seconds.seconds_table(measured)
    assert "2.50" in text and "1.50" in text  # medians: 30 / 12, 3 / 2
    assert len(results[f"{finetuning_seconds.OURS}, seconds"]) == 3


@pytest.mark.parametrize("arguments, message", [
    (["--only", "SST"], "--only 'SST': choose from"),
    (["--seeds", "1"], "--seeds 1: give 2 or more"),
    (["--workers", "0"], "--workers 0"),
    (["--same-draws", "--shuffled"], "leave out --shuffled"),
    (["--checkpoint", "/no/such"], "make demo"),
    (["--out", "page.txt"], "must end in .md"),
])  # fmt: skip
def test_mistakes_are_told_in_one_line(arguments, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["beside_trainer.py", *arguments])
    with pytest.raises(SystemExit) as stopped:
        beside_trainer.main()
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


# Both sides train the same model in the same way.


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    texts = [text for task in ("sentiment", "names", "questions")
             for example in load_storyworld(task, train=100, heldout=10).train
             for text in example.texts]  # fmt: skip
    tokenizer = train_wordpiece(texts, 400, progress=False)
    config = BertConfig(vocab_size=tokenizer.get_vocab_size(), hidden_size=32,
                        num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
                        max_position_embeddings=256, hidden_dropout_prob=0.0,
                        attention_probs_dropout_prob=0.0)  # fmt: skip
    save_tokenizer(tokenizer, folder)
    config.save(folder, architectures=["BertForPreTraining"])
    save_weights(initial_weights(config, 0), folder / "model.safetensors")
    return folder


SETTINGS = {**beside_trainer.SETTINGS, "epochs": 1.0, "batch_size": 8, "warmup": 0.0,
            "max_length": 200, "hidden_dropout": 0.0, "attention_dropout": 0.0}  # fmt: skip


@pytest.mark.parametrize("task", ["sentiment", "stars", "names", "questions"])
def test_same_draws__end_at_our_weights_after_two_epochs(task, checkpoint, tmp_path):
    """The head, the batches of both epochs and every rate are those of `bert-finetune`: the Trainer
    ends where it does, so loss, clipping, weight decay and Adam are the same on both sides; with
    another seed it does not."""
    pytest.importorskip("accelerate")
    data = load_storyworld(task, train=44, heldout=10)
    settings = SETTINGS | {"epochs": 2.0, "warmup": 0.2}
    chosen = FinetuneSettings(task=task, checkpoint=str(checkpoint), seed=1, by_length=False,
                              **settings)  # fmt: skip
    features = data.task.encode(data.train, load_tokenizer(checkpoint), max_length=200)
    ours = beside_trainer.learn_in_float64(data, chosen).model.state_dict()

    def apart(seed: int) -> float:
        trainer = beside_trainer.make_trainer(data, str(checkpoint), features, seed=seed,
                                              folder=str(tmp_path), **settings)  # fmt: skip
        beside_trainer.draw_as_ours(trainer, data.task, str(checkpoint), seed)
        trainer.train()
        theirs = trainer.model.state_dict()
        return max(float((ours[name] - value).abs().max()) for name, value in theirs.items())

    assert apart(1) < 1e-10
    assert apart(2) > 2e-4


@pytest.mark.parametrize("task", ["sentiment", "names", "questions"])
def test_both_sides__give_a_score(task, checkpoint):
    pytest.importorskip("accelerate")
    data = load_storyworld(task, train=24, heldout=10)
    for score in (beside_trainer.score_of_ours, beside_trainer.score_of_trainer):
        assert -1 <= score(data, str(checkpoint), 0, **SETTINGS) <= 1


def test_logits__of_the_trainer_have_the_shape_of_ours(checkpoint):
    for task in ("sentiment", "stars", "names", "questions"):
        data = load_storyworld(task, train=4, heldout=4)
        features = data.task.encode(data.dev, load_tokenizer(checkpoint), max_length=200)
        model = init_from(checkpoint, data.task.model, data.task.head, seed=0).model
        shape = beside_trainer.logits_shape(data.task, features[0])
        assert shape == model.logits_shape(features[0])


def test_batches_in_random_order_have_a_line_of_their_own_where_all_seeds_are_there():
    comparison, sides = beside_trainer.COMPARISONS[0], {"bert-finetune": [0.5, 0.6]}
    scores = {comparison: {**sides, beside_trainer.TRAINER: [0.5, 0.7],
                           beside_trainer.SHUFFLED: [0.4, 0.8]}}  # fmt: skip
    rows = beside_trainer.table_of(scores, {comparison.name: "f1"})
    assert [row[0] for row in rows[1:]] == [comparison.name, f"{comparison.name}, random batches"]
    scores[comparison][beside_trainer.SHUFFLED].pop()
    assert len(beside_trainer.table_of(scores, {comparison.name: "f1"})) == 2


def test_page__has_both_tables_as_they_are_and_names_what_is_missing(checkpoint):
    comparison = beside_trainer.COMPARISONS[0]
    scores = {comparison: {beside_trainer.OURS: [0.5, 0.6], beside_trainer.TRAINER: [0.5, 0.7]}}
    turn = {"train": 2.0, "predict": 1.0, "accuracy": 0.5}
    seconds = {"machine": "2 cores", "seconds": {name: [turn] for name in
               (finetuning_seconds.OURS, finetuning_seconds.AS_IT_COMES)}}  # fmt: skip
    page = beside_trainer.page_of(scores, {comparison.name: "f1"}, seconds,
                                  checkpoint=str(checkpoint), missing=["SQuAD"])  # fmt: skip
    text = page.markdown("the command")
    assert "Not measured yet, by the same command: SQuAD." in " ".join(text.split())
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) == 3 + 4  # each table keeps its lines
    assert page.as_json("the command")["results"][f"{comparison.name}, Trainer"]["f1"]["seeds"] == 2
