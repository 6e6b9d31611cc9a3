"""A new task type is one class and one line of registration: from a file of rows to predictions."""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from bert_corpus.wordpiece import bert_tokenizer, save_tokenizer
from bert_finetuning import predict
from bert_finetuning.data.rows import Expected, Table
from bert_finetuning.finetune import finetune
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks import TASKS
from bert_finetuning.tasks.base import Example, Features, Task, encode_pairs
from bert_finetuning.tasks.classification import BertForSequenceClassification
from bert_run.config import BertConfig, initial_weights
from bert_run.weights import save_weights

WORDS = ["a", "b"]


@dataclass(frozen=True)
class Line(Example):
    """A line of letters, and how often "a" stands in it."""

    shown: ClassVar = ("letters",)

    letters: str
    count: int | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.letters,)

    @property
    def gold(self) -> int | None:
        return self.count


@dataclass(frozen=True)
class Counting(Task[Line]):
    """How often does "a" stand in a line? The labels are the numbers."""

    format: ClassVar = "counts"
    model: ClassVar = BertForSequenceClassification
    row_columns: ClassVar = (("letters",),)
    learns: ClassVar = "how many letters are a"
    empty: ClassVar = Line("")
    parts: ClassVar = ("letters",)

    @classmethod
    def parse(cls, rows: Table, expected: Expected) -> Iterator[Line]:
        for row in rows:
            count = row.fields["count"] if expected.labeled else None
            yield Line(row.text("letters"), count)

    @classmethod
    def labels_of(cls, examples: Sequence[Line]) -> tuple[str, ...]:
        return tuple(str(n) for n in range(1 + max(example.count for example in examples)))

    def encode(self, examples, tokenizer, *, max_length: int) -> list[Features]:
        texts = [(example.letters, None) for example in examples]
        rows = encode_pairs(tokenizer, texts, max_length=max_length, what="lines")
        return [
            Features(place, *row, {} if example.count is None else {"labels": example.count})
            for place, (row, example) in enumerate(zip(rows, examples, strict=True))
        ]

    def predict(self, examples, features, logits) -> list[int]:
        return [int(each.argmax()) for each in logits]

    def majority(self, train, examples) -> list[int]:
        ((count, _),) = Counter(example.count for example in train).most_common(1)
        return [count] * len(examples)

    def score(self, examples, predictions) -> dict[str, float]:
        right = [example.count for example in examples]
        return {"accuracy": float(np.mean(np.array(right) == np.array(predictions)))}

    def answer_cells(self, example: Line, prediction: int) -> dict[str, int]:
        return {"predicted_count": prediction}


def write_rows(path: Path, count: int, *, seed: int) -> Path:
    generator = np.random.default_rng(seed)
    lines = [" ".join(generator.choice(WORDS, 3)) for _ in range(count)]
    rows = [json.dumps({"letters": line, "count": line.count("a")}) for line in lines]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def checkpoint(tmp_path) -> Path:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    config = BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=16,
    )  # fmt: skip
    config.save(folder)
    save_weights(initial_weights(config, seed=0), folder / "model.safetensors")
    save_tokenizer(bert_tokenizer(words), folder, model_max_length=16)
    return folder


def test_a_task_type_of_ones_own__is_learned_from_rows_and_answers_new_ones(
    checkpoint, tmp_path, monkeypatch, capsys
):
    monkeypatch.setitem(TASKS, Counting.format, Counting)  # the one line of registration
    train, dev = (write_rows(tmp_path / f"{n}.jsonl", n, seed=n) for n in (160, 40))
    out = tmp_path / "out"
    outcome = finetune(FinetuneSettings(
        train=str(train), dev=str(dev), checkpoint=str(checkpoint), out=out, epochs=12,
        batch_size=16, learning_rate=5e-3, pooling="mean", hidden_dropout=0.0, device="cpu",
        precision="fp32",
    ))  # fmt: skip
    assert outcome.best.best["accuracy"] > outcome.majority["accuracy"] + 0.2
    assert "how many letters are a (format counts)" in capsys.readouterr().err
    lines = (out / "predictions.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 40 and json.loads(lines[0]).keys() == {"letters", "count", "right"}
    assert (out / "errors.md").read_text("utf-8").startswith("# 160: what is wrong")

    def answers(*arguments: str) -> str:
        call = ["bert-predict", "--checkpoint", str(out), "--device", "cpu", *arguments]
        monkeypatch.setattr(sys, "argv", call)
        predict.main()
        return capsys.readouterr().out

    assert answers("b b b") == "b b b\n  0\n"
    assert json.loads(answers("a a a", "--json")) == {"letters": "a a a", "count": 3}
    written = answers("--input", str(dev), "--out", str(tmp_path / "answers.csv"))
    assert "40 rows answered" in written
    header, *rows = (tmp_path / "answers.csv").read_text("utf-8").splitlines()
    assert header == "line,letters,count,predicted_count" and len(rows) == 40
