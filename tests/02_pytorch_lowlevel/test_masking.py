"""Masking: exact counts, never a special token, 80/10/10, and the same masks at every level.

Where chance has a say, a check fails a right program once in ten million times.
"""

import ast
import inspect
import math
import shutil
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor
from torch._dynamo.testing import CompileCounter

from bert_lowlevel import masking
from bert_lowlevel.masking import mask_tokens, maskable
from bert_lowlevel.model import TensorBatch
from bert_numpy import masking as numpy_masking
from bert_paper import masking as paper_masking
from bert_run.config import MaskingRecipe
from bert_run.device import uniforms

PAD, CLS, SEP, MASK, FIRST, VOCAB = 0, 1, 2, 3, 10, 2010
ORDINARY = torch.arange(FIRST, VOCAB)


def mask(batch: TensorBatch, *, seed: int = 0, **more) -> TensorBatch:
    return mask_tokens(batch, mask_id=MASK, ordinary_ids=ORDINARY, seed=seed, **more)


def is_chosen(masked: TensorBatch) -> Tensor:
    """Which tokens were chosen, (batch, seq)."""
    where = torch.zeros_like(masked["input_ids"])
    used = masked["masked_lm_weights"].long()
    return where.scatter_add(1, masked["masked_lm_positions"], used).bool()


@pytest.fixture(scope="module")
def pairs(random_pairs, tensors) -> Callable[..., TensorBatch]:
    return lambda rows, seq=128, **more: tensors(random_pairs(rows, seq, **more))


@pytest.fixture(scope="module")
def battery(pairs) -> tuple[TensorBatch, TensorBatch]:
    """Before and after: more than 100,000 tokens that may be masked, in rows of every length."""
    batch = pairs(1800)
    assert maskable(batch).sum() > 100_000
    return batch, mask(batch)


# --- How many, and which never ---


def test_every_row_has_exactly_its_share_of_masks(battery):
    batch, masked = battery
    lengths = batch["attention_mask"].sum(1)
    expected = (lengths * 0.15).round().long().clamp(1, 19)
    expected = expected.minimum((lengths - 3).clamp(min=0))
    assert torch.equal(is_chosen(masked).sum(1), expected)
    assert len(expected.unique()) == 19


@pytest.mark.parametrize("share", [0.01, 0.5, 1.0])
def test_of_another_share_there_is_one_mask_at_least_and_every_word_at_most(share, pairs):
    batch = pairs(300)
    masked = mask(batch, recipe=MaskingRecipe(masked_lm_prob=share))
    expected = (batch["attention_mask"].sum(1) * share).round().clamp(min=1)
    expected = expected.minimum(maskable(batch).sum(1))
    assert torch.equal(is_chosen(masked).sum(1), expected.long())


@pytest.mark.parametrize("seq, slots", [(128, 19), (512, 77), (5, 1)])
def test_a_full_row_has_the_papers_number_of_masks(seq, slots, pairs):
    masked = mask(pairs(4, seq, full=True))
    assert masked["masked_lm_positions"].shape == (4, slots)
    assert (masked["masked_lm_weights"] == 1).all()


def test_specials_and_padding_are_never_chosen_and_every_other_token_may_be(battery):
    batch, _ = battery
    words = batch["input_ids"] >= FIRST
    assert torch.equal(maskable(batch), words)
    where = torch.stack([is_chosen(mask(batch, seed=seed)) for seed in range(3)])
    assert not where[:, ~words].any()


def test_no_token_is_chosen_twice_and_unused_slots_are_empty(battery):
    batch, masked = battery
    used = masked["masked_lm_weights"] == 1
    assert ((masked["masked_lm_weights"] == 0) == ~used).all()
    assert used.sum() == is_chosen(masked).sum()
    for name in ("masked_lm_positions", "masked_lm_ids"):
        assert (masked[name][~used] == 0).all()
    assert torch.equal(masked["input_ids"][:, 0], batch["input_ids"][:, 0])


def test_labels_are_what_stood_there_and_what_was_not_chosen_stays(battery, pairs):
    batch, masked = battery
    assert torch.equal(batch["input_ids"], pairs(1800)["input_ids"]), "the input must not change"
    used = masked["masked_lm_weights"].bool()
    originals = batch["input_ids"].gather(1, masked["masked_lm_positions"])
    assert torch.equal(masked["masked_lm_ids"][used], originals[used])
    stays = ~is_chosen(masked)
    assert torch.equal(masked["input_ids"][stays], batch["input_ids"][stays])
    assert masked.keys() - batch.keys() == {"masked_lm_positions", "masked_lm_ids",
                                            "masked_lm_weights"}  # fmt: skip


