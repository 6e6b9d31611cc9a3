"""Masking: exact counts, 80/10/10, never a special token; statistics at a false-failure rate of
one in ten million a check."""

import shutil

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch._dynamo.testing import CompileCounter

from bert_paper import masking
from bert_paper.masking import (
    MaskingRecipe,
    MaskingVocabulary,
    choose_words,
    mask_tokens,
    maskable,
    next_tokens,
    word_of_each_token,
)
from bert_run.device import uniforms

PAD, CLS, SEP, MASK = 0, 101, 102, 103
VOCAB = 5000
ORDINARY = MaskingVocabulary(MASK, torch.arange(104, VOCAB))
FIRST_PIECE = 3531  # three ordinary tokens in ten are pieces, "##ing" and the like
WITH_PIECES = MaskingVocabulary(MASK, ORDINARY.ordinary_ids, torch.arange(VOCAB) >= FIRST_PIECE)
UNITS = ["token", "word"]


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


def test_equal_draws__the_first_comes_first_as_at_every_level(monkeypatch):
    """24 bits are alike in one row of some thousand; here draws have 3 bits, and often are."""

    def coarse(*given, **named) -> torch.Tensor:
        return (uniforms(*given, **named) * 8).floor() / 8

    monkeypatch.setattr(masking, "uniforms", coarse)
    batch = pairs(200)
    masked, can = mask_tokens(batch, ORDINARY, seed=0), maskable(batch)
    draws = coarse(0, batch["example_index"], 3 * 128)
    for row, positions in enumerate(masked["masked_lm_positions"].tolist()):
        candidates = can[row].nonzero()[:, 0].tolist()
        by_draw = sorted(candidates, key=lambda place: draws[row, place])  # stable
        assert positions == by_draw[:19]


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


@pytest.mark.parametrize("unit", UNITS)
def test_masking_reads_nothing_back_to_the_host(unit):
    """On a GPU each `.item()` or `.tolist()` would make it wait; `meta` tensors hold no values, so
    any attempt to read one fails."""
    batch = {k: v.to("meta") for k, v in pairs(8).items()}
    masked = mask_tokens(batch, WITH_PIECES.to("meta"), seed=0, unit=unit)
    assert masked["input_ids"].shape == (8, 128)


# Whole words, against a reference in plain Python that walks along each row.


def words_of(row: dict[str, torch.Tensor]) -> list[list[int]]:
    """The positions of each word of a row, in order."""
    words, inside = [], False
    for place, id_ in enumerate(row["input_ids"].tolist()):
        if id_ < 104:  # [CLS], [SEP], [PAD]
            inside = False
        elif id_ >= FIRST_PIECE and inside:
            words[-1].append(place)
        else:
            words.append([place])
            inside = True
    return words


def greedy(sizes: list[int], draws: list[float], wanted: int) -> set[int]:
    """Words in the order of their draws; one that is more than what is left is skipped."""
    taken, left = set(), wanted
    for word in sorted(range(len(sizes)), key=lambda word: draws[word]):
        if sizes[word] <= left:
            taken.add(word)
            left -= sizes[word]
    return taken


def chosen_by_the_reference(batch: dict, *, seed: int) -> torch.Tensor:
    seq = batch["input_ids"].shape[1]
    order = uniforms(seed, batch["example_index"], 3 * seq)[:, :seq].tolist()
    where = torch.zeros_like(batch["input_ids"], dtype=torch.bool)
    for number in range(len(where)):
        row = {name: tensor[number] for name, tensor in batch.items()}
        words = words_of(row)
        wanted = max(1, round(0.15 * int(row["attention_mask"].sum())))
        for taken in greedy([len(word) for word in words], order[number], wanted):
            where[number, words[taken]] = True
    return where


@pytest.mark.parametrize("full", [True, False])
def test_the_words_chosen_are_those_of_a_walk_that_skips_what_is_too_large(full):
    batch = pairs(1500, full=full)
    masked = mask_tokens(batch, WITH_PIECES, seed=8, unit="word")
    expected = chosen_by_the_reference(batch, seed=8)
    assert torch.equal(chosen(masked), expected)
    assert expected.any()


word_rows = st.lists(
    st.lists(st.integers(1, masking.ROUNDS), min_size=0, max_size=20), min_size=1, max_size=5
)


