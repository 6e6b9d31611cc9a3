"""Names: labels on first pieces, back from pieces to words, and the F1 of whole names."""

import numpy as np
import pytest

from autograder import checks
from bert_finetuning import metrics

CLS, SEP, UNK, IGNORED = 101, 102, 100, -100
NAMES = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG-COMPANY", "I-ORG-COMPANY"]
SIZES = [(1, 3, 1, 2), (2,), (1, 1, 1), (4, 0, 1, 0, 2), (0, 0), (3, 5, 2, 1, 1, 4)]


def sentence(sizes, seed=3):
    """Pieces of words with so many each, and a label for each word."""
    rng = np.random.default_rng(seed + len(sizes))
    pieces = [rng.integers(200, 900, size).tolist() for size in sizes]
    return pieces, rng.integers(1, 7, len(sizes)).tolist()


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
    shifted = [-1 if start < 0 else start - 1 for start in right["starts"]]
    last = [[IGNORED] * (len(word or [0]) - 1) + [label]
            for word, label in zip(pieces, labels, strict=True)]  # fmt: skip
    return {
        "the label stands on every piece: only the first one has it": {
            **right, "labels": aligned(*given, every=lambda label: label)["labels"]},
        "later pieces are labelled with the next number (I- for B-): they have IGNORED": {
            **right, "labels": aligned(*given, every=lambda label: label + label % 2)["labels"]},
        "later pieces have label 0, which is O: they have IGNORED": {
            **right, "labels": aligned(*given, every=lambda label: 0)["labels"]},
        "the label stands on the last piece": {
            **right, "labels": [IGNORED, *sum(last, [])[:room], IGNORED]},  # noqa: RUF017
        "[CLS] and [SEP] have label 0, which is O: they have IGNORED": {
            **right, "labels": [0, *right["labels"][1:-1], 0]},
        "the pieces are cut to max_length before [CLS] and [SEP] are added": (
            aligned(*given, cut=0)),
        "max_length is not used: nothing is cut": aligned(*given, cut=-10**6),
        "the labels are not cut with the ids": aligned(*given, keep=True),
        "the cut takes [SEP] away": (
            lambda out: out["input_ids"][-1] != SEP or out["labels"][-1] != IGNORED),
        "a word without a piece vanishes: it is read as unk_id": (
            lambda out: out["input_ids"].count(UNK) < right["input_ids"].count(UNK)),
        "starts does not count [CLS]": {**right, "starts": shifted},
        "words that were cut off are missing among the starts: theirs is -1": {
            **right, "starts": [start for start in right["starts"] if start >= 0]},
        "words that were cut off have a start beyond the end: theirs is -1": {
            **right, "starts": aligned(pieces, labels, 10**6)["starts"]},
        "a word whose pieces do not all fit is left out: its first piece is enough": (
            lambda out: len(out["input_ids"]) < len(right["input_ids"]) == max_length),
    }  # fmt: skip


@pytest.mark.weight(3)
def test_the_first_piece_of_a_word_has_its_label(student):
    for sizes in SIZES:
        for max_length in (50, 2 + sum(max(1, s) for s in sizes)):
            given = *sentence(sizes), max_length
            checks.same(
                student.align(*given[:2], cls_id=CLS, sep_id=SEP, unk_id=UNK,
                              max_length=max_length),
                aligned(*given), of="the aligned sentence", mistakes=align_mistakes(*given),
            )  # fmt: skip
    pieces, labels = sentence((2, 0, 1))
    out = student.align(pieces, labels, cls_id=1, sep_id=2, unk_id=3, max_length=9)
    checks.same(out["input_ids"], [1, *pieces[0], 3, *pieces[2], 2], of="the ids", mistakes={
        "cls_id, sep_id or unk_id is written into the function": lambda out: out[0] == 101
        or out[-1] == 102 or 100 in out})  # fmt: skip
    checks.leaves_no_trace(student.align, pieces, labels, cls_id=1, sep_id=2, unk_id=3,
                           max_length=4)  # fmt: skip


@pytest.mark.weight(2)
def test_long_sentences_are_cut_and_keep_their_last_token(student):
    for sizes in SIZES:
        for max_length in range(3, 12):
            given = *sentence(sizes, seed=5), max_length
            checks.same(
                student.align(*given[:2], cls_id=CLS, sep_id=SEP, unk_id=UNK,
                              max_length=max_length),
                aligned(*given), of=f"the sentence cut to {max_length} tokens",
                mistakes=align_mistakes(*given),
            )  # fmt: skip


def best(logits, rows):
    return [NAMES[int(logits[row].argmax())] for row in rows]


