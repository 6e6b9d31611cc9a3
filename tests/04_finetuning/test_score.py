"""What a model is worth: a test set read once, confidence intervals, a file split in two."""

import json
import sys
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bert_corpus.wordpiece import bert_tokenizer, save_tokenizer
from bert_finetuning import predict
from bert_finetuning.checkpoint import SavedTask, init_from_scratch, save_finetuned
from bert_finetuning.data.load import (
    GLUE,
    Split,
    describe,
    load_storyworld,
    load_task,
    new_task,
    share_of,
)
from bert_finetuning.data.storyworld import STORYWORLD
from bert_finetuning.finetune import finetune
from bert_finetuning.metrics import bootstrap
from bert_finetuning.predict import Predictor
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks.base import logits_of
from bert_finetuning.tasks.classification import Classification, TextExample
from bert_finetuning.tasks.question_answering import Question
from bert_finetuning.tasks.tagging import Tagging
from bert_run.config import BertConfig, initial_weights
from bert_run.errors import UserError
from bert_run.weights import save_weights

LETTERS = [mark + letter for letter in "abcdefghijklmnopqrstuvwxyz" for mark in ("", "##")]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "soup", *LETTERS]
CONFIG = BertConfig(
    vocab_size=len(VOCABULARY), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=24, max_position_embeddings=160,
)  # fmt: skip
WORDS = ["soup", "a", "b", "c", "d", "e"]


def write(path: Path, count: int, seed: int) -> str:
    """Reviews of which one in four says "bad"; no text occurs twice."""
    generator, rows = np.random.default_rng(seed), {}
    while len(rows) < count:
        label = str(generator.choice(["praise", "blame"], p=[0.75, 0.25]))
        word = {"praise": "good", "blame": "bad"}[label]
        rows[" ".join([*generator.choice(WORDS, 6).tolist(), word])] = label
    lines = "".join(f"{text},{label}\n" for text, label in rows.items())
    path.write_text(f"text,label\n{lines}")
    return str(path)


@pytest.fixture
def settings(tmp_path) -> FinetuneSettings:
    checkpoint = tmp_path / "checkpoint"
    checkpoint.mkdir()
    CONFIG.save(checkpoint)
    save_weights(initial_weights(CONFIG, seed=3), checkpoint / "model.safetensors")
    save_tokenizer(bert_tokenizer(VOCABULARY), checkpoint, model_max_length=160)
    return FinetuneSettings(
        train=write(tmp_path / "train.csv", 60, 0), dev=write(tmp_path / "dev.csv", 30, 1),
        checkpoint=str(checkpoint), out=tmp_path / "out", epochs=2.0, batch_size=10,
        learning_rate=5e-3, device="cpu", precision="fp32",
    )  # fmt: skip


def written(settings: FinetuneSettings) -> dict:
    return json.loads((settings.out / "metrics.json").read_text())


# Confidence intervals.


@pytest.mark.parametrize("name", STORYWORLD)
def test_scorer__gives_the_scores_of_any_drawn_examples(name):
    data = load_storyworld(name, train=30, heldout=24)
    task, tokenizer = data.task, bert_tokenizer(VOCABULARY)
    model = init_from_scratch(CONFIG, tokenizer, task.model, head=task.head, seed=2).model
    features = task.encode(data.dev, tokenizer, max_length=100)
    predictions = task.predict(data.dev, features, logits_of(model, task, features))
    places = np.random.default_rng(0).integers(24, size=24)
    scores = task.scorer(data.dev, predictions)(places)
    drawn = task.score([data.dev[i] for i in places], [predictions[i] for i in places])
    assert scores.keys() >= set(task.metrics)
    assert scores == pytest.approx({metric: drawn[metric] for metric in scores})


def test_bootstrap__of_a_mean_is_the_interval_of_the_normal_distribution():
    hits = np.arange(400) < 300  # a share of 75 per cent
    low, high = bootstrap(lambda at: {"share": float(hits[at].mean())}, 400)["share"]
    half = 1.96 * np.sqrt(0.75 * 0.25 / 400)  # 4.2 per cent
    assert (low, high) == pytest.approx((0.75 - half, 0.75 + half), abs=0.006)


def test_bootstrap__is_the_same_each_time_and_of_one_example_has_no_width():
    hits = np.arange(50) % 3 == 0
    scorer = lambda at: {"share": float(hits[at].mean())}  # noqa: E731
    assert bootstrap(scorer, 50) == bootstrap(scorer, 50) != bootstrap(scorer, 50, seed=1)
    assert bootstrap(scorer, 1)["share"] == (1.0, 1.0)


