"""Other functions in place of this level's own: the model stays, parts of it are somebody else's.

    with replaced({"gelu_backward": mine}):
        losses, gradients = losses_and_gradients(bert, batch)

The functions are those that the exercises ask for: a backward takes the forward's inputs, no cache.

    layer_norm_forward(x, weight, bias, eps) -> out
    layer_norm_backward(dout, x, weight, eps) -> dx, dweight, dbias
    gelu_forward(x, approximation) -> out
    gelu_backward(dout, x, approximation) -> dx
    attention_forward(query, key, value, attention_mask) -> context, probs
    attention_backward(dcontext, query, key, value, probs) -> dquery, dkey, dvalue
    layer_forward(x, attention_mask, weights, *, heads, eps, approximation) -> out
    layer_backward(dout, x, attention_mask, weights, *, heads, eps, approximation) -> dx, gradients
    lookup_backward(dout, ids, entries) -> dtable
    masked_cross_entropy_forward(logits, labels, weights) -> loss
    masked_cross_entropy_backward(dloss, logits, labels, weights) -> dlogits

A forward may be replaced without its backward, and the other way about.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from numpy import ndarray

from bert_numpy import encoder, model
from bert_numpy.attention import attention_backward, attention_forward
from bert_numpy.encoder import Bert, Gradients, layer_backward, layer_forward
from bert_numpy.operations import (
    Cache,
    cross_entropy_backward,
    cross_entropy_forward,
    gelu_backward,
    gelu_forward,
    layer_norm_backward,
    layer_norm_forward,
)

Functions = Mapping[str, Callable[..., Any]]

MODEL_FUNCTIONS = (
    "layer_norm_forward", "layer_norm_backward", "gelu_forward", "gelu_backward",
    "attention_forward", "attention_backward", "layer_forward", "layer_backward",
    "lookup_backward", "masked_cross_entropy_forward", "masked_cross_entropy_backward",
)  # fmt: skip


@contextmanager
def replaced(functions: Functions) -> Iterator[None]:
    """Within the block the model calls `functions`, under the names above; other names are passed
    over. Not to be used by two threads at once: the model is one for all of them."""
    ours = {place: dict(vars(place)) for place in (encoder, model)}
    try:
        for pair in (_layer_norm, _gelu, _attention, _layer, _lookup, _cross_entropy):
            for place, name, function in pair(functions):
                setattr(place, name, function)
        yield
    finally:
        for place, names in ours.items():
            vars(place).update(names)


Change = tuple[Any, str, Callable[..., Any]]  # of which module, which name, to what


def _pair(
    reference: tuple[Callable, Callable], forward: Callable | None, backward: Callable | None
) -> tuple[Callable, Callable]:
    """A forward and its backward, in the form that the model calls them in; the cache holds the
    inputs beside the reference's cache, so that either backward can follow either forward."""
    if not forward and not backward:
        return reference

    def both_forward(*inputs: Any) -> tuple[Any, Cache]:
        alone = forward and backward  # then nobody needs the reference's cache
        out, cache = (None, None) if alone else reference[0](*inputs)
        return (forward(*inputs) if forward else out), (inputs, cache)

    def both_backward(dout: Any, cache: Cache) -> Any:
        inputs, cache = cache
        return backward(dout, *inputs) if backward else reference[1](dout, cache)

    return both_forward, both_backward


def _layer_norm(given: Functions) -> list[Change]:
    backward = given.get("layer_norm_backward")

    def without_bias(dout, x, weight, bias, eps):
        return backward(dout, x, weight, eps)

    there, back = _pair((layer_norm_forward, layer_norm_backward), given.get("layer_norm_forward"),
                        without_bias if backward else None)  # fmt: skip
    return [(encoder, "layer_norm_forward", there), (encoder, "layer_norm_backward", back)]


def _gelu(given: Functions) -> list[Change]:
    there, back = _pair(
        (gelu_forward, gelu_backward), given.get("gelu_forward"), given.get("gelu_backward")
    )
    return [(encoder, "gelu_forward", there), (encoder, "gelu_backward", back)]


def _attention(given: Functions) -> list[Change]:
    forward, backward = given.get("attention_forward"), given.get("attention_backward")
    if not forward and not backward:
        return []

    def there(query, key, value, mask, **dropout) -> tuple[ndarray, Cache]:
        context, cache = attention_forward(query, key, value, mask, **dropout)
        probs = cache[4]
        if forward:
            context, probs = forward(query, key, value, is_token(mask))
        return context, (query, key, value, probs, cache)

    def back(dcontext: ndarray, cache: Cache) -> tuple[ndarray, ndarray, ndarray]:
        *inputs, reference = cache
        if backward:
            return backward(dcontext, *inputs)
        return attention_backward(dcontext, reference)

    return [(encoder, "attention_forward", there), (encoder, "attention_backward", back)]


def is_token(mask: ndarray) -> ndarray:
    """`attention_mask` (batch, seq) again, from the numbers that are added to the scores."""
    return (mask[:, 0, 0, :] == 0).astype("int64")


def _layer(given: Functions) -> list[Change]:
    forward, backward = given.get("layer_forward"), given.get("layer_backward")
    if not forward and not backward:
        return []

    def there(bert: Bert, name: str, x: ndarray, mask: ndarray) -> tuple[ndarray, Cache]:
        weights = {n.removeprefix(f"{name}."): w for n, w in bert.weights.items()
                   if n.startswith(f"{name}.")}  # fmt: skip
        inputs = x, is_token(mask), weights
        sizes = {"heads": bert.config.num_attention_heads, "eps": bert.config.layer_norm_eps,
                 "approximation": bert.config.gelu_approximation}  # fmt: skip
        alone = forward and backward
        out, cache = (None, None) if alone else layer_forward(bert, name, x, mask)
        return forward(*inputs, **sizes) if forward else out, (name, inputs, sizes, cache)

    def back(dx: ndarray, cache: Cache, gradients: Gradients) -> ndarray:
        name, inputs, sizes, reference = cache
        if not backward:
            return layer_backward(dx, reference, gradients)
        dx, found = backward(dx, *inputs, **sizes)
        for parameter, gradient in found.items():
            gradients.add(f"{name}.{parameter}", gradient)
        return dx

    return [(encoder, "layer_forward", there), (encoder, "layer_backward", back)]


def _lookup(given: Functions) -> list[Change]:
    backward = given.get("lookup_backward")
    if not backward:
        return []
    return [(model, "embedding_backward", partial(_back_to_table, backward))]


def _back_to_table(backward: Callable, dout: ndarray, cache: Cache) -> ndarray:
    ids, (entries, _) = cache
    return backward(dout, ids, entries)


def _cross_entropy(given: Functions) -> list[Change]:
    """These divide by the sum of the weights themselves, so a batch must be given whole."""
    forward = given.get("masked_cross_entropy_forward")
    backward = given.get("masked_cross_entropy_backward")

    def there(logits, labels, weights, count) -> tuple[float, Cache]:
        loss, cache = cross_entropy_forward(logits, labels, weights, count)
        if forward:
            loss = float(forward(logits, labels, weights))
        return loss, (logits, labels, weights, cache)

    def back(cache: Cache) -> ndarray:
        *inputs, reference = cache
        return backward(1.0, *inputs) if backward else cross_entropy_backward(reference)

    if not forward and not backward:
        return []
    return [(model, "cross_entropy_forward", there), (model, "cross_entropy_backward", back)]
