"""Masked cross-entropy: a weighted mean, in which the weights alone say what counts."""

import math

import numpy as np
import pytest

from autograder import checks
from bert_numpy import operations

SHAPES = [(2, 3, 5), (1, 4, 7), (4, 1, 2), (3, 3, 3), (6, 2), (1, 1, 1)]  # slots, then classes


def case(shape, *, seed=3, dtype=np.float64):
    """Logits at random; labels, of which some are 0; weights of 0, 1 and a half."""
    rng = np.random.default_rng([seed, *shape])
    logits = (2 * rng.normal(size=shape)).astype(dtype)
    labels = rng.integers(0, shape[-1], shape[:-1])
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], shape[:-1]).astype(dtype)
    labels.flat[0], weights.flat[0], weights.flat[-1] = 0, 1, 0.5
    if labels.size > 2:  # one slot is not used; it holds label 0, as in the course's batches
        labels.flat[1] = weights.flat[1] = 0
    return logits, labels, weights


def chapter(logits, labels, weights):
    """The chapter's functions, which want rows, and are told what to divide by."""
    rows = logits.astype(np.float64).reshape(-1, logits.shape[-1])
    flat = weights.astype(np.float64).ravel()
    return operations.cross_entropy_forward(rows, labels.ravel(), flat, float(flat.sum()))


def loss_of(*inputs):
    return chapter(*inputs)[0]


def gradient_of(dloss, logits, labels, weights):
    cache = chapter(logits, labels, weights)[1]
    gradient = dloss * operations.cross_entropy_backward(cache).reshape(logits.shape)
    return gradient.astype(logits.dtype)


def surprises(logits, labels):
    shifted = logits - logits.max(-1, keepdims=True)
    right = np.take_along_axis(shifted, labels[..., None], -1)[..., 0]
    return np.log(np.exp(shifted).sum(-1)) - right


def loss_mistakes(logits, labels, weights):
    each, total = surprises(logits, labels), weights.sum()
    known = weights * (labels != 0)
    by_row = (each * weights).sum(-1) / np.maximum(weights.sum(-1), 1e-300)
    first = np.exp(logits)
    return {
        "the weights are not used: this is the mean over all slots": each.mean(),
        "the mean over all slots, multiplied by the weights: it has already mixed in the slots "
        "that do not count, so the mask does nothing": lambda out: any(
            near(out, wrong) for wrong in ((each.mean() * weights).sum() / total,
                                           each.mean() * weights.mean())),
        "the sum is divided by the number of slots, not by the sum of the weights": (
            (each * weights).sum() / weights.size),
        "the sum is not divided by the sum of the weights": (each * weights).sum(),
        "the sum is divided by the number of slots that count, not by the sum of their weights": (
            (each * weights).sum() / (weights > 0).sum()),
        "weights are only asked whether they are 0: a half counts half": (
            each[weights > 0].mean()),
        "label 0 is ignored (ignore_index=0): class 0 is a class like every other, and the weights "
        "say what counts": lambda out: any(
            near(out, wrong) for wrong in ((each * known).sum() / known.sum(),
                                           (each * known).sum() / total,
                                           each[labels != 0].mean())),
        "the mean of the means of the rows: a slot in a row with few masks weighs more": (
            by_row.mean()),
        "something is added to the sum of the weights (1e-5, as in the released code): with all "
        "weights 0 return 0 instead": (each * weights).sum() / (total + 1e-5),
        "the sign is wrong: the loss is minus the logarithm": -(each * weights).sum() / total,
        "the logarithm has base 2: a nat is that of base e": (
            (each * weights).sum() / total / math.log(2)),
        "the logits are taken for log-probabilities: the softmax is missing": (
            -(np.take_along_axis(logits, labels[..., None], -1)[..., 0] * weights).sum() / total),
        "the softmax runs over all slots, not over the classes of each": (
            ((np.log(first.sum()) - np.log(np.take_along_axis(first, labels[..., None], -1)[..., 0])
              ) * weights).sum() / total),
    }  # fmt: skip


def near(out, wrong):
    return not checks.difference(out, float(wrong), "", None)


@pytest.mark.weight(3)
def test_the_loss_is_the_weighted_mean_of_the_surprise(student):
    for shape in SHAPES:
        inputs = case(shape)
        checks.same(
            student.masked_cross_entropy_forward(*inputs),
            loss_of(*inputs),
            of="the loss",
            mistakes=loss_mistakes(*inputs),
        )


@pytest.mark.weight(2)
def test_class_0_counts_and_slots_of_weight_0_do_not(student):
    logits, labels, weights = case((5, 2), seed=4)  # next sentence: 0 is IsNext
    weights[:] = 1
    for answers in (np.array([0, 1, 0, 0, 1]), np.zeros(5, np.int64)):
        inputs = logits, answers, weights
        checks.same(
            student.masked_cross_entropy_forward(*inputs),
            loss_of(*inputs),
            of="the loss of the next-sentence task",
            mistakes={
                "label 0 is ignored (ignore_index=0), where it means IsNext": (
                    lambda out: out in (0.0, 0) or out != out
                ),
                **loss_mistakes(*inputs),
            },
        )
    logits, labels, weights = case((3, 4, 6), seed=5)
    unused = weights == 0
    other = np.where(unused[..., None], 40 * logits[::-1], logits)
    checks.same(
        student.masked_cross_entropy_forward(other, np.where(unused, 5, labels), weights),
        loss_of(logits, labels, weights),
        of="the loss after slots of weight 0 were changed",
        mistakes=loss_mistakes(other, np.where(unused, 5, labels), weights),
    )


