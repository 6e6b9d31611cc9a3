"""Which functions are the same apart from their looks: a mark to look at, not a proof.

Two functions are alike if their syntax trees are, leaving out comments, docstrings, layout,
annotations, the names of variables and helpers, assignments that nobody reads, and the order of the
operands of + and *. Functions of a line or two are not compared: honest ones are often the same.
"""

import ast
import hashlib
from collections import defaultdict

from autograder.points import Exercise
from autograder.runner import source_text

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError, SystemError)  # or time is up
LEAST = 30  # nodes of a function that is compared
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def fingerprint(file: bytes) -> str:
    """`name=hash` of each function at the top of a file that is long enough; "" for no Python."""
    found, known = [], {}
    try:
        tree = ast.parse(source_text(file))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                above = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                known |= {n.asname or n.name: f"{above}{n.name}" for n in node.names}
        functions = [node for node in tree.body if isinstance(node, FUNCTIONS)]
        known |= {node.name: "helper" for node in functions}
        for node in functions:
            plain = Plain(node, known).visit(node)
            if sum(1 for _ in ast.walk(plain)) >= LEAST:
                digest = hashlib.sha256(ast.dump(plain).encode("utf-8", "replace")).hexdigest()
                found.append(f"{node.name}={digest[:16]}")
    except UNREADABLE:
        return ""
    return " ".join(found)


class Plain(ast.NodeTransformer):
    """Numbers a function's variables as they are set; drops what is not run or not read."""

    def __init__(self, function: ast.FunctionDef, known: dict[str, str]) -> None:
        nodes = in_order(function)
        names = [node for node in nodes if isinstance(node, ast.Name)]
        self.read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
        given = [node.arg for node in ast.walk(function) if isinstance(node, ast.arg)]
        given += [node.id for node in names
                  if isinstance(node.ctx, ast.Store) and node.id in self.read]  # fmt: skip
        self.names = known | {name: f"name{i}" for i, name in enumerate(dict.fromkeys(given))}

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self.names.get(node.id, node.id), type(node.ctx)())

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(self.names.get(node.arg, node.arg))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node = self.generic_visit(ast.FunctionDef(node.name, node.args, node.body, [], None))
        return ast.FunctionDef("", node.args, node.body or [ast.Pass()], [], None)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        """Dropped where nobody reads it."""
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        if len(names) == len(node.targets) and not self.read.intersection(names):
            return None
        return ast.Assign([self.visit(t) for t in node.targets], self.visit(node.value))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        """`x: int = 1` is `x = 1`."""
        return None if node.value is None else self.visit(ast.Assign([node.target], node.value))

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if not isinstance(node.op, ast.Add | ast.Mult):
            return self.generic_visit(node)
        parts, left = [], [node]
        while left:
            part = left.pop()
            if isinstance(part, ast.BinOp) and type(part.op) is type(node.op):
                left += [part.left, part.right]
            else:
                parts.append(self.visit(part))
        return ast.Call(node.op, sorted(parts, key=ast.dump), [])


def in_order(node: ast.AST) -> list[ast.AST]:
    """All nodes below, as they stand in the file: a loop's variable before its body."""
    return [node, *(n for child in ast.iter_child_nodes(node) for n in in_order(child))]


def marks(exercise: Exercise, prints: dict[str, str],
          earlier: dict[str, str] | None = None) -> dict[str, str]:  # fmt: skip
    """For each student with a function that equals the solution's or another's: a line that says
    which, and whose. `prints` has the fingerprint of each student's file, `earlier` those of other
    years by a name to be shown. What equals the starter is not looked at."""
    starter = fingerprint(exercise.starter.read_bytes()).split()
    others = dict(earlier or {})
    if exercise.solution.is_file():
        others["the solution"] = fingerprint(exercise.solution.read_bytes())
    owners: dict[str, list[str]] = defaultdict(list)
    for name, own in [*others.items(), *prints.items()]:
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
