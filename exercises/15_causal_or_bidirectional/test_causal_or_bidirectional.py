"""Causal or bidirectional: who may look at whom, attention under both, and how far words reach."""

import math

import pytest
import torch

from autograder import checks, sweep
from bert_lowlevel import attention as chapter

PADDED = [
    [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [0, 1, 0, 1, 1]],  # padding at the end, none, anywhere
    [[1, 1, 1, 1, 0, 0, 0]],  # batch 1
    [[1, 0], [1, 1]],  # as many rows as tokens
    [[0, 0, 0], [1, 1, 1]],  # a row that is all padding
    [[1]],
]


def expected_visible(attention_mask, causal):
    seq = attention_mask.shape[1]
    return chapter.visible_keys(attention_mask.long(), causal=causal)[:, 0].expand(-1, seq, seq)


def mask_mistakes(attention_mask, causal):
    seq = attention_mask.shape[1]
    keys = attention_mask.bool()[:, None, :].expand(-1, seq, seq)
    queries = keys.transpose(1, 2)
    lower = torch.ones(seq, seq, dtype=torch.bool).tril()
    right = expected_visible(attention_mask, causal)
    everything = torch.ones_like(right)
    wrong = {
        "True and False are exchanged: True is where a token may look": ~right,
        "the mask is laid over the queries: nobody looks at padding, so it belongs to the keys, "
        "the columns": queries & (lower if causal else everything),
        "queries that are padding are hidden too: only keys are": (
            keys & queries & (lower if causal else everything)),
        "padding is in sight, as if every attention_mask were all 1": (
            lower.expand_as(right) if causal else everything),
        "the mask of the first example is used for all": right[:1].expand_as(right),
    }  # fmt: skip
    if not causal:
        return wrong | {"the triangle is there although causal is False": keys & lower}
    return {
        "causal is not used: every token looks to its right": keys,
        "the triangle is upside down: a token may look to its left, where columns have smaller "
        "numbers": keys & lower.T,
        "the diagonal is missing: every token may look at itself": keys & lower.tril(-1),
        "the triangle reaches one token too far to the right": (
            keys & torch.ones(seq, seq, dtype=torch.bool).tril(1)
        ),
        "one of the two conditions is enough (|): both must hold (&)": keys | lower,
        **wrong,
    }


@pytest.mark.hint(1)
@pytest.mark.weight(3)
def test_a_token_may_look_at_words_and_a_causal_one_at_none_on_its_right(student):
    drawn = checks.rng(41).integers(0, 2, (2, 7)).tolist()
    for causal in (False, True):
        for rows in (*PADDED, drawn):
            for dtype in (torch.int64, torch.int32, torch.bool):
                attention_mask = torch.tensor(rows, dtype=dtype)
                other = 1 - attention_mask.long()
                student.visible_keys(other.to(dtype), causal=causal)
                checks.same(
                    student.visible_keys(attention_mask, causal=causal),
                    expected_visible(attention_mask, causal),
                    of=f"visible, causal={causal}",
                    mistakes=lambda: {
                        "the mask of an earlier call of the same shape is used": expected_visible(
                            other, causal
                        ),
                        "numbers to be added to the scores: asked for are truth values": (
                            lambda out: out.is_floating_point()
                        ),
                        "(batch, 1, 1, seq) or the like is right for broadcasting; asked for is "
                        "the whole table, (batch, seq, seq)": (
                            lambda out, size=attention_mask.shape: (
                                out.shape != (*size, size[1]) and out.numel() <= size.numel() ** 2
                            )
                        ),
                        **mask_mistakes(attention_mask, causal),
                    },
                )


def test_without_causal_it_is_bert(student):
    whole = torch.tensor(PADDED[0])
    for attention_mask in (whole, whole[:, ::2], whole.T):
        checks.same(
            student.visible_keys(attention_mask),
            expected_visible(attention_mask, False),
            of="visible",
            mistakes=lambda: mask_mistakes(attention_mask, False),
        )


def test_the_example_of_the_page(student):
    attention_mask = torch.tensor([[1, 1, 1, 0]])
    pictures = {"visible for BERT": ["XXXO"] * 4,
                "visible for GPT": ["XOOO", "XXOO", "XXXO", "XXXO"]}  # fmt: skip
    for (of, lines), causal in zip(pictures.items(), (False, True), strict=True):
        visible = student.visible_keys(attention_mask, causal=causal)
        checks.same(visible, table(lines), of=f"{of} in the example",
                    mistakes=lambda: mask_mistakes(attention_mask, causal))  # fmt: skip
        checks.same(student.picture(visible[0]), lines, of=f"the picture of {of} in the example")
    but_next = table(["XOXO", "XXOO", "XXXO", "XXXO"])
    for layers, lines in ((1, ["XOXO", "XXOO", "XXXO", "XXXX"]),
                          (2, ["XXXO", "XXXO", "XXXO", "XXXX"])):  # fmt: skip
        checks.same(student.reached(but_next, layers), table(lines),
                    of=f"reached in the example after {layers} layers")  # fmt: skip


