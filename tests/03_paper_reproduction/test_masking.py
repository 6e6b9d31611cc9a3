"""Masking: exact counts, 80/10/10, never a special token; statistics at a false-failure rate of
one in ten million a check."""

import pytest
import torch

from bert_paper.masking import MaskingRecipe, MaskingVocabulary, mask_tokens, maskable

PAD, CLS, SEP, MASK = 0, 101, 102, 103
VOCAB = 5000
ORDINARY = MaskingVocabulary(MASK, torch.arange(104, VOCAB))


def pairs(rows: int, seq: int = 128, *, full: bool = True, first_index: int = 0) -> dict:
    """[CLS] A [SEP] B [SEP] and padding; no ordinary token equals a special one."""
    generator = torch.Generator().manual_seed(17)
    ids = torch.randint(104, VOCAB, (rows, seq), generator=generator)
    ends = torch.full((rows,), seq - 1)
    if not full:
        ends = torch.randint(4, seq, (rows,), generator=generator)
    middles = 2 + (torch.rand(rows, generator=generator) * (ends - 3)).long()
    column, row = torch.arange(seq), torch.arange(rows)
    ids[:, 0] = CLS
    ids[row, middles] = SEP
    ids[row, ends] = SEP
    ids[column > ends[:, None]] = PAD
    segments = ((column > middles[:, None]) & (column <= ends[:, None])).long()
    attention = (column <= ends[:, None]).long()
    return {"input_ids": ids, "token_type_ids": segments, "attention_mask": attention,
            "example_index": torch.arange(first_index, first_index + rows)}  # fmt: skip


def chosen(masked: dict) -> torch.Tensor:
    """Which tokens were selected, (batch, seq)."""
    where = torch.zeros_like(masked["input_ids"])
    used = masked["masked_lm_weights"].long()
    return where.scatter_add(1, masked["masked_lm_positions"], used).bool()


def test_every_row_has_exactly_its_share_of_masks():
    batch = pairs(3000, full=False)
    counts = chosen(mask_tokens(batch, ORDINARY, seed=0)).sum(dim=1)
    lengths = batch["attention_mask"].sum(dim=1)
    candidates = maskable(batch).sum(dim=1)
    expected = torch.clamp((lengths * 0.15).round().long(), 1, 19).minimum(candidates)
    assert torch.equal(counts, expected)


@pytest.mark.parametrize("length, slots", [(128, 19), (512, 77)])
def test_a_full_row_has_the_papers_number_of_masks(length, slots):
    masked = mask_tokens(pairs(4, length), ORDINARY, seed=0)
    assert masked["masked_lm_positions"].shape == (4, slots)
    assert (masked["masked_lm_weights"] == 1).all()


def test_special_tokens_and_padding_are_never_chosen():
    """A bug that may choose them would be missed with 0.85^3000."""
    batch = pairs(3000, full=False)
    for seed in range(3):
        where = chosen(mask_tokens(batch, ORDINARY, seed=seed))
        assert (batch["input_ids"][where] >= 104).all()


def test_labels_are_the_originals_and_unchosen_tokens_stay():
    batch = pairs(500, full=False)
    before = batch["input_ids"].clone()
    masked = mask_tokens(batch, ORDINARY, seed=1)
    originals = before.gather(1, masked["masked_lm_positions"])
    used = masked["masked_lm_weights"].bool()
    assert torch.equal(masked["masked_lm_ids"][used], originals[used])
    assert torch.equal(masked["input_ids"][~chosen(masked)], before[~chosen(masked)])
    assert torch.equal(batch["input_ids"], before), "the input must not change"


def test_no_position_is_chosen_twice():
    masked = mask_tokens(pairs(2000), ORDINARY, seed=2)
    positions = masked["masked_lm_positions"].sort(dim=1).values
    assert (positions[:, 1:] != positions[:, :-1]).all()


def test_of_the_chosen_tokens_80_percent_are_hidden_10_replaced_and_10_kept():
    """Bounds of grading.md for 15,000 chosen tokens, scaled to the number drawn here."""
    batch = pairs(4000)
    masked = mask_tokens(batch, ORDINARY, seed=3)
    where = chosen(masked)
    shown, original = masked["input_ids"][where], batch["input_ids"][where]
    n = len(shown)
    assert n > 70_000
    scale = (15_000 / n) ** 0.5
    hidden = (shown == MASK).float().mean()
    kept = (shown == original).float().mean()  # a random word equals the original once in 4,896
    replaced = ((shown != MASK) & (shown != original)).float().mean()
    assert abs(hidden - 0.8) < 0.0174 * scale
    assert abs(kept - 0.1) < 0.0131 * scale
    assert abs(replaced - 0.1) < 0.0131 * scale


