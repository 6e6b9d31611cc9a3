"""Parameters: the names and shapes of `transformers`, the paper's values before training."""

import math

import numpy as np
import pytest
import torch
import transformers

from bert_run.config import (
    PRESETS,
    BertConfig,
    first_weights,
    initial_weights,
    is_decayed,
    make_induction_heads,
    make_mimetic,
    parameter_shapes,
    truncated_normal,
)

SMALL = BertConfig(
    vocab_size=211,
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=3,
    intermediate_size=40,
    max_position_embeddings=17,
)


def transformers_model(config: BertConfig) -> transformers.BertForPreTraining:
    with torch.device("meta"):  # names and shapes, no memory
        return transformers.BertForPreTraining(transformers.BertConfig(**vars(config)))


@pytest.mark.parametrize(
    "config",
    [SMALL, SMALL.with_changes(num_hidden_layers=1, type_vocab_size=5), *PRESETS.values()],
    ids=["small", "five segments", *PRESETS],
)
def test_names_and_shapes_are_those_of_transformers(config):
    model = transformers_model(config)
    # named_parameters() lists the tied decoder once, under the embedding's name.
    theirs = {name: tuple(p.shape) for name, p in model.named_parameters()}
    assert parameter_shapes(config) == theirs


def test_the_state_dict_of_transformers_has_nothing_else_but_the_tied_decoder():
    extra = transformers_model(SMALL).state_dict().keys() - parameter_shapes(SMALL).keys()
    assert extra <= {"cls.predictions.decoder.weight", "cls.predictions.decoder.bias",
                     "bert.embeddings.position_ids"}  # fmt: skip


def test_a_truncated_normal_is_cut_at_two_sigma_and_its_deviation_is_0_0176():
    values = truncated_normal((1000, 1000), 0.02, np.random.default_rng(0)).astype(np.float64)
    assert np.abs(values).max() <= 0.04 + 1e-8
    assert np.abs(values).max() > 0.0399  # the edge is reached
    # The deviation of a normal law cut at c is sqrt(1 - 2 c pdf(c) / (cdf(c) - cdf(-c))): 0.8796.
    inside = math.erf(2 / math.sqrt(2))
    expected = 0.02 * math.sqrt(1 - 4 * math.exp(-2) / math.sqrt(2 * math.pi) / inside)
    assert round(expected, 4) == 0.0176
    # Of a million values both stray by less than 0.5% of the deviation once in 1e7 times.
    assert abs(values.std() - expected) < 0.005 * expected
    assert abs(values.mean()) < 0.006 * expected
    # Draws beyond the edge are drawn again, not moved onto it.
    assert (np.abs(values) > 0.03999).mean() < 0.001


def test_a_model_starts_with_truncated_normal_matrices_zero_biases_and_norms_of_one():
    weights = initial_weights(SMALL, seed=0)
    assert {name: array.shape for name, array in weights.items()} == parameter_shapes(SMALL)
    for name, array in weights.items():
        assert array.dtype == np.float32
        if name.endswith("bias"):
            assert (array == 0).all(), name
        elif "LayerNorm" in name:
            assert (array == 1).all(), name
        else:
            assert 0 < np.abs(array).max() <= 0.04 + 1e-8, name
            # Six standard errors of the deviation of a normal sample, and a matrix of two rows has
            # 48 values only.
            assert abs(array.std() / 0.0176 - 1) < 6 / math.sqrt(2 * array.size), name


def test_the_deviation_asked_for_is_the_one_used():
    wide = initial_weights(SMALL.with_changes(initializer_range=0.5), seed=0)
    name = "bert.embeddings.word_embeddings.weight"
    assert np.allclose(wide[name], initial_weights(SMALL, seed=0)[name] * 25, rtol=1e-5)


def test_a_seed_gives_the_same_weights_and_another_seed_others():
    first, again, other = (initial_weights(SMALL, seed=s) for s in (3, 3, 4))
    for name, array in first.items():
        assert np.array_equal(array, again[name])
        if "LayerNorm" not in name and not name.endswith("bias"):
            assert not np.isclose(array, other[name]).all(), name


