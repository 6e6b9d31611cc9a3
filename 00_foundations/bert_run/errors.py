"""A user's mistakes: told in one line, never as a traceback. `command` prints a `UserError`."""

import errno
import functools
import io
import os
import platform
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import metadata
from itertools import pairwise
from typing import Any

SAME_COMMAND = "then call the same command again"
ADVICE = {
    (errno.ENOSPC, errno.EDQUOT): f"free some space, {SAME_COMMAND}",
    (errno.EFBIG,): f"raise the limit of a file's size (ulimit -f), {SAME_COMMAND}",
    (errno.EACCES, errno.EPERM, errno.EROFS): "check its permissions, or choose another place",
    (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP): "check the path",
    (errno.EEXIST, errno.ENOTEMPTY, errno.ENAMETOOLONG): "choose another name",
    (errno.EMFILE,): f"raise the limit of open files (ulimit -n), {SAME_COMMAND}",
}
PLACES = ("--out", "--save", "--checkpoint", "--train", "--dev", "--test", "--data", "--tokenizer",
          "--vocab-file", "--model", "--input", "--score", "--start-from")  # paths  # fmt: skip
PRINT_SECONDS = 3.0  # seconds that are enough to print a line
SMALLER = ("take a smaller --model, --batch-size or --seq-length, or a --micro-batch-size, where "
           "the command has them, or close other programs")  # fmt: skip


class UserError(Exception):
    """What was wrong, the value, and what to do: one line, shown as it is."""


class Diverged(UserError):
    """The numbers of a training run are no longer finite."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}: try a lower --learning-rate and another --out")


class Stopped(KeyboardInterrupt):
    """A run has received a signal to stop, and has saved itself."""

    def __init__(self, name: str, step: int, steps: int, *, number: int) -> None:
        done = f"{name} is saved at step {step:,} of {steps:,}"
        super().__init__(f"stopped: {done}; the same command goes on from there")
        self.number = number  # of the signal


def command(main: Callable[..., None]) -> Callable[..., None]:
    """Make `main` a console command that knows --version. A `UserError` prints one line and exits
    with 2, and so does what the system refuses; Ctrl-C exits with 130, a closed pipe with 141.
    While `python -m` still imports, Ctrl-C is Python's own traceback: see `commands`."""

    @functools.wraps(main)
    def run(*args, **kwargs) -> None:
        settle_streams()
        if os.environ.get("COLUMNS") in set("123456789"):
            os.environ["COLUMNS"] = "10"  # narrower, tyro's help never ends
        os.environ["MPLBACKEND"] = "agg"  # pictures go to files: a wrong name would end the run
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so what is half-written goes
        if sys.argv[1:] == ["--version"]:
            print(version_line())
            return
        try:
            try:
                sys.argv[1:] = with_whole_paths(sys.argv[1:])
                main(*args, **kwargs)
            except SystemExit as done:
                if done.code in (None, 0) and {"-h", "--help"} & set(sys.argv[1:]):
                    print("--version prints the versions of this command and its libraries.")
                raise
            finally:
                print(end="", flush=True)
        except BrokenPipeError:  # who reads, `head` say, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(141)
        except UserError as error:
            if is_first():  # of many processes one says what is wrong
                tell(f"error: {error}")
            else:
                time.sleep(PRINT_SECONDS)  # torchrun ends them all when the first one has left
            sys.exit(2)
        except (OSError, MemoryError, RuntimeError) as error:
            line = in_one_line(error)
            if line is None:
                raise
            tell(f"error: {line}")
            sys.exit(2)
        except KeyboardInterrupt as stop:
            if is_first():
                tell("\n" + (str(stop) or "stopped: call the same command again"))
            sys.exit(128 + getattr(stop, "number", signal.SIGINT))

    return run


def is_first() -> bool:
    """Whether this process is alone or the first of `torchrun`; RANK alone says nothing."""
    return "TORCHELASTIC_RUN_ID" not in os.environ or os.environ.get("RANK", "0") == "0"


def tell(line: str) -> None:
    """Print on standard error; that nobody reads it, as Ctrl-C ends `tee` too, is no error."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def settle_streams() -> None:
    """Print UTF-8 to a file or a pipe, whatever the locale says, and a question mark where a
    terminal has no sign for a character. A standard stream that the caller has closed (`<&-`)
    becomes the null device: otherwise the next file that is opened would take its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, errors="replace"))  # noqa: SIM115
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            errors = "replace" if name == "stdout" else "backslashreplace"
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors=errors)


def version_line() -> str:
    """The version of the course and of what it computes with: what a report of a bug needs."""
    names = ("build-bert-four-times", "torch", "tokenizers", "numpy")
    found = [f"{name} {metadata.version(name)}" for name in names]
    return f"{found[0]} ({', '.join(found[1:])}, Python {platform.python_version()})"


def with_whole_paths(arguments: list[str]) -> list[str]:
    """The home folder in place of the ~ in `--out=~/runs`, where shells leave it as it is. Raises
    `UserError` for `--out ""`, what a shell makes of an unset variable."""
    for option, value in pairwise(part for word in arguments for part in word.split("=", 1)):
        if option in PLACES and not value:
            raise UserError(f'{option} is empty (""): is a variable unset? Give a name')
        if option in ("--out", "--save") and value.encode("utf-8", "replace").decode() != value:
            raise UserError(f"{option} is {value!a}: its name is not UTF-8: choose another")
    parts = [word.partition("=") for word in arguments]
    return [f"{option}{equals}{os.path.expanduser(value) if option[:2] == '--' else value}"
            for option, equals, value in parts]  # fmt: skip


def in_one_line(error: Exception) -> str | None:
    """What the system refused, and what to do about it; None for a mistake of the program."""
    if isinstance(error, OSError):
        if error.errno is None or error.strerror is None:
            return None
        where = f" ({error.filename})" if error.filename else ""
        advice = (words for numbers, words in ADVICE.items() if error.errno in numbers)
        return f"{error.strerror}{where}: {next(advice, f'see to it, {SAME_COMMAND}')}"
    words = ("can't allocate memory", "out of memory")  # of torch, on a CPU and on a GPU
    if isinstance(error, MemoryError) or any(each in str(error) for each in words):
        return f"there is not enough memory: {SMALLER}"
    if any(words in str(error) for words in ("No working C++ compiler", "find C compiler")):
        return "--compile needs a C++ compiler: install g++ or gcc, or leave --compile out"
    if str(error).startswith("Symlink loop"):  # `Path.resolve`, before Python 3.13
        return f"{error}: check the path"
    return None


LONGEST_SHOWN = 60  # characters of a value in a message


def shown(value: Any) -> str:
    """A value in a message: on one line, and short."""
    try:
        text = repr(value)
    except RecursionError:
        text = "a deeply nested value"
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"


def option(name: str) -> str:
    """A field as an option of a command: `batch_size` is --batch-size."""
    return f"--{name.replace('_', '-')}"
