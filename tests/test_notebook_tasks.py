"""What notebooks ask the student to do: every fill-in is checked, solved, and told wrong when it is
wrong; the counts of what has no answer only shrink."""

import ast
import importlib
import linecache
import sys
from pathlib import Path

import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

sys.path.insert(0, str(Path(__file__).parent))  # tests are not a package

import notebook_tasks as tasks
from notebook_parts import ROOT, Notebook, all_notebooks

from bert_experiments.fill_in import FillIn, is_to_do

FILL_INS = [
    (book, task)
    for book in map(Notebook.read, all_notebooks())
    for task in tasks.complete_tasks(book)
]


def module_of(book: Notebook):
    number = tasks.number_of(book).replace("/", "_")
    return importlib.import_module(f"bert_experiments.fill_in.nb_{number}")


def run_cell(source: str, names: dict) -> None:
    """As a notebook runs it: the source of a function can be read back."""
    file = f"<cell {abs(hash(source))}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), names)


def imports_above(book: Notebook, place: int) -> str:
    code = "\n".join(cell.source for cell in book.cells[:place] if cell.cell_type == "code")
    nodes = [node for node in ast.parse(code).body if isinstance(node, ast.Import | ast.ImportFrom)]
    return "\n".join(map(ast.unparse, nodes))


def answered(book: Notebook, task: tasks.Task, source: str, capsys) -> str:
    """What the check says when the cell holds `source`."""
    names = {"check": module_of(book)}
    run_cell(imports_above(book, task.cell), names)
    run_cell(source, names)
    capsys.readouterr()
    run_cell(f"{task.name} = check.{task.name}({task.name})", names)
    return capsys.readouterr().out


def name_of(pair) -> str:
    return f"{tasks.number_of(pair[0])}-{pair[1].name}"


@pytest.mark.parametrize("pair", FILL_INS, ids=name_of)
def test_a_fill_in__is_to_do_when_empty_and_right_with_its_solution(pair, capsys):
    book, task = pair
    assert answered(book, task, book.cells[task.cell].source, capsys).startswith("Still to do.")
    assert answered(book, task, task.solution, capsys) == "Right.\n"


@pytest.mark.parametrize("pair", FILL_INS, ids=name_of)
def test_a_fill_in__tells_each_of_two_mistakes_at_least_by_its_name(pair):
    book, task = pair
    fill_in = getattr(module_of(book), task.name)
    assert fill_in.name == task.name
    assert len(fill_in.mistakes) >= 2
    for says, wrong in fill_in.mistakes.items():
        assert fill_in.problem_with(wrong).endswith(f"likely mistake: {says}")


def test_every_module_of_fill_ins_belongs_to_a_notebook_that_asks_for_all_of_them():
    asked = {}
    for book, task in FILL_INS:
        asked.setdefault(module_of(book).__name__, set()).add(task.name)
    for path in (ROOT / "experiments/bert_experiments/fill_in").glob("nb_*.py"):
        module = importlib.import_module(f"bert_experiments.fill_in.{path.stem}")
        offered = {value.name for value in vars(module).values() if isinstance(value, FillIn)}
        assert asked.get(module.__name__, set()) == offered


# The check itself, on a small fill-in.

DOUBLE = FillIn(
    "double",
    reference=lambda x: 2 * x,
    instead="the package's",
    inputs=[(np.array([1.0, 2.0]),), (np.array([[3.0]]),)],
    mistakes={"this is the square": lambda x: x**2, "this is a half": lambda x: x / 2},
)
NUMBER = FillIn("third", 1 / 3, "the right number", {"this is a half": 0.5, "upside down": 3.0})


def said(fill_in: FillIn, answer, capsys) -> str:
    given_back = fill_in(answer)
    out = capsys.readouterr().out
    assert (given_back is answer) == (out == "Right.\n")
    assert given_back is answer or given_back is fill_in.reference
    return out


def test_fill_in__a_wrong_answer_is_told_the_call_both_values_and_the_mistake(capsys):
    out = said(DOUBLE, lambda x: x / 2, capsys)
    assert "double(np.array([1.0, 2.0])): 2 of 2 numbers differ" in out
    assert "expected  [2., 4.]" in out and "got       [0.5, 1. ]" in out
    assert "likely mistake: this is a half\nUntil it is right" in out


def test_fill_in__a_mistake_that_fits_one_input_alone_is_not_named(capsys):
    out = said(DOUBLE, lambda x: x**2 if x.ndim == 1 else x, capsys)
    assert "Not yet." in out and "likely" not in out


def changes_its_argument(x):
    x *= 2
    return x


def stops(x):
    y = 2 * x
    return y + np.ones(7)


def loses_an_axis(x):
    y = np.stack([x, x, x])
    return y + y.sum(axis=1)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda x: None, "returned None: is a `return` missing?"),
        (changes_its_argument, "changed its argument 1 in place"),
        (stops, "in the line  return y + np.ones(7)"),
        (loses_an_axis, "likely mistake: an axis is missing: a sum or mean without keepdims=True"),
        (lambda: 1, "stopped with TypeError"),
        (lambda x: 2 * x[0], "expected a NumPy array"),
        (3, "double is no function"),
    ],
)
def test_fill_in__says_of_a_function_that(answer, says, capsys):
    assert says in said(DOUBLE, answer, capsys)


