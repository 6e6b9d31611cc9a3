"""The course as a website: every page is made from one file of the repository.

    python site/build.py                 into build/site
    python site/build.py --pages-only    without the live BERT and without Python in the page

README.md says what lies where in the folder that is built.
"""

import argparse
import ast
import html
import io
import json
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import export_model
import runtime
from check_links import broken_links
from frame import Frame
from PIL import Image
from render import (
    COPIED,
    HERE,
    TAG,
    Heading,
    Page,
    Repository,
    markdown,
    notebook,
    relative,
    source,
)

from bert_experiments.model_drawing import HEIGHT, PARTS, draw_bert
from bert_run.errors import UserError, command, shown
from bert_run.files import parse_object, write_atomically
from bert_run.pictures import PAGE as WIDTH

ROOT, PACKAGES = HERE.parent, HERE / "node_modules"
START, ASK = "README.md", "site/ask.html"
BOARD, SOLUTIONS = "exercises/README.md", "solutions/README.md"
PROGRAM = "site/build.py"
WRITTEN = "files.json"  # who wrote a folder, and which files; the next call removes these files
WITHIN_A_LINE = re.compile(r"</?(?:a|code|em|span|strong)\b[^>]*>")


# Which pages there are.


def sections(repository: Repository) -> dict[str, list[str]]:
    """The navigation: for each folder, the sources of its pages in reading order."""
    texts = {file for file in repository.files if file.endswith((".md", ".ipynb"))}
    chapters = sorted({text.split("/")[0] for text in texts if re.match(r"\d\d_", text)})
    groups = {"": [START, ASK, "TEACHING.md", "GLOSSARY.md"]}
    for folder in (*chapters, "exercises", "results"):
        within = r"\d\d_.*/README\.md" if folder == "exercises" else "[^/]+"
        inside = sorted(text for text in texts if re.fullmatch(f"{folder}/{within}", text))
        overview = f"{folder}/README.md"
        inside.sort(key=lambda text: text.endswith(".md"))  # the notebooks come first
        groups[folder] = [overview, *(text for text in inside if text != overview)]
    groups["more"] = sorted(texts.difference(*groups.values()))
    return {name: [path for path in group if path in repository.files]
            for name, group in groups.items()}  # fmt: skip


def make_pages(repository: Repository, waiting: list[str]) -> dict[str, Page]:
    """By source: the pages of `waiting`, and of every file that one of them names."""
    pages: dict[str, Page] = {}
    while waiting:
        path = waiting.pop()
        if f"{path}/README.md" in repository.files:
            path = f"{path}/README.md"
        if path not in pages and not path.endswith(COPIED):
            pages[path] = make_page(repository, path)
            waiting += sorted(pages[path].named)
    return pages


def make_page(repository: Repository, path: str) -> Page:
    page = Page(path)
    if path in repository.folders:
        page.body = markdown(repository, page, f"# {path}\n\n{list_of_files(repository, path)}")
    elif path == ASK:
        page.body = repository.text(path)
        title = re.search(r"<h1[^>]*>(.*?)</h1>", page.body, re.DOTALL)[1]
        page.headings.append(Heading(1, " ".join(title.split()), "top"))
    elif path == SOLUTIONS:
        text = repository.text(path) + list_of_files(repository, "solutions")
        page.body = markdown(repository, page, text)
    elif path.endswith(".md"):
        page.body = markdown(repository, page, repository.text(path))
    elif path.endswith(".ipynb"):
        page.body = notebook(repository, page)
    else:
        page.body = source(repository, page)
    add_parts(repository, page)
    return page


def list_of_files(repository: Repository, folder: str) -> str:
    """A list in Markdown of what a folder holds, its README apart."""
    below = [file for file in repository.files if file.startswith(f"{folder}/")]
    names = {file.removeprefix(f"{folder}/").split("/")[0] for file in below} - {"README.md"}
    return "".join(f"\n- [`{name}`]({name})" for name in sorted(names))


# What some kinds of pages have in addition to their text.


def add_parts(repository: Repository, page: Page) -> None:
    path = page.path
    if path == START:
        page.body = re.sub(
            r'<p><img [^>]*"bert\.png"[^>]*></p>', lambda _: drawing(repository), page.body
        )
        page.body = page.body.replace("</p>", '</p>\n<section id="ask-small"></section>', 1)
        page.assets = ["ask.css", "ask.mjs"]
    elif path == ASK:
        page.assets = ["ask.css", "ask.mjs"]
    elif path == BOARD:
        page.body = page.body.replace("</h1>", '</h1>\n<section id="board"></section>', 1)
        page.assets = ["exercise.css", "exercise.mjs"]
    elif exercise := re.fullmatch(r"exercises/(\d\d_(\w+))/README\.md", path):
        offered = "yes" if runtime.offers(path) else "no"
        page.attributes = (
            f'data-exercise="{exercise[1]}" data-file="{exercise[2]}.py" data-offered="{offered}"'
        )
        page.body = f'<article>{page.body}</article>\n<section id="exercise"></section>'
        page.assets = ["exercise.css", "exercise.mjs"]
    elif solution := re.fullmatch(r"solutions/(\d\d_\w+)/\w+\.py", path):
        warn_of_solution(repository, page, f"exercises/{solution[1]}")
    elif path.endswith(".ipynb"):
        page.attributes = f'data-notebook="{path}"'
        page.assets = ["exercise.css", "notebook.mjs"] if runtime.offers(path) else []


