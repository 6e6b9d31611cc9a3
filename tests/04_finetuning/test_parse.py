"""Examples come out of files, of the Hub and of StoryWorld as they stand there; what is wrong is
told in one line, with the file and the line."""

import bz2
import gzip
import json
import lzma
import re
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pyarrow
import pytest

from bert_corpus import hub
from bert_corpus.storyworld import world
from bert_finetuning.data.load import infer_task, load_files
from bert_finetuning.data.rows import Columns, Expected, label_set, open_rows, parse_columns
from bert_finetuning.data.storyworld import STORYWORLD, storyworld
from bert_finetuning.metrics import entities
from bert_finetuning.tasks.classification import Classification, Regression, TextExample
from bert_finetuning.tasks.multiple_choice import Choice, MultipleChoice
from bert_finetuning.tasks.question_answering import Answer, Question, QuestionAnswering
from bert_finetuning.tasks.tagging import TaggedSentence, Tagging
from bert_run.errors import UserError


@pytest.fixture
def file(tmp_path):
    """`file(content, name)` writes a file; its path comes back."""

    def write(content: str | bytes, name: str) -> str:
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(data)
        return str(tmp_path / name)

    return write


def json_lines(*rows: dict) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def error_of(reader, *args, **kwargs) -> str:
    """The one line that a reader ends with."""
    with pytest.raises(UserError) as caught:
        list(reader(*args, **kwargs))
    assert "\n" not in str(caught.value)
    return str(caught.value)


# Texts and pairs.


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", "text\tlabel\nIt rains.\tbad\nSun!\tgood\n"),
        ("a.csv", 'label,text\nbad,It rains.\n"good","Sun!"\n'),
        ("a.jsonl", '{"text": "It rains.", "label": "bad"}\n\n{"label": "good", "text": "Sun!"}'),
        ("a.json", '{"sentence": "It rains.", "gold_label": "bad"}\n'
                   '{"sentence": "Sun!", "gold_label": "good"}\n'),
    ],
)  # fmt: skip
def test_texts_and_labels_come_from_every_format(file, name, content):
    expected = [TextExample("It rains.", None, "bad"), TextExample("Sun!", None, "good")]
    assert list(Classification.read(file(content, name))) == expected
    assert list(Classification.read(file(content.replace("\n", "\r\n"), name))) == expected
    assert list(Classification.read(file("\ufeff" + content, name))) == expected


