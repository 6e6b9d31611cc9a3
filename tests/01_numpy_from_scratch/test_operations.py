"""Every forward is what it says, and every backward is its gradient."""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes
from torch.nn import functional as F

from bert_numpy import attention, encoder, model, operations
from bert_numpy.attention import (
    attention_backward,
    attention_forward,
    mask_scores,
    merge_heads,
    split_heads,
)
from bert_numpy.encoder import Bert, Gradients
from bert_numpy.normal import normal_cdf, normal_pdf
from bert_numpy.operations import (
    cross_entropy_backward,
    cross_entropy_forward,
    dropout_backward,
    dropout_forward,
    embedding_backward,
    embedding_forward,
    gelu_backward,
    gelu_forward,
    layer_norm_backward,
    layer_norm_forward,
    linear_backward,
    linear_forward,
    softmax_backward,
    softmax_forward,
    tanh_backward,
    tanh_forward,
)

Arrays = dict[str, np.ndarray]
Draw = Callable[..., np.ndarray]
MakeBert = Callable[..., Bert]

SHAPES = settings(max_examples=40, deadline=None)  # of a property over shapes

LAYER = "bert.encoder.layer.0"
WORDS = "bert.embeddings.word_embeddings.weight"
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 1, 1, 0]])  # (batch 3, seq 5)
# No [PAD]: its row takes no gradient from being read, which differences do not know.
IDS = np.array([[3, 5, 3, 16, 1], [1, 3, 3, 9, 9], [7, 2, 16, 7, 7]])
SEGMENTS = np.array([[0, 0, 1, 1, 2], [0, 2, 2, 0, 0], [0, 1, 0, 1, 0]])
POSITIONS = np.array([[1, 3], [2, 0], [2, 2]])  # a position may be asked for twice


# --- Every pair, as a case: what takes a gradient, forward and backward ---


@dataclass
class Case:
    arrays: Arrays
    forward: Callable[[], tuple[np.ndarray, object]]  # () -> out, cache
    backward: Callable[[np.ndarray, object], Arrays]  # dout, cache -> gradient of every array
    dout: np.ndarray | None = None  # None: random
    without_effect: tuple[str, ...] = ()


def case_of(arrays: Arrays, forward: Callable, backward: Callable, **more) -> Case:
    """A function of arrays alone; its backward gives their gradients in their order."""

    def by_name(dout, cache) -> Arrays:
        found = backward(dout, cache)
        return dict(zip(arrays, found if isinstance(found, tuple) else (found,), strict=True))

    return Case(arrays, lambda: forward(*arrays.values()), by_name, **more)


def case_by_name(
    bert: Bert, prefix: str, inputs: Arrays, forward: Callable, backward: Callable
) -> Case:
    """A function that finds its parameters by name. Every evaluation strikes out the same."""
    parameters = {n: a for n, a in bert.weights.items() if n.startswith(prefix)}
    assert parameters

    def replayed():
        return forward(replace(bert, generator=np.random.default_rng(5)), *inputs.values())

    def by_name(dout, cache) -> Arrays:
        gradients = Gradients()
        found = backward(dout, cache, gradients)
        found = found if isinstance(found, tuple) else (found,) if inputs else ()
        return {**dict(zip(inputs, found, strict=True)), **gradients.of}

    # A key's bias adds the same to all scores of a row, which softmax does not see.
    unseen = tuple(name for name in parameters if name.endswith("key.bias"))
    return Case({**inputs, **parameters}, replayed, by_name, without_effect=unseen)


def spread(draw: Draw, *shape: int) -> np.ndarray:
    """Vectors none of which is nearly constant: there layer norm is too steep for differences."""
    return draw(*shape) * 0.2 + np.linspace(-1, 1, shape[-1], dtype=draw().dtype)


def linear(draw: Draw, _: MakeBert) -> Case:
    return case_of(dict(x=draw(2, 3, 5), weight=draw(7, 5), bias=draw(7)),
                   linear_forward, linear_backward)  # fmt: skip


def softmax(draw: Draw, _: MakeBert) -> Case:
    return case_of(dict(x=2 * draw(2, 3, 5)), softmax_forward, softmax_backward)


def gelu_erf(draw: Draw, _: MakeBert) -> Case:
    return case_of(dict(x=2 * draw(7, 5)), gelu_forward, gelu_backward)


def gelu_tanh(draw: Draw, _: MakeBert) -> Case:
    return case_of(dict(x=2 * draw(7, 5)), lambda x: gelu_forward(x, "tanh"), gelu_backward)


def tanh(draw: Draw, _: MakeBert) -> Case:
    return case_of(dict(x=draw(3, 5)), tanh_forward, tanh_backward)


def layer_norm(draw: Draw, _: MakeBert) -> Case:
    return case_of(dict(x=spread(draw, 2, 3, 5), weight=1 + draw(5), bias=draw(5)),
                   layer_norm_forward, layer_norm_backward)  # fmt: skip


