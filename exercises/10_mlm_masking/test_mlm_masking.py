"""Masking: first what must hold for every token, then the shares, within what chance allows.

The shares are judged on 100,000 tokens or more; a right answer fails one of them once in ten
million times (`checks.share`).
"""

import numpy as np
import pytest

from autograder import checks
from autograder.codec import Rng

VOCAB, MASK, SPECIALS = 2000, 103, [0, 100, 101, 102, 103]  # as BERT's lie: not at the start alone
ORDINARY = np.setdiff1d(np.arange(VOCAB), SPECIALS)
IGNORED = -100


def sentences(batch, seq, *, padding=0, seed=5):
    """Rows of [CLS] words [SEP] words [SEP] padding; no word is special."""
    ids = np.random.default_rng(seed).choice(ORDINARY, (batch, seq + padding))
    ids[:, 0], ids[:, seq // 2], ids[:, seq - 1], ids[:, seq:] = 101, 102, 102, 0
    return ids


def mask(student, ids, seed=7, **changes):
    settings = dict(mask_id=MASK, vocab_size=VOCAB, special_ids=SPECIALS) | changes
    out = student.mask_tokens(ids, Rng(seed), **settings)
    shown, labels = checks.parts(out, "ids", "labels")
    checks.same(np.zeros_like(shown), np.zeros_like(ids), of="the ids (their shape and type)")
    checks.same(np.zeros_like(labels), np.zeros_like(ids), of="the labels (their shape and type)")
    return shown, labels


def big_batch(student, **changes):
    """500 rows of 203 tokens, 200 of them words: 100,000 candidates."""
    ids = sentences(500, 203, padding=20)
    return ids, *mask(student, ids, **changes)


@pytest.mark.weight(2)
def test_labels_are_the_originals_where_selected_and_the_rest_is_unchanged(student):
    ids, shown, labels = big_batch(student)
    selected = labels != IGNORED
    checks.that(selected.any(), "no token has a label: nothing was selected",
                likely=f"a label that is not {IGNORED} marks a selected token")  # fmt: skip
    checks.same(
        labels,
        np.where(selected, ids, IGNORED),
        of="the labels",
        mistakes={
            "the labels were taken after the tokens were replaced": (
                np.where(selected, shown, IGNORED)
            ),
            "the labels hold 0, not -100, where nothing is asked": (
                lambda out: bool((out == 0).any())
            ),
        },
    )
    changed = shown != ids
    checks.that(not (changed & ~selected).any(),
                f"{int((changed & ~selected).sum())} tokens were replaced that have no label",
                likely="tokens are replaced by another draw than the one that labels them"
                )  # fmt: skip
    checks.that(not selected[np.isin(ids, ORDINARY)].all(), "every word has a label",
                likely="labels are the ids everywhere: only selected tokens have one")  # fmt: skip


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
                likely="special_ids is not used: the special tokens are written into the function"
                )  # fmt: skip


@pytest.mark.weight(2)
def test_the_share_of_selected_tokens_is_the_rate(student):
    for rate in (0.15, 0.4):
        ids, _, labels = big_batch(student, rate=rate)
        selected, candidate = labels != IGNORED, np.isin(ids, ORDINARY)
        checks.share(
            int(selected[candidate].sum()),
            int(candidate.sum()),
            rate,
            of=f"the share of the words that are selected at rate {rate}",
            mistakes={
                "the rate argument is ignored: it is always 0.15": 0.15,
                "only the tokens that become [MASK] have a label: the random and the kept ones are "
                "selected too": 0.8 * rate,
                "the tokens that stay as they are have no label: they are selected too": 0.9 * rate,
                "the rate counts special tokens and padding too": rate * ids.size / candidate.sum(),
            },
        )  # fmt: skip


@pytest.mark.weight(3)
def test_of_the_selected_80_percent_are_masked_10_random_10_kept(student):
    for rate in (0.15, 0.4):
        ids, shown, labels = big_batch(student, rate=rate)
        selected = labels != IGNORED
        total = int(selected.sum())
        masked = selected & (shown == MASK)
        kept = selected & (shown == ids)
        named = {
            "nothing is kept: all are [MASK] or random": (0.8, 0.2, 0.0),
            "nothing is random: all are [MASK] or kept": (0.8, 0.0, 0.2),
            "every selected token becomes [MASK]": (1.0, 0.0, 0.0),
            "random and kept are drawn independently: among the 20% left over, half are random": (
                0.8, 0.02, 0.18),
            "random is drawn after and over [MASK]: a masked token may become random": (
                0.72, 0.1, 0.18),
            "kept is drawn over the others: a masked token may be put back": (0.72, 0.09, 0.19),
            "the shares of random and kept are exchanged with that of [MASK]": (0.1, 0.8, 0.1),
            "a third each": (1 / 3, 1 / 3, 1 / 3),
            "half of the selected are [MASK]": (0.5, 0.25, 0.25),
        }  # fmt: skip
        counts = int(masked.sum()), total - int((masked | kept).sum()), int(kept.sum())
        likely = min(named, key=lambda name: apart(counts, named[name]))
        for index, (name, wanted) in enumerate([("[MASK]", 0.8), ("random", 0.1), ("kept", 0.1)]):
            checks.share(counts[index], total, wanted,
                         of=f"the share of the selected that are {name}",
                         mistakes={likely: named[likely][index]})  # fmt: skip


