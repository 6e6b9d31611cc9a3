"""The slides of the notebooks: each has some, and none asks another host for anything."""

import re

import pytest
import slides
from build import ROOT
from render import Page, Repository, described, notebook

MEDIA = re.compile(
    r"<(?!a\b)\w[^>]*\s(?:src|href)=\"(?:https?:)?//|@import|url\(\s*['\"]?(?:https?:)?//"
)


@pytest.fixture(scope="module")
def decks() -> dict[str, str]:
    return slides.decks(Repository.open(ROOT))


def test_every_notebook_has_a_title_and_6_to_12_slides(decks):
    notebooks = {str(path.relative_to(ROOT)) for path in ROOT.glob("0*/[0-9]*.ipynb")}
    assert {path.replace(".html", ".ipynb") for path in decks} == {"index.ipynb", *notebooks}
    for path, deck in decks.items():
        if path != "index.html":
            assert 6 <= deck.count("<section>") - 1 <= 12, path
            assert deck.count("<h1") == 1 and "<details" not in deck, path


def test_no_slide_asks_another_host(decks):
    for path, deck in decks.items():
        assert not MEDIA.search(deck), f"{path}: {MEDIA.search(deck)[0]}"


@pytest.mark.parametrize("text", [
    '<script src="https://cdn.example.org/reveal.js">', '<img alt="" src="//example.org/a.png">',
    '<link rel="stylesheet" href="https://example.org/a.css">', "url('https://example.org/a.woff2')",
])  # fmt: skip
def test_the_check_for_other_hosts_catches(text):
    assert MEDIA.search(text)


def test_the_picture_of_every_cell_has_a_text_that_says_what_it_shows():
    repository = Repository.open(ROOT)
    for path in sorted(ROOT.glob("0*/[0-9]*.ipynb")):
        body = notebook(repository, Page(str(path.relative_to(ROOT))))
        for says in re.findall(r'<img [^>]*alt="([^"]*)"', body):
            assert len(says) >= 4 and "Figure(" not in says and says != "picture", path.name


def test_the_text_of_a_picture__names_its_labels():
    code = "axes.set_title('Both')\naxes.plot(x, label='right')\nf(ylabel='loss', xlabel='step')"
    output = {"data": {"image/png": "", "text/plain": ["<picture>"]}}
    cells = [{"cell_type": "markdown", "source": ["# Bugs"]},
             {"cell_type": "code", "source": [code], "outputs": [output]}]  # fmt: skip
    (_, cell) = described(cells)
    assert cell["outputs"][0]["data"]["text/plain"] == "Bugs; Both; loss against step; right"


def test_the_folder__has_all_that_its_pages_load(tmp_path):
    if not slides.REVEAL.is_dir():
        pytest.skip("reveal.js is not installed: call make slides")
    slides.build(tmp_path / "slides")
    for page in (tmp_path / "slides").glob("0*/*.html"):
        for link in re.findall(
            r'<(?:script|link|img)[^>]* (?:src|href)="([^"]+)"', page.read_text()
        ):
            assert (page.parent / link).is_file(), f"{page.name}: {link}"
    assert not re.search(r"https?://[^\s\"']+\.(?:js|css|woff2?)",
                         (tmp_path / "slides" / "reveal" / "reveal.css").read_text())  # fmt: skip
