"""A small corpus and a small finished run, made once and shared."""

import importlib
import io
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bert_paper.pretrain import pretrain
from bert_paper.settings import PretrainSettings

SUBJECTS = ["the cat", "the dog", "a bird", "my friend", "the old man", "a girl", "the baker"]
VERBS = ["sees", "likes", "follows", "finds", "calls", "feeds", "remembers"]
OBJECTS = ["the river", "a small house", "the red ball", "an apple", "the market", "a song"]


def make_settings(corpus: Path, out: Path, **changes) -> PretrainSettings:
    """A model of a few thousand numbers, so that a step takes milliseconds."""
    fields = dict(
        corpus=str(corpus), out=out, vocab_size=200, seq_length=32, num_hidden_layers=2,
        hidden_size=32, num_attention_heads=2, intermediate_size=64, max_position_embeddings=40,
        steps=12, batch_size=8, warmup_steps=2, eval_examples=32, device="cpu", precision="fp32",
    )  # fmt: skip
    return PretrainSettings(**{**fields, **changes})


@pytest.fixture(scope="session")
def small_settings() -> Callable[..., PretrainSettings]:
    return make_settings


@pytest.fixture(scope="session")
def corpus_file(tmp_path_factory) -> Path:
    """Four hundred documents of six sentences, one sentence a line."""
    path = tmp_path_factory.mktemp("corpus") / "sentences.txt"
    choice = random.Random(0).choice
    sentence = lambda: f"{choice(SUBJECTS)} {choice(VERBS)} {choice(OBJECTS)} .\n"  # noqa: E731
    documents = ["".join(sentence() for _ in range(6)) for _ in range(400)]
    path.write_text("\n".join(documents), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def small_run(corpus_file, tmp_path_factory) -> Path:
    """The folder of a finished run."""
    out = tmp_path_factory.mktemp("runs") / "small"
    pretrain(make_settings(corpus_file, out))
    return out


@pytest.fixture
def call():
    """Call a command of the course as a user does; returns (exit code, output, errors)."""

    def run(command: str, *arguments: object) -> tuple[int, str, str]:
        module = {"bert-pretrain": "pretrain", "bert-fill-mask": "fill_mask",
                  "bert-encode": "encode", "bert-convert": "convert"}[command]  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", f"bert_paper.{module}", *map(str, arguments)],
            capture_output=True, text=True, encoding="utf-8", timeout=200,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.fixture
def call_here(capsys, monkeypatch):
    """The same in this process, which saves the seconds of starting Python; `stdin` is bytes."""

    def run(command: str, *arguments: object, stdin: bytes = b"") -> tuple[int, str, str]:
        module = importlib.import_module(f"bert_paper.{command.removeprefix('bert-')}".replace(
            "-", "_"))  # fmt: skip
        monkeypatch.setattr(sys, "argv", [command, *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = 0
        try:
            module.main()
        except SystemExit as stopped:
            code = stopped.code
        told = capsys.readouterr()
        return code, told.out, told.err

    return run
