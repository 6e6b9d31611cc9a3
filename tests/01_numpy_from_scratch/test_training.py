"""Level 1 learns as torch does: its masks, its Adam, a step on all cores, the run."""

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from bert_numpy.encoder import Bert
from bert_numpy.masking import mask_tokens
from bert_numpy.model import losses_and_gradients
from bert_numpy.optimizer import Adam, clip_gradients
from bert_numpy.pretrain import NumpySettings, pretrain
from bert_numpy.training import Cores, batch_gradients, rows_in_a_part
from bert_paper import masking as paper_masking
from bert_paper import optimizer as paper_optimizer
from bert_paper.pretrain import PretrainSettings
from bert_run.config import AdamSettings, BertConfig, RunSettings, initial_weights
from bert_run.training_loop import MetricsLog, read_metrics
from bert_run.weights import load_weights

CONFIG = BertConfig(vocab_size=97, hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
                    intermediate_size=40, max_position_embeddings=32)  # fmt: skip


def make_pairs(rows: int = 6, seq: int = 32) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    lengths = generator.integers(8, seq + 1, rows)[:, None]
    attention = (np.arange(seq) < lengths).astype(np.int64)
    return {
        "input_ids": generator.integers(10, 97, (rows, seq)) * attention,
        "token_type_ids": (np.arange(seq) >= lengths // 2) * attention,
        "attention_mask": attention,
        "next_sentence_labels": generator.integers(0, 2, rows),
        "example_index": np.arange(1000, 1000 + rows),
    }


def make_batch(rows: int = 6, seq: int = 32) -> dict[str, np.ndarray]:
    return mask_tokens(make_pairs(rows, seq), mask_id=4, ordinary_ids=np.arange(5, 97), seed=3)


def test_every_mask_is_the_one_that_level_3_draws():
    pairs = make_pairs(rows=300)
    ours = mask_tokens(pairs, mask_id=4, ordinary_ids=np.arange(5, 97), seed=3)
    vocabulary = paper_masking.MaskingVocabulary(4, torch.arange(5, 97))
    theirs = paper_masking.mask_tokens(
        {name: torch.from_numpy(array) for name, array in pairs.items()}, vocabulary, seed=3
    )
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        assert np.array_equal(array, theirs[name].numpy()), name
    assert (ours["masked_lm_weights"] == 0).any(), "short rows must be part of this test"


def test_masking_leaves_the_batch_that_it_was_given_alone():
    pairs = make_pairs()
    before = {name: array.copy() for name, array in pairs.items()}
    mask_tokens(pairs, mask_id=4, ordinary_ids=np.arange(5, 97), seed=3)
    assert all(np.array_equal(before[name], pairs[name]) for name in before)


@pytest.mark.parametrize("name", ["bert-adam", "adamw"])
def test_ten_updates_of_adam_are_those_of_level_3(name):
    settings = AdamSettings(learning_rate=0.01)
    weights = {n: a.astype(np.float64) for n, a in initial_weights(CONFIG, 0).items()}
    model = torch.nn.Module()
    theirs = {n: torch.nn.Parameter(torch.from_numpy(a.copy())) for n, a in weights.items()}
    model.named_parameters = lambda: theirs.items()
    optimizer = paper_optimizer.make_optimizer(model, settings, name=name)
    adam = Adam.start(weights, settings, correct_bias=name == "adamw")
    generator = np.random.default_rng(1)
    for step in range(10):
        gradients = {n: generator.normal(size=a.shape) for n, a in weights.items()}
        for n, parameter in theirs.items():
            parameter.grad = torch.from_numpy(gradients[n].copy())
        optimizer.step()
        adam.update(weights, gradients, learning_rate=0.01)
        for n, parameter in theirs.items():
            assert np.abs(weights[n] - parameter.detach().numpy()).max() < 1e-12, (step, n)


def test_without_bias_correction_the_twelfth_step_is_six_and_a_half_times_as_large():
    """Of a constant gradient: (1 - 0.9¹²) / √(1 - 0.999¹²) = 6.57, the largest of all steps."""
    moved = []
    for correct_bias in (False, True):
        weights, at = {"bias": np.zeros(1)}, []
        adam = Adam.start(weights, AdamSettings(epsilon=1e-18), correct_bias=correct_bias)
        for _ in range(12):
            at.append(weights["bias"].copy())
            adam.update(weights, {"bias": np.ones(1)}, learning_rate=1.0)
        moved.append(float(at[-1][0] - weights["bias"][0]))
    assert moved[0] / moved[1] == pytest.approx(6.57, abs=0.005)


def test_only_matrices_and_embeddings_decay():
    weights = {n: np.ones_like(a) for n, a in initial_weights(CONFIG, 0).items()}
    adam = Adam.start(weights, AdamSettings(weight_decay=0.5))
    adam.update(weights, {n: np.zeros_like(a) for n, a in weights.items()}, learning_rate=0.1)
    shrunk = {n for n, a in weights.items() if (a == 0.95).all()}
    spared = {n for n, a in weights.items() if (a == 1).all()}
    assert shrunk | spared == weights.keys()
    assert (
        all(n.endswith("bias") or "LayerNorm" in n for n in spared)
        and "cls.predictions.bias" in spared
    )
    assert "bert.embeddings.word_embeddings.weight" in shrunk


def test_clipping_is_global_so_the_direction_stays():
    gradients = {"a": np.array([3.0, 0.0]), "b": np.array([[4.0]])}
    assert clip_gradients(gradients, 1.0) == 5.0
    assert gradients["a"][0] == pytest.approx(0.6) and gradients["b"][0, 0] == pytest.approx(0.8)
    assert clip_gradients(gradients, 2.0) == pytest.approx(1.0)
    assert gradients["a"][0] == pytest.approx(0.6), "a norm below the limit is left alone"


@pytest.mark.parametrize("cores", [1, 2, 3])
@pytest.mark.parametrize("rows", [1, 2, 4, None])
def test_the_parts_of_a_batch_add_up_to_the_gradient_of_the_whole(cores, rows):
    weights = {n: a.astype(np.float64) for n, a in initial_weights(CONFIG, 0).items()}
    bert = Bert(CONFIG, weights)
    batch = make_batch()
    assert len(set(batch["masked_lm_weights"].sum(axis=1))) > 1, "rows with more and fewer masks"
    losses, whole = losses_and_gradients(bert, batch)
    with Cores(cores) as team:
        part_losses, summed = batch_gradients(bert, batch, team, rows=rows)
    assert part_losses == pytest.approx(losses, abs=1e-12)
    for name, gradient in whole.of.items():
        assert np.abs(gradient - summed.of[name]).max() < 1e-12, name


@pytest.mark.parametrize(("rows", "seq_length", "part"),
                         [(512, 64, 32), (32, 128, 16), (8, 128, 4), (7, 128, 4), (1, 128, 1),
                          (4, 4096, 1)])  # fmt: skip
def test_a_part_fits_into_a_cache_and_a_small_batch_still_has_two(rows, seq_length, part):
    assert rows_in_a_part({"input_ids": np.zeros((rows, seq_length), np.int64)}) == part


def test_dropout_strikes_out_the_same_numbers_on_one_core_and_on_three():
    bert = Bert(CONFIG, initial_weights(CONFIG, 0))
    results = []
    for count in (1, 3, 1):
        with Cores(count) as team:
            results.append(batch_gradients(bert, make_batch(), team, rows=1, dropout_seed=[0, 7]))
    (first, a), (second, b), (third, c) = results
    assert first == pytest.approx(second, abs=1e-5)
    assert first == third and all(np.array_equal(a.of[n], c.of[n]) for n in a.of)
    assert all(np.abs(a.of[n] - b.of[n]).max() < 1e-5 for n in a.of)
    with Cores(1) as team:
        other, _ = batch_gradients(bert, make_batch(), team, rows=1, dropout_seed=[0, 8])
    assert other.mlm != first.mlm


# --- Runs ---


def run_settings(kind: type[RunSettings], out: Path, **changes) -> RunSettings:
    """A model of a few thousand numbers on a few hundred stories."""
    given = dict(corpus="storyworld", documents=400, vocab_size=600, out=out, seq_length=32,
                 num_hidden_layers=2, hidden_size=32, num_attention_heads=2, intermediate_size=48,
                 max_position_embeddings=32, hidden_dropout_prob=0.0,
                 attention_probs_dropout_prob=0.0, batch_size=8, steps=12, warmup_steps=2,
                 eval_examples=48)  # fmt: skip
    if kind is PretrainSettings:
        given |= dict(device="cpu", precision="fp32")
    return kind(**{**given, **changes})


@pytest.fixture(scope="module")
def small_run(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("numpy") / "run"
    pretrain(run_settings(NumpySettings, out, hidden_dropout_prob=0.1))
    return out


def test_a_finished_run_opens_in_transformers_and_in_level_3(small_run):
    _, info = transformers.BertForPreTraining.from_pretrained(small_run, output_loading_info=True)
    assert not any(info[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    done = subprocess.run(
        [sys.executable, "-m", "bert_paper.fill_mask", "The [MASK] sat on the mat.", "--checkpoint",
         str(small_run), "--json"], capture_output=True, text=True, encoding="utf-8", timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)[0]["masks"][0]) == 5
    assert (small_run / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_that_stopped_goes_on_to_the_same_bits(small_run, tmp_path):
    """With dropout, and stopped where no checkpoint is: the steps since are done again."""
    settings = run_settings(
        NumpySettings, tmp_path / "again", hidden_dropout_prob=0.1, save_every=5
    )
    original = MetricsLog.append

    class Stop(Exception):
        pass

    def stop_after_seven(self, entry):
        original(self, entry)
        if entry["step"] == 7:
            raise Stop

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Stop):
        patch.setattr(MetricsLog, "append", stop_after_seven)
        pretrain(settings)
    checkpoints = [p.name for p in (settings.out / "checkpoints").iterdir()]
    assert checkpoints == ["step-00000005"]
    pretrain(settings)
    config = BertConfig.load(small_run)
    expected, got = load_weights(small_run, config), load_weights(settings.out, config)
    assert all(np.array_equal(expected[name], got[name]) for name in expected)
    steps = [r["step"] for r in read_metrics(settings.out / "metrics.jsonl")
             if "train_mlm_loss" in r]  # fmt: skip
    assert steps == list(range(1, 13))


def test_the_settings_of_a_run_are_those_of_level_3_but_for_its_variants_and_its_machine():
    """A setting of the recipe that only one level had would leave the other at a default."""
    common = {field.name for field in fields(RunSettings)}
    assert {f.name for f in fields(NumpySettings)} - common == {"cores"}
    assert {f.name for f in fields(PretrainSettings)} - common == {
        "objective", "sentence_task", "random_next", "mask_unit", "duplicate_factor",
        "start_from", "device", "precision", "parallel", "compile"}  # fmt: skip


def test_a_users_mistake_is_one_line(tmp_path):
    for arguments, word in (
        (["--corpus", str(tmp_path / "none.txt")], "none.txt"),
        (["--hidden-size", "30", "--num-attention-heads", "4"], "num_attention_heads 4"),
        (["--steps", "0"], "--steps is 0"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "bert_numpy.pretrain", "--out", str(tmp_path / "run"),
             *arguments], capture_output=True, text=True, encoding="utf-8", timeout=100,
        )  # fmt: skip
        assert done.returncode == 2 and word in done.stderr
        assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
