"""What erasing a head or a word does, and that the gradient of each token is its own."""

import numpy as np
import pytest
import torch

from bert_experiments.looking_inside.importance import (
    WORDS,
    effect_of_hiding,
    gradient_times_input,
    log_chance,
    share_right,
    without_head,
)
from bert_lowlevel.attention import merge_heads, split_heads
from bert_lowlevel.model import Bert, dense, logits, to_tensors
from bert_run.config import BertConfig, parameter_shapes

CONFIG = BertConfig(vocab_size=31, hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
                    intermediate_size=40, max_position_embeddings=9)  # fmt: skip
MASK = 4


@pytest.fixture(scope="module")
def bert() -> Bert:
    generator = np.random.default_rng(0)
    weights = {n: generator.normal(0, 0.3, s) for n, s in parameter_shapes(CONFIG).items()}
    return Bert(CONFIG, to_tensors(weights, dtype=torch.float64))


@pytest.fixture
def batch() -> dict[str, torch.Tensor]:
    ids = torch.tensor([[5, 6, MASK, 8, 6], [9, MASK, 7, 0, 0]])
    return {
        "input_ids": ids,
        "token_type_ids": torch.zeros_like(ids),
        "attention_mask": (ids != 0).long(),
        "masked_lm_positions": torch.tensor([[2], [1]]),
        "masked_lm_ids": torch.tensor([[12], [13]]),
    }


def test_without_a_head_the_others_are_as_they_were(bert):
    name = "bert.encoder.layer.1.attention.output"
    context = torch.randn(2, 5, 24, dtype=torch.float64)
    parts = split_heads(context, 3).clone()
    parts[:, 1] = 0
    expected = dense(bert, f"{name}.dense", merge_heads(parts))
    found = dense(without_head(bert, 1, 1), f"{name}.dense", context)
    assert torch.allclose(found, expected, atol=1e-12)
    assert bert.weights[f"{name}.dense.weight"].ne(0).all(), "the whole model must stay whole"


def test_heads_are_erased_one_after_another(bert):
    name = "bert.encoder.layer.0.attention.output.dense.weight"
    two = without_head(without_head(bert, 0, 0), 0, 2).weights[name]
    assert torch.equal(two.ne(0).all(0), torch.arange(24) // 8 == 1)


def test_the_chance_of_the_right_word_is_that_of_the_softmax(bert, batch):
    chances = logits(bert, batch).words[:, 0].softmax(-1)
    expected = [chances[0, 12].item(), chances[1, 13].item()]
    assert np.exp(log_chance(bert, batch)) == pytest.approx(expected)
    best = {**batch, "masked_lm_ids": chances.argmax(-1)[:, None]}
    assert share_right(bert, best) == 1 and share_right(bert, batch) == 0


def test_hiding_what_is_hidden_or_padding_has_no_effect_and_hiding_a_word_has(bert, batch):
    effect = effect_of_hiding(bert, batch, MASK)
    assert effect.shape == (2, 5)
    assert effect[0, 2] == effect[1, 1] == 0
    assert np.abs(effect[1, 3:]).max() == 0
    assert np.abs(effect[0, [0, 1, 3, 4]]).min() > 1e-4


def test_gradient_times_input_is_the_slope_when_a_tokens_own_vector_grows(bert, batch):
    """Of tokens with a word of their own, the table's row can be moved and the score watched."""

    def score(growth: float, word: int) -> float:
        table = bert.weights[WORDS].detach().clone()
        table[word] *= 1 + growth
        moved = logits(Bert(CONFIG, {**bert.weights, WORDS: table}), batch).words
        return moved[0, 0, 12].item()

    found = gradient_times_input(bert, batch)
    for place, word in ((0, 5), (3, 8)):
        slope = (score(1e-5, word) - score(-1e-5, word)) / 2e-5
        assert found[0, place] == pytest.approx(slope, rel=1e-5)
    same_word = found[0, 1], found[0, 4]
    assert same_word[0] != pytest.approx(same_word[1], rel=1e-3)
    assert sum(same_word) == pytest.approx((score(1e-5, 6) - score(-1e-5, 6)) / 2e-5, rel=1e-5)


def test_padding_has_no_gradient(bert, batch):
    assert np.abs(gradient_times_input(bert, batch)[1, 3:]).max() == 0
