"""Weights in and out of a folder: every form that BERT checkpoints have, and every damage."""

import os
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
import transformers
from safetensors.numpy import save_file

from bert_run.config import BertConfig, Weights, initial_weights, parameter_shapes
from bert_run.errors import UserError
from bert_run.weights import load_weights, missing_heads, read_safetensors, save_weights

CONFIG = BertConfig(
    vocab_size=97,
    hidden_size=16,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=24,
    max_position_embeddings=12,
)
FILE = "model.safetensors"


def random_weights(seed: int = 0) -> Weights:
    """No zeros and no ones: a parameter that got lost or exchanged would show."""
    generator = np.random.default_rng(seed)
    return {name: generator.standard_normal(shape, dtype=np.float32)
            for name, shape in parameter_shapes(CONFIG).items()}  # fmt: skip


def same(left: Weights, right: Weights) -> bool:
    return left.keys() == right.keys() and all(np.array_equal(left[n], right[n]) for n in left)


def encoder_of(weights: Weights) -> Weights:
    return {name: array for name, array in weights.items() if name.startswith("bert.")}


def transformers_config() -> transformers.BertConfig:
    return transformers.BertConfig(**vars(CONFIG))


def state_of(model: torch.nn.Module) -> Weights:
    return {name: p.detach().numpy() for name, p in model.named_parameters()}


def error_of(folder: Path) -> str:
    """The one line that loading ends with."""
    with pytest.raises(UserError) as caught:
        load_weights(folder, CONFIG)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_was_saved_is_loaded_bit_for_bit(tmp_path):
    weights = random_weights()
    save_weights(weights, tmp_path / FILE)
    assert same(load_weights(tmp_path, CONFIG), weights)


def test_arrays_that_are_views_are_saved_with_their_values(tmp_path):
    weights = {"a": np.arange(12.0).reshape(3, 4).T, "b": np.arange(10)[::-2]}
    save_weights(weights, tmp_path / FILE)
    assert same(read_safetensors(tmp_path / FILE), weights)


def test_a_folder_saved_by_transformers_opens(tmp_path):
    model = transformers.BertForPreTraining(transformers_config())
    model.save_pretrained(tmp_path)
    assert same(load_weights(tmp_path, CONFIG), state_of(model))
    assert missing_heads(load_weights(tmp_path, CONFIG), CONFIG) == []


def test_an_encoder_saved_alone_opens_and_its_missing_heads_are_named(tmp_path):
    model = transformers.BertModel(transformers_config())  # its names have no `bert.`
    model.save_pretrained(tmp_path)
    weights = load_weights(tmp_path, CONFIG)
    assert same(weights, {f"bert.{name}": array for name, array in state_of(model).items()})
    assert missing_heads(weights, CONFIG) == ["masked-language-model", "next-sentence"]


@pytest.mark.parametrize(
    ("kind", "missing"),
    [("BertForMaskedLM", ["pooler", "next-sentence"]),
     ("BertForNextSentencePrediction", ["masked-language-model"]),
     ("BertForSequenceClassification", ["masked-language-model", "next-sentence"])],
)  # fmt: skip
def test_any_kind_of_bert_opens_and_what_it_lacks_is_named(kind, missing, tmp_path):
    model = getattr(transformers, kind)(transformers_config())
    model.save_pretrained(tmp_path)
    weights = load_weights(tmp_path, CONFIG)
    state = state_of(model)
    assert all(np.array_equal(array, state[name]) for name, array in weights.items())
    assert missing_heads(weights, CONFIG) == missing


def test_the_old_gamma_and_beta_names_open(tmp_path):
    weights = random_weights()
    old = {name.replace("LayerNorm.weight", "LayerNorm.gamma")
           .replace("LayerNorm.bias", "LayerNorm.beta"): array
           for name, array in weights.items()}  # fmt: skip
    assert sum(name.endswith(".gamma") for name in old) == 6  # two a layer, embeddings, MLM head
    save_file(old, tmp_path / FILE)
    assert same(load_weights(tmp_path, CONFIG), weights)


