"""An encoder layer: its numbers, its gradients, its mask, and its dropout, in training alone."""

import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F

from autograder import checks
from bert_lowlevel import model
from bert_lowlevel.attention import visible_keys
from bert_run.config import BertConfig

SHAPES = [(2, 5, 12, 3), (1, 7, 8, 4), (4, 4, 4, 2), (3, 1, 6, 1)]  # batch, seq, hidden, heads


def case(batch, seq, hidden, heads, *, seed=3, dtype=torch.float64, wide=10):
    """States, a mask with padding at the end, weights of which no bias is 0 and no scale 1."""
    generator = torch.Generator().manual_seed(seed + 100 * seq)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)

    weights = {}
    for name, out, given in [
        *[(f"attention.self.{role}", hidden, hidden) for role in ("query", "key", "value")],
        ("attention.output.dense", hidden, hidden), ("attention.output.LayerNorm", hidden, 0),
        ("intermediate.dense", wide, hidden), ("output.dense", hidden, wide),
        ("output.LayerNorm", hidden, 0),
    ]:  # fmt: skip
        weights[f"{name}.weight"] = normal(out, given) if given else 1 + 0.3 * normal(out)
        weights[f"{name}.bias"] = normal(out)
    mask = torch.ones(batch, seq, dtype=torch.int64)
    mask[0, seq // 2 + 1 :] = 0
    return normal(batch, seq, hidden), mask, weights, heads


def chapter(weights, heads, eps=1e-12):
    hidden = len(weights["output.dense.bias"])
    config = BertConfig(hidden_size=hidden, num_attention_heads=heads, layer_norm_eps=eps,
                        intermediate_size=len(weights["intermediate.dense.bias"]))  # fmt: skip
    return model.Bert(config, {f"0.{name}": w for name, w in weights.items()}, attention="by-hand")


def attention_of(x, mask, weights, heads):
    bert = chapter(weights, heads)
    return model.self_attention(bert, "0.attention.self", x, visible_keys(mask))


def layer_of(x, mask, weights, heads, eps=1e-12):
    return model.layer(chapter(weights, heads, eps), "0", x, visible_keys(mask))


def dense(x, weights, name):
    return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])


def norm(x, weights, name, eps):
    weight = weights[f"{name}.weight"]
    return F.layer_norm(x, weight.shape, weight, weights[f"{name}.bias"], eps)


def wrong_attention(x, mask, weights, heads, *, visible=None, scale=None, axis=-1, transpose=True,
                    back=True, roles=("query", "key", "value"), added=None, seen=1.0):  # fmt: skip
    """Attention, one thing about it being wrong."""
    batch, seq, hidden = x.shape
    size = hidden // heads

    def split(t):
        if transpose:
            return t.view(batch, seq, heads, size).transpose(1, 2)
        return t.reshape(batch, heads, seq, size)

    query, key, value = (split(dense(x, weights, f"attention.self.{role}")) for role in roles)
    scores = query @ key.transpose(-1, -2) / (math.sqrt(size) if scale is None else scale)
    visible = mask[:, None, None, :].bool() if visible is None else visible
    scores = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)
    if added is not None:
        scores = scores + added
    context = (scores.softmax(axis) * seen) @ value
    return (context.transpose(1, 2) if back else context).reshape(batch, seq, hidden)


def attention_mistakes(x, mask, weights, heads):
    given, hidden = (x, mask, weights, heads), x.shape[-1]
    everything = torch.ones_like(mask).bool()[:, None, None, :]
    wrong = {
        "the mask is not used: padding is looked at": {"visible": everything},
        "the mask hides queries, not keys: it belongs on the last axis of the scores": {
            "visible": mask[:, None, :, None].bool()},
        "the mask is turned about: 1 is a token, 0 is padding": {
            "visible": ~mask[:, None, None, :].bool()},
        "the mask itself is added to the scores: padding must get the lowest number there is": {
            "visible": everything, "added": mask[:, None, None, :].to(x.dtype)},
        "padding is struck out after the softmax: the other shares no longer add up to 1": {
            "visible": everything, "seen": mask[:, None, None, :]},
        "the scores are not divided by √head_dim": {"scale": 1.0},
        "the scores are divided by √hidden: it is √head_dim, the width of one head": {
            "scale": math.sqrt(hidden)},
        "the scores are divided by head_dim: its root is missing": {"scale": hidden / heads},
        "the softmax runs over the queries: each query's shares of the keys add up to 1": {
            "axis": -2},
        "the heads are cut without a transpose: a reshape mixes tokens into heads": {
            "transpose": False, "back": False},
        "the heads are put together without a transpose: bring the tokens before the heads": {
            "back": False},
        "query and key are exchanged": {"roles": ("key", "query", "value")},
        "the key's projection is used for the values": {"roles": ("query", "key", "key")},
    }  # fmt: skip
    named = {name: wrong_attention(*given, **change) for name, change in wrong.items()}
    no_bias = {name: 0 * w if name.endswith("bias") else w for name, w in weights.items()}
    return named | {
        "heads is not used: there is one head": wrong_attention(x, mask, weights, 1),
        "the biases are left out": wrong_attention(x, mask, no_bias, heads),
    }


