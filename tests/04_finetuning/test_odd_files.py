"""What people and programs put into files, and what no reader may take for something else."""

import csv
import io
import json
import os
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from bert_experiments.report.page import check_report
from bert_finetuning.data.load import describe, load_files
from bert_finetuning.data.rows import Columns, Expected, line_rows, parse_columns
from bert_finetuning.finetune import draw_confusion
from bert_finetuning.predict import Query, from_rows, from_source, write_csv
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks import TASKS
from bert_finetuning.tasks.base import HeadConfig, Prediction
from bert_finetuning.tasks.classification import Classification, TextExample
from bert_finetuning.tasks.question_answering import (
    Candidate,
    Question,
    QuestionAnswering,
    SpanPrediction,
)
from bert_finetuning.tasks.tagging import TaggedSentence, Tagging
from bert_finetuning.train import RESULT, SeedResult
from bert_run.errors import UserError
from bert_run.training_loop import draw_curve


def write(path, *lines: str):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def table(path, *labels: str):
    return write(path, "text,label", *(f"text {n},{label}" for n, label in enumerate(labels)))


def error_of(call, *arguments, **named) -> str:
    with pytest.raises(UserError) as caught:
        result = call(*arguments, **named)
        list(result) if hasattr(result, "__next__") else None
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "lines",
    [("Take the S-Bahn", "Take the U-Bahn"), ("Send an E-mail", "Take the S-Bahn"),
     ("Anna has group O", "Paul has group O")],
)  # fmt: skip
def test_lines_of_text_that_end_as_tags_do__are_no_words_in_columns(tmp_path, lines):
    asked = list(from_source(str(write(tmp_path / "a.txt", *lines)), TASKS["texts"]))
    assert [each.example for each in asked] == list(map(TextExample, lines))


@pytest.mark.parametrize("tag", ["B-PER", "I-person", "S-PER", "U-LOC", "B_x"])
def test_words_in_columns__are_known_by_one_tag_that_is_no_word(tmp_path, tag):
    path = write(tmp_path / "a.txt", f"Anna {tag}", "ran O")
    (asked,) = from_source(str(path), TASKS["tags"])
    assert asked.example.words == ("Anna", "ran")


def test_words_in_columns__are_known_by_many_lines_that_all_end_in_tags(tmp_path):
    path = write(tmp_path / "a.txt", *["Anna O", "ran O", ""] * 70, "Ben B-PER", "ran O")
    asked = list(from_source(str(path), TASKS["tags"]))
    assert {each.example.words for each in asked} == {("Anna", "ran"), ("Ben", "ran")}
    assert len(list(Tagging.read(path))) == 71


# --- Labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "two",
    [
        ("caf\u00e9", "cafe\u0301"), ("pos", "\uff50os"), ("Pos", "pos"), ("a b", "a  b"),
        ("1", "1.0"),
    ],
)  # fmt: skip
def test_two_spellings_of_one_label_are_refused_however_they_differ(tmp_path, two):
    message = error_of(Classification.read, table(tmp_path / "a.csv", *two))
    first, second = map(ascii, two)
    assert f"line 3: the label {second} differs from {first} (" in message and "line 2" in message


def test_labels_that_differ_in_letters_or_in_value_are_not_refused(tmp_path):
    labels = ("1", "10", "-1", "0", "pos", "pose", "naïve", "naive")
    found = [each.label for each in Classification.read(table(tmp_path / "a.csv", *labels))]
    assert found == list(labels)


@pytest.mark.parametrize(
    ("label", "told"),
    [
        ("#N/A", "stands for a missing value"), ("<NA>", "stands for a missing value"),
        ('"po\ns"', "control character"), ("po\x01s", "control character"),
        (' "pos"', "has quotes around it"),
    ],
)  # fmt: skip
def test_a_label_that_only_a_mistake_writes_is_refused_with_its_line(tmp_path, label, told):
    message = error_of(Classification.read, table(tmp_path / "a.csv", "neg", label))
    assert "line 3" in message and told in message


def test_numbers_in_dev_do_not_stand_for_names_that_train_has(tmp_path):
    train = table(tmp_path / "a.csv", "joy", "anger")
    dev = table(tmp_path / "b.csv", "0", "1")
    assert "line 2: the label is '0', not one of" in error_of(load_files, train, dev)
    known = Classification.read(dev, labels=("joy", "anger"))  # these have an order
    assert [example.label for example in known] == ["joy", "anger"]


