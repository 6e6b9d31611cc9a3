"""Files of the repository as HTML: Markdown, notebooks and source code.

Every link is checked while it is written: it must lead to a file of the repository, which then gets
a page, too. Formulas are set afterwards, all in one call of KaTeX (`set_formulas`).
"""

import ast
import base64
import hashlib
import html
import json
import posixpath
import re
import struct
import subprocess
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import mistune
from mistune.renderers.html import HTMLRenderer
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.util import ClassNotFound

from bert_run.errors import UserError

HERE = Path(__file__).parent
COPIED = (".png", ".json", ".csv")  # files that are no pages: pictures and data
TAG = re.compile(r"<[^>]*>")
ANSI = re.compile("\x1b\\[[0-9;]*m")
FORMULA = re.compile(r"<!--formula (\d+)-->")
# A word of everyday English, too: it is often meant so, and gets no explanation.
EVERYDAY = {
    "cache",
    "collapse",
    "head",
    "nat",
    "probe",
    "rank",
    "seed",
    "span",
    "store",
    "vector",
    "window",
}


class Heading(NamedTuple):
    level: int
    text: str  # HTML
    anchor: str


@dataclass
class Page:
    """A page of the site, made from the file of the repository at `path`."""

    path: str
    body: str = ""
    headings: list[Heading] = field(default_factory=list)
    named: set[str] = field(default_factory=set)  # files that it links to
    attributes: str = ""  # of <main>
    assets: list[str] = field(default_factory=list)  # styles and scripts that it needs

    @property
    def title(self) -> str:
        first = next((heading.text for heading in self.headings if heading.level == 1), self.path)
        return html.unescape(TAG.sub("", first))


