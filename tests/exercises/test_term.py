"""A term of six weeks as an instructor plays it: twelve submissions of five invented students,
late, resubmitted, renamed, zipped, through to the file for Canvas. Every mark is computed by hand.
"""

import csv
import io
import json
import shutil
import sys
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from autograder import course as grader_course
from autograder.points import find
from autograder.runner import FAILED, PASSED, TO_DO, Outcome, for_all_checks
from autograder.untrusted import grade as command
from autograder.untrusted import gradebook
from autograder.untrusted.grading_process import Done
from autograder.untrusted.marks import Marks, WeekMark, drop_and_add_up
from autograder.untrusted.sandbox import Sandbox
from bert_run import files

COURSE = """
drop_lowest = 1
late_days = 1
late_penalty = 10
seed = 7

[week.1]
exercises = ["03"]
due = 2027-01-17T23:59:00+00:00

[week.2]
exercises = ["05"]
due = 2027-01-24T23:59:00+00:00

[week.3]
exercises = ["08"]

[week.4]
exercises = ["09"]
due = 2027-02-07T23:59:00+00:00

[week.5]
exercises = ["11"]
due = 2027-02-14T23:59:00+00:00

[week.6]
exercises = ["01"]
weight = 7
parts = { report = 10 }
title = "The project"
"""
ROSTER = """id,name,key,extension
s01,Ada One,1001,
s02,Bea Two,1002,2:3
s03,Cy Three,1003;cy@example.org,
s04,Dee Four,1004,
s05,Ed Five,1005,
"""
# Points of the six weeks, by hand. Week 1: s02 is two days late, one of them free: 10% of 3 off.
# Week 2: s02 has three more days. Week 4: s01 is a day late, which is free. Week 6: the report.
WEEKS = {
    "s01": [3, 2, 0, 4, 0, 12],
    "s02": [2.7, 2, 0, 0, 0, 1],
    "s03": [3, 0, 0, 0, 0, 0],
    "s04": [3, 0, 3, 0, 0, 0],
    "s05": [0, 0, 0, 0, 4, 0],
}
BEST = [3, 2, 3, 4, 4, 14]
# Of the term, in percent. The week with the smallest share is dropped, the first of equal ones;
# week 6 counts 7. s01, without week 3: (3 + 2 + 4 + 7 * 12 / 14) / 20; s03, without week 2: 3 / 21.
PERCENT = {"s01": 75, "s02": 26, "s03": 14.29, "s04": 28.57, "s05": 20}


def answer(number: str) -> bytes:
    exercise = next(e for e in map(find, EXERCISES) if e.name.startswith(number))
    return exercise.solution.read_bytes()


EXERCISES = ("01_wordpiece", "03_softmax", "05_gelu", "08_embeddings", "09_masked_cross_entropy",
             "11_bert_adam")  # fmt: skip
HALF = b"def softmax_forward(x, axis=-1):\n    raise NotImplementedError\n"


def results_of(name: str, file: bytes) -> list[Outcome]:
    """Of a solution, and of what is none. What is tested is what becomes of results; that solutions
    have full marks is tested elsewhere."""
    exercise = find(name)
    if file == exercise.solution.read_bytes():
        return for_all_checks(exercise, PASSED, "")
    return for_all_checks(exercise, TO_DO, "to do")


