"""A user's mistakes: told in one line, never as a traceback, and found before any work begins.

`command` prints a `UserError`. The range of a number stands in the annotation of its field, and a
dataclass calls `check_numbers(self)` when it is made:

    batch_size: Annotated[int, Whole(1, 1_000_000)] = 64
    dropout: Annotated[float, Real(at_least=0, below=1)] = 0.1

`read_record` checks a JSON file, which people edit and full disks cut short, before it is used.
"""

import errno
import functools
import io
import json
import math
import numbers
import os
import platform
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from tyro.constructors import PrimitiveConstructorSpec

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
          "--vocab-file", "--model", "--input", "--score")  # options that name a file  # fmt: skip
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
    """Make `main` a console command that knows --version. A `UserError` prints one line and exits
    with 2, and so does what the system refuses; Ctrl-C exits with 130, a closed pipe with 141."""

    @functools.wraps(main)
    def run(*args, **kwargs) -> None:
        settle_streams()
        if sys.argv[1:] == ["--version"]:
            print(version_line())
            return
        leads = os.environ.get("RANK", "0") == "0"  # of many processes one says what is wrong
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
            if leads:
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
            if leads:
                line = str(stop) or "stopped: call the same command again to go on"
                print(f"\n{line}", file=sys.stderr)
            sys.exit(128 + getattr(stop, "number", signal.SIGINT))

    return run


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
    if str(error).startswith("Symlink loop"):  # `Path.resolve`, before Python 3.13
        return f"{error}: check the path"
    return None


class Range(PrimitiveConstructorSpec):
    """The numbers from `low` to `high`, except those of `without`, which may be the ends. Tells
    tyro to hand on whatever was typed, for `check_numbers` to answer."""

    def __init__(self, type_: type, low: float, high: float, without: tuple = ()) -> None:
        number = {int: numbers.Integral, float: numbers.Real}[type_]
        super().__init__(
            nargs=1,
            metavar=type_.__name__.upper(),
            instance_from_str=lambda words: as_typed(words[0], type_),
            is_instance=lambda value: isinstance(value, number) and not isinstance(value, bool),
            str_from_instance=lambda value: [str(value)],
        )
        # The parent is a frozen dataclass.
        vars(self).update(type_=type_, low=low, high=high, without=without)

    def admits(self, value: Any) -> bool:
        is_between = self.is_instance(value) and self.low <= value <= self.high
        return is_between and value not in self.without

    def __str__(self) -> str:
        if self.type_ is int:
            return f"a whole number from {self.low:,} to {self.high:,}"
        if not self.without:
            return f"a number from {self.low:g} to {self.high:g}"
        low = f"above {self.low:g}" if self.low in self.without else f"of at least {self.low:g}"
        high = f"below {self.high:g}" if self.high in self.without else f"at most {self.high:g}"
        return f"a number {low} and {high}"


def Whole(low: int, high: int) -> Range:
    """Whole numbers from `low` to `high`."""
    return Range(int, low, high)


def Real(**ends: float) -> Range:
    """Numbers from `at_least`, or above `above`, to `at_most`, or below `below`."""
    without = tuple(ends[end] for end in ("above", "below") if end in ends)
    return Range(float, min(ends.values()), max(ends.values()), without)


Count = Annotated[int, Whole(1, 10**9)]
Share = Annotated[float, Real(at_least=0, at_most=1)]
# Times a million for the steps, and times the number of processes, it still fits into 64 bits.
Seed = Annotated[int, Whole(0, 2**32 - 1)]


def as_typed(word: str, type_: type) -> int | float | str:
    """The number that a word stands for, else the word itself."""
    for read in (type_, float):
        try:
            return read(word)
        except ValueError:
            continue
    return word


def option(name: str) -> str:
    """A field as an option of a command: `batch_size` is --batch-size."""
    return f"--{name.replace('_', '-')}"


def check_numbers(settings: Any, *, called: Callable[[str], str] = option) -> None:
    """Raise `UserError` at the first number outside its range; `called` makes the name that the
    user knows from that of the field."""
    for name, (range_, may_be_none) in number_fields(type(settings)).items():
        value = getattr(settings, name)
        if value is None and may_be_none:
            continue
        for each in value if isinstance(value, tuple) else (value,):
            if not range_.admits(each):
                raise UserError(f"{called(name)} is {shown(each)}: it must be {range_}")


