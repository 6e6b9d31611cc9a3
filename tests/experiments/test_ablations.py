"""The paper's ablations: their variants, how they are asked, and how they are judged."""

import json
import shutil
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from bert_corpus.storyworld import stories
from bert_corpus.storyworld.evaluation import hidden, probes_of
from bert_experiments.ablations import __main__ as ablation
from bert_experiments.ablations import features, measure, variants
from bert_experiments.ablations.__main__ import AblationSettings, results_of
from bert_experiments.ablations.measure import guess_of
from bert_experiments.ablations.pages import how_made, page_of, picture_of
from bert_experiments.ablations.paper import PAPER
from bert_experiments.ablations.tables import ABLATIONS
from bert_experiments.ablations.variants import (
    BOTH_TASKS,
    VARIANTS,
    run_folder,
    run_of,
    runs_of,
    training_seconds,
    variants_of,
)
from bert_experiments.report.figures import UNTRAINED, title_of
from bert_experiments.report.models import open_either
from bert_experiments.report.page import aligned
from bert_experiments.report.verdicts import Claim, Side, judge, versus
from bert_paper.demo import first_guess
from bert_paper.model import load_arrays
from bert_run.config import initial_weights
from bert_run.errors import UserError

TABLES = list(VARIANTS)


@pytest.fixture(scope="module")
def small_recipe():
    """The ablations with a model of a few thousand numbers and few stories."""
    patch = pytest.MonkeyPatch()
    small = replace(
        variants.STORYWORLD, documents=80, vocab_size=400, hidden_size=16, num_attention_heads=2,
        eval_examples=8, max_position_embeddings=128, device="cpu", precision="fp32",
    )  # fmt: skip
    patch.setattr(variants, "STORYWORLD", small)
    patch.setattr(variants, "POINTS", 4)
    patch.setattr("bert_corpus.pretraining_run.draw_curve", lambda *given, **named: None)
    patch.setattr(measure, "STORIES", 20)
    patch.setattr(measure, "STORIES_ALONG_THE_WAY", 5)
    patch.setattr(measure, "EXAMPLES", 8)
    patch.setattr(features, "PARTS", (("train", 20), ("heldout", 10)))
    patch.setattr(features, "NAMES_TRAINED", 5)
    patch.setattr(features, "NAMES_TESTED", 10)
    yield
    patch.undo()


@pytest.fixture(scope="module")
def figure_5(small_recipe, tmp_path_factory):
    """The folder of all runs, and the figures of Figure 5's models, one seed of each."""
    out = tmp_path_factory.mktemp("ablations")
    return out, results_of(AblationSettings(figure="5", seeds=1, steps=8, out=out))


def difference(one, other) -> set[str]:
    free = {"out", "keep_checkpoints"}
    return {k for k, v in asdict(one).items() if v != asdict(other)[k]} - free


@pytest.mark.parametrize("table", TABLES)
def test_every_variant_differs_from_bert_in_exactly_what_its_table_asks_about(table):
    base = variants_of("5")["BERT: both tasks"]
    for name, settings in variants_of(table).items():
        asked = {k for k, v in VARIANTS[table][name].items() if v != getattr(base, k)}
        assert difference(settings, base) == asked
        assert bool(asked) == (VARIANTS[table][name] != BOTH_TASKS)


def test_the_mixes_of_table_8_are_what_their_names_say():
    for name, settings in variants_of("8").items():
        mask, same, random = (int(share) / 100 for share in name.split("/"))
        assert settings.mask_share == mask
        assert settings.random_share == random
        assert 1 - settings.mask_share - settings.random_share == pytest.approx(same)


def test_the_sizes_of_table_6_are_what_their_names_say():
    for name, settings in variants_of("6").items():
        config = settings.bert_config(4000)
        sizes = config.num_hidden_layers, config.hidden_size, config.num_attention_heads
        assert "/".join(map(str, sizes)) == name


def test_a_rate_that_is_given_is_every_runs_and_the_page_names_the_rates():
    given = AblationSettings(table="6", learning_rate=2e-3).variants
    assert {variant.learning_rate for variant in given.values()} == {2e-3}
    made = how_made({name: [{"seconds": 1.0}] for name in given}, variants_of("6"))
    assert "with muon at a peak learning rate of 0.006 or 0.003" in made


