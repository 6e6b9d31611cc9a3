"""Embeddings: the rows of three tables are summed; in the backward each row sums its gradients."""

import numpy as np
import pytest

from autograder import checks, sweep
from bert_numpy import encoder, model, operations
from bert_run.config import BertConfig

WORDS, POSITIONS, SEGMENTS = (
    f"{table}_embeddings.weight" for table in ("word", "position", "token_type")
)
SCALE, SHIFT = "LayerNorm.weight", "LayerNorm.bias"
SHAPES = [(2, 3, 5), (1, 7, 4), (4, 4, 4), (3, 1, 6)]  # batch, seq, hidden: also batch 1, seq 1


def case(batch, seq, hidden, *, vocab=11, positions=9, segments=2, seed=3, dtype=np.float64):
    """Ids that repeat, tables at random, a scale and a shift that are not 1 and 0."""
    rng = checks.rng(seed, batch, seq, hidden)
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
        "the layer norm is missing: BERT normalizes its embeddings": x,
        "the positions are left out": norm(words + segments, weights),
        "the segments are left out: token_type_ids is not used": norm(words + places, weights),
        "token_type_ids is not used: every token gets segment 0": norm(words + places + s[0],
                                                                       weights),
        "the vector of padding is set to zero: padding is read like any word": norm(
            x - words * (input_ids == 0)[..., None], weights),
        "only the words are normalized, the positions and segments are added after it": (
            norm(words, weights) + places + segments),
        "each table is normalized by itself: the layer norm comes after the sum": (
            norm(words, weights) + norm(places, weights) + norm(segments, weights)),
        "the first token has position 0, not 1": norm(words + np.roll(p, -1, 0)[:seq] + segments,
                                                       weights),
        "the position is the token's id: it is the place in the row": (
            norm(words + p[input_ids % len(p)] + segments, weights)),
        "the mean of the three vectors was taken before the layer norm, not their sum": (
            norm(x / 3, weights)),
        "the words were scaled by the root of the hidden size, as in the first Transformer: "
        "BERT does not": norm(words * x.shape[-1] ** 0.5 + places + segments, weights),
    }  # fmt: skip


def whole_tables(*, dtype=np.float64):
    """The first and the last row of every table are read, the last word several times."""
    input_ids, token_type_ids, weights = case(2, 6, 4, positions=6, segments=3, dtype=dtype)
    input_ids[:, 1:3] = len(weights[WORDS]) - 1
    token_type_ids[:, 0], token_type_ids[0, -1] = 0, 2
    return input_ids, token_type_ids, weights


@pytest.mark.hint(2)
@pytest.mark.weight(2)
def test_a_token_is_the_normalized_sum_of_word_position_and_segment(student):
    for shape in SHAPES:
        inputs = case(*shape)
        checks.same(
            student.embeddings_forward(*inputs),
            forward(*inputs),
            of="the embeddings",
            mistakes=lambda: forward_mistakes(*inputs),
        )
    inputs = whole_tables()
    checks.same(
        student.embeddings_forward(*inputs),
        forward(*inputs),
        of="the embeddings of the first and last rows of the tables",
        mistakes=lambda: forward_mistakes(*inputs),
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
            mistakes=lambda: {
                "eps is not used": forward(*given),
                "token_type_ids is cut to 0 and 1: there may be more segments": (
                    forward(input_ids, token_type_ids.clip(0, 1), small, eps=eps)
                ),
                **forward_mistakes(*given),
            },
        )


@pytest.mark.hint(1)
def test_the_table_of_the_page_comes_out(student):
    dout = np.array([[1.0, 2], [10, 20], [100, 200]])
    checks.same(
        student.lookup_backward(dout, np.array([3, 0, 3]), 4),
        np.array([[10.0, 20], [0, 0], [0, 0], [101, 202]]),
        of="dtable",
        mistakes=lambda: {
            "repeated ids do not add up: dtable[ids] += dout keeps one of them": (
                np.array([[10.0, 20], [0, 0], [0, 0], [100, 200]])
            ),
        },
    )


@pytest.mark.hint(1)
@pytest.mark.weight(3)
def test_a_row_that_was_picked_often_collects_all_its_gradients(student):
    rng = checks.rng(3)
    shapes = [((4, 6), 5), ((1, 7), 5), ((3,), 2), ((2, 3, 4), 30), ((2, 1, 3, 2), 4), ((), 3),
              ((0,), 3), ((2, 0), 3)]  # fmt: skip
    for shape, entries in shapes:
        ids = np.asarray(rng.integers(0, entries - 1, shape))
        dout = rng.normal(size=(*shape, 3))
        ids[ids == 1] = 0  # neither 1 nor the last id is ever read
        if shape == (4, 6):
            ids[0, 1:3] = entries - 1
        expected = operations.embedding_backward(dout, (ids, (entries, 3)))
        last, first = np.zeros_like(expected), np.zeros_like(expected)
        last[ids] = dout
        first[ids.ravel()[::-1]] = dout.reshape(-1, 3)[::-1]
        times = np.bincount(ids.ravel(), minlength=entries)[:, None]
        checks.same(
            student.lookup_backward(dout, ids, entries),
            expected,
            of=f"the gradient of the table for ids of shape {shape}",
            mistakes=lambda: {
                "repeated ids do not add up: dtable[ids] += dout keeps one of them": (
                    lambda out, last=last, first=first: (
                        np.allclose(out, last) or np.allclose(out, first)
                    )
                ),
                "the mean of a row's gradients was taken, not their sum": (
                    expected / np.maximum(times, 1)
                ),
                "the table must have entries rows, not as many as the largest id asks for": (
                    lambda out, ids=ids, n=entries: n != len(out) == ids.max() + 1
                ),
                "only the words of this batch got a row: give all entries one": (
                    lambda out, ids=ids, n=entries: n != len(out) == len(np.unique(ids))
                ),
            },
        )


