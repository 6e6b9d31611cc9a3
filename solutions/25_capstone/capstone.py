"""The capstone: what moves a BERT, written by you, in place of the reference's own functions.

Everything but the two functions of a layer was asked for before, with the same arguments: you may
paste your answers to exercises 4, 5, 6, 8, 9, 10 and 11, helpers included.
"""

import math

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

Arrays = dict[str, ndarray]
Anything = Float[ndarray, "*shape"]
States = Float[ndarray, "batch seq hidden"]
Vectors, Vector = Float[ndarray, "*batch hidden"], Float[ndarray, "hidden"]
Logits = Float[ndarray, "*slots classes"]
Labels, SlotWeights = Int[ndarray, "*slots"], Float[ndarray, "*slots"]
Heads = Float[ndarray, "batch heads seq head_dim"]
Probs = Float[ndarray, "batch heads seq seq"]
Mask = Int[ndarray, "batch seq"]  # 1 for a token, 0 for padding

IGNORED = -100  # the label of a token that nobody asks about

# --- New: a whole layer and its backward pass ---


def layer_forward(
    x: States, attention_mask: Mask, weights: Arrays, *, heads: int, eps: float = 1e-12,
    approximation: str = "none",
) -> States:  # fmt: skip
    """One layer of the encoder (Devlin et al. 2018, section 3; Vaswani et al. 2017, section 3.1),
    without dropout. `weights` are the layer's own, under BERT's names:

    attention.self.query, .key, .value; attention.output.dense, attention.output.LayerNorm;
    intermediate.dense; output.dense, output.LayerNorm; each with .weight (out, in) and .bias.
    """
    # begin solution
    return run(x, attention_mask, weights, heads, eps, approximation)["out"]
    # end solution


def layer_backward(
    dout: States, x: States, attention_mask: Mask, weights: Arrays, *, heads: int,
    eps: float = 1e-12, approximation: str = "none",
) -> tuple[States, Arrays]:  # fmt: skip
    """The gradients for `x` and for every array of `weights`, under its name, given the gradient
    `dout` for the result of `layer_forward` with the same arguments."""
    # begin solution
    # A second forward: models whose activations do not fit into memory are trained in this way.
    kept = run(x, attention_mask, weights, heads, eps, approximation)
    grads = {}
    # From here on the lines of `run`, the last one first.
    dsum = norm_backward(dout, kept["second sum"], weights, "output.LayerNorm", eps, grads)
    dwide = linear_backward(dsum, kept["wide"], weights, "output.dense", grads)
    dwide = gelu_backward(dwide, kept["before gelu"], approximation)
    # A sum hands its gradient to both of its parts: `middle` gets it through the feed-forward part
    # and once more directly, by the residual connection.
    dmiddle = dsum + linear_backward(dwide, kept["middle"], weights, "intermediate.dense", grads)

    name = "attention.output.LayerNorm"
    dsum = norm_backward(dmiddle, kept["first sum"], weights, name, eps, grads)
    dcontext = linear_backward(dsum, kept["context"], weights, "attention.output.dense", grads)
    # Merging only moves numbers about, so its backward is splitting, and the other way about.
    dprojected = attention_backward(split(dcontext, heads), *kept["projected"], kept["probs"])
    # x was used four times: as query, key, value and residual. Its gradient is a sum of four.
    dx = dsum + sum(
        linear_backward(merge(dprojected[i]), x, weights, f"attention.self.{role}", grads)
        for i, role in enumerate(ROLES)
    )
    return dx, grads
    # end solution


# begin solution
ROLES = ("query", "key", "value")


def run(x, attention_mask, weights, heads, eps, approximation) -> dict:
    """A layer, with everything that its backward asks for."""
    projected = [split(linear(x, weights, f"attention.self.{role}"), heads) for role in ROLES]
    context, probs = attention_forward(*projected, attention_mask)
    context = merge(context)
    # The norm comes last, on the sum (post-LN). Before the attention (pre-LN) is another model.
    first_sum = x + linear(context, weights, "attention.output.dense")
    middle = normed(first_sum, weights, "attention.output.LayerNorm", eps)
    before_gelu = linear(middle, weights, "intermediate.dense")
    wide = gelu_forward(before_gelu, approximation)
    # The residual of the second half is what entered it, not the layer's x.
    second_sum = middle + linear(wide, weights, "output.dense")
    return {"projected": projected, "probs": probs, "context": context, "first sum": first_sum,
            "middle": middle, "before gelu": before_gelu, "wide": wide, "second sum": second_sum,
            "out": normed(second_sum, weights, "output.LayerNorm", eps)}  # fmt: skip


def normed(x, weights, name, eps):
    return layer_norm_forward(x, weights[f"{name}.weight"], weights[f"{name}.bias"], eps)


