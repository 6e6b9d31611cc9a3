"""`course.toml`, `roster.csv`, and whose work a file is: what is read, and what is refused."""

import re
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

import pytest

from autograder.course import (
    FIELDS,
    OF_WEEK,
    PLANS,
    Course,
    chosen,
    find_course,
    parse_exercises,
    plan,
    read_course,
    tomllib,
    write_course,
)
from autograder.points import CATALOGUE, ROOT, find
from autograder.untrusted.grade import Call, GradeSettings, main
from autograder.untrusted.sandbox import Sandbox
from bert_run.errors import UserError

WEEK = "[week.1]\nexercises = ['03']\n"


def course_of(tmp_path: Path, text: str):
    (tmp_path / "course.toml").write_text(text, encoding="utf-8")
    return read_course(tmp_path / "course.toml")


def test_a_course__has_its_weeks_in_the_order_of_the_file(tmp_path):
    course = course_of(tmp_path, "late_days = 3\nseed = 5\n" + WEEK + "due = 2027-01-17\n"
                       "[week.11-12]\nexercises = ['25', '01-02']\n"
                       "parts = {report = 7.5}\nweight = 0.5\n")  # fmt: skip
    assert [week.name for week in course.weeks] == ["1", "11-12"] and course.seed == 5
    first, last = course.weeks
    assert [e.name for e in last.exercises] == ["01_wordpiece", "02_sentence_pairs", "25_capstone"]
    assert last.best == 4 + 4 + 5 + 7.5 and last.weight == 0.5
    assert first.due.replace(tzinfo=None) == datetime(2027, 1, 17, 23, 59, 59) and first.due.tzinfo
    assert course.week("01") is first and course.week("11-12") is last


def test_a_course__may_begin_with_a_byte_order_mark(tmp_path):
    assert course_of(tmp_path, "\ufeffseed = 5\n" + WEEK).seed == 5


def test_grading__takes_its_seed_and_variants_from_the_course(tmp_path):
    course = course_of(tmp_path, "seed = 5\n" + WEEK)
    settings = GradeSettings(submissions=(tmp_path,), out=tmp_path / "grades")
    call = Call(settings, course, None, None, [], [])
    softmax = find("03_softmax")
    alone = replace(call, course=Course())
    sandbox = Sandbox("none", tmp_path, ())
    varied = replace(call, course=replace(course, variants=True))
    assert call.job("s01", softmax, b"", sandbox).variant == 0
    assert alone.job("s01", softmax, b"", sandbox).exercise is softmax
    assert len({varied.job(name, softmax, b"", sandbox).variant for name in ("s01", "s02")}) == 2
    assert len({each.job("s01", softmax, b"", sandbox).key for each in (call, alone, varied)}) == 3