def warn_of_solution(repository: Repository, page: Page, exercise: str) -> None:
    """Fold a solution, so that nobody who comes from a search reads it by accident."""
    link = relative(repository.address(exercise), repository.address(page.path))
    heading, code = page.body.split("\n", 1)
    page.body = (
        f'{heading}\n<p>This is a solution. Try <a href="{link}">the exercise</a> first.</p>\n'
        f"<details><summary>Show the solution</summary>{code}</details>"
    )


def drawing(repository: Repository) -> str:
    """The course's drawing of BERT; each box links to the notebook that builds its part."""
    parts = {part.name: part for part in PARTS}
    links = []
    for box in draw_bert().boxes:
        part = parts[box.part]
        left, top = box.left / WIDTH, 1 - (box.bottom + box.height) / HEIGHT
        width, height = box.width / WIDTH, box.height / HEIGHT
        place = f"left:{left:.2%};top:{top:.2%};width:{width:.2%};height:{height:.2%}"
        says = html.escape(f"{part.name.replace('_', ' ')}: {part.says}")
        address = repository.address(part.notebook)
        links.append(f'<a href="{address}" style="{place}" title="{says}" aria-label="{says}"></a>')
    alt = html.escape(re.search(r"!\[(.*?)\]\(bert\.png\)", repository.text(START))[1])
    size = f'width="{100 * WIDTH:.0f}" height="{100 * HEIGHT:.0f}"'
    picture = f'<img src="drawing.png" {size} alt="{alt}">'
    return f'<div class="drawing"><div>{picture}{"".join(links)}</div></div>'


def drawing_file() -> bytes:
    """The drawing as a PNG for screens of twice the resolution, in few colors."""
    large, small = io.BytesIO(), io.BytesIO()
    draw_bert().savefig(large, format="png", dpi=200)
    image = Image.open(large).convert("RGB").quantize(32, dither=Image.Dither.NONE)
    image.save(small, "png", optimize=True)
    return small.getvalue()


# The folder.


def build(out: Path, *, pages_only: bool = False) -> list[str]:
    """Write the site: all of it elsewhere first, so that a call that is stopped changes nothing.
    Returned is which links lead nowhere, each with its page."""
    earlier_files(out, PROGRAM)
    repository = Repository.open(ROOT)
    groups = sections(repository)
    pages = make_pages(repository, [path for group in groups.values() for path in group])
    frame = Frame(repository, pages, groups)
    with tempfile.TemporaryDirectory() as made:
        fill(Path(made), repository, pages, frame, pages_only)
        replace(out, Path(made), PROGRAM)
    print(f"{len(pages)} pages in {out}")
    broken = {*repository.broken, *broken_links(out)}
    if not PACKAGES.is_dir():  # formulas stay as they are written, without their style
        broken = {line for line in broken if "katex.min.css" not in line}
    return sorted(broken)


def fill(
    out: Path, repository: Repository, pages: dict[str, Page], frame: Frame, pages_only: bool
) -> None:
    for path, page in pages.items():
        write(out / repository.address(path), frame.complete(page).encode())
    named = set().union(*(page.named for page in pages.values()))
    for path in {path for path in named if path.endswith(COPIED)} | {
        path for path in pages if path.endswith(".ipynb")
    }:
        write(out / path, (ROOT / path).read_bytes())
    for address, picture in {**repository.pictures, "drawing.png": drawing_file()}.items():
        write(out / address, picture)
    write(out / "search.json", search_index(repository, pages))
    copy_assets(out / "assets")
    for part in () if pages_only else (runtime, export_model):
        try:
            part.write(out)
        except UserError as error:
            print(f"note: {error}")


def replace(out: Path, made: Path, program: str) -> None:
    """Put the files of `made` into `out`, in place of those that an earlier call has put there.

    `out` holds the list of all of them before the first is touched, so that the call after one that
    was killed knows them. Raises `UserError` if `out` holds anything, but no list of `program`.
    """
    earlier = earlier_files(out, program)
    files = {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()}
    out.mkdir(parents=True, exist_ok=True)
    write_list(out, earlier | files, program)
    for name in earlier | files:
        (out / name).unlink(missing_ok=True)
    write_list(out, files, program)
    for name in sorted(files):
        write(out / name, (made / name).read_bytes())


