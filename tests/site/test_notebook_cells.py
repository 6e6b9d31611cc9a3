"""The code cells of a notebook: run, changed and reset, in CPython and in a browser."""

import json
import re

import in_page
import pytest

PAGE = "/01_numpy_from_scratch/03_attention_by_hand.html"
LONG = 240_000  # ms: a busy machine takes a minute to load Python and matplotlib


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


def test_notebook__shows_a_picture_and_the_source_of_a_function_of_a_cell():
    notebook = in_page.Notebook()
    picture = run(notebook, "from bert_run.pictures import draw_tokens\ndraw_tokens(['a', 'b'])")
    assert picture[0]["image"].startswith("iVBOR") and picture[0]["alt"].startswith("<")
    run(notebook, "def twice(x):\n    return 2 * x")
    source = run(notebook, "import inspect\nprint(inspect.getsource(twice))")
    assert "return 2 * x" in source[0]["text"]


@pytest.mark.timeout(900)
def test_cells__are_run_changed_and_reset_in_the_page(page):
    page.set_default_timeout(LONG)
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
