"""Mutants of a solution: every copy of it with one small change.

A mutant that passes every check shows what the checks do not ask. Only code inside functions is
changed; docstrings, annotations, imports and the text of errors stay as they are.
"""

import ast
import copy
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

# What stands in place of an operator.
OPERATORS: dict[type, tuple[type, ...]] = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Div,), ast.Mod: (ast.FloorDiv,), ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,), ast.And: (ast.Or,), ast.Or: (ast.And,),
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
# Functions, methods and types of numbers that are easily taken for one another.
NAMES = {
    "sum": "mean", "mean": "sum", "max": "min", "min": "max", "any": "all", "all": "any",
    "argmax": "argmin", "argmin": "argmax", "maximum": "minimum", "minimum": "maximum",
    "zeros": "ones", "ones": "zeros", "zeros_like": "ones_like", "ones_like": "zeros_like",
    "floor": "ceil", "ceil": "floor", "round": "floor", "log": "log2", "var": "std",
    "tril": "triu", "triu": "tril", "startswith": "endswith", "endswith": "startswith",
    "lower": "upper", "random": "standard_normal", "rand": "randn", "softmax": "log_softmax",
    "log_softmax": "softmax", "lstrip": "rstrip", "rstrip": "lstrip", "intersection": "union",
    "shuffle": "sort", "float32": "float64", "float64": "float32", "int64": "int32",
}  # fmt: skip
SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr)
RANDOM = {"rng", "generator", "draw", "random"}  # two draws swapped are other draws


@dataclass(frozen=True)
class Mutant:
    """`key` says where and what, and stays the same when other lines change."""

    key: str
    text: str


@functools.cache
def mutants(source: str) -> list[Mutant]:
    """All mutants of a file, in the order of its lines; no two are the same program."""
    tree = ast.parse(source)
    starts = _line_starts(source)
    seen, found, counts = set(), [], {}
    for function in _functions(tree):
        first, last = starts[function.lineno - 1], starts[function.end_lineno]
        seen.add(ast.dump(ast.parse(source[first:last])))
        for statement, begin, end, old, new in _edits(function, source, starts):
            text = source[:begin] + new + source[end:]
            try:
                dump = ast.dump(ast.parse(source[first:begin] + new + source[end:last]))
            except SyntaxError:
                continue
            if dump in seen:
                continue
            seen.add(dump)
            line = _one_line(statement)
            became = _without_brackets_after_for(_one_line(new))
            key = f"{function.name}: {line} | {_one_line(old)} => {became}"
            counts[key] = counts.get(key, 0) + 1
            found.append(Mutant(key if counts[key] == 1 else f"{key} #{counts[key]}", text))
    return found


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    """Functions of the file; what is nested in one belongs to it."""
    return [node for node in tree.body if isinstance(node, ast.FunctionDef)]


def _edits(function: ast.FunctionDef, source: str, starts: list[int]):
    """(statement, begin, end, old text, new text) of every change of a function."""

    def span(node: ast.AST) -> tuple[int, int]:
        return (_offset(source, starts, node.lineno, node.col_offset),
                _offset(source, starts, node.end_lineno, node.end_col_offset))  # fmt: skip

    for default in [*function.args.defaults, *(d for d in function.args.kw_defaults if d)]:
        for node, new in _expressions(default):
            begin, end = span(node)
            yield "def", begin, end, source[begin:end], _unparsed(new)
    for block in _blocks(function):
        for index, statement in enumerate(block):
            if _is_docstring(statement):
                continue
            begin, end = span(statement)
            text = source[begin:end]
            line = text.split("\n", 1)[0]
            for new in _statements(statement, text):
                yield line, begin, end, line, new
            if index + 1 < len(block) and _order_matters(statement, block[index + 1]):
                first, last = span(block[index + 1])
                swapped = source[first:last] + source[end:first] + text
                yield line, begin, last, line, swapped
            if isinstance(statement, ast.Raise):
                continue
            for root in _own_expressions(statement):
                for node, new in _expressions(root):
                    low, high = span(node)
                    yield line, low, high, source[low:high], _unparsed(new)


