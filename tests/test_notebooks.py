"""Notebooks: each keeps every rule, and each rule catches a notebook that breaks it."""

import ast
import inspect
import re
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

sys.path.insert(0, str(Path(__file__).parent))  # tests are not a package

import notebook_rules as rules
import run_notebooks as runner

from bert_run.errors import UserError

RULES = {rule.__name__: rule for rule in rules.RULES}


@pytest.mark.parametrize("path", rules.all_notebooks(), ids=lambda path: path.stem)
def test_a_notebook_keeps_every_rule(path):
    book = rules.Notebook.read(path)
    complaints = [f"{rule}: {says}" for rule in RULES for says in RULES[rule](book)]
    assert not complaints, "\n".join([path.name, *complaints])


@pytest.mark.parametrize("path", rules.all_notebooks(), ids=lambda path: path.stem)
def test_a_notebook_that_prints_a_function_shows_it_as_it_is_now(path):
    book, names = rules.Notebook.read(path), {}
    imports = [n for n in ast.walk(book.tree) if isinstance(n, (ast.Import, ast.ImportFrom))]
    exec(compile(ast.Module(imports, []), str(path), "exec"), names)
    for cell in book.code:
        for name in re.findall(r"^print\(inspect\.getsource\(([\w.]+)\)\)$", cell.source, re.M):
            shown = "".join(map(rules.text_of, cell.outputs))
            assert inspect.getsource(eval(name, names)) in shown, f"store it again: {name}"


def test_the_notebooks_are_found():
    assert "01_text_to_ids" in {path.stem for path in rules.all_notebooks()}


# A small notebook that keeps every rule, and what is done to it to break one.

PNG = "iVBORw0KGgo="
INTRODUCTION = """# 01 · A sum

What is one half and a quarter, and how would you find out? You know that a half is two quarters.
See [the chapter](README.md#checklist), and `bert_corpus.pairs.PairDataset`, which adds nothing."""
LAST = """It is 0.75, as you see: three quarters.

The paper has 84.4 somewhere else
([Devlin et al.](https://arxiv.org/abs/1810.04805)), in Table 5, which is another story.

## What you can now do

Add fractions.

## The exercise to do next

01_sums.

## A question to think about

What is a third?"""


def shows(text: str = "", *, picture: bool = False) -> list:
    data = {"text/plain": text} | ({"image/png": PNG} if picture else {})
    return [new_output("execute_result", data, execution_count=1)]


def good_cells() -> list:
    return [
        new_markdown_cell(INTRODUCTION),
        new_code_cell("import math", execution_count=1, outputs=shows("0")),
        new_code_cell("half = 1 / 2\nquarter = half**2\nhalf + quarter", execution_count=2,
                      outputs=shows("0.75")),
        new_markdown_cell("Here is a picture of `half` and `quarter`, drawn by the cell below."),
        new_code_cell("math.pi", execution_count=3, outputs=shows("<a circle>", picture=True)),
        new_code_cell("x_y = 3", execution_count=4),
        new_markdown_cell(LAST),
    ]  # fmt: skip


def write(cells: list, folder: Path, *, code_of: list | None = None) -> Path:
    """The notebook, as if it lay in chapter 0; its outputs said to be those of `code_of`."""
    book = new_notebook(cells=cells)
    book.metadata["outputs_of"] = rules.fingerprint(code_of or cells)
    chapter = folder / "00_foundations"
    chapter.mkdir()
    (chapter / "README.md").write_text("# Chapter\n\n## Checklist\n")
    (chapter / "results.md").write_text("A loss of 1.38.\n")
    nbformat.write(book, chapter / "01_sum.ipynb")
    return chapter / "01_sum.ipynb"


def complaints(rule: str, cells: list, folder: Path, **options) -> list[str]:
    return list(RULES[rule](rules.Notebook.read(write(cells, folder, **options))))


@pytest.mark.parametrize("rule", RULES)
def test_a_good_notebook_is_not_complained_of_by_the_rule_that(rule, tmp_path):
    assert complaints(rule, good_cells(), tmp_path) == []