def test_the_same_variant_of_two_tables_is_one_run_and_different_ones_are_different():
    out = Path("runs")
    folders = {
        table: {name: run_folder(v, out) for name, v in variants_of(table, steps=50).items()}
        for table in TABLES
    }
    base = folders["5"]["BERT: both tasks"]
    assert folders["6"]["2/128/4"] == folders["8"]["80/10/10"] == base
    assert folders["figure 5"].items() <= folders["5"].items()
    every = [folder for table in folders.values() for folder in table.values()]
    assert len(set(every)) == 5 + 4 + 5, "of 19, 3 are the base again, 2 the same of Figure 5"
    variant = variants_of("5", steps=50)["BERT: both tasks"]
    for other in (replace(variant, seed=1), replace(variant, steps=51),
                  replace(variant, corpus="pydocs")):  # fmt: skip
        assert run_folder(other, out) != base


def test_a_setting_that_is_added_to_bert_pretrain_later_moves_no_run(monkeypatch):
    variant = variants_of("5")["no NSP"]
    before = run_folder(variant, Path("runs"))
    known = variants.identity
    monkeypatch.setattr(variants, "identity", lambda s: {**known(s), "new_field": "its default"})
    assert run_folder(variant, Path("runs")) == before


def test_a_left_to_right_guess_uses_nothing_at_or_right_of_the_word(figure_5):
    out, _ = figure_5
    runs = runs_of(variants_of("figure 5", steps=8), seeds=1, out=out)
    pretrained = open_either(
        next(r for r in runs if r.variant == "left to right, no NSP").settings.out
    )
    load_arrays(
        pretrained.model, initial_weights(pretrained.model.config, 0)
    )  # after 8 steps it says one word
    guess = guess_of(pretrained)
    probes = [p for s in stories(30, split="heldout") for p in
              probes_of(s, pretrained.tokenizer, wanted="settled_by", seq_length=64)]  # fmt: skip
    assert max(len(p.pieces) for p in probes) > 1, "some words must have several pieces"
    batch = hidden(probes, pretrained.tokenizer, seq_length=64)
    first = batch["masked_lm_positions"][:, :1]
    expected = guess(batch)
    columns = np.arange(batch["input_ids"].shape[1])
    random = np.random.default_rng(0).integers(5, 300, batch["input_ids"].shape)
    right_changed = {**batch, "input_ids": np.where(columns >= first, random, batch["input_ids"])}
    np.testing.assert_array_equal(guess(right_changed), expected)
    left_changed = {**batch, "input_ids": np.where(columns < first, random, batch["input_ids"])}
    assert (guess(left_changed) != expected).any()


def test_a_left_to_right_guess_is_what_the_model_expects_after_the_word_before(figure_5):
    out, _ = figure_5
    runs = runs_of(variants_of("figure 5", steps=8), seeds=1, out=out)
    pretrained = open_either(
        next(r for r in runs if r.variant == "left to right, no NSP").settings.out
    )
    ids = np.random.default_rng(1).integers(5, 300, (3, 20))
    batch = {
        "input_ids": ids,
        "token_type_ids": np.zeros_like(ids),
        "attention_mask": np.ones_like(ids),
        "masked_lm_positions": np.array([[4, 5, 6], [9, 9, 9], [1, 2, 2]]),
    }
    guessed = guess_of(pretrained)(batch)
    for row, places in enumerate(batch["masked_lm_positions"].tolist()):
        seen = ids[row].tolist()
        for column, place in enumerate(places):
            alone = {**batch, "input_ids": np.array([seen[:place]])}
            alone["token_type_ids"] = np.zeros((1, place), np.int64)
            alone["attention_mask"] = np.ones((1, place), np.int64)
            alone["masked_lm_positions"] = np.array([[place - 1]])
            assert guessed[row, column] == first_guess(pretrained)(alone)[0, 0]
            seen[place] = guessed[row, column]


def test_a_second_call_trains_and_measures_nothing_anew(figure_5, monkeypatch):
    out, results = figure_5
    monkeypatch.setattr(variants, "pretrain", lambda settings: pytest.fail("trains"))
    monkeypatch.setattr(measure, "write_json", lambda *given: pytest.fail("measures"))
    assert results_of(AblationSettings(figure="5", seeds=1, steps=8, out=out)) == results


def test_a_stopped_call_goes_on_where_it_stopped(figure_5, monkeypatch):
    out, _ = figure_5
    base = run_of(variants_of("5", steps=8)["BERT: both tasks"], seed=0, out=out)
    metrics = (base.out / "metrics.jsonl").read_bytes()
    wanted = runs_of(variants_of("8", steps=8), seeds=1, out=out)
    assert [run.is_trained for run in wanted] == [True] + [False] * 5
    assert (base.out / "metrics.jsonl").read_bytes() == metrics
    trained = []
    monkeypatch.setattr(
        "bert_experiments.ablations.variants.pretrain", lambda s: trained.append(s.mask_share)
    )
    monkeypatch.setattr(ablation, "figures_of", lambda s: {"seconds": 1.0})
    monkeypatch.setattr(ablation, "untrained_figures", lambda s: {})
    results_of(AblationSettings(table="8", seeds=1, steps=8, out=out))
    assert trained == [1.0, 0.8, 0.8, 0.0, 0.0]