def _blocks(function: ast.FunctionDef) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(function):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def _own_expressions(statement: ast.stmt) -> list[ast.expr]:
    """Expressions of a statement, without inner statements, annotations and targets."""
    if isinstance(statement, ast.FunctionDef):
        return [*statement.args.defaults, *(d for d in statement.args.kw_defaults if d)]
    roots = [child for name, child in ast.iter_fields(statement)
             if name not in ("annotation", "targets", "target", "returns")]  # fmt: skip
    flat = [item for root in roots for item in (root if isinstance(root, list) else [root])]
    flat += [item.context_expr for item in flat if isinstance(item, ast.withitem)]
    return [item for item in flat if isinstance(item, ast.expr)]


def _expressions(root: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Every expression below `root`, and what may stand in its place."""
    if isinstance(root, ast.JoinedStr):
        return
    for new in _replacements(root):
        yield root, new
    negative = isinstance(root, ast.UnaryOp) and isinstance(root.operand, ast.Constant)
    for child in ast.iter_child_nodes(root):
        if isinstance(child, ast.expr) and not negative:
            yield from _expressions(child)
        elif isinstance(child, ast.keyword):
            yield from _expressions(child.value)
        elif isinstance(child, ast.comprehension):
            yield from _expressions(child.iter)
            for condition in child.ifs:
                yield from _expressions(condition)


def _replacements(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Constant):
        yield from map(ast.Constant, _other_values(node.value))
    elif isinstance(node, ast.UnaryOp):
        if isinstance(node.operand, ast.Constant) and isinstance(node.op, ast.USub):
            yield from map(ast.Constant, _other_values(-node.operand.value))
        yield node.operand
    elif isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.MatMult):
            yield _with(node, left=node.right, right=node.left)
        for other in OPERATORS.get(type(node.op), ()):
            yield _with(node, op=other())
        yield node.left
        yield node.right
    elif isinstance(node, ast.Compare):
        for other in OPERATORS.get(type(node.ops[0]), ()):
            yield _with(node, ops=[other(), *node.ops[1:]])
    elif isinstance(node, ast.BoolOp):
        yield _with(node, op=OPERATORS[type(node.op)][0]())
        yield from (v for v in node.values)
    elif isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse
    elif isinstance(node, ast.Call):
        yield from _other_calls(node)
    elif isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield _with(node, attr=NAMES[node.attr])
    elif isinstance(node, ast.Slice):
        yield from (_with(node, **{part: None}) for part in ("lower", "upper", "step")
                    if getattr(node, part) is not None)  # fmt: skip
    elif isinstance(node, ast.Tuple | ast.List) and len(node.elts) > 1:
        yield _with(node, elts=[node.elts[1], node.elts[0], *node.elts[2:]])
        if isinstance(node, ast.List):
            for i in range(len(node.elts)):
                yield _with(node, elts=node.elts[:i] + node.elts[i + 1 :])
    elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        for i, loop in enumerate(node.generators):
            for condition in loop.ifs:
                plain = copy.copy(loop)
                plain.ifs = [other for other in loop.ifs if other is not condition]
                yield _with(node, generators=[*node.generators[:i], plain,
                                              *node.generators[i + 1 :]])  # fmt: skip


def _other_values(value) -> list:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    if isinstance(value, float):
        if value == 0 or abs(value) == float("inf"):
            return [1.0]
        return [value * 1000, 0.0] if abs(value) < 1e-3 else [round(value * 1.1, 12)]
    if isinstance(value, str):
        return [f"{value}_" if value else "_"]
    return []


def _other_calls(node: ast.Call) -> Iterator[ast.expr]:
    """Without an argument, with two in another order, another function, and no call at all."""
    args, keywords = node.args, node.keywords
    for i in range(len(keywords)):
        yield _with(node, keywords=keywords[:i] + keywords[i + 1 :])
    if len(args) > 1:
        yield _with(node, args=args[:-1])
        yield _with(node, args=[args[1], args[0], *args[2:]])
    if isinstance(node.func, ast.Name) and node.func.id in NAMES:
        yield _with(node, func=ast.Name(NAMES[node.func.id]))
    if len(args) == 1 and not isinstance(args[0], ast.Starred | ast.GeneratorExp):
        yield args[0]
    if isinstance(node.func, ast.Attribute):
        is_library = isinstance(node.func.value, ast.Name) and node.func.value.id in (
            "np", "torch", "F", "math", "json", "re", "nn")  # fmt: skip
        if not is_library:
            yield node.func.value


def _statements(statement: ast.stmt, text: str) -> Iterator[str]:
    """What may stand in place of a whole statement."""
    if isinstance(statement, (*SIMPLE, ast.If, ast.For, ast.While, ast.Raise, ast.Delete)):
        yield "pass"
    if isinstance(statement, ast.Return) and statement.value is not None:
        yield "return None"
    if isinstance(statement, ast.Continue | ast.Break):
        yield "pass"
        yield "break" if isinstance(statement, ast.Continue) else "continue"
    if isinstance(statement, ast.With):
        yield _headed("if True:", statement, text)
    if isinstance(statement, ast.If):
        yield _headed("if True:", statement, text)
        yield _headed("if False:", statement, text)
    if isinstance(statement, ast.For):
        target, values = ast.unparse(statement.target), ast.unparse(statement.iter)
        yield _headed(f"for {target} in list({values})[1:]:", statement, text)
        yield _headed(f"for {target} in list({values})[:-1]:", statement, text)
    if isinstance(statement, ast.AugAssign):
        target, value = ast.unparse(statement.target), ast.unparse(statement.value)
        yield f"{target} = {value}"
        for other in OPERATORS.get(type(statement.op), ()):
            yield ast.unparse(_with(statement, op=other()))
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        name, value = statement.targets[0].id, statement.value
        if isinstance(value, ast.BinOp) and isinstance(value.left, ast.Name) and (
            value.left.id == name
        ):  # fmt: skip
            yield ast.unparse(ast.AugAssign(ast.Name(name), value.op, value.right))  # in place
        if isinstance(value, ast.Call | ast.BinOp):
            yield f"{name} = ({ast.unparse(value)}).detach()"


def _headed(head: str, statement: ast.stmt, text: str) -> str:
    """A compound statement with another first line, and the same body."""
    lines = text.split("\n")
    return "\n".join([head, *lines[statement.body[0].lineno - statement.lineno :]])


def _order_matters(first: ast.stmt, second: ast.stmt) -> bool:
    """Whether one of two simple statements reads what the other writes, or both draw."""
    if not isinstance(first, SIMPLE) or not isinstance(second, SIMPLE):
        return False
    (reads, writes), (reads_then, writes_then) = _names(first), _names(second)
    return bool(writes & (reads_then | writes_then) or reads & writes_then
                or reads & reads_then & RANDOM)  # fmt: skip


def _names(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """Names that a statement reads and writes; an item that is written writes its whole."""
    names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
    writes = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    for node in ast.walk(statement):
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            writes |= {node.value.id} if isinstance(node.value, ast.Name) else set()
    if isinstance(statement, ast.Expr):  # x.append(y), rng.shuffle(x): a call for its effect
        writes |= {node.id for node in names}
    return {node.id for node in names if isinstance(node.ctx, ast.Load)}, writes


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _with(node, **fields):
    """A copy of a node with other fields."""
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _unparsed(node: ast.expr) -> str:
    text = ast.unparse(node)
    bare = (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript, ast.Slice, ast.List,
            ast.Tuple)  # fmt: skip
    return text if isinstance(node, bare) else f"({text})"


def _without_brackets_after_for(text: str) -> str:
    """`for i, x in` for `for (i, x) in`, as Python 3.10 writes it: keys hold no version's style."""
    return re.sub(r"\bfor \(([\w, ]+)\) in\b", r"for \1 in", text)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _line_starts(source: str) -> list[int]:
    starts = [0]
    for line in source.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts


def _offset(source: str, starts: list[int], line: int, column: int) -> int:
    """The place in the text of a line and a column, which `ast` counts in bytes of UTF-8."""
    begin = starts[line - 1]
    head = source[begin : starts[line] - 1].encode()[:column]
    return begin + len(head.decode())
