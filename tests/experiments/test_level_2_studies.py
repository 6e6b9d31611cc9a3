"""What level 2 shows: attention as pictures, BERT and GPT, pooling, where the time goes."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from bert_corpus.storyworld import sentiment, stories
from bert_corpus.wordpiece import save_tokenizer, train_wordpiece
from bert_experiments import bert_or_gpt, profile_step
from bert_experiments.finetuning import pooling
from bert_experiments.looking_inside.attention_maps import (
    attention_of,
    draw_all_heads,
    draw_head,
    draw_masks,
)
from bert_lowlevel.model import Bert, to_tensors
from bert_run.config import BertConfig, initial_weights, parameter_shapes
from bert_run.errors import UserError
from bert_run.weights import save_weights

PNG = b"\x89PNG"


def random_bert(**changes) -> Bert:
    config = BertConfig(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
                        intermediate_size=40, max_position_embeddings=16)  # fmt: skip
    generator = np.random.default_rng(0)
    weights = {n: generator.normal(0, 0.3, s) for n, s in parameter_shapes(config).items()}
    return Bert(config, to_tensors(weights, dtype=torch.float64), **changes)


def padded_batch() -> dict[str, torch.Tensor]:
    attention_mask = torch.ones(2, 9, dtype=torch.int64)
    attention_mask[1, 6:] = 0
    return {
        "input_ids": torch.arange(18).reshape(2, 9) + 5,
        "token_type_ids": torch.zeros(2, 9, dtype=torch.int64),
        "attention_mask": attention_mask,
    }


def test_the_attention_that_is_shown_is_that_of_transformers():
    bert, batch = random_bert(), padded_batch()
    fields = {name: getattr(bert.config, name) for name in bert.config.__dataclass_fields__}
    theirs = transformers.BertForPreTraining(
        transformers.BertConfig(**fields, attn_implementation="eager")
    )
    theirs.double().eval()
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            parameter.copy_(bert.weights[name])
        expected = theirs.bert(**batch, output_attentions=True).attentions
    shares = attention_of(bert, batch)
    assert len(shares) == len(expected) == 2
    for ours, other in zip(shares, expected, strict=True):
        assert np.abs(ours - other.numpy()).max() < 1e-6  # float32 is kept for pictures


@pytest.mark.parametrize("causal", [False, True])
def test_shares_add_up_to_one_and_none_goes_to_what_is_hidden(causal):
    for layer in attention_of(random_bert(causal=causal), padded_batch()):
        assert np.abs(layer.sum(-1) - 1).max() < 1e-5
        assert (layer[1, :, :, 6:] == 0).all()
        assert (np.triu(layer, 1) == 0).all() == causal


def test_pictures_show_in_a_notebook_and_save_as_files(tmp_path, pictures):
    shares = attention_of(random_bert(), padded_batch())
    tokens = [f"w{i}" for i in range(9)]
    drawn = [draw_head(shares[0][0, 1], tokens, title="a head"), draw_all_heads(shares, 9),
             draw_masks(["the", "cat", "sat"])]  # fmt: skip
    for number, picture in enumerate(drawn):
        assert picture._repr_png_().startswith(PNG)
        path = tmp_path / f"{number}.png"
        picture.save(path)
        assert path.read_bytes().startswith(PNG)


def test_a_head_has_tokens_on_both_sides_and_all_heads_a_panel_each():
    shares = attention_of(random_bert(), padded_batch())
    tokens = [f"w{i}" for i in range(6)]
    axes = draw_head(shares[0][1, 0], tokens).axes[0]
    for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
        assert [label.get_text() for label in labels] == tokens
    assert axes.images[0].get_array().shape == (6, 6)
    assert len(draw_all_heads(shares, 9).axes) == 2 * 3


def test_the_masks_are_drawn_with_x_where_a_token_may_look():
    both, left = draw_masks(["a", "b", "c"]).axes
    marks = lambda axes: "".join(text.get_text() for text in axes.texts)  # noqa: E731
    assert marks(both) == "XXXXXXXXX"
    assert marks(left) == "XOOXXOXXX"


def test_bert_and_gpt_are_asked_for_the_same_words_and_differ_in_one_setting(tmp_path):
    """The table of a short run: every kind is asked for, both runs are as they were ordered."""
    comparison = bert_or_gpt.Comparison(out=tmp_path / "both", steps=12, stories=30)
    small = dict(documents=300, vocab_size=700, hidden_size=32, num_attention_heads=2,
                 intermediate_size=48, batch_size=4, short_batch_size=4)  # fmt: skip
    original = bert_or_gpt.Comparison.settings
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            bert_or_gpt.Comparison,
            "settings",
            lambda self, *, causal: bert_or_gpt.LowLevelSettings(
                **{**vars(original(self, causal=causal)), **small}
            ),
        )
        found = bert_or_gpt.compare(comparison)
    assert json.loads((comparison.out / "summary.json").read_text("utf-8")) == found
    bert_or_gpt.Comparison(out=comparison.out)  # its own figures may be written again
    for name, causal in (("both_sides", False), ("causal", True)):
        settings = json.loads((comparison.out / name / "run.json").read_text("utf-8"))
        assert settings["causal"] is causal
    counts = [{k: v["of"] for k, v in found[name].items()} for name in found]
    assert counts[0] == counts[1] and set(counts[0]) == {"left", "right", "both", "other"}
    text = bert_or_gpt.table(found["both_sides"], found["causal"])
    assert text.count("\n") == 5 and f"{counts[0]['right']:,} |" in text


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> Path:
    """A small BERT that has learned nothing, and a vocabulary for reviews."""
    folder = tmp_path_factory.mktemp("checkpoint")
    lines = [s.text for d in stories(200) for s in d.sentences]
    lines += [sentiment(index).text for index in range(300)]
    tokenizer = train_wordpiece(lines, 1500, True)
    save_tokenizer(tokenizer, folder)
    config = BertConfig(vocab_size=tokenizer.get_vocab_size(), hidden_size=48, num_hidden_layers=1,
                        num_attention_heads=4, intermediate_size=64,
                        max_position_embeddings=64)  # fmt: skip
    config.save(folder)
    save_weights(initial_weights(config, 0), folder / "model.safetensors")
    return folder


def test_the_mean_leaves_padding_out_and_cls_is_the_first_token():
    states = torch.tensor([[[1.0], [3.0], [100.0]], [[2.0], [4.0], [6.0]]])
    mask = torch.tensor([[1, 1, 0], [1, 1, 1]])
    assert pooling.text_vector(states, mask, "mean").tolist() == [[2.0], [4.0]]
    assert pooling.text_vector(states, mask, "cls").tolist() == [[1.0], [2.0]]


def test_both_poolings_are_fine_tuned_and_measured(checkpoint, tmp_path):
    settings = pooling.PoolingSettings(checkpoint, tmp_path / "out", examples=640, epochs=3,
                                       learning_rate=2e-3, seeds=1)  # fmt: skip
    found = pooling.compare(settings)
    assert set(found) == {"cls", "mean"}
    assert max(found["mean"] + found["cls"]) > 0.58, "better than a coin on 1,000 reviews"
    assert (settings.out / "cls.png").read_bytes().startswith(PNG)
    assert json.loads((settings.out / "summary.json").read_text("utf-8")) == found
    pooling.PoolingSettings(out=settings.out)  # its own figures may be written again


def test_pooling__fewer_examples_than_a_batch_are_refused_for_nothing_would_be_learned():
    with pytest.raises(UserError, match="--examples 31 fill no batch of 32: give more, or a small"):
        pooling.PoolingSettings(examples=31)
    pooling.PoolingSettings(examples=32)
    pooling.PoolingSettings(examples=31, batch_size=31)


def test_pooling__a_picture_that_it_has_not_drawn_is_not_written_over(tmp_path):
    (tmp_path / "cls.png").write_bytes(b"a photograph")
    with pytest.raises(UserError, match=r"holds another program's cls\.png: choose another folder"):
        pooling.PoolingSettings(out=tmp_path)


def test_bert_or_gpt__a_kind_of_which_no_word_was_asked_for_has_no_row():
    figures = {"right": 1, "of": 2, "accuracy": 0.5}
    text = bert_or_gpt.table(*[{"left": figures, "other": figures}] * 2)
    assert [line.split(" | ")[0] for line in text.splitlines()[2:]] == [
        "| words on its left", "| another sentence",
    ]  # fmt: skip


@pytest.mark.parametrize("study", [bert_or_gpt.Comparison, pooling.PoolingSettings])
def test_a_study_is_not_written_over_a_run_or_the_figures_of_another(study, tmp_path):
    (tmp_path / "summary.json").write_text('{"heldout": {}}')
    with pytest.raises(UserError, match=r"holds another program's summary\.json: choose another"):
        study(out=tmp_path)
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(UserError, match="is the folder of a training run: choose another one"):
        study(out=tmp_path)
    with pytest.raises(UserError, match="is a file: give a folder"):
        study(out=tmp_path / "run.json")


def test_a_checkpoint_that_is_too_short_is_named(checkpoint, tmp_path):
    config = BertConfig.load(checkpoint).with_changes(max_position_embeddings=32)
    config.save(tmp_path)
    with pytest.raises(UserError, match="has 32 positions: the reviews need 64"):
        pooling.compare(pooling.PoolingSettings(tmp_path, tmp_path / "out"))


def test_all_ways_to_compute_a_step_give_the_same_loss():
    """So that what is timed is the same work."""
    settings = profile_step.ProfileSettings(vocab_size=200, batch_size=3, seq_length=24)
    config = settings.config().with_changes(hidden_dropout_prob=0.0,
                                            attention_probs_dropout_prob=0.0)  # fmt: skip
    batch = profile_step.make_batch(settings)
    weights = to_tensors(initial_weights(config, 0))
    losses = [
        profile_step.pretraining_losses(forward(Bert(config, weights, attention=way), batch), batch)
        for way in ("by-hand", "fused")
        for forward in (profile_step.logits_of_all, profile_step.logits)
    ]
    assert all(abs(loss.total - losses[0].total) < 1e-5 for loss in losses)


@pytest.mark.parametrize("device", ["nonsense", "meta", "cpu:9", "cuda:-1", ""])
def test_a_device_that_is_none_is_refused(device):
    with pytest.raises(UserError, match="choose auto, cpu, cuda or cuda:N"):
        profile_step.ProfileSettings(device=device)


def test_the_device_auto_is_one_that_is_here():
    expected = "cuda" if torch.cuda.is_available() else "cpu"
    assert profile_step.ProfileSettings(device="auto").device == expected


def test_the_operations_of_base_at_length_128_are_546_million_a_token():
    """The count of the facts that every implementation of BERT-base is measured by."""
    settings = profile_step.ProfileSettings(model="base", seq_length=128)
    needed = profile_step.floating_point_operations(
        settings.config(), seq_length=128, asked=19 / 128
    )
    assert sum(needed.values()) / 1e6 == pytest.approx(546, abs=1)


def test_the_profile_names_kinds_of_work_and_adds_up(shapes_unchecked):
    settings = profile_step.ProfileSettings(vocab_size=500, batch_size=4, seq_length=32, steps=1,
                                            compile=False)  # fmt: skip
    text = profile_step.report(settings)
    assert "| + only masked positions |" in text and "torch.compile" not in text
    shares = [int(line.split("|")[2].strip().rstrip("%")) for line in text.splitlines()
              if line.endswith(" ms |") and "%" in line]  # fmt: skip
    assert 96 <= sum(shares) <= 104 and len(shares) >= 5
    assert "matrix products" in text and "GFLOP/s" in text


@pytest.mark.parametrize(
    "arguments, word",
    [
        (["profile_step", "--device", "cuda"], "sees no GPU"),
        (["profile_step", "--batch-size", "0"], "--batch-size is 0"),
        (["finetuning.pooling", "--checkpoint", "nowhere"], "nowhere"),
    ],
)
def test_a_users_mistake_is_one_line(arguments, word):
    if "cuda" in arguments and torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    done = subprocess.run(
        [sys.executable, "-m", f"bert_experiments.{arguments[0]}", *arguments[1:]],
        capture_output=True, text=True, encoding="utf-8", timeout=100,
    )  # fmt: skip
    assert done.returncode == 2 and word in done.stderr
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
