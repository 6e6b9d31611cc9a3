"""The capstone's functions as the reference has them, with switches for ways to get them wrong."""

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
    shares = np.exp(scores - scores.max(axis, keepdims=True))
    shares = shares / shares.sum(axis, keepdims=True)
    return shares @ value, shares


def attend_back(dcontext, query, key, value, shares, *, power=-0.5, softmax=True):
    d = dcontext @ value.swapaxes(-1, -2)
    d = shares * (d - (d * shares).sum(-1, keepdims=True)) if softmax else d
    d = d * float(query.shape[-1] ** power)
    return d @ key, d.swapaxes(-1, -2) @ query, shares.swapaxes(-1, -2) @ dcontext


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
    context, shares = attend(*parts, mask, low=low)
    context = merge(context, mixed=mixed)
    first = linear(context, weights, f"{FIRST}.dense") + around * x
    middle = first if pre else normed(first, weights, FIRST, eps)
    inside = normed(middle, weights, SECOND, last_eps or eps) if pre else middle
    before = linear(inside, weights, "intermediate.dense")
    wide = act(before, approximation)
    second = linear(wide, weights, f"{SECOND}.dense") + about * middle + input_again * x
    out = second if pre else normed(second, weights, SECOND, last_eps or eps)
    return parts, shares, context, first, middle, before, wide, second, out


def layer(x, mask, weights, **how):
    return run_layer(x, mask, weights, **how)[-1]


def layer_back(dout, x, mask, weights, *, heads, eps, approximation, around=1, about=1, through=1,
               used=("query", "key", "value"), transposed=False, collect=np.sum,
               activation_back=gelu_back):  # fmt: skip
    parts, shares, context, first, middle, before, wide, second, _ = run_layer(
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
        ("query", "key", "value"), attend_back(dcontext, *parts, shares), strict=True
    ):
        found = back_linear(merge(dpart), x, f"attention.self.{role}")
        dx = dx + through * found * (role in used)
    return dx, grads


def surprise(logits, labels, weights, *, count=None):
    shifted = logits - logits.max(-1, keepdims=True)
    each = np.log(np.exp(shifted).sum(-1)) - shifted[np.arange(len(labels)), labels]
    return float((each * weights).sum() / (weights.sum() if count is None else count))


def surprise_back(dloss, logits, labels, weights, *, count=None):
    shares = np.exp(logits - logits.max(-1, keepdims=True))
    shares = shares / shares.sum(-1, keepdims=True)
    shares[np.arange(len(labels)), labels] -= 1
    scale = dloss * weights / (weights.sum() if count is None else count)
    return (shares * scale[:, None]).astype(logits.dtype)


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
