"""The encoder: layers of attention and feed-forward, each layer's backward its forward upside down.

From here on functions know parameters by name. They read them from `bert.weights`, and a backward
function puts the gradient of each of its parameters into `gradients`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from bert_numpy.attention import attention_backward, attention_forward, merge_heads, split_heads
from bert_numpy.operations import (
    Cache,
    dropout_backward,
    dropout_forward,
    gelu_backward,
    gelu_forward,
    layer_norm_backward,
    layer_norm_forward,
    linear_backward,
    linear_forward,
)
from bert_run.config import BertConfig, Weights

States = Float[ndarray, "batch seq hidden"]
Mask = Float[ndarray, "batch 1 1 seq"]
Watch = Callable[[str, ndarray], None]


def no_hook(name: str, array: ndarray) -> None:
    """The default hook: it does nothing."""


@dataclass(frozen=True)
class Bert:
    """A model: its sizes, its parameters under the common names, and how it is being run."""

    config: BertConfig
    weights: Weights
    generator: np.random.Generator | None = None  # of dropout; None: no dropout, as in evaluation
    watch: Watch = no_hook  # called with every activation, by name


@dataclass(frozen=True)
class Gradients:
    """∂loss/∂parameter under each parameter's name."""

    of: Weights = field(default_factory=dict)
    watch: Watch = no_hook  # called with every activation's gradient; overwritten later, so copy it

    def add(self, name: str, gradient: ndarray) -> None:
        """A parameter that is used twice has the sum of both as its gradient."""
        if name in self.of:
            self.of[name] += gradient
        else:
            self.of[name] = gradient


# --- Operations that have parameters, by the name of these ---


def dense_forward(bert: Bert, name: str, x: ndarray) -> tuple[ndarray, Cache]:
    out, cache = linear_forward(x, bert.weights[f"{name}.weight"], bert.weights[f"{name}.bias"])
    bert.watch(name, out)
    return out, (name, cache)


def dense_backward(dout: ndarray, cache: Cache, gradients: Gradients) -> ndarray:
    name, linear_cache = cache
    gradients.watch(name, dout)
    dx, dweight, dbias = linear_backward(dout, linear_cache)
    gradients.add(f"{name}.weight", dweight)
    gradients.add(f"{name}.bias", dbias)
    return dx


def norm_forward(bert: Bert, name: str, x: ndarray) -> tuple[ndarray, Cache]:
    weight, bias = bert.weights[f"{name}.weight"], bert.weights[f"{name}.bias"]
    out, cache = layer_norm_forward(x, weight, bias, bert.config.layer_norm_eps)
    bert.watch(name, out)
    return out, (name, cache)


def norm_backward(dout: ndarray, cache: Cache, gradients: Gradients) -> ndarray:
    name, norm_cache = cache
    gradients.watch(name, dout)
    dx, dweight, dbias = layer_norm_backward(dout, norm_cache)
    gradients.add(f"{name}.weight", dweight)
    gradients.add(f"{name}.bias", dbias)
    return dx


# --- The parts of a layer ---


def self_attention_forward(bert: Bert, name: str, x: States, mask: Mask) -> tuple[States, Cache]:
    """Query, key and value are three projections of the same tokens; each head takes its part."""
    (query, query_cache), (key, key_cache), (value, value_cache) = (
        dense_forward(bert, f"{name}.{role}", x) for role in ("query", "key", "value")
    )
    heads = bert.config.num_attention_heads
    context, attention_cache = attention_forward(
        *(split_heads(part, heads) for part in (query, key, value)), mask,
        dropout=bert.config.attention_probs_dropout_prob, generator=bert.generator,
    )  # fmt: skip
    out = merge_heads(context)
    bert.watch(name, out)
    return out, (name, heads, query_cache, key_cache, value_cache, attention_cache)