def table(lines):
    """The truth values of a picture, as a batch of one."""
    return torch.tensor([[[letter == "X" for letter in line] for line in lines]])


@pytest.mark.hint(1)
def test_the_picture_has_x_where_a_token_may_look(student):
    tables = [expected_visible(torch.tensor(rows), causal)[0]
              for rows in (*PADDED[:2], checks.rng(42).integers(0, 2, (1, 7)).tolist())
              for causal in (False, True)]  # fmt: skip
    for visible in tables:
        lines = ["".join("OX"[may] for may in row) for row in visible.long().tolist()]
        turned = ["".join(column) for column in zip(*lines, strict=True)]
        checks.same(
            student.picture(visible),
            lines,
            of="the picture",
            mistakes=lambda: {
                "X and O are exchanged": [line.translate({88: 79, 79: 88}) for line in lines],
                "rows and columns are exchanged: a string is a query": turned,
                "one string for all: asked for is a list with a string for each query": (
                    lambda out: type(out) is str
                ),
                "there is something between the letters": (
                    lambda out, lines=lines: (
                        ["".join(c for c in x if c in "XO") for x in out] == lines
                    )
                ),
            },
        )


def case(batch, heads, seq, head_dim, *, seed=5, dtype=torch.float64, scale=1.0):
    """Query, key, value; and a table of truth values of no special form."""
    generator = checks.generator(seed)
    shape = (batch, heads, seq, head_dim)
    q, k, v = (torch.randn(shape, generator=generator, dtype=dtype) for _ in range(3))
    visible = torch.rand(batch, seq, seq, generator=generator) < 0.6
    visible = visible | torch.eye(seq, dtype=torch.bool)
    return q * scale, k, v, visible


def right_attention(q, k, v, visible):
    mask = visible[:, None]
    return chapter.attention_by_hand(q, k, v, mask), chapter.attention_weights(q, k, mask)


def attention_mistakes(q, k, v, visible):
    mask = visible[:, None]
    raw = q @ k.transpose(-1, -2)

    def of(probs):
        return probs @ v, probs

    def hidden(scores, fill=-math.inf, dim=-1):
        return scores.masked_fill(~mask, fill).softmax(dim).nan_to_num()

    root = math.sqrt(q.shape[-1])
    found = {
        "the mask is not used": of((raw / root).softmax(-1)),
        "the mask is laid on after the softmax: the weights of a query no longer add up to 1": (
            of((raw / root).softmax(-1) * mask)),
        "True and False are exchanged: True is where a token may look": (
            of((raw / root).masked_fill(mask, -math.inf).softmax(-1).nan_to_num())),
        "visible was turned: its rows are the queries": (
            of((raw / root).masked_fill(~mask.transpose(-1, -2), -math.inf).softmax(-1))),
        "the scores are not divided by √head_dim": of(hidden(raw)),
        "the scores are divided by head_dim, not by its root": of(hidden(raw / q.shape[-1])),
        "divided by the root of the whole hidden size: each head has head_dim numbers": (
            of(hidden(raw / math.sqrt(q.shape[-1] * q.shape[1])))),
        "the softmax runs over the queries, not over the keys": of(hidden(raw / root, dim=-2)),
        "hidden scores are set to 0: exp(0) is 1, not 0": of(hidden(raw / root, fill=0.0)),
    }  # fmt: skip
    if q.shape[0] > 1:
        first = (raw / root).masked_fill(~mask[:1], -math.inf).softmax(-1)
        found["the visible of the first example is used for all"] = of(first)
    if q.shape[0] == q.shape[1]:  # only then does it fit
        crossed = of((raw / root).masked_fill(~visible, -math.inf).softmax(-1))
        found["visible has no axis for the heads: its example b was laid on every head b"] = crossed
    return found


@pytest.mark.hint(3)
@pytest.mark.weight(3)
def test_attention_takes_from_visible_keys_alone(student):
    for sizes in [(2, 3, 5, 4), (1, 1, 4, 2), (3, 2, 1, 5), (2, 2, 4, 3), (2, 4, 3, 8)]:
        inputs = case(*sizes)
        named = attention_mistakes(*inputs)
        context, probs = checks.parts(student.attention(*inputs), "context", "weights")
        right = right_attention(*inputs)
        checks.same(probs, right[1], of="the weights",
                    mistakes=lambda: {name: wrong[1] for name, wrong in named.items()})  # fmt: skip
        checks.same(context, right[0], of="the context",
                    mistakes=lambda: {name: wrong[0] for name, wrong in named.items()})  # fmt: skip


