"""Which numbers a setting may have: stated once, in the annotation of its field.

    batch_size: Annotated[int, Whole(1, 1_000_000)] = 64
    dropout: Annotated[float, Real(at_least=0, below=1)] = 0.1

A dataclass calls `check_numbers(self)` when it is made. Both ends of a range are finite, so NaN and
infinity lie in none.
"""

import numbers
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import cache
from types import NoneType
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from tyro.constructors import PrimitiveConstructorSpec

from bert_run.errors import UserError
from bert_run.records import shown


class Range(PrimitiveConstructorSpec):
    """The numbers from `low` to `high`; `above` and `below` leave out the end itself.

    It also tells tyro how to read the option: whatever was typed is handed on, so that a word, a
    fraction and a number outside the range are all answered by `check_numbers`, in one line.
    """

    type_: type
    number: type

    def __init__(self, low: float, high: float, *, above: bool = False, below: bool = False):
        super().__init__(
            nargs=1,
            metavar=self.type_.__name__.upper(),
            instance_from_str=lambda words: as_typed(words[0], self.type_),
            is_instance=lambda value: isinstance(value, self.number),
            str_from_instance=lambda value: [str(value)],
        )
        # The parent is a frozen dataclass.
        vars(self).update(low=low, high=high, above=above, below=below)

    __eq__, __hash__ = object.__eq__, object.__hash__  # two ranges are never taken for one

    def admits(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, self.number):
            return False
        if (self.above and value == self.low) or (self.below and value == self.high):
            return False
        return self.low <= value <= self.high


class Whole(Range):
    """Whole numbers from `low` to `high`."""

    type_, number = int, numbers.Integral

    def __init__(self, low: int, high: int) -> None:
        super().__init__(low, high)

    def __str__(self) -> str:
        return f"a whole number from {self.low:,} to {self.high:,}"


class Real(Range):
    """Numbers from `at_least`, or above `above`, to `at_most`, or below `below`."""

    type_, number = float, numbers.Real

    def __init__(
        self,
        *,
        at_least: float | None = None,
        above: float | None = None,
        at_most: float | None = None,
        below: float | None = None,
    ) -> None:
        low = above if at_least is None else at_least
        high = below if at_most is None else at_most
        super().__init__(low, high, above=at_least is None, below=at_most is None)

    def __str__(self) -> str:
        if not self.above and not self.below:
            return f"a number from {self.low:g} to {self.high:g}"
        low = f"above {self.low:g}" if self.above else f"of at least {self.low:g}"
        high = f"below {self.high:g}" if self.below else f"at most {self.high:g}"
        return f"a number {low} and {high}"


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


class NumberField(NamedTuple):
    """What the annotation of a field says of its numbers."""

    range: Range
    may_be_none: bool


def option(name: str) -> str:
    """A field as an option of a command: `batch_size` is --batch-size."""
    return f"--{name.replace('_', '-')}"


def check_numbers(settings: Any, *, called: Callable[[str], str] = option) -> None:
    """Raise `UserError` at the first number of a dataclass that lies outside its range.

    `called` makes the name that the user knows from the name of the field.
    """
    for name, field in number_fields(type(settings)).items():
        value = getattr(settings, name)
        if value is None and field.may_be_none:
            continue
        for each in value if isinstance(value, tuple) else (value,):
            if not field.range.admits(each):
                raise UserError(f"{called(name)} is {shown(each)}: it must be {field.range}")


def check_fields(settings: Any) -> None:
    """The same for a dataclass whose fields are no options, a config.json's say."""
    check_numbers(settings, called=str)


@cache
def number_fields(settings: type) -> dict[str, NumberField]:
    """The fields of a dataclass that hold numbers, with their ranges.

    Raises `TypeError` for a number without one: a new field cannot do without.
    """
    hints = get_type_hints(settings, include_extras=True)
    found = {}
    for field in fields(settings):
        leaves = list(leaves_of(hints[field.name]))
        if any(leaf in (int, float) for leaf in leaves):
            raise TypeError(f"{settings.__name__}.{field.name} is a number without a range")
        ranges = [leaf for leaf in leaves if isinstance(leaf, Range)]
        if ranges:
            found[field.name] = NumberField(ranges[0], NoneType in leaves)
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
