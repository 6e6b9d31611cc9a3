"""What makes a test slow, found in its source: a process, a compiler, a browser, a kill after each
file that is written, a whole benchmark, a bank to grade.

`make test` leaves these out; `make test-all` runs everything. Nothing is marked by hand: a test has
a mechanism if it, or a fixture or a function of its file that it uses, names one.
"""

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

# The names that tell, each with what they do. A dotted name is an attribute of that module.
MECHANISMS = {
    "process": {
        "subprocess", "multiprocessing", "Popen", "os.fork", "ProcessPoolExecutor",
        "NotebookClient", "grade_in_child", "ChildTransport", "children",
        "RankProcesses", "grade_there", "CellTransport", "runner.check",
    },
    "compiler": {"torch.compile"},
    "browser": {"sync_playwright"},
    "kills": {"killed_after"},
    "benchmark": {"whole_benchmark"},
    "bank": {"try_out", "try_out_until_decided", "mutation_score", "run_bank"},
}  # fmt: skip


@cache
def names_of(path: Path) -> dict[str, set[str]]:
    """For each function, class and assignment at the top of a file, the names that it uses; those
    of the arguments too, which are fixtures."""
    found: dict[str, set[str]] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        used = {part for below in ast.walk(node) for part in _names_in(below)}
        for name in _defined_by(node):
            found[name] = found.get(name, set()) | used
    return found


def _names_in(node: ast.AST) -> Iterable[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Attribute):
        yield node.attr
        if isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"


def _defined_by(node: ast.AST) -> Iterable[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.Assign):
        yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def mechanisms_of(test: str, *files: Path) -> set[str]:
    """Those of a test function: `files` are its own and the conftests above it."""
    known = [names_of(path) for path in files]
    reached, waiting = set(), [test]
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        for names in known:
            waiting.extend(names.get(name, ()))
    return {kind for kind, telling in MECHANISMS.items() if telling & reached}
