"""Attention: the right keys, the right scale, no padding, and the backward."""

import itertools
import math

import numpy as np
import pytest

from autograder import checks, sweep
from bert_numpy import attention

# batch, heads, queries, keys, head_dim
SIZES = [(3, 3, 4, 4, 5), (1, 1, 3, 5, 2), (2, 2, 5, 3, 4), (3, 1, 1, 6, 7), (3, 2, 3, 3, 3),
         (2, 2, 3, 1, 2), (1, 1, 4, 4, 3)]  # fmt: skip


def inputs(sizes, *, dtype=np.float64, scale=1.0, seed=3):
    """query, key, value, dcontext, and a mask: rows are padded at the end and in the middle, in
    front, and in the middle; with one head, the third is whole. None is all padding."""
    batch, heads, queries, keys, head_dim = sizes
    rng = checks.rng(seed)
    query, dcontext = rng.normal(size=(2, batch, heads, queries, head_dim))
    key, value = rng.normal(size=(2, batch, heads, keys, head_dim))
    mask = np.ones((batch, keys), np.int64)
    if keys > 2:
        mask[0, [1, -1]], mask[1:2, 0] = 0, 0
        mask[2:3, 2] = int(heads == 1)
    arrays = (query * scale, key, value, dcontext)
    return *(a.astype(dtype) for a in arrays), mask


def attend(
    query, key, value, mask=None, *, scale=None, low=None, added=False, axis=-1, queries=False
):
    """Context and probs in a few lines, with the ways to get them wrong."""
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = query @ key.mT * scale
    low = np.finfo(scores.dtype).min if low is None else low
    if mask is not None:
        place = mask[:, None, :, None] if queries else mask[:, None, None, :]
        scores = np.where(place, scores, scores + low if added else low)
    probs = np.exp(scores - scores.max(axis, keepdims=True))
    probs = (probs / probs.sum(axis, keepdims=True)).astype(query.dtype)
    return probs @ value, probs


def reference(query, key, value, mask=None):
    """The chapter's attention, whose queries and keys are equally many; else a few lines."""
    if query.shape != key.shape:
        return attend(query, key, value, mask)
    ones = np.ones((len(query), key.shape[2]), np.int64)
    scores = attention.mask_scores(ones if mask is None else mask, query.dtype)
    context, _ = attention.attention_forward(query, key, value, scores)
    return context, attend(query, key, value, mask)[1]


def score_mistakes(query, key, value, mask):
    heads, head_dim = query.shape[1], query.shape[-1]
    given = query, key, value, mask
    return {
        "the scores are not scaled: divide by √head_dim": attend(*given, scale=1.0),
        "the scores are divided by head_dim, not by its root": attend(*given, scale=1 / head_dim),
        "the scores are multiplied by √head_dim: divide": (
            attend(*given, scale=math.sqrt(head_dim))
        ),
        "scaled by all heads together: head_dim is the size of one head": (
            attend(*given, scale=1 / math.sqrt(heads * head_dim))
        ),
        "scaled by the number of keys: it is √head_dim": (
            attend(*given, scale=1 / math.sqrt(key.shape[2]))
        ),
        "softmax over the queries: each query's probabilities add up to 1": attend(*given, axis=-2),
        "exp overflows: subtract the largest score of each row first": overflowing(*given),
        "queries and keys are exchanged: scores are [query, key]": (
            attend(key, query, value, mask) if query.shape == key.shape else ()
        ),
    }


def overflowing(query, key, value, mask, *, axes=None):
    """Without a shift, or with one by the largest score along other axes than the keys."""
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = np.where(mask[:, None, None, :], scores, -np.inf)
    e = np.exp(scores - (scores.max(axes, keepdims=True) if axes else 0))
    probs = e / e.sum(-1, keepdims=True)
    return probs @ value, probs


def mask_mistakes(query, key, value, mask):
    given = query, key, value, mask
    free = attend(query, key, value)[1]
    struck = free * mask[:, None, None, :]
    again = struck / struck.sum(-1, keepdims=True)
    none = np.zeros_like(mask)
    equal = query.shape[2] == key.shape[2]
    return {
        "the mask is not used": attend(query, key, value),
        "the mask is reversed: it is 0 on padding": attend(query, key, value, 1 - mask),
        "the mask lies along the queries: it belongs to the keys": (
            attend(*given, queries=True) if equal else ()
        ),
        "queries are masked too: only keys are": (
            tuple(part * mask[:, None, :, None] for part in attend(*given)) if equal else ()
        ),
        "probabilities are set to 0 after the softmax: mask the scores before it": (
            struck @ value, struck),
        "probabilities are set to 0 after the softmax and divided by their sum, which can be 0: "
        "mask the scores before it": (again @ value, again),
        "the mask of the first sentence is used for all": (
            attend(query, key, value, np.repeat(mask[:1], len(mask), 0))),
        "the mask of the last sentence is used for all": (
            attend(query, key, value, np.repeat(mask[-1:], len(mask), 0))),
        "the scores of padding are set to 0, which is a score like others": (
            attend(*given, low=0.0)),
        "every key is masked: ~ turns the integers 0 and 1 into -1 and -2, both true": (
            attend(query, key, value, none)),
        "the mask is added to the scores as it is": attend_added(query, key, value, mask),
    }  # fmt: skip


def attend_added(query, key, value, mask):
    scores = query @ key.mT / math.sqrt(query.shape[-1]) + mask[:, None, None, :]
    probs = np.exp(scores - scores.max(-1, keepdims=True))
    probs = probs / probs.sum(-1, keepdims=True)
    return probs @ value, probs


def check(out, expected, mistakes, *, of="", tolerance=None):
    """The probabilities first: where they are wrong, so is what follows from them."""
    got = checks.parts(out, "context", "probs")
    for i, name in ((1, "the probabilities"), (0, "the context")):
        named = {n: wrong[i] for n, wrong in mistakes.items() if type(wrong) is tuple and wrong}
        named |= {n: wrong for n, wrong in mistakes.items() if callable(wrong)}
        checks.same(got[i], expected[i], of=f"{name}{of}", mistakes=named, tolerance=tolerance)


@pytest.mark.hint(1)
@pytest.mark.weight(2)
def test_each_query_gathers_values_by_its_probabilities(student):
    for sizes in SIZES:
        query, key, value, _, _ = inputs(sizes)
        check(
            student.attention_forward(query, key, value),
            reference(query, key, value),
            score_mistakes(query, key, value, None),
        )


@pytest.mark.hint(2)
@pytest.mark.weight(3)
def test_padding_is_masked_among_the_keys_and_only_there(student):
    for sizes in SIZES:
        query, key, value, _, mask = inputs(sizes)
        check(
            student.attention_forward(query, key, value, mask),
            reference(query, key, value, mask),
            score_mistakes(query, key, value, mask) | mask_mistakes(query, key, value, mask),
            of=", with a mask",
        )