def test_tables_joined_with_cat_are_refused_at_the_second_line_of_names(tmp_path):
    path = write(tmp_path / "a.csv", "text,label", "a,x", "text,label", "b,y")
    assert "line 3 repeats the names of the columns" in error_of(Classification.read, path)
    assert "line 3 repeats" in error_of(from_source, str(path), TASKS["texts"])


@pytest.mark.parametrize(
    "again", ["\ufefftext,label", "Text,Label", '\ufeff"text","label"', "TEXT, label"]
)
def test_a_second_line_of_names_that_is_written_otherwise_is_refused_too(tmp_path, again):
    for suffix in ("csv", "tsv"):
        lines = ["text,label", "a,x", again, "b,y"]
        lines = [line.replace(",", "\t") for line in lines] if suffix == "tsv" else lines
        path = write(tmp_path / f"a.{suffix}", *lines)
        assert "line 3 repeats the names of the columns" in error_of(Classification.read, path)


@pytest.mark.parametrize("names", [("Text", "TEXT"), ("Review Text", "REVIEW-TEXT ")])
def test_two_columns_that_differ_only_in_case_are_refused(tmp_path, names):
    path = write(tmp_path / "a.csv", ",".join([*names, "label"]), "a,b,x", "c,d,y")
    told = error_of(load_files, path, path)
    assert (
        f"line 2: {names[0]!r}, {names[1].strip()!r} differ only in case: rename a column" in told
    )
    assert "differ only in case" in error_of(from_source, str(path), TASKS["texts"])
    named = load_files(path, path, columns=Columns(text=names[0]))
    assert [each.text for each in named.train] == ["a", "c"]
    row = write(
        tmp_path / "a.jsonl", json.dumps({names[0]: "a", names[1].strip(): "b", "label": "x"})
    )
    assert "differ only in case" in error_of(Classification.read, row)
    path = write(tmp_path / "b.csv", "text,Text,ID,id,label", "a,b,1,2,x")
    assert next(Classification.read(path)).text == "a", "one is written as the usual name is"


COMMENTED = ("# {n}", "Ann{s}PROPN", "ran{s}VERB", "", "# newdoc", "Ben{s}PROPN", "slept{s}VERB")


@pytest.mark.parametrize("mark", [" ", "\t"])
def test_a_comment_of_two_words_is_no_word_with_its_tag(tmp_path, mark):
    lines = [line.format(n=12, s=mark) for line in COMMENTED]
    found = list(Tagging.read(write(tmp_path / "a.conll", *lines)))
    assert [each.words for each in found] == [("Ann", "ran"), ("Ben", "slept")]
    lines = [f"#{mark}SYM", f"7{mark}NUM", "", f"Ann{mark}PROPN", f"#{mark}SYM"]
    found = list(Tagging.read(write(tmp_path / "a.conll", *lines)))
    assert [each.words for each in found] == [("#", "7"), ("Ann", "#")]


def test_a_column_whose_name_ends_like_an_option_is_a_name():
    assert parse_columns("mytext=a,b") == Columns("mytext=a", None, "b")


def test_one_column_cannot_be_both_text_and_label():
    assert "all by name or all by number, none twice" in error_of(parse_columns, "text,text")


def test_an_empty_answer_to_a_question_is_refused(tmp_path):
    row = {"question": "Who?", "context": "Anna", "answers": {"text": [""], "answer_start": [0]}}
    path = write(tmp_path / "a.jsonl", json.dumps(row))
    assert "the answer '' is not at 0" in error_of(QuestionAnswering.read, path)


def test_examples_of_dev_that_train_has_too_are_counted(tmp_path):
    train = table(tmp_path / "a.csv", "x", "y")
    dev = write(tmp_path / "b.csv", "text,label", "Text  1,x", "new,y")
    settings = FinetuneSettings(train=str(train), dev=str(dev), checkpoint="none")
    said = "\n".join(describe(load_files(train, dev), settings))
    assert "b.csv (commas): 2 examples; of them also in train: 1" in said


def test_a_tab_in_a_text__is_refused_with_a_way_out_that_helps(tmp_path):
    lines = ("text\tlabel", '"good\tfilm"\tpos')
    message = error_of(Classification.read, write(tmp_path / "a.tsv", *lines))
    assert "quotes do not protect the tabs of a .tsv: name it .csv" in message
    (example,) = Classification.read(write(tmp_path / "a.csv", *lines))
    assert example == TextExample("good\tfilm", label="pos")