def test_random_words_are_ordinary_and_come_from_the_whole_vocabulary():
    batch = pairs(4000)
    masked = mask_tokens(batch, ORDINARY, seed=4)
    where = chosen(masked)
    shown, original = masked["input_ids"][where], batch["input_ids"][where]
    words = shown[(shown != MASK) & (shown != original)]
    assert words.min() >= 104
    tenths = torch.histc(words.float(), bins=10, min=104, max=VOCAB)
    expected = len(words) / 10
    assert ((tenths - expected).abs() < 5.5 * expected**0.5).all()


def test_every_position_is_chosen_equally_often():
    batch = pairs(20_000)
    where = chosen(mask_tokens(batch, ORDINARY, seed=5)).float()
    candidates = maskable(batch).float()
    rate = where.sum(0)[1:-1] / candidates.sum(0)[1:-1]
    p = 19 / 125
    bound = 5.7 * (p * (1 - p) / candidates.sum(0)[1:-1]) ** 0.5
    assert ((rate - p).abs() < bound).all()


def test_masks_are_a_function_of_seed_and_index_alone():
    batch = pairs(64, full=False)
    whole = mask_tokens(batch, ORDINARY, seed=6)
    order = torch.randperm(64, generator=torch.Generator().manual_seed(0))
    torch.manual_seed(123)  # must not matter
    part = mask_tokens({k: v[order] for k, v in batch.items()}, ORDINARY, seed=6)
    for name in ("input_ids", "masked_lm_positions", "masked_lm_ids"):
        assert torch.equal(whole[name][order], part[name])


def test_another_seed_and_another_pass_give_other_masks():
    batch = pairs(64)
    base = chosen(mask_tokens(batch, ORDINARY, seed=0))
    assert not torch.equal(base, chosen(mask_tokens(batch, ORDINARY, seed=1)))
    later = {**batch, "example_index": batch["example_index"] + 64}
    overlap = (base & chosen(mask_tokens(later, ORDINARY, seed=0))).sum() / base.sum()
    assert 0.10 < overlap < 0.21, "independent masks share 15% of their positions"


@pytest.mark.parametrize("mask_share, random_share", [(1.0, 0.0), (0.0, 1.0), (0.0, 0.0)])
def test_the_mix_of_table_8_can_be_changed(mask_share, random_share):
    batch = pairs(200)
    recipe = MaskingRecipe(mask_share=mask_share, random_share=random_share)
    masked = mask_tokens(batch, ORDINARY, seed=0, recipe=recipe)
    shown = masked["input_ids"][chosen(masked)]
    original = batch["input_ids"][chosen(masked)]
    assert (shown == MASK).float().mean() == mask_share
    assert (shown == original).float().mean() == pytest.approx(1 - mask_share - random_share,
                                                               abs=0.005)  # fmt: skip


def test_a_row_with_nothing_to_mask_gets_no_mask_and_stays():
    """[CLS] [SEP] [SEP]: two empty segments."""
    batch = {
        "input_ids": torch.tensor([[CLS, SEP, SEP, PAD, PAD, PAD, PAD]]),
        "token_type_ids": torch.tensor([[0, 0, 1, 0, 0, 0, 0]]),
        "attention_mask": torch.tensor([[1, 1, 1, 0, 0, 0, 0]]),
        "example_index": torch.tensor([0]),
    }
    masked = mask_tokens(batch, ORDINARY, seed=0)
    assert masked["masked_lm_weights"].sum() == 0
    assert torch.equal(masked["input_ids"], batch["input_ids"])


def test_masking_reads_nothing_back_to_the_host():
    """On a GPU each `.item()` or `.tolist()` would make it wait; `meta` tensors hold no values, so
    any attempt to read one fails."""
    batch = {k: v.to("meta") for k, v in pairs(8).items()}
    masked = mask_tokens(batch, ORDINARY.to("meta"), seed=0)
    assert masked["input_ids"].shape == (8, 128)