def check_fields(settings: Any) -> None:
    """The same for a dataclass whose fields are no options, a config.json's say."""
    check_numbers(settings, called=str)


@cache
def number_fields(settings: type) -> dict[str, tuple[Range, bool]]:
    """The fields of a dataclass that hold numbers: their range, and whether they may be None.
    Raises `TypeError` for a number without a range."""
    hints = get_type_hints(settings, include_extras=True)
    found = {}
    for field in fields(settings):
        leaves = list(leaves_of(hints[field.name]))
        if any(leaf in (int, float) for leaf in leaves):
            raise TypeError(f"{settings.__name__}.{field.name} is a number without a range")
        ranges = [leaf for leaf in leaves if isinstance(leaf, Range)]
        if ranges:
            found[field.name] = ranges[0], NoneType in leaves
    return found


def leaves_of(annotation: Any) -> Iterator[Any]:
    """The types that an annotation is made of; a range stands for the type that it belongs to."""
    arguments = get_args(annotation)
    if get_origin(annotation) is Annotated:
        ranges = [each for each in arguments[1:] if isinstance(each, Range)]
        yield from ranges or leaves_of(arguments[0])
    elif arguments:
        for argument in arguments:
            yield from leaves_of(argument)
    else:
        yield annotation


NAMES = {dict: "an object", list: "a list", str: "text", int: "a whole number", float: "a number",
         bool: "true or false"}  # fmt: skip
LONGEST_SHOWN = 60  # characters of a value in a message


def read_record(
    path: Path,
    required: Mapping[str, type] | None = None,
    optional: Mapping[str, type] | None = None,
    *,
    way_out: str,
) -> dict[str, Any]:
    """The JSON object of a file, with all `required` fields, each value of its type; those of
    `optional` may be absent or null. `way_out` ends the `UserError` for a file that is damaged."""
    try:
        problem, record = parse_object(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"there is no {path}: {way_out}") from None
    problem = problem or wrong_field(record, required or {}, optional or {})
    if problem:
        raise UserError(f"{path} is damaged ({problem}): {way_out}")
    return record


def parse_object(content: bytes) -> tuple[str | None, dict[str, Any]]:
    """What is wrong with the text of a JSON object, or None, and the object."""
    try:
        value = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, or nested too deep
        return f"not JSON: {error}", {}
    if not isinstance(value, dict):
        return f"{shown(value)} where an object is expected", {}
    return None, value


def parse_strictly(text: str, **options: Any) -> Any:
    """`json.loads`; raises `json.JSONDecodeError` for NaN, Infinity and 1e999, too."""

    def finite(word: str) -> float:
        if math.isfinite(number := float(word)):
            return number
        what = "too large a number" if word[-1].isdigit() else "no value of JSON: write null"
        found = re.finditer(r'"(?:[^"\\]|\\.)*"|-?(?:NaN|Infinity|\d[\d.eE+-]*)', text)
        place = next((each.start() for each in found if each[0] == word), 0)  # not within a text
        raise json.JSONDecodeError(f"{word} is {what}", text, place)

    return json.loads(text, parse_constant=finite, parse_float=finite, **options)


def wrong_field(
    record: Mapping[str, Any], required: Mapping[str, type], optional: Mapping[str, type]
) -> str | None:
    """The first field that is missing or holds a value of another type, in words; None if none."""
    if missing := [name for name in required if name not in record]:
        return f"it has no {missing[0]!r}"
    for name, kind in {**optional, **required}.items():
        value = record.get(name)
        if (value is not None or name in required) and not is_of(kind, value):
            return f"{name!r} is {shown(value)}, not {NAMES[kind]}"
    return None


def is_of(kind: type, value: Any) -> bool:
    """Whether a value has a type; a whole number may stand for a float. True, NaN and what has more
    than 64 bits are no numbers."""
    if isinstance(value, float) and not math.isfinite(value):
        return False
    if isinstance(value, bool):
        return kind is bool
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return False
    return isinstance(value, (int, float) if kind is float else kind)


def shown(value: Any) -> str:
    """A value in a message: on one line, and short."""
    try:
        text = repr(value)
    except RecursionError:
        text = "a deeply nested value"
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"
