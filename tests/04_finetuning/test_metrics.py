"""Every metric against the library that the field measures with, on hundreds of random cases."""

import warnings

import numpy as np
import pytest
import scipy.stats
import sklearn.metrics
from seqeval.metrics import classification_report
from seqeval.metrics.sequence_labeling import get_entities

from bert_finetuning.metrics import (
    METRICS,
    accuracy,
    answer_exact,
    answer_f1,
    confusion_matrix,
    entities,
    entity_scores,
    f1,
    macro_f1,
    matthews,
    normalize_answer,
    pearson,
    ranks,
    spearman,
    squad_scorer,
)
from bert_run.errors import UserError

CASES = 300


@pytest.fixture(autouse=True)
def references_warn_of_degenerate_cases_in_silence():
    quick = sklearn.config_context(assume_finite=True, skip_parameter_validation=True)
    with warnings.catch_warnings(), quick:
        warnings.simplefilter("ignore")
        yield


def label_columns():
    """Right and predicted labels: from one example on, often constant, two labels to five."""
    random = np.random.default_rng(0)
    for case in range(CASES):
        size, num_labels = int(random.integers(1, 30)), int(random.integers(2, 6))
        right = random.integers(0, num_labels, size)
        wrong = random.integers(0, num_labels, size)
        predicted = np.where(random.random(size) < random.random(), right, wrong)
        if case % 10 == 0:
            predicted[:] = random.integers(0, num_labels)
        if case % 15 == 0:
            right[:] = random.integers(0, num_labels)
        yield right, predicted, num_labels


def number_columns():
    """Two columns of numbers, in half of the cases full of ties, in some nearly a line."""
    random = np.random.default_rng(1)
    for case in range(CASES):
        size = int(random.integers(2, 40))
        right = random.normal(size=size) * 10.0 ** random.integers(-3, 4)
        predicted = right * random.normal() + random.normal(size=size) * 10.0 ** -(case % 12)
        if case % 2:
            right, predicted = np.round(right), np.round(predicted)
        yield right, predicted


# Labels.


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (accuracy, sklearn.metrics.accuracy_score),
        (matthews, sklearn.metrics.matthews_corrcoef),
    ],
)
def test_a_metric_of_labels_equals_scikit_learns(ours, theirs):
    for right, predicted, _ in label_columns():
        assert ours(right, predicted) == pytest.approx(theirs(right, predicted), abs=1e-12)


def test_f1_and_its_mean_over_labels_equal_scikit_learns():
    for right, predicted, num_labels in label_columns():
        each = sklearn.metrics.f1_score(right, predicted, labels=range(num_labels), average=None)
        assert f1(right, predicted) == pytest.approx(each[1], abs=1e-12)
        mean = each[np.union1d(right, predicted)].mean()
        assert macro_f1(right, predicted) == pytest.approx(mean, abs=1e-12)


@pytest.mark.parametrize(("ours", "average"), [(f1, "binary"), (macro_f1, "macro")])
def test_f1_and_macro_f1_are_scikit_learns_binary_and_macro_averages(ours, average):
    cases = [case[:2] for case in label_columns() if case[2] == 2]
    for right, predicted in cases[:100]:
        theirs = sklearn.metrics.f1_score(right, predicted, average=average)
        assert ours(right, predicted) == pytest.approx(theirs, abs=1e-12)


def test_the_confusion_matrix_equals_scikit_learns():
    for right, predicted, num_labels in label_columns():
        theirs = sklearn.metrics.confusion_matrix(right, predicted, labels=range(num_labels))
        np.testing.assert_array_equal(
            confusion_matrix(right, predicted, num_labels=num_labels), theirs
        )


def test_always_saying_the_common_label_scores_as_collapsed_runs_do():
    # MRPC's dev set: 279 of 408 pairs mean the same, so saying so of all gives .684 and .812.
    right = np.array([1] * 279 + [0] * 129)
    always = np.ones(408, int)
    assert accuracy(right, always) == pytest.approx(0.684, abs=5e-4)
    assert f1(right, always) == pytest.approx(0.812, abs=5e-4)
    assert matthews(right, always) == matthews(always, right) == 0