def test_another_corpus_is_measured_without_labels_and_shown_without_their_columns(
    small_recipe, corpus_file, tmp_path, monkeypatch
):
    corpus = tmp_path / "mine.txt"
    shutil.copyfile(corpus_file, corpus)
    two = {name: VARIANTS["5"][name] for name in ("BERT: both tasks", "left to right, no NSP")}
    monkeypatch.setitem(VARIANTS, "5", two)
    asked = AblationSettings(table="5", seeds=1, steps=8, corpus=str(corpus), out=tmp_path)
    results = results_of(asked)
    assert set(results["BERT: both tasks"][0]) == {
        "seconds", "sentence_task", "masked_perplexity", "wrong_word", "in_view",
    }  # fmt: skip
    assert set(results["left to right, no NSP"][0]) == {"seconds", "next_word_perplexity"}
    page = page_of("5", results, variants_of("5", steps=8))
    head = page.table().splitlines()[0]
    assert "perplexity at [MASK]" in head
    assert "settled by the left" not in head
    assert {verdict.answer for verdict in page.verdicts} == {"not testable at this scale"}
    picture_of("5", results).save(tmp_path / "table.png")
    corpus.write_text(corpus.read_text().replace("the", "a"))  # figures of other text are no answer
    with pytest.raises(UserError, match=r"mine\.txt has changed since it was read"):
        results_of(asked)


def test_figures_along_the_way_are_those_of_every_checkpoint(figure_5):
    _, results = figure_5
    for figures in (runs[0] for runs in results.values()):
        assert {name for name in figures if name.startswith("all@")} == {
            f"all@{share}%" for share in (25, 50, 75, 100)
        }


def test_the_first_half_of_a_run_is_the_mean_of_its_checkpoints_up_to_the_middle(tmp_path):
    settings = replace(variants_of("figure 5", steps=20)["no NSP"], out=tmp_path)
    found = {step: {"left": step / 20, "all": 0.5} for step in (4, 8, 10, 16, 20)}
    (tmp_path / "along_the_way.json").write_text(json.dumps(found))
    figures = measure.figures_along_the_way(settings)
    assert figures["left@over the first half"] == pytest.approx((0.2 + 0.4 + 0.5) / 3)
    assert figures["left@80%"] == 0.8


def test_seconds_of_training_add_up_over_calls_and_over_lengths(tmp_path):
    settings = replace(
        variants_of("5", steps=20)["no NSP"], out=tmp_path, batch_size=8, short_seq_length=32,
        short_share=0.5, short_batch_size=4,
    )  # fmt: skip
    lines = [{"step": 6, "tokens_per_second": 100}, {"step": 20, "tokens_per_second": 50},
             {"step": 20, "heldout_mlm_loss": 1.0}]  # fmt: skip
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    # The first ten steps have 4 · 32 tokens, the others 8 · 64.
    expected = 6 * 4 * 32 / 100 + (4 * 4 * 32 + 10 * 8 * 64) / 50
    assert training_seconds(settings) == pytest.approx(expected)


def seeds_of(*values: float, measure: str = "all") -> list[dict[str, float]]:
    return [{measure: value} for value in values]


CLAIM = Claim("a is better than b", ((Side("a", "all"), Side("b", "all")),))


@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        ((0.5, 0.6, 0.7), (0.2, 0.3, 0.49), "reproduced"),
        ((0.5, 0.6, 0.7), (0.2, 0.3, 0.50), "not reproduced"),
        ((0.3, 0.6, 0.7), (0.2, 0.4, 0.4), "not reproduced"),
        ((0.1, 0.2), (0.3, 0.4), "not reproduced"),
        ((0.9,), (0.1, 0.2), "not testable at this scale"),
        ((0.9, 0.8), (0.1,), "not testable at this scale"),
    ],
)
def test_a_claim_is_reproduced_when_all_seeds_of_one_lie_beyond_all_of_the_other(a, b, answer):
    assert judge(CLAIM, {"a": seeds_of(*a), "b": seeds_of(*b)}).answer == answer