@pytest.mark.hint(2)
def test_a_query_that_sees_nothing_takes_nothing(student):
    q, k, v, visible = case(3, 2, 4, 3, seed=6)
    visible[0] = False  # all padding
    visible[1, 2] = False
    context, probs = checks.parts(student.attention(q, k, v, visible), "context", "weights")
    right = right_attention(q, k, v, visible)
    named = {
        "softmax of nothing but -inf is NaN": lambda out: bool(out.isnan().any()),
        "a large negative number in place of -inf: where all scores have it, all weights are "
        "equal": lambda out: not torch.any(out[0] == 0).item(),
    }
    checks.same(probs, right[1], of="the weights", mistakes=named)
    checks.same(context, right[0], of="the context")


@pytest.mark.hint(2)
def test_hidden_keys_stay_hidden_whatever_their_scores(student):
    inputs = case(2, 3, 5, 4, seed=7)
    weights = checks.parts(student.attention(*inputs), "context", "weights")[1]
    checks.same(weights, right_attention(*inputs)[1], of="the weights", mistakes=lambda: {
        name: wrong[1] for name, wrong in attention_mistakes(*inputs).items()})  # fmt: skip
    for scale in (1e6, 1e12, 1e-6):
        inputs = case(2, 3, 5, 4, scale=scale, seed=7)
        context, probs = checks.parts(student.attention(*inputs), "context", "weights")
        right = right_attention(*inputs)
        scores = (inputs[0] @ inputs[1].mT).masked_fill(~inputs[3][:, None], -math.inf)
        lost = (scores / 2 - scores.max() / 2).exp().sum(-1) == 0  # √head_dim is 2
        named = {
            "the largest score of all queries is subtracted before exp, which is then 0 for all "
            "keys of the others: subtract each query's own": (
                lambda out, lost=lost: bool(((out.sum(-1) < 0.99) == lost).all() and lost.any())),
            "a number like -10,000 is added or filled in, not -inf: a large score gets through": (
                lambda out, hidden=~inputs[3][:, None]: bool(((out > 0) & hidden).any())),
            "hidden scores get through the softmax and are set to 0 after it: fill in -inf before "
            "it": lambda out: bool((out.sum(-1) < 0.99).any()),
            "exp overflows, or gives 0 for all keys that are seen: use torch's softmax": (
                lambda out: bool(out.isnan().any())),
        }  # fmt: skip
        checks.same(probs, right[1], of=f"the weights, scores times {scale:g}", mistakes=named)
        checks.that(bool((probs[~inputs[3][:, None].expand_as(probs)] == 0).all()),
                    f"scores times {scale:g}: the weight of a hidden key is not exactly 0",
                    likely="a number below the other scores is filled in: -inf is what gives 0"
                    )  # fmt: skip
        checks.same(context, right[0], of="the context")
    for scale in (1.0, 1e3, 1e12):
        inputs = case(2, 3, 5, 4, scale=scale, seed=7, dtype=torch.float32)
        probs = checks.parts(student.attention(*inputs), "context", "weights")[1]
        of = f"in float32, scores times {scale:g}: "
        checks.that(bool((probs[~inputs[3][:, None].expand_as(probs)] == 0).all()),
                    of + "the weight of a hidden key is not exactly 0",
                    likely="a number below the other scores is filled in: -inf is what gives 0"
                    )  # fmt: skip
        checks.that(bool(((probs.sum(-1) - 1).abs() < 1e-4).all()),
                    of + "the weights of a query do not add up to 1",
                    likely="hidden scores get through the softmax and are set to 0 after it: fill "
                           "in -inf before it")  # fmt: skip
    inputs = case(2, 3, 5, 4, seed=7)
    alike = (*(1e9 + 0 * part for part in inputs[:2]), *inputs[2:])
    checks.same(checks.parts(student.attention(*alike), "context", "weights")[1],
                right_attention(*alike)[1], of="the weights where all scores are equal, and 2e18"
                )  # fmt: skip
    for dtype, size in ((torch.float64, 1e100), (torch.float32, 1e15)):
        zero = 0 * inputs[0].to(dtype)
        alike = zero + size, zero - size, inputs[2].to(dtype), inputs[3]
        checks.same(checks.parts(student.attention(*alike), "context", "weights")[1],
                    right_attention(zero, zero, *alike[2:])[1],
                    of=f"the weights where all scores are equal, and -2 times {size:g}²",
                    mistakes={"a number is filled in that is above some scores: -inf is not":
                              lambda out: True})  # fmt: skip


