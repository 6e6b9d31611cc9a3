"""The pages: each from its one source, every link good, nothing from elsewhere, usable by all."""

import gzip
import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "site"))  # its modules are not installed

import build
import render
from check_links import broken_links

from bert_run.errors import UserError

ROOT = Path(__file__).parents[2]

KINDS = {
    "start": "/index.html",
    "chapter": "/01_numpy_from_scratch/index.html",
    "notebook": "/01_numpy_from_scratch/03_attention_by_hand.html",
    "exercise": "/exercises/03_softmax/index.html",
    "exercise not offered": "/exercises/18_mlm_training/index.html",
    "board": "/exercises/index.html",
    "ask": "/ask.html",
    "source": "/01_numpy_from_scratch/bert_numpy/attention.py.html",
    "solution": "/solutions/03_softmax/softmax.py.html",
    "glossary": "/GLOSSARY.html",
    "results": "/results/demo.html",
    "audit": "/03_paper_reproduction/paper_audit.html",
    "folder": "/solutions/index.html",
}


# The parts of the builder.


@pytest.fixture
def repository(tmp_path: Path) -> render.Repository:
    (tmp_path / "code.py").write_text(
        "SIZE: int = 3\n\n\ndef first():\n    pass\n\n\nclass Second:\n    def inner(self): ...\n"
    )
    (tmp_path / "GLOSSARY.md").write_text(
        "# Glossary\n\n**Query, key, value.** Three vectors of a token. More.\n\n"
        "**MLM (masked language model).** Hides words; guesses\nthem. [01](code.py)\n"
    )
    (tmp_path / "README.md").write_text("# Start\n")
    files = frozenset({"code.py", "GLOSSARY.md", "README.md", "a/b.md", "a/picture.png"})
    return render.Repository(tmp_path, files)


def body(repository: render.Repository, text: str, path: str = "README.md") -> str:
    return render.markdown(repository, render.Page(path), text)


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("README.md", "index.html"),
        (".", "index.html"),
        ("a", "a/index.html"),
        ("a/", "a/index.html"),
        ("a/b.md", "a/b.html"),
        ("code.py", "code.py.html"),
        ("a/picture.png", "a/picture.png"),
        ("absent.md", None),
    ],
)
def test_address__is_that_of_the_page_of_a_file_or_folder(repository, path, address):
    assert repository.address(path) == address


def test_markdown__links_a_function_that_is_named_to_its_line(repository):
    assert 'href="code.py.html#L4"' in body(repository, "[`first`](code.py)")
    assert 'href="code.py.html#L8"' in body(repository, "[`Second`](code.py)")
    assert 'href="code.py.html#L1"' in body(repository, "[`SIZE`](code.py)")
    assert 'href="code.py.html"' in body(repository, "[the code](code.py)")
    assert repository.broken == []


def test_markdown__links_are_relative_to_the_page(repository):
    assert 'href="../code.py.html#L2"' in body(repository, "[c](../code.py#L2)", "a/b.md")


def test_markdown__reports_a_link_to_no_file(repository):
    body(repository, "[gone](lost.md)")
    assert repository.broken == ["README.md: lost.md"]


def test_markdown__gives_headings_the_anchors_of_github(repository):
    text = body(repository, "## 3 · Layer norm, `dx`!\n\n## Twice\n\n## Twice")
    assert re.findall('id="([^"]*)"', text) == ["3--layer-norm-dx", "twice", "twice-1"]


def test_markdown__finds_formulas_in_lines_in_lists_and_over_several_lines(repository):
    body(repository, "$a_i$ and\n\n$$b\n= c$$\n\n- a list: $d$\n\n`$e$` costs \\$5, then 6$.")
    assert list(repository.formulas) == [("a_i", False), ("b\n= c", True), ("d", False)]


def test_markdown__makes_no_header_of_an_empty_one(repository):
    text = body(repository, "| | b |\n|---|---|\n| 1 | 2 |\n")
    assert "<td></td><th>b</th>" in text.replace("\n", "").replace("  ", "")


