"""Masked cross-entropy: a weighted mean, in which the weights alone say what counts."""

import math

import numpy as np
import pytest

from autograder import checks, sweep
from bert_numpy import operations

SHAPES = [(2, 3, 5), (1, 4, 7), (4, 1, 2), (3, 3, 3), (6, 2), (1, 1, 1), (1, 3), (3, 2, 2, 4),
          (2, 1, 2, 2, 3)]  # fmt: skip  # slots, then classes


def case(shape, *, seed=3, dtype=np.float64):
    """Logits at random; labels, of which some are 0; weights of 0, 1 and a half."""
    rng = checks.rng(seed, *shape)
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
    return operations.cross_entropy_forward(
        rows, labels.ravel().astype(int), flat, float(flat.sum())
    )


def loss_of(*inputs):
    return chapter(*inputs)[0]


def gradient_of(dloss, logits, labels, weights):
    cache = chapter(logits, labels, weights)[1]
    gradient = dloss * operations.cross_entropy_backward(cache).reshape(logits.shape)
    return gradient.astype(logits.dtype)


def surprises(logits, labels, *, keeps_axis=False):
    shifted = logits - logits.max(-1, keepdims=True)
    right = np.take_along_axis(shifted, labels[..., None], -1)
    return np.log(np.exp(shifted).sum(-1)) - (right if keeps_axis else right[..., 0])


def loss_mistakes(logits, labels, weights):
    each, total = surprises(logits, labels), weights.sum()
    known = weights * (labels != 0)
    by_row = (each * weights).sum(-1) / np.maximum(weights.sum(-1), 1e-300)
    first = np.exp(logits)
    return {
        **divisor_mistakes((each * weights).sum(), total),  # first: they change small sums alone
        # With one axis of slots this stops nothing: (n,) minus (n, 1) is (n, n).
        "the logit of the label keeps an axis of length 1, so each slot meets the labels of all: "
        "take [..., 0]": () if labels.ndim != 1 else (
            (surprises(logits, labels, keeps_axis=True) * weights).sum() / total),
        "the surprise keeps an axis of length 1, so each slot is multiplied by all weights: take "
        "[..., 0]": each.sum() if labels.ndim == 1 and len(labels) > 1 else (),
        "the weights are not used: this is the mean over all slots": each.mean(),
        "the mean over all slots is multiplied by the weights: it contains the slots that do not "
        "count, so the mask does nothing": one_of((each.mean() * weights).sum() / total,
                                                  each.mean() * weights.mean()),
        "the sum is divided by the number of slots, not by the sum of the weights": (
            (each * weights).sum() / weights.size),
        "the sum is not divided by the sum of the weights": (each * weights).sum(),
        "the sum is divided by the number of slots that count, not by the sum of their weights": (
            (each * weights).sum() / (weights > 0).sum()),
        "the weights are used as a mask: a weight of 0.5 counts half": each[weights > 0].mean(),
        "label 0 is ignored (ignore_index=0): class 0 is a class like every other, and the weights "
        "say what counts": one_of((each * known).sum() / known.sum(), (each * known).sum() / total,
                                  (each * (labels != 0)).sum() / max(1, (labels != 0).sum())),
        "the mean of the means of the rows: a slot in a row with few masks counts more": (
            by_row.mean()),
        "the sign is wrong: the loss is minus the logarithm": -(each * weights).sum() / total,
        "the logarithm has base 2: the natural one is asked for": (
            (each * weights).sum() / total / math.log(2)),
        "the logits are taken for log-probabilities: the softmax is missing": (
            -(np.take_along_axis(logits, labels[..., None], -1)[..., 0] * weights).sum() / total),
        "the softmax runs over all slots, not over the classes of each": (
            ((np.log(first.sum()) - np.log(np.take_along_axis(first, labels[..., None], -1)[..., 0])
              ) * weights).sum() / total),
    }  # fmt: skip


def divisor_mistakes(numerator, total):
    """Guards against 0 / 0 that change other results too."""
    return {
        "the divisor is at least 1: a sum of the weights below 1 divides like every other": (
            numerator / max(total, 1)),
        "something is added to the sum of the weights (as in the released code): with all "
        "weights 0 return 0 instead": one_of(
            *(numerator / (total + small) for small in (1e-5, 1e-6, 1e-8, 1e-9, 1e-10, 1e-12))),
    }  # fmt: skip


def one_of(*wrong):
    """Whether an answer is one of these; for numbers and for arrays."""
    return lambda out: any(not checks.difference(out, w, "", None) for w in wrong)


def gradient_mistakes(dloss, logits, labels, weights):
    right = gradient_of(dloss, logits, labels, weights)
    probs = np.exp(logits - logits.max(-1, keepdims=True))
    probs /= probs.sum(-1, keepdims=True)
    onehot = np.eye(logits.shape[-1])[labels]
    w, total = weights[..., None] * dloss, weights.sum()
    return {
        **{f"{name} (in the backward)": wrong
           for name, wrong in divisor_mistakes((probs - onehot) * w, total).items()},
        "dloss is not used: the loss may be one part of a sum": right / dloss,
        "the one-hot is missing: softmax - onehot(label)": probs * w / total,
        "the sign is wrong: softmax - onehot(label), not the other way about": -right,
        "the one-hot is not multiplied by the weight": (probs * w - onehot * dloss) / total,
        "the weights are not used in the backward": (probs - onehot) * dloss / weights.size,
        "the weights are only in the divisor: a slot of weight 0 gets no gradient": (
            (probs - onehot) * dloss / total),
        "divided by the number of slots, not by the sum of the weights": (
            (probs - onehot) * w / weights.size),
        "not divided by the sum of the weights": (probs - onehot) * w,
        "divided by the number of slots that count, not by the sum of their weights": (
            (probs - onehot) * w / (weights > 0).sum()),
        "label 0 is ignored (ignore_index=0) in the backward": right * (labels != 0)[..., None],
        "the softmax's own backward is applied once more: p (d - Σ d p)": (
            probs * (right - (right * probs).sum(-1, keepdims=True))),
    }  # fmt: skip


