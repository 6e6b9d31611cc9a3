"""Whatever a file holds, it is read as examples or refused in one line that names the file.

Contents are well-formed ones with random damage: other separators, quotes, bytes that are no text,
huge cells, ragged rows, JSON of other types. What is read must also become features.
"""

import io
import json
import sys
from contextlib import redirect_stderr
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_corpus.wordpiece import bert_tokenizer
from bert_finetuning.data.load import describe, load_files
from bert_finetuning.data.rows import Expected, lines_of, open_rows
from bert_finetuning.predict import from_source
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks import TASKS
from bert_finetuning.tasks.base import HeadConfig
from bert_run.errors import UserError

TOKENIZER = bert_tokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "good"])
QUESTION = {"id": "1", "question": "a b", "answers": [{"text": "b", "answer_start": 2}]}
ROWS = [
    {"text": "good a", "label": "x"},
    {"sentence1": "a", "sentence2": "b", "score": 1.5},
    {"text": "a", "labels": ["x", "y"]},
    {"words": ["a", "b"], "tags": ["B-PER", "O"]},
    {"question": "a", "context": "b c", "answers": {"text": ["c"], "answer_start": [2]}},
    {"context": "a", "endings": ["b", "c"], "label": 1},
    {"context": "a", "endings": ["b", "c", "a"], "label": 1},
]
SEEDS = {
    ".csv": ['text,label\n"a, b",pos\nc,neg\n', "sent1,ending0,ending1,label\na,b,c,0\nb,c,a,1\n",
             "sentence1,sentence2,score\na,b,1.5\nb,c,0.25\n", "a,1\nb,2\n",
             "Text;Label\na;x\nb;y\n", "text;score\na;0,5\nb;1,25\n",
             "text,label\na,x;y\nb,x\nc,y\n",
             "text,x,y\na,0,1\nb,1,0\n", ",text,label\n0,a,x\n1,b,y\n",
             "Sentence #,Word,Tag\n1,a,B-PER\n,b,O\n2,c,O\n"],
    ".tsv": ["text\tlabel\na\tpos\nb\tneg\n", "question\tsentence\tlabel\na\tb\t0\nb\tc\t1\n"],
    ".jsonl": [f"{json.dumps(row)}\n{json.dumps(row)}\n" for row in ROWS],
    ".json": ['{"text": {"0": "a", "1": "b"}, "label": {"0": "x", "1": "y"}}',
              '[{"text": "a", "label": "x"},\n {"text": "b", "label": "y"}]',
              '{"columns": ["text", "label"], "data": [["a", "x"], ["b", "y"]]}',
              json.dumps({"data": [{"paragraphs": [
                  {"context": "a b c", "qas": [QUESTION]}]}]})],
    ".conll": ["a U-PER\nb O\n\nc B-LOC\nd L-LOC\n", "1\ta\tPER\tO\n2\tb\tO\tO\n",
               "a B-PER\nb I-PER\n\nc O\n", "-DOCSTART- O\n\na\tNN\tO\nb\tVB\tB-LOC\n"],
    ".conllu": ["# text\n1\ta\ta\tNOUN\t_\t_\t0\t_\t_\t_\n2\tb\tb\tVERB\t_\t_\t0\t_\t_\t_\n"],
    ".txt": ["a b\ngood\n", "a\tb\nb\tc\n", "a\tb\tc\n"],
}  # fmt: skip
ODD = [
    "\0", "\ufeff", "\r", "\r\n", "\n", "\n\n", ",", ";", "\t", "|", '"', '""', "'", "\\", "\u2028",
    "\x85", "\x0b", "\x1c", " ", "\u00a0", "\u200b", "\ud83d\ude00", "e\u0301", "{", "}", "[", "]",
    ":", "null", "true", "NaN", "-Infinity", "1e300", "1e999", "0,5", "9" * 5000, "-1", "[[1]]",
    "{}", '"\\ud83d"', "[MASK]", "##", "#", "-", "_", "label", "text", "a" * 140_000, "[" * 2000,
]  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(ODD)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["text", "answer_start", "label", "é"]), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn, suffix: str) -> bytes:
    """A well-formed file with a few changes at random places."""
    text = draw(st.sampled_from(SEEDS[suffix]))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(text)))
        end = min(len(text), at + draw(st.sampled_from([0, 0, 1, 2, 7, 30])))
        text = text[:at] + draw(st.sampled_from(ODD) | st.text(max_size=3)) + text[end:]
    if draw(st.booleans()):
        text = text * draw(st.integers(1, 3))
    raw = text.encode("utf-8", "surrogatepass")
    encoding = draw(st.sampled_from(["as it is"] * 6 + ["bom", "utf-16", "latin", "byte", "mac"]))
    match encoding:
        case "bom":
            raw = b"\xef\xbb\xbf" + raw
        case "utf-16":
            raw = text.encode("utf-16", "surrogatepass")
        case "latin":
            raw = text.encode("latin-1", "replace") + b"\xe9"
        case "byte":
            raw = raw[: len(raw) // 2] + draw(st.binary(max_size=3)) + raw[len(raw) // 2 :]
        case "mac":
            raw = raw.replace(b"\n", b"\r")
    return raw


@st.composite
def json_rows(draw: st.DrawFn) -> bytes:
    """Rows whose fields hold values of any type, or lack some."""
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        row = dict(draw(st.sampled_from(ROWS)))
        for name in draw(st.lists(st.sampled_from([*row, "id", "pair"]), max_size=2)):
            row[name] = draw(VALUES)
        if draw(st.booleans()):
            row.pop(draw(st.sampled_from(list(row))))
        lines.append(json.dumps(row))
    return "\n".join(lines).encode()


@st.composite
def squad(draw: st.DrawFn) -> bytes:
    """SQuAD's JSON with one part replaced by a value of any type."""
    asked = {**QUESTION, draw(st.sampled_from(["answers", "id", "is_impossible"])): draw(VALUES)}
    paragraph = {"context": "a b c", "qas": [asked]}
    paragraph[draw(st.sampled_from(["context", "qas", "x"]))] = draw(VALUES)
    article = {"paragraphs": draw(st.just([paragraph]) | VALUES)}
    return json.dumps({"data": draw(st.just([article]) | VALUES)}).encode()


def task_of(format: str):
    labels = {"texts": ("x", "y"), "numbers": ("score",), "tags": ("O", "B-PER")}.get(format, ())
    return TASKS[format](HeadConfig(labels), TASKS[format].usual_metrics(labels))


def check_refusal(error: UserError, name: str) -> None:
    text = str(error)
    assert name in text and len(text) < 1000, text[:2000]
    assert text.splitlines() == [text], "one line, also for whoever splits it"


def check_training(path: Path, format: str | None) -> None:
    """Guess the format, read, and make features of what was read."""
    try:
        data = load_files(path, path, format=format)
    except UserError as error:
        check_refusal(error, path.name)
        return
    for example in data.train:
        names = [*getattr(example, "tags", ()), getattr(example, "label", None)]
        assert all(name.strip() for name in names if isinstance(name, str)), "an empty label"
    asked = FinetuneSettings(train=str(path), dev=str(path), checkpoint="none")
    assert all("\n" not in line for line in describe(data, asked))
    features = data.task.encode(data.train, TOKENIZER, max_length=16)
    assert {each.example for each in features} <= set(range(len(data.train)))
    data.task.collate(features[:4], pad_id=0)


def check_prediction(path: Path, raw: bytes, source: str, format: str) -> None:
    """Read without labels, from a file or from standard input; every line of text is there."""
    name = path.name if source != "-" else "standard input"
    try:
        asked = list(from_source(source, TASKS[format]))
    except UserError as error:
        check_refusal(error, name)
        return
    if path.suffix == ".txt" and source != "-":
        first = next(open_rows(path, Expected(labeled=False), may_be_text=True))
        if first.parts is not None:
            assert len(asked) == len(list(lines_of(path)))
    full = [each.example for each in asked if not each.example.is_empty]
    same = [each for each in full if len(getattr(each, "endings", ())) == len(
        getattr(full[0], "endings", ()))]  # fmt: skip
    if same:
        task_of(format).encode(same[:50], TOKENIZER, max_length=16)


def check(raw: bytes, suffix: str, format: str, folder: Path) -> None:
    path = folder / f"fuzzed{suffix}"
    path.write_bytes(raw)
    with redirect_stderr(io.StringIO()):
        check_training(path, None)
        check_training(path, format)
        check_prediction(path, raw, str(path), format)
        before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(raw))
        try:
            check_prediction(path, raw, "-", format)
        finally:
            sys.stdin = before


@pytest.mark.parametrize("suffix", SEEDS)
def test_a_damaged_file_gives_examples_or_one_line(suffix, tmp_path):
    @given(damaged(suffix), st.sampled_from(list(TASKS)))
    def run(raw, format):
        check(raw, suffix, format, tmp_path)

    run()


def test_json_rows_of_any_type_give_examples_or_one_line(tmp_path):
    @given(json_rows(), st.sampled_from(list(TASKS)))
    def run(raw, format):
        check(raw, ".jsonl", format, tmp_path)

    run()


def test_squad_of_any_type_gives_examples_or_one_line(tmp_path):
    @given(squad())
    def run(raw):
        check(raw, ".json", "questions", tmp_path)

    run()
