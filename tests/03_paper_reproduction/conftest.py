"""The commands of level 3, called as a user does."""

import importlib
import io
import subprocess
import sys

import pytest


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
