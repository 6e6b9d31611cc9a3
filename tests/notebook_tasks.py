"""What a notebook asks the student to do, and whether the answer is there: a table of counts.

    python tests/notebook_tasks.py             the counts of each notebook
    python tests/notebook_tasks.py --write     makes better counts the bounds of the test

fill-ins    cells tagged `fill-in`, each with its check and its folded solution
seen        guesses whose output is open below: the cell that answers is to be tagged `guess`
try it      items of "Try it" without a folded answer
question    1 if "A question to think about" has no folded answer
early       terms of the glossary that are used before the notebook that explains them
not bold    terms that are to be explained here (`EXPLAINED_IN`) and stand nowhere here in bold
quiz        questions from earlier notebooks at the head
drawing     1 if the drawing of BERT stands at the head
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from notebook_parts import ROOT, Notebook, all_notebooks, without_code

from bert_run.files import write_atomically

BOUNDS = Path(__file__).with_name("notebook_tasks.json")
MORE = ("fill-ins", "quiz", "drawing")  # may only grow; the others may only shrink

FOLD = re.compile(r"<details>\s*<summary>([^<]*)</summary>(.*?)</details>", re.DOTALL)
FENCED = re.compile(r"^ *```python\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)
QUIZ = "Three questions from before"  # the heading in a notebook; `TEN` in a chapter's README
TEN = "Ten questions"

# Words that ask for a guess, if the paragraph that has them is the last one before a code cell.
ASKS_A_GUESS = re.compile(
    r"(?i)\bguess\b|\bpredict\b|\bbefore you (?:run|look|read on)\b|what do you expect"
)

# --- Fill-ins ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """A fill-in of a notebook: the places of its two code cells, its name, its folded solution."""

    cell: int
    check: int
    name: str
    solution: str


def tags(cell) -> list[str]:
    return cell.metadata.get("tags", [])


def tasks_of(book: Notebook) -> Iterator[Task | str]:
    """The fill-ins; for one that is not complete, what is missing."""
    for place, cell in enumerate(book.cells):
        if "fill-in" not in tags(cell):
            continue
        name = re.search(r"^(?:def (\w+)\(|(\w+) = \.\.\.)", cell.source, re.MULTILINE)
        if not name or not re.search(r"^\s*(?:\w+ = )?\.\.\.", cell.source, re.MULTILINE):
            yield f"cell {place}: a fill-in is `def name(…):` with a docstring and `...`"
            continue
        name = name[1] or name[2]
        after = book.cells[place + 1 : place + 3]
        if not after or f"{name} = check.{name}({name})" not in after[0].source:
            yield f"cell {place}: the next cell is to be `{name} = check.{name}({name})`"
            continue
        folded = FOLD.match(after[1].source.strip()) if len(after) == 2 else None
        code = FENCED.search(folded[2]) if folded else None
        if not code or not re.search(rf"^(?:def {name}\(|{name} =)", code[1], re.MULTILINE):
            yield (f"cell {place}: after the check of `{name}` stands <details><summary>Solution"
                   "</summary> with the code in a ```python block")  # fmt: skip
            continue
        yield Task(place, place + 1, name, code[1].rstrip())


def complete_tasks(book: Notebook) -> list[Task]:
    return [task for task in tasks_of(book) if isinstance(task, Task)]


def fill_in(book) -> list[int]:
    """Put the folded solutions into the cells of a notebook; the places of the cells to check."""
    tasks = complete_tasks(Notebook(Path(), book.cells))
    for task in tasks:
        book.cells[task.cell].source = task.solution
    return [task.check for task in tasks]


# --- Guesses, folds and quizzes ------------------------------------------------------------------


def open_guesses(book: Notebook) -> list[int]:
    """Code cells that answer a guess in plain sight."""
    found = []
    for place, (before, cell) in enumerate(zip(book.cells, book.cells[1:], strict=False), 1):
        asked = before.cell_type == "markdown" and cell.cell_type == "code"
        if asked and "guess" not in tags(cell) and cell.outputs:
            last = re.split(r"\n\s*\n", FOLD.sub("", before.source).strip())[-1]
            if ASKS_A_GUESS.search(last):
                found.append(place)
    return found


def sections(text: str) -> dict[str, str]:
    """The text below each heading, up to the next one of any level."""
    parts = re.split(r"^#+ +(.+?)\s*$", hide_code(text), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def hide_code(text: str) -> str:
    """Fenced code without its `#` and `-`, which are no headings and no items."""
    return re.sub(r"```.*?```", lambda match: re.sub(r"(?m)^(\s*)[#-]", r"\1 ", match[0]), text,
                  flags=re.DOTALL)  # fmt: skip


def items(text: str) -> list[str]:
    """The items of a list, each with what is indented below it."""
    return re.split(r"^(?:[-*]|\d+\.) +", text, flags=re.MULTILINE)[1:]


def unanswered_items(book: Notebook) -> int:
    tries = [section for text in book.prose for heading, section in sections(text).items()
             if heading.startswith("Try it")]  # fmt: skip
    return sum(not FOLD.search(item) for section in tries for item in items(section))


def last_question_is_unanswered(book: Notebook) -> bool:
    question = sections("\n\n".join(book.prose)).get("A question to think about", "")
    return not FOLD.search(question)


def quiz_of(text: str, heading: str) -> list[str]:
    return items(sections(text).get(heading, ""))


def incomplete_questions(questions: list[str]) -> Iterator[str]:
    """A question has choices a), b), c) …; its fold begins with the right letter and says of each
    other letter why it is wrong."""
    for number, question in enumerate(questions, 1):
        asked, _, _ = question.partition("<details>")
        letters = re.findall(r"(?<!\w)([a-e])\)", asked)
        fold = FOLD.search(question)
        if len(letters) < 3 or letters != sorted(set(letters)):
            yield f"question {number} needs three choices at least: a) … b) … c) …"
        elif not fold or not (right := re.match(r"\s*\*\*([a-e])\b", fold[2])):
            yield f"question {number}: no fold that begins with the right letter, **b**"
        else:
            for letter in set(letters) - {right[1]}:
                if not re.search(rf"(?<!\w){letter}\)", fold[2]):
                    yield f"question {number} does not say why {letter}) is wrong"


# --- Terms ---------------------------------------------------------------------------------------

# Where a term is explained: its definition there has it in bold, and no notebook before uses it.
# A writer who explains one earlier changes its place here.
EXPLAINED_IN = {
    "token": "00/00", "WordPiece": "00/01", "vocabulary": "00/00", "segment": "00/00",
    "padding": "00/02", "attention mask": "00/02", "seed": "00/01", "hash": "00/03",
    "checkpoint": "00/00", "softmax": "01/01", "logit": "01/01", "cross-entropy": "01/01",
    "nat": "01/01", "gradient": "01/01", "backward pass": "01/01", "dout": "01/01",
    "cache": "01/01", "chain rule": "01/01", "Jacobian": "01/01", "layer norm": "01/02",
    "GELU": "01/02", "query": "01/03", "einsum": "01/01", "multi-head": "01/04",
    "residual": "01/04", "feed-forward": "01/04", "transformer": "00/00", "dropout": "01/04",
    "pooler": "01/04", "scatter-add": "01/05", "Adam": "01/06", "warm-up": "01/07",
    "weight decay": "01/07", "mimetic": "01/05", "autograd": "02/01",
    "perplexity": "02/03", "causal": "02/03", "encoder-only": "00/00", "decoder-only": "00/00",
    "pretraining": "00/00", "fine-tuning": "00/00", "GLUE": "03/01", "MNLI": "03/01",
    "SQuAD": "03/01", "ablation": "03/01", "accumulation": "02/05", "probe": "03/07",
    "BIO": "04/03", "bootstrap": "04/08", "confidence interval": "04/08",
    "data leakage": "04/08", "reliability diagram": "04/08",
    "expected calibration error": "04/08",
}  # fmt: skip


def number_of(book: Notebook) -> str:
    """`01/03` of chapter 1, notebook 3."""
    return f"{book.path.parent.name[:2]}/{book.path.name[:2]}"


@cache
def pattern_of(term: str) -> re.Pattern:
    """The term, its plural, and with a blank for its hyphen; capitals as written for names."""
    plural = "" if term == "transformer" else "(?:e?s)?"  # `transformers` is the library
    words = re.sub(r"\\?[- ]", "[- ]", re.escape(term)).replace("_", r"[_ ]")
    return re.compile(
        rf"(?<![a-zA-Z/])(?:{words}){plural}(?!\w)", 0 if term != term.lower() else re.I
    )


def early_terms(book: Notebook) -> list[str]:
    """Terms that stand in the prose or the code although a later notebook explains them. The name
    of a module that is imported is no use of a term."""
    code = re.sub(r"(?m)^from \S+ import ", "", "\n".join(cell.source for cell in book.code))
    text = "\n".join([*map(without_links, book.prose), code])
    return [term for term, place in EXPLAINED_IN.items()
            if number_of(book) < place and pattern_of(term).search(text)]  # fmt: skip


def terms_not_in_bold(book: Notebook) -> list[str]:
    bold = " | ".join(re.findall(r"\*\*([^*]+)\*\*", "\n".join(book.prose)))
    return [term for term, place in EXPLAINED_IN.items()
            if number_of(book) == place and not pattern_of(term).search(bold)]  # fmt: skip


def without_links(text: str) -> str:
    return re.sub(r"\[[^\]]*\]\([^)]*\)", "", without_code(text))


# --- The table -----------------------------------------------------------------------------------


def draws_bert(book: Notebook) -> bool:
    return any("draw_bert(" in cell.source for cell in book.code[:3])


def counts_of(book: Notebook) -> dict[str, int]:
    return {
        "fill-ins": len(complete_tasks(book)),
        "seen": len(open_guesses(book)),
        "try it": unanswered_items(book),
        "question": int(last_question_is_unanswered(book)),
        "early": len(early_terms(book)),
        "not bold": len(terms_not_in_bold(book)),
        "quiz": sum(len(quiz_of(text, QUIZ)) for text in book.prose),
        "drawing": int(draws_bert(book)),
    }


def counts_of_page(path: Path) -> dict[str, int]:
    """Of a chapter's README: boxes without a folded answer, and questions of its quiz."""
    text = path.read_text(encoding="utf-8")
    boxes = re.split(r"^- \[ \] ", text, flags=re.MULTILINE)[1:]
    return {"boxes": sum(not FOLD.search(box) for box in boxes), "quiz": len(quiz_of(text, TEN))}