def layer_norm_large_eps(draw: Draw, _: MakeBert) -> Case:
    return case_of(dict(x=spread(draw, 3, 7), weight=1 + draw(7), bias=draw(7)),
                   lambda *a: layer_norm_forward(*a, eps=0.3), layer_norm_backward)  # fmt: skip


def dropout(draw: Draw, _: MakeBert) -> Case:
    return case_of(dict(x=draw(5, 7)), lambda x: dropout_forward(x, 0.3, np.random.default_rng(4)),
                   dropout_backward)  # fmt: skip


def embedding(draw: Draw, _: MakeBert) -> Case:
    return case_of(dict(table=draw(17, 5)), lambda table: embedding_forward(IDS, table),
                   embedding_backward)  # fmt: skip


def cross_entropy(draw: Draw, _: MakeBert) -> Case:
    """A loss has no dout; its `count` stands in for one, as it scales everything."""
    labels, weights = np.array([4, 0, 0, 6, 2]), np.array([1, 0.5, 0, 2, 1]).astype(draw().dtype)

    def forward(logits):
        loss, cache = cross_entropy_forward(logits, labels, weights, 2.7)
        return np.array(loss), cache

    return case_of(dict(logits=2 * draw(5, 7)), forward,
                   lambda _, cache: cross_entropy_backward(cache), dout=np.array(1.0))  # fmt: skip


def heads_split(draw: Draw, _: MakeBert) -> Case:
    return case_of(dict(x=draw(2, 5, 9)), lambda x: (split_heads(x, 3), None),
                   lambda dout, _: merge_heads(dout))  # fmt: skip


def heads_merged(draw: Draw, _: MakeBert) -> Case:
    return case_of(dict(x=draw(2, 3, 5, 7)), lambda x: (merge_heads(x), None),
                   lambda dout, _: split_heads(dout, 3))  # fmt: skip


def attention_case(draw: Draw, probability: float) -> Case:
    arrays = dict(query=draw(3, 2, 5, 7), key=draw(3, 2, 5, 7), value=draw(3, 2, 5, 7))
    return case_of(arrays, lambda q, k, v: attention_forward(
        q, k, v, mask_scores(MASK, q.dtype), dropout=probability,
        generator=np.random.default_rng(4),
    ), attention_backward)  # fmt: skip


def dense(draw: Draw, make_bert: MakeBert) -> Case:
    name = "bert.pooler.dense"
    return case_by_name(make_bert(), name, dict(x=draw(2, 5, 9)),
                        lambda bert, x: encoder.dense_forward(bert, name, x),
                        encoder.dense_backward)  # fmt: skip


def norm(draw: Draw, make_bert: MakeBert) -> Case:
    name = "bert.embeddings.LayerNorm"
    return case_by_name(make_bert(), name, dict(x=spread(draw, 2, 5, 9)),
                        lambda bert, x: encoder.norm_forward(bert, name, x),
                        encoder.norm_backward)  # fmt: skip


def self_attention(draw: Draw, make_bert: MakeBert) -> Case:
    name = f"{LAYER}.attention.self"
    return case_by_name(
        make_bert(), name, dict(x=draw(3, 5, 9)),
        lambda bert, x: encoder.self_attention_forward(bert, name, x, mask_scores(MASK, x.dtype)),
        encoder.self_attention_backward,
    )  # fmt: skip


def add_and_norm(draw: Draw, make_bert: MakeBert) -> Case:
    name = f"{LAYER}.output"
    return case_by_name(
        make_bert(), f"{name}.", dict(x=draw(3, 5, 7), residual=spread(draw, 3, 5, 9)),
        lambda bert, x, residual: encoder.add_and_norm_forward(bert, name, x, residual),
        encoder.add_and_norm_backward,
    )  # fmt: skip


def dense_gelu(draw: Draw, make_bert: MakeBert) -> Case:
    name = f"{LAYER}.intermediate"
    return case_by_name(make_bert(), name, dict(x=draw(3, 5, 9)),
                        lambda bert, x: encoder.dense_gelu_forward(bert, name, x),
                        encoder.dense_gelu_backward)  # fmt: skip


def layer(draw: Draw, make_bert: MakeBert) -> Case:
    return case_by_name(
        make_bert(), f"{LAYER}.", dict(x=draw(3, 5, 9)),
        lambda bert, x: encoder.layer_forward(bert, LAYER, x, mask_scores(MASK, x.dtype)),
        encoder.layer_backward,
    )  # fmt: skip


def stack(draw: Draw, make_bert: MakeBert, **changes) -> Case:
    return case_by_name(
        make_bert(**changes), "bert.encoder.", dict(x=draw(3, 5, 9)),
        lambda bert, x: encoder.encoder_forward(bert, x, mask_scores(MASK, x.dtype)),
        encoder.encoder_backward,
    )  # fmt: skip