@pytest.mark.weight(2)
def test_gradient_reaches_query_key_and_value(student):
    for scale in (1.0, 1e4):  # the second: some hidden scores are a thousand above all visible ones
        q, k, v, visible = case(2, 3, 5, 4, seed=8, scale=scale)
        visible[1, 3] = False
        visible[0, :, 2] = False  # nobody looks at token 2 of the first example
        generator = checks.generator(9)
        upstream = tuple(torch.randn(x.shape, generator=generator, dtype=x.dtype)
                         for x in right_attention(q, k, v, visible))  # fmt: skip
        wanted = {"query": q, "key": k, "value": v}
        leaves = [x.clone().requires_grad_() for x in (q, k, v)]
        found = checks.gradients_of(right_attention(*leaves, visible), leaves, upstream)
        out, gradients = student.attention.grad(
            q, k, v, visible, wrt=tuple(wanted), upstream=upstream
        )
        context, probs = right_attention(q, k, v, visible)
        checks.same(out, (context, probs), of="context and weights")
        for name, right in zip(wanted, found, strict=True):
            checks.same(
                gradients[name],
                right,
                of=f"the gradient of {name}, queries near {scale:g}",
                mistakes={
                    "the graph is cut: by detach, no_grad or .data": lambda out: out is None,
                    "NaN comes back from a query that sees nothing": (
                        lambda out, scale=scale: scale == 1 and bool(out.isnan().any())
                    ),
                    "NaN comes back from a hidden score whose exp is too large: fill in -inf "
                    "before exp, not 0 after it": lambda out: bool(out.isnan().any()),
                    "the graph is cut at one place, by detach, no_grad or .data": (
                        lambda out, scale=scale: scale == 1
                    ),
                },
            )
            _, alone = student.attention.grad(q, k, v, visible, wrt=(name,), upstream=upstream)
            checks.same(
                alone[name],
                right,
                of=f"the gradient of {name} where nothing else has one",
                mistakes={"whether another argument requires a gradient decides for this one": (
                    lambda out: out is None)},
            )  # fmt: skip
    for of, seq in (("itself alone", 5), ("itself or nothing", 5), ("the only token", 1)):
        q, k, v, visible = case(2, 3, seq, 4, seed=8)
        few = torch.eye(seq).bool().repeat(2, 1, 1)
        few[1, :2] &= of != "itself or nothing"
        leaves = [x.clone().requires_grad_() for x in (q, k, v)]
        upstream = tuple(part[..., :seq, :seq] if part is upstream[1] else part[..., :seq, :]
                         for part in upstream)  # fmt: skip
        found = checks.gradients_of(right_attention(*leaves, few), leaves, upstream)
        _, gradients = student.attention.grad(q, k, v, few, wrt=tuple(wanted), upstream=upstream)
        for name, right in zip(wanted, found, strict=True):
            checks.same(gradients[name], right, of=f"the gradient of {name} where each query sees "
                        f"{of}", mistakes={"where the scores make no difference the weights are "
                                           "written without them: then too a gradient reaches "
                                           "query and key, of zeros": lambda out: out is None}
                        )  # fmt: skip


@pytest.mark.hint(4)
@pytest.mark.weight(3)
def test_words_travel_from_layer_to_layer(student):
    generator = checks.generator(10)
    window = torch.ones(6, 6).tril(1).triu(-1).bool()[None]
    but_next = ~torch.ones(6, 6).triu(1).tril(1).bool()[None]
    chain = torch.ones(12, 12).tril(-1).triu(-1).bool()[None]  # each looks at its left neighbor
    sparse = torch.rand(3, 7, 7, generator=generator) < 0.2
    causal = expected_visible(torch.tensor(PADDED[0]), True)
    both_sides = expected_visible(torch.ones(2, 8, dtype=torch.int64), False)
    gaps = (torch.rand(2, 10, 10, generator=generator) < 0.2)[:, ::2, ::2]
    long = torch.ones(110, 110).tril(-1).triu(-1).bool()[None]  # a word needs all 100 layers
    for visible in (window, but_next, sparse, causal, both_sides, chain, gaps, long):
        for layers in (3, 0, 1, 2, 100):
            right = reach(visible, layers)
            eye = torch.eye(visible.shape[-1], dtype=torch.bool).expand_as(visible)
            powers = torch.linalg.matrix_power(visible.double(), layers) > 0
            checks.same(
                student.reached(visible, layers),
                right,
                of=f"reached after {layers} layers",
                mistakes=lambda: {
                    "the residual connection is left out: a state keeps what it had": powers,
                    "the residual connection is left out of the layers after the first": (
                        powers | eye if layers else None
                    ),
                    "the number of layers is not used: this is one layer": reach(visible, 1),
                    "a layer too many": reach(visible, layers + 1),
                    "a layer too few": reach(visible, max(0, layers - 1)),
                    "rows and columns are exchanged: the row is reached by the column": (
                        right.transpose(1, 2)
                    ),
                    "a hundred layers are too many for it: the numbers of paths leave the range of "
                    "their type, or some layers are left out": (
                        lambda out, many=layers == 100: many and bool((out != right).any())
                    ),
                },
            )


