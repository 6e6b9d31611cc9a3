"""Any number of labels for a text: read from every usual form, scored as scikit-learn does, and the
same to `transformers`."""

import json

import numpy as np
import pytest
import torch
import transformers
from sklearn.metrics import f1_score

from bert_corpus.wordpiece import bert_tokenizer
from bert_finetuning.checkpoint import (
    SavedTask,
    init_from_nothing,
    load_finetuned,
    save_finetuned,
    task_of,
)
from bert_finetuning.data.load import describe, infer_task, load_files, load_storyworld
from bert_finetuning.heads import HeadConfig, logits_of
from bert_finetuning.predict import Predictor
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks.base import Prediction, Query, Style
from bert_finetuning.tasks.classification import TextExample
from bert_finetuning.tasks.multi_label import MultiLabel, best_threshold
from bert_run.config import BertConfig
from bert_run.errors import UserError

LABELS = ("bed", "food", "music")
TASK = MultiLabel(HeadConfig(LABELS, any_number=True), ("micro_f1", "macro_f1", "exact"))
TOKENIZER = bert_tokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c"])
CONFIG = BertConfig(
    vocab_size=8, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=24, max_position_embeddings=32,
)  # fmt: skip


def error_of(call, *arguments, **named) -> str:
    with pytest.raises(UserError) as caught:
        call(*arguments, **named)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# From rows.

ROWS = [("a", ["bed", "food"]), ("b", []), ("c", ["food"]), ("d", ["bed"])]
FORMS = {
    "a.csv": "text,labels\na,bed;food\nb,\nc,food\nd,bed\n",
    "bars.csv": "text,labels\na,bed | food\nb,\nc,food\nd,bed\n",
    "commas.csv": 'text,labels\na,"bed, food"\nb,\nc,food\nd,bed\n',
    "pandas.csv": "text,labels\na,\"['bed', 'food']\"\nb,[]\nc,['food']\nd,['bed']\n",
    "json.tsv": 'text\tlabels\na\t["bed", "food"]\nb\t[]\nc\t["food"]\nd\t["bed"]\n',
    "columns.csv": "id,text,bed,food\n7,a,1,1\n8,b,0,0\n9,c,0,1\n10,d,1.0,0\n",
    "a.jsonl": "".join(json.dumps({"text": t, "labels": ls}) + "\n" for t, ls in ROWS),
    "columns.jsonl": "".join(
        json.dumps({"text": t, "bed": "bed" in ls, "food": "food" in ls}) + "\n" for t, ls in ROWS
    ),
    "fasttext.txt": "__label__bed __label__food a\nb\n__label__food c\n__label__bed d\n",
}


@pytest.mark.parametrize("name", FORMS)
def test_several_labels_are_read_from_every_usual_form(name, tmp_path):
    path = tmp_path / name
    path.write_text(FORMS[name], encoding="utf-8")
    data = load_files(path, path)
    assert data.task.format == "multilabel" and data.task.head.labels == ("bed", "food")
    assert data.train == data.dev == [TextExample(t, label=tuple(ls)) for t, ls in ROWS]
    said = "\n".join(describe(data, FinetuneSettings(task="praise", checkpoint="none")))
    assert "any of 2 labels for each text" in said and "1.0 labels each, 1 have none" in said


@pytest.mark.parametrize(
    "cells", [['"Yes, of course"', "No", '"Yes, perhaps"'], ["1", "0", "1"], ['"0,5"', '"1,5"']]
)
def test_classes_and_numbers_with_a_comma_are_not_several_labels(cells, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "".join(f"a,{cell}\n" for cell in cells))
    assert infer_task(path).format != "multilabel"


def test_what_is_wrong_with_several_labels_is_told_with_its_line(tmp_path):
    train, dev = tmp_path / "train.csv", tmp_path / "dev.csv"
    train.write_text("text,labels\na,bed;food\nb,bed\nc,food\n")
    dev.write_text("text,labels\na,bed;fod\n")
    assert "dev.csv: line 2: the label is 'fod', not one of 'bed', 'food'" in error_of(
        load_files, train, dev
    )
    train.write_text("text,bed,food\n" + "a,0,1\nb,1,0\n" * 60 + "c,2,0\n")
    assert "line 122: 'bed' is '2': it must be 0 or 1" in error_of(load_files, train, train)
    train.write_text("text,label\na,bed\nb,Bed\n")
    message = error_of(load_files, train, train, format="multilabel")
    assert "differs only in its case" in message
    assert "choose one of 'micro_f1'" in error_of(MultiLabel, TASK.head, ("accuracy",))


# Predictions and scores.


