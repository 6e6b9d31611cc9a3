"""Training: it learns, it counts masks rightly, and it resumes to the bit."""

import json
import math
import os
import random
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from rank_processes import RankProcesses, command_line
from safetensors.numpy import load_file

from bert_paper.masking import MaskingVocabulary, mask_tokens
from bert_paper.model import BertForPreTraining, load_arrays, pretraining_losses
from bert_paper.optimizer import AdamSettings, make_optimizer
from bert_paper.pretrain import PretrainSettings, pretrain
from bert_paper.training import forward, training_step
from bert_run.config import BertConfig, initial_weights
from bert_run.errors import Stopped, UserError
from bert_run.training_loop import read_metrics, split_batch

CONFIG = BertConfig(vocab_size=300, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                    intermediate_size=128, max_position_embeddings=32, hidden_dropout_prob=0.0,
                    attention_probs_dropout_prob=0.0)  # fmt: skip


def masked_batch(rows: int = 16, seq: int = 32, seed: int = 0) -> dict[str, torch.Tensor]:
    """Random pairs of uneven length, masked: rows have from 1 to 5 masks."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(10, CONFIG.vocab_size, (rows, seq), generator=generator)
    ends = torch.randint(6, seq, (rows, 1), generator=generator)
    column = torch.arange(seq)
    batch = {
        "input_ids": ids,
        "attention_mask": (column <= ends).long(),
        "token_type_ids": ((column > ends // 2) & (column <= ends)).long(),
        "next_sentence_labels": torch.randint(0, 2, (rows,), generator=generator),
        "example_index": torch.arange(rows),
    }
    return mask_tokens(batch, MaskingVocabulary(3, torch.arange(10, CONFIG.vocab_size)), seed=seed)


def fresh_model(dtype: torch.dtype = torch.float32) -> BertForPreTraining:
    model = BertForPreTraining(CONFIG)
    load_arrays(model, initial_weights(CONFIG, 0))
    return model.to(dtype)


def test_one_batch_is_learned_by_heart_to_a_loss_below_five_hundredths():
    model, batch = fresh_model(), masked_batch()
    optimizer = make_optimizer(model, AdamSettings(learning_rate=3e-3), name="bert-adam")
    for _ in range(60):
        losses = training_step(model, optimizer, batch, precision=torch.float32, max_grad_norm=1.0)
    mlm, nsp = losses.tolist()
    assert mlm < 0.05
    assert nsp < 0.05


def gradients(micro_batch_size: int) -> dict[str, torch.Tensor]:
    model, batch = fresh_model(torch.float64), masked_batch()
    batch["masked_lm_weights"] = batch["masked_lm_weights"].double()
    assert len(set(batch["masked_lm_weights"].sum(1).tolist())) > 3, "masks must be uneven"
    for part in split_batch(batch, micro_batch_size):
        losses = pretraining_losses(
            *forward(model, part), part,
            mask_count=batch["masked_lm_weights"].sum(), pair_count=len(batch["input_ids"]),
        )  # fmt: skip
        losses.total.backward()
    return {name: p.grad for name, p in model.named_parameters()}


@pytest.mark.parametrize("micro_batch_size", [8, 2, 5])
def test_accumulated_gradients_are_those_of_the_whole_batch_however_uneven_the_masks(
    micro_batch_size,
):
    whole, parts = gradients(16), gradients(micro_batch_size)
    for name, gradient in whole.items():
        assert (gradient - parts[name]).abs().max() < 1e-12, name


def test_a_step_in_micro_batches_ends_with_the_same_weights():
    results = []
    for size in (None, 4):
        model, batch = fresh_model(), masked_batch()
        optimizer = make_optimizer(model, AdamSettings(learning_rate=1e-3), name="bert-adam")
        losses = training_step(model, optimizer, batch, precision=torch.float32,
                               max_grad_norm=1.0, micro_batch_size=size)  # fmt: skip
        results.append((losses, model.bert.encoder.layer[0].output.dense.weight.detach()))
    (loss, weight), (loss_in_parts, weight_in_parts) = results
    assert torch.allclose(loss, loss_in_parts, atol=1e-6)
    assert torch.allclose(weight, weight_in_parts, atol=1e-6)


def test_the_masked_word_loss_is_divided_by_masks_and_not_by_slots():
    """Two slots used of four, each guessed with probability 1/8: the loss is ln 8."""
    batch = {
        "masked_lm_ids": torch.tensor([[1, 2, 0, 0]]),
        "masked_lm_weights": torch.tensor([[1.0, 1.0, 0.0, 0.0]]),
        "next_sentence_labels": torch.tensor([1]),
    }
    losses = pretraining_losses(torch.zeros(1, 4, 8), torch.zeros(1, 2), batch)
    assert losses.mlm.item() == pytest.approx(math.log(8))
    assert losses.nsp.item() == pytest.approx(math.log(2))


@pytest.mark.parametrize("label", [0, 1])
def test_both_next_sentence_classes_give_a_gradient(label):
    """A loss shared with the masked words and told to ignore 0 would leave one without."""
    logits = torch.zeros(1, 2, requires_grad=True)
    batch = {
        "masked_lm_ids": torch.tensor([[1]]),
        "masked_lm_weights": torch.tensor([[1.0]]),
        "next_sentence_labels": torch.tensor([label]),
    }
    pretraining_losses(torch.zeros(1, 1, 8), logits, batch).nsp.backward()
    assert logits.grad[0, label].item() == pytest.approx(-0.5)


def test_a_run_leaves_a_folder_with_metrics_a_curve_and_a_report(small_run):
    for name in ("config.json", "model.safetensors", "tokenizer.json", "vocab.txt", "run.json",
                 "metrics.jsonl", "curve.png", "data/report.json"):  # fmt: skip
        assert (small_run / name).stat().st_size > 0, name
    records = read_metrics(small_run / "metrics.jsonl")
    assert [r["step"] for r in records if "train_mlm_loss" in r] == list(range(1, 13))
    assert "heldout_mlm_loss" in records[-1]
    report = json.loads((small_run / "data" / "report.json").read_text())
    assert 0.45 < report["random_next_share"] < 0.65
    assert 0 <= report["padding_share"] < 1


def test_the_curve__is_titled_with_the_sizes_and_names_the_tasks(
    corpus_file, tmp_path, small_settings, monkeypatch
):
    drawn = []
    monkeypatch.setattr("bert_corpus.pretraining_run.draw_curve",
                        lambda *_, **named: drawn.append(named))  # fmt: skip
    pretrain(small_settings(corpus_file, tmp_path / "run", steps=2, sentence_task="sop"))
    config = BertConfig.load(tmp_path / "run")
    size = f"{config.num_hidden_layers} layers, {config.hidden_size} wide, on "
    assert drawn[0]["title"].startswith(size) and "tiny" not in drawn[0]["title"]
    assert drawn[0]["tasks"] == ["masked words", "sentence order"]


def test_training_starts_at_the_loss_of_guessing_and_lowers_it(
    corpus_file, tmp_path, small_settings
):
    settings = small_settings(corpus_file, tmp_path / "run", steps=60, learning_rate=5e-3,
                              warmup_steps=10)  # fmt: skip
    final = pretrain(settings).measurements()
    records = read_metrics(tmp_path / "run" / "metrics.jsonl")
    config = BertConfig.load(tmp_path / "run")
    first = records[0]["train_mlm_loss"] + records[0]["train_nsp_loss"]
    assert abs(first - math.log(config.vocab_size) - math.log(2)) < 0.3
    assert final["heldout_mlm_loss"] < records[0]["train_mlm_loss"] - 1


def weights_of(folder: Path) -> dict[str, np.ndarray]:
    return load_file(folder / "model.safetensors")


def test_the_same_command_twice_gives_the_same_bits(
    corpus_file, small_run, tmp_path, small_settings
):
    pretrain(small_settings(corpus_file, tmp_path / "again"))
    first, second = weights_of(small_run), weights_of(tmp_path / "again")
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_another_seed_gives_another_model(corpus_file, small_run, tmp_path, small_settings):
    pretrain(small_settings(corpus_file, tmp_path / "other", seed=1))
    name = "bert.pooler.dense.weight"
    assert not np.array_equal(weights_of(small_run)[name], weights_of(tmp_path / "other")[name])


def test_a_run_killed_at_any_moment_resumes_to_the_same_bits(corpus_file, tmp_path, small_settings):
    """Dropout on, a checkpoint every third step; killed with SIGKILL at random moments."""
    whole = small_settings(corpus_file, tmp_path / "whole", steps=60, save_every=3)
    pretrain(whole)
    killed = replace(whole, out=tmp_path / "killed")
    checkpoints, moments = killed.out / "checkpoints", random.Random(5)
    start = lambda: RankProcesses("bert_paper.pretrain", command_line(killed), 1, log)  # noqa: E731
    log = tmp_path / "killed.txt"
    for seen in (2, 4, 8):  # checkpoints; a kill may fall into the making of the next one
        process = start()
        while not newest_step(checkpoints) >= 3 * seen:
            assert process.poll() is None, process.communicate()
            time.sleep(0.001)
        time.sleep(moments.uniform(0, 0.03))
        process.kill()
        assert newest_step(checkpoints) < 60, "it was over before it was killed"
    output, _ = start().communicate()
    assert "going on from step" in output
    expected, got = weights_of(whole.out), weights_of(killed.out)
    assert all(np.array_equal(expected[name], got[name]) for name in expected)
    steps = [r["step"] for r in read_metrics(killed.out / "metrics.jsonl")
             if "train_mlm_loss" in r]  # fmt: skip
    assert steps == list(range(1, 61))


def test_the_curve__is_drawn_when_a_run_ends_or_stops_and_not_at_every_checkpoint(
    corpus_file, tmp_path, small_settings, monkeypatch
):
    drawn = []
    monkeypatch.setattr("bert_corpus.pretraining_run.draw_curve",
                        lambda records, path, **more: drawn.append(more["title"]))  # fmt: skip
    settings = small_settings(corpus_file, tmp_path / "run", steps=12, save_every=2)
    pretrain(settings)
    assert len(drawn) == 1 and "12 steps" in drawn[0]
    monkeypatch.setattr("bert_paper.training.training_step", stop_at_the_third())
    with pytest.raises(KeyboardInterrupt):
        pretrain(replace(settings, out=tmp_path / "stopped", save_every=1))
    assert len(drawn) == 2 and "2 steps" in drawn[1]


def stop_at_the_third():
    taken = iter(range(1, 4))

    def step(*arguments, **more):
        if next(taken) == 3:
            raise KeyboardInterrupt
        return training_step(*arguments, **more)

    return step


def newest_step(checkpoints: Path) -> int:
    return max((int(f.name.removeprefix("step-")) for f in checkpoints.glob("step-*")), default=0)


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_saves_the_run_and_it_goes_on_to_the_same_bits(
    corpus_file, small_run, tmp_path, small_settings, monkeypatch, number, code
):
    settings = small_settings(corpus_file, tmp_path / "run")
    done = 0

    def step(*arguments, **more):
        nonlocal done
        done += 1
        if done == 5:
            os.kill(os.getpid(), number)
        return training_step(*arguments, **more)

    with monkeypatch.context() as patch:
        patch.setattr("bert_paper.training.training_step", step)
        with pytest.raises(
            Stopped, match=r"run is saved at step 5 of 12; the same command"
        ) as told:
            pretrain(settings)
    assert done == 5 and 128 + told.value.number == code
    assert pretrain(settings).start == 5
    expected, got = weights_of(small_run), weights_of(settings.out)
    assert all(np.array_equal(expected[name], got[name]) for name in expected)


def test_a_damaged_checkpoint_is_named_and_the_one_before_it_is_used(
    corpus_file, small_run, tmp_path, capsys, small_settings
):
    settings = small_settings(corpus_file, tmp_path / "run", save_every=5)
    pretrain(settings)
    newest = sorted((settings.out / "checkpoints").glob("step-*"))[-1]
    content = bytearray((newest / "training_state.safetensors").read_bytes())
    content[-9] ^= 1
    (newest / "training_state.safetensors").write_bytes(content)
    capsys.readouterr()
    pretrain(settings)
    said = capsys.readouterr().err
    assert newest.name in said and "training_state.safetensors is not as it was written" in said
    assert "going on from step 10 of 12" in said
    expected, got = weights_of(small_run), weights_of(settings.out)
    assert all(np.array_equal(expected[name], got[name]) for name in expected)


def test_a_run_cannot_be_continued_with_other_settings(corpus_file, small_run, small_settings):
    with pytest.raises(UserError, match=r"holds a run with learning_rate None, now it is 0\.5"):
        pretrain(small_settings(corpus_file, small_run, learning_rate=0.5))


def test_short_examples_come_first_and_no_example_is_seen_twice(
    corpus_file, small_settings, tmp_path
):
    """The paper's two phases: 90% of the steps at the short length."""
    settings = small_settings(
        corpus_file, tmp_path, steps=20, short_seq_length=16, short_batch_size=9
    )
    short, long = settings.phases
    assert [(p.first_step, p.last_step) for p in (short, long)] == [(0, 18), (18, 20)]
    assert (short.seq_length, long.seq_length) == (16, settings.seq_length)
    begins = [short.first_example_of(s) for s in range(18)]
    begins += [long.first_example_of(s) for s in (18, 19)]
    assert begins == [9 * s for s in range(18)] + [9 * 18, 9 * 18 + settings.batch_size]