@dataclass(eq=False)
class Repository:
    """The files under version control, and where each stands on the site."""

    root: Path
    files: frozenset[str]
    broken: list[str] = field(default_factory=list)  # links that lead nowhere
    formulas: dict[tuple[str, bool], int] = field(default_factory=dict)  # (TeX, displayed)
    pictures: dict[str, bytes] = field(default_factory=dict)  # of notebooks, by address

    @classmethod
    def open(cls, root: Path) -> "Repository":
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True)
        if listed.returncode:
            raise UserError(f"git cannot list the files of {root}: build in a clone of the course")
        return cls(root, frozenset(f for f in listed.stdout.split("\0") if (root / f).is_file()))

    @cached_property
    def folders(self) -> set[str]:
        return {str(parent) for file in self.files for parent in Path(file).parents}

    def address(self, path: str) -> str | None:
        """The page of a file or a folder, or the picture; None if the repository has no such."""
        path = posixpath.normpath(path)
        if path in self.folders:
            return posixpath.normpath(f"{path}/index.html")
        if path not in self.files:
            return None
        name = posixpath.basename(path)
        if name == "README.md":
            return f"{path.removesuffix(name)}index.html"
        if path == "site/ask.html":
            return "ask.html"
        if name.endswith(COPIED):
            return path
        return f"{path.removesuffix('.md').removesuffix('.ipynb')}.html"

    def text(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def line_of(self, path: str, name: str) -> int | None:
        """Where a Python file defines a function, a class or a constant."""
        found = re.search(rf"^ *(?:def|class) {name}\b|^{name}\b.*=", text := self.text(path), re.M)
        return text.count("\n", 0, found.start()) + 1 if found else None


def relative(address: str, start: str) -> str:
    """The link from the page at `start` to the one at `address`."""
    return posixpath.relpath(address, posixpath.dirname(start) or ".")


def slug(text: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", html.unescape(TAG.sub("", text)).lower()).replace(" ", "-")


class Renderer(HTMLRenderer):
    """The HTML of one page's Markdown."""

    def __init__(self, repository: Repository, page: Page) -> None:
        super().__init__(escape=False)
        self.repository, self.page = repository, page
        is_folder = page.path in repository.folders
        self.folder = page.path if is_folder else posixpath.dirname(page.path)

    def resolve(self, link: str, text: str = "") -> str:
        """A link as the page has it; a function that the text names is linked to its line."""
        if re.match(r"[a-z]+:|#", link):
            return link
        target, _, anchor = link.partition("#")
        path = posixpath.normpath(posixpath.join(self.folder, unquote(target)))
        address = self.repository.address(path)
        if address is None:
            self.repository.broken.append(f"{self.page.path}: {link}")
            return link
        self.page.named.add(path)
        name = re.fullmatch(r"<code>(\w+)(?:\(.*\))?</code>", text)
        if name and not anchor and path.endswith(".py"):
            line = self.repository.line_of(path, name[1])
            anchor = f"L{line}" if line else ""
        return relative(address, self.repository.address(self.page.path)) + (
            anchor and f"#{anchor}"
        )

    def link(self, text: str, url: str, title: str | None = None) -> str:
        return f'<a href="{html.escape(self.resolve(url, text))}">{text}</a>'

    def image(self, text: str, url: str, title: str | None = None) -> str:
        path = posixpath.normpath(posixpath.join(self.folder, url))
        size = png_size((self.repository.root / path).read_bytes()) if self.resolve(url) else ""
        return f'<img loading="lazy" src="{html.escape(self.resolve(url))}"{size} alt="{text}">'

    def heading(self, text: str, level: int, **attrs) -> str:
        anchor = slug(text)
        taken = {heading.anchor for heading in self.page.headings}
        unique = next(a for n in range(99) if (a := f"{anchor}-{n}" if n else anchor) not in taken)
        self.page.headings.append(Heading(level, text, unique))
        return f'<h{level} id="{unique}">{text}</h{level}>\n'

    def paragraph(self, text: str) -> str:
        term = (
            re.match(r"<strong>(.+?)\.</strong>", text) if self.page.path == "GLOSSARY.md" else None
        )
        return f'<p id="{slug(term[1])}">{text}</p>\n' if term else f"<p>{text}</p>\n"

    def block_code(self, code: str, info: str | None = None) -> str:
        return f'<pre class="code"><code>{colored(code.rstrip(), info or "text")}</code></pre>\n'

    def block_html(self, html: str) -> str:
        return re.sub(r"<!--.*?-->", "", html, flags=re.DOTALL) + "\n"

    def table(self, text: str) -> str:
        return f'<div class="table"><table>\n{text}</table></div>\n'

    def table_cell(self, text: str, align: str | None = None, head: bool = False) -> str:
        tag = "th" if head and text else "td"  # an empty header is none
        style = f' style="text-align:{align}"' if align else ""
        return f"<{tag}{style}>{text}</{tag}>"

    def task_list_item(self, text: str, checked: bool = False) -> str:
        return f'<li class="task">{text}</li>\n'

    def inline_math(self, text: str) -> str:
        return self.formula(text, displayed=False)

    def block_math(self, text: str) -> str:
        return f'<span class="formula">{self.formula(text, displayed=True)}</span>\n'

    def formula(self, tex: str, *, displayed: bool) -> str:
        formulas = self.repository.formulas
        return f"<!--formula {formulas.setdefault((tex, displayed), len(formulas))}-->"


def markdown(repository: Repository, page: Page, text: str) -> str:
    plugins = ["math", "table", "task_lists", "strikethrough", "url"]
    return mistune.create_markdown(renderer=Renderer(repository, page), plugins=plugins)(text)


def colored(code: str, language: str) -> str:
    """Source code with a class for each kind of token; no tag reaches over the end of a line."""
    try:
        lexer = get_lexer_by_name(language.split()[0], stripnl=False)
    except ClassNotFound:
        return html.escape(code)
    return highlight(code, lexer, HtmlFormatter(nowrap=True)).rstrip("\n")


def png_size(data: bytes) -> str:
    """Width and height of a picture as attributes, so that the text does not jump when it loads."""
    return ' width="{}" height="{}"'.format(*struct.unpack(">II", data[16:24]))


# Notebooks.


def notebook(repository: Repository, page: Page) -> str:
    parts = []
    for cell in described(json.loads(repository.text(page.path))["cells"]):
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(markdown(repository, page, text))
            continue
        tags = " ".join(cell["metadata"].get("tags", []))
        outputs = "".join(output_of(repository, page, output) for output in cell["outputs"])
        if "guess" in tags and outputs:
            outputs = (
                f"<details><summary>Decide first, then open the output</summary>{outputs}</details>"
            )
        code = f'<pre class="code"><code>{colored(text, "python")}</code></pre>'
        parts.append(
            f'<div class="cell code" id="{cell["id"]}" data-tags="{tags}">'
            f'<div class="source">{code}</div><div class="outputs">{outputs}</div></div>'
        )
    return "\n".join(parts)


def described(cells: list[dict]) -> list[dict]:
    """The cells, in which the text of a picture says what it shows: its labels, as the code names
    them, or where there is none the heading above it."""
    heading = ""
    for cell in cells:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            heading = next(iter(re.findall(r"(?m)^#+ +(.+)$", text)[::-1]), heading)
            continue
        for data in (output.get("data", {}) for output in cell["outputs"]):
            if "image/png" in data:
                stored = "".join(data.get("text/plain", "")).strip("<>")
                parts = list(filter(None, labels_in(text)))
                if not any(part.startswith(stored) for part in parts):
                    parts.insert(0, stored.replace("picture", heading))
                data["text/plain"] = "; ".join(parts)
    return cells


def labels_in(code: str) -> list[str]:
    """Titles, labels of axes and names of curves that stand in the code of a picture."""
    found: dict[str, list[str]] = {"title": [], "ylabel": [], "xlabel": [], "label": []}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call):
            named = [(word.arg, word.value) for word in node.keywords]
            named += [(getattr(node.func, "attr", "")[len("set_") :], value) for value in node.args]
            for name, value in named:
                if name in found and isinstance(value, ast.Constant) and value.value:
                    found[name].append(str(value.value))
    return [*found["title"], " against ".join(found["ylabel"] + found["xlabel"]), *found["label"]]


def output_of(repository: Repository, page: Page, output: dict) -> str:
    """A stored output: a picture, which becomes a file, or text."""
    data = output.get("data", {})
    if "image/png" in data:
        picture = base64.b64decode(data["image/png"])
        address = f"pictures/{hashlib.sha256(picture).hexdigest()[:16]}.png"
        repository.pictures[address] = picture
        source = relative(address, repository.address(page.path))
        says = html.escape("".join(data["text/plain"]))
        return f'<img loading="lazy" src="{source}"{png_size(picture)} alt="{says}">'
    text = ANSI.sub("", "".join(output.get("text") or data.get("text/plain", "")))
    return f"<pre>{html.escape(text.rstrip())}</pre>"


# Source files.


def source(repository: Repository, page: Page) -> str:
    """A file line by line; line 12 has the anchor L12."""
    text = repository.text(page.path)
    try:
        lexer = get_lexer_for_filename(page.path, text, stripnl=False)
        lines = highlight(text, lexer, HtmlFormatter(nowrap=True)).rstrip("\n").split("\n")
    except ClassNotFound:
        lines = html.escape(text).rstrip("\n").split("\n")
    page.headings.append(Heading(1, html.escape(page.path), "top"))
    numbered = "".join(f'<span id="L{n}">{line}\n</span>' for n, line in enumerate(lines, 1))
    folder, slash, name = html.escape(page.path).rpartition("/")
    return (
        f'<h1 class="path"><span>{folder}{slash}</span><wbr>{name}</h1>\n'
        f'<pre class="code lines"><code>{numbered}</code></pre>\n'
    )


# What is done to finished pages: formulas, words of the glossary.


def set_formulas(repository: Repository) -> list[str]:
    """The HTML of all formulas, by number; without node and KaTeX, their TeX."""
    plain = [f"<code>{html.escape(tex)}</code>" for tex, _ in repository.formulas]
    if not (HERE / "node_modules" / "katex").is_dir():
        return plain
    given = json.dumps(list(repository.formulas))
    call = subprocess.run(
        ["node", str(HERE / "formulas.mjs")], input=given, capture_output=True, text=True
    )
    if call.returncode:
        raise UserError(f"KaTeX cannot set a formula: {call.stderr.strip().splitlines()[-1]}")
    return json.loads(call.stdout)


class Term(NamedTuple):
    address: str
    says: str  # its first sentence


def terms_of(repository: Repository) -> dict[str, Term]:
    """The words that the glossary explains, in lower case."""
    found = {}
    for paragraph in repository.text("GLOSSARY.md").split("\n\n"):
        if entry := re.match(r"\*\*(.+?)\.\*\*\s+(.+)", paragraph, re.DOTALL):
            says = re.sub(r"\[([^]]*)\]\([^)]*\)|[`*$]", r"\1", " ".join(entry[2].split()))
            says = re.match(r".+?\.(?=\s|$)|.+", says)[0]
            address = f"GLOSSARY.html#{slug(entry[1])}"
            for name in re.sub(r"\(.*?\)", "", entry[1]).split(","):
                found[name.strip().lower()] = Term(address, says)
    return {name: term for name, term in found.items() if name not in EVERYDAY}


def mark_terms(body: str, terms: dict[str, Term], start: str) -> str:
    """Link the first use of each term in the text of a page, headings, code and links apart."""
    words = "|".join(sorted(map(re.escape, terms), key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w\[-])({words})(s?)(?![\w-])", re.IGNORECASE)
    closed = {"a", "code", "h1", "h2", "h3", "h4", "pre", "strong", "summary", "th"}
    seen, depth, parts = set(), 0, []

    def link(match: re.Match) -> str:
        name = match[1].lower()
        term = terms[name]
        if term.address in seen:
            return match[0]
        seen.add(term.address)
        href, says = relative(term.address, start), html.escape(term.says)
        return f'<a class="term" href="{href}" data-says="{says}">{match[0]}</a>'

    for piece in re.split(r"(<[^>]*>)", body):
        if piece.startswith("<"):
            name = re.match(r"</?(\w*)", piece)[1]
            depth += (name in closed) * (-1 if piece.startswith("</") else 1)
            parts.append(piece)
        else:
            parts.append(pattern.sub(link, piece) if depth == 0 else piece)
    return "".join(parts)
