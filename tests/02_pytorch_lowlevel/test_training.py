"""Level 2 learns as the levels beside it do: its Adam, a step in parts, the run."""

import math
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor
from torch._dynamo.testing import CompileCounter

from bert_lowlevel.attention import ATTENTIONS
from bert_lowlevel.masking import mask_tokens
from bert_lowlevel.model import (
    Bert,
    Logits,
    TensorBatch,
    encode,
    logits,
    pretraining_losses,
    to_tensors,
)
from bert_lowlevel.optimizer import Adam, FusedAdamW, clip_gradients, start_optimizer
from bert_lowlevel.pretrain import LowLevelSettings, main, pretrain
from bert_lowlevel.training import (
    Computing,
    Task,
    batch_gradients,
    evaluate,
    part_losses,
    training_step,
)
from bert_numpy.pretrain import NumpySettings
from bert_numpy.pretrain import pretrain as pretrain_level_1
from bert_paper import optimizer as paper_optimizer
from bert_paper.pretrain import PretrainSettings
from bert_paper.pretrain import pretrain as pretrain_level_3
from bert_run.config import (
    AdamSettings,
    BertConfig,
    MaskingRecipe,
    RunSettings,
    initial_weights,
    is_decayed,
)
from bert_run.device import choose_device, choose_precision
from bert_run.errors import UserError
from bert_run.training_loop import MetricsLog, read_metrics, split_batch
from bert_run.weights import load_weights, read_safetensors

CONFIG = BertConfig(vocab_size=2010, hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
                    intermediate_size=40, max_position_embeddings=32, hidden_dropout_prob=0.0,
                    attention_probs_dropout_prob=0.0)  # fmt: skip
WORDS = "bert.embeddings.word_embeddings.weight"
ADAM = AdamSettings(learning_rate=1e-3)


def fresh_bert(dtype: torch.dtype = torch.float32, device: str = "cpu", **more) -> Bert:
    return Bert(CONFIG, to_tensors(initial_weights(CONFIG, 0), device, dtype), **more)


@pytest.fixture(scope="module")
def batch_of(random_pairs, tensors) -> Callable[..., TensorBatch]:
    """Masked pairs of every length, so that rows have from none to five masks."""

    def make(rows: int = 16, **more) -> TensorBatch:
        return mask_tokens(tensors(random_pairs(rows, 32, **more)), mask_id=3,
                           ordinary_ids=torch.arange(10, 2010), seed=3)  # fmt: skip

    return make


# --- Adam, clipping, the schedule ---


def follow(
    weights: dict[str, Tensor], optimizer, steps: int, *, rate: float, seed: int = 1
) -> None:
    """So many updates with gradients that differ from step to step, and in size."""
    generator = torch.Generator().manual_seed(seed)
    for step in range(steps):
        gradients = {
            name: torch.randn(w.shape, generator=generator, dtype=w.dtype) * 10.0 ** (step % 3 - 2)
            for name, w in weights.items()
        }
        optimizer.update(weights, gradients, learning_rate=rate * (1 + step % 4))


