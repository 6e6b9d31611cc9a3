"""The guide for teaching assistants: for each exercise its usual mistakes, what the student is told
about them, which hint answers them, and a question for office hours.

Which mistakes are usual, and the questions, stand in `teaching/usual.toml`; all else is read from
the banks, the tests and the pages of the exercises, without grading anything.
"""

import ast
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

from autograder.course import tomllib
from autograder.points import CATALOGUE, ROOT, Exercise, hints_of
from bert_experiments.grader.bank import BANK
from bert_experiments.grader.promises import cell
from bert_run.errors import UserError
from bert_run.files import write_atomically

USUAL = ROOT / "teaching" / "usual.toml"
PAGE = ROOT / "teaching" / "guide.md"
HEAD = """# Guide for teaching assistants

For office hours: the usual mistakes of each exercise, the most common first, with what the student
reads about them and the hint that answers them. Ask the question instead of telling the answer: it
leads to the first mistake of its table.

`python -m bert_experiments.grader guide` writes this page from [usual.toml](usual.toml), the banks
of wrong answers, and the tests. "…" stands for what depends on the student's answer.
"""


def guide() -> str:
    """The page, as Markdown."""
    usual = tomllib.loads(USUAL.read_text(encoding="utf-8"))
    if wrong := sorted(usual.keys() ^ {exercise.name for exercise in CATALOGUE}):
        raise UserError(f"{USUAL.name}: missing, or no exercise: {', '.join(wrong)}")
    lines = [HEAD]
    for exercise in CATALOGUE:
        page = (exercise.folder / "README.md").read_text(encoding="utf-8")
        title, minutes = page.splitlines()[0][2:], re.search(r"· (\d+) minutes ·", page)[1]
        own = usual[exercise.name]
        lines += [
            f"## {title}", "",
            f"[{exercise.name}](../exercises/{exercise.name}/README.md), "
            f"{exercise.points} points, {minutes} minutes", "",
            f"**Ask:** {' '.join(own['question'].split())}", "",
            "| mistake | the message | hint |", "|---|---|---|",
            *(f"| {' | '.join(map(cell, row))} |" for row in rows(exercise, own["mistakes"])),
            "",
        ]  # fmt: skip
    return "\n".join(lines)


def rows(exercise: Exercise, own: dict[str, int]) -> Iterator[tuple[str, str, str]]:
    """Of each mistake its name, the message that names it, and the title of the hint. Raises
    `UserError` for a mistake that the bank does not have, or that no message names."""
    bank = runpy.run_path(str(BANK / exercise.name / "wrong.py"))["WRONG"]
    titles = ["", *(title for title, _ in hints_of(exercise))]
    messages = messages_of(exercise.test)
    for name, hint in own.items():
        says = bank.get(name, ([], None))[1]
        if says is None or hint >= len(titles):
            raise UserError(f"{USUAL.name}: {exercise.name} has no wrong answer {name!r} that a "
                            f"message names, or no hint {hint}")  # fmt: skip
        whole = re.compile(rf"(?<![\w-]){re.escape(says)}")
        message = next(filter(whole.search, messages), f"… {says} …")
        yield name, message, titles[hint]


def messages_of(test: Path) -> list[str]:
    """The texts in a file of tests; "…" stands for what is filled in."""
    found = []
    for node in ast.walk(ast.parse(test.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            parts = [getattr(part, "value", "") for part in node.values]
            found.append("".join(part if type(part) is str else "…" for part in parts))
        elif isinstance(node, ast.Constant) and type(node.value) is str:
            found.append(node.value)
    return found


def write_guide(out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(out, guide())
