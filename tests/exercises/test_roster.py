"""Whose work a file is: `roster.csv`, the names that systems and people give, and what is late."""

import time
from datetime import date, datetime, timezone
from pathlib import Path

import pytest

from autograder.course import Course, Week, parse_course
from autograder.points import CATALOGUE
from autograder.runner import is_untouched
from autograder.untrusted.marks import days_late
from autograder.untrusted.roster import Person, read_label, read_roster, time_of
from autograder.untrusted.submissions import Handed, gather, named
from bert_run.errors import UserError

ROSTER = """id,name,key,extension
s1,Ann Berg,1001;ann@example.org,2
s10,Bo Lee,1002,3:1.5 0
s2,Zoé van der Berg,1003,
"""


@pytest.fixture
def roster(tmp_path):
    (tmp_path / "people.csv").write_text(ROSTER, encoding="utf-8-sig")
    return read_roster(tmp_path / "people.csv", Course())


@pytest.mark.parametrize(
    ("name", "whose"),
    [
        ("bergann_1001_55_softmax.py", ["s1"]),
        ("bergann_LATE_1001_55_softmax.py", ["s1"]),
        ("anyname_1002_55_softmax-1.py", ["s10"]),
        ("Ann Berg_123456_assignsubmission_file_", ["s1"]),
        ("Zoe van der Berg_9_assignsubmission_file_softmax.py", ["s2"]),
        ("s10_softmax.py", ["s10"]),
        ("S1", ["s1"]),
        ("week3 (s2).zip", ["s2"]),
        ("Berg_Ann.zip", ["s1"]),
        ("s100.zip", []),
        ("s1 and s2.zip", ["s1", "s2"]),
        ("ann@example.org.zip", ["s1"]),
        # What students choose themselves, a name to be called by or that of a file, is no key.
        ("bolee_1001_55_softmax.py", ["s1"]),
        ("bergann_1001_55_Bo Lee_5_assignsubmission_file_x.py", ["s1"]),
        ("Ann Berg_5_assignsubmission_file_bolee_1002_11_x.py", ["s1"]),
    ],
)
def test_a_roster__knows_the_longest_of_its_names_and_keys(roster, name, whose):
    assert roster.match(*read_label(name).keys) == whose


@pytest.mark.parametrize(
    ("name", "whose"),
    [
        ("3_week_10", []), ("3 (2)", ["3"]), ("3.py", ["3"]), ("Zoe New (10)", []),
        ("bob_christopher", ["bob", "christopher"]), ("Fox bob", ["bob", "christopher"]),
        ("anna-maria.zip", ["anna-maria"]), ("anna maria anna", ["anna", "anna-maria"]),
        ("Anna Maria Ray", ["anna-maria", "bob"]),
    ],
)  # fmt: skip
def test_a_name_that_has_two_people_side_by_side__is_of_neither_however_long(tmp_path, name, whose):
    put(tmp_path / "people.csv", "id,name\n3,Ann\n10,Ben\nanna,\nanna-maria,\nbob,Maria Ray\n"
        "christopher,Fox\n")  # fmt: skip
    known = read_roster(tmp_path / "people.csv", Course())
    assert known.match(*read_label(name).keys) == whose
    put(tmp_path / "class" / name / "softmax.py")
    put(tmp_path / "class" / "Ben" / "softmax.py")
    found, passed_over = gather([tmp_path / "class"], roster=known)
    if len(whose) > 1:
        assert [one.student for one in found] == ["10"]
        assert f"it is of one of {', '.join(whose)}: give the student a key" in passed_over[0]


def test_a_submission_number__is_nobodys_key(roster):
    label = read_label("nobody_777_1001_softmax.py")  # Canvas: the second number is of the file
    assert roster.match(*label.keys) == []


