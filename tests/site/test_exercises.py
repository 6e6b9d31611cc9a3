"""Python in the page: what is shipped, where it comes from, and that it grades as CPython does."""

import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import in_page
import pytest
import runtime

from autograder.points import CATALOGUE, EXERCISES, find
from bert_corpus.storyworld import stories
from bert_corpus.wordpiece import train_wordpiece, vocabulary_of
from bert_run.errors import UserError

sys.path.insert(0, str(Path(__file__).parent))  # tests are not a package
import grading_parity
from grading_parity import PYTHON, Kept, answers, differences, grade_here, grade_there

ROOT = Path(__file__).parents[2]
STAND_INS = ROOT / "site" / "stand_ins"
SHIPPED = dict(runtime.course_files())

needs_python = pytest.mark.skipif(
    not (PYTHON / "course.zip").is_file(), reason="Python of the pages is missing: call make site"
)
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="there is no node: install it")


# What is shipped


def test_course_files__hold_no_solution_and_no_bank():
    assert not [path for path in SHIPPED if "solution" in path or "bank" in path.split("/")]
    shipped = {text.strip() for text in SHIPPED.values()}
    for exercise in CATALOGUE:
        solution = exercise.solution.read_bytes()
        assert solution.strip() not in shipped
        for body in re.findall(rb"# begin solution\n(.*?)# end solution", solution, re.DOTALL):
            if body.count(b"\n") > 4:
                assert not [path for path, text in SHIPPED.items() if body in text]


def test_course_files__hold_the_checks_and_the_starters_unchanged():
    assert len(runtime.OFFERED) >= 14
    for name in runtime.OFFERED:
        exercise = find(name)
        for path in (exercise.test, exercise.starter):
            assert SHIPPED[f"course/exercises/{name}/{path.name}"] == path.read_bytes()
    graders = list((EXERCISES / "autograder").glob("*.py"))
    assert all(SHIPPED[f"course/exercises/autograder/{p.name}"] == p.read_bytes() for p in graders)


def test_offered__holds_the_starter_and_the_points_of_every_check():
    exercise = find("03_softmax")
    offered = runtime.offered(exercise)
    assert offered["starter"] == exercise.starter.read_text("utf-8")
    assert sum(check["worth"] for check in offered["checks"]) == 100 * offered["points"] == 300
    assert "solution" not in json.dumps(offered)


def test_offers__says_which_pages_run_python():
    assert runtime.offers("exercises/03_softmax/README.md")
    assert not runtime.offers("exercises/12_encoder_layer/README.md")
    assert runtime.offers("01_numpy_from_scratch/03_attention_by_hand.ipynb")
    assert not runtime.offers("02_pytorch_lowlevel/03_bert_and_gpt.ipynb")


def test_taken_out__refuses_a_wheel_that_is_not_the_one_of_pyodides_lock_file(tmp_path):
    carrier, name = tmp_path / "carrier.whl", "numpy-2.4.3-wasm32.whl"
    with zipfile.ZipFile(carrier, "w") as archive:
        archive.writestr(f"static/pyodide/{name}", b"a wheel")
    package = {"file_name": name, "sha256": hashlib.sha256(b"a wheel").hexdigest()}
    assert runtime.taken_out(carrier, package) == b"a wheel"
    with pytest.raises(UserError, match="it is not used"):
        runtime.taken_out(carrier, {**package, "sha256": "0" * 64})
    with pytest.raises(UserError, match="does not hold"):
        runtime.taken_out(carrier, {**package, "file_name": "another.whl"})