class Term:
    """The instructor's folder, and the command called in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out = folder, folder / "grades"
        self.spoilt: set[str] = set()  # exercises whose first check now fails for everybody

    def put(self, name: str, content: bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def call(self, *arguments: str) -> None:
        before, sys.argv = sys.argv, ["bert-grade", *arguments, "--out", str(self.out)]
        try:
            command.main()
        finally:
            sys.argv = before

    def grade_all(self, jobs, *_, **__):
        for job in (job for group in jobs for job in group):
            found = results_of(job.exercise.name, job.file)
            if job.exercise.name in self.spoilt:
                found = [Outcome(found[0].id, FAILED, "spoilt"), *found[1:]]
            yield job, Done(found, "", 1.0)

    def rows(self, name: str = "gradebook.csv") -> list[dict[str, str]]:
        text = (self.out / name).read_text("utf-8")
        return list(csv.DictReader(io.StringIO(text)))

    def changes(self) -> list[tuple[str, ...]]:
        return [tuple(row.values())[:4] for row in self.rows("changes.csv")]

    def weeks(self) -> dict[str, list[float]]:
        return {row["student"]: [float(row[f"week {n}"]) for n in range(1, 7)]
                for row in self.rows()}  # fmt: skip


@pytest.fixture
def term(tmp_path, monkeypatch) -> Term:
    term = Term(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "grade_all", term.grade_all)
    monkeypatch.setattr(command, "choose", lambda *_: Sandbox("bwrap", tmp_path, ()))
    term.put("course.toml", COURSE.encode())
    term.put("people.csv", ROSTER.encode())
    return term


def zipped(members: dict[str, bytes]) -> bytes:
    text = io.BytesIO()
    with zipfile.ZipFile(text, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return text.getvalue()


PLAYED: list[Path] = []  # the folder after six weeks, as soon as there is one


def play(term: Term) -> None:
    """The six weeks; after the first time a copy of them."""
    if PLAYED:
        shutil.copytree(PLAYED[0], term.folder, dirs_exist_ok=True)
        return
    play_week_by_week(term)
    PLAYED.append(shutil.copytree(term.folder, term.folder.with_name("played")))


def play_week_by_week(term: Term) -> None:
    # Canvas: single files, one late, one zip in a zip, one student twice.
    term.put("w1/ones01_1001_5001_softmax.py", answer("03"))
    term.put("w1/twos02_LATE_1002_5002_softmax-1.py", answer("03"))
    inner = zipped({"my work/softmax_final.py": answer("03")})
    term.put("w1/threes03_1003_5003_week1.zip", zipped({"week1.zip": inner, "notes.txt": b""}))
    term.put("w1/fours04_1004_5004_softmax.py", HALF)
    term.put("w1/fours04_1004_5010_softmax-1.py", answer("03"))
    term.put("w1/submitted.csv", b"name,time\ntwos02_LATE_1002_5002_softmax-1.py,"
             b"2027-01-19T09:00:00+00:00\n")  # fmt: skip
    term.call("w1", "--week", "1", "--roster", "people.csv")
    # Moodle: a folder, and a file that was downloaded twice; late, but within the extension.
    term.put("w2/Ada One_77_assignsubmission_file_/gelu.py", answer("05"))
    term.put("w2/Bea Two_78_assignsubmission_file_gelu (1).py", answer("05"))
    term.put("w2/submitted.csv", b"name;time\ns02;2027-01-26 20:00:00 +0000\n"
             b"s05;2027-01-20 10:00:00 +0000\nBea;2027-01-26 20:00:00 +0000\n")  # fmt: skip
    term.call("w2", "--week", "2")
    # Plain: an untouched starter, and a zip.
    term.put("w3/s03/08_embeddings/embeddings.py", find("08_embeddings").starter.read_bytes())
    term.put("w3/s04.zip", zipped({"a/b/embeddings.py": answer("08")}))
    term.call("w3", "--week", "3")
    term.put("w4/s01/masked_cross_entropy.py", answer("09"))
    term.put("w4/submitted.csv", b"name,time\ns01,2027-02-08 12:00:00 Z\n")
    term.call("w4", "--week", "4")
    term.put("w5/s05_bert_adam.py", answer("11"))
    term.call("w5", "--week", "5")
    # A project that is marked by hand, and a file whose name is wrong.
    term.put("w6/s01/01_wordpiece/wordpiece.py", answer("01"))
    term.put("w6/s02/01_wordpiece/wordpice.py", answer("01"))
    term.put("grades/adjust.csv", b"student,what,points,comment,by\ns01,report,8,clear,T\n"
             b"s02,01,1,the name alone was wrong,T\n")  # fmt: skip
    term.call("w6", "--week", "6")


def test_a_term__has_every_mark_as_computed_by_hand(term, capsys):
    play_week_by_week(term)
    told = [line for line in capsys.readouterr().err.splitlines() if "submitted.csv" in line]
    assert len(told) == 3 and "bea is no submission and nobody of the class" in told[1]
    assert "has no time for 4 submissions (fours04_1004_5004_softmax.py, " in told[0]
    assert term.weeks() == WEEKS
    for row in term.rows():
        weeks = WEEKS[row["student"]]
        assert float(row["percent"]) == PERCENT[row["student"]]
        assert float(row["score"]) == pytest.approx(sum(weeks))
        assert float(row["max_score"]) == sum(BEST)
    notes = {row["student"]: row["notes"] for row in term.rows()}
    assert "week1.zip/my work/softmax_final.py is taken for softmax.py" in notes["s03"]
    assert "wordpice.py is not read: is it wordpiece.py?" in notes["s02"]
    assert "softmax.py was handed in again: graded is that of fours04_1004_5010" in notes["s04"]
    assert [row["late days"] for row in term.rows()] == ["1", "2", "0", "0", "0"]
    assert term.changes() == []  # a first mark is no change
    page = (term.out / "students" / "s02" / "report.html").read_text("utf-8")
    for words in ("2.70 of 3.00", "2 days late, 1 of them free", "the name alone was wrong · T"):
        assert words in page
    summary = (term.out / "summary.html").read_text("utf-8")
    assert '<td>08_embeddings</td>\n  <td class="number">0.60 of 3.00</td>' in summary
    assert '<td class="number">1</td><td class="number">1</td></tr>' in summary  # not the starter


CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,Week 1 (901),The project (906),Final Score
    Points Possible,,,,,3,100,(read only)
"One, Ada",1001,,ada,A,,,
"Two, Bea",1002,,bea,A,,,
"Three, Cy",9,,cy@example.org,B,,5,
"Four, Dee",1004,,dee,B,,,
"Nine, Nan",1009,,nan,B,,,
"Student, Test",999,,,,,,
"""