def norm_backward(dout, x, weights, name, eps, grads):
    """The gradient for x; those of weight and bias go into `grads`."""
    weight, bias = f"{name}.weight", f"{name}.bias"
    dx, grads[weight], grads[bias] = layer_norm_backward(dout, x, weights[weight], eps)
    return dx


def linear(x, weights, name):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]  # the rows are the outputs


def linear_backward(dout, x, weights, name, grads):
    """The gradient for x; those of weight and bias go into `grads`."""
    rows, drows = np.concatenate(x), np.concatenate(dout)  # (batch · seq, …)
    # (out, in), as the weight is. The transpose fits too where a matrix is square, and is wrong.
    grads[f"{name}.weight"] = drows.T @ rows
    grads[f"{name}.bias"] = drows.sum(axis=0)
    return dout @ weights[f"{name}.weight"]


def split(x, heads):
    batch, seq, hidden = x.shape
    # Cut, then exchange axes: a reshape straight to (batch, heads, seq, head_dim) mixes the tokens.
    return x.reshape(batch, seq, heads, hidden // heads).transpose(0, 2, 1, 3)


def merge(x):
    batch, heads, seq, head_dim = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, seq, heads * head_dim)


# end solution

# --- Exercise 4: layer norm; exercise 5: GELU ---


def layer_norm_forward(x: Vectors, weight: Vector, bias: Vector, eps: float = 1e-12) -> Vectors:
    """Normalize each vector over its last axis, then scale and shift."""
    # begin solution
    return normalize(x, eps)[0] * weight + bias
    # end solution


def layer_norm_backward(
    dout: Vectors, x: Vectors, weight: Vector, eps: float = 1e-12
) -> tuple[Vectors, Vector, Vector]:
    """The gradients for x, weight and bias."""
    # begin solution
    normalized, inverse_std = normalize(x, eps)
    over_batch = tuple(range(x.ndim - 1))
    d = dout * weight
    # Shifting or stretching x does not change a normalized vector: both parts are taken off.
    dx = d - d.mean(-1, keepdims=True) - normalized * (d * normalized).mean(-1, keepdims=True)
    return dx * inverse_std, (dout * normalized).sum(over_batch), dout.sum(over_batch)
    # end solution


def gelu_forward(x: Anything, approximation: str = "none") -> Anything:
    """x Φ(x), by the error function ("none") or by the formula with tanh ("tanh")."""
    # begin solution
    if approximation == "tanh":
        return 0.5 * x * (1 + np.tanh(SCALE * (x + CUBIC * x * x * x)))
    return x * normal_cdf(x)
    # end solution


def gelu_backward(dout: Anything, x: Anything, approximation: str = "none") -> Anything:
    """The gradient for x."""
    # begin solution
    if approximation == "tanh":
        t = np.tanh(SCALE * (x + CUBIC * x * x * x))
        return dout * 0.5 * (1 + t + x * (1 - t * t) * SCALE * (1 + 3 * CUBIC * x * x))
    slope = normal_cdf(x) + x * np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    return dout * slope
    # end solution


# --- Exercise 6: attention ---


def attention_forward(
    query: Heads, key: Heads, value: Heads, attention_mask: Mask | None = None
) -> tuple[Heads, Probs]:
    """softmax(Q Kᵀ / √head_dim) V, and the probabilities; padding has a probability of 0."""
    # begin solution
    scores = query @ transposed(key) / math.sqrt(query.shape[-1])
    if attention_mask is not None:
        lowest = np.finfo(scores.dtype).min
        scores = np.where(attention_mask[:, None, None, :] == 0, lowest, scores)
    probs = np.exp(scores - scores.max(axis=-1, keepdims=True))
    probs /= probs.sum(axis=-1, keepdims=True)
    return probs @ value, probs
    # end solution


def attention_backward(
    dcontext: Heads, query: Heads, key: Heads, value: Heads, probs: Probs
) -> tuple[Heads, Heads, Heads]:
    """The gradients for query, key and value."""
    # begin solution
    dprobs = dcontext @ transposed(value)
    dscores = probs * (dprobs - (dprobs * probs).sum(axis=-1, keepdims=True))
    dscores /= math.sqrt(query.shape[-1])
    return dscores @ key, transposed(dscores) @ query, transposed(probs) @ dcontext
    # end solution


# --- Exercise 8: the backward pass of a lookup; exercise 9: masked cross-entropy ---


def lookup_backward(
    dout: Float[ndarray, "*batch hidden"], ids: Int[ndarray, "*batch"], entries: int
) -> Float[ndarray, "entries hidden"]:
    """The gradient for a table of `entries` rows, given that for `table[ids]`."""
    # begin solution
    dtable = np.zeros((entries, dout.shape[-1]), dout.dtype)
    np.add.at(dtable, ids, dout)  # `dtable[ids] += dout` keeps only one of a word's gradients
    return dtable
    # end solution