# --- What becomes of them ---


def fates(batch: TensorBatch, masked: TensorBatch) -> tuple[Tensor, Tensor]:
    """What stood and what stands at the chosen places."""
    where = is_chosen(masked)
    return batch["input_ids"][where], masked["input_ids"][where]


def test_80_of_100_chosen_are_hidden_10_are_replaced_and_10_stay(battery, binomial_range):
    """A random word is the word that stood there once in 2,000 times."""
    before, after = fates(*battery)
    n, same = len(before), 0.1 / len(ORDINARY)
    assert n > 15_000
    hidden, kept = (after == MASK).sum().item(), (after == before).sum().item()
    for count, share in ((hidden, 0.8), (kept, 0.1 + same), (n - hidden - kept, 0.1 - same)):
        low, high = binomial_range(n, share)
        assert low <= count <= high


@pytest.mark.parametrize("mask_share, random_share", [(1.0, 0.0), (0.0, 1.0), (0.0, 0.0)])
def test_the_mix_of_table_8_can_be_changed(mask_share, random_share, pairs):
    batch = pairs(300)
    recipe = MaskingRecipe(mask_share=mask_share, random_share=random_share)
    before, after = fates(batch, mask(batch, recipe=recipe))
    assert (after == MASK).float().mean() == mask_share
    kept = (after == before).float().mean().item()
    assert kept == pytest.approx(1 - mask_share - random_share, abs=0.006 * random_share)


