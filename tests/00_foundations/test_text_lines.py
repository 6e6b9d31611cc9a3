"""One reader of lines for files and standard input: what `wc -l` counts, and UTF-8 alone."""

import gzip
import io
import lzma
import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from bert_corpus.store import open_corpus
from bert_run import files
from bert_run.errors import UserError
from bert_run.files import text_lines


@pytest.fixture(params=["file", "standard input"])
def lines(request, tmp_path, monkeypatch):
    """A function from bytes to numbered lines, read from a file and from standard input."""

    def read(content: bytes) -> list[tuple[int, str]]:
        path = tmp_path / "texts.txt"
        path.write_bytes(content)
        if request.param == "file":
            return list(text_lines(path))
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
        return list(text_lines(None))

    return read


def test_a_line_ends_at_a_newline_and_at_no_other_character(lines):
    odd = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg"
    assert lines(f"{odd}\nsecond\n".encode()) == [(1, odd), (2, "second")]


def test_empty_lines_are_kept_so_that_numbers_agree_with_the_file(lines):
    assert lines(b"a\n\n b \n") == [(1, "a"), (2, ""), (3, " b ")]


def test_a_last_line_without_its_end_is_a_line_and_no_text_has_none(lines):
    assert lines(b"a\nb") == [(1, "a"), (2, "b")]
    assert lines(b"") == []


def test_windows_line_ends_go_and_a_carriage_return_inside_stays(lines):
    assert lines(b"a\r\nb\rc\r\r\n") == [(1, "a"), (2, "b\rc\r")]


def test_a_byte_order_mark_is_no_part_of_the_first_line(lines):
    assert lines("\ufeff{}\n\ufeffx\n".encode()) == [(1, "{}"), (2, "\ufeffx")]


@pytest.mark.parametrize("content, says", [
    ("a text\n".encode("utf-16"), "UTF-16 text, not UTF-8"),
    ("漢字\n".encode("utf-16"), "UTF-16 text, not UTF-8"),
    ("a text\n".encode("utf-16-le"), "line 1 holds NUL bytes"),
    ("good\nSm\u00f8rrebr\u00f8d\n".encode("latin-1"), "line 2, byte 3 of the line (0xf8)"),
    (b"one\rtwo\rthree\r", "carriage returns alone"),
])  # fmt: skip
def test_another_encoding_is_refused_with_its_place_from_a_file_and_from_standard_input(
    lines, content, says
):
    with pytest.raises(UserError) as refused:
        lines(content)
    assert says in str(refused.value) and "\n" not in str(refused.value)


def test_a_corpus_refuses_the_same_bytes_in_the_same_words(tmp_path):
    for content in ("a\n".encode("utf-16"), b"a\0\n", b"ok\n\xff\n", b"one\rtwo\r"):
        path = tmp_path / "texts.txt"
        path.write_bytes(content)
        with pytest.raises(UserError) as here:
            list(text_lines(path))
        with pytest.raises(UserError) as there:
            list(open_corpus(str(path)))
        assert str(here.value) == str(there.value)


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_a_packed_file_has_the_lines_of_the_plain_one(tmp_path, ending, pack):
    path = tmp_path / f"texts.txt{ending}"
    path.write_bytes(pack("é\n\nb".encode()))
    assert list(text_lines(path)) == [(1, "é"), (2, ""), (3, "b")]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(UserError, match="damaged archive"):
        list(text_lines(path))


def test_a_pipe_is_read_as_it_arrives(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=Path.write_bytes, args=(pipe, b"a\nb\n"))
    writer.start()
    assert list(text_lines(pipe)) == [(1, "a"), (2, "b")]
    writer.join()


def test_a_closed_standard_input_holds_no_lines(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert list(text_lines(None)) == []


def test_a_line_without_an_end_is_refused_in_bounded_memory(lines, monkeypatch):
    monkeypatch.setattr(files, "LONGEST_LINE", 8)
    assert lines(b"a\n1234567\n") == [(1, "a"), (2, "1234567")]
    with pytest.raises(UserError, match=r"line 2 is longer than .*: put one text on each line"):
        lines(b"a\n12345678\n")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no /dev/zero")
def test_dev_zero_is_refused(monkeypatch):
    with open("/dev/zero", "rb") as endless:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=endless))
        with pytest.raises(UserError, match="line 1 holds NUL bytes"):
            list(text_lines(None))
