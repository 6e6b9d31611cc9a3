"""A corpus is known by its content; what lies beside its text is said; odd files are one line."""

import os
from dataclasses import replace

import pytest

from bert_corpus.pretraining_run import changed_text, prepare
from bert_corpus.store import find_text_files, open_corpus
from bert_run.config import RunSettings
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


@pytest.fixture
def stored(folder, tmp_path):
    """The settings of a run on that corpus, and the data that it has prepared."""
    settings = RunSettings(corpus=str(folder), vocab_size=150, seq_length=32)
    return settings, prepare(settings, tmp_path / "data", has_begun=False)


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
    "edited": lambda folder: (folder / "a.txt").write_text(TEXT.replace("h", "H")),
    "emptied": lambda folder: (folder / "a.txt").write_text(""),
    "removed": lambda folder: (folder / "a.txt").unlink(),
    "added": lambda folder: (folder / "c.txt").write_text("more"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_corpus_of_a_run_is_found(stored, folder, change):
    assert changed_text(*stored) is None
    CHANGES[change](folder)
    assert changed_text(*stored) == f"--corpus {folder}"


def test_a_change_of_held_out_text_alone_is_found(folder, tmp_path):
    settings = RunSettings(documents=30, heldout=str(folder), vocab_size=150, seq_length=32)
    data = prepare(settings, tmp_path / "data", has_begun=False)
    assert changed_text(settings, data) is None
    CHANGES["edited"](folder)
    assert changed_text(settings, data) == f"--heldout {folder}"


def test_text_that_is_gone_touched_or_moved_is_unchanged(stored, folder, tmp_path):
    os.utime(folder / "a.txt", (1, 1))
    assert changed_text(*stored) is None
    folder.rename(tmp_path / "moved")
    assert changed_text(*stored) is None
    settings, data = stored
    assert changed_text(replace(settings, corpus=str(tmp_path / "moved")), data) is None


# What lies in a folder beside its text.


def test_what_is_passed_over_in_a_folder_is_counted_and_named(folder, capsys):
    (folder / "archive.zip").write_bytes(b"PK")
    (folder / "table.CSV").write_text("a,b")
    (folder / "dangling.txt").symlink_to(folder / "nowhere.txt")
    (folder / ".hidden").write_text("x")
    open_corpus(str(folder))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("2 text files read; 3 passed over (.csv, .zip, broken links and pipes)")


def test_what_a_link_leads_to_is_read_once_and_a_circle_ends(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "c.txt").write_text("Linked is linked.")
    for name in ("more", "more again"):
        (folder / name).symlink_to(tmp_path / "elsewhere")
    (folder / "below" / "round").symlink_to(folder)
    files, passed_over = find_text_files(folder)
    assert [path.name for path in files] == ["a.txt", "b.txt", "c.txt"]
    assert passed_over == ["below/round", "more again"]


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
    assert passed_over == [str(folder / "below")]


@pytest.mark.parametrize("mark", ["run.json", "tokenizer_config.json",
                                  "tokenizer/tokenizer_config.json", "sentence_starts.bin",
                                  "train/sentence_starts.bin"])  # fmt: skip
def test_what_runs_have_written_into_the_corpus_folder_is_left_out_and_said(folder, mark):
    run = folder / "runs" / "one"
    (run / mark).parent.mkdir(parents=True)
    (run / mark).write_text("{}")
    (run / "vocab.txt").write_text("[PAD]")
    files, passed_over = find_text_files(folder)
    assert [path.name for path in files] == ["a.txt", "b.txt"]
    assert passed_over == ["runs/one"]


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