def all_counts() -> dict[str, dict[str, int]]:
    books = [Notebook.read(path) for path in all_notebooks()]
    pages = {path.parent.name[:2]: path for path in sorted(ROOT.glob("0*/README.md"))}
    return {number_of(book): counts_of(book) for book in books} | {
        chapter: counts_of_page(path) for chapter, path in pages.items()
    }


def worse(now: dict[str, int], bound: dict[str, int]) -> list[str]:
    """The counts that got worse."""
    return [f"{name}: {now[name]}, was {best}" for name, best in bound.items()
            if (now[name] < best if name in MORE else now[name] > best)]  # fmt: skip


def better(now: dict[str, int], bound: dict[str, int]) -> dict[str, int]:
    """The bounds after an improvement: a count that got worse keeps its bound."""
    return {name: (max if name in MORE else min)(count, bound.get(name, count))
            for name, count in now.items()}  # fmt: skip


def bounds() -> dict[str, dict[str, int]]:
    return json.loads(BOUNDS.read_text(encoding="utf-8"))


def table(counts: dict[str, dict[str, int]]) -> str:
    lines = []
    for kind in (5, 2):  # notebooks, then chapters
        rows = {place: row for place, row in counts.items() if len(place) == kind}
        names = list(next(iter(rows.values())))
        lines.append(f"{'':8}" + "".join(f"{name:>10}" for name in names))
        for place, row in rows.items():
            lines.append(f"{place:8}" + "".join(f"{row[name]:>10}" for name in names))
        together = [sum(row[name] for row in rows.values()) for name in names]
        lines.append(f"{'all':8}" + "".join(f"{number:>10}" for number in together))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"write {BOUNDS.name}")
    options = parser.parse_args()
    counts = all_counts()
    print(table(counts))
    for path in all_notebooks():
        book = Notebook.read(path)
        if terms := early_terms(book):
            print(f"{number_of(book)} early: {', '.join(terms)}")
        if terms := terms_not_in_bold(book):
            print(f"{number_of(book)} not in bold: {', '.join(terms)}")
        if places := open_guesses(book):
            print(f"{number_of(book)} guesses seen: cells {', '.join(map(str, places))}")
    if options.write:
        old = bounds()
        rows = (f"  {json.dumps(place)}: {json.dumps(better(row, old.get(place, row)))}"
                for place, row in counts.items())  # fmt: skip
        write_atomically(BOUNDS, "{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
