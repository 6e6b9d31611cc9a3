"""Zips from strangers: what is safe is read, what is not is refused whole, in one line."""

import io
import os
import stat
import zipfile
from pathlib import Path

import pytest

from autograder.points import find
from autograder.untrusted import submissions
from autograder.untrusted.roster import Person, read_label
from autograder.untrusted.submissions import Refused, gather, name_of, read_files, words_before
from bert_run.errors import UserError

ANSWER = b"def softmax_forward(x, axis=-1): return x\n"
PLACE = "03_softmax/softmax.py"


def read(path: Path) -> dict[str, bytes]:
    return read_files(path, lambda place: place.name == "softmax.py")


def make_zip(path: Path, members: dict[str, bytes], **more) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, **more) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("name", ["../softmax.py", "/etc/softmax.py", "a/../../softmax.py",
                                  "..\\softmax.py", "C:\\softmax.py", "\\softmax.py"])  # fmt: skip
def test_a_path_out_of_the_zip_is_refused(tmp_path, name):
    with pytest.raises(Refused, match="outside of the zip's own folder"):
        read(make_zip(tmp_path / "a.zip", {PLACE: ANSWER, name: b"x"}))


def test_a_link_in_a_zip_is_refused(tmp_path):
    info = zipfile.ZipInfo(PLACE)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(Refused, match="is a link"):
        read(tmp_path / "a.zip")


def test_bombs_are_refused_before_they_go_off(tmp_path):
    huge = make_zip(tmp_path / "a.zip", {"zeros": bytes(30 << 20)})
    with pytest.raises(Refused, match="unpacks to 30 MB"):
        read(huge)
    with pytest.raises(Refused, match="larger than 256 KB"):
        read(make_zip(tmp_path / "c.zip", {PLACE: os.urandom(300_000)}))


def test_too_many_too_deep_and_too_large_are_refused(tmp_path, monkeypatch):
    many = {f"{i}.txt": b"" for i in range(submissions.MOST_FILES + 1)}
    with pytest.raises(Refused, match=f"more than {submissions.MOST_FILES} files"):
        read(make_zip(tmp_path / "a.zip", many))
    with pytest.raises(Refused, match="more than 12 deep"):
        read(make_zip(tmp_path / "b.zip", {"d/" * 13 + "softmax.py": ANSWER}))
    monkeypatch.setattr(submissions, "LARGEST_ZIP", 100)
    with pytest.raises(Refused, match=r"c\.zip is larger than"):
        read(make_zip(tmp_path / "c.zip", {PLACE: ANSWER}))


def test_the_same_name_twice_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive, pytest.warns(UserWarning):
        archive.writestr(PLACE, ANSWER)
        archive.writestr(PLACE, b"another")
    with pytest.raises(Refused, match="is there twice"):
        read(tmp_path / "a.zip")


def broken_zips() -> dict[str, bytes]:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(PLACE, ANSWER)
    good = stream.getvalue()
    locked = bytearray(good)
    at = locked.find(b"PK\x01\x02")
    locked[at + 8] |= 1  # says that it is encrypted
    locked[6] |= 1
    return {
        "cut.zip": good[:-30],
        "changed.zip": good.replace(b"return x", b"return y"),
        "locked.zip": bytes(locked),
        "empty.zip": b"",
        "text.zip": b"hello" * 1000,
    }


@pytest.mark.parametrize("name", broken_zips())
def test_a_broken_zip_is_refused_in_one_line(tmp_path, name):
    (tmp_path / name).write_bytes(broken_zips()[name])
    with pytest.raises(Refused) as caught:
        read(tmp_path / name)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 200


def test_names_of_any_encoding_neither_break_nor_reach_the_terminal(tmp_path):
    path = make_zip(tmp_path / "a.zip", {"\xe4\u0416.txt": b"", "\x1b[2J/../evil": b""})
    with pytest.raises(Refused, match=r"^\?\[2J/\.\./evil lies outside"):
        read(path)


