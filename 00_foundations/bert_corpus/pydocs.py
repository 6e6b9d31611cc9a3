"""`pydocs`: the English of the docstrings of the Python packages installed on this machine.

Real prose, some millions of words, with no download: the standard library, NumPy, torch,
matplotlib, … explain themselves in docstrings. Source files are parsed, never imported. Of a
docstring we keep the sentences and leave out what is no prose: signatures, code, doctests,
tables, headings, lists of names. A document is a module with its functions, or a class with its
methods; a sentence that occurred before is dropped.
"""

import ast
import hashlib
import importlib.metadata
import os
import re
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

import huggingface_hub

from bert_corpus.documents import split_prose
from bert_run.files import write_atomically
from bert_run.training_loop import progress_bar

VERSION = 1  # of the rules below: a higher one builds the cached file anew
SHORTEST_DOCUMENT = 2  # sentences
FILES_AT_ONCE = 64

SKIPPED_FOLDERS = {"tests", "test", "testing", "_vendor", "_vendored", "vendor", "externals",
                   "site-packages", "dist-packages", "__pycache__", "idle_test"}  # fmt: skip

# --- From a docstring to prose -------------------------------------------------------------------

MARKUP = (  # what it is, and what of it is read
    (re.compile(r":[\w:+.-]+:`(?:~|!)?([^`<]*?)(?:\s*<[^`>]*>)?`"), r"\1"),  # :class:`~a.B` -> a.B
    (re.compile(r"`([^`<]+?)\s*<[^`>]*>`__?"), r"\1"),  # `text <link>`_ -> text
    (re.compile(r"\s*\[[\w#*-]+\]_"), ""),  # [1]_
    (re.compile(r"\[([^\]]+)\]\([^)]*\)"), r"\1"),  # [text](link) of Markdown
    (re.compile(r"(`{1,3}|\*{1,2})(?=\S)([^`*\n]*?\S)\1_?"), r"\2"),  # ``x``, `x`, **x**, *x*
)
DIRECTIVE = re.compile(r"\.\. ")
PROSE_DIRECTIVE = re.compile(r"\.\. (?:note|warning|tip|important|hint|caution|attention)::\s*")
OTHER_FIELD = re.compile(r":[\w -]+:(?!`)|@\w+")
# "axis : int, optional", "x: (B, T) array" (NumPy, scikit-learn)
NAME_AND_TYPE = re.compile(r"[*`\w., ]+\s:(?:\s.*)?|[*\w]+(?:, [*\w]+)*:?")
# What stands before the text: the mark of an item, `:param x:`, and Google's "name (type): "
PREFIX = re.compile(
    r"(?:(?:[-*+•]|\d+[.)]|#\.|\(\w\))\s+)?"
    r"(?::(?:param|parameter|arg|argument|raises?|returns?|return|ivar|var|cvar|keyword)[^:]*:\s*)?"
    r"(?:[*`\w]+\s*(?:\([^)]*\))?\s*:\s+(?=\S))?"
)
SECTION = re.compile(r"(?:args|arguments|parameters|returns?|raises|yields?|notes?|examples?|"
                     r"see also|references?|attributes|methods|shape|inputs?|outputs?|usage|"
                     r"keyword args|keyword arguments|other parameters|warns?|warnings?)\s*:?",
                     re.IGNORECASE)  # fmt: skip
CODE_SECTION = re.compile(r"(?:examples?|see also|references|usage)\s*:?:?", re.IGNORECASE)
UNDERLINE = re.compile(r"([=\-~^\"'#*+_.`])\1{2,}\s*")
CODE = re.compile(r">>>|\.\.\. |\.\.\.$|\$ |In \[|Out\[|[|+][-=|+ ]|import |from \w+ import|@\w")
WORD = re.compile(r"[A-Za-z]+(?:['’-][A-Za-z]+)*")
ENGLISH = """a an and are as at be been but by can do does for from has have if in into is it its
    may no not of on one only or should so such than that the their then there these they this to
    use used using was we were when where which will with without you your"""
SMALL_WORDS = frozenset(ENGLISH.split())


def prose_of(docstring: str) -> list[str]:
    """The sentences of a docstring that are English prose."""
    sentences = []
    for paragraph in _paragraphs(docstring.expandtabs().splitlines()):
        sentences += [s for s in split_prose(_without_markup(paragraph)) if is_prose(s)]
    return sentences


def _paragraphs(lines: list[str]) -> Iterator[str]:
    """Lines of running text joined; code, tables, headings and directives left out.

    Code that is only indented is known by what introduces it: `::`, a directive, an "Examples"
    heading. All that lies deeper than the introduction, or below the heading, is left out.
    """
    paragraph: list[str] = []
    paragraph_indent = 0
    skip_deeper_than: int | None = None  # leave out lines indented more than this
    in_examples = fenced = False

    for number, raw in enumerate(lines):
        line = raw.strip()
        indent = len(raw) - len(raw.lstrip())
        following = lines[number + 1].strip() if number + 1 < len(lines) else ""
        if line.startswith(("```", "~~~")):
            fenced = not fenced
            line = ""
        if fenced:
            continue
        if line and skip_deeper_than is not None:
            if indent > skip_deeper_than:
                continue
            skip_deeper_than = None
        heading = bool(UNDERLINE.fullmatch(following)) or bool(SECTION.fullmatch(line))
        if line and (heading or UNDERLINE.fullmatch(line)):
            in_examples = (in_examples and not heading) or bool(CODE_SECTION.fullmatch(line))
            line = ""
        starts = (indent != paragraph_indent and number > 1) or PREFIX.match(line).end() > 0
        if paragraph and (not line or starts or DIRECTIVE.match(line) or CODE.match(line)):
            yield " ".join(paragraph)
            paragraph = []
        if not line or in_examples:
            continue

        if prose_directive := PROSE_DIRECTIVE.match(line):
            line = line[prose_directive.end() :]
        elif DIRECTIVE.match(line):
            skip_deeper_than = indent
            continue
        if CODE.match(line) or (not paragraph and NAME_AND_TYPE.fullmatch(line)):
            continue
        if not paragraph:
            line = PREFIX.sub("", line, count=1)
            if OTHER_FIELD.match(line):
                continue
            paragraph_indent = indent
        if line.endswith("::"):
            skip_deeper_than = indent
            line = line[:-1]
        if line:
            paragraph.append(line)
    if paragraph:
        yield " ".join(paragraph)