@pytest.mark.parametrize(
    ("ending", "pack"),
    [(".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress),
     (".zst", lambda text: pyarrow.compress(text, "zstd", asbytes=True))],
)  # fmt: skip
def test_packed_files_are_read_as_they_are(file, ending, pack):
    for name, content in (
        ("a.tsv", "text\tlabel\nx\ty\n"),
        ("a.jsonl", '{"text":"x","label":"y"}'),
    ):
        path = file(pack(content.encode()), name + ending)
        assert list(Classification.read(path)) == [TextExample("x", None, "y")]


@pytest.mark.parametrize(
    "pair",
    ["sentence1 sentence2", "premise hypothesis", "question1 question2", "question sentence"],
)
def test_pairs_are_found_by_their_usual_names(file, pair):
    first, second = pair.split()
    path = file(f"id\t{second}\t{first}\tlabel\n7\tb\ta\tyes\n", "a.tsv")
    assert list(Classification.read(path)) == [TextExample("a", "b", "yes")]


def test_columns_can_be_named(file):
    path = file("text,comment,kind\na,b,c\n", "a.csv")
    assert list(Classification.read(path, columns=Columns("comment", None, "kind"))) == [
        TextExample("b", None, "c")
    ]
    assert list(Classification.read(path, columns=Columns("comment", "text", "kind"))) == [
        TextExample("b", "a", "c")
    ]
    assert list(Classification.read(path, columns=Columns(label="kind"))) == [
        TextExample("a", None, "c")
    ]


def test_columns_of_a_file_without_names_are_numbered(file):
    path = file("gj04\t0\t*\tThem.\ngj04\t1\t\tThey.\n", "a.tsv")
    assert list(Classification.read(path, columns=Columns("4", None, "2"))) == [
        TextExample("Them.", None, "0"),
        TextExample("They.", None, "1"),
    ]


def test_quotes_in_a_tsv_stay_unless_a_spreadsheet_doubled_them(file):
    cells = ['"Wait," she said.', 'a 5" disk', '"All of it"', '"the ""best"" one"', '""', '"']
    path = file("text\tlabel\n" + "".join(f"{cell}\tx\n" for cell in cells), "a.tsv")
    assert [example.text for example in Classification.read(path)] == [
        '"Wait," she said.', 'a 5" disk', '"All of it"', 'the "best" one', '""', '"'
    ]  # fmt: skip


def test_a_cell_of_a_csv_can_hold_commas_quotes_and_lines(file):
    path = file('text,label\n"a, ""b""\nc",x\nd,y\n', "a.csv")
    assert [example.text for example in Classification.read(path)] == ['a, "b"\nc', "d"]


def test_lines_end_where_the_file_says_and_nowhere_else(file):
    text = "one\u2028two\x85three\x0bfour"
    for name, content in (
        ("a.tsv", f"text\tlabel\n{text}\tx\n"),
        ("a.csv", f"text,label\n{text},x\n"),
    ):
        assert [example.text for example in Classification.read(file(content, name))] == [text]


def test_a_text_longer_than_any_buffer_stays_one_text(file):
    long = "word " * 150_000
    path = file(f"text\tlabel\n{long}\tx\nshort\ty\n", "a.tsv")
    assert [len(example.text) for example in Classification.read(path)] == [len(long), 5]


def test_examples_are_read_one_by_one(file):
    path = file("text\tlabel\nfine\tx\nbroken\n", "a.tsv")
    assert next(Classification.read(path)).text == "fine"  # the broken line has not been seen


def test_text_without_labels_is_read_when_none_are_wanted(file):
    path = file("text\nx\n", "a.tsv")
    assert list(Classification.read(path, labeled=False)) == [TextExample("x")]
    assert "line 2 has no 'label'" in error_of(Classification.read, path)


def test_rows_on_whose_label_nobody_agreed_are_passed_over(file):
    rows = "premise\thypothesis\tgold_label\na\tb\t-\nc\td\tneutral\n"
    assert list(Classification.read(file(rows, "a.tsv"))) == [TextExample("c", "d", "neutral")]
    other = file("text\tlabel\na\t-\n", "b.tsv")  # here it is a label like others
    assert [example.label for example in Classification.read(other)] == ["-"]


# Labels.


def test_a_number_stands_for_the_label_of_its_place(file):
    path = file('{"text": "a", "label": 1}\n{"text": "b", "label": "bad"}\n', "a.jsonl")
    found = [example.label for example in Classification.read(path, labels=("bad", "good"))]
    assert found == ["good", "bad"]


def test_where_labels_are_numbers_a_number_is_the_label(file):
    path = file("text\tlabel\na\t1\nb\t5\n", "a.tsv")
    assert [e.label for e in Classification.read(path, labels=("1", "2", "5"))] == ["1", "5"]
    path = file("text\tlabel\na\t0\n", "b.tsv")
    assert "line 2: the label is '0'" in error_of(Classification.read, path, labels=("1", "2"))


def test_a_new_label_is_told_with_its_line(file):
    path = file("text\tlabel\na\tgood\nb\tgod\n", "dev.tsv")
    message = error_of(Classification.read, path, labels=("bad", "good"))
    assert message.endswith("dev.tsv: line 3: the label is 'god', not one of 'bad', 'good'")


def test_labels_are_sorted_and_numbers_by_their_size():
    assert label_set(["b", "a", "b", "B"]) == ("B", "a", "b")
    assert label_set(["10", "9", "2", "10"]) == ("2", "9", "10")
    assert label_set(["10", "9", "x"]) == ("10", "9", "x")


def test_a_label_can_be_a_number_to_be_predicted(file):
    path = file("text1\ttext2\tscore\na\tb\t3.8\nc\td\t5\n", "a.tsv")
    assert [example.label for example in Regression.read(path)] == [3.8, 5.0]
    for bad in ("high", "nan", "inf", "1_000", "٣"):
        path = file(f"text\tscore\na\t{bad}\n", "a.tsv")
        assert f"line 2: 'score' is {bad!r}: it must be a number" in error_of(Regression.read, path)


# What can be wrong with a table.


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.tsv", "", "there is no example in it"),
        ("a.tsv", "text\tlabel\n", "there is no example in it"),
        ("a.csv", "", "there is no example in it"),
        ("a.jsonl", "\n\n", "there is no example in it"),
        ("a.tsv", "text\tlabel\na\tb\na\tb\tc\n", "line 3 has 3 columns, not the 2"),
        ("a.csv", "text,label\na\n", "line 2 has 1 columns, not the 2"),
        ("a.csv", 'text,label\n"x\ny",b\nc\n', "line 4 has 1 columns"),
        ("a.csv", 'text,label\na,b\n"c,d\n', "line 3 is not CSV"),
        ("a.csv", 'text,label\n"a"b,c\n', "line 2 is not CSV"),
        ("a.tsv", "text\ttext\na\tb\n", "two columns 'text'"),
        (
            "a.tsv",
            "words_\tlabel\na\tb\n",
            "line 2 has no 'text': its columns are 'words_', 'label'",
        ),
        ("a.jsonl", '{"text": "a", "label": "b"}\n{"text": \n', "line 2 is not JSON"),
        ("a.jsonl", "[" * 100_000, "line 1 is not JSON"),
        (
            "a.jsonl",
            '{"text": "a", "label": 1}\n{"text": "NaN", "label": NaN}\n',
            "line 2 is not JSON (NaN is no value of JSON: write null)",
        ),
        ("a.jsonl", '{"text": "a", "label": -Infinity}\n', "line 1 is not JSON (-Infinity is no"),
        ("a.jsonl", '["a"]\n', "row 1 is 'a', no object"),
        (
            "a.jsonl",
            '[{"text": "1e999", "label": 1.5e-3},\n{"text": "b", "label": -1.5e999}]\n',
            "line 2 is not JSON (-1.5e999 is too large a number)",
        ),
        ("a.jsonl", '{"text": "a", "label": "b"}\n["a"]\n', "row 1 is 'a', no object"),
        ("a.jsonl", '{"text": 5, "label": "b"}\n', "line 1: 'text' is 5: it must be text"),
        ("a.jsonl", '{"text": "a", "label": "b"}\n{"label": "b"}', "line 2 has no 'text'"),
        (
            "a.jsonl",
            '{"text": "a", "label": ["b"]}\n',
            "line 1: 'label' is [\"b\"]: several labels",
        ),
        ("a.tsv", b"text\tlabel\n\xc3\xbc\tb\nCaf\xe9\tx\n", "line 3, byte 4"),
        ("a.tsv.gz", b"text\tlabel\n", "damaged archive"),
    ],
)
def test_a_table_that_is_wrong_is_told_with_its_line(file, name, content, words):
    path = file(content, name)
    message = error_of(Classification.read, path, labels=("b", "x"))
    assert words in message
    assert message.startswith(path)