@pytest.mark.weight(2)
def test_every_word_gets_the_tag_of_its_first_piece(student):
    rng = np.random.default_rng(3)
    for starts, seq in [
        ([1, 2, 4, 5], 8),
        ([1, 4, -1, -1], 6),
        ([2], 3),
        ([1, 2, 3], 5),
        ([-1], 2),
    ]:
        for dtype in (np.float32, np.float64):
            logits = rng.normal(size=(seq, 7)).astype(dtype)
            logits[-1, 0], logits[0, 0] = -5, -5  # neither [CLS] nor [SEP] says O
            kept = [start for start in starts if start >= 0]
            right = [best(logits, [s])[0] if s >= 0 else "O" for s in starts]
            checks.same(
                student.tags_of_words(logits, starts, NAMES),
                right,
                of=f"the tags of words that start at {starts}",
                mistakes={
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
                    "the lowest score is taken, not the highest": [
                        NAMES[int(logits[s].argmin())] if s >= 0 else "O" for s in starts
                    ],
                },
            )  # fmt: skip
    checks.same(student.tags_of_words(np.eye(3)[:2], [0, 1], ["X", "Y", "Z"]), ["X", "Y"],
                of="the tags, of labels X, Y and Z")  # fmt: skip
    checks.leaves_no_trace(student.tags_of_words, logits, [-1], NAMES)


def wrong_entities(tags, *, types=True, loose=True, merge=False, closed=True):
    """What common programs make of tags: some compare no types, some drop an I- without a B-."""
    found, current = [], None
    for place, tag in enumerate([*tags, "O"]):
        prefix, _, kind = tag.partition("-")
        goes_on = current is not None and (prefix == "I" or (merge and prefix == "B"))
        if goes_on and types:
            goes_on = kind == current[0]
        if not goes_on:
            if current is not None and (closed or place < len(tags)):
                found.append((*current, place))
            current = (kind, place) if prefix == "B" or (prefix == "I" and loose) else None
    return found


def entity_mistakes(tags):
    right = metrics.entities(tags)
    return {
        "an I- that does not go on with a name is dropped: it begins one": (
            wrong_entities(tags, loose=False)),
        "the types are not compared: an I- of another type begins a name": (
            wrong_entities(tags, types=False)),
        "the types are not compared, and an I- after O is dropped": (
            wrong_entities(tags, types=False, loose=False)),
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
            "O" in tags[first:end] for _, first, end in out),
        "an I- that does not go on with a name is lost, or added to another one": (
            lambda out: len(out) < len(right)),
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
]


@pytest.mark.weight(3)
def test_names_are_read_from_tags_as_conlleval_does(student):
    rng = np.random.default_rng(3)
    drawn = [rng.choice(NAMES, size).tolist() for size in (1, 2, 3, 4, 5, 6, 7, 30, 30, 30)]
    for tags in CASES + drawn:
        checks.same(
            student.entities(tags), metrics.entities(tags), of=f"the names in {tags}",
            mistakes=entity_mistakes(tags),
        )  # fmt: skip
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
        "times 100: scores lie between 0 and 1": {n: 100 * s for n, s in right_scores.items()},
        "nothing to find and nothing said is 0 here, as in seqeval, not 1": dict.fromkeys(
            right_scores, 1.0) if said + there == 0 else {},
    }  # fmt: skip
    return {name: value for name, value in wrong.items() if value}


@pytest.mark.weight(3)
def test_f1_counts_whole_names_over_all_sentences(student):
    rng = np.random.default_rng(3)
    right = [["B-PER", "I-PER", "O", "B-LOC"], ["B-LOC", "O", "O"],
             ["B-PER", "I-PER", "I-PER", "O", "B-PER"]]  # fmt: skip
    said = [["B-PER", "I-PER", "O", "B-PER"], ["B-LOC", "I-LOC", "O"],
            ["B-PER", "I-PER", "O", "O", "B-PER"]]  # fmt: skip
    shares = [0.6, 0.1, 0.1, 0.08, 0.04, 0.04, 0.04]
    many = [rng.choice(NAMES, n, p=shares).tolist() for n in rng.integers(1, 15, 40)]
    guess = [[t if rng.random() < 0.7 else str(rng.choice(NAMES, p=shares)) for t in tags]
             for tags in many]  # fmt: skip
    nothing = [["O", "O"]]
    for pair in [(right, said), (many, guess), (many, many), (nothing, nothing), ([], []),
                 (nothing, [["B-PER", "O"]]), ([["O", "B-LOC"]], nothing),
                 ([["B-PER", "O"], ["O", "O"]], [["O", "O"], ["B-PER", "O"]])]:  # fmt: skip
        official = metrics.entity_scores(*pair)[0]
        checks.same(
            student.entity_scores(*pair),
            {name: getattr(official, name) for name in ("precision", "recall", "f1")},
            of=f"the scores of {len(pair[0])} sentences",
            mistakes=score_mistakes(*pair),
        )
    checks.leaves_no_trace(student.entity_scores, right, said)
