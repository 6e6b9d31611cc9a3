"""Eight pieces, fifteen mistakes: each has a test of its own, which the mends of others leave as
it is. What depends on chance is judged on 100,000 draws or more (`checks.share`)."""

import functools
import itertools
import math
import operator

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from autograder import checks, sweep
from autograder.codec import TorchRng, leaves, map_leaves
from bert_paper import model, optimizer
from bert_run.config import BertConfig, is_decayed, parameter_shapes

# --- 1. embed ---

VOCAB, ROOM = 13, 9


def embedding_case(batch, seq, hidden, *, seed=3, scale=1.0, dtype=torch.float64):
    generator = checks.generator(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    weights = {name: scale * normal(n, hidden)
               for name, n in [("word", VOCAB), ("position", max(ROOM, seq)), ("segment", 2)]
               }  # fmt: skip
    weights |= {"norm.weight": 1 + 0.3 * normal(hidden), "norm.bias": normal(hidden)}
    ids = torch.randint(1, VOCAB, (batch, seq), generator=generator)
    segments = torch.randint(2, (batch, seq), generator=generator)
    return ids, segments, {name: w.to(dtype) for name, w in weights.items()}


def without_eps(student, ids, weights, eps, plain):
    """Whether an answer is `plain`, which has no eps, and equal numbers give 0 / 0: a large
    deviation hides other mistakes about eps too."""
    zeros = {name: 0 * w for name, w in weights.items()}
    return lambda out: (
        not checks.difference(out, plain, "", None)
        and bool(student.embed(ids, 0 * ids, zeros, eps=eps).isnan().all())
    )


def right_embed(ids, segments, weights, eps):
    hidden = len(weights["norm.bias"])
    config = BertConfig(vocab_size=VOCAB, max_position_embeddings=ROOM, hidden_size=hidden,
                        num_attention_heads=1, layer_norm_eps=eps)  # fmt: skip
    module = model.BertEmbeddings(config).eval().to(weights["word"].dtype)
    names = {"word_embeddings.weight": "word", "position_embeddings.weight": "position",
             "token_type_embeddings.weight": "segment", "LayerNorm.weight": "norm.weight",
             "LayerNorm.bias": "norm.bias"}  # fmt: skip
    ours = {theirs: weights[name] for theirs, name in names.items()}
    return torch.func.functional_call(module, ours, (ids, segments))


@pytest.mark.hint(1)
def test_embed_tells_the_segments_apart(student):
    for shape in [(2, 5, 6), (1, 9, 4), (3, 1, 5)]:
        ids, segments, weights = embedding_case(*shape)
        segments[0, :2] = torch.tensor([1, 0])[: shape[1]]
        segments[-1] = 1 - segments[0]
        zero = torch.zeros_like(ids)
        swapped = weights | {"segment": weights["segment"].flip(0)}
        of_a, of_b = student.embed(ids, zero, weights), student.embed(ids, zero, swapped)
        checks.that(not torch.equal(of_a, of_b), "another table of segments changes nothing",
                    likely="the segment is never added")  # fmt: skip
        checks.same(
            student.embed(ids, segments, weights),
            torch.where(segments[:, :, None] == 1, of_b, of_a),
            of="the embeddings of tokens in A and in B",
            mistakes=lambda: {
                "segment ids are always zero: every token belongs to A": of_a,
                "every token is given segment 1": of_b,
                "the segment of each row's first token is taken for all of it": (
                    torch.where(segments[:, :1, None] == 1, of_b, of_a)
                ),
                "the segment ids of the first row are taken for all": (
                    torch.where(segments[:1, :, None] == 1, of_b, of_a)
                ),
            },
        )


@pytest.mark.hint(2)
def test_embed_ends_with_the_layer_norm_of_the_paper(student):
    for shape, scale, eps, dtype in [((2, 5, 6), 1.0, 1e-12, torch.float64),
                                     ((1, 9, 4), 1e-3, 1e-12, torch.float64),
                                     ((3, 1, 5), 1.0, 0.1, torch.float64),
                                     ((2, 4, 7), 1.0, 0.1, torch.float32)]:  # fmt: skip
        ids, segments, weights = embedding_case(*shape, scale=scale, dtype=dtype)
        segments = torch.zeros_like(segments)
        x = weights["word"][ids] + weights["position"][: shape[1]] + weights["segment"][0]
        centered = x - x.mean(-1, keepdim=True)

        def scaled(x, weights=weights):
            return weights["norm.weight"] * x + weights["norm.bias"]

        def over(deviation, scaled=scaled, centered=centered):
            return scaled(centered / deviation)

        biased, unbiased = (x.var(-1, correction=c, keepdim=True) for c in (0, 1))
        checks.same(
            student.embed(ids, segments, weights, eps=eps),
            right_embed(ids, segments, weights, eps),
            of=f"the embeddings (all of segment 0, eps {eps:g})",
            mistakes=lambda: {
                "the deviation divides by n - 1, and eps stands outside the root": over(
                    unbiased.sqrt() + eps),
                "eps stands outside the root: it is added to the variance": over(
                    biased.sqrt() + eps),
                "the variance divides by n - 1 (correction=1): it should by n": over(
                    (unbiased + eps).sqrt()),
                "eps is not used: F.layer_norm takes 1e-5 unless it is told": over(
                    (biased + 1e-5).sqrt()),
                "eps is not used: 1e-12 is written in": over((biased + 1e-12).sqrt()),
                "eps is left out": without_eps(student, ids, weights, eps, over(biased.sqrt())),
                "the layer norm is missing": x,
                "the embeddings are scaled and shifted, but not normalized": scaled(x),
                "normalized, but scale and shift are missing": centered / (biased + eps).sqrt(),
                "the mean is not taken off": scaled(x / (biased + eps).sqrt()),
            },
        )  # fmt: skip
    ids, segments, weights = embedding_case(2, 5, 6, seed=4, scale=1e-6)  # variances near 1e-12
    weights["word"][ids[0, 0]] = weights["position"][0] = weights["segment"][0] = 0
    checks.same(student.embed(ids, 0 * segments, weights),
                right_embed(ids, 0 * segments, weights, 1e-12),
                of="the embeddings with the default eps")  # fmt: skip
    ids, segments, weights = embedding_case(2, 5, 6, seed=4)
    embed_sends_gradients_back(student, ids, segments * 0, weights, of="all of segment 0")
    checks.leaves_no_trace(student.embed, ids, segments, weights)


def embed_sends_gradients_back(student, ids, segments, weights, *, of, eps=1e-12):
    leaves = {name: w.clone().requires_grad_() for name, w in weights.items()}
    out = normalized(ids, segments, leaves, eps=eps)
    upstream = torch.randn(out.shape, generator=checks.generator(5), dtype=out.dtype)
    right = checks.gradients_of(out, list(leaves.values()), upstream)
    _, gradients = student.embed.grad(ids, segments, weights, wrt=("weights",),
                                      upstream=upstream, eps=eps)  # fmt: skip
    for (name, found), expected in zip(gradients["weights"].items(), right, strict=True):
        checks.same(found, expected, of=f"the gradient of {name} ({of})", mistakes={
            "no gradient arrives: detach, no_grad or .data cuts the graph": (
                lambda out: out is None),
            "the row of id 0 gets no gradient: padding_idx of F.embedding": (
                lambda out, right=expected: not out[0].any() and torch.allclose(out[1:], right[1:])
            )})  # fmt: skip
    for frozen in weights:
        for only in (False, True):
            wrt = tuple(f"weights:{name}" for name in weights if (name == frozen) is only)
            _, found = student.embed.grad(ids, segments, weights, wrt=wrt, upstream=upstream,
                                          eps=eps)  # fmt: skip
            for name, expected in zip(weights, right, strict=True):
                if f"weights:{name}" in found:
                    checks.same(found[f"weights:{name}"], expected,
                                of=f"the gradient of {name} ({of}) where, of the weights, {frozen} "
                                   f"alone is {'not ' * only}frozen")  # fmt: skip


def normalized(input_ids, token_type_ids, weights, *, eps):
    """What `embed` gives, in the same words of torch for every size."""
    x = weights["word"][input_ids] + weights["position"][: input_ids.shape[1]]
    x = x + weights["segment"][token_type_ids]
    return F.layer_norm(x, x.shape[-1:], weights["norm.weight"], weights["norm.bias"], eps)


def half_types_stay(function, *args, of, **options):
    """What comes of arguments in the two short types of floats is of that type too."""
    for dtype in (torch.float16, torch.bfloat16):

        def short(tree, dtype=dtype):
            return map_leaves(lambda leaf: leaf.to(dtype) if torch.is_tensor(leaf)
                              and leaf.is_floating_point() else leaf, tree)  # fmt: skip

        out = function(*short(args), **options)
        types = [str(leaf.dtype) for leaf in leaves(out) if torch.is_tensor(leaf)]
        checks.same(types, [str(dtype)] * len(types), of=f"the types of {of} for {dtype}",
                    mistakes={"float32 comes of a shorter type: tensors keep their type": (
                        lambda out: "torch.float32" in out)})  # fmt: skip


# --- 2. pretraining_losses ---


def loss_case(seed=3, labels=(0, 1, 0, 0, 1), masks=4, dtype=torch.float64, bare=()):
    """The slots that count ask for id 0 too; those that do not hold any id. In the rows `bare` no
    slot counts."""
    generator = checks.generator(seed)
    batch = len(labels)
    words = 3 * torch.randn(batch, masks, VOCAB, generator=generator, dtype=dtype)
    ids = torch.randint(VOCAB, (batch, masks), generator=generator)
    weights = (torch.rand(batch, masks, generator=generator) < 0.6).to(dtype)
    weights[:, 0], ids[0, 0] = 1, 0
    weights[list(bare)] = 0
    pairs = torch.randn(batch, 2, generator=generator, dtype=dtype)
    return words, ids, weights, pairs, torch.tensor(labels)


def tied_case():
    """Logits of which several are the largest, and most so far above the others that these have a
    probability of 0."""
    words, ids, weights, pairs, labels = loss_case(10, labels=(0, 1, 1, 0, 1, 0), masks=9)
    return 1e3 * words.round(), ids, weights, 1e3 * pairs.round(), labels


def right_losses(words, ids, weights, pairs, labels):
    batch = {"masked_lm_ids": ids, "masked_lm_weights": weights, "next_sentence_labels": labels}
    return tuple(model.pretraining_losses(words, pairs, batch))


def of_one_loss(student, case, which):
    """One of the two losses, the right one, and what arrives at its logits."""
    loss = checks.parts(student.pretraining_losses(*case), "words", "pairs")[which]
    logits = (case[0], case[3])[which]
    leaf = logits.clone().requires_grad_()
    given = (leaf, *case[1:]) if which == 0 else (*case[:3], leaf, case[4])
    right = right_losses(*given)[which]
    right.backward()
    upstream = tuple(torch.tensor(float(i == which), dtype=logits.dtype) for i in range(2))
    name = ("word_logits", "pair_logits")[which]
    _, found = student.pretraining_losses.grad(*case, wrt=(name,), upstream=upstream)
    return loss, right.detach(), found[name], leaf.grad


@pytest.mark.hint(2)
def test_the_loss_of_the_words_counts_the_slots_that_are_asked(student):
    for case in (loss_case(), loss_case(4, (1,), 7), loss_case(5, dtype=torch.float32),
                 loss_case(8, bare=[1]), loss_case(9, bare=[0, 3, 4]), tied_case()):  # fmt: skip
        loss, right, gradient, right_gradient = of_one_loss(student, case, 0)
        words, ids, weights = case[0].flatten(0, 1), case[1].flatten(), case[2].flatten()
        each = F.cross_entropy(words, ids, reduction="none")
        asked = weights * (ids != 0)
        below = words.amax(1) - words.gather(1, ids[:, None])[:, 0]
        checks.same(
            loss,
            right,
            of="the loss of the words",
            mistakes=lambda: {
                "the mask does nothing: a mean was taken before the weights came": each.mean(),
                "the mask does nothing: a mean was taken before the weights came, and slots of "
                "id 0 were left out": F.cross_entropy(words, ids, ignore_index=0),
                "divided by the number of slots, not of those that count": (each * weights).mean(),
                "the sum is not divided by anything": (each * weights).sum(),
                "divided by the number of examples, not of slots that count": (
                    (each * weights).sum() / len(case[1])
                ),
                "the losses of the rows are averaged: a row with few masks weighs more": (
                    ((each * weights).view(case[1].shape).sum(1) / case[2].sum(1)).mean()
                ),
                "slots that ask for id 0 are left out: a slot counts by its weight alone": (
                    (each * asked).sum() / asked.sum()
                ),
                "slots that ask for id 0 are left out, but counted below": (
                    (each * asked).sum() / weights.sum()
                ),
                "where a probability is 0, its logarithm is taken from the largest logit alone: "
                "several may be as large": (
                    (torch.where(torch.exp(-each) == 0, below, each) * weights).sum()
                    / weights.sum()
                ),
            },
        )
        checks.same(gradient, right_gradient, of="the gradient of the word logits", mistakes={
            "no gradient arrives: detach, item or no_grad cuts the graph": (
                lambda out: out is None)})  # fmt: skip
    _, _, _, pairs, labels = loss_case(4, (1,))
    each_id = normal_of(1, 210, 210), torch.arange(210)[None], torch.ones(1, 210).double()
    loss, _ = checks.parts(student.pretraining_losses(*each_id, pairs, labels), "words", "pairs")
    checks.same(loss, right_losses(*each_id, pairs, labels)[0],
                of="the loss of the words, where the slots ask for the ids 0 to 209", mistakes={
                    "slots of some ids are left out, as those of [UNK] or [MASK]: a slot counts by "
                    "its weight alone": lambda out: True})  # fmt: skip
    a_batch_as_large_as_in_pretraining(student, pairs, labels)


def a_batch_as_large_as_in_pretraining(student, pairs, labels):
    """8 texts with up to 20 slots each, and 30,522 words: five million logits. Later texts have
    fewer slots that count, and smaller losses."""
    rows, masks, vocab = 8, 20, 30_522 - checks.anew(9)
    ids = torch.randint(vocab, (rows, masks), generator=checks.generator(21))
    own = 2.0 * torch.arange(rows).float()[:, None].repeat(1, masks)
    logits = torch.zeros(rows, masks, vocab).scatter_(2, ids[:, :, None], own[:, :, None])
    weights = (torch.arange(masks) < 18 - 2 * torch.arange(rows)[:, None]).float()
    each = torch.log(vocab - 1 + own.double().exp()) - own
    of_rows = (each * weights).sum(1) / weights.sum(1)
    loss, _ = checks.parts(
        student.pretraining_losses(
            logits, ids, weights, pairs.expand(rows, 2).float(), labels.expand(rows)
        ),
        "words",
        "pairs",
    )
    checks.same(
        loss,
        ((each * weights).sum() / weights.sum()).float(),
        of=f"the loss of the words of {rows} texts with {masks} slots and {vocab:,} words",
        tolerance=1e-4,
        mistakes={
            "the losses of the rows are averaged: a row with few masks weighs more": (
                of_rows.mean().float()
            ),
            "a large batch is read in parts, and the means of the parts are averaged: all slots "
            "that count weigh the same": lambda out: True,
        },
    )


def test_both_classes_of_next_sentence_learn(student):
    for case in (loss_case(8, bare=[1]), loss_case(9, bare=[0, 3, 4]),
                 loss_case(), loss_case(4, (0, 0, 0)), loss_case(6, (1,)), loss_case(7, (0,)),
                 tied_case(),
                 ):  # fmt: skip
        loss, right, gradient, right_gradient = of_one_loss(student, case, 1)
        pairs, labels = case[3:]
        each = F.cross_entropy(pairs, labels, reduction="none")
        checks.same(
            loss,
            right,
            of=f"the loss of the pairs, labels {labels.tolist()}",
            mistakes=lambda: {
                "ignore_index=0 leaves out IsNext: that class never learns": (
                    F.cross_entropy(pairs, labels, ignore_index=0)
                ),
                "ignore_index=0 leaves out IsNext: that class never learns (all of them, and the "
                "mean of nothing)": lambda out: bool(out.isnan()),
                "IsNext counts for nothing in the sum": (each * labels).mean(),
                "the labels are turned about: 0 = IsNext is the first logit": (
                    F.cross_entropy(pairs, 1 - labels)
                ),
                "a sum, not a mean": each.sum(),
            },
        )
        checks.same(gradient, right_gradient, of="the gradient of the pair logits", mistakes={
            "no gradient arrives: detach, item or no_grad cuts the graph": (
                lambda out: out is None)})  # fmt: skip
    checks.leaves_no_trace(student.pretraining_losses, *case)
    half_types_stay(student.pretraining_losses, *loss_case(), of="the losses")


# --- 3. accumulated_gradient ---


def parts_of_a_batch(sizes, *, seed=3, hidden=4, vocab=VOCAB, dtype=torch.float64):
    """Parts with so many labels that count, among others that do not."""
    generator = checks.generator(seed)
    found = []
    for tokens, counted in sizes:
        labels = torch.randint(vocab, (tokens,), generator=generator)
        labels[torch.randperm(tokens, generator=generator)[counted:]] = -100
        x = torch.randn(tokens, hidden, generator=generator, dtype=dtype)
        found.append((x, labels))
    weight = torch.randn(vocab, hidden, generator=generator, dtype=dtype)
    return weight, found


def gradient_of(weight, parts, share):
    """Σ over the parts: share(part) times the gradient of the sum of its losses."""
    total = torch.zeros_like(weight)
    for x, labels in parts:
        leaf = weight.clone().requires_grad_()
        F.cross_entropy(F.linear(x, leaf), labels, reduction="sum").backward()
        total += leaf.grad * share(labels)
    return total


@pytest.mark.hint(3)
@pytest.mark.weight(2)
def test_the_parts_of_a_batch_have_the_gradient_of_the_whole(student):
    for sizes, dtype in [(((7, 6), (7, 1), (5, 3)), torch.float64), (((4, 3),), torch.float64),
                         (((6, 2), (3, 0), (8, 8)), torch.float64),
                         (((7, 6), (9, 2)), torch.float32)]:  # fmt: skip
        weight, parts = parts_of_a_batch(sizes, dtype=dtype)
        n, tokens = len(parts), sum(len(labels) for _, labels in parts)

        def counted(labels):
            return max(1, int((labels != -100).sum()))

        count = sum(int((labels != -100).sum()) for _, labels in parts)
        checks.same(
            student.accumulated_gradient(weight, parts),
            gradient_of(weight, parts, lambda labels, count=count: 1 / count),
            of=f"the gradient, with {[c for _, c in sizes]} labels that count",
            mistakes=lambda: {
                "a mean of means: a part with few labels weighs as much as one with many": (
                    gradient_of(weight, parts, lambda labels, n=n: 1 / n / counted(labels))
                ),
                "the means of the parts are added up, not averaged": (
                    gradient_of(weight, parts, lambda labels: 1 / counted(labels))
                ),
                "parts are weighed by their tokens: labels of -100 do not count": gradient_of(
                    weight, parts, lambda labels, t=tokens: len(labels) / t / counted(labels)
                ),
                "divided by all tokens: labels of -100 do not count": (
                    gradient_of(weight, parts, lambda labels, t=tokens: 1 / t)
                ),
                "divided by the number of parts, not of labels": (
                    gradient_of(weight, parts, lambda labels, n=n: 1 / n)
                ),
                "sums, not divided by anything": gradient_of(weight, parts, lambda labels: 1),
                "only the last part counts: gradients must add up": (
                    gradient_of(weight, parts[-1:], lambda labels, count=count: 1 / count)
                ),
            },
        )
    checks.leaves_no_trace(student.accumulated_gradient, weight, parts)
    weight, (one, other) = parts_of_a_batch(((7, 6), (5, 2)), seed=22)
    twice = [one, other, one]
    call = student.accumulated_gradient.trace(
        weight, twice, before=("accumulated_gradient", (weight, [other]), {})
    )
    checks.same(call.value, gradient_of(weight, twice, lambda labels: 1 / 14),
                of="the gradient where the first part and the last are the same objects", mistakes={
                    "a part that stands in the list twice is read once": (
                        lambda out: True)})  # fmt: skip


# --- 4. initial_weights ---

DRAWN = ["bert.encoder.layer.0.attention.self.query.weight",
         "bert.encoder.layer.0.attention.self.key.weight", "bert.pooler.dense.weight",
         "cls.predictions.decoder.weight"]  # fmt: skip
EMBEDDINGS = ["bert.embeddings.word_embeddings.weight",
              "bert.embeddings.position_embeddings.weight"]  # fmt: skip
SHAPES = {
    **{EMBEDDINGS[0]: (600, 150), EMBEDDINGS[1]: (150, 150)},
    **{"bert.embeddings.LayerNorm.weight": (150,), "bert.embeddings.LayerNorm.bias": (150,)},
    **{DRAWN[0]: (250, 150), DRAWN[1]: (250, 150), DRAWN[2]: (250, 150), DRAWN[3]: (600, 150)},
    "bert.pooler.dense.bias": (150,),
    "cls.predictions.transform.LayerNorm.weight": (150,),
    "cls.predictions.bias": (600,),
}
WITHIN_TWO = math.erf(2 / math.sqrt(2))


def values_of(student, names):
    """All drawn numbers of these parameters, once their types and shapes are right."""
    shapes = {name: (size[0] + checks.anew(90), *size[1:]) for name, size in SHAPES.items()
              if name in names or name not in (*DRAWN, *EMBEDDINGS)}  # fmt: skip
    weights = student.initial_weights(shapes, TorchRng(7))
    zeros = {name: torch.zeros(shape) for name, shape in shapes.items()}
    if type(weights) is dict:
        for name in set(shapes) - {*DRAWN, *EMBEDDINGS}:
            ones = name.endswith("LayerNorm.weight")
            checks.same(weights.get(name), torch.full(shapes[name], float(ones)), of=name)
    checks.same({n: 0 * w if torch.is_tensor(w) else w for n, w in weights.items()}
                if type(weights) is dict else weights, zeros, of="the weights, times 0"
                )  # fmt: skip
    again = student.initial_weights(shapes, TorchRng(7))
    checks.same(again, weights, of="the weights of the same generator again",
                mistakes={"a draw does not come from generator": lambda out: True})  # fmt: skip
    rows = {tuple(weights[name][1].tolist()) for name in names}
    checks.that(len(rows) == len(names), "two matrices hold the same numbers",
                likely="the generator is seeded anew for each: here every parameter is drawn"
                )  # fmt: skip
    for name in names:
        zeros = int((weights[name] == 0).all(dim=1).sum())
        checks.that(
            not zeros,
            f"{name}: {zeros} of its rows hold zeros alone",
            likely="padding_idx of nn.Embedding: here the row of [PAD] is drawn too",
        )
    drawn = torch.cat([weights[name].flatten() for name in names])
    checks.that(different(drawn) > 0.9 * len(drawn),
                f"{len(drawn)} numbers are only {different(drawn)} different ones",
                likely="each number of a parameter is a draw of its own")  # fmt: skip
    return drawn.double() / 0.02


def different(numbers):
    """How many different ones there are; NumPy sorts many times faster than `Tensor.unique`."""
    return len(np.unique(numbers.numpy()))


def follows_the_cut_normal(z, of):
    """Numbers in units of 0.02: each stretch of them has the share that it should."""
    total, size = len(z), z.abs()
    edge = int((size > 1.999).sum())
    std = float(z.std())
    checks.that(
        edge < 0.02 * total, f"{of}: {edge} of {total} lie at two deviations or beyond",
        likely="N(0, 1): nn.Embedding's own first values, fifty times too large" if std > 10 else
        "clamp heaps up at the edges what should be drawn again"
        if float(size.max()) < 2.001 else
        "nothing is cut: trunc_normal_ takes its limits a and b in absolute numbers, and they "
        "are -2 and 2 unless given" if 0.97 < std < 1.03 else
        f"the deviation is {0.02 * std:.3g}, not 0.02",
    )  # fmt: skip
    checks.that(float(size.max()) < 2.001, f"{of}: {0.02 * float(size.max()):.4f} lies beyond two "
                "deviations, 0.04", likely="nothing is cut: trunc_normal_ takes its limits a and b "
                "in absolute numbers, and they are -2 and 2 unless given")  # fmt: skip
    checks.that(different(size) > 0.9 * total,
                f"{of}: {total} numbers are only {different(size)} different ones, signs "
                "aside", likely="numbers are drawn once and used again, perhaps with another sign: "
                "every number is a draw of its own")  # fmt: skip
    for limit in (0.25, 0.5, 1.0, 1.5, 1.8, 1.99):
        checks.share(int((size < limit).sum()), total,
                     math.erf(limit / math.sqrt(2)) / WITHIN_TWO,
                     of=f"{of}: the share within {limit} deviations",
                     mistakes={"uniform, not normal": limit / 2,
                               "the deviation is too small: 0.01": math.erf(limit * math.sqrt(2)),
                               "the deviation was raised so that 0.02 is left after the cut": (
                                   math.erf(0.8796 * limit / math.sqrt(2))
                                   / math.erf(0.8796 * math.sqrt(2)))}
                     )  # fmt: skip
    checks.share(int((z > 0).sum()), total, 0.5, of=f"{of}: the share above 0")


@pytest.mark.hint(2)
def test_embeddings_start_as_small_as_the_rest(student):
    follows_the_cut_normal(values_of(student, EMBEDDINGS), "the embeddings")


@pytest.mark.hint(3)
def test_normal_draws_are_cut_at_two_deviations(student):
    follows_the_cut_normal(values_of(student, DRAWN), "the dense weights")
    checks.leaves_no_trace(student.initial_weights, {DRAWN[0]: (3, 2)}, TorchRng(7))
    checks.draws_from_its_generator(student.initial_weights, {DRAWN[0]: (3, 2)}, TorchRng(7))
    every_parameter_of_a_model_is_drawn(student)


def every_parameter_of_a_model_is_drawn(student):
    shapes = parameter_shapes(
        BertConfig(vocab_size=60, hidden_size=16, num_hidden_layers=12, num_attention_heads=2,
                   intermediate_size=32, max_position_embeddings=20)
    ) | {DRAWN[3]: (60, 16), "classifier.weight": (30, 16), "classifier.bias": (30,),
         "unbiased.weight": (30, 16)}  # fmt: skip
    weights = student.initial_weights(shapes=shapes, generator=TorchRng(8))
    fixed = {name: torch.full(shape, float(name.endswith("weight")))
             for name, shape in shapes.items() if "LayerNorm" in name or name.endswith("bias")
             }  # fmt: skip
    checks.same({name: weights.get(name) for name in fixed}, fixed, of="the weights of a model")
    drawn = [(name, weights[name].double() / 0.02) for name in shapes if name not in fixed]
    for name, z in drawn:
        checks.share(int((z.abs() < 0.5).sum()), z.numel(),
                     math.erf(0.5 / math.sqrt(2)) / WITHIN_TWO,
                     of=f"{name}: the share within half a deviation",
                     mistakes={"it is 0, or much smaller than 0.02: all else is drawn alike": 1.0}
                     )  # fmt: skip
    of_all = torch.cat([z.flatten() for _, z in drawn]).abs()
    checks.that(different(of_all) > 0.99 * len(of_all),
                f"{len(of_all)} numbers of a model are only {different(of_all)} different ones, "
                "signs aside", likely="matrices or layers share their numbers, or the decoder is "
                "tied to the embeddings: here every parameter is drawn")  # fmt: skip
    above = torch.tensor([int((z > 0).sum()) for _, z in drawn])
    checks.that(spread(above, torch.tensor([z.numel() for _, z in drawn]), 0.5) > 0.2,
                f"of each of {len(drawn)} parameters almost exactly half of the numbers are above "
                "0", likely="counts are fixed: every number is a draw of its own")  # fmt: skip
    table = student.initial_weights({DRAWN[0]: (300, 200)}, TorchRng(9))[DRAWN[0]]
    sweep.is_unrelated(table > 0, of="the numbers above 0 of a matrix")
    table = student.initial_weights({DRAWN[0]: (30_522, 131)}, TorchRng(10))[DRAWN[0]]
    largest = max(float(table.max()), -float(table.min()))
    # Where trunc_normal_ draws, about one is as large; by chance, none.
    edge = int((table == largest).sum() + (table == -largest).sum())
    checks.that(edge < 10, f"{edge} of 4 million numbers of a table are exactly {largest:g}",
                likely="what lies beyond two deviations is drawn again a few times, and then cut"
                )  # fmt: skip
    table = table[:, :72]
    numbers, times = np.unique(table.numpy(), return_counts=True)
    part = len(numbers) / table.numel()  # of 24 bits nearly all are
    checks.that(part > 0.7, f"of 2 million numbers of a table only {part:.0%} are "
                "different ones", likely="draws are used again: every number is a draw of its own"
                )  # fmt: skip
    checks.that(times.max() < 300, f"of 2 million numbers of a table {times.max()} are "
                f"{numbers[times.argmax()]:g}", likely="what lies beyond two deviations is set to "
                "a number at last: draw it again until it lies within")  # fmt: skip
    shapes = {f"bert.encoder.layer.{i}.intermediate.dense.weight": (30, 34) for i in range(200)}
    several = student.initial_weights(shapes, TorchRng(11))
    again = sum(w.numel() - different(w) for w in several.values())  # by chance, about 2
    checks.that(again < 30, f"in 200 matrices of 30 by 34 numbers {again} are there once more",
                likely="where too few draws lie within two deviations, the first are used again: "
                "draw anew until there are enough")  # fmt: skip
    parts = ("query", "key", "value", "output", "dense", "gate", "up", "down", "head", "scale")
    shapes = {f"bert.encoder.layer.{i}.{part}.weight": (1, 3) for i in range(100) for part in parts}
    found = student.initial_weights(shapes, TorchRng(12))
    numbers = torch.cat([found[name] for name in shapes]).abs().sort(1).values
    several = len(numbers) - len(numbers.unique(dim=0))
    checks.that(several == 0, f"of 1,000 small parameters {several} have the numbers of another, "
                "signs and order aside", likely="each parameter has a generator of its own, and "
                "some of their seeds are the same: draw from the one generator")  # fmt: skip


# --- 5. update ---


def names_and_shapes(layers):
    return parameter_shapes(
        BertConfig(vocab_size=5, hidden_size=3, num_hidden_layers=layers, num_attention_heads=1,
                   intermediate_size=4, max_position_embeddings=4)
    )  # fmt: skip


NAMES = names_and_shapes(1)


def update_case(seed, scale=1.0, dtype=torch.float64):
    generator = checks.generator(seed)
    return {name: (scale * torch.randn(shape, generator=generator, dtype=torch.float64)).to(dtype)
            for name, shape in NAMES.items()}  # fmt: skip


def step(weights, gradients, *, rate, decay=0.0, decayed=is_decayed):
    return {name: w - rate * (gradients[name] + (decay if decayed(name) else 0.0) * w)
            for name, w in weights.items()}  # fmt: skip


def clipped(gradients, max_norm):
    leaves = [g.clone().requires_grad_() for g in gradients.values()]
    for leaf, g in zip(leaves, gradients.values(), strict=True):
        leaf.grad = g.clone()
    optimizer.clip_gradients(leaves, max_norm)
    return dict(zip(gradients, [leaf.grad for leaf in leaves], strict=True))


def test_all_gradients_are_clipped_by_one_factor(student):
    for max_norm, scale, dtype in [(1.0, 1.0, torch.float64), (0.3, 5.0, torch.float64),
                                   (1.0, 1e-3, torch.float64), (1e9, 1.0, torch.float64),
                                   (1.0, 0.0, torch.float64), (1.0, 1.0, torch.float32)
                                   ]:  # fmt: skip
        weights, gradients = update_case(3, dtype=dtype), update_case(4, scale, dtype=dtype)
        norms = {name: g.norm() for name, g in gradients.items()}
        norm = torch.stack(list(norms.values())).norm()

        def after(found, weights=weights):
            return step(weights, found, rate=0.5)

        def each(factor, gradients=gradients, after=after):
            return after({name: g * factor(name, g) for name, g in gradients.items()})

        # torch adds 1e-6 to the norm that it divides by
        right = after(clipped(gradients, max_norm)) if dtype is torch.float32 else (
            each(lambda n, g: min(1.0, max_norm / norm)))  # fmt: skip
        checks.same(
            student.update(weights, gradients, learning_rate=0.5, weight_decay=0.0,
                           max_norm=max_norm),
            right,
            tolerance=2e-6,
            of=f"the weights (no decay, limit {max_norm:g}, norm {float(norm):.3g})",
            mistakes=lambda: {
                "each gradient is clipped by its own norm: it is that of all together": each(
                    lambda n, g: min(1.0, max_norm / norms[n])),
                "nothing is clipped": after(gradients),
                "gradients below the limit are scaled up to it": each(
                    lambda n, g: max_norm / norm),
                "the norms are added up: it is the root of the sum of squares": each(
                    lambda n, g: min(1.0, max_norm / sum(norms.values()))),
                "the root of the sum of squares is missing": each(
                    lambda n, g: min(1.0, max_norm / norm**2)),
                "each number is cut at the limit: the direction changes": after(
                    {n: g.clamp(-max_norm, max_norm) for n, g in gradients.items()}),
                "the largest norm of one gradient is taken, not that of all together": each(
                    lambda n, g: min(1.0, max_norm / max(norms.values()))),
            },
        )  # fmt: skip
    weights, gradients = update_case(3), dict(reversed(update_case(4).items()))
    for max_norm, factor, likely in [
        (1e9, 1.0, "gradients are taken in their order, not by their names"),
        (0.0, 0.0, "a limit of 0 clips nothing: it should leave nothing of a gradient"),
    ]:
        checks.same(
            student.update(weights, gradients, learning_rate=0.5, weight_decay=0.0,
                           max_norm=max_norm),
            step(weights, gradients, rate=0.5 * factor),
            of=f"the weights (no decay, limit {max_norm:g}, the gradients in another order)",
            mistakes={likely: lambda out: True},
        )  # fmt: skip
    some, few = ({name: given[name] for name in [*NAMES][:7]} for given in (weights, gradients))
    checks.leaves_no_trace(student.update, some, few, learning_rate=0.1, weight_decay=0.1,
                           max_norm=1.0)  # fmt: skip
    values_that_look_like_nothing(student)


def values_that_look_like_nothing(student):
    """A new model, whose biases are 0, with gradients that add up to 0 each; those of the same
    shape are the same, as one object."""
    generator = checks.generator(23)
    weights = {name: 0 * w if name.endswith("bias") else w for name, w in update_case(7).items()}
    balanced = {}
    for shape in dict.fromkeys(w.shape for w in weights.values()):
        eighths = torch.randint(-8, 9, shape, generator=generator) / 8
        eighths.view(-1)[0] = 2
        balanced[shape] = (eighths - eighths.flatten().flip(0).view(shape)).double()
    gradients = {name: balanced[w.shape] for name, w in weights.items()}
    settings = dict(learning_rate=0.5, weight_decay=0.0, max_norm=1.0)
    of_all = [float(g.square().sum()) for g in gradients.values()]

    def clipped_by(squares):
        factor = min(1.0, 1 / math.sqrt(sum(squares)))
        return step(weights, {n: factor * g for n, g in gradients.items()}, rate=0.5)

    once = clipped_by(float(g.square().sum()) for g in balanced.values())
    not_zero = [x for x, w in zip(of_all, weights.values(), strict=True) if w.any()]
    call = student.update.trace(weights, gradients, **settings,
                                before=("update", (gradients, gradients), settings)
                                )  # fmt: skip
    checks.same(
        call.value,
        clipped_by(of_all),
        tolerance=2e-6,
        of="the weights of a new model, whose biases are 0, with gradients that add up to 0, and "
        "are one object where they are equal (no decay, limit 1)",
        mistakes={
            "gradients that are one object count once in the norm: each name counts": once,
            "the gradients of weights that are 0 do not count in the norm": clipped_by(not_zero),
            "a gradient whose numbers add up to 0 is taken for none": lambda out: True,
        },
    )


def test_biases_and_layer_norms_are_not_decayed_all_else_is(student):
    for rate, decay in [(0.5, 0.3), (0.1, 0.01)]:
        weights, gradients = update_case(5), update_case(6, 1e-3)

        def wrong(decayed=is_decayed, *, rate=rate, decay=decay):
            return step(weights, gradients, rate=rate, decay=decay, decayed=decayed)

        checks.same(
            student.update(weights, gradients, learning_rate=rate, weight_decay=decay,
                           max_norm=1e9),
            wrong(),
            of=f"the weights (not clipped, rate {rate:g}, decay {decay:g})",
            mistakes=lambda: {
                "layer norms are decayed: no parameter is called gamma or beta here": wrong(
                    lambda name: not name.endswith("bias")),
                "biases are decayed": wrong(lambda name: "LayerNorm" not in name
                                            or name.endswith("LayerNorm.bias")),
                "biases are decayed, those of layer norms aside": wrong(
                    lambda name: "LayerNorm" not in name),
                "everything is decayed, biases and layer norms too": wrong(lambda name: True),
                "nothing is decayed": wrong(lambda name: False),
                "the embeddings are not decayed: they should be": wrong(
                    lambda name: is_decayed(name) and "embeddings" not in name),
                "the embeddings are not decayed, and layer norms are": wrong(
                    lambda name: not name.endswith("bias") and "embeddings" not in name),
                "the decay is not multiplied by the rate": wrong(decay=decay / rate),
                "only biases and layer norms are decayed": wrong(lambda name: not is_decayed(name)),
                "0.01 is written in for the decay": wrong(decay=0.01),
            },
        )  # fmt: skip
    for name in filter(is_decayed, weights):
        some = gradients | {name: 0 * gradients[name]}
        checks.same(
            student.update(weights, some, learning_rate=0.5, weight_decay=0.3, max_norm=1e9),
            step(weights, some, rate=0.5, decay=0.3),
            of=f"the weights (decay 0.3, the gradient of {name} is 0)",
            mistakes=lambda: {"what has a gradient of 0 is left as it is: it is decayed too": (
                lambda out: True)},
        )  # fmt: skip
    still = {name: 0 * gradient for name, gradient in gradients.items()}
    for rate, found in ((0.5, still), (0.0, gradients)):
        call = student.update.trace(weights, found, learning_rate=rate, weight_decay=0.3,
                                    max_norm=1.0)  # fmt: skip
        checks.that(not call.shared, "update returns a tensor that it was given: it returns new "
                    "ones", likely="where nothing changes, the old tensor is returned: return a "
                    "copy")  # fmt: skip
    half_types_stay(student.update, weights, gradients, of="the weights", learning_rate=0.5,
                    weight_decay=0.3, max_norm=1.0)  # fmt: skip
    mixed, few = ({name: t.bfloat16() if t.ndim > 1 else t.float() for name, t in given.items()}
                  for given in (weights, gradients))  # fmt: skip
    out = student.update(mixed, few, learning_rate=0.5, weight_decay=0.3, max_norm=1.0)
    checks.same({name: str(t.dtype) for name, t in out.items()},
                {name: str(t.dtype) for name, t in mixed.items()},
                of="the types of bfloat16 matrices beside float32 biases")  # fmt: skip


# --- 6. mask_tokens ---

MASK, SPECIALS = 103, torch.tensor([0, 100, 101, 102, 103])
ORDINARY = torch.tensor([i for i in range(2000) if i not in SPECIALS.tolist()])


def masked(student, *, rows=900, seed=7, specials=SPECIALS, ordinary=ORDINARY, **rate):
    """Rows of [CLS] 120 words [SEP] 120 words [SEP] 40 of padding; ids, shown, labels. If
    `ordinary` is not all there are, none of them stands in the rows."""
    generator = checks.generator(5)
    known = ORDINARY if ordinary is ORDINARY else ORDINARY[~torch.isin(ORDINARY, ordinary)]
    ids = known[torch.randint(len(known), (rows, 283), generator=generator)]
    ids[:, 0], ids[:, 121], ids[:, 242], ids[:, 243:] = 101, 102, 102, 0
    out = student.mask_tokens(input_ids=ids, generator=TorchRng(seed), mask_id=MASK,
                              special_ids=specials, ordinary_ids=ordinary, **rate)  # fmt: skip
    shown, labels = checks.parts(out, "shown", "labels")
    checks.same(torch.zeros_like(shown), 0 * ids, of="the ids (their shape and type)")
    selected = labels != -100
    checks.same(labels, torch.where(selected, ids, -100), of="the labels", mistakes=lambda: {
        "the labels were taken after the tokens were replaced":
            torch.where(selected, shown, -100)})  # fmt: skip
    checks.that(not ((shown != ids) & ~selected).any(), "tokens were replaced that have no label",
                likely="tokens are replaced by another draw than the one that selects")  # fmt: skip
    return ids, shown, labels


def test_special_tokens_and_padding_are_not_selected(student):
    ids, _, labels = masked(student, rate=0.3, rows=120)
    for token, name in [(101, "[CLS]"), (102, "[SEP]"), (0, "padding")]:
        found = int((labels[ids == token] != -100).sum())
        total = int((ids == token).sum())
        checks.that(found == 0, f"{found} of {total} tokens {name} are selected",
                    likely=f"special tokens are candidates: {name} is among special_ids"
                    )  # fmt: skip
    more = torch.cat([SPECIALS, torch.arange(500, 900)]).flip(0)
    ids, _, labels = masked(student, rate=0.3, rows=60, specials=more)
    checks.that(not (labels[(ids >= 500) & (ids < 900)] != -100).any(),
                "ids 500 to 899 are among special_ids, and some are selected",
                likely="special_ids is not used, or taken for sorted")  # fmt: skip


def test_80_percent_are_masked_10_random_10_unchanged(student):
    ids, shown, labels = masked(student, rate=0.4)
    words = ~torch.isin(ids, SPECIALS)
    checks.share(int((labels[words] != -100).sum()), int(words.sum()), 0.4,
                 of="the share of the words that are selected at rate 0.4",
                 mistakes={"the rate argument is ignored: it is always 0.15": 0.15,
                           "what stays as it is lost its label": 0.36})  # fmt: skip
    ids_of_few = torch.tensor([[101, 11, 12, 13, 14, 15, 16, 102]]).repeat(3000, 1)
    out = student.mask_tokens(ids_of_few, TorchRng(8), mask_id=MASK, special_ids=SPECIALS,
                              ordinary_ids=ORDINARY, rate=0.1)  # fmt: skip
    few = checks.parts(out, "shown", "labels")[1] != -100
    checks.share(int((~few.any(1)).sum()), 3000, 0.9**6,
                 of="how many rows of 6 words have nothing selected at rate 0.1",
                 mistakes={"each row has one at least: every token has a draw of its own": 0.0}
                 )  # fmt: skip
    selected = (labels != -100) & words
    is_selected, is_hidden = labels[words] != -100, (shown == MASK)[selected]
    hidden, kept = selected & (shown == MASK), selected & (shown == ids)
    total = int(selected.sum())
    counts = int(hidden.sum()), total - int((hidden | kept).sum()), int(kept.sum())
    named = {
        "random and unchanged are drawn independently, and unchanged wins where both fall":
            (0.81, 0.09, 0.1),
        "random and unchanged are drawn independently, and random wins where both fall":
            (0.81, 0.1, 0.09),
        "random is drawn over [MASK], so that a masked token may become random": (0.72, 0.1, 0.18),
        "random is 10% of what is left, not half of it": (0.8, 0.02, 0.18),
        "nothing is left unchanged": (0.8, 0.2, 0.0),
        "nothing is random": (0.8, 0.0, 0.2),
        "everything becomes [MASK]": (1.0, 0.0, 0.0),
        "nothing is random or unchanged but by a tenth": (0.9, 0.05, 0.05),
        "the unchanged are missing, [MASK] has their share": (0.9, 0.1, 0.0),
    }  # fmt: skip
    fits = [name for name, shares in named.items() if all(
        abs(count / total - p) < 0.006 for count, p in zip(counts, shares, strict=True)
        )]  # fmt: skip
    fates = [("[MASK]", 0.8), ("random", 0.1), ("unchanged", 0.1)]
    for i, (name, wanted) in enumerate(fates):
        checks.share(counts[i], total, wanted, of=f"the share of the selected that are {name}",
                     mistakes={likely: named[likely][i] for likely in fits[:1]})  # fmt: skip
    words = shown[selected & ~hidden & ~kept]
    is_word = torch.isin(words, ORDINARY)
    checks.that(bool(is_word.all()), f"{int((~is_word).sum())} of {len(words)} random words are "
                "not of ordinary_ids", likely="places in ordinary_ids are taken for ids"
                if int(words.max()) < len(ORDINARY) else "special_ids are drawn as random words"
                if bool(torch.isin(words[~is_word], SPECIALS).all()) else "")  # fmt: skip
    checks.that(len(words.unique()) > 1500 and int(words.max()) > 1900,
                f"{len(words)} random words are only {len(words.unique())} different ones",
                likely="one random word is drawn for all, or from a part of ordinary_ids"
                )  # fmt: skip
    ids, _, labels = masked(student, rows=300)
    words = ~torch.isin(ids, SPECIALS)
    checks.share(int((labels[words] != -100).sum()), int(words.sum()), 0.15,
                 of="the share of the words that are selected at the default rate")  # fmt: skip
    _, _, labels = masked(student, rows=300, rate=0.004)
    checks.share(int((labels[words] != -100).sum()), int(words.sum()), 0.004,
                 of="the share of the words that are selected at rate 0.004",
                 mistakes={"the rate is rounded to whole percents": 0.01})  # fmt: skip
    a_small_batch_may_have_no_mask(student)
    each_token_has_draws_of_its_own(student)
    sweep.is_unrelated(is_selected, of="selected words")
    sweep.is_unrelated(is_hidden, of="selected words that became [MASK]")
    settings = dict(mask_id=MASK, special_ids=SPECIALS, ordinary_ids=ORDINARY)
    checks.leaves_no_trace(student.mask_tokens, ids[:3], TorchRng(7), **settings)
    checks.draws_from_its_generator(student.mask_tokens, ids[:3], TorchRng(7), **settings)
    a_small_batch_draws_like_a_large_one(student)


def a_small_batch_may_have_no_mask(student):
    """Of four tokens none is selected in every second batch: in no batch of 32 once in 1e10."""
    for seed in range(32):
        out = student.mask_tokens(ORDINARY[None, :4], TorchRng(seed), mask_id=MASK,
                                  special_ids=SPECIALS, ordinary_ids=ORDINARY)  # fmt: skip
        if bool((checks.parts(out, "shown", "labels")[1] == -100).all()):
            return
    checks.fail("in each of 32 batches of four tokens one was selected: every second has none",
                likely="one token at least is selected")  # fmt: skip


TOGETHER = "the draws of some tokens are made of those of others: every token has its own"


def a_small_batch_draws_like_a_large_one(student):
    """Two rows of two tokens, drawn many times, and as many rows, or columns, of a large batch."""
    five = ORDINARY[5:10]  # more than there are tokens in a short row
    given = dict(mask_id=MASK, special_ids=SPECIALS, ordinary_ids=five)

    def shown_and_labels(ids, seed, rate):
        out = student.mask_tokens(ids, TorchRng(seed), rate=rate, **given)
        return checks.parts(out, "shown", "labels")

    def drawn(ids, seed, rate):
        shown, labels = shown_and_labels(ids, seed, rate)
        return labels != -100 if rate < 1 else shown == MASK

    ids = ORDINARY[20:36:4].view(2, 2)
    selected = torch.stack([drawn(ids, seed, 0.5).flatten() for seed in range(120)])
    for each, what in ((False, "none"), (True, "all")):
        checks.share(int((selected == each).all(1).sum()), len(selected), 1 / 16,
                     of=f"how many batches of 2 by 2 tokens have {what} selected at rate 0.5",
                     mistakes={TOGETHER: 0.0})  # fmt: skip
    tokens_have_draws_of_their_own(selected, 0.5, limit=6, of="a batch of 2 by 2", what="are "
                                   "selected at rate 0.5")  # fmt: skip
    hidden = torch.stack([drawn(ids, seed, 1.0).flatten() for seed in range(90)])
    tokens_have_draws_of_their_own(hidden, 0.8, limit=7.5, most=2, of="a batch of 2 by 2",
                                   what="become [MASK] at rate 1")  # fmt: skip
    many = torch.full((4_000, 4), 17)
    for rate, p in ((0.5, 0.5), (0.3, 0.3), (1.0, 0.8)):
        rows, columns = drawn(many, 7, rate), drawn(many.T.contiguous(), 8, rate).T
        for table, of in ((rows, "a row"), (columns, "a column")):
            what = "are selected" if rate < 1 else "become [MASK]"
            tokens_have_draws_of_their_own(table, p, limit=8, of=of, what=f"{what} at rate {rate:g}"
                                           )  # fmt: skip
    shown = shown_and_labels(many, 9, 1.0)[0], shown_and_labels(many.T.contiguous(), 10, 1.0)[0].T
    for table, of in zip(shown, ("row", "column"), strict=True):
        one, other = (table[:, places] for places in ([0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3]))
        both = torch.isin(one, five) & torch.isin(other, five)
        checks.share(int((one == other)[both].sum()), int(both.sum()), 0.2,
                     of=f"how often two random words of a {of} of 4 are the same, of five words",
                     mistakes={f"one random word is drawn for a {of}": 1.0, "random words are "
                               "dealt like cards: each is drawn from all of them": 0.0}
                     )  # fmt: skip


def tokens_have_draws_of_their_own(happened, p, *, limit, most=4, of, what):
    """What happened to four tokens, a row for each time: the products of any one to `most` of them,
    less their means, are 0 in the mean, within so many standard deviations. (Few times allow
    products of more to be far from it.)"""
    scores = (happened.double() - p) / math.sqrt(p * (1 - p))
    for count in range(1, most + 1):
        for places in itertools.combinations(range(4), count):
            sums = float(scores[:, places].prod(1).sum()) / math.sqrt(len(scores))
            checks.that(abs(sums) < limit, f"whether tokens {places} of {of} {what}: {sums:.1f} "
                        "standard deviations from what draws of their own give, in "
                        f"{len(scores)} times", likely=TOGETHER if count > 1 else ""
                        )  # fmt: skip


def spread(counts, tries, p):
    """The variance of counts beside that of independent draws: 1, within 0.3, for 900 rows."""
    return float(((counts - tries * p) ** 2).sum() / (tries * p * (1 - p)).sum())


def each_token_has_draws_of_its_own(student):
    few = ORDINARY[::200]  # ten words, none of which stands in the text
    ids, shown, labels = masked(student, rate=0.4, ordinary=few)
    words = ~torch.isin(ids, SPECIALS)
    selected = words & (labels != -100)
    hidden = selected & (shown == MASK)
    middle = torch.zeros_like(words)
    middle[:, :121] = True
    top = torch.arange(len(ids))[:, None] < len(ids) // 2
    for part, name in [(top, "the first half of the rows"), (~top, "the second half of the rows"),
                       (middle, "the first half of a row"), (~middle, "the second half of a row"),
                       ]:  # fmt: skip
        here = words & part
        checks.share(int((selected & here).sum()), int(here.sum()), 0.4,
                     of=f"the share of the words that are selected in {name}")  # fmt: skip
        checks.share(int((hidden & here).sum()), int((selected & here).sum()), 0.8,
                     of=f"the share of the selected that are [MASK] in {name}",
                     mistakes={"the fates go by order, not by draws": 1.0})  # fmt: skip
    for of, found, expected, likely in [
        ("the number of selected words in a row", spread(selected.sum(1), words.sum(1), 0.4), 1,
         "a fixed number of words is selected in each row: each has a draw of its own"),
        ("the number of [MASK]s among a row's selected", spread(
            hidden.sum(1), selected.sum(1), 0.8), 1,
         "a fixed share of the selected becomes [MASK] in each row: each has a draw of its own"),
    ]:  # fmt: skip
        checks.that(abs(found - expected) < 0.3, f"{of}: expected the variance of independent "
                    f"draws, got {found:.2f} times that", likely=likely if found < 0.1 else (
                        "one draw decides for many tokens of a row" if found > 5 else "")
                    )  # fmt: skip
    others = {"above": (1, 0), "below": (-1, 0), "on the left": (0, 1), "on the right": (0, -1)}
    others = {of: [mask.roll(by, (0, 1)) for mask in (words, selected)]
              for of, by in others.items()}  # fmt: skip
    others["at the same place from the end"] = [mask.flip(0, 1) for mask in (words, selected)]
    for of, (is_word, is_selected) in others.items():
        here = selected & ~hidden & is_word
        checks.share(int(is_selected[here].sum()), int(here.sum()), 0.4,
                     of=f"the share of the words {of} that are selected, where a selected word did "
                     "not become [MASK]", mistakes={
                         "one draw tells a token's fate and selects another: each is drawn": 0.0}
                     )  # fmt: skip
    row, column = torch.nonzero(selected & torch.isin(shown, few), as_tuple=True)
    drawn = shown[row, column]
    for word in few.tolist():
        checks.share(int((drawn == word).sum()), len(drawn), 0.1,
                     of=f"how often word {word} of 10 ordinary_ids is the random one",
                     mistakes={f"word {word}, one of the ends of ordinary_ids, is never drawn": 0.0}
                     if word in (few[0], few[-1]) else {})  # fmt: skip
    pairs = row[1:] == row[:-1]
    checks.share(int((drawn[1:] == drawn[:-1])[pairs].sum()), int(pairs.sum()), 0.1,
                 of="how often two random words of a row that follow each other are the same",
                 mistakes={"one random word is drawn for each row": 1.0})  # fmt: skip
    two = torch.tensor([[11, 12, 12, 11, 12, 11]]).repeat(3000, 1)
    out = student.mask_tokens(two, TorchRng(9), mask_id=MASK, special_ids=SPECIALS,
                              ordinary_ids=torch.tensor([11, 12]), rate=1.0)  # fmt: skip
    same = int((checks.parts(out, "shown", "labels")[0] == two).sum())
    checks.share(same, two.numel(), 0.15, of="how many words are as they were, where a random "
                 "word is one of two", mistakes={"the random word is never the one that stood "
                                                   "there: each is as likely": 0.1})  # fmt: skip


# --- 7. batches ---


@pytest.mark.weight(2)
def test_a_resumed_run_reads_what_it_would_have_read(student):
    for examples, size, seed in [(30, 5, 0), (23, 4, 7), (9, 3, 7)]:
        seed += checks.anew(1_000_000)
        steps = examples // size
        settings = dict(examples=examples, batch_size=size, seed=seed)
        stop = 3 * steps + 2
        run = student.batches(0, stop, **settings)
        sizes = [len(batch) for batch in run] if type(run) is list else run
        checks.same(sizes, [size] * stop, of="the sizes of the batches")
        epochs = [np.concatenate(run[i : i + steps]).tolist() for i in range(0, 3 * steps, steps)]
        for number, read in enumerate(epochs):
            checks.that(len(set(read)) == len(read) and set(read) <= set(range(examples)),
                        f"epoch {number} of {examples} examples reads {sorted(read)}",
                        likely="an example is read twice in an epoch: one order for all its steps"
                        )  # fmt: skip
        checks.that(epochs[0] != epochs[1] != epochs[2] != epochs[0],
                    "two epochs have the same order",
                    likely="the order does not depend on the epoch")  # fmt: skip
        checks.that(run != student.batches(0, stop, **settings | {"seed": seed + 1}),
                    "another seed gives the same order", likely="seed is not used")  # fmt: skip
        for start in (steps + 2, 1, steps - 1, steps, 2 * steps, stop - 1, stop):
            place = start % steps
            checks.same(
                student.batches(start, stop, **settings),
                run[start:],
                of=f"the batches from step {start} on, {steps} steps an epoch",
                mistakes=lambda: {
                    "the order begins anew: the run reads again what it read at first": (
                        run[: stop - start]
                    ),
                    "the place is right, but the order is that of the first epoch": (
                        lambda out, run=run, place=place, steps=steps: (
                            out[: steps - place] == run[place:steps]
                        )
                    ),
                    "it begins at its epoch's first step, not at its own": (
                        lambda out, run=run, start=start, steps=steps: (
                            out[:1] == run[start // steps * steps :][:1]
                        )
                    ),
                    "the order is drawn anew from the step, or from a generator that has not "
                    "drawn what a run from step 0 has": (
                        lambda out, size=size, n=stop - start: [len(b) for b in out] == [size] * n
                    ),
                },
            )
    run = student.batches(0, 5, examples=6, batch_size=3, seed=1)  # the example of the page
    checks.same([sorted(run[0] + run[1]), sorted(run[2] + run[3])], [list(range(6))] * 2,
                of="the examples of two epochs")  # fmt: skip
    checks.same(student.batches(3, 5, examples=6, batch_size=3, seed=1), run[3:],
                of="batches(3, 5, examples=6, batch_size=3, seed=1)")  # fmt: skip
    no_epoch_has_the_order_of_another(student)
    settings = dict(examples=4_000, batch_size=4_000)
    orders = student.batches(0, 9, **settings, seed=5)
    of_seeds = [student.batches(3, 4, **settings, seed=seed)[0] for seed in range(6)]
    for several, of in ((orders, "the orders of epochs"), (of_seeds, "the orders of seeds")):
        sweep.are_unrelated(several, of=of)
    checks.leaves_no_trace(student.batches, 4, 9, examples=10, batch_size=3, seed=1)
    each_epoch_draws_its_batches(student)


def each_epoch_draws_its_batches(student):
    examples, size = 400, 8
    found = student.batches(start=0, stop=100, examples=examples, batch_size=size, seed=3)
    kinds = {type(batch) for batch in found} | {type(i) for batch in found for i in batch}
    checks.that(kinds == {list, int}, "expected a list of lists of whole numbers, got some of "
                f"{', '.join(sorted(kind.__name__ for kind in kinds))}")  # fmt: skip
    of_second = {i: batch for batch, read in enumerate(found[50:]) for i in read}
    again = sum(of_second[a] == of_second[b] for batch in found[:50]
                for a, b in itertools.combinations(batch, 2))  # fmt: skip
    sweep.is_about(
        again,
        50 * math.comb(size, 2) * (size - 1) / (examples - 1),
        likely="an epoch has the batches of another, in another order: draw all examples anew",
        of="pairs of examples that one batch of epoch 0 holds, and one of epoch 1 too",
    )
    read = {
        i for batch in student.batches(0, 40, examples=23, batch_size=20, seed=2) for i in batch
    }
    checks.same(sorted(read), [*range(23)], of="the examples that 40 epochs read", mistakes={
        "some examples are never read: each epoch has an order of all": lambda out: True
        })  # fmt: skip


def no_epoch_has_the_order_of_another(student):
    """One step an epoch. Of 16 examples there are 2e13 orders: two are hardly ever the same."""

    def orders(start, stop, seed):
        return student.batches(start, stop, examples=16, batch_size=16, seed=seed)

    found = {}
    # With the 400 epochs of seed 1 the others meet any factor up to 5,000: factor * seed + epoch.
    others = [(0, epoch, epoch + 1) for epoch in (*range(400, 5_000, 400), 5_000)]
    others += [(12, 0, 10), (123, 0, 10)]  # epoch 3 of seed 12 is not epoch 23 of seed 1
    for seed, start, stop in [*((seed, 0, 400) for seed in range(6)), *others]:
        read = orders(start, stop, seed)
        sizes = [len(batch) for batch in read] if type(read) is list else read
        checks.same(sizes, [16] * (stop - start), of="the sizes of the batches")
        for epoch, order in enumerate(read, start):
            a, b = found.setdefault(tuple(order), (seed, epoch))
            if (a, b) == (seed, epoch):
                continue
            factor = abs(epoch - b) // max(1, abs(seed - a))
            is_so = a != seed and all(
                orders(n + factor, n + factor + 1, 0) == orders(n, n + 1, 1) for n in (3, 8)
            )
            checks.fail(
                f"epoch {epoch} of seed {seed} has the order of epoch {b} of seed {a}",
                likely=f"the generator's seed is the same number for both, as in {factor} * seed + "
                "epoch: multiply the seed by a larger number" if is_so else "")  # fmt: skip


# --- 8. collate ---


def pairs_of(lengths, seed=3):
    rng = checks.rng(seed)
    return [{"a": rng.integers(200, 900, a).tolist(), "b": rng.integers(200, 900, b).tolist(),
             "is_next": is_next} for a, b, is_next in lengths]  # fmt: skip


BATCHES = [
    ((3, 2, True), (1, 1, False), (4, 5, False)),
    ((2, 3, False),),
    ((1, 4, True), (4, 1, True)),
]


def collated(student, lengths, **ids):
    ids = dict(cls_id=101, sep_id=102, pad_id=0) | ids
    pairs = pairs_of(lengths)
    pairs[0]["a"][0] = ids["pad_id"]  # a token of the text may have this id
    out = student.collate(pairs, **ids)
    names = ["input_ids", "token_type_ids", "attention_mask", "next_sentence_labels"]
    checks.that(type(out) is dict and sorted(out) == sorted(names),
                f"expected a dict of {', '.join(names)}, got "
                f"{', '.join(map(str, out)) if type(out) is dict else type(out).__name__}"
                )  # fmt: skip
    return out, pairs, ids


def right_batches(student):
    """What came of each batch; the ids, segments and mask it should have; its [SEP]s, counted."""
    for lengths in BATCHES:
        for ids in ({}, {"cls_id": 1, "sep_id": 2, "pad_id": 3}):
            out, pairs, ids = collated(student, lengths, **ids)
            longest = max(a + b + 3 for a, b, _ in lengths)
            rows = torch.full((len(pairs), longest), ids["pad_id"])
            segments, mask = torch.zeros_like(rows), torch.zeros_like(rows)
            for row, pair in enumerate(pairs):
                first = [ids["cls_id"], *pair["a"], ids["sep_id"]]
                text = [*first, *pair["b"], ids["sep_id"]]
                rows[row, : len(text)] = torch.tensor(text)
                segments[row, len(first) : len(text)] = 1
                mask[row, : len(text)] = 1
            yield out, rows, segments, mask, torch.cumsum(rows == ids["sep_id"], 1)


@pytest.mark.hint(1)
def test_the_batch_says_what_is_padding(student):
    for out, rows, _, mask, seps in right_batches(student):
        checks.same(out["input_ids"], rows, of="the ids", mistakes={
            "padding stands on the left": lambda out, rows=rows: out[:, -1].eq(102).all()
                and not rows[:, -1].eq(102).all()})  # fmt: skip
        checks.same(out["attention_mask"], mask, of="the attention mask", mistakes=lambda: {
            "the mask is dropped: every token counts, padding too": torch.ones_like(mask),
            "the padding is found by its id, 0 or pad_id: a token of the text may have it too": (
                lambda out, rows=rows: any(
                    torch.equal(out, (rows != pad).long()) for pad in (0, 3))),
            "the mask is turned about: 1 is a token, 0 is padding": 1 - mask,
            "the last [SEP] is hidden": mask * (seps < 2),
            "it is made of truth values: the type is int64": (
                lambda out, mask=mask: bool((out == mask.bool()).all())),
        })  # fmt: skip


@pytest.mark.hint(1)
def test_the_batch_says_what_is_b(student):
    for out, _, segments, mask, seps in right_batches(student):
        is_sep = torch.diff(seps, prepend=torch.zeros_like(seps[:, :1]))
        checks.same(out["token_type_ids"], segments, of="the segment ids", mistakes=lambda: {
            "the segment ids are dropped: all tokens belong to A": torch.zeros_like(mask),
            "padding has segment 1: it is 0 there": (seps - is_sep).clamp(max=1),
            "the [SEP] of A belongs to A": seps.clamp(max=1) * mask,
            "the last [SEP] belongs to B: its segment is 1": segments * (seps < 2),
            "A and B are exchanged: A is segment 0": (1 - segments) * mask,
        })  # fmt: skip


def test_label_0_is_the_next_sentence(student):
    for lengths in BATCHES:
        out, pairs, ids = collated(student, lengths)
        labels = torch.tensor([int(not pair["is_next"]) for pair in pairs])
        checks.same(
            out["next_sentence_labels"],
            labels,
            of="the labels",
            mistakes=lambda: {
                "the labels are turned about: 0 is IsNext, so int(is_next) is wrong": 1 - labels,
                "truth values, where the type is int64": labels.bool(),
                "an axis too many": labels[:, None],
            },
        )
    checks.leaves_no_trace(student.collate, pairs, **ids)


# --- Any other size ---


def normal_of(*shape, seed=1, scale=1.0):
    generator = checks.generator(seed)
    return scale * torch.randn(*shape, generator=generator, dtype=torch.float64)


def test_embed_holds_for_any_size(student):
    draw = sweep.Draw(11)

    def cases():
        for batch, seq, hidden, words, segments in (
            *(draw.shape(5) for _ in range(9)),
            (1_501, 2, 3, 5, 2),
            (2, 1_501, 3, 5, 2),
            (2, 3, 4_003, 5, 2),
            (2, 3, 4, 70_000, 2),
            (2, 3, 4, 5, 300),
            (3, 4, 1, 5, 2),
            (3, 4, 2, 5, 2),
        ):
            scale = 10.0 ** float(draw.rng.integers(-6, 5))
            weights = {
                "word": normal_of(words, hidden, scale=scale, seed=2),
                "position": normal_of(seq + 2, hidden, scale=scale, seed=3),
                "segment": normal_of(segments, hidden, scale=scale, seed=4),
                "norm.weight": normal_of(hidden),
                "norm.bias": normal_of(hidden, seed=5),
            }
            far = float(draw.rng.choice([0.0, 1e5])) * scale  # E[x²] - E[x]² loses ten digits
            far *= hidden > 2  # of one or two numbers any rounding is divided by eps alone
            weights["word"] += far
            ids, types = (
                torch.from_numpy(draw.ids(batch, seq, entries=n)) for n in (words, segments)
            )
            eps = float(draw.rng.choice([1e-12, 1e-5, 0.3])) if hidden > 2 else 0.3
            yield sweep.Case(
                f"(batch, seq, hidden) {batch, seq, hidden}, {words} words, {segments} "
                f"segments, numbers within {scale:g} of {far:g}, eps {eps:g}",
                (),
                {"input_ids": ids, "token_type_ids": types, "weights": weights, "eps": eps},
            )
        ids, types, weights = embedding_case(3, 4, 65, scale=1e-6)
        given = {"input_ids": ids, "token_type_ids": types, "weights": weights}
        yield sweep.Case("eps 0, numbers near 1e-06", (), given | {"eps": 0.0})
        weights = {name: w * 1e6 for name, w in weights.items() if "norm" not in name} | {
            name: w for name, w in weights.items() if "norm" in name}  # fmt: skip
        weights["word"] += 1e3
        given["weights"] = {name: w.float() for name, w in weights.items()}
        yield sweep.Case("float32 and numbers within 1 of 1000", (), given | {"eps": 1e-12})

    sweep.agrees(student.embed, normalized, cases())
    for shape in ((2, 7, 5), (1, 9, 4), (5, 1, 3), (40, 2, 6), (2, 300, 3), (2, 3, 900)):
        ids, types, weights = embedding_case(*shape, seed=sum(shape))
        ids[-1, -1], types[0, 0], types[-1, -1] = 0, 1, 0
        if shape[1] < 3:  # as the row of [PAD] is in many a checkpoint
            weights["word"][0] = 0
        eps = 0.3 if shape[1] == 7 else 1e-12
        embed_sends_gradients_back(student, ids, types, weights, eps=eps,
                                   of=f"(batch, seq, hidden) {shape}, eps {eps:g}")  # fmt: skip
    half_types_stay(student.embed, *embedding_case(2, 3, 5), of="the embeddings", eps=1e-3)


def test_losses_and_gradients_hold_for_any_size(student):
    draw = sweep.Draw(12)

    def cases():
        for rows, masks, vocab in (
            *(draw.shape(3) for _ in range(8)),
            (1_501, 2, 3),
            (2, 1_501, 3),
            (2, 3, 40_001),
        ):
            scale = float(draw.rng.choice([1e-6, 1.0, 1e3, 1e6]))
            weights = torch.from_numpy(draw.mask(rows, masks)).double()
            if rows == 1_501:  # 3,001 slots count
                weights.fill_(1.0)[700, 1] = 0.0
            yield sweep.Case(
                f"(batch, masks, vocab) {rows, masks, vocab}, logits near {scale:g}",
                (),
                {
                    "word_logits": normal_of(rows, masks, vocab, scale=scale),
                    "word_ids": torch.from_numpy(draw.ids(rows, masks, entries=vocab)),
                    "word_weights": weights,
                    "pair_logits": normal_of(rows, 2, scale=scale, seed=6),
                    "pair_labels": torch.from_numpy(draw.ids(rows, entries=2)),
                },
                magnitude=1e-6 * scale,  # a loss of nearly 0 has the digits of the logits
            )

    names = ("words", "pairs")
    sweep.agrees(student.pretraining_losses, lambda **given: right_losses(*given.values()), cases(),
                 names=names)  # fmt: skip
    for case in cases():
        given, wrt = case.options, ("word_logits", "pair_logits")
        upstream = tuple(torch.tensor(x, dtype=torch.float64) for x in (0.7, -1.3))
        _, found = student.pretraining_losses.grad(**given, wrt=wrt, upstream=upstream)
        logits = {name: given[name].clone().requires_grad_() for name in wrt}
        right = checks.gradients_of(right_losses(*(given | logits).values()),
                                    list(logits.values()), upstream)  # fmt: skip
        for name, expected in zip(wrt, right, strict=True):
            sweep.same(found[name], expected, of=f"the gradient of {name} for {case.of}",
                       magnitude=1.0 / len(given["pair_labels"]))  # fmt: skip

    def parts():
        for number, sizes in enumerate((
            *(
                [(draw.size(), int(draw.rng.integers(0, 2))) for _ in range(draw.size())]
                for _ in range(6)
            ),
            [(3, 1)] * 140,
            [(4_003, 4_000), (2, 1)],
            [(0, 0), (3, 2), (0, 0)],
        )):  # fmt: skip
            sizes = [*sizes, (2, 2)]
            vocab, scale = (VOCAB, 301)[number == 2], (1.0, 1e3)[number % 2]
            weight, found = parts_of_a_batch(sizes, hidden=draw.size(), seed=len(sizes),
                                             vocab=vocab)  # fmt: skip
            yield sweep.Case(
                f"{len(sizes)} parts of {min(sizes)[0]} to {max(sizes)[0]} tokens, {vocab} words, "
                f"numbers near {scale:g}",
                (),
                {"weight": weight, "micro_batches": [(scale * x, labels) for x, labels in found]},
            )

    def right(weight, micro_batches):
        count = sum(int((labels != -100).sum()) for _, labels in micro_batches)
        return gradient_of(weight, micro_batches, lambda labels: 1 / count)

    sweep.agrees(student.accumulated_gradient, right, parts())
    weight, found = parts_of_a_batch([(4, 3), (5, 1)])
    expected = right(weight, found)
    tied, far = weight.clone(), [(1e3 * x, labels) for x, labels in found]
    tied[4:8] = tied[:4] = tied[8:12]  # each logit is that of two other words too
    checks.same(
        student.accumulated_gradient(tied, far),
        right(tied, far),
        tolerance=1e-7,
        of="the gradient where three words have the same vector, numbers near 1000",
    )
    out, _ = student.accumulated_gradient.grad(weight, found, wrt=("weight",), upstream=())
    checks.same(out.detach(), expected, of="the gradient for a weight that asks for one")
    half_types_stay(student.accumulated_gradient, weight, found, of="the gradient")


def test_update_holds_for_any_size(student):
    draw = sweep.Draw(13)

    def cases():
        for number in range(14):
            known = names_and_shapes(12 if number == 12 else 1)
            if number == 10:  # those of a part of a model, by themselves
                known = {"LayerNorm.weight": (3,), "LayerNorm.bias": (3,), "dense.bias": (4,),
                         "weight": (2, 3), "dense.weight": (3, 2), "unbiased.weight": (2, 2)
                         }  # fmt: skip
            names = [*known] if number != 11 else ["bert.pooler.dense.weight"]
            shapes = [draw.shape(len(known[name])) for name in names]
            if number == 13:
                shapes[0], shapes[1] = (2, 4_003), (4_003, 2)
            # Far from 1: the 1e-6 that torch's clip_grad_norm_ adds to the norm is not seen there.
            scale = 10.0 ** float(draw.rng.choice([-1, 1]) * draw.rng.integers(7, 30))
            weights = {n: normal_of(*s, seed=3) for n, s in zip(names, shapes, strict=True)}
            gradients = {
                n: normal_of(*s, seed=i, scale=scale)
                for i, (n, s) in enumerate(zip(names, shapes, strict=True))
            }
            settings = {
                "learning_rate": float(draw.rng.choice([0.0, 1e-5, 2.0])),
                "weight_decay": float(draw.rng.choice([0.0, 0.01, 3.0])),
                "max_norm": float(draw.rng.choice([0.0, 1e-3, 1.0, 1e40])),
            }
            if number == 10:
                settings |= {"learning_rate": 2.0, "weight_decay": 3.0, "max_norm": 1.0}
            order = draw.rng.permutation(names)  # a dict of its own: it may have another order
            gradients = {str(name): gradients[str(name)] for name in order}
            yield sweep.Case(
                f"{len(names)} weights, gradients near {scale:g}, {settings}",
                (),
                {"weights": weights, "gradients": gradients, **settings},
            )

    def right(weights, gradients, *, learning_rate, weight_decay, max_norm):
        norm = math.sqrt(sum(float(g.square().sum()) for g in gradients.values()))
        gradients = {n: g * min(1.0, max_norm / norm) for n, g in gradients.items()}
        return step(weights, gradients, rate=learning_rate, decay=weight_decay)

    sweep.agrees(student.update, right, cases())
    many = {f"bert.encoder.layer.{i}.output.dense.weight": normal_of(1, 2, seed=i)
            for i in range(530)}  # fmt: skip
    checks.same(
        student.update(many, many, learning_rate=0.5, weight_decay=0.0, max_norm=1.0),
        right(many, many, learning_rate=0.5, weight_decay=0.0, max_norm=1.0),
        tolerance=2e-6, of="530 weights", mistakes={
            "only some of the gradients count in the norm": lambda out: True},
    )  # fmt: skip


def test_mask_tokens_draws_finely(student):
    ids_of_32_bits_stay_so(student)
    few, many = (torch.full((rows, 100), 7) for rows in (2, 8))
    given = dict(mask_id=3, special_ids=torch.tensor([0, 3]), ordinary_ids=torch.arange(4, 60))
    out = student.mask_tokens(torch.zeros(40, 100).long(), TorchRng(1), rate=0.5, **given)
    checks.that(
        bool((checks.parts(out, "shown", "labels")[1] == -100).all()),
        "of 4,000 special tokens some are selected",
    )
    loops = sweep.runs_a_loop(student.mask_tokens, (few, TorchRng(1)), (many, TorchRng(1)), **given)
    tokens, rate = (400_000, 1e-4) if loops else (3_000_000, 8.5e-6)
    _, labels = checks.parts(
        student.mask_tokens(torch.full((tokens // 1000, 1000), 7), TorchRng(7), rate=rate, **given),
        "shown",
        "labels",
    )
    sweep.is_about(
        int((labels != -100).sum()),
        tokens * rate,
        likely=sweep.COARSE,
        of=f"of {tokens:,} tokens selected, at the rate {rate}",
    )
    every_token_may_be_selected(student, given)
    given |= {"ordinary_ids": torch.arange(1000, 101_000)}
    shown, _ = checks.parts(
        student.mask_tokens(torch.full((70, 1000), 7), TorchRng(7), rate=1.0, **given),
        "shown",
        "labels",
    )
    sweep.is_unrelated(shown == 3, of="which of 70,000 words became [MASK] at rate 1")
    words = shown[shown >= 1000]
    checks.that(len(words) > 5_000, f"{len(words)} of 70,000 selected tokens became another word")
    sweep.is_fine(words.numpy() - 1000, 100_000, of="the random words from 100,000 ordinary_ids")
    if not loops:
        rare_words_are_any_of_many(student, given)
    checks.leaves_no_trace(student.mask_tokens, few[:, :9], TorchRng(7), **given)


def rare_words_are_any_of_many(student, given):
    """Of a million tokens few are selected, and a tenth of these is one of a million words: where
    the draw that selects a token tells its word, too, it has few digits left."""
    given = given | {"ordinary_ids": torch.arange(1000, 1_001_000)}
    out = student.mask_tokens(torch.full((1000, 1000), 7), TorchRng(4), rate=0.005, **given)
    shown = checks.parts(out, "shown", "labels")[0]
    times = np.unique(shown[shown >= 1000].numpy(), return_counts=True)[1]
    count = int(times.sum())
    checks.share(count, 1_000_000, 0.0005, of="the share of random words at rate 0.005")
    sweep.is_about(
        int((times * (times - 1) // 2).sum()),
        count * (count - 1) / 2e6,
        of=f"pairs of the same word among {count} random words of a million, at rate 0.005",
        likely="a draw is used twice, to select a token and for its word: each has its own",
    )


def every_token_may_be_selected(student, given):
    """At a rate of 1 all are, at 0 none, also where a list of ids is empty or of one."""
    given = given | {"ordinary_ids": torch.tensor([5])}
    for number, (shape, specials) in enumerate([
        ((40, 1000), [0, 3]), ((2_003, 2), []), ((1, 700), [8]), ((1, 1), []), ((90, 5), [0, 8])
    ]):  # fmt: skip
        ids = torch.full(shape, 7)
        for rate, right in ((1.0, ids), (0.0, torch.full_like(ids, -100))):
            given |= {"special_ids": torch.tensor(specials, dtype=torch.int64), "rate": rate}
            laid, more = sweep.laid_out((ids, given), number)
            out = student.mask_tokens(laid, TorchRng(2), **more)
            checks.same(
                checks.parts(out, "shown", "labels")[1],
                right,
                of=f"the labels at rate {rate:g}, shape {shape}, special_ids {specials}",
                mistakes={
                    "a rate of 0 is taken for the default": lambda out, r=rate: not r,
                    "some places of a text are never selected, or only so many": (
                        lambda out, r=rate: bool(r)
                    ),
                },
            )

    ids = torch.tensor([[given["mask_id"], 0, 5, 7], [1, 2, 9, 99]])
    given |= {"special_ids": torch.tensor([8]), "rate": 1.0}
    out = student.mask_tokens(ids, TorchRng(2), **given)
    checks.same(checks.parts(out, "shown", "labels")[1], ids,
                of="the labels at rate 1 where neither mask_id nor 0 is among special_ids",
                mistakes={"special_ids alone says what is not selected: mask_id, 0 and others are "
                          "ordinary unless they are in it": lambda out: True})  # fmt: skip


def ids_of_32_bits_stay_so(student):
    ids = ORDINARY[:600].int().view(20, 30)
    out = student.mask_tokens(ids, TorchRng(3), mask_id=MASK, special_ids=SPECIALS.int(),
                              ordinary_ids=ORDINARY.int())  # fmt: skip
    for name, found in zip(("ids", "labels"), checks.parts(out, "shown", "labels"), strict=True):
        checks.same(0 * found, 0 * ids, of=f"the {name} of text in int32 (their shape and type)",
                    mistakes={"the type is not that of input_ids": (
                        lambda out: out.dtype != torch.int32)})  # fmt: skip


def test_batches_are_shuffled_finely_at_any_step(student):
    for seed, examples in ((0, 20_000), (5, 50_001)):
        (order,) = student.batches(40, 41, examples=examples, batch_size=examples, seed=seed)
        checks.same(
            sorted(order), list(range(examples)), of=f"a batch of all {examples:,} examples, sorted"
        )
        sweep.is_shuffled(order, of=f"an order of {examples:,} examples, seed {seed}")
    sweep.are_unrelated([range(examples), order], of="the examples as they stand and the order")
    for seed, examples, size, start in ((1, 1, 1, 900), (2, 999, 3, 333 * 20), (3, 50, 7, 7 * 200)):
        steps = examples // size
        found = student.batches(
            start, start + steps + 1, examples=examples, batch_size=size, seed=seed
        )
        checks.same(
            [len(batch) for batch in found], [size] * (steps + 1), of="the sizes of the batches"
        )
        epoch = functools.reduce(operator.iadd, found[:steps], [])
        checks.that(
            len(set(epoch)) == len(epoch) and set(epoch) <= set(range(examples)),
            f"an epoch of {examples} examples in batches of {size} reads one twice",
        )
        again = student.batches(
            start + steps - 1, start + steps + 1, examples=examples, batch_size=size, seed=seed
        )
        checks.same(
            again,
            found[-2:],
            of=f"the last two of {steps + 1} batches, when they are asked for alone",
        )


def test_collate_holds_for_texts_of_any_length(student):
    rng = checks.rng(14)

    def cases():
        for lengths in (
            [(1, 1)],
            [(0, 3), (2, 0)],
            [(700, 900), (1, 2)],
            [(2_500, 3)],
            [(2, 3)] * 400,
            [(1, 0), (0, 0)],
            [(1, 2), (3, 4), (0, 1), (2, 2), (5, 1)],
        ):
            largest = int(rng.choice([40_000, 2**40]))
            pairs = [
                {
                    "a": rng.integers(0, largest, a).tolist(),
                    "b": rng.integers(0, largest, b).tolist(),
                    "is_next": bool(rng.integers(2)),
                }
                for a, b in lengths
            ]
            cls_id, sep_id, pad_id = rng.choice([0, 1, 65_536, largest], 3, False).tolist()
            if lengths == [(2_500, 3)]:
                pad_id = sep_id  # as where a vocabulary has one id for both
            for pair in pairs[::3]:  # a text may hold the special ids, too
                pair["a"][1:2], pair["b"][1:2] = [sep_id], [pad_id]
            yield sweep.Case(
                f"{len(pairs)} pairs of up to {max(map(sum, lengths))} tokens, ids up to "
                f"{largest:,}",
                (),
                dict(pairs=pairs, cls_id=cls_id, sep_id=sep_id, pad_id=pad_id),
            )

    def right(pairs, *, cls_id, sep_id, pad_id):
        longest = max(len(pair["a"]) + len(pair["b"]) for pair in pairs) + 3
        rows = {name: [] for name in ("input_ids", "token_type_ids", "attention_mask")}
        for pair in pairs:
            first, second = [cls_id, *pair["a"], sep_id], [*pair["b"], sep_id]
            rest = longest - len(first) - len(second)
            rows["input_ids"].append(first + second + [pad_id] * rest)
            rows["token_type_ids"].append([0] * len(first) + [1] * len(second) + [0] * rest)
            rows["attention_mask"].append([1] * (longest - rest) + [0] * rest)
        labels = [1 - int(pair["is_next"]) for pair in pairs]
        return {n: torch.tensor(r) for n, r in {**rows, "next_sentence_labels": labels}.items()}

    sweep.agrees(student.collate, right, cases())
