"""Which functions are the same but for their looks: a mark to look at, not a proof.

Two functions are alike if their syntax trees are, leaving out comments, docstrings, layout,
annotations, and all names but Python's own and those of attributes. Functions of a line or two are
not compared: honest ones meet.
"""

import ast
import builtins
import hashlib
from collections import defaultdict

from autograder.points import Exercise
from autograder.runner import source_text

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
LEAST = 30  # nodes of a function that is compared


def fingerprint(file: bytes) -> str:
    """`name=hash` of each function at the top of a file that is long enough; "" for no Python."""
    found = []
    try:
        for node in ast.parse(source_text(file)).body:
            if not isinstance(node, ast.FunctionDef):
                continue
            plain = Plain().visit(node)
            if sum(1 for _ in ast.walk(plain)) >= LEAST:
                digest = hashlib.sha256(ast.dump(plain).encode("utf-8", "replace")).hexdigest()
                found.append(f"{node.name}={digest[:16]}")
    except UNREADABLE:
        return ""
    return " ".join(found)


class Plain(ast.NodeTransformer):
    """Numbers the names of a function as they come, and drops what is not run."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def numbered(self, name: str) -> str:
        if hasattr(builtins, name):
            return name
        return self.names.setdefault(name, f"name{len(self.names)}")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self.numbered(node.id), type(node.ctx)())

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(self.numbered(node.arg))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        body = [line for line in node.body if not is_text(line)] or [ast.Pass()]
        return self.generic_visit(ast.FunctionDef("", node.args, body, [], None))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        """`x: int = 1` is `x = 1`."""
        return None if node.value is None else self.visit(ast.Assign([node.target], node.value))


def is_text(line: ast.stmt) -> bool:
    return (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)
            and isinstance(line.value.value, str))  # fmt: skip


def marks(exercise: Exercise, prints: dict[str, str]) -> dict[str, str]:
    """For each student with a function that equals the solution's or another's: a line that says
    which, and whose. `prints` has the fingerprint of each student's file. What equals the starter
    is not looked at."""
    starter = fingerprint(exercise.starter.read_bytes()).split()
    named = list(prints.items())
    if exercise.solution.is_file():
        named.insert(0, ("the solution", fingerprint(exercise.solution.read_bytes())))
    owners: dict[str, list[str]] = defaultdict(list)
    for name, own in named:
        for function in set(own.split()).difference(starter):
            owners[function].append(name)
    found = {}
    for student, own in prints.items():
        shared: dict[str, list[str]] = defaultdict(list)  # by those who have the same
        for function in own.split():
            if same := [name for name in owners[function] if name != student]:
                shared[", ".join(same)].append(function.split("=")[0])
        if shared:
            lines = [f"{' and '.join(names)} as in {who}" for who, names in shared.items()]
            found[student] = f"{exercise.file}: {'; '.join(lines)}"
    return found