def test_matthews_does_not_overflow_on_as_many_examples_as_mnli_has():
    right = np.tile([0, 1], 200_000)
    assert matthews(right, right) == pytest.approx(1, abs=1e-12)
    assert matthews(right, 1 - right) == pytest.approx(-1, abs=1e-12)


# Numbers.


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(pearson, scipy.stats.pearsonr), (spearman, scipy.stats.spearmanr)],
)
def test_a_correlation_equals_scipys_and_is_0_where_that_is_nan(ours, theirs):
    undefined = 0
    for right, predicted in number_columns():
        expected = theirs(right, predicted).statistic
        undefined += np.isnan(expected)
        got = ours(right, predicted)
        assert got == pytest.approx(np.nan_to_num(expected), abs=1e-9)
    assert 10 < undefined < CASES / 2


def test_ranks_with_ties_equal_scipys():
    for right, _ in number_columns():
        np.testing.assert_array_equal(ranks(right), scipy.stats.rankdata(right))


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e-300, 1e300])
def test_a_constant_prediction_correlates_with_nothing(constant):
    right = np.array([0.0, 2.5, 5.0])
    assert pearson(right, np.full(3, constant)) == spearman(np.full(3, constant), right) == 0


def test_numbers_that_are_not_numbers_are_not_passed_over():
    right, predicted = np.arange(3.0), np.array([0.0, np.nan, 2.0])
    assert np.isnan(pearson(right, predicted))
    assert np.isnan(spearman(right, predicted))


def test_numbers_in_float32_are_summed_in_float64():
    random = np.random.default_rng(2)
    right = random.normal(size=1_000).astype(np.float32) + np.float32(1_000)
    predicted = (right + random.normal(size=1_000)).astype(np.float32)
    theirs = scipy.stats.pearsonr(right.astype(float), predicted.astype(float)).statistic
    assert pearson(right, predicted) == pytest.approx(theirs, abs=1e-12)


def test_metrics_are_found_by_their_names():
    assert METRICS.keys() == {"accuracy", "f1", "macro_f1", "matthews", "pearson", "spearman"}
    assert METRICS["spearman"] is spearman


# Entities.

SCHEMES = {"IOB": "BI", "IOBES": "BIES", "I only": "I", "no type": "BI"}


def sentences(scheme: str, random: np.random.Generator) -> list[list[str]]:
    """Random tags, most of them in no legal order, as those of an untrained model."""
    kinds = [""] if scheme == "no type" else ["-PER", "-LOC", "-creative-work"]
    tags = ["O"] * 3 + [prefix + kind for prefix in SCHEMES[scheme] for kind in kinds]
    return [
        list(random.choice(tags, int(random.integers(1, 12)))) for _ in range(random.integers(1, 5))
    ]


def disturbed(tagged: list[list[str]], random: np.random.Generator) -> list[list[str]]:
    share = random.random()
    return [
        [str(random.choice(tags)) if random.random() < share else tag for tag in tags]
        for tags in tagged
    ]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_entities_are_those_of_seqeval(scheme):
    random = np.random.default_rng(3)
    for _ in range(CASES):
        tags = sentences(scheme, random)[0]
        theirs = [(kind, first, last + 1) for kind, first, last in get_entities(tags)]
        assert [(kind or "_", *span) for kind, *span in entities(tags)] == theirs, tags


@pytest.mark.parametrize("scheme", ["IOB", "IOBES"])
def test_scores_of_entities_over_all_and_by_type_equal_seqevals(scheme):
    random = np.random.default_rng(4)
    for _ in range(CASES // 2):
        right = sentences(scheme, random)
        predicted = disturbed(right, random)
        theirs = classification_report(right, predicted, output_dict=True, zero_division=0)
        overall, by_kind = entity_scores(right, predicted)
        assert by_kind.keys() == theirs.keys() - {"micro avg", "macro avg", "weighted avg"}
        for name, score in {"micro avg": overall, **by_kind}.items():
            expected = [theirs[name][field]
                        for field in ("precision", "recall", "f1-score", "support")]  # fmt: skip
            got = [score.precision, score.recall, score.f1, score.gold]
            assert got == pytest.approx(expected, abs=1e-12), (name, right, predicted)


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        ("O O", []),
        ("O I-LOC", [("LOC", 1, 2)]),
        ("B-PER I-LOC", [("PER", 0, 1), ("LOC", 1, 2)]),
        ("I-PER I-PER B-PER", [("PER", 0, 2), ("PER", 2, 3)]),
        ("B-PER I-PER E-PER S-LOC", [("PER", 0, 3), ("LOC", 3, 4)]),
        ("E-PER E-PER", [("PER", 0, 1), ("PER", 1, 2)]),
        ("B-PER O I-PER", [("PER", 0, 1), ("PER", 2, 3)]),
    ],
)
def test_where_entities_begin_and_end(tags, found):
    assert entities(tags.split()) == found