def self_attention_backward(dout: States, cache: Cache, gradients: Gradients) -> States:
    """x was used three times, so its gradient is a sum of three."""
    name, heads, query_cache, key_cache, value_cache, attention_cache = cache
    gradients.watch(name, dout)
    dquery, dkey, dvalue = attention_backward(split_heads(dout, heads), attention_cache)
    dx = dense_backward(merge_heads(dvalue), value_cache, gradients)
    dx += dense_backward(merge_heads(dkey), key_cache, gradients)
    dx += dense_backward(merge_heads(dquery), query_cache, gradients)
    return dx


def add_and_norm_forward(
    bert: Bert, name: str, x: ndarray, residual: States
) -> tuple[States, Cache]:
    """What closes each half of a layer: LN(residual + dropout(dense(x))), the norm last."""
    x, dense_cache = dense_forward(bert, f"{name}.dense", x)
    x, dropout_cache = dropout_forward(x, bert.config.hidden_dropout_prob, bert.generator)
    out, norm_cache = norm_forward(bert, f"{name}.LayerNorm", x + residual)
    return out, (dense_cache, dropout_cache, norm_cache)


def add_and_norm_backward(
    dout: States, cache: Cache, gradients: Gradients
) -> tuple[ndarray, States]:
    """A sum hands its gradient to both parts unchanged: here dx and dresidual part ways."""
    dense_cache, dropout_cache, norm_cache = cache
    dresidual = norm_backward(dout, norm_cache, gradients)
    dx = dropout_backward(dresidual, dropout_cache)
    dx = dense_backward(dx, dense_cache, gradients)
    return dx, dresidual


def dense_gelu_forward(bert: Bert, name: str, x: ndarray) -> tuple[ndarray, Cache]:
    x, dense_cache = dense_forward(bert, f"{name}.dense", x)
    out, gelu_cache = gelu_forward(x, bert.config.gelu_approximation)
    bert.watch(name, out)
    return out, (name, dense_cache, gelu_cache)


def dense_gelu_backward(dout: ndarray, cache: Cache, gradients: Gradients) -> ndarray:
    name, dense_cache, gelu_cache = cache
    gradients.watch(name, dout)
    dx = gelu_backward(dout, gelu_cache)
    return dense_backward(dx, dense_cache, gradients)


# --- One layer, and the stack: read the backward from the bottom ---


def layer_forward(bert: Bert, name: str, x: States, mask: Mask) -> tuple[States, Cache]:
    """Tokens exchange information; then each is worked on by itself."""
    context, attention_cache = self_attention_forward(bert, f"{name}.attention.self", x, mask)
    x, first_cache = add_and_norm_forward(bert, f"{name}.attention.output", context, residual=x)
    wide, wide_cache = dense_gelu_forward(bert, f"{name}.intermediate", x)
    x, second_cache = add_and_norm_forward(bert, f"{name}.output", wide, residual=x)
    bert.watch(name, x)
    return x, (name, attention_cache, first_cache, wide_cache, second_cache)


def layer_backward(dx: States, cache: Cache, gradients: Gradients) -> States:
    name, attention_cache, first_cache, wide_cache, second_cache = cache
    gradients.watch(name, dx)
    dwide, dx = add_and_norm_backward(dx, second_cache, gradients)
    dx += dense_gelu_backward(dwide, wide_cache, gradients)
    dcontext, dx = add_and_norm_backward(dx, first_cache, gradients)
    dx += self_attention_backward(dcontext, attention_cache, gradients)
    return dx


def encoder_forward(bert: Bert, x: States, mask: Mask) -> tuple[States, Cache]:
    caches = []
    for number in range(bert.config.num_hidden_layers):
        x, cache = layer_forward(bert, f"bert.encoder.layer.{number}", x, mask)
        caches.append(cache)
    return x, caches


def encoder_backward(dx: States, caches: Cache, gradients: Gradients) -> States:
    for cache in reversed(caches):
        dx = layer_backward(dx, cache, gradients)
    return dx
