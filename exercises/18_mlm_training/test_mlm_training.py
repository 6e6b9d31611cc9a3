"""A training loop whose state is a value: right, shuffled, and the same however it is cut."""

import functools
import itertools
import math
import operator

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from autograder import checks, sweep
from autograder.codec import TorchRng
from bert_lowlevel.optimizer import Adam
from bert_paper import optimizer as chapter
from bert_run.config import AdamSettings
from bert_run.training_loop import learning_rate

WORDS = "bert.embeddings.word_embeddings.weight"
POSITIONS = "bert.embeddings.position_embeddings.weight"
NORM = "bert.embeddings.LayerNorm"
VOCAB, SEQ, HIDDEN, MASKS = 13, 7, 6, 3
# Factors that programs use.
PRIMES = (1_009, 7_919, 10_007, 31_337, 65_537, 100_003, 104_729, 999_983, 1_000_003, 1_299_709)
# Seeds and numbers of two places that meet where both are written side by side, perhaps with a 0
# between them or with zeros in front: 1 0 203 and 102 0 3, 123 4567 and 1234 567.
MEETING = [(1, 203), (102, 3), (1, 2_003), (1_002, 3), (203, 1), (3, 102), (12, 345), (123, 45),
           (345, 12), (45, 123), (123, 4_567), (1_234, 567), (1_234, 10_000), (12_341, 0)
           ]  # fmt: skip
SETTINGS = dict(seed=0, batch_size=4, peak=0.03, warmup_steps=3, total_steps=20)


def first_weights(dtype=torch.float64, seed=5):
    generator = checks.generator(seed)
    shapes = {WORDS: (VOCAB, HIDDEN), POSITIONS: (SEQ + 2, HIDDEN), f"{NORM}.weight": (HIDDEN,),
              f"{NORM}.bias": (HIDDEN,), "cls.predictions.bias": (VOCAB,)}  # fmt: skip
    return {name: (name == f"{NORM}.weight") + 0.2 * torch.randn(shape, generator=generator,
                                                                 dtype=dtype)
            for name, shape in shapes.items()}  # fmt: skip


def stories(examples=18, *, dtype=torch.float64, seed=6):
    """Rows in which each word comes twice, so that a hidden one can be known; uneven masks."""
    generator = checks.generator(seed)
    ids = torch.randint(3, VOCAB, (examples, SEQ), generator=generator)
    ids[:, 4:] = ids[:, 1:4].flip(1)
    ids[:, 0] = 1
    attention_mask = torch.ones_like(ids)
    ids[::5, 6], attention_mask[::5, 6] = 0, 0  # some are shorter
    positions = torch.tensor([2, 4, 1]).repeat(examples, 1)
    weights = (torch.rand(examples, MASKS, generator=generator) < 0.6).to(dtype)
    weights[:, 0] = 1
    return {"input_ids": ids.scatter(1, positions[:, :2], 2), "attention_mask": attention_mask,
            "masked_lm_positions": positions, "masked_lm_ids": ids.gather(1, positions),
            "masked_lm_weights": weights}  # fmt: skip


def odd_stories(examples=18):
    """Rows without a mask, or with unused slots before used ones; places and labels of 0, hidden
    tokens anywhere, visible ones of id 0; and arrays that the model does not read."""
    data, number = stories(examples, seed=16), torch.arange(examples)
    slots = data["masked_lm_weights"]
    slots[::3, 0], slots[::3, 1], slots[1::6] = 0, 1, 0
    data["masked_lm_positions"][1::2] = torch.tensor([0, 6, 0])
    data["masked_lm_positions"][4] = 0
    data["masked_lm_ids"][::4] = 0
    data["input_ids"][2::3, 3] = 0
    data["attention_mask"][::4, :2], data["attention_mask"][3::4, 4] = 0, 0
    return {"next_sentence_labels": number % 2, "is_long": number > 3} | data | {
        "scores": torch.ones(examples, 2, 3)}  # fmt: skip


def surprise(weights, batch, *, dropout=0.0, generator=None):
    """As the starter has it."""

    def drop(x):
        if not dropout:
            return x
        kept = torch.empty_like(x).bernoulli_(1 - dropout, generator=generator)
        return x * kept / (1 - dropout)

    def norm(x):
        return F.layer_norm(x, (HIDDEN,), weights[f"{NORM}.weight"], weights[f"{NORM}.bias"], 1e-12)

    visible = batch["attention_mask"].bool()[:, None, :]
    x = drop(norm(F.embedding(batch["input_ids"], weights[WORDS]) + weights[POSITIONS][:SEQ]))
    scores = (x @ x.mT / HIDDEN**0.5).masked_fill(~visible, -torch.inf)
    x = norm(x + drop(scores.softmax(-1) @ x))
    places = batch["masked_lm_positions"][:, :, None].expand(-1, -1, HIDDEN)
    logits = F.linear(x.gather(1, places), weights[WORDS], weights["cls.predictions.bias"])
    each = F.cross_entropy(logits.mT, batch["masked_lm_ids"], reduction="none")
    return (each * batch["masked_lm_weights"]).sum(), batch["masked_lm_weights"].sum()


def reference(weights, data, orders, *, peak, warmup_steps, total_steps, adds_up=False,
              forgets=False, by_slots=False, rate_of=None, after=False):  # fmt: skip
    """The chapter's optimizer and schedule over batches that are given; or one thing wrong."""
    moved = {name: weight.clone() for name, weight in weights.items()}
    adam, losses, collected = Adam.start(moved, AdamSettings()), [], {}
    for step, rows in enumerate(orders):
        batch = {name: tensor[rows] for name, tensor in data.items()}
        leaves = {name: weight.clone().requires_grad_() for name, weight in moved.items()}
        total, masks = surprise(leaves, batch)
        loss = total / (batch["masked_lm_weights"].numel() if by_slots else masks)
        found = torch.autograd.grad(loss, list(leaves.values()))
        gradients = dict(zip(leaves, found, strict=True))
        if adds_up:
            gradients = {n: g + collected.get(n, 0) for n, g in gradients.items()}
            collected = gradients
        if forgets:
            adam = Adam.start(moved, AdamSettings())
        rate = learning_rate(step, peak=peak, warmup_steps=warmup_steps, total_steps=total_steps)
        adam.update(moved, gradients, learning_rate=rate if rate_of is None else rate_of(step))
        if after:
            loss = torch.divide(*surprise(moved, batch))
        losses.append(loss.item())
    return {"weights": moved, "m": adam.first_moments, "v": adam.second_moments,
            "step": len(orders)}, losses  # fmt: skip