def test_a_term__goes_to_canvas_and_moodle_and_back_as_feedback(term, capsys):
    play(term)
    term.put("canvas.csv", b"\xef\xbb\xbf" + CANVAS.encode())
    term.call("--week", "1", "--canvas", "canvas.csv")
    assert (term.out / "canvas.csv").read_text("utf-8") == (
        "Student,ID,SIS User ID,SIS Login ID,Section,Week 1 (901)\n"
        "    Points Possible,,,,,3\n"
        '"One, Ada",1001,,ada,A,3.00\n"Two, Bea",1002,,bea,A,2.70\n'
        '"Three, Cy",9,,cy@example.org,B,3.00\n"Four, Dee",1004,,dee,B,3.00\n'
        '"Nine, Nan",1009,,nan,B,\n"Student, Test",999,,,,\n'
    )
    told = capsys.readouterr()
    assert "no marks for Nine, Nan: not in the roster?" in told.err
    assert "no row for s05: their marks of week 1 are not in the new file" in told.err
    assert told.out.splitlines()[-1].startswith(
        "files graded in the sandbox bwrap: 0; students in the class: 5; ")  # fmt: skip
    term.put("moodle.csv", b"Identifier,Full name,Email address,Grade,Maximum Grade,"
             b"Feedback comments\nParticipant 7,Ada One,a@example.org,,100.00,\n")  # fmt: skip
    term.call("--week", "6", "--canvas", "canvas.csv", "--moodle", "moodle.csv", "--feedback")
    assert term.rows("canvas.csv")[1]["The project (906)"] == "85.71"  # 12 of 14 points
    [row] = term.rows("moodle.csv")
    assert (row["Grade"], row["Feedback comments"]) == (
        "85.71", "12 of 14 points; report: clear · T")  # fmt: skip
    comma = b"Identifier;Full name;Grade;Maximum Grade\nParticipant 7;Ada One;;100,00\n"
    term.put("moodle.csv", comma)
    term.call("--week", "6", "--moodle", "moodle.csv")
    assert term.rows("moodle.csv")[0]["Grade"] == "85.71"
    term.put("moodle.csv", comma.replace(b"100,00", b"many"))
    with pytest.raises(SystemExit):
        term.call("--week", "6", "--moodle", "moodle.csv")
    assert "error: moodle.csv: 'many' is no highest mark" in capsys.readouterr().err
    term.put("canvas.csv", CANVAS.replace("\n", "\n\n").encode() + b'"Six, Fay"\n')
    term.call("--week", "1", "--canvas", "canvas.csv")
    assert [row["Student"] for row in term.rows("canvas.csv")][-2:] == ["Student, Test", "Six, Fay"]
    term.call("w1", "--week", "1", "--feedback")
    with zipfile.ZipFile(term.out / "feedback.zip") as archive:
        assert archive.namelist() == [
            "ones01_1001_5001_report.html", "twos02_LATE_1002_5002_report.html",
            "threes03_1003_5003_report.html", "fours04_1004_5010_report.html"]  # fmt: skip
    term.call("w2", "--week", "2", "--feedback")
    with zipfile.ZipFile(term.out / "feedback.zip") as archive:
        assert "Ada One_77_assignsubmission_file_/report.html" in archive.namelist()
    assert term.weeks() == WEEKS and term.changes() == []


def test_who_is_excused_in_canvas__stays_so_whatever_was_handed_in(term, capsys):
    play(term)
    term.put("canvas.csv", b"Student,ID,Week 1 (5)\nAda,1001,\nBea,1002,EX\nEd,1005,EX\n")
    term.call("--week", "1", "--canvas", "canvas.csv")
    assert [row["Week 1 (5)"] for row in term.rows("canvas.csv")] == ["3.00", "EX", "EX"]
    told = capsys.readouterr().err
    assert "warning: canvas.csv: Bea; Ed: excused (EX), which stays" in told
    assert "no row for s03; s04: their" in told


@pytest.mark.parametrize("column", ["Quiz week 1 (79)", "Week 1 of 2", "Week 1 (79)", "WEEK-1"])
def test_a_column_of_canvas_that_is_not_quite_named_for_the_week__is_told(column, term, capsys):
    play(term)
    term.put("canvas.csv", f"Student,ID,{column}\nAda,1001,\n".encode())
    term.call("--week", "1", "--canvas", "canvas.csv")
    assert term.rows("canvas.csv")[0][column] == "3.00"
    told = f"warning: canvas.csv: the marks of week 1 go into the column {column!r}\n"
    assert (told in capsys.readouterr().err) == (column in ("Quiz week 1 (79)", "Week 1 of 2"))


def test_variants_without_a_roster__are_told_to_follow_from_the_names_of_folders(term, capsys):
    term.put("course.toml", b"variants = true\n" + COURSE.encode())
    term.put("w1/s02/softmax.py", answer("03"))
    told = "variants = true without a --roster: the numbers follow from the names of folders"
    for options, is_told in (([], True), (["--roster", "people.csv"], False), ([], False)):
        term.call("w1", *options)
        assert (told in capsys.readouterr().err) == is_told


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--week", "1", "--canvas", "grades/canvas.csv"], "grades/canvas.csv is what this call"),
        (["--week", "1", "--moodle", "grades/./moodle.csv"], "grades/moodle.csv is what this call"),
        (["--against", "grades/../grades"], "--against grades/../grades: name a folder that an"),
    ],
)
def test_what_the_call_reads__is_not_what_it_writes(options, says, term, capsys):
    play(term)
    for name in ("canvas", "moodle"):
        term.put(f"grades/{name}.csv", b"Student,ID,Grade,Week 1,Week 2\nAda,1001,,7,8\n")
    before = bytes_of(term.out)
    with pytest.raises(SystemExit):
        term.call(*options)
    assert f"error: {says}" in capsys.readouterr().err
    assert bytes_of(term.out) == before


@pytest.mark.skipif(sys.platform == "darwin", reason="the names of its files are UTF-8")
def test_feedback__is_written_whatever_the_bytes_of_a_name(term):
    term.put("w1/m\udcfcllerann_123_456_softmax.py", answer("03"))
    term.call("w1", "--week", "1", "--feedback", "--anonymous")
    with zipfile.ZipFile(term.out / "feedback.zip") as archive:
        assert archive.namelist() == ["m\ufffdllerann_123_456_report.html"]
    assert len([*term.out.glob("anonymous/p-*/report.html")]) == 1


