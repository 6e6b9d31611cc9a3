"""Which answers are the same but for their looks: a mark to look at, not a proof.

Two files are alike if their syntax trees are, leaving out comments, docstrings, layout, annotations
and the names of variables. Of a short exercise there are few right answers, and honest ones meet.
"""

import ast
import hashlib
from collections import defaultdict

from autograder.points import Exercise
from autograder.runner import starter_text

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


def fingerprint(text: str) -> str:
    """The same for two files that differ in looks alone; empty for what is no Python."""
    try:
        tree = Plain().visit(ast.parse(text))
        return hashlib.sha256(ast.dump(tree).encode("utf-8", "replace")).hexdigest()
    except UNREADABLE:
        return ""


class Plain(ast.NodeTransformer):
    """Gives variables numbers in the order in which they come, and drops what is not run."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def number(self, name: str) -> str:
        return self.names.setdefault(name, f"name{len(self.names)}")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self.number(node.id), type(node.ctx)())

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(self.number(node.arg))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name, node.returns = self.number(node.name), None
        return self.without_docstring(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        """`x: int = 1` is `x = 1`."""
        if node.value is None:
            return None
        return self.visit(ast.Assign([node.target], node.value))

    def without_docstring(self, node: ast.AST) -> ast.AST:
        node.body = [line for line in node.body if not is_text(line)] or [ast.Pass()]
        return self.generic_visit(node)

    visit_Module = visit_ClassDef = without_docstring


def is_text(line: ast.stmt) -> bool:
    return (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)
            and isinstance(line.value.value, str))  # fmt: skip


def marks(exercise: Exercise, prints: dict[str, str]) -> dict[str, str]:
    """For each student whose file equals the solution or another's: a line that says which.

    `prints` has the fingerprint of each student's file; what equals the starter is not looked at.
    """
    starter = fingerprint(starter_text(exercise))
    solution = ""
    if exercise.solution.is_file():
        solution = fingerprint(exercise.solution.read_text("utf-8"))
    groups: dict[str, list[str]] = defaultdict(list)
    for student, own in prints.items():
        if own and own != starter:
            groups[own].append(student)
    found = {}
    for own, students in groups.items():
        for student in students:
            others = [other for other in students if other != student]
            same = ["the solution"] * (own == solution) + others
            if same:
                found[student] = f"{exercise.file} equals that of {', '.join(same)}".replace(
                    "that of the solution", "the solution")  # fmt: skip
    return found