def test_an_extension__is_of_every_week_or_of_one(roster):
    assert [roster.people["s1"].days(week) for week in "13"] == [2, 2]
    assert [roster.people["s10"].days(week) for week in "13"] == [0, 1.5]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("s1,,,", "line 5: 's1' is there twice, as in people.csv, line 2"),
        ("s5,,1001,", "line 5: '1001' is there twice, as in people.csv, line 2"),
        ("s5,,,two", "the extension 'two' is no number of days"),
        ("s5,,,-1", "the extension '-1'"),
        ("../s5,,,", "is to be the name of a folder"),
        ("s5,Mueller, Ann,123,", "line 5: it has 5 cells, the first line 4: put a text"),
        (",,,", None),
        (",Nan,,", "line 5: there is no id in it"),
    ],
)
def test_a_mistake_in_a_roster__is_told_with_its_line(tmp_path, line, says):
    (tmp_path / "people.csv").write_text(ROSTER + line + "\n", encoding="utf-8")
    if says is None:
        assert len(read_roster(tmp_path / "people.csv", Course()).people) == 3
        return
    with pytest.raises(UserError) as caught:
        read_roster(tmp_path / "people.csv", Course())
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_a_roster_without_ids_or_in_another_encoding__is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("name\nAnn\n")
    with pytest.raises(UserError, match="its first line has no id"):
        read_roster(tmp_path / "a.csv", Course())
    (tmp_path / "b.csv").write_bytes("id\nZoé\n".encode("latin-1"))
    with pytest.raises(UserError, match="is not UTF-8; convert the text"):
        read_roster(tmp_path / "b.csv", Course())
    with pytest.raises(FileNotFoundError):
        read_roster(tmp_path / "none.csv", Course())