def embeddings(_: Draw, make_bert: MakeBert) -> Case:
    return case_by_name(make_bert(), "bert.embeddings.", {},
                        lambda bert: model.embeddings_forward(bert, IDS, SEGMENTS),
                        model.embeddings_backward)  # fmt: skip


def pooler(draw: Draw, make_bert: MakeBert) -> Case:
    return case_by_name(make_bert(), "bert.pooler.", dict(states=draw(3, 5, 9)),
                        model.pooler_forward, model.pooler_backward)  # fmt: skip


def mlm_head(draw: Draw, make_bert: MakeBert) -> Case:
    case = case_by_name((bert := make_bert()), "cls.predictions.", dict(states=draw(3, 5, 9)),
                        lambda bert, states: model.mlm_head_forward(bert, states, POSITIONS),
                        model.mlm_head_backward)  # fmt: skip
    case.arrays[WORDS] = bert.weights[WORDS]  # the decoder
    return case


def batch_of(dtype: np.dtype) -> Arrays:
    return {
        "input_ids": IDS, "token_type_ids": SEGMENTS, "attention_mask": MASK,
        "masked_lm_positions": POSITIONS, "masked_lm_ids": np.array([[3, 0], [16, 4], [9, 2]]),
        "masked_lm_weights": np.array([[1, 1], [1, 0], [1, 0.5]], dtype),
        "next_sentence_labels": np.array([0, 1, 1]),
    }  # fmt: skip


def whole_bert(draw: Draw, make_bert: MakeBert) -> Case:
    """Both outputs, one after the other."""

    def forward(bert):
        (states, pooled), cache = model.bert_forward(bert, batch_of(draw().dtype))
        return np.concatenate([states.ravel(), pooled.ravel()]), cache

    def backward(dout, cache, gradients) -> None:
        dstates, dpooled = dout[: 3 * 5 * 9].reshape(3, 5, 9), dout[3 * 5 * 9 :].reshape(3, 9)
        model.bert_backward(dstates, dpooled, cache, gradients)

    return case_by_name(make_bert(num_hidden_layers=1), "bert.", {}, forward, backward)


def both_heads(draw: Draw, make_bert: MakeBert) -> Case:
    """The logits of six slots and three pairs, one after the other."""

    def forward(bert):
        (words, pairs), cache = model.logits_forward(bert, batch_of(draw().dtype))
        return np.concatenate([words.ravel(), pairs.ravel()]), cache

    def backward(dout, cache, gradients) -> None:
        dwords, dpairs = dout[: 6 * 17].reshape(6, 17), dout[6 * 17 :].reshape(3, 2)
        model.logits_backward(model.Logits(dwords, dpairs), cache, gradients)

    return case_by_name(make_bert(num_hidden_layers=1), "", {}, forward, backward)


def pretraining(draw: Draw, make_bert: MakeBert) -> Case:
    """Both losses; the counts weigh them unequally, as a random dout would."""

    def forward(bert):
        losses, cache = model.pretraining_forward(
            bert, batch_of(draw().dtype), mask_count=3.7, pair_count=5
        )
        return np.array(losses.total), cache

    def backward(_, cache, gradients) -> None:
        model.pretraining_backward(cache, gradients)

    case = case_by_name(make_bert(num_hidden_layers=1), "", {}, forward, backward)
    case.dout = np.array(1.0)
    return case


CASES = {
    "linear": linear,
    "softmax": softmax,
    "gelu: erf": gelu_erf,
    "gelu: tanh": gelu_tanh,
    "tanh": tanh,
    "layer_norm": layer_norm,
    "layer_norm: eps 0.3": layer_norm_large_eps,
    "dropout": dropout,
    "embedding": embedding,
    "cross_entropy": cross_entropy,
    "split_heads": heads_split,
    "merge_heads": heads_merged,
    "attention": lambda draw, _: attention_case(draw, 0),
    "attention: dropout": lambda draw, _: attention_case(draw, 0.3),
    "dense": dense,
    "norm": norm,
    "self_attention": self_attention,
    "add_and_norm": add_and_norm,
    "dense_gelu": dense_gelu,
    "layer": layer,
    "encoder": stack,
    "encoder: no dropout, tanh": lambda draw, make_bert: stack(
        draw, make_bert, num_hidden_layers=1, hidden_dropout_prob=0, attention_probs_dropout_prob=0,
        hidden_act="gelu_new", layer_norm_eps=1e-2),
    "embeddings": embeddings,
    "pooler": pooler,
    "mlm_head": mlm_head,
    "bert": whole_bert,
    "logits": both_heads,
    "pretraining": pretraining,
}  # fmt: skip


@pytest.fixture
def make_case(small_bert) -> Callable[..., Case]:
    """`make_case(name, dtype)`: always with the same numbers."""

    def make(name: str, dtype: type = np.float64) -> Case:
        generator = np.random.default_rng(11)
        draw = lambda *shape: np.asarray(generator.normal(size=shape), dtype)  # noqa: E731
        return CASES[name](draw, lambda **changes: small_bert(dtype, **changes))

    return make