def _without_markup(text: str) -> str:
    """Reading text: :class:`x`, ``x``, `x`, *x* and [x](link) become x."""
    for markup, read in MARKUP:
        text = markup.sub(read, text)
    return " ".join(text.replace("`", "").split())


def is_prose(sentence: str) -> bool:
    """Whether a sentence reads as English.

    It begins with a capital letter and ends as sentences do, has four words or more and 60 at
    most, most of what it is made of are words, and a fifth of these are the small words that
    English cannot do without; lists of names and code have few of them.
    """
    if not (sentence[0].isupper() or sentence[0] in "\"'(") or sentence[-1] not in ".!?)\"'":
        return False
    if sentence[-1] not in ".!?" and sentence[-2:-1] not in tuple(".!?"):
        return False
    if any(
        mark in sentence for mark in ("://", "\\", "==", "->", "=>", ">>>", "{", "|", "@", "__")
    ):
        return False
    tokens = sentence.split()
    if not 4 <= len(tokens) <= 60:
        return False
    words = [word for token in tokens if WORD.fullmatch(word := token.strip(".,;:!?()[]\"'"))]
    small = sum(word.lower() in SMALL_WORDS for word in words)
    letters = sum(char.isalpha() or char == " " for char in sentence)
    return (
        len(words) >= 0.75 * len(tokens)
        and small >= 0.2 * len(tokens)
        and letters >= 0.85 * len(sentence)
    )


# --- From the packages to a file -----------------------------------------------------------------


def source_files() -> list[Path]:
    """The `.py` files of the standard library and of all installed packages, in a fixed order."""
    roots = {Path(sysconfig.get_paths()[key]) for key in ("stdlib", "purelib", "platlib")}
    files = []
    for root in sorted(roots):
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
            python = (name for name in names if name.endswith(".py"))
            files += [Path(folder, n) for n in sorted(python) if not n.startswith("test_")]
    return files


def documents_of(path: Path) -> list[list[str]]:
    """The prose of a source file: a document for the module, and one for each class."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old escapes in other people's strings
            tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError, OSError, MemoryError):
        return []  # a template, or written for another Python
    documents: list[list[str]] = []
    _collect(tree, documents)
    return [document for document in documents if document]


def _collect(scope: ast.Module | ast.ClassDef, documents: list[list[str]]) -> None:
    """Add the document of a module or class: its docstring, then those of its functions."""
    document = prose_of(ast.get_docstring(scope) or "")
    documents.append(document)
    waiting = scope.body[::-1]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ClassDef):
            _collect(node, documents)
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            document += prose_of(ast.get_docstring(node) or "")
        waiting += [
            n for n in reversed(list(ast.iter_child_nodes(node))) if isinstance(n, ast.stmt)
        ]


def pydocs_file(*, progress: bool = True) -> Path:
    """The corpus as a text file, one sentence a line; made at the first call, then kept.

    It lies in the cache folder, under a name that changes with the installed packages.
    """
    path = cache_folder() / f"pydocs-{_fingerprint()}.txt"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "\n".join("".join(f"{s}\n" for s in d) for d in _all_documents(progress))
        write_atomically(path, text)
    return path


def _all_documents(progress: bool) -> Iterator[list[str]]:
    files = source_files()
    seen: set[str] = set()
    with progress_bar(len(files), "reading docstrings", unit=" files", disable=not progress) as bar:
        for documents in _on_all_cores(files):
            for document in documents:
                new = [s for s in dict.fromkeys(document) if s not in seen]
                seen.update(new)
                if len(new) >= SHORTEST_DOCUMENT:
                    yield new
            bar.update()


def _on_all_cores(files: list[Path]) -> Iterator[list[list[str]]]:
    waiting = iter(files)
    try:
        with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
            for found in pool.map(documents_of, files, chunksize=FILES_AT_ONCE):
                next(waiting)
                yield found
    except BrokenProcessPool:  # called from a script without `if __name__ == "__main__"`, say
        yield from map(documents_of, waiting)


def cache_folder() -> Path:
    """Where the libraries of the Hub, too, keep what can be made again (`HF_HOME` moves it)."""
    return Path(huggingface_hub.constants.HF_HOME) / "bert_corpus"


def _fingerprint() -> str:
    packages = sorted(
        f"{package.name} {package.version}" for package in importlib.metadata.distributions()
    )
    identity = "\n".join([str(VERSION), sys.version, *packages])
    return hashlib.sha256(identity.encode()).hexdigest()[:16]