def test_an_extension__is_of_a_week_that_the_course_has(tmp_path):
    course = parse_course({"week": {"1": {"exercises": ["03"]}}})
    path = tmp_path / "people.csv"
    path.write_text("id,extension\ns1,01:2\n", encoding="utf-8")
    assert read_roster(path, course).people["s1"].days("1") == 2
    path.write_text("id,extension\ns1,9:2\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"people\.csv, line 2: the extension of week 9: course"):
        read_roster(path, course)


@pytest.mark.parametrize(
    ("name", "exercise"),
    [
        ("softmax.py", "03_softmax"), ("Softmax.py", "03_softmax"), ("softmax-1.py", "03_softmax"),
        ("softmax (1).py", "03_softmax"), ("softmax_final_v2.py", "03_softmax"),
        ("softmax_final.PY", "03_softmax"), ("03_softmax.py", "03_softmax"),
        ("layer norm.py", "04_layer_norm"), ("layer-norm copy.py", "04_layer_norm"),
        ("test_softmax.py", None), ("softmax_old.py", None), ("softmax.ipynb", None),
        ("my_softmax.py", None),
    ],
)  # fmt: skip
def test_a_file__is_known_by_its_name_whatever_systems_and_people_add(name, exercise):
    found = named(name)
    assert (found.name if found else None) == exercise


def put(path: Path, content: str = "x = 1\n") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")


def test_what_is_not_read__is_named_with_the_reason(tmp_path):
    put(tmp_path / "class" / "ann" / "03_softmax" / "mine.py")
    put(tmp_path / "class" / "ann" / "03_softmax" / "test_softmax.py")
    put(tmp_path / "class" / "ann" / "gelu.ipynb")
    put(tmp_path / "class" / "ann" / "inner.zip", "no zip")
    put(tmp_path / "class" / "ann" / "notes.txt")
    [one], _ = gather([tmp_path / "class"])
    notes = "\n".join(one.notes)
    for words in ("03_softmax/mine.py is not read: is it softmax.py?",
                  "gelu.ipynb is not read: is it gelu.py?",
                  "inner.zip in it is not read: the zip cannot be read"):  # fmt: skip
        assert words in notes
    assert "test_softmax" not in notes and "notes.txt" not in notes


def test_a_file_that_nobody_is_known_for__is_passed_over_with_the_reason(tmp_path, roster):
    put(tmp_path / "class" / "s1" / "softmax.py")
    put(tmp_path / "class" / "03_softmax.py")
    put(tmp_path / "class" / "unknown.zip", "no zip")
    put(tmp_path / "class" / "s10_gelu.ipynb")
    found, passed_over = gather([tmp_path / "class"], roster=roster)
    assert [one.student for one in found] == ["s1"] and len(passed_over) == 3
    for words in ("unknown.zip: it is of nobody in the roster", "class/03_softmax.py: it is of",
                  "class/s10_gelu.ipynb: neither a folder or a zip nor"):  # fmt: skip
        assert any(words in line for line in passed_over), passed_over
    found, passed_over = gather([tmp_path / "class"])
    assert any("class/03_softmax.py: whose is it?" in line for line in passed_over)


def test_the_number_of_an_exercise__is_nobodys_id(tmp_path):
    (tmp_path / "people.csv").write_text("id,name\n01,Ann Smith\n04,Dora Lind\n")
    roster = read_roster(tmp_path / "people.csv", Course())
    for name in ("Smith_04_layer_norm.py", "Smith 04-layer norm.zip", "01_04_layer_norm.py",
                 "04_03_softmax.py", "x04_layer_norm_01.py"):  # fmt: skip
        put(tmp_path / "class" / name)
    found, passed_over = gather([tmp_path / "class"], roster=roster)
    assert {one.student: [*one.files] for one in found} == {
        "01": ["04_layer_norm"], "04": ["03_softmax"]}  # fmt: skip
    assert [line.split("/")[1][:5] for line in passed_over] == ["Smith", "Smith", "x04_l"]


def test_every_file_of_an_exercise_that_is_not_read__is_named(tmp_path):
    for name in ("softmax.py", "softmax (1).py", "old/softmax_final.py", "03_softmax/softmax.py"):
        put(tmp_path / "class" / "ann" / name, name)
    [one], _ = gather([tmp_path / "class"])
    assert one.files == {"03_softmax": b"03_softmax/softmax.py"}
    assert one.notes == ["softmax.py is there 4 times: graded is 03_softmax/softmax.py, and not "
                         "softmax.py, softmax (1).py, old/softmax_final.py"]  # fmt: skip


def test_a_submission_that_is_graded_alone__has_its_time_from_the_table_beside_it(
    tmp_path, monkeypatch
):
    put(tmp_path / "class" / "s1" / "softmax.py")
    put(tmp_path / "class" / "s2.py" / "softmax.py")
    put(tmp_path / "class" / "submitted.csv", "name,time\ns1,2027-01-20 21:30Z\ns2,2027-01-01\n")
    [one], _ = gather([tmp_path / "class" / "s1"])
    assert one.handed["03_softmax"].time == time_of("2027-01-20 21:30Z", "")
    monkeypatch.chdir(tmp_path / "class" / "s1")
    [one], _ = gather([Path(".")])
    assert one.handed["03_softmax"].time == time_of("2027-01-20 21:30Z", "")


def test_a_name_with_two_times__is_refused_whatever_their_order(tmp_path):
    put(tmp_path / "class" / "ann" / "softmax.py")
    rows = ["ann,2027-01-17 10:00Z", "Ann,2027-01-19 10:00Z"]
    for two in (rows, rows[::-1]):
        put(tmp_path / "class" / "submitted.csv", "\n".join(["name,time", *two]))
        with pytest.raises(UserError, match=r"submitted\.csv, line 3: [aA]nn is there twice"):
            gather([tmp_path / "class"])
    put(tmp_path / "class" / "submitted.csv", "\n".join(["name,time", rows[0], rows[0]]))
    [one], _ = gather([tmp_path / "class"])
    assert one.handed["03_softmax"].time == time_of("2027-01-17 10:00Z", "")


def test_of_one_file_handed_in_twice__the_first_time_counts(tmp_path, roster):
    for number, text in enumerate(("x = 1", "x = 1", "x = 2", "x = 1"), 1):
        put(tmp_path / f"s1_v{number}" / "softmax.py", text)
    lines = [f"s1_v{number},2027-01-1{number} 12:00Z\n" for number in range(1, 5)]
    for last, day in ((2, 11), (3, 13), (4, 14)):
        put(tmp_path / "submitted.csv", "name,time\n" + "".join(lines[:last]))
        paths = [tmp_path / f"s1_v{number}" for number in range(1, last + 1)]
        [one], _ = gather(paths, roster=roster)
        assert one.handed["03_softmax"].time.day == day


def test_where_nothing_is_graded__the_reason_is_told(tmp_path):
    put(tmp_path / "class" / "s1_softmax.py")
    with pytest.raises(UserError, match=r"s1_softmax\.py: whose is it\? Put it into a folder"):
        gather([tmp_path / "class"])


def test_single_files_of_one_student__are_one_submission_and_folders_of_one_name_are_two(tmp_path):
    names = ["leebo_71_11_softmax.py", "leebo_71_12_gelu.py", "leebo_81_13_gelu.py",
             "Bo Lee_5_assignsubmission_file_/gelu.py"]  # fmt: skip
    for name in names:
        put(tmp_path / name)
    found, _ = gather([tmp_path])
    assert {one.student: sorted(one.files) for one in found} == {
        "leebo_71": ["03_softmax", "05_gelu"], "leebo_81": ["05_gelu"], "Bo Lee": ["05_gelu"],
    }  # fmt: skip


def test_two_accounts_that_a_roster_takes_for_one_person__are_not_both_graded(tmp_path):
    put(tmp_path / "roster.csv", "id,name\ns01,Anna Berg\n")
    roster = read_roster(tmp_path / "roster.csv", Course())
    for number in (111, 222):
        put(tmp_path / "class" / f"Anna Berg_{number}_assignsubmission_file_" / "gelu.py")
    [one], passed_over = gather([tmp_path / "class"], roster=roster)
    assert one.student == "s01" and one.handed["05_gelu"].name.startswith("Anna Berg_111")
    assert len(passed_over) == 1 and "another account is called s01 too" in passed_over[0]


def test_two_students_of_one_name__are_told_apart_by_a_roster_alone(tmp_path):
    for number in (5, 6):
        put(tmp_path / f"Bo Lee_{number}_assignsubmission_file_" / "gelu.py")
    [one], passed_over = gather([tmp_path])
    assert one.student == "Bo Lee"
    assert "another submission is called Bo Lee too" in passed_over[0] and len(passed_over) == 1


@pytest.mark.parametrize(
    ("time", "days"),
    [("2027-01-17T23:59:00+00:00", 0), ("2027-01-17T23:59:01+00:00", 1),
     ("2027-01-17T23:59:00.500+00:00", 0),
     ("2027-01-18 23:59:00 UTC", 1), ("2027-01-19T01:59:00+0100", 2), ("2027-01-01T00:00:00Z", 0)],
)  # fmt: skip
def test_days_late__are_begun_days_after_the_extension(time, days):
    week = Week("1", (), time_of("2027-01-17T23:59:00Z", "x"))
    handed = Handed("x", time_of(time, "x"))
    assert days_late(week, handed, None) == days
    assert days_late(week, handed, Person("s", extension={"1": 1})) == max(0, days - 1)
    assert days_late(week, Handed("x", late=True), None) == 1
    assert days_late(week, None, None) == 0
    assert time_of("2027-01-01 10:00:00 Z", "x") == datetime(2027, 1, 1, 10, tzinfo=timezone.utc)
    with pytest.raises(UserError, match="'soon' is no time"):
        time_of("soon", "x")


def test_a_time_at_the_ends_of_the_calendar__is_told_in_every_zone(monkeypatch):
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        for text in ("0001-01-01", "9999-12-31 23:59:59"):
            with pytest.raises(UserError, match=f"x: '{text}' is no time"):
                time_of(text, "x")
        for due in (date(1, 1, 1), date(9999, 12, 31)):
            with pytest.raises(UserError, match="week 1: due is datetime"):
                parse_course({"week": {"1": {"exercises": ["03"], "due": due}}})
    finally:
        monkeypatch.undo()
        time.tzset()


def test_an_untouched_starter__is_known_by_its_text():
    for exercise in CATALOGUE[:3]:
        assert is_untouched(exercise, exercise.starter.read_bytes())
        assert not is_untouched(exercise, exercise.solution.read_bytes())


def test_a_class_is_nobodys__though_a_word_of_its_name_is_a_students(tmp_path):
    (tmp_path / "people.csv").write_text("id,name\nann,\nbert,\n", "utf-8")
    people = read_roster(tmp_path / "people.csv", Course())
    for name in ("ann", "bert"):
        put(tmp_path / "bert-week2" / name / "softmax.py", name)
        put(tmp_path / name / "week2" / "softmax.py", name)
    put(tmp_path / "week2 of ann" / "softmax.py", "her own")
    found, _ = gather([tmp_path / "bert-week2"], roster=people)
    assert {one.student: one.files["03_softmax"] for one in found} == {
        "ann": b"ann",
        "bert": b"bert",
    }
    for path in ("bert", "ann"):  # exactly somebody's name, whatever is in it
        [one], _ = gather([tmp_path / path], roster=people)
        assert one.student == path and one.files["03_softmax"] == path.encode()
    [one], _ = gather([tmp_path / "week2 of ann"], roster=people)
    assert one.student == "ann" and one.files["03_softmax"] == b"her own"


@pytest.mark.parametrize("sibling", ["bob/softmax.py", "bob.zip", "bob/x/y.py"])
def test_beside_a_student__no_folder_is_a_class(sibling, tmp_path, capsys):
    put(tmp_path / "class" / "ann" / "bob" / "softmax.py", "hers")
    put(tmp_path / "class" / "cy" / "hw" / "gelu.py")
    put(tmp_path / "class" / "submitted.csv", "name,time\n")
    put(tmp_path / "class" / sibling)
    known = "Bob" if sibling == "bob/x/y.py" else "eve"
    (tmp_path / "grades" / "students" / known).mkdir(parents=True)
    found, _ = gather(sorted((tmp_path / "class").iterdir()), tmp_path / "grades")
    bob = "Bob" if known == "Bob" else "bob"  # who has grades under that name
    found.sort(key=lambda one: one.student.casefold())
    assert [one.student for one in found] == ["ann", bob, "cy"]
    assert found[0].files == {"03_softmax": b"hers"} and found[2].files.keys() == {"05_gelu"}
    assert not capsys.readouterr().err
    for week in ("1", "2"):  # classes side by side, with a table beside them
        put(tmp_path / "weeks" / week / f"ann{week}" / "softmax.py")
        put(tmp_path / "weeks" / week / "eve" / "gelu.py")
    put(tmp_path / "weeks" / "roster.csv")
    found, _ = gather(sorted((tmp_path / "weeks").iterdir())[:3:2])
    assert [one.student for one in found] == ["ann1", "eve"]


def test_a_class_of_a_single_student__is_told(tmp_path, capsys):
    put(tmp_path / "LATE" / "mal" / "bob" / "softmax.py")
    gather([tmp_path / "LATE" / "mal"])
    assert capsys.readouterr().err == (
        f"warning: {tmp_path / 'LATE' / 'mal'} is taken for a class whose only student is bob: if "
        "it is one student's, grade the folder that it lies in\n")  # fmt: skip
    [one], _ = gather([tmp_path / "LATE"])
    assert one.student == "mal"


def test_a_class_that_was_taken_for_a_student__is_told_and_is_a_class_once_that_is_removed(
    tmp_path, capsys
):
    out, path = tmp_path / "grades", tmp_path / "week2" / "sub missions"
    for name in ("ann", "bob"):
        put(path / name / "softmax.py")
        put(tmp_path / "week2" / name / "hw" / "softmax.py")
        (out / "students" / name).mkdir(parents=True)
    (out / "students" / "sub missions").mkdir()
    (out / "students" / ".ipynb_checkpoints").mkdir()
    [one], _ = gather([path], out)
    assert one.student == "sub missions"
    assert capsys.readouterr().err == (
        f"warning: {path} is taken for the student sub missions, who has grades: if it is a class, "
        "call again with --remove='sub missions'\n")  # fmt: skip
    found, _ = gather([path], out, gone=("sub missions",))
    assert [one.student for one in found] == ["ann", "bob"]
    gather([tmp_path / "week2" / name for name in ("ann", "bob")], out)  # students side by side
    assert not capsys.readouterr().err


@pytest.mark.parametrize("name", ["keys", "extention", "extra days"])
def test_a_column_that_is_not_read__is_told(tmp_path, name, capsys):
    put(tmp_path / "people.csv", f"id,name,{name}\ns1\n")
    read_roster(tmp_path / "people.csv", Course())
    told = f"people.csv: ignored columns: {name}; known are id, name, key, extension"
    assert told in capsys.readouterr().err


def test_a_class_that_is_called_like_a_student_of_the_roster__is_told(tmp_path, capsys):
    put(tmp_path / "people.csv", "id,name\n2,Ann Berg\n3,Bo Lee\n")
    roster = read_roster(tmp_path / "people.csv", Course())
    for who in ("Ann Berg", "Bo Lee"):
        put(tmp_path / "2" / who / "softmax.py")
    gather([tmp_path / "2"], roster=roster)
    assert "is taken for the student 2 of the roster: if it is a class" in capsys.readouterr().err


def test_a_name_of_moodle__is_the_name_of_a_student_as_a_whole_or_nobodys(tmp_path):
    put(tmp_path / "people.csv", "id,name\ns1,Juan Perez\ns2,Bo Lee\n")
    roster = read_roster(tmp_path / "people.csv", Course())
    for name in ("Juan Perez Garcia_222", "Juan Perez_111", "Bo Lee_333"):
        put(tmp_path / "class" / f"{name}_assignsubmission_file_" / "softmax.py", name)
    found, [passed_over] = gather([tmp_path / "class"], roster=roster)
    assert [one.files["03_softmax"] for one in found] == [b"Juan Perez_111", b"Bo Lee_333"]
    assert "Garcia_222_assignsubmission_file_: it is of nobody in the roster" in passed_over


def test_two_folders_of_one_name__are_told_apart_in_the_note(tmp_path):
    put(tmp_path / "people.csv", "id\nann\nbob\n")
    roster = read_roster(tmp_path / "people.csv", Course())
    for folder in ("late", "week2"):
        put(tmp_path / folder / "ann" / "softmax.py", folder)
        put(tmp_path / folder / "bob" / "softmax.py")
    found, _ = gather([tmp_path / "late", tmp_path / "week2"], roster=roster)
    [note] = found[0].notes
    assert note.endswith("graded is that of week2/ann, and not late/ann")


def test_a_loose_file_beside_students_who_keep_theirs_deeper__makes_nobody_of_a_class(tmp_path):
    for name in ("ann", "bob", "cy"):
        put(tmp_path / "class" / name / "hw" / "gelu.py")
    put(tmp_path / "class" / "softmax.py")
    with pytest.raises(UserError, match=r"ann and bob: is it a class or one student's\?"):
        gather([tmp_path / "class"])
