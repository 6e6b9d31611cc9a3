"""Sentence pairs: the paper's details, the released code's truncation, pure in their index."""

import hashlib
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_corpus import pairs
from bert_corpus.pairs import (
    IN_ORDER,
    IS_NEXT,
    IS_RANDOM,
    SWAPPED,
    PairDataset,
    PairRecipe,
    SpecialTokens,
    pair_report,
    tokens_to_cut,
)
from bert_run.errors import UserError

PAD, CLS, SEP = 0, 1, 2
FIRST_TOKEN = 10  # token p of the test corpora has id p + 10: an id tells where it came from


@dataclass
class CountingCorpus:
    """Documents of sentences of given lengths, whose tokens are numbered from the first on."""

    tokens: np.ndarray
    sentence_starts: np.ndarray
    document_starts: np.ndarray

    @classmethod
    def of(cls, documents: list[list[int]]) -> "CountingCorpus":
        lengths = [length for document in documents for length in document]
        return cls(
            tokens=np.arange(sum(lengths)) + FIRST_TOKEN,
            sentence_starts=np.cumsum([0, *lengths]),
            document_starts=np.cumsum([0, *map(len, documents)]),
        )

    def sentence_of(self, token: int) -> int:
        return int(np.searchsorted(self.sentence_starts, token, side="right")) - 1

    def document_of(self, token: int) -> int:
        sentence = self.sentence_of(token)
        return int(np.searchsorted(self.document_starts, sentence, side="right")) - 1


def dataset(
    documents: list[list[int]],
    *,
    seq_length: int,
    seed: int = 0,
    recipe: PairRecipe = pairs.PAPER,
) -> PairDataset:
    return PairDataset(CountingCorpus.of(documents), SpecialTokens(pad=PAD, cls=CLS, sep=SEP),
                       seq_length=seq_length, seed=seed, recipe=recipe)  # fmt: skip


def parts(batch: dict[str, np.ndarray], row: int) -> tuple[np.ndarray, np.ndarray]:
    """The places in the corpus of A's and of B's tokens, found from the two [SEP]."""
    ids = batch["input_ids"][row]
    first_sep, second_sep = np.flatnonzero(ids == SEP)
    return ids[1:first_sep] - FIRST_TOKEN, ids[first_sep + 1 : second_sep] - FIRST_TOKEN


def a_lengths(batch: dict[str, np.ndarray]) -> np.ndarray:
    return (batch["input_ids"] == SEP).argmax(axis=1) - 1


def pair_lengths(batch: dict[str, np.ndarray]) -> np.ndarray:
    return batch["attention_mask"].sum(axis=1)


def same(left: dict[str, np.ndarray], right: dict[str, np.ndarray]) -> bool:
    return left.keys() == right.keys() and all(np.array_equal(left[k], right[k]) for k in left)


ONE_TOKEN_SENTENCES = [[1] * 200 for _ in range(20)]  # nothing is ever cut: lengths are targets
STORIES = [np.random.default_rng(d).integers(3, 13, 40).tolist() for d in range(50)]
ONE_SENTENCE_DOCUMENTS = [[4]] * 300


# Each example is framed as the paper frames it, whatever the corpus.

