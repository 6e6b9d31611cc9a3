"""The exercises in order, what each is worth, and how its points fall to its tests: by this file
and the tests themselves, never by what a run says."""

import ast
import functools
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from bert_run.errors import UserError
from bert_run.files import read_record

ROOT = Path(__file__).parents[2]
EXERCISES, SOLUTIONS = ROOT / "exercises", ROOT / "solutions"
LOCAL = EXERCISES / "local"  # exercises of a class's own, beside the 27
STARTERS = EXERCISES / "starters.json"  # the hash of each starter, as it is handed out


@dataclass(frozen=True)
class Exercise:
    """`chapter` is the last one that it needs; `libraries` what the student's file may import."""

    name: str
    points: int
    chapter: int
    libraries: tuple[str, ...] = ("numpy",)
    is_local: bool = False

    @property
    def file(self) -> str:
        return f"{self.name[3:]}.py"

    @property
    def folder(self) -> Path:
        return (LOCAL if self.is_local else EXERCISES) / self.name

    @property
    def starter(self) -> Path:
        return self.folder / self.file

    @property
    def test(self) -> Path:
        return self.folder / f"test_{self.file}"

    @property
    def solution(self) -> Path:
        return SOLUTIONS / ("local" if self.is_local else "") / self.name / self.file

    @property
    def allowed(self) -> str:
        """The sentence of its page that says what the file may import."""
        names = ", ".join([*(NAMED.get(n, n) for n in self.libraries), "Python's own library"])
        return f"Your file may import {names} and `jaxtyping`; any other import scores 0."


NAMED = {"numpy": "NumPy", "torch": "PyTorch"}
# What one should know before the first week: no points, and no place in reports of all exercises.
READY = Exercise("00_ready", 0, chapter=0)
ENTRIES = json.loads(Path(__file__).with_name("catalogue.json").read_text(encoding="utf-8"))
CATALOGUE = tuple(Exercise(name, own["points"], own["chapter"],
                           tuple(own.get("libraries", ["numpy"])))
                  for name, own in ENTRIES.items())  # fmt: skip
HINT = re.compile(r"<summary>(.*?)</summary>(.*?)</details>", re.DOTALL)
DRAWS = {"checks.rng", "checks.generator", "checks.anew", "sweep.Draw"}
MANNERS = {"leaves_no_trace", "not_slower", "lines_run", "seconds"}


@dataclass(frozen=True)
class Check:
    """A test of an exercise, read from its file without running it."""

    id: str
    weight: int
    functions: tuple[str, ...]  # of the student, as the test first calls each
    hint: int = 0  # of the exercise's page, which helps where this check fails; 0 for none
    of_manners: bool = False  # of what a call leaves behind or how long it takes, not of its answer
    is_drawn: bool = False  # its inputs are drawn, so that under a secret seed nobody knows them
    touches: frozenset[str] = frozenset()  # functions of the student, also those that helpers call


def present() -> list[Exercise]:
    """The exercises that have a test, in order; those of a class's own come last."""
    return [exercise for exercise in (*CATALOGUE, *local()) if exercise.test.is_file()]


def local() -> list[Exercise]:
    """The exercises in exercises/local, each with an `exercise.json`; none where the environment
    says `BERT_LOCAL_EXERCISES=off`, as in the project's tests."""
    if os.environ.get("BERT_LOCAL_EXERCISES") == "off":
        return []
    found = []
    for path in sorted(LOCAL.glob("*/exercise.json")):
        name, way_out = path.parent.name, 'write {"points": 3, "libraries": ["numpy"]} there'
        fields = read_record(path, {"points": int}, {"libraries": list}, way_out=way_out)
        points, libraries = fields["points"], fields.get("libraries", ["numpy"]) or []
        if points <= 0 or not all(isinstance(library, str) for library in libraries):
            raise UserError(f"{path}: {way_out}")
        if not re.fullmatch(r"\d\d_[a-z]\w*", name) or any(e.name == name for e in CATALOGUE):
            raise UserError(f"{path.parent}: name it like 30_perplexity, with a number of its own")
        found.append(Exercise(name, points, 4, libraries=tuple(libraries), is_local=True))
    return found


def find(name: str) -> Exercise | None:
    """The exercise of this name, or of this number: `03_softmax` or `03`."""
    every = (READY, *CATALOGUE, *local())
    return next((each for each in every if name in (each.name, each.name[:2])), None)


def hints_of(exercise: Exercise) -> list[tuple[str, str]]:
    page = exercise.folder / "README.md"
    found = HINT.findall(page.read_text(encoding="utf-8")) if page.is_file() else []
    return [(title.strip(), text.strip()) for title, text in found]


@functools.cache
def checks_of(exercise: Exercise) -> tuple[Check, ...]:
    """The tests that must be run, whatever a run reports."""
    tree = ast.parse(exercise.test.read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    names = {node.name: names_in(node) for node in functions}
    return tuple(check_of(node, names) for node in functions if node.name.startswith("test_"))


def names_in(function: ast.FunctionDef) -> list[str]:
    """The names in a function, in its order: `rng`, `student.softmax`, `.T` of an expression."""
    nodes = [n for n in ast.walk(function) if isinstance(n, (ast.Name, ast.Attribute))]
    nodes.sort(key=lambda node: (node.lineno, node.col_offset))
    return [node.id if isinstance(node, ast.Name) else
            f"{getattr(node.value, 'id', '')}.{node.attr}" for node in nodes]  # fmt: skip


def check_of(test: ast.FunctionDef, names: dict[str, list[str]]) -> Check:
    own = names[test.name]
    seen = [test.name]  # the test, and all functions of its file that it calls
    for caller in seen:
        seen += dict.fromkeys(name for name in names[caller] if name in names and name not in seen)
    reached = [name for function in seen for name in names[function]]
    asked = {name.rpartition(".")[2] for name in own if "." in name}
    marks = {ast.unparse(mark.func): mark.args[0].value for mark in test.decorator_list}
    return Check(
        test.name, marks.get("pytest.mark.weight", 1), functions_of_student(own),
        marks.get("pytest.mark.hint", 0), is_drawn=not DRAWS.isdisjoint(reached),
        of_manners=bool(asked & MANNERS) and not asked & {"same", "share"},
        touches=frozenset(functions_of_student(reached)))  # fmt: skip


def functions_of_student(names: list[str]) -> tuple[str, ...]:
    """The functions that are asked for as `student.f`, each once."""
    found = (name.removeprefix("student.") for name in names if name.startswith("student."))
    return tuple(dict.fromkeys(found))


def shares(total: int, weights: list[int]) -> list[int]:
    """`total` split in proportion to the weights, in whole numbers that add up to it exactly. What
    rounding leaves over goes to the largest remainders, the first of equal ones first."""
    whole = sum(weights)
    if whole == 0:
        return [0] * len(weights)
    parts = [total * weight // whole for weight in weights]
    order = sorted(range(len(weights)), key=lambda i: (-(total * weights[i] % whole), i))
    for i in order[: total - sum(parts)]:
        parts[i] += 1
    return parts


def worth(exercise: Exercise) -> dict[str, int]:
    """What each test of an exercise is worth, in hundredths of a point."""
    checks = checks_of(exercise)
    parts = shares(100 * exercise.points, [check.weight for check in checks])
    return {check.id: part for check, part in zip(checks, parts, strict=True)}


def all_present() -> list[Exercise]:
    """READY, worth nothing; the course, worth 100 points; a class's own, on top of them."""
    return [READY] * READY.test.is_file() + present()
