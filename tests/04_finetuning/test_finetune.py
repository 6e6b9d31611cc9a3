"""`bert-finetune` as a user calls it: seeds, resuming, ranks, what it leaves in its folder."""

import inspect
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers
from safetensors.numpy import load_file

import bert_finetuning.train
from bert_corpus.wordpiece import bert_tokenizer, save_tokenizer
from bert_finetuning.checkpoint import ModelInit, load_finetuned
from bert_finetuning.data.load import GLUE, KNOWN, few_of, load_task
from bert_finetuning.data.storyworld import STORYWORLD
from bert_finetuning.finetune import Finetuning, Measured, Outcome, finetune, prediction_line
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks.base import HeadConfig
from bert_finetuning.tasks.classification import Classification, TextExample
from bert_finetuning.train import SeedResult, SeedRun
from bert_run.config import BertConfig, initial_weights
from bert_run.errors import UserError
from bert_run.training_loop import read_metrics
from bert_run.weights import save_weights

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["good", "bad", "the", "soup", "was", "very", "film", "song", "and", "a", "long", "short"]
LETTERS = [f"{mark}{letter}" for letter in "abcdefghijklmnopqrstuvwxyz" for mark in ("", "##")]
CONFIG = BertConfig(
    vocab_size=len({*SPECIAL, *WORDS, *LETTERS}), hidden_size=16, num_hidden_layers=2,
    num_attention_heads=2, intermediate_size=32, max_position_embeddings=32,
)  # fmt: skip


@pytest.fixture(scope="session")
def files(tmp_path_factory) -> Path:
    """A checkpoint of a few thousand numbers, and two files of reviews: good ones say "good"."""
    folder = tmp_path_factory.mktemp("finetune")
    checkpoint = folder / "checkpoint"
    checkpoint.mkdir()
    CONFIG.save(checkpoint)
    save_weights(initial_weights(CONFIG, seed=7), checkpoint / "model.safetensors")
    entries = dict.fromkeys([*SPECIAL, *WORDS, *LETTERS])
    save_tokenizer(bert_tokenizer(entries), checkpoint, model_max_length=32)
    for name, count, seed in (("train.csv", 90, 0), ("dev.csv", 41, 1)):
        generator = np.random.default_rng(seed)
        rows = ["text,label"]
        for _ in range(count):
            label = str(generator.choice(["praise", "blame"], p=[0.6, 0.4]))
            words = generator.choice(WORDS[2:], generator.integers(2, 14)).tolist()
            words.insert(
                int(generator.integers(len(words))), dict(praise="good", blame="bad")[label]
            )
            rows.append(f"{' '.join(words)},{label}")
        (folder / name).write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def settings(files, tmp_path) -> FinetuneSettings:
    return FinetuneSettings(
        train=str(files / "train.csv"), dev=str(files / "dev.csv"),
        checkpoint=str(files / "checkpoint"), out=tmp_path / "out", epochs=2.0, batch_size=16,
        learning_rate=5e-3, device="cpu", precision="fp32",
    )  # fmt: skip


def arguments(settings: FinetuneSettings) -> list[str]:
    """Settings as a command line."""
    defaults = {name: getattr(FinetuneSettings, name) for name in asdict(settings)}
    changed = {name: value for name, value in asdict(settings).items() if value != defaults[name]}
    return [part for name, value in changed.items()
            for part in (f"--{name.replace('_', '-')}", str(value))]  # fmt: skip


