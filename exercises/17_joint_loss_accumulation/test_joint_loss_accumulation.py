"""The joint loss, whole and in parts: whatever the parts, the gradient is that of the whole."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from autograder import checks, sweep
from autograder.student import StudentError
from bert_lowlevel import model as chapter

WORDS = "bert.embeddings.word_embeddings.weight"
# rows, tokens, slots, hidden, words: batch 1, odd and unequal, slots = words, rows = slots
SIZES = [(7, 5, 3, 4, 6), (1, 4, 2, 3, 5), (4, 6, 4, 2, 4), (5, 3, 1, 2, 3)]
# Where a word is all but certain, p - 1 is its rounding: below this, gradients say nothing.
ROUNDED = 1e-6


def small_bert(weights, batch):
    """As the starter has it."""
    vectors = F.embedding(batch["input_ids"], weights[WORDS])
    mean = vectors.mean(dim=1)
    states = torch.tanh(vectors + mean[:, None])
    places = batch["masked_lm_positions"][:, :, None]
    masked = states.gather(1, places.expand(-1, -1, states.shape[-1]))
    words = F.linear(masked, weights[WORDS], weights["cls.predictions.bias"])
    head = "cls.seq_relationship"
    return words, F.linear(mean, weights[f"{head}.weight"], weights[f"{head}.bias"])


def case(rows, seq, masks, hidden, vocab, *, dtype=torch.float64, seed=5, empty=True):
    """Weights and a batch with uneven masks: the first row has all, the second none (if `empty`).
    The ids at its first and last slot are the first and the last of the vocabulary."""
    generator = checks.generator(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=dtype)

    def whole(high, *shape):
        return torch.randint(high, shape, generator=generator)

    weights = {WORDS: normal(vocab, hidden), "cls.predictions.bias": normal(vocab),
               "cls.seq_relationship.weight": normal(2, hidden),
               "cls.seq_relationship.bias": normal(2)}  # fmt: skip
    mask_weights = torch.tensor([0.0, 0.5, 1.0])[whole(3, rows, masks)]
    mask_weights[0] = 1
    if rows > 1:
        mask_weights[1] = 0
    if not empty:
        mask_weights[:, 0] = 1
    ids, pairs = whole(vocab, rows, masks), whole(2, rows)
    # Neither the given model nor the losses read which tokens are padding.
    ends = torch.randint(seq, (rows, 1), generator=checks.generator(500 + seed))
    mask_weights[-1, -1], ids[-1, -1] = 1, vocab - 1
    ids[0, 0] = pairs[0] = 0  # both 0, and both count
    batch = {"input_ids": whole(vocab, rows, seq), "token_type_ids": whole(2, rows, seq),
             "attention_mask": (torch.arange(seq) <= ends).long(),
             "masked_lm_positions": whole(seq, rows, masks), "masked_lm_ids": ids,
             "masked_lm_weights": mask_weights.to(dtype), "next_sentence_labels": pairs,
             "example_index": 2**40 + torch.arange(rows)}  # fmt: skip
    return weights, batch


def right_losses(words, pairs, batch, **counts):
    if "pair_count" in counts:
        counts["pair_count"] = int(counts["pair_count"])
    if isinstance(counts.get("mask_count"), np.generic):
        counts["mask_count"] = float(counts["mask_count"])
    return tuple(chapter.pretraining_losses(chapter.Logits(words, pairs), batch, **counts))


def parts_of(batch, rows):
    size = len(batch["input_ids"])
    return [{n: t[i : i + rows] for n, t in batch.items()} for i in range(0, size, rows)]


def gradients_of(weights, loss):
    """Of `loss(leaves)` for every weight; zeros where nothing arrives."""
    leaves = {name: weight.clone().requires_grad_() for name, weight in weights.items()}
    total = loss(leaves)
    if not total.requires_grad:
        return {name: torch.zeros_like(weight) for name, weight in weights.items()}
    found = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
    return {name: torch.zeros_like(weight) if g is None else g
            for (name, weight), g in zip(weights.items(), found, strict=True)}  # fmt: skip


def whole_loss(batch, **counts):
    return lambda leaves: sum(right_losses(*small_bert(leaves, batch), batch, **counts))


def mlm_mistakes(words, batch, count=None):
    weights, ids = batch["masked_lm_weights"], batch["masked_lm_ids"]
    each = F.cross_entropy(words.flatten(0, 1), ids.flatten(), reduction="none").view(ids.shape)
    total, known, used = weights.sum(), weights * (ids != 0), weights > 0
    right = (each * weights).sum()
    by_row = (each * weights).sum(1) / weights.sum(1).clamp(min=1e-300)

    def near(*wrong):
        return lambda out: any(not checks.difference(out, w, "", None) for w in wrong)

    found = {
        "the mean over all slots, multiplied by the weights: the empty slots are mixed in already, "
        "and the mask does nothing": near(
            each.mean(), (each.mean() * weights).sum() / total, each.mean() * weights.mean()),
        "the MLM loss is divided by the slots, not by the sum of the weights": near(
            right / weights.numel()),
        "the MLM loss is not divided": near(right),
        "divided by the rows, not by the masks": near(right / len(ids)),
        "divided by the number of used slots: a weight of a half counts half": near(
            right / used.sum(), each[used].mean()),
        "label 0 is ignored (ignore_index=0) in the MLM loss: the weights say what counts": near(
            (each * known).sum() / total, (each * known).sum() / known.sum(),
            each[ids != 0].mean(), (each * known).sum() / (ids != 0).sum()),
        "the mean of the rows' means: a mask in a row with few of them weighs more": near(
            by_row.mean()),
        "something is added to the sum of the weights": near(right / (total + 1e-5)),
        "the last id of the vocabulary is ignored: the weights say what counts": near(
            (each * weights * (ids < words.shape[-1] - 1)).sum() / total),
    }  # fmt: skip
    if 0 < total < 1 and count is None:
        found = {"the sum of the weights is raised to 1: it may be less than 1": near(right)}
    if not weights.any(1).all() and total > 0:
        found["0 / 0: the loss of a row without masks was divided by its own weights"] = (
            lambda out: count is None and bool(out.isnan()))  # fmt: skip
    if count is not None:
        found = {"mask_count is not used: this part divides by its own masks": near(right / total),
                 **found}  # fmt: skip
    if count is not None and count < 1:
        found = {"mask_count is raised to 1: it may be less than 1": near(right), **found}
    return found


def nsp_mistakes(pairs, batch, count=None):
    labels = batch["next_sentence_labels"]
    each = F.cross_entropy(pairs, labels, reduction="none")
    known = (labels != 0).to(each.dtype)

    def near(*wrong):
        return lambda out: any(not checks.difference(out, w, "", None) for w in wrong)

    size = len(labels) if count is None else count
    found = {
        "label 0 is ignored (ignore_index=0) in the NSP loss, where it means IsNext: one class "
        "gets no gradient": lambda out: bool(out.isnan()) or near(
            (each * known).sum() / size, (each * known).sum() / known.sum().clamp(min=1))(out),
        "the labels of NSP are turned round: 0 = IsNext, as they come": near(
            F.cross_entropy(pairs, 1 - labels, reduction="sum") / size),
        "the NSP loss is not divided by the number of pairs": near(each.sum()),
        "the NSP loss is divided by the masks": near(
            each.sum() / batch["masked_lm_weights"].sum()),
    }  # fmt: skip
    if count is not None:
        found = {"pair_count is not used: this part divides by its own rows": near(each.mean()),
                 **found}  # fmt: skip
    return found


def compare(out, right, words, pairs, batch, **counts):
    mlm, nsp = checks.parts(out, "mlm", "nsp")
    sums = {"the sum of both losses: each is asked for by itself": sum(right)}
    checks.same(mlm, right[0], of="the MLM loss", mistakes=lambda: {
        **mlm_mistakes(words, batch, counts.get("mask_count")), **sums})  # fmt: skip
    checks.same(nsp, right[1], of="the NSP loss", mistakes=lambda: {
        **nsp_mistakes(pairs, batch, counts.get("pair_count")), **sums})  # fmt: skip


def compare_losses(student, batch, words, pairs, **counts):
    right = right_losses(words, pairs, batch, **counts)
    compare(student.joint_loss(words, pairs, batch, **counts), right, words, pairs, batch, **counts)


@pytest.mark.hint(1)
@pytest.mark.weight(3)
def test_the_losses_are_sums_over_what_is_asked_divided_by_its_count(student):
    for sizes, empty in [(SIZES[0], False), *((sizes, True) for sizes in SIZES)]:
        weights, batch = case(*sizes, empty=empty)
        compare_losses(student, batch, *small_bert(weights, batch))
    weights, batch = case(4, 5, 3, 4, 6, seed=6)
    batch["next_sentence_labels"][:] = 0  # every pair is a next one
    compare_losses(student, batch, *small_bert(weights, batch))
    weights, batch = case(1, 4, 1, 3, 5)
    batch["masked_lm_weights"][:] = 0.5  # the weights add up to less than 1
    compare_losses(student, batch, *small_bert(weights, batch))
    weights, batch = case(*SIZES[0])
    weighed = batch["masked_lm_weights"]
    for used in ([1.5, 0.5, 1.0], [2.0, 0.0, 1.0]):
        weighed[:] = torch.tensor(used)
        words, pairs = small_bert(weights, batch)
        out = checks.parts(student.joint_loss(words, pairs, batch), "mlm", "nsp")
        checks.same(out[0], right_losses(words, pairs, batch)[0],
                    of=f"the MLM loss where the weights of each row are {used}", mistakes={
            "the weights are not used where they add up to the number of slots": (
                right_losses(words, pairs, batch | {"masked_lm_weights": 0 * weighed + 1})[0])}
                    )  # fmt: skip
    weights, batch = case(*SIZES[0], seed=13)
    words, pairs = (3000 * logits for logits in small_bert(weights, batch))
    out = checks.parts(student.joint_loss(words, pairs, batch), "mlm", "nsp")
    for loss, right, name in zip(out, right_losses(words, pairs, batch), ("MLM", "NSP"),
                                 strict=True):  # fmt: skip
        checks.same(loss, right, of=f"the {name} loss of logits in the thousands", mistakes={
            "a softmax that is 0 has no logarithm, or exp overflows: take log_softmax": (
                lambda out: not bool(out.isfinite()))})  # fmt: skip
    ties = torch.tensor([[0.0, 0, -2000, 0], [-900, 800, 800, 0], [3, -4000, 3, 2.5]]).double()
    batch = {"masked_lm_ids": torch.tensor([[2, 0, 1]]), "next_sentence_labels": torch.tensor([1]),
             "masked_lm_weights": torch.tensor([[1.0, 2.0, 0.5]]).double()}  # fmt: skip
    given = ties[None], torch.tensor([[900.0, -900.0]]).double(), batch
    for dtype in (torch.float64, torch.float32):
        words, pairs = (logits.to(dtype) for logits in given[:2])
        batch["masked_lm_weights"] = batch["masked_lm_weights"].to(dtype)
        out = checks.parts(student.joint_loss(words, pairs, batch), "mlm", "nsp")
        far = ((words.amax(-1) - words.gather(-1, batch["masked_lm_ids"][..., None])[..., 0])
               * batch["masked_lm_weights"]).sum() / 3.5  # fmt: skip
        checks.same(out, right_losses(words, pairs, batch),
                    of="both losses where a word's probability is too small for a number, and "
                       "some logits are alike", tolerance=1e-10 if dtype == torch.float64 else 1e-7,
                    mistakes={"the largest logit takes the place of the log of the sum: several "
                              "may be as large": lambda out, far=far: (
                                  not checks.difference(out[0], far, "", None))})  # fmt: skip
    leaf = ties[None].clone().requires_grad_()
    batch["masked_lm_weights"] = batch["masked_lm_weights"].double()
    upstream = torch.ones(2, dtype=torch.float64).unbind()
    _, found = student.joint_loss.grad(*given, wrt=("mlm_logits",), upstream=upstream)
    losses = right_losses(leaf, given[1], batch)
    checks.same(found["mlm_logits"], checks.gradients_of(losses, [leaf], upstream)[0],
                of="the gradient of mlm_logits where some are alike and a probability is too small "
                   "for a number")  # fmt: skip
    every_label_and_every_row_counts(student)


def every_label_and_every_row_counts(student):
    generator = checks.generator(31)
    special = [0, 1, 99, 100, 101, 102, 103, 999, 1000, 30_521, 40_000, 119_546]
    # A vocabulary as large as that of a BERT for many languages: 4.3 million logits.
    for rows, labels, vocab in ((3, special, 119_547), (1, [0, 1, 16_384, 20_010], 20_011),
                                (9_001, [0, 1, 2], 3), (2, [0, 1] * 2600, 3)):  # fmt: skip
        shape, dtype = (rows, len(labels)), torch.float64 if vocab < 2**16 else torch.float32
        words = torch.randn(*shape, vocab, generator=generator, dtype=dtype)
        pairs = torch.randn(rows, 2, generator=generator, dtype=dtype)
        batch = {"masked_lm_ids": torch.tensor([labels]).repeat(rows, 1),
                 "masked_lm_weights": torch.rand(shape, generator=generator).to(dtype),
                 "next_sentence_labels": torch.arange(rows) % 2}  # fmt: skip
        checks.same(student.joint_loss(words, pairs, batch), right_losses(words, pairs, batch),
                    of=f"both losses of {rows} rows, {len(labels)} slots and {vocab} words",
                    mistakes={"one of the labels does not count, or slots and rows beyond a "
                              "number of them": lambda out: True})  # fmt: skip
        if vocab > 2**16:
            continue
        leaves = [x.clone().requires_grad_() for x in (words, pairs)]
        upstream = torch.full((2,), 100.0, dtype=dtype).unbind()
        right = checks.gradients_of(right_losses(*leaves, batch), leaves, upstream)
        _, found = student.joint_loss.grad(words, pairs, batch, upstream=upstream,
                                           wrt=("mlm_logits", "nsp_logits"))  # fmt: skip
        checks.same([*found.values()], right, mistakes={"slots, rows or words beyond a number of "
                    "them get no gradient": lambda out: True},
                    of=f"the gradients of {rows} rows, {len(labels)} slots and {vocab} words"
                    )  # fmt: skip


def test_the_example_of_the_page_comes_out(student):
    """Of two words, one has the probability exp(-surprise)."""
    surprises = torch.tensor([[1.0, 3.0], [6.0, 8.0]], dtype=torch.float64)
    words = torch.stack([-surprises, torch.log1p(-torch.exp(-surprises))], -1)
    pairs = torch.zeros(2, 2, dtype=torch.float64)
    batch = {
        "masked_lm_ids": torch.zeros(2, 2, dtype=torch.int64),
        "masked_lm_weights": torch.tensor([[1.0, 1.0], [1.0, 0.0]], dtype=torch.float64),
        "next_sentence_labels": torch.tensor([0, 1]),
    }
    cases = [(0, 2, 10 / 3, {}), (0, 1, 4 / 3, {"mask_count": 3}), (1, 2, 2, {"mask_count": 3})]
    for first, end, mlm, counts in cases:
        rows = {name: tensor[first:end] for name, tensor in batch.items()}
        out = student.joint_loss(words[first:end], pairs[first:end], rows, **counts)
        right = torch.tensor(mlm, dtype=torch.float64), torch.tensor(
            math.log(2), dtype=torch.float64)  # fmt: skip
        compare(out, right, words[first:end], pairs[first:end], rows, **counts)


@pytest.mark.hint(2)
@pytest.mark.weight(2)
def test_counts_that_are_given_are_what_is_divided_by(student):
    weights, batch = case(*SIZES[0], seed=7)
    words, pairs = small_bert(weights, batch)
    for counts in ({"mask_count": 11.5, "pair_count": 9},
                   {"mask_count": torch.tensor(37.0), "pair_count": torch.tensor(64)},
                   {"mask_count": 0.5, "pair_count": 1},
                   {"mask_count": 40}, {"pair_count": 12}, {"mask_count": 12, "pair_count": 12},
                   {"mask_count": torch.tensor(37), "pair_count": 9.0},
                   {"mask_count": 11.5, "pair_count": torch.tensor(64)},
                   {"mask_count": torch.tensor(0.25)}, {"pair_count": torch.tensor(5.0)},
                   {"mask_count": np.float32(11.5), "pair_count": np.int64(9)},  # as array.sum()
                   ):  # fmt: skip
        compare_losses(student, batch, words, pairs, **counts)
    batch["masked_lm_weights"][:] = 0  # a part without masks
    out = student.joint_loss(words, pairs, batch, mask_count=11.5, pair_count=9)
    mlm, _ = checks.parts(out, "mlm", "nsp")
    checks.same(
        mlm,
        torch.zeros((), dtype=torch.float64),
        of="the MLM loss of a part without masks",
        mistakes={
            "0 / 0: the part divides by its own masks, and has none": (
                lambda out: bool(out.isnan())
            )
        },
    )


@pytest.mark.hint(4)
@pytest.mark.weight(2)
def test_gradient_flows_through_both_losses(student):
    counts = {"mask_count": 11.5, "pair_count": 9}
    for sizes, scale, given in (*((sizes, 1, {}) for sizes in SIZES), (SIZES[0], 1, counts),
                                (SIZES[0], 1, {"mask_count": torch.tensor(11.5)}),
                                (SIZES[0], 1, {"pair_count": 9}),
                                (SIZES[0], 3000, {}), (SIZES[3], 3000, counts)):  # fmt: skip
        weights, batch = case(*sizes, seed=8)
        words, pairs = (scale * logits for logits in small_bert(weights, batch))
        upstream = (torch.tensor(0.7, dtype=torch.float64), torch.tensor(-1.3, dtype=torch.float64))
        leaves = [x.clone().requires_grad_() for x in (words, pairs)]
        right = checks.gradients_of(right_losses(*leaves, batch, **given), leaves, upstream)
        out, found = student.joint_loss.grad(
            words, pairs, batch, wrt=("mlm_logits", "nsp_logits"), upstream=upstream, **given
        )
        compare(out, right_losses(words, pairs, batch, **given), words, pairs, batch, **given)
        labels = batch["next_sentence_labels"]
        for name, wanted in zip(found, right, strict=True):
            checks.same(
                found[name],
                wanted,
                of=f"the gradient of {name}" + " in the thousands" * (scale > 1),
                mistakes={
                    "NaN comes back from an exp that is too large, also where torch.where does not "
                    "take it: use log_softmax or cross_entropy": (
                        lambda out: bool(out.isnan().any())
                    ),
                    "no gradient arrives: detach, .item(), float() or no_grad cuts the graph": (
                        lambda out: out is None
                    ),
                    "pairs of label 0 get no gradient (ignore_index=0)": (
                        lambda out, zero=labels == 0: not out[zero].any()
                    ),
                    "slots of weight 0 get a gradient": (
                        lambda out, unused=batch["masked_lm_weights"] == 0: bool(out[unused].any())
                    ),
                },
            )
            _, alone = student.joint_loss.grad(
                words, pairs, batch, wrt=(name,), upstream=upstream, **given
            )
            checks.same(
                alone[name],
                wanted,
                of=f"the gradient of {name} where the other logits require none",
                mistakes={
                    "whether the logits of one task require a gradient decides for the other": (
                        lambda out: out is None
                    )
                },
            )
    weights, batch = case(*SIZES[0], seed=8)
    batch["masked_lm_weights"] = 0 * batch["masked_lm_weights"]
    words, pairs = small_bert(weights, batch)
    _, found = student.joint_loss.grad(
        words, pairs, batch, wrt=("mlm_logits",), upstream=upstream, **counts
    )
    checks.same(found["mlm_logits"], torch.zeros_like(words),
                of="the gradient of mlm_logits of a part without a mask",
                mistakes={"without a mask the loss is a constant, and backward() raises": (
                    lambda out: out is None)})  # fmt: skip


def test_a_batch_is_split_into_rows_with_all_its_arrays(student):
    for sizes in SIZES:
        _, batch = case(*sizes)
        size = len(batch["input_ids"])
        numbers = torch.arange(6 * size).reshape(size, 2, 3)
        batch |= {"drawn_anew": numbers, "_scores": numbers[:, None, :, ::2].float(),
                  "bytes": numbers.to(torch.uint8), "is_long": numbers[:, 0, 0] % 4 == 0,
                  }  # fmt: skip
        for rows in (1, 2, 3, 100):
            right = parts_of(batch, rows)
            checks.same(
                student.split_batch(batch, rows),
                right,
                of=f"{len(batch['input_ids'])} rows in parts of {rows}",
                mistakes={
                    "the last part, which is smaller, is left out": (
                        lambda out, right=right: len(out) == len(right) - 1
                    ),
                    "rows is taken for the number of parts": (
                        lambda out, rows=rows, right=right: len(out) == rows != len(right)
                    ),
                    "an array of the batch is left out": (
                        lambda out, batch=batch: bool(set(batch) - set(out[0]))
                    ),
                    "the parts are tuples or lists: each is a dict, as the batch": (
                        lambda out: type(out[0]) is not dict
                    ),
                },
            )

    _, many = case(9_001, 2, 1, 2, 3)
    for rows in (2_100, 4_600, 8, 9_001):
        checks.same(student.split_batch(many, rows), parts_of(many, rows),
                    of=f"9001 rows in parts of {rows}", mistakes={
            "the rows of a part, or the parts, have a limit": lambda out: True})  # fmt: skip


def accumulation_mistakes(weights, batch, rows):
    """Name, and a function of the leaves: what one sums up in its place."""
    parts = parts_of(batch, rows)
    losses = {}
    masks, pairs = batch["masked_lm_weights"].sum(), len(batch["input_ids"])

    def own(leaves, part, **counts):
        if not part["masked_lm_weights"].any():
            counts = {"mask_count": 1.0, **counts}  # 0, where a careful wrong answer has no 0 / 0
        return right_losses(*small_bert(leaves, part), part, **counts)

    losses["the mean of the parts' means: each part divides by its own masks. Divide by the count "
           "of the whole batch"] = lambda leaves: sum(
        sum(own(leaves, part)) for part in parts) / len(parts)  # fmt: skip
    losses["the MLM loss is a mean of the parts' means: divide by the masks of the whole batch"] = (
        lambda leaves: sum(own(leaves, part)[0] / len(parts) + own(
            leaves, part, mask_count=1.0, pair_count=pairs)[1] for part in parts))  # fmt: skip
    losses["the NSP loss is a mean of the parts' means: divide by the rows of the whole batch"] = (
        lambda leaves: sum(own(leaves, part, mask_count=masks)[0] + own(
            leaves, part)[1] / len(parts) for part in parts))  # fmt: skip
    losses["the sum of the parts' means: each part divides by its own count"] = lambda leaves: sum(
        sum(own(leaves, part)) for part in parts
    )
    losses["only the last part's gradient is left: each backward adds to the ones before"] = (
        lambda leaves: sum(own(leaves, parts[-1], mask_count=masks, pair_count=pairs))
    )
    losses["the counts are right already, and are divided once more by the number of parts"] = (
        lambda leaves: whole_loss(batch)(leaves) / len(parts)
    )
    losses["the gradient is that of the MLM loss alone"] = lambda leaves: own(leaves, batch)[0]
    losses["the gradient is that of the NSP loss alone"] = lambda leaves: own(leaves, batch)[1]
    losses["the gradient is that of the mean of both losses: asked for is the sum"] = (
        lambda leaves: whole_loss(batch)(leaves) / 2
    )
    losses["the last part, which is smaller, is left out"] = lambda leaves: (
        whole_loss(batch)(leaves) - sum(own(leaves, parts[-1], mask_count=masks, pair_count=pairs))
    )
    return losses


@pytest.mark.weight(4)
def test_whatever_the_parts_the_gradient_is_that_of_the_whole(student):
    # Parts of one row come last: one of them has no masks.
    for sizes, rows in ((SIZES[0], 3), (SIZES[0], 50), (SIZES[2], 2), (SIZES[3], 4),
                        (SIZES[1], 1), (SIZES[0], 4), (SIZES[0], 2), (SIZES[0], 1)):  # fmt: skip
        weights, batch = case(*sizes, seed=9 + rows)  # other weights of the masks at every call
        if rows == 4 and sizes == SIZES[0]:  # as many as there are slots, added up
            batch["masked_lm_weights"][:] = torch.tensor([1.5, 0.5, 1.0])
        masks, pairs = batch["masked_lm_weights"].sum(), len(batch["input_ids"])
        out = student.accumulated_gradients(weights, batch, rows)
        added, gradients = checks.parts(out, "added", "gradients")
        right = gradients_of(weights, whole_loss(batch))
        wrong = accumulation_mistakes(weights, batch, rows)
        named = {name: lambda out, w=weights, loss=loss: not checks.difference(
            out, gradients_of(w, loss), "", None) for name, loss in wrong.items()}  # fmt: skip
        checks.same(gradients, right, of=f"the gradients in parts of {rows}", mistakes={
            "0 / 0: a part without masks divides by its own": (
                lambda out, rows=rows: rows == 1 and any(
                    bool(g.isnan().any()) for g in out.values())),
            "a weight has no gradient (None): backward must start from both losses": (
                lambda out: any(g is None for g in out.values())),
            **named,
        })  # fmt: skip
        parts = parts_of(batch, rows)
        each = torch.stack([
            torch.stack(right_losses(*small_bert(weights, p), p, mask_count=masks,
                                     pair_count=pairs)) for p in parts])  # fmt: skip
        by_own = torch.stack([
            torch.stack(right_losses(*small_bert(weights, p), p)) for p in parts])  # fmt: skip
        checks.same(added, each, of=f"what each part of {rows} adds", mistakes=lambda: {
            "each part's own means: what it adds to the losses of the whole is asked for": by_own,
            "the losses of the whole batch: asked for is what each part adds": each.sum(0),
            "rows is not used: all the batch is one part": each.sum(0, keepdim=True),
            "sums up to and with each part: asked for is what each adds": each.cumsum(0),
            "NSP comes first: MLM does": each.flip(1),
        })  # fmt: skip
    parts_that_are_nearly_alike_count_each(student)
    each_weight_has_its_own_gradient(student)
    small_losses_keep_their_digits_beside_large_ones(student)


def parts_that_are_nearly_alike_count_each(student):
    """As a text that comes several times, masked otherwise each time: three parts of two rows, of
    which the second or the first has one array in another order."""
    weights, batch = case(6, 6, 4, 3, 9, seed=34)
    batch["masked_lm_weights"][:2] = torch.tensor([[1.0, 0.5, 0.0, 0.25], [0.75, 1.0, 0.0, 0.0]])
    batch["next_sentence_labels"][:2] = torch.tensor([0, 1])
    batch = {name: array[:2].repeat(3, *[1] * (array.ndim - 1)) for name, array in batch.items()}
    for name in ("input_ids", "masked_lm_positions", "masked_lm_ids", "masked_lm_weights",
                 "next_sentence_labels"):  # fmt: skip
        for first in (2, 0):
            other, here = batch[name].clone(), slice(first, first + 2)
            other[here] = other[here].flip(other.ndim - 1)
            given = batch | {name: other}
            masks, parts = given["masked_lm_weights"].sum(), parts_of(given, 2)
            right = torch.stack([
                torch.stack(right_losses(*small_bert(weights, p), p, mask_count=masks,
                                         pair_count=6))
                for p in parts]), gradients_of(weights, whole_loss(given))  # fmt: skip
            checks.same(student.accumulated_gradients(weights, given, 2), right,
                        of=f"(added, gradients) where only `{name}` differs from part to part",
                        mistakes={"a part is taken for an earlier one, because some of its arrays "
                                  "are the same": lambda out: True})  # fmt: skip


def each_weight_has_its_own_gradient(student):
    """Of two names for one tensor, and of a word that is all but impossible."""
    weights, batch = case(6, 5, 3, 4, 2, seed=32)
    weights["cls.seq_relationship.weight"] = weights[WORDS].clone()
    weights["cls.seq_relationship.bias"] = weights["cls.predictions.bias"].clone()
    counts = {"mask_count": 7.5, "pair_count": 9}
    others = ("split_batch", (batch, 4), {})  # called first: then equal tensors are one object
    out = student.accumulated_gradients.trace(weights, batch, 4, before=others).value
    checks.same(checks.parts(out, "added", "gradients")[1],
                gradients_of(weights, whole_loss(batch)),
                of="the gradients where two weights are one tensor",
                mistakes={"each name has a gradient of its own": lambda out: True})  # fmt: skip
    out = student.rank_gradients.trace(weights, batch, **counts, ranks=1, before=others).value
    checks.same(out, gradients_of(weights, whole_loss(batch, **counts)),
                of="what a machine hands in where two weights are one tensor",
                mistakes={"each name has a gradient of its own": lambda out: True})  # fmt: skip
    weights, batch = case(*SIZES[0], seed=33)
    batch["masked_lm_ids"] = batch["masked_lm_ids"] % 5
    bias = "cls.predictions.bias"
    weights[bias][5] = -40.0
    found = {
        "a batch": checks.parts(
            student.accumulated_gradients(weights, batch, 3), "added", "gradients")[1],
        "a machine": student.rank_gradients(weights, batch, **counts, ranks=1),
    }  # fmt: skip
    for of, given in (("a batch", {}), ("a machine", counts)):
        right = gradients_of(weights, whole_loss(batch, **given))[bias][5]
        checks.same(found[of][bias][5] / right, torch.ones_like(right), tolerance=1e-6,
                    of=f"the gradient of {bias} for a word that is all but impossible, of {of}, "
                       f"divided by the right one, {right:.3g}",
                    mistakes={"gradients are rounded, or small ones left out": lambda out: True}
                    )  # fmt: skip


def requires_no_gradient(function, *args, wrt, out, likely, **options):
    """Nothing that is returned, which is `out`. Of the argument `wrt`, a whole number, there is no
    derivative: torch refuses to look for one, but only where something requires a gradient."""
    try:
        function.grad(*args, wrt=(wrt,), upstream=out, **options)
    except StudentError as error:
        if "empty" not in str(error):
            raise
        checks.fail(f"what {function.name} returns requires a gradient", likely=likely)


def small_losses_keep_their_digits_beside_large_ones(student):
    """One row surprises the model by thousands, the others hardly."""
    weights, batch = case(4, 5, 3, 4, 9, seed=31, dtype=torch.float32)
    weights |= {WORDS: 0.1 * weights[WORDS], "cls.predictions.bias": torch.zeros(9)}
    weights["cls.predictions.bias"][[3, 8]] = torch.tensor([10.0, -30_000])
    batch["masked_lm_ids"][:], batch["masked_lm_weights"][:] = 3, 1.0
    for large in range(4):
        ids = batch["masked_lm_ids"].clone()
        ids[large] = 8
        given = batch | {"masked_lm_ids": ids}
        added, _ = checks.parts(student.accumulated_gradients(weights, given, 1), "added",
                                "gradients")  # fmt: skip
        right = torch.stack([
            torch.stack(right_losses(*small_bert(weights, p), p, mask_count=12.0, pair_count=4))
            for p in parts_of(given, 1)])  # fmt: skip
        checks.same(added / right, torch.ones(4, 2), tolerance=0.1,
                    of=f"what each row adds in float32, divided by the right number, where row "
                    f"{large} adds {float(right[large, 0]):,.0f} to MLM", mistakes={
                        "what a part adds is the difference of two sums: small parts lose their "
                        "digits": lambda out: True})  # fmt: skip


def kept_by(weights, part):
    """How many numbers autograd keeps for a backward of the logits alone."""
    sizes, leaves = [], {name: w.clone().requires_grad_() for name, w in weights.items()}

    def keep(tensor):
        sizes.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda kept: kept):
        small_bert(leaves, part)
    return sum(sizes)


@pytest.mark.hint(3)
@pytest.mark.weight(2)
def test_a_part_is_forgotten_before_the_next_is_read(student):
    weights, batch = case(24, 5, 3, 4, 6, seed=12)
    first, four = ({name: x[: 2 * n] for name, x in batch.items()} for n in (1, 4))
    many = {name: x.repeat(5, *[1] * (x.ndim - 1)) for name, x in batch.items()}
    for given in (first, batch):
        out = student.accumulated_gradients(weights, given, 2)
        _, gradients = checks.parts(out, "added", "gradients")
        checks.same(gradients, gradients_of(weights, whole_loss(given)), of="the gradients")
    for rows in (2, 24):
        requires_no_gradient(student.accumulated_gradients, weights, batch, rows, wrt="rows",
                             out=(out[0][: 24 // rows], gradients),
                             likely="the losses are returned with their graph: detach them"
                             )  # fmt: skip
    try:
        one, *more = (student.most_kept(weights, given, 2) for given in (first, four, batch, many))
    except StudentError as error:
        if "saved tensor hooks" in str(error):  # torch.func: it cannot be counted
            return
        raise
    checks.that({*map(type, (one, *more))} == {int} and one > 0,
                f"autograd keeps {one} numbers when it reads a part: expected more",
                likely="most_kept is not as it was handed out, or the gradients do not come from "
                "autograd")  # fmt: skip
    at_least = kept_by(weights, first) // 2
    checks.that(one >= at_least, f"most_kept counts {one} numbers when a part is read: for the "
                f"logits of a part alone autograd keeps {2 * at_least} or more",
                likely="most_kept is not as it was handed out")  # fmt: skip
    for parts, kept in zip((4, 12, 60), more, strict=True):
        checks.that(
            kept <= 3 * one,
            f"autograd keeps {kept} numbers at one time when it reads {parts} parts of 2 rows, and "
            f"{one} when it reads one of them: it should be the same (most_kept counts them)",
            likely="the activations of earlier parts are kept: call backward for each part before "
            "the next is read, and put the losses onto the list without their graph",
        )
    for rows in (0, 22):  # all masks in the first part, or in the last
        here = (torch.arange(24) // 2 * 2 == rows)[:, None]
        rare = batch | {"masked_lm_weights": here * (0.5 + batch["masked_lm_weights"])}
        kept = student.most_kept(weights, rare, 2)
        checks.that(
            kept <= 3 * one,
            f"autograd keeps {kept} numbers at one time when it reads 12 parts of 2 rows, of which "
            f"one has masks, and {one} when it reads one part: it should be the same",
            likely="the activations of parts without masks are kept: call backward for each part "
            "before the next is read",
        )
    # Parts of other sizes, of which the last may be smaller; short and long texts, few slots.
    for rows, more, sizes, dtype in (
        (1, 0, (5, 3, 4, 6), torch.float32), (6, 0, (5, 3, 4, 6), torch.float64),
        (2, 1, (4, 1, 2, 9), torch.float64), (3, 2, (2, 6, 3, 3), torch.float64),
        (5, 1, (130, 2, 2, 3), torch.float32), (32, 1, (3, 2, 5, 40), torch.float64),
    ):  # fmt: skip
        weights, batch = case(4 * rows + more, *sizes, seed=14, dtype=dtype)
        first = {name: x[:rows] for name, x in batch.items()}
        one, four = (student.most_kept(*sweep.laid_out((weights, given), rows), rows)
                     for given in (first, batch))  # fmt: skip
        checks.that(four <= 3 * one, f"autograd keeps {four} numbers at one time when it reads 4 "
                    f"parts of {rows} rows and one of {more}, and {one} when it reads the first: "
                    "it should be the same (most_kept counts them)",
                    likely="the activations of earlier parts are kept where parts have another "
                           "number of rows, or the last is smaller")  # fmt: skip


@pytest.mark.hint(2)
@pytest.mark.weight(2)
def test_the_mean_over_machines_is_the_gradient_of_the_whole(student):
    for cuts in ((0, 3, 7), (0, 1, 2, 7), (0, 7)):
        weights, batch = case(*SIZES[0], seed=10)
        batch["masked_lm_weights"][0, 0] = 0.75  # the sum of the weights is no whole number
        if len(cuts) < 4:  # and here it is less than 1
            batch["masked_lm_weights"] *= 0.05
        masks, pairs = float(batch["masked_lm_weights"].sum()), len(batch["input_ids"])
        parts = [{n: t[a:b] for n, t in batch.items()}
                 for a, b in pairwise(cuts)]  # fmt: skip
        counts = {"mask_count": masks, "pair_count": pairs}
        ranks = len(parts)

        def mean(handed_in, ranks=ranks):
            return {name: sum(g[name] for g in handed_in) / ranks for name in weights}

        def handed(factor=1.0, own=False, parts=parts, counts=counts):
            return mean(
                [
                    gradients_of(
                        weights,
                        lambda leaves, p=p: (
                            factor * whole_loss(p, **({} if own else counts))(leaves)
                        ),
                    )
                    for p in parts
                ]
            )

        given = counts if ranks == 1 else {
            "mask_count": torch.tensor(masks, dtype=torch.float64),
            # Whole where 7 / ranks is exact in float32: one may divide the counts by ranks.
            "pair_count": torch.tensor(pairs).to(torch.int64 if ranks == 2 else torch.float64)
        }  # fmt: skip
        found = [student.rank_gradients(weights, part, **given, ranks=ranks) for part in parts]
        for gradients in found:
            checks.that(
                type(gradients) is dict and gradients.keys() == weights.keys(),
                "expected a dict with a gradient for each weight",
            )

        def handed_in(*how, of=handed, **more):
            return lambda out: not checks.difference(out, of(*how, **more), "", None)

        checks.same(mean(found), gradients_of(weights, whole_loss(batch)),
                    of=f"the mean over {ranks} machines", mistakes=lambda: {
            "what is handed in will be divided by the number of machines: multiply by ranks": (
                handed_in()),
            "each machine divides by its own counts: a mean of means": handed_in(own=True),
            "divided by ranks: the averaging does that already": handed_in(1 / ranks),
            "multiplied by ranks, but divided by the machine's own counts": (
                handed_in(ranks, own=True)),
            "multiplied by ranks twice": handed_in(ranks * ranks),
            "a machine whose part has no masks hands in zeros: its pairs count": handed_in(
                ranks, parts=[p for p in parts if p["masked_lm_weights"].any()]),
            "mask_count is rounded to a whole number: weights may be fractions": handed_in(
                ranks, counts=counts | {"mask_count": int(masks)}),
            "0 / 0: a machine without masks divides by its own": (
                lambda out, ranks=ranks: ranks == 3 and any(
                    bool(g.isnan().any()) for g in out.values())),
        })  # fmt: skip
    for ranks in (1, 3):
        requires_no_gradient(student.rank_gradients, weights, batch, **counts, ranks=ranks,
                             wrt="ranks", out=found[0],
                             likely="the gradients have a graph of their own: leave out "
                             "create_graph=True")  # fmt: skip


def kinds():
    """Batches that are special in their values, not in their sizes."""
    weighed, pairs = "masked_lm_weights", "next_sentence_labels"
    for of in ("all masks in the first row", "all masks in the last row", "one mask in all",
               "masks in a row in the middle", "no empty slot", "all slots alike",
               "unused slots before used ones", "all pairs random", "all rows alike",
               "one label in all", "weights of 0"):  # fmt: skip
        weights, batch = case(6, 8, 4, 3, 10, seed=15)
        kept, slots = torch.zeros(6, 4, dtype=torch.float64), batch[weighed].clone() + 0.5
        ends = {"all masks in the first row": (0, 1), "all masks in the last row": (5, 6),
                "masks in a row in the middle": (2, 3)}.get(of, (0, 6))  # fmt: skip
        kept[slice(*ends)] = 1
        if of == "one mask in all":
            kept[:], kept[3, 2] = 0, 1
        if of == "unused slots before used ones":
            kept[:, 0], kept[::2, 1] = 0, 0
        batch[weighed] = slots * kept
        if of in ("no empty slot", "all slots alike"):
            batch[weighed] = torch.ones_like(slots) * (1 if of == "no empty slot" else 0.3)
        if of == "all pairs random":
            batch[pairs] = torch.ones_like(batch[pairs])
        if of == "all rows alike":
            batch = {name: array[:1].repeat(6, *[1] * (array.ndim - 1))
                     for name, array in batch.items()}  # fmt: skip
        if of == "one label in all":
            batch["masked_lm_ids"] = torch.full_like(batch["masked_lm_ids"], 4)
        if of == "weights of 0":
            weights = {name: 0 * weight for name, weight in weights.items()}
        yield of, weights, batch


def test_float32_and_gaps_in_memory_are_fine(student):
    weights, batch = case(6, 8, 4, 4, 6, dtype=torch.float32, seed=11)
    gaps = {name: t[:, ::2] if t.ndim == 2 else t[::1] for name, t in batch.items()}
    gaps["masked_lm_positions"] = gaps["masked_lm_positions"] % 4
    for given, way in ((batch, 0), (gaps, 0), (batch, 1), (gaps, 2)):
        words, pairs = small_bert(weights, given)
        compare_losses(student, given, *sweep.laid_out((words, pairs), way))
        leaves = sweep.laid_out(weights, way)
        out = student.accumulated_gradients(leaves, given, 4)
        _, gradients = checks.parts(out, "added", "gradients")
        checks.same(gradients, gradients_of(weights, whole_loss(given)), of="the gradients")
        counts = {"mask_count": 9.5, "pair_count": 7}
        numpys = {"mask_count": np.float32(9.5), "pair_count": np.int64(7)}
        right = gradients_of(weights, lambda leaves, given=given: 3 * whole_loss(
            given, **counts)(leaves))  # fmt: skip
        out = student.rank_gradients(leaves, given, **(numpys if way == 1 else counts), ranks=3)
        checks.same(out, right, of="what one of 3 machines hands in")


def test_batches_of_any_size(student):
    draw = sweep.Draw(11)
    sizes = [
        (max(2, rows), seq, masks, hidden, max(2, vocab))
        for rows, seq, masks, hidden, vocab in (draw.shape(5) for _ in range(10))
    ]
    sizes += [
        (701, 2, 1, 2, 3),
        (3, 301, 2, 2, 3),
        (3, 2, 301, 2, 3),
        (3, 2, 2, 2, 4_003),
        (3, 2, 2, 64, 3),
        (900, 2, 20, 2, 3),  # in two parts, each with more rows than BERT's batch has
    ]
    for number, size in enumerate(sizes):
        weights, batch = case(*size, seed=20 + number)
        slots = batch["masked_lm_weights"]
        slots[0, -1], slots[0, 0], slots[-1, -1] = 1e-6, 3.0, 0.25
        slots *= 10.0 ** float(draw.rng.integers(-9, 5))
        words, pairs = small_bert(weights, batch)
        scale = float(draw.rng.choice([1.0, 1000.0]))
        words, pairs, of = words * scale, pairs * scale, f"(rows, seq, masks, hidden, vocab) {size}"
        counts = {"mask_count": float(draw.rng.choice([0.3, 17.5, 1e6])), "pair_count": 1_000_003}
        for given in ({}, counts, {"mask_count": counts["mask_count"]}, {"pair_count": 3}):
            laid = sweep.laid_out((words, pairs, batch), number)
            out = checks.parts(student.joint_loss(*laid, **given), "MLM", "NSP")
            sweep.same(
                out,
                right_losses(words, pairs, batch, **given),
                of=f"the losses for {of}, {given}",
                # A loss near 0 is a difference of logits.
                magnitude=1e-6 * float(max(words.abs().max(), pairs.abs().max())),
            )
        rows = int(draw.rng.integers(1, size[0] + 3)) if size[0] < 100 else 5
        rows = 600 if size[0] == 900 else rows
        sweep.same(
            student.split_batch(sweep.laid_out(batch, number), rows),
            parts_of(batch, rows),
            of=f"{of} in parts of {rows}",
        )
        added, found = checks.parts(
            student.accumulated_gradients(*sweep.laid_out((weights, batch), number), rows),
            "added",
            "gradients",
        )
        sweep.same(
            found,
            gradients_of(weights, whole_loss(batch)),
            of=f"the gradients for {of} in parts of {rows}",
            magnitude=ROUNDED,
        )
        masks = slots.sum()
        each = torch.stack(
            [
                torch.stack(
                    right_losses(*small_bert(weights, p), p, mask_count=masks, pair_count=size[0])
                )
                for p in parts_of(batch, rows)
            ]
        )
        sweep.same(added, each, of=f"what each part adds for {of} in parts of {rows}")
        ranks = int(draw.rng.choice([1, 2, 9, 64, 1000]))
        part = parts_of(batch, rows)[-1]
        given = {"mask_count": float(masks), "pair_count": size[0]}
        right = {n: ranks * g for n, g in gradients_of(weights, whole_loss(part, **given)).items()}
        sweep.same(
            student.rank_gradients(*sweep.laid_out((weights, part), number), **given, ranks=ranks),
            right,
            of=f"what one of {ranks} machines hands in for {of}",
            magnitude=ranks * ROUNDED,
        )
    for number, (of, weights, batch) in enumerate(kinds()):
        for counts in ({}, {"mask_count": 0.2, "pair_count": 2}, {"mask_count": 40}):
            compare_losses(student, batch, *small_bert(weights, batch), **counts)
        rows = (2, 1, 3, 4)[number % 4]
        masks, parts = batch["masked_lm_weights"].sum(), parts_of(batch, rows)
        counts = {"mask_count": masks, "pair_count": 6}
        added, found = checks.parts(student.accumulated_gradients(weights, batch, rows),
                                    "added", "gradients")  # fmt: skip
        checks.same(found, gradients_of(weights, whole_loss(batch)),
                    of=f"the gradients in parts of {rows}, {of}")  # fmt: skip
        each = [torch.stack(right_losses(*small_bert(weights, p), p, **counts)) for p in parts]
        checks.same(added, torch.stack(each), of=f"what each part of {rows} adds, {of}")
        for part in (parts[0], parts[-1]):
            right = gradients_of(weights, whole_loss(part, **counts))
            checks.same(student.rank_gradients(weights, part, **counts, ranks=2),
                        {name: 2 * gradient for name, gradient in right.items()},
                        of=f"what a machine hands in, {of}")  # fmt: skip


def test_nothing_is_left_behind(student):
    weights, batch = case(*SIZES[0])
    words, pairs = small_bert(weights, batch)
    checks.leaves_no_trace(student.joint_loss, words, pairs, batch)
    checks.leaves_no_trace(student.split_batch, batch, 2)
    checks.leaves_no_trace(student.accumulated_gradients, weights, batch, 3)
    checks.leaves_no_trace(
        student.rank_gradients, weights, batch, mask_count=9.0, pair_count=7, ranks=2
    )

    def rank_gradients(weights, part, *, ranks, **counts):
        found = gradients_of(weights, whole_loss(part, **counts))
        return {name: ranks * gradient for name, gradient in found.items()}

    def with_tensors(*args, **options):  # what is written to them changes the caller's counts
        counts = {name: torch.tensor(n).double() for name, n in (
            ("mask_count", 9.0), ("pair_count", 7.0))}  # fmt: skip
        return [sweep.Case("counts that are tensors", args, counts | options)]

    sweep.agrees(student.joint_loss, right_losses, with_tensors(words, pairs, batch),
                 names=("MLM", "NSP"))  # fmt: skip
    sweep.agrees(student.rank_gradients, rank_gradients, with_tensors(weights, batch, ranks=2))
