"""Files are never half-written, and a mistake of the user is one line."""

import contextlib
import errno
import hashlib
import os
import re
import resource
import signal
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from safetensors import SafetensorError

from bert_run import commands, files
from bert_run.errors import UserError, command
from bert_run.files import (
    clear_leftovers,
    folder_in_one_piece,
    publish,
    remove_in_one_piece,
    sha256,
    write_atomically,
    write_whole,
)
from bert_run.training_loop import MetricsLog
from bert_run.weights import save_safetensors, save_weights


def fails_with(number: int):
    def fail(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    return fail


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_text_is_written_as_utf_8_and_bytes_as_they_are(tmp_path):
    write_atomically(tmp_path / "text", "Zürich\n")
    write_atomically(tmp_path / "bytes", b"\x00\xff\r\n")
    assert (tmp_path / "text").read_bytes() == b"Z\xc3\xbcrich\n"
    assert (tmp_path / "bytes").read_bytes() == b"\x00\xff\r\n"
    assert names(tmp_path) == ["bytes", "text"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_keeps_the_old_content_and_leaves_no_part(step, tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, "old")
    monkeypatch.setattr(files.os, step, fails_with(errno.ENOSPC))
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]


@contextlib.contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """The system refuses to let a file grow further: so does a full disk, and a quota."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("write", [
    lambda path: write_atomically(path, "x" * 5_000),
    lambda path: MetricsLog(path).append(dict.fromkeys(map(str, range(999)), 1.0) | {"step": 1}),
])  # fmt: skip
def test_a_file_that_cannot_grow_is_named(write, tmp_path):
    with files_of_at_most(1_000), pytest.raises(OSError, match=os.strerror(errno.EFBIG)) as refused:
        write(tmp_path / "file")
    assert refused.value.filename == str(tmp_path / "file")


def test_vectors_that_do_not_fit_on_the_disk_are_one_line_and_no_file(tmp_path):
    path = tmp_path / "vectors.npy"
    refused = pytest.raises(UserError, match="npy could not be written")
    with files_of_at_most(1_000), refused, write_whole(path) as file:
        np.save(file, np.ones(5_000))
    assert names(tmp_path) == []


def test_weights_that_may_not_grow_are_named_with_the_advice_for_what_was_refused(tmp_path, capsys):
    path = tmp_path / "model.safetensors"
    for what, advice in ((path, "raise the limit of a file's size (ulimit -f)"),
                         (tmp_path / "gone" / "model.safetensors", "check the path")):  # fmt: skip
        with files_of_at_most(1_000), pytest.raises(SystemExit):
            command(lambda what=what: save_weights({"x": np.ones(5_000)}, what))()
        said = capsys.readouterr().err
        assert str(what) in said and advice in said and said.count("\n") == 1
    error = SafetensorError("I/O error: No such file or directory (os error 2)")
    with pytest.raises(FileNotFoundError, match=str(path)):
        save_safetensors(lambda *_, **__: (_ for _ in ()).throw(error), {}, path)


def test_a_writer_that_stops_half_way_keeps_the_old_content(tmp_path):
    path = tmp_path / "file"
    write_atomically(path, "old")
    with pytest.raises(KeyboardInterrupt), write_whole(path) as file:
        file.write(b"half of the n")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_content_reaches_the_disk_before_the_name_does(tmp_path, monkeypatch):
    order = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(
            files.os, name, lambda *a, name=name, real=real: (order.append(name), real(*a))[1]
        )
    write_atomically(tmp_path / "file", "content")
    assert order == ["fsync", "replace"]


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    target = tmp_path / "folder"
    with pytest.raises(RuntimeError), folder_in_one_piece(target) as beside:
        (beside / "first").write_text("1")
        assert not target.exists()
        raise RuntimeError
    assert names(tmp_path) == []
    with folder_in_one_piece(target) as beside:
        (beside / "first").write_text("1")
    assert names(tmp_path) == ["folder"]
    assert names(target) == ["first"]


def test_a_folder_that_stands_there_is_replaced_whole(tmp_path):
    target = tmp_path / "folder"
    for name in ("old", "new"):
        with folder_in_one_piece(target) as beside:
            (beside / name).touch()
    assert names(target) == ["new"]


def test_stopped_while_a_folder_is_replaced_the_new_one_or_the_old_one_is_there(
    tmp_path, monkeypatch
):
    target = tmp_path / "folder"

    def replaced_by(name: str) -> None:
        with folder_in_one_piece(target) as beside:
            (beside / name).touch()

    replaced_by("old")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(files, "remove", stopped)
        replaced_by("new")
    assert names(target) == ["new"]
    clear_leftovers(tmp_path)
    assert names(tmp_path) == ["folder"] and names(target) == ["new"]
    os.replace(target, tmp_path / ".folder.4711.before.part")  # killed a moment earlier
    clear_leftovers(tmp_path)
    assert names(tmp_path) == ["folder"] and names(target) == ["new"]


def stopped(*_) -> None:
    raise KeyboardInterrupt


def test_leftovers_are_cleared_and_nothing_else(tmp_path):
    ours = [".out.4711.part", ".out.4711.old.part", ".out.4711.before.part"]
    stay = [".out.part", "out", ".out.4711.parts", ".film.part"]
    for name in (*ours, *stay):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model").touch()
    clear_leftovers(tmp_path)
    assert names(tmp_path) == sorted(stay)
    clear_leftovers(tmp_path / "no such folder")


def test_publishing_replaces_the_target_in_one_step_by_a_file_of_its_own(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("new")
    target.write_text("old")
    publish(source, target)
    assert target.read_text() == "new"
    assert names(tmp_path) == ["source", "target"]
    source.write_text("newer")  # in place, as `cp` writes
    assert target.read_text() == "new"
    target.write_text("newest")
    assert source.read_text() == "newer"


def test_publishing_to_a_full_disk_keeps_the_old_target(tmp_path, monkeypatch):
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("new")
    target.write_text("old")
    monkeypatch.setattr(files.shutil, "copyfileobj", fails_with(errno.ENOSPC))
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        publish(source, target)
    assert target.read_text() == "old"
    assert names(tmp_path) == ["source", "target"]


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (1 << 20) + 1])
def test_the_fingerprint_is_sha_256_of_all_bytes(size, tmp_path):
    content = bytes(range(256)) * (size // 256 + 1)
    (tmp_path / "file").write_bytes(content[:size])
    assert sha256(tmp_path / "file") == hashlib.sha256(content[:size]).hexdigest()


# Errors.


def run(failure: BaseException, capsys) -> tuple[int, str]:
    """Exit code and standard error of a command that fails so."""

    @command
    def main() -> None:
        raise failure

    with pytest.raises(SystemExit) as stopped:
        main()
    output = capsys.readouterr()
    assert output.out == ""
    return stopped.value.code, output.err


def test_a_users_mistake_is_one_line_and_exit_code_2(capsys):
    code, said = run(UserError("no file thing.txt: check the path"), capsys)
    assert (code, said) == (2, "error: no file thing.txt: check the path\n")


def test_a_full_disk_is_one_line_that_names_file_and_way_out_and_exit_code_2(capsys):
    failure = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "runs/model.safetensors")
    code, said = run(failure, capsys)
    assert code == 2
    assert said.count("\n") == 1
    for part in ("error: ", os.strerror(errno.ENOSPC), "runs/model.safetensors", "free some space"):
        assert part in said


def test_ctrl_c_ends_with_130_and_no_traceback(capsys):
    code, said = run(KeyboardInterrupt(), capsys)
    assert code == 130  # 128 + SIGINT, as shells have it
    assert "Traceback" not in said
    assert "call the same command again" in said


def test_ctrl_c_while_a_command_loads_torch_is_one_line(monkeypatch, capsys):
    def interrupted(module):
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "import_module", interrupted)
    with pytest.raises(SystemExit) as done:
        commands.predict()
    said = capsys.readouterr().err.strip()
    assert (done.value.code, said) == (130, "stopped: call the same command again")


def test_every_command_begins_there_and_is_a_module_with_a_main():
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")
    for module, name in re.findall(r'^bert-.* = "(.*):(.*)"$', project, re.MULTILINE):
        assert module == commands.__name__
        (started,) = getattr(commands, name).args
        assert "\ndef main(" in Path(find_spec(started).origin).read_text("utf-8")


@pytest.mark.parametrize("failure", [ValueError("bug"), OSError("no number: not the system's")])
def test_a_mistake_of_ours_keeps_its_traceback(failure):
    @command
    def main() -> None:
        raise failure

    with pytest.raises(type(failure)):
        main()


def test_a_command_that_succeeds_returns_and_keeps_its_name():
    seen = []

    @command
    def main(*words: str, loud: bool = False) -> None:
        """What it does."""
        seen.append((words, loud))

    main("a", "b", loud=True)
    assert seen == [(("a", "b"), True)]
    assert (main.__name__, main.__doc__) == ("main", "What it does.")


def test_a_folder_behind_a_link_is_replaced_and_the_link_stays(tmp_path):
    (tmp_path / "disk/best").mkdir(parents=True)
    link = tmp_path / "best"
    link.symlink_to("disk/best")
    for name in ("old", "new"):  # twice: the first call must leave a link that the second can use
        with folder_in_one_piece(link) as beside:
            (beside / name).touch()
    assert link.is_symlink() and names(tmp_path / "disk/best") == ["new"]
    assert names(tmp_path) == ["best", "disk"]


def test_of_a_link_only_the_link_is_removed(tmp_path):
    (tmp_path / "target").mkdir()
    (tmp_path / "target/file").touch()
    (tmp_path / "link").symlink_to("target")
    remove_in_one_piece(tmp_path / "link")
    assert names(tmp_path) == ["target"] and names(tmp_path / "target") == ["file"]


def test_a_text_that_names_a_file_whose_name_is_not_utf8_can_be_written(tmp_path):
    write_atomically(tmp_path / "card.md", "made from reviews-\udce9.csv")
    assert (tmp_path / "card.md").read_text("utf-8") == "made from reviews-\\udce9.csv"


def test_leftovers_of_one_name_are_cleared_and_nothing_else(tmp_path):
    for name in (".out.4711.part", ".out.4711.old.part", ".other.4711.part", "out"):
        (tmp_path / name).mkdir()
    clear_leftovers(tmp_path, "out")
    assert names(tmp_path) == [".other.4711.part", "out"]