def wrong_layer(x, mask, weights, heads, eps=1e-12, *, pre=False, residuals=(1, 1), act=F.gelu,
                norms=("attention.output.LayerNorm", "output.LayerNorm"), first=False,
                final=True, norm=norm):  # fmt: skip
    given, (left, right) = x, residuals

    def before(x, name):
        return norm(x, weights, name, eps) if pre else x

    def after(x, name):
        return x if pre else norm(x, weights, name, eps)

    context = wrong_attention(before(x, norms[0]), mask, weights, heads)
    x = after(left * x + dense(context, weights, "attention.output.dense"), norms[0])
    wide = act(dense(before(x, norms[1]), weights, "intermediate.dense"))
    x = right * (given if first else x) + dense(wide, weights, "output.dense")
    return after(x, norms[1]) if final else x


def wrong_norm(x, weights, name, eps, *, unbiased=False, outside=False):
    variance = x.var(-1, keepdim=True, unbiased=unbiased)
    std = variance.sqrt() + eps if outside else (variance + eps).sqrt()
    return (x - x.mean(-1, keepdim=True)) / std * weights[f"{name}.weight"] + weights[
        f"{name}.bias"]  # fmt: skip


def layer_mistakes(x, mask, weights, heads, eps=1e-12):
    def wrong(**changes):
        return wrong_layer(x, mask, weights, heads, **{"eps": eps} | changes)

    return {
        "pre-LN: the norm stands before each part. BERT's comes after the sum": wrong(pre=True),
        "a layer norm with the unbiased variance: it divides by n, not n - 1": wrong(
            norm=partial(wrong_norm, unbiased=True)),
        "a layer norm with eps outside the root": wrong(norm=partial(wrong_norm, outside=True)),
        "eps is not used: F.layer_norm takes 1e-5 unless it is told": wrong(eps=1e-5),
        "eps is not used: 1e-12 is written in": wrong(eps=1e-12),
        "the first residual is missing: LN(x + attention)": wrong(residuals=(0, 1)),
        "the second residual is missing: LN(x + feed-forward)": wrong(residuals=(1, 0)),
        "both residuals are missing": wrong(residuals=(0, 0)),
        "the second residual is the layer's input: it is what the first norm gave": wrong(
            first=True),
        "GELU in its tanh form: BERT's checkpoints at Hugging Face have that with erf": wrong(
            act=lambda x: F.gelu(x, approximate="tanh")),
        "ReLU, where BERT has GELU": wrong(act=F.relu),
        "the activation between the two dense layers is missing": wrong(act=lambda x: x),
        "the same layer norm is used twice: each half has its own": wrong(
            norms=("attention.output.LayerNorm",) * 2),
        "the two layer norms are exchanged": wrong(
            norms=("output.LayerNorm", "attention.output.LayerNorm")),
        "the last layer norm is missing": wrong(final=False),
    }  # fmt: skip


@pytest.mark.weight(3)
def test_attention_gathers_what_each_head_finds(student):
    for shape in SHAPES:
        given = x, mask, weights, heads = case(*shape)
        for visible in (torch.ones_like(mask), mask):
            checks.same(
                student.self_attention(x, visible, weights, heads=heads),
                attention_of(x, visible, weights, heads),
                of="the gathered values" + (", with padding" if visible is mask else ""),
                mistakes=attention_mistakes(x, visible, *given[2:]),
            )


@pytest.mark.weight(4)
def test_a_layer_adds_and_normalises_twice(student):
    for shape in SHAPES:
        x, mask, weights, heads = given = case(*shape)
        for eps in (1e-12, 0.1):
            checks.same(
                student.encoder_layer(x, mask, weights, heads=heads, eps=eps),
                layer_of(*given, eps),
                of=f"the states after the layer (eps {eps:g})",
                mistakes=layer_mistakes(*given, eps),
            )