def limit_mistakes(query, key, value, mask, limit, name):
    given = query, key, value, mask
    return {
        f"{name} is not enough: large scores of padding still win": (
            attend(*given, low=-limit, added=True)
        ),
        f"-{name} is not low enough: scores of tokens can be lower": attend(*given, low=-limit),
    }


@pytest.mark.hint(2)
def test_scores_of_any_size_stay_finite_and_never_reach_padding(student):
    for scale, dtype in ((1e-3, np.float64), (30.0, np.float64), (1e3, np.float64),
                         (1e5, np.float64), (1e12, np.float64), (1e12, np.float32)):  # fmt: skip
        query, key, value, _, mask = inputs((3, 2, 4, 5, 3), scale=scale, dtype=dtype)
        # The second time, all scores are negative.
        for q, k in ((query, key), (-np.abs(query), np.abs(key))):
            check_scores(student, q, k, value, None, scale)
            check_scores(student, q, k, value, mask, scale)
    check_near_the_limits_of_exp(student)
    check_largest_scores_that_are_equal(student)
    check_arguments_that_are_one_object(student)


def check_arguments_that_are_one_object(student):
    """As in the self-attention of states as they are. Whole numbers, so that scores are exact; some
    vectors are long, and match the short ones better than these match themselves."""
    rng = checks.rng(141)
    _, _, value, _, mask = inputs((3, 2, 4, 4, 4))
    one_hot = np.broadcast_to(np.eye(4)[[2, 0, 3, 1]], (1, 2, 4, 4)).copy()
    given = one_hot, one_hot, value[:1]
    for given_mask in (None, mask[:1]):
        check(as_one_object(student.attention_forward, *given, given_mask),
              attend(*given, given_mask), {}, of=", where one-hot queries are the keys too"
              )  # fmt: skip
    whole = rng.integers(-9, 10, (2, 3, 2, 4, 4)) * np.array([1.0, 4, 30, 7])[:, None]
    for number, (size, dtype) in enumerate(
        ((2.0**-5, np.float64), (8, np.float64), (2**14, np.float32))
    ):
        same, other = (size * whole).astype(dtype)
        for which, given in enumerate((
            (same, same, same), (same, same, value.astype(dtype)), (other, same, same),
            (same, other, same))):  # fmt: skip
            given = *given, mask if (number + which) % 2 else None
            if number == 1:  # a single sentence
                given = *(a[:1] for a in given[:3]), mask[:1]
            out = as_one_object(student.attention_forward, *given)
            check(out, attend(*given), {
                "the largest score of a row is not always the one of a vector with itself": (
                    by_the_diagonal(*given)),
            }, of=f", where equal arguments are one object, with numbers up to {270 * size:g}"
                  )  # fmt: skip


def as_one_object(function, *args):
    """What it returns where equal arguments are one object, as in `f(x, x)`."""
    return function.trace(*args, before=(function.name, args, {})).value


def by_the_diagonal(query, key, value, mask):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = np.where(mask[:, None, None, :], scores, -np.inf)
    e = np.exp(scores - np.diagonal(scores, axis1=-2, axis2=-1)[..., None])
    probs = e / e.sum(-1, keepdims=True)
    return probs @ value, probs


def check_largest_scores_that_are_equal(student):
    """Two keys of the same score share the attention, however far the others lie below them."""
    keys = np.array([[1.0, 0.5, -1, 1, 0]]).reshape(1, 1, 5, 1)
    value = checks.rng(16).normal(size=keys.shape)
    for dtype, size in itertools.product((np.float64, np.float32), (30.0, 3e4, 1e6, 1e12)):
        for padded in (None, np.array([[1, 1, 1, 1, 0]]), np.array([[0, 1, 1, 1, 1]])):
            query = np.array([1.0, 2, -1]).reshape(1, 1, 3, 1) * size
            given = *(a.astype(dtype) for a in (query, keys, value)), padded
            first = attend(*given[:3], np.array([[1, 1, 1, 0, 1]]))
            check(student.attention_forward(*given), attend(*given), {
                "all attention goes to the first of the largest scores: equal scores have equal "
                "probabilities": first,
            }, of=f", for two keys of the same score near {size:g} in {dtype.__name__}",
                  tolerance=1e-6)  # fmt: skip


def check_near_the_limits_of_exp(student):
    """exp overflows above 88.7 in float32, above 709.8 in float64, and loses digits where it is
    below 1e-38 or 1e-308. The scores of a query are near a size of either sign, or near 0."""
    _, _, value, _, mask = inputs((1, 1, 3, 3, 1))
    near_1 = checks.rng(13).random(mask.shape)[:, None, :, None]
    beside = np.array([[1, 0, 1, 0, 1]])
    for dtype, sizes in (
        (np.float32, (85, 88.5, 89.5, 92, 97, 104, 120, 300, 650)),
        (np.float64, (650, 706, 709.5, 711, 730, 746, 900, 2000, 9000)),
    ):
        for size in sizes:
            for signs, padded in (([1, 0.5], mask), ([-1], None), ([1, -1], mask), ([1, 0], None)):
                query = np.array(signs).reshape(1, 1, -1, 1) * size
                given = *(a.astype(dtype) for a in (query, 1 - near_1 / 2 / size, value)), padded
                check(student.attention_forward(*given), attend(*given), {
                    "exp overflows: subtract the largest score of each row first": (
                        overflowing(*given)),
                    "the largest score of a head is subtracted, so that exp of the other rows is "
                    "0: subtract the largest of each row": overflowing(*given, axes=(-2, -1)),
                }, of=f", for scores near {size} times {signs} in {dtype.__name__}",
                      tolerance=1e-6 if dtype == np.float64 else 3e-3)  # fmt: skip
            # Three tokens of scores near 0, 1.5 and 3 beside padding that is far above or below.
            near_0 = np.array([0, size, 1.5, size, 3]) + checks.rng(14).random(5) / 9
            arrays = [1, -1], near_0, checks.rng(15).normal(size=5)
            given = *(np.reshape(a, (1, 1, -1, 1)).astype(dtype) for a in arrays), beside
            check(student.attention_forward(*given), attend(*given), {
                "the largest score of a row is that of padding, beside which the tokens keep few "
                "digits, or none: look for the largest among the tokens": beside_padding(*given),
            }, of=f", for padding whose scores are {size} above those of tokens, and below, in "
                  f"{dtype.__name__}")  # fmt: skip


def beside_padding(query, key, value, mask):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    e = np.exp(scores - scores.max(-1, keepdims=True))
    e = np.where(mask[:, None, None, :], e, 0)
    probs = e / e.sum(-1, keepdims=True)
    return probs @ value, probs


