"""Ways to get the capstone's functions wrong, for the capstone's test to recognize.

First the functions as the reference has them, with switches for the mistakes; then
`MISTAKES[function][what it is called]`, a function that makes the mistake, which the test puts
where the student's was.
"""

import math

import numpy as np


def norm(x, weight, bias, eps, *, ddof=0, outside=False):
    std = np.sqrt(x.var(-1, ddof=ddof, keepdims=True) + eps * (not outside)) + eps * outside
    return (x - x.mean(-1, keepdims=True)) / std * weight + bias


def norm_back(dout, x, weight, eps, *, shift=1, stretch=1, scale=True, collect=np.sum):
    std = np.sqrt(x.var(-1, keepdims=True) + eps)
    normalized, over = (x - x.mean(-1, keepdims=True)) / std, tuple(range(x.ndim - 1))
    d = dout * weight if scale else dout
    along = shift * d.mean(-1, keepdims=True)
    along = along + stretch * normalized * (d * normalized).mean(-1, keepdims=True)
    return (d - along) / std, collect(dout * normalized, over), collect(dout, over)


def gate(x, form, *, width=0.5**0.5, cubic=0.044715):
    """What GELU multiplies x by."""
    if form == "tanh":
        return 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + cubic * x * x * x)))
    return 0.5 * (1 + np.vectorize(math.erf, otypes=[x.dtype])(width * x))


def gelu(x, form, **how):
    return x * gate(x, form, **how)


def gelu_back(dout, x, form, *, both=True):
    g = gate(x, form)
    if form == "tanh":
        slope = 2 * g * (1 - g) * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)
    else:
        slope = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return dout * (g + x * slope * both)


def attend(query, key, value, mask, *, power=-0.5, axis=-1, low=None):
    scores = query @ key.swapaxes(-1, -2) * float(query.shape[-1] ** power)
    masked = np.finfo(scores.dtype).min if low is None else scores + low
    scores = np.where(mask[:, None, None, :] == 0, masked, scores)
    probs = np.exp(scores - scores.max(axis, keepdims=True))
    probs = probs / probs.sum(axis, keepdims=True)
    return probs @ value, probs


def attend_back(dcontext, query, key, value, probs, *, power=-0.5, softmax=True):
    d = dcontext @ value.swapaxes(-1, -2)
    d = probs * (d - (d * probs).sum(-1, keepdims=True)) if softmax else d
    d = d * float(query.shape[-1] ** power)
    return d @ key, d.swapaxes(-1, -2) @ query, probs.swapaxes(-1, -2) @ dcontext


FIRST, SECOND = "attention.output", "output"


def linear(x, weights, name):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def normed(x, weights, name, eps):
    scale, shift = (weights[f"{name}.LayerNorm.{kind}"] for kind in ("weight", "bias"))
    return norm(x, scale, shift, eps)


