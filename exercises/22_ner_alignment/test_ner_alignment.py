"""Names: labels on first pieces, back from pieces to words, and the F1 of whole names."""

import itertools
import string

import numpy as np
import pytest

from autograder import checks, sweep
from bert_finetuning import metrics

CLS, SEP, UNK, IGNORED = 101, 102, 100, -100
NAMES = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG-COMPANY", "I-ORG-COMPANY"]
SIZES = [(1, 3, 1, 2), (2,), (1, 1, 1), (4, 0, 1, 0, 2), (0, 0), (3, 5, 2, 1, 1, 4), ()]


KINDS = ["PER", "Per", "ORG-COMPANY", "COMPANY", "B", "I-B", "O"]
# Types that a program may take for one.
NEAR = [*KINDS, "PER ", "PER-", "-PER", "P-ER", "P_ER", "P.ER", "ORG-COMPANY-2", "ORG-COMPANY-3",
        "ORG", "Ä", "ä", "A\u0308", "1", "01", "fi", "ﬁ", *("x" * 40 + end for end in "yz")
        ]  # fmt: skip
# Sentence, first word, one past the last, and type of two names each, which are the same text if
# two or three of the four are written one behind the other.
JOINED = [
    ((1, 12, 13, "T"), (11, 2, 3, "T")), ((2, 31, 32, "T"), (23, 1, 32, "T")),
    ((10, 10, 11, "T"), (101, 0, 1, "T")), ((7, 12, 13, "T"), (27, 1, 2, "T")),
    ((8, 23, 24, "T1"), (8, 3, 4, "T12")), ((5, 20, 21, "11"), (51, 20, 21, "1")),
    ((6, 20, 21, "T1"), (16, 20, 21, "T")),
    # Two of the four (or the last word, or the length) without a gap, and the others alike.
    ((9, 12, 30, "T"), (29, 1, 30, "T")), ((3, 0, 12, "T"), (23, 0, 1, "T")),
    ((40, 2, 22, "1T"), (40, 21, 22, "T")), ((41, 12, 13, "T"), (41, 2, 13, "T1")),
    ((48, 0, 1, "1T"), (48, 0, 11, "T")), ((43, 0, 12, "T"), (43, 0, 2, "T1")),
    ((4, 0, 12, "T"), (41, 0, 2, "T")), ((15, 0, 12, "T"), (115, 0, 2, "T")),
    ((49, 0, 2, "1T"), (49, 0, 12, "T")), ((45, 1, 13, "T"), (45, 11, 13, "T")),
    ((46, 1, 13, "T"), (46, 21, 22, "T")), ((42, 2, 3, "1T"), (42, 21, 22, "T")),
]  # fmt: skip


def sentence(sizes, seed=3):
    """Pieces of words with so many each, and a label for each word: 0 for the last one, whose
    pieces have the id 0."""
    rng = checks.rng(seed + len(sizes))
    pieces = [rng.integers(200, 900, size).tolist() for size in sizes]
    labels = rng.integers(1, 7, len(sizes)).tolist()
    if sizes:
        pieces[-1], labels[-1] = [0] * sizes[-1], 0
    return pieces, labels


def aligned(pieces, labels, max_length, *, every=None, cut=2, keep=False):
    """The right answer, or with one thing about it wrong."""
    ids, spoken, starts = [], [], []
    for word, label in zip(pieces, labels, strict=True):
        word = word or [UNK]
        starts.append(len(ids) + 1)
        ids += word
        spoken += ([label] + [IGNORED if every is None else every(label)] * len(word))[: len(word)]
    room = max_length - cut
    return {
        "input_ids": [CLS, *ids[:room], SEP],
        "labels": [IGNORED, *spoken[: None if keep else room], IGNORED],
        "starts": [start if start <= room else -1 for start in starts],
    }


