"""What a page asks of Python: check an exercise, make one call, run a cell of a notebook."""

import ast
import base64
import concurrent.futures
import contextlib
import io
import json
import linecache
import pprint
import shutil
import symtable
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from tqdm import tqdm

if np.dtype(int).itemsize == 4:  # NumPy's default whole number; the grader calls it int64
    np.int32 = np.intc  # what is asked for as int32 is told apart from it


class InThisThread(concurrent.futures.Executor):
    """Does at once what is submitted: a page's Python has one thread."""

    def __init__(self, *args, **kwargs) -> None:
        pass

    def submit(self, function: Callable, /, *args, **kwargs) -> concurrent.futures.Future:
        future: concurrent.futures.Future = concurrent.futures.Future()
        try:
            future.set_result(function(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


if sys.platform == "emscripten":
    concurrent.futures.ThreadPoolExecutor = InThisThread
    tqdm.monitor_interval = 0  # a thread would watch the progress bars

HANDED_IN = Path("/tmp/handed_in")
NARROW = "Cannot cast array data from dtype('int64') to dtype('int32') according to the rule 'safe'"
WIDER_ELSEWHERE = """
  in the page NumPy counts with 32 bits: write .astype(int) after these numbers. On your machine the
  line works as it is"""
MOST_PRINTED = 20_000  # characters that a page shows of what one run prints


class Printed(io.StringIO):
    """What was printed: the beginning of it, if it is long."""

    def write(self, text: str) -> int:
        room = MOST_PRINTED - self.tell()
        if len(text) > room > 0:
            super().write(text[:room] + "\n… (the rest is not shown)\n")
        elif room > 0:
            super().write(text)
        return len(text)


@contextlib.contextmanager
def printed() -> Iterator[Printed]:
    out = Printed()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        yield out


# --- Exercises -----------------------------------------------------------------------------------


def handed_in(name: str, code: str) -> Path:
    """The student's file, in a folder of its own, apart from the starter."""
    folder = HANDED_IN / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = folder / f"{name[3:]}.py"
    path.write_text(code, encoding="utf-8")
    return path


def check(name: str, code: str, told: Callable[[str, str], None] = lambda id, outcome: None) -> str:
    """Grade a file as `pytest exercises/NN_name` does; `told` hears of each check when it is done.

    Returns JSON: the outcome and the message of each check, and what the code printed.
    """
    from autograder.points import find
    from autograder.runner import grade

    with printed() as out:
        outcomes = grade(find(name), handed_in(name, code),
                         tell=lambda outcome: told(outcome.id, outcome.outcome))  # fmt: skip
    found = [{**vars(o), "message": o.message.replace(NARROW, NARROW + WIDER_ELSEWHERE)}
            for o in outcomes]  # fmt: skip
    return json.dumps({"outcomes": found, "printed": out.getvalue()})


def call(name: str, code: str, expression: str) -> str:
    """What one call of the student's functions prints and returns, or raises."""
    path = handed_in(name, code)
    names = {"np": np, "__name__": path.stem}
    with printed() as out:
        try:
            exec(compile(code, str(path), "exec"), names)
            print(repr(eval(expression, names)))
        except BaseException as error:
            print(*last_lines(error, str(path)), sep="\n")
    return out.getvalue()


def last_lines(error: BaseException, file: str) -> list[str]:
    """Where in `file` an error was raised, and the error itself."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    lines = [f"line {frame.lineno}, in {frame.name}" for frame in frames]
    hint = ["This does not run in the page: open the course on your machine."]
    return [*lines, "".join(traceback.format_exception_only(error)).rstrip(),
            *(hint if isinstance(error, ModuleNotFoundError) else [])]  # fmt: skip


# --- Notebooks -----------------------------------------------------------------------------------

# Packages that no page has, each with the library that a cell lacks without it.
NOT_HERE = {"torch": "PyTorch", "bert_lowlevel": "PyTorch", "bert_paper": "PyTorch",
            "transformers": "PyTorch and the library transformers"}  # fmt: skip


class Notebook:
    """The names that the cells of a notebook share."""

    def __init__(self) -> None:
        self.names = {"__name__": "__main__"}
        self.runs = 0
        self.lacking: dict[str, str] = {}  # names that were not made, by the library they need

    def run(self, cell: str, source: str, quiet: bool = False) -> str:
        """Run a cell. Returns JSON: what it prints, the value of its last line, or its error; or
        which library it needs that is not here.

        `quiet` is for a cell whose outputs nobody sees: no picture is drawn.
        """
        self.runs += 1
        file = f"<{cell}, run {self.runs}>"  # `inspect` finds the source of what it defines here
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        outputs, value = [], None
        with printed() as out:
            try:
                value = self.value_of(source, file)
                if not quiet and value is not None:
                    outputs = [shown(value)]
            except BaseException as error:
                if library := self.library_for(error, source):
                    return json.dumps([{"needs": f"This cell needs {library}, which does not run "
                                        "in a browser: run it on your own machine."}])  # fmt: skip
                outputs = [{"error": "\n".join(last_lines(error, file))}]
        texts = [{"text": out.getvalue()}] if out.getvalue() else []
        return json.dumps([*texts, *outputs])

    def library_for(self, error: BaseException | None, source: str) -> str | None:
        """The library without which a cell fails here. The names that the cell would have made are
        kept: a cell that uses one of them needs the same library."""
        library = None
        while error is not None and library is None:
            if isinstance(error, ModuleNotFoundError):
                library = NOT_HERE.get(str(error.name).partition(".")[0])
            elif isinstance(error, NameError):
                library = self.lacking.get(error.name)
            error = error.__context__  # what was raised first
        if library:
            symbols = symtable.symtable(source, "cell", "exec").get_symbols()
            made = {s.get_name() for s in symbols if s.is_assigned() or s.is_imported()}
            self.lacking |= dict.fromkeys(made - self.names.keys(), library)
        return library

    def value_of(self, source: str, file: str) -> object:
        """Run the lines; the value of the last one, if it is an expression with no semicolon."""
        tree = ast.parse(source, file)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, file, "exec"), self.names)
        if last is None:
            return None
        value = eval(compile(ast.Expression(last.value), file, "eval"), self.names)
        self.names["_"] = value
        return None if source.rstrip().endswith(";") else value


def shown(value: object) -> dict[str, str]:
    """A value as a notebook shows it: a picture, else its text."""
    if hasattr(value, "_repr_png_"):
        return {"image": base64.b64encode(value._repr_png_()).decode(), "alt": str(value)}
    if type(value) in (dict, list, tuple, set):
        return {"text": pprint.pformat(value, width=80, sort_dicts=False)}
    return {"text": repr(value)}
