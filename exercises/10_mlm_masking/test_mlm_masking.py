"""Masking: first what must hold for every token, then what must hold within chance.

Proportions are judged on 100,000 tokens or more; a right answer fails one of them once in ten
million times (`checks.share`, and the bounds below).
"""

import copy
import itertools
import math

import numpy as np
import pytest

from autograder import checks, codec, course, sweep
from autograder.codec import Rng

VOCAB, MASK, SPECIALS = 2000, 103, [103, 0, 100, 101, 102]  # as BERT's lie: not at the start alone
ORDINARY = np.setdiff1d(np.arange(VOCAB, dtype=np.int64), SPECIALS)  # 32 bits wide in a browser
IGNORED, OWN = -100, course.own_default("10_mlm_masking")  # the rate where none is given
EXAMPLE = np.array([[101, 1996, 4937, 2938, 2091, 102, 0]])


def sentences(batch, seq, *, padding=0, seed=5):
    """Rows of [CLS] words [SEP] words [SEP] padding; no word is special."""
    ids = checks.rng(seed).choice(ORDINARY, (batch, seq + padding))
    ids[:, 0], ids[:, seq // 2], ids[:, seq - 1], ids[:, seq:] = 101, 102, 102, 0
    return ids


def mask(student, ids, seed=7, **changes):
    settings = dict(mask_id=MASK, vocab_size=VOCAB, special_ids=SPECIALS) | changes
    out = student.mask_tokens(ids, Rng(seed) if type(seed) is int else seed, **settings)
    shown, labels = checks.parts(out, "ids", "labels")
    checks.same(np.zeros_like(shown), np.zeros_like(ids), of="the ids (their shape and type)")
    checks.same(np.zeros_like(labels), np.zeros_like(ids), of="the labels (their shape and type)")
    return shown, labels


def big_batch(student, **changes):
    """500 rows of 203 tokens, 200 of them words: 100,000 candidates."""
    ids = sentences(500, 203, padding=20)
    return ids, *mask(student, ids, **changes)


def words_of(ids, *arrays):
    """The columns that hold words in every row."""
    columns = np.isin(ids[0], ORDINARY)
    return [array[:, columns] for array in (ids, *arrays)]


def spread_is_that_of_chance(counts, totals, *, of, small="", large=""):
    """The variance of counts over groups is that of independent draws of one probability: that
    found in all groups together, so that a wrong rate is not taken for dependence.

    The mean of k squares of standard normal numbers is outside of these bounds with a probability
    of at most 2 exp(-18) (Chernoff); another tenth allows for counts being whole.
    """
    p, k = counts.sum() / totals.sum(), len(counts)
    if not 0 < p < 1:
        return
    variance = totals * p * (1 - p)
    found = float(np.mean((counts - totals * p) ** 2 / variance))
    far = np.linspace(0.01, 5, 5000)
    inside = far[k / 2 * (far - 1 - np.log(far)) < 18]
    low, high = 0.9 * inside[0], 1.1 * inside[-1]
    checks.that(low <= found <= high,
                f"{of}: expected a variance of about {np.mean(variance):.3g}, as independent "
                f"draws have it, got {found * np.mean(variance):.3g}",
                likely=small if found < low else large)  # fmt: skip


def count_is_that_of_chance(count, total, p, *, of, few="", many=""):
    low, high = checks.central_range(total, float(p))
    checks.that(low <= count <= high, f"{of}: expected {low} to {high} of {total}, got {count}",
                likely=few if count < low else many)  # fmt: skip


@pytest.mark.weight(2)
def test_labels_are_the_originals_where_selected_and_the_rest_is_unchanged(student):
    ids, shown, labels = big_batch(student)
    selected, changed = labels != IGNORED, shown != ids
    checks.that(selected.any(), "no token has a label: nothing was selected",
                likely=f"a label that is not {IGNORED} marks a selected token")  # fmt: skip
    checks.same(
        labels,
        np.where(selected, ids, IGNORED),
        of="the labels",
        mistakes=lambda: {
            "the labels were taken after the tokens were replaced": (
                np.where(selected, shown, IGNORED)
            ),
            "the labels hold 0, not -100, where nothing is asked": lambda out: np.array_equal(
                out, np.where(out == 0, 0, ids)
            ),
        },
    )
    lost = changed & ~selected
    likely = ""
    if (shown[selected] == MASK).all() and not (shown[lost] == MASK).any():
        likely = "only tokens that became [MASK] have a label: all selected tokens have one"
    elif changed[selected].mean() < 0.5:
        likely = "tokens are replaced by another draw than the one that labels them"
    checks.that(not lost.any(), f"{int(lost.sum())} tokens were replaced that have no label",
                likely=likely)  # fmt: skip
    checks.that(not selected[np.isin(ids, ORDINARY)].all(), "every word has a label",
                likely="labels are the ids everywhere: only selected tokens have one")  # fmt: skip


@pytest.mark.hint(1)
@pytest.mark.weight(2)
def test_special_tokens_and_padding_are_never_selected(student):
    ids, _, labels = big_batch(student)
    for token, name in [(0, "padding"), (101, "[CLS]"), (102, "[SEP]")]:
        wrong = int((labels[ids == token] != IGNORED).sum())
        checks.that(wrong == 0, f"{wrong} of {int((ids == token).sum())} tokens {name} are masked",
                    likely=f"special_ids are not left out: {name} is no candidate")  # fmt: skip
    other = mask(student, ids, special_ids=[*SPECIALS, *range(500, 900)], seed=8)[1]
    checks.that(not (other[(ids >= 500) & (ids < 900)] != IGNORED).any(),
                "ids 500 to 899 are among special_ids, and some were selected",
                likely="the special tokens are written into the function: use special_ids"
                )  # fmt: skip
    # Words whose last bits are those of a special id.
    like = np.array([[101, *(101 + 2**power for power in (7, 8, 15, 16)), 60_000]])
    found = mask(student, like, special_ids=[*SPECIALS, 60_000], vocab_size=70_000, rate=1.0)[1]
    checks.same(found, np.append(np.append(IGNORED, like[0, 1:-1]), IGNORED)[None],
                of=f"the labels of {like.tolist()}, where 101 and 60000 are special, rate 1",
                )  # fmt: skip


@pytest.mark.hint(4)
@pytest.mark.weight(2)
def test_the_proportion_of_selected_tokens_is_the_rate(student):
    for rate in (None, 0.4, 0.0, 1.0):
        ids, shown, labels = big_batch(student, **({} if rate is None else {"rate": rate}))
        selected, candidate = labels != IGNORED, np.isin(ids, ORDINARY)
        named = {}
        if rate:
            named["the rate argument is ignored: it is always 0.15"] = 0.15
            named["the rate counts special tokens and padding too"] = min(
                1, rate * ids.size / candidate.sum())  # fmt: skip
        elif rate is None:
            named[course.OF_PAGE] = 0.15
        rate, of = (OWN, "no rate given") if rate is None else (rate, f"rate {rate}")
        if (shown[selected] == MASK).all():
            named["only the tokens that become [MASK] have a label: the random and the kept ones "
                  "are selected too"] = 0.8 * rate  # fmt: skip
        elif (shown != ids)[selected].all():
            named["the tokens that stay as they are have no label: they are selected too"] = (
                0.9 * rate)  # fmt: skip
        checks.share(
            int(selected[candidate].sum()), int(candidate.sum()), rate,
            of=f"the proportion of the words that are selected, {of}", mistakes=named,
        )  # fmt: skip


@pytest.mark.hint(2)
@pytest.mark.weight(3)
def test_of_the_selected_80_percent_are_masked_10_random_10_kept(student):
    for rate in (0.15, 0.4):
        ids, shown, labels = big_batch(student, rate=rate)
        selected = labels != IGNORED
        masked = selected & (shown == MASK)
        kept = selected & (shown == ids)
        named = {
            "nothing is kept: all are [MASK] or random": (0.8, 0.2, 0.0),
            "nothing is random: all are [MASK] or kept": (0.8, 0.0, 0.2),
            "every selected token becomes [MASK]": (1.0, 0.0, 0.0),
            "of those that are not [MASK], 10% become random: half of them should": (
                0.8, 0.02, 0.18),
            "random is drawn after [MASK] and over it: a masked token may become random": (
                0.72, 0.1, 0.18),
            "kept is drawn after the others and over them: a masked token may be put back": (
                0.72, 0.09, 0.19),
            "the proportions of [MASK] and random are exchanged": (0.1, 0.8, 0.1),
            "the proportions of [MASK] and kept are exchanged": (0.1, 0.1, 0.8),
            "a third each": (1 / 3, 1 / 3, 1 / 3),
            "half of the selected are [MASK]": (0.5, 0.25, 0.25),
        }  # fmt: skip
        total, masks, keeps = (int(which.sum()) for which in (selected, masked, kept))
        counts = masks, total - int((masked | kept).sum()), keeps
        fitting = [name for name, wrong in named.items() if within(counts, total, wrong)]
        fitting.sort(key=lambda name: math.dist(counts, np.multiply(total, named[name])))
        for index, (name, wanted) in enumerate([("[MASK]", 0.8), ("random", 0.1), ("kept", 0.1)]):
            checks.share(counts[index], total, wanted,
                         of=f"the proportion of the selected that are {name}",
                         mistakes={name: named[name][index] for name in fitting[:1]})  # fmt: skip


def within(counts, total, shares):
    """Whether all counts are what chance allows; a random word may also be the token itself."""
    bounds = [checks.central_range(total, p) for p in shares]
    return all(low - 0.001 * total <= count <= high + 0.001 * total
               for count, (low, high) in zip(counts, bounds, strict=True))  # fmt: skip


@pytest.mark.hint(3)
@pytest.mark.weight(2)
def test_random_words_come_from_the_whole_ordinary_vocabulary(student):
    many = [*SPECIALS, *range(500, 650)]  # five special words of 2,000 could be missed by chance
    for vocab, special_ids, rate in (
        (VOCAB, SPECIALS, 0.15), (1500, SPECIALS, 0.15), (VOCAB, many, 0.15),
        (30_522, SPECIALS, 1.0),
    ):  # fmt: skip
        ids = sentences(500, 203) % vocab  # ids up to the smaller vocabulary
        shown, labels = mask(student, ids, vocab_size=vocab, special_ids=special_ids, rate=rate)
        words = shown[(labels != IGNORED) & (shown != MASK) & (shown != ids)]
        ordinary = np.setdiff1d(np.arange(vocab), special_ids)
        checks.that(len(words) > 0, "no token became another word")
        specials = int(np.isin(words, special_ids).sum())
        checks.that(specials == 0, f"{specials} of {len(words)} random words are special tokens",
                    likely="random words are drawn from all ids: special_ids must be left out"
                    )  # fmt: skip
        checks.that(words.min() >= 0 and words.max() < vocab,
                    f"random words run from {words.min()} to {words.max()}, the vocabulary has "
                    f"{vocab} entries",
                    likely="vocab_size is ignored, or counted from 1")  # fmt: skip
        if len(words) > 100:
            checks.that(len(np.unique(words)) > 1, f"all random words are {words[0]}",
                        likely="one random word is drawn for all: draw one for each")  # fmt: skip
        tenths = [(int(i * vocab / 10), int((i + 1) * vocab / 10)) for i in range(10)]
        shares = [float(((low <= ordinary) & (ordinary < high)).mean()) for low, high in tenths]
        counts = [int(((low <= words) & (words < high)).sum()) for low, high in tenths]
        for (low, high), expected, count in zip(tenths, shares, counts, strict=True):
            checks.that(count > 0 or (1 - expected) ** len(words) > 1e-9,
                        f"none of {len(words)} random words lies between {low} and {high - 1}",
                        likely="this part of the vocabulary is never drawn")  # fmt: skip
        for (low, high), expected, count in zip(tenths, shares, counts, strict=True):
            checks.share(count, len(words), expected,
                         of=f"the proportion of random words from {low} to {high - 1}"
                         )  # fmt: skip
        for of, rare in (("below 100", lambda ids: ids < 100),
                         ("among the last 100", lambda ids, last=vocab - 100: ids >= last)
                         ):  # fmt: skip
            is_chance(rare(words).sum(), len(words), float(rare(ordinary).mean()),
                      of=f"the random words {of}, in a vocabulary of {vocab:,}",
                      likely="some ids are never drawn: a random word is any but special_ids"
                      )  # fmt: skip


@pytest.mark.weight(2)
def test_each_word_of_a_small_vocabulary_is_as_likely_as_the_others(student):
    special_ids, ordinary = [3, 0, 8, 7], [1, 2, 4, 5, 6, 9, 10, 11]
    found = {}
    for word in (1, 11):  # the first of the vocabulary, and the last
        ids = np.full((300, 202), word)
        ids[:, 0], ids[:, -1] = 7, 8
        shown, labels = mask(student, ids, mask_id=3, vocab_size=12, special_ids=special_ids,
                             rate=1.0)  # fmt: skip
        found[word] = shown[labels != IGNORED]
    others = [set(np.unique(shown).tolist()) - {3, word} for word, shown in found.items()]
    checks.that([*map(len, others)] != [1, 1],
                "of 60,000 equal tokens, all that became another word became the same one",
                likely="equal tokens get the same random word: draw one for each")  # fmt: skip
    never = {1: "the first word of the vocabulary is never drawn",
             11: "the last word of the vocabulary is never drawn"}  # fmt: skip
    itself = "a random word is never the token that it replaces: it may be"
    # First the other end of the vocabulary, then the rest, then the token itself: what is wrong
    # only there has but one explanation.
    for entries in ({1: [11], 11: [1]}, {1: [0, 7, 8, *ordinary[1:-1]], 11: ordinary[1:-1]},
                    {1: [1], 11: [11]}):  # fmt: skip
        for word, shown in found.items():
            for entry in entries[word]:
                expected = 0 if entry in special_ids else 0.0125 + 0.1 * (entry == word)
                checks.share(
                    int((shown == entry).sum()), len(shown), expected,
                    of=f"the proportion of {word}s that become {entry} in a vocabulary of 12",
                    mistakes={itself: 0.1} if entry == word else {never.get(entry, ""): 0.0},
                )  # fmt: skip
    check_that_two_ordinary_words_are_drawn_alike(student)
    shown, _ = mask(student, np.full((100, 100), 2), mask_id=3, vocab_size=5, rate=1.0,
                    special_ids=[0, 1, 3, 4])  # fmt: skip
    checks.share(int((shown == 3).sum()), shown.size, 0.8, of="the share of [MASK], where a single "
                 "word is ordinary", mistakes={"a random word is never the token itself": 0.9}
                 )  # fmt: skip


def check_that_two_ordinary_words_are_drawn_alike(student, vocab=60, words=(5, 58)):
    """All other ids are special: of 30 words drawn from the whole vocabulary, 29 are special."""
    ids = np.repeat(words, 40_000).reshape(400, 200)
    special_ids = [i for i in range(vocab) if i not in words]
    shown, _ = mask(student, ids, mask_id=20, vocab_size=vocab, special_ids=special_ids, rate=1.0)
    likely = "a random word that is special is drawn again a few times, not until it is ordinary"
    for word in words:
        found = shown[ids == word]
        for entry, expected in ((word, 0.15), (sum(words) - word, 0.05)):
            count_is_that_of_chance(
                int((found == entry).sum()), len(found), expected,
                of=f"how many {word}s become {entry}, where all ids below {vocab} but {words[0]} "
                   f"and {words[1]} are special", few=likely, many=likely,
            )  # fmt: skip


@pytest.mark.hint(4)
@pytest.mark.weight(3)
def test_whether_a_token_is_selected_does_not_depend_on_the_others(student):
    for rate in (0.4, 0.05, 0.9):
        ids, _, labels = words_of(*big_batch(student, rate=rate))
        selected = labels != IGNORED
        together = "one draw decides about several tokens: draw for each token by itself"
        fixed = "a fixed number of tokens is selected in each row: draw for each token by itself"
        spread_is_that_of_chance(
            selected.sum(1), np.full(500, 200), of="the number of selected tokens in a row",
            small=fixed, large=together,
        )  # fmt: skip
        spread_is_that_of_chance(
            selected.sum(0), np.full(200, 500), of="how often each position is selected",
            small="a fixed number of rows is selected at each position",
            large="some are favored, or one draw decides about a position in several rows",
        )  # fmt: skip
        spread_is_that_of_chance(
            *by_word(ids, selected, np.ones_like(selected)), of="how often each word is selected",
            small="a fixed number of each word is selected",
            large="some tokens are favored: the rate is that of each token",
        )  # fmt: skip
        pairs = {
            "neighbors in a row": (selected[:, ::2], selected[:, 1::2]),
            "tokens half a row apart": (selected[:, :100], selected[:, 100:]),
            "tokens at the same position of neighboring rows": (selected[::2], selected[1::2]),
            "tokens at the same position half a batch apart": (selected[:250], selected[250:]),
        }
        p = selected.mean()
        for of, (left, right) in pairs.items():
            count_is_that_of_chance(int((left & right).sum()), left.size, p**2,
                                    of=f"{of}: how often both are selected", many=together,
                                    few="a selected token keeps others from being selected"
                                    )  # fmt: skip
        for of, part in parts_of(ids).items():
            count_is_that_of_chance(int(selected[part].sum()), int(part.sum()), p,
                                    of=f"how many tokens are selected in {of}",
                                    many="some tokens are favored: the rate is that of each token",
                                    few="some tokens are favored: the rate is that of each token"
                                    )  # fmt: skip


def by_word(ids, which, of):
    """For each word of the vocabulary that is among `of`: how many of them are `which`, and how
    many there are."""
    counts, totals = (np.bincount(ids[some], minlength=VOCAB) for some in (which, of))
    return counts[totals > 0], totals[totals > 0]


def parts_of(ids):
    """Halves of the batch: of the rows, of the positions, of the vocabulary."""
    row, position = np.indices(ids.shape)
    return {
        "the first half of the rows": row < len(ids) // 2,
        "the second half of the rows": row >= len(ids) // 2,
        "the first half of the positions": position < ids.shape[1] // 2,
        "the second half of the positions": position >= ids.shape[1] // 2,
        "the lower half of the vocabulary": ids < VOCAB // 2,
        "the upper half of the vocabulary": ids >= VOCAB // 2,
    }


@pytest.mark.weight(3)
def test_what_becomes_of_a_token_does_not_depend_on_the_others(student):
    for rate in (0.4, 0.15, 1.0):
        ids, shown, labels = words_of(*big_batch(student, rate=rate))
        selected = labels != IGNORED
        masked, random = selected & (shown == MASK), selected & (shown != MASK) & (shown != ids)
        kinds = {"[MASK]": masked, "random": random, "kept": selected & (shown == ids)}
        for kind, which in kinds.items():
            checks.that(which.any(), f"none of {int(selected.sum())} selected tokens is {kind}")
        # Whether [MASK] comes before the others, in the batch or in most rows.
        batch = [masked[selected]]
        rows = [row[chosen] for row, chosen in zip(masked, selected, strict=True)]
        for of, parts in (("the batch", batch), ("each row", rows)):
            in_order = [row.any() and not row.all() and (np.diff(row.astype(int)) <= 0).all()
                        for row in parts]  # fmt: skip
            checks.that(np.mean(in_order) < 0.5, f"in {of} the selected that are [MASK] come first",
                        likely="the fates are given out in order: draw one for each selected token"
                        )  # fmt: skip
        for axis, of in ((1, "row"), (0, "position")):
            for kind, which in kinds.items():
                spread_is_that_of_chance(
                    which.sum(axis), selected.sum(axis),
                    of=f"the number of tokens of a {of} that are {kind}",
                    small=f"the proportions are fixed in each {of}: draw a fate for each token",
                    large=f"one draw decides the fate of several tokens of a {of}",
                )  # fmt: skip
        for kind, which in kinds.items():
            spread_is_that_of_chance(*by_word(ids, which, selected),
                                     of=f"how often each word becomes {kind}",
                                     large="the fate of a token depends on the word")  # fmt: skip
        for of, part in parts_of(ids).items():
            for kind, which in kinds.items():
                count_is_that_of_chance(int(which[part].sum()), int(selected[part].sum()),
                                        which.sum() / selected.sum(),
                                        of=f"how many of the selected are {kind} in {of}"
                                        )  # fmt: skip


@pytest.mark.weight(2)
def test_the_numbers_of_a_batch_differ_from_call_to_call(student):
    ids = sentences(1, 203)
    # At the rate 1 a fixed proportion of all tokens shows too, not of the selected alone.
    calls = [words_of(ids, *mask(student, ids, seed=200 + i, rate=1.0)) for i in range(60)]
    masked = np.array([(shown == MASK).sum() for _, shown, _ in calls])
    random = np.array([((shown != MASK) & (shown != ids)).sum() for ids, shown, _ in calls])
    fixed = "a fixed number of tokens is selected in each call: draw for each token by itself"
    for shape, rate in (((1, 203), 0.4), ((1, 203), 0.85), ((203, 1), 0.5)):
        some = np.resize(ids, shape)
        count = np.array([(mask(student, some, seed=100 + i, rate=rate)[1] != IGNORED).sum()
                          for i in range(60)])  # fmt: skip
        spread_is_that_of_chance(count, np.full(60, 200), small=fixed, of="the number of selected "
                                 f"tokens of a batch of {shape[0]} × {shape[1]}, rate {rate}"
                                 )  # fmt: skip
    fates = "the proportions of the fates are fixed in each call: draw a fate for each token"
    for of, counts in (("[MASK]", masked), ("random", random)):
        spread_is_that_of_chance(counts, np.full(60, 200), small=fates,
                                 of=f"the number of tokens of a batch that are {of}"
                                 )  # fmt: skip


@pytest.mark.weight(2)
def test_each_random_word_is_drawn_by_itself(student):
    ids, shown, labels = words_of(*big_batch(student, rate=0.4))
    is_random = (labels != IGNORED) & (shown != MASK) & (shown != ids)
    row, position = np.indices(ids.shape)
    words = shown[is_random]
    groups = {
        "in the same row": (row, "one random word is drawn for each row"),
        "at the same position": (position, "one random word is drawn for each position"),
        "in the place of the same word": (ids, "the random word depends on the word it replaces"),
    }
    for of, (group, likely) in groups.items():
        pairs, equal = pairs_in(group[is_random], words)
        # Pairs are all but independent, and equal ones rare: a Poisson number.
        mean = pairs / len(ORDINARY)
        most = mean + 6 * math.sqrt(mean) + 15
        checks.that(equal <= most,
                    f"of {pairs} pairs of random words {of}, {equal} are the same word: expected "
                    f"{mean:.0f}, at most {most:.0f}", likely=f"{likely}: draw one for each token"
                    )  # fmt: skip
    inside = expected = total = 0
    for text, new, where in zip(ids[:250], shown, is_random, strict=False):
        inside += int(np.isin(new[where], text).sum())
        total += int(where.sum())
        expected += int(where.sum()) * (len(np.unique(text)) - 1) / (len(ORDINARY) - 1)
    count_is_that_of_chance(
        inside, total, expected / max(total, 1),
        of="how many random words stand in their sentence already",
        few="a random word is never one that stands in the sentence: any word may be drawn",
    )  # fmt: skip
    counts = np.bincount(words, minlength=VOCAB)[ORDINARY]
    spread_is_that_of_chance(
        counts, np.full(len(ORDINARY), len(words)), of="how often each word is drawn",
        small="words are not drawn again until all were used: draw each by itself",
        large="some words are drawn more often than others",
    )  # fmt: skip


@pytest.mark.weight(2)
def test_tokens_that_lie_side_by_side_have_draws_of_their_own(student):
    # 8 words, so that many neighbors are equal, and a random word is often one of its neighbors.
    ordinary = np.array([1, 2, 4, 5, 6, 9, 10, 11])
    ids = checks.rng(17).choice(ordinary, (600, 100))
    settings = dict(mask_id=3, vocab_size=12, special_ids=[3, 0, 8, 7])
    alike = ids[:, 1:] == ids[:, :-1]
    likely = "equal tokens share a draw: draw for each token by itself"
    _, labels = mask(student, ids, rate=0.5, **settings)
    selected = labels != IGNORED
    both = selected[:, 1:] & selected[:, :-1]
    count_is_that_of_chance(int(both[alike].sum()), int(alike.sum()), 0.25, many=likely,
                            of="how often two equal neighbors are both selected at the rate 0.5"
                            )  # fmt: skip
    shown, _ = mask(student, ids, rate=1.0, **settings)
    masked, random = shown == 3, (shown != 3) & (shown != ids)
    both = masked[:, 1:] & masked[:, :-1]
    count_is_that_of_chance(int(both[alike].sum()), int(alike.sum()), 0.64, many=likely,
                            of="how often two equal neighbors both become [MASK]")  # fmt: skip
    both = random[:, 1:] & random[:, :-1] & alike
    count_is_that_of_chance(int((shown[:, 1:] == shown[:, :-1])[both].sum()), int(both.sum()),
                            1 / 7, many=likely, of="how often two equal neighbors that both become "
                            "another word become the same one")  # fmt: skip
    for of, axis, step in (("left", 1, 1), ("right", 1, -1), ("row before", 0, 1),
                           ("row after", 0, -1)):  # fmt: skip
        neighbor = np.roll(ids, step, axis)
        other = neighbor != ids
        count_is_that_of_chance(
            int((shown == neighbor)[other].sum()), int(other.sum()), 0.1 / 8,
            of=f"how often a token becomes its neighbor ({of})",
            few="a random word is never one that stands in the sentence: any word may be drawn",
        )  # fmt: skip
    # A word of a large vocabulary, in rows of two: what becomes of both.
    ids = np.full((10_000, 2), 1_500)
    shown, _ = mask(student, ids, rate=1.0)
    fates = np.where(shown == MASK, 0, np.where(shown == ids, 2, 1))
    names = ("[MASK]", "random", "kept")
    for one, other in np.ndindex(3, 3):
        count = int(((fates[:, 0] == one) & (fates[:, 1] == other)).sum())
        kept = 0.1 / len(ORDINARY)
        p = (0.8, 0.1 - kept, 0.1 + kept)
        checks.share(count, len(ids), p[one] * p[other], of=f"how often a row of two words becomes "
                     f"{names[one]}, {names[other]}",
                     mistakes={"the fates of a row are changed together: draw each by itself": 0.0}
                     )  # fmt: skip


def pairs_in(groups, words):
    """How many pairs of words lie in the same group, and how many of them are of one word."""
    sizes = np.unique(groups, return_counts=True)[1]
    same = np.unique(np.stack([groups, words]), axis=1, return_counts=True)[1]
    return int((sizes * (sizes - 1) // 2).sum()), int((same * (same - 1) // 2).sum())


@pytest.mark.weight(2)
def test_every_position_row_and_call_is_drawn_anew(student):
    ids = np.tile(sentences(1, 53), (4000, 1))  # the same sentence: 50 words, 4,000 times
    shown, labels = mask(student, ids)
    selected, candidate = labels != IGNORED, np.isin(ids[0], ORDINARY)
    first = np.flatnonzero(candidate)[: selected[0].sum()]
    checks.that((selected != selected[0]).any(), "the same tokens were selected in every row",
                likely="the first words of each row are always selected"
                if np.array_equal(np.flatnonzero(selected[0]), first)
                else "one draw for all rows: draw for (batch, seq), not for (seq,)")  # fmt: skip
    for position in np.flatnonzero(candidate):
        checks.share(int(selected[:, position].sum()), len(ids), selected[:, candidate].mean(),
                     of=f"how often position {position} is selected",
                     mistakes={"this position is never selected: the choice favors others": 0.0,
                               "this position is always selected": 1.0})  # fmt: skip
    again = mask(student, ids)
    not_rng = {"a draw does not come from rng, or something is kept between calls": (
        lambda out: True)}  # fmt: skip
    checks.same(again[1], labels, of="the labels of a second call with the same rng",
                mistakes=not_rng)  # fmt: skip
    checks.same(again[0], shown, of="the ids of a second call with the same rng",
                mistakes=not_rng)  # fmt: skip
    other_shown, other_labels = mask(student, ids, seed=8)
    checks.that((other_labels != labels).any(), "two generators of different seeds select the same",
                likely="the function seeds a generator of its own: use rng")  # fmt: skip
    both = selected & (other_labels != IGNORED)
    count_is_that_of_chance(
        int(both.sum()), ids[:, candidate].size,
        selected[:, candidate].mean() * (other_labels != IGNORED)[:, candidate].mean(),
        of="how many tokens are selected with two generators of different seeds",
        many="some of the draws do not come from rng",
    )  # fmt: skip
    masked, other_masked = (s[both] == MASK for s in (shown, other_shown))
    count_is_that_of_chance(
        int((masked & other_masked).sum()), int(both.sum()), masked.mean() * other_masked.mean(),
        of="how many of them are [MASK] with both generators",
        many="the fates do not come from rng",
    )  # fmt: skip
    random, other_random = (both & (s != MASK) & (s != ids) for s in (shown, other_shown))
    random &= other_random
    equal = int((shown == other_shown)[random].sum())
    checks.that(equal <= 10, f"{equal} of {int(random.sum())} random words are the same with "
                "two generators of different seeds",
                likely="the random words do not come from rng")  # fmt: skip


def test_any_shape_any_type_and_rows_of_padding_are_fine(student):
    words = sentences(3, 41)
    padded = sentences(4, 21, padding=4)
    padded[2] = 0  # a row that is all padding
    page = {"vocab_size": 30522, "special_ids": [0, 101, 102, 103]}
    cases = [(words[:1], {}), (words, {}), (padded, {}), (words.astype(np.int32), {}),
             (words.astype(np.int16), {}), (words[:, ::2], {}), (words.T, {}), (padded[2:3], {}),
             (np.full((1, 1), 7), {}), (EXAMPLE, page)]  # fmt: skip
    for ids, settings in cases:
        for seed in range(2):
            for rate in (0.15, 0.9):
                shown, labels = mask(student, ids, seed=seed, rate=rate, **settings)
                selected = labels != IGNORED
                checks.same(labels, np.where(selected, ids, IGNORED).astype(ids.dtype),
                            of="the labels")  # fmt: skip
                checks.same(np.where(selected, ids, shown), ids,
                            of="the ids that are not selected")  # fmt: skip
                special = np.isin(ids, settings.get("special_ids", SPECIALS))
                checks.that(not selected[special].any(), "a special token was selected",
                            likely="special_ids are not left out")  # fmt: skip


def test_the_id_of_mask_is_an_argument(student):
    ids = sentences(20, 101)
    ids[ids == 4] = 5
    for mask_id in (4, 100):
        shown, labels = mask(student, ids, mask_id=mask_id, special_ids=[0, 4, 100, 101, 102])
        selected, likely = labels != IGNORED, ""
        if (shown[selected] == MASK).sum() > 3:
            likely = "mask_id is ignored: 103 is written into the function"
        elif (shown[selected] == 4).any():
            likely = "mask_id is kept from an earlier call"
        checks.that(bool((shown[selected] == mask_id).any()),
                    f"mask_id={mask_id}, and no token became {mask_id}", likely=likely
                    )  # fmt: skip


@pytest.mark.weight(2)
def test_no_two_draws_of_a_batch_are_related(student):
    _, _, labels_at_04 = words_of(*big_batch(student, rate=0.4))
    sweep.is_unrelated(labels_at_04 != IGNORED, of="selected tokens")
    ids, shown, _ = words_of(*big_batch(student, rate=1.0))
    sweep.is_unrelated(shown == MASK, of="tokens that became [MASK]")
    sweep.is_unrelated(shown == ids, of="selected tokens that stayed")
    check_several_in_a_row(labels_at_04 != IGNORED, 0.4, of="selected")
    check_several_in_a_row(shown == MASK, 0.8, of="[MASK]")
    check_several_in_a_row(shown == ids, 0.1 + 0.1 / len(ORDINARY), of="kept")
    check_short_rows_and_columns(student)
    check_the_tokens_of_small_batches_together(student)


LIKELY_TOGETHER = ("any two draws may look independent, and several depend on each other all "
                   "together: draw for each token by itself")  # fmt: skip


def check_the_tokens_of_small_batches_together(student):
    """Of four tokens: how often an even number of some of them is selected, or becomes [MASK]."""
    settings = dict(mask_id=3, vocab_size=60, special_ids=[0, 3, 40])
    for rate, p, name, calls in ((0.5, 0.5, "selected", 70), (1.0, 0.8, "[MASK]", 100)):
        found = []
        for seed in range(calls):
            ids = np.full([(2, 2), (1, 4), (4, 1)][seed % 3], 7, np.int16)
            shown, labels = student.mask_tokens(ids, Rng(seed), rate=rate, **settings)
            found.append((labels != IGNORED if rate < 1 else shown == 3).ravel())
        for number in range(1, 16):
            some = [place for place in range(4) if number >> place & 1]
            even = int((np.array(found)[:, some].sum(1) % 2 == 0).sum())
            is_chance(even, calls, (1 + (1 - 2 * p) ** len(some)) / 2, likely=LIKELY_TOGETHER,
                      of=f"{calls} batches of 4 tokens, rate {rate}: those in which of the tokens "
                      f"{some} an even number is {name}")  # fmt: skip


def check_several_in_a_row(happened, p, *, of):
    """Three or four neighbors along each axis: what happened to them, about its mean, has a product
    that is 0 on average. A right answer fails once in 1e10 times (Bernstein's bound)."""
    z = (happened - p) / math.sqrt(p * (1 - p))
    for axis, where in enumerate(("one below the other", "side by side")[-z.ndim :]):
        lines = np.moveaxis(z, axis, -1)
        for several in (3, 4):
            for start in range(min(several, lines.shape[-1] - several + 1)):
                groups = (lines.shape[-1] - start) // several
                part = lines[..., start : start + groups * several]
                product = part.reshape(*lines.shape[:-1], groups, several).prod(-1)
                total, mean = product.size, abs(float(product.mean()))
                largest = (max(p, 1 - p) / math.sqrt(p * (1 - p))) ** several
                checks.that(
                    total * mean**2 < 25 * (2 + 2 * largest * mean / 3),
                    f"{total:,} groups of {several} tokens {where}: whether they are {of} is "
                    f"correlated: {mean:.3f}, by chance up to about {7 / math.sqrt(total):.3f}",
                    likely=LIKELY_TOGETHER,
                )  # fmt: skip


def check_short_rows_and_columns(student):
    """Rows or columns of a few tokens: what several of them have in common, and of two that become
    another word, whether both words lie in the same half of the vocabulary."""
    settings = dict(mask_id=3, vocab_size=11, special_ids=[0, 3])  # nine words; 6 is in the middle
    for shape in ((20_000, 3), (3, 20_000), (12_000, 2), (2, 12_000)):
        ids = np.full(shape, 6)
        shown, _ = mask(student, ids, rate=1.0, **settings)
        check_several_in_a_row(shown == 3, 0.8, of="[MASK]")
        if 2 not in shape:
            _, labels = mask(student, ids, rate=0.4, **settings)
            check_several_in_a_row(labels != IGNORED, 0.4, of="selected")
            check_three_words(shown if shape[1] == 3 else shown.T)
            continue
        one, other = shown if shape[0] == 2 else shown.T
        both = ~np.isin(one, (3, 6)) & ~np.isin(other, (3, 6))
        is_chance(((one > 6) == (other > 6))[both].sum(), int(both.sum()), 0.5,
                  of=f"pairs of random words of a batch of {shape[0]:,} × {shape[1]:,} tokens that "
                  "are of the same half of the vocabulary",
                  likely="the words of a row or column follow from those of another: draw for each "
                  "token by itself")  # fmt: skip


def check_three_words(shown):
    """Of three tokens that all became another word: no word is the sum of the others, or what one
    is more than the other. The nine words are numbered from 0, without the special id 3."""
    words = shown[~np.isin(shown, (3, 6)).any(1)]
    words = words - 1 - (words > 3)
    for of, factors in (("sum", (1, 1, 1)), ("first and the second less the third", (1, 1, -1)),
                        ("first less both others", (1, -1, -1)),
                        ("first and the third less the second", (1, -1, 1))):  # fmt: skip
        most = np.bincount(words @ factors % 9, minlength=9).max()
        is_chance(most, len(words), 1 / 9, likely=LIKELY_TOGETHER,
                  of=f"three random words of nine, numbered, whose {of} leaves the same remainder "
                  "by 9")  # fmt: skip


@pytest.mark.weight(2)
def test_selection_fate_and_word_have_draws_of_their_own(student):
    for rate in (0.4, 1.0):
        ids, shown, labels = words_of(*big_batch(student, rate=rate))
        selected = labels != IGNORED
        random = selected & (shown != MASK) & (shown != ids)
        checks.that(random.sum() > 1000, f"only {random.sum()} tokens became another word")
        is_selected = selected - selected.mean()
        is_masked = sweep.about_mean(shown == MASK, selected)
        is_kept = sweep.about_mean(shown == ids, selected)
        is_upper = sweep.about_mean(shown >= VOCAB // 2, random)
        if rate < 1:
            sweep.have_own_draws(
                is_selected, is_masked, of="selected tokens and those that are [MASK]"
            )
            sweep.have_own_draws(is_selected, is_kept, of="selected tokens and those that are kept")
            sweep.have_own_draws(is_selected, is_upper, of="selected tokens and the random words")
        else:
            sweep.have_own_draws(
                is_masked, is_upper, of="tokens that are [MASK] and the random words"
            )
            sweep.have_own_draws(is_upper, is_upper, of="the random words, each with another")
            sweep.is_unrelated(shown[random] >= VOCAB // 2, of="random words of the upper half")


def test_rates_near_0_and_1_are_exact(student):
    for words, rate in ((1, 0.3), (9, 0.15)):
        ids = np.array([[SPECIALS[0], *ORDINARY[:words], SPECIALS[1]]])
        found = [mask(student, ids, seed=seed, rate=rate)[1] != IGNORED for seed in range(100)]
        checks.share(
            sum(map(np.any, found)),
            100,
            1 - (1 - rate) ** words,
            of=f"how often a word of a batch of {words} is selected, rate {rate}",
            mistakes={"a batch in which nothing is selected gets one token": 1.0},
        )
    shown, labels = mask(student, sentences(10_000, 11), rate=0.15)
    selected = labels != IGNORED
    single = selected & (selected.sum(1, keepdims=True) == 1)
    checks.share(int((shown == MASK)[single].sum()), int(single.sum()), 0.8,
                 of="how often the only token that is selected in a row becomes [MASK]",
                 mistakes={"a row without any [MASK] gets one": 1.0})  # fmt: skip
    # A batch of one token has no other draws: whether it is selected says nothing about its fate.
    alone = np.array([[ORDINARY[0]]])
    shown, labels = np.ravel([mask(student, alone, seed, rate=0.8) for seed in range(200)]).reshape(
        -1, 2).T  # fmt: skip
    shown = shown[labels != IGNORED]
    checks.share(len(shown), 200, 0.8, of="how often the only word of a batch is selected at the "
                 "rate 0.8", mistakes={"a batch in which nothing is selected gets one token": 1.0}
                 )  # fmt: skip
    checks.share(int((shown == MASK).sum()), len(shown), 0.8,
                 of="how often the only word of a batch becomes [MASK]",
                 mistakes={"a batch without any [MASK] gets one, or one draw decides both about "
                           "selection and fate": 1.0})  # fmt: skip
    words = shown[(shown != MASK) & (shown != ORDINARY[0])]
    most = np.bincount(10 * np.searchsorted(ORDINARY, words) // len(ORDINARY), minlength=1).max()
    is_chance(most, len(words), max(0.1, 1 / max(len(words), 1)),
              likely="one draw decides both about fate and word: draw each by itself",
              of="the random words of batches of one token that are of the same tenth of the "
              "vocabulary")  # fmt: skip
    rows = len(selected)
    for count in range(4):  # of 8 words
        checks.share(
            int((selected.sum(1) == count).sum()),
            rows,
            math.comb(8, count) * 0.15**count * 0.85 ** (8 - count),
            of=f"how often {count} of the 8 words of a row are selected, rate 0.15",
            mistakes={"a row in which nothing is selected gets one token": 0.0}
            if not count
            else {},
        )
    many = sum(math.comb(8, count) * 0.15**count * 0.85 ** (8 - count) for count in range(5, 9))
    sweep.is_about(int((selected.sum(1) > 4).sum()), rows * many,
                   of=f"of {rows:,} rows of 8 words, those with more than 4 selected",
                   likely="a row may have so many and no more: each token is drawn by itself"
                   )  # fmt: skip
    ids = sentences(500, 203)
    for rate in (0.004, 0.9955):
        _, labels = words_of(ids, *mask(student, ids, rate=rate))[1:]
        checks.share(int((labels != IGNORED).sum()), labels.size, rate,
                     of=f"the proportion of selected tokens at the rate {rate}",
                     mistakes={"the rate is rounded to whole percents": math.ceil(100 * rate) / 100}
                     )  # fmt: skip


def test_seeds_give_as_many_masks_and_words_repeat(student):
    check_that_no_two_generators_give_the_same(student)
    check_that_more_than_32_bits_of_the_generator_count(student)
    likely = "special_ids are counted: one may stand there twice"
    for special_ids in ([9, 2, 6, 1, 1, 9], [9, 3, 5, 1, 1, 9]):  # as many, of one sum
        shown, _ = mask(student, np.full((100, 100), 8), mask_id=1, vocab_size=12,
                        special_ids=special_ids, rate=1.0)  # fmt: skip
        for word in (0, 2, 3, 4, 5, 7, 9, 10, 11):
            drawn, is_ordinary = bool((shown == word).any()), word not in special_ids
            checks.that(drawn == is_ordinary, f"with special_ids={special_ids}, the random word "
                        f"{word} {'never occurs' if is_ordinary else 'occurs'}",
                        likely=likely if is_ordinary else "special_ids may stand in any order"
                        )  # fmt: skip
        likely = "the ordinary words are kept from an earlier call, which had other special_ids"


def check_that_no_two_generators_give_the_same(student, calls=1_000, tokens=700):
    """Two of 1,000 generators are alike where there are but 65,536 in all; and so are 30 of one
    seed, which stand further apart than a call draws, where that seed is all that counts. The
    products of what happened then add up to the variance of all tokens, or of those selected in
    both calls, a half; by chance they do not reach 0.4 of it."""
    few = "a generator is seeded in the call, from few seeds or anew: draw from rng itself"
    settings = dict(rate=0.49, special_ids=[0, 3], mask_id=3)
    ids = np.full((1, tokens), 7, np.int16)
    rngs = [Rng(seed) for seed in range(calls)]
    rngs[:30] = [Rng(0, 10 * tokens * number) for number in range(30)]
    shown, labels = map(np.concatenate, zip(
        *(mask(student, ids, rng, **settings) for rng in rngs), strict=True
    ))  # fmt: skip
    selected = labels != IGNORED
    spread_is_that_of_chance(
        selected.sum(1), np.full(calls, tokens), of="the number of selected tokens of a call",
        small="a call has about as many as others: draw for each token by itself",
        large="the number of a call is drawn first: draw for each token by itself",
    )  # fmt: skip
    for of, which in (("become [MASK]", shown == 3), ("stay", selected & (shown == 7))):
        spread_is_that_of_chance(
            which.sum(1), selected.sum(1), of=f"the number of the selected of a call that {of}",
            small="the proportions of the fates are fixed in each call: draw a fate for each token",
            large="the numbers of the fates are drawn first: draw a fate for each token",
        )  # fmt: skip
    for of, happened, where in (("select", selected, np.ones_like(selected)),
                                ("mask", shown == 3, selected)):  # fmt: skip
        one = sweep.about_mean(happened, where).astype(np.float32)
        together = np.triu(one @ one.T, 1) > 0.4 * float((one**2).sum()) / calls
        checks.that(not together.any(), f"of {calls} generators, {int(together.sum())} pairs {of} "
                    "the same tokens", likely=few)  # fmt: skip
    is_word = selected & (shown != 3) & (shown != 7)
    for of, order, likely in (
        ("at the same place of two calls", np.arange(tokens), few),
        ("in one call", np.arange(calls)[:, None],
         "words are not drawn again until all were used: draw each by itself"),
    ):  # fmt: skip
        pairs, equal = pairs_in(np.broadcast_to(order, shown.shape)[is_word], shown[is_word])
        checks.that(pairs > 0, f"none of {int(selected.sum())} selected tokens is random")
        sweep.is_about(equal, pairs / (VOCAB - 3), of=f"pairs of the same random word {of}, of "
                       f"{calls} calls", likely=likely)  # fmt: skip


def check_that_more_than_32_bits_of_the_generator_count(student, tokens=1_300):
    """Two places of one generator whose next draws have the same lower 32 bits, and two with the
    same upper ones: where such a draw is the seed of another generator, both calls are alike from
    there on. It may be the first draw, or come after one or two for each token."""
    ids = np.full((1, tokens), 7, np.int16)
    for bits, places in (("lower", (2_742, 21_634)), ("upper", (3_412, 11_699))):
        for before, rate in itertools.product((0, tokens, 2 * tokens), (0.49, 1.0)):
            (shown, labels), (others, other_labels) = (
                mask(student, ids, Rng(0, place - before), rate=rate, special_ids=[0, 3], mask_id=3)
                for place in places
            )  # fmt: skip
            one, other = (row[(row != 3) & (row != 7)] for row in (shown, others))
            some = min(len(one), len(other))
            both = ~np.isin(shown, (3, 7)) & ~np.isin(others, (3, 7))
            for of, alike in (
                ("selected tokens", rate < 1 and (labels == other_labels).all()),
                ("[MASK]", rate == 1 and ((shown == 3) == (others == 3)).all()),
                ("random words", rate == 1 and ((shown == others)[both].sum() > 3
                                                or (one[:some] == other[:some]).sum() > 6)),
            ):  # fmt: skip
                checks.that(not alike, f"two calls have the same {of}, because a draw of theirs "
                            f"has the same {bits} 32 bits",
                            likely="a generator is seeded in the call, from few seeds: draw from "
                            "rng itself")  # fmt: skip


def test_draws_are_as_fine_as_rates_and_vocabularies_ask(student):
    # Draws of k bits know no rate below 2 to the -k but 0.
    small, large = (np.full((rows, 100), 7, np.int8) for rows in (2, 8))
    settings = dict(mask_id=3, vocab_size=60, special_ids=[0, 3, 40])
    loops = sweep.runs_a_loop(student.mask_tokens, (small, Rng(1)), (large, Rng(1)), **settings)
    tokens, rates = (400_000, (1e-4,)) if loops else (3_000_000, (8.5e-6, 1 - 8.5e-6))
    for rate in rates:
        ids = np.full((tokens // 1000, 1000), 7, np.int8)
        _, labels = mask(student, ids, rate=rate, **settings)
        selected = int((labels != IGNORED).sum())
        rare, of = (selected, "selected") if rate < 0.5 else (tokens - selected, "not selected")
        sweep.is_about(
            rare,
            tokens * min(rate, 1 - rate),
            of=f"of {tokens:,} tokens {of}, at the rate {rate:.8g}",
            likely=sweep.COARSE,
        )
    # Of 98,304 words, 3 times 2 to the 15, draws of 16 bits reach two of three; those of a few bits
    # more reach a third of them once more than the others: every third, or the first third.
    count, special_ids = 3 << 15, [0, 3, 500]
    ids = np.full((700, 100), count + 2, np.int32)
    shown, _ = mask(student, ids, rate=1.0, vocab_size=count + 3, special_ids=special_ids,
                    mask_id=3)  # fmt: skip
    words = shown[(shown != 3) & (shown != ids)]
    checks.that(len(words) > 5_000, f"{len(words)} of {ids.size} tokens became another word")
    words = words - np.searchsorted(special_ids, words)  # numbered without the special ids
    sweep.is_fine(words, count, of=f"the random words from a vocabulary of {count:,}")
    for which, part in (("of number {} after a multiple of 3", words % 3),
                        ("of third {}", words // (count // 3))):  # fmt: skip
        for number in range(3):
            is_chance((part == number).sum(), len(words), 1 / 3, likely=sweep.COARSE,
                      of=f"the random words {which.format(number)} of {count:,}")  # fmt: skip
    check_several_in_a_row(words < 0.3 * count, 0.3, of="a random word of the first 30%")
    if not loops:  # one draw for all that becomes of a token: of few selected, its last bits
        ids = np.full((3_000, 1_000), 29_999, np.int16)
        shown, labels = mask(student, ids, rate=1.5e-3, vocab_size=30_000,
                             special_ids=[0, 3, 500], mask_id=3)  # fmt: skip
        selected = int((labels != IGNORED).sum())
        checks.share(int((shown == 3).sum()), selected, 0.8,
                     of="the share that is [MASK] of those selected at the rate 0.0015",
                     mistakes={"the fate is some digits of the draw that selects the token": (
                         1.3 / 1.5)})  # fmt: skip
        words = shown[(shown != 3) & (shown != 29_999)]
        sweep.is_fine(words, 30_000, of="the random words where few tokens are selected")
    # Many short rows: a draw that serves two tokens shows as a product of their selections.
    _, labels = mask(student, np.full((10_000, 12), 7, np.int16), rate=0.5, **settings)
    z = np.where(labels.ravel() != IGNORED, 1.0, -1.0)
    together = np.fft.irfft(np.abs(np.fft.rfft(z)) ** 2, z.size)[1:] / math.sqrt(z.size)
    shift = int(np.abs(together).argmax())
    checks.that(
        abs(together[shift]) < 12,
        f"of 10,000 rows of 12 tokens, those {shift + 1} places "
        "apart are selected together, or never, more than by chance",
        likely="draws are used twice: draw for each token by itself",
    )
    rows = 1_000 if loops else 20_000
    _, labels = mask(student, np.full((rows, 64), 7, np.int16), rate=0.15, **settings)
    check_that_none_repeat(labels != IGNORED, of="tokens that are selected")
    many = sum(math.comb(64, k) * 0.15**k * 0.85 ** (64 - k) for k in range(19, 65))
    sweep.is_about(int(((labels != IGNORED).sum(1) > 18).sum()), rows * many,
                   of=f"of {rows:,} rows of 64 tokens, those with more than 18 selected",
                   likely="a row may have so many and no more: each token is drawn by itself"
                   )  # fmt: skip
    ids = large.repeat(60, 0).repeat(20, 1).astype(np.int16)
    settings |= dict(vocab_size=1_000, special_ids=[0, 3, 400])
    shown, _ = mask(student, ids, rate=1.0, **settings)
    check_that_none_repeat(shown == 3, of="tokens that become [MASK]")
    check_that_no_words_repeat(shown.ravel(), (shown != 3) & (shown != 7))
    for of, found, share in (("[MASK]", shown == 3, 0.8), ("kept", shown == 7, 0.1 + 0.1 / 997)):
        checks.share(
            int(found.sum()),
            shown.size,
            share,
            mistakes={sweep.COARSE: 0.8008},
            of=f"the share that is {of} of {shown.size:,} selected",
        )
    # Each word by itself, by Chernoff's bound: also that which stands beside a special id.
    counts = np.bincount(shown[(shown != 3) & (shown != 7)], minlength=1_000)[:1_000]
    counts = np.delete(counts, [0, 3, 7, 400])
    mean = counts.sum() / counts.size
    far = counts * np.log(np.maximum(counts, 1) / mean) - counts + mean
    checks.that(far.max() < 31, f"of {counts.sum():,} random words from {counts.size}, one comes "
                f"{counts[far.argmax()]} times: expected about {mean:.0f}",
                likely="all words are equally likely, also those that stand beside a special id"
                )  # fmt: skip


def check_that_none_repeat(happened, *, of):
    """What happened to the first 300 tokens, or to the last, happens to no others in their order,
    nor backwards; where one in five differs, that has a probability below 1e-30."""
    whole = happened.tobytes()
    for tokens in (whole[:300], whole[-300:]):
        for text, once in ((tokens, 1), (tokens[::-1], 0)):
            repeated = whole.count(text) > once  # they themselves are there
            checks.that(not repeated, f"of {happened.size:,} {of}, 300 in a row come twice",
                        likely="draws are used twice: draw for each token by itself")  # fmt: skip


def check_that_no_words_repeat(shown, is_word):
    """Random words at distances at which draws might be used again: powers of 2, round numbers, and
    parts of the whole."""
    places, total = np.flatnonzero(is_word), len(shown)
    checks.that(len(places) > total / 100, f"{len(places)} of {total:,} selected tokens are random")
    lengths = [2**k for k in range(12, 20)] + [10**k * i for k in (3, 4, 5) for i in (1, 2, 5)]
    for apart in (*lengths, *(total // i for i in (2, 3, 4, 8))):
        first = places[: np.searchsorted(places, total - apart)]
        first = first[is_word.ravel()[first + apart]]
        sweep.is_about(int((shown[first] == shown[first + apart]).sum()), len(first) / 996,
                       of=f"pairs of the same random word, {apart:,} tokens apart",
                       likely="draws are used twice: draw for each token by itself")  # fmt: skip


def test_ids_and_vocabularies_of_any_size(student):
    draw = sweep.Draw(11)
    shapes = [draw.shape(2) for _ in range(12)]
    shapes += [(20_011, 2), (2, 20_011), (1, 1), (0, 5), (3, 0), (3, 128), (2, 512)]
    masked = {"in Fortran's order": [0, 0], "with gaps": [0, 0], "as they are": [0, 0]}
    for number, shape in enumerate(shapes):
        vocab = int(draw.rng.choice([4, 7, 100, 5_000]))
        dtype = draw.rng.choice(["int64", "int32"] + ["int8"] * (vocab <= 100) + ["int16"])
        special = draw.rng.choice(
            vocab, int(draw.rng.integers(1, min(vocab - 1, 40))), False
        ).tolist()
        ids = draw.ids(*shape, entries=vocab, dtype=dtype)
        ids = sweep.laid_out(ids, number + 1)
        rate = float(draw.rng.choice([0.0, 0.1, 0.5, 0.9, 1.0]))
        rate = 0.9 if shape[1] > 100 else rate
        shown, labels = mask(
            student,
            ids,
            seed=number,
            rate=rate,
            vocab_size=vocab,
            special_ids=special,
            mask_id=special[-1],
        )
        of = f"{dtype} ids of shape {shape}, {len(special)} of {vocab} ids special, rate {rate}"
        selected, ordinary = labels != IGNORED, ~np.isin(ids, special)
        checks.same(
            labels, np.where(selected, ids, IGNORED).astype(dtype), of=f"the labels of {of}"
        )
        checks.same(
            np.where(selected, ids, shown), ids, of=f"the ids that are not selected, of {of}"
        )
        checks.that(not (selected & ~ordinary).any(), f"{of}: a special token was selected")
        checks.that(
            not (rate == 1.0 and (ordinary & ~selected).any()),
            f"{of}: an ordinary token was not selected",
        )
        new = shown[shown != ids]
        checks.that(
            bool((~np.isin(new, special) | (new == special[-1])).all())
            and bool(((new >= 0) & (new < vocab)).all()),
            f"{of}: a random word is special, or none of the vocabulary",
        )
        checks.share(
            int(selected.sum()), int(ordinary.sum()), rate, of=f"the share selected of {of}"
        )
        count = masked[list(masked)[number % 3]]
        count[0] += int((shown == special[-1])[selected].sum())
        count[1] += int(selected.sum())
    for order, (count, total) in masked.items():
        checks.share(count, total, 0.8, of=f"the share of [MASK] in arrays that lie {order}",
                     mistakes={"ravel of an array in another order is a copy: what is written to "
                               "it is lost": 1e-4})  # fmt: skip
    # Many special ids that lie far apart, and words that stand there several times.
    rng = checks.rng(12)
    special = rng.choice(30_562, 40, False)
    ids = rng.choice(np.append(special[:5], rng.choice(30_562, 200)), (8, 64))
    ordinary = ~np.isin(ids, special)
    labels = mask(student, ids, vocab_size=30_562, special_ids=special.tolist(),
                  mask_id=int(special[-1]), rate=1.0)[1]  # fmt: skip
    once = (ids.reshape(-1, 1) == ids.ravel()).sum(1).reshape(ids.shape) == 1
    right = np.where(ordinary, ids, IGNORED).astype(ids.dtype)
    checks.same(labels, right, of="the labels at the rate 1 for 40 special ids of 30,562",
                mistakes={"words that stand there several times are taken for special ids": (
                    lambda out: bool((out == right)[once].all()
                                     and (out != right)[~once].mean() > 0.3))})  # fmt: skip
    check_batches_of_every_kind(student)


# Rows, words in a row, calls, rate, vocabulary, special ids (the last is [MASK]), type, rows.
BATCHES = [
    (1, 128, 30, 0.3, 100, [0, 9, 3], np.int64, "of words alone"),
    (2, 64, 40, 0.5, 8, [7], np.int8, "of any ids"),
    (5, 24, 30, 0.5, 128, [*range(3, 125), 0], np.int8, "of words alone"),
    (10, 12, 20, 1.0, 160, [1, 0, 2], np.int64, "of words that stand there once"),
    (16, 16, 10, 1.0, 60, [3, 0], np.int16, "of words alone"),
    (6, 6, 20, 0.8, 4, [2], np.int32, "of words alone"),
    (64, 64, 1, 0.25, 32_768, [0, 101, 102, 103], np.int16, "of unequal length"),
    (64, 64, 1, 0.3, 500, [0, 4, 3], np.int32, "that are alike"),
    (3_000, 1, 1, 1.0, 12, [8, 0, 7], np.int64, "of words alone"),
    (3_000, 2, 1, 1.0, 9_000, [1, 0, 2, 8_999], np.int32, "of words alone"),
    (1_500, 2, 1, 0.25, 30, [29, 0], np.int64, "of words alone"),
    (512, 8, 1, 1.0, 2, [0], np.int8, "of words alone"),
    (420, 12, 1, 0.3, 13, [6, 12, 6, 0], np.int64, "of unequal length"),
    (128, 32, 1, 0.2, 50, [5], np.int32, "padded on the left"),
    (32, 128, 1, 1.0, 6, [5, 4], np.int64, "that are alike"),
    (8, 512, 1, 1.0, 1_000, [*range(6, 994)], np.int16, "in falling order"),
    (10, 256, 1, 1, 16, [15, 0, 1], np.int64, "in falling order"),
    (128, 128, 1, 0.35, 2_000, [7, 0], np.int32, "padded on the left"),
    (500, 10, 1, 0.7, 40, [0, 39, 20], np.int8, "in rising order"),
    (1_100, 6, 1, 1.0, 5, [4, 0], np.int32, "of one word"),
    (64, 100, 1, 0.05, 5_000, [0, 2, 1], np.int64, "of unequal length"),
    (40, 24, 1, 0, 30, [29, 1], np.int64, "of any ids"),
]


def rows_of(kind, rng, rows, seq, words, special_ids):
    ids, place = rng.choice(words, (rows, seq)), np.arange(seq)
    length = rng.integers(1, seq + 1, (rows, 1))
    if kind == "of words that stand there once":
        return rng.permutation(words)[: rows * seq].reshape(rows, seq)
    if kind == "of any ids":
        return rng.choice(np.append(words, special_ids), (rows, seq))
    if kind == "of unequal length":
        return np.where(place < length, ids, special_ids[0])
    if kind == "padded on the left":
        return np.where(place < seq - length, special_ids[0], ids)
    if kind in ("that are alike", "of one word"):
        return np.broadcast_to(ids[:1] if kind == "that are alike" else ids[:1, :1], (rows, seq))
    order = {"in rising order": 1, "in falling order": -1}
    return np.sort(ids)[:, :: order[kind]] if kind in order else ids


def is_chance(count, total, p, *, of, likely=""):
    """A right answer fails once in 1e10 times (Chernoff's bound): there are many of these."""
    count = int(count)
    distance = sum(k * (math.log(k / (total * q)) if q else math.inf)
                   for k, q in ((count, p), (total - count, 1 - p)) if k)  # fmt: skip
    checks.that(distance < 25, f"{of}: {count} of {total}, expected about {total * p:.4g}",
                likely=likely)  # fmt: skip


def check_batches_of_every_kind(student):
    """Shares, also at the ends of rows and batches and in rows with few words, and what two tokens
    have in common, for batches of all sizes; small ones in many calls."""
    rng = checks.rng(31)
    for number, (rows, seq, calls, rate, vocab, special, dtype, kind) in enumerate(BATCHES):
        words = np.setdiff1d(np.arange(vocab), special)
        ids = rows_of(kind, rng, rows, seq, words, special).astype(dtype)
        settings = dict(rate=rate, vocab_size=vocab, special_ids=special, mask_id=special[-1])
        of = (f"{calls} × {rows} rows {kind}, {seq} {ids.dtype} tokens each, rate {rate}, "
              f"vocabulary of {vocab}")  # fmt: skip
        given = sweep.laid_out(ids, number)
        found = [mask(student, given, seed=100 * number + i, **settings) for i in range(calls)]
        shown, labels = map(np.stack, zip(*found, strict=True))
        can = np.broadcast_to(np.isin(ids, words), shown.shape)
        ids = np.broadcast_to(ids, shown.shape)
        selected = labels != IGNORED
        checks.same(labels, np.where(selected, ids, IGNORED).astype(dtype),
                    of=f"the labels of {of}")  # fmt: skip
        checks.same(np.where(selected, ids, shown), ids,
                    of=f"the ids that are not selected, of {of}")  # fmt: skip
        checks.that(not (selected & ~can).any(), f"{of}: a special token was selected")
        masked, kept = selected & (shown == special[-1]), selected & (shown == ids)
        new = selected & ~masked & ~kept
        checks.that(bool(np.isin(shown[new], words).all()),
                    f"{of}: a random word is special, or none of the vocabulary",
                    likely="random words are drawn from all ids: leave special_ids out"
                    )  # fmt: skip
        check_shares_in_parts(can, selected, masked, kept, rate, 0.1 + 0.1 / len(words), of)
        check_pairs(can, selected, masked, new, shown, rate, len(words), of)
        if len(words) > 1:
            inside = len(np.intersect1d(ids, words)) - 1  # without the word that is replaced
            is_chance(np.isin(shown[new], ids).sum(), int(new.sum()), inside / (len(words) - 1),
                      of=f"the random words that stand in the batch, of {of}")  # fmt: skip
        if 1 < len(words) <= 40:
            for word in words:
                other = new & (ids != word)
                is_chance((shown[other] == word).sum(), int(other.sum()), 1 / (len(words) - 1),
                          of=f"the random words that are {word}, of {of}")  # fmt: skip
        elif len(words) > 1:
            tenth = 10 * np.searchsorted(words, shown[new]) // len(words)
            for i, count in enumerate(np.bincount(tenth, minlength=10)):
                is_chance(count, len(tenth), 0.1, of=f"the random words of tenth {i + 1}, of {of}")
    both = student.mask_tokens(rng=Rng(1), input_ids=given, **settings | {"rate": 0.5})
    checks.same(both, mask(student, given, seed=1, **settings | {"rate": 0.5}),
                of="what comes where all arguments are given by their names")  # fmt: skip


def check_shares_in_parts(can, selected, masked, kept, rate, keep, of):
    length = np.broadcast_to(can.sum(-1, keepdims=True), can.shape)
    row, place = np.indices(can.shape)[1:]
    few = length < length.mean()
    for where, part in (
        ("", can), (" in the first row", row == 0), (" in the last row", row == row.max()),
        (" at the beginning of rows", place == 0), (" at the end of rows", place == place.max()),
        (" in rows with few words", few), (" in rows with many words", ~few),
        (" in rows of one word", length == 1),
    ):  # fmt: skip
        chosen = selected & part
        is_chance(chosen.sum(), int((can & part).sum()), rate,
                  of=f"the tokens that are selected{where}, of {of}")  # fmt: skip
        for fate, which, p in (("become [MASK]", masked, 0.8), ("stay", kept, keep)):
            is_chance((which & part).sum(), int(chosen.sum()), p,
                      of=f"the selected tokens that {fate}{where}, of {of}")  # fmt: skip


def check_pairs(can, selected, masked, new, shown, rate, words, of):
    likely = "draws are used twice: draw for each token by itself"
    for apart, axis in (("a row", 2), ("a batch", 1), ("different calls", 0)):
        half = can.shape[axis] // 2
        for where, one, other in (
            ("side by side", slice(0, 2 * half, 2), slice(1, None, 2)),
            ("half the length apart", slice(0, half), slice(half, 2 * half)),
            ("from both ends", slice(0, half), slice(None, -half - 1, -1)),
        ) if half else ():  # fmt: skip
            places = [(slice(None),) * axis + (which,) for which in (one, other)]

            def both(happened, places=places):
                return happened[places[0]] & happened[places[1]]

            pairs = f"pairs of {apart}, {where}"
            is_chance(both(selected).sum(), int(both(can).sum()), rate**2, likely=likely,
                      of=f"{pairs}, that are selected, of {of}")  # fmt: skip
            is_chance(both(masked).sum(), int(both(selected).sum()), 0.64, likely=likely,
                      of=f"{pairs}, that become [MASK], of {of}")  # fmt: skip
            equal = (shown[places[0]] == shown[places[1]])[both(new)]
            if words > 4:
                is_chance(equal.sum(), len(equal), 1 / (words - 1), likely=likely,
                          of=f"{pairs}, that become the same random word, of {of}"
                          )  # fmt: skip


def own_draws_in_calls_in_a_row(student, settings):
    """Where a call takes few numbers of its generator, the next must not draw the same, moved."""
    ids = sentences(40, 401)
    call, rng = student.mask_tokens.trace(ids, Rng(7), **settings), Rng(codec.reseeded(7)).make()
    for drawn in range(1, 6):
        rng.random()
        if call.next != [copy.deepcopy(rng).random()]:
            continue
        after = student.mask_tokens(ids, Rng(7, drawn), **settings)
        one, other = (np.ravel(checks.parts(out, "ids", "labels")[1] != IGNORED)
                      for out in (call.value, after))  # fmt: skip
        for apart in range(6):
            count = int(one[apart:].sum())
            both = int((one[apart:] & other[: other.size - apart]).sum())
            is_chance(both, count, one.mean().item(),
                      of=f"how many tokens that a call selects the next one with its generator "
                         f"selects, too, {apart} places before",
                      likely="a call draws from a copy of its generator, which it moves by less "
                             "than it drew")  # fmt: skip


def test_nothing_is_left_behind(student):
    settings = dict(mask_id=MASK, vocab_size=VOCAB, special_ids=SPECIALS)
    checks.leaves_no_trace(student.mask_tokens, sentences(8, 41), Rng(7), **settings)
    few = dict(mask_id=3, vocab_size=12, special_ids=[3, 0, 8, 7], rate=1.0)  # of 12, 8 are drawn
    checks.leaves_no_trace(student.mask_tokens, np.full((20, 20), 4), Rng(7), **few)
    checks.draws_from_its_generator(student.mask_tokens, sentences(8, 41), Rng(7), **settings)
    own_draws_in_calls_in_a_row(student, settings)
    nothing = student.mask_tokens.trace(sentences(8, 41), Rng(7), **settings, rate=0.0)
    checks.nothing_kept("mask_tokens (where no token is selected)", nothing, may_share=False)