def align_mistakes(*given):
    right = aligned(*given)
    pieces, labels, max_length = given
    room = max_length - 2
    starts = aligned(pieces, labels, 10**6)["starts"]
    whole = sum(s + max(1, len(word)) <= room + 1 for s, word in zip(starts, pieces, strict=True))
    shifted = [-1 if start < 0 else start - 1 for start in right["starts"]]
    last = [[IGNORED] * (len(word or [0]) - 1) + [label]
            for word, label in zip(pieces, labels, strict=True)]  # fmt: skip
    return {
        "the label stands on every piece: only the first one has it": {
            **right, "labels": aligned(*given, every=lambda label: label)["labels"]},
        "later pieces are labeled with the next number (I- for B-): they have IGNORED": {
            **right, "labels": aligned(*given, every=lambda label: label + label % 2)["labels"]},
        "later pieces have label 0, which is O: they have IGNORED": {
            **right, "labels": aligned(*given, every=lambda label: 0)["labels"]},
        "the label stands on the last piece": {
            **right, "labels": [IGNORED, *sum(last, [])[:room], IGNORED]},  # noqa: RUF017
        "a word with label 0 gets IGNORED: 0 is a label like every other": {
            **right, "labels": [label or IGNORED for label in right["labels"]]},
        "[CLS] and [SEP] have label 0, which is O: they have IGNORED": {
            **right, "labels": [0, *right["labels"][1:-1], 0]},
        "the pieces are cut to max_length before [CLS] and [SEP] are added": (
            aligned(*given, cut=0)),
        "max_length is not used: nothing is cut": aligned(*given, cut=-10**6),
        "too much is cut: max_length counts [CLS] and [SEP], and nothing else": (
            aligned(*given, cut=3)),
        "the labels are not cut with the ids": aligned(*given, keep=True),
        "the last token is not [SEP]: the cut must leave it": (
            lambda out: out["input_ids"][-1] != SEP),
        "a word without a piece vanishes: it is read as unk_id": (
            lambda out: not all(pieces) and UNK in right["input_ids"]
            and out["input_ids"][1:-1] == sum(pieces, [])[:room]),  # noqa: RUF017
        "starts does not count [CLS]": {**right, "starts": shifted},
        "words that were cut off are missing among the starts: theirs is -1": {
            **right, "starts": [start for start in right["starts"] if start >= 0]},
        "words that were cut off have a start beyond the end: theirs is -1": {
            **right, "starts": starts},
        "a word of which nothing fits has the place of [SEP] as its start: theirs is -1": {
            **right, "starts": [s if s <= room + 1 else -1 for s in starts]},
        "a word whose pieces do not all fit has no start: its first piece is there": {
            **right, "starts": [s if s + len(word) <= room + 1 else -1
                                for s, word in zip(starts, pieces, strict=True)]},
        "a word whose pieces do not all fit is left out: its first piece is enough": (
            aligned(pieces[:whole], labels[:whole], max_length)
            | {"starts": [*starts[:whole], *[-1] * (len(pieces) - whole)]}),
    }  # fmt: skip


@pytest.mark.hint(1)
@pytest.mark.weight(3)
def test_the_first_piece_of_a_word_has_its_label(student):
    for sizes in SIZES:
        for max_length in (50, 2 + sum(max(1, s) for s in sizes)):
            given = *sentence(sizes), max_length
            checks.same(
                student.align(*given[:2], cls_id=CLS, sep_id=SEP, unk_id=UNK,
                              max_length=max_length),
                aligned(*given), of="the aligned sentence", mistakes=lambda: align_mistakes(*given),
            )  # fmt: skip
    pieces, labels = sentence((2, 0, 1))
    for cls_id, sep_id, unk_id in ((1, 2, 3), (3, 0, 1), (0, 3, 2), (2, 1, 0)):
        out = student.align(
            pieces, labels, cls_id=cls_id, sep_id=sep_id, unk_id=unk_id, max_length=9
        )
        right = [cls_id, *pieces[0], unk_id, *pieces[2], sep_id]
        checks.same(out["input_ids"], right, of="the ids", mistakes={
            "cls_id, sep_id or unk_id is written into the function": lambda out: out[0] == CLS
            or out[-1] == SEP or UNK in out})  # fmt: skip
    pieces = [[7, 7], [7], [CLS, SEP], [7]]
    for labels in ([1, IGNORED, 0, 2], [IGNORED] * 4):
        checks.same(
            student.align(pieces, labels, cls_id=CLS, sep_id=SEP, unk_id=UNK, max_length=50),
            aligned(pieces, labels, 50),
            of=f"the sentence with the labels {labels}, whose words begin with the same piece",
            mistakes={
                "the starts are looked for among the labels: a word may have the label -100 too": (
                    lambda out, labels=labels: (
                        out["starts"] != [1, 3, 4, 6]
                        and all(out["labels"][s] != IGNORED for s in out["starts"] if s >= 0)
                    )
                ),
                "the starts are looked for among the ids: another piece may have the same id": (
                    lambda out: out["starts"] != [1, 3, 4, 6]
                ),
            },
        )
    checks.leaves_no_trace(student.align, pieces, [1, IGNORED, 0, 2], cls_id=1, sep_id=2, unk_id=3,
                           max_length=8)  # fmt: skip
    for first, last in ((CLS, SEP), (SEP, CLS), (UNK, UNK), (0, 0)):
        pieces = [[first], [5, first], [last]]  # the ids of [CLS], [SEP] and padding, at both ends
        for max_length in (9, 4, 3):
            given = pieces, [2, 0, 1], max_length
            checks.same(
                student.align(*given[:2], cls_id=CLS, sep_id=SEP, unk_id=UNK,
                              max_length=max_length),
                aligned(*given), of=f"the sentence of the pieces {pieces} cut to {max_length}",
                mistakes=lambda: align_mistakes(*given),
            )  # fmt: skip