def test_a_column_that_is_named_and_not_there_is_told(file):
    path = file("text\tlabel\na\tb\n", "a.tsv")
    for columns in (Columns("body"), Columns("text", "other"), Columns(label="class")):
        assert "its columns are 'text', 'label'" in error_of(
            Classification.read, path, columns=columns
        )


def test_of_columns_that_differ_in_case_the_one_with_the_usual_name_counts(file):
    for names in ("Text,text,label", "text,Text,label"):
        (row,) = Classification.read(file(f"{names}\nb,a,x\n", "a.csv"))
        assert row.text == dict(zip(names.split(","), "ba", strict=False))["text"]


def test_endings_and_their_label_are_found_in_any_case(file):
    path = file("Context,Ending0,ENDING1,Label\na,b,c,1\n", "a.csv")
    assert list(MultipleChoice.read(path)) == [Choice("a", ("b", "c"), 1)]


def test_half_a_character_in_json_does_not_travel_on(file):
    path = file('{"text": "a\\ud83d", "label": "b"}\n', "a.jsonl")
    assert [example.text for example in Classification.read(path)] == ["a\ufffd"]


def test_rows_keep_every_column(file):
    rows = list(open_rows(Path(file("a\tb\n1\t2\n", "x.tsv")), Expected()))
    assert [row.fields for row in rows] == [{"a": "1", "b": "2"}]


# Tagged words.

CONLL = """-DOCSTART- -X- O O

EU NNP I-NP B-ORG
rejects VBZ I-VP O

Peter NNP I-NP B-PER
Blackburn NNP I-NP I-PER
"""


def test_columns_of_conll_are_words_and_tags(file):
    expected = [
        TaggedSentence(("EU", "rejects"), ("B-ORG", "O")),
        TaggedSentence(("Peter", "Blackburn"), ("B-PER", "I-PER")),
    ]
    assert list(Tagging.read(file(CONLL, "train.txt"))) == expected
    tabbed = "\t\n" + CONLL.replace(" ", "\t").replace("\n\n", "\n\t\n \n\n")
    assert list(Tagging.read(file(tabbed, "emerging.test.annotated"))) == expected
    assert list(Tagging.read(file(gzip.compress(CONLL.encode()), "train.conll.gz"))) == expected


def test_between_tabs_a_word_can_hold_spaces(file):
    path = file("New York\tB-LOC\n\u00a0\tO\n", "a.conll")
    assert list(Tagging.read(path)) == [TaggedSentence(("New York", "\u00a0"), ("B-LOC", "O"))]


CONLLU = """# sent_id = 1
# text = I don't.
1\tI\tI\tPRON\tPRP\t_\t3\tnsubj\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\tVBP\t_\t0\troot\t_\t_
3\tn't\tnot\tPART\tRB\t_\t2\tadvmod\t_\t_
3.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t_\t_
4\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_

# text = # 1
1\t#\t#\tSYM\tNN\t_\t0\troot\t_\t_
"""


def test_conllu_gives_the_words_that_have_a_part_of_speech(file):
    path = file(lzma.compress(CONLLU.encode()), "en.conllu.xz")
    assert list(Tagging.read(path)) == [
        TaggedSentence(("I", "do", "n't", "."), ("PRON", "AUX", "PART", "PUNCT")),
        TaggedSentence(("#",), ("SYM",)),
    ]


