"""Example by example, head by head, token by token where that is bearable."""

import math

import numpy as np


def layer_forward(x, attention_mask, weights, *, heads, eps=1e-12, approximation="none"):
    out = np.empty_like(x)
    for row in range(len(x)):
        out[row] = _one(x[row], attention_mask[row], weights, heads, eps, approximation)["out"]
    return out


def _one(x, mask, w, heads, eps, approximation):
    size = x.shape[-1] // heads
    q, k, v = (x @ w[f"attention.self.{r}.weight"].T + w[f"attention.self.{r}.bias"]
               for r in ("query", "key", "value"))  # fmt: skip
    context, probs = np.zeros_like(x), []
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        scores = q[:, part] @ k[:, part].T / math.sqrt(size)
        scores[:, mask == 0] = np.finfo(scores.dtype).min  # -inf would make NaN of all padding
        e = np.exp(scores - scores.max(-1, keepdims=True))
        probs.append(e / e.sum(-1, keepdims=True))
        context[:, part] = probs[-1] @ v[:, part]
    a = context @ w["attention.output.dense.weight"].T + w["attention.output.dense.bias"] + x
    y = layer_norm_forward(a, w["attention.output.LayerNorm.weight"],
                           w["attention.output.LayerNorm.bias"], eps)  # fmt: skip
    h = y @ w["intermediate.dense.weight"].T + w["intermediate.dense.bias"]
    g = gelu_forward(h, approximation)
    b = g @ w["output.dense.weight"].T + w["output.dense.bias"] + y
    out = layer_norm_forward(b, w["output.LayerNorm.weight"], w["output.LayerNorm.bias"], eps)
    return dict(q=q, k=k, v=v, probs=probs, context=context, a=a, y=y, h=h, g=g, b=b, out=out)


def layer_backward(dout, x, attention_mask, weights, *, heads, eps=1e-12, approximation="none"):
    total = {name: np.zeros_like(weight) for name, weight in weights.items()}
    dx = np.zeros_like(x)
    size = x.shape[-1] // heads

    def dense(name, d, given):
        total[f"{name}.weight"] += d.T @ given
        total[f"{name}.bias"] += d.sum(0)
        return d @ weights[f"{name}.weight"]

    def norm(name, d, given):
        back, scale, shift = layer_norm_backward(d, given, weights[f"{name}.weight"], eps)
        total[f"{name}.weight"] += scale
        total[f"{name}.bias"] += shift
        return back

    for row in range(len(x)):
        s = _one(x[row], attention_mask[row], weights, heads, eps, approximation)
        db = norm("output.LayerNorm", dout[row], s["b"])
        dh = gelu_backward(dense("output.dense", db, s["g"]), s["h"], approximation)
        da = norm(
            "attention.output.LayerNorm", db + dense("intermediate.dense", dh, s["y"]), s["a"]
        )
        dcontext = dense("attention.output.dense", da, s["context"])
        d = {role: np.zeros_like(x[row]) for role in "qkv"}
        for head, probs in enumerate(s["probs"]):
            part = slice(head * size, (head + 1) * size)
            d["v"][:, part] = probs.T @ dcontext[:, part]
            dprobs = dcontext[:, part] @ s["v"][:, part].T
            dscores = probs * (dprobs - (probs * dprobs).sum(1, keepdims=True))
            dscores = dscores / math.sqrt(size)
            d["q"][:, part] = dscores @ s["k"][:, part]
            d["k"][:, part] = dscores.T @ s["q"][:, part]
        dx[row] = da + sum(dense(f"attention.self.{name}", d[name[0]], x[row])
                           for name in ("query", "key", "value"))  # fmt: skip
    return dx, total


def lookup_backward(dout, ids, entries):
    dtable = np.zeros((entries, dout.shape[-1]), dout.dtype)
    for place in np.ndindex(ids.shape):
        dtable[ids[place]] += dout[place]
    return dtable


def masked_cross_entropy_forward(logits, labels, weights):
    if not weights.any():
        return 0.0
    total = 0.0
    rows = logits.reshape(-1, logits.shape[-1])
    for scores, label, weight in zip(rows, labels.flat, weights.flat, strict=True):
        largest = float(scores.max())
        spread = math.log(float(np.exp(scores - largest).sum()))
        total += float(weight) * (spread + largest - float(scores[label]))
    return total / float(weights.sum())


def learning_rate(step, *, peak, warmup_steps, total_steps):
    left = total_steps - warmup_steps
    rise = (step + 1) / warmup_steps if warmup_steps else 1.0
    return peak * (rise if step < warmup_steps else 1 - (step - warmup_steps) / left)
