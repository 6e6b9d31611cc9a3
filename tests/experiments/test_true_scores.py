"""What a score is worth: the statistics agree with SciPy and scikit-learn, the sets are apart."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, stats
from sklearn import metrics
from sklearn.calibration import calibration_curve

from bert_experiments.finetuning.true_scores import __main__ as study
from bert_experiments.finetuning.true_scores import measures, runs, statements, texts
from bert_finetuning.tasks.classification import TextExample
from bert_run.errors import UserError

RANDOM = np.random.default_rng(0)
LABELS = RANDOM.integers(2, size=300)
MARGINS = RANDOM.normal(size=300) * 4 + 2 * (2 * LABELS - 1)
FIRST, SECOND = RANDOM.random(300) < 0.8, RANDOM.random(300) < 0.7


@pytest.fixture(scope="module")
def sets():
    sizes = runs.Sizes(train=60, heldout=60, dev=20, sentences=120, windows=40)
    return runs.Sets(texts.load_texts(None, sizes.sentences), sizes)


def test_mcnemar__agrees_with_scipys_binomial_test():
    for second in (SECOND, FIRST, ~FIRST):
        won, lost = int((FIRST & ~second).sum()), int((second & ~FIRST).sum())
        expected = stats.binomtest(won, won + lost).pvalue if won + lost else 1.0
        assert measures.mcnemar(FIRST, second) == pytest.approx(expected)


def test_permutation_test__agrees_with_scipys():
    def difference(a, b, axis):
        return np.mean(a, axis=axis) - np.mean(b, axis=axis)

    theirs = stats.permutation_test(
        (FIRST[:60].astype(float), SECOND[:60].astype(float)), difference, rng=0,
        permutation_type="samples", n_resamples=9_999,
    ).pvalue  # fmt: skip
    ours = measures.permutation_test(FIRST[:60], SECOND[:60], draws=9_999)
    assert ours == pytest.approx(theirs, abs=0.02)  # both draw at random: about 3 standard errors


def test_log_loss__agrees_with_scikit_learn():
    chances = measures.scaled_probability(MARGINS)
    assert measures.log_loss(MARGINS, LABELS) == pytest.approx(metrics.log_loss(LABELS, chances))


def test_fit_temperature__finds_the_minimum_that_scipy_finds():
    theirs = optimize.minimize_scalar(
        lambda t: measures.log_loss(MARGINS, LABELS, t), bounds=(0.05, 20), method="bounded"
    ).x
    assert measures.fit_temperature(MARGINS, LABELS) == pytest.approx(theirs, rel=1e-3)


def test_fit_temperature__undoes_a_scale():
    """Margins twice as large want a temperature twice as high."""
    once, twice = (measures.fit_temperature(k * MARGINS, LABELS) for k in (1, 2))
    assert twice == pytest.approx(2 * once, rel=1e-3)


def test_reliability__agrees_with_scikit_learns_curve_on_the_predicted_label():
    sure, hits = measures.confidence(MARGINS), measures.is_right(MARGINS, LABELS)
    bins = measures.reliability(sure, hits)
    # scikit-learn's bins reach from 0 to 1: of twenty ours are the upper ten.
    right, mean = calibration_curve(hits, sure, n_bins=20)
    np.testing.assert_allclose([each[0] for each in bins], mean)
    np.testing.assert_allclose([each[1] for each in bins], right)
    assert sum(each[2] for each in bins) == len(hits)


def test_calibration_error__is_zero_when_each_bin_is_as_right_as_it_is_sure():
    sure = np.repeat([0.6, 0.9], 10)
    hits = np.array([1] * 6 + [0] * 4 + [1] * 9 + [0])
    assert measures.calibration_error(sure, hits == 1) == pytest.approx(0)
    assert measures.calibration_error(np.full(20, 0.95), hits == 1) == pytest.approx(0.2)


def test_best_threshold__has_the_f1_that_scikit_learn_finds():
    precision, recall, _ = metrics.precision_recall_curve(LABELS, MARGINS)
    best = np.nanmax(2 * precision * recall / (precision + recall))
    chosen = measures.best_threshold(MARGINS, LABELS)
    assert measures.f1_at(MARGINS, LABELS, chosen) == pytest.approx(best)
    said = chosen < MARGINS
    assert measures.precision_recall(MARGINS, LABELS, chosen) == pytest.approx(
        (metrics.precision_score(LABELS, said), metrics.recall_score(LABELS, said))
    )


def test_f1_at__is_zero_where_nothing_is_predicted():
    assert measures.f1_at(MARGINS, LABELS, 1e9) == 0.0


def test_by_sentence__finds_the_phrases_of_each_sentence():
    sentence = "the film was never dull , but it was long"
    other = "a story about a quiet man and his dog"
    given = ("was never dull", other, sentence, "about a quiet man", "long", "one two three")
    examples = [TextExample(text, label="positive") for text in given]
    whole, phrases = texts.by_sentence(examples)
    assert [each.text for each in whole] == [sentence, other]
    assert [[each.text for each in some] for some in phrases] == [
        [sentence, "was never dull"], [other, "about a quiet man"],
    ]  # fmt: skip


def test_windows__hold_all_words_and_are_equally_long():
    words = [str(n) for n in range(95)]
    parts = [part.split() for part in texts.windows(" ".join(words), 40)]
    assert list(map(len, parts)) == [40, 40, 40] and parts[-1][-1] == "94"
    assert {word for part in parts for word in part} == set(words)
    assert texts.windows("a few words", 40) == ["a few words"]
    assert len(texts.windows(" ".join(words[:40]), 40)) == 1


def test_sets__no_held_out_sentence_is_learned_and_the_leaky_split_shares_sentences(sets):
    owner = {id(each): n for n, some in enumerate(sets.texts.phrases) for each in some}
    assert {owner[id(each)] for each in sets.phrases} == set(range(60, 120))
    train, leaky, clean = ({owner[id(each)] for each in some} for some in sets.leaky)
    assert train & leaky and not train & clean


def test_sets__the_rare_label_is_rare_in_both_halves_together(sets):
    for examples in (sets.rare_train, sets.rare_heldout):
        share = texts.labels_of(examples).mean()
        assert share == pytest.approx(runs.RARE, abs=0.02)


def test_trained__keeps_a_margin_for_each_example(sets, tmp_path):
    run = runs.Run("short", 0, {"epochs": 1.0, "learning_rate": 1e-3}, "leaky")
    found = runs.trained(run, sets, tmp_path)
    assert {name: len(each) for name, each in found.items()} == {
        "leaky": len(sets.leaky[1]), "clean": len(sets.leaky[2]),
    }  # fmt: skip
    assert json.loads(json.dumps(found)) == found


def test_trained__reads_documents_in_several_ways(sets, tmp_path):
    run = runs.Run("windows", 0, {"epochs": 1.0}, "windows")
    found = runs.trained(run, sets, tmp_path)
    assert found["windows"] > 1
    for read in ("first", "last", "first and last", "all", "commonest"):
        assert 0 <= found[read] <= 1


def guessed(run, sets, folder):
    """What a run might have said, without training."""
    if run.learns == "windows":
        return dict.fromkeys(("first", "last", "all", "first and last", "commonest", "documents",
                              "windows"), 0.5)  # fmt: skip
    asked = {"rare": {"heldout": sets.rare_heldout},
             "leaky": {"leaky": sets.leaky[1], "clean": sets.leaky[2]}}.get(
        run.learns, {"heldout": sets.heldout})  # fmt: skip
    generator = np.random.default_rng(run.seed + len(run.name))
    return {name: (generator.normal(size=len(each)) + 2 * texts.labels_of(each) - 1).tolist()
            for name, each in asked.items()}  # fmt: skip


def test_study__writes_a_page_with_every_statement_and_does_no_run_twice(
    tmp_path, monkeypatch, sets, capsys, pictures
):
    asked = []
    monkeypatch.setattr(study, "trained", lambda *args: asked.append(1) or guessed(*args))
    monkeypatch.setattr(statements, "DRAWS", 4)
    monkeypatch.setattr(statements, "DEV_SIZES", (20,))
    settings = study.ScoresSettings(seeds=2, runs=tmp_path / "runs", out=tmp_path / "page.md")
    small = statements.Evidence(study.measure(settings, sets), sets)
    again = study.measure(settings, sets)
    assert len(asked) == len(runs.all_runs(2)) and again == small.found
    corrected = replace(sets.texts, sentences=sets.texts.sentences[::-1])  # as many, other content
    study.measure(settings, runs.Sets(corrected, sets.sizes))
    assert len(asked) == 2 * len(runs.all_runs(2))
    assert "minutes" in capsys.readouterr().err
    bins = statements.reliability_bins(small)
    page = study.page_of(small, bins)
    page.publish(settings.out, study.PROGRAM, draw=lambda: study.draw_scores(page.results, bins))
    for title in statements.STATEMENTS:
        assert f"| {title} " in settings.out.read_text()
    results, stored_bins = statements.stored(tmp_path / "page.json")
    assert stored_bins == bins
    for title in statements.STATEMENTS:
        rows = statements.rows_of(results, title)
        assert rows == statements.rows_of(page.results, title) and len(rows) > 1
    found = json.loads((tmp_path / "page.json").read_text())
    assert len(found["results"]["intervals: test set of 50"]["interval holds"]["values"]) == 2
    assert set(found["reliability"]) == set(bins)
    assert (tmp_path / "page.png").stat().st_size > 10_000


@pytest.mark.parametrize("sentences", [1, 3, 30, 100, 299])
def test_scores_settings__so_few_sentences_that_a_set_would_be_empty_are_refused(sentences):
    told = f"--sentences is {sentences}: it must be a whole number from 300"
    with pytest.raises(UserError, match=told):
        study.ScoresSettings(sentences=sentences)


def test_study__is_complete_with_the_fewest_sentences(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "trained", guessed)
    monkeypatch.setattr(statements, "DRAWS", 4)
    settings = study.ScoresSettings(seeds=1, sentences=300, runs=tmp_path)
    fewest = runs.Sets(texts.load_texts(None, 300), settings.sizes)
    evidence = statements.Evidence(study.measure(settings, fewest), fewest)
    page = study.page_of(evidence, statements.reliability_bins(evidence))
    for title in statements.STATEMENTS:
        assert len(statements.rows_of(page.results, title)) > 1
    assert np.isfinite(
        [value for each in page.results.values() for value in each[0].values()]
    ).all()


@pytest.mark.parametrize("sentences", [300, 301, 317, 400, 1_000, 5_000])
def test_sets__both_halves_of_the_held_out_phrases_have_the_rare_label(sentences):
    """What the page says: the halves are random, so their shares differ, but neither is empty."""
    sizes = study.ScoresSettings(sentences=sentences).sizes
    rare = texts.labels_of(runs.Sets(texts.load_texts(None, sentences), sizes).rare_heldout)
    first, second = np.split(rare, [len(rare) // 2])
    assert min(first.sum(), second.sum()) >= 3 and rare.mean() == pytest.approx(runs.RARE, abs=0.01)
    assert "in training and held out; the held-out ones are halved at random" in study.NOTES


def test_load_texts__says_what_a_folder_lacks(tmp_path):
    with pytest.raises(UserError, match=r"there is no folder .*train\.tsv"):
        texts.load_texts(tmp_path, 10)