@settings(max_examples=150, deadline=None)
@given(word_rows, st.integers(1, 40), st.integers(0, 2**32))
def test_any_words_of_up_to_eight_tokens_are_chosen_as_by_that_walk(rows, wanted, seed):
    """Also when gaps stand between them, and when draws are alike."""
    generator = torch.Generator().manual_seed(seed)
    seq = max(sum(row) + len(row) for row in rows) + 1
    units = torch.zeros(len(rows), seq, dtype=torch.int64)
    for row, sizes in enumerate(rows):
        place = 0
        for number, size in enumerate(sizes, start=1):
            place += int(torch.randint(0, 2, (), generator=generator))
            units[row, place : place + size] = number
            place += size
    draws = torch.randint(0, 50, (len(rows), seq), generator=generator) / 50
    positions, taken = choose_words(
        units, draws, torch.full((len(rows), 1), float(wanted)), slots=min(wanted, seq)
    )
    for row, sizes in enumerate(rows):
        places = positions[row][taken[row]].tolist()
        expected = greedy(sizes, draws[row].tolist(), wanted)
        assert len(set(places)) == len(places)
        assert sorted(places) == [p for p, u in enumerate(units[row].tolist()) if u - 1 in expected]


def test_all_pieces_of_a_word_are_chosen_or_none():
    """And [CLS], [SEP] and padding never: the reference finds words in the ids alone."""
    batch = pairs(300, full=False)
    where = chosen(mask_tokens(batch, WITH_PIECES, seed=9, unit="word"))
    assert (batch["input_ids"][where] >= 104).all()
    longer = 0
    for number in range(300):
        for word in words_of({"input_ids": batch["input_ids"][number]}):
            assert len(set(where[number, word].tolist())) == 1
            longer += len(word) > 1
    assert longer > 1000


def words_in(text: list[str]) -> torch.Tensor:
    is_piece = torch.tensor([[token.startswith("##") for token in text]])
    return word_of_each_token(is_piece, torch.tensor([[token[0] != "[" for token in text]]))


def test_by_eye():
    """The example of `masking.py`."""
    text = ["[CLS]", "the", "phil", "##am", "##mon", "plays", "the", "lute", "[SEP]",
            "he", "sings", "##on", "[SEP]", "[PAD]"]  # fmt: skip
    words = words_in(text)
    assert words.tolist() == [[0, 1, 2, 2, 2, 3, 4, 5, 0, 6, 7, 7, 0, 0]]

    # "phil ##am ##mon" is drawn first, then "sings ##on", too much for the one left, then "the".
    draws = torch.tensor([[0.5, 0.1, 0.6, 0.3, 0.7, 0.8, 0.2] + [0.0] * 7])
    positions, taken = choose_words(words, draws, torch.tensor([[4.0]]), slots=5)
    assert taken.tolist() == [[True, True, True, True, False]]
    assert [text[place] for place in positions[0, :4]] == ["phil", "##am", "##mon", "the"]
    assert positions[0, :4].tolist() == [2, 3, 4, 6]


def test_a_piece_after_a_special_token_begins_a_word_of_its_own():
    """What stood before it was cut off; it does not reach over [CLS] or [SEP]."""
    text = ["[CLS]", "##mon", "plays", "[SEP]", "##on", "##ate", "[SEP]"]
    assert words_in(text).tolist() == [[0, 1, 2, 0, 3, 3, 0]]


def test_a_row_has_at_most_its_share_of_masks_and_misses_it_hardly_ever():
    """Fewer only where no word left is small enough; here, where three tokens in ten are pieces,
    no row that wants ten or more is short of one."""
    batch = pairs(3000, full=False)
    counts = chosen(mask_tokens(batch, WITH_PIECES, seed=10, unit="word")).sum(dim=1)
    wanted = (batch["attention_mask"].sum(dim=1) * 0.15).round().clamp(min=1)
    assert (counts <= wanted).all()
    missed = (wanted - counts)[wanted.flatten() >= 10]
    assert len(missed) > 1000
    assert missed.mean() < 0.01


def test_the_share_of_tokens_and_80_10_10_are_those_of_single_tokens():
    """Bounds of grading.md: 100,000 tokens, and 15,000 chosen ones scaled to the number here."""
    batch = pairs(4000)
    masked = mask_tokens(batch, WITH_PIECES, seed=3, unit="word")
    where = chosen(masked)
    assert abs(where.float().mean() - 0.15) < 0.006
    shown, original = masked["input_ids"][where], batch["input_ids"][where]
    scale = (15_000 / len(shown)) ** 0.5
    assert abs((shown == MASK).float().mean() - 0.8) < 0.0174 * scale
    assert abs((shown == original).float().mean() - 0.1) < 0.0131 * scale
    replaced = ((shown != MASK) & (shown != original)).float().mean()
    assert abs(replaced - 0.1) < 0.0131 * scale


def test_longer_words_are_masked_a_little_less_often():
    """The price of skipping a word that is more than what is left, as in the released code."""
    batch = pairs(8000)
    where = chosen(mask_tokens(batch, WITH_PIECES, seed=11, unit="word"))
    words = word_of_each_token(WITH_PIECES.is_piece[batch["input_ids"]], maskable(batch))
    counts = torch.zeros(8000, 129, dtype=torch.int64)
    size = counts.scatter_add(1, words, torch.ones_like(words)).gather(1, words) * (words > 0)
    rate = {n: where[size == n].float().mean().item() for n in (1, 2, 3)}
    assert rate == pytest.approx({1: 0.160, 2: 0.150, 3: 0.140}, abs=0.01)