def test_rows_can_hold_words_and_tags(file):
    path = file(json_lines({"tokens": ["Ann", "ran"], "ner_tags": ["B-PER", "O"]}), "a.jsonl")
    assert list(Tagging.read(path)) == [TaggedSentence(("Ann", "ran"), ("B-PER", "O"))]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.conll", "", "there is no example"),
        ("a.conll", "-DOCSTART- O\n\n", "there is no example"),
        ("a.conll", "Ann B-PER\nran\n", "line 2 has 1 columns, not 2"),
        ("a.conll", "Ann\n", "line 1 has no 'tags' or 'ner_tags'"),
        ("a.conll", "Ann B-PER\nran VBD O\n", "line 2 has 3 columns, not 2"),
        ("a.conll", "Ann B-PER\n\nran X\n", "line 3: the tag of 'ran' is 'X', not one of 'B-PER'"),
        ("a.conll", b"\xc3\xbc B-PER\nCaf\xe9 O\n", "line 2, byte 4"),
        ("a.conllu", "1\tAnn\n", "line 1 has 2 columns, not 10"),
        ("a.conllu", "1\tAnn" + 8 * "\t_" + "\n", "line 1: the tag of 'Ann' is '', not one of"),
        ("a.jsonl", '{"words": ["a", "b"], "tags": ["O"]}', "line 1 has 2 words and 1 tags"),
        ("a.jsonl", '{"words": ["a"]}', "line 1 has no 'tags' or 'ner_tags'"),
        ("a.jsonl", '{"text": "a"}', "line 1 has no 'words' or 'tokens'"),
        ("a.jsonl", '{"words": "a", "tags": ["O"]}', "line 1: 'words' is 'a': it must be a list"),
        ("a.jsonl", '{"words": ["a"], "tags": [3]}', "line 1: 'tags' holds 3"),
        ("none.conll", None, "there is no such file"),
    ],
)
def test_tags_that_are_wrong_are_told_with_their_line(file, name, content, words):
    path = file("", name).replace(name, "else/" + name) if content is None else file(content, name)
    assert words in error_of(Tagging.read, path, labels=("B-PER", "O"))


def test_the_tags_of_a_set_are_sorted():
    sentences = [TaggedSentence(("a", "b"), ("O", "B-X")), TaggedSentence(("c",), ("I-X",))]
    assert Tagging.labels_of(sentences) == ("B-X", "I-X", "O")


# Questions.

CONTEXT = "Rollo came to Normandy in 911. Rollo stayed."


def squad(*asked: dict, context: str | None = CONTEXT) -> str:
    return json.dumps(
        {
            "version": "x",
            "data": [{"title": "t", "paragraphs": [{"context": context, "qas": asked}]}],
        }
    )


def asked(name: str = "1", text: str = "911", start: int = 26, **more) -> dict:
    answers = [{"text": text, "answer_start": start}]
    return {"id": name, "question": "When?", "answers": answers, **more}


def test_squad_1_gives_questions_with_all_their_answers(file):
    two = asked()
    two["answers"].append({"text": "in 911", "answer_start": 23})
    path = file(squad(two, asked("2", "Rollo", 31)), "dev.json")
    assert list(QuestionAnswering.read(path)) == [
        Question("1", "When?", CONTEXT, (Answer("911", 26), Answer("in 911", 23))),
        Question("2", "When?", CONTEXT, (Answer("Rollo", 31),)),
    ]


def test_squad_2_has_questions_without_an_answer(file):
    impossible = {"id": "2", "question": "Who?", "answers": [], "is_impossible": True,
                  "plausible_answers": [{"text": "Rollo", "answer_start": 0}]}  # fmt: skip
    path = file(lzma.compress(squad(asked(is_impossible=False), impossible).encode()), "d.json.xz")
    first, second = QuestionAnswering.read(path)
    assert first.answers == (Answer("911", 26),)
    assert second == Question("2", "Who?", CONTEXT)


def test_places_of_answers_count_characters_not_bytes(file):
    context = "Café 𝔘 über 7"
    path = file(squad(asked(text="7", start=12), context=context), "a.json")
    assert next(QuestionAnswering.read(path)).answers == (Answer("7", 12),)


def test_questions_come_as_rows_too(file):
    row = {"id": "1", "question": "When?", "context": CONTEXT,
           "answers": {"text": ["911"], "answer_start": [26]}}  # fmt: skip
    bare = {"question": "Who?", "context": CONTEXT}
    path = file(json_lines(row, bare), "a.jsonl")
    first, second = QuestionAnswering.read(path)
    assert first == Question("1", "When?", CONTEXT, (Answer("911", 26),))
    assert second == Question(f"{path}: line 2", "Who?", CONTEXT)


@pytest.mark.parametrize("name", ["anwser", "gold_answer"])
def test_questions_without_a_column_of_answers_are_not_taken_for_questions_without_answers(
    name, file
):
    path = file(json_lines({"question": "When?", "context": CONTEXT, name: "911"}), "a.jsonl")
    assert "line 1 has no 'answers' or 'answer'" in error_of(QuestionAnswering.read, path)
    (asked,) = QuestionAnswering.read(path, labeled=False)
    assert asked.answers == ()