@pytest.mark.weight(2)
def test_padding_is_never_seen_and_a_row_of_it_gives_no_nan(student):
    x, mask, weights, heads = case(3, 6, 8, 2)
    mask[2] = 0
    seen, expected = mask.bool(), layer_of(x, mask, weights, heads)
    for of, states, named in [
        ("the states of the tokens", x, {}),
        ("the states of the tokens after the padding was changed", x - 50 * (1 - mask[:, :, None]),
         {"what stands at padding changes the other tokens": lambda out: True}),
    ]:  # fmt: skip
        out = student.encoder_layer(states, mask, weights, heads=heads)
        checks.same(out.isfinite(), torch.ones_like(out).bool(), of="which states are finite",
                    mistakes={"a softmax of nothing but -inf is NaN: use the lowest finite number":
                              lambda found: not found[2].any()})  # fmt: skip
        checks.same(out[seen], expected[seen], of=of, mistakes=named)
    _, gradients = student.encoder_layer.grad(
        x, mask, weights, heads=heads, wrt=("x", "weights"), upstream=torch.ones_like(x)
    )
    for name, gradient in {"x": gradients["x"], **gradients["weights"]}.items():
        checks.that(gradient is None or bool(gradient.isfinite().all()),
                    f"the gradient for {name} is not finite, where a row is all padding",
                    likely="-inf in the scores of a row that is all padding")  # fmt: skip


@pytest.mark.weight(3)
def test_the_gradient_reaches_every_parameter(student):
    cut = "by .detach(), .data, torch.no_grad() or a new tensor made of values"
    for shape in SHAPES[:2]:
        x, mask, weights, heads = given = case(*shape)
        upstream = torch.randn(x.shape, generator=torch.Generator().manual_seed(5)).double()
        out, found = student.encoder_layer.grad(
            x, mask, weights, heads=heads, wrt=("x", "weights"), upstream=upstream
        )
        found = {"x": found["x"], **found["weights"]}
        lost = [name for name, gradient in found.items() if gradient is None]
        checks.that(not lost, f"no gradient reaches {', '.join(lost)}",
                    likely=f"the graph is cut: {cut}")  # fmt: skip
        checks.same(out, layer_of(*given), of="the states, on the way to the gradients")
        checks.same(found, gradients_of(*given, upstream), of="the gradient",
                    mistakes={f"part of the graph is cut: {cut}": lambda out: True})  # fmt: skip


def gradients_of(x, mask, weights, heads, upstream):
    with torch.enable_grad():
        leaves = {name: t.clone().requires_grad_() for name, t in {"x": x, **weights}.items()}
        out = layer_of(leaves["x"], mask, leaves, heads)
        found = torch.autograd.grad(out, list(leaves.values()), upstream)
    return dict(zip(leaves, found, strict=True))


def test_dropout_is_off_unless_training(student):
    x, mask, weights, heads = given = case(2, 5, 12, 3)
    for settings in (
        {"hidden_dropout": 0.5, "attention_dropout": 0.5},
        {"hidden_dropout": 0.5, "attention_dropout": 0.5, "training": False},
        {"hidden_dropout": 0.0, "attention_dropout": 0.0, "training": True},
    ):
        again = student.encoder_layer(x, mask, weights, heads=heads, **settings)
        likely = "dropout strikes out in evaluation: F.dropout(x, p) has training=True"
        if settings.get("training"):
            likely = "the probabilities of dropout are not used"
        checks.same(
            student.encoder_layer(x, mask, weights, heads=heads, **settings), layer_of(*given),
            of=f"the states with {settings}",
            mistakes={likely: lambda out, again=again: not torch.equal(out, again)},
        )  # fmt: skip


@pytest.mark.weight(2)
def test_in_training_the_output_of_each_half_is_struck_out_and_the_residual_is_not(student):
    for half in ("attention.output", "output"):
        for p in (0.25, 0.6):
            x, _, weights, heads = case(16, 50, 64, 2, seed=8)
            weights = {name: torch.zeros_like(w) for name, w in weights.items()}
            weights |= {name: w + 1 for name, w in weights.items() if "LayerNorm.weight" in name}
            weights[f"{half}.dense.bias"][1::2] = 3.0  # added to every second number of a state
            out = student.encoder_layer(
                x, torch.ones(16, 50, dtype=torch.int64), weights, heads=heads,
                hidden_dropout=p, attention_dropout=0.0, training=True,
            )  # fmt: skip
            checks.same(out * 0, x * 0, of="the states (their shape and type)")
            residual = x if half == "attention.output" else F.layer_norm(x, (64,), eps=1e-12)
            added, misfit = added_before_the_norm(out, residual)
            where = f"after {half}.dense, with hidden_dropout={p}"
            checks.that(misfit < 1e-6, f"{where}: the residual was changed too",
                        likely="dropout after the sum or after the norm: it belongs on what the "
                               "dense layer gives, before the sum")  # fmt: skip
            struck = added.abs() < 1e-6
            checks.share(int(struck.sum()), struck.numel(), p,
                         of=f"the share of numbers struck out {where}",
                         mistakes={"there is no dropout here in training": 0.0,
                                   "hidden_dropout is the share that is struck out, not kept":
                                   1 - p, "0.1 is written in": 0.1,
                                   "dropout is applied twice": 1 - (1 - p) ** 2})  # fmt: skip
            checks.same(added[~struck], torch.full_like(added[~struck], 3 / (1 - p)),
                        of=f"what stays of a 3 {where}", tolerance=1e-6,
                        mistakes={"what stays must grow by 1 / (1 - p), so that the mean stays":
                                  lambda out: bool((out < 3.1).all())})  # fmt: skip


