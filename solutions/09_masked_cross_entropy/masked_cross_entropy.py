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
    # begin solution
    # ln softmax(x)[label] = x[label] - max - ln Σ exp(x - max). The logarithm of a softmax that was
    # worked out first would be ln 0 = -inf, where the right answer is far below the best one.
    shifted = logits - logits.max(axis=-1, keepdims=True)
    right = np.take_along_axis(shifted, labels[..., None], axis=-1)[..., 0]  # (slots,)
    surprise = np.log(np.exp(shifted).sum(axis=-1)) - right  # (slots,): one number a slot
    # Which slots count, the weights say and nobody else: not the label (0 is a word, and 0 is "the
    # second sentence follows"), not the slot's place. Averaging first and multiplying then would
    # be too late: the mean has already mixed in the slots that nobody asked about.
    total = weights.sum()
    return float((surprise * weights).sum() / total) if total > 0 else 0.0
    # end solution


def masked_cross_entropy_backward(
    dloss: float,
    logits: Float[ndarray, "*slots classes"],
    labels: Int[ndarray, "*slots"],
    weights: Float[ndarray, "*slots"],
) -> Float[ndarray, "*slots classes"]:
    """The gradient for the logits, given the gradient `dloss` for the loss that the forward gave.

    It has the type of the logits, and is zero where the weight is zero.
    """
    # begin solution
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    dlogits = shifted / shifted.sum(axis=-1, keepdims=True)  # the shares, and soon the gradient
    # ∂(-ln softmax(x)[label])/∂x = softmax(x) - onehot(label): the right answer's share is one too
    # small, every other one too large by what it is.
    place = labels[..., None]
    share = np.take_along_axis(dlogits, place, axis=-1)
    np.put_along_axis(dlogits, place, share - 1, axis=-1)
    # A slot reached the loss by its weight over the sum of them. Without any, it reached nothing.
    total = weights.sum()
    scale = weights * (dloss / total) if total > 0 else np.zeros_like(weights)
    return (dlogits * scale[..., None]).astype(logits.dtype)
    # end solution


# begin solution
# Wrong answers that are common:
# - the mean over all slots, multiplied by the weights or their mean: the weights do nothing, or
#   the loss gets smaller the more slots stay unused;
# - the sum divided by the number of slots: rows with few masks then teach less than they should;
# - the mean of the means of the rows: a slot in a row with few masks weighs more;
# - "label 0 means padding": right for words where 0 is [PAD], and the same function called for the
#   next-sentence task, where 0 is IsNext, then never shows the model one of the two answers;
# - 1e-5 added to the sum of the weights, as the released code does against 0 / 0: every loss is a
#   little too small;
# - ln(softmax(x)): -inf for a word that the model has ruled out;
# - the one-hot taken off before the weights come in, and not multiplied by them.
# end solution
