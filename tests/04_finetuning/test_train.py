"""The fine-tuning loop: answers weigh alike however a batch is cut, and what is frozen stays."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from bert_corpus.wordpiece import bert_tokenizer
from bert_finetuning.checkpoint import InitialModel, ModelInit, init_from_scratch
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks.base import HeadConfig, Task, logits_of
from bert_finetuning.tasks.classification import Classification, TextExample
from bert_finetuning.tasks.multiple_choice import Choice, MultipleChoice
from bert_finetuning.tasks.question_answering import Question, QuestionAnswering, SpanLogits
from bert_finetuning.tasks.tagging import TaggedSentence, Tagging
from bert_finetuning.train import (
    Evaluator,
    SeedRun,
    TrainingData,
    depth,
    freeze,
    make_optimizer,
    set_rate,
    training_step,
)
from bert_run.config import BertConfig
from bert_run.device import to_device
from bert_run.errors import UserError
from bert_run.training_loop import StopRequest

WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "Ann", "saw", "it", "in", "Rome", "today"]
TOKENIZER = bert_tokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *map(str.lower, WORDS)])
CONFIG = BertConfig(
    vocab_size=30, hidden_size=16, num_hidden_layers=3, num_attention_heads=2,
    intermediate_size=24, max_position_embeddings=40, hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)  # fmt: skip
SETTINGS = FinetuneSettings(
    task="names", checkpoint="none", epochs=2, batch_size=6, learning_rate=1e-3, precision="fp32"
)


def sentences(count: int, *, seed: int = 0) -> list[list[str]]:
    """From 2 to 20 words each."""
    generator = np.random.default_rng(seed)
    return [list(generator.choice(WORDS, generator.integers(2, 21))) for _ in range(count)]


def tagged(count: int) -> list[TaggedSentence]:
    names = {"Ann": "B-PER", "Rome": "B-LOC"}
    return [
        TaggedSentence(tuple(map(str, words)), tuple(names.get(w, "O") for w in words))
        for words in sentences(count)
    ]


TEXTS = [
    TextExample(" ".join(words), label="yes" if "cat" in words else "no") for words in sentences(40)
]
QUESTIONS = [Question(str(n), "cat on", " ".join(words)) for n, words in enumerate(sentences(9))]
CHOICES = [Choice(" ".join(words[:2]), (" ".join(words), "the mat"), 0) for words in sentences(9)]
TAGS = Tagging(HeadConfig(("O", "B-PER", "B-LOC")), ("entity_f1",))
LABELS = Classification(HeadConfig(("no", "yes")), ("accuracy",))


def model_for(task: Task, *, seed: int = 0, **changes):
    config = CONFIG.with_changes(**changes)
    return init_from_scratch(config, TOKENIZER, task.model, head=task.head, seed=seed).model


def lesson(task: Task, examples: list, settings: FinetuneSettings = SETTINGS) -> TrainingData:
    features = task.encode(examples, TOKENIZER, max_length=40)
    return TrainingData(task, features, settings, seed=0, pad_id=0)


def gradients(micro_batch_size: int | None, rows: int = 7) -> dict[str, torch.Tensor]:
    """Of one batch of sentences with uneven numbers of words, unclipped."""
    settings = replace(SETTINGS, batch_size=rows, micro_batch_size=micro_batch_size)
    model = model_for(TAGS).double()
    learned = lesson(TAGS, tagged(rows), settings)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    training_step(
        model, optimizer, learned.micro_batches(0), precision=torch.float32, max_grad_norm=1e9
    )
    return {name: before[name] - p.detach() for name, p in model.named_parameters()}


@pytest.mark.parametrize("micro_batch_size", [1, 2, 5])
def test_every_word_weighs_the_same_however_a_batch_is_cut(micro_batch_size):
    whole, parts = gradients(None), gradients(micro_batch_size)
    for name, gradient in whole.items():
        assert (gradient - parts[name]).abs().max() < 1e-12, name
    assert max(gradient.abs().max() for gradient in whole.values()) > 1e-3


def test_the_gradient_of_a_step_is_that_of_the_mean_over_the_answers():
    model = model_for(TAGS).double()
    learned = lesson(TAGS, tagged(7), replace(SETTINGS, batch_size=7))
    (piece,) = learned.micro_batches(0)
    batch = to_device(piece.batch, torch.device("cpu"))
    model.loss(model(batch["input_ids"], batch["token_type_ids"], batch["attention_mask"]),
               batch).backward()  # fmt: skip
    for name, gradient in gradients(None).items():
        assert (gradient - dict(model.named_parameters())[name].grad).abs().max() < 1e-12, name


def test_gradients_are_clipped_together_not_each_alone():
    def step(max_grad_norm: float) -> dict[str, torch.Tensor]:
        model = model_for(TAGS).double()
        before = {name: p.detach().clone() for name, p in model.named_parameters()}
        training_step(
            model, torch.optim.SGD(model.parameters(), lr=1.0),
            lesson(TAGS, tagged(6)).micro_batches(0), precision=torch.float32,
            max_grad_norm=max_grad_norm,
        )  # fmt: skip
        return {name: before[name] - p.detach() for name, p in model.named_parameters()}

    free, clipped = step(1e9), step(0.01)
    norm = math.sqrt(sum(float(g.square().sum()) for g in free.values()))
    for name, gradient in free.items():
        assert torch.allclose(clipped[name], gradient * 0.01 / (norm + 1e-6), atol=1e-12), name


class Unmeasured(SeedRun):
    """A run in memory, without dev; it keeps the rates that the optimizer had."""

    def measure(self, step: int) -> str:
        return ""

    def record(self, entry: dict) -> None:
        super().record({**entry, "used": self.optimizer.param_groups[0]["lr"]})


def learn(task: Task, examples: list, model, settings: FinetuneSettings) -> list[dict]:
    start, data = InitialModel(model, TOKENIZER, ""), lesson(task, examples, settings)
    run = Unmeasured(start, data, Evaluator(task, [], [], 40))
    run.train(StopRequest())
    return run.records


def test_a_task_is_learned_by_heart():
    settings = replace(SETTINGS, epochs=20.0, learning_rate=5e-3)
    records = learn(LABELS, TEXTS, model_for(LABELS), settings)
    assert records[0]["train_loss"] > 0.4 and records[-1]["train_loss"] < 0.02


def test_the_rate_rises_in_a_line_and_falls_to_zero():
    settings = replace(SETTINGS, epochs=10.0, batch_size=4, warmup=0.2)  # 100 steps
    records = learn(LABELS, TEXTS, model_for(LABELS), settings)
    assert all(record["learning_rate"] == record["used"] for record in records)
    rates = {record["step"]: record["used"] for record in records}
    assert max(rates.values()) == rates[20] == 1e-3
    assert rates[10] == pytest.approx(5e-4) and rates[60] == pytest.approx(1e-3 * 41 / 80)
    assert rates[100] == pytest.approx(1e-3 / 80)


def test_an_infinite_loss_stops_the_run_with_one_line():
    model = model_for(LABELS)
    with torch.no_grad():
        model.classifier.weight.fill_(math.inf)
    with pytest.raises(UserError, match=r"the loss is nan at step 1.*lower --learning-rate"):
        learn(LABELS, TEXTS, model, SETTINGS)


# What learns.


FROZEN = {
    "nothing": (),
    "embeddings": ("bert.embeddings.",),
    "1": ("bert.embeddings.", "bert.encoder.layer.0."),
    "encoder": ("bert.embeddings.", "bert.encoder."),
}


@pytest.mark.parametrize("what", FROZEN)
def test_what_is_frozen_stays_to_the_bit_and_all_else_learns(what):
    model = model_for(LABELS)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    learn(LABELS, TEXTS, model, replace(SETTINGS, freeze=what))
    for name, parameter in model.named_parameters():
        if "key.bias" not in name:  # its gradient is zero: softmax does not see it
            same = torch.equal(parameter.detach(), before[name])
            assert same == name.startswith(FROZEN[what]), name


def test_more_frozen_layers_than_there_are_is_a_mistake():
    with pytest.raises(UserError, match="--freeze 4: the model has 3 layers"):
        freeze(model_for(LABELS), "4")


def test_each_layer_learns_at_a_share_of_the_rate_of_the_one_above():
    model = model_for(LABELS)
    optimizer = make_optimizer(model, replace(SETTINGS, layer_rate_decay=0.5))
    set_rate(optimizer, 8.0)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    rates = {names[id(p)]: group["lr"] for group in optimizer.param_groups for p in group["params"]}
    assert rates.keys() == dict(model.named_parameters()).keys()
    for prefix, rate in {
        "classifier.": 8, "bert.pooler.": 8, "bert.encoder.layer.2.": 4, "bert.encoder.layer.1.": 2,
        "bert.encoder.layer.0.": 1, "bert.embeddings.": 0.5,
    }.items():  # fmt: skip
        assert {r for name, r in rates.items() if name.startswith(prefix)} == {rate}
    assert depth("bert.encoder.layer.11.output.dense.bias", 12) == 1


@pytest.mark.parametrize("name", ["adamw", "bert-adam"])
def test_biases_and_layer_norms_do_not_decay(name):
    model = model_for(LABELS)
    optimizer = make_optimizer(model, replace(SETTINGS, optimizer=name, weight_decay=0.5))
    decayed = {id(p) for g in optimizer.param_groups if g["weight_decay"] for p in g["params"]}
    for path, parameter in model.named_parameters():
        assert (id(parameter) in decayed) == (path.endswith("weight") and "LayerNorm" not in path)


def test_without_the_correction_of_the_bias_the_twelfth_step_is_six_times_larger():
    """A constant gradient: Adam steps by the rate each time, the paper's by up to 6.57 of it."""
    sizes = {}
    for name in ("adamw", "bert-adam"):
        model = model_for(LABELS)
        settings = replace(SETTINGS, optimizer=name, weight_decay=0.0)
        optimizer = make_optimizer(model, settings)
        set_rate(optimizer, 1e-3)
        for _ in range(12):
            before = model.classifier.bias.detach().clone()
            for parameter in model.parameters():
                parameter.grad = torch.ones_like(parameter)
            optimizer.step()
        sizes[name] = float((before - model.classifier.bias.detach()).mean()) / 1e-3
    assert sizes["adamw"] == pytest.approx(1.0, abs=1e-3)
    assert sizes["bert-adam"] == pytest.approx(6.57, abs=0.01)


