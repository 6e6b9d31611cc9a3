"""A fine-tuning run knows its examples and its checkpoint by content, not by path."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bert_corpus.wordpiece import bert_tokenizer, save_tokenizer
from bert_experiments.feature_based.__main__ import FeatureSettings, fine_tuned_row
from bert_experiments.paper_tables import columns, trials
from bert_finetuning.data.load import load_files
from bert_finetuning.finetune import INPUTS_FILE, finetune, fingerprint, fingerprint_of_start
from bert_finetuning.predict import Predictor
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks.classification import TextExample
from bert_finetuning.tasks.question_answering import Answer, Question
from bert_finetuning.tasks.tagging import TaggedSentence
from bert_finetuning.train import RESULT
from bert_run.config import BertConfig, initial_weights
from bert_run.errors import UserError
from bert_run.weights import save_weights

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "soup", "film"]
CONFIG = BertConfig(
    vocab_size=len(WORDS), hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=8, max_position_embeddings=16,
)  # fmt: skip


def write_checkpoint(folder: Path, *, seed: int) -> None:
    folder.mkdir(exist_ok=True)
    CONFIG.save(folder)
    save_weights(initial_weights(CONFIG, seed), folder / "model.safetensors")
    save_tokenizer(bert_tokenizer(dict.fromkeys(WORDS)), folder, model_max_length=16)


def write_rows(path: Path, count: int, *, good: str = "praise", bad: str = "blame") -> None:
    rows = [f"{'good' if n % 2 else 'bad'} soup {n},{good if n % 2 else bad}" for n in range(count)]
    path.write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")


@pytest.fixture
def settings(tmp_path) -> FinetuneSettings:
    write_checkpoint(tmp_path / "checkpoint", seed=1)
    write_rows(tmp_path / "train.csv", 12)
    write_rows(tmp_path / "dev.csv", 6)
    return FinetuneSettings(
        train=str(tmp_path / "train.csv"), dev=str(tmp_path / "dev.csv"), epochs=1.0, batch_size=8,
        checkpoint=str(tmp_path / "checkpoint"), out=tmp_path / "out", device="cpu",
    )  # fmt: skip


def refusal_of(settings: FinetuneSettings) -> str:
    with pytest.raises(UserError) as caught:
        finetune(settings)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("changes", [{}, {"few_shot": 4}, {"checkpoint": "none"}], ids=str)
def test_the_same_command_after_the_files_were_edited_is_refused(settings, changes):
    settings = replace(settings, **changes)
    finetune(settings)
    report = (settings.out / "metrics.json").read_bytes()
    write_rows(Path(settings.train), 10, good="blame", bad="praise")
    write_rows(Path(settings.dev), 6, good="blame", bad="praise")
    message = refusal_of(settings)
    assert "train.csv and " in message and "dev.csv had other content" in message
    assert "choose another --out, or remove that folder" in message
    assert (settings.out / "metrics.json").read_bytes() == report


def test_a_grid_after_its_files_were_edited_is_refused(settings, monkeypatch):
    monkeypatch.setattr("bert_finetuning.finetune.EPOCHS", (1.0,))
    monkeypatch.setattr("bert_finetuning.finetune.RATES", (1e-4,))
    settings = replace(settings, grid=True, epochs=3.0, batch_size=32)
    finetune(settings)
    write_rows(Path(settings.dev), 4)
    assert "dev.csv had other content" in refusal_of(settings)


def test_a_run_that_was_killed_does_not_go_on_with_other_examples(settings):
    finetune(settings)
    (settings.out / "seed-0" / RESULT).unlink()
    write_rows(Path(settings.train), 13)
    assert "train.csv had other content" in refusal_of(settings)


def test_other_weights_under_the_same_path_are_another_start(settings):
    finetune(settings)
    write_checkpoint(Path(settings.checkpoint), seed=2)
    message = refusal_of(settings)
    assert f"{settings.checkpoint} had other content" in message and "train.csv" not in message


def test_files_that_were_only_moved_or_touched_are_the_same_run(settings):
    first = finetune(settings)
    for path in (settings.train, settings.dev):
        Path(path).write_bytes(Path(path).read_bytes() + b"\n")  # an empty line holds no example
    assert finetune(settings).results == first.results


def test_a_result_of_an_earlier_version_is_read(settings):
    """It kept the digest of the inputs too."""
    first = finetune(settings)
    path = settings.out / "seed-0" / RESULT
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"inputs": "5e3"}), "utf-8")
    assert finetune(settings).results == first.results


def test_a_folder_without_fingerprints_does_not_go_on_and_still_predicts(settings):
    finetune(settings)
    said = Predictor.open(settings.out).predict([TextExample("good soup")])
    (settings.out / INPUTS_FILE).unlink()  # as it was before runs recorded their inputs
    assert "or it was not recorded: choose another --out" in refusal_of(settings)
    assert Predictor.open(settings.out).predict([TextExample("good soup")]) == said


def test_metrics_tell_which_examples_they_were_measured_on(settings):
    finetune(settings)
    inputs = json.loads((settings.out / "metrics.json").read_text("utf-8"))["inputs"]
    data = load_files(settings.train, settings.dev)
    assert inputs["dev"]["sha256"] == fingerprint(data.dev)
    assert inputs == json.loads((settings.out / INPUTS_FILE).read_text("utf-8"))


def test_metrics_and_the_card_tell_how_much_of_dev_and_test_was_trained_on(settings):
    test = settings.out.with_name("test.csv")
    write_rows(test, 20)
    finetune(replace(settings, test=str(test)))
    assert json.loads((settings.out / "metrics.json").read_text())["dev_examples_in_train"] == 6
    card = (settings.out / "README.md").read_text("utf-8")
    assert "On 6 examples, 6 of which are also in its training data" in card
    assert "(12 of its examples are also in the training or dev data)" in card


def test_a_damaged_record_of_inputs_or_results_is_told_in_one_line(settings):
    finetune(settings)
    good = (settings.out / INPUTS_FILE).read_text()
    (settings.out / INPUTS_FILE).write_text('{"train": 5}')
    assert "inputs.json is damaged" in refusal_of(settings)
    (settings.out / INPUTS_FILE).write_text(good)
    (settings.out / "seed-0" / RESULT).write_text("{")
    assert "result.json is damaged (not JSON" in refusal_of(settings)


def test_fingerprints_differ_by_order_text_label_and_place():
    examples = [TextExample("a", None, "x"), TextExample("b", None, "y")]
    question = Question("1", "a", "a b a", (Answer("a", 0),))
    others = [
        examples[::-1], examples[:1], [examples[0], TextExample("b", None, "x")],
        [examples[0], TextExample("b", "", "y")], [TaggedSentence(("a",), ("x",))], [question],
        [replace(question, answers=(Answer("a", 4),))], [TextExample("é", None, 1.0)],
        [TextExample("é", None, "1.0")],
    ]  # fmt: skip
    found = {fingerprint(each) for each in [examples, *others]}
    assert len(found) == len(others) + 1
    assert fingerprint(list(examples)) == fingerprint(examples)


# Tables.


def trial_of(tmp_path: Path) -> trials.Trial:
    write_checkpoint(tmp_path / "checkpoint", seed=1)
    for split in ("train", "dev"):
        (tmp_path / f"{split}.tsv").write_text("sentence\tlabel\ngood\t1\nbad\t0\n", "utf-8")
    settings = FinetuneSettings(
        task="sst-2", data=tmp_path, checkpoint=str(tmp_path / "checkpoint"), out=tmp_path / "out"
    )
    return trials.Trial("a row", {"SST-2": "accuracy"}, settings)


def test_a_table_does_not_take_figures_of_data_that_have_changed(tmp_path, monkeypatch):
    figures = {"scores": {"accuracy": 0.5}, "majority": {}}
    monkeypatch.setitem(trials.RUNS, "fine-tuned", lambda settings: figures)
    trial = trial_of(tmp_path)
    first = trials.collected([trial])
    assert trials.collected([trial]) == first
    (tmp_path / "dev.tsv").write_text("sentence\tlabel\ngood\t0\n", "utf-8")
    with pytest.raises(UserError, match="measured before its data changed: choose another --out"):
        trials.collected([trial])


def test_a_table_reads_figures_of_an_earlier_version(tmp_path):
    trial = trial_of(tmp_path)
    trial.folder.mkdir(parents=True)
    figures = {"scores": {"accuracy": 0.5}, "majority": {}}
    (trial.folder / trials.FIGURES_FILE).write_text(json.dumps(figures))
    assert trials.collected([trial])["a row"] == [{"SST-2": 0.5}]


def test_storyworlds_sets_have_a_fingerprint_and_those_of_the_hub_none():
    assert columns.content_of("sentiment", None) != columns.content_of("pairs", None)
    assert columns.content_of("rte", None) is None


def test_weights_are_fingerprinted_without_what_python_3_10_lacks(tmp_path, monkeypatch):
    monkeypatch.delattr("hashlib.file_digest", raising=False)
    write_checkpoint(tmp_path / "a", seed=1)
    write_checkpoint(tmp_path / "b", seed=2)
    assert trials.weights_of(tmp_path / "a") != trials.weights_of(tmp_path / "b")


# Features beside fine-tuning.


def test_features_are_not_compared_with_a_run_on_other_sentences(tmp_path, capsys):
    for name, word in (("train", "Anna"), ("dev", "Ben")):
        (tmp_path / f"{name}.conll").write_text(f"{word} B-PER\nsat O\n")
    data = load_files(tmp_path / "train.conll", tmp_path / "dev.conll")
    content = {
        "seeds": [{"best": {"entity_f1": 0.5}}], "task": "train", "train_examples": 1,
        "dev_examples": 1,
        "inputs": {name: {"sha256": fingerprint(examples)}
                   for name, examples in (("train", data.train), ("dev", data.dev))},
    }  # fmt: skip
    path = tmp_path / "metrics.json"
    path.write_text(json.dumps(content))
    settings = FeatureSettings(fine_tuned=path)
    assert fine_tuned_row(settings, data) == [{"names": 0.5}]
    assert capsys.readouterr().err == ""
    with pytest.raises(UserError, match="its dev sentences are not those of this call"):
        fine_tuned_row(settings, replace(data, dev=data.train))
    del content["inputs"]
    path.write_text(json.dumps(content))
    assert fine_tuned_row(settings, data) == [{"names": 0.5}]
    assert "nobody can tell" in capsys.readouterr().err


def test_features_are_not_compared_with_a_run_of_another_checkpoint_or_with_no_scores(tmp_path):
    (tmp_path / "train.conll").write_text("Anna B-PER\nsat O\n")
    data = load_files(tmp_path / "train.conll", tmp_path / "train.conll")
    start = tmp_path / "start"
    start.mkdir()
    (start / "config.json").write_text("{}")
    (start / "model.safetensors").write_bytes(b"weights")
    inputs = {split: {"sha256": fingerprint(data.train)} for split in ("train", "dev")}
    inputs["start"] = {"name": "runs/demo", "sha256": fingerprint_of_start(str(start))}
    path = tmp_path / "metrics.json"
    settings = FeatureSettings(checkpoint=str(start), fine_tuned=path)

    def row(*scores):
        content = {"seeds": [{"best": {"entity_f1": score}} for score in scores], "task": "train",
                   "train_examples": 1, "dev_examples": 1, "inputs": inputs}  # fmt: skip
        path.write_text(json.dumps(content))
        return fine_tuned_row(settings, data)

    assert row(0.5) == [{"names": 0.5}]
    for scores in ((), (float("nan"),), (50,)):
        with pytest.raises(UserError, match=r"there is no metrics\.json of bert-finetune"):
            row(*scores)
    (start / "model.safetensors").write_bytes(b"others")
    with pytest.raises(UserError, match="is another model"):
        row(0.5)
