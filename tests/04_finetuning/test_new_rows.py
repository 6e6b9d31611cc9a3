"""`bert-predict` answers every row of what it is given, and the answers can be joined to the rows.

The model is a stand-in that calls a text "long" or "short": what is tested is which answer stands
beside which row.
"""

import csv
import io
import json
import sys
from pathlib import Path

import pytest

from bert_finetuning import predict
from bert_finetuning.checkpoint import FineTuned, SavedTask
from bert_finetuning.data.rows import Columns
from bert_finetuning.predict import Predictor
from bert_finetuning.tasks.base import HeadConfig, Prediction
from bert_finetuning.tasks.classification import Classification, Regression, TextExample
from bert_finetuning.tasks.multiple_choice import MultipleChoice
from bert_finetuning.tasks.question_answering import (
    Candidate,
    Question,
    QuestionAnswering,
    SpanPrediction,
)
from bert_finetuning.tasks.tagging import Tagging

KINDS = {
    "texts": Classification(HeadConfig(("short", "long")), ("accuracy",)),
    "numbers": Regression(HeadConfig(("score",)), ("pearson",)),
    "tags": Tagging(HeadConfig(("O", "B-PER")), ("entity_f1",)),
    "questions": QuestionAnswering(HeadConfig()),
    "choices": MultipleChoice(HeadConfig(), ("accuracy",)),
}


NO_MODEL = object.__new__(FineTuned)


class Pretended(Predictor):
    """Answers by the length of what it reads."""

    def predict_alike(self, examples, *, progress=None):
        return [getattr(self, self.saved.format)(example) for example in examples]

    def texts(self, example):
        return Prediction(*(("long", (0.2, 0.8)) if len(example.text) > 8
                                 else ("short", (0.9, 0.1))))  # fmt: skip

    def numbers(self, example):
        return float(len(example.text))

    def tags(self, example):
        tags = tuple("B-PER" if word.istitle() else "O" for word in example.words)
        return Prediction(tags, (0.9,) * len(tags))

    def questions(self, example):
        first = example.context.split()[0]
        return SpanPrediction(first, 0.0, 0.7, (Candidate(first, 0, 0.7),))

    def choices(self, example):
        best = max(range(len(example.endings)), key=lambda n: len(example.endings[n]))
        chances = tuple(0.6 if n == best else 0.1 for n in range(len(example.endings)))
        return Prediction(best, chances)