def both_are_right(student, inputs, *, dloss=0.7, of="", tolerance=None):
    """The loss and its gradient."""
    checks.same(
        student.masked_cross_entropy_forward(*inputs),
        loss_of(*inputs),
        of=f"the loss{of}",
        mistakes=lambda: loss_mistakes(*inputs),
        tolerance=tolerance,
    )
    checks.same(
        student.masked_cross_entropy_backward(dloss, *inputs),
        gradient_of(dloss, *inputs),
        of=f"the gradient{of}",
        mistakes=lambda: gradient_mistakes(dloss, *inputs),
        tolerance=tolerance,
    )


def test_the_numbers_of_the_page_come_out(student):
    inputs = (np.array([[0.0, 0], [2, 0], [0, 5]]), np.array([0, 0, 0]), np.array([1.0, 1, 0]))
    named = {name: wrong for name, wrong in loss_mistakes(*inputs).items() if not callable(wrong)}
    checks.same(student.masked_cross_entropy_forward(*inputs), 0.4100, of="the loss",
                mistakes=named, tolerance=1e-4)  # fmt: skip
    checks.same(
        student.masked_cross_entropy_backward(1.0, *inputs),
        np.array([[-0.25, 0.25], [-0.0596, 0.0596], [0, 0]]),
        of="dlogits",
        mistakes=lambda: gradient_mistakes(1.0, *inputs),
        tolerance=1e-4,
    )


@pytest.mark.hint(3)
@pytest.mark.weight(3)
def test_the_loss_is_the_weighted_mean_of_the_surprise(student):
    for shape in SHAPES:
        inputs = case(shape)
        checks.same(
            student.masked_cross_entropy_forward(*inputs),
            loss_of(*inputs),
            of="the loss",
            mistakes=lambda: loss_mistakes(*inputs),
        )


@pytest.mark.hint(2)
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
            mistakes=lambda: loss_mistakes(*inputs),
        )
    logits, labels, weights = case((3, 4, 6), seed=5)
    unused = weights == 0
    other = np.where(unused[..., None], 40 * logits[::-1], logits)
    checks.same(
        student.masked_cross_entropy_forward(other, np.where(unused, 5, labels), weights),
        loss_of(logits, labels, weights),
        of="the loss after slots of weight 0 were changed",
        mistakes=lambda: loss_mistakes(other, np.where(unused, 5, labels), weights),
    )


@pytest.mark.hint(3)
@pytest.mark.weight(2)
def test_a_small_sum_of_weights_divides_like_every_other(student):
    rng = checks.rng(9)
    # First weights of which no two ways to divide give the same.
    for several in (
        [0.5, 2, 0, 1],
        [0.5, 0.125, 0, 0.25],
        [0.5],
        [0.25],
        [1],
        [1e-3, 0],
        [1e-9, 0],
    ):
        weights = np.array(several, np.float64)
        logits = 2 * rng.normal(size=(len(several), 3))
        inputs = logits, rng.integers(1, 3, len(several)), weights
        of, none = f" for weights {several}", "a small sum of the weights is taken for 0"
        checks.same(
            student.masked_cross_entropy_forward(*inputs), loss_of(*inputs), of=f"the loss{of}",
            mistakes=lambda: {none: 0.0, **loss_mistakes(*inputs)},
        )  # fmt: skip
        checks.same(
            student.masked_cross_entropy_backward(0.7, *inputs), gradient_of(0.7, *inputs),
            of=f"the gradient{of}",
            mistakes=lambda: {none: np.zeros_like(logits), **gradient_mistakes(0.7, *inputs)},
        )  # fmt: skip
    logits, labels = rng.normal(size=(2, 3)).astype(np.float32), rng.integers(1, 3, 2)
    inputs, right = (logits, labels, np.array([1e-60, 3e-60])), (logits, labels, np.array([1.0, 3]))
    of = "for float32 logits and float64 weights of 1e-60"
    cast = "the weights lose what float32 cannot hold: they keep their own type"
    checks.same(student.masked_cross_entropy_forward(*inputs), loss_of(*right), of=f"the loss {of}",
                tolerance=1e-5, mistakes={cast: 0.0})  # fmt: skip
    checks.same(student.masked_cross_entropy_backward(0.7, *inputs), gradient_of(0.7, *right),
                of=f"the gradient {of}", mistakes={cast: 0 * logits})  # fmt: skip


