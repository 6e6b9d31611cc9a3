"""Embeddings: three tables are read and added up; on the way back repeated ids add up too."""

import numpy as np
import pytest

from autograder import checks
from bert_numpy import encoder, model, operations
from bert_run.config import BertConfig

WORDS, POSITIONS, SEGMENTS = (
    f"{table}_embeddings.weight" for table in ("word", "position", "token_type")
)
SCALE, SHIFT = "LayerNorm.weight", "LayerNorm.bias"
SHAPES = [(2, 3, 5), (1, 7, 4), (4, 4, 4), (3, 1, 6)]  # batch, seq, hidden: also batch 1, seq 1


def case(batch, seq, hidden, *, vocab=11, positions=9, segments=2, seed=3, dtype=np.float64):
    """Ids that repeat, tables at random, a scale and a shift that are not 1 and 0."""
    rng = np.random.default_rng([seed, batch, seq, hidden])
    shapes = {WORDS: (vocab, hidden), POSITIONS: (positions, hidden), SEGMENTS: (segments, hidden),
              SCALE: (hidden,), SHIFT: (hidden,)}  # fmt: skip
    weights = {name: rng.normal(size=shape).astype(dtype) for name, shape in shapes.items()}
    input_ids = rng.integers(0, vocab - 3, (batch, seq))  # the last words never appear
    input_ids[:, 0], input_ids[-1, seq // 2 :] = 2, 0  # every row begins alike; padding
    token_type_ids = rng.integers(0, segments, (batch, seq))
    token_type_ids[0, -1] = segments - 1
    return input_ids, token_type_ids, weights


def chapter(weights, *, eps=1e-12, pad_id=0):
    """The model of the chapter, of which only the embeddings are there."""
    config = BertConfig(
        vocab_size=len(weights[WORDS]), hidden_size=weights[SCALE].size, num_attention_heads=1,
        max_position_embeddings=len(weights[POSITIONS]), type_vocab_size=len(weights[SEGMENTS]),
        layer_norm_eps=eps, pad_token_id=pad_id,
    )  # fmt: skip
    return encoder.Bert(config, {f"bert.embeddings.{n}": w for n, w in weights.items()})


def forward(input_ids, token_type_ids, weights, **settings):
    return model.embeddings_forward(chapter(weights, **settings), input_ids, token_type_ids)[0]


def backward(dout, input_ids, token_type_ids, weights, **settings):
    bert = chapter(weights, **settings)
    cache = model.embeddings_forward(bert, input_ids, token_type_ids)[1]
    gradients = encoder.Gradients()
    model.embeddings_backward(dout, cache, gradients)
    return {name.removeprefix("bert.embeddings."): g for name, g in gradients.of.items()}


def norm(x, weights, eps=1e-12, axis=-1):
    std = np.sqrt(x.var(axis, keepdims=True) + eps)
    return (x - x.mean(axis, keepdims=True)) / std * weights[SCALE] + weights[SHIFT]


def forward_mistakes(input_ids, token_type_ids, weights):
    w, p, s = (weights[name] for name in (WORDS, POSITIONS, SEGMENTS))
    words, segments, seq = w[input_ids], s[token_type_ids], input_ids.shape[1]
    places = p[:seq]
    x = words + places + segments
    return {
        "the layer norm is missing: BERT normalises its embeddings": x,
        "the positions are left out": norm(words + segments, weights),
        "the segments are left out: token_type_ids is not used": norm(words + places, weights),
        "token_type_ids is not used: every token gets segment 0": norm(words + places + s[0],
                                                                       weights),
        "only the words are normalised, the positions and segments are added after it": (
            norm(words, weights) + places + segments),
        "each table is normalised by itself: the layer norm comes after the sum": (
            norm(words, weights) + norm(places, weights) + norm(segments, weights)),
        "the first token has position 0, not 1": norm(words + p[1 : seq + 1] + segments, weights),
        "the position is the token's id: it is the place in the row": (
            norm(words + p[input_ids % len(p)] + segments, weights)),
        "the mean of the three vectors was taken before the layer norm, not their sum": (
            norm(x / 3, weights)),
        "the words were scaled by the root of the hidden size, as in the first Transformer: "
        "BERT does not": norm(words * x.shape[-1] ** 0.5 + places + segments, weights),
    }  # fmt: skip


@pytest.mark.weight(2)
def test_a_token_is_the_normalised_sum_of_word_position_and_segment(student):
    for shape in SHAPES:
        inputs = case(*shape)
        checks.same(
            student.embeddings_forward(*inputs),
            forward(*inputs),
            of="the embeddings",
            mistakes=forward_mistakes(*inputs),
        )


def test_the_number_of_segments_and_eps_are_not_written_in(student):
    input_ids, token_type_ids, weights = case(3, 5, 4, segments=4, positions=5, vocab=7)
    small = {name: w * 1e-3 if "embeddings" in name else w for name, w in weights.items()}
    for eps in (1e-12, 1e-3):
        given = input_ids, token_type_ids, small
        checks.same(
            student.embeddings_forward(*given, eps=eps),
            forward(*given, eps=eps),
            of=f"the embeddings at eps {eps}",
            mistakes={
                "eps is not used": forward(*given),
                "token_type_ids is cut to 0 and 1: there may be more segments": (
                    forward(input_ids, token_type_ids.clip(0, 1), small, eps=eps)
                ),
            },
        )


@pytest.mark.weight(3)
def test_a_row_that_was_picked_often_collects_all_its_gradients(student):
    rng = np.random.default_rng(3)
    for shape, entries in [((4, 6), 5), ((1, 7), 5), ((3,), 2), ((2, 3, 4), 30)]:
        ids, dout = rng.integers(0, entries - 1, shape), rng.normal(size=(*shape, 3))
        ids[ids == 1] = 0  # neither 1 nor the last id is ever picked
        expected = operations.embedding_backward(dout, (ids, (entries, 3)))
        last, first = np.zeros_like(expected), np.zeros_like(expected)
        last[ids] = dout
        first[ids.ravel()[::-1]] = dout.reshape(-1, 3)[::-1]
        times = np.bincount(ids.ravel(), minlength=entries)[:, None]
        checks.same(
            student.lookup_backward(dout, ids, entries),
            expected,
            of="the gradient of the table",
            mistakes={
                "repeated ids do not add up: dtable[ids] += dout keeps one of them": (
                    lambda out, last=last, first=first: (
                        np.allclose(out, last) or np.allclose(out, first)
                    )
                ),
                "the mean of a row's gradients was taken, not their sum": (
                    expected / np.maximum(times, 1)
                ),
                "the table must have entries rows, not as many as the largest id asks for": (
                    lambda out, ids=ids: len(out) == ids.max() + 1
                ),
                "only the words of this batch got a row: give all entries one": (
                    lambda out, ids=ids: len(out) == len(np.unique(ids))
                ),
            },
        )


def backward_mistakes(dout, input_ids, token_type_ids, weights, *, pad_id=0):
    """What each part of the answer would be."""
    arguments = dout, input_ids, token_type_ids, weights
    x = sum_of(input_ids, token_type_ids, weights)
    right = backward(*arguments, pad_id=pad_id)
    weight, bias = weights[SCALE], weights[SHIFT]
    dx = operations.layer_norm_backward(
        dout, operations.layer_norm_forward(x, weight, bias)[1])[0]  # fmt: skip

    def tables(d):
        words = operations.embedding_backward(d, (input_ids, weights[WORDS].shape))
        words[pad_id] = 0
        places = np.zeros_like(weights[POSITIONS])
        places[: d.shape[1]] = d.sum(0)
        return {WORDS: words, POSITIONS: places,
                SEGMENTS: operations.embedding_backward(d, (token_type_ids,
                                                            weights[SEGMENTS].shape))}  # fmt: skip

    by_pad = dict(right)
    by_pad[WORDS] = operations.embedding_backward(dx, (input_ids, weights[WORDS].shape))
    places, seq = right[POSITIONS], dx.shape[1]
    no_padding = tables(dx * (input_ids != pad_id)[..., None])
    row_of_0 = by_pad | {WORDS: np.where(np.arange(len(by_pad[WORDS]))[:, None] == 0, 0,
                                         by_pad[WORDS])}  # fmt: skip

    def alone(name, wrong):
        return lambda out: not checks.difference(out[name], wrong, "", None)

    def cut(rows):
        return np.concatenate([rows, np.zeros_like(places[seq:])])

    last_of = {}
    for name, ids in ((WORDS, input_ids), (SEGMENTS, token_type_ids)):
        last_of[name] = np.zeros_like(weights[name])
        last_of[name][ids] = dx
    last_of[WORDS][pad_id] = 0
    return {
        "the row of pad_id got a gradient: it is to be zero": alone(WORDS, by_pad[WORDS]),
        "pad_id is ignored: the row of 0 is zero": alone(WORDS, row_of_0[WORDS]),
        "padding was struck out of all tables: only the word's row of pad_id learns nothing": (
            lambda out: not checks.difference(
                {n: out[n] for n in no_padding}, no_padding, "", None)),
        "repeated ids do not add up: dtable[ids] += dout keeps one of them": (
            lambda out: any(alone(name, wrong)(out) for name, wrong in last_of.items())),
        "dout goes through the layer norm before it reaches the tables": (
            lambda out: any(alone(n, w)(out) for n, w in tables(dout).items())),
        "dout times the scale is not yet the layer norm's backward": (
            lambda out: any(alone(n, w)(out) for n, w in tables(dout * weight).items())),
        "the mean over the batch was taken for the positions, not the sum": (
            alone(POSITIONS, places / len(dx))),
        "only one row of the batch reached the positions: sum over the batch": (
            lambda out: any(alone(POSITIONS, cut(row))(out) for row in dx)),
        "the positions beyond seq are missing: the gradient has the shape of its table": (
            lambda out: out[POSITIONS].shape == (seq, places.shape[1]) != places.shape),
        "the gradients of scale and shift are exchanged": alone(SCALE, right[SHIFT]),
    }  # fmt: skip


def sum_of(input_ids, token_type_ids, weights):
    places = weights[POSITIONS][: input_ids.shape[1]]
    return weights[WORDS][input_ids] + places + weights[SEGMENTS][token_type_ids]


@pytest.mark.weight(3)
def test_the_backward_gives_the_gradient_of_every_table(student):
    for shape in SHAPES:
        inputs = case(*shape)
        dout = np.random.default_rng(5).normal(size=shape)
        checks.same(
            student.embeddings_backward(dout, *inputs),
            backward(dout, *inputs),
            of="the gradients",
            mistakes=backward_mistakes(dout, *inputs),
        )


def test_pad_id_and_eps_are_used_on_the_way_back(student):
    input_ids, token_type_ids, weights = case(3, 5, 4)
    small = {name: w * 1e-3 if "embeddings" in name else w for name, w in weights.items()}
    dout = np.random.default_rng(5).normal(size=(3, 5, 4))
    given = dout, input_ids, token_type_ids, weights
    checks.same(
        student.embeddings_backward(*given, pad_id=2),
        backward(*given, pad_id=2),
        of="the gradients with pad_id=2",
        mistakes=backward_mistakes(*given, pad_id=2),
    )
    given = dout, input_ids, token_type_ids, small
    for eps in (1e-12, 1e-3):
        checks.same(
            student.embeddings_backward(*given, eps=eps),
            backward(*given, eps=eps),
            of=f"the gradients at eps {eps}",
            mistakes={"eps is not used on the way back": backward(*given)},
            tolerance=1e-9,  # gradients in the thousands, of differences between thousandths
        )


def test_a_batch_of_padding_and_ids_with_gaps_in_memory_are_fine(student):
    input_ids, token_type_ids, weights = case(3, 8, 5)
    dout = np.random.default_rng(5).normal(size=(3, 8, 5))
    for given in (
        (dout, np.zeros_like(input_ids), token_type_ids),
        (dout[:, ::2], input_ids[:, ::2], token_type_ids[:, ::2]),
        (dout, input_ids.astype(np.int32), token_type_ids.astype(np.int32)),
    ):
        checks.same(student.embeddings_forward(*given[1:], weights), forward(*given[1:], weights),
                    of="the embeddings")  # fmt: skip
        checks.same(student.embeddings_backward(*given, weights), backward(*given, weights),
                    of="the gradients")  # fmt: skip


def test_float32_stays_float32(student):
    inputs = case(2, 6, 5, dtype=np.float32)
    dout = np.random.default_rng(5).normal(size=(2, 6, 5)).astype(np.float32)
    named = {"the result is always float64: np.zeros needs the type of the gradient": (
        lambda out: any(g.dtype == np.float64 for g in out.values()))}  # fmt: skip
    checks.same(student.embeddings_forward(*inputs), forward(*inputs), of="the embeddings")
    checks.same(
        student.embeddings_backward(dout, *inputs), backward(dout, *inputs), of="the gradients",
        mistakes=named, tolerance=1e-4,
    )  # fmt: skip


def test_nothing_is_left_behind(student):
    inputs = case(2, 6, 5)
    dout = np.random.default_rng(5).normal(size=(2, 6, 5))
    checks.leaves_no_trace(student.embeddings_forward, *inputs)
    checks.leaves_no_trace(student.lookup_backward, dout, inputs[0], 11)
    checks.leaves_no_trace(student.embeddings_backward, dout, *inputs)
