"""An encoder layer: its numbers, its gradients, its mask, and its dropout, in training alone."""

import math
from functools import partial
from itertools import combinations, product

import pytest
import torch
import torch.nn.functional as F

from autograder import checks, sweep
from autograder.worker import TORCH
from bert_lowlevel import model
from bert_lowlevel.attention import visible_keys
from bert_run.config import BertConfig

# batch, seq, hidden, heads; the last has the numbers of the first, in other heads
SHAPES = [(2, 5, 12, 3), (1, 7, 8, 4), (4, 4, 4, 2), (3, 1, 6, 1), (2, 5, 12, 4)]
SIGNS = [1, -1, 1, 1, -1, -1]


def case(batch, seq, hidden, heads, *, seed=3, dtype=torch.float64, wide=10):
    """States, a mask with padding at the end, weights of which no bias is 0 and no scale 1."""
    generator = checks.generator(seed + 100 * seq)

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
    """Attention, one thing about it being wrong; its weights are multiplied by `seen`."""
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
        "the mask is inverted: 1 is a token, 0 is padding": {
            "visible": ~mask[:, None, None, :].bool()},
        "the mask itself is added to the scores: padding must get the lowest number there is": {
            "visible": everything, "added": mask[:, None, None, :].to(x.dtype)},
        "padding is set to 0 after the softmax: the other weights no longer add up to 1": {
            "visible": everything, "seen": mask[:, None, None, :]},
        "a causal mask, as GPT has it: a token of BERT sees both sides": {
            "visible": mask[:, None, None, :].bool() & torch.ones(
                mask.shape[1], mask.shape[1], dtype=torch.bool).tril()},
        "the scores are not divided by √head_dim": {"scale": 1.0},
        "the scores are divided by √hidden: it is √head_dim, the width of one head": {
            "scale": math.sqrt(hidden)},
        "the scores are divided by head_dim: its root is missing": {"scale": hidden / heads},
        "the softmax runs over the queries: the weights of each query must add up to 1": {
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


def norm_with_its_own_eps(x, weights, name, eps, *, at, own):
    return norm(x, weights, name, own if name == at else eps)


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
        **{f"eps is not used in {name}: it is {other:g} there": wrong(
            norm=partial(norm_with_its_own_eps, at=name, own=other))
           for name in ("attention.output.LayerNorm", "output.LayerNorm")
           for other in (1e-5, 1e-12)},
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


IN_EVALUATION = "there is dropout in evaluation: F.dropout(x, p) has training=True"


def drops(call):
    """The mistake of an answer that is another one when it is asked for again."""
    return {IN_EVALUATION: lambda out: not torch.equal(out, call())}


def test_dropout_is_off_unless_training(student):
    x, mask, weights, heads = given = case(2, 5, 12, 3)
    for settings in (
        {"hidden_dropout": 0.5, "attention_dropout": 0.5},
        {"hidden_dropout": 0.5, "attention_dropout": 0.5, "training": False},
        {"hidden_dropout": 1.0, "attention_dropout": 1.0},
        {"hidden_dropout": 0.0, "attention_dropout": 0.0, "training": True},
        {"hidden_dropout": 0.0, "attention_dropout": 0.0, "training": True, "eps": 0.1},
    ):
        again = student.encoder_layer(x, mask, weights, heads=heads, **settings)
        likely = IN_EVALUATION
        if settings.get("training"):
            likely = "the probabilities of dropout are not used"
        checks.same(
            student.encoder_layer(x, mask, weights, heads=heads, **settings),
            layer_of(*given, settings.get("eps", 1e-12)), of=f"the states with {settings}",
            mistakes={likely: lambda out, again=again: not torch.equal(out, again)},
        )  # fmt: skip


@pytest.mark.hint(1)
@pytest.mark.weight(3)
def test_attention_gathers_what_each_head_finds(student):
    for shape in SHAPES:
        given = x, mask, weights, heads = case(*shape)
        for visible in (torch.ones_like(mask), mask):
            ask = partial(student.self_attention, x, visible, weights, heads=heads)
            checks.same(
                ask(),
                attention_of(x, visible, weights, heads),
                of="the gathered values" + (", with padding" if visible is mask else ""),
                mistakes=lambda: drops(ask) | attention_mistakes(x, visible, *given[2:]),
            )


@pytest.mark.hint(3)
@pytest.mark.weight(4)
def test_a_layer_adds_and_normalizes_twice(student):
    for shape in SHAPES:
        x, mask, weights, heads = given = case(*shape)
        for eps in (1e-12, 0.1):
            ask = partial(student.encoder_layer, x, mask, weights, heads=heads, eps=eps)
            checks.same(
                ask(),
                layer_of(*given, eps),
                of=f"the states after the layer (eps {eps:g})",
                mistakes=lambda: drops(ask) | layer_mistakes(*given, eps),
            )


@pytest.mark.hint(2)
@pytest.mark.weight(2)
def test_padding_is_never_seen_and_a_row_of_it_gives_no_nan(student):
    x, mask, weights, heads = case(3, 6, 8, 2)
    mask[2] = 0
    seen, expected = mask.bool(), layer_of(x, mask, weights, heads)
    for of, states, named in [  # scores at padding from about 1 up to 1e12
        ("the states of the tokens", x, {}),
        *[(f"the states of the tokens after the padding was multiplied by {factor:g}",
           x * torch.where(seen[:, :, None], 1.0, factor),
           {"what stands at padding changes the other tokens: its score must become -inf or the "
            "lowest finite number, not a number that is added": lambda out: True})
          for factor in (-50.0, 1e4, 1e11)],
    ]:  # fmt: skip
        ask = partial(student.encoder_layer, states, mask, weights, heads=heads)
        out = ask()
        checks.same(out.isfinite(), torch.ones_like(out).bool(), of="which states are finite",
                    mistakes={"a softmax of nothing but -inf is NaN: use the lowest finite number":
                              lambda found: not found[2].any()})  # fmt: skip
        again = drops(lambda ask=ask: ask()[seen])
        checks.same(out[seen], expected[seen], of=of, mistakes=again | named)
    for dtype, rows in ((torch.float64, slice(2, 3)), (torch.float32, slice(0, 3))):
        given = x[rows].to(dtype), mask[rows], {n: w.to(dtype) for n, w in weights.items()}
        checks.that(bool(student.encoder_layer(*given, heads=heads).isfinite().all()),
                    f"the states of a batch of {len(given[0])}, {dtype}: not finite, where a row "
                    "is all padding",
                    likely="-inf in the scores of a row that is all padding")  # fmt: skip
    for training, when in ((False, ""), (True, " in training")):
        out, gradients = student.encoder_layer.grad(
            x, mask, weights, heads=heads, wrt=("x", "weights"), upstream=torch.ones_like(x),
            training=training,
        )  # fmt: skip
        found = {"x": gradients["x"], **gradients["weights"]}
        found = {"the states": out} | {f"the gradient for {name}": g for name, g in found.items()}
        for name, part in found.items():
            checks.that(part is None or bool(part.isfinite().all()),
                        f"{name}{when}: not finite, where a row is all padding",
                        likely="-inf in the scores of a row that is all padding")  # fmt: skip


@pytest.mark.weight(3)
def test_the_gradient_reaches_every_parameter(student):
    cut = "by .detach(), .data, torch.no_grad() or a new tensor made of values"
    for shape in SHAPES[:2]:
        x, mask, weights, heads = given = case(*shape)
        upstream = torch.randn(x.shape, generator=checks.generator(5)).double()
        out, found = student.encoder_layer.grad(
            x, mask, weights, heads=heads, wrt=("x", "weights"), upstream=upstream
        )
        found = {"x": found["x"], **found["weights"]}
        lost = [name for name, gradient in found.items() if gradient is None]
        checks.that(not lost, f"no gradient reaches {', '.join(lost)}",
                    likely=f"the graph is cut: {cut}")  # fmt: skip
        ask = partial(student.encoder_layer, x, mask, weights, heads=heads)
        checks.same(out, layer_of(*given), of="the states, on the way to the gradients",
                    mistakes=drops(ask))  # fmt: skip
        right = gradients_of(*given, upstream)
        checks.same(found, right, of="the gradient",
                    mistakes={f"part of the graph is cut: {cut}": lambda out: True})  # fmt: skip
        _, found = student.encoder_layer.grad(
            x, mask, weights, heads=heads, wrt=("x", "weights"), upstream=upstream,
            hidden_dropout=0.0, attention_dropout=0.0, training=True,
        )  # fmt: skip
        checks.same({"x": found["x"], **found["weights"]}, right,
                    of="the gradient in training, where nothing is dropped",
                    mistakes={"the graph is cut in training": lambda out: True})  # fmt: skip
        _, found = student.encoder_layer.grad(
            x, mask, weights, heads=heads, wrt=("x", "weights"), upstream=upstream,
            hidden_dropout=0.1, attention_dropout=0.1, training=True,
        )  # fmt: skip
        lost = [name for name, gradient in {"x": found["x"], **found["weights"]}.items()
                if gradient is None or not gradient.any()]  # fmt: skip
        checks.that(not lost, f"in training no gradient reaches {', '.join(lost)}",
                    likely=f"the graph is cut in training: {cut}")  # fmt: skip
        for name, other in (("hidden", "attention"), ("attention", "hidden")):
            options = {f"{name}_dropout": 1.0, f"{other}_dropout": 0.0, "training": True}
            _, found = student.encoder_layer.grad(
                x, mask, weights, heads=heads, wrt=("x", "weights"), upstream=upstream, **options
            )
            lost = [name for name, gradient in {"x": found["x"], **found["weights"]}.items()
                    if gradient is None]  # fmt: skip
            checks.that(not lost, f"with {options} no gradient reaches {', '.join(lost)}",
                        likely="where p is 1 the graph is cut: what is dropped has a gradient too, "
                               "of zeros")  # fmt: skip
    check_gradients_of_one_argument(student)
    check_gradients_of_what_was_dropped(student)
    check_gradients_of_the_attention_weights(student)


def check_gradients_of_one_argument(student):
    """Of frozen weights, and of states that need no gradient; the numbers are of 32 bits."""
    given = x, mask, weights, heads = case(*SHAPES[0], dtype=torch.float32)
    right = gradients_of(*given, x)
    right = {"x": right.pop("x"), "weights": right}
    for name in right:
        _, found = student.encoder_layer.grad(x, mask, weights, heads=heads, wrt=(name,),
                                              upstream=x)  # fmt: skip
        sweep.same(found[name], right[name], of=f"the gradient for {name}, where nothing else "
                   "needs one, in float32", magnitude=1.0)  # fmt: skip
    for frozen, only in product(right["weights"], (False, True)):
        learning = [name for name in right["weights"] if (name == frozen) is only]
        wrt = tuple(f"weights:{name}" for name in learning)
        _, found = student.encoder_layer.grad(x, mask, weights, heads=heads, wrt=wrt, upstream=x)
        sweep.same([found[name] for name in wrt], [right["weights"][name] for name in learning],
                   of=f"the gradients where, of the weights, {frozen} alone is "
                      f"{'not ' * only}frozen", magnitude=1.0)  # fmt: skip


def check_gradients_of_what_was_dropped(student):
    """In one call, the gradient must go by the same draws as the result."""
    likely = "dropout is drawn anew in the backward: a checkpoint must keep the generator's state"
    x, mask, weights, heads = case(2, 5, 12, 3)
    upstream = torch.randn(x.shape, generator=checks.generator(5)).double()
    out, found = student.self_attention.grad(
        x, mask, weights, heads=heads, wrt=("weights",), upstream=upstream,
        attention_dropout=0.5, training=True,
    )  # fmt: skip
    values = [f"attention.self.value.{kind}" for kind in ("weight", "bias")]
    # The result is linear in these two, so that it is the sum of each number times its gradient.
    by_gradient = sum((weights[name] * found["weights"][name]).sum() for name in values)
    checks.same(by_gradient, (out * upstream).sum(),
                of="in training, what the gradients for the values say the result is",
                mistakes={likely: lambda out: True})  # fmt: skip
    for role in ("query", "key"):
        for kind in ("weight", "bias"):
            weights[f"attention.self.{role}.{kind}"].zero_()
    _, found = student.encoder_layer.grad(
        x, mask, weights, heads=heads, wrt=("x", "weights"), upstream=upstream,
        hidden_dropout=0.0, attention_dropout=0.5, training=True,
    )  # fmt: skip
    # Every query sees all tokens alike: what the first norm gets is linear in these three, and the
    # norm does not change where all three grow alike.
    each = [x * found["x"]] + [
        weights[name] * found["weights"][name]
        for name in ("attention.self.value.bias", "attention.output.dense.bias")
    ]
    total = sum(part.sum() for part in each).abs()
    checks.that(bool(total < 1e-6 * sum(part.abs().sum() for part in each)),
                "in training, the gradients of encoder_layer do not belong to its result, with "
                "attention_dropout=0.5", likely=likely)  # fmt: skip
    for half in ("attention.output", "output"):
        x, mask, weights, heads = case(1, 1, 64, 2)
        upstream = torch.randn(x.shape, generator=checks.generator(5)).double()
        for name in ("attention.output", "output"):
            weights[f"{name}.dense.weight"].zero_()
            weights[f"{name}.dense.bias"].fill_(100.0 if name == half else 0.0)
            weights[f"{name}.LayerNorm.weight"].fill_(1.0)
            weights[f"{name}.LayerNorm.bias"].zero_()
        out, found = student.encoder_layer.grad(
            x, mask, weights, heads=heads, wrt=("weights",), upstream=upstream,
            hidden_dropout=0.5, attention_dropout=0.0, training=True,
        )  # fmt: skip
        # What was dropped lies far below what had 200 added to it.
        learns = found["weights"][f"{half}.dense.bias"].abs() > 1e-12
        checks.same(learns, out[0, 0] > 0, mistakes={likely: lambda out: True},
                    of=f"which numbers of {half}.dense learn: those that were not dropped"
                    )  # fmt: skip


def check_gradients_of_the_attention_weights(student):
    """Also what the queries and keys learn goes by the draws."""
    given = x, mask, weights, heads = case(2, 5, 16, 2)
    for kind in ("weight", "bias"):  # so that no attention weight is nearly 0
        weights[f"attention.self.query.{kind}"] *= 0.1
    out, found = student.self_attention.grad(
        x, mask, weights, heads=heads, wrt=("x", "weights"), upstream=x,
        attention_dropout=0.5, training=True,
    )  # fmt: skip
    # As there are fewer tokens than numbers in a head, a context says which weights were left.
    value = dense(x, weights, "attention.self.value").unflatten(-1, (heads, -1)).transpose(1, 2)
    left = out.unflatten(-1, (heads, -1)).transpose(1, 2) @ torch.linalg.pinv(value)
    attends = partial(wrong_attention, seen=2.0 * (left.abs() > 1e-9))
    right = gradients_of(*given, x, result=attends)
    found = {"x": found["x"], **found["weights"]}
    for name in ("x", *(name for name in right if ".self." in name)):
        checks.same(found[name], right[name], of=f"in training, the gradient of the attention for "
                    f"{name}", mistakes={"dropout is left out of the gradient, or the graph is cut "
                                         "there": lambda out: True})  # fmt: skip


def gradients_of(x, mask, weights, heads, upstream, *, result=layer_of):
    with torch.enable_grad():
        leaves = {name: t.clone().requires_grad_() for name, t in {"x": x, **weights}.items()}
        out = result(leaves["x"], mask, leaves, heads)
        found = checks.gradients_of(out, list(leaves.values()), upstream)
    return dict(zip(leaves, found, strict=True))


def one_half(half, x, mask, weights, heads):
    """Weights of a layer of which only one half adds something, and that to the odd numbers of a
    state alone; what it adds to what."""
    other = {"attention.output": "output", "output": "attention.output"}[half]
    weights = {name: w.clone() for name, w in weights.items()}
    for name in ("attention.output.LayerNorm", "output.LayerNorm"):
        weights[f"{name}.weight"].fill_(1.0)
        weights[f"{name}.bias"].zero_()
    for kind in ("weight", "bias"):
        weights[f"{other}.dense.{kind}"].zero_()
        weights[f"{half}.dense.{kind}"][::2] = 0.0
    if half == "attention.output":
        return weights, x, dense(attention_of(x, mask, weights, heads), weights, f"{half}.dense")
    residual = F.layer_norm(x, x.shape[-1:], eps=1e-12)
    wide = F.gelu(dense(residual, weights, "intermediate.dense"))
    return weights, residual, dense(wide, weights, f"{half}.dense")


def added_before_the_norm(out, residual):
    """What was added to the odd numbers of each state before it was normalized, given that the even
    ones are the residual, up to the norm's scale and shift; and how ill that fits."""
    known, seen = residual[..., ::2], out[..., ::2]
    centered = known - known.mean(-1, keepdim=True)
    scale = (seen * centered).sum(-1, keepdim=True) / (centered**2).sum(-1, keepdim=True)
    shift = seen.mean(-1, keepdim=True) - scale * known.mean(-1, keepdim=True)
    misfit = (scale * known + shift - seen).abs().max().item()
    return (out[..., 1::2] - shift) / scale - residual[..., 1::2], misfit


def check_without_dropout(student, *given):
    """Only where the layer is right without dropout can dropout be told from other mistakes."""
    x, mask, weights, heads = given
    checks.same(
        student.encoder_layer(x, mask, weights, heads=heads),
        layer_of(*given),
        of="the states after the layer without dropout",
        mistakes=lambda: layer_mistakes(*given),
    )


def check_dropout(ratio, p, argument, where):
    """`ratio` is what came, divided by what would come without dropout."""
    dropped, grown = ratio.abs() < 1e-6, 1 / (1 - p)
    kept = ratio[~dropped]
    factors = kept.sort().values
    is_one = bool(len(factors) and factors[-1] - factors[0] < 1e-5)
    checks.that(not is_one or dropped.any() or abs(factors[0] - 1) > 1e-5,
                f"{where}, with {argument}={p}: nothing was set to 0",
                likely="there is no dropout here in training")  # fmt: skip
    likely = {"what stays must be multiplied by 1 / (1 - p), so that the mean stays": 1.0,
              f"{argument} is the probability of a 0: here it is that of staying": 1 / p,
              f"{argument} is not used: 0.1 is written in": 1 / 0.9,
              "dropout is applied twice": grown**2}  # fmt: skip
    elsewhere = "numbers before this place were set to 0: dropout belongs here, and nowhere else"
    checks.same(
        kept,
        torch.full_like(kept, grown),
        tolerance=1e-5,
        of=f"{where}, with {argument}={p}: what stays, divided by what it was",
        mistakes=lambda: (
            {name: torch.full_like(kept, factor) for name, factor in likely.items()}
            | {elsewhere: lambda out: not is_one}
        ),
    )


def check_independence(dropped, p, axes, where):
    """A share p must be 0, and each number be drawn by itself: along each axis, p² of the pairs of
    neighbors must both be 0."""
    lines = {name: dropped.movedim(axis, -1) for axis, name in enumerate(axes)}
    for name, line in lines.items():
        checks.that(bool((line != line[..., :1]).any()), f"{where}: all {name} are 0, or none",
                    likely=f"one draw decides for all {name}")  # fmt: skip
    checks.share(int(dropped.sum()), dropped.numel(), p,
                 of=f"{where}, with a dropout of {p}: the share of numbers set to 0")  # fmt: skip
    for name, line in lines.items():
        pairs = line[..., : line.shape[-1] // 2 * 2].reshape(-1, 2)
        checks.share(int(pairs.all(1).sum()), len(pairs), p**2,
                     of=f"{where}: how often two neighbors along the axis of the {name} are both 0"
                     )  # fmt: skip
        counts = line.flatten(0, -2).sum(0)
        for count in (int(counts.min()), int(counts.max())):
            sweep.is_about(count, p * (line.numel() // len(counts)), likely="some have another "
                           f"dropout than the rest: it is one for all {name}",
                           of=f"{where}, numbers set to 0 in one of the {name}")  # fmt: skip
    sweep.is_unrelated(dropped, of=f"{where}, the numbers set to 0")


@pytest.mark.weight(3)
def test_in_training_dropout_is_on_what_each_half_adds_and_nowhere_else(student):
    for half in ("attention.output", "output"):
        for p in (0.25, 0.6):
            x, mask, weights, heads = case(32, 25, 64, 2, seed=8)
            weights, residual, expected = one_half(half, x, mask, weights, heads)
            check_without_dropout(student, x, mask, weights, heads)
            out = student.encoder_layer(x, mask, weights, heads=heads, hidden_dropout=p,
                                        attention_dropout=0.0, training=True)  # fmt: skip
            checks.same(out * 0, x * 0, of="the states (their shape and type)")
            added, misfit = added_before_the_norm(out, residual)
            where = f"what {half}.dense gives"
            checks.that(misfit < 1e-6,
                        f"{where}, with hidden_dropout={p}: the residual was changed too",
                        likely="dropout after the sum or after the norm: it belongs on what the "
                               "dense layer gives, before the sum")  # fmt: skip
            expected = expected[..., 1::2]
            clear = expected.abs() > 1e-3
            check_dropout((added / expected)[clear], p, "hidden_dropout", where)
            check_independence(added.abs() < 1e-6, p, ("rows", "tokens", "numbers"), where)


@pytest.mark.weight(3)
def test_in_training_dropout_is_on_the_attention_weights_and_nowhere_else(student):
    batch, seq, heads, size = 300, 7, 2, 8
    x, _, weights, _ = case(batch, seq, heads * size, heads, seed=9)
    for role in ("query", "key"):  # so that no attention weight is nearly 0
        weights[f"attention.self.{role}.weight"] *= 0.1
        weights[f"attention.self.{role}.bias"] *= 0.1
    whole = torch.ones(batch, seq, dtype=torch.int64)
    place = torch.randint(seq, (batch, 1), generator=checks.generator(9))
    holes = whole.scatter(1, place, 0)  # one key of each row is padding
    values = dense(x, weights, "attention.self.value").unflatten(-1, (heads, size)).transpose(1, 2)
    values_back = torch.linalg.pinv(values)

    def weights_of(context):
        """The attention weights of a context; how far it is from a sum of values."""
        context = context.unflatten(-1, (heads, size)).transpose(1, 2)
        found = context @ values_back
        return found, (found @ values - context).abs().max().item()

    for p, mask in ((0.3, whole), (0.6, holes)):
        context = attention_of(x, mask, weights, heads)
        right, _ = weights_of(context)
        checks.same(student.self_attention(x, mask, weights, heads=heads), context,
                    of="the gathered values without dropout",
                    mistakes=lambda: attention_mistakes(x, mask, weights, heads))  # fmt: skip
        out = student.self_attention(
            x, mask, weights, heads=heads, attention_dropout=p, training=True
        )
        checks.same(out * 0, x * 0, of="the context (its shape and type)")
        found, misfit = weights_of(out)
        where = "the attention weights"
        checks.that(misfit < 1e-6,
                    f"with attention_dropout={p} the context is no weighted sum of the values",
                    likely="dropout sets numbers of the values or of the context to 0: it belongs "
                           "on the attention weights, after the softmax")  # fmt: skip
        is_seen = mask.bool()[:, None, None].expand_as(found)
        checks.that(bool((found[~is_seen].abs() < 1e-6).all()),
                    f"in training, with attention_dropout={p}, queries see a key that is padding",
                    likely="the mask is not used in training")  # fmt: skip
        ratio = (found / right)[is_seen].view(batch, heads, seq, -1)
        check_dropout(ratio, p, "attention_dropout", where)
        check_independence(ratio.abs() < 1e-6, p, ("rows", "heads", "queries", "keys"), where)
        shares = right[is_seen].view(ratio.shape)
        large = shares > shares.median(-1, keepdim=True).values
        checks.share(int((ratio[large].abs() < 1e-6).sum()), int(large.sum()), p,
                     of=f"{where}: the share set to 0 of those that are larger than most"
                     )  # fmt: skip


def test_the_layer_passes_its_dropout_to_the_attention(student):
    x, mask, weights, heads = case(3, 6, 8, 2)
    given = dict(heads=heads, hidden_dropout=0.0, training=True)
    checks.same(student.encoder_layer(x, mask, weights, attention_dropout=0.0, **given),
                layer_of(x, mask, weights, heads), of="the states after the layer, with "
                "attention_dropout=0 and hidden_dropout=0 in training")  # fmt: skip
    x, mask, weights, _ = case(40, 1, 64, 1, seed=10)  # one key: its weight is 1
    weights, residual, expected = one_half("attention.output", x, mask, weights, 1)
    expected = expected - weights["attention.output.dense.bias"]
    weights["attention.output.dense.bias"].zero_()
    check_without_dropout(student, x, mask, weights, 1)
    for p in (0.6, None):
        settings = {} if p is None else {"attention_dropout": p}
        out = student.encoder_layer(x, mask, weights, heads=1, hidden_dropout=0.0, training=True,
                                    **settings)  # fmt: skip
        checks.same(out * 0, x * 0, of="the states (their shape and type)")
        added, _ = added_before_the_norm(out, residual)
        ratio = (added / expected[..., 1::2]).median(-1).values
        factor = float(ratio.max())
        checks.same(
            factor,
            1 / (1 - (0.1 if p is None else p)),
            tolerance=1e-6,
            of="the largest factor of an attention weight in training, with "
            + (f"attention_dropout={p}" if p else "the attention_dropout of the signature, 0.1"),
            mistakes=lambda: {
                "attention_dropout or training is not passed to self_attention": 1.0,
                "attention_dropout is not passed to self_attention, which takes its own 0.1": 1
                / 0.9,
            },
        )


def test_without_probabilities_dropout_is_a_tenth(student):
    x, mask, weights, heads = case(40, 1, 64, 1, seed=10)
    check_without_dropout(student, x, mask, weights, heads)
    context = student.self_attention(x, mask, weights, heads=heads, training=True)
    expected = attention_of(x, mask, weights, heads)
    checks.same(context * 0, expected * 0, of="the context (its shape and type)")
    ratio = context / expected
    kept = ratio[ratio.abs() > 1e-6]
    checks.same(kept, torch.full_like(kept, 1 / 0.9), tolerance=1e-6,
                of="what stays of an attention weight of 1, divided by 1, with the "
                   "attention_dropout of the signature, 0.1")  # fmt: skip
    weights, residual, expected = one_half("output", x, mask, weights, heads)
    check_without_dropout(student, x, mask, weights, heads)
    out = student.encoder_layer(x, mask, weights, heads=heads, training=True)
    checks.same(out * 0, x * 0, of="the states (their shape and type)")
    ratio = added_before_the_norm(out, residual)[0] / expected[..., 1::2]
    kept = ratio[(ratio.abs() > 1e-6) & (expected[..., 1::2].abs() > 1e-3)]
    checks.same(kept, torch.full_like(kept, 1 / 0.9), tolerance=1e-5,
                of="what stays of the numbers of output.dense, divided by what they were, with the "
                   "hidden_dropout of the signature, 0.1")  # fmt: skip


def test_dropout_draws_from_the_global_generator_of_torch(student):
    x, mask, weights, heads = case(3, 6, 8, 2)
    for name, function in (("attention", student.self_attention), ("layer", student.encoder_layer)):
        calls = [function.trace(x, mask, weights, heads=heads, training=True, global_seed=seed,
                                attention_dropout=0.5) for seed in (1, 1, 2)]  # fmt: skip
        first, again, other = (call.value for call in calls)
        others = [what for what in calls[0].changed if what != TORCH]
        checks.that(not others, f"the {name} in training changed {' and '.join(others)}",
                    likely="dropout draws from torch's global generator alone")  # fmt: skip
        checks.same(again, first, of=f"the {name} in training after the same torch.manual_seed",
                    mistakes={"dropout draws from another generator than torch's global one":
                              lambda out: True})  # fmt: skip
        checks.that(not torch.equal(first, other),
                    f"after torch.manual_seed(1) and (2) the {name} in training gives the same",
                    likely="there is no dropout in training, or it has a seed of its own"
                    )  # fmt: skip


@pytest.mark.hint(3)
def test_equal_numbers_show_the_eps_of_the_signature(student):
    """The variance of a state of equal numbers is 0: only eps keeps the norm from dividing by 0."""
    x, mask, weights, heads = case(2, 3, 8, 2)
    weights = {name: w if "LayerNorm" in name else torch.zeros_like(w)
               for name, w in weights.items()}  # fmt: skip
    x = torch.ones_like(x)
    weights["attention.output.LayerNorm.weight"].fill_(1.0)
    weights["attention.output.LayerNorm.bias"].fill_(2.0)
    expected = weights["output.LayerNorm.bias"].expand_as(x)
    checks.same(student.encoder_layer(x, mask, weights, heads=heads), expected,
                of="the states after the layer, where all numbers of a state are equal",
                mistakes={"0 / 0: there is no eps": lambda out: bool(out.isnan().any())}
                )  # fmt: skip


@pytest.mark.hint(4)
def test_the_example_of_the_page(student):
    x = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    weights = {}
    for name in ("attention.self.query", "attention.self.key", "attention.self.value",
                 "attention.output.dense", "intermediate.dense", "output.dense"):  # fmt: skip
        weights |= {f"{name}.weight": torch.eye(2), f"{name}.bias": torch.zeros(2)}
    for name in ("attention.output.LayerNorm", "output.LayerNorm"):
        weights |= {f"{name}.weight": torch.ones(2), f"{name}.bias": torch.zeros(2)}
    for mask, context, states in [
        ([[1, 1]], [[[0.6698, 0.3302], [0.3302, 0.6698]]], [[[1, -1], [-1, 1]]]),
        ([[1, 0]], [[[1, 0], [1, 0]]], [[[1, -1], [0, 0]]]),
    ]:
        given = (x, torch.tensor(mask), weights)
        checks.same(student.self_attention(*given, heads=1), torch.tensor(context, dtype=x.dtype),
                    of=f"self_attention in the example with the mask {mask}", tolerance=1e-4
                    )  # fmt: skip
        checks.same(student.encoder_layer(*given, heads=1), torch.tensor(states, dtype=x.dtype),
                    of=f"encoder_layer in the example with the mask {mask}", tolerance=1e-4
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
        for name, function in (("context", student.self_attention),
                               ("states", student.encoder_layer)):  # fmt: skip
            out = function(x, mask, weights, heads=heads, training=True)
            checks.same(out * 0, x * 0, of=f"the {name} in training (shape and type)")
        nothing = dict(hidden_dropout=0.0, attention_dropout=0.0, training=True)
        checks.same(student.encoder_layer(x, mask, weights, heads=heads, **nothing),
                    layer_of(x, mask, weights, heads), tolerance=tolerance,
                    of="the states in training, where nothing is dropped")  # fmt: skip


@pytest.mark.hint(2)
def test_masks_of_any_width_and_scores_of_any_size(student):
    x, mask, weights, heads = case(3, 6, 8, 2)
    mask = mask.flip(0)  # the first row is whole, another is not
    for integer in (torch.uint8, torch.int8, torch.int32, torch.int64):
        given = x, mask.to(integer), weights, heads
        checks.same(student.self_attention(*given[:3], heads=heads),
                    attention_of(x, mask, weights, heads),
                    of=f"the gathered values for a mask of type {integer}",
                    mistakes=lambda: attention_mistakes(x, mask, weights, heads))  # fmt: skip
    holes = mask.clone()
    holes[0, 1], holes[1] = 0, torch.tensor([0, 1, 0, 1, 1, 0])
    checks.same(student.self_attention(x, holes, weights, heads=heads),
                attention_of(x, holes, weights, heads),
                of="the gathered values where padding stands among the tokens", mistakes=lambda: {
                    "the mask is read as a length: padding may stand anywhere": attention_of(
                        x, (torch.arange(6) < holes.sum(1)[:, None]).long(), weights, heads),
                    **attention_mistakes(x, holes, weights, heads)})  # fmt: skip
    # Rows that begin and end alike, and have equally many tokens, but at other places.
    places = torch.tensor([[1, 1, 0, 0, 1, 1], [1, 0, 1, 1, 0, 1], [1, 1, 0, 1, 0, 1]])
    for rows in ([0, 1, 0, 2, 0], [0, 0, 1], [1, 0]):
        given = torch.cat([x, x.flip(0)])[: len(rows)], places[rows], weights
        of = f"for the mask {places[rows].tolist()}"
        likely = {"rows that have as many tokens are taken to have the same": lambda out: True}
        checks.same(student.self_attention(*given, heads=heads), attention_of(*given, heads),
                    of=f"the gathered values {of}", mistakes=likely)  # fmt: skip
        checks.same(student.encoder_layer(*given, heads=heads), layer_of(*given, heads),
                    of=f"the states {of}", mistakes=likely)  # fmt: skip
    # All scores lie below every round number that a mask might write: what the padding is must not
    # matter.
    for dtype, size in ((torch.float64, 1e100), (torch.float32, 1e15)):
        for role, bias in (("query", size), ("key", -size)):
            weights[f"attention.self.{role}.weight"].zero_()
            weights[f"attention.self.{role}.bias"].fill_(bias)
        given = {name: w.to(dtype) for name, w in weights.items()}
        first, second = (student.self_attention(states.to(dtype), mask, given, heads=heads)
                         for states in (x, x + 5.0 * (mask == 0)[..., None]))  # fmt: skip
        checks.same(second, first,
                    of=f"the gathered values of other padding, with scores near -{size:g}²",
                    mistakes={"the number at padding is not the lowest: use torch.finfo(dtype).min":
                              lambda out: True})  # fmt: skip

    check_weights_that_look_simple(student)
    check_sizes_of_bert(student)


def check_weights_that_look_simple(student):
    """Some matrices are one object, and pairs of numbers add up to 0, those of scales to 2."""
    x, mask, drawn, heads = case(2, 5, 12, 3, seed=13)
    weights = {}
    for name, w in drawn.items():
        half = (16 * w[..., ::2]).round() / 16  # so that the sums are exact
        weights[name] = torch.stack([half, 2.0 * ("Norm.weight" in name) - half], -1).flatten(-2)
    for name in ("self.key", "self.value", "output.dense"):
        weights[f"attention.{name}.weight"] = weights["attention.self.query.weight"]
    weights["output.LayerNorm.weight"] = weights["attention.output.LayerNorm.weight"]
    given = x, mask, weights
    for function, right in ((student.self_attention, attention_of),
                            (student.encoder_layer, layer_of)):  # fmt: skip
        before = function.name, given, {"heads": heads}, 1
        checks.same(
            function.trace(*given, heads=heads, before=before).value,
            right(*given, heads),
            of=f"the result of {function.name}, where query, key and value have one matrix, scales "
            "add up to their count and other weights to 0",
            mistakes={"what is one object, or has a simple sum, is treated like something simpler":
                      lambda out: True},
        )  # fmt: skip


def check_sizes_of_bert(student):
    """More than a million attention weights; numbers of tokens that 8 bits do not hold."""
    batch, seq, heads = 2, 260, 12
    x, _, weights, _ = case(batch, seq, heads, heads, seed=14, wide=2)
    weights = {n: w / len(w) ** 0.5 if w.ndim == 2 else w for n, w in weights.items()}
    order = torch.rand(batch, seq, generator=checks.generator(15)).argsort(1)
    mask = (order < torch.tensor([[256], [200]])).long()
    of = f"{batch} rows of {seq} tokens, 256 and 200 of them no padding, {heads} heads"
    likely = {"a block of rows is treated in another way than the first, or tokens are counted in "
              "8 bits": lambda out: True}  # fmt: skip
    checks.same(student.encoder_layer(x, mask.to(torch.int8), weights, heads=heads),
                layer_of(x, mask, weights, heads), of=f"the states of {of}", mistakes=likely
                )  # fmt: skip
    # Where all weights are equal, a context says how many of a query's are left in a head.
    weights = {name: torch.zeros_like(w).float() for name, w in weights.items()}
    weights["attention.self.value.bias"] += 1.0
    context = student.self_attention(x.float(), torch.ones_like(mask), weights, heads=heads,
                                     attention_dropout=0.5, training=True)  # fmt: skip
    left = (context * seq / 2).round().flatten(0, 1)
    for lines, names in ((left, "queries"), (left.T, "heads")):
        different = len(lines.unique(dim=0))
        checks.that(different == len(lines), f"in training, of {len(lines)} {names} of {of} only "
                    f"{different} keep different numbers of attention weights",
                    likely="the draws of one block serve for another too")  # fmt: skip


def test_every_dropout_of_every_call_is_drawn_anew(student):
    # What the two output layers give is 2 and 200, or 0: a state of 64 numbers has four levels.
    x, mask, weights, heads = case(20, 3, 64, 2)
    weights = {name: torch.ones_like(w) if "LayerNorm.weight" in name else torch.zeros_like(w)
               for name, w in weights.items()}  # fmt: skip
    weights["attention.output.dense.bias"].fill_(1.0)
    weights["output.dense.bias"].fill_(100.0)
    given = dict(heads=heads, hidden_dropout=0.5, training=True)
    out = student.encoder_layer(0 * x, mask, weights, **given)
    checks.same(out * 0, x * 0, of="the states (their shape and type)")
    levels = [len(state.mul(1e5).round().unique()) for state in out.flatten(0, 1)]
    checks.that(sum(levels) > 3 * len(levels), "in training, what attention.output.dense and "
                "output.dense give is 0 at the same places",
                likely="both have one mask: draw another for each")  # fmt: skip
    # 120 calls: some of them are alike where there are but a thousand masks in all.
    seed = "a generator is seeded in the call with a small number"
    x, mask, weights, heads = case(1, 1, 64, 2, wide=1)
    weights = {name: torch.zeros_like(w) + ("LayerNorm.weight" in name) for name, w in
               weights.items()}  # fmt: skip
    weights["attention.output.dense.bias"] += 1.0
    weights["output.dense.bias"] += 100.0
    out = torch.cat([student.encoder_layer(0 * x, mask, weights, **given) for _ in range(120)])
    is_last = out > 0  # what output.dense gives is the larger by far
    is_first = torch.zeros_like(is_last)
    for part in (is_last, ~is_last):
        is_first |= part & (out > (out * part).sum(-1, keepdim=True) / part.sum(-1, keepdim=True))
    for name, kept in (("output.dense", is_last), ("attention.output.dense", is_first)):
        found = len(kept.unique(dim=0))
        checks.that(found == len(kept), f"{len(kept)} calls in training drop only {found} "
                    f"different sets of numbers of {name}", likely=seed)  # fmt: skip
    first, last = (sweep.about_mean(k, torch.ones_like(k))[:, 0] for k in (is_first, is_last))
    sweep.have_own_draws(
        first, last, of="the numbers that attention.output.dense and output.dense keep"
    )
    weights["attention.self.value.bias"] += 1.0  # of 64 heads, with one token: the weights are 1
    given = dict(heads=64, attention_dropout=0.5, training=True)
    seen = torch.cat([student.self_attention(0 * x, mask, weights, **given) for _ in range(120)])
    found = len(seen.unique(dim=0))
    checks.that(found == 120, f"120 calls in training drop only {found} different sets of "
                "attention weights", likely="the state of torch's generator is put back after the "
                "call" if found == 1 else seed)  # fmt: skip
    for name, kept in (("attention weights", seen > 0), ("numbers of attention.output.dense",
                       is_first), ("numbers of output.dense", is_last)):  # fmt: skip
        sweep.is_unrelated(kept[:, 0], of=f"which {name} are kept, call by call")
        for count in (int(kept.sum(0).min()), int(kept.sum(0).max())):
            sweep.is_about(count, 60, of=f"how often one of the 64 {name} is kept in 120 calls, "
                           "at a dropout of 0.5")  # fmt: skip
    x, mask, weights, heads = case(3, 6, 8, 2)
    for name in ("attention.output.dense", "output.dense"):  # one of them alone, in each call
        bare = {n: torch.zeros_like(w) if n.endswith("dense.bias") or "output.dense.weight" in n
                else w for n, w in weights.items()}  # fmt: skip
        bare[f"{name}.bias"] = torch.full_like(bare[f"{name}.bias"], 3.0)
        first, second = (student.encoder_layer(x, mask, bare, heads=heads, hidden_dropout=0.5,
                                               training=True) for _ in range(2))  # fmt: skip
        checks.that(not torch.equal(first, second), "two calls in training, one after the other, "
                    f"drop the same numbers of {name}",
                    likely="this dropout draws from a generator that is seeded in the call"
                    )  # fmt: skip


def with_dropout(x, mask, weights, heads, eps, seen, first, last):
    """The layer; its attention weights and what its halves add are multiplied by the last three."""
    context = wrong_attention(x, mask, weights, heads, seen=seen)
    added = first * dense(context, weights, "attention.output.dense")
    x = norm(x + added, weights, "attention.output.LayerNorm", eps)
    wide = F.gelu(dense(x, weights, "intermediate.dense"))
    return norm(x + last * dense(wide, weights, "output.dense"), weights, "output.LayerNorm", eps)


def what_was_kept(out, x, mask, weights, heads, eps, attention_dropout, hidden_dropout):
    """For each token the attention weights, numbers of the first and of the last half that its
    `out` kept, found by trying all there are; and how far the nearest result is from it."""
    batch, seq, hidden = x.shape
    sizes = heads * seq, hidden, hidden
    tries = torch.arange(2 ** sum(sizes))[:, None] >> torch.arange(sum(sizes)) & 1
    seen, first, last = tries.to(x.dtype).repeat_interleave(batch, 0).split(sizes, 1)
    many = len(tries), 1, 1
    results = with_dropout(
        x.repeat(many), mask.repeat(many[:2]), weights, heads, eps,
        seen.view(-1, heads, 1, seq) / (1 - attention_dropout),
        first[:, None] / (1 - hidden_dropout), last[:, None] / (1 - hidden_dropout),
    )  # fmt: skip
    gaps = (results.view(len(tries), *x.shape) - out).abs().amax(-1)
    nearest = gaps.min(0)
    kept = tries[nearest.indices].to(x.dtype).split(sizes, -1)
    return kept, float(nearest.values.max())


def test_a_call_in_training_gives_what_some_draws_of_dropout_give(student):
    for shape, attention_dropout, hidden_dropout, eps, dtype in [
        ((300, 1, 2, 2), 0.5, 0.5, 0.1, torch.float64),
        ((20, 2, 3, 1), 0.5, 0.3, 2.0, torch.float64),
        ((2, 2, 4, 2), 0.25, 0.5, 0.1, torch.float64),
        ((20, 1, 3, 1), 0.5, 0.2, 0.1, torch.float32),
    ]:
        x, mask, weights, heads = case(*shape, seed=12, wide=3, dtype=dtype)
        mask[0], mask[1, -1], mask[1:, 0] = 1, 0, 1
        for kind in ("weight", "bias"):  # so that no attention weight is nearly 0
            weights[f"attention.self.query.{kind}"] *= 0.1
        options = {"attention_dropout": attention_dropout, "hidden_dropout": hidden_dropout}
        upstream = torch.randn(x.shape, generator=checks.generator(5)).to(dtype)
        given = sweep.laid_out((x, mask, weights), 2)
        out, found = student.encoder_layer.grad(
            *given, heads=heads, eps=eps, wrt=("x", "weights"), upstream=upstream,
            training=True, **options,
        )  # fmt: skip
        checks.same(out * 0, x * 0, of="the states in training (shape and type)")
        kept, gap = what_was_kept(out, x, mask, weights, heads, eps, **options)
        told = ", ".join(f"{name}={p}" for name, p in options.items())
        checks.that(gap < (1e-10 if dtype is torch.float64 else 1e-3),
                    f"in training, states {tuple(x.shape)}, {dtype}, with {told}: whatever is set "
                    f"to 0, the layer gives no such states (the nearest are {gap:.1g} away)",
                    likely="besides dropout something else is not as in evaluation: the mask, the "
                           "heads, the norms, or what is multiplied by 1 / (1 - p)")  # fmt: skip
        if dtype is torch.float32:
            continue
        seen = kept[0].unflatten(-1, (heads, -1)).transpose(1, 2) / (1 - attention_dropout)
        first, last = (part / (1 - hidden_dropout) for part in kept[1:])
        right = gradients_of(
            x, mask, weights, heads, upstream,
            result=lambda *of: with_dropout(*of, eps, seen, first, last),
        )  # fmt: skip
        sweep.same({"x": found["x"], **found["weights"]}, right, magnitude=1.0,
                   of=f"the gradients in training, with {told}")  # fmt: skip
        if shape[1:] == (1, 2, 2):
            # Where the first half is all 0, nobody can tell what the attention weights were.
            is_known = (kept[1] > 0).any(-1, keepdim=True).expand_as(kept[0])
            known = {"the attention weights": is_known, "the first half": is_known | True,
                     "the last half": is_known | True}  # fmt: skip
            parts = list(zip(known.items(), kept, strict=True))
            centered = {name: sweep.about_mean(part, where)[:, 0] for (name, where), part in parts}
            for one, other in combinations(known, 2):
                sweep.have_own_draws(centered[one], centered[other],
                                     of=f"what {one} and {other} keep")  # fmt: skip
            for (name, where), part in parts:
                both = int((part[where].view(-1, 2) == 0).all(-1).sum())
                checks.share(both, int(where.sum()) // 2, 0.25,
                             of=f"how often both numbers of {name} are set to 0")  # fmt: skip


def test_eps_0_and_dropout_of_1_are_values_like_others(student):
    x, mask, weights, heads = case(2, 3, 8, 2)
    small = {name: w if "LayerNorm" in name else 1e-6 * w for name, w in weights.items()}
    states = 1e-6 * x
    expected = wrong_layer(states, mask, small, heads, 0.0)
    checks.same(student.encoder_layer(states, mask, small, heads=heads, eps=0.0), expected,
                of="the states after the layer for tiny numbers, eps 0",
                mistakes=lambda: {"eps=0 is taken for the default": (
                    layer_of(states, mask, small, heads))})  # fmt: skip
    single = states.float(), mask, {n: w.float() for n, w in small.items()}
    checks.same(student.encoder_layer(*single, heads=heads), layer_of(*single, heads),
                of="the states after the layer for tiny numbers, float32", tolerance=1e-3,
                mistakes=lambda: {"in float32 eps is 1e-7 at least": (
                    layer_of(*single, heads, 1e-7))})  # fmt: skip
    for half in ("attention.output", "output"):
        far = {**weights, f"{half}.dense.bias": weights[f"{half}.dense.bias"] + 1e6}
        checks.same(student.encoder_layer(x, mask, far, heads=heads),
                    layer_of(x, mask, far, heads), tolerance=1e-7,
                    of=f"the states after the layer, with numbers near 1e6 in {half}.LayerNorm",
                    mistakes={"the variance is taken as a difference of two large numbers: "
                              "subtract the mean first": lambda out: True})  # fmt: skip
    context = student.self_attention(x, mask, weights, heads=heads, attention_dropout=1.0,
                                     training=True)  # fmt: skip
    checks.same(context, torch.zeros_like(x), of="the context with attention_dropout=1",
                mistakes={"0 / 0: the numbers that stay are divided by 1 - p, and none stays": (
                    lambda out: bool(out.isnan().any()))})  # fmt: skip
    states = student.encoder_layer(x, mask, weights, heads=heads, eps=0.1, hidden_dropout=1.0,
                                   training=True)  # fmt: skip
    own = {name: norm(norm(x, weights, "attention.output.LayerNorm", first), weights,
                      "output.LayerNorm", last)
           for name, first, last in (("right", 0.1, 0.1), ("in the first norm", 1e-12, 0.1),
                                     ("in the last norm", 0.1, 1e-12),
                                     ("in both norms", 1e-12, 1e-12))}  # fmt: skip
    checks.same(states, own.pop("right"), of="the states after the layer with hidden_dropout=1 and "
                "eps=0.1",
                mistakes={"0 / 0: the numbers that stay are divided by 1 - p, and none stays": (
                    lambda out: bool(out.isnan().any())),
                    **{f"in training eps is not used: {which}": own[which]
                       for which in own}})  # fmt: skip


def test_states_of_any_size(student):
    draw = sweep.Draw(11)

    def cases(*, is_layer):
        for number in range(14):
            batch, seq, heads, head_dim = draw.shape(4)
            wide = 10
            if number > 7:
                batch, seq, heads, head_dim, wide = [
                    (1_100, 2, 2, 2, 5),
                    (1, 1_201, 1, 2, 3),
                    (2, 3, 150, 1, 7),
                    (2, 3, 2, 260, 3),
                    (2, 3, 2, 2, 4_103),
                    (2, 700, 2, 2, 1),
                ][number - 8]
            dtype = torch.float32 if number == 3 else torch.float64
            x, mask, weights, _ = case(
                batch, seq, heads * head_dim, heads, seed=60 + number, wide=wide
            )
            weights = {n: w / len(w) ** 0.5 if w.ndim == 2 else w for n, w in weights.items()}
            mask = torch.from_numpy(draw.mask(batch, seq)).to(
                draw.rng.choice([torch.int64, torch.int32, torch.int8, torch.uint8])
            )
            if seq > 600:  # a long row may begin with padding
                mask[:, :300], mask[:, -1] = 0, 1
            x = x * 10.0 ** int(draw.rng.integers(-3, 4))
            weights = {n: w.to(dtype) for n, w in weights.items()}
            options = {"heads": heads}
            if number % 2:
                options |= {"training": True, "attention_dropout": 0.0}
                options |= {"hidden_dropout": 0.0} if is_layer else {}
            if is_layer:
                options["eps"] = float(draw.rng.choice([1e-12, 1e-5, 0.1, 1.0]))
            yield sweep.Case(
                f"(batch, seq, hidden) {tuple(x.shape)}, {heads} heads"
                f"{', training without dropout' * (number % 2)}",
                (x.to(dtype), mask, weights),
                options,
            )

    def right_attention(x, mask, weights, *, heads, **training):
        return attention_of(x, mask.long(), weights, heads)

    def right_layer(x, mask, weights, *, heads, eps, **training):
        return layer_of(x, mask.long(), weights, heads, eps)

    sweep.agrees(student.self_attention, right_attention, cases(is_layer=False))
    sweep.agrees(student.encoder_layer, right_layer, cases(is_layer=True))
    for shape in ((30, 3, 8, 4), (2, 300, 4, 2), (2, 3, 60, 30)):
        x, mask, weights, heads = case(*shape, seed=90)
        weights = {n: w / len(w) ** 0.5 if w.ndim == 2 else w for n, w in weights.items()}
        upstream = torch.randn(x.shape, dtype=x.dtype, generator=checks.generator(91))
        right = gradients_of(x, mask, weights, heads, 1e9 * upstream)
        _, found = student.encoder_layer.grad(
            x, mask, weights, heads=heads, wrt=("x", "weights"), upstream=1e9 * upstream
        )
        sweep.same(
            {"x": found["x"], **found["weights"]},
            right,
            of=f"the gradients for {shape}",
            magnitude=1e6,
        )
    check_values_of_every_kind(student)
    check_weights_of_a_form(student)


def check_values_of_every_kind(student):
    """Rows, tokens and weights that are alike, 0 or negative; rows that are all padding, and a mask
    that is the same for all; sizes that are equal, or powers of 2: results and gradients."""
    types = [torch.int16, torch.int64, torch.uint8, torch.int8, torch.int32]
    without = [{}, {"training": True, "attention_dropout": 0}, {"attention_dropout": 0.7},
               {"attention_dropout": 1, "training": False}]  # fmt: skip
    for number, (batch, seq, hidden, heads, wide) in enumerate([
        (3, 4, 8, 2, 8), (6, 6, 6, 3, 12), (8, 8, 8, 8, 32), (16, 20, 4, 2, 16), (1, 16, 64, 1, 6),
        (5, 5, 10, 5, 10), (2, 3, 1, 1, 4), (2, 12, 16, 4, 64), (4, 10, 12, 3, 8), (3, 3, 9, 3, 9),
        (2, 32, 2, 2, 2), (3, 1, 5, 1, 1),
        (4, 1, 6, 2, 8),
    ]):  # fmt: skip
        x, mask, weights, _ = case(batch, seq, hidden, heads, seed=30 + number, wide=wide)
        some = torch.arange(batch) % 2 == number % 2
        mask[some, -(seq // 2) or seq :] = 0
        if number % 3 == 1:
            mask[:] = mask[-1]
        if batch > 2 and seq > 1:
            mask[0 if number % 2 else batch // 2] = 0
        if seq == 20:  # 256 tokens in all
            mask[:] = 1
            mask[:, -4:] = 0
        kinds = [x, x[:1] * torch.ones_like(x), x[:, :1] * torch.ones_like(x), -x.abs(), x.round(),
                 x * some[:, None, None], x * (torch.arange(seq) != seq // 2)[:, None]]  # fmt: skip
        x = kinds[number % len(kinds)]
        for name, w in weights.items():
            if "LayerNorm.weight" in name:
                weights[name] = [-w, w * (w > 1), w / w, 0 * w, w - 1][number % 5]
            elif name.endswith("bias"):
                weights[name] = [0 * w, w, -w.abs(), w * (w > 0)][number % 4]
        live = mask.any(1)
        told = f"(batch, seq, hidden) {tuple(x.shape)}, {heads} heads, {wide} wide"
        given = {"x": x, "attention_mask": mask.to(types[number % 5]), "weights": weights}
        options = {"heads": heads, **without[number % 4]}
        for values in (True, False):
            args, more = ((), given) if number % 2 else (given.values(), {})
            if values:
                out, right = (student.self_attention(*args, **more, **options),
                              attention_of(x, mask, weights, heads))  # fmt: skip
            else:
                if "attention_dropout" in options:
                    options["hidden_dropout"] = options["attention_dropout"]
                upstream = torch.randn(x.shape, generator=checks.generator(31)).double()
                upstream[~live] = 0.0
                right = layer_of(x, mask, weights, heads, 1e-5)
                out, found = student.encoder_layer.grad(
                    *args, **more, **options, eps=1e-5, wrt=("x", "weights"), upstream=upstream
                )
            checks.same(out * 0, x * 0, of=f"the result for {told} (shape, type; finite)")
            sweep.same(out[live], right[live], of=f"the {'context' if values else 'states'} for "
                       f"{told}, {options}", given=(x,))  # fmt: skip
        right = gradients_of(
            x, mask, weights, heads, upstream,
            result=lambda *of, live=live: layer_of(*of, 1e-5) * live[:, None, None],
        )  # fmt: skip
        sweep.same({"x": found["x"], **found["weights"]}, right, magnitude=1.0,
                   of=f"the gradients for {told}, {options}")  # fmt: skip


def matrices_of_a_form(seed):
    """Matrices, 6 by 6, that look simpler than they are: some of their numbers, the sizes of these,
    or a product are those of the unit matrix, of a diagonal one or of a symmetric one."""
    w = torch.from_numpy(checks.rng(seed).normal(size=(6, 6)))
    unit, signs = torch.eye(6).double(), torch.tensor(SIGNS).double()
    inverse, inner, turned = unit.clone(), w.clone(), torch.linalg.qr(w)[0]
    inverse[3:, 3:], inverse[:3, 3:] = -unit[3:, 3:], (3 * w[:3, 3:]).round()
    for end in (0, -1):  # outside of it, the rows and columns are those of a diagonal matrix
        inner[end], inner[:, end] = w[end, end] * unit[end], w[end, end] * unit[end]
    return [
        -unit, signs.diag(), signs.diag().roll(1, 0), w[0].diag().roll(1, 1), inverse, w - w.mT,
        inner, w.tril(), w.triu(1), w[0][(torch.arange(6)[:, None] - torch.arange(6)) % 6],
        torch.outer(w[0], w[1]), w + w.mT - (2 * w.diagonal() - 1).diag(), turned,
        turned * signs[:, None],
    ]  # fmt: skip


def check_weights_of_a_form(student):
    """Of each dense layer each form; scales, biases and states that differ in signs alone, or of a
    number in each vector."""
    names = [f"attention.{name}" for name in ("self.query", "self.key", "self.value",
             "output.dense")] + ["intermediate.dense", "output.dense"]  # fmt: skip
    forms, signs = matrices_of_a_form(16), torch.tensor(SIGNS).double()
    for place in range(len(forms)):
        x, mask, weights, heads = case(2, 4, 6, 2, seed=17, wide=6)
        for shift, name in enumerate(names):
            weights[f"{name}.weight"] = forms[(place + 2 * shift) % len(forms)]
            if place % 2:
                weights[f"{name}.bias"] = 1.5 * signs.roll(place)
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            if place % 3:
                weights[f"{name}.weight"] = signs.roll(place)
            if place % 3 == 1:
                weights[f"{name}.bias"] = 0.5 * signs
        if place % 4 > 1:
            x = x * (torch.arange(6) == (2 * torch.arange(8)).view(2, 4, 1) % 6)
        given, upstream = (x, mask, weights), x.flip(1) + 1
        out, found = student.encoder_layer.grad(*given, heads=heads, wrt=("x", "weights"),
                                                upstream=upstream)  # fmt: skip
        simple = {"a matrix is taken for a diagonal, symmetric or sparse one": lambda out: True}
        of = "where the matrices, or signs, look like something simpler"
        checks.same(out, layer_of(*given, heads), of=f"the states {of}", mistakes=simple)
        sweep.same({"x": found["x"], **found["weights"]}, gradients_of(*given, heads, upstream),
                   of=f"the gradients {of}", magnitude=1.0)  # fmt: skip


def check_dropout_of_large_and_small_numbers(student, p=0.5, tokens=2_000):
    """How large a number is does not decide whether it is set to 0."""
    x, mask, weights, heads = case(tokens, 1, 8, 2, wide=1)
    weights = {n: torch.zeros_like(w) + ("LayerNorm.weight" in n) for n, w in weights.items()}
    sizes = torch.tensor([0.0, 1000, -300, 30, -3, 0.3, 0.03, 0.003]).double()
    for name, unit in (("attention.output", 1e12), ("output", 1e6)):
        out = student.encoder_layer(
            0 * x, torch.ones_like(mask), {**weights, f"{name}.dense.bias": sizes}, heads=heads,
            eps=1e12, hidden_dropout=p, attention_dropout=0.0, training=True,
        )  # fmt: skip
        left = (out - out[..., :1]).flatten(0, 1) * unit / sizes / 2  # the first is always 0
        for place, size in enumerate(sizes.tolist()[1:], 1):
            checks.share(int((left[:, place] < 0.5).sum()), tokens, p, mistakes={
                "large numbers, or small ones, are never set to 0": 0.0},
                of=f"how often {size:g} is set to 0, among larger and smaller numbers of "
                   f"{name}.dense")  # fmt: skip


def check_dropout_of_one_row(student):
    """Each number of a batch of 1 is drawn by itself too, and 1 / (1 - p) may be large."""
    seq, heads, hidden = 16, 8, 64
    x, mask, weights, _ = case(1, seq, hidden, heads, wide=1)
    weights = {n: torch.zeros_like(w) + ("LayerNorm.weight" in n) for n, w in weights.items()}
    x, mask, many = 0 * x, torch.ones_like(mask), seq * heads * seq
    ones = {**weights, "attention.self.value.bias": torch.ones(hidden, dtype=x.dtype)}
    likely = "one draw serves for several numbers of a batch of 1"
    for p in (0.95, 0.5, 0.01):
        out = student.self_attention(x, mask, ones, heads=heads, attention_dropout=p, training=True)
        left = out[0, :, :: hidden // heads] * seq * (1 - p)
        checks.same(left, left.round(), tolerance=1e-6, of="how many equal attention weights of a "
                    f"query are left, worked out from their sum, with attention_dropout={p}",
                    mistakes={"what is left is not multiplied by 1 / (1 - p)": lambda out: True}
                    )  # fmt: skip
        checks.share(int(left.sum().round()), many, 1 - p, of=f"the share of {many} attention "
                     f"weights of one row that are left, with attention_dropout={p}")  # fmt: skip
        if p == 0.5:
            for what, lines in (("queries", left), ("heads", left.T)):
                checks.that(bool((lines != lines[0]).any()), f"of as many attention weights all "
                            f"{what} of a single row are left", likely=likely)  # fmt: skip
        for name, unit in (("attention.output", 1e12), ("output", 1e6)):
            added = {**weights, f"{name}.dense.bias": 2 * ones["attention.self.value.bias"]}
            out = student.encoder_layer(x, mask, added, heads=heads, hidden_dropout=p, eps=1e12,
                                        attention_dropout=0.0, training=True)  # fmt: skip
            kept = out[0] > 0
            states = (out[0] * unit)[kept.any(1) & ~kept.all(1)]
            height = states.amax(-1) - states.amin(-1)
            checks.same(height, torch.full_like(height, 2 / (1 - p)), tolerance=1e-6,
                        of=f"a number 2 of {name}.dense that is left, with hidden_dropout={p}"
                        )  # fmt: skip
            known = kept[kept.any(1)]  # where all are left, or none, nobody can tell
            checks.that(p != 0.5 or bool((known != known[0]).any()), f"the same numbers of "
                        f"{name}.dense are left for all tokens of a single row", likely=likely
                        )  # fmt: skip
            if p > 0.1:
                checks.share(int(kept.sum()), kept.numel(), 1 - p, of=f"the share of numbers of "
                             f"{name}.dense that are left, with hidden_dropout={p}")  # fmt: skip


def check_dropout_of_nearly_all(student, p=0.9999):
    """Where one number of 10,000 is left, it is multiplied by 10,000."""
    batch, seq, heads, hidden = 200, 16, 8, 64
    x, mask, weights, _ = case(batch, seq, hidden, heads, wide=1)
    weights = {n: torch.zeros_like(w) + ("LayerNorm.weight" in n) for n, w in weights.items()}
    x, mask, twos = 0 * x, torch.ones_like(mask), torch.full((hidden,), 2.0, dtype=x.dtype)
    given = dict(heads=heads, training=True)
    values = {**weights, "attention.self.value.bias": twos}
    out = student.self_attention(x, mask, values, attention_dropout=p, **given)
    found = {"attention weight": (out[..., :: hidden // heads], 2 / seq, seq, 1.0)}
    given |= {"attention_dropout": 0.0, "eps": 1e12, "hidden_dropout": p}
    for name, unit in (("attention.output", 1e12), ("output", 1e6)):
        out = student.encoder_layer(x, mask, {**weights, f"{name}.dense.bias": twos}, **given)
        lowest = out.amin(-1, keepdim=True)  # of a state all of whose other numbers are dropped
        found[f"number of {name}.dense"] = (out - lowest, 2.0, 1, unit)
    for name, (out, size, keys, unit) in found.items():
        left = out * unit * (1 - p) / size
        checks.same(left, left.round(), tolerance=1e-4, of=f"how many a {name} that is left comes "
                    f"to, multiplied by 1 - p, with a dropout of p={p}", mistakes={
                        "what is left is not multiplied by 1 / (1 - p): it has no upper limit":
                        lambda out: True})  # fmt: skip
        sweep.is_about(int(left.round().sum()), (1 - p) * left.numel() * keys,
                       of=f"times that a {name} is left, with a dropout of p={p}")  # fmt: skip


def test_dropout_is_as_fine_as_its_probability_asks(student):
    # Draws of k bits know no probability below 2 to the -k but 0. All weights are 1 / seq, and all
    # values 1, so that a number of the context says how many weights of its row were set to 0.
    p, seq = 3e-5, 900
    x, mask, weights, _ = case(1, seq, 3, 1)
    x[0] = torch.arange(seq)[:, None] ** torch.arange(3)
    weights = {name: torch.zeros_like(w) for name, w in weights.items()}
    weights["attention.self.value.weight"] += torch.eye(3)
    context = student.self_attention(
        x, torch.ones_like(mask), weights, heads=1, attention_dropout=p, training=True
    )
    # How many keys were set to 0, their places added up, and the squares of these.
    lost = (x.mean(1) - context * (1 - p)) * seq
    dropped = lost[..., 0]
    checks.that(
        bool(((dropped - dropped.round()).abs() < 1e-3).all()),
        "a row of equal weights adds up to no sum that dropout leaves",
    )
    sweep.is_about(
        int(dropped.round().sum()),
        p * seq * seq,
        likely=sweep.COARSE,
        of=f"of {seq * seq:,} attention weights set to 0, at attention_dropout={p}",
    )
    number, total, squares = lost[0].round().T  # of one or two keys they tell which these are
    apart = (number * squares - total**2).clamp(min=0).sqrt()
    keys = torch.stack([(total + apart) / number, (total - apart) / number], 1)
    found = torch.stack([(number == 1) | (number == 2), number == 2], 1)
    places = (seq * torch.arange(seq)[:, None] + keys)[found].round().long()
    checks_of_distances(places, "attention weights")
    # What one of the two layers adds is 2 and -2 by turns, in states of 0.
    batch, hidden = 3_000, 300
    x, mask, weights, _ = case(1, 1, hidden, 1, wide=1)
    weights = {n: torch.zeros_like(w) + ("LayerNorm.weight" in n) for n, w in weights.items()}
    weights = {n: w.float() for n, w in weights.items()}
    x, mask = torch.zeros(batch, 1, hidden), torch.ones(batch, 1, dtype=torch.int64)
    for name in ("attention.output", "output"):
        bias = f"{name}.dense.bias"
        added = {**weights, bias: torch.tensor([2.0, -2.0]).repeat(hidden // 2)}
        states = student.encoder_layer(
            x, mask, added, heads=1, hidden_dropout=p, attention_dropout=0.0, training=True
        )
        checks_of_distances((states.abs() < 0.5).flatten().nonzero()[:, 0], f"numbers of {name}")
        sweep.is_about(
            int((states.abs() < 0.5).sum()),
            p * x.numel(),
            likely=sweep.COARSE,
            of=f"of {x.numel():,} numbers of {name}.dense set to 0, at hidden_dropout={p}",
        )
    check_that_shares_vary(student)
    # All weights are equal again: a number of the context counts those of its row that are left.
    x, mask, weights, heads = case(60, 6, 16, 16)
    weights = {name: torch.zeros_like(w) for name, w in weights.items()}
    weights["attention.self.value.bias"] += 1.0
    context = student.self_attention(
        x, torch.ones_like(mask), weights, heads=heads, training=True, attention_dropout=0.5
    )
    left = (3 * context).round().transpose(0, 2)
    for axis, name in enumerate(("heads", "queries", "rows")):
        line = left.movedim(axis, 0)
        equal = int((line[::2] == line[1::2]).sum())
        checks.share(
            equal,
            line[::2].numel(),
            924 / 4096,
            mistakes={"they share their draws": 1.0},
            of=f"how often two {name} keep equally many of 6 attention weights, of {heads} heads",
        )
    check_dropout_of_one_row(student)
    check_dropout_of_nearly_all(student)
    check_dropout_of_large_and_small_numbers(student)


def checks_of_distances(places, what):
    """A few places of nearly a million, drawn each by itself, lie at all kinds of distances."""
    distances = (places[:, None] - places)[places[:, None] > places]
    most = int(distances.unique(return_counts=True)[1].max()) if len(distances) else 0
    checks.that(most < 6, f"of {len(places)} {what} set to 0, {most} pairs are equally far apart",
                likely="the same draws are used again and again, for other numbers")  # fmt: skip


def check_that_shares_vary(student, calls=80, batch=2, seq=3):
    """What few numbers keep, call by call, varies as much as that of as many coins: half of them
    are 0 only now and then."""
    heads, hidden = 2, 2 * seq
    _, mask, weights, _ = case(batch, seq, hidden, heads, wide=1)
    weights = {n: torch.zeros_like(w) + ("LayerNorm.weight" in n) for n, w in weights.items()}
    x, mask = torch.eye(seq, hidden).double().repeat(batch, 1, 1), torch.ones_like(mask)
    # Every head finds as its values the rows of an identity, so that the context is the weights.
    values = {**weights, "attention.self.value.weight": x[0].repeat(heads, 1)}
    given = dict(heads=heads, attention_dropout=0.5, training=True)
    seen = torch.stack([student.self_attention(x, mask, values, **given) for _ in range(calls)])
    check_sums(seen.unflatten(-1, (heads, seq)) > 0, ("rows", "queries", "heads", "keys"),
               "attention weights")  # fmt: skip
    # The halves add 4 and 400 to a state of 0, or 0; and always 0 to its first number.
    added = dict(weights)
    for name, size in (("attention.output", 2.0), ("output", 200.0)):
        added[f"{name}.dense.bias"] = size * (torch.arange(hidden) > 0).double()
        added[f"{name}.LayerNorm.weight"] = 1e6 * weights[f"{name}.LayerNorm.weight"]
    given = dict(heads=heads, eps=1e12, hidden_dropout=0.5, attention_dropout=0.0, training=True)
    out = torch.stack([student.encoder_layer(0 * x, mask, added, **given) for _ in range(calls)])
    sums = ((out - out[..., :1])[..., 1:] / 4).round()
    check_sums(torch.stack([sums % 100 > 0, sums > 50], 1), ("halves", "rows", "tokens", "numbers"),
               "numbers of attention.output.dense and output.dense")  # fmt: skip


def check_sums(kept, axes, what):
    """The numbers kept of small tensors (the first axis is that of calls), counted along some axes,
    have the variance of as many coins. The bounds, at 6.5 standard deviations of sums of squares of
    nearly normal numbers, are those of Wilson and Hilferty."""
    coins = 2.0 * kept - 1
    found = []
    for count in range(1, len(axes) + 1):
        for along in combinations(range(1, len(axes) + 1), count):
            sums, names = coins.sum(along), ", ".join(axes[axis - 1] for axis in along)
            found.append((sums, coins.numel() / sums.numel(), f"those along {names}"))
    for axis, name in enumerate(axes, 1):
        size = kept.shape[axis]
        place = torch.arange(size)
        in_turn = torch.where(place < size // 2 * 2, 1 - 2 * (place % 2), 0)
        # Halves that have the same draws, in whatever order, all but cancel.
        for sign in ((size - 1 - 2 * place).sign(), in_turn):
            signed = (coins.movedim(axis, -1) * sign).flatten(1)
            terms = signed.count_nonzero() / len(signed)
            found.append((signed.sum(1), float(terms), f"one half of the {name} less the other"))
    for sums, terms, what_is_summed in found:
        many, total = sums.numel(), float((sums**2).sum()) / terms
        low, high = ((1 - 2 / many / 9 + far * (2 / many / 9) ** 0.5) ** 3 for far in (-6.5, 7.5))
        checks.that(
            low <= total / many <= high,
            f"a dropout of 0.5, calls with {kept[0].numel()} {what} each: how many are left of "
            f"{what_is_summed} has {total / many:.3g} times the variance of coins",
            likely="an exact share is set to 0, or some draws serve again, not each number by "
            "itself" if total < many else "one draw serves for several numbers",
        )  # fmt: skip


def test_nothing_is_left_behind(student):
    x, mask, weights, heads = case(2, 5, 12, 3)
    for function in (student.self_attention, student.encoder_layer):
        changed = function.trace(x, mask, weights, heads=heads, global_seed=1).changed
        checks.that(not any("torch's global generator" in what for what in changed),
                    f"{function.name} uses torch's global generator although training is False",
                    likely=f"{IN_EVALUATION}; or torch.manual_seed is called")  # fmt: skip
    checks.leaves_no_trace(student.self_attention, x, mask, weights, heads=heads)
    checks.leaves_no_trace(student.encoder_layer, x, mask, weights, heads=heads)
    dropped = dict(heads=heads, hidden_dropout=0.5, training=True, global_seed=1)
    checks.same(
        student.encoder_layer.trace(x, mask, weights, no_grad=True, **dropped).value,
        student.encoder_layer.trace(x, mask, weights, **dropped).value,
        of="the result in training, under torch.no_grad()",
        mistakes={"whether gradients are recorded decides about dropout": lambda out: True},
    )
    for shift in range(mask.shape[1]):  # as many tokens, at other places
        moved = mask.roll(shift, 1)
        checks.same(student.encoder_layer(x, moved, weights, heads=heads),
                    layer_of(x, moved, weights, heads),
                    of="the result after a mask of as many tokens")  # fmt: skip
    for function in (student.self_attention, student.encoder_layer):
        traced = function.trace(x, mask, weights, heads=heads, training=True, global_seed=1)
        for name, now, before in zip(("x", "attention_mask", "weights"), traced.inputs[0],
                                     (x, mask, weights), strict=True):  # fmt: skip
            problem = checks.difference(now, before, name, 0.0)
            checks.that(not problem, f"{function.name} changed {name} in training: {problem}",
                        likely="an operation like x += … works on the caller's tensor"
                        )  # fmt: skip