def would_give(part, arguments, tolerance):
    """Whether a wrong run, made only if it is asked for, has this state (0) or losses (1)."""
    return lambda out: not checks.difference(out, reference(**arguments)[part], "", tolerance)


@pytest.mark.weight(2)
def test_the_rate_rises_to_its_peak_and_falls_in_straight_lines(student):
    long = 100 + checks.anew(90)
    for peak, warmup, total in [(1e-4, 10, long), (5e-5, 0, 7), (3.0, 1, 3), (2.0, 5, 13),
                                (1.5, 4, 4), (1.5, 4, 5), (1.0, 10, 5)]:  # fmt: skip
        steps = {0, 1, warmup - 1, warmup, warmup + 1, total // 2, total - 1}
        steps = {s for s in steps if 0 <= s < total} | ({total} if total > warmup else set())
        for step in sorted(steps):
            right = learning_rate(step, peak=peak, warmup_steps=warmup, total_steps=total)
            named = {
                "the rate of the first step is 0: count from step + 1 during warm-up": (
                    step / warmup if step < warmup else None),
                "the fall is counted from step 0: the rate jumps down where the warm-up ends": (
                    (total - step) / total if step >= warmup else None),
                "there is no fall: the rate stays at its peak": 1.0 if step >= warmup else None,
                "there is no warm-up": (total - step) / total if step < warmup else None,
                "a warm-up longer than the run is cut short": (
                    (step + 1) / total if total < warmup else None),
                "the fall is a step late or early": (
                    (total - step - 1) / (total - warmup) if step >= warmup else None),
            }  # fmt: skip
            checks.same(
                student.learning_rate(step, peak=peak, warmup_steps=warmup, total_steps=total),
                right,
                of=f"the rate of step {step}, warm-up {warmup}, total {total}",
                mistakes=lambda: {
                    n: peak * share for n, share in named.items() if share is not None
                },
                tolerance=1e-15,
            )
    example = [student.learning_rate(step, peak=1, warmup_steps=2, total_steps=6)
               for step in range(6)]  # fmt: skip
    checks.same(example, [0.5, 1.0, 1.0, 0.75, 0.5, 0.25], of="the rates of the page's example")


def pass_of(student, number, *, seed, examples, batch_size):
    """The batches of one pass as lists of numbers, each looked at."""
    steps = examples // batch_size
    found = []
    for step in range(number * steps, (number + 1) * steps):
        rows = student.batch_indices(
            step, seed=seed + checks.anew(1_000_000), examples=examples, batch_size=batch_size
        )
        is_right = isinstance(rows, torch.Tensor) and rows.dtype == torch.int64
        if not is_right or rows.shape != (batch_size,):
            checks.same(torch.zeros_like(rows) if isinstance(rows, torch.Tensor) else rows,
                        torch.zeros(batch_size, dtype=torch.int64),
                        of=f"the indices of step {step}")  # fmt: skip
        found.append(rows.tolist())
        checks.that(min(found[-1]) >= 0 and max(found[-1]) < examples,
                    f"step {step} takes {found[-1]} of {examples} examples, which are "
                    f"numbered from 0 to {examples - 1}")  # fmt: skip
    return found


@pytest.mark.hint(2)
@pytest.mark.weight(3)
def test_each_pass_takes_examples_once_in_an_order_of_its_own(student):
    orders = {}
    for examples, batch_size in ((23, 5), (24, 4), (16, 16), (30, 1)):
        sizes = {"examples": examples, "batch_size": batch_size}
        for seed, number in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (7, 0)):
            batches = pass_of(student, number, seed=seed, **sizes)
            order = [row for batch in batches for row in batch]
            checks.that(
                len(set(order)) == len(order),
                f"pass {number} over {examples} examples takes one twice: {batches}",
                likely="the examples are drawn with replacement"
                if any(len(set(batch)) < batch_size for batch in batches)
                else "each batch is drawn by itself, or a new order begins within the pass: "
                "cut all batches of a pass out of one order",
            )
            orders[seed, number, examples] = order
        checks.that(orders[0, 0, examples] != sorted(orders[0, 0, examples]),
                    f"the first pass is not shuffled: {orders[0, 0, examples]}",
                    likely="the examples come in the order of the data")  # fmt: skip
    for (a, b), likely in {
        ((0, 0), (0, 1)): "every pass has the same order: draw it anew for each",
        ((0, 1), (0, 2)): "every pass after the first has the same order",
        ((0, 0), (1, 0)): "`seed` is not used",
        ((0, 1), (1, 0)): "the generator's seed is seed + pass, which is the same for both: "
                          "multiply the seed by a large number",
    }.items():  # fmt: skip
        same = [n for n in (23, 24, 16, 30) if orders[(*a, n)] == orders[(*b, n)]]
        checks.that(not same, f"seed {a[0]}, pass {a[1]} and seed {b[0]}, pass {b[1]} have one "
                    f"order: {orders[(*a, same[0])] if same else ''}",
                    likely=likely if len(same) == 4 else "")  # fmt: skip
    what_is_left_over_is_drawn_anew(student)


def what_is_left_over_is_drawn_anew(student):
    """Of 23 examples each pass leaves three over, whatever the pass before has left over."""
    passes = [pass_of(student, number, seed=3, examples=23, batch_size=5) for number in range(150)]
    left = [set(range(23)) - {row for batch in batches for row in batch} for batches in passes]
    never = sorted(set.intersection(*left))
    checks.that(not never, f"in 150 passes {never} never came",
                likely="what is left over is the same in each pass")  # fmt: skip
    begins = [set(batches[0]) for batches in passes]
    for next_ones, size, what in ((begins, 5, "in the first batch of"), (left, 3, "left over by")):
        found = sum(len(one & other) for one, other in zip(left, next_ones[1:], strict=False))
        sweep.is_about(found, 3 * 149 * size / 23,
                       of=f"how many examples that a pass leaves over are {what} the next",
                       likely="what is left over decides about the next pass: draw each from all "
                              "examples anew")  # fmt: skip