def test_dropout_is_that_of_the_settings_and_the_weights_stay():
    asked = {"hidden_dropout": 0.3, "attention_dropout": 0.2}
    model, changed = (
        ModelInit(replace(SETTINGS, **changes), LABELS, TEXTS).build(0).model
        for changes in ({}, asked)
    )
    assert changed.bert.embeddings.dropout.p == 0.3 and changed.dropout.p == 0.3
    assert changed.config.attention_probs_dropout_prob == 0.2
    for name, array in model.state_dict().items():
        assert torch.equal(array, changed.state_dict()[name])


# Answers.


@pytest.mark.parametrize(
    ("task", "examples"),
    [(LABELS, TEXTS), (TAGS, tagged(9)), (QuestionAnswering(), QUESTIONS),
     (MultipleChoice(HeadConfig(), ("accuracy",)), CHOICES)],
    ids=["labels", "tags", "spans", "choices"],
)  # fmt: skip
def test_logits_come_in_the_order_of_the_readings_and_without_padding(task, examples):
    model = model_for(task).eval()
    features = task.encode(examples, TOKENIZER, max_length=40)
    together = logits_of(model, task, features)
    assert len(together) == len(features)
    for reading, found in zip(features, together, strict=True):
        batch = to_device(task.collate([reading], pad_id=0), torch.device("cpu"))
        with torch.no_grad():
            alone = model(batch["input_ids"], batch["token_type_ids"], batch["attention_mask"])
        alone = torch.cat(alone) if isinstance(alone, SpanLogits) else alone[0]
        assert found.shape == tuple(alone.shape)
        assert np.abs(found - alone.numpy()).max() < 1e-5


def test_no_reading_has_no_logits():
    assert logits_of(model_for(LABELS), LABELS, []) == []
