"""The page that sets level 2 beside level 1 counts right and quotes what stands in the files."""

import ast
import inspect
import io
import re
import tokenize
from pathlib import Path

import pytest

from bert_lowlevel import model
from bert_numpy import encoder

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "02_pytorch_lowlevel" / "what_autograd_took_over.md").read_text("utf-8")
LEVEL_1 = ROOT / "01_numpy_from_scratch" / "bert_numpy"
LEVEL_2 = ROOT / "02_pytorch_lowlevel" / "bert_lowlevel"
LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
          tokenize.ENDMARKER)  # fmt: skip


def code_lines(path: Path) -> tuple[set[int], ast.Module]:
    """Numbers of the lines that hold code: no docstring, no comment, not blank."""
    source = path.read_text("utf-8")
    tree, lines = ast.parse(source), set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT:
            lines |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        kinds = (ast.Module, ast.FunctionDef, ast.ClassDef)
        if isinstance(node, kinds) and ast.get_docstring(node) is not None:
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return lines, tree


def count(path: Path, ending: str = "") -> int:
    """Lines of code of a file, or of its functions whose name ends so."""
    lines, tree = code_lines(path)
    if not ending:
        return len(lines)
    return sum(len(lines & set(range(node.lineno, node.end_lineno + 1))) for node in tree.body
               if isinstance(node, ast.FunctionDef) and node.name.endswith(ending))  # fmt: skip


def rows() -> dict[str, list[int]]:
    """First column of the table: the three numbers."""
    found = {}
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 5 and all(cell.isdigit() for cell in cells[2:5]):
            found[cells[1]] = [int(cell) for cell in cells[2:5]]
    return found


def test_every_number_of_the_table_is_what_stands_in_the_files():
    table = rows()
    assert len(table) == 5
    total = [0, 0, 0]
    for title, numbers in table.items():
        names = re.findall(r"\[(\w+\.py)\]", title)
        if names:
            level_2 = {"attention.py": "attention.py", "model.py": "model.py"}.get(names[-1])
            expected = [
                sum(count(LEVEL_1 / name) for name in names),
                sum(count(LEVEL_1 / name, "_backward") for name in names),
                count(LEVEL_2 / level_2) if level_2 else 0,
            ]
            assert numbers == expected, title
            total = [a + b for a, b in zip(total, expected, strict=True)]
    assert table["together"] == total
    vanished = total[0] - total[2]
    assert f"Of the {vanished} lines that vanished, {total[1]} were backward functions" in PAGE


@pytest.mark.parametrize("function", [encoder.layer_forward, encoder.layer_backward, model.layer])
def test_the_page_quotes_the_functions_as_they_are(function):
    source = inspect.getsource(function)
    body = re.sub(r'    """.*?"""\n', "", source[source.index(":\n") + 2 :], flags=re.DOTALL)
    assert body.strip() in PAGE