def test_the_sentence_of_the_page_is_aligned_as_there(student):
    given = [[61, 62, 63], [70], [80]], [1, 0, 3], 6
    right = {
        "input_ids": [CLS, 61, 62, 63, 70, SEP],
        "labels": [IGNORED, 1, IGNORED, IGNORED, 0, IGNORED],
        "starts": [1, 4, -1],
    }
    checks.same(student.align(*given[:2], cls_id=CLS, sep_id=SEP, unk_id=UNK, max_length=6), right,
                of="the example of the page", mistakes=lambda: align_mistakes(*given))  # fmt: skip


@pytest.mark.hint(2)
@pytest.mark.weight(2)
def test_long_sentences_are_cut_and_keep_their_last_token(student):
    for max_length in (5, *range(2, 12)):  # first the one that tells mistakes apart best
        for sizes in SIZES:
            given = *sentence(sizes, seed=5), max_length
            checks.same(
                student.align(*given[:2], cls_id=CLS, sep_id=SEP, unk_id=UNK,
                              max_length=max_length),
                aligned(*given), of=f"the sentence cut to {max_length} tokens",
                mistakes=lambda: align_mistakes(*given),
            )  # fmt: skip


def best(logits, rows):
    return [NAMES[int(logits[row].argmax())] for row in rows]


@pytest.mark.hint(1)
@pytest.mark.weight(2)
def test_every_word_gets_the_tag_of_its_first_piece(student):
    rng = checks.rng(3)
    for starts, seq in [
        ([1, 2, 4, 5], 8),
        ([1, 4, -1, -1], 6),
        ([2], 3),
        ([1, 2, 3], 5),
        ([-1], 2),
        ([], 2),
    ]:
        # All scores may be negative; and so large, or small, that exp leaves the range of numbers.
        for dtype, shift in ((np.float32, -20), (np.float64, 0), (np.float64, 2000),
                             (np.float64, -2000)):  # fmt: skip
            logits = rng.normal(size=(seq, 7)).astype(dtype) + dtype(shift)
            logits[-1, 0], logits[0, 0] = shift - 5, shift - 5  # neither [CLS] nor [SEP] says O
            kept = [start for start in starts if start >= 0]
            right = [best(logits, [s])[0] if s >= 0 else "O" for s in starts]
            checks.same(
                student.tags_of_words(logits, starts, NAMES),
                right,
                of=f"the tags of words that start at {starts}",
                mistakes=lambda: {
                    "exp of the scores overflows, or is 0 for all: compare the scores themselves": (
                        lambda out, shift=shift: abs(shift) > 999 and set(out) <= {NAMES[0], "O"}
                    ),
                    "-1 is taken for an index: it reads [SEP]": best(logits, starts),
                    "words that were cut off have no tag: they are O": best(logits, kept),
                    "one token too early: starts counts [CLS] already": [
                        best(logits, [s - 1])[0] if s >= 0 else "O" for s in starts
                    ],
                    "one token too late: starts counts [CLS] already": (
                        lambda out, starts=starts, logits=logits: out == [
                            best(logits, [s + 1])[0] if s >= 0 else "O" for s in starts]
                    ),
                    "word i is read from token i: pieces are not words": (
                        best(logits, range(len(starts)))
                    ),
                    "word i is read from token i + 1: pieces are not words": (
                        lambda out, starts=starts, logits=logits: out == best(
                            logits, range(1, len(starts) + 1))
                    ),
                    "numbers, not names": lambda out: not all(tag in NAMES for tag in out),
                    "scores below 0 are never the best": lambda out, shift=shift: (
                        shift < 0 and out == ["O"] * len(out)),
                    "the lowest score is taken, not the highest": [
                        NAMES[int(logits[s].argmin())] if s >= 0 else "O" for s in starts
                    ],
                },
            )  # fmt: skip
    long = ["O", "B-organization/" + "x" * 60, "I-organization/" + "y" * 60]
    checks.same(student.tags_of_words(np.eye(3), [0, 1, 2, -1], long), [*long, "O"],
                of="the tags, of long names")  # fmt: skip
    checks.same(student.tags_of_words(np.eye(3)[:2], [0, 1], ["X", " Y", "Z"]), ["X", " Y"],
                of="the tags, of labels X, ' Y' and Z")  # fmt: skip
    shared = np.array([[2, 1, 0, 9, 3], [9, 5, 0, 1, 2], [0, 8, 4, 5, 7], [4, 5, 0, 3, 3.0]])
    checks.same(
        student.tags_of_words(shared, [0, 1, 2, 3], ["O", "B-PER", "I-PER", "O", "O"]),
        ["O", "O", "B-PER", "B-PER"],
        of="the tags, where three labels have the name O",
        mistakes={"of labels that have the same name, not each counts by itself": lambda out: True},
    )
    checks.leaves_no_trace(student.tags_of_words, logits, [0, -1, 1], NAMES)