def code(number: int, source: str):
    def change(cells):
        cells[number].source = source

    return change


def output(number: int, *outputs):
    def change(cells):
        cells[number].outputs = list(outputs)

    return change


def prose(number: int, text: str):
    def change(cells):
        cells[number].source += "\n\n" + text

    return change


def replaced(number: int, old: str, new: str):
    def change(cells):
        assert old in cells[number].source
        cells[number].source = cells[number].source.replace(old, new)

    return change


def repeated(cell, times: int):
    def change(cells):
        copies = [cell | {"id": f"copy-{number}"} for number in range(times)]
        cells[1:1] = map(nbformat.from_dict, copies)

    return change


def tagged(number: int, tag: str):
    def change(cells):
        cells[number].metadata["tags"] = [tag]

    return change


SOLVED = "```python\ndef add(a, b):\n    return a + b\n```"


def fill_in(check: str = "add = check.add(add)", solution: str = SOLVED):
    """A cell to fill in, its check and its folded solution, put after the first cell."""

    def change(cells):
        empty = new_code_cell('def add(a, b):\n    """The sum."""\n    ...')
        empty.metadata["tags"] = ["fill-in"]
        fold = f"<details><summary>Solution</summary>\n\n{solution}\n\n</details>"
        cells[1:1] = [empty, new_code_cell(check), new_markdown_cell(fold)]

    return change


COPY = "def anything(text):\n" + "\n".join(
    f"    {line}" for line in (
        'return "".join(f" {char} " if is_chinese(char) else char for char in text)',
    )
)  # fmt: skip

