"""What the page of an exercise promises, sentence by sentence, and the checks that hold it.

`tests/exercises/bank/NN_name/promises.py` holds PROMISES: a sentence of the README or of a
docstring of the starter, word for word, and the names of the checks that fail where it is not kept.
"""

import ast
import runpy

from autograder.points import CATALOGUE, EXERCISES, Exercise, checks_of
from autograder.runner import sentence
from bert_experiments.grader.bank import BANK
from bert_run.errors import UserError
from bert_run.files import write_atomically

PAGE = EXERCISES / "PROMISES.md"
HEAD = """# What the exercises promise, and the checks that hold it

Every sentence of an exercise's page or starter that demands something of an answer, with the checks
that fail where it is not kept. `python -m bert_experiments.grader promises` writes this page from
`tests/exercises/bank/NN_name/promises.py`; a test compares the sentences with the pages, and every
check must hold at least one."""


def promises(exercise: Exercise) -> dict[str, tuple[str, ...]]:
    """The sentences, each with its checks; empty if none are written down yet."""
    path = BANK / exercise.name / "promises.py"
    return runpy.run_path(str(path))["PROMISES"] if path.is_file() else {}


def problems(exercise: Exercise) -> list[str]:
    """Sentences that stand nowhere, checks that do not exist, and checks that hold no sentence."""
    pages = one_line(exercise_text(exercise))
    checks = {check.id for check in checks_of(exercise)}
    written = promises(exercise)
    found = [f"stands nowhere: {text}" for text in written if one_line(text) not in pages]
    named = {name for names in written.values() for name in names}
    found += [f"no such check: {name}" for name in sorted(named - checks)]
    found += [f"holds no sentence: {name}" for name in sorted(checks - named)]
    return found + [f"no check: {text}" for text, names in written.items() if not names]


def exercise_text(exercise: Exercise) -> str:
    """All that a student reads: the README, and the starter with its docstrings."""
    starter = exercise.starter.read_text("utf-8")
    tree = ast.parse(starter)
    documented = [tree, *(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))]
    docstrings = [ast.get_docstring(node) or "" for node in documented]
    readme = (exercise.folder / "README.md").read_text("utf-8")
    return "\n".join([readme, *docstrings, starter])


def one_line(text: str) -> str:
    return " ".join(text.split())


def page() -> str:
    """All sentences with their checks, as Markdown."""
    lines = [HEAD]
    for exercise in CATALOGUE:
        lines += ["", f"## [{exercise.name}]({exercise.name}/README.md)", "",
                  "| sentence | checks |", "|---|---|"]  # fmt: skip
        lines += [f"| {cell(text)} | {'; '.join(map(sentence, names))} |"
                  for text, names in promises(exercise).items()]  # fmt: skip
    return "\n".join([*lines, ""])


def write_page() -> None:
    """Raises `UserError` if a sentence or a check is not as it should be."""
    wrong = [f"{e.name}: {problem}" for e in CATALOGUE for problem in problems(e)]
    if wrong:
        raise UserError("\n".join([f"{len(wrong)} promises are not as they should be", *wrong]))
    write_atomically(PAGE, page())


def cell(text: str) -> str:
    return one_line(text).replace("|", "\\|")
