"""Sentence pairs: what must hold for each pair, then the shares, within what chance allows.

Nearly every token of these documents has an id of its own, so that it tells where it was taken. The
share of random pairs is judged on 10,000 pairs, that of the coins on 17,500 coins. A right answer
fails one of these checks once in ten million times.
"""

import copy
from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate, combinations_with_replacement, product
from math import comb, log, sqrt
from types import SimpleNamespace

import numpy as np
import pytest

from autograder import checks, codec, sweep
from autograder.codec import Rng
from autograder.student import describe_value
from bert_corpus.pairs import PairDataset, SpecialTokens, tokens_to_cut

# --- Pairs ---


def corpus(sizes, *, longest=6, seed=5, least=1000):
    """Documents of so many sentences, each of 1 to `longest` tokens. The first of a sentence, from
    `least` on, is like no other token; those after it are 0 to 19, often the same."""
    rng = checks.rng(seed)
    lengths = rng.integers(1, longest + 1, sum(sizes))
    ids = rng.integers(0, 20, lengths.sum())
    ids[lengths.cumsum() - lengths] = least + checks.anew(9_000) + rng.permutation(len(lengths))
    sentences = iter(np.split(ids, lengths.cumsum()[:-1]))
    return [[next(sentences).tolist() for _ in range(size)] for size in sizes]


def made_of(*lengths):
    """Documents whose sentences have so many tokens, no two tokens alike."""
    first = 1000 + checks.anew(9_000)
    ids = iter(range(first, first + sum(map(sum, lengths))))
    return [[[next(ids) for _ in range(size)] for size in document] for document in lengths]


class Places:
    """Where the tokens of each document lie: `texts` are documents without their sentences,
    `begins` the places in them where sentences begin, and then the end."""

    def __init__(self, documents):
        self.texts = [[t for sentence in document for t in sentence] for document in documents]
        self.begins = [[0, *accumulate(map(len, document))] for document in documents]
        self.sentence = {sentence[0]: (d, s) for d, document in enumerate(documents)
                         for s, sentence in enumerate(document)}  # fmt: skip

    def sentences(self, document):
        return len(self.begins[document]) - 1

    def end(self, document, start, target):
        """Where a stretch of `target` tokens ends that begins at sentence `start`."""
        begins = self.begins[document]
        end = bisect_left(begins, begins[start] + max(target, 1), start + 1)
        return min(end, len(begins) - 1)

    def tokens(self, document, first, last):
        begins = self.begins[document]
        return self.texts[document][begins[first] : begins[last]]

    def last_of(self, tokens, document, first):
        """The sentence behind `tokens`, if they are whole sentences that begin at `first`."""
        begins = self.begins[document]
        end = begins[first] + len(tokens)
        last = bisect_left(begins, end)
        whole = last < len(begins) and begins[last] == end
        return last if whole and self.tokens(document, first, last) == tokens else None


@dataclass
class Pair:
    """Where the parts of a pair lie: sentences first … last - 1 of their documents."""

    chunk: int  # how many sentences the chunk has
    a: int  # how many of them A has
    label: int
    document: int  # of B
    first: int


LABELS_REVERSED = "the labels are reversed: 0 is IsNext, 1 is random"
CHUNK_ENDS = "the chunk is too long: it ends as soon as it has target tokens or more"


def read(pairs, places, index, target):
    """Check what must hold for every pair; say where its parts lie."""
    checks.that(type(pairs) is list, f"expected a list of pairs, got {type(pairs).__name__}")
    found, start, count = [], 0, places.sentences(index)
    for number, pair in enumerate(pairs):
        a, b, label = checks.parts(pair, "A", "B", "label")
        of = f"pair {number} of document {index}, target {target}"
        for segment, name in ((a, "A"), (b, "B")):
            checks.that(type(segment) is list, f"{of}: expected {name} as a list, got "
                        f"{type(segment).__name__}")  # fmt: skip
            checks.that(not segment or type(segment[0]) not in (list, tuple),
                        f"{of}: {name} holds lists",
                        likely="A and B are flat lists of ids: join the sentences")  # fmt: skip
        checks.that(type(label) is not str and label in (0, 1),
                    f"{of}: expected the label 0 or 1, got {label!r}")  # fmt: skip
        checks.that(start < count, f"{of}: the document was used up by the pairs before")
        if not a or not b:
            checks.fail(f"{of}: {'B' if a else 'A'} is empty",
                        likely=likely_empty(a, label, places, index, start, target)
                        )  # fmt: skip
        found.append(read_one(a, b, int(label), of, start, places, index, target, found, pairs))
        start += found[-1].a if found[-1].label else found[-1].chunk
    checks.that(start == count, f"document {index}, target {target}: its last {count - start} of "
                f"{count} sentences are in no pair",
                likely="the end of a document makes a chunk too, however short")  # fmt: skip
    return found


def likely_empty(a, label, places, index, start, target):
    if not a:
        return "A has at least one sentence"
    end = places.end(index, start, target)
    if label == 1:
        return "a random B has at least one sentence, even where A leaves no tokens for it"
    if end - start == 1:
        return "a chunk of one sentence has nothing that follows: its B is always random"
    return "A takes the whole chunk: at least one sentence is left for B" * (
        a == places.tokens(index, start, end))  # fmt: skip


def are_reversed(pairs, places, index):
    """Whether every label says the opposite of where B comes from."""
    homes = [places.sentence.get(b[0], (-1,))[0] for _, b, _ in pairs if b]
    return len(homes) == len(pairs) and all(
        (home == index) == (label == 1) for home, (_, _, label) in zip(homes, pairs, strict=True)
    )


def read_one(a, b, label, of, start, places, index, target, before, pairs):
    end = places.end(index, start, target)
    chunk = end - start
    begins = places.sentence.get(a[0])
    if begins != (index, start):
        lost = before and before[-1].label and begins == (
            index, start - before[-1].a + before[-1].chunk)  # fmt: skip
        swapped = begins and begins[0] == index and places.sentence.get(b[0]) == (index, start)
        checks.fail(f"{of}: A should begin with sentence {start} of the document, it begins with "
                    f"{a[:3]}…",
                    likely="the sentences of the chunk that a random B replaced are lost: the next "
                           "chunk begins right after A" if lost else
                           "A and B in the wrong order are another task (ALBERT's): a random B "
                           "comes from another document" if swapped else
                           "sentences are used twice" if begins and begins[0] == index
                           and begins[1] < start else "")  # fmt: skip
    last_of_a = places.last_of(a, index, start)
    checks.that(last_of_a is not None, f"{of}: A is not made of whole sentences in their order")
    size = last_of_a - start
    document, first = places.sentence.get(b[0], (-1, -1))
    checks.that(document >= 0, f"{of}: B does not begin where a sentence begins")
    checks.that(size <= max(chunk - 1, 1),
                f"{of}: its chunk has {chunk} sentences (it ends as soon as it has target tokens "
                f"or more), and A has {size} of them: at least one is left for B",
                likely=CHUNK_ENDS * (document == index and first == end))  # fmt: skip
    rest = places.tokens(index, start + size, end)
    if label == 0:
        check_next(b, rest, of, chunk, document == index,
                   lambda: are_reversed(pairs[:20], places, index))  # fmt: skip
        return Pair(chunk, size, label, document, first)
    if rest and b == rest:
        checks.fail(f"{of}: B is what follows A, and the label is 1",
                    likely=LABELS_REVERSED * are_reversed(pairs[:20], places, index))  # fmt: skip
    checks.that(document != index, f"{of}: the label is 1, and B comes from the same document",
                likely="the random document may be the document itself: draw one of the others"
                )  # fmt: skip
    right = places.tokens(document, first, places.end(document, first, target - len(a)))
    if b != right:
        full = places.tokens(document, first, places.end(document, first, target))
        there = places.texts[document][places.begins[document][first] :]
        checks.fail(f"{of}: B should have {len(right)} tokens, it has {len(b)}",
                    likely="a random B has the target - len(A) tokens that A leaves, not target"
                           if b == full else
                           "" if b != there[: len(b)] else
                           "a random B is one sentence, or ends before it is full: it goes on "
                           "until it has target - len(A) tokens or more"
                           if len(b) < len(right) else
                           "a random B ends as soon as it has target - len(A) tokens or more"
                    )  # fmt: skip
    return Pair(chunk, size, label, document, first)