def test_a_late_file_a_regrade_and_a_correction__change_what_they_hold_and_are_listed(
    term, monkeypatch
):
    play(term)
    before = {row["student"]: row for row in term.rows()}
    term.put("late/s02_bert_adam.py", answer("11"))
    term.put("late/submitted.csv", b"name,time\ns02,2027-02-16T01:00:00+00:00\n")
    term.call("late", "--week", "5")
    # Two days, and the free one is used up: 20% of 4 off. The term: (2.7 + 2 + 3.2 + 0.5) / 20.
    assert term.changes() == [
        ("s02", "11_bert_adam", "0", "3.2"), ("s02", "week 5", "0", "3.2"),
        ("s02", "term of 6 weeks", "26", "42"),
    ]  # fmt: skip
    assert "file: s02_bert_adam.py" in term.rows("changes.csv")[0]["why"]
    for row in term.rows():
        assert row["student"] == "s02" or row == before[row["student"]]

    term.call("w5", "--week", "5")  # without the late file: what it holds stays
    assert len(term.changes()) == 3

    # The tests have changed: one check of 08_embeddings now fails for the only one who had it.
    monkeypatch.setattr(gradebook, "trusted_code", lambda: "other tests")
    term.spoilt = {"08_embeddings"}
    term.call("--regrade", "--why", "a check was wrong")
    own = [row for row in term.rows("changes.csv") if row["what"] == "08_embeddings"]
    assert [(row["student"], row["from"]) for row in own] == [("s04", "3")]
    assert own[0]["why"].startswith("the checks give 2.") and own[0]["why"].endswith(
        "; a check was wrong"
    )
    assert {row["student"] for row in term.rows("changes.csv")[3:]} == {"s04"}

    # Points by hand stay, whatever is graded again, and a mark is taken away by name alone.
    term.call("--remove", "s04/08_embeddings")
    assert term.changes()[-3][:2] == ("s04", "08_embeddings") and term.changes()[-3][3] == "0"
    assert term.weeks()["s01"] == WEEKS["s01"]


@pytest.mark.parametrize("name", ["s04/../../roster", "s04/..", "../s04", "s04/03", "x"])
def test_only_what_was_graded_is_removed__whatever_name_is_given(name, term, capsys):
    play(term)
    before = set(term.folder.rglob("*"))
    with pytest.raises(SystemExit):
        term.call("--remove", name)
    assert "holds no such grades" in capsys.readouterr().err
    assert set(term.folder.rglob("*")) == before


def test_a_removal_that_is_refused__has_removed_nothing(term, capsys):
    for name in ("ann", "ben"):
        term.put(f"w1/{name}/softmax.py", answer("03"))
    term.call("w1", "--week", "1")
    before = bytes_of(term.out)
    for names, says in (
        (["ben", "typo"], "--remove typo"),
        (["ann", "ben"], f"nobody is left in {term.out}: name submissions, or remove the folder"),
    ):
        with pytest.raises(SystemExit):
            term.call("--remove", *names)
        assert f"error: {says}" in capsys.readouterr().err and bytes_of(term.out) == before
    term.put("grades/adjust.csv", b"student,what,points\nann,03,1\nben,03,1\nzoe,03,1\n")
    with pytest.raises(SystemExit):
        term.call("--remove", "ben")
    assert "adjust.csv, line 4: nobody is called 'zoe'" in capsys.readouterr().err
    assert (term.out / "students" / "ben").is_dir()
    term.put("grades/adjust.csv", b"student,what,points\nann,03,1\nben,03,1\n")
    term.call("--remove", "ben", "ben/03_softmax", "ben")
    assert [(row["student"], row["03_softmax"]) for row in term.rows()] == [("ann", "4")]


def test_an_older_file_and_an_untouched_one__never_take_the_place_of_a_later_one(term):
    play(term)
    old = {row["student"]: row for row in term.rows()}
    term.put("again/s04/softmax.py", HALF)  # without a time; it was never graded: it is taken
    term.call("again", "--week", "1")
    assert term.weeks()["s04"][0] == 0
    term.call("w1", "--week", "1")  # what was replaced does not come back by itself
    assert term.weeks()["s04"][0] == 0
    assert "is older than that of s04, which stands" in term.rows()[3]["notes"]
    term.put("again/s04/softmax.py", find("03_softmax").starter.read_bytes())
    term.call("--remove", "s04/03_softmax")
    term.call("w1", "again", "--week", "1")
    assert term.weeks() == WEEKS
    assert {row["student"]: row["percent"] for row in term.rows()} == {
        name: row["percent"] for name, row in old.items()}  # fmt: skip


def test_feedback__has_a_folder_of_its_own_for_each_student(term):
    for name in ("ann.smith", "ann.jones"):
        term.put(f"w1/{name}/softmax.py", answer("03"))
    term.call("w1", "--week", "1", "--feedback")
    with zipfile.ZipFile(term.out / "feedback.zip") as archive:
        assert archive.namelist() == ["ann.jones/report.html", "ann.smith/report.html"]


def test_a_corrected_time__counts_in_a_regrade_and_else_the_first_one(term):
    term.put("w1/s02/softmax.py", answer("03"))
    for time, options, points in (
        ("2027-01-17T12:00Z", [], 3),
        ("2027-01-19T12:00Z", [], 3),  # the same file, handed in again
        ("2027-01-19T12:00Z", ["--regrade"], 2.7),  # one of two days is free
        ("2027-01-17T12:00Z", [], 3),
    ):
        term.put("w1/submitted.csv", f"name,time\ns02,{time}\n".encode())
        term.call("w1", "--week", "1", *options)
        assert float(term.rows()[0]["week 1"]) == points, time
    (term.folder / "w1" / "submitted.csv").unlink()
    term.call("w1", "--week", "1", "--regrade")
    assert float(term.rows()[0]["week 1"]) == 3