def added_before_the_norm(out, residual):
    """What was added to the odd numbers of each state before it was normalised, given that the even
    ones are the residual, but for the norm's scale and shift; and how ill that fits."""
    known, seen = residual[..., ::2], out[..., ::2]
    centred = known - known.mean(-1, keepdim=True)
    scale = (seen * centred).sum(-1, keepdim=True) / (centred**2).sum(-1, keepdim=True)
    shift = seen.mean(-1, keepdim=True) - scale * known.mean(-1, keepdim=True)
    misfit = (scale * known + shift - seen).abs().max().item()
    return (out[..., 1::2] - shift) / scale - residual[..., 1::2], misfit


@pytest.mark.weight(2)
def test_in_training_shares_of_attention_are_struck_out(student):
    x, _, weights, _ = case(13_000, 1, 4, 2, seed=9)
    mask = torch.ones(13_000, 1, dtype=torch.int64)
    values = attention_of(x, mask, weights, 2)  # one key: its share is 1
    for p in (0.3, 0.6):
        out = student.self_attention(x, mask, weights, heads=2, attention_dropout=p, training=True)
        checks.same(out * 0, x * 0, of="the gathered values (their shape and type)")
        ratio = (out / values).view(13_000, 2, 2)
        checks.same(ratio[..., 0], ratio[..., 1], of="the numbers of a head, struck out together",
                    mistakes={"dropout strikes out numbers of the values: it belongs on the shares":
                              lambda out: True}, tolerance=1e-6)  # fmt: skip
        struck = ratio[..., 0].abs() < 1e-6
        checks.share(int(struck.sum()), struck.numel(), p, of="the share of shares struck out",
                     mistakes={"there is no dropout of the shares in training": 0.0,
                               "attention_dropout is the share that is struck out, not kept":
                               1 - p, "0.1 is written in": 0.1})  # fmt: skip
        kept = ratio[..., 0][~struck]
        checks.same(kept, torch.full_like(kept, 1 / (1 - p)), of="what stays of a share of 1",
                    mistakes={"what stays must grow by 1 / (1 - p), so that the mean stays":
                              lambda out: bool((out < 1.01).all())}, tolerance=1e-6)  # fmt: skip


def test_the_layer_hands_its_dropout_on_to_the_attention(student):
    x, mask, weights, heads = case(3, 6, 8, 2)
    given = dict(heads=heads, hidden_dropout=0.0, training=True)
    checks.same(student.encoder_layer(x, mask, weights, attention_dropout=0.0, **given),
                layer_of(x, mask, weights, heads), of="the states after the layer, with "
                "attention_dropout=0 and hidden_dropout=0 in training")  # fmt: skip
    out = student.encoder_layer(x, mask, weights, attention_dropout=0.9, **given)
    checks.that(not torch.allclose(out, layer_of(x, mask, weights, heads)),
                "with attention_dropout=0.9 in training the layer gives what it gives without",
                likely="attention_dropout or training is not handed on to self_attention"
                )  # fmt: skip


def test_any_type_any_size_and_gaps_in_memory_are_fine(student):
    for dtype in (torch.float32, torch.float64):
        x, mask, weights, heads = case(3, 8, 12, 2, dtype=dtype)
        tolerance = 1e-4 if dtype is torch.float32 else None
        for states, visible in ((x, mask), (x[:, ::2], mask[:, ::2]), (30 * x, mask),
                                (1e-3 * x, mask)):  # fmt: skip
            checks.same(
                student.encoder_layer(states, visible, weights, heads=heads),
                layer_of(states, visible, weights, heads), of="the states after the layer",
                tolerance=tolerance,
            )  # fmt: skip


def test_nothing_is_left_behind(student):
    x, mask, weights, heads = case(2, 5, 12, 3)
    checks.leaves_no_trace(student.self_attention, x, mask, weights, heads=heads)
    checks.leaves_no_trace(student.encoder_layer, x, mask, weights, heads=heads)
