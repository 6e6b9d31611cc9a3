"""Labels of a user's file: what is doubtful is an error with its line, never a class of its own."""

from pathlib import Path

import pytest

from bert_finetuning.data.load import infer_task, load_files
from bert_finetuning.data.rows import Columns, are_numbers, label_set, parse_columns
from bert_finetuning.tasks.classification import Classification
from bert_finetuning.tasks.tagging import Tagging
from bert_run.errors import UserError


@pytest.fixture
def table(tmp_path):
    """`table(["pos", "neg"])`: a CSV of texts with these labels, from line 2 on."""

    def write(labels: list[str], name: str = "train.csv", header: str = "text,label") -> Path:
        quoted = [f'"{label}"' if "," in label else label for label in labels]
        rows = [f"text {number},{label}" for number, label in enumerate(quoted)]
        path = tmp_path / name
        path.write_text("\n".join([header, *rows] if header else rows) + "\n", encoding="utf-8")
        return path

    return write


def error_of(call, *args, **kwargs) -> str:
    with pytest.raises(UserError) as caught:
        call(*args, **kwargs)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def labels_in(path: Path) -> set:
    return {example.label for example in load_files(path, path).train}


# Empty cells and cells that stand for nothing.


def test_an_empty_label_is_an_error_with_its_line_and_no_class(table):
    path = table([*["pos", "neg"] * 20, "", "pos"])
    message = error_of(load_files, path, path)
    assert message.endswith(
        "train.csv: line 42: 'label' is empty: write a label or remove the line"
    )
    assert "line 4: 'label' is empty" in error_of(load_files, *[table(["a", "b", " \t"])] * 2)


def test_an_empty_label_does_not_turn_numbers_into_classes(table):
    path = table([*(f"0.{n:03}" for n in range(40)), ""])
    assert infer_task(path).format == "numbers"
    assert "line 42: 'label' is empty" in error_of(load_files, path, path)


@pytest.mark.parametrize("cell", ["n/a", "x", "inf", "1.5 points"])
def test_one_cell_that_is_no_number_does_not_turn_numbers_into_classes(cell, table):
    path = table(["0.5", "1.5", "3", cell, "2"])
    message = error_of(load_files, path, path)
    assert f"line 5: 'label' is {cell!r}: it must be a number" in message
    assert "--format texts" in message
    assert len(load_files(path, path, format="texts").task.head.labels) == 5


@pytest.mark.parametrize("cell", ["nan", "NaN"])
def test_nan_is_a_missing_value_among_names_and_among_numbers(cell, table):
    assert "line 4" in error_of(load_files, *[table(["pos", "neg", cell])] * 2)
    assert "stands for a missing value" in error_of(load_files, *[table(["0", "1", cell])] * 2)
    assert "line 4: 'label'" in error_of(load_files, *[table(["0.5", "1.5", cell])] * 2)


