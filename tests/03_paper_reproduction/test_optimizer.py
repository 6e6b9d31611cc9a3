"""The paper's Adam and schedule, against formulas and against torch."""

import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from bert_paper.model import BertForPreTraining
from bert_paper.optimizer import (
    AdamSettings,
    BertAdam,
    Muon,
    batches_of_one_shape,
    clip_gradients,
    full_arrays,
    make_optimizer,
    optimizer_state,
    orthogonalize,
    restore_state,
)
from bert_paper.pretrain import PretrainSettings, pretrain
from bert_run.config import BertConfig
from bert_run.errors import UserError
from bert_run.training_loop import learning_rate

SMALL = BertConfig(vocab_size=31, hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
                   intermediate_size=12, max_position_embeddings=9)  # fmt: skip


def one_weight(settings: AdamSettings, decay: float) -> tuple[nn.Parameter, BertAdam]:
    weight = nn.Parameter(torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64))
    return weight, BertAdam([{"params": [weight], "weight_decay": decay}], settings)


@pytest.mark.parametrize("beta1, beta2, decay", [(0.9, 0.999, 0.01), (0.8, 0.95, 0.0)])
def test_bert_adam_follows_its_formula(beta1, beta2, decay):
    settings = AdamSettings(learning_rate=0.02, beta1=beta1, beta2=beta2, epsilon=1e-3)
    weight, optimizer = one_weight(settings, decay)
    expected, m, v = weight.detach().clone(), torch.zeros(3).double(), torch.zeros(3).double()
    generator = torch.Generator().manual_seed(0)
    for _ in range(7):
        gradient = torch.randn(3, generator=generator, dtype=torch.float64)
        weight.grad = gradient.clone()
        optimizer.step()
        m = beta1 * m + (1 - beta1) * gradient
        v = beta2 * v + (1 - beta2) * gradient**2
        expected = expected - 0.02 * (m / (v.sqrt() + 1e-3) + decay * expected)
        assert torch.allclose(weight, expected, atol=1e-14)


def test_without_bias_correction_step_12_is_6_57_times_adams():
    """Under a constant gradient Adam's step is the rate itself (facts: at most 6.57, at t = 12)."""
    settings = AdamSettings(learning_rate=1e-3, epsilon=1e-18)
    weight, optimizer = one_weight(settings, decay=0.0)
    steps = []
    for _ in range(30):
        before = weight.detach().clone()
        weight.grad = torch.ones(3).double()
        optimizer.step()
        steps.append(((before - weight.detach()) / 1e-3)[0].item())
    assert max(range(30), key=steps.__getitem__) + 1 == 12
    assert max(steps) == pytest.approx(6.57, abs=0.005)


def test_adamw_corrects_the_bias():
    model = BertForPreTraining(SMALL)
    optimizer = make_optimizer(model, AdamSettings(learning_rate=1e-3, weight_decay=0.0),
                               name="adamw")  # fmt: skip
    before = model.bert.pooler.dense.weight.detach().clone()
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    change = before - model.bert.pooler.dense.weight.detach()
    assert torch.allclose(change, torch.full_like(change, 1e-3), rtol=1e-3)


def test_weight_decay_spares_biases_and_layer_norms_and_nothing_else():
    model = BertForPreTraining(SMALL)
    names = {id(p): n for n, p in model.named_parameters()}
    decayed, spared = make_optimizer(model, AdamSettings(), name="bert-adam").param_groups
    assert decayed["weight_decay"] == 0.01 and spared["weight_decay"] == 0.0
    decayed_names = {names[id(p)] for p in decayed["params"]}
    assert "bert.embeddings.word_embeddings.weight" in decayed_names
    assert len(decayed_names) == 3 + 6 + 1 + 1 + 1  # embeddings, layer, pooler, transform, NSP
    for parameter in spared["params"]:
        name = names[id(parameter)]
        assert name.endswith("bias") or "LayerNorm" in name
    assert len(decayed["params"]) + len(spared["params"]) == len(names)


def test_clipping_is_global_and_keeps_the_direction():
    a, b = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(3))
    a.grad, b.grad = torch.tensor([3.0, 0.0]), torch.tensor([0.0, 4.0, 0.0])
    norm = clip_gradients([a, b], 1.0)
    assert norm == pytest.approx(5.0)
    assert a.grad[0].item() == pytest.approx(0.6, abs=1e-5)
    assert b.grad[1].item() == pytest.approx(0.8, abs=1e-5)


def test_clipping_leaves_small_gradients_alone():
    a = nn.Parameter(torch.zeros(2))
    a.grad = torch.tensor([0.3, 0.4])
    clip_gradients([a], 1.0)
    assert torch.equal(a.grad, torch.tensor([0.3, 0.4]))


