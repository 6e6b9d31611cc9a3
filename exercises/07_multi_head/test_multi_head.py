"""Multi-head attention: parts of vectors to heads and back, four projections, all gradients."""

import itertools
import math

import numpy as np
import pytest

from autograder import checks, sweep
from bert_numpy import attention, operations

# batch, seq, hidden, heads
SIZES = [(2, 5, 12, 3), (1, 4, 6, 2), (3, 5, 8, 1), (2, 4, 8, 4), (3, 3, 6, 3), (1, 1, 4, 4)]
ROLES = ("query", "key", "value")
NAMES = (*ROLES, "output")


def inputs(sizes, *, dtype=np.float64, seed=3):
    """x, weights with biases of the same size, dout, and a mask with padding in places."""
    batch, seq, hidden, _ = sizes
    rng = checks.rng(seed)
    x, dout = rng.normal(size=(2, batch, seq, hidden)).astype(dtype)
    weights = {}
    for name in NAMES:
        weights[f"{name}.weight"] = (rng.normal(size=(hidden, hidden)) / 2).astype(dtype)
        weights[f"{name}.bias"] = rng.normal(size=hidden).astype(dtype)
    mask = np.ones((batch, seq), np.int64)
    mask[0:1, 1:2], mask[1:2, -1] = 0, 0
    return x, weights, dout, mask


def example():
    """The second example of the page: x, weights, and its table of heads, mask and out."""
    x = np.array([[[1.0, 0, 0, 1], [0, 1, 1, 0]]])
    weights = {f"{name}.weight": np.eye(4) for name in NAMES}
    weights |= {f"{name}.bias": np.zeros(4) for name in NAMES}
    weights["output.weight"] = np.eye(4)[::-1]
    weights["output.bias"] = np.array([10.0, 0, 0, 0])
    table = [
        (2, None, [[10.6698, 0.3302, 0.3302, 0.6698], [10.3302, 0.6698, 0.6698, 0.3302]]),
        (1, None, [[10.7311, 0.2689, 0.2689, 0.7311], [10.2689, 0.7311, 0.7311, 0.2689]]),
        (2, np.array([[1, 0]]), [[11.0, 0, 0, 1], [11, 0, 0, 1]]),
    ]
    return x, weights, table


# --- Split and merge ---