def test_source__gives_every_line_its_anchor(repository):
    page = render.Page("code.py")
    text = render.source(repository, page)
    lines = (repository.root / "code.py").read_text().splitlines()
    assert re.findall(r'id="L(\d+)"', text) == [str(n) for n in range(1, len(lines) + 1)]
    assert page.title == "code.py"


def test_terms__are_those_of_the_glossary_each_with_its_first_sentence(repository):
    terms = render.terms_of(repository)
    assert set(terms) == {"query", "key", "value", "mlm"}
    assert terms["key"] == ("GLOSSARY.html#query-key-value", "Three vectors of a token.")
    assert terms["mlm"].says == "Hides words; guesses them."


def test_mark_terms__links_the_first_use_in_the_text_only(repository):
    terms = render.terms_of(repository)
    text = "<h2>MLM</h2><p><code>mlm</code> <a href='x'>MLM</a> An MLM. MLM, monkey-key.</p>"
    marked = render.mark_terms(text, terms, "a/b.html")
    assert marked.count('class="term"') == 1
    assert 'An <a class="term" href="../GLOSSARY.html#mlm-masked-language-model"' in marked


def test_broken_links__names_a_lost_file_a_lost_anchor_and_another_host(tmp_path):
    (tmp_path / "good.html").write_text('<p id="here"><a href="bad.html">x</a>')
    (tmp_path / "bad.html").write_text(
        '<a href="good.html#here"><a href="good.html#gone"><a href="lost.html">'
        '<a href="https://example.org/page"><img src="https://example.org/x.png">'
        "<pre>&lt;a href=&quot;shown.html&quot;&gt;</pre>"
    )
    assert broken_links(tmp_path) == [
        "bad.html: good.html#gone (no such anchor)",
        "bad.html: loads something from another host",
        "bad.html: lost.html (no such file)",
    ]


@pytest.mark.parametrize("arguments, told", [
    (["nope"], "error: nope is no built site, it has no index.html: name its folder"),
    (["."], "error: . is no built site"), ([""], "is no built site"), ([], "required: folder"),
])  # fmt: skip
def test_check_links__a_folder_without_a_site_is_refused(tmp_path, arguments, told):
    call = subprocess.run([sys.executable, str(ROOT / "site" / "check_links.py"), *arguments],
                          cwd=tmp_path, capture_output=True, text=True)  # fmt: skip
    assert (call.returncode, call.stdout) == (2, "")
    assert told in call.stderr and "Traceback" not in call.stderr


# All pages, built here without npm's packages and without a browser.


def files_in(folder: Path) -> dict[str, str]:
    """The text of every file of a folder but the list of what was written."""
    found = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}
    return {name: found[name].read_text() for name in sorted(found) if name != build.WRITTEN}


def site_of(folder: Path, *names: str) -> Path:
    """A folder of files that hold their names."""
    for name in names:
        build.write(folder / name, name.encode())
    return folder


def test_replace__removes_what_an_earlier_call_has_written_and_nothing_else(tmp_path):
    out = tmp_path / "site"
    build.replace(out, site_of(tmp_path / "1", "index.html", "01/old.html"), build.PROGRAM)
    site_of(out, "mine.txt", "01/mine.html")
    build.replace(out, site_of(tmp_path / "2", "index.html", "01/new.html"), build.PROGRAM)
    assert [*files_in(out)] == ["01/mine.html", "01/new.html", "index.html", "mine.txt"]


@pytest.mark.parametrize("killed_at", ["01/new.html", "index.html", "new.css"])
def test_replace__a_call_after_one_that_was_killed_leaves_no_file_behind(
    tmp_path, monkeypatch, killed_at
):
    out = tmp_path / "site"
    build.replace(out, site_of(tmp_path / "1", "index.html", "01/old.html"), build.PROGRAM)
    made = site_of(tmp_path / "2", "index.html", "01/new.html", "new.css")

    def write_until_killed(path: Path, content: bytes) -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content[:3])
        if path == out / killed_at:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(build, "write", write_until_killed)
        with pytest.raises(KeyboardInterrupt):
            build.replace(out, made, build.PROGRAM)
    build.replace(out, site_of(tmp_path / "3", "index.html"), build.PROGRAM)
    assert files_in(out) == {"index.html": "index.html"}