def test_the_rate_rises_to_its_peak_and_falls_to_zero_in_straight_lines():
    rates = [learning_rate(s, peak=1.0, warmup_steps=10, total_steps=110) for s in range(111)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[9] == rates[10] == 1.0
    assert rates[60] == pytest.approx(0.5)
    assert rates[110] == 0.0
    assert all(r > 0 for r in rates[:110])


def test_no_warm_up_starts_at_the_peak():
    assert learning_rate(0, peak=3.0, warmup_steps=0, total_steps=5) == 3.0


@pytest.mark.parametrize("name", ["bert-adam", "adamw", "muon"])
def test_an_optimizer_put_back_from_arrays_goes_on_with_the_same_bits(name):
    def step(model, optimizer, seed):
        generator = torch.Generator().manual_seed(seed)
        for parameter in model.parameters():
            parameter.grad = torch.randn(parameter.shape, generator=generator)
        optimizer.step()

    torch.manual_seed(0)
    model = BertForPreTraining(SMALL)
    optimizer = make_optimizer(model, AdamSettings(), name=name)
    for seed in range(3):
        step(model, optimizer, seed)
    copy = BertForPreTraining(SMALL)
    copy.load_state_dict(model.state_dict())
    restored = make_optimizer(copy, AdamSettings(), name=name)
    restore_state(restored, copy, full_arrays(optimizer_state(optimizer, model)))
    for seed in range(3, 6):
        step(model, optimizer, seed)
        step(copy, restored, seed)
    for ours, theirs in zip(model.parameters(), copy.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_a_run_with_muon_goes_on_to_the_same_bits(corpus_file, small_settings, tmp_path):
    changes = dict(optimizer="muon", steps=8, save_every=4, learning_rate=1e-2)
    whole = pretrain(small_settings(corpus_file, tmp_path / "whole", **changes))
    settings = small_settings(corpus_file, tmp_path / "cut", **changes)
    pretrain(settings)
    shutil.rmtree(settings.out / "checkpoints" / "step-00000008")
    pretrain(settings)  # from step 4 on
    bytes_of = [
        (run / "model.safetensors").read_bytes() for run in (whole.folder.path, settings.out)
    ]
    assert bytes_of[0] == bytes_of[1]


def orthogonalized(matrix: np.ndarray) -> np.ndarray:
    """Five Newton–Schulz iterations, with the coefficients of Jordan et al. 2024."""
    x = matrix / np.linalg.norm(matrix)
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x - 4.7750 * gram @ x + 2.0315 * gram @ gram @ x
    return x


@pytest.mark.parametrize("shape", [(16, 16), (16, 64), (64, 16)])
def test_muon__moves_a_matrix_as_its_formula_in_numpy_does(shape):
    rng = np.random.default_rng(0)
    settings = AdamSettings(learning_rate=0.01, weight_decay=0.1)
    weight = nn.Parameter(torch.from_numpy(rng.standard_normal(shape, np.float32)))
    expected, momentum = weight.detach().numpy().copy(), np.zeros(shape, np.float32)
    optimizer = Muon([weight], [{"params": [nn.Parameter(torch.zeros(1))]}], settings)
    for _ in range(3):
        gradient = rng.standard_normal(shape, np.float32)
        before, expected_before = weight.detach().clone(), expected
        weight.grad = torch.from_numpy(gradient)
        optimizer.step()
        momentum = 0.95 * momentum + 0.05 * gradient
        update = orthogonalized(0.05 * gradient + 0.95 * momentum)
        expected = expected * (1 - 0.01 * 0.1) - 0.01 * 0.2 * np.sqrt(max(shape)) * update
        change, expected_change = (weight.detach() - before).numpy(), expected - expected_before
        error = np.linalg.norm(change - expected_change) / np.linalg.norm(expected_change)
        assert error < 0.03, "more than the rounding of bfloat16"


@pytest.mark.parametrize("shape", [(16, 16), (16, 64), (64, 16)])
def test_muon__in_bfloat16_takes_the_steps_of_torchs_own_bit_for_bit(shape):
    settings = AdamSettings(learning_rate=0.01, weight_decay=0.1)
    torch.manual_seed(0)
    ours = nn.Parameter(torch.randn(shape))
    theirs = nn.Parameter(ours.detach().clone())
    optimizers = (
        Muon([ours], [{"params": [nn.Parameter(torch.zeros(1))]}], settings, torch.bfloat16),
        torch.optim.Muon([theirs], lr=0.01, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"),
    )
    for _ in range(3):
        ours.grad = torch.randn(shape)
        theirs.grad = ours.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
    assert torch.equal(ours, theirs)


@pytest.mark.parametrize("shape", [(32, 32), (32, 128), (128, 32)])
def test_orthogonalize__brings_the_singular_values_to_between_07_and_12(shape):
    torch.manual_seed(0)
    u, _, v = torch.linalg.svd(torch.randn(shape), full_matrices=False)
    matrix = u @ torch.diag(torch.linspace(0.1, 1.0, 32)) @ v
    values = torch.linalg.svdvals(orthogonalize(matrix, torch.float32))
    assert values.min() > 0.65 and values.max() < 1.2


def test_orthogonalize__does_the_same_to_a_batch_of_matrices_as_to_each_alone():
    torch.manual_seed(0)
    for shape in ((3, 16, 16), (3, 16, 64), (3, 64, 16)):
        matrices = torch.randn(shape)
        each = torch.stack([orthogonalize(matrix, torch.float32) for matrix in matrices])
        torch.testing.assert_close(orthogonalize(matrices, torch.float32), each)


def test_muon__in_batches_of_one_shape_takes_the_steps_that_it_takes_one_by_one(monkeypatch):
    def after_steps() -> list[torch.Tensor]:
        torch.manual_seed(0)
        weights = [nn.Parameter(torch.randn(shape)) for shape in ((8, 8), (8, 32), (8, 8), (32, 8))]
        optimizer = Muon(weights, [{"params": [nn.Parameter(torch.zeros(1))]}], AdamSettings())
        for _ in range(3):
            for weight in weights:
                weight.grad = torch.randn(weight.shape)
            optimizer.step()
        return weights

    together = after_steps()
    monkeypatch.setattr("bert_paper.optimizer.SMALL", 0)
    torch.testing.assert_close(after_steps(), together, rtol=0, atol=0)


def test_batches_of_one_shape__leave_large_matrices_of_a_cpu_alone():
    shapes = (8, 8), (8, 32), (512, 512)
    small, other, large = (nn.Parameter(torch.zeros(shape)) for shape in shapes)
    batches = batches_of_one_shape([small, large, other, small, large])
    assert [list(map(id, batch)) for batch in batches] == [
        [id(small), id(small)], [id(large)], [id(other)], [id(large)],
    ]  # fmt: skip


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_muon__multiplies_in_the_precision_of_the_run(
    precision, corpus_file, small_settings, tmp_path, monkeypatch
):
    precisions = set()

    def noted(matrix, precision):
        precisions.add(precision)
        return orthogonalize(matrix, precision)

    monkeypatch.setattr("bert_paper.optimizer.orthogonalize", noted)
    pretrain(small_settings(corpus_file, tmp_path, steps=2, optimizer="muon", precision=precision))
    assert precisions == {torch.float32 if precision == "fp32" else torch.bfloat16}


def test_muon__updates_the_matrices_of_the_layers_and_adamw_all_other_parameters():
    model = BertForPreTraining(SMALL)
    names = {id(p): n for n, p in model.named_parameters()}
    matrices, decayed, spared = (
        {names[id(p)] for p in group["params"]}
        for group in make_optimizer(model, AdamSettings(), name="muon").param_groups
    )
    dense = ("attention.self.query", "attention.self.key", "attention.self.value",
             "attention.output.dense", "intermediate.dense", "output.dense")  # fmt: skip
    assert matrices == {f"bert.encoder.layer.0.{name}.weight" for name in dense}
    embeddings = {f"bert.embeddings.{kind}_embeddings.weight"
                  for kind in ("word", "position", "token_type")}  # fmt: skip
    heads = {"bert.pooler.dense", "cls.predictions.transform.dense", "cls.seq_relationship"}
    assert decayed == embeddings | {f"{name}.weight" for name in heads}
    assert all(name.endswith("bias") or "LayerNorm" in name for name in spared)
    assert len(matrices) + len(decayed) + len(spared) == len(names)


def test_muon__leaves_the_other_parameters_to_adamw_bit_for_bit():
    models = []
    for name in ("muon", "adamw"):
        torch.manual_seed(0)
        models.append(BertForPreTraining(SMALL))
        optimizer = make_optimizer(models[-1], AdamSettings(learning_rate=1e-2), name=name)
        for parameter in models[-1].parameters():
            parameter.grad = torch.randn_like(parameter)
        optimizer.step()
    for (name, ours), theirs in zip(
        models[0].named_parameters(), models[1].parameters(), strict=True
    ):
        is_matrix = ".layer." in name and ours.dim() == 2
        assert torch.equal(ours, theirs) != is_matrix, name


def test_muon__follows_the_rate_of_the_schedule_in_every_group():
    model = BertForPreTraining(SMALL)
    before = [p.detach().clone() for p in model.parameters()]
    optimizer = make_optimizer(model, AdamSettings(), name="muon")
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    for was, parameter in zip(before, model.parameters(), strict=True):
        assert torch.equal(was, parameter)


def test_muon__which_needs_whole_parameters_is_refused_with_fsdp():
    with pytest.raises(UserError, match=r"--optimizer muon .* choose --parallel ddp"):
        PretrainSettings(optimizer="muon", parallel="fsdp")


def test_clipping_to_0_leaves_every_gradient_as_it_is_and_tells_the_norm():
    parameter = torch.nn.Parameter(torch.zeros(2))
    parameter.grad = torch.tensor([300.0, 400.0])
    assert clip_gradients([parameter], 0.0) == 500.0
    assert parameter.grad.tolist() == [300.0, 400.0]


def test_no_command_loads_the_tensors_of_fsdp_unless_ranks_share_a_model():
    code = ("import sys, bert_paper.training, bert_finetuning.train; "
            "sys.exit('torch.distributed.tensor' in sys.modules)")  # fmt: skip
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