def test_the_reason_of_a_verdict_has_the_medians_and_the_spread_and_how_it_failed():
    results = {"a": seeds_of(0.1, 0.25, 0.2), "b": seeds_of(0.3, 0.5, 0.4)}
    assert judge(CLAIM, results).reason == (
        "hidden words found: a 20.0% (10.0–25.0) against b 40.0% (30.0–50.0): in reverse order"
    )
    results["a"] = seeds_of(0.1, 0.45, 0.2)
    assert judge(CLAIM, results).reason.endswith(": within the spread of seeds")


def test_of_perplexities_the_lower_is_the_better():
    name = "masked_perplexity"
    claim = Claim(
        "a tells words better", ((Side("a", name), Side("b", name)),), lower_is_better=True
    )
    low, high = seeds_of(2.0, 3.0, measure=name), seeds_of(4.0, 5.0, measure=name)
    assert judge(claim, {"a": low, "b": high}).answer == "reproduced"
    assert judge(claim, {"a": high, "b": low}).answer == "not reproduced"


def test_every_step_of_an_order_must_hold():
    pairs = ((Side("b", "all"), Side("a", "all")), (Side("c", "all"), Side("b", "all")))
    results = {"a": seeds_of(0.1, 0.2), "b": seeds_of(0.3, 0.4), "c": seeds_of(0.5, 0.6)}
    assert judge(Claim("more is better", pairs), results).answer == "reproduced"
    results["c"] = seeds_of(0.35, 0.6)
    assert judge(Claim("more is better", pairs), results).answer == "not reproduced"


def test_a_measure_that_first_weights_reach_is_left_aside_where_another_tells():
    claim = Claim("a is better", (*versus("a", "b", "easy"), *versus("a", "b", "hard")))
    results = {"a": seeds_of(0.7, 0.8, measure="easy"), "b": seeds_of(0.5, 0.6, measure="easy"),
               UNTRAINED: seeds_of(0.9, measure="easy")}  # fmt: skip
    assert judge(claim, results).answer == "not testable at this scale"
    for row, values in (("a", (0.5, 0.6)), ("b", (0.3, 0.4)), (UNTRAINED, (0.1,))):
        for run, value in zip(results[row], values, strict=True):
            run["hard"] = value
    found = judge(claim, results)
    assert found.answer == "reproduced"
    assert found.reason.endswith("easy excluded: an untrained model does as well: 90.0%, "
                                 "against 75.0% at best after pretraining")  # fmt: skip


def test_what_first_weights_can_do_as_well_tests_nothing():
    results = {"a": seeds_of(0.66, 0.67), "b": seeds_of(0.64, 0.65)}
    assert judge(CLAIM, results).answer == "reproduced"
    verdict = judge(CLAIM, {**results, UNTRAINED: seeds_of(0.6, 0.665)})
    assert verdict.answer == "not testable at this scale"
    assert "untrained" in verdict.reason


@pytest.mark.parametrize("table", TABLES)
def test_without_the_labels_of_storyworld_claims_that_need_them_are_not_testable(table):
    only = {"masked_perplexity": 3.0, "seconds": 1.0}
    results = {name: [only, only] for name in VARIANTS[table]}
    for claim in ABLATIONS[table].claims:
        if all(side.measure != "masked_perplexity" for pair in claim.pairs for side in pair):
            assert judge(claim, results).answer == "not testable at this scale"


@pytest.mark.parametrize("table", TABLES)
def test_every_claim_compares_variants_and_measures_that_exist(table):
    for claim in ABLATIONS[table].claims:
        assert claim.pairs or claim.why_not
        for side in (side for pair in claim.pairs for side in pair):
            assert side.variant in VARIANTS[table]
            assert title_of(side.measure)


# The paper's tables as printed: arXiv 1810.04805v2, pages 8, 9 and 16.
PRINTED = {
    "5": ["84.4 · 88.4 · 86.7 · 92.7 · 88.5", "83.9 · 84.9 · 86.5 · 92.6 · 87.9",
          "82.1 · 84.3 · 77.5 · 92.1 · 77.8", "82.1 · 84.1 · 75.7 · 91.6 · 84.9"],
    "6": ["3/768/12: 5.84 · 77.9 · 79.8 · 88.4", "6/768/3: 5.24 · 80.6 · 82.2 · 90.7",
          "6/768/12: 4.68 · 81.9 · 84.8 · 91.3", "12/768/12: 3.99 · 84.4 · 86.7 · 92.9",
          "12/1024/16: 3.54 · 85.7 · 86.9 · 93.3", "24/1024/16", "3.23 · 86.6 · 87.8 · 93.7"],
    "8": ["84.2 · 95.4 · 94.9", "84.3 · 94.9 · 94.0", "84.1 · 95.2 · 94.6",
          "84.4 · 95.2 · 94.7", "83.7 · 94.8 · 94.6", "83.6 · 94.9 · 94.6"],
}  # fmt: skip


