"""Options of training that practitioners know: class weights, patience, a metric, and stopping."""

import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from safetensors.numpy import load_file

from bert_corpus.wordpiece import bert_tokenizer, save_tokenizer
from bert_finetuning.checkpoint import load_finetuned
from bert_finetuning.data.load import configured, load_task, new_task
from bert_finetuning.finetune import finetune, learn
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks.base import ALONE, Features, HeadConfig, forward
from bert_finetuning.tasks.classification import BertForSequenceClassification, Classification
from bert_finetuning.tasks.multiple_choice import BertForMultipleChoice
from bert_finetuning.tasks.question_answering import QuestionAnswering
from bert_finetuning.tasks.tagging import BertForTokenClassification, Tagging
from bert_finetuning.train import SeedRun, checkpoint_layers, label_weights, training_step
from bert_paper.cpu_kernels import use_cpu_kernels
from bert_run.config import BertConfig, initial_weights
from bert_run.errors import Stopped, UserError
from bert_run.training_loop import read_metrics
from bert_run.weights import save_weights

WORDS = ["good", "bad", "soup", "the", "was", "very", "film", "song"]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
CONFIG = BertConfig(
    vocab_size=len(VOCABULARY), hidden_size=16, num_hidden_layers=3, num_attention_heads=2,
    intermediate_size=32, max_position_embeddings=32,
)  # fmt: skip


@pytest.fixture
def settings(tmp_path) -> FinetuneSettings:
    checkpoint = tmp_path / "checkpoint"
    checkpoint.mkdir()
    CONFIG.save(checkpoint)
    save_weights(initial_weights(CONFIG, seed=3), checkpoint / "model.safetensors")
    save_tokenizer(bert_tokenizer(VOCABULARY), checkpoint, model_max_length=32)
    generator = np.random.default_rng(0)
    for name, count in (("train.csv", 60), ("dev.csv", 30)):
        rows = ["text,label"]
        for _ in range(count):
            good = generator.random() < 0.7
            words = [*generator.choice(WORDS[2:], 5).tolist(), "good" if good else "bad"]
            rows.append(f"{' '.join(words)},{'praise' if good else 'blame'}")
        (tmp_path / name).write_text("\n".join(rows) + "\n")
    return FinetuneSettings(
        train=str(tmp_path / "train.csv"), dev=str(tmp_path / "dev.csv"),
        checkpoint=str(checkpoint), out=tmp_path / "out", epochs=4.0, batch_size=10,
        learning_rate=3e-3, device="cpu", precision="fp32",
    )  # fmt: skip


def measured(settings: FinetuneSettings) -> list[dict]:
    records = read_metrics(settings.out / "seed-0" / "metrics.jsonl")
    return [record for record in records if "dev_accuracy" in record]


def weights_of(folder: Path) -> dict:
    return load_file(folder / "model.safetensors")


def same(one: dict, other: dict) -> bool:
    return all(np.array_equal(one[name], other[name]) for name in one)


# Class weights.


def model_of(labels: tuple[str, ...], kind=BertForSequenceClassification):
    torch.manual_seed(0)
    return kind(CONFIG, HeadConfig(labels))


def features_of(*labels) -> list[Features]:
    return [Features(n, [2, 5, 3], [0, 0, 0], {"labels": label}) for n, label in enumerate(labels)]


def test_class_weights__balanced_give_each_label_the_same_share_of_the_loss():
    weights = label_weights(model_of(("a", "b", "c")), features_of(0, 0, 0, 0, 1, 1))
    assert weights[[0, 0, 0, 0, 1, 1]].mean() == pytest.approx(1)
    assert (weights[:2] * torch.tensor([4, 2])).tolist() == pytest.approx([3, 3])
    tags = features_of([-100, 0, 0, 1, -100], [-100, 0, -100])
    tagger = model_of(("O", "B-PER"), BertForTokenClassification)
    assert label_weights(tagger, tags).tolist() == pytest.approx([4 / 6, 2])


def test_class_weights__multiply_the_loss_of_each_example():
    model = model_of(("a", "b", "c"))
    logits, labels = torch.randn(8, 3), torch.tensor([0, 1, 2, 2, 2, 2, 0, 1])
    model.label_weights = torch.tensor([1.0, 0.5, 4.0])
    each = F.cross_entropy(logits, labels, reduction="none") * model.label_weights[labels]
    assert model.loss(logits, {"labels": labels}) == pytest.approx(each.mean().item())
    tagger = model_of(("a", "b", "c"), BertForTokenClassification)
    tagger.label_weights = model.label_weights
    padded = torch.cat([labels, torch.tensor([-100, -100])])[None]
    loss = tagger.loss(torch.cat([logits, torch.zeros(2, 3)])[None], {"labels": padded})
    assert loss == pytest.approx(each.mean().item())


