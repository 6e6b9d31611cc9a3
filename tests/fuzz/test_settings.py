"""Whatever number is given for a setting: it is either used as it is, or refused in one line.

The settings are found, not listed: every dataclass that a command reads from its command line, and
those that are built from them. FUZZ_PROFILE=long tries far more values.
"""

import ast
import importlib
import math
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import tyro
from hypothesis import given
from hypothesis import strategies as st

from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks.base import HeadConfig
from bert_finetuning.tasks.question_answering import QuestionAnswering
from bert_run.config import AdamSettings, BertConfig, Range, RunSettings, number_fields
from bert_run.errors import UserError
from bert_run.training_loop import learning_rate

ROOT = Path(__file__).parents[2]
MOST_RANKS = 1_000

# As at a user, where shapes and types are not checked: the code itself must notice.
pytestmark = pytest.mark.usefixtures("shapes_unchecked")

# What a command cannot do without.
NEEDED = {
    "ConvertSettings": ["source", "out"],
    "EncodeSettings": ["a text"],
    "FillMaskSettings": ["a text", "--checkpoint", "folder"],
    "FinetuneSettings": ["--task", "sentiment", "--checkpoint", "none"],
    "GradeSettings": ["folder", "--out", "grades"],
    "StoreSettings": ["storyworld", "--out", "stores"],
    "ScalingSettings": ["--corpus", "stores"],
    "AblationSettings": ["--table", "5"],
    "TableSettings": ["--table", "5"],
    "Diff": ["file"],
    "Again": ["03_softmax", "backward"],
    "Variants": ["--roster", "roster.csv"],
    "Repeat": ["10_mlm_masking"],
    "InitSettings": ["--weeks", "12"],
    "Handout": ["copy"],
    "Release": ["--out", "copy"],
}
BUILT_FROM_THEM = (BertConfig, HeadConfig, QuestionAnswering)


def names_in(node: ast.expr) -> list[str]:
    """A name, or those of a union."""
    if isinstance(node, ast.BinOp):
        return names_in(node.left) + names_in(node.right)
    return [node.id] if isinstance(node, ast.Name) else []


@cache
def classes_of_commands() -> tuple[type, ...]:
    """What the commands of all chapters and of the grader read: each argument of `tyro.cli`."""
    found = {}
    for path in sorted(
        (
            *ROOT.glob("[0-9][0-9]_*/**/*.py"),
            *ROOT.glob("experiments/**/*.py"),
            *ROOT.glob("exercises/autograder/**/*.py"),
        )
    ):
        text = path.read_text(encoding="utf-8")
        if "tyro.cli(" not in text:
            continue
        below = path.relative_to(ROOT).with_suffix("").parts[1:]
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "tyro.cli":
                module = importlib.import_module(".".join(below))
                for name in names_in(node.args[0]):
                    found[f"{module.__name__}.{name}"] = getattr(module, name)
    return tuple(found.values())


@cache
def example_of(settings: type) -> Any:
    """Settings with all the defaults."""
    if settings in BUILT_FROM_THEM:
        return settings()
    return tyro.cli(settings, args=NEEDED.get(settings.__name__, []))


ALL = [*classes_of_commands(), *BUILT_FROM_THEM]
with_numbers = pytest.mark.parametrize(
    "settings", ALL, ids=lambda settings: f"{settings.__module__}.{settings.__name__}"
)


def test_the_commands_are_found():
    names = {settings.__name__ for settings in classes_of_commands()}
    assert names >= {"NumpySettings", "LowLevelSettings", "PretrainSettings", "FinetuneSettings",
                     "PredictSettings", "StoreSettings", "GradeSettings", "Capstone", "Repeat",
                     "ReadingSettings", "CostSettings"}  # fmt: skip
    assert len(number_fields(FinetuneSettings)) >= 20 and len(number_fields(RunSettings)) >= 34