@pytest.mark.parametrize("task_type, row, name", [
    (Classification, {"text": "a", "label": "x", "probabilities": {"x": 0.7}}, "probabilities"),
    (Regression, {"text": "a", "score": 0.5, "right": 3.8}, "right"),
    (Regression, {"line": 2, "text": "a", "score": 0.5, "row": {"stars": 4}}, "row"),
    (Tagging, {"words": ["a"], "tags": ["O"], "probabilities": [0.9]}, "probabilities"),
    (QuestionAnswering, {"question": "a", "context": "b", "answer": "b", "right": ["b"]}, "right"),
    (QuestionAnswering, {"question": "a", "context": "b", "answer": "b", "probability": 0.5,
                         "candidates": [{"answer": "b"}]}, "probability"),
])  # fmt: skip
def test_answers_of_a_model__are_not_taken_for_labels_and_can_be_read_without(
    task_type, row, name, file
):
    path = file(json_lines(row), "predictions.jsonl")
    told = error_of(task_type.read, path)
    assert f"line 1: {name!r} is" in told and "is no label: give the labeled file" in told
    assert len(list(task_type.read(path, labeled=False))) == 1


@pytest.mark.parametrize("field", [{"left": "b", "right": "c"}, {"row": 7}, {"row": "7"}])
def test_fields_that_are_called_like_those_of_answers__are_fields_like_others(field, file):
    rows = [{"text": "a", "label": "x"} | field]
    assert list(Classification.read(file(json_lines(*rows), "a.jsonl"))) == [
        TextExample("a", None, "x")
    ]


def test_a_choice_with_two_columns_that_may_begin_it_is_refused(file):
    """SuperGLUE's COPA: the question is "cause" or "effect", what happened is the premise."""
    row = {"premise": "It rains.", "question": "effect", "endings": ["A", "B"], "label": 0}
    problem = error_of(MultipleChoice.read, file(json_lines(row), "a.jsonl"))
    assert "line 1 has 'question' and 'premise'" in problem and "join both" in problem


def test_names_without_a_type_are_names_of_one_type(file):
    path = file("the O\nbad B\nsoup I\nwas O\n\nthe O\nwine B\n", "a.conll")
    first, second = Tagging.read(path)
    assert first.tags == ("O", "B-NAME", "I-NAME", "O") and second.tags == ("O", "B-NAME")
    assert list(entities(first.tags)) == [("NAME", 1, 3)]


def test_two_spellings_of_a_type_of_names_are_told_across_prefixes(file):
    path = file("Ann B-per\nLee I-PER\n\nRome B-LOC\n", "a.conll")
    assert "'PER' differs from 'per'" in error_of(Tagging.read, path)


@pytest.mark.parametrize("line", ["Vitamin B-12", "Take exit I-95"])
def test_lines_of_text_that_end_in_a_number_after_a_letter_are_no_tagged_words(line, file):
    rows = open_rows(file(f"{line}\n" * 2, "a.txt"), Expected(labeled=False), may_be_text=True)
    assert [row.parts for row in rows] == [[line]] * 2


def test_the_first_line_that_excel_writes_to_name_the_separator_is_no_row_and_counts(file):
    for name in ("a.csv", "a.txt"):
        (row,) = open_rows(file("sep=;\ntext;label\nIt rains.;bad\n", name), Expected())
        assert row.fields == {"text": "It rains.", "label": "bad"} and row.line == 3
    plain = open_rows(
        file("sep=;\nIt rains.\n", "a.txt"), Expected(labeled=False), may_be_text=True
    )
    assert [row.parts for row in plain] == [["sep=;"], ["It rains."]], "a text is never left out"


@pytest.mark.parametrize("columns", ["text=label", "Label,label", "text=text,pair=text"])
def test_one_column_is_not_read_twice(columns, file):
    path = file("text,label\nIt rains.,bad\n", "a.csv")
    problem = error_of(Classification.read, path, columns=parse_columns(columns))
    assert "name different columns" in problem