def test_one_file_in_two_attempts__is_as_late_as_the_first(term):
    for number in (1, 2):
        term.put(f"w1/s02_v{number}/softmax.py", answer("03"))
    term.put("w1/submitted.csv", b"name,time\ns02_v1,2027-01-17T12:00Z\ns02_v2,2027-01-19T12:00Z\n")
    term.call("w1", "--week", "1", "--roster", "people.csv")
    assert [(row["week 1"], row["late days"]) for row in term.rows()][1] == ("3", "0")


def test_a_removal__is_listed_each_time(term):
    for name in ("s01", "s02"):
        term.put(f"w1/{name}/softmax.py", answer("03"))
    for why in ("first", "second"):
        term.call("w1", "--week", "1")
        term.call("--remove", "s01", "--why", why)
    listed = [row["why"].rpartition(" ")[2] for row in term.rows("changes.csv")
              if row["what"] == "03_softmax"]  # fmt: skip
    assert listed == ["first", "second"]


def test_a_damaged_result__is_told_and_graded_again_from_the_submission(term, capsys):
    term.put("w1/s01/softmax.py", answer("03"))
    term.call("w1", "--week", "1")
    path = term.out / "students" / "s01" / "03_softmax.json"
    for text in ("", "[]", '{"file": 3}'):
        path.write_text(text)
        capsys.readouterr()
        term.call("--week", "1")
        assert f"warning: {path} is damaged" in capsys.readouterr().err
        assert term.rows()[0]["03_softmax"] == "0"
        term.call("w1", "--week", "1")
        assert term.rows()[0]["03_softmax"] == "3"


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("changes.csv", "student,what\n", "its first line must be student,what,from,to,why"),
        ("changes.csv", "", "its first line must be student,what,from,to,why"),
        ("marks.json", '{"students": 3}', "is damaged"),
        ("marks.json", '{"students": {"s01": 3}}', "is damaged (the marks of s01)"),
        ("marks.json", '{"students": {"s01": {"term": 3}}}', "is damaged (the marks of s01)"),
        ("students/s01/notes.json", '{"1": 3}', "is damaged"),
    ],
)
def test_a_damaged_record__is_told_in_a_line(name, text, says, term, capsys):
    term.put("w1/s01/softmax.py", answer("03"))
    term.call("w1", "--week", "1")
    term.put(f"grades/{name}", text.encode())
    capsys.readouterr()
    with pytest.raises(SystemExit):
        term.call("w1", "--week", "1")
    *_, told = capsys.readouterr().err.splitlines()
    assert told.startswith("error: ") and name in told and says in told


def test_a_damaged_result_of_an_earlier_year__is_told_in_a_line(term, capsys):
    term.put("w1/s01/softmax.py", answer("03"))
    term.put("old/students/x/03_softmax.json", b"{")
    term.call("w1", "--week", "1", "--against", "old")
    assert "warning: old/students/x/03_softmax.json is damaged" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[""], ["w1", "--week", ""], ["w1", "--roster", ""]])
def test_an_empty_argument__is_refused(arguments, term, capsys):
    term.put("w1/s01/softmax.py", answer("03"))
    with pytest.raises(SystemExit):
        term.call(*arguments)
    assert 'error: an argument is empty ("")' in capsys.readouterr().err
    assert not term.out.exists()


def test_points_by_hand_of_an_exercise_in_no_week__count_where_it_was_graded(term, capsys):
    term.put("w1/s01/softmax.py", answer("03"))
    term.put("w1/s01/gelu.py", answer("05"))
    term.put("course.toml", b"[week.1]\nexercises = ['03']\n")
    term.call("w1", "--week", "1")
    term.put("grades/adjust.csv", b"student,what,points\ns01,5,-1\n")
    with pytest.raises(SystemExit):
        term.call("w1", "--week", "1")
    assert "adjust.csv, line 2: 05_gelu is in no week of course.toml" in capsys.readouterr().err
    term.call("w1", "--exercises", "05")
    assert term.rows()[0]["05_gelu"] == "1"


def test_points_by_hand__are_added_also_before_anything_was_handed_in(term, capsys):
    term.put("w1/s01/softmax.py", answer("03"))
    term.call("w1", "--week", "1")
    term.put("grades/adjust.csv", b"student,what,points\ns01,05,2\n")
    term.call()
    [row] = term.rows()
    assert (row["05_gelu"], row["week 2"], row["percent"]) == ("2", "2", "100")
    assert "week 3" not in row
    shutil.rmtree(term.out)
    (term.folder / "course.toml").unlink()
    term.call("w1", "--exercises", "03")
    term.put("grades/adjust.csv", b"student,what,points\ns01,04,2\n")
    term.call()
    assert (term.rows()[0]["score"], term.rows()[0]["04_layer_norm"]) == ("5", "2")
    term.put("grades/adjust.csv", b"student,what,points\ns01,00,2\n")
    with pytest.raises(SystemExit):
        term.call()
    assert "adjust.csv, line 2: '00' is neither one exercise nor a part" in capsys.readouterr().err
    term.put("grades/adjust.csv", b"student,what,points\ns01,03,1,a, b\n")
    with pytest.raises(SystemExit):
        term.call()
    assert "adjust.csv, line 2: it has 5 cells, the first line 3" in capsys.readouterr().err


@contextmanager
def killed_after(number: int, writes: list[Path], monkeypatch):
    """Every file is written by `write_whole`: end the command after so many of them."""
    whole = files.write_whole

    @contextmanager
    def write_whole(path: Path):
        if len(writes) == number:
            raise SystemExit("killed")
        writes.append(path)
        with whole(path) as file:
            yield file

    with monkeypatch.context() as patch:
        patch.setattr(files, "write_whole", write_whole)
        yield