@pytest.mark.weight(2)
def test_a_batch_without_any_weight_gives_zero(student):
    for shape in ((2, 3, 5), (1, 1, 2)):
        logits, labels, weights = case(shape)
        named = {"0 / 0: without weights the loss is 0, and so is its gradient": (
            lambda out: bool(np.isnan(out).any()))}  # fmt: skip
        inputs = logits, labels, np.zeros_like(weights)
        checks.same(
            student.masked_cross_entropy_forward(*inputs), 0.0, of="the loss", mistakes=named
        )
        checks.same(
            student.masked_cross_entropy_backward(1.5, *inputs), np.zeros_like(logits),
            of="the gradient", mistakes=named,
        )  # fmt: skip


@pytest.mark.weight(2)
def test_huge_and_tiny_logits_give_finite_losses_and_gradients(student):
    logits, labels, weights = case((3, 4, 5), seed=6)
    for scale in (1e4, 1e200, 1e-12):
        inputs = logits * scale, labels, weights
        named = {"exp overflows, or the logarithm of 0 is taken: take the largest logit of each "
                 "slot off first, and never take the logarithm of a share": (
                     lambda out: not np.isfinite(out).all()),
                 "something is added inside the logarithm, against ln 0, and bounds the loss": (
                     lambda out, scale=scale: scale > 1 and bool(0 < out < 100))}  # fmt: skip
        checks.same(
            student.masked_cross_entropy_forward(*inputs), loss_of(*inputs),
            of=f"the loss of logits times {scale:g}", mistakes=named,
        )  # fmt: skip
        checks.same(
            student.masked_cross_entropy_backward(0.7, *inputs), gradient_of(0.7, *inputs),
            of=f"the gradient of logits times {scale:g}", mistakes=named,
        )  # fmt: skip


@pytest.mark.weight(4)
def test_the_backward_gives_the_gradient_of_the_logits(student):
    rng = np.random.default_rng(7)
    for shape in SHAPES:
        logits, labels, weights = inputs = case(shape)
        for dloss in (float(rng.normal()), -2.5):
            right = gradient_of(dloss, *inputs)
            probs = np.exp(logits - logits.max(-1, keepdims=True))
            probs /= probs.sum(-1, keepdims=True)
            onehot = np.eye(shape[-1])[labels]
            w, total = weights[..., None] * dloss, weights.sum()
            unused = labels != 0
            checks.same(
                student.masked_cross_entropy_backward(dloss, *inputs),
                right,
                of="the gradient",
                mistakes={
                    "dloss is not used: the loss may be one part of a sum": right / dloss,
                    "the one-hot is missing: softmax - onehot(label)": probs * w / total,
                    "the sign is wrong: softmax - onehot(label), not the other way about": -right,
                    "the one-hot is not multiplied by the weight": (
                        (probs * w - onehot * dloss) / total
                    ),
                    "the weights are not used on the way back": (
                        (probs - onehot) * dloss / weights.size
                    ),
                    "the weights are only in the divisor: a slot of weight 0 gets no gradient": (
                        (probs - onehot) * dloss / total
                    ),
                    "divided by the number of slots, not by the sum of the weights": (
                        (probs - onehot) * w / weights.size
                    ),
                    "not divided by the sum of the weights": (probs - onehot) * w,
                    "divided by the number of slots that count, not by the sum of their weights": (
                        (probs - onehot) * w / (weights > 0).sum()
                    ),
                    "label 0 is ignored (ignore_index=0) on the way back": right
                    * unused[..., None],
                    "something is added to the sum of the weights on the way back": (
                        (probs - onehot) * w / (total + 1e-5)
                    ),
                    "the softmax's own backward is applied once more: p (d - Σ d p)": (
                        probs * (right - (right * probs).sum(-1, keepdims=True))
                    ),
                },
            )


def test_any_type_and_gaps_in_memory_are_fine(student):
    for dtype in (np.float32, np.float64):
        logits, labels, weights = case((4, 6, 8), dtype=dtype, seed=8)
        gaps = logits[:, ::2, ::2], labels[:, ::2] % 4, weights[:, ::2]
        for inputs in ((logits, labels, weights), (logits, labels.astype(np.int32), weights), gaps):
            tolerance = 1e-5 if dtype is np.float32 else None
            checks.same(
                student.masked_cross_entropy_forward(*inputs), loss_of(*inputs), of="the loss",
                tolerance=tolerance,
            )  # fmt: skip
            checks.same(
                student.masked_cross_entropy_backward(0.7, *inputs),
                gradient_of(0.7, *inputs),
                of="the gradient",
                mistakes={
                    "the gradient is always float64: keep the type of the logits": (
                        lambda out, dtype=dtype: out.dtype == np.float64 != dtype
                    )
                },
            )


def test_nothing_is_left_behind(student):
    inputs = case((2, 4, 5))
    checks.leaves_no_trace(student.masked_cross_entropy_forward, *inputs)
    checks.leaves_no_trace(student.masked_cross_entropy_backward, 0.7, *inputs)