def wrong_entities(tags, *, same=str.__eq__, loose=True, merge=False, closed=True):
    """What common programs make of tags: some compare no types, some drop an I- without a B-."""
    found, current = [], None
    for place, tag in enumerate([*tags, "O"]):
        prefix, _, kind = tag.partition("-")
        goes_on = current is not None and (prefix == "I" or (merge and prefix == "B"))
        goes_on = goes_on and same(current[0], kind)
        if not goes_on:
            if current is not None and (closed or place < len(tags)):
                found.append((*current, place))
            current = (kind, place) if prefix == "B" or (prefix == "I" and loose) else None
    return found


def places(names):
    return [name[1:] for name in names]


def entity_mistakes(tags):
    right = metrics.entities(tags)
    return {
        "an I- that does not go on with a name is dropped: it begins one": (
            wrong_entities(tags, loose=False)),
        "the types are not compared: an I- of another type begins a name": (
            wrong_entities(tags, same=lambda a, b: True)),
        "the types are not compared, and an I- after O is dropped": (
            wrong_entities(tags, same=lambda a, b: True, loose=False)),
        "types are compared in part: ORG-COMPANY is neither ORG nor COMPANY": lambda out: any(
            places(right) != places(out) == places(wrong_entities(tags, same=same)) for same in (
                str.startswith, str.endswith, str.__contains__, lambda a, b: b.startswith(a),
                lambda a, b: b.endswith(a), lambda a, b: a in b)),
        "a tag that ends in O is not O: only the tag O is outside": [
            name for name in right if not tags[name[1]].endswith("O")],
        "B- right after a name of its type begins a new one": wrong_entities(tags, merge=True),
        "a name that reaches the end of the sentence is lost": wrong_entities(tags, closed=False),
        "the end is the last word: it should be one past it": [
            (kind, first, end - 1) for kind, first, end in right],
        "places are counted from 1": [(k, first + 1, end + 1) for k, first, end in right],
        "each word is a name of its own": [
            (tag.partition("-")[2], i, i + 1) for i, tag in enumerate(tags) if tag != "O"],
        "a type with a hyphen is cut: B-ORG-COMPANY has the type ORG-COMPANY": (
            lambda out: any(e[0] == "ORG-COMPANY" for e in right)
            and all(e[0] != "ORG-COMPANY" for e in out)),
        "a name goes on over an O in between": lambda out: any(
            "O" in tags[first : end - 1] for _, first, end in out),
        "the case of a type is changed: it is given as it stands in the tag": (
            metrics.entities([tag.upper() for tag in tags])),
        "an I- that does not go on with a name is lost, or added to another one": lambda out: (
            {first for _, first, _ in out} < {first for _, first, _ in right}
            and all(tags[place].startswith("I-") for place in
                    {first for _, first, _ in right} - {first for _, first, _ in out})),
    }  # fmt: skip