def test_replace__a_call_that_is_killed_as_it_removes_files_is_no_obstacle(tmp_path, monkeypatch):
    out = tmp_path / "site"
    build.replace(out, site_of(tmp_path / "1", "a.html", "b.html"), build.PROGRAM)
    made = site_of(tmp_path / "2", "c.html")

    def killed(path: Path, missing_ok: bool = False) -> None:
        if path.parent == out and path.suffix == ".html":
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            build.replace(out, made, build.PROGRAM)
    build.replace(out, made, build.PROGRAM)
    assert [*files_in(out)] == ["c.html"]


def own(*names: object) -> str:
    return json.dumps({"written by": build.PROGRAM, "files": names})


@pytest.mark.parametrize("text", [
    '["thesis.txt"]', '["../outside.txt"]', '"thesis.txt"', "null", "{}", "no JSON", "[" * 9999,
    '{"files": ["thesis.txt"]}', '{"written by": "me", "files": ["thesis.txt"]}',
    own("thesis.txt").replace("build", "slides"), own("../outside.txt"),
    own("out/../../outside.txt"),
    own("out/link/outside.txt"), own("/etc/nothing"), own("folder"), own(""), own("x\0"), own(3),
    own("thesis.txt").replace('["thesis.txt"]', '"thesis.txt"'),
])  # fmt: skip
def test_earlier_files__a_list_of_somebody_else_or_of_other_places_is_refused(tmp_path, text):
    site_of(tmp_path, "outside.txt", "out/thesis.txt", "out/folder/mine.txt")
    (tmp_path / "out" / "out").mkdir()
    (tmp_path / "out" / "out" / "link").symlink_to(tmp_path)
    (tmp_path / "out" / build.WRITTEN).write_text(text)
    before = files_in(tmp_path)
    with pytest.raises(UserError, match=r"choose another --out, or remove the folder") as refused:
        build.replace(tmp_path / "out", site_of(tmp_path / "made", "index.html"), build.PROGRAM)
    assert "\n" not in str(refused.value)
    assert before.items() <= files_in(tmp_path).items()


def test_build__refuses_a_folder_that_it_has_not_written_before_it_makes_any_page(
    tmp_path, monkeypatch
):
    site_of(tmp_path, "mine.txt")
    monkeypatch.setattr(build.Repository, "open", None)
    with pytest.raises(UserError, match=r"holds files that site/build\.py has not written"):
        build.build(tmp_path)


def test_build__a_call_that_is_stopped_leaves_the_site_as_it_was(tmp_path, monkeypatch):
    out = tmp_path / "site"
    build.replace(out, site_of(tmp_path / "1", "index.html", "old.html"), build.PROGRAM)
    before = files_in(tmp_path)

    def stopped(*arguments) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(build, "sections", lambda repository: {})  # no page, to be quick
    monkeypatch.setattr(build, "search_index", stopped)
    with pytest.raises(KeyboardInterrupt):
        build.build(out, pages_only=True)
    assert files_in(tmp_path) == before


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> Path:
    """The pages of this repository; building them ends with the check of every link."""
    out = tmp_path_factory.mktemp("site")
    call = subprocess.run(
        [sys.executable, str(ROOT / "site" / "build.py"), "--pages-only", "--out", str(out)],
        capture_output=True, text=True, env={**os.environ, "GITHUB_REPOSITORY": "someone/course"},
    )  # fmt: skip
    assert call.returncode == 0, call.stderr
    return out


def tracked(*endings: str) -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    return [file for file in listed.stdout.splitlines() if file.endswith(endings)]


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def test_pages__are_there_for_every_text_notebook_and_solution(pages):
    repository = render.Repository.open(ROOT)
    solutions = [file for file in tracked(".py") if file.startswith("solutions/")]
    for file in [*tracked(".md", ".ipynb"), *solutions]:
        assert (pages / repository.address(file)).is_file(), file


