"""LoRA written by hand, and the experiment on the options of training."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from bert_experiments.ablations.measure import kept_in_file
from bert_experiments.finetuning import lora, options
from bert_experiments.report.figures import kept_record, measured_once
from bert_finetuning.data.load import load_storyworld
from bert_finetuning.tasks.base import Features, HeadConfig, forward
from bert_finetuning.tasks.classification import BertForSequenceClassification
from bert_run.config import BertConfig
from bert_run.errors import UserError

CONFIG = BertConfig(
    vocab_size=50, hidden_size=16, num_hidden_layers=3, num_attention_heads=2,
    intermediate_size=32, max_position_embeddings=32,
    hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
)  # fmt: skip


@pytest.fixture
def model() -> BertForSequenceClassification:
    torch.manual_seed(0)
    return BertForSequenceClassification(CONFIG, HeadConfig(("no", "yes"))).double()


@pytest.fixture
def batch() -> dict[str, torch.Tensor]:
    torch.manual_seed(1)
    return {
        "input_ids": torch.randint(5, 50, (4, 10)),
        "token_type_ids": torch.zeros(4, 10, dtype=torch.int64),
        "attention_mask": torch.ones(4, 10, dtype=torch.int64),
        "labels": torch.tensor([0, 1, 1, 0]),
    }


def add_lora(model, rank=2):
    lora.add_lora(model, rank=rank, alpha=4.0)
    model.double()


def some_steps(model, batch) -> None:
    """So that B is no longer zero."""
    learning = [each for each in model.parameters() if each.requires_grad]
    adam = torch.optim.AdamW(learning, lr=0.05)
    for _ in range(5):
        model.loss(forward(model, batch), batch).backward()
        adam.step()
        adam.zero_grad()


def test_lora__is_the_plain_model_as_long_as_b_is_zero(model, batch):
    before = forward(model, batch)
    add_lora(model)
    torch.testing.assert_close(forward(model, batch), before, rtol=0, atol=0)


def test_lora__changes_its_own_matrices_and_the_head_alone(model, batch):
    add_lora(model)
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    some_steps(model, batch)
    changed = {name for name, value in model.named_parameters()
               if not torch.equal(value, before[name])}  # fmt: skip
    own = ("classifier", "bert.pooler")
    assert changed == {name for name in before if "lora_" in name or name.startswith(own)}


def test_lora__merged_into_the_weights_gives_the_same_outputs_and_the_plain_models_names(
    model, batch
):
    names = model.state_dict().keys()
    plain = forward(model, batch)
    add_lora(model)
    some_steps(model, batch)
    beside = forward(model, batch)
    assert (beside - plain).abs().max() > 1e-3  # it has learned something
    lora.merge_lora(model)
    torch.testing.assert_close(forward(model, batch), beside, rtol=0, atol=1e-12)
    assert model.state_dict().keys() == names


def test_lora__counts_the_parameters_that_learn(model):
    """Per layer two projections, each with A (2, 16) and B (16, 2); a pooler of 16 · 17 and a head
    of 2 · 17."""
    add_lora(model)
    assert lora.trainable(model) == 3 * 2 * (2 * 16 + 16 * 2) + 16 * 17 + 2 * 17


def test_lora__scales_by_alpha_over_rank():
    layer = lora.LoraLinear(torch.nn.Linear(3, 2), rank=4, alpha=8.0)
    torch.nn.init.ones_(layer.lora_b)
    x = torch.ones(1, 3)
    added = 8.0 / 4 * (layer.lora_b @ layer.lora_a @ x[0])
    torch.testing.assert_close(layer(x)[0], layer.frozen(x)[0] + added)


def test_measured_once__measures_again_only_when_something_else_is_asked(tmp_path):
    calls = []

    def measure():
        calls.append(1)
        return {"score": 0.5}

    path = tmp_path / "runs" / "one.json"
    for asked, times in ((["a", 1], 1), (["a", 1], 1), (["a", 2], 2)):
        assert measured_once(path, asked, measure) == {"score": 0.5}
        assert len(calls) == times


def test_lora__measures_again_when_the_examples_are_others_of_the_same_number(
    monkeypatch, tmp_path
):
    calls = []
    monkeypatch.setattr(lora, "fine_tuned", lambda *args, **options: calls.append(1) or {})
    data = load_storyworld("sentiment", train=20, heldout=20)
    changed = [replace(data.train[0], label="no label"), *data.train[1:]]
    variant = next(iter(lora.VARIANTS))
    for each, times in (
        (data, 1), (data, 1), (replace(data, train=changed), 2), (replace(data, dev=changed), 3)
    ):  # fmt: skip
        study = lora.Study(lora.LoraSettings(runs=tmp_path), each, "start", lora.tqdm(disable=True))
        study.run(variant, seed=0, epochs=1.0)
        assert len(calls) == times


@pytest.mark.parametrize("content", ["", '{"asked": 1, "figures": {"a', "[]", "\0"])
@pytest.mark.parametrize(
    "read",
    [kept_record, lambda path: measured_once(path, 1, dict), lambda path: kept_in_file(path, dict)],
    ids=["kept_record", "measured_once", "kept_in_file"],
)
def test_kept_figures__that_are_damaged_are_one_line_that_names_the_file(content, read, tmp_path):
    path = tmp_path / "one.json"
    path.write_text(content)
    with pytest.raises(UserError, match=r"one\.json is damaged .*delete it, and it is measured"):
        read(path)
    assert path.read_text() == content


def test_imbalanced__has_290_bad_reviews_and_10_good_ones_and_follows_from_the_seed():
    examples = load_storyworld("sentiment").train
    drawn = options.imbalanced(examples, seed=1)
    assert sum(each.label == "positive" for each in drawn) == 10 and len(drawn) == 300
    assert drawn == options.imbalanced(examples, seed=1) != options.imbalanced(examples, seed=2)


def test_rare_label_scores__are_those_of_the_rare_label():
    data = load_storyworld("sentiment", train=20, heldout=20)
    dev = [replace(each, label=label) for each, label in
           zip(data.dev, ["positive"] * 4 + ["negative"] * 16, strict=True)]  # fmt: skip
    data = replace(data, dev=dev)
    say = np.array([[0.0, 1.0]] * 3 + [[1.0, 0.0]] * 16 + [[0.0, 1.0]])  # 3 of 4 found, 1 wrong
    features = [Features(place, [1], [0], {}) for place in range(20)]
    predictions = data.task.predict(dev, features, list(say))
    scores = options.rare_label_scores(data.task, dev, predictions)
    assert scores == {"recall": 0.75, "precision": 0.75, "f1": 0.75, "accuracy": 0.9}


def test_rare_label_scores__are_zero_where_the_rare_label_is_never_predicted():
    data = load_storyworld("sentiment", train=20, heldout=20)
    features = [Features(place, [1], [0], {}) for place in range(20)]
    predictions = data.task.predict(data.dev, features, [np.array([1.0, 0.0])] * 20)
    scores = options.rare_label_scores(data.task, data.dev, predictions)
    assert (scores["recall"], scores["precision"], scores["f1"]) == (0.0, 0.0, 0.0)


# The pages, from made-up figures.


def test_options_page__has_a_line_for_every_figure():
    rare = {"recall": 0.0, "precision": 0.0, "f1": 0.0, "accuracy": 0.5}
    results = {options.EQUAL: [rare, rare], options.STOPPED: [{"steps": 40.0, "best": 0.9}]}
    page = options.page_of(options.OptionsSettings(), results)
    assert len(page.rows) == 1 + 4 + 2
    assert [options.STOPPED, "steps taken", "40"] in page.rows
    assert "# Class weights" in page.markdown("the command")


def test_lora_page__has_a_line_for_every_task_and_variant():
    settings = lora.LoraSettings()
    run = {"score": 0.5, "parameters": 1000.0, "steps": 48.0, "seconds": 2.0}
    results = {lora.key(task, variant, how): [run] * 3
               for task in settings.tasks for variant in lora.VARIANTS
               for how in (lora.EQUAL_STEPS, lora.EQUAL_SECONDS)}  # fmt: skip
    page = lora.page_of(settings, results)
    assert len(page.rows) == 1 + 2 * len(lora.VARIANTS)
    assert page.rows[1][2:] == ["1,000", "50.0% (50.0–50.0)", "2.0", "50.0% (50.0–50.0)", "48"]
    assert "LoRA" in page.markdown("the command")


def test_lora_study__searches_the_rate_on_other_texts_and_a_seed_of_its_own(tmp_path, monkeypatch):
    asked = []

    def made_up(variant, data, settings, *, seed, epochs):
        asked.append((variant.name, f"{variant.rate:g}", seed, epochs))
        frozen = variant.name != lora.FULL.name
        return {"rate": variant.rate, "parameters": 1.0, "steps": epochs, "score": 0.5,
                "seconds": 1.0 if frozen else 2.0, "dev score": variant.rate}  # fmt: skip

    (tmp_path / "sst2").mkdir()
    for split in ("train", "dev"):
        rows = [f"fine film {i}\t{i % 2}" for i in range(8)]
        (tmp_path / "sst2" / f"{split}.tsv").write_text("\n".join(["sentence\tlabel", *rows]))
    monkeypatch.setattr(lora, "fine_tuned", made_up)
    monkeypatch.setattr(lora, "fingerprint_of_start", lambda checkpoint: "a checkpoint")
    settings = lora.LoraSettings(data=tmp_path, tasks=("sst-2",), seeds=2, search=True, examples=4,
                                 runs=tmp_path / "runs")  # fmt: skip
    results = lora.measure(settings)
    full = [call[1:] for call in asked if call[0] == lora.FULL.name]
    assert full == [("0.0003", 2, 3.0), ("0.0009", 2, 3.0), ("0.003", 2, 3.0), ("0.009", 2, 3.0),
                    ("0.009", 0, 3.0), ("0.009", 1, 3.0)]  # fmt: skip
    alone = [call[2:] for call in asked if call[0] == "the head alone" and call[1] == "0.09"]
    assert alone == [(2, 3.0), (0, 3.0), (1, 3.0), (0, 6.0), (1, 6.0)]  # twice, in equal seconds
    assert "sst-2: all weights 0.009" in lora.page_of(settings, results).made
    before = len(asked)
    lora.measure(settings)
    assert len(asked) == before  # all are read


def test_lora_settings__name_the_tasks_that_there_are():
    with pytest.raises(UserError, match="--tasks names: choose of sst-2, pos"):
        lora.LoraSettings(data=Path("somewhere"), tasks=("names",))


@pytest.mark.parametrize("tasks", [(), ("sentiment", "sentiment")])
def test_lora_settings__want_at_least_one_task_and_each_once(tasks):
    with pytest.raises(UserError, match=r"--tasks .*: give one or more .*sentiment.*, each once"):
        lora.LoraSettings(tasks=tasks)
