"""Starters are made from the solutions: `python -m autograder generate`.

In a solution the lines from `# begin solution` to `# end solution` are the answer. Inside a
function they become `raise NotImplementedError`; outside they go without a trace. What follows
`# instead`, each line behind a `# `, takes the place of the answer: for starters that hold
something other than nothing.
"""

import re
import textwrap

from autograder.points import CATALOGUE, Exercise
from bert_run.errors import UserError
from bert_run.files import write_atomically

BLOCK = re.compile(
    r"^(?P<indent> *)# begin solution\n(?P<body>.*?)^ *# end solution\n", re.MULTILINE | re.DOTALL
)


def starter_of(solution: str) -> str:
    """The text of the starter that belongs to a solution."""
    if len(re.findall(r"# begin solution\b", solution)) != len(BLOCK.findall(solution)):
        raise UserError("a `# begin solution` has no `# end solution` below it: close the block")
    made = BLOCK.sub(lambda block: _in_its_place(block, solution), solution)
    if "# end solution" in made or "# begin solution" in made:
        raise UserError("a `# end solution` has no `# begin solution` above it: open the block")
    made = re.sub(r"\n{4,}", "\n\n\n", made)
    return made.rstrip("\n") + "\n"


def _in_its_place(block: re.Match, solution: str) -> str:
    indent, body = block["indent"], block["body"]
    if (at := body.find(f"{indent}# instead\n")) >= 0:
        lines = textwrap.dedent(body[at:]).splitlines()[1:]
        return textwrap.indent("".join(f"{line[2:]}\n" for line in lines), indent)
    if not indent:
        return ""
    name = re.findall(r"^ *def (\w+)", solution[: block.start()], re.MULTILINE)[-1]
    return f'{indent}raise NotImplementedError("write {name}")\n'


def generate(exercise: Exercise) -> bool:
    """Write the starter; tells whether it changed."""
    text = starter_of(exercise.solution.read_text(encoding="utf-8"))
    if exercise.starter.is_file() and exercise.starter.read_text(encoding="utf-8") == text:
        return False
    exercise.folder.mkdir(parents=True, exist_ok=True)
    write_atomically(exercise.starter, text)
    return True


def main() -> None:
    for exercise in CATALOGUE:
        if exercise.solution.is_file() and generate(exercise):
            print(f"wrote {exercise.starter.relative_to(exercise.folder.parent.parent)}")
