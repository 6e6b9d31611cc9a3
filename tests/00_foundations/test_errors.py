"""What the system refuses is one line as well, and the advice depends on what it was."""

import errno
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch

from bert_corpus.pretraining_run import refuse_too_large
from bert_run import errors
from bert_run.config import PRESETS, BertConfig
from bert_run.errors import UserError, command
from bert_run.files import write_whole


def answer(capsys, error: BaseException) -> str:
    """The line with which a command ends that meets an error."""

    @command
    def main() -> None:
        raise error

    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1
    return said


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EACCES, "check its permissions"),
        (errno.EPERM, "check its permissions"),
        (errno.ENOENT, "check the path"),
        (errno.EISDIR, "check the path"),
        (errno.EROFS, "choose another place"),
        (errno.EMFILE, "ulimit -n"),
        (errno.EFBIG, "ulimit -f"),
        (errno.EXDEV, "call the same command again"),
    ],
)
def test_the_advice_is_about_what_the_system_refused(number, advice, capsys):
    said = answer(capsys, OSError(number, os.strerror(number), "some/file"))
    assert f"{os.strerror(number)} (some/file): " in said and advice in said
    assert ("space" in said.partition(": ")[2]) == (number == errno.ENOSPC)


def test_a_real_folder_in_place_of_a_file_is_named(capsys, tmp_path):
    with pytest.raises(OSError) as caught:
        tmp_path.read_text()
    assert str(tmp_path) in answer(capsys, caught.value)


@pytest.mark.parametrize("allocate", [
    lambda: np.zeros((10**9, 10**9)),
    lambda: torch.zeros(10**9, 10**7),
], ids=["numpy", "torch"])  # fmt: skip
def test_too_little_memory_is_one_line_of_either_library(allocate, capsys):
    with pytest.raises((MemoryError, RuntimeError)) as caught:
        allocate()
    assert "there is not enough memory: take a smaller --model" in answer(capsys, caught.value)
    gpu = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.")
    assert "there is not enough memory" in answer(capsys, gpu)


def test_a_mistake_of_the_program_keeps_its_traceback():
    for error in (RuntimeError("shapes do not fit"), OSError("no number"), ValueError("x")):
        with pytest.raises(type(error)):
            command(lambda error=error: (_ for _ in ()).throw(error))()


def test_every_process_says_what_its_own_system_refused_and_one_a_mistake_of_the_user(
    capsys, monkeypatch
):
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    monkeypatch.setattr(errors, "PRINT_SECONDS", 0.0)
    assert "No space" in answer(capsys, OSError(errno.ENOSPC, "No space left on device"))
    with pytest.raises(SystemExit):
        command(lambda: (_ for _ in ()).throw(UserError("wrong")))()
    assert capsys.readouterr().err == ""


def test_a_rank_that_an_older_script_has_left_in_the_environment_silences_nothing(
    capsys, monkeypatch
):
    monkeypatch.setenv("RANK", "1")
    assert answer(capsys, UserError("wrong")) == "error: wrong\n"


def test_a_missing_compiler_is_one_line(capsys):
    for words in ("InvalidCxxCompiler: No working C++ compiler found in (None, 'g++')",
                  "Failed to find C compiler. Please specify via CC"):  # fmt: skip
        said = answer(capsys, RuntimeError(words))
        assert said.startswith("error: --compile needs a C++ compiler: install g++")


def test_a_command_that_is_stopped_ends_well_though_nobody_reads_standard_error(monkeypatch):
    class Gone:
        def write(self, text):
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr(errors, "settle_streams", lambda: None)
    monkeypatch.setattr(sys, "stderr", Gone())
    for error, code in ((KeyboardInterrupt(), 130), (UserError("wrong"), 2)):
        with pytest.raises(SystemExit) as left:
            command(lambda error=error: (_ for _ in ()).throw(error))()
        assert left.value.code == code


def test_a_command_that_is_killed_politely_leaves_no_half_written_file(monkeypatch, tmp_path):
    @command
    def main() -> None:
        with write_whole(tmp_path / "answers.csv") as file:
            file.write(b"half")
            os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with pytest.raises(SystemExit) as left:
            main()
        assert left.value.code == 143 and not [*tmp_path.iterdir()]
    finally:
        signal.signal(signal.SIGTERM, before)


# Memory.


def test_a_model_that_fits_is_taken_and_a_larger_one_is_refused_in_one_line(monkeypatch):
    sizes = {"SC_PAGE_SIZE": 2**12, "SC_PHYS_PAGES": 2**19}  # 2 GB
    monkeypatch.setattr("os.sysconf", sizes.get)
    refuse_too_large(PRESETS["base"])  # 110 million parameters, 16 bytes each: 1.7 GB
    with pytest.raises(UserError) as caught:
        refuse_too_large(PRESETS["large"])
    line = str(caught.value)
    assert (
        line.startswith("a model of 336,226,108 parameters takes 5 GB to train") and "2 GB" in line
    )
    assert "--hidden-size" in line and "\n" not in line
    monkeypatch.delattr("os.sysconf")  # a system that does not tell
    refuse_too_large(BertConfig(hidden_size=10**5, num_attention_heads=1))