def masked_cross_entropy_forward(logits: Logits, labels: Labels, weights: SlotWeights) -> float:
    """Σ weight · -ln softmax(logits)[label] / Σ weight."""
    # begin solution
    shifted = logits - logits.max(axis=-1, keepdims=True)
    right = (shifted * onehot(labels, logits)).sum(axis=-1)
    surprise = np.log(np.exp(shifted).sum(axis=-1)) - right
    total = weights.sum()
    return (surprise * weights).sum() / total if total > 0 else 0.0
    # end solution


def masked_cross_entropy_backward(
    dloss: float, logits: Logits, labels: Labels, weights: SlotWeights
) -> Logits:
    """The gradient for the logits."""
    # begin solution
    probs = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probs /= probs.sum(axis=-1, keepdims=True)
    total = weights.sum()
    scale = weights * (dloss / total) if total > 0 else weights  # all 0, and so is the gradient
    return ((probs - onehot(labels, logits)) * scale[..., None]).astype(logits.dtype)
    # end solution


# --- Exercise 10: masking; exercise 11: BERT's Adam ---


def mask_tokens(
    input_ids: Int[ndarray, "batch seq"], rng: np.random.Generator, *, mask_id: int,
    vocab_size: int, special_ids: list[int], rate: float = 0.15,
) -> tuple[Int[ndarray, "batch seq"], Int[ndarray, "batch seq"]]:  # fmt: skip
    """The ids that the model sees, and the labels that it must find: `IGNORED` where none is."""
    # begin solution
    selected = ~np.isin(input_ids, special_ids) & (rng.random(input_ids.shape) < rate)
    fate = rng.random(input_ids.shape)  # one draw for all three fates: their shares add up
    word = rng.choice(np.setdiff1d(np.arange(vocab_size), special_ids), size=input_ids.shape)
    shown = np.where(selected & (fate < 0.9), word, input_ids)
    shown = np.where(selected & (fate < 0.8), mask_id, shown)  # from 0.8 to 0.9 words are left
    return shown.astype(input_ids.dtype), np.where(selected, input_ids, IGNORED)
    # end solution


def learning_rate(step: int, *, peak: float, warmup_steps: int, total_steps: int) -> float:
    """The rate of step 0, 1, 2, …: up to `peak` in `warmup_steps`, then in a straight line to 0."""
    # begin solution
    if step < warmup_steps:
        return peak * (step + 1) / warmup_steps
    return peak * (total_steps - step) / (total_steps - warmup_steps)
    # end solution


def clip_gradients(gradients: Arrays, max_norm: float) -> tuple[Arrays, float]:
    """The gradients, scaled by one factor if their norm together is above `max_norm`, and that
    norm before."""
    # begin solution
    norm = math.sqrt(sum((g * g).sum() for g in gradients.values()))
    scale = max_norm / norm if norm > max_norm else 1.0
    return {name: g * scale for name, g in gradients.items()}, norm
    # end solution


def adam_step(
    weights: Arrays, gradients: Arrays, state: dict[str, Arrays], *, learning_rate: float,
    beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-6, weight_decay: float = 0.01,
) -> tuple[Arrays, dict[str, Arrays]]:  # fmt: skip
    """The weights after a step, and the state {"m": …, "v": …} after it; no bias correction."""
    # begin solution
    moved, m, v = {}, {}, {}
    for name, w in weights.items():
        g = gradients[name]
        m[name] = beta1 * state["m"][name] + (1 - beta1) * g
        v[name] = beta2 * state["v"][name] + (1 - beta2) * g * g
        is_bare = name.endswith("bias") or "LayerNorm" in name
        decay = 0.0 if is_bare else weight_decay
        moved[name] = w - learning_rate * (m[name] / (np.sqrt(v[name]) + eps) + decay * w)
    return moved, {"m": m, "v": v}
    # end solution


# begin solution
SCALE, CUBIC = math.sqrt(2 / math.pi), 0.044715


def transposed(x):
    return np.einsum("...ij->...ji", x)  # queries and keys change places; batch and heads stay


def onehot(labels, logits):
    return np.arange(logits.shape[-1]) == labels[..., None]


def normal_cdf(x):
    erf = np.vectorize(math.erf, otypes=[x.dtype])  # a Python float would make all of it float64
    return 0.5 * (1 + erf(x / math.sqrt(2)))


def normalize(x, eps):
    centered = x - x.mean(axis=-1, keepdims=True)
    variance = (centered * centered).mean(axis=-1, keepdims=True)  # by hidden, not hidden - 1
    inverse_std = 1 / np.sqrt(variance + eps)  # eps inside the root
    return centered * inverse_std, inverse_std


# Wrong answers that are common:
# - a residual connection that the backward forgets: the loss falls, but above the reference's;
# - weight gradients transposed: seen only where a matrix is not square, and most are;
# - the norm before the sublayer, or the layer's x as the residual of the second half;
# - heads that are reshaped and not transposed: the model learns all the same, a little less;
# - a backward that computes its forward again with another eps or another form of GELU;
# end solution
