"""The comparison board says the truth: exact where it is, and the difference where there is one."""

import subprocess
import sys

import numpy as np
import pytest
import torch
import transformers

from bert_experiments.looking_inside import board
from bert_numpy import encoder
from bert_paper.model import BertForPreTraining, load_arrays
from bert_run.config import BertConfig, parameter_shapes
from bert_run.errors import UserError

CONFIG = BertConfig(vocab_size=61, hidden_size=12, num_hidden_layers=2, num_attention_heads=3,
                    intermediate_size=20, max_position_embeddings=16)  # fmt: skip


def differences(text: str) -> dict[str, float]:
    """The last column of every line of the board."""
    lines = [line.split() for line in text.splitlines() if line.startswith("  ")][1:]
    return {f"{i} {line[0]}": 0.0 if line[-1] == "exact" else float(line[-1])
            for i, line in enumerate(lines)}  # fmt: skip


def test_every_line_is_within_1e_10_of_transformers_in_float64():
    weights = board.random_weights(CONFIG)
    found = differences(board.comparison_board(weights, CONFIG, board.example_batch(CONFIG)))
    parameters = len(parameter_shapes(CONFIG))
    activations = 2 + 11 * 2 + 7  # embeddings; of each layer; pooler, heads
    assert len(found) == 1 + 2 * activations + parameters
    assert max(found.values()) < 1e-10


def test_float32_is_compared_in_float32():
    weights = {n: a.astype(np.float32) for n, a in board.random_weights(CONFIG).items()}
    text = board.comparison_board(weights, CONFIG, board.example_batch(CONFIG))
    assert "float32" in text.splitlines()[-1]
    assert 1e-9 < max(differences(text).values()) < 1e-5


def test_a_model_of_this_course_can_stand_beside_it():
    weights = board.random_weights(CONFIG)
    model = BertForPreTraining(CONFIG).double()
    load_arrays(model, weights)
    text = board.comparison_board(weights, CONFIG, board.example_batch(CONFIG), model)
    assert max(differences(text).values()) < 1e-10


def test_a_wrong_backward_shows_where_it_is_wrong_and_below(monkeypatch):
    """GELU's slope taken for one: the gradients above it stay right, those below it do not."""
    monkeypatch.setattr(encoder, "gelu_backward", lambda dout, cache: dout)
    weights = board.random_weights(CONFIG)
    text = board.comparison_board(weights, CONFIG, board.example_batch(CONFIG))
    section = text.split("Gradients of activations, downwards")[1].split("Gradients of par")[0]
    found = {name.split()[1]: value for name, value in
             differences("  head\n" + section).items()}  # fmt: skip
    assert found["cls.predictions.transform.LayerNorm"] < 1e-12
    assert found["cls.predictions.transform.dense"] > 1e-4
    assert found["bert.encoder.layer.1"] > 1e-4
    assert found["cls.predictions"] < 1e-12


def test_the_module_is_left_as_it_was():
    model = BertForPreTraining(CONFIG).double().train()
    weights = board.random_weights(CONFIG)
    load_arrays(model, weights)
    board.comparison_board(weights, CONFIG, board.example_batch(CONFIG), model)
    assert model.training
    assert not any(module._forward_hooks for module in model.modules())


def test_a_torch_model_of_another_kind_is_named():
    with pytest.raises(UserError, match=r"no part called bert\.embeddings\.LayerNorm"):
        list(board.compare({"bert.embeddings.LayerNorm": np.zeros(3)}, {}, {}))


def test_the_command_prints_the_board_also_of_a_checkpoint(tmp_path):
    def run(*arguments: object) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-m", "bert_experiments.looking_inside.board", *map(str, arguments)],
            capture_output=True, text=True, encoding="utf-8", timeout=100,
        )  # fmt: skip

    config = transformers.BertConfig(
        vocab_size=61, hidden_size=12, num_hidden_layers=1, num_attention_heads=3,
        intermediate_size=20, max_position_embeddings=16)  # fmt: skip
    torch.manual_seed(0)
    transformers.BertForPreTraining(config).save_pretrained(tmp_path / "both")
    done = run("--checkpoint", tmp_path / "both")
    assert done.returncode == 0 and "NumPy against torch in float64" in done.stdout
    transformers.BertModel(config).save_pretrained(tmp_path / "bare")
    done = run("--checkpoint", tmp_path / "bare")
    assert done.returncode == 2 and "needs both pretraining heads" in done.stderr
