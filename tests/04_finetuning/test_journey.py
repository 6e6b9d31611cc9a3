"""The whole way with one's own file, for every task type: split it, train, read a test set once,
predict for new rows, join the answers by id, and open the folder in `transformers`."""

import csv
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from bert_corpus.wordpiece import bert_tokenizer, save_tokenizer
from bert_finetuning import predict
from bert_finetuning.finetune import finetune
from bert_finetuning.predict import Predictor
from bert_finetuning.settings import FinetuneSettings
from bert_run.config import BertConfig, initial_weights
from bert_run.weights import save_weights

WORDS = [
    "anna",
    "sam",
    "paris",
    "rome",
    "the",
    "soup",
    "was",
    "very",
    "good",
    "bad",
    "in",
    "?",
    ".",
]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
CONFIG = BertConfig(
    vocab_size=len(VOCABULARY), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
    intermediate_size=32, max_position_embeddings=48,
)  # fmt: skip


def words(generator: np.random.Generator, count: int) -> list[str]:
    return generator.choice(["the", "soup", "was", "very", "in"], count).tolist()


def praise(generator: np.random.Generator) -> tuple[str, bool]:
    good = bool(generator.integers(2))
    said = words(generator, int(generator.integers(3, 9)))
    said.insert(int(generator.integers(len(said))), "good" if good else "bad")
    return " ".join(said), good


def texts(generator) -> dict:
    text, good = praise(generator)
    return {"text": text, "label": "praise" if good else "blame"}


def pairs(generator) -> dict:
    (one, a), (other, b) = praise(generator), praise(generator)
    return {"sentence1": one, "sentence2": other, "label": "same" if a == b else "other"}


def numbers(generator) -> dict:
    text, good = praise(generator)
    return {"text": text, "score": 4.5 if good else 0.5}


def tags(generator) -> dict:
    name = generator.choice(["anna", "sam"]).item()
    said = [*words(generator, 2), name, *words(generator, int(generator.integers(1, 4)))]
    return {"words": said, "tags": ["B-PER" if word == name else "O" for word in said]}


def questions(generator) -> dict:
    name = generator.choice(["anna", "sam"]).item()
    context = " ".join([*words(generator, 3), name, "in", "paris"])
    answer = {"text": [name], "answer_start": [context.index(name)]}
    return {"question": "the soup ?", "context": context, "answers": answer}


def choices(generator) -> dict:
    good = int(generator.integers(2))
    endings = ["bad", "good"] if good else ["good", "bad"]
    begin = " ".join(words(generator, 6))
    return {
        "sent1": begin,
        "sent2": "",
        "ending0": endings[0],
        "ending1": endings[1],
        "label": good,
    }


KINDS = {each.__name__: each for each in (texts, pairs, numbers, tags, questions, choices)}
TABLES = ("texts", "pairs", "numbers", "choices")  # these are written as CSV
ANSWERS = ("label", "tags", "score", "answers")


def unlabeled(row: dict) -> dict:
    return {name: value for name, value in row.items() if name not in ANSWERS}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("journey") / "checkpoint"
    folder.mkdir()
    CONFIG.save(folder)
    save_weights(initial_weights(CONFIG, seed=3), folder / "model.safetensors")
    save_tokenizer(bert_tokenizer(VOCABULARY), folder, model_max_length=48)
    return folder


def write(path: Path, rows: list[dict]) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture(params=KINDS)
def journey(request, checkpoint, tmp_path):
    """Three files of a task type, and its settings; every row has an id."""
    make, ending = KINDS[request.param], "csv" if request.param in TABLES else "jsonl"
    generator = np.random.default_rng(5)
    rows = [{"id": f"{request.param}-{number}", **make(generator)} for number in range(80)]
    raw = write(tmp_path / f"raw.{ending}", rows[:48])
    test = write(tmp_path / f"test.{ending}", rows[48:64])
    asked = list(map(unlabeled, rows[64:]))
    new = write(tmp_path / f"new.{ending}", asked)
    settings = FinetuneSettings(
        train=str(raw), dev="0.25", test=str(test), checkpoint=str(checkpoint), epochs=1.0,
        batch_size=12, learning_rate=3e-3, out=tmp_path / "out", device="cpu", precision="fp32",
        seed=1,
    )  # fmt: skip
    return request.param, settings, rows, new


@pytest.fixture
def call(monkeypatch, capsys):
    def run(*arguments) -> str:
        monkeypatch.setattr(sys, "argv", ["bert-predict", *map(str, arguments), "--device", "cpu"])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
        capsys.readouterr()
        predict.main()
        return capsys.readouterr().out

    return run