def check_next(b, rest, of, chunk, is_at_home, labels_are_reversed):
    if not is_at_home:
        checks.fail(f"{of}: B comes from another document, and the label is 0",
                    likely=LABELS_REVERSED if labels_are_reversed() else
                           "where the chunk has one sentence, B is random too, and its label is 1"
                           if chunk == 1 else "")  # fmt: skip
    checks.that(chunk > 1, f"{of}: the chunk has one sentence, and the label is 0",
                likely=CHUNK_ENDS)  # fmt: skip
    checks.that(b == rest, f"{of}: the label is 0, and B is not the rest of the chunk "
                f"({len(rest)} tokens), but {len(b)} tokens",
                likely=CHUNK_ENDS if b[: len(rest)] == rest else
                       "B ends before the chunk does" if rest[: len(b)] == b else "")  # fmt: skip


@pytest.mark.hint(1)
@pytest.mark.weight(4)
def test_every_pair_is_made_of_sentences_that_follow_one_another(student):
    documents = corpus([9, 1, 14, 2, 30, 5])
    places = Places(documents)
    for target in (1, 2, 9, 20, 500):
        for index in range(len(documents)):
            pairs = student.sentence_pairs(documents, index, Rng(7 + index), target=target)
            read(pairs, places, index, target)
            check_whole_numbers(pairs)
    long = corpus([400, 300, 200])
    for target in (8, 25):
        pairs = student.sentence_pairs(long, 1, Rng(7), target=target)
        read(pairs, Places(long), 1, target)
    # The example of the page: both of its answers come, and none that the rules forbid.
    example, possible = [[[11, 12], [13, 14, 15], [16]], [[21, 22], [23, 24, 25]]], []
    for seed in range(200):
        possible.append(student.sentence_pairs(example, 0, Rng(seed), target=5))
        read(possible[-1], Places(example), 0, 5)
    for answer in (
        [([11, 12], [13, 14, 15], 0), ([16], [23, 24, 25], 1)],
        [([11, 12], [21, 22, 23, 24, 25], 1), ([13, 14, 15], [16], 0)],
    ):
        checks.that(answer in possible, f"in 200 calls, the example's {answer} never came")


def check_whole_numbers(pairs):
    found = np.array([number for a, b, label in pairs for number in (*a, *b, label)])
    checks.that(found.dtype.kind != "f", "among the ids and labels are floats",
                likely="an array without numbers, np.array([]), is one of floats")  # fmt: skip


BY_TOKENS = "it is drawn by the number of tokens: every sentence is equally likely"


def many(student, *, target, sentences, seed=7, **more):
    """The pairs of one long document whose sentences have one token each, with five short ones, of
    which the last has a long sentence."""
    for size in (300, sentences):  # what can be seen in few pairs is told sooner
        documents = made_of([1] * 2, [1] * 7, [1], [1] * size, [1] * 3, [1, 9, 1, 1])
        pairs = student.sentence_pairs(documents, 3, Rng(seed), target=target, **more)
        found = read(pairs, Places(documents), 3, target)
    return found


@pytest.mark.hint(2)
@pytest.mark.weight(2)
def test_random_next_is_the_share_of_random_pairs_and_a_ends_anywhere(student):
    pairs = many(student, target=4, sentences=12_000, random_next=0.2)
    check_share_of_random(pairs, 0.2)
    rare = student.sentence_pairs(made_of([1] * 40_000, [1] * 3), 0, Rng(7), target=2,
                                  random_next=1e-5)  # fmt: skip
    sweep.is_about(sum(label for _, _, label in rare), 0.2,
                   of="the random pairs among 20,000, at random_next 0.00001")  # fmt: skip
    whole = [pair for pair in pairs if pair.chunk == 4]
    for kept, of in ((whole, "how often A has {} of 4 sentences"),
                     ([pair for pair in whole if pair.label],
                      "how often A has {} of 4 sentences before a random B")):  # fmt: skip
        check_even({size: sum(pair.a == size for pair in kept) for size in (1, 2, 3)}, of)
    check_repeats([pair.a for pair in whole], 1 / 3, "A has as many sentences as the A before it")
    sweep.is_unrelated([pair.a == 1 for pair in whole], of="the pairs whose A is one sentence")
    is_whole = [True] * len(whole)
    check_threes([
        sweep.about_mean([is_so(pair) for pair in whole], is_whole)
        for is_so in (lambda pair: pair.a == 1, lambda pair: pair.a == 3, lambda pair: pair.label)
    ], "the sizes of A and the labels")  # fmt: skip
    for random_next, label in ((0.0, 0), (1.0, 1)):
        documents = corpus([40, 30])
        pairs = student.sentence_pairs(documents, 0, Rng(7), target=9, random_next=random_next)
        found = read(pairs, Places(documents), 0, 9)
        checks.that({pair.label for pair in found if pair.chunk > 1} == {label},
                    f"at random_next {random_next:g}, a pair of a chunk of two sentences or more "
                    f"has the label {1 - label}")  # fmt: skip
    check_short_documents(student)


def check_short_documents(student):
    """A document that is a single chunk, shorter than the target, is drawn like any other, however
    many tokens a sentence has, and however few a document."""
    documents = made_of((1, 30, 1, 1), (40, 1), (2,), (50, 1, 2))
    places, made = Places(documents), []
    for seed in range(350):
        pairs = student.sentence_pairs(documents, 0, Rng(500 + seed), target=36)
        made.append(read(pairs, places, 0, 36)[0])
    short = " where the document is shorter than the target"
    check_even({label: sum(pair.label == label for pair in made) for label in (0, 1)},
               "how often the first label is {}" + short)  # fmt: skip
    check_even({size: sum(pair.a == size for pair in made) for size in (1, 2, 3)},
               "how often A has {} of 4 sentences" + short,
               lambda size: {BY_TOKENS: (1 / 32, 30 / 32, 1 / 32)[size - 1]})  # fmt: skip
    apart = [pair for pair in made if pair.label]
    check_even({document: sum(pair.document == document for pair in apart)
                for document in (1, 2, 3)}, "how often a random B comes from document {}" + short
               )  # fmt: skip
    first = [pair.first for pair in apart if pair.document == 3]
    check_even({number: first.count(number) for number in (0, 1, 2)},
               "how often a random B begins with sentence {} of 3" + short)  # fmt: skip