def backward_mistakes(dout, input_ids, token_type_ids, weights, *, pad_id=0):
    """The tables that a mistake would give."""
    arguments = dout, input_ids, token_type_ids, weights
    x = sum_of(input_ids, token_type_ids, weights)
    right = backward(*arguments, pad_id=pad_id)
    weight, bias = weights[SCALE], weights[SHIFT]
    dx = operations.layer_norm_backward(
        dout, operations.layer_norm_forward(x, weight, bias)[1])[0]  # fmt: skip
    seq = dx.shape[1]

    def words(d, zero=pad_id):
        table = operations.embedding_backward(d, (input_ids, weights[WORDS].shape))
        if zero is not None:
            table[zero] = 0
        return table

    def places(rows):
        return np.concatenate([rows, np.zeros_like(weights[POSITIONS][seq:])])

    def tables(d):
        segments = operations.embedding_backward(d, (token_type_ids, weights[SEGMENTS].shape))
        return {WORDS: words(d), POSITIONS: places(d.sum(0)), SEGMENTS: segments}

    def last(name, ids):
        table = np.zeros_like(weights[name])
        table[ids] = dx
        if name == WORDS:
            table[pad_id] = 0
        return {name: table}

    no_padding = tables(dx * (input_ids != pad_id)[..., None])
    return {
        "the row of pad_id got a gradient: it is to be zero": [{WORDS: words(dx, None)}],
        "pad_id is ignored: the row of 0 is zero": [{WORDS: words(dx, 0)}],
        "padding was left out of all tables: only the word's row of pad_id is not trained": (
            [{name: no_padding[name] for name in (POSITIONS, SEGMENTS)}]),
        "repeated ids do not add up: dtable[ids] += dout keeps one of them": (
            [last(WORDS, input_ids), last(SEGMENTS, token_type_ids)]),
        "dout goes through the layer norm before it reaches the tables": [tables(dout)],
        "dout times the scale is not yet the layer norm's backward": [tables(dout * weight)],
        "the mean over the batch was taken for the positions, not the sum": (
            [{POSITIONS: right[POSITIONS] / len(dx)}]),
        "only one row of the batch reached the positions: sum over the batch": (
            [{POSITIONS: places(row)} for row in dx]),
        "the positions beyond seq are missing: the gradient has the shape of its table": (
            [{POSITIONS: right[POSITIONS][:seq]}] if seq < len(weights[POSITIONS]) else []),
        "the gradients of scale and shift are exchanged": (
            [{SCALE: right[SHIFT], SHIFT: right[SCALE]}]),
    }  # fmt: skip


def same_gradients(out, right, mistakes, *, of="the gradients", tolerance=None):
    """Table by table, so that a message speaks of the table that a mistake has changed."""
    if type(out) is not dict or out.keys() != right.keys():
        checks.same(out, right, of=of)
    for name in (WORDS, POSITIONS, SEGMENTS, SCALE, SHIFT):
        named = {
            mistake: lambda table, name=name, wrong=wrong: any(
                not checks.difference(table, tables[name], "", tolerance)
                for tables in wrong
                if name in tables
            )
            for mistake, wrong in mistakes.items()
        }
        checks.same(out[name], right[name], of=f"{of}[{name!r}]", mistakes=named,
                    tolerance=tolerance)  # fmt: skip


def sum_of(input_ids, token_type_ids, weights):
    places = weights[POSITIONS][: input_ids.shape[1]]
    return weights[WORDS][input_ids] + places + weights[SEGMENTS][token_type_ids]


@pytest.mark.hint(2)
@pytest.mark.weight(3)
def test_the_backward_gives_the_gradient_of_every_table(student):
    for shape in SHAPES:
        inputs = case(*shape)
        dout = checks.rng(5).normal(size=shape)
        same_gradients(
            student.embeddings_backward(dout, *inputs),
            backward(dout, *inputs),
            backward_mistakes(dout, *inputs),
        )


def test_pad_id_and_eps_are_used_in_the_backward(student):
    input_ids, token_type_ids, weights = case(3, 5, 4, segments=3)
    small = {name: w * 1e-3 if "embeddings" in name else w for name, w in weights.items()}
    dout = checks.rng(5).normal(size=(3, 5, 4))
    given = dout, input_ids, token_type_ids, weights
    for pad_id in (2, 10, 4):  # the first of every row, also a segment; the last; also a position
        same_gradients(
            student.embeddings_backward(*given, pad_id=pad_id),
            backward(*given, pad_id=pad_id),
            backward_mistakes(*given, pad_id=pad_id),
            of=f"the gradients with pad_id={pad_id}",
        )
    given = dout, input_ids, token_type_ids, small
    for eps in (1e-12, 1e-3):
        same_gradients(
            student.embeddings_backward(*given, eps=eps),
            backward(*given, eps=eps),
            {"eps is not used in the backward": [backward(*given)]},
            of=f"the gradients at eps {eps}",
            tolerance=1e-9,  # gradients in the thousands, of differences between thousandths
        )


@pytest.mark.hint(3)
def test_the_first_and_the_last_rows_of_the_tables_get_their_gradients(student):
    inputs = whole_tables()
    dout = checks.rng(5).normal(size=(2, 6, 4))
    for pad_id in (0, len(inputs[2][WORDS]) - 1):
        same_gradients(
            student.embeddings_backward(dout, *inputs, pad_id=pad_id),
            backward(dout, *inputs, pad_id=pad_id),
            backward_mistakes(dout, *inputs, pad_id=pad_id),
            of=f"the gradients with pad_id={pad_id}",
        )


def test_vectors_of_equal_numbers_stay_finite(student):
    input_ids, token_type_ids, weights = case(3, 5, 4)
    dout = checks.rng(5).normal(size=(3, 5, 4))
    zero = "eps is 0 where it is not given: 1e-12 is the default"
    for scale in (0.0, 1e-7):  # all vectors 0; and vectors whose variance is below eps
        tables = {name: w * scale if "embeddings" in name else w for name, w in weights.items()}
        given = input_ids, token_type_ids, tables
        nan = {name: np.full_like(w, np.nan) for name, w in weights.items()}
        checks.same(
            student.embeddings_forward(*given),
            forward(*given),
            of=f"the embeddings from tables times {scale:g}",
            mistakes=lambda: {
                "0 / 0: eps is left out, and the variance is 0": np.full_like(dout, np.nan),
                zero: forward(*given, eps=1e-30),
            },
        )
        same_gradients(
            student.embeddings_backward(dout, *given),
            backward(dout, *given),
            {"0 / 0: eps is left out, and the variance is 0": [
                nan, {n: np.where(g == 0, 0, np.nan) for n, g in backward(dout, *given).items()}],
             zero: [backward(dout, *given, eps=1e-30)]},
            of=f"the gradients for tables times {scale:g}",
            tolerance=1e-8,  # gradients in the millions
        )  # fmt: skip


