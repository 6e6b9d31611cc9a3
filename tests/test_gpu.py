"""What must hold on a GPU as it does on the CPU. Without a GPU these tests are skipped.

python -m pytest tests/test_gpu.py
"""

from dataclasses import replace
from pathlib import Path

import bert_paper  # noqa: F401 - sets how torch treats the CPU, so it comes before torch

# isort: split
import numpy as np
import pytest
import torch
from torch import Tensor

from bert_finetuning.finetune import finetune
from bert_finetuning.settings import FinetuneSettings
from bert_lowlevel.masking import mask_tokens as mask_tokens_of_level_2
from bert_lowlevel.model import Bert, logits, pretraining_losses, to_tensors
from bert_numpy.model import Bert as NumpyBert
from bert_numpy.model import losses_and_gradients
from bert_paper.masking import MaskingVocabulary, mask_tokens
from bert_paper.model import BertForPreTraining, load_arrays
from bert_paper.optimizer import make_optimizer
from bert_paper.pretrain import pretrain
from bert_paper.training import training_step
from bert_run.config import PRESETS, AdamSettings, initial_weights
from bert_run.training_loop import read_metrics

DEVICE = "cuda"
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU here")

CONFIG = PRESETS["tiny"].with_changes(
    vocab_size=2_010, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
)
WEIGHTS = initial_weights(CONFIG, 0)
MASK_ID, ORDINARY = 3, torch.arange(10, 2_010)


def pairs(rows: int = 64, seq: int = 128) -> dict[str, Tensor]:
    """[CLS] A [SEP] B [SEP] and padding, on the CPU: 1 is [CLS], 2 [SEP], 0 [PAD]."""
    generator = np.random.default_rng(1)
    last = generator.integers(8, seq, rows)
    middle = generator.integers(2, last - 1)
    column, row = np.arange(seq), np.arange(rows)
    ids = generator.integers(10, 2_010, (rows, seq))
    ids[:, 0] = 1
    ids[row, middle] = ids[row, last] = 2
    attention = (column <= last[:, None]).astype(np.int64)
    arrays = {
        "input_ids": ids * attention,
        "token_type_ids": (column > middle[:, None]) * attention,
        "attention_mask": attention,
        "next_sentence_labels": generator.integers(0, 2, rows),
        "example_index": np.arange(1_000, 1_000 + rows),
    }
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def on(device: str, batch: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.to(device) for name, tensor in batch.items()}


def vocabulary(device: str) -> MaskingVocabulary:
    return MaskingVocabulary(MASK_ID, ORDINARY, torch.arange(2_010) % 4 == 3).to(device)


def masked(device: str, unit: str = "token") -> dict[str, Tensor]:
    return mask_tokens(on(device, pairs()), vocabulary(device), seed=0, unit=unit)


@pytest.fixture(scope="module")
def numpy_results():
    """Both losses of level 1, and all gradients."""
    batch = {name: tensor.numpy() for name, tensor in masked("cpu").items()}
    return losses_and_gradients(NumpyBert(CONFIG, WEIGHTS), batch)


def assert_alike(losses, gradients: dict[str, Tensor], expected) -> None:
    of_level_1, their_gradients = expected
    assert float(losses.mlm.detach()) == pytest.approx(of_level_1.mlm, rel=1e-5)
    assert float(losses.nsp.detach()) == pytest.approx(of_level_1.nsp, rel=1e-5)
    for name, theirs in their_gradients.of.items():
        error = np.linalg.norm(gradients[name].cpu().numpy() - theirs) / np.linalg.norm(theirs)
        assert error < 1e-3 or np.linalg.norm(theirs) < 1e-6, name


# --- The same numbers ---


@pytest.mark.parametrize("unit", ["token", "word"])
def test_masks_are_those_of_the_cpu_to_the_last_one(unit):
    here, there = masked("cpu", unit), masked(DEVICE, unit)
    assert all(torch.equal(here[name], there[name].cpu()) for name in here)


def test_masks_of_level_2_are_those_of_level_3():
    two = mask_tokens_of_level_2(
        on(DEVICE, pairs()), mask_id=MASK_ID, ordinary_ids=ORDINARY.to(DEVICE), seed=0
    )
    three = masked(DEVICE)
    assert all(torch.equal(two[name], three[name]) for name in three)