@pytest.mark.hint(3)
@pytest.mark.weight(2)
def test_a_batch_without_any_weight_or_any_slot_gives_zero(student):
    for shape in ((2, 3, 5), (1, 1, 2), (0, 4), (2, 0, 3)):
        rng = checks.rng(3)
        logits, labels = rng.normal(size=shape), rng.integers(0, shape[-1], shape[:-1])
        inputs = logits, labels, np.zeros(labels.shape)
        named = {"0 / 0: without weights the loss is 0, and so is its gradient": (
            lambda out: np.size(out) > 0 and bool(np.isnan(out).all()))}  # fmt: skip
        checks.same(
            student.masked_cross_entropy_forward(*inputs), 0.0,
            of=f"the loss of slots {shape[:-1]} without weight", mistakes=named
        )  # fmt: skip
        checks.same(
            student.masked_cross_entropy_backward(1.5, *inputs), np.zeros_like(logits),
            of=f"the gradient of slots {shape[:-1]} without weight", mistakes=named,
        )  # fmt: skip
        single = logits.astype(np.float32)
        checks.same(
            student.masked_cross_entropy_backward(1.5, single, *inputs[1:]), 0 * single,
            of=f"the float32 gradient of slots {shape[:-1]} without weight", mistakes=named,
        )  # fmt: skip
    logits, labels, weights = case((3, 4, 5), seed=24)
    alike = "the result for logits or labels of this kind is given before the weights are read"
    for of, x, y in (
        ("that are all 0", 0 * logits, labels), ("that are all 3", 0 * logits + 3, labels),
        ("alike in each slot", logits[..., :1] + 0 * logits, labels),
        ("that are largest at the labels", logits, logits.argmax(-1)),
        ("of which one is far above the others", 1e4 * logits, logits.argmax(-1)),
        ("with labels of 0", logits, 0 * labels), ("of one class", logits[..., :1], 0 * labels),
    ):  # fmt: skip
        inputs = x, y, (0 * weights).astype(np.int64)
        checks.same(student.masked_cross_entropy_forward(*inputs), 0.0, mistakes={
            alike: lambda out: True}, of=f"the loss of logits {of}, without weight")  # fmt: skip
        checks.same(student.masked_cross_entropy_backward(1.5, *inputs), 0 * x, mistakes={
            alike: lambda out: True}, of=f"the gradient of logits {of}, without weight"
            )  # fmt: skip


@pytest.mark.hint(1)
@pytest.mark.weight(2)
def test_huge_and_tiny_logits_give_finite_losses_and_gradients(student):
    for dtype, classes, scales in (
        (np.float64, 5, (1, 1e4, 1e200, 1e-12)), (np.float32, 5, (1, 1e4, 1e30)),
        (np.float64, 2, (1, 1e4, 1e200)), (np.float32, 2, (1, 1e4)),
    ):  # fmt: skip
        logits, labels, weights = case((3, 4, classes), seed=6, dtype=dtype)
        for scale in scales:
            inputs = logits * dtype(scale), labels, weights
            of = f"logits of {classes} classes times {scale:g} ({dtype.__name__})"
            # At scale 1 first: what is wrong there is no matter of size.
            named = {} if scale == 1 else {
                "exp overflows, or the logarithm of 0 is taken: subtract the largest logit of each "
                "slot first, and never take the logarithm of a probability": (
                    lambda out: not np.isfinite(out).all()),
                "the loss has an upper bound: something is added inside the logarithm, or the "
                "probabilities are kept away from 0": (
                    lambda out, scale=scale: scale > 1 and bool(0 < out < 100))}  # fmt: skip
            checks.same(
                student.masked_cross_entropy_forward(*inputs), loss_of(*inputs),
                of=f"the loss of {of}", mistakes=named or loss_mistakes(*inputs),
                tolerance=1e-5 if dtype is np.float32 else None,
            )  # fmt: skip
            checks.same(
                student.masked_cross_entropy_backward(0.7, *inputs), gradient_of(0.7, *inputs),
                of=f"the gradient of {of}", mistakes=named or gradient_mistakes(0.7, *inputs),
            )  # fmt: skip
    check_probabilities_at_the_end_of_their_type(student)
    check_that_a_shift_changes_nothing(student)


def check_probabilities_at_the_end_of_their_type(student):
    """The label lies so far below the others that its probability is a number of few bits, or 0;
    of these several are equally large."""
    lost = ("where the probability is too small for a float, the logarithm of the sum is left out: "
            "several logits may be the largest")  # fmt: skip
    few_bits = "the logarithm of a probability that has lost most of its digits: take no logarithm"
    for dtype, distances in (
        (np.float64, (600, 707, 708, 709, 720, 740, 743, 744, 745, 746, 1000)),
        (np.float32, (60, 86, 87, 88, 90, 98, 102, 103, 104, 110, 1000)),
    ):  # fmt: skip
        for distance in distances:
            for ties in (1, 2, 4):
                row = np.full((1, 5), distance, dtype)
                row[0, ties:] = -1.5 * distance
                row[0, 4] = 0.0
                right = distance + np.log(ties)
                checks.same(
                    student.masked_cross_entropy_forward(row, np.array([4]), np.ones(1, dtype)),
                    right, tolerance=1e-9 if dtype is np.float64 else 1e-6,
                    of=f"the loss of a label {distance} below {ties} {dtype.__name__} logits of "
                    "equal size",
                    mistakes={lost: float(distance) if ties > 1 else (),
                              few_bits: lambda out, right=right: bool(abs(out - right) < 2)},
                )  # fmt: skip