def test_class_weights__decide_what_a_run_learns_and_are_not_saved(settings, monkeypatch):
    blame = lambda model, features: torch.tensor([1e5, 1.0])  # noqa: E731
    monkeypatch.setattr("bert_finetuning.train.label_weights", blame)
    finetune(replace(settings, class_weights="balanced", epochs=1.0))
    answers = [json.loads(line)["label"] for line in (settings.out / "predictions.jsonl").open()]
    assert set(answers) == {"blame"}
    assert load_finetuned(settings.out).model.label_weights is None


def test_class_weights__in_micro_batches_give_the_same_gradient(settings):
    settings = replace(settings, class_weights="balanced", hidden_dropout=0.0,
                       attention_dropout=0.0, classifier_dropout=0.0)  # fmt: skip
    data = load_task(settings)
    whole, parts = (learn(data, replace(settings, epochs=1 / 6, micro_batch_size=size)).records
                    for size in (None, 3))  # fmt: skip
    assert whole[0]["train_loss"] == pytest.approx(parts[0]["train_loss"], rel=1e-5)


@pytest.mark.parametrize(("changes", "told"), [
    ({"grid": True, "batch_size": 4}, "leave out --batch-size"),
    ({"grid": True, "epochs": 2.0}, "leave out --epochs"),
    ({"data": Path("glue")}, "--data glue is the folder of a --task"),
    ({"model": "base"}, "--model base is for --checkpoint none"),
])  # fmt: skip
def test_an_option_that_would_not_count_is_refused(settings, changes, told):
    plain = replace(settings, epochs=FinetuneSettings.epochs, batch_size=32, learning_rate=None)
    with pytest.raises(UserError, match=told):
        replace(plain, **changes)


@pytest.mark.parametrize(("task_type", "changes", "told"), [
    (Classification, {"max_answer": 8}, "--max-answer is not for a task of texts"),
    (Classification, {"null": False}, "--null is not for a task of texts"),
    (Tagging, {"pooling": "mean"}, "--pooling is not for a task of tags"),
    (QuestionAnswering, {"classifier_dropout": 0.0}, "--classifier-dropout is not for a task of q"),
])  # fmt: skip
def test_an_option_of_another_task_is_refused(settings, task_type, changes, told):
    with pytest.raises(UserError, match=told):
        configured(new_task(task_type, ("a", "b")), replace(settings, **changes))


@pytest.mark.parametrize(
    "model", [model_of(("stars",)), BertForMultipleChoice(CONFIG, HeadConfig())]
)
def test_class_weights__are_refused_where_there_are_no_labels(model):
    with pytest.raises(UserError, match="--class-weights are for tasks with one label of several"):
        label_weights(model, [])


# The metric that decides, and patience.


def test_metric__chooses_the_best_step_and_is_kept_with_the_model(settings):
    settings = replace(settings, metric="matthews", eval_every=2)
    outcome = finetune(settings)
    scores = [record["dev_matthews"] for record in measured(settings)]
    assert outcome.metric == "matthews" and outcome.best.best["matthews"] == max(scores)
    steps = [record["step"] for record in measured(settings)]
    assert outcome.best.best["step"] == steps[scores.index(max(scores))]
    saved = json.loads((settings.out / "config.json").read_text())["bert_finetuning"]
    assert saved["metrics"] == ["matthews", "accuracy", "macro_f1"]


def test_the_best_model__is_that_of_the_highest_score_so_far_and_of_equals_the_first():
    run, kept = object.__new__(SeedRun), []
    told = iter([0.5, 0.9, 0.2, 0.6, 0.9, 0.95, 0.1])
    run.task = SimpleNamespace(score=lambda *_: {"f1": next(told)}, is_collapsed=lambda *_: False)
    run.evaluator = SimpleNamespace(examples=[], predict=lambda *_, **__: (run.task, []))
    run.folder = SimpleNamespace(save_best=lambda _: kept.append(step))
    run.data = SimpleNamespace(settings=FinetuneSettings(task="pairs", checkpoint="none"), steps=7)
    run.metric, run.records, run.log, run.ranks, run.best = "f1", [], None, ALONE, {}
    run.model, run.precision = torch.nn.Linear(2, 2), torch.float32
    for step in range(1, 8):
        run.measure(step)
    assert kept == [1, 2, 6]