def cut_wrongly(x, heads):
    batch, seq, hidden = x.shape
    return {
        "one reshape gives head 0 the whole vectors of the first tokens: cut the vectors first, "
        "then exchange the axes": x.reshape(batch, heads, seq, hidden // heads),
        "the numbers go to the heads in turn: each head gets a stretch of the vector": (
            x.reshape(batch, seq, hidden // heads, heads).transpose(0, 3, 1, 2)
        ),
        "the heads argument is ignored: this is another number of heads": lambda out: (
            np.array_equal(out, attention.split_heads(x, out.shape[1]))
        ),
        "the axes of heads and tokens are not exchanged": (
            x.reshape(batch, seq, heads, hidden // heads)
        ),
    }


def merge_wrongly(x):
    batch, heads, seq, head_dim = x.shape
    return {
        "one reshape mixes tokens: exchange the axes first, then join the parts": (
            x.reshape(batch, seq, heads * head_dim)
        ),
        "the numbers of the heads alternate: put the whole parts side by side": (
            x.transpose(0, 2, 3, 1).reshape(batch, seq, heads * head_dim)
        ),
    }


@pytest.mark.hint(1)
@pytest.mark.weight(2)
def test_each_head_gets_a_stretch_of_every_vector(student):
    for sizes in SIZES:
        x, heads = inputs(sizes)[0], sizes[3]
        checks.same(
            student.split_heads(x, heads),
            attention.split_heads(x, heads),
            of=f"{heads} heads of {x.shape}",
            mistakes=lambda: cut_wrongly(x, heads),
        )
    for heads in (1, 2, 3, 4, 6, 12):
        x = inputs((2, 5, 12, heads))[0]
        checks.same(
            student.split_heads(x=x, heads=heads),
            attention.split_heads(x, heads),
            of=f"{heads} heads of {x.shape}",
            mistakes=lambda: cut_wrongly(x, heads),
        )


@pytest.mark.hint(1)
def test_the_example_of_the_page_is_split_and_merged(student):
    x = np.array([[[1.0, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]])
    parts = np.array([[[[1.0, 2], [5, 6], [9, 10]], [[3, 4], [7, 8], [11, 12]]]])
    checks.same(
        student.split_heads(x, 2), parts, of="the parts", mistakes=lambda: cut_wrongly(x, 2)
    )
    checks.same(student.merge_heads(parts), x, of="the merged parts",
                mistakes=lambda: merge_wrongly(parts))  # fmt: skip


@pytest.mark.hint(2)
@pytest.mark.weight(2)
def test_merging_puts_the_parts_of_all_heads_side_by_side(student):
    rng = checks.rng(3)
    for batch, seq, hidden, heads in SIZES:
        x = rng.normal(size=(batch, heads, seq, hidden // heads))
        checks.same(
            student.merge_heads(x),
            attention.merge_heads(x),
            of=f"the merged heads of {x.shape}",
            mistakes=lambda: merge_wrongly(x),
        )


# --- Forward ---


def linear(x, weights, name, *, transposed=False, without=()):
    weight = weights[f"{name}.weight"]
    bias = weights[f"{name}.bias"] * (name not in without)
    return operations.linear_forward(x, weight.T if transposed else weight, bias)


def run(x, weights, heads, mask, *, flat=False, dealt=False, output=True, added=None, **more):
    """The layer by the chapter's functions, with the ways to get it wrong; and what the backward
    needs."""
    batch, seq, hidden = x.shape
    head_dim = hidden // heads
    split, merge = attention.split_heads, attention.merge_heads
    if flat:  # both errors of the reshape
        split = lambda a, n: a.reshape(batch, n, seq, head_dim)  # noqa: E731
        merge = lambda a: a.reshape(batch, seq, hidden)  # noqa: E731
    if dealt:
        split = lambda a, n: a.reshape(batch, seq, head_dim, n).transpose(0, 3, 1, 2)  # noqa: E731
        merge = lambda a: a.transpose(0, 2, 3, 1).reshape(batch, seq, hidden)  # noqa: E731
    made = [linear(x, weights, name, **more) for name in ROLES]
    ones = np.ones((batch, seq), np.int64)
    scores = attention.mask_scores(ones if mask is None else mask.astype(int), x.dtype)
    if added is not None:
        scores = np.where(scores == 0, 0, added)
    parts = (split(part, heads) for part, _ in made)
    context, cache = attention.attention_forward(*parts, scores)
    merged = merge(context)
    out, last = linear(merged, weights, "output", **more) if output else (merged, None)
    return out, ([c for _, c in made], cache, last, merged)


def forward_mistakes(x, weights, heads, mask):
    given = x, weights, heads, mask
    right = run(*given)[0]
    swapped = dict(weights)
    for part in ("weight", "bias"):
        swapped[f"query.{part}"] = weights[f"key.{part}"]
        swapped[f"key.{part}"] = weights[f"query.{part}"]
    return {
        "the mask is not passed to the attention": run(x, weights, heads, None)[0],
        "the heads argument is ignored: this is a single head": run(x, weights, 1, mask)[0],
        "the scores are divided by √hidden: divide by √head_dim": run(
            x, weights | {f"query.{part}": weights[f"query.{part}"] / math.sqrt(heads)
                          for part in ("weight", "bias")}, heads, mask)[0],
        "the weights are (out, in): x Wᵀ + b, not x W + b": run(*given, transposed=True)[0],
        "the biases are not added": run(*given, without=NAMES)[0],
        "the biases of query, key and value are not added": run(*given, without=ROLES)[0],
        "the output's bias is not added": run(*given, without=("output",))[0],
        "the value's bias is not added": run(*given, without=("value",))[0],
        "the query's bias is not added": run(*given, without=("query",))[0],
        "the output projection is missing": run(*given, output=False)[0],
        "heads are split and merged by one reshape, which mixes tokens": run(*given, flat=True)[0],
        "the numbers go to the heads in turn: each head gets a stretch of the vector": (
            run(*given, dealt=True)[0]),
        "query and key are exchanged": run(x, swapped, heads, mask)[0],
        "x is added to the result: that comes later, in the layer": right + x,
        **({} if mask is None else {
            "the results of padding are 0: padding attends like any token, but is not attended to":
                right * mask[..., None],
            "the mask of the first sentence is used for all sentences": (
                run(x, weights, heads, np.broadcast_to(mask[:1], mask.shape))[0])}),
    }  # fmt: skip


def test_the_numbers_of_the_page_come_out(student):
    x, weights, table = example()
    for heads, mask, out in table:
        # These numbers do not tell a missing bias from a missing projection.
        named = {name: wrong for name, wrong in forward_mistakes(x, weights, heads, mask).items()
                 if "bias" not in name and "projection" not in name}  # fmt: skip
        checks.same(
            student.multi_head_forward(x, weights, heads, attention_mask=mask),
            np.array([out]),
            of=f"out for {heads} heads{'' if mask is None else ' and the mask [[1, 0]]'}",
            mistakes=named,
            tolerance=1e-4,
        )
    dout = np.zeros((1, 2, 4))
    dout[0, 0, 0] = 1
    out = student.multi_head_backward(dout, x, weights, 2)
    dx, dweights = checks.parts(out, "dx", "dweights")
    checks.same(
        dx,
        np.array([[[0, 0, -0.1564, 0.9826], [0, 0, 0, 0.1738]]]),
        of="dx",
        mistakes=lambda: dx_mistakes(dout, x, weights, 2, None),
        tolerance=1e-4,
    )
    right = run_back(dout, x, weights, 2, None)[1]
    checks.same(dweights, right, of="dweights", mistakes={
        "transposed: W is (out, in), and so is its gradient": {n: g.T for n, g in right.items()},
        "a bias is used by every token: sum over batch and tokens": (
            lambda out: any(n.endswith("bias") and g.ndim > 1 for n, g in out.items())),
        "weights that are equal, or symmetric, have gradients of their own": (
            lambda out: out.keys() == right.keys())})  # fmt: skip


@pytest.mark.hint(3)
@pytest.mark.weight(3)
def test_the_layer_projects_attends_merges_and_projects(student):
    for sizes in SIZES:
        x, weights, _, mask = inputs(sizes)
        heads = sizes[3]
        for given in (None, mask):
            masked = () if given is None else (given,)
            checks.same(
                student.multi_head_forward(x, weights, heads, *masked),
                run(x, weights, heads, given)[0],
                of=f"the result for {heads} heads{', with a mask' if masked else ''}",
                mistakes=lambda: forward_mistakes(x, weights, heads, given),
            )


def test_large_scores_and_sentences_of_padding_give_finite_results(student):
    # Scores of about 100,000 of either sign, or all about -125,000; also where padding is what the
    # queries match best, by more than that.
    for dtype, scale, louder, below, empty in (
        (np.float64, 1, 1, 0, [2]),
        (np.float64, 200, 1, 0, [2]),
        (np.float64, 200, 3, 0, [0]),
        (np.float64, 1, 1, 250, [0, 1]),
        (np.float32, 1, 1, 0, [1]),
    ):
        x, weights, dout, mask = inputs((3, 5, 12, 3), dtype=dtype)
        mask[empty] = 0  # nothing but padding
        read = mask.any(1)
        tolerance = 1e-4 if dtype == np.float32 else 1e-6
        apart = {"query.bias": weights["query.bias"] + below,
                 "key.bias": weights["key.bias"] - below}  # fmt: skip
        given = scale * np.where(mask[..., None] == 0, louder * x, x), weights | apart, 3, mask
        out = student.multi_head_forward(*given)
        both = checks.parts(student.multi_head_backward(dout, *given), "dx", "dweights")
        checks.same(np.zeros_like(out), np.zeros_like(x), of="the result: its shape and type")
        checks.same(np.zeros_like(both[0]), np.zeros_like(x), of="dx: its shape and type")
        checks.that(type(both[1]) is dict, "dweights: expected a dict of the eight gradients")
        tokens_are_finite = bool(np.isfinite(out[read]).all() and np.isfinite(both[0][read]).all())
        for name, values in (("the result", out), ("dx", both[0]), *both[1].items()):
            checks.that(
                bool(np.isfinite(values).all()),
                f"{name} of x times {scale}, with a sentence of padding: "
                f"{int((~np.isfinite(values)).sum())} numbers are not finite",
                likely="0 / 0: a softmax over padding alone" if tokens_are_finite
                else "exp overflows: subtract the largest score of each row first"
                if scale > 1 else "",
            )  # fmt: skip
        checks.same(
            out[read],
            run(*given)[0][read],
            of=f"the result for x times {scale}",
            mistakes=lambda: (
                {
                    f"{added:g} is added at padding: with large scores that is not enough": (
                        run(*given, added=added)[0][read]
                    )
                    for added in (-1e5, -1e4, -1e3)
                    if scale > 1 or below
                }
                | {n: w[read] for n, w in forward_mistakes(*given).items()}
            ),
            tolerance=tolerance,
        )
        checks.same(both[0][read], run_back(dout, *given)[0][read], of=f"dx for x times {scale}",
                    mistakes=lambda: {n: w[read] for n, w in dx_mistakes(dout, *given).items()},
                    tolerance=tolerance)  # fmt: skip
    check_batches_of_padding(student)
    check_equal_large_scores(student)
    check_whole_numbers(student)
    check_near_the_limits_of_exp(student)
    check_largest_scores_that_are_equal(student)


def check_largest_scores_that_are_equal(student):
    """Two tokens that are alike share the attention, however far the others lie below them."""
    _, weights, _, _ = inputs((1, 5, 3, 1), seed=98)
    x = np.ones((1, 5, 3))
    x[0, :, 0] = [300, 100, -300, 300, 0]
    for name in ROLES:
        weights[f"{name}.weight"] = np.eye(3) * [1, 0, 0] if name != "value" else np.eye(3)
        weights[f"{name}.bias"] = np.zeros(3)
    x[0, :, 1:] = checks.rng(125).normal(size=(5, 2))
    for dtype, mask in itertools.product((np.float64, np.float32), (None, [[1, 1, 1, 1, 0]])):
        given = (x.astype(dtype), {n: w.astype(dtype) for n, w in weights.items()}, 1,
                 None if mask is None else np.array(mask))  # fmt: skip
        checks.same(student.multi_head_forward(*given), run(*given)[0], tolerance=1e-3,
                    of=f"the {dtype.__name__} result where two tokens have the same large score",
                    mistakes=lambda: {"all attention goes to the first of the largest scores: "
                                      "equal scores have equal probabilities": (
                                          run(*given[:3], np.array([[1, 1, 1, 0, 1]]))[0])}
                    )  # fmt: skip


def check_whole_numbers(student):
    """Scores near 100,000 that are whole numbers or halves: float32 rounds none of them."""
    rng = checks.rng(3)
    for dtype, is_masked in itertools.product((np.float32, np.float64), (False, True)):
        x, weights, dout, mask = inputs((3, 5, 8, 2))
        x = rng.integers(-90, 91, x.shape).astype(dtype)
        weights = {name: rng.integers(-4, 5, w.shape).astype(dtype) for name, w in weights.items()}
        given = x, weights, 2, mask if is_masked else None
        of = f"{dtype.__name__} scores near 100,000"
        largest = {"large scores are cut: subtract the largest of each row": lambda out: True}
        checks.same(student.multi_head_forward(*given), run(*given)[0], tolerance=1e-3,
                    of=f"the result for {of}", mistakes=largest)  # fmt: skip
        dout = dout.astype(dtype)
        found = checks.parts(student.multi_head_backward(dout, *given), "dx", "dweights")
        checks.that(type(found[1]) is dict, "dweights: expected a dict of the eight gradients")
        right = run_back(dout, *given)
        for name in ("value.bias", "value.weight", "output.weight"):
            checks.same(found[1].get(name), right[1][name], of=f"dweights[{name!r}] for {of}",
                        tolerance=1e-4, magnitude=1.0, mistakes=largest)  # fmt: skip


def check_equal_large_scores(student):
    """Tokens that are alike share every query's attention equally, however large the scores."""
    x, weights, dout, mask = inputs((1, 3, 4, 1), dtype=np.float32)
    x = np.full_like(x, 300)
    weights = {
        name: np.sign(w) * np.float32(name.endswith("weight")) for name, w in weights.items()
    }
    weights["query.weight"], weights["key.weight"] = 2 * [np.ones_like(weights["key.weight"])]
    given = x, weights, 1, np.ones_like(mask)
    found = checks.parts(student.multi_head_backward(dout, *given), "dx", "dweights")[1]
    right = run_back(dout, *given)[1]
    checks.same(found["value.bias"], right["value.bias"], tolerance=1e-5,
                of="the gradient of value.bias for three equal tokens of large scores",
                mistakes={"the logarithm of the sum is lost beside large scores": lambda out: True}
                )  # fmt: skip
    # With padding, and scores of all tokens near 115,000, then near -115,000.
    x, padded = np.full_like(x, 60), mask * [[1, 1, 0]]
    x[padded == 0] = 0
    for sign in (1, -1):
        weights["key.weight"] = np.full_like(weights["query.weight"], sign)
        given = x, weights, 1, padded
        checks.same(student.multi_head_forward(*given), run(*given)[0], tolerance=1e-5,
                    of=f"the float32 result for scores near {sign * 115_000:,}",
                    mistakes=lambda: {"padding has a score that those of tokens can be below": (
                        run(*given, added=-1e5)[0])})  # fmt: skip


def check_near_the_limits_of_exp(student):
    """exp overflows above 88.7 in float32, above 709.8 in float64, and loses digits where it is
    below 1e-38 or 1e-308. The scores of a token are near a size of either sign, or near 0."""
    for dtype, sizes in (
        (np.float32, (300, 120, 104, 97, 92, 89.5, 88.5)),
        (np.float64, (2000, 900, 746, 730, 711, 709.5, 706)),
    ):
        for size, signs in itertools.product(sizes, ([1, 1, 1], [-1, -1, -1], [1, -1, 0])):
            # Queries, keys and values read a number each.
            x, weights, _, mask = inputs((1, 3, 3, 1))
            x[0, :, 0] = np.array(signs) * size * math.sqrt(3)
            x[0, :, 1] = 1 - np.abs(np.tanh(x[0, :, 1])) / 2 / size
            for place, name in enumerate(ROLES):
                weights[f"{name}.weight"] = np.eye(3)[place] * np.ones((3, 3))
                weights[f"{name}.weight"][1:] = 0
                weights[f"{name}.bias"] = np.zeros(3)
            weights = {name: w.astype(dtype) for name, w in weights.items()}
            given = x.astype(dtype), weights, 1, mask if min(signs) > 0 else None
            checks.same(student.multi_head_forward(*given), run(*given)[0], tolerance=3e-3,
                        of=f"the result for scores near {size} times {signs}, {dtype.__name__}",
                        mistakes={"exp overflows, or is 0 in all of a row: subtract the largest "
                                  "score of each row first": (
                                      lambda out: bool(np.isnan(out).any()))})  # fmt: skip


def check_batches_of_padding(student):
    """A batch that holds nothing but padding gives results of every name, shape and type."""
    for batch, dtype in ((1, np.float64), (2, np.float64), (3, np.float32)):
        x, weights, dout, mask = inputs((batch, 4, 6, 2), dtype=dtype)
        given = x, weights, 2, 0 * mask
        out = student.multi_head_forward(*given)
        both = checks.parts(student.multi_head_backward(dout, *given), "dx", "dweights")
        checks.that(type(both[1]) is dict and both[1].keys() == weights.keys(),
                    "for a batch of padding alone, dweights lacks some of the eight gradients",
                    likely="where there is no token, too early a return")  # fmt: skip
        for name, values, like in (
            ("the result", out, x),
            ("dx", both[0], x),
            *((name, both[1][name], weights[name]) for name in weights),
        ):
            of = f"{name} for a batch of padding alone"
            checks.same(values * 0, like * 0, of=f"{of}, times 0: its shape, its type, no NaN")


# --- Backward ---


def run_back(dout, x, weights, heads, mask, *, paths=ROLES, transposed=False, flat=False):
    """dx, and the gradients of all weights, with the ways to leave something out."""
    _, (projections, cache, last, _) = run(x, weights, heads, mask)
    dweights = {}
    dmerged, dweights["output.weight"], dweights["output.bias"] = (
        operations.linear_backward(dout, last))  # fmt: skip
    if transposed:
        dmerged = dout @ weights["output.weight"].T
    dcontext = attention.split_heads(dmerged, heads)
    if flat:
        dcontext = dmerged.reshape(dcontext.shape)
    parts = attention.attention_backward(dcontext, cache)
    dx = np.zeros_like(x)
    for name, part, saved in zip(ROLES, parts, projections, strict=True):
        part = attention.merge_heads(part)
        dpart, dweights[f"{name}.weight"], dweights[f"{name}.bias"] = (
            operations.linear_backward(part, saved))  # fmt: skip
        if transposed:
            dpart = part @ weights[f"{name}.weight"].T
        dx += dpart if name in paths else 0
    return dx, dweights


def dx_mistakes(dout, x, weights, heads, mask):
    given = dout, x, weights, heads, mask
    return {
        **{f"only the path through the {name} is there: x was used three times": (
            run_back(*given, paths=(name,))[0]) for name in ROLES},
        **{f"the path through the {name} is missing: x was used three times": (
            run_back(*given, paths=[n for n in ROLES if n != name])[0]) for name in ROLES},
        "the mean of the three paths: their sum is asked for": run_back(*given)[0] / 3,
        "the mask is forgotten in the backward": run_back(*given[:4], None)[0],
        "the heads argument is ignored in the backward": run_back(*given[:3], 1, mask)[0],
        "the backward of the output projection is missing": (
            run_back(dout, x, {**weights, "output.weight": np.eye(x.shape[2])}, heads, mask)[0]),
        "the backward of the output projection is transposed: dx = dout W": (
            run_back(dout @ weights["output.weight"].T, x,
                     {**weights, "output.weight": np.eye(x.shape[2])}, heads, mask)[0]),
        "the weights are transposed in the backward: dx = dout W": (
            run_back(*given, transposed=True)[0]),
        "the gradient of the merged heads is to be split by split_heads, not by a reshape": (
            run_back(*given, flat=True)[0]),
        "dout is not used": run_back(np.ones_like(dout), *given[1:])[0],
    }  # fmt: skip


@pytest.mark.hint(4)
@pytest.mark.weight(3)
def test_the_gradient_for_x_is_a_sum_of_three(student):
    for sizes in SIZES:
        x, weights, dout, mask = inputs(sizes)
        ends = mask * (np.arange(mask.shape[1]) < max(1, mask.shape[1] - 1))  # all end in padding
        for given_mask in (None, mask, ends):
            given = dout, x, weights, sizes[3], given_mask
            masked = given if given_mask is not None else given[:-1]
            dx = checks.parts(student.multi_head_backward(*masked), "dx", "dweights")[0]
            checks.same(dx, run_back(*given)[0], of="dx", mistakes=lambda: dx_mistakes(*given))


@pytest.mark.hint(3)
@pytest.mark.weight(3)
def test_every_weight_and_bias_has_its_gradient(student):
    for sizes, masked in [(sizes, masked) for sizes in SIZES for masked in (True, False)]:
        x, weights, dout, mask = inputs(sizes)
        given = dout, x, weights, sizes[3], mask if masked else None
        got = checks.parts(student.multi_head_backward(*given), "dx", "dweights")[1]
        right = run_back(*given)[1]
        if type(got) is not dict or got.keys() != right.keys():
            checks.same(got, right, of="dweights")
        unmasked, merged = run_back(*given[:4], None)[1], run(*given[1:])[1][3]
        tokens = x.shape[0] * x.shape[1]
        for name, role in ((f"{r}.{part}", r) for r in NAMES for part in ("weight", "bias")):
            mistakes = {
                "no gradient at all": np.zeros_like(right[name]),
                "the mask is forgotten in the backward": unmasked[name],
                "a sum over all tokens, not their mean": right[name] / tokens,
                "a sum over all tokens, not a mean over the sentences": right[name] / x.shape[0],
                "the gradients of query and key are exchanged": right[
                    {"query": "key", "key": "query"}.get(role, role) + name[len(role) :]
                ],
                "a bias is used by every token: sum over batch and tokens": (
                    lambda out, n=name, h=sizes[2]: (
                        n.endswith("bias") and out.ndim > 1 and out.shape[-1] == h
                    )
                ),
            }
            if name.endswith("weight"):
                mistakes["transposed: W is (out, in), and so is its gradient"] = right[name].T
            if name == "output.weight":
                flat = dout.reshape(tokens, -1)
                mistakes["the output projects the merged heads, not x"] = flat.T @ x.reshape(
                    tokens, -1
                )
                mistakes["the heads are to be merged for the output's gradient"] = (
                    flat.T @ attention.split_heads(merged, sizes[3]).reshape(tokens, -1)
                )
            checks.same(got[name], right[name], of=f"dweights[{name!r}]", mistakes=mistakes)


def test_float32_float64_and_arrays_with_gaps_are_fine(student):
    for dtype, sizes in itertools.product((np.float32, np.float64), ((2, 4, 12, 3), (1, 5, 20, 1))):
        x, weights, dout, mask = inputs(sizes, dtype=dtype)
        mistakes = {"the result is always float64": (
            lambda out, dtype=dtype: out.dtype == np.float64 != dtype)}  # fmt: skip
        tolerance = 1e-4 if dtype == np.float32 else None
        for gaps in (np.s_[...], np.s_[..., ::-1]):
            given = x[gaps], weights, sizes[3], mask.astype(np.int32)
            checks.same(
                student.multi_head_forward(*given),
                run(*given)[0],
                of=f"the {dtype.__name__} result",
                tolerance=tolerance,
                mistakes=lambda: mistakes | forward_mistakes(*given),
            )
            dx, dweights = checks.parts(student.multi_head_backward(dout, *given), "dx", "dweights")
            right = run_back(dout, *given)
            checks.same(dx, right[0], of=f"the {dtype.__name__} dx", tolerance=tolerance,
                        mistakes=lambda: mistakes | dx_mistakes(dout, *given))  # fmt: skip
            checks.same(dweights, right[1], of=f"the {dtype.__name__} dweights",
                        tolerance=tolerance)  # fmt: skip
        out = student.multi_head_backward(0 * dout, x, weights, sizes[3], mask)
        none = {name: 0 * weight for name, weight in weights.items()}
        checks.same(checks.parts(out, "dx", "dweights"), (0 * x, none),
                    of=f"(dx, dweights) for a {dtype.__name__} dout of zeros")  # fmt: skip


def test_any_scale_any_order_in_memory_and_any_head_size(student):
    """The gradients are linear in `dout`; a power of two changes no digit."""
    x, weights, dout, mask = inputs((3, 5, 12, 3))
    mask[0] = 1  # the first sentence is whole, others are not
    mask[1, -1] = 0
    heads_of_one = inputs((2, 4, 3, 3))
    transposed = {name: np.asfortranarray(w) for name, w in weights.items()}
    small = {name: w * (1e-9 if "bias" in name else 1) for name, w in weights.items()}
    cases = [("whole first sentence", x, weights, 3, mask, dout, 1.0),
             ("tiny dout", x, weights, 3, mask, dout, 2.0**-60),
             ("large dout", x, weights, 3, mask, dout, 2.0**60),
             ("arrays in Fortran's order", x, transposed, 3, mask, np.asfortranarray(dout), 1.0),
             ("tiny biases", 1e-9 * x, small, 3, mask, dout, 1.0),
             ("heads of one number", *heads_of_one[:2], 3, None, heads_of_one[2], 1.0)]  # fmt: skip
    for of, x, weights, heads, mask, dout, scale in cases:
        given = x, weights, heads, mask
        times = 1e9 if of == "tiny biases" else 1.0
        checks.same(student.multi_head_forward(*given) * times, run(*given)[0] * times,
                    of=f"the result: {of}", mistakes=lambda: {
                        n: w * times for n, w in forward_mistakes(*given).items()})  # fmt: skip
        out = student.multi_head_backward(scale * dout, *given)
        dx, dweights = checks.parts(out, "dx", "dweights")
        right = run_back(dout, *given)
        cut = {
            "tiny gradients are set to 0, or large ones are cut": lambda out: bool(
                np.abs(out).max() < 1e-3
            )
        }
        checks.same(dx / scale, right[0], of=f"dx: {of}", mistakes=cut)
        if type(dweights) is not dict or dweights.keys() != right[1].keys():
            checks.same(dweights, right[1], of="dweights")
        for name, gradient in right[1].items():
            checks.same(dweights[name] / scale, gradient, of=f"dweights[{name!r}]: {of}",
                        mistakes=cut)  # fmt: skip


@pytest.mark.hint(2)
def test_parts_may_lie_in_memory_in_any_order(student):
    """A split by `transpose` leaves the parts in another order than their axes have."""
    x = inputs((2, 3, 8, 4))[0]
    parts = attention.split_heads(x, 4)
    # First in the usual order: what is wrong there is no matter of memory.
    checks.same(student.merge_heads(parts.copy()), x, of="the merged parts",
                mistakes=lambda: merge_wrongly(parts))  # fmt: skip
    checks.same(student.split_heads(x, 4), parts, of="the parts",
                mistakes=lambda: cut_wrongly(x, 4))  # fmt: skip
    memory = {"the numbers are read in the order of memory (order='A' or 'K'), or written to a "
              "reshape that is a copy": lambda out: True}  # fmt: skip
    for axes in itertools.permutations(range(4)):
        given = parts.transpose(axes).copy().transpose(np.argsort(axes))
        checks.same(student.merge_heads(given), x, mistakes=memory,
                    of=f"the merged parts, whose axes lie in memory as {axes}")  # fmt: skip
    for axes in itertools.permutations(range(3)):
        given = x.transpose(axes).copy().transpose(np.argsort(axes))
        checks.same(student.split_heads(given, 4), parts, mistakes=memory,
                    of=f"the parts of vectors whose axes lie in memory as {axes}")  # fmt: skip


def test_arrays_of_any_shape_and_size(student):
    draw = sweep.Draw(11)
    sizes = [
        (batch, seq, heads * head_dim, heads)
        for batch, seq, heads, head_dim in (draw.shape(4) for _ in range(32))
    ]
    # For odd numbers there is a mask.
    layers = [*sizes[:16], (300, 2, 4, 2), (300, 2, 4, 2), (1, 600, 4, 2), (1, 1_100, 2, 1),
              (2, 2, 266, 2), (1, 2, 256, 128)]  # fmt: skip
    parts = [*sizes, (4_001, 2, 4, 2), (2, 4_001, 4, 2), (2, 3, 4_002, 2), (1, 2, 4_001, 4_001)]

    def cut():
        for size, dtype in itertools.product(parts, ("float32", "float64")):
            x = draw.floats(*size[:3], dtype=dtype)
            yield sweep.Case(f"{x.dtype}{list(x.shape)}, {size[3]} heads", (x, size[3]))

    sweep.agrees(student.split_heads, attention.split_heads, cut(), may_share=True)  # a view
    sweep.agrees(
        student.merge_heads,
        attention.merge_heads,
        (sweep.Case(case.of, (attention.split_heads(*case.args),)) for case in cut()),
        may_share=True,
    )
    integers = ["int64", "uint8", "uint32", "int16", "int32", "uint16", "uint64", "int8"]

    def cases(*, is_backward):
        for number, (batch, seq, hidden, heads) in enumerate(layers):
            dtype = np.dtype("float32" if number % 4 in (1, 2) else "float64")
            x, weights, dout, _ = inputs((batch, seq, hidden, heads), seed=20 + number)
            weights = {name: (w / math.sqrt(hidden)).astype(dtype) for name, w in weights.items()}
            if not is_backward and number < 16 and number % 3:  # there large values would cancel
                for name in ("value.bias", "output.bias"):
                    weights[name] *= dtype.type(10.0 ** draw.rng.integers(0, 7))
            if number < 16:
                x *= 10.0 ** draw.rng.integers(-3, 2 if dtype == "float64" else 1)
            options = {}
            if number % 2:
                mask = draw.rng.random((batch, seq)) < 0.6
                mask[:, -(number % seq)] = True
                if seq > 1_000:  # a long row may begin with padding; 768 tokens are 0 in 8 bits
                    mask[:] = False
                    mask[:, checks.rng(3).permutation(seq - 300)[:768] + 300] = True
                options = {"attention_mask": mask.astype(integers[number // 2 % 8])}
            else:  # a vector of zeros is a token like any other
                x[:, -1] = 0
            given = x.astype(dtype), weights, heads
            if number % 4 == 3:
                options["heads"], given = heads, given[:2]
            of = f"{dtype} (batch, seq, hidden) {x.shape}, {heads} heads"
            if is_backward:
                scale = 10.0 ** draw.rng.integers(-20, 100 if dtype == "float64" else 15)
                if number % 5 == 4:  # the gradient of each sentence has the sum 0, exactly
                    dout, scale = np.round(3 * dout), 1.0
                    dout -= np.flip(dout, (1, 2))
                magnitude = scale * (1e-5 if dtype == "float64" else 0.1)
                given = (scale * dout).astype(dtype), *given
                yield sweep.Case(of, given, options, magnitude)
            else:
                yield sweep.Case(of, given, options)

    def right(x, weights, heads, attention_mask=None):
        return run(x, weights, heads, attention_mask)[0]

    def right_back(dout, x, weights, heads, attention_mask=None):
        dx, dweights = run_back(dout, x, weights, heads, attention_mask)
        del dweights["key.bias"]  # it is 0 apart from rounding
        return dx, dweights

    sweep.agrees(student.multi_head_forward, right, cases(is_backward=False))
    of = "as many scores as a batch of BERT base has"
    one, other = (inputs((6, 128, 24, 12), seed=seed, dtype=np.float32) for seed in (60, 61))
    lengths = np.array([[128], [60], [100], [31], [128], [77]])  # 128 does not fit into 8 bits
    masked = *other[:2], 12, (np.arange(128) < lengths).astype(np.int8)
    sweep.agrees(student.multi_head_forward, right, [
        sweep.Case(of, (*one[:2], 12)), sweep.Case(f"{of}, with a mask", masked)])  # fmt: skip
    whole = sweep.Case(f"{of}, with a mask", (other[2], *masked), magnitude=0.1)
    for number, case in enumerate((*cases(is_backward=True), whole)):
        args, options = sweep.laid_out((case.args, case.options), number)
        out = checks.parts(student.multi_head_backward(*args, **options), "dx", "dweights")
        expected = right_back(*case.args, **case.options)
        for name, got, wanted in (
            ("dx", out[0], expected[0]),
            *(
                (f"dweights[{n!r}]", out[1].get(n) if type(out[1]) is dict else out[1], w)
                for n, w in expected[1].items()
            ),
        ):
            # Where softmax gives almost 0 and 1, the gradient of the scores is a small difference.
            largest = max(1.0, float(np.abs(case.args[1]).max()))
            rounding = case.magnitude * largest ** (3 if name.endswith("weight']") else 2)
            sweep.same(got, wanted, of=f"{name} for {case.of}", magnitude=rounding)
    check_special_arrays(student)
    check_that_ends_decide_nothing(student)
    check_long_axes(student)


def check_long_axes(student):
    """More than 4,096 tokens, one of 208 is padding, a hidden size above 1,024: all count."""
    for number, sizes in enumerate([(4_101, 2, 2, 2), (1, 208, 2, 1), (1, 2, 770, 2),
                                    (1, 2, 1_030, 515)]):  # fmt: skip
        batch, seq, hidden, heads = sizes
        x, weights, dout, mask = inputs((batch, seq, 2, heads), seed=120 + number)
        if hidden > 2:
            rng = checks.rng(124)
            x, dout = rng.normal(size=(2, batch, seq, hidden)).astype(np.float32)
            drawn = (rng.random((hidden, hidden), np.float32) - 0.5) / 9
            for place, name in enumerate(NAMES):  # all of them are different
                weights[f"{name}.weight"] = np.roll(drawn, place)
                weights[f"{name}.bias"] = 9 * drawn[place]
        given = x, weights, heads, mask
        of = f"(batch, seq, hidden) {x.shape}, {heads} heads"
        checks.same(student.multi_head_forward(*given), run(*given)[0], of=f"the result for {of}",
                    tolerance=1e-3 if x.dtype == np.float32 else None,
                    mistakes=lambda: {"the mask is not used where nearly all are tokens": (
                        run(*given[:3], None)[0])})  # fmt: skip
        if hidden > 1_000:  # these matrices take long enough once
            continue
        out = student.multi_head_backward(dout, *given)
        dx, dweights = checks.parts(out, "dx", "dweights")
        checks.that(type(dweights) is dict, "dweights: expected a dict of the eight gradients")
        right = run_back(dout, *given)
        del right[1]["key.bias"]  # it is 0 apart from rounding
        for name, mine, wanted in (
            ("dx", dx, right[0]),
            *((f"dweights[{n!r}]", dweights.get(n), w) for n, w in right[1].items()),
        ):
            sweep.same(mine, wanted, of=f"{name} for {of}", magnitude=1.0)


# Round numbers, and axes that are equally long: batch, seq, hidden, heads.
ROUND = [(8, 10, 16, 2), (2, 16, 16, 8), (1, 32, 32, 16), (16, 2, 6, 3), (3, 3, 9, 3),
         (1, 64, 8, 1), (1, 4, 128, 2), (32, 1, 4, 2), (2, 12, 12, 12), (6, 6, 6, 6), (1, 6, 32, 8),
         (64, 2, 2, 1), (5, 5, 20, 5), (1, 10, 24, 12)]  # fmt: skip


def special_cases(*, is_backward):
    """What is special, x, weights, heads, a mask, and dout."""
    for number, sizes in enumerate(ROUND):
        x, weights, dout, mask = inputs(sizes, seed=80 + number)
        mask = mask if number % 2 and mask.any(1).all() else None
        yield f"sizes {sizes}", x, weights, sizes[3], mask, dout
    x, weights, dout, _ = inputs((3, 5, 6, 2), seed=95)
    for mask in sweep.MASKS[:: 4 if is_backward else 1]:
        yield f"the mask {mask}", x, weights, 2, mask, dout
    masks, biases = itertools.cycle(sweep.MASKS), [f"{name}.bias" for name in NAMES]
    kinds = [*sweep.special(dout)]
    for number, (what, array) in enumerate(sweep.special(x)):
        too, second = kinds[(number + 5) % len(kinds)] if is_backward else ("drawn", dout)
        of = f"an x that is {what}, and a dout that is {too}"
        if number % 2 or not is_backward:
            yield of, array, weights, 2, next(masks), second
        if not number % 2 or not is_backward:
            yield of, array, weights, 2, None, second
    for one, other, shift in (("query", "output", 4), ("key", "value", 7)):
        kinds = [*sweep.special(weights[f"{other}.weight"])]
        for number, (what, array) in enumerate(sweep.special(weights[f"{one}.weight"])):
            too, second = kinds[(number + shift) % len(kinds)]
            changed = weights | {f"{one}.weight": array, f"{other}.weight": second}
            yield (f"a weight of {one} that is {what}, and of {other} that is {too}", x, changed, 2,
                   next(masks), dout)  # fmt: skip
    for what, _ in sweep.special(weights["key.bias"]):
        changed = {name: dict(sweep.special(weights[name]))[what] for name in biases}
        yield f"biases that are {what}", x, weights | changed, 2, next(masks), dout
    for one, other in itertools.combinations(NAMES, 2):
        changed = {f"{one}.{part}": weights[f"{other}.{part}"] for part in ("bias", "weight")}
        yield f"a {one} with the arrays of the {other}", x, weights | changed, 2, None, dout
        del changed[f"{one}.bias"]
        yield f"a {one} with the matrix of the {other}", x, weights | changed, 2, None, dout
    yield "a dout that is x", x, weights, 2, sweep.MASKS[0], x
    for axis in range(2):
        x, dout = (np.repeat(a.take([0], axis), a.shape[axis], axis) for a in (x, dout))
        yield f"x and dout that are alike along axis {axis}", x, weights, 2, sweep.MASKS[9], dout
    # Of any size, so that neither queries, keys and values change, nor what is made of them.
    x, weights, dout, mask = inputs((3, 5, 6, 2), seed=96)
    for times in (2.0**-50, 2.0**40):
        changed = {f"{name}.weight": weights[f"{name}.weight"] / times for name in ROLES}
        of = f"x times {times:g}, weights divided by it"
        yield of, x * times, weights | changed, 2, None, dout
        changed = {f"{name}.{part}": weights[f"{name}.{part}"] * factor
                   for name, factor in (("query", times), ("key", 1 / times))
                   for part in ("weight", "bias")}  # fmt: skip
        yield f"queries times {times:g}, keys divided by it", x, weights | changed, 2, mask, dout
        changed = {f"value.{part}": weights[f"value.{part}"] * times for part in ("weight", "bias")}
        changed["output.weight"] = weights["output.weight"] / times
        yield f"values times {times:g}, output divided by it", x, weights | changed, 2, mask, dout
    x, weights, dout, _ = inputs((3, 5, 6, 2), seed=97)
    for rows in ([0, 0, 1], [0, 1, 1], [0, 1, 0]):
        of = f"sentences {rows}, of which two are alike"
        yield of, x[rows], weights, 2, sweep.MASKS[10], dout
        yield f"{of}, and so is dout", x[rows], weights, 2, sweep.MASKS[10], dout[rows]
    for names in (*((name,) for name in NAMES), ROLES[:2], NAMES):
        parts = [f"{name}.{part}" for name in names for part in ("weight", "bias")]
        changed = {name: 0 * weights[name] for name in parts}
        for mask in (None, sweep.MASKS[10]):
            of = f"matrices and biases of {' and '.join(names)} that are 0"
            yield of + ", with a mask" * bool(mask), x, weights | changed, 2, mask, dout
    # What a sum, or some of the rows, cannot tell from zeros, ones, or rows that are all alike.
    x, weights, dout, _ = inputs((5, 5, 6, 2), seed=126)
    zeros = {name: balanced(w) for name, w in weights.items()}
    of = "vectors and weights that add up to 0 along every axis"
    yield of, balanced(x), zeros, 2, None, balanced(dout)
    ones = {name: 1 + w if "bias" in name else np.eye(6) + w - w.T for name, w in zeros.items()}
    of = "matrices with the sums and the diagonal of the unit matrix, and the rest of mean 1"
    yield of, 1 + balanced(x), ones, 2, None, 1 + balanced(dout)
    mask, rows = np.array(sweep.PLACES[:5]), [0, 1, 0, 2, 0]
    of = "of which the first, the middle and the last are alike"
    yield f"five masks {of}", x, weights, 2, mask[rows], dout
    yield f"five sentences {of}", x[rows], weights, 2, mask, dout
    yield f"five sentences {of}, and so are their masks", x[rows], weights, 2, mask[rows], dout
    yield f"five gradients {of}", x, weights, 2, mask, dout[rows]
    single = np.eye(6)[checks.rng(129).integers(0, 6, x.shape[:2])]
    yield "vectors of a single 1", single, weights, 2, None, dout
    yield from matrices_of_a_form()
    x, weights, dout, _ = inputs((3, 5, 6, 2), seed=130)
    one = np.zeros_like(dout)
    one[1, 2, 4] = -2.5
    yield "a dout of a single number that is not 1", x, weights, 2, sweep.MASKS[10], one
    both_ways = x + x[:, ::-1], dout + dout[:, ::-1]
    of = "sentences that are the same from both ends, and masks that are not"
    yield of, both_ways[0], weights, 2, sweep.MASKS[10], both_ways[1]
    x, weights, dout, _ = inputs((1, 300, 4, 2), seed=129)
    yield "a single token among 300", x, weights, 2, np.arange(300)[None] == 200, dout


def matrices_of_a_form():
    """Matrices that look simpler than they are: some of their numbers, the sizes of these, or a
    product are those of the unit matrix, of a diagonal one or of a symmetric one."""
    x, weights, dout, _ = inputs((3, 5, 6, 2), seed=131)
    w = checks.rng(132).normal(size=(6, 6))
    signs, inverse, inner = np.array([1.0, -1, 1, 1, -1, -1]), np.eye(6), w.copy()
    turned = np.linalg.qr(w)[0]
    inverse[3:, 3:], inverse[:3, 3:] = -np.eye(3), np.round(3 * w[:3, 3:])
    for end in (0, -1):  # outside of it, the rows and columns are those of a diagonal matrix
        inner[end], inner[:, end] = w[end, end] * np.eye(6)[end], w[end, end] * np.eye(6)[:, end]
    forms = {
        "minus the unit matrix": -np.eye(6),
        "ones and minus ones along the diagonal": np.diag(signs),
        "a number in each row and column, 1 or -1": np.roll(np.diag(signs), 1, 0),
        "a number in each row and column": np.roll(np.diag(w[0]), 1, 1),
        "its own inverse": inverse,
        "minus what it is after a transpose": w - w.T,
        "diagonal in the first and the last row and column": inner,
        "0 above the diagonal": np.tril(w),
        "0 below and along the diagonal": np.triu(w, 1),
        "the same number along each diagonal": w[0][(np.arange(6)[:, None] - np.arange(6)) % 6],
        "of rank 1": np.outer(w[0], w[1]),
        "that turns vectors": turned,
        "that turns vectors and mirrors them": turned * signs[:, None],
        "symmetric, with ones along the diagonal": w + w.T - np.diag(2 * w.diagonal() - 1),
    }
    for place, of in enumerate(forms):  # each role has each form once
        changed = {}
        for shift, name in enumerate(NAMES):
            changed[f"{name}.weight"] = [*forms.values()][(place + 3 * shift) % len(forms)]
            if place % 2:
                changed[f"{name}.bias"] = 1.5 * np.roll(signs, place)
        yield (f"a weight of the query that is {of}, and others of such forms", x,
               weights | changed, 2, sweep.MASKS[10], dout)  # fmt: skip


def check_that_ends_decide_nothing(student):
    """Along an axis the first, the middle and the last are alike, the others are not. In float64
    each digit counts, also where float32 could hold the numbers."""
    x, weights, dout, mask = inputs((5, 5, 10, 2), seed=128)
    mask[:, :3] = 1
    drawn = {"x": x, "dout": dout, **weights}
    drawn = {name: a.astype(np.float32).astype(np.float64) for name, a in drawn.items()}
    for number, (name, a) in enumerate(drawn.items()):
        for axis, length in enumerate(a.shape):
            places = np.arange(length)
            places[[0, (length - 1) // 2, length // 2, -1]] = 0
            weights = drawn | {name: a.take(places, axis)}
            x, dout = weights.pop("x"), weights.pop("dout")
            given = x, weights, 2, None if (number + axis) % 2 else mask
            of = f"where the first, the middle and the last of {name} along axis {axis} are alike"
            checks.same(student.multi_head_forward(*given), run(*given)[0], of=f"the result {of}")
            out = checks.parts(student.multi_head_backward(dout, *given), "dx", "dweights")
            checks.same(out, run_back(dout, *given), of=f"(dx, dweights) {of}", magnitude=10.0)


def balanced(x):
    """Numbers of the size of `x` that add up to 0, without rounding, along each axis."""
    x = np.round(3 * x)
    for axis, length in enumerate(x.shape):
        x = length * x - x.sum(axis, keepdims=True)
    return x / 2.0 ** round(math.log2(3 * x.size))


def check_special_arrays(student):
    integers = ["int64", "uint8", "uint32", "int16", "int32", "uint16", "uint64", "int8"]
    names = [f"{name}.{part}" for name in NAMES for part in ("weight", "bias")]
    for is_backward in (False, True):
        for number, (of, x, weights, heads, mask, dout) in enumerate(
            special_cases(is_backward=is_backward)
        ):
            dtype = np.float32 if number % 3 == 1 else np.float64
            x, dout = x.astype(dtype), dout.astype(dtype)
            weights = {name: weights[name].astype(dtype) for name in weights}
            mask = None if mask is None else np.array(mask, integers[number % 8])
            given = {"x": x, "weights": weights, "heads": heads}
            given |= {} if mask is None else {"attention_mask": mask}
            by_name, of = number % 2 == 0, f"{of}, {dtype.__name__}"
            if is_backward and (" with the " in of or "dout that is x" in of):
                check_equal_arguments_that_are_one_object(student, dout, *given.values(), of=of)
            if not is_backward:
                out = (student.multi_head_forward(**given) if by_name else
                       student.multi_head_forward(*given.values()))  # fmt: skip
                sweep.same(out, run(x, weights, heads, mask)[0], of=f"the result for {of}",
                           magnitude=1.0)  # fmt: skip
                if number < len(ROUND) or "an x" in of:
                    parts = attention.split_heads(x, heads)
                    checks.same(student.split_heads(x, heads), parts, of=f"the parts for {of}")
                    checks.same(student.merge_heads(parts), x, of=f"the merged parts for {of}")
                continue
            given = {"dout": dout} | given
            out = (student.multi_head_backward(**given) if by_name else
                   student.multi_head_backward(*given.values()))  # fmt: skip
            dx, dweights = checks.parts(out, "dx", "dweights")
            right = run_back(dout, x, weights, heads, mask)
            checks.that(type(dweights) is dict and dweights.keys() == right[1].keys(),
                        f"dweights for {of}: a dict of the eight gradients")  # fmt: skip
            for name, mine, wanted in (
                ("dx", dx, right[0]),
                *((f"dweights[{name!r}]", dweights[name], right[1][name]) for name in names),
            ):
                magnitude = float("times" not in of)
                if "key.bias" in name:  # it is 0 apart from rounding
                    magnitude = float(np.abs(right[1]["key.weight"]).max(initial=1))
                sweep.same(mine, wanted, of=f"{name} for {of}", magnitude=magnitude)


def check_equal_arguments_that_are_one_object(student, dout, *given, of):
    """As where a caller builds several weights from one array."""
    shared = {"before": ("merge_heads", (), {})}  # that call comes to nothing
    of, mask = f"{of}, where equal arguments are one object", given[3:] or (None,)
    out = student.multi_head_forward.trace(*given, **shared).value
    sweep.same(out, run(*given[:3], *mask)[0], of=f"the result for {of}", magnitude=1.0)
    out = student.multi_head_backward.trace(dout, *given, **shared).value
    dx, dweights = checks.parts(out, "dx", "dweights")
    right = run_back(dout, *given[:3], *mask)
    sweep.same(dx, right[0], of=f"dx for {of}", magnitude=1.0)
    sweep.same(dweights, right[1], of=f"dweights for {of}", magnitude=10.0)


def test_numbers_that_are_nearly_alike_are_not_taken_for_equal(student):
    x, weights, dout, _ = inputs((3, 5, 6, 2), seed=98)
    cases = []
    for axis in range(3):
        near = (1 + np.abs(x)).take([0], axis) + 1e-6 * x
        cases.append((f"an x that is nearly alike along axis {axis}", near, weights, dout))
        near = (1 + np.abs(dout)).take([0], axis) + 1e-6 * dout
        cases.append((f"a dout that is nearly alike along axis {axis}", x, weights, near))
    for one, other in itertools.combinations(NAMES, 2):
        changed = {f"{one}.{part}": weights[f"{other}.{part}"] * (1 + 1e-6 * scale)
                   for part, scale in (("weight", np.abs(x[0, 0])), ("bias", 1))}  # fmt: skip
        cases.append((f"a {one} that is nearly the {other}", x, weights | changed, dout))
    for of, x, weights, dout in cases:
        checks.same(student.multi_head_forward(x, weights, 2), run(x, weights, 2, None)[0],
                    of=f"the result for {of}")  # fmt: skip
        out = student.multi_head_backward(dout, x, weights, 2)
        checks.same(checks.parts(out, "dx", "dweights"), run_back(dout, x, weights, 2, None),
                    of=f"(dx, dweights) for {of}", tolerance=1e-9, magnitude=1.0)  # fmt: skip


def test_nothing_is_left_behind(student):
    x, weights, dout, mask = inputs((3, 2, 6, 2))
    checks.leaves_no_trace(student.split_heads, x, 2)
    checks.leaves_no_trace(student.merge_heads, attention.split_heads(x, 2))
    checks.leaves_no_trace(student.multi_head_forward, x, weights, 2, mask)
    checks.leaves_no_trace(student.multi_head_backward, dout, x, weights, 2, mask)
    check_padding_is_left_as_it_is(student, dout, x, weights, 2, mask)
    # What is kept for the next call must go by every weight: one of the eight is another.
    for (name, weight), given_mask in itertools.product(weights.items(), (mask, None)):
        given = x, weights, 2, given_mask
        student.multi_head_forward(x, weights | {name: weight + 1}, 2, given_mask)
        checks.same(student.multi_head_forward(*given), run(*given)[0],
                    of=f"the result after a forward with another {name}")  # fmt: skip
        student.multi_head_forward(x, weights | {name: weight + 1}, 2, given_mask)
        out = checks.parts(student.multi_head_backward(dout, *given), "dx", "dweights")
        checks.same(out, run_back(dout, *given),
                    of=f"(dx, dweights) after a forward with another {name}")  # fmt: skip
    # Of the page's weights some arrays may be one object: a gradient belongs to a name.
    x, weights, _ = example()
    checks.leaves_no_trace(student.multi_head_forward, x, weights, 2)
    checks.leaves_no_trace(student.multi_head_backward, np.flip(x), x, weights, 2)
    for number, role in enumerate(("query", "key", "value", "output")):  # and so does a bias
        weights = weights | {f"{role}.bias": weights[f"{role}.bias"] + number}
    checks.leaves_no_trace(student.multi_head_forward, x, weights, 2)
    check_the_same_numbers_in_another_order(student)
    # What is kept for the next call must go by the shape of x, and by the order of its axes.
    x, weights, dout, _ = inputs((4, 4, 4, 2), seed=99)
    for shape in ((4, 4, 4), (2, 8, 4), (8, 2, 4), (1, 16, 4), None):
        given, above = (
            np.swapaxes(a, 0, 1) if shape is None else a.reshape(shape) for a in (x, dout)
        )
        of = f"after the same numbers in other shapes, for {given.shape}"
        checks.same(student.multi_head_forward(given, weights, 2),
                    run(given, weights, 2, None)[0], of=f"the result {of}")  # fmt: skip
        out = student.multi_head_backward(above, given, weights, 2)
        checks.same(checks.parts(out, "dx", "dweights"), run_back(above, given, weights, 2, None),
                    of=f"(dx, dweights) {of}")  # fmt: skip
        parts = attention.split_heads(given, 2)
        checks.same(student.split_heads(given, 2), parts, of=f"the parts {of}")
        checks.same(student.merge_heads(parts), given, of=f"the merged parts {of}")


def check_the_same_numbers_in_another_order(student):
    """They are other arguments, though their sums and both ends of each array are the same."""
    x, weights, dout, mask = inputs((3, 5, 6, 2), seed=127)
    x, weights = np.round(2 * x), {name: np.round(2 * w) / 4 for name, w in weights.items()}
    for name in ("x", "mask", *weights):
        first = {"x": x, "mask": mask, **weights}
        second = first | {name: first[name].copy()}
        second[name].flat[1:-1] = first[name].flat[-2:0:-1]
        x_, mask_, *others = second.values()
        given = x_, dict(zip(weights, others, strict=True)), 2, mask_
        student.multi_head_forward(x, weights, 2, mask)
        of = f"after a forward with the numbers of {name} in another order"
        out = student.multi_head_backward(dout, *given)
        checks.same(checks.parts(out, "dx", "dweights"), run_back(dout, *given),
                    of=f"(dx, dweights) {of}", magnitude=10.0)  # fmt: skip
        student.multi_head_forward(x, weights, 2, mask)
        checks.same(student.multi_head_forward(*given), run(*given)[0], of=f"the result {of}")


def check_padding_is_left_as_it_is(student, dout, *given):
    """No input is changed where a sentence is all padding either."""
    *given, mask = given
    mask = np.where(np.arange(len(mask))[:, None] == 1, 0, mask)
    for function, *args in ((student.multi_head_forward,), (student.multi_head_backward, dout)):
        args = *args, *given, mask
        changed = checks.difference(function.trace(*args).inputs[0], args, "the arguments", 0.0)
        checks.that(not changed, f"with a sentence that is all padding, {function.name} changed "
                    f"its input in place: {changed}", likely=checks.IN_PLACE)  # fmt: skip
        function.trace(*args, frozen=True)  # not even for a while