def test_a_batch_of_padding_and_ids_with_gaps_in_memory_are_fine(student):
    input_ids, token_type_ids, weights = case(3, 8, 5)
    dout = checks.rng(5).normal(size=(3, 8, 5))
    for given in (
        (dout, np.zeros_like(input_ids), token_type_ids),
        (dout[:, ::2], input_ids[:, ::2], token_type_ids[:, ::2]),
        (dout, input_ids.astype(np.int32), token_type_ids.astype(np.int32)),
    ):
        checks.same(student.embeddings_forward(*given[1:], weights), forward(*given[1:], weights),
                    of="the embeddings",
                    mistakes=lambda: forward_mistakes(*given[1:], weights))  # fmt: skip
        same_gradients(
            student.embeddings_backward(*given, weights),
            backward(*given, weights),
            backward_mistakes(*given, weights),
        )


def test_float32_stays_float32(student):
    inputs = case(2, 6, 5, dtype=np.float32)
    dout = checks.rng(5).normal(size=(2, 6, 5)).astype(np.float32)
    student.lookup_backward(dout.astype(np.float64), inputs[0], 11)  # no type is kept from here

    wide = "the result is float64 for float32: np.zeros needs the type of the gradient"
    right = forward(*inputs)
    checks.same(
        student.embeddings_forward(*inputs),
        right,
        of="the embeddings",
        tolerance=1e-5,
        mistakes=lambda: {wide: right.astype(np.float64)} | forward_mistakes(*inputs),
    )
    right = backward(dout, *inputs)
    same_gradients(
        student.embeddings_backward(dout, *inputs),
        right,
        {wide: [{name: g.astype(np.float64) for name, g in right.items()}],
         **backward_mistakes(dout, *inputs)},
        tolerance=1e-4,
    )  # fmt: skip
    one = case(1, 6, 5, dtype=np.float32)
    checks.same(student.embeddings_forward(*one), forward(*one), of="the embeddings of one row",
                tolerance=1e-5)  # fmt: skip
    same_gradients(student.embeddings_backward(dout[:1], *one, pad_id=2),
                   backward(dout[:1], *one, pad_id=2), {}, tolerance=1e-4,
                   of="the float32 gradients for one row and pad_id 2")  # fmt: skip
    ids, types, weights = case(4, 9, 5, segments=3, dtype=np.float32)
    wide_dout = (1e4 * checks.rng(6).normal(size=(4, 9, 5))).astype(np.float32)
    for unread in range(3):
        others = np.where(types == unread, (unread + 1) % 3, types)
        found = student.embeddings_backward(wide_dout, ids, others, weights)
        checks.that(
            type(found) is dict and SEGMENTS in found and not np.any(found[SEGMENTS][unread]),
            f"the gradient of segment {unread}, which no token has, is not exactly 0",
            likely="it is what the other rows leave of the whole: what is rounded stays",
        )
    ids, types, weights = case(4, 9, 5, seed=7, dtype=np.float32)
    types[0, :2] = 0, 1
    for small in (0, 1):
        scale = np.where(types == small, 1e-6, 1e3)[..., None]
        uneven = (checks.rng(7).normal(size=(4, 9, 5)) * scale).astype(np.float32)
        found = student.embeddings_backward(uneven, ids, types, weights)
        right = backward(uneven, ids, types, weights)[SEGMENTS][small]
        checks.same(
            found[SEGMENTS][small] * np.float32(1e6) if type(found) is dict else found,
            right * np.float32(1e6),
            of=f"a million times the gradient of segment {small}, where that of the other is large",
            tolerance=1e-3,
            mistakes={"it is what the other rows leave of the whole: what is rounded stays": (
                lambda out, right=right: np.abs(out - right * 1e6).max() > 1)},
        )  # fmt: skip
    right = operations.embedding_backward(dout, (inputs[0], (11, 5)))
    checks.same(student.lookup_backward(dout, inputs[0], 11), right, of="the gradient of a table",
                mistakes=lambda: {wide: right.astype(np.float64)}, tolerance=1e-4)  # fmt: skip
    whole = checks.rng(8).integers(-4, 5, (2, 6, 5)).astype(np.float16)  # no sum is rounded
    for ids, entries in ((inputs[0], 11), (inputs[0] * 499, 4_991), (inputs[0] * 7_001, 70_011)):
        right = operations.embedding_backward(whole, (ids, (entries, 5)))
        checks.same(student.lookup_backward(whole, ids, entries), right.astype(np.float16),
                    of=f"the gradient of a table of {entries:,} for a float16 dout",
                    mistakes={"the table has the type of dout, float16 like others": (
                        lambda out, right=right: np.array_equal(out, right)),
                        "the ids lose digits: float16 holds whole numbers up to 2,048 only": (
                        lambda out, entries=entries: entries > 2_048)})  # fmt: skip