def test_a_table_of_texts_with_a_column_of_tokens_holds_texts(file):
    for content, name in (
        ("text,tokens,label\nIt rains.,2,bad\nSun!,1,good\n", "a.csv"),
        (json_lines({"text": "It rains.", "tokens": ["It", "rains."], "label": "bad"},
                    {"text": "Sun!", "tokens": ["Sun!"], "label": "good"}), "a.jsonl"),
    ):  # fmt: skip
        assert infer_task(file(content, name)) is Classification


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (squad(), "there is no example"),
        (squad(asked(start=25)), "question '1': the answer '911' is not at 25 of its context; "
                                 "it stands at 26"),
        (squad(asked(start=26 - len(CONTEXT))), "the answer '911' is not at -18"),
        (squad(asked(text="912")), "it stands nowhere"),
        (squad(asked(start=26.5)), "a whole number that counts characters"),
        (squad({"id": "1", "answers": []}), "question '1' has no 'question'"),
        (squad({"id": "1", "question": "?", "answers": [], "is_impossible": False}),
         "is said to be possible, and has no answer"),
        (squad(asked(), context=None), "question '1': 'context' is null"),
        ('{"version": 1}', "line 1 has no 'context': its columns are 'version'"),
        ('{"data": 5}', "line 1 has no 'context'"),
        ('{"data": [\n[]]}', "line 1 has no 'context': its columns are 'data'"),
        ('{"data": [\n{"paragraphs": [5]}]}', "line 1 has no 'context'"),
        ("[]", "there is no example"),
        ('{"data": [\n{]}', "line 2 is not JSON"),
        ('{"of": "NaN",\n"data": NaN}', "line 2 is not JSON (NaN is no value"),
        ("", "there is no example"),
        ("[" * 100_000, "nested too deep"),
        (b'{"data": "\xc3\xbc \xe9"}', "is not UTF-8"),
    ],
)  # fmt: skip
def test_questions_that_are_wrong_are_told(file, content, words):
    path = file(content, "dev.json")
    message = error_of(QuestionAnswering.read, path)
    assert words in message and message.startswith(path)


TABLE = "question,context,answer,answer_start,is_impossible\n"
ANNA = "Anna came. Anna left."


@pytest.mark.parametrize("start", ["11", "11.0", 11, 11.0])
def test_the_place_of_an_answer__may_be_written_as_pandas_writes_whole_numbers(file, start):
    in_table = file(f"{TABLE}Who?,{ANNA},Anna,{start},\n", "a.csv")
    in_json = file(squad(asked(text="Anna", start=start), context=ANNA), "a.json")
    for path in (in_table, in_json):
        assert next(QuestionAnswering.read(path)).answers == (Answer("Anna", 11),)


def test_an_answer_without_a_place__is_taken_where_it_is_first_found(file):
    row = {"question": "Who?", "context": ANNA, "answer": "left", "answer_start": None}
    for path in (file(f"{TABLE}Who?,{ANNA},left, ,\n", "a.csv"), file(json_lines(row), "a.jsonl")):
        assert next(QuestionAnswering.read(path)).answers == (Answer("left", 16),)


@pytest.mark.parametrize("start", ["-1", "0.5", "nan", "x", "1e1"])
def test_the_place_of_an_answer__is_refused_by_its_own_value(file, start):
    path = file(f"{TABLE}Who?,{ANNA},Anna,{start},\n", "a.csv")
    message = error_of(QuestionAnswering.read, path)
    assert f"the answer 'Anna' is not at '{start}' of its context; it stands at 0" in message


def test_a_question_without_an_answer__is_marked_in_a_table_as_in_json(file):
    for mark in ("True", "true", "1", "1.0", "False", "0", ""):
        path = file(f"{TABLE}Who?,{ANNA},Anna,0,{mark}\n", "a.csv")
        known = () if mark[:1] in ("T", "t", "1") else (Answer("Anna", 0),)
        assert next(QuestionAnswering.read(path)).answers == known, mark
    none = file(f"{TABLE}Who?,{ANNA},,,False\n", "a.csv")
    assert "line 2 is said to be possible, and has no answer" in error_of(
        QuestionAnswering.read, none
    )
    odd = file(f"{TABLE}Who?,{ANNA},Anna,0,maybe\n", "a.csv")
    assert "'is_impossible' is 'maybe': it must be true or false" in error_of(
        QuestionAnswering.read, odd
    )


def test_two_questions_do_not_share_an_id(file):
    path = file(squad(asked(), asked()), "dev.json")
    assert "2 questions have the id '1'" in error_of(load_files, path, path)


def test_answers_in_rows_are_checked_too(file):
    row = {"question": "When?", "context": CONTEXT, "answers": {"text": ["911"]}}
    assert "line 1: 'answers' must hold two lists" in error_of(
        QuestionAnswering.read, file(json_lines(row), "a.jsonl")
    )
    row["answers"] = {"text": ["911"], "answer_start": [0]}
    assert "line 1: the answer '911' is not at 0" in error_of(
        QuestionAnswering.read, file(json_lines(row), "a.jsonl")
    )


# Choices.


def test_swag_is_read_with_what_all_endings_begin_with(file):
    path = file(
        "video-id,sent1,sent2,ending0,ending1,ending2,ending3,label\n"
        "v,She sits.,She,sings.,eats.,flies.,melts.,1\n",
        "val.csv",
    )
    endings = ("She sings.", "She eats.", "She flies.", "She melts.")
    assert list(MultipleChoice.read(path)) == [Choice("She sits.", endings, 1)]
    assert list(MultipleChoice.read(path, labeled=False)) == [Choice("She sits.", endings)]


def test_endings_can_be_a_list(file):
    row = {"context": "She sits.", "endings": ["She sings.", "She melts."], "label": 0}
    path = file(json_lines(row), "a.jsonl")
    assert list(MultipleChoice.read(path)) == [Choice("She sits.", ("She sings.", "She melts."), 0)]