CASES = [
    ["B-PER", "I-PER", "O", "B-LOC"],
    ["O", "O"],
    [],
    ["B-PER", "B-PER", "I-PER", "O"],
    ["O", "I-LOC", "I-LOC", "O", "I-PER"],
    ["B-PER", "I-LOC", "I-LOC"],
    ["B-LOC", "O", "I-LOC"],
    ["I-PER", "B-PER", "O", "B-ORG-COMPANY", "I-ORG-COMPANY", "I-ORG-COMPANY"],
    ["B-LOC", "I-LOC", "B-LOC", "I-PER", "I-LOC"],
    ["B-ORG-COMPANY", "I-COMPANY", "B-ORG", "I-ORG-COMPANY", "B-COMPANY", "I-ORG-COMPANY"],
    ["B-ORG-COMPANY", "I-ORG", "I-COMPANY", "O", "I-ORG-COMPANY", "I-ORG"],
    ["B-per", "I-per", "I-PER", "B-PER", "I-per", "O", "B-Per"],
    ["B-GEO", "I-GEO", "O", "I-GEO", "I-O", "I-I", "B-B", "I-B"],
]


def test_o_is_any_of_the_names_or_none(student):
    logits = np.array([[9.0, 0, 0], [0, 5, 1], [1, 0, 5], [0, 9, 0]])
    for names in (["B-PER", "O", "I-PER"], ["B-PER", "I-PER", "B-LOC"]):
        checks.same(
            student.tags_of_words(logits, [1, -1, 2, -1], names), [names[1], "O", names[2], "O"],
            of=f"the tags of words, two of which were cut off, for the names {names}", mistakes={
                "a word that was cut off gets the name of label 0: its tag is O": [
                    names[1], names[0], names[2], names[0]]},
        )  # fmt: skip
    close = np.array([[1.0, 1 + 1e-9, 1 - 1e-9]])
    checks.same(student.tags_of_words(close, [0], NAMES[:3]), [NAMES[1]],
                of="the tag of a word whose scores are nearly equal")  # fmt: skip
    inf = np.inf  # as where labels are ruled out, or scores leave the range of numbers
    for row, best_label, dtype in (
        ([-inf, -inf, 0], 2, np.float64), ([0, inf, 1e308], 1, np.float64),
        ([-inf, -1e308, -inf], 1, np.float64), ([-1e308, 1.7e308, 1.6e308], 1, np.float64),
        ([6e4, 6.1e4, 6.2e4], 2, np.float16),
    ):  # fmt: skip
        checks.same(
            student.tags_of_words(np.array([row], dtype), [0], NAMES[:3]), [NAMES[best_label]],
            of=f"the tag of a word with the scores {row} in {dtype.__name__}",
            mistakes={"sums, products or differences of the scores leave the range of numbers: "
                      "compare the scores themselves": lambda out: True},
        )  # fmt: skip


@pytest.mark.hint(3)
@pytest.mark.weight(3)
def test_names_are_read_from_tags_as_conlleval_does(student):
    rng = checks.rng(3)
    drawn = [rng.choice(NAMES, size).tolist() for size in (1, 2, 3, 4, 5, 6, 7, 30, 30, 30)]
    for tags in CASES + drawn:
        checks.same(
            student.entities(tags), metrics.entities(tags), of="the names",
            mistakes=lambda: entity_mistakes(tags),
        )  # fmt: skip
    for kind in ("event-attack/battle", "a b.c:d", "O", "B-", "x" * 40, "Ärzte", "名", "I-I", "1",
                 *(f"A{mark}B" for mark in string.punctuation), string.punctuation):  # fmt: skip
        tags = ["O", f"B-{kind}", f"I-{kind}", f"I-{kind}2", f"B-{kind}"]
        checks.same(student.entities(tags), [(kind, 1, 3), (f"{kind}2", 3, 4), (kind, 4, 5)],
                    of=f"the names of type {kind!r}")  # fmt: skip
    for tags, right in [(["B-PER", "I-PER", "O", "B-LOC"], [("PER", 0, 2), ("LOC", 3, 4)]),
                        (["B-PER", "B-PER"], [("PER", 0, 1), ("PER", 1, 2)]),
                        (["O", "I-LOC", "I-PER"], [("LOC", 1, 2), ("PER", 2, 3)])]:  # fmt: skip
        checks.same(student.entities(tags), right, of="the names of an example of the page",
                    mistakes=lambda: entity_mistakes(tags))  # fmt: skip
    checks.leaves_no_trace(student.entities, CASES[0])


def scores(found, said, there):
    return {
        "precision": found / said if said else 0.0,
        "recall": found / there if there else 0.0,
        "f1": 2 * found / (said + there) if said + there else 0.0,
    }


def counts(right, predicted, key=lambda i, entity: (i, *entity)):
    there, said = ({key(i, e) for i, tags in enumerate(side) for e in metrics.entities(tags)}
                   for side in (right, predicted))  # fmt: skip
    return len(there & said), len(said), len(there)


