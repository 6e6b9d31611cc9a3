"""Slides for lectures: of each notebook the cells that are tagged `slide`.

    python site/slides.py                into build/slides

Of a cell of text the longest section is shown, under its heading; of a cell that draws, the picture
and the short paragraph before it. The arrow keys turn the slides, `f` fills the screen, `o` shows
all of them, and `?print-pdf` at the end of the address is for printing (https://revealjs.com).
"""

import argparse
import html
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from build import PACKAGES, ROOT, earlier_files, files_of_katex, replace, write
from render import (
    COPIED,
    FORMULA,
    Page,
    Repository,
    described,
    markdown,
    output_of,
    relative,
    set_formulas,
)

from bert_run.errors import UserError, command

PROGRAM = "site/slides.py"
MOST_WORDS = 45  # of a paragraph beside a picture
REVEAL = PACKAGES / "reveal.js" / "dist"
LINK = re.compile(r'<a href="(?!https?:)[^"]*">(.*?)</a>', re.DOTALL)  # to pages of the site
FOLD = re.compile(r"<details>.*?</details>", re.DOTALL)
DECK = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<link rel="stylesheet" href="{top}/reveal/reset.css">
<link rel="stylesheet" href="{top}/reveal/reveal.css">
<link rel="stylesheet" href="{top}/katex/katex.min.css">
<style>
.reveal {{ font: 30px/1.4 system-ui, sans-serif; color: #222 }}
.reveal .slides {{ text-align: left }}
h1, h2, h3 {{ font-size: 1.4em; line-height: 1.2; margin-bottom: .6em }}
p, ul, ol, table, pre, .formula {{ margin-bottom: .6em }}
ul, ol {{ padding-left: 1.2em }}
img {{ display: block; margin: 0 auto; width: 100%; height: 430px; object-fit: contain }}
pre {{ font-size: .7em; background: #f6f6f6; padding: .5em; white-space: pre-wrap }}
pre, code {{ font-family: ui-monospace, monospace }}
td, th {{ padding: .1em .8em .1em 0; border-bottom: 1px solid #ddd }}
strong {{ font-weight: bold }} em {{ font-style: italic }} a {{ color: #0072b2 }}
.k, .kn, .ow {{ color: #0072b2 }} .s1, .s2, .sd {{ color: #007a5a }} .c1 {{ color: #666 }}
</style>
<div class="reveal"><div class="slides">
{slides}
</div></div>
<script src="{top}/reveal/reveal.js"></script>
<script>Reveal.initialize({{ hash: true, width: 1280, height: 720, transition: "none" }})</script>
</html>
"""


def slides_of(repository: Repository, page: Page) -> Iterator[str]:
    """The slides of a notebook, the first of which is its title. Formulas are not set yet."""
    title, lead = "", ""
    for number, cell in enumerate(described(json.loads(repository.text(page.path))["cells"])):
        text, is_slide = "".join(cell["source"]), "slide" in cell["metadata"].get("tags", [])
        if cell["cell_type"] == "markdown":
            sections = re.split(r"(?m)^(?=#)", FOLD.sub("", text).strip())
            shown = max(sections, key=len) if is_slide else ""
            for section in sections:
                if section.startswith("#"):
                    title = section.partition("\n")[0].lstrip("# ")
                if is_slide and section == shown:
                    shown = f"## {title}\n\n" * (section[:1] != "#") + section
            lead = "" if is_slide else lead_in(sections[-1])
            body = markdown(repository, page, f"# {title}" if number == 0 else shown)
        elif is_slide:
            outputs = "".join(output_of(repository, page, output) for output in cell["outputs"])
            code = "" if "<img" in outputs else f"```python\n{text}\n```"
            body = markdown(repository, page, f"## {title}\n\n{lead}\n\n{code}") + outputs
        else:
            body = ""
        if body:
            body = LINK.sub(r"\1", body).replace(' loading="lazy"', "")
            yield f"<section>\n{body}</section>"


def lead_in(section: str) -> str:
    """The last paragraph of a section, which says what the next cell shows, if it is short."""
    last = section.strip().rpartition("\n\n")[2]
    is_short = len(last.split()) <= MOST_WORDS and not last.startswith(("#", "|", "-", "$", "<"))
    return last if is_short else ""


def decks(repository: Repository) -> dict[str, str]:
    """The HTML of each notebook's slides, by its address; and of a list of them."""
    pages = [Page(path) for path in sorted(repository.files) if re.match(r"0.*\.ipynb$", path)]
    slides = [(page, "\n".join(slides_of(repository, page))) for page in pages]
    formulas = set_formulas(repository)
    found, links = {}, ""
    for page, body in slides:
        address, title = repository.address(page.path), html.escape(page.title)
        body = FORMULA.sub(lambda match: formulas[int(match[1])], body)
        found[address] = DECK.format(title=title, top=relative(".", address), slides=body)
        links += f'<li><a href="{address}">{page.path}</a></li>\n'
    head = '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>Slides</title>\n'
    return {"index.html": f"{head}<ul>\n{links}</ul>\n</html>\n", **found}


def build(out: Path) -> None:
    if not REVEAL.is_dir():
        raise UserError("reveal.js is not installed: call make slides, which needs Node.js")
    earlier_files(out, PROGRAM)
    repository = Repository.open(ROOT)
    files = {address: text.encode() for address, text in decks(repository).items()}
    images = set(re.findall(r'src="\.\./(0[^"]*)"', b"".join(files.values()).decode()))
    files |= {path: (ROOT / path).read_bytes() for path in images if path.endswith(COPIED)}
    files |= {**repository.pictures, **files_of_katex()}
    files |= {f"reveal/{name}": (REVEAL / name).read_bytes()
              for name in ("reset.css", "reveal.css", "reveal.js")}  # fmt: skip
    with tempfile.TemporaryDirectory() as made:
        for address, content in files.items():
            write(Path(made) / address, content)
        replace(out, Path(made), PROGRAM)
    print(f"{out / 'index.html'}: the slides of the notebooks")


@command
def main() -> None:
    parser = argparse.ArgumentParser(description="Make slides of the notebooks.")
    default = ROOT / "build" / "slides"
    parser.add_argument("--out", type=Path, default=default, help="(build/slides)")
    build(parser.parse_args().out)


if __name__ == "__main__":
    main()