def test_a_position_ids_buffer_and_a_decoder_of_its_own_are_passed_over(tmp_path):
    weights = random_weights()
    bias = weights["cls.predictions.bias"]
    extra = {
        "bert.embeddings.position_ids": np.arange(12)[None],
        "cls.predictions.decoder.weight": weights["bert.embeddings.word_embeddings.weight"],
        "cls.predictions.decoder.bias": bias,
    }
    save_file(weights | extra, tmp_path / FILE)
    assert same(load_weights(tmp_path, CONFIG), weights)
    # Newer files hold the output bias under the decoder's name alone.
    del weights["cls.predictions.bias"]
    save_file(weights | extra, tmp_path / FILE)
    assert np.array_equal(load_weights(tmp_path, CONFIG)["cls.predictions.bias"], bias)


def test_weights_in_several_files_open(tmp_path):
    model = transformers.BertForPreTraining(transformers_config())
    model.save_pretrained(tmp_path, max_shard_size="8KB")
    files = sorted(tmp_path.glob("model-*.safetensors"))
    assert len(files) > 1
    assert same(load_weights(tmp_path, CONFIG), state_of(model))
    files[1].unlink()
    assert "lacks parts of model.safetensors" in error_of(tmp_path)


def test_what_an_index_says_is_not_asked(tmp_path):
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    save_weights(random_weights(), tmp_path / "outside.safetensors")
    index = '{"weight_map": {"bert.pooler.dense.bias": "../outside.safetensors"}}'
    (folder / "model.safetensors.index.json").write_text(index)
    assert "holds no model.safetensors" in error_of(folder)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_any_floating_type_is_read_as_float32(dtype, tmp_path):
    weights = {name: torch.from_numpy(a).to(dtype) for name, a in random_weights().items()}
    safetensors.torch.save_file(weights, tmp_path / FILE)
    loaded = load_weights(tmp_path, CONFIG)
    assert {array.dtype for array in loaded.values()} == {np.dtype(np.float32)}
    assert same(loaded, {name: t.float().numpy() for name, t in weights.items()})


def test_a_file_of_bfloat16_and_other_types_keeps_each_value(tmp_path):
    special = torch.tensor([1.0, -0.0, -2.5, 1e-40, 3.0e38])
    mixed = {
        "low": special.bfloat16(),
        "scalar": torch.tensor(2.5).bfloat16(),
        "empty": torch.zeros(0, 3).bfloat16(),
        "full": torch.tensor([[0.1, 0.2]]),
        "whole": torch.arange(4),
        "flags": torch.tensor([True, False]),
    }
    safetensors.torch.save_file(mixed, tmp_path / FILE)
    loaded = read_safetensors(tmp_path / FILE)
    for name, tensor in mixed.items():
        expected = (tensor.float() if tensor.is_floating_point() else tensor).numpy()
        assert np.array_equal(loaded[name], expected), name
        assert loaded[name].shape == expected.shape
        assert loaded[name].dtype == expected.dtype


def test_a_type_that_cannot_be_read_is_named(tmp_path):
    tensors = {"tiny_floats": torch.ones(2).to(torch.float8_e4m3fn)}
    safetensors.torch.save_file(tensors, tmp_path / FILE)
    with pytest.raises(UserError, match=r"tiny_floats has type F8_E4M3: save it as float32"):
        read_safetensors(tmp_path / FILE)