def score_mistakes(right, predicted):
    found, said, there = counts(right, predicted)
    each = [scores(*counts([r], [p])) for r, p in zip(right, predicted, strict=True)]
    flat = [(r, p) for rs, ps in zip(right, predicted, strict=True)
            for r, p in zip(rs, ps, strict=True)]  # fmt: skip
    tags = scores(sum(r == p != "O" for r, p in flat), sum(p != "O" for _, p in flat),
                  sum(r != "O" for r, _ in flat))  # fmt: skip
    share = sum(r == p for r, p in flat) / max(1, len(flat))
    right_scores = scores(found, said, there)
    types = {tag.partition("-")[2] for r, p in zip(right, predicted, strict=True)
             for tag in (*r, *p)} - {""}  # fmt: skip

    def only(sentences, kind):
        return [[tag if tag.endswith(kind) else "O" for tag in tags] for tags in sentences]

    by_type = [scores(*counts(only(right, k), only(predicted, k))) for k in types]
    wrong = {
        "the mean over sentences: count all names first, then divide once": {
            name: float(np.mean([s[name] for s in each])) for name in right_scores} if each else {},
        "the mean over types: count all names first, then divide once": {
            name: float(np.mean([s[name] for s in by_type])) for name in right_scores}
            if by_type else {},
        "single tags are compared: a name counts if all of it is right": tags,
        "the share of tags that are right (accuracy): most are O": dict.fromkeys(
            right_scores, share),
        "precision and recall are exchanged": {
            **right_scores, "precision": right_scores["recall"],
            "recall": right_scores["precision"]},
        "types are not compared": scores(*counts(right, predicted, lambda i, e: (i, *e[1:]))),
        "the end of a name is not compared": scores(
            *counts(right, predicted, lambda i, e: (i, *e[:2]))),
        "the start of a name is not compared": scores(
            *counts(right, predicted, lambda i, e: (i, e[0], e[2]))),
        "a name is found in another sentence: compare each with its own": scores(
            *counts(right, predicted, lambda i, e: e)),
        "F1 is the plain mean of precision and recall: it is the harmonic one": {
            **right_scores, "f1": (right_scores["precision"] + right_scores["recall"]) / 2},
        "the sentences are put end to end: no name goes on into the next sentence": scores(
            *counts([sum(right, [])], [sum(predicted, [])])),  # noqa: RUF017
        "the precision is 0 where nothing is predicted, not 1": (
            {**right_scores, "precision": 1.0} if not said else {}),
        "the recall is 0 where there is nothing to find, not 1": (
            {**right_scores, "recall": 1.0} if not there else {}),
        "times 100: scores lie between 0 and 1": {n: 100 * s for n, s in right_scores.items()},
        "nothing to find and nothing said is 0 here, as in seqeval, not 1": dict.fromkeys(
            right_scores, 1.0) if said + there == 0 else {},
    }  # fmt: skip
    return {name: value for name, value in wrong.items() if value}