BROKEN = [
    ("cells_are_few_and_short", repeated(new_markdown_cell("x"), 99), "106 cells"),
    ("cells_are_few_and_short", code(1, "x = 1\n" * 16), "has 16 lines"),
    ("cells_are_few_and_short", repeated(new_code_cell("x = 1\n" * 7), 9), "median"),
    ("prose_explains_the_code", repeated(new_code_cell("x = 1\ny = 2"), 9), "a line"),
    ("prose_explains_the_code", prose(0, "word " * 100), "a line"),
    ("prose_explains_the_code", repeated(new_markdown_cell("```\n" + "x " * 99 + "```"), 1), ""),
    ("there_are_pictures", output(4, *shows("no picture")), "0 pictures"),
    ("there_are_pictures", repeated(new_code_cell("x"), 8), "1 pictures for 12"),
    ("it_begins_with_a_question", replaced(0, "?", "."), "no question"),
    ("it_begins_with_a_question", replaced(0, "# 01", "01"), "title"),
    ("it_ends_in_three_parts", replaced(6, "## The exercise to do next", ""), "headings"),
    ("it_ends_in_three_parts", replaced(6, "third?", "third."), "asks nothing"),
    ("outputs_are_stored", output(2), "show something"),
    ("outputs_are_stored", lambda cells: cells[2].update(execution_count=7), "[1, 7, 3, 4]"),
    ("outputs_belong_to_the_code", code(2, "half = 0.6"), "changed after"),
    ("outputs_are_clean", output(2, new_output("error", ename="E", evalue="", traceback=["E"])),
     "error"),
    ("outputs_are_clean", output(2, new_output("stream", name="stderr", text="50%")), "stderr"),
    ("outputs_are_clean",
     output(2, new_output("stream", name="stdout", text="x.py:1: UserWarning: no")), "warns"),
    ("outputs_are_clean", output(2, *shows("saved in /tmp/x3/store")), "/tmp/x3/store"),
    ("outputs_are_clean", output(2, *shows("'lib/python3/site-packages/x'")), "site-packages"),
    ("outputs_are_clean", code(2, "open('/usr/share/x')"), "/usr/share"),
    ("outputs_are_clean",
     output(2, new_output("display_data", {"application/vnd.jupyter.widget-view+json": {}})),
     "widget"),
    ("outputs_are_clean", output(2, *shows("x" * 1_000_001)), "bytes"),
    ("fill_ins_are_checked_and_solved", tagged(2, "fill-in"), "a docstring and `...`"),
    ("fill_ins_are_checked_and_solved", fill_in(check="add = add"), "the next cell is to be"),
    ("fill_ins_are_checked_and_solved", fill_in(solution="It is a + b."), "Solution"),
    ("fill_ins_are_checked_and_solved", fill_in(solution="```python\nx = 1\n```"), "Solution"),
    ("outputs_of_guesses_are_folded", tagged(2, "guess"), "go together"),
    ("quizzes_answer_themselves", prose(0, "## Three questions from before\n\n1. Why?"), "1 q"),
    ("nothing_is_defined_twice", code(2, "class PairDataset:\n    pass"), "bert_corpus.pairs"),
    ("nothing_is_defined_twice", code(2, COPY), "space_chinese"),
    ("it_imports_its_own_chapter_and_those_before",
     code(2, "from bert_numpy.model import anything"), "later chapter"),
    ("it_imports_its_own_chapter_and_those_before", code(2, "import seqeval"), "make lab"),
    ("links_lead_somewhere", prose(0, "[a](nowhere.md)"), "nowhere.md"),
    ("links_lead_somewhere", prose(0, "[a](README.md#nothing)"), "no such heading"),
    ("links_lead_somewhere", prose(0, "[a](#nothing)"), "no such heading"),
    ("links_lead_somewhere", prose(0, "![a](https://example.org/a.png)"), "not stored here"),
    ("links_lead_somewhere", prose(0, '<img src="a.png">'), "a.png"),
    ("symbols_exist", prose(0, "`bert_corpus.pairs.NoSuchThing`"), "NoSuchThing"),
    ("symbols_exist", prose(0, "`torch.nn.functional.no_such`"), "no_such"),
    ("symbols_exist", prose(0, "`F.no_such`"), "no_such"),
    ("symbols_exist", prose(0, "`layer_norm_sideways`"), "sideways"),
    ("symbols_exist", prose(0, "`sideways(x)`"), "sideways"),
    ("symbols_exist", prose(0, "`SidewaysModel`"), "SidewaysModel"),
    ("symbols_exist", prose(0, "`bert-dance`"), "bert-dance"),
    ("symbols_exist", prose(0, "`bert-pretrain --no-such-option 3`"), "no-such-option"),
    ("symbols_exist", prose(0, "`bert_corpus/no_such.py`"), "no file"),
    ("numbers_are_computed", replaced(6, "0.75", "0.76"), "0.76"),
    ("numbers_are_computed", replaced(6, "0.75", "0.8, or 0.751"), "0.751"),
    ("numbers_are_computed", prose(0, "There are 12,345 of them"), "12,345"),
    ("numbers_are_computed", prose(0, "a loss of 1.39 [here](results.md)"), "1.39"),
    ("numbers_are_computed", prose(0, "a loss of 84.4 [here](https://example.org)"), "84.4"),
    ("numbers_are_computed", prose(0, "| loss |\n|---|\n| 3.21 |"), "3.21"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "change", "says"), BROKEN)
def test_a_notebook_is_caught_by_the_rule_that(rule, change, says, tmp_path):
    cells = good_cells()
    change(cells)
    found = complaints(rule, cells, tmp_path, code_of=good_cells())
    if not says:  # a change that this rule forgives
        assert found == []
    else:
        assert found, "no complaint"
        assert says in "\n".join(found)


def test_every_rule_is_seen_to_catch_something():
    assert {rule for rule, _, says in BROKEN if says} == RULES.keys()


FOLDED_WORDS = f"<details><summary>Answer</summary>{'word ' * 100}</details>"

