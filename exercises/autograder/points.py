"""The exercises in order, what each is worth, and how its points fall to its tests.

All of it comes from this file and from the tests themselves, never from what a run says.
"""

import ast
import functools
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXERCISES, SOLUTIONS = ROOT / "exercises", ROOT / "solutions"


@dataclass(frozen=True)
class Exercise:
    """`chapter` is the last one that it needs; `uses` the packages of the course that the
    student's file may import, without those that hold the answer."""

    name: str
    points: int
    chapter: int
    uses: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        return f"{self.name[3:]}.py"

    @property
    def folder(self) -> Path:
        return EXERCISES / self.name

    @property
    def starter(self) -> Path:
        return self.folder / self.file

    @property
    def test(self) -> Path:
        return self.folder / f"test_{self.file}"

    @property
    def solution(self) -> Path:
        return SOLUTIONS / self.name / self.file


CATALOGUE = (
    Exercise("01_wordpiece", 4, chapter=0),
    Exercise("02_sentence_pairs", 4, chapter=0),
    Exercise("03_softmax", 3, chapter=1),
    Exercise("04_layer_norm", 4, chapter=1),
    Exercise("05_gelu", 2, chapter=1),
    Exercise("06_attention", 5, chapter=1),
    Exercise("07_multi_head", 4, chapter=1),
    Exercise("08_embeddings", 3, chapter=1),
    Exercise("09_masked_cross_entropy", 4, chapter=1),
    Exercise("10_mlm_masking", 5, chapter=0),
    Exercise("11_bert_adam", 4, chapter=1),
    Exercise("12_encoder_layer", 4, chapter=2),
    Exercise("13_encoder_real_weights", 5, chapter=2),
    Exercise("14_masking_on_device", 4, chapter=2),
    Exercise("15_causal_or_bidirectional", 3, chapter=2),
    Exercise("16_tied_gathered_head", 4, chapter=2),
    Exercise("17_joint_loss_accumulation", 4, chapter=2),
    Exercise("18_mlm_training", 5, chapter=3),
    Exercise("19_find_the_bug", 6, chapter=3),
    Exercise("20_reading_transformers", 3, chapter=3),
    Exercise("21_finetuning", 4, chapter=4),
    Exercise("22_ner_alignment", 4, chapter=4),
    Exercise("23_best_span", 4, chapter=4),
    Exercise("24_frozen_features", 3, chapter=4),
    Exercise("25_capstone", 5, chapter=4),
)


MANNERS = {"leaves_no_trace", "not_slower", "operations", "instructions", "seconds"}


@dataclass(frozen=True)
class Check:
    """A test of an exercise, read from its file without running it."""

    id: str
    weight: int
    functions: tuple[str, ...]  # of the student, as the test first calls each
    hint: int = 0  # of the exercise's page, which helps where this check fails; 0 for none
    of_manners: bool = False  # of what a call leaves behind or how long it takes, not of its answer


def present() -> list[Exercise]:
    """The exercises that have a test, in order."""
    return [exercise for exercise in CATALOGUE if exercise.test.is_file()]


def find(name: str) -> Exercise | None:
    return next((exercise for exercise in CATALOGUE if exercise.name == name), None)


@functools.cache
def checks_of(exercise: Exercise) -> tuple[Check, ...]:
    """The tests that must be run, whatever a run reports."""
    tree = ast.parse(exercise.test.read_text(encoding="utf-8"))
    return tuple(
        Check(
            node.name,
            _number_of_mark(node, "weight", 1),
            tuple(dict.fromkeys(_functions(node))),
            _number_of_mark(node, "hint", 0),
            _of_manners(node),
        )
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )


def _number_of_mark(test: ast.FunctionDef, name: str, default: int) -> int:
    """The number in `@pytest.mark.weight(3)`."""
    for mark in test.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == f"pytest.mark.{name}":
            return ast.literal_eval(mark.args[0])
    return default


def _functions(test: ast.FunctionDef) -> list[str]:
    found = [node for node in ast.walk(test) if isinstance(node, ast.Attribute)
             and isinstance(node.value, ast.Name) and node.value.id == "student"]  # fmt: skip
    return [node.attr for node in sorted(found, key=lambda n: (n.lineno, n.col_offset))]


def _of_manners(test: ast.FunctionDef) -> bool:
    used = {node.attr for node in ast.walk(test) if isinstance(node, ast.Attribute)}
    return bool(used & MANNERS) and not used & {"same", "share"}


def shares(total: int, weights: list[int]) -> list[int]:
    """`total` split in proportion to the weights, in whole numbers that add up to it exactly.

    What rounding leaves over goes to the largest remainders, the first of equal ones first.
    """
    whole = sum(weights)
    if whole == 0:
        return [0] * len(weights)
    parts = [total * weight // whole for weight in weights]
    order = sorted(range(len(weights)), key=lambda i: (-(total * weights[i] % whole), i))
    for i in order[: total - sum(parts)]:
        parts[i] += 1
    return parts


def hundredths() -> dict[str, dict[str, int]]:
    """Exercise, test, and what it is worth in hundredths of a point."""
    return {
        exercise.name: dict(
            zip(
                [check.id for check in checks_of(exercise)],
                shares(100 * exercise.points, [check.weight for check in checks_of(exercise)]),
                strict=True,
            )
        )
        for exercise in present()
    }