def test_one_file_becomes_a_measured_model_whose_answers_can_be_joined(journey, call):
    kind, settings, rows, new = journey
    outcome, out = finetune(settings), settings.out

    split = json.loads((out / "split.json").read_text())
    first = 2 if kind in TABLES else 1  # the line of the first row
    assert sorted(split["dev"] + split["train"]) == list(range(first, first + 48))
    key = {"questions": "context", "choices": "sent1"}.get(kind)
    text_of = [row[key] if key else json.dumps(unlabeled(row) | {"id": ""}) for row in rows]
    sides = [{text_of[line - first] for line in split[side]} for side in ("train", "dev")]
    assert not sides[0] & sides[1] and len(split["dev"]) == outcome.examples[1] >= 8

    test = json.loads((out / "metrics.json").read_text())["test"]
    assert test["source"].startswith("test.") and test["examples"] == 16
    for name, (low, high) in test["interval_95"].items():
        assert low <= test["scores"][name] <= high, name
    assert "On a test set" in (out / "README.md").read_text()
    assert len((out / "test_predictions.jsonl").read_text().splitlines()) == 16
    exact = ("--precision", "fp32")  # as it was trained
    again = json.loads(call("--score", settings.test, "--checkpoint", out, "--json", *exact))
    assert again["scores"] == pytest.approx(test["scores"], abs=1e-6)
    assert again["interval_95"].keys() == test["interval_95"].keys()

    call("--input", new, "--out", out / "answers.jsonl", "--checkpoint", out, *exact)
    answers = [json.loads(line) for line in (out / "answers.jsonl").read_text().splitlines()]
    ids = [answer.get("id") or answer["row"]["id"] for answer in answers]
    assert ids == [row["id"] for row in rows[64:]]
    predictor = Predictor.open(out, device="cpu", precision="fp32")
    asked = list(map(unlabeled, rows[64:]))
    assert [answer.pop("line", None) for answer in answers] == list(range(first, first + 16))
    assert predictor(asked) == answers
    assert_transformers_agrees(kind, out, asked, answers)


@torch.no_grad()
def assert_transformers_agrees(kind: str, out: Path, asked: list[dict], answers: list[dict]):
    tokenizer = transformers.AutoTokenizer.from_pretrained(out)

    def of(model_type: type, *given, **more) -> np.ndarray:
        model = model_type.from_pretrained(out).eval()
        return model(**tokenizer(*given, return_tensors="pt", **more))

    if kind in ("texts", "pairs", "numbers"):
        how = {"function_to_apply": "none"} if kind == "numbers" else {}
        pipeline = transformers.pipeline("text-classification", model=str(out), device="cpu", **how)
        columns = ("text",) if "text" in asked[0] else ("sentence1", "sentence2")
        names = ("text", "text_pair")
        theirs = pipeline(
            [dict(zip(names, (row[c] for c in columns), strict=False)) for row in asked]
        )
        ours = [(each["label"], each["probabilities"][each["label"]]) if kind != "numbers" else
                ("score", each["score"]) for each in answers]  # fmt: skip
        assert [each["label"] for each in theirs] == [label for label, _ in ours]
        assert [each["score"] for each in theirs] == pytest.approx([p for _, p in ours], abs=1e-5)
    elif kind == "tags":
        pipeline = transformers.pipeline("token-classification", model=str(out), device="cpu",
                                         ignore_labels=[])  # fmt: skip
        for row, answer in zip(asked, answers, strict=True):
            assert [each["entity"] for each in pipeline(" ".join(row["words"]))] == answer["tags"]
    elif kind == "questions":
        for row, answer in zip(asked, answers, strict=True):
            text = tokenizer(row["question"], row["context"], return_offsets_mapping=True)
            found = of(transformers.AutoModelForQuestionAnswering, row["question"], row["context"])
            start, end = found.start_logits[0].numpy(), found.end_logits[0].numpy()
            inside = [n for n, part in enumerate(text.sequence_ids()) if part == 1]
            best = max(((i, j) for i in inside for j in inside if i <= j),
                       key=lambda both: start[both[0]] + end[both[1]])  # fmt: skip
            offsets = text["offset_mapping"]
            assert row["context"][offsets[best[0]][0] : offsets[best[1]][1]] == answer["answer"]
    else:
        model = transformers.AutoModelForMultipleChoice.from_pretrained(out).eval()
        for row, answer in zip(asked, answers, strict=True):
            endings = [row["ending0"], row["ending1"]]
            batch = tokenizer([row["sent1"]] * 2, endings, return_tensors="pt", padding=True)
            logits = model(**{name: array[None] for name, array in batch.items()}).logits
            assert int(logits.argmax()) == answer["choice"]