@pytest.mark.parametrize("attention", ["fused", "by-hand"])
def test_level_2_has_the_losses_and_gradients_of_level_1(attention, numpy_results):
    bert = Bert(CONFIG, to_tensors(WEIGHTS, DEVICE), attention=attention)
    batch = masked(DEVICE)
    losses = pretraining_losses(logits(bert, batch), batch)
    losses.total.backward()
    gradients = {name: weight.grad for name, weight in bert.weights.items()}
    assert_alike(losses, gradients, numpy_results)


@pytest.mark.parametrize("compiled", [False, True])
def test_level_3_has_the_losses_and_gradients_of_level_1(compiled, numpy_results):
    model = BertForPreTraining(CONFIG).to(DEVICE)
    load_arrays(model, WEIGHTS)
    loss = torch.compile(model.loss, dynamic=False) if compiled else model.loss
    losses = loss(masked(DEVICE))
    losses.total.backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    assert_alike(losses, gradients, numpy_results)


def test_muon_takes_the_steps_of_the_cpu():
    """As far as bfloat16 goes: on the GPU the matrices of a shape are orthogonalized together."""

    def moved(device: str) -> dict[str, Tensor]:
        model = BertForPreTraining(CONFIG).to(device)
        load_arrays(model, WEIGHTS)
        optimizer = make_optimizer(model, AdamSettings(learning_rate=1e-2), name="muon")
        generator = torch.Generator().manual_seed(0)
        before = {name: p.detach().clone() for name, p in model.named_parameters()}
        for _ in range(3):
            for parameter in model.parameters():
                parameter.grad = torch.randn(parameter.shape, generator=generator).to(device)
            optimizer.step()
        return {name: (p.detach() - before[name]).cpu() for name, p in model.named_parameters()}

    here, there = moved("cpu"), moved(DEVICE)
    for name in here:
        assert (here[name] - there[name]).norm() < 0.03 * here[name].norm(), name


# --- Nothing waits ---


@pytest.mark.parametrize("optimizer", ["bert-adam", "adamw", "muon"])
def test_a_step_of_level_3_reads_nothing_back(optimizer):
    model = BertForPreTraining(CONFIG).to(DEVICE)
    updates = make_optimizer(model, AdamSettings(), name=optimizer)
    batch, words = on(DEVICE, pairs()), vocabulary(DEVICE)

    def step() -> None:
        training_step(model, updates, mask_tokens(batch, words, seed=0), precision=torch.bfloat16,
                      max_grad_norm=1.0)  # fmt: skip

    step()  # the first one may load libraries
    torch.cuda.set_sync_debug_mode("error")
    try:
        step()
    finally:
        torch.cuda.set_sync_debug_mode("default")


# --- Commands ---


def test_bert_pretrain_goes_on_where_it_stopped(corpus_file, small_settings, tmp_path):
    changes = {"device": DEVICE, "precision": "bf16", "optimizer": "muon", "steps": 40,
               "save_every": 20, "eval_every": 20, "learning_rate": 4e-3}  # fmt: skip
    settings = small_settings(corpus_file, tmp_path / "run", **changes)
    pretrain(settings)
    last = settings.out / "checkpoints" / "step-00000040"
    whole = losses_of(settings.out)
    for path in last.iterdir():
        path.unlink()
    last.rmdir()
    pretrain(settings)
    assert losses_of(settings.out)[-1] == pytest.approx(whole[-1], rel=0.02)
    assert whole[-1] < whole[0]


def losses_of(run: Path) -> list[float]:
    return [each["heldout_mlm_loss"] for each in read_metrics(run / "metrics.jsonl")
            if "heldout_mlm_loss" in each]  # fmt: skip


def test_bert_finetune_learns_what_it_learns_on_the_cpu(tmp_path):
    settings = FinetuneSettings(task="names", checkpoint="none", few_shot=1_000, epochs=2.0,
                                learning_rate=2e-3, out=tmp_path / "cpu", device="cpu")  # fmt: skip
    here = finetune(settings).scores[0]
    there = finetune(replace(settings, device=DEVICE, out=tmp_path / "gpu")).scores[0]
    assert there > 0.7 and abs(here - there) < 0.1
