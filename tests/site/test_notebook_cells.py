"""The code cells of a notebook: run, changed and reset, in CPython and in a browser."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import in_page
import nbformat
import pytest
import runtime
from notebook_parts import text_of
from run_notebooks import says_the_same, tags

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PYTHON = ROOT / "build" / "site" / "python"

PAGE = "/01_numpy_from_scratch/03_attention_by_hand.html"


def run(notebook, source, **options):
    return json.loads(notebook.run("cell-07", source, **options))


def test_notebook__shows_what_is_printed_and_the_value_of_the_last_line():
    notebook = in_page.Notebook()
    assert run(notebook, "x = 2\nprint('x is', x)\nx + 1") == [{"text": "x is 2\n"}, {"text": "3"}]
    assert run(notebook, "x * 2;") == []
    assert run(notebook, "None") == [] and run(notebook, "# nothing") == []
    assert run(notebook, "f = lambda: x\nf()", quiet=True) == []
    assert run(notebook, "f()") == [{"text": "2"}]


def test_notebook__says_where_an_error_was_raised_and_keeps_what_was_printed():
    notebook = in_page.Notebook()
    outputs = run(notebook, "def half(x):\n    return x / 0\nprint('before')\nhalf(1)")
    assert outputs[0] == {"text": "before\n"}
    assert outputs[1]["error"].splitlines() == [
        "line 4, in <module>", "line 2, in half", "ZeroDivisionError: division by zero",
    ]  # fmt: skip
    assert "SyntaxError" in run(notebook, "if")[0]["error"]


def test_notebook__a_cell_that_needs_a_library_says_so_and_so_does_one_that_uses_its_names(
    monkeypatch,
):
    monkeypatch.setitem(in_page.NOT_HERE, "no_such", "the library no_such")
    says = [{"needs": "This cell needs the library no_such, which does not run in a browser: "
                      "run it on your own machine."}]  # fmt: skip
    notebook = in_page.Notebook()
    assert run(notebook, "print('before')\nimport no_such\nmade = 1") == says
    hidden = "try:\n    import no_such\nexcept ImportError:\n    raise ValueError from None"
    assert run(notebook, hidden) == says
    assert run(notebook, "def f():\n    return made + 1") == []
    assert run(notebook, "later = f()") == says and run(notebook, "later") == says
    assert "NameError" in run(notebook, "latest")[0]["error"]
    assert run(notebook, "made = later = 2\nf() + later") == [{"text": "5"}]


# The cells that need a library which no page has.
NEED_A_LIBRARY = {"06_the_whole_backward_pass": [45, 47, 48, 50, 68, 74, 78, 80, 88]}
# A training run of minutes, shortened; what the cells below it show is tagged `varies`.
SHORTENED = ("steps, size, history = 700,", "steps, size, history = 40,")


@pytest.mark.timeout(900)
@pytest.mark.parametrize("path", sorted(runtime.NOTEBOOKS))
def test_offered_notebook__shows_in_the_page_what_is_stored_in_it(path):
    if not (PYTHON / "course.zip").is_file() or not shutil.which("node"):
        pytest.skip("needs node and the Python of the pages: call make site")
    book = nbformat.read(ROOT / path, as_version=4)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    cells = [[cell.id, cell.source.replace(*SHORTENED)] for cell in code]
    asked = {"path": path, "cells": cells}
    done = subprocess.run(["node", str(HERE / "run_cells_in_pyodide.mjs"), str(PYTHON)],
                          input=json.dumps(asked), capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    outputs = dict(json.loads(done.stdout)["outputs"])
    need = [f"cell-{number}" for number in NEED_A_LIBRARY.get(Path(path).stem, [])]
    assert [id for id, found in outputs.items() if found and "needs" in found[-1]] == need
    for cell in code:
        found = outputs[cell.id]
        if cell.id in need:
            continue
        assert not [output for output in found if "error" in output], cell.id
        said = [o for o in cell.outputs if "image/png" not in o.get("data", {})]
        assert sum("image" in o for o in found) == len(cell.outputs) - len(said), cell.id
        if "varies" not in tags(cell):
            stored, shown = "".join(map(text_of, said)), "".join(o.get("text", "") for o in found)
            assert says_the_same(stored, shown), f"{cell.id}: {stored}\n{shown}"


def test_notebook__shows_a_picture_and_the_source_of_a_function_of_a_cell():
    notebook = in_page.Notebook()
    drawing = "from bert_experiments.looking_inside.drawings import draw_tokens"
    picture = run(notebook, f"{drawing}\ndraw_tokens(['a', 'b'])")
    assert picture[0]["image"].startswith("iVBOR") and picture[0]["alt"].startswith("<")
    run(notebook, "def twice(x):\n    return 2 * x")
    source = run(notebook, "import inspect\nprint(inspect.getsource(twice))")
    assert "return 2 * x" in source[0]["text"]


@pytest.mark.timeout(900)
def test_cells__are_run_changed_and_reset_in_the_page(page):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(PAGE)
    cell = page.locator("#cell-07")
    stored = cell.locator(".outputs").inner_text()
    source = cell.locator(".source").inner_text()
    assert not [url for url in asked if "/python/" in url], "nobody has asked for Python yet"

    cell.get_by_role("button", name="Edit").click()
    area = cell.locator("textarea")
    assert area.input_value().strip() == source.strip()
    area.press("Control+End")
    area.press_sequentially("\nprint('river stands at', river)")
    area.press("Shift+Enter")
    finished(page, "cell-07")
    assert cell.locator(".outputs").inner_text().strip() == f"{stored.strip()}\nriver stands at 5"

    below = page.locator("#cell-09")
    below.get_by_role("button", name="Run").click()
    finished(page, "cell-09")
    assert "crane" in below.locator(".outputs").inner_text()

    drawn = page.locator("#cell-05")
    drawn.get_by_role("button", name="Run").click()
    finished(page, "cell-05")
    assert drawn.locator("img").get_attribute("src").startswith("data:image/png")

    cell.get_by_role("button", name="Reset").click()
    assert cell.locator(".outputs").inner_text() == stored
    assert cell.locator("textarea").count() == 0


def finished(page, cell):
    page.wait_for_function(
        "id => /s$|Done|error/.test(document.querySelector(`#${id} .state`).textContent)"
        " && !document.querySelector(`#${id}`).classList.contains('running')",
        arg=cell,
    )
    assert not re.search("error|could not", page.inner_text(f"#{cell} .state"))