@pytest.mark.weight(3)
def test_f1_counts_whole_names_over_all_sentences(student):
    rng = checks.rng(3)
    right = [["B-PER", "I-PER", "O", "B-LOC"], ["B-LOC", "O", "O"],
             ["B-PER", "I-PER", "I-PER", "O", "B-PER"]]  # fmt: skip
    said = [["B-PER", "I-PER", "O", "B-PER"], ["B-LOC", "I-LOC", "O"],
            ["B-PER", "I-PER", "O", "O", "B-PER"]]  # fmt: skip
    shares = [0.6, 0.1, 0.1, 0.08, 0.04, 0.04, 0.04]
    many = [rng.choice(NAMES, n, p=shares).tolist() for n in rng.integers(1, 15, 40)]
    guess = [[t if rng.random() < 0.7 else str(rng.choice(NAMES, p=shares)) for t in tags]
             for tags in many]  # fmt: skip
    short = [rng.choice(["O", "B-PER", "I-PER"], n).tolist() for n in rng.integers(0, 4, 60)]
    near = [[t if rng.random() < 0.8 else "B-PER" for t in tags] for tags in short]
    book, draft = ([[t, "O"] for t in rng.choice(["O", "B-PER"], 700).tolist()] for _ in range(2))
    nothing = [["O", "O"]]
    for pair in [(many, guess), (right, said), (many, many), (nothing, nothing), ([], []),
                 (nothing, [["B-PER", "O"]]), ([["O", "B-LOC"]], nothing),
                 ([["B-PER", "O"], ["O", "O"]], [["O", "O"], ["B-PER", "O"]]), (short, near),
                 ([["O", "B-PER"], ["I-PER", "O"]], [["O", "B-PER"], ["B-PER", "O"]]),
                 ([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "I-PER", "O", "B-PER"]]),
                 (book, draft),
                 ]:  # fmt: skip
        official = metrics.entity_scores(*pair)[0]
        checks.same(
            student.entity_scores(*pair),
            {name: getattr(official, name) for name in ("precision", "recall", "f1")},
            of=f"the scores of {len(pair[0])} sentences",
            mistakes=lambda: (
                score_mistakes(*pair)
                | {
                    "names of different sentences are taken for one in a long list": (
                        lambda out, pair=pair: len(pair[0]) > 500
                    )
                }
            ),
        )
    # With equal sentences, which are one object in some of the calls, beside unequal ones.
    checks.leaves_no_trace(student.entity_scores, [*right, right[0], ["O", "O", "O", "B-PER"]],
                           [*said, ["O", "O", "O", "B-LOC"], said[0]])  # fmt: skip
    # One of the two lists held other sentences before, beside another one.
    for pair, other in (((right, said), (right, right)), ((said, right), (right, right)),
                        ((nothing, nothing), (right, right))):  # fmt: skip
        official = metrics.entity_scores(*pair)[0]
        checks.same(
            student.entity_scores.trace(*pair, before=("entity_scores", other, {})).value,
            {name: getattr(official, name) for name in ("precision", "recall", "f1")},
            of="the scores, after a call in which a list held its sentences in another order",
            mistakes={
                "the names of a list are kept, and found again by the list, not by what it holds": (
                    lambda out: True
                )
            },
        )