def test_random_words_are_ordinary_and_all_as_likely(pairs, binomial_range):
    """Ids 10 … 2009 in a hundred parts of twenty; specials, [MASK] and unused ids never."""
    batch = pairs(2000, full=True)
    _, words = fates(batch, mask(batch, recipe=MaskingRecipe(mask_share=0, random_share=1)))
    assert words.min() >= FIRST and words.max() < VOCAB
    parts = torch.bincount((words - FIRST) // 20, minlength=100)
    low, high = binomial_range(len(words), 0.01)
    assert low <= parts.min() and parts.max() <= high


def test_ordinary_ids_need_not_be_in_a_row(pairs):
    batch, odd = pairs(400), torch.arange(11, 2000, 2)
    recipe = MaskingRecipe(mask_share=0, random_share=1)
    masked = mask_tokens(batch, mask_id=MASK, ordinary_ids=odd, seed=0, recipe=recipe)
    _, words = fates(batch, masked)
    assert (words % 2 == 1).all()
    assert len(words.unique()) > 900


# --- Where: every candidate is as likely as every other ---


def test_every_position_is_chosen_as_often_as_every_other(pairs, binomial_range):
    """The first and the last word among them: masks cut to size by position would miss the last."""
    batch = pairs(6000, 64, full=True)
    batch["token_type_ids"] = (torch.arange(64) > 30).long().expand(6000, 64)  # [SEP] at 30 and 63
    counts = is_chosen(mask(batch)).sum(0)
    places = torch.tensor([p for p in range(1, 63) if p != 30])
    low, high = binomial_range(6000, 10 / 61)
    assert low <= counts[places].min() and counts[places].max() <= high
    assert counts.sum() == counts[places].sum() == 60_000
    for place in (1, 29, 31, 62):  # the ends of both sentences
        assert low <= counts[place] <= high


def test_the_first_and_the_last_word_of_rows_of_every_length_are_as_likely_as_others(battery):
    """Of a row with k masks among c words each is chosen with probability k / c; summed over the
    rows, counts stay within 5.5 deviations of the sum."""
    batch, masked = battery
    where, can = is_chosen(masked), maskable(batch)
    row = torch.arange(len(can))[can.any(1)]
    chance = (where.sum(1) / can.sum(1))[row]
    first, last = can.int().argmax(1)[row], 127 - can.flip(1).int().argmax(1)[row]
    deviation = (chance * (1 - chance)).sum().sqrt()
    assert len(row) > 1700
    for place in (first, last):
        assert abs(where[row, place].sum() - chance.sum()) < 5.5 * deviation


# --- Draws: of (seed, index), and of nothing else ---


def test_masks_do_not_depend_on_the_order_of_the_batch_or_on_what_else_is_in_it(battery):
    batch, masked = battery
    order = torch.randperm(1800, generator=torch.Generator().manual_seed(0))[:100]
    torch.manual_seed(123)  # must not matter
    state = torch.get_rng_state()
    part = mask({name: tensor[order] for name, tensor in batch.items()})
    for name, tensor in masked.items():
        assert torch.equal(tensor[order], part[name]), name
    assert torch.equal(torch.get_rng_state(), state), "no draw is taken from anybody else"


@pytest.mark.parametrize("change", ["another example", "another seed"])
def test_other_examples_and_other_seeds_have_independent_masks(change, pairs, binomial_range):
    """Of the masks of one, the other shares 19 of 125, and of the fates of these 66%."""
    batch = pairs(2000, full=True)
    masked = mask(batch)
    other = mask(batch, seed=1)
    if change == "another example":
        other = mask({**batch, "example_index": batch["example_index"] + 1})
    both = is_chosen(masked) & is_chosen(other)
    low, high = binomial_range(2000 * 19, 19 / 125)
    assert low <= both.sum() <= high
    alike = ((masked["input_ids"] == MASK) == (other["input_ids"] == MASK))[both].sum()
    low, high = binomial_range(int(both.sum()), 0.8**2 + 0.2**2)
    assert low <= alike <= high


def test_choice_fate_and_word_are_drawn_apart(pairs):
    """Were one draw used twice, hidden tokens would lie earlier in the order of choice, or random
    words grow with it. Three streams that are independent correlate with 0 ± 1/√n."""
    draws = uniforms(0, torch.arange(3000), 3 * 32).double()
    choice, fate, word = (part.flatten() for part in draws.chunk(3, dim=1))
    for one, other in ((choice, fate), (choice, word), (fate, word)):
        correlation = torch.corrcoef(torch.stack([one, other]))[0, 1]
        assert abs(correlation) < 5.5 / math.sqrt(len(one))


# --- The same masks at every level ---


def at_every_level(arrays: dict, *, seed: int) -> list[dict[str, np.ndarray]]:
    vocabulary = paper_masking.MaskingVocabulary(MASK, ORDINARY)
    batch = {name: torch.from_numpy(array) for name, array in arrays.items()}
    return [
        numpy_masking.mask_tokens(
            arrays, mask_id=MASK, ordinary_ids=ORDINARY.numpy(), seed=seed
        ),
        {name: tensor.numpy() for name, tensor in mask(batch, seed=seed).items()},
        {name: tensor.numpy()
         for name, tensor in paper_masking.mask_tokens(batch, vocabulary, seed=seed).items()},
    ]  # fmt: skip


@pytest.mark.parametrize("seq, seed", [(32, 0), (128, 3), (128, 2**40)])
def test_every_mask_is_the_one_that_levels_1_and_3_draw(seq, seed, random_pairs):
    below, ours, above = at_every_level(random_pairs(500, seq), seed=seed)
    assert below.keys() == ours.keys() == above.keys()
    for name, array in ours.items():
        assert np.array_equal(array, below[name]), name
        assert np.array_equal(array, above[name]), name
        assert array.dtype == above[name].dtype
    assert (ours["masked_lm_weights"] == 0).any(), "short rows must be part of this test"


def test_of_equal_draws_the_first_comes_first_as_in_level_1(random_pairs, monkeypatch):
    """24 bits are alike in one row of some thousand; here draws have 3 bits, and often are."""

    def coarse(exact: Callable) -> Callable:
        return lambda *given: (exact(*given) * 8).astype(int).astype(np.float32) / 8

    monkeypatch.setattr(numpy_masking, "uniforms", coarse(numpy_masking.uniforms))
    ours = coarse(lambda *given: uniforms(*given).numpy())
    monkeypatch.setattr(masking, "uniforms", lambda *given: torch.from_numpy(ours(*given)))
    arrays = random_pairs(200)
    batch = {name: torch.from_numpy(array) for name, array in arrays.items()}
    expected = numpy_masking.mask_tokens(
        arrays, mask_id=MASK, ordinary_ids=ORDINARY.numpy(), seed=0
    )
    for name, tensor in mask(batch).items():
        assert np.array_equal(tensor.numpy(), expected[name]), name


def test_a_row_with_nothing_to_mask_gets_no_mask_and_stays():
    """[CLS] [SEP] [SEP]: two empty sentences."""
    batch = {
        "input_ids": torch.tensor([[CLS, SEP, SEP, PAD, PAD, PAD, PAD]]),
        "token_type_ids": torch.tensor([[0, 0, 1, 0, 0, 0, 0]]),
        "attention_mask": torch.tensor([[1, 1, 1, 0, 0, 0, 0]]),
        "example_index": torch.tensor([0]),
    }
    masked = mask(batch)
    assert masked["masked_lm_weights"].sum() == 0
    assert torch.equal(masked["input_ids"], batch["input_ids"])


def test_a_sentence_by_itself_keeps_its_ends_too():
    """[CLS] A [SEP] and padding, all of one segment: only the padding tells where [SEP] is."""
    ids = torch.tensor([[CLS, 11, 12, 13, SEP, PAD, PAD], [CLS, 11, 12, 13, 14, 15, SEP]])
    batch = {
        "input_ids": ids,
        "token_type_ids": torch.zeros_like(ids),
        "attention_mask": (ids != PAD).long(),
        "example_index": torch.arange(2),
    }
    chosen = is_chosen(mask(batch, recipe=MaskingRecipe(masked_lm_prob=1.0)))
    assert torch.equal(chosen, ids >= FIRST)


# --- The device is never waited for ---


ASKS = {"item", "tolist", "numpy", "cpu", "nonzero", "unique", "masked_select", "any", "all"}
CASTS = {"int", "float", "bool", "range", "zip", "enumerate", "map", "print"}
LOOPS = (ast.For, ast.While, ast.comprehension, ast.If, ast.IfExp)


def waits_for_the_device(source: str) -> list[str]:
    """Calls that read a tensor's values or go through its rows, and loops and branches."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, LOOPS):
            found.append(ast.unparse(node))
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", "") in ASKS or getattr(node.func, "id", "") in CASTS
            found += [ast.unparse(node)] if name else []
    return found


def test_the_file_has_no_loop_and_asks_no_tensor_for_its_values():
    assert waits_for_the_device(inspect.getsource(masking)) == []


@pytest.mark.parametrize("line", [
    "x.sum().item()", "rows = used.nonzero()", "n = int(used.sum())", "y = [f(row) for row in x]",
    "for row in x: pass", "if used.any(): pass", "x.cpu().numpy()", "y = list(map(f, x))",
])  # fmt: skip
def test_the_check_for_waiting_catches(line):
    assert waits_for_the_device(line)


def test_masking_reads_nothing_back_to_the_host(pairs):
    """`meta` tensors hold no values, so any attempt to read one fails."""
    batch = {name: tensor.to("meta") for name, tensor in pairs(8).items()}
    masked = mask_tokens(batch, mask_id=MASK, ordinary_ids=ORDINARY.to("meta"), seed=0)
    assert masked["input_ids"].shape == (8, 128)
    with pytest.raises(RuntimeError):
        masked["input_ids"].sum().item()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU to wait for")
def test_on_a_gpu_nothing_waits_and_the_masks_are_those_of_the_cpu(pairs):
    batch, words = pairs(64), ORDINARY.cuda()
    expected, on_gpu = mask(batch, seed=3), {n: t.cuda() for n, t in batch.items()}
    torch.cuda.set_sync_debug_mode("error")
    try:
        masked = mask_tokens(on_gpu, mask_id=MASK, ordinary_ids=words, seed=3)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    for name, tensor in expected.items():
        assert torch.equal(masked[name].cpu(), tensor), name


def test_a_compiler_looks_once_however_many_masks_the_rows_have(pairs, shapes_unchecked):
    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(mask_tokens, backend=counter, fullgraph=True)
    for seed_of_pairs in range(4):
        batch = pairs(6, 32, seed=seed_of_pairs)
        masked = compiled(batch, mask_id=MASK, ordinary_ids=ORDINARY, seed=0)
        for name, tensor in mask(batch).items():
            assert torch.equal(masked[name], tensor), name
    assert counter.frame_count == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_compiled_to_machine_code_masks_are_the_same(pairs, shapes_unchecked):
    torch._dynamo.reset()
    batch, expected = pairs(40), mask(pairs(40), seed=2**40)
    compiled = torch.compile(mask_tokens, fullgraph=True)
    masked = compiled(batch, mask_id=MASK, ordinary_ids=ORDINARY, seed=2**40)
    for name, tensor in expected.items():
        assert torch.equal(masked[name], tensor), name