@pytest.mark.parametrize("name", CASES)
def test_the_backward_gives_the_gradient_of_the_forward_for_every_number(
    name, make_case, check_gradients
):
    case = make_case(name)
    check_gradients(case.arrays, case.forward, case.backward, dout=case.dout,
                    without_effect=case.without_effect)  # fmt: skip


def test_no_backward_is_left_out_above():
    there = {
        name.removesuffix("_backward")
        for module in (operations, attention, encoder, model)
        for name, _ in inspect.getmembers(module, inspect.isfunction)
        if name.endswith("_backward")
    }
    assert there == {name.split(":")[0] for name in CASES} - {"split_heads", "merge_heads"}
    for stem in there:
        assert any(hasattr(m, f"{stem}_forward") for m in (operations, attention, encoder, model))


@pytest.mark.parametrize("name", CASES)
def test_nothing_given_is_written_to_and_the_way_back_can_be_gone_twice(name, make_case):
    case = make_case(name)
    for array in case.arrays.values():
        array.setflags(write=False)
    out, cache = case.forward()
    dout = np.random.default_rng(1).normal(size=out.shape)
    dout.setflags(write=False)
    first = {name: gradient.copy() for name, gradient in case.backward(dout, cache).items()}
    for name, gradient in case.backward(dout, cache).items():
        assert np.array_equal(gradient, first[name]), name


@pytest.mark.parametrize("name", CASES)
def test_float32_stays_float32_there_and_back_and_is_as_exact_as_that_allows(
    name, make_case, relative_error
):
    case, exact = make_case(name, np.float32), make_case(name)
    (out, cache), (exact_out, exact_cache) = case.forward(), exact.forward()
    assert out.dtype == np.float32 or out.ndim == 0  # a loss is a float of Python
    assert relative_error(out, exact_out) < 1e-5  # 80 units in the last place
    dout = np.random.default_rng(1).normal(size=out.shape).astype(np.float32)
    expected = exact.backward(dout.astype(np.float64), exact_cache)
    for name, gradient in case.backward(dout, cache).items():
        assert gradient.dtype == np.float32, name
        if name not in case.without_effect:
            assert relative_error(gradient, expected[name]) < 1e-5, name


# --- Linear ---

leading = array_shapes(min_dims=0, max_dims=3, max_side=5)
seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 9)


@SHAPES
@given(leading=leading, in_size=sizes, out_size=sizes, seed=seeds)
def test_a_linear_layer_is_that_of_torch_whatever_the_leading_dimensions(
    leading, in_size, out_size, seed
):
    generator = np.random.default_rng(seed)
    x, weight, bias, dout = (generator.normal(size=shape) for shape in (
        (*leading, in_size), (out_size, in_size), out_size, (*leading, out_size)))  # fmt: skip
    theirs = [torch.tensor(array, requires_grad=True) for array in (x, weight, bias)]
    expected = F.linear(*theirs)
    expected.backward(torch.tensor(dout))
    out, cache = linear_forward(x, weight, bias)
    assert np.abs(out - expected.detach().numpy()).max() < 1e-12
    for gradient, tensor in zip(linear_backward(dout, cache), theirs, strict=True):
        assert gradient.shape == tuple(tensor.shape)
        assert np.abs(gradient - tensor.grad.numpy()).max() < 1e-12


# --- Softmax ---


@SHAPES
@given(shape=array_shapes(max_dims=4, max_side=7), scale=st.floats(0, 30),
       shift=st.floats(-1e4, 1e4), seed=seeds)  # fmt: skip
def test_softmax_gives_shares_which_a_shift_of_all_scores_does_not_change(
    shape, scale, shift, seed
):
    x = scale * np.random.default_rng(seed).normal(size=shape)
    shares, _ = softmax_forward(x)
    assert (shares >= 0).all()
    assert np.abs(shares.sum(axis=-1) - 1).max() < 1e-14  # 45 roundings of a number near 1
    shifted, _ = softmax_forward(x + shift)
    assert np.abs(shifted - shares).max() < 1e-11  # x + 1e4 itself is rounded by 1e-12


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_softmax_of_scores_of_ten_thousand_neither_overflows_nor_divides_by_zero(dtype):
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        shares, cache = softmax_forward(np.array([[1e4, -1e4, 1e4], [-1e4, 0, -1e4]], dtype))
        dx = softmax_backward(np.ones((2, 3), dtype), cache)
    assert shares.tolist() == [[0.5, 0, 0.5], [0, 1, 0]]
    assert dx.tolist() == [[0, 0, 0], [0, 0, 0]]


@SHAPES
@given(rows=sizes, n=sizes, seed=seeds)
def test_softmax_backward_is_the_product_with_the_jacobian(rows, n, seed):
    generator = np.random.default_rng(seed)
    shares, cache = softmax_forward(generator.normal(size=(rows, n)))
    dout = generator.normal(size=(rows, n))
    dx = softmax_backward(dout, cache)
    for p, d, found in zip(shares, dout, dx, strict=True):
        assert np.abs(found - (np.diag(p) - np.outer(p, p)) @ d).max() < 1e-14
    assert np.abs(dx.sum(axis=-1)).max() < 1e-13  # a shift changes nothing, so it has no slope