# --- What is to be predicted ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.CSV", "a", "a.data"])
def test_a_table_is_read_as_one_whatever_its_name_ends_in(tmp_path, name):
    path = write(tmp_path / name, "text,label", "good,pos")
    assert [each.example for each in from_source(str(path), TASKS["texts"])] == [
        TextExample("good")
    ]


@pytest.mark.parametrize("lines", [("text,label", "good,pos"), ('{"text": "good"}',)])
def test_a_txt_that_holds_a_table_or_json_is_read_as_that(tmp_path, lines):
    path = write(tmp_path / "a.txt", *lines)
    (asked,) = from_source(str(path), TASKS["texts"])
    assert asked.example == TextExample("good")


def test_columns_that_are_named_are_read_from_a_txt_too(tmp_path):
    path = write(tmp_path / "a.txt", "id\tcomment", "1\tgood")
    (asked,) = from_source(str(path), TASKS["texts"], columns=Columns("comment"))
    assert asked.example == TextExample("good") and asked.line == 2


@pytest.mark.parametrize("name", ["a.conll", "a.CONLL", "a.tsv", "a.txt"])
def test_words_in_columns_are_the_same_to_train_and_to_predict(tmp_path, name):
    path = write(tmp_path / name, "-DOCSTART-\tO", "", "New York\tB-LOC", "10\u00a0000\tO")
    learned = [sentence.words for sentence in Tagging.read(path)]
    assert learned == [("New York", "10\u00a0000")]
    assert [each.example.words for each in from_source(str(path), TASKS["tags"])] == learned


def piped(*lines: str, format: str = "texts"):
    """What lines on standard input ask."""
    expected = Expected(labeled=False)
    rows = line_rows("standard input", enumerate(lines, start=1), expected, may_be_text=True)
    return from_rows(rows, TASKS[format], Expected(labeled=False))


@pytest.mark.parametrize(
    ("format", "lines", "told"),
    [
        ("texts", ("said;kind", "good;pos"), "looks like the names of columns"),
        ("texts", ('[{"text": "good"}, 5]',), "row 2 is 5, no object"),
    ],
)
def test_standard_input_in_a_format_that_lines_of_text_are_not_is_refused(format, lines, told):
    assert told in error_of(piped, *lines, format=format)


def test_words_in_columns_are_read_from_standard_input_too():
    found = list(piped("Anna\tB-PER", "met\tO", "", "Ben\tB-PER", format="tags"))
    assert [(each.line, each.example.words) for each in found] == [
        (1, ("Anna", "met")),
        (4, ("Ben",)),
    ]


@pytest.mark.parametrize(
    "lines",
    [
        ("", " ", '{"text": "good"}'),
        ("", "", "text,label", "good,pos"),
    ],
)
def test_empty_lines_before_a_table_do_not_turn_it_into_text(lines):
    found = list(piped(*lines))
    assert [each.example for each in found] == [TextExample("good")]
    assert found[0].line == len(lines)


def test_empty_lines_before_text_keep_their_places():
    found = list(piped("", "good"))
    assert [(each.line, each.example.text) for each in found] == [(1, ""), (2, "good")]


def test_quotes_of_a_spreadsheet_are_read_from_standard_input_as_from_a_file(tmp_path):
    lines = ("text\tlabel", '"He said ""hi"""\tpos')
    path = write(tmp_path / "a.tsv", *lines)
    of_file = from_source(str(path), TASKS["texts"])
    assert [each.example for each in piped(*lines)] == [each.example for each in of_file]


def test_half_a_character_in_any_field_is_replaced(tmp_path):
    path = write(tmp_path / "a.jsonl", r'{"text": "a", "x\udfff": ["\ud800", {"y": "\ud800"}]}')
    (asked,) = from_source(str(path), TASKS["texts"])
    assert asked.row == {"text": "a", "x\ufffd": ["\ufffd", {"y": "\ufffd"}]}


def test_answers_in_a_file_of_questions_to_be_answered_are_not_read(tmp_path):
    rows = write(tmp_path / "a.csv", "id,question,context,answers", "7,Who?,Anna came,nobody")
    (asked,) = from_source(str(rows), TASKS["questions"])
    assert asked.example == Question("7", "Who?", "Anna came")
    wrong = {"id": "7", "question": "Who?", "answers": [{"text": "Eve", "answer_start": 0}]}
    squad = {"data": [{"paragraphs": [{"context": "Anna came", "qas": [wrong]}]}]}
    path = write(tmp_path / "a.json", json.dumps(squad))
    assert next(from_source(str(path), TASKS["questions"])).example == asked.example