def bytes_of(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*"))
            if path.is_file() and path.name not in ("times.csv", ".lock")}  # fmt: skip


def test_a_kill__after_any_file_that_is_written_loses_no_mark_and_no_change(term, monkeypatch):
    play(term)
    term.put("late/s02_bert_adam.py", answer("11"))
    term.put("late/s05_softmax.py", answer("03"))
    shutil.copytree(term.out, term.folder / "before")
    writes: list[Path] = []
    with killed_after(-1, writes, monkeypatch):
        term.call("late")
    after = bytes_of(term.out)
    assert (
        len(writes) > 20
        and b"s05,03_softmax,0,3,file: s05_softmax.py; the checks give 3" in after["changes.csv"]
    )
    for number in range(len(writes)):
        shutil.rmtree(term.out)
        shutil.copytree(term.folder / "before", term.out)
        with killed_after(number, [], monkeypatch), pytest.raises(SystemExit, match="killed"):
            term.call("late")
        term.call("late")
        assert bytes_of(term.out) == after, writes[number]


def test_pages_without_names__are_under_pseudonyms_that_points_by_hand_may_use(term):
    play(term)
    term.call("--week", "6", "--anonymous")
    folder = term.out / "anonymous"
    assert (term.out / ".key").stat().st_mode & 0o077 == 0 and not (folder / ".key").exists()
    text = "".join(path.read_text("utf-8") for path in folder.rglob("*.html"))
    text += (folder / "gradebook.csv").read_text("utf-8")
    assert not any(word in text for word in ("s01", "Ada", "ones01", "s02", "Bea"))
    [own] = [path.parent for path in folder.glob("*/01_wordpiece.py")
             if path.read_bytes() == answer("01")]  # fmt: skip
    with open(term.out / "adjust.csv", "a", encoding="utf-8") as file:
        file.write(f"{own.name},report,-1,too long,\n")
    term.call("--week", "6", "--anonymous")
    assert own.is_dir() and term.weeks()["s01"][5] == 11
    assert ("s01", "report", "8", "7") in term.changes()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("s99,report,1,,", "line 2: nobody is called 's99'"),
        (
            "s01,essay,1,,",
            "'essay' is neither one exercise nor a part of course.toml, which has report",
        ),
        ("s01,01-02,1,,", "'01-02' is neither one exercise nor"),
        ("s01,report,many,,", "'many' is no number of points"),
        ("s01,,1,,", "there is no what in it"),
    ],
)
def test_a_mistake_in_adjust_csv__is_told_in_a_line_before_anything_is_graded(
    term, line, says, capsys
):
    term.put("w1/s01/softmax.py", answer("03"))
    term.put("w1/s02/softmax.py", answer("03"))
    (term.out / "students").mkdir(parents=True)
    for name in (".lock", "times.csv"):
        (term.out / name).touch()
    (term.out / "adjust.csv").write_text(f"student,what,points,comment,by\n{line}\n")
    with pytest.raises(SystemExit):
        term.call("w1")
    [told] = [line for line in capsys.readouterr().err.splitlines() if "adjust.csv" in line]
    assert told.startswith("error: adjust.csv, ") and says in told
    assert not list(term.out.glob("students/*/0*.json"))


def test_drop_lowest__a_week_that_counts_nothing_is_not_the_one_that_is_dropped():
    trial = WeekMark("0", points=0, best=1, weight=0)
    marks = Marks(weeks=[trial, *(WeekMark(str(n), n, best=4, weight=4) for n in (1, 2, 4))])
    drop_and_add_up(marks, 1)
    assert [week.name for week in marks.weeks if week.is_dropped] == ["1"]
    assert marks.percent == 75  # (2 + 4) / 8


def test_the_week_of_a_report__is_out_of_its_own_points(term):
    term.put("w2/s01/gelu.py", answer("05"))
    term.call("w2", "--exercises", "03,05")
    folder = term.out / "students" / "s01"
    report = json.loads((folder / "report.json").read_text("utf-8"))
    assert (report["score"], report["max_score"]) == (2, 5)
    results = json.loads((folder / "results.json").read_text("utf-8"))
    assert results["output"].startswith("2 of 5 points")
    assert sum(test["max_score"] for test in results["tests"]) == pytest.approx(5)


def test_a_class_that_was_taken_for_a_student__is_graded_in_the_call_that_removes_it(term, capsys):
    for name in ("ann", "bob"):
        term.put(f"week2/submissions/{name}/gelu.py", answer("05"))
    term.call("week2", "--week", "2")
    assert [row["student"] for row in term.rows()] == ["submissions"]
    assert "taken for a class whose only student is submissions" in capsys.readouterr().err
    (term.out / "students" / ".ipynb_checkpoints").mkdir()  # which is nobody
    term.call("week2/submissions", "--week", "2", "--remove=submissions")
    assert [(row["student"], row["week 2"]) for row in term.rows()] == [("ann", "2"), ("bob", "2")]