def test_a_row_of_json_without_its_label_is_an_error_and_null_is_left_out(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a", "label": "x"}\n{"text": "b"}\n')
    assert "line 2 has no 'label'" in error_of(lambda: list(Classification.read(path)))
    path.write_text('{"text": "a", "label": "x"}\n{"text": "b", "label": null}\n')
    assert len(list(Classification.read(path))) == 1


# Spelling.


def test_blanks_around_a_label_and_a_column_do_not_count(table):
    path = table(["pos", " pos", "pos ", "neg", "\u00a0neg"], header="text, label")
    assert labels_in(path) == {"pos", "neg"}


@pytest.mark.parametrize("other", ["Pos", "POS"])
def test_labels_that_differ_only_in_case_are_an_error_with_both_lines(other, table):
    message = error_of(load_files, *[table(["pos", "neg", other])] * 2)
    assert f"line 4: the label {other!r} differs from 'pos'" in message
    assert "line 2" in message and "rename one" in message


@pytest.mark.parametrize("mark", ["\u200b", "\u00ad", "\u200f", "\ufeff", "\u2060"])
def test_a_label_with_an_invisible_character_is_refused(mark, table, tmp_path):
    for label in (f"pos{mark}", f"p{mark}os", mark):
        message = error_of(load_files, *[table(["pos", "neg", label])] * 2)
        assert "line 4: the label" in message and "invisible" in message
        assert f"\\u{ord(mark):04x}" in message or f"\\x{ord(mark):02x}" in message
    path = tmp_path / "a.conll"
    path.write_text(f"Ann\tB-PER\nran\tO{mark}\n", encoding="utf-8")
    assert "invisible" in error_of(lambda: list(Tagging.read(path)))


@pytest.mark.parametrize("label", ["می\u200cخواهم", "\u2764\ufe0f", "\U0001f469\u200d\U0001f4bb"])
def test_an_invisible_character_that_a_script_needs_is_kept_but_makes_no_second_label(label, table):
    assert labels_in(table([label, "other", label])) == {label, "other"}
    bare = label.replace("\u200c", "").replace("\u200d", "").replace("\ufe0f", "")
    assert "differs from" in error_of(load_files, *[table([label, "other", bare])] * 2)


@pytest.mark.parametrize("other", ["01", "+1", "1.", "1.0", "1e0", "1.000000e+00", "true", "１"])
def test_two_spellings_of_one_number_are_an_error_with_both_lines(other, table):
    message = error_of(load_files, *[table(["0", "1", other])] * 2)
    assert f"line 4: the label {other!a} differs from '1'" in message and "line 3" in message


def test_true_of_json_beside_1_is_an_error(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a", "label": 1}\n{"text": "b", "label": true}\n')
    assert "the label 'true' differs from '1'" in error_of(load_files, path, path)


def test_long_numbers_that_differ_in_the_last_digit_are_two_labels(table):
    long = "1234567890" * 4
    assert labels_in(table([long + "1", long + "2", long + "1"])) == {long + "1", long + "2"}


def test_blanks_inside_a_label_are_seen_too(table):
    assert "differs from" in error_of(load_files, *[table(["very good", "bad", "very  good"])] * 2)


def test_tags_that_differ_only_in_case_are_an_error_with_both_lines(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text("Anna B-PER\nsat O\n\nBen b-per\n")
    message = error_of(lambda: list(Tagging.read(path)))
    assert "line 4: the label 'b-per'" in message and "line 1" in message


# Numbers.


def test_numbers_that_are_all_alike__are_an_error_as_labels_are(table):
    path = table(["2.5"] * 20)
    told = "train.csv: every number is 2.5: there is nothing to tell apart"
    assert error_of(load_files, path, path).endswith(told)
    assert error_of(load_files, path, 0.2).endswith(told)
    assert len(labels_in(table(["2.5"] * 20 + ["2.6"]))) == 2


def test_decimal_commas_are_an_error_and_no_classes(table):
    path = table(["3", "0,5", "1,25"])
    assert infer_task(path).format == "numbers"
    message = error_of(load_files, path, path)
    assert "line 3: 'label' is '0,5': it must be a number with a decimal point" in message


def test_huge_numbers_are_an_error(table):
    for big in ("1e300", "-1e300", "1e16"):
        message = error_of(load_files, *[table([big, "2.5", "1"])] * 2)
        assert f"line 2: 'label' is {big!r}: it must be a number" in message
        assert "from -1e+15 to 1e+15" in message


def test_whole_scores_that_make_a_class_of_each_example_are_an_error_that_names_the_format(table):
    path = table([str(n) for n in range(60)])
    message = error_of(load_files, path, path)
    assert "60 examples have 60 different labels" in message and "--format numbers" in message
    assert load_files(path, path, format="numbers").task.format == "numbers"
    assert len(load_files(path, path, format="texts").task.head.labels) == 60


def test_many_whole_scores_are_noted(table, capsys):
    path = table([str(n % 25) for n in range(200)])
    assert load_files(path, path).task.format == "texts"
    note = capsys.readouterr().err
    assert "the 25 labels are whole numbers" in note and "--format numbers" in note
    load_files(path, path, format="texts")
    assert capsys.readouterr().err == "", "who gave --format has decided"


@pytest.mark.parametrize("where", [0, 3, 59])
def test_one_mistyped_class_does_not_turn_classes_into_measures(where, table):
    labels = ["0", "1"] * 30
    labels[where] = "1.5"
    message = error_of(load_files, *[table(labels)] * 2)
    assert "some with a fraction ('1.5', a typo?)" in message and "--format numbers" in message
    assert load_files(*[table(labels)] * 2, format="numbers").task.format == "numbers"


def test_whole_numbers_with_an_exponent_are_classes(table):
    labels = [f"{number:.18e}" for number in (0, 1, 12)]  # as numpy.savetxt writes them
    data = load_files(*[table(labels * 10)] * 2)
    assert data.task.format == "texts" and set(data.task.head.labels) == set(labels)


def test_a_measure_that_is_often_whole_is_a_number_all_the_same(table):
    assert (
        load_files(*[table([*["1", "2", "3"] * 6, "2.5", "1.5", "0.5"])] * 2).task.format
        == "numbers"
    )
    assert load_files(*[table([*map(str, range(40)), "2.5"])] * 2).task.format == "numbers"


def test_a_fraction_that_comes_late_is_seen(table):
    path = table([*["1", "2", "3"] * 50, "3.5"])
    message = error_of(load_files, path, path)
    assert "some with a fraction ('3.5', a typo?)" in message and "--format numbers" in message


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["0.5", "1"], True), ([0.5, 1], True), (["1.0", "2.0"], False), (["1", "2"], False),
        (["1", "2.5", ""], True), (["a", "b", "2.5"], False), ([None, "0,5"], True),
        ([True, False], False), (["1", "2", "nan"], False), (["1e-3", "2"], True), ([], False),
    ],
)  # fmt: skip
def test_labels_are_numbers_when_most_are_and_one_is_not_whole(labels, expected):
    assert are_numbers(labels) is expected