def write(path: Path, content: bytes = ANSWER) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_a_class_is_a_folder_of_folders_and_zips(tmp_path):
    write(tmp_path / "ann" / PLACE)
    write(tmp_path / "bob" / "my work" / "softmax.py")
    make_zip(tmp_path / "Cy Lee.zip", {f"homework/exercises/{PLACE}": ANSWER})
    write(tmp_path / "dan.tar.gz")
    make_zip(write(tmp_path / "eve" / "work.zip"), {PLACE: ANSWER})
    write(tmp_path / "fay.rar")
    write(tmp_path / "readme.txt")
    write(tmp_path / "out" / "students" / "x" / PLACE)
    found, passed_over = gather([tmp_path], but=tmp_path / "out")
    assert [one.student for one in found] == ["Cy Lee", "ann", "bob", "eve"]
    assert all(one.files == {"03_softmax": ANSWER} for one in found)
    assert [line.split("/")[1].split(":")[0] for line in passed_over] == [
        "dan.tar.gz", "fay.rar", "readme.txt"]  # fmt: skip


def test_one_student_is_a_folder_or_a_zip(tmp_path):
    write(tmp_path / "ann" / "exercises" / PLACE)
    found, _ = gather([tmp_path / "ann", make_zip(tmp_path / "bob.zip", {PLACE: ANSWER})])
    assert [one.student for one in found] == ["ann", "bob"]


def test_a_folder_named_for_somebody_who_has_grades__is_theirs_whatever_is_in_it(tmp_path):
    """A student must not be able to hand in for another by folders of their own."""
    out = tmp_path / "grades"
    (out / "students" / "Ann").mkdir(parents=True)
    write(tmp_path / "late" / "ann" / "week2" / PLACE)
    write(tmp_path / "late" / "ann" / "bob" / "softmax.py", b"wrong")
    [found], _ = gather([tmp_path / "late" / "ann"], but=out)
    assert found.student == "Ann" and found.files == {"03_softmax": ANSWER}
    whole, _ = gather([tmp_path / "late" / "ann"])
    assert [one.student for one in whole] == ["bob", "week2"]  # nobody is known: a class


def test_a_class_in_which_a_loose_file_lies__is_not_taken_for_one_student(tmp_path):
    for number, names in enumerate((
        ("ann/softmax.py", "bob/softmax.py", "softmax.py"),
        ("ann.zip", "bob.ZIP", "softmax.py"),
        ("ann.zip", "bob/gelu.py", "softmax.py"),
        ("ann/softmax.py", "bob/softmax.py", "03_softmax/README.md"),
        (f"ann/{PLACE}", f"bob/{PLACE}", "05_gelu/gelu.py"),
    )):  # fmt: skip
        for name in names:
            write(tmp_path / f"class{number}" / name)
        with pytest.raises(UserError, match=r"beside it ann\S* and bob\S*: is it a class or"):
            gather([tmp_path / f"class{number}"])


def test_the_whole_course_with_a_zip_and_an_older_file__is_one_students(tmp_path):
    for name in (PLACE, f"exercises/{PLACE}", f"solutions/{PLACE}", "old/softmax.py", "softmax.py"):
        write(tmp_path / "ann" / name)
    make_zip(tmp_path / "ann" / "work.zip", {"gelu.py": ANSWER})
    (tmp_path / "ann" / "old").rename(tmp_path / "ann" / ".old")
    write(tmp_path / "ann" / "._work.zip")
    [one], _ = gather([tmp_path / "ann"])
    assert one.student == "ann" and one.files.keys() == {"03_softmax", "05_gelu"}


def test_the_file_in_its_own_folder_is_the_one_and_others_are_told(tmp_path):
    write(tmp_path / "ann" / "old" / "softmax.py", b"old")
    write(tmp_path / "ann" / "deep" / "deeper" / PLACE)
    write(tmp_path / "ann" / "deep" / "a" / "deeper" / PLACE, b"deeper")
    [one], _ = gather([tmp_path])
    assert one.files["03_softmax"] == ANSWER
    assert "is there 3 times: graded is deep/deeper/03_softmax/softmax.py, and" in one.notes[0]