def test_a_pickle_is_refused_with_the_reason_and_the_way_out(tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(b"never read")
    message = error_of(tmp_path)
    assert "can run code" in message
    assert "save_pretrained" in message


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kept", [0.0, 0.001, 0.3, 0.999])
def test_a_file_cut_short_is_named_damaged(kept, dtype, tmp_path):
    weights = {name: torch.from_numpy(a).to(dtype) for name, a in random_weights().items()}
    safetensors.torch.save_file(weights, tmp_path / FILE)
    path = tmp_path / FILE
    os.truncate(path, int(path.stat().st_size * kept))
    assert f"{path} is damaged" in error_of(tmp_path)


def test_a_file_that_is_something_else_is_named_damaged(tmp_path):
    (tmp_path / FILE).write_text("version https://git-lfs.github.com/spec/v1\n" * 9)
    assert "is damaged" in error_of(tmp_path)


def test_a_shape_that_the_config_does_not_ask_for_is_refused(tmp_path):
    weights = random_weights()
    weights["bert.embeddings.word_embeddings.weight"] = np.zeros((98, 16), np.float32)
    save_weights(weights, tmp_path / FILE)
    message = error_of(tmp_path)
    assert "word_embeddings.weight has shape (98, 16), config.json asks for (97, 16)" in message


def test_missing_layers_are_counted_and_the_first_is_named(tmp_path):
    one_layer = initial_weights(CONFIG.with_changes(num_hidden_layers=1), seed=0)
    save_weights(one_layer, tmp_path / FILE)
    # A layer has 16 arrays: six linear maps and two norms, each a weight and a bias.
    assert "lacks 16 encoder parameters" in error_of(tmp_path)
    assert "bert.encoder.layer.1." in error_of(tmp_path)


def test_more_layers_than_the_config_says_are_refused(tmp_path):
    save_weights(initial_weights(CONFIG.with_changes(num_hidden_layers=3), seed=0), tmp_path / FILE)
    assert "more layers than the 2 of its config.json" in error_of(tmp_path)


def test_a_file_of_another_model_is_refused(tmp_path):
    save_weights({"transformer.wte.weight": np.zeros((5, 4), np.float32)}, tmp_path / FILE)
    assert "not a BERT checkpoint" in error_of(tmp_path)


def test_a_missing_folder_and_an_empty_one_are_told_apart(tmp_path):
    assert "there is no checkpoint folder" in error_of(tmp_path / "nowhere")
    assert "holds no model.safetensors" in error_of(tmp_path)


def test_heads_are_named_when_any_of_their_parameters_is_missing():
    weights = random_weights()
    assert missing_heads(weights, CONFIG) == []
    assert missing_heads(encoder_of(weights), CONFIG) == ["masked-language-model", "next-sentence"]
    del weights["cls.predictions.transform.LayerNorm.bias"]
    assert missing_heads(weights, CONFIG) == ["masked-language-model"]


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_number_that_is_not_finite_is_refused_with_the_name_of_its_parameter(
    number, dtype, tmp_path
):
    """One is enough, in the weights as in an optimizer's state."""
    CONFIG.save(tmp_path)
    broken, name = random_weights(), "bert.encoder.layer.1.output.dense.weight"
    broken[name][3, 4] = number
    tensors = {n: torch.from_numpy(array).to(dtype) for n, array in broken.items()}
    safetensors.torch.save_file(tensors, tmp_path / FILE)
    for read in (lambda: load_weights(tmp_path, CONFIG), lambda: read_safetensors(tmp_path / FILE)):
        with pytest.raises(UserError) as caught:
            read()
        line = str(caught.value)
        assert f"{name} holds numbers that are not finite" in line and "\n" not in line


@pytest.mark.parametrize("kind", [np.int32, np.uint8, np.bool_])
def test_whole_numbers_as_quantized_models_have_them_are_refused(tmp_path, kind):
    weights = random_weights()
    name = "bert.encoder.layer.0.output.dense.weight"
    save_file(weights | {name: weights[name].astype(kind)}, tmp_path / FILE)
    with pytest.raises(UserError, match=f"{name} holds whole numbers"):
        load_weights(tmp_path, CONFIG)


@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077])
def test_who_may_read_the_other_files_of_a_folder_may_read_the_weights(tmp_path, mask):
    before = os.umask(mask)
    try:
        save_weights(random_weights(), tmp_path / FILE)
        CONFIG.save(tmp_path)
    finally:
        os.umask(before)
    modes = {path.stat().st_mode for path in tmp_path.iterdir()}
    assert modes == {0o100666 & ~mask}


def test_weights_that_may_not_be_read_are_not_called_damaged(tmp_path, monkeypatch):
    save_weights(random_weights(), tmp_path / FILE)

    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may read everything
    with pytest.raises(UserError, match="cannot be read: check its permissions"):
        load_weights(tmp_path, CONFIG)