def test_two_matrices_of_one_shape_start_differently():
    weights = initial_weights(SMALL, seed=0)
    squares = [array for array in weights.values() if array.shape == (24, 24)]
    assert len(squares) == 10  # four a layer, the pooler, the MLM head
    assert len({array.tobytes() for array in squares}) == 10


def test_matrices_keep_their_values_when_layers_are_added():
    shallow = initial_weights(SMALL, seed=0)
    deep = initial_weights(SMALL.with_changes(num_hidden_layers=5), seed=0)
    for name, array in shallow.items():
        assert np.array_equal(array, deep[name]), name


def test_everything_is_decayed_but_biases_and_layer_norms():
    # Counted by hand: three embeddings, six matrices a layer, the pooler, two in the heads.
    decayed = [name for name in parameter_shapes(SMALL) if is_decayed(name)]
    assert len(decayed) == 3 + 6 * SMALL.num_hidden_layers + 1 + 2
    # The dimension tells matrices from biases and norms without reading a name.
    shapes = parameter_shapes(SMALL)
    assert set(decayed) == {name for name, shape in shapes.items() if len(shape) == 2}


@pytest.mark.parametrize(
    ("name", "decayed"),
    [
        ("bert.embeddings.word_embeddings.weight", True),
        ("bert.embeddings.position_embeddings.weight", True),
        ("bert.encoder.layer.0.output.dense.weight", True),
        ("bert.encoder.layer.0.output.dense.bias", False),
        ("bert.encoder.layer.11.attention.output.LayerNorm.weight", False),
        ("bert.embeddings.LayerNorm.bias", False),
        ("cls.predictions.bias", False),
        ("cls.seq_relationship.weight", True),
    ],
)
def test_weight_decay_goes_by_the_name(name, decayed):
    assert is_decayed(name) is decayed


def test_mimetic_attention_looks_for_its_like_and_copies_it():
    """Query · key of a vector with itself is far above that with another, and value then output
    give the vector back; all other parameters keep the paper's values."""
    config = PRESETS["tiny"].with_changes(vocab_size=50)
    plain = initial_weights(config, seed=3)
    started = make_mimetic(plain, config, seed=3)
    x = np.random.default_rng(0).standard_normal((20, config.hidden_size)).astype(np.float32)
    for number in range(config.num_hidden_layers):
        layer = f"bert.encoder.layer.{number}.attention"
        query, key, value, output = (
            started[f"{layer}.{name}.weight"]
            for name in ("self.query", "self.key", "self.value", "output.dense")
        )
        likeness = (x @ query.T) @ (x @ key.T).T
        off_diagonal = likeness[~np.eye(len(x), dtype=bool)]
        assert likeness.diagonal().min() > off_diagonal.max()
        copied = x @ value.T @ output.T
        cosine = (copied * x).sum(1) / np.linalg.norm(copied, axis=1) / np.linalg.norm(x, axis=1)
        assert cosine.min() > 0.8
    changed = {name for name in plain if not np.array_equal(plain[name], started[name])}
    assert len(changed) == 4 * config.num_hidden_layers
    assert all(".attention." in name and name.endswith("weight") for name in changed)


def attention_and_output(weights, config, x, number):
    """A layer's attention weights (heads, seq, seq), and LN(x + attention's output)."""
    layer = f"bert.encoder.layer.{number}.attention"
    query, key, value = (
        (x @ weights[f"{layer}.self.{part}.weight"].T)
        .reshape(len(x), config.num_attention_heads, config.head_dim)
        .transpose(1, 0, 2)
        for part in ("query", "key", "value")
    )
    scores = np.exp(query @ key.transpose(0, 2, 1) / np.sqrt(config.head_dim))
    attention = scores / scores.sum(-1, keepdims=True)
    context = (attention @ value).transpose(1, 0, 2).reshape(x.shape)
    return attention, normalized(x + context @ weights[f"{layer}.output.dense.weight"].T)


def normalized(x):
    return (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)