def test_the_page_of_the_grader_shows_a_course_with_every_field(tmp_path):
    page = (ROOT / "exercises/autograder/README.md").read_text("utf-8")
    example = page.split("```toml\n")[1].split("```")[0]
    found = course_of(tmp_path, example)
    fields = {line.split(" = ")[0] for line in example.splitlines() if " = " in line}
    assert fields == {*FIELDS, *OF_WEEK} and found.week("1").best == 32


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("late = 3", "course.toml: late is no field: was late_days meant?"),
        ("late_days = -1", "late_days is -1: it must be a whole number from 0 to 365"),
        ("late_days = 1.5", "late_days is 1.5"),
        ("late_penalty = 101", "late_penalty is 101: it must be a number from 0 to 100"),
        ("drop_lowest = true", "drop_lowest is True"),
        ("drop_lowest = 1", "drop_lowest is 1, and there are only 1 weeks"),
        ("seed = 'x'", "seed is 'x'"),
        ("[week.2]\nexercises = ['03']", "03_softmax is in week 1 and in week 2"),
        (
            "parts = {report = 20}\n[week.2]\nparts = {report = 20}",
            "report is in week 1 and in week 2: give the part another name",
        ),
        ("[week.2]\nexercises = ['30']", "week 2: exercises: '30' is no exercise"),
        ("[week.2]\nexercises = ['05-03']", "'05-03' is no exercise"),
        ("[week.2]\nexercises = '03'", "week 2: exercises is '03': write exercises = ["),
        ("[week.2]\nexercises = ['softmax']", "'softmax' is no exercise"),
        ("[week.2]\nexercise = ['04']", "week 2: exercise is no field: was exercises meant?"),
        ("[week.2]\nexercises = []", "week 2 has neither exercises nor parts"),
        (
            "[week.2]\nexercises = ['04']\ndue = '17.1.2027'",
            "due is '17.1.2027': write due = 2027-01-17",
        ),
        (
            "[week.2]\nexercises = ['04']\ndue = 10:00:00",
            "week 2: due is datetime.time(10, 0): write due = ",
        ),
        ("[week.2]\nexercises = ['04']\nweight = -2", "week 2: weight is -2"),
        ("[week.2]\nexercises = ['04']\nweight = nan", "week 2: weight is nan"),
        ("[week.2]\nexercises = ['04']\ntitle = 3", "week 2: title is 3"),
        (
            "[week.2]\nparts = {report = 'x'}",
            "week 2: parts is {'report': 'x'}: write parts = { report = 20 }",
        ),
        ("[week.2]\nparts = 3", "parts is 3: write parts"),
        ("[week.2]\nparts = {03_softmax = 3}", "has the name of something else"),
        ("[week]\n2 = 3", "week 2 is 3"),
        ("late_days = ", "is not TOML"),
    ],
)
def test_a_mistake_in_a_course__is_told_in_one_line(tmp_path, text, says):
    first, second = (WEEK, text) if text.startswith(("[week.", "parts")) else (text + "\n", WEEK)
    if text.startswith("[week]"):
        first, second = text, ""
    with pytest.raises(UserError) as caught:
        course_of(tmp_path, first + second)
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_a_course_without_weeks_or_file__is_told_what_to_write(tmp_path, monkeypatch):
    with pytest.raises(UserError, match="no week is in it"):
        course_of(tmp_path, "seed = 1")
    monkeypatch.chdir(tmp_path / "..")
    assert find_course() == Course()
    with pytest.raises(UserError, match="there is no course"):
        chosen(Course(), "3", None)
    with pytest.raises(UserError, match="take one"):
        chosen(Course(), "3", "03")
    with pytest.raises(UserError, match="has none of that name, only 1"):
        chosen(course_of(tmp_path, WEEK), "9", None)


def test_exercises__are_named_by_numbers_spans_and_names():
    names = [e.name[:2] for e in parse_exercises(["3, 05-07", "10_mlm_masking"], "x")]
    assert names == ["03", "05", "06", "07", "10"]


@pytest.mark.parametrize("weeks", [6, 10, 12, 15])
def test_init__writes_the_plan_of_so_many_weeks(tmp_path, weeks):
    path = tmp_path / "course.toml"
    write_course(path, weeks, date(2027, 1, 11))
    course = read_course(path)
    assert int(course.weeks[-1].name.split("-")[-1]) == weeks and course.seed
    assert course.weeks[0].due.date() == date(2027, 1, 17)
    found = [e for week in course.weeks for e in week.exercises]
    assert len(found) == len(set(found)) and (weeks == 6 or set(found) == set(CATALOGUE))
    for year in (1, 9999):  # with a time zone or some weeks more it would be no date at all
        with pytest.raises(UserError, match=f"--start is 0*{year}-12-31: it must be a day"):
            write_course(tmp_path / "odd.toml", weeks, date(year, 12, 31))
    with pytest.raises(UserError, match="is there already"):
        write_course(path, weeks, None)
    write_course(tmp_path / "other.toml", weeks, None)
    assert all(week.due is None for week in read_course(tmp_path / "other.toml").weeks)


def test_the_plans__are_those_of_the_page():
    text = (ROOT / "TEACHING.md").read_text("utf-8").replace("–", "-")
    rows = re.findall(r"(?m)^\| ([\d-]+) \| [^|]+ \| ([\d\-, ]+) \| [\d.]+ ", text)
    assert {name: exercises.split(", ") for name, exercises in rows} == plan(12)
    others = re.findall(r"(?m)^\| (\d+) weeks \| ([^|]+) \|", text)
    assert {int(weeks): listed for weeks, listed in others} | {12: PLANS[12]} == PLANS
    assert tomllib.loads("a = 1") == {"a": 1}


@pytest.mark.parametrize("start", ["2027-13-01", "tomorrow", "2027-02-29"])
def test_a_day_that_there_is_not__is_told_in_a_line(start, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["bert-grade", "init", "--weeks", "12", "--start", start])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main()
    told = f"error: --start {start}: no such day: write 2027-01-11\n"
    assert capsys.readouterr().err == told and not list(tmp_path.iterdir())
