"""The rules of a notebook of the course, each a function from a notebook to its complaints.

    python tests/notebook_rules.py 00_foundations/01_text_to_ids.ipynb

Nothing is run here: `run_notebooks.py` does that. The rules for a writer stand in CONTRIBUTING.md.
"""

import argparse
import ast
import re
import statistics
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import nbformat

sys.path.insert(0, str(Path(__file__).parent))

from notebook_parts import (
    PACKAGES,
    ROOT,
    Notebook,
    all_notebooks,
    definitions,
    fingerprint,
    links_in,
    package_trees,
    text_of,
    without_code,
)
from notebook_prose import links_lead_somewhere, numbers_are_computed, symbols_exist
from notebook_tasks import (
    FOLD,
    QUIZ,
    Task,
    complete_tasks,
    incomplete_questions,
    quiz_of,
    tags,
    tasks_of,
)

from bert_run.errors import UserError, command

THE_END = ("What you can now do", "The exercise to do next", "A question to think about")
AHEAD = {0: "bert_numpy.masking"}  # what a model sees has masks in it

MOST_CELLS, MOST_LINES, MEDIAN_LINES, MOST_BYTES = 99, 15, 6, 1_000_000
WORDS_A_LINE = (8, 20)
WORDS_OF_THE_FIRST = 30  # the first notebook explains more than it runs
CODE_CELLS_A_PICTURE = 6
SHARE_WITH_OUTPUT = 0.75

MACHINE_PATH = re.compile(
    r"(?<![\w.:/])(?:/(?:home|tmp|work|root|opt|usr|Users|var)/|[A-Z]:\\)\S*"
    r"|site-packages|\.venv\b"
)


# --- The size of things --------------------------------------------------------------------------


def cells_are_few_and_short(book: Notebook) -> Iterator[str]:
    cells = len(book.cells) - 2 * len(complete_tasks(book))  # a fill-in counts as one
    if cells > MOST_CELLS:
        yield f"{cells} cells: at most {MOST_CELLS}"
    lengths = [len(cell.source.splitlines()) for cell in book.code]
    for number, length in enumerate(lengths, 1):
        if length > MOST_LINES:
            yield f"code cell {number} has {length} lines: at most {MOST_LINES}"
    if lengths and statistics.median(lengths) > MEDIAN_LINES:
        yield f"the median code cell has {statistics.median(lengths)} lines: at most {MEDIAN_LINES}"


def prose_explains_the_code(book: Notebook) -> Iterator[str]:
    """What is folded is not read on the way, so it does not count."""
    prose = re.sub(r"\]\([^)]*\)", "]", FOLD.sub("", without_code("\n".join(book.prose))))
    words = len(re.findall(r"[^\W\d_]+(?:[’'-][^\W\d_]+)*", prose))
    lines = sum(bool(line.strip()) for cell in book.code for line in cell.source.splitlines())
    low, high = WORDS_A_LINE
    high = WORDS_OF_THE_FIRST if book.path.name.startswith("00_") else high
    if not low * lines <= words <= high * lines:
        yield f"{words} words for {lines} lines of code: {words / max(lines, 1):.1f} a line, " + (
            f"between {low} and {high} are wanted"
        )