# A test set.


def test_test_set__is_scored_with_the_model_that_dev_chose(settings, tmp_path, capsys, pictures):
    test = write(tmp_path / "test.csv", 40, 2)
    finetune(settings)
    assert "test" not in written(settings)
    result = settings.out / "seed-0" / "result.json"
    before = result.stat().st_mtime_ns
    capsys.readouterr()
    outcome = finetune(replace(settings, test=test))  # nothing is trained again
    told = capsys.readouterr()
    assert result.stat().st_mtime_ns == before
    assert f"test        {test} (commas): 40 examples" in told.err
    found = written(settings)["test"]
    assert (found["source"], found["examples"]) == ("test.csv", 40)
    lines = (settings.out / "test_predictions.jsonl").read_text().splitlines()
    shown = [json.loads(line) for line in lines]
    right = [each["label"] == each["right"] for each in shown]
    assert found["scores"]["accuracy"] == pytest.approx(np.mean(right))
    assert outcome.best.best["accuracy"] == written(settings)["seeds"][0]["best"]["accuracy"]
    pairs = Counter((each["right"], each["label"]) for each in shown)
    labels = found["confusion"]["labels"]
    assert found["confusion"]["right_by_predicted"] == [
        [pairs[right, said] for said in labels] for right in labels
    ]
    counts = Counter(line.split(",")[1] for line in Path(test).read_text().split("\n")[1:-1])
    assert found["majority"]["accuracy"] == counts["praise"] / 40
    assert "test: 40 examples of test.csv" in told.out and "95% interval" in told.out
    for name in ("test_errors.md", "test_confusion.png"):
        assert (settings.out / name).stat().st_size > 100, name


def test_test_set__that_shares_texts_with_train_or_dev_is_told(settings):
    settings = replace(settings, test=settings.dev)
    (line,) = [each for each in describe(load_task(settings), settings) if each.startswith("test")]
    assert "also in train or dev: 30" in line


@pytest.mark.parametrize("name", STORYWORLD)
def test_test_set__of_storyworld_is_heldout_and_none_of_dev(name):
    data = load_task(FinetuneSettings(task=name, test="own", checkpoint="none"))
    others = {example.texts for example in data.dev}
    assert len(data.test) > 0.5 * len(data.dev)
    assert not others & {example.texts for example in data.test}


def test_test_set__of_a_task_with_files_is_the_one_that_it_gives_out(tmp_path):
    for name, word in (("eng.train", "Rome"), ("eng.testa", "Paris"), ("eng.testb", "London")):
        (tmp_path / name).write_text(f"{word} B-LOC\nsleeps O\n\n")
    asked = FinetuneSettings(task="conll2003", data=tmp_path, test="own", checkpoint="none")
    data = load_task(asked)
    assert [each.words[0] for each in (*data.train, *data.dev, *data.test)] == [
        "Rome", "Paris", "London",
    ]  # fmt: skip


def test_test_set__of_questions_is_answered_with_the_threshold_that_dev_chose(settings, tmp_path):
    generator = np.random.default_rng(3)
    paths = [tmp_path / f"{name}.jsonl" for name in ("train", "dev", "test")]
    for path in paths:
        rows = []
        for number in range(24):
            context = " ".join(generator.choice(WORDS, 5))
            known = {"text": [context.split()[1]], "answer_start": [context.index(" ") + 1]}
            answers = known if generator.integers(2) else {"text": [], "answer_start": []}
            rows.append(
                {"id": str(number), "question": "a", "context": context, "answers": answers}
            )
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    train, dev, test = map(str, paths)
    finetune(replace(settings, train=train, dev=dev, test=test))
    config = json.loads((settings.out / "config.json").read_text())
    threshold = config["bert_finetuning"]["options"]["null_threshold"]
    lines = (settings.out / "test_predictions.jsonl").read_text().splitlines()
    shown = [json.loads(line) for line in lines]
    assert threshold != 0 and len(shown) == 24
    for each in shown:
        assert (each["answer"] == "") is (each["null_difference"] > threshold)
    assert {"f1", "exact", "HasAns_f1", "NoAns_f1"} <= written(settings)["test"][
        "interval_95"
    ].keys()