def test_pages__have_titles_that_stand_in_their_sources(pages):
    repository = render.Repository.open(ROOT)
    site = "Build BERT four times"
    for file in tracked(".md", ".ipynb"):
        title = re.search(r"<title>(.*?)</title>", text_of(pages / repository.address(file)))[1]
        title = html.unescape(title.removesuffix(f" · {site}"))
        source = (ROOT / file).read_text(encoding="utf-8")
        source = json.loads(source)["cells"][0]["source"] if file.endswith(".ipynb") else [source]
        heading = re.search(r"^# (.*)$", "".join(source), re.MULTILINE)
        assert title == (re.sub(r"[`*]", "", heading[1]) if heading else file), file


def test_notebook_pages__hold_all_cells_outputs_and_folds(pages):
    for file in tracked(".ipynb"):
        page = text_of(pages / file.replace(".ipynb", ".html"))
        cells = json.loads((ROOT / file).read_text(encoding="utf-8"))["cells"]
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        guesses = [c for c in code if "guess" in c["metadata"].get("tags", []) and c["outputs"]]
        prose = "".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
        main = page.split("<main", 1)[1].split("</main>", 1)[0]
        assert main.count('class="cell code"') == len(code), file
        assert main.count("<details") == prose.count("<details") + len(guesses), file
        pictures = [o for c in code for o in c["outputs"] if "image/png" in o.get("data", {})]
        assert main.count("<img") == len(pictures) + prose.count("!["), file
        assert "data:image" not in page, file
        assert (pages / file).read_bytes() == (ROOT / file).read_bytes(), file


def test_notebook_pages__can_be_opened_in_colab_downloaded_and_edited(pages):
    page = text_of(pages / "01_numpy_from_scratch/03_attention_by_hand.html")
    path = "someone/course/{}/main/01_numpy_from_scratch/03_attention_by_hand.ipynb"
    assert f"https://colab.research.google.com/github/{path.format('blob')}" in page
    assert f"https://github.com/{path.format('edit')}" in page
    assert 'href="03_attention_by_hand.ipynb" download' in page


def test_solution_pages__are_folded_and_lead_to_the_exercise(pages):
    for file in tracked(".py"):
        if file.startswith("solutions/"):
            main = text_of(pages / f"{file}.html").split("<main", 1)[1]
            before, code = main.split("<details>", 1)
            assert f'href="../../exercises/{file.split("/")[1]}/index.html"' in before
            assert "<pre" not in before and 'class="code lines"' in code, file


def test_start_page__links_every_part_of_the_drawing(pages):
    from bert_experiments.model_drawing import NAMES, PARTS, draw_bert

    page = text_of(pages / "index.html").split('class="drawing"', 1)[1].split("</div>", 1)[0]
    links = re.findall(r'<a href="([^"]*)" style="[^"]*" title="([^:]*):', page)
    drawn = {box.part for box in draw_bert().boxes}
    assert {name.replace(" ", "_") for _, name in links} == drawn <= set(NAMES)
    books = {part.name: part.notebook.replace(".ipynb", ".html") for part in PARTS}
    assert all(books[name.replace(" ", "_")] == link for link, name in links)


# In a browser: the built site.


def all_pages(built: Path) -> list[str]:
    found = (path.relative_to(built).as_posix() for path in built.rglob("*.html"))
    return sorted(f"/{path}" for path in found if not path.startswith(("python/", "model/")))


PARTS = 8  # of all pages, so that no single test takes minutes


@pytest.mark.parametrize("part", range(PARTS))
def test_every_page__loads_from_no_other_host_and_fits_a_phone(page, built, part):
    page.set_viewport_size({"width": 390, "height": 800})
    wide = []
    for address in all_pages(built)[part::PARTS]:
        page.goto(address, wait_until="domcontentloaded")
        if page.evaluate("document.documentElement.scrollWidth") > 390:
            wide.append(address)
    assert not wide