def test_ten_endings_stay_in_their_order(file):
    names = [f"ending{place}" for place in range(11)]
    row = dict.fromkeys(names, "x") | {name: name for name in reversed(names)}
    path = file(json_lines({"context": "c", "label": 10, **row}), "a.jsonl")
    assert next(MultipleChoice.read(path)).endings == tuple(names)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"text": "a"}, "line 1 has no 'sent1' or"),
        (
            {"context": "a", "endings": ["b"], "label": 0},
            "1 endings: a choice needs a beginning and two",
        ),
        ({"context": "a", "endings": ["b", "c"], "label": 2}, "the label is 2: it must be"),
        ({"context": "a", "endings": ["b", "c"]}, "the label is None"),
        ({"context": "a", "endings": ["b", "c"], "label": True}, "the label is True"),
        ({"context": "a", "endings": ["b", 3], "label": 1}, "'endings' holds 3"),
    ],
)
def test_choices_that_are_wrong_are_told(file, row, words):
    assert words in error_of(MultipleChoice.read, file(json_lines(row), "a.jsonl"))


# The Hub.


@pytest.fixture
def on_the_hub(monkeypatch):
    """`on_the_hub(columns, features)`: what `datasets` then finds there, streamed or not."""
    import datasets

    def put(columns: dict, features: datasets.Features):
        def load(id, config, *, split, streaming):
            if split not in ("train", "validation"):
                raise ValueError(f'Unknown split "{split}".\nShould be one of two.')
            found = datasets.Dataset.from_dict(columns, features=features)
            return found.to_iterable_dataset() if streaming else found

        monkeypatch.setattr(datasets, "load_dataset", load)
        info = type("Info", (), {"sha": "1234"})
        monkeypatch.setattr(hub.huggingface_hub.HfApi, "dataset_info", lambda *_, **__: info)

    return put


@pytest.mark.parametrize("stream", [True, False])
def test_labels_of_the_hub_come_by_name_and_rows_without_one_are_passed_over(on_the_hub, stream):
    import datasets

    features = datasets.Features(
        premise=datasets.Value("string"),
        hypothesis=datasets.Value("string"),
        label=datasets.ClassLabel(names=["entailment", "neutral"]),
    )
    on_the_hub({"premise": ["a", "c", "e"], "hypothesis": ["b", "d", "f"], "label": [1, -1, 0]},
               features)  # fmt: skip
    assert list(Classification.read("someone/nli", stream=stream)) == [
        TextExample("a", "b", "neutral"),
        TextExample("e", "f", "entailment"),
    ]
    assert len(list(Classification.read("someone/nli", labeled=False, stream=stream))) == 3


def test_tags_of_the_hub_come_by_name(on_the_hub):
    import datasets

    tags = datasets.ClassLabel(names=["O", "B-PER"])
    features = datasets.Features(
        tokens=datasets.Sequence(datasets.Value("string")), ner_tags=datasets.Sequence(tags)
    )
    on_the_hub({"tokens": [["Ann", "ran"]], "ner_tags": [[1, 0]]}, features)
    assert list(Tagging.read("someone/ner@validation")) == [
        TaggedSentence(("Ann", "ran"), ("B-PER", "O"))
    ]


def test_questions_of_the_hub_are_those_of_the_files(on_the_hub):
    import datasets

    text = datasets.Value("string")
    answers = datasets.Sequence({"text": text, "answer_start": datasets.Value("int32")})
    on_the_hub(
        {"id": ["1"], "context": [CONTEXT], "question": ["When?"],
         "answers": [{"text": ["911"], "answer_start": [26]}]},
        datasets.Features(id=text, context=text, question=text, answers=answers),
    )  # fmt: skip
    assert list(QuestionAnswering.read("someone/squad")) == [
        Question("1", "When?", CONTEXT, (Answer("911", 26),))
    ]


def test_an_unknown_split_of_the_hub_is_told_in_one_line(on_the_hub):
    on_the_hub({}, None)
    message = error_of(Classification.read, "someone/nli@dev")
    assert "Unknown split" in message and "a split as @SPLIT" in message


def test_a_new_label_of_the_hub_is_told_with_its_row(on_the_hub):
    on_the_hub({"text": ["a", "b"], "label": ["x", "y"]}, None)
    message = error_of(Classification.read, "someone/data", labels=("x",))
    assert message == "someone/data@train: row 2: the label is 'y', not one of 'x'"


