"""The operations of BERT, each forward beside its backward.

`f_forward(inputs) -> (out, cache)` computes `out` and keeps what the backward pass needs.
`f_backward(dout, cache) -> gradients` is given dout = ∂loss/∂out and applies the chain rule once:
it returns ∂loss/∂input for every input that learns. A `d` before a name means "the gradient of the
loss for", and has the shape of what it is the gradient for.
"""

import math
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from bert_numpy.normal import normal_cdf, normal_pdf

Cache = Any  # what a forward keeps for its backward; nobody else looks inside

# --- Linear: every output is a weighted sum of all inputs, plus a bias ---


def linear_forward(
    x: Float[ndarray, "*batch in"], weight: Float[ndarray, "out in"], bias: Float[ndarray, "out"]
) -> tuple[Float[ndarray, "*batch out"], Cache]:
    """x Wᵀ + b, for every vector of the batch. The rows of W are the outputs, as in torch."""
    rows = x.reshape(-1, x.shape[-1])  # (vectors, in): one large product, not many small ones
    out = rows @ weight.T
    out += bias
    return out.reshape(*x.shape[:-1], len(bias)), (x, weight)


def linear_backward(
    dout: Float[ndarray, "*batch out"], cache: Cache
) -> tuple[Float[ndarray, "*batch in"], Float[ndarray, "out in"], Float[ndarray, "out"]]:
    """out = x Wᵀ + b, so dx = dout W, and W collects dout ⊗ x from every vector of the batch."""
    x, weight = cache
    rows, drows = x.reshape(-1, x.shape[-1]), dout.reshape(-1, dout.shape[-1])
    dx = (drows @ weight).reshape(x.shape)
    return dx, drows.T @ rows, drows.sum(axis=0)


# --- Softmax: scores become probabilities ---


def softmax_forward(x: Float[ndarray, "*batch n"]) -> tuple[Float[ndarray, "*batch n"], Cache]:
    """exp(xᵢ) / Σⱼ exp(xⱼ) over the last axis. Taking the largest score off first changes nothing
    and keeps exp from overflowing."""
    out = x - x.max(axis=-1, keepdims=True)
    np.exp(out, out=out)
    out /= out.sum(axis=-1, keepdims=True)
    return out, out


def softmax_backward(dout: Float[ndarray, "*batch n"], cache: Cache) -> Float[ndarray, "*batch n"]:
    """∂pᵢ/∂xⱼ = pᵢ (δᵢⱼ - pⱼ), so dxⱼ = pⱼ (doutⱼ - Σᵢ doutᵢ pᵢ)."""
    probs = cache
    dx = dout - np.einsum("...i,...i->...", dout, probs)[..., None]
    dx *= probs
    return dx


# --- Activations: GELU in the layers, tanh in the pooler ---

GELU_SCALE, GELU_CUBIC = math.sqrt(2 / math.pi), 0.044715


def gelu_forward(
    x: Float[ndarray, "*shape"], approximation: str = "none"
) -> tuple[Float[ndarray, "*shape"], Cache]:
    """x Φ(x), Φ being the CDF of the standard normal (Hendrycks and Gimpel 2016). `approximation`
    "none" takes Φ itself, as Hugging Face does; "tanh" the formula of Google's released code.

    The slope is cheap while Φ is at hand, so it is computed here: d/dx x Φ(x) = Φ(x) + x φ(x).
    """
    if approximation == "tanh":
        return gelu_tanh_forward(x)
    pdf = normal_pdf(x)
    cdf = normal_cdf(x, pdf)
    pdf *= x
    pdf += cdf  # now the slope
    cdf *= x  # now the value
    return cdf, pdf


def gelu_tanh_forward(x: Float[ndarray, "*shape"]) -> tuple[Float[ndarray, "*shape"], Cache]:
    """x/2 (1 + t), t = tanh u, u = √(2/π) (x + 0.044715 x³); the slope is
    (1 + t)/2 + x/2 (1 - t²) du/dx, since tanh' = 1 - tanh²."""
    square = x * x
    t = np.tanh(GELU_SCALE * x * (1 + GELU_CUBIC * square))
    du_dx = GELU_SCALE * (1 + 3 * GELU_CUBIC * square)
    return 0.5 * x * (1 + t), 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * du_dx


def gelu_backward(dout: Float[ndarray, "*shape"], cache: Cache) -> Float[ndarray, "*shape"]:
    """Both forms keep their slope, so the backward pass is one product."""
    slope = cache
    return dout * slope


def tanh_forward(x: Float[ndarray, "*shape"]) -> tuple[Float[ndarray, "*shape"], Cache]:
    out = np.tanh(x)
    return out, out


def tanh_backward(dout: Float[ndarray, "*shape"], cache: Cache) -> Float[ndarray, "*shape"]:
    """tanh' = 1 - tanh²: the output alone tells the slope."""
    out = cache
    return dout * (1 - out * out)


# --- Layer norm: every vector gets mean 0 and variance 1, then a learned scale and shift ---