# --- GELU and the normal distribution ---

GRID = np.linspace(-40, 40, 80_001)
FAR = np.array([-1e10, -1e4, -500.0, -40, -1e-30, -0.0, 0, 1e-30, 40, 500, 1e4, 1e10])


def gelu_of_torch(x: np.ndarray, approximation: str) -> tuple[np.ndarray, np.ndarray]:
    """Value and slope, in float64 whatever x is."""
    tensor = torch.tensor(x.astype(np.float64), requires_grad=True)
    value = F.gelu(tensor, approximate=approximation)
    value.sum().backward()  # a sum is right here: each output has one input
    return value.detach().numpy(), tensor.grad.numpy()


@pytest.mark.parametrize("approximation", ["none", "tanh"])
@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-12), (np.float32, 1e-6)])
def test_gelu_and_its_slope_are_those_of_torch_from_minus_40_to_40(dtype, tolerance, approximation):
    """1 - tanh² loses what is small beside 1, and x du/dx / 2 makes up to 20 of it: a slope of
    float32 has twice the error, torch's own too."""
    x = GRID.astype(dtype)
    value, slope = gelu_of_torch(x, approximation)
    out, cache = gelu_forward(x, approximation)
    assert out.dtype == dtype
    assert np.abs(out - value).max() < tolerance
    assert np.abs(gelu_backward(np.ones_like(x), cache) - slope).max() < 2 * tolerance


@pytest.mark.parametrize("approximation", ["none", "tanh"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gelu_far_out_is_x_or_nothing(dtype, approximation):
    x = FAR.astype(dtype)
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        out, cache = gelu_forward(x, approximation)
        slope = gelu_backward(np.ones_like(x), cache)
    far = np.abs(x) >= 40
    assert np.array_equal(out[far], np.maximum(x, 0)[far])
    assert np.array_equal(slope[far], (x > 0)[far])
    near = np.abs(x) < 1  # in between, x / 2
    assert np.abs(out - x / 2)[near].max() <= 1e-36
    assert np.abs(slope[near] - 0.5).max() <= np.finfo(dtype).eps


@SHAPES
@given(shape=array_shapes(max_dims=4, max_side=6), approximation=st.sampled_from(["none", "tanh"]),
       spread=st.floats(0.01, 15), seed=seeds)  # fmt: skip
def test_gelu_keeps_the_shape_and_treats_every_number_alike(shape, approximation, spread, seed):
    generator = np.random.default_rng(seed)
    x, dout = spread * generator.normal(size=shape), generator.normal(size=shape)
    value, slope = gelu_of_torch(x, approximation)
    out, cache = gelu_forward(x, approximation)
    assert np.abs(out - value).max() < 1e-12
    assert np.abs(gelu_backward(dout, cache) - dout * slope).max() < 1e-12


def test_the_two_forms_of_gelu_differ_by_no_more_than_is_known():
    """4.7e-4 at most; nothing would be the mark of one form standing for both."""
    difference = np.abs(gelu_forward(GRID)[0] - gelu_forward(GRID, "tanh")[0]).max()
    assert 4.6e-4 < difference < 4.8e-4


@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-14), (np.float32, 2e-7)])
def test_the_normal_distribution_is_as_exact_as_its_docstring_says(dtype, tolerance):
    x = np.concatenate([np.linspace(-40, 40, 20_001), FAR]).astype(dtype)
    expected = [0.5 * math.erfc(-v / math.sqrt(2)) for v in x.astype(np.float64)]
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        pdf = normal_pdf(x)
        found = normal_cdf(x, pdf)
    assert found.dtype == pdf.dtype == dtype
    assert np.abs(found - expected).max() < tolerance
    assert ((found >= 0) & (found <= 1)).all()
    density = np.exp(-(x.astype(np.float64) ** 2) / 2) / math.sqrt(2 * math.pi)
    assert np.abs(pdf - density).max() < tolerance


# --- Layer norm ---


@SHAPES
@given(leading=leading, hidden=st.integers(2, 9), seed=seeds,
       size=st.floats(1e-3, 1e3), shift=st.floats(-10, 10))  # fmt: skip
def test_layer_norm_gives_every_vector_mean_0_and_variance_1(leading, hidden, seed, size, shift):
    generator = np.random.default_rng(seed)
    x = size * (
        shift + np.linspace(-1, 1, hidden) + 0.1 * generator.normal(size=(*leading, hidden))
    )
    out, _ = layer_norm_forward(x, np.ones(hidden), np.zeros(hidden), 1e-12)
    assert np.abs(out.mean(axis=-1)).max() < 1e-12
    variance = x.var(axis=-1)  # divided by n
    assert np.abs(out.var(axis=-1) - variance / (variance + 1e-12)).max() < 1e-12