def test_without_a_network_the_hub_is_out_of_reach(monkeypatch):
    monkeypatch.setattr(hub.huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(hub.huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    for reader in (Classification.read, Tagging.read, QuestionAnswering.read, MultipleChoice.read):
        assert "cannot be reached" in error_of(reader, "nyu-mll/glue:sst2")


def test_a_folder_is_not_read_as_a_file(tmp_path):
    for reader in (Classification.read, Tagging.read, QuestionAnswering.read):
        assert "a folder: name a file in it" in error_of(reader, tmp_path)


@pytest.mark.parametrize("name", ["no/such.tsv", "dev.json.xz", "./here", "/no/such/file", "~/no"])
def test_a_missing_file_is_never_asked_of_the_hub(name, monkeypatch):
    monkeypatch.setattr(hub.huggingface_hub.HfApi, "dataset_info", None)
    for reader in (Classification.read, Tagging.read, QuestionAnswering.read):
        message = error_of(reader, name)
        assert "there is no such file" in message or "no table" in message


# StoryWorld.


@pytest.mark.parametrize("kind", STORYWORLD)
def test_storyworld_gives_every_kind_of_example(kind):
    train, heldout = storyworld(kind, "train", 50), storyworld(kind, "heldout", 20)
    assert (len(train), len(heldout)) == (50, 20)
    assert not set(train) & set(heldout)
    assert storyworld(kind, "train", 20) == train[:20]
    assert storyworld(kind, "train", 20, seed=1) != train[:20]


@pytest.mark.parametrize("kind", ["sentiment", "pairs"])
def test_storyworlds_labels_are_those_of_its_set(kind):
    examples = storyworld(kind, "train", 60)
    assert {example.label for example in examples} == set(STORYWORLD[kind].labels)
    assert all((example.pair is None) == (kind == "sentiment") for example in examples)


def test_storyworlds_names_are_entities_and_its_answers_in_their_contexts():
    sentences = storyworld("names", "train", 300)
    assert set(Tagging.labels_of(sentences)) == set(STORYWORLD["names"].labels)
    assert all(entities(sentence.tags) for sentence in sentences)
    questions = storyworld("questions", "train", 100)
    assert len({question.id for question in questions}) == 100
    for question in questions:
        (answer,) = question.answers
        assert question.context.startswith(answer.text, answer.start)


def words_of(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def test_reports__are_told_apart_by_comparing_both_texts_and_by_nothing_else():
    train, heldout = storyworld("reports", "train", 1000), storyworld("reports", "heldout", 500)

    def key(example):
        colors = {color.lower() for color in world.COLOURS}
        said = words_of(example.text) & colors, words_of(example.pair) & colors
        return "same" if said[0] == said[1] else "different"

    assert all(key(example) == example.label for example in heldout)
    words = [{f"a {w}" for w in words_of(e.text)} | {f"b {w}" for w in words_of(e.pair)}
             for e in train + heldout]  # fmt: skip
    known = sorted(set().union(*words))
    seen = np.array([[word in each for word in known] for each in words], float)
    labels = np.array([1.0 if e.label == "same" else -1.0 for e in train + heldout])
    seen -= seen.mean(axis=0)
    # Ridge regression on the words of each text: what a bag of words can know.
    gram = seen[:1000].T @ seen[:1000] + 10 * np.eye(len(known))
    guess = np.sign(seen[1000:] @ np.linalg.solve(gram, seen[:1000].T @ labels[:1000]))
    assert 0.4 < np.mean(guess == labels[1000:]) < 0.6


def test_who__is_answered_by_what_follows_a_name_and_at_chance_by_place():
    questions = storyworld("who", "heldout", 500)
    places = Counter()
    for question in questions:
        deed = re.fullmatch(r"Who (\w+) something\?", question.question)[1]
        names = re.findall(r"(\w+) (?:lost|found|bought|sold) ", question.context)
        (name,) = re.findall(rf"(\w+) {deed} ", question.context)
        assert question.answers[0].text == name and len(set(names)) == 4
        places[names.index(name)] += 1
    assert max(places.values()) < 0.33 * len(questions)


def test_kinds__are_not_known_before_the_word_after_the_name():
    after, before = defaultdict(Counter), defaultdict(Counter)
    for sentence in storyworld("kinds", "train", 3000):
        for i, tag in enumerate(sentence.tags):
            if tag.startswith("B-"):
                after[sentence.words[i + 1]][tag] += 1
                before[sentence.words[i]][tag] += 1
    assert all(len(tags) == 1 for tags in after.values())
    assert all(max(tags.values()) < 0.42 * tags.total() for tags in before.values())


@pytest.mark.parametrize(("train", "dev", "found"), [
    # Few O: in training such tags would be parts of speech.
    ("Ann PER\nran O\nand O\nsat O\n", "Ann PER\nLee PER\nRon PER\nran O\nBob PER\n",
     ("B-PER", "I-PER", "I-PER", "O", "B-PER")),
    # No name of two words.
    ("Ann B\nLee I\nran O\n", "Ann B\nran O\n", ("B-NAME", "O")),
])  # fmt: skip
def test_tags_of_dev__are_read_in_the_scheme_of_train(train, dev, found, tmp_path):
    paths = [tmp_path / "train.conll", tmp_path / "dev.conll"]
    for path, text in zip(paths, (train, dev), strict=True):
        path.write_text(text)
    (sentence,) = load_files(*paths).dev
    assert sentence.tags == found