def test_without_its_course_toml__a_folder_of_grades_is_not_written_to(term, capsys, monkeypatch):
    monkeypatch.setattr(grader_course, "ROOT", term.folder)
    term.put("w1/s02/softmax.py", answer("03"))
    term.put("w1/submitted.csv", b"name,time\ns02,2027-01-19T12:00Z\n")
    term.call("w1", "--week", "1")
    before = {path: path.read_bytes() for path in term.out.rglob("*") if path.is_file()}
    (term.folder / "course.toml").rename(term.folder / "elsewhere.toml")
    for arguments in (["w1"], [], ["w1", "--roster", "people.csv"]):
        with pytest.raises(SystemExit):
            term.call(*arguments)
        assert capsys.readouterr().err.strip().splitlines()[-1] == (
            f"error: {term.out} was graded with a course.toml, and there is none here: call "
            "bert-grade in the folder of that course.toml")  # fmt: skip
        assert before == {path: path.read_bytes() for path in term.out.rglob("*") if path.is_file()}
    state = json.loads((term.out / "marks.json").read_text("utf-8"))
    assert state.pop("has_course")
    (term.out / "marks.json").write_text(json.dumps(state), "utf-8")
    term.call("w1")  # of an older version, which did not note it
    (term.folder / "elsewhere.toml").rename(term.folder / "course.toml")
    term.call("w1")
    assert term.rows()[0]["week 1"] == "2.7"


def test_a_file_that_came_at_an_unknown_time__keeps_it_until_a_regrade_as_the_call_says(
    term, capsys
):
    note = ("softmax.py was there before its time was known: the time of submitted.csv counts with "
            "--regrade")  # fmt: skip
    term.put("w1/s02/softmax.py", answer("03"))
    term.call("w1", "--week", "1")
    term.put("w1/submitted.csv", b"name,time\ns02,2027-01-19T12:00Z\n")
    for options, points in (([], "3"), (["--regrade"], "2.7"), ([], "2.7")):
        capsys.readouterr()
        term.call("w1", "--week", "1", *options)
        [row] = term.rows()
        assert (row["week 1"], row["notes"]) == (points, "")  # a student can do nothing about it
        assert (f"s02: {note}" in capsys.readouterr().err) == (points == "3")


def test_a_week_that_begins_because_somebody_handed_in_a_file_of_it__is_told(term, capsys):
    term.put("course.toml", COURSE.replace("drop_lowest = 1", "").encode())
    for name in ("s01", "s02"):
        term.put(f"w1/{name}/softmax.py", answer("03"))
    term.call("w1")
    assert "counts from now on" not in capsys.readouterr().err
    term.put("late/s01/softmax.py", answer("03"))
    term.put("late/s01/gelu.py", answer("05"))
    for _ in range(2):
        term.call("late")
        assert [row["percent"] for row in term.rows()] == ["100", "60"]
        assert [tuple(row.values()) for row in term.rows("changes.csv")] == [
            ("s02", "term of 1 weeks", "100", "60", "2 weeks count")]  # fmt: skip
    assert capsys.readouterr().err.count("week 2 counts from now on, for everybody: s01 has handed "
                                         "in a file of it") == 1  # fmt: skip
    term.call("--week", "4")  # which was named
    assert len(term.changes()) == 1
    assert "from now on" not in capsys.readouterr().err


def test_a_file_with_a_longer_name__does_not_replace_the_answer_of_an_earlier_call(term):
    term.put("w1/ones01_1001_5001_softmax.py", answer("03"))
    term.call("w1", "--roster", "people.csv")
    term.put("late/ones01_1001_5002_log_softmax.py", HALF)
    term.call("late")
    row = term.rows()[0]
    assert row["week 1"] == "3" and "5002_log_softmax.py is not read: softmax.py of" in row["notes"]


def test_a_call_without_exercises__counts_what_was_named_before_and_what_is_handed_in(term, capsys):
    (term.folder / "course.toml").unlink()
    for name in ("ann", "bob"):
        term.put(f"w/{name}/softmax.py", answer("03"))
    term.call("w", "--exercises", "03")
    term.put("late/ann/softmax.py", answer("03") + b"\n")
    term.call("late")
    assert {row["max_score"] for row in term.rows()} == {"3"}
    term.put("late/ann/gelu.py", answer("05"))
    term.call("late")
    assert {row["max_score"] for row in term.rows()} == {"5"}
    told = "05_gelu counts from now on, for everybody: ann has handed in a file of it"
    assert capsys.readouterr().err.count(told) == 1


def test_a_week_that_was_named_by_mistake__does_not_count_before_a_file_of_it_is_there(
    term, capsys
):
    term.put("w1/s02/softmax.py", answer("03"))
    term.call("w1", "--week", "1")
    term.call("w1", "--week", "4")
    assert "nobody has handed in a file of 09_masked_cross_entropy: that does not" in (
        capsys.readouterr().err)  # fmt: skip
    assert "week 4" not in term.rows()[0]
    term.put("w4/s02/masked_cross_entropy.py", answer("09"))
    term.call("w4", "--week", "4")
    assert term.rows()[0]["week 4"] == "4"


def test_the_weeks_that_the_first_call_counts__are_told(term, capsys):
    term.put("w/s01/softmax.py", answer("03"))
    term.put("w/s02/gelu.py", answer("05"))
    term.call("w")
    told = capsys.readouterr().err
    assert "week 1 counts from now on, for everybody: s01" in told and "week 2 counts" in told


@pytest.mark.parametrize("roster", [["--roster", "people.csv"], []])
def test_two_rows_of_one_student__get_no_mark_and_are_told(roster, term, capsys):
    term.put("w1/Ada One_1_assignsubmission_file_/softmax.py", answer("03"))
    term.call("w1", "--week", "1", *roster)
    term.put("sheet.csv", b"Identifier,Full name,ID number,Grade,Feedback comments\n"
             b"P1,Ada One,1001,,\nP2,Ada One,7002,,\n")  # fmt: skip
    term.call("--week", "1", "--moodle", "sheet.csv")
    assert [row["Grade"] for row in term.rows("moodle.csv")] == ["", ""]
    assert "sheet.csv: no marks for P1; P2: several rows are of one student" in (
        capsys.readouterr().err)  # fmt: skip


