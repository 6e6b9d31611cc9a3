"""Masking on the device: exact counts, what must hold for every slot, the shares, the device."""

import itertools
import math

import numpy as np
import pytest
import torch

from autograder import checks, course, sweep
from autograder.codec import Meta, TorchRng, is_tensor
from autograder.student import StudentError, describe_value
from bert_run.config import MaskingRecipe

VOCAB, MASK, SPECIALS = 2000, 103, [0, 100, 101, 102, 103]  # as BERT's lie: not at the start alone
ORDINARY = [i for i in range(VOCAB) if i not in SPECIALS]
WORD_IDS, SPECIAL_IDS = torch.tensor(ORDINARY), torch.tensor(SPECIALS)
UNSEEN = [2003, 2000, 2009, 2005, 2014]  # in no text: each of them that is shown was drawn
NAMES = ("the ids", "the positions", "the tokens", "the weights")
DEALT = "draws are dealt out evenly, like cards: each is to be drawn by itself"
OWN = course.own_default("14_masking_on_device")  # the rate where none is given


def sentences(rows, seq, *, padding=0, seed=5):
    """Rows of [CLS] words [SEP] words [SEP] padding, and their mask; no word is special."""
    draws = torch.randint(len(ORDINARY), (rows, seq + padding),
                          generator=checks.generator(seed))  # fmt: skip
    ids = WORD_IDS[draws]
    ids[:, 0], ids[:, seq // 2], ids[:, seq - 1], ids[:, seq:] = 101, 102, 102, 0
    mask = torch.ones_like(ids)
    mask[:, seq:] = 0
    return ids, mask


def settings_for(seq, **changes):
    """The arguments behind the generator; one that is None is left out."""
    rate = changes.get("rate") or 0.15
    settings = dict(mask_id=MASK, special_ids=SPECIAL_IDS, rate=rate, ordinary_ids=WORD_IDS,
                    slots=MaskingRecipe(rate).max_predictions(seq)) | changes  # fmt: skip
    return {name: value for name, value in settings.items() if value is not None}


def mask(student, ids, attention_mask, seed=7, **changes):
    settings = settings_for(ids.shape[1], **changes)
    out = student.mask_on_device(ids, attention_mask, TorchRng(seed), **settings)
    parts = checks.parts(out, *NAMES)
    of_slots = len(ids), settings["slots"]
    types = (ids.dtype, torch.int64, ids.dtype, torch.float32)
    for part, dtype, of in zip(parts, types, NAMES, strict=True):
        shape = tuple(ids.shape) if of == NAMES[0] else of_slots
        if not is_tensor(part) or (tuple(part.shape), part.dtype) != (shape, dtype):
            checks.same(torch.zeros_like(part) if is_tensor(part) else part,
                        torch.zeros(shape, dtype=dtype),
                        of=f"{of} (their shape and type)")  # fmt: skip
    low, high = map(int, parts[1].aminmax())
    checks.that(low >= 0 and high < ids.shape[1], f"positions run from {low} to {high}, a row has "
                f"{ids.shape[1]} places")  # fmt: skip
    return parts


def candidates(ids, attention_mask, specials=SPECIALS):
    return attention_mask.bool() & ~torch.isin(ids, torch.as_tensor(specials))


def ragged(rows=300, seq=63):
    """Rows of every length from 3 to seq, among them one of padding and one of two specials."""
    ids, mask = sentences(rows, seq, seed=6)
    lengths = 3 + torch.arange(rows) % (seq - 2)
    lengths[6] = 2
    ids = torch.where(torch.arange(seq) == lengths[:, None] - 1, 102, ids)
    mask[torch.arange(seq) >= lengths[:, None]] = 0
    mask[5] = 0
    return torch.where(mask.bool(), ids, 0), mask


def wanted_counts(ids, attention_mask, slots, rate=0.15):
    """As many as the page says, and no more than slots and candidates; halves are left open."""
    exact = attention_mask.sum(1) * rate
    counts = exact.round().clamp(min=1, max=slots)
    is_half = (exact - exact.floor() - 0.5).abs() < 1e-3
    return torch.minimum(counts, candidates(ids, attention_mask).sum(1)).float(), ~is_half


@pytest.mark.hint(2)
@pytest.mark.weight(3)
def test_every_row_has_as_many_masks_as_its_length_asks_for(student):
    of_one_word = (sentences(400, 3)[0].clone().index_fill(1, torch.tensor([1]), 1500),
                   torch.ones(400, 3, dtype=torch.int64))  # fmt: skip
    long, its_mask = ragged(600, 602)
    long, its_mask = long.int(), its_mask.to(torch.int8)
    few, holes = ragged()
    holes *= torch.randint(2, holes.shape, generator=checks.generator(8))
    for ids, attention_mask in (
        ragged(), (few, holes), (long, its_mask), sentences(40, 47, padding=16), of_one_word,
    ):  # fmt: skip
        seq = ids.shape[1]
        every, its_every = ids, attention_mask
        for number, given in enumerate((None, 0.0, 0.44, 0.1234)):
            if every is long:  # at each rate every other length
                ids, attention_mask = every[number // 2 :: 2], its_every[number // 2 :: 2]
            rate = OWN if given is None else given
            most = MaskingRecipe(rate or OWN).max_predictions(seq)
            all_slots = (most + 2, 3, 1, seq) if given != 0 else (most + 2, 1)  # or all ask for one
            if every is long:
                all_slots = (most + 2,) * (given != 0)
            for slots in dict.fromkeys(all_slots):
                weights = mask(student, ids, attention_mask, rate=given, slots=slots)[3]
                expected, sure = wanted_counts(ids, attention_mask, slots, rate)
                checks.same(
                    weights.sum(1)[sure],
                    expected[sure],
                    of=f"the masks of each row ({slots} slots, rate "
                    f"{'left out' if given is None else given})",
                    mistakes=lambda: named_counts(ids, attention_mask, slots, rate, given, sure),
                )


def named_counts(ids, attention_mask, slots, rate, given, sure):
    """What wrong counts of `count_mistakes` would be in the rows that are compared."""
    lengths = attention_mask.sum(1)[sure]
    wrong = count_mistakes(ids, attention_mask, slots, rate)
    if given is None:
        wrong = {course.OF_PAGE: wanted_counts(ids, attention_mask, slots, rate=0.15)[0]} | wrong
    return {name: counts.float()[sure] for name, counts in wrong.items()} | {
        "rows of the same length have different counts: chance decides them": lambda out: any(
            out[lengths == n].unique().numel() > 1 for n in lengths.unique()
        )
    }


def count_mistakes(ids, attention_mask, slots, rate):
    words, tokens = candidates(ids, attention_mask).sum(1), attention_mask.sum(1)
    seq = torch.full_like(tokens, ids.shape[1])

    def count(of, rounded=torch.round, rate=rate, least=1):
        return torch.minimum(rounded(of * rate).clamp(min=least, max=slots), words)

    wrong = {
        "the rate argument is ignored: it is always 0.15": count(tokens, rate=0.15),
        "the rate is kept as a whole percentage": count(tokens, rate=round(rate, 2)),
        "the count is a share of the candidates: [CLS] and [SEP] count too": count(words),
        "the count is a share of the whole row: padding does not count": count(seq),
        "a short row has one mask at least": count(tokens, least=0),
        "every slot is used: a row has its own count, the slots beyond it have weight 0": (
            torch.full_like(tokens, slots)),
        "every slot that finds a candidate is used: a row has its own count": (
            torch.minimum(torch.full_like(tokens, slots), words)),
        "the count is rounded down: round to the nearest": count(tokens, torch.floor),
        "the count is rounded up: round to the nearest": count(tokens, torch.ceil),
    }  # fmt: skip
    return {name: counts for name, counts in wrong.items()  # two that are alike say nothing
            if sum(torch.equal(counts.float(), other.float()) for other in wrong.values()) == 1
            }  # fmt: skip


@pytest.mark.hint(3)
@pytest.mark.weight(3)
def test_slots_tell_what_stood_where_and_all_else_is_unchanged(student):
    gaps = tuple(x[:, ::2] for x in sentences(20, 80, seed=9))
    for ids, attention_mask in (sentences(50, 128), ragged(), sentences(1, 41, padding=7), gaps):
        for slots in (MaskingRecipe(0.15).max_predictions(ids.shape[1]) + 3, 1):
            shown, positions, tokens, weights = mask(student, ids, attention_mask, slots=slots)
            used = weights > 0
            checks.same(weights, used.float(), of="the weights, which are 0 or 1")
            originals = ids.gather(1, positions)
            checks.same(
                tokens,
                originals * used,
                of="the tokens of the slots",
                mistakes=lambda: {
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
                        likely="" if changed[:, 1:].any() else "an empty slot writes to position 0"
                        )  # fmt: skip


@pytest.mark.hint(1)
@pytest.mark.weight(2)
def test_special_tokens_and_padding_are_never_chosen(student):
    for ids, attention_mask in (sentences(400, 128, padding=30), ragged()):
        _, positions, _, weights = mask(student, ids, attention_mask)
        chosen = ids.gather(1, positions)[weights > 0]
        has_words = candidates(ids, attention_mask).any(1, keepdim=True)
        for token, name in [(101, "[CLS]"), (102, "[SEP]"), (0, "padding")]:
            wrong = int((chosen == token).sum())
            likely = "a row without candidates gets a mask: it has none"
            if ((ids.gather(1, positions) == token) & (weights > 0) & has_words).any():
                likely = f"{name} is a candidate, although its id is among special_ids"
            checks.that(wrong == 0, f"{wrong} of {len(chosen)} masks stand on {name}",
                        likely=likely)  # fmt: skip
    ids, attention_mask = sentences(200, 128)
    others = [*SPECIALS, *range(500, 900)]
    _, positions, _, weights = mask(student, ids, attention_mask, special_ids=torch.tensor(others))
    chosen = ids.gather(1, positions)[weights > 0]
    checks.that(not ((chosen >= 500) & (chosen < 900)).any(),
                "ids 500 to 899 are among special_ids, and some were chosen",
                likely="special_ids is not used: the special tokens are written into the function"
                )  # fmt: skip
    many = dict(special_ids=torch.tensor(others), rate=1.0, slots=128)
    _, positions, _, weights = mask(student, ids, attention_mask, **many)
    hits = torch.zeros_like(ids).scatter_add(1, positions, (weights > 0).long())
    checks.same(hits, candidates(ids, attention_mask, others).long(),
                of=f"1 where a token is masked, rate 1, {len(others)} special_ids",
                mistakes={"with many special_ids words are lost that come twice": (
                    lambda out: int(out.sum()) < int(candidates(ids, attention_mask, others).sum())
                    )})  # fmt: skip
    ids[:, 100:] = 700  # words, but where attention_mask is 0
    attention_mask[:, 100:] = 0
    _, positions, _, weights = mask(student, ids, attention_mask)
    checks.that(bool((positions < 100).all()), "a mask stands where attention_mask is 0",
                likely="padding is known by its id alone: attention_mask says what is a token"
                )  # fmt: skip


def test_a_word_of_any_id_is_a_candidate(student):
    """Here 0 is an ordinary word, and so is 103: both are missing from `special_ids`."""
    ids = torch.tensor([[101, 0, 103, 0, 103, 0, 102]]).repeat(400, 1)
    attention_mask = torch.ones_like(ids)
    shown, _, tokens, weights = mask(
        student, ids, attention_mask, special_ids=torch.tensor([101, 102]), rate=0.4, slots=4,
        mask_id=7, ordinary_ids=torch.tensor(UNSEEN),
    )  # fmt: skip
    used = weights > 0
    of_id_0 = "a token of id 0 is a word like others if special_ids does not hold 0"
    checks.same(weights.sum(1), torch.full((400,), 3.0),
                of="the number of masks of rows [101, 0, 103, 0, 103, 0, 102], where only 101 and "
                   "102 are special",
                mistakes={of_id_0: lambda out: not (tokens[used] == 0).any()})  # fmt: skip
    seen, _, _, of_mask = mask(
        student, ids, attention_mask, special_ids=torch.tensor([101, 102]), rate=0.7, slots=5,
        mask_id=103, ordinary_ids=torch.tensor(UNSEEN),
    )  # fmt: skip
    checks.same(
        of_mask.sum(1),
        torch.full((400,), 5.0),
        of="the number of masks of the same rows, rate 0.7, where 103 is mask_id",
        mistakes=lambda: {
            "a token that is mask_id already is a candidate, unless special_ids "
            "holds it": torch.full((400,), 3.0)
        },
    )
    checks.share(int((seen[ids == 103] == 103).sum()), 800, 0.9,
                 of="how often a masked token that is mask_id already stays the same",
                 mistakes={"it never becomes a random word": 1.0})  # fmt: skip
    checks.share(int((tokens[used] == 0).sum()), int(used.sum()), 0.6,
                 of="the share of the word with id 0 among the masked",
                 mistakes={of_id_0: 0.0})  # fmt: skip
    # Words whose last bits are those of a special id, as floats have them or as bytes.
    like = [101 + 2**power for power in (7, 8, 15, 16, 17, 24, 31, 32, 48)] + [2**24 + 1]
    rows = torch.tensor([[101, *like, 2**24]]).repeat(2, 1)
    weights_of = mask(student, rows, torch.ones_like(rows), rate=1.0, slots=rows.shape[1],
                      special_ids=torch.tensor([101, 2**24]))[3]  # fmt: skip
    checks.same(weights_of.sum(1), torch.full((2,), float(len(like))),
                of=f"the number of masks of rows {rows[0].tolist()}, rate 1, where only 101 and "
                   f"{2**24} are special",
                mistakes={"ids are kept in too few bits to be compared with special_ids": (
                    lambda out: bool((out < len(like)).all()))})  # fmt: skip
    masked = int((shown == 7).sum())
    checks.share(masked, int(used.sum()), 0.8, of="the share of the masked that show mask_id=7",
                 mistakes={"mask_id is ignored: it is written into the function": 0.0}
                 )  # fmt: skip


@pytest.mark.hint(1)
@pytest.mark.weight(3)
def test_every_choice_of_candidates_is_as_likely_and_every_row_is_drawn_anew(student):
    row, row_mask = sentences(1, 53)
    ids, attention_mask = row.repeat(4000, 1), row_mask.repeat(4000, 1)
    hits = masked_words(student, ids, attention_mask, slots=30)
    checks.that(bool((hits != hits[0]).any()), "the same tokens are masked in every row",
                likely="one draw for all rows: draw for (batch, seq)")  # fmt: skip
    words, count = candidates(row, row_mask)[0], int(hits[0].sum())
    for position in words.nonzero()[:, 0].tolist():
        checks.share(int(hits[:, position].sum()), 4000, count / int(words.sum()),
                     of=f"how often position {position} is masked",
                     mistakes={"this position is never masked": 0.0,
                               "this position is always masked": 1.0})  # fmt: skip
    mean = 4000 * count / int(words.sum())
    spread = float(((hits[:, words].sum(0) - mean) ** 2).sum()) / mean / (1 - count / words.sum())
    check_triples(hits[:, words].float() - mean / 4000, "what is masked in two rows tells what is "
                  "masked in a third one", axes=(0,))  # fmt: skip
    ids = torch.tensor([[101, 11, 12, 13, 14, 15, 16, 102]]).repeat(6000, 1)
    attention_mask = torch.ones_like(ids)
    for rate, size, slots in ((0.25, 2, 8), (0.5, 3, 3)):  # the second one asks for 4
        hits = masked_words(student, ids, attention_mask, rate=rate, slots=slots)
        code = (hits * 2 ** torch.arange(8)).sum(1)  # a number for each choice
        ways = list(itertools.combinations(range(1, 7), size))
        seen = [way for way in ways if int((code == sum(2**place for place in way)).sum())]
        checks.that(len(seen) == len(ways),
                    f"of the {len(ways)} ways to choose {size} of the positions 1 to 6, only "
                    f"{len(seen)} occur in 6000 rows",
                    likely="the masked tokens of a row always stand side by side: any choice must "
                    "be possible" if seen and all(map(is_stretch, seen)) else "")  # fmt: skip
        for way in ways:
            found = int((code == sum(2**place for place in way)).sum())
            checks.share(found, 6000, 1 / len(ways),
                         of=f"how often exactly the positions {way} of 1 to 6 are masked, where "
                            f"there are {slots} slots"
                         )  # fmt: skip
        for name, left, right in (
            ("the row after it", code[::2], code[1::2]),
            ("the row half a batch later", code[:3000], code[3000:]),
        ):
            checks.share(int((left == right).sum()), 3000, 1 / len(ways),
                         of=f"how often a row has the same choice as {name}",
                         mistakes={"one draw serves several rows": 1.0})  # fmt: skip
        for place in range(1, 7):
            sweep.is_unrelated(hits[:, place], of=f"rows of which position {place} is masked")
        check_that_rows_are_unrelated(hits[:, 1:7])
    # Chi-square of 49 degrees of freedom: below 9 once in 1e10 runs.
    checks.that(spread > 9, f"in 4000 rows each of {int(words.sum())} words is masked almost "
                f"equally often, about {mean:.0f} times: more evenly than by chance",
                likely=DEALT)  # fmt: skip
    check_that_few_rows_are_unrelated(student)
    check_that_rows_are_no_sums(student)


def check_that_rows_are_no_sums(student):
    """Rows that stand in a square have no draws that add up from those of its lines and columns:
    the products of any two lines are sums of independent signs."""
    for side in (64, 100, 128, 256):
        rows = side * side if side < 256 else 16_384
        ids = torch.full((rows, 2), 1500)
        masked = masked_words(student, ids, torch.ones_like(ids), slots=1, rate=0.5)
        square = 2.0 * masked[:, 0].view(-1, side) - 1
        for lines in (square, square.mT):
            count, size = lines.shape
            squares = float((lines @ lines.mT).triu(1).square().sum()) / size
            pairs = count * (count - 1) / 2
            checks.that(
                abs(squares - pairs) < 10 * math.sqrt(2 * pairs) + 10,
                f"of {rows:,} rows, taken as lines of {size}, any two lines agree more, or less, "
                "than by chance",
                likely="the draws of a row are made of others: draw for (batch, seq)",
            )


def check_that_few_rows_are_unrelated(student):
    """In many calls with a small batch, the rows and the fates are drawn by themselves."""
    likely = "a row is drawn by what was drawn for another one: draw each by itself"
    hits, _ = masked_in_calls(student, torch.full((2, 4), 1500), 120, slots=1, rate=0.25)
    checks.share(int((hits[:, 0] == hits[:, 1]).all(1).sum()), len(hits), 0.25,
                 of="how often both rows of a batch have the same one of 4 words masked",
                 mistakes={likely: 1 / 32, "both rows have the same draws": 1.0})  # fmt: skip
    ids = torch.full((6, 5), 1500)
    ids[2:5, 4] = 0
    hits, shown = masked_in_calls(student, ids, 70, slots=3, rate=0.4)  # two in each row
    can = (ids > 0).double()
    both = 2 / (of := can.sum(1)[:, None, None]) * torch.where(torch.eye(5) > 0, 1, 1 / (of - 1))
    both = (both * can[:, :, None] * can[:, None, :]).flatten(1)  # how likely two places are masked
    mean = (2 / of[..., 0] * can) @ (2 / of[..., 0] * can).T
    variance = len(hits) * (both @ both.T - mean**2)
    together = (hits.double() @ hits.double().mT - mean).sum(0)
    pairs = torch.ones_like(mean).triu(1) > 0
    for which, found, deviation in (
        ("two of its rows", together[pairs], variance[pairs].sqrt()),
        ("its rows", together[pairs].sum(), variance[pairs].sum().sqrt()),
    ):
        far = float((found.abs() / deviation).max())
        checks.that(far < 7.5, f"in {len(hits)} calls with a batch of {len(ids)} rows, the places "
                    f"masked in {which} are the same more, or less, often than by chance "
                    f"({far:.1f} standard deviations)", likely=likely)  # fmt: skip
    check_sums(shown == MASK, hits > 0, 0.8, of="masked tokens of a small batch that show [MASK]")


def masked_in_calls(student, ids, calls, **settings):
    """For each call: 1 where a token is masked; what is shown."""
    settings, can = settings_for(ids.shape[1], **settings), (ids > 0).long()
    found = [student.mask_on_device(ids, can, TorchRng(seed), **settings) for seed in range(calls)]
    shown, positions, _, weights = map(torch.stack, zip(*found, strict=True))
    return torch.zeros(shown.shape).scatter_add(2, positions, weights), shown


def check_that_rows_are_unrelated(hits):
    """A place of one row and any place of any other one are not masked together more often than by
    chance, as where the draws of a row are those of another one, moved by a place."""
    centered = hits - hits.double().mean()
    deviation = math.sqrt((centered**2).mean() * (centered**2).sum())
    for other in (centered, centered.flip(1)):
        products = torch.fft.fft2(centered).conj() * torch.fft.fft2(other)
        together = torch.fft.ifft2(products).real.abs()[1:].max()
        checks.that(
            float(together) < 12 * deviation,
            "what is masked in a row tells what is masked in another one",
            likely="the draws of a row are used again, at other places: draw for (batch, seq)",
        )


def masked_words(student, ids, attention_mask, **settings):
    """1 where a token is masked."""
    _, positions, _, weights = mask(student, ids, attention_mask, **settings)
    return torch.zeros_like(ids).scatter_add(1, positions, (weights > 0).long())


def is_stretch(way):
    """Whether the positions, of 1 to 6, stand side by side; 1 follows 6."""
    return any(set(way) == {(start + i) % 6 + 1 for i in range(len(way))} for start in range(6))


def test_every_draw_comes_from_the_generator(student):
    ids, attention_mask = sentences(300, 128)
    first, again, other = (mask(student, ids, attention_mask, seed=seed) for seed in (7, 7, 8))
    for name, left, right in zip(NAMES, first, again, strict=True):
        checks.same(right, left, of=f"{name} of a second call with the same seed",
                    mistakes={"a draw does not come from the generator": lambda out: True}
                    )  # fmt: skip
    seen = [shown.gather(1, positions) for shown, positions, _, _ in (first, other)]
    both = [(words != MASK) & (words != tokens)
            for words, (_, _, tokens, _) in zip(seen, (first, other), strict=True)]  # fmt: skip
    is_random = both[0] & both[1]
    for of, left, right in (
        ("positions", first[1], other[1]),
        ("places of [MASK] among the slots", seen[0] == MASK, seen[1] == MASK),
        ("random words", seen[0][is_random], seen[1][is_random]),
    ):
        checks.that(bool((left != right).any()),
                    f"two generators with different seeds give the same {of}",
                    likely=f"the {of} do not depend on the generator that is handed in"
                    )  # fmt: skip
    check_that_no_two_generators_give_the_same(student)


def check_that_no_two_generators_give_the_same(student, calls=150, rows=25, seq=40):
    """Two of 150 generators are alike where there are but a thousand in all; and so are 30 of one
    seed, which stand further apart than a call draws, where that seed is all that counts. The
    products of what happened then add up to the variance of all places, or half of it where two
    calls have half of their places in common; by chance they do not reach a third."""
    few = "a generator is seeded in the call, from few seeds or anew: draw from generator itself"
    ids, ones = torch.full((rows, seq), 1500), torch.ones(rows, seq, dtype=torch.int64)
    settings = settings_for(seq, rate=0.5, slots=seq // 2,
                            ordinary_ids=torch.arange(3_000, 7_000))  # fmt: skip
    rngs = [TorchRng(seed) for seed in range(calls)]
    rngs[:30] = [TorchRng(0, 10 * rows * seq * number) for number in range(30)]
    found = [student.mask_on_device(ids, ones, rng, **settings) for rng in rngs]
    shown, positions, _, _ = map(torch.stack, zip(*found, strict=True))
    seen = shown.gather(2, positions)
    is_masked = torch.zeros(shown.shape).scatter(2, positions, 1.0)
    tables = (("slot", seen, seen > 0), ("place", shown, is_masked > 0))
    seen, is_masked, shown = seen.flatten(1), is_masked.flatten(1), shown.flatten(1)
    for of, happened, where in (
        ("mask the same tokens", is_masked, torch.ones_like(is_masked)),
        ("show [MASK] in the same slots", seen == MASK, torch.ones_like(seen)),
        ("show [MASK] at the same places", shown == MASK, is_masked),
    ):
        one = torch.from_numpy(sweep.about_mean(happened, where > 0)).float()
        together = (one @ one.T).triu(1) > 0.35 * float((one**2).sum()) / calls
        checks.that(not together.any(),
                    f"of {calls} generators, {int(together.sum())} pairs {of}", likely=few
                    )  # fmt: skip
    for of, words in (("in the same slot", seen), ("at the same place", shown)):
        is_word = words >= 3_000
        pairs = int((is_word.sum(0) * (is_word.sum(0) - 1) // 2).sum())
        numbered = (words + 100_000 * torch.arange(words.shape[1]))[is_word]
        same = numbered.unique(return_counts=True)[1]
        sweep.is_about(int((same * (same - 1) // 2).sum()), pairs / 4_000, likely=few,
                       of=f"pairs of the same random word {of} of two calls, of {calls} calls"
                       )  # fmt: skip
    is_masked = is_masked.view(calls, rows, seq) > 0
    check_shares(is_masked, ones > 0, 0.5, of="are masked")
    check_sums(is_masked, ones > 0, 0.5, of="masked tokens", along=(1,))
    for place, table, where in tables:
        check_fates(table, where, ids[0, 0], place)
        is_word, is_mask = table >= 3_000, table == MASK
        check_sums(is_mask, where, 0.8, of="masked tokens that show [MASK]", place=place)
        check_sums(is_word, where & ~is_mask, 0.5, place=place,
                   of="random words among the tokens that do not show [MASK]")  # fmt: skip
        for of, happened in (("lower", table < 5_000), ("even", table % 2 == 0)):
            check_sums(happened, is_word, 0.5, of=f"{of} ids among the random words", place=place)


def check_sums(happened, where, p, *, of, place="place", along=(1, 2, (1, 2))):
    """How often it `happened` of (call, row, place), `where` it can with the probability `p`, must
    vary as by chance: in all rows of a call, all places, or both. The bounds, at 6.5 standard
    deviations of sums of squares of nearly normal numbers, are those of Wilson and Hilferty."""
    where = where.expand(happened.shape).double()
    centered = (happened.double() - p) * where
    for axes in along:
        variance = p * (1 - p) * where.sum(axes).flatten()
        found = float((centered.sum(axes) ** 2).sum() / variance.sum())
        many = float(variance.sum() ** 2 / (variance**2).sum())
        low, high = ((1 - 2 / many / 9 + far * (2 / many / 9) ** 0.5) ** 3 for far in (-6.5, 7.5))
        sums = {1: place, 2: "row", (1, 2): "batch"}[axes]
        checks.that(low <= found <= high, f"the number of {of} of a {sums}, call by call, has "
                    f"{found:.3g} times the variance of independent draws",
                    likely=DEALT if found < 1 else "one draw decides for several tokens"
                    )  # fmt: skip


def check_rectangles(table, of):
    """Of numbers of mean 0 in (row, place), the products of four, in two rows and two places, add
    up to about 0: not where each is made of a number for its row and another for its place."""
    table = torch.as_tensor(table)
    pairs = torch.ones(len(table), len(table)).triu(1) > 0
    squares = (table**2 @ (table**2).T)[pairs]
    total = float((((table @ table.T)[pairs]) ** 2 - squares).sum())
    variance = float(2 * (squares**2 - (table**4 @ (table**4).T)[pairs]).sum())
    checks.that(abs(total) < 12 * variance**0.5, f"{of}: three of four in two rows and two places "
                "tell what the last one is", likely="a draw for each row is added to a draw for "
                "each place: draw for (batch, slots)")  # fmt: skip


def check_fates(seen, where, originals, place):
    """Of every row and place or slot: [MASK], another word, the same."""
    for fate, happened, p in (
        ("show [MASK]", seen == MASK, 0.8),
        ("show a random word", (seen != MASK) & (seen != originals), 0.1),
        ("show themselves", seen == originals, 0.1),
    ):
        check_shares(happened, where, p, of=f"of the masked {fate}", place=place)


def check_shares(happened, where, p, *, of, place="place"):
    """What `happened` in (call, row, place) must have the probability `p` in each row and place,
    each row, each place, and in all. By Chernoff's bound one of these fails once in 1e13 runs."""
    p, where = (torch.as_tensor(x).double().expand(happened.shape) for x in (p, where))
    for axes, which in (
        (0, f"row and {place}"), ((0, 2), "row"), ((0, 1), place), ((0, 1, 2), "batch"),
    ):  # fmt: skip
        count, total, mean = ((values * where).sum(axes).flatten() for values in (happened, 1, p))
        total = total.clamp(min=1)
        share, mean = count / total, (mean / total).clamp(1e-9, 1 - 1e-9)
        far = total * (
            torch.xlogy(share, share / mean) + torch.xlogy(1 - share, (1 - share) / (1 - mean))
        )
        worst = int(far.argmax())
        checks.that(
            float(far[worst]) < 30,
            f"in {len(happened)} calls, {100 * float(share[worst]):.3g}% {of}, in {which} "
            f"{divmod(worst, happened.shape[2]) if axes == 0 else worst}: expected "
            f"{100 * float(mean[worst]):.3g}%",
            likely=f"some {which} has other chances than the rest",
        )


FATES = {
    "nothing is kept: all are [MASK] or random": (0.8, 0.2, 0.0),
    "nothing is random: all are [MASK] or kept": (0.8, 0.0, 0.2),
    "every masked token becomes [MASK]": (1.0, 0.0, 0.0),
    "of the 20% that are not [MASK], only a tenth became random: it must be half": (
        0.8, 0.02, 0.18),
    "a random word is drawn over [MASK]: a tenth of the [MASK] became random": (0.72, 0.1, 0.18),
    "kept is drawn over the others: a tenth of them was put back": (0.72, 0.09, 0.19),
    "half of them are [MASK], a quarter random, a quarter kept": (0.5, 0.25, 0.25),
}  # fmt: skip


@pytest.mark.hint(4)
@pytest.mark.weight(3)
def test_of_the_masked_80_percent_show_mask_10_a_random_word_10_themselves(student):
    ids, attention_mask = sentences(1500, 128)
    shown, positions, tokens, weights = mask(
        student, ids, attention_mask, ordinary_ids=torch.tensor(UNSEEN)
    )  # 28,500 masks
    used = weights > 0
    seen = shown.gather(1, positions)
    fates = torch.where(seen == MASK, 0, torch.where(seen == tokens, 2, 1))
    total = int(used.sum())
    counts = [int(((fates == fate) & used).sum()) for fate in (0, 1, 2)]
    named = [name for name, shares in FATES.items() if all(
        low <= count <= high for count, share in zip(counts, shares, strict=True)
        for low, high in [checks.central_range(total, share)])]  # fmt: skip
    for count, name, share in zip(counts, ("[MASK]", "a random word", "themselves"),
                                  (0.8, 0.1, 0.1), strict=True):  # fmt: skip
        checks.share(count, total, share, of=f"the share of the masked that show {name}",
                     mistakes=dict.fromkeys(named[:1], count / total))  # fmt: skip


@pytest.mark.hint(4)
@pytest.mark.weight(2)
def test_every_masked_token_is_drawn_by_itself(student):
    ids, attention_mask = sentences(1800, 67)  # 10 masks a row
    shown, positions, _, weights = mask(
        student, ids, attention_mask, slots=12, ordinary_ids=torch.tensor(UNSEEN)
    )
    used = weights > 0
    checks.that(bool((used.sum(1) == 10).all()), "rows of 67 tokens have 10 masks each")
    fates = (shown.gather(1, positions) == MASK)[used].view(1800, 10)
    for name, group in (("row", fates), ("column of slots", fates.T)):
        checks.that(bool((group != group[:, :1]).any()),
                    f"the masks of each {name} are all [MASK], or all not",
                    likely=f"one draw decides for all tokens of a {name}")  # fmt: skip
    for name, group in (
        ("the first half of the rows", fates[:900]),
        ("the last half of the rows", fates[900:]),
        ("slots 0 to 4", fates[:, :5]),
        ("slots 5 to 9", fates[:, 5:]),
    ):
        checks.share(int(group.sum()), group.numel(), 0.8,
                     of=f"the share of [MASK] among the masks of {name}")  # fmt: skip
    for name, pairs in (("a row", fates), ("a column of slots", fates.T)):
        left, right = pairs.reshape(-1, 2).T
        checks.share(int((left & right).sum()), len(left), 0.64,
                     of=f"the share of pairs in {name} of which both show [MASK]")  # fmt: skip
    checks.share(int((fates.sum(1) == 8).sum()), 1800, 0.30199,
                 of="the share of rows in which exactly 8 of 10 show [MASK]",
                 mistakes={"80% is a probability, not a count: each row has the same number": 1.0}
                 )  # fmt: skip
    sweep.is_unrelated(fates, of="masks that show [MASK], in the order of their slots")
    is_chosen = torch.zeros(ids.shape).scatter_add(1, positions, weights)
    is_word = is_chosen.sum(0) > 0
    at_places = sweep.about_mean(shown == MASK, is_chosen > 0)
    is_chosen = sweep.about_mean(is_chosen, is_word.expand(ids.shape))
    check_that_no_row_tells_of_another(is_chosen, at_places, shown, positions)
    is_chosen, at_places = is_chosen[:, is_word], at_places[:, is_word]
    in_slots = sweep.about_mean(fates, torch.ones_like(fates))
    is_chosen, at_places, in_slots = map(torch.from_numpy, (is_chosen, at_places, in_slots))
    for these, order in ((at_places, "place"), (in_slots, "slot")):
        deviations = ((is_chosen**2).T @ these**2).sqrt()
        checks.that(
            bool(((is_chosen.T @ these).abs() <= 9 * deviations).all()),
            f"whether a place is masked tells whether a {order} of the same row shows [MASK]",
            likely="a draw is used twice: each is to be drawn by itself",
        )
    # Batches of one masked token.
    _, shown = masked_in_calls(student, torch.full((1, 4), 1500), 80, slots=1, rate=0.25)
    checks.share(int((shown == MASK).sum()), len(shown), 0.8, of="how often the only masked token "
                 "of a batch shows [MASK]",
                 mistakes={"a batch without any [MASK] gets one": 1.0})  # fmt: skip


def check_that_no_row_tells_of_another(is_chosen, is_masked, shown, positions):
    """Which places of a row are masked says nothing of what masked tokens show, of this row or any
    other, in the order of places or of slots, also where rows or columns are turned round. The
    random words count as numbers from -2 to 2; a table of slots is as wide as one of places."""
    ranks = sum(rank * (shown == word) for rank, word in zip(range(-2, 3), UNSEEN, strict=True))
    fates, empty = torch.as_tensor(is_masked), (0, shown.shape[1] - positions.shape[1])
    chosen = torch.fft.rfft2(torch.as_tensor(is_chosen)).conj()
    for of, places, slots in (
        ("the places that show [MASK] or the random words in their slots", fates, ranks),
        ("the slots that show [MASK] or the random words at their places", ranks, fates),
    ):
        both = places + torch.nn.functional.pad(slots.gather(1, positions), empty)
        deviation = math.sqrt((is_chosen**2).mean() * float((both**2).sum())) + 1e-9  # never 0
        for turned in ((), (0,), (1,), (0, 1)):
            products = chosen * torch.fft.rfft2(both.flip(turned))
            far = float(torch.fft.irfft2(products, both.shape).abs().max()) / deviation
            checks.that(far < 12, f"the masked places of a row, and {of}, of this row or another: "
                        "these go together more, or less, than by chance "
                        f"({far:.0f} standard deviations)",
                        likely="draws are used twice: each is to be drawn by itself"
                        )  # fmt: skip


@pytest.mark.weight(2)
def test_fates_and_random_words_have_draws_of_their_own(student):
    ids = torch.randint(1, 90, (500, 100), generator=checks.generator(4))
    shown, positions, _, weights = mask(
        student, ids, torch.ones_like(ids), rate=1.0, slots=100,
        ordinary_ids=torch.arange(1000, 1120), special_ids=torch.arange(1000, 1040),
    )  # fmt: skip
    checks.same(weights, torch.ones(500, 100), of="the weights of 100 words, rate 1")
    for order, seen in (("places", shown), ("slots", shown.gather(1, positions))):
        is_random = seen >= 1000
        checks.that(int(is_random.sum()) > 500,
                    f"only {int(is_random.sum())} of 50,000 tokens became another word",
                    likely="random words are missing: 10% of the masked become one")  # fmt: skip
        is_masked = sweep.about_mean(seen == MASK, is_random < 2)
        is_upper = sweep.about_mean(seen >= 1060, is_random)
        special = int((seen[is_random] < 1040).sum())
        checks.share(special, int(is_random.sum()), 1 / 3,
                     of="the share of random words that are special_ids, a third of ordinary_ids",
                     mistakes={"a special id is never drawn: all of ordinary_ids are": 0.0}
                     )  # fmt: skip
        for name, table, chosen in (("row", seen, is_random), ("column", seen.T, is_random.T)):
            table = torch.where(chosen, table, -1 - torch.arange(table.shape[1])).sort(1).values
            numbered = (table + 10_000 * torch.arange(len(table))[:, None])[table >= 0]
            same = numbered.unique_consecutive(return_counts=True)[1]
            number = chosen.sum(1)
            count = int((same * (same - 1) // 2).sum())
            sweep.is_about(
                count,
                float((number * (number - 1)).sum()) / 240,
                of=f"pairs of the same random word of 120 in a {name} of {order}",
                likely="words are drawn without replacement: each is drawn by itself"
                if count == 0
                else "",
            )
        of = f"in the order of their {order}"
        sweep.have_own_draws(is_upper, is_upper, of=f"the random words, each with another, {of}")
        sweep.have_own_draws(
            is_masked, is_upper, of=f"tokens that show [MASK] and random words, {of}"
        )
        sweep.is_unrelated(seen[is_random] >= 1060, of=f"random words of the upper half, {of}")
        for table, what in ((is_masked, "tokens that show [MASK]"), (is_upper, "random words")):
            check_rectangles(table, f"{what}, {of}")
        is_odd = sweep.about_mean(seen % 2 == 1, is_random)
        sweep.have_own_draws(is_odd, is_odd, of=f"the random words of odd ids, {of}")


def test_arguments_of_earlier_calls_are_forgotten(student):
    """Calls that differ in nothing but values: what is kept by sizes and types is wrong."""
    for number in range(6):
        generator = checks.generator(20 + number)
        order = torch.randperm(60, generator=generator)
        special, ordinary = order[:3], order[3:23]
        ids = torch.randint(60, (60, 12), generator=generator)
        attention_mask = torch.randint(2, ids.shape, generator=generator)
        shown, positions, _, weights = mask(
            student, ids, attention_mask, rate=1.0, slots=12, special_ids=special,
            ordinary_ids=ordinary, mask_id=int(special[0]),
        )  # fmt: skip
        of = f"call {number + 1} of 6 with arguments of the same sizes"
        hits = torch.zeros_like(ids).scatter_add(1, positions, (weights > 0).long())
        checks.same(hits, candidates(ids, attention_mask, special).long(),
                    of=f"1 where a token is masked, rate 1, {of}",
                    mistakes={"special_ids are kept from an earlier call": lambda out, n=number:
                              n > 0})  # fmt: skip
        known = torch.isin(shown[hits > 0], torch.cat([ordinary, special[:1]]))
        known |= shown[hits > 0] == ids[hits > 0]
        checks.that(bool(known.all()), f"a random word is not among ordinary_ids, {of}",
                    likely="ordinary_ids are kept from an earlier call" if number else ""
                    )  # fmt: skip


@pytest.mark.weight(2)
def test_random_words_come_from_all_of_ordinary_ids(student):
    ids, attention_mask = sentences(1500, 128)
    for words in (ORDINARY, UNSEEN):
        shown, positions, tokens, weights = mask(
            student, ids, attention_mask, ordinary_ids=torch.tensor(words)
        )
        seen, used = shown.gather(1, positions), weights > 0
        is_random = used & (seen != MASK) & (seen != tokens)
        found = seen[is_random]
        checks.that(len(found) > 500, f"only {len(found)} tokens became another word",
                    likely="random words are missing: 10% of the masked become one")  # fmt: skip
        checks.that(bool(torch.isin(found, torch.tensor(words)).all()),
                    "a random word is not among ordinary_ids",
                    likely="ordinary_ids is not used: words are drawn from all ids" if bool(
                        (found < VOCAB).all()) else "")  # fmt: skip
        checks.that(found.unique().numel() > 1, "all random words are the same",
                    likely="one random word is drawn for all: draw one for each")  # fmt: skip
        for name, table, chosen in (("row", seen, is_random), ("column", seen.T, is_random.T)):
            low, high = (torch.where(chosen, table, none) for none in (10**6, -1))
            checks.that(bool((low.min(1).values < high.max(1).values).any()),
                        f"all random words of a {name} of slots are the same",
                        likely=f"one random word is drawn for each {name}")  # fmt: skip
        fifths = [words[part * len(words) // 5 : (part + 1) * len(words) // 5] for part in range(5)]
        counts = [int(torch.isin(found, torch.tensor(few)).sum()) for few in fifths]
        parts = [f"part {part} of 5 of ordinary_ids, which has {len(words)} words"
                 for part in range(1, 6)]  # fmt: skip
        for count, part in zip(counts, parts, strict=True):
            checks.that(count > 0, f"no random word is from {part}",
                        likely="these words are never drawn")  # fmt: skip
        for few, count, part in zip(fifths, counts, parts, strict=True):
            checks.share(count, len(found), len(few) / len(words),
                         of=f"the share of random words from {part}")  # fmt: skip
    texts = torch.where(candidates(ids, attention_mask), torch.tensor(UNSEEN)[ids % 5], ids)
    shown, positions, tokens, weights = mask(
        student, texts, attention_mask, ordinary_ids=torch.tensor(UNSEEN)
    )
    used = weights > 0
    checks.share(int((shown.gather(1, positions) == tokens)[used].sum()), int(used.sum()), 0.12,
                 of="the share of the masked that show themselves, where the text has only the 5 "
                    "words of ordinary_ids: 10%, and a fifth of the random words",
                 mistakes={"a random word is never the word itself: all of ordinary_ids are "
                           "equally likely": 0.1})  # fmt: skip
    for name, table, chosen in (("row", seen, is_random), ("column", seen.T, is_random.T)):
        drawn = table[chosen]
        left, right = drawn[: len(drawn) // 2 * 2].view(-1, 2).T
        checks.share(int((left == right).sum()), len(left), 0.2,
                     of=f"how often two random words of a {name} of slots, one after the other, "
                        "are the same, where ordinary_ids has 5")  # fmt: skip


@pytest.mark.hint(3)
def test_rows_that_begin_with_a_word_and_any_type_are_fine(student):
    """No [CLS] at position 0, where the empty slots point to."""
    ids, attention_mask = sentences(2000, 20)
    ids[:, 0] = 1500
    attention_mask[:, 11:] = 0  # 11 tokens, of which 9 are words, and 2 masks
    for given in ((ids, attention_mask), (ids.int(), attention_mask.int())):
        shown, positions, tokens, weights = mask(student, *given)
        at_start = (positions == 0) & (weights > 0)
        words = int(candidates(*given)[0].sum())
        checks.share(int(at_start.sum()), 2000, 2 / words,
                     of="how often the word at position 0 is masked",
                     mistakes={"position 0 is never masked: a word may stand there": 0.0}
                     )  # fmt: skip
        hidden = int((shown[:, 0] == MASK).sum())
        checks.share(hidden, int(at_start.sum()), 0.8,
                     of="the share of [MASK] among the masks at position 0",
                     mistakes={"an empty slot writes over position 0 what stood there": 0.0}
                     )  # fmt: skip
        checks.same(
            tokens[at_start], given[0][:, 0][at_start.any(1)], of="the tokens at position 0"
        )


def test_every_place_of_a_row_of_words_shows_its_mask(student):
    """Also the first and the last, where there are empty slots: what these write shows nowhere.
    The ids lie in memory by columns."""
    rows, seq = 6_000, 5
    ids, ones = torch.full((seq, rows), 1500).t(), torch.ones(rows, seq, dtype=torch.int64)
    shown, positions, _, weights = mask(student, ids, ones, rate=0.4, slots=4)
    found = torch.zeros_like(ids).scatter_add(1, positions, (weights > 0).long())
    for place in range(seq):
        is_masked = found[:, place] > 0
        checks.share(int((shown[is_masked, place] == MASK).sum()), int(is_masked.sum()), 0.8,
                     of=f"the share of [MASK] among the masks at place {place} of rows of {seq} "
                        "words, with 2 masks and 4 slots",
                     mistakes={"an empty slot writes over this place what stood there": 0.0}
                     )  # fmt: skip
    both = int(((shown == MASK).sum(1) == 2).sum())
    checks.share(both, rows, 0.64, of="how often both masks of a row show [MASK]",
                 mistakes={"the same words of a row share one fate": 0.8})  # fmt: skip
    neither = int(((shown != MASK).sum(1) == seq).sum())
    checks.share(neither, rows, 0.04, of="how often neither mask of a row shows [MASK]",
                 mistakes={"a row without any [MASK] gets one": 0.0})  # fmt: skip


def test_small_batches_and_single_rows_have_the_same_chances(student):
    # One row, rows of one token, and few masks in all; with holes, and as few candidates as masks.
    generator = checks.generator(15)
    for rows, seq in ((1, 600), (600, 1)):
        ids = torch.full((rows, seq), 1500, dtype=torch.int32)
        settings = dict(rate=1.0, slots=seq, ordinary_ids=torch.tensor(UNSEEN))
        shown, _, _, weights = out = mask(student, ids, torch.ones_like(ids), **settings)
        checks.same(weights, torch.ones(rows, seq), of=f"the weights of {rows} rows of {seq} words")
        again = mask(student, ids, torch.ones_like(ids), **settings)
        checks.same(again, out, of=f"a second call with the same seed, {rows} rows of {seq} words",
                    mistakes={"a draw does not come from the generator": lambda out: True}
                    )  # fmt: skip
        check_fates(shown[None], torch.ones_like(shown[None]) > 0, 1500, "place")
    ids = torch.randint(500, 2000, (8, 9), generator=generator).int()
    attention_mask = torch.ones_like(ids)
    attention_mask[:4] = torch.rand(4, 9, generator=generator) < 0.7
    attention_mask[:, :2] = 1
    ids[5, 2:], ids[6, 2:], ids[7, ::2] = 101, 102, 102
    attention_mask[6, 3:] = 0
    can, slots = candidates(ids, attention_mask), 4
    counts = wanted_counts(ids, attention_mask, slots, 0.41)[0][:, None]
    settings = settings_for(9, rate=0.41, slots=slots, ordinary_ids=torch.tensor(UNSEEN[:2]))
    found = [student.mask_on_device(ids, attention_mask, TorchRng(seed), **settings)
             for seed in range(80)]  # fmt: skip
    for seed, first in enumerate(found[:8]):
        again = mask(student, ids, attention_mask, seed=seed, **settings)
        checks.same(again, first, of="a second call with the same seed, 8 rows of 9 tokens",
                    mistakes={"a draw does not come from the generator": lambda out: True}
                    )  # fmt: skip
    shown, positions, _, weights = map(torch.stack, zip(*found, strict=True))
    is_masked = torch.zeros(shown.shape).scatter_add(2, positions, weights) > 0
    check_shares(is_masked, can, counts / can.sum(1, keepdim=True), of="of the words are masked")
    check_fates(shown, is_masked, ids, "place")
    check_fates(shown.gather(2, positions), weights > 0, ids.expand_as(shown).gather(2, positions),
                "slot")  # fmt: skip


def test_the_front_of_a_long_row_is_masked_no_more_often_than_its_end(student):
    """One mask a row, among 998 words. Where two draws are the same, and smaller or larger than all
    others, most answers take the first or the last of them: draws of 11 bits are too coarse."""
    rows, seq, calls = 700, 1000, 4
    ids, attention_mask = sentences(rows, seq)
    ids, attention_mask = ids.int(), attention_mask.to(torch.int8)
    words = ids[0] != 101
    words[seq // 2] = words[seq - 1] = False
    rank = (words.cumsum(0) - 0.5) / words.sum()
    few = "positions are kept in too few bits"
    shown, found, tokens, _ = map(torch.cat, zip(
        *(mask(student, ids, attention_mask, seed=40 + call, slots=1, rate=1e-4)
          for call in range(calls)), strict=True
    ))  # fmt: skip
    seen, found = shown.gather(1, found), found[:, 0]
    of = "how often the only masked token of a row shows "
    checks.share(int((seen == MASK).sum()), len(seen), 0.8, of=of + "[MASK]",
                 mistakes={"a row in which all would be kept is changed": 0.9,
                           "a row without any [MASK] gets one": 1.0})  # fmt: skip
    other = (seen != MASK) & (seen != tokens)
    checks.share(int(other.sum()), len(seen), 0.1, of=of + "another word",
                 mistakes={"the draw that chose the place, which is small, decides the fate": (
                     int(other.sum()) / len(seen))})  # fmt: skip
    kept = 0.1 + 0.1 / len(ORDINARY)  # a random word may be the token itself
    checks.share(int((seen == tokens).sum()), len(seen), kept, of=of + "itself",
                 mistakes={"a row in which all would be kept is changed": 0.0})  # fmt: skip
    mean = float(rank[found].mean())
    # A mean of 2,800 even draws from 0 to 1: 6.3 deviations to either side, once in 3e9 runs.
    bound = 6.3 / (12 * len(found)) ** 0.5
    checks.that(abs(mean - 0.5) < bound, f"in {len(found)} rows of {int(words.sum())} words the "
                f"one that is masked stands at {mean:.3f} of the way from the first to the last: "
                f"expected 0.5, give or take {bound:.3f}",
                likely=few if int(found.max()) < 256 else
                       "the draws are coarse, so that two of a row are often the same, and the "
                       f"{'first' if mean < 0.5 else 'last'} is taken: draw from more numbers"
                )  # fmt: skip
    tenths = torch.histc(rank[found].float(), 10, 0, 1)
    spread = float(((tenths - len(found) / 10) ** 2).sum() / (len(found) / 10))
    # Chi-square of 9 degrees of freedom: above 66 once in 1e10 runs.
    checks.that(spread < 66, f"in {len(found)} rows, the tenths of a row have "
                f"{tenths.int().tolist()} masks: {len(found) // 10} each are expected",
                likely=few if int(found.max()) < 256 else
                       "the draws are coarse: draw from more numbers")  # fmt: skip
    check_that_masks_are_not_spread_evenly(student, ids[:100], attention_mask[:100], rank, words)


def check_that_masks_are_not_spread_evenly(student, ids, attention_mask, rank, words):
    """Of the 150 masks of a row, how many stand in each half, each eighth, on every other word: by
    chance the squares of these numbers about their mean add up as for draws without replacement."""
    _, positions, _, weights = mask(student, ids, attention_mask, seed=39, slots=150, rate=0.15)
    hits, total = torch.zeros(ids.shape).scatter_add(1, positions, weights), int(words.sum())
    of_places = sweep.about_mean(hits.sum(0), words)
    sweep.have_own_draws(of_places, of_places, of="how often each place is masked in 100 rows")
    for parts, of in (
        ((rank * 2).long(), "half"), ((rank * 8).long(), "eighth"),
        (words.cumsum(0) % 2, "half of every other word"),
    ):  # fmt: skip
        which = torch.nn.functional.one_hot(parts.clamp(max=7)).float() * words[:, None]
        share = which.sum(0) / total
        variance = 150 * share * (1 - share) * (total - 150) / (total - 1)
        found = float(((hits @ which - 150 * share) ** 2 / variance.clamp(min=1e-9)).mean())
        # Sums of 100 squares at least, at 6.5 standard deviations (Wilson and Hilferty).
        checks.that(0.33 < found < 2.3, f"the masks in each {of} of the words of a row, in 100 "
                    f"rows of {total} words with 150 masks, have {found:.3g} times the variance "
                    "of chance", likely="the masks are spread over a row: any choice must be as "
                    "likely" if found < 1 else "masks stand together in a part of a row: any "
                    "choice must be as likely")  # fmt: skip


@pytest.mark.weight(4)
def test_no_tensor_is_asked_for_its_values_and_new_ones_lie_on_its_device(student):
    """Tensors of the device meta have no values: to ask for one raises."""
    for rows, seq, slots, dtype, rate in (
        (3, 20, 5, "int64", 0.15), (1, 9, 2, "int32", None), (2, 7, 7, "int64", 0.5),
        (700, 900, 1, "int64", 1.0), (1, 1, 1, "int32", 0.0),
    ):  # fmt: skip
        few = 5 if rows < 700 else 1
        settings = settings_for(seq, slots=slots, special_ids=Meta((few,), "int64"),
                                ordinary_ids=Meta((10 * few,), "int64"), rate=rate)  # fmt: skip
        ids = Meta((rows, seq), dtype)
        try:
            call = student.mask_on_device.trace(
                ids, Meta((rows, seq), "int64"), TorchRng(7), **settings
            )
        except StudentError as error:
            if error.to_do:
                raise
            if "generator is not supported" in str(error):
                return  # torch has no such draw on the device meta: nothing can be said
            checks.fail("with tensors on the device meta, which have a shape and a type but no "
                        f"values, {error}", likely=why_it_waits(str(error)))  # fmt: skip
        expected = {"the ids": ids, "the positions": Meta((rows, slots), "int64"),
                    "the tokens": Meta((rows, slots), dtype),
                    "the weights": Meta((rows, slots), "float32")}  # fmt: skip
        parts = checks.parts(call.value, *NAMES)
        checks.that(not call.changed, "with tensors on the device meta, mask_on_device changed "
                    f"{' and '.join(call.changed)}",
                    likely="say device=input_ids.device where a tensor is made")  # fmt: skip
        for part, (name, right) in zip(parts, expected.items(), strict=True):
            same = type(part) is Meta and part == right
            checks.that(same, f"{name}, for tensors on the device meta: expected {right}, got "
                              f"{describe_value(part)}",
                        likely="" if type(part) is Meta else "this tensor was made on the CPU, not "
                               "on the device of input_ids")  # fmt: skip
        checks.that(not call.drawn, "with tensors on the device meta, numbers were drawn on the "
                    "CPU: it was the generator of the CPU that moved",
                    likely="a draw is made on the CPU and moved: say device=input_ids.device where "
                           "it is drawn")  # fmt: skip


def why_it_waits(error):
    """What an error says that torch raises for tensors without values."""
    if "on meta tensors" in error or "no data" in error or "meta device type tensor" in error:
        return ("this line asks a tensor for its values: with a GPU, the program would have to "
                "wait for them")  # fmt: skip
    if "nonzero" in error or "_unique" in error or "masked_select" in error:
        return ("this line makes a tensor whose size depends on values: with a GPU, the program "
                "would have to wait for them")  # fmt: skip
    if "expected device" in error or "same device" in error:
        return "a new tensor was made on the CPU: say device=input_ids.device"
    return ""


@pytest.mark.weight(2)
def test_no_loop_runs_over_rows_or_tokens(student):
    counts = {}
    for rows, seq in ((3, 8), (12_300, 8), (3, 12_300)):  # blocks of 4,096 show too
        ids, attention_mask = sentences(rows, seq)
        mask(student, ids, attention_mask, slots=4)
        counts[rows, seq] = student.mask_on_device.lines_run(
            ids, attention_mask, TorchRng(7), **settings_for(seq, slots=4)
        )
    few = counts.pop((3, 8))
    for (rows, seq), many in counts.items():
        checks.that(
            many <= few + 2,
            f"{rows} rows of {seq} tokens run {many} lines of your file, 3 rows of 8 run {few}: "
            "the number must not grow with rows or tokens",
            likely=f"a Python loop over the {'rows' if rows > 3 else 'tokens'}",
        )
    # The count comes from the student's process; how long that has worked, the system tells.
    # Right answers take 0.1 to 0.6 times the loop below, up to 5 on a very busy machine; one that
    # loops over rows takes some 20 times.
    ids, attention_mask = sentences(3000, 32)

    def loop():
        for row in ids.tolist():
            sorted(range(len(row)), key=row.__getitem__)
            [token not in SPECIALS for token in row]

    def right(out, ids, *_, **settings):
        shown, positions, tokens, weights = checks.parts(out, *NAMES)
        asked = weights > 0
        changed = (shown.gather(1, positions) != tokens)[asked].float().mean()
        are_theirs = torch.equal(tokens[asked], ids.gather(1, positions)[asked])
        return bool(asked.any(1).all() and are_theirs and 0.7 < changed < 1)

    checks.not_slower(student.mask_on_device, ids, attention_mask, TorchRng(7), loop=loop,
                      times=8, right=right, **settings_for(32))  # fmt: skip


def test_the_example_of_the_page_is_one_of_the_results(student):
    ids = torch.tensor([[101, 1996, 1937, 1938, 1591, 102, 0]]).repeat(400, 1)
    attention_mask = (ids > 0).long()
    shown, positions, tokens, weights = mask(student, ids, attention_mask, slots=2)
    checks.same(weights.sum(1), torch.ones(400), of="the number of masks of the example")
    used = weights.argmax(1, keepdim=True)
    at, token = positions.gather(1, used)[:, 0], tokens.gather(1, used)[:, 0]
    example = torch.tensor([101, 1996, 103, 1938, 1591, 102, 0])
    found = int(((shown == example).all(1) & (at == 2) & (token == 1937)).sum())
    checks.share(found, 400, 0.2, of="how often the result is that of the page's example")


def test_draws_are_fine_and_batches_of_any_size(student):
    # One mask in each long row: where the draws have few bits, several tokens share the smallest,
    # and most answers take the first or the last of them.
    rows, seq = 60, 60_000
    ids = torch.full((rows, seq), 11, dtype=torch.int16)
    settings = dict(rate=1e-9, slots=1, special_ids=torch.tensor([103], dtype=torch.int16))
    _, positions, tokens, weights = mask(
        student, ids, torch.ones_like(ids, dtype=torch.int8), **settings
    )
    checks.same(
        weights, torch.ones_like(weights), of=f"the weights of {rows} rows of {seq:,} words"
    )
    mean = float(positions.double().mean()) / (seq - 1)
    bound = 6.5 / (12 * rows) ** 0.5
    checks.that(
        abs(mean - 0.5) < bound,
        f"one mask in each of {rows} rows of {seq:,} words: the mean "
        f"position is {mean:.3f} of the way, chance stays within {bound:.3f} of 0.5",
        likely=sweep.COARSE,
    )
    # Of 98,304 words, 3 times 2 to the 15, draws of 16 bits reach two of three; those of a few bits
    # more reach a third of them once more than the others: every third, or the first third.
    count = 3 << 15
    ids = torch.full((1_500, 500), 7, dtype=torch.int32)
    shown, positions, tokens, weights = mask(
        student, ids, torch.ones_like(ids, dtype=torch.int8), rate=1.0, slots=500,
        ordinary_ids=torch.arange(1000, 1000 + count),
    )  # fmt: skip
    words = shown[shown >= 1000] - 1000
    checks.that(
        len(words) > 60_000, f"{len(words)} of {ids.numel()} masked tokens became another word"
    )
    total = shown.numel()
    for of, found, p in (("show [MASK]", shown == MASK, 0.8), ("show a random word", shown >= 1000,
                         0.1), ("show themselves", shown == 7, 0.1)):  # fmt: skip
        far = (int(found.sum()) - total * p) / (total * p * (1 - p)) ** 0.5
        checks.that(abs(far) < 6.2, f"{100 * float(found.float().mean()):.3f}% of {total:,} masked "
                    f"tokens {of}, expected {100 * p:.0f}%: that is {abs(far):.1f} standard "
                    "deviations off", likely=sweep.COARSE)  # fmt: skip
    for of, table in (("place", shown), ("slot", shown.gather(1, positions))):
        check_that_no_draws_come_twice(table.flatten().numpy(), of)
        check_large_sums((table == MASK).double() - 0.8, 0.16, of)
    checks.share(
        int((words < count // 3).sum()),
        len(words),
        1 / 3,
        of=f"the share of the first third of {count:,} ordinary_ids",
        mistakes={"the remainder of a draw of a few bits": 3 / 8},
    )
    sweep.is_fine(words[::10].numpy(), count, of=f"the random words from {count:,} ordinary_ids")
    for number in range(3):
        sweep.is_about(int((words % 3 == number).sum()), len(words) / 3, likely=sweep.COARSE,
                       of=f"the random words of number {number} after a multiple of 3 of {count:,}"
                       )  # fmt: skip
    draw = sweep.Draw(11)
    shapes = [draw.shape(2) for _ in range(14)] + [(4_103, 3), (2, 4_103), (1, 1), (3, 50)]
    for number, (rows, seq) in enumerate(shapes):
        vocab = int(draw.rng.choice([5, 9, 2_000, 70_000]))
        special = torch.from_numpy(draw.rng.choice(vocab, number % 4, False))
        ordinary = torch.from_numpy(
            draw.rng.permutation(vocab)[: int(draw.rng.integers(1, vocab + 1))]
        )
        dtype = [torch.int64, torch.int32, torch.int64, torch.int16][number % 4]
        if dtype == torch.int16 and vocab > 2_000:
            dtype = torch.int32
        # Some ids are larger than 32 bits and floats can hold.
        step = 2**33 + 1 if number % 8 == 2 else 1
        special, ordinary = step * special, step * ordinary
        ids = step * torch.from_numpy(draw.ids(rows, seq, entries=vocab)).to(dtype)
        attention = torch.from_numpy(draw.mask(rows, seq)).to(
            [torch.int64, torch.int32, torch.int8][number % 3]
        )
        if number % 4 == 0:
            attention[0] = 0
        slots, rate = (
            int(draw.rng.integers(1, seq + 1)),
            # none, or as few or as many digits as a rate may have
            [0.0, 0.01, 0.15, 0.5, 1.0, float(draw.rng.random())][number % 6],
        )
        given = dict(
            special_ids=special.to(ids.dtype),
            slots=slots,
            rate=rate,
            mask_id=step * int(draw.rng.integers(vocab)),
            ordinary_ids=ordinary,
        )
        laid_out, given = sweep.laid_out(([ids, attention], given), number)
        shown, positions, tokens, weights = mask(student, *laid_out, seed=number, **given)
        of = f"of {rows} rows of {seq} {ids.dtype} tokens, {slots} slots, rate {rate}"
        can, exact = candidates(ids, attention, special), attention.sum(1) * rate
        is_sure = (exact - exact.floor() - 0.5).abs() > 1e-3
        counts = torch.minimum(exact.round().clamp(min=1, max=slots), can.sum(1)).float()
        found = weights.sum(1)
        checks.that(
            bool((found == counts)[is_sure].all()),
            f"a row {of} has "
            f"{found[is_sure][(found != counts)[is_sure]][:1].tolist()} masks, expected "
            f"{counts[is_sure][(found != counts)[is_sure]][:1].tolist()}",
        )
        used = weights > 0
        hits = torch.zeros(rows, seq, dtype=torch.int64).scatter_add(1, positions, used.long())
        checks.that(bool((hits <= can).all()), f"a place {of} is masked twice, or is no candidate")
        checks.same(
            tokens,
            torch.where(used, ids.gather(1, positions), 0).to(ids.dtype),
            of=f"the tokens {of}",
        )
        checks.same(positions[~used], torch.zeros_like(positions[~used]), of=f"empty slots {of}")
        checks.same(torch.where(hits > 0, ids, shown), ids, of=f"what is not masked, {of}")
        new = shown[shown != ids]
        known = torch.isin(new, torch.cat([ordinary, torch.tensor([given["mask_id"]])]))
        checks.that(bool(known.all()), f"what is shown {of} is neither mask_id nor of ordinary_ids")
    check_types_and_rows_of_every_kind(student)


def check_that_no_draws_come_twice(shown, order):
    """Of many words, two that are the same stand at any distance from each other, and from both
    ends: at each one some 0.1 times. What 150 tokens show is not what 150 others do."""
    likely = "draws are used twice: draw for each token by itself"
    places = np.flatnonzero(shown >= 1000)
    places = places[np.argsort(shown[places], kind="stable")]
    same = np.diff(shown[places]) == 0
    one, other = places[:-1][same], places[1:][same]
    for of, numbers in (("apart", other - one), ("from both ends", other + one)):
        most = np.bincount(numbers)
        checks.that(most.max() < 15, f"{most.max()} pairs of the same random word stand "
                    f"{most.argmax()} {order}s {of}: expected one or two", likely=likely
                    )  # fmt: skip
    whole = (shown == MASK).tobytes()
    for text in (whole[:150], whole[-150:]):
        checks.that(whole.count(text) == 1 and text[::-1] not in whole,
                    f"of {shown.size:,} {order}s, 150 in a row show [MASK] as others do",
                    likely=likely)  # fmt: skip


def check_large_sums(centered, variance, order):
    """Of numbers with the mean 0 in (row, place): their sums over stretches vary as by chance, the
    sum of a row or place says nothing of others, nor do two numbers of a third one."""
    for length in (100, 1_000, 10_000):
        sums = centered.view(-1, length).sum(1)
        found, few = float((sums**2).mean()) / (length * variance), 2 / 9 / len(sums)
        low, high = ((1 - few + far * few**0.5) ** 3 for far in (-6.5, 7.5))
        checks.that(low <= found <= high, f"the number of [MASK] in stretches of {length:,} "
                    f"{order}s has {found:.3g} times the variance of independent draws",
                    likely=DEALT if found < 1 else "one draw decides for several tokens"
                    )  # fmt: skip
    for axis, of in ((1, "row"), (0, order)):
        sums = centered.sum(axis)
        sums = (sums - sums.mean()).numpy()
        sweep.have_own_draws(sums, sums, of=f"the numbers of [MASK] of each {of}")
    check_triples(centered, f"of three tokens, in the order of their {order}s, two that show "
                  "[MASK] or not tell of the third", axes=(0, 1))  # fmt: skip


def check_triples(centered, told, axes):
    """The products of three numbers of mean 0, which stand equally far apart along an axis, add up
    to about 0: not where the third is made of the others."""
    variance = float((centered**2).mean())
    for axis in axes:
        size = centered.shape[axis]
        for apart in (1, 2, size // 3):
            one, two, three = (
                centered.narrow(axis, step * apart, size - 2 * apart) for step in range(3)
            )
            total, count = float((one * two * three).sum()), one.numel()
            checks.that(abs(total) < 8 * (count * variance**3) ** 0.5, told,
                        likely="a draw is made of two others: draw each anew")  # fmt: skip


def check_types_and_rows_of_every_kind(student):
    """Ids of few bits, masks of all types, padding on the left or in holes, rows that are alike,
    special_ids twice and in no order, sizes that are powers of 2: counts, places, and shares."""
    types = [torch.int8, torch.int16, torch.int32, torch.int64]
    for number, (rows, seq, slots, rate) in enumerate([
        (256, 8, 8, 1), (320, 16, 3, 0.4), (128, 64, 64, 0.9), (400, 6, 2, 0.25), (500, 10, 1, 0),
        (64, 32, 16, 0.5), (512, 12, 2, 0.7), (90, 4, 4, 1), (128, 16, 16, 0.3), (60, 128, 70, 0.6),
    ]):  # fmt: skip
        generator = checks.generator(50 + number)
        dtype, of_mask, of_words = (types[(number * step) % 4] for step in (1, 3, 2))
        ids = torch.randint(20, 60, (rows, seq), generator=generator)
        ids = [ids, ids[:1].expand(rows, seq), 0 * ids, ids.sort(1, descending=True).values
               ][number % 4].clone()  # fmt: skip
        special = torch.tensor([57, 3, 21, 21, 3, 21])[: (6, 0, 4)[number % 3]]
        place = torch.arange(seq)
        drawn = torch.rand(rows, seq, generator=generator) < 0.7
        attention = [place >= seq // 4, drawn | (place == 1), place % 2 == number // 5,
                     drawn[:1], place >= 0]  # fmt: skip
        attention = attention[(number + number // 5) % 5].expand(rows, seq)
        words = torch.tensor([[99, 70, 84, 77, 91], [62]][number % 5 == 4])
        given = (ids.to(dtype), attention.to(of_mask))
        shown, positions, tokens, weights = mask(
            student, *given, seed=number, rate=rate, slots=slots, special_ids=special.to(dtype),
            ordinary_ids=words.to(of_words), mask_id=MASK,
        )  # fmt: skip
        can, used = candidates(ids, attention, special), weights > 0
        exact = attention.sum(1) * rate
        counts = torch.minimum(exact.round().clamp(min=1, max=slots), can.sum(1)).float()
        is_sure = (exact - exact.floor() - 0.5).abs() > 1e-3
        of = (f"{rows} rows of {seq} {dtype} tokens, {of_mask} attention_mask, {slots} slots, rate "
              f"{rate}")  # fmt: skip
        checks.same(weights.sum(1)[is_sure], counts[is_sure], of=f"the masks of each of {of}")
        hits = torch.zeros(rows, seq).scatter_add(1, positions, weights)
        checks.that(bool((hits <= can).all()), f"of {of}, a place is masked twice, or is no "
                    "candidate")  # fmt: skip
        checks.same(tokens.long(), ids.gather(1, positions) * used, of=f"the tokens of {of}")
        checks.same(shown[hits == 0], given[0][hits == 0], of=f"what is not masked in {of}")
        seen = shown.long()
        known = (seen == ids) | (seen == MASK) | torch.isin(seen, words)
        checks.that(bool(known.all()), f"of {of}, a masked token shows what is neither mask_id nor "
                    "itself nor one of ordinary_ids")  # fmt: skip
        found = weights.sum(1, keepdim=True) / can.sum(1, keepdim=True).clamp(min=1)
        check_shares(hits[None] > 0, can[None], found, of=f"of the words are masked, in {of}")
        if int(((found > 0) & (found < 1)).sum()) > 40:  # rows that choose among their words
            checks.that(bool((hits != hits[0]).any()),
                        f"the same places are masked in all of {of}")  # fmt: skip
        for order, table, where in (("place", seen, hits > 0),
                                    ("slot", seen.gather(1, positions), used)):  # fmt: skip
            first = table[None], where[None]
            check_fates(*first, ids if order == "place" else ids.gather(1, positions), order)
            for which, one, other in (
                (f"two {order}s of a row", (..., 0), (..., -1)),
                (f"neighboring {order}s", (..., slice(0, -1, 2)), (..., slice(1, None, 2))),
                ("neighboring rows", slice(0, None, 2), slice(1, None, 2)),
                ("rows half a batch apart", slice(0, rows // 2), slice(rows // 2, None)),
            ):  # fmt: skip
                if one == (..., 0) and table.shape[1] == 1:
                    continue
                both = where[one] & where[other]
                checks.share(int(((table[one] == MASK) & (table[other] == MASK) & both).sum()),
                             int(both.sum()), 0.64, mistakes={"they share their draws": 0.8},
                             of=f"how often {which} both show [MASK], in {of}")  # fmt: skip
        for word in words.tolist():
            is_random = (hits > 0) & (seen != MASK) & (seen != ids)
            checks.share(int((seen == word).sum()), int(is_random.sum()), 1 / len(words),
                         of=f"the share of the random word {word} of {len(words)}, in {of}"
                         )  # fmt: skip
    # The only random word is [MASK], so that 90% show it.
    ids, attention_mask = sentences(90, 12)
    found = [mask(student, ids, attention_mask, seed=seed, slots=1, rate=0.0,
                  ordinary_ids=torch.tensor([MASK])) for seed in range(6)]  # fmt: skip
    seen = torch.cat([shown.gather(1, positions) for shown, positions, _, _ in found])
    checks.share(int((seen == MASK).sum()), len(seen), 0.9, of="how often [MASK] is shown in the "
                 "only slot of a row, where mask_id is the only one of ordinary_ids",
                 mistakes={"a random word that is mask_id is not shown": 0.8})  # fmt: skip


def test_nothing_is_left_behind(student):
    given = (*sentences(8, 41), TorchRng(7))
    names = "input_ids", "attention_mask", "generator"
    student.mask_on_device(**dict(zip(names, given, strict=True)), **settings_for(41))
    checks.leaves_no_trace(student.mask_on_device, *given, **settings_for(41))
    bytes_each = given[0], given[1].to(torch.int8), given[2]
    checks.leaves_no_trace(student.mask_on_device, *bytes_each, **settings_for(41))
    checks.draws_from_its_generator(student.mask_on_device, *given, **settings_for(41))
