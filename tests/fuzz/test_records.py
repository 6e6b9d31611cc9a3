"""Configs, tokenizers, reports and records as nobody wrote them: read, or one line that says why.

Valid files are changed at random: keys dropped, values of other types, bytes flipped, texts cut
short, values nested deep, numbers beyond all bounds. The same changes on every run.
"""

import copy
import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_corpus.store import TokenStore, build_store, read_progress
from bert_corpus.wordpiece import bert_tokenizer, load_tokenizer, save_tokenizer
from bert_finetuning.finetune import INPUTS_FILE, check_inputs
from bert_finetuning.train import RESULT, SeedResult
from bert_run.config import BertConfig
from bert_run.errors import UserError
from bert_run.files import RunFolder, find_damage
from bert_run.training_loop import MetricsLog, read_metrics

pytestmark = pytest.mark.usefixtures("shapes_unchecked")  # as at a user: the code must notice

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "##a", "##b", "."]
TOKENIZER = bert_tokenizer(TOKENS)
IDENTITY = {"format": 1, "fingerprint": "f", "tokenizer_sha256": "t", "name": "n", "source": "s"}
CLAIMED = {"seed": 3, "corpus": "storyworld", "vocab_size": None}


def write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")


def a_config(folder: Path) -> Path:
    BertConfig(vocab_size=10, hidden_size=8, num_attention_heads=2).save(folder)
    return folder / "config.json"


def a_tokenizer(folder: Path) -> Path:
    save_tokenizer(TOKENIZER, folder)
    return folder / "tokenizer.json"


def a_tokenizer_config(folder: Path) -> Path:
    a_tokenizer(folder)
    return folder / "tokenizer_config.json"


def a_vocabulary(folder: Path) -> Path:
    a_tokenizer(folder).unlink()
    return folder / "vocab.txt"


def a_report(folder: Path) -> Path:
    build_store([["a b.", "b a."], ["a."]], TOKENIZER, folder / "store", progress=False)
    return folder / "store" / "report.json"


def a_progress(folder: Path) -> Path:
    files = {name: [0, 0] for name in ("tokens", "sentence_starts", "document_starts")}
    path = folder / "store.unfinished" / "progress.json"
    path.parent.mkdir(parents=True)
    write_json(path, {"identity": IDENTITY, "documents": 1, "files": files})
    return path


def metrics(folder: Path) -> Path:
    log = MetricsLog(folder / "metrics.jsonl")
    for step in (1, 2, 3):
        log.append({"step": step, "train_mlm_loss": 5.0 / step})
    return log.path


def a_run(folder: Path) -> Path:
    run = RunFolder(folder / "run")
    run.claim(CLAIMED)
    run.note({"train": {"tokens": 5}})
    run.release()
    (folder / "run" / "model.safetensors").write_bytes(b"model")
    return run.record


def a_manifest(folder: Path) -> Path:
    run = RunFolder(folder / "run")
    run.claim(CLAIMED)
    run.save(7, lambda beside: a_config(beside))
    run.release()
    return folder / "run" / "checkpoints" / "step-00000007" / "manifest.json"


def an_input(name: str, content: str, examples: int | None = None) -> dict[str, Any]:
    return {"name": name, "sha256": content, "examples": examples}


def inputs_of_a_run(folder: Path) -> Path:
    check_inputs(folder, {"train": an_input("a.csv", "f", 3), "start": an_input("model", "g")})
    return folder / INPUTS_FILE


def a_result(folder: Path) -> Path:
    path = folder / "seed-0" / RESULT
    path.parent.mkdir()
    scores = {"step": 3, "accuracy": 0.5}
    write_json(path, vars(SeedResult(0, scores, scores, False)))
    return path


def claim(path: Path) -> None:
    run = RunFolder(path.parent)
    try:
        run.claim(CLAIMED)
    finally:
        run.release()


def changed_inputs(path: Path) -> None:
    same = {"train": an_input("a.csv", "f", 3), "start": an_input("model", "g")}
    for now in (same, {**same, "train": an_input("a.csv", "other", 4)}):
        with suppress(UserError):
            check_inputs(path.parent, now)
    check_inputs(path.parent, same)


def resume(path: Path) -> None:
    find_damage(path.parent)
    RunFolder(path.parents[2]).remove_checkpoints()