@with_numbers
def test_every_number_states_its_range_and_its_default_lies_in_it(settings):
    """`number_fields` raises for a number without one."""
    example = example_of(settings)
    for name, (range_, may_be_none) in number_fields(settings).items():
        value = getattr(example, name)
        for each in value if isinstance(value, tuple) else (value,):
            assert range_.admits(each) or (each is None and may_be_none), name


def edges(range_: Range) -> list:
    """Both ends, what is next to them, and what people type by mistake."""
    whole = range_.type_ is int
    outside = (
        [range_.low - 1, range_.high + 1]
        if whole
        else [math.nextafter(range_.low, -math.inf), math.nextafter(range_.high, math.inf)]
    )
    return [range_.low, range_.high, *outside, 0, -1, 0.0, -0.0, 0.5, 1e-300, 1e30, 10**20,
            10**400, math.nan, math.inf, -math.inf, True, "", "nan", "many", None]  # fmt: skip


@with_numbers
def test_the_ends_of_each_range_and_usual_mistakes(settings):
    for name, (range_, _) in number_fields(settings).items():
        for value in edges(range_):
            used_or_refused(settings, name, value)


values = st.one_of(
    st.floats(), st.integers(), st.integers(-(10**25), 10**25), st.integers(-3, 600),
    st.floats(0, 1), st.text(max_size=5),
)  # fmt: skip


@with_numbers
@given(value=values)
def test_a_random_value_is_used_or_refused_in_one_line(settings, value):
    for name in number_fields(settings):
        used_or_refused(settings, name, value)


def used_or_refused(settings: type, name: str, value: object) -> None:
    """Give a field a value: it must be usable then, or the line must name both."""
    example, (range_, may_be_none) = example_of(settings), number_fields(settings)[name]
    given_value = (value,) if isinstance(getattr(example, name), tuple) else value
    is_in_range = range_.admits(value) or (value is None and may_be_none)
    try:
        changed = replace(example, **{name: given_value})
        use(changed)
    except UserError as error:
        line = str(error)
        assert "\n" not in line and len(line) < 250, (name, value, line)
        said = line.lower().replace("-", "_")
        assert name in said, f"{name} = {value!r}: {line}"
        shown = repr(value).lower().replace("-", "_")
        assert shown[:30] in said, f"{name} = {value!r}: {line}"
    except Exception as error:
        raise AssertionError(f"{settings.__name__}.{name} = {value!r}: {error!r}") from error
    else:
        assert is_in_range, f"{settings.__name__}.{name} = {value!r} was accepted"


def use(settings: Any) -> None:
    """What a command does with its settings before anything is trained."""
    if isinstance(settings, RunSettings):
        config = settings.bert_config(settings.vocab_size or 8192)
        adam = settings.adam(config)
        steps = settings.steps
        for step in (0, settings.warmup - 1, settings.warmup, steps - 1):
            if 0 <= step < steps:
                rate = learning_rate(step, peak=adam.learning_rate, total_steps=steps,
                                     warmup_steps=settings.warmup)  # fmt: skip
                assert math.isfinite(rate) and 0 <= rate <= 1
        assert settings.phases[-1].last_step == steps
        most = settings.masking.max_predictions(settings.seq_length)
        assert 1 <= most <= settings.seq_length
        assert settings.evaluation_interval >= 1 and settings.saving_interval >= 1
        last_example = settings.phases[-1].first_example_of(steps) + settings.batch_size
        assert last_example < 2**63, "the index of an example is a 64-bit number"
        torch.manual_seed((settings.seed * 1_000_003 + steps) * MOST_RANKS + MOST_RANKS)
        assert settings.pairs
    elif isinstance(settings, FinetuneSettings):
        for hidden in (1, 128, 10**6):
            AdamSettings(learning_rate=settings.rate(hidden), weight_decay=settings.weight_decay,
                         max_grad_norm=settings.max_grad_norm)  # fmt: skip
        assert math.isfinite(settings.epochs * 2**40)
        torch.manual_seed(((settings.seed + settings.seeds) * 1_000_003) * MOST_RANKS)
    elif isinstance(settings, BertConfig):
        assert settings.head_dim >= 1
    assert all(field.name in vars(settings) for field in fields(settings))