def split(x, heads, *, mixed=False):
    batch, seq, hidden = x.shape
    if mixed:
        return x.reshape(batch, heads, seq, hidden // heads)
    return x.reshape(batch, seq, heads, hidden // heads).swapaxes(1, 2)


def merge(x, *, mixed=False):
    batch, heads, seq, head_dim = x.shape
    return (x if mixed else x.swapaxes(1, 2)).reshape(batch, seq, heads * head_dim)


def run_layer(x, mask, weights, *, heads, eps, approximation, around=1, about=1, input_again=0,
              pre=False, act=gelu, roles=("query", "key", "value"), mixed=False,
              last_eps=None, low=None):  # fmt: skip
    """All values of a layer. `around` and `about` are the residuals of its two halves; `last_eps`
    is the eps of the second norm, where it is another."""
    inside = normed(x, weights, FIRST, eps) if pre else x
    parts = [split(linear(inside, weights, f"attention.self.{role}"), heads, mixed=mixed)
             for role in roles]  # fmt: skip
    context, probs = attend(*parts, mask, low=low)
    context = merge(context, mixed=mixed)
    first = linear(context, weights, f"{FIRST}.dense") + around * x
    middle = first if pre else normed(first, weights, FIRST, eps)
    inside = normed(middle, weights, SECOND, last_eps or eps) if pre else middle
    before = linear(inside, weights, "intermediate.dense")
    wide = act(before, approximation)
    second = linear(wide, weights, f"{SECOND}.dense") + about * middle + input_again * x
    out = second if pre else normed(second, weights, SECOND, last_eps or eps)
    return parts, probs, context, first, middle, before, wide, second, out


def layer(x, mask, weights, **how):
    return run_layer(x, mask, weights, **how)[-1]


def layer_back(dout, x, mask, weights, *, heads, eps, approximation, around=1, about=1, through=1,
               used=("query", "key", "value"), transposed=False, collect=np.sum,
               activation_back=gelu_back):  # fmt: skip
    parts, probs, context, first, middle, before, wide, second, _ = run_layer(
        x, mask, weights, heads=heads, eps=eps, approximation=approximation
    )
    grads = {}

    def back_norm(dout, x, name):
        weight = weights[f"{name}.LayerNorm.weight"]
        dx, *found = norm_back(dout, x, weight, eps)
        grads[f"{name}.LayerNorm.weight"], grads[f"{name}.LayerNorm.bias"] = found
        return dx

    def back_linear(dout, x, name):
        weight = weights[f"{name}.weight"]
        grad = np.einsum("bso,bsi->oi", dout, x)
        square = weight.shape[0] == weight.shape[1]
        grads[f"{name}.weight"] = grad.T.copy() if transposed and square else grad
        grads[f"{name}.bias"] = collect(dout, (0, 1))
        return dout @ weight

    d = back_norm(dout, second, SECOND)
    dwide = activation_back(back_linear(d, wide, f"{SECOND}.dense"), before, approximation)
    d = about * d + back_linear(dwide, middle, "intermediate.dense")
    d = back_norm(d, first, FIRST)
    dcontext = split(back_linear(d, context, f"{FIRST}.dense"), heads)
    dx = around * d
    for role, dpart in zip(
        ("query", "key", "value"), attend_back(dcontext, *parts, probs), strict=True
    ):
        found = back_linear(merge(dpart), x, f"attention.self.{role}")
        dx = dx + through * found * (role in used)
    return dx, grads


def surprise(logits, labels, weights, *, count=None):
    shifted = logits - logits.max(-1, keepdims=True)
    each = np.log(np.exp(shifted).sum(-1)) - shifted[np.arange(len(labels)), labels]
    return float((each * weights).sum() / (weights.sum() if count is None else count))


def surprise_back(dloss, logits, labels, weights, *, count=None):
    probs = np.exp(logits - logits.max(-1, keepdims=True))
    probs = probs / probs.sum(-1, keepdims=True)
    probs[np.arange(len(labels)), labels] -= 1
    scale = dloss * weights / (weights.sum() if count is None else count)
    return (probs * scale[:, None]).astype(logits.dtype)


def without_class_0(labels, weights):
    """The weights of a loss that takes label 0 for padding; never all zero."""
    left = weights * (labels != 0)
    return left if left.any() else weights * 1e-30


def last_wins(dout, ids, entries):
    dtable = np.zeros((entries, dout.shape[-1]), dout.dtype)
    dtable[ids] += dout
    return dtable


def rate(step, *, peak, warmup_steps, total_steps, early=0, rises=True, falls=True):
    if step < warmup_steps and rises:
        return peak * (step + 1 - early) / warmup_steps
    start = warmup_steps if rises else 0
    return peak * (total_steps - step) / (total_steps - start) if falls else peak


def clip(gradients, max_norm, *, norm_of=lambda g, norms: norms, only_down=True, power=0.5):
    whole = sum(float((g * g).sum()) for g in gradients.values()) ** power
    factors = {n: max_norm / max(norm_of(g, whole), 1e-30) for n, g in gradients.items()}
    return {n: g * (min(1, factors[n]) if only_down else factors[n])
            for n, g in gradients.items()}, whole  # fmt: skip


def is_decayed(name):
    return not name.endswith("bias") and "LayerNorm" not in name


def adam(weights, gradients, state, *, learning_rate, beta1=0.9, beta2=0.999, eps=1e-6,
         weight_decay=0.01, decayed=is_decayed, l2=False, inside=False, correct=False,
         forgets=False, sign=1):  # fmt: skip
    zero = {n: 0 * w for n, w in weights.items()}
    state = {"m": zero, "v": zero, **({} if forgets else state)}
    t = state.get("t", 0) + 1
    first, second = (1 - beta1**t, 1 - beta2**t) if correct else (1, 1)
    moved, m, v = {}, {}, {}
    for n, w in weights.items():
        decay = weight_decay * w * decayed(n)
        g = gradients[n] + decay * l2
        m[n] = beta1 * state["m"][n] + (1 - beta1) * g
        v[n] = beta2 * state["v"][n] + (1 - beta2) * g * g
        std = np.sqrt(v[n] / second + eps * inside) + eps * (not inside)
        moved[n] = w - learning_rate * (sign * m[n] / first / std + decay * (not l2))
    return moved, {"m": m, "v": v, "t": t}


# The mistakes.


def with_(function, **how):
    """The function, called with something more, or something else."""
    return lambda *args, **kwargs: function(*args, **{**kwargs, **how})


# Mistakes of a layer that no training shows, only large numbers.
ON_LARGE_NUMBERS = {
    "10,000 off the scores of padding is not enough: large scores still win": with_(layer, low=-1e4)
}
MISTAKES = {
    "layer_forward": {
        "there is no residual connection": with_(layer, around=0, about=0),
        "the residual around the attention is missing": with_(layer, around=0),
        "the residual around the feed-forward part is missing": with_(layer, about=0),
        "the residual of the feed-forward part is the layer's x, not what entered that part": with_(
            layer, about=0, input_again=1),
        "the norms come first (pre-LN): BERT's come last": with_(layer, pre=True),
        "query and key are exchanged": with_(layer, roles=("key", "query", "value")),
        "heads are cut without exchanging axes, which mixes the tokens": with_(layer, mixed=True),
        "heads is not used: there is one head": with_(layer, heads=1),
        "eps is not used": with_(layer, eps=1e-12),
        "eps is used in one of the two norms alone": with_(layer, last_eps=1e-12),
        "eps is used in one of the two norms alone: the second": lambda x, mask, w, **k: (
            layer(x, mask, w, **{**k, "eps": 1e-12, "last_eps": k["eps"]})),
        "the mask is not used": lambda x, mask, w, **k: layer(x, 0 * mask + 1, w, **k),
        "approximation is not used": with_(layer, approximation="none"),
        "there is no GELU": with_(layer, act=lambda x, form: x),
        "that is ReLU, not GELU": with_(layer, act=lambda x, form: np.maximum(x, 0)),
    },
    "layer_backward": {
        "the residuals are missing in the backward pass": with_(layer_back, around=0, about=0),
        "the residual around the attention is missing in the backward pass": with_(
            layer_back, around=0),
        "the residual around the feed-forward part is missing in the backward pass": with_(
            layer_back, about=0),
        "x gets the residual's gradient alone, none from query, key and value": with_(
            layer_back, through=0),
        "x gets no gradient from query and key, only from the value": with_(
            layer_back, used=("value",)),
        "the weight gradients are transposed: they are (out, in)": with_(
            layer_back, transposed=True),
        "the gradients of biases are means, not sums": with_(layer_back, collect=np.mean),
        "GELU is passed over in the backward pass": with_(
            layer_back, activation_back=lambda dout, x, form: dout),
        "heads is not used: there is one head": with_(layer_back, heads=1),
        "eps is not used": with_(layer_back, eps=1e-12),
        "the mask is not used": lambda d, x, mask, w, **k: layer_back(d, x, 0 * mask + 1, w, **k),
        "approximation is not used": with_(layer_back, approximation="none"),
    },
    "layer_norm_forward": {
        "the variance divides by hidden - 1": with_(norm, ddof=1),
        "eps stands outside the root": with_(norm, outside=True),
        "eps is not used": lambda x, w, b, eps: norm(x, w, b, 1e-12),
        "weight and bias are not used": lambda x, w, b, eps: norm(x, 0 * w + 1, 0 * b, eps),
    },
    "layer_norm_backward": {
        "only the direct path is there": with_(norm_back, shift=0, stretch=0),
        "the path through the variance is missing": with_(norm_back, stretch=0),
        "the path through the mean is missing": with_(norm_back, shift=0),
        "the weight is missing in dx": with_(norm_back, scale=False),
        "eps is not used": lambda d, x, w, eps: norm_back(d, x, w, 1e-12),
        "the gradients of weight and bias are means, not sums": with_(norm_back, collect=np.mean),
    },
    "gelu_forward": {
        "approximation is not used: it is always tanh": lambda x, form: gelu(x, "tanh"),
        "approximation is not used: it is always erf": lambda x, form: gelu(x, "none"),
        "erf(x) for erf(x / √2)": with_(gelu, width=1.0),
        "the cube is missing in the tanh": with_(gelu, cubic=0.0),
    },
    "gelu_backward": {
        "approximation is not used: it is always tanh": lambda d, x, f: gelu_back(d, x, "tanh"),
        "approximation is not used: it is always erf": lambda d, x, f: gelu_back(d, x, "none"),
        "the slope of the gate is missing: x stands in both factors": with_(gelu_back, both=False),
        "dout is not used": lambda d, x, f: gelu_back(np.ones_like(d), x, f),
    },
    "attention_forward": {
        "the scores are not scaled": with_(attend, power=0),
        "the scores are divided by head_dim, not by its root": with_(attend, power=-1),
        "the mask is not used": lambda q, k, v, mask: attend(q, k, v, 0 * mask + 1),
        "the mask is reversed": lambda q, k, v, mask: attend(q, k, v, 1 - mask),
        "softmax over the queries": with_(attend, axis=-2),
    },
    "attention_backward": {
        "the scale is missing in the backward pass": with_(attend_back, power=0),
        "the backward of softmax is missing": with_(attend_back, softmax=False),
        "dquery and dkey are exchanged": lambda *a: tuple(attend_back(*a)[i] for i in (1, 0, 2)),
    },
    "lookup_backward": {
        "dtable[ids] += dout keeps one gradient of a word that comes twice": last_wins,
    },
    "masked_cross_entropy_forward": {
        "the weights are not used": lambda x, y, w: surprise(x, y, np.ones_like(w)),
        "the sum is divided by all slots, not by the sum of the weights": lambda x, y, w: surprise(
            x, y, w, count=len(w)),
        "the sum of the weights is never less than 1": lambda x, y, w: surprise(
            x, y, w, count=max(1, w.sum())),
        "the sum is not divided": with_(surprise, count=1.0),
        "label 0 is taken for padding": lambda x, y, w: surprise(x, y, without_class_0(y, w)),
    },
    "masked_cross_entropy_backward": {
        "the weights are not used": lambda d, x, y, w: surprise_back(d, x, y, np.ones_like(w)),
        "the sum is divided by all slots, not by the sum of the weights": lambda d, x, y, w: (
            surprise_back(d, x, y, w, count=len(w))),
        "the sum of the weights is never less than 1": lambda d, x, y, w: (
            surprise_back(d, x, y, w, count=np.maximum(1, w.sum()))),
        "the sum is not divided": with_(surprise_back, count=1.0),
        "the sign is wrong: the gradient points downhill": lambda *a: -surprise_back(*a),
        "label 0 is taken for padding": lambda d, x, y, w: surprise_back(
            d, x, y, without_class_0(y, w)),
    },
    "learning_rate": {
        "the rate of the first step is 0": with_(rate, early=1),
        "there is no warm-up": with_(rate, rises=False),
        "there is no fall": with_(rate, falls=False),
        "the rate does not change": with_(rate, rises=False, falls=False),
    },
    "clip_gradients": {
        "each gradient is clipped by itself: the norm is that of all together": with_(
            clip, norm_of=lambda g, whole: float(np.linalg.norm(g))),
        "gradients below the limit are stretched to it": with_(clip, only_down=False),
        "the root is missing in the norm": with_(clip, power=1.0),
        "nothing is clipped": lambda g, most: (g, 0.0),
        "every number is clipped by itself": lambda g, most: (
            {n: np.clip(a, -most, most) for n, a in g.items()}, 0.0),
    },
    "adam_step": {
        "there is bias correction: BERT's Adam has none": with_(adam, correct=True),
        "eps stands inside the root": with_(adam, inside=True),
        "the decay is added to the gradient (L2)": with_(adam, l2=True),
        "biases and layer norms are decayed too": with_(adam, decayed=lambda name: True),
        "there is no weight decay": with_(adam, weight_decay=0.0),
        "the state of the step before is not used": with_(adam, forgets=True),
        "the gradient is followed uphill": with_(adam, sign=-1),
        "beta2 is not used": with_(adam, beta2=0.999),
    },
}  # fmt: skip