@pytest.mark.hint(2)
@pytest.mark.weight(2)
def test_half_of_the_pairs_are_random_and_begin_anywhere_in_any_other_document(student):
    pairs = many(student, target=2, sentences=15_500)
    check_share_of_random(pairs, 0.5)
    check_repeats([pair.label for pair in pairs if pair.chunk > 1], 0.5,
                  "a pair has the label of the pair before it")  # fmt: skip
    check_tens(np.array([pair.label for pair in pairs if pair.chunk > 1]))
    apart = [pair for pair in pairs if pair.label]
    sizes = {0: 2, 1: 7, 2: 1, 4: 3, 5: 4}
    check_even(
        {document: sum(pair.document == document for pair in apart) for document in sizes},
        "how often a random B of document 3 comes from document {}",
        lambda document: {
            "documents are drawn by their number of sentences": sizes[document] / 17,
            "the next document is drawn in place of the document itself: draw again, or step "
            "over it": 1 / 3 if document == 4 else 1 / 6,
        },
    )
    check_repeats([pair.document for pair in apart], 1 / 5,
                  "a random B comes from the document of the random B before it")  # fmt: skip
    for document in (1, 4, 0, 5):
        first = [pair.first for pair in apart if pair.document == document]
        check_even({number: first.count(number) for number in range(sizes[document])},
                   f"how often a random B from a document of {sizes[document]} sentences begins "
                   "with sentence {}",
                   lambda number, own=document: {
                       BY_TOKENS: 9 / 12 if number == 1 else 1 / 12} if own == 5 else {}
                   )  # fmt: skip
        check_repeats(first, 1 / sizes[document],
                      f"a random B from a document of {sizes[document]} sentences begins where the "
                      "last B from there began")  # fmt: skip
    # Of five documents of 2, 7, 1, 3 and 4 sentences, each equally likely.
    check_repeats([(pair.document, pair.first) for pair in apart],
                  sum(1 / size for size in sizes.values()) / 25,
                  "a random B begins where the random B before it began")  # fmt: skip
    check_own_draws(pairs, ("label", "document", "first"))
    check_apart(many(student, target=3, sentences=6_000))


def check_even(counts, of, mistakes=lambda case: {}):
    """Each case must be as frequent as the others; first what never or always happens."""
    total = sum(counts.values())
    for case, count in counts.items():
        at_the_end = case in (min(counts), max(counts))
        checks.that(0 < count < total, f"{of.format(case)}: {'never' if count == 0 else 'always'}",
                    likely="it is not drawn at all, but always the same"
                           if total in counts.values() else
                           "the draw ends too early or begins too late: rng.integers leaves out "
                           "its upper end" if at_the_end else "")  # fmt: skip
    for case, count in counts.items():
        checks.share(count, total, 1 / len(counts), of=of.format(case), mistakes=mistakes(case))


def check_repeats(values, expected, of):
    """Draws know nothing of one another: so many are like the one before, or before that, and if
    all values are as likely, however many in a row are the same already."""
    number = {value: number for number, value in enumerate(dict.fromkeys(values))}
    values = np.array([number[value] for value in values])
    for back in (1, 2, 3):
        checks.share(
            int((values[back:] == values[:-back]).sum()),
            len(values) - back,
            expected,
            of=f"how often {of}" + f" ({back} places before)" * (back > 1),
            mistakes={"it is taken in turn, not drawn" if back == 1 else
                      "what came a short time ago is drawn again": 0.0},
        )  # fmt: skip
    for value in range(len(number)) if expected == 1 / len(number) else ():
        is_value = values == value
        row = is_value
        for length in range(1, 10):
            row, following = row[:-1], is_value[length:]
            checks.share(int(following[row].sum()), int(row.sum()), expected,
                         of=f"how often {of}, where {length} in a row are the same already",
                         mistakes={"after some that are the same another is taken": 0.0}
                         )  # fmt: skip
            row = row & following


