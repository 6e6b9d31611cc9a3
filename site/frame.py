"""What surrounds the text of every page: navigation, previous and next, links to its source."""

import html
import os
import posixpath
import re
import subprocess

from render import FORMULA, HERE, Page, Repository, mark_terms, relative, set_formulas, terms_of

MAIN_PATH = re.compile(r"● \*On the \[main path|points · ● main path")
COLAB, GITHUB = "https://colab.research.google.com/github", "https://github.com"


class Frame:
    """Completes pages; `sections` is the navigation: for each folder, its pages in order."""

    def __init__(
        self, repository: Repository, pages: dict[str, Page], sections: dict[str, list[str]]
    ) -> None:
        self.repository, self.pages, self.sections = repository, pages, sections
        self.template = (HERE / "page.html").read_text(encoding="utf-8")
        self.order = [path for paths in sections.values() for path in paths]
        self.terms = terms_of(repository)
        self.formulas = set_formulas(repository)
        self.hub = github_name(repository)
        self.navigation = "".join(self.group(name, paths) for name, paths in sections.items())

    def complete(self, page: Page) -> str:
        """The whole HTML of a page."""
        here = self.repository.address(page.path)
        body, assets = page.body, list(page.assets)
        if page.path.endswith((".md", ".ipynb")) and page.path != "GLOSSARY.md":
            body = mark_terms(body, self.terms, here)
        if FORMULA.search(body):
            assets.insert(0, "katex/katex.min.css")
            body = FORMULA.sub(lambda match: self.formulas[int(match[1])], body)
        values = {
            "title": self.title(page.path),
            "site": self.title("README.md"),
            "top": relative(".", here),
            "assets": self.loaded(assets, here),
            "attributes": page.attributes,
            "navigation": self.opened(page.path, here),
            "tools": self.tools(page.path),
            "body": body,
            "steps": self.steps(page.path, here),
            "contents": "".join(
                f'<li><a href="#{heading.anchor}">{heading.text}</a></li>'
                for heading in page.headings if heading.level == 2
            ),
        }  # fmt: skip
        return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], self.template)

    def title(self, path: str) -> str:
        return html.escape(self.pages[path].title)

    def group(self, name: str, paths: list[str]) -> str:
        """A part of the navigation. A link begins with @, and is made relative for each page."""
        items = []
        for path in paths:
            text = "Overview" if path == f"{name}/README.md" else self.title(path)
            if MAIN_PATH.search(self.repository.text(path)):
                text += ' <span title="on the main path">●</span>'
            items.append(f'<li><a href="@{self.repository.address(path)}">{text}</a></li>')
        inside = f"<ul>{''.join(items)}</ul>"
        if not name:
            return inside
        title = "More" if name == "more" else self.title(f"{name}/README.md")
        return f'<details data-group="{name}"><summary>{title}</summary>{inside}</details>'

    def opened(self, path: str, here: str) -> str:
        """The navigation, open where the page is."""
        group = next((name for name, paths in self.sections.items() if path in paths), "")
        text = self.navigation.replace(f'<details data-group="{group}">', "<details open>")
        text = text.replace(f'href="@{here}"', f'href="@{here}" aria-current="page"')
        return re.sub(r'href="@([^"]*)"', lambda match: f'href="{relative(match[1], here)}"', text)

    def loaded(self, assets: list[str], here: str) -> str:
        """The tags that load styles and scripts."""
        tags = {
            ".css": '<link rel="stylesheet" href="{}">',
            ".mjs": '<script type="module" src="{}"></script>',
        }
        folder = relative("assets", here)
        return "\n".join(
            tags[f".{name.split('.')[-1]}"].format(f"{folder}/{name}") for name in assets
        )

    def tools(self, path: str) -> str:
        """Links to a page's source: to open it in Colab, to download it, to edit it."""
        links = []
        if path.endswith(".ipynb"):
            if self.hub:
                links.append(f'<a href="{COLAB}/{self.hub}/blob/main/{path}">Open in Colab</a>')
            links.append(f'<a href="{posixpath.basename(path)}" download>Download notebook</a>')
        if self.hub and path in self.repository.files:
            links.append(f'<a href="{GITHUB}/{self.hub}/edit/main/{path}">Edit this page</a>')
        return "".join(links)

    def steps(self, path: str, here: str) -> str:
        """Links to the previous and the next page."""
        if path not in self.order:
            return ""
        at, links = self.order.index(path), []
        for rel, says, index in (("prev", "Previous", at - 1), ("next", "Next", at + 1)):
            if 0 <= index < len(self.order):
                address = relative(self.repository.address(self.order[index]), here)
                text = f"<small>{says}</small> {self.title(self.order[index])}"
                links.append(f'<a rel="{rel}" href="{address}">{text}</a>')
        return "".join(links)


def github_name(repository: Repository) -> str:
    """OWNER/NAME of the repository on GitHub; empty if it is not known to be there."""
    if name := os.environ.get("GITHUB_REPOSITORY"):
        return name
    command = ["git", "remote", "get-url", "origin"]
    call = subprocess.run(command, cwd=repository.root, capture_output=True, text=True)
    found = re.search(r"github\.com[:/]([\w.-]+/[\w-]+)", call.stdout)
    return found[1] if found else ""