@pytest.mark.parametrize("table", list(PRINTED))
def test_the_papers_own_figures_stand_beside_ours(table):
    run = {"masked_perplexity": 3.0, "all": 0.5, "seconds": 1.0}
    results = {name: [run] for name in VARIANTS[table]}
    text = page_of(table, results, variants_of(table)).table()
    rows = dict(zip(VARIANTS[table], text.splitlines()[2:], strict=False))
    for (variant, row), printed in zip(rows.items(), PRINTED[table], strict=False):
        if variant in PAPER[table].rows:
            assert row.startswith(f"| {variant} ")
            assert printed in row
            assert "50.0%" in row
    assert all(figures in text for figures in PRINTED[table])


def test_a_table_of_text_is_markdown_with_columns_that_stand_below_one_another():
    lines = aligned([["", "b"], ["long name", "1"]]).splitlines()
    assert lines == ["|           | b |", "|-----------|---|", "| long name | 1 |"]


def test_the_linear_classifier_finds_what_is_linear_and_not_what_is_not():
    points = torch.randn(600, 2, generator=torch.Generator().manual_seed(0))
    train, test = points[:400], points[400:]
    linear, crossed = (points.sum(1) > 0).long(), (points.prod(1) > 0).long()
    found = features.classify(train, linear[:400], test)
    assert (found == linear[400:]).float().mean() > 0.97
    found = features.classify(train, crossed[:400], test)
    assert (found == crossed[400:]).float().mean() < 0.65


def call(*arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "bert_experiments.ablations", *map(str, arguments)],
        capture_output=True, text=True, encoding="utf-8", timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"table": "7"},
        {"table": "5", "figure": "5"},
        {"figure": "6"},
        {"figure": "5", "corpus": "pydocs"},
        {"table": "5", "seeds": 0},
        {"table": "5", "report": Path("table.txt")},
        {"table": "5", "report": Path("no/such/table.md")},
    ],
)
def test_a_wrong_option_is_told_in_one_line(wrong):
    with pytest.raises(UserError) as told:
        AblationSettings(**wrong)
    assert "\n" not in str(told.value)
    assert "--" in str(told.value)


def test_the_command_tells_a_wrong_table_in_one_line_without_traceback():
    done = call("--table", "9")
    assert done.returncode == 2
    assert done.stderr.strip() == "error: --table 9 is no ablation: there is 5, 6, 8"


@pytest.mark.parametrize("table", TABLES)
def test_a_report_and_a_picture_come_out(table, figure_5, tmp_path, monkeypatch, capsys):
    """Of runs that are feigned, except those of the figure."""
    out, _ = figure_5
    report = tmp_path / "table.md"
    which = ["--figure", "5"] if table == "figure 5" else ["--table", table]
    if table != "figure 5":
        made = dict.fromkeys(ABLATIONS[table].measures, 0.5)
        monkeypatch.setattr(ablation, "trained", lambda runs: runs)
        monkeypatch.setattr(ablation, "figures_of", lambda s: {**made, "seconds": 7.0 + s.seed})
        monkeypatch.setattr(ablation, "untrained_figures", lambda s: {"names": 0.1})
    seeds = 1 if table == "figure 5" else 2
    options = [*which, "--seeds", seeds, "--steps", 8, "--out", out, "--report", report]
    monkeypatch.setattr(sys, "argv", ["ablations", *map(str, options)])
    ablation.main()
    text, printed = report.read_text("utf-8"), capsys.readouterr().out
    assert (tmp_path / "table.png").read_bytes().startswith(b"\x89PNG")
    assert f"python -m bert_experiments.ablations {' '.join(which)}" in text
    assert "one panel per" in text and "](table.png)" in text
    figures = json.loads((tmp_path / "table.json").read_text("utf-8"))
    assert figures["from"] == "the runs" and figures["command"] in text
    assert [one["claim"] for one in figures["verdicts"]] == [
        claim.says for claim in ABLATIONS[table].claims
    ]
    assert set(figures["results"]) >= set(VARIANTS[table])
    for variant in VARIANTS[table]:
        for name, found in figures["results"][variant].items():
            assert figures["titles"][name]
            assert found["lowest"] <= found["median"] <= found["highest"]
            assert len(found["values"]) == found["seeds"] == seeds
    assert "every seed" in text
    for claim in ABLATIONS[table].claims:
        assert claim.says in " ".join(text.split())
        assert claim.says in " ".join(printed.split())