def test_whole_numbers_are_sorted_by_size_however_long():
    huge = "9" * 5000
    assert label_set([huge, "10", "9", "007", "2"]) == ("2", "007", "9", "10", huge)


# Lists, and the line of names.


def test_a_list_of_labels_is_no_class(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a", "label": "x"}\n{"text": "b", "label": ["x", "y"]}\n')
    assert 'line 2: \'label\' is ["x", "y"]: several labels' in error_of(load_files, path, path)
    path = tmp_path / "a.csv"
    path.write_text("text,label\na,bed;food\nb,bed\n")
    assert labels_in(path) == {"bed", "bed;food"}
    path.write_text("text,bed,food\na,1,1\nb,0,0\n")
    assert "line 2 has no 'label': its columns are" in error_of(load_files, path, path)


@pytest.mark.parametrize("above", ["sep=,", ""])
def test_numbered_columns_do_not_learn_names_below_another_line_either(above, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"{above}\ntext,label\na,x\nb,y\n")
    message = error_of(load_files, path, path, columns=Columns("1", None, "2"))
    assert "line 2 looks like the names of columns (text,label)" in message


@pytest.mark.parametrize("header", ["text,label", "Sentence,Score"])
def test_numbered_columns_do_not_learn_usual_names_as_an_example(header, table):
    path = table(["pos", "neg"], header=header)
    message = error_of(load_files, path, path, columns=Columns("1", None, "2"))
    assert f"line 1 looks like the names of columns ({header})" in message
    assert f"--columns {header}" in message


def test_numbered_columns_do_not_learn_any_names_as_an_example(table):
    path = table(["pos", "neg"] * 6, header="comment,sentiment")
    message = error_of(load_files, path, path, columns=Columns("1", None, "2"))
    assert "line 1 looks like the names of columns (comment,sentiment)" in message
    path = table(["pos", "neg"] * 6, header="")
    assert len(load_files(path, path, columns=Columns("1", None, "2")).train) == 12


def test_an_unknown_column_tells_how_to_name_ones_own(table):
    path = table(["pos", "neg"], header="said,kind")
    assert "name yours, --columns TEXT,LABEL" in error_of(load_files, path, path)
    for columns in (" said, kind", "text=said,label=kind", "Said,KIND"):
        assert len(load_files(path, path, columns=parse_columns(columns)).train) == 2


def test_a_file_that_is_no_table_is_told_what_to_save_it_as(tmp_path):
    path = tmp_path / "book.xlsx"
    path.write_bytes(b"PK")
    assert "CSV UTF-8" in error_of(load_files, path, path)
    assert "a folder: name a file in it" in error_of(load_files, tmp_path, tmp_path)


def test_questions_may_stand_one_on_a_line_of_a_json_file(tmp_path):
    path = tmp_path / "a.json"
    row = '{"question": "who", "context": "b", "answers": {"text": ["b"], "answer_start": [0]}}'
    path.write_text(row + "\n" + row + "\n")
    assert len(load_files(path, path).train) == 2


def test_dev__without_the_columns_that_were_named_has_its_own_usual_ones(table, tmp_path):
    train = table(["pos", "neg"] * 6, header="Beschreibung,Note")
    dev = tmp_path / "dev.csv"
    dev.write_text("text,label\na film,pos\na play,neg\n")
    columns = parse_columns("text=Beschreibung,label=Note")
    data = load_files(train, dev, columns=columns)
    assert [each.label for each in data.dev] == ["pos", "neg"]
    assert data.tallies[1].columns == Columns("text", None, "label")
    dev.write_text("said,label\na film,pos\n")
    told = error_of(load_files, train, dev, columns=columns)
    assert "has no 'Beschreibung'" in told and "name yours, --columns TEXT,LABEL" in told


def test_a_text_that_is_missing__is_not_taken_for_a_label_that_is(table):
    path = table(["pos", "neg"] * 6, header="text,label")
    told = error_of(load_files, path, path, columns=parse_columns("text=Texte"))
    assert "has no 'Texte'" in told and "name yours, --columns TEXT,LABEL" in told
    path = table(["pos", "neg"] * 6, header="text,kind of it")
    assert "has no 'label'" in (told := error_of(load_files, path, path))
    assert "name yours, --columns label=NAME" in told