@pytest.mark.parametrize("size, heads", [("tiny", 4), ("mini", 4)])
def test_induction_heads_find_the_place_with_the_same_neighbors(size, heads):
    """Words 10 to 14 of the first segment come back as 45 to 49 of the second, the middle one
    hidden. Among 64 tokens a head without a start gives each about 1/64; the constants were tried
    with tiny, and mini looks mostly at the token itself."""
    config = PRESETS[size].with_changes(vocab_size=500, num_attention_heads=heads)
    weights = make_induction_heads(initial_weights(config, seed=3), config, seed=3)
    word, position, segment = (
        weights[f"bert.embeddings.{kind}_embeddings.weight"]
        for kind in ("word", "position", "token_type")
    )
    beside, same = [], []
    for seed in range(20):
        ids = np.random.default_rng(seed).integers(5, 500, 64)
        ids[45:50], ids[47] = ids[10:15], 4
        x = normalized(word[ids] + position[:64] + segment[(np.arange(64) >= 30).astype(int)])
        attention, x = attention_and_output(weights, config, x, 0)
        beside.append([attention[0].diagonal(-1).mean(), attention[1].diagonal(1).mean()])
        same.append(attention_and_output(weights, config, x, 1)[0][:2, 47, 12])
    assert np.mean(beside, axis=0).min() > 0.3
    assert np.mean(same, axis=0).min() > 2 / 64


def test_induction_heads_change_attention_positions_and_segments_alone():
    config = PRESETS["tiny"].with_changes(vocab_size=50)
    plain = initial_weights(config, seed=3)
    started = make_induction_heads(plain, config, seed=3)
    changed = {name for name in plain if not np.array_equal(plain[name], started[name])}
    assert changed == {
        "bert.embeddings.position_embeddings.weight",
        "bert.embeddings.token_type_embeddings.weight",
        *(name for name in plain if ".attention." in name and name.endswith("weight")
          and "LayerNorm" not in name),
    }  # fmt: skip
    assert all(values.dtype == np.float32 for values in started.values())


def test_induction_heads_leave_the_numbers_of_the_position_to_the_neighbor_heads():
    """No other head reads them, and none copies anything into them, beyond the paper's values,
    which a neighbor head's copy is twice."""
    config = PRESETS["tiny"].with_changes(vocab_size=50, num_attention_heads=4)
    plain = initial_weights(config, seed=3)
    started = make_induction_heads(plain, config, seed=3)
    kept, others = config.head_dim, slice(2 * config.head_dim, None)
    for number in range(config.num_hidden_layers):
        layer = f"bert.encoder.layer.{number}.attention"
        for part in ("query", "key"):
            name = f"{layer}.self.{part}.weight"
            assert np.array_equal(started[name][others, :kept], plain[name][others, :kept])
        name = f"{layer}.self.value.weight"
        assert np.array_equal(started[name][:, :kept], plain[name][:, :kept])
        name = f"{layer}.output.dense.weight"
        assert np.array_equal(started[name][:kept, others], plain[name][:kept, others])
        assert np.abs(started[name][:kept]).max() <= 2 * np.abs(plain[name]).max()


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("heads, head_dim", [(1, 8), (8, 1), (2, 3)])
def test_induction_heads__any_number_of_heads_of_any_size_can_start(heads, head_dim, layers):
    config = PRESETS["tiny"].with_changes(
        vocab_size=50,
        hidden_size=heads * head_dim,
        num_attention_heads=heads,
        num_hidden_layers=layers,
    )
    started = make_induction_heads(initial_weights(config, seed=0), config, seed=0)
    assert all(np.isfinite(values).all() for values in started.values())


@pytest.mark.parametrize(
    "name, make", [("mimetic", make_mimetic), ("induction", make_induction_heads)]
)
def test_first_weights_are_those_of_the_initialization_that_is_named(name, make):
    config = PRESETS["tiny"].with_changes(vocab_size=50)
    paper = first_weights(config, 3, "paper")
    named, expected = first_weights(config, 3, name), make(paper, config, 3)
    assert all(np.array_equal(named[n], expected[n]) for n in paper)
    assert all(np.array_equal(paper[n], v) for n, v in initial_weights(config, 3).items())
