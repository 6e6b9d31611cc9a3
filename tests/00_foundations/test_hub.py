"""A model is put on the Hub: what goes there, and what is said where that is not possible.

No test asks the Hub: an object stands in for its API.
"""

import sys
import types
from importlib import import_module, metadata
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import errors
from huggingface_hub.utils import filter_repo_objects

from bert_run.errors import UserError
from bert_run.weights import check_push, push_folder


class Api:
    """Remembers what it is asked; `failure` is raised by the call of that name."""

    failure: tuple[str, Exception] | None = None
    asked: list

    def called(self, name: str, **given) -> None:
        Api.asked.append((name, given))
        if Api.failure is not None and Api.failure[0] == name:
            raise Api.failure[1]

    def whoami(self) -> dict:
        self.called("whoami")
        return {"name": "me"}

    def create_repo(self, repo_id: str, **given) -> str:
        self.called("create_repo", repo_id=repo_id, **given)
        return f"https://huggingface.co/{repo_id}"

    def upload_folder(self, **given) -> None:
        self.called("upload_folder", **given)


@pytest.fixture
def api(monkeypatch):
    monkeypatch.setattr(Api, "asked", [], raising=False)
    monkeypatch.setattr(Api, "failure", None)
    monkeypatch.setattr(huggingface_hub, "HfApi", Api)
    return Api


def test_push__uploads_the_model_and_none_of_the_users_texts(api, tmp_path):
    check_push("me/reviews")
    assert push_folder(tmp_path, "me/reviews") == "https://huggingface.co/me/reviews"
    login, made, uploaded = api.asked
    assert login[0] == "whoami"
    assert made == ("create_repo", {"repo_id": "me/reviews", "private": True, "exist_ok": True})
    assert uploaded[0] == "upload_folder" and uploaded[1]["repo_id"] == "me/reviews"
    there = ["config.json", "model.safetensors", "tokenizer.json", "vocab.txt", "README.md",
             "curve.png", "metrics.json", "predictions.jsonl", "errors.md", "run.json",
             "inputs.json", "split.json", "test_predictions.jsonl", "seed-0/model.safetensors",
             "seed-0/curve.png", "seed-0/best/config.json"]  # fmt: skip
    chosen = filter_repo_objects(there, allow_patterns=uploaded[1]["allow_patterns"])
    assert list(chosen) == there[:6]


ANSWER = types.SimpleNamespace(headers={}, request=None)


@pytest.mark.parametrize("error, problem", [
    (errors.LocalTokenNotFoundError("x"), "you are not logged in to the Hub: call `hf auth login`"),
    (errors.OfflineModeIsEnabled("x"), "the Hub is not asked, as HF_HUB_OFFLINE is set"),
    (ConnectionError("no route"), r"the Hub cannot be reached \(no route\)"),
    (errors.HfHubHTTPError("403 no rights", response=ANSWER),
     r"the Hub refuses \(.*403 no rights"),
])  # fmt: skip
@pytest.mark.parametrize("call", ["whoami", "create_repo", "upload_folder"])
def test_push__that_fails_is_one_line(api, tmp_path, error, problem, call):
    api.failure = (call, error)
    with pytest.raises(UserError, match=f"^--push me/reviews: {problem}") as told:
        check_push("me/reviews")
        push_folder(tmp_path, "me/reviews")
    assert "\n" not in str(told.value)
    assert ("is complete" in str(told.value)) is (call != "whoami")


SCRIPTS = metadata.entry_points(group="console_scripts")
COMMANDS = {each.name: each.value for each in SCRIPTS if each.name.startswith("bert-")}


def test_commands__are_these_seven():
    assert COMMANDS.keys() >= {"bert-pretrain", "bert-fill-mask", "bert-encode", "bert-convert",
                               "bert-finetune", "bert-predict", "bert-grade"}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_version__of_every_command_is_that_of_the_package(name, monkeypatch, capsys):
    module, _, function = COMMANDS[name].partition(":")
    monkeypatch.setattr(sys, "argv", [name, "--version"])
    getattr(import_module(module), function)()
    version = metadata.version("build-bert-four-times")
    assert capsys.readouterr().out.startswith(f"build-bert-four-times {version} (torch ")
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert f'\nversion = "{version}"\n' in project