READERS: dict[str, tuple[Callable[[Path], Path], Callable[[Path], Any]]] = {
    "config.json": (a_config, lambda path: BertConfig.load(path.parent)),
    "tokenizer.json": (a_tokenizer, lambda path: load_tokenizer(path.parent)),
    "tokenizer_config.json": (a_tokenizer_config, lambda path: load_tokenizer(path.parent)),
    "vocab.txt": (a_vocabulary, lambda path: load_tokenizer(path.parent)),
    "report.json": (a_report, lambda path: TokenStore.open(path.parent)),
    "progress.json": (a_progress, lambda path: read_progress(path.parent, IDENTITY)),
    "metrics.jsonl": (metrics, read_metrics),
    "run.json": (a_run, claim),
    "manifest.json": (a_manifest, resume),
    "inputs.json": (inputs_of_a_run, changed_inputs),
    "result.json": (a_result, lambda path: SeedResult.read(path.parent, "accuracy")),
}  # fmt: skip

ODD_VALUES = [None, True, 0, -1, 2**63, 10**400, 1.5, float("nan"), float("inf"), "", "x", "yes",
              "\ud800", "line\nbreak", [], [1], {}, {"a": []}, "x" * 100_000]  # fmt: skip
DEEP = {kind: kind * 100_000 for kind in ("[", '{"a":')}


def places_in(value: Any, place: tuple = ()) -> list[tuple]:
    """The paths to all values inside a JSON value."""
    if isinstance(value, dict):
        inside = list(value.items())
    else:
        inside = list(enumerate(value)) if isinstance(value, list) else []
    found = []
    for key, each in inside:
        found += [(*place, key), *places_in(each, (*place, key))]
    return found


def change_value(draw, text: str) -> str:
    """One value of a JSON text dropped, or replaced by an odd one or by one nested deep."""
    value = json.loads(text)
    place = draw(st.sampled_from(places_in(value)))
    changed = copy.deepcopy(value)
    holder = changed
    for key in place[:-1]:
        holder = holder[key]
    how = draw(st.sampled_from(["drop", "odd", "odd", "odd", "deep"]))
    if how == "drop":
        del holder[place[-1]]
        return json.dumps(changed)
    if how == "odd":
        holder[place[-1]] = draw(st.sampled_from(ODD_VALUES))
        return json.dumps(changed)
    holder[place[-1]] = "HERE"
    return json.dumps(changed).replace('"HERE"', draw(st.sampled_from(sorted(DEEP.values()))), 1)


@st.composite
def changes(draw, content: bytes) -> bytes:
    """The content of a file, spoilt."""
    kind = draw(st.sampled_from(["value", "value", "value", "whole", "cut", "flip", "insert"]))
    at = draw(st.integers(0, max(0, len(content) - 1)))
    if kind == "value":
        lines = content.decode().split("\n")
        is_json = content.startswith(b"{\n")  # a whole file; else lines, of JSON or of words
        number = 0 if is_json else draw(st.integers(0, len(lines) - 1))
        text = content.decode() if is_json else lines[number]
        if not text.startswith("{"):
            kind = "flip"
        else:
            new = change_value(draw, text)
            lines = [new] if is_json else [*lines[:number], new, *lines[number + 1 :]]
            return "\n".join(lines).encode("utf-8", "surrogatepass")
    if kind == "whole":
        return draw(st.sampled_from([b"", b"5", b"[]", b"{}", b"null", b"\xff\xfe", b"\0" * 9,
                                     *(deep.encode() for deep in DEEP.values())]))  # fmt: skip
    if kind == "cut":
        return content[:at]
    if kind == "insert":
        odd = draw(st.sampled_from([b"\xff", b"\0", b"\n", b'"', b"}", b"9" * 5_000, b"\xed\xa0"]))
        return content[:at] + odd + content[at:]
    flipped = bytearray(content)
    flipped[at] ^= draw(st.integers(1, 255))
    return bytes(flipped)


@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
def test_a_spoilt_file_is_read_or_refused_in_one_line(name, data, tmp_path_factory):
    make, read = READERS[name]
    folder = tmp_path_factory.getbasetemp() / f"spoilt-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path = make(folder)
    path.write_bytes(data.draw(changes(path.read_bytes())))
    try:
        read(path)
    except UserError as told:
        assert "\n" not in str(told) and len(str(told)) < 1_000


@pytest.mark.parametrize("name", READERS)
def test_the_file_that_is_spoilt_is_one_that_is_read(name, tmp_path):
    make, read = READERS[name]
    read(make(tmp_path))