def test_fill_in__shapes_that_no_reduction_explains_get_no_guess(capsys):
    assert "likely" not in said(DOUBLE, stops, capsys)


def test_fill_in__a_right_function_and_a_right_number_are_right(capsys):
    assert said(DOUBLE, lambda x: x + x, capsys) == "Right.\n"
    assert said(NUMBER, 1 / 3, capsys) == "Right.\n"
    assert "third: expected 0.333" in said(NUMBER, 3.0, capsys)
    assert "likely mistake: upside down" in said(NUMBER, 3.0, capsys)
    assert said(NUMBER, ..., capsys).startswith("Still to do.")


def test_fill_in__a_check_that_is_run_twice_does_not_praise_its_own_function(capsys):
    given_back = DOUBLE(stops)
    capsys.readouterr()
    assert DOUBLE(given_back) is DOUBLE.reference
    assert capsys.readouterr().out.startswith("This is the package's: run the cell above again")


@pytest.mark.parametrize(
    ("source", "to_do"),
    [("def f(x):\n    '''Doc.'''\n    ...", True), ("def f(x):\n    y = ...\n    return y", True),
     ("def f(x):\n    return x[..., None]", False), ("def f(x):\n    x[...] = 1", False),
     ("def f(x):\n    return ...", True)],
)  # fmt: skip
def test_is_to_do__finds_the_three_dots_that_stand_for_missing_code(source, to_do):
    names = {}
    run_cell(source, names)
    assert is_to_do(names["f"]) is to_do


# Counting.


def book_of(*cells, path="01_x/03_y.ipynb") -> Notebook:
    return Notebook(Path(path), list(cells))


FOLD = "<details><summary>Answer</summary>\n\nYes.\n\n</details>"


def test_counts__a_guess_is_seen_unless_the_cell_below_is_tagged():
    asks = new_markdown_cell("A story.\n\nWhich is larger? Guess before you run.")
    told = new_code_cell("1", outputs=[new_output("stream", name="stdout", text="1")])
    assert tasks.open_guesses(book_of(asks, told)) == [1]
    folded = new_code_cell("1", outputs=told.outputs, metadata={"tags": ["guess"]})
    assert tasks.open_guesses(book_of(asks, folded)) == []


def test_counts__items_and_the_last_question_are_answered_by_a_fold():
    text = "## Try it\n\n- One.\n- Two.\n\n  FOLD\n\n## A question to think about\n\nWhy?"
    asks = book_of(new_markdown_cell(text.replace("FOLD", FOLD)))
    assert tasks.unanswered_items(asks) == 1
    assert tasks.last_question_is_unanswered(asks)
    assert not tasks.last_question_is_unanswered(book_of(new_markdown_cell(text + "\n\n" + FOLD)))


def test_counts__a_term_is_early_before_the_notebook_that_explains_it():
    early = book_of(new_markdown_cell("Two dropouts, weight-decay, [the pooler](a.md), nature."))
    assert tasks.early_terms(early) == ["dropout", "weight decay", "pooler"][:2]


def test_counts__a_term_is_explained_where_it_stands_in_bold():
    cell = new_markdown_cell("This is a **Scatter-add**, and mimetic.")
    explains = book_of(cell, path="01_x/05_y.ipynb")
    assert tasks.terms_not_in_bold(explains) == ["mimetic"]
    known = {tasks.number_of(book): book for book in map(Notebook.read, all_notebooks())}
    assert known.keys() >= set(tasks.EXPLAINED_IN.values())


def test_counts__nothing_gets_worse():
    counts, bounds = tasks.all_counts(), tasks.bounds()
    assert counts.keys() == bounds.keys(), "python tests/notebook_tasks.py --write"
    for place, bound in bounds.items():
        assert not tasks.worse(counts[place], bound), place


def test_counts__a_new_bound_is_never_worse_than_the_old_one():
    old = {"fill-ins": 2, "try it": 3, "quiz": 3}
    assert tasks.better({"fill-ins": 4, "try it": 5, "quiz": 3}, old) == {
        "fill-ins": 4, "try it": 3, "quiz": 3}  # fmt: skip
    assert tasks.worse({"fill-ins": 4, "try it": 5, "quiz": 2}, old) == [
        "try it: 5, was 3", "quiz: 2, was 3"]  # fmt: skip


QUESTION = """1. **Which?** a) one; b) two; c) three.

   <details><summary>Answer</summary>

   **b.** Because. a) is too few, c) too many.

   </details>
"""


@pytest.mark.parametrize(
    ("change", "says"),
    [(("", ""), ""), (("c) too", "and too"), "why c) is wrong"), (("**b.**", "Two."), "no fold"),
     (("c) three", "three"), "three choices")],
)  # fmt: skip
def test_quizzes__every_wrong_choice_is_told_why(change, says):
    questions = tasks.quiz_of(f"## {tasks.QUIZ}\n\n" + QUESTION.replace(*change), tasks.QUIZ)
    assert len(questions) == 1
    assert says in "".join(tasks.incomplete_questions(questions))
    assert bool(list(tasks.incomplete_questions(questions))) == bool(says)


def test_quizzes__those_at_the_end_of_a_chapter_answer_themselves():
    for path in ROOT.glob("0*/README.md"):
        questions = tasks.quiz_of(path.read_text(encoding="utf-8"), tasks.TEN)
        assert len(questions) in (0, 10), path
        assert not list(tasks.incomplete_questions(questions)), path
