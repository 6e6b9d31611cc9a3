"""A corpus is known by its content; what lies beside its text is said; odd files are one line."""

import os
import sys

import pytest

from bert_corpus import pretraining_run as runs
from bert_corpus.documents import find_text_files, open_corpus
from bert_corpus.pretraining_run import (
    find_change,
    read_sources,
    refuse_changes,
    same_corpus,
    save_sources,
)
from bert_run.errors import UserError

TEXT = "\n\n".join(f"Document {i} is here.\nIt has a second line." for i in range(30))


@pytest.fixture
def folder(tmp_path):
    """A corpus of two files in a folder."""
    corpus = tmp_path / "texts"
    (corpus / "below").mkdir(parents=True)
    (corpus / "a.txt").write_text(TEXT)
    (corpus / "below" / "b.txt").write_text(TEXT.replace("Document", "Another"))
    return corpus


def recorded(corpus):
    return open_corpus(str(corpus), progress=False).files


def test_a_corpus_is_the_same_under_any_name_and_at_any_time(folder, tmp_path, monkeypatch):
    first = open_corpus(str(folder)).fingerprint
    os.utime(folder / "a.txt", (1, 1))
    monkeypatch.chdir(tmp_path)
    assert open_corpus("texts").fingerprint == open_corpus("./texts/").fingerprint == first
    folder.rename(tmp_path / "moved")
    assert open_corpus("moved").fingerprint == first


def test_an_edit_that_keeps_size_and_number_of_files_changes_the_fingerprint(folder):
    first = open_corpus(str(folder)).fingerprint
    (folder / "a.txt").write_text(TEXT.replace("here", "Here"))
    assert open_corpus(str(folder)).fingerprint != first


CHANGES = {
    "edited": (lambda f: (f / "a.txt").write_text(TEXT.replace("h", "H")), "a.txt has other conte"),
    "emptied": (lambda f: (f / "a.txt").write_text(""), r"a\.txt has 0 bytes, 1,3\d\d were read"),
    "removed": (lambda f: (f / "a.txt").unlink(), r"a\.txt is missing"),
    "added": (lambda f: (f / "c.txt").write_text("more"), r"c\.txt is new"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_corpus_of_a_run_is_refused_with_the_file_and_the_way_out(
    folder, tmp_path, change
):
    save_sources(tmp_path / "data", {"corpus": recorded(folder)})
    names = {"corpus": str(folder)}
    refuse_changes(names, tmp_path / "data", is_complete=True)  # nothing has changed yet
    edit, says = CHANGES[change]
    edit(folder)
    os.utime(folder, (1, 1))
    with pytest.raises(UserError, match=says) as told:
        refuse_changes(names, tmp_path / "data", is_complete=True)
    assert "choose another --out" in str(told.value) and "\n" not in str(told.value)


def test_a_corpus_that_is_gone_is_told_and_its_text_is_used_as_it_was_read(
    folder, tmp_path, capsys
):
    save_sources(tmp_path / "data", {"corpus": recorded(folder)})
    folder.rename(tmp_path / "elsewhere")
    refuse_changes({"corpus": str(folder)}, tmp_path / "data", is_complete=True)
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{folder} is gone: the text is used as it was read" in line


def test_a_file_that_was_only_touched_is_unchanged_and_one_that_was_not_is_not_read_again(
    folder, monkeypatch
):
    before = recorded(folder)
    os.utime(folder / "a.txt", (1, 1))
    read = []
    real = runs.sha256
    monkeypatch.setattr(runs, "sha256", lambda path: read.append(path.name) or real(path))
    assert find_change(folder, before) is None
    assert read == ["a.txt"]


def test_two_names_of_one_corpus_are_the_same_corpus(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = recorded(folder)
    assert same_corpus("texts", "./texts", ())
    assert same_corpus("texts", str(folder), ())
    assert not same_corpus("texts", "texts/a.txt", files)
    monkeypatch.chdir(folder)  # from here the name that the run has noted means nothing
    assert same_corpus("texts", ".", files) and not same_corpus("texts", ".", ())
    assert same_corpus("storyworld", "storyworld", ())
    assert not same_corpus("storyworld", "./storyworld", ())


@pytest.mark.parametrize("content", ["[]", "{", '{"corpus": 5}', '{"corpus": [5]}',
                                     '{"corpus": [{"path": "a"}]}'])  # fmt: skip
def test_a_damaged_list_of_sources_is_one_line(tmp_path, content):
    (tmp_path / "sources.json").write_text(content)
    with pytest.raises(UserError, match=r"sources\.json is damaged"):
        read_sources(tmp_path)


# What lies in a folder beside its text.


def test_what_is_passed_over_in_a_folder_is_counted_and_named(folder, capsys):
    (folder / "archive.zip").write_bytes(b"PK")
    (folder / "table.CSV").write_text("a,b")
    (folder / "dangling.txt").symlink_to(folder / "nowhere.txt")
    (folder / ".hidden").write_text("x")
    open_corpus(str(folder))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("2 files read; 3 passed over (.csv, .zip, broken links and pipes)")


def test_a_folder_of_text_alone_says_nothing(folder, capsys):
    open_corpus(str(folder))
    assert capsys.readouterr().err == ""


def test_file_names_in_capitals_are_read_as_those_in_small_letters(folder):
    (folder / "README.TXT").write_text("Third is third.")
    (folder / "rows.JSONL").write_text('{"text": "Row is row."}')
    names = [path.name for path in find_text_files(folder)[0]]
    assert names == ["README.TXT", "a.txt", "b.txt", "rows.JSONL"]
    documents = list(open_corpus(str(folder))) + list(open_corpus(str(folder)).held_out)
    assert ["Third is third."] in documents and ["Row is row."] in documents


def test_a_folder_without_permission_is_named(folder, monkeypatch):
    real = os.scandir

    def locked(path):
        if str(path).endswith("below"):
            raise PermissionError(13, os.strerror(13), str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", locked)
    files, passed_over = find_text_files(folder)
    assert [path.name for path in files] == ["a.txt"]
    assert passed_over[-1].endswith(f"not permitted to open {folder / 'below'}")


@pytest.mark.parametrize("mark", ["run.json", "tokenizer_config.json",
                                  "tokenizer/tokenizer_config.json"])  # fmt: skip
def test_what_runs_have_written_into_the_corpus_folder_is_left_out_and_said(folder, mark):
    run = folder / "runs" / "one"
    (run / "tokenizer").mkdir(parents=True)
    (run / mark).write_text("{}")
    (run / "vocab.txt").write_text("[PAD]")
    files, passed_over = find_text_files(folder)
    assert [path.name for path in files] == ["a.txt", "b.txt"]
    assert "left out what runs have written: runs/one" in passed_over[0]


# Names that are no corpus.


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_pipe_is_refused_at_once_as_no_plain_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for option in ({"name": str(tmp_path / "pipe")},
                   {"name": "storyworld", "held_out": str(tmp_path / "pipe")}):  # fmt: skip
        with pytest.raises(UserError, match="is not a plain file"):
            open_corpus(**option)


@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_name_is_no_corpus(name):
    with pytest.raises(UserError, match="the name of the corpus is empty"):
        open_corpus(name)


def test_a_file_without_permission_is_told_as_such(folder, monkeypatch):
    def locked(path):
        raise PermissionError(13, os.strerror(13), str(path))

    monkeypatch.setattr(sys.modules["bert_corpus.documents"], "sha256", locked)
    with pytest.raises(UserError, match=r"a\.txt: cannot be read \(Permission denied"):
        open_corpus(str(folder))