@SHAPES
@given(leading=leading, hidden=st.integers(2, 9), seed=seeds,
       eps=st.sampled_from([1e-12, 1e-5, 0.1, 2.0]))  # fmt: skip
def test_layer_norm_and_its_gradients_are_those_of_torch(leading, hidden, seed, eps):
    generator = np.random.default_rng(seed)
    x = np.linspace(-1, 1, hidden) + 0.2 * generator.normal(size=(*leading, hidden))
    weight, bias, dout = (generator.normal(size=s) for s in (hidden, hidden, x.shape))
    theirs = [torch.tensor(array, requires_grad=True) for array in (x, weight, bias)]
    expected = F.layer_norm(theirs[0], (hidden,), *theirs[1:], eps)
    expected.backward(torch.tensor(dout))
    out, cache = layer_norm_forward(x, weight, bias, eps)
    assert np.abs(out - expected.detach().numpy()).max() < 1e-12
    for gradient, tensor in zip(layer_norm_backward(dout, cache), theirs, strict=True):
        assert gradient.shape == tuple(tensor.shape)
        assert np.abs(gradient - tensor.grad.numpy()).max() < 1e-11


def test_layer_norm_divides_by_n_and_takes_eps_into_the_root():
    """By hand: (-1, 0, 1) has variance 2/3. With n - 1 it would be 1; with eps outside the root,
    √(2/3) + 1/3 would be divided by, and not 1."""
    out, _ = layer_norm_forward(np.array([4.0, 5.0, 6.0]), np.ones(3), np.zeros(3), eps=1 / 3)
    assert np.abs(out - [-1, 0, 1]).max() < 1e-15
    exact, _ = layer_norm_forward(np.array([4.0, 5.0, 6.0]), np.ones(3), np.zeros(3))
    assert abs(exact[2] - math.sqrt(3 / 2)) < 1e-11


# --- Dropout ---


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("probability", [0.1, 0.2, 0.5])
def test_dropout_strikes_out_its_share_and_keeps_the_mean(probability, dtype, binomial_range):
    x = np.ones((400, 500), dtype)
    out, cache = dropout_forward(x, probability, np.random.default_rng(0))
    low, high = binomial_range(x.size, probability)
    struck = int((out == 0).sum())
    assert low <= struck <= high
    kept = out[out != 0]
    assert out.dtype == dtype
    assert np.abs(kept - 1 / (1 - probability)).max() <= np.finfo(dtype).eps
    mean = out.mean(dtype=np.float64)  # so this range follows from the other
    ends = [(x.size - count) / (1 - probability) / x.size for count in (high, low)]
    assert ends[0] - 1e-6 <= mean <= ends[1] + 1e-6
    assert np.array_equal(dropout_backward(x, cache), out)  # the same numbers, by the same factor


def test_dropout_strikes_out_every_place_alike_and_anew_each_time(binomial_range):
    generator = np.random.default_rng(1)
    x = np.ones((5, 7))
    struck = sum((dropout_forward(x, 0.3, generator)[0] == 0).astype(int) for _ in range(2000))
    low, high = binomial_range(2000, 0.3, error=1e-8)  # 35 places: 3.5e-7 together
    assert ((low <= struck) & (struck <= high)).all()


@pytest.mark.parametrize("probability, generator", [(0.3, None), (0.0, np.random.default_rng(0))])
def test_without_a_generator_or_a_probability_dropout_does_nothing(probability, generator):
    x = np.random.default_rng(2).normal(size=(3, 5))
    out, cache = dropout_forward(x, probability, generator)
    assert np.array_equal(out, x)
    assert np.array_equal(dropout_backward(x, cache), x)


# --- Embedding ---


@SHAPES
@given(shape=array_shapes(min_dims=0, max_dims=3, max_side=7), entries=sizes, hidden=sizes,
       seed=seeds)  # fmt: skip
def test_the_gradient_of_a_table_collects_every_place_where_a_row_was_read(
    shape, entries, hidden, seed
):
    """Up to 343 reads of up to 9 rows: most rows are read many times, some never."""
    generator = np.random.default_rng(seed)
    ids = generator.integers(0, entries, shape)
    table, dout = generator.normal(size=(entries, hidden)), generator.normal(size=(*shape, hidden))
    out, cache = embedding_forward(ids, table)
    assert np.array_equal(out, table[ids])
    expected = np.zeros_like(table)
    np.add.at(expected, ids, dout)
    assert np.abs(embedding_backward(dout, cache) - expected).max() < 1e-12


def test_a_word_read_three_times_gets_three_gradients():
    _, cache = embedding_forward(np.array([[2, 0, 2], [2, 1, 1]]), np.zeros((4, 1)))
    dtable = embedding_backward(np.array([[[1.0], [10], [100]], [[1000], [2], [3]]]), cache)
    assert dtable[:, 0].tolist() == [10, 5, 1101, 0]


