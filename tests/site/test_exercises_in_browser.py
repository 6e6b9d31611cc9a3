"""An exercise in a browser: solved by way of a wrong answer, stopped, left and found again."""

import os
import re

import pytest
from runtime import OFFERED

from autograder.points import find

SOLUTION = find("03_softmax").solution.read_text("utf-8")
SHIFT = "shifted = x - x.max(axis=axis, keepdims=True)"
PAGE = "/exercises/03_softmax/index.html"
VERDICT = re.compile("checks? pass|could not")
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True,
         "is_mobile": os.environ.get("SITE_BROWSER") != "firefox"}  # fmt: skip  # which has none

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def exercise(page, site):
    page.goto(PAGE)
    page.wait_for_selector("#code")
    return page


def state(page, *, has=None, starts=""):
    """Wait until the line of state says so."""
    pattern = has.pattern if has else f"^{starts}"
    page.wait_for_function(
        "text => RegExp(text).test(document.querySelector('#exercise .state').textContent)",
        arg=pattern,
    )
    return page.inner_text("#exercise .state")


def checked(page):
    page.get_by_role("button", name="Check").click()  # which takes away what an earlier check said
    return state(page, has=VERDICT)


def test_exercise__is_solved_by_way_of_a_wrong_answer(exercise):
    page = exercise
    assert SOLUTION.count(SHIFT) == 1
    page.fill("#code", SOLUTION.replace(SHIFT, "shifted = x"))
    assert re.match(r"\d of 11 checks pass: [\d.]+ of 3 points", checked(page))
    assert "exp overflows: subtract the largest score" in page.inner_text("#results")
    assert "python -m" not in page.inner_text("#results")
    page.get_by_role("button", name="Run this call").first.click()
    page.locator("#results .printed", has_text="nan").wait_for()

    page.get_by_role("button", name="Hint").click()
    assert page.locator("#hints-shown details[open]").count() == 1

    page.fill("#code", SOLUTION)
    assert checked(page).startswith("All 11 checks pass: 3 points")
    assert page.locator("#results li.passed").count() == 11
    following = page.locator("#exercise .state").get_by_role("link", name="Next: 4 · Layer norm")
    assert following.get_attribute("href").endswith("/exercises/04_layer_norm/index.html")

    with page.expect_download() as download:
        page.get_by_role("link", name="Download softmax.py").click()
    assert download.value.suggested_filename == "softmax.py"
    assert download.value.path().read_text("utf-8") == SOLUTION

    page.goto("/exercises/index.html")
    page.wait_for_selector("#board table")
    assert page.locator("#board tbody tr").count() == 27
    assert "1 of 27 exercises done, 3 of 100 points" in page.inner_text("#board")
    page.reload()
    assert "✓ done" in page.locator("#board tr", has_text="Softmax").inner_text()


def test_exercise__an_endless_loop_is_stopped_and_a_reload_loses_nothing(exercise):
    page = exercise
    loop = "def softmax_forward(x, axis=-1):\n    while True:\n        pass\n"
    page.fill("#code", loop)
    page.get_by_role("button", name="Check").click()
    state(page, starts="Checking: 0 of 11")
    page.get_by_role("button", name="Stop").click()
    state(page, starts="Python is ready")
    page.reload()
    page.wait_for_selector("#code")
    assert page.input_value("#code") == loop
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Reset").click()
    assert page.input_value("#code") == find("03_softmax").starter.read_text("utf-8")


def test_exercise__can_be_done_with_the_keyboard_alone(exercise):
    page = exercise
    page.focus("#code")
    page.keyboard.press("Control+a")
    for line in ("def softmax_forward(x, axis=-1):", "return x", "", "Y"):
        page.keyboard.type(line)
        page.keyboard.press("Enter")
    assert page.input_value("#code") == (
        "def softmax_forward(x, axis=-1):\n    return x\n    \n    Y\n    "
    )
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Shift+Tab")
    assert page.input_value("#code").splitlines()[3] == "Y"
    page.keyboard.press("Tab")
    page.keyboard.press("Control+z")
    assert page.input_value("#code").splitlines()[3] == "Y"
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Check"
    page.keyboard.press("Enter")
    state(page, has=VERDICT)
    assert page.evaluate("document.activeElement.textContent") == "Check"


def test_exercise__loads_no_python_before_the_reader_begins(page):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(PAGE)
    page.wait_for_selector("#code")
    page.wait_for_load_state("networkidle")
    assert not [url for url in asked if "pyodide" in url or url.endswith((".whl", ".zip"))]


def test_exercise__one_that_needs_torch_gives_the_command(page):
    page.goto("/exercises/12_encoder_layer/index.html")
    assert "pytest exercises/12_encoder_layer" in page.inner_text("#exercise")
    assert page.locator("textarea").count() == 0


def test_hints__appear_one_after_another(exercise):
    hints = exercise.locator("article > details, article details")
    shown = [hint for hint in hints.all() if hint.is_visible()]
    shown[-1].locator("summary").click()
    hints.nth(len(shown)).wait_for(state="visible")
    assert len([hint for hint in hints.all() if hint.is_visible()]) == len(shown) + 1


@pytest.mark.parametrize("name", sorted(OFFERED))
def test_exercise__every_one_that_is_offered_has_its_starter(page, name):
    page.goto(f"/exercises/{name}/index.html")
    page.wait_for_selector("#code")
    assert page.input_value("#code") == find(name).starter.read_text("utf-8")


class TestOnAPhone:
    @pytest.fixture
    def context_options(self) -> dict:
        return PHONE

    def test_exercise__fits_the_width(self, exercise):
        assert exercise.evaluate("document.documentElement.scrollWidth") <= 390
        exercise.get_by_role("button", name="Hint").click()
        assert exercise.evaluate("document.documentElement.scrollWidth") <= 390
        exercise.goto("/exercises/index.html")
        exercise.wait_for_selector("#board table")
        assert exercise.evaluate("document.documentElement.scrollWidth") <= 390