# Paths.


def test_a_tilde_that_an_option_is_given_is_the_home_folder(monkeypatch):
    monkeypatch.setenv("HOME", "/where/i/live")
    given = ["--out=~/runs", "--out=~", "--out=a~", "~/[MASK]", "a=~", "--text=x=~", "--text",
             "~ is a tilde"]  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["bert-pretrain", *given])
    command(lambda: None)()
    assert sys.argv[1:] == ["--out=/where/i/live/runs", "--out=/where/i/live", *given[2:]]


def test_a_command_says_of_a_link_to_itself_that_it_is_one(tmp_path, monkeypatch, capsys):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    monkeypatch.setattr(sys, "argv", ["bert-convert"])
    with pytest.raises(SystemExit) as left:
        command(lambda: loop.resolve().stat())()
    said = capsys.readouterr().err
    assert left.value.code == 2 and said.startswith("error: ") and said.count("\n") == 1
    assert str(loop) in said and said.endswith(": check the path\n")


PRINTS = """
import sys
from bert_run.errors import command

@command
def main():
    print("█ é \\udcff")
    print("note", file=sys.stderr)
    sys.stdin.read()
    open({path!r}, "w").write("content")

main()
"""


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_standard_stream_that_is_closed_is_as_good_as_the_null_device(closed, tmp_path):
    script, path = tmp_path / "script.py", tmp_path / "file"
    script.write_text(PRINTS.format(path=str(path)), encoding="utf-8")
    line = f"'{sys.executable}' '{script}' {closed}"
    done = subprocess.run(line, shell=True, stdin=subprocess.DEVNULL, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert path.read_text() == "content"  # and nothing of what was printed


HELPS = """
import sys
from bert_run.errors import command

@command
def main():
    print("what it does")
    {before}sys.exit(0)

main()
"""


@pytest.mark.parametrize("before", ["", "sys.stdout.flush(); "])
def test_help_whose_reader_has_gone_ends_without_a_word(before, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(HELPS.format(before=before), encoding="utf-8")
    reads, writes = os.pipe()
    os.close(reads)
    done = subprocess.run([sys.executable, str(script), "--help"], stdin=subprocess.DEVNULL,
                          stdout=writes, stderr=subprocess.PIPE)  # fmt: skip
    os.close(writes)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("columns", ["1", "4"])
def test_help_ends_in_a_terminal_however_narrow_it_is(columns):
    done = subprocess.run([sys.executable, "-m", "bert_corpus.build_stores", "--help"], timeout=60,
                          capture_output=True, env={**os.environ, "COLUMNS": columns})  # fmt: skip
    assert done.returncode == 0


def test_a_backend_of_matplotlib_that_does_not_exist_does_not_end_a_run_at_its_picture(tmp_path):
    script = tmp_path / "script.py"
    lines = ["from bert_run.errors import command", "def draw():",
             "    import bert_run.pictures", "    print('drawn')", "command(draw)()"]  # fmt: skip
    script.write_text("\n".join(lines), encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True,
                          env={**os.environ, "MPLBACKEND": "nonsense"})  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "drawn\n"), done.stderr


def test_what_is_printed_to_a_pipe_is_utf8_whatever_the_locale_says(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(PRINTS.format(path=os.devnull), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], stdin=subprocess.DEVNULL, capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode() == "█ é ?\n"


@pytest.mark.parametrize("arguments", [
    ["--out", ""], ["--steps", "3", "--save="], ["a text", "--checkpoint", "", "--json"],
    ["--start-from", ""],
])  # fmt: skip
def test_an_unset_variable_in_the_place_of_a_folder_is_no_folder(arguments, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["bert", *arguments])
    with pytest.raises(SystemExit):
        command(lambda: pytest.fail("it means the present folder"))()
    assert 'is empty (""): is a variable unset?' in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--out", "q\udcff"], ["--save=q\udcff"]])
def test_a_folder_that_is_not_called_in_utf8_is_refused_before_a_run(
    arguments, capsys, monkeypatch
):
    monkeypatch.setattr(sys, "argv", ["bert", *arguments])
    with pytest.raises(SystemExit) as stopped:
        command(lambda: pytest.fail("safetensors cannot write there"))()
    assert stopped.value.code == 2
    assert "is 'q\\udcff': its name is not UTF-8: choose another" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--json", ""], ["--context", ""], ["--top=1", ""]])
def test_a_text_may_be_empty(arguments, monkeypatch):
    called = []
    monkeypatch.setattr(sys, "argv", ["bert", *arguments])
    command(lambda: called.append(True))()
    assert called
