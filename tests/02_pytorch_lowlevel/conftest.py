"""Random models and batches, the same numbers for every level and for `transformers`."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from bert_run.config import PRESETS, BertConfig, Weights, parameter_shapes

TINY = PRESETS["tiny"].with_changes(
    vocab_size=1009, max_position_embeddings=40, hidden_dropout_prob=0,
    attention_probs_dropout_prob=0,
)  # fmt: skip
CONFIGS = {
    "tiny": TINY,
    "uneven": TINY.with_changes(num_hidden_layers=3, hidden_size=30, num_attention_heads=5,
                                intermediate_size=17, vocab_size=101, hidden_act="gelu_new",
                                layer_norm_eps=1e-5, type_vocab_size=3),
}  # fmt: skip


def draw_weights(config: BertConfig, dtype: type = np.float64, seed: int = 1) -> Weights:
    """Larger than at the start of training, and no bias zero, so that no term can hide."""
    generator = np.random.default_rng(seed)
    return {
        name: (generator.normal(0, 0.15, shape) + name.endswith("LayerNorm.weight"))
        .astype(np.float32)  # so that both types hold the same numbers
        .astype(dtype)
        for name, shape in parameter_shapes(config).items()
    }


def draw_batch(
    config: BertConfig,
    dtype: type = np.float64,
    *,
    seed: int = 2,
    rows: int = 5,
    seq: int = 23,
    masks: int = 4,
) -> dict[str, np.ndarray]:
    """Rows of uneven length with an uneven number of masks; [PAD] is also read as a word.

    Slots that are not used hold positions and labels all the same: their weight alone tells.
    `dtype` is that of the weights of the slots.
    """
    generator = np.random.default_rng(seed)
    lengths = generator.integers(masks + 3, seq, rows)  # every row ends in padding
    place = np.arange(seq)
    attention = (place < lengths[:, None]).astype(np.int64)
    input_ids = generator.integers(0, config.vocab_size, (rows, seq))
    input_ids[:, 1] = config.pad_token_id
    third = (lengths // config.type_vocab_size)[:, None] + 1
    positions = np.array([generator.permutation(n - 2)[:masks] + 1 for n in lengths])
    used = 1 + np.arange(rows)[:, None] % masks
    return {
        "input_ids": input_ids,
        "token_type_ids": np.minimum(place // third, config.type_vocab_size - 1) * attention,
        "attention_mask": attention,
        "masked_lm_positions": positions,
        "masked_lm_ids": generator.integers(0, config.vocab_size, (rows, masks)),
        "masked_lm_weights": (np.arange(masks) < used).astype(dtype),
        "next_sentence_labels": np.arange(rows) % 2,
    }


def draw_pairs(rows: int, seq: int = 128, *, full: bool = False, seed: int = 17) -> dict:
    """Arrays of [CLS] A [SEP] B [SEP] and padding, to be masked; 0 is [PAD], 1 [CLS], 2 [SEP],
    3 [MASK], and words are 10 … 2009. Full rows have no padding, the others any length from 5 on.
    """
    generator = np.random.default_rng(seed)
    last = np.full(rows, seq - 1) if full else generator.integers(4, seq, rows)
    middle = generator.integers(2, last - 1)
    column, row = np.arange(seq), np.arange(rows)
    ids = generator.integers(10, 2010, (rows, seq))
    ids[:, 0] = 1
    ids[row, middle] = ids[row, last] = 2
    attention = (column <= last[:, None]).astype(np.int64)
    return {
        "input_ids": ids * attention,
        "token_type_ids": (column > middle[:, None]) * attention,
        "attention_mask": attention,
        "next_sentence_labels": generator.integers(0, 2, rows),
        "example_index": np.arange(1000, 1000 + rows),
    }


def make_tensors(arrays: dict[str, np.ndarray]) -> dict[str, torch.Tensor]:
    return {name: torch.tensor(array) for name, array in arrays.items()}


# What tests of this chapter ask for by name.


@pytest.fixture(scope="session")
def configs() -> dict[str, BertConfig]:
    return CONFIGS


@pytest.fixture(scope="session")
def random_weights() -> Callable[..., Weights]:
    return draw_weights


@pytest.fixture(scope="session")
def random_batch() -> Callable[..., dict[str, np.ndarray]]:
    return draw_batch


@pytest.fixture(scope="session")
def random_pairs() -> Callable[..., dict[str, np.ndarray]]:
    return draw_pairs


@pytest.fixture(scope="session")
def tensors() -> Callable[..., dict[str, torch.Tensor]]:
    return make_tensors