@pytest.mark.parametrize("steps, short", [(1, 0), (3, 2), (4, 3), (20, 18)])
def test_a_trial_of_a_few_steps_has_a_long_one_too(steps, short):
    settings = PretrainSettings(steps=steps, short_seq_length=16)
    assert [(p.seq_length, p.last_step) for p in settings.phases] == (
        [(16, short)] * (short > 0) + [(settings.seq_length, steps)]
    )
    alone = PretrainSettings(steps=steps, short_seq_length=16, short_share=1.0)
    assert [(p.seq_length, p.last_step) for p in alone.phases] == [(16, steps)]


def test_two_phases_train_and_resume_to_the_same_bits(corpus_file, small_settings, tmp_path):
    fields = dict(steps=10, short_seq_length=16, short_share=0.5, save_every=4)
    whole = small_settings(corpus_file, tmp_path / "whole", **fields)
    pretrain(whole)
    cut = small_settings(corpus_file, tmp_path / "cut", **fields)
    pretrain(cut)
    shutil.rmtree(sorted((cut.out / "checkpoints").glob("step-*"))[-1])
    pretrain(cut)  # from step 8 on
    expected, got = weights_of(whole.out), weights_of(cut.out)
    assert all(np.array_equal(expected[name], got[name]) for name in expected)


def test_bf16_learns_too(corpus_file, tmp_path, small_settings):
    settings = small_settings(corpus_file, tmp_path / "run", steps=60, learning_rate=5e-3,
                              precision="bf16")  # fmt: skip
    final = pretrain(settings).measurements()
    first = read_metrics(tmp_path / "run" / "metrics.jsonl")[0]
    assert final["heldout_mlm_loss"] < first["train_mlm_loss"] - 1