def layer_norm_forward(
    x: Float[ndarray, "*batch hidden"],
    weight: Float[ndarray, "hidden"],
    bias: Float[ndarray, "hidden"],
    eps: float = 1e-12,
) -> tuple[Float[ndarray, "*batch hidden"], Cache]:
    """Normalize each vector over its last axis, then scale and shift (Ba et al. 2016, eq. 4).

    The variance divides by n, not n - 1, and `eps` stands inside the root.
    """
    centered = x - x.mean(axis=-1, keepdims=True)  # (..., hidden)
    variance = (centered * centered).mean(axis=-1, keepdims=True)  # (..., 1)
    inverse_std = 1 / np.sqrt(variance + eps)
    normalized = centered * inverse_std  # (..., hidden)
    return normalized * weight + bias, (normalized, inverse_std, weight)


def layer_norm_backward(
    dout: Float[ndarray, "*batch hidden"], cache: Cache
) -> tuple[Float[ndarray, "*batch hidden"], Float[ndarray, "hidden"], Float[ndarray, "hidden"]]:
    """x affects the output in three ways: directly, through the mean and through the variance.

    Shifting or stretching a vector does not change its normalized form, so its gradient has no
    component in these two directions: both are subtracted.

    The cache is as large as x: `normalized` has its shape, `inverse_std` one number a vector. To
    keep x instead would cost the same memory, and x would be normalized a second time.
    """
    normalized, inverse_std, weight = cache
    batch_axes = tuple(range(dout.ndim - 1))
    dweight, dbias = (dout * normalized).sum(axis=batch_axes), dout.sum(axis=batch_axes)
    dnormalized = dout * weight  # (..., hidden)
    along_shift = dnormalized.mean(axis=-1, keepdims=True)
    along_stretch = (dnormalized * normalized).mean(axis=-1, keepdims=True)
    dx = (dnormalized - along_shift - normalized * along_stretch) * inverse_std
    return dx, dweight, dbias


# --- Dropout: in training, some numbers are dropped at random ---


def dropout_forward(
    x: Float[ndarray, "*shape"], probability: float, generator: np.random.Generator | None
) -> tuple[Float[ndarray, "*shape"], Cache]:
    """Each number becomes 0 with `probability`, else is multiplied by 1 / (1 - probability), so
    that the mean stays (inverted dropout; Srivastava et al. 2014). No generator: evaluation."""
    if generator is None or probability == 0:
        return x, None
    kept = generator.random(x.shape, np.float32) >= probability
    mask = kept * x.dtype.type(1 / (1 - probability))  # (…), 0 or 1 / (1 - probability)
    return x * mask, mask


def dropout_backward(dout: Float[ndarray, "*shape"], cache: Cache) -> Float[ndarray, "*shape"]:
    """What was dropped gets no gradient, the rest the same factor."""
    mask = cache
    return dout if mask is None else dout * mask


# --- Embedding: a token's id picks its vector out of a table ---


def embedding_forward(
    ids: Int[ndarray, "*batch"], table: Float[ndarray, "entries hidden"]
) -> tuple[Float[ndarray, "*batch hidden"], Cache]:
    """Row `ids` of the table: the product with a one-hot matrix, without the zeros."""
    return table[ids], (ids, table.shape)


def embedding_backward(
    dout: Float[ndarray, "*batch hidden"], cache: Cache
) -> Float[ndarray, "entries hidden"]:
    """Scatter-add: the row of a word collects the gradients of every place where it stood.

    `dtable[ids] += dout` would keep only one of them, `np.add.at` is slow. Here the places are
    sorted by word, so that each word's gradients lie side by side and are summed in one go.
    """
    ids, shape = cache
    dtable = np.zeros(shape, dout.dtype)
    if ids.size:
        order = np.argsort(ids, axis=None, kind="stable")
        words, first = np.unique(ids.reshape(-1)[order], return_index=True)
        dtable[words] = np.add.reduceat(dout.reshape(-1, shape[1])[order], first, axis=0)
    return dtable


# --- Cross-entropy: how surprised the model is by the right answer ---


def cross_entropy_forward(
    logits: Float[ndarray, "rows classes"],
    labels: Int[ndarray, "rows"],
    weights: Float[ndarray, "rows"],
    count: float,
) -> tuple[float, Cache]:
    """Σ weight · -ln softmax(logits)[label] / count, in nats.

    `count` is the sum of all weights of the batch: a masked slot that is not used (weight 0) then
    changes neither the sum nor what it is divided by.
    """
    shifted = logits - logits.max(axis=-1, keepdims=True)
    right = shifted[np.arange(len(labels)), labels]  # the right answer's, (rows,)
    probs = np.exp(shifted, out=shifted)  # not yet divided by their sum
    total = probs.sum(axis=-1)  # (rows,)
    loss = float(weights @ (np.log(total) - right)) / count
    return loss, (probs, total, labels, weights, count)


def cross_entropy_backward(cache: Cache) -> Float[ndarray, "rows classes"]:
    """∂(-ln softmax(x)[label])/∂x = softmax(x) - onehot(label). The loss is where it all begins:
    its own gradient is 1, so no `dout` comes in."""
    probs, total, labels, weights, count = cache
    scale = weights.astype(probs.dtype) / count  # (rows,)
    dlogits = probs * (scale / total)[:, None]
    dlogits[np.arange(len(labels)), labels] -= scale
    return dlogits