def there_are_pictures(book: Notebook) -> Iterator[str]:
    drawn = sum("image/png" in output.get("data", {}) for output in book.outputs)
    drawn += sum(is_picture for text in book.prose for is_picture, _ in links_in(text))
    wanted = max(1, len(book.code) // CODE_CELLS_A_PICTURE)
    if drawn < wanted:
        yield f"{drawn} pictures for {len(book.code)} code cells: at least {wanted}"


# --- How it begins and ends ----------------------------------------------------------------------


def it_begins_with_a_question(book: Notebook) -> Iterator[str]:
    first = book.cells[0] if book.cells else None
    if first is None or first.cell_type != "markdown" or not first.source.startswith("# "):
        yield "the first cell is not prose that begins with a title (# …)"
    elif "?" not in first.source:
        yield "the first cell asks no question"


def it_ends_in_three_parts(book: Notebook) -> Iterator[str]:
    text = without_code("\n".join(book.prose))
    headings = re.findall(r"^#+ +(.+?)\s*$", text, flags=re.MULTILINE)
    if tuple(headings[-3:]) != THE_END:
        yield f"its last three headings are {headings[-3:]}: {list(THE_END)} are wanted"
    elif "?" not in text.rsplit(THE_END[-1], 1)[1]:
        yield f"{THE_END[-1]!r} asks nothing"


# --- What is stored ------------------------------------------------------------------------------


def outputs_are_stored(book: Notebook) -> Iterator[str]:
    counts = [cell.execution_count for cell in book.code]
    if counts != list(range(1, len(counts) + 1)):
        yield f"execution counts are {counts}: run it from top to bottom (--store)"
    talking = [cell for cell in book.code if "fill-in" not in tags(cell)]  # a fill-in says nothing
    shown = sum(bool(cell.outputs) for cell in talking)
    if shown < SHARE_WITH_OUTPUT * len(talking):
        yield f"{shown} of {len(talking)} code cells show something: three in four are wanted"


def outputs_belong_to_the_code(book: Notebook) -> Iterator[str]:
    stored = nbformat.read(book.path, as_version=4).metadata.get("outputs_of")
    if stored != fingerprint(book.cells):
        yield "its code was changed after its outputs were stored: run it with --store"


def outputs_are_clean(book: Notebook) -> Iterator[str]:
    for number, cell in enumerate(book.code, 1):
        for output in cell.outputs:
            if output.output_type == "error":
                yield f"code cell {number} ends in an error"
            if output.get("name") == "stderr" or "Warning: " in text_of(output):
                yield f"code cell {number} writes to stderr or warns: {text_of(output)[:80]!r}"
            kinds = set(output.get("data", {})) - {"text/plain", "text/html", "image/png"}
            if kinds:
                yield f"code cell {number} stores {', '.join(sorted(kinds))}"
    everything = [*book.prose, *(cell.source for cell in book.code), book.output_text]
    for found in MACHINE_PATH.finditer("\n".join(everything)):
        yield f"a path of somebody's machine: {found[0][:60]!r}"
    if book.path.stat().st_size > MOST_BYTES:
        yield f"{book.path.stat().st_size:,} bytes: at most {MOST_BYTES:,}"


# --- What there is to do -------------------------------------------------------------------------


def fill_ins_are_checked_and_solved(book: Notebook) -> Iterator[str]:
    yield from (found for found in tasks_of(book) if not isinstance(found, Task))


def outputs_of_guesses_are_folded(book: Notebook) -> Iterator[str]:
    for number, cell in enumerate(book.code, 1):
        if ("guess" in tags(cell)) != bool(cell.metadata.get("jupyter", {}).get("outputs_hidden")):
            yield f"code cell {number}: the tag `guess` and the folded output go together (--store)"


def quizzes_answer_themselves(book: Notebook) -> Iterator[str]:
    for text in book.prose:
        if questions := quiz_of(text, QUIZ):
            if len(questions) != 3:
                yield f"{QUIZ!r} has {len(questions)} questions"
            yield from incomplete_questions(questions)


# --- What the packages have ----------------------------------------------------------------------


def body_of(node: ast.AST) -> str:
    """What a definition does, its docstring, types and name left out."""
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return "\n".join(ast.dump(statement) for statement in body)


@cache
def defined_in_packages() -> tuple[dict[str, str], dict[str, str]]:
    """Functions and classes of the packages: by name, and by what they do."""
    names, bodies = {}, {}
    for module, tree in package_trees().items():
        for name, node in definitions(tree, nested=False).items():
            names.setdefault(name, f"{module}.{name}")
            if body := body_of(node):
                bodies.setdefault(body, f"{module}.{name}")
    return names, bodies


def nothing_is_defined_twice(book: Notebook) -> Iterator[str]:
    names, bodies = defined_in_packages()
    own = {task.name for task in complete_tasks(book)}  # the student's, not a copy
    for name, node in definitions(book.tree, nested=True).items():
        if name in own:
            continue
        if same := names.get(name) or bodies.get(body_of(node)):
            yield f"`{name}` is {same}: import it"


def it_imports_its_own_chapter_and_those_before(book: Notebook) -> Iterator[str]:
    own = int(re.match(r"\d+", book.path.parent.name)[0])
    dependencies = re.search(r"\ndependencies = \[(.*?)\n\]", (ROOT / "pyproject.toml").read_text(),
                             flags=re.DOTALL)[1]  # fmt: skip
    allowed = {*re.findall(r'"([\w-]+)', dependencies), *sys.stdlib_module_names, "IPython"}
    for node in ast.walk(book.tree):
        modules = (
            [alias.name for alias in node.names] if isinstance(node, ast.Import)
            else [node.module] if isinstance(node, ast.ImportFrom) else []
        )  # fmt: skip
        for module in modules:
            top = module.split(".")[0]
            if PACKAGES.get(top, -1) > own and module != AHEAD.get(own):
                yield f"imports {module}, of a later chapter"
            if top not in allowed and top not in PACKAGES:
                yield f"imports {module}, which `make lab` does not install"


RULES: list[Callable[[Notebook], Iterator[str]]] = [
    cells_are_few_and_short, prose_explains_the_code, there_are_pictures,
    it_begins_with_a_question, it_ends_in_three_parts,
    outputs_are_stored, outputs_belong_to_the_code, outputs_are_clean,
    fill_ins_are_checked_and_solved, outputs_of_guesses_are_folded, quizzes_answer_themselves,
    nothing_is_defined_twice, it_imports_its_own_chapter_and_those_before,
    links_lead_somewhere, symbols_exist, numbers_are_computed,
]  # fmt: skip


@command
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="notebooks (default: all)")
    paths = parser.parse_args().files or all_notebooks()
    books = [Notebook.read(path.resolve()) for path in paths]
    found = 0
    for path, book in zip(paths, books, strict=True):
        if not re.match(r"\d\d_", book.path.parent.name):
            raise UserError(f"{path} is not in the folder of a chapter, NN_name: put it there")
        for rule in RULES:
            for complaint in rule(book):
                found += 1
                print(f"{path}: {complaint}")
    print(f"{len(paths)} notebooks, {found} complaints")
    sys.exit(found > 0)


if __name__ == "__main__":
    main()
