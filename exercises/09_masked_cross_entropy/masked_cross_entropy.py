"""Cross-entropy of the slots that are asked about: how surprised the model is by the answers."""

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray


def masked_cross_entropy_forward(
    logits: Float[ndarray, "*slots classes"],
    labels: Int[ndarray, "*slots"],
    weights: Float[ndarray, "*slots"],
) -> float:
    """Σ weight · -ln softmax(logits)[label] / Σ weight, in nats; 0 if all weights are 0.

    Finite for any finite logits. Class 0 is a class like every other.
    """
    raise NotImplementedError("write masked_cross_entropy_forward")


def masked_cross_entropy_backward(
    dloss: float,
    logits: Float[ndarray, "*slots classes"],
    labels: Int[ndarray, "*slots"],
    weights: Float[ndarray, "*slots"],
) -> Float[ndarray, "*slots classes"]:
    """The gradient for the logits, given the gradient `dloss` for the loss that the forward gave.

    It has the type of the logits, and is zero where the weight is zero.
    """
    raise NotImplementedError("write masked_cross_entropy_backward")