def test_sentences_of_any_length(student):
    rng = checks.rng(11)

    def sentences_of():
        for number in range(30):
            words = (
                int(rng.choice([0, 1, 2, 5, 30])) if number < 26 else (400, 3, 700, 60)[number - 26]
            )
            # Ids that repeat, or that are those of [CLS] and [SEP], or large.
            largest = int(rng.choice([2, 110, 2**40]))
            pieces = [
                rng.integers(0, largest, int(rng.choice([0, 1, 1, 2, 7]))).tolist()
                for _ in range(words)
            ]
            if number == 27:
                pieces[1] = list(range(2_000))
            labels = rng.choice([IGNORED, -1, 0, 1, 70_000], words).tolist()
            tokens = sum(len(p) or 1 for p in pieces) + 2
            for longest in {
                2,
                3,
                max(2, tokens - 1),
                tokens,
                tokens + 9,
                int(rng.integers(2, tokens + 5)),
            }:
                yield sweep.Case(
                    f"{words} words of {tokens - 2} pieces, max_length {longest}",
                    (pieces, labels),
                    {"cls_id": CLS, "sep_id": SEP, "unk_id": UNK, "max_length": longest},
                )

    sweep.agrees(
        student.align,
        lambda pieces, labels, max_length, **ids: aligned(pieces, labels, max_length),
        sentences_of(),
    )

    def scored():
        for tokens, labels, words in (
            (1, 1, 1),
            (9, 2, 4),
            (2_000, 3, 300),
            (5, 701, 4),
            (40, 7, 60),
        ):
            for scale in (1e-30, 1e5, 1e300):
                for shift in (0.0, -3 * scale):
                    logits = (rng.normal(size=(tokens, labels)) + shift / scale) * scale
                    starts = rng.integers(-1, tokens, words).tolist()
                    share = 2 if shift else 1  # labels of a name
                    names = [f"L-{i // share}" for i in range(labels)]
                    yield sweep.Case(
                        f"{tokens} tokens, {labels} labels, scores near {scale:g}"
                        + ", two of a name" * (share - 1),
                        (logits, starts, names),
                    )

    def right_tags(logits, starts, names):
        return [names[int(logits[s].argmax())] if s >= 0 else "O" for s in starts]

    sweep.agrees(student.tags_of_words, right_tags, scored())
    checks.same(
        student.tags_of_words(np.eye(len(NEAR)), [*range(len(NEAR)), 0], NEAR), [*NEAR, NEAR[0]],
        of="the tags of words whose labels have names that are nearly the same",
    )  # fmt: skip
    kinds = [*KINDS, *(f"T{i}" for i in range(300))]

    def tags_of(words, types):
        known = ["O", *(f"{p}-{k}" for k in kinds[:types] for p in "BI")]
        return [str(tag) for tag in rng.choice(known, words)]

    def tagged():
        for words, types in (
            *((int(rng.integers(0, 12)), 2) for _ in range(60)),
            (2_000, 2),
            (300, 7),
            (900, 300),
            (400, 1),
        ):
            yield sweep.Case(f"{words} tags of {types} types", (tags_of(words, types),))
        yield sweep.Case("a name of 3,000 words", (["B-PER", *["I-PER"] * 2_999],))
        pairs = itertools.product(NEAR, NEAR)
        tags = [tag for one, other in pairs for tag in (f"B-{one}", f"I-{other}")]
        yield sweep.Case("types that are nearly the same", (tags,))

    sweep.agrees(student.entities, metrics.entities, tagged())

    def compared():
        for count, words, types in (
            (3, 5, 1),
            (60, 4, 2),
            (1_500, 1, 2),
            (2, 700, 3),
            (100, 6, 300),
        ):
            right = [tags_of(int(rng.integers(0, words + 1)), types) for _ in range(count)]
            said = [
                [t if rng.random() < 0.8 else tags_of(1, types)[0] for t in tags] for tags in right
            ]
            for tags in (right, said):  # a name of 500 words in the middle, found
                tags.insert(1, ["O", "B-PER", *["I-PER"] * 499, "O"])
            yield sweep.Case(
                f"{count} sentences of up to {words} words, {types} types", (right, said)
            )

        long, short = ["O", "B-PER", *["I-PER"] * 110], [*"O" * 11, "B-PER", *"O" * 100]
        yield sweep.Case("names from 1 to 112 and from 11 to 12", ([long], [short]))
        longer = [*long, *["I-PER"] * 9]
        yield sweep.Case("names from 1 to 121 and from 11 to 12", ([longer], [[*short, *"O" * 9]]))
        far = [[*(1_200 * ["O"]), "B-LOC"] for _ in range(2)]
        for tags, places in zip(
            far, ([3], [103, 131, 203, 259, 503, 515, 1_003, 1_027]), strict=True
        ):
            for place in places:
                tags[place] = "B-PER"
        yield sweep.Case("names that are 100 to 1,024 words apart", ([far[0]], [far[1]]))
        # Each place of the one less each of the other: all numbers from 1 to 10,000.
        one, other = ["O", *[*"O" * 99, "B-PER"] * 100], ["B-PER"] * 100
        pair = [one, ["O"] * len(other)], [["O"] * len(one), other]
        yield sweep.Case("names in the other sentence, at places of any distance", pair)
        right, said = ([["O"] * 40 for _ in range(116)] for _ in range(2))
        for names in JOINED:
            for tags, (number, first, end, kind) in zip((right, said), names, strict=True):
                tags[number][first:end] = [f"B-{kind}", *[f"I-{kind}"] * (end - first - 1)]
        yield sweep.Case("names that are the same as texts without gaps", (right, said))
        right, said = zip(
            *itertools.product(([f"B-{kind}"] for kind in NEAR), repeat=2), strict=True
        )
        yield sweep.Case("types that are nearly the same", ([*right], [*said]))
        # Precision and recall of 1 / 4,000: whatever is added to P + R shows.
        yield sweep.Case("one name of 4,000 that is found", (
            [["B-PER"] * 4_000], [["B-PER", *["B-LOC"] * 3_999]]))  # fmt: skip

    def official(right, said):
        found = metrics.entity_scores(right, said)[0]
        return {name: getattr(found, name) for name in ("precision", "recall", "f1")}

    sweep.agrees(student.entity_scores, official, compared())
    checks.same(
        student.entity_scores([["B-PER"] * 100] * 330,
                              [["B-PER"] * 100] * 329 + [["B-PER"] * 99 + ["O"]]),
        scores(32_999, 32_999, 33_000),
        of="the scores where 32,999 of 33,000 names are found",
        mistakes={"more names than 16 bits can count": lambda out: True},
    )  # fmt: skip
    # Now that every function has read short, long and empty sentences.
    checks.leaves_no_trace(student.align, [[]], [1], cls_id=CLS, sep_id=SEP, unk_id=UNK,
                           max_length=5)  # fmt: skip
    checks.leaves_no_trace(student.tags_of_words, np.eye(3), [-1], NAMES[:3])
    checks.leaves_no_trace(student.entities, ["O"])
    checks.leaves_no_trace(student.entity_scores, [["O"]], [["B-PER"]])