@pytest.mark.hint(4)
def test_words_reach_all_of_a_long_text(student):
    """Each token is reached by 256 in as many ways: 256 is 0 in a number of 8 bits."""
    everything = torch.ones(1, 256, 256, dtype=torch.bool)
    visible = everything.clone()
    visible[0, 0, 1] = False  # which it reaches by way of any other
    checks.same(student.reached(visible, 2), everything, of="reached in a text of 256 tokens",
                mistakes={"the numbers of paths leave the range of their type: count in a larger "
                          "one, or only ask whether there is one": lambda out: True})  # fmt: skip
    padded = everything[:, :9, :9].tril(4).triu(-4)
    padded[:, :, 3] = False
    for layers in (2, 500):
        checks.same(student.reached(padded, layers), reach(padded, layers),
                    of=f"reached after {layers} layers in a text of 9 tokens, one of them padding",
                    mistakes={"the numbers of paths leave the range of their type: ask after each "
                              "layer whether there is one": lambda out, many=layers > 2: many}
                    )  # fmt: skip
    half = torch.arange(40) % 2
    halves = (half == half[:, None])[None]
    for layers in (33, 70):
        checks.same(student.reached(halves, layers), halves,
                    of=f"reached after {layers} layers where even and odd tokens do not see each "
                    "other", mistakes={"20 ways in each layer soon leave the range of their type: "
                                       "ask after each layer whether there is one": (
                                           lambda out: True)})  # fmt: skip


def reach(visible, layers):
    """The same by following every word, one layer after another."""
    batch, seq, _ = visible.shape
    found = torch.zeros_like(visible)
    for b in range(batch):
        looks = [{i} | set(visible[b, i].nonzero().flatten().tolist()) for i in range(seq)]
        sources = [{i} for i in range(seq)]
        for _ in range(min(layers, seq)):  # a longer way than all tokens leads nowhere new
            sources = [set().union(*(sources[k] for k in looks[i])) for i in range(seq)]
        for i, reached in enumerate(sources):
            found[b, i, list(reached)] = True
    return found


def test_types_stay_and_gaps_in_memory_do_no_harm(student):
    for dtype in (torch.float32, torch.float64):
        q, k, v, visible = case(2, 2, 6, 8, dtype=dtype, seed=11)
        for inputs in ((q, k, v, visible), (q[..., ::2], k[..., ::2], v[..., ::2], visible)):
            context, probs = checks.parts(student.attention(*inputs), "context", "weights")
            right = right_attention(*inputs)
            checks.same(probs, right[1], of="the weights")
            checks.same(context, right[0], of="the context")