def write_list(out: Path, names: set[str], program: str) -> None:
    record = {"written by": program, "files": sorted(names)}
    write_atomically(out / WRITTEN, json.dumps(record, indent=0))


def earlier_files(out: Path, program: str) -> set[str]:
    """The names of the files below `out` that `program` has put there, as its list says."""
    path = out / WRITTEN
    record = parse_object(path.read_bytes())[1] if path.is_file() else {}
    names = record.get("files") if record.get("written by") == program else None
    if not isinstance(names, list):
        if out.exists() and any(out.iterdir()):
            raise UserError(
                f"{out} holds files that {program} has not written: choose another --out, or "
                "remove the folder"
            )
        return set()
    for name in names:
        if not is_file_below(out, name):
            raise UserError(
                f"{path} lists {shown(name)}, which is no file below {out}: choose another --out, "
                "or remove the folder"
            )
    return set(names)


def is_file_below(out: Path, name: object) -> bool:
    """Whether a name leads to a place below `out`, links followed, that holds no folder."""
    if not isinstance(name, str) or not name.isprintable() or (out / name).is_dir():
        return False
    return (out / name).parent.resolve().is_relative_to(out.resolve())


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def search_index(repository: Repository, pages: dict[str, Page]) -> bytes:
    """What can be found: for each entry its address, the page's title, a heading, the text."""
    entries = []
    for path, page in pages.items():
        address = repository.address(path)
        if re.match(r"\d\d_.*\.py$", path):
            found = definitions(repository.text(path))
        elif path.endswith((".md", ".ipynb", ".html")):
            found = parts_of(page.body)
        else:
            found = []
        entries += [[address + anchor, page.title, name, text] for anchor, name, text in found]
    return json.dumps(entries, ensure_ascii=False).encode()


def parts_of(body: str) -> Iterator[tuple[str, str, str]]:
    """The sections of a text, or the words of a glossary: anchor, heading, text."""
    body = re.sub(r'<div class="outputs">.*?</div>', " ", body, flags=re.DOTALL)
    for part in re.split(r"(?=<(?:h[23]|p) id=)", body):
        heading = re.match(r'<(h[23]|p) id="([^"]*)">(.*?)(?:</h\d>|</strong>)', part, re.DOTALL)
        if heading:
            yield f"#{heading[2]}", plain(heading[3]), plain(part[heading.end() :])
        else:
            yield "", "", plain(re.sub(r"<h1.*?</h1>", "", part, count=1, flags=re.DOTALL))


def definitions(code: str) -> Iterator[tuple[str, str, str]]:
    """The functions and classes of a file: anchor, name, the first line of the docstring."""
    for node in ast.parse(code).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield f"#L{node.lineno}", node.name, (ast.get_docstring(node) or "").split("\n")[0]


def plain(text: str) -> str:
    """The words of a piece of HTML."""
    return " ".join(html.unescape(TAG.sub(" ", WITHIN_A_LINE.sub("", text))).split())


def copy_assets(assets: Path) -> None:
    """Scripts and styles of this folder; from npm the style of formulas and the fonts."""
    for file in HERE.iterdir():
        if file.suffix in (".css", ".js", ".mjs", ".svg") and file.name != "formulas.mjs":
            write(assets / file.name, file.read_bytes())
    for font in PACKAGES.glob("@fontsource-variable/inter/files/inter-latin-wght-normal.woff2"):
        write(assets / font.name, font.read_bytes())
    for address, content in files_of_katex().items():
        write(assets / address, content)


def files_of_katex() -> dict[str, bytes]:
    """From npm the style of formulas and its fonts, by their addresses."""
    fonts = PACKAGES.glob("katex/dist/fonts/*.woff2")
    found = {f"katex/fonts/{font.name}": font.read_bytes() for font in fonts}
    for style in PACKAGES.glob("katex/dist/katex.min.css"):
        text = style.read_text(encoding="utf-8")
        text = re.sub(r",url\([^)]*\.(woff|ttf)\)[^,}]*", "", text)  # every browser reads woff2
        found[f"katex/{style.name}"] = text.encode()
    return found


@command
def main() -> None:
    parser = argparse.ArgumentParser(description="Build the course's website.")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site", help="(build/site)")
    parser.add_argument("--pages-only", action="store_true", help="no live BERT, no Python")
    options = parser.parse_args()
    begun = time.perf_counter()
    broken = build(options.out, pages_only=options.pages_only)
    print(f"{time.perf_counter() - begun:.0f} s, {len(broken)} broken links")
    if broken:
        raise UserError("; ".join(broken[:20]))


if __name__ == "__main__":
    main()