def test_an_unanswered_question_without_a_line_keeps_its_id():
    asked = Query(Question("7", " ", "Anna came"))
    file = io.StringIO()
    said = SpanPrediction("a", 0.0, 0.5, (Candidate("a", 0, 0.5),))
    model = SimpleNamespace(task=QuestionAnswering(HeadConfig()), predict=lambda asked: [said])
    write_csv(file, model, [(asked, None)])
    (row,) = csv.DictReader(file.getvalue().splitlines())
    assert row["id"] == "7" and not row.get("predicted_answer")


def test_a_word_with_a_blank_is_not_written_where_blanks_separate_words():
    asked = Query(TaggedSentence(("New York", "is")), line=3)
    task = Tagging(HeadConfig(("O", "B-LOC")), ("entity_f1",))
    answered = [(asked, Prediction(("B-LOC", "O"), (0.9, 0.9)))]
    model = SimpleNamespace(task=task)
    assert "the word 'New York' has a blank" in error_of(write_csv, io.StringIO(), model, answered)


# --- Files that a run has written ----------------------------------------------------------------

GOOD = {"seed": 0, "best": {"step": 2, "accuracy": 0.5}, "last": {"step": 2, "accuracy": 0.5},
        "collapsed": False}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"seed": "1"}, {"best": {}}, {"last": [1]}, {"best": {"accuracy": 0.5}},
        {"best": {"step": 2, "accuracy": "high"}}, {"best": {"step": 2, "accuracy": float("nan")}},
    ],
)  # fmt: skip
def test_a_result_that_no_run_can_have_written_is_refused(tmp_path, change):
    folder = tmp_path / "seed-0"
    folder.mkdir()
    (folder / RESULT).write_text(json.dumps(GOOD), encoding="utf-8")
    assert SeedResult.read(folder, "accuracy") == SeedResult(**GOOD)
    (folder / RESULT).write_text(json.dumps(GOOD | change), encoding="utf-8")
    assert "result.json is damaged" in error_of(SeedResult.read, folder, "accuracy")


def test_a_report_is_never_written_over_a_file_of_another(tmp_path):
    report = tmp_path / "page.md"
    program = "python -m bert_experiments.paper_tables"
    check_report(report, program, with_picture=True)
    report.write_text(f"# Table 5\n\nMade by `{program} --table 5`\n")
    check_report(report, program, with_picture=True)  # its own, written again
    for text in (
        "# My thesis\n",
        f"# Notes\n\n{'A page of my own. ' * 25}\n\n`{program} --table 5`\n",
    ):
        report.write_text(text)  # of which the second one names the program
        assert "has not written it" in error_of(check_report, report, program, with_picture=True)
    report.unlink()
    report.with_suffix(".png").write_bytes(b"a photograph")
    assert "its picture" in error_of(check_report, report, program, with_picture=True)
    check_report(report, program, with_picture=False)
    report.with_suffix(".json").write_text("{}")
    assert "its figures" in error_of(check_report, report, program, with_picture=False)
    check_report(report, program, with_picture=False, with_figures=False)
    told = error_of(check_report, tmp_path / "a.png", program, with_picture=False, option="--out")
    assert told == f"--out is {tmp_path / 'a.png'}: its name must end in .md"


def test_a_pipe_is_called_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "rows.csv")
    assert "is not a plain file" in error_of(load_files, tmp_path / "rows.csv", "dev.csv")


@pytest.mark.parametrize("labels", [("正面", "负面"), ("🙂", "🙁"), ("a" * 10_000, "w" * 32)])
def test_labels_that_no_font_has_or_no_page_has_room_for__are_drawn_without_a_warning(
    labels, tmp_path, pictures
):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw_confusion(np.ones((2, 2), int), labels, tmp_path / "a.png", title="很好 🙂")
        draw_curve([], tmp_path / "b.png", title="很好 🙂")
    with Image.open(tmp_path / "a.png") as picture:
        assert max(picture.size) < 1000


def test_labels_and_file_names_are_drawn_as_they_are(tmp_path, pictures):
    labels = ["$x^{$", "pays $5, not $6"]
    draw_confusion(np.ones((2, 2), int), labels, tmp_path / "a.png", title="t\udce9: $\\frac$")
    draw_curve([], tmp_path / "d.png", title="tiny on $^$-\udce9.txt, 4 steps")
    assert len(list(tmp_path.glob("*.png"))) == 2