def start(settings: FinetuneSettings, ranks: int = 1) -> subprocess.Popen:
    launcher = [sys.executable, "-m"]
    if ranks > 1:
        launcher += ["torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), "-m"]
    return subprocess.Popen(
        [*launcher, "bert_finetuning.finetune", *arguments(settings)], start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8",
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def finish(process: subprocess.Popen) -> str:
    output, _ = process.communicate(timeout=200)
    assert process.returncode == 0, output
    return output


def measured(folder: Path) -> list[dict]:
    """What a run wrote down, apart from its speed."""
    records = read_metrics(folder / "metrics.jsonl")
    return [{k: v for k, v in each.items() if k != "examples_per_second"} for each in records]


def same_weights(one: Path, other: Path, *, within: float = 0.0) -> bool:
    a, b = (load_file(folder / "model.safetensors") for folder in (one, other))
    return a.keys() == b.keys() and all(np.abs(a[n] - b[n]).max() <= within for n in a)


# What comes out.


def test_the_folder_opens_in_transformers_class_and_answers_alike(settings, pictures):
    outcome = finetune(settings)
    theirs = transformers.BertForSequenceClassification.from_pretrained(settings.out).eval()
    ours = load_finetuned(settings.out).model
    ids = torch.tensor([[2, 7, 8, 9, 5, 3]])
    zeros, ones = torch.zeros_like(ids), torch.ones_like(ids)
    with torch.no_grad():
        assert (theirs(ids).logits - ours(ids, zeros, ones)).abs().max() < 1e-5
    assert theirs.config.id2label == {0: "blame", 1: "praise"}
    lines = (settings.out / "predictions.jsonl").read_text("utf-8").splitlines()
    shown = [json.loads(line) for line in lines]
    right = np.mean([each["label"] == each["right"] for each in shown])
    assert len(shown) == 41 and right == pytest.approx(outcome.best.best["accuracy"])
    for name in ("README.md", "errors.md", "curve.png", "confusion.png"):
        assert (settings.out / name).stat().st_size > 500, name
    assert not list(settings.out.rglob("checkpoints")), "only an unfinished run needs them"
    assert not list(settings.out.rglob("*.part"))


def test_seeds_differ_and_their_median_spread_and_majority_are_written(settings, capsys):
    outcome = finetune(replace(settings, seeds=3))
    written = json.loads((settings.out / "metrics.json").read_text("utf-8"))
    scores = [each["best"]["accuracy"] for each in written["seeds"]]
    assert written["median"]["accuracy"] == statistics.median(scores)
    assert (written["lowest"]["accuracy"], written["highest"]["accuracy"]) == (
        min(scores),
        max(scores),
    )
    labels = [line.split(",")[1] for line in Path(settings.dev).read_text().splitlines()[1:]]
    assert written["majority"]["accuracy"] == labels.count("praise") / len(labels)
    assert same_weights(settings.out, outcome.folder / "best")
    assert outcome.folder.name == f"seed-{written['best_seed']}"
    losses = [measured(settings.out / f"seed-{n}")[0]["train_loss"] for n in range(3)]
    assert len(set(losses)) == 3
    printed = capsys.readouterr().out
    for words in ("seed 2", "median of 3", "majority", "bert-predict", str(settings.out)):
        assert words in printed


@pytest.mark.parametrize("best", [0, 1])
def test_of_several_seeds_the_model_with_the_highest_score_answers(settings, monkeypatch, best):
    settings, measured_by = replace(settings, seeds=2), SeedResult.read

    def read(folder, metric):
        """The result of a run that is over, with a score that is given."""
        if (result := measured_by(folder, metric)) is None:
            return None
        score = 0.75 if folder.name == f"seed-{best}" else 0.25
        return replace(result, best={**result.best, metric: score})

    finetune(settings)
    monkeypatch.setattr(SeedResult, "read", read)
    outcome = finetune(settings)
    assert (outcome.folder.name, outcome.best.seed) == (f"seed-{best}", best)
    assert same_weights(settings.out, outcome.folder / "best")


def outcome_of(*results: SeedResult) -> Outcome:
    """What finished seeds lead to that are judged by entity_f1."""
    return Outcome(
        task="names", metric="entity_f1", start="", examples=(3, 2), majority={"entity_f1": 0.1},
        results=results, folder=Path("out"), grid={}, chosen="", inputs={}, seen=(0, 0),
    )  # fmt: skip


def test_the_figures_of_all_seeds__leave_out_a_type_of_name_that_some_seeds_never_find():
    best = {"step": 3, "collapsed": 0.0, "entity_f1": 0.9, "LOC_f1": 0.0}  # predicted, not in dev
    other = {"step": 3, "collapsed": 0.0, "entity_f1": 0.5, "PER_f1": 0.5}
    written = outcome_of(SeedResult(0, best, best, False), SeedResult(1, other, other, False))
    content = written.as_json({})
    for name, score in (("median", 0.7), ("lowest", 0.5), ("highest", 0.9)):
        assert content[name] == {"entity_f1": pytest.approx(score)}
    assert [each["best"] for each in content["seeds"]] == [best, other]


def test_the_table__tells_a_model_that_collapsed_from_a_run_that_collapsed_later():
    good, bad = ({"step": 4, "entity_f1": 0.7, "collapsed": 0.0},
                 {"step": 12, "entity_f1": 0.1, "collapsed": 1.0})  # fmt: skip
    early = {**bad, "step": 4, "entity_f1": 0.2}  # the same answer for all, another one
    results = [SeedResult(0, good, good, False), SeedResult(1, good, bad, True),
               SeedResult(2, early, bad, True)]  # fmt: skip
    rows = [line.split(maxsplit=3)[3] for line in outcome_of(*results).table().splitlines()[1:4]]
    assert rows[0] == "at step 4; at the last, 4, 70.0"
    same = "the same answer for every example"
    assert rows[1] == f"at step 4; at the last, 12, 10.0: by then it predicts {same}"
    assert rows[2] == f"collapsed: it predicts {same}"


def test_the_best_model_on_dev_is_kept_and_the_last_one_too(settings):
    settings = replace(settings, eval_every=2)
    outcome = finetune(settings)
    entries = [e for e in measured(settings.out / "seed-0") if "dev_accuracy" in e]
    scores = [entry["dev_accuracy"] for entry in entries]
    assert outcome.best.best["accuracy"] == max(scores)
    assert outcome.best.best["step"] == entries[scores.index(max(scores))]["step"]
    assert outcome.best.last["accuracy"] == scores[-1]
    assert outcome.best.best["step"] < outcome.best.last["step"], "choose other data for this test"
    assert not same_weights(settings.out / "seed-0", settings.out / "seed-0" / "best")


def test_pretrained_or_not_is_one_option(settings, files):
    nothing = replace(settings, checkpoint="none", model=str(files / "checkpoint"), epochs=1.0)
    assert "from scratch" in finetune(nothing).start
    own = replace(nothing, model="tiny", out=nothing.out.with_name("own"), batch_size=64)
    finetune(own)
    vocabulary = (own.out / "vocab.txt").read_text("utf-8").split()
    assert "praise" not in vocabulary and {"good", "soup", "film"} <= set(vocabulary)


def test_few_shot_learns_from_so_many_and_each_seed_draws_its_own(settings, monkeypatch):
    drawn = []

    def few(examples: list, count: int, *, seed: int) -> list:
        drawn.append(few_of(examples, count, seed=seed))
        return drawn[-1]

    monkeypatch.setattr("bert_finetuning.finetune.few_of", few)
    outcome = finetune(replace(settings, few_shot=8, seeds=2, batch_size=4))
    assert [len(each) for each in drawn[:2]] == [8, 8] and drawn[0] != drawn[1]
    assert drawn[2:4] == drawn[:2], "each was looked at before any work"
    best = drawn[outcome.best.seed]
    assert drawn[4:] == [best, best], "the majority, and what dev repeats, are those of the best"
    assert outcome.examples[0] == 8
    assert outcome.best.last["step"] == 4, "two epochs of two steps"


def test_few_shot__counts_what_dev_repeats_of_the_few_alone(settings):
    outcome = finetune(replace(settings, dev=settings.train, few_shot=4, epochs=1.0))
    written = json.loads((settings.out / "metrics.json").read_text("utf-8"))
    assert written["dev_examples_in_train"] == outcome.seen[0] < 90
    data = load_task(settings)
    few = {example.text for example in few_of(data.train, 4, seed=0)}
    assert outcome.seen[0] == sum(example.text in few for example in data.train) >= 4
    card = (settings.out / "README.md").read_text("utf-8")
    assert f"On 90 examples, {outcome.seen[0]} of which are also in its training data" in card


def test_a_model__is_built_once_for_each_seed(settings, monkeypatch):
    built, build = [], ModelInit.build

    def counted(init: ModelInit, seed: int):
        built.append(seed)
        return build(init, seed)

    monkeypatch.setattr(ModelInit, "build", counted)
    finetune(replace(settings, seeds=2, epochs=0.5))
    assert built == [0, 1]


def test_the_grid_runs_all_combinations_and_keeps_the_best(settings, monkeypatch):
    monkeypatch.setattr("bert_finetuning.finetune.EPOCHS", (1.0,))
    monkeypatch.setattr("bert_finetuning.finetune.RATES", (1e-4, 1e-9))
    settings = replace(settings, grid=True, learning_rate=None, epochs=3.0, batch_size=32)
    outcome = finetune(settings)
    assert len(outcome.grid) == 4
    medians = {name: statistics.median(each["best"]["accuracy"] for each in entry["seeds"])
               for name, entry in written_grid(settings.out).items()}  # fmt: skip
    assert medians[outcome.chosen] == max(medians.values())
    models = {path.parents[2].name for path in settings.out.rglob("best/model.safetensors")}
    assert models == {outcome.chosen}
    assert same_weights(settings.out, outcome.folder / "best")


@pytest.mark.parametrize("width", [16, 96, 160, 768])
def test_a_grid_has_18_combinations_for_models_of_every_width(width):
    work = SimpleNamespace(settings=FinetuneSettings(grid=True, task="sentiment", checkpoint="x"),
                           config=SimpleNamespace(hidden_size=width))  # fmt: skip
    grid = Finetuning.combinations(work)
    assert len(grid) == 18 and len({one.learning_rate for one in grid.values()}) == 3
    if width == 768:
        assert "rate-5e-05_batch-16_epochs-2" in grid


def written_grid(out: Path) -> dict:
    return json.loads((out / "metrics.json").read_text("utf-8"))["grid"]


# Runs that stop, and runs on many ranks.


def test_a_killed_run_goes_on_to_identical_metrics_and_weights(settings, capsys):
    """SIGKILL in the second seed, with dropout on. All compute in one thread: to the bit."""
    torch.set_num_threads(1)
    settings = replace(settings, epochs=5.0, batch_size=4, seeds=2, save_every=23, eval_every=40)
    whole = replace(settings, out=settings.out.with_name("whole"))
    finetune(whole)
    process = start(settings)
    second = settings.out / "seed-1"
    while not list(second.glob("checkpoints/step-*")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert not (second / "result.json").exists(), "it was over before it was killed"
    first = (settings.out / "seed-0" / "result.json").stat().st_mtime_ns
    finetune(settings)
    assert "seed-1: going on from step" in capsys.readouterr().err
    assert (settings.out / "seed-0" / "result.json").stat().st_mtime_ns == first, "not repeated"
    for seed in ("seed-0", "seed-1"):
        assert measured(settings.out / seed) == measured(whole.out / seed)
        assert same_weights(settings.out / seed, whole.out / seed)
        assert same_weights(settings.out / seed / "best", whole.out / seed / "best")
    mine, theirs = (
        json.loads((out / "metrics.json").read_text()) for out in (settings.out, whole.out)
    )
    assert mine["seeds"] == theirs["seeds"]


def test_the_same_command_again_repeats_nothing_and_more_seeds_are_added(settings):
    one = finetune(settings)
    result = settings.out / "seed-0" / "result.json"
    before = result.stat().st_mtime_ns
    again = finetune(replace(settings, seeds=2))
    assert result.stat().st_mtime_ns == before
    assert again.results[0] == one.results[0] and len(again.results) == 2


def test_two_ranks_end_with_the_weights_of_one(settings):
    """Ninety examples in batches of 89 and 1: of the second one rank has nothing."""
    settings = replace(settings, hidden_dropout=0.0, attention_dropout=0.0, batch_size=89)
    both = replace(settings, out=settings.out.with_name("both"), micro_batch_size=20)
    finetune(settings)
    output = finish(start(both, ranks=2))
    assert output.count("majority") == 1, "one rank speaks"
    assert same_weights(settings.out / "seed-0", both.out / "seed-0", within=1e-6)
    for mine, theirs in zip(*(measured(s.out / "seed-0") for s in (settings, both)), strict=True):
        assert mine == pytest.approx(theirs, abs=1e-5)


# Warnings and mistakes.


def test_a_collapsed_run_is_told_early_with_what_to_try(settings, capsys):
    settings = replace(settings, learning_rate=1e-9, optimizer="bert-adam", epochs=4.0)
    outcome = finetune(settings)
    assert outcome.best.collapsed and outcome.best.best["collapsed"]
    told = capsys.readouterr()
    (line,) = [line for line in told.err.splitlines() if line.startswith("warning:")]
    for words in ("seed 0, step 6", "predicts the same answer", "another --seed",
                  "a lower --learning-rate", "a longer --warmup", "--optimizer adamw"):  # fmt: skip
        assert words in line
    assert "collapsed" in told.out


def assert_all_is_finite(out: Path) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    for path in out.rglob("*.jsonl"):
        for line in path.read_text("utf-8").splitlines():
            json.loads(line, parse_constant=refuse)
    for path in out.rglob("*.safetensors"):
        assert all(np.isfinite(array).all() for array in load_file(path).values()), path


def rate_goes_wrong(monkeypatch, at: int) -> None:
    """One update that is far too large: the weights become infinite, the next loss NaN."""
    schedule = bert_finetuning.train.learning_rate

    def broken(step: int, **more) -> float:
        return 3e38 if step == at else schedule(step, **more)

    monkeypatch.setattr(bert_finetuning.train, "learning_rate", broken)


def test_a_run_that_diverges_stops_and_keeps_its_last_checkpoint_and_best_model(
    settings, monkeypatch, capsys
):
    settings = replace(settings, save_every=3, eval_every=3, optimizer="bert-adam")  # of 12 steps
    with monkeypatch.context() as patch:
        rate_goes_wrong(patch, at=4)
        with pytest.raises(UserError, match=r"lower --learning-rate .*\(the checkpoint of step 3"):
            finetune(settings)
        assert_all_is_finite(settings.out)
        assert (settings.out / "seed-0" / "best" / "model.safetensors").exists()
        capsys.readouterr()
        with pytest.raises(UserError):
            finetune(settings)
        told = capsys.readouterr().err
        assert "going on from step 3 of 12" in told
    finetune(settings)
    assert_all_is_finite(settings.out)


def test_the_last_update_of_a_run_is_looked_at_too(settings, monkeypatch):
    settings = replace(settings, epochs=1 / 6, optimizer="bert-adam")  # one step
    rate_goes_wrong(monkeypatch, at=0)
    with pytest.raises(UserError, match=r"not finite.*lower --learning-rate.*nothing is saved"):
        finetune(settings)
    assert not list(settings.out.rglob("*.safetensors"))
    assert_all_is_finite(settings.out)


def test_two_ranks_stop_together_where_a_run_diverges(settings, tmp_path):
    """As a user would see it: one line, and no process that waits for another."""
    broken = tmp_path / "broken.py"
    broken.write_text(
        "import bert_finetuning.train as training\n"
        "schedule = training.learning_rate\n"
        "training.learning_rate = lambda at, **more: 3e38 if at == 2 else schedule(at, **more)\n"
        "from bert_finetuning.finetune import main\n"
        "main()\n"
    )
    settings = replace(settings, optimizer="bert-adam", save_every=2)
    launcher = ["torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [sys.executable, "-m", *launcher, str(broken), *arguments(settings)],
        capture_output=True, text=True, encoding="utf-8", timeout=200,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    said = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert done.returncode != 0 and len(said) == 1, done.stderr
    assert "lower --learning-rate" in said[0] and "the checkpoint of step 2 is kept" in said[0]
    assert_all_is_finite(settings.out)


MISTAKES = [
    ({"train": None, "dev": None}, "name a --task, or give --train FILE --dev FILE"),
    ({"dev": None}, "or give --train FILE --dev FILE, or --train FILE --dev 0.1"),
    ({"task": "sentiment"}, "--task sentiment and --train exclude each other"),
    ({"checkpoint": None}, "where to start: give --checkpoint"),
    ({"checkpoint": "none", "model": "huge"}, "--model is 'huge': choose tiny"),
    ({"tokenizer": Path("x")}, "--tokenizer x is for --checkpoint none"),
    ({"batch_size": 0}, "--batch-size is 0: it must be a whole number from 1"),
    ({"epochs": 0.0}, "--epochs is 0.0: it must be a number above 0"),
    ({"warmup": 1.5}, "--warmup is 1.5: it must be a number from 0 to 1"),
    (
        {"classifier_dropout": 1.0},
        "--classifier-dropout is 1.0: it must be a number of at least 0 and below 1",
    ),
    ({"max_grad_norm": -1.0}, "--max-grad-norm is -1.0: it must be a number from 0"),
    ({"layer_rate_decay": 0.0}, "--layer-rate-decay is 0.0"),
    ({"freeze": "top"}, "--freeze is 'top': choose nothing, embeddings, encoder"),
    ({"seed": -1}, "--seed is -1"),
    ({"grid": True}, "--grid chooses the learning rate"),
]


@pytest.mark.parametrize(("changes", "words"), MISTAKES)
def test_a_wrong_setting_is_told_in_one_line(settings, changes, words):
    with pytest.raises(UserError, match=words) as error:
        replace(settings, **changes)
    assert "\n" not in str(error.value)


LATER_MISTAKES = [
    ({"freeze": "3"}, "--freeze 3: the model has 2 layers"),
    ({"max_length": 33}, "--max-length 33: the model reads 32 tokens at most"),
    ({"checkpoint": "/nowhere"}, "there is no checkpoint folder /nowhere"),
]


@pytest.mark.parametrize(("changes", "words"), LATER_MISTAKES)
def test_a_mistake_that_shows_later_leaves_no_folder(settings, changes, words):
    with pytest.raises(UserError, match=words):
        finetune(replace(settings, **changes))
    assert not settings.out.exists()


def test_a_seed_that_draws_only_sentences_without_words__is_refused_before_any_work(
    settings, tmp_path
):
    named, empty = {"words": ["Anna", "ran"], "tags": ["B-PER", "O"]}, {"words": [], "tags": []}
    path = tmp_path / "names.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [named] * 5 + [empty] * 5))
    settings = replace(settings, train=str(path), dev=str(path), few_shot=1, seeds=9)
    sentences = load_task(settings).train
    drawn = [few_of(sentences, 1, seed=seed)[0].words for seed in range(9)]
    first = drawn.index(())
    with pytest.raises(UserError, match=f"names: no example that seed {first} learns from has a t"):
        finetune(settings)
    assert not settings.out.exists()


def test_another_run_in_the_same_folder_is_refused(settings):
    finetune(settings)
    with pytest.raises(UserError, match="holds a run with batch_size 16, now it is 8"):
        finetune(replace(settings, batch_size=8))


def test_the_command_prints_one_line_and_exits_with_2(settings):
    process = start(replace(settings, dev=str(settings.out / "no.csv")))
    output, _ = process.communicate(timeout=100)
    assert process.returncode == 2
    assert len(output.splitlines()) == 1 and output.startswith("error:") and "no.csv" in output


def test_the_help_names_every_task():
    text = inspect.getsource(inspect.getmodule(FinetuneSettings))
    for name in (*STORYWORLD, *GLUE, *KNOWN):
        assert name in text, name


def kill_after(step: int, settings: FinetuneSettings, monkeypatch) -> None:
    """Leave the run as a kill does that comes after the checkpoint of a step."""
    save = SeedRun.save

    def save_and_stop(self, at):
        save(self, at)
        if at == step:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(SeedRun, "save", save_and_stop)
        finetune(settings)


@pytest.mark.parametrize("at_the_end", [False, True])
def test_a_run_that_lost_its_measurements_knows_its_best_model(settings, monkeypatch, at_the_end):
    whole = replace(settings, eval_every=2, save_every=2)
    finetune(whole)
    result = (whole.out / "seed-0" / "result.json").read_text()
    steps = json.loads(result)["last"]["step"]
    cut = replace(whole, out=whole.out.with_name("cut"))
    kill_after(steps if at_the_end else 8, cut, monkeypatch)
    (cut.out / "seed-0" / "metrics.jsonl").unlink()
    finetune(cut)
    assert same_weights(whole.out, cut.out)
    assert (cut.out / "seed-0" / "result.json").read_text() == result


def stopped_after(settings: FinetuneSettings, step: int) -> None:
    """A run that is killed before the checkpoint of this step, which dev has measured."""
    save = SeedRun.save

    def save_or_die(self, at):
        if at == step:
            raise KeyboardInterrupt
        save(self, at)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SeedRun, "save", save_or_die)
        with pytest.raises(KeyboardInterrupt):
            finetune(settings)


def test_the_score_that_is_told__is_that_of_the_weights_when_best_is_later_than_the_checkpoint(
    settings, monkeypatch
):
    settings = replace(settings, eval_every=2, save_every=4)
    told = iter([0.5, 0.6, 0.9, 0.7] + [0.55] * 20)  # at steps 2, 4, 6 and 8; then once more
    score = Classification.score
    monkeypatch.setattr(Classification, "score", lambda self, *each: (
        score(self, *each) | ({"accuracy": next(told)} if len(each[0]) == 41 else {})
    ))  # fmt: skip
    stopped_after(settings, 8)
    best = settings.out / "seed-0" / "best"
    kept = load_file(best / "model.safetensors")
    outcome = finetune(replace(settings, micro_batch_size=4))  # other roundings
    assert (outcome.best.best["step"], outcome.best.best["accuracy"]) == (6, 0.9)
    weights = load_file(settings.out / "model.safetensors")
    assert all((weights[name] == kept[name]).all() for name in kept)
    assert not (settings.out / "scores.json").exists(), "it is of the seed's run alone"


def test_a_run_begun_by_an_older_version__whose_best_model_has_no_scores_goes_on(settings):
    settings = replace(settings, eval_every=2, save_every=4)
    whole = finetune(replace(settings, out=settings.out.with_name("whole")))
    stopped_after(settings, 8)
    (settings.out / "seed-0" / "best" / "scores.json").unlink()
    assert finetune(settings).best == whole.best


def test_what_a_kill_left_of_a_picture__goes_with_the_next_call(settings):
    finetune(replace(settings, epochs=0.5))
    left = settings.out / ".curve.png.123.part"
    left.write_bytes(b"half a picture")
    finetune(replace(settings, epochs=0.5))
    assert not left.exists() and (settings.out / "curve.png").exists()


def test_an_edit_in_the_runs_folder__leaves_the_seeds_own_model_as_it_is(settings):
    finetune(replace(settings, epochs=1.0))
    config, best = settings.out / "config.json", settings.out / "seed-0" / "best"
    known = config.read_text()
    with config.open("r+") as file:  # in place, as save_pretrained() of `transformers` writes
        file.truncate()
    (best / "notes").mkdir()
    finetune(replace(settings, epochs=1.0))
    assert config.read_text() == (best / "config.json").read_text() == known
    weights = [folder / "model.safetensors" for folder in (best, settings.out)]
    assert weights[0].read_bytes() == weights[1].read_bytes()
    assert not weights[0].samefile(weights[1])
    assert not (settings.out / "notes").exists()


def test_a_run_on_a_dev_set_of_one_label__is_not_said_to_have_collapsed(
    settings, tmp_path, monkeypatch
):
    monkeypatch.setattr(Classification, "is_collapsed", lambda *_: True)
    dev = tmp_path / "one.csv"
    dev.write_text("text,label\ngood soup,praise\ngood film,praise\n")
    settings = replace(settings, epochs=1.0)
    assert not finetune(replace(settings, dev=str(dev))).best.collapsed
    assert finetune(replace(settings, out=tmp_path / "other")).best.collapsed


def test_the_line_to_try__shows_an_example_that_has_a_text():
    examples = [TextExample(" ", label="a"), TextExample("good film", label="a")]
    measured = Measured("dev", Classification(HeadConfig(("a", "b")), ("accuracy",)), examples, [])
    assert "'good film'" in prediction_line("runs/x", measured)


def test_pairs__are_refused_before_training_by_a_model_of_one_segment(settings, files, tmp_path):
    config = CONFIG.with_changes(type_vocab_size=1)
    shutil.copytree(files / "checkpoint", tmp_path / "one")
    config.save(tmp_path / "one")
    save_weights(initial_weights(config, seed=7), tmp_path / "one" / "model.safetensors")
    settings = replace(settings, checkpoint=str(tmp_path / "one"), epochs=1.0)
    finetune(settings)  # single texts
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("text,pair,label\n" + "a,b,yes\nb,c,no\n" * 4)
    settings = replace(settings, train=str(pairs), dev=str(pairs), out=tmp_path / "pairs")
    with pytest.raises(UserError, match="type_vocab_size is 1: two texts that are read together"):
        finetune(settings)
    assert not settings.out.exists()


def test_a_run_that_has_lost_its_best_model_says_how_to_get_it_back(settings):
    finetune(settings)
    shutil.rmtree(settings.out / "seed-0" / "best")
    with pytest.raises(UserError, match=f"remove {settings.out / 'seed-0'}, and the seed runs"):
        finetune(settings)
    shutil.rmtree(settings.out / "seed-0")
    finetune(settings)