FINE = [
    ("numbers_are_computed", prose(0, "75.0% of it, or 0.8 when rounded, or 3/4")),
    ("numbers_are_computed", prose(0, "a loss of 1.38 ([measured](results.md)); see section 3.1")),
    ("fill_ins_are_checked_and_solved", fill_in()),
    ("nothing_is_defined_twice", fill_in(solution=SOLVED)),
    ("prose_explains_the_code", prose(0, FOLDED_WORDS)),
    ("numbers_are_computed", prose(0, "<details>\n\nIt is 0.31:\n\n```\n0.31\n```\n</details>")),
    ("symbols_exist", prose(0, "`[CLS]`, `crane`, `play ##ing`, `model.safetensors`, `x_y`")),
    ("symbols_exist", prose(0, "`np.exp`, `torch.nn.Linear`, `bert_corpus/pairs.py`, `math.pi`")),
    ("symbols_exist", prose(0, "`PairDataset.batch`, `bert-pretrain --seq-length 64`")),
    ("symbols_exist", prose(0, "`bert_corpus.pairs.SpecialTokens.cls`, a field")),
    ("links_lead_somewhere", prose(0, "[a](results.md), [b](https://example.org), `[c](d)`")),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "change"), FINE)
def test_what_is_fine_is_not_caught_by_the_rule_that(rule, change, tmp_path):
    cells = good_cells()
    change(cells)
    assert complaints(rule, cells, tmp_path) == []


# Running and comparing.


@pytest.mark.parametrize(
    ("stored", "fresh", "same"),
    [
        ("loss 0.693", "loss 0.693", True),
        ("loss 0.693", "loss 0.694", True),  # one in the last digit
        ("loss 0.693", "loss 0.695", False),
        ("[1 2 3]", "[1 2  3]", True),
        ("12 pairs", "13 pairs", False),
        ("1,024 pairs", "1,025 pairs", False),
        ("2.1e-16", "0.0", True),
        ("2.1e-3", "0.0", False),
        ("[0.69 0.2]", "[0.691 0.2]", True),
        ("[0.69 0.2]", "[0.693 0.2]", False),
        ("the cat", "the dog", False),
        ("cat 1", "cat", False),
    ],
)
def test_outputs_are_compared_up_to_one_in_the_last_digit(stored, fresh, same):
    assert runner.says_the_same(stored, fresh) is same


@pytest.mark.parametrize(("tags", "found"), [([], 1), (["varies"], 0)])
def test_a_stale_output_is_told_except_in_a_cell_that_varies(tags, found):
    stored, fresh = new_notebook(cells=good_cells()), new_notebook(cells=good_cells())
    fresh.cells[2].outputs = shows("0.9")
    stored.cells[2].metadata["tags"] = tags
    assert len(runner.differences(stored, fresh)) == found


def test_a_filled_notebook_must_be_told_that_it_is_right(tmp_path):
    cells = [new_markdown_cell("A sum.")]
    fill_in("add = check.add(add)")(cells)
    source = "class check:\n    def add(f):\n        print('Right.' if f(1, 2) {} 3 else 'To do.')"
    for relation, problems in (("==", 0), ("!=", 1)):
        cells[0] = new_code_cell(source.format(relation), execution_count=1)
        (tmp_path / relation).mkdir()
        path = write(cells, tmp_path / relation)
        assert len(runner.check(path, limit=60, store=False, filled=True)[1]) == problems


def test_a_guess_is_stored_with_its_output_folded():
    cells = good_cells()
    cells[2].metadata["tags"] = ["guess"]
    book = runner.tidy(new_notebook(cells=cells))
    assert book.cells[2].metadata == {"tags": ["guess"], **runner.FOLDED}
    assert book.cells[1].metadata == {}


def runnable(folder: Path, source: str) -> Path:
    return write([new_code_cell(source)], folder)


def test_a_run_that_stores_nothing_leaves_the_file_alone(tmp_path):
    path = runnable(tmp_path, "print(1 + 1)")
    before = path.read_bytes()
    _, problems = runner.check(path, limit=60, store=False)
    assert "no longer shows" in problems[0]
    assert path.read_bytes() == before