def test_any_scale_any_width_of_ids_and_any_size_of_table(student):
    """The gradient is linear in `dout`; a power of two changes no digit."""
    rng = checks.rng(3)
    for entries, hidden in ((100, 5), (1, 3), (5, 1), (1, 1), (70_000, 1)):
        for integer in (np.int8, np.uint8, np.int32, np.int64) if entries <= 100 else (np.int32,):
            ids = np.asfortranarray(rng.integers(0, entries, (3, 4)).astype(integer))
            ids[-1, -1] = ids[0, 0]
            if entries > 2**16:  # two words with the same last 16 bits, in turn
                ids[:2, :3] = ids[0, 0] % (entries - 2**16) + np.array([0, 2**16, 0])
                ids[1, 3] = ids[0, 3]
            dout = rng.normal(size=(3, 4, hidden))
            right = operations.embedding_backward(dout, (ids, (entries, hidden)))
            for scale in (1.0, 2.0**-60, 2.0**60):
                checks.same(
                    student.lookup_backward(scale * dout, ids, entries) / scale, right,
                    of=f"the gradient of {entries} rows for {integer.__name__} ids and dout times "
                       f"{scale:.0e}, divided by that",
                    mistakes={
                        "the ids are kept in so few bits that large ones are taken for small ones":
                            operations.embedding_backward(
                                dout, (ids.astype(np.uint8), (entries, hidden)))
                            if entries > 256 else (lambda out: False),
                        "ids are told apart by their last 16 bits alone": (
                            lambda out, right=right, two=ids[0, :2]: len(right) > 2**16 and
                            np.allclose(np.delete(out, two, 0), np.delete(right, two, 0))),
                        "tiny gradients are set to 0, or large ones are cut": (
                            lambda out: bool(np.abs(out).max() < 1e-3))},
                )  # fmt: skip
    for dtype in (np.float32, np.float16):
        empty = student.lookup_backward(np.zeros((0, 3), dtype), np.zeros(0, np.int64), 2)
        checks.same(empty, np.zeros((2, 3), dtype), of=f"the {dtype.__name__} gradient for no ids")
    long = case(2, 600, 3, positions=700)
    right = forward(*long)
    checks.same(student.embeddings_forward(*long), right, of="the embeddings of 600 tokens",
                mistakes={"positions beyond 512 are not told apart: the table says how many there "
                          "are": lambda out: np.allclose(out[:, :512], right[:, :512])}
                )  # fmt: skip
    input_ids, token_type_ids, weights = case(3, 5, 4)
    dout = rng.normal(size=(3, 5, 4))
    for segment in (0, 1):
        given = dout, input_ids, np.full_like(token_type_ids, segment), weights
        same_gradients(student.embeddings_backward(*given), backward(*given),
                       {"where all tokens are of segment 0, its gradient is left out": [
                           {SEGMENTS: np.zeros_like(weights[SEGMENTS])}]},
                       of=f"the gradients where all tokens are of segment {segment}")  # fmt: skip
    small = {name: w * 1e-6 if "embeddings" in name else w for name, w in weights.items()}
    x = sum_of(input_ids, token_type_ids, small)
    checks.same(student.embeddings_forward(input_ids, token_type_ids, small, eps=0.0),
                norm(x, small, 0.0), of="the embeddings at eps 0",
                mistakes=lambda: {"eps=0 is taken for the default": norm(x, small)})  # fmt: skip
    same_gradients(student.embeddings_backward(dout, input_ids, token_type_ids, small, eps=0.0),
                   right_gradients(dout, input_ids, token_type_ids, small, eps=0.0, pad_id=0),
                   {}, of="the gradients at eps 0", tolerance=1e-8)  # fmt: skip


INTEGERS = ["int64", "int8", "int32", "uint8", "uint32", "int16", "uint64", "uint16"]


