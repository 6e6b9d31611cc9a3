"""The labeled sets of StoryWorld: deterministic, balanced, disjoint, spans exact."""

from collections import Counter, defaultdict

import pytest

from bert_corpus.storyworld import entailment, names, question, sentiment

SETS = (sentiment, entailment, names, question)


@pytest.mark.parametrize("example", SETS)
def test_an_example_is_a_pure_function_of_index_seed_and_split(example):
    first = [example(index) for index in range(50)]
    assert [example(index) for index in reversed(range(50))] == first[::-1]
    assert [example(index, seed=1) for index in range(50)] != first


@pytest.mark.parametrize("example", SETS)
def test_no_heldout_example_occurs_in_train(example):
    train = {example(index) for index in range(1_500)}
    heldout = {example(index, split="heldout") for index in range(300)}
    assert len(train) > 1_400
    assert not train & heldout


@pytest.mark.parametrize(
    ("example", "labels"),
    [
        (sentiment, {"negative", "positive"}),
        (entailment, {"entailment", "neutral", "contradiction"}),
    ],
)
def test_the_labels_are_balanced(example, labels):
    counted = Counter(example(index).label for index in range(1_500))
    assert set(counted) == labels
    assert min(counted.values()) > 0.85 * 1_500 / len(labels)


def test_the_second_text_alone_does_not_give_the_label_of_a_pair_away():
    by_word = defaultdict(Counter)
    for index in range(3_000):
        example = entailment(index)
        for word in set(example.text_b.rstrip(".").split()):
            by_word[word][example.label] += 1
    for word, labels in by_word.items():
        if labels.total() >= 300:
            assert max(labels.values()) < 0.45 * labels.total(), word


def test_sentiment_has_negation_and_contrasts_with_a_verdict():
    texts = [sentiment(index).text for index in range(600)]
    assert sum(" was not " in text for text in texts) > 60
    assert sum(", but " in text for text in texts) > 180


def test_names_are_tagged_one_tag_a_word_and_no_span_begins_inside():
    spans = Counter()
    for index in range(2_000):
        example = names(index)
        assert len(example.words) == len(example.tags) > 3
        last = "O"
        for word, tag in zip(example.words, example.tags, strict=True):
            assert word and " " not in word
            if tag.startswith("I-"):
                assert last[2:] == tag[2:], example
            spans[tag] += 1
            last = tag
    assert set(spans) == {
        "O",
        *(f"{place}-{kind}" for place in "BI" for kind in ("PER", "LOC", "ORG")),
    }


def test_the_same_word_is_a_person_a_firm_or_an_animal():
    tags = {"fox": set(), "stone": set()}
    for index in range(2_000):
        example = names(index)
        for word, tag in zip(example.words, example.tags, strict=True):
            if word.lower() in tags:
                tags[word.lower()].add(tag)
    for found in tags.values():
        assert {"O", "I-PER", "B-ORG"} <= found


def test_an_answer_is_exactly_its_span_of_the_context():
    asked = Counter()
    for index in range(2_000):
        example = question(index)
        end = example.answer_start + len(example.answer)
        assert example.context[example.answer_start : end] == example.answer
        asked[example.question.split()[0]] += 1
    assert set(asked) == {"Where", "When", "What", "How", "Who"}