def test_the_row_of_pad_learns_nothing_from_being_read_and_the_others_do(small_bert):
    """As in torch, where `padding_idx` says so; here [PAD] is id 0."""
    bert = small_bert(hidden_dropout_prob=0)
    ids = np.array([[3, 0, 5, 0, 3]])
    out, cache = model.embeddings_forward(bert, ids, np.zeros_like(ids))
    dout, gradients = np.random.default_rng(1).normal(size=out.shape), Gradients()
    model.embeddings_backward(dout, cache, gradients)

    words = torch.nn.Embedding.from_pretrained(
        torch.tensor(bert.weights[WORDS]), freeze=False, padding_idx=0
    )
    others = (bert.weights[f"{name}.weight"] for name in (model.POSITIONS, model.SEGMENTS))
    positions, segments = (torch.tensor(array) for array in others)
    norm_weights = [torch.tensor(bert.weights[f"bert.embeddings.LayerNorm.{part}"])
                    for part in ("weight", "bias")]  # fmt: skip
    summed = words(torch.tensor(ids)) + positions[:5] + segments[0]
    F.layer_norm(summed, (9,), *norm_weights, 1e-12).backward(torch.tensor(dout))

    found = gradients.of[WORDS]
    assert (found[0] == 0).all()
    assert set(np.flatnonzero(np.abs(found).sum(axis=1))) == {3, 5}
    assert np.abs(found - words.weight.grad.numpy()).max() < 1e-12


# --- Cross-entropy ---


@SHAPES
@given(rows=sizes, classes=sizes, scale=st.floats(0, 50), count=st.floats(0.5, 100), seed=seeds)
def test_cross_entropy_is_the_weighted_sum_of_torchs_over_the_count(
    rows, classes, scale, count, seed
):
    generator = np.random.default_rng(seed)
    logits = scale * generator.normal(size=(rows, classes))
    labels, weights = generator.integers(0, classes, rows), generator.uniform(0, 2, rows)
    theirs = torch.tensor(logits, requires_grad=True)
    each = F.cross_entropy(theirs, torch.tensor(labels), reduction="none")
    expected = (each * torch.tensor(weights)).sum() / count
    expected.backward()
    loss, cache = cross_entropy_forward(logits, labels, weights, count)
    assert abs(loss - expected.item()) < 1e-12 * max(1, abs(loss))
    assert np.abs(cross_entropy_backward(cache) - theirs.grad.numpy()).max() < 1e-12


def test_unused_slots_neither_add_to_the_loss_nor_thin_it_out():
    """A loss divided by slots, or a mean multiplied by the weights, would give 3/5 of it, or
    another number for another label."""
    generator = np.random.default_rng(3)
    logits, labels = generator.normal(size=(5, 7)), np.array([4, 0, 6, 1, 2])
    weights = np.array([1.0, 1, 1, 0, 0])
    used, used_cache = cross_entropy_forward(logits[:3], labels[:3], np.ones(3), 3.0)
    loss, cache = cross_entropy_forward(logits, labels, weights, weights.sum())
    other, _ = cross_entropy_forward(logits, np.array([4, 0, 6, 5, 5]), weights, weights.sum())
    assert abs(loss - used) < 1e-15
    assert other == loss
    dlogits = cross_entropy_backward(cache)
    assert np.abs(dlogits[:3] - cross_entropy_backward(used_cache)).max() < 1e-16
    assert (dlogits[3:] == 0).all()

    each = F.cross_entropy(torch.tensor(logits), torch.tensor(labels), reduction="none").numpy()
    assert abs(loss - each[:3].mean()) < 1e-14
    for mistake in (weights @ each / 5, (each.mean() * weights).sum() / 3):
        assert abs(loss - mistake) > 0.05


def test_cross_entropy_of_a_wrong_certainty_is_large_and_finite():
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        loss, cache = cross_entropy_forward(
            np.array([[1e4, -1e4]], np.float32), np.array([1]), np.ones(1, np.float32), 1.0
        )
        dlogits = cross_entropy_backward(cache)
    assert loss == 2e4
    assert dlogits.tolist() == [[1, -1]]


# --- Attention ---


@SHAPES
@given(batch=sizes, seq=sizes, heads=sizes, head_dim=sizes, seed=seeds)
def test_each_head_sees_its_own_part_of_every_vector(batch, seq, heads, head_dim, seed):
    x = np.random.default_rng(seed).normal(size=(batch, seq, heads * head_dim))
    split = split_heads(x, heads)
    for head in range(heads):
        assert np.array_equal(split[:, head], x[..., head * head_dim : (head + 1) * head_dim])
    assert np.array_equal(merge_heads(split), x)


