"""Every link of a built site leads to a file of it, and to an anchor that the file has.

python site/check_links.py build/site
"""

import argparse
import html
import posixpath
import re
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bert_run.errors import UserError, command

TAG = re.compile(r"<[a-zA-Z][^>]*>")
LINK = re.compile(r'\s(?:href|src|action|poster)="([^"]*)"')
ANCHOR = re.compile(r'\sid="([^"]*)"')
ELSEWHERE = ("http", "https", "mailto", "data")
LOADED = re.compile(r'<(?:img|script|iframe|link|source|video)\b[^>]*\s(?:src|href)="https?:')


def broken_links(folder: Path) -> list[str]:
    """`page: link (what is wrong)` for each link that leads nowhere, or loads from another host."""
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    pages = sorted(file for file in files if file.endswith(".html"))
    tags = {page: "".join(TAG.findall((folder / page).read_text("utf-8"))) for page in pages}
    anchors = {page: set(ANCHOR.findall(text)) for page, text in tags.items()}
    wrong = []
    for page, text in tags.items():
        if LOADED.search(text):
            wrong.append(f"{page}: loads something from another host")
        for link in set(LINK.findall(text)):
            parts = urlsplit(html.unescape(link))
            if parts.scheme in ELSEWHERE:
                continue
            target = posixpath.normpath(
                posixpath.join(posixpath.dirname(page), unquote(parts.path))
            )
            target = target if parts.path else page
            if target not in files:
                wrong.append(f"{page}: {link} (no such file)")
            elif parts.fragment and unquote(parts.fragment) not in anchors.get(target, ()):
                wrong.append(f"{page}: {link} (no such anchor)")
    return sorted(wrong)


@command
def main() -> None:
    parser = argparse.ArgumentParser(description="Check the links of a built site.")
    parser.add_argument("folder", type=Path, help="the folder of the built site")
    folder = parser.parse_args().folder
    if not (folder / "index.html").is_file():
        raise UserError(f"{folder} is no built site, it has no index.html: name its folder")
    found = broken_links(folder)
    print(*found, f"{len(found)} broken links", sep="\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