@needs_python
def test_write__every_wheel_for_webassembly_has_the_digest_of_pyodides_lock_file():
    packages = json.loads((PYTHON / runtime.LOCK).read_text())["packages"]
    assert set(packages) == set(runtime.CARRIED)
    official = runtime.lock()["packages"]
    for name, package in packages.items():
        data = (PYTHON / package["file_name"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == official[name]["sha256"] == package["sha256"]


# The stand-in for the library `tokenizers`

ALPHABET = "abcdeé ÅçÖ ßİ,.!?'$-+ 東京は ​\u0301\t\x00🙂ーΣσ [MASK] [CLS] ##ing"
CODE = """
import json, sys
import tokenizers
from bert_corpus.wordpiece import bert_tokenizer, train_wordpiece, vocabulary_of
told = json.load(sys.stdin)
tokenizer = bert_tokenizer(told["vocabulary"], lowercase=told["lowercase"])
encodings = [tokenizer.encode(*texts) for texts in told["texts"]]
print(json.dumps({
    "is stand-in": "stand_ins" in tokenizers.__file__,
    "encodings": [[e.ids, e.tokens, e.type_ids, e.special_tokens_mask, e.word_ids,
                   e.offsets]
                  for e in encodings],
    "decoded": [tokenizer.decode(e.ids) for e in encodings],
    "trained": vocabulary_of(train_wordpiece(told["sentences"], told["size"], progress=False)),
}))
"""


def asked(told: dict, *, stand_in: bool) -> dict:
    """The answers of the library, or of its stand-in, in a process of its own."""
    path = {"PYTHONPATH": str(STAND_INS)} if stand_in else {}
    done = subprocess.run([sys.executable, "-c", CODE], input=json.dumps(told), text=True,
                          capture_output=True, env={**os.environ, **path}, check=True)  # fmt: skip
    return json.loads(done.stdout)


@pytest.mark.parametrize("lowercase", [True, False])
def test_tokenizers_stand_in__encodes_decodes_and_trains_as_the_library_does(lowercase):
    sentences = [s.text for story in stories(60) for s in story.sentences]
    vocabulary = vocabulary_of(train_wordpiece(sentences, 400, progress=False))
    rng = random.Random(0)
    odd = ["".join(rng.choices(ALPHABET, k=rng.randrange(30))) for _ in range(300)]
    texts = [*([s] for s in sentences[:60]), *([s] for s in odd),
             *([a, b] for a, b in zip(odd, sentences, strict=False))]  # fmt: skip
    told = {"vocabulary": vocabulary, "lowercase": lowercase, "texts": texts,
            "sentences": [*sentences, *odd], "size": 600}  # fmt: skip
    ours, theirs = asked(told, stand_in=True), asked(told, stand_in=False)
    assert ours.pop("is stand-in") and not theirs.pop("is stand-in")
    for what in theirs:
        different = [(a, b) for a, b in zip(ours[what], theirs[what], strict=True) if a != b]
        assert not different, f"{what}: {different[:2]}"


# What the page asks of Python


def test_check__tells_each_check_and_returns_the_outcomes_and_what_was_printed():
    told = []
    code = "print('hello')\n" + find("03_softmax").starter.read_text("utf-8")
    found = json.loads(in_page.check("03_softmax", code, lambda *each: told.append(each)))
    assert told == [(o["id"], o["outcome"]) for o in found["outcomes"]] and len(told) > 8
    assert "to do" in {o["outcome"] for o in found["outcomes"]} and "hello" in found["printed"]


def test_call__shows_what_a_call_prints_and_returns_or_where_it_fails():
    code = "def f(x):\n    print('given', x)\n    return 1 / x\n"
    assert in_page.call("03_softmax", code, "f(2)") == "given 2\n0.5\n"
    assert in_page.call("03_softmax", code, "f(0)").splitlines()[1:] == [
        "line 3, in f", "ZeroDivisionError: division by zero",
    ]  # fmt: skip
    assert "SyntaxError" in in_page.call("03_softmax", "def f(:", "f(0)")


def test_printed__keeps_the_beginning_of_what_is_long():
    with in_page.printed() as out:
        for _ in range(100_000):
            print("again")
    assert len(out.getvalue()) < in_page.MOST_PRINTED + 100 and "not shown" in out.getvalue()


# Grading in the page and on a computer


@needs_python
@needs_node
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["03_softmax", "02_sentence_pairs", "23_best_span"])
def test_grading__gives_the_same_outcomes_in_the_page_as_on_a_computer(name):
    """A few answers of a few exercises; `python tests/site/grading_parity.py` compares all."""
    every = answers(name)
    named = {"02_sentence_pairs": "int32", "03_softmax": "a loop over single numbers"}.get(name)
    wrong = [a for a in every if a.kind == "wrong"]
    few = [a for a in every if a.kind == "solution"] + [a for a in every if a.kind == "right"][:1]
    few += wrong[:1] + [a for a in wrong if a.name == named]
    there = dict(grade_there(few))
    for answer in few:
        assert not differences(grade_here(answer), there[answer]), answer.key
    assert {o["outcome"] for o in there[few[0]]["outcomes"]} == {"passed"}
    assert {o["outcome"] for o in there[few[2]]["outcomes"]} != {"passed"}


def test_kept__grades_again_only_what_has_changed(tmp_path, monkeypatch):
    every = answers("03_softmax")[:3]
    kept = Kept(tmp_path / "results.jsonl")
    for answer in every[:2]:
        kept.add(answer, {"outcomes": []})
    assert Kept(tmp_path / "results.jsonl").missing(every) == every[2:]
    monkeypatch.setattr(grading_parity, "digest", lambda answer: "another")
    assert Kept(tmp_path / "results.jsonl").missing(every) == every