def test_test_set__with_an_unknown_label_or_of_a_file_without_one_is_an_error(settings, tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("text,label\nsoup,good\n")
    with pytest.raises(UserError, match=r"odd\.csv: line 2: the label is 'good', not one of"):
        finetune(replace(settings, test=str(path)))
    with pytest.raises(UserError, match="--test own is for a --task: name a FILE"):
        finetune(replace(settings, test="own"))
    with pytest.raises(UserError, match="--few-shot 1,000: there are"):
        finetune(replace(settings, few_shot=1000))
    assert not settings.out.exists(), "a mistake shows before any work"


def test_test_set__its_files_go_when_a_later_call_has_none(settings, tmp_path):
    finetune(replace(settings, test=write(tmp_path / "test.csv", 40, 2)))
    assert (settings.out / "test_predictions.jsonl").exists()
    finetune(settings)
    assert not list(settings.out.glob("test_*")) and "test" not in written(settings)


def test_files_called_like_those_of_a_test__stay_if_the_run_did_not_write_them(settings):
    finetune(settings)
    mine = [settings.out / f"test_{name}" for name in ("predictions.jsonl", "errors.md")]
    for path in mine:
        path.write_text("mine")
    finetune(settings)
    assert [path.read_text() for path in mine] == ["mine", "mine"]


def test_card__that_was_edited_is_renamed_when_the_command_is_repeated(settings, tmp_path, capsys):
    finetune(settings)
    card = settings.out / "README.md"
    own = card.read_text()
    finetune(replace(settings, test=write(tmp_path / "test.csv", 40, 2)))
    assert "was edited" not in capsys.readouterr().err, "the run's own card is written anew"
    assert not list(settings.out.glob("edited-*")) and card.read_text() != own
    card.write_text("My own words.\n")
    finetune(settings)
    assert card.read_text() == own
    assert (settings.out / "edited-README.md").read_text() == "My own words.\n"
    told = f"note: {card} was edited: it was renamed edited-README.md"
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_score_of_predict__is_that_of_finetune_and_keeps_the_answers(
    precision, settings, tmp_path, capsys, monkeypatch
):
    test = write(tmp_path / "test.csv", 40, 2)
    finetune(replace(settings, test=test, precision=precision))
    words = ["bert-predict", "--score", test, "--checkpoint", str(settings.out), "--out",
             str(tmp_path / "scored"), "--device", "cpu", "--precision", precision]  # fmt: skip
    monkeypatch.setattr(sys, "argv", words)
    capsys.readouterr()
    predict.main()
    told = capsys.readouterr().out
    mine, theirs = (
        written(settings)["test"],
        json.loads((tmp_path / "scored/metrics.json").read_text()),
    )
    assert mine.pop("majority") and mine == theirs
    assert told.startswith("40 examples of test.csv") and "accuracy" in told
    files = {path.name for path in (tmp_path / "scored").iterdir()}
    assert files == {"metrics.json", "predictions.jsonl", "errors.md", "confusion.png"}
    for more, problem in ((["--input", test], "--score reads"), ([], "exists")):
        monkeypatch.setattr(sys, "argv", [*words, *more])
        with pytest.raises(SystemExit):
            predict.main()
        assert problem in capsys.readouterr().err


@pytest.fixture
def with_titles(settings) -> FinetuneSettings:
    """A run on `said` and `mood`, where `title` and `label` have the usual names."""
    for path in map(Path, (settings.train, settings.dev)):
        rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
        lines = [f"a soup,{text},{label},{n % 2}\n" for n, (text, label) in enumerate(rows)]
        path.write_text("".join(["title,said,mood,label\n", *lines]))
    settings = replace(settings, columns="said,mood", test=settings.dev, epochs=8.0,
                       pooling="mean")  # fmt: skip
    finetune(settings)
    return settings


def scored(capsys, monkeypatch, settings, *more: str) -> dict:
    words = ["bert-predict", "--score", settings.dev, "--checkpoint", str(settings.out), "--json"]
    monkeypatch.setattr(sys, "argv", [*words, "--device", "cpu", "--precision", "fp32", *more])
    capsys.readouterr()
    predict.main()
    return json.loads(capsys.readouterr().out)


def test_score__reads_the_columns_of_training(with_titles, capsys, monkeypatch):
    found = written(with_titles)["test"]
    assert found["scores"]["accuracy"] > 0.9, "titles would give as much as the majority has"
    assert scored(capsys, monkeypatch, with_titles)["scores"] == found["scores"]
    named = scored(capsys, monkeypatch, with_titles, "--columns", "label=mood")
    assert named["scores"] == found["scores"], "what --columns leaves open is as in training"
    dev = Path(with_titles.dev)
    dev.write_text(dev.read_text().replace("mood,label", "label,other", 1))
    renamed = scored(capsys, monkeypatch, with_titles)
    assert renamed["scores"] == found["scores"], "the label alone has another name"


def test_predictor__reads_the_columns_of_training_where_a_row_has_them(with_titles, capsys):
    predictor = Predictor.open(with_titles.out, device="cpu", precision="fp32")
    answer = predictor({"title": "a bad bad soup", "said": "a good soup"})
    assert answer["text"] == "a good soup" and answer["row"] == {"title": "a bad bad soup"}
    assert predictor(title="a b", said="a good soup")["probabilities"] == answer["probabilities"]
    assert predictor({"title": "a good soup"})["probabilities"] == answer["probabilities"]
    asked = list(predict.from_source(with_titles.dev, Classification,
                                     **predict.columns_for(None, predictor.saved)))  # fmt: skip
    assert {each.example.text for each in asked}.isdisjoint({"a soup"}) and len(asked) == 30


def test_an_older_folder__which_says_nothing_of_columns_opens(with_titles):
    path = with_titles.out / "config.json"
    content = json.loads(path.read_text())
    assert content["bert_finetuning"].pop("columns") == {
        "text": "said", "pair": None, "label": "mood",
    }  # fmt: skip
    path.write_text(json.dumps(content))
    predictor = Predictor.open(with_titles.out, device="cpu")
    assert predictor.saved.columns is None
    assert predictor({"title": "a good soup", "said": "b"})["text"] == "a good soup"
    content["bert_finetuning"]["columns"] = {"text": 3}
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"config\.json is damaged.*'text' is 3"):
        Predictor.open(with_titles.out, device="cpu")