def test_tables_and_states_of_any_size(student):
    draw = sweep.Draw(11)
    shapes = [draw.shape(2) for _ in range(12)] + [(4_103, 2), (1, 1_101), (1, 1)]

    def masks():
        for number, (batch, seq) in enumerate(shapes):
            rows = torch.from_numpy(draw.mask(batch, seq))
            if number % 3 == 0:
                rows[0] = 0
            kind = [torch.int64, torch.int32, torch.bool][number % 3]
            for causal in (False, True):
                yield sweep.Case(
                    f"a {kind} mask of shape {batch, seq}, causal={causal}",
                    (rows.to(kind),),
                    {"causal": causal},
                )

    sweep.agrees(
        student.visible_keys,
        lambda rows, causal: expected_visible(rows, causal).clone(),
        masks(),
        may_share=True,  # a bool mask, expanded
    )

    def tables():
        for _number, (_, seq) in enumerate(shapes):
            yield torch.from_numpy(
                draw.rng.random((seq, seq)) < draw.rng.choice([0.0, 0.1, 0.7, 1.0])
            )

    sweep.agrees(
        student.picture,
        lambda seen: ["".join("OX"[x] for x in row) for row in seen.tolist()],
        [sweep.Case(f"a table of {len(t)} tokens", (t,)) for t in tables() if len(t) < 300]
        + [sweep.Case("a table of 400 tokens", (torch.ones(400, 400).tril().bool(),))],
    )

    def states():
        for number in range(22):
            batch, heads, seq, head_dim = draw.shape(4)
            if number > 15:
                batch, heads, seq, head_dim = [
                    (4_103, 2, 2, 1),
                    (2, 501, 3, 2),
                    (1, 2, 701, 1),
                    (2, 1, 3, 1_501),
                    (3, 3, 3, 3),
                    (2, 40, 5, 64),
                ][number - 16]
            dtype = [torch.float64, torch.float32][number % 4 == 1]
            q, k, v, visible = case(batch, heads, seq, head_dim, seed=number, dtype=dtype)
            visible &= torch.from_numpy(
                draw.rng.random(visible.shape) < draw.rng.choice([0.1, 0.9])
            )
            if seq == 701:
                visible[:, 9:] = True  # as many keys as tokens
            scale = 10.0 ** float(draw.rng.integers(-6, 5))
            yield sweep.Case(
                f"{dtype}, (batch, heads, seq, head_dim) {tuple(q.shape)}, queries near {scale:g}",
                (q * scale, k, v * 10.0 ** float(draw.rng.integers(-12, 12)), visible),
            )

    def right(q, k, v, visible):
        context, probs = right_attention(q, k, v, visible)
        return context.nan_to_num(0.0), probs.nan_to_num(0.0)

    sweep.agrees(student.attention, right, states(), names=("context", "weights"))
    q, v = (
        torch.ones(1, 1, 41, 1, dtype=torch.float64),
        torch.ones(1, 1, 41, 1, dtype=torch.float64),
    )
    k = torch.linspace(-40, 40, 41, dtype=torch.float64).view(1, 1, 41, 1)
    seen = torch.ones(1, 41, 41, dtype=torch.bool)
    sweep.same_each(
        checks.parts(student.attention(q, k, v, seen), "context", "weights")[1],
        right(q, k, v, seen)[1],
        of="the weights of scores from -40 to 40",
    )
    for shape, dtype, hidden in (
        ((2, 3, 5, 4), torch.float64, 0),
        ((3, 2, 200, 2), torch.float64, 0),
        ((300, 1, 3, 2), torch.float64, 0),
        ((2, 3, 5, 4), torch.float32, 1),  # one query sees nothing
    ):
        q, k, v, visible = case(*shape, seed=40, dtype=dtype)
        visible.view(-1, shape[2])[:hidden] = False
        upstream = tuple(1e9 * torch.randn_like(x) for x in right(q, k, v, visible))
        leaves = [x.clone().requires_grad_() for x in (q, k, v)]
        found = checks.gradients_of(right(*leaves, visible), leaves, upstream)
        _, gradients = student.attention.grad(
            q, k, v, visible, wrt=("query", "key", "value"), upstream=upstream
        )
        sweep.same(
            gradients,
            dict(zip(("query", "key", "value"), found, strict=True)),
            of=f"the gradients for {dtype}, (batch, heads, seq, head_dim) {shape}, {hidden} of the "
            "queries seeing nothing",
        )

    def ways():
        for batch, seq, layers in (
            (2, 5, 1),
            (3, 7, 2),
            (7, 3, 3),
            (40, 4, 2),
            (1, 150, 149),
            (2, 90, 4),
            (1, 1, 9),
            (2, 3, 1_000),
            (1, 70, 33),
        ):
            visible = torch.from_numpy(draw.rng.random((batch, seq, seq)) < 1 / seq)
            chain = torch.ones(seq, seq).tril(-1).triu(-1).bool().expand(batch, seq, seq)
            for table in (visible, chain | chain.mT & visible):
                yield sweep.Case(
                    f"{batch} tables of {seq} tokens, {layers} layers", (table, layers)
                )

    sweep.agrees(student.reached, reach, ways())
    check_tables_of_every_kind(student)
    check_states_of_every_kind(student)
    check_that_ends_decide_nothing(student)
    check_sizes_of_bert(student)
    # One object for query, key and value; some keys are far longer than the query itself.
    q, _, _, visible = case(2, 3, 6, 4, seed=72, scale=30.0)
    q = q * torch.tensor([1.0, 0.1, 3.0, 0.1, 1.0, 3.0])[:, None]
    found = student.attention.trace(
        q, q, q, visible, before=("attention", (q, q, q, visible), {}, 1)
    ).value
    checks.same(found, right_attention(q, q, q, visible), mistakes={
        "a query's score with itself need not be its largest": lambda out: True},
        of="context and weights, where query, key and value are one tensor")  # fmt: skip


def check_that_ends_decide_nothing(student):
    """Along an axis the first, the middle and the last are alike, the others are not."""
    drawn = dict(zip(("query", "key", "value", "visible"), case(5, 5, 5, 2, seed=77), strict=True))
    cases = [(name, axis, drawn | {name: drawn[name].index_select(
        axis, torch.tensor([0, 1, 0, 2, 0]))}) for name in drawn for axis in range(3)]  # fmt: skip
    whole = {name: (2.0**36 * drawn[name]).round() for name in ("query", "key")}
    for name, axis, given in (*cases, ("", 0, drawn | whole)):
        of = f"where the first, the middle and the last of {name} along axis {axis} are alike"
        checks.same(student.attention(**given), right_attention(*given.values()),
                    of=f"context and weights {of if name else 'of large whole numbers'}"
                    )  # fmt: skip
    # Of thousands of places one is padding.
    mask, place = torch.ones(2_100, 2, dtype=torch.int64), int(checks.rng(76).integers(2_100))
    mask[place, 0] = 0
    visible, (q, k, v, _) = expected_visible(mask, False), case(2_100, 1, 2, 1, seed=78)
    of = "of 2,100 examples of which one has padding"
    checks.same(student.visible_keys(mask), visible, of=f"visible {of}")
    checks.same(student.attention(q, k, v, visible), right_attention(q, k, v, visible),
                of=f"context and weights {of}")  # fmt: skip
    checks.same(student.reached(visible, 1), visible | torch.eye(2).bool(), of=f"reached {of}")