def test_lookups_of_any_size(student):
    draw = sweep.Draw(11)

    def cases():
        for number in range(24):
            shape, entries = draw.shape(number % 6), int(draw.rng.choice([1, 2, 5, 30, 300]))
            dtype = INTEGERS[number % 8]
            ids = draw.ids(*shape, entries=min(entries, np.iinfo(dtype).max), dtype=dtype)
            # Of each number of axes all types.
            kind = ["float64", "float32", "float16"][(number + number // 6) % 3]
            dout = draw.floats(*shape, draw.size(), dtype=kind)
            if kind == "float16":  # no sum is rounded
                unit = 2.0 ** draw.rng.integers(-9, 12 - min(ids.size, 2_999).bit_length())
                dout = draw.rng.integers(-4, 5, dout.shape) * unit
                dout = dout.astype("float16" if ids.size < 3_000 else "float32")
            of = f"{dout.dtype}, {ids.dtype} ids of shape {shape}, {entries} entries"
            given = {"ids": np.asarray(ids), "entries": entries}
            yield sweep.Case(of, (dout,) if number % 2 else (dout, *given.values()),
                             given if number % 2 else {})  # fmt: skip
        for dtype in INTEGERS:  # a flat index, id · hidden, does not fit the types of few bits
            ids = np.array([0, min(299, np.iinfo(dtype).max - 1)], dtype)
            yield sweep.Case(f"{dtype} ids {ids} and rows of 257 numbers",
                             (draw.rng.normal(size=(2, 257)), ids, int(ids[1]) + 1))  # fmt: skip
        for shape, hidden, entries in (
            ((10_007,), 2, 3),
            ((2, 10_007), 1, 50),
            ((3,), 4_003, 4),
            ((30,), 1, 70_001),
            ((10_007,), 1, 1),
        ):
            ids = draw.ids(*shape, entries=entries)
            yield sweep.Case(
                f"ids of shape {shape}, {entries:,} entries of {hidden:,} numbers",
                (draw.rng.normal(size=(*shape, hidden)) * 1e-9, ids, entries),
            )

    def right(dout, ids, entries):
        table = np.zeros((entries, dout.shape[-1]))
        np.add.at(table, np.asarray(ids).astype(np.int64), dout.astype(np.float64))
        return table.astype(dout.dtype)

    sweep.agrees(student.lookup_backward, right, cases())
    of, rows = "as many words as BERT base has", draw.rng.random((2, 1, 3, 36), np.float32)
    sweep.agrees(
        student.lookup_backward,
        right,
        [sweep.Case(of, (dout, draw.ids(1, 3, entries=30_522), 30_522)) for dout in rows],
    )
    # Rows whose gradients are of very different sizes: no row costs another one its digits.
    for dtype in ("float64", "float32"):
        ids = np.concatenate([np.arange(40), draw.ids(300, entries=40)])
        dout = draw.rng.normal(size=(340, 3)) * 10.0 ** draw.rng.integers(-8, 9, 40)[ids, None]
        dout = dout.astype(dtype)
        sweep.same_each(
            student.lookup_backward(dout, ids, 40), right(dout, ids, 40),
            sizes=right(np.abs(dout), ids, 40),
            of=f"the {dtype} gradient of rows of very different sizes",
        )  # fmt: skip
    check_words_that_are_read_often(student)
    check_small_gradients_in_float16(student)
    for number, (of, dout, ids, entries) in enumerate(special_lookups()):
        dtype = ["float64", "float32", "float16"][number % 3]
        wide = [kind for kind in INTEGERS if np.iinfo(kind).max >= entries]
        dout, ids = dout.astype(dtype), ids.astype(wide[number % len(wide)])
        out = (student.lookup_backward(dout=dout, ids=ids, entries=entries) if number % 2 else
               student.lookup_backward(dout, ids, entries))  # fmt: skip
        sweep.same(out, right(dout, ids, entries), of=f"the {dtype} gradient of {of}",
                   given=dout)  # fmt: skip


def check_small_gradients_in_float16(student):
    """Each word has gradients of another size, from the smallest that float16 knows to nearly the
    largest. As they are a few times a power of 2, no sum is rounded."""
    rng = checks.rng(100)
    ids = rng.permutation(np.repeat(np.arange(37), 3))
    unit = 2.0 ** (rng.permutation(37) - 24.0)[:, None]
    whole = rng.integers(3, 5, (111, 3)) * rng.choice([-1.0, 1], 3)
    found = student.lookup_backward((whole * unit[ids]).astype(np.float16), ids, 37)
    of = "the float16 gradient of words, of each in a size of its own"
    checks.same(found * 0, np.zeros((37, 3), np.float16), of=f"{of} (its shape and type)")
    checks.same(
        found / unit, operations.embedding_backward(whole, (ids, (37, 3))),
        of=f"{of}, divided by that size", mistakes={
            "squares, or shares of the largest number, of small float16 numbers are 0": (
                lambda out: bool((out == 0).any()))},
    )  # fmt: skip


def check_words_that_are_read_often(student):
    """More often than 8 and 16 bits can count, by tokens that all have the same gradient."""
    for shape, dtype in (((300,), np.float32), ((7, 300), np.float64), ((8, 8_250), np.float64)):
        ids = np.full(shape, 2)
        ids.flat[:9] = 0
        dout = np.zeros((*shape, 2), dtype) + np.array([1, -0.25], dtype)
        times = np.array([[9], [0], [ids.size - 9], [0]], dtype)
        checks.same(student.lookup_backward(dout, ids, 4), times * dout[(0,) * ids.ndim],
                    of=f"the {dtype.__name__} gradient of words that are read 9 and "
                       f"{ids.size - 9:,} times, always with the same gradient",
                    mistakes={"the times that a word is read are counted in too few bits": (
                        lambda out, most=ids.size - 9: 0 < out[0, 0] <= out[2, 0] < most)}
                    )  # fmt: skip


def special_ids(rng, entries, last):
    """Ids of five places in three rows, up to `last`, and what is special about them."""
    ids = rng.integers(0, last, (3, 5)) + np.arange(5) % 2
    yield "alike in all rows", np.repeat(ids[:1], 3, 0)
    yield "alike in the first two rows", ids[[0, 0, 1]]
    yield "alike in the last two rows", ids[[0, 1, 1]]
    yield "in order", np.sort(ids)
    yield "in the opposite order", -np.sort(-ids)
    yield "in order from first to last", np.sort(ids, None).reshape(3, 5)
    for id in (0, last):
        yield f"{id} everywhere", np.full_like(ids, id)
        for row in range(3):
            yield f"{id} in all of row {row}", np.where(np.arange(3)[:, None] == row, id, ids)
    yield "0 and the last in turn", np.arange(15).reshape(3, 5) % 2 * last
    if entries > 15:
        yield "each another", rng.permutation(15).reshape(3, 5)


def special_lookups():
    """What is special, dout, ids and entries; whole numbers, of which no sum is rounded."""
    rng = checks.rng(81)
    sizes = (8, 8), (16, 6), (10, 16), (64, 10), (6, 12), (32, 32), (128, 2), (12, 64), (1024, 8)
    for number, (entries, hidden) in enumerate(sizes):
        for what, ids in (
            ("one of each in order", np.arange(entries)),
            ("one of each from the last", np.arange(entries)[::-1]),
            ("one of each in any order", rng.permutation(entries)),
            ("as many as numbers in a row", rng.integers(0, entries, hidden)),
        )[number % 2 :: 2]:
            dout = rng.integers(-4, 5, (ids.size, hidden))
            yield f"{entries} rows of {hidden} numbers, {what}", dout, ids, entries
        # As many ids as rows, which have the ends, the sum and the order of one of each.
        nearly = np.arange(entries)
        nearly[1], nearly[-2] = 2, entries - 3
        mixed = nearly.copy()
        mixed[1:-1] = checks.rng(97, number).permutation(nearly[1:-1])
        dout = checks.rng(98, number).integers(-4, 5, (entries, hidden))
        for what, ids in (("in order", nearly), ("in order at both ends", mixed)):
            yield f"{entries} rows, all but two of which are read, {what}", dout, ids, entries
    for what, ids in special_ids(rng, 16, 15):
        yield f"ids that are {what}", rng.integers(-4, 5, (3, 5, 6)), ids, 16
    for shape in ((3, 5), (8,)):
        for what, dout in sweep.special(rng.integers(-4, 5, (*shape, 6))):
            yield f"a dout that is {what}", dout, rng.integers(0, 7, shape), 8
    for size in (1, 3, 0.5):
        dout = size * checks.rng(101).choice([-1, 1], (3, 5, 6))
        yield f"a dout of {size} and -{size}", dout, ids % 7, 8


def test_batches_and_tables_of_any_size(student):
    draw = sweep.Draw(12)

    def cases(*, is_backward):
        for number in range(22):
            sizes = [draw.size() for _ in range(3)]
            more = {"vocab": int(draw.rng.choice([4, 5, 40, 3_000])), "seed": 30 + number}
            if number > 15:
                sizes, more = [
                    ((4_001, 2, 3), {}),
                    ((2, 1_501, 2), {}),
                    ((2, 3, 4_001), {}),
                    ((2, 3, 3), {"vocab": 70_001}),
                    ((2, 3, 2), {"segments": 5_000}),
                    ((2, 600, 3), {}),
                ][number - 16]
            batch, seq, hidden = sizes
            settings = {"positions": seq + draw.size() - 1, "segments": draw.size(), **more}
            # Two numbers that are almost the same would cost float32 its digits.
            is_single = number % 5 in (0, 1, 3) and hidden > 2
            dtype = np.dtype(np.float32 if is_single else np.float64)
            weights = case(batch, seq, hidden, **settings)[2]
            # Types in which the rows of all tables can be counted together.
            rows = sum(map(len, weights.values()))
            kinds = [INTEGERS[(number + shift) % 8] for shift in range(8)]
            kinds = [kind for kind in kinds if np.iinfo(kind).max >= rows and kind != "uint64"]
            ids = draw.ids(batch, seq, entries=len(weights[WORDS]), dtype=kinds[0])
            types = draw.ids(batch, seq, entries=len(weights[SEGMENTS]), dtype=kinds[-1])
            if number % 6 == 1:
                types[:] = 0
            if number % 6 == 2:  # all rows the same text, in which words come twice
                ids[:], ids[:, seq // 2 :] = ids[0], ids[0, : seq - seq // 2]
            if len(weights[WORDS]) > 2**16:  # two words with the same last 16 bits, in turn
                ids[0] = 3, 3 + 2**16, 3
            scale = 10.0 ** (draw.rng.integers(-4, 5) if is_single else draw.rng.integers(-10, 10))
            weights = {n: w * scale if "embeddings" in n else w for n, w in weights.items()}
            wide = 1.0
            if number % 4 == 3:  # as before training
                weights[SCALE][:], weights[SHIFT][:] = 1, 0
            elif number % 4 == 1:
                wide = 10.0 ** draw.rng.integers(0, 4)
                weights |= {SCALE: wide * weights[SCALE], SHIFT: wide * weights[SHIFT]}
            weights = {name: w.astype(dtype) for name, w in weights.items()}
            options = {"eps": float(draw.rng.choice([1e-12, 1e-5, 0.1]))} if number % 3 else {}
            of = (
                f"{dtype} (batch, seq, hidden) {batch, seq, hidden}, "
                f"{len(weights[WORDS]):,} words, {len(weights[SEGMENTS])} segments"
            )
            given, magnitude = (ids, types, weights), 0.0
            if is_backward:
                if number % 7:
                    last = len(weights[WORDS]) - 1
                    pads = [0, 2, last, ids[0, 0]] if last < 99 else [last]
                    options["pad_id"] = int(draw.rng.choice(pads))
                size = 10.0 ** (draw.rng.integers(-9, 9) if is_single
                                else draw.rng.integers(-20, 100))  # fmt: skip
                dout = draw.rng.normal(size=(batch, seq, hidden)) * size * (number % 9 > 0)
                given = dout.astype(dtype), *given
                root = options.get("eps", 1e-12) ** 0.5
                magnitude = wide * size / (scale + root)
                if hidden == 2:  # where both numbers are nearly alike, their difference is rounding
                    x = sum_of(ids, types, weights)
                    spread = x.std(axis=-1).min() + root
                    magnitude += 1e-5 * wide * size * np.abs(x).max() / spread**2
            if number % 4 == 2:
                options |= {"token_type_ids": types, "weights": weights}
                given = given[:-2]
            yield sweep.Case(of, given, options, magnitude)

    sweep.agrees(student.embeddings_forward, right_embeddings, cases(is_backward=False))
    sweep.agrees(student.embeddings_backward, right_gradients, cases(is_backward=True))
    check_special_batches(student)
    check_long_rows(student)
    check_the_sizes_of_bert(student)


def check_long_rows(student):
    """Rows of more than 4,096 tokens: each position has a vector, and gets its gradient."""
    for seq, positions in ((2_050, 2_050), (4_099, 4_200)):
        ids, types, weights = case(2, seq, 3, positions=positions, seed=84)
        dout = checks.rng(85).normal(size=(2, seq, 3))
        of = f"rows of {seq:,} tokens and a table of {positions:,} positions"
        sweep.same(student.embeddings_forward(ids, types, weights),
                   right_embeddings(ids, types, weights), of=f"the embeddings for {of}"
                   )  # fmt: skip
        sweep.same(student.embeddings_backward(dout, ids, types, weights),
                   right_gradients(dout, ids, types, weights), of=f"the gradients for {of}",
                   magnitude=1.0)  # fmt: skip


def check_the_sizes_of_bert(student):
    """Words of BERT base where a block of its vocabulary may begin or end, in the smallest type
    that holds them; and a batch of more than a million numbers, of two texts in turn."""
    rng = checks.rng(91)
    begin = np.r_[512:30_522:512, 1000:30_522:1000]
    ids = np.r_[begin, begin - 1, 30_522 - rng.integers(1, 22, 38)].astype(np.int16)
    ids = rng.permutation(ids).reshape(24, 9)
    types, weights = case(24, 9, 2, vocab=30_522, segments=5, seed=92)[1:]
    dout = rng.normal(size=(24, 9, 2))
    right = operations.embedding_backward(dout, (ids, (30_522, 2)))
    for kinds in (("int16", "int16"), ("int64", "int8"), ("uint16", "uint8"), ("int16", "int64")):
        given = ids.astype(kinds[0]), types.astype(kinds[1]), weights
        of = f"{kinds[0]} ids of 30,522 words, {kinds[1]} segments"
        sweep.same(student.lookup_backward(dout, given[0], 30_522), right,
                   of=f"the gradient of the table for {of}")  # fmt: skip
        sweep.same(student.embeddings_forward(*given), right_embeddings(*given),
                   of=f"the embeddings for {of}")  # fmt: skip
        sweep.same(student.embeddings_backward(dout, *given), right_gradients(dout, *given),
                   of=f"the gradients for {of}", magnitude=1.0)  # fmt: skip
    # Of 400 words, those with small ids; 261 is 5 in 8 bits, and 256 segments of 1 add up to 0.
    *two, weights = case(2, 300, 2, vocab=400, positions=300, seed=96)
    two[1] = checks.rng(99).permutation(np.arange(600) < 256).reshape(2, 300)
    dout = rng.normal(size=(2, 300, 2))
    for kinds in (("uint8", "int8"), ("int8", "uint8")):
        given = (two[0] % 100).astype(kinds[0]), two[1].astype(kinds[1]), weights
        of = f"300 tokens, {kinds[0]} ids and {kinds[1]} segments"
        sweep.same(student.embeddings_forward(*given), right_embeddings(*given),
                   of=f"the embeddings for {of}")  # fmt: skip
        sweep.same(student.embeddings_backward(dout, *given, pad_id=261),
                   right_gradients(dout, *given, pad_id=261), magnitude=1.0,
                   of=f"the gradients for {of}, and a padding that no such id can name"
                   )  # fmt: skip
    *two, weights = case(2, 128, 768, positions=128, seed=95, dtype=np.float32)
    dout, rows = rng.random((2, 128, 768), np.float32), np.array([0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1])
    given, of = [ids[rows] for ids in two], "11 rows of 128 tokens and the hidden size of BERT base"
    sweep.same(student.embeddings_forward(*given, weights), right_embeddings(*two, weights)[rows],
               of=f"the embeddings of {of}")  # fmt: skip
    times = np.bincount(rows).astype(np.float32)[:, None, None]
    sweep.same(student.embeddings_backward(dout[rows], *given, weights),
               right_gradients(times * dout, *two, weights), of=f"the gradients of {of}",
               magnitude=1.0)  # fmt: skip


# Round numbers, and axes that are equally long: batch, seq, hidden.
ROUND = [(8, 6, 16), (10, 16, 8), (16, 10, 12), (6, 6, 6), (4, 5, 5), (5, 8, 5), (1, 32, 64),
         (12, 8, 10), (32, 2, 4), (2, 64, 32), (64, 1, 6)]  # fmt: skip


def special_batches():
    """What is special, dout, words, segments, and weights."""
    for number, sizes in enumerate(ROUND):
        ids, types, weights = case(*sizes, positions=sizes[1] + number % 2, segments=2 + number % 2)
        dout = checks.rng(82, number).normal(size=sizes)
        yield f"(batch, seq, hidden) {sizes}", dout, ids, types, weights
    ids, types, weights = case(3, 5, 6, vocab=16, positions=7, segments=3)
    rng = checks.rng(83)
    dout = rng.normal(size=(3, 5, 6))
    several = [*special_ids(rng, 3, 2)]
    for number, (what, words) in enumerate(special_ids(rng, 16, 15)):
        too, segments = several[(number + 5) % len(several)]
        yield f"words that are {what}, and segments that are {too}", dout, words, segments, weights
    yield "segments that are the words", dout, types, types, weights
    kinds = [*sweep.special(weights[WORDS])]
    for number, (what, array) in enumerate(sweep.special(dout)):
        too, table = kinds[(number + 3) % len(kinds)]
        of = f"a dout that is {what}, and words whose table is {too}"
        yield of, array, ids, types, weights | {WORDS: table}
    for one, other, shift in ((POSITIONS, SEGMENTS, 4), (SCALE, SHIFT, 2)):
        kinds = [*sweep.special(weights[other])]
        for number, (what, array) in enumerate(sweep.special(weights[one])):
            too, second = kinds[(number + shift) % len(kinds)]
            of = f"{one} that is {what}, and {other} that is {too}"
            yield of, dout, ids, types, weights | {one: array, other: second}
    # What a sum, or some of the rows, cannot tell from zeros, ones, or rows that are all alike.
    zeros = {name: balanced(w) for name, w in weights.items()}
    of, both = "that add up to 0 along every axis", {SCALE: 1 + zeros[SCALE]}
    yield f"a dout and weights {of}, a scale of mean 1", balanced(dout), ids, types, zeros | both
    yield f"a dout of mean 1, a shift {of}", 1 + balanced(dout), ids, types, weights | {
        SCALE: zeros[SCALE], SHIFT: zeros[SHIFT]}  # fmt: skip
    signs, of = np.array([1.0, -1, 1, 1, -1, -1]), "whose numbers differ in their sign alone"
    both = {SCALE: signs, SHIFT: 1.5 * np.roll(signs, 1)}
    yield f"a scale of 1 and -1, and a shift {of}", dout, ids, types, weights | both
    yield f"a dout {of}", np.sign(dout), ids, types, weights | {SCALE: -2 * signs}
    five, rows = case(5, 4, 6, vocab=16, segments=3, seed=90)[:2], [0, 1, 0, 2, 0]
    above, of = rng.normal(size=(5, 4, 6)), "of which the first, the middle and the last are alike"
    yield f"five rows of words {of}", above, five[0][rows], five[1], weights
    yield f"five rows of segments {of}", above, five[0], five[1][rows], weights
    yield f"five texts {of}", above, five[0][rows], five[1][rows], weights
    yield f"five gradients {of}", above[rows], *five, weights
    twins = weights[WORDS].copy()
    twins[1::2] = twins[::2]
    yield "words whose rows are alike two by two", dout, ids, types, weights | {WORDS: twins}
    two = types % 2, weights | {SEGMENTS: weights[SEGMENTS][:2]}
    for name in (WORDS, POSITIONS, SEGMENTS):
        for row in (0, -1):  # beside it the numbers of the others are less than its last digit
            far = two[1][name].copy()
            far[row] *= 2.0**60
            yield f"{name} whose row {row} is times 2 to the 60", dout, ids, two[0], two[1] | {
                name: far}  # fmt: skip
    for times in (2.0**-40, 2.0**40):
        changed = {name: w * times for name, w in weights.items() if "embeddings" in name}
        yield f"tables times {times:g}", dout, ids, types, weights | changed
        changed = {name: weights[name] * times for name in (SCALE, SHIFT)}
        yield f"a scale and a shift times {times:g}", dout, ids, types, weights | changed
        yield f"a dout times {times:g}", dout * times, ids, types, weights


def balanced(x):
    """Numbers of the size of `x` that add up to 0, without rounding, along each axis."""
    x = np.round(3 * x)
    for axis, length in enumerate(x.shape):
        x = length * x - x.sum(axis, keepdims=True)
    return x / 2.0 ** round(np.log2(3 * x.size))


def check_special_batches(student):
    kinds = ["int64", "int8", "int32", "uint8", "uint32", "int16", "uint16"]
    for number, (of, dout, ids, types, weights) in enumerate(special_batches()):
        dtype, width = ("float32", "float64")[number % 2], number if number >= len(ROUND) else 0
        weights = {name: w.astype(dtype) for name, w in weights.items()}
        ids, types = ids.astype(kinds[width % 7]), types.astype(kinds[width // 2 % 7])
        given = {"input_ids": ids, "token_type_ids": types, "weights": weights}
        options, by_name = {"eps": 1e-5} if number % 3 == 1 else {}, number % 4 > 1
        args, named = ((), given) if by_name else (tuple(given.values()), {})
        out = student.embeddings_forward(*args, **named, **options)
        of, magnitude = f"{of}, {dtype}", float("times" not in of)
        sweep.same(out, right_embeddings(ids, types, weights, **options),
                   of=f"the embeddings for {of}", magnitude=magnitude)  # fmt: skip
        dout = dout.astype(dtype)
        last = len(weights[WORDS]) - 1
        if number % 3:
            options["pad_id"] = int(ids[number % len(ids), 0]) if number % 2 else last
        args, named = ((), {"dout": dout} | named) if by_name else ((dout, *args), {})
        out = student.embeddings_backward(*args, **named, **options)
        expected = right_gradients(dout, ids, types, weights, **options)
        sweep.same(out, expected, of=f"the gradients for {of}", magnitude=magnitude)


def right_embeddings(ids, token_type_ids, weights, *, eps=1e-12):
    x = sum_of(ids, token_type_ids, weights)
    return operations.layer_norm_forward(x, weights[SCALE], weights[SHIFT], eps)[0]


def right_gradients(dout, ids, token_type_ids, weights, *, eps=1e-12, pad_id=0):
    x = sum_of(ids, token_type_ids, weights)
    cache = operations.layer_norm_forward(x, weights[SCALE], weights[SHIFT], eps)[1]
    dx, dscale, dshift = operations.layer_norm_backward(dout, cache)
    words = operations.embedding_backward(dx, (ids, weights[WORDS].shape))
    words[pad_id] = 0
    places = np.zeros_like(weights[POSITIONS])
    places[: dx.shape[1]] = dx.sum(0)
    segments = operations.embedding_backward(dx, (token_type_ids, weights[SEGMENTS].shape))
    return {WORDS: words, POSITIONS: places, SEGMENTS: segments, SCALE: dscale, SHIFT: dshift}


def test_numbers_that_are_nearly_alike_are_not_taken_for_equal(student):
    ids, types, weights = case(3, 5, 6, vocab=16, segments=3, seed=86)
    dout = checks.rng(87).normal(size=(3, 5, 6))
    cases = [("a dout that is nearly 1", 1 + 1e-6 * dout, weights)]
    for name, w in weights.items():
        cases.append((f"{name} that is nearly 1", dout, weights | {name: 1 + 1e-6 * w}))
    for axis in range(2):
        near = (1 + np.abs(dout)).take([0], axis) + 1e-6 * dout
        cases.append((f"a dout that is nearly alike along axis {axis}", near, weights))
    for of, above, given in cases:
        checks.same(student.embeddings_forward(ids, types, given),
                    right_embeddings(ids, types, given), of=f"the embeddings for {of}",
                    tolerance=1e-9)  # fmt: skip
        same_gradients(student.embeddings_backward(above, ids, types, given),
                       right_gradients(above, ids, types, given), {},
                       of=f"the gradients for {of}", tolerance=1e-9)  # fmt: skip


def test_nothing_is_left_behind(student):
    inputs = case(2, 6, 5)
    dout = checks.rng(5).normal(size=(2, 6, 5))
    checks.leaves_no_trace(student.embeddings_forward, *inputs, eps=0.1)
    checks.leaves_no_trace(student.lookup_backward, dout, inputs[0], 11)
    checks.leaves_no_trace(student.embeddings_backward, dout, *inputs, eps=0.1, pad_id=2)
    ids, types, weights = inputs
    for name, weight in weights.items():  # what is kept for the next call must go by each of them
        student.embeddings_forward(ids, types, weights | {name: 2 * weight}, eps=0.1)
        checks.same(student.embeddings_backward(dout, *inputs, eps=0.1),
                    right_gradients(dout, *inputs, eps=0.1, pad_id=0),
                    of=f"the gradients after a forward with another {name}")  # fmt: skip
    check_arguments_that_are_equal_or_have_the_same_numbers(student)
    # What is kept for the next call must go by the shape of the ids, and by their type.
    whole, weights = np.array([1, 0, 0, 0, 1, 1, 0, 1]), case(2, 8, 3, seed=88)[2]
    above = checks.rng(89).normal(size=(8, 3))
    for ids in (whole.reshape(2, 4), whole.reshape(4, 2), whole[None], whole[:, None],
                whole.reshape(2, 4).view(np.int32), whole.reshape(4, 2).view(np.int32)[:, ::2],
                whole.reshape(4, 2).T):  # fmt: skip
        dout = np.resize(above, (*ids.shape, 3))
        of = f"after the same ids in other shapes, for {ids.dtype}{list(ids.shape)}"
        checks.same(student.embeddings_forward(ids, ids, weights),
                    right_embeddings(ids, ids, weights), of=f"the embeddings {of}")  # fmt: skip
        same_gradients(student.embeddings_backward(dout, ids, ids, weights),
                       right_gradients(dout, ids, ids, weights), {}, of=f"the gradients {of}"
                       )  # fmt: skip


def check_arguments_that_are_equal_or_have_the_same_numbers(student):
    ids, types, weights = case(3, 5, 6, positions=11, segments=11, seed=93)
    dout = checks.rng(94).normal(size=(3, 5, 6))
    # Arrays that stand under two names have a gradient under each of them.
    twins = weights | {POSITIONS: weights[WORDS], SEGMENTS: weights[WORDS], SHIFT: weights[SCALE]}
    shared = {"before": ("embeddings_forward", (), {})}  # that call comes to nothing
    of = "where equal arguments are one object"
    out = student.embeddings_forward.trace(ids, ids, twins, **shared).value
    checks.same(out, right_embeddings(ids, ids, twins), of=f"the embeddings {of}")
    out = student.embeddings_backward.trace(dout, ids, ids, twins, **shared).value
    same_gradients(out, right_gradients(dout, ids, ids, twins), {}, of=f"the gradients {of}")
    # Whole numbers in another order, of which neither the sum nor both ends tell the difference.
    arguments = {"input_ids": ids, "token_type_ids": types}
    arguments |= {name: np.round(3 * w) for name, w in weights.items()}
    for name, first in arguments.items():
        turned = first.copy()
        turned.flat[1:-1] = first.flat[-2:0:-1]
        before, after = (
            (a["input_ids"], a["token_type_ids"], {w: a[w] for w in weights})
            for a in (arguments, arguments | {name: turned})
        )
        of = f"after a forward with the numbers of {name} in another order"
        student.embeddings_forward(*before, eps=0.1)
        same_gradients(student.embeddings_backward(dout, *after, eps=0.1),
                       right_gradients(dout, *after, eps=0.1), {}, of=f"the gradients {of}"
                       )  # fmt: skip
        student.embeddings_forward(*before, eps=0.1)
        checks.same(student.embeddings_forward(*after, eps=0.1),
                    right_embeddings(*after, eps=0.1), of=f"the embeddings {of}")  # fmt: skip
