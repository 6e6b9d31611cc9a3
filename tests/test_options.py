"""Every `--option` that a message or a docstring of the packages names is one of a command."""

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import pytest
import tyro

pytestmark = pytest.mark.filterwarnings("ignore:get_parser:DeprecationWarning")

ROOT = Path(__file__).parents[1]
OPTION = re.compile(r"(?<![\w/-])--[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
OF_OTHERS = {"--nproc-per-node", "--help", "--version", "--repo-type"}  # torchrun's, all, hf's


def modules() -> dict[str, ast.Module]:
    """The parsed source of all modules of the chapters' packages, by dotted name."""
    found = {}
    for init in sorted(ROOT.glob("[0-9][0-9]_*/*/__init__.py")):
        for path in sorted(init.parent.rglob("*.py")):
            name = path.relative_to(init.parents[1]).with_suffix("")
            found[".".join(name.parts).removesuffix(".__init__")] = ast.parse(
                path.read_text(encoding="utf-8")
            )
    return found


def called(tree: ast.Module, name: str) -> list[ast.Call]:
    return [node for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            and node.func.attr == name]  # fmt: skip


def strings_of(tree: ast.Module) -> set[str]:
    return {node.value for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)}  # fmt: skip


@cache
def existing_options() -> set[str]:
    """The options of all commands, as their parsers know them."""
    found = set(OF_OTHERS)
    for name, tree in modules().items():
        settings = {call.args[0].id for call in called(tree, "cli")
                    if isinstance(call.args[0], ast.Name)}  # fmt: skip
        for kind in settings:
            parser = tyro.extras.get_parser(getattr(importlib.import_module(name), kind))
            found |= {option for action in parser._actions for option in action.option_strings}
        for call in called(tree, "add_argument"):
            found |= {arg.value for arg in call.args if isinstance(arg, ast.Constant)}
    return {option.replace("_", "-") for option in found}


def unknown_options(tree: ast.Module) -> set[str]:
    named = {option for text in strings_of(tree) for option in OPTION.findall(text)}
    return {n for n in named if n not in existing_options()
            and f"--no-{n[2:]}" not in existing_options()}  # fmt: skip


def test_options_of_commands_are_found():
    assert {"--corpus", "--checkpoint", "--vocab-size", "--train", "--revision", "--top"} <= (
        existing_options()
    )


def test_every_option_that_a_message_or_docstring_names_exists_in_a_command():
    found = {name: unknown for name, tree in modules().items()
             if (unknown := unknown_options(tree))}  # fmt: skip
    assert not found


@pytest.mark.parametrize("source, unknown", [
    ("raise UserError('download it first with --no-stream')", {"--no-stream"}),
    ('def f():\n    """Read with `--corpuss`, or --corpus."""', {"--corpuss"}),
    ("print(f'--seed {seed}; a--b; ---; x/--stream')", set()),
])  # fmt: skip
def test_the_check_of_options_catches(source, unknown):
    assert unknown_options(ast.parse(source)) == unknown
