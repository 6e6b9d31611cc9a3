"""Sentence pairs: what must hold for each pair, then the shares, within what chance allows.

Every token of these documents has an id of its own, so that any token tells where it was taken. The
shares are judged on 25,000 draws or more; a right answer fails one once in ten million times.
"""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from autograder import checks
from autograder.codec import Rng
from bert_corpus.pairs import PairDataset, SpecialTokens, tokens_to_cut

# --- Pairs ---


def corpus(sizes, *, longest=6, seed=5):
    """Documents of so many sentences, each of 1 to `longest` tokens, no two tokens alike."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, sum(sizes))
    ids = iter(np.split(1000 + np.arange(lengths.sum()), lengths.cumsum()[:-1]))
    return [[next(ids).tolist() for _ in range(size)] for size in sizes]


@dataclass
class Pair:
    """Where the parts of a pair lie: sentences first … last - 1 of their documents."""

    chunk: int  # how many sentences the chunk has
    a: int  # how many of them A has
    label: int
    document: int  # of B
    first: int


def stretch(sentences, start, target):
    """Where a stretch of `target` tokens ends that begins at `start`."""
    end, tokens = start, 0
    while end < len(sentences) and (end == start or tokens < target):
        tokens += len(sentences[end])
        end += 1
    return end


def read(pairs, documents, index, target):
    """Check what must hold for every pair; say where its parts lie."""
    checks.that(type(pairs) is list, f"expected a list of pairs, got {type(pairs).__name__}")
    place = {sentence[0]: (d, s) for d, document in enumerate(documents)
             for s, sentence in enumerate(document)}  # fmt: skip
    found, start, sentences = [], 0, documents[index]
    for number, pair in enumerate(pairs):
        a, b, label = checks.parts(pair, "A", "B", "label")
        of = f"pair {number} of document {index}, target {target}"
        for segment, name in ((a, "A"), (b, "B")):
            checks.that(type(segment) is list, f"{of}: expected {name} as a list, got "
                        f"{type(segment).__name__}")  # fmt: skip
            checks.that(len(segment) > 0, f"{of}: {name} is empty",
                        likely="a chunk of one sentence has nothing that follows: its B is always "
                               "random" if name == "B" else "A has one sentence at least"
                        )  # fmt: skip
        checks.that(type(label) is not str and label in (0, 1),
                    f"{of}: expected the label 0 or 1, got {label!r}")  # fmt: skip
        checks.that(start < len(sentences), f"{of}: the document was used up before",
                    likely="its end is taken again and again")  # fmt: skip
        read_pair = read_one(a, b, int(label), of, start, place, documents, index, target, found)
        found.append(read_pair)
        start += read_pair.a if read_pair.label else read_pair.chunk
    checks.that(start == len(sentences),
                f"document {index}, target {target}: its last {len(sentences) - start} of "
                f"{len(sentences)} sentences are in no pair",
                likely="the end of a document makes a chunk too, however short")  # fmt: skip
    return found


def read_one(a, b, label, of, start, place, documents, index, target, before):
    sentences = documents[index]
    end = stretch(sentences, start, target)
    chunk = end - start
    begins = place.get(a[0])
    if begins != (index, start):
        lost = before and before[-1].label and begins == (
            index, start - before[-1].a + before[-1].chunk)  # fmt: skip
        swapped = begins and begins[0] == index and place.get(b[0]) == (index, start)
        checks.fail(f"{of}: A should begin with sentence {start} of the document, it begins with "
                    f"{a[:3]}…",
                    likely="the sentences of the chunk that a random B put aside are lost: the "
                           "next chunk begins right behind A" if lost else
                           "A and B in the wrong order are another task (ALBERT's): a random B "
                           "comes from another document" if swapped else
                           "sentences are used twice, or out of order")  # fmt: skip
    size = next((n for n in range(1, len(sentences) - start + 1)
                 if joined(sentences[start : start + n]) == a), None)  # fmt: skip
    checks.that(size is not None, f"{of}: A is not made of whole sentences in their order")
    checks.that(size <= max(chunk - 1, 1),
                f"{of}: its chunk has {chunk} sentences, and A has {size} of them",
                likely="A leaves one sentence at least for B; or is the chunk too long? It ends as "
                       "soon as it has target tokens or more")  # fmt: skip
    document, first = place.get(b[0], (-1, -1))
    checks.that(document >= 0, f"{of}: B does not begin where a sentence begins")
    rest = joined(sentences[start + size : end])
    if label == 0:
        checks.that(document == index,
                    f"{of}: B comes from document {document}, and the label is 0",
                    likely="the labels are reversed: 0 is IsNext, 1 is random")  # fmt: skip
        checks.that(chunk > 1, f"{of}: the chunk has one sentence, and the label is 0",
                    likely="the chunk is too long: it ends as soon as it has target tokens or more"
                    )  # fmt: skip
        checks.that(b == rest, f"{of}: the label is 0, and B is not the rest of the chunk "
                    f"({len(rest)} tokens), but {len(b)} tokens",
                    likely="B ends before the chunk does, or goes beyond it: the chunk ends as "
                           "soon as it has target tokens or more")  # fmt: skip
        return Pair(chunk, size, label, document, first)
    checks.that(b != rest, f"{of}: B is what follows A, and the label is 1",
                likely="the labels are reversed: 0 is IsNext, 1 is random")  # fmt: skip
    checks.that(document != index, f"{of}: the label is 1, and B comes from the same document",
                likely="the random document may be the document itself: draw one of the others"
                )  # fmt: skip
    there = documents[document]
    last = stretch(there, first, target - len(a))
    if b != joined(there[first:last]):
        full = joined(there[first : stretch(there, first, target)])
        checks.fail(f"{of}: B should have {len(joined(there[first:last]))} tokens, it has {len(b)}",
                    likely="a random B has the target - len(A) tokens that A leaves, not target"
                           if b == full else
                           "a random B is one sentence, or ends before it is full: it goes on "
                           "until it has target - len(A) tokens or more"
                           if len(b) < target - len(a) else
                           "a random B ends as soon as it has target - len(A) tokens or more"
                    )  # fmt: skip
    return Pair(chunk, size, label, document, first)


def joined(sentences):
    return [token for sentence in sentences for token in sentence]


@pytest.mark.weight(4)
def test_every_pair_is_made_of_sentences_that_follow_one_another(student):
    documents = corpus([9, 1, 14, 2, 30, 5])
    for target in (1, 2, 9, 20, 500):
        for index in range(len(documents)):
            pairs = student.sentence_pairs(documents, index, Rng(7 + index), target=target)
            read(pairs, documents, index, target)
    long = corpus([400, 300, 200])
    for target in (8, 25):
        pairs = student.sentence_pairs(long, 1, Rng(7), target=target)
        read(pairs, long, 1, target)


def many(student, *, target, sentences, seed=7, **more):
    """The pairs of one long document whose sentences have one token each, with five short ones."""
    for size in (300, sentences):  # what can be seen in few pairs is told sooner
        documents = corpus([2, 7, 1, size, 3, 4], longest=1)
        pairs = student.sentence_pairs(documents, 3, Rng(seed), target=target, **more)
        found = read(pairs, documents, 3, target)
    return found


@pytest.mark.weight(2)
def test_random_next_is_the_share_of_random_pairs_and_a_ends_anywhere(student):
    pairs = many(student, target=4, sentences=20_000, random_next=0.2)
    check_share_of_random(pairs, 0.2)
    whole = [pair for pair in pairs if pair.chunk == 4]
    check_even({size: sum(pair.a == size for pair in whole) for size in (1, 2, 3)},
               "how often A has {} of 4 sentences")  # fmt: skip


@pytest.mark.weight(2)
def test_half_of_the_pairs_are_random_and_begin_anywhere_in_any_other_document(student):
    pairs = many(student, target=3, sentences=57_000)
    check_share_of_random(pairs, 0.5)
    apart = [pair for pair in pairs if pair.label]
    sizes = {0: 2, 1: 7, 2: 1, 4: 3, 5: 4}
    check_even(
        {document: sum(pair.document == document for pair in apart) for document in sizes},
        "how often a random B of document 3 comes from document {}",
        lambda document: {
            "documents are drawn by their number of sentences": sizes[document] / 17,
            "the document behind is drawn in place of the document itself: draw again, or step "
            "over it": 1 / 3 if document == 4 else 1 / 6,
        },
    )
    for document in (1, 4):
        first = [pair.first for pair in apart if pair.document == document]
        check_even({number: first.count(number) for number in range(sizes[document])},
                   f"how often a random B from a document of {sizes[document]} sentences begins "
                   "with sentence {}")  # fmt: skip


def check_even(counts, of, mistakes=lambda case: {}):
    """Each case must be as frequent as the others; first what never or always happens."""
    total = sum(counts.values())
    for case, count in counts.items():
        checks.that(0 < count < total, f"{of.format(case)}: {'never' if count == 0 else 'always'}",
                    likely="it is not drawn at all, but always the same"
                           if total in counts.values() else
                           "the draw ends too early or begins too late: is its upper end left out?"
                    )  # fmt: skip
    for case, count in counts.items():
        checks.share(count, total, 1 / len(counts), of=of.format(case), mistakes=mistakes(case))


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
                    likely="the function seeds a generator of its own: use rng")  # fmt: skip


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
    named = {
        "nothing is cut": (a, b),
        "B is cut where A is longer: it is the longer segment's turn": (
            min(a, room), max(room - a, 0)),
        "A is cut where B is longer: it is the longer segment's turn": (
            max(room - b, 0), min(b, room)),
        "each segment gets half of the room, even where the other needs less": (
            min(a, room // 2), min(b, room // 2)),
        "each segment gets its half of the room, even where the other needs less": (
            min(a, room - room // 2), min(b, room // 2)),
        "the special tokens are no part of room": tuple(
            int(n - c[0]) for n, c in zip((a, b), tokens_to_cut(
                np.array([a]), np.array([b]), room - 3), strict=True)),
        "one token too many is cut: room tokens may stay": tuple(
            int(n - c[0]) for n, c in zip((a, b), tokens_to_cut(
                np.array([a]), np.array([b]), room - 1), strict=True)),
        "when both are equally long, B loses the token": (wanted[0] - 1, wanted[1] + 1),
    }  # fmt: skip
    shorter = "the shorter segment is cut: it is the longer segment's turn"
    fitting = [name for name, lengths in named.items() if lengths == got]
    smaller = (got[0] < wanted[0]) if a < b else (got[1] < wanted[1])
    return fitting[0] if fitting else shorter if smaller and a != b else ""


SIZES = [(3, 4), (20, 5), (5, 20), (12, 12), (13, 12), (12, 13), (40, 1), (1, 40), (31, 33)]


@pytest.mark.weight(2)
def test_the_longer_segment_loses_tokens_until_both_fit(student):
    for first, second in SIZES:
        a, b = list(range(100, 100 + first)), list(range(200, 200 + second))
        for room in (2, 7, 8, 15, 24, 25, 500):
            check_cut(student.truncate_pair(a, b, room, Rng(7)), a, b, room)


@pytest.mark.weight(2)
def test_front_and_back_lose_tokens_as_a_coin_falls(student):
    for name, first, second in (("A", 90, 10), ("B", 10, 90)):
        a, b = list(range(100, 100 + first)), list(range(200, 200 + second))
        fronts = []
        for seed in range(500):
            out = student.truncate_pair(a, b, 30, Rng(1000 + seed))
            fronts.append(check_cut(out, a, b, 30)[name == "B"])
        cut, of = 70, f"{name} lost 70 tokens in each of 500 calls"
        checks.that(max(fronts) > 0, f"{of}, all of them at the back",
                    likely="only the back is cut: front or back is a coin's to say")  # fmt: skip
        checks.that(min(fronts) < cut, f"{of}, all of them in front",
                    likely="only the front is cut: front or back is a coin's to say")  # fmt: skip
        checks.that(not {0, cut} & set(fronts), f"{of}, and in some calls all at one end",
                    likely="one coin for all tokens: toss one for each")  # fmt: skip
        checks.that(len(set(fronts)) > 2, f"{of}, always {min(fronts)} or {max(fronts)} in front",
                    likely="no coin is tossed: front and back lose tokens in turn, or half each"
                    )  # fmt: skip
        checks.share(sum(fronts), 500 * cut, 0.5, of=f"the share of tokens that {name} lost in "
                     "front", mistakes={"the coin is not fair": sum(fronts) / (500 * cut)}
                     )  # fmt: skip
        # 70 fair coins: 17.5. With 500 calls a right answer stays within 12 and 24.
        checks.that(10 < np.var(fronts) < 27,
                    f"{of}; how many of them in front varies by {np.var(fronts):.1f} (variance), "
                    "not by 70 / 4",
                    likely="one coin decides for several tokens: toss one for each")  # fmt: skip


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
    for first, second in ((a, b), (b, a), ([7], [8]), (list(range(30, 41)), [5])):
        tokens = len(first) + len(second) + 3
        for cls_id, sep_id, pad_id in ((101, 102, 0), (2, 3, 1)):
            for seq_length in (tokens, tokens + 1, 20):
                ids = dict(cls_id=cls_id, sep_id=sep_id, pad_id=pad_id)
                out = student.frame_pair(first, second, seq_length=seq_length, **ids)
                got = checks.parts(out, "input_ids", "token_type_ids", "attention_mask")
                right = framed(first, second, seq_length, **ids)
                mistakes = row_mistakes(first, second, right, seq_length)
                names = ("input_ids", "token_type_ids", "attention_mask")
                for name, mine, theirs in zip(names, got, right, strict=True):
                    checks.same(mine, theirs, of=name, mistakes=mistakes[name])


def row_mistakes(a, b, right, seq_length):
    ids, types, mask = right
    cls, sep, tokens = ids[0], ids[len(a) + 1], int(mask.sum())
    place = np.arange(seq_length)
    pad = ids[-1] if tokens < seq_length else 0
    short = [cls, *a, sep, *b]
    return {
        "input_ids": {
            "padding stands behind the tokens, not in front of them": (
                lambda out: tokens < seq_length
                and out.tolist()[-tokens:] == ids.tolist()[:tokens] != out.tolist()[:tokens]
            ),
            "the second [SEP] is missing": (
                lambda out: out.tolist()[: tokens - 1] == short and sep not in out[tokens - 1 :]
            ),
            "the [SEP] between A and B is missing": (
                lambda out: out.tolist()[: tokens - 1] == [cls, *a, *b, sep]
            ),
            "[CLS] is missing": lambda out: cls not in out,
            "[CLS] stands once: A and B are parted by [SEP]": (
                lambda out: out.tolist().count(cls) > 1
            ),
            "A and B are exchanged": lambda out: out.tolist()[1 : len(b) + 1] == b,
            "the row is not padded to seq_length": lambda out: len(out) == tokens < seq_length,
            "pad_id is ignored: padding is 0": np.where(mask, ids, 0),
            "cls_id or sep_id is written into the function": (
                lambda out: len(out) == seq_length and (out[(ids != cls) & (ids != sep)]
                            == ids[(ids != cls) & (ids != sep)]).all()
            ),
        },
        "token_type_ids": {
            "the types are 0 everywhere: B and its [SEP] are 1": np.zeros_like(types),
            "padding has type 0, not 1": (place >= len(a) + 2).astype(np.int64),
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


def test_nothing_is_left_behind(student):
    documents = corpus([9, 4, 6])
    ids = dict(cls_id=101, sep_id=102, pad_id=0)
    checks.leaves_no_trace(student.sentence_pairs, documents, 0, Rng(7), target=12)
    checks.leaves_no_trace(student.truncate_pair, list(range(30)), list(range(20)), 9, Rng(7))
    checks.leaves_no_trace(student.frame_pair, [5, 6], [7], seq_length=9, **ids)