def check_tens(labels):
    """Of ten tosses of a coin, so many vary as chance has it: a right answer passes but once in a
    hundred million times."""
    tens = labels[: len(labels) // 10 * 10].reshape(-1, 10).sum(1)
    variance = np.mean((tens - 5) ** 2) / 2.5
    checks.that(0.7 < variance < 1.4, "how many of ten pairs in a row are random varies by "
                f"{variance:.2f} times as much as coins do (variance)",
                likely="random and next are shared out, not drawn: toss a coin for each pair"
                if variance < 1 else "one coin decides for several pairs: toss one for each"
                )  # fmt: skip


def check_apart(pairs):
    """Whether A is the shorter or the longer says nothing of where a random B comes from."""
    whole = [pair for pair in pairs if pair.chunk == 3]
    apart = [pair for pair in whole if pair.label]
    for halves, of in (
        ([(pair.a, pair.label) for pair in whole], "the label is 1"),
        ([(pair.a, pair.document > 2) for pair in apart if pair.document in (1, 2, 4, 5)],
         "a random B comes from a later document"),
        ([(pair.a, pair.first > 0) for pair in apart if pair.document == 0],
         "a random B begins with the second sentence of its document"),
    ):  # fmt: skip
        checks.share(sum((a == 2) == second for a, second in halves), len(halves), 0.5,
                     of=f"how often A has two of three sentences where {of}, or neither",
                     mistakes={"one draw decides both": 1.0, "one draw decides both, the other way "
                               "round": 0.0})  # fmt: skip
    check_own_draws(pairs, ("size", "label", "document", "first"))


def check_own_draws(pairs, names):
    """No draw is used again, for the same thing or another, at a later pair or at the same one."""
    parted = np.array([pair.chunk > 1 for pair in pairs])
    elsewhere = np.array([pair.label == 1 and pair.document in (1, 2, 4, 5) for pair in pairs])
    last = {0: 1, 1: 6, 4: 2, 5: 3}  # the last sentence of each other document of `many`
    first = [pair.first / last[pair.document] - 0.5 if pair.label and pair.document in last else 0.0
             for pair in pairs]  # fmt: skip
    draws = {
        "size": ("the size of A", sweep.about_mean([pair.a > 1 for pair in pairs], parted)),
        "label": ("the label", sweep.about_mean([pair.label for pair in pairs], parted)),
        "document": (
            "the document of a random B",
            sweep.about_mean([pair.document > 2 for pair in pairs], elsewhere),
        ),
        "first": ("the sentence where a random B begins", np.array(first)),
    }
    for one, other in combinations_with_replacement([draws[name] for name in names], 2):
        of = " and ".join(dict.fromkeys((one[0], other[0])))
        sweep.have_own_draws(one[1], other[1], of=f"{of}, in the pairs of a document")
    check_threes([draws[name][1] for name in names], "the draws")


def check_threes(series, of, *, lags=3):
    """Of three draws, of one pair or of pairs that follow one another, two say nothing of the
    third: the products of what they gave, less its mean, add up to about 0."""
    length = len(series[0]) - lags + 1
    table = np.array([each[lag : lag + length] for lag in range(lags) for each in series])
    for number, one in enumerate(table[: len(series)], 1):
        others = table[number:]
        products = others * one
        sums = np.triu(np.einsum("in,jn->ij", products, others), 1)
        squares = np.einsum("in,jn->ij", products**2, others**2)
        far = float((np.abs(sums) / np.sqrt(squares).clip(1e-9)).max())
        checks.that(far < 9, f"{of} of pairs that follow one another: two tell what a third is "
                    f"({far:.0f} standard deviations)",
                    likely="a draw is made of two others: draw each anew")  # fmt: skip


def check_share_of_random(pairs, random_next):
    free = [pair.label for pair in pairs if pair.chunk > 1]
    checks.share(
        sum(free),
        len(free),
        random_next,
        of="the share of random pairs among chunks of two sentences or more, at random_next "
        f"{random_next}",
        mistakes={
            "every pair is random": 1.0,
            "no pair is random": 0.0,
            "random_next is ignored: it is always one half": 0.5,
            "random_next is the chance of a random pair, not of IsNext": 1 - random_next,
        },
    )


def check_that_all_draws_come_from_one_stream(student):
    """Two places of one generator have other draws, and the same streams of their own (`spawn`)."""
    documents = [[[100 * number + place] for place in range(60)] for number in range(9)]
    starts = []
    for place in (0, 12_345):
        pairs = student.sentence_pairs(documents, 0, Rng(11, place), target=2, random_next=1.0)
        starts.append([b[0] for _, b, label in pairs if label and b])
    count = min(map(len, starts))
    alike = sum(one == other for one, other in zip(*starts, strict=False))
    checks.that(count > 20 and alike < 10, f"of {count} random passages {alike} are the same with "
                "a generator that has moved on", likely="a stream is made from `rng` (spawn), and "
                "is the same wherever rng stands: draw from rng itself")  # fmt: skip


@pytest.mark.hint(3)
def test_equal_documents_and_equal_sentences_are_kept_apart(student):
    check_that_all_draws_come_from_one_stream(student)
    twins, seen = [[[1], [2], [2]], [[1], [2], [2]], [[3], [4]]], []
    for seed in range(120):
        pairs = student.sentence_pairs(twins, 0, Rng(seed), target=1, random_next=1.0)
        seen += [b[0] for _, b, label in pairs if label and b]
    checks.that(3 in seen or 4 in seen, "of three documents, the last never gives a random B")
    checks.that(1 in seen or 2 in seen, "a document whose sentences equal those of the document "
                "itself never gives a random B",
                likely="the other documents are found by their content: they are those of another "
                       "index")  # fmt: skip
    # What follows A is [2] in two pairs of three; without it, B begins there with [1] alone.
    for token, share, without in ((1, 1 / 6, 7 / 18), (2, 1 / 3, 1 / 9), (3, 1 / 4, 1 / 4),
                                  (4, 1 / 4, 1 / 4)):  # fmt: skip
        checks.share(seen.count(token), len(seen), share, of="how often a random B begins with "
                     f"[{token}], of {twins[1:]}", mistakes={
                         "a random B that equals what follows A is drawn again": without}
                     )  # fmt: skip
    for index in (0, 1):
        made = student.sentence_pairs(twins[:2], index, Rng(7), target=2, random_next=1.0)
        checks.that(type(made) is list and len(made) == 3,
                    "two equal documents of 3 sentences, target 2, random_next 1: expected a list "
                    f"of 3 pairs, got {describe_value(made)}")  # fmt: skip
    same, start, whole = [[[7]] * 420, [[8]] * 9], 0, []
    for a, b, label in student.sentence_pairs(same, 0, Rng(7), target=4):
        chunk = min(4, 420 - start)
        fits = a == [7] * len(a) and 1 <= len(a) <= max(chunk - 1, 1) and (
            (chunk > 1 and b == [7] * (chunk - len(a))) if label == 0 else
            b == [8] * len(b) and 1 <= len(b) <= max(4 - len(a), 1))  # fmt: skip
        checks.that(fits, f"all sentences are [7] in one document and [8] in the other, target 4: "
                    f"{(a, b, label)} cannot be the pair of a chunk of {chunk} sentences",
                    likely="a sentence is looked for by its content (index, remove, in): go by its "
                           "place")  # fmt: skip
        start += len(a) if label else chunk
        whole += [(len(a), label)] * (chunk == 4)
    checks.that(start == 420, f"of 420 equal sentences, {start} are used")
    for size, label in product((1, 2, 3), (0, 1)):
        checks.share(whole.count((size, label)), len(whole), 1 / 6, of=f"how often A has {size} of "
                     f"4 equal sentences and the label is {label}",
                     mistakes={"equal chunks share their draws: draw for each": 1.0 if
                               len(set(whole)) == 1 else 0.0})  # fmt: skip
    # In the other document a sentence comes twice, and each time another follows it.
    first = 1000 + checks.anew(9_000)
    others = [[[first], [first + more], [first]] for more in (1, 2)]
    verse = [sentence for other in others for sentence in other]
    pairs = student.sentence_pairs([[[5, 5]] * 400, verse], 0, Rng(67), target=4, random_next=1.0)
    for begin in range(6):
        stretch = [token for sentence in verse[begin : begin + 2] for token in sentence]
        checks.share(sum(b == stretch for _, b, _ in pairs), 400, 1 / 6,
                     of=f"how often B is {stretch}, of {verse}", mistakes={
                         "a sentence is looked for by its content: the first that is like the one "
                         "drawn is taken": 0.0 if begin else 4 / 6})  # fmt: skip


def test_every_draw_comes_from_the_generator(student):
    documents = corpus([200, 100])
    made = [student.sentence_pairs(documents, 0, Rng(s), target=9) for s in (1, 1, 2)]
    pair = list(range(99)), [1, 2]
    cut = [student.truncate_pair(*pair, 40, Rng(s)) for s in (1, 1, *range(2, 14))]
    for name, (first, again, *others) in (("sentence_pairs", made), ("truncate_pair", cut)):
        checks.that(first == again, f"{name} gives another result with the same seed",
                    likely="a draw does not come from rng")  # fmt: skip
        checks.that(any(first != other for other in others),
                    f"{name} gives the same result with another seed",
                    likely="no draw comes from rng")  # fmt: skip
    documents = corpus([24, 30], longest=1)
    made = [student.sentence_pairs(documents, 0, Rng(seed), target=2) for seed in range(250)]
    seen = set(map(str, made))
    checks.that(len(seen) > 245, f"250 generators give only {len(seen)} different results",
                likely="the function seeds its own generator with a small number from rng"
                )  # fmt: skip
    # How many of a document's pairs are random varies as coins do: by 0.98 times as much, with a
    # deviation of 0.09. Where 24 coins, half of them heads, are shuffled for a document of 24
    # sentences, by 0.36 times.
    tossed = []
    for pairs in made:
        labels = [label for _, _, label in pairs]
        if sum(2 - label for label in labels[:-1]) == 23:  # one sentence is left: no coin
            del labels[-1]
        tossed.append((sum(labels) - len(labels) / 2, len(labels) / 4))
    varies = sum(more**2 for more, _ in tossed) / sum(due for _, due in tossed)
    checks.that(0.52 < varies < 1.7, "how many pairs of a document are random varies by "
                f"{varies:.2f} times as much as coins do (variance)",
                likely="random and next are shared out, not drawn: toss a coin for each pair"
                if varies < 1 else "one coin decides for several pairs: toss one for each"
                )  # fmt: skip


# --- Truncation ---


def check_cut(out, a, b, room):
    """Both segments must be stretches of the originals of the right lengths. Returns how many
    tokens A and B lost in front."""
    given = {"A": a, "B": b}
    lost = tokens_to_cut(np.array([len(a)]), np.array([len(b)]), room)
    lengths = len(a) - int(lost[0][0]), len(b) - int(lost[1][0])
    got = tuple(map(len, checks.parts(out, "A", "B")))
    if got != lengths:
        checks.fail(f"{len(a)} and {len(b)} tokens for a room of {room}: expected {lengths[0]} and "
                    f"{lengths[1]} to be left, got {got[0]} and {got[1]}",
                    likely=likely_cut(got, lengths, len(a), len(b), room))  # fmt: skip
    fronts = []
    for segment, (name, original) in zip(out, given.items(), strict=True):
        front = original.index(segment[0]) if segment and segment[0] in original else 0
        checks.same(segment, original[front : front + len(segment)],
                    of=f"{name} after the cut (a stretch of what came in)")  # fmt: skip
        fronts.append(front)
    return fronts


def likely_cut(got, wanted, a, b, room):
    """The mistake that leaves so many tokens; nothing where two mistakes would."""
    other = {name: tuple(int(n - c[0]) for n, c in zip((a, b), tokens_to_cut(
        np.array([a]), np.array([b]), max(size, 0)), strict=True))
        for name, size in (("the special tokens are no part of room", room - 3),
                           ("one token too many is cut: room tokens may stay", room - 1))
    }  # fmt: skip
    shorter = sum(got) == room and ((got[0] < wanted[0]) if a < b else (got[1] < wanted[1]))
    named = {
        "nothing is cut": (a, b),
        "each segment gets half of the room, even where the other needs less": (
            min(a, room // 2), min(b, room // 2)),
        "each segment gets its half of the room, even where the other needs less": (
            min(a, room - room // 2), min(b, room // 2)),
        **other,
        "when both are equally long, B loses the token": (wanted[0] - 1, wanted[1] + 1),
    }  # fmt: skip
    fitting = [name for name, lengths in named.items() if lengths == got]
    if shorter and a != b:
        fitting.append("the shorter segment is cut: it is the longer segment's turn")
    return fitting[0] if len(fitting) == 1 or fitting[:1] == ["nothing is cut"] else ""


SIZES = [
    (20, 4),
    (4, 20),
    (20, 5),
    (3, 4),
    (12, 12),
    (13, 12),
    (12, 13),
    (40, 1),
    (1, 40),
    (31, 33),
]


@pytest.mark.weight(2)
def test_the_longer_segment_loses_tokens_until_both_fit(student):
    for room in (15, 7, 1, 2, 8, 24, 25, 32, 500):
        for first, second in SIZES:
            a, b = list(range(100, 100 + first)), list(range(200, 200 + second))
            check_cut(student.truncate_pair(a, b, room, Rng(7)), a, b, room)
    words = checks.rng(3).integers(0, 3, (2, 24)).tolist()
    for seed in range(20):
        out = checks.parts(student.truncate_pair(*words, 31, Rng(seed)), "A", "B")
        for segment, original, name in zip(out, words, "AB", strict=True):
            size = len(segment)
            stretches = [original[i : i + size] for i in range(len(original) - size + 1)]
            checks.that(segment in stretches, f"{name} is {original}; after the cut it is "
                        f"{segment}, which is no stretch of it",
                        likely="a token is looked for by its id (remove): go by its place"
                        )  # fmt: skip


CALLS = 250


@pytest.mark.weight(2)
def test_front_and_back_lose_tokens_as_a_coin_falls(student):
    for first, second, lost in ((90, 10, {"A": 70}), (10, 90, {"B": 70}),
                                (50, 50, {"B": 35, "A": 35})):  # fmt: skip
        a, b = list(range(100, 100 + first)), list(range(200, 200 + second))
        fronts = np.array([check_cut(student.truncate_pair(a, b, 30, Rng(1000 + seed)), a, b, 30)
                           for seed in range(CALLS)])  # fmt: skip
        for name, cut in lost.items():
            check_coins(fronts[:, "AB".index(name)], cut, f"{name} ({first} tokens beside {second})"
                        if first == second else name)  # fmt: skip
        together = np.cov(fronts.T)[0, 1]
        # Of 35 fair coins each: 0, with a deviation of 35 / 4 / √250 = 0.55.
        checks.that(abs(together) < 3, "how many tokens A and B lose in front goes together "
                    f"(covariance {together:.1f}, not 0)",
                    likely="one coin decides for a token of A and one of B: toss one for each"
                    )  # fmt: skip
    check_few_cuts(student)
    # The example of the page.
    kept = []
    for seed in range(200):
        kept.append(student.truncate_pair([1, 2, 3, 4, 5, 6], [7, 8], 6, Rng(seed)))
        check_cut(kept[-1], [1, 2, 3, 4, 5, 6], [7, 8], 6)
    for left in ([1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]):
        share = 0.5 if left[0] == 2 else 0.25
        checks.share(sum(out[0] == left for out in kept), 200, share, of=f"how often {left} is left"
                     )  # fmt: skip


def check_few_cuts(student):
    """A few tokens of each segment are cut off at any end alike, also if one alone is left."""
    for first, second, lost, calls in (
        (5, 2, (1, 0), 50), (3, 3, (0, 1), 50), (4, 4, (1, 1), 90), (2, 1, (1, 0), 50),
        (1, 2, (0, 1), 50), (9, 3, (5, 0), 250), (20, 3, (2, 0), 70), (1, 5, (0, 2), 70),
        (4, 4, (2, 2), 130),
    ):  # fmt: skip
        a, b = list(range(100, 100 + first)), list(range(200, 200 + second))
        room = first + second - sum(lost)
        fronts = [tuple(check_cut(student.truncate_pair(a, b, room, Rng(3000 + seed)), a, b, room))
                  for seed in range(calls)]  # fmt: skip
        ends = [*product(*(range(cut + 1) for cut in lost))]
        for end in ends:
            ways = comb(lost[0], end[0]) * comb(lost[1], end[1])
            checks.share(fronts.count(end), calls, ways / 2 ** sum(lost),
                         of=f"how often {first} and {second} tokens for a room of {room} lose "
                            f"{end[0]} and {end[1]} of them in front")  # fmt: skip


def check_coins(fronts, cut, name):
    """How many of `cut` tokens each call took in front."""
    of = f"{name} lost {cut} tokens in each of {CALLS} calls"
    checks.that(max(fronts) > 0, f"{of}, all of them at the back",
                likely="only the back is cut: a coin decides between front and back")  # fmt: skip
    checks.that(min(fronts) < cut, f"{of}, all of them in front",
                likely="only the front is cut: a coin decides between front and back")  # fmt: skip
    checks.that(not {0, cut} & set(fronts.tolist()), f"{of}, and in some calls all at one end",
                likely="one coin for all tokens: toss one for each")  # fmt: skip
    checks.that(len(set(fronts.tolist())) > 2,
                f"{of}, always {min(fronts)} or {max(fronts)} in front",
                likely="no coin is tossed: front and back lose tokens in turn, or half each"
                )  # fmt: skip
    total = int(fronts.sum())
    checks.share(total, CALLS * cut, 0.5, of=f"the share of tokens that {name} lost in front",
                 mistakes={"the coin is not fair": total / (CALLS * cut)})  # fmt: skip
    # A variance of cut / 4, whose own deviation is cut / 4 · √(2 / 249), or 0.09 of it.
    variance = np.var(fronts) / (cut / 4)
    checks.that(0.56 < variance < 1.56,
                f"{of}; how many of them in front varies by {variance:.2f} times as much as coins "
                "do (variance)",
                likely="one coin decides for several tokens: toss one for each" if variance > 1
                else "the tokens are shared out between front and back: toss a coin for each"
                )  # fmt: skip


# --- The row ---


def framed(a, b, seq_length, cls_id, sep_id, pad_id):
    """The row as the chapter's package makes it, from tokens that lie in a store."""
    store = SimpleNamespace(tokens=np.array([*a, *b]), sentence_starts=np.array([0, 1, 2]),
                            document_starts=np.array([0, 1, 2]))  # fmt: skip
    specials = SpecialTokens(pad=pad_id, cls=cls_id, sep=sep_id)
    size_a, size_b = np.array([len(a)]), np.array([len(b)])
    dataset = PairDataset(store, specials, seq_length=seq_length, seed=0)
    row = dataset.framed(np.array([0]), size_a, size_a, size_b)
    return tuple(row[name][0] for name in ("input_ids", "token_type_ids", "attention_mask"))


@pytest.mark.weight(3)
def test_a_row_holds_the_pair_its_segments_and_its_mask(student):
    a, b = [7, 0, 9, 12], [21, 22]  # 0 is a word here, where padding has another id
    drawn = checks.rng(31).integers(200, 900, (2, 4)).tolist()
    for first, second in ((a, b), (b, a), ([7], [8]), ([0], [1, 1]), (list(range(30, 41)), [5]),
                          drawn):  # fmt: skip
        tokens = len(first) + len(second) + 3
        for cls_id, sep_id, pad_id in ((101, 102, 0), (2, 3, 1), (7, 5, -1)):
            for seq_length in (tokens, tokens + 1, 20):
                ids = dict(cls_id=cls_id, sep_id=sep_id, pad_id=pad_id)
                out = student.frame_pair(first, second, seq_length=seq_length, **ids)
                got = checks.parts(out, "input_ids", "token_type_ids", "attention_mask")
                right = framed(first, second, seq_length, **ids)
                mistakes = row_mistakes(first, second, right, seq_length)
                names = ("input_ids", "token_type_ids", "attention_mask")
                for name, mine, theirs in zip(names, got, right, strict=True):
                    checks.same(mine, theirs, of=name, mistakes=mistakes[name])
    ids = dict(cls_id=101, sep_id=102, pad_id=0)
    out = student.frame_pair([7, 8, 9], [21, 22], seq_length=10, **ids)
    example = ([101, 7, 8, 9, 102, 21, 22, 102, 0, 0], [0, 0, 0, 0, 0, 1, 1, 1, 0, 0],
               [1, 1, 1, 1, 1, 1, 1, 1, 0, 0])  # fmt: skip
    checks.same(out, tuple(np.array(row, np.int64) for row in example), of="the page's example")
    like_special = [102, 101, 0], [0, 102]
    checks.same(student.frame_pair(*like_special, seq_length=10, **ids),
                tuple(framed(*like_special, 10, **ids)),
                of="the row of words with the ids of [CLS], [SEP] and [PAD]")  # fmt: skip


def row_mistakes(a, b, right, seq_length):
    ids, types, mask = right
    cls, sep, tokens = ids[0], ids[len(a) + 1], int(mask.sum())
    place = np.arange(seq_length)
    pad = ids[-1] if tokens < seq_length else 0
    filled = lambda *row: [*row, *[pad] * (seq_length - len(row))]  # noqa: E731
    given = sorted({cls, sep})
    return {
        "input_ids": {
            "padding stands after the tokens, not in front of them": (
                lambda out: tokens < seq_length
                and out.tolist()[-tokens:] == ids.tolist()[:tokens] != out.tolist()[:tokens]
            ),
            "the second [SEP] is missing": (
                lambda out: out.tolist() in (filled(cls, *a, sep, *b), [cls, *a, sep, *b])
            ),
            "the [SEP] between A and B is missing": (
                lambda out: out.tolist() in (filled(cls, *a, *b, sep), [cls, *a, *b, sep])
            ),
            "[CLS] is missing": (
                lambda out: out.tolist() in (filled(*a, sep, *b, sep), [*a, sep, *b, sep])
            ),
            "[CLS] stands once: A and B are parted by [SEP]": (
                lambda out: out.tolist()[:tokens] == [cls, *a, cls, *b, sep]
            ),
            "A and B are exchanged": lambda out: out.tolist() == filled(cls, *b, sep, *a, sep),
            "the row is not padded to seq_length": lambda out: len(out) == tokens < seq_length,
            "pad_id is ignored: padding is 0": np.where(mask, ids, 0),
            "cls_id or sep_id is hard-coded": (
                lambda out: len(out) == seq_length and (out[~np.isin(ids, given)]
                            == ids[~np.isin(ids, given)]).all()
            ),
        },
        "token_type_ids": {
            "the types are 0 everywhere: B and its [SEP] are 1": np.zeros_like(types),
            "padding has type 0, not 1": (place >= len(a) + 2).astype(np.int64),
            "padding has type 0, whatever pad_id is": np.where(mask, types, pad),
            "the first [SEP] belongs to A: its type is 0": (
                ((place >= len(a) + 1) & (place < tokens)).astype(np.int64)
            ),
            "the first [SEP] belongs to A, and padding has type 0": (
                (place >= len(a) + 1).astype(np.int64)
            ),
            "the last [SEP] belongs to B: its type is 1": (
                ((place >= len(a) + 2) & (place < tokens - 1)).astype(np.int64)
            ),
            "A has type 0 and B type 1, not the other way round": np.where(mask, 1 - types, 0),
            "A has type 0 and B type 1, not 1 and 2": np.where(mask, 1 + types, 0),
        },
        "attention_mask": {
            "the mask is reversed: 1 on tokens, 0 on padding": 1 - mask,
            "the mask is 1 everywhere: padding has 0": np.ones_like(mask),
            "the mask is read off the ids: a word may have the id of padding": (
                lambda out: (out == (ids != pad)).all() or (out == (ids != 0)).all()
            ),
            "[SEP] and [CLS] are tokens like others: the mask is 1 there": (
                lambda out: (out <= mask).all() and (out[[0, tokens - 1]] == 0).any()
            ),
        },
    }  # fmt: skip


@pytest.mark.hint(1)
def test_zeros_equal_documents_and_empty_segments_are_nothing_special(student):
    document = [[1, 2], [3, 4, 5], [6], [7, 8]]
    for probability in (0.0, 1.0):
        for seed in range(20):
            pairs = student.sentence_pairs([document, document], 0, Rng(seed), target=8,
                                           random_next=probability)  # fmt: skip
            checks.that(type(pairs) is list and len(pairs) > 0, "expected a list of pairs")
            label = checks.parts(pairs[0], "a", "b", "label")[2]
            checks.same(int(label), int(probability), of=f"the first label with random_next="
                        f"{probability}, of two documents of the same text",
                        mistakes={"random_next=0 is taken for the default": 1}
                        )  # fmt: skip
    for a, b in (([1, 2, 3], [4]), ([], [1, 2]), ([], [])):
        out = student.truncate_pair(a, b, 0, Rng(3))
        checks.same(out, ([], []), of=f"{a} and {b} cut to 0 tokens",
                    mistakes=lambda: {"room=0 is taken for no limit": (a, b)})  # fmt: skip
    for a, b in (([7], []), ([], [7]), ([], [])):
        given = dict(seq_length=9, cls_id=101, sep_id=102, pad_id=0)
        rows = (
            [101, *a, 102, *b, 102],
            [0] * (len(a) + 2) + [1] * (len(b) + 1),
            [1] * (3 + len(a + b)),
        )
        right = tuple(np.array([*row, *[0] * 6][:9], np.int64) for row in rows)
        checks.same(student.frame_pair(a, b, **given), right,
                    of=f"the row of {a} and {b}", mistakes={
                        "an empty segment has its [SEP] too": (
                            lambda out: bool((out[0] == 102).sum() < 2))}
                    )  # fmt: skip


def test_documents_segments_and_rows_of_any_size(student):
    # 5,000 others: a draw of 12 bits does not reach the last of them.
    count, calls = 5_000, 1_500
    own = [[number] for number in range(calls)]
    one_each = [own, *([[10_000 + number]] for number in range(count))]
    all_in_one = [own, [[10_000 + number] for number in range(count)]]
    many = [own, *[[[10_000 + number] for number in range(40)]] * 3_000]  # for two draws in one
    last = [*([[10_000 + number]] for number in range(300)), own]  # 300 and 300 are two objects
    for documents, count, of in (
        (one_each, 5_000, "of 5,000 other documents"),
        (all_in_one, 5_000, "of a document of 5,000 sentences"),
        (many, 40, "of one of 3,000 documents of 40 sentences"),
        (last, 300, "of the 300 documents before its own"),
    ):
        index = documents.index(own)
        pairs = student.sentence_pairs(documents, index, Rng(61), target=1, random_next=0.7)
        drawn = [
            pair[1][0] - 10_000 if type(pair) is tuple and len(pair) == 3 and pair[1] else -1
            for pair in pairs
        ]
        checks.that(
            len(drawn) == calls and min(drawn) >= 0,
            f"{calls:,} chunks of one sentence: each has a B of another document",
            likely="the random document may be the document itself: draw one of the others"
            * (min(drawn, default=-1) < -1),
        )
        for part in range(10):
            checks.share(
                sum(10 * d // count == part for d in drawn),
                calls,
                0.1,
                of=f"how often B begins in tenth {part + 1} {of}",
                mistakes={"B never begins there": 0.0},
            )
        different = len(set(drawn))  # 1,296 are due of 5,000, with a deviation of 12
        checks.that(count < 5_000 or different > 1_200, f"{calls:,} draws {of} are only "
                    f"{different} different ones", likely="the draw has too few bits"
                    )  # fmt: skip
        # Where a number of the coin is used again, u / 0.7 % 1, that is 65 times in 100. A right
        # answer fails once in 1e9 times.
        half, chance = sum(2 * d < count for d in drawn), 6.3 * sqrt(calls / 4)
        checks.that(
            abs(half - calls / 2) < chance,
            f"how often B begins in the first half {of}: expected {calls / 2:.0f} ± {chance:.0f} "
            f"of {calls:,}, got {half}",
        )
    single = [[[number] for number in range(20_000)], [[20_000]]]
    pairs = student.sentence_pairs(single, 0, Rng(63), target=2, random_next=0.003)
    pairs = pairs[:-1]  # the last may be one sentence
    sweep.is_about(
        sum(label == 1 for _, _, label in pairs),
        0.003 * len(pairs),
        of=f"random pairs among {len(pairs):,} where random_next is 0.003",
        likely="random_next is rounded",
    )
    # A document that is drawn in ten tries is the document itself once in 1,024 times.
    del single[0][14_000:]
    pairs = student.sentence_pairs(single, 0, Rng(65), target=1)
    read(pairs, Places(single), 0, 1)
    check_chunks_of_any_size(student)
    for seed, (sizes, target, longest) in enumerate(
        (
            ((300, 200), 2500, 30),
            ((900, 3), 1, 6),
            ((3, 300), 5500, 40),
            ((90, 2), 10**6, 100),
            ((1, 1), 5, 3),
            ((30, 4, 4), 64, 500),
            ((300, 40), 513, 25),
            ((1_000, 3), 9_000, 200),  # more tokens than 16 bits count
        )
    ):
        documents = corpus(sizes, longest=longest, seed=70 + seed, least=2**40)
        places = Places(documents)
        for index in range(len(sizes)):
            pairs = student.sentence_pairs(documents, index, Rng(80 + seed), target=target)
            read(pairs, places, index, target)
    long, fronts = list(range(4000)), []
    for seed in range(20):
        left = student.truncate_pair(long, [], 1, Rng(600 + seed))
        fronts.append(check_cut(left, long, [], 1)[0])
    varies = np.mean((np.array(fronts) - 3999 / 2) ** 2) / (3999 / 4)
    checks.that(varies < 3.9, "how many of 3,999 lost tokens are lost in front varies by "
                f"{varies:.1f} times as much as coins do (variance)",
                likely="a coin decides for several tokens: draw one anew for each")  # fmt: skip
    tokens = list(range(10**6, 10**6 + 9000))
    for a, b, room in (
        (3000, 3, 5),
        (2, 4000, 600),
        (3000, 3000, 5999),
        (2000, 1500, 0),
        (700, 0, 650),
        (0, 900, 1),
        (4500, 4500, 9000),
    ):
        given = tokens[:a], tokens[a : a + b]
        out = student.truncate_pair(*given, room, Rng(90))
        check_cut(out, *given, room)
        for left, whole in zip(out, given, strict=True):
            if left and len(whole) - len(left) > 100:
                checks.share(
                    left[0] - whole[0],
                    len(whole) - len(left),
                    0.5,
                    of=f"how often a token of {len(whole):,} is cut off in front",
                )
    rng = checks.rng(91)

    def rows():
        for a, b, more in (
            (1, 1, 0),
            (700, 900, 3),
            (3000, 1, 5000),
            (0, 2, 9),
            (2, 0, 1),
            (40, 50, 0),
            *[(2, 2, 1)] * 8,
            *((3, 3, 0), (9, 9, 3), (16, 16, 29), (6, 7, 0), (20, 9, 0), (254, 255, 0)),
        ):
            for largest in (40_000, 2**40):
                cls_id, sep_id, pad_id = specials = rng.choice([0, 1, 65_536, largest], 3).tolist()
                ids = rng.integers(0, largest, a + b).tolist()
                if a + b < 5:  # words with the ids of special tokens, first and last too
                    ids = rng.choice(specials, a + b).tolist()
                yield sweep.Case(
                    f"A of {a} and B of {b} tokens, ids up to {largest:,}",
                    (ids[:a], ids[a:]),
                    {
                        "seq_length": a + b + 3 + more,
                        "cls_id": cls_id,
                        "sep_id": sep_id,
                        "pad_id": pad_id,
                    },
                )

    sweep.agrees(student.frame_pair, any_row, rows())


def check_chunks_of_any_size(student):
    """A ends anywhere in chunks of 4 to 30 sentences, whose labels are drawn, and of 600, more than
    8 bits count; and the other documents of the last one are drawn alike."""
    rng, target = checks.rng(66), 30
    own = [rng.integers(1, 2 * mean, 2700 // mean) for mean in (1, 2, 3, 4, 6)]
    documents = made_of([1] * 3, [2] * 4, [1, 2], np.concatenate(own).tolist())
    pairs = student.sentence_pairs(documents, 3, Rng(64), target=target, random_next=0.7)
    found = read(pairs, Places(documents), 3, target)
    for low, high in ((4, 5), (6, 8), (9, 12), (13, 20), (21, 30)):
        whole = [pair for pair in found if low <= pair.chunk <= high]
        of = f"a chunk of {low} to {high} sentences"
        checks.share(sum(pair.label for pair in whole), len(whole), 0.7, of="how often the label "
                     f"of {of} is 1, at random_next 0.7")  # fmt: skip
        for third in range(3):
            sizes = [[3 * k // (pair.chunk - 1) for k in range(pair.chunk - 1)] for pair in whole]
            checks.share(
                sum(3 * (pair.a - 1) // (pair.chunk - 1) == third for pair in whole),
                len(whole),
                float(np.mean([size.count(third) / len(size) for size in sizes])),
                of=f"how often A ends in third {third + 1} of {of}",
                mistakes={"A never has so many": 0.0},
            )
    others = [pair.document for pair in found if pair.label]
    check_even({document: others.count(document) for document in (0, 1, 2)},
               "how often a random B of the last document comes from document {}")  # fmt: skip
    documents = made_of([1] * 12_000, [1] * 3)
    pairs = student.sentence_pairs(documents, 0, Rng(68), target=600, random_next=1.0)
    found = read(pairs, Places(documents), 0, 600)
    sizes = [pair.a for pair in found if pair.chunk == 600]
    for third in range(3):
        checks.share(sum((size - 1) * 3 // 599 == third for size in sizes), len(sizes), 1 / 3,
                     of=f"how often A ends in third {third + 1} of a chunk of 600 sentences",
                     mistakes={"A never has so many": 0.0})  # fmt: skip


def any_row(a, b, *, seq_length, cls_id, sep_id, pad_id):
    return tuple(framed(a, b, seq_length, cls_id, sep_id, pad_id))


class Tally:
    """Draws of many kinds and chances, each judged among those of its kind."""

    def __init__(self):
        self.found = {}  # of each kind how many draws there were, what came, and what was due

    def add(self, of, kinds, happened, chance):
        if 0 < chance < 1:
            for kind in kinds:
                got = self.found.setdefault(of + kind, [0, 0, 0.0])
                got[:] = got[0] + 1, got[1] + happened, got[2] + chance

    def check(self):
        """By Chernoff's bound a right answer fails for a kind once in a billion times."""
        for of, (count, came, due) in self.found.items():
            parts = ((came, due), (count - came, count - due))
            distance = sum(one * log(one / other) for one, other in parts if one)
            checks.that(distance < log(2e9), f"how often {of}: expected about {due:.1f} of "
                        f"{count}, got {came}")  # fmt: skip


def test_every_draw_is_even_in_small_documents_and_at_both_ends_of_them(student):
    rng, tally = checks.rng(95), Tally()
    for number in range(110):
        sizes = rng.integers(1, 7, rng.integers(2, 6)).tolist()
        index = [0, len(sizes) - 1, number % len(sizes)][number % 3]
        sizes[index] += number % 9
        longest = (3, 3, 7)[number // 3 % 3]
        documents = made_of(*(rng.integers(1, longest + 1, size).tolist() for size in sizes))
        target, p = rng.integers(1, 14).item(), [0.15, 0.35, 0.5, 0.6, 0.7][number % 5]
        places = Places(documents)
        pairs = student.sentence_pairs(documents, index, Rng(900 + number), target=target,
                                       random_next=p)  # fmt: skip
        found, start = read(pairs, places, index, target), 0
        for place, pair in enumerate(found):
            is_last, others = start + pair.chunk == sizes[index], len(sizes) - 1
            kinds = [
                "",
                f" in {'the first' if place == 0 else 'a later'} pair",
                f" in {'the last' if is_last else 'an earlier'} chunk",
                *[" in the last of several chunks"] * (is_last and place > 0),
                f" in a chunk of {min(pair.chunk, 4)}{' or more' * (pair.chunk > 3)}",
                f" in document {index}",
                f" where {others} other documents are left",
                f" where A leaves {'no' if len(pairs[place][0]) >= target else 'some'} tokens",
            ]
            tally.add("the label is 1", [*kinds, f" at random_next {p}"], pair.label,
                      p if pair.chunk > 1 else 1)  # fmt: skip
            ways = max(pair.chunk - 1, 1)
            tally.add("A is one sentence", kinds, pair.a == 1, 1 / ways)
            tally.add("A is all sentences but one", kinds, pair.a == ways, 1 / ways)
            if pair.label:
                order = [d for d in range(len(sizes)) if d != index].index(pair.document)
                size = sizes[pair.document]
                more = f" of a document of {size} sentences"
                tally.add("B is of the first other document", kinds, order == 0, 1 / others)
                tally.add("B is of the last other document", kinds, order == others - 1, 1 / others)
                tally.add("B begins a document", [*kinds, more], pair.first == 0, 1 / size)
                tally.add("B begins with the last sentence", [*kinds, more],
                          pair.first == size - 1, 1 / size)  # fmt: skip
            start += pair.a if pair.label else pair.chunk
    for p in (0.35, 0.9):
        documents = made_of([1] * 450, [1] * 3)
        pairs = student.sentence_pairs(documents, 0, Rng(98), target=2, random_next=p)
        for pair in read(pairs, Places(documents), 0, 2):
            tally.add("the label is 1", [f" at random_next {p}"], pair.label, p * (pair.chunk > 1))
    documents, earlier = made_of([1] * 100, [1] * 100), set()
    for pair in read(student.sentence_pairs(documents, 0, Rng(99), target=1, random_next=0.5),
                     Places(documents), 0, 1):  # fmt: skip
        tally.add("B begins where an earlier B began", [""], pair.first in earlier,
                  len(earlier) / 100)  # fmt: skip
        earlier.add(pair.first)
    tally.check()


def test_every_coin_is_fair_for_any_lengths_and_any_room(student):
    rng, tally = checks.rng(96), Tally()
    for number in range(140):
        first, second = rng.integers(0, 10, 2).tolist()
        a, b = list(range(100, 100 + first)), list(range(200, 200 + second))
        room = max(first + second - rng.integers(1, 5).item(), 0)
        out = student.truncate_pair(a, b, room, Rng(2000 + number))
        fronts = check_cut(out, a, b, room)
        for name, front, left, whole in zip("AB", fronts, out, (a, b), strict=True):
            if lost := (len(whole) - len(left)) * bool(left):
                equal = "longer" if first > second else "shorter" if first < second else "as long"
                more = (f", {lost} in all", f", A {equal}", f", {['even', 'odd'][room % 2]} room")
                kinds = [f" of {name}{kind}" for kind in ("", *more)]
                tally.add("all tokens are lost in front", kinds, front == lost, 0.5**lost)
                tally.add("all tokens are lost at the back", kinds, front == 0, 0.5**lost)
    tally.check()


def own_coins_in_calls_in_a_row(student):
    """Where a cut takes few numbers of its generator, the next must not toss the same coins."""
    cut = [*range(300)], [0], 100

    def fronts(drawn):
        made = [student.truncate_pair(*cut, Rng(seed, drawn))[0][0] for seed in range(60)]
        return np.array(made, float) - 100

    call, rng = student.truncate_pair.trace(*cut, Rng(7)), Rng(codec.reseeded(7)).make()
    for drawn in range(1, 6):
        rng.random()
        if call.next == [copy.deepcopy(rng).random()]:
            alike = np.corrcoef(fronts(0), fronts(drawn))[0, 1]
            # Of 60 calls each: 0, with a deviation of 1 / √60 = 0.13.
            checks.that(alike < 0.8, "of two calls of truncate_pair in a row with one generator, "
                        f"the second cuts as the first has done (correlation {alike:.2f})",
                        likely="a call draws from a copy of its generator, which it moves by less "
                               "than it drew")  # fmt: skip


@pytest.mark.hint(4)
def test_nothing_is_left_behind(student):
    own_coins_in_calls_in_a_row(student)
    documents = corpus([9, 4, 6])
    ids = dict(cls_id=101, sep_id=102, pad_id=0)
    student.sentence_pairs(documents=documents, index=0, rng=Rng(7), target=12)  # by their names
    student.truncate_pair(a=[1, 2], b=[3], room=2, rng=Rng(7))
    student.frame_pair(a=[5, 6], b=[7], seq_length=9, **ids)
    checks.leaves_no_trace(student.sentence_pairs, documents, 0, Rng(7), target=12)
    twins = [documents[0], list(documents[0])]  # another index, the same sentences
    checks.leaves_no_trace(student.sentence_pairs, twins, 0, Rng(7), target=12)
    checks.leaves_no_trace(student.truncate_pair, list(range(30)), list(range(20)), 9, Rng(7))
    checks.leaves_no_trace(student.truncate_pair, list(range(20)), list(range(20)), 9, Rng(7))
    checks.draws_from_its_generator(student.sentence_pairs, documents, 0, Rng(7), target=12)
    documents = made_of([1] * 9, [2] * 3, [3])
    for index, target in product((0, 1, 2), (1, 2, 9)):
        call = student.sentence_pairs.trace(documents, index, Rng(7), target=target)
        checks.that(not call.shared, "sentence_pairs returns a list that stands in documents, or "
                    "in two pairs: whoever writes to A or B changes the other",
                    likely="where A or B is one sentence, that is the document's own list: return "
                           "a copy")  # fmt: skip
    checks.draws_from_its_generator(student.truncate_pair, list(range(30)), [1, 2], 9, Rng(7))
    for (first, second), room in product(((6, 2), (2, 6), (5, 5), (0, 3)), (1, 6, 9, 20)):
        call = student.truncate_pair.trace([1] * first, [2] * second, room, Rng(7))
        checks.nothing_kept("truncate_pair", call, may_share=False)
    checks.leaves_no_trace(student.frame_pair, [5, 6], [7], seq_length=9, **ids)
    # The list of the own document held its sentences from the last to the first at a call before.
    given = made_of([2] * 9, [1] * 12 + [4] * 12), 1, Rng(7)
    options = {"target": 4, "random_next": 1.0}
    checks.same(
        student.sentence_pairs.trace(
            *given, **options, before=("sentence_pairs", given, options)
        ).value,
        student.sentence_pairs(*given, **options),
        of="the pairs, after a call in which the document held its sentences in another order",
        mistakes={"lengths are kept, and found again by the document, not by what it holds": (
            lambda out: True)},
    )  # fmt: skip
