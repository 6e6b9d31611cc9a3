"""The package can be read: few files, one meaning a name, and what is special about a task type
stands in its own file."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import bert_finetuning
from bert_finetuning.tasks import TASKS
from bert_finetuning.tasks.base import Example

PACKAGE = Path(bert_finetuning.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
COMMON = {"main"}  # of every command


def defined_in(path: Path) -> set[str]:
    """The names that a module defines at its top level."""
    names = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def test_the_package__has_few_files():
    top = {path.relative_to(PACKAGE).parts[0] for path in FILES} - {"__init__.py"}
    assert len(top) <= 16 and len(FILES) <= 36


def test_a_name__has_one_meaning_in_the_package():
    found = defaultdict(list)
    for path in FILES:
        for name in defined_in(path) - COMMON:
            found[name].append(path.name)
    assert not {name: paths for name, paths in found.items() if len(paths) > 1}


def test_outside_its_own_file__no_code_asks_for_the_type_of_a_task_or_of_an_example():
    types = {task.__name__ for task in TASKS.values()}
    types |= {example.__name__ for example in Example.__subclasses__()}
    asks = re.compile(
        rf"isinstance\([^)]*\b({'|'.join(types)})\b|singledispatch|\.format\s*(==|in)\s"
        rf"|type\([^)]*\) is ({'|'.join(types)})"
    )
    for path in FILES:
        if path.parent.name != "tasks":
            assert not (found := asks.search(path.read_text("utf-8"))), f"{path.name}: {found}"


def test_the_check_of_types__catches_what_it_should():
    types = {task.__name__ for task in TASKS.values()}
    assert types >= {"Classification", "Tagging"} and len(Example.__subclasses__()) >= 4