def test_a_name_with_one_wrong_border_is_not_found():
    overall, by_kind = entity_scores([["B-PER", "I-PER", "O"]], [["B-PER", "O", "O"]])
    assert (overall.precision, overall.recall, overall.f1, overall.gold) == (0, 0, 0, 1)
    assert by_kind == {"PER": overall}


def test_no_entity_at_all_scores_0_as_in_seqeval():
    overall, by_kind = entity_scores([["O", "O"]], [["O", "O"]])
    assert (overall.f1, overall.gold, by_kind) == (0, 0, {})


def test_tags_of_no_entity_are_refused():
    with pytest.raises(UserError, match="'NOUN' names no entity"):
        entities(["NOUN"])


def test_predictions_out_of_step_are_refused():
    with pytest.raises(ValueError, match="sentence 1: 1 predictions, 2 tags"):
        entity_scores([["O"], ["O", "O"]], [["O"], ["O"]])


# Answers. What is expected was worked out with the official definitions, step by step.


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Denver Broncos!", "denver broncos"),
        ("  a\tMan ,  an\nApple ", "man apple"),
        ("U.S.", "us"),
        ("Theatre an-other", "theatre another"),  # articles are whole words only
        ("the-best", "thebest"),  # punctuation goes first, so no article is left
        ("24–10", "24–10"),  # the dash is not ASCII
        ("“The” Café", "“ ” café"),  # nor are these quotes; between them an article
        ("A", ""),
        ("...", ""),
    ],
)  # fmt: skip
def test_answers_are_normalized_as_in_squad(text, words):
    assert normalize_answer(text) == words


@pytest.mark.parametrize(
    ("answer", "accepted", "exact", "overlap"),
    [
        ("Denver Broncos", ["the Denver Broncos."], 1, 1),
        ("Broncos", ["Denver Broncos", "the Broncos"], 1, 1),  # the best counts
        ("Broncos of Denver", ["Denver Broncos"], 0, 0.8),  # 2 of 3 said, 2 of 2 found
        ("New York New York", ["New York"], 0, 2 / 3),  # words count as often as both have them
        ("Carolina", ["Denver Broncos"], 0, 0),
        ("in 1066", ["1066", "October 1066"], 0, 2 / 3),
        ("", [], 1, 1),
        ("Normandy", [], 0, 0),
        ("", ["Normandy"], 0, 0),
        ("the", [], 1, 1),  # nothing is left of it
        ("a", ["a", "the letter a"], 0, 0),  # an accepted answer of articles alone does not count
    ],
)
def test_an_answer_is_compared_with_the_nearest_of_the_accepted(answer, accepted, exact, overlap):
    assert answer_exact(answer, accepted) == exact
    assert answer_f1(answer, accepted) == pytest.approx(overlap, abs=1e-12)


ALL = slice(None)


def test_scores_of_squad_1_are_two_means():
    scorer = squad_scorer(["Paris", "red boat"], [["Paris"], ["a boat", "it"]])
    assert scorer(ALL) == {"exact": 0.5, "f1": pytest.approx((1 + 2 / 3) / 2)}
    assert scorer([1, 1]) == {"exact": 0, "f1": pytest.approx(2 / 3)}


def test_scores_of_squad_2_tell_questions_with_an_answer_from_those_without():
    scorer = squad_scorer(["Paris", "", "", "x"], [["Paris"], ["boat"], [], []])
    parts = ("exact", "f1", "HasAns_exact", "HasAns_f1", "NoAns_exact", "NoAns_f1")
    assert scorer(ALL) == dict.fromkeys(parts, 0.5)
    assert scorer([0, 2]) == dict.fromkeys(parts, 1.0)


def test_a_set_without_any_answer_needs_no_parts():
    assert squad_scorer([""], [[]])(ALL) == {"exact": 1, "f1": 1}
