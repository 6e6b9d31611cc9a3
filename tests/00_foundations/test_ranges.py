"""The one check of numbers: what lies outside its range is one line that names it."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal

import numpy as np
import pytest
import tyro
from tyro.conf import arg

from bert_run.config import Count, Real, Whole, check_fields, check_numbers, number_fields
from bert_run.errors import UserError

pytestmark = pytest.mark.usefixtures("shapes_unchecked")


@dataclass(frozen=True)
class Example:
    """A command with every form in which a number is written down."""

    whole: Annotated[int, Whole(2, 5)] = 2
    real: Annotated[float, Real(at_least=0, below=1)] = 0.5
    open_end: Annotated[float, Real(above=0, at_most=1)] = 1.0
    perhaps: Count | None = None
    renamed: Annotated[Count | None, arg(aliases=["--other-name"])] = None
    many: tuple[Count, ...] = (1,)
    choice: Literal["a", "b"] = "a"
    flag: bool = False
    text: str | None = None

    def __post_init__(self) -> None:
        check_numbers(self)


def said(**given: object) -> str:
    with pytest.raises(UserError) as caught:
        Example(**given)
    return str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        {"whole": 2}, {"whole": 5}, {"whole": np.int64(3)}, {"real": 0}, {"real": 0.999},
        {"real": np.float32(0.25)}, {"real": Fraction(1, 3)}, {"open_end": 1}, {"open_end": 5e-324},
        {"perhaps": None}, {"perhaps": 7}, {"many": ()}, {"many": (1, 10**9)}, {"flag": True},
    ],
)  # fmt: skip
def test_a_number_of_its_range_is_taken_ends_included_where_they_belong_to_it(given):
    assert Example(**given)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1, 10**400, "two", True, 1e30])
@pytest.mark.parametrize("name", ["whole", "real", "open_end", "perhaps", "renamed"])
def test_nan_infinity_words_and_truth_lie_in_no_range(name, value):
    line = said(**{name: value})
    assert line.startswith(f"--{name.replace('_', '-')} is ") and "it must be a " in line
    assert "\n" not in line and len(line) < 140


def test_the_line_names_the_option_the_value_and_the_range():
    assert said(whole=1) == "--whole is 1: it must be a whole number from 2 to 5"
    assert said(whole=2.5) == "--whole is 2.5: it must be a whole number from 2 to 5"
    assert said(real=1.0) == "--real is 1.0: it must be a number of at least 0 and below 1"
    assert said(open_end=0) == "--open-end is 0: it must be a number above 0 and at most 1"
    assert said(many=(3, 0)) == "--many is 0: it must be a whole number from 1 to 1,000,000,000"
    assert said(whole=None) == "--whole is None: it must be a whole number from 2 to 5"
    with pytest.raises(UserError, match=r"^whole is 9: it must"):
        example = Example()
        object.__setattr__(example, "whole", 9)
        check_fields(example)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--whole", "nan"], "--whole is nan"),
        (["--whole", "1e30"], "--whole is 1e+30"),
        (["--whole=-1"], "--whole is -1"),
        (["--whole", "two"], "--whole is 'two'"),
        (["--real", "-inf"], "--real is -inf"),
        (["--perhaps", "9" * 5000], "--perhaps is inf"),
        (["--other-name", "0"], "--renamed is 0"),
        (["--many", "1", "x"], "--many is 'x'"),
    ],
)
def test_a_command_line_is_answered_in_the_same_line_whatever_was_typed(words, expected):
    with pytest.raises(UserError) as caught:
        tyro.cli(Example, args=words)
    assert str(caught.value).startswith(f"{expected}: it must be a ")


def test_a_command_line_gives_numbers_of_the_types_of_the_fields(capsys):
    got = tyro.cli(Example, args=["--whole", "3", "--real", "0", "--perhaps", "None", "--many"])
    assert got == Example(whole=3, real=0.0, many=()) and type(got.real) is float
    with pytest.raises(SystemExit):
        tyro.cli(Example, args=["--help"])
    shown = capsys.readouterr().out
    for words in ("--whole INT", "--real FLOAT", "--perhaps {None}|INT", "(default: 0.5)"):
        assert words in shown


def test_a_number_without_a_range_is_an_error_of_the_program():
    @dataclass(frozen=True)
    class Forgotten:
        fine: Count = 1
        forgotten: float | None = None

    with pytest.raises(TypeError, match=r"Forgotten\.forgotten is a number without a range"):
        check_numbers(Forgotten())
    assert list(number_fields(Example)) == [
        "whole", "real", "open_end", "perhaps", "renamed", "many",
    ]  # fmt: skip