documents = st.lists(
    st.lists(st.integers(1, 30), min_size=1, max_size=12), min_size=2, max_size=8
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(documents, st.integers(5, 70), st.integers(0, 2**40), st.integers(0, 10**12))
def test_any_example_is_framed_and_taken_from_the_corpus_as_in_the_paper(
    documents, seq_length, seed, first
):
    made = dataset(documents, seq_length=seq_length, seed=seed)
    corpus, size = made.corpus, 40
    batch = made.batch(np.arange(first, first + size))
    for name in ("input_ids", "token_type_ids", "attention_mask"):
        assert batch[name].shape == (size, seq_length)
        assert batch[name].dtype == np.int64
    assert batch["next_sentence_labels"].shape == (size,)
    for row in range(size):
        ids, (a, b) = batch["input_ids"][row], parts(batch, row)
        length = len(a) + len(b) + 3
        assert length <= seq_length
        assert ids[0] == CLS
        assert (ids[length:] == PAD).all()
        # Segment 0 is [CLS] A [SEP], 1 is B [SEP], and padding is 0 again.
        segments = [0] * (len(a) + 2) + [1] * (len(b) + 1) + [0] * (seq_length - length)
        assert batch["token_type_ids"][row].tolist() == segments
        assert batch["attention_mask"][row].tolist() == [1] * length + [0] * (seq_length - length)
        # Both are unbroken stretches of one document each.
        for segment in (a, b):
            assert len(segment) >= 1
            assert (np.diff(segment) == 1).all()
            assert corpus.document_of(segment[0]) == corpus.document_of(segment[-1])
        in_one_document = corpus.document_of(a[0]) == corpus.document_of(b[0])
        assert batch["next_sentence_labels"][row] == (IS_NEXT if in_one_document else IS_RANDOM)
        if in_one_document:
            # B goes on in the sentence that follows A; less lies between only when tokens were cut.
            assert corpus.sentence_of(b[0]) > corpus.sentence_of(a[-1])
            if length < seq_length:
                assert b[0] == a[-1] + 1
                assert b[0] in corpus.sentence_starts


def test_label_0_means_that_b_follows_a():
    assert (IS_NEXT, IS_RANDOM) == (0, 1)  # the released weights' polarity
    batch = dataset(STORIES, seq_length=200).batch(np.arange(500))  # too long to be cut often
    uncut = pair_lengths(batch) < 200
    for row in np.flatnonzero(uncut):
        a, b = parts(batch, row)
        assert (b[0] == a[-1] + 1) == (batch["next_sentence_labels"][row] == 0)
    assert uncut.sum() > 10  # something was looked at: about a tenth are short


@settings(max_examples=60, deadline=None)
@given(documents, st.data(), st.integers(1, 100))
def test_a_chunk_holds_its_sentence_and_no_more_than_the_target_asks_for(documents, data, target):
    made = dataset(documents, seq_length=64)
    starts, bounds = made.corpus.sentence_starts, made.corpus.document_starts
    sentence = data.draw(st.integers(0, made.num_sentences - 1))
    document = made.document_of(np.array([sentence]))
    first, last = made.chunk_from(np.array([sentence]), document, np.array([target]))
    first, last, begin, end = int(first[0]), int(last[0]), *bounds[document[0] :][:2].tolist()
    assert begin <= first <= sentence < last <= end
    tokens = starts[last] - starts[first]
    if tokens < target:
        assert (first, last) == (begin, end)  # a short document is taken whole
    elif last - first > 1:
        without_last = starts[last - 1] - starts[first]
        without_first = starts[last] - starts[first + 1]
        assert min(without_last, without_first) < target
    if last < end:  # it begins with the sentence, unless the document ended first
        assert first == sentence


# An example is a function of (corpus, seed, index).


def test_an_example_is_the_same_in_any_batch_and_any_order():
    made = dataset(STORIES, seq_length=48)
    indices = np.arange(3_000_000, 3_000_064)
    whole = made.batch(indices)
    shuffled = np.random.default_rng(0).permutation(64)
    assert same(made.batch(indices[shuffled]), {k: v[shuffled] for k, v in whole.items()})
    alone = [made.batch(indices[i : i + 1]) for i in range(64)]
    assert same({k: np.concatenate([one[k] for one in alone]) for k in whole}, whole)
    assert same(dataset(STORIES, seq_length=48).batch(indices), whole)


def test_an_example_is_the_same_in_another_process():
    code = """
import hashlib, numpy as np
from types import SimpleNamespace
from bert_corpus.pairs import PairDataset, SpecialTokens
corpus = SimpleNamespace(tokens=np.arange(10, 3010), sentence_starts=np.arange(0, 3001, 6),
                         document_starts=np.arange(0, 501, 25))
made = PairDataset(corpus, SpecialTokens(pad=0, cls=1, sep=2), seq_length=32, seed=7)
batch = made.batch(np.arange(100))
digest = hashlib.sha256(b"".join(batch[name].tobytes() for name in sorted(batch))).hexdigest()
"""
    here: dict = {}
    exec(code, here)
    command = [sys.executable, "-c", code + "print(digest)"]
    there = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert there == here["digest"]


def test_another_seed_gives_other_examples():
    indices = np.arange(64)
    first = dataset(STORIES, seq_length=48, seed=0).batch(indices)["input_ids"]
    second = dataset(STORIES, seq_length=48, seed=1).batch(indices)["input_ids"]
    assert not (first == second).all(axis=1).any()


def test_another_seed_draws_anew_which_b_are_random_and_what_is_cut(binomial_range):
    def of_seed(documents, seed):
        return dataset(documents, seq_length=32, seed=seed).batch(np.arange(3000))

    first, second = (of_seed(ONE_TOKEN_SENTENCES, s)["next_sentence_labels"] for s in (0, 1))
    low, high = binomial_range(3000, 0.5)
    assert low <= (first == second).sum() <= high
    first, second = ((of_seed([[200]] * 9, s)["input_ids"][:, 1] - FIRST_TOKEN) % 200
                     for s in (0, 1))  # fmt: skip
    assert abs(np.corrcoef(first, second)[0, 1]) < 5.33 / np.sqrt(3000)  # as for truncation below


def test_indices_far_beyond_any_training_run_work():
    made = dataset(STORIES, seq_length=48)
    batch = made.batch(np.array([10**12, 2**62]))
    assert batch["example_index"].tolist() == [10**12, 2**62]
    assert (batch["input_ids"][:, 0] == CLS).all()


def test_every_sentence_has_its_turn_exactly_once_in_a_pass():
    made = dataset(ONE_SENTENCE_DOCUMENTS, seq_length=16)  # A is then the sentence itself
    count, orders = len(ONE_SENTENCE_DOCUMENTS), []
    for turn in range(3):
        batch = made.batch(np.arange(turn * count, (turn + 1) * count))
        sentences = (batch["input_ids"][:, 1] - FIRST_TOKEN) // 4
        assert sorted(sentences.tolist()) == list(range(count))
        orders.append(sentences.tobytes())
    assert len(set(orders)) == 3  # a new order each time


# What B is.


def test_on_long_documents_one_b_in_two_is_random(binomial_range):
    batch = dataset(ONE_TOKEN_SENTENCES, seq_length=32).batch(np.arange(20_000))
    low, high = binomial_range(20_000, 0.5)
    assert low <= (batch["next_sentence_labels"] == IS_RANDOM).sum() <= high


def test_short_pairs_are_random_as_often_as_long_ones(binomial_range):
    batch = dataset(ONE_TOKEN_SENTENCES, seq_length=32).batch(np.arange(20_000))
    short = pair_lengths(batch) < 32
    low, high = binomial_range(int(short.sum()), 0.5)
    assert low <= (batch["next_sentence_labels"][short] == IS_RANDOM).sum() <= high


@pytest.mark.parametrize("documents", [ONE_SENTENCE_DOCUMENTS, [[90]] * 20, [[90, 90, 90]] * 20])
def test_a_chunk_of_one_sentence_always_takes_a_random_b(documents):
    # One sentence a document, or sentences that fill every chunk by themselves.
    batch = dataset(documents, seq_length=48).batch(np.arange(600))
    assert (batch["next_sentence_labels"] == IS_RANDOM).all()


def test_a_random_b_is_from_any_other_document_with_equal_chance(binomial_range):
    made = dataset([[2] * 30, [2] * 5, [2] * 100, [2] * 12, [2] * 53], seq_length=14)
    batch = made.batch(np.arange(20_000))
    random_rows = np.flatnonzero(batch["next_sentence_labels"] == IS_RANDOM)
    seen = np.zeros((5, 5), int)
    for row in random_rows:
        a, b = parts(batch, row)
        seen[made.corpus.document_of(a[0]), made.corpus.document_of(b[0])] += 1
    assert (np.diag(seen) == 0).all()
    for document in range(5):
        low, high = binomial_range(int(seen[document].sum()), 1 / 4, error=1e-7 / 20)
        others = np.delete(seen[document], document)
        assert low <= others.min()
        assert others.max() <= high


def test_a_random_b_begins_at_any_sentence_of_any_document_with_equal_chance(binomial_range):
    # With room for two tokens B is one sentence: each of 10 in each of 11 documents.
    batch = dataset([[1] * 10] * 11, seq_length=5).batch(np.arange(40_000))
    rows = batch["next_sentence_labels"] == IS_RANDOM
    seen = np.bincount(batch["input_ids"][rows, 3] - FIRST_TOKEN, minlength=110)
    low, high = binomial_range(int(rows.sum()), 1 / 110, error=1e-7 / 110)
    assert low <= seen.min()
    assert seen.max() <= high


# How long, and where A ends.


def test_one_example_in_ten_is_shorter_with_every_length_equally_likely(binomial_range):
    seq_length, count = 23, 40_000
    lengths = pair_lengths(
        dataset(ONE_TOKEN_SENTENCES, seq_length=seq_length).batch(np.arange(count))
    )
    seen = np.bincount(lengths - 3, minlength=21)
    assert seen[:2].sum() == 0  # at least one token in A and one in B
    # 0.1 over the 19 targets from 2 to 20; those of 20 are as long as the others.
    low, high = binomial_range(count, 0.1 / 19, error=1e-7 / 18)
    assert low <= seen[2:20].min()
    assert seen[2:20].max() <= high
    low, high = binomial_range(count, 0.9 + 0.1 / 19)
    assert low <= seen[20] <= high


def test_a_ends_after_any_sentence_but_the_last_with_equal_chance(binomial_range, monkeypatch):
    monkeypatch.setattr(pairs, "SHORT_PROBABILITY", 0)
    batch = dataset(ONE_TOKEN_SENTENCES, seq_length=13).batch(np.arange(20_000))
    for label in (IS_NEXT, IS_RANDOM):
        rows = batch["next_sentence_labels"] == label
        seen = np.bincount(a_lengths(batch)[rows], minlength=10)
        assert seen[0] == 0
        low, high = binomial_range(int(rows.sum()), 1 / 9, error=1e-7 / 9)
        assert low <= seen[1:10].min()
        assert seen[1:10].max() <= high


def test_only_documents_shorter_than_the_target_leave_padding(monkeypatch):
    monkeypatch.setattr(pairs, "SHORT_PROBABILITY", 0)
    long_enough = dataset(STORIES, seq_length=64).batch(np.arange(2000))
    assert long_enough["attention_mask"].all()
    short = dataset([[5, 4, 6]] * 9, seq_length=64).batch(np.arange(200))
    followed = short["next_sentence_labels"] == IS_NEXT
    assert (pair_lengths(short)[followed] == 15 + 3).all()  # the whole document


# Truncation.


def cut_by_the_released_code(a_length: int, b_length: int, room: int) -> tuple[int, int]:
    """`truncate_seq_pair` of create_pretraining_data.py, counting what each segment loses."""
    a, b = a_length, b_length
    while a + b > room:
        if a > b:
            a -= 1
        else:
            b -= 1
    return a_length - a, b_length - b


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 300), st.integers(1, 300)), min_size=1, max_size=20),
    st.integers(2, 400),
)
def test_the_longer_segment_loses_tokens_as_in_the_released_code(lengths, room):
    a_length, b_length = np.array(lengths).T
    a_cut, b_cut = tokens_to_cut(a_length, b_length, room)
    expected = [cut_by_the_released_code(a, b, room) for a, b in lengths]
    assert list(zip(a_cut.tolist(), b_cut.tolist(), strict=True)) == expected


