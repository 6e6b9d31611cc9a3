"""The paper's tables after fine-tuning: what is run, kept, compared with the paper, and judged."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bert_corpus.wordpiece import bert_tokenizer, save_tokenizer
from bert_experiments.ablations.variants import RATES, VARIANTS, Run, run_of, variants_of
from bert_experiments.feature_based.table_7 import FINE_TUNED
from bert_experiments.paper_tables import __main__ as command
from bert_experiments.paper_tables import ablated, one_checkpoint, trials
from bert_experiments.paper_tables.ablated import POINTS, starts_along_the_way, trials_of
from bert_experiments.paper_tables.claims import (
    BERT,
    CLAIMS,
    GAINED,
    HALFWAY,
    LEFT_TO_RIGHT,
    MASKED_WITH_BILSTM,
    MIXES,
    NO_NSP,
    WITH_BILSTM,
    judge_robust,
)
from bert_experiments.paper_tables.columns import (
    ABLATED,
    AVERAGE,
    BASE,
    COLUMNS,
    FEW_KINDS,
    FEW_NAMES,
    FEW_NAMES_HIGHER,
    GLUE_COLUMNS,
    KINDS,
    LARGE,
    MORE_PAIRS,
    NAMES,
    NAMES_HIGHER,
    PAIRS,
    PAPER,
    PERPLEXITY,
    REAL,
    SENTIMENT,
    STAND_INS,
    STANDS_FOR,
    WHO,
    WHO_200,
    WHO_MEAN,
    folder_of,
)
from bert_experiments.paper_tables.one_checkpoint import OURS, Found, asked_columns, verdicts_of
from bert_experiments.paper_tables.settings import TableSettings
from bert_experiments.paper_tables.trials import MAJORITY, RUNS, Trial, collected
from bert_experiments.report.figures import UNTRAINED
from bert_experiments.report.verdicts import Claim
from bert_finetuning.data.load import GLUE
from bert_finetuning.data.storyworld import STORYWORLD
from bert_finetuning.settings import FinetuneSettings
from bert_run.config import PRESETS, BertConfig, initial_weights
from bert_run.errors import UserError
from bert_run.weights import save_weights

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "dog", "barks", "cat", "sleeps"]
CONFIG = BertConfig(
    vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
    intermediate_size=32, max_position_embeddings=64,
)  # fmt: skip


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("checkpoint"), seed=7)


def write_checkpoint(folder: Path, *, seed: int) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    CONFIG.save(folder)
    save_weights(initial_weights(CONFIG, seed), folder / "model.safetensors")
    save_tokenizer(bert_tokenizer(dict.fromkeys(WORDS)), folder, model_max_length=64)
    return folder


@pytest.fixture
def data(tmp_path) -> Path:
    """RTE and SQuAD 1.1 as they are given out; of SST-2 the part to learn from alone."""
    folder = tmp_path / "data"
    for name in ("RTE", "SST-2", "squad"):
        (folder / name).mkdir(parents=True)
    rows = [f"{i}\ta dog {verb}\ta cat {verb}\t{label}" for i in range(12)
            for verb, label in (("barks", "entailment"), ("sleeps", "not_entailment"))]  # fmt: skip
    for split in ("train", "dev"):
        text = "\n".join(["index\tsentence1\tsentence2\tlabel", *rows]) + "\n"
        (folder / "RTE" / f"{split}.tsv").write_text(text, "utf-8")
        (folder / "squad" / f"{split}-v1.1.json").write_text("{}", "utf-8")
    (folder / "SST-2" / "train.tsv").write_text("sentence\tlabel\na dog\t1\n", "utf-8")
    return folder


@pytest.fixture
def counted(monkeypatch) -> list[FinetuneSettings]:
    """Fine-tuning that only writes down what it was asked for; scores rise from run to run."""
    asked = []

    def pretend(settings: FinetuneSettings) -> dict:
        asked.append(settings)
        metrics = ("accuracy", "f1", "exact", "entity_f1", "spearman")
        scores = dict.fromkeys(metrics, 0.5 + 0.001 * len(asked))
        return {"scores": scores, "majority": dict.fromkeys(metrics, 0.25)}

    for how in RUNS:
        monkeypatch.setitem(RUNS, how, pretend)
    return asked


@pytest.fixture
def pretrained(monkeypatch) -> None:
    """Every run of the ablations is there, with checkpoints after each tenth of its steps."""

    def pretend(runs):
        for run in runs:
            if not run.settings.out.exists():
                write_checkpoint(run.settings.out, seed=len(run.variant) + run.seed)
                for tenth in range(1, 11):
                    step = run.settings.steps * tenth // 10
                    path = run.settings.out / "checkpoints" / f"step-{step:08}"
                    write_checkpoint(path, seed=100 * tenth + len(run.variant) + run.seed)
            yield run

    monkeypatch.setattr(ablated, "trained", pretend)
    monkeypatch.setattr(one_checkpoint, "trained", pretend)


def settings_of(tmp_path: Path, **given) -> TableSettings:
    return TableSettings(pretrained=tmp_path / "pretrained", out=tmp_path / "out", **given)


def tuned(checkpoint: Path, out: Path, **given) -> FinetuneSettings:
    return FinetuneSettings(task="pairs", checkpoint=str(checkpoint), out=out, **given)


# What is run.


def test_every_variant_is_fine_tuned_on_every_task_of_its_table(tmp_path):
    for table, variant in (("5", "no NSP"), ("6", "4/128/4"), ("8", "0/20/80")):
        settings = settings_of(tmp_path, table=table)
        run = Run(variant, 1, run_of(ablated.variants(settings)[variant], seed=1, out=tmp_path))
        found = [trial for trial in trials_of(run, settings) if not trial.restart]
        assert [name for trial in found for name in trial.columns] == list(ABLATED[table])
        assert {trial.settings.checkpoint for trial in found} == {str(run.settings.out)}
        assert {trial.settings.seed for trial in found} == {1}
        assert [trial.settings.task for trial in found] == [
            COLUMNS[name].task for name in ABLATED[table]
        ]


def test_a_restart_is_another_seed_of_fine_tuning_the_same_model(tmp_path):
    settings = settings_of(tmp_path, table="6")
    run = Run("4/128/4", 1, run_of(ablated.variants(settings)["4/128/4"], seed=1, out=tmp_path))
    found = [trial for trial in trials_of(run, settings) if WHO_MEAN in trial.columns]
    assert [trial.settings.seed for trial in found] == [1, 101, 201, 301, 401]
    assert {trial.settings.checkpoint for trial in found} == {str(run.settings.out)}


def test_the_figure_of_a_column_with_restarts_is_their_mean(tmp_path, monkeypatch):
    monkeypatch.setattr(Trial, "is_done", True)
    monkeypatch.setattr(Trial, "read", lambda trial: {
        "scores": {"exact": trial.settings.seed / 100}, "majority": {"exact": 0.1}})  # fmt: skip
    first = Trial("a row", {WHO_MEAN: "exact"}, tuned(tmp_path, tmp_path, seed=2))
    found = collected([first.restarted(number) for number in range(3)])
    assert found["a row"] == [{WHO_MEAN: pytest.approx(1.02)}]


def test_names_are_learned_once_more_at_four_times_the_rate_of_bert_finetune(tmp_path):
    settings = settings_of(tmp_path, table="8")
    run = Run("0/20/80", 1, run_of(ablated.variants(settings)["0/20/80"], seed=1, out=tmp_path))
    rates = {column: trial.settings.learning_rate
             for trial in trials_of(run, settings) for column in trial.columns}  # fmt: skip
    usual = FinetuneSettings(task="names", checkpoint="none").rate(128)
    assert rates[NAMES] is None and rates[FEW_NAMES] is None
    assert rates[NAMES_HIGHER] == rates[FEW_NAMES_HIGHER] == pytest.approx(4 * usual)


def test_each_size_has_a_rate_of_its_own_and_the_page_says_what_the_others_reached(
    tmp_path, monkeypatch
):
    settings = settings_of(tmp_path, table="6")
    rates = [variant.learning_rate for variant in ablated.variants(settings).values()]
    assert rates == 3 * [RATES[0]] + 2 * [RATES[1]]
    done = {run_of(variants_of("6", learning_rate=rate)["4/128/4"], seed=0,
                   out=settings.pretrained).out: 1 / rate for rate in RATES[:2]}  # fmt: skip
    monkeypatch.setattr(Run, "is_trained", property(lambda run: run.settings.out in done))
    monkeypatch.setattr(ablated, "figures_of", lambda run: {PERPLEXITY: done[run.out]})
    assert ablated.rates_tried(settings) == ["4/128/4 166.67, 333.33, –"]


def test_the_left_to_right_model_reads_texts_by_their_mean_and_has_a_row_with_a_bilstm(tmp_path):
    settings = settings_of(tmp_path, table="5")
    variant = ablated.variants(settings)[LEFT_TO_RIGHT]
    found = trials_of(Run(LEFT_TO_RIGHT, 0, run_of(variant, seed=0, out=tmp_path)), settings)
    pooling = {next(iter(t.columns)): t.settings.pooling for t in found if t.row == LEFT_TO_RIGHT}
    assert pooling == {PAIRS: "mean", SENTIMENT: "mean", WHO: "cls", KINDS: "cls",
                       MORE_PAIRS: "mean", FEW_KINDS: "cls"}  # fmt: skip
    with_bilstm = [t for t in found if t.row == WITH_BILSTM]
    assert {t.how for t in with_bilstm} == {"with-bilstm"}
    assert [next(iter(t.columns)) for t in with_bilstm] == [PAIRS, SENTIMENT, WHO, MORE_PAIRS]


def test_the_untrained_model_learns_the_same_from_first_weights(tmp_path):
    settings = settings_of(tmp_path, table="5", examples=64)
    run = Run(BERT, 2, run_of(ablated.variants(settings)[BERT], seed=2, out=tmp_path))
    write_checkpoint(run.settings.out, seed=0)
    found = trials_of(run, settings)
    for row in (BERT, UNTRAINED):
        assert sum(trial.row == row for trial in found) == len(ABLATED["5"])
    for trial in found:
        from_scratch = trial.row == UNTRAINED
        assert trial.settings.from_scratch == from_scratch
        assert (trial.settings.model == str(run.settings.out)) == from_scratch
        assert trial.settings.few_shot == 64


def test_figure_5_takes_the_nearest_checkpoints_and_shares_the_last_with_table_5(
    tmp_path, counted, pretrained
):
    page = command.page_of(settings_of(tmp_path, figure="5", seeds=1, steps=25))
    assert page.columns == tuple(f"{task}@{share}%" for task in (PAIRS, WHO) for share in POINTS)
    assert list(page.results) == [BERT, LEFT_TO_RIGHT, UNTRAINED]
    assert len(counted) == 2 * (2 * len(POINTS) + 1)
    run = Run(BERT, 0, run_of(ablated.variants(settings_of(tmp_path, figure="5", steps=25))[BERT],
                              seed=0, out=tmp_path / "pretrained"))  # fmt: skip
    starts = starts_along_the_way(run)
    names = [path.name for share, path in starts.items() if share != 100]
    assert names == [f"step-{step:08}" for step in (2, 5, 10, 12, 15, 20)]
    assert starts[100] == run.settings.out
    before = len(counted)
    command.page_of(settings_of(tmp_path, table="5", seeds=1, steps=25))
    again = [asked for asked in counted[before:]
             if asked.task == "reports" and asked.few_shot == 500]  # fmt: skip
    assert len(again) == len(VARIANTS["5"]) + 1 - 2  # and the BiLSTM; two are there, and untrained


def test_with_fewer_labels_the_bert_of_half_its_steps_has_a_row_and_the_bilstm_too(
    tmp_path, counted, pretrained, monkeypatch
):
    monkeypatch.setattr(ablated, "figures_by_step", lambda _: {10: {"all": 0.4}, 20: {"all": 0.6}})
    page = command.page_of(settings_of(tmp_path, table="5-few", seeds=1, steps=20))
    assert list(page.results) == [BERT, HALFWAY, NO_NSP, MASKED_WITH_BILSTM, LEFT_TO_RIGHT,
                                  WITH_BILSTM, UNTRAINED, MAJORITY]  # fmt: skip
    assert page.columns == (WHO_200, "all")
    assert [page.results[row][0]["all"] for row in (BERT, HALFWAY)] == [0.6, 0.4]
    asked = [(each.few_shot, Path(each.checkpoint).name) for each in counted]
    halfway = "step-00000010"
    assert asked.count((200, halfway)) == sum(name == halfway for _, name in asked) == 5
    assert len(asked) == 7 * 5


def test_columns_of_one_task_are_one_run(tmp_path, counted, checkpoint):
    page = command.page_of(settings_of(tmp_path, table="2", checkpoint=str(checkpoint), seeds=2))
    assert [asked.task for asked in counted] == ["questions"] * 4
    assert page.columns == STAND_INS["2"]
    assert list(page.results) == [OURS, UNTRAINED, MAJORITY, BASE, LARGE]


# What is kept.


def test_a_run_is_done_once_and_others_for_other_settings_or_weights(tmp_path, counted, checkpoint):
    trial = Trial("a row", {PAIRS: "accuracy"}, tuned(checkpoint, tmp_path / "out"))
    results = collected([trial])
    assert results == {"a row": [{PAIRS: 0.501}], MAJORITY: [{PAIRS: 0.25}]}
    assert collected([trial]) == results
    assert len(counted) == 1
    other = write_checkpoint(tmp_path / "other", seed=8)
    moved = write_checkpoint(tmp_path / "moved", seed=7)
    for changed in (
        replace(trial.settings, epochs=2.0),
        replace(trial.settings, seed=1),
        replace(trial.settings, checkpoint=str(other)),
        replace(trial.settings, checkpoint="none", model=str(checkpoint)),
    ):
        assert not replace(trial, settings=changed).is_done
    assert not replace(trial, how="with-bilstm").is_done
    assert replace(trial, settings=replace(trial.settings, checkpoint=str(moved))).is_done


def test_figures_that_another_tokenizer_read_are_not_taken_for_these(tmp_path, counted):
    start = write_checkpoint(tmp_path / "start", seed=7)
    trial = Trial("a row", {PAIRS: "accuracy"}, tuned(start, tmp_path / "out"))
    collected([trial])
    tokenizer = start / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text("utf-8") + " ", encoding="utf-8")
    with pytest.raises(UserError, match="before the configuration or the tokenizer"):
        collected([trial])


def test_progress_tells_which_run_of_how_many_and_the_time_left(
    tmp_path, counted, checkpoint, capsys
):
    made = [Trial("a row", {PAIRS: "accuracy"}, tuned(checkpoint, tmp_path, seed=seed))
            for seed in (0, 1, 2)]  # fmt: skip
    collected(made[1:2])
    capsys.readouterr()
    collected(made)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "2 of 3 runs are to be done: about 1 minutes on two cores",
        f"run 1 of 3: a row, {PAIRS}, seed 0",
        f"run 3 of 3: a row, {PAIRS}, seed 2; about 0 minutes left for 1 runs",
        "2 runs took 0.0 minutes",
    ]


def test_of_a_short_run_only_its_warnings_are_heard(tmp_path, monkeypatch, checkpoint, capsys):
    def loud(settings):
        print("a table")
        print("task  pairs\nwarning: it has learned nothing; try another seed", file=sys.stderr)
        return {"scores": {"accuracy": 0.5}, "majority": {}}

    monkeypatch.setitem(RUNS, "fine-tuned", loud)
    collected([Trial("a row", {PAIRS: "accuracy"}, tuned(checkpoint, tmp_path))])
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[2:-1] == ["  warning: it has learned nothing"]


# What is shown and judged.


def test_claims_are_about_rows_and_columns_that_their_table_has():
    for table, claims in CLAIMS.items():
        columns = {*ABLATED[table], PERPLEXITY, "all", *map(GAINED.format, ABLATED["figure 5"]),
                   *(f"{task}@{s}%" for task in (PAIRS, WHO) for s in POINTS)}  # fmt: skip
        for side in (side for claim in claims for pair in claim.pairs for side in pair):
            assert side.variant in {
                *VARIANTS.get(table, VARIANTS["5"]),
                WITH_BILSTM,
                MASKED_WITH_BILSTM,
                HALFWAY,
            }
            assert side.measure in columns


def test_the_papers_figures_stand_beside_ours(tmp_path, counted, pretrained):
    text = command.page_of(settings_of(tmp_path, table="5", seeds=2)).text()
    rows = {line.split("|")[1].strip(): line for line in text.splitlines() if line[:1] == "|"}
    assert list(rows)[2:] == [
        BERT, "no NSP", LEFT_TO_RIGHT, WITH_BILSTM, "sentence order (SOP)",
        "running text, no NSP", UNTRAINED, MAJORITY,
    ]  # fmt: skip
    assert "84.4 · 88.4 · 86.7 · 92.7 · 88.5" in rows[BERT]
    assert "82.1 · 84.1 · 75.7 · 91.6 · 84.9" in rows[WITH_BILSTM]
    assert "| 52.2% (50.2–54.2) |" in rows[BERT]  # sentiment: runs 2 and 42 of 80
    assert text.count("- **") == len(CLAIMS["5"])


def test_the_average_of_the_papers_glue_is_that_of_its_nine_columns():
    for row in (BASE, LARGE):
        nine = [PAPER["1"][row][column] for column in GLUE_COLUMNS[:-1]]
        assert sum(nine) / 9 == pytest.approx(PAPER["1"][row][AVERAGE], abs=0.06)
    assert tuple(REAL["1"]) == GLUE_COLUMNS[:-1]
    assert {column.task for column in REAL["1"].values()} == set(GLUE) - {"mnli-mm", "wnli"}


def test_the_tasks_are_learned_as_the_paper_learns_them(checkpoint):
    base = one_checkpoint.Start(str(checkpoint), "base", PRESETS["base"])
    recipes = {}
    for table, columns in REAL.items():
        for column in columns.values():
            asked = TableSettings(table=table, data="hub", checkpoint="x")
            tuned = one_checkpoint.asked_settings(column, asked, base, 0)
            recipe = tuned.epochs, tuned.batch_size, tuned.rate(768)
            assert recipes.setdefault(tuned.task, recipe) == recipe  # columns of one run agree
    for task in recipes.keys() & GLUE.keys():
        assert recipes[task] == (3, 32, 5e-5)  # section 4.1, the first of its rates
    assert recipes["squad"] == (3, 32, 5e-5)  # section 4.2
    assert recipes["squad2"] == (2, 48, 5e-5)  # section 4.3
    assert recipes["swag"] == (3, 16, 2e-5)  # section 4.4


def test_every_column_that_stands_in_stands_for_one_of_the_papers():
    for table, columns in STAND_INS.items():
        assert set(STANDS_FOR[table]) == set(columns)
        for theirs in STANDS_FOR[table].values():
            assert theirs in REAL[table]
            assert theirs in PAPER[table][LARGE]


def mixes(spread: float, apart: float) -> dict:
    """Two seeds of each mix, `spread` points apart; medians from 60% to `apart` points more."""
    middles = [0.6 + apart / 100 * number / (len(MIXES) - 1) for number in range(len(MIXES))]
    return {mix: [{PAIRS: middle - spread / 200}, {PAIRS: middle + spread / 200}]
            for mix, middle in zip(MIXES, middles, strict=True)}  # fmt: skip


def test_fine_tuning_is_robust_when_mixes_differ_no_more_than_seeds():
    def answer(results, columns=(PAIRS,)):
        return judge_robust(Claim("it is robust"), columns, results).answer

    assert answer(mixes(spread=3, apart=2)) == "reproduced"
    assert answer(mixes(spread=2, apart=3)) == "not reproduced"
    alike = mixes(spread=3, apart=2) | {UNTRAINED: [{PAIRS: 0.7}]}
    assert answer(alike) == "not testable at this scale"
    one_seed = {mix: runs[:1] for mix, runs in mixes(3, 2).items()}
    assert answer(one_seed) == "not testable at this scale"


def test_a_column_that_cannot_tell_is_left_aside_and_said():
    apart = mixes(spread=2, apart=3)
    both = {mix: [{**run, WHO: 0.5} for run in runs] for mix, runs in apart.items()}
    both[UNTRAINED] = [{PAIRS: 0.2, WHO: 0.5}]
    found = judge_robust(Claim("it is robust"), (WHO, PAIRS), both)
    assert found.answer == "not reproduced"
    assert "who (SQuAD EM) excluded: an untrained model does as well" in found.reason


def test_a_figure_of_the_paper_is_reached_within_a_point_by_a_model_of_its_sizes(data):
    settings = TableSettings(table="1", data=str(data), checkpoint="x")
    theirs = {BASE: [{"RTE": 0.664}], LARGE: [{"RTE": 0.701}]}

    def answers(config: BertConfig, scores: list[float], settings=settings) -> list[str]:
        results = {OURS: [{"RTE": score} for score in scores], **theirs}
        return [v.answer for v in verdicts_of(Found(results, ("RTE",), [], config), settings)]

    assert answers(PRESETS["base"], [0.70, 0.655, 0.5]) == ["reproduced"]
    assert answers(PRESETS["base"], [0.70, 0.653, 0.5]) == ["not reproduced"]
    assert answers(PRESETS["large"], [0.67]) == ["not reproduced"]
    assert answers(PRESETS["tiny"], [0.70]) == ["not testable at this scale"]
    few = replace(settings, examples=100)
    assert answers(PRESETS["base"], [0.70], few) == ["not testable at this scale"]
    stands_in = TableSettings(table="1")
    assert answers(PRESETS["base"], [0.70], stands_in) == ["not testable at this scale"]


def test_a_set_may_hold_fewer_examples_than_are_asked_for(data):
    settings = TableSettings(table="1", data=str(data), checkpoint="x", examples=5_000)
    assert one_checkpoint.training_examples(settings) == "Training: at most 5,000 examples."


def test_stand_ins_are_named_as_such(tmp_path, counted, pretrained):
    text = command.page_of(settings_of(tmp_path, table="4", seeds=1)).text()
    assert "These are not the paper's tasks" in text
    assert "endings (SWAG)" in text
    assert "81.6%" in text


def test_table_7_has_the_features_beside_fine_tuning(tmp_path, monkeypatch, checkpoint):
    scores = {"embeddings": 0.91, "last": 0.95, "second-to-last": 0.955, "sum-last-4": 0.9,
              "weighted-sum-last-4": 0.9, "concat-last-4": 0.96, "sum-all": 0.9,
              "weighted-sum-all": 0.9, UNTRAINED: 0.5, "entity_f1": 0.964}  # fmt: skip
    for how in RUNS:
        monkeypatch.setitem(
            RUNS, how, lambda s: {"scores": {k: v + s.seed / 1000 for k, v in scores.items()},
                                  "majority": {"entity_f1": 0.0}},
        )  # fmt: skip
    page = command.page_of(settings_of(tmp_path, table="7", checkpoint=str(checkpoint), seeds=2))
    assert next(iter(page.results)) == FINE_TUNED
    assert "| concat-last-4       | 96.0% (96.0–96.1) | 96.1" in page.table()
    assert [verdict.answer for verdict in page.verdicts] == ["reproduced"] * 4


@pytest.mark.parametrize("asked", [{"table": "8"}, {"figure": "5"}, {"table": "1"}])
def test_a_picture_of_every_kind_can_be_drawn(tmp_path, counted, pretrained, asked, pictures):
    settings = settings_of(tmp_path, seeds=1, **asked)
    picture = command.picture_of(command.page_of(settings), settings)
    picture.save(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 5_000


# Real data.


def test_a_tasks_folder_is_found_by_its_name_and_its_files(data):
    assert folder_of("rte", data) == data / "RTE"
    assert folder_of("rte", data / "RTE") == data / "RTE"
    assert folder_of("rte", data / "SST-2") is None
    assert folder_of("sst-2", data) is None  # it has nothing to measure on
    assert folder_of("squad", data) == data / "squad"
    assert folder_of("squad", data / "squad") == data / "squad"
    assert folder_of("squad2", data) is None


def test_tasks_without_data_are_left_out_by_name(data):
    there, missing = asked_columns(TableSettings(table="1", data=str(data), checkpoint="x"))
    assert list(there) == ["RTE"]
    assert missing == [name for name in REAL["1"] if name != "RTE"]
    with pytest.raises(UserError, match=r"no data of Table 4: put train\.csv and val\.csv"):
        asked_columns(TableSettings(table="4", data=str(data), checkpoint="x"))


def test_a_table_from_real_files_to_its_report_and_nothing_is_done_twice(
    tmp_path, data, checkpoint, monkeypatch, capsys
):
    report = tmp_path / "glue.md"
    arguments = ["--table", "1", "--data", data, "--checkpoint", checkpoint, "--seeds", "2",
                 "--epochs", "1", "--device", "cpu", "--out", tmp_path / "out",
                 "--report", report]  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["tables", *map(str, arguments)])
    command.main()
    first = capsys.readouterr()
    assert "run 4 of 4" in first.err
    assert "left out: MNLI-m, MNLI-mm, QQP, QNLI, SST-2, CoLA, STS-B, MRPC" in first.err
    text = report.read_text("utf-8")
    assert "python -m bert_experiments.paper_tables --table 1 --seeds 2" in text
    assert re.search(r"\| ours +\| \d", text)
    assert re.search(r"\| the paper: base +\| 66\.4%", text)
    assert report.with_suffix(".png").exists()
    figures = json.loads(report.with_suffix(".json").read_text("utf-8"))
    assert len(figures["results"][OURS]["RTE"]["values"]) == 2
    assert figures["results"][BASE]["RTE"]["median"] == 0.664
    command.main()
    again = capsys.readouterr()
    assert "run " not in again.err
    assert again.out.splitlines()[0] in first.out
    assert report.read_text("utf-8") == text


def test_storyworld_is_learned_and_only_figures_are_kept(tmp_path, checkpoint, monkeypatch):
    few = replace(STORYWORLD["sentiment"], train=40, heldout=60)
    monkeypatch.setitem(STORYWORLD, "sentiment", few)
    settings = settings_of(tmp_path, table="1", checkpoint=str(checkpoint), seeds=1, examples=8,
                           epochs=1.0, device="cpu", untrained=False)  # fmt: skip
    asked = one_checkpoint.Start(str(checkpoint), "start", CONFIG)
    column = {SENTIMENT: COLUMNS[SENTIMENT]}
    (trial,) = one_checkpoint.trials_of(column, settings, asked, 0)
    assert 0.3 < collected([trial])[OURS][0][SENTIMENT] < 0.7
    assert (trial.folder / trials.FIGURES_FILE).exists()
    assert (trial.folder / "metrics.json").exists()
    assert not list(trial.folder.rglob("*.safetensors"))


# What is wrong.


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "give one of --table 1 to --table 8 and --figure 5"),
        ({"table": "5", "figure": "5"}, "give one of"),
        ({"table": "9"}, "--table 9 is not here: there is 1, 2, 3, 4, 5, 5-few, 6, 7, 8"),
        ({"figure": "4"}, "--figure 4 is not here"),
        ({"table": "5", "seeds": 0}, "--seeds is 0: it must be a whole number from 1"),
        ({"table": "5", "examples": 0}, "--examples is 0"),
        ({"table": "5", "epochs": 0.0}, "--epochs is 0.0: it must be a number above 0"),
        ({"table": "5", "report": Path("x.txt")}, "its name must end in .md"),
        ({"table": "5", "report": Path("no/x.md")}, "there is no folder no"),
        ({"table": "5", "data": "hub"}, "--data is not for table 5"),
        ({"table": "8", "checkpoint": "x"}, "--checkpoint is not for table 8"),
        ({"table": "1", "checkpoint": "x", "steps": 5}, "--steps is not for table 1"),
        ({"table": "1", "checkpoint": "x", "data": "no"}, "--data no: there is no such folder"),
        ({"table": "1", "data": "hub"}, "what is to be fine-tuned on it? Give --checkpoint"),
    ],
)
def test_a_wrong_option_is_told_in_one_line(given, said):
    with pytest.raises(UserError) as error:
        TableSettings(**given)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_more_examples_than_there_are_is_told_before_anything_is_trained(tmp_path, pretrained):
    for table in ("4", "5", "7"):
        with pytest.raises(UserError, match=r"--examples is 5,000: StoryWorld's \w+ are [12],000"):
            command.page_of(settings_of(tmp_path, table=table, examples=5_000))
    assert not (tmp_path / "pretrained").exists()