AXE = ROOT / "site" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_accessibility__axe_finds_no_violation(page, kind, theme):
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: call make site")
    page.emulate_media(color_scheme=theme)
    page.goto(KINDS[kind])
    page.add_script_tag(path=AXE)
    found = page.evaluate("axe.run().then((result) => result.violations)")
    assert not [f"{v['id']}: {v['nodes'][0]['html'][:200]} ({len(v['nodes'])})" for v in found]


def test_theme__is_switched_by_hand_and_kept(page):
    page.emulate_media(color_scheme="light")
    page.goto("/index.html")
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.get_by_role("button", name="Switch to the dark theme").click()
    dark = page.evaluate(background)
    page.goto(KINDS["notebook"])
    assert page.evaluate(background) == dark != light
    page.get_by_role("button", name="Switch to the light theme").click()
    assert page.evaluate(background) == light


def test_search__finds_a_section_by_keyboard_alone(page):
    page.goto(KINDS["exercise"])
    page.keyboard.press("/")
    page.keyboard.type("square root of d")
    page.locator("#found a").first.wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/03_attention_by_hand.html#why-the-square-root-of-d")


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("layer norm", "Glossary › Layer norm."),
        ("why square root", "Why the square root of d?"),
        ("softmax_forward", "operations.py › softmax_forward"),
        ("attention mask", "Glossary › Attention mask."),
    ],
)
def test_search__puts_first_what_is_about_it(page, typed, first):
    page.goto("/index.html")
    page.get_by_role("searchbox").fill(typed)
    assert page.locator("#found strong").first.inner_text().endswith(first)


def test_search__says_when_nothing_is_found_and_closes(page):
    page.goto("/index.html")
    page.get_by_role("searchbox").fill("xylophone")
    page.get_by_text("Nothing found.").wait_for()
    page.keyboard.press("Escape")
    assert page.locator("#found").is_hidden()


def test_keyboard__skips_to_the_text_and_explains_a_word_of_the_glossary(page):
    page.goto(KINDS["notebook"])
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.locator(".term").first.focus()
    assert len(page.get_by_role("tooltip").inner_text()) > 20
    page.keyboard.press("Escape")
    assert page.get_by_role("tooltip").is_hidden()


def test_phone__opens_and_closes_the_contents(page):
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(KINDS["notebook"])
    assert page.locator("nav").is_hidden()
    page.get_by_role("button", name="Contents").click()
    page.locator("nav").get_by_role("link", name="04 · Many heads").click()
    page.wait_for_url("**/04_multi_head_and_the_layer.html")


def test_previous_and_next__lead_through_a_chapter(page):
    page.goto(KINDS["notebook"])
    page.locator("[rel=next]").click()
    page.wait_for_url("**/04_multi_head_and_the_layer.html")
    page.locator("[rel=prev]").click()
    page.wait_for_url("**/03_attention_by_hand.html")


def test_drawing__opens_the_notebook_of_a_box(page):
    page.goto("/index.html")
    page.locator(".drawing a[title^=gelu]").first.click()
    page.wait_for_url("**/02_layer_norm_and_gelu.html")


def test_formulas__are_set(page):
    page.goto(KINDS["exercise"])
    assert page.locator("main .katex math").count() >= 2
    assert page.locator(".katex-error").count() == 0


def test_print__leaves_only_the_text(page):
    page.goto(KINDS["notebook"])
    page.emulate_media(media="print")
    for part in ("header", "nav", "aside", ".steps"):
        assert page.locator(part).first.is_hidden()
    assert page.locator("h1").is_visible()


FIRST_VIEW = 300_000  # bytes, as a server sends them that compresses text


@pytest.mark.parametrize("kind", KINDS)
def test_first_view__is_small(page, kind):
    responses = []
    page.on("response", lambda response: responses.append(response))
    page.goto(KINDS[kind], wait_until="networkidle")
    sizes = {
        response.url: sent(response) for response in responses
        if "/model/" not in response.url or kind != "ask"  # comes after the page can be read
    }  # fmt: skip
    assert sum(sizes.values()) < FIRST_VIEW, sizes


def sent(response) -> int:
    data = response.body()
    is_text = re.search(r"text|json|javascript|svg", response.headers.get("content-type", ""))
    return len(gzip.compress(data) if is_text else data)