@pytest.fixture
def call(monkeypatch, capsys):
    """`call("--json", stdin=b"…")`: what the command prints; `call.error(…)`: its one line."""

    def run(*arguments, stdin: bytes = b"", format="texts", pairs=None, columns=None) -> str:
        task = SavedTask(format, pairs=pairs, columns=columns)
        model = Pretended(NO_MODEL, KINDS[format], task, 32)
        monkeypatch.setattr(Predictor, "open", classmethod(lambda cls, *a, **k: model))
        monkeypatch.setattr(sys, "argv", ["bert-predict", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        predict.main()
        return capsys.readouterr().out

    def error(*arguments, **given) -> str:
        with pytest.raises(SystemExit) as stopped:
            run(*arguments, **given)
        told = capsys.readouterr()
        assert stopped.value.code == 2 and told.out == ""
        assert told.err.startswith("error: ") and told.err.count("\n") == 1
        return told.err

    run.error = error
    return run


def answers(printed: str) -> list[dict]:
    return [json.loads(line) for line in printed.removesuffix("\n").split("\n")]


def rows_of(path: Path) -> list[dict]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


ODD = "one\u2028line\nsecond\x85line\nthird\x0cline\x0b\n\n  \nlast, without an end"


# Rows of JSON, and which of their columns are asked.


def test_columns__are_found_once_and_a_row_without_them_has_an_empty_answer(call):
    rows = b'{"text": "a long text"}\n{"title": "another"}\n{"text": null, "n": 1}\n'
    found = answers(call("--json", stdin=rows))
    assert [each.get("empty", False) for each in found] == [False, True, True]
    assert [each["text"] for each in found] == ["a long text", "", ""]
    assert found[1]["row"] == {"title": "another"} and found[2]["row"] == {"n": 1}


@pytest.mark.parametrize(
    ("format", "row"),
    [("texts", {"text": "a", "pair": "b"}), ("tags", {"text": "Anna came."}),
     ("questions", {"question": "Who?", "context": "Anna came."}),
     ("choices", {"sent1": "It", "endings": ["rains", "is dry"]}),
     ("choices", {"sent1": "It", "ending0": "rains", "ending1": "is dry"})],
)  # fmt: skip
def test_null__is_an_empty_text_in_every_format(format, row, call):
    rows = [row, *(row | {name: None} for name in row if name != "endings"), row]
    stdin = "".join(json.dumps(each) + "\n" for each in rows).encode()
    found = answers(call("--json", stdin=stdin, format=format))
    assert [each.get("empty", False) for each in found] == [False, *[True] * (len(rows) - 2), False]


def test_null_in_what_all_endings_begin_with__is_an_ending_as_it_stands(call):
    row = {"sent1": "It rains.", "sent2": "It", "ending0": "is wet", "ending1": "is dry"}
    stdin = "".join(json.dumps(each) + "\n" for each in (row, row | {"sent2": None})).encode()
    first, second = answers(call("--json", stdin=stdin, format="choices"))
    assert [each["ending"] for each in first["endings"]] == ["It is wet", "It is dry"]
    assert [each["ending"] for each in second["endings"]] == ["is wet", "is dry"]


@pytest.mark.parametrize(
    ("row", "format"),
    [({"note": "good", "review": "good"}, "texts"),
     ({"note": "Anna", "context": "Anna", "question": "Who?"}, "questions"),
     ({"note": "It", "sent1": "It", "endings": ["rains", "is"]}, "choices")],
)  # fmt: skip
def test_a_column_that_says_the_same_as_the_text__is_kept_in_json(row, format, call):
    (found,) = answers(call("--json", stdin=json.dumps(row).encode(), format=format))
    assert found["row"] == {"note": row["note"]}


@pytest.mark.parametrize(
    ("row", "format"),
    [({"words": ["Anna", "came"], "id": 7}, "tags"), ({"tokens": ["Anna"], "id": 7}, "tags"),
     ({"sent1": "It", "endings": ["rains", "is dry"], "id": 7}, "choices")],
)  # fmt: skip
def test_words_and_endings__are_not_repeated_among_the_other_columns(row, format, call):
    (found,) = answers(call("--json", stdin=json.dumps(row).encode(), format=format))
    assert found["row"] == {"id": 7}


@pytest.mark.parametrize("format, name, value", [
    ("choices", "endings", ["was good", "was bad"]), ("choices", "choices", ["was", "is not"]),
    ("tags", "words", ["the", "film"]),
])  # fmt: skip
def test_null_in_place_of_a_list__is_an_empty_answer_too(format, name, value, call):
    rows = [{"context": "the film", name: each} for each in (value, None)]
    stdin = "".join(json.dumps(row) + "\n" for row in rows).encode()
    first, second = answers(call("--json", stdin=stdin, format=format))
    assert "empty" not in first and second["empty"]


def test_columns_without_a_name__are_said_to_be_left_out(call, tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text(",text\n7,a\n")
    told = io.StringIO()
    monkeypatch.setattr(sys, "stderr", told)
    call("--input", tmp_path / "a.csv", "--out", tmp_path / "b.csv")
    assert told.getvalue().endswith("a.csv: columns without a name left out\n")
    assert rows_of(tmp_path / "b.csv")[0].keys() == {
        "line", "text", "predicted_label", "probability",
    }  # fmt: skip


# Lines.


def test_every_line_is_answered_in_its_place_as_wc_counts_them(call, tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(ODD.encode())
    for given in (call("--json", "--input", path), call("--json", stdin=ODD.encode())):
        found = answers(given)
        assert [each["line"] for each in found] == [1, 2, 3, 4, 5, 6]
        assert [each["text"] for each in found if "label" in each] == [
            "one\u2028line", "second\x85line", "third\x0cline\x0b", "last, without an end",
        ]  # fmt: skip
        assert [each["line"] for each in found if each.get("empty")] == [4, 5]
    assert call("--input", path).count("\n") == 6, "as text too"


def test_empty_lines_are_counted_in_one_note(call, capsys, monkeypatch):
    told = io.StringIO()
    monkeypatch.setattr(sys, "stderr", told)
    call(stdin=b"a\n\nb\n\n")
    assert "2 of 4 rows have no text and an empty answer; the first is line 2" in told.getvalue()


@pytest.mark.parametrize("format", KINDS)
def test_a_line_without_text_has_an_empty_answer_in_every_format(format, call):
    lines = {"questions": "Who?\tAnna came.", "choices": "It\trains\tis dry"}
    line = lines.get(format, "Anna came. She left.")
    found = answers(call("--json", stdin=f"{line}\n\n{line}\n".encode(), format=format))
    assert [each["line"] for each in found] == [1, 2, 3]
    assert (found[1].pop("line"), found[1].pop("empty")) == (2, True)
    assert found[1].keys() <= {"text", "id", "question", "context"}
    assert set(found[1].values()) == {""}
    assert "empty" not in found[2] and len(found[2]) > 2


def test_a_byte_order_mark_is_no_text_also_on_standard_input(call, tmp_path):
    for content in ('{"text": "anna"}\n', "anna\n", "text,label\nanna,x\n"):
        found = answers(call("--json", stdin=b"\xef\xbb\xbf" + content.encode()))
        assert [each["text"] for each in found] == ["anna"]


@pytest.mark.parametrize(
    ("content", "told"),
    [("anna\n".encode("utf-16"), "UTF-16"),
     (b"a\nCaf\xe9\n", "line 2, byte 4")],
)  # fmt: skip
def test_other_encodings_are_refused(content, told, call, tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    assert told in call.error("--input", path)
    assert "standard input" in call.error(stdin=content) and told in call.error(stdin=content)


def test_carriage_returns_alone_are_refused(call, tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\rb\r")
    assert "carriage returns" in call.error("--input", path)
    assert "carriage returns" in call.error(stdin=b"a\rb\r")


# Tables.

REVIEWS = 'id,text,label,note\n7,short,pos,"a, b"\n\n8,"a very\nlong one",neg,\n9,,pos,x\n'


def test_a_table_on_standard_input_is_read_as_one(call):
    found = answers(call("--json", stdin=REVIEWS.encode()))
    assert [(each["line"], each["text"], each.get("label")) for each in found] == [
        (2, "short", "short"), (4, "a very\nlong one", "long"), (6, "", None),
    ]  # fmt: skip
    assert found[0]["row"] == {"id": "7", "label": "pos", "note": "a, b"}
    tabs = b"sentence1\tsentence2\tlabel\na\tb\tx\n"
    assert answers(call("--json", stdin=tabs, pairs=True))[0]["pair"] == "b"


def test_a_table_with_other_names_is_read_from_standard_input_by_its_columns(call):
    table = b"comment,stars\nanna came,5\n"
    found = answers(call("--json", "--columns", "comment", stdin=table))
    assert [each["text"] for each in found] == ["anna came"] and found[0]["row"] == {"stars": "5"}
    (empty,) = answers(call("--json", "--columns", "comment", stdin=b"comment,stars\n,5\n"))
    assert empty == {"line": 2, "text": "", "empty": True, "row": {"stars": "5"}}
    found = answers(call("--json", "--columns", "1", stdin=b"anna came,5\n"))
    assert [each["text"] for each in found] == ["anna came"]
    assert "its columns are" in call.error("--columns", "body", stdin=table)


@pytest.fixture
def call_both(call, tmp_path):
    """The answers to lines, which are the same from standard input and from a .txt."""

    def run(lines: str, *arguments, **given) -> list[dict]:
        (tmp_path / "a.txt").write_text(lines)
        piped = answers(call("--json", *arguments, stdin=lines.encode(), **given))
        assert piped == answers(call("--json", *arguments, "--input", tmp_path / "a.txt", **given))
        return piped

    return run


@pytest.mark.parametrize("header", [
    "Review Text;Sentiment", "ID;Text;Created At;Is Spam?", "id; text", "Text;Rating (1-5)",
])  # fmt: skip
def test_names_of_columns_with_blanks_and_marks__begin_a_table(header, call_both):
    row = ";".join(["anna"] * len(header.split(";")))
    assert [each["text"] for each in call_both(f"{header}\n{row}\n")] == ["anna"]


@pytest.mark.parametrize("names, row", [("id,Said", '1,"anna, too"'), ("Said", '"anna, too"')])
def test_a_column_of_the_model_or_of_an_option__begins_a_table(names, row, call_both):
    lines = f"{names}\n{row}\n"
    found = call_both(lines, columns=Columns("Said", label="Note"))
    assert [(each["line"], each["text"]) for each in found] == [(2, "anna, too")]
    assert call_both(lines, "--columns", "said") == found


def test_columns_other_than_those_of_training_are_told(monkeypatch, call, tmp_path):
    told = []
    monkeypatch.setattr(predict, "say", told.append)
    for header, notes in (("title,Saids", ["text from 'title'"]), ("title,said", [])):
        (tmp_path / "a.csv").write_text(f"{header}\nReview 7,anna\n")
        call("--input", tmp_path / "a.csv", columns=Columns("said"))
        assert told == [f"note: {tmp_path / 'a.csv'}: {note}" for note in notes]
        told.clear()


def test_a_column_that_is_named_and_not_there_is_an_error_for_lines_too(call, tmp_path):
    (tmp_path / "a.txt").write_text("said\nanna\n")
    of_file = call.error("--columns", "body", "--input", tmp_path / "a.txt")
    piped = call.error("--columns", "body", stdin=b"said\nanna\n")
    assert all("line 2 has no 'body': its columns are 'said'" in each for each in (of_file, piped))


def test_a_table_with_unusual_names_is_refused_on_standard_input(call):
    message = call.error(stdin=b"id,said\n7,anna came\n")
    assert "line 1 (id,said) looks like the names of columns" in message
    assert "--columns TEXT" in message
    assert len(answers(call("--json", stdin=b"Well,yes\nanna came\n"))) == 2
    assert len(answers(call("--json", stdin=b"Well, yes.\nanna, too.\n"))) == 2


@pytest.mark.parametrize(
    "first", ["Content, happy", "Text, please", "Review; good", "Story | Review", "Oh, comment"]
)
def test_a_text_of_which_one_word_names_a_column__is_answered_whole(first, call, tmp_path):
    lines = f"{first}\nGreat, loved; all | of it\n"
    (tmp_path / "a.txt").write_text(lines)
    for given in (
        call("--json", stdin=lines.encode()),
        call("--json", "--input", tmp_path / "a.txt"),
    ):
        assert [each["text"] for each in answers(given)] == lines.splitlines()


@pytest.mark.parametrize("header", ["text,said", "text, label", "Title | Body"])
def test_lines_that_are_read_as_a_table__are_said_to_be(header, call, tmp_path, monkeypatch):
    lines = f"{header}\n{header.replace('t', 'z').replace('T', 'Z')}\n"
    (tmp_path / "a.txt").write_text(lines)
    (tmp_path / "a.csv").write_text(lines)
    note = f"note: %s: the first line, {header!r}, is read as names of columns\n"
    for given, source in (({"stdin": lines.encode()}, "standard input"), ({}, tmp_path / "a.txt")):
        told = io.StringIO()
        monkeypatch.setattr(sys, "stderr", told)
        arguments = [] if given else ["--input", source]
        assert len(answers(call("--json", *arguments, **given))) == 1
        assert told.getvalue() == note % source
    told = io.StringIO()
    monkeypatch.setattr(sys, "stderr", told)
    call("--json", "--input", tmp_path / "a.csv")
    call("--json", "--columns", header[:5].rstrip(","), "--input", tmp_path / "a.csv")
    assert told.getvalue() == ""


def test_a_single_column_with_its_name_is_refused_and_the_same_word_alone_is_answered(call):
    for name in ("text", "Review Text", '"Title"'):
        message = call.error(stdin=f"{name}\nanna\n".encode())
        assert f"standard input: line 1 ({name}) looks like the names of columns" in message
    assert answers(call("--json", stdin=b"text\n"))[0]["text"] == "text"
    prose = b"The text, which was long, was read.\nAnd more.\n"
    assert len(answers(call("--json", stdin=prose))) == 2


def test_numbered_columns_do_not_answer_the_line_of_names(call, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,label\nanna,x\n")
    assert "line 1 looks like the names" in call.error("--input", path, "--columns", "1")
    path.write_text("anna,x\ntext,x\n")  # further down the word is a text
    assert len(answers(call("--json", "--input", path, "--columns", "1"))) == 2


def test_a_cell_of_a_csv_may_be_longer_than_131072_characters(call, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"text,label\n{'word ' * 40_000},x\n")
    assert len(answers(call("--json", "--input", path))[0]["text"]) == 200_000


# Files of answers.


def test_a_csv_of_answers_is_the_input_with_answers_beside_it(call, tmp_path):
    path, out = tmp_path / "reviews.csv", tmp_path / "out.csv"
    path.write_text(REVIEWS)
    printed = call("--input", path, "--out", out)
    assert printed == f"{out}: 3 rows answered\n"
    found = rows_of(out)
    given = rows_of(path)
    assert [{name: each[name] for name in given[0]} for each in found] == given
    assert [(each["line"], each["predicted_label"], each["probability"]) for each in found] == [
        ("2", "short", "0.9"), ("4", "long", "0.8"), ("6", "", ""),
    ]  # fmt: skip


def test_json_lines_of_answers_hold_what_json_prints(call, tmp_path):
    out = tmp_path / "out.jsonl"
    printed = call("--json", stdin=REVIEWS.encode())
    call("--out", out, stdin=REVIEWS.encode())
    assert out.read_text("utf-8") == printed


LINES = {
    "texts": ("anna", {"text": "anna", "predicted_label": "short", "probability": "0.9"}),
    "numbers": ("anna", {"text": "anna", "predicted_number": "4.0"}),
    "tags": ("Anna came.", {"predicted_words": "Anna came .", "predicted_tags": "B-PER O O"}),
    "questions": ("Who?\tAnna came.", {"question": "Who?", "predicted_answer": "Anna",
                                       "predicted_start": "0", "probability": "0.7"}),
    "choices": ("It\trains\tis dry", {"context": "It", "predicted_place": "1",
                                      "predicted_ending": "is dry", "probability": "0.6"}),
}  # fmt: skip


@pytest.mark.parametrize("format", KINDS)
def test_every_format_has_its_columns_in_a_csv_and_an_empty_line_too(format, call, tmp_path):
    out = tmp_path / "out.csv"
    line, expected = LINES[format]
    call("--out", out, stdin=f"\n{line}\n{line}\n".encode(), format=format)
    empty, first, last = rows_of(out)
    assert first.items() >= expected.items() and first["line"] == "2" and last["line"] == "3"
    assert empty["line"] == "1" and not any(v for k, v in empty.items() if k != "line")


@pytest.mark.parametrize("format", KINDS)
def test_a_csv_in_which_no_row_has_a_text__has_the_columns_of_the_answers(format, call, tmp_path):
    out, full = tmp_path / "out.csv", tmp_path / "full.csv"
    line = LINES[format][0]
    call("--out", out, stdin=b"\n\n", format=format)
    call("--out", full, stdin=f"\n{line}\n".encode(), format=format)
    names = list(rows_of(full)[0])
    assert [list(row) for row in rows_of(out)] == [names] * 2
    assert not any(cell for row in rows_of(out) for name, cell in row.items() if name != "line")
    out.unlink()
    if format != "choices":  # which need their endings
        table = b"text,question,context,probability\n,,,7\n"
        call("--out", out, stdin=table, format=format)
        (row,) = rows_of(out)
        assert row["probability"] == "7" and len(row) > 5


def test_a_carriage_return_in_a_text_breaks_no_row_of_a_csv(call, tmp_path):
    path, out = tmp_path / "in.jsonl", tmp_path / "out.csv"
    path.write_bytes(b'{"text": "good\\rthing"}\n{"text": "bad"}\n')
    call("--input", path, "--out", out)
    assert [row["text"] for row in rows_of(out)] == ["good\rthing", "bad"]
    assert b"\r\n" not in out.read_bytes()


def test_columns_that_are_called_as_ours_are_kept(call, tmp_path):
    out = tmp_path / "out.csv"
    call("--out", out, stdin=b"text,predicted_label,line\nanna,old,77\n")
    (row,) = rows_of(out)
    assert (row["line"], row["predicted_label"]) == ("77", "old")
    assert (row["line_"], row["predicted_label_"]) == ("2", "short")


def test_sentences_and_questions_of_files_have_their_line_or_id(call, tmp_path):
    path = tmp_path / "a.conll"
    path.write_text("\nAnna B-PER\ncame O\n\nBen B-PER\n")
    assert [each["line"] for each in answers(call("--json", "--input", path, format="tags"))] == [
        2,
        5,
    ]
    squad = {"data": [{"paragraphs": [{"context": "Anna", "qas": [
        {"id": "q9", "question": "Who?"}]}]}]}  # fmt: skip
    path = tmp_path / "a.json"
    path.write_text(json.dumps(squad))
    out = tmp_path / "out.csv"
    call("--input", path, "--out", out, format="questions")
    assert rows_of(out)[0]["id"] == "q9"


def test_an_existing_file_is_not_overwritten_and_a_failure_leaves_none(call, tmp_path):
    path, out = tmp_path / "a.csv", tmp_path / "out.csv"
    path.write_text("text,label\nanna,x\nbroken\n")
    assert "line 3 has 1 columns" in call.error("--input", path, "--out", out)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.csv"]
    assert "exists: choose another name" in call.error("--input", path, "--out", path)
    assert path.read_text().startswith("text,label")
    for name, told in (("out.txt", "must end in .csv or .jsonl"), ("no/out.csv", "no folder")):
        assert told in call.error("--input", path, "--out", tmp_path / name)
    assert "--json is for the terminal" in call.error("a", "--json", "--out", out)


def test_rows_of_json_with_other_columns_than_the_first_are_told(call, tmp_path):
    lines = b'{"text": "a"}\n{"text": "b", "mark": 1}\n'
    message = call.error("--out", tmp_path / "out.csv", stdin=lines)
    assert "line 2 has a column 'mark'" in message and ".jsonl" in message
    call("--out", tmp_path / "out.jsonl", stdin=lines)


# Arguments.


@pytest.mark.parametrize(
    ("format", "arguments", "told"),
    [
        ("texts", [""], "a text is empty"), ("texts", ["a", " "], "a text is empty"),
        ("texts", ["a", "--pair", ""], "a text is empty"), ("tags", [""], "a text is empty"),
        ("questions", ["--question", "", "--context", "a"], "a text is empty"),
        ("questions", ["--question", "a", "--context", "\t"], "a text is empty"),
        ("choices", ["a", "b", ""], "a text is empty"),
        ("texts", ["a", "--max-length", "0"], "--max-length is 0: it must be a whole number"),
    ],
)  # fmt: skip
def test_an_empty_argument_is_told_in_one_line(format, arguments, told, call):
    assert told in call.error(*arguments, format=format)


def test_from_python_every_example_has_its_prediction_and_an_empty_one_none():
    model = Pretended(NO_MODEL, KINDS["texts"], SavedTask("texts"), 32)
    said = model.predict([TextExample("a"), TextExample(" "), TextExample("a long text")])
    assert [each and each.answer for each in said] == ["short", None, "long"]
    model = Pretended(NO_MODEL, KINDS["questions"], SavedTask("questions"), 32)
    assert model.predict([Question("1", "Who?", "")]) == [None]


def test_the_columns_of_rows_without_a_text_before_the_first_answer_are_known_too(call, tmp_path):
    path, out = tmp_path / "a.jsonl", tmp_path / "out.csv"
    path.write_text('{"text": null, "id": 1}\n{"text": "good"}\n')
    call("--input", path, "--out", out)
    assert [row["id"] for row in rows_of(out)] == ["1", ""]