def check_scores(student, query, key, value, mask, scale):
    given = query, key, value, mask
    # Of large scores, softmax makes 0 and 1: few mistakes can be told apart there.
    mistakes = score_mistakes(*given) | (mask_mistakes(*given) if mask is not None else {})
    if scale > 1:
        mistakes = {name: wrong for name, wrong in mistakes.items()
                    if "overflows" in name or "divided by their sum" in name}  # fmt: skip
    if scale > 1e4 and mask is not None:
        limit, name = (1e4, "10,000") if scale < 1e6 else (1e9, "1e9")
        mistakes |= limit_mistakes(*given, limit, name)
    out = student.attention_forward(*given)
    check(out, reference(*given), mistakes, of=f", for scores near {scale:g}")
    if mask is not None:
        largest = np.abs(out[1] * (1 - mask[:, None, None, :])).max()
        checks.that(largest == 0, f"a probability of padding is {largest:.3g}, not exactly 0, "
                    f"for scores near {scale:g}")  # fmt: skip


GRADIENTS = ("dquery", "dkey", "dvalue")


def check_finite(found, *right, names=("context", "probs")):
    """Of sentences that are all padding; the numbers of `right` do not count, their shapes do."""
    for part, like, name in zip(found, right, names, strict=True):
        of = f"the {name} of a sentence that is all padding"
        checks.same(np.zeros_like(part), np.zeros_like(like), of=f"{of}: shape and type")
        checks.that(bool(np.isfinite(part).all()),
                    f"{of}: {int((~np.isfinite(part)).sum())} of {part.size} numbers are not "
                    "finite",
                    likely="-inf minus -inf, or 0 / 0, is NaN: use the lowest finite number "
                           "(np.finfo)" if np.isnan(part).all() else "")  # fmt: skip


