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
    raise NotImplementedError("write layer_forward")


def layer_backward(
    dout: States, x: States, attention_mask: Mask, weights: Arrays, *, heads: int,
    eps: float = 1e-12, approximation: str = "none",
) -> tuple[States, Arrays]:  # fmt: skip
    """The gradients for `x` and for every array of `weights`, under its name, given the gradient
    `dout` for the result of `layer_forward` with the same arguments."""
    raise NotImplementedError("write layer_backward")


# --- Exercise 4: layer norm; exercise 5: GELU ---


def layer_norm_forward(x: Vectors, weight: Vector, bias: Vector, eps: float = 1e-12) -> Vectors:
    """Normalize each vector over its last axis, then scale and shift."""
    raise NotImplementedError("write layer_norm_forward")


def layer_norm_backward(
    dout: Vectors, x: Vectors, weight: Vector, eps: float = 1e-12
) -> tuple[Vectors, Vector, Vector]:
    """The gradients for x, weight and bias."""
    raise NotImplementedError("write layer_norm_backward")


def gelu_forward(x: Anything, approximation: str = "none") -> Anything:
    """x Φ(x), by the error function ("none") or by the formula with tanh ("tanh")."""
    raise NotImplementedError("write gelu_forward")


def gelu_backward(dout: Anything, x: Anything, approximation: str = "none") -> Anything:
    """The gradient for x."""
    raise NotImplementedError("write gelu_backward")


# --- Exercise 6: attention ---


def attention_forward(
    query: Heads, key: Heads, value: Heads, attention_mask: Mask | None = None
) -> tuple[Heads, Probs]:
    """softmax(Q Kᵀ / √head_dim) V, and the probabilities; padding has a probability of 0."""
    raise NotImplementedError("write attention_forward")


def attention_backward(
    dcontext: Heads, query: Heads, key: Heads, value: Heads, probs: Probs
) -> tuple[Heads, Heads, Heads]:
    """The gradients for query, key and value."""
    raise NotImplementedError("write attention_backward")


# --- Exercise 8: the backward pass of a lookup; exercise 9: masked cross-entropy ---


def lookup_backward(
    dout: Float[ndarray, "*batch hidden"], ids: Int[ndarray, "*batch"], entries: int
) -> Float[ndarray, "entries hidden"]:
    """The gradient for a table of `entries` rows, given that for `table[ids]`."""
    raise NotImplementedError("write lookup_backward")


def masked_cross_entropy_forward(logits: Logits, labels: Labels, weights: SlotWeights) -> float:
    """Σ weight · -ln softmax(logits)[label] / Σ weight."""
    raise NotImplementedError("write masked_cross_entropy_forward")


def masked_cross_entropy_backward(
    dloss: float, logits: Logits, labels: Labels, weights: SlotWeights
) -> Logits:
    """The gradient for the logits."""
    raise NotImplementedError("write masked_cross_entropy_backward")


# --- Exercise 10: masking; exercise 11: BERT's Adam ---


def mask_tokens(
    input_ids: Int[ndarray, "batch seq"], rng: np.random.Generator, *, mask_id: int,
    vocab_size: int, special_ids: list[int], rate: float = 0.15,
) -> tuple[Int[ndarray, "batch seq"], Int[ndarray, "batch seq"]]:  # fmt: skip
    """The ids that the model sees, and the labels that it must find: `IGNORED` where none is."""
    raise NotImplementedError("write mask_tokens")


def learning_rate(step: int, *, peak: float, warmup_steps: int, total_steps: int) -> float:
    """The rate of step 0, 1, 2, …: up to `peak` in `warmup_steps`, then in a straight line to 0."""
    raise NotImplementedError("write learning_rate")


def clip_gradients(gradients: Arrays, max_norm: float) -> tuple[Arrays, float]:
    """The gradients, scaled by one factor if their norm together is above `max_norm`, and that
    norm before."""
    raise NotImplementedError("write clip_gradients")


def adam_step(
    weights: Arrays, gradients: Arrays, state: dict[str, Arrays], *, learning_rate: float,
    beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-6, weight_decay: float = 0.01,
) -> tuple[Arrays, dict[str, Arrays]]:  # fmt: skip
    """The weights after a step, and the state {"m": …, "v": …} after it; no bias correction."""
    raise NotImplementedError("write adam_step")