def test_whole_words_change_nothing_but_what_is_chosen():
    """The attention mask and the segments above all; labels are originals, the input stays."""
    batch = pairs(300, full=False)
    before = {name: tensor.clone() for name, tensor in batch.items()}
    masked = mask_tokens(batch, WITH_PIECES, seed=1, unit="word")
    for name, tensor in before.items():
        assert torch.equal(batch[name], tensor), f"{name}: the input must not change"
        if name != "input_ids":
            assert torch.equal(masked[name], tensor), name
    where, used = chosen(masked), masked["masked_lm_weights"].bool()
    originals = before["input_ids"].gather(1, masked["masked_lm_positions"])
    assert torch.equal(masked["masked_lm_ids"], originals * used)
    assert torch.equal(masked["input_ids"][~where], before["input_ids"][~where])
    assert masked["masked_lm_positions"].shape == (300, 19)


def test_whole_words_are_a_function_of_seed_and_index_alone():
    batch = pairs(64, full=False)
    whole = mask_tokens(batch, WITH_PIECES, seed=6, unit="word")
    order = torch.randperm(64, generator=torch.Generator().manual_seed(0))
    shuffled = {name: tensor[order] for name, tensor in batch.items()}
    part = mask_tokens(shuffled, WITH_PIECES, seed=6, unit="word")
    for name in whole:
        assert torch.equal(whole[name][order], part[name]), name
    for other in (
        mask_tokens(batch, WITH_PIECES, seed=7, unit="word"),
        mask_tokens({**batch, "example_index": batch["example_index"] + 64}, WITH_PIECES, seed=6,
                    unit="word"),
    ):  # fmt: skip
        assert not torch.equal(chosen(whole), chosen(other))


def test_a_row_whose_one_word_is_too_long_gets_no_mask():
    batch = {
        "input_ids": torch.tensor([[CLS, 200, 4000, 4001, SEP, 4002, 4003, SEP]]),
        "token_type_ids": torch.tensor([[0, 0, 0, 0, 0, 1, 1, 1]]),
        "attention_mask": torch.ones(1, 8, dtype=torch.int64),
        "example_index": torch.tensor([0]),
    }
    masked = mask_tokens(batch, WITH_PIECES, seed=0, unit="word")  # one mask, words of 3 and 2
    assert masked["masked_lm_weights"].sum() == 0
    assert torch.equal(masked["input_ids"], batch["input_ids"])


# From left to right.


def test_a_left_to_right_model_is_asked_at_every_token_for_the_one_that_follows():
    batch = pairs(50, full=False)
    asked = next_tokens(batch)
    assert torch.equal(asked["input_ids"], batch["input_ids"]), "nothing is hidden"
    assert asked.keys() == mask_tokens(batch, ORDINARY, seed=0).keys()
    for row in range(50):
        length = int(batch["attention_mask"][row].sum())
        ids = batch["input_ids"][row].tolist()
        used = asked["masked_lm_weights"][row].bool()
        assert used.tolist() == [True] * (length - 1) + [False] * (128 - length)
        assert asked["masked_lm_positions"][row][used].tolist() == list(range(length - 1))
        assert asked["masked_lm_ids"][row][used].tolist() == ids[1:length]
    assert asked["masked_lm_weights"].dtype == torch.float32


# Compiled.


@pytest.mark.parametrize("unit", UNITS)
def test_a_compiler_looks_once_however_the_rows_differ(unit, shapes_unchecked):
    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(mask_tokens, backend=counter, fullgraph=True)
    for first_index in (0, 100, 10**12):
        batch = pairs(6, 32, full=first_index == 0, first_index=first_index)
        masked = compiled(batch, WITH_PIECES, seed=2**40, unit=unit)
        for name, tensor in mask_tokens(batch, WITH_PIECES, seed=2**40, unit=unit).items():
            assert torch.equal(masked[name], tensor), name
    assert counter.frame_count == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
@pytest.mark.parametrize("unit", UNITS)
def test_compiled_to_machine_code_masks_are_the_same(unit, shapes_unchecked, monkeypatch):
    """The hash multiplies integers beyond 2⁶³ and wants them to wrap around: a compiler that
    computes such a product in advance refuses it. Few rounds, for a compiler takes its time."""
    monkeypatch.setattr(masking, "ROUNDS", 2)
    torch._dynamo.reset()
    batch = pairs(40, 16, full=False, first_index=10**12)
    compiled = torch.compile(mask_tokens, fullgraph=True)
    masked = compiled(batch, WITH_PIECES, seed=2**40, unit=unit)
    for name, tensor in mask_tokens(batch, WITH_PIECES, seed=2**40, unit=unit).items():
        assert torch.equal(masked[name], tensor), name
