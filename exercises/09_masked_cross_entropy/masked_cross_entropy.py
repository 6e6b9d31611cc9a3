"""Cross-entropy of the slots that count: how surprised the model is by the right answers."""

import numpy as np
from jaxtyping import Float, Int, Real
from numpy import ndarray


def masked_cross_entropy_forward(
    logits: Float[ndarray, "*slots classes"],
    labels: Int[ndarray, "*slots"],
    weights: Real[ndarray, "*slots"],
) -> float:
    """Σ weight · -ln softmax(logits)[label] / Σ weight, in nats; 0 if all weights are 0.

    It is finite for logits up to 1e200, and a number that is added to all logits of a slot costs no
    digits. Class 0 is a class like every other.
    """
    raise NotImplementedError("write masked_cross_entropy_forward")


def masked_cross_entropy_backward(
    dloss: float,
    logits: Float[ndarray, "*slots classes"],
    labels: Int[ndarray, "*slots"],
    weights: Real[ndarray, "*slots"],
) -> Float[ndarray, "*slots classes"]:
    """The gradient for the logits, given the gradient `dloss` for the loss that the forward gave.

    It has the type of the logits, and is zero where the weight is zero.
    """
    raise NotImplementedError("write masked_cross_entropy_backward")
