"""Masking on the device: exact counts, then what must hold for every slot, then the shares."""

import ast

import pytest
import torch

from autograder import checks
from autograder.codec import TorchRng
from bert_run.settings import MaskingRecipe

VOCAB, MASK, SPECIALS = 2000, 103, [0, 100, 101, 102, 103]  # as BERT's lie: not at the start alone
ORDINARY = [i for i in range(VOCAB) if i not in SPECIALS]
WAITS = ("item", "tolist", "numpy", "cpu", "nonzero", "argwhere", "masked_select", "unique")


def sentences(rows, seq, *, padding=0, seed=5):
    """Rows of [CLS] words [SEP] words [SEP] padding, and their mask; no word is special."""
    draws = torch.randint(len(ORDINARY), (rows, seq + padding),
                          generator=torch.Generator().manual_seed(seed))  # fmt: skip
    ids = torch.tensor(ORDINARY)[draws]
    ids[:, 0], ids[:, seq // 2], ids[:, seq - 1], ids[:, seq:] = 101, 102, 102, 0
    mask = torch.ones_like(ids)
    mask[:, seq:] = 0
    return ids, mask


def settings_for(seq, rate=0.15, **changes):
    return dict(mask_id=MASK, special_ids=torch.tensor(SPECIALS), rate=rate,
                ordinary_ids=torch.tensor(ORDINARY),
                slots=MaskingRecipe(rate).max_predictions(seq)) | changes  # fmt: skip


def mask(student, ids, attention_mask, seed=7, **changes):
    settings = settings_for(ids.shape[1], **changes)
    out = student.mask_on_device(ids, attention_mask, TorchRng(seed), **settings)
    parts = checks.parts(out, "the ids", "the positions", "the tokens", "the weights")
    slots = torch.zeros(len(ids), settings["slots"], dtype=torch.int64)
    for part, like, of in zip(parts, (ids * 0, slots, slots.to(ids.dtype), slots.float()),
                              ("the ids", "the positions", "the tokens", "the weights"),
                              strict=True):  # fmt: skip
        checks.same(torch.zeros_like(part), like, of=f"{of} (their shape and type)")
    positions = parts[1]
    checks.that(bool(((positions >= 0) & (positions < ids.shape[1])).all()),
                f"positions run from {positions.min()} to {positions.max()}, a row has "
                f"{ids.shape[1]} places")  # fmt: skip
    return parts


def candidates(ids, attention_mask, specials=SPECIALS):
    return attention_mask.bool() & ~torch.isin(ids, torch.tensor(specials))


def ragged(rows=300, seq=63):
    """Rows of every length from 3 to seq, among them a row of padding and one of one word."""
    ids, mask = sentences(rows, seq, seed=6)
    lengths = 3 + torch.arange(rows) % (seq - 2)
    ids = torch.where(torch.arange(seq) == lengths[:, None] - 1, 102, ids)
    mask[torch.arange(seq) >= lengths[:, None]] = 0
    mask[5] = 0
    return torch.where(mask.bool(), ids, 0), mask


def wanted_counts(ids, attention_mask, slots, rate=0.15):
    """As many as the paper says, and no more than slots and candidates; halves are left open."""
    exact = attention_mask.sum(1) * rate
    counts = exact.round().clamp(min=1, max=slots)
    is_half = (exact - exact.floor() - 0.5).abs() < 1e-3
    return torch.minimum(counts, candidates(ids, attention_mask).sum(1)).float(), ~is_half


@pytest.mark.weight(3)
def test_every_row_has_as_many_masks_as_its_length_asks_for(student):
    for rate in (0.15, 0.4):
        for ids, attention_mask in (sentences(6, 128), sentences(40, 47, padding=16), ragged()):
            for slots in (MaskingRecipe(rate).max_predictions(ids.shape[1]) + 2, 3):
                weights = mask(student, ids, attention_mask, rate=rate, slots=slots)[3]
                expected, sure = wanted_counts(ids, attention_mask, slots, rate)
                named = count_mistakes(ids, attention_mask, slots, rate)
                checks.same(
                    weights.sum(1)[sure],
                    expected[sure],
                    of=f"the number of masks of each row (rate {rate}, {slots} slots)",
                    mistakes={name: wrong.float()[sure] for name, wrong in named.items()}
                    | {"every token is drawn by itself: the count differs from row to row": (
                        lambda out, alike=attention_mask: bool((alike == alike[0]).all())
                        and out.unique().numel() > 1)},
                )  # fmt: skip


def count_mistakes(ids, attention_mask, slots, rate):
    words, tokens = candidates(ids, attention_mask).sum(1), attention_mask.sum(1)
    seq = torch.full_like(tokens, ids.shape[1])

    def count(of, rounded=torch.round, rate=rate, least=1):
        return torch.minimum(rounded(of * rate).clamp(min=least, max=slots), words)

    return {
        "the rate argument is ignored: it is always 0.15": count(tokens, rate=0.15),
        "the count is a share of the candidates: [CLS] and [SEP] count too": count(words),
        "the count is a share of the whole row: padding does not count": count(seq),
        "a short row has one mask at least": count(tokens, least=0),
        "every slot is used: a row has its own count, the slots beyond it have weight 0": (
            torch.full_like(tokens, slots)),
        "the count is rounded down: round to the nearest": count(tokens, torch.floor),
        "the count is rounded up: round to the nearest": count(tokens, torch.ceil),
    }  # fmt: skip


@pytest.mark.weight(3)
def test_slots_tell_what_stood_where_and_all_else_is_unchanged(student):
    for ids, attention_mask in (sentences(50, 128), ragged(), sentences(1, 41, padding=7)):
        shown, positions, tokens, weights = mask(student, ids, attention_mask)
        used = weights > 0
        checks.same(weights, used.float(), of="the weights, which are 0 or 1")
        originals = ids.gather(1, positions)
        checks.same(
            tokens,
            originals * used,
            of="the tokens of the slots",
            mistakes={
                "the tokens were looked up after they were replaced": (
                    shown.gather(1, positions) * used),
                "an empty slot has token 0": originals,
            },
        )  # fmt: skip
        checks.same(positions * ~used, torch.zeros_like(positions),
                    of="the positions of empty slots",
                    mistakes={"an empty slot has position 0": lambda out: True})  # fmt: skip
        hits = torch.zeros_like(ids).scatter_add(1, positions, used.to(ids.dtype))
        checks.that(int(hits.max()) <= 1, "a position stands in two slots of a row",
                    likely="positions are drawn with replacement")  # fmt: skip
        changed = (shown != ids) & (hits == 0)
        checks.that(not changed.any(),
                    f"{int(changed.sum())} tokens were replaced that stand in no slot",
                    likely="an empty slot writes to its position, or tokens are replaced by "
                           "another draw than the one that fills the slots")  # fmt: skip


@pytest.mark.weight(2)
def test_special_tokens_and_padding_are_never_chosen(student):
    for ids, attention_mask in (sentences(400, 128, padding=30), ragged()):
        _, positions, _, weights = mask(student, ids, attention_mask)
        chosen = ids.gather(1, positions)[weights > 0]
        real = attention_mask.gather(1, positions)[weights > 0]
        for token, name in [(101, "[CLS]"), (102, "[SEP]"), (0, "padding")]:
            wrong = int((chosen == token).sum())
            checks.that(wrong == 0, f"{wrong} of {len(chosen)} masks stand on {name}",
                        likely=f"{name} is a candidate: special tokens are none")  # fmt: skip
        checks.that(bool(real.all()), "a mask stands where attention_mask is 0",
                    likely="attention_mask is not used")  # fmt: skip
    ids, attention_mask = sentences(200, 128)
    others = [*SPECIALS, *range(500, 900)]
    _, positions, _, weights = mask(student, ids, attention_mask, special_ids=torch.tensor(others))
    chosen = ids.gather(1, positions)[weights > 0]
    checks.that(not ((chosen >= 500) & (chosen < 900)).any(),
                "ids 500 to 899 are among special_ids, and some were chosen",
                likely="special_ids is not used: the special tokens are written into the function"
                )  # fmt: skip
    ids[:, 100:] = 700  # words, but where attention_mask is 0
    attention_mask[:, 100:] = 0
    _, positions, _, weights = mask(student, ids, attention_mask)
    checks.that(bool((positions < 100).all()), "a mask stands where attention_mask is 0",
                likely="attention_mask is not used: padding is known by its id alone")  # fmt: skip


@pytest.mark.weight(2)
def test_every_position_is_as_likely_and_every_row_and_call_is_drawn_anew(student):
    row, row_mask = sentences(1, 53)
    ids, attention_mask = row.repeat(4000, 1), row_mask.repeat(4000, 1)
    _, positions, _, weights = mask(student, ids, attention_mask)
    hits = torch.zeros_like(ids).scatter_add(1, positions, (weights > 0).long())
    checks.that(bool((hits != hits[0]).any()), "the same tokens are masked in every row",
                likely="one draw for all rows: draw for (batch, seq)")  # fmt: skip
    words, count = candidates(row, row_mask)[0], int(hits[0].sum())
    for position in words.nonzero()[:, 0].tolist():
        checks.share(int(hits[:, position].sum()), 4000, count / int(words.sum()),
                     of=f"how often position {position} is masked",
                     mistakes={"this position is never masked: the choice favours others": 0.0,
                               "this position is always masked: the first ones are taken": 1.0}
                     )  # fmt: skip
    again, other = (mask(student, ids, attention_mask, seed=seed)[1] for seed in (7, 8))
    checks.same(again, positions, of="the positions of a second call with the same seed",
                mistakes={"a draw does not come from the generator": lambda out: True}
                )  # fmt: skip
    checks.that(bool((other != positions).any()), "two generators with different seeds mask alike",
                likely="the function seeds a generator of its own: use the one that is handed in"
                )  # fmt: skip


@pytest.mark.weight(3)
def test_of_the_masked_80_percent_show_mask_10_a_random_word_10_themselves(student):
    ids, attention_mask = sentences(1500, 128)
    shown, positions, tokens, weights = mask(student, ids, attention_mask)  # 28,500 masks
    used = weights > 0
    seen, total = shown.gather(1, positions)[used], int(used.sum())
    masked, kept = int((seen == MASK).sum()), int((seen == tokens[used]).sum())
    counts = masked, total - masked - kept, kept
    named = {
        "nothing is kept: all are [MASK] or random": (0.8, 0.2, 0.0),
        "nothing is random: all are [MASK] or kept": (0.8, 0.0, 0.2),
        "every masked token becomes [MASK]": (1.0, 0.0, 0.0),
        "random and kept are drawn independently: among the 20% left over, half are random": (
            0.8, 0.02, 0.18),
        "random is drawn after and over [MASK]: a masked token may become random": (
            0.72, 0.1, 0.18),
        "kept is drawn over the others: a masked token may be put back": (0.72, 0.09, 0.19),
        "half of them are [MASK]": (0.5, 0.25, 0.25),
    }  # fmt: skip
    likely = min(named, key=lambda name: sum(
        (count / total - share) ** 2 for count, share in zip(counts, named[name], strict=True)
    ))  # fmt: skip
    for index, (name, share) in enumerate([("[MASK]", 0.8), ("random", 0.1), ("themselves", 0.1)]):
        checks.share(counts[index], total, share, of=f"the share of the masked that show {name}",
                     mistakes={likely: named[likely][index]})  # fmt: skip


def test_random_words_come_from_all_of_ordinary_ids(student):
    ids, attention_mask = sentences(1500, 128)
    for words in (ORDINARY, [7, *range(1200, 2000, 2)]):
        shown, positions, tokens, weights = mask(
            student, ids, attention_mask, ordinary_ids=torch.tensor(words)
        )
        seen, used = shown.gather(1, positions), weights > 0
        found = seen[used & (seen != MASK) & (seen != tokens)]
        checks.that(len(found) > 500, f"only {len(found)} tokens became another word",
                    likely="random words are missing: 10% of the masked become one")  # fmt: skip
        checks.that(bool(torch.isin(found, torch.tensor(words)).all()),
                    "a random word is not among ordinary_ids",
                    likely="ordinary_ids is not used: words are drawn from all ids")  # fmt: skip
        checks.that(found.unique().numel() > 100,
                    f"all random words are one of {found.unique().numel()}",
                    likely="one random word is drawn for all: draw one for each")  # fmt: skip
        order = torch.searchsorted(torch.tensor(words), found) / len(words)
        for low, high in [(0.9, 1.0), (0.0, 0.1), (0.45, 0.55)]:
            inside = [i for i in range(len(words)) if low <= i / len(words) < high]
            checks.share(int(((order >= low) & (order < high)).sum()), len(found),
                         len(inside) / len(words),
                         of=f"the share of random words from {low:.0%} to {high:.0%} of "
                            "ordinary_ids",
                         mistakes={"these words are never drawn": 0.0})  # fmt: skip


def test_the_id_of_mask_is_an_argument(student):
    ids, attention_mask = sentences(20, 128)
    shown, positions, _, _ = mask(student, ids, attention_mask, mask_id=4)
    checks.that(bool((shown.gather(1, positions) == 4).any()), "mask_id=4, and no token became 4",
                likely="mask_id is ignored: 103 is written into the function")  # fmt: skip


def test_rows_that_begin_with_a_word_and_any_type_are_fine(student):
    """No [CLS] at position 0, where the empty slots point to."""
    ids, attention_mask = sentences(2000, 20)
    ids[:, 0] = 1500
    attention_mask[:, 11:] = 0
    for given in ((ids, attention_mask), (ids.int(), attention_mask.int())):
        shown, positions, tokens, weights = mask(student, *given)
        at_start = (positions == 0) & (weights > 0)
        hidden = int((shown[:, 0] == MASK).sum())
        checks.share(hidden, int(at_start.sum()), 0.8,
                     of="the share of [MASK] among the masks at position 0",
                     mistakes={"an empty slot writes over position 0 what stood there": 0.0}
                     )  # fmt: skip
        checks.same(
            tokens[at_start], given[0][:, 0][at_start.any(1)], of="the tokens at position 0"
        )


@pytest.mark.weight(2)
def test_nothing_waits_for_the_device_and_no_loop_runs(student):
    tree = ast.parse(student._path.read_text(encoding="utf-8"))
    used = sorted({node.attr for node in ast.walk(tree)
                   if isinstance(node, ast.Attribute) and node.attr in WAITS})  # fmt: skip
    checks.that(not used, f"the file uses .{', .'.join(used)}",
                likely="this asks a tensor for its values, or makes one of unknown size: a GPU has "
                       "to be waited for")  # fmt: skip
    ids, attention_mask = sentences(3000, 32)  # right answers take 0.1 to 0.6 times the loop
    settings = settings_for(32)

    def loop():
        for row in ids.tolist():
            sorted(range(len(row)), key=row.__getitem__)
            [token not in SPECIALS for token in row]

    checks.not_slower(
        student.mask_on_device, ids, attention_mask, TorchRng(7), loop=loop, times=1.5, **settings
    )


def test_nothing_is_left_behind(student):
    ids, attention_mask = sentences(8, 41)
    checks.leaves_no_trace(
        student.mask_on_device, ids, attention_mask, TorchRng(7), **settings_for(41)
    )
