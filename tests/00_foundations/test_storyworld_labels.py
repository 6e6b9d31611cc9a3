"""The labels of StoryWorld are true, as far as counting can show."""

import re
from collections import Counter, defaultdict

import pytest

from bert_corpus.storyworld import Story, stories

WORD = re.compile(r"[A-Za-z]+")


@pytest.fixture(scope="module")
def documents() -> list[Story]:
    return list(stories(4_000))


class Sides:
    """How often each word stands between what is left and what is right of it in a sentence."""

    def __init__(self, documents: list[Story]):
        self.places: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for document in documents:
            for sentence in document.sentences:
                for mark in sentence.marks:
                    text = sentence.text.lower()
                    self.places[mark.settled_by].add((text[: mark.start], text[mark.end :]))
        marked = set().union(*self.places.values())
        lefts, rights = {left for left, _ in marked}, {right for _, right in marked}
        self.left, self.right, self.both = (defaultdict(Counter) for _ in range(3))
        for document in documents:
            for sentence in document.sentences:
                text = sentence.text.lower()
                for match in WORD.finditer(text):  # every word, labeled or not, is evidence
                    left, word, right = text[: match.start()], match[0], text[match.end() :]
                    if left in lefts:
                        self.left[left][word] += 1
                    if right in rights:
                        self.right[right][word] += 1
                    if (left, right) in marked:
                        self.both[left, right][word] += 1

    def majority(self, settled_by: str, side: str, at_least: int = 2) -> float:
        """The share of the commonest word, over places seen more than once."""
        table = getattr(self, side)
        part = {"left": lambda p: p[0], "right": lambda p: p[1], "both": lambda p: p}[side]
        counts = [table[key] for key in {part(place) for place in self.places[settled_by]}]
        counts = [count for count in counts if count.total() >= at_least]
        assert sum(count.total() for count in counts) > 800, "too little evidence"
        return sum(max(count.values()) for count in counts) / sum(c.total() for c in counts)


@pytest.fixture(scope="module")
def sides(documents) -> Sides:
    return Sides(documents)


def test_marks_lie_on_whole_single_words_in_order(documents):
    for document in documents:
        for sentence in document.sentences:
            last = 0
            for mark in sentence.marks:
                assert mark.start >= last
                last = mark.end
                assert WORD.fullmatch(sentence.text[mark.start : mark.end]), sentence
                around = sentence.text[max(mark.start - 1, 0) : mark.end + 1]
                assert len(WORD.findall(around)) == 1, sentence
                assert mark.settled_by in ("left", "right", "both", "other", None)
                assert mark.settled_by or mark.sense


def test_no_trace_of_the_label_notation_stays_in_the_text(documents):
    assert not any(set("<>={}[]|") & set(document.text) for document in documents)


def test_a_word_settled_by_a_side_has_words_on_that_side(documents):
    for document in documents:
        for sentence in document.sentences:
            for mark in sentence.marks:
                left, right = sentence.text[: mark.start], sentence.text[mark.end :]
                if mark.settled_by in ("left", "both"):
                    assert WORD.search(left), sentence
                if mark.settled_by in ("right", "both"):
                    assert len(WORD.findall(right)) >= 2 or mark.settled_by == "both", sentence


def test_every_document_has_words_settled_within_and_across_sentences(documents):
    settled = Counter()
    for document in documents:
        here = Counter(m.settled_by for s in document.sentences for m in s.marks)
        settled.update(here)
        assert 2 <= here["other"] <= 18, document
        assert here["left"] + here["right"] + here["both"] >= 1, document
    count = len(documents)
    assert 4 <= settled["other"] / count <= 10
    assert (settled["left"] + settled["right"] + settled["both"]) / count >= 5.5
    assert settled["right"] / count >= 0.6
    assert settled["both"] / count >= 0.5


def test_what_is_left_settles_the_words_that_are_labeled_left(sides):
    assert sides.majority("left", "left") >= 0.985


def test_what_is_right_settles_the_words_that_are_labeled_right(sides):
    assert sides.majority("right", "right") >= 0.99


def test_only_both_sides_settle_the_words_that_are_labeled_both(sides):
    assert sides.majority("both", "both") >= 0.99
    assert sides.majority("both", "left", at_least=5) < 0.65
    assert sides.majority("both", "right", at_least=5) < 0.65


def test_its_own_sentence_does_not_settle_a_word_that_is_labeled_other(sides):
    assert sides.majority("other", "both", at_least=5) < 0.4


def test_a_word_labeled_other_is_said_in_another_sentence_or_follows_from_one(documents):
    copied, inferred = 0, Counter()
    for document in documents:
        texts = [set(WORD.findall(sentence.text.lower())) for sentence in document.sentences]
        for number, sentence in enumerate(document.sentences):
            for mark in sentence.marks:
                if mark.settled_by != "other":
                    continue
                word = sentence.text[mark.start : mark.end].lower()
                if any(word in text for place, text in enumerate(texts) if place != number):
                    copied += 1
                else:
                    inferred[document.kind] += 1
    assert copied > 5 * inferred.total()
    # rain and the umbrella, a job and the basket, an illness and where it hurts
    assert set(inferred) == {"weather_diary", "working_day", "doctor_visit"}


def test_a_word_of_two_senses_has_both_and_the_crane_is_frequent(documents):
    seen = Counter()
    contexts = defaultdict(set)
    for document in documents:
        found = {m.sense for s in document.sentences for m in s.marks if m.sense}
        seen.update(found)
        for sentence in document.sentences:
            for mark in sentence.marks:
                if mark.sense:
                    assert mark.sense.split(":")[0] == sentence.text[mark.start : mark.end].lower()
                    contexts[mark.sense].add(sentence.text[max(mark.start - 12, 0) : mark.start])
    senses = defaultdict(set)
    for sense in seen:
        senses[sense.split(":")[0]].add(sense)
    assert {"crane", "bank", "bat"} <= set(senses) and len(senses) >= 6
    assert all(len(both) == 2 for both in senses.values())
    assert min(seen["crane:bird"], seen["crane:machine"]) > 0.02 * len(documents)
    assert min(seen.values()) > 0.005 * len(documents)
    assert min(len(contexts["crane:bird"]), len(contexts["crane:machine"])) >= 6
