"""Models of the Hub, on a small Hub of our own: what is fetched, what is not, what is refused.

The real client of the Hub talks to a server on this machine, so nothing leaves it.
"""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import huggingface_hub
import pytest
import transformers

from bert_paper.fill_mask import fill_mask
from bert_paper.pretrained import open_pretrained
from bert_run import weights
from bert_run.errors import UserError
from bert_run.weights import is_hub_id, locate, other_form

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TAGGED = "89abcdef0123456789abcdef0123456789abcdef"
COMMITS = {"main": COMMIT, "v1": TAGGED, COMMIT: COMMIT, TAGGED: TAGGED}
BLANK = "the [MASK] sees"


class SmallHub(ThreadingHTTPServer):
    """The part of the Hub's protocol that finding and fetching a model takes."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.models: dict[str, dict[str, bytes]] = {}  # id, and its files
        self.fetched: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def add(self, model: str, folder: Path | None = None, **files: bytes) -> None:
        kept = {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()} if folder else {}
        self.models[model] = {**kept, **files}


class Breaking(bytes):
    """A file of which the server sends nothing."""


class Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        parts = unquote(urlsplit(self.path).path).strip("/").split("/")
        api = parts[:2] == ["api", "models"]
        if api:
            del parts[:2]
        model, rest = "/".join(parts[:2]), parts[2:]
        files = self.server.models.get(model)
        revision = rest[1] if len(rest) > 1 else "main"
        if files is None:
            self.send(404, b"{}", {"X-Error-Code": "RepoNotFound"})
        elif revision not in COMMITS:
            self.send(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        elif api and rest and rest[0] == "tree":
            tree = [{"type": "file", "path": n, "size": len(c), "oid": n} for n, c in files.items()]
            self.send(200, json.dumps(tree).encode())
        elif api:
            config = json.loads(files.get("config.json", b"{}"))
            siblings = [{"rfilename": n, "size": len(c)} for n, c in files.items()]
            info = {"id": model, "sha": COMMITS[revision], "siblings": siblings, "config": config}
            self.send(200, json.dumps(info).encode())
        else:  # OWNER/NAME/resolve/REVISION/FILE
            if isinstance(files[rest[-1]], Breaking) and self.command == "GET":
                return self.send(403, b"{}")
            if self.command == "GET":
                self.server.fetched.append(rest[-1])
            headers = {"X-Repo-Commit": COMMITS[revision], "ETag": f'"{rest[-1]}"'}
            self.send(200, files[rest[-1]], headers)

    do_HEAD = do_GET

    def send(self, code: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(code)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_) -> None:
        pass


@pytest.fixture
def asked_here(small_hub, tmp_path, monkeypatch) -> SmallHub:
    """The same for calls within this process, where the client has read its settings long ago."""
    for name, value in {
        "ENDPOINT": small_hub.address, "HF_HUB_CACHE": str(tmp_path / "here"),
        "HF_HUB_OFFLINE": False,
        "HUGGINGFACE_CO_URL_TEMPLATE":
            small_hub.address + "/{repo_id}/resolve/{revision}/{filename}",
    }.items():  # fmt: skip
        monkeypatch.setattr(huggingface_hub.constants, name, value)
    return small_hub


@pytest.fixture
def small_hub(tmp_path, monkeypatch) -> Iterator[SmallHub]:
    """A Hub that commands ask in place of the real one; its downloads go to a cache of the test."""
    server = SmallHub()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, value in {
        "HF_ENDPOINT": server.address, "HF_HOME": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "0",
        "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    for name in ("HF_HUB_CACHE", "HF_TOKEN", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    yield server
    server.shutdown()
    server.server_close()


def error_of(err: str) -> str:
    lines = [line for line in err.strip().splitlines() if line.startswith("error: ")]
    assert len(lines) == 1 and "Traceback" not in err, err
    return lines[0]


def test_a_model_is_fetched_without_what_could_run_and_converted(
    small_hub, small_run, call, tmp_path
):
    extra = {"pytorch_model.bin": b"a pickle", "modeling_bert.py": b"code", "tf_model.h5": b"keras",
             "README.md": b"---\nlicense: apache-2.0\n---\n# Theirs\n"}  # fmt: skip
    small_hub.add("somebody/tiny-bert", small_run, **extra)
    code, out, err = call(
        "bert-convert", "somebody/tiny-bert", tmp_path / "out", "--to", "masked-lm"
    )
    assert code == 0, err
    assert "BertForMaskedLM" in out
    assert sorted(set(small_hub.fetched)) == [
        "README.md", "config.json", "model.safetensors", "tokenizer.json",
        "tokenizer_config.json", "vocab.txt",
    ]  # fmt: skip
    transformers.BertForMaskedLM.from_pretrained(tmp_path / "out")
    assert fill_mask(open_pretrained(tmp_path / "out"), BLANK) == fill_mask(
        open_pretrained(small_run), BLANK
    )
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert card.startswith("---\nlicense: apache-2.0\n---\n\nConverted by bert-convert from ")
    assert card.endswith("\n\n# Theirs\n")
    assert f"from `somebody/tiny-bert at {COMMIT}`" in card


def test_commands_take_a_hub_id_and_find_the_copy_again_when_the_hub_is_gone(
    small_hub, small_run, call
):
    small_hub.add("somebody/tiny-bert", small_run)
    arguments = ("bert-fill-mask", BLANK, "--checkpoint", "somebody/tiny-bert", "--json")
    code, first, err = call(*arguments)
    assert code == 0, err
    guesses = fill_mask(open_pretrained(small_run), BLANK)[0]
    assert [g["token"] for g in json.loads(first)[0]["masks"][0]] == [g.token for g in guesses]
    small_hub.models.clear()
    small_hub.shutdown()
    small_hub.server_close()
    code, second, err = call(*arguments)
    assert (code, second) == (0, first)
    assert "somebody/tiny-bert as downloaded earlier" in err


def test_a_revision_is_what_is_opened_and_an_unknown_one_is_named(asked_here, small_run):
    asked_here.add("somebody/tiny-bert", small_run)
    found = locate("somebody/tiny-bert", revision="v1")
    assert (found.hub_id, found.commit) == ("somebody/tiny-bert", TAGGED)
    assert locate("somebody/tiny-bert").commit == COMMIT
    assert open_pretrained(found.folder).missing == []
    with pytest.raises(UserError, match="somebody/tiny-bert of the Hub has no revision v9"):
        locate("somebody/tiny-bert", revision="v9")


GPT2 = json.dumps({"model_type": "gpt2"}).encode()


@pytest.mark.parametrize("files, says", [
    ({"config.json": b"{}", "pytorch_model.bin": b"x"}, "holds its weights only as a pickle"),
    ({"bert_config.json": b"{}", "bert_model.ckpt.index": b"x"}, "is a checkpoint of TensorFlow"),
    ({"config.json": b"{}", "tf_model.h5": b"x"}, "in the form of TensorFlow"),
    ({"config.json": GPT2, "model.safetensors": b"x"}, "holds a 'gpt2' model"),
    ({"config.json": b"{}", "notes.txt": b"x"}, "holds no model.safetensors"),
    ({"notes.txt": b"x"}, "holds no config.json"),
    (None, "no model of that name on the Hub"),
])  # fmt: skip
def test_what_cannot_be_opened_is_refused_before_it_is_fetched(asked_here, files, says):
    if files is not None:
        asked_here.add("somebody/something", **files)
    with pytest.raises(UserError) as caught:
        locate("somebody/something")
    message = str(caught.value)
    assert says in message and "somebody/something" in message and "\n" not in message
    assert asked_here.fetched == []


def test_the_demo_before_it_was_made_is_told_with_the_command_that_makes_it(
    asked_here, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"no folder runs/demo here \(`make demo` makes it\), and"):
        locate("runs/demo")


def test_a_download_that_breaks_off_is_told_and_leaves_no_copy_to_be_opened(asked_here, small_run):
    asked_here.add("somebody/broken", small_run)
    asked_here.models["somebody/broken"]["vocab.txt"] = Breaking(b"word")
    with pytest.raises(UserError, match="somebody/broken could not be downloaded"):
        locate("somebody/broken")
    asked_here.models.clear()
    with pytest.raises(UserError, match="no model of that name"):
        locate("somebody/broken")


@pytest.mark.parametrize("offline", ["0", "1"])
def test_a_mistyped_path_gets_one_line_with_both_readings_within_seconds(
    offline, call, monkeypatch, tmp_path
):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens there
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", offline)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    start = time.monotonic()
    code, out, err = call("bert-fill-mask", BLANK, "--checkpoint", "runs/dmeo")
    assert time.monotonic() - start < 30  # of which most is the start of Python and torch
    assert (code, out) == (2, "")
    message = error_of(err)
    assert "there is no folder runs/dmeo here" in message
    assert ("HF_HUB_OFFLINE is set" if offline == "1" else "Hub cannot be reached") in message


@pytest.mark.parametrize("name", [
    "google-bert/bert-base-uncased", "prajjwal1/bert-tiny", "bert-base-uncased",
    "bert-large-cased-whole-word-masking", "runs/demo",
])  # fmt: skip
def test_names_of_models_are_known(name):
    assert is_hub_id(name)


@pytest.mark.parametrize("name", [
    "demo", "a/b/c", "/runs/demo", "../demo", "./runs/x", "runs/", "~/demo", "-x/y", "a b/c",
    "bert-base-uncase", "",
])  # fmt: skip
def test_what_has_no_form_of_a_model_is_never_asked_of_the_hub(name, monkeypatch, tmp_path):
    assert not is_hub_id(name)


def test_a_missing_path_is_called_missing(monkeypatch, tmp_path):
    monkeypatch.setattr(weights, "fetch", None)
    for name in (tmp_path / "nothing", "../no/such", "bert-base-uncase"):
        with pytest.raises(UserError, match="there is no checkpoint folder"):
            locate(name)


def test_a_folder_that_exists_is_never_asked_of_the_hub(monkeypatch, tmp_path, small_run):
    monkeypatch.setattr(weights, "fetch", None)
    monkeypatch.chdir(tmp_path)
    Path("google-bert").mkdir()
    Path("google-bert/bert-base-uncased").symlink_to(small_run)
    found = locate("google-bert/bert-base-uncased")
    assert found.folder == Path("google-bert/bert-base-uncased") and found.hub_id is None
    with pytest.raises(UserError, match="--revision v1 is for models of the Hub"):
        locate("google-bert/bert-base-uncased", revision="v1")
    with pytest.raises(UserError, match="is a file: give the folder"):
        locate(small_run / "config.json")


def test_the_prefix_of_a_tensorflow_checkpoint_is_known_for_what_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("uncased").mkdir()
    Path("uncased/bert_model.ckpt.index").write_bytes(b"never read")
    for name in ("uncased", "uncased/bert_model.ckpt"):
        with pytest.raises(UserError, match="is a checkpoint of TensorFlow"):
            locate(name)
    assert other_form(["model.safetensors", "pytorch_model.bin", "tf_model.h5"]) is None
