"""A notebook taken apart, and what the packages define: what the rules of notebooks look at."""

import ast
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import nbformat
from nbformat import ValidationError

from bert_run.errors import UserError, shown

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {
    "bert_corpus": 0, "bert_run": 0, "bert_numpy": 1, "bert_lowlevel": 2, "bert_paper": 3,
    "bert_finetuning": 4,
    "bert_experiments": 0,  # the laboratory, from which a notebook of any chapter takes its figures
}  # fmt: skip

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)[^)]*\)")
NUMBER = re.compile(
    r"(?<![\w.,])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w])"
)


@dataclass(frozen=True)
class Notebook:
    """A notebook, its parts taken apart for the rules."""

    path: Path
    cells: list

    @classmethod
    def read(cls, path: Path) -> "Notebook":
        return cls(path, read_notebook(path).cells)

    @cached_property
    def code(self) -> list:
        return [cell for cell in self.cells if cell.cell_type == "code"]

    @cached_property
    def prose(self) -> list[str]:
        return [cell.source for cell in self.cells if cell.cell_type == "markdown"]

    @cached_property
    def outputs(self) -> list:
        return [output for cell in self.code for output in cell.outputs]

    @cached_property
    def output_text(self) -> str:
        return "\n".join(text_of(output) for output in self.outputs)

    @cached_property
    def tree(self) -> ast.Module:
        try:
            return ast.parse("\n".join(cell.source for cell in self.code))
        except SyntaxError as error:
            line = shown((error.text or "").strip())
            raise UserError(
                f"{self.path}: its code cells are not Python ({error.msg}: {line}); magics are not "
                "allowed either"
            ) from None


def read_notebook(path: Path) -> nbformat.NotebookNode:
    """The notebook in a file; raises `UserError` for a file that holds none."""
    if not path.is_file():
        raise UserError(f"there is no notebook {path}")
    try:
        return nbformat.read(path, as_version=4)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, ValidationError):
        raise UserError(f"{path} is not a notebook: give the path of an .ipynb file") from None


def text_of(output) -> str:
    """What an output says in words: a stream, an error, or the text of a value."""
    if output.output_type == "stream":
        return output.text
    if output.output_type == "error":
        return "\n".join(output.traceback)
    return "\n".join(str(value) for kind, value in output.data.items() if kind.startswith("text/"))


def without_code(text: str) -> str:
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def links_in(text: str) -> Iterator[tuple[bool, str]]:
    """Each link: whether it is a picture, and where it leads."""
    for match in LINK.finditer(re.sub(r"`[^`]*`", "", without_code(text))):
        yield match[1] == "!", match[3]
    for match in re.finditer(r"""<(img|a)\b[^>]*\b(?:src|href)=["']([^"']+)""", text):
        yield match[1] == "img", match[2]


def fingerprint(cells: list) -> str:
    """Of the code that the outputs belong to; `run_notebooks.py --store` writes it down."""
    code = "\0".join(cell.source for cell in cells if cell.cell_type == "code")
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def all_notebooks() -> list[Path]:
    return sorted(ROOT.glob("0*/[0-9]*.ipynb"))


@cache
def package_trees() -> dict[str, ast.Module]:
    """Every file of the packages, by its dotted name."""
    trees = {}
    for package in PACKAGES:
        for path in sorted(next(ROOT.glob(f"*/{package}")).rglob("*.py")):
            parts = path.relative_to(path.parents[len(path.relative_to(ROOT).parts) - 2]).parts
            name = ".".join(parts).removesuffix(".py").removesuffix(".__init__")
            trees[name] = ast.parse(path.read_text(encoding="utf-8"))
    return trees


def definitions(tree: ast.Module, *, nested: bool) -> dict[str, ast.AST]:
    nodes = ast.walk(tree) if nested else tree.body
    return {n.name: n for n in nodes if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