@SHAPES
@given(batch=sizes, seq=sizes, heads=sizes, head_dim=sizes, seed=seeds)
def test_attention_and_its_gradients_are_those_of_torch(batch, seq, heads, head_dim, seed):
    generator = np.random.default_rng(seed)
    q, k, v, dout = generator.normal(size=(4, batch, heads, seq, head_dim))
    mask = generator.integers(0, 2, (batch, seq))
    mask[:, 0] = 1
    theirs = [torch.tensor(array, requires_grad=True) for array in (q, k, v)]
    expected = F.scaled_dot_product_attention(
        *theirs, attn_mask=torch.tensor(mask[:, None, None] > 0)
    )
    expected.backward(torch.tensor(dout))
    out, cache = attention_forward(q, k, v, mask_scores(mask, q.dtype))
    assert np.abs(out - expected.detach().numpy()).max() < 1e-12
    for gradient, tensor in zip(attention_backward(dout, cache), theirs, strict=True):
        assert np.abs(gradient - tensor.grad.numpy()).max() < 1e-12


def shares_of(query: np.ndarray, key: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Attention to values that are the rows of a unit matrix is the shares themselves."""
    batch, heads, seq, _ = query.shape
    unit = np.broadcast_to(np.eye(seq, dtype=query.dtype), (batch, heads, seq, seq))
    return attention_forward(query, key, unit, mask_scores(mask, query.dtype))[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_padded_keys_get_exactly_nothing_while_padded_queries_still_attend(dtype):
    query, key = np.random.default_rng(4).normal(size=(2, 3, 2, 5, 5)).astype(dtype)
    shares = shares_of(query, 100 * key, MASK)
    padded = np.broadcast_to(MASK[:, None, None, :] == 0, shares.shape)
    assert (shares[padded] == 0).all()
    assert np.abs(shares.sum(axis=-1) - 1).max() < 1e-6  # of padded queries too
    some = MASK[1] == 1  # in row 1 the last two are padding: their shares, by hand
    scores = (query @ key.swapaxes(-1, -2) / math.sqrt(5))[1, 0, 4, some]
    by_hand = np.exp(scores) / np.exp(scores).sum()
    assert np.abs(shares_of(query, key, MASK)[1, 0, 4, some] - by_hand).max() < 1e-6


def test_padded_keys_and_values_take_no_gradient_and_change_nothing():
    query, key, value, dout = np.random.default_rng(5).normal(size=(4, 3, 2, 5, 7))
    out, cache = attention_forward(query, key, value, mask_scores(MASK, query.dtype))
    _, dkey, dvalue = attention_backward(dout, cache)
    padded = np.broadcast_to(MASK[:, None, :, None] == 0, key.shape)
    assert (dkey[padded] == 0).all()
    assert (dvalue[padded] == 0).all()
    key[padded], value[padded] = 1e6, -1e6
    again, _ = attention_forward(query, key, value, mask_scores(MASK, query.dtype))
    assert np.array_equal(again, out)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_of_padding_alone_gives_no_nan_there_or_back(dtype):
    query, key, value, dout = np.random.default_rng(6).normal(size=(4, 2, 2, 5, 7)).astype(dtype)
    mask = np.array([[1, 1, 0, 0, 0], [0, 0, 0, 0, 0]])
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        out, cache = attention_forward(query, key, value, mask_scores(mask, query.dtype))
        gradients = attention_backward(dout, cache)
    for array in (out, *gradients):
        assert np.isfinite(array).all()
    real, _ = attention_forward(query[:1], key[:1], value[:1], mask_scores(mask[:1], query.dtype))
    assert np.abs(out[0] - real[0]).max() < 1e-6  # and the row beside it is what it was


def test_attention_dropout_strikes_whole_pairs_out_of_the_shares(binomial_range):
    """Not the scores, which softmax would share out anew: what is left keeps its share, times
    1 / (1 - p)."""
    query, key = np.random.default_rng(7).normal(size=(2, 4, 6, 32, 32))
    unit = np.broadcast_to(np.eye(32), query.shape)
    mask = mask_scores(np.ones((4, 32), np.int64), query.dtype)
    shares, _ = attention_forward(query, key, unit, mask)
    dropped, _ = attention_forward(query, key, unit, mask, dropout=0.2,
                                   generator=np.random.default_rng(8))  # fmt: skip
    low, high = binomial_range(shares.size, 0.2)
    assert low <= (dropped == 0).sum() <= high
    kept = dropped != 0
    assert np.abs(dropped - shares / 0.8)[kept].max() < 1e-14


def test_formulas__every_operation_stands_on_the_page_forward_and_backward():
    page = Path(operations.__file__).parents[1] / "formulas.md"
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    rows = {name: cells for name, *cells in ([c.strip() for c in line.split("|")][1:-1]
                                             for line in lines)}  # fmt: skip
    names = {name.removesuffix(way) for name in vars(operations)
             for way in ("_forward", "_backward") if name.endswith(way)}  # fmt: skip
    assert len(names) >= 9
    for name in names:
        shapes, forward, backward = rows[name]
        assert "(" in shapes and "=" in forward and "d" in backward and "=" in backward, name