class Theirs:
    """An optimizer of torch's kind, used as ours are."""

    def __init__(self, weights: dict[str, Tensor], make: Callable) -> None:
        module = torch.nn.Module()
        module.named_parameters = lambda: weights.items()
        self.optimizer = make(module)

    def update(self, weights, gradients, *, learning_rate: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        for name, weight in weights.items():
            weight.grad = gradients[name].clone()
        self.optimizer.step()


def plain_adamw(module: torch.nn.Module) -> torch.optim.AdamW:
    """Torch's, not fused; the groups by hand."""
    groups = [{"params": [w], "weight_decay": 0.02 if is_decayed(name) else 0.0}
              for name, w in module.named_parameters()]  # fmt: skip
    return torch.optim.AdamW(groups, betas=(0.8, 0.99), eps=1e-4, foreach=False, fused=False)


SETTINGS = AdamSettings(beta1=0.8, beta2=0.99, epsilon=1e-4, weight_decay=0.02)
OURS_AND_THEIRS = {
    "bert-adam as level 3's": (
        lambda w: start_optimizer(w, SETTINGS, name="bert-adam"),
        lambda m: paper_optimizer.make_optimizer(m, SETTINGS, name="bert-adam"),
    ),
    "by hand with the bias corrected as torch's AdamW": (
        lambda w: Adam.start(w, SETTINGS, correct_bias=True),
        plain_adamw,
    ),
    "adamw as torch's AdamW": (
        lambda w: start_optimizer(w, SETTINGS, name="adamw"),
        plain_adamw,
    ),
    "adamw as level 3's": (
        lambda w: start_optimizer(w, SETTINGS, name="adamw"),
        lambda m: paper_optimizer.make_optimizer(m, SETTINGS, name="adamw"),
    ),
}


@pytest.mark.parametrize("which", OURS_AND_THEIRS)
def test_twelve_updates_move_every_weight_as_the_others_adam_does(which):
    ours, theirs = OURS_AND_THEIRS[which]
    weights, others = (fresh_bert(torch.float64).weights for _ in range(2))
    before = {name: weight.detach().clone() for name, weight in weights.items()}
    follow(weights, ours(weights), 12, rate=0.01)
    follow(others, Theirs(others, theirs), 12, rate=0.01)
    for name, weight in weights.items():
        assert (weight - others[name]).abs().max() < 1e-12, name
        assert (weight - before[name]).abs().min() > 0 or name.endswith("bias")


def test_adamw_is_the_fused_one_and_bert_adam_the_one_by_hand():
    weights = fresh_bert().weights
    fused, by_hand = (start_optimizer(weights, ADAM, name=n) for n in ("adamw", "bert-adam"))
    assert isinstance(fused, FusedAdamW) and fused.adamw.defaults["fused"]
    assert isinstance(by_hand, Adam) and not by_hand.correct_bias


def test_without_bias_correction_the_twelfth_step_is_six_and_a_half_times_as_large():
    """Of a constant gradient: (1 - 0.9¹²) / √(1 - 0.999¹²) = 6.57, the largest of all steps."""
    moved = []
    for correct_bias in (False, True):
        weights, at = {"bias": torch.zeros(1, dtype=torch.float64)}, []
        adam = Adam.start(weights, AdamSettings(epsilon=1e-18), correct_bias=correct_bias)
        for _ in range(30):
            at.append(weights["bias"].item())
            adam.update(weights, {"bias": torch.ones(1, dtype=torch.float64)}, learning_rate=1.0)
        moved.append(-np.diff(at))
    ratio = moved[0] / moved[1]
    assert ratio.argmax() + 1 == 12
    assert ratio.max() == pytest.approx(6.57, abs=0.005)


@pytest.mark.parametrize("name", ["bert-adam", "adamw"])
def test_only_matrices_and_embeddings_decay(name):
    weights = {n: torch.ones_like(w, requires_grad=True) for n, w in fresh_bert().weights.items()}
    adam = start_optimizer(weights, AdamSettings(weight_decay=0.5), name=name)
    nothing = {n: torch.zeros_like(w) for n, w in weights.items()}
    adam.update(weights, nothing, learning_rate=0.1)
    for n, weight in weights.items():
        spared = n.endswith(".bias") or ".LayerNorm." in n
        assert (weight == (1 if spared else 0.95)).all(), n


@pytest.mark.parametrize("name", ["bert-adam", "adamw"])
def test_moments_become_arrays_and_go_on_to_the_same_bits(name):
    weights = fresh_bert().weights
    adam = start_optimizer(weights, ADAM, name=name)
    follow(weights, adam, 3, rate=0.01)
    arrays = {key: array.copy() for key, array in adam.to_arrays().items()}
    assert arrays.keys() == {"step", *(f"{kind}.{n}" for n in weights
                                       for kind in ("exp_avg", "exp_avg_sq"))}  # fmt: skip
    assert arrays["step"] == 3 and arrays["step"].dtype == np.int64
    copies = {n: w.detach().clone().requires_grad_() for n, w in weights.items()}
    again = start_optimizer(copies, ADAM, name=name)
    again.from_arrays(arrays)
    follow(weights, adam, 3, rate=0.01, seed=2)
    follow(copies, again, 3, rate=0.01, seed=2)
    assert all(torch.equal(weight, copies[n]) for n, weight in weights.items())
    assert again.to_arrays()["step"] == 6


def test_moments_of_adam_by_hand_go_on_in_torchs():
    """One file for both: the same names, the same meaning."""
    weights = fresh_bert(torch.float64).weights
    copies = {n: w.detach().clone().requires_grad_() for n, w in weights.items()}
    by_hand = Adam.start(weights, ADAM, correct_bias=True)
    follow(weights, by_hand, 3, rate=0.01)
    with torch.no_grad():
        for n, weight in copies.items():
            weight.copy_(weights[n])
    fused = FusedAdamW(copies, ADAM)
    fused.from_arrays({key: array.copy() for key, array in by_hand.to_arrays().items()})
    follow(weights, by_hand, 3, rate=0.01, seed=2)
    follow(copies, fused, 3, rate=0.01, seed=2)
    assert all((weight - copies[n]).abs().max() < 1e-12 for n, weight in weights.items())


def test_clipping_is_global_so_the_direction_stays():
    gradients = {"a": torch.tensor([3.0, 0.0]), "b": torch.tensor([[4.0]])}
    assert clip_gradients(gradients, 1.0) == 5.0
    assert gradients["a"].tolist() == pytest.approx([0.6, 0.0])
    assert gradients["b"].item() == pytest.approx(0.8)
    before = {name: gradient.clone() for name, gradient in gradients.items()}
    assert clip_gradients(gradients, 2.0).item() == pytest.approx(1.0)
    assert all(torch.equal(gradients[n], before[n]) for n in before), "small ones are left alone"
    zeros = {"a": torch.zeros(2)}
    assert clip_gradients(zeros, 1.0) == 0 and (zeros["a"] == 0).all()


# --- A step, whole or in parts ---


def test_parts_of_a_batch_add_up_to_the_gradient_of_the_whole_which_a_mean_of_means_does_not(
    batch_of,
):
    bert, batch = fresh_bert(), batch_of()
    masks = [int(part["masked_lm_weights"].sum()) for part in split_batch(batch, 2)]
    assert max(masks) > 2 * min(masks), "masks must be uneven"
    losses = pretraining_losses(logits(bert, batch), batch)
    losses.total.backward()
    whole = {name: weight.grad.clone() for name, weight in bert.weights.items()}
    for parts in (1, 2, 8):
        summed, gradients = batch_gradients(bert, batch, Computing(rows=16 // parts))
        assert abs(summed.mlm - losses.mlm) < 1e-5 and abs(summed.nsp - losses.nsp) < 1e-5
        for name, gradient in whole.items():
            assert (gradients[name] - gradient).abs().max() < 1e-6, (parts, name)

    for weight in bert.weights.values():
        weight.grad = None
    for part in split_batch(batch, 2):
        (pretraining_losses(logits(bert, part), part).total / 8).backward()
    name = "cls.predictions.bias"
    assert (bert.weights[name].grad - whole[name]).abs().max() > 1e-3


@pytest.mark.parametrize("rows", [3, 5, 100])
def test_parts_need_not_be_of_one_size(rows, batch_of):
    bert, batch = fresh_bert(torch.float64), batch_of()
    batch["masked_lm_weights"] = batch["masked_lm_weights"].double()
    _, whole = batch_gradients(bert, batch)
    whole = {name: gradient.clone() for name, gradient in whole.items()}
    _, parts = batch_gradients(bert, batch, Computing(rows=rows))
    for name, gradient in whole.items():
        assert (parts[name] - gradient).abs().max() < 1e-12, name


@pytest.mark.parametrize("name", ["bert-adam", "adamw"])
def test_one_batch_is_learned_by_heart(name, batch_of):
    bert, batch = fresh_bert(training=True), batch_of(8)
    adam = start_optimizer(bert.weights, ADAM, name=name)
    first, *_, last = (
        training_step(bert, adam, batch, learning_rate=6e-3, max_grad_norm=1.0) for _ in range(150)
    )
    assert abs(first.total.item() - math.log(2010) - math.log(2)) < 0.3
    assert last.mlm.item() < 0.05 and last.nsp.item() < 0.05


def test_a_step_clips_to_the_norm_that_it_is_told(batch_of):
    """What Adam is given has that norm, however large the gradient was."""
    given: list[float] = []

    class Recorder(Adam):
        def update(self, weights, gradients, *, learning_rate: float) -> None:
            given.append(math.sqrt(sum((g**2).sum().item() for g in gradients.values())))
            assert learning_rate == 0.5

    bert, batch = fresh_bert(), batch_of()
    adam = Recorder.start(bert.weights, ADAM)
    for max_norm in (0.1, 0.01, 1e9):
        training_step(bert, adam, batch, learning_rate=0.5, max_grad_norm=max_norm)
    assert given[:2] == pytest.approx([0.1, 0.01], rel=1e-4)
    assert 0.1 < given[2] < 1e9


@pytest.mark.parametrize("attention", ["fused", "by-hand"])
def test_a_step_in_bfloat16_runs_on_the_cpu_with_a_loss_near_that_of_float32(attention, batch_of):
    losses = []
    for precision in (torch.float32, torch.bfloat16):
        bert, batch = fresh_bert(attention=attention), batch_of()
        adam, computing = Adam.start(bert.weights, ADAM), Computing(precision, rows=6)
        losses += [[
            training_step(bert, adam, batch, computing, learning_rate=1e-3, max_grad_norm=1.0).total
            for _ in range(5)
        ]]  # fmt: skip
        assert {weight.dtype for weight in bert.weights.values()} == {torch.float32}
    full, half = (torch.stack(each) for each in losses)
    assert not torch.equal(full, half)
    assert torch.allclose(full, half, rtol=0.02)
    assert half[-1] < half[0] - 0.1


@pytest.mark.parametrize("correct_bias", [False, True])
@pytest.mark.parametrize("attention", ["fused", "by-hand"])
def test_a_step_reads_nothing_back_to_the_host(attention, correct_bias, batch_of, monkeypatch):
    """`meta` tensors hold no values, so any attempt to read one fails. (Nor have they autocast.)"""
    monkeypatch.setattr("bert_lowlevel.training.mixed_precision", lambda *_: nullcontext())
    config = CONFIG.with_changes(hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1)
    bert = replace(fresh_bert(device="meta", attention=attention, training=True), config=config)
    batch = {name: tensor.to("meta") for name, tensor in batch_of().items()}
    adam = Adam.start(bert.weights, ADAM, correct_bias=correct_bias)
    computing = Computing(torch.float32, rows=6)
    losses = training_step(bert, adam, batch, computing, learning_rate=1e-3, max_grad_norm=1.0)
    assert losses.mlm.device.type == "meta"
    with pytest.raises(RuntimeError):
        losses.mlm.item()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU to wait for")
@pytest.mark.parametrize("name", ["bert-adam", "adamw"])
def test_a_step_on_a_gpu_never_waits(name, batch_of):
    bert = fresh_bert(device="cuda", training=True)
    batch = {key: tensor.cuda() for key, tensor in batch_of().items()}
    adam, computing = start_optimizer(bert.weights, ADAM, name=name), Computing(torch.bfloat16, 6)
    told = dict(learning_rate=1e-3, max_grad_norm=1.0)
    training_step(bert, adam, batch, computing, **told)  # the first one may load libraries
    torch.cuda.set_sync_debug_mode("error")
    try:
        training_step(bert, adam, batch, computing, **told)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("attention", ["fused", "by-hand"])
def test_a_compiler_looks_once_however_the_batches_differ(attention, batch_of, shapes_unchecked):
    """Neither the number of masks nor that of tokens, nor weights that have moved, are new to it;
    and the losses stay what they are."""
    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(part_losses, backend=counter, fullgraph=True, dynamic=False)
    bert = fresh_bert(attention=attention, training=True)
    adam = Adam.start(bert.weights, ADAM)
    for seed in range(4):
        batch = batch_of(seed=seed)
        expected, _ = batch_gradients(bert, batch)
        losses = training_step(bert, adam, batch, Computing(losses=compiled, rows=4),
                               learning_rate=1e-3, max_grad_norm=1.0)  # fmt: skip
        assert losses.total.item() == pytest.approx(expected.total.item(), abs=1e-5)
    assert counter.frame_count == 1


# --- Measuring ---


class FewPairs:
    """A dataset of the pairs that it is given."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self.arrays = arrays

    def batch(self, indices: np.ndarray) -> dict[str, np.ndarray]:
        return {name: array[indices] for name, array in self.arrays.items()}


def test_a_measurement_is_over_all_masks_and_pairs_together_and_without_dropout(
    random_pairs, shapes_unchecked
):
    """150 examples in batches of 64, 64 and 22, whose means would weigh unequally."""
    task = Task(FewPairs(random_pairs(150, 32)), mask_id=3, ordinary_ids=torch.arange(10, 2010),
                recipe=MaskingRecipe(), seed=5)  # fmt: skip
    config = CONFIG.with_changes(hidden_dropout_prob=0.5)
    bert = Bert(config, to_tensors(initial_weights(config, 0)), training=True)
    found = evaluate(bert, task, examples=150)
    batch = task.batch(0, 150)
    scores = logits(replace(bert, training=False), batch)
    losses = pretraining_losses(scores, batch)
    used = batch["masked_lm_weights"] == 1
    right = (scores.words.argmax(-1) == batch["masked_lm_ids"])[used]
    pairs_right = scores.pairs.argmax(-1) == batch["next_sentence_labels"]
    assert found == {
        "heldout_mlm_loss": pytest.approx(losses.mlm.item(), abs=1e-5),
        "heldout_mlm_accuracy": pytest.approx(right.float().mean().item(), abs=1e-9),
        "heldout_nsp_loss": pytest.approx(losses.nsp.item(), abs=1e-5),
        "heldout_nsp_accuracy": pytest.approx(pairs_right.float().mean().item(), abs=1e-6),
    }
    assert all(weight.grad is None for weight in bert.weights.values())


def test_a_perfect_model_measures_as_perfect(random_pairs, monkeypatch, shapes_unchecked):
    task = Task(FewPairs(random_pairs(70, 32)), mask_id=3, ordinary_ids=torch.arange(10, 2010),
                recipe=MaskingRecipe(), seed=5)  # fmt: skip

    def knows(bert: Bert, batch: TensorBatch):
        words = torch.nn.functional.one_hot(batch["masked_lm_ids"], 2010) * 100.0
        return Logits(words, torch.nn.functional.one_hot(batch["next_sentence_labels"], 2) * 100.0)

    monkeypatch.setattr("bert_lowlevel.training.logits", knows)
    found = evaluate(fresh_bert(), task, examples=70)
    assert found["heldout_mlm_accuracy"] == found["heldout_nsp_accuracy"] == 1
    assert found["heldout_mlm_loss"] == found["heldout_nsp_loss"] == 0


# --- Runs ---


def run_settings(kind: type[RunSettings], out: Path, **changes) -> RunSettings:
    """A model of a few thousand numbers on a few hundred stories."""
    given = dict(corpus="storyworld", documents=400, vocab_size=600, out=out, seq_length=32,
                 num_hidden_layers=2, hidden_size=32, num_attention_heads=2, intermediate_size=48,
                 max_position_embeddings=32, hidden_dropout_prob=0.0,
                 attention_probs_dropout_prob=0.0, batch_size=8, steps=12, warmup_steps=2,
                 eval_examples=48)  # fmt: skip
    if kind is not NumpySettings:
        given |= dict(device="cpu", precision="fp32")
    return kind(**{**given, **changes})


DROPOUT = dict(hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1)


@pytest.fixture(scope="module")
def small_run(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("lowlevel") / "run"
    pretrain(run_settings(LowLevelSettings, out, **DROPOUT))
    return out


@pytest.mark.parametrize("optimizer, rate", [("bert-adam", 1e-3), ("adamw", 2.5e-3)])
def test_levels_1_2_and_3_lose_the_same_for_100_steps(optimizer, rate, tmp_path, shapes_unchecked):
    """From the same first weights and pairs, both losses within 1e-3 all the way, in float32."""
    recipe = dict(steps=100, learning_rate=rate, warmup_steps=50, optimizer=optimizer,
                  short_seq_length=16, short_share=0.3, short_batch_size=16)  # fmt: skip
    for level, (kind, run) in enumerate((
        (NumpySettings, pretrain_level_1),
        (LowLevelSettings, pretrain),
        (PretrainSettings, pretrain_level_3),
    ), start=1):  # fmt: skip
        run(run_settings(kind, tmp_path / str(level), **recipe))
    below, ours, above = (read_metrics(tmp_path / n / "metrics.jsonl") for n in "123")
    assert len(ours) == 101  # a line for every step, a measurement at the end
    for records in zip(ours, below, above, strict=True):
        mine, *others = records
        for other in others:
            assert mine.keys() == other.keys() and mine["step"] == other["step"]
            for name in mine:
                if name.endswith("loss"):
                    assert abs(mine[name] - other[name]) < 1e-3, (mine["step"], name)
                if name == "learning_rate":
                    assert mine[name] == other[name]
    assert ours[-1]["heldout_mlm_loss"] < np.log(600) - 0.5, "it must have learned something"


def test_a_finished_run_opens_in_transformers_with_no_key_missing_and_none_too_many(small_run):
    theirs, info = transformers.BertForPreTraining.from_pretrained(
        small_run, output_loading_info=True
    )
    assert not any(info[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    weights = load_weights(small_run, BertConfig.load(small_run))
    for name, parameter in theirs.named_parameters():
        assert np.array_equal(parameter.detach().numpy(), weights[name]), name
    assert (small_run / "curve.png").read_bytes().startswith(b"\x89PNG")
    tokenizer = transformers.AutoTokenizer.from_pretrained(small_run)
    assert len(tokenizer) == theirs.config.vocab_size


@pytest.mark.parametrize("optimizer", ["bert-adam", "adamw"])
def test_a_run_that_stopped_goes_on_to_the_same_bits(optimizer, tmp_path):
    """With dropout, and stopped where no checkpoint is: the steps since are done again."""
    changes = dict(DROPOUT, optimizer=optimizer)
    whole = run_settings(LowLevelSettings, tmp_path / "whole", **changes)
    pretrain(whole)
    settings = run_settings(LowLevelSettings, tmp_path / "again", save_every=5, **changes)
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
    torch.manual_seed(99)  # what has been drawn before must not matter
    pretrain(settings)
    newest = "checkpoints/step-00000012"
    for name in ("model.safetensors", "training_state.safetensors"):
        expected, got = (
            read_safetensors(folder / newest / name) for folder in (whole.out, settings.out)
        )
        assert all(np.array_equal(expected[key], got[key]) for key in expected)
    steps = [r["step"] for r in read_metrics(settings.out / "metrics.jsonl")
             if "train_mlm_loss" in r]  # fmt: skip
    assert steps == list(range(1, 13))


def losses_of(folder: Path) -> np.ndarray:
    return np.array([[record["train_mlm_loss"], record["train_nsp_loss"]]
                     for record in read_metrics(folder / "metrics.jsonl")
                     if "train_mlm_loss" in record])  # fmt: skip


@pytest.fixture(scope="module")
def six_losses(tmp_path_factory) -> Callable[..., np.ndarray]:
    """Both losses of the six steps of a run with changed settings."""

    def run(**changes) -> np.ndarray:
        out = tmp_path_factory.mktemp("settings") / "run"
        pretrain(run_settings(LowLevelSettings, out, steps=6, documents=100, **changes))
        return losses_of(out)

    return run


@pytest.fixture(scope="module")
def usual_losses(six_losses) -> np.ndarray:
    return six_losses()


@pytest.mark.parametrize("changes", [
    dict(attention="by-hand"), dict(micro_batch_size=3), dict(device="auto"), dict(causal=False),
], ids=str)  # fmt: skip
def test_settings_that_say_how_to_compute_leave_the_losses_as_they_are(
    changes, six_losses, usual_losses
):
    assert usual_losses.shape == (6, 2)
    assert np.abs(six_losses(**changes) - usual_losses).max() < 1e-4


@pytest.mark.parametrize("changes", [
    dict(causal=True), dict(hidden_dropout_prob=0.1), dict(seed=1),
    dict(attention_probs_dropout_prob=0.1), dict(optimizer="adamw"), dict(max_grad_norm=1e-7),
    dict(warmup_steps=0), dict(weight_decay=1.0), dict(mask_share=0.2), dict(masked_lm_prob=0.3),
], ids=str)  # fmt: skip
def test_settings_that_say_what_to_compute_change_the_losses(changes, six_losses, usual_losses):
    assert np.abs(six_losses(**changes) - usual_losses).max() > 3e-4


def test_a_causal_run_is_saved_as_a_decoder_and_transformers_hides_the_words_on_the_right_too(
    tmp_path,
):
    out = tmp_path / "causal"
    pretrain(run_settings(LowLevelSettings, out, steps=2, documents=100, causal=True))
    config = BertConfig.load(out, decoders=True)
    assert config.is_decoder
    card = (out / "README.md").read_text()
    assert "masked words" in card and "next words" not in card, "what it has learned"
    ours = Bert(config, to_tensors(load_weights(out, config)), causal=True)
    theirs = transformers.BertForPreTraining.from_pretrained(out).eval()
    ids = torch.arange(5, 13)[None]
    batch = {"input_ids": ids, "token_type_ids": 0 * ids, "attention_mask": ids**0}
    with torch.no_grad():
        expected, found = theirs.bert(**batch).last_hidden_state, encode(ours, batch)
    torch.testing.assert_close(found.hidden_states[-1], expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("which", ["fused", "by-hand"])
def test_a_run_takes_the_attention_that_is_asked_for(which, six_losses, monkeypatch):
    used = set()

    def seen(name: str, attend: Callable) -> Callable:
        return lambda *parts, **more: (used.add(name), attend(*parts, **more))[1]

    for name, attend in list(ATTENTIONS.items()):
        monkeypatch.setitem(ATTENTIONS, name, seen(name, attend))
    six_losses(attention=which)
    assert used == {which}


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_run_trains_and_measures_in_the_precision_that_is_asked_for(
    precision, six_losses, monkeypatch
):
    used: dict[bool, set[torch.dtype]] = {True: set(), False: set()}

    def seen(bert: Bert, batch: TensorBatch) -> Logits:
        scores = logits(bert, batch)
        used[bert.training].add(scores.words.dtype)
        return scores

    monkeypatch.setattr("bert_lowlevel.training.logits", seen)
    six_losses(precision=precision)
    expected = {torch.float32 if precision == "fp32" else torch.bfloat16}
    assert used == {True: expected, False: expected}


@pytest.mark.parametrize("compiles", [False, True])
def test_the_step_is_compiled_when_that_is_asked_for(compiles, six_losses, monkeypatch):
    """Compiled once, with fixed shapes, and called for each part of each batch."""
    compiled, calls = [], []

    def compile_(function: Callable, **how) -> Callable:
        compiled.append((function, how))
        return lambda *given: (calls.append(len(given[1]["input_ids"])), function(*given))[1]

    monkeypatch.setattr(torch, "compile", compile_)
    six_losses(compile=compiles, micro_batch_size=4)
    assert compiled == ([(part_losses, {"dynamic": False})] if compiles else [])
    assert calls == ([4] * 12 if compiles else [])


def test_the_settings_of_a_run_are_those_of_every_level_and_what_is_torchs():
    common = {field.name for field in fields(RunSettings)}
    assert {f.name for f in fields(LowLevelSettings)} - common == {
        "device", "precision", "compile", "attention", "causal"}  # fmt: skip
    assert LowLevelSettings().out == Path("runs/lowlevel")


@pytest.mark.parametrize("name", ["tpu", "meta", "mps", "cuda:x", ""])
def test_a_device_that_is_none_is_told_in_words(name):
    with pytest.raises(UserError, match=f"--device is '{name}': choose auto, cpu, cuda or cuda:N"):
        choose_device(name)


def test_a_gpu_that_is_not_there_is_told_in_words(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(UserError, match="--device cuda:1: torch sees no GPU here; choose --device"):
        choose_device("cuda:1")
    assert choose_device("auto").type == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(UserError, match="--device cuda:2: the last GPU is cuda:1"):
        choose_device("cuda:2")
    assert choose_device("cuda:1") == torch.device("cuda", 1)
    assert choose_device("auto").type == "cuda"


def test_auto_takes_what_there_is():
    device = choose_device("auto")
    assert device.type == ("cuda" if torch.cuda.is_available() else "cpu")
    assert choose_precision("fp32", device) == torch.float32
    assert choose_precision("bf16", device) == torch.bfloat16
    assert choose_precision("auto", device) in (torch.float32, torch.bfloat16)


MISTAKES = {
    "no corpus": (["--corpus", "none.txt"], "none.txt"),
    "heads that do not fit": (["--hidden-size", "30", "--num-attention-heads", "4"],
                              "num_attention_heads 4"),
    "no steps": (["--steps", "0"], "--steps is 0"),
    "no such GPU": (["--device", "cuda:99"], "--device cuda:99"),
    "no such device": (["--device", "abacus"], "--device is 'abacus'"),
    "too long rows": (["--seq-length", "600"], "longer than the model's 512 positions"),
}  # fmt: skip


def assert_refused(code: int, out: str, err: str, word: str) -> None:
    assert code == 2 and out == ""
    assert err.startswith("error: ") and err.count("\n") == 1
    assert word in err


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_users_mistake_is_one_line_and_exit_code_2(mistake, tmp_path, monkeypatch, capsys):
    arguments, word = MISTAKES[mistake]
    out = tmp_path / "run"
    monkeypatch.setattr(sys, "argv", ["pretrain", "--out", str(out), *arguments])
    with pytest.raises(SystemExit) as exit_:
        main()
    assert_refused(exit_.value.code, *capsys.readouterr(), word)
    assert not out.exists(), "the corrected command must find the folder free"


def test_the_command_refuses_from_the_shell_too(tmp_path):
    arguments, word = MISTAKES["heads that do not fit"]
    done = subprocess.run(
        [sys.executable, "-m", "bert_lowlevel.pretrain", "--out", str(tmp_path / "run"),
         *arguments], capture_output=True, text=True, encoding="utf-8", timeout=100,
    )  # fmt: skip
    assert_refused(done.returncode, done.stdout, done.stderr, word)


def test_a_level_of_one_process_says_so_under_torchrun(monkeypatch, tmp_path):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(UserError, match="is one process: start it without torchrun"):
        pretrain(LowLevelSettings(out=tmp_path / "run"))
    assert not (tmp_path / "run").exists()