def test_numbers_of_columns__are_no_names_and_are_not_kept(settings):
    for path in map(Path, (settings.train, settings.dev)):
        path.write_text(path.read_text().partition("\n")[2])
    finetune(replace(settings, columns="1,2"))
    assert Predictor.open(settings.out, device="cpu").saved.columns is None


def test_a_model_of_single_texts__reads_its_text_beside_an_empty_pair(settings):
    finetune(settings)
    predictor = Predictor.open(settings.out, device="cpu")
    assert predictor({"text": "a good soup", "pair": ""})["label"] in ("praise", "blame")


def test_score__of_a_model_that_knows_only_inside_tags_reads_tags_as_they_are(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text("Ann I-PER\nLee I-PER\nran O\n")
    for allowed in (("O", "I-PER"), ("O", "B-PER", "I-PER", "E-PER", "S-PER")):
        (found,) = Tagging.read(path, labels=allowed)
        assert found.tags == ("I-PER", "I-PER", "O")
    assert next(Tagging.read(path, labels=("O", "B-PER", "I-PER"))).tags[0] == "B-PER"


def test_score__takes_numbers_for_labels_only_of_a_task_by_name(tmp_path, monkeypatch, capsys):
    path = tmp_path / "mrpc.csv"
    path.write_text("text,pair,label\nsoup,good,1\nsoup,bad,0\n")
    monkeypatch.setattr(sys, "argv", ["bert-predict", "--score", str(path), "--device", "cpu"])
    for labels, told in ((("a", "b"), "the label is '1', not one of 'a', 'b'"),
                         (GLUE["mrpc"].labels, "")):  # fmt: skip
        task = new_task(Classification, labels)
        model = init_from_scratch(CONFIG, bert_tokenizer(VOCABULARY), task.model, head=task.head,
                                  seed=1).model  # fmt: skip
        saved = SavedTask.of(task, "mrpc", max_length=32, pairs=True)
        save_finetuned(model, bert_tokenizer(VOCABULARY), tmp_path / "model", saved)
        monkeypatch.setattr(sys, "argv", [*sys.argv[:5], "--checkpoint", str(tmp_path / "model")])
        with pytest.raises(SystemExit) if told else nullcontext():
            predict.main()
        assert told in capsys.readouterr().err


def score_numbers(labels, name, folder, monkeypatch) -> None:
    """Set up `bert-predict --score` of a file of 0 and 1, with a model of these labels."""
    path = folder / "new.csv"
    path.write_text("text,label\nsoup,1\ngood,0\n")
    task = new_task(Classification, labels)
    model = init_from_scratch(CONFIG, bert_tokenizer(VOCABULARY), task.model, head=task.head,
                              seed=1).model  # fmt: skip
    saved = SavedTask.of(task, name, max_length=32, pairs=False)
    save_finetuned(model, bert_tokenizer(VOCABULARY), folder / "model", saved)
    monkeypatch.setattr(sys, "argv", ["bert-predict", "--score", str(path), "--device", "cpu",
                                      "--checkpoint", str(folder / "model")])  # fmt: skip


@pytest.mark.parametrize("labels", [("negative", "positive"), ("b", "a")])
def test_score__takes_numbers_for_the_labels_of_a_task_of_storyworld_as_test_does(
    labels, tmp_path, monkeypatch, capsys
):
    score_numbers(labels, "sentiment", tmp_path, monkeypatch)
    is_own = labels == STORYWORLD["sentiment"].labels
    with nullcontext() if is_own else pytest.raises(SystemExit):
        predict.main()
    told = "0 = negative, 1 = positive" if is_own else "the label is '1', not one of 'b', 'a'"
    assert told in capsys.readouterr().err


def test_score__numbers_are_no_places_of_labels_that_hold_numbers(tmp_path, monkeypatch, capsys):
    for labels, told in ((("1 star", "2 stars"), "line 2: the label is '1', not one of '1 star'"),
                         (("LABEL_0", "LABEL_1"), "stand for labels: 0 = LABEL_0, 1 = LABEL_1)"),
                         (("no", "yes"), "stand for labels: 0 = no, 1 = yes)")):  # fmt: skip
        score_numbers(labels, "", tmp_path, monkeypatch)
        with pytest.raises(SystemExit) if "line" in told else nullcontext():
            predict.main()
        assert told in capsys.readouterr().err


# One file in two parts.


def labeled(counts: dict[str, int]) -> list[TextExample]:
    return [TextExample(f"{label} {n}", label=label)
            for label, count in counts.items() for n in range(count)]  # fmt: skip


def test_split__has_the_share_of_every_label_and_each_example_once():
    examples = labeled({"a": 203, "b": 51, "c": 10, "rare": 1})
    split = Split.of(examples, 0.2, seed=4)
    assert sorted(split.train + split.dev) == list(range(265))
    assert len(split.dev) == 53
    counts = Counter(examples[place].label for place in split.dev)
    assert counts == pytest.approx({"a": 41, "b": 10, "c": 2}, abs=1)
    assert Split.of(examples, 0.2, seed=4) == split != Split.of(examples, 0.2, seed=5)


def test_split__leaves_an_example_of_every_label_in_train():
    split = Split.of(labeled({"a": 2, "b": 1, "c": 1}), 0.99, seed=0)
    assert len(split.train) == 3 and len(split.dev) == 1


def test_split__keeps_the_same_text_and_the_same_context_on_one_side():
    texts = [f"Text {n % 20}" if n % 2 else f"text  {n % 20} " for n in range(200)]
    examples = [TextExample(text, label="ab"[n % 3 == 0]) for n, text in enumerate(texts)]
    asked = [Question(str(n), f"question {n}", f"context {n % 17}") for n in range(200)]
    for kind, key in ((examples, lambda e: e.text.split()[1]), (asked, lambda e: e.context)):
        split = Split.of(kind, 0.3, seed=1)
        train, dev = ({key(kind[place]) for place in part} for part in (split.train, split.dev))
        assert dev and not train & dev


def test_share_of__is_a_number_between_0_and_1(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert (share_of("0.1"), share_of("dev.csv"), share_of(None)) == (0.1, None, None)
    for wrong in ("0", "1", "1.5", "-0.1", "nan"):
        with pytest.raises(UserError, match="a share of the training file between 0 and 1"):
            share_of(wrong)
    Path("0.5").write_text("text,label\n")
    assert share_of("0.5") is None, "a file of this name"


def test_a_run_on_a_split_file__is_reproducible_and_says_which_lines_are_dev(settings, capsys):
    settings = replace(settings, dev="0.25")
    data = load_task(settings)
    assert not {each.text for each in data.train} & {each.text for each in data.dev}
    assert finetune(settings).examples == (45, 15)
    assert f"15 examples, set aside from {settings.train}" in capsys.readouterr().err
    split = json.loads((settings.out / "split.json").read_text())
    lines = Path(settings.train).read_text().splitlines()
    shown = [json.loads(line) for line in (settings.out / "predictions.jsonl").open()]
    assert [lines[number - 1].split(",")[0] for number in split["dev"]] == [
        e["text"] for e in shown
    ]
    assert len(split["train"]) == 45 and split["numbers_are"].startswith("lines of the file")
    finetune(replace(settings, seeds=2))
    assert json.loads((settings.out / "split.json").read_text()) == split
    with open(settings.train, "a") as file:
        file.write("soup soup good,praise\n")
    with pytest.raises(UserError, match="started from other data"):
        finetune(settings)
    with pytest.raises(UserError, match=r"--dev 0\.001 of 61 examples is none"):
        finetune(replace(settings, dev="0.001", out=settings.out.with_name("none")))
