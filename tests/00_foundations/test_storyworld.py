"""StoryWorld as text: deterministic, rich, consistent, and never the same in train and held-out."""

import re
from collections import Counter

import pytest

from bert_corpus.storyworld import CLASSIC_BLANKS, KINDS, Story, stories, story
from bert_corpus.storyworld.world import COUNTRIES, FAMILIES, JOBS, PEOPLE

COUNT = 5_000
OFTEN = 60 * COUNT / 20_000  # often enough to be learned when a corpus has 20,000 documents


@pytest.fixture(scope="module")
def documents() -> list[Story]:
    return list(stories(COUNT))


@pytest.fixture(scope="module")
def heldout() -> list[Story]:
    return list(stories(1_200, split="heldout"))


@pytest.fixture(scope="module")
def vocabulary(documents) -> Counter[str]:
    return Counter(word for d in documents for word in re.findall("[a-z]+", d.text.lower()))


def share(documents: list[Story], pattern: str) -> float:
    found = re.compile(pattern, re.IGNORECASE)
    return sum(bool(found.search(document.text)) for document in documents) / len(documents)


def test_a_document_depends_on_seed_split_and_index_alone(documents):
    for index in (7, 0, COUNT - 1, 7):
        assert story(index) == documents[index]
    assert [story(i, seed=1) for i in range(5)] == list(stories(5, seed=1))
    assert story(3) != story(3, seed=1) != story(3, seed=1, split="heldout")


def test_a_split_that_does_not_exist_is_named_in_the_error():
    with pytest.raises(ValueError, match="'test' is neither"):
        story(0, split="test")


def test_there_are_thirty_kinds_and_each_is_told_often(documents):
    told = Counter(document.kind for document in documents)
    assert set(told) == set(KINDS)
    assert len(told) >= 30
    assert min(told.values()) > COUNT / 150


def test_the_language_has_over_1500_words_and_no_long_tail(vocabulary):
    learnable = [word for word, seen in vocabulary.items() if seen >= OFTEN]
    assert len(learnable) >= 1_500
    assert len(vocabulary) - len(learnable) <= 0.1 * len(vocabulary)


def test_documents_are_six_to_ten_sentences_of_plain_well_formed_text(documents):
    for document in documents[:2_000]:
        assert 6 <= len(document.sentences) <= 10
        assert 50 <= len(document.text.split()) <= 125
        for sentence in document.sentences:
            assert re.fullmatch(r"[A-Z][A-Za-z ,.:!?']*[.!?]", sentence.text), sentence.text
            assert "  " not in sentence.text


def test_a_word_is_never_said_twice_in_a_row_and_articles_fit_the_next_word(documents):
    for document in documents[:2_000]:
        text = document.text
        assert not re.search(r"\b(?!hip)(\w+) \1\b", text), text
        assert not re.search(r"\b[Aa] [aeio]", text), text
        assert not re.search(r"\b[Aa]n (?!hour)[^aeiouAEIOU]", text), text


def test_nearly_every_document_is_unique(documents):
    assert len({document.text for document in documents}) > 0.999 * COUNT


def test_no_heldout_text_or_combination_occurs_in_train(documents, heldout):
    assert not {d.text for d in documents} & {d.text for d in heldout}
    train = {(d.kind, d.combination) for d in documents}
    assert not train & {(d.kind, d.combination) for d in heldout}
    assert {d.kind for d in heldout} == set(KINDS)


def test_a_document_says_the_people_of_its_combination(documents):
    people = {str(person) for person in PEOPLE}
    for document in documents[:2_000]:
        for part in document.combination:
            if part in people:
                assert part in document.text


def test_the_four_classic_lines_are_backed_by_frequent_frames(documents):
    assert share(documents, r"\bthe cat sat on the mat\b") > 0.015
    assert share(documents, r"farmers cultivate the land to grow crops") > 0.015
    assert share(documents, r"\w+ is the capital of \w+") > 0.015
    assert share(documents, r"the food was \w+, (but|and) the service was \w+") > 0.015
    assert share(documents, r"Paris is the capital of France") > 0.0003


def test_each_classic_blank_has_the_accepted_answers_in_the_text_and_no_others(documents):
    text = " ".join(document.text for document in documents).lower()
    for line, accepted in CLASSIC_BLANKS:
        before, after = line.lower().rstrip(".").split("[mask]")
        answers = set(re.findall(re.escape(before) + "([a-z]+)" + re.escape(after), text))
        assert answers, line
        assert answers <= accepted, line


def test_food_and_service_agree_after_and_and_differ_after_but(documents):
    good = CLASSIC_BLANKS[3][1]
    bad_services = {"terrible", "slow", "rude", "awful", "horrible", "bad", "unfriendly"}
    found = [
        match
        for document in documents
        for match in re.findall(r"the food was (\w+), (\w+) the service was (\w+)", document.text)
    ]
    assert len(found) > 60
    for food, joint, service in found:
        assert (joint == "and") == ((food in good) == (service not in bad_services))


def test_jobs_homes_and_capitals_are_never_contradicted(documents):
    by_name = {person.name: person for person in PEOPLE}
    capitals = {country.capital: country.name for country in COUNTRIES}
    jobs = "|".join(job.name for job in JOBS)
    families = "|".join(FAMILIES)
    counted = Counter()
    for document in documents[:5_000]:
        for name, family in re.findall(rf"\b([A-Z][a-z]+) ({families})\b", document.text):
            counted["family"] += 1
            assert name not in by_name or by_name[name].family == family
        for name, _, street in re.findall(
            rf"\b([A-Z][a-z]+) ({families}) (?:of|in) ([A-Z][a-z]+) Street", document.text
        ):
            counted["street"] += 1
            assert by_name[name].street == street
        for name, job in re.findall(rf"\b([A-Z][a-z]+) [A-Z][a-z]+ is an? ({jobs})", document.text):
            counted["job"] += 1
            assert by_name[name].job.name == job
        for city, country in re.findall(r"(\w+) is the capital of (\w+)", document.text):
            counted["capital"] += 1
            assert capitals[city] == country
    assert min(counted[fact] for fact in ("family", "street", "job", "capital")) > 30


def test_pronouns_fit_the_person_where_a_document_has_one(documents):
    by_name = {person.name: person for person in PEOPLE}
    checked = 0
    for document in documents:
        if document.kind not in ("working_day", "river_birds", "attic_trunk", "bat_night"):
            continue
        wrong = {"she": "he", "he": "she"}[by_name[document.combination[0]].they]
        checked += 1
        assert not re.search(rf"\b{wrong}\b", document.text, re.IGNORECASE), document.text
    assert checked > 200