@pytest.mark.parametrize(
    ("sentence", "room"), [(40, 40), (400, 100), (80, 2)], ids=["20 cut", "350 cut", "79 cut"]
)
def test_each_cut_token_comes_from_the_front_or_the_back_by_a_fair_toss(
    sentence, room, binomial_range
):
    # Every chunk is one sentence and so is B: both lose `cut` tokens.
    count, cut = 3000, sentence - room // 2
    batch = dataset([[sentence]] * 10, seq_length=room + 3).batch(np.arange(count))
    assert (pair_lengths(batch) == room + 3).all()
    a_front = (batch["input_ids"][:, 1] - FIRST_TOKEN) % sentence
    b_front = (batch["input_ids"][:, room // 2 + 2] - FIRST_TOKEN) % sentence
    low, high = binomial_range(count * cut, 0.5)
    for front in (a_front, b_front):
        assert low <= front.sum() <= high
        # Tosses that are alike would spread the sums wider: the variance of `cut` fair ones is
        # cut / 4, and a sample's strays by 5.33 times sqrt(2 / count) once in ten million times.
        assert abs(front.var() / (cut / 4) - 1) < 5.33 * np.sqrt(2 / count)
    # A and B are tossed for apart.
    assert abs(np.corrcoef(a_front, b_front)[0, 1]) < 5.33 / np.sqrt(count)


def test_a_pair_that_fits_exactly_loses_nothing(monkeypatch):
    monkeypatch.setattr(pairs, "SHORT_PROBABILITY", 0)
    batch = dataset([[5, 4, 6]] * 9, seq_length=18).batch(np.arange(200))
    for row in np.flatnonzero(batch["next_sentence_labels"] == IS_NEXT):
        a, b = parts(batch, row)
        assert len(a) + len(b) == 15


# Recipes other than the paper's: how often B is random, and sentence order.

SENTENCE_ORDER = PairRecipe(sentence_task="sop")


@pytest.mark.parametrize("task", ["nsp", "none"])
def test_next_sentence_pairs_are_to_the_bit_what_they_were_before_there_were_recipes(task):
    """The fingerprint is that of commit ce18805, whose pairs knew no recipe. Without a sentence
    task the model reads the same pairs, and is asked nothing about them."""
    lengths = 1 + np.arange(400) ** 2 % 37
    corpus = CountingCorpus(
        tokens=np.arange(lengths.sum()) + FIRST_TOKEN,
        sentence_starts=np.concatenate([[0], lengths.cumsum()]),
        document_starts=np.array([*range(0, 300, 6), *range(300, 401)]),
    )
    made = PairDataset(corpus, SpecialTokens(pad=PAD, cls=CLS, sep=SEP), seq_length=48, seed=11,
                       recipe=PairRecipe(task))  # fmt: skip
    batch = made.batch(np.arange(2000))
    content = b"".join(batch[name].astype("<i8").tobytes() for name in sorted(batch))
    assert hashlib.sha256(content).hexdigest() == (
        "0a98b1d3337777951b54245c1d3d5f216cbecb34cafefb2b4474bba54ac5f292"
    )


@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_b_is_random_as_often_as_is_asked_for(share, binomial_range):
    recipe = PairRecipe(random_next=share)
    batch = dataset(ONE_TOKEN_SENTENCES, seq_length=32, recipe=recipe).batch(np.arange(20_000))
    count = (batch["next_sentence_labels"] == IS_RANDOM).sum()
    low, high = binomial_range(20_000, share) if 0 < share < 1 else 2 * (20_000 * share,)
    assert low <= count <= high


def test_a_chunk_of_one_sentence_has_a_random_b_however_seldom_that_is_asked_for():
    recipe = PairRecipe(random_next=0.0)
    batch = dataset(ONE_SENTENCE_DOCUMENTS, seq_length=16, recipe=recipe).batch(np.arange(300))
    assert (batch["next_sentence_labels"] == IS_RANDOM).all()


def test_another_length_keeps_the_recipe():
    long, short = (dataset(STORIES, seq_length=n, recipe=SENTENCE_ORDER) for n in (64, 32))
    assert same(long.at_length(32).batch(np.arange(64)), short.batch(np.arange(64)))


@settings(max_examples=60, deadline=None)
@given(documents, st.integers(5, 70), st.integers(0, 2**40))
def test_for_sentence_order_both_segments_are_one_chunk_in_its_order_or_swapped(
    documents, seq_length, seed
):
    made = dataset(documents, seq_length=seq_length, seed=seed, recipe=SENTENCE_ORDER)
    corpus = made.corpus
    batch = made.batch(np.arange(60))
    for row, label in enumerate(batch["next_sentence_labels"]):
        a, b = parts(batch, row)
        assert len(a) >= 1
        assert len(b) >= 1
        documents_seen = {corpus.document_of(token) for token in (*a, *b)}
        if len(documents_seen) == 2:  # the document is one token, and has no two parts
            assert label == SWAPPED
            document = corpus.document_of(a[0])
            assert len(a) == 1
            assert np.ptp(corpus.sentence_starts[corpus.document_starts[document:][:2]]) == 1
            continue
        first, second = (a, b) if label == IN_ORDER else (b, a)
        assert first[-1] < second[0]
        if len(a) + len(b) + 3 < seq_length:  # nothing was cut off
            text = np.concatenate([first, second])
            assert (np.diff(text) == 1).all()
            sentences = {corpus.sentence_of(token) for token in text}
            if len(sentences) > 1:  # the cut is where a sentence begins
                assert second[0] in corpus.sentence_starts


def test_one_pair_in_two_is_swapped(binomial_range):
    for documents in (ONE_TOKEN_SENTENCES, STORIES, ONE_SENTENCE_DOCUMENTS):
        made = dataset(documents, seq_length=32, recipe=SENTENCE_ORDER)
        labels = made.batch(np.arange(20_000))["next_sentence_labels"]
        low, high = binomial_range(20_000, 0.5)
        assert low <= (labels == SWAPPED).sum() <= high


def test_a_swap_moves_whole_segments_and_loses_no_token():
    """The chunks and the cuts are those of next-sentence pairs whose B always follows."""
    following = PairRecipe(random_next=0.0)
    ordered = dataset(STORIES, seq_length=200, recipe=SENTENCE_ORDER).batch(np.arange(500))
    straight = dataset(STORIES, seq_length=200, recipe=following).batch(np.arange(500))
    rows = np.flatnonzero((straight["next_sentence_labels"] == IS_NEXT)
                          & (pair_lengths(straight) < 200))  # fmt: skip
    swaps = 0
    for row in rows:
        (a, b), expected = parts(ordered, row), parts(straight, row)
        is_swapped = ordered["next_sentence_labels"][row] == SWAPPED
        expected = expected[::-1] if is_swapped else expected
        assert np.array_equal(a, expected[0])
        assert np.array_equal(b, expected[1])
        swaps += is_swapped
    assert 0 < swaps < len(rows)


def test_a_lone_sentence_is_cut_after_any_token_but_the_last_with_equal_chance(binomial_range):
    made = dataset([[9]] * 50, seq_length=16, recipe=SENTENCE_ORDER)
    batch = made.batch(np.arange(16_000))
    assert (pair_lengths(batch) == 9 + 3).all()
    lengths = a_lengths(batch)
    in_order = batch["next_sentence_labels"] == IN_ORDER
    first = np.where(in_order, lengths, 9 - lengths)
    seen = np.bincount(first, minlength=9)
    assert seen[0] == 0
    low, high = binomial_range(16_000, 1 / 8, error=1e-7 / 8)
    assert low <= seen[1:9].min()
    assert seen[1:9].max() <= high


def test_a_lone_token_has_no_order_and_goes_with_another_document():
    batch = dataset([[1]] * 50, seq_length=16, recipe=SENTENCE_ORDER).batch(np.arange(200))
    assert (pair_lengths(batch) == 5).all()
    assert (batch["next_sentence_labels"] == SWAPPED).all()
    assert (batch["input_ids"][:, 1] != batch["input_ids"][:, 3]).all()


# Mistakes of the user, and the report.


def test_a_corpus_of_one_document_is_refused_with_the_way_out():
    with pytest.raises(UserError, match=r"single document.*empty lines part documents"):
        dataset([[5, 5, 5]], seq_length=32)


@pytest.mark.parametrize("seq_length", [-1, 0, 3, 4])
def test_a_length_without_room_for_two_tokens_is_refused(seq_length):
    with pytest.raises(UserError, match=f"seq_length is {seq_length}"):
        dataset(STORIES, seq_length=seq_length)


def test_the_report_counts_what_the_pairs_are():
    made = dataset(STORIES, seq_length=64)
    report = pair_report(made, sample=1500)
    batch = made.batch(np.arange(1500))
    assert report["pairs_sampled"] == 1500
    assert report["random_next_share"] == round(float(batch["next_sentence_labels"].mean()), 4)
    assert report["padding_share"] == round(1 - float(batch["attention_mask"].mean()), 4)
    assert report["mean_pair_length"] == round(float(pair_lengths(batch).mean()), 1)
