"""A user's mistake is told in one line, never as a traceback."""

import errno
import functools
import os
import platform
import signal
import sys
import time
from collections.abc import Callable
from importlib import metadata

SAME_COMMAND = "then call the same command again"
ADVICE = {
    errno.ENOSPC: f"free some space, {SAME_COMMAND}",
    errno.EDQUOT: f"your share of the disk is used up; free some space, {SAME_COMMAND}",
    errno.EFBIG: "the disk takes no file as large: choose a folder on another one",
    errno.EACCES: "check its permissions, or choose another place",
    errno.EPERM: "check its permissions, or choose another place",
    errno.EROFS: "this disk cannot be written to: choose another place",
    errno.ENOENT: "check the path",
    errno.ENOTDIR: "a part of the path is a file, not a folder: check the path",
    errno.EISDIR: "it is a folder, and a file is needed: check the path",
    errno.EEXIST: "it is there already: choose another name",
    errno.ENOTEMPTY: "another program writes there: choose another place",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "a link leads back to itself: check the path",
    errno.EMFILE: f"raise the limit of open files (ulimit -n), {SAME_COMMAND}",
    errno.ENFILE: f"close other programs, {SAME_COMMAND}",
    errno.EIO: "the disk or the network drive has failed: check it",
    errno.ENOMEM: f"close other programs, {SAME_COMMAND}",
}
PACKAGE = "build-bert-four-times"  # this one, as pip knows it
PATIENCE = 3.0  # seconds that are enough to print a line
SMALLER = (
    "take a smaller --model, --batch-size or --seq-length, or a --micro-batch-size, where the "
    "command has them, or close other programs"
)


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
    """Make `main` a console command: a `UserError` prints one line and exits with 2.

    A full disk and too little memory can strike anywhere, so they are caught here too; Ctrl-C exits
    with 130, and a reader that stops reading with 141 and no word, as shells expect. Every command
    knows --version.
    """

    @functools.wraps(main)
    def run(*args, **kwargs) -> None:
        sys.argv[1:] = with_home_folder(sys.argv[1:])
        if sys.argv[1:] == ["--version"]:
            print(version_line())
            return
        try:
            main(*args, **kwargs)
            sys.stdout.flush()
        except SystemExit as done:
            if done.code in (None, 0) and {"-h", "--help"} & set(sys.argv[1:]):
                print("--version prints the versions of this command and its libraries.")
            raise
        except BrokenPipeError:  # who reads, `head` say, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(141)
        except UserError as error:
            if os.environ.get("RANK", "0") == "0":  # of many processes one says it
                print(f"error: {error}", file=sys.stderr, flush=True)
            else:
                time.sleep(PATIENCE)  # torchrun ends them all when the first one has left
            sys.exit(2)
        except (OSError, MemoryError, RuntimeError) as error:
            line = in_one_line(error)
            if line is None:
                raise
            print(f"error: {line}", file=sys.stderr)
            sys.exit(2)
        except KeyboardInterrupt as stop:
            if os.environ.get("RANK", "0") == "0":
                line = str(stop) or "stopped: call the same command again to go on"
                print(f"\n{line}", file=sys.stderr)
            sys.exit(128 + getattr(stop, "number", signal.SIGINT))

    return run


def version_line() -> str:
    """The version of the course and of what it computes with: what a report of a bug needs."""
    names = (PACKAGE, "torch", "tokenizers", "numpy")
    found = [f"{name} {metadata.version(name)}" for name in names]
    return f"{found[0]} ({', '.join(found[1:])}, Python {platform.python_version()})"


def with_home_folder(arguments: list[str]) -> list[str]:
    """The home folder in place of the ~ in `--out=~/runs` and `--out "~/runs"`, where shells leave
    it as it is. What follows no option may be a text, and stays."""
    expanded = []
    for before, argument in zip(["", *arguments], arguments, strict=False):
        option, equals, value = argument.partition("=")
        if option.startswith("--") and equals and value.startswith("~"):
            argument = f"{option}={os.path.expanduser(value)}"
        elif before.startswith("--") and "=" not in before and argument.startswith("~/"):
            argument = os.path.expanduser(argument)
        expanded.append(argument)
    return expanded


def in_one_line(error: Exception) -> str | None:
    """What the system refused, and what to do about it; None for a mistake of the program."""
    if isinstance(error, OSError):
        if error.errno is None or error.strerror is None:
            return None
        where = f" ({error.filename})" if error.filename else ""
        advice = ADVICE.get(error.errno, f"see to it, {SAME_COMMAND}")
        return f"{error.strerror}{where}: {advice}"
    if isinstance(error, MemoryError) or is_out_of_memory(error):
        return f"there is not enough memory: {SMALLER}"
    return None


def is_out_of_memory(error: Exception) -> bool:
    """Whether torch could not allocate a tensor, on the CPU or on a GPU: it has no common class."""
    text = str(error)
    return any(words in text for words in ("can't allocate memory", "out of memory"))