@pytest.mark.hint(3)
def test_a_row_that_is_all_padding_stays_finite(student):
    for scale, dtype, empty, whole in ((1.0, np.float64, 0, []), (1.0, np.float32, 1, []),
                                       (1e5, np.float64, 2, []), (1e12, np.float64, 1, []),
                                       (1.0, np.float64, 1, 0),
                                       (1.0, np.float32, 0, 2)):  # fmt: skip
        query, key, value, dcontext, mask = inputs((3, 2, 4, 4, 3), scale=scale, dtype=dtype)
        mask[whole], mask[empty] = 1, 0
        if scale > 1:  # all scores are negative
            query, key = -np.abs(query), np.abs(key)
        out = checks.parts(student.attention_forward(query, key, value, mask), "context", "probs")
        right = reference(query, key, value, mask)
        others = [number for number in range(3) if number != empty]
        given = query[others], key[others], value[others], mask[others]
        limit, name = (1e4, "10,000") if scale < 1e6 else (1e9, "1e9")
        check(tuple(part[others] for part in out), tuple(part[others] for part in right),
              mask_mistakes(*given) if scale == 1 else limit_mistakes(*given, limit, name),
              of=f" of the sentences that have tokens, beside one of padding, {dtype.__name__}, "
                 f"scores near {scale:g}")  # fmt: skip
        check_finite(tuple(part[empty] for part in out), right[0][empty], right[1][empty])
        if scale == 1:
            check_backward_beside_padding(student, (dcontext, query, key, value, out[1]), others)
    # Nothing but padding, in all sentences or in the only one.
    for sizes in ((3, 2, 4, 4, 3), (1, 2, 3, 5, 4)):
        query, key, value, dcontext, mask = inputs(sizes)
        given = query, key, value, np.zeros_like(mask)
        call = student.attention_forward.trace(*given)
        changed = checks.difference(call.inputs[0], given, "the arguments", 0.0)
        checks.that(not changed, "attention_forward changed its input in place, where all is "
                    f"padding: {changed}", likely=checks.IN_PLACE)  # fmt: skip
        out = checks.parts(call.value, "context", "probs")
        check_finite(out, *reference(*given))
        given = dcontext, query, key, value, out[1]
        found = checks.parts(student.attention_backward(*given), *GRADIENTS)
        check_finite(found, *backward(*given), names=GRADIENTS)
    # The example of the page.
    query = np.array([[[[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]]])
    key = np.array([[[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]]])
    value = np.array([[[[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]]]])
    for mask, probs, context in EXAMPLE:
        out = student.attention_forward(query, key, value, mask)
        check(out, (np.array([[context]]), np.array([[probs]])), {}, of=" of the page's example",
              tolerance=1e-4)  # fmt: skip


def check_backward_beside_padding(student, given, others):
    found, right = checks.parts(student.attention_backward(*given), *GRADIENTS), backward(*given)
    for name, mine, gradient in zip(GRADIENTS, found, right, strict=True):
        checks.same(mine[others], gradient[others],
                    of=f"{name} of the sentences that have tokens, beside one of padding, "
                       f"{gradient.dtype}")  # fmt: skip
        checks.that(bool(np.isfinite(mine).all()), f"{name} is not finite beside a sentence of "
                    f"padding, {gradient.dtype}")  # fmt: skip


EXAMPLE = (
    (None, [[0.4011, 0.1978, 0.4011], [0.1084, 0.4458, 0.4458], [0.2483, 0.2483, 0.5035]],
     [[2.4067, 2.2033], [2.3374, 2.6748], [2.7657, 2.7657]]),
    (np.array([[1, 1, 0]]), [[0.6698, 0.3302, 0.0], [0.1956, 0.8044, 0.0], [0.5, 0.5, 0.0]],
     [[0.6698, 0.3302], [0.1956, 0.8044], [0.5, 0.5]]),
)  # fmt: skip


def backward(dcontext, query, key, value, probs, *, soft="", scale=None):
    """The gradients, with the ways to leave something out."""
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    dprobs = dcontext @ value.mT
    rest = (dprobs * probs).sum(-1, keepdims=True)
    dscores = {
        "": probs * (dprobs - rest),
        "missing": dprobs,
        "diagonal": dprobs * probs * (1 - probs),
        "half": dprobs * probs,
        "queries": probs * (dprobs - (dprobs * probs).sum(-2, keepdims=True)),
    }[soft] * scale
    return dscores @ key, dscores.mT @ query, probs.mT @ dcontext


def backward_mistakes(dcontext, query, key, value, probs):
    given = dcontext, query, key, value, probs
    named = {
        "the scale is missing in the backward": backward(*given, scale=1.0),
        "the scale is applied twice": backward(*given, scale=1 / query.shape[-1]),
        "the backward of softmax is missing": backward(*given, soft="missing"),
        "only the diagonal p (1 - p) of softmax's Jacobian is used": (
            backward(*given, soft="diagonal")
        ),
        "the sum in the backward of softmax is missing": backward(*given, soft="half"),
        "the sum in the backward of softmax runs over the queries": backward(
            *given, soft="queries"
        ),
        "the probabilities are computed again without the mask: they came in": (
            backward(*given[:4], attend(query, key, value)[1])
        ),
    }
    right = backward(*given)
    if query.shape == key.shape:
        dscores = dcontext @ value.mT
        dscores = probs * (dscores - (dscores * probs).sum(-1, keepdims=True))
        dscores = dscores / math.sqrt(query.shape[-1])
        flipped = dscores.mT
        named |= {
            "dquery and dkey are exchanged": (right[1], right[0], right[2]),
            "dvalue needs the probabilities transposed: Aᵀ dC": (*right[:2], probs @ dcontext),
            "dkey needs dscores transposed: [key, query]": (right[0], dscores @ query, right[2]),
            "dquery is dscores @ key, without a transpose": (flipped @ key, *right[1:]),
            "dquery is dscores @ key, not @ query": (dscores @ query, *right[1:]),
        }
    return named


@pytest.mark.hint(4)
@pytest.mark.weight(4)
def test_the_backward_gives_the_gradients_of_query_key_and_value(student):
    for sizes in SIZES:
        query, key, value, dcontext, mask = inputs(sizes)
        for given_mask in (None, mask):
            probs = reference(query, key, value, given_mask)[1]
            given = dcontext, query, key, value, probs
            out = student.attention_backward(*given)
            names = ("dquery", "dkey", "dvalue")
            expected, mistakes = backward(*given), backward_mistakes(*given)
            for i in (2, 0, 1):
                checks.same(
                    checks.parts(out, *names)[i],
                    expected[i],
                    of=names[i],
                    mistakes=lambda: {name: wrong[i] for name, wrong in mistakes.items()},
                )
    # Queries, keys and values may be the same: each has a gradient of its own.
    dcontext, alike = inputs((2, 2, 4, 4, 3))[:2]
    probs = reference(alike, alike, alike)[1]
    out = student.attention_backward(dcontext, alike, alike, value=alike, probs=probs)
    right = backward(dcontext, alike, alike, alike, probs)
    for mine, gradient, name in zip(checks.parts(out, *names), right, names, strict=True):
        checks.same(mine, gradient, of=f"{name} where query, key and value are the same")
    # The example of the page: its second mask.
    query, key, value = np.array([[[[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]],
                                  [[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]],
                                  [[[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]]]])[:, None]  # fmt: skip
    dcontext = np.zeros_like(query)
    dcontext[0, 0, 0, 0] = 1.0
    probs = reference(query, key, value, np.array([[1, 1, 0]]))[1]
    out = checks.parts(student.attention_backward(dcontext, query, key, value, probs), *names)
    right = ([[0.1564, -0.1564], [0, 0], [0, 0]], [[0.1564, 0], [-0.1564, 0], [0, 0]],
             [[0.6698, 0], [0.3302, 0], [0, 0]])  # fmt: skip
    for mine, rows, name in zip(out, right, names, strict=True):
        checks.same(mine, np.array([[rows]], float), of=f"{name} of the page's example",
                    tolerance=1e-4)  # fmt: skip


def test_the_type_of_the_numbers_and_gaps_in_memory_make_no_difference(student):
    mistakes = {"the result is always float64, because the mask or the scale is": (
        lambda out: out.dtype == np.float64)}  # fmt: skip
    for dtype in (np.float32, np.float64):
        query, key, value, dcontext, mask = inputs((2, 3, 4, 4, 10), dtype=dtype)
        wrong = mistakes if dtype == np.float32 else {}
        for part in (np.s_[...], np.s_[..., ::2], np.s_[:, :, ::-1, 1::3]):
            given = query[part], key[part], value[part]
            for given_mask in (None, mask, mask.astype(np.int32), mask.astype(np.int8)):
                check(student.attention_forward(*given, given_mask),
                      reference(*given, given_mask), wrong)  # fmt: skip
            probs = reference(*given, mask)[1]
            out = student.attention_backward(dcontext[part], *given, probs)
            names = ("dquery", "dkey", "dvalue")
            expected = backward(dcontext[part], *given, probs)
            for name, mine, right in zip(names, checks.parts(out, *names), expected, strict=True):
                checks.same(mine, right, of=name, mistakes=wrong)
        given = query, key, value, reference(query, key, value, mask)[1]
        out = student.attention_backward(0 * dcontext, *given)
        for name, mine, like in zip(names, checks.parts(out, *names), given, strict=False):
            checks.same(mine, 0 * like, of=f"{name} for a dcontext of zeros")


def test_any_scale_any_width_of_mask_and_many_keys(student):
    """The gradients are linear in `dcontext`; a power of two changes no digit."""
    query, key, value, dcontext, mask = inputs((3, 2, 4, 5, 3))
    probs = reference(query, key, value, mask)[1]
    right = backward(dcontext, query, key, value, probs)
    for scale in (2.0**-60, 2.0**60):
        out = student.attention_backward(scale * dcontext, query, key, value, probs)
        for mine, gradient, name in zip(checks.parts(out, "dquery", "dkey", "dvalue"), right,
                                        ("dquery", "dkey", "dvalue"), strict=True):  # fmt: skip
            checks.same(mine / scale, gradient,
                        of=f"{name} for dcontext times {scale:.0e}, divided by that",
                        mistakes={"tiny gradients are set to 0, or large ones are cut": (
                            lambda out: bool(np.abs(out).max() < 1e-3))})  # fmt: skip
    for integer in (np.int8, np.uint8, np.uint16, np.uint64):
        given = query, key, value, mask.astype(integer)
        shown = checks.parts(student.attention_forward(*given), "context", "probs")
        check(shown, reference(*given), mask_mistakes(*given), of=f", for a mask of {integer}")
    many = inputs((1, 1, 2, 300, 3))[:3]
    for tokens in (44, 130, 256):  # 256 or more of one kind are more than 8 bits can count
        for integer in (np.int8, np.uint8):
            mask_of_8_bits = (np.arange(300)[None] < tokens).astype(integer)
            shown = checks.parts(student.attention_forward(*many, mask_of_8_bits), "context",
                                 "probs")  # fmt: skip
            check(shown, reference(*many, mask_of_8_bits), {},
                  of=f", for {tokens} tokens and a mask of {integer}")  # fmt: skip
    for keys in (300, 1_500):  # a computation in blocks of keys meets some that are all padding
        given = inputs((1, 1, 2, keys, 3))[:3]
        for tokens in (slice(-10, None), slice(0, 10), slice(keys // 2, keys // 2 + 10)):
            mask_of_few = np.zeros((1, keys), np.int64)
            mask_of_few[:, tokens] = 1
            shown = checks.parts(student.attention_forward(*given, mask_of_few), "context", "probs")
            check(shown, reference(*given, mask_of_few),
                  {"NaN where a stretch of keys is all padding: -inf minus -inf": (
                      lambda out: bool(np.isnan(out).any()))},
                  of=f", for {keys} keys of which 10 in one place are tokens")  # fmt: skip
    for size in (20, 1e6, -1e6, -1e10):  # all keys are alike: all tokens get one probability
        asked, alike, found, _, tokens = inputs((3, 2, 4, 5, 1), dtype=np.float32)
        given = np.abs(asked) * np.float32(abs(size)), 0 * alike + np.float32(size), found, tokens
        shown = checks.parts(student.attention_forward(*given), "context", "probs")
        check(shown, reference(*given), {
            "padding gets a share: beside such scores what lies below them is rounded away": (
                lambda out: bool((out * (tokens == 0)[:, None, None]).any())),
            "the rows do not add up to 1: the logarithm of the sum is lost beside large scores": (
                lambda out: not np.allclose(out.sum(-1), 1)),
        }, of=f", where all keys are {size:g}")  # fmt: skip
    checkered = np.indices((3, 2, 4, 4)).sum(0) % 2 * 2.0 - 1  # along every axis its sum is 0
    even = inputs((3, 2, 4, 5, 4))[:3]
    probs_of_even = reference(*even, mask)[1]
    out = student.attention_backward(checkered, *even, probs_of_even)
    right = backward(checkered, *even, probs_of_even)
    for name, mine, gradient in zip(("dquery", "dkey", "dvalue"), checks.parts(
            out, "dquery", "dkey", "dvalue"), right, strict=True):  # fmt: skip
        checks.same(mine, gradient, of=f"{name} for a dcontext of 1 and -1 in turn")
    # All scores lie below every round number that a mask might add or write.
    for integer in INTEGERS:
        given = 1e100 * np.abs(query), -1e100 * np.abs(key), value, mask.astype(integer)
        shown = checks.parts(student.attention_forward(*given), "context", "probs")[1]
        checks.that(
            bool((shown[np.broadcast_to(mask[:, None, None] == 0, shown.shape)] == 0).all()),
            f"padding gets a share where all scores are near -1e200, for a mask of {integer}",
            likely="the number at padding is not the lowest: use np.finfo(dtype).min")  # fmt: skip
        given = 1e7 * np.abs(query), -1e7 * np.abs(key), value
        given = *(a.astype(np.float32) for a in given), mask.astype(integer)
        check(student.attention_forward(*given), attend(*given), {},
              of=f", for float32 scores near -1e14 and a mask of {integer}")  # fmt: skip
        given[3][1] = 0
        found = checks.parts(student.attention_forward(*given), "context", "probs")
        check_finite([part[1] for part in found], *(part[1] for part in attend(*given)))
    query, key, value, *_ = inputs((1, 1, 3, 300, 4))
    shown = checks.parts(student.attention_forward(query, key, value), "context", "probs")
    check(shown, reference(query, key, value), score_mistakes(query, key, value, None),
          of=", for 300 keys")  # fmt: skip
    for row in itertools.product((0, 1), repeat=5):  # every mask of one sentence of five keys
        query, key, value, *_ = inputs((1, 2, 3, 5, 2), seed=144)
        given = query, key, value, np.array([row])
        if any(row):
            check(student.attention_forward(*given), attend(*given), {}, of=f", for the mask {row}")
    check_long_axes(student)


def check_long_axes(student):
    """Axes longer than blocks of 4,096, and two of 512: all scores count, and so does the mask."""
    lengths = [*sweep.long_axes((2, 1, 2, 3, 2)), (1, 1, 514, 515, 2), (1, 1, 512, 512, 2)]
    for length in (2_048, 2_000):  # such blocks fill these without a rest
        lengths += sweep.long_axes((1, 2, 1, 2, 2), length=length)
    for number, sizes in enumerate(lengths):
        query, key, value, dcontext, mask = inputs(sizes, seed=120 + number)
        few = (np.arange(mask.shape[1]) == mask.shape[1] - 2) + 0 * mask
        alike = 0 * query  # all scores are 0, and all tokens get one probability
        cases = [(query, None, "without a mask"), (query, mask, "with a few places of padding"),
                 (alike, None, "where all scores are 0"),
                 (alike, mask, "where all scores are 0, with a few places of padding"),
                 (alike, few, "with a single token in each row")]  # fmt: skip
        for asked, given_mask, what in (
            cases if number == 3 else cases[number < 6 or number % 2 :][:1]
        ):
            given = asked, key, value, given_mask
            check(student.attention_forward(*given), attend(*given), {
                "the mask is not used where nearly all, or nearly none, are tokens": (
                    attend(*given[:3]) if number == 3 else ()),
            }, of=f" for sizes {sizes} {what}")  # fmt: skip
        given = dcontext, query, key, value, attend(query, key, value, mask)[1]
        found = checks.parts(student.attention_backward(*given), *GRADIENTS)
        for name, mine, gradient in zip(GRADIENTS, found, backward(*given), strict=True):
            checks.same(mine, gradient, of=f"{name} for sizes {sizes}", mistakes={
                "what lies at the end of a long axis is left out": (
                    lambda out, right=gradient: bool(((out == 0) & (right != 0)).any())),
            })  # fmt: skip


@pytest.mark.hint(4)
def test_the_backward_goes_by_what_it_is_given(student):
    query, key, value, dcontext, mask = inputs((3, 2, 4, 4, 3))
    probs = reference(query, key, value, mask)[1]
    student.attention_forward(2 * query, key, value, mask)  # other probabilities of the same shape
    out = student.attention_backward(dcontext, query, key, value, probs)
    kept = reference(2 * query, key, value, mask)[1]
    named = backward_mistakes(dcontext, query, key, value, probs) | {
        "the backward uses what the last forward kept, not the probabilities that it is given": (
            backward(dcontext, query, key, value, kept)
        ),
        "the backward uses what the last forward kept, not the query that it is given": (
            backward(dcontext, 2 * query, key, value, probs)
        ),
        "the backward uses what the last forward kept, not its arguments": (
            backward(dcontext, 2 * query, key, value, kept)
        ),
    }
    names = ("dquery", "dkey", "dvalue")
    right = backward(dcontext, query, key, value, probs)
    for i, (name, mine) in enumerate(zip(names, checks.parts(out, *names), strict=True)):
        checks.same(mine, right[i], of=f"{name} after a forward with another query",
                    mistakes={says: wrong[i] for says, wrong in named.items()})  # fmt: skip
    # Of arguments that are one object, each has a gradient of its own.
    for one, other in itertools.combinations(range(4), 2):
        given = [dcontext, query, key, value, probs]
        given[one] = given[other]
        out = as_one_object(student.attention_backward, *given)
        for mine, gradient, name in zip(checks.parts(out, *names), backward(*given), names,
                                        strict=True):  # fmt: skip
            checks.same(mine, gradient, of=f"{name} where the arguments {one + 1} and {other + 1} "
                        "are one object")  # fmt: skip
    # Keys without any probability are padding only if no query and no head attends to them.
    for sharp, best in itertools.product((np.s_[:, :, 0], np.s_[:, 0], np.s_[:, :, -1]), (0, -1)):
        pointed = probs.copy()
        pointed[sharp] = np.eye(4)[best]
        given = dcontext, query, key, value, pointed
        out = student.attention_backward(*given)
        for mine, gradient, name in zip(checks.parts(out, *names), backward(*given), names,
                                        strict=True):  # fmt: skip
            checks.same(mine, gradient, of=f"{name} where some queries attend to one key alone")


INTEGERS = ["int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64"]


def test_arrays_of_any_shape_and_size(student):
    draw = sweep.Draw(11)
    sizes = [draw.shape(5) for _ in range(24)]
    sizes += [*sweep.long_axes((2, 1, 2, 3, 2), length=1_201), (1, 1, 2, 700, 2), (1, 2, 12, 12, 3)]

    def cases(*, is_backward):
        for number, size in enumerate(sizes):
            batch, heads, queries, keys, head_dim = size
            dtype = np.float32 if number % 4 in (1, 2) else np.float64
            is_long = number > 23  # there all keys and scores shall count
            is_any = dtype == np.float64 and not is_long
            query = draw.rng.normal(size=(batch, heads, queries, head_dim))
            query *= 10.0 ** (draw.rng.integers(-6, 4) if is_any else 0)
            key, value = (
                draw.floats(batch, heads, keys, head_dim, largest=most) for most in (100, 1e15)
            )
            if is_long:
                key, value = draw.rng.normal(size=(2, *key.shape))
            mask = None
            if number % 7 > 1:
                mask = draw.mask(batch, keys, dtype=draw.rng.choice(INTEGERS))
                if is_long:
                    mask[:, number % keys], mask[::2, (number + 1) % keys] = 1, 0
                if keys > 700:  # a long row may begin with padding, and end with it
                    mask[0, :300], mask[-1, -300:], mask[:, 600] = 0, 0, 1
            given = tuple(a.astype(dtype) for a in (query, key, value))
            of = f"{np.dtype(dtype)}, sizes {size}" + (
                "" if mask is None else f", {mask.dtype} mask"
            )
            if is_backward:
                # Some queries see one key alone, others of the same head several, or all alike.
                most = 1 if is_long else 400 if dtype == np.float64 else 40
                spread = [draw.rng.choice([0, 1, most], (batch, heads, queries, 1)), 1, 1]
                given = tuple((draw.rng.normal(size=a.shape) * times).astype(dtype)
                              for a, times in zip(given, spread, strict=True))  # fmt: skip
                size = 10.0 ** draw.rng.integers(-20, 100 if dtype == np.float64 else 15)
                dcontext = (draw.rng.normal(size=query.shape) * size).astype(dtype)
                yield sweep.Case(of, (dcontext, *given, attend(*given, mask)[1]), magnitude=size)
            else:
                by_name = {"value": given[2], "attention_mask": mask} if number % 2 else {}
                given = given[:2] if by_name else given if mask is None else (*given, mask)
                yield sweep.Case(of, given, by_name)

    def attended(query, key, value, attention_mask=None):
        return attend(query, key, value, attention_mask)

    sweep.agrees(
        student.attention_forward, attended, cases(is_backward=False), names=("context", "probs")
    )
    whole = draw.rng.random((2, 3, 6, 12, 128, 4), np.float32)
    of = "as many scores as a batch of BERT base has"
    padded = (np.arange(128) < np.linspace(128, 20, 6)[:, None]).astype(np.int64)
    sweep.agrees(
        student.attention_forward,
        attended,
        [
            sweep.Case(of, (*whole[0], None)),
            sweep.Case(of, (*whole[1], padded)),
            sweep.Case(of, (*(1.1 * whole[0, :, :3].astype(np.float64)), None)),
        ],
        names=("context", "probs"),
    )
    given = whole[1, 0], *whole[0]
    sweep.agrees(
        student.attention_backward,
        backward,
        [sweep.Case(of, (*given, attend(*given[1:], padded)[1]))],
        names=GRADIENTS,
    )
    # A share is tiny, and so is what its value learns; but not 0, even if the largest is 1.
    query, value = np.ones((1, 1, 1, 1)), draw.rng.normal(size=(1, 1, 41, 1))
    value[:, :, -1] = 9.0  # far from the others, so that no difference loses digits
    for highest in (40, 90):
        key = np.append(np.linspace(-40, 38, 40), highest).reshape(value.shape)
        context, probs = attend(query, key, value)
        of = f"scores from -40 to {highest}"
        for mask in (None, np.arange(43)[None] % 42 > 0):  # padding at both ends
            given = query, *((a if mask is None else np.pad(a, PAD_KEYS)) for a in (key, value))
            found = checks.parts(
                student.attention_forward(
                    *given, *([] if mask is None else [mask.astype(np.int64)])
                ),
                "context",
                "probs",
            )
            shown = found[1] if mask is None else found[1][..., 1:-1]
            sweep.same_each(shown, probs, of=f"the probabilities of {of}"
                            + ("" if mask is None else ", with padding at both ends"))  # fmt: skip
        found = student.attention_backward(2 * context, query, key, value, probs)
        right = backward(2 * context, query, key, value, probs)
        few = np.s_[:, :, : 41 if highest == 40 else 40]  # of a share of 1, dkey is a rounding
        for i, name in ((1, "dkey"), (2, "dvalue")):
            found = checks.parts(found, "dquery", "dkey", "dvalue")
            checks.same(found[i] * 0, value * 0, of=f"{name} for {of}: its shape and type")
            sweep.same_each(found[i][few], right[i][few], of=f"{name} for {of}")
    sweep.agrees(
        student.attention_backward,
        backward,
        cases(is_backward=True),
        names=("dquery", "dkey", "dvalue"),
    )
    for is_backward, function, right, names in (
        (False, student.attention_forward, attended, ("context", "probs")),
        (True, student.attention_backward, backward, GRADIENTS),
    ):
        for case in special_cases(is_backward=is_backward):
            found = checks.parts(function(*case.args, **case.options), *names)
            expected = right(*case.args, **case.options)
            for name, mine, wanted in zip(names, found, expected, strict=True):
                sweep.same(mine, wanted, of=f"{name} for {case.of}", magnitude=case.magnitude,
                           given=(case.args, case.options))  # fmt: skip
    check_that_ends_decide_nothing(student)


PAD_KEYS = ((0, 0), (0, 0), (1, 1), (0, 0))


def check_that_ends_decide_nothing(student):
    """Of five sentences, heads or tokens, the first, the middle and the last are alike, or 0, the
    others are not. In float64 each digit counts, also where float32 could hold the numbers."""
    names = ("query", "key", "value", "dcontext")
    drawn = dict(zip(names, inputs((5, 5, 5, 5, 2), seed=142), strict=False))
    drawn = {name: a.astype(np.float32).astype(np.float64) for name, a in drawn.items()}
    masks = np.array(sweep.PLACES[:3] + sweep.PLACES[5:])
    cases = [("the first, the middle and the last of five masks are alike", drawn,
              masks[[0, 1, 0, 2, 0]])]  # fmt: skip
    for number, (name, axis) in enumerate(itertools.product(names, range(3))):
        alike = "the first, the middle and the last of five "
        what = ("sentences", "heads", "tokens")[axis] + f" in the {name}"
        parts = np.concatenate([drawn[name], 0 * drawn[name].take([0], axis)], axis)
        # First, middle and last are alike, or 0, or only one of them is not; or neighbors are.
        for order in ([0, 1, 0, 2, 0], [5, 1, 5, 3, 5], [0, 1, 5, 3, 5], [5, 1, 5, 3, 0],
                      [0, 0, 1, 1, 2]):  # fmt: skip
            some = drawn | {name: parts.take(order, axis)}
            of = f"{alike}{what} are alike" if order[0] == order[2] == 0 else (
                f"some of five {what} are 0, or neighbors are alike")  # fmt: skip
            cases.append((of, some, masks if number % 2 else None))
            if axis and order[1:] == [1, 0, 2, 0]:
                one = {name: a[1:2] for name, a in some.items()}
                cases.append((f"{of}, in a single sentence", one, masks[[1 + number % 2]]))
    whole = {name: np.round(2.0**36 * drawn[name]) for name in ("query", "key")}
    cases.append(("", drawn | whole, masks))
    wide = dict(zip(names, inputs((2, 1, 3, 5, 32), seed=145), strict=False))
    for size in (127, 255, 2**15 - 1):  # their products need more bits
        whole = {name: np.round(size * np.tanh(np.abs(wide[name]))) for name in ("query", "key")}
        cases.append(("", wide | whole, masks[:2]))
    for what, given, mask in cases:
        of = f"where {what}" if what else "of large whole numbers"
        dcontext, given = given["dcontext"], tuple(given[name] for name in names[:3])
        right = attend(*given, mask)
        check(student.attention_forward(*given, mask), right, {}, of=f" {of}")
        if not what:  # of such numbers the gradients are roundings
            continue
        given = dcontext, *given, right[1]
        found = checks.parts(student.attention_backward(*given), *GRADIENTS)
        for name, mine, gradient in zip(GRADIENTS, found, backward(*given), strict=True):
            checks.same(mine, gradient, of=f"{name} {of}", magnitude=1.0)


# Round numbers, and axes that are equally long: batch, heads, queries, keys, head_dim.
ROUND = [(8, 2, 10, 6, 16), (2, 8, 16, 16, 8), (1, 12, 32, 32, 64), (16, 1, 3, 2, 1),
         (1, 16, 2, 64, 32), (1, 1, 64, 10, 12), (32, 1, 1, 8, 2), (6, 6, 6, 6, 6),
         (2, 12, 8, 12, 10), (3, 4, 5, 3, 4), (4, 10, 4, 5, 5), (64, 1, 2, 2, 4)]  # fmt: skip


# Seven numbers whose sum, ends, middle, limits, squares or product are those of zeros or of ones.
COINCIDENCES = {
    "numbers that add up to 0, with 0 at both ends and in the middle": (
        [0, -1.5, 0.5, 0, 1.25, -0.25, 0]),
    "numbers that add up to their count, with 1 at both ends and in the middle": (
        [1, -0.5, 2.5, 1, 0.25, 1.75, 1]),
    "numbers of which the largest is 1": [1, -0.5, 0.25, 1, 0.5, -2, 1],
    "numbers of which the smallest is 1": [1, 1.5, 4, 1, 2, 3, 1],
    "numbers whose product is 1": [2, 0.5, -4, -0.25, 1, 8, 0.125],
    "1 and -1": [1, -1, 1, 1, -1, 1, 1],
}  # fmt: skip


def coincidences():
    """The name of each, and a matrix whose rows and columns are these numbers, each begun at
    another place."""
    places = (np.arange(7)[:, None] - np.arange(7)) % 7
    return [(kind, np.array(row, float)[places]) for kind, row in COINCIDENCES.items()]


def mirrored(x):
    return [("a symmetric matrix", x + x.T),
            ("a matrix that is the negative of its mirror image", x - x.T),
            ("rows that are the same backwards", x + x[:, ::-1]),
            ("rows that are their own negatives backwards", x - x[:, ::-1]),
            ("one 1 in each row", np.eye(7)[[2, 0, 5, 1, 6, 4, 3]]),
            ("ones on the diagonal", np.eye(7))]  # fmt: skip


def special_cases(*, is_backward):
    found = []
    names = ("query", "key", "value", "dcontext")[: 3 + is_backward]
    for number, sizes in enumerate(ROUND):
        given = dict(zip(names, inputs(sizes, seed=80 + number), strict=False))
        padded = (checks.rng(number).random((sizes[0], sizes[3])) < 0.5).astype(np.int64)
        padded[:, number % sizes[3]] = 1
        found.append((f"sizes {sizes}", given, padded if number % 2 else None))
    usual = dict(zip(names, inputs((3, 2, 4, 5, 6), seed=95), strict=False))
    for mask in sweep.MASKS[:: 4 if is_backward else 1]:
        found.append((f"the mask {mask}", usual, mask))
    masked = []
    for one, other, shift in (("query", names[-1], 7), ("key", "value", 9)):
        kinds = [*sweep.special(usual[other])]
        for number, (what, array) in enumerate(sweep.special(usual[one])):
            too, second = kinds[(number + shift) % len(kinds)]
            mask = sweep.MASKS[len(found) % len(sweep.MASKS)] if number % 2 else None
            found.append((f"a {one} that is {what}, and a {other} that is {too}",
                          usual | {one: array, other: second}, mask))  # fmt: skip
            if not number % 2:
                masked.append((f"a {one} that is {what}, and a mask", usual | {one: array},
                               sweep.MASKS[10 + number // 2 % 2]))  # fmt: skip
    for axis in range(4):  # all of them alike, but not the mask
        alike = {name: np.repeat(a.take([0], axis), a.shape[axis], axis)
                 for name, a in usual.items()}  # fmt: skip
        found.append((f"arrays that are alike along axis {axis}", alike, sweep.MASKS[9 + axis]))
    for number, rows in enumerate(([0, 0, 1], [0, 1, 1], [0, 1, 0])):
        two = {name: a[rows] for name, a in usual.items()}
        masked.append((f"sentences {rows}, of which two are alike", two, sweep.MASKS[10]))
        masked.append((f"queries of sentences {rows}", usual | {"query": two["query"]},
                       sweep.MASKS[10 + number % 2]))  # fmt: skip
    seven = dict(zip(names, inputs((2, 1, 7, 7, 7), seed=140), strict=False))
    for kind, some in coincidences() + mirrored(checks.rng(143).normal(size=(7, 7))):
        for one, other in (("query", names[-1]), ("key", "value"), ("query", "key")):
            alike = {name: np.broadcast_to(some, (2, 1, 7, 7)) for name in (one, other)}
            masked.append((f"{kind} in the {one} and the {other}", seven | alike, None))
    for what, array in sweep.special(usual["query"][:1]):
        single = {name: a[:1] for name, a in usual.items()}
        masked.append((f"a single sentence, and a query that is {what}", single | {"query": array},
                       [[1, 0, 1, 1, 0]]))  # fmt: skip
    square = dict(zip(names, inputs((2, 2, 4, 4, 6), seed=96), strict=False))
    for one, other in itertools.combinations(names, 2):
        given = usual if usual[one].shape == usual[other].shape else square
        found.append((f"a {one} that is the {other} too", given | {one: given[other]}, None))
        masked.append((f"a {one} that is the {other} too, one sentence", {
            name: a[:1] for name, a in (square | {one: square[other]}).items()}, [[1, 0, 1, 1]]
        ))  # fmt: skip
    for what, array in sweep.special(square[names[-1]]):
        masked.append((f"a query that is the key too, and a {names[-1]} that is {what}",
                       square | {"query": square["key"], names[-1]: array}, None))  # fmt: skip
    # Of any size: what scales the keys scales the queries down, so that no score changes.
    for power in (-60, -30, 30, 60):
        of = f" times 2 to the power {power}"
        scores = {"query": usual["query"] * 2.0**power, "key": usual["key"] / 2.0**power}
        found.append((f"a query{of}, and a key divided by that", usual | scores, sweep.MASKS[0]))
        for name in names[2:]:
            scaled = {name: usual[name] * 2.0**power}
            found.append((f"a {name}{of}", usual | scaled, sweep.MASKS[9]))
    for number, (of, given, mask) in enumerate(found + masked):
        dtype = np.float32 if number % 3 == 1 else np.float64
        given = {name: a.astype(dtype) for name, a in given.items()}
        mask = None if mask is None else np.array(mask, INTEGERS[number % 8])
        if is_backward:
            probs = attend(*(given[name] for name in names[:3]), mask)[1]
            given = {"dcontext": given["dcontext"]} | given | {"probs": probs}
        elif mask is not None:
            given["attention_mask"] = mask
        of = f"{of}, {dtype.__name__}"
        magnitude = float("times" not in of)
        by_name = number % 2 == 0
        yield sweep.Case(of, () if by_name else tuple(given.values()), given if by_name else {},
                         magnitude)  # fmt: skip


def test_numbers_that_are_nearly_alike_are_not_taken_for_equal(student):
    query, key, value, dcontext, _ = inputs((3, 2, 4, 5, 6), seed=130)
    shifted = [1 + np.abs(a) for a in (query, key, value)]
    cases = [("scores that are nearly 0", (1e-6 * query, key, value), dcontext)]
    for axis in range(4):
        near = (1 + np.abs(dcontext)).take([0], axis) + 1e-6 * dcontext
        cases.append((f"a dcontext that is nearly alike along axis {axis}", (query, key, value),
                      near))  # fmt: skip
    for place, axis in itertools.product(range(3), range(4)):
        array = shifted[place]
        near = array.take([0], axis) + 1e-6 * array
        given, name = [query, key, value], ("query", "key", "value")[place]
        given[place] = near
        cases.append((f"a {name} that is nearly alike along axis {axis}", given, dcontext))
    for of, given, above in cases:
        check(student.attention_forward(*given), attend(*given), {}, of=f", for {of}")
        probs = attend(*given)[1]
        out = checks.parts(student.attention_backward(above, *given, probs), *GRADIENTS)
        right = backward(above, *given, probs)
        for name, mine, gradient in zip(GRADIENTS, out, right, strict=True):
            checks.same(mine, gradient, of=f"{name} for {of}")


def test_nothing_is_left_behind(student):
    query, key, value, dcontext, mask = inputs((3, 2, 4, 4, 3))
    checks.leaves_no_trace(student.attention_forward, query, key, value)
    checks.leaves_no_trace(student.attention_forward, query, key, value, mask)
    only_padding = np.where(np.arange(3)[:, None] > 0, 0, mask)  # in two sentences
    checks.leaves_no_trace(student.attention_forward, query, key, value, only_padding)
    alike = inputs((2, 1, 3, 3, 4))[0]  # equal arguments may be one object
    checks.leaves_no_trace(student.attention_forward, alike, alike, alike)
    probs = reference(query, query, query, mask)[1]
    checks.leaves_no_trace(student.attention_backward, dcontext, query, query, query, probs)
    # In memory, three of the masks are alike, and so are the other two: not in what they say.
    six, eight = np.array([1, 1, 0, 1, 0, 1]), np.array([[1, 0, 0, 0, 0, 0, 0, 0]], np.int8)
    for mask in (six.reshape(2, 3), six.reshape(3, 2), six[:, None], eight, eight.view(np.int64)):
        query, key, value, *_ = inputs((len(mask), 2, 3, mask.shape[1], 4))
        read = mask.any(1)
        given = query, key, value, mask
        out = checks.parts(student.attention_forward(*given), "context", "probs")
        check(tuple(part[read] for part in out), tuple(part[read] for part in reference(*given)),
              {}, of=f" after masks of other shapes, for one of {mask.dtype}{list(mask.shape)}"
              )  # fmt: skip
    check_other_shapes_of_the_same_numbers(student)


def check_other_shapes_of_the_same_numbers(student):
    """What is kept from a call must go by the shapes, and by the order of the axes in memory."""
    arrays = inputs((2, 2, 4, 4, 4), seed=131)[:4]
    for shape in ((2, 2, 4, 4), (4, 1, 4, 4), (1, 4, 4, 4), (1, 1, 16, 4), (1, 1, 4, 16), None):
        *given, dcontext = (
            np.swapaxes(a, 2, 3) if shape is None else a.reshape(shape) for a in arrays
        )
        of = f"after the same numbers in other shapes, for {given[0].shape}"
        right = attend(*given)
        check(student.attention_forward(*given), right, {}, of=f" {of}")
        given = dcontext, *given, right[1]
        out = checks.parts(student.attention_backward(*given), *GRADIENTS)
        for name, mine, gradient in zip(GRADIENTS, out, backward(*given), strict=True):
            checks.same(mine, gradient, of=f"{name} {of}")