def test_a_stored_notebook_is_fresh_and_tidy(tmp_path):
    path = runnable(tmp_path, "from pathlib import Path\nprint(Path('results.md').exists())\n1 + 1")
    assert runner.check(path, limit=60, store=True)[1] == []
    before = path.read_bytes()
    assert runner.check(path, limit=60, store=False)[1] == []
    assert runner.check(path, limit=60, store=True)[1] == []
    assert path.read_bytes() == before
    book = rules.Notebook.read(path)
    assert book.output_text.split() == ["True", "2"]  # it runs in its own folder
    for rule in ("outputs_are_stored", "outputs_belong_to_the_code", "outputs_are_clean"):
        assert list(RULES[rule](book)) == []
    assert "codemirror" not in path.read_text()


@pytest.mark.parametrize(
    ("source", "says"),
    [("1 / 0", "ZeroDivisionError"), ("import sys\nprint('x', file=sys.stderr)", "stderr"),
     ("import time\ntime.sleep(9)", "timed out")],
)  # fmt: skip
def test_a_notebook_that_fails_is_not_stored(source, says, tmp_path):
    path = runnable(tmp_path, source)
    before = path.read_bytes()
    problems = runner.check(path, limit=4, store=True)[1]
    assert says in "\n".join(problems)
    assert path.read_bytes() == before


# The commands.


NO_NOTEBOOKS = {
    "nope.ipynb": None, "text.txt": b"text", "empty.ipynb": b"", "object.ipynb": b"{}",
    "list.ipynb": b"[]", "number.ipynb": b"3", "bytes.ipynb": b"\xff\xfe",
    "no_cells.ipynb": b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}}',
    "no_cell.ipynb": b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{}]}',
}  # fmt: skip


def told(monkeypatch, capsys, command, *arguments) -> str:
    """What a command says that refuses its arguments."""
    monkeypatch.setattr(sys, "argv", ["command", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        command()
    output, errors = capsys.readouterr()
    assert (left.value.code, output) == (2, "")
    assert errors.startswith("error: ") and errors.count("\n") == 1
    return errors


@pytest.mark.parametrize("options", [["--store"], ["--filled"], []])
@pytest.mark.parametrize("name", NO_NOTEBOOKS)
def test_the_commands_refuse_a_file_that_is_no_notebook_and_leave_it_as_it_is(
    tmp_path, monkeypatch, capsys, name, options
):
    content, path = NO_NOTEBOOKS[name], tmp_path / name
    if content is not None:
        path.write_bytes(content)
    says = f"there is no notebook {path}" if content is None else f"{path} is not a notebook: give"
    assert says in told(monkeypatch, capsys, runner.main, *options, path)
    assert says in told(monkeypatch, capsys, rules.main, path)
    assert (path.read_bytes() if path.exists() else None) == content


@pytest.mark.parametrize("arguments, says", [
    (["--jobs", 0], "--jobs is 0: it must be 1 or more"),
    (["--limit", 0], "--limit is 0: it must be a number of seconds above 0"),
    (["--limit", "nan"], "--limit is nan: it must be"),
    (["--store", "--filled"], "is stored with its cells empty: leave out --filled or --store"),
])  # fmt: skip
def test_run_notebooks_refuses_options_that_make_no_sense(monkeypatch, capsys, arguments, says):
    assert says in told(monkeypatch, capsys, runner.main, *arguments)


def test_the_rules_are_for_notebooks_in_the_folder_of_a_chapter(tmp_path, monkeypatch, capsys):
    path = tmp_path / "01_draft.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("1")]), path)
    says = told(monkeypatch, capsys, rules.main, path)
    assert "is not in the folder of a chapter, NN_name: put it there" in says


def test_code_that_is_not_python_is_quoted(tmp_path):
    book = rules.Notebook(tmp_path / "01.ipynb", [new_code_cell("%matplotlib inline")])
    with pytest.raises(UserError, match=r"not Python \(invalid syntax: '%matplotlib inline'\)"):
        list(rules.nothing_is_defined_twice(book))