@pytest.mark.hint(3)
def test_no_two_passes_or_seeds_share_an_order(student):
    """One step a pass. Of 16 examples there are 2e13 orders: two are hardly ever the same."""

    def order_of(seed, number):
        rows = student.batch_indices(number, seed=seed, examples=16, batch_size=16)
        order = rows.tolist() if isinstance(rows, torch.Tensor) and rows.ndim == 1 else []
        if sorted(order) != list(range(16)):
            checks.fail(f"step {number}, one batch of all 16 examples: expected each of them once, "
                        f"got {rows}")  # fmt: skip
        return tuple(order)

    # So many that seeds of 20 bits meet by chance, too.
    wanted = [(seed, number) for seed in range(6) for number in range(400)]
    # With the 400 passes of seed 1 these meet any factor up to 10,000, as in factor * seed + pass.
    wanted += [(0, number) for number in range(400, 10_001, 400)]
    wanted += [(seed, 0) for seed in (10_000, 2**16, 10**6, 2**20)]
    # These meet where both numbers are written side by side: 1 and 23, 12 and 3.
    wanted += [(seed, number) for seed in range(10, 30) for number in range(10)]
    # factor * seed + pass has the same last 32 bits for these seeds, pass 0, and seed 0, this pass;
    # the factors are 10**5 to 10**9, and 1,000,003. torch's generator counts no more bits.
    wanted += [(1_717_987, 0), (0, 8_160), (395_137, 0), (0, 8_768), (65_713, 0), (0, 3_712),
               (236_395, 0), (0, 2_816), (47_279, 0), (0, 5_632), (94_489, 0), (0, 2_955)
               ]  # fmt: skip
    # The same for seeds up to two million and other factors: 10_001, 10_007, 10_009, 12_345,
    # 20_000, 50_000, 99_991, 100_003, 100_019, 104_729, 1_000_007, 1_000_033, 1_299_709, 999_983,
    # and 31_337.
    wanted += [(429_454, 0), (0, 2_158), (429_197, 0), (0, 7_083), (429_111, 0), (0, 4_703),
               (347_912, 0), (0, 6_344), (429_497, 0), (0, 5_408), (257_698, 1_888),
               (85_907, 7_755), (214_742, 0), (0, 7_746), (85_883, 2_815), (410_103, 0),
               (0, 4_127), (68_719, 0), (0, 4_297), (369_355, 0), (0, 1_259), (353_588, 0),
               (0, 5_220), (107_376, 7_792), (274_115, 0), (0, 7_163)]  # fmt: skip
    # Neighbors among large numbers: as texts of six digits they are alike.
    wanted += [*MEETING, *((0, number) for number in range(9_990, 10_000)),
               *((seed, 0) for seed in range(1_999_990, 2_000_001))]  # fmt: skip
    found = {}
    for seed, number in dict.fromkeys(wanted):
        other = found.setdefault(order_of(seed, number), (seed, number))
        if other != (seed, number):
            checks.fail(f"pass {number} of seed {seed} has the order of pass {other[1]} of seed "
                        f"{other[0]}", likely=meeting(other, (seed, number), "pass", order_of)
                        )  # fmt: skip
    no_order_is_made_of_others(found)
    bare = [lambda n: n, lambda n: n * (n + 1) // 2, lambda n: n * (n + 3) // 2]
    for seed_of in bare:  # 0 * factor + pass, whatever the factor is; pairs in a triangle
        seeds = ((number, TorchRng(seed_of(number)).make()) for number in (3, 8, 400))
        checks.that(
            any(tuple(torch.randperm(16, generator=one).tolist()) != order_of(0, number)
                for number, one in seeds),
            "the orders of seed 0 are those of generators with the seeds "
            f"{[seed_of(number) for number in (3, 8, 400)]} for the passes 3, 8, 400",
            likely="a formula such as factor * seed + pass: torch's generator keeps 32 bits of "
                   "its seed, so that pairs far apart share an order; take a hash of a text"
        )  # fmt: skip
    # Exchanging each place with any place, not with one of those that are left, gives n^n ways,
    # which cannot be n! orders alike: an example too often comes some places too early.
    orders, (one, other) = np.array([*found]), np.triu_indices(16, 1)
    moved = orders - np.arange(16)
    early = int(((moved > 0) & (moved <= 8)).sum())
    checks.share(early, 16 * len(found), 92 / 256,
                 of="how many examples come 1 to 8 places before their own number",
                 mistakes={"each place is exchanged with any other: exchange it with one of those "
                           "that are not settled yet (Fisher-Yates), or use torch.randperm": 0.401}
                 )  # fmt: skip
    even = int(((orders[:, one] > orders[:, other]).sum(1) % 2 == 0).sum())
    checks.share(even, len(found), 0.5, of="how many orders take an even number of exchanges",
                 mistakes={"half of the orders never occur": 1.0 if even else 0.0})  # fmt: skip


def no_order_is_made_of_others(found):
    """What leads from an order to that of the next pass, or of the next seed, is an order, too: as
    those of places and of examples these are different ones, and none is that of another pass. Nor
    is an order with places and examples exchanged."""
    orders = {place: np.array(order) for order, place in found.items()}
    steps = {"pass": (0, 1), "seed": (1, 0)}
    for what, (of_seed, of_number) in steps.items():
        ways = []
        for seed, number in np.ndindex(5, 20):
            one, other = orders[seed, number], orders[seed + of_seed, number + of_number]
            ways.append((tuple(other[one.argsort()]), tuple(other.argsort()[one])))
            made = [one.argsort(), one[other], other[one], one[other.argsort()]]
            known = found.keys() & {*ways[-1], *(tuple(each.tolist()) for each in made)}
            checks.that(not known, f"the order of pass {number} of seed {seed}, by itself or with "
                        f"that of the next {what}, gives the order of another pass",
                        likely="an order is made of others: draw each anew")  # fmt: skip
        for each in zip(*ways, strict=True):
            alike = len(each) - len(set(each))
            checks.that(not alike, f"from one {what} to the next the examples change places in the "
                        f"same way {alike + 1} times",
                        likely="an order is made of one for the seed and one for the pass: draw "
                        "each anew")  # fmt: skip


def meeting(one, other, what, draws):
    """Whether two seeds meet because factor * seed + number is the seed of the generator, or
    factor * number + seed."""
    seeds, numbers = one[0] - other[0], one[1] - other[1]
    if not seeds or not numbers or (numbers % seeds and seeds % numbers):
        return ""
    if numbers % seeds == 0:
        factor = abs(numbers // seeds)
        if any(draws(1, number) != draws(0, number + factor) for number in (3, 8)):
            return ""
        return (f"the generator's seed is the same number for both, as in {factor} * seed + {what}:"
                " multiply the seed by a larger number")  # fmt: skip
    factor = abs(seeds // numbers)
    if any(draws(factor, number) != draws(0, number + 1) for number in (3, 8)):
        return ""
    return (f"the generator's seed is the same number for both, as in {factor} * {what} + seed: "
            "multiply by a larger number")  # fmt: skip


@pytest.mark.weight(2)
def test_every_order_is_as_likely_as_any_other(student):
    passes, examples = 300, 8
    first = []
    for number in range(passes):
        rows = student.batch_indices(2 * number, seed=4, examples=examples, batch_size=4)
        checks.that(isinstance(rows, torch.Tensor) and rows.shape == (4,),
                    f"step {2 * number}: expected 4 examples, got {rows}")  # fmt: skip
        first.append(rows.tolist())
    kinds = len({frozenset(batch) for batch in first})
    for a, b in ((0, 1), (2, 3), (0, 4), (3, 7)):
        together = sum((a in batch) == (b in batch) for batch in first)
        checks.share(together, passes, 3 / 7, of=f"how often examples {a} and {b} share a batch",
                     mistakes={"the same examples are always together: only the order of the "
                               "batches is drawn": 1.0} if kinds == 2 else {})  # fmt: skip
    for example in range(examples):
        checks.share(sum(batch[0] == example for batch in first), passes, 1 / examples,
                     of=f"how often example {example} is the first of a pass",
                     mistakes={f"example {example} is always the first": 1.0})  # fmt: skip
    for examples in (2, 5):
        orders = [pass_of(student, number, seed=4, examples=examples, batch_size=examples)[0]
                  for number in range(60)]  # fmt: skip
        for what, p, is_so in (
            ("begin with example 0", 1 / examples, lambda order: order[0] == 0),
            ("rise from the first to the second place", 0.5, lambda order: order[0] < order[1]),
            ("have example 1 right after 0", 1 / examples,
             lambda order: (0, 1) in itertools.pairwise(order)),
        ):  # fmt: skip
            checks.share(sum(map(is_so, orders)), 60, p, of=f"how many orders of {examples} "
                         f"examples {what}",
                         mistakes={"few examples are not shuffled": 1.0})  # fmt: skip
    each_pass_knows_nothing_of_the_one_before(student)


def each_pass_knows_nothing_of_the_one_before(student):
    """An example is as likely at any place of a pass, wherever the pass before had it."""
    for examples, passes in ((4, 400), (2, 120)):
        orders = [pass_of(student, number, seed=6, examples=examples, batch_size=examples)[0]
                  for number in range(passes)]  # fmt: skip
        pairs = [*itertools.pairwise(orders)]
        for which, i, j in itertools.product(
            (slice(None), slice(0, None, 2), slice(1, None, 2)), range(examples), range(examples)
        ):
            found = sum(one[i] == other[j] for one, other in pairs[which])
            count, share = len(pairs[which]), 1 / examples
            checks.that(
                abs(found - count * share) < 6.5 * (count * share * (1 - share)) ** 0.5,
                f"in {found} of {count} passes over {examples} examples the one at place {j} stood "
                f"at place {i} in the pass before: expected about {count * share:.0f}",
                likely="a pass depends on the one before: draw each from all orders anew",
            )


def test_each_place_of_a_long_order_is_drawn_finely(student):
    """Draws of 6 or 7 bits, sorted, leave equal ones in the order of the data."""
    examples, passes = 30_000, 40
    middle = (examples - 1) / 2

    def order_of(step, seed):
        """The examples in their order, and the places of the examples."""
        rows = student.batch_indices(step, seed=seed, examples=examples, batch_size=examples)
        is_right = isinstance(rows, torch.Tensor) and rows.shape == (examples,)
        places = torch.full((examples,), -1)
        if is_right and rows.min() >= 0 and rows.max() < examples:
            places[rows.long()] = torch.arange(examples)
        checks.that(bool((places >= 0).all()), f"step {step}, one batch of all {examples} "
                    "examples: expected each of them once")  # fmt: skip
        return rows, places

    def centered(found):
        return [torch.stack(each).double() - middle for each in zip(*found, strict=True)]

    orders, places = centered([order_of(number, 5) for number in range(passes)])
    line = torch.arange(examples).double() - middle
    mean = float((orders @ line).mean() / (line @ line))
    bound = 6.3 / (passes * examples) ** 0.5
    rises = float((orders[-1].diff() > 0).double().mean())  # near 1 where equal ones keep theirs
    checks.that(abs(mean) < bound, f"in {passes} orders of {examples} examples, places and "
                f"examples are correlated ({mean:.4f}; chance stays within {bound:.4f})",
                likely="numbers are drawn for the examples and sorted, but so few that many are "
                       "the same: use torch.randperm" if rises > 0.75 else "")  # fmt: skip
    sweep.is_about(int((orders.diff().abs() <= 3).sum()), 6 * passes,
                   of="how many neighbors in these orders are 1 to 3 apart",
                   likely="blocks of the data stay together: their order is drawn, and the order "
                          "in each of them; draw one of all examples")  # fmt: skip
    of_seeds = centered([order_of(3, seed) for seed in range(6)])
    for of, both in (("passes", (orders, places)), ("seeds", of_seeds)):
        for these, what in zip(both, ("examples", "places"), strict=True):
            related = (these @ these.T / (line @ line)).abs().triu(1)
            one, other = divmod(int(related.argmax()), len(these))
            checks.that(float(related.max()) < 7 / examples**0.5,
                        f"the orders of {of} {one} and {other}: their {what} are correlated",
                        likely="an order is made of an earlier one: draw each anew")  # fmt: skip


@pytest.mark.hint(2)
def test_the_same_step_has_the_same_examples_whenever_it_is_made(student):
    given = dict(seed=2, examples=23, batch_size=5)
    first = [student.batch_indices(step, **given) for step in (0, 1, 6)]
    for step, rows in zip((0, 1, 6), first, strict=True):
        checks.that(isinstance(rows, torch.Tensor) and rows.numel() == len(set(rows.tolist())) == 5,
                    f"step {step}: expected 5 different examples, got {rows}")  # fmt: skip
    again = []
    for step in (6, 0, 1):
        student.batch_indices(step, **given | {"examples": 31})  # of which nothing may be kept
        again.append(student.batch_indices(step, **given))
    drawn = "something is remembered between calls, or drawn from a generator that is not made anew"
    checks.same(again, [first[2], first[0], first[1]], of="the indices of the same steps",
                mistakes={drawn: lambda out: True})  # fmt: skip


@pytest.mark.hint(1)
def test_a_run_begins_with_moments_of_zero(student):
    weights = first_weights()
    zeros = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    checks.same(student.start(weights), {"weights": weights, "m": zeros, "v": zeros, "step": 0},
                of="the state before step 0", mistakes=lambda: {
                    "the moments begin with the weights": {
                        "weights": weights, "m": weights, "v": weights, "step": 0},
                    "the number of the step is missing": lambda out: "step" not in out,
                })  # fmt: skip


@pytest.mark.weight(4)
def test_steps_are_those_of_the_paper(student):
    for dropout, masks in ((0.0, 18), (0.3, 1)):
        weights = first_weights()
        weights[WORDS][1] = weights[POSITIONS][0] = 0  # a norm of zeros: its eps counts
        given = weights, {name: tensor[:masks] for name, tensor in stories().items()}
        wanted = surprise(*given, dropout=dropout, generator=checks.generator(7))
        checks.same(student.mlm_surprise(*given, dropout=dropout, generator=TorchRng(7)), wanted,
                    of="what mlm_surprise returns, which is given: leave it as it is",
                    )  # fmt: skip
    names = ("a.LayerNorm.weight", "a.bias", "a.Norm.weight", "biased", "unused")
    weights, gradients, m, v = (dict(zip(names, rows, strict=True))
                                for rows in torch.rand(4, 5, 3, generator=checks.generator(8),
                                                       dtype=torch.float64))  # fmt: skip
    gradients["unused"] = 0 * gradients["unused"]
    new_m = {name: 0.9 * m[name] + 0.1 * g for name, g in gradients.items()}
    new_v = {name: 0.999 * v[name] + 0.001 * g * g for name, g in gradients.items()}
    moved = {name: w - 0.3 * (new_m[name] / (new_v[name].sqrt() + 1e-6)
                              + 0.01 * (name not in names[:2]) * w)
             for name, w in weights.items()}  # fmt: skip
    checks.same(student.adam_step(weights, gradients, m, v, rate=0.3), (moved, new_m, new_v),
                of="what adam_step returns, which is given: leave it as it is")  # fmt: skip
    for dtype, changes in ((torch.float64, {}), (torch.float64, {"batch_size": 1, "seed": 3}),
                           (torch.float64, {"peak": 0.1, "warmup_steps": 0, "total_steps": 12,
                                            "seed": 2}),
                           (torch.float32, {"batch_size": 5}),
                           (torch.float64, {"batch_size": 6, "seed": 4}),
                           (torch.float64, {"batch_size": 3, "seed": 5})):  # fmt: skip
        weights, data, settings = first_weights(dtype), stories(dtype=dtype), SETTINGS | changes
        data = odd_stories() if settings["seed"] == 4 else data
        size = settings["batch_size"]
        if settings["seed"] == 5:  # losses and gradients are large
            weights[WORDS] = 80 * weights[WORDS]
        if size == 1:
            data["attention_mask"][1::2, :2] = 0  # padded on the left
        orders = [student.batch_indices(step, seed=settings["seed"], examples=18, batch_size=size)
                  for step in range(12)]  # fmt: skip
        dropout = 1e-15 * (settings["seed"] == 2)  # on, but nothing is dropped
        out = student.train(student.start(weights), data, until=12, dropout=dropout, **settings)
        state, losses = checks.parts(out, "the state", "the losses")
        schedule = {name: settings[name] for name in ("peak", "warmup_steps", "total_steps")}
        right = reference(weights, data, orders, **schedule)
        masks = data["masked_lm_weights"][orders[0]].sum().item()
        in_order = [torch.arange(i, i + size) % 18 for i in range(0, 12 * size, size)]
        wrong = {
            "gradients of earlier steps are still there: each step has its own": {"adds_up": True},
            "the moments begin anew at each step": {"forgets": True},
            "the loss is divided by the slots, not by the masks": {"by_slots": True},
            "learning_rate is not used: the rate is always at its peak": {
                "rate_of": lambda s, rate=settings["peak"]: rate},
            "the rate is that of the next step": {
                "rate_of": lambda s, kw=schedule: learning_rate(s + 1, **kw)},
            "batch_indices is not used: the examples come in order": {"orders": in_order},
            "all steps take the first batch": {"orders": [orders[0]] * 12},
            "the losses are those after the update: a step's loss is known before it": {
                "after": True},
        }  # fmt: skip

        # In float32 a gradient of nearly 0 may have either sign, and Adam makes a step of it.
        close, far = (1e-9, 1e-9) if dtype == torch.float64 else (1e-3, 0.1)
        given = {"weights": weights, "data": data, "orders": orders, **schedule}
        checks.same(losses, right[1], of="the losses", tolerance=close, mistakes=lambda: {
            "the losses are tensors: asked for are Python floats": (
                lambda out: any(isinstance(x, torch.Tensor) for x in out)),
            "the losses are not divided by the number of masks": (
                lambda out, right=right, masks=masks: (
                    masks > 1 and abs(out[0] / right[1][0] - masks) < 1e-5)),
            **{name: would_give(1, given | changes, close) for name, changes in wrong.items()},
        })  # fmt: skip
        checks.that(all(type(x) is float for x in losses), "the losses: expected Python floats",
                    likely="the losses are tensors: asked for are Python floats")  # fmt: skip
        checks.same(state, right[0], of="the state", tolerance=far, mistakes=lambda: {
            "the step of the state is not counted on": lambda out: out["step"] == 0,
            "the step of the state is that of the last step, not the number of steps done": (
                lambda out: out["step"] == 11),
            "the old moments are in the new state": lambda out: not out["m"][WORDS].any(),
            **{name: would_give(0, given | changes, far) for name, changes in wrong.items()},
        })  # fmt: skip
    # The moments of a state count at step 0, too.
    begin, data = student.start(first_weights()), stories()
    other = {"m": {name: weight + 1 for name, weight in begin["weights"].items()},
             "v": {name: weight**2 + 1 for name, weight in begin["weights"].items()}}  # fmt: skip
    first, second = (
        checks.parts(
            student.train(state, data, until=1, dropout=0.0, **SETTINGS), "the state", "the losses"
        )[0]
        for state in (begin, begin | other)
    )
    for key, kept in (("m", 0.9), ("v", 0.999)):
        checks.same(
            {name: second[key][name] - moment for name, moment in first[key].items()},
            {name: kept * moment for name, moment in other[key].items()},
            of=f"how much larger {key} is after step 0 where it did not begin at 0",
            mistakes={"at step 0 the moments of the state are not used": lambda out: True},
        )


@pytest.mark.hint(4)
@pytest.mark.weight(5)
def test_a_run_in_parts_is_the_run_in_one_go_to_the_bit(student):
    for dtype, changes in ((torch.float32, {"dropout": 0.2}),
                           (torch.float64, {"dropout": 0.0, "batch_size": 1, "warmup_steps": 0}),
                           ):  # fmt: skip
        data, settings = stories(dtype=dtype), SETTINGS | changes
        begin = student.start(first_weights(dtype))
        out = student.train(begin, data, until=9, **settings)
        whole, losses = checks.parts(out, "the state", "the losses")
        for cuts in ([4, 9], [1, 2, 3, 4, 5, 6, 7, 8, 9]):
            state, found = begin, []
            for until in cuts:
                out = student.train(state, data, until=until, **settings)
                state, more = checks.parts(out, "the state", "the losses")
                found += more
                # Another run in between, of which this one must not know.
                student.train(begin, data, until=2, **(settings | {"seed": 9}))
            first = next((i for i, (a, b) in enumerate(zip(found, losses, strict=False))
                          if a != b), None)  # fmt: skip
            cut = cuts[0]
            named = {
                "`until` is taken for the number of steps to do: it is the step to stop before": (
                    lambda out, step=state["step"]: len(out) > 9 and step != 9),
                "the steps are counted from 0 at each call": (
                    lambda out, cuts=cuts: len(out) == sum(cuts)),
                "what is drawn or read at a step depends on where the run was cut: the order of "
                "the data or dropout begins anew, or something is remembered between two calls": (
                    lambda out, first=first, cut=cut: first == cut),
                "the moments or the learning rate begin anew at each call": (
                    lambda out, first=first, cut=cut: first is not None and first > cut),
            }  # fmt: skip
            checks.same(found, losses, of=f"the losses of a run cut at {cuts}", tolerance=0.0,
                        mistakes=named)  # fmt: skip
            checks.same(state, whole, of=f"the state of a run cut at {cuts}", tolerance=0.0)


@pytest.mark.hint(1)
def test_a_run_that_has_arrived_is_returned_as_it_is(student):
    data, settings = stories(), SETTINGS | {"dropout": 0.2}
    state, _ = checks.parts(
        student.train(student.start(first_weights()), data, until=3, **settings),
        "the state", "the losses",
    )  # fmt: skip
    for until in (3, 1):
        out = student.train.trace(state, data, until=until, **settings).value  # as it is
        named = {"the step of the state goes back to `until`": lambda out: out[0]["step"] < 3,
                 "steps are done beyond `until`": lambda out: bool(out[1])}  # fmt: skip
        checks.same(out, (state, []), of=f"a run of 3 steps until={until}", tolerance=0.0,
                    mistakes=named)  # fmt: skip


@pytest.mark.hint(3)
@pytest.mark.weight(3)
def test_dropout_is_another_one_at_each_step_and_for_each_seed(student):
    one = stories(1)
    data = {name: tensor.repeat(6, *[1] * (tensor.ndim - 1)) for name, tensor in one.items()}
    begin = student.start(first_weights())
    settings = SETTINGS | {"peak": 0.0, "batch_size": 6}  # all rows are one, and nothing is learned

    def losses(**changes):
        out = student.train(begin, data, **({"until": 4} | settings | changes))
        state, found = checks.parts(out, "the state", "the losses")
        checks.same(state["weights"], begin["weights"], of="the weights at a rate of 0")
        return found

    plain = losses(dropout=0.0)
    checks.that(max(plain) - min(plain) < 1e-9, f"without dropout the same batch loses {plain}",
                likely="the dropout argument is not used")  # fmt: skip
    found = {seed: losses(dropout=0.3, seed=seed) for seed in (0, 1)}
    checks.that(abs(found[0][0] - plain[0]) > 1e-9, "with dropout the loss is that without",
                likely="the dropout argument is not used")  # fmt: skip
    alone = losses(dropout=0.3, batch_size=1)
    checks.that(len(set(alone)) == len(set(found[0])) == 4,
                f"four steps on the same batch lose {found[0]}, on one of its rows {alone}",
                likely="dropout draws the same at each step: its generator needs the step",
                )  # fmt: skip
    shares = {p: losses(dropout=p) for p in (0.0, 0.02, 0.1, 0.3, 0.5, 0.6, 0.9)}
    for p, q in itertools.combinations(shares, 2):
        checks.that(shares[p] != shares[q], f"with dropout {p} the losses are those with {q}",
                    likely="the dropout argument is raised or lowered to a bound")  # fmt: skip
    checks.that(found[0][0] != found[1][0], "seeds 0 and 1 lose the same at step 0",
                likely="dropout does not depend on `seed`")  # fmt: skip
    checks.that(found[0][1] != found[1][0], "step 1 of seed 0 loses what step 0 of seed 1 does",
                likely="the generator's seed is seed + step, which is the same for both: multiply "
                       "the seed by a large number")  # fmt: skip

    def loss_of(seed, step):
        out = student.train(begin | {"step": step}, data, until=step + 1, dropout=0.3,
                            **(settings | {"total_steps": 2_000_000, "seed": seed}))  # fmt: skip
        return tuple(checks.parts(out, "the state", "the losses")[1])

    checks.that(len(loss_of(0, 5)) == 1, "a state at step 5, until=6: expected 1 loss, got "
                f"{len(loss_of(0, 5))}")  # fmt: skip
    met = {}
    for seed in (*range(6), 11, 7, 1007):  # 1 and 11 are not 11 and 1; 1007 is 7 and 1000 more
        until = {0: 21, 1: 200, 7: 21}.get(seed, 12)
        for step, loss in enumerate(losses(dropout=0.3, seed=seed, until=until)):
            met.setdefault(loss, []).append((seed, step))
    for seed, step in (*MEETING, *((seed, 0) for seed in range(1_999_998, 2_000_001))):
        met.setdefault(loss_of(seed, step)[0], []).append((seed, step))
    last = student.train(begin | {"step": 1_999_990}, data, until=2_000_000, dropout=0.3,
                         **(settings | {"total_steps": 2_000_000}))  # fmt: skip
    for step, loss in enumerate(checks.parts(last, "the state", "the losses")[1], 1_999_990):
        met.setdefault(loss, []).append((0, step))
    # 7 and a factor: factor * step + seed is the same for step 1 of seed 7 and step 0.
    powers = [2**power for power in (8, 12, 15, 16, 20)]
    for factor in (100, 10_000, 100_000, 1_000_000, *PRIMES, *powers):
        met.setdefault(loss_of(7 + factor, 0)[0], []).append((7 + factor, 0))
    # With the 200 steps of seed 1 these meet any factor up to 10,000, as in factor * seed + step.
    for step in (*range(200, 10_001, 200), *(prime + 150 for prime in PRIMES), 12_345, 20_000,
                 50_000, 100_000, 1_000_000, *(2**power for power in range(14, 21)),
                 ):  # fmt: skip
        met.setdefault(loss_of(0, step)[0], []).append((0, step))
    # These have the same last 32 bits, as torch's generator counts, in factor * seed + step.
    # The factors are 10**7, 10**8, 10**9, 2_000_000, 2_000_003, 3_000_000, 4_000_000, 5_000_000,
    # 10_000_019, 15_485_863 and 1_000_000_007.
    pairs = ((859, 0), (0, 65_408), (0, 654_080), (6_829, 0), (0, 1_999_360), (2_147, 967_296),
             (2_147, 960_855), (1_432, 0), (0, 1_032_704), (1_074, 0),
             (0, 32_704), (0, 81_729), (832, 663_872), (597, 449_965))  # fmt: skip
    for place in pairs:
        met.setdefault(loss_of(*place)[0], []).append(place)
    for one, other, *_ in (places for places in met.values() if len(places) > 1):
        checks.fail(f"step {other[1]} of seed {other[0]} loses what step {one[1]} of seed {one[0]} "
                    "does, on the same batch: they have the same dropout",
                    likely=meeting(one, other, "step", loss_of))  # fmt: skip
    rows = {name: tensor[:6] for name, tensor in data.items()}
    for of_step in (lambda n: n, lambda n: n * (n + 1) // 2, lambda n: n * (n + 3) // 2):
        drawn = []
        for step in (3, 8):
            own = TorchRng(of_step(step)).make()
            total, masks = surprise(first_weights(), rows, dropout=0.3, generator=own)
            drawn.append(float(total / masks))
        checks.that(any(abs(one - loss_of(0, step)[0]) > 1e-12
                        for one, step in zip(drawn, (3, 8), strict=True)),
                    "the dropout of steps 3 and 8 of seed 0 is that of generators with the seeds "
                    f"{of_step(3)} and {of_step(8)}",
                    likely="a formula such as factor * seed + step: torch's generator keeps 32 "
                           "bits of its seed, so that pairs far apart draw the same")  # fmt: skip
    places_of_two_passes_have_their_own_dropout(student, begin, one)
    drawn = "dropout draws from a generator that is not made anew"
    checks.same(losses(dropout=0.3), found[0], of="the losses of the same run", tolerance=0.0,
                mistakes={drawn: lambda out: True})  # fmt: skip
    default = student.train(begin, data, until=1, **settings)[1]
    checks.same(default, losses(dropout=0.1)[:1], of="the loss with the default dropout",
                mistakes={"the default of dropout is 0.1": lambda out: True})  # fmt: skip


def places_of_two_passes_have_their_own_dropout(student, begin, one):
    """Of 1,200 copies of an example, one a step. With the first 100 steps of the second pass these
    meet any factor up to 1,100, as in factor * pass + place."""
    data = {name: tensor.repeat(1_200, *[1] * (tensor.ndim - 1)) for name, tensor in one.items()}
    settings = SETTINGS | {"peak": 0.0, "batch_size": 1, "total_steps": 9_999, "dropout": 0.3}
    met = {}
    for first, stop in ((1_200, 1_300), *((place, place + 1) for place in range(0, 1_200, 100))):
        out = student.train(begin | {"step": first}, data, until=stop, **settings)
        for step, loss in enumerate(checks.parts(out, "the state", "the losses")[1], first):
            met.setdefault(loss, []).append(step)
    for step, other in (steps for steps in met.values() if len(steps) > 1):
        checks.fail(f"of 1,200 examples, one a step, step {step} loses what step {other} does, on "
                    "equal examples: they have the same dropout",
                    likely="the generator's seed is the same number for both, as in 1000 * pass + "
                           "place: use the number of the step, which is another one for each"
                    )  # fmt: skip


@pytest.mark.weight(2)
def test_evaluation_is_the_mean_over_all_masks_without_dropout(student):
    weights = first_weights()
    copies = {n: t.repeat(6, *[1] * (t.ndim - 1)) for n, t in stories(1).items()}
    one, six = (student.evaluate(weights, {n: t[:size] for n, t in copies.items()}, batch_size=size)
                for size in (1, 6))  # fmt: skip
    is_sum = type(one) is type(six) is float and abs(six - 6 * one) < 1e-9
    checks.that(type(one) is type(six) is float,
                f"expected a Python float, got {type(one).__name__}")  # fmt: skip
    checks.that(is_sum or abs(one - six) < 1e-9,
                f"an example loses {one}, six copies of it {six}: without dropout it is the same",
                likely="dropout is on: evaluation is without")  # fmt: skip
    for examples, size, bare in ((18, 4, ()), (18, 18, ()), (7, 3, ()), (5, 1, ()), (3, 10, ()),
                                 (9, 3, range(3, 6)), (9, 3, range(3)), (9, 3, range(6, 9)),
                                 (9, 2, range(6)), (18, 6, None), (18, 1, None)):  # fmt: skip
        data = odd_stories() if bare is None else stories(examples)
        data["masked_lm_weights"][[*(bare or ())]] = 0  # a batch without masks
        parts = [surprise(weights, {n: t[i : i + size] for n, t in data.items()})
                 for i in range(0, examples, size)]  # fmt: skip
        full = [part for i, part in enumerate(parts) if (i + 1) * size <= examples]
        right = (sum(p[0] for p in parts) / sum(p[1] for p in parts)).item()
        means = [(total / masks).item() for total, masks in parts]
        found = student.evaluate(weights, data, batch_size=size)
        checks.same(found, right, of=f"the loss of {examples} examples in batches of {size}",
                    mistakes=lambda: {
            "0 / 0: a batch without masks is divided by its own": (
                lambda out, bare=bare: bool(bare) and math.isnan(out)),
            "the mean of the batches' means: divide the sum by the masks of all": (
                sum(means) / len(means)),
            "the last batch, which is smaller, is left out": (
                (sum(p[0] for p in full) / sum(p[1] for p in full)).item() if full else math.nan),
            "only the last batch counts": means[-1],
            "the sum is divided by the examples, not by the masks": (
                sum(p[0] for p in parts).item() / examples),
        })  # fmt: skip
        checks.that(type(found) is float, f"expected a Python float, got {type(found).__name__}")


def test_the_model_learns(student):
    data = stories(48)
    begin = student.start(first_weights())
    state, _ = checks.parts(
        student.train(begin, data, until=60, seed=1, batch_size=12, peak=0.05, warmup_steps=10,
                      total_steps=80, dropout=0.0),
        "the state", "the losses",
    )  # fmt: skip
    before, after = (student.evaluate(s["weights"], data, batch_size=20) for s in (begin, state))
    checks.that(
        after < before - 0.5,
        f"60 steps brought the loss from {before:.3f} to {after:.3f}: 0.5 less is expected",
    )


def test_steps_batches_and_data_of_any_size(student):
    rng = sweep.Draw(11).rng

    def rates():
        for _ in range(30):
            total = int(rng.choice([1, 2, 9, 999, 10**6]))
            warmup = int(rng.integers(0, total))
            step = int(rng.choice([0, max(0, warmup - 1), warmup, total - 1, total]))
            yield sweep.Case(
                f"step {step:,}",
                (step,),
                {
                    "peak": float(10.0 ** rng.uniform(-9, 4)),
                    "warmup_steps": warmup,
                    "total_steps": total,
                },
            )

    sweep.agrees(student.learning_rate, learning_rate, rates())
    for seed, examples in ((0, 20_000), (5, 20_000)):
        rows = student.batch_indices(3 * seed, seed=seed, examples=examples, batch_size=examples)
        checks.same(
            rows.sort().values,
            torch.arange(examples),
            of=f"one batch of all {examples:,} examples, sorted",
        )
        sweep.is_shuffled(rows.tolist(), of=f"an order of {examples:,} examples, seed {seed}")
    came = []
    for seed, examples, size, number in (
        (1, 5, 1, 900),
        (2, 2_999, 700, 3),
        (2, 2_999, 700, 4),
        (4, 301, 3, 40),
        (0, 1, 1, 7),
    ):
        order = functools.reduce(
            operator.iadd,
            pass_of(student, number, seed=seed, examples=examples, batch_size=size),
            [],
        )
        checks.that(
            len(set(order)) == len(order) == examples // size * size,
            f"pass {number} of {examples} examples in batches of {size}: expected each of "
            f"{examples // size * size} once, got {len(set(order))} of {len(order)}",
        )
        sweep.is_shuffled(order, of=f"a pass over {examples} examples in batches of {size}")
        came.append(set(order))
    left = len(set(range(2_999)) - came[1] - came[2])
    sweep.is_about(left, 199**2 / 2_999, of="how many of 2,999 examples two passes leave over",
                   likely="what is left over is the same in each pass")  # fmt: skip
    the_first_batch_of_many_examples_is_any_of_them(student)
    weights = first_weights()
    for way, (examples, size) in enumerate([(301, 1), (4_003, 700), (300, 10_000)]):
        data = stories(examples, seed=size)
        data["masked_lm_weights"][rng.integers(examples)] = 0
        total, masks = surprise(weights, data)
        sweep.same(
            student.evaluate(*sweep.laid_out((weights, data), way), batch_size=size),
            (total / masks).item(),
            of=f"the loss of {examples} examples in batches of {size}",
        )
    data, settings = (
        stories(200),  # a batch has about 200 masks
        SETTINGS | dict(total_steps=44, warmup_steps=20, dropout=1e-15, batch_size=90),
    )
    begin = sweep.laid_out((student.start(weights), data), 2)
    out = student.train(*begin, until=45, **settings)
    state, losses = checks.parts(out, "the state", "the losses")
    orders = [student.batch_indices(i, seed=0, examples=200, batch_size=90) for i in range(45)]
    right = reference(weights, data, orders, peak=0.03, warmup_steps=20, total_steps=44)
    of = "45 steps, the last one (number total_steps) at the rate 0"
    checks.same(losses, right[1], of=f"the losses of {of}", tolerance=1e-7,
                mistakes={"the run ends at total_steps: `until` says where it ends":
                          lambda out: len(out) == 44})  # fmt: skip
    checks.same(state, right[0], of=f"the state after {of}", tolerance=1e-7)


def the_first_batch_of_many_examples_is_any_of_them(student):
    """Rows that are evenly spaced, as i * a + b, have few distances from one to the next; those of
    one block lie in a part of the data."""
    examples, size = 150_001, 10_000
    seed = 8 + checks.anew(1_000_000)
    rows = student.batch_indices(0, seed=seed, examples=examples, batch_size=size)
    is_right = isinstance(rows, torch.Tensor) and rows.shape == (size,)
    numbers, of = rows.numpy() if is_right else np.zeros(size), "10,000 of 150,001 examples"
    checks.that(is_right and len({*numbers.tolist()}) == size and numbers.min() >= 0
                and numbers.max() < examples,
                f"{of}: expected {size:,} different ones")  # fmt: skip
    distances = len({*(np.diff(numbers) % examples).tolist()})
    checks.that(distances > 20, f"{of} have {distances} distances from one to the next: expected "
                "about 9,670",
                likely="the rows are i * a + b, not one of all orders: use torch.randperm"
                )  # fmt: skip
    sweep.is_shuffled(numbers.tolist(), of=of)
    parts = np.bincount(numbers * 20 // examples, minlength=20)
    checks.that(abs(parts - size / 20).max() < 7 * (size / 20) ** 0.5,
                f"{of}: expected about {size // 20} from each twentieth of the data, got "
                f"{parts.min()} to {parts.max()}",
                likely="many examples are drawn in blocks: draw one order of all")  # fmt: skip


def test_nothing_is_left_behind(student):
    weights, data = first_weights(), stories()
    state = student.start(weights)
    settings = SETTINGS | {"dropout": 0.2}
    checks.leaves_no_trace(student.learning_rate, 3, peak=1e-4, warmup_steps=2, total_steps=9)
    checks.leaves_no_trace(student.batch_indices, 3, seed=1, examples=23, batch_size=5)
    checks.leaves_no_trace(student.start, weights)
    checks.leaves_no_trace(student.train, state, data, until=2, **settings)
    checks.leaves_no_trace(student.evaluate, weights, data, batch_size=4)
    student.evaluate.grad(weights, data, batch_size=4, wrt=("weights",), upstream=None)