def test_links_of_a_folder_are_not_followed(tmp_path):
    secret = write(tmp_path / "secret" / "softmax.py", b"another student's")
    (tmp_path / "class" / "ann" / "03_softmax").mkdir(parents=True)
    (tmp_path / "class" / "ann" / PLACE).symlink_to(secret)
    (tmp_path / "class" / "ann" / "05_gelu").symlink_to(secret.parent)
    (tmp_path / "class" / "bob").symlink_to(secret.parent)
    found, passed_over = gather([tmp_path / "class"])
    assert [(one.student, one.files) for one in found] == [("ann", {})]
    assert "no file of an exercise" in found[0].notes[0] and "bob" in passed_over[0]


def test_a_link_to_a_zip_in_a_students_folder_is_not_followed(tmp_path):
    other = make_zip(tmp_path / "other.zip", {PLACE: ANSWER})
    (tmp_path / "class" / "eve").mkdir(parents=True)
    (tmp_path / "class" / "eve" / "work.zip").symlink_to(other)
    (found,), _ = gather([tmp_path / "class"])
    assert found.files == {} and "no file of an exercise" in found.notes[0]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_with_the_name_of_a_zip_is_refused_and_never_waited_for(tmp_path):
    (tmp_path / "class").mkdir()
    os.mkfifo(tmp_path / "class" / "eve.zip")
    (found,), _ = gather([tmp_path / "class"])
    assert found.files == {} and "no plain file" in found.notes[0]


def test_names_are_safe_and_nobody_loses_theirs(tmp_path):
    for name in ("ann", "Ann", "-rf", "=1+1", "a;b|c", "é"):
        write(tmp_path / name / PLACE)
    make_zip(tmp_path / "ann.zip", {PLACE: ANSWER})
    found, passed_over = gather([tmp_path])
    assert [one.student for one in found] == ["-rf", "=1+1", "Ann", "a_b_c", "é"]
    for name in ("ann", "ann.zip"):
        assert any(f"{name}: another submission is called ann too" in each for each in passed_over)
    assert name_of(Path("..")) not in ("", ".", "..")


def test_nothing_to_grade_is_told_in_a_line(tmp_path):
    with pytest.raises(UserError, match="no submission in it"):
        gather([tmp_path])
    with pytest.raises(UserError, match="does not exist"):
        gather([tmp_path / "nowhere"])


@pytest.mark.parametrize("digits", [28, 60, 230])
def test_a_name_with_many_numbers_is_looked_at_once(digits):
    assert submissions.named(f"softmax{'1' * digits}x.py") is None
    assert submissions.named(f"softmax{'1' * digits}_v2.py").file == "softmax.py"


def test_reading_has_a_limit_of_time(tmp_path, monkeypatch):
    """As for an archive of a million empty parts."""

    def endless(*args):
        while True:
            pass

    make_zip(tmp_path / "ann.zip", {PLACE: ANSWER})
    monkeypatch.setattr(submissions, "READING", 0.2)
    monkeypatch.setattr(submissions, "read_file", endless)
    [ann], _ = gather([tmp_path / "ann.zip"])
    assert ann.notes == ["refused: reading it takes more than 0.2 seconds"] and not ann.files


def test_a_pipe_in_the_place_of_a_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "annlee_71_81_softmax.py")
    [ann], _ = gather([tmp_path])
    assert ann.notes == ["refused: it is no plain file"]


def test_a_name_fits_into_a_folders_whatever_its_letters(tmp_path):
    (tmp_path / ("\ufa6c" * 80)).mkdir()  # a letter that has more bytes once it is normalized
    name = name_of(tmp_path / ("\ufa6c" * 80))
    assert 150 < len(name.encode()) <= 200


# Of several files the one that was meant counts.

STARTER = find("03_softmax").starter.read_bytes()