def check_sizes_of_bert(student):
    """More than a million attention weights, or truth values."""
    q, k, v, visible = case(8, 12, 128, 1, seed=71)
    checks.same(student.attention(q, k, v, visible), right_attention(q, k, v, visible), mistakes={
        "a block of rows is treated in another way than the first": lambda out: True},
        of="context and weights of 8 rows of 128 tokens, 12 heads")  # fmt: skip
    # As many truth values, in seventy rows of 123 tokens.
    mask = torch.from_numpy(checks.rng(73).integers(0, 2, (70, 123)))
    of = "of 70 rows of 123 tokens"
    likely = "a block of rows is treated in another way than the first"
    triangles = expected_visible(mask, True)
    checks.same(student.visible_keys(mask, causal=True), triangles, of=f"visible {of}, causal",
                mistakes={likely: lambda out: True})  # fmt: skip
    window = torch.ones(123, 123).tril(3).triu(-3).bool() & triangles
    step = (window | torch.eye(123).bool()).float()
    checks.same(student.reached(window, 2), step @ step > 0, of=f"reached {of} after 2 layers",
                mistakes={likely: lambda out: True})  # fmt: skip


def tables_of_every_kind(batch, seq, seed):
    """By name: who may look at whom. Nobody, each at itself or at another, or as examples do of
    which some are alike, or see nothing."""
    itself, place = torch.eye(seq).bool(), torch.arange(seq)
    some = torch.rand(batch, seq, seq, generator=checks.generator(seed)) < 1.5 / seq
    first = torch.arange(batch)[:, None, None] == 0
    lengths = place < torch.tensor([1, seq, seq // 2])[torch.arange(batch) % 3][:, None]
    ends = (place == 0) | (place == seq // 2) | (place == seq - 1)
    half = place[:, None] < seq // 2
    shifted = (place - torch.arange(batch)[:, None, None]) % seq
    return {
        "drawn": some, "drawn, once for all": some[:1] | ~first & some[:1],
        "none": some & False, "all": some | True, "itself": itself | some & False,
        "the next one, round": itself.roll(1, 1) | some & False,
        "the next but one, round": itself.roll(2, 0) | some & False,
        "the one to the left": itself.roll(1, 0).tril() | some & False,
        "the one to the right": itself.roll(1, 1).triu() | some & False,
        "the left ones": itself.logical_or(torch.ones(seq, seq).tril().bool()) | some & False,
        "the same ones for each": lengths[:, None].expand(batch, seq, seq),
        "none of the first example": some & ~first, "all of the first, drawn ones of others":
        some | first, "by turns all and none": (place % 2 == 0)[:, None] | some & False,
        "all but the last, which sees none": (place < seq - 1)[:, None] | some & False,
        "its own half, and [CLS] and [SEP] all": ends[:, None] | (half == half.T) | some & False,
        "as many keys as in a triangle, from the right":
            torch.ones(seq, seq).tril().flip(-1).bool() | some & False,
        "as many keys as in the other examples, others": shifted <= place[:, None] // 2,
        "the first half, and one token another": (half.T ^ (place == 1)[:, None]) | some & False,
        "itself and some to the left, and the last one all": itself | some.tril() | (
            place == seq - 1)[:, None],
        "itself and the one to the left": (itself | itself.roll(1, 0).tril()) | some & False,
    }  # fmt: skip


def check_tables_of_every_kind(student):
    for number, (batch, seq) in enumerate([(3, 8), (1, 6), (2, 13), (4, 4), (8, 2), (6, 16)]):
        tables = tables_of_every_kind(batch, seq, 70 + number)
        for place, (name, visible) in enumerate(tables.items()):
            if (place - number) % 2:
                continue
            layers = (place + number * 5) % 15 if number < 5 else 1 + place
            of = f"{batch} tables of {seq} tokens, each of which sees: {name}"
            given = (visible,), {"layers": layers}
            out = student.reached(*given[0], **given[1]) if place % 2 else student.reached(
                visible, layers)  # fmt: skip
            checks.same(out, reach(visible, layers), of=f"reached after {layers} layers, of {of}")
            if number in (0, 2, 5):
                lines = ["".join("OX"[x] for x in row) for row in visible[-1].tolist()]
                checks.same(student.picture(visible[-1]), lines, of=f"the picture of {of}")
    long = torch.arange(1_003).expand(1_003, -1) % 5 > 0
    checks.same(student.picture(long), 1_003 * ["".join("OX"[x] for x in long[0].tolist())],
                of="the picture of 1,003 tokens")  # fmt: skip
    # Token 2 sees 1 and 2, as token 12 sees itself; and so on.
    place = torch.arange(23)
    few = torch.eye(23).bool() | (place == 1) & (place[:, None] < 10)
    checks.same(student.picture(few), ["".join("OX"[x] for x in row) for row in few.tolist()],
                of="the picture of 23 tokens, some of which see one token, others two",
                mistakes={"rows are told apart by numbers that two of them share, such as their "
                          "digits or their sum": lambda out: True})  # fmt: skip
    chain = tables_of_every_kind(1, 14, 70)["the one to the left"]
    for layers in range(16):
        checks.same(student.reached(chain, layers), reach(chain, layers),
                    of=f"reached after {layers} layers by looking to the left")  # fmt: skip
    for batch, seq in ((4, 6), (8, 8), (2, 32), (16, 20), (10, 3), (3, 64)):
        rows = torch.arange(seq) < torch.arange(1, batch + 1)[:, None] * seq // batch
        ends = torch.arange(seq) % (seq - 1) == 0
        for mask in (rows, rows.flip(0), rows[:1].expand(batch, seq), rows | True, rows & False,
                     ~rows, (torch.arange(seq) < 16).expand(batch, seq), rows | ends):  # fmt: skip
            for causal in (False, True):
                checks.same(student.visible_keys(mask.long(), causal=causal),
                            expected_visible(mask, causal),
                            of=f"visible of {batch} rows of {seq} tokens, causal={causal}"
                            )  # fmt: skip


def check_states_of_every_kind(student):
    """Results and gradients where rows, tokens or scores are alike, 0 or negative, for tables of
    every kind, and for sizes that are equal or powers of 2."""
    for number, (batch, heads, seq, head_dim) in enumerate([
        (2, 3, 5, 4), (1, 4, 4, 4), (4, 4, 4, 4), (8, 8, 3, 2), (2, 6, 6, 16), (3, 2, 8, 64),
        (3, 1, 16, 8), (1, 2, 10, 6), (6, 1, 2, 32),
    ]):  # fmt: skip
        for place, (name, visible) in enumerate(tables_of_every_kind(batch, seq, 80).items()):
            if batch > 1 and (place - number) % 3:  # each table comes with some of the sizes
                continue
            q, k, v, _ = case(batch, heads, seq, head_dim, seed=90 + place)
            kind = (place // 3 + 4 * number) % 9
            q = [q, 0 * q, q[:1] * torch.ones_like(q), q.round(), q, -q.abs(), q, q,
                 q * (torch.arange(seq) % 2)[:, None]][kind]  # fmt: skip
            k = [k, k, k[:1] * torch.ones_like(k), k.round(), 0 * k, -k.abs(), k,
                 k[:, :, :1] * torch.ones_like(k), k * (torch.arange(seq) % 2)[:, None]
                 ][kind]  # fmt: skip
            v = [v, v, v[:1] * torch.ones_like(v), -v.abs(), v, v, 0 * v, v, v[:, :, :1] + 0 * v
                 ][kind]  # fmt: skip
            upstream = [torch.randn(x.shape, generator=checks.generator(6)).double()
                        for x in (v, q @ k.mT)]  # fmt: skip
            if kind % 3:
                upstream[kind % 3 - 1].zero_()
            leaves = [x.clone().requires_grad_() for x in (q, k, v)]
            scores = (leaves[0] @ leaves[1].mT / math.sqrt(head_dim)).masked_fill(
                ~visible[:, None], torch.finfo(q.dtype).min)  # fmt: skip
            probs = scores.softmax(-1) * visible[:, None]
            right = probs @ leaves[2], probs
            found = checks.gradients_of(right, leaves, tuple(upstream))
            of = f"for (batch, heads, seq, head_dim) {tuple(q.shape)}; each token sees: {name}"
            if not visible.any():  # then nothing need have a graph
                out, right = student.attention(q, k, v, visible), (0 * v, 0 * probs.detach())
                checks.same(out, right, of=f"context and weights {of}")
                continue
            out, gradients = student.attention.grad(
                q, k, v, visible, wrt=("query", "key", "value"), upstream=tuple(upstream)
            )
            checks.same(out, tuple(x.detach() for x in right), of=f"context and weights {of}")
            for argument, gradient in zip(("query", "key", "value"), found, strict=True):
                checks.same(gradients[argument], gradient, of=f"the gradient of {argument} {of}")


def test_nothing_is_left_behind(student):
    q, k, v, visible = case(2, 3, 5, 4)
    visible[0, 1] = False
    student.visible_keys.noticed.clear()  # of a bool mask, as the page allows
    for mask in (torch.tensor(PADDED[0]), torch.ones(2, 4, dtype=torch.int64)):
        checks.leaves_no_trace(student.visible_keys, mask, causal=True)
    checks.leaves_no_trace(student.picture, visible[0])
    checks.leaves_no_trace(student.attention, q, k, v, visible)
    for layers in (2, 0):
        checks.leaves_no_trace(student.reached, visible, layers)
