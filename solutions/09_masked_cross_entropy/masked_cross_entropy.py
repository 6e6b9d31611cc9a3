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
    # begin solution
    total = weights.sum()
    if total == 0:
        return 0.0
    # ln softmax(x)[label] = x[label] - max - ln Σ exp(x - max). The logarithm of a softmax that is
    # computed first would be ln 0 = -inf for a class that is far below the best one.
    shifted = logits - logits.max(axis=-1, keepdims=True)
    is_label = np.arange(logits.shape[-1]) == labels[..., None]  # (slots, classes)
    right = np.where(is_label, shifted, 0).sum(axis=-1)  # (slots,)
    surprise = np.log(np.exp(shifted).sum(axis=-1)) - right  # (slots,): one number per slot
    # The weights alone say which slots count, not the label (0 is a word, and 0 is "the second
    # sentence follows") and not the slot's position. Averaging first and multiplying then would be
    # too late: the mean already contains the slots that do not count.
    return float((surprise * weights).sum() / total)
    # end solution


def masked_cross_entropy_backward(
    dloss: float,
    logits: Float[ndarray, "*slots classes"],
    labels: Int[ndarray, "*slots"],
    weights: Real[ndarray, "*slots"],
) -> Float[ndarray, "*slots classes"]:
    """The gradient for the logits, given the gradient `dloss` for the loss that the forward gave.

    It has the type of the logits, and is zero where the weight is zero.
    """
    # begin solution
    total = weights.sum()
    if total == 0:
        return np.zeros_like(logits)
    exp = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probs = exp / exp.sum(axis=-1, keepdims=True)
    # ∂(-ln softmax(x)[label])/∂x = softmax(x) - onehot(label): the logit of the label must rise,
    # and every other logit must fall by its probability.
    is_label = np.arange(logits.shape[-1]) == labels[..., None]
    # A slot contributes to the loss in proportion to its weight. The weights may be of another type
    # than the logits, so the type of the result must be set.
    scale = dloss * weights / total  # (slots,)
    return ((probs - is_label) * scale[..., None]).astype(logits.dtype)
    # end solution


# begin solution
# Wrong answers that are common:
# - the mean over all slots, multiplied by the weights or their mean: the weights do nothing, or
#   the loss gets smaller the more slots stay unused;
# - the sum divided by the number of slots: rows with few masks then teach less than they should;
# - the mean of the means of the rows: a slot in a row with few masks counts more;
# - "label 0 means padding": right for words where 0 is [PAD]. The same function, called for the
#   next-sentence task, where 0 is IsNext, then never shows the model one of the two answers;
# - 1e-5 added to the sum of the weights against 0 / 0, as in the released code, or a sum of at
#   least 1: the loss is too small, by half for one slot of weight 0.5;
# - ln(softmax(x)): -inf for a word that the model has excluded;
# - the one-hot subtracted after the multiplication by the weights, so that it has none.
# end solution