def apart(counts, shares):
    """How far three counts are from three shares."""
    return sum((count / sum(counts) - share) ** 2
               for count, share in zip(counts, shares, strict=True))  # fmt: skip


def test_random_words_come_from_the_whole_ordinary_vocabulary(student):
    many = [*SPECIALS, *range(500, 650)]  # five special words of 2,000 could be missed by chance
    for vocab, special_ids in ((VOCAB, SPECIALS), (1500, SPECIALS), (VOCAB, many)):
        ids = sentences(500, 203) % vocab  # ids up to the smaller vocabulary
        shown, labels = mask(student, ids, vocab_size=vocab, special_ids=special_ids)
        words = shown[(labels != IGNORED) & (shown != MASK) & (shown != ids)]
        specials = int(np.isin(words, special_ids).sum())
        checks.that(specials == 0, f"{specials} of {len(words)} random words are special tokens",
                    likely="random words are drawn from all ids: special_ids must be left out"
                    )  # fmt: skip
        checks.that(len(words) > 500, f"only {len(words)} tokens became another word",
                    likely="random words are missing: 10% of the selected become one")  # fmt: skip
        checks.that(len(np.unique(words)) > 100, f"all are one of {len(np.unique(words))} words",
                    likely="one random word is drawn for all: draw one for each")  # fmt: skip
        checks.that(words.min() >= 0 and words.max() < vocab,
                    f"random words run from {words.min()} to {words.max()}, the vocabulary has "
                    f"{vocab} entries",
                    likely="vocab_size is ignored, or counted from 1")  # fmt: skip
        for start, end in [(0.9, 1), (0, 0.1), (0.45, 0.55)]:
            low, high = int(start * vocab), int(end * vocab)
            ordinary = np.setdiff1d(np.arange(vocab), special_ids)
            possible = ((low <= ordinary) & (ordinary < high)).mean()
            checks.share(int(((words >= low) & (words < high)).sum()), len(words), float(possible),
                         of=f"the share of random words between {low} and {high - 1}",
                         mistakes={"this part of the vocabulary is never drawn": 0.0})  # fmt: skip


@pytest.mark.weight(2)
def test_every_position_row_and_call_is_drawn_anew(student):
    ids = np.tile(sentences(1, 53), (4000, 1))  # the same sentence: 50 words, 4,000 times
    labels = mask(student, ids)[1]
    selected = labels != IGNORED
    checks.that((selected != selected[0]).any(), "the same tokens were selected in every row",
                likely="one draw for all rows: draw for (batch, seq), not for (seq,)")  # fmt: skip
    for position in np.flatnonzero(np.isin(ids[0], ORDINARY)):
        checks.share(int(selected[:, position].sum()), len(ids), 0.15,
                     of=f"how often position {position} is selected",
                     mistakes={"this position is never selected: the choice favours others": 0.0,
                               "this position is always selected": 1.0})  # fmt: skip
    again, other = mask(student, ids)[1], mask(student, ids, seed=8)[1]
    checks.same(again, labels, of="the labels of a second call with the same seed",
                mistakes={"a draw does not come from rng": lambda out: True})  # fmt: skip
    checks.that((other != labels).any(), "two generators with different seeds select the same",
                likely="the function seeds a generator of its own: use rng")  # fmt: skip


def test_any_shape_any_type_and_rows_of_padding_are_fine(student):
    words = sentences(3, 41)
    padded = sentences(4, 21, padding=4)
    padded[2] = 0  # a row that is all padding
    for ids in (words[:1], words, padded, words.astype(np.int32), words[:, ::2]):
        shown, labels = mask(student, ids)
        selected = labels != IGNORED
        checks.same(labels, np.where(selected, ids, IGNORED).astype(ids.dtype), of="the labels")
        checks.same(np.where(selected, ids, shown), ids, of="the ids that are not selected")
        checks.that(not selected[np.isin(ids, SPECIALS)].any(), "a special token was selected",
                    likely="special_ids are not left out")  # fmt: skip


def test_the_id_of_mask_is_an_argument(student):
    ids = sentences(20, 101)
    shown, labels = mask(student, ids, mask_id=4)
    checks.that(bool((shown[labels != IGNORED] == 4).any()), "mask_id=4, and no token became 4",
                likely="mask_id is ignored: 103 is written into the function")  # fmt: skip


def test_nothing_is_left_behind(student):
    settings = dict(mask_id=MASK, vocab_size=VOCAB, special_ids=SPECIALS)
    checks.leaves_no_trace(student.mask_tokens, sentences(8, 41), Rng(7), **settings)