def test_metric__that_the_task_has_not_is_told_with_those_it_has(settings):
    listed = r"--metric rmse: choose one of 'accuracy', 'macro_f1', 'matthews', 'f1'"
    with pytest.raises(UserError, match=listed):
        finetune(replace(settings, metric="rmse"))


def test_patience__stops_a_run_that_no_longer_improves(settings, capsys):
    settings = replace(settings, learning_rate=1e-9, eval_every=2, patience=3)
    outcome = finetune(settings)
    assert [record["step"] for record in measured(settings)] == [2, 4, 6, 8]
    assert (outcome.best.best["step"], outcome.best.last["step"]) == (2, 8)
    assert "stopped early: --patience 3 is used up" in capsys.readouterr().err
    again = finetune(settings)
    assert again.best == outcome.best


@pytest.mark.parametrize("scores, stalled", [
    ([], False), ([0.5], False), ([0.5, 0.5], False), ([0.5, 0.5, 0.4], True),
    ([0.5, 0.4, 0.6], False), ([0.5, 0.6, 0.6, 0.6], True), ([0.1, 0.2, 0.3, 0.4], False),
])  # fmt: skip
def test_patience__counts_measurements_since_the_best(scores, stalled):
    run = object.__new__(SeedRun)
    run.metric, run.records = "f1", [{"step": n, "dev_f1": s} for n, s in enumerate(scores)]
    settings = FinetuneSettings(task="pairs", checkpoint="none", patience=2)
    run.data = SimpleNamespace(settings=settings)
    assert run.is_stalled is stalled


# Gradient checkpointing.


def gradients_and_memory(*, checkpointing: bool) -> tuple[dict, int]:
    """With dropout, as in training; the memory is that of arrays kept for the backward pass."""
    model = model_of(("a", "b")).train()
    use_cpu_kernels(model)
    if checkpointing:
        checkpoint_layers(model)
    batch = {
        "input_ids": torch.arange(5, 13).repeat(6, 1), "labels": torch.arange(6) % 2,
        "token_type_ids": torch.zeros(6, 8, dtype=int),
        "attention_mask": (torch.arange(8) < torch.arange(3, 9)[:, None]).long(),
    }  # fmt: skip
    kept = 0

    def keep(tensor):
        nonlocal kept
        kept += tensor.numel() * tensor.element_size()
        return tensor

    torch.manual_seed(7)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = model.loss(forward(model, batch), batch)
    before = kept
    loss.backward()
    return {name: p.grad.clone() for name, p in model.named_parameters()}, before


def test_gradient_checkpointing__changes_no_gradient_and_keeps_less():
    plain, much = gradients_and_memory(checkpointing=False)
    again, little = gradients_and_memory(checkpointing=True)
    assert plain.keys() == again.keys()
    assert all(torch.equal(plain[name], again[name]) for name in plain)
    assert little < 0.5 * much


def test_gradient_checkpointing__leads_to_the_same_model_and_may_change_between_calls(settings):
    whole = replace(settings, out=settings.out.with_name("whole"))
    finetune(whole)
    outcome = finetune(replace(settings, gradient_checkpointing=True))
    assert same(weights_of(settings.out), weights_of(whole.out))
    assert finetune(settings).best == outcome.best


# Going on and stopping.


def test_more_epochs__are_another_run_which_may_start_from_the_finished_one(settings):
    finetune(settings)
    with pytest.raises(UserError, match="holds a run with epochs 4"):
        finetune(replace(settings, epochs=6.0))
    out = settings.out.with_name("more")
    outcome = finetune(replace(settings, epochs=6.0, checkpoint=str(settings.out), out=out))
    assert outcome.start.startswith("from out; ") and "new, to be learned" in outcome.start
    assert (out / "model.safetensors").is_file()


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal__saves_the_run_and_says_where_it_goes_on(settings, monkeypatch, number, code):
    torch.set_num_threads(1)
    whole = replace(settings, out=settings.out.with_name("whole"))
    finetune(whole)
    steps = 0

    def step(*arguments, **more):
        nonlocal steps
        steps += 1
        if steps == 5:
            os.kill(os.getpid(), number)
        return training_step(*arguments, **more)

    before = signal.getsignal(number)
    with monkeypatch.context() as patch:
        patch.setattr("bert_finetuning.train.training_step", step)
        with pytest.raises(
            Stopped, match="seed-0 is saved at step 5 of 24; the same command"
        ) as told:
            finetune(settings)
    assert 128 + told.value.number == code and signal.getsignal(number) is before
    assert steps == 5
    finetune(settings)
    assert same(weights_of(settings.out / "seed-0"), weights_of(whole.out / "seed-0"))
    for mine, theirs in zip(measured(settings), measured(whole), strict=True):
        assert mine == theirs