def check_that_a_shift_changes_nothing(student):
    """All logits of a slot are shifted by one number, which costs none of their digits."""
    logits, labels, weights = case((6, 5, 4), seed=7)
    logits, shift = np.round(logits * 64) / 64, checks.rng(8).choice([-8192, 8192], (6, 5, 1))
    for dtype in (np.float32, np.float64):
        inputs = (logits + shift).astype(dtype), labels, weights
        of = f"{dtype.__name__} logits near 8192 and -8192"
        x, largest = inputs[0], inputs[0].max(-1, keepdims=True)
        log_sum = largest + np.log(np.exp(x - largest).sum(-1, keepdims=True))
        each = (log_sum - np.take_along_axis(x, labels[..., None], -1))[..., 0]
        p = np.exp(x - log_sum)
        p = (p - np.eye(4)[labels]) * 0.7 * weights[..., None] / weights.sum()
        likely = (
            "the largest logit is added to the logarithm of the sum and subtracted again, "
            "which costs digits: compute with the shifted logits alone"
        )
        checks.same(student.masked_cross_entropy_forward(*inputs),
                    loss_of(logits, labels, weights), of=f"the loss of {of}", tolerance=1e-5,
                    mistakes={likely: float((each * weights).sum() / weights.sum())})  # fmt: skip
        checks.same(student.masked_cross_entropy_backward(0.7, *inputs),
                    gradient_of(0.7, logits, labels, weights).astype(dtype),
                    of=f"the gradient of {of}", tolerance=1e-6,
                    mistakes={likely: p.astype(dtype)})  # fmt: skip
    # Slots of which one lies so far above the other that its largest logit does not serve both.
    logits, labels, weights = case((2, 4, 5), seed=26)
    logits = np.round(logits * 64) / 64
    for dtype, gaps in ((np.float32, (80, 88, 95, 101, 104)),
                        (np.float64, (700, 709, 725, 740, 746))):  # fmt: skip
        for gap in gaps:
            shifts = np.resize([0, gap], (2, 4, 1)) - (gap // 2)
            inputs = (logits + shifts).astype(dtype), labels, weights
            of = f"{dtype.__name__} logits of which every second slot lies {gap} above the others"
            likely = "one largest logit for several slots: what lies far below it loses its digits"
            checks.same(student.masked_cross_entropy_forward(*inputs),
                        loss_of(logits, labels, weights), of=f"the loss of {of}", tolerance=1e-5,
                        mistakes={likely: lambda out: True})  # fmt: skip
            checks.same(student.masked_cross_entropy_backward(0.7, *inputs),
                        gradient_of(0.7, logits, labels, weights).astype(dtype),
                        of=f"the gradient of {of}", tolerance=1e-5,
                        mistakes={likely: lambda out: True})  # fmt: skip
    # Nor where an exponential of the logits themselves would not overflow.
    likely = "the largest logit is not subtracted where none is large: always do it"
    for shift in (0, 30, 60):
        sure = np.float32([[shift + 12, shift]]), np.zeros(1, int), np.ones(1, np.float32)
        raw = np.log(np.exp(sure[0]).sum()) - sure[0][0, 0]
        checks.same(student.masked_cross_entropy_forward(*sure) * 2.0**17,
                    2.0**17 * np.log1p(np.exp(-12.0)), tolerance=0.05, mistakes={
                        likely: float(raw) * 2.0**17},
                    of=f"the float32 loss of [{shift + 12}, {shift}] for label 0, times 2 to the 17"
                    )  # fmt: skip
    for dtype, shift in ((np.float32, 79), (np.float64, 700)):  # one does not, their sum does
        logits = (shift + checks.rng(18).uniform(-1, 1, (2, 40_000))).astype(dtype)
        inputs = logits, np.array([39_999, 0]), np.ones(2, dtype)
        of = f"40,000 {dtype.__name__} logits near {shift}"
        checks.same(student.masked_cross_entropy_forward(*inputs), loss_of(*inputs),
                    of=f"the loss of {of}", tolerance=1e-4, mistakes={
                        likely: lambda out: not np.isfinite(out).all()})  # fmt: skip
        checks.same(student.masked_cross_entropy_backward(0.7, *inputs),
                    gradient_of(0.7, *inputs), of=f"the gradient of {of}", mistakes={
                        likely: lambda out: not np.any(out > 0)})  # fmt: skip


@pytest.mark.weight(4)
def test_the_backward_gives_the_gradient_of_the_logits(student):
    rng = checks.rng(7)
    for shape in SHAPES:
        inputs = case(shape)
        for dloss in (float(rng.normal()), -2.5):
            checks.same(
                student.masked_cross_entropy_backward(dloss, *inputs),
                gradient_of(dloss, *inputs),
                of="the gradient",
                mistakes=lambda: gradient_mistakes(dloss, *inputs),
            )


def test_arrays_with_gaps_and_any_type_of_label_are_fine(student):
    for dtype in (np.float32, np.float64):
        logits, labels, weights = case((4, 6, 8), dtype=dtype, seed=8)
        gaps = logits[:, ::2, ::2], labels[:, ::2] % 4, weights[:, ::2]
        tolerance = 1e-5 if dtype is np.float32 else None
        for inputs, of in (
            ((logits, labels, weights), ""),
            (gaps, " of arrays with gaps"),
            ((logits, labels.astype(np.int32), weights), " of int32 labels"),
        ):
            both_are_right(student, inputs, of=f"{of} ({dtype.__name__})",
                           tolerance=tolerance)  # fmt: skip


@pytest.mark.weight(2)
def test_the_gradient_has_the_type_of_the_logits_whatever_the_weights_are(student):
    for dtype, other in ((np.float32, np.float64), (np.float64, np.float32),
                         (np.float32, np.int64), (np.float64, np.int64),
                         (np.float64, np.uint8), (np.float16, np.float64)):  # fmt: skip
        logits, labels, weights = case((3, 4, 5), dtype=dtype, seed=10)
        inputs = logits, labels, np.ceil(weights).astype(other)
        of = f"{dtype.__name__} logits and {other.__name__} weights"
        single = 1e-5 if np.float32 in (dtype, other) else None
        single = 2e-2 if dtype is np.float16 else single
        checks.same(student.masked_cross_entropy_forward(*inputs), loss_of(*inputs),
                    of=f"the loss of {of}", mistakes=lambda: loss_mistakes(*inputs),
                    tolerance=single)  # fmt: skip
        right = gradient_of(0.7, *inputs)
        checks.same(
            student.masked_cross_entropy_backward(0.7, *inputs),
            right,
            of=f"the gradient of {of}",
            mistakes=lambda: {
                "the gradient takes the type of the weights, or is always float64 or float32: keep "
                "the type of the logits": lambda out, right=right, single=single: (
                    out.dtype != right.dtype
                    and not checks.difference(out.astype(right.dtype), right, "", single)
                ),
                **gradient_mistakes(0.7, *inputs),
            },
            tolerance=single,
        )  # fmt: skip
    check_sums_beyond_the_type_of_the_weights(student)


def check_sums_beyond_the_type_of_the_weights(student):
    logits, labels, _ = case((30, 40, 3), seed=12)
    weights = checks.rng(13).integers(1, 120, labels.shape)  # their sum is about 72,000
    for narrow in (np.int8, np.uint8, np.int16, np.uint16):
        weights[0] = np.iinfo(narrow).max
        inputs = logits, labels.astype(narrow), weights.astype(narrow)
        of = f"1,200 slots with weights and labels of type {narrow.__name__}"
        wrong = weights.sum() / weights.sum(dtype=narrow)
        likely = "the weights are added up in their own type, which is too narrow for the sum"
        right, gradient = loss_of(*inputs), gradient_of(0.7, *inputs)
        checks.same(student.masked_cross_entropy_forward(*inputs), right, of=f"the loss of {of}",
                    mistakes={likely: right * wrong})  # fmt: skip
        checks.same(student.masked_cross_entropy_backward(0.7, *inputs), gradient,
                    of=f"the gradient of {of}", mistakes={likely: gradient * wrong})  # fmt: skip
    rng, logits = checks.rng(25), np.array([[0.0, 9, 1], [3, 1, 0], [-2, 0, 1], [0, 0, 7]])
    for kind, largest in ((np.int32, 2**24), (np.int64, 2**24), (np.uint32, 2**24),
                          (np.float64, 2**24), (np.int32, 2**30), (np.uint32, 2**31)):  # fmt: skip
        weights = (largest + np.array([1, -3, 5, 1])).astype(kind)
        inputs = logits, rng.integers(0, 3, 4), weights
        of = f"{weights.dtype} weights near {largest:,} for float64 logits"
        likely = "the weights pass through float32, which has no odd numbers above 16,777,216"
        loss, gradient = loss_of(*inputs), gradient_of(0.7, *inputs)
        checks.same(student.masked_cross_entropy_forward(*inputs), loss, of=f"the loss for {of}",
                    mistakes={likely: lambda out, loss=loss: bool(abs(out - loss) < 1e-6)}
                    )  # fmt: skip
        checks.same(student.masked_cross_entropy_backward(0.7, *inputs), gradient,
                    of=f"the gradient for {of}", mistakes={
                        likely: lambda out, right=gradient: bool(np.abs(out - right).max() < 1e-6)}
                    )  # fmt: skip


def test_any_scale_of_weights_and_gradients_and_any_order_in_memory(student):
    """The gradient is linear in `dloss`, and does not change when all weights are scaled; a power
    of two changes no digit."""
    rng = checks.rng(3)
    logits, labels, weights = case((4, 3, 5))
    right = gradient_of(1.0, logits, labels, weights)
    for dloss in (2.0**-60, 2.0**60, -2.0):
        checks.same(
            student.masked_cross_entropy_backward(dloss, logits, labels, weights) / dloss, right,
            of=f"the gradient for dloss {dloss:.0e}, divided by it",
            mistakes={"tiny gradients are set to 0, or large ones are cut": (
                lambda out: bool(np.abs(out).max() < 1e-3))},
        )  # fmt: skip
    checks.same(student.masked_cross_entropy_backward(0.0, logits, labels, weights), 0 * right,
                of="the gradient for dloss 0", mistakes={"dloss=0 is taken for 1": right}
                )  # fmt: skip
    out = student.masked_cross_entropy_backward(np.float64(1), np.float32(logits), labels, weights)
    checks.same(out, gradient_of(1.0, np.float32(logits), labels, weights),
                of="the gradient of float32 logits for a dloss of NumPy's float64")  # fmt: skip
    for of, given, likely in (
        ("tiny weights", (logits, labels, weights * 2.0**-200),
         "a small sum of weights is taken for none"),
        ("arrays in Fortran's order", tuple(map(np.asfortranarray, (logits, labels, weights))),
         "a reshape of zeros_like is a copy there: what is written to it is lost"),
    ):  # fmt: skip
        none = {likely: lambda out: not np.any(out)}
        checks.same(student.masked_cross_entropy_forward(*given), loss_of(logits, labels, weights),
                    of=f"the loss, for {of}", mistakes=none)  # fmt: skip
        checks.same(student.masked_cross_entropy_backward(1.0, *given), right, mistakes=none,
                    of=f"the gradient, for {of}")  # fmt: skip
    for classes in (300, 40_000, 70_000):  # more than fit into 8 bits; than 15 bits; than 16
        end = 2 ** (classes.bit_length() - 1)  # where a block of classes may end
        labels = np.array([classes - 1, 256, 0, end, end - 1])
        wide = rng.normal(size=(5, classes)), labels, np.ones(5)
        few = {"the labels are kept in so few bits that large ones are taken for small ones": (
            lambda out, wide=wide: one_of(*(
                loss_of(wide[0], wide[1] % 2**bits, wide[2]) for bits in (8, 16)))(out))
        }  # fmt: skip
        checks.same(student.masked_cross_entropy_forward(*wide), loss_of(*wide),
                    of=f"the loss for {classes} classes", mistakes=few)  # fmt: skip
        checks.same(student.masked_cross_entropy_backward(1.0, *wide), gradient_of(1.0, *wide),
                    of=f"the gradient for {classes} classes")  # fmt: skip
    for integer, classes in ((np.int8, 300), (np.uint8, 300), (np.int16, 70_000),
                             (np.uint16, 70_000)):  # fmt: skip
        labels = np.array([0, 3, 100], integer)  # a type with room for these, not for all classes
        given = rng.normal(size=(3, classes)), labels, np.ones(3)
        of = f"{classes:,} classes and labels of type {integer.__name__}"
        likely = "the classes are counted in the type of the labels, which is too narrow for all"
        wrong = {likely: loss_by_narrow_classes(*given)}
        checks.same(student.masked_cross_entropy_forward(*given), loss_of(*given),
                    of=f"the loss for {of}", mistakes=wrong)  # fmt: skip
        checks.same(student.masked_cross_entropy_backward(1.0, *given), gradient_of(1.0, *given),
                    of=f"the gradient for {of}")  # fmt: skip
    sure = np.array([[21.0, 0.0]]), np.zeros(1, int), np.ones(1)
    checks.same(student.masked_cross_entropy_forward(*sure) * 2.0**30, 2.0**30 * np.log1p(
        np.exp(-21)), of="the loss of a logit 21 above the other, times 2 to the 30",
        tolerance=1e-4, mistakes={"probabilities are kept away from 1": 0.0})  # fmt: skip
    far = np.array([[0.0, -40.0, -60.0, -600.0]]), np.array([2]), np.ones(1)
    sweep.same_each(student.masked_cross_entropy_backward(1.0, *far), gradient_of(1.0, *far),
                    of="the gradient of logits 40 to 600 below the largest")  # fmt: skip
    for far in ([[36.0, 0.0]], [[0.0, -36.0, -300.0]]):  # that of the label is 0 up to rounding
        given = np.array(far), np.zeros(1, int), np.ones(1)
        out, right = student.masked_cross_entropy_backward(1.0, *given), gradient_of(1.0, *given)
        checks.same(out * 0, right * 0, of=f"the gradient of {far} (its shape and type)")
        sweep.same_each(out[:, 1:], right[:, 1:], of=f"the gradient of {far} for the label 0, "
                        "without that of the label")  # fmt: skip
    zeros, labels = np.zeros((2, 3, 5), np.float32), np.ones((2, 3), int)
    checks.same(student.masked_cross_entropy_backward(1.0, zeros, labels, zeros[..., 0]),
                zeros, of="the float32 gradient where all weights are 0")  # fmt: skip


def loss_by_narrow_classes(logits, labels, weights):
    """The loss where several classes have the number of the label, being counted in its type."""
    shifted = logits - logits.max(-1, keepdims=True)
    is_label = np.arange(logits.shape[-1]).astype(labels.dtype) == labels[..., None]
    right = np.where(is_label, shifted, 0).sum(-1)
    return ((np.log(np.exp(shifted).sum(-1)) - right) * weights).sum() / weights.sum()


def test_arrays_of_any_shape_and_size(student):
    draw = sweep.Draw(11)
    shapes = [draw.shape(axes) for axes in (2, 3, 4, 5, 6, 7) for _ in range(4)]
    shapes += [*sweep.long_axes((2, 1, 3)), (1, 70_001), (5_003, 1)]

    def cases(*, is_backward):
        for number, shape in enumerate(shapes):
            dtype = np.float32 if number % 4 == 1 and np.prod(shape) < 5000 else np.float64
            logits = draw.floats(*shape, dtype=dtype)
            labels = draw.ids(
                *shape[:-1],
                entries=shape[-1],
                dtype=draw.rng.choice(["int64", "int32"] + ["int16", "uint8"] * (shape[-1] < 200)),
            )
            weights = draw.rng.choice([0, 0.25, 1, 3, 1e3, 1e-6], shape[:-1])
            weights *= 10.0 ** draw.rng.integers(-20, 20)
            weights.flat[draw.rng.integers(weights.size)] = 1.0
            weights = weights.astype(draw.rng.choice(["float64", "float32"]))
            if number % 7 == 3:
                weights = draw.ids(*shape[:-1], entries=[2, 70_000][number % 2])
                weights.flat[-1] = 1
            given = logits, labels, weights
            of = f"{np.dtype(dtype)} logits of shape {shape}, {weights.dtype} weights"
            magnitude = 1e-6 * float(np.abs(logits).max())  # a loss near 0 is their difference
            if is_backward:
                dloss = float(draw.rng.normal() * 10.0 ** draw.rng.integers(-15, 15))
                # A probability near 1 less 1 is as exact as the two are.
                magnitude = abs(dloss) * float(weights.max() / weights.sum())
                given = dloss, *given
            yield sweep.Case(of, given, magnitude=magnitude)

    many = case((131, 257, 2))
    sweep.same(student.masked_cross_entropy_forward(*many), loss_of(*many),
               of="the loss of 33,667 slots")  # fmt: skip
    sweep.same(student.masked_cross_entropy_backward(1e5, *many), gradient_of(1e5, *many),
               of="the gradient of 33,667 slots")  # fmt: skip
    far = np.zeros((1, 120_000), np.float32)
    far[0, 7] = 17  # each other class has 4e-8, all of them together 0.005
    loss = float(student.masked_cross_entropy_forward(far, np.array([7]), np.ones(1, np.float32)))
    checks.that(
        0.003 < loss < 0.007,
        f"float32, 120,000 classes, the label 17 above the others: "
        f"expected a loss of 0.00497, got {loss:.5f}",
        likely="what is small beside the largest is left out: there is much of it",
    )
    wide = np.zeros((1, 120_000))
    wide[0, 5] = 28
    loss = float(student.masked_cross_entropy_forward(wide, np.array([5]), np.ones(1)))
    checks.that(
        abs(loss / 8.297e-8 - 1) < 0.1,
        f"float64, 120,000 classes, the label 28 above the others: expected a loss of 8.3e-08, got "
        f"{loss:.2e}",
        likely="what is small beside the largest is left out: there is much of it",
    )
    sweep.agrees(student.masked_cross_entropy_forward, loss_of, cases(is_backward=False))
    sweep.agrees(student.masked_cross_entropy_backward, gradient_of, cases(is_backward=True))
    rng = checks.rng(40)
    few = rng.normal(size=(1, 7, 30_522)).astype(np.float32)
    labels, weights = rng.integers(0, 30_522, (1, 35)), rng.choice([0.5, 0, 2], (1, 35))
    whole = [(np.tile(few, (1, 5, 1)), labels, weights.astype(np.float32))]  # more than a million
    whole.append(tuple(np.flip(array, 1).copy() for array in whole[0]))
    of = "35 masks and the words of BERT base"
    sweep.agrees(student.masked_cross_entropy_backward, gradient_of,
                 [sweep.Case(of, (1.0, *given)) for given in whole])  # fmt: skip
    check_millions_of_logits(student)
    check_special_arrays(student)


def check_millions_of_logits(student):
    """More than four million, of seven slots again and again, whose labels and weights differ."""
    rng = checks.rng(27)
    seven = rng.normal(size=(7, 30_522)).astype(np.float32)
    labels, weights = rng.integers(0, 30_522, (2, 70)), np.float32(rng.integers(0, 3, (2, 70)))
    weights[1, -10:] = 9  # of a second block of four million they count most
    ends = 2 ** np.arange(7, 15)  # where a block of classes may end and the next begin
    labels[0, :16], weights[0, :16] = [*ends, *(ends - 1)], 1
    ends = np.arange(1_000, 30_522, 1_000)
    labels[1, :60], weights[1, :60] = np.r_[ends, ends - 1], 1
    logits = np.tile(seven, (20, 1))
    largest = seven.max(-1).astype(np.float64)
    log_sum = largest + np.log(np.exp(seven - largest[:, None]).sum(-1))
    at_label = logits[np.arange(140), labels.ravel()]
    each, share = np.tile(log_sum, 20) - at_label, weights.ravel() / weights.sum()
    given = logits.reshape(2, 70, 30_522), labels, weights
    of = "140 masks and the words of BERT base"
    checks.same(student.masked_cross_entropy_forward(*given), float((each * share).sum()),
                of=f"the loss of {of}", tolerance=1e-4)  # fmt: skip
    out = student.masked_cross_entropy_backward(1.0, *given)
    checks.that(np.shape(out) == given[0].shape, f"the gradient of {of} has another shape")
    # Of each slot the label and 50 other classes.
    rows, columns = np.arange(140)[:, None], np.arange(50) * 600
    found = np.reshape(out, (140, -1))
    columns = np.concatenate([labels.reshape(140, 1), np.tile(columns, (140, 1))], 1)
    probs = np.exp(logits[rows, columns] - np.tile(log_sum, 20)[:, None])
    right = (probs - (columns == labels.reshape(140, 1))) * share[:, None]
    is_used = share[:, None] > 0
    unit = np.where(is_used, np.abs(right), 1)
    checks.same(found[rows, columns] / unit, right / unit, tolerance=1e-3,
                of=f"the gradient of {of}, each number divided by what it should be")  # fmt: skip


# Round numbers, and axes that are equally long: slots, then classes.
ROUND = [(8, 8), (16, 16), (10, 12), (8, 3), (16, 6), (64, 2), (32, 10), (6, 6, 6),
         (8, 5, 16), (2, 64, 8), (4, 32, 4), (12, 10, 32), (16, 16, 3), (1, 8, 64), (10, 1, 8),
         (5, 5, 4)]  # fmt: skip


def special(x):
    """As `sweep.special` has them, but those of one sign; positive, in order, ones, and twos."""
    yield from [*sweep.special(x)][:-3]
    yield "positive", np.abs(x) + (x.dtype.kind == "f") / 8
    yield "rising along the last axis", np.sort(x, -1)
    yield "falling along the last axis", np.flip(np.sort(x, -1), -1)
    yield "rising from first to last", np.sort(x, None).reshape(x.shape)
    yield "1 everywhere", 0 * x + 1
    yield "2 everywhere", 0 * x + 2


def special_cases():
    """What is special, logits, labels and weights."""
    kinds = np.float64, np.float32, np.int32, np.int64, np.uint8, np.uint32, np.int16
    for number, shape in enumerate(ROUND):
        logits, labels, weights = case(shape, seed=20)
        weights = np.ceil(weights).astype(kinds[number % 7])
        yield f"{weights.dtype} weights and logits of shape {shape}", logits, labels, weights
    rng = checks.rng(21)
    for shape in ((3, 5, 6), (8, 8)):
        logits, labels, _ = case(shape, seed=22)
        weights = rng.uniform(0.25, 2, labels.shape)
        in_order = np.sort(logits, -1)
        tied = np.where(logits == in_order[..., -2:-1], in_order[..., -1:], logits)
        more = [("negative", -1 - np.abs(logits)), ("the largest twice in each slot", tied),
                ("balanced: they add up to 0 along every axis", balanced(logits))]  # fmt: skip
        for what, array in (*special(logits), *more):
            yield f"logits that are {what}", array, labels, weights
        more = [("those of the largest logits", logits.argmax(-1)), ("0", 0 * labels),
                ("those of the smallest logits", logits.argmin(-1)),
                ("the last", 0 * labels + shape[-1] - 1),
                ("one after the other", np.arange(labels.size).reshape(labels.shape) % shape[-1]),
                ("each another", rng.permutation(labels.size).reshape(labels.shape) % shape[-1])
                ]  # fmt: skip
        for what, array in (*special(labels), *more):
            yield f"labels that are {what}", logits, array, weights
        place = np.arange(weights.size).reshape(weights.shape)
        more = [("of mean 1", 1 + balanced(weights) / 8),
                ("0 but in one slot", weights * (place == 4)),
                ("0 but in two slots", weights * (place % 7 == 4) * (place < 14))]  # fmt: skip
        for number, (what, array) in enumerate((*special(weights), *more)):
            whole = np.ceil(2 * array).astype(kinds[number % 7])
            yield f"weights that are {what}", logits, labels, array
            yield f"{whole.dtype} weights that are {what}", logits, labels, whole

    # Of five rows those that a shortcut may compare are alike, and the others are not.
    logits, labels, _ = case((5, 4, 6), seed=28)
    weights, rows = checks.rng(29).uniform(0.25, 2, (5, 4)), [0, 1, 0, 2, 0]
    for names in (("logits",), ("labels",), ("weights",), ("logits", "labels"),
                  ("labels", "weights"), ("logits", "labels", "weights")):  # fmt: skip
        given = {"logits": logits, "labels": labels, "weights": weights}
        given |= {name: given[name][rows] for name in names}
        yield f"{' and '.join(names)} whose first, middle and last row are alike", *given.values()


def balanced(x):
    """Numbers of the size of `x` that add up to 0, without rounding, along each axis."""
    x = np.round(3 * x)
    for axis, length in enumerate(x.shape):
        x = length * x - x.sum(axis, keepdims=True)
    return x / 2.0 ** round(math.log2(3 * x.size))


def check_special_arrays(student):
    kinds = np.int64, np.int32, np.uint8, np.int8, np.uint32, np.int16, np.uint16
    forward, backward = student.masked_cross_entropy_forward, student.masked_cross_entropy_backward
    for number, (of, logits, labels, weights) in enumerate(special_cases()):
        logits = logits.astype(np.float32 if number % 3 == 1 else np.float64)
        labels, dloss = labels.astype(kinds[number % 7]), (0.7, -1.5, 3.0)[number % 3]
        inputs = {"logits": logits, "labels": labels, "weights": weights}
        args, named = ((), inputs) if number % 2 else (tuple(inputs.values()), {})
        of = f"{of}, {logits.dtype}"
        sweep.same(forward(*args, **named), loss_of(*inputs.values()), of=f"the loss for {of}",
                   magnitude=1.0, given=(logits, weights))  # fmt: skip
        args, named = ((), {"dloss": dloss} | inputs) if number % 2 else ((dloss, *args), {})
        sweep.same(backward(*args, **named), gradient_of(dloss, *inputs.values()),
                   of=f"the gradient for {of}", magnitude=1.0, given=(logits, weights))  # fmt: skip


def check_that_numbers_in_another_shape_are_other_numbers(student):
    """Calls one after the other whose arrays hold the same numbers."""
    logits, labels, weights = case((4, 3, 6), seed=14)
    for slots in ((4, 3), (12,), (2, 6), (1, 3, 4)):
        inputs = logits.reshape(*slots, 6), labels.reshape(slots), weights.reshape(slots)
        both_are_right(student, inputs, of=f" of the same numbers for slots {slots}")
    inputs = logits.reshape(24, 3), np.tile(labels.ravel(), 2) % 3, np.tile(weights.ravel(), 2)
    both_are_right(student, inputs, of=" of the same logits for 3 classes, not 6")


def check_that_numbers_in_another_order_are_other_numbers(student):
    """Neither their sum nor both ends tell the difference."""
    logits, labels, weights = case((3, 4, 5), seed=30)
    arguments = {"logits": np.round(2 * logits), "labels": labels, "weights": weights}
    for name, first in arguments.items():
        turned = first.copy()
        turned.flat[1:-1] = first.flat[-2:0:-1]
        inputs = tuple((arguments | {name: turned}).values())
        of = f"after a forward with the numbers of {name} in another order"
        student.masked_cross_entropy_forward(**arguments)
        out = student.masked_cross_entropy_backward(0.7, *inputs)
        checks.same(out, gradient_of(0.7, *inputs), of=f"the gradient {of}", mistakes={
            "what is kept for the next call is found again by a sum, or by some of the numbers": (
                lambda out: True)})  # fmt: skip
        student.masked_cross_entropy_forward(**arguments)
        checks.same(student.masked_cross_entropy_forward(*inputs), loss_of(*inputs),
                    of=f"the loss {of}")  # fmt: skip


def test_nothing_is_left_behind(student):
    check_that_numbers_in_another_shape_are_other_numbers(student)
    check_that_numbers_in_another_order_are_other_numbers(student)
    logits, labels, weights = inputs = case((2, 4, 5))
    checks.leaves_no_trace(student.masked_cross_entropy_forward, *inputs)
    checks.leaves_no_trace(student.masked_cross_entropy_backward, 0.7, *inputs)
    # Before the backward the same arrays hold other values in a forward: last the logits alone.
    forward = ("masked_cross_entropy_forward", (),
               {"weights": weights, "labels": labels, "logits": logits})  # fmt: skip
    gradient = student.masked_cross_entropy_backward.trace(0.7, *inputs, before=forward).value
    checks.same(gradient, gradient_of(0.7, *inputs),
                of="the gradient after a forward in which the same arrays held other values",
                mistakes={"what the forward has computed is found again by the array, not by what "
                          "it holds": lambda out: True})  # fmt: skip
    logits, labels, weights = case((2, 3, 5))
    without = logits, labels, 0 * weights
    checks.leaves_no_trace(student.masked_cross_entropy_forward, *without)
    checks.leaves_no_trace(student.masked_cross_entropy_backward, 0.7, *without)