def random_case(seed: int, examples: int = 60):
    generator = np.random.default_rng(seed)
    right = generator.random((examples, 3)) < 0.3
    probabilities = np.clip(0.5 * right + 0.6 * generator.random((examples, 3)), 0, 1).round(2)
    dev = [TextExample("a", label=tuple(np.array(LABELS)[row])) for row in right]
    return right, probabilities, dev, [TASK.prediction(row) for row in probabilities]


@pytest.mark.parametrize("seed", range(5))
def test_the_scores_are_those_of_scikit_learn(seed):
    right, probabilities, dev, predictions = random_case(seed)
    scores = TASK.score(dev, predictions)
    for name, average in (("micro_f1", "micro"), ("macro_f1", "macro")):
        expected = f1_score(right, probabilities >= 0.5, average=average, zero_division=0)
        assert scores[name] == pytest.approx(expected)
    assert scores["exact"] == np.mean((right == (probabilities >= 0.5)).all(axis=1))


@pytest.mark.parametrize("seed", range(5))
def test_no_threshold_is_better_on_dev_than_the_chosen_one(seed):
    right, probabilities, dev, predictions = random_case(seed)
    tuned, decided = TASK.tuned(dev, predictions)
    best = max(f1_score(right, probabilities >= cut / 200, average="micro", zero_division=0)
               for cut in range(201))  # fmt: skip
    assert tuned.score(dev, decided)["micro_f1"] == pytest.approx(best)
    constant = TASK.majority(dev, dev)[0].answer
    assert all(each.answer == constant for each in TASK.majority(dev, dev))
    assert best_threshold(np.zeros((2, 3), bool), np.full((2, 3), 0.2)) == 0.5


def test_answers_are_shown_with_their_probabilities():
    prediction = TASK.prediction((0.7, 0.2, 0.5))
    assert prediction == Prediction(("bed", "music"), (0.7, 0.2, 0.5))
    example = TextExample("a", label=("bed", "food"))
    assert TASK.to_json(example, prediction) == {
        "text": "a", "labels": ["bed", "music"], "right": ["bed", "food"],
        "probabilities": {"bed": 0.7, "music": 0.5, "food": 0.2},
    }  # fmt: skip
    query = Query(example)
    assert TASK.answer_cells(query, prediction)[0] == "bed;music"
    assert TASK.render(query, prediction, Style(brief=True)) == "bed, music\ta"
    shown = TASK.render(query, TASK.prediction((0.1, 0.2, 0.3)), Style()).splitlines()
    assert shown[1] == "  (no label) (from 50.0% on)" and shown[2].startswith("  music")
    assert TASK.error_row(example, prediction).sureness == pytest.approx(0.8)
    assert TASK.error_row(example, TASK.prediction((0.9, 0.9, 0.1))) is None


# The model.


def test_a_saved_folder_gives_transformers_the_same_loss_and_scores(tmp_path):
    data = load_storyworld("praise", train=20, heldout=6)
    task = MultiLabel(data.task.head, data.task.metrics, threshold=0.4)
    initial = init_from_nothing(CONFIG, TOKENIZER, task.model, head=task.head, seed=0)
    saved = SavedTask.of(task, "praise", max_length=32, pairs=False)
    save_finetuned(initial.model, TOKENIZER, tmp_path, saved)
    assert task_of(load_finetuned(tmp_path))[0] == task

    features = task.encode(data.dev, TOKENIZER, max_length=32)
    batch = {name: torch.from_numpy(array)
             for name, array in task.collate(features, pad_id=0).items()}  # fmt: skip
    theirs = transformers.BertForSequenceClassification.from_pretrained(tmp_path).eval()
    assert theirs.config.problem_type == "multi_label_classification"
    model = initial.model.eval()
    labels = batch.pop("labels")
    logits = model(**batch)
    expected = theirs(**batch, labels=labels)
    torch.testing.assert_close(logits, expected.logits)
    torch.testing.assert_close(model.loss(logits, {"labels": labels}), expected.loss)

    (predicted,) = Predictor.open(tmp_path, precision="fp32").predict([TextExample("a b c")])
    pipeline = transformers.pipeline("text-classification", model=str(tmp_path), top_k=None)
    scores = {each["label"]: each["score"] for each in pipeline(["a b c"])[0]}
    assert [scores[label] for label in task.head.labels] == pytest.approx(predicted.probabilities)
    assert logits_of(model, task, features)[0].shape == (5,)


def test_a_model_of_transformers_that_names_no_task_is_known_by_its_problem_type(tmp_path):
    initial = init_from_nothing(CONFIG, TOKENIZER, TASK.model, head=TASK.head, seed=0)
    save_finetuned(initial.model, TOKENIZER, tmp_path)
    assert task_of(load_finetuned(tmp_path))[0] == TASK