def place_all(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize(
    "files",
    [
        {"anna/exercises/03_softmax/softmax.py": STARTER,
         "anna/exercises/03_softmax/softmax_final.py": ANSWER},
        {"anna/exercises/03_softmax/softmax.py": STARTER, "anna/work/softmax.py": ANSWER},
        {"anna/solutions/03_softmax/softmax.py": b"the course's", "anna/work/softmax.py": ANSWER},
    ],
)  # fmt: skip
def test_an_answer_counts_before_the_starter_and_the_solution_beside_it(tmp_path, files):
    one = gather([place_all(tmp_path, files | {"ben/softmax.py": ANSWER})])[0][0]
    assert one.files == {"03_softmax": ANSWER}


def test_a_starter_in_a_second_piece_does_not_replace_an_answer(tmp_path):
    archive = make_zip(tmp_path / "berg_1001_502_hw.zip", {PLACE: STARTER})
    place_all(tmp_path, {"berg_1001_501_softmax.py": ANSWER, "lee_1002_503_softmax.py": ANSWER})
    assert archive.exists() and [one.files for one in gather([tmp_path])[0]] == [
        {"03_softmax": ANSWER}, {"03_softmax": ANSWER}]  # fmt: skip


@pytest.mark.parametrize("other", ["502_log_softmax.py", "502_old_softmax.py", "490_my_softmax.py"])
def test_the_name_with_nothing_before_it_counts_whatever_came_last(tmp_path, other):
    place_all(tmp_path, {"berg_1001_501_softmax.py": ANSWER, f"berg_1001_{other}": b"old = 1",
                         "lee_1002_503_softmax.py": ANSWER})  # fmt: skip
    berg = gather([tmp_path])[0][0]
    assert berg.files == {"03_softmax": ANSWER}
    assert berg.notes[-1].endswith(f"berg_1001_501_softmax.py, and not berg_1001_{other}")


def test_a_students_own_name_before_a_file_makes_it_no_less_sure():
    anna = Person("s01", "Anna Berg", ("x9",))
    for name in ("softmax.py", "s01_softmax.py", "Berg_Anna softmax.py", "03_softmax.py",
                 "berg_1001_501_softmax-1.py", "s01.zip", "s01"):  # fmt: skip
        assert words_before(name, anna) == 0, name
    assert words_before("s01_log_softmax.py", anna) == 1
    assert words_before("s02_softmax.py", anna) == 1 == words_before("s01_softmax.py", None)


def test_folders_named_for_a_week_and_a_student_are_of_several_students(tmp_path):
    place_all(tmp_path, {f"week_{week}_{who}/softmax.py": who.encode()
                         for who in ("anna", "bob") for week in (11, 12)})  # fmt: skip
    make_zip(tmp_path / "hw_2027_01_cleo.zip", {PLACE: ANSWER})
    found = [one.student for one in gather([tmp_path])[0]]
    assert found == ["hw_2027_01_cleo", "week_11_anna", "week_11_bob", "week_12_anna",
                     "week_12_bob"]  # fmt: skip


def test_the_number_of_an_attempt_is_found_after_a_name_with_a_dot():
    names = ("anna.berg.zip", "anna.berg (1).zip", "anna.berg-2.zip", "anna.berg (3)", "softmax.py",
             "anna 2027-01-31")  # fmt: skip
    assert [read_label(name).attempt[1:] for name in names] == [
        (0, 0), (0, 1), (2, 0), (0, 3), (0, 0), (0, 0)]  # fmt: skip


@pytest.mark.parametrize("name", ["berg_anna_softmax.py", "ex03_softmax.py", "week2_softmax.py"])
def test_a_file_in_a_folder_with_words_before_its_name_is_noted(tmp_path, name):
    place_all(tmp_path, {f"anna/{name}": ANSWER, "anna/gelu.py": ANSWER, "bob/softmax.py": ANSWER})
    anna = gather([tmp_path])[0][0]
    assert anna.notes == [f"{name} is not read: is it softmax.py?"]