def test_a_file_without_a_time__is_not_older_than_one_with_a_time_and_is_told(term, capsys):
    term.put("w1/s01-1/softmax.py", HALF)
    term.put("w1/s01-2/softmax.py", answer("03"))
    term.put("w1/submitted.csv", b"name,time\ns01-1,2027-01-10T12:00Z\n")
    term.call("w1", "--week", "1", "--roster", "people.csv")
    assert term.rows()[0]["week 1"] == "3"
    assert "warning: submitted.csv has no time for 1 submissions (s01-2)" in capsys.readouterr().err


def test_late_in_a_name_from_canvas__is_a_day_also_where_the_week_has_no_date(term):
    term.put("course.toml", b"late_penalty = 10\n[week.2]\nexercises = ['05']\n")
    term.put("w/bergann_LATE_1001_501_gelu.py", answer("05"))
    term.put("w/leebo_1002_502_gelu.py", answer("05"))
    term.call("w", "--week", "2")
    assert [row["week 2"] for row in term.rows()] == ["1.8", "2"]


def test_the_folder_of_grades_among_the_students__is_nobody(term):
    for name in ("ann", "bob"):
        term.put(f"w/{name}/softmax.py", answer("03"))
    term.out = term.folder / "w" / "grades"
    for _ in range(2):
        paths = [str(path) for path in sorted((term.folder / "w").iterdir())]
        term.call(*paths, "--week", "1")
    assert [row["student"] for row in term.rows()] == ["ann", "bob"]


def test_a_name_in_other_letters__is_the_student_who_has_grades(term):
    for name in ("Anna", "Bob"):
        term.put(f"w/{name}/softmax.py", HALF)
    term.call("w", "--week", "1")
    term.put("late/anna/softmax.py", answer("03"))
    term.call("late/anna", "--week", "1")
    assert [(row["student"], row["week 1"]) for row in term.rows()] == [("Anna", "3"), ("Bob", "0")]


def test_a_look_at_the_grades__does_not_decide_what_counts(term):
    (term.folder / "course.toml").unlink()
    term.put("w/ann/softmax.py", answer("03"))
    term.put("w/ann/gelu.py", answer("05"))
    term.call("w", "--exercises", "03,05")
    state = json.loads((term.out / "marks.json").read_text("utf-8"))
    del state["counted"]  # as after a call that was stopped
    (term.out / "marks.json").write_text(json.dumps(state), "utf-8")
    term.call()
    term.call("w", "--exercises", "03,05")
    assert term.rows()[0]["max_score"] == "5"


def test_the_page_names_the_weakest_sandbox_that_a_file_was_graded_in(term, monkeypatch):
    for name in ("ann", "bob"):
        term.put(f"w/{name}/softmax.py", answer("03"))
    said = []
    for kind, arguments in (("none", ["w", "--week", "1"]), ("bwrap", ["w2", "--week", "2"]),
                            ("bwrap", ["--regrade"])):  # fmt: skip
        monkeypatch.setattr(command, "choose",
                            lambda *_, kind=kind: Sandbox(kind, term.folder, ()))  # fmt: skip
        term.put("w2/ann/gelu.py", answer("05"))
        term.put("w2/bob/gelu.py", answer("05"))
        term.call(*arguments)
        said.append(
            "whoever looks gets full marks" in (term.out / "summary.html").read_text("utf-8")
        )
    assert said == [True, True, False]


def test_a_given_name_in_a_folders_name__is_nobodys_login(term):
    for name in ("lee_bo", "fox_cy"):
        term.put(f"w/{name}/softmax.py", answer("03"))
    term.call("w", "--week", "1")
    term.put("canvas.csv", b'Student,ID,SIS Login ID,Week 1 (5)\n"Lee, Bo",91,blee,\n'
             b'"Zeta, Bo",92,bo,\n"Fox, Cy",93,cfox,\n')  # fmt: skip
    term.call("--week", "1", "--canvas", "canvas.csv")
    assert [row["Week 1 (5)"] for row in term.rows("canvas.csv")] == ["3.00", "", "3.00"]


@pytest.mark.parametrize("name", ["hw.rar", "hw.tar.gz", "hw.7Z"])
def test_an_archive_that_is_no_zip__is_noted(name, term):
    term.put("w/ann/gelu.py", answer("05"))
    term.put(f"w/ann/{name}", b"packed")
    term.put("w/bob/gelu.py", answer("05"))
    term.call("w", "--week", "2")
    assert f"{name} is not read: hand in a zip" in term.rows()[0]["notes"]


def test_feedback__is_there_also_for_who_handed_in_what_cannot_be_read(term):
    term.put("w/ann.zip", b"no zip")
    term.put("w/bob/softmax.py", answer("03"))
    term.call("w", "--week", "1", "--feedback")
    with zipfile.ZipFile(term.out / "feedback.zip") as pages:
        assert sorted(pages.namelist()) == ["ann/report.html", "bob/report.html"]


def test_a_mark_that_stood_in_canvas_and_is_replaced__is_told(term, capsys):
    term.put("w1/s01/softmax.py", answer("03"))
    term.call("w1", "--week", "1", "--roster", "people.csv")
    term.put("canvas.csv", b"Student,ID,Week 1 (5)\nAda,1001,3.0\nBea,1002,1.5\nCy,1003,\n")
    capsys.readouterr()
    term.call("--week", "1", "--canvas", "canvas.csv")
    assert "warning: canvas.csv: other marks stood there: Bea (1.5 → 0.00)\n" in (
        capsys.readouterr().err)  # fmt: skip
